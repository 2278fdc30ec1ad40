"""Excel workbooks: the first sheet, whose first row holds the names, read by fastexcel."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from coterie._words import count_of
from coterie.tables._errors import TableError, quoted
from coterie.tables._formats.csv import column_names
from coterie.tables._formats.typed import with_types

_EXACT = 2**53  # above, whole numbers may have been rounded


def read_excel(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """The first sheet, typed: text as in a CSV file, numbers and dates as they are; and notes."""
    try:
        import fastexcel
    except ImportError:
        raise TableError('Excel files need fastexcel: pip install "coterie[cli]"') from None
    try:
        book = fastexcel.read_excel(path)
        header = book.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
        if not header.height:
            raise TableError("the first sheet is empty.")
        names, notes = column_names([name or "" for name in header.row(0)])
        frame = book.load_sheet(0, schema_sample_rows=None).to_polars()
    except fastexcel.FastExcelError:
        raise TableError("this is no Excel workbook (.xlsx), or it is damaged.") from None
    if len(book.sheet_names) > 1:
        sheets = f"{len(book.sheet_names):,} sheets; the first is read, {quoted(book.sheet_names[0])}"
        notes.append(f"The workbook has {sheets}.")
    frame.columns, n_rows = list(names), frame.height
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    if n_rows > frame.height:
        notes.append(f"{count_of(n_rows - frame.height, 'empty line')} left out.")
    if not frame.height:
        raise TableError("there is a header but no row below it.")
    texts, _ = with_types([one for one in frame.get_columns() if one.dtype == pl.String], ",")
    return frame.with_columns(*texts, *map(_whole, frame.select(pl.col(pl.Float64)).get_columns())), notes


def _whole(values: pl.Series) -> pl.Series:
    """Whole numbers as such: Excel only has floats."""
    is_whole = (values == values.round()) & (values.abs() < _EXACT)
    return values.cast(pl.Int64) if is_whole.all() else values  # gaps do not count
