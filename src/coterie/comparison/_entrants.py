"""Who takes part in a comparison: methods by name, estimators of the user, and plain clustering."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from coterie.methods import METHODS, Method, Task, find_distance, find_method, suitable_methods, wrong_input

PLAIN = "plain"
_OWN_ARGUMENTS = ("n_clusters", "n_components", "metric", "random_state")


def _as_given(X: Any, kept: Any) -> Any:
    return X


@dataclass(frozen=True)
class Entrant:
    """One method of a comparison."""

    name: str
    make: Callable[[int], Any]  # of a seed: a fresh estimator
    informed: bool = True  # whether it is told the constraints; only plain clustering is not
    keeps_hard: bool = True  # whether what is marked hard holds in its outcome
    fit_with: Mapping[str, Any] = field(default_factory=dict)  # more arguments of its fit
    refusal: str | None = None  # why it cannot take part
    rows: Callable[[Any, Any], Any] = _as_given  # of X and what is kept: what it clusters

    def labels(self, rows: Any, kept: Any, seed: int) -> Any:
        """Fit on what is kept, and return the labels; each step of a pipeline is told what it asks for."""
        known = {"constraints": kept} if self.informed else {}
        with config_context(enable_metadata_routing=True):
            return self.make(seed).fit_predict(rows, **known, **self.fit_with)


class LearnedRows:
    """X in the space of a distance, which is learned once a fold for all methods behind it."""

    def __init__(self, distance: Any) -> None:
        self._distance = find_distance(distance).estimator() if isinstance(distance, str) else distance
        self._kept: Any = None
        self._rows: Any = None

    def __call__(self, X: Any, kept: Any) -> Any:
        """The rows after what is kept has taught the distance."""
        if kept is not self._kept:
            self._rows = clone(self._distance).fit(X, constraints=kept).transform(X)
            self._kept = kept
        return self._rows


def find_entrants(
    methods: Any, task: Task, parameters: Mapping[str, Any], fit_with: Mapping[str, Any], distance: Any = None
) -> list[Entrant]:
    """The entrants in the order given, plain clustering last."""
    suitable = methods is None
    listed = list(suitable_methods(task)) if suitable else [_read(entry) for entry in _as_list(methods)]
    if not listed:
        raise ValueError(
            "no method takes all that is given here (constraints, bounds, connectivity, distance) together."
            if suitable
            else "methods is empty: name at least one, or leave it out to compare all that are suitable."
        )
    _check_parameters(parameters, [one for one in listed if isinstance(one, Method)])
    rows = _as_given if distance is None else LearnedRows(distance)
    entrants = [
        replace(_by_name(one, task, parameters, fit_with), rows=rows)
        if isinstance(one, Method)
        else _by_instance(*one, fit_with=fit_with)
        for one in listed
    ]
    names = [entrant.name for entrant in entrants]
    for name in names:
        if name == PLAIN:
            raise ValueError(
                f"{PLAIN!r} is the name of clustering without constraints; call your method otherwise."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"two methods are called {name!r}; tell them apart: methods=[('light', PCKMeans(...)), ...]."
            )
    return [*entrants, _plain(task, parameters, fit_with)]


def _as_list(methods: Any) -> list[Any]:
    if isinstance(methods, str | BaseEstimator):
        return [methods]
    if not isinstance(methods, Iterable):
        raise TypeError(f"methods is a list of names or estimators; got {methods!r}.")
    return list(methods)


def _read(entry: Any) -> Method | tuple[str, Any]:
    """A method of the registry, or a name and an estimator."""
    if isinstance(entry, Method):
        return entry
    if isinstance(entry, str):
        return find_method(entry)
    is_pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
    name, estimator = entry if is_pair else (" + ".join(type(one).__name__ for one in _steps(entry)), entry)
    if isinstance(estimator, type) or not hasattr(estimator, "fit_predict"):
        raise TypeError(
            f"methods holds names, estimators, or pairs of a name and an estimator; got {entry!r}."
        )
    return name, estimator


def _steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline that are fitted; of any other estimator itself."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [one for _, step in estimator.steps for one in _steps(step) if hasattr(one, "fit")]


def _check_parameters(parameters: Mapping[str, Any], methods: list[Method]) -> None:
    known = {name for method in methods for name in _parameters_of(method)}
    for name in parameters:
        if name in _OWN_ARGUMENTS:
            raise ValueError(f"{name!r} is an argument of compare itself, not one of parameters.")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"none of the methods compared has a parameter {name!r}.{hint}")


def _parameters_of(method: Method) -> set[str]:
    return set(inspect.signature(method.estimator).parameters) - set(_OWN_ARGUMENTS)


def _by_name(
    method: Method, task: Task, parameters: Mapping[str, Any], fit_with: Mapping[str, Any]
) -> Entrant:
    own = {name: value for name, value in parameters.items() if name in _parameters_of(method)}

    def make(seed: int) -> Any:
        return method.build(task.n_clusters, metric=task.metric, random_state=seed, **own)

    refusal = method.refuses(task, own) or _missing_arguments([method.estimator], fit_with)
    keeps = method.estimator().obeys != "none"
    return Entrant(method.name, make, keeps_hard=keeps, fit_with=fit_with, refusal=refusal)


def _by_instance(name: str, estimator: Any, *, fit_with: Mapping[str, Any]) -> Entrant:
    def make(seed: int) -> Any:
        """Make a copy; seeds that the user left open are set, so that the outcome can be repeated."""
        fresh = clone(estimator)
        given = fresh.get_params(deep=True)
        own = {key for key in given if key.split("__")[-1] == "random_state" and given[key] is None}
        return fresh.set_params(**dict.fromkeys(own, seed))

    steps = _steps(estimator)
    refusal = wrong_input(getattr(steps[-1], "wants", "rows"))
    refusal = refusal or _missing_arguments(steps, {"constraints": 0, **fit_with})
    keeps = getattr(steps[-1], "obeys", "hard") != "none"
    return Entrant(name, make, keeps_hard=keeps, fit_with=fit_with, refusal=refusal)


def _missing_arguments(steps: list[Any], wanted: Mapping[str, Any]) -> str | None:
    taken = {name: one for step in steps for name, one in inspect.signature(step.fit).parameters.items()}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return None
    missing = [name for name in wanted if name not in taken]
    return f"takes no {', '.join(missing)}" if missing else None


def _plain(task: Task, parameters: Mapping[str, Any], fit_with: Mapping[str, Any]) -> Entrant:
    """The first method of the registry that keeps bounds and connections, without any constraint."""
    free = replace(task, constraints=None)
    method = next((one for one in METHODS if one.takes_k and one.refuses(free) is None), None)
    if method is None:
        return Entrant(PLAIN, lambda seed: None, informed=False, refusal="no method keeps all of this")
    return replace(_by_name(method, free, parameters, fit_with), name=PLAIN, informed=False)
