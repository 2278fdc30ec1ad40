"""What pairs of items weigh, as one symmetric matrix: positive weights attract, negative ones repel."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._words import format_number
from coterie.adjacency._edge_list import EdgeList, read_edges

# Of the largest weight: how much an entry and the mirrored one may differ by rounding.
_ROUNDING = 1e-8


def read_weights(graph: Any, n_items: int | None = None, *, ids: Any = None) -> Any:
    """Read what pairs of items weigh, in any of the usual forms.

    A pair may be stated twice, or in both directions, with the same number; different ones are refused. An
    infinite weight is kept. What an item weighs with itself says nothing and is left out.

    Parameters
    ----------
    graph : sparse matrix, array, list of triples, data frame, NetworkX graph or igraph graph
        - SciPy sparse of shape (n, n), symmetric: each stored entry is a weight, 0 too.
        - Dense array of shape (n, n), symmetric: all pairs have a weight, which may be 0.
        - Array of shape (m, 3), or a list of triples (i, j, weight). (With three items, shape (3, 3) is read
          as the matrix, but a list of tuples as triples.)
        - Data frame of any library: a pair a row, in the columns `i` and `j`, or `source` and `target`, or in
          the only two columns beside `weight`.
        - NetworkX graph of any kind: its nodes are row numbers, or ids where `ids` is given. Without
          `n_items` and `ids` nodes may have any names: the items are then the nodes in their order.
        - igraph graph: its vertices are numbered like the rows. Where `ids` is given and the vertices have a
          "name", the names are ids.

        Edges of NetworkX and igraph without an attribute `weight` weigh 1.
    n_items : int, optional
        Number of items; by default that of the ids, of the rows of a matrix or of the vertices, else one more
        than the largest number.
    ids : sequence of length n_items, optional
        Your own name of each item, in row order. Triples, frames and nodes then hold these names; matrices
        are by row in any case.

    Returns
    -------
    csr_array of shape (n_items, n_items)
        The weights as float64. Symmetric, indices sorted, nothing on the diagonal, stored zeros kept.

    See Also
    --------
    read_graph : The same without weights.

    Examples
    --------
    >>> from coterie.adjacency import read_weights
    >>> read_weights([("ann", "bob", 2.5), ("bob", "eve", -1)], ids=["ann", "bob", "eve"]).toarray()
    array([[ 0. ,  2.5,  0. ],
           [ 2.5,  0. , -1. ],
           [ 0. , -1. ,  0. ]])
    """
    return _symmetric(read_edges(graph, n_items, ids, weighted=True))


def _symmetric(stated: EdgeList) -> Any:
    """One weight a pair, or the first pair that has none or two."""
    from scipy.sparse import csr_array

    outer = stated.ends[:, 0] != stated.ends[:, 1]
    ends, given = stated.ends[outer], np.asarray(stated.weights)[outer]
    bad = np.flatnonzero(np.isnan(given))
    if len(bad):
        raise ValueError(f"{_said(stated, ends[bad[0]], given[bad[0]])}; a weight is a number.")
    key = np.minimum(*ends.T) * stated.n_items + np.maximum(*ends.T)  # of a pair, whatever its direction
    order = np.argsort(key, kind="stable")
    ends, given, key = ends[order], given[order], key[order]
    new = np.append(True, key[1:] != key[:-1])[: len(key)]
    first = np.flatnonzero(new)
    other = np.where(new, given, given[first[np.cumsum(new) - 1]])
    if stated.is_matrix:  # what has no mirrored entry differs from 0
        alone = first[np.diff(first, append=len(key)) == 1]
        other[alone] = 0.0
    largest = np.abs(given[np.isfinite(given)]).max(initial=0.0)
    # infinite weights are alike or far apart
    odd = np.flatnonzero(~np.isclose(given, other, rtol=0.0, atol=_ROUNDING * largest))
    if len(odd):
        told = [_said(stated, ends[odd[0]][::-1], other[odd[0]]), _said(stated, ends[odd[0]], given[odd[0]])]
        raise ValueError(f"{', but '.join(told)}; a pair has one weight.")
    both = np.concatenate([ends[new], ends[new][:, ::-1]])
    return csr_array((np.tile(given[new], 2), tuple(both.T)), shape=(stated.n_items, stated.n_items))


def _said(stated: EdgeList, pair: Any, weight: float) -> str:
    """What is stated of a pair, in the user's words."""
    i, j = pair.tolist()
    number = format_number(weight) if np.isfinite(weight) else str(weight)
    if stated.is_matrix:
        return f"X[{i}, {j}] is {number}"
    names = (i, j) if stated.names is None else (stated.names[i], stated.names[j])
    return f"the weight of {names[0]!r} and {names[1]!r} is {number}"
