"""`HMRFKMeans` on text: sparse rows stay sparse, large components stay implicit, bad rows are named."""

import functools
import itertools
import math
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints
from coterie.kmeans import HMRFKMeans as DefaultHMRFKMeans
from coterie.kmeans._prices import closure as _closure_prices
from tests.marks import outvoted, unsettled
from tests.oracles import hmrf as oracle

pytestmark = [outvoted, unsettled]
# the paper's prices, and all that follows from the pairs, but where a test says otherwise
HMRFKMeans = functools.partial(DefaultHMRFKMeans, weight=1.0, closure="auto")


@pytest.fixture(autouse=True)
def by_sums(monkeypatch):
    """However few pairs follow, they are never written down: that is what closure=False does."""
    monkeypatch.setattr(_closure_prices, "FEW_PAIRS", 0)


METRICS = ["sqeuclidean", "cosine", "idivergence"]
KINDS = {
    "sqeuclidean": {"metric": "sqeuclidean"},
    "cosine": {"metric": "cosine"},
    "cosine fixed": {"metric": "cosine", "learn": "none"},
    "ascent": {"metric": "idivergence"},
    "idivergence fixed": {"metric": "idivergence", "learn": "none"},
}


def documents(seed, n=45, d=40, k=3, n_pairs=25):
    """Sparse rows of word shares; each topic has words of its own, and all share the rest."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = np.zeros((n, d))
    own = d // (2 * k)
    for i, h in enumerate(y):
        words = np.r_[rng.integers(h * own, (h + 1) * own, 6), rng.integers(k * own, d, 6)]
        np.add.at(X[i], words, 1.0)
    X /= X.sum(axis=1, keepdims=True)
    return X, y, Constraints.sample(y, n_pairs, noise=0.05, random_state=int(rng.integers(2**31)))


def wide_rows(seed, n=1000, d=200_000):
    """Rows of a few words out of very many: 1.6 GB as a dense array."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    words = np.c_[rng.integers(0, 30, (n, 6)) + 30 * y[:, None], rng.integers(90, d, (n, 4))]
    X = sparse.csr_array((np.ones(10 * n), (np.repeat(np.arange(n), 10), words.ravel())), (n, d))
    return X, y


def peak_of(fit) -> float:
    """The most memory, in bytes, that Python and NumPy took while fitting."""
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- sparse -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_sparse_equals_dense(name, seed):
    X, _, c = documents(seed)
    start = 0.9 * X[:3] + 0.1 / X.shape[1]
    for init, wrap in (("mixed", sparse.csr_matrix), (start, sparse.csr_array), (start, sparse.csc_array)):
        kind = {"init": init, "n_init": 1, "random_state": 0, **KINDS[name]}
        a = HMRFKMeans(3, **kind).fit(X, constraints=c)
        b = HMRFKMeans(3, **kind).fit(wrap(X), constraints=c)
        assert a.labels_.tolist() == b.labels_.tolist()
        np.testing.assert_allclose(a.metric_, b.metric_, rtol=1e-6)
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-8)
        assert a.predict(X).tolist() == b.predict(wrap(X)).tolist()


@pytest.mark.parametrize("name", KINDS)
def test_sparse_stays_sparse(name, seed):
    X, y = wide_rows(seed)
    c = Constraints.sample(y, 60, random_state=0)
    model = HMRFKMeans(3, n_init=1, max_iter=3, random_state=0, **KINDS[name])
    model.fit(X[:60, :300], constraints=c[np.arange(60)])  # compile first
    assert peak_of(lambda: model.fit(X, constraints=c)) < 250e6
    assert np.isfinite(model.metric_).all()
    assert np.isfinite(model.objective_)
    assert model.predict(X).shape == (1000,)


# ---- large components ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqeuclidean", "cosine", "cosine fixed"])
def test_the_closure_of_large_components_is_never_written_out(name, seed):
    """Three chains of 1,000 items kept apart entail 4.5 million pairs."""
    rng = np.random.default_rng(seed)
    n = 3000
    y = np.arange(n) % 3
    X = rng.random((n, 5)) + 2 * np.eye(5)[y]
    chains = [np.flatnonzero(y == h).tolist() for h in range(3)]
    must = [p for chain in chains for p in itertools.pairwise(chain)]
    c = Constraints(must, [(0, 1), (1, 2), (0, 2)], n_items=n)
    model = HMRFKMeans(3, n_init=1, max_iter=5, random_state=0, **KINDS[name])
    model.fit(X[:60], constraints=c[np.arange(60)])  # compile first
    assert peak_of(lambda: model.fit(X, constraints=c)) < 50e6
    assert not model.violations_
    assert adjusted_rand_score(y, model.labels_) == 1


def test_the_closure_of_large_components_of_a_divergence_is_drawn(seed):
    """It has no sums to do it with: of large components a part is written out, and not all of it."""
    X, y = wide_rows(seed, n=1500, d=400)
    chains = [np.flatnonzero(y == h).tolist() for h in range(3)]
    must = [p for chain in chains for p in itertools.pairwise(chain)]
    c = Constraints(must, [(0, 1), (1, 2), (0, 2)], n_items=1500)
    model = HMRFKMeans(3, metric="idivergence", n_init=1, max_iter=3, random_state=0)
    model.fit(X[:60], constraints=c[np.arange(60)])  # compile first
    assert peak_of(lambda: model.fit(X, constraints=c)) < 500e6
    assert not model.violations_
    assert adjusted_rand_score(y, model.labels_) == 1


# ---- text ---------------------------------------------------------------------------------------------

