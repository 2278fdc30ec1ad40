"""How far vertices are apart along edge-disjoint paths, which count as resistors side by side do.

K-SD takes O(k |E| log(k |E|)) from each source. Its queue keeps all candidates: a label that loses an arc to
another one falls back on its next best.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from coterie._arrays import Floats, Index
from coterie._compiled import SLICE, in_slices, kernel, over_chunks
from coterie.base import whole
from coterie.graph._field.lengths import check_rules, read_lengths

# Distances of more items are refused.
MOST_ITEMS = 20_000
# Steps of a compiled loop for each label and arc, roughly: the queue is deep.
_STEPS = 20
# Rows of a table that are copied at a time.
_STRIP = 256


class Arcs(NamedTuple):
    """Both directions of each edge, by their tails: those from v are start[v]:start[v + 1]."""

    start: Index
    head: Index
    length: Floats
    reverse: Index  # the arc the other way


def ksd_paths(graph: Any, source: int, n_paths: int) -> Floats:
    """Lengths of edge-disjoint paths from one item to all others, by K-SD: of shape (n_items, n_paths).

    Labels set out along the shortest arcs of the source and grow trees at the same time; an arc, one
    direction of an edge, belongs to the label that gets there first. These are strict rules: as printed, two
    labels may take the same arc. Infinite where there is no (further) path, 0 for the source; `n_paths=1` is
    the shortest path. `graph` has any form that `coterie.adjacency.read_weights` reads.

    Examples
    --------
    >>> from coterie.graph import ksd_paths
    >>> ksd_paths([(0, 1, 1.0), (1, 2, 1.0), (0, 2, 3.0)], 0, 2)
    array([[0., 0.],
           [1., 4.],
           [2., 3.]])
    """
    check_rules(n_paths=n_paths)
    read = read_lengths(graph)
    if not whole(0, read.shape[0] - 1).holds(source):
        raise ValueError(f"source={source!r}, but items are numbered 0 to {read.shape[0] - 1}.")
    if n_paths == 1:  # it need not begin with the shortest arc
        return dijkstra(read, indices=source)[:, None]
    lengths = ksd_trees(arcs_of(read), source, n_paths)[0]
    lengths[source] = 0.0
    return lengths


def path_distances(graph: Any, how: str, k: int) -> Floats:
    """Distances between all vertices of a symmetric CSR graph; infinite where there is no path.

    K-SD depends on the end that it starts from, so that the mean of both is taken. It may miss a way through
    an arc without a label: no distance is above that of the shortest path.
    """
    n, arcs = graph.shape[0], arcs_of(graph)
    k = min(k, int(np.diff(arcs.start).max(initial=1)))  # no vertex has more ways out
    steps, D = _STEPS * k * max(graph.nnz, 1), np.zeros((n, n))

    def shortest(start: int, stop: int) -> None:
        D[start:stop] = dijkstra(graph, indices=np.arange(start, stop))

    def ksd(start: int, stop: int) -> None:
        ksd_rows.for_work(steps * (stop - start))(start, stop, k, arcs, D)
        np.minimum(D[start:stop], dijkstra(graph, indices=np.arange(start, stop)), out=D[start:stop])

    def greedy(start: int, stop: int) -> None:
        for a, b in in_slices(n - stop, steps):
            greedy_row.for_work(steps * (b - a))(start, stop + a, stop + b, k, arcs, D)

    if how == "greedy":
        over_chunks(greedy, n, 1)
        return D
    over_chunks(shortest if how == "shortest" or k == 1 else ksd, n, max(1, SLICE // steps))
    fold(D, lambda there, back: 0.5 * (there + back))
    return D


def fold(D: Floats, of_both: Callable[[Floats, Floats], Floats]) -> None:
    """Make a table symmetric in place, in strips: of each two cells that mirror each other take one value."""
    for start in range(0, len(D), _STRIP):
        rows = slice(start, start + _STRIP)
        D[rows, start:] = both = of_both(D[rows, start:], D[start:, rows].T)
        D[start:, rows] = both.T


def arcs_of(graph: Any) -> Arcs:
    """The arcs of a symmetric CSR graph."""
    graph.sort_indices()
    numbers = sparse.csr_matrix((np.arange(graph.nnz), graph.indices, graph.indptr), graph.shape)
    start, head = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    return Arcs(start, head, graph.data.astype(np.float64), numbers.T.tocsr().data.astype(np.int64))


def refuse_many(n: int) -> None:
    """Raise where the table of distances would be too large."""
    if n > MOST_ITEMS:
        raise ValueError(
            f"the distances of {n:,} items are a table of {8e-9 * n * n:.1f} GB; the limit is {MOST_ITEMS:,} "
            f"items ({8e-9 * MOST_ITEMS**2:.1f} GB). PCKMeans and MPCKMeans need no such table."
        )


def ksd_trees(arcs: Arcs, source: int, k: int) -> tuple[Floats, Index]:
    """Lengths of the paths of each label, and the last arc of each (-1: there is no path)."""
    n, m = len(arcs.start) - 1, len(arcs.head)
    lengths, parents = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    ksd_tree.for_work(_STEPS * k * m)(source, arcs, lengths, parents, np.empty(m, dtype=np.int64))
    return lengths, parents


@kernel
def ksd_tree(source: int, arcs: Arcs, lengths: Floats, parents: Index, locked: Index) -> None:
    """K-SD from a source, a column a label; the last three are written."""
    lengths[:] = np.inf
    parents[:] = -1
    locked[:] = 0
    own = [(arcs.length[e], arcs.head[e], e) for e in range(arcs.start[source], arcs.start[source + 1])]
    heapify(own)
    queue = []
    for label in range(min(lengths.shape[1], len(own))):
        key, v, e = heappop(own)
        queue.append((key, label, v, e))
    while len(queue) > 0:
        # of all labels, what is nearest becomes final, and its arc is locked for the others
        key, label, v, e = heappop(queue)
        if locked[e] or lengths[v, label] < np.inf:
            continue
        lengths[v, label], parents[v, label], locked[e] = key, e, 1
        for f in range(arcs.start[v], arcs.start[v + 1]):
            u = arcs.head[f]
            if u != source and not locked[f] and lengths[u, label] == np.inf:
                heappush(queue, (key + arcs.length[f], label, u, f))


@kernel
def ksd_rows(first: int, last: int, k: int, arcs: Arcs, D: Floats) -> None:
    """Distances from some sources along k disjoint paths each; these rows of `D` are written."""
    n = D.shape[1]
    lengths, parents = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    locked = np.empty(len(arcs.head), dtype=np.int64)
    for source in range(first, last):
        ksd_tree(source, arcs, lengths, parents, locked)
        for v in range(n):
            total = 0.0
            for label in range(k):
                total += 1.0 / lengths[v, label]
            D[source, v] = 1.0 / total if total > 0 else np.inf
        D[source, source] = 0.0


@kernel
def greedy_row(source: int, first: int, last: int, k: int, arcs: Arcs, D: Floats) -> None:
    """The same by shortest paths, one after the other, to some targets; their cells of `D` are written."""
    n, m = D.shape[1], len(arcs.head)
    far, parent = np.empty(n), np.empty(n, dtype=np.int64)
    for target in range(first, last):
        total, gone = 0.0, np.zeros(m, dtype=np.int64)
        for _ in range(k):
            far[:] = np.inf
            queue = [(0.0, source, -1)]
            while len(queue) > 0 and far[target] == np.inf:
                key, v, e = heappop(queue)
                if far[v] < np.inf:
                    continue
                far[v], parent[v] = key, e
                for f in range(arcs.start[v], arcs.start[v + 1]):
                    if not gone[f] and far[arcs.head[f]] == np.inf:
                        heappush(queue, (key + arcs.length[f], arcs.head[f], f))
            if far[target] == np.inf:
                break
            total += 1.0 / far[target]
            e = parent[target]
            while e >= 0:
                gone[e] = gone[arcs.reverse[e]] = 1
                e = parent[arcs.head[arcs.reverse[e]]]
        D[source, target] = D[target, source] = 1.0 / total if total > 0 else np.inf
