"""What a fitted mixture offers: predictions, scores, samples, starts, pickles, an account of inference."""

import functools

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from coterie import Constraints
from coterie.mixture import ConstrainedGaussianMixture, MeanFieldMixture, PenalizedGaussianMixture
from tests.marks import outvoted, unsettled
from tests.mixture.problems import ContinuationField, blobs, random_state_of, start_of, state_of
from tests.oracles import mixture as oracle

pytestmark = [outvoted, unsettled]
ALL = [ConstrainedGaussianMixture, PenalizedGaussianMixture, MeanFieldMixture]
every = pytest.mark.parametrize("kind", ALL, ids=[kind.__name__ for kind in ALL])
KINDS = ["full", "tied", "diag", "spherical"]


def problem(seed, n=120, k=3, gap=2.0):
    X, y = blobs((seed, 1), n, k, 2, gap)
    return X, y, Constraints.sample(y, n // 4, random_state=0)


@functools.cache
def fitted(kind, kind_of, seed):
    """A model of the problem, for all tests that only look at it."""
    X, _, c = problem(seed)
    return kind(3, covariance_type=kind_of, random_state=0).fit(X, constraints=c)


def as_scikit_learn(model) -> GaussianMixture:
    """The same parameters in scikit-learn's class."""
    plain = GaussianMixture(len(model.weights_), covariance_type=model.covariance_type)
    for name in ("weights_", "means_", "covariances_", "precisions_cholesky_"):
        setattr(plain, name, getattr(model, name))
    return plain


@every
@pytest.mark.parametrize("kind_of", KINDS)
def test_new_rows_are_judged_by_the_plain_mixture(kind, kind_of, seed):
    model = fitted(kind, kind_of, seed)
    new = np.random.default_rng(seed).normal(size=(50, 2))
    plain = as_scikit_learn(model)
    np.testing.assert_array_equal(model.predict(new), plain.predict(new))
    np.testing.assert_allclose(model.predict_proba(new), plain.predict_proba(new), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(new), plain.score_samples(new), rtol=1e-9)
    assert model.score(new) == pytest.approx(plain.score(new))
    assert model.bic(new) == pytest.approx(plain.bic(new))
    assert model.aic(new) == pytest.approx(plain.aic(new))
    own = np.log(model.weights_) + oracle.log_density(new, model.means_, model.covariances_, kind_of)
    np.testing.assert_allclose(model.score_samples(new), np.logaddexp.reduce(own, axis=1), rtol=1e-9)


@every
def test_shapes_and_types(kind, seed):
    _, _, c = problem(seed)
    for kind_of, shape in zip(KINDS, [(3, 2, 2), (2, 2), (3, 2), (3,)], strict=True):
        model = fitted(kind, kind_of, seed)
        assert (
            model.covariances_.shape == model.precisions_.shape == model.precisions_cholesky_.shape == shape
        )
        assert model.weights_.shape == (3,)
        assert model.means_.shape == (3, 2)
        assert model.responsibilities_.shape == (120, 3)
        assert model.labels_.shape == (120,)
        assert np.issubdtype(model.labels_.dtype, np.integer)
        assert model.weights_.sum() == pytest.approx(1.0)
        # under annealing the history is that of the last temperature
        assert len(model.history_) == model.n_iter_ + 1 or kind is MeanFieldMixture
        assert model.objective_ == model.history_[-1]
        assert model.lower_bound_ == pytest.approx(-model.objective_ / 120)
        assert model.agreement_.shape == (c.n_pairs,)
        assert ((model.agreement_ >= 0) & (model.agreement_ <= 1)).all()
        assert isinstance(model.converged_, bool)
        assert model.constraints_ == c
        assert str(model.violations_) == str(c.violations(model.labels_))
        assert model.n_features_in_ == 2


@every
def test_weights_of_a_score(kind, seed):
    X, y, _ = problem(seed)
    model = fitted(kind, "full", seed)
    weight = np.random.default_rng(seed).uniform(size=120)
    right = np.average(model.score_samples(X), weights=weight)
    assert model.score(X, sample_weight=weight) == pytest.approx(right)
    assert model.score(X, y) == pytest.approx(model.score(X))


@every
def test_samples_have_the_moments_of_the_mixture(kind, seed):
    for kind_of in KINDS:
        model = fitted(kind, kind_of, seed)
        rows, components = model.sample(20_000)
        assert rows.shape == (20_000, 2)
        share = np.bincount(components, minlength=3) / 20_000
        np.testing.assert_allclose(share, model.weights_, atol=0.02)
        full = oracle.as_full(model.covariances_, kind_of, 3, 2)
        for h in range(3):
            if share[h] > 0.05:
                np.testing.assert_allclose(rows[components == h].mean(axis=0), model.means_[h], atol=0.1)
                np.testing.assert_allclose(np.cov(rows[components == h].T), full[h], atol=0.1)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)
    np.testing.assert_array_equal(model.sample(5)[0], model.sample(5)[0])  # of the model's seed


