"""The commands; their options stand in `_options`, and the work in a file for each, loaded when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli._options import (
    OUT,
    Across,
    Category,
    Columns,
    Connected,
    Data,
    Distinct,
    Drop,
    Force,
    Group,
    GroupMax,
    GroupMin,
    Id,
    Impute,
    Json,
    K,
    Labels,
    Load,
    Map,
    MaybeK,
    Metric,
    Numeric,
    Pairs,
    Scale,
    Seed,
    Settings,
    SizeMax,
    SizeMin,
    Text,
    Title,
    Weight,
)
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import Trouble

_CODES = """
Exit codes: 0 done; 2 bad input or usage; 3 the statements cannot all be met; 4 not decided within the budget;
130 interrupted; 1 a fault of ours (COTERIE_DEBUG=1 shows where).
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


def _checked_metric(metric: str) -> str:
    if metric not in ("auto", "sqeuclidean", "cosine"):
        raise Trouble(f"--metric {metric}: it is auto, sqeuclidean or cosine")
    return metric


@app.command()
def cluster(
    data: Data,
    k: MaybeK = None,
    id: Id = None,
    pairs: Pairs = None,
    labels: Labels = None,
    distinct: Distinct = None,
    across: Across = None,
    connected: Connected = None,
    size_min: SizeMin = None,
    size_max: SizeMax = None,
    load: Load = None,
    weight: Weight = None,
    group: Group = None,
    group_min: GroupMin = None,
    group_max: GroupMax = None,
    method: Annotated[
        str, typer.Option("--method", help="A name from `coterie methods`, or auto, which says why.")
    ] = "auto",
    settings: Settings = None,
    seed: Seed = 0,
    columns: Columns = None,
    drop: Drop = None,
    numeric: Numeric = None,
    category: Category = None,
    text: Text = None,
    scale: Scale = True,
    impute: Impute = False,
    metric: Metric = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            readable=False,
            help="Folder to write; default: the table's name.",
            rich_help_panel=OUT,
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    map: Map = None,
    title: Title = None,
    report: Annotated[
        bool,
        typer.Option("--report/--no-report", help="Write report.html and pictures.", rich_help_panel=OUT),
    ] = True,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be done, and do not do it.", rich_help_panel=OUT)
    ] = False,
    json: Json = False,
) -> int:
    """Cluster a table under what you know; write labels, a report and the model."""
    from coterie.cli._job.request import Request
    from coterie.cli.commands.cluster import cluster as work

    request = Request(
        data=data,
        n_clusters=k,
        id_column=id,
        pairs=pairs,
        labels=labels,
        distinct=distinct,
        across=across,
        connected=connected,
        method=method,
        size_min=size_min,
        size_max=size_max,
        load=load,
        weight=weight,
        group=group,
        group_min=group_min,
        group_max=group_max,
        columns=columns or (),
        drop=drop or (),
        numeric=numeric or (),
        category=category or (),
        text=text or (),
        map_columns=map,
        scale=scale,
        impute=impute,
        metric=_checked_metric(metric),
        seed=seed,
        settings=settings or (),
    )
    target = Path(f"{data.name.split('.')[0] or 'table'}-clusters") if out is None else out
    return work(request, Screen(json), target, force=force, title=title, report=report, plan_only=plan)


@app.command()
def check(
    data: Data,
    pairs: Pairs = None,
    k: Annotated[
        int | None, typer.Option("-k", "--clusters", min=1, help="Number of clusters.", show_default=False)
    ] = None,
    id: Id = None,
    labels: Labels = None,
    distinct: Distinct = None,
    across: Across = None,
    json: Json = False,
) -> int:
    """Say whether the statements can all be met, what collides, and what to drop."""
    from coterie.cli._job.request import Request
    from coterie.cli.commands.check import check as work

    request = Request(
        data=data, n_clusters=k, id_column=id, pairs=pairs, labels=labels, distinct=distinct, across=across
    )
    return work(request, Screen(json))


@app.command()
def compare(
    data: Data,
    k: K,
    id: Id = None,
    pairs: Pairs = None,
    labels: Labels = None,
    distinct: Distinct = None,
    across: Across = None,
    connected: Connected = None,
    size_min: SizeMin = None,
    size_max: SizeMax = None,
    load: Load = None,
    weight: Weight = None,
    group: Group = None,
    group_min: GroupMin = None,
    group_max: GroupMax = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", help="Which (with commas); default: all that fit.", show_default=False),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Into how many parts pairs are cut.")] = 5,
    seed: Seed = 0,
    columns: Columns = None,
    drop: Drop = None,
    numeric: Numeric = None,
    category: Category = None,
    text: Text = None,
    scale: Scale = True,
    impute: Impute = False,
    metric: Metric = "auto",
    json: Json = False,
) -> int:
    """Try several methods on your data: statements are held out, predicted and scored."""
    from coterie.cli._job.request import Request
    from coterie.cli.commands.compare import compare as work

    request = Request(
        data=data,
        n_clusters=k,
        id_column=id,
        pairs=pairs,
        labels=labels,
        distinct=distinct,
        across=across,
        connected=connected,
        size_min=size_min,
        size_max=size_max,
        load=load,
        weight=weight,
        group=group,
        group_min=group_min,
        group_max=group_max,
        columns=columns or (),
        drop=drop or (),
        numeric=numeric or (),
        category=category or (),
        text=text or (),
        scale=scale,
        impute=impute,
        metric=_checked_metric(metric),
        seed=seed,
    )
    return work(
        request, Screen(json), [name.strip() for value in methods or [] for name in value.split(",")], folds
    )


@app.command()
def methods(json: Json = False) -> int:
    """List the methods: what each does, when to take it, where it comes from."""
    from coterie.cli.commands.methods import methods as work

    return work(Screen(json))


@app.command()
def apply(
    model: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run, or its model.joblib (load only what you trust).", readable=False
        ),
    ],
    data: Annotated[Path, typer.Argument(help="New rows, with the columns of the run.", readable=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="File to write; default: NAME-clusters beside you.", show_default=False
        ),
    ] = None,
    impute: Impute = False,
    force: Force = False,
    json: Json = False,
) -> int:
    """Give new rows the clusters of a finished run."""
    from coterie.cli.commands.apply import apply as work

    return work(model, data, Screen(json), out, impute=impute, force=force)


@app.command()
def report(
    run: Annotated[
        Path, typer.Argument(help="The folder of a run (load only what you trust).", readable=False)
    ],
    map: Map = None,
    title: Title = None,
    json: Json = False,
) -> int:
    """Write the report of a finished run again, with another map or title."""
    from coterie.cli.commands.report import report as work

    return work(run, Screen(json), map_columns=map, title=title)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import coterie

        print(coterie.__version__)
        raise typer.Exit()
