"""Bad input is told in words; hard problems end in time; what goes wrong inside a fit is reported."""

import time
import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from coterie import Constraints
from coterie.exceptions import InfeasibleConstraintsError
from coterie.mixture import ConstrainedGaussianMixture, MeanFieldMixture, PenalizedGaussianMixture
from tests.marks import outvoted, unsettled
from tests.mixture.problems import blobs

ALL = [ConstrainedGaussianMixture, PenalizedGaussianMixture, MeanFieldMixture]
NAMES = [kind.__name__ for kind in ALL]
every = pytest.mark.parametrize("kind", ALL, ids=NAMES)


def data(seed, n=60, k=3):
    return blobs((seed, 1), n, k, 2, gap=2.0)


# ---- contradictions -------------------------------------------------------------------------------------


@every
def test_an_odd_ring_with_two_components(kind, seed):
    X, _ = data(seed)
    ring = Constraints(cannot_link=[(i, (i + 1) % 7) for i in range(7)], n_items=60, hard=True)
    for k in (1, 2):
        with pytest.raises(InfeasibleConstraintsError):
            kind(k).fit(X, constraints=ring)
    assert not kind(3, random_state=0).fit(X, constraints=ring).violations_


def test_every_statement_binds_the_constrained_mixture(seed):
    X, _ = data(seed)
    c = Constraints([(0, 1)], [(0, 1)], n_items=60, weight=0.1)
    with pytest.raises(InfeasibleConstraintsError):
        ConstrainedGaussianMixture(3).fit(X, constraints=c)


@outvoted
@pytest.mark.parametrize("kind", ALL[1:], ids=NAMES[1:])
def test_a_soft_clique_larger_than_k(kind, seed):
    X, _ = data(seed)
    c = Constraints(cannot_link=list(combinations(range(6), 2)), n_items=60)
    model = kind(3, random_state=0).fit(X, constraints=c)
    assert model.violations_.n_broken >= 3  # two, two and two at best
    assert kind(1).fit(X, constraints=c).violations_.n_broken == 15


@every
def test_more_classes_than_components(kind, seed):
    X, y = data(seed)
    with pytest.raises(ValueError, match=r"(?s)class|label|cluster|component"):
        kind(2).fit(X, constraints=Constraints.from_labels(y))


@every
def test_more_components_than_there_can_be(kind, seed):
    X, _ = data(seed, n=9)
    chain = Constraints([(i, i + 1) for i in range(7)], n_items=9, hard=True)
    with pytest.raises(ValueError, match=r"n_components|clusters"):
        kind(3).fit(X, constraints=chain)  # two chunklets


# ---- data and parameters --------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights_init", [0.5, 0.5]),
        ("weights_init", [0.7, 0.7, -0.4]),
        ("weights_init", [0.5, 0.4, 0.3]),
        ("weights_init", [0.5, np.nan, 0.5]),
        ("means_init", np.zeros((2, 2))),
        ("means_init", np.zeros((3, 3))),
        ("means_init", np.full((3, 2), np.nan)),
        ("means_init", "zero"),
        ("precisions_init", np.ones((4, 2))),
        ("precisions_init", np.array([np.eye(2), np.eye(2), [[1.0, 2.0], [2.0, 1.0]]])),  # not definite
        ("precisions_init", np.array([np.eye(2), np.eye(2), [[1.0, 0.5], [0.0, 1.0]]])),  # not symmetric
    ],
)
def test_bad_starts_are_named(kind, name, value, seed):
    X, _ = data(seed)
    with pytest.raises(ValueError, match=name):
        kind(3, **{name: value}).fit(X)


@every
@pytest.mark.parametrize(
    ("kind_of", "value"),
    [
        ("tied", np.array([[1.0, 2.0], [2.0, 1.0]])),
        ("tied", np.eye(3)),
        ("diag", np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])),
        ("spherical", np.array([1.0, 1.0, 0.0])),
        ("spherical", np.ones(2)),
    ],
)
def test_bad_precisions_of_other_types(kind, kind_of, value, seed):
    X, _ = data(seed)
    with pytest.raises(ValueError, match="precisions_init"):
        kind(3, covariance_type=kind_of, precisions_init=value).fit(X)


# ---- what goes wrong inside -----------------------------------------------------------------------------


@unsettled
def test_a_singular_covariance_is_named(seed):
    """Three equal rows far off, and nothing added: the component that takes them has no width."""
    X, _ = data(seed)
    X = np.vstack([X, np.full((3, 2), 40.0)])
    start = np.array([[0.0, 0.0], [1.0, 1.0], [40.0, 40.0]])
    for kind_of in ("full", "diag", "spherical"):
        model = ConstrainedGaussianMixture(3, covariance_type=kind_of, reg_covar=0.0, means_init=start)
        with pytest.raises(ValueError, match=r"(?s)component 2.*reg_covar"):
            model.fit(X)
    held = ConstrainedGaussianMixture(3, covariance_type="full", means_init=start).fit(X)
    assert held.collapsed_.tolist() == [2]
    fine = ConstrainedGaussianMixture(3, means_init=start, covariance_prior=1.0, reg_covar=0.0).fit(X)
    assert fine.collapsed_.tolist() == []


