"""`HMRFKMeans`: its objective is the definition's, falls where theory says so, and knows its limits."""

import functools
import itertools
import math
import random
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints
from coterie.distortion import Cosine, IDivergence, SquaredEuclidean
from coterie.exceptions import InfeasibleConstraintsError, ViolatedConstraintsWarning
from coterie.kmeans import HMRFKMeans as DefaultHMRFKMeans
from coterie.kmeans._engine.starts import CentreStarts
from coterie.kmeans._prices import closure as _closure_prices
from tests.assign.problems import feasible_constraints, fit_or_refuse, random_constraints
from tests.marks import outvoted, unsettled
from tests.oracles import hmrf as oracle
from tests.oracles import kmeans as plain
from tests.oracles import mpck

pytestmark = [outvoted, unsettled]
# the paper's prices, and all that follows from the pairs, but where a test says otherwise
HMRFKMeans = functools.partial(DefaultHMRFKMeans, weight=1.0, closure="auto")


@pytest.fixture(autouse=True)
def by_sums(monkeypatch):
    """However few pairs follow, they are never written down: that is what closure=False does."""
    monkeypatch.setattr(_closure_prices, "FEW_PAIRS", 0)


METRICS = ["sqeuclidean", "cosine", "idivergence"]
# the settings under which no half-step may raise the objective
FALLING = {
    "sqeuclidean": {"metric": "sqeuclidean"},
    "sqeuclidean fixed": {"metric": "sqeuclidean", "learn": "none"},
    "cosine": {"metric": "cosine"},
    "cosine fixed": {"metric": "cosine", "learn": "none"},
    "idivergence fixed": {"metric": "idivergence", "learn": "none", "smoothed": "items"},
}
RISING = {
    "centers": {"metric": "idivergence", "learn": "none"},
    "annealed": {"metric": "idivergence", "learn": "none", "smoothed": "annealed"},
    "annealed ascent": {"metric": "idivergence", "smoothed": "annealed"},
    "ascent of items": {"metric": "idivergence", "smoothed": "items"},
    "ascent": {"metric": "idivergence"},
    "descent": {"metric": "idivergence", "rule": "descent"},
    "cosine bold": {"metric": "cosine", "backtrack": False},
}
EVERY = {**FALLING, **RISING}
INITS = ["mixed", "neighborhoods", "perturb", "k-means++", "random"]


