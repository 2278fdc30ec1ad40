"""What broken pairs cost and where they pull: the core and the centres of `CVQEKMeans`; see `_cvqe_kmeans`.

In the linear form a must-link that is cut between clusters a and b costs `s/4 (D[i, b] + D[j, a])`. That is a
cost of each end alone, `s/4 D[j, a]` and `s/4 D[i, b]`, less `s/4 (D[i, h] + D[j, h])` where both are in h:
a price for each cluster, as with metrics by cluster. In the original form it is `s/2 |c_a - c_b|^2`, which is
a coupling. A cannot-link inside cluster h has a price that depends on h in either form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel, over_chunks
from coterie.assign._core import Scores, own_costs
from coterie.assign._pairs import Energy
from coterie.constraints import Constraints
from coterie.constraints._model import StatedPairs
from coterie.distortion import SquaredEuclidean
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop
from coterie.kmeans._engine.starts import RandomState
from coterie.kmeans._prices.by_distance import PricedPairs

# Two ends are as far from a centre if their squared distances differ by less than this share: the centre of
# two items lies halfway, and rounding should not decide between them.
_AS_FAR = 1e-7
# Passes in a row without a gain after which a start ends.
_PATIENCE = 10


@kernel
def _two_nearest(D: Any, near: Any) -> None:
    """Write the nearest and the second nearest centre of each row (-1: there is one centre only)."""
    k = D.shape[1]
    for i in range(D.shape[0]):
        first, second = 0, -1
        for h in range(1, k):
            if D[i, h] < D[i, first]:
                second = first
                first = h
            elif second < 0 or D[i, h] < D[i, second]:
                second = h
        near[i, 0] = first
        near[i, 1] = second


@kernel
def _linear_prices(D: Any, near: Any, i: Any, j: Any, cannot: Any, strength: Any, out: Any) -> None:
    """Write what each pair costs together in each cluster; negative for must-links, which avoid a cut."""
    for p in range(out.shape[0]):
        u, v = i[p], j[p]
        for h in range(out.shape[1]):
            if not cannot[p]:
                out[p, h] = -0.25 * strength[p] * (D[u, h] + D[v, h])
                continue
            m = near[u, 1] if near[u, 0] == h else near[u, 0]
            n = near[v, 1] if near[v, 0] == h else near[v, 0]
            if m < 0:
                out[p, h] = 0.0
            elif abs(D[u, h] - D[v, h]) <= _AS_FAR * max(D[u, h], D[v, h]):
                out[p, h] = 0.5 * strength[p] * min(D[u, m], D[v, n])
            else:
                out[p, h] = 0.5 * strength[p] * (D[u, m] if D[u, h] > D[v, h] else D[v, n])


@kernel
def _paid(D: Any, C: Any, i: Any, j: Any, cannot: Any, strength: Any, together: Any, labels: Any) -> Any:
    """What broken must-links and broken cannot-links cost; C has no rows in the linear form."""
    must = apart = 0.0
    for p in range(together.shape[0]):
        a, b = labels[i[p]], labels[j[p]]
        if cannot[p]:
            apart += together[p, a] if a == b else 0.0
        elif a != b and C.shape[0] > 0:
            must += 0.5 * strength[p] * C[a, b]
        elif a != b:
            must += 0.25 * strength[p] * (D[i[p], b] + D[j[p], a])
    return must, apart


class PricedByCentres(PricedPairs):
    """Soft pairs cost distances to centres, or between them; hard constraints hold."""

    may_rise = True
    rounds_a_pass = 100
    turns = False  # without a seed too, the same start has the same end

    def __init__(
        self,
        known: Constraints,
        pairs: StatedPairs,
        k: int,
        rng: RandomState,
        distortion: SquaredEuclidean,
        *,
        linear: bool,
    ) -> None:
        super().__init__(known, pairs, 1.0, k, rng, distortion)
        self.linear, self.items, self.max_sweeps = linear, self.core.items, 10_000
        n, (u, v), must = len(self.items), self.ends, ~self.cannot & (self.ends[0] != self.ends[1])
        s = self.strength
        quarter = np.tile(0.25 * s[must], 2)
        at = np.concatenate([u[must], v[must]]), np.concatenate([self.j[must], self.i[must]])
        self.quarter = sparse.csr_matrix((quarter, at), (self.core.n_units, n))
        pulls = np.where(self.cannot, 0.0, 0.5 * s)[self.between]
        self.coupling = np.bincount(self.edge, np.tile(pulls, 2), len(self.base)).astype(np.float64)
        self.large_blocks = bool((np.diff(self.core.chunklet_ptr) > 2).any())
        self.D: Floats = np.empty((n, k))
        self.near = np.empty((n, 2), dtype=np.int64)
        self.together = np.empty((len(s), k))
        self.C, self.apart = np.zeros((0, 0) if linear else (k, k)), np.zeros(k)
        points, typical = distortion.points, distortion.typical
        if sparse.issparse(points.X):
            self.square = points.squared_norms()[self.items]
        else:
            self.square = np.empty(n)

            def job(start: int, stop: int) -> None:
                away = points.rows(self.items[start:stop]) - typical
                self.square[start:stop] = np.einsum("ij,ij->i", away, away)

            over_chunks(job, n, _rows_at_once(points.d))

    # ---- prices ---------------------------------------------------------------------------------------

    def reprice(self, centres: Floats) -> None:
        self.centres = centres
        slopes, intercepts = self.distortion.linear(centres)
        points = self.distortion.points

        def job(start: int, stop: int) -> None:
            found = points.scores(self.items[start:stop], slopes, intercepts)
            found += self.square[start:stop, None]
            np.maximum(found, 0.0, out=self.D[start:stop])

        over_chunks(job, len(self.items), _rows_at_once(max(points.d, self.k)))
        if self.linear:
            _two_nearest(self.D, self.near)
            _linear_prices(self.D, self.near, self.i, self.j, self.cannot, self.strength, self.together)
            self._price_by_cluster(self.together, self.quarter @ self.D)
            return
        if self.k > 1:
            self.C = cdist(centres, centres, "sqeuclidean")
            others = self.C + np.diag(np.full(self.k, np.inf))
            self.next = others.argmin(axis=1)
            self.apart = others.min(axis=1)
        self.together = np.outer(np.where(self.cannot, 0.5 * self.strength, 0.0), self.apart)
        self._price_by_cluster(self.together, 0.0)

    def energy(self, cost: Floats) -> Energy:
        energy = super().energy(cost)
        return energy if self.linear else energy._replace(coupling=self.coupling, apart=self.C)

    def penalties(self, labels: Labels) -> tuple[float, float]:
        given = self.i, self.j, self.cannot, self.strength, self.together
        must, cannot = _paid(self.D, self.C, *given, labels)
        return float(must), float(cannot)

    def final_penalty(self, labels: Labels) -> float:
        """The same, from differences where X is dense: prices are sums of squares."""
        labels = labels[self.items]
        if not self.linear or sparse.issparse(self.distortion.points.X):
            return sum(self.penalties(labels))
        a, b, cut, same = self._broken_by(labels)
        far, n = self._farther(same, a[same])
        there = n >= 0
        must = self._exactly(self.i[cut], b[cut]) + self._exactly(self.j[cut], a[cut])
        cannot = self._exactly(far[there], n[there])
        return float(0.25 * self.strength[cut] @ must + 0.5 * self.strength[same[there]] @ cannot)

    def _broken_by(self, labels: Labels) -> tuple[Index, Index, Index, Index]:
        """By labels of the items: clusters of both ends, must-links that are cut, cannot-links broken."""
        a, b = labels[self.i].astype(np.int64), labels[self.j].astype(np.int64)
        return a, b, np.flatnonzero(~self.cannot & (a != b)), np.flatnonzero(self.cannot & (a == b))

    def _farther(self, same: Index, h: Index) -> tuple[Index, Index]:
        """Of cannot-links `same` inside clusters h the farther end, and where it should be (-1: nowhere)."""
        i, j = self.i[same], self.j[same]
        next_i, next_j = (
            np.where(near[:, 0] == h, near[:, 1], near[:, 0]) for near in (self.near[i], self.near[j])
        )
        own_i, own_j = self.D[i, h], self.D[j, h]
        as_far = np.abs(own_i - own_j) <= _AS_FAR * np.maximum(own_i, own_j)
        second = np.where(as_far, self.D[j, next_j] < self.D[i, next_i], own_j > own_i)
        return np.where(second, j, i), np.where(second, next_j, next_i)

    def _exactly(self, rows: Index, h: Index) -> Floats:
        """Squared distances of some items to a centre each, from differences."""
        points = self.distortion.points
        out = np.empty(len(rows))
        step = _rows_at_once(points.d)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            away = points.rows(self.items[rows[part]]) - self.centres[h[part]]
            out[part] = np.einsum("ij,ij->i", away, away)
        return out

    # ---- labels ---------------------------------------------------------------------------------------

    def assign(self, cost: Floats, labels: Labels | None, scores: Scores, last: bool) -> Labels:
        cost = np.ascontiguousarray(cost)
        if not len(self.i) and self.hard is not None:
            return self.hard.assign(cost, labels, scores, last=True)
        found = super().assign(cost, labels, scores, last)
        if self.large_blocks:
            # single moves tear components apart that should have moved as a whole: begin with these, too
            other = self.improve(cost, self.first(cost), blocks_first=True)[0]
            if own_costs(cost, other) + self.penalty(other) < own_costs(cost, found) + self.penalty(found):
                return other
        return found

    def coupling_cost(self, labels: Labels) -> Floats:
        """What each unit would gain by a cluster of its own, with its centre where the unit is."""
        a, b = (labels[end].astype(np.int64) for end in self.ends)
        i, j, s, D = self.i, self.j, self.strength, self.D
        gain = np.zeros((len(s), 2))
        must = ~self.cannot
        if self.linear:
            kept, cut = must & (a == b), must & (a != b)
            for end, (mine, other, own) in enumerate(((i, j, a), (j, i, b))):
                gain[kept, end] = -0.25 * (s * (D[mine, own] + self._lengths))[kept]
                gain[cut, end] = 0.25 * (s * (D[other, own] - self._lengths))[cut]
        else:
            for end, (mine, there) in enumerate(((i, b), (j, a))):
                gain[must, end] = 0.5 * (s * (self.C[a, b] - D[mine, there]))[must]
        same = np.flatnonzero(self.cannot & (a == b))
        if self.linear:
            far, nearest = self._farther(same, a[same])
            price = np.where(nearest >= 0, D[far, nearest], 0.0)
        else:
            price = self.apart[a[same]]
        gain[same] = 0.5 * (s[same] * price)[:, None]
        gain[self.ends[0] == self.ends[1]] = 0.0
        return np.bincount(np.column_stack(self.ends).ravel(), gain.ravel(), len(labels)).astype(np.float64)

    @cached_property
    def _lengths(self) -> Floats:
        """Squared distance of the ends of each soft pair."""
        points, out = self.distortion.points, np.empty(len(self.i))
        step = _rows_at_once(points.d)
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            diff = points.X[self.items[self.i[part]]] - points.X[self.items[self.j[part]]]
            square = diff.multiply(diff).sum(axis=1) if sparse.issparse(diff) else (diff * diff).sum(axis=1)
            out[part] = np.asarray(square).ravel()
        return out

    # ---- centres --------------------------------------------------------------------------------------

    def centre_contributions(self, labels: Labels, centres: Floats) -> tuple[Floats, Floats] | None:
        """Points that broken pairs want in a cluster: half of them across a must-link, whole farther ends."""
        if not self.linear or not len(self.i):
            return None
        a, b, cut, same = self._broken_by(labels[self.core.unit])
        far, n = self._farther(same, a[same])
        there = n >= 0
        row = self.items[np.concatenate([self.i[cut], self.j[cut], far[there]])]
        where = np.concatenate([b[cut], a[cut], n[there]])
        half = 0.5 * self.strength[cut]
        mass = np.concatenate([half, half, self.strength[same[there]]])
        masses = np.bincount(where, mass, self.k).astype(np.float64)
        sums = np.zeros((self.k, self.distortion.points.d))
        step = _rows_at_once(self.distortion.points.d)
        for start in range(0, len(row), step):
            chunk = slice(start, start + step)
            shape = self.k, len(row[chunk])
            gather = sparse.csr_matrix((mass[chunk], (where[chunk], np.arange(shape[1]))), shape)
            found = gather @ self.distortion.points.X[row[chunk]]
            sums += found.toarray() if sparse.issparse(found) else found
        return sums, masses

    def centre_couplings(self, labels: Labels) -> Floats:
        """How strongly broken pairs tie each two centres, in the original form: k x k, symmetric."""
        a, b, cut, same = self._broken_by(labels[self.core.unit])
        coupling = np.zeros((self.k, self.k))
        np.add.at(coupling, (a[cut], b[cut]), self.strength[cut])
        if self.k > 1:
            np.add.at(coupling, (a[same], self.next[a[same]]), self.strength[same])
        return coupling + coupling.T


class CoupledCentresLoop(PrototypeLoop):
    """The loop, with centres that may pull at each other: the best ones then solve a linear system."""

    solver: PricedByCentres | None
    distortion: SquaredEuclidean

    def run(
        self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]
    ) -> LoopOutcome:
        least, in_vain = np.inf, 0

        def still(objective: float) -> bool:
            """Stop where passes go round in a circle, as they may where the objective may rise."""
            nonlocal least, in_vain
            in_vain = 0 if objective < least else in_vain + 1
            least = min(least, objective)
            return step(objective) or in_vain == _PATIENCE

        found = super().run(centres, max_iter=max_iter, tol=tol, step=still)
        found.converged = found.converged or in_vain == _PATIENCE
        return found

    def _best_centres(self, centres: Floats) -> Floats:
        found = super()._best_centres(centres)
        if self.solver is None or self.solver.linear:
            return found
        sums, masses = self.totals[:2]
        coupling = self.solver.centre_couplings(self.unit_labels)
        if not coupling.any():
            return found
        # only centres that are tied to some mass have a best place
        component = connected_components(sparse.csr_matrix(coupling), directed=False)[1]
        held = np.bincount(component, masses)[component] > 0
        system = np.diag(masses + coupling.sum(axis=1)) - coupling
        middle = self.distortion.middle
        right = (sums - masses[:, None] * middle)[held]
        found[held] = middle + np.linalg.solve(system[np.ix_(held, held)], right)
        return found


def _rows_at_once(width: int) -> int:
    """Rows that are copied at once: some megabytes."""
    return max(64, (1 << 20) // width)