def test_nothing_is_collapsed_in_good_data(seed):
    X, _ = data(seed)
    assert ConstrainedGaussianMixture(3, random_state=0).fit(X).collapsed_.tolist() == []


@unsettled
@every
def test_a_constant_feature(kind, seed):
    """It tells nothing: the others decide."""
    X, _ = data(seed)
    wider = np.column_stack([X, np.full(60, 7.0)])
    model = kind(3, random_state=0).fit(wider)
    assert np.isfinite(model.responsibilities_).all()
    assert np.isfinite(model.score_samples(wider)).all()
    assert len(np.unique(model.labels_)) == 3


@every
def test_all_rows_equal(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(2, random_state=0).fit(np.ones((10, 2)))
    assert np.isfinite(model.responsibilities_).all()


@every
def test_a_component_that_loses_all_weight(kind, seed):
    """It starts so far away that no item ever hears of it."""
    X, y = data(seed)
    start = np.array([[-1.0, 0.0], [1.0, 0.0], [1e8, 1e8]])
    c = Constraints.sample(y % 2, 10, random_state=0)
    more = {"annealing": False} if kind is MeanFieldMixture else {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = kind(3, means_init=start, n_init=1, **more).fit(X, constraints=c)
    for name in ("weights_", "means_", "covariances_", "responsibilities_", "precisions_cholesky_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert model.weights_.sum() == pytest.approx(1.0)
    assert (model.weights_ >= 0).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score_samples(X)).all()
    empty = model.responsibilities_.sum(axis=0).min() < 1e-3
    if empty:
        assert any(issubclass(w.category, ConvergenceWarning) for w in told) or len(model.collapsed_)


@every
def test_an_outlier_does_not_break_the_sums(kind, seed):
    X, y = data(seed)
    X[0] = 1e12
    c = Constraints.sample(y, 15, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(3, random_state=0).fit(X, constraints=c)
    assert np.isfinite(model.responsibilities_).all()
    np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1.0, rtol=1e-9)


@every
def test_one_component(kind, seed):
    X, _ = data(seed)
    c = Constraints([(0, 1)], n_items=60)
    model = kind(1).fit(X, constraints=c)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), atol=1e-9)
    assert model.labels_.tolist() == [0] * 60


# ---- wide graphs ----------------------------------------------------------------------------------------


@unsettled
@outvoted
@pytest.mark.parametrize("update", ["joint", "exact", "pseudo-likelihood"])
def test_a_dense_graph_of_cannot_links_ends_in_time(update, seed):
    X, y = blobs((seed, 2), 100, 5, 2, gap=2.0)
    rng = np.random.default_rng(seed)
    cannot = [(i, j) for i, j in combinations(range(60), 2) if y[i] != y[j] and rng.random() < 0.6]
    c = Constraints(cannot_link=cannot, n_items=100)
    started = time.process_time()
    model = ConstrainedGaussianMixture(5, weights_update=update, n_init=1, random_state=0).fit(
        X, constraints=c
    )
    assert time.process_time() - started < 20.0
    assert not model.violations_  # the labels obey those that inference ignored, too
    assert 0 < model.dropped_constraints_.n_pairs < len(cannot)
    assert "tree" in str(model.inference_)
    assert len(model.agreement_) == len(cannot)


@unsettled
@outvoted
@pytest.mark.parametrize("inference", ["auto", "mean-field", "gibbs"])
def test_a_large_soft_graph_ends_in_time(inference, seed):
    X, y = blobs((seed, 3), 2_000, 4, 2, gap=2.0)
    c = Constraints.sample(y, 8_000, noise=0.1, random_state=0)
    started = time.process_time()
    model = PenalizedGaussianMixture(
        4, confidence=0.9, inference=inference, n_sweeps=20, max_iter=10, n_init=1, random_state=0
    ).fit(X, constraints=c)
    assert time.process_time() - started < 20.0
    assert model.inference_.method != "exact"
    assert np.isfinite(model.responsibilities_).all()
    assert str(model.inference_).strip()


def test_exact_inference_refuses_what_it_cannot_do(seed):
    X, y = blobs((seed, 4), 200, 4, 2, gap=2.0)
    c = Constraints.sample(y, 2_000, noise=0.1, random_state=0)
    started = time.process_time()
    with pytest.raises(ValueError, match=r"(?s)exact.*mean-field|mean-field.*exact|max_table_cells"):
        PenalizedGaussianMixture(4, inference="exact", random_state=0).fit(X, constraints=c)
    assert time.process_time() - started < 20.0
