"""Indivisible units under bounds: a search that first meets the bounds, then lowers the cost within them.

Units carry loads of several kinds (all of it, and that of each group). A step moves one unit, or exchanges
two; the best step is taken even if it makes things worse, and undone steps are barred for a while (tabu
search). What must stay apart stays apart. Where items of load 1 are still to be placed, they fill what the
units leave: bounds then need to be met only as far as the filling cannot. Kernels are in `_settling`.

Source: ours; the rounding that the book's chapter 9 asks for after its linear programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core.core import Core
from coterie.assign._core.counts import count_rows
from coterie.assign._sizes.whole_unit_moves import best_exchange, best_move, missed_now, tell_neighbours

# Units that are looked at for single steps and for exchanges: those that lose least by another cluster. They
# are chosen anew after so many steps.
_MAX_UNITS = 5000
_MAX_EXCHANGED = 500
_LOOK_AGAIN = 100
# Steps for which a moved unit stays where it is.
_BARRED = 7


@dataclass(frozen=True, eq=False)
class Loads:
    """What units weigh, and between which bounds the clusters must lie.

    Attributes
    ----------
    load : array of shape (n_units, n_measures)
        The first measure is the load; each further one that of a kind of item.
    low, high : array of shape (n_measures, k)
        Bounds of each measure in each cluster.
    filling : array of shape (n_measures,)
        What is still to be placed in pieces of 1 each.
    """

    load: Floats
    low: Floats
    high: Floats
    filling: Floats

    def held(self, labels: Labels) -> Floats:
        """Each measure in each cluster."""
        k = self.low.shape[1]
        return np.stack([np.bincount(labels, column, k) for column in self.load.T])


def pair_terms(core: Core, labels: Labels, k: int) -> tuple[Any, Floats]:
    """How many of the others bar each cluster to a unit, and what pairs cost it there."""
    n = core.n_units
    clashes, energy = np.zeros((n, k), dtype=np.int64), np.zeros((n, k))
    head = np.repeat(np.arange(n), np.diff(core.indptr))
    where = labels[core.indices]
    hard = np.isinf(core.weight)
    np.add.at(clashes, (head[hard], where[hard]), 1)
    np.add.at(energy, (head[~hard], where[~hard]), core.weight[~hard])
    if len(core.entry_row):
        counts = count_rows(core, labels, k).astype(np.float64)
        owner = np.repeat(np.arange(n), np.diff(core.entry_ptr))
        met = counts[core.entry_row]
        minus = core.entry_minus >= 0
        met[minus] -= counts[core.entry_minus[minus]]
        # a unit does not meet itself
        met[np.arange(len(owner)), labels[owner]] -= np.where(minus, 0.0, core.entry_mass)
        hard = np.isinf(core.entry_weight)
        np.add.at(clashes, owner[hard], (met[hard] > 0).astype(np.int64))
        np.add.at(energy, owner[~hard], met[~hard] * core.entry_weight[~hard, None])
    return clashes, energy


class Settle:
    """Units, their costs and loads; labels are moved until the bounds are met."""

    def __init__(self, cost: Floats, loads: Loads, core: Core | None) -> None:
        """The units of `core` are the first of all; an infinite cost bars a cluster."""
        self.cost, self.loads, self.core = cost, loads, core
        self.n, self.k = cost.shape
        empty = np.zeros(1, dtype=np.int64)
        self.edges = (empty, empty[:0]) if core is None else (core.indptr, core.indices)

    def run(self, labels: Labels, max_steps: int, *, polish: bool) -> tuple[Labels, float]:
        """Labels nearer to the bounds, and what they miss of them; with `polish` also cheaper within them."""
        self._begin(labels)
        crumb = 1e-9 * max(float(self.loads.load[:, 0].sum()), 1e-300)
        missed = self._missed()
        best, fewest = self.labels.copy(), missed
        barred = np.zeros(self.n, dtype=np.int64)
        out = np.empty(2)
        for step in range(max_steps):
            if missed <= crumb:
                break
            self._look(step)
            move = best_move(*self._state(self.seen), barred, step, missed, crumb, False, out)
            units: tuple[int, ...] = ()
            if move < 0 or out[0] >= missed - crumb:
                swap = best_exchange(*self._state(self.close), *self.edges, missed, crumb, False, out)
                if swap >= 0 and self._exchange(*divmod(swap, self.n)):
                    units = divmod(swap, self.n)
            if not units:
                if move < 0:
                    break
                unit, h = divmod(move, self.k)
                self._move(unit, h)
                units = (unit,)
            barred[list(units)] = step + _BARRED
            missed = self._missed()
            if missed < fewest:
                best, fewest = self.labels.copy(), missed
        if polish and fewest <= crumb:
            self._begin(best)
            self._polish(max_steps, crumb)
            best = self.labels
        return best, 0.0 if fewest <= crumb else fewest

    def _polish(self, max_steps: int, crumb: float) -> None:
        """Steps that keep the bounds and lower the cost, until there is none."""
        nobody = np.zeros(self.n, dtype=np.int64)
        out = np.empty(2)
        for step in range(max_steps):
            self._look(step)
            # improvements below this are rounding
            least = 1e-12 * float(np.abs(self.total[np.arange(self.n), self.labels]).sum())
            move = best_move(*self._state(self.seen), nobody, step, 0.0, crumb, True, out)
            if move >= 0 and out[1] < -least:
                self._move(*divmod(move, self.k))
                continue
            swap = best_exchange(*self._state(self.close), *self.edges, 0.0, crumb, True, out)
            if swap < 0 or not out[1] < -least or not self._exchange(*divmod(swap, self.n)):
                return

    # ---- steps ----------------------------------------------------------------------------------------

    def _begin(self, labels: Labels) -> None:
        self.labels = labels.copy()
        self.held = self.loads.held(self.labels)
        self._reckon()
        self.seen: Index = np.arange(self.n)
        self.close: Index = self.seen

    def _reckon(self) -> None:
        """What each unit would cost in each cluster, the others where they are."""
        self.total = self.cost.copy()
        if self.core is not None:
            m = self.core.n_units
            self.clashes, self.energy = pair_terms(self.core, self.labels[:m], self.k)
            self.total[:m] += self.energy
            self.total[:m][self.clashes > 0] = np.inf

    def _look(self, step: int) -> None:
        """Choose the units that are looked at."""
        if step % _LOOK_AGAIN or self.n <= _MAX_EXCHANGED:
            return
        here = np.arange(self.n), self.labels
        away = self.total.copy()
        away[here] = np.inf
        order = np.lexsort((away.min(axis=1) - self.total[here], self.labels))
        # of every cluster its share: the one that has too much may be far from the others
        begin = np.searchsorted(self.labels[order], np.arange(self.k))
        rank = np.arange(self.n) - begin[self.labels[order]]
        self.seen = np.sort(order[rank < max(1, _MAX_UNITS // self.k)])
        self.close = np.sort(order[rank < max(1, _MAX_EXCHANGED // self.k)])

    def _state(self, seen: Index) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any]:
        loads = self.loads
        return self.total, self.labels, loads.load, self.held, loads.low, loads.high, loads.filling, seen

    def _missed(self) -> float:
        return float(missed_now(self.held, self.loads.low, self.loads.high, self.loads.filling))

    def _move(self, unit: int, h: int) -> None:
        g = int(self.labels[unit])
        self.held[:, g] -= self.loads.load[unit]
        self.held[:, h] += self.loads.load[unit]
        self.labels[unit] = h
        core = self.core
        if core is None or unit >= core.n_units:
            return
        if core.n_rows:
            self._reckon()
        else:
            state = self.cost, self.clashes, self.energy, self.total
            tell_neighbours(unit, g, h, core.indptr, core.indices, core.weight, *state)

    def _exchange(self, unit: int, other: int) -> bool:
        """Let two units change places, unless a group that both are in forbids it."""
        g, h = int(self.labels[unit]), int(self.labels[other])
        self._move(unit, h)
        self._move(other, g)
        if np.isinf(self.total[unit, h]) or np.isinf(self.total[other, g]):
            self._move(unit, g)
            self._move(other, h)
            return False
        return True
