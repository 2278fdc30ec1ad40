"""The cheapest labels whose sizes fit, from any table of costs: exact, by shortest paths between clusters.

A price for each cluster turns the problem into "everybody to the cheapest, less its price". Started at good
prices few items are left to be moved; so the best of three starts is taken: no prices, those of the last
call, and those of a sample of the items. The outcome does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coterie._arrays import Floats, Labels
from coterie.assign._transport.candidates import ALL_CLUSTERS, Cells, relabel
from coterie.assign._transport.flow_state import FEW_ROWS, FlowState
from coterie.assign._transport.limits import Limits, spread_missed
from coterie.assign._transport.shortlists import FEW_CELLS, Shortlists

# Rows for which a sample is worth its while, its size, and the share of them that must be out of place.
_MANY_ROWS = 4000
_SAMPLE = 8
_OUT_OF_PLACE = 0.02
# Steps of Newton towards better prices, halvings of each, and by what factor it must lessen the imbalance.
_NEWTON_STEPS, _HALVINGS, _LESS = 20, 4, 0.9
# Rounds of items that found a cluster beyond their list before all lists become longer.
_PATIENCE = 8


class InfeasibleFlowError(Exception):
    """What others leave of the bounds cannot be met; those of all items are checked as they are read."""


@dataclass(eq=False)
class BoundedLabels:
    """Labels within bounds.

    Attributes
    ----------
    labels : array of shape (n,)
        The cluster of each item.
    potentials : array of shape (n_nodes,)
        Of each kind in each cluster, each cluster if there are kinds, and the sink (0).
    missed : float
        By how much the loads miss their bounds: 0 if all loads are 1.
    proven : bool
        Whether nothing is better.
    """

    labels: Labels
    potentials: Floats
    missed: float = 0.0
    proven: bool = False


class Transport:
    """Solves one problem of bounds for changing costs."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.n, self.loads_differ = limits, limits.n, len(limits.load) > 0
        self.k, self.n_kinds = limits.k, limits.n_kinds
        self.total = float(limits.load.sum()) if self.loads_differ else float(self.n)
        self.tolerance = 1e-12 * self.total if self.loads_differ else 0.0
        self.reached = 0.0
        # one kind of items, of one load
        self.alike = self.n_kinds == 1 and not self.loads_differ
        self.n_nodes = self.n_kinds * self.k + (self.k if self.n_kinds > 1 else 0) + 1

    @cached_property
    def can_be_met(self) -> bool:
        """Whether items of load 1 can meet the bounds; of others that is not known beforehand."""
        low, high = self.limits.low, self.limits.high
        if (
            not (low <= high).all()
            or not low.sum() - self.tolerance <= self.total <= high.sum() + self.tolerance
        ):
            return False
        # few items find out by themselves
        if self.n_kinds == 1 or self.loads_differ or self.n < FEW_ROWS:
            return True
        return bool(spread_missed(self.limits).sum() < 0.5)

    # ---- where to start ---------------------------------------------------------------------------------

    def nodes_of(self, duals: Floats) -> Floats:
        """Potentials of all nodes from one price a cluster."""
        return np.append(np.tile(duals, (self.n_nodes - 1) // self.k), 0.0)

    def _legal(self, potentials: Floats) -> Floats:
        """The nearest potentials that a bound can explain: positive at a minimum, negative at a maximum."""
        found = potentials - potentials[-1]
        cluster = found[-1 - self.k : -1]
        low, high = self.limits.low, self.limits.high
        cluster[:] = np.where(low <= 0, np.minimum(cluster, 0.0), cluster)
        cluster[:] = np.where(high >= self.total, np.maximum(cluster, 0.0), cluster)
        if self.n_kinds > 1:
            own = found[: self.n_kinds * self.k].reshape(self.n_kinds, self.k)
            above = own - cluster
            above = np.where(self.limits.kind_low <= 0, np.minimum(above, 0.0), above)
            above = np.where(self.limits.kind_high >= self.total, np.maximum(above, 0.0), above)
            own[:] = cluster + above
        return found

    def _begin(self, cells: Cells, potentials: Floats) -> FlowState:
        state = FlowState(self, self._legal(potentials))
        state.over_rows(relabel, cells)
        state.balance()
        return state

    def _sample(self, costs: Any, size: int) -> tuple[Transport, Any]:
        """The same problem for some of the items, with bounds that are smaller by as much."""
        rows = np.sort(np.random.default_rng(0).choice(self.n, size, replace=False))
        part = costs.part(rows) if isinstance(costs, Shortlists) else costs[rows]
        return Transport(self.limits.sampled(rows)), part

    def _sampled(self, costs: Any) -> Floats | None:
        """Potentials of a sample of the items, each of them counted once."""
        sample, part = self._sample(costs, self.n // _SAMPLE)
        try:
            if self.alike:  # prices that come near are enough
                state = sample._start(part)
                if state.imbalance <= _OUT_OF_PLACE * sample.total:
                    return state.potentials
            return sample.solve(part).potentials
        except InfeasibleFlowError:  # the sample holds too few of a kind
            return None

    def _start(self, costs: Any, potentials: Floats | None = None) -> FlowState:
        """Cheapest labels at prices that come near to meeting the bounds."""
        if isinstance(costs, Shortlists):
            return self._start_from_lists(costs, potentials)
        cells = Cells(costs, ALL_CLUSTERS)
        state = self._begin(cells, np.zeros(self.n_nodes))
        if state.imbalance > 0:
            if not self.can_be_met:
                raise InfeasibleFlowError
            if potentials is not None:
                state = min(state, self._begin(cells, potentials), key=lambda one: one.imbalance)
            if self._out_of_place(state) and (sampled := self._sampled(costs)) is not None:
                state = min(state, self._begin(cells, sampled), key=lambda one: one.imbalance)
            if self.alike:
                state = self._nearer(cells, state)
        return state

    def _start_from_lists(self, lists: Shortlists, before: Floats | None) -> FlowState:
        """The same where each item lists a few clusters: the lists are those at the prices to start from."""
        start = np.zeros(self.n_nodes)
        if before is None:
            found = self._sampled(lists)
            start = start if found is None else self._legal(found)
        else:  # are they better than none? ask a few items
            sample, part = self._sample(lists, min(self.n, FEW_CELLS // self.k))
            cells = Cells(part, ALL_CLUSTERS)
            if sample._begin(cells, before).imbalance < sample._begin(cells, start).imbalance:
                start = self._legal(before)
        cells = lists.build(start[: self.k])
        state = self._nearer(cells, self._begin(cells, start))
        if before is not None and self._out_of_place(state):
            return self._start_from_lists(lists, None)
        return state

    def _out_of_place(self, state: FlowState) -> bool:
        """Whether so much is out of place that prices of a sample are worth their while."""
        few = self.loads_differ or self.n < _MANY_ROWS
        return not few and state.imbalance > _OUT_OF_PLACE * self.total

    def _nearer(self, cells: Cells, state: FlowState) -> FlowState:
        """Newton's steps on the prices: how sizes answer to them is seen from the items near the borders."""
        n_steps = 0
        while self.n >= FEW_ROWS and state.imbalance > self.k and n_steps < _NEWTON_STEPS:
            step = state.newton_step(cells)
            n_steps += 1
            for _ in range(_HALVINGS):
                found = state.potentials.copy()
                found[: self.k] += step
                # a price that changes its sign has left its bound
                found[: self.k][found[: self.k] * state.potentials[: self.k] < 0] = 0.0
                new = self._begin(cells, found)
                if new.imbalance < _LESS * state.imbalance:
                    break
                step = step / 2
            else:
                return state
            state = new
        return state

    # ---- the solution -----------------------------------------------------------------------------------

    def solve(self, costs: Any, potentials: Floats | None = None) -> BoundedLabels:
        """The cheapest labels; `costs` has one row an item, for each unit of its load."""
        if isinstance(costs, Shortlists):
            state = self._by_shortlists(costs, potentials)
        else:
            state = self._start(costs, potentials)
            if state.imbalance > 0 and not state.run(Cells(costs, ALL_CLUSTERS)):
                raise InfeasibleFlowError
        left = float(np.abs(state.excess).sum()) / 2.0
        return BoundedLabels(state.labels, state.potentials, left, proven=not self.loads_differ)

    def _by_shortlists(self, lists: Shortlists, potentials: Floats | None) -> FlowState:
        """The same where each item lists a few clusters, until no other one is cheaper for anybody."""
        state = self._start(lists, potentials)
        n_rounds = 0
        while True:
            before = state.potentials.copy()
            if not state.run(lists.cells):
                if lists.complete:
                    raise InfeasibleFlowError
                # on the way to nowhere prices went farther than any item lies: back to those before
                lists.longer(before[: self.k])
                state = self._nearer(lists.cells, self._begin(lists.cells, before))
                continue
            prices = state.potentials[: self.k]
            rows, better = lists.missing(state.labels, prices)
            if not len(rows):
                return state
            state.labels[rows] = better
            n_rounds += 1
            if n_rounds % _PATIENCE == 0:
                lists.longer(prices)
                state = self._begin(lists.cells, state.potentials)
            else:
                state.balance()

    def duals(self, costs: Any, labels: Labels, potentials: Floats) -> Floats:
        """What one more unit in each node would cost: exact distances from the sink, not any dual."""
        state = FlowState(self, potentials.copy())
        state.labels[:] = labels
        return state.distances(costs)
