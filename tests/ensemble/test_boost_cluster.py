"""BoostCluster against its definitions, the worked numbers of the paper's formulas, and any kind of base."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import (
    DBSCAN,
    AffinityPropagation,
    AgglomerativeClustering,
    FeatureAgglomeration,
    KMeans,
    SpectralClustering,
)
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from coterie import BoostCluster, Constraints, KMedoids, MPCKMeans, SpectralLearning
from coterie.constraints._model import stated_pairs
from coterie.ensemble._boosting import BaseClusterer, Consensus, PairLoss, Scatter, Shares, find_final
from coterie.ensemble._boosting.held_out import folds_of, rounds_help
from coterie.exceptions import ParameterError, ViolatedConstraintsWarning
from coterie.testing._problems import same_partition
from tests.marks import outvoted
from tests.oracles import boosting as oracle

pytestmark = outvoted


class Says(ClusterMixin, BaseEstimator):
    """A base that gives labels of its own, whatever it sees."""

    def __init__(self, labels=(), n_clusters=3):
        self.labels = labels
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)
        return self


class Halves(ClusterMixin, BaseEstimator):
    """A base without chance: signs of the first columns, so that a flipped column only renumbers."""

    def __init__(self, n_clusters=4):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        signs = X[:, :2] > 0
        self.labels_ = signs @ np.array([1, 2])[: signs.shape[1]]
        return self


def unchecked(*args, **words):
    """Rounds as the paper makes them, whether they help or not."""
    return BoostCluster(*args, n_folds=0, **words)


def problem(seed, n=24, d=4, n_must=9, n_cannot=8, weighted=False):
    """Random rows, random pairs and their matrices."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    everybody = np.column_stack(np.triu_indices(n, 1))
    drawn = everybody[rng.choice(len(everybody), n_must + n_cannot, replace=False)]
    strength = rng.integers(1, 4, size=len(drawn)) if weighted else np.ones(len(drawn))
    must, cannot = drawn[:n_must], drawn[n_must:]
    known = Constraints(must, cannot, n_items=n, weight=strength)
    S = [
        oracle.similar(zip(drawn[a], strength[a], strict=True), n)
        for a in (slice(n_must), slice(n_must, None))
    ]
    return X, known, *S


def a_loss(known):
    return PairLoss(stated_pairs(known, hard=True))


def ratio(shares, weight):
    """The loss after a partition is added with this weight, by the loss before; (12)."""
    must = shares.must_apart + shares.must_together * np.exp(-weight)
    return must * (shares.cannot_apart + shares.cannot_together * np.exp(weight))


# ---- the loss and the weight of a round ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_loss_and_weights_are_those_of_all_pairs_of_pairs(seed):
    X, known, must, cannot = problem(seed, weighted=True)
    loss, K = a_loss(known), np.zeros(must.shape)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        assert np.exp(loss.value) == pytest.approx(oracle.loss(K, must, cannot) / 4, rel=1e-12)
        p, q = oracle.weights(K, must, cannot)
        T = np.zeros_like(K)
        T[np.ix_(loss.items, loss.items)] = loss.discrepancy().toarray()
        assert np.allclose(T, p - q, atol=1e-15)
        assert T.sum() == pytest.approx(0, abs=1e-15)
        assert np.abs(T).sum() == pytest.approx(2)
        labels, weight = rng.integers(-1, 3, size=len(X)), rng.uniform(0.1, 2)
        delta, shares = oracle.together(labels), loss.shares(labels)
        expected = oracle.shares(p, q, delta)
        assert [shares.must_apart, shares.must_together, shares.cannot_apart, shares.cannot_together] == (
            pytest.approx(expected)
        )
        assert shares.edge == pytest.approx((T * delta).sum())  # tau
        before = loss.value
        loss.add(labels, weight)
        K += weight * delta
        assert loss.value - before == pytest.approx(np.log(ratio(shares, weight)))  # (12)


def test_worked_numbers():
    shares = Shares(0.2, 0.8, 0.7, 0.3)
    assert shares.edge == pytest.approx(0.5)
    weight = shares.best_weight(0.0, 1.0)
    assert weight == pytest.approx(1.1168, abs=5e-5)
    assert shares.cautious_weight == pytest.approx(0.06758, abs=5e-6)
    assert ratio(shares, weight) == pytest.approx((0.14**0.5 + 0.24**0.5) ** 2)
    assert ratio(shares, weight) == pytest.approx(0.7466, abs=5e-5)
    assert shares.best_weight(0.01, 1.0) == pytest.approx(1.0486, abs=5e-5)
    assert np.exp(weight) == pytest.approx(3.055, abs=5e-4)


