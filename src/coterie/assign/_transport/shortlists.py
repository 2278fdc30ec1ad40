"""Costs in many clusters without an n x k table: each item lists those that are cheap for it.

An item needs few clusters to choose from: the cheapest at prices near the final ones. What it does not list
costs no less than a floor, which sinks as prices rise. Where the floor no longer shows that the list is
enough, the costs of that item are looked at again, at the prices of the day. So the outcome is that of all
costs, while only lists are kept; where they lead nowhere they become longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel
from coterie.assign._transport.candidates import Cells
from coterie.distortion import Distortion

# Clusters in a list at first.
_LISTED = 16
# Cells of a table that is as good as lists.
FEW_CELLS = 4_000_000
# Rounding of costs, in units of their dtype's, that is no gain.
_ROUNDING = 8.0


@kernel
def _keep_least(block: Any, base: Any, cost: Any, column: Any, floor: Any) -> None:
    """Write the cheapest clusters of each row of a block, at prices `base`, and the most that they cost.

    Each row looks at the clusters from another one on, so that where many cost the same all are on some list.
    """
    n_listed, k = cost.shape[1], block.shape[1]
    value = np.empty(n_listed)
    for i in range(block.shape[0]):
        worst, h = 0, i % k
        for step in range(k):
            h = h + 1 if h + 1 < k else 0
            new = block[i, h] - base[h]
            if step < n_listed:
                column[i, step] = h
                value[step] = new
                worst = step if new > value[worst] else worst
            elif new < value[worst]:
                column[i, worst] = h
                value[worst] = new
                for place in range(n_listed):
                    worst = place if value[place] > value[worst] else worst
        floor[i] = value[worst]
        for place in range(n_listed):
            cost[i, place] = block[i, column[i, place]]


class _Sink:
    """Takes blocks of costs as a table would, and hands each on with the rows it is of."""

    def __init__(self, take: Callable[[slice, Any], None]) -> None:
        self.take = take

    def __setitem__(self, rows: slice, block: Any) -> None:
        self.take(rows, block)


class Shortlists:
    """What each item costs in the clusters that it lists, by a distortion (with sums) and centres."""

    def __init__(self, distortion: Distortion, centres: Floats, n_listed: int = _LISTED) -> None:
        self.distortion, self.centres = distortion, centres
        self.shape, self.dtype = (distortion.points.n, len(centres)), distortion.points.X.dtype
        self.n_listed = min(n_listed, len(centres))

    def build(self, prices: Floats) -> Cells:
        """List the clusters that are cheapest at these prices."""
        n, m = self.shape[0], self.n_listed
        self.cells = Cells(np.empty((n, m), dtype=self.dtype), np.empty((n, m), dtype=np.int32))
        self.floor, self.base = np.empty(n), prices.copy()  # the caller's go on
        self.over_blocks(self._list)
        return self.cells

    @property
    def complete(self) -> bool:
        """Whether every list holds all clusters."""
        return self.n_listed == self.shape[1]

    def _list(self, rows: Any, block: Any) -> None:
        cost, column, floor = self.cells.cost[rows], self.cells.column[rows], self.floor[rows]
        _keep_least(block, self.base, cost, column, floor)
        if not isinstance(rows, slice):  # these were copies
            self.cells.cost[rows], self.cells.column[rows], self.floor[rows] = cost, column, floor

    def part(self, rows: Index) -> Shortlists | Any:
        """The costs of some items: a table, if it is small."""
        measure, k = self.distortion.of_rows(rows), self.shape[1]
        if len(rows) * k > FEW_CELLS:
            return Shortlists(measure, self.centres, self.n_listed)
        table = np.empty((len(rows), k), dtype=self.dtype)
        measure.fill_costs(self.centres, table)
        return table

    def _slack(self, labels: Labels, prices: Floats) -> Floats:
        """By how much each item's floor at these prices lies above what it costs where it is."""
        self.floor -= (prices - self.base).max()
        self.base = prices.copy()
        cost, column = self.cells
        listed = np.argmax(column == labels[:, None], axis=1)
        return self.floor - (cost[np.arange(len(cost)), listed] - prices[labels])

    def longer(self, prices: Floats) -> None:
        """Make all lists anew at these prices, twice as long."""
        self.n_listed = min(2 * self.n_listed, self.shape[1])
        self.build(prices)

    def missing(self, labels: Labels, prices: Floats) -> tuple[Index, Labels]:
        """Items for which a cluster that they do not list is cheaper at these prices, and the cheapest.

        Their lists, and those of all whose floor did not show that they are long enough, are made anew.
        """
        doubtful = np.arange(0) if self.complete else np.flatnonzero(self._slack(labels, prices) < 0)
        if not len(doubtful):
            return doubtful, labels[:0]
        best = np.empty(len(doubtful), dtype=np.int32)
        cheaper = np.zeros(len(doubtful), dtype=bool)
        eps = _ROUNDING * float(np.finfo(self.dtype).eps)

        def take(part: slice, block: Any) -> None:
            rows = doubtful[part]
            self._list(rows, block)
            every, own, column = np.arange(len(rows)), labels[rows], self.cells.column[rows]
            value = self.cells.cost[rows] - prices[column]
            first = value.argmin(axis=1)
            best[part] = column[every, first]
            mine, least = block[every, own], block[every, best[part]]
            tolerance = eps * (np.abs(mine) + np.abs(least))
            cheaper[part] = value[every, first] < mine - prices[own] - tolerance
            # of clusters that cost the same a list may hold others than the item's own
            left = np.flatnonzero(~cheaper[part] & (column != own[:, None]).all(axis=1))
            at = rows[left], value[left].argmax(axis=1)
            self.cells.cost[at], self.cells.column[at] = mine[left], own[left]

        self.distortion.of_rows(doubtful).fill_costs(self.centres, _Sink(take))
        return doubtful[cheaper], best[cheaper]

    def over_blocks(self, take: Callable[[slice, Any], None]) -> None:
        """Show all costs, block by block, on several threads."""
        self.distortion.fill_costs(self.centres, _Sink(take))


def at_labels(costs: Any, rows: Index, labels: Labels) -> Floats:
    """What some items cost in the clusters of their labels, from a table or from lists."""
    if isinstance(costs, Shortlists):
        return costs.distortion.filled_at(labels, costs.centres)[rows]
    return costs[rows, labels[rows]].astype(np.float64)