def topics(seed, n=30, k=3, d=7, length=25, n_pairs=15, noise=0.1):
    """Word counts from overlapping topics as shares of each row, and pairs of which some are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    words = rng.dirichlet(np.full(d, 0.6), size=k)
    X = np.array([rng.multinomial(length, words[h]) for h in y], dtype=float)
    X /= X.sum(axis=1, keepdims=True)
    return X, y, Constraints.sample(y, n_pairs, noise=noise, random_state=int(rng.integers(2**31))), rng


def far_topics(seed, size=10, d=6):
    """Three topics that share few words: the truth is plain, whatever the metric."""
    rng = np.random.default_rng(seed)
    y = np.arange(3 * size) % 3
    X = 0.02 + 0.05 * rng.random((3 * size, d))
    for i, h in enumerate(y):
        X[i, 2 * h : 2 * h + 2] += rng.uniform(0.8, 1.2, 2)
    return X / X.sum(axis=1, keepdims=True), y, rng


def priced(model, c) -> list:
    """The constraints that are in the objective, with what they entail where the closure is in use."""
    said = plain.statements(c)
    if model.use_pairs not in ("both", "assign"):
        return [s for s in said if s.hard]
    n = c.n_items
    closed = model.closure is True or (model.closure == "auto" and not oracle.contradictory(n, said))
    if not closed:
        return said
    silent = oracle.of_hard_groups(c)  # they keep their own items apart, and nothing follows from that
    return oracle.closure(n, list((Counter(said) - Counter(silent)).elements()), silent)


def parts_at(model, X, labels, said, sample_weight=None) -> dict:
    a, centres = np.asarray(model.metric_, dtype=float), model.cluster_centers_
    if model.metric == "sqeuclidean":
        return mpck.parts(
            X,
            labels,
            centres,
            [np.diag(a)] * len(centres),
            said,
            weight=model.weight_,
            sample_weight=sample_weight,
        )
    return oracle.parts(
        X,
        labels,
        centres,
        a,
        said,
        metric=model.metric,
        weight=model.weight_,
        smoothing=counted_smoothing(model),
        sample_weight=sample_weight,
    )


def counted_smoothing(model) -> float:
    """Pseudo-items that each item pays for."""
    return model.smoothing_ if model.metric == "idivergence" and model.smoothed == "items" else 0.0


def scale_of(parts: dict) -> float:
    return math.fsum(abs(value) for value in parts.values()) + 1e-300


def assert_model_is_right(model, X, c, sample_weight=None, *, falls=True, moves=True):
    """Objective, parts and history are what labels, prototypes and weights say; no one move improves."""
    said = priced(model, c)
    parts = parts_at(model, X, model.labels_, said, sample_weight)
    scale = scale_of(parts)
    assert plain.obeys_hard(model.labels_.tolist(), said)
    assert model.metric_.shape == (X.shape[1],)
    assert set(model.objective_parts_) == set(parts)
    # each 1 - cos has the last digit of 1, however small it is
    prices = model.weight_ * plain.price(model.labels_.tolist(), said)
    digits = 1e-15 * (len(X) + prices) if model.metric == "cosine" else 0.0
    near = {"rel": 1e-9, "abs": 1e-9 * scale + digits}
    for name, part in parts.items():
        assert model.objective_parts_[name] == pytest.approx(part, **near), name
    assert model.objective_ == pytest.approx(math.fsum(parts.values()), **near)
    assert model.inertia_ == model.objective_parts_["distortion"]
    history = np.asarray(model.history_)
    assert history[-1] == pytest.approx(model.objective_, **near)
    if falls:
        assert (np.diff(history) <= 1e-10 * np.maximum(np.abs(history[:-1]), scale) + digits).all()
    assert str(model.violations_) == str(c.violations(model.labels_))
    if moves and model.converged_:

        def value(labels):
            return math.fsum(parts_at(model, X, labels, said, sample_weight).values())

        gain = mpck.best_move(model.labels_.tolist(), model.n_clusters, said, value)
        assert gain <= near["abs"]


# ---- the oracle itself --------------------------------------------------------------------------------


def test_oracle_item_5_distances():
    ones = np.ones(2)
    assert oracle.to_the_mean(np.array([1.0, 0.0]), np.array([0.0, 1.0]), ones) == pytest.approx(
        2 * math.log(2)
    )
    half, other = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    assert oracle.idivergence(half, other, ones) == pytest.approx(0.143841, abs=1e-6)
    x, y = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert oracle.cosine(x, y, ones) == pytest.approx(0.292893, abs=1e-6)
    assert oracle.cosine(x, y, np.array([4.0, 1.0])) == pytest.approx(0.105573, abs=1e-6)
    slope = mpck.slope(lambda a: oracle.cosine(x, y, a), np.array([4.0, 1.0]))
    np.testing.assert_allclose(slope, [-0.0223607, 0.0894427], atol=1e-6)
    assert oracle.idivergence(x, np.array([0.0, 1.0]), ones) == math.inf


WORKED = np.array([[1.0, 0.0], [3.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
WORKED_PAIRS = [plain.Said(0, 2, True, 1.0, False), plain.Said(2, 3, False, 1.0, False)]


def test_oracle_item_6_worked_objectives():
    labels, ones = [0, 0, 1, 1], np.ones(2)
    mu = oracle.directions(WORKED, labels, 2, ones)
    np.testing.assert_allclose(mu[0], [0.98708746, 0.16018224], atol=1e-8)
    parts = oracle.parts(WORKED, labels, mu, ones, WORKED_PAIRS, metric="cosine")
    assert parts["distortion"] == pytest.approx(4 * 0.01291254, abs=1e-7)
    assert parts["must_link"] == pytest.approx(0.68377223, abs=1e-8)
    assert parts["cannot_link"] == pytest.approx(1 - 0.05131670, abs=1e-8)
    assert math.fsum(parts.values()) == pytest.approx(1.68410570, abs=1e-8)
    slope = mpck.slope(lambda a: oracle.objective(WORKED, labels, mu, a, WORKED_PAIRS, metric="cosine"), ones)
    np.testing.assert_allclose(slope, [-0.18973666, 0.18973666], atol=1e-7)

    X = WORKED / WORKED.sum(axis=1, keepdims=True)
    mu = oracle.smoothed(X, labels, 2, 0.5)
    np.testing.assert_allclose(mu[0], [0.75, 0.25])
    parts = oracle.parts(X, labels, mu, ones, WORKED_PAIRS, metric="idivergence")
    assert parts["distortion"] == pytest.approx(2 * 0.28768207, abs=1e-8)
    assert parts["must_link"] == pytest.approx(0.76079133, abs=1e-8)
    assert parts["cannot_link"] == pytest.approx(1.38629436 - 0.19120518, abs=1e-8)
    assert math.fsum(parts.values()) == pytest.approx(2.53124466, abs=1e-8)


def test_oracle_item_7_closure_of_figure_1():
    said = [plain.Said(0, 2, True, 1.0, False), plain.Said(0, 3, True, 1.0, False)]
    said.append(plain.Said(2, 5, False, 1.0, False))
    closed = oracle.closure(6, said)
    assert sorted((s.i, s.j) for s in closed if s.together) == [(0, 2), (0, 3), (2, 3)]
    assert sorted((s.i, s.j) for s in closed if not s.together) == [(0, 5), (2, 5), (3, 5)]
    assert oracle.neighbourhoods(6, said) == [[0, 2, 3]]
    assert plain.obeys_all([1, 1, 1, 1, 3, 2], closed)


def test_oracle_items_3_and_4_slopes(seed):
    """The cosine does not see the scale of weights or rows; the divergence has its slope in closed form."""
    X, y, c, rng = topics(seed)
    said, a = plain.statements(c), rng.uniform(0.5, 2.0, 7)
    labels = np.where(rng.random(30) < 0.3, rng.integers(0, 3, 30), y).tolist()
    mu = oracle.directions(X, labels, 3, a)

    def cosine(a, X=X):
        return oracle.objective(X, labels, mu, a, said, metric="cosine")

    assert cosine(3 * a) == pytest.approx(cosine(a), rel=1e-12)
    assert cosine(a, X * rng.uniform(0.1, 9.0, (30, 1))) == pytest.approx(cosine(a), rel=1e-12)
    assert abs(a @ mpck.slope(cosine, a)) < 1e-6 * np.abs(mpck.slope(cosine, a)).sum()
    mu = oracle.smoothed(X, labels, 3, 2.0)
    w = rng.uniform(0.5, 2.0, 30)
    X[:, 0] += 0.1 * rng.random(30)  # one row has the largest sum: the bound has a slope there
    for smoothing in (0.0, 2.0):
        kind = {"smoothing": smoothing, "weight": 0.7, "sample_weight": w}

        def value(a, kind=kind):
            return oracle.objective(X, labels, mu, a, said, metric="idivergence", **kind)

        by_hand = oracle.divergence_slope(X, labels, mu, said, a=a, **kind)
        np.testing.assert_allclose(mpck.slope(value, a), by_hand, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("metric", ["cosine", "idivergence"])
def test_oracle_item_10_a_move_changes_the_objective_by_its_cost(metric, seed):
    X, y, c, rng = topics(seed)
    said, a = oracle.closure(30, plain.statements(c)), rng.uniform(0.5, 2.0, 7)
    mu = oracle.smoothed(X, y, 3, 1.0)
    kind = {"metric": metric, "smoothing": 1.0 if metric == "idivergence" else 0.0}
    labels = rng.integers(0, 3, 30).tolist()
    for i, h in itertools.product(range(30), range(3)):
        moved = [h if j == i else g for j, g in enumerate(labels)]
        change = oracle.objective(X, moved, mu, a, said, **kind) - oracle.objective(
            X, labels, mu, a, said, **kind
        )
        costs = [oracle.item_cost(X, i, g, labels, mu, a, said, **kind) for g in (h, labels[i])]
        assert change == pytest.approx(costs[0] - costs[1], abs=1e-10)


def test_oracle_prototypes_are_the_best(seed):
    X, y, _, rng = topics(seed)
    a = rng.uniform(0.5, 2.0, 7)
    for metric, mu in (
        ("cosine", oracle.directions(X, y, 3, a)),
        ("idivergence", oracle.smoothed(X, y, 3, 2.0)),
    ):
        smoothing = 2.0 if metric == "idivergence" else 0.0

        def value(mu, metric=metric, smoothing=smoothing):
            return oracle.objective(X, y, mu, a, metric=metric, smoothing=smoothing)

        assert np.abs(mpck.slope(value, mu)).max() < 1e-5
        for _ in range(20):
            assert value(mu * rng.uniform(0.9, 1.1, mu.shape)) >= value(mu) - 1e-12


# ---- the objective and its steps ----------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_items_2_and_8_objective_history_and_moves(name, seed):
    for number in range(3):
        X, _, c, rng = topics((seed, number), n=24, n_pairs=12)
        w = rng.integers(1, 4, 24).astype(float) if number % 2 else None
        model = HMRFKMeans(3, weight=[1.0, 0.2, 5.0][number], n_init=2, random_state=number, **EVERY[name])
        model.fit(X, constraints=c, sample_weight=w)
        assert_model_is_right(model, X, c, w, falls=name in FALLING)
        assert model.monotone == (name in FALLING)


@pytest.mark.parametrize("learn", ["diagonal", "none"])
def test_cosine_of_rows_with_negative_values(learn, seed):
    """The farthest two directions then differ by 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 4)) + 2 * np.eye(4)[np.arange(24) % 3]
    c = Constraints.sample(np.arange(24) % 3, 15, noise=0.2, random_state=0)
    model = HMRFKMeans(3, metric="cosine", learn=learn, weight=0.1, random_state=0).fit(X, constraints=c)
    assert_model_is_right(model, X, c)


