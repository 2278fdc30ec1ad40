"""A table or matrix as it was read, and the columns that a run needs by name."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie._words import count_of
from coterie.tables._columns.values import can_be_number, can_be_text, is_text, number
from coterie.tables._errors import TableError, in_row, no_column, quoted

# Above this a whole number may have been rounded in a column of floats.
_EXACT = 2**53


class Table:
    """What was read from a file: a typed `frame`, or a `matrix` of numbers, dense or CSR (NPY, NPZ, MTX).

    `notes` are sentences that the user should know of the reading.
    """

    def __init__(
        self,
        path: Path,
        *,
        frame: pl.DataFrame | None = None,
        matrix: Any = None,
        n_rows: int | None = None,
        notes: tuple[str, ...] = (),
        stamp: tuple[int, int] | None = None,
    ) -> None:
        self.path = path
        self.frame = frame
        self.matrix = matrix
        self.notes = notes
        self.stamp = stamp  # size and time of a text file, which is read again to write it as it was
        if n_rows is None:
            n_rows = frame.height if frame is not None else matrix.shape[0]
        self.n_rows: int = n_rows

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; those of a matrix are "column 0", "column 1", ..."""
        if self.frame is not None:
            return tuple(self.frame.columns)
        return tuple(f"column {at}" for at in range(self.matrix.shape[1]))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each column."""
        return {name: at for at, name in enumerate(self.names)}

    @property
    def is_sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return self.frame is None and not isinstance(self.matrix, np.ndarray)

    def __repr__(self) -> str:
        rows, columns = count_of(self.n_rows, "row"), count_of(len(self.names), "column")
        return f"<Table {self.path.name}: {rows}, {columns}>"

    def error(self, message: str) -> TableError:
        """An error that names the file."""
        return TableError(f"{self.path.name}: {message}")

    def column(self, name: str) -> pl.Series:
        """A column by its name."""
        if name not in self.places:
            raise TableError(f"{self.path.name}: {no_column(name, self.names)}")
        if self.frame is not None:
            return self.frame[name]
        at = self.places[name]
        if isinstance(self.matrix, np.ndarray):
            return pl.Series(name, self.matrix[:, at])
        return pl.Series(name, self.matrix[:, [at]].toarray().ravel())

    def ids(self, column: str | None) -> NDArray[Any] | None:
        """The ids in a column, text or whole numbers, all different; None: rows go by their numbers."""
        if column is None:
            return None
        values = self._whole(self.column(column))
        if values.null_count():
            raise self.error(
                f"column {quoted(column)} has no id in {in_row(values.is_null().arg_max())}; give every row "
                "one, or leave --id out to go by row numbers."
            )
        self._check_unique(values)
        if values.dtype.is_integer() and values.dtype not in (pl.UInt64, pl.Int128):
            return values.cast(pl.Int64).to_numpy()
        ids = np.empty(self.n_rows, dtype=object)
        ids[:] = values.to_list()
        return ids

    def _whole(self, values: pl.Series) -> pl.Series:
        """Ids as text or whole numbers; floats that are whole become so."""
        if values.dtype.is_float():
            values = values.fill_nan(None)
            odd = values.is_not_null() & ((values != values.round()) | (values.abs() > _EXACT))
            if odd.any():
                row = odd.arg_max()
                raise self.error(
                    f"column {quoted(values.name)} cannot hold ids: there is {values[row]} in {in_row(row)}; "
                    "ids are text or whole numbers."
                )
            return values.cast(pl.Int64)
        if values.dtype.is_integer() or values.dtype == pl.String:
            return values
        if not can_be_text(values.dtype):
            raise self.error(
                f"column {quoted(values.name)} cannot hold ids: they are text or whole numbers, these are "
                f"{values.dtype}."
            )
        return values.cast(pl.String)

    def _check_unique(self, values: pl.Series) -> None:
        if values.n_unique() == len(values):
            return
        first = values.is_duplicated().arg_max()
        again = (values == values[first]).arg_true().to_list()[1]
        shown = quoted(values[first]) if values.dtype == pl.String else str(values[first])
        raise self.error(
            f"id {shown} stands twice in column {quoted(values.name)}, in rows {first} and {again} (rows are "
            "counted from 0); ids must differ."
        )

    def numbers(self, column: str, *, missing: bool = False) -> NDArray[np.float64]:
        """The finite numbers in a column: weights, loads, coordinates; some may be `missing`: NaN."""
        values = self.column(column)
        if not (can_be_number(values.dtype) or is_text(values.dtype) or values.dtype == pl.Null):
            raise self.error(f"column {quoted(column)} must hold numbers, but it holds {values.dtype}.")
        found = values.to_frame().select(number(column, values.dtype)).to_series()
        bad = ~found.is_finite().fill_null(False)
        if missing:
            bad &= ~(values.is_null() | (values.is_nan() if values.dtype.is_float() else False))
        if bad.any():
            row = bad.arg_max()
            is_missing = values[row] is None or (values.dtype.is_float() and values[row] != values[row])
            what = "nothing" if is_missing else quoted(values[row])
            raise self.error(
                f"column {quoted(column)} must hold numbers, but there is {what} in {in_row(row)}."
            )
        return np.ascontiguousarray(found.to_numpy(), dtype=np.float64)
