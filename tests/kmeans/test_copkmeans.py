"""`COPKMeans`: every constraint holds, always; dead ends only where the textbook was asked for."""

import itertools
import random

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import Constraints
from coterie.datasets import list_tables, load_table
from coterie.exceptions import DeadEndError, InfeasibleConstraintsError, UndecidedError
from coterie.kmeans import COPKMeans
from tests.assign.problems import feasible_constraints
from tests.marks import unsettled
from tests.oracles import constraints as pairs_oracle
from tests.oracles import kmeans as oracle

LINE = np.array([[0.0], [0.1], [0.2], [0.3]])
CHAIN = [(0, 2), (2, 3), (1, 3)]
INITS = ["constraint++", "neighborhoods", "k-means++", "random"]
ASSIGNMENTS = ["local", "greedy", "exact"]


def small_problem(seed, number: int, low: int = 3, high: int = 8, k_max: int = 3):
    """A few points, true constraints of every kind, and enough parts to fill the clusters."""
    for attempt in itertools.count():
        rng = random.Random(f"{seed} {number} {attempt}")
        n = rng.randint(low, high)
        k = rng.randint(1, min(k_max, n))
        c, _ = feasible_constraints(rng, n, k)
        if c.check(k, nonempty=True):
            return np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(n)]), c, k, rng
    raise AssertionError


def assert_model_is_right(model, X, c, sample_weight=None):
    """No violation; objective, inertia and history are what the labels and centres say."""
    assert not c.violations(model.labels_)
    assert not model.violations_
    by_hand = oracle.inertia(X, model.labels_, model.cluster_centers_, sample_weight)
    near = pytest.approx(by_hand, rel=1e-6, abs=1e-9)
    assert model.inertia_ == near
    assert model.objective_ == near
    assert model.history_[-1] == near


# ---- the oracles of the specification -----------------------------------------------------------------


def test_c1_feasible_line_on_which_the_book_fails():
    c = Constraints(None, CHAIN, n_items=4)
    start = np.array([[0.0], [1.0]])
    assert oracle.cop_kmeans(LINE, start, [], CHAIN)[0] is None
    with pytest.raises(DeadEndError, match="3"):
        COPKMeans(2, init=start, assignment="greedy", order="input", n_init=1).fit(LINE, constraints=c)
    for assignment in ASSIGNMENTS:
        model = COPKMeans(2, init=start, assignment=assignment).fit(LINE, constraints=c)
        assert model.labels_[0] == model.labels_[3] != model.labels_[1] == model.labels_[2]
        np.testing.assert_allclose(model.cluster_centers_, [[0.15], [0.15]])
        assert model.inertia_ == pytest.approx(0.05)


@pytest.mark.parametrize("order", ["degeneracy", "random", "input"])
@pytest.mark.parametrize("init", INITS)
def test_three_points_on_which_the_rivals_always_fail(init, order):
    """Issue 9 of COP-Kmeans: the two ends come first, take both clusters, and leave none for the middle."""
    X = np.array([[0.0], [10.0], [5.0]])
    c = Constraints(None, [(0, 2), (1, 2)], n_items=3)
    for random_state in range(5):
        model = COPKMeans(2, init=init, order=order, random_state=random_state).fit(X, constraints=c)
        assert model.labels_[0] == model.labels_[1] != model.labels_[2]
        assert model.inertia_ == pytest.approx(50.0)
    start = np.array([[0.0], [10.0]])
    with pytest.raises(DeadEndError, match="2"):
        COPKMeans(2, init=start, assignment="greedy", order="input").fit(X, constraints=c)
    assert COPKMeans(2, init=start, order=order).fit(X, constraints=c).inertia_ == pytest.approx(50.0)


