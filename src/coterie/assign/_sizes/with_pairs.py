"""Labels under bounds of sizes, with all that may come on top: loads, constraints about pairs.

Without these the transport is exact, and that is all. Constraints first label the units of the core, whose
costs carry the prices of the clusters; the transport then gives the other items what the bounds leave. Where
that does not fit, or loads differ, whole units are moved until it does (`_settle`); where the search fails,
an integer program decides, if it is small enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie._words import format_number as format_number
from coterie.assign._core.assignment import own_costs, to_units, unit_costs
from coterie.assign._core.core import Core
from coterie.assign._exact.sizes import best_units
from coterie.assign._pairs.search import pair_energy
from coterie.assign._sizes.bounds import MAX_CELLS, SizeBounds, in_units
from coterie.assign._sizes.whole_units import Loads, WholeUnitSearch
from coterie.assign._transport import BoundedLabels, InfeasibleFlowError, Transport, at_labels
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError

# So small an integer program is worth its while even where the search met all bounds.
_FEW_CELLS = 100
# Steps of the search in a pass.
_STEPS = 500
# Free items that change places with units under constraints.
_MOST_POLISHED = 500
# Times that constraints and prices take turns.
_ROUNDS = 3


class PairSolver(Protocol):
    """Labels the units of a core; `HardSolver` and `SoftSolver` do."""

    def first(self, cost: Floats) -> Labels:
        """Legal labels."""

    def improve(self, cost: Floats, labels: Labels, max_rounds: int = 100) -> tuple[Labels, int]:
        """Cheaper ones."""


class BoundedSolver:
    """Labels of all items for changing costs, under bounds and constraints that stay."""

    def __init__(
        self,
        bounds: SizeBounds,
        core: Core | None = None,
        pairs: PairSolver | None = None,
        *,
        exact: bool = False,
        budget: int = 1_000_000,
        n_pair_clusters: int | None = None,
        either_or: Any = None,
    ) -> None:
        """Units under constraints only go into the first `n_pair_clusters` clusters.

        `either_or` are triples (i, j, g) of items: i is with j or with g. They need the exact assignment,
        and that j and g are kept apart by the core.
        """
        self.bounds, self.unit = in_units(bounds, prove=budget > 0)
        self.core, self.pairs, self.exact, self.budget = core, pairs, exact, budget
        self.either_or = np.empty((0, 3), dtype=np.int64) if either_or is None else either_or
        n, k = bounds.n, len(bounds.low)
        self.k_core = k if n_pair_clusters is None else n_pair_clusters
        self.limits = self.bounds.limits
        load = self.bounds.load
        free = np.ones(n, dtype=bool)
        if core is not None:
            free[core.items] = False
        # items that only triples name are units of their own
        self.named: Index = np.unique(self.either_or[free[self.either_or]])
        free[self.named] = False
        self.weightless: Index = (
            np.flatnonzero(free & (load == 0)) if len(load) else np.empty(0, dtype=np.int64)
        )
        self.free: Index = np.flatnonzero(free & (load > 0)) if len(load) else np.flatnonzero(free)
        self.plain = core is None and not len(load) and not len(self.named)
        if self.plain:
            self.transport = Transport(self.limits)
            self.n_nodes = self.transport.n_nodes
            return
        self.n_nodes = Transport(self.limits).n_nodes
        self._measure()
        n_units = self.n_whole + len(self.free) + len(self.weightless)
        n_filled = int((self.bounds.low > 0).sum())
        if n_units < n_filled:
            raise InfeasibleConstraintsError(
                f"must-links join the items into {n_units} parts, but {n_filled} clusters have a size_min "
                "above 0."
            )

    def _measure(self) -> None:
        """Loads of the units: those of the core, then, where loads differ, every free item."""
        bounds, limits, core = self.bounds, self.limits, self.core
        load = bounds.load if len(bounds.load) else np.ones(bounds.n)
        table = load[:, None]
        low, high = bounds.low[None], bounds.high[None]
        if bounds.groups is not None:
            by_kind = np.zeros((bounds.n, limits.n_kinds))
            by_kind[np.arange(bounds.n), limits.kind] = load
            table = np.concatenate([table, by_kind], axis=1)
            low, high = np.concatenate([low, limits.kind_low]), np.concatenate([high, limits.kind_high])
        self._measures = table, low, high
        whole = table[:0]
        if core is not None:
            whole = unit_costs(table, core)  # sums over items, as of costs
        self.n_core = len(whole)
        whole = np.concatenate([whole, table[self.named]])
        self.n_whole = len(whole)
        # items of load 1 fill what units leave: their labels come from the transport
        self.fills = not len(bounds.load)
        filling = np.zeros(table.shape[1])
        if self.fills:
            filling = table[self.free].sum(axis=0)
        else:
            whole = np.concatenate([whole, table[self.free]])
        self.loads = Loads(whole, low, high, filling)
        self._check_units()

    def _check_units(self) -> None:
        """Raise where a unit of the core has no cluster that can hold it."""
        if self.core is None:
            return
        load, high = self.loads.load[: self.n_core, 0], self.bounds.high[: self.k_core]
        tolerance = 1e-12 * self.bounds.total
        unit = int(np.argmax(load)) if len(load) else -1
        if unit >= 0 and load[unit] > high.max() + tolerance:
            members = self.core.items[self.core.unit == unit]
            some = ", ".join(map(str, members[:5].tolist())) + (", ..." if len(members) > 5 else "")
            raise InfeasibleConstraintsError(
                f"{len(members)} items must be together (rows {some}) and weigh {format_number(load[unit])}, "
                "which "
                f"is {format_number(load[unit] - high.max())} more than the largest size_max, "
                f"{format_number(high.max())}."
            )

    # ---- one assignment -------------------------------------------------------------------------------

    def solve(
        self, costs: Any, before: Labels | None = None, potentials: Floats | None = None, *, last: bool = True
    ) -> BoundedLabels:
        """Labels for these costs; never dearer than those before."""
        if self.plain:
            return self._keep(costs, before, self.transport.solve(costs, potentials))
        if self.exact:
            return self._exactly(costs, before, potentials)
        return self._search(costs, before, potentials, last)

    def _search(
        self, costs: Any, before: Labels | None, potentials: Floats | None, last: bool
    ) -> BoundedLabels:
        """Constraints and prices in turns, then whatever it takes to meet the bounds."""
        best: BoundedLabels | None = None
        value = np.inf
        if potentials is None or self.n_whole > len(self.free):
            # few items are left to say what a place is worth: ask as if there were no constraints
            potentials = self._relaxed(costs, potentials)
        known = before
        for _ in range(_ROUNDS if last or before is None else 1):
            found = self._round(costs, known, potentials, polish=last or before is None)
            new = self.value(costs, found.labels)
            if best is not None and (found.missed, new) >= (best.missed, value - 1e-12 * abs(value)):
                break
            best, value = found, new
            known, potentials = found.labels, found.potentials
        assert best is not None
        if best.missed > 0:
            best = self._rescue(costs, before, best)
        elif last and self.budget and self.n_cells <= _FEW_CELLS:
            best = self._program(costs) or best
        return self._keep(costs, before, best)

    def _relaxed(self, costs: Any, potentials: Floats | None) -> Floats:
        """Potentials of all items under the bounds alone; loads may be missed a little."""
        load = self.bounds.load
        try:
            if not len(load):
                return Transport(self.limits).solve(costs, potentials).potentials
            loaded = np.flatnonzero(load > 0)
            rest = np.asarray(costs[loaded], dtype=np.float64) / load[loaded, None]
            return Transport(self.limits.of_rows(loaded)).solve(rest, potentials).potentials
        except InfeasibleFlowError:
            return np.zeros(self.n_nodes) if potentials is None else potentials

    def _keep(self, costs: Any, before: Labels | None, found: BoundedLabels) -> BoundedLabels:
        """The labels before, unless the new ones are better by more than rounding."""
        if before is None or found.missed > 0 or self.bounds.missed(before) > 0:
            return found
        rows = np.flatnonzero(found.labels != before)
        now, then = (at_labels(costs, rows, of) for of in (found.labels, before))
        # measured on those that move alone: one item far away must not drown the others
        gain = then.sum() - now.sum()
        noise = np.finfo(costs.dtype).eps * (np.abs(now).sum() + np.abs(then).sum())
        if self.core is not None:
            paid = [
                pair_energy(self.core, to_units(self.core, of), self.k_core) for of in (before, found.labels)
            ]
            gain += paid[0] - paid[1]
            noise += 1e-12 * (abs(paid[0]) + abs(paid[1]))
        return found if gain > noise else BoundedLabels(before, found.potentials, 0.0, found.proven)

    def value(self, costs: Any, labels: Labels) -> float:
        """What some labels cost, with the constraints that they break."""
        value = own_costs(costs, labels)
        if self.core is not None:
            value += pair_energy(self.core, to_units(self.core, labels), self.k_core)
        return value

    def duals(self, costs: Any, found: BoundedLabels) -> tuple[Floats, Floats | None]:
        """What one more unit of load would cost in each cluster, and of each group in it on top.

        Exact for one item where all weigh the same and those under constraints stay where they are;
        otherwise the prices of the last transport.
        """
        bounds, k = self.bounds, self.limits.k
        if self.plain:
            nodes = self.transport.duals(costs, found.labels, found.potentials)
        elif self.fills and len(self.free) and found.missed == 0:
            units = self._whole(found.labels)
            nodes = self._rest(units).duals(costs[self.free], found.labels[self.free], found.potentials)
        else:
            nodes = found.potentials
        nodes = nodes / self.unit
        cluster = nodes[-1 - k : -1]
        if bounds.groups is None:
            return cluster, None
        return cluster, (nodes[: len(bounds.groups.names) * k].reshape(-1, k) - cluster).T

    # ---- units, then the rest -------------------------------------------------------------------------

    def _whole(self, labels: Labels) -> Labels:
        """Labels of the units under constraints."""
        units = to_units(self.core, labels) if self.core is not None else labels[:0]
        return np.append(units, labels[self.named])

    def _put(self, units: Labels, labels: Labels) -> None:
        """The other way round; `labels` in place."""
        if self.core is not None:
            labels[self.core.items] = units[: self.n_core][self.core.unit]
        labels[self.named] = units[self.n_core : self.n_whole]

    def unit_costs(self, costs: Any) -> Floats:
        """Costs of all units in all clusters; infinite where a unit must not go."""
        whole = [np.asarray(costs[self.named], dtype=np.float64)]
        if self.core is not None:
            whole.insert(0, unit_costs(np.ascontiguousarray(costs), self.core))
        table = np.concatenate(whole)
        table[:, self.k_core :] = np.inf
        if self.fills:
            return table
        return np.concatenate([table, np.asarray(costs[self.free], dtype=np.float64)])

    def _reduced_cost(self, cost: Floats, potentials: Floats) -> Floats:
        """What clusters cost the units above their least, prices of their loads taken off."""
        k = self.limits.k
        dual = potentials[: self.limits.n_kinds * k].reshape(-1, k)
        load = self.loads.load[:, 1:] if self.bounds.groups is not None else self.loads.load
        table = cost - load @ dual
        return table - table.min(axis=1, keepdims=True)

    def _round(self, costs: Any, before: Labels | None, potentials: Floats, *, polish: bool) -> BoundedLabels:
        """Label units by price, settle what does not fit, and let the transport do the rest."""
        cost = self.unit_costs(costs)
        reduced_cost = self._reduced_cost(cost, potentials)
        units = reduced_cost.argmin(axis=1).astype(np.int32)
        if self.core is not None and self.pairs is not None:
            table = np.ascontiguousarray(reduced_cost[: self.n_core, : self.k_core])
            start = self.pairs.first(table) if before is None else to_units(self.core, before)
            units[: self.n_core] = self.pairs.improve(table, start)[0]
        if not self.fills and len(self.free):
            units[self.n_whole :], potentials = self._rough(costs, units, potentials)
        search = WholeUnitSearch(cost, self.loads, self.core)
        alone = not (self.fills and len(self.free))
        units, missed = search.run(units, max(_STEPS, 20 * self.limits.k), polish=polish and alone)
        labels, potentials = self._complete(costs, units, potentials, missed)
        found = BoundedLabels(labels, potentials, self.bounds.missed(labels))
        if polish and not alone and found.missed == 0:
            found.labels = self._polished(costs, cost, labels)
        return found

    def _polished(self, costs: Any, cost: Floats, labels: Labels) -> Labels:
        """Units and the free items nearest to another cluster change places as long as that pays."""
        rest = np.asarray(costs[self.free], dtype=np.float64)
        own = np.arange(len(rest)), labels[self.free]
        away = rest.copy()
        away[own] = np.inf
        near = np.argsort(away.min(axis=1) - rest[own], kind="stable")[:_MOST_POLISHED]
        items = self.free[near]
        held = self.bounds.held(labels)
        table, low, high = self._measures
        units = np.append(self._whole(labels), labels[items])
        load = np.concatenate([self.loads.load, table[items]])
        measured = (
            np.concatenate([held[0][None], held[1]]) if self.bounds.groups is not None else held[0][None]
        )
        # what those that stay hold narrows the bounds for those that move
        stay = measured - Loads(load, low, high, np.zeros(len(low))).held(units)
        loads = Loads(load, low - stay, high - stay, np.zeros(len(low)))
        found, _ = WholeUnitSearch(np.concatenate([cost, rest[near]]), loads, self.core).run(
            units, _STEPS, polish=True
        )
        out = labels.copy()
        self._put(found, out)
        out[items] = found[self.n_whole :]
        return out

    def _rest(self, units: Labels) -> Transport:
        """The transport of the free items, within the bounds that the other units leave."""
        whole = self.loads._replace(load=self.loads.load[: self.n_whole])
        held = whole.held(units[: self.n_whole])
        low, high = np.maximum(whole.low - held, 0.0), np.maximum(whole.high - held, 0.0)
        limits = replace(self.limits.of_rows(self.free), low=low[0], high=high[0])
        if self.bounds.groups is not None:
            limits = replace(limits, kind_low=low[1:], kind_high=high[1:])
        return Transport(limits)

    def _complete(
        self, costs: Any, units: Labels, potentials: Floats, missed: float
    ) -> tuple[Labels, Floats]:
        """Labels of all items from those of the units."""
        labels: Labels = np.empty(self.bounds.n, dtype=np.int32)
        self._put(units, labels)
        labels[self.weightless] = np.asarray(costs[self.weightless]).argmin(axis=1)
        if not self.fills:
            labels[self.free] = units[self.n_whole :]
        elif len(self.free):
            rest = costs[self.free]
            try:
                if missed > 0:
                    raise InfeasibleFlowError
                flow = self._rest(units).solve(rest, potentials)
                labels[self.free], potentials = flow.labels, flow.potentials
            except InfeasibleFlowError:  # `missed` says by how much
                labels[self.free] = np.asarray(rest).argmin(axis=1)
        return labels, potentials

    def _rough(self, costs: Any, units: Labels, potentials: Floats) -> tuple[Labels, Floats]:
        """Free items of different loads, nearly within the bounds that the core leaves."""
        rest = np.asarray(costs[self.free], dtype=np.float64)
        transport = self._rest(units)
        try:
            flow = transport.solve(rest / transport.limits.load[:, None], potentials)
        except InfeasibleFlowError:
            return rest.argmin(axis=1).astype(np.int32), potentials
        return flow.labels, flow.potentials

    @property
    def n_cells(self) -> int:
        """Units x clusters of the integer program."""
        return int((len(self.loads.load) + self.fills * len(self.free)) * self.limits.k)

    # ---- exact ----------------------------------------------------------------------------------------

    def _rescue(self, costs: Any, before: Labels | None, found: BoundedLabels) -> BoundedLabels:
        """Where the search missed a bound: the labels before if they fit, or an integer program."""
        if before is not None and self.bounds.missed(before) == 0:
            return BoundedLabels(before, found.potentials)
        if self.n_cells > MAX_CELLS or not self.budget:
            return found
        exact = self._program(costs)
        return found if exact is None else exact

    def _exactly(self, costs: Any, before: Labels | None, potentials: Floats | None) -> BoundedLabels:
        if self.n_cells > MAX_CELLS:
            raise ValueError(
                f"an exact assignment would have {self.n_cells:,} cells (units x clusters), more than "
                f'{MAX_CELLS:,}. Use the "local" assignment.'
            )
        found = self._program(costs)
        if found is not None:
            return self._keep(costs, before, found)
        if len(self.either_or):
            raise UndecidedError(
                f"no assignment was found within a budget of {self.budget:,}, nor proven that there is none."
            )
        return self._search(costs, before, potentials, last=True)

    def _program(self, costs: Any) -> BoundedLabels | None:
        """The best labels; None if the budget was too small to find any; raises if there are none."""
        units, proven = best_units(self, costs)
        if units is None:
            return None
        # whole units leave no prices behind: those of the bounds alone are near
        labels, potentials = self._complete(costs, units, self._relaxed(costs, None), 0.0)
        return BoundedLabels(labels, potentials, self.bounds.missed(labels), proven)
