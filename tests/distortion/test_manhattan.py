"""The l1 distortion against plain NumPy: costs, medians with their intervals, and starts from it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances
from threadpoolctl import threadpool_limits

from coterie import Constraints
from coterie.distortion._manhattan import Manhattan
from coterie.kmeans._engine.starts import CentreStarts

KINDS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_matrix,
    "CSR array, float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def some_data(rng, n, d, zeros=0.6):
    """Few values, so that ties are common, and many zeros."""
    X = np.where(rng.random((n, d)) < zeros, 0.0, rng.normal(size=(n, d)))
    return X if rng.random() < 0.5 else np.round(X)


def dense(X):
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


def obvious_interval(values, mass):
    """All weighted medians of some values: the ends of the interval."""
    cost = [float(mass @ np.abs(values - v)) for v in values]
    best = values[np.isclose(cost, min(cost), rtol=1e-12, atol=1e-12)]
    return best.min(), best.max()


def obvious_medians(X, mass, labels, before):
    found = np.array(before, dtype=np.float64)
    for h in range(len(before)):
        rows = (labels == h) & (mass > 0)
        for j in range(X.shape[1] if rows.any() else 0):
            low, high = obvious_interval(X[rows, j], mass[rows])
            found[h, j] = before[h, j] if low <= before[h, j] <= high else (low + high) / 2
    return found


def random_mass(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return None
    return rng.integers(0, 4, n).astype(float) if kind == 1 else rng.random(n)


@pytest.mark.kernels
@pytest.mark.parametrize("kind", KINDS)
def test_costs_and_medians_by_hand(kind, seed):
    rng = np.random.default_rng(seed)
    for n, d, k in [(1, 1, 1), (7, 1, 3), (60, 5, 1), (40, 3, 9), (30, 19, 4), (200, 2, 3)]:
        X = KINDS[kind](some_data(rng, n, d))
        plain, sample_weight = dense(X), random_mass(rng, n)
        mass = np.ones(n) if sample_weight is None else sample_weight
        centres = np.round(rng.normal(size=(k, d)), rng.integers(3))
        labels = rng.integers(-1, k, n).astype(np.int32)
        l1 = Manhattan(X, sample_weight)

        gaps, rel = cdist(plain, centres, "cityblock"), 1e-6 if "32" in kind else 1e-12
        out = np.empty((n, k), dtype=X.dtype)
        l1.fill_costs(centres, out)
        np.testing.assert_allclose(out, gaps * mass[:, None], rtol=rel, atol=rel)
        np.testing.assert_allclose(l1.chunk_costs(n // 3, n, centres), gaps[n // 3 :], rtol=1e-12, atol=1e-12)
        own = np.where(labels < 0, 0.0, gaps[np.arange(n), labels]) * mass
        np.testing.assert_allclose(l1.cost_to_assigned(labels, centres), own, rtol=1e-12, atol=1e-12)
        assert l1.inertia(labels, None, centres) == pytest.approx(own.sum(), abs=1e-12)

        given = centres.copy()
        found = l1.best_centres(labels, None, centres)
        np.testing.assert_allclose(found, obvious_medians(plain, mass, labels, centres), rtol=0, atol=1e-15)
        assert (centres == given).all()
        assert found.dtype == np.float64


def test_without_weights_it_is_the_median_of_numpy(seed):
    rng = np.random.default_rng(seed)
    for n, d in [(1, 3), (2, 3), (501, 30), (1000, 7)]:
        X = some_data(rng, n, d, zeros=0.3)
        for data in (X, sparse.csr_matrix(X)):
            np.testing.assert_allclose(Manhattan(data).middle, np.median(X, axis=0), rtol=0, atol=1e-15)
            assert Manhattan(data).total_cost == pytest.approx(np.abs(X - np.median(X, axis=0)).sum())


def test_an_old_coordinate_inside_the_interval_stays():
    X = np.array([[1.0], [3.0], [2.0], [9.0]])
    labels = np.zeros(4, dtype=np.int32)
    for data in (X, sparse.csr_matrix(X)):
        for before, after in [(2.0, 2.0), (2.25, 2.25), (3.0, 3.0), (1.9, 2.5), (3.1, 2.5), (np.nan, 2.5)]:
            assert Manhattan(data).best_centres(labels, None, np.array([[before]]))[0, 0] == after


def test_zeros_that_are_not_stored_count():
    for column, median in [
        ([0, 0, 1], 0),
        ([0, 1, 1], 1),
        ([0, 0, 1, 1], 0.5),
        ([0, -1, -1, 0], -0.5),
        ([-3, 0, 5], 0),
        ([-3, -2, 5], -2),
        ([-1, -1, 1, 1], 0),
    ]:
        stored = sparse.csr_matrix(np.array(column, dtype=float)[:, None])
        assert Manhattan(stored).middle.tolist() == [median]
    stored = sparse.csr_matrix(([1.0, 0.0, 2.0], ([0, 1, 2], [0, 0, 0])), (3, 1))  # a zero that is stored
    assert Manhattan(stored).middle.tolist() == [1.0]


def test_a_cluster_without_mass_keeps_its_centre():
    X, before = np.arange(6.0).reshape(3, 2), np.full((4, 2), 7.0)
    labels = np.array([0, 1, -1], dtype=np.int32)
    for data in (X, sparse.csr_matrix(X)):
        found = Manhattan(data, np.array([1.0, 0.0, 1.0])).best_centres(labels, None, before)
        assert found.tolist() == [[0, 1], [7, 7], [7, 7], [7, 7]]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions(kind, seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        X, w = some_data(rng, 30, 4), rng.integers(0, 4, 30)
        labels, before = rng.integers(-1, 3, 30).astype(np.int32), np.zeros((3, 4)) + 9
        if not w.any():
            continue
        weighted = Manhattan(KINDS[kind](X), w.astype(float))
        repeated = Manhattan(KINDS[kind](np.repeat(X, w, axis=0)))
        found = weighted.best_centres(labels, None, before)
        assert (found == repeated.best_centres(np.repeat(labels, w), None, before)).all()
        assert weighted.total_cost == pytest.approx(repeated.total_cost)
        assert weighted.tol_scale == pytest.approx(repeated.tol_scale)


def test_weights_that_add_up_with_rounding_still_tie():
    X = np.arange(20.0)[:, None]
    for w in (np.full(20, 0.1), np.full(20, 1e-300), np.full(20, 1e200)):
        for data in (X, sparse.csr_matrix(X)):
            assert Manhattan(data, w).middle.tolist() == [9.5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_offset_and_a_factor_change_nothing(dtype, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (80, 3)).astype(dtype)
    labels, centres = rng.integers(0, 4, 80).astype(np.int32), rng.integers(-8, 9, (4, 3)) / 2.0
    out, moved = np.empty((2, 80, 4), dtype=dtype)
    Manhattan(X).fill_costs(centres, out)
    for a, b in [(1.0, 2.0**18), (2.0**-30, 0.0), (2.0**40, 0.0), (1.0, -(2.0**18))]:
        other = Manhattan((a * X + b).astype(dtype))
        other.check_range()
        other.fill_costs(a * centres + b, moved)
        assert (moved == dtype(a) * out).all()
        found = other.best_centres(labels, None, a * centres + b)
        assert (found == a * Manhattan(X).best_centres(labels, None, centres) + b).all()


@pytest.mark.parametrize("kind", ["float64", "CSR"])
def test_one_thread_or_two(kind, seed):
    rng = np.random.default_rng(seed)
    n, d, k = 30_000, 20, 6
    X = KINDS[kind](some_data(rng, n, d))
    labels, centres = rng.integers(0, k, n).astype(np.int32), rng.normal(size=(k, d))
    l1 = Manhattan(X, rng.random(n))
    answers = []
    for threads in (1, 2):
        out = np.empty((n, k))
        with threadpool_limits(threads):
            l1.fill_costs(centres, out)
            answers.append(
                (out, l1.best_centres(labels, None, centres), l1.cost_to_assigned(labels, centres))
            )
    for one, two in zip(*answers, strict=True):
        assert (one == two).all()


def test_orders_that_trap_selection():
    i = np.arange(40_001)
    shapes = [i, -i, np.minimum(i, 40_000 - i), np.maximum(i, 40_000 - i), i % 2, i // 20_000, 0 * i, i % 9]
    X = np.column_stack(shapes).astype(float)
    assert (Manhattan(X).middle == np.median(X, axis=0)).all()


def test_alone_and_range():
    X = np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 4.0]])
    for data in (X, sparse.csr_matrix(X)):
        l1 = Manhattan(data)
        l1.check_range()
        assert l1.single_cluster_cost(np.array([0, 2])) == 7 + 3
        assert Manhattan(data, np.array([1.0, 3.0, 1.0])).single_cluster_cost(np.array([0, 1])) == 2
        assert Manhattan(data, np.array([0.0, 0.0, 1.0])).single_cluster_cost(np.array([0, 1])) == 0
        for bad, how in [(1e200, "large"), (1e-200, "small")]:
            with pytest.raises(ValueError, match=f"too {how} for float64"):
                Manhattan(bad * data).check_range()
    Manhattan(np.ones((3, 2))).check_range()
    with pytest.raises(ValueError, match="too large for float32"):
        Manhattan((X * 1e36).astype(np.float32)).check_range()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["constraint++", "k-means++", "neighborhoods", "random"])
def test_starts_can_use_it(kind, how, seed):
    rng = np.random.default_rng(seed)
    corners = np.array([[0.0, 0.0], [4e3, 0.0], [0.0, 4e3]])
    truth = np.arange(90) % 3
    X = KINDS[kind](corners[truth] + rng.normal(size=(90, 2)))
    known = Constraints.sample(truth, n_pairs=30, random_state=seed)
    starts = CentreStarts(Manhattan(X, rng.random(90) + 0.1), known, 3, np.random.RandomState(seed % 2**31))
    centres = starts.centres(how)
    assert centres.shape == (3, 2)
    if how in ("constraint++", "k-means++"):  # one in each corner
        assert sorted(manhattan_distances(centres, corners).argmin(axis=1).tolist()) == [0, 1, 2]
