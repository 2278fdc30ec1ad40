"""Promises of a learned distance: what it learns from, what its space is, and what does not change it.

Rows of three classes stand behind the checks, with true constraints of every kind that the class knows. Fits
are compared by the distances of all pairs: axes may be turned, the distances may not.
"""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from typing import Any
from unittest import SkipTest

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from coterie.constraints import ALL_KINDS, Constraints
from coterie.exceptions import UnsupportedConstraintError
from coterie.kmeans import PCKMeans
from coterie.testing._problems import fitted, needs, needs_features, pairs_of, quiet, raises, true_constraints

_PAIRS = np.column_stack(np.triu_indices(36, 1))


def _rows(estimator: Any, kinds: Any = None) -> tuple[Any, Any, Constraints]:
    """36 rows of three features, some of them 0, their truth, and constraints of the kinds known."""
    needs_features(estimator)
    rng, truth = np.random.default_rng(2), np.repeat([0, 1, 2], 12)
    X = rng.gamma(4.0, size=(36, 3)) * (1 + 2 * np.eye(3)[truth])
    X[::5, 1] = 0.0
    known = _stated(truth, estimator.constraint_kinds if kinds is None else kinds)
    if "tol" in estimator.get_params():  # two searches should end near each other
        estimator.set_params(tol=min(estimator.tol, 1e-6))
    return X, truth, known


def _stated(truth: Any, kinds: Any) -> Constraints:
    pairs, n = Constraints.sample(truth, 60, random_state=0), len(truth)
    known = pairs_of(kinds, pairs.must_link, pairs.cannot_link, n_items=n) | true_constraints(truth, kinds)
    if "label" in kinds:  # which items share
        known = known | Constraints.from_labels(np.where(np.arange(n) % 4 == 0, truth, -1))
    return known


def _assert_same(found: Any, expected: Any, message: str, tol: float = 1e-5) -> None:
    assert np.allclose(found, expected, rtol=0, atol=tol * np.max(expected)), (
        f"{message}: a distance is off by {np.abs(found - expected).max():g}, the largest is "
        f"{np.max(expected):g}"
    )


def _learned(estimator: Any, X: Any, known: Any) -> Any:
    """Distances of all pairs after a fit."""
    return fitted(estimator, X, known).pair_distances(X, _PAIRS)


def _euclidean(Z: Any) -> Any:
    Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
    return np.linalg.norm(Z[_PAIRS[:, 0]] - Z[_PAIRS[:, 1]], axis=1)


def check_truth_is_not_read(estimator: Any) -> None:
    """`y` is ignored by `fit` and `fit_transform`."""
    X, truth, known = _rows(estimator)
    plain = fitted(estimator, X, known).transform(X)
    with quiet():
        told = clone(estimator).fit_transform(X, np.roll(truth, 5), constraints=known)
    _assert_same(_euclidean(told), _euclidean(plain), "y changes the distance", tol=1e-12)


def check_other_kinds_are_passed_over(estimator: Any) -> None:
    """Constraints for the method behind change nothing; alone they are an error that says what is needed."""
    X, truth, known = _rows(estimator)
    others = ALL_KINDS - estimator.constraint_kinds
    needs(bool(others), "a kind that the class does not learn from")
    alone, both = (fitted(estimator, X, c) for c in (known, known | _stated(truth, others)))
    assert both.n_used_ == alone.n_used_ > 0, f"n_used_ is {both.n_used_}, without others {alone.n_used_}"
    _assert_same(both.pair_distances(X, _PAIRS), alone.pair_distances(X, _PAIRS), "other kinds teach too")
    for kind in sorted(others):
        fit = partial(estimator.fit, X, constraints=_stated(truth, {kind}))
        message = raises(UnsupportedConstraintError, [kind], fit)
        assert any(word in message for word in estimator.constraint_kinds), f"it needs what? {message}"


