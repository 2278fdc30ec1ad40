"""The search of kernel k-means over units: single moves until none pays, or the batch updates of the paper.

Sweeps visit the units in the order of the items from a random place on. When no unit wants to move, units
that must be apart change places along chains, and must-link blocks move together: single moves can do
neither. Sums are kept while units move and worked out anew before anything is declared final.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import in_slices
from coterie.assign._core import build_core, group_counts, rotated
from coterie.assign._hard import HardSolver
from coterie.base import least_eigenvalue
from coterie.constraints import Constraints
from coterie.kmeans._kernel.moves import (
    Forbidden,
    KernelScratch,
    Sums,
    ban,
    flip_chains,
    move_chunklets,
    sweep,
)
from coterie.kmeans._kernel.similarities import Units, indicator

# Units of a chain or block that are moved together.
_MAX_TOGETHER = 64


@dataclass
class KernelLabels:
    """What a start came to."""

    labels: Labels
    objective: float
    history: list[float]
    n_iter: int
    converged: bool


class Descent(ABC):
    """Moves while they pay: of single units, and only then of those that constraints join or hold apart."""

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """The cluster of each unit."""

    @abstractmethod
    def _set(self, labels: Labels) -> float:
        """Work the sums out from the labels; returns the objective."""

    @abstractmethod
    def _value(self) -> float:
        """The objective by the sums."""

    @abstractmethod
    def _sweep(self) -> bool:
        """Single moves: whether any was made."""

    @abstractmethod
    def _together(self) -> bool:
        """Moves of several units: whether any was made."""

    def descend(self, labels: Labels, max_iter: int, step: Callable[[float], bool]) -> KernelLabels:
        """Move units as long as that pays; the objective never rises."""
        history, converged, n_iter = [self._set(labels)], False, 0
        while n_iter < max_iter and not converged:
            n_iter += 1
            moved = self._sweep() or self._together()
            if not moved and n_iter > 1:
                # rounding may have gathered in the sums: only what fresh ones confirm is final
                self._set(self.labels)
                moved = self._sweep() or self._together()
            converged = not moved
            history.append(self._value())
            if step(history[-1]):
                break
        labels = self.labels
        history[-1] = self._set(labels)
        return KernelLabels(labels, history[-1], history, n_iter, converged)


class HardConstraints:
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
        self.solver = HardSolver(binding, core, k, budget=1_000_000, rng=rng) if core.forbids else None
        self.acting = self.units[core.acting] if core.forbids else np.empty(0, dtype=np.int64)

    def legal(self, cost: Floats, labels: Labels | None = None) -> Labels:
        """Where each unit is cheapest, but for what is forbidden; never dearer than legal `labels`."""
        found = cost.argmin(axis=1).astype(np.int32)
        if self.solver is not None:
            excess_cost = cost[self.units] - cost[self.units].min(axis=1, keepdims=True)
            start = self.solver.first(excess_cost) if labels is None else labels[self.units]
            found[self.units] = self.solver.improve(excess_cost, start)[0]
        return found

    def open_to(self, u: int, labels: Labels) -> Any:
        """Which clusters unit u may join, the others staying where they are."""
        banned = np.zeros(self.k, dtype=bool)
        if self.core_of[u] >= 0:
            ban(self.core_of[u], self.arrays(labels), labels, banned)
            banned[labels[u]] = False
        return ~banned

    def arrays(self, labels: Labels) -> Forbidden:
        """As the compiled moves take them; the counts are those of `labels`."""
        core = self.core
        return Forbidden(
            core_of=self.core_of,
            indptr=core.indptr,
            to=self.units[core.indices],
            member_ptr=core.member_ptr,
            member_group=core.member_group,
            except_group=core.except_group,
            member_binds=np.isinf(core.member_weight),
            member_count=core.member_count,
            counts=group_counts(core, labels[self.units], self.k),
            row_ptr=core.group_ptr,
            row_unit=self.units[core.group_unit],
        )


def chunklets_of(known: Constraints, unit: Index) -> tuple[Index, Index]:
    """Units that soft must-links and equal labels join: blocks of two units and more, none too large."""
    items = known.constrained_items
    if not len(items):
        return np.zeros(1, dtype=np.int64), items
    units, first = np.unique(unit[items], return_index=True)
    chunklet = known.components[items[first]]
    order = np.argsort(chunklet, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(chunklet[order]) > 0]))
    length = np.diff(np.append(starts, len(order)))
    fits = (length > 1) & (length <= _MAX_TOGETHER)
    pointer = np.concatenate([[0], np.cumsum(length[fits])]).astype(np.int64)
    return pointer, units[order][np.repeat(fits, length)]


class KernelSearch(Descent):
    """Labels of the units; one for all starts of a fit."""

    def __init__(
        self,
        units: Units,
        hard: HardConstraints,
        chunklets: tuple[Index, Index],
        constant: float,
        rng: np.random.RandomState,
        stated_units: Units | None = None,
    ) -> None:
        self.units, self.hard, self.chunklets, self.constant, self.rng = units, hard, chunklets, constant, rng
        # of a positive semidefinite kernel with constraints, the constraints alone: only they can be negative
        self.stated_units = stated_units
        self._shift: float | None = None
        self.k = hard.k

    @property
    def labels(self) -> Labels:
        """The cluster of each unit."""
        return self._sums.labels

    # ---- sums -----------------------------------------------------------------------------------------

    def _set(self, labels: Labels) -> float:
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
        self._sums = Sums(
            labels=labels,
            z=z,
            S=S,
            R=R,
            q=q,
            s=np.bincount(labels, units.mass, k).astype(np.float64),
            n_units=np.bincount(labels, minlength=k).astype(np.int64),
            massive=np.bincount(labels[units.mass > 0], minlength=k).astype(np.int64),
        )
        self._hard = self.hard.arrays(labels)
        return self._value()

    def _value(self) -> float:
        q, s, massive = self._sums.q, self._sums.s, self._sums.massive
        worth = np.divide(q, s, out=np.zeros(self.k), where=(massive > 0) & (s > 0))
        return self.constant - float(worth.sum())

    def objective(self, labels: Labels) -> float:
        """What is minimised, from its definition."""
        return self._set(labels.copy())

    # ---- moves ----------------------------------------------------------------------------------------

    def _sweep(self) -> bool:
        units = self.units
        order = rotated(np.arange(units.m), self.rng)
        work = 1 + self.k * (1 + units.X.shape[1] + units.rows.nnz // units.m)
        work += units.graph.nnz // units.m + 2 * len(units.table)
        common = units.terms, self._hard, self._sums, order
        out, banned = np.empty(self.k), np.zeros(self.k, dtype=np.uint8)
        moves = [sweep(*common, *part, out, banned) for part in in_slices(units.m, work)]
        return any(moves)

    def _together(self) -> bool:
        """Chains of prohibitions, then blocks."""
        units, k = self.units, self.k
        if k == 1:
            return False
        each = 1 + k + units.X.shape[1] + 2 * len(units.table) + units.graph.nnz // units.m
        work = 2 * _MAX_TOGETHER * k * each
        chain, target, before = np.empty((3, _MAX_TOGETHER), dtype=np.int64)
        scratch = KernelScratch(chain, target, before, np.empty(k))
        common = units.terms, self._hard, self._sums
        acting, (pointer, members) = self.hard.acting, self.chunklets
        seen = np.full(units.m if len(acting) else 0, -1, dtype=np.int64)
        moves = 0
        for start, stop in in_slices(len(acting), work):
            moves += flip_chains(*common, acting, start, stop, seen, start * k, scratch)
        for start, stop in in_slices(len(pointer) - 1, work):
            moves += move_chunklets(*common, pointer, members, start, stop, scratch)
        return moves > 0

    # ---- batch updates --------------------------------------------------------------------------------

    def batch(self, labels: Labels, max_iter: int, step: Callable[[float], bool]) -> KernelLabels:
        """The paper's updates: raise the diagonal until the similarities are a kernel, then move all at once.

        The shift makes the own cluster look near, so that it may stop early; the best labels met are kept.
        """
        units, mass = self.units, self.units.mass
        if self._shift is None:
            self._shift = shift_of(units if self.stated_units is None else self.stated_units)
        shift = self._shift
        best, objective = labels.copy(), self._set(labels)
        history = [objective]
        converged, n_iter = False, 0
        heavy = np.flatnonzero(mass > 0)
        while n_iter < max_iter:
            n_iter += 1
            q, s = self._sums.q, self._sums.s
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
        return KernelLabels(best, self._set(best), [*history[:-1], objective], n_iter, converged)


def filled(labels: Labels, cost: Floats, heavy: Index, k: int) -> Labels:
    """Give every cluster a unit, if it can be one of some mass: the costliest one of a cluster with more."""
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
    """How far the least eigenvalue of the similarities, relative to the masses, lies below 0."""
    root = np.sqrt(np.where(units.mass > 0, units.mass, np.inf))
    return max(-least_eigenvalue(lambda v: units.dot(v / root) / root, units.m), 0.0)
