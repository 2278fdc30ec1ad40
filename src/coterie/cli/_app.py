"""The commands; their options stand in `_options`, and the work in a file for each, loaded when it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from coterie.cli import _options as option
from coterie.cli._options import Force, Json, Request, Title
from coterie.cli._speak.screen import Screen

_CODES = """
Exit codes: 0 done; 2 bad input or usage; 3 the constraints cannot all be met; 4 not decided within the
budget; 5 done, with more or fewer clusters than asked for; 130 interrupted; 1 a fault of ours
(COTERIE_DEBUG=1 shows where).
"""

app = typer.Typer(
    name="coterie",
    help="Clusters that respect what you know.",
    epilog=_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_SHARED = {one.name: one.default for one in fields(Request) if one.init}
_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def _command(names: Iterable[str], **other: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command that is given a request with these options, `other` declared anew, and has its own behind."""
    types = {**get_type_hints(Request, include_extras=True), **other}

    def make(work: Callable[..., int]) -> Callable[..., int]:
        def command(**words: Any) -> int:
            return work(Request(**{name: words.pop(name) for name in names}), **words)

        taken = []
        for name in names:
            required = _SHARED[name] is MISSING or types[name] is option.K
            default = inspect.Parameter.empty if required else _SHARED[name]
            taken.append(inspect.Parameter(name, _BY_NAME, default=default, annotation=types[name]))
        _, *own = inspect.signature(work, eval_str=True).parameters.values()
        taken += [one.replace(kind=_BY_NAME) for one in own]
        command.__name__, command.__doc__ = work.__name__, work.__doc__
        command.__annotations__ = {one.name: one.annotation for one in taken}
        command.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        return app.command()(command)

    return make


def _folder(request: Request, out: Path | None, what: str) -> Path:
    return Path(f"{request.data.name.split('.')[0] or 'table'}-{what}") if out is None else out


@_command(_SHARED)
def cluster(
    request: Request,
    out: option.Folder = None,
    force: Force = False,
    title: Title = None,
    report: option.Report = True,
    pictures: option.Pictures = False,
    plan: option.Plan = False,
    json: Json = False,
) -> int:
    """Cluster a table under what you know; write labels, a report and the model."""
    from coterie.cli.commands.cluster import cluster as work

    target = _folder(request, out, "clusters")
    written = {"report": report, "pictures": pictures}
    return work(request, Screen(json), target, force=force, title=title, plan_only=plan, **written)


_STATED = [name for name in _SHARED if name in ("data", "clusters", "id_column") or name in option.STATED]


_RECORDS = ("data", "id_column", "pairs", "pair_columns", "labels", "distinct", "across", "settings")


@_command(_RECORDS)
def resolve(
    request: Request,
    name: option.Name = None,
    context: option.Context = None,
    compare: option.Compare = None,
    alpha: option.Alpha = None,
    threshold: option.Threshold = None,
    out: option.Folder = None,
    force: Force = False,
    title: Title = None,
    report: option.Report = True,
    plan: option.Plan = False,
    json: Json = False,
) -> int:
    """Find the records that are the same person or thing; write entities, merges and a report."""
    from coterie.cli.commands.resolve import Comparing
    from coterie.cli.commands.resolve import resolve as work

    target = _folder(request, out, "entities")
    typed = Comparing(name, compare, context, alpha, threshold)
    return work(request, Screen(json), target, typed, force=force, title=title, report=report, plan_only=plan)


@_command(_STATED, clusters=option.AnyK)
def check(request: Request, json: Json = False) -> int:
    """Say whether the constraints and bounds can all be met, what collides, and what to drop."""
    from coterie.cli.commands.check import check as work

    return work(request, Screen(json))


@_command(
    [name for name in _SHARED if name not in ("method", "settings", "map_columns")],
    clusters=option.K,
    scores=option.NoScores,
)
def compare(
    request: Request, methods: option.Methods = None, folds: option.Folds = 5, json: Json = False
) -> int:
    """Try several methods on your data: constraints are held out, predicted and scored."""
    from coterie.cli.commands.compare import compare as work

    names = [name.strip() for value in methods or [] for name in value.split(",")]
    return work(request, Screen(json), names, folds)


@app.command()
def methods(json: Json = False) -> int:
    """List the methods: what each does, when to take it, where it comes from."""
    from coterie.cli.commands.methods import methods as work

    return work(Screen(json))


@app.command()
def apply(
    model: Annotated[Path, typer.Argument(help="The folder of a run, or its model.skops.", readable=False)],
    data: Annotated[Path, typer.Argument(help="New rows, with the columns of the run.", readable=False)],
    out: option.File = None,
    impute: option.Impute = False,
    force: Force = False,
    json: Json = False,
) -> int:
    """Give new rows the clusters of a finished run."""
    from coterie.cli.commands.apply import apply as work

    return work(model, data, Screen(json), out, impute=impute, force=force)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run.", readable=False)],
    map: option.MapColumns = None,
    title: Title = None,
    pictures: option.Pictures = False,
    json: Json = False,
) -> int:
    """Write the report of a finished run again, with another map or title."""
    from coterie.cli.commands.report import report as work

    return work(run, Screen(json), map_columns=map, title=title, pictures=pictures)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        import coterie

        print(coterie.__version__)
        raise typer.Exit()