def test_worked_numbers_come_from_ten_pairs_of_each_kind():
    labels = np.zeros(40, dtype=int)
    must, cannot = np.arange(20).reshape(10, 2), np.arange(20, 40).reshape(10, 2)
    labels[must[8:, 1]], labels[cannot[3:, 1]] = 1, 1
    loss = a_loss(Constraints(must, cannot, n_items=40))
    shares = loss.shares(labels)
    assert (shares.must_apart, shares.cannot_together) == (pytest.approx(0.2), pytest.approx(0.3))
    assert loss.least_smoothing == pytest.approx(0.01)
    loss.add(labels, shares.best_weight(0.0, 1.0))
    again = loss.shares(labels)  # what AdaBoost has too: the same partition is worth nothing now
    assert again.must_together == pytest.approx(0.5670, abs=5e-5)
    assert again.edge == 0.0


@pytest.mark.parametrize(
    ("must_together", "cannot_together"), [(0.9, 0.1), (0.6, 0.5), (1.0, 0.4), (0.3, 0.0), (1.0, 0.0)]
)
def test_smoothed_weight_lies_below_the_exact_one_and_lowers_the_loss(must_together, cannot_together):
    shares = Shares(1 - must_together, must_together, 1 - cannot_together, cannot_together)
    weight = shares.best_weight(0.01, 0.01)
    assert weight > 0
    assert ratio(shares, weight) < 1
    good, bad = must_together * (1 - cannot_together), (1 - must_together) * cannot_together
    if bad > 0:
        assert weight < 0.5 * np.log(good / bad)
    else:
        assert shares.best_weight(0.0, 0.01) == weight  # smoothed only where it must be


@pytest.mark.parametrize("seed", range(20))
def test_what_breaks_no_pair_of_a_kind_has_a_share_of_0(seed):
    rng = np.random.default_rng(seed)
    known = Constraints(np.arange(20).reshape(10, 2), np.arange(20, 40).reshape(10, 2), n_items=40)
    loss = a_loss(known)
    for _ in range(3):  # weights that sum to 1 but for rounding
        loss.add(rng.integers(0, 2, size=40), rng.uniform(0.1, 2.0))
    shares = loss.shares(np.zeros(40, dtype=int))
    assert (shares.must_apart, shares.cannot_apart) == (0.0, 0.0)
    shares = loss.shares(np.concatenate([np.zeros(20, dtype=int), np.arange(20) % 10]))
    assert shares.must_apart == 0.0
    assert shares.best_weight(0.0, 0.01) == shares.best_weight(0.01, 0.01)  # or rounding would be the weight


@pytest.mark.parametrize("seed", range(20))
def test_bound_9_holds_and_its_least_is_the_cautious_weight(seed):
    X, known, must, cannot = problem(seed, n=12)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=len(X))
    loss = a_loss(known)
    shares = loss.shares(labels)
    alpha = np.linspace(-1.5, 1.5, 61)
    p, q = oracle.weights(np.zeros_like(must), must, cannot)
    _, B, _, D = oracle.shares(p, q, oracle.together(labels))
    bound = (np.exp(3 * alpha) + np.exp(-3 * alpha) + 1) / 3 - (1 - np.exp(-3 * alpha)) / 3 * (B - D)
    ratios = np.array([ratio(shares, one) for one in alpha])
    assert (ratios <= bound + 1e-12).all()
    assert bound[30] == pytest.approx(1.0)
    if shares.edge > 0:
        fine = np.linspace(0, 0.2, 20001)
        values = (np.exp(3 * fine) + np.exp(-3 * fine) + 1) / 3 - (1 - np.exp(-3 * fine)) / 3 * shares.edge
        assert shares.cautious_weight == pytest.approx(fine[values.argmin()], abs=1e-4)


# ---- directions ---------------------------------------------------------------------------------------


