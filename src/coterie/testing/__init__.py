"""The contract of every constrained clusterer, as checks that can be run against any class.

`check_constrained_clusterer(estimator)` runs them all and names the one that fails;
`constrained_clusterers()` finds every public class of the package, so that none escapes. They come on top
of scikit-learn's `check_estimator`. Some are promises of the interface; the others, `invariant_checks()`, are
invariants: what may be done to the data, their form or their order without changing the answer.
`check_learned_distance` and `learned_distances` do the same for the distances, `check_pair_classifier` and
`pair_classifiers` for the classifiers of labels and pairs.

A check of something that the class does not have (`transform`, sample weights, sparse input, ...) raises
`unittest.SkipTest`, as scikit-learn's checks do, so that a report shows what was not looked at. So does one
that the class names in `exempt`, with the reason.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import SkipTest

from sklearn.base import BaseEstimator, clone

import coterie
from coterie.base import ConstrainedClusterMixin
from coterie.distance import LearnedDistance
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.semisupervised import PairClassifier
from coterie.testing import _classifiers, _contract, _invariants, _transformers

__all__ = [
    "check_constrained_clusterer",
    "check_learned_distance",
    "check_pair_classifier",
    "classifier_checks",
    "constrained_checks",
    "constrained_clusterers",
    "distance_checks",
    "invariant_checks",
    "learned_distances",
    "pair_classifiers",
    "run_check",
]

Check = Callable[[Any], None]


def constrained_clusterers() -> Iterator[type]:
    """Yield every public constrained clusterer of the package, each once."""
    return _public(ConstrainedClusterMixin)


def learned_distances() -> Iterator[type]:
    """Yield every public learned distance of the package, each once."""
    return _public(LearnedDistance)


def pair_classifiers() -> Iterator[type]:
    """Yield every public classifier of labels and pairs, each once."""
    return _public(PairClassifier)


def _public(parent: type) -> Iterator[type]:
    seen = {parent}
    for module_info in pkgutil.walk_packages(coterie.__path__, "coterie."):
        if any(part.startswith("_") for part in module_info.name.split(".")):
            continue
        module = importlib.import_module(module_info.name)
        for name, found in inspect.getmembers(module, inspect.isclass):
            public = not name.startswith("_") and issubclass(found, parent)
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
    _run_all(constrained_checks(), estimator)


def check_learned_distance(estimator: Any) -> None:
    """Run every check against an unfitted distance; raises AssertionError that names the first that fails.

    Parameters
    ----------
    estimator : estimator instance
        With fast settings; `tol` is set by the checks where it has one.
    """
    _run_all(distance_checks(), estimator)


def check_pair_classifier(estimator: Any) -> None:
    """Run every check against an unfitted classifier; raises AssertionError that names the first that fails.

    Parameters
    ----------
    estimator : estimator instance
        With a kernel of features; `tol` and `max_iter` are set by the checks.
    """
    _run_all(classifier_checks(), estimator)


def _run_all(checks: list[Check], estimator: Any) -> None:
    for check in checks:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ViolatedConstraintsWarning)
                run_check(check, estimator)
        except SkipTest:
            continue
        except Exception as error:
            raise AssertionError(f"{type(estimator).__name__} fails {check.__name__}: {error}") from error


def constrained_checks() -> list[Check]:
    """The checks of a clusterer, in order; each takes a fresh clone of the estimator."""
    return _checks_of(_contract) + invariant_checks()


def invariant_checks() -> list[Check]:
    """Those of the checks of a clusterer that compare two fits which must agree."""
    return _checks_of(_invariants)


def distance_checks() -> list[Check]:
    """The checks of a learned distance; the first of them are those that clusterers have too."""
    shared = (
        _contract.check_every_parameter_has_a_rule,
        _contract.check_number_of_items,
        _contract.check_inputs_untouched,
    )
    return [*shared, *_checks_of(_transformers)]


def classifier_checks() -> list[Check]:
    """The checks of a classifier of labels and pairs."""
    return [_contract.check_every_parameter_has_a_rule, *_checks_of(_classifiers)]


def _checks_of(module: Any) -> list[Check]:
    return [check for name, check in vars(module).items() if name.startswith("check_")]


def run_check(check: Check, estimator: Any) -> None:
    """Run one check on a fresh clone; raises SkipTest where the class is exempt."""
    if check.__name__ in estimator.exempt:
        raise SkipTest(f"{type(estimator).__name__}: {estimator.exempt[check.__name__]}")
    check(clone(estimator))


def __getattr__(name: str) -> Any:
    """Each check is offered by its name too."""
    checks = constrained_checks() + distance_checks() + classifier_checks()
    found = next((check for check in checks if check.__name__ == name), None)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
