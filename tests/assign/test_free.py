"""`free`: the nearest centre of every item, whatever the type, the block and the distance from the origin."""

import numpy as np
import pytest
from scipy import sparse

from coterie.assign import free
from tests.oracles import kmeans as oracle

KINDS = {
    "float64": lambda X: X, "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: np.round(X * 8).astype(np.int64), "Fortran order": np.asfortranarray,
    "CSR": sparse.csr_matrix, "CSR array, float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
}  # fmt: skip


def assert_nearest(found, X, centres, metric="sqeuclidean", sample_weight=None, rel=1e-9):
    """Each label costs what the cheapest does, within rounding; the total is what the labels cost."""
    gaps = oracle.gaps(X, centres, metric)
    chosen = gaps[np.arange(len(gaps)), found.labels]
    assert (chosen <= gaps.min(axis=1) + rel * (np.abs(gaps).max(axis=1) + 1)).all()
    w = np.ones(len(gaps)) if sample_weight is None else np.asarray(sample_weight)
    assert found.cost == pytest.approx(float(w @ chosen), rel=max(rel, 1e-9) * 10, abs=1e-12)
    assert found.penalty == 0
    assert found.labels.dtype == np.int32


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_nearest_by_hand(kind, metric, seed):
    rng = np.random.default_rng(seed)
    for n, d, k in [(1, 1, 1), (7, 1, 3), (60, 5, 1), (40, 3, 9), (30, 30, 4)]:
        X, centres = rng.normal(size=(n, d)) + 0.5, rng.normal(size=(k, d)) + 0.5
        given = KINDS[kind](X)
        if sparse.issparse(given):
            given.data[:] = np.round(given.data, 1)  # some entries are 0 now
        if metric == "cosine" and kind == "integers":
            given = given + 9 * (np.abs(given).sum(axis=1, keepdims=True) == 0)
        found = free(given, centres, metric=metric)
        assert found.labels.shape == (n,)
        assert_nearest(found, given, centres, metric, rel=1e-5 if "32" in kind else 1e-9)
        assert found.optimal


def test_ties_go_to_the_lowest_cluster():
    X = np.zeros((5, 2))
    assert free(X, np.ones((4, 2))).labels.tolist() == [0] * 5
    assert free(np.array([[1.0]]), np.array([[3.0], [0.0], [2.0]])).labels.tolist() == [1]


def test_weights_count_in_the_cost_only(seed):
    rng = np.random.default_rng(seed)
    X, centres, w = rng.normal(size=(50, 3)), rng.normal(size=(4, 3)), rng.integers(0, 4, 50).astype(float)
    found = free(X, centres, sample_weight=w)
    assert_nearest(found, X, centres, sample_weight=w)
    assert found.labels.tolist() == free(X, centres).labels.tolist()


def test_far_from_the_origin_rounding_does_not_decide(seed):
    """Expanded squares of float32 lose everything here unless the block is centred first."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) + 1e3
    truth = rng.integers(0, 3, 500)
    X = centres[truth] + rng.uniform(-0.2, 0.2, (500, 2))
    for dtype in (np.float64, np.float32):
        assert free(X.astype(dtype), centres.astype(dtype)).labels.tolist() == truth.tolist()
    far = free(X - 1e3 + 1e7, centres - 1e3 + 1e7)
    assert far.labels.tolist() == truth.tolist()
    assert far.cost == pytest.approx(free(X, centres).cost, rel=1e-4)


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e5), (np.float32, 1e6), (np.float64, 1e9)])
def test_one_far_centre_does_not_blur_the_others(dtype, far, seed):
    """An outlier that has become a cluster of its own; the others are as easy to tell apart as before."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [far, far]])
    truth = rng.integers(0, 3, 300)
    X = centres[truth] + rng.uniform(-1, 1, (300, 2))
    assert free(X.astype(dtype), centres.astype(dtype)).labels.tolist() == truth.tolist()


@pytest.mark.parametrize("factor", [1e-150, 1e-6, 1e6, 1e140])
def test_any_unit(factor, seed):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(80, 3)), rng.normal(size=(4, 3))
    assert (free(X * factor, centres * factor).labels == free(X, centres).labels).all()


def test_many_rows_cross_every_block(seed):
    rng = np.random.default_rng(seed)
    n, k = 70_003, 5
    centres = rng.normal(size=(k, 2)) * 100
    truth = rng.integers(0, k, n)
    X = centres[truth] + rng.normal(size=(n, 2)) * 1e-3
    for given in (X, X.astype(np.float32), sparse.csr_matrix(X)):
        found = free(given, centres)
        assert (found.labels == truth).all()
        w = rng.random(n)
        weighted = free(given, centres, sample_weight=w)
        by_hand = float(w @ ((X - centres[truth]) ** 2).sum(axis=1))
        assert weighted.cost == pytest.approx(by_hand, rel=1e-2 if given.dtype == np.float32 else 1e-4)


def test_many_clusters(seed):
    """More clusters than items, and more than one block of centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3000, 2))
    which = rng.integers(0, 3000, 50)
    assert free(centres[which], centres).labels.tolist() == which.tolist()


def test_cosine_looks_at_directions_only(seed):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(60, 4)), rng.normal(size=(5, 4))
    plain = free(X, centres, metric="cosine")
    for lengths in (rng.uniform(1e-3, 1e3, (60, 1)), 1e-15, 1e15):
        scaled = free(X * lengths, centres * rng.uniform(0.1, 9, (5, 1)), metric="cosine")
        assert (plain.labels == scaled.labels).all()
        assert scaled.cost == pytest.approx(plain.cost, rel=1e-9)


def test_inputs_are_left_alone(seed):
    X, centres = np.random.default_rng(seed).normal(size=(20, 3)), np.eye(3)
    before = X.copy(), centres.copy()
    for metric in ("sqeuclidean", "cosine"):
        free(X, centres, metric=metric)
    assert (before[0] == X).all()
    assert (before[1] == centres).all()


def test_nonsense_is_refused():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"2|3"):
        free(X, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="metric"):
        free(X, X, metric="chebyshev-ish")
    with pytest.raises(ValueError, match=r"sample_weight|weight"):
        free(X, X, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"(?i)negative"):
        free(X, X, sample_weight=[1.0, 2.0, -1.0, 1.0])
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            free(np.array([[bad, 0.0]]), X)


def test_an_assignment_cannot_be_changed():
    found = free(np.zeros((2, 1)), np.zeros((1, 1)))
    with pytest.raises(AttributeError):
        found.cost = 3.0
