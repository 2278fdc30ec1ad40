"""`CVQEKMeans`: prices and pulls are as the papers say, choices the best there are, hard things hold."""

import itertools
import random

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from coterie import Constraints, CVQEKMeans
from coterie.constraints._model.pair_by_pair import stated_pairs
from coterie.exceptions import (
    InfeasibleConstraintsError,
    UnsupportedConstraintError,
    ViolatedConstraintsWarning,
)
from coterie.kmeans._engine.loop import PrototypeLoop
from coterie.kmeans._prices.cvqe import CoupledCentresLoop
from tests.assign.problems import feasible_constraints, random_constraints
from tests.marks import few_of, first_of, outvoted, unsettled
from tests.oracles import cvqe as oracle
from tests.oracles.constraints import components
from tests.oracles.kmeans import best_cop, inertia, obeys_hard, statements

pytestmark = [outvoted, unsettled]
FORMS = ["linear", "original"]
form_of = pytest.mark.parametrize("form", FORMS)


def small_problem(seed, number: int, *, n_most: int = 6, hard: float = 0.2):
    """A few points, constraints of every kind whose hard part can be met, centres, weights."""
    for attempt in itertools.count():
        rng = random.Random(f"{seed} {number} {attempt}")
        n = rng.randint(3, n_most)
        k = rng.randint(1, min(3, n))
        c = random_constraints(rng, n, hard=hard, dense=rng.choice([0.4, 1.0]))
        if c.only_hard().check(k, nonempty=True):
            X = np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(n)])
            w = np.array([rng.choice([1.0, 2.0, 0.5]) for _ in X]) if number % 2 else None
            centres = np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(k)])
            return X, c, k, centres, w
    raise AssertionError


