"""The emission "von-mises-fisher": densities of directions."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.special import ive
from scipy.stats import vonmises_fisher

from coterie import Constraints, COPKMeans, MeanFieldMixture
from coterie.mixture import VonMisesFisher
from coterie.mixture._emissions.von_mises_fisher import vmf_log_normalizer
from tests.marks import outvoted, unsettled

pytestmark = [outvoted, unsettled]
COLD = {"annealing": False, "random_state": 0}


def directions(seed, kappa=12.0, d=4, sizes=(40, 20, 20)):
    """Rows around the axes, of lengths that mean nothing."""
    rng = np.random.default_rng((seed, 5))
    drawn = [vonmises_fisher(np.eye(d)[h], kappa).rvs(n, random_state=rng) for h, n in enumerate(sizes)]
    X = np.concatenate(drawn) * rng.uniform(0.1, 10.0, size=(sum(sizes), 1))
    return X, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize(
    ("d", "kappa", "expected", "off"),
    [
        (3, 1.0, 2.69246360854, 1e-11),
        (10, 5.0, 4.38248757942, 1e-11),
        (1000, 500.0, -1919.04925367, 1e-8),
        (20000, 3000.0, -70429.1836219, 1e-6),
    ],
)
def test_the_normaliser(d, kappa, expected, off):
    assert vmf_log_normalizer(d, kappa) == pytest.approx(expected, abs=off)


def test_the_normaliser_where_the_bessel_function_underflows():
    assert ive(9999.0, 3000.0) == 0
    assert vmf_log_normalizer(3, 2.0) == pytest.approx(np.log(4 * np.pi * np.sinh(2.0) / 2.0))
    assert vmf_log_normalizer(2, 3.0) == pytest.approx(
        np.log(quad(lambda t: np.exp(3 * np.cos(t)), 0, 2 * np.pi)[0])
    )
    # both forms, on the two sides of where the first one ends
    for d in (1400, 1500, 2000):
        step = [vmf_log_normalizer(d, kappa) for kappa in np.linspace(100.0, 160.0, 61)]
        assert np.abs(np.diff(step, 2) - np.diff(step, 2).mean()).max() < 1e-4


def test_densities_and_the_m_step(seed):
    X, y = directions(seed)
    emission = VonMisesFisher(7.0)
    emission.begin(X, 3)
    means = np.random.default_rng(seed).normal(size=(3, 4))
    emission.set_means(means)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = np.column_stack([vonmises_fisher(mean, 7.0).logpdf(U) for mean in means])
    np.testing.assert_allclose(emission.log_prob(X), expected, rtol=1e-10)
    shares = np.eye(3)[y] * 0.8 + 0.1
    shares[:, 2] = 0.0
    emission.update(emission.statistics(X, shares))
    total = (shares.T @ U)[:2]
    np.testing.assert_allclose(emission.means[:2], total / np.linalg.norm(total, axis=1)[:, None])
    np.testing.assert_array_equal(emission.means[2], means[2])  # nothing there: it keeps its own


def test_finds_clusters_and_their_concentration(seed):
    X, y = directions(seed, kappa=20.0, d=5, sizes=(150, 100, 50))
    for annealing in (True, False):
        model = MeanFieldMixture(
            3, emission="von-mises-fisher", annealing=annealing, n_init=1, random_state=0
        )
        model.fit(X, constraints=Constraints.from_labels(np.where(np.arange(300) % 10 == 0, y, -1)))
        assert (model.labels_ == y).mean() > 0.97
        assert model.concentration_ == pytest.approx(20.0, rel=0.15)
        np.testing.assert_allclose(model.means_, np.eye(5)[:3], atol=0.15)
        assert np.diff(model.history_).max(initial=0.0) < 1e-9
    model.set_params(emission="gaussian").fit(X)
    assert not hasattr(model, "concentration_")


def test_only_directions_count_and_sparse_is_dense(seed):
    X, _ = directions(seed)
    lengths = np.random.default_rng(seed).uniform(0.5, 2.0, size=(len(X), 1))
    model = MeanFieldMixture(3, emission="von-mises-fisher", weights_update="balanced", random_state=0)
    expected = model.fit(X).responsibilities_
    np.testing.assert_allclose(model.fit(X * lengths).responsibilities_, expected, atol=1e-9)
    np.testing.assert_allclose(model.fit(sparse.csr_matrix(X)).responsibilities_, expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_matrix(X)), expected, atol=1e-9)
    np.testing.assert_allclose(model.fit(X.astype(np.float32)).responsibilities_, expected, atol=1e-4)


def test_sparse_rows_are_never_written_out(seed):
    X = sparse.random(400, 10_000, density=3e-3, format="csr", rng=np.random.default_rng(seed))
    model = MeanFieldMixture(2, emission="von-mises-fisher", max_iter=3, n_init=1, **COLD)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.3 * 8 * np.prod(X.shape)


def test_concentrated_is_spherical_kmeans(seed):
    X, _ = directions(seed, kappa=3.0)
    begin = X[[0, 45, 70]]
    plain = COPKMeans(3, init=begin, metric="cosine", n_init=1, max_iter=300, tol=0.0).fit(X)
    model = MeanFieldMixture(
        3,
        emission=VonMisesFisher(1e5),
        means_init=begin,
        weights_update="uniform",
        max_iter=300,
        tol=0.0,
        **COLD,
    ).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.means_, plain.cluster_centers_, atol=1e-3)


def test_draws_directions(seed):
    X, _ = directions(seed)
    model = MeanFieldMixture(3, emission="von-mises-fisher", n_init=1, **COLD).fit(X)
    drawn, component = model.sample(600)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0)
    for h in range(3):
        mean = drawn[component == h].mean(axis=0)
        assert mean @ model.means_[h] / np.linalg.norm(mean) > 0.97
    assert np.isfinite(model.bic(X))
    assert model.score(drawn) > model.score(np.random.default_rng(seed).normal(size=(600, 4)))


def test_opposite_rows_and_equal_rows():
    """No common direction; no spread at all; one item for each component."""
    for X in (np.array([[1.0, 0.0], [-1.0, 0.0]] * 5), np.ones((6, 3)), np.eye(4)):
        model = MeanFieldMixture(2, emission="von-mises-fisher", random_state=0).fit(X)
        assert np.isfinite(model.objective_)
        np.testing.assert_allclose(np.linalg.norm(model.means_, axis=1), 1.0)


def test_bad_input(seed):
    X, _ = directions(seed)
    model = MeanFieldMixture(3, emission="von-mises-fisher", n_init=1, **COLD).fit(X)
    X[[3, 7]] = 0.0
    for rows in (X, sparse.csr_matrix(X)):
        for call in (model.predict, model.fit):
            with pytest.raises(
                ValueError, match=r"row 3 and 1 more of X is all zeros: it has no direction; drop"
            ):
                call(rows)
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="concentration must be a finite number above 0"):
            VonMisesFisher(wrong)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_normaliser_beyond_the_reach_of_the_bessel_function(d):
    """Two directions, a circle and a sphere, so concentrated that its function gives up."""
    kappa = 1e11
    known = {1: 0.0, 2: 0.5 * np.log(2 * np.pi / kappa), 3: np.log(2 * np.pi / kappa)}[d]
    assert vmf_log_normalizer(d, kappa) - kappa == pytest.approx(known, abs=1e-3)
