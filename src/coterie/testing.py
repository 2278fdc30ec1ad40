"""The contract of every constrained clusterer, as checks that can be run against any class.

`check_constrained_clusterer(estimator)` runs them all and names the one that fails;
`constrained_clusterers()` finds every public class of the package, so that none escapes. They come on top
of scikit-learn's `check_estimator`. Two small problems stand behind most checks: three blobs far apart, with
true constraints that every method must meet; and a cloud without clusters, in which every detail matters.

A check of something that the class does not have (`transform`, sample weights, sparse input, ...) raises
`unittest.SkipTest`, as scikit-learn's checks do, so that a report shows what was not looked at.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import SkipTest

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

import coterie
from coterie.base import ConstrainedClusterMixin
from coterie.constraints import ALL_KINDS, Constraints
from coterie.exceptions import (
    InfeasibleConstraintsError,
    UnsupportedConstraintError,
    ViolatedConstraintsWarning,
)

__all__ = ["check_constrained_clusterer", "constrained_checks", "constrained_clusterers"]

Check = Callable[[Any], None]
_FITTED = ("labels_", "constraints_", "violations_", "n_iter_", "objective_", "history_", "converged_")


def constrained_clusterers() -> Iterator[type]:
    """Yield every public constrained clusterer of the package, each once."""
    seen = set()
    for module_info in pkgutil.walk_packages(coterie.__path__, "coterie."):
        if any(part.startswith("_") for part in module_info.name.split(".")):
            continue
        module = importlib.import_module(module_info.name)
        for name, found in inspect.getmembers(module, inspect.isclass):
            public = not name.startswith("_") and issubclass(found, ConstrainedClusterMixin)
            if public and issubclass(found, BaseEstimator) and found not in seen:
                seen.add(found)
                yield found


def check_constrained_clusterer(estimator: Any) -> None:
    """Run every check against an unfitted estimator; raises AssertionError that names the first that fails.

    Parameters
    ----------
    estimator : estimator instance
        With fast settings; `n_clusters` (of a mixture, `n_components`) and `random_state` are set by the
        checks where it has them.
    """
    for check in constrained_checks():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ViolatedConstraintsWarning)
                check(clone(estimator))
        except SkipTest:
            continue
        except Exception as error:
            raise AssertionError(f"{type(estimator).__name__} fails {check.__name__}: {error}") from error


def constrained_checks() -> list[Check]:
    """The checks, in order; each takes a fresh clone of the estimator."""
    return [value for name, value in globals().items() if name.startswith("check_") and name not in __all__]


def blobs(estimator: Any = None) -> tuple[Any, Any]:
    """Three blobs of 12, far apart, and their truth; as distances if the estimator takes these."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 100.0], [100.0, 50.0]])
    truth = np.repeat([0, 1, 2], 12)
    X = centres[truth] + rng.normal(size=(36, 2))
    return (euclidean_distances(X) if _takes_distances(estimator) else X), truth


def cloud(seed: int = 0) -> tuple[Any, Any]:
    """36 points without clusters, and the truth that `true_constraints` speak of."""
    return np.random.default_rng(seed).normal(size=(36, 2)), np.repeat([0, 1, 2], 12)


def true_constraints(truth: Any, kinds: frozenset[str]) -> Constraints:
    """Constraints that agree with the truth, of the kinds wanted."""
    n = len(truth)
    must, cannot = [(0, 1), (1, 5), (13, 14), (30, 31)], [(0, 13), (5, 30), (14, 31)]
    known = Constraints(
        must if "must-link" in kinds else None, cannot if "cannot-link" in kinds else None, n_items=n
    )
    values = np.full(n, -1)
    values[[3, 15, 32]] = truth[[3, 15, 32]]
    if "label" in kinds:
        known = known | Constraints.from_labels(values)
    if "across" in kinds:
        known = known | Constraints.across(values)
    if "distinct" in kinds:
        one_frame = np.full(n, -1)
        one_frame[[4, 16, 33]] = 0
        known = known | Constraints.distinct(one_frame)
    return known


def _number(estimator: Any) -> str | None:
    """What the class calls the number of clusters, as a mixture has components; None if it finds it."""
    own = estimator.get_params()
    return next((name for name in ("n_clusters", "n_components") if name in own), None)


def _set(estimator: Any, n_clusters: int = 3) -> Any:
    wanted = {_number(estimator) or "n_clusters": n_clusters, "random_state": 0}
    own = estimator.get_params()
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in own})


