"""Numeric columns: median imputation and standardisation, in place and block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.tables._columns.summary import by_type, first_row, numbers_of
from coterie.tables._columns.values import can_be_number, is_text, number, text
from coterie.tables._errors import TableError, in_row, no_value, quoted
from coterie.tables._feature import Feature
from coterie.tables._table import Table

_CELLS_AT_ONCE = 1_000_000
# Beyond these sizes squares could leave the range of floats; such columns are scaled by a power of 2 first.
_SMALL, _LARGE = 1e-100, 1e100

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Scaling:
    """Mean and deviation of each column, of the values divided by 2**exponent."""

    centre: Floats
    deviation: Floats
    exponent: NDArray[np.intp]

    @classmethod
    def of(cls, matrix: Floats) -> _Scaling:
        """Of all columns; a second pass takes the rounding out of the mean."""
        n, chunks = len(matrix), list(_chunks(matrix))
        largest = np.max([np.abs(matrix[rows]).max(axis=0) for rows in chunks], axis=0)
        extreme = (largest > _LARGE) | (largest < _SMALL)
        exponent = np.where(extreme, np.frexp(largest)[1], 0).astype(np.intp)
        centre = np.zeros(matrix.shape[1])
        for _ in range(2):
            sums = [(_near(matrix[rows], exponent) - centre).sum(axis=0) for rows in chunks]
            centre += np.sum(sums, axis=0) / n
        squares = [((_near(matrix[rows], exponent) - centre) ** 2).sum(axis=0) for rows in chunks]
        deviation = np.sqrt(np.sum(squares, axis=0) / n)
        return cls(centre, np.where(deviation > 0, deviation, 1.0), exponent)

    def apply(self, matrix: Floats) -> None:
        """Standardise in place."""
        for rows in _chunks(matrix):
            matrix[rows] = (_near(matrix[rows], self.exponent) - self.centre) / self.deviation

    def in_users_unit(self) -> tuple[list[float], list[float]]:
        """Means and deviations."""
        return np.ldexp(self.centre, self.exponent).tolist(), np.ldexp(self.deviation, self.exponent).tolist()


def _near(chunk: Floats, exponent: NDArray[np.intp]) -> Floats:
    """The block divided by powers of 2, which is exact; most often there is nothing to do."""
    return np.ldexp(chunk, -exponent) if exponent.any() else chunk


@dataclass
class Numbers:
    """All numeric columns; `learn` keeps what `encode` needs to treat new rows alike."""

    names: list[str]
    dates: frozenset[str]
    scale: bool
    impute: bool
    medians: Floats | None = None
    n_filled: int = 0
    scaling: _Scaling | None = None

    def learn(self, table: Table, out: Floats) -> None:
        """Fill `out` with the columns, and keep their medians, means and deviations."""
        self._fill(table, out)
        self.medians = np.array([_median(out[:, at]) for at in range(out.shape[1])])
        self._fill_missing(table, out, self.impute)
        if self.scale:
            self.scaling = _Scaling.of(out)
            self.scaling.apply(out)

    def encode(self, table: Table, out: Floats, *, impute: bool) -> None:
        """Fill `out` with the columns of new rows."""
        self._fill(table, out)
        self._fill_missing(table, out, impute or self.impute)
        if self.scaling is not None:
            with np.errstate(over="ignore"):
                self.scaling.apply(out)
            for rows in _chunks(out):
                if not np.isfinite(out[rows]).all():
                    row, at = np.argwhere(~np.isfinite(out[rows]))[0].tolist()
                    where = in_row(rows.start + row)
                    raise table.error(f"column {quoted(self.names[at])} is far out of range in {where}.")

    def features(self) -> list[Feature]:
        """One a column."""
        if self.scaling is None:
            return [Feature(name, name, "numeric") for name in self.names]
        units = zip(self.names, *self.scaling.in_users_unit(), strict=True)
        return [Feature(name, name, "numeric", offset, scale) for name, offset, scale in units]

    def _fill(self, table: Table, out: Floats) -> None:
        """Copy the columns; what is missing becomes NaN."""
        if table.frame is None:
            places = [table.places[name] for name in self.names]
            for rows in _chunks(out):
                out[rows] = table.matrix[rows][:, places]
            return
        for dtype, group in by_type(table.frame, self.names).items():
            self._check_type(table, dtype, group)
        for at, name in enumerate(self.names):
            out[:, at] = numbers_of(table, name, name in self.dates)

    def _check_type(self, table: Table, dtype: pl.DataType, names: list[str]) -> None:
        """Raise if columns of a new table hold something else than numbers."""
        if is_text(dtype):
            for name in names:
                value = number(name, dtype, is_date=name in self.dates)
                is_odd = text(name, dtype).is_not_null() & value.is_null()
                row = first_row(table, name, is_odd)
                if table.column(name).to_frame().select(is_odd).item(row, 0):
                    kind = "dates" if name in self.dates else "numbers"
                    value = quoted(table.column(name)[row])
                    raise table.error(
                        f"column {quoted(name)} must hold {kind}, but holds {value} in {in_row(row)}."
                    )
        elif not can_be_number(dtype) and dtype != pl.Null:
            raise table.error(f"column {quoted(names[0])} must hold numbers, but it holds {dtype}.")

    def _fill_missing(self, table: Table, out: Floats, impute: bool) -> None:
        """Fill what is missing, or raise; an infinite value is always an error."""
        assert self.medians is not None
        self.n_filled = 0
        for rows in _chunks(out):
            chunk = out[rows]
            missing = np.isnan(chunk)
            bad = np.isinf(chunk) if impute else missing | np.isinf(chunk)
            if bad.any():
                row, at = np.argwhere(bad)[0].tolist()
                raise _bad_number(table, self.names[at], rows.start + row, bool(missing[row, at]))
            if missing.any():
                places = np.nonzero(missing)
                chunk[places] = self.medians[places[1]]
                self.n_filled += len(places[0])


def _chunks(out: Floats) -> Iterator[slice]:
    """Slices of rows, few enough that a copy of them costs little."""
    step = max(1, _CELLS_AT_ONCE // max(1, out.shape[1]))
    for start in range(0, len(out), step):
        yield slice(start, min(start + step, len(out)))


def _median(values: Floats) -> float:
    """The median of what is not missing; halves are added, for the sum could be infinite."""
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    middle = [(len(known) - 1) // 2, len(known) // 2]
    low, high = np.partition(known, middle)[middle].tolist()
    return float(low if low == high else low / 2 + high / 2)


def _bad_number(table: Table, name: str, row: int, is_missing: bool) -> TableError:
    if is_missing:
        return table.error(no_value(name, row))
    return table.error(f"column {quoted(name)} is infinite in {in_row(row)}.")
