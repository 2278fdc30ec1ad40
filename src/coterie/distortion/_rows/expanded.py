"""Rows together with their squares or products, made block by block; what metrics of clusters need.

A distance with a metric for each cluster is linear in z and z z', where z is a row about a typical one. So
the chunks of `points` serve here too: nearest by linear scores, sums by cluster. Rows are expanded in
float64, since squares of float32 would lose the digits that tell two tight clusters apart.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._rows.points import Change, DensePoints, SparsePoints, _added_up, _choose

# Numbers in a block of expanded rows.
_BLOCK = 1 << 16


class ExpandedPoints(DensePoints):
    """Of dense rows z alone, (z, z^2), or (z, all products of two features of z)."""

    def __init__(
        self, points: DensePoints, about: Floats, more: Literal["nothing", "squares", "products"]
    ) -> None:
        self.X, self.about, self.more = points.X, about, more
        self.n, width = self.X.shape
        self.d = width + {"nothing": 0, "squares": width, "products": width * (width + 1) // 2}[more]

    def _expand(self, rows: Any, out: Floats) -> Floats:
        """Write expanded rows to `out`."""
        width = rows.shape[1]
        away = out[:, :width]
        np.subtract(rows, self.about, out=away)
        if self.more == "squares":
            np.multiply(away, away, out=out[:, width:])
        elif self.more == "products":
            at = width
            for j in range(width):  # the order of `triu_indices`
                np.multiply(away[:, j, None], away[:, j:], out=out[:, at : at + width - j])
                at += width - j
        return out

    def nearest(
        self, slopes: Floats, intercepts: Floats, labels: Labels, skip: Any, scale: Floats, weight: Floats
    ) -> Change:
        k = len(intercepts)
        across = np.ascontiguousarray(slopes.T)
        block = max(1, _BLOCK // max(k, self.d))

        def part_of(array: Any, low: int, high: int) -> Any:
            return array[low:high] if len(array) else array

        def job(start: int, stop: int) -> Change:
            change = Change(k, self.d)
            most = min(block, stop - start)
            wide, scores = np.empty((most, self.d)), np.empty((most, k))
            for low in range(start, stop, block):
                high = min(low + block, stop)
                rows = self._expand(self.X[low:high], wide[: high - low])
                change.n_rows += _choose(
                    rows,
                    np.matmul(rows, across, out=scores[: high - low]),
                    intercepts,
                    0,
                    part_of(skip, low, high),
                    part_of(scale, low, high),
                    part_of(weight, low, high),
                    labels[low:high],
                    *change.arrays,
                )
            return change

        return _added_up(over_chunks(job, self.n, chunk_rows(self.n, k * self.d, k * self.d)), k, self.d)

    def scores(self, items: Index, slopes: Floats, intercepts: Floats) -> Floats:
        return self.rows(items) @ slopes.T + intercepts

    def add_up(self, items: Index, group: Index, n_groups: int, scale: Floats) -> Floats:
        sums = np.zeros((n_groups, self.d))
        block = max(1, _BLOCK // self.d)
        for low in range(0, len(items), block):
            rows = self.rows(items[low : low + block])
            if len(scale):
                rows *= scale[items[low : low + block], None]
            np.add.at(sums, group[low : low + block], rows)
        return sums

    def rows(self, items: Index) -> Floats:
        return self._expand(self.X[items], np.empty((len(items), self.d)))


def expanded(points: Any, typical: Floats, full: bool) -> tuple[Any, Floats]:
    """The expanded rows, and the point about which they are; a CSR matrix keeps its zeros, about 0."""
    if not sparse.issparse(points.X):
        return ExpandedPoints(points, typical, "products" if full else "squares"), typical
    X = points.X.astype(np.float64)
    return SparsePoints(sparse.hstack([X, X.multiply(X)], format="csr")), np.zeros(points.d)