@pytest.mark.parametrize("name", EVERY)
def test_statements_of_every_kind(name, seed):
    for number in range(6):
        rng = random.Random(f"{seed} {name} {number}")
        n, k = rng.randint(6, 18), rng.randint(1, 4)
        X, _, _, _ = topics((seed, number), n=n, k=2)
        if number % 3:
            c, _ = feasible_constraints(rng, n, k, hard=0.3)
        else:
            c = random_constraints(rng, n, hard=0.05, dense=0.4)
        w = np.array([rng.choice([0.0, 0.5, 1.0, 2.0]) for _ in range(n)]) if number % 2 else None
        model = HMRFKMeans(
            k,
            weight=rng.choice([0.0, 0.3, 1.0, 1e3]),
            closure=rng.choice(["auto", False]),
            init=rng.choice(INITS),
            n_init=1,
            max_iter=rng.choice([1, 3, 100]),
            random_state=number,
            **EVERY[name],
        )
        if fit_or_refuse(model, X, c, w) is None:
            continue
        assert_model_is_right(model, X, c, w, falls=name in FALLING)


@pytest.mark.parametrize("name", ["cosine fixed", "idivergence fixed", "sqeuclidean fixed"])
def test_item_8_never_below_the_best_labels(name, seed):
    """All labellings of a few items for the prototypes that were found."""
    for number in range(3):
        X, _, c, _ = topics((seed, number), n=7, k=2, n_pairs=4)
        model = HMRFKMeans(2, n_init=10, random_state=0, **FALLING[name]).fit(X, constraints=c)
        said = priced(model, c)

        def value(labels, model=model, X=X, said=said):
            return math.fsum(parts_at(model, X, labels, said).values())

        best, _ = mpck.best_labels(7, 2, said, value)
        assert model.objective_ >= best - 1e-9 * scale_of(model.objective_parts_)