def test_only_the_textbook_dead_ends():
    """In a random order the three points fail now and then, and say so; nothing wrong is ever returned."""
    X = np.array([[0.0], [10.0], [5.0]])
    c = Constraints(None, [(0, 2), (1, 2)], n_items=3)
    for chosen in ({"strategy": "wagstaff"}, {"assignment": "greedy", "order": "random"}):
        failed = fine = 0
        for random_state in range(60):
            model = COPKMeans(2, init=X[:2], n_init=1, random_state=random_state, **chosen)
            try:
                model.fit(X, constraints=c)
            except DeadEndError:
                failed += 1
            else:
                fine += 1
                assert not c.violations(model.labels_)
        assert failed > 0, chosen
        assert fine > 0, chosen


def test_failed_starts_are_counted():
    X = np.array([[0.0], [10.0], [5.0]])
    c = Constraints(None, [(0, 2), (1, 2)], n_items=3)
    counts = set()
    for random_state in range(10):
        model = COPKMeans(2, init="random", n_init=12, strategy="wagstaff", random_state=random_state)
        try:
            model.fit(X, constraints=c)
        except DeadEndError:
            continue
        assert 0 <= model.n_failed_starts_ < 12
        counts.add(model.n_failed_starts_)
    assert max(counts) > 0
    assert COPKMeans(2, n_init=3, random_state=0).fit(X, constraints=c).n_failed_starts_ == 0


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("batch", range(3))
def test_c3_c5_never_a_violation_never_below_the_optimum(assignment, batch, seed):
    for number in range(8):
        X, c, k, rng = small_problem(seed, 100 * batch + number)
        said = oracle.statements(c)
        best = oracle.best_cop(X, k, said)
        model = COPKMeans(k, init=rng.choice(INITS), assignment=assignment, random_state=number)
        try:
            model.fit(X, constraints=c)
        except DeadEndError:
            assert assignment == "greedy"
            continue
        assert_model_is_right(model, X, c)
        assert model.objective_ >= best - 1e-9 * (1 + best)
        assert set(model.labels_.tolist()) == set(range(k))


@pytest.mark.parametrize("assignment", ["local", "exact"])
def test_c5_best_of_many_starts_is_the_optimum(assignment, seed):
    hits, total = 0, 25 if assignment == "local" else 6
    for number in range(total):
        X, c, k, _ = small_problem(seed, 1000 + number)
        best = oracle.best_cop(X, k, oracle.statements(c))
        model = COPKMeans(k, n_init=25, tol=0, assignment=assignment, random_state=number)
        hits += model.fit(X, constraints=c).objective_ <= best + 1e-9 * (1 + best)
    assert hits >= 0.8 * total


def test_c6_the_height_split_of_figure_1_1():
    corners, offsets = [(0, 0), (0, 3.2), (3, 0), (3, 3.2)], [(0, 0), (0.3, 0), (0, 0.3)]
    X = np.array([(a + x, b + y) for a, b in corners for x, y in offsets], dtype=float)
    assert COPKMeans(2, n_init=20, random_state=0).fit(X).inertia_ == pytest.approx(27.48)
    c = Constraints([(0, 3), (6, 9)], [(0, 6)], n_items=12)
    start = np.array([X[[0, 3]].mean(axis=0), X[[6, 9]].mean(axis=0)])
    for init in (start, "neighborhoods", "constraint++"):
        n_init = 1 if init is start else 20
        model = COPKMeans(2, init=init, n_init=n_init, random_state=0).fit(X, constraints=c)
        assert model.inertia_ == pytest.approx(31.20)
        assert model.labels_.tolist() in ([0] * 6 + [1] * 6, [1] * 6 + [0] * 6)
    assert COPKMeans(2, init=start).fit(X, constraints=c).labels_.tolist() == [0] * 6 + [1] * 6


@pytest.mark.parametrize("assignment", ["local", "exact"])
def test_c4_the_objective_never_rises(assignment, seed):
    for number in range(4):
        rng = np.random.default_rng((seed, number))
        n, k = 50, 4
        X, y = make_blobs(n, 3, centers=k, cluster_std=6.0, random_state=int(rng.integers(2**31)))
        c = Constraints.sample(y, 60, random_state=number)
        w = rng.integers(1, 4, n).astype(float) if number % 2 else None
        model = COPKMeans(k, init="random", n_init=2, assignment=assignment, tol=0, random_state=number)
        model.fit(X, constraints=c, sample_weight=w)
        assert_model_is_right(model, X, c, w)
        history = np.asarray(model.history_)
        assert history.dtype == np.float64
        assert (np.diff(history) <= 1e-9 * history[:-1]).all()
        assert model.converged_