def forms_of(monkeypatch):
    """The three ways to the eigenvectors, by what may be written out."""
    limits = "coterie.ensemble._boosting.projection"
    for features, rows in ((500, 500), (0, 500), (0, 0)):
        with monkeypatch.context() as changed:
            changed.setattr(f"{limits}._MOST_FEATURES", features)
            changed.setattr(f"{limits}._MOST_ROWS", rows)
            yield


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("center", [True, False])
def test_every_form_finds_the_eigenvectors_of_all_pairs(monkeypatch, make, difference, center):
    X, known, must, cannot = problem(3, n=30, d=12, n_must=6, n_cannot=5)
    X[known.must_link[1]] = X[known.must_link[0]]  # equal rows: (17) of the paper has no solution there
    X = np.where(X > 0.5, X, 0.0)
    p, q = oracle.weights(np.zeros_like(must), must, cannot)
    M = oracle.scatter(X - center * X.mean(axis=0), p - q, difference)
    expected = oracle.directions(M, 3)
    loss = a_loss(known)
    for _ in forms_of(monkeypatch):
        scatter = Scatter(make(X), loss.items, center=center, difference=difference, spread=0.0)
        P = scatter.directions(loss.discrepancy(), 3)
        assert np.abs(P.T @ expected) == pytest.approx(np.abs(expected.T @ expected), abs=1e-8)
        assert (P.max(axis=0) >= -P.min(axis=0)).all()  # signs are no matter of rounding
        rows = X[loss.items] - center * X.mean(axis=0)
        inside = np.linalg.lstsq(rows.T, P, rcond=None)[0]
        assert np.allclose(rows.T @ inside, P, atol=1e-8)  # they are made of the rows that are named


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_one_kind_alone_stands_beside_all_ordered_pairs(monkeypatch, kind):
    X, known, must, cannot = problem(5, n=20, d=6)
    n = len(X)
    everybody = np.full((n, n), 1.0 / n**2)
    known = (
        Constraints(must_link=known.must_link, n_items=n)
        if kind == "must"
        else Constraints(cannot_link=known.cannot_link, n_items=n)
    )
    p, q = must / must.sum(), cannot / cannot.sum()
    T = p - everybody if kind == "must" else everybody - q
    loss, centred = a_loss(known), X - X.mean(axis=0)
    for difference in (False, True):
        expected = oracle.directions(oracle.scatter(centred, T, difference), 3)
        for make in (np.asarray, sparse.csr_matrix):
            for _ in forms_of(monkeypatch):
                scatter = Scatter(
                    make(X), loss.items, center=True, difference=difference, spread=-loss.missing
                )
                P = scatter.directions(loss.discrepancy(), 3)
                assert np.abs(P.T @ expected) == pytest.approx(np.abs(expected.T @ expected), abs=1e-8)
    labels = np.random.default_rng(0).integers(0, 3, size=n)
    shares, delta = loss.shares(labels), oracle.together(labels)
    share = shares.cannot_together if kind == "must" else shares.must_together
    assert share == pytest.approx((everybody * delta).sum())
    assert loss.least_smoothing == pytest.approx(1 / loss.n_pairs**2)


def test_many_features_are_not_written_out(monkeypatch):
    X = sparse.random(300, 2997, 0.01, format="csr", random_state=0)
    y = np.arange(300) % 3
    X = sparse.hstack([np.eye(3)[y], X], format="csr")
    for name in ("toarray", "todense"):
        monkeypatch.setattr(
            sparse.csr_matrix,
            name,
            lambda self, *a, **k: _small(self, np.asarray(self @ np.eye(self.shape[1]))),
        )
    known = Constraints.sample(y, n_pairs=200, random_state=0)
    model = BoostCluster(3, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert np.array_equal(model.predict(X), model.labels_)


def _small(matrix, dense):
    assert matrix.shape[0] < 300, "rows were made dense"
    return dense


# ---- the whole ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "words",
    [{}, {"smoothing": 0.0, "center": False}, {"smoothing": 0.1}, {"scatter": "difference"}],
    ids=["auto", "literal", "smoothed", "difference"],
)
@pytest.mark.filterwarnings("ignore:all rounds together")
def test_rounds_are_those_of_the_slow_version(seed, words):
    X, known, must, cannot = problem(seed, n=18, d=3, weighted=seed % 2 == 1)
    model = unchecked(4, estimator=Halves(), n_components=2, n_rounds=6, random_state=0, **words)
    model.fit(X, constraints=known)
    own = {name: words[name] for name in ("smoothing", "center") if name in words}
    rounds, K = oracle.boost(
        *(X, must, cannot, lambda rows: Halves().fit(rows).labels_),
        **{"n_components": 2, "n_rounds": 6, "difference": "scatter" in words, **own},
    )
    assert model.n_iter_ == len(rounds)
    for number, (labels, alpha, log_loss) in enumerate(rounds):
        assert same_partition(model.round_labels_[number], labels)
        assert model.round_weights_[number] == pytest.approx(alpha)
        assert model.history_[number + 1] == pytest.approx(log_loss)
    assert np.allclose(model.affinity(), K)
    assert np.allclose(model.affinity([3, 1]), K[np.ix_([3, 1], [3, 1])])
    assert (np.diff(model.history_) < 0).all()


