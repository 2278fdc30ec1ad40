"""Constraints about distances: delta (separation) and epsilon (cohesion), after Davidson and Ravi 2005.

delta: points of different clusters are at least delta apart, which is a must-link for every closer pair.
epsilon: in a cluster of two or more, every point has another member within epsilon. Neighbours come from a
k-d tree; with more close pairs than fit, they are visited in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from coterie.constraints._constraints import Constraints
from coterie.constraints._model.closure import join
from coterie.constraints._model.statements import FloatArray, IntArray
from coterie.constraints._model.violations import check_labels

# Neighbour pairs held at a time.
_MAX_PAIRS = 5_000_000
# The tree compares squares and rounds; it is asked a little wider, and the distance itself has the last word.
_WIDER = 1 + 1e-9
# Distances that differ by less are the same: the order of a sum decides about the last digits.
_ROUNDING = 1e-12


def delta_constraints(X: Any, delta: float, *, source: str = "delta") -> Constraints:
    """Must-links that keep points of different clusters at least `delta` apart (Euclidean distance).

    Every pair closer than delta is joined. What is stored is one chain for each set that this joins, so the
    result is linear in the number of points; the time is that of finding the close pairs.

    Examples
    --------
    >>> delta_constraints([[0.0], [0.4], [5.0], [5.3], [9.0]], delta=1.0)
    Constraints(5 items: 2 must-links (0-1, 2-3))
    """
    data = _points(X)
    _check_distance(delta, "delta")
    component = np.arange(len(data), dtype=np.int64)
    for pairs in _close_pairs(data, delta, strictly=True):
        left, right = _chains(component)
        component = join(len(data), np.append(left, pairs[:, 0]), np.append(right, pairs[:, 1]))
    return Constraints(np.column_stack(_chains(component)), n_items=len(data), source=source)


def epsilon_fewest_clusters(X: Any, epsilon: float) -> int:
    """Find the least number of clusters with which an epsilon constraint can be met (Euclidean distance).

    Points without a neighbour within epsilon are clusters of one; all others can share one cluster. Every
    number from there up to the number of points is possible too: a cluster of one meets the constraint.

    Examples
    --------
    >>> epsilon_fewest_clusters([[0.0], [0.4], [0.8], [5.0], [5.3], [9.0]], epsilon=0.5)
    2
    """
    data = _points(X)
    _check_distance(epsilon, "epsilon")
    social = np.zeros(len(data), dtype=bool)
    for pairs in _close_pairs(data, epsilon):
        social[pairs] = True
    return int((~social).sum()) + bool(social.any())


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
    has_neighbour = np.zeros(len(data), dtype=bool)
    for pairs in _close_pairs(data, epsilon):
        same = pairs[found[pairs[:, 0]] == found[pairs[:, 1]]]
        has_neighbour[same] = True
    _, cluster, size = np.unique(found, return_inverse=True, return_counts=True)
    return np.flatnonzero(~has_neighbour & (size[cluster] > 1) & (found >= 0))


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
        near = np.array(tree.query_ball_point(data[point], epsilon * _WIDER), dtype=np.int64)
        near = near[(near != point) & (repaired[near] >= 0)]
        distance = _distances(data[near], data[point])
        within = distance <= epsilon * (1 + _ROUNDING)
        near, distance = near[within], distance[within]
        # lonely ones stay; so do those to whom an earlier move brought a neighbour
        if len(near) and not (repaired[near] == repaired[point]).any():
            repaired[point] = repaired[near[np.argmin(distance)]]
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


def _close_pairs(data: FloatArray, radius: float, *, strictly: bool = False) -> Iterator[IntArray]:
    """Pairs of points at most `radius` apart (or strictly closer), each once, in blocks of bounded size."""
    from scipy.spatial import cKDTree

    if len(data) < 2:
        return
    tree = cKDTree(data)
    wider = radius * _WIDER
    n_pairs = (int(tree.count_neighbors(tree, wider)) - len(data)) // 2
    n_chunks = min(math.ceil(2 * n_pairs / _MAX_PAIRS), len(data))
    for rows in np.array_split(np.arange(len(data)), max(n_chunks, 1)):
        whole = len(rows) == len(data)
        pairs = tree.query_pairs(wider, output_type="ndarray") if whole else _near(tree, data, rows, wider)
        distance = _distances(data[pairs[:, 0]], data[pairs[:, 1]])
        close = distance < radius * (1 - _ROUNDING) if strictly else distance <= radius * (1 + _ROUNDING)
        yield pairs[close].astype(np.int64)


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.sqrt(((a - b) ** 2).sum(axis=1))


def _near(tree: Any, data: FloatArray, rows: IntArray, radius: float) -> IntArray:
    found = tree.query_ball_point(data[rows], radius)
    counts = np.array([len(near) for near in found])
    pairs = np.column_stack([np.repeat(rows, counts), np.concatenate(found).astype(np.int64)])
    return pairs[pairs[:, 0] < pairs[:, 1]]


def _chains(component: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(component, kind="stable")
    same = np.diff(component[order]) == 0
    return order[:-1][same], order[1:][same]
