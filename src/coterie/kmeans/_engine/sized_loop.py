"""The loop under bounds of sizes: as `_loop`, with labels from a solver that sees all costs at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coterie._arrays import Floats, Index, Labels
from coterie._words import format_number
from coterie.assign._sizes import SizeBounds, shortfalls, tell_shortfall
from coterie.assign._transport import BoundedLabels, Shortlists
from coterie.base import new_numbers
from coterie.constraints import Constraints, Shortfall
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop

# Clusters, and cells of the table of costs, from which on lists take its place.
_MANY_CLUSTERS, _MANY_CELLS = 64, 10_000_000


@dataclass
class BoundedOutcome(LoopOutcome):
    """Where a start under bounds ended, what the bounds cost, and which were missed."""

    bounds: Any = None
    duals: Any = None
    group_duals: Any = None
    missed: tuple[Shortfall, ...] = ()
    pinned: tuple[Index, Index] | None = None

    def follow_labels(self, known: Constraints, k: int) -> None:
        """As the parent; but pinned items say which cluster is which from the start, and must be there."""
        if self.pinned is None:
            super().follow_labels(known, k)
            return
        items, classes = self.pinned
        astray = np.flatnonzero(self.labels[items] != classes)
        if len(astray):
            at = astray[0]
            raise UndecidedError(
                f"no assignment was found in which {self.bounds.called(int(classes[at]))} keeps to its "
                f"bounds and holds what has its label, such as item {known.item_name(int(items[at]))}. "
                "Widen the bounds, or drop labels."
            )


def pinned_items(items: Index, classes: Index, bounds: SizeBounds, k: int) -> tuple[Index, Index] | None:
    """Labelled items and their clusters, where bounds differ so that it matters which cluster is which."""
    if not len(items) or not bounds.by_cluster(k):
        return None
    held = np.bincount(classes, bounds.load[items] if len(bounds.load) else None, len(bounds.high))
    over = np.flatnonzero(held > bounds.high * (1 + 1e-12))
    if len(over):
        h = int(over[0])
        raise InfeasibleConstraintsError(
            f"{bounds.called(h)}: the items with its label count {format_number(held[h])}, more than its "
            f"size_max of {format_number(bounds.high[h])}."
        )
    return items, classes


class LooseLoop(PrototypeLoop):
    """As the parent: no bound can bind. Its outcome knows the bounds all the same."""

    def __init__(
        self, distortion: Any, solver: Any, k: int, objective_factor: float, bounds: SizeBounds
    ) -> None:
        super().__init__(distortion, solver, k, objective_factor)
        self.bounds = bounds

    def _outcome(self, centres: Floats, history: list[float], n_iter: int, converged: bool) -> BoundedOutcome:
        found = super()._outcome(centres, history, n_iter, converged)
        return BoundedOutcome(**vars(found), bounds=self.bounds, duals=np.zeros(self.k))


class BoundedLoop(PrototypeLoop):
    """Assign within bounds, update, repeat; items that are nobody's are in one cluster more, the last.

    While the nearest centres give sizes that fit, an iteration is one of plain k-means; the n x k costs are
    written down only when they do not.
    """

    def __init__(
        self,
        distortion: Any,
        k: int,
        objective_factor: float,
        bounds: SizeBounds,
        solver: Any,
        *,
        penalty: Callable[[Labels], float] | None = None,
        outlier_cost: float | None = None,
        on_shortfall: str = "raise",
        pinned: tuple[Index, Index] | None = None,
    ) -> None:
        """`bounds` and `solver` know of the cluster of outliers; `pinned`: items, and where they stay."""
        super().__init__(distortion, None, k, objective_factor)
        self.bounds, self.sized = bounds, solver
        self.pair_penalty, self.on_shortfall = penalty, on_shortfall
        self.outlier_cost, self.pinned = outlier_cost, pinned
        n, k_all, dtype = distortion.points.n, len(bounds.low), distortion.points.X.dtype
        self.by_sums = distortion.by_sums and outlier_cost is None
        self.simple = self.by_sums and solver.plain
        # one price for all items of a cluster: then lists of cheap clusters do instead of a table
        alike = self.simple and pinned is None and bounds.groups is None
        self.by_lists = alike and k >= _MANY_CLUSTERS and n * k >= _MANY_CELLS
        self.costs: Any = np.empty((0 if self.by_lists else n, k_all), dtype=dtype)
        if outlier_cost is not None:
            most = np.finfo(self.costs.dtype).max / 4.0
            left_out = distortion.weighted(np.full(distortion.points.n, objective_factor * outlier_cost))
            self.costs[:, k] = np.minimum(left_out - distortion.constants(), most)
        # items of weight zero have hardly any weight instead, so that they prefer what is near
        self.weighted, mass = distortion, distortion.sample_weight
        if len(mass) and not mass.all():
            self.weighted = distortion.reweighted(np.where(mass > 0, mass, 1e-9 * mass[mass > 0].min()))

    def run(
        self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]
    ) -> LoopOutcome:
        """One start, from given centres."""
        self.found: BoundedLabels | None = None
        self.tight = not self.simple
        return super().run(centres, max_iter=max_iter, tol=tol, step=step)

    def placed(self, centres: Floats) -> Floats:
        """The centres of a start, each for the cluster to whose pinned items it is near."""
        if self.pinned is None:
            return centres
        items, clusters = self.pinned
        classes = np.unique(clusters)
        means = np.array([self.distortion.centre_of(items[clusters == h]) for h in classes])
        near = linear_sum_assignment(self.distortion.distances(means, centres))[1]
        return centres[np.argsort(new_numbers(near, ..., classes, self.k))]

    def _assign(self, centres: Floats, last: bool = False) -> int:
        """Label everything within the bounds; returns the number of items that changed."""
        before = self.labels if self.found is not None else None
        n_nearest = 0
        if not self.tight:
            n_nearest = self._assign_free(*self.distortion.linear(centres))
            if self.bounds.missed(self.labels) == 0:
                self.found = BoundedLabels(self.labels, np.zeros(self.sized.n_nodes))
                self.filled = False
                return n_nearest
            before = None  # these labels do not fit
        self._fill_costs(centres)
        potentials = None if self.found is None else self.found.potentials
        found = self.sized.solve(self.costs, before, potentials, last=last)
        same = before is not None and (found.labels == before).all()
        astray = self.pinned is not None and (found.labels[self.pinned[0]] != self.pinned[1]).any()
        if not self.sized.plain and not last and (same or astray):
            # the quick pass found nothing: the thorough one decides whether this is the end
            found = self.sized.solve(self.costs, before, found.potentials, last=True)
        if found.missed > 0 and self.on_shortfall == "raise":
            tell_shortfall(shortfalls(self.bounds, found.labels), "raise")
        self.tight = not self.simple or bool(found.potentials.any())
        self.found = found
        moved, distortion = np.flatnonzero(found.labels != self.labels), self.distortion
        if distortion.by_sums:
            of_items = distortion.points, distortion.row_scale, distortion.sample_weight
            self._shift_totals(moved, self.labels, found.labels, *of_items)
        self.labels = found.labels.astype(np.int32, copy=True)
        self.penalty = self._penalty()
        return len(moved) + n_nearest

    def _fill_costs(self, centres: Floats) -> None:
        self.filled = True
        if self.by_lists:
            self.costs = Shortlists(self.weighted, centres)
            return
        costs = self.costs[:, : self.k]
        self.weighted.fill_costs(centres, costs)
        if self.pinned is not None:
            items, clusters = self.pinned
            own, low, high = costs[items, clusters], float(costs.min()), float(costs.max())
            # dearer than any change of all the others
            dear = high + len(costs) * (high - low + 1e-9 * abs(high))
            self.costs[items] = min(dear, np.finfo(costs.dtype).max / 4.0)
            costs[items, clusters] = own

    def _penalty(self) -> float:
        """What broken soft constraints and outliers add to the objective."""
        total = 0.0
        if self.pair_penalty is not None:
            total += self.pair_penalty(self.labels)
        if self.outlier_cost is not None:
            mass = self.distortion.weights(np.flatnonzero(self.labels == self.k)).sum()
            total += self.objective_factor * self.outlier_cost * float(mass)
        return total

    def _inertia(self, centres: Floats) -> float:
        return super()._inertia(centres) if self.by_sums else self._by_definition(centres)

    def _by_definition(self, centres: Floats) -> float:
        inside = self.labels < self.k
        own = self.distortion.cost_to_assigned(np.where(inside, self.labels, 0), centres)
        return max(float(own[inside].sum()), 0.0)

    def _update(self, centres: Floats) -> Floats:
        # an empty cluster is refilled where that cannot break a bound; otherwise its centre stays
        if self.simple and self.bounds.groups is None:
            return super()._update(centres)
        return self._best_centres(centres)

    def _may_leave(self, source: int) -> bool:
        size = np.count_nonzero(self.labels == source)
        return (
            super()._may_leave(source)
            and size > self.bounds.low[source]
            and bool((self.bounds.high >= 1).all())
        )

    def _outcome(self, centres: Floats, history: list[float], n_iter: int, converged: bool) -> BoundedOutcome:
        assert self.found is not None
        duals, by_group = np.zeros(self.k), None
        size = self.bounds.held(self.labels)[0]
        touched = (size <= self.bounds.low).any() or (size >= self.bounds.high).any()
        if touched or self.found.potentials.any() or self.bounds.groups is not None:
            if not self.filled:
                self._fill_costs(centres)
            self.found.labels = self.labels  # an empty cluster may have been refilled since
            found, of_groups = self.sized.duals(self.costs, self.found)
            duals = found[: self.k]
            if (size <= self.bounds.low).all():  # pinned: only differences mean something
                duals = duals - duals.mean()
            by_group = None if of_groups is None else of_groups[: self.k]
        missed = shortfalls(self.bounds, self.labels)
        inertia = self._by_definition(centres)
        history[-1] = self.objective_factor * inertia + self._penalty()
        return BoundedOutcome(
            self.labels,
            centres,
            inertia,
            history[-1],
            history,
            n_iter,
            converged,
            shortfall=sum(one.amount for one in missed),
            by_cluster=("centres", "duals", "group_duals"),
            bounds=self.bounds,
            duals=duals,
            group_duals=by_group,
            missed=missed,
            pinned=self.pinned,
        )
