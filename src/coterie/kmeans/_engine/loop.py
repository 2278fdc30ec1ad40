"""The one loop of all prototype methods: assign, update, repeat.

Each pass gives the free items their nearest centre (blocked products, `coterie.assign`), lets a solver
label the units of the constrained core, and moves every centre to where it serves its cluster best. The
objective is known after each half-step from the sums by cluster, at no further pass over the data. Rules of
stopping are those of scikit-learn's KMeans: labels unchanged, or centres nearly so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import NOBODY, NOTHING, Floats, Index, Labels
from coterie._compiled import kernel
from coterie.assign._core import CoreSolver
from coterie.base import numbers_by_label
from coterie.constraints import Constraints
from coterie.distortion import Distortion
from coterie.distortion._rows import SparsePoints

# Candidates that are looked at to refill an empty cluster.
_MOST_TRIED = 100


@dataclass
class LoopOutcome:
    """Where a start ended."""

    labels: Labels
    centres: Any
    inertia: float
    objective: float
    history: list[float]
    n_iter: int
    converged: bool
    n_failed: int = 0
    # by how much bounds on sizes are missed
    shortfall: float = 0.0
    # what has a row for each cluster
    by_cluster: tuple[str, ...] = ("centres",)

    def follow_labels(self, known: Constraints, k: int) -> None:
        """Number the clusters in the order of the labels that are known."""
        number = numbers_by_label(known, np.where(self.labels < k, self.labels, -1), k)
        self.labels = np.append(number, [k, -1]).astype(np.int32)[self.labels]  # k: in no cluster
        for name in self.by_cluster:
            if (old := getattr(self, name)) is not None:
                setattr(self, name, old[np.argsort(number)])


@kernel
def _above_least(cost: Any, mass: Any, intercepts: Any, objective_factor: float) -> None:
    """Turn linear parts of costs, in place, into what each cell costs above the least of its row."""
    k = cost.shape[1]
    for u in range(cost.shape[0]):
        least = np.inf
        for h in range(k):
            cost[u, h] += mass[u] * intercepts[h]
            least = min(least, cost[u, h])
        for h in range(k):
            cost[u, h] = objective_factor * (cost[u, h] - least)


@kernel
def _shift(
    unit_sums: Any, unit_mass: Any, moved: Any, old: Any, new: Any, sums: Any, masses: Any, counts: Any
) -> None:
    """Take the moved units out of the sums of their old clusters (-1: none) and into those of the new."""
    d = unit_sums.shape[1]
    for t in range(moved.shape[0]):
        u = moved[t]
        m = unit_mass[u]
        g, h = old[u], new[u]
        masses[h] += m
        counts[h] += m > 0
        for j in range(d):
            sums[h, j] += unit_sums[u, j]
        if g >= 0:
            masses[g] -= m
            counts[g] -= m > 0
            for j in range(d):
                sums[g, j] -= unit_sums[u, j]


class PrototypeLoop:
    """A distortion, a solver for the core, and the sums that every pass needs; shared by all starts."""

    # whether something was learned after the last labels, so that they may not be the best any more
    metric_changed = False

    def __init__(
        self, distortion: Distortion, solver: CoreSolver | None, k: int, objective_factor: float
    ) -> None:
        """`objective_factor` is what the distortion counts in the objective."""
        self.distortion, self.solver, self.k, self.objective_factor = distortion, solver, k, objective_factor
        self.skip = NOBODY
        if solver is not None:
            core, points = solver.core, distortion.points
            self.core = core
            self.skip = np.zeros(points.n, dtype=np.uint8)
            self.skip[core.items] = 1
            self.unit_sums = points.add_up(core.items, core.unit, core.n_units, distortion.row_scale)
            self.unit_mass = np.bincount(core.unit, distortion.weights(core.items), core.n_units)
            self.cost = np.empty((core.n_units, k))

    def run(
        self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]
    ) -> LoopOutcome:
        """One start, from given centres."""
        k, d = self.k, self.distortion.points.d
        self.labels: Labels = np.full(self.distortion.points.n, -1, dtype=np.int32)
        self.totals: tuple[Any, Any, Any] = np.zeros((k, d)), np.zeros(k), np.zeros(k, dtype=np.int64)
        self.unit_labels: Labels = np.full(
            0 if self.solver is None else self.core.n_units, -1, dtype=np.int32
        )
        self.penalty = 0.0
        limit = tol * self.distortion.tol_scale
        history: list[float] = []
        best: tuple[float, Floats, Labels, Labels, Any] | None = None
        strict = converged = False
        n_iter = 0
        self._reprice(centres)
        while n_iter < max_iter:
            n_iter += 1
            changed = self._assign(centres)
            history.append(self._objective(centres))
            before, centres = centres, self._update(centres)
            self._reprice(centres)
            history.append(self._objective(centres))
            learned = self._learn(centres, history)
            if self.solver is not None and self.solver.may_rise and (best is None or history[-1] < best[0]):
                totals = tuple(total.copy() for total in self.totals)
                best = history[-1], centres, self.labels.copy(), self.unit_labels.copy(), totals
            strict = not changed
            near = float(((centres - before) ** 2).sum()) <= limit
            converged = learned and (strict or near)
            if step(history[-1]) or converged:
                break
        if best is not None:
            _, centres, self.labels, self.unit_labels, self.totals = best
            self._reprice(centres)
            self._assign(centres, last=True)  # its labels were the best for the centres before
        elif not strict or self.metric_changed:
            self._assign(centres, last=True)
            history.append(self._objective(centres))
        return self._outcome(centres, history, n_iter, converged)

    def _reprice(self, centres: Floats) -> None:
        """Let prices follow the centres."""
        if self.solver is not None:
            self.solver.reprice(centres)
            if len(self.unit_labels) and self.unit_labels[0] >= 0:
                self.penalty = self.solver.penalty(self.unit_labels)

    def _learn(self, centres: Floats, history: list[float]) -> bool:
        """Let the distortion learn, where it can, and note the objective; returns whether it stands still."""
        return True

    def _assign(self, centres: Floats, last: bool = False) -> int:
        """Label everything; returns the number of items and units that changed."""
        slopes, intercepts = self.distortion.linear(centres)
        changed = self._assign_free(slopes, intercepts)
        if self.solver is not None:
            if sparse.issparse(self.unit_sums):
                cost = np.asarray(self.unit_sums @ slopes.T)
            else:
                cost = np.matmul(self.unit_sums, np.ascontiguousarray(slopes.T), out=self.cost)
            _above_least(cost, self.unit_mass, intercepts, self.objective_factor)
            found = self.solver.assign(
                cost,
                self.unit_labels.copy() if self.unit_labels[0] >= 0 else None,
                lambda items: self.distortion.points.scores(items, slopes, intercepts),
                last,
            )
            changed += self._set_units(found)
            self.penalty = self.solver.penalty(found)
        return changed

    def _assign_free(self, slopes: Floats, intercepts: Floats) -> int:
        """Label the free items; returns the number of those that changed."""
        distortion = self.distortion
        if self.solver is not None and len(self.core.items) == distortion.points.n:
            return 0
        change = distortion.points.nearest(
            slopes, intercepts, self.labels, self.skip, distortion.row_scale, distortion.sample_weight
        )
        self._add_to_totals(change.arrays)
        return change.n_rows

    def _set_units(self, found: Labels) -> int:
        """Give the units of the core their labels; returns the number of those that changed."""
        moved = np.flatnonzero(found != self.unit_labels)
        if sparse.issparse(self.unit_sums):
            units = SparsePoints(self.unit_sums)
            self._shift_totals(moved, self.unit_labels, found, units, NOTHING, self.unit_mass)
        else:
            _shift(self.unit_sums, self.unit_mass, moved, self.unit_labels, found, *self.totals)
            self._add_to_totals(None)
        self.unit_labels = found
        if self.core.n_units == len(self.core.items):  # a unit is an item
            self.labels[self.core.items[moved]] = found[moved]
        else:
            self.labels[self.core.items] = found[self.core.unit]
        return len(moved)

    def _shift_totals(
        self, moved: Index, before: Labels, after: Labels, points: Any, factor: Floats, mass: Any
    ) -> None:
        """Bring the totals up to date by what moved; labels that are no cluster do not count."""
        change: list[Any] = [0.0, 0.0, 0]
        for sign, labels in ((-1, before), (1, after)):
            rows = moved[(labels[moved] >= 0) & (labels[moved] < self.k)]
            group = labels[rows].astype(np.int64)
            sums = points.add_up(rows, group, self.k, factor)
            weight = mass[rows] if len(mass) else np.ones(len(rows))
            change[0] += sign * (sums.toarray() if sparse.issparse(sums) else sums)
            change[1] += sign * np.bincount(group, weight, self.k)
            change[2] += sign * np.bincount(group[weight > 0], minlength=self.k)
        self._add_to_totals(tuple(change))

    def _add_to_totals(self, change: tuple[Any, Any, Any] | None) -> None:
        """Bring sums, masses and counts up to date; rounding may leave crumbs where nothing is left."""
        if change is not None:
            for total, more in zip(self.totals, change, strict=True):
                total += more
        for total in self.totals[:2]:
            total[self.totals[2] == 0] = 0.0

    def _objective(self, centres: Floats) -> float:
        return self.objective_factor * self._inertia(centres) + self.penalty

    def _inertia(self, centres: Floats) -> float:
        return self.distortion.inertia(self.labels, self.totals, centres)

    def _update(self, centres: Floats) -> Floats:
        """The best centres; an empty cluster first takes in the unit that gains most by it."""
        empty = np.flatnonzero(self.totals[2] == 0)
        if len(empty):
            self._refill(empty, centres)
        return self._best_centres(centres)

    def _best_centres(self, centres: Floats) -> Floats:
        sums, masses = self.totals[:2]
        more = None if self.solver is None else self.solver.centre_contributions(self.unit_labels, centres)
        if more is not None:
            sums, masses = sums + more[0], masses + more[1]
        return self.distortion.best_centres(self.labels, (sums, masses), centres)

    def _tolerance(self) -> float:
        """Gains below this are rounding."""
        return 1e-12 * self.objective_factor * self.distortion.total_cost / self.distortion.points.n

    def _may_leave(self, source: int) -> bool:
        """Whether a cluster can give a unit away."""
        return bool(self.totals[2][source] >= 2)

    def _refill(self, empty: Index, centres: Floats) -> None:
        """Move into each empty cluster the item or unit that gains most by a cluster of its own."""
        own = self.objective_factor * self.distortion.cost_to_assigned(self.labels, centres)
        tolerance = self._tolerance()
        gain = own.copy()
        gain[self.distortion.without_centre()] = -np.inf
        unit_gain: Any = np.empty(0)
        if self.solver is not None:
            gain[self.core.items] = -np.inf
            unit_gain = np.bincount(self.core.unit, own[self.core.items], self.core.n_units)
            unit_gain += self.solver.coupling_cost(self.unit_labels)
            unit_gain[self.unit_mass == 0] = -np.inf
        # a cluster may hold items without weight: others must not be pushed in with them
        for h in np.setdiff1d(empty, self.unit_labels).tolist():
            for _ in range(_MOST_TRIED):
                row = int(np.argmax(gain))
                unit = int(np.argmax(unit_gain)) if len(unit_gain) else -1
                from_core = unit >= 0 and unit_gain[unit] > gain[row]
                best = unit_gain[unit] if from_core else gain[row]
                if not best > tolerance:
                    return
                source = int(self.unit_labels[unit] if from_core else self.labels[row])
                if from_core:
                    members = self.core.items[self.core.unit == unit]
                    pays = best - self.objective_factor * self.distortion.single_cluster_cost(members) > 0
                    unit_gain[unit] = -np.inf
                else:
                    pays = True
                    gain[row] = -np.inf
                if not self._may_leave(source) or not pays:
                    continue
                if from_core:
                    assert self.solver is not None
                    found = self.unit_labels.copy()
                    found[unit] = h
                    self._set_units(found)
                    self.penalty = self.solver.penalty(found)
                else:
                    self._move_row(row, source, h)
                break

    def _move_row(self, row: int, source: int, h: int) -> None:
        item = np.array([row])
        mass = self.distortion.weights(item)[0]
        moved = mass * self.distortion.rows(item)[0]
        self.labels[row] = h
        for total, amount in zip(self.totals, (moved, mass, 1), strict=True):
            total[source] -= amount
            total[h] += amount

    def _outcome(self, centres: Floats, history: list[float], n_iter: int, converged: bool) -> LoopOutcome:
        inertia = self._inertia(centres)
        penalty = 0.0 if self.solver is None else self.solver.final_penalty(self.labels)
        objective = self.objective_factor * inertia + penalty
        if self.solver is not None and self.solver.may_rise:
            history.append(objective)
        history[-1] = objective
        return LoopOutcome(self.labels, centres, inertia, objective, history, n_iter, converged)
