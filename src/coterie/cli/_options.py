"""The options that commands share, and how they are explained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

KNOW, COLUMNS, OUT = "What you know", "Columns", "Output"

Data = Annotated[
    Path,
    typer.Argument(
        help="A table: .csv .tsv .parquet .jsonl .npy .npz .mtx", show_default=False, readable=False
    ),
]
K = Annotated[int, typer.Option("-k", "--clusters", min=1, help="Number of clusters.", show_default=False)]
MaybeK = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--clusters",
        min=1,
        help="Number of clusters; left out where the method finds it (COPCobweb).",
        show_default=False,
    ),
]
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
        rich_help_panel=KNOW,
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Column of known labels; empty or -1: unknown.",
        rich_help_panel=KNOW,
        show_default=False,
    ),
]
Distinct = Annotated[
    str | None,
    typer.Option(
        "--distinct",
        help="At most one item of each value of this column in a cluster.",
        rich_help_panel=KNOW,
        show_default=False,
    ),
]
Across = Annotated[
    str | None,
    typer.Option(
        "--across",
        help="Items with different values in this column never share a cluster.",
        rich_help_panel=KNOW,
        show_default=False,
    ),
]
Connected = Annotated[
    Path | None,
    typer.Option(
        "--connected",
        readable=False,
        help="File of neighbours, columns i and j (or source, target): clusters are connected along them.",
        rich_help_panel=KNOW,
        show_default=False,
    ),
]


def _know(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=KNOW, show_default=False)


def _column(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=COLUMNS, show_default=False)


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
        rich_help_panel=COLUMNS,
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Fill missing values: median, a category of its own, no text. Otherwise they are refused.",
        rich_help_panel=COLUMNS,
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric", help="auto, sqeuclidean or cosine; auto: cosine for text.", rich_help_panel=COLUMNS
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the method, name=value; again for more.", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed, the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", rich_help_panel=OUT)]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.", rich_help_panel=OUT)]
Map = Annotated[
    str | None,
    typer.Option(
        "--map",
        help="Two columns that place the items on the map, such as longitude,latitude.",
        rich_help_panel=OUT,
        show_default=False,
    ),
]
Title = Annotated[
    str | None, typer.Option("--title", help="Title of the report.", rich_help_panel=OUT, show_default=False)
]
