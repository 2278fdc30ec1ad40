"""Absolute distances, and medians (k-medians).

There are no linear scores and no sums to keep here: costs are filled in by a compiled pass over rows,
centres and features, and the best centre is the weighted median of each feature, found by selection. Of a
CSR matrix entries alone are visited, and the zeros of a feature weigh what is left.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from coterie._arrays import NOTHING, Floats, Index, Labels
from coterie._compiled import chunk_rows, kernel, over_chunks
from coterie.distortion._base import Distortion, out_of_range

# Features that are gathered together: one cache line of a row.
_WIDE = 8
# Masses that differ by no more than this share of the whole are equal: they were added up in some order.
_ROUNDING = 1e-12


@kernel
def _fill(X: Any, across: Any, weight: Any, start: int, stop: int, first: int, score: Any, out: Any) -> None:
    """Write costs of rows `start` to `stop` to `out`, whose row 0 is the row `first`.

    `across` is d x k: the centres lie side by side. `score` is scratch of length k; `weight` may be empty.
    """
    d, k = across.shape
    for row in range(start, stop):
        for h in range(k):
            score[h] = 0.0
        for j in range(d):
            value = np.float64(X[row, j])
            for h in range(k):
                score[h] += abs(value - across[j, h])
        m = weight[row] if weight.shape[0] > 0 else 1.0
        for h in range(k):
            out[row - first, h] = m * score[h]


@kernel
def _fill_sparse(
    data: Any,
    indices: Any,
    indptr: Any,
    across: Any,
    lengths: Any,
    weight: Any,
    start: int,
    stop: int,
    first: int,
    score: Any,
    out: Any,
) -> None:
    """As `_fill`, for rows of a CSR matrix; `lengths` are the costs of a row of zeros."""
    k = across.shape[1]
    for row in range(start, stop):
        for h in range(k):
            score[h] = lengths[h]
        for t in range(indptr[row], indptr[row + 1]):
            value = np.float64(data[t])
            j = indices[t]
            for h in range(k):
                score[h] += abs(value - across[j, h]) - abs(across[j, h])
        m = weight[row] if weight.shape[0] > 0 else 1.0
        for h in range(k):
            out[row - first, h] = m * max(score[h], 0.0)


@kernel
def _own(X: Any, labels: Any, centres: Any, start: int, stop: int, out: Any) -> None:
    """Write to `out` the distance of rows `start` to `stop` to the centre of their label (-1: 0)."""
    d = X.shape[1]
    for row in range(start, stop):
        own = labels[row]
        total = 0.0
        if own >= 0:
            for j in range(d):
                total += abs(X[row, j] - centres[own, j])
        out[row] = total


@kernel
def _median(value: Any, weight: Any, m: int, before: float) -> float:
    """The weighted median of `value[:m]`: `before` if that is one, else the middle of all medians.

    Puts `value[:m]` and `weight[:m]` (all positive) into another order.
    """
    total = 0.0
    for t in range(m):
        total += weight[t]
    rounding = _ROUNDING * total
    half = total / 2.0
    left, right = 0, m
    below = 0.0  # mass of what lies left of `left`
    turn = 1
    while True:
        # the middle one of three; fixed places would be slow on values that rise and then fall
        turn = (turn * 1103515245 + 12345) & 0x7FFFFFFF
        a = value[left + turn % (right - left)]
        b = value[left + (turn >> 3) % (right - left)]
        c = value[left + (turn >> 7) % (right - left)]
        pivot = max(min(a, b), min(max(a, b), c))
        low, at, high = left, left, right
        less = same = 0.0
        while at < high:
            if value[at] < pivot:
                less += weight[at]
                value[low], value[at] = value[at], value[low]
                weight[low], weight[at] = weight[at], weight[low]
                low += 1
                at += 1
            elif value[at] > pivot:
                high -= 1
                value[high], value[at] = value[at], value[high]
                weight[high], weight[at] = weight[at], weight[high]
            else:
                same += weight[at]
                at += 1
        if low > left and below + less >= half - rounding:
            right = low
        elif high == right or below + less + same >= half - rounding:
            break
        else:
            below += less + same
            left = high
    first = last = np.float64(pivot)
    if high < m and below + less + same <= half + rounding:
        last = np.float64(value[high])
        for t in range(high + 1, m):
            last = min(last, np.float64(value[t]))
    if first <= before <= last:
        return before
    return first + (last - first) / 2.0


@kernel
def _medians(
    X: Any, rows: Any, weight: Any, start: int, stop: int, value: Any, own: Any, before: Any, out: Any
) -> None:
    """Write medians of the features `start` to `stop` over some rows; `value` and `own` are scratch."""
    m = rows.shape[0]
    for t in range(m):
        for j in range(start, stop):
            value[j - start, t] = X[rows[t], j]
    for j in range(start, stop):
        for t in range(m):
            own[t] = weight[rows[t]] if weight.shape[0] > 0 else 1.0
        out[j] = _median(value[j - start], own, m, before[j])


@kernel
def _medians_sparse(
    data: Any, weight: Any, indptr: Any, total: float, value: Any, own: Any, before: Any, out: Any
) -> None:
    """Write medians of the columns of a CSC matrix whose rows weigh `total`; `weight` is one an entry.

    `value` and `own` are scratch, one longer than the longest column.
    """
    rounding = _ROUNDING * total
    for j in range(indptr.shape[0] - 1):
        below = above = 0.0
        for t in range(indptr[j], indptr[j + 1]):
            if data[t] < 0:
                below += weight[t]
            elif data[t] > 0:
                above += weight[t]
        if max(below, above) < total / 2.0 - rounding:
            out[j] = 0.0
            continue
        m = 0
        for t in range(indptr[j], indptr[j + 1]):
            if data[t] != 0:
                value[m] = data[t]
                own[m] = weight[t]
                m += 1
        if total - below - above > rounding:
            value[m] = 0.0
            own[m] = total - below - above
            m += 1
        out[j] = _median(value, own, m, before[j])


class Manhattan(Distortion):
    """`sum_j |x_j - c_j|`; the best centre is the median of each feature. Attributes as in `Distortion`."""

    by_sums: ClassVar[bool] = False
    own_part = linear = None  # type: ignore[assignment]

    @cached_property
    def middle(self) -> Floats:
        """The median of the items, feature by feature."""
        nowhere = np.full((1, self.points.d), np.nan)
        return self.best_centres(np.zeros(self.points.n, dtype=np.int32), None, nowhere)[0]

    @cached_property
    def total_cost(self) -> float:
        return self.inertia(np.zeros(self.points.n, dtype=np.int32), None, self.middle[None])

    def check_range(self) -> None:
        """Raise where distances leave the range of their type, or squared shifts that of float64."""
        X = self.points.X
        if sparse.issparse(X):
            width = float(np.abs(X.data).max(initial=0.0))
        else:
            width = float(np.max(X.max(axis=0).astype(np.float64) - X.min(axis=0)))
        own, wide = np.finfo(X.dtype), np.finfo(np.float64)
        most = 1e-4 * min(float(own.max), float(wide.max) ** 0.5) / max(self.points.d, 1)
        least = 1e4 * max(float(own.tiny), float(wide.tiny) ** 0.5)
        if not width <= most or 0 < width < least:
            raise out_of_range("distances", "small" if width < least else "large", X)

    def single_cluster_cost(self, items: Index) -> float:
        weight = self.sample_weight[items] if len(self.sample_weight) else None
        return (
            0.0
            if weight is not None and not weight.any()
            else type(self)(self.points.X[items], weight).total_cost
        )

    @property
    def tol_scale(self) -> float:
        """Mean deviation of the features, squared as shifts of centres are."""
        return (self.total_cost / (self.total * self.points.d)) ** 2

    def fill_costs(self, centres: Floats, out: Any) -> None:
        width = max(self._per_row() * len(centres), 1)
        over_chunks(
            lambda start, stop: self._fill(start, stop, centres, self.sample_weight, 0, out),
            self.points.n,
            chunk_rows(self.points.n, width, 0),
        )

    def nearest(self, centres: Floats) -> Labels:
        labels = np.empty(self.points.n, dtype=np.int32)

        def job(start: int, stop: int) -> None:
            labels[start:stop] = self.chunk_costs(start, stop, centres).argmin(axis=1)

        width = max(self._per_row() * len(centres), 1)
        over_chunks(job, self.points.n, chunk_rows(self.points.n, width, 0))
        return labels

    def constants(self) -> Floats:
        """What `fill_costs` leaves out: nothing."""
        return np.zeros(self.points.n)

    def chunk_costs(self, start: int, stop: int, centres: Floats) -> Floats:
        out = np.empty((stop - start, len(centres)))
        self._fill(start, stop, centres, NOTHING, start, out)
        return out

    def _fill(self, start: int, stop: int, centres: Floats, weight: Floats, first: int, out: Any) -> None:
        X = self.points.X
        across, score = np.ascontiguousarray(centres.T, dtype=np.float64), np.empty(len(centres))
        if sparse.issparse(X):
            lengths = np.abs(across).sum(axis=0)
            entries = X.data, X.indices, X.indptr
            _fill_sparse(*entries, across, lengths, weight, start, stop, first, score, out)
        else:
            _fill(X, across, weight, start, stop, first, score, out)

    def _per_row(self) -> int:
        X = self.points.X
        return X.nnz // max(self.points.n, 1) + 1 if sparse.issparse(X) else self.points.d

    def best_centres(self, labels: Labels, totals: Any, before: Floats) -> Floats:
        """Medians of the clusters; one without mass keeps the centre it had, other labels are in none.

        Where several values are medians, the coordinate before stays if it is one of them, else the middle
        is taken. `totals` are not needed.
        """
        k, d = before.shape
        counted = (labels >= 0) & (labels < k)
        if len(self.sample_weight):
            counted &= self.sample_weight > 0
        items = np.flatnonzero(counted)
        items = items[np.argsort(labels[items], kind="stable")]
        ends = np.searchsorted(labels[items], np.arange(k + 1))
        out = np.array(before, dtype=np.float64)
        parts = 1 if sparse.issparse(self.points.X) else -(-d // _WIDE)

        def job(start: int, stop: int) -> None:
            for number in range(start, stop):
                h, part = divmod(number, parts)
                rows = items[ends[h] : ends[h + 1]]
                if len(rows):
                    self._medians(rows, part * _WIDE, min(part * _WIDE + _WIDE, d), before[h], out[h])

        n_jobs = k * parts
        small = len(items) * self._per_row() < 1 << 17  # not worth a thread
        over_chunks(job, n_jobs, n_jobs if small else 1)
        return out

    def _medians(self, rows: Index, start: int, stop: int, before: Floats, out: Floats) -> None:
        X = self.points.X
        if sparse.issparse(X):
            columns = X[rows].tocsc()
            weight = self.weights(rows)
            longest = int(np.diff(columns.indptr).max(initial=0)) + 1
            value, own = np.empty(longest, dtype=X.dtype), np.empty(longest)
            entries = columns.data, weight[columns.indices], columns.indptr
            _medians_sparse(*entries, float(weight.sum()), value, own, before, out)
        else:
            value, own = np.empty((stop - start, len(rows)), dtype=X.dtype), np.empty(len(rows))
            _medians(X, rows, self.sample_weight, start, stop, value, own, before, out)

    def cost_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        """Weighted distortion of each item, by its definition; 0 for the label -1."""
        X, n = self.points.X, self.points.n
        if sparse.issparse(X):
            row = np.repeat(np.arange(n), np.diff(X.indptr))
            own = centres[labels[row], X.indices]
            change = np.bincount(row, np.abs(X.data - own) - np.abs(own), n)
            out = np.maximum(np.abs(centres).sum(axis=1)[labels] + change, 0.0)
            out[labels < 0] = 0.0
        else:
            out = np.empty(n)
            over_chunks(
                lambda start, stop: _own(X, labels, centres, start, stop, out),
                n,
                chunk_rows(n, self.points.d, 0),
            )
        return self.weighted(out)

    def inertia(self, labels: Labels, totals: Any, centres: Floats) -> float:
        """The distortion of all items that have a cluster; `totals` are not needed."""
        return float(self.cost_to_assigned(labels, centres).sum())

    @classmethod
    def distances(cls, X: Any, centres: Any) -> Any:
        """Distance of each row to each centre."""
        return manhattan_distances(X, centres).astype(X.dtype, copy=False)