# ---- greedy and the literal table ---------------------------------------------------------------------


def test_greedy_in_input_order_is_the_table_of_the_book(seed):
    """Without must-links a pass is the book's; it fails in the first pass, or agrees if nothing rose."""
    compared = 0
    for number in range(40):
        rng = random.Random(f"{seed} {number}")
        n, k = rng.randint(6, 14), rng.randint(2, 3)
        truth = [rng.randrange(k) for _ in range(n)]
        pairs = [tuple(rng.sample(range(n), 2)) for _ in range(rng.randint(1, n))]
        cannot = [p for p in pairs if truth[p[0]] != truth[p[1]]]
        X = np.array([[rng.gauss(0, 1)] for _ in range(n)])
        start = X[rng.sample(range(n), k)]
        c = Constraints(None, cannot, n_items=n)
        model = COPKMeans(k, init=start, assignment="greedy", order="input", n_init=1, tol=0)
        labels, scatters = oracle.cop_kmeans(X, start, [], [pairs_oracle.ordered(p) for p in cannot])
        if labels is None and not scatters:
            with pytest.raises(DeadEndError):
                model.fit(X, constraints=c)
        elif labels and set(labels) == set(range(k)) and (np.diff(scatters) <= 0).all():
            compared += 1
            assert model.fit(X, constraints=c).labels_.tolist() == labels
    assert compared >= 5


def test_wagstaff_lets_the_first_member_decide():
    """The two left members outvote the right one, unless it comes first: the book's way goes both ways."""
    X = np.array([[1.0], [2.0], [9.5], [0.0], [10.0]])
    c = Constraints([(0, 1), (1, 2)], n_items=5)
    start = np.array([[0.0], [10.0]])
    seen = set()
    for random_state in range(40):
        model = COPKMeans(2, init=start, strategy="wagstaff", n_init=1, max_iter=1, random_state=random_state)
        labels = model.fit(X, constraints=c).labels_
        assert len(set(labels[:3].tolist())) == 1
        seen.add(int(labels[0]))
    assert seen == {0, 1}
    assert COPKMeans(2, init=start).fit(X, constraints=c).labels_.tolist() == [0, 0, 0, 0, 1]


def test_wagstaff_never_returns_a_violation(seed):
    for number in range(20):
        X, c, k, _ = small_problem(seed, 5000 + number)
        try:
            model = COPKMeans(k, strategy="wagstaff", random_state=number).fit(X, constraints=c)
        except DeadEndError:
            continue
        assert not c.violations(model.labels_)


# ---- real tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("name", ["iris", "wine", "vowel", "segment"])
def test_a_hundred_true_pairs_always_get_an_answer(name, draw):
    if not list_tables()[name]:
        pytest.skip(f"{name} is not in the data folder (COTERIE_DATA)")
    X, y = load_table(name, return_X_y=True)
    k = len(np.unique(y))
    for n_pairs in (100, 300):
        c = Constraints.sample(y, n_pairs, random_state=draw)
        model = COPKMeans(k, n_init=2, random_state=draw).fit(X, constraints=c)
        assert not c.violations(model.labels_)
        history = np.asarray(model.history_)
        assert (np.diff(history) <= 1e-9 * history[:-1]).all()
        assert set(model.labels_.tolist()) == set(range(k))


@pytest.mark.parametrize("assignment", ["greedy", "exact"])
def test_other_assignments_on_iris(assignment):
    X, y = load_table("iris", return_X_y=True)
    for draw in range(2):
        c = Constraints.sample(y, 50, random_state=draw)
        model = COPKMeans(3, assignment=assignment, n_init=1, random_state=draw).fit(X, constraints=c)
        assert_model_is_right(model, X, c)


