"""The commands and their options; the work stands in a file for each command, loaded when it runs."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from coterie.cli._screen import Screen, as_json
from coterie.cli._trouble import BAD_INPUT, DONE, FAULT, INTERRUPTED, Trouble, one_line, printable, told

_CODES = """
Exit codes: 0 done; 2 bad input or usage; 3 the statements cannot all be met; 4 `check` could not decide;
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

_KNOW, _COLUMNS, _OUT = "What you know", "Columns", "Output"

Data = Annotated[
    Path,
    typer.Argument(
        help="A table: .csv .tsv .parquet .jsonl .npy .npz .mtx", show_default=False, readable=False
    ),
]
K = Annotated[int, typer.Option("-k", "--clusters", min=1, help="Number of clusters.", show_default=False)]
Id = Annotated[
    str | None,
    typer.Option("--id", help="Column of ids. Without it items are row numbers, from 0.", show_default=False),
]
Pairs = Annotated[
    Path | None,
    typer.Option(
        "--pairs",
        readable=False,
        help="File with the columns i, j, kind (must-link, cannot-link); weight, confidence, hard, source.",
        rich_help_panel=_KNOW,
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Column of known labels; empty or -1: unknown.",
        rich_help_panel=_KNOW,
        show_default=False,
    ),
]
Distinct = Annotated[
    str | None,
    typer.Option(
        "--distinct",
        help="At most one item of each value of this column in a cluster.",
        rich_help_panel=_KNOW,
        show_default=False,
    ),
]
Across = Annotated[
    str | None,
    typer.Option(
        "--across",
        help="Items with different values in this column never share a cluster.",
        rich_help_panel=_KNOW,
        show_default=False,
    ),
]


def _know(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=_KNOW, show_default=False)


def _column(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=_COLUMNS, show_default=False)


SizeMin = Annotated[
    str | None,
    _know(
        "--size-min",
        "Least size: a number, a share of the mean size (0.8; 1.0 is equal), or one a cluster (10,20,30).",
    ),
]
SizeMax = Annotated[str | None, _know("--size-max", "Largest size, in the same way.")]
Load = Annotated[str | None, _know("--load", "Column that counts in the sizes instead of items.")]
Weight = Annotated[str | None, _know("--weight", "Column with the importance of each item.")]
Group = Annotated[str | None, _know("--group", "Column of groups, for the two bounds that follow.")]
GroupMin = Annotated[str | None, _know("--group-min", "Least number (load) of each group in a cluster.")]
GroupMax = Annotated[str | None, _know("--group-max", "Largest number (load) of each group in a cluster.")]
Columns = Annotated[list[str] | None, _column("--columns", "Use these columns only (with commas, or again).")]
Drop = Annotated[list[str] | None, _column("--drop", "Do not use these columns.")]
Numeric = Annotated[list[str] | None, _column("--numeric", "Take these as numbers.")]
Category = Annotated[list[str] | None, _column("--category", "Take these as categories.")]
Text = Annotated[list[str] | None, _column("--text", "Take these as text.")]
Scale = Annotated[
    bool,
    typer.Option(
        "--scale/--no-scale",
        help="Standardise numeric columns (mean 0, deviation 1).",
        rich_help_panel=_COLUMNS,
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Fill missing values: median, a category of its own, no text. Otherwise they are refused.",
        rich_help_panel=_COLUMNS,
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric", help="auto, sqeuclidean or cosine; auto: cosine for text.", rich_help_panel=_COLUMNS
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the method, name=value; again for more.", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed, the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", rich_help_panel=_OUT)]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.", rich_help_panel=_OUT)]
Map = Annotated[
    str | None,
    typer.Option(
        "--map",
        help="Two columns that place the items on the map, such as longitude,latitude.",
        rich_help_panel=_OUT,
        show_default=False,
    ),
]
Title = Annotated[
    str | None, typer.Option("--title", help="Title of the report.", rich_help_panel=_OUT, show_default=False)
]


def _checked_metric(metric: str) -> str:
    if metric not in ("auto", "sqeuclidean", "cosine"):
        raise Trouble(f"--metric {metric}: it is auto, sqeuclidean or cosine")
    return metric


