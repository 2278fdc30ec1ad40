"""A table read as records: distinct values of each column, distinct rows, and what is missing.

Values are compared once however many records have them, and equal rows are one row. Missing are None, NaN and
blank strings; space around a string does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from coterie._arrays import Floats, Index
from coterie._words import listed
from coterie.base import real
from coterie.constraints._reading import frame_columns, is_missing
from coterie.exceptions import ParameterError
from coterie.relational._records.comparators import COMPARATORS
from coterie.relational._records.person_names import PersonName, parse_name
from coterie.relational._records.strings import WordWeights, words_of

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
    def plain(self) -> list[str]:
        """The words of the values without what stands between them; surnames first."""
        if self.comparator == "person-name":
            return [" ".join((name.surname, *name.given)) for name in self.names]
        return [" ".join(words_of(text)) for text in self.texts]

    @cached_property
    def word_weights(self) -> WordWeights:
        """The words of the values and their weights."""
        return WordWeights(self.texts, self.count)

    @cached_property
    def standard_numbers(self) -> Floats:
        """The values as numbers, in units of the standard deviation over the records."""
        numbers = np.array([_as_number(value) for value in self.values])
        for at in np.flatnonzero(~np.isfinite(numbers))[:1].tolist():
            raise ValueError(
                f'row {self.first_record[at]}, column {self.name!r} is {self.values[at]!r:.80}: "number" '
                "compares finite numbers. Correct it, leave it empty, or choose another comparator."
            )
        numbers /= np.abs(numbers).max(initial=np.finfo(np.float64).tiny)  # or the squares may overflow
        total = max(self.count.sum(), 1)
        numbers -= numbers @ self.count / total
        return numbers / (math.sqrt(numbers**2 @ self.count / total) or 1)


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
    coded = {name: _distinct_values(cells[name], name) for name in chosen}
    seen: dict[tuple[int, ...], int] = {}
    rows = zip(*(code.tolist() for code, _ in coded.values()), strict=True)
    row = np.array([seen.setdefault(codes, len(seen)) for codes in rows])
    first = np.unique(row, return_index=True)[1]
    read = []
    for name, (comparator, weight) in chosen.items():
        code, values = coded[name]
        present = np.flatnonzero(code >= 0)
        _, at, count = np.unique(code[present], return_index=True, return_counts=True)
        comparator = comparator or _usual_comparator(values)
        read.append(ComparedColumn(name, comparator, weight, code[first], values, count, present[at]))
        if comparator == "number":
            _ = read[-1].standard_numbers  # raises for what is no number
    blank = np.all([column.code < 0 for column in read], axis=0)
    return Records(row, first, blank, tuple(read))


def as_text(value: Any) -> str:
    """A value as one would write it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _as_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


# ---- the table -------------------------------------------------------------------------------------------


def _read_cells(X: Any) -> dict[Any, Any]:
    """The cells of each column, by its name or number."""
    if not hasattr(type(X), "columns"):
        array = _as_array(X)
        return {at: array[:, at] for at in range(array.shape[1])}
    import narwhals as nw

    frame = nw.from_native(X)
    names = frame.collect_schema().names()
    if any(isinstance(name, tuple) for name in names):
        raise TypeError("the columns of X have names of several levels; give each column one name.")
    # in pandas a name may be a number
    renamed = frame.select(*(nw.col(name).alias(str(at)) for at, name in enumerate(names)))
    cells = list(frame_columns(renamed.to_native()).values())
    check_array(np.broadcast_to(0, (len(cells[0]) if cells else 0, len(cells))))  # raises if it is empty
    return dict(zip(names, cells, strict=True))


