"""What a connectivity graph rules out before any merge: torn must-links, islands without a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie._words import count_of, format_number, listed
from coterie.adjacency import islands, pieces
from coterie.constraints import Constraints
from coterie.constraints._model import shortest_tree
from coterie.exceptions import InfeasibleConstraintsError
from coterie.hierarchy._linkage.state import Index
from coterie.hierarchy._linkage.vetoes import Rules

_MOST_NAMED = 20


def island_sizes(graph: Any, known: Constraints, rules: Rules, k: int | None) -> tuple[int, ...]:
    """Items on each island, largest first; raises where they need more than k clusters (None: any number)."""
    n_islands, at = islands(graph)
    count = np.bincount(at)
    sizes = tuple(np.sort(count)[::-1].tolist())
    if k is None:
        return sizes
    way_out = 'add edges between the islands, or take on_dead_end="warn".'
    if n_islands > k:
        alone = known.item_name(int(np.argmax(at == np.argmin(count))))
        raise InfeasibleConstraintsError(
            f"the connectivity has {n_islands:,} islands (of {listed(map(str, sizes))} items; the smallest "
            f"holds item {alone}), so {count_of(k, 'connected cluster')} cannot hold all items. Ask for at "
            f"least {n_islands:,} clusters, {way_out}"
        )
    first = np.unique(rules.unit, return_index=True)[1]  # an item of each unit
    needed = np.ceil(np.bincount(at[first], rules.load) / rules.cap).astype(np.int64)
    needed = np.sort(np.maximum(needed, 1))[::-1]
    if needed.sum() > k:
        parts = " + ".join(map(str, needed[:8].tolist())) + (" + ..." if n_islands > 8 else "")
        raise InfeasibleConstraintsError(
            f"the connectivity has {count_of(n_islands, 'island')}, which need {parts} = {needed.sum():,} "
            f"clusters of at most {format_number(rules.cap)}: more than n_clusters={k}. Raise one of "
            f"them, {way_out}"
        )
    return sizes


def check_links_on_map(graph: Any, known: Constraints, unit: Index) -> None:
    """Raise if a must-link component lies in several pieces of the connectivity."""
    if unit.max(initial=-1) + 1 == len(unit):
        return
    n_pieces, piece = pieces(graph, unit)
    if n_pieces == unit.max() + 1:
        return
    # the first item whose piece is not that of the first item of its unit
    first = np.unique(unit, return_index=True)[1]
    j = int(np.argmax(piece != piece[first[unit]]))
    i = int(first[unit[j]])
    named = f"{known.item_name(i)} and {known.item_name(j)} must be in one cluster"
    # from the whole piece of i to the nearest item of the unit outside of it
    way = _shortest_way(graph, i, np.flatnonzero((unit == unit[i]) & (piece != piece[i])), piece)
    if way is None:
        raise InfeasibleConstraintsError(
            f"{named} (must-links or equal labels), but no way on the connectivity joins them. Add edges, or "
            "drop what links them."
        )
    between = [known.item_name(item) for item in way[1:-1]]
    message = ", ".join(between[:_MOST_NAMED]) + (", ..." if len(between) > _MOST_NAMED else "")
    raise ValueError(
        f"{named}, but they do not touch on the connectivity, even through items linked to them. Must-link "
        f"what lies between, too (a shortest way goes through {message}), or add an edge for the must-link, "
        "if "
        "a cluster may hang together by it."
    )


def _shortest_way(graph: Any, i: int, targets: Index, piece: Any) -> list[int] | None:
    """A shortest way from the piece of i to any of the targets, both ends included."""
    reachable = connected_components(graph, directed=False)[1]
    targets = targets[reachable[targets] == reachable[i]]
    if not len(targets):
        return None
    nodes = np.flatnonzero(reachable == reachable[i])
    part = sparse.csr_array(graph)[nodes][:, nodes]
    start = int(np.searchsorted(nodes, i))
    parent, depth = shortest_tree(part.indptr.astype(np.int64), part.indices.astype(np.int64), start)
    at = int(min(np.searchsorted(nodes, targets).tolist(), key=lambda node: (depth[node], node)))
    way = [at]
    while parent[at] >= 0:
        at = int(parent[at])
        way.append(at)
    found = [int(nodes[node]) for node in reversed(way)]
    # what lies in the piece of i needs no link
    last = max(t for t, item in enumerate(found) if piece[item] == piece[i])
    return found[last:]
