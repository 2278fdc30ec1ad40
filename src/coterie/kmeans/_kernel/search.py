"""The search of kernel k-means over units: single moves until none pays, or the batch updates of the paper.

Sweeps visit the units in the order of the items from a random place on. When no unit wants to move, units
that must be apart change places along chains, and must-link blocks move together: single moves can do
neither. Sums are kept while units move and worked out anew before anything is declared final.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core import build_core, count_rows, turned
from coterie.assign._hard import HardSolver
from coterie.constraints import Constraints
from coterie.kmeans._kernel.moves import flip_chains, move_blocks, sweep
from coterie.kmeans._kernel.similarities import Units, indicator

# Steps between two returns to Python.
_SLICE = 50_000_000
# Units of a chain or block that are moved together.
_MAX_TOGETHER = 64
# Units whose least eigenvalue is found from a dense matrix.
_DENSE_EIGEN = 500


@dataclass
class Found:
    """What a start came to."""

    labels: Labels
    objective: float
    history: list[float]
    n_iter: int
    converged: bool


class Prohibitions:
    """Hard cannot-links and groups between the units, and legal labels to begin with."""

    def __init__(self, known: Constraints, unit: Index, k: int, rng: np.random.RandomState) -> None:
        m = int(unit.max()) + 1
        self.k = k
        binding = known.only_hard()
        self.core = core = build_core(binding, "hard")
        self.units = np.zeros(core.n_units, dtype=np.int64)
        self.units[core.unit] = unit[core.items]
        self.core_of = np.full(m, -1, dtype=np.int64)
        self.core_of[self.units] = np.arange(core.n_units)
        self.forbids = core.forbids
        self.solver = HardSolver(binding, core, k, budget=1_000_000, rng=rng) if core.forbids else None
        self.acting = self.units[core.acting] if core.forbids else np.empty(0, dtype=np.int64)

    def legal(self, cost: Floats, labels: Labels | None = None) -> Labels:
        """Where each unit is cheapest, but for what is forbidden; never dearer than legal `labels`."""
        found = cost.argmin(axis=1).astype(np.int32)
        if self.solver is not None:
            price = cost[self.units] - cost[self.units].min(axis=1, keepdims=True)
            start = self.solver.first(price) if labels is None else labels[self.units]
            found[self.units] = self.solver.improve(price, start)[0]
        return found

    def open_to(self, u: int, labels: Labels) -> Any:
        """Which clusters unit u may join, the others staying where they are."""
        free = np.ones(self.k, dtype=bool)
        c = self.core_of[u]
        if c < 0 or not self.forbids:
            return free
        _, pointer, to, entry_ptr, row, minus, binds, mass, counts, _, _ = self.arrays(labels)
        free[labels[to[pointer[c] : pointer[c + 1]]]] = False
        for e in range(entry_ptr[c], entry_ptr[c + 1]):
            met = counts[row[e]].copy()
            if minus[e] >= 0:
                met -= counts[minus[e]]
            else:
                met[labels[u]] -= mass[e]
            free &= ~(binds[e] & (met > 0))
        return free

    def arrays(self, labels: Labels) -> tuple[Any, ...]:
        """As the compiled moves take them; the counts are those of `labels`."""
        core = self.core
        edges = core.indptr, self.units[core.indices]
        binds = np.isinf(core.entry_weight)
        entries = core.entry_ptr, core.entry_row, core.entry_minus, binds, core.entry_mass
        counts = count_rows(core, labels[self.units], self.k)
        return (self.core_of, *edges, *entries, counts, core.row_ptr, self.units[core.row_unit])


def blocks_of(known: Constraints, unit: Index) -> tuple[Index, Index]:
    """Units that soft must-links and equal labels join: blocks of two units and more, none too large."""
    items = known.constrained_items
    if not len(items):
        return np.zeros(1, dtype=np.int64), items
    units, first = np.unique(unit[items], return_index=True)
    block = known.components[items[first]]
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(block[order]) > 0]))
    length = np.diff(np.append(starts, len(order)))
    fits = (length > 1) & (length <= _MAX_TOGETHER)
    pointer = np.concatenate([[0], np.cumsum(length[fits])]).astype(np.int64)
    return pointer, units[order][np.repeat(fits, length)]


class Search:
    """Labels of the units; one for all starts of a fit."""

    def __init__(
        self,
        units: Units,
        hard: Prohibitions,
        blocks: tuple[Index, Index],
        constant: float,
        rng: np.random.RandomState,
        said: Units | None = None,
    ) -> None:
        self.units, self.hard, self.blocks, self.constant, self.rng = units, hard, blocks, constant, rng
        # of a positive semidefinite kernel with statements, the statements alone: only they can be negative
        self.said = said
        self._shift: float | None = None
        self.k = hard.k
        self._state: tuple[Any, ...] = ()
        self._hard: tuple[Any, ...] = ()

    # ---- sums -----------------------------------------------------------------------------------------

    def _set(self, labels: Labels) -> float:
        """Work the sums out from the labels; returns the objective."""
        units, k = self.units, self.k
        groups = indicator(labels, k)
        held = labels[np.repeat(np.arange(units.m), np.diff(units.graph.indptr))]
        inside = held == labels[units.graph.indices]
        q = np.bincount(held[inside], units.graph.data[inside], k).astype(np.float64)
        z = np.zeros((k, 0))
        if len(units.table):
            z = np.ascontiguousarray(groups.T @ units.table, dtype=np.float64)
            q += np.bincount(labels, z[labels, np.arange(units.m)], k)
        S = np.ascontiguousarray(groups.T @ units.X, dtype=np.float64)
        q += np.einsum("ij,ij->i", S, S)
        R = np.ascontiguousarray((units.rows.T @ groups).toarray(), dtype=np.float64)
        q += units.factor @ (R * R)
        s = np.bincount(labels, units.mass, k).astype(np.float64)
        count = np.bincount(labels, minlength=k).astype(np.int64)
        massive = np.bincount(labels[units.mass > 0], minlength=k).astype(np.int64)
        self._state = labels, z, S, R, q, s, count, massive
        self._hard = self.hard.arrays(labels)
        return self._objective()

    def _objective(self) -> float:
        q, s, massive = self._state[4], self._state[5], self._state[7]
        worth = np.divide(q, s, out=np.zeros(self.k), where=(massive > 0) & (s > 0))
        return self.constant - float(worth.sum())

    def objective(self, labels: Labels) -> float:
        """What is minimised, from its definition."""
        return self._set(labels.copy())

    # ---- single moves ---------------------------------------------------------------------------------

    def single(self, labels: Labels, max_iter: int, step: Callable[[float], bool]) -> Found:
        """Move units one by one as long as that pays; the objective never rises."""
        history = [self._set(labels)]
        fresh, converged, n_iter = True, False, 0
        while n_iter < max_iter:
            n_iter += 1
            moves = self._sweep() or self._together()
            history.append(self._objective())
            if not moves and not fresh:
                # rounding may have gathered in the sums: only what fresh ones confirm is final
                history[-1] = self._set(labels)
                moves = self._sweep() or self._together()
                history[-1] = self._objective()
            fresh = not moves
            stop = step(history[-1])
            if not moves:
                converged = True
                break
            if stop:
                break
        history[-1] = self._set(labels)
        return Found(labels, history[-1], history, n_iter, converged)

    def _sweep(self) -> int:
        units = self.units
        order = turned(np.arange(units.m), self.rng)
        work = 1 + self.k * (1 + units.X.shape[1] + units.rows.nnz // units.m)
        work += units.graph.nnz // units.m + 2 * len(units.table)
        slice_ = max(1, _SLICE // work)
        out, banned = np.empty(self.k), np.zeros(self.k, dtype=np.uint8)
        moves = 0
        for start in range(0, units.m, slice_):
            stop = min(start + slice_, units.m)
            moves += sweep(units.parts, self._hard, self._state, order, start, stop, out, banned)
        return moves

    def _together(self) -> int:
        """Chains of prohibitions, then blocks."""
        units, k = self.units, self.k
        if k == 1:
            return 0
        cost = (
            2 * _MAX_TOGETHER * (1 + k + units.X.shape[1] + 2 * len(units.table) + units.graph.nnz // units.m)
        )
        slice_ = max(1, _SLICE // (k * cost))
        chain, target = np.empty(_MAX_TOGETHER, dtype=np.int64), np.empty(_MAX_TOGETHER, dtype=np.int64)
        before, out = np.empty(_MAX_TOGETHER, dtype=np.int64), np.empty(k)
        common = units.parts, self._hard, self._state
        moves = 0
        seen = np.full(units.m if len(self.hard.acting) else 0, -1, dtype=np.int64)
        for start in range(0, len(self.hard.acting), slice_):
            stop = min(start + slice_, len(self.hard.acting))
            clock = start * k
            moves += flip_chains(
                *common, self.hard.acting, start, stop, seen, clock, chain, target, before, out
            )
        pointer, members = self.blocks
        for start in range(0, len(pointer) - 1, slice_):
            stop = min(start + slice_, len(pointer) - 1)
            moves += move_blocks(*common, pointer, members, start, stop, chain, target, before, out)
        return moves

    # ---- batch updates --------------------------------------------------------------------------------

    def batch(self, labels: Labels, max_iter: int, step: Callable[[float], bool]) -> Found:
        """The paper's updates: raise the diagonal until the similarities are a kernel, then move all at once.

        The shift makes the own cluster look near, so that it may stop early; the best labels met are kept.
        """
        units, mass = self.units, self.units.mass
        if self._shift is None:
            self._shift = shift_of(units if self.said is None else self.said)
        shift = self._shift
        best, objective = labels.copy(), self._set(labels)
        history = [objective]
        converged, n_iter = False, 0
        heavy = np.flatnonzero(mass > 0)
        while n_iter < max_iter:
            n_iter += 1
            q, s = self._state[4], self._state[5]
            z = units.times(indicator(labels, self.k))
            z[np.arange(units.m), labels] += shift * mass
            size = np.divide(1.0, s, out=np.zeros(self.k), where=s > 0)
            cost = mass[:, None] * ((q + shift * s) * size**2) - 2.0 * z * size
            cost[:, s <= 0] = np.inf if (s > 0).any() else 0.0
            found = self.hard.legal(cost, labels) if np.isfinite(cost).all() else labels.copy()
            found = filled(found, cost, heavy, self.k)
            now = self._set(found)
            if now < objective:
                best, objective = found.copy(), now
            history.append(now)
            converged = bool(np.array_equal(found, labels))
            labels = found
            if step(now) or converged:
                break
        return Found(best, self._set(best), [*history[:-1], objective], n_iter, converged)


def filled(labels: Labels, cost: Floats, heavy: Index, k: int) -> Labels:
    """Give every cluster a unit: the costliest one of a cluster with more; alone it is legal anywhere.

    Units of some mass are taken as long as there are any to spare.
    """
    for pool in (heavy, np.arange(len(labels))):
        while len(pool):
            count = np.bincount(labels[pool], minlength=k)
            empty = np.flatnonzero(count == 0)
            spare = pool[count[labels[pool]] > 1]
            if not len(empty) or not len(spare):
                break
            own = cost[spare, labels[spare]]
            labels[spare[int(np.argmax(np.where(np.isfinite(own), own, -np.inf)))]] = empty[0]
    return labels


def shift_of(units: Units) -> float:
    """How far the least eigenvalue of the similarities, relative to the masses, lies below 0; or a bound."""
    m = units.m
    root = np.sqrt(np.where(units.mass > 0, units.mass, np.inf))
    if m <= _DENSE_EIGEN:
        full = units.dot(np.diag(1.0 / root)) / root[:, None]
        return max(-float(np.linalg.eigvalsh(0.5 * (full + full.T))[0]), 0.0)

    def product(vector: Any) -> Any:
        return units.dot(np.ravel(vector) / root) / root

    operator = LinearOperator((m, m), matvec=product, dtype=np.float64)
    start = np.random.RandomState(0).uniform(-1.0, 1.0, m)
    settings: dict[str, Any] = {"k": 1, "v0": start, "tol": 1e-3, "return_eigenvectors": False}
    try:
        # the least eigenvalue is often one of many near 0, which takes forever: ask for it as a largest one
        largest = 1.01 * abs(float(eigsh(operator, which="LM", **settings)[0]))
        turned_round = LinearOperator(
            (m, m), matvec=lambda v: largest * np.ravel(v) - product(v), dtype=float
        )
        found = float(eigsh(turned_round, which="LA", **settings)[0])
        return max(1.001 * found - largest, 0.0)
    except ArpackError:
        # no eigenvalue is larger than the largest sum of a row
        rows, ones = abs(units.rows), np.ones(m)
        sums = abs(units.graph) @ ones + rows @ (np.abs(units.factor) * (rows.T @ ones))
        if len(units.table):
            sums = sums + np.abs(units.table).sum(axis=1)
        return float((sums / root**2).max())