@pytest.mark.parametrize("metric", ["cosine", "idivergence"])
def test_item_6_worked_objective_of_a_model(metric):
    """Prices so low that the labels stay as they are."""
    X = WORKED / WORKED.sum(axis=1, keepdims=True)
    start = oracle.smoothed(X, [0, 0, 1, 1], 2, 0.5)
    c = Constraints([(0, 2)], [(2, 3)], n_items=4)
    kind = {"metric": metric, "learn": "none", "closure": False, "init": start, "smoothing": 0.5}
    model = HMRFKMeans(2, weight=0.01, **kind).fit(X, constraints=c)
    paid = HMRFKMeans(2, weight=0.01, smoothed="items", **kind).fit(X, constraints=c)
    assert model.labels_.tolist() == paid.labels_.tolist() == [0, 0, 1, 1]
    parts = model.objective_parts_
    if metric == "cosine":
        assert parts["distortion"] == pytest.approx(4 * 0.01291254, abs=1e-7)
        assert parts["must_link"] == pytest.approx(0.0068377223, abs=1e-9)
        assert parts["cannot_link"] == pytest.approx(0.0094868330, abs=1e-9)
    else:
        np.testing.assert_allclose(model.cluster_centers_, start)
        extra = 4 * 0.5 * oracle.idivergence(np.full(2, 0.5), start[0], np.ones(2))
        assert parts["distortion"] == pytest.approx(2 * 0.28768207, abs=1e-7)
        assert paid.objective_parts_["distortion"] == pytest.approx(2 * 0.28768207 + extra, abs=1e-7)
        assert parts["must_link"] == pytest.approx(0.0076079133, abs=1e-9)
        assert parts["cannot_link"] == pytest.approx(0.0119508918, abs=1e-9)


def one_step(seed, **kind):
    """A model after one step of its weights, where labels are plain and two cheap pairs are broken."""
    X, y, _ = far_topics(seed)
    c = Constraints([(0, 1)], [(0, 3)], n_items=len(X))
    start = oracle.smoothed(X, y, 3, 0.1)
    model = HMRFKMeans(3, weight=0.05, closure=False, init=start, max_iter=1, tol=0, random_state=0, **kind)
    model.fit(X, constraints=c)
    assert model.labels_.tolist() == y.tolist()
    assert model.violations_.n_broken == 2
    return model, X, plain.statements(c)


def test_item_4_a_step_of_the_cosine_goes_down_the_slope(seed):
    model, X, said = one_step(seed, metric="cosine", step=0.05, backtrack=False)

    def value(a):
        return oracle.objective(
            X, model.labels_, model.cluster_centers_, a, said, metric="cosine", weight=0.05
        )

    ones = np.ones(X.shape[1])
    expected = np.maximum(ones - 0.05 * mpck.slope(value, ones), 1e-5)
    np.testing.assert_allclose(model.metric_ / model.metric_.mean(), expected / expected.mean(), rtol=1e-5)


@pytest.mark.parametrize("smoothed", ["centers", "items"])
@pytest.mark.parametrize("rule", ["ascent", "descent"])
def test_item_4_a_step_of_the_divergence_follows_the_slope(rule, smoothed, seed):
    kind = {"metric": "idivergence", "rule": rule, "step": 0.01, "smoothing": 0.1, "smoothed": smoothed}
    model, X, said = one_step(seed, backtrack=False, **kind)
    slope = oracle.divergence_slope(
        X, model.labels_, model.cluster_centers_, said, weight=0.05, smoothing=counted_smoothing(model)
    )
    if rule == "ascent":
        expected = 1 + 0.01 * slope
        np.testing.assert_allclose(model.metric_, expected / expected.mean(), rtol=1e-9)
    else:
        np.testing.assert_allclose(model.metric_, np.maximum(1 - 0.01 * slope, 1e-5), rtol=1e-9)
        by_default, _, _ = one_step(seed, metric="idivergence", smoothing=0.1)
        assert by_default.metric_.mean() == pytest.approx(1.0)