def check_nothing_stated(estimator: Any) -> None:
    """Without constraints the distance is Euclid's, with one warning, also after another fit."""
    X, _, known = _rows(estimator)
    model = fitted(estimator, X, known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = clone(estimator).fit(X)
    for nothing in (None, Constraints(n_items=len(X))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, constraints=nothing)
        assert [w.category for w in caught] == [UserWarning], f"warnings: {[str(w.message) for w in caught]}"
        assert type(model).__name__ in str(caught[0].message), "the warning does not say who warns"
        assert model.n_used_ == 0, f"n_used_ is {model.n_used_}"
        left = vars(model).keys() - vars(fresh).keys()
        assert not left, f"of an earlier fit there remain {sorted(left)}"
        _assert_same(model.pair_distances(X, _PAIRS), _euclidean(X), "nothing was stated", tol=1e-12)


def check_space(estimator: Any) -> None:
    """After `transform` Euclid's distance is the learned one, that of `metric_`, for new rows too."""
    X, _, known = _rows(estimator)
    model = fitted(estimator, X, known)
    for rows in (X, X[::-1] * 1.1 + 1.0):
        Z, found = model.transform(rows), model.pair_distances(rows, _PAIRS)
        _assert_same(_euclidean(Z), found, "transform is not pair_distances", tol=1e-9)
        if hasattr(model, "metric_"):
            away = rows[_PAIRS[:, 0]] - rows[_PAIRS[:, 1]]
            by_metric = np.sqrt(np.einsum("ij,jk,ik->i", away, model.metric_, away).clip(0))
            _assert_same(by_metric, found, "metric_ is not pair_distances", tol=1e-6)
    assert found.max() > 0, "all distances are 0"
    assert len(set(model.get_feature_names_out())) == Z.shape[1], "the new columns have no names of their own"


def check_metric(estimator: Any) -> None:
    """`metric_` is made of `components_`, and has no negative direction."""
    X, _, known = _rows(estimator)
    model = fitted(estimator, X, known)
    needs(hasattr(model, "metric_"), "a matrix metric_")
    A, axes = model.metric_, model.components_
    expected = model.transform(X).shape[1], X.shape[1]
    assert axes.shape == expected, f"components_ has shape {axes.shape}, not {expected}"
    size = np.abs(A).max()
    assert np.allclose(A, axes.T @ axes, rtol=0, atol=1e-10 * size), "metric_ is not components_' components_"
    least = np.linalg.eigvalsh(A)[0]
    assert least >= -1e-10 * size, f"metric_ has the eigenvalue {least:g}"


def check_order_of_rows(estimator: Any) -> None:
    """Items may stand in any order, with their constraints."""
    X, _, known = _rows(estimator)
    order = np.random.default_rng(1).permutation(len(X))
    found = fitted(estimator, X[order], known[order]).pair_distances(X, _PAIRS)
    _assert_same(found, _learned(estimator, X, known), "the order of the rows matters")


def check_origin(estimator: Any) -> None:
    """Each column may have any origin."""
    X, _, known = _rows(estimator)
    moved = _learned(estimator, X + np.array([100.0, -30.0, 70.0]), known)
    _assert_same(moved, _learned(estimator, X, known), "the origin matters")


def check_units_of_columns(estimator: Any) -> None:
    """Each column may have any unit."""
    X, _, known = _rows(estimator)
    other = _learned(estimator, X * [1e3, 1e-3, 10.0], known)
    _assert_same(other, _learned(estimator, X, known), "units matter")


def check_names_of_rows(estimator: Any) -> None:
    """Constraints with ids go by the index of a frame, or are refused; the index goes into the new space."""
    try:
        import pandas as pd
    except ImportError:
        raise SkipTest("the check needs pandas") from None
    X, _, known = _rows(estimator)
    expected, known = _learned(estimator, X, known), known.with_ids([f"row-{i}" for i in range(len(X))])
    frame = pd.DataFrame(X, index=known.ids, columns=["a", "b", "c"])
    moved = frame.sample(frac=1, random_state=0)
    model = fitted(estimator, moved, known)
    _assert_same(model.pair_distances(frame, _PAIRS), expected, "rows that were moved are taken for others")
    other = frame.rename(index={"row-3": "nobody"})
    raises(ValueError, ["nobody"], lambda: clone(estimator).fit(other, constraints=known))
    shown = model.set_output(transform="pandas").transform(moved)
    assert list(shown.index) == list(moved.index), "set_output loses the index"


def check_single_precision(estimator: Any) -> None:
    """Half the memory stays half the memory, and the distances are the same."""
    X, _, known = _rows(estimator)
    single = X.astype(np.float32)
    model = fitted(estimator, single, known)
    for name, value in (("transform", model.transform(single)), *vars(model).items()):
        if name in ("transform", "components_", "metric_"):
            assert value.dtype == np.float32, f"{name} is {value.dtype} for data of float32"
    expected = _learned(estimator, single.astype(np.float64), known)
    _assert_same(model.pair_distances(single, _PAIRS), expected, "float32 differs", tol=1e-3)


def check_sparse_rows(estimator: Any) -> None:
    """Sparse rows give what the same numbers give as a dense array."""
    needs(get_tags(estimator).input_tags.sparse, "a class that takes sparse input")
    X, _, known = _rows(estimator)
    expected = _learned(estimator, X, known)
    for container in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        rows, message = container(X), f"{container.__name__} differs"
        _assert_same(_learned(estimator, rows, known), expected, message)
        _assert_same(_euclidean(fitted(estimator, rows, known).transform(rows)), expected, message)


def check_copies(estimator: Any) -> None:
    """A fitted distance survives pickling; a clone is not fitted."""
    X, _, known = _rows(estimator)
    model = fitted(estimator, X, known)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.pair_distances(X, _PAIRS), model.pair_distances(X, _PAIRS)), "pickling differs"
    raises(NotFittedError, [], lambda: clone(model).transform(X))


