"""The small problems behind the checks, and what a check may ask of an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import SkipTest

import numpy as np
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from coterie._arrays import by_first_occurrence
from coterie.constraints import Constraints
from coterie.exceptions import ViolatedConstraintsWarning


def blobs(estimator: Any = None) -> tuple[Any, Any]:
    """Three blobs of 12, far apart in place and direction, and their truth; distances for who takes these."""
    rng = np.random.default_rng(0)
    centres = np.array([[5.0, 60.0], [55.0, 160.0], [105.0, 110.0]])
    truth = np.repeat([0, 1, 2], 12)
    X = centres[truth] + rng.normal(size=(36, 2))
    return given_form(estimator, X), truth


def given_form(estimator: Any, X: Any) -> Any:
    """Rows as a class takes them: features, distances, weights that attract what is near, or labels."""
    if getattr(estimator, "wants", "rows") == "labels":
        low, high = X.min(axis=0), X.max(axis=0)
        return np.floor(2.999 * (X - low) / np.maximum(high - low, 1e-9))
    if not takes_distances(estimator):
        return X
    far = euclidean_distances(X)
    attracts = 0.3 * far.max() - far
    return {"weights": attracts, "graph": 1.0 * (attracts > 0)}.get(estimator.wants, far)


def cloud(seed: int = 0) -> tuple[Any, Any]:
    """36 points without clusters, and the truth that `true_constraints` speak of."""
    return np.random.default_rng(seed).normal(size=(36, 2)), np.repeat([0, 1, 2], 12)


def stated_blobs(estimator: Any) -> tuple[Any, Any, Constraints]:
    """The blobs, their truth, and true constraints of every kind that is taken."""
    X, truth = blobs(estimator)
    return X, truth, true_constraints(truth, estimator.constraint_kinds)


def pairs_of(kinds: frozenset[str], must: Any, cannot: Any, **more: Any) -> Constraints:
    """Those of the pairs whose kind is taken."""
    taken = (
        pairs if kind in kinds else None for kind, pairs in (("must-link", must), ("cannot-link", cannot))
    )
    return Constraints(*taken, **more)


def true_constraints(truth: Any, kinds: frozenset[str]) -> Constraints:
    """Constraints that agree with the truth, of the kinds wanted."""
    n = len(truth)
    must, cannot = [(0, 1), (1, 5), (13, 14), (30, 31)], [(0, 13), (5, 30), (14, 31)]
    known = pairs_of(kinds, must, cannot, n_items=n)
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


def overlapping(estimator: Any, seed: int = 0) -> tuple[Any, Any, Constraints]:
    """47 rows of three blobs that overlap, their truth, and constraints that do not all agree with the data.

    Values are whole 256ths above or at 0, so that units, zeros and absolute distances bring no rounding of
    their own, and every metric can read them. A method that need not obey is told a few falsehoods too.
    """
    rng = np.random.default_rng((1, seed))
    n = 47
    truth = rng.permutation(np.arange(n) % 3)
    X = rng.gamma(4.0, size=(n, 4)) * (1 + 2 * np.eye(3, 4)[truth])
    X[np.arange(0, n, 3), rng.integers(4, size=len(X[::3]))] = 0.0
    X = np.round(X * 256) / 256
    kinds, free = estimator.constraint_kinds, estimator.obeys != "all"
    pairs = Constraints.sample(truth, 18, how="easy", noise=0.1 * free, random_state=seed)
    known = pairs_of(kinds, pairs.must_link, pairs.cannot_link, n_items=n)
    if "must-link" not in kinds and "label" in kinds:
        known = known | Constraints.from_labels(np.where(np.arange(n) % 4 == 0, truth, -1))
    return X, truth, known


def given_start(estimator: Any, X: Any, items: Any) -> dict[str, Any]:
    """Parameters that make a fit on features begin at these items; skips a class that takes no start."""
    own = estimator.get_params()
    if "means_init" in own and own.get("emission", "gaussian") == "gaussian":
        needs(not own.get("annealing", False), "a start, which annealing does not take")
        k, d = len(items), X.shape[1]
        shapes = {"full": np.tile(np.eye(d), (k, 1, 1)), "tied": np.eye(d), "diag": np.ones((k, d))}
        shapes["auto"] = shapes["full"]
        precisions = shapes.get(own["covariance_type"], np.ones(k)) / X.var()
        start = {"weights_init": np.full(k, 1 / k), "means_init": X[items], "precisions_init": precisions}
        return {**start, "n_init": 1}
    needs_parameter(estimator, "init")
    words = estimator.parameter_rules["init"].words
    if "an array of centres" in words:
        return {"init": X[items].copy()}
    if "an array of items" in words:
        return {"init": np.asarray(items)}
    needs("labels of all items" in words, "a parameter init that takes an array")
    return {"init": euclidean_distances(X, X[items]).argmin(axis=1)}


def number(estimator: Any) -> str | None:
    """What the class calls the number of clusters, as a mixture has components; None if it has none."""
    own = estimator.get_params() if is_clusterer(estimator) else {}
    return next((name for name in ("n_clusters", "n_components") if name in own), None)


def ready(estimator: Any, n_clusters: int = 3) -> Any:
    wanted = {number(estimator) or "n_clusters": n_clusters, "random_state": 0}
    own = estimator.get_params()
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in own})


def takes_distances(estimator: Any) -> bool:
    return estimator is not None and bool(get_tags(estimator).input_tags.pairwise)


def needs(has: bool, what: str) -> None:
    """Skip the check unless this is so."""
    if not has:
        raise SkipTest(f"the check needs {what}")


def needs_features(estimator: Any) -> None:
    needs(not takes_distances(estimator), "features, not distances")


def needs_kinds(estimator: Any, *kinds: str) -> None:
    needs(set(kinds) <= estimator.constraint_kinds, f"constraints of kind {' and '.join(kinds)}")


def needs_parameter(estimator: Any, name: str) -> None:
    needs(name in estimator.get_params(), f"a parameter {name}")


def needs_sample_weight(estimator: Any) -> None:
    needs(has_fit_parameter(estimator, "sample_weight"), "sample_weight in fit")


def needs_method(estimator: Any, name: str) -> None:
    needs(hasattr(estimator, name), f"a method {name}")


@contextmanager
def quiet() -> Iterator[None]:
    """Without a word about what was outvoted, or stopped early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def fitted(estimator: Any, X: Any, known: Any = None, **more: Any) -> Any:
    """Fit a clone under these parameters, `sample_weight` apart."""
    words = {"sample_weight": more.pop("sample_weight")} if "sample_weight" in more else {}
    with quiet():
        return clone(estimator).set_params(**more).fit(X, constraints=known, **words)


def same_partition(a: Any, b: Any) -> bool:
    """Whether the labels agree but for the numbers of the clusters."""
    return bool((by_first_occurrence(a) == by_first_occurrence(b)).all())


def raises(kind: type[Exception], words: list[str], action: Callable[[], Any]) -> str:
    """Assert that the action raises this, and says these words; return the message."""
    try:
        action()
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
    lacking = [word for word in words if word not in message]
    assert not lacking, f"the message does not say {lacking}: {message}"
    return message
