"""Squared distances under a learned metric, one for all clusters or one for each.

With a metric A an item costs `|x - c|^2_A - log det A`. One metric for all leaves a linear score, as plain
squared distances do. With a metric for each cluster the score is linear in (x, x x'), so that the same blocks
of matrix products find the nearest centre, and the sums by cluster hold all that centres, metrics and the
objective need: nothing is gone through twice. `learn` puts the best metrics in place, in closed form
(Bilenko, Basu and Mooney 2004; `_metric_floor` for the floor). Cost of a pass: n k d multiply-adds with one
metric or, for each cluster, 2 n k d (diagonal) and n k d^2 / 2 (full).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._learned import BrokenPairs, Learned
from coterie.distortion._metric_floor import LEAST, DiagonalBox, FullBox
from coterie.distortion._rows.expanded import ExpandedPoints, expanded
from coterie.distortion._rows.pair_distances import pair_chunks, squared_pair_distances
from coterie.distortion._sqeuclidean import SquaredEuclidean

# Chunks of which rows are copied are so much smaller.
_COPIED = 16
_TINY = float(np.finfo(np.float64).tiny)


class Mahalanobis(Learned, SquaredEuclidean):
    """`|x - c|^2_A - log det A` with one metric A, a vector (diagonal) or a matrix.

    Attributes as in `SquaredEuclidean`; `metric` is A, `regularized` the number of directions at the floor.
    """

    counted: ClassVar[str] = "distances to the centres under the metric, less its log-determinant"
    compares: ClassVar[bool] = False
    objective_factor: ClassVar[float] = 1.0
    # the best metric is known in closed form, and the sums by cluster do not hang on it
    closed: ClassVar[bool] = True

    def __init__(
        self, X: Any, sample_weight: Floats | None = None, *, full: bool = False, shrinkage: float = 0.0
    ) -> None:
        super().__init__(X, sample_weight)
        # pseudo-items: a share of all items, so that neither the unit nor the split of weights matters
        self.full, self.shrinkage = full, shrinkage * self.total
        # the rows of `points` are about this
        self.about = np.zeros(self.points.d)
        if full and not self.by_cluster and self.points.X.dtype == np.float32:
            # a matrix has large entries of both signs: products of float32 far from 0 would not cancel
            self._keep_plain(X, sample_weight)
            self.points, self.about = ExpandedPoints(self.points, self.typical, "nothing"), self.typical

    def _keep_plain(self, X: Any, sample_weight: Floats | None) -> None:
        self._plain = SquaredEuclidean(X, sample_weight)
        self._plain.points = self.points

    @cached_property
    def box(self) -> Any:
        """How far the data reach."""
        if self.full:
            return FullBox(self.plain.points, self.moments, self.total, self.sample_weight)
        return DiagonalBox(self.plain.points, self.moments, self.total)

    def check_range(self) -> None:
        """Raise where squares of the features, or one over them, leave the range of their type."""
        SquaredEuclidean.check_range(self.plain)
        reach = self.box.reach[self.box.reach > 0]
        if len(reach) and not LEAST * float(reach.min()) ** 2 > 1e4 * _TINY:
            raise ValueError(
                f"a feature of X reaches over {reach.min():.1e} only: its weight would leave the range of "
                "float64; multiply it by a constant (clusters do not depend on the unit), or drop it."
            )

    def begin(self, k: int) -> None:
        """Go back to where every start begins."""
        self.use(self.box.start)

    def use(self, metric: Any) -> None:
        """Put a metric in place."""
        self.metric: Any = metric
        self.log_det: Any = self._log_det(metric)

    def _log_det(self, metric: Any) -> float:
        return FullBox.log_det(metric) if metric.ndim == 2 else DiagonalBox.log_det(metric)

    # ---- the pass -------------------------------------------------------------------------------------

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        away = centres - self.typical
        slopes = away @ self.metric if self.full else away * self.metric
        intercepts = np.einsum("hj,hj->h", slopes, away) + 2.0 * (slopes @ (self.typical - self.about))
        return -2.0 * slopes, intercepts

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        held = masses > 0
        found = before.copy()
        found[held] = self.about + sums[held, : found.shape[1]] / masses[held, None]
        return found

    def split(self, sums: Floats, masses: Floats, centres: Floats) -> tuple[float, float]:
        """The distortion of all items, and `- log det` for each."""
        around = float((self._within(sums, masses, centres) * self.metric).sum())
        return around, -float(masses.sum()) * self.log_det

    def held_back(self) -> float:
        """What the pseudo-items of the shrinkage cost."""
        if not self.shrinkage:
            return 0.0
        spread = float((self.box.scatter * self.metric).sum()) / self.total
        return self.shrinkage * (spread - float(np.sum(self.log_det)))

    def _within(self, sums: Floats, masses: Floats, centres: Floats) -> Any:
        """Squared gaps (outer products) of the items to their centres, summed."""
        shifted = sums - masses[:, None] * (self.middle - self.about)
        away = centres - self.middle
        if self.full:
            cross = shifted.T @ away
            return self.box.scatter + (away * masses[:, None]).T @ away - cross - cross.T
        around = (masses[:, None] * away - 2.0 * shifted) * away
        return np.maximum(self.box.scatter + around.sum(axis=0), 0.0)

    def learn(self, sums: Floats, masses: Floats, centres: Floats, broken: BrokenPairs | None) -> float:
        """Put the best metric in place; returns by which share it changed, at most."""
        bracket, mass = self._within(sums, masses, centres), float(masses.sum())
        if broken is not None:
            scatter, boxes = broken.scatter(self.full, False)
            bracket = bracket + scatter + float(boxes) * self.box.bound
        if self.shrinkage:
            bracket = bracket + self.shrinkage / self.total * self.box.scatter
        before = self.metric
        found, self.regularized = self.box.invert(bracket, mass + self.shrinkage)
        self.use(found)
        return _change(before, found, self.full)

    # ---- items and pairs ------------------------------------------------------------------------------

    def pair_rows(self, items: Index) -> Any:
        """Some rows as `embedded` and `pair_distances` take them."""
        rows = self.plain.points.X[items].astype(np.float64)
        return rows if sparse.issparse(rows) else rows - self.typical

    def embedded(self, rows: Any) -> Any:
        return _embedded(rows, self.metric)

    def ceiling(self) -> Any:
        """The most that pairs could be apart."""
        return float((self.box.bound * self.metric).sum())

    def cost_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        """Weighted squared distance of each item to its centre, under the metric."""
        cost = np.empty(self.plain.points.n)

        def job(start: int, stop: int) -> None:
            cost[start:stop] = self._cost_to_assigned(start, stop, labels[start:stop], centres)

        width = _COPIED * self.plain.points.d ** (1 + self.full)
        over_chunks(job, len(cost), chunk_rows(len(cost), width, 0))
        return self.weighted(cost)

    def _cost_to_assigned(self, start: int, stop: int, labels: Labels, centres: Floats) -> Floats:
        return _squares_under(self.plain.points.X[start:stop], labels, centres, self.metric)

    def single_cluster_cost(self, items: Index) -> float:
        return _around_mean(self.embedded(self.plain.points.X[items]), self.weights(items))

    def distances_to(self, centres: Floats) -> Floats:
        """Distance of each row to each centre under the metric, not squared."""
        points = self.plain.points
        spots = self._spots(centres)
        found = over_chunks(
            lambda start, stop: self._distances(points.X[start:stop], spots),
            points.n,
            chunk_rows(points.n, _COPIED * points.d ** (1 + self.full), 0),
        )
        return np.vstack(found)

    def _spots(self, centres: Floats) -> Any:
        return self.embedded(centres)

    def _distances(self, X: Any, spots: Any) -> Floats:
        return euclidean_distances(self.embedded(X), spots)


class MahalanobisByCluster(Mahalanobis):
    """`|x - c_h|^2_A - log det A` with a metric A_h for each cluster; metrics are stacked.

    The sums by cluster are of the rows about a typical one and of their squares (products).
    """

    by_cluster: ClassVar[bool] = True

    def __init__(
        self, X: Any, sample_weight: Floats | None = None, *, full: bool = False, shrinkage: float = 0.0
    ) -> None:
        super().__init__(X, sample_weight, full=full, shrinkage=shrinkage)
        self._keep_plain(X, sample_weight)
        self.points, self.about = expanded(self.points, self.typical, full)
        self.cells: Any = np.triu_indices(self._plain.points.d) if full else None

    def begin(self, k: int) -> None:
        self.use(np.repeat(self.box.start[None], k, axis=0))

    def _log_det(self, metric: Any) -> Any:
        return np.array([super(MahalanobisByCluster, self)._log_det(one) for one in metric])

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        away = centres - self.about
        if self.full:
            first = np.einsum("hjl,hl->hj", self.metric, away)
            row, column = self.cells
            twice = self.metric[:, row, column] * np.where(row == column, 1, 2)
        else:
            first, twice = self.metric * away, self.metric
        intercepts = np.einsum("hj,hj->h", first, away) - self.log_det
        return np.hstack([-2.0 * first, twice]), intercepts

    def _within_each(self, sums: Floats, masses: Floats, centres: Floats) -> Any:
        """Squared gaps (outer products) of the items of each cluster to its centre, summed."""
        away = centres - self.about
        d = away.shape[1]
        first, second = sums[:, :d], sums[:, d:]
        if not self.full:
            return np.maximum(second + (masses[:, None] * away - 2.0 * first) * away, 0.0)
        whole = np.zeros((len(away), d, d))
        whole[:, self.cells[0], self.cells[1]] = second
        whole[:, self.cells[1], self.cells[0]] = second
        cross = first[:, :, None] * away[:, None, :]
        around = masses[:, None, None] * away[:, :, None] * away[:, None, :]
        return whole - cross - cross.transpose(0, 2, 1) + around

    def split(self, sums: Floats, masses: Floats, centres: Floats) -> tuple[float, float]:
        around = float((self._within_each(sums, masses, centres) * self.metric).sum())
        return around, -float(masses @ self.log_det)

    def learn(self, sums: Floats, masses: Floats, centres: Floats, broken: BrokenPairs | None) -> float:
        """Put the best metrics in place; a cluster without items keeps the one it had."""
        brackets = self._within_each(sums, masses, centres)
        if broken is not None:
            scatter, boxes = broken.scatter(self.full, True)
            brackets = brackets + scatter + boxes.reshape((-1,) + (1,) * self.box.bound.ndim) * self.box.bound
        if self.shrinkage:
            brackets = brackets + self.shrinkage / self.total * self.box.scatter
        before, found = self.metric, self.metric.copy()
        self.regularized = 0
        for h, mass in enumerate((masses + self.shrinkage).tolist()):
            if mass > 0:
                found[h], n_floored = self.box.invert(brackets[h], mass)
                self.regularized += n_floored
        self.use(found)
        return _change(before, found, self.full)

    def pair_distances(self, rows: Any, i: Index, j: Index) -> Floats:
        """How far pairs of rows are apart under each metric, pairs x clusters."""
        if self.full:
            apart = [squared_pair_distances(self.embedded_by(h, rows), i, j) for h in range(len(self.metric))]
            return np.column_stack(apart)
        found = np.empty((len(i), len(self.metric)))
        for chunk in pair_chunks(rows, len(i)):
            away = rows[i[chunk]] - rows[j[chunk]]
            squares = away.multiply(away) if sparse.issparse(away) else away * away
            found[chunk] = squares @ self.metric.T
        return found

    def ceiling(self) -> Any:
        """The most that any pair could be apart, under each metric."""
        return (self.box.bound * self.metric).reshape(len(self.metric), -1).sum(axis=1)

    def embedded_by(self, h: int, rows: Any) -> Any:
        """Rows in a space where squared distances are those of the metric of cluster h."""
        return _embedded(rows, self.metric[h])

    def _cost_to_assigned(self, start: int, stop: int, labels: Labels, centres: Floats) -> Floats:
        X = self.plain.points.X[start:stop]
        cost = np.empty(stop - start)
        for h in np.unique(labels).tolist():
            mine = np.flatnonzero(labels == h)
            cost[mine] = _squares_under(X[mine], labels[mine], centres, self.metric[h])
        return cost

    def single_cluster_cost(self, items: Index) -> float:
        weight, X = self.weights(items), self.plain.points.X[items]
        # a new cluster takes over the metric of the old one: whichever that is, it is no dearer than this
        return max(_around_mean(self.embedded_by(h, X), weight) for h in range(len(self.metric)))

    def _spots(self, centres: Floats) -> Any:
        return [self.embedded_by(h, centres[[h]]) for h in range(len(centres))]

    def _distances(self, X: Any, spots: Any) -> Floats:
        """Distances of rows to the centres; squared, they count what a metric costs beside the others."""
        beside = self.log_det.max() - self.log_det
        squared = [
            euclidean_distances(self.embedded_by(h, X), spot, squared=True) + beside[h]
            for h, spot in enumerate(spots)
        ]
        return np.sqrt(np.hstack(squared))


def _squares_under(X: Any, labels: Labels, centres: Floats, metric: Any) -> Floats:
    """Squared distances of rows to their centres under one metric."""
    if sparse.issparse(X):
        slopes = centres * metric
        cross = np.asarray(X @ slopes.T)[np.arange(X.shape[0]), labels]
        lengths = np.einsum("hj,hj->h", slopes, centres)
        return np.maximum(np.asarray(X.multiply(X) @ metric) - 2.0 * cross + lengths[labels], 0.0)
    away = X - centres[labels]
    return np.einsum("ij,ij->i", away @ metric if metric.ndim == 2 else away * metric, away)


def _embedded(rows: Any, metric: Any) -> Any:
    if metric.ndim == 1:
        root = np.sqrt(metric)
        return rows @ sparse.diags(root) if sparse.issparse(rows) else rows * root
    size, turn = np.linalg.eigh(metric)
    return rows @ (turn * np.sqrt(np.maximum(size, 0.0)))


def _around_mean(rows: Any, weight: Floats) -> float:
    """Weighted squared distances to the mean, summed."""
    total = max(float(weight.sum()), _TINY)
    if sparse.issparse(rows):
        middle = np.asarray(weight @ rows).ravel()
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return max(float(weight @ squares) - float(middle @ middle) / total, 0.0)
    middle = weight @ rows / total
    return float(weight @ ((rows - middle) ** 2).sum(axis=1))


def _change(before: Any, after: Any, full: bool) -> float:
    """By which share the metric changed, at most."""
    if not full:
        return float(np.abs(after / before - 1.0).max())
    size = np.sqrt(np.einsum("...jj->...j", after))
    return float((np.abs(after - before) / (size[..., :, None] * size[..., None, :])).max())
