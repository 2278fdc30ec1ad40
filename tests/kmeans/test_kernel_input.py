"""`KernelPCKMeans`: where it starts, small and flat data, what it refuses and how."""

import contextlib
from unittest import SkipTest

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from coterie import Constraints, KernelPCKMeans
from coterie.distance._kernels import named_kernels as _kernels
from tests.kmeans.kernel_problems import GRAPHS, KERNELS
from tests.marks import outvoted, unsettled

# ---- starts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["components", "k-means++", "random"])
def test_blobs_are_found_from_every_start(init, seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 20)
    X = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])[y] + rng.normal(size=(60, 2))
    known = Constraints.sample(y, n_pairs=30, random_state=0)
    for name in ("rbf", "linear", "laplacian"):
        model = KernelPCKMeans(3, kernel=name, init=init, n_init=10, random_state=0).fit(X, constraints=known)
        assert adjusted_rand_score(model.labels_, y) == 1.0
        assert not model.violations_


def test_components_of_a_graph_are_found(seed):
    """Nine cliques without an edge between them, as nine, and as three clusters of whole cliques."""
    rng = np.random.default_rng(seed)
    A = sparse.csr_matrix(np.kron(np.eye(9), np.ones((6, 6))))
    order = rng.permutation(54)
    A, y = A[order][:, order], np.repeat(np.arange(9), 6)[order]
    for graph in GRAPHS:
        model = KernelPCKMeans(9, graph=graph, random_state=0).fit(A)
        assert adjusted_rand_score(model.labels_, y) == 1.0
    model = KernelPCKMeans(3, graph="normalized_cut", random_state=0).fit(A)
    assert model.objective_ == pytest.approx(0.0, abs=1e-12)