def test_theorem_1_is_an_equality():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=100, noise=0.3, random_state=0)
    must, cannot = (
        oracle.similar(((pair, 1.0) for pair in pairs), len(y))
        for pairs in (known.must_link, known.cannot_link)
    )
    model = unchecked(3, smoothing=0.0, random_state=0).fit(X, constraints=known)
    assert model.n_iter_ > 1
    K, expected = np.zeros_like(must), np.log(must.sum() * cannot.sum() / 4)
    for labels, weight in zip(model.round_labels_, model.round_weights_, strict=True):
        A, B, C, D = oracle.shares(*oracle.weights(K, must, cannot), oracle.together(labels))
        assert A * D > 0
        expected += np.log1p(-((np.sqrt(A * D) - np.sqrt(B * C)) ** 2))  # (14)
        K += weight * oracle.together(labels)
    assert model.objective_ == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("scatter", ["gram", "difference"])
def test_what_does_not_matter(scatter):
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    model = unchecked(3, scatter=scatter, random_state=0).fit(X, constraints=known)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    for moved in (X @ turn, 7.0 * X, X + np.array([5.0, -3.0, 100.0, 0.0])):
        again = unchecked(3, scatter=scatter, random_state=0).fit(moved, constraints=known)
        assert same_partition(again.labels_, model.labels_)
        assert again.round_weights_ == pytest.approx(model.round_weights_)
    other = Constraints(known.must_link[::-1, ::-1], known.cannot_link[::-1, ::-1], n_items=len(y))
    again = unchecked(3, scatter=scatter, random_state=0).fit(X, constraints=other)
    assert np.array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("words", [{}, {"scatter": "difference", "center": False}])
def test_projected_rows_keep_their_place(words):
    """Turned rows have the same, c times as long ones c squared times; the origin matters to neither form."""
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]

    def similar(rows):
        model = unchecked(3, n_rounds=1, random_state=0, **words).fit(rows, constraints=known)
        found = (rows - rows.mean(axis=0)) @ model.projections_[0]
        return found @ found.T

    expected = similar(X)
    for moved, size in ((X @ turn, 1.0), (3.0 * X, 81.0), (X + np.array([5.0, -3.0, 100.0, 0.0]), 1.0)):
        assert similar(moved) == pytest.approx(size * expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())


def test_more_columns_than_clusters_hardly_matter():
    X, y = load_breast_cancer(return_X_y=True)
    known = Constraints.sample(y, n_pairs=400, how="balanced", random_state=0)
    scores = [
        normalized_mutual_info_score(
            y, unchecked(2, n_components=n, random_state=0).fit_predict(scale(X), constraints=known)
        )
        for n in (1, 3, 10)
    ]
    assert max(scores) - min(scores) < 0.02
    assert min(scores) > 0.6


def test_repeated_pairs_change_the_smoothing_alone():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.2, random_state=0)
    thrice = Constraints(np.tile(known.must_link, (3, 1)), np.tile(known.cannot_link, (3, 1)), n_items=len(y))
    for smoothing in (0.0, 0.01):
        one, two = (
            unchecked(3, smoothing=smoothing, random_state=0).fit(X, constraints=c) for c in (known, thrice)
        )
        assert same_partition(one.labels_, two.labels_)
        assert one.round_weights_ == pytest.approx(two.round_weights_)


def test_kmeans_on_rows_is_kernel_kmeans():
    rng = np.random.default_rng(0)
    consensus, K = Consensus(30), np.zeros((30, 30))
    for weight in (0.5, 1.5, 0.2):
        labels = rng.integers(-1, 3, size=30).astype(np.int32)
        consensus.add(labels, weight)
        K += weight * oracle.together(labels)
    H = consensus.rows(consensus.partitions).toarray()
    assert np.allclose(H @ H.T, K)
    assert np.allclose(consensus.group_rows().toarray()[consensus.group], H)
    labels = rng.integers(0, 4, size=30)
    by_rows = sum(((H[labels == c] - H[labels == c].mean(axis=0)) ** 2).sum() for c in range(4))
    by_kernel = np.trace(K) - sum(
        K[np.ix_(labels == c, labels == c)].sum() / (labels == c).sum() for c in range(4)
    )
    assert by_rows == pytest.approx(by_kernel)
    values = np.linalg.eigvalsh(K)[::-1][:3]
    embedded = (consensus.group_rows() @ consensus.directions(3))[consensus.group]
    assert (embedded**2).sum(axis=0) == pytest.approx(values)
    whole = (consensus.group_rows() @ consensus.directions())[consensus.group]
    assert np.allclose(whole @ whole.T, K)