@app.command()
def cluster(
    data: Data,
    k: K,
    id: Id = None,
    pairs: Pairs = None,
    labels: Labels = None,
    distinct: Distinct = None,
    across: Across = None,
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
            rich_help_panel=_OUT,
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    map: Map = None,
    title: Title = None,
    report: Annotated[
        bool,
        typer.Option("--report/--no-report", help="Write report.html and pictures.", rich_help_panel=_OUT),
    ] = True,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be done, and do not do it.", rich_help_panel=_OUT)
    ] = False,
    json: Json = False,
) -> int:
    """Cluster a table under what you know; write labels, a report and the model."""
    from coterie.cli._cluster import cluster as work
    from coterie.cli._request import Request

    request = Request(
        data=data,
        n_clusters=k,
        id_column=id,
        pairs=pairs,
        labels=labels,
        distinct=distinct,
        across=across,
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
    from coterie.cli._check import check as work
    from coterie.cli._request import Request

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
    size_min: SizeMin = None,
    size_max: SizeMax = None,
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
    from coterie.cli._compare import compare as work
    from coterie.cli._request import Request

    request = Request(
        data=data,
        n_clusters=k,
        id_column=id,
        pairs=pairs,
        labels=labels,
        distinct=distinct,
        across=across,
        size_min=size_min,
        size_max=size_max,
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
    from coterie.cli._methods import methods as work

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
    from coterie.cli._apply import apply as work

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
    from coterie.cli._report import report as work

    return work(run, Screen(json), map_columns=map, title=title)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import coterie

        print(coterie.__version__)
        raise typer.Exit()


# ---- running it ---------------------------------------------------------------------------------------

_typed: list[str] = []


def typed() -> list[str]:
    """What was typed after `coterie`."""
    return list(_typed)


def run(arguments: list[str]) -> int:
    """Run the command; whatever happens, end with a line and a code, never with a traceback."""
    _typed[:] = arguments
    machine = "--json" in arguments
    # a service may have closed them
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console that lacks a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    restore = _end_on_sigterm()
    try:
        if any("\udc80" <= letter <= "\udcff" for word in arguments for letter in word):
            raise Trouble("a name that was typed holds bytes that are not UTF-8; rename the file or folder")
        # a command returns its code; help, and `typer.Exit`, return one too
        return int(app(args=arguments, prog_name="coterie", standalone_mode=False) or DONE)
    except Trouble as trouble:
        return _tell(str(trouble), trouble.code, machine, trouble.explanation)
    except KeyboardInterrupt:
        return _tell("interrupted; nothing was written", INTERRUPTED, machine)
    except BrokenPipeError:  # while help was printed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (MemoryError, OSError) as error:
        return _tell(told(error), BAD_INPUT, machine)
    except Exception as error:
        if hasattr(error, "format_message"):  # of typer: something typed wrongly
            message = error.format_message()
            if not message:  # no arguments: the help was printed
                return BAD_INPUT
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "coterie"
            line = one_line(message)
            stop = "" if line.endswith(("?", "!", ".")) else "."
            return _tell(f"{line}{stop} See {command} --help", BAD_INPUT, machine)
        if type(error).__name__ == "Abort":
            return _tell("interrupted; nothing was written", INTERRUPTED, machine)
        if os.environ.get("COTERIE_DEBUG"):
            raise
        words = f"{type(error).__name__}: {one_line(error)}"
        return _tell(
            f"a fault of ours, please report it (COTERIE_DEBUG=1 shows where): {words}", FAULT, machine
        )
    finally:
        restore()


def _tell(message: str, code: int, machine: bool, explanation: str = "") -> int:
    if machine:
        problem = {"error": message, "exit_code": code, "explanation": explanation or None}
        print(as_json(problem, ascii_only=True))
    else:
        print(f"coterie: {message}", file=sys.stderr)
        if explanation:
            print(printable(explanation), file=sys.stderr)
    return code


def _end_on_sigterm() -> Any:
    """A polite kill ends like Ctrl-C, so that half-written folders are taken away."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        return lambda: None
    return lambda: signal.signal(signal.SIGTERM, before)
