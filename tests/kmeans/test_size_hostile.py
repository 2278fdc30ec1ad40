"""Bounds on data that nobody would want: duplicates, constants, extreme scales, as many clusters as items."""

import math
import random

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import SizeConstrainedKMeans, SizeConstrainedKMedians
from coterie.assign import size_constrained_assignment
from tests.marks import first_of, unsettled
from tests.oracles import sizes as oracle

pytestmark = unsettled

KINDS = {
    "means": SizeConstrainedKMeans,
    "cosine": lambda k, **more: SizeConstrainedKMeans(k, metric="cosine", **more),
    "medians": SizeConstrainedKMedians,
}


def hostile(rng: random.Random, n: int, d: int) -> np.ndarray:
    draw = np.random.default_rng(rng.randrange(2**32))
    X = draw.normal(size=(n, d))
    kind = rng.choice(
        [
            "plain",
            "duplicates",
            "all alike",
            "zeros",
            "constant",
            "scale",
            "scales",
            "offset",
            "outlier",
            "grid",
        ]
    )
    if kind == "duplicates":
        X = X[draw.integers(0, max(1, n // 3), n)]
    if kind == "all alike":
        X[:] = X[0]
    if kind == "zeros":
        X[:] = 0
    if kind == "constant":
        X[:, 0] = 1e6
    if kind == "scale":
        X *= 10.0 ** rng.choice([-150, -100, -50, -20, 20, 50, 100, 150])
    if kind == "scales":
        X *= 10.0 ** draw.integers(-8, 8, d)
    if kind == "offset":
        X += 10.0 ** rng.choice([3, 6, 9])
    if kind == "outlier":
        X[0] = 10.0 ** rng.choice([3, 6, 12, 50])
    if kind == "grid":
        X = np.round(X)
    return X


def bounds(rng: random.Random, n: int, k: int):
    """Bounds that can be met, as numbers, shares, or one for each cluster; and what they mean."""
    kind = rng.choice(["equal", "min", "max", "each", "pinned", "share"])
    if kind == "equal":
        return 1.0, 1.0, oracle.rules(n, k, n // k, math.ceil(n / k))
    if kind == "share":
        share = rng.choice([0.1, 0.5, 0.9])
        return share, None, oracle.rules(n, k, math.floor(share * n / k))
    if kind == "min":
        low = rng.randint(0, n // k)
        return low, None, oracle.rules(n, k, low)
    if kind == "max":
        high = rng.randint(math.ceil(n / k), n)
        return None, high, oracle.rules(n, k, 0, high)
    held = oracle.sizes_of([rng.randrange(k) for _ in range(n)], k).astype(int)
    if kind == "pinned":
        return held, None, oracle.rules(n, k, held)
    low, high = np.maximum(held - rng.randint(0, 2), 0), held + rng.randint(0, 2)
    return low.tolist(), high, oracle.rules(n, k, low, high)


def rounding(name: str, X: np.ndarray) -> float:
    """How far off an objective may be because the data have so many digits only."""
    if name == "cosine":
        return 1e-13 * len(X) if X.dtype == np.float64 else 1e-5 * len(X)
    digit = 16 * float(np.finfo(X.dtype).eps) * float(np.abs(X).max())
    width = float(np.ptp(X.astype(np.float64), axis=0).max())
    return X.size * (digit if name == "medians" else digit**2 + 2 * digit * width)


def fitted(model, X):
    """The model, or None where it says that squares leave the range of numbers, or rows have no direction."""
    try:
        return model.fit(X)
    except ValueError as error:
        words = str(error)
    assert any(word in words for word in ("large", "small", "range", "cosine")), words
    return None


@pytest.mark.parametrize("name", KINDS)
@first_of("batch", 4)
def test_bounds_hold_on_hostile_data(name, batch, seed):
    """4 x 3 x 170: two thousand of them, a quarter with `make test`."""
    refused = 0
    for number in range(170):
        rng = random.Random(f"{seed} {batch} {number}")
        n, d = rng.randint(1, 16), rng.randint(1, 3)
        k = rng.choice([1, n, rng.randint(1, n), rng.randint(1, min(n, 4))])
        X = hostile(rng, n, d)
        low, high, r = bounds(rng, n, k)
        if rng.random() < 0.2 and np.abs(X).max() < 1e15 and np.abs(X[X != 0]).min(initial=1) > 1e-15:
            X = X.astype(np.float32)
        init = rng.choice(["constraint++", "k-means++", "random", "book", "range"])
        model = KINDS[name](
            k, size_min=low, size_max=high, init=init, n_init=1, max_iter=6, random_state=number
        )
        found = fitted(model, X)
        if found is None:
            refused += 1
            continue
        assert oracle.keeps(model.labels_, r), (number, X, low, high, model.labels_)
        assert model.sizes_.tolist() == oracle.sizes_of(model.labels_, k).tolist()
        assert np.isfinite(model.cluster_centers_).all()
        assert np.isfinite(model.prices_).all()
        history = np.asarray(model.history_)
        assert (np.diff(history) <= 1e-9 * np.abs(history).max() + rounding(name, X)).all(), (number, history)
        assert oracle.keeps(model.predict(X, size_min=low, size_max=high), r)
    assert refused <= 30


SIZES = [(15, 15), (12, None), (None, 17), ([20, 5, 5, 5], None)]


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_unit_and_origin_do_not_matter(factor, seed):
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        X, _ = make_blobs(60, 3, centers=4, cluster_std=4.0, random_state=int(rng.integers(2**31)))
        shift = rng.uniform(-1e3, 1e3, 3) * factor * X.std(axis=0)
        for low, high in SIZES:
            arguments = {"size_min": low, "size_max": high, "random_state": number, "n_init": 2}
            plain = SizeConstrainedKMeans(4, **arguments).fit(X)
            moved = SizeConstrainedKMeans(4, **arguments).fit(X * factor + shift)
            assert moved.labels_.tolist() == plain.labels_.tolist()
            assert moved.objective_ == pytest.approx(plain.objective_ * factor**2, rel=1e-5)
            near = 1e-5 * np.abs(plain.prices_).max() + 1e-9
            np.testing.assert_allclose(moved.prices_ / factor**2, plain.prices_, rtol=1e-4, atol=near)


def test_float32_far_from_the_origin(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 100)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + rng.uniform(-0.5, 0.5, (300, 2))
    X = (X + 4000).astype(np.float32)
    for name in ("means", "medians"):
        model = KINDS[name](3, size_min=100, size_max=100, init=X[[0, 100, 200]]).fit(X)
        assert model.labels_.tolist() == y.tolist()


def test_an_outlier_does_not_blur_the_others(seed):
    """One item at a million: the bounds of the others are still met where it is cheapest."""
    rng = np.random.default_rng(seed)
    for dtype in (np.float64, np.float32):
        y = np.r_[np.repeat(np.arange(3), 40), 3]
        places = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1e6, 1e6]])
        X = (places[y] + rng.uniform(-0.5, 0.5, (121, 2))).astype(dtype)
        model = SizeConstrainedKMeans(4, size_min=[40, 40, 40, 1], init=places.astype(dtype)).fit(X)
        assert model.labels_.tolist() == y.tolist()
        model = SizeConstrainedKMeans(4, size_min=[45, 0, 0, 0], init=places.astype(dtype), max_iter=1).fit(X)
        assert model.sizes_[0] == 45
        assert model.labels_[120] == 3
    # the five that join the first are those that lose least by it
    model = SizeConstrainedKMeans(4, size_min=[45, 0, 0, 0], init=places, tol=0).fit(X.astype(float))
    table = ((X[:, None].astype(float) - model.cluster_centers_) ** 2).sum(axis=2)
    table[120] = [9e9, 9e9, 9e9, 0]
    best = oracle.by_linprog(table, oracle.rules(121, 4, [45, 0, 0, 0]))
    assert table[np.arange(121), model.labels_].sum() == pytest.approx(best, rel=1e-9)


def test_duplicates_are_split_and_it_ends():
    X = np.zeros((12, 2))
    for k in (1, 3, 12):
        model = SizeConstrainedKMeans(k, size_min=1.0, size_max=1.0, random_state=0, max_iter=1000).fit(X)
        assert model.sizes_.tolist() == [12 // k] * k
        assert model.objective_ == 0
        assert model.n_iter_ < 10
        assert model.converged_
    X = np.repeat([[0.0], [1.0]], [9, 3], axis=0)
    model = SizeConstrainedKMeans(4, size_min=3, random_state=0).fit(X)
    assert model.sizes_.tolist() == [3] * 4
    assert model.objective_ == pytest.approx(0, abs=1e-12)


def test_medians_of_ties_end(seed):
    """Whole numbers: many medians, many equal assignments; it must not go in circles."""
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        X = rng.integers(0, 3, (40, 3)).astype(float)
        model = SizeConstrainedKMedians(5, size_min=8, size_max=8, random_state=number, tol=0).fit(X)
        assert model.converged_
        assert model.sizes_.tolist() == [8] * 5
        assert (np.diff(model.history_) <= 1e-9).all()


def test_clusters_without_a_minimum_may_stay_empty():
    X = np.array([[0.0], [1.0], [2.0]])
    far = np.array([[1.0], [1e3], [2e3]])
    model = SizeConstrainedKMeans(3, size_max=[3, 0, 0], init=far).fit(X)
    assert model.labels_.tolist() == [0, 0, 0]
    assert model.sizes_.tolist() == [3, 0, 0]
    assert np.isfinite(model.cluster_centers_).all()


def test_an_empty_cluster_is_filled_if_it_may_be_and_bounds_still_hold(seed):
    """Two starts are far from all: refilling them must not take from a cluster at its minimum."""
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        X = rng.normal(size=(24, 2))
        start = np.vstack([X[:3], [[1e5, 1e5], [2e5, 2e5]]])
        low = [8, 8, 6, 0, 0]
        model = SizeConstrainedKMeans(5, size_min=low, init=start).fit(X)
        assert (model.sizes_ >= low).all()
        capped = SizeConstrainedKMeans(5, size_max=[24, 24, 24, 0, 1], init=start).fit(X)
        assert capped.sizes_[3] == 0
        assert capped.sizes_[4] <= 1
        assert (np.diff(model.history_) <= 1e-9 * model.history_[:-1]).all()


def test_costs_that_differ_in_the_last_digits_only(seed):
    """All centres nearly in one place: bounds hold although costs are rounding."""
    rng = np.random.default_rng(seed)
    X = 1e8 + rng.normal(size=(30, 2)) * 1e-6
    model = SizeConstrainedKMeans(3, size_min=10, size_max=10, random_state=0).fit(X)
    assert model.sizes_.tolist() == [10, 10, 10]
    costs = 1.0 + rng.random((200, 4)) * 1e-15
    assert size_constrained_assignment(costs, 50, 50).sizes.tolist() == [50] * 4


def test_many_clusters_of_one_item_each(seed):
    """An assignment problem: as many clusters as items."""
    from scipy.optimize import linear_sum_assignment

    costs = np.random.default_rng(seed).random((150, 150))
    rows, columns = linear_sum_assignment(costs)
    found = size_constrained_assignment(costs, 1, 1)
    assert found.cost == pytest.approx(costs[rows, columns].sum(), rel=1e-12)
    assert sorted(found.labels.tolist()) == list(range(150))