def test_all_pairs_true_gives_the_truth():
    """Labels of every item leave one partition only."""
    X, y = load_table("iris", return_X_y=True)
    model = COPKMeans(3, random_state=0).fit(X, constraints=y)
    assert len({(a, b) for a, b in zip(y.tolist(), model.labels_.tolist(), strict=True)}) == 3
    assert model.inertia_ == pytest.approx(oracle.scatter_of(X, y, 3))


# ---- groups -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_distinct_groups_hold(assignment, seed):
    """Tracks of people: no two boxes of one frame in a cluster."""
    rng = np.random.default_rng(seed)
    k, frames = 4, 25 if assignment != "exact" else 10
    people = rng.normal(size=(k, 2)) * 0.5  # so close that plain k-means mixes them
    frame = np.repeat(np.arange(frames), k)
    X = people[np.tile(np.arange(k), frames)] + rng.normal(size=(k * frames, 2))
    c = Constraints.distinct(frame)
    model = COPKMeans(k, assignment=assignment, n_init=2, random_state=0).fit(X, constraints=c)
    assert_model_is_right(model, X, c)
    for f in range(frames):
        assert len(set(model.labels_[frame == f].tolist())) == k


def test_soft_statements_are_obeyed_too():
    """A hard method ignores weights: the smallest is as good as the largest; 0 has no effect."""
    X = np.array([[0.0], [1.0], [100.0], [101.0]])
    c = Constraints([(0, 3)], None, n_items=4, weight=1e-300)
    labels = COPKMeans(2, random_state=0).fit(X, constraints=c).labels_
    assert labels[0] == labels[3]
    silent = Constraints([(0, 3)], None, n_items=4, weight=0.0)
    labels = COPKMeans(2, random_state=0, n_init=5).fit(X, constraints=silent).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]


# ---- corners ------------------------------------------------------------------------------------------


@unsettled
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_duplicates_that_are_apart(assignment):
    X = np.zeros((4, 2))
    c = Constraints(None, list(itertools.combinations(range(4), 2)), n_items=4)
    model = COPKMeans(4, assignment=assignment, random_state=0).fit(X, constraints=c)
    assert sorted(model.labels_.tolist()) == [0, 1, 2, 3]
    assert model.inertia_ == 0
    X = np.repeat([[0.0], [5.0]], 6, axis=0)
    c = Constraints(None, [(0, 1), (2, 3), (6, 7)], n_items=12)
    model = COPKMeans(3, assignment=assignment, random_state=1).fit(X, constraints=c)
    assert_model_is_right(model, X, c)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_as_many_clusters_as_parts(assignment):
    X = np.array([[0.0], [1.0], [10.0], [11.0], [50.0]])
    c = Constraints([(0, 2)], [(1, 3)], n_items=5)
    model = COPKMeans(4, assignment=assignment, random_state=0).fit(X, constraints=c)
    assert len(set(model.labels_.tolist())) == 4
    assert model.inertia_ == pytest.approx(50.0)
    with pytest.raises(InfeasibleConstraintsError, match="4"):
        COPKMeans(5).fit(X, constraints=c)


@pytest.mark.parametrize(
    ("k", "known"), [(2, Constraints.distinct([7, 7, 7, -1])), (1, Constraints(None, [(0, 2)], n_items=4))]
)
def test_what_cannot_be_comes_with_a_certificate(k, known):
    with pytest.raises(InfeasibleConstraintsError) as error:
        COPKMeans(k).fit(np.arange(4.0)[:, None], constraints=known)
    assert error.value.certificate is not None


def test_no_budget_is_never_called_infeasible(seed):
    rng = random.Random(seed)
    n, k = 80, 3
    truth = [rng.randrange(k) for _ in range(n)]
    pairs = [tuple(rng.sample(range(n), 2)) for _ in range(300)]
    c = Constraints(None, [p for p in pairs if truth[p[0]] != truth[p[1]]], n_items=n)
    X = np.array([[rng.gauss(0, 1)] for _ in range(n)])
    try:
        model = COPKMeans(k, budget=1, random_state=0).fit(X, constraints=c)
    except UndecidedError:
        return
    assert not c.violations(model.labels_)


