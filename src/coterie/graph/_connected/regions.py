"""Connected clusters within bounds on their load, or as many as a least load allows.

No cluster spans two islands, so clusters are shared out among them first. A start is given, or cut off the
leaves of random spanning trees as soon as a part is full. Pairs of neighbours are then re-cut along random
trees: whatever misses the bounds by less is taken until they hold, and from then on what lowers the
objective, in turns with moves of single units on the borders.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coterie._arrays import Floats, Index, Labels
from coterie.adjacency import islands
from coterie.assign._core import Core
from coterie.assign._sizes import SizeBounds
from coterie.exceptions import InfeasibleConstraintsError
from coterie.graph._connected.border_moves import BorderMoves, vetoes_of
from coterie.graph._connected.leaving import Adjacency
from coterie.graph._connected.recut import ANY, EXPLORE, LOWER, WANDER, TreeRoom, cut_tree, recut, recut_pairs
from coterie.graph._connected.sharing import ROUNDING, share_out
from coterie.graph._connected.space import members_of
from coterie.graph._connected.units import (
    ClusterSums,
    UnitSums,
    clusters_of,
    refresh,
    total_missed,
    total_worth,
)

# Random trees of which the one with most parts is kept; re-cuts in search of one part more, which look at so
# many units in all; re-cuts in search of bounds for each cluster, with so many between two looks whether they
# hold; and random starts, and other shares of the islands, where they do not.
_TREES, _MORE, _MOST_LOOKS, _PER_CLUSTER, _SLICE, _AGAIN, _SHARES = 200, 2_000, 5_000_000, 250, 50, 4, 20
# A search for bounds looks at so many units of each island, and at so many in all at least: around a hub, two
# neighbours are nearly all there is.
_PER_UNIT, _LEAST_LOOKS = 500, 2_000_000
_MATCHED = 2_000  # parts of an island that are matched to bounds of their own, one by one
# A round re-cuts so many pairs a cluster; the last one gains less than this share of the objective. Without
# bounds moves on the borders gain nearly all, and cost little: clusters of more units than the third number
# have more sweeps a round, fewer re-cuts, and rounds that gain less.
_ROUND, _LITTLE, _LARGE = 10, 1e-3, 600


class Regions:
    """Units on a graph, and clusters of them within bounds; `graph` None: everybody is a neighbour.

    `unit`: of each item; `sums`: the constant of the objective, the features, whether it is cosines; `k`
    None: as many as can be. With a `core`, of other constraints than must-links, or without a graph, units
    move, and nothing is re-cut.
    """

    def __init__(
        self,
        graph: Any,
        units: UnitSums,
        unit: Index,
        sums: tuple[float, int, bool],
        bounds: SizeBounds,
        k: int | None,
        rng: np.random.RandomState,
        core: Core | None,
    ) -> None:
        self.constant, self.d, self.cosine = sums
        self.unit, self.bounds, self.k, self.rng, self.core = unit, bounds, k, rng, core
        # a power of two: loads stay exact, and their squares in range
        power = -int(np.frexp(bounds.total)[1])
        self.units = units._replace(load=np.ldexp(units.load, power))
        self.low, self.high = np.ldexp(bounds.low, power), np.ldexp(bounds.high, power)
        adjacency = None if graph is None else Adjacency.of(graph)
        self.borders = BorderMoves(adjacency, self.units, self.cosine)
        self.recuts = graph is not None and core is None
        if self.recuts:
            n_islands, at = islands(graph)
            self.island, self.nodes = at.astype(np.int64), list(members_of(at, n_islands))
            upper = sparse.triu(graph).tocoo()
            self.ends = np.column_stack([upper.row, upper.col]).astype(np.int64)
            self.room = TreeRoom.of(self.borders.adjacency, self.d, int(rng.randint(2**31 - 1)))

    def run(self, start: Any, refine: bool, max_iter: int, step: Callable[[float], bool]) -> SimpleNamespace:
        """Clusters from those of `start`, or from random trees: `labels` of the units, and what it took."""
        if not self.recuts:
            clusters = self._clusters(start)
        else:
            clusters = self._most() if self.k is None else self._fixed(start)
        missed = total_missed(clusters) if self._misses(clusters).any() else 0.0
        history, n_iter, at_rest = [self._value(clusters)], 0, True
        if refine:
            history, n_iter, at_rest = self._lower(clusters, max_iter, step)
        return SimpleNamespace(
            labels=clusters.labels,
            k=len(clusters.low),
            missed=missed,
            objective=history[-1],
            history=np.array(history),
            n_iter=n_iter,
            converged=at_rest and not missed,
        )

    # ---- clusters, and what they miss -----------------------------------------------------------------

    def _clusters(self, labels: Any, low: Any = None, high: Any = None) -> ClusterSums:
        low, high = (self.low if low is None else low), (self.high if high is None else high)
        return clusters_of(self.units, labels, self.d, low.copy(), high.copy())

    def _value(self, clusters: ClusterSums) -> float:
        return self.constant - total_worth(clusters, self.cosine)

    def _misses(self, clusters: ClusterSums) -> Any:
        """Which clusters miss a bound."""
        load, low, high = clusters.load, clusters.low, clusters.high
        return (load < low * (1 - ROUNDING)) | (load > high * (1 + ROUNDING))

    def _failing(self, clusters: ClusterSums) -> Index:
        """The islands on which a cluster misses a bound."""
        labels = clusters.labels
        inside = np.flatnonzero(labels >= 0)
        return np.unique(self.island[inside[self._misses(clusters)[labels[inside]]]])

    def _args(self, clusters: ClusterSums) -> tuple[Any, ...]:
        """What a re-cut is called with behind the clusters and what it may do."""
        return (
            self.borders.adjacency, self.units, clusters, self.room, self.cosine, self.borders.tolerance
        )  # fmt: skip

    # ---- starts ---------------------------------------------------------------------------------------

    def _fixed(self, start: Any) -> ClusterSums:
        """k clusters, within the bounds if that was found."""
        k, count = len(self.low), np.bincount(self.island)
        wanted = np.rint(k * count / count.sum())
        if start is not None:
            of_cluster = np.unique(self.island * np.int64(k) + start) // k
            wanted = np.bincount(of_cluster, minlength=len(count))
            if not self.bounds.bind:
                return self._clusters(start)
        fewest, most = np.ones(len(count)), count.astype(np.float64)
        shares = self._share_out(wanted.astype(float), fewest, most)
        labels = np.full(len(self.island), -1, dtype=np.int32)
        given = [start is not None and len(own) == wanted[i] for i, own in enumerate(shares)]
        for i in np.flatnonzero(given):
            labels[self.nodes[i]] = shares[i][np.unique(start[self.nodes[i]], return_inverse=True)[1]]
        drawn = np.flatnonzero(~np.array(given))
        clusters = self._met(self._anew(labels, shares, drawn, np.arange(len(count))), shares)
        best, others = clusters, self.bounds.by_cluster(k)
        for left in range(_SHARES, 0, -1):
            if len(count) == 1 or not len(failing := self._failing(clusters)):
                break
            # one cluster fewer where loads are too light, one more where they are too heavy; or, where bounds
            # differ, only other ones
            limits = fewest.copy(), most.copy()
            for i in [] if left % 2 and others else failing:
                load, own = clusters.load[shares[i]], shares[i]
                short, over = self.low[own] - load, load - self.high[own]
                light = np.maximum(short, 0.0).sum() >= np.maximum(over, 0.0).sum()
                (most if light else fewest)[i] = len(own) - 1 if light else len(own) + 1
            before = shares
            try:
                shares = self._share_out(np.array([len(own) for own in shares]), fewest, most)
            except InfeasibleConstraintsError:
                if not others:
                    break  # this is no proof: it was not found
                fewest, most = limits
                continue
            pairs = zip(before, shares, strict=True)
            changed = np.flatnonzero([not np.array_equal(old, new) for old, new in pairs])
            clusters = self._met(self._anew(clusters.labels, shares, changed), shares)
            best = clusters if total_missed(clusters) < total_missed(best) else best
        return best

    def _share_out(self, wanted: Any, fewest: Floats, most: Floats) -> list[Index]:
        if len(fewest) == 1:
            return [np.arange(len(self.low))]
        load = np.bincount(self.island, self.units.load).astype(np.float64)
        return share_out(self.low, self.high, load, wanted, fewest, most, self.bounds.total, self.rng)

    def _anew(
        self, labels: Labels, shares: list[Index], which: Index, fitted: Index | None = None
    ) -> ClusterSums:
        """Clusters of which those of some islands come from random trees, one for each number they share.

        There (and on islands that are to be `fitted`) parts get the bounds that they miss by least.
        """
        labels, by_cluster = labels.copy(), self.bounds.by_cluster(len(self.low))
        for i in which:
            nodes, own = self.nodes[i], shares[i]
            part: Any = 0
            if len(own) > 1:
                total = float(self.units.load[nodes].sum())
                part = self._cut(nodes, np.sort(_levels(self.low[own], self.high[own], total))[:-1])[0]
            labels[nodes] = own[part]
        clusters = self._clusters(labels)
        for i in which:
            self._split(clusters, shares[i])
        if by_cluster:
            labels = clusters.labels.copy()
            for i in which if fitted is None else fitted:
                nodes, own = self.nodes[i], shares[i]
                held, low, high = clusters.load[own], self.low[own], self.high[own]
                to = np.arange(len(self.low))
                if len(own) <= _MATCHED:
                    miss = np.maximum(np.maximum(low - held[:, None], held[:, None] - high), 0.0)
                    to[own] = own[linear_sum_assignment(miss**2)[1]]
                else:  # by rank: a table of parts and bounds would be too large
                    to[own[np.argsort(held)]] = own[np.lexsort((np.minimum(high, 1.0), low))]
                labels[nodes] = to[labels[nodes]]
            clusters = self._clusters(labels)
        return clusters

    def _cut(self, nodes: Index, targets: Floats) -> tuple[Labels, int]:
        """Parts of an island from a random tree, and how many of them reached their targets."""
        labels = np.full(len(self.island), -1, dtype=np.int32)
        root = int(nodes[self.rng.randint(len(nodes))])
        full = cut_tree(root, targets, self.borders.adjacency, self.units, labels, self.room)
        return labels[nodes], full

    def _split(self, clusters: ClusterSums, own: Index) -> None:
        """Part the heaviest of some clusters in two until none is empty, as evenly as a tree allows."""
        for b in own[clusters.n_units[own] == 0].tolist():
            a = int(own[np.argmax(np.where(clusters.n_units[own] > 1, clusters.load[own], -1.0))])
            bounds = clusters.low[[a, b]], clusters.high[[a, b]]
            clusters.low[[a, b]] = clusters.high[[a, b]] = clusters.load[a] / 2
            recut(int(np.argmax(clusters.labels == a)), a, b, ANY, *self._args(clusters))
            clusters.low[[a, b]], clusters.high[[a, b]] = bounds

    # ---- as many as can be ----------------------------------------------------------------------------

    def _most(self) -> ClusterSums:
        """As many clusters as were found on each island."""
        labels, at = np.empty(len(self.island), dtype=np.int32), 0
        for nodes in self.nodes:
            part = self._most_on(nodes)
            labels[nodes] = at + part
            at += int(part.max()) + 1
        return self._clusters(labels, np.full(at, self.low[0]), np.full(at, self.high[0]))

    def _most_on(self, nodes: Index) -> Labels:
        """As many parts of at least the least load as were found; with a largest load it may be missed."""
        low, high, total = float(self.low[0]), float(self.high[0]), float(self.units.load[nodes].sum())
        most = max(1, min(len(nodes), int(total / low * (1 + ROUNDING))))
        least = max(1, int(np.ceil(total / high * (1 - ROUNDING))))
        best, full = np.zeros(len(nodes), dtype=np.int32), 0
        if most == 1:
            return best
        for _ in range(_TREES):
            part, found = self._cut(nodes, np.full(most, low * (1 - ROUNDING)))
            if found > full:
                best, full = part, found
            if full == most:
                break
        labels = np.full(len(self.island), -1, dtype=np.int32)
        labels[nodes] = best
        rest = labels >= max(1, full)  # what is too light to be a part goes to a neighbouring one
        if full and rest.any():
            i, j = self.ends[(labels[self.ends] >= 0).all(axis=1) & (rest[self.ends].sum(axis=1) == 1)][0]
            labels[rest] = labels[j if rest[i] else i]

        def parts(labels: Labels, k: int) -> ClusterSums:
            clusters = self._clusters(labels, np.full(k, low), np.full(k, high))
            self._split(clusters, np.arange(k))
            return clusters

        k = max(1, full)
        clusters = parts(labels, k)
        met = self._meet(clusters, _MORE)
        # more parts are lighter, too; fewer are only looked at if none of these met a largest load
        for more in range(k + 1, most + 1):
            tried = parts(clusters.labels, more)
            if self._meet(tried, _MORE):
                clusters, met = tried, True
            elif met:
                break
        for fewer in range(k - 1, least - 1, -1):
            if met:
                break
            levels = _levels(np.full(fewer, low), np.full(fewer, high), total)
            labels[nodes] = self._cut(nodes, levels[:-1])[0]
            tried = parts(labels, fewer)
            if met := self._meet(tried, _MORE):
                clusters = tried
        return clusters.labels[nodes]

    # ---- search ---------------------------------------------------------------------------------------

    def _met(self, clusters: ClusterSums, shares: list[Index]) -> ClusterSums:
        """Clusters within bounds, from these or from random starts; if none were found, the nearest to it."""
        self._meet(clusters)
        for _ in range(_AGAIN):
            failing = self._failing(clusters)
            if not len(failing):
                break
            other = self._anew(clusters.labels, shares, failing)
            self._meet(other)
            labels = clusters.labels.copy()
            for i in failing:
                old, new = (total_missed(one, shares[i]) for one in (clusters, other))
                if new < old:
                    labels[self.nodes[i]] = other.labels[self.nodes[i]]
            clusters = self._clusters(labels)
        return clusters

    def _meet(self, clusters: ClusterSums, tries: int | None = None) -> bool:
        """Re-cut until the bounds hold; whether they do. `clusters` is written."""
        inside = np.isin(self.island, self._failing(clusters))
        ends = self.ends[inside[self.ends[:, 0]]]
        k = len(np.unique(clusters.labels[inside]))
        # so many re-cuts; in search of one part more not without end, where parts are large
        looks = _MOST_LOOKS
        if tries is None:
            tries, looks = _PER_CLUSTER * k, max(_LEAST_LOOKS, _PER_UNIT * int(inside.sum()))
        half = tries // 2
        while tries > 0 < looks and self._misses(clusters).any():
            # the best cut of a pair is often the same: where few ways lead on, as on a path, others are tried
            looks = self._recut_pairs(_SLICE, looks, EXPLORE if tries > half else WANDER, clusters, ends)
            tries -= _SLICE
        refresh(self.units, clusters)
        return not self._misses(clusters).any()

    def _lower(
        self, clusters: ClusterSums, max_iter: int, step: Callable[[float], bool]
    ) -> tuple[list[float], int, bool]:
        """Lower the objective: its values, rounds, and whether they came to rest. `clusters` is written."""
        k, values, n_iter, at_rest = len(clusters.low), [self._value(clusters)], 0, False
        vetoes = vetoes_of(self.core, self.unit, clusters.labels, k)
        n, share = len(clusters.labels), 1.0
        if self.recuts:
            alone = np.bincount(self.island[np.unique(clusters.labels, return_index=True)[1]]) < 2
            ends = self.ends[~alone[self.island[self.ends[:, 0]]]]
            if not self.bounds.bind and self.k is not None:
                share = min(1.0, _LARGE * k / n)
        while not at_rest and n_iter < max_iter and k > 1:
            before, n_iter = values[-1], n_iter + 1
            for _ in range(int(np.ceil(1 / (3 * share)))):
                n_moved = self.borders.sweep(clusters, vetoes)
                values.append(self._value(clusters))
                if not n_moved:
                    break
            at_rest = not n_moved
            if self.recuts:
                # large clusters have more common edges: they are not looked at more often than all alike
                self._recut_pairs(_ROUND * k, int(2 * _ROUND * n * share), LOWER, clusters, ends)
                refresh(self.units, clusters)
                values.append(self._value(clusters))
                at_rest = before - values[-1] <= _LITTLE * share * before
            if step(values[-1]):
                break
        return values, n_iter, at_rest or k == 1

    def _recut_pairs(self, tries: int, looks: int, what: int, clusters: ClusterSums, ends: Any) -> int:
        """Re-cut so many pairs, or until so many units were looked at; how many are left of these."""
        left = np.array([tries if len(ends) else 0, looks])
        while (left > 0).all():
            recut_pairs(left, what, ends, *self._args(clusters))
        return int(left[1])


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
