"""Reading what the user hands in: ids, pairs, and one value a pair. Every complaint names the row.

Bad input raises before anything is built. Nothing is dropped here but a must-link of an item with itself.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.constraints._model.statements import (
    MUST_LINK,
    BoolArray,
    FloatArray,
    IntArray,
    Pairs,
    encode_sources,
    frozen,
)

RowName = Callable[[int], str]  # how a complaint names a row

_FORMS = {
    2: "must be a list of pairs such as [(0, 1), (4, 7)]",
    3: "must be a list of triples such as [(0, 1, 2), (5, 3, 4)]",
}
_LARGEST = 2**62
_WHOLE_FLOAT = re.compile(r"(?<=\d)\.0*$")  # what 3.0 has beside 3


def as_vector(values: Any) -> NDArray[Any]:
    """An array that keeps the types of a list: NumPy would turn ["a", -1] and ["a", nan] into text."""
    if isinstance(values, list | tuple):
        kinds = set(map(type, values))
        if str in kinds and len(kinds) > 1:
            array = np.empty(len(values), dtype=object)
            array[:] = values
            return array
    return np.asarray(values)


def as_text_array(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all text as an array of text, which files hold in one piece; others as they are."""
    cells = values.tolist() if values.dtype == object else []
    if not cells or set(map(type, cells)) != {str}:
        return values
    lengths = list(map(len, cells))
    if len(cells) * max(lengths) > 4 * sum(lengths) + 2**20:  # one long text would blow up the others
        return values
    text = np.array(cells)
    return text if text.tolist() == cells else values  # NumPy drops zeros at the end


def whole_number(value: Any, name: str, low: int) -> int:
    """A whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name} must be a whole number, at least {low}; got {value!r}.")
    return int(value)


def row_names(X: Any) -> Any:
    """The index of a frame or series, which names its rows; None where there is none, or a default one."""
    index = getattr(X, "index", None)
    if index is None or callable(index):  # a list has a method of that name
        return None
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if counts else index


class Ids:
    """The user's own name of each item, in row order; unique and hashable.

    `index` is what a frame of these rows may call them instead: the index of the series that the ids came in,
    or row numbers where some rows were taken. It is empty where labels in it are ids of other rows.
    """

    values: NDArray[Any]
    index: NDArray[Any] | None

    def __init__(self, values: Any, index: Any = None) -> None:
        index = row_names(values) if index is None else index
        array = as_vector(values.values if isinstance(values, Ids) else values)
        if array.ndim != 1:
            raise ValueError(f"ids must be one-dimensional, one per item; got shape {array.shape}.")
        rows: dict[Hashable, int] = {}
        for row, name in enumerate(array.tolist()):
            if is_missing(name):
                raise ValueError(f"ids has no value in row {row}; give every item an id.")
            if rows.setdefault(name, row) != row:
                raise ValueError(
                    f"id {name!r} stands in rows {rows[name]} and {row}; ids must be unique, "
                    "or leave `ids` out and use row numbers."
                )
        self.values = frozen(array)
        self._rows = rows
        labels = None if index is None else np.asarray(index)
        self.index = None if labels is None or not rows.keys().isdisjoint(labels.tolist()) else labels
        self._rows_of_text: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ids) and self.values.tolist() == other.values.tolist()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Ids, (as_text_array(self.values), self.index)

    def take(self, rows: IntArray) -> Ids:
        """The ids of some rows."""
        labels = np.arange(len(self)) if self.index is None else self.index
        # a row number that is an id too could be read either way: then the ids alone count
        clear = len(labels) == len(self) and self._rows.keys().isdisjoint(labels.tolist())
        return Ids(self.values[rows], labels[rows] if clear else labels[:0])

    def same_rows(self, other: Ids) -> bool:
        """Whether both name the same rows, be it by id or by what their frame calls them."""
        both = self, other
        (a, a_index), (b, b_index) = ((x.values.tolist(), np.asarray(x.index).tolist()) for x in both)
        return a in (b, b_index) or a_index == b

    def places(self, names: Any, what: str) -> IntArray:
        """The item that each name in an index is; `what` has that index."""
        if np.array_equal(as_vector(names), self.values):
            return np.arange(len(self))
        try:
            wanted = Ids(names).values
        except ValueError as error:
            raise ValueError(f"the index of {what} names rows: {error}") from None
        found, table = wanted.tolist(), self._rows
        if self.index is not None and not (found and found[0] in table and len(self.index)):
            table = {label: row for row, label in enumerate(self.index.tolist())}
        try:
            return np.array([table[name] for name in found], dtype=np.int64)
        except KeyError as error:
            first = ", ".join(repr(key) for key in self.values[:3].tolist())
            raise ValueError(
                f"{what} has a row {error.args[0]!r}, and the constraints do not say which item that is; "
                f"their ids begin {first}, ... Rows are matched by name where both have names: give {what} "
                "the ids as its index, or pass it without names (to_numpy()), in the order of the ids."
            ) from None

    def _by_text(self) -> dict[str, int]:
        by_text: dict[str, int] = {}
        for key, row in self._rows.items():
            text = as_written(key)
            if by_text.setdefault(text, row) != row:
                raise ValueError(
                    f"the ids of rows {by_text[text]} and {row} are both written {text!r}, so a file "
                    "cannot tell them apart; make the ids differ as text."
                )
        return by_text

    def row(self, name: Any, where: str, *, text: bool = False) -> int:
        """Return the row of an id; `text` compares by the written form, as files need."""
        table: dict[Any, int] = self._rows
        if isinstance(name, float) and name not in table:
            name = as_written(name)
        if text:
            if self._rows_of_text is None:
                self._rows_of_text = self._by_text()
            table = self._rows_of_text
            name = name if name in table else name.strip()
            name = name if name in table else _WHOLE_FLOAT.sub("", name)
        try:
            return table[name]
        except (KeyError, TypeError):  # not there, or not hashable
            if not text and str(name) in map(str, list(table)[:10_000]):
                kinds = sorted({type(key).__name__ for key in list(table)[:100]})
                message = f"it is {type(name).__name__}, the ids are {', '.join(kinds)}"
                raise ValueError(f"{where}: unknown id {name!r}: {message}.") from None
            close = difflib.get_close_matches(str(name), [str(key) for key in list(table)[:10_000]], n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            first = ", ".join(repr(key) for key in self.values[:3].tolist())
            raise ValueError(f"{where}: unknown id {name!r}; the ids begin {first}, ...{hint}") from None


def as_written(name: Any) -> str:
    """An id as text; a column with gaps makes 3.0 of 3, and it is 3 that was meant."""
    return str(int(name) if isinstance(name, float) and name.is_integer() else name)


def item_name(ids: Ids | None, item: int) -> str:
    """How a message names an item: by the user's id if there is one."""
    return str(item) if ids is None else str(ids.values[item])


