"""Clusters that grow from seeds along a graph: of the items that touch one the nearest to its centre is next.

Continuous growth takes items from a heap in the order of that distance (seeded region growing). Rounds, as in
NetScan, raise a radius in steps, and look ahead where an item could be a bridge for several clusters. Time
O(E log E) for E edges (rounds: O(E) each), memory O(n + E). From one seed the thresholds are the reaching
distances.
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


class Grown(NamedTuple):
    """How far clusters have grown; all arrays are written."""

    labels: Any
    thresholds: Any  # the radius at which each item was taken
    offered: Any  # the cluster that each item was last offered to
    level: Any  # that radius now

    @classmethod
    def of(cls, labels: Labels) -> Grown:
        """From these labels on: who has one was taken at 0."""
        thresholds = np.where(labels >= 0, 0.0, np.inf)
        return cls(labels, thresholds, np.full(len(labels), -1, dtype=np.int32), np.zeros(1))


class Heap(NamedTuple):
    """Who could come next, least key first and of equal ones the lowest cluster; all arrays are written."""

    key: Any
    cluster: Any
    node: Any
    size: Any


@kernel(inline=True)
def push(key: float, cluster: int, node: int, heap: Heap) -> None:
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
def drop_first(heap: Heap) -> None:
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


@kernel
def spread(adjacency: Any, keys: Any, grown: Grown, heap: Heap, limit: float, budget: int) -> bool:
    """Let clusters grow up to a radius, best first; whether that is done. Writes `grown` and the heap.

    Entries with a key below 0 are items that have a label already, and grow from there.
    """
    steps = 0
    while steps < budget:
        if heap.size[0] == 0 or heap.key[0] > limit:
            return True
        key, j, x = heap.key[0], heap.cluster[0], heap.node[0]
        drop_first(heap)
        steps += 8
        if grown.labels[x] == -1:
            grown.level[0] = max(grown.level[0], key)
            grown.labels[x], grown.thresholds[x] = j, grown.level[0]
        elif key >= 0:
            continue
        for e in range(adjacency.indptr[x], adjacency.indptr[x + 1]):
            y = adjacency.indices[e]
            if grown.labels[y] == -1 and grown.offered[y] != j:
                grown.offered[y] = j
                push(key_of(y, j, keys), j, y, heap)
                steps += keys.rows.shape[1] + 8
    return False


class Rounds(NamedTuple):
    """The members of each cluster in the order in which they were taken; all arrays are written."""

    following: Any  # the next member after each; -1: none yet
    first: Any
    last: Any
    radius: Any  # of each cluster so far
    at: Any  # the cluster whose turn it is, and its member
    least: Any  # the least distance that was above the radius in this round


@kernel
def bridge_to(q: int, j: int, radius: float, adjacency: Any, keys: Any, labels: Any, radii: Any) -> int:
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
        if i < 0 or key_of(q, i, keys) > radius:
            continue
        key = key_of(q, i, keys)
        cost = key_of(alone, i, keys) if n_alone == 1 else key
        if n_alone > 1:  # by how much the cluster would grow
            for f in range(adjacency.indptr[q], adjacency.indptr[q + 1]):
                u = adjacency.indices[f]
                if labels[u] == -1 and adjacency.indptr[u + 1] - adjacency.indptr[u] == 1:
                    cost = max(cost, key_of(u, i, keys))
            cost = max(0.0, cost - radii[i])
        if cost < best_cost or (cost == best_cost and (key < best_key or (key == best_key and i < best))):
            best, best_cost, best_key = i, cost, key
    return best


@kernel
def one_round(
    radius: float, lookahead: bool, adjacency: Any, keys: Any, grown: Grown, rounds: Rounds, budget: int
) -> bool:
    """Go on with a round: every cluster in turn takes what it reaches; whether all had their turn.

    `grown` and `rounds` are written.
    """
    labels, at, steps = grown.labels, rounds.at, 0
    while at[0] < len(rounds.first):
        j = at[0]
        x = rounds.first[j] if at[1] < 0 else at[1]
        while x >= 0:
            if steps > budget:
                at[1] = x
                return False
            steps += 8
            for e in range(adjacency.indptr[x], adjacency.indptr[x + 1]):
                q = adjacency.indices[e]
                if labels[q] != -1:
                    continue
                steps += 4 * keys.rows.shape[1] + 8
                key = key_of(q, j, keys)
                if key > radius:
                    rounds.least[0] = min(rounds.least[0], key)
                    continue
                i = bridge_to(q, j, radius, adjacency, keys, labels, rounds.radius) if lookahead else j
                labels[q], grown.thresholds[q] = i, radius
                rounds.radius[i] = max(rounds.radius[i], key_of(q, i, keys))
                rounds.following[rounds.last[i]] = q
                rounds.last[i] = q
                if i < j:  # its turn is over: the radius rises by one step only
                    rounds.least[0] = min(rounds.least[0], radius)
            x = rounds.following[x]
        at[0], at[1] = j + 1, -1
    return True


class Growth:
    """Grows clusters from seeds: `labels, thresholds = growth(seeds, centres)`.

    `graph` is what `read_graph` gives, or None: everybody is everybody's neighbour, and goes to the nearest
    centre. With `rounds` the radius rises by `radius_step` (None: the mean distance in a sample), and
    `lookahead` cares for bridges. `space` has the items and their distances.
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
        self._adjacency: Any = None if graph is None else Adjacency.of(graph)
        self._rounds, self._step, self._lookahead = rounds, radius_step, lookahead

    def __call__(self, seeds: Index, centres: Any) -> tuple[Labels, Floats]:
        """The cluster of each item, and the radius at which it was taken; seeds come first, at 0.

        `centres` holds a row for each seed, or items where distances are given. What no seed can reach has
        the label -1 and a radius of infinity.
        """
        grown = self._begin(seeds)
        if self._adjacency is None:
            self._to_nearest(centres, grown)
        elif self._rounds:
            self._in_rounds(seeds, centres, grown)
        else:
            self.go_on(seeds, self.space.keys(centres), grown)
        return grown.labels, grown.thresholds

    def reach(self, source: int, limit: float = np.inf) -> Floats:
        """The reaching distance from an item: how far from it a path to each must go; above a limit inf."""
        if self._adjacency is None:
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
        m, clusters = len(nodes), grown.labels[nodes]
        order = np.argsort(clusters, kind="stable")
        room = m + len(self._adjacency.indices)  # who is taken offers each neighbour once
        heap = Heap(
            np.empty(room), np.empty(room, np.int32), np.empty(room, np.int64), np.full(1, m, np.int64)
        )
        heap.key[:m], heap.cluster[:m], heap.node[:m] = -1.0, clusters[order], nodes[order]
        run = spread.for_work(16 * len(grown.labels))
        while not run(self._adjacency, keys, grown, heap, limit, SLICE):
            pass

    def _begin(self, seeds: Index) -> Grown:
        labels = np.full(self.space.n, FREE, dtype=np.int32)
        labels[seeds] = np.arange(len(seeds))
        return Grown.of(labels)

    def _to_nearest(self, centres: Any, grown: Grown) -> None:
        """On the complete graph."""
        chunk = max(1, _CHUNK // len(centres))
        for start in range(0, self.space.n, chunk):
            rows = slice(start, start + chunk)
            found = self.space.to_centres(rows, centres)
            nearest, free = found.argmin(axis=1), grown.labels[rows] == FREE
            grown.labels[rows][free] = nearest[free]
            grown.thresholds[rows][free] = found.min(axis=1)[free]

    def _in_rounds(self, seeds: Index, centres: Any, grown: Grown) -> None:
        """Algorithm 3 of the chapter, with frontiers that grow and without idle rounds."""
        keys, k = self.space.keys(centres), len(seeds)
        own = np.array([key_of(seed, j, keys) for j, seed in enumerate(np.asarray(seeds).tolist())])
        following, first = np.full(self.space.n, -1), np.array(seeds, dtype=np.int64)
        rounds = Rounds(following, first, first.copy(), own, np.zeros(2, np.int64), np.full(1, -np.inf))
        # below half the least distance between centres nobody can be torn between two
        apart = self.space.between_centres(centres)
        np.fill_diagonal(apart, np.inf)
        radius, step = 0.5 * float(apart.min()) if k > 1 else 0.0, self._step
        if step is None:
            some = check_random_state(0).permutation(self.space.n)[:_SAMPLE]
            step = float(self.space.between(some, some).sum()) / max(1, len(some) * (len(some) - 1))
        while rounds.least[0] < np.inf:
            rounds.at[:], rounds.least[0] = (0, -1), np.inf
            run = one_round.for_work(16 * len(following))
            while not run(radius, self._lookahead, self._adjacency, keys, grown, rounds, SLICE):
                pass
            least = float(rounds.least[0])
            if math.isfinite(least):
                steps = (least - radius) / step if step > 0 else np.inf
                rise = step * max(1, math.ceil(steps)) if steps < np.inf else 0.0
                radius = max(radius + rise, least)  # at least, whatever the rounding
