"""Balanced k-means of a stream: the oracle's state, any split of the stream, what is forgotten, refusals."""

from copy import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from coterie import Constraints, OnlineBalancedKMeans
from coterie._compiled import kernels
from coterie.exceptions import UnsupportedConstraintError
from tests.oracles import frequency as oracle

METRICS = ["cosine", "sqeuclidean"]
RULES = {
    "all kept": {},
    "weak": {"gamma": 0.3},
    "winner forgets": {"memory": 30.0},
    "all forget": {"memory": 200.0, "decay": "all", "gamma": 0.5},
    "book": {"log_term": "book", "gamma": 0.5},
    "book, all forget": {"log_term": "book", "memory": 160.0, "decay": "all", "gamma": 0.7},
    "hardly a memory": {"memory": 1.01, "gamma": 0.1},
}


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Small data would be dealt with in Python; the lane without JIT does that."""
    monkeypatch.setattr(kernels, "_large", True)


def stream(seed, n=150, d=5):
    """Blobs around, with zeros, and some items twice among the first."""
    X, _ = make_blobs(n, centers=3 * np.eye(4, d) + 1, cluster_std=0.8, random_state=seed)
    X = np.round(np.maximum(X, 0.0), 3)
    X[:, 0] += 0.1  # no row is all zeros
    X[1] = X[0]
    return X


def state(model):
    return model.cluster_centers_, model.counts_, np.array([model.n_seen_])


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("metric", "rule"),
    [(metric, rule) for metric in METRICS for rule in RULES.values()]
    + [("sqeuclidean", {"log_term": "model"})],
)
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_centres_counts_and_labels_are_those_of_the_oracle(metric, rule, rows, seed):
    X = stream(seed)
    slow = oracle.Stream(3, metric == "cosine", **rule)
    labels = [slow.take(x) for x in X]
    model = OnlineBalancedKMeans(3, metric=metric, **rule).partial_fit(rows(X))
    assert model.labels_.tolist() == labels
    np.testing.assert_allclose(model.cluster_centers_, slow.centres, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.counts_, slow.counts, rtol=1e-9)
    assert model.n_seen_ == len(X)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_any_split_of_the_stream_gives_the_same(metric, rows, seed):
    """To the last bit, and though sparse centres are made anew every thousand items."""
    X = stream(seed, n=3000)
    rng = np.random.default_rng(seed)
    for rule in ({}, {"memory": 200.0, "decay": "all"}):
        whole = OnlineBalancedKMeans(2, metric=metric, **rule).partial_fit(rows(X))
        for cuts in ([1], [1, 2, 3], np.sort(rng.integers(1, len(X), size=5))):
            part = OnlineBalancedKMeans(2, metric=metric, **rule)
            labels = [part.partial_fit(rows(batch)).labels_ for batch in np.split(X, np.unique(cuts))]
            assert np.concatenate(labels).tolist() == whole.labels_.tolist()
            for mine, theirs in zip(state(part), state(whole), strict=True):
                np.testing.assert_array_equal(mine, theirs)
        if metric == "cosine":
            np.testing.assert_allclose(np.linalg.norm(whole.cluster_centers_, axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_a_count_remembers_its_length(metric):
    X = stream(0)
    model = OnlineBalancedKMeans(1, metric=metric, memory=100)
    seen = [model.partial_fit(x[None]).counts_[0] for x in X]
    np.testing.assert_allclose(seen[:3], [1, 1.99, 2.9701], rtol=1e-12)
    np.testing.assert_allclose(seen, 100 * (1 - 0.99 ** np.arange(1, len(X) + 1)), rtol=1e-12)


def test_without_forgetting_a_centre_is_the_mean_of_what_it_won():
    X = stream(1)
    for rows in (X, sparse.csr_array(X)):
        model = OnlineBalancedKMeans(3).partial_fit(rows)
        for h in range(3):
            won = X[model.labels_ == h]
            assert model.counts_[h] == len(won)
            np.testing.assert_allclose(model.cluster_centers_[h], won.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_where_all_forget_the_counts_add_up_to_the_memory(metric):
    X = np.tile(stream(2), (20, 1))
    model = OnlineBalancedKMeans(3, metric=metric, memory=150, decay="all").partial_fit(X)
    left = 1 - (1 - 1 / 150) ** len(X)
    assert model.counts_.sum() == pytest.approx(150 * left, rel=1e-12)


@pytest.mark.parametrize(("log_term", "winner"), [("none", 1), ("model", 0), ("book", 1)])
def test_the_sign_of_the_log_term(log_term, winner):
    """Counts 10 and 1, squared distances 1 and 5, ten features: 10 or 5, -13.03 or 5, 33.03 or 5."""
    a, x, b = np.zeros(10), np.eye(10)[0], np.eye(10)[0] + np.sqrt(5) * np.eye(10)[1]
    for rows in (np.asarray, sparse.csr_array):
        model = OnlineBalancedKMeans(2, log_term=log_term).partial_fit(rows(np.array([a] * 10 + [b])))
        assert model.counts_.tolist() == [10, 1]
        assert model.partial_fit(rows(x[None])).labels_.tolist() == [winner]


def test_the_unit_matters_with_a_log_term_alone():
    X = stream(3)

    def labels(factor, **rule):
        return OnlineBalancedKMeans(3, **rule).partial_fit(factor * X).labels_.tolist()

    assert labels(1.0) == labels(1024.0)
    assert labels(1.0, log_term="model") != labels(1024.0, log_term="model")
    assert labels(1.0, metric="cosine", log_term="book") == labels(1024.0, metric="cosine", log_term="book")


def test_far_from_the_origin_no_digit_is_lost(seed):
    X = np.round(stream(seed) * 1024) / 1024
    near, far = OnlineBalancedKMeans(3).partial_fit(X), OnlineBalancedKMeans(3).partial_fit(X + 2.0**20)
    assert near.labels_.tolist() == far.labels_.tolist()
    np.testing.assert_allclose(far.cluster_centers_ - 2.0**20, near.cluster_centers_, atol=1e-8)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_clusters_begin_with_the_first_different_items(metric, rows):
    model = OnlineBalancedKMeans(4, metric=metric)
    with pytest.raises(NotFittedError):
        model.predict(rows(np.ones((1, 2))))
    first = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0], [1.0, 2.0], [3.0, 1.0]])
    assert model.partial_fit(rows(first)).labels_.tolist() == [0, 0, 1, 0, 1]
    assert model.cluster_centers_.shape == model.transform(rows(first)).shape[1:] * 2 == (2, 2)
    assert model.predict(rows(first)).tolist() == [0, 0, 1, 0, 1]  # those without an item are left out
    assert model.partial_fit(rows(np.array([[1.0, 9.0]]))).labels_.tolist() == [2]
    assert model.counts_.tolist() == [3, 2, 1]


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_an_item_that_cancels_its_centre_leaves_it_where_it_is(rows):
    model = OnlineBalancedKMeans(1, metric="cosine").partial_fit(rows(np.array([[3.0, 4.0], [-6.0, -8.0]])))
    np.testing.assert_allclose(model.cluster_centers_, [[0.6, 0.8]], rtol=1e-12)
    assert model.counts_.tolist() == [2]


def test_a_batch_without_any_value_is_at_the_origin():
    X = stream(0)[:20]
    batches = [X, np.zeros((2, 5)), X]
    dense, kept = OnlineBalancedKMeans(3), OnlineBalancedKMeans(3)
    for batch in batches:
        assert (
            dense.partial_fit(batch).labels_.tolist()
            == kept.partial_fit(sparse.csr_array(batch)).labels_.tolist()
        )
    np.testing.assert_allclose(dense.cluster_centers_, kept.cluster_centers_)


@pytest.mark.parametrize("metric", METRICS)
def test_fit_balances_and_the_stream_goes_on(metric, seed):
    X, _ = make_blobs([200, 40, 40], centers=4 + 3 * np.eye(3), random_state=seed)
    model = OnlineBalancedKMeans(3, metric=metric, random_state=seed, max_iter=50).fit(X)
    plain = OnlineBalancedKMeans(3, metric=metric, gamma=0.0, random_state=seed).fit(X)
    assert model.sizes_.std() < plain.sizes_.std()
    assert model.n_seen_ == model.n_iter_ * len(X)
    assert model.history_[-1] == model.objective_
    assert np.bincount(model.labels_, minlength=3).tolist() == model.sizes_.tolist()
    again = model.n_seen_
    assert model.partial_fit(X[:10]).n_seen_ == again + 10
    model.fit(X)  # from a new start
    assert model.n_seen_ == model.n_iter_ * len(X)


@pytest.mark.parametrize("name", ["fit", "partial_fit"])
def test_too_short_a_memory_is_told_once(name):
    X = stream(0)
    short = OnlineBalancedKMeans(3, memory=100, decay="all")
    with pytest.warns(UserWarning, match=r"about 33.3 items, too few .* take memory=150 or more") as told:
        getattr(short, name)(X)
    short.partial_fit(X)  # nothing more: a warning would be an error
    assert len(told) == 1


def test_refusals():
    X = stream(0)
    for memory in (1, 0.5, 0, np.inf):
        with pytest.raises(
            ValueError, match="memory of OnlineBalancedKMeans must be None or a number above 1"
        ):
            OnlineBalancedKMeans(3, memory=memory).partial_fit(X)
    with pytest.raises(ValueError, match='log_term="model" needs metric="sqeuclidean"'):
        OnlineBalancedKMeans(3, metric="cosine", log_term="model").partial_fit(X)
    with pytest.raises(UnsupportedConstraintError, match="kind cannot-link; it takes none"):
        OnlineBalancedKMeans(3).fit(X, constraints=Constraints(None, [(0, 1)], n_items=len(X)))
    model = OnlineBalancedKMeans(3, metric="cosine").partial_fit(X)
    before = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match="row 4 and 1 more of X is all zeros: it has no direction"):
        model.partial_fit(np.where(np.arange(len(X))[:, None] // 2 == 2, 0.0, X))
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(X[:, :2])
    for changed, words in (
        ({"n_clusters": 4}, "4, but the stream began with 3"),
        ({"metric": "sqeuclidean"}, "'cosine'"),
        ({"gamma": 0.5}, "gamma=0.5, but the stream began with 1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            copy(model).set_params(**changed).partial_fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, before)  # nothing happened


def test_after_fit_a_batch_leaves_nothing_that_speaks_of_other_labels():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = OnlineBalancedKMeans(3, random_state=0).fit(X).partial_fit(X[:5])
    assert len(model.labels_) == 5
    assert model.n_seen_ % 40 == 5
    assert not hasattr(model, "sizes_")
    assert not hasattr(model, "history_")
