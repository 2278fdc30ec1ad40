"""The graph of a cut: affinities of nearest neighbours, or those that are given; CSR without a diagonal.

Weights by local scales are those of Zelnik-Manor and Perona 2004, Self-tuning spectral clustering.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from coterie._arrays import Index
from coterie.base import negative_entry, symmetric
from coterie.distortion import SquaredEuclidean
from coterie.distortion._rows import canonical, squared_pair_distances

# The least affinity of neighbours: a pair far apart is still a pair of neighbours.
_LEAST = 1e-3
# Up to so many features trees of points are faster than all distances; copies of a row make them slow.
_FEATURES_OF_TREES = 9
# What parts copies, relative to the spread of a feature.
_NOISE = 1e-9


def neighbour_pairs(X: Any, n_neighbors: int) -> tuple[Any, Index, Index]:
    """Each row and its nearest ones, row by row: the rows, moved to their mean, and both ends."""
    n = X.shape[0]
    k = min(n_neighbors, n - 1)
    with np.errstate(over="ignore"):
        SquaredEuclidean(X, np.ones(n)).check_range()
    X = canonical(X)
    if k == 0:
        return X, *np.empty((2, 0), dtype=np.int64)
    dense = not sparse.issparse(X)
    if dense:
        X = X - X.mean(axis=0)  # keeps digits where the origin is far away
    place, how = X, "brute"
    if dense and X.shape[1] <= _FEATURES_OF_TREES:
        how = "kd_tree"
        place = X + _NOISE * X.std(axis=0) * np.random.RandomState(0).uniform(-1.0, 1.0, X.shape)
    found = NearestNeighbors(n_neighbors=k, algorithm=how).fit(place).kneighbors(return_distance=False)
    return X, np.repeat(np.arange(n), k), found.ravel().astype(np.int64)


def nearest_neighbours(X: Any, n_neighbors: int) -> Any:
    """Affinities of each row and its nearest ones; of two rows it is enough that one is near to the other."""
    n = X.shape[0]
    X, i, j = neighbour_pairs(X, n_neighbors)
    if not len(i):
        return sparse.csr_matrix((n, n))
    squared = squared_pair_distances(X, i, j)
    k = len(i) // n
    # to the middle neighbour; where that is a copy, to the first that is none
    ordered = np.sort(squared.reshape(n, k), axis=1)[:, (k - 1) // 2 :]
    scale = np.sqrt(ordered[np.arange(n), np.argmax(ordered > 0, axis=1)])
    with np.errstate(divide="ignore"):
        away = squared / np.where(squared > 0, scale[i] * scale[j], 1.0)
    directed = sparse.csr_matrix((np.maximum(np.exp(-away), _LEAST), (i, j)), (n, n))
    return directed.maximum(directed.T).tocsr()


def given_affinities(X: Any) -> Any:
    """Affinities that the user worked out: symmetric, none below zero, nobody without any."""
    X = symmetric(X, "an affinity matrix")
    below = negative_entry(X)
    if below is not None:
        raise ValueError(f"affinities must not be negative; {below}. If X holds distances, take exp(-X).")
    graph = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    alone = np.flatnonzero(np.diff(graph.indptr) == 0)
    if len(alone) and graph.shape[0] > 1:
        others = f" ({len(alone):,} such rows)" if len(alone) > 1 else ""
        raise ValueError(
            f"row {alone[0]} has no affinity with any other item{others}, so that no cluster is better for "
            "it than another: give it one, such as with its nearest item, or leave it out."
        )
    return graph
