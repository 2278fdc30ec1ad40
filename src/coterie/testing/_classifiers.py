"""Promises of a classifier of labels and pairs: what it reads, what it tells, and what does not change it.

Fits are compared by `decision_function`. Rows of three classes that overlap stand behind the checks, two
labels a class, and pairs of which some are wrong.
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
from sklearn.preprocessing import StandardScaler

from coterie.constraints import Constraints
from coterie.testing._problems import blobs, quiet, raises, true_constraints

_FITTED = (
    *("classes_", "support_", "constraints_", "violations_", "n_contradictions_"),
    *("objective_", "history_", "n_iter_", "converged_"),
)


def _rows(estimator: Any, k: int = 3) -> tuple[Any, Any, Constraints]:
    """60 rows of k classes, their partial labels (-1: not known), and pairs of which some are wrong."""
    rng = np.random.default_rng(4)
    truth = np.arange(60) % k
    X = rng.gamma(4.0, size=(60, 4)) * (1 + np.eye(k, 4)[truth])
    X[::5, 3] = 0.0
    known = Constraints.sample(truth, 30, noise=0.1, random_state=0)
    estimator.set_params(tol=min(estimator.tol, 1e-8), max_iter=10_000)  # two searches should end alike
    return X, np.where(np.arange(60) < 2 * k, truth, -1), known


def _fitted(estimator: Any, X: Any, y: Any, known: Any = None, **more: Any) -> Any:
    with quiet():
        return clone(estimator).set_params(**more).fit(X, y, constraints=known)


def _assert_same(found: Any, expected: Any, message: str, tol: float = 1e-3) -> None:
    assert found.shape == expected.shape, f"{message}: shape {found.shape}, not {expected.shape}"
    away = np.abs(found - expected).max()
    assert away <= tol * np.abs(expected).max(), f"{message}: f is off by {away:g}"


def check_known_classes(estimator: Any) -> None:
    """Far apart blobs with a label each and true pairs: the truth, nothing broken, all that is promised."""
    X, truth = blobs()
    X = X / np.std(X)
    y = np.where(np.arange(len(truth)) % 12 == 0, truth, -1)
    model = clone(estimator).fit(X, y, constraints=true_constraints(truth, estimator.constraint_kinds))
    assert np.array_equal(model.predict(X), truth), "the three classes were not found"
    assert not model.violations_, str(model.violations_)
    assert model.n_contradictions_ == 0
    for name in _FITTED:
        assert hasattr(model, name), f"{name} is missing after fit"
    f = model.decision_function(X)
    assert f.shape == (36, 3), f"decision_function has shape {f.shape}"
    assert np.array_equal(model.classes_[f.argmax(axis=1)], model.predict(X)), "predict is not the largest f"
    some = truth < 2
    f = clone(estimator).fit(X[some], y[some]).decision_function(X[some])
    assert f.shape == (24,), f"of two classes decision_function has shape {f.shape}"


def check_nothing_stated_of_pairs(estimator: Any) -> None:
    """No pairs, none that count and `weight=0` are the same classifier."""
    X, y, known = _rows(estimator)
    expected = _fitted(estimator, X, y).decision_function(X)
    nothing = Constraints(known.must_link, known.cannot_link, n_items=60, weight=0.0)
    for given, weight in ((Constraints(n_items=60), 1.0), (nothing, 1.0), (known, 0.0)):
        found = _fitted(estimator, X, y, given, weight=weight).decision_function(X)
        _assert_same(found, expected, f"{given!r} with weight={weight}")
    away = np.abs(_fitted(estimator, X, y, known).decision_function(X) - expected).max()
    assert away > 0.01, "pairs change nothing"


def check_what_is_not_known(estimator: Any) -> None:
    """-1, NaN and None are no labels; classes may be text."""
    X, y, known = _rows(estimator)
    expected = _fitted(estimator, X, y, known)
    text = np.array(["one", "three", "two"])
    names = [None if label < 0 else str(text[label]) for label in y]
    for given, shown in ((np.where(y < 0, np.nan, y), np.arange(3.0)), (names, text)):
        model = _fitted(estimator, X, given, known)
        _assert_same(model.decision_function(X), expected.decision_function(X), "other names of classes")
        assert np.array_equal(model.classes_, shown), f"classes_ is {model.classes_}"
        assert np.array_equal(model.predict(X), shown[expected.predict(X)]), "predict gives other names"


def check_items_of_pairs(estimator: Any) -> None:
    """Constraints on another number of items, or a bare list of pairs, are refused; labels lack no row."""
    X, y, _ = _rows(estimator)
    too_few = Constraints([(0, 1)], n_items=10)
    raises(ValueError, ["10", "60"], lambda: estimator.fit(X, y, constraints=too_few))
    raises(TypeError, ["Constraints"], lambda: estimator.fit(X, y, constraints=[(0, 1)]))
    raises(ValueError, ["60", "59"], lambda: estimator.fit(X, y[1:]))
    raises(ValueError, ["requires y"], lambda: estimator.fit(X, None))


def check_given_data_untouched(estimator: Any) -> None:
    """X, y and the parameters are left as they were."""
    X, y, known = _rows(estimator)
    before, labels, params = X.copy(), y.copy(), repr(estimator.get_params())
    with quiet():
        estimator.fit(X, y, constraints=known)
    assert np.array_equal(X, before), "X was changed"
    assert np.array_equal(y, labels), "y was changed"
    assert repr(estimator.get_params()) == params, "a parameter was changed"


def check_order_of_items(estimator: Any) -> None:
    """Items may stand in any order, and a pair either way round."""
    X, y, known = _rows(estimator)
    order = np.random.default_rng(1).permutation(60)
    expected = _fitted(estimator, X, y, known).decision_function(X)
    moved = _fitted(estimator, X[order], y[order], known[order]).decision_function(X)
    _assert_same(moved, expected, "the order of the rows matters")
    turned = Constraints(known.must_link[:, ::-1], known.cannot_link[:, ::-1], n_items=60)
    found = _fitted(estimator, X, y, turned).decision_function(X)
    _assert_same(found, expected, "(i, j) is not (j, i)")


def check_strength_of_pairs(estimator: Any) -> None:
    """A weighted pair is a repeated one; a confidence c counts 2c - 1; an item with itself says nothing."""
    X, y, known = _rows(estimator)
    must, cannot = known.must_link, known.cannot_link
    expected = _fitted(estimator, X, y, known, weight=2.0).decision_function(X)
    forms = {
        "weighted": Constraints(must, cannot, n_items=60, weight=2.0),
        "repeated": Constraints(np.vstack([must, must[::-1]]), np.vstack([cannot, cannot]), n_items=60),
        "confident": Constraints(must, cannot, n_items=60, weight=4.0, confidence=0.75),
        "with itself": known + known + Constraints([(7, 7)], n_items=60),
    }
    for form, given in forms.items():
        _assert_same(_fitted(estimator, X, y, given).decision_function(X), expected, f"pairs {form}")


def check_groups_are_pairs(estimator: Any) -> None:
    """Labels and groups among the constraints count as the pairs that they stand for."""
    X, y, _ = _rows(estimator)
    code = np.where(np.arange(60) % 6 == 1, np.arange(60) % 4, -1)
    for group in (Constraints.from_labels(code), Constraints.distinct(code), Constraints.across(code)):
        pairs = group.closure()
        written = Constraints(pairs.must_link, pairs.cannot_link, n_items=60)
        found, expected = (_fitted(estimator, X, y, c).decision_function(X) for c in (group, written))
        _assert_same(found, expected, f"{group!r} is not its pairs")


def check_contradictions_are_counted(estimator: Any) -> None:
    """Pairs of both kinds, and against two labels, are legal; they are counted and told in one warning."""
    X, y, _ = _rows(estimator)
    known = Constraints(
        [(10, 20), (0, 1)], [(10, 20), (0, 3), (30, 40)], n_items=60
    )  # 0 and 3 are of a class
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(estimator).fit(X, y, constraints=known)
    assert model.n_contradictions_ == 3, f"n_contradictions_ is {model.n_contradictions_}, not 3"
    assert model.violations_.n_broken >= 1
    assert len(caught) == 1, f"warnings: {[str(w.message) for w in caught]}"
    assert "3 contradictions" in str(caught[0].message), str(caught[0].message)
    broken = known.violations(model.predict(X))
    assert str(broken) == str(model.violations_), "violations_ is not what the predictions break"


def check_names_of_items(estimator: Any) -> None:
    """Constraints with ids go by the index of a frame, or are refused."""
    try:
        import pandas as pd
    except ImportError:
        raise SkipTest("the check needs pandas") from None
    X, y, known = _rows(estimator)
    expected, known = _fitted(estimator, X, y, known), known.with_ids([f"row-{i}" for i in range(60)])
    order = np.random.default_rng(2).permutation(60)
    frame = pd.DataFrame(X, index=known.ids, columns=["a", "b", "c", "d"])
    moved = frame.iloc[order]
    model = _fitted(estimator, moved, y[order], known)
    _assert_same(
        model.decision_function(frame), expected.decision_function(X), "moved rows are taken for others"
    )
    assert list(model.constraints_.ids) == list(moved.index), "constraints_ is not in the order of X"
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    other = frame.rename(index={"row-3": "nobody"})
    raises(ValueError, ["nobody"], lambda: clone(estimator).fit(other, y, constraints=known))


def check_single_stays_single(estimator: Any) -> None:
    """float32 gives float32, and nearly the same."""
    X, y, known = _rows(estimator)
    single = X.astype(np.float32)
    model = _fitted(estimator, single, y, known)
    found = model.decision_function(single)
    assert found.dtype == np.float32, f"decision_function is {found.dtype} for data of float32"
    if hasattr(model, "coef_"):
        assert model.coef_.dtype == np.float32, f"coef_ is {model.coef_.dtype} for data of float32"
    expected = _fitted(estimator, single.astype(np.float64), y, known).decision_function(X)
    _assert_same(found, expected, "float32 differs", tol=5e-3)


def check_sparse_is_read(estimator: Any) -> None:
    """Sparse rows give what the same numbers give as a dense array, in the fit and after it."""
    X, y, known = _rows(estimator)
    dense = _fitted(estimator, X, y, known)
    expected = dense.decision_function(X)
    for container in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        model = _fitted(estimator, container(X), y, known)
        for one, rows in ((model, container(X)), (model, X), (dense, container(X))):
            _assert_same(one.decision_function(rows), expected, f"{container.__name__} differs")


def check_copies_and_refits(estimator: Any) -> None:
    """A model survives pickling; a clone is not fitted; a second fit is a first one."""
    X, y, known = _rows(estimator)
    model = _fitted(estimator, X, y, known)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.decision_function(X), model.decision_function(X)), "pickling differs"
    assert str(back.violations_) == str(model.violations_)
    raises(NotFittedError, [], lambda: clone(model).predict(X))
    two = X[y != 2], y[y != 2]
    model.set_params(kernel="rbf" if model.kernel == "linear" else "linear")
    with quiet():
        fresh, again = clone(model).fit(*two), model.fit(*two)
    assert vars(again).keys() == vars(fresh).keys(), (
        f"of an earlier fit there remain {sorted(vars(again).keys() - vars(fresh).keys())}"
    )
    assert np.array_equal(again.decision_function(X), fresh.decision_function(X)), "a second fit differs"


def check_folds_have_their_own(estimator: Any) -> None:
    """A search over a pipeline hands each fold the constraints among its rows, with routing on and off."""
    X, y, known = _rows(estimator)
    order = np.random.default_rng(3).permutation(60)
    X, y, known = X[order], np.where(np.arange(60) < 30, np.arange(60) % 3, y)[order], known[order]

    def look(pipeline: Any, held_out: Any, truth: Any) -> float:
        rows = ~(X[:, None] == held_out).all(axis=-1).any(axis=1)
        assert pipeline[-1].constraints_ == known[rows], "a fold received other constraints"
        scaled = StandardScaler().fit_transform(X[rows])
        alone = _fitted(estimator, scaled, y[rows], known[rows], weight=pipeline[-1].weight)
        found, expected = (model.decision_function(X) for model in (pipeline[-1], alone))
        _assert_same(found, expected, "a fit in a pipeline differs", tol=1e-9)
        return 0.0

    name = type(estimator).__name__.lower()
    for routing in (True, False):
        pipeline = make_pipeline(StandardScaler(), clone(estimator))
        word = "constraints" if routing else f"{name}__constraints"
        grid = {f"{name}__weight": [0.5, 1.0]}
        with sklearn.config_context(enable_metadata_routing=routing), quiet():
            search = GridSearchCV(pipeline, grid, cv=2, scoring=look, error_score="raise", refit=False)
            search.fit(X, y, **{word: known})


def check_bad_rows(estimator: Any) -> None:
    """NaN and infinity are refused; rows that are all alike are not."""
    X, y, known = _rows(estimator)
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        raises(ValueError, [], partial(clone(estimator).fit, broken, y))
        raises(ValueError, [], partial(_fitted(estimator, X, y).predict, broken))
    found = _fitted(estimator, np.ones((60, 4)), y, known).decision_function(np.ones((1, 4)))
    assert np.isfinite(found).all(), f"rows that are all alike have f {found}"


def check_nobody_knows_it(estimator: Any) -> None:
    """`unknown` is said of rows that no class claims, and of no other."""
    X, y, known = _rows(estimator)
    model = _fitted(estimator, X, y, known, unknown=9)
    far = np.vstack([X, 50.0 + X, -X])
    f, found = model.decision_function(far), model.predict(far)
    assert np.array_equal(found == 9, (f < 0).all(axis=1)), "unknown is not where all f are below 0"
    assert 9 not in model.classes_