def test_of_many_rows_kmeans_begins_where_it_ends_on_some(monkeypatch):
    rng = np.random.default_rng(0)
    y, consensus = np.repeat([0, 1, 2], 100), Consensus(300)
    for weight in rng.uniform(0.1, 1.0, size=12):
        consensus.add(np.where(rng.random(300) < 0.2, rng.integers(3, size=300), y).astype(np.int32), weight)
    assert consensus.n_groups > 60
    H, squares = consensus.rows(consensus.partitions).toarray(), []
    for many in (20_000, 60):
        monkeypatch.setattr("coterie.ensemble._boosting.consensus._MANY_ROWS", many)
        labels, last = find_final(consensus, BaseClusterer("k-means", 3, np.random.RandomState(0)), None)
        assert adjusted_rand_score(y, labels) > 0.9
        assert (last.predict(consensus.rows(consensus.partitions)) == labels).all()
        means = np.array([H[labels == c].mean(axis=0) for c in range(3)])
        squares.append(((H - means[labels]) ** 2).sum())
    assert squares[1] == pytest.approx(squares[0], rel=0.02)


def test_bases_that_are_kept_have_their_labels_where_the_kernel_has_them():
    X, y = load_iris(return_X_y=True)
    model = unchecked(3, random_state=0).fit(X, constraints=Constraints.sample(y, n_pairs=60, random_state=0))
    assert model.n_iter_ > 1
    for (_, base), own in zip(model._predictor.ways, model._consensus.partitions, strict=True):
        assert base.labels_ is own
        assert own.itemsize == 1


def test_one_round_gives_its_partition():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.2, random_state=0)
    for final in ("kernel", "embedding", "select"):
        model = unchecked(3, n_rounds=1, final=final, random_state=0).fit(X, constraints=known)
        assert model.stop_reason_ == "max_rounds"
        assert not model.converged_
        assert same_partition(model.labels_, model.round_labels_[0])


def test_a_base_that_knows_the_truth_ends_it():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, random_state=0)
    model = BoostCluster(estimator=Says(y)).fit(X, constraints=known)
    assert (model.stop_reason_, model.n_iter_, model.converged_) == ("all_satisfied", 0, True)
    assert same_partition(model.labels_, y)
    assert not model.violations_


@pytest.mark.parametrize(
    "labels", [np.zeros(150, int), np.arange(150), np.full(150, -1)], ids=["one", "singletons", "noise"]
)
def test_a_base_that_tells_nothing_is_told_of(labels):
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, random_state=0)
    with pytest.warns(ViolatedConstraintsWarning, match="No round was made: no partition that"):
        model = unchecked(estimator=Says(labels)).fit(X, constraints=known)
    assert (model.stop_reason_, model.n_iter_) == ("no_edge", 0)
    assert np.array_equal(model.labels_, labels)
    assert np.array_equal(model.affinity([0, 1]), np.zeros((2, 2)))
    model._consensus.group = np.zeros(1_000_000, dtype=np.int64)
    with pytest.raises(ValueError, match="Ask for some items"):  # of zeros, too
        model.affinity()


def test_sparse_rows_go_to_a_base_that_takes_none():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, random_state=0)
    dense, rows = (
        unchecked(3, estimator="ward", random_state=0).fit(make(X), constraints=known)
        for make in (np.asarray, sparse.csr_matrix)
    )
    assert same_partition(dense.labels_, rows.labels_)
    known = Constraints(must_link=[(0, 100)], cannot_link=[(0, 1)], n_items=150)
    with pytest.raises(ValueError, match="AgglomerativeClustering takes no sparse rows"):
        unchecked(3, estimator="ward", random_state=0).fit(sparse.csr_matrix(X), constraints=known)


def test_no_direction_is_told_of():
    X = np.repeat([[0.0, 0.0], [1.0, 2.0], [5.0, 1.0]], 10, axis=0)
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(4, 5)], n_items=30)
    with pytest.warns(ViolatedConstraintsWarning, match="no direction of X tells"):
        model = unchecked(3, center=False, random_state=0).fit(X, constraints=known)
    assert model.stop_reason_ == "no_positive_eigenvalue"
    assert same_partition(model.labels_, np.repeat([0, 1, 2], 10))


def test_without_constraints_it_is_the_base():
    X = load_iris().data
    base = KMeans(3, n_init=2, random_state=5)
    model = BoostCluster(estimator=base).fit(X)
    assert (model.stop_reason_, model.n_iter_, model.objective_) == ("no_constraints", 0, 0.0)
    assert np.array_equal(model.labels_, base.fit_predict(X))
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.labels_.max() == 2
    assert BoostCluster(5, estimator=base).fit(X).labels_.max() == 4
    assert base.n_clusters == 3


