"""Which method does it, with which parameters: the rule or the user's choice, bounds, and `--set`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coterie.cli._speak.trouble import INFEASIBLE, OPTIONS, Trouble, one_line

if TYPE_CHECKING:
    from coterie.cli._options import Request
    from coterie.constraints import Constraints
    from coterie.methods import Choice, Method, Task


_WITH_LEAST_SIZE = ", and with --size-min there are as many as that allows"


def choose_method(
    request: Request, n_rows: int, known: Constraints, metric: str
) -> tuple[Choice, dict[str, Any]]:
    """The method and why, and all parameters that were chosen or typed."""
    from coterie.exceptions import InfeasibleConstraintsError
    from coterie.methods import choose

    task = _task(request, n_rows, known, metric)
    if request.method.casefold() == "auto":
        by_bounds = task.connected and "minima" in task.bounds
        if task.n_clusters is None and task.given == "rows" and not by_bounds:
            message = f"{' or '.join(finders())} finds out by itself (--method)"
            raise Trouble(f"say with -k how many clusters; {message}{_WITH_LEAST_SIZE * task.connected}")
        try:
            choice = choose(task)
        except InfeasibleConstraintsError as error:
            raise Trouble("what you know cannot all be met", INFEASIBLE, str(error)) from None
    else:
        choice = _asked_for(request, n_rows)
    if request.load is not None and "sizes" not in task.bounds and not choice.method.about.bounded:
        raise Trouble("--load counts in bounds on sizes; give --size-min or --size-max too")
    settings = typed_settings(request.settings, choice.method.estimator, choice.method.name)
    refused = choice.method.refuses(task, settings)
    if refused is not None:
        ways = {"weights": "give them by --scores", "records": "`coterie resolve` does"}
        way_out = ways.get(choice.method.wants) if task.given == "rows" else None
        way_out = way_out or "`coterie methods` lists what each takes"
        raise Trouble(f"{choice.method.name} {refused}; {way_out}")
    _check_number(task, choice.method, settings, request.clusters)
    return choice, {**choice.parameters, **typed_bounds(request), **settings}


def choose_distance(request: Request) -> Any:
    """The distance to learn before the method, not yet fitted; None: none was asked for."""
    from coterie.methods import find_distance

    if request.distance is None:
        return None
    try:
        return find_distance(request.distance).estimator()
    except ValueError as error:
        raise Trouble(f"--distance {request.distance}: {error}") from None


def _asked_for(request: Request, n_rows: int) -> Choice:
    from coterie.methods import ONE_START_ABOVE, Choice, find_method

    try:
        method = find_method(request.method)
    except ValueError as error:
        raise Trouble(str(error)) from None
    if n_rows > ONE_START_ABOVE and method.starts:
        return Choice(method, "asked for; one start, since there are many rows", {"n_init": 1})
    return Choice(method, "asked for")


def _task(request: Request, n_rows: int, known: Constraints, metric: str) -> Task:
    from coterie.methods import Task

    marks = {
        "sizes": (request.size_min, request.size_max),
        "minima": (request.size_min,),
        "loads": (request.load,),
        "groups": (request.group_min, request.group_max),
    }
    bounds = frozenset(kind for kind, typed in marks.items() if any(one is not None for one in typed))
    if "groups" in bounds and request.group is None:
        raise Trouble("--group-min and --group-max need --group, the column that holds the groups")
    if "groups" not in bounds and request.group is not None:
        raise Trouble("--group needs --group-min or --group-max: how many of each group a cluster holds")
    connected, weighted = request.connected is not None, request.weight is not None
    given: Any = "rows" if request.scores is None else "weights"
    return Task(n_rows, request.n_clusters, known, bounds, metric, connected, weighted, given=given)


def finders() -> list[str]:
    """The methods that find the number of clusters in rows of features."""
    from coterie.methods import METHODS

    return [method.name for method in METHODS if not method.takes_k and method.wants == "rows"]


def _check_number(task: Task, method: Method, settings: dict[str, Any], typed: str | None) -> None:
    """The number of clusters is said once: by -k, by a distance at which merging stops, or by the method."""
    if task.n_clusters is not None and not method.takes_k:
        raise Trouble(f"{method.name} finds the number of clusters itself; leave -k {typed} out")
    if task.n_clusters is None and not method.finds_k(task) and settings.get("distance_threshold") is None:
        message = f"{' or '.join(finders())} finds out by itself"
        if method.about.number_from == "minima":
            message = "with --size-min there are as many as that allows"
        raise Trouble(f"say with -k how many clusters {method.name} shall make; {message}")


def typed_bounds(request: Request) -> dict[str, Any]:
    """The bounds as parameters of a method."""
    typed = {name: getattr(request, name) for name in ("size_min", "size_max", "group_min", "group_max")}
    for name in ("group_min", "group_max"):
        if "," in (typed[name] or ""):
            raise Trouble(f"{OPTIONS[name]} {typed[name]}: give one number, which holds for every group")
    return {name: _bound(OPTIONS[name], text) for name, text in typed.items() if text is not None}


_LARGEST = 2**53  # above, whole numbers are no longer exact


def _bound(option: str, text: str) -> Any:
    """A number of items, a share of the mean size, or one of these for each cluster, perhaps by name."""
    bounds: dict[str | int, Any] = {}
    for place, part in enumerate(text.split(",")):
        name, equals, typed = part.rpartition("=")
        typed = typed.strip()
        try:
            number = typed if typed.endswith("%") else int(typed) if typed.isdecimal() else float(typed)
        except ValueError:
            raise Trouble(
                f"{option} {text}: {typed!r} is not a number; give one number, a share such as 80%, or one "
                "for each cluster, with commas"
            ) from None
        if isinstance(number, int | float) and not abs(number) <= _LARGEST:
            raise Trouble(f"{option} {one_line(text)[:40]}: give a number that is not out of all bounds")
        bounds[name.strip() if equals else place] = number
    if any(isinstance(name, str) for name in bounds):
        if not all(isinstance(name, str) for name in bounds):
            raise Trouble(f"{option} {text}: name every cluster, as in red=10,blue=20, or none")
        return bounds
    return bounds[0] if len(bounds) == 1 else list(bounds.values())


def typed_settings(
    settings: Sequence[str] | None, estimator: Any, method: str, own: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What `--set name=value` says about parameters of the method; `own` are those with another option."""
    found: dict[str, Any] = {}
    if not settings:
        return found
    parameters = set(estimator().get_params())
    options = {**OPTIONS, **(own or {})}
    if "n_clusters" in parameters:  # then it counts other components
        options.pop("n_components")
    allowed = parameters - {*options, "verbose", "warm_start"}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise Trouble(f"--set {setting}: write it as name=value")
        if name in options:
            raise Trouble(f"--set {setting}: say that with {options[name]}")
        if name not in allowed:
            near = difflib.get_close_matches(name, sorted(allowed), n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(allowed))}"
            raise Trouble(f"--set {setting}: {method} has no parameter {name!r} to set; {hint}")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
        if value in ("inf", "Infinity"):
            found[name] = float("inf")
    return found
