"""A table read as records: distinct values of each column, distinct rows, and what is missing.

Values are compared once however many records have them, and equal rows are one row. Missing are None, NaN and
blank strings; space around a string does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import Floats, Index
from coterie._words import listed
from coterie.constraints._reading import frame_columns, is_missing
from coterie.exceptions import ParameterError
from coterie.relational._records.comparators import COMPARATORS
from coterie.relational._records.person_names import PersonName, parse_name
from coterie.relational._records.strings import WordWeights

Comparator = str | Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class ComparedColumn:
    """What is compared of one column, and how."""

    name: str | int
    comparator: Comparator
    weight: float
    code: Index  # (n_rows,) number of the value of each distinct row, -1 = missing
    values: list[Any]  # the distinct values
    count: Index  # (n_values,) records that have it
    first_record: Index  # (n_values,)

    @cached_property
    def texts(self) -> list[str]:
        """The values in small letters; whole numbers without a decimal point."""
        return [as_text(value).casefold() for value in self.values]

    @cached_property
    def names(self) -> list[PersonName]:
        """The values as names of persons."""
        return [parse_name(as_text(value)) for value in self.values]

    @cached_property
    def word_weights(self) -> WordWeights:
        """The words of the values and their weights."""
        return WordWeights(self.texts, self.count)

    @cached_property
    def standard_numbers(self) -> Floats:
        """The values as numbers, in units of the standard deviation over the records."""
        numbers = np.array([float(value) for value in self.values])
        largest = np.abs(numbers).max(initial=0)
        numbers = numbers / (largest or 1)  # or the squares may overflow
        mean = np.average(numbers, weights=self.count) if len(numbers) else 0.0
        spread = math.sqrt(np.average((numbers - mean) ** 2, weights=self.count)) if len(numbers) else 0.0
        return (numbers - mean) / (spread or 1)


@dataclass(frozen=True, eq=False)
class Records:
    """A table whose equal rows are one row; rows are numbered by first occurrence."""

    row: Index  # (n,) distinct row of each record
    first: Index  # (n_rows,) first record of each distinct row
    blank: NDArray[np.bool_]  # (n_rows,) nothing to compare
    columns: tuple[ComparedColumn, ...]


def read_records(X: Any, columns: Mapping[Any, Any] | None = None) -> Records:
    """Read a data frame, an array or a list of rows (of strings: one column), and what is to be compared."""
    cells = _read_cells(X)
    chosen = _read_columns(columns, list(cells))
    numbered = {name: _distinct_values(cells[name], name) for name in chosen}
    row, first = _distinct_rows([code for code, _ in numbered.values()])
    read = []
    for name, (comparator, weight) in chosen.items():
        code, values = numbered[name]
        present = np.flatnonzero(code >= 0)
        first_record = np.zeros(len(values), dtype=np.int64)
        first_record[code[present][::-1]] = present[::-1]
        count = np.bincount(code[present], minlength=len(values))
        comparator = _usual_comparator(values) if comparator is None else comparator
        column = ComparedColumn(name, comparator, weight, code[first], values, count, first_record)
        _check_values(column)
        read.append(column)
    blank = np.all([column.code < 0 for column in read], axis=0)
    return Records(row, first, blank, tuple(read))


def as_text(value: Any) -> str:
    """A value as one would write it."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# ---- the table -------------------------------------------------------------------------------------------


def _read_cells(X: Any) -> dict[str | int, Any]:
    """The cells of each column, by its name or number."""
    if hasattr(type(X), "columns"):
        cells: dict[Any, Any] = _cells_of_frame(X)
        shape = (len(next(iter(cells.values()), [])), len(cells))
    else:
        array = _as_array(X)
        if array.dtype.kind == "c":
            raise ValueError("Complex data not supported: give strings or real numbers.")
        cells, shape = {at: array[:, at] for at in range(array.shape[1])}, array.shape
    for number, what in zip(shape, ("sample", "feature"), strict=True):
        if number == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )
    return cells


def _cells_of_frame(frame: Any) -> dict[Any, list[Any]]:
    """The cells of each column of a frame, missing ones None; a name may be a number, as pandas has it."""
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"the records are a {type(frame).__name__}, which is no data frame that we know."
        ) from None
    names = known.collect_schema().names()
    if any(isinstance(name, tuple) for name in names):
        raise TypeError("the columns of X have names of several levels; give each column one name.")
    renamed = known.select(*(nw.col(name).alias(str(at)) for at, name in enumerate(names)))
    return dict(zip(names, frame_columns(renamed.to_native()).values(), strict=True))


