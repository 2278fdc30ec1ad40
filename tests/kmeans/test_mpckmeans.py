"""`MPCKMeans`: its objective is the definition's, never rises, and each step is the best there is."""

import itertools
import math
import random
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints
from coterie.datasets import load_table
from coterie.kmeans import MPCKMeans
from tests.assign.problems import feasible_constraints, fit_or_refuse, random_constraints
from tests.marks import few_of, outvoted, unsettled
from tests.oracles import kmeans as plain
from tests.oracles import mpck as oracle

pytestmark = [outvoted, unsettled]

LEARNED = {
    "one diagonal": {"learn": "diagonal"},
    "one full": {"learn": "full"},
    "diagonals": {"learn": "diagonal", "per_cluster": True},
    "fulls": {"learn": "full", "per_cluster": True},
}
VARIANTS = {**LEARNED, "none": {"learn": "none"}}
FULL = {name: kind for name, kind in LEARNED.items() if kind["learn"] == "full"}
PER_CLUSTER = {name: kind for name, kind in LEARNED.items() if kind.get("per_cluster")}
INITS = ["mixed", "neighborhoods", "k-means++", "random"]


def blobs(seed, n=60, k=3, d=3, std=3.0, n_pairs=30, noise=0.1):
    """Overlapping blobs, features of unlike scale, pairs of which some are wrong."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(n, d, centers=k, cluster_std=std, random_state=int(rng.integers(2**31)))
    X = X * rng.uniform(0.2, 5.0, d)
    c = Constraints.sample(y, n_pairs, noise=noise, random_state=int(rng.integers(2**31)))
    return X, y, c, rng


def far_blobs(seed, size=12):
    """Three blobs whose truth nobody can miss, and true pairs."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), size)
    X = np.array([[0.0, 0.0], [60.0, 10.0], [10.0, 60.0]])[y] + rng.normal(size=(3 * size, 2))
    return X, y, Constraints.sample(y, 20, random_state=0), rng


def settings(model, sample_weight=None) -> dict:
    """What the oracle has to know of a model."""
    shrinkage = 0.001 * model.per_cluster if model.shrinkage == "auto" else model.shrinkage
    shrinkage *= len(model.labels_) if sample_weight is None else sum(sample_weight)
    return {
        "weight": model.weight_,
        "learn": model.learn,
        "per_cluster": model.per_cluster,
        "shrinkage": 0.0 if model.learn == "none" else shrinkage,  # a fixed metric is not drawn anywhere
        "sample_weight": sample_weight,
    }


def priced(model, c) -> list:
    """The constraints that are in the objective; hard ones are always kept."""
    said = plain.statements(c)
    return said if model.use_pairs in ("both", "assign") else [s for s in said if s.hard]


def metrics_of(model) -> list[np.ndarray]:
    return oracle.matrices(model.metric_, model.n_clusters, learn=model.learn, per_cluster=model.per_cluster)


def rounding(model, X, said) -> float:
    """What the last digits of a stored matrix are worth: its long axes are seen through its short ones."""
    steepest = max(float(np.trace(A)) for A in metrics_of(model))
    broken = model.weight_ * plain.price(model.labels_.tolist(), said)
    return 1e-15 * (len(X) + broken) * steepest * float(np.ptp(X, axis=0).max()) ** 2


def scale_of(parts: dict) -> float:
    """What differences are compared with: the parts may cancel each other."""
    return math.fsum(abs(value) for value in parts.values()) + 1e-300


def assert_model_is_right(model, X, c, sample_weight=None):
    """The objective, its parts and its history are what labels, centres and metric say."""
    said, kind = priced(model, c), settings(model, sample_weight)
    metrics, centres = metrics_of(model), model.cluster_centers_

    def value(labels) -> float:
        return oracle.objective(X, labels, centres, metrics, said, **kind)

    parts = oracle.parts(X, model.labels_, centres, metrics, said, **kind)
    scale = scale_of(parts)
    near = {"rel": 1e-9, "abs": 1e-9 * scale + (rounding(model, X, said) if model.learn == "full" else 0.0)}
    assert plain.obeys_hard(model.labels_.tolist(), said)
    assert set(model.objective_parts_) == set(parts)
    for name, part in parts.items():
        assert model.objective_parts_[name] == pytest.approx(part, **near), name
    assert model.objective_ == pytest.approx(math.fsum(parts.values()), **near)
    assert model.inertia_ == model.objective_parts_["distortion"]
    history = np.asarray(model.history_)
    assert history.dtype == np.float64
    assert (np.diff(history) <= 1e-10 * np.maximum(np.abs(history[:-1]), scale)).all()
    assert history[-1] == pytest.approx(model.objective_, rel=1e-9, abs=1e-9 * scale)
    assert str(model.violations_) == str(c.violations(model.labels_))
    if model.converged_ and len(X) <= 30:
        labels = model.labels_.tolist()
        assert oracle.best_move(labels, model.n_clusters, said, value) <= near["abs"]


