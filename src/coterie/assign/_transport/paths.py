"""Kernels of the transport: who moves to which cluster so that every size fits, at the least cost.

Clusters are the nodes of a small graph. An edge from g to h moves the item of g that loses least by it; a
last node, the sink, takes what each cluster holds, between its bounds. Excess goes to where items are short
along shortest paths (Dijkstra with potentials), one item an edge. Items of several kinds, with bounds of
their own, have a node for each kind and cluster. Loads may differ: then whole items move as long as that
brings the loads nearer to their bounds. At every moment the labels are the cheapest of all with the same
loads.

The edges from g to h are a heap of candidates: items whose margin is small. As long as the potentials have
not moved by half the limit `reach`, no item left out can matter; beyond that the heaps are built anew.

Nodes: kind t in cluster h is `t k + h`; with several kinds, cluster h is `T k + h`, else the same as its one
kind; the sink is last.

Cost of a path: nodes^2 in the worst case, and k + log(candidates) for each item moved.

Source: the book, chapter 9, (9.4) as a minimum-cost flow; Ahuja, Magnanti and Orlin 1993 (successive
shortest paths).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import Floats, Index
from coterie._compiled import kernel
from coterie.assign._transport.candidates import move_item

DONE, PAUSED, REBUILD, STUCK = 0, 1, 2, 3
# positions in the array of counters, after the end of the pool: node to go on with, paths so far
SOURCE, PATHS = 1, 2


class Nodes(NamedTuple):
    """Nodes of the graph: `dual` are the potentials when the heaps were built, `level` their rise since.

    `settled` (1) are those whose excess no whole item can make smaller; the last four are scratch of a search
    for the shortest path.
    """

    dual: Floats
    level: Floats
    excess: Floats
    settled: NDArray[np.uint8]
    distance: Floats
    parent: Index
    final: NDArray[np.uint8]
    popped: Index


class Bounded(NamedTuple):
    """What clusters, or kinds in clusters, hand on, and its bounds."""

    flow: Floats
    low: Floats
    high: Floats


@kernel
def _find_path(
    source: int, k: int, margin: Any, nodes: Any, clusters: Any, kinds: Any, tolerance: float
) -> tuple[int, int]:
    """The node that is short and nearest to the source (-1: none), and the number of nodes on the way there.

    Writes `distance` and `parent` of these, in the order `popped`.
    """
    flow, low, high = clusters
    kind_flow, kind_low, kind_high = kinds
    dual, level, excess, settled, distance, parent, final, popped = nodes
    n_nodes, n_own = level.shape[0], kind_flow.shape[0]
    n_kinds = n_own // k
    cluster = n_own if n_kinds > 1 else 0
    sink = n_nodes - 1
    for v in range(n_nodes):
        distance[v] = np.inf
        final[v] = 0
    distance[source] = 0.0
    parent[source] = -1
    n_popped = 0
    target = -1
    while True:
        u = -1
        least = np.inf
        for v in range(n_nodes):
            if final[v] == 0 and distance[v] < least:
                least = distance[v]
                u = v
        if u < 0:
            break
        final[u] = 1
        popped[n_popped] = u
        n_popped += 1
        if excess[u] < -tolerance and settled[u] == 0:
            target = u
            break
        if u < n_own:
            row = u - u % k
            at_u = least + level[u]
            for h in range(k):
                through = max(at_u + margin[u, h] - level[row + h], least)
                if through < distance[row + h]:
                    distance[row + h] = through
                    parent[row + h] = u
            if n_kinds > 1 and kind_flow[u] < kind_high[u] - tolerance:
                v = n_own + u % k
                through = least + max(dual[u] + level[u] - dual[v] - level[v], 0.0)
                if through < distance[v]:
                    distance[v] = through
                    parent[v] = u
        if u >= cluster and u < cluster + k:
            h = u - cluster
            here = dual[u] + level[u]
            if flow[h] < high[h] - tolerance:
                through = least + max(here - dual[sink] - level[sink], 0.0)
                if through < distance[sink]:
                    distance[sink] = through
                    parent[sink] = u
            if n_kinds > 1:
                for t in range(n_kinds):
                    v = t * k + h
                    if kind_flow[v] > kind_low[v] + tolerance:
                        through = least + max(here - dual[v] - level[v], 0.0)
                        if through < distance[v]:
                            distance[v] = through
                            parent[v] = u
        if u == sink:
            here = dual[u] + level[u]
            for h in range(k):
                if flow[h] > low[h] + tolerance:
                    v = cluster + h
                    through = least + max(here - dual[v] - level[v], 0.0)
                    if through < distance[v]:
                        distance[v] = through
                        parent[v] = u
    return target, n_popped


@kernel
def _lower(nodes: Any, n_popped: int, far: float, reach: float) -> bool:
    """Bring the potentials of the nodes on the way down, so that the path costs nothing more.

    Not beyond what the candidates allow: what is missing may be among those left out. False if that is so.
    """
    level, distance, popped = nodes.level, nodes.distance, nodes.popped
    if reach < np.inf:
        top, bottom, lowest = level[0], np.inf, np.inf
        for v in range(level.shape[0]):
            top = max(top, level[v])
        for j in range(n_popped):
            v = popped[j]
            bottom = min(bottom, level[v] + distance[v] - far)
            lowest = min(lowest, level[v])
        if top - bottom > 0.5 * reach:
            step = 0.5 * reach + lowest - top
            for j in range(n_popped):
                v = popped[j]
                if distance[v] < step:
                    level[v] += distance[v] - step
            return False
    for j in range(n_popped):
        v = popped[j]
        level[v] += distance[v] - far
    return True


@kernel
def _capacity(u: int, v: int, cluster: int, clusters: Any, kinds: Any) -> float:
    """How much an edge to or from a cluster or the sink can carry."""
    sink = cluster + clusters.flow.shape[0]
    if v == sink:
        return clusters.high[u - cluster] - clusters.flow[u - cluster]
    if u == sink:
        return clusters.flow[v - cluster] - clusters.low[v - cluster]
    if u < cluster:
        return kinds.high[u] - kinds.flow[u]
    return kinds.flow[v] - kinds.low[v]


@kernel
def _carry(u: int, v: int, amount: float, cluster: int, clusters: Any, kinds: Any) -> None:
    """Let an edge to or from a cluster or the sink carry so much more."""
    sink = cluster + clusters.flow.shape[0]
    if v == sink:
        clusters.flow[u - cluster] += amount
    elif u == sink:
        clusters.flow[v - cluster] -= amount
    elif u < cluster:
        kinds.flow[u] += amount
    else:
        kinds.flow[v] -= amount


@kernel
def push_paths(
    cells: Any,
    mass: Any,
    labels: Any,
    heaps: Any,
    nodes: Any,
    clusters: Any,
    kinds: Any,
    reach: float,
    tolerance: float,
    counters: Any,
    max_paths: int,
    most: int,
) -> int:
    """Send excess to where it is short along shortest paths; `labels`, flows and levels in place.

    Returns to Python after `max_paths` paths; where loads differ, no more than `most` are pushed in all.
    """
    k = clusters.flow.shape[0]
    excess, settled, parent = nodes.excess, nodes.settled, nodes.parent
    n_nodes, n_own = excess.shape[0], kinds.flow.shape[0]
    base = nodes.dual[:n_own].reshape((n_own // k, k))
    cluster = n_own if n_own > k else 0
    unit = mass.shape[0] == 0
    source = counters[SOURCE]
    for _ in range(max_paths):
        if not excess[source] > tolerance or settled[source] == 1:
            source = -1
            for v in range(n_nodes):
                if excess[v] > tolerance and settled[v] == 0 and (source < 0 or excess[v] > excess[source]):
                    source = v
            if source < 0:
                counters[SOURCE] = 0
                return DONE
            counters[SOURCE] = source
        target, n_popped = _find_path(source, k, heaps.margin, nodes, clusters, kinds, tolerance)
        if target < 0 and reach == np.inf:
            if unit:
                return STUCK
            settled[source] = 1
            continue
        far = nodes.distance[target] if target >= 0 else np.inf
        if not _lower(nodes, n_popped, far, reach):
            return REBUILD
        # ---- would it help? (with loads of 1 always)
        bottleneck = min(excess[source], -excess[target])
        moves = False
        v = target
        while v != source:
            u = parent[v]
            if u < n_own and v < n_own:
                moves = True
            else:
                bottleneck = min(bottleneck, _capacity(u, v, cluster, clusters, kinds))
            v = u
        if moves and not unit:
            # differences of loads stay on the way; the ends must come nearer to their bounds
            v = target
            u = parent[v]
            arrives = mass[heaps.first[u, v % k]] if u < n_own and v < n_own else bottleneck
            if not arrives < -2.0 * excess[target]:
                settled[target] = 1
                continue
            while parent[v] != source:
                v = parent[v]
            leaves = mass[heaps.first[source, v % k]] if source < n_own and v < n_own else bottleneck
            if not leaves < 2.0 * excess[source]:
                settled[source] = 1
                continue
        # ---- move it, from the end, so that what arrives does not leave again
        full = False
        v = target
        while v != source:
            u = parent[v]
            amount = bottleneck
            if u < n_own and v < n_own:
                amount = 1.0 if unit else mass[heaps.first[u, v % k]]
                if not move_item(u, v, cells, base, labels, heaps, reach, counters):
                    full = True
            else:
                if unit and moves:
                    amount = 1.0
                _carry(u, v, amount, cluster, clusters, kinds)
            excess[u] -= amount
            excess[v] += amount
            v = u
        for v in range(n_nodes):
            settled[v] = 0
        counters[PATHS] += 1
        if not unit and counters[PATHS] >= most:
            return DONE
        if full:
            return REBUILD
    return PAUSED
