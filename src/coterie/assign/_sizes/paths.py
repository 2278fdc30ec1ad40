"""Kernels of the transport: who moves to which cluster so that every size fits, at the least cost.

Clusters are the nodes of a small graph. An edge from g to h moves the item of g that loses least by it; a
last node, the sink, takes what each cluster holds, between its bounds. Excess goes to where items are short
along shortest paths (Dijkstra with potentials), one item an edge. Items of several kinds, with bounds of
their own, have a node for each kind and cluster. Loads may differ: then whole items move as long as that
brings the loads nearer to their bounds. At every moment the labels are the cheapest of all with the same
loads.

The edges from g to h are a heap of candidates: items whose margin is small. As long as the potentials have
not moved by half the limit `reach`, no item left out can matter; beyond that the heaps are built anew.

Cost of a path: nodes^2 in the worst case, and k + log(candidates) for each item moved.

Source: the book, chapter 9, (9.4) as a minimum-cost flow; Ahuja, Magnanti and Orlin 1993 (successive
shortest paths).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._compiled import kernel

DONE, PAUSED, REBUILD, STUCK = 0, 1, 2, 3
# positions in the array of counters: end of the pool, node to go on with, paths so far
TAIL, SOURCE, PATHS = 0, 1, 2


@kernel
def _sift_down(key: Any, who: Any, at: int, length: int, position: int) -> None:
    """Let the entry at `position` of a heap sink to its place; ties go by number."""
    value, item = key[at + position], who[at + position]
    while True:
        child = 2 * position + 1
        if child >= length:
            break
        other = child + 1
        if other < length and (
            key[at + other] < key[at + child]
            or (key[at + other] == key[at + child] and who[at + other] < who[at + child])
        ):
            child = other
        if key[at + child] < value or (key[at + child] == value and who[at + child] < item):
            key[at + position] = key[at + child]
            who[at + position] = who[at + child]
            position = child
        else:
            break
    key[at + position] = value
    who[at + position] = item


@kernel
def order_candidates(
    heap_at: Any, heap_length: Any, key: Any, who: Any, margin: Any, first: Any, start: int, stop: int
) -> None:
    """Make heaps of what was written for nodes `start` to `stop`.

    `margin` and `first` are their tops, infinite and -1 if there is none.
    """
    for node in range(start, stop):
        for h in range(heap_at.shape[1]):
            at, length = heap_at[node, h], heap_length[node, h]
            for position in range(length // 2 - 1, -1, -1):
                _sift_down(key, who, at, length, position)
            margin[node, h] = key[at] if length > 0 else np.inf
            first[node, h] = who[at] if length > 0 else -1


@kernel
def _drop_gone(
    node: int,
    h: int,
    own: int,
    labels: Any,
    heap_at: Any,
    heap_length: Any,
    key: Any,
    who: Any,
    margin: Any,
    first: Any,
) -> None:
    """Take entries off the top of a heap until its item is still in cluster `own`."""
    at = heap_at[node, h]
    length = heap_length[node, h]
    while length > 0 and labels[who[at]] != own:
        length -= 1
        key[at] = key[at + length]
        who[at] = who[at + length]
        if length > 0:
            _sift_down(key, who, at, length, 0)
    heap_length[node, h] = length
    margin[node, h] = key[at] if length > 0 else np.inf
    first[node, h] = who[at] if length > 0 else -1


@kernel
def _offer(
    node: int,
    h: int,
    value: float,
    i: int,
    heap_at: Any,
    heap_length: Any,
    heap_room: Any,
    key: Any,
    who: Any,
    counters: Any,
) -> bool:
    """Put an item into a heap, which moves to the end of the pool if full; False if that is full too."""
    length = heap_length[node, h]
    at = heap_at[node, h]
    if length == heap_room[node, h]:
        room = max(8, 2 * length)
        tail = counters[TAIL]
        if tail + room > key.shape[0]:
            return False
        for position in range(length):
            key[tail + position] = key[at + position]
            who[tail + position] = who[at + position]
        at = tail
        heap_at[node, h] = at
        heap_room[node, h] = room
        counters[TAIL] = tail + room
    position = length
    while position > 0:
        parent = (position - 1) // 2
        if key[at + parent] < value or (key[at + parent] == value and who[at + parent] < i):
            break
        key[at + position] = key[at + parent]
        who[at + position] = who[at + parent]
        position = parent
    key[at + position] = value
    who[at + position] = i
    heap_length[node, h] = length + 1
    return True


@kernel
def _capacity(
    u: int,
    v: int,
    cluster: int,
    k: int,
    flow: Any,
    low: Any,
    high: Any,
    kind_flow: Any,
    kind_low: Any,
    kind_high: Any,
) -> float:
    """How much an edge to or from a cluster or the sink can carry."""
    sink = cluster + k
    if v == sink:
        return high[u - cluster] - flow[u - cluster]
    if u == sink:
        return flow[v - cluster] - low[v - cluster]
    if u < cluster:
        return kind_high[u] - kind_flow[u]
    return kind_flow[v] - kind_low[v]


@kernel
def _find_path(
    source: int,
    k: int,
    n_kinds: int,
    node_base: Any,
    margin: Any,
    level: Any,
    excess: Any,
    settled: Any,
    bounds: Any,
    kind_bounds: Any,
    crumb: float,
    distance: Any,
    parent: Any,
    final: Any,
    popped: Any,
) -> tuple[int, int]:
    """The node that is short and nearest to the source (-1: none), and the number of nodes on the way there.

    Writes `distance` and `parent` of these, in the order `popped`.
    """
    flow, low, high = bounds
    kind_flow, kind_low, kind_high = kind_bounds
    n_nodes = level.shape[0]
    n_own = n_kinds * k
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
        if excess[u] < -crumb and settled[u] == 0:
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
            if n_kinds > 1 and kind_flow[u] < kind_high[u] - crumb:
                v = n_own + u % k
                through = least + max(node_base[u] + level[u] - node_base[v] - level[v], 0.0)
                if through < distance[v]:
                    distance[v] = through
                    parent[v] = u
        if u >= cluster and u < cluster + k:
            h = u - cluster
            here = node_base[u] + level[u]
            if flow[h] < high[h] - crumb:
                through = least + max(here - node_base[sink] - level[sink], 0.0)
                if through < distance[sink]:
                    distance[sink] = through
                    parent[sink] = u
            if n_kinds > 1:
                for t in range(n_kinds):
                    v = t * k + h
                    if kind_flow[v] > kind_low[v] + crumb:
                        through = least + max(here - node_base[v] - level[v], 0.0)
                        if through < distance[v]:
                            distance[v] = through
                            parent[v] = u
        if u == sink:
            here = node_base[u] + level[u]
            for h in range(k):
                if flow[h] > low[h] + crumb:
                    v = cluster + h
                    through = least + max(here - node_base[v] - level[v], 0.0)
                    if through < distance[v]:
                        distance[v] = through
                        parent[v] = u
    return target, n_popped


@kernel
def _lower(level: Any, distance: Any, popped: Any, n_popped: int, far: float, reach: float) -> bool:
    """Bring the potentials of the nodes on the way down, so that the path costs nothing more.

    Not beyond what the candidates allow: what is missing may be among those left out. False if that is so.
    """
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
def _move_item(
    u: int,
    v: int,
    costs: Any,
    base: Any,
    labels: Any,
    heap_at: Any,
    heap_length: Any,
    heap_room: Any,
    key: Any,
    who: Any,
    margin: Any,
    first: Any,
    reach: float,
    counters: Any,
) -> bool:
    """The first candidate goes from node u to v, and is a candidate there; False if no room is left."""
    k = costs.shape[1]
    g, h, t = u % k, v % k, u // k
    i = first[u, h]
    labels[i] = h
    for other in range(k):
        if first[u, other] == i:
            _drop_gone(u, other, g, labels, heap_at, heap_length, key, who, margin, first)
    least = np.inf
    for other in range(k):
        least = min(least, costs[i, other] - base[t, other])
    here = costs[i, h] - base[t, h]
    room = True
    for other in range(k):
        value = costs[i, other] - base[t, other]
        if other != h and value - least <= reach:
            value -= here
            if not _offer(v, other, value, i, heap_at, heap_length, heap_room, key, who, counters):
                room = False
            elif value < margin[v, other] or (value == margin[v, other] and i < first[v, other]):
                margin[v, other] = value
                first[v, other] = i
    return room


@kernel
def push_paths(
    costs: Any,
    base: Any,
    node_base: Any,
    labels: Any,
    mass: Any,
    heap_at: Any,
    heap_length: Any,
    heap_room: Any,
    key: Any,
    who: Any,
    margin: Any,
    first: Any,
    level: Any,
    excess: Any,
    flow: Any,
    low: Any,
    high: Any,
    kind_flow: Any,
    kind_low: Any,
    kind_high: Any,
    reach: float,
    crumb: float,
    max_paths: int,
    counters: Any,
    distance: Any,
    parent: Any,
    final: Any,
    popped: Any,
    settled: Any,
    most: int,
) -> int:
    """Send excess to where it is short along shortest paths; `labels`, `flow`, `level` in place.

    Nodes: kind t in cluster h is `t k + h`; with several kinds, cluster h is `T k + h`, else the same as its
    one kind; the sink is last. `level` is what the potentials rose since the heaps were built.
    """
    k = costs.shape[1]
    n_nodes = level.shape[0]
    n_kinds = base.shape[0]
    n_own = n_kinds * k
    cluster = n_own if n_kinds > 1 else 0
    sink = n_nodes - 1
    unit = mass.shape[0] == 0
    source = counters[SOURCE]
    for _ in range(max_paths):
        if not excess[source] > crumb or settled[source] == 1:
            source = -1
            for v in range(n_nodes):
                if excess[v] > crumb and settled[v] == 0 and (source < 0 or excess[v] > excess[source]):
                    source = v
            if source < 0:
                counters[SOURCE] = 0
                return DONE
            counters[SOURCE] = source
        target, n_popped = _find_path(
            source,
            k,
            n_kinds,
            node_base,
            margin,
            level,
            excess,
            settled,
            (flow, low, high),
            (kind_flow, kind_low, kind_high),
            crumb,
            distance,
            parent,
            final,
            popped,
        )
        if target < 0 and reach == np.inf:
            if unit:
                return STUCK
            settled[source] = 1
            continue
        far = distance[target] if target >= 0 else np.inf
        if not _lower(level, distance, popped, n_popped, far, reach):
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
                bottleneck = min(
                    bottleneck, _capacity(u, v, cluster, k, flow, low, high, kind_flow, kind_low, kind_high)
                )
            v = u
        if moves and not unit:
            # differences of loads stay on the way; the ends must come nearer to their bounds
            v = target
            u = parent[v]
            arrives = mass[first[u, v % k]] if u < n_own and v < n_own else bottleneck
            if not arrives < -2.0 * excess[target]:
                settled[target] = 1
                continue
            while parent[v] != source:
                v = parent[v]
            leaves = mass[first[source, v % k]] if source < n_own and v < n_own else bottleneck
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
                amount = 1.0 if unit else mass[first[u, v % k]]
                if not _move_item(
                    u,
                    v,
                    costs,
                    base,
                    labels,
                    heap_at,
                    heap_length,
                    heap_room,
                    key,
                    who,
                    margin,
                    first,
                    reach,
                    counters,
                ):
                    full = True
            else:
                if unit and moves:
                    amount = 1.0
                if v == sink:
                    flow[u - cluster] += amount
                elif u == sink:
                    flow[v - cluster] -= amount
                elif u < n_own:
                    kind_flow[u] += amount
                else:
                    kind_flow[v] -= amount
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
