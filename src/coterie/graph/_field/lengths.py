"""Graphs of lengths: read in any form, or nearest neighbours with bridges, so that all hangs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from coterie._arrays import Floats, Index
from coterie.adjacency import read_weights
from coterie.base import Distances, check_distances, one_of, real, symmetric, unit_rows, whole
from coterie.distortion._rows import squared_pair_distances
from coterie.exceptions import ParameterError
from coterie.graph._cut.affinities import neighbour_pairs

# The length of an edge between items in one place, in mean lengths: lengths are divided by.
TINY = 1e-12
# What parameters may be, of `EMC` and of the functions that it is made of.
RULES = {
    "metric": one_of("euclidean", "cosine", "precomputed"),
    "n_neighbors": whole(1),
    "n_paths": whole(1),
    "alpha": real(1.0, above=True),
    "constraint_edges": one_of("must", "none", "both"),
    "norm": one_of("max", "none", "minmax"),
    "average": one_of("affecting", "all"),
    "distance": one_of("ksd", "shortest", "greedy"),
    "n_partitions": whole(1),
    "hubs_per_pair": whole(1) | one_of("all"),
}


def check_rules(**given: Any) -> None:
    """Raise for the first value that its parameter cannot have."""
    for name, value in given.items():
        if not RULES[name].holds(value):
            raise ParameterError(f"{name} must be {RULES[name].words}; got {value!r}.", name)


def read_lengths(graph: Any, n_items: int | None = None, ids: Any = None) -> Any:
    """A graph of lengths in any form as a symmetric CSR matrix; an infinite length is no edge."""
    try:
        read = sparse.coo_matrix(read_weights(graph, n_items, ids=ids))
    except ValueError as error:
        if "one weight" not in str(error):
            raise
        raise ValueError(
            f"{error} Lengths have no direction; graph.maximum(graph.T) has the edges of both."
        ) from None
    n, below = read.shape[0], np.flatnonzero(read.data < 0)
    if len(below):
        ends = [int(end[below[0]]) for end in (read.row, read.col)]
        i, j = ends if ids is None else np.asarray(getattr(ids, "values", ids))[ends]
        raise ValueError(
            f"the edge of items {i} and {j} has the length {read.data[below[0]]:g}; lengths are not "
            "negative. Of similarities take 1 / w or -log(w)."
        )
    # in a table 0 is no edge; in a list or a sparse matrix it is the length of one, of items in one place
    table = isinstance(graph, np.ndarray | list | tuple) and read.nnz == n * (n - 1)
    table = table and np.shape(graph) == (n, n) and not (n == 3 and all(isinstance(x, tuple) for x in graph))
    kept = np.isfinite(read.data) & ((read.data > 0) | (not table))
    return _graph_of(n, read.row[kept], read.col[kept], read.data[kept])


def knn_graph(X: Any, n_neighbors: int = 5, *, connect: bool = True, metric: str = "euclidean") -> Any:
    """The graph of nearest neighbours as a CSR matrix of lengths, with bridges between its parts.

    It is enough that one of two items is near to the other. The smallest part is joined to the rest by its
    `n_neighbors` shortest ways out, until there is one part; `connect=False` leaves them apart. `X` and
    `metric` are as in `EMC`, but no graph. Items in one place are 1e-12 mean lengths apart.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graph import knn_graph
    >>> knn_graph(np.array([[0.0], [1.0], [5.0], [7.0]]), n_neighbors=1).toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 4., 0.],
           [0., 4., 0., 2.],
           [0., 0., 2., 0.]])
    """
    check_rules(n_neighbors=n_neighbors)
    X = read_points(X, metric)
    n, k = X.shape[0], min(n_neighbors, X.shape[0] - 1)
    if metric != "precomputed":
        X, i, j = neighbour_pairs(X, k)
    else:
        i, j = np.repeat(np.arange(n), k), np.empty(0, dtype=np.int64)
        if k:
            nearest = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(X)
            j = nearest.kneighbors(return_distance=False).ravel().astype(np.int64)
    if connect and n > 1:
        i, j = _bridged(Distances(X, "precomputed" if metric == "precomputed" else "euclidean"), i, j, k)
    return _graph_of(n, i, j, pair_lengths(X, metric, i, j))


def read_points(X: Any, metric: str) -> Any:
    """What the lengths of pairs are taken from: rows (of length 1 for "cosine"), or symmetric distances."""
    check_rules(metric=metric)
    given = metric == "precomputed"
    X = check_array(X, accept_sparse=False if given else "csr", dtype=np.float64)
    if given:
        check_distances(X, own=True)
        X = symmetric(X, "distances")
        if X.diagonal().any():
            X = X.copy()
            np.fill_diagonal(X, 0.0)
    return unit_rows(X) if metric == "cosine" else X


def pair_lengths(X: Any, metric: str, i: Index, j: Index) -> Floats:
    """The lengths of some pairs of what `read_points` returned."""
    return X[i, j] if metric == "precomputed" else np.sqrt(squared_pair_distances(X, i, j))


def _bridged(distances: Distances, i: Index, j: Index, k: int) -> tuple[Index, Index]:
    """Add the k shortest edges out of the smallest part, until there is one part."""
    n = distances.n
    part = connected_components(sparse.coo_matrix((np.ones(len(i)), (i, j)), (n, n)), directed=False)[1]
    while True:
        size = np.bincount(part)
        own = part[np.argmax(size[part] == size[size > 0].min())]  # of equal ones that of the first item
        inside, outside = np.flatnonzero(part == own), np.flatnonzero(part != own)
        if not len(outside):
            return i, j
        far = distances.between(inside, outside).ravel()
        a, b = np.divmod(np.argpartition(far, min(k, len(far)) - 1)[:k], len(outside))
        i, j = np.append(i, inside[a]), np.append(j, outside[b])
        part[np.isin(part, part[outside[b]])] = own


def _graph_of(n: int, i: Index, j: Index, length: Floats) -> Any:
    """A graph none of whose edges has the length 0, which would be no edge."""
    graph = symmetric_graph(n, i, j, length)
    graph.data[graph.data == 0] = TINY * mean_length(graph.data)  # read again, it is the same graph
    return graph


def symmetric_graph(n: int, i: Index, j: Index, data: Floats) -> Any:
    """A CSR matrix with both directions of each edge; of one that is listed twice the first counts."""
    once = np.unique(np.minimum(i, j) * np.int64(n) + np.maximum(i, j), return_index=True)[1]
    i, j = i[once], j[once]
    return sparse.csr_matrix((np.tile(data[once], 2), (np.append(i, j), np.append(j, i))), (n, n))


def mean_length(lengths: Floats) -> float:
    """The mean length of an edge; 1 where there is none, or all are 0."""
    return (float(lengths.mean()) if len(lengths) else 0.0) or 1.0
