"""What it costs to stand for an item by a centre.

Given centres, most distortions are `own_part(x) + x . slopes[h] + intercepts[h]`, so that one matrix product
finds the nearest centre and the objective follows from the sums by cluster: no pass over the data. A new one
is a class that says these three, and what its best centre is if that is not the mean; blocks, sums, starts
and the objective follow. Any Bregman divergence is of this form: with a convex f the own part is f(x), the
slopes are -f'(c), the intercepts c . f'(c) - f(c), and the best centre is the mean. `CONTRIBUTING.md` shows
one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

import coterie.distortion
from coterie._arrays import NOBODY, NOTHING, Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._rows.points import Points, as_points

# Distortions that users ask for by name.
DISTORTIONS = {"sqeuclidean": "SquaredEuclidean", "cosine": "Cosine"}
# Below this share of the spread of the data, too few digits of a distortion that comes from sums are left.
_FEW_DIGITS = 1e-4


def distortion_named(metric: str) -> Any:
    """The class that users ask for by this name; it is loaded when it is needed."""
    return getattr(coterie.distortion, DISTORTIONS[metric])


class Distortion(ABC):
    """A distortion by its own part and its linear score; the best centre is the mean.

    One without such a score (`by_sums` is False then) answers for itself what follows from it here.

    Attributes
    ----------
    row_scale, sample_weight : array of shape (n,) or (0,)
        What a row is multiplied by in the sums, and what it weighs; empty means 1.
    total : float
        The sum of the masses.
    """

    # what `clustering_cost` adds up, and what an objective counts, in words
    unit: ClassVar[str] = "distance"
    counted: ClassVar[str] = "distances to the centres"
    # whether `clustering_cost` compares labels that different fits found: not where a metric is the unit
    compares: ClassVar[bool] = True
    # the part of the distortion that objectives of soft methods count
    objective_factor: ClassVar[float] = 1.0
    # whether sums by cluster hold all that centres and the objective need
    by_sums: ClassVar[bool] = True

    def __init__(self, X: Any, sample_weight: Floats | None = None) -> None:
        self.points: Points = as_points(X)
        self._weigh(NOTHING if sample_weight is None else sample_weight)
        self.total = float(self.sample_weight.sum()) if len(self.sample_weight) else float(self.points.n)

    # ---- weights --------------------------------------------------------------------------------------

    def _weigh(self, weight: Floats) -> None:
        self.sample_weight = self.row_scale = weight

    def reweighted(self, weight: Floats) -> Any:
        """The same costs with other weights."""
        found = copy(self)
        found._weigh(weight)
        return found

    def of_rows(self, items: Index) -> Any:
        """The same costs for some of the rows."""
        found = copy(self)
        found.points = as_points(self.points.X[items])
        found.row_scale, found.sample_weight = (
            of[items] if len(of) else of for of in (self.row_scale, self.sample_weight)
        )
        return found

    def weights(self, items: Index) -> Floats:
        """What some rows weigh."""
        return self.sample_weight[items] if len(self.sample_weight) else np.ones(len(items))

    def weighted(self, values: Floats) -> Floats:
        """Values of all rows, times what they weigh."""
        return values * self.sample_weight if len(self.sample_weight) else values

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

    @property
    def plain(self) -> Any:
        """The distortion before anything is learned: starts are made with it."""
        return self

    # ---- centres --------------------------------------------------------------------------------------

    def rows(self, items: Index) -> Floats:
        """Some rows as they enter the sums, without their weight."""
        return self.points.rows(items)

    def centres_from_means(self, rows: Floats) -> Floats:
        """Centres that stand where rows, or means of rows, are."""
        return rows

    def validated_centres(self, given: Floats) -> Floats:
        """Centres as the user gave them."""
        return given

    def possible_centres(self, means: Floats) -> Floats:
        """Those of some means of rows that can be a centre."""
        return means

    def without_centre(self) -> Index:
        """Rows that cannot be a centre."""
        return np.empty(0, dtype=np.int64)

    def refuse_without_centre(self) -> None:
        """Raise where a row cannot be a centre: for a method in which every row counts."""
        refuse_zeros(self.without_centre(), "has no direction, so no cosine")

    def centres(self, sums: Floats, masses: Floats, before: Floats) -> Floats:
        """Centres from the sums; a cluster without mass keeps the one it had."""
        held = masses > 0
        found = before.copy()
        found[held] = self.centres_from_means(sums[held] / masses[held, None])
        return found

    def total_of(self, items: Index) -> Floats:
        """The sum of some items as they enter the sums of clusters."""
        whole = self.points.add_up(items, np.zeros(len(items), dtype=np.int64), 1, self.row_scale)
        return np.asarray(whole.toarray() if sparse.issparse(whole) else whole).ravel()

    def centre_of(self, items: Index) -> Floats:
        """A centre for some items; where they weigh nothing, the first of them."""
        weight = self.weights(items).sum()
        if not weight > 0:
            return self.centres_from_means(self.rows(items[:1]))[0]
        sums = self.total_of(items)[None]
        return self.centres(sums, np.array([weight]), sums)[0]

    # ---- costs ----------------------------------------------------------------------------------------

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
        weight = self.sample_weight if len(self.sample_weight) else np.ones(self.points.n)
        return np.asarray(weight @ self.points.X).ravel(), float(weight @ self.own_parts())

    @property
    def total_cost(self) -> float:
        """The distortion with one centre for all items."""
        total, masses = self.sums[0][None], np.array([self.total])
        return self.value(total, masses, self.centres(total, masses, total))

    @property
    def mean_cost(self) -> float:
        """What a mean item costs in objectives with one centre for all; 1 where all are in one place."""
        return self.objective_factor * self.total_cost / self.total or 1.0

    @property
    def tol_scale(self) -> float:
        """The unit of `tol`, for squared shifts of centres: the squared mean of the features."""
        return float(((self.sums[0] / self.total) ** 2).mean())

    def nearest(self, centres: Floats) -> Labels:
        """The nearest centre of each row."""
        labels = np.full(self.points.n, -1, dtype=np.int32)
        self.points.nearest(*self.linear(centres), labels, NOBODY, NOTHING, NOTHING)
        return labels

    def best_centres(self, labels: Labels, totals: Any, before: Floats) -> Floats:
        """The best centres, from the labels or from sums and masses; one without mass stays where it was."""
        sums, masses = totals[:2]
        return self.centres(sums, masses, before)

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        """The distortion of all items, from the sums by cluster."""
        slopes, intercepts = self.linear(centres)
        around = float(np.einsum("hj,hj->", sums, slopes)) + float(masses @ intercepts)
        return max(self.sums[1] + around, 0.0)

    def inertia(self, labels: Labels, totals: Any, centres: Floats) -> float:
        """The distortion: from the sums, or item by item where that would leave too few digits."""
        sums, masses = totals[:2]
        value = self.value(sums, masses, centres)
        return (
            float(self.cost_to_assigned(labels, centres).sum())
            if value < _FEW_DIGITS * self.total_cost
            else value
        )

    def cost_to_assigned(self, labels: Labels, centres: Floats) -> Floats:
        """Weighted distortion of each item, by its definition."""
        slopes, intercepts = self.linear(centres)
        found = self.own_parts() + self.points.dot_own(labels, slopes) + intercepts[labels]
        return self.weighted(np.maximum(found, 0.0))

    def chunk_costs(self, start: int, stop: int, centres: Floats) -> Floats:
        """Costs of rows `start` to `stop` with each centre, without their weight."""
        slopes, intercepts = self.linear(centres)
        rows = self.points.X[start:stop].astype(np.float64)
        return np.maximum(np.asarray(rows @ slopes.T) + intercepts + self.own_part(rows)[:, None], 0.0)

    def single_cluster_cost(self, items: Index) -> float:
        """The least distortion of some items in a cluster of their own."""
        weight = self.weights(items)
        if not weight.any():
            return 0.0
        rows = self.points.X[items].astype(np.float64)
        sums, masses = np.asarray(weight @ rows).reshape(1, -1), np.array([weight.sum()])
        slopes, intercepts = self.linear(self.centres(sums, masses, sums))
        around = float(sums[0] @ slopes[0]) + float(masses[0] * intercepts[0])
        return max(float(weight @ self.own_part(rows)) + around, 0.0)

    def fill_costs(self, centres: Floats, out: Any) -> None:
        """Write to `out`, n x k, what each centre costs each row in the objective, less `constants`."""
        slopes, intercepts = self.linear(centres)
        self.points.fill_scores(
            self.objective_factor * slopes,
            self.objective_factor * intercepts,
            self.row_scale,
            self.sample_weight,
            out,
        )

    def filled_at(self, labels: Labels, centres: Floats) -> Floats:
        """What `fill_costs` writes for each row at its label."""
        slopes, intercepts = self.linear(centres)
        found = self.points.dot_own(labels, slopes)
        found = (found * self.row_scale if len(self.row_scale) else found) + self.weighted(intercepts[labels])
        return self.objective_factor * found

    def constants(self) -> Floats:
        """What `fill_costs` leaves out: the part of each row's cost that no centre changes."""
        return self.objective_factor * self.weighted(self.own_parts())

    # ---- labels that somebody gave --------------------------------------------------------------------

    def totals_of(self, labels: Labels, k: int) -> tuple[Floats, Floats]:
        """Sums and masses of the clusters, from given labels (-1: in no cluster)."""
        held = np.flatnonzero(labels >= 0)
        group = labels[held].astype(np.int64)
        sums: Any = self.points.add_up(held, group, k, self.row_scale)
        masses = np.bincount(group, self.weights(held), k).astype(np.float64)
        return sums.toarray() if sparse.issparse(sums) else sums, masses

    def centres_of(self, labels: Labels, k: int) -> Floats:
        """The best centres for given labels (-1: in no cluster); zeros for a cluster without mass."""
        return self.best_centres(labels, self.totals_of(labels, k), np.zeros((k, self.points.d)))

    def clustering_cost(self, labels: Labels, k: int) -> float:
        """The distortion with the best centres for given labels; -1 is in no cluster, and costs nothing."""
        own = self.cost_to_assigned(np.maximum(labels, 0), self.centres_of(labels, k))
        return float(own[labels >= 0].sum())

    def block_costs(self, start: int, stop: int, centres: Floats) -> Floats:
        """`chunk_costs` of many rows, on all threads."""
        rows = chunk_rows(stop - start, 8 * self.points.d, 0)
        return np.vstack(
            over_chunks(lambda a, b: self.chunk_costs(start + a, start + b, centres), stop - start, rows)
        )

    def distances_to(self, centres: Floats) -> Floats:
        """The cost of each row with each centre."""
        return self.block_costs(0, self.points.n, centres)

    @classmethod
    def distances(cls, X: Any, centres: Any) -> Any:
        """The distance of each row to each centre, as `transform` tells it."""
        return cls(X).distances_to(np.asarray(centres, dtype=np.float64))


def out_of_range(what: str, how: str, X: Any) -> ValueError:
    """Tells that numbers are too large or too small to be compared in the type of X."""
    return ValueError(
        f"{what} of X are too {how} for {X.dtype}; multiply X by a constant (clusters do not depend on the "
        "unit), or pass float64."
    )


def refuse_zeros(empty: Index, why: str) -> None:
    """Raise if some rows of X are all zeros."""
    if len(empty):
        more = f" and {len(empty) - 1:,} more" if len(empty) > 1 else ""
        raise ValueError(f"row {empty[0]}{more} of X is all zeros: it {why}; drop such rows.")
