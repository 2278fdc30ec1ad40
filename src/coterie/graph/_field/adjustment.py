"""Edges between the ends of a must-link become shorter, those between the ends of a cannot-link longer.

One search for hops and one for lengths from each item that a pair names, then O(|E|) for each pair. The
searches see the graph as it was, so that the order of the pairs does not matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from coterie._arrays import Floats, Index
from coterie.base import warn_user
from coterie.constraints import as_constraints
from coterie.constraints._model import StatedPairs, stated_pairs
from coterie.graph._field import lengths as field

# Groups are written out as pairs, and each of these takes time in the number of edges.
_MOST_PAIRS = 100_000
# The least effect on an edge with norm="minmax"; lengths change at most by e to the power of the other.
_LEAST, _MOST_CHANGE = 0.5, 30.0


class AdjustedGraph(NamedTuple):
    """A graph whose edges constraints have bent."""

    graph: Any  # CSR matrix of the new lengths, edges that pairs added among them
    edge_ratio: Any  # CSR matrix of what alpha is raised to: below 0 an edge became shorter
    n_unaffected: int  # how many pairs changed no edge


def adjust_weights(
    graph: Any,
    constraints: Any,
    *,
    X: Any = None,
    metric: str = "euclidean",
    alpha: float = 1.6,
    constraint_edges: str = "must",
    norm: str = "max",
    average: str = "affecting",
) -> AdjustedGraph:
    """Shorten the edges between the ends of must-links, and lengthen those between the ends of cannot-links.

    A pair affects an edge if a step along it, counted in hops, leads nearer to one end of the pair and away
    from the other. It does the more, the nearer the edge is to its axis; a cannot-link does most halfway. The
    new length is ``w * alpha ** (escalation - reduction)``.

    `graph` has any form that `coterie.adjacency.read_weights` reads. The lengths of the axes are taken from
    `X`, or else are those of the edges or shortest paths between the ends. The rest is as in `EMC`.

    Examples
    --------
    >>> from coterie import Constraints
    >>> from coterie.graph import adjust_weights
    >>> path = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)]
    >>> found = adjust_weights(path, Constraints(cannot_link=[(1, 3)], n_items=5))
    >>> [float(found.graph[i, i + 1]) for i in range(4)]
    [1.0, 1.6, 1.6, 1.0]
    """
    field.check_rules(alpha=alpha, constraint_edges=constraint_edges, norm=norm, average=average)
    graph = field.read_lengths(graph)
    n, mean = graph.shape[0], field.mean_length(graph.data)
    known = as_constraints(constraints, n, counted="the graph has {} nodes")
    pairs = stated_pairs(known, _MOST_PAIRS, hard=True)
    acts = pairs.strength > 0
    if not acts.any():
        return AdjustedGraph(graph, 0.0 * graph, 0)
    pairs = StatedPairs(pairs.ij[acts], pairs.cannot[acts], pairs.strength[acts])
    ends = pairs.ij.T
    if X is None:
        axis = _lengths_of(graph, *ends)
    else:
        X = field.read_points(X, metric)
        if X.shape[0] != n:
            raise ValueError(
                f"X has {X.shape[0]} rows, but the graph has {n} nodes; they are the same items."
            )
        axis = field.pair_lengths(X, metric, *ends)
    # in one place: a must-link has nothing to do, a cannot-link goes against all lengths
    none = axis < 10 * field.TINY * mean
    clash = none & pairs.cannot
    if clash.any():
        names = [known.item_name(item) for item in pairs.ij[np.argmax(clash)].tolist()]
        warn_user(f"{' and '.join(names)} are in one place, yet must not share a cluster.", UserWarning)
    # a must-link that joins two parts of a graph is as long as an edge is otherwise; a cannot-link joins none
    joins = np.isfinite(axis)
    axis = np.where(joins, np.maximum(axis, field.TINY * mean), mean)
    axis[clash] = graph.data.min(initial=mean, where=graph.data >= 10 * field.TINY * mean)
    if constraint_edges != "none":
        new = ~pairs.cannot | (joins & (constraint_edges == "both"))
        old = sparse.triu(graph).tocoo()  # of what is listed twice the first is kept
        i, j = np.append(old.row, ends[0, new]), np.append(old.col, ends[1, new])
        graph = field.symmetric_graph(n, i, j, np.append(old.data, axis[new]))
    edges = sparse.triu(graph).tocoo()
    n_affecting, ratio = _ratios(graph, edges, pairs, axis, np.flatnonzero(~none | clash), norm, average)
    change = np.exp(np.clip(ratio * np.log(alpha), -_MOST_CHANGE, _MOST_CHANGE))
    bent, told = (
        field.symmetric_graph(n, edges.row, edges.col, data) for data in (edges.data * change, ratio)
    )
    return AdjustedGraph(bent, told, len(axis) - n_affecting)


def _ratios(
    graph: Any, edges: Any, pairs: StatedPairs, axis: Floats, acting: Index, norm: str, average: str
) -> tuple[int, Floats]:
    """How many pairs affect an edge at all, and what alpha is raised to at each edge."""
    items, place = np.unique(pairs.ij, return_inverse=True)
    place = place.reshape(-1, 2)
    far = dijkstra(graph, indices=items)
    hops = dijkstra(graph, indices=items, unweighted=True)
    u, v = edges.row, edges.col
    total, count, n_affecting = np.zeros((2, len(u))), np.zeros((2, len(u))), 0
    for row in acting.tolist():
        (s, t), cannot, w = place[row], int(pairs.cannot[row]), axis[row]
        with np.errstate(invalid="ignore"):  # no step leads anywhere in another part of the graph
            hit = np.flatnonzero((hops[s, u] - hops[s, v]) * (hops[t, u] - hops[t, v]) < 0)
        if not len(hit):
            continue
        n_affecting += 1
        from_s, from_t = (far[end][[u[hit], v[hit]]] for end in (s, t))
        effect = w / (from_s + from_t).sum(axis=0)
        if cannot:
            effect /= np.abs(from_s - from_t).sum(axis=0) / w + 1.0
        # an average over what affects an edge is a vote by strength; the paper's is over all pairs
        voted = average == "affecting" or norm == "none"
        total[cannot, hit] += _normed(effect, norm) * (pairs.strength[row] if voted else 1.0)
        count[cannot, hit] += pairs.strength[row]
    if average == "all":
        count[:] = np.bincount(pairs.cannot, minlength=2)[:, None]
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    return n_affecting, mean[1] - mean[0]


def _normed(effect: Floats, norm: str) -> Floats:
    """What a pair does to the edges that it affects, on the scale asked for."""
    if norm == "none":
        return effect
    most, spread = effect.max(), np.ptp(effect)
    if norm == "max":
        return effect / most
    if spread <= 1e-12 * most:
        return np.ones(len(effect))
    return _LEAST + (1.0 - _LEAST) * (effect - effect.min()) / spread


def _lengths_of(graph: Any, i: Index, j: Index) -> Floats:
    """The lengths of the edges between some pairs, or of the shortest paths where there is no edge."""
    length = np.asarray(graph[i, j]).ravel()
    lacking = length == 0
    if lacking.any():
        sources, place = np.unique(i[lacking], return_inverse=True)
        length[lacking] = dijkstra(graph, indices=sources)[place, j[lacking]]
    return length