def names_of(ids: Ids | None, items: Any) -> list[Any]:
    """Items, in an array of any shape, by the user's ids if there are any."""
    return np.asarray(items if ids is None else ids.values[np.asarray(items)]).tolist()


def first_three(names: Sequence[str]) -> str:
    """The first three of some names, and whether there are more."""
    return ", ".join([*names[:3], *["..."] * (len(names) > 3)])


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA and NaT, of which the first answers neither yes nor no when compared."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def is_unknown(value: Any) -> bool:
    """Whether an entry says nothing about its item: missing, or -1."""
    return is_missing(value) or (isinstance(value, int | float | np.number) and value == -1)


def read_pairs(value: Any, name: str, ids: Ids | None, width: int = 2) -> IntArray:
    """Turn a list or array of pairs (or triples) into an array of row numbers, not yet checked for range."""
    nothing = np.empty((0, width), dtype=np.int64)
    if value is None:
        return nothing
    if hasattr(value, "tocoo"):
        raise TypeError(f"{name} is a sparse matrix; build from it with Constraints.from_matrix(matrix).")
    if hasattr(value, "columns"):
        raise TypeError(f"{name} is a data frame; build from it with Constraints.from_frame(frame).")
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name} {_FORMS[width]}; got {value!r}.")
    rows: Any = value if isinstance(value, np.ndarray) else list(value)
    try:
        # of a list, objects: what is no number stays as it was and can be named
        array = rows if isinstance(rows, np.ndarray) else np.array(rows, dtype=object)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if len(rows) == 0:
        return nothing
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(_shape_complaint(rows, name, width))
    if ids is not None:
        cells = enumerate(array.tolist())
        found = [[ids.row(end, f"{name} row {row}") for end in ends] for row, ends in cells]
        return np.array(found, dtype=np.int64)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    good = _whole(array)
    if not good.all():
        row = int(np.flatnonzero(~good.all(axis=1))[0])
        raise ValueError(
            f"{name} row {row} is {tuple(array[row].tolist())!r}: items are named by whole row numbers. "
            "If these are your own ids, pass `ids=` with the id of every row."
        )
    return array.astype(np.int64)


def _whole(array: NDArray[Any]) -> BoolArray:
    """Which cells are whole numbers that can be row numbers; True is not a number here."""
    if array.dtype.kind == "u":
        return np.asarray(array <= _LARGEST)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        return (np.abs(array) <= _LARGEST) & (array == np.floor(array))
    return np.array([_is_row(cell) for cell in array.ravel().tolist()], dtype=bool).reshape(array.shape)


def _is_row(cell: Any) -> bool:
    is_number = isinstance(cell, int | float | np.integer | np.floating) and not isinstance(cell, bool)
    return bool(is_number and abs(cell) <= _LARGEST and cell == int(cell))