def _takes_distances(estimator: Any) -> bool:
    return estimator is not None and bool(get_tags(estimator).input_tags.pairwise)


def _needs(has: bool, what: str) -> None:
    if not has:
        raise SkipTest(f"the check needs {what}")


def _needs_features(estimator: Any) -> None:
    _needs(not _takes_distances(estimator), "features, not distances")


def _needs_kinds(estimator: Any, *kinds: str) -> None:
    _needs(set(kinds) <= estimator.constraint_kinds, f"constraints of kind {' and '.join(kinds)}")


def _needs_parameter(estimator: Any, name: str) -> None:
    _needs(name in estimator.get_params(), f"a parameter {name}")


def _needs_sample_weight(estimator: Any) -> None:
    _needs(has_fit_parameter(estimator, "sample_weight"), "sample_weight in fit")


def _needs_method(estimator: Any, name: str) -> None:
    _needs(hasattr(estimator, name), f"a method {name}")


def _same_partition(a: Any, b: Any) -> bool:
    return bool(adjusted_rand_score(a, b) == 1.0)


def _raises(kind: type[Exception], words: list[str], action: Callable[[], Any]) -> None:
    try:
        action()
    except kind as error:
        said = str(error)
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
    lacking = [word for word in words if word not in said]
    assert not lacking, f"the message does not say {lacking}: {said}"


def check_every_parameter_has_a_rule(estimator: Any) -> None:
    """A reader of the class sees what is legal, and nonsense is refused by name."""
    lacking = set(estimator.get_params(deep=False)) - set(estimator.parameter_rules)
    assert not lacking, f"no rule for {sorted(lacking)}"
    number = _number(estimator)
    if number is not None:
        estimator.set_params(**{number: 0})
        _raises(ValueError, [number, "0"], lambda: estimator.fit(blobs(estimator)[0]))


def check_known_answer(estimator: Any) -> None:
    """Far apart blobs with true constraints of every kind taken: the truth, and nothing broken."""
    X, truth = blobs(estimator)
    known = true_constraints(truth, estimator.constraint_kinds)
    model = _set(estimator).fit(X, constraints=known)
    assert _same_partition(model.labels_, truth), "the three blobs were not found"
    assert not model.violations_, str(model.violations_)
    for name in _FITTED:
        assert hasattr(model, name), f"{name} is missing after fit"


def check_no_constraints(estimator: Any) -> None:
    """None, nothing and an empty value are the unconstrained method."""
    X, _ = blobs(estimator)
    plain = _set(estimator).fit(X)
    empty = _set(clone(estimator)).fit(X, constraints=Constraints(n_items=len(X)))
    assert np.array_equal(plain.labels_, empty.labels_), "empty constraints change the labels"
    assert plain.violations_.n_stated == 0, "constraints were counted where none were given"


def check_same_seed_same_labels(estimator: Any) -> None:
    """Two fits from one seed agree, and a second fit of the same object too."""
    X, truth = blobs(estimator)
    known = true_constraints(truth, estimator.constraint_kinds)
    first = _set(estimator).fit(X, constraints=known).labels_.copy()
    again = _set(clone(estimator)).fit(X, constraints=known).labels_
    assert np.array_equal(first, again), "two fits from one seed differ"
    assert np.array_equal(first, estimator.fit(X, constraints=known).labels_), "a second fit differs"


def check_inputs_untouched(estimator: Any) -> None:
    """X and the constructor's parameters are left as they were."""
    X, truth = blobs(estimator)
    before, params = X.copy(), copy.deepcopy(_set(estimator).get_params())
    estimator.fit(X, constraints=true_constraints(truth, estimator.constraint_kinds))
    assert np.array_equal(X, before), "X was changed"
    assert repr(estimator.get_params()) == repr(params), "a parameter was changed"


def check_y_is_ignored(estimator: Any) -> None:
    """The truth never leaks into a fit."""
    X, truth = blobs(estimator)
    wrong = np.random.default_rng(1).permutation(truth)
    plain = _set(estimator).fit(X).labels_
    assert np.array_equal(plain, _set(clone(estimator)).fit(X, wrong).labels_), "y changes the labels"


