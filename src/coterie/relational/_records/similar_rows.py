"""Similar rows: candidate pairs, compared by distinct values; a weighted mean over what both rows have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie.relational._records.columns import Records
from coterie.relational._records.comparators import compare_values
from coterie.relational._records.pairs import distinct_pairs, on_distinct, parts_of, with_following

_STEP = 2.0**30  # similarities are multiples of 1 / this, so that sums of them are exact
ENOUGH = 0.5  # a proposed pair is similar above this


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

    def table(self, least: float = 0.0) -> Any:
        """Similarities of groups from `least` on as a symmetric CSR matrix; the diagonal is 1 where alike."""
        kept, own = self.similarity >= least, np.flatnonzero(self.alike)
        left, right = self.left[kept], self.right[kept]
        values = np.concatenate([self.similarity[kept]] * 2 + [np.ones(len(own))])
        cells = np.concatenate([left, right, own]), np.concatenate([right, left, own])
        return sparse.csr_matrix((values, cells), shape=(self.n_groups,) * 2)

    def places(self) -> Any:
        """Which group (column) each record (row) is in, as a CSR matrix."""
        n = len(self.group)
        return sparse.csr_matrix((np.ones(n), (np.arange(n), self.group)), shape=(n, self.n_groups))


def find_similar(records: Records, blocking: Any = "auto", candidates: Any = None) -> Similar:
    """The pairs that are similar: given ones above 0, proposed ones above one half."""
    given, n = candidates is not None, len(records.row)
    row = records.row if given else np.arange(len(records.first))  # of each group
    group = np.arange(n) if given else records.row
    alike = np.zeros(n, dtype=bool) if given else ~records.blank
    parts = [read_candidates(candidates, n)] if given else propose_pairs(records, blocking)
    found, n_compared = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))], 0
    for left, right in parts:
        similarity, n_new = compare_rows(records, row[left], row[right])
        keep, n_compared = similarity > (0 if given else ENOUGH), n_compared + n_new
        found.append((left[keep], right[keep], similarity[keep]))
    left, right, similarity = (np.concatenate(some) for some in zip(*found, strict=True))
    return Similar(group, len(row), left, right, similarity, alike, n_compared)


def propose_pairs(records: Records, blocking: Any = "auto") -> Iterator[tuple[Index, Index]]:
    """Pairs of distinct rows that blocking proposes, in order, a part (left, right) at a time."""
    from coterie.relational._blocking import blocked_pairs  # which reads records, too

    pairs = blocked_pairs(records, blocking)
    if pairs is None:
        rows = np.flatnonzero(~records.blank)
        yield from with_following(rows, np.arange(len(rows))[::-1])
    else:
        for start, stop in parts_of(np.ones(len(pairs), dtype=np.int64)):
            yield pairs[start:stop, 0], pairs[start:stop, 1]


def compare_rows(records: Records, left: Index, right: Index) -> tuple[Floats, int]:
    """Similarity of pairs of distinct rows, and how many pairs of values were compared.

    The weighted mean over the columns that both rows have; 0 if there is none.
    """
    total, weight, n_compared = np.zeros(len(left)), np.zeros(len(left)), 0
    for column in records.columns:

        def compare(a: Index, b: Index, column: Any = column) -> Floats:
            nonlocal n_compared
            n_compared += len(a)
            return compare_values(column, a, b)

        a, b = column.code[left], column.code[right]
        present = (a >= 0) & (b >= 0)
        differ = np.flatnonzero(present & (a != b))
        score = present.astype(np.float64)
        score[differ] = on_distinct(a[differ], b[differ], compare)
        total += column.weight * score
        weight += column.weight * present
    mean = np.divide(total, weight, out=np.zeros(len(left)), where=weight > 0)
    return np.round(np.clip(mean, 0, 1) * _STEP) / _STEP, n_compared


def read_candidates(candidates: Any, n: int) -> tuple[Index, Index]:
    """Pairs of records as a list or a square matrix, each once, the lesser record first."""
    matrix = hasattr(candidates, "tocoo")
    pairs = candidates if matrix else np.asarray(candidates)
    if matrix or pairs.dtype.kind == "b":
        if pairs.shape != (n, n):
            raise ValueError(
                f"the matrix of candidates has shape {pairs.shape}, but there are {n} rows of X."
            )
        pairs = np.column_stack(sparse.coo_matrix(pairs).nonzero())
    if pairs.size == 0:
        pairs = np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"candidates have shape {pairs.shape}; give pairs of row numbers, (p, 2), or a square matrix "
            "that is sparse or of True and False."
        )
    if pairs.dtype.kind not in "iuf" or (np.trunc(pairs) != pairs).any():
        raise TypeError(f"candidates hold {pairs.dtype} values; a pair is two row numbers.")
    for i, j in pairs[((pairs < 0) | (pairs >= n)).any(axis=1)][:1].tolist():
        raise ValueError(f"candidates have the pair ({i:g}, {j:g}), but rows are numbered 0 to {n - 1}.")
    pairs = distinct_pairs([tuple(pairs.astype(np.int64).T)], n)
    return pairs[:, 0], pairs[:, 1]
