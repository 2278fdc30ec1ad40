"""How alike two values of a column are, from 0 to 1; a comparator takes many pairs of values at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie.base import warn_user
from coterie.exceptions import CoterieWarning
from coterie.relational._records.person_names import compare_names
from coterie.relational._records.strings import jaro_winkler, numbered, on_distinct

if TYPE_CHECKING:
    from coterie.relational._records.columns import ComparedColumn

_SYMMETRIC = 1e-9  # a difference of the two directions below this is rounding


def compare_values(column: ComparedColumn, left: Index, right: Index) -> Floats:
    """Similarity of pairs of different values, by their numbers."""
    if callable(column.comparator):
        return _by_callable(column, left, right)
    return COMPARATORS[column.comparator](column, left, right)


def _jaro_winkler(column: ComparedColumn, left: Index, right: Index) -> Floats:
    code, distinct = numbered(column.texts)
    return on_distinct(code[left], code[right], lambda a, b: jaro_winkler(distinct, a, b))


def _number(column: ComparedColumn, left: Index, right: Index) -> Floats:
    """`exp(-(d / sd)^2 / 2)`, with the standard deviation over the records."""
    scaled = column.standard_numbers
    return np.exp(-((scaled[left] - scaled[right]) ** 2) / 2)


COMPARATORS: dict[str, Callable[[ComparedColumn, Index, Index], Floats]] = {
    "exact": lambda column, left, right: np.zeros(len(left)),
    "jaro-winkler": _jaro_winkler,
    "soft-tfidf": lambda column, left, right: column.word_weights.soft_cosine(left, right),
    "tokens": lambda column, left, right: column.word_weights.cosine(left, right),
    "person-name": lambda column, left, right: compare_names(column.names, left, right),
    "number": _number,
}


def _by_callable(column: ComparedColumn, left: Index, right: Index) -> Floats:
    """The user's function, in both directions; one warning if they differ."""
    forth, back = (
        np.array([_call(column, a, b) for a, b in zip(one.tolist(), other.tolist(), strict=True)])
        for one, other in ((left, right), (right, left))
    )
    differ = np.flatnonzero(np.abs(forth - back) > _SYMMETRIC)
    if len(differ):
        at = differ[0]
        a, b = int(left[at]), int(right[at])
        warn_user(
            f"The comparator of column {column.name!r} is not symmetric: {_pair(column, a, b)} have "
            f"similarity {forth[at]:.6g}, and {back[at]:.6g} the other way round. The mean is used.",
            CoterieWarning,
        )
    return np.asarray((forth + back) / 2, dtype=np.float64)


def _call(column: ComparedColumn, a: int, b: int) -> float:
    comparator: Any = column.comparator
    score = comparator(column.values[a], column.values[b])
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise TypeError(
            f"the comparator of column {column.name!r} returned {score!r} for {_pair(column, a, b)}; it must "
            "return a number from 0 to 1."
        ) from None
    if math.isnan(number) or not 0 <= number <= 1:
        raise ValueError(
            f"the comparator of column {column.name!r} returned {number} for {_pair(column, a, b)}; a "
            "similarity is a number from 0 to 1."
        )
    return number


def _pair(column: ComparedColumn, a: int, b: int) -> str:
    """Two values and the first rows that have them."""
    return (
        f"rows {column.first_record[a]} and {column.first_record[b]} "
        f"({column.values[a]!r} and {column.values[b]!r})"
    )
