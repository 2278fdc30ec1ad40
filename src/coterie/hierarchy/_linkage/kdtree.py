"""A k-d tree over points, split at the median of the widest feature, as arrays for the compiled loops."""

from __future__ import annotations

import numpy as np

from coterie.hierarchy._linkage.state import Floats, Index, PointTree
from coterie.hierarchy._linkage.vetoes import Rules

_LEAF = 16
# Roots that are listed for a node, so that one whose roots are all vetoed is passed over.
_HELD = 8
# Tags that have a bit: what fits a whole number.
_BITS = 60
# Clusters that need not look for others.
_SILENT = 16


def build_tree(X: Floats, rules: Rules) -> PointTree:
    """Points in the order of the leaves, with their units. Time O(n d log n), memory O(n d)."""
    unit = rules.unit
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
        if b - a > _LEAF:  # equal points, too: what becomes one cluster is then passed over as a whole
            middle = (b - a) // 2
            order[a:b] = order[a:b][np.argpartition(points[:, wide], middle)]
            children[node] = len(start)
            start += [a, a + middle]
            stop += [a + middle, b]
            children += [-1, -1]
        node += 1
    mask, pure = _common_tags(rules)
    return PointTree(
        X=np.ascontiguousarray(X[order], dtype=np.float64),
        unit=unit[order],
        start=np.array(start),
        stop=np.array(stop),
        children=np.array(children),
        low=np.array([low for low, _ in boxes], dtype=np.float64),
        high=np.array([high for _, high in boxes], dtype=np.float64),
        held=np.empty((len(start), _HELD), dtype=np.int64),
        n_held=np.full(len(start), -1),
        least=np.zeros(len(start)),
        mask=mask,
        pure=pure,
        stack=np.empty(2 * 64 + 2, dtype=np.int64),
        points=np.bincount(unit),
        dead=np.zeros(rules.n_units, dtype=np.int64),
        silent=np.empty(_SILENT, dtype=np.int64),
        n_silent=np.zeros(1, dtype=np.int64),
    )


def _common_tags(rules: Rules) -> tuple[Index, Index]:
    """For each unit a mask of the tags that most units carry, and whether it carries no others."""
    mask, pure = np.zeros(rules.n_units, dtype=np.int64), np.ones(rules.n_units, dtype=np.int64)
    carried = np.bincount(rules.tag, minlength=len(rules.tag_row))
    common = np.argsort(-carried, kind="stable")[:_BITS]
    bit = np.full(len(carried), -1)
    bit[common] = np.arange(len(common))
    seen = bit[rules.tag] >= 0
    np.bitwise_or.at(mask, rules.owner[seen], np.int64(1) << bit[rules.tag[seen]])
    pure[rules.owner[~seen]] = 0
    return mask, pure