def disjoint_pairs(rng, n: int, *, weight=1.0, must: bool = True, cannot: bool = True) -> Constraints:
    """Every item in one pair."""
    pairs = rng.permutation(n)[: 2 * (n // 2)].reshape(-1, 2)
    together = np.arange(len(pairs)) % 2 == 0 if must and cannot else np.full(len(pairs), must)
    return Constraints(pairs[together], pairs[~together], n_items=n, weight=weight)


def assert_model_is_right(model, X, c, form, w=None):
    """Objective, inertia and history are what labels, centres and constraints say; hard ones hold."""
    said, labels = statements(c), model.labels_.tolist()
    assert obeys_hard(labels, said)
    near = pytest.approx(
        oracle.objective(X, labels, model.cluster_centers_, said, form, w), rel=1e-7, abs=1e-9
    )
    assert model.objective_ == near
    assert model.history_[-1] == near
    best_pass = model.history_[1::2].min()
    assert model.objective_ <= best_pass + 1e-9 * (1 + best_pass)
    assert model.inertia_ == pytest.approx(inertia(X, labels, model.cluster_centers_, w), rel=1e-7, abs=1e-9)
    assert str(model.violations_) == str(c.violations(labels))


def never_rises(history) -> bool:
    history = np.asarray(history)
    return bool((np.diff(history) <= 1e-9 * (1e-9 + np.abs(history[:-1]))).all())


# ---- worked by hand -----------------------------------------------------------------------------------


@form_of
@pytest.mark.parametrize("s", [0.1, 0.5, 0.79, 0.81, 1.0, 1.9, 2.1, 10.0])
def test_a_must_link_across_two_pairs_of_points(form, s):
    """Two points at 0, two at 10, one of each tied.

    Joined: {0, 0, 10}, {10}: 100/3. Cut, linear: each centre has two members and s/2 of the other point, so
    it moves 10 (s/2) / (2 + s/2); in all 100 s / (2 + s/2), less than 100/3 for s < 0.8. Cut, original:
    centres pull at each other as springs do, 50 s / (1 + s), less than 100/3 for s < 2.
    """
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    c = Constraints([(1, 2)], n_items=4, weight=s)
    cut = 100 * s / (2 + s / 2) if form == "linear" else 50 * s / (1 + s)
    shift = 10 * (s / 2) / (2 + s / 2) if form == "linear" else 5 * s / (1 + s)
    starts = [[shift + 0.1], [9.9 - shift]], [[3.0], [10.0]]
    models = [CVQEKMeans(2, form=form, init=start, tol=0).fit(X, constraints=c) for start in starts]
    model = min(models, key=lambda model: model.objective_)
    assert model.objective_ == pytest.approx(min(cut, 100 / 3))
    assert bool(model.violations_) == (cut < 100 / 3)
    if model.violations_:
        assert model.cluster_centers_.ravel() == pytest.approx([shift, 10 - shift])


def test_a_cannot_link_inside_a_cluster():
    """Items 0, 1 | 9, 10.5: the pair at the right is apart at full strength, broken where it is weak."""
    X = np.array([[0.0], [1.0], [9.0], [10.5]])
    start = np.array([[0.5], [9.6]])
    whole = CVQEKMeans(2, init=start, tol=0).fit(X, constraints=Constraints(None, [(2, 3)], n_items=4))
    assert whole.labels_.tolist() == [0, 0, 0, 1]
    assert whole.objective_ == pytest.approx(0.5 * (X[:3].var() * 3))
    s = 0.01
    weak = CVQEKMeans(2, init=start, tol=0)
    weak.fit(X, constraints=Constraints(None, [(2, 3)], n_items=4, weight=s))
    assert weak.labels_.tolist() == [0, 0, 1, 1]
    # The first pass: 10.5 is farther from 9.6, and pulls at the left centre. Then both are as far from 9.75,
    # and the one that is nearer to the left pulls.
    left = (0 + 1 + s * 9) / (2 + s)
    assert weak.cluster_centers_.ravel() == pytest.approx([left, 9.75])
    by_hand = 0.5 * (left**2 + (1 - left) ** 2 + 2 * 0.75**2) + 0.5 * s * (9 - left) ** 2
    assert weak.objective_ == pytest.approx(by_hand)


def test_a_cannot_link_in_the_original_form():
    """{0, 1}, {9, 10} with the pair of the right at strength s: centres meet as springs do."""
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    s = 0.3
    model = CVQEKMeans(2, form="original", init=[[0.5], [9.5]], tol=0)
    model.fit(X, constraints=Constraints(None, [(2, 3)], n_items=4, weight=s))
    gap = 9 / (1 + s)  # 2 m = s g and g = 9 - 2 m, for a shift of m on each side
    shift = (9 - gap) / 2
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.cluster_centers_.ravel() == pytest.approx([0.5 + shift, 9.5 - shift])
    assert model.objective_ == pytest.approx(0.5 + 2 * shift**2 + 0.5 * s * gap**2)


@pytest.mark.filterwarnings("default::coterie.exceptions.ViolatedConstraintsWarning")
@form_of
def test_one_cluster(form):
    """There is no other centre, so a cannot-link costs nothing."""
    X = np.arange(3.0)[:, None]
    with pytest.warns(ViolatedConstraintsWarning, match="outvoted"):
        model = CVQEKMeans(1, form=form).fit(X, constraints=Constraints(None, [(0, 2)], n_items=3))
    assert model.objective_ == pytest.approx(1.0)
    with pytest.raises(InfeasibleConstraintsError):
        CVQEKMeans(1, form=form).fit(X, constraints=Constraints(None, [(0, 2)], n_items=3, hard=True))


# ---- the definition -----------------------------------------------------------------------------------


@form_of
@first_of("batch", 3)
def test_the_objective_is_what_the_definition_says(form, batch, seed):
    for number in range(20):
        X, c, k, _, w = small_problem(seed, 100 * batch + number, n_most=12)
        init = ["mixed", "neighborhoods", "k-means++", "random"][number % 4]
        model = CVQEKMeans(k, form=form, init=init, tol=0, random_state=number)
        model.fit(X, constraints=c, sample_weight=w)
        assert_model_is_right(model, X, c, form, w)


@form_of
def test_the_first_assignment_against_all_labellings(form, seed):
    """`history_` begins with the objective of the labels for the given centres."""
    hits = total = 0
    for number in range(40):
        X, c, k, centres, w = small_problem(seed, 1000 + number)
        model = CVQEKMeans(k, form=form, init=centres, max_iter=1)
        found = model.fit(X, constraints=c, sample_weight=w).history_[0]
        best = oracle.best_labels(X, centres, statements(c), form, w)
        assert found >= best - 1e-9 * (1 + best)
        total += 1
        hits += found <= best + 1e-9 * (1 + best)
    assert hits >= 0.85 * total


@form_of
def test_pairs_that_share_no_item_are_decided_exactly(form, seed):
    for number in range(15):
        rng = np.random.default_rng((seed, number))
        k = int(rng.integers(2, 5))
        X, centres = rng.normal(size=(5, 2)), rng.normal(size=(k, 2))
        c = disjoint_pairs(rng, 5, weight=float(rng.choice([0.2, 1.0, 3.0])))
        found = CVQEKMeans(k, form=form, init=centres, max_iter=1).fit(X, constraints=c).history_[0]
        assert found == pytest.approx(oracle.best_labels(X, centres, statements(c), form))


@form_of
def test_centres_minimise_the_objective_for_fixed_choices(form, seed, monkeypatch):
    """By the gradient set to zero, by finite differences, and by steps in any direction."""

    def without_the_last(loop, centres, last=False):
        return 0 if last else PrototypeLoop._assign(loop, centres)  # labels stay those of the choices

    monkeypatch.setattr(CoupledCentresLoop, "_assign", without_the_last)
    broken = 0
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        n, k = 12, int(rng.integers(2, 5))
        X, start, w = rng.normal(size=(n, 2)), rng.normal(size=(k, 2)), rng.uniform(0.5, 2, n)
        c = disjoint_pairs(rng, n, weight=0.3) | Constraints.sample(
            rng.integers(0, k, n), 12, noise=0.3, random_state=number
        )
        model = CVQEKMeans(k, form=form, init=start, max_iter=1).fit(X, constraints=c, sample_weight=w)
        labels, centres, said = model.labels_.tolist(), model.cluster_centers_, statements(c)
        parts = oracle.pulls(X, labels, start, said, form)
        broken += len(parts)
        np.testing.assert_allclose(centres, oracle.best_centres(X, labels, start, parts, w))

        def value(at, X=X, labels=labels, parts=parts, w=w):
            return oracle.frozen_objective(X, labels, at, parts, w)

        h = 1e-5
        for cell in itertools.product(range(k), range(2)):
            nudge = np.zeros((k, 2))
            nudge[cell] = h
            slope = (value(centres + nudge) - value(centres - nudge)) / (2 * h)
            assert abs(slope) < 1e-6 * (1 + value(centres))
        for _ in range(5):
            assert value(centres + rng.normal(size=(k, 2)) * 0.1) > value(centres)
    assert broken > 20


@form_of
def test_history_rises_only_where_the_farther_end_may_change(form, seed):
    for number in range(12):
        rng = np.random.default_rng((seed, number))
        X, y = make_blobs(60, 3, centers=4, cluster_std=6.0, random_state=int(rng.integers(2**31)))
        c = Constraints.sample(y, 80, noise=0.3, random_state=number)
        if form == "linear":
            c = Constraints(c.must_link, n_items=60)
        model = CVQEKMeans(4, form=form, tol=0, n_init=1, random_state=number).fit(X, constraints=c)
        assert never_rises(model.history_)


def test_the_best_pass_is_kept(seed):
    """Noise makes the objective rise now and then; what is returned is never worse than any pass."""
    rises = 0
    for number in range(30):
        rng = np.random.default_rng((seed, number))
        X = rng.normal(size=(24, 2))
        c = Constraints.sample(rng.integers(0, 3, 24), 60, noise=0.4, random_state=number)
        model = CVQEKMeans(3, init=X[:3], tol=0).fit(X, constraints=c)
        rises += not never_rises(model.history_[:-1])
        assert_model_is_right(model, X, c, "linear")
        assert model.converged_
        assert model.n_iter_ < 100
    assert rises


def best_single_move(model, X, said, form, w) -> float:
    """What the best move of one item (with its hard must-links) to another cluster would gain."""
    labels, centres = model.labels_.tolist(), model.cluster_centers_
    now = oracle.objective(X, labels, centres, said, form, w)
    unit = components(len(X), [(s.i, s.j) for s in said if s.hard and s.together])
    gains = [0.0]
    for u, h in itertools.product(set(unit), range(len(centres))):
        moved = [h if unit[i] == u else g for i, g in enumerate(labels)]
        if obeys_hard(moved, said):
            gains.append(now - oracle.objective(X, moved, centres, said, form, w))
    return max(gains) / (1 + now)


@few_of(14, 40)
@form_of
def test_no_single_move_is_better(form, numbers, seed):
    """Also where the objective rose, and the labels of the best pass were those for the centres before."""
    for number in numbers:
        X, c, k, _, w = small_problem(seed, 500 + number, n_most=12)
        if number % 2:
            rng = np.random.default_rng((seed, number))
            k, w, X = 3, None, rng.normal(size=(24, 2))
            c = Constraints.sample(rng.integers(0, 3, 24), 40, noise=0.3, random_state=number)
        model = CVQEKMeans(k, form=form, tol=0, random_state=number).fit(X, constraints=c, sample_weight=w)
        assert best_single_move(model, X, statements(c), form, w) <= 1e-9


# ---- the papers ---------------------------------------------------------------------------------------


def test_two_clusters_and_must_links_are_the_passes_of_the_paper(seed):
    """Where the three choices of the paper are all there are, we take its passes, to the same end."""
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        X = rng.normal(size=(40, 2))
        c = disjoint_pairs(rng, 40, cannot=False)
        # on both sides of the data: the paper has no rule for empty clusters
        start = np.array([[-1.0, 0.0], [1.0, 0.0]]) + 0.1 * rng.normal(size=(2, 2))
        labels, centres = oracle.lcvqe(X, start, c.must_link.tolist(), [])
        model = CVQEKMeans(2, init=start, tol=0).fit(X, constraints=c)
        assert model.labels_.tolist() == labels
        np.testing.assert_allclose(model.cluster_centers_, centres)


def test_a_pass_is_never_worse_than_the_paper_s(seed):
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        X = rng.normal(size=(30, 2))
        c = disjoint_pairs(rng, 30)
        start = rng.normal(size=(4, 2))
        labels, _ = oracle.lcvqe_pass(X, start, c.must_link.tolist(), c.cannot_link.tolist())
        model = CVQEKMeans(4, init=start, max_iter=1).fit(X, constraints=c)
        paper = oracle.objective(X, labels, start, statements(c), "linear")
        assert model.history_[0] <= paper * (1 + 1e-9)


def test_a_cannot_link_of_full_strength_holds_where_it_stands_alone(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    for k in (2, 3, 5):
        c = disjoint_pairs(rng, 60, must=False)
        assert not CVQEKMeans(k, random_state=0).fit(X, constraints=c).violations_


@form_of
def test_without_an_effect_it_is_k_means(form, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    start = X[rng.choice(200, 5, replace=False)]
    w = rng.uniform(0.5, 2, 200)
    plain = KMeans(5, init=start, n_init=1, algorithm="lloyd").fit(X, sample_weight=w)
    silent = Constraints([(0, 1)], [(1, 2)], n_items=200, weight=0.0)
    for known in (None, silent):
        model = CVQEKMeans(5, form=form, init=start).fit(X, constraints=known, sample_weight=w)
        assert model.labels_.tolist() == plain.labels_.tolist()
        assert model.n_iter_ == plain.n_iter_
        assert model.objective_ == pytest.approx(plain.inertia_ / 2)
        np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_)


# ---- hard and soft ------------------------------------------------------------------------------------


@form_of
def test_hard_statements_hold_beside_soft_ones(form, seed):
    """Frames of twelve in fourteen clusters are kept as rows of counts; pairs and prices come on top."""
    for number in range(3):
        rng = np.random.default_rng((seed, number))
        n, k = 84, 14
        X = rng.normal(size=(n, 3))
        c = Constraints.distinct(np.arange(n) // 12)
        c = c | Constraints.across(np.where(np.arange(n) > 70, np.arange(n) % 2, -1))
        c = c | Constraints.sample(rng.integers(0, k, n), 60, noise=0.3, random_state=number)
        model = CVQEKMeans(k, form=form, n_init=1, random_state=number).fit(X, constraints=c)
        assert model.violations_.n_hard == 0
        assert_model_is_right(model, X, c, form)


@form_of
def test_everything_hard_is_constrained_k_means(form, seed):
    """No price is left: nothing is broken, never below the optimum over all labellings, mostly at it."""
    hits = total = 0
    for number in range(12):
        rng = random.Random(f"{seed} {number}")
        c, _ = feasible_constraints(rng, 7, 2, hard=1.0)
        if not c.check(2, nonempty=True):
            continue
        X = np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(7)])
        model = CVQEKMeans(2, form=form, n_init=20, tol=0, random_state=0).fit(X, constraints=c)
        best = best_cop(X, 2, statements(c))
        assert not model.violations_
        assert model.objective_ == pytest.approx(model.inertia_ / 2)
        assert model.inertia_ >= best - 1e-9
        total += 1
        hits += model.inertia_ <= best + 1e-9
    assert total >= 6
    assert hits >= 0.8 * total


@form_of
def test_a_soft_cannot_link_inside_a_hard_must_link(form):
    X = np.array([[0.0], [1.0], [4.0], [20.0], [21.0]])
    c = Constraints([(0, 1)], n_items=5, hard=True) | Constraints(None, [(0, 1)], n_items=5, weight=0.5)
    model = CVQEKMeans(2, form=form, n_init=5, tol=0, random_state=0).fit(X, constraints=c)
    assert model.violations_.n_broken == 1
    assert_model_is_right(model, X, c, form)


def test_strength_multiplies_price_and_pull(seed):
    """A pair of weight 2 counts as the same pair stated by a confidence of log-odds 2."""
    rng = np.random.default_rng(seed)
    X, start = rng.normal(size=(30, 2)), rng.normal(size=(3, 2))
    pairs = Constraints.sample(rng.integers(0, 3, 30), 40, noise=0.3, random_state=0)
    sure = 1 / (1 + np.exp(-2.0))
    models = [
        CVQEKMeans(3, init=start).fit(X, constraints=Constraints(pairs.must_link, pairs.cannot_link, **said))
        for said in ({"weight": 2.0, "n_items": 30}, {"confidence": sure, "n_items": 30})
    ]
    assert models[0].labels_.tolist() == models[1].labels_.tolist()
    np.testing.assert_allclose(models[0].cluster_centers_, models[1].cluster_centers_)
    assert models[0].objective_ == pytest.approx(models[1].objective_)


# ---- groups -------------------------------------------------------------------------------------------


@form_of
@pytest.mark.parametrize("kind", ["distinct", "across", "label"])
def test_groups_are_the_pairs_that_they_stand_for(kind, form, seed):
    rng = np.random.default_rng(seed)
    make = {"distinct": Constraints.distinct, "across": Constraints.across, "label": Constraints.from_labels}
    for _ in range(5):
        X, start = rng.normal(size=(20, 2)), rng.normal(size=(3, 2))
        c = make[kind](rng.integers(-1, 5, 20), weight=0.4)
        said = statements(c)
        pairs = stated_pairs(c)
        together, strength = (~pairs.cannot).tolist(), pairs.strength.tolist()
        found = sorted(zip(map(tuple, pairs.ij.tolist()), together, strength, strict=True))
        assert found == sorted(((s.i, s.j), s.together, s.strength) for s in said)
        as_pairs = Constraints(
            [(s.i, s.j) for s in said if s.together],
            [(s.i, s.j) for s in said if not s.together],
            n_items=20,
            weight=0.4,
        )
        a = CVQEKMeans(3, form=form, init=start).fit(X, constraints=c)
        b = CVQEKMeans(3, form=form, init=start).fit(X, constraints=as_pairs)
        assert_model_is_right(a, X, c, form)
        assert a.objective_ == pytest.approx(b.objective_)


def test_large_soft_groups_are_refused_by_name():
    y = np.arange(3000) % 3
    with pytest.raises(UnsupportedConstraintError, match=r"4,498,500.*label group.*PCKMeans"):
        CVQEKMeans(3).fit(np.zeros((3000, 1)), constraints=Constraints.from_labels(y, weight=1.0))
    X = np.eye(3)[y] + np.random.default_rng(0).normal(size=(3000, 3)) * 0.1
    assert not CVQEKMeans(3, random_state=0).fit(X, constraints=Constraints.from_labels(y)).violations_


# ---- input --------------------------------------------------------------------------------------------


@form_of
def test_empty_clusters_are_filled(form, seed):
    """One centre far away from everything; pairs of every kind pull at who might go there."""
    for number in range(8):
        rng = np.random.default_rng((seed, number))
        X = rng.normal(size=(20, 2))
        c = Constraints.sample(rng.integers(0, 3, 20), 25, noise=0.3, random_state=number)
        start = np.vstack([X[:2], [[1e3, 1e3]]])
        model = CVQEKMeans(3, form=form, init=start, tol=0).fit(X, constraints=c)
        assert len(np.unique(model.labels_)) == 3
        assert_model_is_right(model, X, c, form)


@form_of
def test_duplicates_that_are_apart(form):
    X = np.zeros((3, 2))
    for hard in (False, True):
        c = Constraints(None, list(itertools.combinations(range(3), 2)), n_items=3, hard=hard)
        model = CVQEKMeans(3, form=form, random_state=0).fit(X, constraints=c)
        assert model.objective_ == 0


@pytest.mark.kernels
def test_every_kernel():
    """Units, pairs and blocks move; a hub is in more pairs than are moved together; rows of counts forbid."""
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 4
    X = rng.normal(size=(120, 3)) + 3 * np.eye(4, 3)[truth]
    hub = Constraints([(0, i) for i in range(4, 100, 4)], [(0, i) for i in range(1, 80, 2)], n_items=120)
    c = hub | Constraints.sample(truth, 150, noise=0.2, random_state=0)
    c = c | Constraints.across(np.where(np.arange(120) > 105, truth < 2, -1))
    c = c | Constraints.from_labels(np.where(np.arange(120) % 9 == 0, truth, -1), weight=0.2)
    for form in FORMS:
        for data in (X, X.astype(np.float32), sparse.csr_matrix(X)):
            model = CVQEKMeans(4, form=form, n_init=1, random_state=0).fit(data, constraints=c)
            assert model.violations_.n_hard == 0
            by_hand = oracle.objective(X, model.labels_, model.cluster_centers_, statements(c), form)
            assert model.objective_ == pytest.approx(by_hand, rel=1e-4)