def test_a_heavy_must_link_is_weighed_as_a_whole():
    """The part goes where all its weight is cheapest, not where its first item or its plain mean is."""
    X = np.array([[0.0], [0.4], [10.0], [10.0], [0.0]])
    c = Constraints([(1, 2)], n_items=5)
    start = np.array([[0.0], [10.0]])
    model = COPKMeans(2, init=start, max_iter=1)
    light = model.fit(X, constraints=c, sample_weight=[1, 10, 1, 1, 1]).labels_.tolist()
    heavy = model.fit(X, constraints=c, sample_weight=[1, 1, 10, 1, 1]).labels_.tolist()
    assert light == [0, 0, 0, 1, 0]
    assert heavy == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("assignment", ["local", "exact"])
def test_parts_without_any_weight_do_not_divide_by_zero(assignment):
    X = np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.1]])
    c = Constraints([(4, 5)], [(0, 4)], n_items=6)
    w = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    model = COPKMeans(2, assignment=assignment, random_state=0).fit(X, constraints=c, sample_weight=w)
    assert np.isfinite(model.cluster_centers_).all()
    assert_model_is_right(model, X, c, w)


@unsettled
@pytest.mark.parametrize("batch", range(3))
def test_larger_problems_of_every_kind(batch, seed):
    """Groups above the size that is written out as pairs, weights of 0, early stops."""
    for number in range(12):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(12, 50), rng.randint(2, 6)
        X = np.array([[rng.gauss(0, 1) for _ in range(3)] for _ in range(n)])
        w = np.array([rng.choice([0.0, 1.0, 2.0]) for _ in range(n)]) if number % 2 else None
        c, _ = feasible_constraints(rng, n, k)
        if not c.check(k, nonempty=True):
            continue
        model = COPKMeans(
            k, init=rng.choice(INITS), n_init=1, max_iter=rng.choice([1, 2, 300]), random_state=number
        )
        model.fit(X, constraints=c, sample_weight=w)
        assert_model_is_right(model, X, c, w)
        history = np.asarray(model.history_)
        assert (np.diff(history) <= 1e-9 * history[:-1]).all()


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_an_item_without_weight_keeps_its_cluster(assignment):
    """Its cluster has no mass, but is not empty: filling it would break what keeps it apart."""
    X = np.array([[0.0], [1.0], [9.0]])
    c = Constraints(None, [(0, 2), (1, 2)], n_items=3)
    model = COPKMeans(2, assignment=assignment, random_state=0)
    model.fit(X, constraints=c, sample_weight=[1.0, 1.0, 0.0])
    assert model.labels_[0] == model.labels_[1] != model.labels_[2]
    X = np.array([[0.0], [1.0], [5.0], [6.0], [9.0]])
    c = Constraints.across([0, 1, 2, 2, 3])
    model = COPKMeans(4, assignment=assignment, random_state=0)
    model.fit(X, constraints=c, sample_weight=[1.0, 1.0, 2.0, 2.0, 0.0])
    assert len(set(model.labels_[[0, 1, 2, 4]].tolist())) == 4
    assert np.isfinite(model.cluster_centers_).all()


def test_exact_is_never_worse_in_its_first_step(seed):
    """From one start, the first assignment of the exact method costs no more than the local one."""
    for number in range(8):
        rng = np.random.default_rng((seed, number))
        X, y = make_blobs(50, 2, centers=3, cluster_std=6.0, random_state=int(rng.integers(2**31)))
        c = Constraints.sample(y, 50, random_state=number)
        start = X[rng.choice(50, 3, replace=False)]
        first = {
            how: COPKMeans(3, init=start, assignment=how).fit(X, constraints=c).history_[0]
            for how in ("local", "exact")
        }
        assert first["exact"] <= first["local"] * (1 + 1e-9)