# ---- bases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        None,
        "ward",
        "single",
        "spectral",
        GaussianMixture(3, n_init=2),
        SpectralClustering(3),
        AgglomerativeClustering(3, linkage="average"),
        MPCKMeans(3),
        DBSCAN(eps=0.6),
    ],
    ids=lambda base: base if isinstance(base, str) else type(base).__name__,
)
@pytest.mark.parametrize("final", ["kernel", "embedding", "select"])
def test_any_base(base, final):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    known = Constraints.sample(y, n_pairs=100, random_state=0)
    k = None if isinstance(base, BaseEstimator) else 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = unchecked(k, estimator=base, final=final, random_state=0).fit(X, constraints=known)
        if base is None or hasattr(base, "predict"):
            assert (model.predict(X) == model.labels_).mean() > 0.95
            assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        else:
            assert not hasattr(model, "predict")
    if base != "single" and not isinstance(base, DBSCAN):
        assert adjusted_rand_score(y, model.labels_) > 0.6
    assert model.round_labels_.shape == (model.n_iter_, 150)
    assert len(model.projections_) == model.n_iter_


@pytest.mark.parametrize("unit", [1e100, 1e-100])
def test_rows_whose_squares_of_squares_have_no_room_are_refused(unit):
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 50)
    X, known = rng.normal(size=(100, 3)) + y[:, None], Constraints.sample(y, 30, random_state=0)
    with pytest.raises(ValueError, match=r"rows of length 4e[+-]100: .* scale X"):
        BoostCluster(2, random_state=0).fit(X * unit, constraints=known)


def test_the_way_out_of_a_large_table_is_one(monkeypatch):
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    monkeypatch.setattr("coterie.distance._kernels.named_kernels.MAX_TABLE", 8.0 * 149**2)
    base = SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=60)
    for final in ("kernel", "select"):
        with pytest.raises(ValueError, match=r'150 items.*final="embedding" needs no such table'):
            unchecked(estimator=base, final=final, random_state=0).fit(X, constraints=known)
    assert unchecked(estimator=base, final="embedding", random_state=0).fit(X, constraints=known).n_iter_ > 0


def test_a_base_that_finds_its_clusters_has_the_majority():
    X, y = load_iris(return_X_y=True)
    noisy = y.copy()
    noisy[::10] = -1
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    base = Says(noisy, n_clusters=None)
    model = unchecked(estimator=base, n_rounds=3).fit(X, constraints=known)
    assert (model.labels_[::10] == -1).all()
    assert same_partition(model.labels_[noisy >= 0], y[noisy >= 0])


@pytest.mark.filterwarnings("ignore:Affinity propagation did not converge")
def test_a_base_that_takes_no_number_does_not_choose_it_at_the_end():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    base = AffinityPropagation()
    for k in (2, 3):
        model = unchecked(k, estimator=base, random_state=0).fit(X, constraints=known)
        assert model.n_iter_ > 0
        assert len(np.unique(model.labels_)) == k


@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
def test_the_majority_is_more_than_half(monkeypatch, chunk):
    monkeypatch.setattr("coterie.ensemble._boosting.consensus._CHUNK", chunk)
    base = BaseClusterer(DBSCAN(), None, None)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        consensus, K = Consensus(25), np.zeros((25, 25))
        for weight in (0.3, 0.3) if seed % 2 else rng.uniform(0.1, 1.0, size=4):
            labels = rng.integers(-1, 5, size=25).astype(np.int32)
            consensus.add(labels, weight)
            K += weight * oracle.together(labels)
        found = find_final(consensus, base, None)[0]
        graph = 0.5 * sum(consensus.weights) + 1e-12 < K
        expected = connected_components(sparse.csr_array(graph), directed=False)[1]
        inside = graph.diagonal()  # the others are in no cluster most of the time
        assert (found[~inside] == -1).all()
        assert np.array_equal(np.unique(found[inside]), np.arange(found.max() + 1))
        assert same_partition(found[inside], expected[inside])


def test_errors_of_the_base_say_where():
    class Fails(Says):
        def fit(self, X, y=None):
            if X.shape[1] < 4:
                raise FloatingPointError("too near")
            self.labels_ = np.zeros(150, int)
            return self

    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, random_state=0)
    with pytest.raises(FloatingPointError, match="too near") as caught:
        unchecked(estimator=Fails()).fit(X, constraints=known)
    assert caught.value.__notes__ == ["Fails raised this on the rows of round 1 (150 x 3)."]
    with pytest.raises(ValueError, match=r"Says gave labels of shape \(3,\) and type int64 for 150 rows"):
        unchecked(estimator=Says([0, 1, 2])).fit(X, constraints=known)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("final", ["kernel", "embedding", "select"])
