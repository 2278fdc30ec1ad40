"""What the user asked for, read and checked before any work: table, features, constraints, method."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coterie.cli._job.method import choose_distance, choose_method, typed_bounds
from coterie.cli._options import Request
from coterie.cli._speak.trouble import Trouble, in_options, message_of

if TYPE_CHECKING:
    from coterie.cli._job.neighbours import NeighbourGraph, ScoredPairs
    from coterie.cli._speak.screen import Screen
    from coterie.comparison import ChosenK
    from coterie.constraints import Constraints
    from coterie.methods import Choice
    from coterie.tables import FeaturePlan, Table

_LABELS, _SURE = re.compile(r"cluster(_name)?(_\d+)?"), re.compile(r"probability(_\d+)?")
PAIR_COLUMNS = "i, j, kind (must-link or cannot-link), and if you like weight, confidence, hard, source"


@dataclass
class Job:
    """A request that can be done: what was read, and what will be fitted."""

    request: Request
    table: Table
    plan: FeaturePlan
    known: Constraints
    choice: Choice
    metric: str
    parameters: dict[str, Any]
    fit_kwargs: dict[str, Any] = field(default_factory=dict)
    # of the items on the map: coordinates, and their names
    place: dict[str, Any] = field(default_factory=dict)
    neighbours: NeighbourGraph | None = None
    chosen_k: ChosenK | None = None
    scores: ScoredPairs | None = None  # what the method is given instead of rows
    distance: Any = None  # to be learned before the method, or learned

    def estimator(self) -> Any:
        """The estimator, not yet fitted."""
        try:
            return self.choice.method.build(
                self.n_clusters, metric=self.metric, random_state=self.request.seed, **self.all_parameters()
            )
        except ValueError as error:
            raise Trouble(message_of(error)) from None

    def all_parameters(self) -> dict[str, Any]:
        """What is set, and the graph of neighbours, which is no thing to print."""
        graph = {} if self.neighbours is None else {"connectivity": self.neighbours.graph}
        return {**self.parameters, **graph}

    @property
    def distance_name(self) -> str | None:
        """The class of the distance that is learned before the method; None: there is none."""
        return None if self.distance is None else type(self.distance).__name__

    @property
    def n_clusters(self) -> int | None:
        """How many clusters are asked for (the most, until it is chosen); None: the method finds out."""
        return self.request.n_clusters


def read_data(request: Request, screen: Screen, only: Sequence[str] | None = None) -> Table:
    """Read the user's table; `only` these columns where that is enough."""
    from coterie.tables import read_table

    with screen.stage(f"reading {request.data.name}"):
        return read_table(request.data, only=only)


def prepare(request: Request, screen: Screen, features: bool = True) -> Job:
    """Read everything (without `features` only what is stated), check it, choose a method; fit nothing."""
    from coterie.tables import plan_features

    table = read_data(request, screen, only=None if features else list(request.roles()))
    for option in ("columns", "drop", "numeric", "category", "text"):
        vars(request)[option] = column_names(vars(request)[option] or (), table)
    if request.k_open:  # the method is chosen for the largest number
        request.n_clusters = request.k_range[-1] if request.k_range else max(2, table.n_rows)
    if (request.n_clusters or 0) > table.n_rows:
        where = f"{request.data.name} has {table.n_rows:,} rows; ask for fewer clusters"
        raise Trouble(f"-k {request.clusters}, but {where}")
    fit_kwargs = _fit_kwargs(request, table)
    place = coordinates_of(request, table)
    plan: Any = None
    if features:
        with screen.stage("looking at the columns"):
            plan = plan_features(
                table,
                leave_out={**_earlier_labels(request, table), **request.roles()},
                columns=request.columns or None,
                **{use: getattr(request, use) or () for use in ("drop", "numeric", "category", "text")},
                scale=request.scale,
                # what only describes clusters may have gaps, and need not be there
                impute=request.impute or request.scores is not None,
                may_be_none=request.scores is not None,
            )
    known = read_statements(request, table, screen)
    neighbours = scores = None
    if request.connected is not None:
        from coterie.cli._job.neighbours import read_neighbours

        with screen.stage(f"reading {request.connected.name}"):
            neighbours = read_neighbours(request.connected, table, request.id_column)
    if request.scores is not None:
        from coterie.cli._job.neighbours import read_scores

        with screen.stage(f"reading {request.scores.name}"):
            scores = read_scores(request.scores, table, request.id_column)
    metric = metric_of(request, plan)
    with screen.stage("choosing a method"):
        distance = choose_distance(request)
        choice, parameters = choose_method(request, table.n_rows, known, metric)
    job = Job(request, table, plan, known, choice, metric, parameters, fit_kwargs, place, neighbours)
    job.distance, job.scores = distance, scores
    return job


def metric_of(request: Request, plan: FeaturePlan | None) -> str:
    """How rows are compared: as asked for, else as suits the columns; behind a learned distance by Euclid."""
    if request.metric != "auto":
        return request.metric
    euclid = plan is None or request.distance is not None or request.scores is not None
    return "sqeuclidean" if euclid else plan.metric  # type: ignore[union-attr]


def column_names(values: Sequence[str], table: Table) -> list[str]:
    """Names of columns as they were typed: one, or several with commas, quoted where they hold a comma."""
    found: list[str] = []
    for value in values:
        if value in table.names:
            found.append(value)
        else:
            cells = next(csv.reader([value], skipinitialspace=True), [])
            found += [name.strip() for name in cells if name.strip()]
    return found