def check_number_of_items(estimator: Any) -> None:
    """Constraints on another number of items, or a bare list of pairs, are refused."""
    X, _ = blobs(estimator)
    _set(estimator)
    too_few = Constraints([(0, 1)], n_items=10)
    _raises(ValueError, ["10", str(len(X))], lambda: estimator.fit(X, constraints=too_few))
    _raises(TypeError, ["Constraints"], lambda: estimator.fit(X, constraints=[(0, 1)]))


def check_ids_change_nothing(estimator: Any) -> None:
    """Items that have names are clustered as items that have numbers."""
    X, truth = blobs(estimator)
    known = true_constraints(truth, estimator.constraint_kinds)
    numbered = _set(estimator).fit(X, constraints=known).labels_
    named = known.with_ids([f"row-{i}" for i in range(len(X))])
    model = _set(clone(estimator)).fit(X, constraints=named)
    assert np.array_equal(model.labels_, numbered), "ids change the labels"
    assert list(model.constraints_.ids) == list(named.ids), "constraints_ has lost the ids"


def check_partial_labels(estimator: Any) -> None:
    """A vector of partial labels means `Constraints.from_labels`."""
    _needs_kinds(estimator, "label")
    X, truth = blobs(estimator)
    partial = np.where(np.arange(len(truth)) % 4 == 0, truth, -1)
    vector = _set(estimator).fit(X, constraints=partial).labels_
    value = _set(clone(estimator)).fit(X, constraints=Constraints.from_labels(partial)).labels_
    assert np.array_equal(vector, value), "a label vector and from_labels differ"


def check_refuses_other_kinds(estimator: Any) -> None:
    """A kind that the method cannot honour is refused by name."""
    X, truth = blobs(estimator)
    for kind in sorted(ALL_KINDS - estimator.constraint_kinds):
        known = true_constraints(truth, frozenset({kind}))
        _raises(UnsupportedConstraintError, [kind], partial(estimator.fit, X, constraints=known))


def check_violations_are_recounted(estimator: Any) -> None:
    """`violations_` agrees with a slow recount of labels_, on pairs that cut through the blobs."""
    X, _ = blobs(estimator)
    kinds = estimator.constraint_kinds
    must = [(0, 12), (1, 13), (2, 24)] if "must-link" in kinds else None
    cannot = [(4, 5), (16, 17), (28, 29)] if "cannot-link" in kinds else None
    known = Constraints(must, cannot, n_items=len(X), weight=1e-9)
    model = _set(estimator).fit(X, constraints=known)
    labels = model.labels_
    split = [[i, j] for i, j in known.must_link.tolist() if labels[i] != labels[j]]
    joined = [[i, j] for i, j in known.cannot_link.tolist() if labels[i] == labels[j]]
    assert model.violations_.must_link.ij.tolist() == split, "broken must-links are miscounted"
    assert model.violations_.cannot_link.ij.tolist() == joined, "broken cannot-links are miscounted"
    if model.obeys == "all":
        assert not model.violations_, "a hard method broke constraints"


def check_hard_statements_hold(estimator: Any) -> None:
    """What is marked hard holds in a soft method too, against the data; labels are hard by nature."""
    _needs(estimator.obeys != "none", "a method that obeys")
    X, _ = blobs(estimator)
    must = [(0, 12)] if "must-link" in estimator.constraint_kinds else None
    cannot = [(4, 5)] if "cannot-link" in estimator.constraint_kinds else None
    known = Constraints(must, cannot, n_items=len(X), weight=1e-9, hard=True)
    if "label" in estimator.constraint_kinds:
        values = np.full(len(X), -1)
        values[[1, 25]], values[[2, 14]] = 0, 1
        known = known | Constraints.from_labels(values)
    model = _set(estimator).fit(X, constraints=known)
    assert not model.violations_, str(model.violations_)


def check_permuted_items(estimator: Any) -> None:
    """The order of the items does not matter where the answer is clear."""
    X, truth = blobs(estimator)
    order = np.random.default_rng(2).permutation(len(X))
    known = true_constraints(truth, estimator.constraint_kinds)
    moved = X[np.ix_(order, order)] if _takes_distances(estimator) else X[order]
    model = _set(estimator).fit(moved, constraints=known[order])
    assert _same_partition(model.labels_, truth[order]), "permuted items give another partition"