def assert_is_stationary(model, X, c, sample_weight=None):
    """Centres are means, and the metric is the best for the labels."""
    kind = settings(model, sample_weight)
    found = plain.means(X, model.labels_, model.n_clusters, sample_weight)
    used = ~np.isnan(found[:, 0])
    np.testing.assert_allclose(model.cluster_centers_[used], found[used], rtol=1e-7, atol=1e-9 * np.ptp(X))
    best, floored = oracle.best_metrics(X, model.labels_, model.cluster_centers_, priced(model, c), **kind)
    for h, (ours, theirs) in enumerate(zip(metrics_of(model), best, strict=True)):
        if used[h] or not model.per_cluster:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6 * np.abs(theirs).max())
    if used.all():
        assert model.regularized_ == floored


# ---- the oracle itself --------------------------------------------------------------------------------


def test_oracle_one_cluster_is_the_covariance(seed):
    """Item 11: A is the inverse of the covariance, and J = n (d + log det of it)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    labels, centres = np.zeros(40, dtype=int), X.mean(axis=0)[None]
    for learn in ("full", "diagonal"):
        S = np.cov(X.T, bias=True)
        S = S if learn == "full" else np.diag(np.diag(S))
        (A,), floored = oracle.best_metrics(X, labels, centres, learn=learn)
        np.testing.assert_allclose(A, np.linalg.inv(S), rtol=1e-9)
        value = oracle.objective(X, labels, centres, [A], learn=learn)
        assert value == pytest.approx(40 * (3 + np.log(np.linalg.det(S))))
        assert floored == 0


@pytest.mark.parametrize("name", LEARNED)
def test_oracle_closed_form_has_no_slope(name, seed):
    """Item 11: central differences of J in the metric vanish at the closed form, violated pairs and all."""
    X, y, c, rng = blobs(seed, n=30)
    labels = np.where(rng.random(30) < 0.3, rng.integers(0, 3, 30), y).tolist()
    w = rng.integers(1, 4, 30).astype(float)
    kind = {**LEARNED[name], "weight": 0.7, "shrinkage": 1.5, "sample_weight": w}
    said, centres = plain.statements(c), plain.means(X, labels, 3, w)
    best, _ = oracle.best_metrics(X, labels, centres, said, **kind)
    assert any(plain.is_broken(labels, s) for s in said)
    full = name in FULL
    for h in range(3) if name in PER_CLUSTER else [0]:

        def value(A, h=h):
            A = A if full else np.diag(A)
            tried = [A if g == h or name not in PER_CLUSTER else B for g, B in enumerate(best)]
            return oracle.objective(X, labels, centres, tried, said, **kind)

        at = best[h] if full else np.diag(best[h])
        slope = oracle.slope(value, at, symmetric=full)
        unit = np.sqrt(np.outer(np.diag(best[h]), np.diag(best[h]))) if full else at
        assert np.abs(slope * unit).max() < 1e-5 * len(X)
        assert value(at * 1.01) > value(at) < value(at * 0.99)


def test_oracle_d4_weights_times_scatter_is_the_count(seed):
    X, y, c, _ = blobs(seed, n=30)
    said, centres = plain.statements(c), plain.means(X, y, 3)
    kind = {"weight": 1.0, "learn": "diagonal", "shrinkage": 0.0}
    total, count = oracle.evidence(X, y, centres, said, None, **kind)
    best, _ = oracle.best_metrics(X, y, centres, said)
    np.testing.assert_allclose(np.diag(best[0]) * np.diag(total), count)
    assert count == 30


def test_oracle_box_bounds_every_pair_under_every_metric(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        X = rng.standard_t(2, size=(12, 3)) @ rng.normal(size=(3, 3))
        full, diagonal = oracle.box(X, "full"), oracle.box(X, "diagonal")
        root, a = rng.normal(size=(3, 3)), rng.exponential(size=3)
        for i, j in itertools.combinations(range(12), 2):
            gap = X[i] - X[j]
            assert (full * (root @ root.T)).sum() >= gap @ root @ root.T @ gap * (1 - 1e-12)
            assert np.diag(diagonal) @ a >= a @ gap**2 * (1 - 1e-12)


def test_oracle_d5_in_the_units_of_mpck():
    """Splitting the pair costs w s 100, joining it s 200/3: broken in the optimum below w = 2/3."""
    X, said = np.array([[0.0], [0.0], [10.0], [10.0]]), [plain.Said(1, 2, True, 1.0, False)]
    s = oracle.first_weight(X)
    assert s == pytest.approx(1 / 25)
    for w in (0.5, 0.6, 0.7, 1.0):

        def value(labels, w=w):
            found = plain.means(X, labels, 2)
            centres = np.where(np.isnan(found), 0.0, found)
            return oracle.objective(X, labels, centres, [np.array([[s]])] * 2, said, weight=w, learn="none")

        best, labels = oracle.best_labels(4, 2, said, value)
        assert plain.is_broken(labels, said[0]) == (w < 2 / 3)
        assert best == pytest.approx(min(w * 4, 200 / 75) - 4 * math.log(s))


# ---- the objective and its steps ----------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_d1_objective_history_and_moves(name, seed):
    paid = {"must_link": 0.0, "cannot_link": 0.0}
    for number in range(4):
        weight, noise = [(0.1, 0.1), (1.0, 0.1), (10.0, 0.1), (0.001, 0.5)][number]
        X, _, c, rng = blobs((seed, number), n=30, noise=noise)
        w = rng.integers(1, 4, 30).astype(float) if number % 2 else None
        model = MPCKMeans(3, weight=weight, n_init=2, tol=0, random_state=number, **VARIANTS[name])
        model.fit(X, constraints=c, sample_weight=w)
        assert_model_is_right(model, X, c, w)
        for part in paid:
            paid[part] += model.objective_parts_[part]
        if model.converged_ and name != "none":
            assert_is_stationary(model, X, c, w)
            assert len(model.history_) >= 3 * model.n_iter_ - 2
    assert all(paid.values())  # prices were tested


@pytest.mark.parametrize("name", VARIANTS)
def test_statements_of_every_kind(name, seed):
    """Weights of 0, confidences, hard flags, groups, weights of items, early stops."""
    for number in range(8):
        rng = random.Random(f"{seed} {name} {number}")
        n, k = rng.randint(6, 25), rng.randint(1, 4)
        X = np.array([[rng.gauss(0, 1), rng.gauss(0, 5), rng.gauss(0, 0.1)] for _ in range(n)])
        if number % 3:
            c, _ = feasible_constraints(rng, n, k, hard=0.3)
        else:
            c = random_constraints(rng, n, hard=0.05, dense=0.4)
        w = np.array([rng.choice([0.0, 0.5, 1.0, 2.0]) for _ in range(n)]) if number % 2 else None
        model = MPCKMeans(
            k,
            weight=rng.choice([0.0, 0.3, 1.0, 1e4]),
            init=rng.choice(INITS),
            n_init=1,
            max_iter=rng.choice([1, 2, 300]),
            shrinkage=rng.choice(["auto", 0.5, 3.0]),
            random_state=number,
            **VARIANTS[name],
        )
        if fit_or_refuse(model, X, c, w) is None:
            continue
        assert_model_is_right(model, X, c, w)


@few_of(2, 6)
@pytest.mark.parametrize("name", VARIANTS)
def test_never_below_the_best_and_often_at_it(name, numbers, seed):
    """Every labelling of a few items, each with its means and its best metric."""
    hits = total = 0
    for number in numbers:
        X, _, c, _ = blobs((seed, number), n=8, k=2, d=2, n_pairs=4)
        model = MPCKMeans(2, n_init=30, tol=0, random_state=number, **VARIANTS[name])
        model.fit(X, constraints=c)
        said, kind = plain.statements(c), settings(model)
        fixed = [oracle.first_weight(X) * np.eye(2)] * 2

        def value(labels, X=X, said=said, kind=kind, fixed=fixed):
            if len(set(labels)) < 2:
                return math.inf  # an empty cluster has neither mean nor metric
            centres = plain.means(X, labels, 2)
            metrics = fixed if name == "none" else oracle.best_metrics(X, labels, centres, said, **kind)[0]
            return oracle.objective(X, labels, centres, metrics, said, **kind)

        best, _ = oracle.best_labels(8, 2, said, value)
        slack = 1e-9 * scale_of(model.objective_parts_)
        assert model.objective_ >= best - slack
        hits += model.objective_ <= best + slack
        total += 1
    assert hits >= 0.5 * total


@pytest.mark.parametrize("weight", [0.3, 0.6, 0.7, 2.0, 1e6])
def test_d5_the_pair_is_broken_below_two_thirds(weight):
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    c = Constraints([(1, 2)], n_items=4)
    model = MPCKMeans(2, weight=weight, learn="none", n_init=30, random_state=0).fit(X, constraints=c)
    assert bool(model.violations_) == (weight < 2 / 3)
    parts = model.objective_parts_
    assert parts["distortion"] + parts["must_link"] == pytest.approx(min(weight * 4, 200 / 75))


def test_one_cluster_learns_the_covariance(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3)) + 10
    S = np.cov(X.T, bias=True)
    full = MPCKMeans(1, learn="full").fit(X)
    np.testing.assert_allclose(full.metric_, np.linalg.inv(S), rtol=1e-6)
    assert full.objective_ == pytest.approx(50 * (3 + np.log(np.linalg.det(S))))
    each = MPCKMeans(1).fit(X)
    np.testing.assert_allclose(each.metric_, 1 / np.diag(S), rtol=1e-9)
    assert each.regularized_ == full.regularized_ == 0


@pytest.mark.parametrize("name", LEARNED)
def test_one_cluster_breaks_every_cannot_link(name, seed):
    """Nothing is left to search for: the metric is the closed form at once, the box and all."""
    X, _, c, rng = blobs(seed, n=25)
    w = rng.integers(1, 4, 25).astype(float)
    model = MPCKMeans(1, weight=0.2, tol=0, **LEARNED[name]).fit(X, constraints=c, sample_weight=w)
    assert model.converged_
    assert model.violations_.n_broken == len(c.cannot_link)
    assert model.objective_parts_["cannot_link"] > 0
    assert_model_is_right(model, X, c, w)
    assert_is_stationary(model, X, c, w)


@pytest.mark.parametrize("name", VARIANTS)
def test_more_starts_are_no_worse_and_a_warm_one_goes_on(name, seed):
    X, _, c, _ = blobs(seed, n=30)
    one, many = (
        MPCKMeans(3, n_init=n, random_state=0, **VARIANTS[name]).fit(X, constraints=c) for n in (1, 6)
    )
    assert many.objective_ <= one.objective_ + 1e-9 * scale_of(one.objective_parts_)
    warm = MPCKMeans(3, warm_start=True, max_iter=2, random_state=0, **VARIANTS[name])
    warm.fit(X, constraints=c)
    warm.set_params(max_iter=300).fit(X, constraints=c)
    assert_model_is_right(warm, X, c)


def test_the_metric_starts_where_the_data_have_unit_spread(seed):
    X, _, c, rng = blobs(seed)
    w = rng.integers(1, 4, len(X)).astype(float)
    model = MPCKMeans(3, learn="none", random_state=0).fit(X, constraints=c, sample_weight=w)
    np.testing.assert_allclose(model.metric_, oracle.first_weight(X, w))
    assert model.metric_.shape == (3,)
    assert model.regularized_ == 0


@pytest.mark.parametrize(
    ("name", "shape"),
    [("one diagonal", (4,)), ("one full", (4, 4)), ("diagonals", (3, 4)), ("fulls", (3, 4, 4))],
)
def test_shapes_of_the_metric(name, shape, seed):
    X, _, c, _ = blobs(seed, d=4)
    model = MPCKMeans(3, random_state=0, **LEARNED[name]).fit(X, constraints=c)
    assert model.metric_.shape == shape
    for A in metrics_of(model):
        np.testing.assert_allclose(A, A.T, rtol=1e-9)
        assert np.linalg.eigvalsh(A).min() > 0


# ---- limits -------------------------------------------------------------------------------------------


def test_d2_without_metric_and_prices_it_is_k_means(seed):
    for number in range(3):
        X, _, c, rng = blobs((seed, number), n=150)
        start = X[rng.choice(150, 3, replace=False)]
        by_sklearn = KMeans(3, init=start, n_init=1, algorithm="lloyd", tol=0).fit(X)
        nothing = Constraints(n_items=150)
        for more, known in (({"weight": 0.0}, c), ({}, None), ({"use_pairs": "none"}, c), ({}, nothing)):
            model = MPCKMeans(3, learn="none", init=start, tol=0, **more).fit(X, constraints=known)
            assert model.labels_.tolist() == by_sklearn.labels_.tolist()
            np.testing.assert_allclose(model.cluster_centers_, by_sklearn.cluster_centers_)
            assert model.inertia_ == pytest.approx(by_sklearn.inertia_ * oracle.first_weight(X))


def test_d2_without_pairs_the_variances_are_scaled(seed):
    """a_m = n / within-scatter of m; so the weighted scatters add up to n d."""
    X, _, _, rng = blobs(seed, n=100)
    model = MPCKMeans(3, init=X[rng.choice(100, 3, replace=False)], tol=0).fit(X)
    assert model.converged_
    within = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=0)
    np.testing.assert_allclose(model.metric_, 100 / within, rtol=1e-9)
    assert model.inertia_ == pytest.approx(300)


@pytest.mark.parametrize("name", LEARNED)
def test_where_pairs_act(name, seed):
    """From a given start, "assign" is "both" and "init" is "none", which is the same as no soft pairs."""
    X, _, c, rng = blobs(seed, noise=0.2)
    start = X[rng.choice(len(X), 3, replace=False)]

    def fit(use_pairs, known=c):
        model = MPCKMeans(3, use_pairs=use_pairs, init=start, random_state=0, **LEARNED[name])
        return model.fit(X, constraints=known)

    both, assign, init, none, bare = (fit("both"), fit("assign"), fit("init"), fit("none"), fit("both", None))
    assert both.labels_.tolist() == assign.labels_.tolist()
    assert init.labels_.tolist() == none.labels_.tolist() == bare.labels_.tolist()
    assert init.objective_ == pytest.approx(bare.objective_)
    np.testing.assert_allclose(none.metric_, bare.metric_)
    for model in (both, assign, init, none):
        assert_model_is_right(model, X, c)
    assert none.objective_parts_["must_link"] == none.objective_parts_["cannot_link"] == 0


def test_pairs_act_in_the_start(seed):
    """With "none" and "assign" chance alone decides the centres; with "init" components do."""
    X, y, _, _ = far_blobs(seed)
    c = Constraints([(0, 1), (12, 13), (24, 25)], n_items=36)
    model = MPCKMeans(3, use_pairs="init", init="neighborhoods", n_init=1, random_state=0)
    assert adjusted_rand_score(y, model.fit(X, constraints=c).labels_) == 1
    for use_pairs in ("none", "assign"):
        same = [
            MPCKMeans(3, use_pairs=use_pairs, n_init=1, max_iter=1, learn="none", random_state=seed_)
            .fit(X, constraints=known)
            .cluster_centers_
            for seed_ in range(3)
            for known in (c, Constraints([(0, 1)], n_items=36))
        ]
        for a, b in zip(same[::2], same[1::2], strict=True):
            if use_pairs == "none":
                np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("name", VARIANTS)
def test_d3_large_weights_keep_true_pairs(name, seed):
    X, y, c, _ = far_blobs(seed)
    for init in (plain.means(X, y, 3), "mixed", "neighborhoods"):
        model = MPCKMeans(3, weight=1e6, init=init, random_state=0, **VARIANTS[name]).fit(X, constraints=c)
        assert not model.violations_


def test_weight_multiplies_the_weights_of_the_pairs(seed):
    X, _, c, _ = blobs(seed, noise=0.3)
    twice = Constraints(c.must_link, c.cannot_link, n_items=len(X), weight=2.0)
    a = MPCKMeans(3, weight=2.0, random_state=0).fit(X, constraints=c)
    b = MPCKMeans(3, weight=1.0, random_state=0).fit(X, constraints=twice)
    assert a.labels_.tolist() == b.labels_.tolist()
    assert a.objective_ == pytest.approx(b.objective_)
    assert (a.weight_, b.weight_) == (2.0, 1.0)


def test_raw_wine_without_pairs_as_the_paper_has_it():
    """k-means finds .37 in raw wine; learned weights of the features bring it to about .84."""
    X, y = load_table("wine", return_X_y=True)
    model = MPCKMeans(3, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.75


# ---- hard constraints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_hard_statements_hold(name, seed):
    X, y, _, _ = blobs(seed, n=40)
    frame = np.arange(40) // 2
    label = np.where(np.arange(40) < 9, np.arange(40) % 3, -1)
    region = np.where(np.arange(40) < 8, np.arange(40) // 4, -1)
    for c in (
        Constraints([(0, 1), (1, 2), (30, 31)], [(0, 5), (5, 6)], n_items=40, weight=0.0, hard=True),
        Constraints.distinct(frame),
        Constraints.from_labels(label),
        Constraints.across(region),
        Constraints([(0, 1)], [(0, 2)], n_items=40, hard=True) | Constraints.sample(y, 30, random_state=0),
    ):
        for use_pairs in ("both", "none"):
            model = MPCKMeans(3, weight=1e-6, use_pairs=use_pairs, n_init=1, random_state=0, **VARIANTS[name])
            model.fit(X, constraints=c)
            assert not c.only_hard().violations(model.labels_)
            assert_model_is_right(model, X, c)


# ---- units, order, weights, types ---------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_unit_and_the_origin_do_not_matter(name, factor, seed):
    X, _, c, rng = blobs(seed)
    moved = X * factor + rng.uniform(-100, 100, 3) * factor * X.std(axis=0)
    a = MPCKMeans(3, random_state=0, **VARIANTS[name]).fit(X, constraints=c)
    b = MPCKMeans(3, random_state=0, **VARIANTS[name]).fit(moved, constraints=c)
    assert a.labels_.tolist() == b.labels_.tolist()
    np.testing.assert_allclose(
        a.metric_, b.metric_ * factor**2, rtol=1e-5, atol=1e-5 * np.abs(a.metric_).max()
    )
    for part in ("distortion", "must_link", "cannot_link"):
        assert a.objective_parts_[part] == pytest.approx(b.objective_parts_[part], rel=1e-5, abs=1e-6)
    count = len(X) + settings(a)["shrinkage"] * (3 if a.per_cluster else 1)
    assert b.objective_ - a.objective_ == pytest.approx(2 * 3 * count * math.log(factor), rel=1e-6)
    assert a.regularized_ == b.regularized_


@pytest.mark.parametrize("per_cluster", [False, True])
def test_sparse_stays_sparse(per_cluster, seed):
    """As a dense array these rows would take 1.6 GB, a table of features x features 320."""
    rng = np.random.default_rng(seed)
    n, d = 1000, 200_000
    X = sparse.random_array((n, d), density=5e-5, format="csr", rng=rng) + sparse.csr_array(
        (np.ones(n), (np.arange(n), np.arange(n) % 3)), (n, d)
    )
    c = Constraints.sample(np.arange(n) % 3, 50, random_state=0)
    model = MPCKMeans(3, per_cluster=per_cluster, n_init=1, max_iter=5, random_state=0)
    model.fit(X[:60, :9], constraints=c[np.arange(60)])  # compile first
    tracemalloc.start()
    try:
        model.fit(X, constraints=c).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6
    assert np.isfinite(model.metric_).all()
    assert np.isfinite(model.objective_)


# ---- metrics that lose rank ---------------------------------------------------------------------------


def rank_losing(kind: str, rng) -> np.ndarray:
    X = rng.normal(size=(24, 3)) + 5 * (np.arange(24) % 3)[:, None]
    if kind == "constant":
        return np.c_[X, np.full(24, 7.0)]
    if kind == "collinear":
        return np.c_[X, X @ [1.0, -2.0, 0.5]]
    if kind == "wide":
        return rng.normal(size=(12, 20)) + 3 * (np.arange(12) % 3)[:, None]
    return np.repeat(X[:3], 8, axis=0)  # duplicates: clusters without extent


@pytest.mark.parametrize("kind", ["constant", "collinear", "wide", "duplicates"])
@pytest.mark.parametrize("name", LEARNED)
def test_metrics_that_lose_rank_are_kept_finite_and_reported(name, kind, seed):
    """NumPy's warnings are errors here."""
    rng = np.random.default_rng(seed)
    X = rank_losing(kind, rng)
    n = len(X)
    apart = [] if kind == "duplicates" else [(0, 1), (3, 5)]  # one that is broken would widen its cluster
    c = Constraints([(0, 3), (1, 4)], apart, n_items=n)
    for shrinkage in ("auto", 0.0):
        model = MPCKMeans(3, shrinkage=shrinkage, n_init=2, tol=0, random_state=0, **LEARNED[name])
        model.fit(X, constraints=c)
        assert np.isfinite(model.metric_).all()
        assert np.isfinite(model.objective_)
        history = np.asarray(model.history_)
        scale = scale_of(model.objective_parts_)
        assert (np.diff(history) <= 1e-10 * np.maximum(np.abs(history[:-1]), scale)).all()
        lost = {
            "constant": True,
            "collinear": name in FULL,
            "wide": name in FULL,
            "duplicates": shrinkage == 0.0 or name not in PER_CLUSTER,
        }[kind]
        if lost:
            assert model.regularized_ > 0


