"""`coterie resolve`: which records are the same person or thing; entities, merges and a report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._words import count_of
from coterie.cli._job.fit import failing_in_words, fitted
from coterie.cli._job.method import typed_settings
from coterie.cli._job.output_folder import check_free, whole_folder
from coterie.cli._job.request import Request, column_names, read_data, read_statements
from coterie.cli._job.run_account import (
    fingerprint,
    labels_name,
    mark_whole,
    run_facts,
    say_done,
    say_table,
    table_facts,
    write_outcomes,
)
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, INFEASIBLE, Trouble, in_options

if TYPE_CHECKING:
    from coterie.constraints import Constraints
    from coterie.tables import Table

_METHOD = "EntityResolver"
_OWN = {"columns": "--compare", "alpha": "--alpha", "threshold": "--threshold", "contexts": "--context"}


@dataclass(frozen=True)
class Comparing:
    """The options of this command alone, as they were typed."""

    name: list[str] | None = None
    compare: list[str] | None = None
    context: str | None = None
    alpha: float | None = None
    threshold: str | None = None


@dataclass(frozen=True)
class RecordsJob:
    """What was read."""

    table: Table
    known: Constraints
    columns: dict[str, str]  # what is compared, and how
    parameters: dict[str, Any]
    context: str | None

    def estimator(self) -> Any:
        """The resolver, not yet fitted."""
        from coterie.relational import EntityResolver

        return EntityResolver(columns=self.columns, **self.parameters)

    def cells(self, names: Any) -> Any:
        """Some columns as a frame."""
        import polars as pl

        return pl.DataFrame([self.table.column(name).alias(name) for name in names])

    def contexts(self) -> list[Any] | None:
        """The context of each record; None: they have none."""
        return None if self.context is None else self.table.column(self.context).to_list()


def resolve(
    request: Request,
    screen: Screen,
    target: Path,
    typed: Comparing,
    *,
    force: bool,
    title: str | None,
    report: bool,
    plan_only: bool,
) -> int:
    """Do the whole job, or with `plan_only` say what it would be."""
    started = time.perf_counter()
    check_free(target, force)
    records = _read(request, typed, screen)
    say_table(records.table, (), records.known, screen)
    for line in _plan_lines(records):
        screen.say(line)
    if plan_only:
        _rehearse(records)
        screen.say(f"Would write {target}; nothing was done.")
        screen.finish({"plan": _plan(records), "out": str(target)})
        return DONE
    with whole_folder(target, force) as folder:
        X, contexts = records.cells(records.columns), records.contexts()
        try:
            model, warned, seconds = fitted(
                records.estimator(), X, screen, constraints=records.known, contexts=contexts
            )
        except Trouble as trouble:
            raise Trouble(_in_our_options(str(trouble)), trouble.code, trouble.explanation) from None
        for warning in warned:
            screen.say(f"Note: {_in_our_options(warning)}")
        account = model.account()
        facts = {
            **run_facts(seeded=False),
            **_plan(records),
            "n_clusters": account.n_clusters,
            **account.figures,
            "n_stated": model.violations_.n_stated,
            "n_broken": model.violations_.n_broken,
            "warnings": [_in_our_options(warning) for warning in warned],
        }
        found = count_of(account.n_clusters, "entity")
        facts["title"] = title or f"{records.table.path.name}: {found}"
        facts["data"]["blake2b"] = fingerprint(records.table.path)
        files = _write(folder, records, X, model, facts, seconds, screen, report)
        mark_whole(folder, facts, files, seconds, started)
    lines = [f"\n{count_of(records.table.n_rows, 'record')} of {found}", *account.remarks]
    if facts["n_stated"]:
        lines.append(in_options(str(model.violations_)))
    say_done(lines, target, facts, screen)
    return DONE


# ---- what was asked -----------------------------------------------------------------------------------


def _read(request: Request, typed: Comparing, screen: Screen) -> RecordsJob:
    from coterie.relational._records import COMPARATORS

    table = read_data(request, screen)
    columns = dict.fromkeys(column_names(typed.name or (), table), "person-name")
    for text in typed.compare or ():
        column, equals, comparator = (part.strip() for part in text.rpartition("="))
        if not (equals and column and comparator):
            raise Trouble(f"--compare {text}: write COLUMN=COMPARATOR, such as title=tokens")
        if comparator not in COMPARATORS:
            raise Trouble(
                f"--compare {text}: there is no comparator {comparator!r}; there are {', '.join(COMPARATORS)}"
            )
        if columns.get(column, comparator) != comparator:
            raise Trouble(
                f"column {column!r} is compared as {columns[column]} and as {comparator}; choose one"
            )
        columns[column] = comparator
    if not columns:
        raise Trouble("say what tells records apart: --name COLUMN for names of people, --compare COLUMN=HOW")
    for column in (*columns, *([] if typed.context is None else [typed.context])):
        table.column(column)
    parameters = typed_settings(request.settings, _estimator(), _METHOD, own=_OWN)
    if typed.alpha is not None or typed.context is None:  # nobody is beside a record: only names count
        parameters["alpha"] = typed.alpha or 0.0
    if typed.threshold is not None:
        parameters["threshold"] = _threshold(typed.threshold)
    known = read_statements(request, table, screen)
    return RecordsJob(table, known, columns, parameters, typed.context)


def _estimator() -> Any:
    from coterie.relational import EntityResolver

    return EntityResolver


def _threshold(text: str) -> float | str:
    if text.strip().casefold() == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise Trouble(f"--threshold {text}: give a number from 0 to 1, or auto") from None


def _in_our_options(text: str) -> str:
    """A message with the options of this command: parameters that have one are not set by --set."""
    for name, option in _OWN.items():
        text = text.replace(f"--set {name}=", f"{option} ").replace(f"--set {name}", option)
    return text


def _rehearse(records: RecordsJob) -> None:
    """Raise what the run would raise before it compares anything."""
    from coterie.base import check_parameters
    from coterie.relational._records import read_records

    with failing_in_words(_METHOD):
        check_parameters(records.estimator())
        read_records(records.cells(records.columns), records.columns)
    collision = records.known.explain()
    if collision.status == "infeasible":
        raise Trouble("what you know cannot all be met", INFEASIBLE, in_options(str(collision)))


# ---- what comes out -----------------------------------------------------------------------------------


def _write(
    folder: Path,
    records: RecordsJob,
    X: Any,
    model: Any,
    facts: dict[str, Any],
    seconds: float,
    screen: Screen,
    report: bool,
) -> list[str]:
    """Write everything but the file that marks a whole run; the names of the files."""
    from coterie.tables import free_name, write_table

    files = [labels_name(records.table)]
    facts["entity_column"] = free_name(records.table, "entity")
    with screen.stage("writing entities"):
        write_table(records.table, folder / files[0], {facts["entity_column"]: model.labels_})
        files.append("merges.csv")
        _merges(records, model.merges_).write_csv(folder / files[-1])
        near = model.near_merges_
        if len(near):
            import polars as pl

            why = [model.why_apart(int(one["left"]), int(one["right"])) for one in near]
            files.append("near-merges.csv")
            reasons = pl.Series("kept_apart_by", why, pl.String)
            _merges(records, near).with_columns(reasons).write_csv(folder / files[-1])
    plain = None
    if records.known:
        with screen.stage("resolving without what you know, to compare"):
            plain, _, _ = fitted(records.estimator(), X, screen, contexts=records.contexts())
    files += write_outcomes(folder, model, X, records.known, None if plain is None else plain.labels_, screen)
    if report:
        from coterie.report import write_report

        compared = ", ".join(f"{column} ({how})" for column, how in records.columns.items())
        with screen.stage("writing the report"):
            write_report(
                folder / "report.html",
                model,
                X,
                plain=None if plain is None else plain.labels_,
                title=facts["title"],
                command=facts["command"],
                notes=[*records.table.notes, f"Compared: {compared}.", *facts["warnings"]],
                seconds=seconds,
            )
        files.append("report.html")
    return files


def _merges(records: RecordsJob, merges: Any) -> Any:
    """Merges as a table: who joined whom (ids, or row numbers), what their records say, and why."""
    import polars as pl

    ids = records.known.ids
    found: dict[str, Any] = {}
    for side in ("left", "right"):
        found[side] = merges[side] if ids is None else [ids[row] for row in merges[side].tolist()]
    for column in records.columns:
        cells = records.table.column(column)
        for side in ("left", "right"):
            found[f"{side}_{column}"] = cells.gather(merges[side])
    for part in ("similarity", "attribute", "relational"):
        found[part] = merges[part]
    return pl.DataFrame(found, strict=False)


def _plan_lines(records: RecordsJob) -> list[str]:
    compared = ", ".join(f"{column} ({how})" for column, how in records.columns.items())
    lines = [f"Compared: {compared}"]
    cells = records.contexts()
    if cells is None:
        lines.append("No --context: records are compared by what they say alone.")
    else:
        column = records.table.column(records.context or "").drop_nulls()
        n_none = records.table.n_rows - len(column)
        none = f"; {count_of(n_none, 'record')} in none" if n_none else ""
        lines.append(f"Contexts: {count_of(column.n_unique(), 'value')} of {records.context}{none}")
    given = [f"{name} = {value}" for name, value in records.parameters.items()]
    return [*lines, f"Method: {', '.join([_METHOD, *given])}"]


def _plan(records: RecordsJob) -> dict[str, Any]:
    return {
        **table_facts(records.table, records.known),
        "method": _METHOD,
        "compared": records.columns,
        "context": records.context,
        "parameters": records.parameters,
    }
