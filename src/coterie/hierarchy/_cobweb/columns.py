"""Columns of a table as COPCobweb needs them: which are nominal, their values as numbers, nothing missing."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.constraints._reading import is_missing
from coterie.hierarchy._cobweb.state import Floats, Index

_FORM = "categorical_features must be None, a mask with one entry a column, column numbers or column names"


def nominal_mask(given: Any, n_columns: int, names: Sequence[str] | None) -> NDArray[np.bool_]:
    """Which columns `categorical_features` names."""
    mask = np.zeros(n_columns, dtype=bool)
    if given is None:
        return mask
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise ValueError(f"{_FORM}, in a list; got {given!r}.")
    entries = list(given)
    if all(isinstance(one, bool | np.bool_) for one in entries) and entries:
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} entries; X has {n_columns} columns."
            )
        return np.array(entries, dtype=bool)
    for one in entries:
        if isinstance(one, str):
            if names is None:
                raise ValueError(
                    f"categorical_features names column {one!r}, but X has no column names; give numbers."
                )
            if one not in names:
                near = get_close_matches(one, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(names[:10])}."
                raise ValueError(f"categorical_features names {one!r}, which is no column of X; {hint}")
            mask[names.index(one)] = True
        elif isinstance(one, int | np.integer) and not isinstance(one, bool | np.bool_):
            if not 0 <= one < n_columns:
                raise ValueError(
                    f"categorical_features names column {one}; the columns are 0 to {n_columns - 1}."
                )
            mask[one] = True
        else:
            raise ValueError(f"{_FORM}; one entry is {one!r}.")
    return mask


def read_columns(
    X: NDArray[Any], nominal: NDArray[np.bool_], names: Sequence[str] | None
) -> tuple[Floats, Index, Index]:
    """The numeric columns; the others with their values numbered through; how many values each of these has.

    Raises where a value is missing, infinite, or no number in a numeric column, with its place.
    """
    numeric = _numbers(X, np.flatnonzero(~nominal).tolist(), names)
    columns = np.flatnonzero(nominal)
    values = np.empty((len(X), len(columns)), dtype=np.int64)
    n_values = np.zeros(len(columns), dtype=np.int64)
    for at, column in enumerate(columns.tolist()):
        values[:, at] = _codes(X[:, column], column, names) + n_values.sum()
        n_values[at] = values[:, at].max() + 1 - n_values.sum()
    return numeric, values, n_values


def _numbers(X: NDArray[Any], columns: list[int], names: Sequence[str] | None) -> Floats:
    try:
        numbers = np.ascontiguousarray(X[:, columns], dtype=np.float64)
    except (TypeError, ValueError):
        numbers = _number_by_number(X, columns, names)
    if not np.isfinite(numbers).all():
        row, at = np.argwhere(~np.isfinite(numbers))[0].tolist()
        if np.isnan(numbers[row, at]):
            raise ValueError(
                f"{_place(row, columns[at], names)} is missing (NaN). Fill it in, for example with "
                "sklearn.impute.SimpleImputer, or leave out the row or the column."
            )
        raise ValueError(
            f"{_place(row, columns[at], names)} is {numbers[row, at]} (infinite): not a measurement."
        )
    return numbers


def _number_by_number(X: NDArray[Any], columns: list[int], names: Sequence[str] | None) -> Floats:
    """What cannot be read at once: markers of missing values, or a value to be named."""
    numbers = np.empty((len(X), len(columns)))
    for at, column in enumerate(columns):
        for row, value in enumerate(X[:, column].tolist()):
            try:
                numbers[row, at] = np.nan if is_missing(value) else float(value)
            except TypeError as error:
                raise TypeError(f"{_place(row, column, names)} holds {value!r}: {error}.") from None
            except ValueError:
                raise ValueError(
                    f"{_place(row, column, names)} holds {value!r}, which is no number. If the column is "
                    "nominal, list it in categorical_features."
                ) from None
    return numbers


def _codes(values: NDArray[Any], column: int, names: Sequence[str] | None) -> Index:
    """Different values as 0, 1, ...; of objects in the order of their first appearance."""
    found: dict[Any, int] = {}
    listed = values.tolist()
    for row, value in enumerate(listed):
        if is_missing(value):
            raise ValueError(
                f"{_place(row, column, names)} is missing ({value}). If that says something, make it a "
                "value of its own, for example 'unknown'; else leave out the row or the column."
            )
        try:
            found.setdefault(value, len(found))
        except TypeError:
            message = f"{_place(row, column, names)} holds a {type(value).__name__}"
            raise ValueError(
                f"{message}, which is no nominal value: use strings, numbers or booleans."
            ) from None
    return np.array([found[value] for value in listed], dtype=np.int64)


def _place(row: int, column: int, names: Sequence[str] | None) -> str:
    return f"row {row}, column {column}" + ("" if names is None else f" ({names[column]!r})") + " of X"
