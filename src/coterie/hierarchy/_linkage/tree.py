"""From merges to a SciPy linkage matrix, and from the matrix to labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie._compiled import kernel
from coterie.base import numbers_by_label
from coterie.constraints import Constraints
from coterie.hierarchy._linkage.state import Floats, Index


@kernel
def _name_nodes(left: Index, right: Index, parent: Index, node: Index, size: Index, rows: Floats) -> None:
    """Write the two nodes of each merge and the items below; `parent`, `node`, `size`, `rows` are written.

    A merge joins the clusters of items left[t] and right[t]; `node` is the node of each root.
    """
    n = parent.shape[0]
    for t in range(left.shape[0]):
        a = left[t]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = right[t]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        rows[t, 0] = min(node[a], node[b])
        rows[t, 1] = max(node[a], node[b])
        if size[a] > size[b]:
            a, b = b, a
        parent[a] = b
        size[b] += size[a]
        node[b] = n + t
        rows[t, 3] = size[b]


def linkage_matrix(unit: Index, left: Index, right: Index, height: Floats) -> tuple[Floats, int]:
    """All merges of n items as SciPy writes them, and how many are no veto.

    First the items of each unit at height 0, then the merges given (a unit of each side), then the roots that
    are left, at infinity.
    """
    n = len(unit)
    order = np.argsort(unit, kind="stable")
    same = np.flatnonzero(np.diff(unit[order]) == 0)
    first = order[np.concatenate([[True], np.diff(unit[order]) > 0])]  # an item of each unit
    joined_left, joined_right = order[same], order[same + 1]
    lefts = np.concatenate([joined_left, first[left]])
    rights = np.concatenate([joined_right, first[right]])
    heights = np.concatenate([np.zeros(len(same)), height])
    legal = len(heights)
    rows = np.empty((n - 1, 4))
    parent, node, size = np.arange(n), np.arange(n), np.ones(n, dtype=np.int64)
    _name_nodes.for_work(4 * n)(lefts, rights, parent, node, size, rows[:legal])
    rows[:legal, 2] = heights
    if legal < n - 1:
        roots = np.array(sorted({_root(parent, i) for i in first.tolist()}, key=lambda r: int(node[r])))
        rest = rows[legal:]
        # nodes go on from n + legal
        below = np.cumsum(size[roots])
        rest[0, 0] = node[roots[0]]
        rest[1:, 0] = n + legal + np.arange(len(rest) - 1)
        rest[:, 1] = node[roots[1:]]
        rest[:, :2].sort(axis=1)
        rest[:, 2] = np.inf
        rest[:, 3] = below[1:]
    return rows, legal


def _root(parent: Index, i: int) -> int:
    while parent[i] != i:
        i = int(parent[i])
    return i


@kernel
def _roots_of(children: Index, n: int, root: Index) -> None:
    """The last node above each; `root` is written, and holds every node's own number at first."""
    for t in range(children.shape[0] - 1, -1, -1):
        root[children[t, 0]] = root[n + t]
        root[children[t, 1]] = root[n + t]


def cut(children: Index, n: int, n_merges: int) -> NDArray[np.int32]:
    """Labels after the first merges, numbered by first appearance."""
    root = np.arange(n + n_merges)
    _roots_of.for_work(2 * n_merges)(children[:n_merges], n, root)
    return by_appearance(root[:n])


def by_label(known: Constraints, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same labels, numbered in the order of the labels that are known."""
    return numbers_by_label(known, labels, int(labels.max()) + 1).astype(np.int32)[labels]


def by_appearance(labels: NDArray[np.int64]) -> NDArray[np.int32]:
    """The same labels, numbered in the order in which they occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]
