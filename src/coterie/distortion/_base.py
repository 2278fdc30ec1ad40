"""What a distortion is made of, where nothing is special: a part of the item alone, and a linear score.

Every distortion here is `own_part(x) + x . slopes[h] + intercepts[h]`. A new one is a class that says these
three, and what its best centre is if that is not the mean; blocks, sums, starts and the objective follow. Any
Bregman divergence is of this form: with a convex f the own part is f(x), the slopes are -f'(c), the
intercepts c . f'(c) - f(c), and the best centre is the mean. `CONTRIBUTING.md` shows one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from coterie._arrays import NOTHING, Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._rows.points import Points, as_points


class LinearDistortion(ABC):
    """A distortion by its own part and its linear score; the best centre is the mean.

    Attributes
    ----------
    factor, mass : array of shape (n,) or (0,)
        What a row is multiplied by in the sums, and what it weighs; empty means 1.
    total : float
        The sum of the masses.
    """

    name: ClassVar[str]
    share: ClassVar[float] = 1.0

    def __init__(self, X: Any, sample_weight: Floats | None = None) -> None:
        self.points: Points = as_points(X)
        self.mass = self.factor = NOTHING if sample_weight is None else sample_weight
        self.total = float(self.mass.sum()) if len(self.mass) else float(self.points.n)

    # ---- what a class says ----------------------------------------------------------------------------

    @abstractmethod
    def own_part(self, rows: Any) -> Floats:
        """The part of the cost of rows (dense or CSR, float64) that no centre changes."""

    @abstractmethod
    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        """Slopes and intercepts of the scores of the centres."""

    def check_range(self) -> None:
        """Raise for data that have no such distortion."""
        return

    def stand_in(self, rows: Floats) -> Floats:
        """Centres that stand where rows, or means of rows, are."""
        return rows

    def as_centres(self, given: Floats) -> Floats:
        """Centres as the user gave them."""
        return given

    # ---- what follows ---------------------------------------------------------------------------------

    def own_parts(self) -> Floats:
        """The part of the cost of every row that no centre changes."""
        X, n, d = self.points.X, self.points.n, self.points.d
        parts = over_chunks(
            lambda start, stop: self.own_part(X[start:stop].astype(np.float64)), n, chunk_rows(n, 8 * d, 0)
        )
        return np.concatenate(parts)

    @cached_property
    def sums(self) -> tuple[Floats, float]:
        """Weighted sums over all rows: of the features, and of the own parts."""
        weight = self.mass if len(self.mass) else np.ones(self.points.n)
        return np.asarray(weight @ self.points.X).ravel(), float(weight @ self.own_parts())

    @property
    def plain(self) -> Any:
        """The distortion before anything is learned: starts are made with it."""
        return self

    @property
    def spread(self) -> float:
        """The distortion with one centre for all items."""
        total, masses = self.sums[0][None], np.array([self.total])
        return self.value(total, masses, self.centres(total, masses, total))

    @property
    def tolerance_unit(self) -> float:
        """The squared mean of the features: the unit of `tol`."""
        return float(((self.sums[0] / self.total) ** 2).mean())

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        """The best centres; a cluster without mass keeps the one it had."""
        held = masses > 0
        found = before.copy()
        found[held] = self.stand_in(sums[held] / masses[held, None])
        return found

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        """The distortion of all items, from the sums by cluster."""
        slopes, intercepts = self.linear(centres)
        around = float(np.einsum("hj,hj->", sums, slopes)) + float(masses @ intercepts)
        return max(self.sums[1] + around, 0.0)

    def to_own(self, labels: Labels, centres: Floats) -> Floats:
        """Weighted distortion of each item, by its definition."""
        slopes, intercepts = self.linear(centres)
        gaps = self.own_parts() + self.points.dot_own(labels, slopes) + intercepts[labels]
        return np.maximum(gaps, 0.0) * (self.mass if len(self.mass) else 1.0)

    def block(self, start: int, stop: int, centres: Floats) -> Floats:
        """Costs of rows `start` to `stop` with each centre, without their weight."""
        slopes, intercepts = self.linear(centres)
        rows = self.points.X[start:stop].astype(np.float64)
        return np.maximum(np.asarray(rows @ slopes.T) + intercepts + self.own_part(rows)[:, None], 0.0)

    def alone(self, items: Index) -> float:
        """The least distortion of some items in a cluster of their own."""
        mass = self.mass[items] if len(self.mass) else np.ones(len(items))
        if not mass.any():
            return 0.0
        rows = self.points.X[items].astype(np.float64)
        sums, masses = np.asarray(mass @ rows).reshape(1, -1), np.array([mass.sum()])
        slopes, intercepts = self.linear(self.centres(sums, masses, sums))
        around = float(sums[0] @ slopes[0]) + float(masses[0] * intercepts[0])
        return max(float(mass @ self.own_part(rows)) + around, 0.0)

    def fill_costs(self, centres: Floats, out: Any) -> None:
        """Write to `out`, n x k, what each centre costs each row in the objective, less `constants`."""
        self.points.fill_scores(*self.linear(centres), self.mass, self.mass, out)

    def constants(self) -> Floats:
        """What `fill_costs` leaves out: the part of each row's cost that no centre changes."""
        return self.own_parts() * (self.mass if len(self.mass) else 1.0)

    def rows(self, items: Index) -> Floats:
        """Some rows as they enter the sums, without their weight."""
        return self.points.rows(items)

    def distances_to(self, centres: Floats) -> Floats:
        """The cost of each row with each centre."""
        n, d = self.points.n, self.points.d
        return np.vstack(over_chunks(lambda a, b: self.block(a, b, centres), n, chunk_rows(n, 8 * d, 0)))

    @classmethod
    def distances(cls, X: Any, centres: Any) -> Floats:
        """The cost of each row with each centre."""
        return cls(X).distances_to(np.asarray(centres, dtype=np.float64))
