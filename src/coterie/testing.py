"""The contract of every constrained clusterer, as checks that can be run against any class.

`check_constrained_clusterer(estimator)` runs them all and names the one that fails;
`constrained_clusterers()` finds every public class of the package, so that none escapes. They come on top
of scikit-learn's `check_estimator`. Two small problems with a known answer stand behind most checks: three
blobs far apart, with true constraints that every method must meet.
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

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import get_routing_for_object

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
_FITTED = ("labels_", "violations_", "n_iter_", "objective_", "history_", "converged_")


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
        With fast settings; `n_clusters` and `random_state` are set by the checks where it has them.
    """
    for check in constrained_checks():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ViolatedConstraintsWarning)
                check(clone(estimator))
        except Exception as error:
            raise AssertionError(f"{type(estimator).__name__} fails {check.__name__}: {error}") from error


def constrained_checks() -> list[Check]:
    """The checks, in order; each takes a fresh clone of the estimator."""
    return [value for name, value in globals().items() if name.startswith("check_") and name not in __all__]


def blobs() -> tuple[Any, Any]:
    """Three blobs of 12, far apart, and their truth."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    truth = np.repeat([0, 1, 2], 12)
    return centres[truth] + rng.normal(size=(36, 2)), truth


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


def _set(estimator: Any, n_clusters: int = 3) -> Any:
    wanted = {"n_clusters": n_clusters, "random_state": 0}
    own = estimator.get_params()
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in own})


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
    if "n_clusters" in estimator.get_params():
        estimator.set_params(n_clusters=0)
        _raises(ValueError, ["n_clusters", "0"], lambda: estimator.fit(blobs()[0]))


def check_known_answer(estimator: Any) -> None:
    """Far apart blobs with true constraints of every kind taken: the truth, and nothing broken."""
    X, truth = blobs()
    known = true_constraints(truth, estimator.constraint_kinds)
    model = _set(estimator).fit(X, constraints=known)
    assert _same_partition(model.labels_, truth), "the three blobs were not found"
    assert not model.violations_, str(model.violations_)
    for name in _FITTED:
        assert hasattr(model, name), f"{name} is missing after fit"


def check_no_constraints(estimator: Any) -> None:
    """None, nothing and an empty value are the unconstrained method."""
    X, _ = blobs()
    plain = _set(estimator).fit(X)
    empty = _set(clone(estimator)).fit(X, constraints=Constraints(n_items=len(X)))
    assert np.array_equal(plain.labels_, empty.labels_), "empty constraints change the labels"
    assert plain.violations_.n_stated == 0, "constraints were counted where none were given"


def check_same_seed_same_labels(estimator: Any) -> None:
    """Two fits from one seed agree, and a second fit of the same object too."""
    X, truth = blobs()
    known = true_constraints(truth, estimator.constraint_kinds)
    first = _set(estimator).fit(X, constraints=known).labels_.copy()
    again = _set(clone(estimator)).fit(X, constraints=known).labels_
    assert np.array_equal(first, again), "two fits from one seed differ"
    assert np.array_equal(first, estimator.fit(X, constraints=known).labels_), "a second fit differs"


def check_inputs_untouched(estimator: Any) -> None:
    """X and the constructor's parameters are left as they were."""
    X, truth = blobs()
    before, params = X.copy(), copy.deepcopy(_set(estimator).get_params())
    estimator.fit(X, constraints=true_constraints(truth, estimator.constraint_kinds))
    assert np.array_equal(X, before), "X was changed"
    assert repr(estimator.get_params()) == repr(params), "a parameter was changed"


def check_y_is_ignored(estimator: Any) -> None:
    """The truth never leaks into a fit."""
    X, truth = blobs()
    wrong = np.random.default_rng(1).permutation(truth)
    plain = _set(estimator).fit(X).labels_
    assert np.array_equal(plain, _set(clone(estimator)).fit(X, wrong).labels_), "y changes the labels"


def check_number_of_items(estimator: Any) -> None:
    """Constraints on another number of items, or a bare list of pairs, are refused."""
    X, _ = blobs()
    _set(estimator)
    too_few = Constraints([(0, 1)], n_items=10)
    _raises(ValueError, ["10", str(len(X))], lambda: estimator.fit(X, constraints=too_few))
    _raises(TypeError, ["Constraints"], lambda: estimator.fit(X, constraints=[(0, 1)]))


def check_partial_labels(estimator: Any) -> None:
    """A vector of partial labels means `Constraints.from_labels`."""
    if "label" not in estimator.constraint_kinds:
        return
    X, truth = blobs()
    partial = np.where(np.arange(len(truth)) % 4 == 0, truth, -1)
    vector = _set(estimator).fit(X, constraints=partial).labels_
    value = _set(clone(estimator)).fit(X, constraints=Constraints.from_labels(partial)).labels_
    assert np.array_equal(vector, value), "a label vector and from_labels differ"


def check_refuses_other_kinds(estimator: Any) -> None:
    """A kind that the method cannot honour is refused by name."""
    X, truth = blobs()
    for kind in sorted(ALL_KINDS - estimator.constraint_kinds):
        known = true_constraints(truth, frozenset({kind}))
        _raises(UnsupportedConstraintError, [kind], partial(estimator.fit, X, constraints=known))


def check_violations_are_recounted(estimator: Any) -> None:
    """`violations_` agrees with a slow recount of labels_, on pairs that cut through the blobs."""
    X, _ = blobs()
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


