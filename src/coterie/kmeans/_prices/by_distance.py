"""The core of methods whose price of a broken pair is a distance: prices that follow the metric.

A broken must-link costs how far its ends are apart, a broken cannot-link how much nearer they are than any
two could be (Bilenko, Basu and Mooney 2004). With one metric these are prices of edges, and labels are found
as in PCKMeans. With a metric for each cluster a pair costs

    must-link    w/2 (D_g + D_h) in clusters g and h, 0 together = w/2 D_g + w/2 D_h - w D_h [together in h]
    cannot-link  w (C_h - D_h) together in h, 0 apart

so half of each must-link goes into the cost of its ends, and an edge has a price for each cluster.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel
from coterie.assign._core import build_core
from coterie.assign._pairs import Energy, SoftSolver
from coterie.constraints import Constraints
from coterie.constraints._model import StatedPairs
from coterie.distortion import BrokenPairs
from coterie.kmeans._engine.starts import RandomState


class PricedPairs(SoftSolver):
    """Soft pairs at the price of a distance; hard constraints hold."""

    def __init__(
        self, known: Constraints, pairs: StatedPairs, weight: float, k: int, rng: RandomState, distortion: Any
    ) -> None:
        structure = pairs.structure(known)
        super().__init__(structure, build_core(structure, "hard"), k, rng=rng, weight=weight)
        core = self.core
        self.distortion = distortion
        self.i, self.j = (np.searchsorted(core.items, pairs.ij[:, end]) for end in (0, 1))
        self.ends = core.unit[self.i], core.unit[self.j]
        self.cannot = pairs.cannot
        self.strength = weight * pairs.strength
        self.base = np.where(np.isinf(core.weight), np.inf, 0.0)
        key = np.repeat(np.arange(core.n_units), np.diff(core.indptr)) * core.n_units + core.indices
        u, v = self.ends
        self.between = np.flatnonzero(u != v)
        u, v = u[self.between], v[self.between]
        # each pair between two units is on two edges, there and back
        self.of_edge = np.tile(self.between, 2)
        self.edge = np.concatenate([np.searchsorted(key, a * core.n_units + b) for a, b in ((u, v), (v, u))])
        # a cannot-link inside a unit is paid wherever the unit goes, by the price there
        self.within = np.flatnonzero(self.cannot & (self.ends[0] == self.ends[1]))
        self._priced_for: Any = None

    @cached_property
    def rows(self) -> Any:
        """The rows of the items of the core, as the distortion measures pairs of them."""
        return self.distortion.pair_rows(self.core.items)

    # ---- prices ---------------------------------------------------------------------------------------

    def reprice(self, centres: Floats) -> None:
        if self._priced_for is self.distortion.metric:
            return
        self._priced_for = self.distortion.metric
        distance = self.distortion.pair_distances(self.rows, self.i, self.j)
        most = self.distortion.ceiling()
        by_cluster = distance.ndim == 2
        strength, cannot = (v[:, None] if by_cluster else v for v in (self.strength, self.cannot))
        # of a must-link what it would be to be apart in each cluster, halved for either end
        self.pair_price = strength * np.where(cannot, np.maximum(most - distance, 0.0), distance)
        together = np.where(cannot, self.pair_price, -self.pair_price)
        if by_cluster:
            must = np.flatnonzero(~self.cannot & (self.ends[0] != self.ends[1]))
            half = np.zeros((self.core.n_units, self.k))
            for end in self.ends:
                _add_rows(0.5 * self.pair_price, must, end[must], half)
            self._price_by_cluster(together, half)
        else:
            self.core.weight[:] = self.base
            self.core.weight[:] += np.bincount(self.edge, np.tile(together[self.between], 2), len(self.base))

    def _price_by_cluster(self, together: Floats, half: Any) -> None:
        """Take what each pair costs together in a cluster, and what must-links add to the cost of units."""
        self.rounds_a_pass = 100
        self.price = np.repeat(self.base[:, None], self.k, axis=1)
        _add_rows(together, self.of_edge, self.edge, self.price)
        self.half = half
        self.own: Any = 0.0
        if len(self.within):
            self.own = np.zeros((self.core.n_units, self.k))
            _add_rows(together, self.within, self.ends[0][self.within], self.own)

    def energy(self, cost: Floats) -> Energy:
        if self.price.shape[1] == 1:
            return super().energy(cost)
        alone = _above_least(cost + self.own)
        energy = super().energy(_above_least(alone + self.half))
        return energy._replace(alone=alone)

    def _broken(self, labels: Labels) -> Index:
        return np.flatnonzero((labels[self.i] == labels[self.j]) == self.cannot)

    def broken(self, labels: Labels) -> BrokenPairs:
        """The pairs that labels of the units break."""
        of_item = labels[self.core.unit]
        rows = self._broken(of_item)
        apart = self.cannot[rows]
        signed_strength = np.where(apart, -1.0, 1.0) * self.strength[rows]
        return BrokenPairs(self.rows, self.i[rows], self.j[rows], signed_strength, apart, of_item, self.k)

    def penalties(self, labels: Labels) -> tuple[float, float]:
        """What broken must-links and broken cannot-links cost, by labels of the items of the core."""
        rows = self._broken(labels)
        price = self.pair_price[rows]
        if price.ndim == 2:
            at = np.arange(len(rows))
            price = 0.5 * (price[at, labels[self.i[rows]]] + price[at, labels[self.j[rows]]])
        apart = self.cannot[rows]
        return float(price[~apart].sum()), float(price[apart].sum())

    def penalty(self, labels: Labels) -> float:
        return sum(self.penalties(labels[self.core.unit]))

    def final_penalty(self, labels: Labels) -> float:
        return sum(self.penalties(labels[self.core.items]))


def _above_least(cost: Floats) -> Floats:
    cost -= cost.min(axis=1, keepdims=True)
    return cost


@kernel
def _add_rows(values: Any, rows: Any, where: Any, out: Any) -> None:
    """Add some rows of `values` to those of `out` that are theirs."""
    for t in range(rows.shape[0]):
        for h in range(out.shape[1]):
            out[where[t], h] += values[rows[t], h]
