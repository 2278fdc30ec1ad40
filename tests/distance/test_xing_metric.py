"""XingMetric: closed forms, optimality, equivariance, units, groups, and must-links that say too little."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from coterie import Constraints, XingMetric
from coterie.exceptions import ParameterError, UnsupportedConstraintError
from tests.marks import few_of
from tests.oracles import xing

BOTH = pytest.mark.parametrize("diagonal", [True, False])


def problem(seed, n=30, d=3, m=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X = X / X.std(axis=0)  # columns of deviation 1, so that the ridge is that of the oracle
    ij = rng.permutation([(i, j) for i in range(n) for j in range(i)])[: 2 * m]
    return X, ij[:m], ij[m:]


def differences(X, near, far):
    return [X[i] - X[j] for i, j in near], [X[i] - X[j] for i, j in far]


def spread(X, near):
    return sum(np.outer(X[i] - X[j], X[i] - X[j]) for i, j in near)


def known_of(near, far, n):
    return Constraints(must_link=near, cannot_link=far, n_items=n)


@few_of(2, 20)
@BOTH
def test_nothing_is_better(numbers, diagonal, seed):
    for number in numbers:
        X, near, far = problem([seed, number])
        ridge = 0.0 if number % 2 else 1e-3
        model = XingMetric(diagonal=diagonal, ridge=ridge).fit(X, constraints=known_of(near, far, len(X)))
        best = (xing.best_diagonal if diagonal else xing.best_full)(*differences(X, near, far), ridge)
        assert model.objective_ <= best + 1e-7
        found = xing.objective(model.metric_, *differences(X, near, far), ridge)
        assert found == pytest.approx(model.objective_, abs=1e-9)
        assert model.converged_
        if not ridge:
            assert (spread(X, near) * model.metric_).sum() == pytest.approx(0.5, abs=1e-9)  # E1


def test_one_cannot_link():
    """E2 and E3: all weight on the feature that parts it best; a matrix of rank 1."""
    X, near, _ = problem(1)
    S, away = spread(X, near), X[0] - X[1]
    known = known_of(near, [(0, 1)], len(X))
    diagonal = XingMetric(ridge=0.0).fit(X, constraints=known)
    best = np.argmax(away**2 / np.diag(S))
    wanted = np.zeros(3)
    wanted[best] = 1 / (2 * S[best, best])
    np.testing.assert_allclose(np.diag(diagonal.metric_), wanted, atol=1e-9)
    full = XingMetric(diagonal=False, ridge=0.0).fit(X, constraints=known)
    lean = np.linalg.solve(S, away)
    np.testing.assert_allclose(full.metric_, np.outer(lean, lean) / (2 * away @ lean), atol=1e-7)


def test_any_linear_map_of_the_features():
    """E4: the full metric undoes it."""
    X, near, far = problem(2)
    known = known_of(near, far, len(X))
    turn = np.random.default_rng(0).normal(size=(3, 3))
    one, other = (
        XingMetric(diagonal=False, ridge=0.0).fit(rows, constraints=known) for rows in (X, X @ turn)
    )
    np.testing.assert_allclose(turn @ other.metric_ @ turn.T, one.metric_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(other.pair_distances(X @ turn, far), one.pair_distances(X, far), rtol=1e-4)


def test_no_direction_is_left():
    """E5: the gradient is positive semidefinite, and zero on the range of A."""
    X, near, far = problem(3)
    model = XingMetric(diagonal=False, ridge=0.0).fit(X, constraints=known_of(near, far, len(X)))
    A, S = model.metric_, spread(X, near)
    lengths = model.pair_distances(X, far)
    pull = sum(np.outer(X[i] - X[j], X[i] - X[j]) / r for (i, j), r in zip(far, lengths, strict=True))
    gradient = S - pull / (2 * lengths.sum())
    assert np.linalg.eigvalsh(gradient).min() >= -1e-6 * np.linalg.norm(S)
    assert (gradient * A).sum() == pytest.approx(0.0, abs=1e-8)


def test_height_and_weight():
    """E6, figure 1.2: must-linked people differ in height only, cannot-linked ones in weight only."""
    height, weight = np.meshgrid([150.0, 160.0, 170.0, 180.0], [50.0, 70.0, 90.0])
    X = np.column_stack([height.ravel(), weight.ravel()])
    known = known_of([(0, 3)], [(0, 8)], 12)
    with pytest.warns(UserWarning, match="agree in 1 of 2 directions"):
        model = XingMetric(ridge=1e-3).fit(X, constraints=known)
    mean = 0.5 * 30.0**2 / X[:, 0].var()
    wanted = [0.0, 1 / (2 * 1e-3 * mean) / X[:, 1].var()]
    np.testing.assert_allclose(np.diag(model.metric_), wanted, rtol=1e-9, atol=1e-12)
    labels = KMeans(3, n_init=4, random_state=0).fit_predict(model.transform(X))
    assert all(len(set(labels[X[:, 1] == w])) == 1 for w in (50.0, 70.0, 90.0))
    for diagonal in (True, False):
        with pytest.raises(ParameterError, match=r"1 of 2 directions.*ridge above 0"):
            XingMetric(diagonal=diagonal, ridge=0.0).fit(X, constraints=known)


@BOTH
def test_units_change_nothing(diagonal):
    X, near, far = problem(4)
    known = known_of(near, far, len(X))
    one, other = (
        XingMetric(diagonal=diagonal).fit(rows, constraints=known) for rows in (X, X * [1e-6, 1.0, 1e5])
    )
    scaled = X * [1e-6, 1.0, 1e5]
    np.testing.assert_allclose(other.pair_distances(scaled, far), one.pair_distances(X, far), rtol=1e-5)


@BOTH
def test_groups_strengths_and_constant_columns(diagonal):
    X, near, far = problem(5)
    X = np.column_stack([X, np.full(len(X), 7.0)])
    labels = np.full(len(X), -1)
    labels[:6] = [0, 0, 1, 1, 2, 2]
    names = [None] * 8 + ["a", "b", "b"] + [None] * 19
    groups = Constraints.from_labels(labels) | Constraints.across(names)
    pairs = [(i, j) for i in range(6) for j in range(i) if labels[i] != labels[j]]
    written = known_of([(0, 1), (2, 3), (4, 5)], [*pairs, (8, 9), (8, 10)], len(X))
    grouped = XingMetric(diagonal=diagonal).fit(X, constraints=groups | known_of(near, far, len(X)))
    alone = XingMetric(diagonal=diagonal).fit(X, constraints=written | known_of(near, far, len(X)))
    np.testing.assert_allclose(grouped.metric_, alone.metric_, rtol=1e-4, atol=1e-6)
    assert not grouped.metric_[3].any()
    assert grouped.n_used_ == 6 + 2 + 2 * len(near)
    twice = Constraints(must_link=near, cannot_link=[*far, *far[:5]], n_items=len(X))
    weights = [1.0] * len(near) + [2.0 if i < 5 else 1.0 for i in range(len(far))]
    strong = Constraints(must_link=near, cannot_link=far, weight=weights, n_items=len(X))
    models = [XingMetric(diagonal=diagonal).fit(X, constraints=known) for known in (twice, strong)]
    np.testing.assert_allclose(models[0].metric_, models[1].metric_, rtol=1e-6, atol=1e-9)


def test_many_sparse_features():
    X = sparse.random(60, 6000, density=0.01, random_state=0, format="csr")
    known = Constraints.from_labels(np.arange(60) % 3)
    model = XingMetric(tol=1e-2).fit(X, constraints=known)
    moved = model.transform(X)
    assert sparse.issparse(moved)
    assert moved.shape == (60, 6000)
    assert not hasattr(model, "metric_")
    with pytest.raises(ParameterError, match="6,000 features"):
        XingMetric(diagonal=False).fit(X, constraints=known)


def test_what_says_nothing():
    X = np.repeat(np.arange(4.0), 2)[:, None] * [1.0, 2.0]
    with pytest.raises(UnsupportedConstraintError, match="must-links and cannot-links"):
        XingMetric().fit(X, constraints=Constraints(must_link=[(0, 2)], n_items=8))
    with pytest.raises(ValueError, match="must-linked items are the same"):
        XingMetric().fit(X, constraints=known_of([(0, 1)], [(0, 2)], 8))
    with pytest.raises(ValueError, match="cannot-linked items are the same"):
        XingMetric().fit(X, constraints=known_of([(0, 2)], [(0, 1)], 8))
    with pytest.raises(ValueError, match="all columns of X are constant"):
        XingMetric().fit(np.ones((8, 2)), constraints=known_of([(0, 2)], [(0, 1)], 8))
    many = Constraints.from_labels(np.arange(3000) % 2)
    with pytest.raises(UnsupportedConstraintError, match=r"4,498,500 pairs.*RCA or CannotLinkMetric"):
        XingMetric().fit(np.eye(3000, 3), constraints=many)


@BOTH
def test_few_steps_are_told(diagonal):
    X, near, far = problem(6)
    with pytest.warns(ConvergenceWarning, match="after 1 steps"):
        model = XingMetric(diagonal=diagonal, max_iter=1).fit(X, constraints=known_of(near, far, len(X)))
    assert not model.converged_
