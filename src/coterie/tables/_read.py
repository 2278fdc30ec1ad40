"""Reading a table: by the ending of the file, with one kind of error for whatever is wrong with it."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from coterie._words import listed
from coterie.tables._columns.values import named
from coterie.tables._errors import TableError, brief, no_column, quoted, why
from coterie.tables._formats.arrays import quietly, read_mtx, read_npy, read_npz
from coterie.tables._formats.csv import open_text_table, read_cells
from coterie.tables._formats.excel import read_excel
from coterie.tables._formats.json_lines import read_json_lines
from coterie.tables._formats.lines import TextFile
from coterie.tables._formats.panics import quiet_panics
from coterie.tables._formats.typed import with_types
from coterie.tables._table import Table

TEXT_ENDINGS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_MATRICES = {".npy": read_npy, ".npz": read_npz, ".mtx": read_mtx, ".mtx.gz": read_mtx}
JSON_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_ENDINGS = ".csv, .tsv, .xlsx, .parquet, .jsonl, .ndjson, .npy, .npz and .mtx (.gz after those of text)"


def ending(path: Path) -> str:
    """The ending that decides, in lower case; two of them if the last is .gz."""
    endings = [suffix.lower() for suffix in path.suffixes]
    return "".join(endings[-2:]) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def read_table(path: str | os.PathLike[str], *, only: Sequence[str] | None = None) -> Table:
    """Read a file: CSV, TSV, Excel, Parquet, JSON lines, NPY, NPZ or MatrixMarket, by its ending.

    With `only` these columns alone: a large file is then read faster, but rows that are too long go unseen.
    Whatever is wrong with the file ends in a `TableError` of one line.
    """
    path = Path(path)
    try:
        _check_file(path)
        return _read(path, ending(path), None if only is None else list(dict.fromkeys(only)))
    except TableError as error:
        raise TableError(f"{path.name}: {error}") from None
    except PermissionError:
        raise TableError(f"{path.name}: no permission to read this file.") from None
    except MemoryError:
        raise TableError(f"{path.name}: the table does not fit into memory.") from None
    except OSError as error:
        raise TableError(f"{path.name}: cannot be read ({error.strerror or brief(error)}).") from None
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(
            f"{path.name}: this is no {ending(path)[1:].upper()} file, or it is damaged{why(error)}."
        ) from None


def _check_file(path: Path) -> None:
    """Raise if there is no such file, or if it is something else."""
    if path.is_dir():
        raise TableError("this is a directory; name a file in it.")
    if not path.exists():
        try:
            there = [other.name for other in path.parent.iterdir() if other.is_file()]
        except OSError:
            raise TableError(f"there is no directory {quoted(str(path.parent))}.") from None
        near = difflib.get_close_matches(path.name, there, n=1, cutoff=0.75)
        raise TableError("there is no such file." + (f" Did you mean {quoted(near[0])}?" if near else ""))
    if not path.is_file():
        raise TableError("this is not a regular file.")


def _read(path: Path, kind: str, only: Sequence[str] | None) -> Table:
    if kind in TEXT_ENDINGS:
        return _read_csv(path, kind, only)
    if kind in JSON_ENDINGS:
        return _read_json(path, only)
    if kind == ".parquet":
        return _read_parquet(path, only)
    if kind == ".xlsx":
        return _chosen(path, *read_excel(path), only)
    if kind in _MATRICES:
        return Table(path, matrix=quietly(_MATRICES[kind], path))
    what = f"unknown ending {quoted(kind)}" if kind else "the name has no ending"
    raise TableError(f"{what}; tables end in {_ENDINGS}.")


def _read_csv(path: Path, kind: str, only: Sequence[str] | None) -> Table:
    state = path.stat()
    opened = open_text_table(TextFile.of(path), TEXT_ENDINGS[kind])
    _check_names(only, opened.names)
    cells, notes = read_cells(opened, only)
    n_rows = cells.height
    columns = [cells[name] for name in (cells.columns if only is None else only)]
    del cells  # the text of a column goes as soon as the column is typed
    typed, commas = with_types(columns, opened.separator)
    if commas:
        notes.append(f"Commas are read as decimal points in {listed(map(quoted, commas))}.")
    stamp = (state.st_size, state.st_mtime_ns)
    return Table(path, frame=pl.DataFrame(typed), n_rows=n_rows, notes=(*opened.notes, *notes), stamp=stamp)


def _read_parquet(path: Path, only: Sequence[str] | None) -> Table:
    data_size = path.stat().st_size
    if not data_size:
        raise TableError("the file is empty.")
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(0, data_size - 4))
        if start != b"PAR1" or file.read(4) != b"PAR1":
            raise TableError("this is no whole Parquet file.")
    with quiet_panics():
        rows = pl.scan_parquet(path, glob=False)
        _check_names(only, rows.collect_schema().names())
        n_rows = rows.select(pl.len()).collect().item()
        frame = rows.select(pl.all() if only is None else named(only)).collect()
    return _chosen(path, frame, [], only, n_rows)


def _read_json(path: Path, only: Sequence[str] | None) -> Table:
    state = path.stat()
    table = _chosen(path, *read_json_lines(TextFile.of(path), only), only)
    if only is None:
        table.stamp = (state.st_size, state.st_mtime_ns)
    return table


def _chosen(
    path: Path, frame: pl.DataFrame, notes: list[str], only: Sequence[str] | None, n_rows: int | None = None
) -> Table:
    """Those columns that are asked for."""
    _check_names(only, frame.columns)
    n_rows = frame.height if n_rows is None else n_rows
    if not frame.width and only is None:
        raise TableError("the table has no columns.")
    if not n_rows:
        raise TableError("the table has no rows.")
    frame = frame if only is None else frame.select(named(only))
    return Table(path, frame=frame, n_rows=n_rows, notes=tuple(notes))


def _check_names(only: Sequence[str] | None, names: Sequence[str]) -> None:
    """Raise if a column that is asked for is not there, or if polars would take a name for a pattern."""
    for name in names:
        if name.startswith("^") and name.endswith("$"):
            raise TableError(f"the column name {quoted(name)} cannot be used; rename it, without ^ or $.")
    for name in only or ():
        if name not in names:
            raise no_column(name, names)
