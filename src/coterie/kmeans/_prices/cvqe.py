"""What broken pairs cost and where they pull: the core and the centres of `CVQEKMeans`; see `_cvqe`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import over_chunks
from coterie.assign._core import Core, CoreSolver, Scores, build_core, count_rows
from coterie.assign._hard import HardSolver
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.distortion import SquaredEuclidean
from coterie.kmeans._engine.loop import Outcome, PrototypeLoop
from coterie.kmeans._engine.starts import RandomState
from coterie.kmeans._prices.cvqe_moves import (
    AS_FAR,
    CANNOT,
    MUST,
    NEVER,
    move_blocks,
    move_pairs,
    sweep,
    total_cost,
    two_nearest,
)

# Steps between two returns to Python: well under half a second.
_SLICE = 10_000_000
# Passes in a row without a gain after which a start ends.
_PATIENCE = 10
# Most rounds of moves in one pass: where they have an end, it comes after a few.
_MAX_ROUNDS = 100


class PricedByDistance(CoreSolver):
    """Soft pairs cost distances to centres; hard statements hold."""

    may_rise = True

    def __init__(
        self, known: Constraints, distortion: SquaredEuclidean, k: int, linear: bool, rng: RandomState
    ) -> None:
        self.distortion, self.k, self.linear = distortion, k, linear
        self.core = build_core(known, "hard").only_forbidden()
        self.hard = (
            HardSolver(known.only_hard(), self.core, k, budget=1_000_000, rng=rng)
            if self.core.forbids
            else None
        )
        self._read(known)
        self._connect()
        core = self.core
        self.rows = (
            core.entry_ptr,
            core.entry_row,
            core.entry_minus,
            core.entry_mass,
            np.isinf(core.entry_weight),
        )
        self.blocks = _large_blocks(core)
        self.D: Floats = np.empty((len(self.items), k))
        self.near = np.empty((len(self.items), 2), dtype=np.int64)
        self.C, self.apart = np.zeros((k, k)), np.zeros(k)
        points, typical = distortion.points, distortion.typical
        if sparse.issparse(points.X):
            self.square = points.squared_norms()[self.items]
        else:
            self.square = np.empty(len(self.items))

            def job(start: int, stop: int) -> None:
                away = points.rows(self.items[start:stop]) - typical
                self.square[start:stop] = np.einsum("ij,ij->i", away, away)

            over_chunks(job, len(self.items), _rows_at_once(points.d))

    # ---- what is said ---------------------------------------------------------------------------------

    def _read(self, known: Constraints) -> None:
        """Pairs between units: soft ones by their items, forbidden ones by their units alone."""
        core = self.core
        stated = stated_pairs(known)
        unit = core.unit[np.searchsorted(core.items, stated.ij)]
        # a must-link inside a unit holds; a cannot-link there is broken wherever the unit goes
        kept = stated.cannot | (unit[:, 0] != unit[:, 1])
        self.pairs, self.must, self.strength = stated.ij[kept], ~stated.cannot[kept], stated.strength[kept]
        self.units = unit[kept]
        self.items, ends = np.unique(self.pairs, return_inverse=True)
        self.ends: Index = ends.reshape(-1, 2).astype(np.int64)

    def _connect(self) -> None:
        core = self.core
        head = np.repeat(np.arange(core.n_units), np.diff(core.indptr))
        once = head < core.indices
        never = np.column_stack([head[once], core.indices[once]])
        kind = np.where(self.must, MUST, CANNOT)
        mates = np.ascontiguousarray(np.concatenate([self.units, never]))
        kind = np.concatenate([kind, np.full(len(never), NEVER)]).astype(np.int8)
        ends = np.concatenate([self.ends, np.zeros((len(never), 2), dtype=np.int64)])
        strength = np.concatenate([self.strength, np.full(len(never), np.inf)])
        self.n_pairs = len(kind)
        number = np.repeat(np.arange(self.n_pairs), 2)
        side = np.tile(np.array([0, 1], dtype=np.int64), self.n_pairs)
        owner = mates.ravel()
        # a pair inside a unit is the unit's once
        kept = (side == 0) | np.repeat(mates[:, 0] != mates[:, 1], 2)
        number, side, owner = number[kept], side[kept], owner[kept]
        order = np.argsort(owner, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=core.n_units))])
        acts = ptr.astype(np.int64), number[order], side[order]
        self.graph: tuple[Any, ...] = (*acts, ends, mates, kind, strength)

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
            two_nearest(self.D, self.near)
        elif self.k > 1:
            self.C = cdist(centres, centres, "sqeuclidean")
            others = self.C + np.diag(np.full(self.k, np.inf))
            self.next = others.argmin(axis=1)
            self.apart = others.min(axis=1)

    @property
    def prices(self) -> tuple[Any, ...]:
        return self.D, self.near, self.C, self.apart, self.linear

    def penalty(self, labels: Labels) -> float:
        return float(total_cost(self.graph, self.prices, labels)) if len(self.pairs) else 0.0

    def final_penalty(self, labels: Labels) -> float:
        a, b = labels[self.pairs].T.astype(np.int64)
        cut, same = np.flatnonzero(self.must & (a != b)), np.flatnonzero(~self.must & (a == b))
        if not self.linear:
            price = np.concatenate([self.C[a[cut], b[cut]], self.apart[a[same]]])
            return float(0.5 * self.strength[np.concatenate([cut, same])] @ price)
        far, n = self._astray(same, a[same])
        there = n >= 0
        first = self._gaps(self.ends[cut, 0], b[cut]) + self._gaps(self.ends[cut, 1], a[cut])
        second = self._gaps(far[there], n[there])
        return float(0.25 * self.strength[cut] @ first + 0.5 * self.strength[same[there]] @ second)

    def _astray(self, same: Index, h: Index) -> tuple[Index, Index]:
        """Of cannot-links `same` inside clusters h the farther end, and where it should be (-1: nowhere)."""
        i, j = self.ends[same].T
        next_i, next_j = (
            np.where(near[:, 0] == h, near[:, 1], near[:, 0]) for near in (self.near[i], self.near[j])
        )
        own_i, own_j = self.D[i, h], self.D[j, h]
        as_far = np.abs(own_i - own_j) <= AS_FAR * np.maximum(own_i, own_j)
        second = np.where(as_far, self.D[j, next_j] < self.D[i, next_i], own_j > own_i)
        return np.where(second, j, i), np.where(second, next_j, next_i)

    def _gaps(self, rows: Index, h: Index) -> Floats:
        """Squared distances of some items to a centre each, from differences where X is dense."""
        points = self.distortion.points
        if sparse.issparse(points.X):
            return self.D[rows, h]
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
        if not len(self.pairs) and self.hard is not None:
            return self.hard.improve(cost, self.hard.first(cost) if labels is None else labels)[0].copy()
        found = self._cheapest(cost) if labels is None else labels
        self._improve(cost, found, blocks_first=False)
        if len(self.blocks[0]) > 1:
            # single moves tear components apart that should have moved as a whole: begin with these, too
            other = self._cheapest(cost)
            self._improve(cost, other, blocks_first=True)
            if self._energy(cost, other) < self._energy(cost, found):
                return other
        return found

    def _cheapest(self, cost: Floats) -> Labels:
        """The cheapest labels, but for what is forbidden."""
        if self.hard is None:
            return cost.argmin(axis=1).astype(np.int32)
        return self.hard.improve(cost, self.hard.first(cost))[0].copy()

    def _energy(self, cost: Floats, labels: Labels) -> float:
        return float(np.take_along_axis(cost, labels[:, None].astype(np.int64), axis=1).sum()) + self.penalty(
            labels
        )

    def _improve(self, cost: Floats, labels: Labels, *, blocks_first: bool) -> None:
        """Move units, pairs and blocks, `labels` in place, until nothing pays."""
        n_units, k = self.core.n_units, self.k
        if k == 1:
            return
        state = cost, self.graph, self.prices, self.rows, count_rows(self.core, labels, k), labels
        dirty, uneasy = np.full(n_units, 3, dtype=np.uint8), np.ones(n_units, dtype=np.uint8)
        scratch, before = np.empty((5, k)), np.empty(n_units, dtype=np.int32)
        work = k * (1 + (2 * self.n_pairs + len(self.rows[1])) // n_units)
        step = max(1, _SLICE // work)

        def units() -> int:
            return sum(
                sweep(*state, at, stop, dirty, uneasy, scratch[0]) for at, stop in _slices(n_units, step)
            )

        def pairs() -> int:
            due = dirty & np.uint8(2)
            np.bitwise_and(dirty, 1, out=dirty)
            few = max(1, step // 8)
            return sum(
                move_pairs(*state, at, stop, due, dirty, uneasy, scratch)
                for at, stop in _slices(self.n_pairs, few)
            )

        def blocks() -> int:
            few = max(1, step // 8)
            return sum(
                move_blocks(*state, self.blocks, at, stop, dirty, uneasy, before, scratch)
                for at, stop in _slices(len(self.blocks[0]) - 1, few)
            )

        for _ in range(_MAX_ROUNDS if blocks_first else 0):
            if not blocks():
                break
        for _ in range(_MAX_ROUNDS):
            while units():
                continue
            if not pairs() + blocks():
                break

    def ties(self, labels: Labels) -> Floats:
        """What each unit would gain by a cluster of its own, with its centre where the unit is."""
        a, b = labels[self.units].T
        i, j = self.ends.T
        s, n = self.strength, self.core.n_units
        gain = np.zeros(self.pairs.shape)
        must = self.must
        if self.linear:
            kept, cut = must & (a == b), must & (a != b)
            for end, (mine, other) in enumerate(((i, j), (j, i))):
                own, there = (a, b) if end == 0 else (b, a)
                gain[kept, end] = -0.25 * (s * (self.D[mine, own] + self._lengths))[kept]
                gain[cut, end] = 0.25 * (s * (self.D[other, own] - self._lengths))[cut]
        else:
            for end, (mine, there) in enumerate(((i, b), (j, a))):
                gain[must, end] = 0.5 * (s * (self.C[a, b] - self.D[mine, there]))[must]
        same = np.flatnonzero(~must & (a == b) & (self.units[:, 0] != self.units[:, 1]))
        if self.linear:
            far, nearest = self._astray(same, a[same].astype(np.int64))
            price = np.where(nearest >= 0, self.D[far, nearest], 0.0)
        else:
            price = self.apart[a[same]]
        gain[same] = 0.5 * (s[same] * price)[:, None]
        inside = self.units[:, 0] == self.units[:, 1]
        gain[inside] = 0.0
        return np.bincount(self.units.ravel(), gain.ravel(), n).astype(np.float64)

    @cached_property
    def _lengths(self) -> Floats:
        """Squared distance of the ends of each soft pair."""
        points, out = self.distortion.points, np.empty(len(self.pairs))
        step = _rows_at_once(points.d)
        for start in range(0, len(out), step):
            left, right = self.pairs[start : start + step].T
            gap = points.X[left] - points.X[right]
            square = gap.multiply(gap).sum(axis=1) if sparse.issparse(gap) else (gap * gap).sum(axis=1)
            out[start : start + step] = np.asarray(square).ravel()
        return out

    # ---- centres --------------------------------------------------------------------------------------

    def pull(self, labels: Labels, centres: Floats) -> tuple[Floats, Floats] | None:
        """Points that broken pairs want in a cluster: half of them across a must-link, whole astray ones."""
        if not self.linear or not len(self.pairs):
            return None
        a, b = labels[self.units].T.astype(np.int64)
        cut, same = np.flatnonzero(self.must & (a != b)), np.flatnonzero(~self.must & (a == b))
        far, n = self._astray(same, a[same])
        there = n >= 0
        row = self.items[np.concatenate([self.ends[cut, 0], self.ends[cut, 1], far[there]])]
        where = np.concatenate([b[cut], a[cut], n[there]])
        half = 0.5 * self.strength[cut]
        mass = np.concatenate([half, half, self.strength[same[there]]])
        masses = np.bincount(where, mass, self.k).astype(np.float64)
        sums = np.zeros((self.k, self.distortion.points.d))
        step = _rows_at_once(self.distortion.points.d)
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            shape = self.k, len(row[part])
            gather = sparse.csr_matrix((mass[part], (where[part], np.arange(shape[1]))), shape)
            found = gather @ self.distortion.points.X[row[part]]
            sums += found.toarray() if sparse.issparse(found) else found
        return sums, masses

    def bonds(self, labels: Labels) -> Floats:
        """How strongly broken pairs tie each two centres, in the original form: k x k, symmetric."""
        a, b = labels[self.units].T.astype(np.int64)
        cut, same = self.must & (a != b), ~self.must & (a == b)
        bond = np.zeros((self.k, self.k))
        np.add.at(bond, (a[cut], b[cut]), self.strength[cut])
        if self.k > 1:
            np.add.at(bond, (a[same], self.next[a[same]]), self.strength[same])
        return bond + bond.T


class PullingLoop(PrototypeLoop):
    """The loop, with centres that may pull at each other: the best ones then solve a linear system."""

    solver: PricedByDistance | None
    distortion: SquaredEuclidean

    def run(self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]) -> Outcome:
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
        bond = self.solver.bonds(self.unit_labels)
        if not bond.any():
            return found
        # only centres that are tied to some mass have a best place
        part = connected_components(sparse.csr_matrix(bond), directed=False)[1]
        held = np.bincount(part, masses)[part] > 0
        system = np.diag(masses + bond.sum(axis=1)) - bond
        middle = self.distortion.middle
        right = (sums - masses[:, None] * middle)[held]
        found[held] = middle + np.linalg.solve(system[np.ix_(held, held)], right)
        return found


def _large_blocks(core: Core) -> tuple[Index, Index, Index]:
    """Blocks of three units and more, as the compiled loops take them: pairs are moved as pairs."""
    size = np.diff(core.block_ptr)
    large = size > 2
    unit = core.block_unit[np.repeat(large, size)]
    of_unit = np.full(core.n_units, -1, dtype=np.int64)
    of_unit[unit] = np.repeat(np.arange(np.count_nonzero(large)), size[large])
    return np.concatenate([[0], np.cumsum(size[large])]).astype(np.int64), unit, of_unit


def _slices(n: int, step: int) -> list[tuple[int, int]]:
    return [(at, min(at + step, n)) for at in range(0, n, step)]


def _rows_at_once(width: int) -> int:
    """Rows that are copied at once: some megabytes."""
    return max(64, (1 << 20) // width)
