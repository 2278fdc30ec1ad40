"""Costs in many clusters without an n x k table: each item lists those that are cheap for it.

An item needs few clusters to choose from: the cheapest at prices near the final ones. What it does not list
costs no less than a floor, which sinks as prices rise. Where the floor no longer shows that the list is
enough, the costs of that item are looked at again, at the prices of the day. So the outcome is that of all
costs, while only lists are kept; or a table, if it is not too large, where lists led nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel
from coterie.assign._transport.candidates import ALL_CLUSTERS, Cells
from coterie.distortion import Distortion

# Clusters in a list at first.
_LISTED = 16
# Cells of a table that is as good as lists.
FEW_CELLS = 4_000_000
# Cells of a table that is made where lists would become longer.
_TABLE = 50_000_000
# Items, at least, that look beyond their lists where these lead nowhere.
_LED_OUT = 100
# By how many clusters lists grow in this way before they are made anew.
_GROWN = 2
# Rounding of costs, in units of their dtype's, that is no gain.
_ROUNDING = 8.0


@kernel
def _keep_least(block: Any, base: Any, cost: Any, column: Any, floor: Any) -> None:
    """Write the cheapest clusters of each row of a block, at prices `base`, and the most that they cost.

    Each row looks at the clusters from another one on, so that where many cost the same all are on some list.
    Where there is more room than clusters, the first one stands there again.
    """
    k = block.shape[1]
    n_listed = min(cost.shape[1], k)
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
        for place in range(cost.shape[1]):
            if place >= n_listed:
                column[i, place] = column[i, 0]
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
        """List the clusters that are cheapest at these prices; a table, if that is all of them."""
        n, m = self.shape[0], self.n_listed
        if self.complete:
            self.cells = Cells(np.empty(self.shape, dtype=self.dtype), ALL_CLUSTERS)
            self.distortion.fill_costs(self.centres, self.cells.cost)
            return self.cells
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

    def lead_out(self, labels: Labels, prices: Floats, reached: NDArray[np.bool_], n_wanted: int = 0) -> None:
        """Let items of the clusters that were reached list one that was not: those that lose least by it.

        At least `n_wanted` of them. Where that was done several times all lists become longer instead.
        """
        if self.cells.cost.shape[1] >= self.n_listed + _GROWN:
            self.longer(prices)
            return
        rows, outside = np.flatnonzero(reached[labels]), np.flatnonzero(~reached)
        slack = self._slack(labels, prices)
        cost, way = np.empty(len(rows)), np.empty(len(rows), dtype=np.int32)

        def take(part: slice, block: Any) -> None:
            beyond = block[:, outside]
            nearest = (beyond - prices[outside]).argmin(axis=1)
            way[part], cost[part] = outside[nearest], beyond[np.arange(len(block)), nearest]

        self.distortion.of_rows(rows).fill_costs(self.centres, _Sink(take))
        own = self.floor[rows] - slack[rows]
        n_led = min(max(_LED_OUT, len(rows) // 50, n_wanted), len(rows))
        led = np.argpartition(cost - prices[way] - own, n_led - 1)[:n_led]
        rows, way, cost = rows[led], way[led], cost[led]
        # lists grow by one: for the others by the dearest that they have, once more
        table, listed = self.cells
        worst = (table - prices[listed]).argmax(axis=1)
        last = np.arange(len(table)), worst
        more, clusters = table[last], listed[last]
        more[rows], clusters[rows] = cost, way
        self.cells = Cells(np.column_stack([table, more]), np.column_stack([listed, clusters]))

    def longer(self, prices: Floats) -> None:
        """Make all lists anew at these prices, twice as long, or of all clusters if memory allows."""
        n, k = self.shape
        self.n_listed = k if n * k <= _TABLE else min(2 * self.n_listed, k)
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
            now = block - prices
            every = np.arange(len(rows))
            best[part] = now.argmin(axis=1)
            mine, least = now[every, labels[rows]], now[every, best[part]]
            size = np.abs(block[every, labels[rows]]) + np.abs(block[every, best[part]])
            cheaper[part] = least < mine - eps * size
            # of clusters that cost the same a list may hold others than the item's own
            own = labels[rows]
            left = np.flatnonzero(~cheaper[part] & (self.cells.column[rows] != own[:, None]).all(axis=1))
            if len(left):
                lost, kept = rows[left], own[left]
                worst = (self.cells.cost[lost] - prices[self.cells.column[lost]]).argmax(axis=1)
                self.cells.cost[lost, worst], self.cells.column[lost, worst] = block[left, kept], kept

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