def check_scaled_features(estimator: Any) -> None:
    """The unit of the features does not matter, unless the class says that it does."""
    _needs_features(estimator)
    _needs(estimator.scale_invariant, "a method that does not depend on the unit")
    X, truth = blobs(estimator)
    known = true_constraints(truth, estimator.constraint_kinds)
    plain = _set(estimator).fit(X, constraints=known).labels_
    for factor in (1e-6, 1e6):
        scaled = _set(clone(estimator)).fit(factor * X + 3 * factor, constraints=known).labels_
        assert _same_partition(plain, scaled), f"features times {factor:g} give another partition"


def check_duplicate_and_self_pairs(estimator: Any) -> None:
    """Repeated pairs and must-links of an item with itself are legal."""
    _needs_kinds(estimator, "must-link")
    X, truth = blobs(estimator)
    known = Constraints([(0, 1), (1, 0), (0, 1), (7, 7)], n_items=len(X))
    model = _set(estimator).fit(X, constraints=known)
    assert _same_partition(model.labels_, truth)


def check_contradiction(estimator: Any) -> None:
    """Who obeys raises in the user's ids; a soft method goes on and reports soft ones."""
    _needs_kinds(estimator, "must-link", "cannot-link")
    X, _ = blobs(estimator)
    ids = [f"row-{i}" for i in range(len(X))]
    known = Constraints(
        [("row-0", "row-3"), ("row-3", "row-5")],
        [("row-0", "row-5")],
        ids=ids,
        hard=True,
    )
    words = ["row-0", "row-3", "row-5"]
    if estimator.obeys != "none":
        _raises(InfeasibleConstraintsError, words, lambda: _set(estimator).fit(X, constraints=known))
    if estimator.obeys != "all":
        soft = Constraints([(0, 3), (3, 5)], [(0, 5)], n_items=len(X))
        assert _set(clone(estimator)).fit(X, constraints=soft).violations_.n_broken > 0


def check_too_many_apart(estimator: Any) -> None:
    """More items that are all apart than clusters: an error of a hard method, a report of a soft one."""
    _needs_kinds(estimator, "cannot-link")
    _needs(_number(estimator) is not None, "a number of clusters that is asked for")
    X, _ = blobs(estimator)
    apart = [(i, j) for i in range(4) for j in range(i)]
    hard = Constraints(None, apart, n_items=len(X), hard=True)
    if estimator.obeys != "none":
        _raises(InfeasibleConstraintsError, ["3 clusters"], lambda: _set(estimator).fit(X, constraints=hard))
    if estimator.obeys != "all":
        soft = Constraints(None, apart, n_items=len(X))
        assert _set(clone(estimator)).fit(X, constraints=soft).violations_.n_broken > 0


