"""Pairs of numbers, many at once: all or near ones in a row, each once, and in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from coterie._arrays import Floats, Index

_AT_ONCE = 2_000_000

Key = TypeVar("Key", bound=Any)


def numbered(keys: Sequence[Key]) -> tuple[Index, list[Key]]:
    """The number of each key among the distinct ones, which are sorted."""
    distinct = sorted(set(keys))
    number = {key: at for at, key in enumerate(distinct)}
    return np.fromiter((number[key] for key in keys), dtype=np.int64, count=len(keys)), distinct


def on_distinct(left: Index, right: Index, compare: Callable[[Index, Index], Floats]) -> Floats:
    """Call `compare` for each distinct pair once, the lesser number first."""
    if len(left) == 0:
        return np.empty(0)
    low, high = np.minimum(left, right), np.maximum(left, right)
    width = int(high.max()) + 1
    pairs, inverse = np.unique(low * width + high, return_inverse=True)
    return compare(pairs // width, pairs % width)[inverse]


def distinct_pairs(found: Iterable[tuple[Index, Index]], n: int) -> Index:
    """Pairs of numbers below n without duplicates, sorted, the lesser number first."""
    distinct, more, n_more = np.empty(0, dtype=np.int64), [], 0
    for left, right in found:
        low, high = np.minimum(left, right), np.maximum(left, right)
        more.append((low * n + high)[low < high])
        n_more += len(more[-1])
        if n_more > max(_AT_ONCE, len(distinct)):
            distinct, more, n_more = _distinct([distinct, *more]), [], 0
    distinct = _distinct([distinct, *more])
    return np.column_stack([distinct // n, distinct % n])


def _distinct(parts: Sequence[Index]) -> Index:
    values = np.concatenate(parts)
    values.sort()  # NumPy's unique is slower, and copies more
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return values[first]


def with_following(rows: Index, how_many: Index) -> Iterator[tuple[Index, Index]]:
    """Each row with so many of the rows after it, a part at a time."""
    for start, stop in parts_of(how_many):
        some = how_many[start:stop]
        left = np.repeat(np.arange(start, stop), some)
        step = np.arange(len(left)) - np.repeat(np.cumsum(some) - some, some)
        yield rows[left], rows[left + 1 + step]


def parts_of(sizes: Index) -> Iterator[tuple[int, int]]:
    """Slices whose sizes add up to some millions at most, or that have one entry."""
    total = np.concatenate([[0], np.cumsum(sizes)])
    start = 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(total, total[start] + _AT_ONCE, side="right")) - 1)
        yield start, stop
        start = stop
