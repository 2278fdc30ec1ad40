"""One minus the cosine, with a weight for each feature that a gradient step improves.

The cosine is taken under A = diag(a), so the length of every row hangs on the metric: after a step the rows
are scaled and added up anew, O(non-zeros). Source: Basu, Bilenko and Mooney 2004, equations (10), (17), (19),
corrected: the best centre is the sum of the rows at unit length under A, and the step goes down the
objective. The objective does not change when all weights are multiplied by a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._learned import Learned
from coterie.distortion._sqeuclidean import Cosine, total_of

# The least weight of a feature: at zero a row could lose its length.
LEAST_WEIGHT = 1e-5


class WeightedCosine(Learned, Cosine):
    """`1 - cos_A(x, c)`; the best centre is the sum of the unit rows, of unit length itself, both under A."""

    rescales: ClassVar[bool] = True

    def __init__(
        self, X: Any, sample_weight: Floats | None = None, *, step: float = 1.75, backtracks: bool = True
    ) -> None:
        super().__init__(X, sample_weight)
        self._plain = Cosine(X, sample_weight)
        self._plain.points = self.points
        self.step, self.backtracks = step, backtracks
        data = self.points.X
        # no two rows without a negative number are more than a right angle apart
        self.most = 1.0 if (data.min() if data.shape[0] else 0.0) >= 0 else 2.0

    @property
    def plain(self) -> Cosine:
        """The distortion before anything is learned: starts are made with it."""
        return self._plain

    @property
    def tolerance_unit(self) -> float:
        """Mean variance of the features of the unit vectors: the unit of `tol`."""
        return self.plain.tolerance_unit

    def check_range(self) -> None:
        """Raise for rows without a direction, and where the length of a row leaves the range of its type."""
        super().check_range()
        empty = np.flatnonzero(self.scale == 0)
        if len(empty):
            more = f" and {len(empty) - 1:,} more" if len(empty) > 1 else ""
            raise ValueError(
                f"row {empty[0]}{more} of X is all zeros: it has no direction, so no cosine; drop such rows."
            )

    def begin(self, k: int) -> None:
        """Go back to where every start begins."""
        self.use(np.ones(self.points.d))

    def use(self, metric: Any) -> None:
        """Put weights of the features in place."""
        self.metric: Any = metric
        lengths = np.sqrt(self._squares_by_row(metric))
        self.scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        self.factor = self.scale * self.mass if len(self.mass) else self.scale
        self.regularized = int((metric <= LEAST_WEIGHT).sum())

    def _squares_by_row(self, metric: Floats) -> Floats:
        """Squared length of each row under the metric."""
        X = self.points.X
        if sparse.issparse(X):
            row = np.repeat(np.arange(self.points.n), np.diff(X.indptr))
            return np.bincount(row, X.data.astype(np.float64) ** 2 * metric[X.indices], self.points.n).astype(
                float
            )
        out = np.empty(self.points.n)

        def job(start: int, stop: int) -> None:
            out[start:stop] = X[start:stop].astype(np.float64) ** 2 @ metric

        over_chunks(job, self.points.n, chunk_rows(self.points.n, self.points.d, 0))
        return out

    def _squares_by_feature(self, weight: Floats) -> Floats:
        """Weighted sums of the squared features over the rows."""
        X = self.points.X
        if sparse.issparse(X):
            row = np.repeat(np.arange(self.points.n), np.diff(X.indptr))
            return np.bincount(X.indices, X.data.astype(np.float64) ** 2 * weight[row], self.points.d).astype(
                float
            )
        parts = over_chunks(
            lambda start, stop: weight[start:stop] @ X[start:stop].astype(np.float64) ** 2,
            self.points.n,
            chunk_rows(self.points.n, self.points.d, self.points.d),
        )
        return np.sum(parts, axis=0)

    # ---- the pass -------------------------------------------------------------------------------------

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        return -self.as_centres(centres) * self.metric, np.zeros(len(centres))

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        lengths = np.sqrt(sums**2 @ self.metric)
        held = (masses > 0) & (lengths > 0)
        found = before.copy()
        found[held] = sums[held] / lengths[held, None]
        return found

    def as_centres(self, given: Floats) -> Floats:
        lengths = np.sqrt(given**2 @ self.metric)
        if not (lengths > 0).all():
            raise ValueError(
                f"centre {int(np.argmin(lengths))} is all zeros: it has no direction, so no cosine."
            )
        return given / lengths[:, None]

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        slopes, _ = self.linear(centres)
        return max(float(masses.sum()) + float(np.einsum("hj,hj->", sums, slopes)), 0.0)

    def to_own(self, labels: Labels, centres: Floats) -> Floats:
        cosines = -self.points.dot_own(labels, self.linear(centres)[0]) * self.scale
        return (1.0 - cosines) * (self.mass if len(self.mass) else 1.0)

    def alone(self, items: Index) -> float:
        mass = self.mass[items].sum() if len(self.mass) else len(items)
        return max(float(mass) - float(np.sqrt(total_of(self, items) ** 2 @ self.metric)), 0.0)

    # ---- pairs and the step ---------------------------------------------------------------------------

    def embedded(self, rows: Any) -> Any:
        """Rows in a space where squared distances are one minus the cosine; CSR stays CSR."""
        root = np.sqrt(self.metric / 2.0)
        if sparse.issparse(rows):
            lengths = np.sqrt(np.asarray(rows.multiply(rows) @ self.metric).ravel())
            return (sparse.diags(1.0 / lengths) @ rows @ sparse.diags(root)).tocsr()
        return rows * root / np.sqrt(rows**2 @ self.metric)[:, None]

    def ceiling(self, rows: Any, i: Index, j: Index) -> Any:
        """The most that pairs could be apart."""
        return self.most

    def gradient(self, labels: Labels, sums: Floats, centres: Floats, pull: Any, core: Index) -> Floats:
        """Slope of the objective in the weights, labels and centres held."""
        units = self.as_centres(centres)
        cosines = self.points.dot_own(labels, units * self.metric) * self.factor
        by_cluster = np.bincount(labels, cosines, len(units))
        slope = -np.einsum("hj,hj->j", sums, units) + 0.5 * (by_cluster @ units**2)
        turn = cosines * self.scale
        if pull is not None:
            rows = self.points.X[core].astype(np.float64)
            scale = self.scale[core]
            rows = sparse.diags(scale) @ rows if sparse.issparse(rows) else rows * scale[:, None]
            met, by_row = pull.acting(rows, self.metric)
            slope -= 0.5 * met
            turn[core] += by_row * scale
        # turn counts u^2 = (x / length)^2 once more than the cosines did
        return slope + 0.5 * self._squares_by_feature(turn * self.scale)

    def step_from(
        self, labels: Labels, totals: Any, centres: Floats, pull: Any, core: Index
    ) -> Callable[[float], Floats]:
        """The weights after a part of a step down the slope."""
        slope = self.gradient(labels, totals[0], centres, pull, core)
        before, step = self.metric, self.step
        return lambda share: np.maximum(before - share * step * slope, LEAST_WEIGHT)

    def distances_to(self, centres: Floats) -> Floats:
        """One minus the cosine of each row with each centre."""
        slopes, _ = self.linear(centres)
        return np.maximum(1.0 + self.scale[:, None] * np.asarray(self.points.X @ slopes.T), 0.0)