def test_squared_distances_have_the_closed_form(seed):
    """At rest a_m is n over the scatter that the pairs, with all that they entail, leave in m."""
    X, _, c, rng = topics(seed, noise=0.3)
    c = Constraints(c.must_link, c.cannot_link, n_items=30, weight=rng.choice([0.5, 1.0, 2.0], c.n_pairs))
    w = rng.integers(1, 4, 30).astype(float)
    for rule in ("auto", "ascent"):  # there is no rule to choose
        model = HMRFKMeans(3, weight=0.1, tol=0, rule=rule, random_state=0).fit(
            X, constraints=c, sample_weight=w
        )
        if model.converged_:
            best, floored = mpck.best_metrics(
                X, model.labels_, model.cluster_centers_, priced(model, c), weight=0.1, sample_weight=w
            )
            np.testing.assert_allclose(model.metric_, np.diag(best[0]), rtol=1e-6)
            assert model.regularized_ == floored


def test_counts_are_smoothed_by_as_many(seed):
    """Rows of seven times the counts have seven times the centres, and the same labels."""
    X, _, c, _ = topics(seed)
    counts = np.round(25 * X)
    kind = {"metric": "idivergence", "learn": "none", "random_state": 0}
    for smoothing in ("auto", 3.0):
        one, more = (
            HMRFKMeans(3, smoothing=smoothing, **kind).fit(Y, constraints=c) for Y in (counts, 7 * counts)
        )
        assert one.labels_.tolist() == more.labels_.tolist()
        np.testing.assert_allclose(7 * one.cluster_centers_, more.cluster_centers_)
        expected = oracle.smoothed(X, one.labels_, 3, one.smoothing_)  # of shares: rows have 25 counts
        np.testing.assert_allclose(one.cluster_centers_, 25 * expected)
    assert one.smoothing_ == 3.0
    assert HMRFKMeans(3, **kind).fit(counts).smoothing_ == pytest.approx(10 * (counts == 0).mean())


@pytest.mark.parametrize("smoothed", ["centers", "annealed"])
def test_without_zeros_the_mean_is_the_centre(smoothed, seed):
    """Nothing is smoothed then: clear clusters of a few features are found, and the objective falls."""
    X, y, _ = far_topics(seed)
    kind = {"smoothed": smoothed, "learn": "none", "random_state": 0}
    model = HMRFKMeans(3, metric="idivergence", **kind).fit(X)
    assert model.smoothing_ == 0
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_allclose(model.cluster_centers_, oracle.smoothed(X, model.labels_, 3, 0.0))
    assert (np.diff(model.history_) <= 1e-12 * model.history_[0]).all()


@pytest.mark.parametrize("name", ["cosine fixed", "idivergence fixed", "cosine"])
def test_prototypes_at_rest_are_the_best(name, seed):
    X, _, c, rng = topics(seed)
    w = rng.integers(1, 4, 30).astype(float)
    model = HMRFKMeans(3, tol=0, random_state=0, **FALLING[name]).fit(X, constraints=c, sample_weight=w)
    if not model.converged_:
        return
    if model.metric == "cosine":
        if model.learn == "diagonal":
            return  # weights move after the prototypes, and creep on
        best = oracle.directions(X, model.labels_, 3, model.metric_, w)
        ours = model.cluster_centers_ / np.sqrt((model.metric_ * model.cluster_centers_**2).sum(1))[:, None]
    else:
        best, ours = oracle.smoothed(X, model.labels_, 3, model.smoothing_, w), model.cluster_centers_
    np.testing.assert_allclose(ours, best, rtol=1e-7)


