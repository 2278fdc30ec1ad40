"""Reading what the user hands in: ids, pairs, and one value a pair. Every complaint names the row.

Bad input raises before anything is built. Nothing is dropped here but a must-link of an item with itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.constraints._statements import (
    MUST_LINK,
    BoolArray,
    FloatArray,
    IntArray,
    Pairs,
    encode_sources,
    frozen,
)


class Ids:
    """The user's own name of each item, in row order; unique and hashable."""

    values: NDArray[Any]

    def __init__(self, values: Any) -> None:
        if isinstance(values, Ids):
            values = values.values
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"ids must be one-dimensional, one per item; got shape {array.shape}.")
        names = array.tolist()
        rows: dict[Hashable, int] = {}
        for row, name in enumerate(names):
            if name is None or name != name:  # None or NaN
                raise ValueError(f"ids has no value in row {row}; give every item an id.")
            if rows.setdefault(name, row) != row:
                raise ValueError(
                    f"id {name!r} stands in rows {rows[name]} and {row}; ids must be unique, "
                    "or leave `ids` out and use row numbers."
                )
        self.values = frozen(array)
        self._rows = rows
        self._rows_of_text: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ids) and self.values.tolist() == other.values.tolist()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Ids, (self.values,)

    def row(self, name: Any, where: str, *, text: bool = False) -> int:
        """Return the row of an id; `text` compares by the written form, as files need."""
        table: dict[Any, int] = self._rows
        if text:
            if self._rows_of_text is None:
                self._rows_of_text = {str(key): row for key, row in self._rows.items()}
            table = self._rows_of_text
        found = table.get(name)
        if found is None:
            close = difflib.get_close_matches(str(name), [str(key) for key in list(table)[:10_000]], n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            first = ", ".join(repr(key) for key in self.values[:3].tolist())
            raise ValueError(f"{where}: unknown id {name!r}; the ids begin {first}, ...{hint}")
        return found


def item_name(ids: Ids | None, item: int) -> str:
    """How a message names an item: by the user's id if there is one."""
    return str(item) if ids is None else str(ids.values[item])


def read_pairs(value: Any, name: str, ids: Ids | None) -> IntArray:
    """Turn a list or array of pairs into an (m, 2) array of row numbers, not yet checked for range."""
    if value is None:
        return np.empty((0, 2), dtype=np.int64)
    if hasattr(value, "columns"):
        raise TypeError(f"{name} is a data frame; build from it with Constraints.from_frame(frame).")
    rows = value if isinstance(value, np.ndarray) else list(value)
    if len(rows) == 0:
        return np.empty((0, 2), dtype=np.int64)
    if ids is not None:
        return _pairs_by_id(rows, name, ids)
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        array = np.asarray(0)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(_shape_complaint(rows, name))
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
            raise ValueError(f"{name} holds a number too large for an item.")
        return array.astype(np.int64)
    return _whole_numbers(array, name)


def _whole_numbers(array: NDArray[Any], name: str) -> IntArray:
    if array.dtype.kind == "f":
        good = np.isfinite(array) & (array == np.floor(array))
    else:
        cells = [isinstance(x, int | np.integer) and not isinstance(x, bool) for x in array.ravel().tolist()]
        good = np.array(cells).reshape(array.shape)
    if not good.all():
        row = int(np.flatnonzero(~good.all(axis=1))[0])
        raise ValueError(
            f"{name} row {row} is {tuple(array[row].tolist())!r}: items are named by whole row numbers. "
            "If these are your own ids, pass `ids=` with the id of every row."
        )
    return array.astype(np.int64)


def _pairs_by_id(rows: Any, name: str, ids: Ids) -> IntArray:
    rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
    numbers = np.empty((len(rows), 2), dtype=np.int64)
    for number, pair in enumerate(rows):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(_shape_complaint(rows, name))
        for end in (0, 1):
            numbers[number, end] = ids.row(pair[end], f"{name} row {number}")
    return numbers


def _shape_complaint(rows: Any, name: str) -> str:
    for number, pair in enumerate(rows):
        length = len(pair) if hasattr(pair, "__len__") and not isinstance(pair, str) else None
        if length != 2:
            return (
                f"{name} must be a list of pairs such as [(0, 1), (4, 7)]; row {number} is {pair!r}. "
                "Weights go into `weight=`."
            )
    return f"{name} must have shape (n_pairs, 2)."


def check_range(ij: IntArray, n_items: int, name: str, labels: Sequence[int] | None = None) -> None:
    """Raise if a pair names an item outside 0..n_items-1; `labels` are the row numbers to report."""
    outside = ((ij < 0) | (ij >= n_items)).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        pair = tuple(ij[row].tolist())
        shown = row if labels is None else labels[row]
        raise ValueError(
            f"{name} row {shown} is {pair}: items are numbered 0 to {n_items - 1} (n_items={n_items}). "
            "Check the number of items, or whether these are ids (`ids=`)."
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


def drop_self_pairs(pairs: Pairs, kind: str, ids: Ids | None) -> Pairs:
    """Drop must-links of an item with itself; a cannot-link of that form is an error."""
    same = pairs.ij[:, 0] == pairs.ij[:, 1]
    if not same.any():
        return pairs
    if kind != MUST_LINK:
        row = int(np.flatnonzero(same)[0])
        item = item_name(ids, int(pairs.ij[row, 0]))
        raise ValueError(
            f"cannot-link row {row} joins item {item} with itself; an item is always in its own "
            "cluster. Remove this pair."
        )
    return pairs.take(~same)


def read_weight(value: Any, n_pairs: int) -> FloatArray:
    """One strength a pair: finite, not negative; None means 1."""
    weight = _one_per_pair(1.0 if value is None else value, n_pairs, "weight")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"weight of pair {row} is {weight[row]}; weights are finite and not negative (0 means no effect; "
            "for a pair that must hold, use hard=True)."
        )
    return weight


def read_confidence(value: Any, n_pairs: int) -> FloatArray:
    """One probability a pair, in (0.5, 1]; None or NaN means not stated."""
    confidence = _one_per_pair(np.nan if value is None else value, n_pairs, "confidence")
    bad = ~np.isnan(confidence) & ~((confidence > 0.5) & (confidence <= 1))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"confidence of pair {row} is {confidence[row]}; it is the probability that the statement is "
            "true, above 0.5 and at most 1. Below 0.5 the opposite kind is more likely: state that one."
        )
    return confidence


def read_hard(value: Any, n_pairs: int) -> BoolArray:
    """One flag a pair."""
    flags = np.asarray(False if value is None else value)
    if flags.dtype != np.bool_:
        raise TypeError(f"hard must be True, False or one of them per pair; got {value!r}.")
    return _spread(flags, n_pairs, "hard")


def read_source(value: Any, n_pairs: int) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """One source a pair: a string for all, or a sequence of strings and None."""
    if value is None:
        return np.full(n_pairs, -1, dtype=np.int32), ()
    if isinstance(value, str):
        return np.zeros(n_pairs, dtype=np.int32), (value,)
    names = list(value)
    if len(names) != n_pairs:
        raise ValueError(_length_complaint("source", len(names), n_pairs))
    return encode_sources([None if name is None or name != name else str(name) for name in names])


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
        raise ValueError(_length_complaint(name, array.shape, n_pairs))
    return array


def _length_complaint(name: str, got: Any, n_pairs: int) -> str:
    return (
        f"{name} has length {got}, but there are {n_pairs} pairs: give one value for all, or one per pair, "
        "the must-links first and then the cannot-links."
    )