def _as_array(X: Any) -> NDArray[Any]:
    """A table that is no frame, as an array of two dimensions."""
    if hasattr(X, "tocoo"):
        raise TypeError(
            "Sparse data was passed, but records are a table: give a data frame or a dense array."
        )
    if isinstance(X, str | bytes | Mapping) or not (hasattr(X, "__iter__") or hasattr(X, "__array__")):
        raise TypeError(
            f"the records are {type(X).__name__}; give a data frame, an array, a list of rows or of strings."
        )
    array = np.asarray(X) if hasattr(X, "__array__") else np.array(list(X), dtype=object)
    if array.ndim == 1:
        cells = array.tolist()
        if any(isinstance(cell, str) for cell in cells):
            return array[:, None]  # one column of strings
        width = [len(cell) if isinstance(cell, list | tuple | np.ndarray) else 1 for cell in cells]
        odd = next((at for at, one in enumerate(width) if one != width[0]), None)
        if odd is not None:
            raise ValueError(
                f"row {odd} has {width[odd]} values, but row 0 has {width[0]}; give rows of one length."
            )
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: one row a record. Reshape your data, with "
            "array.reshape(-1, 1) if it has a single column."
        )
    return array


def _distinct_values(cells: Any, name: str | int) -> tuple[Index, list[Any]]:
    """The number of each cell's value among the distinct ones, -1 if missing, and these values."""
    raw = cells.tolist() if isinstance(cells, np.ndarray) else cells
    seen: dict[Any, int] = {}
    try:
        code = np.fromiter((seen.setdefault(cell, len(seen)) for cell in raw), dtype=np.int64, count=len(raw))
    except TypeError:
        row = next(at for at, cell in enumerate(raw) if getattr(type(cell), "__hash__", None) is None)
        raise TypeError(
            f"row {row}, column {name!r} is {raw[row]!r:.80}: the argument must be a string or a number."
        ) from None
    values: dict[Any, int] = {}
    clean = np.empty(len(seen), dtype=np.int64)
    for at, value in enumerate(seen):
        value = value.item() if isinstance(value, np.generic) else value
        value = value.strip() if isinstance(value, str) else value
        if isinstance(value, float) and math.isinf(value):
            row = int(np.flatnonzero(code == at)[0])
            raise ValueError(
                f"row {row}, column {name!r} is infinite: give a number, or leave it empty (NaN)."
            )
        missing = is_missing(value) or value == ""
        clean[at] = -1 if missing else values.setdefault(value, len(values))
    return clean[code], list(values)


def _distinct_rows(codes: Sequence[Index]) -> tuple[Index, Index]:
    """Which records are equal: numbers by first occurrence, and the first record of each number."""
    row = np.zeros(len(codes[0]), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    for code in codes:
        _, first, row = np.unique(row * (code.max() + 2) + code + 1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[row], first[order]


# ---- what is compared ------------------------------------------------------------------------------------


def _read_columns(columns: Any, names: list[Any]) -> dict[Any, tuple[Comparator | None, float]]:
    """Comparator and weight of each column that is to be compared; None: the usual one for its values."""
    if columns is None:
        return dict.fromkeys(names, (None, 1.0))
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError(
            f"columns is {columns!r}; give {{column: comparator}} or {{column: (comparator, weight)}}, or "
            "None for all columns.",
            "columns",
        )
    chosen: dict[Any, tuple[Comparator | None, float]] = {}
    for column, wanted in columns.items():
        name = _find_column(column, names)
        if name in chosen:
            raise ParameterError(f"columns names {name!r} twice, by name and by number.", "columns")
        pair = wanted if isinstance(wanted, tuple) else (wanted, 1.0)
        if len(pair) != 2:
            raise ParameterError(
                f"columns has {wanted!r} for {column!r}; give a comparator, or (comparator, weight).",
                "columns",
            )
        comparator, weight = pair
        if not callable(comparator) and comparator not in (None, *COMPARATORS):
            raise ParameterError(
                f"columns compares {column!r} by {comparator!r}, which is no comparator; there are "
                f"{', '.join(map(repr, COMPARATORS))}, or give a function of two values.",
                "columns",
            )
        number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not number or not 0 < weight < math.inf:
            raise ParameterError(
                f"columns gives {column!r} the weight {weight!r}; a weight is a finite number above 0. Leave "
                "the column out if it is not to be compared.",
                "columns",
            )
        chosen[name] = (comparator, float(weight))
    return chosen


def _find_column(column: Any, names: list[Any]) -> Any:
    """A column by name, or by number."""
    if column in names:
        return column
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(names):
        return names[column]
    raise ParameterError(
        f"columns names {column!r}, which X does not have; its columns are {listed(map(repr, names), 12)}.",
        "columns",
    )


def _usual_comparator(values: list[Any]) -> str:
    """Numbers by distance, texts of several words by their words, other strings letter by letter."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "number"
    if not all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in values):
        return "exact"
    several = sum(len(as_text(value).split()) > 1 for value in values)
    return "soft-tfidf" if 2 * several > len(values) else "jaro-winkler"


def _check_values(column: ComparedColumn) -> None:
    """Raise if a comparator of numbers was given something else."""
    if column.comparator != "number":
        return
    for at, value in enumerate(column.values):
        try:
            fine = math.isfinite(float(value))
        except (TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise ValueError(
                f'row {column.first_record[at]}, column {column.name!r} is {value!r:.80}: "number" compares '
                "finite numbers. Correct it, leave it empty, or choose another comparator."
            )
