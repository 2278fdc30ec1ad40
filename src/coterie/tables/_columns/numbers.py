"""Numeric columns: missing values filled with the median, then standardised, column by column.

scikit-learn's scaler and imputer take squares and sums that leave the range of floats where values are very
large or very small, and leave columns alone that hardly vary; columns of a user may be either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.tables._columns.summary import first_row, numbers_of
from coterie.tables._columns.values import can_be_number, is_text, number, text
from coterie.tables._errors import in_row, no_value, quoted
from coterie.tables._feature import Feature
from coterie.tables._table import Table

# Beyond these sizes squares could leave the range of floats; such columns are scaled by a power of 2 first.
_SMALL, _LARGE = 1e-100, 1e100

Floats = NDArray[np.float64]


@dataclass
class Numbers:
    """All numeric columns; `learn` keeps what `encode` needs to treat new rows alike."""

    names: list[str]
    dates: list[str]
    scale: bool
    impute: bool
    n_filled: int = 0
    # one a column: median; exponent, mean and deviation of the values divided by 2**exponent
    medians: Floats | None = None
    scaling: Floats | None = None

    def learn(self, table: Table, out: Floats) -> None:
        """Fill `out` with the columns, and keep their medians, means and deviations."""
        self.medians = np.zeros(len(self.names))
        self.scaling = np.zeros((3, len(self.names))) if self.scale else None
        self.n_filled = 0
        for at, name in enumerate(self.names):
            values = self._read(table, name)
            self.medians[at] = _median(values)
            values = self._filled(table, at, values, self.impute)
            if self.scaling is not None:
                self.scaling[:, at] = _scaling(values)
            out[:, at] = self._scaled(values, at)

    def encode(self, table: Table, out: Floats, *, impute: bool) -> None:
        """Fill `out` with the columns of new rows."""
        self.n_filled = 0
        for at, name in enumerate(self.names):
            values = self._filled(table, at, self._read(table, name), impute or self.impute)
            with np.errstate(over="ignore"):
                out[:, at] = self._scaled(values, at)
            far = ~np.isfinite(out[:, at])
            if far.any():
                where = in_row(int(far.argmax()))
                raise table.error(f"column {quoted(name)} is far out of range in {where}.")

    def features(self) -> list[Feature]:
        """One a column."""
        if self.scaling is None:
            return [Feature(name, name, "numeric") for name in self.names]
        exponent = self.scaling[0].astype(int)
        units = (np.ldexp(values, exponent).tolist() for values in self.scaling[1:])
        return [Feature(name, name, "numeric", *unit) for name, *unit in zip(self.names, *units, strict=True)]

    def _read(self, table: Table, name: str) -> Floats:
        """A column as floats, NaN where nothing is; raises if a new table holds something else there."""
        if table.frame is not None:
            self._check_type(table, name, table.frame.get_column(name).dtype)  # the schema is made anew
        return numbers_of(table, name, name in self.dates)

    def _check_type(self, table: Table, name: str, dtype: pl.DataType) -> None:
        if is_text(dtype):
            value = number(name, dtype, is_date=name in self.dates)
            is_odd = text(name, dtype).is_not_null() & value.is_null()
            row = first_row(table, name, is_odd)
            if table.column(name).to_frame().select(is_odd).item(row, 0):
                kind = "dates" if name in self.dates else "numbers"
                found = f"{quoted(table.column(name)[row])} in {in_row(row)}"
                raise table.error(f"column {quoted(name)} must hold {kind}, but holds {found}.")
        elif not can_be_number(dtype) and dtype != pl.Null:
            raise table.error(f"column {quoted(name)} must hold numbers, but it holds {dtype}.")

    def _filled(self, table: Table, at: int, values: Floats, impute: bool) -> Floats:
        """The values with what is missing filled, or an error; an infinite value is always one."""
        assert self.medians is not None
        missing, infinite = np.isnan(values), np.isinf(values)
        if infinite.any():
            row = in_row(int(infinite.argmax()))
            raise table.error(f"column {quoted(self.names[at])} is infinite in {row}.")
        if not missing.any():
            return values
        if not impute:
            raise table.error(no_value(self.names[at], int(missing.argmax())))
        self.n_filled += int(missing.sum())
        return np.where(missing, self.medians[at], values)

    def _scaled(self, values: Floats, at: int) -> Floats:
        if self.scaling is None:
            return values
        exponent, mean, deviation = self.scaling[:, at].tolist()
        return (np.ldexp(values, -int(exponent)) - mean) / deviation


def _median(values: Floats) -> float:
    """The median of what is not missing; of halves where the sum of two would be infinite."""
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    with np.errstate(over="ignore"):
        median = np.median(known)
    return float(median if np.isfinite(median) else 2 * np.median(known / 2))


def _scaling(values: Floats) -> tuple[float, float, float]:
    """Exponent, and of the values divided by 2**exponent the mean and the deviation."""
    largest = float(np.abs(values).max())
    exponent = 0 if _SMALL <= largest <= _LARGE else int(np.frexp(largest)[1])
    near = np.ldexp(values, -exponent)
    mean = near.mean()
    mean += (near - mean).mean()  # takes the rounding out of the mean
    deviation = float(np.sqrt(((near - mean) ** 2).mean()))
    return exponent, float(mean), deviation if deviation > 0 else 1.0
