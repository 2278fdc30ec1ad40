"""Bounds for learned metrics, from the range of the data: the farthest pair, the first metric, its floor.

A metric is learned as the inverse of a mean of squares, so it needs a floor: no direction is taken to be
narrower than 1e-9 of the squared range of the data there. A direction in which the data do not reach at all
keeps the weight it started with. A broken cannot-link costs the most that any pair could be apart, less
what it is apart. That most is bounded by the ranges (a box), a linear function of the metric that is fixed
during a fit: so every step is an exact minimisation and none of them looks for the farthest pair.

Diagonal metrics take the ranges of the features. A full one takes those along the principal axes of the
features in units of their ranges, widened until the box bounds every pair under every metric. Time O(n d),
full O(n d^2 + d^3), once a fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._rows.points import Points

# The least spread of a direction, as a share of the squared range.
LEAST = 1e-9
# Axes shorter than this, in units of the ranges of the features, are rounding.
_FLAT = 1e-7


class DiagonalBox:
    """For metrics that weigh each feature.

    Attributes
    ----------
    start : array
        The metric to start from: one weight for all, so that the mean variance is one.
    bound : array
        `(bound * metric).sum()` is at least what any two items are apart.
    scatter : array
        Squared gaps to the mean, summed over the items.
    """

    def __init__(self, points: Points, moments: tuple[Floats, Floats], total: float) -> None:
        self.scatter = moments[1]
        X = points.X
        if sparse.issparse(X):
            low, high = (np.asarray(end.toarray()).ravel() for end in (X.min(axis=0), X.max(axis=0)))
        else:
            low, high = X.min(axis=0), X.max(axis=0)
        reach = high.astype(np.float64) - low
        variance = float(self.scatter.sum()) / total
        self.unit = points.d / variance if variance > 0 else 1.0
        self.reach = reach
        self.bound: Any = reach**2
        self.start: Any = np.full(points.d, self.unit)
        self.floor: Any = np.where(reach > 0, LEAST * reach**2, 1.0 / self.unit)

    def invert(self, bracket: Any, mass: float) -> tuple[Any, int]:
        """The best metric for a sum of squares, and how many directions are at the floor."""
        mean = bracket / mass
        return 1.0 / np.maximum(mean, self.floor), int((mean < self.floor).sum())

    @staticmethod
    def log_det(metric: Any) -> float:
        """Logarithm of the determinant."""
        return float(np.log(metric).sum())


class FullBox:
    """For metrics that are a matrix; attributes as in `DiagonalBox`."""

    def __init__(self, points: Points, moments: tuple[Floats, Floats], total: float, mass: Floats) -> None:
        plain = DiagonalBox(points, moments, total)
        self.reach = plain.reach
        X, middle = points.X, moments[0]
        scale = np.where(plain.reach > 0, plain.reach, 1.0 / np.sqrt(plain.unit))
        rows = chunk_rows(points.n, points.d**2, points.d**2)

        def gram(start: int, stop: int) -> Floats:
            away = (X[start:stop] - middle) / scale
            return away.T @ (away * mass[start:stop, None] if len(mass) else away)

        inner = np.sum(over_chunks(gram, points.n, rows), axis=0)
        self.scatter: Any = inner * np.outer(scale, scale)
        axes = np.linalg.eigh(inner)[1]

        def ends(start: int, stop: int) -> Floats:
            along = ((X[start:stop] - middle) / scale) @ axes
            return np.array([along.min(axis=0), -along.max(axis=0)])

        low, high = np.min(over_chunks(ends, points.n, rows), axis=0) * np.array([[1.0], [-1.0]])
        reach = high - low
        flat = reach <= _FLAT * max(float(reach.max()), 1.0) if plain.reach.any() else np.ones(points.d, bool)
        inverse = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, reach))

        def farthest(start: int, stop: int) -> float:
            along = ((X[start:stop] - middle) / scale) @ axes
            return float((((along - (low + high) / 2.0) * inverse) ** 2).sum(axis=1).max())

        wide = max(1.0, 4.0 * max(over_chunks(farthest, points.n, rows)))
        scaled_axes = scale[:, None] * axes
        self.bound: Any = wide * (scaled_axes * np.where(flat, 0.0, reach) ** 2) @ scaled_axes.T
        idle = ((axes / scale[:, None]) ** 2).sum(axis=0) / plain.unit
        floor = np.sqrt(np.where(flat, idle, LEAST * reach**2))
        self.whiten = axes / scale[:, None] / floor
        self.start: Any = self.invert(np.eye(points.d) / plain.unit, 1.0)[0]

    def invert(self, bracket: Any, mass: float) -> tuple[Any, int]:
        """The best metric for a sum of outer products, and how many directions are at the floor."""
        size, turn = np.linalg.eigh(self.whiten.T @ (bracket / mass) @ self.whiten)
        back = self.whiten @ turn
        found = (back / np.maximum(size, 1.0)) @ back.T
        return (found + found.T) / 2.0, int((size < 1.0).sum())

    @staticmethod
    def log_det(metric: Any) -> float:
        """Logarithm of the determinant."""
        return float(np.linalg.slogdet(metric)[1])