@every
def test_the_best_start_is_kept(kind, seed):
    """More starts from one seed: never worse."""
    X, y = blobs((seed, 2), 80, 4, 2, gap=1.5)
    c = Constraints.sample(y, 20, random_state=0)
    more = {"annealing": False} if kind is MeanFieldMixture else {}
    best = [
        kind(4, n_init=n, init_params="random_from_data", random_state=0, **more)
        .fit(X, constraints=c)
        .objective_
        for n in (1, 2, 5)
    ]
    assert best[1] <= best[0] + 1e-9 * abs(best[0])
    assert best[2] <= best[1] + 1e-9 * abs(best[1])


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_every_way_to_start(init, seed):
    X, _y, c = problem(seed, gap=5.0)
    for kind in ALL:
        more = {"annealing": False} if kind is MeanFieldMixture else {}
        model = kind(3, init_params=init, n_init=2, max_iter=300, random_state=0, **more).fit(
            X, constraints=c
        )
        assert np.isfinite(model.objective_)
        assert not model.violations_ or kind is not ConstrainedGaussianMixture


@pytest.mark.parametrize("kind", ALL[:2])
def test_warm_start_goes_on(kind, seed):
    """Two fits of five iterations are one of ten, up to the inference's own state."""
    X, _, c = problem(seed, gap=1.0)
    start = start_of(random_state_of(np.random.default_rng(seed), X, 3))
    shared = {"tol": 0.0, "n_init": 1, **start}
    if kind is PenalizedGaussianMixture:
        shared["inference"] = "exact"
    warm = kind(3, max_iter=5, warm_start=True, **shared).fit(X, constraints=c)
    first = list(warm.history_)
    warm.fit(X, constraints=c)
    whole = kind(3, max_iter=10, **shared).fit(X, constraints=c)
    np.testing.assert_allclose([*first[:-1], *warm.history_], whole.history_, rtol=1e-9)
    np.testing.assert_allclose(warm.means_, whole.means_, rtol=1e-6)
    cold = kind(3, max_iter=5, **shared).fit(X, constraints=c).fit(X, constraints=c)
    np.testing.assert_allclose(cold.history_, first, rtol=1e-9)


def test_warm_start_of_mean_field_begins_where_it_ended(seed):
    """Continuation needs nothing but the parameters."""
    X, _, c = problem(seed, gap=1.0)
    model = ContinuationField(3, annealing=False, max_iter=5, warm_start=True, n_init=1, random_state=0)
    before = model.fit(X, constraints=c).objective_
    assert model.fit(X, constraints=c).history_[0] == pytest.approx(before, rel=1e-9)


def test_stopping_early_is_said(seed):
    X, _, c = problem(seed, gap=0.5)
    model = ConstrainedGaussianMixture(3, max_iter=1, tol=0.0, random_state=0).fit(X, constraints=c)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert ConstrainedGaussianMixture(3, max_iter=500, random_state=0).fit(X, constraints=c).converged_


def test_the_inference_tells_what_it_did(seed):
    X, _y, c = problem(seed)
    told = {}
    told["none"] = ConstrainedGaussianMixture(3, random_state=0).fit(X).inference_
    told["exact"] = ConstrainedGaussianMixture(3, random_state=0).fit(X, constraints=c).inference_
    for inference in ("exact", "mean-field", "gibbs", "auto"):
        model = PenalizedGaussianMixture(3, inference=inference, n_sweeps=10, max_iter=5, random_state=0)
        told[inference] = model.fit(X, constraints=c).inference_
        if inference != "auto":
            assert told[inference].method.replace(" ", "-") == inference
    for account in told.values():
        assert account.method
        assert account.reason
        assert str(account).endswith(".")
    assert told["auto"].method == "exact"


def test_gibbs_is_near_exact_and_repeats(seed):
    X, _, c = problem(seed)
    start = start_of(random_state_of(np.random.default_rng(seed), X, 3))
    shared = {"confidence": 0.8, "weights_update": "joint", "max_iter": 3, "tol": 0.0, "n_init": 1, **start}
    exact = PenalizedGaussianMixture(3, inference="exact", **shared).fit(X, constraints=c)
    gibbs = [
        PenalizedGaussianMixture(3, inference="gibbs", n_sweeps=400, random_state=1, **shared).fit(
            X, constraints=c
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(gibbs[0].responsibilities_, gibbs[1].responsibilities_)
    np.testing.assert_allclose(gibbs[0].responsibilities_, exact.responsibilities_, atol=0.1)
    np.testing.assert_allclose(gibbs[0].means_, exact.means_, atol=0.1)
    assert gibbs[0].objective_kind_ == "estimate"


@every
def test_responsibilities_are_those_of_the_final_parameters(kind, seed):
    """Items that nobody speaks of have the posterior of the plain mixture."""
    X, _, c = problem(seed)
    model = kind(3, random_state=0).fit(X, constraints=c)
    free = np.setdiff1d(np.arange(120), c.constrained_items)
    np.testing.assert_allclose(model.responsibilities_[free], model.predict_proba(X[free]), atol=1e-9)
    np.testing.assert_array_equal(model.labels_[free], model.predict(X[free]))
    assert state_of(model).weights is model.weights_
