"""Compiled: regions from random spanning trees: trees cut into parts, two neighbours cut anew along one.

A tree has a cut at every edge, so all the ways to part two neighbouring clusters along a random spanning tree
of both are looked at in one pass, and each leaves two connected clusters. Light edges join items that are
alike, so that cuts fall between those that are not. Sources: Duque, Anselin and Rey 2012 (regions with a
floor), DeFord, Duchin and Solomon 2021 (merging and splitting along a spanning tree).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import Floats, Index
from coterie._compiled import SLICE, kernel
from coterie.graph._connected.growth import Heap, drop_first, push
from coterie.graph._connected.leaving import Adjacency
from coterie.graph._connected.units import ClusterSums, UnitSums, add_unit, missed, worth

# What a re-cut may do: lower the objective; also leave it higher, as long as no bound is missed by more; the
# same, every other time by any such cut and not the best one; any.
LOWER, EXPLORE, WANDER, ANY = 0, 1, 2, 3
_MODULUS = 2147483647  # of the random numbers of Park and Miller, with the factor 48271


class TreeRoom(NamedTuple):
    """Where a spanning tree is built; written by every call."""

    order: Index  # units in the order in which the tree took them, and the place of the parent of each
    parent: Index
    place: Index  # of each unit in that order; -1: not in the tree
    heap: Heap  # units that the tree may take, and the places from where
    mass: Floats  # of the subtree below each place
    load: Floats
    sums: Floats
    waiting: Index  # units that are in no part yet
    random: Index

    @classmethod
    def of(cls, adjacency: Adjacency, d: int, seed: int) -> TreeRoom:
        """Room for a graph of units with d features."""
        n = len(adjacency.indptr) - 1
        order, parent, waiting = (np.zeros(n, dtype=np.int64) for _ in range(3))
        place, random = np.full(n, -1, dtype=np.int64), np.array([1 + seed % (_MODULUS - 1)])
        m = len(adjacency.indices) + 1
        heap = Heap(np.zeros(m), np.zeros(m, np.int32), np.zeros(m, np.int64), np.zeros(1, np.int64))
        held = np.zeros(n), np.zeros(n), np.zeros((n, d))
        return cls(order, parent, place, heap, *held, waiting, random)


@kernel(inline=True)
def _drawn(room: TreeRoom) -> float:
    """The next random number between 0 and 1."""
    room.random[0] = room.random[0] * 48271 % _MODULUS
    return room.random[0] / _MODULUS


@kernel
def _apart(u: int, v: int, units: UnitSums) -> float:
    """Squared distance of the means of two units."""
    found = 0.0
    if units.columns.shape[0] == 0:
        for t in range(units.indptr[u + 1] - units.indptr[u]):
            gap = units.data[units.indptr[u] + t] / units.mass[u]
            gap -= units.data[units.indptr[v] + t] / units.mass[v]
            found += gap * gap
    else:
        s, t = units.indptr[u], units.indptr[v]
        while s < units.indptr[u + 1] or t < units.indptr[v + 1]:
            left = units.columns[s] if s < units.indptr[u + 1] else _MODULUS
            right = units.columns[t] if t < units.indptr[v + 1] else _MODULUS
            gap = 0.0
            if left <= right:
                gap += units.data[s] / units.mass[u]
                s += 1
            if right <= left:
                gap -= units.data[t] / units.mass[v]
                t += 1
            found += gap * gap
    return found


@kernel
def span(
    start: int,
    a: int,
    b: int,
    light: bool,
    adjacency: Adjacency,
    units: UnitSums,
    labels: Any,
    room: TreeRoom,
) -> int:
    """Span the units of two clusters by a random tree, of light edges or any; how many; writes `room`."""
    push(0.0, -1, start, room.heap)
    n = 0
    while room.heap.size[0] > 0:
        u, origin = room.heap.node[0], room.heap.cluster[0]
        drop_first(room.heap)
        if room.place[u] >= 0:
            continue
        room.place[u], room.order[n], room.parent[n] = n, u, origin
        room.mass[n], room.load[n] = units.mass[u], units.load[u]
        room.sums[n] = 0.0
        for e in range(units.indptr[u], units.indptr[u + 1]):
            column = e - units.indptr[u] if units.columns.shape[0] == 0 else units.columns[e]
            room.sums[n, column] = units.data[e]
        for e in range(adjacency.indptr[u], adjacency.indptr[u + 1]):
            v = adjacency.indices[e]
            if room.place[v] < 0 and (labels[v] == a or labels[v] == b):
                push(_drawn(room) * (_apart(u, v, units) if light else 1.0), n, v, room.heap)
        n += 1
    for i in range(n):
        room.place[room.order[i]] = -1
    for i in range(n - 1, 0, -1):
        up = room.parent[i]
        room.mass[up] += room.mass[i]
        room.load[up] += room.load[i]
        for t in range(room.sums.shape[1]):
            room.sums[up, t] += room.sums[i, t]
    return n


@kernel
def recut(
    start: int,
    a: int,
    b: int,
    what: int,
    adjacency: Adjacency,
    units: UnitSums,
    clusters: ClusterSums,
    room: TreeRoom,
    cosine: bool,
    tolerance: float,
) -> int:
    """Part two neighbours, of which `start` is a unit, by the best cut of a tree; units looked at.

    The best cut misses bounds by least, then is worth most; `clusters` and `room` are written.
    """
    # trees of light edges alone leave out some cuts nearly always, and among these may be the only legal ones
    light = what == LOWER or _drawn(room) < 0.5
    n = span(start, a, b, light, adjacency, units, clusters.labels, room)
    d = room.sums.shape[1]
    had_excess = missed(clusters.load[a], clusters.low[a], clusters.high[a])
    had_excess += missed(clusters.load[b], clusters.low[b], clusters.high[b])
    n_any = 1 if what == WANDER and _drawn(room) < 0.5 else 0
    best, best_first, best_excess, best_worth = 0, a, np.inf, 0.0
    alike = clusters.low[a] == clusters.low[b] and clusters.high[a] == clusters.high[b]
    for i in range(1, n):
        load, rest = room.load[i], room.load[0] - room.load[i]
        first = b
        excess = missed(load, clusters.low[b], clusters.high[b]) + missed(
            rest, clusters.low[a], clusters.high[a]
        )
        if not alike:
            other = missed(load, clusters.low[a], clusters.high[a])
            other += missed(rest, clusters.low[b], clusters.high[b])
            if other < excess:
                first, excess = a, other
        if n_any > 0:
            if excess <= had_excess * (1 + 1e-9):
                if _drawn(room) * n_any < 1.0:
                    best, best_first, best_excess = i, first, excess
                n_any += 1
            continue
        if excess > best_excess * (1 + 1e-9):
            continue
        below = above = 0.0
        for t in range(d):
            inside, outside = room.sums[i, t], room.sums[0, t] - room.sums[i, t]
            below += inside * inside
            above += outside * outside
        gained = worth(below, room.mass[i], cosine) + worth(above, room.mass[0] - room.mass[i], cosine)
        if excess < best_excess * (1 - 1e-9) or gained > best_worth:
            best, best_first, best_excess, best_worth = i, first, excess, gained
    if best == 0:
        return n
    had = worth(clusters.square[a], clusters.mass[a], cosine) + worth(
        clusters.square[b], clusters.mass[b], cosine
    )
    if what != ANY:
        if best_excess > had_excess * (1 + 1e-9):
            return n
        if best_excess >= had_excess * (1 - 1e-9) and what == LOWER and best_worth <= had + tolerance:
            return n
    # units below the cut: those whose parent is
    other = a + b - best_first
    for i in range(n):
        u = room.order[i]
        inside = i == best or (i > best and room.place[room.order[room.parent[i]]] == 1)
        room.place[u] = 1 if inside else 0
        label = best_first if inside else other
        if clusters.labels[u] != label:
            add_unit(u, clusters.labels[u] + 0, -1.0, units, clusters)
            add_unit(u, label, 1.0, units, clusters)
            clusters.labels[u] = label
    for i in range(n):
        room.place[room.order[i]] = -1
    return n


@kernel
def recut_pairs(
    left: Any,
    what: int,
    ends: Any,
    adjacency: Adjacency,
    units: UnitSums,
    clusters: ClusterSums,
    room: TreeRoom,
    cosine: bool,
    tolerance: float,
) -> None:
    """Re-cut pairs of neighbours, drawn by their common edges, `left[0]` or until `left[1]` units were seen.

    To explore, two in three pairs miss a bound. `clusters`, `room` and `left` are written.
    """
    work, n_edges = 0, ends.shape[0]
    while left[0] > 0 and left[1] > 0 and work < SLICE // 2:
        left[0] -= 1
        wanted = what in (EXPLORE, WANDER) and 3.0 * _drawn(room) < 2.0
        at, a, b = int(_drawn(room) * n_edges) % n_edges, clusters.labels[0] + 0, clusters.labels[0] + 0
        for _ in range(n_edges):
            at = (at + 1) % n_edges
            work += 1
            a, b = clusters.labels[ends[at, 0]] + 0, clusters.labels[ends[at, 1]] + 0
            if a != b and (
                not wanted
                or missed(clusters.load[a], clusters.low[a], clusters.high[a]) > 0
                or missed(clusters.load[b], clusters.low[b], clusters.high[b]) > 0
            ):
                break
        if a != b:
            seen = recut(ends[at, 0], a, b, what, adjacency, units, clusters, room, cosine, tolerance)
            work += 20 * seen
            left[1] -= seen


@kernel
def cut_tree(
    root: int, targets: Any, adjacency: Adjacency, units: UnitSums, labels: Any, room: TreeRoom
) -> int:
    """Cut a random depth-first tree into parts: one is full when it reaches its target. How many are full.

    Labels count from 0 on; what is left at the root is labelled by the number of full parts. Labels (-1 on
    entry, where the tree may go) and `room` are written.
    """
    stack, step, waiting, load = room.order, room.parent, room.waiting, room.load
    mark = room.mass  # how many units waited when a subtree was entered
    depth, n_waiting, n_full, n_targets = 1, 0, 0, targets.shape[0]
    stack[0], step[0], mark[0], load[0] = root, 0, 0, units.load[root]
    room.place[root], labels[root] = int(_drawn(room) * 1000000), -2
    while depth > 0:
        u = stack[depth - 1]
        begin, degree = adjacency.indptr[u], adjacency.indptr[u + 1] - adjacency.indptr[u]
        if step[depth - 1] < degree:
            v = adjacency.indices[begin + (step[depth - 1] + room.place[u]) % degree]
            step[depth - 1] += 1
            if labels[v] == -1:
                labels[v] = -2  # under way
                room.place[v] = int(_drawn(room) * 1000000)
                stack[depth], step[depth], mark[depth], load[depth] = v, 0, n_waiting, units.load[v]
                depth += 1
            continue
        depth -= 1
        room.place[u] = -1
        waiting[n_waiting] = u
        n_waiting += 1
        if n_full < n_targets and load[depth] >= targets[n_full]:
            for i in range(int(mark[depth]), n_waiting):
                labels[waiting[i]] = n_full
            n_waiting = int(mark[depth])
            n_full += 1
        elif depth > 0:
            load[depth - 1] += load[depth]
    for i in range(n_waiting):
        labels[waiting[i]] = n_full
    return n_full
