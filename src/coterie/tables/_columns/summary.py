"""What the choice of features needs to know of each column, asked of all columns of a type at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.tables._columns.values import DRESSED, LOOKS_LIKE_DATE, number, text
from coterie.tables._table import Table

# NumPy has these too, so that a polars expression for each column can be saved
INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)


@dataclass(frozen=True)
class NumberSummary:
    """A column as numbers."""

    n_missing: int
    low: float | None  # None: there is no number
    high: float | None


@dataclass(frozen=True)
class TextSummary:
    """A column as text."""

    n_missing: int
    n_values: int
    n_levels: int  # different values
    n_numbers: int
    n_dressed: int  # numbers, also with a sign or separators
    is_date: bool  # every value is one

    @property
    def is_dressed(self) -> bool:
        """Whether most values look like numbers with a sign or separators, or are plain ones."""
        return self.n_values < 2 * self.n_dressed and self.n_numbers < self.n_values

    @property
    def is_mixed(self) -> bool:
        """Whether half of the values or more are numbers, and some are not."""
        return not self.is_date and self.n_values <= 2 * self.n_numbers and self.n_numbers < self.n_values


def summarise_numbers(table: Table, names: list[str], dates: Collection[str]) -> dict[str, NumberSummary]:
    """Summaries of columns as numbers; `dates` are text and hold ISO dates."""
    found: dict[str, NumberSummary] = {}
    for name in names:
        values = numbers_of(table, name, name in dates)
        n_missing = int(np.count_nonzero(np.isnan(values)))
        ends = (None, None) if n_missing == len(values) else (np.fmin.reduce(values), np.fmax.reduce(values))
        found[name] = NumberSummary(n_missing, *(None if end is None else float(end) for end in ends))
    return found


def numbers_of(table: Table, name: str, is_date: bool) -> NDArray[np.float64]:
    """A column as floats, with NaN for what is missing or no number; without a copy where that can be."""
    if table.frame is None:
        return table.matrix[:, table.places[name]]
    values = table.frame.get_column(name)
    if not (values.dtype.is_float() or values.dtype in INTEGERS):
        values = values.to_frame().select(number(name, values.dtype, is_date=is_date)).to_series()
    return np.asarray(values.to_numpy(), dtype=np.float64)


def summarise_text(table: Table, names: list[str]) -> dict[str, TextSummary]:
    """Summaries of columns as text."""
    found: dict[str, TextSummary] = {}
    for name in names:
        column = table.column(name)
        values = column.to_frame().select(text(name, column.dtype)).to_series().drop_nulls()
        n_missing = len(column) - len(values)
        floats = values.str.strip_chars().cast(pl.Float64, strict=False)
        found[name] = TextSummary(
            n_missing,
            len(values),
            values.n_unique(),
            floats.is_not_nan().sum(),
            values.str.contains(DRESSED).sum(),
            values.head(1).str.contains(LOOKS_LIKE_DATE).any() and _n_dates(column) == len(values),
        )
    return found


def _n_dates(column: pl.Series) -> int:
    return column.to_frame().select(number(column.name, column.dtype, is_date=True).count()).item()


def n_words(table: Table, name: str) -> float:
    """The mean number of words of a value that is not missing."""
    values = table.column(name)
    words = text(name, values.dtype).str.count_matches(r"\S+")
    return float(values.to_frame().select(words.mean()).item() or 0)


def all_differ(table: Table, name: str) -> bool:
    """Whether no value stands twice."""
    return bool(table.column(name).n_unique() == table.n_rows)


def first_row(table: Table, name: str, condition: pl.Expr) -> int:
    """The first row of a column where something holds."""
    return int(table.column(name).to_frame().select(condition.arg_max()).item())