def test_a_constant_feature_keeps_its_first_weight(seed):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(30, 2)), np.full(30, 3.0)]
    model = MPCKMeans(2, random_state=0).fit(X)
    assert model.metric_[2] == pytest.approx(oracle.first_weight(X))
    assert model.regularized_ == 1


def test_one_point_clusters_of_their_own_metric(seed):
    """Every item its own cluster: nothing to learn from but the floor, or the spread of all."""
    X = np.random.default_rng(seed).normal(size=(5, 2))
    bare = MPCKMeans(5, per_cluster=True, shrinkage=0.0, random_state=0).fit(X)
    assert np.isfinite(bare.metric_).all()
    assert bare.regularized_ == 10
    np.testing.assert_allclose(bare.metric_, np.tile(1 / (oracle.FLOOR * np.ptp(X, axis=0) ** 2), (5, 1)))
    model = MPCKMeans(5, per_cluster=True, random_state=0).fit(X)
    assert model.regularized_ == 0
    assert sorted(model.labels_.tolist()) == [0, 1, 2, 3, 4]
    pseudo = 0.001 * 5
    np.testing.assert_allclose(model.metric_, np.tile((1 + pseudo) / pseudo / X.var(axis=0), (5, 1)))


def test_no_extent_at_all():
    X = np.full((6, 2), 3.0)
    c = Constraints([(0, 1)], [(2, 3)], n_items=6)
    for kind in VARIANTS.values():
        model = MPCKMeans(2, random_state=0, **kind).fit(X, constraints=c)
        assert np.isfinite(model.metric_).all()
        assert np.isfinite(model.objective_)


