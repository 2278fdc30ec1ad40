"""Clusters that grow from seeds along a graph: of the items that touch one the nearest to its centre is next.

Continuous growth takes items from a heap in the order of that distance (seeded region growing). Rounds, as in
NetScan, raise a radius in steps, and look ahead where an item could be a bridge for several clusters. Time
O(E log E) for E edges, memory O(n + E); with one seed the thresholds are the reaching distances.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import SLICE, kernel
from coterie.adjacency import inner_edges
from coterie.graph._connected.leaving import Adjacency
from coterie.graph._connected.space import ItemSpace, Keys, key_of, members_of

FREE, CLOSED = -1, -2  # labels of items that may be taken, and of those that may not

_SAMPLE = 200  # items between which distances are averaged, for the step of the rounds
_CHUNK = 1 << 20
_ROOM = 1024  # of a heap at first


class Heap(NamedTuple):
    """Who could come next, least key first and of equal ones the lowest cluster; all arrays are written."""

    key: Any
    cluster: Any
    node: Any
    size: Any

    @classmethod
    def of(cls, room: int) -> Heap:
        """An empty one."""
        return cls(np.empty(room), np.empty(room, np.int32), np.empty(room, np.int64), np.zeros(1, np.int64))

    def grown(self) -> Heap:
        """The same with twice the room."""
        key, cluster, node = (np.concatenate([a, np.empty_like(a)]) for a in self[:3])
        return Heap(key, cluster, node, self.size)


class Grown(NamedTuple):
    """How far clusters have grown; all arrays are written."""

    labels: Any
    thresholds: Any  # the radius at which each item was taken
    offered: Any  # the cluster that each item was last offered to
    level: Any  # that radius now


@kernel(inline=True)
def push(key: float, cluster: int, node: int, heap: Any) -> None:
    """Put an entry into the heap."""
    at = heap.size[0]
    heap.size[0] += 1
    while at > 0:
        up = (at - 1) >> 1
        if heap.key[up] < key or (heap.key[up] == key and heap.cluster[up] <= cluster):
            break
        heap.key[at], heap.cluster[at], heap.node[at] = heap.key[up], heap.cluster[up], heap.node[up]
        at = up
    heap.key[at], heap.cluster[at], heap.node[at] = key, cluster, node


@kernel(inline=True)
def drop_first(heap: Any) -> None:
    """Take the least entry out of the heap."""
    heap.size[0] -= 1
    size = heap.size[0]
    key, cluster, node = heap.key[size], heap.cluster[size], heap.node[size]
    at, down = 0, 1
    while down < size:
        r = down + 1
        if r < size and (
            heap.key[r] < heap.key[down]
            or (heap.key[r] == heap.key[down] and heap.cluster[r] < heap.cluster[down])
        ):
            down = r
        if key < heap.key[down] or (key == heap.key[down] and cluster <= heap.cluster[down]):
            break
        heap.key[at], heap.cluster[at] = heap.key[down], heap.cluster[down]
        heap.node[at] = heap.node[down]
        at, down = down, 2 * down + 1
    heap.key[at], heap.cluster[at], heap.node[at] = key, cluster, node


@kernel(inline=True)
def offer(x: int, adjacency: Any, keys: Any, grown: Any, heap: Any) -> None:
    """Offer the free neighbours of an item to its cluster; `offered` and the heap are written."""
    j = grown.labels[x]
    for e in range(adjacency.indptr[x], adjacency.indptr[x + 1]):
        y = adjacency.indices[e]
        if grown.labels[y] == -1 and grown.offered[y] != j:
            grown.offered[y] = j
            push(key_of(y, j, keys), j, y, heap)


@kernel
def offer_all(nodes: Any, begin: int, adjacency: Any, keys: Any, grown: Any, heap: Any, budget: int) -> int:
    """Offer the neighbours of these items, from number `begin` on; gives the number it came to."""
    steps, room = 0, len(heap.key)
    while begin < len(nodes) and steps < budget:
        x = nodes[begin]
        degree = adjacency.indptr[x + 1] - adjacency.indptr[x]
        if heap.size[0] + degree > room:
            break
        offer(x, adjacency, keys, grown, heap)
        steps += 8 + degree * (keys.rows.shape[1] + 8)
        begin += 1
    return begin


@kernel
def spread(adjacency: Any, keys: Any, grown: Any, heap: Any, limit: float, budget: int) -> bool:
    """Let clusters grow up to a radius, best first; whether that is done. Writes `grown` and the heap."""
    steps, room = 0, len(heap.key)
    while steps < budget:
        if heap.size[0] == 0 or heap.key[0] > limit:
            return True
        x = heap.node[0]
        degree = adjacency.indptr[x + 1] - adjacency.indptr[x]
        if heap.size[0] + degree > room:
            return False
        key, cluster = heap.key[0], heap.cluster[0]
        drop_first(heap)
        steps += 8
        if grown.labels[x] == -1:
            grown.level[0] = max(grown.level[0], key)
            grown.labels[x] = cluster
            grown.thresholds[x] = grown.level[0]
            offer(x, adjacency, keys, grown, heap)
            steps += degree * (keys.rows.shape[1] + 8)
    return False


class Waiting(NamedTuple):
    """A queue of items for each cluster: a list of entries, each with the next one; all are written."""

    node: Any
    next: Any
    head: Any  # of each queue; -1: none
    tail: Any
    radius: Any  # of each cluster so far
    at: Any  # entries in all; the cluster whose turn it is, its entry, and the one before it
    least: Any  # the least distance that was above the radius in this round


@kernel(inline=True)
def wait(x: int, j: int, adjacency: Any, labels: Any, waiting: Any) -> None:
    """Put the free neighbours of an item into the queue of cluster j."""
    for e in range(adjacency.indptr[x], adjacency.indptr[x + 1]):
        y = adjacency.indices[e]
        if labels[y] == -1:
            new = waiting.at[0]
            waiting.at[0] += 1
            waiting.node[new], waiting.next[new] = y, -1
            if waiting.head[j] < 0:
                waiting.head[j] = new
            else:
                waiting.next[waiting.tail[j]] = new
            waiting.tail[j] = new


@kernel
def bridge_to(q: int, j: int, radius: float, adjacency: Any, keys: Any, labels: Any, waiting: Any) -> int:
    """Which cluster takes an item that cluster j could take: another one where it is a bridge for both."""
    n_alone, alone, n_free, other = 0, -1, 0, -1
    for e in range(adjacency.indptr[q], adjacency.indptr[q + 1]):
        y = adjacency.indices[e]
        if labels[y] == -1:
            n_free += 1
            if adjacency.indptr[y + 1] - adjacency.indptr[y] == 1:
                n_alone += 1
                alone = y
        elif labels[y] != j and labels[y] >= 0 and key_of(q, labels[y], keys) <= radius:
            other = labels[y]
    if other < 0 or n_free == 0:
        return j
    best, best_cost, best_key = -1, np.inf, np.inf
    for e in range(adjacency.indptr[q], adjacency.indptr[q + 1]):
        i = labels[adjacency.indices[e]]
        if i < 0:
            continue
        key = key_of(q, i, keys)
        if key > radius:
            continue
        cost = key
        if n_alone == 1:
            cost = key_of(alone, i, keys)
        elif n_alone > 1:
            for f in range(adjacency.indptr[q], adjacency.indptr[q + 1]):
                u = adjacency.indices[f]
                if labels[u] == -1 and adjacency.indptr[u + 1] - adjacency.indptr[u] == 1:
                    cost = max(cost, key_of(u, i, keys))
            cost = max(0.0, cost - waiting.radius[i])
        if cost < best_cost or (cost == best_cost and (key < best_key or (key == best_key and i < best))):
            best, best_cost, best_key = i, cost, key
    return best


@kernel
def one_round(
    radius: float, lookahead: bool, adjacency: Any, keys: Any, grown: Any, waiting: Any, budget: int
) -> bool:
    """Go on with a round: every cluster in turn takes what it reaches; whether all had their turn.

    `grown` and `waiting` are written.
    """
    labels, at = grown.labels, waiting.at
    steps = 0
    while at[1] < len(waiting.head):
        j = at[1]
        entry, before = at[2], at[3]
        if entry == -2:  # a turn begins
            entry, before = waiting.head[j], -1
        while entry >= 0:
            q = waiting.node[entry]
            degree = adjacency.indptr[q + 1] - adjacency.indptr[q]
            if steps > budget:
                at[2], at[3] = entry, before
                return False
            steps += 8 + 3 * degree * (keys.rows.shape[1] + 1)
            stays = False
            if labels[q] == -1:
                key = key_of(q, j, keys)
                stays = key > radius
                if stays:
                    waiting.least[0] = min(waiting.least[0], key)
                else:
                    i = bridge_to(q, j, radius, adjacency, keys, labels, waiting) if lookahead else j
                    labels[q], grown.thresholds[q] = i, radius
                    waiting.radius[i] = max(waiting.radius[i], key_of(q, i, keys))
                    wait(q, i, adjacency, labels, waiting)
                    if i < j:  # its turn is over: the radius rises by one step only
                        waiting.least[0] = min(waiting.least[0], radius)
            following = waiting.next[entry]
            if stays:
                before = entry
            else:
                if before < 0:
                    waiting.head[j] = following
                else:
                    waiting.next[before] = following
                if waiting.tail[j] == entry:
                    waiting.tail[j] = before
            entry = following
        at[1], at[2] = j + 1, -2
    return True


class Growth:
    """Grows clusters from seeds: `labels, thresholds = growth(seeds, centres)`.

    Parameters
    ----------
    graph : CSR array or None
        What `read_graph` gives; None: everybody is everybody's neighbour, and every item goes to the nearest
        centre.
    X, metric
        The items, or given distances with "precomputed".
    rounds : bool
        Whether the radius rises in steps, as in NetScan; without a graph that makes no difference.
    radius_step : float or None
        That step; None: the mean distance of the items, of a sample.
    lookahead : bool
        Whether rounds look ahead at items that could be bridges.

    Attributes
    ----------
    space : ItemSpace
        The items and their distances.
    """

    def __init__(
        self,
        graph: Any,
        X: Any,
        metric: Any,
        *,
        rounds: bool = False,
        radius_step: float | None = None,
        lookahead: bool = True,
    ) -> None:
        self.graph, self.space = graph, ItemSpace(X, metric)
        self._adjacency = None if graph is None else Adjacency.of(graph)
        self._rounds, self._step, self._lookahead = rounds, radius_step, lookahead

    def __call__(self, seeds: Index, centres: Any) -> tuple[Labels, Floats]:
        """The cluster of each item, and the radius at which it was taken; seeds come first, at 0.

        `centres` holds a row for each seed, or items where distances are given. What no seed can reach has
        the label -1 and a radius of infinity.
        """
        seeds, keys = np.asarray(seeds, dtype=np.int64), self.space.keys(centres)
        grown = self._begin(seeds)
        if self._adjacency is None:
            self._to_nearest(centres, grown)
        elif self._rounds:
            self._in_rounds(seeds, centres, keys, grown)
        else:
            self.go_on(seeds, keys, grown)
        return grown.labels, grown.thresholds

    def reach(self, source: int, limit: float = np.inf) -> Floats:
        """The reaching distance from an item: how far from it a path to each must go; above a limit inf."""
        if self.graph is None:
            found = self.space.between(None, np.array([source]))[:, 0]
            return np.where(found <= limit, found, np.inf)
        seeds = np.array([source], dtype=np.int64)
        grown = self._begin(seeds)
        self.go_on(seeds, self.space.keys(self.space.centres_at(seeds)), grown, limit)
        return grown.thresholds

    def within(self, labels: Labels, seeds: Index, centres: Any) -> Floats:
        """The radius at which each cluster, growing from its seed inside of itself, takes each of its items.

        What is left up to any radius is connected, in every cluster.
        """
        if self.graph is None:
            found = np.empty(len(labels))
            for j, members in enumerate(members_of(labels, len(seeds))):
                found[members] = self.space.to_centres(members, centres[[j]])[:, 0]
            return found
        inner = copy.copy(self)
        inner._adjacency, inner._rounds = Adjacency.of(inner_edges(self.graph, labels)), False
        return inner(seeds, centres)[1]

    def go_on(self, nodes: Index, keys: Keys, grown: Grown, limit: float = np.inf) -> None:
        """Let clusters grow from items that are in one, where neighbours are free."""
        assert self._adjacency is not None
        most = int(np.diff(self._adjacency.indptr).max(initial=1))
        heap = Heap.of(max(most, _ROOM))
        begin = 0
        while begin < len(nodes):
            before = begin
            begin = offer_all(nodes, begin, self._adjacency, keys, grown, heap, SLICE)
            heap = heap.grown() if begin == before else heap
        run = spread.for_work(16 * len(grown.labels) if limit == np.inf else len(grown.labels))
        while not run(self._adjacency, keys, grown, heap, limit, SLICE):
            if heap.size[0] + most > len(heap.key):
                heap = heap.grown()

    def _begin(self, seeds: Index) -> Grown:
        n = self.space.n
        labels, thresholds = np.full(n, FREE, dtype=np.int32), np.full(n, np.inf)
        labels[seeds], thresholds[seeds] = np.arange(len(seeds)), 0.0
        return Grown(labels, thresholds, np.full(n, -1, dtype=np.int32), np.zeros(1))

    def _to_nearest(self, centres: Any, grown: Grown) -> None:
        """On the complete graph."""
        chunk = max(1, _CHUNK // len(centres))
        for start in range(0, self.space.n, chunk):
            rows = slice(start, start + chunk)
            found = self.space.to_centres(rows, centres)
            nearest, free = found.argmin(axis=1), grown.labels[rows] == FREE
            grown.labels[rows][free] = nearest[free]
            grown.thresholds[rows][free] = found.min(axis=1)[free]

    def _in_rounds(self, seeds: Index, centres: Any, keys: Keys, grown: Grown) -> None:
        """Algorithm 3 of the chapter, with frontiers that grow and without idle rounds."""
        assert self._adjacency is not None
        k, indptr = len(seeds), self._adjacency.indptr
        room = int(indptr[-1]) + 1  # who is taken offers each neighbour once
        waiting = Waiting(
            node=np.empty(room, dtype=np.int64),
            next=np.empty(room, dtype=np.int64),
            head=np.full(k, -1, dtype=np.int64),
            tail=np.full(k, -1, dtype=np.int64),
            radius=np.array([key_of(seed, j, keys) for j, seed in enumerate(seeds.tolist())]),
            at=np.zeros(4, dtype=np.int64),
            least=np.zeros(1),
        )
        for j, seed in enumerate(seeds.tolist()):
            wait(seed, j, self._adjacency, grown.labels, waiting)
        radius, step = self._first_radius(centres), self.radius_step
        while (waiting.head >= 0).any():
            waiting.at[1:], waiting.least[0] = (0, -2, -1), np.inf
            while not one_round(radius, self._lookahead, self._adjacency, keys, grown, waiting, SLICE):
                pass
            least = float(waiting.least[0])
            if math.isfinite(least):
                steps = max(1, math.ceil((least - radius) / step)) if step > 0 else 0
                radius = max(radius + step * steps, least)  # at least, whatever the rounding

    def _first_radius(self, centres: Any) -> float:
        """Half the least distance between centres: below it nobody can be torn between two."""
        apart = self.space.between_centres(centres)
        np.fill_diagonal(apart, np.inf)
        return 0.5 * float(apart.min()) if len(apart) > 1 else 0.0

    @property
    def radius_step(self) -> float:
        """By how much the radius rises from round to round."""
        if self._step is None:
            n = self.space.n
            some = check_random_state(0).permutation(n)[:_SAMPLE]
            apart = self.space.between(some, some)
            self._step = float(apart.sum()) / max(1, len(some) * (len(some) - 1))
        return self._step
