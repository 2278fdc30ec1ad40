"""Without constraints: the same path as scikit-learn's `GaussianMixture` from the same start."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from coterie import Constraints
from coterie.mixture import ConstrainedGaussianMixture, MeanFieldMixture, PenalizedGaussianMixture
from tests.marks import unsettled
from tests.mixture.problems import blobs, random_state_of, start_of

pytestmark = unsettled
KINDS = ["full", "tied", "diag", "spherical"]


def bounds_of(plain, X):
    """Mean log-likelihood before each M-step; older versions of scikit-learn keep only the last."""
    if hasattr(plain, "lower_bounds_"):
        return np.array(plain.lower_bounds_)
    values = []
    for steps in range(1, plain.n_iter_ + 1):
        values.append(GaussianMixture(**plain.get_params()).set_params(max_iter=steps).fit(X).lower_bound_)
    return np.array(values)


def assert_same_path(model, plain, X):
    np.testing.assert_allclose(-np.asarray(model.history_)[:-1] / len(X), bounds_of(plain, X), rtol=1e-6)
    assert model.history_[-1] == pytest.approx(-plain.score_samples(X).sum(), rel=1e-6)
    np.testing.assert_allclose(model.weights_, plain.weights_, rtol=1e-5)
    np.testing.assert_allclose(model.means_, plain.means_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.covariances_, plain.covariances_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(model.precisions_, plain.precisions_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.precisions_cholesky_, plain.precisions_cholesky_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.responsibilities_, plain.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.labels_, plain.predict(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reg_covar", [0.0, pytest.param(1e-6, marks=pytest.mark.slow), 1e-2])
def test_same_path_as_scikit_learn(kind, reg_covar, seed):
    for number, (n, d, k) in enumerate([(150, 2, 3), (400, 5, 4), (60, 1, 2)]):
        X, _ = blobs((seed, 1, number), n, k, d, gap=1.5)
        state = random_state_of(np.random.default_rng((seed, 2, number)), X, k, kind)
        shared = {
            "covariance_type": kind,
            "reg_covar": reg_covar,
            "tol": 0.0,
            "max_iter": 20,
            **start_of(state, kind),
        }
        plain = GaussianMixture(k, **shared).fit(X)
        model = ConstrainedGaussianMixture(k, **shared).fit(X)
        assert model.n_iter_ == 20
        assert_same_path(model, plain, X)
        assert model.objective_kind_ in ("joint", "conditional")


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_two_classes_are_the_same_without_constraints(kind, seed):
    X, _ = blobs((seed, 3), 200, 3, 3, gap=1.5)
    state = random_state_of(np.random.default_rng((seed, 4)), X, 3, kind)
    shared = {"covariance_type": kind, "tol": 0.0, "max_iter": 15, "n_init": 1, **start_of(state, kind)}
    plain = GaussianMixture(3, **shared).fit(X)
    assert_same_path(PenalizedGaussianMixture(3, **shared).fit(X), plain, X)
    field = MeanFieldMixture(3, annealing=False, weights_update="joint", **shared)
    assert_same_path(field.fit(X), plain, X)
    # eta has nobody to speak for
    loud = MeanFieldMixture(3, annealing=False, weights_update="joint", eta=7.0, **shared)
    assert_same_path(loud.fit(X), plain, X)


@pytest.mark.parametrize("kind", KINDS)
def test_it_stops_where_scikit_learn_stops(kind, seed):
    """tol is the change of the mean log-likelihood; the last M-step is part of the count."""
    X, _ = blobs((seed, 5), 300, 3, 2, gap=2.0)
    state = random_state_of(np.random.default_rng((seed, 6)), X, 3, kind)
    shared = {"covariance_type": kind, "tol": 1e-3, "max_iter": 200, **start_of(state, kind)}
    plain = GaussianMixture(3, **shared).fit(X)
    model = ConstrainedGaussianMixture(3, **shared).fit(X)
    assert model.converged_
    assert abs(model.n_iter_ - plain.n_iter_) <= 1
    assert model.lower_bound_ == pytest.approx(plain.score(X), abs=5e-3)


def test_features_in_other_units(seed):
    """reg_covar is a share of each feature's variance, so the unit of a feature does not matter."""
    X, _ = blobs((seed, 7), 150, 3, 3, gap=1.5)
    scale, shift = np.array([1e-6, 1.0, 1e5]), np.array([3.0, -7.0, 1e5])
    for kind in ("full", "tied", "diag"):
        state = random_state_of(np.random.default_rng((seed, 8)), X, 3, kind)
        start = start_of(state, kind)
        moved = dict(start, means_init=start["means_init"] * scale + shift)
        if kind == "diag":
            moved["precisions_init"] = start["precisions_init"] / scale**2
        else:
            moved["precisions_init"] = start["precisions_init"] / np.outer(scale, scale)
        shared = {"covariance_type": kind, "reg_covar": 1e-3, "max_iter": 10, "tol": 0.0}
        one = ConstrainedGaussianMixture(3, **shared, **start).fit(X)
        other = ConstrainedGaussianMixture(3, **shared, **moved).fit(X * scale + shift)
        np.testing.assert_allclose(other.responsibilities_, one.responsibilities_, atol=1e-6)
        np.testing.assert_allclose(other.means_, one.means_ * scale + shift, rtol=1e-6)
        jump = len(X) * np.log(scale).sum()
        np.testing.assert_allclose(other.history_, one.history_ + jump, rtol=1e-6, atol=1e-4)


def test_constraints_that_say_nothing_change_nothing(seed):
    X, _ = blobs((seed, 9), 100, 3, 2, gap=1.5)
    state = random_state_of(np.random.default_rng((seed, 10)), X, 3)
    shared = {"tol": 0.0, "max_iter": 5, **start_of(state)}
    plain = ConstrainedGaussianMixture(3, **shared).fit(X)
    silent = Constraints(n_items=100)
    again = ConstrainedGaussianMixture(3, **shared).fit(X, constraints=silent)
    np.testing.assert_array_equal(again.responsibilities_, plain.responsibilities_)
    unknown = ConstrainedGaussianMixture(3, **shared).fit(X, constraints=np.full(100, -1))
    np.testing.assert_array_equal(unknown.responsibilities_, plain.responsibilities_)


def test_more_rows_than_one_chunk(seed):
    """Rows are taken in chunks: the sums must be those of all rows."""
    X, _ = blobs((seed, 11), 30_000, 3, 2, gap=1.5)
    for kind in KINDS:
        state = random_state_of(np.random.default_rng((seed, 12)), X, 3, kind)
        shared = {"covariance_type": kind, "tol": 0.0, "max_iter": 2, **start_of(state, kind)}
        plain = GaussianMixture(3, **shared).fit(X)
        model = ConstrainedGaussianMixture(3, **shared).fit(X)
        assert_same_path(model, plain, X)
