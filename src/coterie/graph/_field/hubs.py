"""Distances part by part, joined by hubs: vertices with neighbours in another part.

The distances inside a part are those of its own vertices and of its hubs; from part to part all ways lead
through two hubs. Of K-SD that is an overestimate: paths that cross elsewhere are not seen. Of shortest paths
it is exact if all such vertices are hubs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.utils import check_random_state

from coterie._arrays import Floats, Index
from coterie.graph._field.disjoint_paths import fold, path_distances, refuse_many
from coterie.graph._field.lengths import check_rules, read_lengths


class HubDistances(NamedTuple):
    """Distances between all items by way of hubs."""

    distances: Floats  # infinite where no path leads
    hub_indices: Index
    part: Index  # of each item


def hub_distances(
    graph: Any,
    n_paths: int = 5,
    *,
    n_partitions: int = 8,
    hubs_per_pair: Any = "all",
    distance: str = "ksd",
    random_state: Any = None,
) -> HubDistances:
    """Distances along several paths, worked out in parts of a graph and joined by hubs.

    METIS cuts the graph (``pip install "coterie[solvers]"``), and parts that fall apart are split. Hubs have
    neighbours in another part: all such vertices, or for each two parts that touch those of high degree whose
    edges lead into both by equal numbers. A few hubs are fast, and wrong where there is no clear cut. `graph`
    has any form that `coterie.adjacency.read_weights` reads; `distance` is as in `EMC`.

    Examples
    --------
    >>> from coterie.graph import hub_distances
    >>> path = [(i, i + 1, 1.0) for i in range(5)]
    >>> found = hub_distances(path, 1, n_partitions=2, random_state=0)
    >>> found.hub_indices, found.distances[0].tolist()
    (array([2, 3]), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    """
    check_rules(n_paths=n_paths, n_partitions=n_partitions, hubs_per_pair=hubs_per_pair, distance=distance)
    graph = read_lengths(graph)
    n = graph.shape[0]
    refuse_many(n)
    part = _parts(graph, min(n_partitions, n), random_state)
    if n_partitions == 1:
        return HubDistances(path_distances(graph, distance, n_paths), np.empty(0, dtype=np.int64), part)
    edges = graph.tocoo()
    hubs = _hubs(edges.row, part, part[edges.col], hubs_per_pair)
    number = np.full(n, -1)
    number[hubs] = np.arange(len(hubs))
    among = np.full((len(hubs), len(hubs)), np.inf)
    members, inside = [], []
    crossing = part[edges.row] != part[edges.col]
    for own in range(int(part.max(initial=-1)) + 1):
        guests = np.unique(edges.row[crossing & (part[edges.col] == own) & (number[edges.row] >= 0)])
        members.append(np.sort(np.append(np.flatnonzero(part == own), guests)))
        inside.append(path_distances(graph[members[-1]][:, members[-1]].tocsr(), distance, n_paths))
        at = np.flatnonzero(number[members[-1]] >= 0)
        cells = np.ix_(number[members[-1][at]], number[members[-1][at]])
        among[cells] = np.minimum(among[cells], inside[-1][np.ix_(at, at)])
    if len(hubs):
        i, j = np.nonzero(np.isfinite(among) & ~np.eye(len(hubs), dtype=bool))
        among = dijkstra(sparse.csr_matrix((among[i, j], (i, j)), among.shape))
    return HubDistances(_joined(n, part, members, inside, number, among), hubs, part)


def _joined(
    n: int, part: Index, members: list[Index], inside: list[Floats], number: Index, among: Floats
) -> Floats:
    """All distances: out of a part to a hub, from hub to hub, into a part; or inside one part."""
    to_hubs = np.full((n, len(among)), np.inf)
    D = np.full((n, n), np.inf)
    for vertices, far in zip(members, inside, strict=True):
        for column in np.flatnonzero(number[vertices] >= 0):
            there = far[:, column, None] + among[number[vertices[column]]]
            to_hubs[vertices] = np.minimum(to_hubs[vertices], there)
    for own, (vertices, far) in enumerate(zip(members, inside, strict=True)):
        mine = part[vertices] == own
        block = np.full((n, int(mine.sum())), np.inf)
        block[vertices[mine]] = far[np.ix_(mine, mine)]
        for column in np.flatnonzero(number[vertices] >= 0):
            np.minimum(block, to_hubs[:, number[vertices[column]], None] + far[column, mine], out=block)
        D[:, vertices[mine]] = block
    fold(D, np.minimum)
    return D


def _parts(graph: Any, n_partitions: int, random_state: Any) -> Index:
    """The part of each vertex; each part hangs together."""
    part = np.zeros(graph.shape[0], dtype=np.int64)
    if n_partitions > 1 and graph.nnz:
        try:
            import pymetis
        except ImportError:
            raise ImportError('n_partitions needs pymetis: pip install "coterie[solvers]"') from None
        seed = int(check_random_state(random_state).randint(1, 2**31 - 1))
        cut = pymetis.part_graph(
            n_partitions,
            pymetis.CSRAdjacency(graph.indptr, graph.indices),
            options=pymetis.Options(seed=seed),
        )
        part = np.asarray(cut.vertex_part, dtype=np.int64)
    edges = graph.tocoo()
    kept = part[edges.row] == part[edges.col]
    whole = sparse.coo_matrix((edges.data[kept], (edges.row[kept], edges.col[kept])), graph.shape)
    return connected_components(whole, directed=False)[1].astype(np.int64)


def _hubs(tail: Index, part: Index, into: Index, hubs_per_pair: Any) -> Index:
    """Vertices with neighbours in another part, or the best; `into`: the part at the head of each arc."""
    crossing = part[tail] != into
    if hubs_per_pair == "all":
        return np.unique(tail[crossing]).astype(np.int64)
    shape = len(part), int(part.max()) + 1
    counts = sparse.coo_matrix((np.ones(len(tail)), (tail, into)), shape).tocsr()
    edges = counts.tocoo()  # of a vertex into a part
    out = edges.col != part[edges.row]
    vertex, other, many = edges.row[out], edges.col[out], edges.data[out]
    home = np.asarray(counts[vertex, part[vertex]]).ravel()
    worth = np.bincount(tail)[vertex] * np.minimum(many, home) / np.maximum(many, home)
    pair = np.minimum(part[vertex], other) * shape[1] + np.maximum(part[vertex], other)
    order, place = np.lexsort((vertex, -worth, pair)), np.arange(len(vertex))
    first = np.append(True, np.diff(pair[order]) != 0)[: len(order)]
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    return np.unique(vertex[order[rank < hubs_per_pair]]).astype(np.int64)
