"""Which items are neighbours, as one symmetric matrix; `connectivity` is a parameter of several methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.adjacency._edge_list import FormReader, read_edges
from coterie.constraints._model import IntArray
from coterie.constraints._reading import Ids


def read_graph(graph: Any, n_items: int, *, ids: Any = None, X: Any = None) -> Any:
    """Read a graph over n items, in any of the usual forms.

    Edges have no direction: either way counts. Weights of edges are ignored. An edge of an item with itself
    says nothing and is left out.

    Parameters
    ----------
    graph : sparse matrix, array, list of pairs, data frame, NetworkX graph, igraph graph or function
        - SciPy sparse of shape (n, n): each stored entry is an edge, whatever its value (but a stored `False`
          is none).
        - Dense array of shape (n, n): each entry that is not zero is an edge.
        - Array of shape (m, 2), or a list of pairs: one edge a row. (With two items, shape (2, 2) is read as
          the matrix.)
        - Data frame of any library: one edge a row, in the columns `i` and `j`, or `source` and `target`, or
          in the only two columns there are.
        - NetworkX graph of any kind: its nodes are row numbers, or ids where `ids` is given. Items that are
          no node have no edge.
        - igraph graph: its vertices are numbered like the rows. Where `ids` is given and the vertices have a
          "name", the names are ids.
        - A function of `X` that returns one of these, such as
          `functools.partial(sklearn.neighbors.kneighbors_graph, n_neighbors=5)`. (A lambda cannot be pickled,
          nor a model that was given one.)
    n_items : int
        Number of items.
    ids : sequence of length n_items, optional
        Your own name of each item, in row order. Pairs, frames and nodes then hold these names; matrices are
        by row in any case.
    X : array-like, optional
        The data that a function is called with.

    Returns
    -------
    csr_array of shape (n_items, n_items)
        True at each pair of neighbours. Symmetric, indices sorted, nothing on the diagonal.

    See Also
    --------
    islands : The parts of a graph that no way joins.

    Examples
    --------
    >>> from coterie.adjacency import read_graph
    >>> read_graph([(0, 1), (1, 2)], 4).toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 0],
           [0, 0, 0, 0]])
    >>> import pandas as pd
    >>> borders = pd.DataFrame({"source": ["FR", "FR"], "target": ["DE", "ES"], "km": [418, 623]})
    >>> read_graph(borders, 3, ids=["DE", "ES", "FR"]).nnz
    4
    """
    if callable(graph):
        if X is None:
            raise ValueError("the graph is a function of X, but there is no X here; pass X, or a graph.")
        graph = graph(X)
        if graph is None or callable(graph):
            raise TypeError(f"the function must return a graph over the rows of X; it returned {graph!r}.")
    return _symmetric(read_edges(graph, n_items, ids, weighted=False).ends, n_items)


def graph_of_ends(i: list[Any], j: list[Any], n_items: int, *, ids: Any = None) -> Any:
    """The graph of a table that was read already: row numbers, or ids, at both ends of each edge."""
    reader = FormReader(n_items, None if ids is None else Ids(ids), weighted=False)
    return _symmetric(reader.of_cells([i, j], None, "row").ends, n_items)


def islands(graph: Any) -> tuple[int, NDArray[np.int32]]:
    """Return the parts of a graph that no way joins: how many there are, and the part of each item.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        What `read_graph` returns.

    Returns
    -------
    n_islands : int
        The number of parts; an item without any edge is a part of its own.
    labels : array of shape (n,)
        The part of each item, numbered by first appearance.

    Examples
    --------
    >>> from coterie.adjacency import islands, read_graph
    >>> n_islands, labels = islands(read_graph([(0, 2), (1, 3)], 5))
    >>> n_islands, labels.tolist()
    (3, [0, 1, 0, 1, 2])
    """
    from scipy.sparse.csgraph import connected_components

    found, labels = connected_components(graph, directed=False)
    first = np.unique(labels, return_index=True)[1]
    number = np.empty(found, dtype=np.int32)
    number[np.argsort(first)] = np.arange(found, dtype=np.int32)
    return int(found), number[labels]


def inner_edges(graph: Any, labels: Any) -> Any:
    """The edges inside of clusters, as a CSR matrix."""
    from scipy.sparse import csr_array

    edges = graph.tocoo()
    inside = labels[edges.row] == labels[edges.col]
    ends = edges.row[inside], edges.col[inside]
    return csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), graph.shape)


def pieces(graph: Any, labels: Any) -> tuple[int, NDArray[np.int32]]:
    """Into how many pieces the edges inside of clusters join the items, and the piece of each item."""
    from scipy.sparse.csgraph import connected_components

    found, piece = connected_components(inner_edges(graph, labels), directed=False)
    return int(found), piece


def _symmetric(edges: IntArray, n_items: int) -> Any:
    from scipy.sparse import coo_array

    edges = edges[edges[:, 0] != edges[:, 1]]
    both = np.concatenate([edges, edges[:, ::-1]])
    whole = coo_array((np.ones(len(both), dtype=bool), (both[:, 0], both[:, 1])), shape=(n_items, n_items))
    matrix = whole.tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = True
    return matrix
