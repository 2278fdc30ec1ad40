"""How alike two values of a column are, from 0 to 1; a comparator takes many pairs of values at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie.base import warn_user
from coterie.exceptions import CoterieWarning
from coterie.relational._records.person_names import compare_names
from coterie.relational._records.strings import jaro_winkler

if TYPE_CHECKING:
    from coterie.relational._records.columns import ComparedColumn

_ROUNDING = 1e-9  # a difference of the two directions below this is rounding


def compare_values(column: ComparedColumn, left: Index, right: Index) -> Floats:
    """Similarity of pairs of different values, by their numbers."""
    if callable(column.comparator):
        return _by_callable(column, left, right)
    return COMPARATORS[column.comparator](column, left, right)


def _number(column: ComparedColumn, left: Index, right: Index) -> Floats:
    """`exp(-(d / sd)^2 / 2)`, with the standard deviation over the records."""
    scaled = column.standard_numbers
    return np.exp(-((scaled[left] - scaled[right]) ** 2) / 2)


COMPARATORS: dict[str, Callable[[ComparedColumn, Index, Index], Floats]] = {
    "exact": lambda column, left, right: np.zeros(len(left)),
    "jaro-winkler": lambda column, left, right: jaro_winkler(column.texts, left, right),
    "soft-tfidf": lambda column, left, right: column.word_weights.soft_cosine(left, right),
    "tokens": lambda column, left, right: column.word_weights.cosine(left, right),
    "person-name": lambda column, left, right: compare_names(column.names, left, right),
    "number": _number,
}


def _by_callable(column: ComparedColumn, left: Index, right: Index) -> Floats:
    """The user's function, in both directions; one warning if they differ."""
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    forth = np.array([_call(column, a, b) for a, b in pairs])
    back = np.array([_call(column, b, a) for a, b in pairs])
    for at in np.flatnonzero(np.abs(forth - back) > _ROUNDING)[:1].tolist():
        warn_user(
            f"The comparator of column {column.name!r} is not symmetric: {_in_words(column, *pairs[at])} "
            f"have similarity {forth[at]:.6g}, and {back[at]:.6g} the other way round. The mean is used.",
            CoterieWarning,
        )
    return np.asarray((forth + back) / 2, dtype=np.float64)


def _call(column: ComparedColumn, a: int, b: int) -> float:
    comparator: Any = column.comparator
    score = comparator(column.values[a], column.values[b])
    number: float | None = None
    with suppress(TypeError, ValueError):
        number = float(score)
    if number is None or not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise (TypeError if number is None else ValueError)(
            f"the comparator of column {column.name!r} returned {score} for {_in_words(column, a, b)}; a "
            "similarity is a number from 0 to 1."
        )
    return min(max(number, 0.0), 1.0)


def _in_words(column: ComparedColumn, a: int, b: int) -> str:
    one, other = column.first_record[[a, b]]
    return f"rows {one} and {other} ({column.values[a]!r} and {column.values[b]!r})"