def test_clusters_that_only_new_rows_have_are_none(alone, final):
    class Strips(Halves):
        def predict(self, X):
            return np.where(np.abs(X[:, 0]) > 1000, 9, self.fit(X).labels_)

    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=0 if alone else 60, random_state=0)
    model = unchecked(4, estimator=Strips(), final=final, n_rounds=2, random_state=0).fit(
        X, constraints=known
    )
    assert model.n_iter_ == (0 if alone else 2)
    far = np.full((1, 4), 1e7)
    rounds = [(far, model._predictor)] if alone else [(far, m) for _, m in model._predictor.ways]
    assert all(m.predict(rows)[0] == 9 for rows, m in rounds)
    assert np.array_equal(model.predict(X), model.labels_)
    if alone or model._predictor.last is None:
        assert model.predict(far).tolist() == [-1]
    else:  # a row of zeros, which the end may put anywhere
        assert model._consensus.rows([[9], [9]]).nnz == 0
        assert model.predict(far)[0] in model.labels_


@pytest.mark.parametrize("final", ["kernel", "embedding", "select"])
def test_of_a_pipeline_the_last_step_tells_the_number_and_all_steps_get_a_seed(final):
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    base = make_pipeline(PCA(1, svd_solver="randomized"), make_pipeline(StandardScaler(), KMeans(3)))
    model, again, four = (
        unchecked(k, estimator=base, final=final, random_state=0).fit(X, constraints=known)
        for k in (None, None, 4)
    )
    assert model.n_iter_ > 1
    assert len(np.unique(model.labels_)) == 3
    assert np.array_equal(model.round_labels_, again.round_labels_)
    assert np.array_equal(model.predict(X), model.labels_)
    assert (four.round_labels_.max(axis=1) == 3).all()
    assert base[-1][-1].n_clusters == 3
    seeds = [one.get_params() for _, one in model._predictor.ways] if final != "select" else []
    assert all(one["pca__random_state"] is not None for one in seeds)
    assert len({one["pipeline__kmeans__random_state"] for one in seeds}) == len(seeds)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (LogisticRegression(), "estimator must be a clusterer, and LogisticRegression has no fit_predict"),
        (FeatureAgglomeration(), "and FeatureAgglomeration has no fit_predict"),
        (make_pipeline(StandardScaler()), "and Pipeline has no fit_predict"),
        (SpectralClustering(2, affinity="precomputed"), "SpectralClustering of similarities or distances"),
        (KMedoids(2, metric="precomputed"), "estimator is a KMedoids of similarities or distances"),
    ],
)
def test_what_cannot_be_run_on_rows_is_refused(base, message):
    for kind in (BoostCluster, SpectralLearning):
        with pytest.raises(ParameterError, match=message) as caught:
            kind(2, estimator=base).fit(np.eye(4))
        assert caught.value.parameters == ("estimator",)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_units_do_not_matter_in_single_precision(unit, make):
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    model, other = (
        unchecked(3, random_state=0).fit(make((size * X).astype(np.float32)), constraints=known)
        for size in (1.0, unit)
    )
    assert model.n_iter_ == other.n_iter_ > 1
    assert np.array_equal(model.labels_, other.labels_)
    assert np.array_equal(other.predict(make((unit * X).astype(np.float32))), other.labels_)


def test_retries_have_other_seeds():
    class Lucky(ClusterMixin, BaseEstimator):
        def __init__(self, random_state=None, n_clusters=3):
            self.random_state = random_state
            self.n_clusters = n_clusters

        def fit(self, X, y=None):
            seen.append(self.random_state)
            self.labels_ = np.zeros(150, int) if len(seen) < 3 else truth
            return self

    X, truth = load_iris(return_X_y=True)
    known, seen = Constraints.sample(truth, n_pairs=60, random_state=0), []
    model = unchecked(estimator=Lucky(), n_retries=2, random_state=0).fit(X, constraints=known)
    assert len(set(seen)) == 3
    assert model.stop_reason_ == "all_satisfied"


def test_few_groups_are_told_of():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, noise=0.1, random_state=0)
    with pytest.warns(UserWarning, match="tell 3 groups of items apart, fewer than n_clusters=5"):
        model = unchecked(5, estimator=Says(y)).fit(X, constraints=known)
    assert same_partition(model.labels_, y)


def test_wrong_parameters_and_order():
    with pytest.raises(ParameterError, match="estimator"):
        BoostCluster(estimator="kmeans").fit(np.eye(3))
    with pytest.raises(NotFittedError):
        BoostCluster().predict(np.eye(3))
    assert hasattr(BoostCluster(), "predict")
    assert not hasattr(BoostCluster(estimator="ward"), "predict")