def _shape_complaint(rows: Any, name: str, width: int) -> str:
    for number, ends in enumerate(rows):
        length = len(ends) if hasattr(ends, "__len__") and not isinstance(ends, str) else None
        if length != width:
            hint = " Weights go into `weight=`." if width == 2 else ""
            return f"{name} {_FORMS[width]}; row {number} is {ends!r}.{hint}"
    return f"{name} {_FORMS[width]}; got shape {np.shape(rows)}."


def check_range(ij: IntArray, n_items: int, row_name: RowName) -> None:
    """Raise if a pair names an item outside 0..n_items-1."""
    outside = ((ij < 0) | (ij >= n_items)).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{row_name(row)} is {tuple(ij[row].tolist())}: items are numbered 0 to {n_items - 1} "
            f"(n_items={n_items}). Check the number of items, or whether these are ids (`ids=`)."
        )


def infer_n_items(n_items: Any, ids: Ids | None, *tables: IntArray) -> int:
    """Settle the number of items: as given, else one per id, else one more than the largest named."""
    if n_items is None:
        if ids is not None:
            return len(ids)
        return int(max((table.max() for table in tables if table.size), default=-1)) + 1
    if isinstance(n_items, bool) or not isinstance(n_items, int | np.integer):
        raise TypeError(f"n_items must be a whole number, got {n_items!r}.")
    if n_items < 0:
        raise ValueError(f"n_items must not be negative, got {n_items}.")
    if ids is not None and n_items != len(ids):
        raise ValueError(f"n_items={n_items}, but there are {len(ids)} ids.")
    return int(n_items)


def drop_self_pairs(pairs: Pairs, kind: str, ids: Ids | None, row_name: RowName) -> Pairs:
    """Drop must-links of an item with itself; a cannot-link of that form is an error."""
    same = pairs.ij[:, 0] == pairs.ij[:, 1]
    if not same.any():
        return pairs
    if kind != MUST_LINK:
        row = int(np.flatnonzero(same)[0])
        item = item_name(ids, int(pairs.ij[row, 0]))
        raise ValueError(
            f"{row_name(row)} links item {item} with itself, which nothing can meet. Remove this pair."
        )
    return pairs.take(~same)


def read_weight(value: Any, n_pairs: int, row_name: RowName) -> FloatArray:
    """One strength a pair: finite, not negative; None means 1."""
    weight = _one_per_pair(1.0 if value is None else value, n_pairs, "weight")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"weight of {row_name(row)} is {weight[row]}; weights are finite and not negative (0 means no "
            "effect; for a pair that must hold, use hard=True)."
        )
    return weight + 0.0  # no -0.0: equal weights have equal bits


def read_confidence(value: Any, n_pairs: int, row_name: RowName) -> FloatArray:
    """One probability a pair, in (0.5, 1]; None or NaN means not stated."""
    confidence = _one_per_pair(np.nan if value is None else value, n_pairs, "confidence")
    stated = ~np.isnan(confidence)
    bad = stated & ~((confidence > 0.5) & (confidence <= 1))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"confidence of {row_name(row)} is {confidence[row]}; it is the probability that the constraint "
            "is true, above 0.5 and at most 1. Below 0.5 the opposite kind is more likely: state that one."
        )
    return np.where(stated, confidence, np.nan)  # one NaN, so that equal columns have equal bits


def read_hard(value: Any, n_pairs: int) -> BoolArray:
    """One flag a pair."""
    flags = np.asarray(False if value is None else value)
    if flags.dtype != np.bool_ and flags.size:
        raise TypeError(f"hard must be True, False or one of them per pair; got {value!r}.")
    return _spread(flags, n_pairs, "hard")


def read_source(value: Any, n_pairs: int) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """One source a pair: a string for all, or a sequence of strings and None."""
    if value is None:
        return np.full(n_pairs, -1, dtype=np.int32), ()
    if isinstance(value, str):
        return np.zeros(n_pairs, dtype=np.int32), (value,)
    if not hasattr(value, "__iter__"):
        raise TypeError(f"source must be a string, or one string or None per pair; got {value!r}.")
    names = list(value)
    if len(names) != n_pairs:
        raise ValueError(_length_complaint("source", len(names), n_pairs))
    return encode_sources([None if is_missing(name) else str(name) for name in names])


def _one_per_pair(value: Any, n_pairs: int, name: str) -> FloatArray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or one number per pair; got {value!r}.") from None
    return _spread(array, n_pairs, name)


def _spread(array: NDArray[Any], n_pairs: int, name: str) -> NDArray[Any]:
    if array.ndim == 0:
        return np.full(n_pairs, array[()])
    if array.shape != (n_pairs,):
        length = array.shape[0] if array.ndim == 1 else array.shape
        raise ValueError(_length_complaint(name, length, n_pairs))
    return array


def _length_complaint(name: str, got: Any, n_pairs: int) -> str:
    return (
        f"{name} has length {got}, but there are {n_pairs} pairs: give one value for all, or one per pair, "
        "the must-links first and then the cannot-links."
    )