# ---- limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_item_1_without_pairs_and_weights_it_is_k_means(metric, seed):
    X, y, c, rng = topics(seed, n=60)
    middles = oracle.smoothed(X, y, 3, 0.1)
    for _ in range(20):  # a start from which no cluster runs empty
        start = 0.7 * middles + 0.3 * X[rng.choice(60, 3, replace=False)]
        if metric == "sqeuclidean":
            expected = KMeans(3, init=start, n_init=1, algorithm="lloyd", tol=0).fit(X).labels_
        else:
            expected = oracle.lloyd(X, start, metric=metric, smoothing=0.5)
        if expected is not None:
            break
    kind = {"metric": metric, "learn": "none", "init": start, "smoothing": 0.5, "tol": 0}
    kind["smoothed"] = "items"
    for more in ({"weight": 0.0}, {"use_pairs": "none"}, {"use_pairs": "init"}):
        assert HMRFKMeans(3, **kind, **more).fit(X, constraints=c).labels_.tolist() == expected.tolist()
    assert HMRFKMeans(3, **kind).fit(X).labels_.tolist() == expected.tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_item_9_weights_without_end_and_of_nothing(metric, seed):
    X, y, _ = far_topics(seed)
    c = Constraints.sample(y, 25, random_state=0)
    for learn, init in itertools.product(("diagonal", "none"), ("mixed", "neighborhoods")):
        model = HMRFKMeans(3, metric=metric, learn=learn, weight=1e6, init=init, random_state=0)
        assert not model.fit(X, constraints=c).violations_
    X, _, c, _ = topics(seed)
    kind = {"metric": metric, "learn": "none", "random_state": 0}
    silent = HMRFKMeans(3, weight=0.0, **kind).fit(X, constraints=c)
    seeded = HMRFKMeans(3, use_pairs="init", **kind).fit(X, constraints=c)
    assert silent.labels_.tolist() == seeded.labels_.tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_ablations_of_the_paper(metric, seed):
    """Without pairs in the start and in the labels nothing of them is left; I prices none of them."""
    X, y, _ = far_topics(seed)
    c = Constraints.sample(y, 20, noise=0.2, random_state=0)
    other = Constraints.sample(y, 20, noise=0.5, random_state=1)
    kind = {"metric": metric, "random_state": 0}
    plain_ = {"use_pairs": "none", "learn": "none", "init": "perturb", **kind}
    a, b = (HMRFKMeans(3, **plain_).fit(X, constraints=known) for known in (c, other))
    assert a.labels_.tolist() == b.labels_.tolist()
    assert a.objective_ == b.objective_
    runs = {
        "I": HMRFKMeans(3, use_pairs="init", learn="none", **kind),
        "I-C": HMRFKMeans(3, use_pairs="both", learn="none", **kind),
        "I-C-D": HMRFKMeans(3, **kind),
    }
    for model in runs.values():
        model.fit(X, constraints=c)
        assert_model_is_right(model, X, c, falls=model.monotone)
    assert runs["I"].objective_parts_["must_link"] == runs["I"].objective_parts_["cannot_link"] == 0
    fixed = 1.0 if metric != "sqeuclidean" else mpck.first_weight(X)
    np.testing.assert_allclose(runs["I-C"].metric_, fixed)
    assert np.ptp(runs["I-C-D"].metric_) > 0


# ---- starts -------------------------------------------------------------------------------------------


DISTORTIONS = {"sqeuclidean": SquaredEuclidean, "cosine": Cosine, "idivergence": IDivergence}


@pytest.mark.parametrize("metric", METRICS)
def test_perturb_takes_neighbourhoods_by_weighted_farthest_first(metric, seed):
    """More components than clusters: the start has no chance in it, and is the oracle's.

    Components of one size as well as of several, on one side of the data, so that their middle is another.
    """
    for number in range(40):
        rng = np.random.default_rng((seed, number))
        X = rng.dirichlet(np.full(5, 0.7), size=60) + 1e-3
        X = X[np.argsort(X[:, 0], kind="stable")]
        X /= np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X.sum(axis=1, keepdims=True)
        sizes = [2] * 8 if number % 2 else rng.integers(2, 6, 8).tolist()
        groups = np.split(rng.permutation(sum(sizes) + 10)[: sum(sizes)], np.cumsum(sizes)[:-1])
        c = Constraints([p for g in groups for p in itertools.pairwise(g.tolist())], n_items=60)
        ordered = oracle.neighbourhoods(60, plain.statements(c))
        chosen = oracle.farthest_first(X, ordered, 3, metric)
        found = CentreStarts(DISTORTIONS[metric](X), c, 3, np.random.RandomState(number))
        means, mass, _ = found._neighbourhoods()
        middles = np.array([X[members].mean(axis=0) for members in ordered])
        np.testing.assert_allclose(means, middles)  # in the oracle's order
        assert found._farthest_first(means, mass) == chosen
        if number < 3:
            kind = {"metric": metric, "use_pairs": "init", "learn": "none", "n_init": 1}
            a = HMRFKMeans(3, init="perturb", **kind).fit(X, constraints=c)
            b = HMRFKMeans(3, init=middles[chosen], **kind).fit(X, constraints=c)
            if metric != "idivergence":  # a given start without zeros is not smoothed
                assert a.labels_.tolist() == b.labels_.tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_farthest_first_goes_by_the_middle_of_all_items_where_others_tie(metric, seed):
    """Topics without a common word are all as far apart: the rarest ones are farthest from the middle."""
    topic = np.repeat(np.arange(5), [10, 2, 6, 4, 8])
    order = np.random.default_rng(seed).permutation(30)
    X = np.eye(5)[topic[order]]
    must = [np.flatnonzero(topic[order] == h)[:2] for h in range(5)]
    starts = CentreStarts(DISTORTIONS[metric](X), Constraints(must, n_items=30), 3, np.random.RandomState(0))
    assert starts.neighbourhoods().argmax(axis=1).tolist() == [1, 3, 2]


