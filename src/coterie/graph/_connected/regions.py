"""Connected clusters within bounds on their load, or as many as a least load allows.

No cluster spans two islands, so each island is done by itself, once the clusters are shared out. A start is
given, or cut off the leaves of random spanning trees as soon as a part is full. Pairs of neighbours are then
re-cut along random trees: whatever misses the bounds by less is taken until they hold, and from then on what
lowers the objective, in turns with moves of single units on the borders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
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
from coterie.graph._connected.units import (
    ClusterSums,
    UnitSums,
    clusters_of,
    refresh,
    total_missed,
    total_worth,
)

# Random trees of which the one with most parts is kept; re-cuts in search of one part more, and of bounds for
# each cluster, with so many between two looks whether they hold; and random starts where they do not.
_TREES, _MORE, _PER_CLUSTER, _SLICE, _AGAIN = 200, 2_000, 250, 50, 4
# A round re-cuts so many pairs a cluster; the last one gains less than this share of the objective.
_ROUND, _LITTLE = 10, 1e-3
# Of the load: what loads miss a bound by only because their sum is rounded.
_ROUNDING = 1e-9


class Region:
    """A connected graph of units: search of clusters within bounds on it."""

    def __init__(
        self, graph: Any, units: UnitSums, constant: float, d: int, cosine: bool, rng: np.random.RandomState
    ) -> None:
        """`constant` is that of the objective, of all units of the graph and of others."""
        self.units, self.d, self.cosine, self.rng, self.constant = units, d, cosine, rng, constant
        self.adjacency = Adjacency.of(graph)
        upper = sparse.triu(graph).tocoo()
        self.ends = np.column_stack([upper.row, upper.col]).astype(np.int64)
        self.room = TreeRoom.of(self.adjacency, d, int(rng.randint(2**31 - 1)))
        self.borders = BorderMoves(self.adjacency, units, cosine)

    # ---- starts ---------------------------------------------------------------------------------------

    def start(self, k: int, low: Floats, high: Floats) -> Labels:
        """Labels of k parts from a random tree, of which each should suit a bound."""
        n, total = len(self.units.load), float(self.units.load.sum())
        labels = np.full(n, -1, dtype=np.int32)
        targets = np.sort(_levels(low, high, total))[: k - 1]
        cut_tree(self.rng.randint(n), targets, self.adjacency, self.units, labels, self.room)
        return self.split(labels, k)

    def split(self, labels: Labels, k: int) -> Labels:
        """Labels with k parts: the largest are parted in two as evenly as a random tree allows."""
        for n_parts in range(int(labels.max()) + 1, k):
            load = np.where(np.bincount(labels) > 1, np.bincount(labels, self.units.load), -1.0)
            a = int(np.argmax(load))
            half = np.full(n_parts + 1, load[a] / 2)
            clusters = clusters_of(self.units, labels, self.d, half, half)
            args = self.adjacency, self.units, clusters, self.room, self.cosine, self.borders.tolerance
            recut(int(np.argmax(labels == a)), a, n_parts, ANY, *args)
            labels = clusters.labels
        return labels

    def most(self, low: float, high: float) -> ClusterSums:
        """As many parts of at least this load as were found; with a largest load it may be missed."""
        n, total = len(self.units.load), float(self.units.load.sum())
        most = max(1, min(n, int(total / low * (1 + _ROUNDING))))
        least = max(1, int(np.ceil(total / high * (1 - _ROUNDING))))
        best, full = np.zeros(n, dtype=np.int32), 0
        targets = np.full(most, low * (1 - _ROUNDING))
        for _ in range(_TREES if most > 1 else 0):
            labels = np.full(n, -1, dtype=np.int32)
            found = cut_tree(self.rng.randint(n), targets, self.adjacency, self.units, labels, self.room)
            if found > full:
                best, full = labels, found
            if full == most:
                break
        best, full = self._with_rest(best, full), max(1, full)
        clusters = self._within(best, full, low, high)
        met = self.meet(clusters, _MORE)
        # more parts are lighter, too; fewer are only looked at if none of these met a largest load
        for k in range(full + 1, most + 1):
            more = self._within(self.split(clusters.labels, k), k, low, high)
            if self.meet(more, _MORE):
                clusters, met = more, True
            elif met:
                break
        for k in range(full - 1, least - 1, -1):
            if met:
                break
            fewer = self._within(self.start(k, np.full(k, low), np.full(k, high)), k, low, high)
            if self.meet(fewer, _MORE):
                clusters, met = fewer, True
        return clusters

    def _within(self, labels: Labels, k: int, low: float, high: float) -> ClusterSums:
        return clusters_of(self.units, labels, self.d, np.full(k, low), np.full(k, high))

    def _with_rest(self, labels: Labels, full: int) -> Labels:
        """What is too light to be a part goes to a neighbouring one."""
        rest = labels >= full
        if full and rest.any():
            i, j = self.ends[rest[self.ends[:, 0]] != rest[self.ends[:, 1]]][0]
            labels[rest] = labels[j if rest[i] else i]
        return labels

    # ---- search ---------------------------------------------------------------------------------------

    def meet(self, clusters: ClusterSums, tries: int) -> bool:
        """Re-cut until the bounds hold; whether they do. `clusters` is written."""
        allowed = (_ROUNDING * float(self.units.load.sum())) ** 2
        while total_missed(clusters) > allowed and tries > 0:
            self._recut_pairs(_SLICE, EXPLORE, clusters)
            tries -= _SLICE
        refresh(self.units, clusters)
        return total_missed(clusters) <= allowed

    def met(self, clusters: ClusterSums, low: Floats, high: Floats) -> ClusterSums:
        """Clusters within bounds, from these or from random starts; if none were found, the nearest to it."""
        tries = _PER_CLUSTER * len(low)
        for _ in range(_AGAIN):
            if self.meet(clusters, tries):
                break
            labels = _fitted(self.units, self.start(len(low), low, high), low, high)
            other = clusters_of(self.units, labels, self.d, low, high)
            if self.meet(other, tries) or total_missed(other) < total_missed(clusters):
                clusters = other
        return clusters

    def lower(
        self, clusters: ClusterSums, step: Callable[[float], bool], max_iter: int
    ) -> tuple[list[float], bool]:
        """Lower the objective; its values, and whether they came to rest. `clusters` is written."""
        k, n = len(clusters.low), len(self.units.load)
        vetoes = vetoes_of(None, np.arange(n), clusters.labels, k)
        values = [self.constant - total_worth(clusters, self.cosine)]
        for _ in range(max_iter):
            self.borders.sweep(clusters, vetoes)
            values.append(self.constant - total_worth(clusters, self.cosine))
            self._recut_pairs(_ROUND * k, LOWER, clusters)
            refresh(self.units, clusters)
            values.append(self.constant - total_worth(clusters, self.cosine))
            stop = step(values[-1])
            if values[-3] - values[-1] <= _LITTLE * values[-3]:
                return values, True
            if stop:
                break
        return values, False

    def _recut_pairs(self, tries: int, what: int, clusters: ClusterSums) -> None:
        if not len(self.ends) or len(clusters.low) == 1:
            return
        left = np.array([tries])
        args = self.adjacency, self.units, clusters, self.room, self.cosine, self.borders.tolerance
        while left[0] > 0:
            recut_pairs(left, what, self.ends, *args)


def _fitted(units: UnitSums, labels: Labels, low: Floats, high: Floats) -> Labels:
    """The same parts, numbered so that large ones have large bounds."""
    load = np.bincount(labels, units.load, len(low))
    number = np.empty(len(low), dtype=np.int32)
    number[np.argsort(load, kind="stable")] = np.lexsort((np.minimum(high, load.sum()), low))
    return number[labels]


def _of_all(step: Callable[[float], bool], others: float, value: float) -> bool:
    """Tell the objective of all islands."""
    return step(value - others)


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


class Regions:
    """All islands of a graph: their clusters together keep to the bounds."""

    def __init__(
        self,
        graph: Any,
        units: UnitSums,
        sums: tuple[float, int, bool],
        bounds: SizeBounds,
        k: int | None,
        rng: np.random.RandomState,
    ) -> None:
        """`sums`: the constant of the objective, the features, whether it is cosines; `k` None: most."""
        self.constant, self.d, self.cosine = sums
        self.bounds, self.k, self.n_units = bounds, k, len(units.load)
        parts = parts_of(graph, units, self.d)
        self.nodes = [nodes for nodes, _, _ in parts]
        self.regions = [Region(some, held, *sums, rng) for _, some, held in parts]
        self.load = np.array([float(held.load.sum()) for _, _, held in parts])

    def run(self, start: Any, refine: bool, max_iter: int, step: Callable[[float], bool]) -> SimpleNamespace:
        """Clusters from those of `start`, or from random trees: `labels` of the units, and what it took."""
        labels, at, missed, n_iter, converged = np.empty(self.n_units, dtype=np.int32), 0, 0.0, 0, True
        found = self._most() if self.k is None else self._fixed(start)
        worth = [total_worth(clusters, self.cosine) for clusters, _ in found]
        history = [self.constant - sum(worth)]
        for i, (region, (clusters, number)) in enumerate(zip(self.regions, found, strict=True)):
            if refine and (len(clusters.low) > 1):
                others = sum(worth) - worth[i]
                values, at_rest = region.lower(clusters, partial(_of_all, step, others), max_iter)
                history += [value - others for value in values[1:]]
                worth[i] = total_worth(clusters, self.cosine)
                n_iter, converged = max(n_iter, len(values) // 2), converged and at_rest
            labels[self.nodes[i]] = number[clusters.labels]
            missed += total_missed(clusters)
            at += len(clusters.low)
        allowed = (_ROUNDING * self.bounds.total) ** 2
        return SimpleNamespace(
            labels=labels,
            k=at,
            missed=missed if missed > allowed else 0.0,
            objective=history[-1],
            history=np.array(history),
            n_iter=n_iter,
            converged=converged and missed <= allowed,
        )

    def _most(self) -> list[tuple[ClusterSums, Index]]:
        low, high = float(self.bounds.low[0]), float(self.bounds.high[0])
        found, at = [], 0
        for region in self.regions:
            clusters = region.most(low, high)
            found.append((clusters, at + np.arange(len(clusters.low))))
            at += len(clusters.low)
        return found

    def _fixed(self, start: Any) -> list[tuple[ClusterSums, Index]]:
        low, high, found = self.bounds.low, self.bounds.high, []
        count = np.array([len(nodes) for nodes in self.nodes])
        if start is None:
            wanted = np.rint(len(low) * count / count.sum())
        else:
            given = [np.unique(start[nodes], return_inverse=True) for nodes in self.nodes]
            wanted = np.array([len(numbers) for numbers, _ in given])
        if start is not None and not self.bounds.bind:
            shares = [numbers for numbers, _ in given]
        elif len(self.nodes) == 1:
            shares = [np.arange(len(low))]
        else:
            shares = share_out(self.bounds, self.load, count, wanted)
        for i, (region, number) in enumerate(zip(self.regions, shares, strict=True)):
            own = low[number], high[number]
            if start is not None and len(number) == wanted[i]:
                labels = given[i][1].astype(np.int32)
            else:
                labels = region.start(len(number), *own)
            if self.bounds.by_cluster(len(low)):
                labels = _fitted(region.units, labels, *own)
            clusters = clusters_of(region.units, labels, self.d, *own)
            if self.bounds.bind:
                clusters = region.met(clusters, *own)
            found.append((clusters, number))
        return found


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
    kinds, kind, many = np.unique(
        np.column_stack([low, high]), axis=0, return_inverse=True, return_counts=True
    )
    n, c = len(load), len(kinds)
    rounding = _ROUNDING * bounds.total
    # y[i, c] clusters of a kind on an island, then by how many their number differs from what is wanted
    on_island = sparse.kron(sparse.eye(n), np.ones((1, c)))
    of_kind = sparse.kron(np.ones((1, n)), sparse.eye(c))
    none, away = sparse.csr_array((c, n)), sparse.eye(n)
    limits = [
        LinearConstraint(sparse.hstack([of_kind, none]), many, many),
        LinearConstraint(sparse.hstack([on_island, 0 * away]), 1, np.maximum(count, 1)),
        LinearConstraint(
            sparse.hstack([on_island @ sparse.diags_array(np.tile(kinds[:, 0], n)), 0 * away]),
            -np.inf,
            load + rounding,
        ),
        LinearConstraint(
            sparse.hstack([on_island @ sparse.diags_array(np.tile(kinds[:, 1], n)), 0 * away]),
            load - rounding,
            np.inf,
        ),
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
            f"of {_range(low, high, bounds.total)} cannot fill them exactly, and no cluster spans two "
            "islands. Widen size_min and size_max, ask for another number of clusters, or add edges between "
            "the islands."
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


def parts_of(graph: Any, units: UnitSums, d: int) -> list[tuple[Index, Any, UnitSums]]:
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
        one = UnitSums(
            some.data,
            some.indptr.astype(np.int64),
            some.indices.astype(np.int64) if len(units.columns) else units.columns,
            *(known[inside] for known in (units.square, units.mass, units.load)),
        )
        found.append((inside, graph[start:stop, start:stop], one))
    return found
