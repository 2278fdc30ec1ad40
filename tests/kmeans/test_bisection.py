"""`SizeConstrainedBisection`: bounds hold in every tree, sides are exact, and refining never harms."""

import itertools
import random

import numpy as np
import pytest
from scipy import sparse

from coterie import BalancedKMeans, Constraints, SizeConstrainedBisection, SizeConstrainedKMeans
from coterie.assign import size_constrained_assignment
from coterie.exceptions import InfeasibleConstraintsError, ParameterError, UnsupportedConstraintError
from coterie.kmeans._balanced import size_constrained_bisection as module
from coterie.kmeans._balanced.split_tree import _lowest
from coterie.methods import find_method


def mixture(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(7, d))[rng.integers(7, size=n)]


def half_inertia(X, labels):
    return sum(0.5 * ((X[labels == h] - X[labels == h].mean(axis=0)) ** 2).sum() for h in np.unique(labels))


# ---- the tree -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_in_every_tree(seed):
    rng = random.Random(seed)
    n, k = rng.randint(20, 120), rng.randint(1, 20)
    low = rng.choice([None, rng.randint(0, n // k), n // k, 0.5, 1.0])
    high = rng.choice([None, rng.randint(-(-n // k), n), 1.0, 1.3])
    X = mixture(n, 2, seed)
    if rng.random() < 0.3:
        X = X[[rng.randrange(3) for _ in range(n)]]  # many at the same place
    model = SizeConstrainedBisection(
        k,
        size_min=low,
        size_max=high,
        refine=rng.random() < 0.5,
        metric=rng.choice(["sqeuclidean", "cosine"]),
        random_state=seed,
    )
    model.fit(rng.choice([X, X.astype(np.float32), sparse.csr_matrix(X)]))
    least = 1 if low is None else int(low * n / k + 1e-9) if isinstance(low, float) else max(low, 1)
    most = n if high is None else int(np.ceil(high * n / k - 1e-9)) if isinstance(high, float) else high
    assert model.sizes_.tolist() == np.bincount(model.labels_, minlength=k).tolist()
    assert least <= model.sizes_.min() <= model.sizes_.max() <= most


@pytest.mark.parametrize("seed", range(20))
def test_sides_of_given_sizes_are_exact(seed):
    rng = np.random.default_rng(seed)
    gap = np.round(rng.normal(size=rng.integers(2, 9)), int(rng.integers(3)))
    low = int(rng.integers(1, len(gap)))
    high = int(rng.integers(low, len(gap)))
    left = _lowest(gap.copy(), low, high)
    sides = (np.array(one) for one in itertools.product([False, True], repeat=len(gap)))
    best = min(gap[one].sum() for one in sides if low <= one.sum() <= high)
    assert low <= left.sum() <= high
    assert gap[left].sum() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("k", [2, 3, 5, 9, 30])
def test_largest_is_at_most_twice_the_second(k, refine):
    for seed in range(4):
        X = np.concatenate([mixture(60, 2, seed), 100 + mixture(7, 2, seed)])
        kept = {"split": "largest", "random_state": seed}
        sizes = SizeConstrainedBisection(k, refine=refine, **kept).fit(X).sizes_
        second, first = np.sort(sizes)[-2:]
        assert first <= 2 * second
        assert sorted(sizes) == sorted(SizeConstrainedBisection(k, refine=False, **kept).fit(X).sizes_)
        assert k > 2 or sizes.tolist() == [33, 34]


def test_a_tree_alone_finds_clear_clusters_of_one_size():
    truth = np.arange(128) % 16
    X = 100.0 * np.stack([truth % 4, 1.5 * (truth // 4)], axis=1)
    X += np.random.default_rng(0).normal(size=X.shape)
    labels = SizeConstrainedBisection(16, size_max=1.0, refine=False, random_state=0).fit(X).labels_
    assert len(set(zip(labels, truth, strict=True))) == 16


# ---- what follows it ----------------------------------------------------------------------------------


def test_labels_are_the_exact_ones_where_every_cluster_is_on_offer():
    X = mixture()
    model = SizeConstrainedBisection(9, size_min=0.9, size_max=1.1, max_iter=50, tol=0.0, random_state=0)
    model.fit(X)
    assert model.converged_
    costs = 0.5 * ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    assert model.objective_ == pytest.approx(size_constrained_assignment(costs, 0.9, 1.1).cost, rel=1e-7)
    assert model.objective_ == pytest.approx(half_inertia(X, model.labels_))


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("split", ["share", "largest"])
def test_refining_never_harms_and_is_told(split, metric):
    X = mixture() + 5.0
    kept = {"split": split, "metric": metric, "random_state": 0}
    plain = SizeConstrainedBisection(30, refine=False, **kept).fit(X)
    model = SizeConstrainedBisection(30, max_iter=3, **kept).fit(X)
    assert plain.history_.tolist() == [plain.objective_] == [model.history_[0]]
    assert (plain.n_iter_, plain.converged_) == (1, True)
    assert 1 <= model.n_iter_ <= 3
    assert (np.diff(model.history_) <= 1e-12 * model.history_[0]).all()
    assert model.objective_ == model.history_[-1] < plain.objective_
    factor = 0.5 if metric == "sqeuclidean" else 1.0
    assert model.objective_ == pytest.approx(factor * model.inertia_)
    if metric == "sqeuclidean":
        assert plain.objective_ == pytest.approx(half_inertia(X, plain.labels_))


@pytest.mark.slow
def test_it_is_near_k_means_with_exact_labels():
    X = mixture(1000, 4, 1)
    bounds = {"size_min": 0.75, "size_max": 1.25, "random_state": 0}
    exact = SizeConstrainedKMeans(40, n_init=1, max_iter=10, **bounds).fit(X).objective_
    assert SizeConstrainedBisection(40, **bounds).fit(X).objective_ < 1.05 * exact
    assert SizeConstrainedBisection(40, refine=False, **bounds).fit(X).objective_ < 1.35 * exact


def test_few_centres_around_the_own_one_are_nearly_enough(monkeypatch):
    X = mixture()
    one = SizeConstrainedBisection(60, size_max=8, random_state=0).fit(X)
    monkeypatch.setattr(module, "_AROUND", 20)
    other = SizeConstrainedBisection(60, size_max=8, random_state=0).fit(X)
    assert other.sizes_.max() <= 8
    assert (np.diff(other.history_) <= 0).all()
    assert one.objective_ == pytest.approx(other.objective_, rel=0.05)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_offers_are_the_nearest_centres_and_the_own_one(monkeypatch, metric):
    X = mixture(80, 3) + 4.0
    seen = []

    class Kept(module.BoundedMoves):
        def __init__(self, cells, labels, *sizes):
            seen.append((cells, labels.copy()))
            super().__init__(cells, labels, *sizes)

    monkeypatch.setattr(module, "BoundedMoves", Kept)
    weight = np.random.default_rng(0).random(80)
    plain = SizeConstrainedBisection(20, metric=metric, refine=False, random_state=0)
    plain.fit(X, sample_weight=weight)
    SizeConstrainedBisection(20, metric=metric, random_state=0, max_iter=1).fit(X, sample_weight=weight)
    cells, labels = seen[0]
    distances = plain.transform(X) ** (2 if metric == "sqeuclidean" else 1)
    assert (labels == plain.labels_).all()
    for i, (row, costs) in enumerate(
        zip(cells.indices.reshape(80, 9), cells.data.reshape(80, 9), strict=True)
    ):
        assert {labels[i], *np.argsort(distances[i])[:8]} <= set(row)
        expected = (0.5 if metric == "sqeuclidean" else 1.0) * weight[i] * distances[i, row]
        assert costs - costs[0] == pytest.approx(expected - expected[0], abs=1e-9)


def test_more_trees_are_no_worse():
    X = mixture()
    one, four = (SizeConstrainedBisection(12, n_init=m, random_state=0).fit(X) for m in (1, "auto"))
    assert four.objective_ <= one.objective_


def test_items_without_weight_count_in_sizes_alone():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [0.5], [12.0]])
    weight = np.array([1.0, 1, 1, 1, 0, 0])
    model = SizeConstrainedBisection(2, size_min=3, random_state=0).fit(X, sample_weight=weight)
    assert sorted(model.cluster_centers_.ravel()) == [0.5, 10.5]
    assert model.objective_ == pytest.approx(0.5)
    assert model.labels_[4] == model.labels_[0] != model.labels_[5]


# ---- bad input ----------------------------------------------------------------------------------------


def test_rows_of_zeros_have_no_cosine():
    X = np.concatenate([np.eye(2)[[0, 0, 1, 1]], np.zeros((4, 2))])
    with pytest.raises(ValueError, match="row 4 and 3 more of X is all zeros"):
        SizeConstrainedBisection(4, metric="cosine").fit(X)
    with pytest.raises(ValueError, match="row 4 and 3 more of X is all zeros"):
        BalancedKMeans(4, metric="cosine").fit(X)


def test_bad_input_is_refused_by_name():
    X = mixture(30)
    for message, error, given in [
        ("size_min of SizeConstrainedBisection must be None, a number", ParameterError, {"size_min": [1, 2]}),
        ("split='largest' takes no bounds, but size_max=0.5", ParameterError, {"size_max": 0.5}),
        ("the minimum sizes add up to 32, which is 2 more", InfeasibleConstraintsError, {"size_min": 8}),
        ("the maximum sizes add up to 28, which is 2 less", InfeasibleConstraintsError, {"size_max": 7}),
        ("split of SizeConstrainedBisection must be", ParameterError, {"split": "smallest"}),
    ]:
        given = {"split": "largest"} | given if "largest" in message else given
        with pytest.raises(error, match=message):
            SizeConstrainedBisection(4, **given).fit(X)
    with pytest.raises(UnsupportedConstraintError, match="kind must-link; it takes none"):
        SizeConstrainedBisection(4).fit(X, constraints=Constraints([(0, 1)], n_items=30))


def test_the_registry_knows_that_it_takes_no_constraints():
    method = find_method("SizeConstrainedBisection")
    assert method.kinds == frozenset()
    assert method.bounds == {"sizes", "minima"}
