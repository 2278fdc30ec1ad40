"""`SizeConstrainedKMedians`: summed absolute distances, coordinate-wise medians."""

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, SizeConstrainedKMedians
from tests.marks import unsettled
from tests.oracles import sizes as oracle


def own(X, model) -> float:
    return float(np.abs(X - model.cluster_centers_[model.labels_]).sum())


def test_the_optimum_on_a_line_is_a_fixed_point(seed):
    for number in range(30):
        rng = np.random.default_rng((seed, number))
        x = rng.normal(size=25) if number % 2 else rng.choice(60, 25, replace=False).astype(float)
        k = int(rng.integers(1, 6))
        best, centres = oracle.medians_1d(x, k)
        model = SizeConstrainedKMedians(k, init=centres[:, None], tol=0).fit(x[:, None])
        assert model.objective_ == pytest.approx(best)
        assert model.inertia_ == pytest.approx(best)
        assert own(x[:, None], model) == pytest.approx(best)


def test_no_start_beats_dynamic_programming_on_a_line(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    best, _ = oracle.medians_1d(x, 4)
    model = SizeConstrainedKMedians(4, n_init=30, tol=0, random_state=0).fit(x[:, None])
    assert best - 1e-9 <= model.objective_ <= 1.05 * best


def test_minima_on_a_line_by_brute_force(seed):
    hits = 0
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        X = rng.normal(size=(8, 1)) ** 3
        best = oracle.best_scatter(X, oracle.rules(8, 2, 3), oracle.around_median)
        model = SizeConstrainedKMedians(2, size_min=3, n_init=20, tol=0, random_state=number).fit(X)
        assert model.objective_ >= best - 1e-9
        hits += model.objective_ <= best + 1e-9
    assert hits >= 7


def test_the_example_of_the_book_with_medians():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    model = SizeConstrainedKMedians(2, size_min=2, init=[[1.5], [10.0]]).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    assert model.objective_ == 9  # 1 + 0 + 1, and 7 between 3 and 10
    assert model.cluster_centers_[0].tolist() == [1.0]
    assert 3 <= model.cluster_centers_[1, 0] <= 10
    plain = SizeConstrainedKMedians(2, init=[[1.5], [10.0]]).fit(X)
    assert plain.objective_ == 4
    assert plain.labels_.tolist() == [0, 0, 0, 0, 1]


def test_one_cluster_is_the_median(seed):
    rng = np.random.default_rng(seed)
    for n in (1, 4, 7):
        X = rng.normal(size=(n, 3))
        model = SizeConstrainedKMedians(1, random_state=0).fit(X)
        np.testing.assert_allclose(
            np.abs(X - model.cluster_centers_[0]).sum(), np.abs(X - np.median(X, axis=0)).sum()
        )
        if n % 2:
            np.testing.assert_allclose(model.cluster_centers_[0], np.median(X, axis=0))


def test_an_outlier_does_not_pull():
    X = np.array([[0.0], [1.0], [2.0], [1e9]])
    model = SizeConstrainedKMedians(1, random_state=0).fit(X)
    assert 1 <= model.cluster_centers_[0, 0] <= 2


def test_weighted_medians(seed):
    X = np.array([[0.0], [1.0], [5.0]])
    model = SizeConstrainedKMedians(1, random_state=0).fit(X, sample_weight=[1.0, 1.0, 3.0])
    assert model.cluster_centers_.tolist() == [[5.0]]
    assert model.objective_ == 9
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(40, 2)), rng.integers(0, 4, 40)
    start = X[np.flatnonzero(w)[:3]]
    a = SizeConstrainedKMedians(3, init=start, tol=0).fit(X, sample_weight=w)
    b = SizeConstrainedKMedians(3, init=start, tol=0).fit(np.repeat(X, w, axis=0))
    assert a.objective_ == pytest.approx(b.objective_)
    assert np.repeat(a.labels_, w).tolist() == b.labels_.tolist()


def test_sparse_medians_are_mostly_zero(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (200, 30)).astype(float)
    X[:, 0] += 1
    for dtype in (np.float64, np.float32):
        a = SizeConstrainedKMedians(5, size_min=30, random_state=0).fit(X.astype(dtype))
        b = SizeConstrainedKMedians(5, size_min=30, random_state=0).fit(sparse.csr_matrix(X.astype(dtype)))
        assert a.labels_.tolist() == b.labels_.tolist()
        assert a.objective_ == pytest.approx(b.objective_)
        assert a.objective_ == pytest.approx(own(X, a), rel=1e-5)


def test_the_distance_of_transform_is_manhattan(seed):
    from sklearn.metrics import pairwise_distances

    X = np.random.default_rng(seed).normal(size=(50, 3))
    model = SizeConstrainedKMedians(4, size_min=10, random_state=0).fit(X)
    wanted = pairwise_distances(X, model.cluster_centers_, "manhattan")
    np.testing.assert_allclose(model.transform(X), wanted)
    assert model.score(X) == pytest.approx(-wanted.min(axis=1).sum())
    assert model.predict(X).tolist() == wanted.argmin(axis=1).tolist()


@unsettled
def test_statements_hold_too(seed):
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
        c = Constraints.sample(y, 25, random_state=number)
        low = int(np.bincount(y, minlength=3).min())
        model = SizeConstrainedKMedians(3, size_min=low, random_state=number, tol=0)
        model.fit(X, constraints=c)
        assert not c.violations(model.labels_)
        assert model.sizes_.min() >= low
        assert model.objective_ == pytest.approx(own(X, model))
        assert (np.diff(model.history_) <= 1e-9 * model.history_[:-1]).all()
