"""Where kernel k-means begins: must-link components by farthest-first, kernel k-means++, regions of a graph.

Distances are those of the kernel. On a graph most nodes are equally far from a seed, so that seeds are drawn
by the number of steps between them, and clusters grow from them along the edges.

Source: Kulis, Basu, Dhillon and Mooney 2005 (components); the rule counts no sizes, since weighted ones let
clusters collapse. Arthur and Vassilvitskii 2007 (k-means++).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra

from coterie._arrays import Floats, Index, Labels
from coterie.constraints import Constraints
from coterie.kmeans._engine.starts import RandomState, drawn_by_weight
from coterie.kmeans._kernel.search import HardConstraints, filled
from coterie.kmeans._kernel.similarities import Units, indicator

# Components among which farthest-first chooses; of more, the heaviest.
_MAX_COMPONENTS = 1000


class KernelStarts:
    """Labels of the units to start from; `units` are without the constraints, which have no distance."""

    def __init__(
        self,
        units: Units,
        known: Constraints,
        unit: Index,
        hard: HardConstraints,
        is_graph: bool,
        rng: RandomState,
    ) -> None:
        self.units, self.known, self.unit, self.hard = units, known, unit, hard
        self.k, self.rng = hard.k, rng
        self.heavy = np.flatnonzero(units.mass > 0)
        # of a sparse kernel too most entries are 0
        self.grows = is_graph or units.graph.nnz > 0
        self.steps = units.graph if not len(units.table) else None

    def labels(self, how: str) -> Labels:
        """A start by the name of the way."""
        if how == "random":
            return self.random()
        seeds = self._components() if how == "components" else []
        if len(seeds) > self.k:
            seeds = self._farthest_first(seeds)
        while len(seeds) < self.k:
            seeds.append(np.array([self._drawn(seeds)]))
        return self._around(seeds)

    def random(self) -> Labels:
        """Items drawn as seeds."""
        n_drawn = min(self.k, len(self.heavy))
        chosen = self.heavy[drawn_by_weight(len(self.heavy), self.units.mass[self.heavy], n_drawn, self.rng)]
        rest = np.setdiff1d(np.arange(self.units.m), chosen)
        chosen = np.concatenate([chosen, rest])[: self.k]
        return self._around([np.array([u]) for u in chosen])

    def given(self, labels: Labels) -> Labels:
        """Labels that the user gave, of the items; a unit takes the label of most of them."""
        m, k = self.units.m, self.k
        votes = np.zeros((m, k))
        np.add.at(votes, (self.unit, labels), 1.0)
        cost = votes.max(axis=1, keepdims=True) - votes
        found = self.hard.legal(cost)
        return filled(found, self._cost(found), self.heavy, k)

    # ---- seeds ----------------------------------------------------------------------------------------

    def _components(self) -> list[Index]:
        """Units of the must-link components of two items and more, heaviest first."""
        items = self.known.constrained_items
        if not len(items):
            return []
        component = self.known.components[items]
        order = np.argsort(component, kind="stable")
        parts = np.split(items[order], np.flatnonzero(np.diff(component[order])) + 1)
        found = [np.unique(self.unit[part]) for part in parts if len(part) > 1]
        weight = [float(self.units.mass[part].sum()) for part in found]
        by_weight = sorted(range(len(found)), key=lambda at: -weight[at])
        return [found[at] for at in by_weight if weight[at] > 0][: max(_MAX_COMPONENTS, self.k)]

    def _farthest_first(self, seeds: list[Index]) -> list[Index]:
        """The heaviest, then always the one that is farthest from all chosen."""
        groups = self._groups(seeds)
        if self.grows and self.steps is not None:
            # a search through the graph for each that is chosen, not for each that might be
            units, starts = np.concatenate(seeds), np.cumsum([0, *[len(part) for part in seeds[:-1]]])

            def distance_from(at: int) -> Floats:
                return np.minimum.reduceat(self._hops(seeds[at])[units], starts)
        else:
            far = self._between(groups)

            def distance_from(at: int) -> Floats:
                return far[at]

        chosen = [0]
        nearest = distance_from(0).copy()
        while len(chosen) < self.k:
            nearest[chosen] = -np.inf
            chosen.append(int(np.argmax(nearest)))
            nearest = np.minimum(nearest, distance_from(chosen[-1]))
        return [seeds[at] for at in chosen]

    def _between(self, groups: Any) -> Floats:
        """Squared distances between the means of groups; in a graph the affinity, the other way round."""
        mass = np.asarray(groups.T @ self.units.mass)
        z = self.units.among(groups) / np.outer(mass, mass)
        return -z if self.grows else np.maximum(np.diag(z)[:, None] + np.diag(z) - 2.0 * z, 0.0)

    def _hops(self, part: Index) -> Floats:
        """Steps from the nearest of some units; what cannot be reached is farther than anything else."""
        assert self.steps is not None
        links = sparse.csr_matrix(
            (np.ones(self.steps.nnz), self.steps.indices, self.steps.indptr), self.steps.shape
        )
        hops = dijkstra(links, directed=False, indices=part, unweighted=True, min_only=True)
        reached = np.isfinite(hops)
        return np.where(reached, hops, 2.0 * hops[reached].max(initial=0.0) + 1.0)

    def _drawn(self, seeds: list[Index]) -> int:
        """A further unit, drawn by mass and squared distance to the seeds; the best of a few tries."""
        mass = self.units.mass
        taken = np.zeros(self.units.m, dtype=bool)
        if seeds:
            taken[np.concatenate(seeds)] = True
            nearest = self._nearest(seeds)
        else:
            nearest = np.ones(self.units.m)
        worth = np.where(taken, 0.0, mass * nearest)
        if not worth.any():
            worth = np.where(taken, 0.0, mass)
        if not worth.any():
            return int(np.argmin(taken))
        running = np.cumsum(worth)
        n_tries = 1 if not seeds or self.grows else 2 + int(np.log(self.k))
        at = np.searchsorted(running, self.rng.uniform(size=n_tries) * running[-1], side="right")
        tries = np.minimum(at, self.units.m - 1)
        if n_tries == 1:
            return int(tries[0])
        ones = sparse.csr_matrix((np.ones(n_tries), (tries, np.arange(n_tries))), (self.units.m, n_tries))
        left = mass @ np.minimum(nearest[:, None], self.units.squared_distances(ones))
        return int(tries[int(np.argmin(left))])

    def _nearest(self, seeds: list[Index]) -> Floats:
        """Squared distance of each unit to the nearest seed."""
        if self.grows and self.steps is not None:
            return self._hops(np.concatenate(seeds)) ** 2
        groups = self._groups(seeds)
        if self.grows:
            share = np.divide(1.0, self.units.mass, out=np.zeros(self.units.m), where=self.units.mass > 0)
            near = self.units.times(groups).max(axis=1) * share
            return np.maximum(near.max() - near, 0.0)
        return self.units.squared_distances(groups).min(axis=1)

    def _groups(self, seeds: list[Index]) -> Any:
        at = np.repeat(np.arange(len(seeds)), [len(part) for part in seeds])
        units = np.concatenate(seeds)
        return sparse.csr_matrix((np.ones(len(units)), (units, at)), (self.units.m, len(seeds)))

    # ---- labels ---------------------------------------------------------------------------------------

    def _around(self, seeds: list[Index]) -> Labels:
        """Every unit to its nearest seed, as far as it may."""
        if self.grows:
            cost = self._grown(seeds)
        else:
            cost = self.units.squared_distances(self._groups(seeds)) * self.units.mass[:, None]
            # of several seeds in one place, each keeps its own cluster
            for at, part in enumerate(seeds):
                cost[part, at] = np.minimum(cost[part, at], cost[part].min(axis=1) - self._little(cost))
        return filled(self.hard.legal(cost), cost, self.heavy, self.k)

    @staticmethod
    def _little(cost: Floats) -> float:
        return 1e-9 * float(cost.max(initial=0.0)) or 1.0

    def _grown(self, seeds: list[Index]) -> Floats:
        """Clusters that grow along the edges, round by round; costs of 0 where a unit was reached, else 1."""
        m, k = self.units.m, self.k
        labels = np.full(m, -1)
        for at, part in enumerate(seeds):
            labels[part] = at
        while (labels < 0).any():
            near = self.units.times(indicator(labels, k))
            size = np.asarray(indicator(labels, k).T @ self.units.mass)
            near = near / np.where(size > 0, size, 1.0)
            reached = np.flatnonzero((labels < 0) & (near.max(axis=1) > 0))
            if not len(reached):
                self._spread(labels, size)
                break
            labels[reached] = near[reached].argmax(axis=1)
        cost = np.ones((m, k))
        cost[np.arange(m), labels] = 0.0
        return cost

    def _spread(self, labels: Index, size: Floats) -> None:
        """Parts of the graph without a seed go, whole, to the lightest cluster; `labels` in place."""
        left = np.flatnonzero(labels < 0)
        part = left
        if self.steps is not None:
            part = connected_components(self.steps, directed=False)[1][left]
        order = np.argsort(part, kind="stable")
        for one in np.split(left[order], np.flatnonzero(np.diff(part[order])) + 1):
            h = int(np.argmin(size))
            labels[one] = h
            size[h] += self.units.mass[one].sum()

    def _cost(self, labels: Labels) -> Floats:
        """What each unit costs in each cluster of some labels."""
        if self.grows:
            return -self.units.times(indicator(labels, self.k))
        return self.units.squared_distances(indicator(labels, self.k)) * self.units.mass[:, None]
