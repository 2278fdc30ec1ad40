"""The data as rows that are scored, added up and measured in blocks; dense and CSR.

All that a prototype method asks of its data: which of k linear scores is least in each row (one matrix
product and one compiled pass a block), sums of rows by group, squared distances. No n x k and no copy of X
is made. A pass costs n k d multiply-adds and reads X once; the sums by cluster are brought up to date from
the rows whose cluster changed, which are few after the first passes.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, kernel, over_chunks

# Numbers in a block of scores: it stays in the second-level cache with the rows it came from.
_BLOCK = 1 << 16
# Rows that say where the middle of the data is.
_SAMPLE = 1000


class Change:
    """What a pass changed: the number of rows, and sums, masses and counts of the clusters."""

    def __init__(self, k: int, d: int) -> None:
        self.n_rows = 0
        self.arrays: tuple[Any, Any, Any] = np.zeros((k, d)), np.zeros(k), np.zeros(k, dtype=np.int64)


class Points(Protocol):
    """What the loop asks of its data; `DensePoints` and `SparsePoints` answer."""

    X: Any
    n: int
    d: int

    def nearest(
        self, slopes: Floats, intercepts: Floats, labels: Labels, skip: Any, scale: Floats, weight: Floats
    ) -> Change:
        """Give each row h with the least `x . slopes[h] + intercepts[h]`, `labels` in place (-1: none yet).

        Rows with `skip` set are left alone. Returns what changed.
        """

    def fill_scores(
        self, slopes: Floats, intercepts: Floats, scale: Floats, weight: Floats, out: Any
    ) -> None:
        """Write `scale x . slopes[h] + weight intercepts[h]` of all rows; either may be empty."""

    def scores(self, items: Index, slopes: Floats, intercepts: Floats) -> Floats:
        """Scores of some rows, in float64."""

    def squared_distances(self, start: int, stop: int, centres: Floats, about: Floats) -> Floats:
        """Squared distances of rows `start` to `stop`; `about` is a point in the middle of the data."""

    def add_up(self, items: Index, group: Index, n_groups: int, scale: Floats) -> Any:
        """Sums of `scale x` by group: an array, or CSR where X is."""

    def squares_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        """Squared distance of each row to its centre, from differences."""

    def dot_own(self, labels: Labels, centres: Floats) -> Floats:
        """Inner product of each row with its centre."""

    def typical(self) -> Floats:
        """A point in the middle of most rows, whatever a few others do."""

    def rows(self, items: Index) -> Floats:
        """Some rows as a dense float64 array."""

    def squared_norms(self) -> Floats:
        """Squared length of each row."""

    def moments(self, weight: Floats) -> tuple[Floats, Floats]:
        """Weighted mean, and the weighted sum of squared gaps to it, feature by feature."""


@kernel
def _choose(
    X: Any,
    score: Any,
    intercepts: Any,
    start: int,
    skip: Any,
    scale: Any,
    weight: Any,
    labels: Any,
    sums: Any,
    masses: Any,
    counts: Any,
) -> int:
    """Write the least score of each row to `labels` and what that changes; returns the number of changes.

    `counts` are of the rows that weigh anything.

    `score` is a block of rows that begins at row `start` of X. `skip`, `scale` and `weight` may be empty.
    """
    n, k = score.shape
    d = X.shape[1]
    changed = 0
    for i in range(n):
        row = start + i
        if skip.shape[0] > 0 and skip[row]:
            continue
        best = 0
        least = score[i, 0] + intercepts[0]
        for h in range(1, k):
            value = score[i, h] + intercepts[h]
            better = value < least
            least = value if better else least
            best = h if better else best
        old = labels[row]
        if old == best:
            continue
        changed += 1
        labels[row] = best
        f = scale[row] if scale.shape[0] > 0 else 1.0
        m = weight[row] if weight.shape[0] > 0 else 1.0
        masses[best] += m
        counts[best] += m > 0
        for j in range(d):
            sums[best, j] += f * X[row, j]
        if old >= 0:
            masses[old] -= m
            counts[old] -= m > 0
            for j in range(d):
                sums[old, j] -= f * X[row, j]
    return changed


@kernel
def _choose_sparse(
    data: Any,
    indices: Any,
    indptr: Any,
    slopes: Any,
    intercepts: Any,
    start: int,
    stop: int,
    skip: Any,
    scale: Any,
    weight: Any,
    labels: Any,
    sums: Any,
    masses: Any,
    counts: Any,
    score: Any,
) -> int:
    """As `_choose`, for rows of a CSR matrix; `slopes` is d x k, `score` is scratch of length k."""
    k = intercepts.shape[0]
    changed = 0
    for row in range(start, stop):
        if skip.shape[0] > 0 and skip[row]:
            continue
        for h in range(k):
            score[h] = intercepts[h]
        for t in range(indptr[row], indptr[row + 1]):
            value = data[t]
            j = indices[t]
            for h in range(k):
                score[h] += value * slopes[j, h]
        best = 0
        for h in range(1, k):
            if score[h] < score[best]:
                best = h
        old = labels[row]
        if old == best:
            continue
        changed += 1
        labels[row] = best
        f = scale[row] if scale.shape[0] > 0 else 1.0
        m = weight[row] if weight.shape[0] > 0 else 1.0
        masses[best] += m
        counts[best] += m > 0
        for t in range(indptr[row], indptr[row + 1]):
            sums[best, indices[t]] += f * data[t]
        if old >= 0:
            masses[old] -= m
            counts[old] -= m > 0
            for t in range(indptr[row], indptr[row + 1]):
                sums[old, indices[t]] -= f * data[t]
    return changed


@kernel
def _add_up(X: Any, items: Any, group: Any, scale: Any, sums: Any) -> None:
    """Add `scale x` of each item to the sum of its group; `scale` (one a row of X) may be empty."""
    d = X.shape[1]
    for t in range(items.shape[0]):
        row = items[t]
        f = scale[row] if scale.shape[0] > 0 else 1.0
        for j in range(d):
            sums[group[t], j] += f * X[row, j]


@kernel
def _squares_to_assigned(X: Any, labels: Any, centres: Any, start: int, stop: int, out: Any) -> None:
    """Squared distance of rows `start` to `stop` to the centre of their label, in float64."""
    d = X.shape[1]
    for row in range(start, stop):
        own = labels[row]
        # two sums side by side: each addition waits for the one before
        even = odd = 0.0
        for j in range(0, d - 1, 2):
            diff = X[row, j] - centres[own, j]
            even += diff * diff
            diff = X[row, j + 1] - centres[own, j + 1]
            odd += diff * diff
        if d % 2 == 1:
            diff = X[row, d - 1] - centres[own, d - 1]
            even += diff * diff
        out[row] = even + odd


@kernel
def _dot_own(X: Any, labels: Any, centres: Any, start: int, stop: int, out: Any) -> None:
    """Inner product of rows `start` to `stop` with the centre of their label, in float64."""
    d = X.shape[1]
    for row in range(start, stop):
        total = 0.0
        for j in range(d):
            total += X[row, j] * centres[labels[row], j]
        out[row] = total


@kernel
def _moments(X: Any, about: Any, weight: Any, start: int, stop: int, sums: Any, squares: Any) -> None:
    """Weighted sums of `x - about` and of its squares over rows `start` to `stop`, feature by feature."""
    d = X.shape[1]
    for row in range(start, stop):
        m = weight[row] if weight.shape[0] > 0 else 1.0
        for j in range(d):
            diff = X[row, j] - about[j]
            sums[j] += m * diff
            squares[j] += m * (diff * diff)


class DensePoints:
    """Rows of a C-ordered float32 or float64 array."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n, self.d = X.shape

    def nearest(
        self, slopes: Floats, intercepts: Floats, labels: Labels, skip: Any, scale: Floats, weight: Floats
    ) -> Change:
        k = len(intercepts)
        X = self.X
        across = np.ascontiguousarray(slopes.T, dtype=X.dtype)
        offsets = intercepts.astype(X.dtype)
        block = max(1, _BLOCK // max(k, self.d))

        def job(start: int, stop: int) -> Change:
            change = Change(k, self.d)
            score = np.empty((min(block, stop - start), k), dtype=X.dtype)
            for low in range(start, stop, block):
                rows = score[: min(block, stop - low)]
                np.matmul(X[low : low + len(rows)], across, out=rows)
                change.n_rows += _choose(X, rows, offsets, low, skip, scale, weight, labels, *change.arrays)
            return change

        return _added_up(over_chunks(job, self.n, chunk_rows(self.n, k * self.d, k * self.d)), k, self.d)

    def fill_scores(
        self, slopes: Floats, intercepts: Floats, scale: Floats, weight: Floats, out: Any
    ) -> None:
        across = np.ascontiguousarray(slopes.T, dtype=self.X.dtype)
        _fill_scores(self.X, across, intercepts.astype(self.X.dtype), scale, weight, out, self.d)

    def scores(self, items: Index, slopes: Floats, intercepts: Floats) -> Floats:
        return self.X[items].astype(np.float64) @ slopes.T + intercepts

    def squared_distances(self, start: int, stop: int, centres: Floats, about: Floats) -> Floats:
        rows, away = self.X[start:stop] - about, centres - about
        lengths = np.einsum("ij,ij->i", rows, rows)
        found = lengths[:, None] - 2.0 * (rows @ away.T) + np.einsum("hj,hj->h", away, away)
        return np.maximum(found, 0.0)

    def add_up(self, items: Index, group: Index, n_groups: int, scale: Floats) -> Floats:
        sums = np.zeros((n_groups, self.d))
        _add_up(self.X, items, group, scale, sums)
        return sums

    def squares_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        return self._by_own(_squares_to_assigned, labels, centres)

    def dot_own(self, labels: Labels, centres: Floats) -> Floats:
        return self._by_own(_dot_own, labels, centres)

    def _by_own(self, measure: Any, labels: Labels, centres: Floats) -> Floats:
        out = np.empty(self.n)
        over_chunks(
            lambda start, stop: measure(self.X, labels, centres, start, stop, out),
            self.n,
            chunk_rows(self.n, self.d, 0),
        )
        return out

    def typical(self) -> Floats:
        return np.median(self.X[:: self.n // _SAMPLE + 1], axis=0).astype(np.float64)

    def rows(self, items: Index) -> Floats:
        return self.X[items].astype(np.float64)

    def squared_norms(self) -> Floats:
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)

    def moments(self, weight: Floats) -> tuple[Floats, Floats]:
        about = self.typical()

        def job(start: int, stop: int) -> Floats:
            out = np.zeros((2, self.d))
            _moments(self.X, about, weight, start, stop, out[0], out[1])
            return out

        parts = over_chunks(job, self.n, chunk_rows(self.n, self.d, self.d))
        sums, squares = np.sum(parts, axis=0)
        total = weight.sum() if len(weight) else float(self.n)
        away = sums / total
        return about + away, np.maximum(squares - total * away * away, 0.0)


class SparsePoints:
    """Rows of a CSR matrix; centres are dense, so k x d numbers must fit.

    Distances come from expanded squares: data far from the origin belong into a dense array.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n, self.d = X.shape

    def nearest(
        self, slopes: Floats, intercepts: Floats, labels: Labels, skip: Any, scale: Floats, weight: Floats
    ) -> Change:
        k = len(intercepts)
        X = self.X
        across = np.ascontiguousarray(slopes.T)

        def job(start: int, stop: int) -> Change:
            change = Change(k, self.d)
            change.n_rows = _choose_sparse(
                X.data,
                X.indices,
                X.indptr,
                across,
                intercepts,
                start,
                stop,
                skip,
                scale,
                weight,
                labels,
                *change.arrays,
                np.empty(k),
            )
            return change

        per_row = k * (X.nnz // max(self.n, 1) + 1)
        return _added_up(over_chunks(job, self.n, chunk_rows(self.n, per_row, k * self.d)), k, self.d)

    def fill_scores(
        self, slopes: Floats, intercepts: Floats, scale: Floats, weight: Floats, out: Any
    ) -> None:
        across = np.ascontiguousarray(slopes.T)
        _fill_scores(self.X, across, intercepts, scale, weight, out, self.X.nnz // max(self.n, 1) + 1)

    def scores(self, items: Index, slopes: Floats, intercepts: Floats) -> Floats:
        return np.asarray(self.X[items] @ slopes.T) + intercepts

    def squared_distances(self, start: int, stop: int, centres: Floats, about: Floats) -> Floats:
        rows = self.X[start:stop].astype(np.float64)
        lengths = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1, 1)
        found = lengths - 2.0 * np.asarray(rows @ centres.T) + np.einsum("hj,hj->h", centres, centres)
        return np.maximum(found, 0.0)

    def add_up(self, items: Index, group: Index, n_groups: int, scale: Floats) -> Any:
        value = scale[items] if len(scale) else np.ones(len(items))
        gather = sparse.csr_matrix((value, (group, np.arange(len(items)))), (n_groups, len(items)))
        return (gather @ self.X[items]).tocsr()

    def squares_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        X = self.X
        lengths = np.einsum("ij,ij->i", centres, centres)
        row = np.repeat(np.arange(self.n), np.diff(X.indptr))
        own = centres[labels[row], X.indices]
        # |x - c|^2 = |c|^2 + sum over the entries of x of (x - c)^2 - c^2
        change = np.bincount(row, (X.data - own) ** 2 - own**2, self.n)
        return np.maximum(lengths[labels] + change, 0.0)

    def dot_own(self, labels: Labels, centres: Floats) -> Floats:
        row = np.repeat(np.arange(self.n), np.diff(self.X.indptr))
        return _by_row(row, self.X.data * centres[labels[row], self.X.indices], self.n)

    def typical(self) -> Floats:
        return np.zeros(self.d)

    def rows(self, items: Index) -> Floats:
        return self.X[items].toarray().astype(np.float64)

    def squared_norms(self) -> Floats:
        row = np.repeat(np.arange(self.n), np.diff(self.X.indptr))
        return _by_row(row, self.X.data.astype(np.float64) ** 2, self.n)

    def moments(self, mass: Floats) -> tuple[Floats, Floats]:
        weight = mass if len(mass) else np.ones(self.n)
        mean = np.asarray(weight @ self.X).ravel() / weight.sum()
        row = np.repeat(np.arange(self.n), np.diff(self.X.indptr))
        squares = np.bincount(self.X.indices, weight[row] * self.X.data.astype(np.float64) ** 2, self.d)
        return mean, np.maximum(squares - weight.sum() * mean * mean, 0.0)


def _fill_scores(
    X: Any, across: Any, intercepts: Any, scale: Floats, weight: Floats, out: Any, width: int
) -> None:
    """The scores of all rows of an array or CSR matrix, in blocks."""
    k = len(intercepts)
    block = max(1, _BLOCK // max(k, width))

    def job(start: int, stop: int) -> None:
        for low in range(start, stop, block):
            high = min(low + block, stop)
            rows = X[low:high] @ across
            if len(scale):
                rows *= scale[low:high, None]
            rows += weight[low:high, None] * intercepts if len(weight) else intercepts
            out[low:high] = rows

    over_chunks(job, X.shape[0], chunk_rows(X.shape[0], k * width, 0))


def _by_row(row: Index, value: Any, n: int) -> Floats:
    return np.bincount(row, value, n).astype(np.float64, copy=False)


def as_points(X: Any) -> Points:
    """Wrap an array or a CSR matrix that was checked already."""
    if not sparse.issparse(X):
        return DensePoints(X)
    return SparsePoints(canonical(X))


def canonical(X: Any) -> Any:
    """X with each entry stored once: of one that is stored in parts the squares would not add up."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _added_up(changes: list[Change], k: int, d: int) -> Change:
    """Add the chunks' answers in their order."""
    total = Change(k, d)
    for change in changes:
        total.n_rows += change.n_rows
        for mine, more in zip(total.arrays, change.arrays, strict=True):
            mine += more
    return total