# ---- pairs held out -----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [False, True])
def test_rounds_that_help_are_those_without_the_check(labels):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    known = (
        Constraints.from_labels(np.where(np.arange(150) % 5, -1, y))
        if labels
        else Constraints.sample(y, n_pairs=100, random_state=0)
    )
    model, paper = (made(3, random_state=0).fit(X, constraints=known) for made in (BoostCluster, unchecked))
    assert model.n_iter_ > 0
    assert np.array_equal(model.labels_, paper.labels_)
    assert np.array_equal(model.round_weights_, paper.round_weights_)


def test_rounds_that_do_not_help_are_not_made():
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(np.random.default_rng(1).permutation(y), n_pairs=100, random_state=1)
    with pytest.warns(ViolatedConstraintsWarning, match="rounds broke no less of the pairs that were held"):
        model = BoostCluster(3, random_state=0).fit(X, constraints=known)
    assert (model.stop_reason_, model.n_iter_, model.converged_) == ("no_gain", 0, True)
    assert model.round_labels_.shape == (0, 150)
    assert same_partition(model.labels_, KMeans(3, n_init=4, random_state=0).fit_predict(X))
    assert unchecked(3, random_state=0).fit(X, constraints=known).n_iter_ > 0


@pytest.mark.parametrize("seed", range(20))
def test_folds_hide_items_with_all_their_pairs(seed):
    _, known, _, _ = problem(seed, n_must=5 + seed, n_cannot=seed % 7)
    pairs = stated_pairs(known, hard=True)
    hidden = []
    for mask in folds_of(pairs, 4, seed):
        kept, held = pairs.take(~mask), pairs.take(mask)
        both = np.concatenate([np.column_stack([one.ij, one.cannot, one.strength]) for one in (kept, held)])
        whole = np.column_stack([pairs.ij, pairs.cannot, pairs.strength])
        assert np.array_equal(both[np.lexsort(both.T)], whole[np.lexsort(whole.T)])
        named = np.setdiff1d(pairs.ij, kept.ij)
        assert (np.isin(held.ij, named).any(axis=1)).all()
        hidden.append(held)
    everything = np.concatenate([held.ij for held in hidden])
    assert {tuple(pair) for pair in everything.tolist()} == {tuple(pair) for pair in pairs.ij.tolist()}


def test_pairs_that_do_not_touch_are_held_out_once():
    known = Constraints(np.arange(40).reshape(20, 2), np.arange(40, 80).reshape(20, 2), n_items=80)
    pairs = stated_pairs(known, hard=True)
    held = [pairs.ij[mask] for mask in folds_of(pairs, 5, 0)]
    assert [len(ij) for ij in held] == [8] * 5
    assert len(np.unique(np.concatenate(held))) == 80
    assert len(list(folds_of(stated_pairs(known, hard=True), 1000, 0))) == 80


@pytest.mark.parametrize(
    ("n_mended", "n_spoilt", "helps"),
    [(1, 0, False), (2, 0, True), (4, 2, True), (3, 2, False), (2, 2, False)],
)
def test_one_pair_does_not_decide_whether_rounds_help(n_mended, n_spoilt, helps):
    must, cannot = np.arange(20).reshape(10, 2), np.arange(20, 40).reshape(10, 2)
    pairs = stated_pairs(Constraints(must, cannot, n_items=40, weight=0.5), hard=True)
    alone, found = np.arange(40), np.arange(40)
    found[must[:n_mended, 1]] = must[:n_mended, 0]
    found[cannot[:n_spoilt, 1]] = cannot[:n_spoilt, 0]
    assert rounds_help(pairs, 5, alone, lambda loss: found, 0) is helps


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_what_is_broken_of_one_kind_alone_counts_all_ordered_pairs(kind):
    ij = [(0, 1), (2, 3)]
    known = (
        Constraints(must_link=ij, n_items=6, weight=3.0)
        if kind == "must"
        else Constraints(cannot_link=ij, n_items=6, weight=3.0)
    )
    loss = a_loss(known)
    labels = np.array([0, 0, 0, 1, 1, 1])
    together = oracle.together(labels).mean()
    expected = 3.0 + 6.0 * (together if kind == "must" else 1.0 - together)
    assert loss.strength_broken(labels, loss.missing) == pytest.approx(expected)
    assert loss.strength_broken(labels, 0.0) == pytest.approx(3.0)


def test_boosting_gains_and_noise_does_little_harm():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    plain = adjusted_rand_score(y, KMeans(2, n_init=4, random_state=0).fit_predict(X))
    for noise in (0.0, 0.2):
        known = Constraints.sample(y, n_pairs=400, noise=noise, random_state=0)
        model = BoostCluster(2, final="select", random_state=0).fit(X, constraints=known)
        assert adjusted_rand_score(y, model.labels_) > plain + 0.05
