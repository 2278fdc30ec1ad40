"""A k-d tree over points, split at the median of the widest feature, as arrays for the compiled loops."""

from __future__ import annotations

import numpy as np

from coterie.hierarchy._greedy import Floats, Index, Tree

_LEAF = 16
# Roots that are listed for a node, so that one whose roots are all vetoed is passed over.
_HELD = 8
# Clusters that need not look for others.
_SILENT = 16


def build_tree(X: Floats, unit: Index) -> Tree:
    """Points in the order of the leaves, with their units. Time O(n d log n), memory O(n d)."""
    n = len(X)
    order = np.arange(n)
    start, stop, children = [0], [n], [-1]
    boxes: list[tuple[Floats, Floats]] = []
    node = 0
    while node < len(start):
        a, b = start[node], stop[node]
        points = X[order[a:b]]
        low, high = points.min(axis=0), points.max(axis=0)
        boxes.append((low, high))
        wide = int(np.argmax(high - low))
        if b - a > _LEAF and high[wide] > low[wide]:
            middle = (b - a) // 2
            order[a:b] = order[a:b][np.argpartition(points[:, wide], middle)]
            children[node] = len(start)
            start += [a, a + middle]
            stop += [a + middle, b]
            children += [-1, -1]
        node += 1
    return Tree(
        X=np.ascontiguousarray(X[order], dtype=np.float64),
        unit=unit[order],
        start=np.array(start),
        stop=np.array(stop),
        children=np.array(children),
        low=np.array([low for low, _ in boxes], dtype=np.float64),
        high=np.array([high for _, high in boxes], dtype=np.float64),
        held=np.empty((len(start), _HELD), dtype=np.int64),
        n_held=np.full(len(start), -1),
        stack=np.empty(2 * 64 + 2, dtype=np.int64),
        points=np.bincount(unit),
        silent=np.empty(_SILENT, dtype=np.int64),
        n_silent=np.zeros(1, dtype=np.int64),
    )