def check_long_chain(estimator: Any) -> None:
    """A chain of 100,000 must-links neither overflows nor turns into pairs."""
    _needs_kinds(estimator, "must-link")
    _needs(not estimator.works_on_pairs, "a method that can hold 100,000 items")
    n = 100_000
    X = np.tile([[0.0], [100.0]], (n // 2, 1))
    links = np.arange(n - 2)
    known = Constraints(np.column_stack([links, links + 2]), n_items=n, hard=True)
    model = _set(estimator, 2).fit(X, constraints=known)
    assert not model.violations_
    assert _same_partition(model.labels_, X[:, 0] > 50)


def check_small_data(estimator: Any) -> None:
    """One item; as many clusters as items; more clusters than items."""
    _needs_features(estimator)
    _set(estimator, 1).fit(np.zeros((1, 2)))
    number = _number(estimator)
    if number is None:
        return
    X = np.arange(8.0).reshape(4, 2)
    labels = _set(clone(estimator), 4).fit(X).labels_
    assert len(np.unique(labels)) == 4, "as many clusters as items, but some share one"
    _raises(ValueError, [number, "4"], lambda: _set(clone(estimator), 5).fit(X))


def check_hostile_data(estimator: Any) -> None:
    """NaN and infinity are refused; constant features and repeated rows are not."""
    _needs_features(estimator)
    X, _ = blobs(estimator)
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        _raises(ValueError, [], partial(_set(estimator).fit, broken))
    constant = np.column_stack([np.repeat([0.0, 50.0, 99.0], 4), np.ones(12)])
    assert _same_partition(_set(clone(estimator)).fit(constant).labels_, np.repeat([0, 1, 2], 4))


def check_pickle(estimator: Any) -> None:
    """A fitted model survives pickling with its account of the constraints."""
    X, truth = blobs(estimator)
    model = _set(estimator).fit(X, constraints=true_constraints(truth, estimator.constraint_kinds))
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.labels_, model.labels_)
    assert str(back.violations_) == str(model.violations_)
    if hasattr(model, "predict"):
        assert np.array_equal(back.predict(X), model.predict(X)), "predict differs after pickling"


def check_search_splits_constraints(estimator: Any) -> None:
    """A search hands each fold the constraints among its own rows, with routing on and off."""
    _needs_features(estimator)
    assert get_routing_for_object(estimator).fit.requests.get("constraints") is True, (
        "not requested by default"
    )
    X, truth = blobs(estimator)
    order = np.random.default_rng(3).permutation(len(X))
    X, known = X[order], true_constraints(truth, estimator.constraint_kinds)[order]

    def account_of_the_fold(model: Any, held_out: Any, y: Any = None) -> float:
        """Compare what the model reports with the constraints among the rows that it must have had."""
        in_test = (X[:, None] == held_out).all(axis=-1).any(axis=1)
        expected = known[~in_test].violations(model.labels_)
        assert model.violations_.n_stated == expected.n_stated, "a fold received other constraints"
        assert str(model.violations_) == str(expected), "a fold reports other violations"
        return 0.0

    name = next(iter(estimator.get_params()))
    for routing in (True, False):
        with sklearn.config_context(enable_metadata_routing=routing):
            grid = {name: [_set(estimator).get_params()[name]]}
            search = GridSearchCV(estimator, grid, cv=3, scoring=account_of_the_fold, error_score="raise")
            search.fit(X, constraints=known)


def check_pipeline_passes_constraints(estimator: Any) -> None:
    """A pipeline hands them on, with routing on and off, and the fit is the fit of the last step."""
    _needs_features(estimator)
    X, truth = cloud()
    known = true_constraints(truth, estimator.constraint_kinds)
    alone = _set(estimator).fit(StandardScaler().fit_transform(X), constraints=known)
    for routing in (True, False):
        pipeline = make_pipeline(StandardScaler(), clone(estimator))
        name = "constraints" if routing else f"{type(estimator).__name__.lower()}__constraints"
        with sklearn.config_context(enable_metadata_routing=routing):
            labels = pipeline.fit_predict(X, **{name: known})
        assert pipeline[-1].violations_.n_stated == alone.violations_.n_stated, (
            "the pipeline lost constraints"
        )
        assert np.array_equal(labels, alone.labels_), "a fit in a pipeline differs"


def check_fit_predict(estimator: Any) -> None:
    """`fit_predict` is `fit`, then `labels_`."""
    X, truth = blobs(estimator)
    known = true_constraints(truth, estimator.constraint_kinds)
    given = _set(estimator).fit_predict(X, constraints=known)
    assert np.array_equal(given, estimator.labels_), "fit_predict does not return labels_"
    fitted = _set(clone(estimator)).fit(X, constraints=known)
    assert np.array_equal(given, fitted.labels_), "fit and fit_predict differ"


def check_predict_the_training_items(estimator: Any) -> None:
    """Without constraints `predict` repeats `labels_`, whether or not the fit came to its end."""
    _needs_method(estimator, "predict")
    X = blobs(estimator)[0] if _takes_distances(estimator) else cloud()[0]
    limits = [None, 1] if "max_iter" in estimator.get_params() else [None]
    for limit in limits:
        model = _set(clone(estimator))
        if limit is not None:
            model.set_params(max_iter=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        told = "" if limit is None else f" after max_iter={limit}"
        assert np.array_equal(model.predict(X), model.labels_), f"predict(X) is not labels_{told}"


def check_transform(estimator: Any) -> None:
    """One column a cluster, `fit_transform` is `fit` and `transform`, and the output has names."""
    _needs_method(estimator, "transform")
    X, _ = blobs(estimator)
    model = _set(estimator).fit(X)
    out = model.transform(X)
    assert out.shape == (len(X), len(np.unique(model.labels_))), f"transform gives shape {out.shape}"
    again = _set(clone(estimator)).fit_transform(X)
    assert np.array_equal(out, again), "fit_transform differs from fit and transform"
    names = model.get_feature_names_out()
    assert len(set(names)) == out.shape[1], f"{out.shape[1]} columns, but the names {list(names)}"
    try:
        import pandas as pd
    except ImportError:
        raise SkipTest("the rest of the check needs pandas") from None
    frame = pd.DataFrame(X, index=[f"row-{i}" for i in range(len(X))])
    frame.columns = [f"f{i}" for i in range(X.shape[1])]
    shown = _set(clone(estimator)).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(shown.columns) == list(names), "set_output gives other names than get_feature_names_out"
    assert list(shown.index) == list(frame.index), "set_output loses the index"


def check_float32_is_kept(estimator: Any) -> None:
    """Half the memory stays half the memory: centres and transformed data have the type of X."""
    X, _ = blobs(estimator)
    looked = False
    for given, kept in ((np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64)):
        model = _set(clone(estimator)).fit(X.astype(given))
        found = {}
        if hasattr(model, "cluster_centers_"):
            found["cluster_centers_"] = model.cluster_centers_
        if hasattr(model, "transform"):
            found["transform"] = model.transform(X.astype(given))
        for name, value in found.items():
            looked = True
            assert value.dtype == kept, f"{name} is {value.dtype} for data of {np.dtype(given)}"
    _needs(looked, "cluster_centers_ or transform")


def check_sparse_is_dense(estimator: Any) -> None:
    """CSR input gives what the same numbers give as a dense array."""
    _needs(get_tags(estimator).input_tags.sparse, "a method that takes sparse input")
    X, truth = blobs(estimator)
    X = np.where(np.abs(X) < 1, 0, X)
    known = true_constraints(truth, estimator.constraint_kinds)
    dense = _set(estimator).fit(X, constraints=known)
    for container in (sparse.csr_array, sparse.csr_matrix):
        model = _set(clone(estimator)).fit(container(X), constraints=known)
        assert np.array_equal(model.labels_, dense.labels_), f"{container.__name__} input changes the labels"
        for name in ("predict", "transform"):
            if hasattr(model, name):
                told = f"{name} of {container.__name__} input differs"
                mine, theirs = getattr(model, name)(container(X)), getattr(dense, name)(X)
                assert np.allclose(mine, theirs, rtol=1e-6, atol=1e-6), told


def check_bad_sample_weight(estimator: Any) -> None:
    """Weights that make no sense are refused by name."""
    _needs_sample_weight(estimator)
    X, _ = blobs(estimator)
    ones = np.ones(len(X))
    for bad in (-ones, np.where(ones.cumsum() == 4, np.nan, ones), 0 * ones, ones[:-1], ones[:, None]):
        _raises(ValueError, ["weight"], partial(_set(clone(estimator)).fit, X, sample_weight=bad))


def check_scaled_sample_weight(estimator: Any) -> None:
    """The unit of the weights does not matter, and weights of one are no weights."""
    _needs_sample_weight(estimator)
    must = [(0, 1), (1, 5)] if "must-link" in estimator.constraint_kinds else None
    for seed in range(3):
        X, _ = blobs(estimator) if _takes_distances(estimator) else cloud(seed)
        weight = np.random.default_rng(seed).exponential(size=len(X)) ** 3
        known = Constraints(must, n_items=len(X), hard=True)

        def labels(weight: Any, X: Any = X, known: Any = known) -> Any:
            return _set(clone(estimator)).fit(X, constraints=known, sample_weight=weight).labels_

        assert np.array_equal(labels(None), labels(np.ones(len(X)))), "weights of one are not no weights"
        for factor in (2.0**-20, 2.0**20):  # powers of two change no digit, so that nothing else may change
            assert np.array_equal(labels(weight), labels(factor * weight)), (
                f"weights times {factor:g} change the labels"
            )


def check_weighted_is_repeated(estimator: Any) -> None:
    """From the same start, an item of weight 3 counts as three such items, and one of weight 0 as none."""
    _needs_sample_weight(estimator)
    _needs_parameter(estimator, "init")
    X, _ = cloud(2)
    weight = np.random.default_rng(6).integers(0, 4, size=len(X))
    weight[:6] = [1, 2, 3, 3, 2, 1]
    item = np.repeat(np.arange(len(X)), weight)
    first = np.searchsorted(item, np.arange(len(X)))
    Y, start, start_again = X[item], X[:3], X[:3]
    if _takes_distances(estimator):
        X = euclidean_distances(X)
        Y = X[np.ix_(item, item)]
    if hasattr(_set(clone(estimator)).fit(X), "medoid_indices_"):  # then `init` lists items
        start, start_again = np.arange(3), first[:3]
    _needs(estimator.parameter_rules["init"].holds(start), "a parameter init that takes an array")
    if "tol" in _set(estimator).get_params():
        estimator.set_params(tol=0.0)  # the variance of the features need not count the weights
    copies = [(first[i], first[i] + c) for i in range(6) for c in range(1, weight[i])]
    for links in ([], [(0, 3), (3, 4), (2, 5)]) if "must-link" in estimator.constraint_kinds else ([],):
        known = Constraints(links, n_items=len(X), hard=True)
        again = [*copies, *((first[i], first[j]) for i, j in links)] if links else []
        known_again = Constraints(again, n_items=len(item), hard=True)
        weighted = clone(estimator).set_params(init=start).fit(X, constraints=known, sample_weight=weight)
        repeated = clone(estimator).set_params(init=start_again).fit(Y, constraints=known_again)
        told = " under must-links" if links else ""
        assert np.array_equal(weighted.labels_[item], repeated.labels_), f"weighted is not repeated{told}"
        assert np.isclose(weighted.objective_, repeated.objective_, rtol=1e-9), (
            f"weighted and repeated{told} have objectives {weighted.objective_} and {repeated.objective_}"
        )


def check_score_takes_weights(estimator: Any) -> None:
    """A search with routing may hand `sample_weight` to `score`."""
    _needs_method(estimator, "score")
    X, _ = blobs(estimator)
    model = _set(estimator).fit(X)
    assert "sample_weight" in inspect.signature(model.score).parameters, "score has no sample_weight"
    plain = model.score(X)
    assert np.isclose(model.score(X, sample_weight=np.ones(len(X))), plain), "weights of one change the score"
    assert np.isfinite(plain), f"the score is {plain}"


def check_threads_do_not_matter(estimator: Any) -> None:
    """One thread and two give the same labels, on data large enough to be shared out."""
    _needs_features(estimator)
    _needs(not estimator.works_on_pairs, "a method that can hold 50,000 items")
    n, rng = 50_000, np.random.default_rng(7)
    truth = rng.integers(4, size=n)
    X = 1.5 * rng.normal(size=(4, 3))[truth] + rng.normal(size=(n, 3))
    pairs, kinds = Constraints.sample(truth, n_pairs=500, random_state=0), estimator.constraint_kinds
    known = Constraints(
        pairs.must_link if "must-link" in kinds else None,
        pairs.cannot_link if "cannot-link" in kinds else None,
        n_items=n,
    )
    if "label" in kinds:
        known = known | Constraints.from_labels(np.where(np.arange(n) % 500 == 0, truth, -1))
    _set(estimator, 4)
    if "max_iter" in estimator.get_params():
        estimator.set_params(max_iter=10)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(clone(estimator).fit(X, constraints=known).labels_)
    n_other = int((found[0] != found[1]).sum())
    assert not n_other, f"{n_other} of {n} labels change with the number of threads"


def check_history(estimator: Any) -> None:
    """`history_` ends in `objective_` and, where the class says so, never rises."""
    for seed in range(3):
        X, truth = blobs(estimator) if _takes_distances(estimator) else cloud(seed)
        known = true_constraints(truth, estimator.constraint_kinds)
        model = _set(clone(estimator)).fit(X, constraints=known)
        history = np.asarray(model.history_, dtype=float)
        assert history.ndim == 1, f"history_ has shape {history.shape}"
        assert len(history), "history_ is empty"
        assert np.isclose(history[-1], model.objective_, rtol=1e-9, atol=0), (
            f"history_ ends in {history[-1]}, objective_ is {model.objective_}"
        )
        rises = np.diff(history) > 1e-9 * np.abs(history[:-1])
        assert not (model.monotone and rises.any()), (
            f"history_ rises after {np.flatnonzero(rises)}: {history}"
        )


def check_warm_start_keeps_numbers(estimator: Any) -> None:
    """A second fit from the model of the first finds its clusters under their numbers, whatever the seed."""
    _needs_parameter(estimator, "warm_start")
    _needs_parameter(estimator, "random_state")
    X, truth = blobs(estimator)
    model = _set(estimator).set_params(warm_start=True)
    first = model.fit(X).labels_.copy()
    for seed in range(1, 6):
        again = model.set_params(random_state=seed).fit(X * 1.01).labels_
        assert _same_partition(again, truth), "a warm start finds other clusters"
        assert np.array_equal(again, first), "a warm start numbers the clusters anew"
