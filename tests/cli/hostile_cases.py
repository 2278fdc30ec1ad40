"""Hostile cases for the command line: files that are broken, odd or merely unusual, and words for them.

A maker draws one case of its kind; `case(seed, number)` goes through the makers in turn and then twists the
command a little (`--json`, `--plan`, the report, another command). The makers stand in the files of that
name beside this one, and are put on the list when these are loaded.
"""

import csv
import importlib
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

DONE, FAILS, COLLIDES = frozenset({0}), frozenset({2}), frozenset({3})
ANY = DONE | FAILS | COLLIDES | {5}  # done, with empty clusters
REFUSED = FAILS | COLLIDES

SCRIPT = "<script>alert(1)</script>"
STRANGE = (
    SCRIPT, '"><img src=x onerror=alert(1)>', "</style>", "&lt;b&gt;", "cluster", "cluster_1", "row",
    "__class__", "[bold red]", "%s{0}", "two\nlines", 'a "quote"', "it's", "a,b", "a;b", "tab\there",
    "\x1b[31mred\x1b[0m", "\u202eback", "naïve", "名前", "🙂", "e\u0301", "-k", "--json", "$HOME", "=1+1",
    "#", "NULL", "nan", "0", "1e5", "x" * 300, "\u00a0", "\u200b", "*", "^x.*$",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What is typed, the files that it finds, and how it may end."""

    words: Sequence[str]
    files: dict[str, str | bytes] = field(default_factory=dict)
    ends: frozenset[int] = ANY
    told: Sequence[str] = ()  # each is in the message of a failure
    folders: Sequence[str] = ()
    links: dict[str, str] = field(default_factory=dict)
    pipes: Sequence[str] = ()
    # a finished run in `run`, with these files changed, gone, or cut to a share of their length
    run: dict[str, bytes | float | None] | None = None
    separator: str = ","  # of the table, if it is a CSV
    sizes: tuple[int, int] | None = None  # a bound on every size
    together: Sequence[tuple[int, int]] = ()  # rows
    apart: Sequence[tuple[int, int]] = ()
    slow: bool = False  # not with the report
    name: str = ""

    def write(self, folder: Path) -> None:
        """Make the files; the finished run is the business of the tests."""
        for name in self.folders:
            (folder / name).mkdir(parents=True)
        for name, content in self.files.items():
            data = content.encode() if isinstance(content, str) else content
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        for name, target in self.links.items():
            (folder / name).symlink_to(target)
        for name in self.pipes:
            os.mkfifo(folder / name)


Rng = np.random.Generator
Maker = Callable[[Rng], Case]
MAKERS: list[Maker] = []
_FILES = ("files", "values", "formats", "statements", "bounds", "options", "runs")


# Options that change a run, and need not fit the case.
_EXTRA = (
    ["--impute"], ["--no-scale"], ["--metric", "cosine"], ["--method", "PCKMeans"], ["--method", "KMedoids"],
    ["--method", "SizeConstrainedKMedians"], ["--size-min", "1"], ["--size-max", "0.9"], ["--labels", "x0"],
    ["--distinct", "x0"], ["--weight", "x1"], ["--text", "x0"], ["--set", "n_init=1"], ["--distance", "rca"],
)  # fmt: skip


def hostile(maker: Maker) -> Maker:
    """Put a maker on the list."""
    MAKERS.append(maker)
    return maker


def _place(maker: Maker) -> tuple[int, int]:
    """Which file a maker stands in, and where."""
    return _FILES.index(maker.__module__.rpartition("_")[2]), maker.__code__.co_firstlineno  # type: ignore[attr-defined]


def case(seed: int, number: int) -> Case:
    """The case of that number."""
    for name in _FILES:
        importlib.import_module(f"tests.cli.hostile_{name}")
    rng = np.random.default_rng([seed, number])
    makers = sorted(MAKERS, key=_place)  # whatever was imported first
    maker = makers[number % len(makers)]
    return _twisted(replace(maker(rng), name=f"{number} {maker.__name__}"), rng)


def _twisted(drawn: Case, rng: Rng) -> Case:
    """The same files with a slightly other command; what the case knows about its end is loosened."""
    words, ends = list(drawn.words), drawn.ends
    more: list[str] = []
    if words[:1] == ["cluster"]:
        turn = rng.random()
        known = {"t.csv"} < set(drawn.files) or drawn.together or drawn.apart
        if turn < 0.05:
            more, ends = ["--plan"], ends | DONE
        elif turn < 0.12 and words[2:3] == ["-k"] and known:
            words, ends = _for_check(words), ANY | {4}
        elif turn < 0.16 and words[2:3] == ["-k"] and known:
            words, ends = ["compare", *_for_check(words)[1:], "--methods", "PCKMeans"], ANY
        elif turn < 0.92 or drawn.slow:
            more = ["--no-report"]
        if words[0] == "cluster" and rng.random() < 0.12:
            extra = [option for option in _EXTRA if option[0] not in words]
            more, ends = [*more, *pick(rng, *extra)], ends | ANY
        if words[0] != "check" and rng.random() < 0.5 and "--seed" not in words:
            more += ["--seed", str(rng.integers(1000))]
    if rng.random() < 0.25:
        more.append("--json")
    at = words.index("--") if "--" in words else len(words)
    return replace(drawn, words=[*words[:at], *more, *words[at:]], ends=ends)


def _for_check(words: list[str]) -> list[str]:
    """The words that `check` knows too."""
    kept = ["check", *words[1:4]]
    for at, word in enumerate(words[:-1]):
        if word in ("--id", "--pairs", "--labels", "--distinct", "--across"):
            kept += words[at : at + 2]
    return kept


# ---- tables -------------------------------------------------------------------------------------------


@dataclass
class Sheet:
    """A table as text."""

    head: list[str]
    rows: list[list[str]]

    def csv(self, separator: str = ",", end: str = "\n", quoting: int = csv.QUOTE_MINIMAL) -> str:
        """The table as a file."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting)
        writer.writerows([self.head, *self.rows])
        return text.getvalue()

    def add(self, name: str, cells: Sequence[str]) -> None:
        """A column more."""
        self.head.append(name)
        for row, cell in zip(self.rows, cells, strict=True):
            row.append(cell)

    def numbers(self) -> np.ndarray:
        """The numeric columns."""
        return np.array([[float(cell) for cell in row[1:]] for row in self.rows])

    def frame(self) -> pl.DataFrame:
        """The table with types."""
        return pl.read_csv(io.BytesIO(self.csv().encode()))


def sheet(rng: Rng, n: int | None = None, columns: int | None = None) -> Sheet:
    """A table in which nothing is wrong: an id, and numbers in two heaps."""
    n = int(rng.integers(8, 30)) if n is None else n
    columns = int(rng.integers(2, 5)) if columns is None else columns
    heap = rng.integers(0, 2, n)
    numbers = np.round(rng.normal(size=(n, columns)) + 4 * heap[:, None], 3)
    head = ["id", *(f"x{at}" for at in range(columns))]
    return Sheet(head, [[f"p{at}", *map(str, row)] for at, row in enumerate(numbers.tolist())])


def pick(rng: Rng, *choices):
    """One of these."""
    return choices[int(rng.integers(len(choices)))]


def cluster(*more: str, data: str = "t.csv", k: object = 2, id: bool = True) -> list[str]:
    """The words of a run."""
    return ["cluster", data, "-k", str(k), *(["--id", "id"] if id else []), "-o", "out", *more]


def of_bytes(rng: Rng, ending: str, data: bytes, ends: frozenset[int] = FAILS, *told: str) -> Case:
    """A case of one file, in which rows have no names."""
    name = f"t{ending}"
    return Case(cluster(data=name, id=False, k=pick(rng, 1, 2, 3)), {name: data}, ends, (name, *told))


def saved(ending: str, table: Sheet) -> bytes:
    """The table in a format."""
    target = io.BytesIO()
    if ending == ".parquet":
        table.frame().write_parquet(target)
    elif ending == ".jsonl":
        table.frame().write_ndjson(target)
    elif ending == ".npy":
        np.save(target, table.numbers())
    elif ending == ".npz":
        np.savez(target, table.numbers())
    elif ending == ".mtx":
        X = table.numbers()
        lines = ["%%MatrixMarket matrix array real general", f"{X.shape[0]} {X.shape[1]}"]
        target.write("\n".join([*lines, *map(str, X.T.ravel().tolist())]).encode())
    else:
        target.write(table.csv("\t" if ending == ".tsv" else ",").encode())
    return target.getvalue()


ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".npy", ".npz", ".mtx")
