"""One minus the cosine; and with a weight for each feature that a gradient step improves.

The weighted cosine is taken under A = diag(a), so the length of every row hangs on the metric: after a step
the rows are scaled and added up anew, O(non-zeros). Source: Basu, Bilenko and Mooney 2004, equations (10),
(17), (19), corrected: the best centre is the sum of the rows at unit length under A, and the step goes down
the objective. The objective does not change when all weights are multiplied by a number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import cosine_distances

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._base import Distortion, out_of_range
from coterie.distortion._learned import LEAST_WEIGHT, Learned


class Cosine(Distortion):
    """`1 - cos(x, c)`; the best centre is the mean of the unit vectors, of unit length itself.

    A row of zeros has distance 1 to every centre. Attributes as in `Distortion`.
    """

    unit: ClassVar[str] = "cosine distance"

    @cached_property
    def scale(self) -> Floats:
        """One over the length of each row; 0 where it has none."""
        return _one_over(np.sqrt(self.points.squared_norms()))

    def _weigh(self, weight: Floats) -> None:
        self.sample_weight = weight
        self.row_scale = self.weighted(self.scale)

    def _lengths(self, rows: Floats) -> Floats:
        return np.linalg.norm(rows, axis=1)

    @cached_property
    def total_cost(self) -> float:
        """Half the squared distances of the unit vectors to their mean."""
        summed = self.total_of(np.arange(self.points.n))
        return max(0.5 * (self.total - float(summed @ summed) / self.total), 0.0)

    @property
    def tol_scale(self) -> float:
        """Mean variance of the features of the unit vectors."""
        return 2.0 * self.total_cost / (self.total * self.points.d)

    def check_range(self) -> None:
        """Raise where the length of a row leaves the range of its type."""
        X = self.points.X
        # an infinite length has the scale 0 too
        empty = X[self.without_centre()]
        largest = np.abs(empty.data if sparse.issparse(empty) else empty).max(initial=0.0)
        if largest > 0:
            raise out_of_range("squared distances", "large" if largest > 1 else "small", X)

    def own_part(self, rows: Any) -> Floats:
        return np.ones(rows.shape[0])

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        """Slopes and intercepts; a row's length does not matter to which score is least."""
        return -centres, np.zeros(len(centres))

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        """Unit vectors along the sums; a cluster without direction keeps the one it had."""
        lengths = self._lengths(sums)
        held = (masses > 0) & (lengths > 0)
        found = before.copy()
        found[held] = sums[held] / lengths[held, None]
        return found

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        slopes, _ = self.linear(centres)
        return max(float(masses.sum()) + float(np.einsum("hj,hj->", sums, slopes)), 0.0)

    def cost_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        return self.weighted(1.0 + self.points.dot_own(labels, self.linear(centres)[0]) * self.scale)

    def chunk_costs(self, start: int, stop: int, centres: Floats) -> Floats:
        slopes, _ = self.linear(centres)
        return 1.0 + self.scale[start:stop, None] * np.asarray(self.points.X[start:stop] @ slopes.T)

    def single_cluster_cost(self, items: Index) -> float:
        length = self._lengths(self.total_of(items)[None])[0]
        return max(float(self.weights(items).sum()) - float(length), 0.0)

    def rows(self, items: Index) -> Floats:
        """Some rows at unit length."""
        return self.points.rows(items) * self.scale[items, None]

    def centres_from_means(self, rows: Floats) -> Floats:
        """Centres along rows, or means of rows; zeros have no direction, and take the middle of all."""
        empty = np.linalg.norm(rows, axis=1) == 0
        rows[empty] = 1.0
        return self.validated_centres(rows)

    def validated_centres(self, given: Floats) -> Floats:
        """Centres at unit length."""
        lengths = self._lengths(given)
        if not (lengths > 0).all():
            raise ValueError(
                f"centre {int(np.argmin(lengths))} is all zeros: it has no direction, so no cosine."
            )
        return given / lengths[:, None]

    def possible_centres(self, means: Floats) -> Floats:
        """Means that have a direction."""
        return means[np.linalg.norm(means, axis=1) > 0]

    def without_centre(self) -> Index:
        """Rows of zeros: they have no direction."""
        return np.flatnonzero(self.scale == 0)

    def centre_of(self, items: Index) -> Floats:
        """A centre for some items; the first of them that has a direction where they cancel each other."""
        weight = self.weights(items).sum()
        if weight > 0 and not np.linalg.norm(self.total_of(items)) > 1e-12 * weight:
            facing = items[self.scale[items] > 0]
            return self.centres_from_means(self.rows(facing[:1] if len(facing) else items[:1]))[0]
        return super().centre_of(items)

    @classmethod
    def distances(cls, X: Any, centres: Any) -> Any:
        """Cosine distance of each row to each centre."""
        return cosine_distances(X, centres)


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
    def tol_scale(self) -> float:
        """Mean variance of the features of the unit vectors: the unit of `tol`."""
        return self.plain.tol_scale

    def check_range(self) -> None:
        """Raise for rows without a direction, and where the length of a row leaves the range of its type."""
        super().check_range()
        self.refuse_without_centre()

    def begin(self, k: int) -> None:
        """Go back to where every start begins."""
        self.use(np.ones(self.points.d))

    def use(self, metric: Any) -> None:
        """Put weights of the features in place."""
        self.metric: Any = metric
        self.scale = _one_over(np.sqrt(self._squares_by_row(metric)))
        self._weigh(self.sample_weight)
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
        return -self.validated_centres(centres) * self.metric, np.zeros(len(centres))

    def _lengths(self, rows: Floats) -> Floats:
        return np.sqrt(rows**2 @ self.metric)

    # ---- pairs and the step ---------------------------------------------------------------------------

    def embedded(self, rows: Any) -> Any:
        root = np.sqrt(self.metric / 2.0)
        if sparse.issparse(rows):
            lengths = np.sqrt(np.asarray(rows.multiply(rows) @ self.metric).ravel())
            return (sparse.diags(1.0 / lengths) @ rows @ sparse.diags(root)).tocsr()
        return rows * root / np.sqrt(rows**2 @ self.metric)[:, None]

    def ceiling(self) -> float:
        """The most that pairs could be apart."""
        return self.most

    def gradient(self, labels: Labels, sums: Floats, centres: Floats, broken: Any, core: Index) -> Floats:
        """Slope of the objective in the weights, labels and centres held."""
        units = self.validated_centres(centres)
        cosines = self.points.dot_own(labels, units * self.metric) * self.row_scale
        by_cluster = np.bincount(labels, cosines, len(units))
        slope = -np.einsum("hj,hj->j", sums, units) + 0.5 * (by_cluster @ units**2)
        turn = cosines * self.scale
        if broken is not None:
            rows = self.points.X[core].astype(np.float64)
            scale = self.scale[core]
            rows = sparse.diags(scale) @ rows if sparse.issparse(rows) else rows * scale[:, None]
            met, by_row = broken.acting(rows, self.metric)
            slope -= 0.5 * met
            turn[core] += by_row * scale
        # turn counts u^2 = (x / length)^2 once more than the cosines did
        return slope + 0.5 * self._squares_by_feature(turn * self.scale)

    def step_from(
        self, labels: Labels, totals: Any, centres: Floats, broken: Any, core: Index
    ) -> Callable[[float], Floats]:
        """The weights after a part of a step down the slope."""
        slope = self.gradient(labels, totals[0], centres, broken, core)
        before, step = self.metric, self.step
        return lambda share: np.maximum(before - share * step * slope, LEAST_WEIGHT)

    def distances_to(self, centres: Floats) -> Floats:
        """One minus the cosine of each row with each centre."""
        return np.maximum(self.chunk_costs(0, self.points.n, centres), 0.0)


def _one_over(lengths: Floats) -> Floats:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
