"""Similar rows: candidate pairs, compared by distinct values; a weighted mean over what both rows have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import Floats, Index
from coterie.relational._records.columns import Records
from coterie.relational._records.comparators import compare_values
from coterie.relational._records.pairs import all_pairs

_AT_ONCE = 2_000_000  # pairs
_STEP = 2.0**30  # similarities are multiples of 1 / this, so that sums of them are exact
_ENOUGH = 0.5  # a proposed pair is similar above this


@dataclass(frozen=True, eq=False)
class Similar:
    """Similar groups of records: distinct rows, or each record by itself if candidates were given."""

    group: Index  # (n,) group of each record
    n_groups: int
    left: Index  # (m,) less than `right`; sorted by (left, right), without duplicates
    right: Index
    similarity: Floats  # (m,) in (0, 1]
    alike: NDArray[np.bool_]  # (n_groups,) whether the records of a group are alike
    n_compared: int  # pairs of values that were handed to comparators


def find_similar(records: Records, blocking: Any = "auto", candidates: Any = None) -> Similar:
    """The pairs that are similar: given ones above 0, proposed ones above one half."""
    n, n_rows = len(records.row), len(records.first)
    if candidates is not None:
        left, right = read_candidates(candidates, n)
        similarity, n_compared = compare_rows(records, records.row[left], records.row[right])
        keep = similarity > 0
        alone = np.zeros(n, dtype=bool)
        return Similar(np.arange(n), n, left[keep], right[keep], similarity[keep], alone, n_compared)
    nobody = np.empty(0, dtype=np.int64)
    found, n_compared = [(nobody, nobody, np.empty(0))], 0
    for left, right in propose_pairs(records, blocking):
        similarity, n_new = compare_rows(records, left, right)
        keep, n_compared = similarity > _ENOUGH, n_compared + n_new
        found.append((left[keep], right[keep], similarity[keep]))
    left, right, similarity = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Similar(records.row, n_rows, left, right, similarity, ~records.blank, n_compared)


def propose_pairs(records: Records, blocking: Any = "auto") -> Iterator[tuple[Index, Index]]:
    """Pairs of distinct rows that blocking proposes, in order, a chunk (left, right) at a time."""
    from coterie.relational._blocking import find_blocking  # which reads records, too

    chosen = find_blocking(blocking)
    if chosen is None:
        yield from all_pairs(records)
        return
    pairs = chosen(records)
    for start in range(0, len(pairs), _AT_ONCE):
        yield pairs[start : start + _AT_ONCE, 0], pairs[start : start + _AT_ONCE, 1]


def compare_rows(records: Records, left: Index, right: Index) -> tuple[Floats, int]:
    """Similarity of pairs of distinct rows, and how many pairs of values were compared.

    The weighted mean over the columns that both rows have; 0 if there is none.
    """
    total, weight, n_compared = np.zeros(len(left)), np.zeros(len(left)), 0
    for column in records.columns:
        a, b = column.code[left], column.code[right]
        present = np.flatnonzero((a >= 0) & (b >= 0))
        a, b = a[present], b[present]
        score = np.ones(len(present))
        differ = np.flatnonzero(a != b)
        if len(differ):
            low, high = np.minimum(a[differ], b[differ]), np.maximum(a[differ], b[differ])
            width = len(column.values)
            pairs, inverse = np.unique(low * width + high, return_inverse=True)
            score[differ] = compare_values(column, pairs // width, pairs % width)[inverse]
            n_compared += len(pairs)
        total[present] += column.weight * score
        weight[present] += column.weight
    mean = np.divide(total, weight, out=np.zeros(len(left)), where=weight > 0)
    return np.round(np.clip(mean, 0, 1) * _STEP) / _STEP, n_compared


def read_candidates(candidates: Any, n: int) -> tuple[Index, Index]:
    """Pairs of records as a list or a square matrix, each once, the lesser record first."""
    if hasattr(candidates, "tocoo"):
        entries = candidates.tocoo()
        _check_square(entries.shape, n)
        keep = entries.data != 0
        pairs = np.column_stack([entries.row[keep], entries.col[keep]])
    else:
        pairs = np.asarray(candidates)
        if pairs.dtype.kind == "b":
            _check_square(pairs.shape, n)
            pairs = np.argwhere(pairs)
    if pairs.size == 0:
        pairs = np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"candidates have shape {pairs.shape}; give pairs of row numbers, (p, 2), or a square matrix "
            "that is sparse or of True and False."
        )
    whole = pairs.dtype.kind in "iu" or (pairs.dtype.kind == "f" and bool((np.trunc(pairs) == pairs).all()))
    if not whole:
        raise TypeError(f"candidates hold {pairs.dtype} values; a pair is two row numbers.")
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if len(outside):
        i, j = pairs[outside[0]].tolist()
        raise ValueError(f"candidates have the pair ({i:g}, {j:g}), but rows are numbered 0 to {n - 1}.")
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1).astype(np.int64)
    key = np.unique((low * n + high)[low < high])
    return key // n, key % n


def _check_square(shape: tuple[int, ...], n: int) -> None:
    if tuple(shape) != (n, n):
        raise ValueError(f"the matrix of candidates has shape {tuple(shape)}, but there are {n} rows of X.")
