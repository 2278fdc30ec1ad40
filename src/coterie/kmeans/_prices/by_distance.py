"""The core of methods whose price of a broken pair is a distance: prices that follow the metric.

A broken must-link costs how far its ends are apart, a broken cannot-link how much nearer they are than any
two could be (Bilenko, Basu and Mooney 2004). With one metric these are prices of edges, and the search of
PCKMeans finds the labels. With a metric for each cluster a pair costs

    must-link    w/2 (D_g + D_h) in clusters g and h, 0 together = w/2 D_g + w/2 D_h - w D_h [together in h]
    cannot-link  w (C_h - D_h) together in h, 0 apart

so half of each must-link goes into the cost of its ends, and an edge has a price for each cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core import CoreSolver, Scores, build_core, count_rows, turned
from coterie.assign._pairs import SoftSolver, exchange_ends, move_parts, sweep_fields
from coterie.constraints import Constraints
from coterie.constraints._model import StatedPairs
from coterie.distortion import BrokenPairs
from coterie.kmeans._engine.starts import RandomState

# Steps between two returns to Python.
_SLICE = 20_000_000
_MAX_SWEEPS = 100
_NONE = np.empty(0, dtype=np.int64)
NO_FIELDS: tuple[Any, ...] = (
    *(_NONE, np.empty(0), np.empty(0), np.empty(0)),
    *(_NONE, _NONE, np.empty(0), _NONE, _NONE),
    *(np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0, 0))),
)


class PricedPairs(CoreSolver):
    """Soft pairs at the price of a distance; hard statements hold."""

    def __init__(
        self, known: Constraints, pairs: StatedPairs, weight: float, k: int, rng: RandomState, distortion: Any
    ) -> None:
        self.k, self.rng, self.distortion = k, rng, distortion
        structure = pairs.structure(known)
        self.core = build_core(structure, "hard")
        core = self.core
        self.solver = SoftSolver(structure, core, k, rng=rng)
        self.rows = distortion.pair_rows(core.items)
        self.i, self.j = (np.searchsorted(core.items, pairs.ij[:, end]) for end in (0, 1))
        self.cannot = pairs.cannot
        self.strength = weight * pairs.strength
        self.hard = core.only_forbidden()
        self.base = np.where(np.isinf(core.weight), np.inf, 0.0)
        key = np.repeat(np.arange(core.n_units), np.diff(core.indptr)) * core.n_units + core.indices
        u, v = core.unit[self.i], core.unit[self.j]
        self.between = np.flatnonzero(u != v)
        u, v = u[self.between], v[self.between]
        self.edge = np.concatenate([np.searchsorted(key, a * core.n_units + b) for a, b in ((u, v), (v, u))])
        self._priced_for: Any = None

    # ---- prices ---------------------------------------------------------------------------------------

    def reprice(self, centres: Floats) -> None:
        if self._priced_for is self.distortion.metric:
            return
        self._priced_for = self.distortion.metric
        gaps = self.distortion.gaps(self.rows, self.i, self.j)
        most = self.distortion.ceiling(self.rows, self.i, self.j)
        if gaps.ndim == 2:
            strength = self.strength[:, None]
            # of a must-link what it would be to be apart in each cluster, halved for either end
            self.price = strength * np.where(self.cannot[:, None], np.maximum(most - gaps, 0.0), gaps)
            together = np.where(self.cannot[:, None], self.price, -self.price)[self.between]
            self.weight_by = _gather(self.edge, len(self.base)) @ np.tile(together, (2, 1))
            unit = self.core.unit
            must = ~self.cannot & (unit[self.i] != unit[self.j])
            ends = np.concatenate([unit[self.i[must]], unit[self.j[must]]])
            self.half = _gather(ends, self.core.n_units) @ np.tile(0.5 * self.price[must], (2, 1))
            # a cannot-link inside a unit is paid wherever the unit goes, by the price there
            inside = self.cannot & (unit[self.i] == unit[self.j])
            self.half += _gather(unit[self.i[inside]], self.core.n_units) @ self.price[inside]
        else:
            self.price = self.strength * np.where(self.cannot, np.maximum(most - gaps, 0.0), gaps)
            together = np.where(self.cannot, self.price, -self.price)[self.between]
            self.core.weight[:] = self.base
            self.core.weight[:] += np.bincount(self.edge, np.tile(together, 2), len(self.base))

    def _broken(self, labels: Labels) -> Index:
        return np.flatnonzero((labels[self.i] == labels[self.j]) == self.cannot)

    def broken(self, labels: Labels) -> BrokenPairs:
        """The pairs that labels of the units break."""
        of_item = labels[self.core.unit]
        rows = self._broken(of_item)
        apart = self.cannot[rows]
        pull = np.where(apart, -1.0, 1.0) * self.strength[rows]
        return BrokenPairs(self.rows, self.i[rows], self.j[rows], pull, apart, of_item, self.k)

    def parts(self, labels: Labels) -> tuple[float, float]:
        """What broken must-links and broken cannot-links cost, by labels of the items of the core."""
        rows = self._broken(labels)
        if self.price.ndim == 2:
            price = 0.5 * (self.price[rows, labels[self.i[rows]]] + self.price[rows, labels[self.j[rows]]])
        else:
            price = self.price[rows]
        apart = self.cannot[rows]
        return float(price[~apart].sum()), float(price[apart].sum())

    def penalty(self, labels: Labels) -> float:
        return sum(self.parts(labels[self.core.unit]))

    def final_penalty(self, labels: Labels) -> float:
        return sum(self.parts(labels[self.core.items]))

    # ---- labels ---------------------------------------------------------------------------------------

    def assign(self, cost: Floats, labels: Labels | None, scores: Scores, last: bool) -> Labels:
        start = self.solver.first(cost) if labels is None else labels
        if self.price.ndim == 1:
            return self.solver.improve(cost, start, max_rounds=100 if last else 1)[0]
        return self.swept(cost + self.half, start, self.weight_by, NO_FIELDS, np.zeros(2))

    def swept(self, cost: Floats, labels: Labels, weight: Floats, fields: Any, scale: Floats) -> Labels:
        """Sweep until nobody wants to move, then try pairs and whole components, and again."""
        core, k = self.core, self.k
        acts, edges = self.hard.acts, (core.indptr, core.indices, weight)
        counts = count_rows(self.hard, labels, k)
        width = fields[-1].shape[2]
        out, other, own, own_sums = np.empty(k), np.empty(k), np.empty((2, k)), np.empty((k, width))
        blocks = core.block_ptr, core.block_unit, core.block_of
        n_blocks = len(core.block_ptr) - 1
        work = 1 + k + (len(fields[6]) * k + len(weight) * k) // core.n_units
        step, block_step = max(1, _SLICE // work), max(1, _SLICE // (1 + k * width + work))
        pair_step = max(1, _SLICE // (work * (k + work)))
        for _ in range(_MAX_SWEEPS):
            moved = 0
            order = turned(np.arange(core.n_units), self.rng)
            for start in range(0, len(order), step):
                stop = min(start + step, len(order))
                moved += sweep_fields(
                    cost, acts, counts, edges, fields, scale, labels, order, start, stop, out
                )
            if moved:
                continue
            if not width:  # with fields, two units meet in more ways than through their edge
                for start in range(0, core.n_units, pair_step):
                    stop = min(start + pair_step, core.n_units)
                    moved += exchange_ends(cost, acts, edges, labels, start, stop, out, other)
            for start in range(0, n_blocks, block_step):
                stop = min(start + block_step, n_blocks)
                moved += move_parts(
                    cost, acts, edges, fields, scale, blocks, start, stop, labels, out, own, own_sums
                )
            if not moved:
                break
        return labels

    def ties(self, labels: Labels) -> Floats:
        core = self.core
        head = np.repeat(np.arange(core.n_units), np.diff(core.indptr))
        together = (labels[head] == labels[core.indices]) & np.isfinite(core.weight)
        if self.price.ndim == 1:
            weight = core.weight
        else:
            weight = self.weight_by[np.arange(len(head)), labels[head]]
        return np.bincount(head[together], weight[together], core.n_units).astype(np.float64)


def _gather(group: Index, n: int) -> Any:
    """What adds rows up by their group."""
    return sparse.csr_matrix((np.ones(len(group)), (group, np.arange(len(group)))), (n, len(group)))