def check_each_fold_has_its_own(estimator: Any) -> None:
    """A search over a pipeline hands each step the constraints among the rows of the fold."""
    X, _, known = _rows(estimator, ALL_KINDS)
    order = np.random.default_rng(3).permutation(len(X))
    X, known = X[order], known[order]

    def look(pipeline: Any, held_out: Any, y: Any = None) -> float:
        rows = ~(X[:, None] == held_out).all(axis=-1).any(axis=1)
        alone = fitted(estimator, X[rows], known[rows])
        found, expected = (model.pair_distances(X, _PAIRS) for model in (pipeline[0], alone))
        _assert_same(found, expected, "a fold received other constraints", tol=1e-9)
        assert pipeline[-1].constraints_ == known[rows], "the method behind received other constraints"
        return 0.0

    for routing in (True, False):
        pipeline = make_pipeline(clone(estimator), PCKMeans(3, n_init=1, random_state=0))
        given = ["constraints"] if routing else [f"{name}__constraints" for name, _ in pipeline.steps]
        with sklearn.config_context(enable_metadata_routing=routing), quiet():
            grid = {"pckmeans__n_clusters": [3, 4]}
            search = GridSearchCV(pipeline, grid, cv=3, scoring=look, error_score="raise")
            search.fit(X, **dict.fromkeys(given, known))


def check_bad_pairs(estimator: Any) -> None:
    """`pair_distances` refuses rows that do not exist, and what is no list of pairs."""
    X, _, known = _rows(estimator)
    model = fitted(estimator, X, known)
    for bad in ((2, 36), (0, -1), (0, 0.5), (0, 1, 2)):
        raises(ValueError, ["pairs", str(bad)], partial(model.pair_distances, X, [bad]))
    raises(ValueError, ["2 features"], lambda: model.pair_distances(X[:, :2], _PAIRS))
    assert model.pair_distances(X, []).shape == (0,), "no pairs have no distances"
