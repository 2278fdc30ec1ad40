"""`PCKMeans`: the objective is what the paper says, never rises, and hard constraints are not for sale."""

import itertools
import random

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from coterie import Constraints
from coterie.datasets import load_table
from coterie.exceptions import InfeasibleConstraintsError, ViolatedConstraintsWarning
from coterie.kmeans import COPKMeans, PCKMeans
from tests.assign.problems import feasible_constraints, fit_or_refuse, random_constraints
from tests.marks import outvoted, unsettled
from tests.oracles import kmeans as oracle

INITS = ["mixed", "neighborhoods", "k-means++", "random"]


def small_problem(seed, number: int, hard: float = 0.2):
    """A few points and constraints of every kind, the hard ones feasible with the clusters all in use."""
    for attempt in itertools.count():
        rng = random.Random(f"{seed} {number} {attempt}")
        n = rng.randint(3, 8)
        k = rng.randint(1, min(3, n))
        c = random_constraints(rng, n, hard=hard, dense=rng.choice([0.4, 1.0]))
        if c.only_hard().check(k, nonempty=True):
            return np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(n)]), c, k, rng
    raise AssertionError


def assert_model_is_right(model, X, c, sample_weight=None, metric="sqeuclidean"):
    """Objective, inertia and history are what the labels, centres and constraints say; hard ones hold."""
    said = oracle.statements(c)
    labels = model.labels_.tolist()
    assert oracle.obeys_hard(labels, said)
    by_hand = oracle.pck_objective(
        X, labels, model.cluster_centers_, said, model.weight_, sample_weight, metric
    )
    near = pytest.approx(by_hand, rel=1e-6, abs=1e-9)
    assert model.objective_ == near
    assert model.history_[-1] == near
    assert model.inertia_ == pytest.approx(
        oracle.inertia(X, labels, model.cluster_centers_, sample_weight, metric), rel=1e-6, abs=1e-9
    )
    assert str(model.violations_) == str(c.violations(labels))
    history = np.asarray(model.history_)
    assert history.dtype == np.float64
    assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()


@outvoted
@unsettled
@pytest.mark.parametrize("batch", range(4))
def test_d1_never_rises_and_never_below_the_optimum(batch, seed):
    for number in range(8):
        X, c, k, rng = small_problem(seed, 100 * batch + number)
        weight = rng.choice(["auto", 0.0, 0.1, 1.0, 100.0])
        w = np.array([rng.choice([1.0, 2.0]) for _ in X]) if number % 2 else None
        model = PCKMeans(k, weight=weight, init=rng.choice(INITS), tol=0, random_state=number)
        model.fit(X, constraints=c, sample_weight=w)
        assert_model_is_right(model, X, c, w)
        best = oracle.best_pck(X, k, oracle.statements(c), model.weight_, w)
        assert model.objective_ >= best - 1e-9 * (1 + best)


@outvoted
@unsettled
def test_best_of_many_starts_is_nearly_always_the_optimum(seed):
    hits = total = 0
    for number in range(15):
        X, c, k, _ = small_problem(seed, 1000 + number, hard=0.1)
        model = PCKMeans(k, weight=0.5, n_init=40, tol=0, random_state=number).fit(X, constraints=c)
        best = oracle.best_pck(X, k, oracle.statements(c), 0.5)
        # what is best may leave a cluster empty; a model need not
        filled = [
            0.5 * oracle.scatter_of(X, labels, k) + 0.5 * oracle.price(labels, oracle.statements(c))
            for labels in oracle.partitions_of(len(X), k)
            if max(labels) == k - 1 and oracle.obeys_hard(labels, oracle.statements(c))
        ]
        assert model.objective_ >= best - 1e-9 * (1 + best)
        total += 1
        hits += model.objective_ <= min(filled) + 1e-9 * (1 + best)
    assert hits >= 0.8 * total


@outvoted
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_d1_on_overlapping_blobs(metric, seed):
    for number in range(4):
        rng = np.random.default_rng((seed, number))
        X, y = make_blobs(80, 4, centers=4, cluster_std=5.0, random_state=int(rng.integers(2**31)))
        c = Constraints.sample(y, 80, noise=0.2, random_state=number)
        c = c | Constraints.distinct(rng.integers(0, 30, 80), weight=0.5)
        c = c | Constraints.across(np.where(rng.random(80) < 0.2, y, -1), weight=0.2)
        w = rng.integers(0, 3, 80).astype(float) + (np.arange(80) < 2)
        for weight in ("auto", 1.0):
            model = PCKMeans(4, weight=weight, metric=metric, tol=0, n_init=2, random_state=number)
            model.fit(X, constraints=c, sample_weight=w)
            assert_model_is_right(model, X, c, w, metric)


