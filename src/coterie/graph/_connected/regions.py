"""Connected clusters within bounds on their load, or as many as a least load allows.

No cluster spans two islands, so each island is done by itself, once the clusters are shared out. A start is
given, or cut off the leaves of random spanning trees as soon as a part is full. Pairs of neighbours are then
re-cut along random trees: whatever misses the bounds by less is taken until they hold, and from then on what
lowers the objective, in turns with moves of single units on the borders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from coterie._arrays import Floats, Index, Labels
from coterie._words import count_of, format_number, listed
from coterie.adjacency import islands
from coterie.assign._sizes import SizeBounds
from coterie.exceptions import InfeasibleConstraintsError
from coterie.graph._connected.border_moves import BorderMoves, vetoes_of
from coterie.graph._connected.leaving import Adjacency
from coterie.graph._connected.recut import ANY, EXPLORE, LOWER, TreeRoom, cut_tree, recut, recut_pairs
from coterie.graph._connected.units import Clusters, Units, clusters_of, refresh, total_missed, total_worth

# Random trees of which the one with most parts is kept, re-cuts in search of one part more, of which so many
# are tried before one looks whether the bounds hold, and re-cuts for each cluster before they are said to.
_TREES, _MORE, _SLICE, _PER_CLUSTER = 200, 2_000, 50, 1_000
# A round re-cuts so many pairs a cluster; the last one gains less than this share of the objective.
_ROUND, _LITTLE = 10, 1e-3
# Of the load: what loads miss a bound by only because their sum is rounded.
_ROUNDING = 1e-9


class Region:
    """A connected graph of units: search of clusters within bounds on it."""

    def __init__(
        self, graph: Any, units: Units, spread: float, d: int, cosine: bool, rng: np.random.RandomState
    ) -> None:
        """`spread` is the constant of the objective of all units."""
        self.units, self.d, self.cosine, self.rng, self.spread = units, d, cosine, rng, spread
        self.adjacency = Adjacency.of(graph)
        upper = sparse.triu(graph).tocoo()
        self.ends = np.column_stack([upper.row, upper.col]).astype(np.int64)
        self.room = TreeRoom.of(self.adjacency, d, int(rng.randint(2**31 - 1)))
        self.borders = BorderMoves(self.adjacency, units, cosine)

    # ---- starts ---------------------------------------------------------------------------------------

    def cut(self, low: Floats, high: Floats) -> Labels:
        """Labels from a random tree, with a part for each bound, which need not hold."""
        n, total = len(self.units.load), float(self.units.load.sum())
        labels = np.full(n, -1, dtype=np.int32)
        targets = np.sort(_levels(low, high, total))[: len(low) - 1]
        cut_tree(self.rng.randint(n), targets, self.adjacency, self.units, labels, self.room)
        return labels

    def split(self, labels: Labels, k: int) -> Labels:
        """Labels with k parts: the largest are parted in two as evenly as a random tree allows."""
        n_parts = int(labels.max()) + 1
        while n_parts < k:
            at = np.full(n_parts + 1, -1.0)
            many = np.bincount(labels)
            load = np.where(many > 1, np.bincount(labels, self.units.load), -1.0)
            a = int(np.argmax(load))
            at = np.full(n_parts + 1, load[a] / 2)
            clusters = clusters_of(self.units, labels, self.d, at, at)
            self._recut(int(np.argmax(labels == a)), a, n_parts, ANY, clusters)
            labels = clusters.labels
            n_parts += 1
        return labels

    def fitted(self, labels: Labels, low: Floats, high: Floats) -> Labels:
        """The same parts, numbered so that large ones have large bounds."""
        load = np.bincount(labels, self.units.load, len(low))
        number = np.empty(len(low), dtype=np.int32)
        number[np.argsort(load, kind="stable")] = np.lexsort((np.minimum(high, load.sum()), low))
        return number[labels]

    def most(self, low: float, high: float) -> Labels:
        """Labels of as many parts of at least this load as were found."""
        n, total = len(self.units.load), float(self.units.load.sum())
        bound = min(n, int(total / low * (1 + _ROUNDING))) if low > 0 else n
        best, best_full = np.zeros(n, dtype=np.int32), 0
        if n == 1 or bound <= 1:
            return best
        targets = np.full(bound, low * (1 - _ROUNDING))
        for _ in range(_TREES):
            labels = np.full(n, -1, dtype=np.int32)
            full = cut_tree(self.rng.randint(n), targets, self.adjacency, self.units, labels, self.room)
            if full > best_full:
                best, best_full = labels, full
            if full == bound:
                break
        best = self._with_rest(best, best_full)
        while best_full < bound:
            more = self.split(best, best_full + 1)
            bounds = (np.full(best_full + 1, one) for one in (low, high))
            clusters = clusters_of(self.units, more, self.d, *bounds)
            if not self.meet(clusters, _MORE):
                break
            best, best_full = clusters.labels, best_full + 1
        return best

    def _with_rest(self, labels: Labels, full: int) -> Labels:
        """What is too light to be a part goes to a neighbouring one."""
        rest = labels >= full
        if full and rest.any():
            i, j = self.ends[rest[self.ends[:, 0]] != rest[self.ends[:, 1]]][0]
            labels[rest] = labels[j if rest[i] else i]
        return labels

    # ---- search ---------------------------------------------------------------------------------------

    def meet(self, clusters: Clusters, tries: int) -> bool:
        """Re-cut until the bounds hold; whether they do. `clusters` is written."""
        allowed = (_ROUNDING * float(self.units.load.sum())) ** 2
        while total_missed(clusters) > allowed and tries > 0:
            self._recut_pairs(_SLICE, EXPLORE, clusters)
            tries -= _SLICE
        refresh(self.units, clusters)
        return total_missed(clusters) <= allowed

    def lower(self, clusters: Clusters, step: Callable[[float], bool], max_iter: int) -> tuple[list[float], bool]:
        """Lower the objective; its values, and whether they came to rest. `clusters` is written."""
        k, n = len(clusters.low), len(self.units.load)
        vetoes = vetoes_of(None, np.arange(n), clusters.labels, k)
        values = [self.spread - total_worth(clusters, self.cosine)]
        for _ in range(max_iter):
            self.borders.sweep(clusters, vetoes)
            values.append(self.spread - total_worth(clusters, self.cosine))
            self._recut_pairs(_ROUND * k, LOWER, clusters)
            refresh(self.units, clusters)
            values.append(self.spread - total_worth(clusters, self.cosine))
            stop = step(values[-1])
            if values[-3] - values[-1] <= _LITTLE * values[-3]:
                return values, True
            if stop:
                break
        return values, False

    def _recut(self, start: int, a: int, b: int, what: int, clusters: Clusters) -> None:
        args = self.adjacency, self.units, clusters, self.room, self.cosine, self.borders.tolerance
        recut(start, a, b, what, *args)

    def _recut_pairs(self, tries: int, what: int, clusters: Clusters) -> None:
        if not len(self.ends) or len(clusters.low) == 1:
            return
        left = np.array([tries])
        args = self.adjacency, self.units, clusters, self.room, self.cosine, self.borders.tolerance
        while left[0] > 0:
            recut_pairs(left, what, self.ends, *args)


def _levels(low: Floats, high: Floats, total: float) -> Floats:
    """Loads as alike as the bounds allow that add up to what there is, as nearly as can be."""
    below, above = 0.0, total
    for _ in range(60):
        level = (below + above) / 2
        if np.clip(level, low, high).sum() < total:
            below = level
        else:
            above = level
    return np.clip(below, low, high)


# ---- islands ------------------------------------------------------------------------------------------


def share_out(bounds: SizeBounds, load: Floats, count: Index, wanted: Index) -> list[Index]:
    """Which clusters each island gets, by whole numbers; raises if none can be right.

    Parameters
    ----------
    bounds : SizeBounds
        The bounds of each cluster.
    load, count, wanted : arrays of shape (n_islands,)
        Load and units of each island, and how many clusters it should have, if that can be.
    """
    low, high = bounds.low, bounds.high
    kinds, kind, many = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True, return_counts=True)
    n, c = len(load), len(kinds)
    rounding = _ROUNDING * bounds.total
    # y[i, c] clusters of a kind on an island, then by how many their number differs from what is wanted
    on_island = sparse.kron(sparse.eye(n), np.ones((1, c)))
    of_kind = sparse.kron(np.ones((1, n)), sparse.eye(c))
    none, away = sparse.csr_array((c, n)), sparse.eye(n)
    limits = [
        LinearConstraint(sparse.hstack([of_kind, none]), many, many),
        LinearConstraint(sparse.hstack([on_island, 0 * away]), 1, np.maximum(count, 1)),
        LinearConstraint(sparse.hstack([on_island @ sparse.diags_array(np.tile(kinds[:, 0], n)), 0 * away]), -np.inf, load + rounding),
        LinearConstraint(sparse.hstack([on_island @ sparse.diags_array(np.tile(kinds[:, 1], n)), 0 * away]), load - rounding, np.inf),
        LinearConstraint(sparse.hstack([on_island, -away]), -np.inf, wanted),
        LinearConstraint(sparse.hstack([on_island, away]), wanted, np.inf),
    ]
    cost = np.append(np.zeros(n * c), np.ones(n))
    whole = np.append(np.ones(n * c), np.zeros(n))
    found = milp(cost, constraints=limits, integrality=whole, bounds=Bounds(0, np.inf))
    if found.x is None:
        raise InfeasibleConstraintsError(
            f"the connectivity has {count_of(n, 'island')}, with loads of "
            f"{listed([format_number(one) for one in np.sort(load)[::-1]])}: {count_of(len(low), 'cluster')} "
            f"of {_range(low, high, bounds.total)} cannot fill them exactly, and no cluster spans two islands. "
            "Widen size_min and size_max, ask for another number of clusters, or add edges between the islands."
        )
    number = np.rint(found.x[: n * c]).astype(np.int64).reshape(n, c)
    of = [np.flatnonzero(kind.ravel() == one) for one in range(c)]
    ends = np.concatenate([np.zeros((1, c), dtype=np.int64), np.cumsum(number, axis=0)])
    return [np.sort(np.concatenate([of[j][ends[i, j] : ends[i + 1, j]] for j in range(c)])) for i in range(n)]


def _range(low: Floats, high: Floats, total: float) -> str:
    if (high >= total).all():
        return f"at least {format_number(float(low.min()))}"
    if (low <= 0).all():
        return f"at most {format_number(float(high.max()))}"
    return f"{format_number(float(low.min()))} to {format_number(float(high.max()))}"


def parts_of(graph: Any, units: Units, d: int) -> list[tuple[Index, Any, Units]]:
    """The islands of a graph of units: the units, the edges among them, and what is known of them."""
    n_islands, at = islands(graph)
    if n_islands == 1:
        return [(np.arange(len(at)), graph, units)]
    columns = units.columns if len(units.columns) else np.tile(np.arange(d), len(at))
    rows = sparse.csr_array((units.data, columns, units.indptr), (len(at), d))
    order = np.argsort(at, kind="stable")
    graph, rows = graph[order][:, order], rows[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(at))])
    found = []
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        inside = order[start:stop]
        some = rows[start:stop]
        one = Units(
            some.data,
            some.indptr.astype(np.int64),
            some.indices.astype(np.int64) if len(units.columns) else units.columns,
            *(known[inside] for known in (units.square, units.mass, units.load)),
        )
        found.append((inside, graph[start:stop, start:stop], one))
    return found