def _as_array(X: Any) -> NDArray[Any]:
    """A table that is no frame, as an array of two dimensions."""
    stored = hasattr(X, "tocoo")  # a sparse matrix, which may be a mapping: it is refused below
    if not stored and (isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__")):
        raise TypeError(
            f"the records are {type(X).__name__}; give a data frame, an array, a list of rows or of strings."
        )
    array = X if stored or hasattr(X, "__array__") else np.array(X, dtype=object)
    if array.ndim == 1:
        cells = array.tolist()
        if any(isinstance(cell, str) for cell in cells):
            return np.asarray(array)[:, None]  # one column of strings
        width = [np.size(cell) for cell in cells]
        for at in np.flatnonzero(np.array(width) != width[:1])[:1].tolist():
            raise ValueError(
                f"row {at} has {width[at]} values, but row 0 has {width[0]}; give rows of one length."
            )
    checked: NDArray[Any] = check_array(array, dtype=None, ensure_all_finite=False)
    return checked


def _distinct_values(cells: Any, name: Any) -> tuple[Index, list[Any]]:
    """The number of each cell's value among the distinct ones, -1 if missing, and these values."""
    raw = cells.tolist() if isinstance(cells, np.ndarray) else cells
    seen: dict[Any, int] = {None: -1}
    code: list[int] = []
    try:
        code.extend(seen.setdefault(_clean(cell), len(seen) - 1) for cell in raw)
    except TypeError:
        raise TypeError(
            f"row {len(code)}, column {name!r} is {raw[len(code)]!r:.80}: the argument must be a string or a "
            "number."
        ) from None
    for value, at in seen.items():
        if isinstance(value, float) and math.isinf(value):
            raise ValueError(
                f"row {code.index(at)}, column {name!r} is infinite: give a number, or leave it empty (NaN)."
            )
    return np.array(code, dtype=np.int64), list(seen)[1:]


def _clean(value: Any) -> Any:
    """A value without space around it; None if it is missing."""
    if isinstance(value, str):
        return value.strip() or None
    return None if is_missing(value) else value.item() if isinstance(value, np.generic) else value


# ---- what is compared ------------------------------------------------------------------------------------


def _read_columns(columns: Any, names: list[Any]) -> dict[Any, tuple[Comparator | None, float]]:
    """Comparator and weight of each column that is to be compared; None: the usual one for its values."""
    if columns is None:
        return dict.fromkeys(names, (None, 1.0))
    if not isinstance(columns, Mapping) or not columns:
        raise _wrong_columns(
            f"columns is {columns!r}; give {{column: comparator}} or {{column: (comparator, weight)}}, or "
            "None for all columns."
        )
    known = dict(enumerate(names)) | {name: name for name in names}
    chosen: dict[Any, tuple[Comparator | None, float]] = {}
    for column, wanted in columns.items():
        if column not in known:
            raise _wrong_columns(
                f"columns names {column!r}, which X does not have; its columns are "
                f"{listed(map(repr, names), 12)}."
            )
        name = known[column]
        if name in chosen:
            raise _wrong_columns(f"columns names {name!r} twice, by name and by number.")
        pair = isinstance(wanted, tuple) and len(wanted) == 2
        comparator, weight = wanted if pair else (wanted, 1.0)
        if not callable(comparator) and comparator not in (None, *COMPARATORS):
            raise _wrong_columns(
                f"columns compares {column!r} by {comparator!r}, which is no comparator; there are "
                f"{', '.join(map(repr, COMPARATORS))}, or give a function of two values. With a weight, give "
                "a comparator and a number: (comparator, weight)."
            )
        if not real(0, above=True).holds(weight):
            raise _wrong_columns(
                f"columns gives {column!r} the weight {weight!r}; a weight is a finite number above 0. Leave "
                "the column out if it is not to be compared."
            )
        chosen[name] = (comparator, float(weight))
    return chosen


def _wrong_columns(message: str) -> ParameterError:
    return ParameterError(message, "columns")


def _usual_comparator(values: list[Any]) -> str:
    """Numbers by distance, texts of several words by their words, other strings letter by letter."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        return "number"
    if not kinds <= {str, int, float}:
        return "exact"
    several = sum(len(as_text(value).split()) > 1 for value in values)
    return "soft-tfidf" if 2 * several > len(values) else "jaro-winkler"
