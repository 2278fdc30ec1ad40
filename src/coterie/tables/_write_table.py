"""Writing the user's own columns with new ones beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from coterie.tables._columns.values import named
from coterie.tables._errors import TableError, brief, quoted, why
from coterie.tables._formats.csv import open_text_table, read_cells
from coterie.tables._formats.json_lines import own_lines
from coterie.tables._formats.lines import TextFile
from coterie.tables._formats.panics import quiet_panics
from coterie.tables._read import JSON_ENDINGS, TEXT_ENDINGS, ending
from coterie.tables._table import Table

_WRITTEN = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")


def free_name(table: Table, wanted: str) -> str:
    """A name for a new column that no column of the table has: as wanted, or with `_2`, `_3`, ... behind."""
    taken = {"row"} if table.frame is None else set(table.names)
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def write_table(table: Table, path: str | os.PathLike[str], added: Mapping[str, Any]) -> None:
    """Write the table with new columns behind its own, as CSV, TSV, Parquet or JSON lines, by the ending.

    Cells of a CSV or TSV file come out as they stand in that file, and so do lines of JSON in such a file. Of
    a matrix only the row numbers are written, as column `row`. The new columns have names by `free_name`.
    """
    path = Path(path)
    kind = ending(path)
    if kind not in _WRITTEN:
        raise TableError(
            f"{path.name}: unknown ending {quoted(kind)}; tables are written as {', '.join(_WRITTEN)}."
        )
    new = [_series(name, values) for name, values in added.items()]
    for series in new:
        if len(series) != table.n_rows or free_name(table, series.name) != series.name:
            wanted = f"must be new, with {table.n_rows} values"
            raise ValueError(f"column {series.name!r} {wanted}; got {len(series)}.")
    try:
        with quiet_panics():
            if kind in (".csv", ".tsv"):
                _write_text(table, path, new, kind)
            elif kind == ".parquet":
                _own_columns(table).hstack(new).write_parquet(path)
            elif (lines := _lines_as_read(table)) is not None:
                _write_lines(lines, path, new)
            else:
                _plain(_own_columns(table), nested=False).hstack(new).write_ndjson(path)
    except OSError as error:
        raise TableError(f"{path.name}: cannot be written ({error.strerror or brief(error)}).") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TableError(f"{path.name}: a column cannot be written as {kind[1:]}{why(error)}.") from None


def _series(name: str, values: Any) -> pl.Series:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return pl.Series(name, np.ascontiguousarray(values))
    return pl.Series(name, list(values), strict=False)


def _own_columns(table: Table) -> pl.DataFrame:
    if table.frame is not None:
        return table.frame
    return pl.DataFrame({"row": np.arange(table.n_rows)})


def _write_text(table: Table, path: Path, new: list[pl.Series], kind: str) -> None:
    cells, separator = _cells_as_read(table)
    if cells is None:
        cells = _plain(_own_columns(table), nested=True)
    if kind == ".tsv":
        separator = "\t"
    elif separator == "\t":
        separator = ","
    cells.hstack(new).write_csv(path, separator=separator)


def _write_lines(lines: list[str], path: Path, new: list[pl.Series]) -> None:
    """The objects as they stand in the lines, with new names behind the others."""
    added = [""] * len(lines)
    for series in new:
        key = json.dumps(series.name, ensure_ascii=False)
        values = (series.fill_nan(None) if series.dtype.is_float() else series).to_list()
        added = [
            f"{before},{key}:{json.dumps(value, ensure_ascii=False, default=str)}"
            for before, value in zip(added, values, strict=True)
        ]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line, behind in zip(lines, added, strict=True):
            own = line[:-1].rstrip()
            file.write(f"{own}{behind if own != '{' else behind[1:]}}}\n")


def _is_as_read(table: Table, kinds: Collection[str]) -> bool:
    """Whether the file is of these kinds, and has not changed since it was read."""
    if table.stamp is None or table.frame is None or not table.names or ending(table.path) not in kinds:
        return False
    state = table.path.stat()
    return (state.st_size, state.st_mtime_ns) == table.stamp


def _lines_as_read(table: Table) -> list[str] | None:
    """The lines of a file of JSON lines as they stand there; None if it has changed since."""
    try:
        lines = own_lines(TextFile.of(table.path)) if _is_as_read(table, JSON_ENDINGS) else []
    except (TableError, OSError, UnicodeDecodeError):  # gone or changed meanwhile
        return None
    return lines if len(lines) == table.n_rows else None


def _cells_as_read(table: Table) -> tuple[pl.DataFrame | None, str]:
    """The cells of a CSV or TSV file as they stand there, and the separator; None if it has changed since."""
    try:
        if not _is_as_read(table, TEXT_ENDINGS):
            return None, ","
        opened = open_text_table(TextFile.of(table.path), TEXT_ENDINGS[ending(table.path)])
        cells, _ = read_cells(opened)
    except (TableError, OSError):  # gone or changed meanwhile: the values are still known
        return None, ","
    return (cells.select(named(table.names)) if cells.height == table.n_rows else None), opened.separator


def _plain(frame: pl.DataFrame, *, nested: bool) -> pl.DataFrame:
    """Columns that a text file cannot hold, written as text."""
    columns = []
    for series in frame.get_columns():
        if series.dtype == pl.Binary:
            series = series.bin.encode("base64")
        elif nested and series.dtype.is_nested():
            cells = [None if cell is None else json.dumps(cell, default=str) for cell in series.to_list()]
            series = pl.Series(series.name, cells, pl.String)
        columns.append(series)
    return pl.DataFrame(columns)
