"""Constraints about distances: delta (separation) and epsilon (cohesion), after Davidson and Ravi 2005.

delta: points of different clusters are at least delta apart, which is a must-link for every closer pair.
epsilon: in a cluster of two or more, every point has another member within epsilon; a partition into
exactly k such clusters exists if and only if |lonely| + [others exist] <= k <= |lonely| + (size of a
maximum matching of the neighbour graph). Neighbours come from a k-d tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from coterie.constraints._closure import join
from coterie.constraints._constraints import Constraints
from coterie.constraints._statements import FloatArray, IntArray
from coterie.constraints._violations import check_labels

# Neighbour pairs held at a time.
_MAX_PAIRS = 5_000_000
# Nodes that branch and bound may open on the matching problem.
_MATCHING_NODES = 10_000


def delta_constraints(X: Any, delta: float, *, source: str = "delta") -> Constraints:
    """Must-links that keep points of different clusters at least `delta` apart (Euclidean distance).

    Every pair closer than delta is joined. What is stored is one chain for each set that this joins, so the
    result is linear in the number of points; the time is that of finding the close pairs.

    Examples
    --------
    >>> delta_constraints([[0.0], [0.4], [5.0], [5.3], [9.0]], delta=1.0)
    Constraints(5 items: 2 must-links)
    """
    data = _points(X)
    _check_distance(delta, "delta")
    component = np.arange(len(data), dtype=np.int64)
    for pairs in _close_pairs(data, math.nextafter(delta, 0.0)):
        left, right = _chains(component)
        component = join(len(data), np.append(left, pairs[:, 0]), np.append(right, pairs[:, 1]))
    return Constraints(np.column_stack(_chains(component)), n_items=len(data), source=source)


@dataclass(frozen=True)
class EpsilonRange:
    """For which numbers of clusters an epsilon constraint can be met: from `lowest` to `highest`.

    Attributes
    ----------
    lowest, highest : int
        All numbers of non-empty clusters between them are possible.
    exact : bool
        Whether `highest` is proven; if not, at least that many are possible.
    n_lonely : int
        Points without a neighbour within epsilon: each must be a cluster by itself.
    """

    lowest: int
    highest: int
    exact: bool
    n_lonely: int

    def check(self, n_clusters: int) -> Literal["feasible", "infeasible", "undecided"]:
        """Whether exactly `n_clusters` non-empty clusters are possible."""
        if self.lowest <= n_clusters <= self.highest:
            return "feasible"
        if n_clusters < self.lowest or self.exact:
            return "infeasible"
        return "undecided"


def epsilon_range(X: Any, epsilon: float) -> EpsilonRange:
    """Find for which numbers of clusters every point can have a neighbour within `epsilon`.

    Points without any such neighbour are clusters of one. Euclidean distance.

    Examples
    --------
    >>> epsilon_range([[0.0], [0.4], [0.8], [5.0], [5.3], [9.0]], epsilon=0.5)
    EpsilonRange(lowest=2, highest=3, exact=True, n_lonely=1)
    """
    data = _points(X)
    _check_distance(epsilon, "epsilon")
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *_close_pairs(data, epsilon)])
    social = np.unique(pairs)
    n_lonely = len(data) - len(social)
    n_matched, exact = _matching(np.searchsorted(social, pairs), len(social))
    return EpsilonRange(n_lonely + (len(social) > 0), n_lonely + n_matched, exact, n_lonely)


def epsilon_violations(X: Any, labels: Any, epsilon: float) -> IntArray:
    """Return the points that share a cluster with others but have none of them within `epsilon`.

    Examples
    --------
    >>> epsilon_violations([[0.0], [0.4], [5.0], [5.3]], [0, 0, 0, 1], epsilon=0.5)
    array([2])
    """
    data = _points(X)
    found = check_labels(labels, len(data))
    _check_distance(epsilon, "epsilon")
    content = np.zeros(len(data), dtype=bool)
    for pairs in _close_pairs(data, epsilon):
        same = pairs[found[pairs[:, 0]] == found[pairs[:, 1]]]
        content[same] = True
    _, cluster, size = np.unique(found, return_inverse=True, return_counts=True)
    return np.flatnonzero(~content & (size[cluster] > 1) & (found >= 0))


def epsilon_repair(X: Any, labels: Any, epsilon: float) -> IntArray:
    """Move each violating point to the cluster of its nearest neighbour within `epsilon`.

    One pass is enough: nobody depended on a violating point in its old cluster. Points without any
    neighbour within epsilon stay where they are; `epsilon_violations` still names them.

    Examples
    --------
    >>> epsilon_repair([[0.0], [0.4], [5.0], [5.3]], [0, 0, 0, 1], epsilon=0.5)
    array([0, 0, 1, 1])
    """
    from scipy.spatial import cKDTree

    data = _points(X)
    repaired = check_labels(labels, len(data)).copy()
    tree = cKDTree(data)
    for point in epsilon_violations(data, labels, epsilon).tolist():
        near = np.array(
            [i for i in tree.query_ball_point(data[point], epsilon) if i != point], dtype=np.int64
        )
        if not len(near) or (repaired[near] == repaired[point]).any():
            continue  # lonely, or an earlier move brought a neighbour
        nearest = near[np.argmin(((data[near] - data[point]) ** 2).sum(axis=1))]
        repaired[point] = repaired[nearest]
    return repaired


def _points(X: Any) -> FloatArray:
    data = np.asarray(X, dtype=np.float64)
    if data.ndim != 2:
        raise ValueError(f"X must have two dimensions, points by features; got shape {data.shape}.")
    bad = np.flatnonzero(~np.isfinite(data).all(axis=1))
    if len(bad):
        raise ValueError(f"row {bad[0]} of X holds NaN or infinity; drop or impute it.")
    return data


def _check_distance(value: float, name: str) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} is a distance: finite and above 0; got {value}.")


def _close_pairs(data: FloatArray, radius: float) -> Iterator[IntArray]:
    """Pairs of points at most `radius` apart, each once, in blocks of bounded size."""
    from scipy.spatial import cKDTree

    if len(data) < 2:
        return
    tree = cKDTree(data)
    n_pairs = (int(tree.count_neighbors(tree, radius)) - len(data)) // 2
    if n_pairs <= _MAX_PAIRS:
        yield tree.query_pairs(radius, output_type="ndarray").astype(np.int64)
        return
    n_blocks = math.ceil(2 * n_pairs / _MAX_PAIRS)
    for rows in np.array_split(np.arange(len(data)), min(n_blocks, len(data))):
        near = cKDTree(data[rows]).query_ball_tree(tree, radius)
        counts = np.array([len(found) for found in near])
        pairs = np.column_stack([np.repeat(rows, counts), np.concatenate(near).astype(np.int64)])
        yield pairs[pairs[:, 0] < pairs[:, 1]]


def _chains(component: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(component, kind="stable")
    same = np.diff(component[order]) == 0
    return order[:-1][same], order[1:][same]


def _matching(edges: IntArray, n_nodes: int) -> tuple[int, bool]:
    """Size of a maximum matching by HiGHS, and whether it is proven; if not, the best one found."""
    if not len(edges):
        return 0, True
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import csr_array

    n_edges = len(edges)
    incidence = csr_array(
        (np.ones(2 * n_edges), (edges.T.ravel(), np.tile(np.arange(n_edges), 2))), shape=(n_nodes, n_edges)
    )
    result = milp(
        -np.ones(n_edges),
        integrality=np.ones(n_edges),
        bounds=(0, 1),
        constraints=LinearConstraint(incidence, -np.inf, 1),
        options={"node_limit": _MATCHING_NODES},
    )
    return (round(-result.fun), bool(result.status == 0)) if result.x is not None else (1, False)
