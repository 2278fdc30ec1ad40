"""What must not matter: the order of rows, the names of components, the units and axes of the data."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import Constraints
from coterie.mixture import ConstrainedGaussianMixture, PenalizedGaussianMixture
from tests.mixture.problems import WarmField, blobs, random_state_of, start_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning"),
]
SHARED = {"tol": 0.0, "max_iter": 8, "n_init": 1}
MODELS = {
    "chunklet": lambda k, **more: ConstrainedGaussianMixture(k, **SHARED, **more),
    "point, exact": lambda k, **more: ConstrainedGaussianMixture(
        k, sampling="point", weights_update="exact", **SHARED, **more
    ),
    "pseudo": lambda k, **more: ConstrainedGaussianMixture(
        k, weights_update="pseudo-likelihood", **SHARED, **more
    ),
    "penalized": lambda k, **more: PenalizedGaussianMixture(
        k, inference="exact", weights_update="exact", **SHARED, **more
    ),
    "mean field": lambda k, **more: WarmField(
        k, weight=0.4, annealing=False, weights_update="joint", **SHARED, **more
    ),
}
# mean field stops its sweeps at 1e-4
FINE = dict.fromkeys(MODELS, 1e-6) | {"mean field": 2e-3}


def problem(seed, k=3, d=2):
    X, y = blobs((seed, 1, k), 70, k, d, gap=1.5)
    rng = np.random.default_rng((seed, 2))
    c = Constraints.sample(y, 30, random_state=3)
    return X, c, random_state_of(rng, X, k), rng


@pytest.mark.parametrize("name", MODELS)
def test_full_covariances_do_not_care_about_axes(name, seed):
    """Any turn, stretch and shift, with nothing added to the covariances."""
    X, c, state, rng = problem(seed)
    turn = rng.normal(size=(2, 2)) + 2 * np.eye(2)
    shift = np.array([100.0, -3.0])
    start = start_of(state)
    back = np.linalg.inv(turn)
    moved = {
        "weights_init": state.weights,
        "means_init": state.means @ turn.T + shift,
        "precisions_init": back.T @ start["precisions_init"] @ back,
    }
    one = MODELS[name](3, reg_covar=0.0, **start).fit(X, constraints=c)
    other = MODELS[name](3, reg_covar=0.0, **moved).fit(X @ turn.T + shift, constraints=c)
    jump = 70 * np.log(abs(np.linalg.det(turn)))
    np.testing.assert_allclose(other.history_, one.history_ + jump, rtol=FINE[name])
    np.testing.assert_allclose(other.responsibilities_, one.responsibilities_, atol=10 * FINE[name])
    np.testing.assert_allclose(other.means_, one.means_ @ turn.T + shift, atol=10 * FINE[name])
    np.testing.assert_array_equal(other.labels_, one.labels_)


@pytest.mark.parametrize("kind", [ConstrainedGaussianMixture, PenalizedGaussianMixture])
def test_items_of_a_chunklet_have_one_posterior_and_forbidden_pairs_never_agree(kind, seed):
    X, y = blobs((seed, 5), 90, 3, 2, gap=1.0)
    c = Constraints.sample(y, 45, random_state=0)
    c = Constraints(c.must_link, c.cannot_link, n_items=90, hard=True)
    model = kind(3, random_state=0).fit(X, constraints=c)
    for i, j in c.must_link.tolist():
        np.testing.assert_array_equal(model.responsibilities_[i], model.responsibilities_[j])
    m = len(c.must_link)
    np.testing.assert_allclose(model.agreement_[:m], 1.0, atol=1e-9)
    assert (model.agreement_[m:] == 0.0).all()
    np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1.0, rtol=1e-9)
    assert not model.violations_