WORDS = {
    "space": "orbit launch moon rocket shuttle satellite lunar mission nasa probe",
    "ball": "pitcher inning baseball team season hit league player game runs",
    "faith": "god belief atheist religion church argument bible claim moral faith",
}
COMMON = "people think time know good year question point thing write"


def sentences(seed, n=60, n_words=12):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    pools = [words.split() for words in WORDS.values()]
    texts = [
        " ".join([*rng.choice(pools[h], n_words // 2), *rng.choice(COMMON.split(), n_words // 2)]) for h in y
    ]
    return texts, y


@pytest.mark.parametrize("metric", ["cosine", "idivergence"])
def test_topics_of_text_are_found(metric, seed):
    texts, y = sentences(seed)
    X = TfidfVectorizer().fit_transform(texts)
    if metric == "idivergence":
        X = sparse.csr_array(X.multiply(1 / X.sum(axis=1)))
    c = Constraints.sample(y, 40, random_state=0)
    model = HMRFKMeans(3, metric=metric, random_state=0).fit(X, constraints=c)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_weights_have_a_floor(seed):
    """A step far too long leaves every weight positive, and is counted."""
    X, _, c = documents(seed)
    model = HMRFKMeans(3, metric="cosine", step=1e3, backtrack=False, random_state=0).fit(X, constraints=c)
    assert (model.metric_ > 0).all()
    assert np.isfinite(model.objective_)
    assert model.regularized_ >= 0


def test_unit_prototypes_and_positive_prototypes(seed):
    X, _, c = documents(seed)
    unit = HMRFKMeans(3, metric="cosine", learn="none", random_state=0).fit(X, constraints=c)
    np.testing.assert_allclose(np.linalg.norm(unit.cluster_centers_, axis=1), 1.0)
    smooth = HMRFKMeans(3, metric="idivergence", random_state=0).fit(X, constraints=c)
    assert (smooth.cluster_centers_ > 0).all()
    # rows sum to one, and so does the uniform distribution that smooths them
    np.testing.assert_allclose(smooth.cluster_centers_.sum(axis=1), 1.0)


def test_two_disjoint_documents_are_farthest():
    """The bound of the divergence is met by documents without a common word: no price is left."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    c = Constraints(None, [(0, 1)], n_items=4)
    model = HMRFKMeans(1, metric="idivergence", learn="none").fit(X, constraints=c)
    assert model.violations_.n_broken == 1
    assert model.objective_parts_["cannot_link"] == pytest.approx(0.0, abs=1e-12)
    by_hand = math.fsum(
        oracle.to_prototype(x, model.cluster_centers_[0], np.ones(2), "idivergence") for x in X
    )
    assert model.objective_ == pytest.approx(by_hand)


WITH_A_BAR = """
import numpy as np
from sklearn.callback import ProgressBar
from coterie.kmeans import HMRFKMeans
model = HMRFKMeans(3, metric="cosine", n_init=3, max_iter=5, random_state=0)
model.set_callbacks(ProgressBar())
model.fit(np.random.default_rng(0).random((30, 5)))
"""


def test_a_progress_bar_comes_to_an_end():
    """Starts compete before weights are learned, which is one more: a bar must not wait for others."""
    pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITH_A_BAR], timeout=1800, capture_output=True
    )
    assert told.returncode == 0, told.stderr.decode()


# ---- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_negative_values_of_a_divergence_are_named(wrap):
    X = np.random.default_rng(0).random((6, 3)) + 0.1
    X[4, 1] = -0.25
    with pytest.raises(ValueError, match=r"idivergence.*row 4 of X has the value -0\.25"):
        HMRFKMeans(2, metric="idivergence").fit(wrap(X))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["cosine", "idivergence"])
def test_rows_of_zeros_are_named(metric, wrap):
    X = np.random.default_rng(0).random((6, 3)) + 0.1
    X[[2, 5]] = 0.0
    with pytest.raises(ValueError, match=r"row 2 and 1 more of X .* zeros"):
        HMRFKMeans(2, metric=metric).fit(wrap(X))
    HMRFKMeans(2, random_state=0).fit(wrap(X))


@pytest.mark.parametrize("metric", METRICS)
def test_bad_starts_are_named(metric):
    X = np.random.default_rng(0).random((6, 3)) + 0.1
    with pytest.raises(ValueError, match="init"):
        HMRFKMeans(2, metric=metric, init=np.ones((3, 3))).fit(X)


@pytest.mark.parametrize("metric", METRICS)
def test_one_cluster_and_as_many_as_items(metric, seed):
    X = np.random.default_rng(seed).random((6, 3)) + 0.1
    c = Constraints([(0, 1)], [(2, 3)], n_items=6)
    model = HMRFKMeans(1, metric=metric, random_state=0).fit(X, constraints=c)
    assert model.labels_.tolist() == [0] * 6
    assert model.violations_.n_broken == 1
    model = HMRFKMeans(6, metric=metric, random_state=0).fit(X, constraints=c)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.metric_).all()


@pytest.mark.parametrize("metric", METRICS)
def test_duplicates_and_constant_features(metric):
    """Metrics that would lose rank stay finite; NumPy's warnings are errors here."""
    X = np.repeat([[1.0, 2.0, 5.0, 1.0], [2.0, 1.0, 5.0, 3.0], [1.0, 1.0, 5.0, 9.0]], 5, axis=0)
    c = Constraints([(0, 1), (5, 6)], [(0, 2), (0, 5)], n_items=15)  # 0 and 2 are the same point
    model = HMRFKMeans(3, metric=metric, random_state=0).fit(X, constraints=c)
    assert np.isfinite(model.metric_).all()
    assert np.isfinite(model.objective_)
    if metric == "sqeuclidean":
        assert model.regularized_ > 0
