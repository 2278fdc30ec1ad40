"""Compiled: units move to the neighbouring cluster that gains most, as long as their own hangs together.

Hartigan's test on the border of clusters: a move is made if it lowers what bounds are missed by or, where it
leaves that alone, the objective. So what is minimised falls with every move, bounds that hold go on holding,
and what constraints forbid is not looked at. A sweep takes the edges of the graph, and a walk around each
unit that would move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import NOTHING, Index
from coterie._compiled import SLICE, kernel
from coterie.assign._core import Acts, Core, add_to_rows, group_counts, met_in
from coterie.graph._connected.leaving import Adjacency, SearchRoom, stays_connected
from coterie.graph._connected.units import (
    TOLERANCE,
    ClusterSums,
    UnitSums,
    add_unit,
    missed,
    refresh,
    shared_with,
    worth,
)


class CoreVetoes(NamedTuple):
    """What constraints forbid: the core, the place of each unit in it (-1: none), and its group counts."""

    acts: Acts
    place: Index
    of_place: Index
    counts: Any


def vetoes_of(core: Core | None, unit: Index, labels: Any, k: int) -> CoreVetoes:
    """The vetoes between the units of a graph, and their counts under some labels."""
    n = int(unit.max()) + 1
    place = np.full(n, -1, dtype=np.int64)
    if core is None:
        none = np.empty(0, dtype=np.int64)
        ends = np.zeros(1, dtype=np.int64)
        acts = Acts(ends, none, NOTHING, ends, none, none, NOTHING, none)
        return CoreVetoes(acts, place, none, np.zeros((0, k), dtype=np.int32))
    of_place = np.empty(core.n_units, dtype=np.int64)
    of_place[core.unit] = unit[core.items]
    place[of_place] = np.arange(core.n_units)
    return CoreVetoes(core.acts, place, of_place, group_counts(core, labels[of_place], k))


class BorderMoves:
    """Sweeps over one graph; `adjacency` None: it is complete."""

    def __init__(self, adjacency: Adjacency | None, units: UnitSums, cosine: bool) -> None:
        n = len(units.mass)
        none = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        self.complete = adjacency is None
        self.adjacency = Adjacency(*none) if adjacency is None else adjacency
        self.units, self.cosine, self.room = units, cosine, SearchRoom.of(self.adjacency)
        # the largest worth a unit can have alone: what is small beside it is rounding
        alone = np.sqrt(units.square) if cosine else units.square / units.mass
        self.tolerance = TOLERANCE * max(float(alone.max(initial=0.0)), 1e-300)

    def sweep(self, clusters: ClusterSums, vetoes: CoreVetoes) -> int:
        """Visit every unit once; how many moved. `clusters` and the counts of `vetoes` are written."""
        n, (k, d) = len(self.units.mass), clusters.sums.shape
        tried = np.full(k, -1, dtype=np.int64)
        per_unit = (k if self.complete else 1 + len(self.adjacency.indices) // n) * d
        step, n_moved = max(1, SLICE // (10 * per_unit)), 0
        for start in range(0, n, step):
            span = np.array([start, min(start + step, n)])
            args = self.adjacency, self.complete, self.units, clusters, vetoes, self.room, tried
            while span[0] < span[1]:
                n_moved += int(_sweep(span, *args, self.cosine, self.tolerance))
        refresh(self.units, clusters)
        return n_moved


@kernel
def _sweep(
    span: Any,
    adjacency: Adjacency,
    complete: bool,
    units: UnitSums,
    clusters: ClusterSums,
    vetoes: CoreVetoes,
    room: SearchRoom,
    tried: Any,
    cosine: bool,
    tolerance: float,
) -> int:
    """Visit units `span[0]:span[1]`; writes where it got to, `clusters`, `room`, `tried` and the counts."""
    labels, n_moved, n_looked = clusters.labels, 0, 0
    while span[0] < span[1] and n_looked < SLICE // 20:
        u = span[0]
        span[0] += 1
        a: Any = np.int64(labels[u])  # one type of label in all calls: each one more is compiled anew
        if clusters.n_units[a] == 1:
            continue
        best, best_gain, best_excess = -1, 0.0, 0.0
        leaving_gain = leaving_excess = 0.0
        looked = False
        n_ways = clusters.mass.shape[0] if complete else adjacency.indptr[u + 1] - adjacency.indptr[u]
        for way in range(n_ways):
            b: Any = np.int64(way if complete else labels[adjacency.indices[adjacency.indptr[u] + way]])
            if b == a or tried[b] == u:
                continue
            tried[b] = u
            if _forbidden(u, b, labels, vetoes):
                continue
            if not looked:
                looked = True
                left = clusters.square[a] + units.square[u] - 2.0 * shared_with(u, a, units, clusters)
                leaving_gain = worth(left, clusters.mass[a] - units.mass[u], cosine)
                leaving_gain -= worth(clusters.square[a], clusters.mass[a], cosine)
                less = clusters.load[a] - units.load[u]
                leaving_excess = missed(less, clusters.low[a], clusters.high[a])
                leaving_excess -= missed(clusters.load[a], clusters.low[a], clusters.high[a])
            more = clusters.square[b] + units.square[u] + 2.0 * shared_with(u, b, units, clusters)
            gain = leaving_gain + worth(more, clusters.mass[b] + units.mass[u], cosine)
            gain -= worth(clusters.square[b], clusters.mass[b], cosine)
            excess = leaving_excess + missed(
                clusters.load[b] + units.load[u], clusters.low[b], clusters.high[b]
            )
            excess -= missed(clusters.load[b], clusters.low[b], clusters.high[b])
            rounding = 1e-9 * units.load[u] * units.load[u]
            if excess < best_excess - rounding or (
                excess <= best_excess + rounding and gain > best_gain + tolerance
            ):
                best, best_gain, best_excess = b, gain, min(excess, 0.0)
        if best < 0:
            continue
        if not complete:
            hangs = stays_connected(u, labels, adjacency, room)
            n_looked += room.call[1]
            if not hangs:
                continue
        add_unit(u, a, -1.0, units, clusters)
        add_unit(u, best, 1.0, units, clusters)
        labels[u] = best
        if vetoes.place[u] >= 0:
            add_to_rows(vetoes.place[u], a, -1, vetoes.acts, vetoes.counts)
            add_to_rows(vetoes.place[u], best, 1, vetoes.acts, vetoes.counts)
        n_moved += 1
    return n_moved


@kernel
def _forbidden(u: int, h: int, labels: Any, vetoes: CoreVetoes) -> bool:
    """Whether constraints keep a unit out of a cluster."""
    at = vetoes.place[u]
    if at < 0:
        return False
    for e in range(vetoes.acts.indptr[at], vetoes.acts.indptr[at + 1]):
        if labels[vetoes.of_place[vetoes.acts.indices[e]]] == h:
            return True
    for e in range(vetoes.acts.member_ptr[at], vetoes.acts.member_ptr[at + 1]):
        if vetoes.acts.member_weight[e] > 0 and met_in(e, h, vetoes.acts, vetoes.counts) > 0:
            return True
    return False
