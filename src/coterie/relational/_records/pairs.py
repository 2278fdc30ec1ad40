"""Pairs of rows: within blocks, near in a sorted order, near in space, or all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from coterie._arrays import Index
from coterie._words import count_of
from coterie.base import warn_user
from coterie.exceptions import CoterieWarning
from coterie.relational._records.columns import Records
from coterie.relational._records.keys import Blocks, row_places

_WINDOW = 10  # within blocks that are too large, and of nearest rows
_AT_ONCE = 2_000_000  # pairs


def pairs_in_blocks(records: Records, kinds: Iterable[Blocks], most: int, *, warn: bool = True) -> Index:
    """Pairs of rows that share a block; only near ones in sorted order where it has more than `most` rows."""
    place = row_places(records)
    found = []
    for blocks in kinds:
        order = np.lexsort((place[blocks.rows], blocks.block))
        rows, block = blocks.rows[order], blocks.block[order]
        sizes = np.bincount(block, minlength=len(blocks.keys))
        if warn:
            _warn_of_large(blocks, sizes, most)
        n_after = (np.cumsum(sizes)[block] - 1) - np.arange(len(rows))
        n_after = np.where(sizes[block] > most, np.minimum(n_after, _WINDOW - 1), n_after)
        for start, stop in parts_of(n_after):  # large blocks overlap: without duplicates a part is small
            left, right = _with_following(n_after[start:stop])
            pairs = np.column_stack([rows[start + left], rows[start + right]])
            found.append(distinct_pairs([pairs], len(records.first)))
    return distinct_pairs(found, len(records.first))


def _warn_of_large(blocks: Blocks, sizes: Index, most: int) -> None:
    n_large = int(np.count_nonzero(sizes > most))
    if n_large:
        worst = int(np.argmax(sizes))
        others = f", and {count_of(n_large - 1, 'other block')} are too large" if n_large > 1 else ""
        warn_user(
            f"{blocks.what} {blocks.keys[worst]!r} holds {sizes[worst]:,} distinct records{others} "
            f"(max_block={most:,}): there, records are compared with their neighbours in sorted order only. "
            "Take keys that tell more apart, or raise max_block.",
            CoterieWarning,
        )


def neighbours(order: Index, window: int) -> Index:
    """Pairs of rows fewer than `window` places apart."""
    left, right = _with_following(np.minimum(len(order) - 1 - np.arange(len(order)), window - 1))
    return np.column_stack([order[left], order[right]])


def nearest_rows(records: Records, rows: Index) -> Index:
    """Each row with its nearest ones, all columns being numbers; a missing number stands at the mean."""
    from scipy.spatial import cKDTree

    scaled = np.zeros((len(rows), len(records.columns)))
    for at, column in enumerate(records.columns):
        code = column.code[rows]
        scaled[:, at] = np.sqrt(column.weight) * np.where(code < 0, 0.0, column.standard_numbers[code])
    near = cKDTree(scaled).query(scaled, k=_WINDOW)[1]
    pairs = np.column_stack([np.repeat(rows, _WINDOW), rows[near.ravel()]])
    return distinct_pairs([pairs], len(records.first))


def all_pairs(records: Records) -> Iterator[tuple[Index, Index]]:
    """All pairs of rows that have something to compare, some rows at a time."""
    rows = np.flatnonzero(~records.blank)
    n_after = len(rows) - 1 - np.arange(len(rows))
    for start, stop in parts_of(n_after):
        left, right = _with_following(n_after[start:stop])
        yield rows[start + left], rows[start + right]


def parts_of(sizes: Index) -> Iterator[tuple[int, int]]:
    """Slices whose sizes add up to some millions at most, or that have one entry."""
    total = np.concatenate([[0], np.cumsum(sizes)])
    start = 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(total, total[start] + _AT_ONCE, side="right")) - 1)
        yield start, stop
        start = stop


def _with_following(how_many: Index) -> tuple[Index, Index]:
    """Each place with so many of the places after it."""
    left = np.repeat(np.arange(len(how_many)), how_many)
    return left, left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(how_many) - how_many, how_many)


def distinct_pairs(found: Sequence[Index], n_rows: int) -> Index:
    """Pairs without duplicates, sorted, the lesser row first."""
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *found])
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    key = np.sort((low * n_rows + high)[low < high])  # NumPy's unique is much slower
    key = key[np.diff(key, prepend=-1) > 0]
    return np.column_stack([key // n_rows, key % n_rows])
