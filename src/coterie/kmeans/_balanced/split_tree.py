"""Items split in two by 2-means, and the parts again, until there are k clusters.

The items are one array of row numbers that every split partitions in place, so that a node is a stretch of
it. Within bounds each side of a split is told a number of clusters, and the sizes with which these can be
filled; for two centres the best sides of given sizes are found exactly, by sorting what each item gains.
Time O(n d log k) for the tree, with some ten passes a split; memory: a copy of the rows of one node.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie.distortion import Cosine, Distortion

# What each split does: steps towards the direction of the largest variance, from a random one; most
# iterations of 2-means, free and then within the sizes that are allowed.
_POWER_STEPS, _ITERATIONS = 3, 10
# Rows whose mean is the origin of a node, against rounding.
_SAMPLE = 1000


class _Sides(NamedTuple):
    """Two sides, the gain of each item on the left one, and how much of the spread they explain."""

    left: NDArray[np.bool_]
    gap: Any
    value: float


class _Node(NamedTuple):
    """Items (a view), their rows and weights, the sums of these; and two sides."""

    items: Index
    rows: Any
    weight: Any
    sums: Any
    mass: float
    found: Any = None


class SplitTree:
    """The splits of one set of items."""

    def __init__(self, distortion: Distortion, rng: np.random.RandomState, n_trials: int) -> None:
        """The best of `n_trials` of free 2-means begins each split."""
        self.distortion, self.rng, self.n_trials = distortion, rng, n_trials
        self.items: Index = np.arange(distortion.points.n)
        weight = distortion.weights(self.items)
        # items without weight have hardly any instead, so that they prefer what is near
        weight = np.where(weight > 0, weight, 1e-9 * weight[weight > 0].min())
        self.weight = weight.astype(distortion.points.X.dtype)

    # ---- the two orders -------------------------------------------------------------------------------

    def by_share(self, k: int, low: int, high: int) -> Labels:
        """Each side gets clusters by its share of the items; every cluster has `low` to `high` of them."""
        nodes, leaves = [(0, len(self.items), k)], []
        while nodes:
            start, stop, n_clusters = nodes.pop()
            if n_clusters == 1:
                leaves.append(start)
                continue
            node, n = self._open(start, stop), stop - start
            share = np.count_nonzero(node.found.left) / n
            n_left = min(max(round(n_clusters * share), 1), n_clusters - 1)
            n_right = n_clusters - n_left
            sizes = max(n_left * low, n - n_right * high), min(n_left * high, n - n_right * low)
            middle = start + self._cut(node, *sizes)
            nodes += [(middle, stop, n_right), (start, middle, n_left)]
        return self._labels(leaves)

    def by_size(self, k: int) -> Labels:
        """Always the largest cluster, as 2-means has it; the last one into equal halves."""
        heap = [(-len(self.items), 0, len(self.items))]
        while len(heap) < k:
            _, start, stop = heapq.heappop(heap)
            n = stop - start
            sizes = (n // 2, n // 2) if len(heap) == k - 2 else (1, n - 1)
            middle = start + self._cut(self._open(start, stop), *sizes)
            for one in ((start, middle), (middle, stop)):
                heapq.heappush(heap, (one[0] - one[1], *one))
        return self._labels([start for _, start, _ in heap])

    def _labels(self, starts: list[int]) -> Labels:
        """Clusters by the place of their first item."""
        size = np.diff(np.append(np.sort(starts), len(self.items)))
        labels = np.empty(len(self.items), dtype=np.int32)
        labels[self.items] = np.repeat(np.arange(len(size), dtype=np.int32), size)
        return labels

    # ---- one split ------------------------------------------------------------------------------------

    def _open(self, start: int, stop: int) -> _Node:
        """A node with the sides of free 2-means."""
        items = self.items[start:stop]
        rows, weight = self._rows(items), self.weight[items]
        node = _Node(items, rows, weight, rows.T @ weight, float(weight.sum(dtype=np.float64)))
        trials = [self._free(node) for _ in range(self.n_trials)]
        return node._replace(found=max(trials, key=lambda one: one.value))

    def _cut(self, node: _Node, low: int, high: int) -> int:
        """Order the items by two sides, with `low` to `high` on the left; returns how many there are."""
        found = self._iterate(node, node.found, low, high)
        node.items[:] = np.concatenate([node.items[found.left], node.items[~found.left]])
        return int(np.count_nonzero(found.left))

    def _rows(self, items: Index) -> Any:
        """Rows of a node: of unit length for the cosine, else about a mean where they are dense."""
        rows = self.distortion.points.X[items]
        if isinstance(self.distortion, Cosine):
            return sparse.diags_array(self.distortion.scale[items].astype(rows.dtype)) @ rows
        if not sparse.issparse(rows):
            rows -= rows[:: len(rows) // _SAMPLE + 1].mean(axis=0)
        return rows

    def _free(self, node: _Node) -> _Sides:
        """2-means, from the sides of a plane across a direction in which the rows spread far."""
        rows, n = node.rows, len(node.items)
        score = self.rng.standard_normal(n).astype(rows.dtype)
        for _ in range(_POWER_STEPS):
            direction = rows.T @ (score - score.mean())
            length = float(np.sqrt(direction @ direction))
            score = rows @ (direction / length if length > 0 else direction)
        left = score < score.mean()
        if not 0 < np.count_nonzero(left) < n:  # all in one place, or nearly
            left = np.arange(n) < n // 2
        return self._iterate(node, self._between(node, left), 1, n - 1)

    def _iterate(self, node: _Node, found: _Sides, low: int, high: int) -> _Sides:
        """2-means whose left side has `low` to `high` items."""
        for _ in range(_ITERATIONS):
            left = _lowest(found.gap, low, high)
            if (left == found.left).all():
                break
            found = self._between(node, left)
        return found

    def _between(self, node: _Node, left: NDArray[np.bool_]) -> _Sides:
        """Two sides with their centres, and what each item would gain by being on the left one (below 0)."""
        held = np.where(left, node.weight, 0)
        sums, mass = node.rows.T @ held, float(held.sum(dtype=np.float64))
        rest = node.sums - sums
        one, other = self._centre(sums, mass), self._centre(rest, node.mass - mass)
        # |x - one|^2 - |x - other|^2; twice the difference of the cosines where both have unit length
        gap = node.rows @ (2.0 * (other - one)) + (one @ one - other @ other)
        return _Sides(left, gap * node.weight, float(sums @ one) + float(rest @ other))

    def _centre(self, sums: Floats, mass: float) -> Floats:
        size = float(np.sqrt(sums @ sums)) if isinstance(self.distortion, Cosine) else mass
        return sums / size if size > 0 else sums


def _lowest(gap: Any, low: int, high: int) -> NDArray[np.bool_]:
    """The items below 0; if these are too few or too many, those of the lowest values. Never all."""
    left = gap < 0
    free = int(np.count_nonzero(left))
    n = min(max(free, low), high)
    if n != free:
        left[:] = False
        left[np.argpartition(gap, n)[:n]] = True
    return left
