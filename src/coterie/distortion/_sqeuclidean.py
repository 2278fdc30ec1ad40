"""Squared Euclidean distances.

Precision: slopes are taken about a typical row. The rounding error of a score is then that of x itself
times the distance of the centre to there, so that an offset of the features does no more harm to the labels
than it did to the data (in float32 too), and a far centre harms itself alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from coterie._arrays import Floats, Index, Labels
from coterie.distortion._base import Distortion, out_of_range
from coterie.distortion._rows.points import as_points

_TINY = float(np.finfo(np.float64).tiny)


class SquaredEuclidean(Distortion):
    """`|x - c|^2`; the best centre is the mean. Attributes as in `Distortion`."""

    unit: ClassVar[str] = "squared distance"
    # the objectives of the soft methods count half the squared distance
    objective_factor: ClassVar[float] = 0.5

    def __init__(self, X: Any, sample_weight: Floats | None = None) -> None:
        super().__init__(X, sample_weight)
        self.typical = self.points.typical()

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """The mean of the items, and the squared gaps to it by feature."""
        return self.plain.points.moments(self.sample_weight)

    @property
    def middle(self) -> Floats:
        """The mean of the items."""
        return self.moments[0]

    @property
    def total_cost(self) -> float:
        return float(self.moments[1].sum())

    @property
    def tol_scale(self) -> float:
        """Mean variance of the features."""
        return self.total_cost / (self.total * self.plain.points.d)

    def check_range(self) -> None:
        """Raise where squares of the features leave the range of their type: all distances would be equal."""
        X = self.points.X
        if sparse.issparse(X):
            width = np.abs(X.data).max(initial=0.0)
        elif len(self.sample_weight):
            width = np.max(X.max(axis=0).astype(np.float64) - X.min(axis=0))
        else:
            width = np.sqrt(self.total_cost / self.total)
        with np.errstate(over="ignore"):
            scale = float(np.float64(width) ** 2)
        limits = np.finfo(X.dtype)
        if not scale <= 1e-4 * float(limits.max):
            raise out_of_range("squared distances", "large", X)
        if scale < 1e4 * float(limits.tiny) and np.any(X.data if sparse.issparse(X) else X[:1] != X):
            raise out_of_range("squared distances", "small", X)

    def own_part(self, rows: Any) -> Floats:
        """The squared distance to the typical row."""
        return as_points(rows).squares_to_assigned(
            np.zeros(rows.shape[0], dtype=np.int32), self.typical[None]
        )

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        away = centres - self.typical
        return -2.0 * away, np.einsum("hj,hj->h", away, away) + 2.0 * (away @ self.typical)

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        shifted = sums - masses[:, None] * self.middle
        away = centres - self.middle
        around = masses @ np.einsum("hj,hj->h", away, away) - 2.0 * np.einsum("hj,hj->", shifted, away)
        return max(self.total_cost + float(around), 0.0)

    def cost_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        return self.weighted(self.points.squares_to_assigned(labels, centres))

    def chunk_costs(self, start: int, stop: int, centres: Floats) -> Floats:
        return self.points.squared_distances(start, stop, centres, self.middle)

    def single_cluster_cost(self, items: Index) -> float:
        weight, sums = self.weights(items), self.total_of(items)
        if sparse.issparse(self.points.X):
            part = self.points.X[items]
            squares = np.asarray(part.multiply(part).sum(axis=1)).ravel()
            return max(float(weight @ squares) - float(sums @ sums) / max(float(weight.sum()), _TINY), 0.0)
        centre = sums / max(float(weight.sum()), _TINY)
        parts = (items[start : start + 4096] for start in range(0, len(items), 4096))
        found = [((self.points.rows(part) - centre) ** 2).sum(axis=1) for part in parts]
        return float(weight @ np.concatenate(found))

    @classmethod
    def distances(cls, X: Any, centres: Any) -> Any:
        """Distance of each row to each centre, not squared."""
        return euclidean_distances(X, centres)
