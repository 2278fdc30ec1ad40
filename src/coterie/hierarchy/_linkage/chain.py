"""Merging on a matrix of distances: the chain of nearest neighbours, with what may not merge at infinity.

A linkage is reducible if merging a and b brings neither nearer to a third cluster; all four are. Vetoes only
grow, so a vetoed pair at infinity keeps that property, and two clusters that are each other's nearest can be
merged at once: the greedy order comes back by sorting the heights. A cluster whose row is infinite has no
partner, now or later, and leaves. Time O(P^2) for P clusters at the start, memory the matrix, which is
overwritten. Source: Murtagh 1983; Müllner 2011.
"""

from __future__ import annotations

import numpy as np

from coterie._compiled import kernel
from coterie.base import Step
from coterie.hierarchy._linkage.state import Floats, Index

SINGLE, COMPLETE, AVERAGE, WARD = 0, 1, 2, 3

# Cells looked at before the loop returns to Python, for Ctrl-C and progress.
_WORK = 50_000_000


@kernel
def _nearest(row: Floats, m: int) -> tuple[int, float]:
    """The least of the first m cells and where it is; read only. Four minima at once are faster than one."""
    a = np.inf
    b = np.inf
    c = np.inf
    d = np.inf
    t = 0
    while t + 4 <= m:
        a = row[t] if row[t] < a else a
        b = row[t + 1] if row[t + 1] < b else b
        c = row[t + 2] if row[t + 2] < c else c
        d = row[t + 3] if row[t + 3] < d else d
        t += 4
    while t < m:
        a = row[t] if row[t] < a else a
        t += 1
    least = min(min(a, b), min(c, d))
    if least == np.inf:
        return -1, least
    at = 0
    while row[at] != least:
        at += 1
    return at, least


@kernel
def _leave(
    D: Floats, m: int, slot: int, size: Floats, load: Floats, unit: Index, chain: Index, n: int
) -> None:
    """Give the last of m slots the number `slot`; all are written. The chain has n entries."""
    last = m - 1
    if slot == last:
        return
    for z in range(m):
        D[slot, z] = D[last, z]
    for z in range(m):
        D[z, slot] = D[slot, z]
    D[slot, slot] = np.inf
    size[slot] = size[last]
    load[slot] = load[last]
    unit[slot] = unit[last]
    for t in range(n):
        if chain[t] == last:
            chain[t] = slot


@kernel
def _follow_chain(
    D: Floats,
    how: int,
    size: Floats,
    load: Floats,
    cap: float,
    unit: Index,
    chain: Index,
    state: Index,
    left: Index,
    right: Index,
    height: Floats,
    work: int,
) -> None:
    """Merge until one cluster is left or so many cells were looked at.

    Written: all but `how` and `cap`. `D` has infinity on the diagonal and for vetoed pairs; squares for Ward.
    `state` is (clusters left, length of the chain, merges made).
    """
    m, n, made = state[0], state[1], state[2]
    while m > 1 and work > 0:
        if n == 0:
            chain[0] = 0
            n = 1
        x = chain[n - 1]
        y, least = _nearest(D[x], m)
        work -= m
        if y < 0:  # only the first of a chain can be without a partner
            n -= 1
            _leave(D, m, x, size, load, unit, chain, n)
            m -= 1
            continue
        if n < 2 or D[x, chain[n - 2]] > least:
            chain[n] = y
            n += 1
            continue
        y = chain[n - 2]
        n -= 2
        left[made] = unit[x]
        right[made] = unit[y]
        height[made] = least
        made += 1
        s, t = size[x], size[y]
        total = load[x] + load[y]
        for z in range(m):
            p = D[x, z]
            q = D[y, z]
            if how == 0:
                new = p if p < q else q
                if p == np.inf or q == np.inf:
                    new = np.inf
            elif how == 1:
                new = p if p > q else q
            elif how == 2:
                new = (s * p + t * q) / (s + t)
            else:
                r = size[z]
                new = ((s + r) * p + (t + r) * q - r * least) / (s + t + r)
                if new < 0.0:
                    new = 0.0
            if total + load[z] > cap:
                new = np.inf
            D[y, z] = new
            D[z, y] = new
        D[y, y] = np.inf
        size[y] = s + t
        load[y] = total
        work -= m
        _leave(D, m, x, size, load, unit, chain, n)
        m -= 1
    state[0], state[1], state[2] = m, n, made


def merge_by_chain(
    D: Floats, how: int, size: Index, load: Floats, cap: float, step: Step
) -> tuple[Index, Index, Floats]:
    """All legal merges in the order of their heights: a unit of each side, and the height; spoils `D`.

    Parameters
    ----------
    D : array of shape (P, P)
        Linkage distances between the units, squared for Ward; infinite where two may not share a cluster.
    how : int
        `SINGLE`, `COMPLETE`, `AVERAGE` or `WARD`.
    size, load : arrays of shape (P,)
        Items of each unit, and what they count against `cap`.
    cap : float
        Most load of a cluster.
    step : callable
        Called at least twice a second.
    """
    n = len(D)
    np.fill_diagonal(D, np.inf)
    if np.isfinite(cap):
        for first in range(0, n, 256):
            rows = D[first : first + 256]
            rows[load[first : first + 256, None] + load > cap] = np.inf
    unit, chain = np.arange(n), np.empty(n + 2, dtype=np.int64)
    left, right, height = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    state = np.array([n, 0, 0])
    sizes, load = size.astype(np.float64), load.copy()
    while state[0] > 1:
        _follow_chain.for_work(4 * n * n)(
            D, how, sizes, load, cap, unit, chain, state, left, right, height, _WORK
        )
        step()
    made = int(state[2])
    if how == WARD:
        np.sqrt(height[:made], out=height[:made])
    order = np.argsort(height[:made], kind="stable")
    return left[order], right[order], height[order]
