"""The options: each is declared once, and where several commands share it, as a field of `Request`."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli._speak.trouble import Trouble

KNOW, COLUMNS, OUT = "What you know", "Columns", "Output"


def _option(panel: str | None, names: str, text: str, **more: Any) -> Any:
    """An option, by its names with blanks between; only switches show what they are by default."""
    more = {"show_default": False, **more}
    return typer.Option(*names.split(), help=text, rich_help_panel=panel, **more)


_know, _column = (partial(_option, panel) for panel in (KNOW, COLUMNS))
_shown = partial(_option, show_default=True)
_k = partial(_option, None, "-k --clusters")
K = Annotated[str, _k("Number of clusters; 2-10 or auto: it is chosen.")]
AnyK = Annotated[int | None, _k("Number of clusters.", min=1)]
_filled = "Fill missing values: median, a category of its own, no text. Otherwise they are refused."
Impute = Annotated[bool, _shown(COLUMNS, "--impute", _filled)]
_placing = "Two columns that place the items on the map, such as longitude,latitude."
MapColumns = Annotated[str | None, _option(OUT, "--map", _placing)]
Json = Annotated[bool, _shown(OUT, "--json", "Print JSON for machines.")]
Force = Annotated[bool, _shown(OUT, "--force", "Replace what is there.")]
Title = Annotated[str | None, _option(OUT, "--title", "Title of the report.")]
Folder = Annotated[
    Path | None, _option(OUT, "-o --out", "Folder to write; default: the table's name.", readable=False)
]
File = Annotated[Path | None, _option(None, "-o --out", "File to write; default: NAME-clusters beside you.")]
Report = Annotated[bool, _shown(OUT, "--report/--no-report", "Write report.html.")]
Pictures = Annotated[bool, _shown(OUT, "--pictures", "Write the pictures of the report as PNG, too.")]
Plan = Annotated[bool, _shown(OUT, "--plan", "Say what would be done, and do not do it.")]
Text = str | None
Names = list[str] | None
Methods = Annotated[Names, _option(None, "--methods", "Which (with commas); default: all that fit.")]
# `compare` refuses it with the reason, and does not list it
NoScores = Annotated[Path | None, _option(None, "--scores", "", hidden=True)]
Name = Annotated[Names, _column("--name", "Column of names of people; again, or with commas, for more.")]
_how = "exact, jaro-winkler, soft-tfidf, tokens, person-name or number."
Compare = Annotated[Names, _column("--compare", f"A column and how it is compared, COLUMN=HOW: {_how}")]
_beside = "Column of what records share: a paper, a mail, a basket. Who is beside a record tells who it is."
Context = Annotated[str | None, _column("--context", _beside)]
Alpha = Annotated[
    float | None,
    _option(None, "--alpha", "Weight of who is beside a record, 0 to 1; default .5.", min=0, max=1),
]
_merged = "Least similarity of what is merged, 0 to 1; default auto: .94 (1 - alpha)."
Threshold = Annotated[str | None, _option(None, "--threshold", _merged)]
Folds = Annotated[int, _shown(None, "--folds", "Into how many parts pairs are cut.", min=2)]
BOUNDS = ("size_min", "size_max", "load", "group", "group_min", "group_max", "connected")
STATED = ("pairs", "pair_columns", "labels", "distinct", "across", *BOUNDS)


@dataclass
class Request:
    """The options that commands share, as they were typed."""

    data: Annotated[
        Path,
        typer.Argument(
            help="A table: .csv .tsv .xlsx .parquet .jsonl .npy .npz .mtx", show_default=False, readable=False
        ),
    ]
    clusters: Annotated[
        str | None,
        _k("Number of clusters; 2-10 or auto: chosen. COPCobweb finds it, --connected with --size-min, too."),
    ] = None
    id_column: Annotated[
        str | None, _option(None, "--id", "Column of ids. Without it items are row numbers, from 0.")
    ] = None
    pairs: Annotated[
        Path | None,
        _know(
            "--pairs",
            "File with the columns i, j, kind (must-link, same, 1; cannot-link, different, -1); weight, "
            "confidence, hard, source.",
            readable=False,
        ),
    ] = None
    scores: Annotated[
        Path | None,
        _know(
            "--scores",
            "File of scores of pairs, columns i, j and weight (above 0: together) or probability: they alone "
            "make the clusters, the columns of the table describe them.",
            readable=False,
        ),
    ] = None
    pair_columns: Annotated[
        Names, _know("--pair-columns", "Columns of --pairs that have other names: left=i,right=j.")
    ] = None
    labels: Annotated[str | None, _know("--labels", "Column of known labels; empty or -1: unknown.")] = None
    distinct: Annotated[
        str | None, _know("--distinct", "At most one item of each value of this column in a cluster.")
    ] = None
    across: Annotated[
        str | None, _know("--across", "Items with different values in this column never share a cluster.")
    ] = None
    connected: Annotated[
        Path | None,
        _know(
            "--connected",
            "File of neighbours, columns i and j (or source, target): clusters are connected along them.",
            readable=False,
        ),
    ] = None
    size_min: Annotated[
        str | None,
        _know(
            "--size-min",
            "Least size: a whole number, a share of the mean size (80% or 0.8; 100% is equal), or one a "
            "cluster, by label, else by an item in it: red=10,blue=90% (or 10,20,30 in the order of labels).",
        ),
    ] = None
    size_max: Annotated[str | None, _know("--size-max", "Largest size, in the same way.")] = None
    load: Annotated[str | None, _know("--load", "Column that counts in the sizes instead of items.")] = None
    weight: Annotated[str | None, _know("--weight", "Column with the importance of each item.")] = None
    group: Annotated[str | None, _know("--group", "Column of groups, for the two bounds that follow.")] = None
    group_min: Annotated[Text, _know("--group-min", "Least number (load) of each group in a cluster.")] = None
    group_max: Annotated[Text, _know("--group-max", "Largest number (load) of each group in a cluster.")] = (
        None
    )
    method: Annotated[
        str, _shown(None, "--method", "A name from `coterie methods`, or auto, which says why.")
    ] = "auto"
    distance: Annotated[
        Text, _option(None, "--distance", "A distance to learn first, by its name in `coterie methods`.")
    ] = None
    settings: Annotated[
        Names, _option(None, "--set", "A parameter of the method, name=value; again for more.")
    ] = None
    seed: Annotated[int, _shown(None, "--seed", "The same seed, the same result.", min=0, max=2**32 - 1)] = 0
    columns: Annotated[Names, _column("--columns", "Use these columns only (with commas, or again).")] = None
    drop: Annotated[Names, _column("--drop", "Do not use these columns.")] = None
    numeric: Annotated[Names, _column("--numeric", "Take these as numbers.")] = None
    category: Annotated[Names, _column("--category", "Take these as categories.")] = None
    text: Annotated[Names, _column("--text", "Take these as text.")] = None
    scale: Annotated[
        bool, _shown(COLUMNS, "--scale/--no-scale", "Standardise numeric columns (mean 0, deviation 1).")
    ] = True
    impute: Impute = False
    metric: Annotated[
        str, _shown(COLUMNS, "--metric", "auto, sqeuclidean or cosine; auto: cosine for text.")
    ] = "auto"
    map_columns: MapColumns = None
    n_clusters: int | None = field(init=False, default=None)
    k_range: range | None = field(init=False, default=None)  # the numbers to choose from, where they are said
    k_open: bool = field(init=False, default=False)  # whether the number is to be chosen

    def __post_init__(self) -> None:
        if self.clusters is not None:
            self._read_k(str(self.clusters).strip())
        if self.metric not in ("auto", "sqeuclidean", "cosine"):
            raise Trouble(f"--metric {self.metric}: it is auto, sqeuclidean or cosine")
        if self.distance is not None and self.metric == "cosine":
            raise Trouble(f"--metric cosine, but --distance {self.distance} learns another; choose one")
        if self.scores is not None and self.k_open:
            raise Trouble(
                f"-k {self.clusters}: --scores tell the number themselves; leave -k out, or give one"
            )
        if self.scores is not None and self.distance is not None:
            raise Trouble("--distance is learned from rows of features, and --scores are none; choose one")
        if self.pair_columns and self.pairs is None:
            raise Trouble("--pair-columns says which columns of --pairs are which; give --pairs too")

    def _read_k(self, text: str) -> None:
        typed = re.fullmatch("([0-9]{1,15})(?: *- *([0-9]{1,15}))?", text)
        low, high = (int(one or 0) for one in typed.groups()) if typed else (0, 0)
        if low and not high and "-" not in text:
            self.n_clusters = low
        elif 2 <= low <= high or text.casefold() == "auto":
            self.k_open, self.k_range = True, range(low, high + 1) if high else None
        else:
            raise Trouble(f"-k {text}: give a number such as 3, a range such as 2-10, or auto")

    def pair_names(self) -> dict[str, str]:
        """Which column of the file of pairs is which of ours."""
        names: dict[str, str] = {}
        for text in self.pair_columns or ():
            for one in next(csv.reader([text], skipinitialspace=True), []):
                name, equals, ours = (part.strip() for part in one.rpartition("="))
                if not (name and equals and ours):
                    raise Trouble(f"--pair-columns {text}: write NAME=i, with commas between: left=i,right=j")
                names[name] = ours
        return names

    @property
    def bounded(self) -> bool:
        """Whether anything is said of sizes, groups or neighbours."""
        return any(getattr(self, name) is not None for name in BOUNDS)

    def roles(self) -> dict[str, str]:
        """Columns that are used for something else than telling items apart, and for what."""
        given = {
            "id": self.id_column,
            "known labels": self.labels,
            "distinct groups": self.distinct,
            "groups that stay apart": self.across,
            "load": self.load,
            "weight": self.weight,
            "group": self.group,
        }
        return {column: f"used as {use}" for use, column in given.items() if column is not None}
