"""Compiled: whether a cluster stays connected when one of its items leaves.

The neighbours of the item in its cluster are sought from each other, all at once: the search ends as soon as
they have met, or the smallest part has been seen whole. On a map that is a walk around the item.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import Index
from coterie._compiled import kernel


class Adjacency(NamedTuple):
    """A symmetric graph as the compiled loops take it."""

    indptr: Index
    indices: Index

    @classmethod
    def of(cls, graph: Any) -> Adjacency:
        """Of a CSR matrix."""
        return cls(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))


class SearchRoom(NamedTuple):
    """Where the search notes what it has seen; written by every call, ready for the next one."""

    seen: Index  # the call that saw an item, and from which neighbour it came
    source: Index
    queue: Index
    parent: Index  # of the neighbours: a forest of those that have met, and items each still has to look at
    pending: Index
    call: Index  # how many calls there were, and how many items the last one looked at

    @classmethod
    def of(cls, adjacency: Adjacency) -> SearchRoom:
        """Room for a graph."""
        n = len(adjacency.indptr) - 1
        most = int(np.diff(adjacency.indptr).max(initial=1))
        zeros = [np.zeros(size, dtype=np.int64) for size in (n, n, n, most, most, 2)]
        return cls(*zeros)


@kernel
def stays_connected(item: int, labels: Any, adjacency: Adjacency, room: SearchRoom) -> bool:
    """Whether the cluster of an item is connected without it, given that it is with it; `room` is written."""
    seen, source, queue, parent, pending = room.seen, room.source, room.queue, room.parent, room.pending
    room.call[0] += 1
    call, own = room.call[0], labels[item]
    seen[item] = call
    source[item] = -1
    n_parts = end = 0
    for e in range(adjacency.indptr[item], adjacency.indptr[item + 1]):
        v = adjacency.indices[e]
        if labels[v] == own and seen[v] != call:
            seen[v], source[v], queue[end] = call, n_parts, v
            parent[n_parts], pending[n_parts] = n_parts, 1
            n_parts += 1
            end += 1
    begin = room.call[1] = 0
    while n_parts > 1:
        u = queue[begin]
        begin += 1
        a = source[u]
        while parent[a] != a:
            a = parent[a]
        for e in range(adjacency.indptr[u], adjacency.indptr[u + 1]):
            v = adjacency.indices[e]
            if labels[v] != own or v == item:
                continue
            if seen[v] != call:
                seen[v], source[v], queue[end] = call, a, v
                end += 1
                pending[a] += 1
                continue
            b = source[v]
            while parent[b] != b:
                b = parent[b]
            if a != b:
                parent[b] = a
                pending[a] += pending[b]
                n_parts -= 1
        pending[a] -= 1
        room.call[1] = begin
        if pending[a] == 0 and n_parts > 1:
            return False
    return True