def _earlier_labels(request: Request, table: Table) -> dict[str, str]:
    """Columns that `coterie cluster` or `apply` may have written: the old answer is no feature."""
    chosen = (request.columns, request.numeric, request.category, request.text)
    wished = {name for names in chosen for name in names or ()}
    why = "looks like the clusters of an earlier run; --category takes it all the same"
    found = {name: why for name in table.names if _LABELS.fullmatch(name) and name not in wished}
    if found:  # alone, a column of that name is the user's own
        why = "looks like the probabilities of an earlier run; --numeric takes it all the same"
        found |= {name: why for name in table.names if _SURE.fullmatch(name) and name not in wished}
    return found


# ---- what is known ------------------------------------------------------------------------------------


def read_statements(request: Request, table: Table, screen: Screen) -> Constraints:
    """Everything that the user states about the items, as one value."""
    from coterie.constraints import Constraints

    try:
        ids = table.ids(request.id_column)
        known = Constraints(n_items=table.n_rows) if ids is None else Constraints(ids=ids)
        if request.pairs is not None:
            with screen.stage(f"reading {request.pairs.name}"):
                known = known | _read_pairs(request, table, ids)
        if request.labels is not None:
            known = known | Constraints.from_labels(table.column(request.labels).to_list(), ids=ids)
        elif "=" in f"{request.size_min}{request.size_max}":
            known = known | Constraints.from_labels(_seeds(request, table, ids), ids=ids)
        for column, build in ((request.distinct, Constraints.distinct), (request.across, Constraints.across)):
            if column is not None:  # as text: here -1 is a group like others
                values = [None if x is None or x != x else str(x) for x in table.column(column).to_list()]
                known = known | build(values, ids=ids)
    except (ValueError, TypeError) as error:
        raise Trouble(in_options(str(error))) from None
    return known


def _seeds(request: Request, table: Table, ids: Any) -> list[str | None]:
    """Where no column of labels names the clusters that bounds speak of, items do: each is its own label."""
    bounds = [bound for bound in typed_bounds(request).values() if isinstance(bound, dict)]
    names = {name for bound in bounds for name in bound}
    rows = [str(row) for row in (range(table.n_rows) if ids is None else ids.tolist())]
    strange = sorted(names - set(rows))
    if strange:
        raise Trouble(f"no item is called {strange[0]!r}, and no --labels name the clusters of the bounds")
    return [row if row in names else None for row in rows]


def _read_pairs(request: Request, table: Table, ids: Any) -> Constraints:
    from coterie.constraints import Constraints
    from coterie.tables import read_table

    path = request.pairs
    assert path is not None
    if path.exists() and not path.is_file():  # a folder, or a pipe that nobody writes to
        raise Trouble(f"{path} is no file; --pairs takes a .csv, .tsv, .xlsx, .json, .jsonl or .parquet")
    n_items = None if ids is not None else table.n_rows
    try:
        columns = request.pair_names()
        if path.suffix.lower() in (".tsv", ".jsonl", ".ndjson", ".xlsx"):
            frame = read_table(path).frame
            return Constraints.from_frame(frame, ids=ids, n_items=n_items, columns=columns)
        return Constraints.read(path, ids=ids, n_items=n_items, columns=columns)
    except (ValueError, TypeError, KeyError, OSError, csv.Error, ImportError) as error:
        raise Trouble(_with_hint(message_of(error), request, table)) from None


def _with_hint(message: str, request: Request, table: Table) -> str:
    """Say what to do about ids and columns that are not there."""
    message = message.replace('go into columns={"left": "i", ...}', "go into --pair-columns left=i,right=j")
    message = message.replace("columns: ", "--pair-columns: ")
    if "pass --id" in message:
        return message.replace("pass --id", "name the column that holds them with --id")
    if "unknown id" in message:
        return f"{message}; ids are those of the column {request.id_column!r} of {table.path.name}"
    if "column" in message and "kind" not in message:
        return f"{message} (a file of pairs has the columns {PAIR_COLUMNS})"
    return message


# ---- columns that are given to the fit ----------------------------------------------------------------


def _fit_kwargs(request: Request, table: Table) -> dict[str, Any]:
    kwargs: dict[str, Any] = {}
    if request.weight is not None:
        kwargs["sample_weight"] = _amounts(table, request.weight, "--weight")
    if request.load is not None:
        kwargs["size_weight"] = _amounts(table, request.load, "--load")
    if request.group is not None:
        import numpy as np

        kwargs["groups"] = np.array(table.column(request.group).to_list(), dtype=object)
    return kwargs


def _amounts(table: Table, column: str, option: str) -> Any:
    """Numbers that count something: none is negative, and they have a sum."""
    import numpy as np

    amounts = table.numbers(column)
    if (amounts < 0).any():
        row = int(np.argmax(amounts < 0))
        raise Trouble(f"{option} {column}: row {row} is {amounts[row]:g}; it cannot be less than 0")
    with np.errstate(over="ignore"):
        total = float(amounts.sum())
    if total == 0:
        raise Trouble(f"{option} {column}: it is 0 in every row")
    if not total < 1e300:
        raise Trouble(f"{option} {column}: the numbers are too large to be added up")
    return amounts


def coordinates_of(request: Request, table: Table) -> dict[str, Any]:
    """The columns that place the items on the map, as words of `write_report`."""
    if request.map_columns is None:
        return {}
    import numpy as np

    names = column_names([request.map_columns], table)
    if len(names) != 2 or names[0] == names[1]:
        raise Trouble(f"--map {request.map_columns}: give two columns, such as --map longitude,latitude")
    place = np.column_stack([table.numbers(one, missing=True) for one in names])
    return {"coordinates": place, "coordinate_names": names}
