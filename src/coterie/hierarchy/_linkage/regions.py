"""Repair of a dead end under connectivity: small clusters are handed to their neighbours, unit by unit.

Two clusters that may not merge as wholes may still share a third one out between them. A cluster is given
away from its border inwards, each unit to a neighbouring cluster that may have it, the nearest first. Who
receives stays connected, and who gives is gone at the end, or gets everything back. So every step is legal,
and the smallest clusters are tried first, until the number that was asked for is reached or none can be given
away.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.hierarchy._linkage.matrix import MOST_UNITS, ItemDistances
from coterie.hierarchy._linkage.merging import LinkageInput
from coterie.hierarchy._linkage.state import Index
from coterie.hierarchy._linkage.tree import by_appearance
from coterie.hierarchy._linkage.vetoes import Rules


def handed_over(
    data: LinkageInput, rules: Rules, roots: NDArray[np.int32], k: int
) -> NDArray[np.int32] | str:
    """Connected, legal labels with k clusters; or why there are none."""
    if not data.plain and len(roots) > MOST_UNITS:
        return f"it needs distances between items, and takes at most {MOST_UNITS:,} of these"
    regions = _Regions(data, rules, roots)
    while regions.n_clusters > k:
        before = regions.n_clusters
        for cluster in regions.smallest_first():
            if regions.give_away(cluster) and regions.n_clusters == k:
                break
        if regions.n_clusters == before:
            return "no way was found to share out small clusters among their neighbours"
    return by_appearance(regions.of_unit[rules.unit])


class _Regions:
    """Clusters of units on a graph, and what each of them holds."""

    def __init__(self, data: LinkageInput, rules: Rules, roots: NDArray[np.int32]) -> None:
        n = rules.n_units
        self.rules = rules
        self.of_unit: Index = np.empty(n, dtype=np.int64)
        self.of_unit[rules.unit] = roots
        self.n_clusters = int(roots.max()) + 1
        edges = data.graph.tocoo()
        ends = rules.unit[edges.row], rules.unit[edges.col]
        graph = sparse.csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), (n, n))
        self.indptr, self.indices = graph.indptr, graph.indices
        self.load = np.bincount(self.of_unit, rules.load, self.n_clusters)
        self.tags: dict[int, list[int]] = defaultdict(list)
        for unit, tag in zip(rules.owner.tolist(), rules.tag.tolist(), strict=True):
            self.tags[unit].append(tag)
        # a legal cluster carries a tag once, and of each `across` constraint one code, some times
        self.carried = {(int(self.of_unit[u]), tag) for u, tags in self.tags.items() for tag in tags}
        self.codes: dict[tuple[int, int], list[int]] = defaultdict(lambda: [-1, 0])
        for s, codes in enumerate(rules.codes):
            for u in np.flatnonzero(codes >= 0).tolist():
                self._count(int(self.of_unit[u]), s, int(codes[u]), 1)
        self.distance_to = _distances_to(data, rules, self.of_unit, self.n_clusters)

    def smallest_first(self) -> list[int]:
        """The clusters that are left, by load."""
        left = np.unique(self.of_unit)
        return left[np.argsort(self.load[left], kind="stable")].tolist()

    def may_have(self, cluster: int, unit: int) -> bool:
        """Whether a unit may go into a cluster."""
        if self.load[cluster] + self.rules.load[unit] > self.rules.cap:
            return False
        if any((cluster, tag) in self.carried for tag in self.tags.get(unit, ())):
            return False
        for s, codes in enumerate(self.rules.codes):
            code, count = self.codes[cluster, s]
            if codes[unit] >= 0 and count and code != codes[unit]:
                return False
        return True

    def _count(self, cluster: int, statement: int, code: int, more: int) -> None:
        held = self.codes[cluster, statement]
        held[:] = code, held[1] + more

    def move(self, unit: int, there: int) -> int:
        """Move a unit; returns where it was."""
        here = int(self.of_unit[unit])
        self.of_unit[unit] = there
        self.load[here] -= self.rules.load[unit]
        self.load[there] += self.rules.load[unit]
        for tag in self.tags.get(unit, ()):
            self.carried.discard((here, tag))
            self.carried.add((there, tag))
        for s, codes in enumerate(self.rules.codes):
            if codes[unit] >= 0:
                self._count(here, s, int(codes[unit]), -1)
                self._count(there, s, int(codes[unit]), 1)
        return here

    def give_away(self, cluster: int) -> bool:
        """Hand all units of a cluster over to neighbours; if that fails, nothing has changed."""
        units = np.flatnonzero(self.of_unit == cluster).tolist()
        left, moved = set(units), []
        waiting: list[tuple[float, int, int]] = []

        def offer(unit: int) -> None:
            for other in self.indices[self.indptr[unit] : self.indptr[unit + 1]].tolist():
                there = int(self.of_unit[other])
                if there != cluster and self.may_have(there, unit):
                    heapq.heappush(waiting, (self.distance_to(unit, there), unit, there))

        for unit in units:
            offer(unit)
        while waiting:
            _, unit, there = heapq.heappop(waiting)
            if unit not in left or not self.may_have(there, unit):
                continue
            left.discard(unit)
            moved.append(unit)
            self.move(unit, there)
            for other in self.indices[self.indptr[unit] : self.indptr[unit + 1]].tolist():
                if other in left:
                    offer(other)
        if left:
            for unit in moved:
                self.move(unit, cluster)
            return False
        self.n_clusters -= 1
        return True


def _distances_to(data: LinkageInput, rules: Rules, of_unit: Index, k: int) -> Callable[[int, int], float]:
    """How far a unit is from a cluster, as the clusters were: from means, or by mean distances."""
    n, n_units = len(rules.unit), rules.n_units
    member = sparse.csr_array((np.ones(n), (rules.unit, np.arange(n))), (n_units, n))
    if data.plain:
        group = sparse.csr_array((np.ones(n_units), (of_unit, np.arange(n_units))), (k, n_units))
        total = member @ np.asarray(data.X, dtype=np.float64)
        mean, middle = group @ total / (group @ rules.size)[:, None], total / rules.size[:, None]
        return lambda unit, cluster: float(((middle[unit] - mean[cluster]) ** 2).sum())
    distances = ItemDistances(data.X, data.metric)
    items = np.split(member.indices, member.indptr[1:-1])
    cluster_of = of_unit[rules.unit]
    return lambda unit, cluster: float(distances.of(items[unit])[:, cluster_of == cluster].mean())