@outvoted
def test_d2_weight_zero_is_plain_k_means(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    start = X[rng.choice(200, 5, replace=False)]
    c = Constraints.sample(rng.integers(0, 5, 200), 100, random_state=0)
    plain = KMeans(5, init=start, n_init=1, algorithm="lloyd").fit(X)
    silent = Constraints(c.must_link, c.cannot_link, n_items=200, weight=0.0)
    for model in (
        PCKMeans(5, init=start, weight=0.0).fit(X, constraints=c),
        PCKMeans(5, init=start, weight=50.0).fit(X, constraints=silent),
    ):
        assert model.labels_.tolist() == plain.labels_.tolist()
        assert model.objective_ == pytest.approx(plain.inertia_ / 2)


def test_d3_a_huge_weight_keeps_a_feasible_set(seed):
    """From the means of the truth, where the truth is also nearest, nothing gets broken."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(90, 2, centers=[(0, 0), (40, 0), (0, 40)], random_state=int(rng.integers(2**31)))
    c = Constraints.sample(y, 200, random_state=0)
    for init in (oracle.means(X, y, 3), "mixed", "neighborhoods"):
        model = PCKMeans(3, weight=1e12, init=init, random_state=0).fit(X, constraints=c)
        assert not model.violations_


def test_a_huge_weight_is_obeyed_where_it_costs_most(seed):
    """Six pairs of opposite corners must join: plain k-means breaks all, a huge weight breaks none."""
    X = np.repeat([[0.0, 0.0], [10.0, 0.0]], 6, axis=0) + np.random.default_rng(seed).normal(size=(12, 2))
    c = Constraints([(i, i + 6) for i in range(6)], n_items=12)
    model = PCKMeans(2, weight=1e9, n_init=10, random_state=0).fit(X, constraints=c)
    assert not model.violations_


@outvoted
@pytest.mark.parametrize("weight", [1.0, 30.0, 33.0, 34.0, 60.0, 1e6])
def test_d5_the_pair_is_broken_below_a_third_of_a_hundred(weight):
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    c = Constraints([(1, 2)], n_items=4)
    model = PCKMeans(2, weight=weight, n_init=30, random_state=0).fit(X, constraints=c)
    assert model.objective_ == pytest.approx(min(weight, 100 / 3))
    assert bool(model.violations_) == (weight < 100 / 3)


def test_auto_weight_is_half_the_total_variance(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 0.1] + 100
    assert PCKMeans(2, random_state=0).fit(X).weight_ == pytest.approx(X.var(axis=0).sum() / 2)
    w = rng.integers(0, 4, 50)
    weighted = PCKMeans(2, random_state=0).fit(X, sample_weight=w).weight_
    assert weighted == pytest.approx(np.repeat(X, w, axis=0).var(axis=0).sum() / 2)
    assert PCKMeans(2, weight=7, random_state=0).fit(X).weight_ == 7


@outvoted
def test_weight_multiplies_the_weights_of_the_pairs(seed):
    """Twice the weight or twice the weights: the same model."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(60, 2, centers=3, cluster_std=5.0, random_state=int(rng.integers(2**31)))
    c = Constraints.sample(y, 40, noise=0.3, random_state=0)
    twice = Constraints(c.must_link, c.cannot_link, n_items=60, weight=2.0)
    a = PCKMeans(3, weight=2.0, random_state=0).fit(X, constraints=c)
    b = PCKMeans(3, weight=1.0, random_state=0).fit(X, constraints=twice)
    assert a.labels_.tolist() == b.labels_.tolist()
    assert a.objective_ == pytest.approx(b.objective_)


@outvoted
def test_confidence_becomes_strength():
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    for confidence, broken in ((0.6, True), (0.99, False)):  # log-odds 0.4 and 4.6, times 20, against 33.3
        c = Constraints([(1, 2)], n_items=4, confidence=confidence)
        model = PCKMeans(2, weight=20.0, n_init=30, random_state=0).fit(X, constraints=c)
        assert bool(model.violations_) == broken


# ---- hard and soft ------------------------------------------------------------------------------------


def test_everything_hard_is_as_good_as_cop_k_means(seed):
    for number in range(10):
        rng = random.Random(f"{seed} {number}")
        n, k = 7, 2
        c, _ = feasible_constraints(rng, n, k)
        if not c.check(k, nonempty=True):
            continue
        must, cannot = c.must_link, c.cannot_link
        hard = Constraints(must, cannot, n_items=n, hard=True)
        X = np.array([[rng.gauss(0, 1)] for _ in range(n)])
        best = oracle.best_cop(X, k, oracle.statements(hard))
        pck = PCKMeans(k, n_init=40, tol=0, random_state=0).fit(X, constraints=hard)
        cop = COPKMeans(k, n_init=40, tol=0, random_state=0).fit(X, constraints=hard)
        assert not pck.violations_
        assert pck.inertia_ >= best - 1e-9
        assert cop.inertia_ >= best - 1e-9
        assert pck.objective_ == pytest.approx(pck.inertia_ / 2)


def test_contradictory_soft_pairs_are_outvoted_with_one_warning():
    X = np.arange(12.0).reshape(6, 2)
    c = Constraints([(0, 1), (1, 2)], [(0, 2), (3, 4), (4, 5), (3, 5)], n_items=6)
    with pytest.warns(ViolatedConstraintsWarning, match="outvoted") as record:
        model = PCKMeans(2, n_init=5, random_state=0).fit(X, constraints=c)
    assert len(record) == 1
    assert model.violations_.n_broken >= 2
    assert model.violations_.n_stated == 6


def test_only_the_hard_part_can_contradict_itself():
    half = Constraints([(0, 1)], None, n_items=4, hard=True) | Constraints(None, [(0, 1)], n_items=4)
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(2, random_state=0).fit(np.arange(4.0)[:, None], constraints=half)
    assert model.labels_[0] == model.labels_[1]


def test_one_cluster():
    X = np.arange(3.0)[:, None]
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(1, weight=5.0).fit(X, constraints=Constraints(None, [(0, 2)], n_items=3))
    assert model.labels_.tolist() == [0, 0, 0]
    assert model.objective_ == pytest.approx(0.5 * 2 + 5)
    with pytest.raises(InfeasibleConstraintsError):
        PCKMeans(1).fit(X, constraints=Constraints(None, [(0, 2)], n_items=3, hard=True))


@unsettled
@outvoted
def test_duplicates_that_are_apart():
    X = np.zeros((3, 2))
    c = Constraints(None, list(itertools.combinations(range(3), 2)), n_items=3)
    for hard in (False, True):
        kind = Constraints(None, c.cannot_link, n_items=3, hard=hard)
        model = PCKMeans(3, weight=1.0, random_state=0).fit(X, constraints=kind)
        assert sorted(model.labels_.tolist()) == [0, 1, 2]
        assert model.objective_ == 0


# ---- groups -------------------------------------------------------------------------------------------


@outvoted
@unsettled
@pytest.mark.parametrize("kind", ["distinct", "across", "label"])
def test_groups_cost_what_their_pairs_cost(kind, seed):
    rng = np.random.default_rng(seed)
    make = {"distinct": Constraints.distinct, "across": Constraints.across, "label": Constraints.from_labels}
    for number in range(5):
        X = rng.normal(size=(7, 2))
        codes = rng.integers(-1, 3, 7)
        c = make[kind](codes, weight=0.4)
        said = oracle.statements(c)
        model = PCKMeans(2, weight=0.7, n_init=20, tol=0, random_state=number).fit(X, constraints=c)
        assert_model_is_right(model, X, c)
        as_pairs = Constraints(
            [(s.i, s.j) for s in said if s.together],
            [(s.i, s.j) for s in said if not s.together],
            n_items=7,
            weight=0.4,
        )
        other = PCKMeans(2, weight=0.7, n_init=20, tol=0, random_state=number).fit(X, constraints=as_pairs)
        assert_model_is_right(other, X, as_pairs)
        price = oracle.pck_objective(
            X, model.labels_, model.cluster_centers_, oracle.statements(as_pairs), 0.7
        )
        assert price == pytest.approx(model.objective_)


@outvoted
def test_a_soft_label_group_may_lose_a_member():
    """One far item of a label is let go where its pairs are cheap, and kept where they are dear."""
    X = np.array([[0.0], [0.1], [0.2], [20.0], [20.1], [20.2]])
    y = [1, 1, 1, 1, -1, -1]
    cheap = PCKMeans(2, weight=1.0, n_init=10, random_state=0)
    cheap.fit(X, constraints=Constraints.from_labels(y, weight=0.1))
    assert cheap.violations_.n_broken == 1  # one label, three pairs
    assert cheap.objective_ == pytest.approx(0.5 * 0.04 + 0.3)
    dear = PCKMeans(2, weight=1.0, n_init=10, random_state=0)
    dear.fit(X, constraints=Constraints.from_labels(y, weight=1e6))
    assert dear.violations_.n_broken == 0


@outvoted
@unsettled
@pytest.mark.parametrize("hard", [False, True])
def test_an_item_without_weight_keeps_its_cluster(hard):
    """Its cluster has no mass, but is not empty: filling it would break what keeps it apart."""
    X = np.array([[380.0], [479.0], [1011.0], [1773.0], [-204.0]])
    w = np.array([1.0, 1.0, 1.0, 2.0, 0.0])
    c = Constraints(None, [(2, 4), (3, 4)], n_items=5, hard=hard)
    for k in (2, 4, 5):
        for random_state in range(5):
            model = PCKMeans(k, weight=1e9, n_init=1, random_state=random_state)
            model.fit(X, constraints=c, sample_weight=w)
            assert_model_is_right(model, X, c, w)


@outvoted
@unsettled
@pytest.mark.parametrize("batch", range(3))
def test_larger_problems_of_every_kind(batch, seed):
    """Groups above the size that is written out as pairs, weights of 0, dear prices, early stops."""
    for number in range(12):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(12, 50), rng.randint(2, 6)
        X = np.array([[rng.gauss(0, 1) for _ in range(3)] for _ in range(n)])
        w = np.array([rng.choice([0.0, 1.0, 2.0]) for _ in range(n)]) if number % 2 else None
        if number % 3:
            c, _ = feasible_constraints(rng, n, k, hard=0.3)
        else:
            c = random_constraints(rng, n, hard=0.05, dense=0.3)
        model = PCKMeans(
            k,
            weight=rng.choice(["auto", 0.0, 1.0, 1e6]),
            init=rng.choice(INITS),
            n_init=1,
            max_iter=rng.choice([1, 2, 300]),
            random_state=number,
        )
        if fit_or_refuse(model, X, c, w) is None:
            continue
        assert_model_is_right(model, X, c, w)


# ---- more ---------------------------------------------------------------------------------------------


@outvoted
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_more_pairs_bring_the_truth_closer(name):
    from sklearn.metrics import adjusted_rand_score

    X, y = load_table(name, return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    def score(n_pairs):
        found = []
        for draw in range(3):
            c = Constraints.sample(y, n_pairs, random_state=draw)
            model = PCKMeans(3, n_init=5, random_state=draw).fit(X, constraints=c)
            found.append(adjusted_rand_score(y, model.labels_))
        return np.mean(found)

    assert score(400) > score(1) + 0.02


@outvoted
@unsettled
def test_must_linked_to_all_in_one_cluster_does_not_raise_the_objective():
    """Filling an empty cluster would break a dear must-link: the history must not rise for it."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    c = Constraints([(0, 1), (1, 2), (2, 3)], n_items=4)
    for init in (*INITS, np.array([[1.5], [1e6]])):
        model = PCKMeans(2, init=init, weight=1e6, n_init=3, random_state=0).fit(X, constraints=c)
        assert_model_is_right(model, X, c)


@outvoted
@pytest.mark.parametrize("init", ["mixed", "neighborhoods"])
def test_neighbourhoods_find_far_parts(init, seed):
    """Three must-link components in three places, and one item apart from all of them: four clusters."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]])
    truth = np.repeat(np.arange(4), 6)
    X = places[truth] + rng.normal(size=(24, 2))
    must = [(0, 1), (1, 2), (6, 7), (12, 13)]
    c = Constraints(must, [(18, 0), (18, 6), (18, 12)], n_items=24)
    for random_state in range(5):
        model = PCKMeans(4, init=init, random_state=random_state).fit(X, constraints=c)
        assert len({(a, b) for a, b in zip(truth.tolist(), model.labels_.tolist(), strict=True)}) == 4