def check_hard_pairs_hold(estimator: Any) -> None:
    """Pairs marked hard hold in a soft method too, against the data."""
    X, _ = blobs()
    must = [(0, 12)] if "must-link" in estimator.constraint_kinds else None
    cannot = [(4, 5)] if "cannot-link" in estimator.constraint_kinds else None
    known = Constraints(must, cannot, n_items=len(X), weight=1e-9, hard=True)
    model = _set(estimator).fit(X, constraints=known)
    assert not model.violations_, str(model.violations_)


def check_permuted_items(estimator: Any) -> None:
    """The order of the items does not matter where the answer is clear."""
    X, truth = blobs()
    order = np.random.default_rng(2).permutation(len(X))
    known = true_constraints(truth, estimator.constraint_kinds)
    model = _set(estimator).fit(X[order], constraints=known[order])
    assert _same_partition(model.labels_, truth[order]), "permuted items give another partition"


def check_scaled_features(estimator: Any) -> None:
    """The unit of the features does not matter, unless the class says that it does."""
    if not estimator.scale_invariant:
        return
    X, truth = blobs()
    known = true_constraints(truth, estimator.constraint_kinds)
    plain = _set(estimator).fit(X, constraints=known).labels_
    for factor in (1e-6, 1e6):
        scaled = _set(clone(estimator)).fit(factor * X + 3 * factor, constraints=known).labels_
        assert _same_partition(plain, scaled), f"features times {factor:g} give another partition"


def check_duplicate_and_self_pairs(estimator: Any) -> None:
    """Repeated pairs and must-links of an item with itself are legal."""
    if "must-link" not in estimator.constraint_kinds:
        return
    X, truth = blobs()
    known = Constraints([(0, 1), (1, 0), (0, 1), (7, 7)], n_items=len(X))
    model = _set(estimator).fit(X, constraints=known)
    assert _same_partition(model.labels_, truth)


def check_contradiction(estimator: Any) -> None:
    """A hard method raises in the user's ids; a soft one goes on and reports."""
    if not {"must-link", "cannot-link"} <= estimator.constraint_kinds:
        return
    X, _ = blobs()
    ids = [f"row-{i}" for i in range(len(X))]
    known = Constraints(
        [("row-0", "row-3"), ("row-3", "row-5")],
        [("row-0", "row-5")],
        ids=ids,
        hard=True,
    )
    words = ["row-0", "row-3", "row-5"]
    _raises(InfeasibleConstraintsError, words, lambda: _set(estimator).fit(X, constraints=known))
    if estimator.obeys == "hard":
        soft = Constraints([(0, 3), (3, 5)], [(0, 5)], n_items=len(X))
        assert clone(estimator).fit(X, constraints=soft).violations_.n_broken > 0


def check_too_many_apart(estimator: Any) -> None:
    """More items that are all apart than clusters: an error of a hard method, a report of a soft one."""
    if "cannot-link" not in estimator.constraint_kinds or "n_clusters" not in estimator.get_params():
        return
    X, _ = blobs()
    apart = [(i, j) for i in range(4) for j in range(i)]
    hard = Constraints(None, apart, n_items=len(X), hard=True)
    _raises(InfeasibleConstraintsError, ["3 clusters"], lambda: _set(estimator).fit(X, constraints=hard))
    if estimator.obeys == "hard":
        soft = Constraints(None, apart, n_items=len(X))
        assert clone(estimator).fit(X, constraints=soft).violations_.n_broken > 0


def check_long_chain(estimator: Any) -> None:
    """A chain of 100,000 must-links neither overflows nor turns into pairs."""
    if "must-link" not in estimator.constraint_kinds or estimator.works_on_pairs:
        return
    n = 100_000
    X = np.repeat([[0.0], [100.0]], n // 2, axis=0)
    first = np.arange(n // 2 - 1)
    links = np.concatenate([first, first + n // 2])
    known = Constraints(np.column_stack([links, links + 1]), n_items=n, hard=True)
    model = _set(estimator, 2).fit(X, constraints=known)
    assert not model.violations_
    assert _same_partition(model.labels_, X[:, 0] > 50)


def check_small_data(estimator: Any) -> None:
    """One item; as many clusters as items; more clusters than items."""
    _set(estimator, 1).fit(np.zeros((1, 2)))
    if "n_clusters" not in estimator.get_params():
        return
    X = np.arange(8.0).reshape(4, 2)
    labels = _set(clone(estimator), 4).fit(X).labels_
    assert len(np.unique(labels)) == 4, "as many clusters as items, but some share one"
    _raises(ValueError, ["n_clusters", "4"], lambda: _set(clone(estimator), 5).fit(X))


def check_hostile_data(estimator: Any) -> None:
    """NaN and infinity are refused; constant features and repeated rows are not."""
    X, _ = blobs()
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        _raises(ValueError, [], partial(_set(estimator).fit, broken))
    constant = np.column_stack([np.repeat([0.0, 9.0, 99.0], 4), np.ones(12)])
    assert _same_partition(_set(clone(estimator)).fit(constant).labels_, np.repeat([0, 1, 2], 4))


def check_pickle(estimator: Any) -> None:
    """A fitted model survives pickling with its account of the constraints."""
    X, truth = blobs()
    model = _set(estimator).fit(X, constraints=true_constraints(truth, estimator.constraint_kinds))
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.labels_, model.labels_)
    assert str(back.violations_) == str(model.violations_)
    if hasattr(model, "predict"):
        assert np.array_equal(back.predict(X), model.predict(X)), "predict differs after pickling"


def check_search_splits_constraints(estimator: Any) -> None:
    """A search hands each fold the constraints among its own rows, with routing on and off."""
    assert get_routing_for_object(estimator).fit.requests.get("constraints") is True, (
        "not requested by default"
    )
    X, truth = blobs()
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
