"""CSV and TSV files: the header looked at, all cells read as text by polars, then typed by `typed`."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from coterie._words import count_of
from coterie.tables._errors import TableError, quoted
from coterie.tables._formats.lines import TextFile, quoting_error, read_records

# Only from this size on is it worth while to read single columns; then rows with too many cells go unseen.
_WORTH_CHOOSING = 64 * 2**20
_HEAD = 2**16
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class TextTable:
    """A file of lines and cells, of which only the header has been read."""

    lines: TextFile
    separator: str
    end_of_line: str
    names: tuple[str, ...]
    notes: tuple[str, ...]


def open_text_table(lines: TextFile, usual: str) -> TextTable:
    """Look at the header: separator (`usual`, or another that it has), line ends, names."""
    with lines.binary() as file:
        head = file.read(_HEAD)
    if not head.removeprefix(b"\xef\xbb\xbf").strip():
        raise TableError("the file is empty.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError("the text is UTF-16; save it as UTF-8 and try again.")
    if b"\0" in head:
        raise TableError("this is no text file; CSV and TSV are text, saved as UTF-8.")
    try:
        with lines.text() as text:
            start = next((line for line in text if line.strip("\r\n")), "")
        bare = re.sub(r'"[^"]*"', "", start)  # a mark inside of quotes separates nothing
        separator = next((mark for mark in (usual, ";", "\t", ",") if mark in bare), usual)
        with lines.text() as text:
            records = csv.reader(text, delimiter=separator, strict=True)
            header = next((cells for cells in records if cells), [""])
    except UnicodeDecodeError:
        lines.check_encoding()
        raise
    except csv.Error as error:
        raise quoting_error(error, 1) from None
    names, notes = column_names(header)
    if separator != usual:
        notes.append(f"Cells are separated by {_SEPARATORS[separator]}.")
    end_of_line = "\r" if b"\r" in head and b"\n" not in head else "\n"
    return TextTable(lines, separator, end_of_line, names, tuple(notes))


def column_names(header: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Names of the columns: all different, none empty but the first, as row names are written."""
    names = [name.strip() for name in header]
    notes = []
    if re.fullmatch(r"sep=.?", names[0]) and not any(names[1:]):
        raise TableError("line 1 says which separator Excel shall take (sep=); delete that line.")
    if all(_NUMBER.fullmatch(name) for name in names):
        if not all(name.isdigit() for name in names):
            raise TableError("line 1 holds numbers, not names; put a line with names above it.")
        notes.append(f"The names of the columns are taken from line 1, numbers: {', '.join(names[:5])}.")
    if len(names) > 1 and not names[-1] and "" not in names[1:-1]:
        raise TableError(
            f"column {len(names)} has no name: the header ends in a separator. Name it, or take the last "
            "separator off every line."
        )
    if not names[0] and len(names) > 1:
        names[0] = next(name for name in ("row", "row name", "row number") if name not in names)
        notes.append(f"The first column has no name; it is called {names[0]!r} here.")
    if "" in names:
        raise TableError(f"column {names.index('') + 1} has no name in the header; give every column a name.")
    where: dict[str, int] = {}
    for at, name in enumerate(names, 1):
        if where.setdefault(name, at) != at:
            raise TableError(
                f"the header names {quoted(name)} twice, in columns {where[name]} and {at}; make them differ."
            )
    return tuple(names), notes


def read_cells(table: TextTable, only: Sequence[str] | None = None) -> tuple[pl.DataFrame, list[str]]:
    """All cells as text, or those of some columns and of the last one; empty lines are left out, and said."""
    names = list(table.names)
    if only is not None and table.lines.size >= _WORTH_CHOOSING:
        names = [name for name in names if name in only or name == names[-1]]
    frame: pl.DataFrame | None
    try:
        frame = pl.read_csv(
            table.lines.source,
            columns=None if len(names) == len(table.names) else [table.names.index(name) for name in names],
            separator=table.separator,
            eol_char=table.end_of_line,
            infer_schema=False,
            glob=False,
        )
        frame.columns = names
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        frame = None
    notes: list[str] = []
    if frame is None or not frame.height or (frame[:, -1].null_count() and not _is_regular(table)):
        frame, notes = _line_by_line(table, frame)
    if not frame.height:
        raise TableError("there is a header but no row below it.")
    return frame, notes


def _is_regular(table: TextTable) -> bool:
    """Whether no line is empty, too short or too long; False also where quotes make that hard to tell."""
    try:
        lines = pl.read_csv(
            table.lines.source,
            has_header=False,
            separator="\x1f",  # each line is one cell, unless it holds this character
            eol_char=table.end_of_line,
            quote_char=None,
            infer_schema=False,
            glob=False,
        ).to_series()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False
    n_marks = lines.str.count_matches(table.separator, literal=True).fill_null(-1)
    return bool((n_marks == len(table.names) - 1).all()) and not lines.str.contains('"', literal=True).any()


def _line_by_line(table: TextTable, frame: pl.DataFrame | None) -> tuple[pl.DataFrame, list[str]]:
    """Find the line that is at fault, or the empty ones; where polars failed, read the cells as well."""
    if frame is None:
        table.lines.check_encoding()
    n_rows, empty, cells = read_records(table.lines, table.separator, len(table.names), keep=frame is None)
    if frame is None:
        columns = list(zip(*cells, strict=True)) if cells else [()] * len(table.names)
        series = [pl.Series(name, cells, pl.String) for name, cells in zip(table.names, columns, strict=True)]
        frame = pl.DataFrame(series)
    elif frame.height != n_rows:  # quotes and line ends that polars takes in another way
        return _line_by_line(table, None)
    if not empty:
        return frame, []
    is_row = pl.Series([True]).new_from_index(0, frame.height).scatter(empty, False)
    return frame.filter(is_row), [f"{count_of(len(empty), 'empty line')} left out."]
