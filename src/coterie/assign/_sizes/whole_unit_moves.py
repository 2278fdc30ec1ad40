"""Kernels of `_settle`: the best move, the best exchange, and what a move changes for its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._compiled import kernel


@kernel
def _sides(held: Any, low: Any, high: Any, sides: Any) -> None:
    """Load above the maxima, below the minima, and room left, summed over the clusters; one row a measure."""
    for d in range(held.shape[0]):
        for side in range(3):
            sides[d, side] = 0.0
        for h in range(held.shape[1]):
            sides[d, 0] += max(held[d, h] - high[d, h], 0.0)
            sides[d, 1] += max(low[d, h] - held[d, h], 0.0)
            sides[d, 2] += max(high[d, h] - held[d, h], 0.0)


@kernel
def _shift(held: float, low: float, high: float, change: float, out: Any) -> None:
    """Add to `out` how the three sides change if one cluster holds so much more."""
    then = held + change
    out[0] += max(then - high, 0.0) - max(held - high, 0.0)
    out[1] += max(low - then, 0.0) - max(low - held, 0.0)
    out[2] += max(high - then, 0.0) - max(high - held, 0.0)


@kernel
def missed_now(held: Any, low: Any, high: Any, filling: Any) -> float:
    """By how much the bounds are missed if `filling` is placed as well as can be, measure by measure."""
    sides = np.empty((held.shape[0], 3))
    _sides(held, low, high, sides)
    total = 0.0
    for d in range(held.shape[0]):
        total += sides[d, 0] + max(sides[d, 1] - filling[d], 0.0) + max(filling[d] - sides[d, 2], 0.0)
    return total


@kernel
def best_move(
    total: Any,
    labels: Any,
    load: Any,
    held: Any,
    low: Any,
    high: Any,
    filling: Any,
    seen: Any,
    barred: Any,
    step: int,
    missed: float,
    crumb: float,
    cheaper: bool,
    out: Any,
) -> int:
    """Find the move after which least is missed, then the cheapest; `out` is what is missed and the rise.

    With `cheaper`: the move that lowers the cost most and misses nothing. Units barred beyond `step` move
    only if less is missed then. Returns unit x k + cluster, or -1.
    """
    n_measures, k = held.shape
    sides = np.empty((n_measures, 3))
    _sides(held, low, high, sides)
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
                better = after <= crumb
            else:
                if barred[u] > step and not after < missed:
                    continue
                better = after < least - crumb or (after <= least + crumb and rise < lowest)
            if better:
                best, least, lowest = u * k + h, after, rise
    out[0] = least
    out[1] = lowest
    return best


@kernel
def best_exchange(
    total: Any,
    labels: Any,
    load: Any,
    held: Any,
    low: Any,
    high: Any,
    filling: Any,
    seen: Any,
    indptr: Any,
    indices: Any,
    missed: float,
    crumb: float,
    cheaper: bool,
    out: Any,
) -> int:
    """Find two units that change places so that less is missed or, with `cheaper`, the cost falls most.

    Units that act on each other do not change places. Returns first x n + second, or -1; `out` is as in
    `best_move`.
    """
    n_measures = held.shape[0]
    n = total.shape[0]
    sides = np.empty((n_measures, 3))
    _sides(held, low, high, sides)
    change = np.empty(3)
    near = np.zeros(n, dtype=np.uint8)
    best, least, lowest = -1, missed - crumb, np.inf
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
                better = after <= crumb
            else:
                better = after < least - crumb or (best >= 0 and after <= least + crumb and rise < lowest)
            if better:
                best, least, lowest = u * n + v, after, rise
        if u < indptr.shape[0] - 1:
            for t in range(indptr[u], indptr[u + 1]):
                near[indices[t]] = 0
    out[0] = least
    out[1] = lowest
    return best


@kernel
def tell_neighbours(
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
