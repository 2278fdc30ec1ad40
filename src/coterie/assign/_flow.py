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
def relabel(costs: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, gap: Any) -> None:
    """Give rows `start` to `stop` their cheapest cluster at prices `base`, and the gap to the next one."""
    k = costs.shape[1]
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        best, least, second = 0, np.inf, np.inf
        for h in range(k):
            value = costs[i, h] - base[t, h]
            # without branches, which would be guessed wrong
            second = min(second, max(value, least))
            best = h if value < least else best
            least = min(value, least)
        labels[i] = best
        gap[i] = second - least


@kernel
def measure_gaps(costs: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, gap: Any) -> None:
    """How much rows `start` to `stop` would lose by their next best cluster, at prices `base`."""
    k = costs.shape[1]
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        second = np.inf
        for h in range(k):
            value = costs[i, h] - base[t, h]
            if h != own and value < second:
                second = value
        gap[i] = second - (costs[i, own] - base[t, own])


@kernel
def count_candidates(
    costs: Any, kind: Any, base: Any, labels: Any, gap: Any, reach: float, count: Any, start: int, stop: int
) -> None:
    """Count the items among rows `start` to `stop` that may move from each node to each cluster."""
    k = costs.shape[1]
    for i in range(start, stop):
        if gap[i] > reach:
            continue
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        here = costs[i, own] - base[t, own]
        for h in range(k):
            if h != own and costs[i, h] - base[t, h] - here <= reach:
                count[t * k + own, h] += 1


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
def fill_candidates(
    costs: Any,
    kind: Any,
    base: Any,
    labels: Any,
    gap: Any,
    reach: float,
    heap_at: Any,
    heap_length: Any,
    key: Any,
    who: Any,
    start: int,
    stop: int,
) -> None:
    """Write the candidates among rows `start` to `stop` to where their heaps will be."""
    k = costs.shape[1]
    for i in range(start, stop):
        if gap[i] > reach:
            continue
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        node = t * k + own
        here = costs[i, own] - base[t, own]
        for h in range(k):
            if h == own:
                continue
            value = costs[i, h] - base[t, h] - here
            if value <= reach:
                at = heap_at[node, h] + heap_length[node, h]
                heap_length[node, h] += 1
                key[at] = value
                who[at] = i


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
def push_paths(
    costs: Any,
    kind: Any,
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
        # ---- shortest path from the source to the nearest node that is short
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
        if target < 0 and reach == np.inf:
            if unit:
                return STUCK
            settled[source] = 1
            continue
        # ---- potentials; not beyond what the candidates allow (what is missing may be among those left out)
        far = distance[target] if target >= 0 else np.inf
        if reach < np.inf:
            top, bottom = level[0], np.inf
            for v in range(n_nodes):
                top = max(top, level[v])
            for j in range(n_popped):
                v = popped[j]
                bottom = min(bottom, level[v] + distance[v] - far)
            if top - bottom > 0.5 * reach:
                lowest = np.inf
                for j in range(n_popped):
                    lowest = min(lowest, level[popped[j]])
                step = 0.5 * reach + lowest - top
                if step > 0.0:
                    for j in range(n_popped):
                        v = popped[j]
                        if distance[v] < step:
                            level[v] += distance[v] - step
                return REBUILD
        for j in range(n_popped):
            v = popped[j]
            level[v] += distance[v] - far
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
                g, h = u % k, v % k
                i = first[u, h]
                amount = 1.0 if unit else mass[i]
                labels[i] = h
                for other in range(k):
                    if first[u, other] == i:
                        _drop_gone(u, other, g, labels, heap_at, heap_length, key, who, margin, first)
                t = u // k
                least = np.inf
                for other in range(k):
                    least = min(least, costs[i, other] - base[t, other])
                here = costs[i, h] - base[t, h]
                for other in range(k):
                    value = costs[i, other] - base[t, other]
                    if other != h and value - least <= reach:
                        value -= here
                        if not _offer(
                            v, other, value, i, heap_at, heap_length, heap_room, key, who, counters
                        ):
                            full = True
                        elif value < margin[v, other] or (value == margin[v, other] and i < first[v, other]):
                            margin[v, other] = value
                            first[v, other] = i
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


@kernel
def all_margins(costs: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, margin: Any) -> None:
    """The least loss by moving any of rows `start` to `stop` from each node to each cluster."""
    k = costs.shape[1]
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        here = costs[i, own] - base[t, own]
        for h in range(k):
            value = costs[i, h] - base[t, h] - here
            if h != own and value < margin[t * k + own, h]:
                margin[t * k + own, h] = value
