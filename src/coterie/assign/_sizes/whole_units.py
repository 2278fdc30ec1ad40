"""Indivisible units under bounds: a search that first meets the bounds, then lowers the cost within them.

Units carry loads of several kinds (all of it, and that of each group). A step moves one unit, or exchanges
two; the best step is taken even if it makes things worse, and undone steps are barred for a while (tabu
search). What must stay apart stays apart. Where items of load 1 are still to be placed, they fill what the
units leave: bounds then need to be met only as far as the filling cannot.

Source: ours; the rounding that the book's chapter 9 asks for after its linear programs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel
from coterie.assign._core.core import Core
from coterie.assign._core.counts import group_counts

# Units that are looked at for single steps and for exchanges: those that lose least by another cluster. They
# are chosen anew after so many steps.
_MAX_UNITS = 5000
_MAX_EXCHANGED = 500
_LOOK_AGAIN = 100
# Steps for which a moved unit stays where it is.
_BARRED = 7


class Loads(NamedTuple):
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


@kernel
def _sides(held: Any, loads: Any, sides: Any) -> None:
    """Load above the maxima, below the minima, and room left, summed over the clusters; one row a measure."""
    for d in range(held.shape[0]):
        for side in range(3):
            sides[d, side] = 0.0
        for h in range(held.shape[1]):
            sides[d, 0] += max(held[d, h] - loads.high[d, h], 0.0)
            sides[d, 1] += max(loads.low[d, h] - held[d, h], 0.0)
            sides[d, 2] += max(loads.high[d, h] - held[d, h], 0.0)


@kernel
def _shift(held: float, low: float, high: float, change: float, out: Any) -> None:
    """Add to `out` how the three sides change if one cluster holds so much more."""
    then = held + change
    out[0] += max(then - high, 0.0) - max(held - high, 0.0)
    out[1] += max(low - then, 0.0) - max(low - held, 0.0)
    out[2] += max(high - then, 0.0) - max(high - held, 0.0)


@kernel
def _missed_now(held: Any, loads: Any) -> float:
    """By how much the bounds are missed if `filling` is placed as well as can be, measure by measure."""
    filling = loads.filling
    sides = np.empty((held.shape[0], 3))
    _sides(held, loads, sides)
    total = 0.0
    for d in range(held.shape[0]):
        total += sides[d, 0] + max(sides[d, 1] - filling[d], 0.0) + max(filling[d] - sides[d, 2], 0.0)
    return total


@kernel
def _best_move(
    total: Any,
    labels: Any,
    held: Any,
    loads: Any,
    seen: Any,
    barred: Any,
    step: int,
    missed: float,
    tolerance: float,
    cheaper: bool,
    out: Any,
) -> int:
    """Find the move after which least is missed, then the cheapest; `out` is what is missed and the rise.

    With `cheaper`: the move that lowers the cost most and misses nothing. Units barred beyond `step` move
    only if less is missed then. Returns unit x k + cluster, or -1.
    """
    load, low, high, filling = loads
    n_measures, k = held.shape
    sides = np.empty((n_measures, 3))
    _sides(held, loads, sides)
    leave = np.empty((n_measures, 3))
    change = np.empty(3)
    best, least, lowest = -1, np.inf, np.inf
    for position in range(seen.shape[0]):
        u = seen[position]
        g = labels[u]
        for d in range(n_measures):
            for side in range(3):
                leave[d, side] = sides[d, side]
            _shift(held[d, g], low[d, g], high[d, g], -load[u, d], leave[d])
        for h in range(k):
            if h == g or total[u, h] == np.inf:
                continue
            rise = total[u, h] - total[u, g]
            if cheaper and not rise < lowest:
                continue
            after = 0.0
            for d in range(n_measures):
                for side in range(3):
                    change[side] = leave[d, side]
                _shift(held[d, h], low[d, h], high[d, h], load[u, d], change)
                after += change[0] + max(change[1] - filling[d], 0.0) + max(filling[d] - change[2], 0.0)
            if cheaper:
                better = after <= tolerance
            else:
                if barred[u] > step and not after < missed:
                    continue
                better = after < least - tolerance or (after <= least + tolerance and rise < lowest)
            if better:
                best, least, lowest = u * k + h, after, rise
    out[0] = least
    out[1] = lowest
    return best


@kernel
def _best_exchange(
    total: Any,
    labels: Any,
    held: Any,
    loads: Any,
    seen: Any,
    indptr: Any,
    indices: Any,
    missed: float,
    tolerance: float,
    cheaper: bool,
    out: Any,
) -> int:
    """Find two units that change places so that less is missed or, with `cheaper`, the cost falls most.

    Units that act on each other do not change places. Returns first x n + second, or -1; `out` is as in
    `_best_move`.
    """
    load, low, high, filling = loads
    n_measures = held.shape[0]
    n = total.shape[0]
    sides = np.empty((n_measures, 3))
    _sides(held, loads, sides)
    change = np.empty(3)
    near = np.zeros(n, dtype=np.uint8)
    best, least, lowest = -1, missed - tolerance, np.inf
    if cheaper:
        lowest = 0.0
    for first in range(seen.shape[0]):
        u = seen[first]
        g = labels[u]
        if u < indptr.shape[0] - 1:
            for t in range(indptr[u], indptr[u + 1]):
                near[indices[t]] = 1
        for second in range(first + 1, seen.shape[0]):
            v = seen[second]
            h = labels[v]
            if g == h or near[v] == 1:
                continue
            rise = total[u, h] - total[u, g] + total[v, g] - total[v, h]
            if rise == np.inf or (cheaper and not rise < lowest):
                continue
            after = 0.0
            for d in range(n_measures):
                for side in range(3):
                    change[side] = sides[d, side]
                more = load[v, d] - load[u, d]
                if more != 0.0:
                    _shift(held[d, g], low[d, g], high[d, g], more, change)
                    _shift(held[d, h], low[d, h], high[d, h], -more, change)
                after += change[0] + max(change[1] - filling[d], 0.0) + max(filling[d] - change[2], 0.0)
            if cheaper:
                better = after <= tolerance
            else:
                better = after < least - tolerance or (
                    best >= 0 and after <= least + tolerance and rise < lowest
                )
            if better:
                best, least, lowest = u * n + v, after, rise
        if u < indptr.shape[0] - 1:
            for t in range(indptr[u], indptr[u + 1]):
                near[indices[t]] = 0
    out[0] = least
    out[1] = lowest
    return best


@kernel
def _tell_neighbours(
    u: int,
    g: int,
    h: int,
    indptr: Any,
    indices: Any,
    weight: Any,
    cost: Any,
    clashes: Any,
    energy: Any,
    total: Any,
) -> None:
    """Unit u went from g to h: bring up to date what g and h cost those that it acts on."""
    for t in range(indptr[u], indptr[u + 1]):
        v = indices[t]
        if weight[t] == np.inf:
            clashes[v, g] -= 1
            clashes[v, h] += 1
        else:
            energy[v, g] -= weight[t]
            energy[v, h] += weight[t]
        for c in (g, h):
            total[v, c] = np.inf if clashes[v, c] > 0 else cost[v, c] + energy[v, c]


# ---- the search ----------------------------------------------------------------------------------------


def pair_terms(core: Core, labels: Labels, k: int) -> tuple[Any, Floats]:
    """How many of the others bar each cluster to a unit, and what pairs cost it there."""
    n = core.n_units
    clashes, energy = np.zeros((n, k), dtype=np.int64), np.zeros((n, k))
    head = np.repeat(np.arange(n), np.diff(core.indptr))
    where = labels[core.indices]
    hard = np.isinf(core.weight)
    np.add.at(clashes, (head[hard], where[hard]), 1)
    np.add.at(energy, (head[~hard], where[~hard]), core.weight[~hard])
    if len(core.member_group):
        counts = group_counts(core, labels, k).astype(np.float64)
        owner = np.repeat(np.arange(n), np.diff(core.member_ptr))
        met = counts[core.member_group]
        minus = core.except_group >= 0
        met[minus] -= counts[core.except_group[minus]]
        # a unit does not meet itself
        met[np.arange(len(owner)), labels[owner]] -= np.where(minus, 0.0, core.member_count)
        hard = np.isinf(core.member_weight)
        np.add.at(clashes, owner[hard], (met[hard] > 0).astype(np.int64))
        np.add.at(energy, owner[~hard], met[~hard] * core.member_weight[~hard, None])
    return clashes, energy


class WholeUnitSearch:
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
        tolerance = 1e-9 * max(float(self.loads.load[:, 0].sum()), 1e-300)
        missed = _missed_now(self.held, self.loads)
        best, fewest = self.labels.copy(), missed
        barred = np.zeros(self.n, dtype=np.int64)
        out = np.empty(2)
        for step in range(max_steps):
            if missed <= tolerance:
                break
            self._look(step)
            move = _best_move(*self._state(self.seen), barred, step, missed, tolerance, False, out)
            units: tuple[int, ...] = ()
            if move < 0 or out[0] >= missed - tolerance:
                swap = _best_exchange(*self._state(self.close), *self.edges, missed, tolerance, False, out)
                if swap >= 0 and self._exchange(*divmod(swap, self.n)):
                    units = divmod(swap, self.n)
            if not units:
                if move < 0:
                    break
                unit, h = divmod(move, self.k)
                self._move(unit, h)
                units = (unit,)
            barred[list(units)] = step + _BARRED
            missed = _missed_now(self.held, self.loads)
            if missed < fewest:
                best, fewest = self.labels.copy(), missed
        if polish and fewest <= tolerance:
            self._begin(best)
            self._polish(max_steps, tolerance)
            best = self.labels
        return best, 0.0 if fewest <= tolerance else fewest

    def _polish(self, max_steps: int, tolerance: float) -> None:
        """Steps that keep the bounds and lower the cost, until there is none."""
        nobody = np.zeros(self.n, dtype=np.int64)
        out = np.empty(2)
        for step in range(max_steps):
            self._look(step)
            # improvements below this are rounding
            least = 1e-12 * float(np.abs(self.total[np.arange(self.n), self.labels]).sum())
            move = _best_move(*self._state(self.seen), nobody, step, 0.0, tolerance, True, out)
            if move >= 0 and out[1] < -least:
                self._move(*divmod(move, self.k))
                continue
            swap = _best_exchange(*self._state(self.close), *self.edges, 0.0, tolerance, True, out)
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

    def _state(self, seen: Index) -> tuple[Any, Any, Any, Loads, Any]:
        return self.total, self.labels, self.held, self.loads, seen

    def _move(self, unit: int, h: int) -> None:
        g = int(self.labels[unit])
        self.held[:, g] -= self.loads.load[unit]
        self.held[:, h] += self.loads.load[unit]
        self.labels[unit] = h
        core = self.core
        if core is None or unit >= core.n_units:
            return
        if core.n_groups:
            self._reckon()
        else:
            state = self.cost, self.clashes, self.energy, self.total
            _tell_neighbours(unit, g, h, core.indptr, core.indices, core.weight, *state)

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