def test_perturb_without_neighbourhoods_is_the_weak_start_of_the_paper(seed):
    """All centres near the middle of the data: chance decides, and the same seed gives the same."""
    X, _, _, _ = topics(seed)
    kind = {"metric": "cosine", "init": "perturb", "learn": "none", "n_init": 1}
    runs = [HMRFKMeans(3, random_state=s, **kind).fit(X) for s in (0, 0, 1, 2, 3)]
    assert runs[0].labels_.tolist() == runs[1].labels_.tolist()
    assert len({tuple(r.labels_.tolist()) for r in runs}) > 1


@pytest.mark.parametrize("init", ["mixed", "neighborhoods"])
@pytest.mark.parametrize("metric", METRICS)
def test_neighbourhoods_that_are_apart_are_preferred(metric, init, seed):
    """Of five components, those that cannot-links keep apart become the three clusters."""
    X, y, _ = far_topics(seed)
    groups = [np.flatnonzero(y == h)[:4].tolist() for h in range(3)]
    groups += [np.flatnonzero(y == h)[4:6].tolist() for h in range(2)]
    must = [p for g in groups for p in itertools.pairwise(g)]
    apart = [(groups[a][0], groups[b][0]) for a, b in itertools.combinations(range(3), 2)]
    c = Constraints(must, apart, n_items=len(X))
    for random_state in range(3):
        model = HMRFKMeans(3, metric=metric, init=init, n_init=1, random_state=random_state)
        assert adjusted_rand_score(y, model.fit(X, constraints=c).labels_) == 1


# ---- closure ------------------------------------------------------------------------------------------


def stated_and_closed(y, seed):
    """Pairs of unlike weight, and the same with all that they entail written out."""
    rng = np.random.default_rng(seed)
    drawn = Constraints.sample(y, 18, random_state=int(rng.integers(2**31)))
    weight = rng.choice([0.5, 1.0, 2.0], drawn.n_pairs)
    stated = Constraints(drawn.must_link, drawn.cannot_link, n_items=len(y), weight=weight)
    closed = oracle.closure(len(y), plain.statements(stated))
    must, cannot = ([s for s in closed if s.together == kind] for kind in (True, False))
    explicit = Constraints(
        [(s.i, s.j) for s in must],
        [(s.i, s.j) for s in cannot],
        n_items=len(y),
        weight=[s.strength for s in (*must, *cannot)],
    )
    assert explicit.n_pairs > stated.n_pairs
    return stated, explicit


@pytest.mark.parametrize(
    "name",
    ["sqeuclidean", "sqeuclidean fixed", "cosine", "cosine fixed", "idivergence fixed"],
)
def test_what_pairs_entail_is_priced_as_if_it_were_stated(name, seed):
    """The same steps from the same start: with the closure, and with all its pairs written out."""
    paid = 0.0
    for number in range(3):
        X, y, rng = far_topics((seed, number))
        y = np.where(rng.random(len(y)) < 0.2, rng.integers(0, 3, len(y)), y)  # some pairs will be broken
        stated, explicit = stated_and_closed(y, (seed, number))
        start = oracle.smoothed(X, y, 3, 0.1)
        kind = {"weight": 0.02, "init": start, "tol": 0, "random_state": 0, **FALLING[name]}
        a = HMRFKMeans(3, closure=True, **kind).fit(X, constraints=stated)
        b = HMRFKMeans(3, closure=False, **kind).fit(X, constraints=explicit)
        auto = HMRFKMeans(3, closure="auto", **kind).fit(X, constraints=stated)
        assert_model_is_right(a, X, stated)
        assert_model_is_right(b, X, explicit)
        assert auto.labels_.tolist() == a.labels_.tolist()
        assert a.labels_.tolist() == b.labels_.tolist()
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-7)
        np.testing.assert_allclose(a.metric_, b.metric_, rtol=1e-6)
        paid += a.objective_parts_["must_link"] + a.objective_parts_["cannot_link"]
    assert paid > 0  # prices were tested


def test_item_7_figure_1(seed):
    """One neighbourhood of three, and an item apart from all of it."""
    rng = np.random.default_rng(seed)
    X = np.array([[0.0, 0.0], [5.0, 0.0], [0.5, 1.0], [1.0, 0.0], [9.0, 9.0], [0.6, 0.8]])
    X = X + 0.01 * rng.normal(size=X.shape)
    c = Constraints([(0, 2), (0, 3)], [(2, 5)], n_items=6)
    model = HMRFKMeans(3, weight=100.0, n_init=10, random_state=0).fit(X, constraints=c)
    labels = model.labels_.tolist()
    assert not model.violations_
    assert labels[0] == labels[2] == labels[3] != labels[5]


