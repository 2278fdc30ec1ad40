"""The loop under bounds of sizes: as `_loop`, with labels from a solver that sees all costs at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import NOBODY, Floats, Labels
from coterie.assign._sizes import SizeBounds, Sized, shortfalls, tell_shortfall
from coterie.constraints import Shortfall
from coterie.kmeans._engine.loop import Outcome, PrototypeLoop


@dataclass
class SizedOutcome(Outcome):
    """Where a start under bounds ended, and what the bounds cost."""

    prices: Any = None
    group_prices: Any = None
    sizes: Any = None
    missed: tuple[Shortfall, ...] = ()


class SizedLoop(PrototypeLoop):
    """Assign within bounds, update, repeat; items that are nobody's are in one cluster more, the last.

    While the nearest centres give sizes that fit, an iteration is one of plain k-means; the n x k costs are
    written down only when they do not.
    """

    def __init__(
        self,
        distortion: Any,
        k: int,
        share: float,
        bounds: SizeBounds,
        solver: Any,
        *,
        penalty: Callable[[Labels], float] | None = None,
        outlier_cost: float | None = None,
        on_shortfall: str = "raise",
    ) -> None:
        """`bounds` and `solver` (a `SizedSolver`, or choices of one) know the cluster of outliers, if any."""
        super().__init__(distortion, None, k, share)
        self.bounds, self.sized = bounds, solver
        self.pair_penalty, self.on_shortfall = penalty, on_shortfall
        self.outlier_cost = outlier_cost
        self.costs = np.empty((distortion.points.n, len(bounds.low)), dtype=distortion.points.X.dtype)
        if outlier_cost is not None:
            most = np.finfo(self.costs.dtype).max / 4.0
            left_out = distortion.weighted(np.full(distortion.points.n, share * outlier_cost))
            self.costs[:, k] = np.minimum(left_out - distortion.constants(), most)
        self.priced = _with_weight(distortion)
        self.by_sums = distortion.by_sums and outlier_cost is None
        self.simple = self.by_sums and solver.plain

    def run(self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]) -> Outcome:
        """One start, from given centres."""
        self.found: Sized | None = None
        self.tight = not self.simple
        return super().run(centres, max_iter=max_iter, tol=tol, step=step)

    def _assign(self, centres: Floats, last: bool = False) -> int:
        """Label everything within the bounds; returns the number of items that changed."""
        before = self.labels if self.found is not None else None
        n_nearest = 0
        if not self.tight:
            distortion = self.distortion
            change = distortion.points.nearest(
                *distortion.linear(centres), self.labels, NOBODY, distortion.factor, distortion.mass
            )
            self._add_to_totals(change.arrays)
            n_nearest = change.n_rows
            if self.bounds.missed(self.labels) == 0:
                self.found = Sized(self.labels, np.zeros(self.sized.n_nodes))
                self.filled = False
                return n_nearest
            before = None  # these labels do not fit
        self.priced.fill_costs(centres, self.costs[:, : self.k])
        self.filled = True
        potentials = None if self.found is None else self.found.potentials
        found = self.sized.solve(self.costs, before, potentials, last=last)
        if before is not None and not self.sized.plain and not last and (found.labels == before).all():
            # the quick pass found nothing: the thorough one decides whether this is the end
            found = self.sized.solve(self.costs, before, found.potentials, last=True)
        if found.missed > 0 and self.on_shortfall == "raise":
            tell_shortfall(shortfalls(self.bounds, found.labels), "raise")
        self.tight = not self.simple or bool(found.potentials.any())
        self.found = found
        moved = self._set_labels(found.labels)
        self.penalty = self._penalty()
        return moved + n_nearest

    def _set_labels(self, labels: Labels) -> int:
        """Take new labels over, and bring the sums of the clusters up to date by what moved."""
        moved = np.flatnonzero(labels != self.labels)
        distortion = self.distortion
        if distortion.by_sums:
            points = distortion.points
            self._shift_totals(moved, self.labels, labels, points, distortion.factor, distortion.mass)
        self.labels = labels.astype(np.int32, copy=True)
        return len(moved)

    def _penalty(self) -> float:
        """What broken soft statements and outliers add to the objective."""
        total = 0.0
        if self.pair_penalty is not None:
            total += self.pair_penalty(self.labels)
        if self.outlier_cost is not None:
            mass = self.distortion.weights(np.flatnonzero(self.labels == self.k)).sum()
            total += self.share * self.outlier_cost * float(mass)
        return total

    def _inertia(self, centres: Floats) -> float:
        return super()._inertia(centres) if self.by_sums else self._by_definition(centres)

    def _by_definition(self, centres: Floats) -> float:
        inside = self.labels < self.k
        own = self.distortion.to_own(np.where(inside, self.labels, 0), centres)
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

    def _outcome(self, centres: Floats, history: list[float], n_iter: int, converged: bool) -> SizedOutcome:
        assert self.found is not None
        prices, by_group = np.zeros(self.k), None
        size = self.bounds.held(self.labels)[0]
        touched = (size <= self.bounds.low).any() or (size >= self.bounds.high).any()
        if touched or self.found.potentials.any() or self.bounds.groups is not None:
            if not self.filled:
                self.priced.fill_costs(centres, self.costs[:, : self.k])
            self.found.labels = self.labels  # an empty cluster may have been refilled since
            found, of_groups = self.sized.prices(self.costs, self.found)
            prices = found[: self.k]
            if (size <= self.bounds.low).all():  # pinned: only differences mean something
                prices = prices - prices.mean()
            by_group = None if of_groups is None else of_groups[: self.k]
        size = size[: self.k]
        missed = shortfalls(self.bounds, self.labels)
        inertia = self._by_definition(centres)
        history[-1] = self.share * inertia + self._penalty()
        return SizedOutcome(
            self.labels,
            centres,
            inertia,
            history[-1],
            history,
            n_iter,
            converged,
            prices=prices,
            group_prices=by_group,
            sizes=size if len(self.bounds.load) else size.astype(np.int64),
            missed=missed,
            shortfall=sum(one.amount for one in missed),
        )


def _with_weight(distortion: Any) -> Any:
    """The same with hardly any weight for items of weight zero, so that they prefer what is near."""
    mass = distortion.mass
    if not len(mass) or mass.all():
        return distortion
    return distortion.reweighted(np.where(mass > 0, mass, 1e-9 * mass[mass > 0].min()))