# ---- prediction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_prediction_ignores_pairs_and_knows_the_metric(name, seed):
    X, _, c, rng = blobs(seed)
    model = MPCKMeans(3, tol=0, random_state=0, **VARIANTS[name]).fit(X, constraints=c)
    new = X[rng.choice(len(X), 20)] + rng.normal(size=(20, 3))
    metrics = metrics_of(model)
    cost = np.array(
        [
            [
                oracle.squared(x - mu, A) - oracle.logdet(A)
                for mu, A in zip(model.cluster_centers_, metrics, strict=True)
            ]
            for x in new
        ]
    )
    assert model.predict(new).tolist() == cost.argmin(axis=1).tolist()
    free = np.setdiff1d(np.arange(len(X)), c.constrained_items)
    if model.converged_:
        assert model.predict(X)[free].tolist() == model.labels_[free].tolist()
    assert model.transform(new).shape == (20, 3)
    assert np.isfinite(model.transform(new)).all()
    assert np.isfinite(model.score(new))


# ---- bad input ----------------------------------------------------------------------------------------


def test_bad_starts_are_named():
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match="2"):
        MPCKMeans(2, init=np.zeros((3, 2))).fit(X)
    with pytest.raises(ValueError, match=r"init|features"):
        MPCKMeans(2, init=np.zeros((2, 5))).fit(X)


def test_a_full_metric_needs_dense_and_few_features(seed):
    rng = np.random.default_rng(seed)
    with pytest.raises(TypeError, match=r"(?s)full.*dense"):  # the error of scikit-learn for sparse rows
        MPCKMeans(2, learn="full").fit(sparse.csr_array(rng.normal(size=(20, 3))))
    with pytest.raises(ValueError, match=r"(?s)full.*50,?000|50,?000.*full"):
        MPCKMeans(2, learn="full").fit(rng.normal(size=(4, 50_000)))