def test_contradictory_pairs_are_not_closed_unless_asked():
    X = np.random.default_rng(0).random((6, 3)) + 0.1
    ids = ["ann", "bob", "cy", "dee", "eve", "fay"]
    c = Constraints([("ann", "bob"), ("bob", "cy")], [("ann", "cy")], ids=ids)
    for metric in METRICS:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = HMRFKMeans(2, metric=metric, random_state=0).fit(X, constraints=c)
        assert any(issubclass(w.category, ViolatedConstraintsWarning) for w in told)
        assert model.violations_.n_broken >= 1
        assert_model_is_right(model, X, c, falls=metric != "idivergence")
        with pytest.raises(InfeasibleConstraintsError, match=r"(?s)ann.*bob.*cy"):
            HMRFKMeans(2, metric=metric, closure=True).fit(X, constraints=c)
    both = Constraints([(0, 1)], [(0, 1)], n_items=6)
    model = HMRFKMeans(2, random_state=0).fit(X, constraints=both)
    assert model.violations_.n_broken == 1


# ---- hard constraints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_hard_statements_hold(name, seed):
    X, y, _, _ = topics(seed, n=24)
    label = np.where(np.arange(24) < 9, np.arange(24) // 3, -1)
    region = np.where(np.arange(24) < 8, np.arange(24) // 4, -1)
    for c in (
        Constraints([(0, 1), (1, 2), (20, 21)], [(0, 3), (3, 6)], n_items=24, weight=0.0, hard=True),
        Constraints.distinct(np.arange(24) // 2),
        Constraints.from_labels(label),
        Constraints.across(region),
        Constraints([(0, 1)], [(0, 3)], n_items=24, hard=True) | Constraints.sample(y, 15, random_state=0),
    ):
        for use_pairs in ("both", "none"):
            kind = {"use_pairs": use_pairs, "n_init": 1, "max_iter": 10, "random_state": 0, **EVERY[name]}
            model = HMRFKMeans(3, weight=1e-3, **kind).fit(X, constraints=c)
            assert not c.only_hard().violations(model.labels_)


# ---- units, order, weights, types ---------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_and_the_origin_of_squared_distances_do_not_matter(factor, seed):
    X, _, c, rng = topics(seed)
    moved = X * factor + rng.uniform(-10, 10, 7) * factor
    a, b = (HMRFKMeans(3, random_state=0).fit(Y, constraints=c) for Y in (X, moved))
    assert a.labels_.tolist() == b.labels_.tolist()
    np.testing.assert_allclose(a.metric_, b.metric_ * factor**2, rtol=1e-6)


@pytest.mark.parametrize("learn", ["diagonal", "none"])
def test_item_3_the_cosine_does_not_see_the_length_of_rows(learn, seed):
    X, _, c, rng = topics(seed)
    kind = {"metric": "cosine", "learn": learn, "init": X[:3].copy(), "random_state": 0}
    runs = [
        HMRFKMeans(3, **kind).fit(X * lengths, constraints=c)
        for lengths in (1.0, 1e-5, rng.uniform(1e-2, 1e2, (30, 1)))
    ]
    for model in runs[1:]:
        assert model.labels_.tolist() == runs[0].labels_.tolist()
        assert model.objective_ == pytest.approx(runs[0].objective_, rel=1e-7)
        np.testing.assert_allclose(model.metric_, runs[0].metric_, rtol=1e-5)


@pytest.mark.parametrize("name", FALLING)
def test_more_starts_are_no_worse(name, seed):
    X, _, c, _ = topics(seed)
    one, many = (
        HMRFKMeans(3, n_init=n, random_state=0, **FALLING[name]).fit(X, constraints=c) for n in (1, 6)
    )
    # the others let starts compete before anything is learned
    if name.startswith("sqeuclidean") or name.endswith("fixed"):
        assert many.objective_ <= one.objective_ + 1e-8 * scale_of(one.objective_parts_)
    assert_model_is_right(many, X, c)


@pytest.mark.parametrize("name", EVERY)
def test_prediction_ignores_pairs_and_knows_the_weights(name, seed):
    X, _, c, _ = topics(seed)
    model = HMRFKMeans(3, random_state=0, **EVERY[name]).fit(X, constraints=c)
    new = topics((seed, 1))[0]
    a, centres = np.asarray(model.metric_, dtype=float), model.cluster_centers_
    if model.metric == "sqeuclidean":
        cost = np.array([[a @ (x - mu) ** 2 for mu in centres] for x in new])
    else:
        smoothing = counted_smoothing(model)
        cost = np.array(
            [[oracle.to_prototype(x, mu, a, model.metric, smoothing) for mu in centres] for x in new]
        )
    best = cost[np.arange(len(new)), model.predict(new)]
    assert (best <= cost.min(axis=1) + 1e-9 * np.abs(cost).max()).all()
    assert model.transform(new).shape == (30, 3)