def test_more_components_than_clusters_in_a_graph(seed):
    """The farthest of many must-link components are the seeds, in steps or, of a dense graph, by affinity."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 30)
    A = (rng.random((90, 90)) < np.where(y[:, None] == y, 0.4, 0.01)).astype(float)
    A = np.maximum(A, A.T) + np.diag(np.ones(89), 1) + np.diag(np.ones(89), -1)
    known = Constraints([(i, i + 1) for i in range(0, 90, 2)], n_items=90)
    for given in (A, sparse.csr_matrix(A)):
        for graph in GRAPHS:
            model = KernelPCKMeans(3, graph=graph, random_state=0).fit(given, constraints=known)
            assert adjusted_rand_score(model.labels_, y) == 1.0
            assert not model.violations_


@outvoted
def test_rings_need_a_kernel_or_a_graph(seed):
    """Two rings: no linear method finds them, a graph of neighbours does."""
    from sklearn.datasets import make_circles
    from sklearn.neighbors import kneighbors_graph

    X, y = make_circles(300, factor=0.3, noise=0.04, random_state=seed % 2**31)
    A = kneighbors_graph(X, 10)
    A = A.maximum(A.T)
    known = Constraints.sample(y, n_pairs=20, random_state=0)
    model = KernelPCKMeans(2, graph="normalized_cut", random_state=0).fit(A, constraints=known)
    assert adjusted_rand_score(model.labels_, y) == 1.0
    linear = KernelPCKMeans(2, kernel="linear", random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(linear.labels_, y) < 0.5


# ---- edges and refusals -----------------------------------------------------------------------------------


@unsettled
@pytest.mark.parametrize("name", KERNELS)
def test_small_and_flat_data(name):
    for moves in ("single", "batch"):
        model = KernelPCKMeans(1, kernel=name, moves=moves)
        assert model.fit(np.ones((1, 2))).labels_.tolist() == [0]
        assert model.fit(np.arange(10.0).reshape(5, 2)).labels_.tolist() == [0] * 5
        for X in (np.ones((6, 2)), np.zeros((6, 2)), np.repeat([[0.0, 1.0], [5.0, 2.0]], 3, axis=0)):
            model = KernelPCKMeans(4, kernel=name, moves=moves, random_state=0).fit(X)
            assert len(set(model.labels_.tolist())) == 4
            assert model.objective_ == pytest.approx(0.0, abs=1e-9 * (1 + (X**2).sum()) ** 3)
        X = np.random.default_rng(0).normal(size=(5, 2))
        model = KernelPCKMeans(5, kernel=name, moves=moves, random_state=0).fit(X.astype(np.float32))
        assert sorted(model.labels_.tolist()) == list(range(5))


def test_an_asymmetric_kernel_is_named():
    K = np.eye(5)
    K[1, 3], K[3, 1] = 0.5, 0.25
    for given in (K, sparse.csr_matrix(K), K.astype(np.float32)):
        for settings in ({"kernel": "precomputed"}, {"graph": "ratio_cut"}):
            with pytest.raises(ValueError, match=r"symmetric; X\[1, 3\] is 0.5, but X\[3, 1\] is 0.25"):
                KernelPCKMeans(2, **settings).fit(given)
    nearly = np.eye(5)
    nearly[1, 3], nearly[3, 1] = 0.5, 0.5 + 1e-12
    assert KernelPCKMeans(2, kernel="precomputed").fit(nearly).converged_


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match=r"square, one row and one column an item; X has shape \(4, 3\)"):
        KernelPCKMeans(2, kernel="precomputed").fit(np.zeros((4, 3)))
    A = np.ones((4, 4))
    A[1, 2] = A[2, 1] = -0.5
    for given in (A, sparse.csr_matrix(A)):
        with pytest.raises(ValueError, match=r"must not be negative; X\[1, 2\] is -0.5"):
            KernelPCKMeans(2, graph="normalized_cut").fit(given)
    A = np.ones((4, 4))
    A[2] = A[:, 2] = 0.0
    with pytest.raises(ValueError, match="node 2 has no edges"):
        KernelPCKMeans(2, graph="normalized_cut").fit(A)
    assert KernelPCKMeans(2, graph="ratio_cut", random_state=0).fit(A).objective_ == 0.0
    with pytest.raises(ValueError, match=r"labels must be 4 whole numbers"):
        KernelPCKMeans(2, init=[0, 1]).fit(np.eye(4))
    with pytest.raises(ValueError, match=r"labels\[3\] is 7"):
        KernelPCKMeans(2, init=[0, 1, 0, 7]).fit(np.eye(4))
    monkeypatch.setattr(_kernels, "MAX_TABLE", 1_000)
    with pytest.raises(ValueError, match=r"'rbf' of 20 items is a table of 0.0 GB.*linear"):
        KernelPCKMeans(2).fit(np.eye(20))
    assert KernelPCKMeans(2, kernel="linear").fit(np.eye(20)).converged_


def test_a_graph_has_no_predict():
    model = KernelPCKMeans(2, graph="ratio_cut").fit(np.ones((4, 4)))
    for name in ("predict", "transform", "score"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="has no attribute 'predict'") as error:
        model.predict(np.ones((4, 4)))
    assert "have no means" in str(error.value.__cause__)
    given = KernelPCKMeans(2, kernel="precomputed").fit(np.eye(4))
    assert hasattr(given, "predict")
    assert not hasattr(given, "transform")


def test_a_large_group_stays_a_group(seed):
    """Soft labels of 3,000 items are four million pairs; they are kept as rows of counts."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=3000)
    X = rng.normal(size=(3000, 2)) + 8 * np.eye(3, 2)[y]
    known = Constraints.from_labels(y, weight=1.0)
    model = KernelPCKMeans(3, kernel="linear", n_init=1, random_state=0).fit(X, constraints=known)
    assert not model.violations_


@pytest.mark.contract
def test_scikit_learn_checks_of_a_given_kernel():
    for estimator, check in estimator_checks_generator(KernelPCKMeans(kernel="precomputed")):
        if check.func.__name__ == "check_clustering":
            continue  # hands over features without asking whether they are taken
        with contextlib.suppress(SkipTest):
            check(estimator)


def test_new_rows_may_be_sparse_where_the_first_were_not():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = KernelPCKMeans(3, kernel="rbf", random_state=0).fit(X)
    for form in (sparse.csr_matrix, sparse.csr_array):
        assert np.array_equal(model.predict(form(X)), model.labels_)
