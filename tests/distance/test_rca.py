"""RCA against the formulas, its limits (white chunklets, whole classes), and its traps."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

from coterie import RCA, Constraints
from coterie.distance._learned_distance import column_scale
from coterie.exceptions import ParameterError, UnsupportedConstraintError
from tests.oracles import distances as oracle

N, CHUNKLETS = 24, [[0, 5, 9], [1, 2], [7, 8, 10, 11], [20, 23], [14, 19]]
PAIRS = list(combinations(range(0, N, 2), 2))
LINKS = Constraints([(0, 5), (9, 5), (1, 2), (14, 19)], n_items=N)
LABELS = Constraints.from_labels(
    [{7: 0, 8: 0, 10: 0, 11: 0, 20: 1, 23: 1, 16: 2}.get(i, -1) for i in range(N)]
)
KNOWN = LINKS | LABELS


@pytest.fixture
def X(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=4)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0, "auto"])
def test_the_formula(X, shrinkage):
    model = RCA(shrinkage=shrinkage).fit(X, constraints=KNOWN)
    used = 4 / (4 + 13 - 5) if shrinkage == "auto" else shrinkage
    # the label of item 16 is its own, and teaches nothing
    assert (model.shrinkage_, model.n_chunklets_, model.n_used_) == (used, 5, 4 + 6)
    np.testing.assert_allclose(model.metric_, oracle.rca(X, CHUNKLETS, used), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.0, "auto"])
@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_n_components_keep_the_best_of_the_generalised_eigenvectors(X, shrinkage, n_components):
    full = RCA(shrinkage=shrinkage).fit(X, constraints=KNOWN)
    model = RCA(shrinkage=shrinkage, n_components=n_components).fit(X, constraints=KNOWN)
    assert model.components_.shape == (n_components, 4)
    expected = oracle.constrained_lda(X, full.metric_, n_components)
    np.testing.assert_allclose(model.metric_, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
    in_csr = RCA(shrinkage=shrinkage, n_components=n_components).fit(sparse.csr_array(X), constraints=KNOWN)
    np.testing.assert_allclose(in_csr.metric_, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


def test_transformed_chunklets_vary_by_one_in_every_direction(X):
    for n_components in (None, 2):
        Z = RCA(shrinkage=0.0, n_components=n_components).fit_transform(X, constraints=KNOWN)
        np.testing.assert_allclose(oracle.within_covariance(Z, CHUNKLETS), np.eye(Z.shape[1]), atol=1e-9)
        # white chunklets stay as they are
        again = RCA(shrinkage=0.0).fit(Z, constraints=KNOWN)
        np.testing.assert_allclose(again.components_, np.eye(Z.shape[1]), atol=1e-8)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_chunklets_that_are_the_classes_give_the_covariance_within_classes(load):
    X, y = load(return_X_y=True)
    within = sum(np.cov(X[y == k].T, bias=True) * (y == k).mean() for k in range(3))
    model = RCA(shrinkage=0.0).fit(X, constraints=y)
    np.testing.assert_allclose(model.metric_ @ within, np.eye(X.shape[1]), atol=1e-8)


@pytest.mark.parametrize("words", [{}, {"shrinkage": 0.0}, {"shrinkage": 0.5}, {"n_components": 2}])
def test_units_change_nothing(X, words):
    plain = RCA(**words).fit(X, constraints=KNOWN).pair_distances(X, PAIRS)
    other = X * [1e3, 1e-6, 1.0, 1e9]
    moved = RCA(**words).fit(other, constraints=KNOWN).pair_distances(other, PAIRS)
    np.testing.assert_allclose(moved, plain, rtol=1e-8)


def test_strengths_do_not_matter_but_a_weight_of_0_is_nothing(X):
    plain = RCA().fit(X, constraints=LINKS)
    assert plain.n_used_ == 4
    idle = Constraints([(3, 4)], n_items=N, weight=0.0)
    hard = Constraints(LINKS.must_link, n_items=N, hard=True)
    heavy = Constraints(LINKS.must_link, n_items=N, weight=7.0)
    for known in (LINKS | idle, hard, heavy):
        model = RCA().fit(X, constraints=known)
        assert model.n_used_ == 4
        np.testing.assert_array_equal(model.components_, plain.components_)
    for useless in (idle, Constraints.from_labels([0, 1, 2] + [-1] * (N - 3))):
        with pytest.raises(UnsupportedConstraintError, match="must-links, or labels that two items share"):
            RCA().fit(X, constraints=useless)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_deviations_of_columns_far_from_0_and_of_constant_ones(dtype):
    column = np.random.default_rng(0).normal(size=2000) + 1000
    rows = np.column_stack([column, np.full(2000, 0.1), np.full(2000, -1e6)]).astype(dtype)
    for given in (rows, sparse.csr_array(rows)):
        np.testing.assert_allclose(column_scale(given), [column.std(), 0, 0], rtol=1e-4, atol=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_constant_column_weighs_nothing(X, dtype):
    wide = np.insert(X, 1, 0.1, axis=1).astype(dtype)  # whose mean is not 0.1
    for words in ({}, {"shrinkage": 0.0}, {"n_components": 2}):
        model, bare = RCA(**words).fit(wide, constraints=KNOWN), RCA(**words).fit(X, constraints=KNOWN)
        assert not model.components_[:, 1].any()
        plain = bare.pair_distances(X, PAIRS)
        np.testing.assert_allclose(model.pair_distances(wide, PAIRS), plain, rtol=1e4 * np.finfo(dtype).eps)
        flat = RCA(**words).fit(np.full((N, 3), 0.1), constraints=KNOWN)
        assert flat.components_.shape == (words.get("n_components", 3), 3)
        assert not flat.metric_.any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_covariance_without_inverse_is_refused_by_shrinkage_0_alone(X, dtype):
    repeated = [np.column_stack([X + 10, (X[:, 0] + 10) * k / 10]).astype(dtype) for k in range(1, 20)]
    few = LINKS.drop(must_link=[(5, 9)])
    for rows, known in [(X.astype(dtype), few), *((rows, KNOWN) for rows in repeated)]:
        with pytest.raises(ParameterError, match=r"no inverse.*shrinkage above 0"):
            RCA(shrinkage=0.0).fit(rows, constraints=known)
        assert np.isfinite(RCA().fit(rows, constraints=known).metric_).all()


def test_too_many_features_are_refused_with_a_way_out():
    wide = sparse.random_array((N, 5_001), density=0.01, format="csr", rng=0)
    with pytest.raises(ValueError, match=r"5,001 features needs matrices of 0.2 GB.*TruncatedSVD"):
        RCA().fit(wide, constraints=KNOWN)
    with pytest.warns(UserWarning, match="told nothing"):
        plain = RCA().fit(wide)
    assert sparse.issparse(plain.transform(wide))
    assert not hasattr(plain, "metric_")
    with pytest.raises(ParameterError, match="n_components=3, but X has 2 features"):
        RCA(n_components=3).fit(np.eye(N)[:, :2], constraints=KNOWN)
