"""Connected clusters step by step: how far items reach, sets that overlap, made disjoint; labels checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from coterie._arrays import Floats, Index, Labels
from coterie._words import count_of, listed
from coterie.adjacency import islands, pieces, read_graph
from coterie.base import check_distances, symmetric
from coterie.distortion import SquaredEuclidean
from coterie.exceptions import ParameterError
from coterie.graph._connected.disjoint import best_disjoint
from coterie.graph._connected.growth import Growth
from coterie.graph._connected.netscan import check_islands
from coterie.graph._connected.reach import OverlappingSets, certified, enumerated, sets_within


def reaching_distance(X: Any, connectivity: Any, sources: Any, *, metric: Any = "euclidean") -> Floats:
    """How far from an item a path to each other item must go.

    ``R(u, v)`` is the least, over all paths from u to v, of the largest distance from u to an item on the
    path. It is not symmetric, and infinite where no path leads.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or distances of shape (n, n)
        The items; distances with ``metric="precomputed"``.
    connectivity : graph or None
        Who is whose neighbour, in any form of `coterie.adjacency.read_graph`; None: everybody, and R is the
        distance.
    sources : int or array of int
        The items from which to measure.
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.metrics.pairwise_distances`.

    Returns
    -------
    array of shape (n,), or (n_sources, n) for several

    Notes
    -----
    One pass of a heap over the edges for each source: about a second for 1,000,000 cells of a grid. The
    distance of chapter 12 asks how far apart *any* two items of the path are; that is NP-hard, and at most
    twice this one.

    Examples
    --------
    >>> from coterie.graph import reaching_distance
    >>> reaching_distance([[0.0], [3.0], [1.0]], [(0, 1), (1, 2)], [0, 1, 2])
    array([[0., 3., 3.],
           [3., 0., 2.],
           [2., 2., 0.]])
    """
    growth = read_problem(X, connectivity, metric)
    wanted = _row_numbers(np.atleast_1d(np.asarray(sources)), growth.space.n, "sources")
    found = np.stack([growth.reach(u) for u in wanted.tolist()])
    return found if np.ndim(sources) else found[0]


def overlapping_k_center(
    X: Any, connectivity: Any, k: int, method: str = "farthest-first", *, metric: Any = "euclidean"
) -> OverlappingSets:
    """k connected sets of small radius that hold all items and may overlap (CkC' of chapter 12).

    Parameters
    ----------
    X, connectivity, metric
        As in `reaching_distance`.
    k : int
        Number of sets.
    method : {"farthest-first", "enumerate"}, default="farthest-first"
        "farthest-first": every centre is as far from those before as can be; the radius is at most twice the
        least one, if the distance is a metric. "enumerate": the least radius, for at most 400 items.

    Returns
    -------
    OverlappingSets
        `centers`, `sets`, `radius` and `lower_bound`: no k connected sets have a smaller radius, overlapping
        or not. It is nan where the distance is known to be no metric; distances that are given, or a
        function, are taken at their word.

    Notes
    -----
    Farthest-first makes at most 2 k passes over the edges. To enumerate takes a pass for each item, and a set
    cover for each step of a binary search over the radii.

    Examples
    --------
    >>> from coterie.graph import overlapping_k_center
    >>> found = overlapping_k_center([[0.0], [1.0], [2.0], [8.0]], [(0, 1), (1, 2), (2, 3)], 2, "enumerate")
    >>> found.radius, found.sets.toarray().sum(axis=0).tolist()
    (1.0, [3, 1])
    """
    growth = read_problem(X, connectivity, metric)
    check_number(growth, k, "k")
    if method not in ("farthest-first", "enumerate"):
        raise ParameterError(f'method must be "farthest-first" or "enumerate"; got {method!r}.', "method")
    seeds, far, bound = certified(growth, k)
    if method == "enumerate":
        return enumerated(growth, k, seeds, far)
    return sets_within(growth, seeds, far, bound)


@dataclass(frozen=True)
class DisjointClusters:
    """Connected clusters without overlap."""

    labels: Labels  # the cluster of each item; cluster j holds the centre of set j
    centers: Index  # of each cluster: the member whose farthest member is nearest
    radii: Floats  # how far that is


def make_disjoint(
    centers: Any, sets: Any, X: Any, connectivity: Any, *, metric: Any = "euclidean"
) -> DisjointClusters:
    """Make connected sets disjoint: connected clusters, none of them empty.

    Algorithm 2 of chapter 12, repaired. Around the given centres the radius can grow from r to (2 k - 1) r,
    not to 3 r only as Lemma 12.1 has it; nobody can promise a constant factor, unless P = NP.

    Parameters
    ----------
    centers : array of shape (k,)
        The item in the middle of each set.
    sets : boolean array or sparse matrix of shape (n, k)
        Which items are in which set. Each set is connected and holds its centre; each item is in a set.
    X, connectivity, metric
        As in `reaching_distance`.

    Returns
    -------
    DisjointClusters
        The best of two orders in which sets take items, and of a growth from the same centres.

    Examples
    --------
    >>> from coterie.graph import make_disjoint, overlapping_k_center
    >>> X, edges = [[0.0], [1.0], [2.0], [8.0]], [(0, 1), (1, 2), (2, 3)]
    >>> found = overlapping_k_center(X, edges, 2)
    >>> make_disjoint(found.centers, found.sets, X, edges).labels
    array([0, 0, 0, 1], dtype=int32)
    """
    growth = read_problem(X, connectivity, metric)
    n = growth.space.n
    centers = _row_numbers(np.asarray(centers), n, "centers")
    check_number(growth, len(centers), "len(centers)")
    try:
        given = sparse.csc_array(sets, dtype=np.float64)
    except (TypeError, ValueError):
        given = sparse.csc_array((0, 0))
    if given.shape != (n, len(centers)) or not np.isin(given.data, (0.0, 1.0)).all():
        raise ValueError(f"sets must be true or false, of shape ({n}, {len(centers)}): items by sets.")
    given.eliminate_zeros()
    found = OverlappingSets(centers, given, np.nan, np.nan)
    if len(np.unique(centers)) < len(centers):
        raise ValueError("two sets have the same center; take another item of one of them.")
    missing = np.setdiff1d(np.arange(n), given.indices)
    if len(missing):
        raise ValueError(f"item {missing[0]} is in no set ({count_of(len(missing), 'such item')}).")
    for j, center in enumerate(centers.tolist()):
        members = found.members(j)
        if center not in members:
            raise ValueError(f"set {j} does not hold its center, item {center}.")
        n_pieces = 1 if growth.graph is None else islands(growth.graph[members][:, members])[0]
        if n_pieces > 1:
            raise ValueError(f"set {j} is not connected: it lies in {n_pieces:,} pieces.")
    best = best_disjoint(growth, found)
    return DisjointClusters(best.labels, best.update.seeds, best.update.radii)


@dataclass(frozen=True)
class ConnectivityReport:
    """Whether clusters are connected; true if all of them are."""

    clusters: Index  # their labels, without -1
    pieces: Index  # into how many pieces each of them falls; 1 if it is connected

    def __bool__(self) -> bool:
        return bool((self.pieces == 1).all())

    def __str__(self) -> str:
        both = zip(self.clusters.tolist(), self.pieces.tolist(), strict=True)
        torn = [f"cluster {cluster} is in {many:,} pieces" for cluster, many in both if many > 1]
        clusters = count_of(len(self.clusters), "cluster")
        return (
            f"{len(torn):,} of {clusters} fall apart: {listed(torn)}."
            if torn
            else f"None of {clusters} falls apart."
        )


def check_connected(labels: Any, connectivity: Any) -> ConnectivityReport:
    """Which clusters fall apart on a graph, and into how many pieces.

    Parameters
    ----------
    labels : array of shape (n,)
        The cluster of each item; -1 is left out.
    connectivity : graph or None
        Who is whose neighbour, in any form of `coterie.adjacency.read_graph` but a function of X.

    Returns
    -------
    ConnectivityReport
        True where all clusters are connected; `print` it.

    Examples
    --------
    >>> from coterie.graph import check_connected
    >>> found = check_connected([0, 1, 0, 1, -1], [(0, 1), (1, 3), (3, 2)])
    >>> print(found)
    1 of 2 clusters fall apart: cluster 0 is in 2 pieces.
    >>> bool(found)
    False
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        what = f"{labels.dtype} values" if labels.ndim == 1 else f"shape {labels.shape}"
        raise ValueError(f"labels must be whole numbers, one an item; got an array of {what}.")
    clusters = np.unique(labels[labels >= 0]).astype(np.int64)
    if connectivity is None:
        return ConnectivityReport(clusters, np.ones(len(clusters), dtype=np.int64))
    piece = pieces(read_graph(connectivity, len(labels)), labels)[1]
    of_each = labels[np.unique(piece, return_index=True)[1]]  # the cluster of each piece
    return ConnectivityReport(clusters, np.array([(of_each == j).sum() for j in clusters], dtype=np.int64))


def _row_numbers(given: Any, n: int, what: str) -> Index:
    whole = given.ndim == 1 and len(given) > 0 and np.issubdtype(given.dtype, np.integer)
    if not whole or ((given < 0) | (given >= n)).any():
        raise ValueError(f"{what} must be row numbers below {n}; got {given.tolist()!r}.")
    return given.astype(np.int64)


def read_problem(X: Any, connectivity: Any, metric: Any, ids: Any = None, **how: Any) -> Growth:
    """Items and their graph, read and checked, as what grows clusters along it."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if isinstance(metric, str) and metric == "precomputed":
        if sparse.issparse(X):
            raise ValueError('metric="precomputed" takes all distances in a dense array; X is sparse.')
        check_distances(X, own=True)
        X = symmetric(X, "precomputed distances")
    elif isinstance(metric, str) and metric in ("euclidean", "l2", "sqeuclidean"):
        with np.errstate(over="ignore"):
            SquaredEuclidean(X, np.ones(X.shape[0])).check_range()
    graph = None if connectivity is None else read_graph(connectivity, X.shape[0], ids=ids, X=X)
    return Growth(graph, X, metric, **how)


def check_number(growth: Growth, k: int, word: str = "n_clusters", name: Any = int) -> None:
    """Raise unless so many connected clusters can hold all items."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= growth.space.n:
        message = f"it must be a whole number from 1 to the number of items, {growth.space.n}"
        raise ParameterError(f"{word} is {k!r}; {message}.", word)
    check_islands(growth.graph, k, name, word)
