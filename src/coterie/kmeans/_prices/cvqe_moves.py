"""Labels of units whose broken pairs cost distances: moves of one unit, of two, and of whole blocks.

What a broken pair costs depends on the clusters of both ends, so that the sweeps of `coterie.assign`, in
which it has one price, do not fit. A must-link that is cut between clusters a and b costs, in the linear
form, `s/4 (D[i, b] + D[j, a])`: the part of each end depends on the cluster of the other one alone, so the
best clusters for both ends of a pair are found in O(k). A cannot-link inside cluster h costs
`s/2 D[r, n]`: r is the end farther from centre h (of two as far: the cheaper), n the centre nearest to r
other than h. In the original form the two are `s/2 C[a, b]` and `s/2 apart[h]`, distances of centres.

A unit where it is cheapest, with nothing broken, is not looked at any further: most are. Only strict
improvements count, so the sum never rises. Pairs are visited in the order of the items; where a pair shares
no unit with another, its move is the best there is, whatever the order.

Arguments that are tuples:

`ties`: ptr, pair, side (which pairs a unit has, and which end of them it is), ends (rows of D), mates
(units), kind, strength. `prices`: D (squared distances of the items in soft pairs), near (two nearest
centres of each), C (squared distances between centres), apart (the least in each row of C), and whether the
form is linear. `rows`: entry_ptr, entry_row, entry_minus, entry_mass, and which entries forbid, as in
`coterie.assign._core.core`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._compiled import kernel

MUST, CANNOT, NEVER = 0, 1, 2
# Improvements below this share of what is compared are rounding.
RELATIVE = 1e-12
# Two ends are as far from a centre if their squared distances differ by less than this share: the centre of
# two items lies halfway, and rounding should not decide between them.
AS_FAR = 1e-7
# Pairs of a unit that is still moved together with one of its mates.
_MAX_DEGREE = 64


@kernel
def two_nearest(D: Any, near: Any) -> None:
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
def same_cost(p: int, h: int, ends: Any, kind: Any, strength: Any, prices: Any) -> float:
    """What the cannot-link p costs when both its ends are in cluster h."""
    D, near, _, apart, linear = prices
    if kind[p] == NEVER:
        return np.inf
    if not linear:
        return 0.5 * strength[p] * apart[h]
    i, j = ends[p, 0], ends[p, 1]
    m = near[i, 1] if near[i, 0] == h else near[i, 0]
    n = near[j, 1] if near[j, 0] == h else near[j, 0]
    if m < 0:
        return 0.0
    to_i, to_j = D[i, m], D[j, n]
    if abs(D[i, h] - D[j, h]) <= AS_FAR * max(D[i, h], D[j, h]):
        price = min(to_i, to_j)
    else:
        price = to_i if D[i, h] > D[j, h] else to_j
    return 0.5 * strength[p] * price


@kernel
def cut_cost(p: int, a: int, b: int, ends: Any, strength: Any, prices: Any) -> float:
    """What the must-link p costs when its ends are in two clusters, a and b."""
    D, _, C, _, linear = prices
    if linear:
        return 0.25 * strength[p] * (D[ends[p, 0], b] + D[ends[p, 1], a])
    return 0.5 * strength[p] * C[a, b]


@kernel
def total_cost(ties: Any, prices: Any, labels: Any) -> float:
    """What all broken pairs cost."""
    _, _, _, ends, mates, kind, strength = ties
    total = 0.0
    for p in range(kind.shape[0]):
        a, b = labels[mates[p, 0]], labels[mates[p, 1]]
        if kind[p] == MUST:
            if a != b:
                total += cut_cost(p, a, b, ends, strength, prices)
        elif a == b:
            total += same_cost(p, a, ends, kind, strength, prices)
    return total


@kernel
def _field(
    u: int, cost: Any, ties: Any, prices: Any, rows: Any, counts: Any, own: int, labels: Any, out: Any
) -> None:
    """Write what unit u, now in cluster `own`, would pay in each cluster; mates labelled -1 do not count."""
    ptr, pair, side, ends, mates, kind, strength = ties
    D, _, C, _, linear = prices
    entry_ptr, entry_row, entry_minus, entry_mass, forbids = rows
    k = out.shape[0]
    for h in range(k):
        out[h] = cost[u, h]
    for t in range(ptr[u], ptr[u + 1]):
        p = pair[t]
        other = 1 - side[t]
        v = mates[p, other]
        if v == u:
            # a cannot-link inside a unit is broken wherever it goes
            for h in range(k):
                out[h] += same_cost(p, h, ends, kind, strength, prices)
            continue
        b = labels[v]
        if b < 0:
            continue
        if kind[p] != MUST:
            out[b] += same_cost(p, b, ends, kind, strength, prices)
        elif linear:
            i, j = ends[p, side[t]], ends[p, other]
            s = 0.25 * strength[p]
            kept = out[b]
            for h in range(k):
                out[h] += s * (D[i, b] + D[j, h])
            out[b] = kept
        else:
            s = 0.5 * strength[p]
            for h in range(k):
                out[h] += s * C[h, b]
    for e in range(entry_ptr[u], entry_ptr[u + 1]):
        if not forbids[e]:
            continue
        minus = entry_minus[e]
        for h in range(k):
            met = counts[entry_row[e], h]
            if minus >= 0:
                met -= counts[minus, h]
            elif h == own:
                met -= entry_mass[e]
            if met > 0:
                out[h] = np.inf


@kernel
def sweep(
    cost: Any,
    ties: Any,
    prices: Any,
    rows: Any,
    counts: Any,
    labels: Any,
    start: int,
    stop: int,
    dirty: Any,
    uneasy: Any,
    out: Any,
) -> int:
    """Move each unit from `start` to `stop` that is due to its best cluster; returns the number of moves.

    `cost` is what each cluster costs above the least. Written: `labels`, `counts`, `dirty` (bit 1: due for a
    sweep; bit 2: due for a move of two), `uneasy` (might be better off elsewhere), the scratch `out`.
    """
    ptr, pair, side, _, mates, kind, _ = ties
    entry_ptr, entry_row, _, entry_mass, _ = rows
    k = cost.shape[1]
    moves = 0
    for u in range(start, stop):
        if dirty[u] & 1 == 0 and entry_ptr[u] == entry_ptr[u + 1]:
            continue
        dirty[u] &= 2
        own = labels[u]
        content = cost[u, own] <= 0.0
        if content:
            for t in range(ptr[u], ptr[u + 1]):
                p = pair[t]
                if (labels[mates[p, 1 - side[t]]] == own) != (kind[p] == MUST):
                    content = False
                    break
        uneasy[u] = not content
        if content:
            continue
        _field(u, cost, ties, prices, rows, counts, own, labels, out)
        best = 0
        for h in range(1, k):
            if out[h] < out[best]:
                best = h
        if best == own or not out[best] < out[own] - RELATIVE * max(abs(out[best]), abs(out[own])):
            continue
        moves += 1
        labels[u] = best
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            counts[entry_row[e], own] -= entry_mass[e]
            counts[entry_row[e], best] += entry_mass[e]
        dirty[u] |= 2
        for t in range(ptr[u], ptr[u + 1]):
            dirty[mates[pair[t], 1 - side[t]]] = 3
    return moves


@kernel
def move_pairs(
    cost: Any,
    ties: Any,
    prices: Any,
    rows: Any,
    counts: Any,
    labels: Any,
    start: int,
    stop: int,
    due: Any,
    dirty: Any,
    uneasy: Any,
    scratch: Any,
) -> int:
    """Give both ends of each pair from `start` to `stop` their best clusters; returns the number of moves.

    The rest stays as it is. All that two units say of each other counts. Looked at are pairs with an end that
    is `due`; not units with entries, or in very many pairs. Written: `labels`, `dirty`, `uneasy`; `scratch`
    is 5 x k.
    """
    ptr, pair, side, ends, mates, kind, strength = ties
    D, _, C, _, linear = prices
    entry_ptr = rows[0]
    k = cost.shape[1]
    left, right, left_cut, right_cut, both = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    moves = 0
    for q in range(start, stop):
        u, v = mates[q, 0], mates[q, 1]
        if u == v or (due[u] | due[v]) == 0 or (uneasy[u] == 0 and uneasy[v] == 0):
            continue
        if entry_ptr[u] < entry_ptr[u + 1] or entry_ptr[v] < entry_ptr[v + 1]:
            continue
        if ptr[u + 1] - ptr[u] > _MAX_DEGREE or ptr[v + 1] - ptr[v] > _MAX_DEGREE:
            continue
        a, b = labels[u], labels[v]
        labels[u] = -1
        labels[v] = -1
        _field(u, cost, ties, prices, rows, counts, a, labels, left)
        _field(v, cost, ties, prices, rows, counts, b, labels, right)
        bond = 0.0
        for h in range(k):
            both[h] = left[h] + right[h]
            left_cut[h] = left[h]
            right_cut[h] = right[h]
        for t in range(ptr[u], ptr[u + 1]):
            p = pair[t]
            if mates[p, 1 - side[t]] != v:
                continue
            if kind[p] != MUST:
                for h in range(k):
                    both[h] += same_cost(p, h, ends, kind, strength, prices)
            elif linear:
                i, j = ends[p, side[t]], ends[p, 1 - side[t]]
                for h in range(k):
                    left_cut[h] += 0.25 * strength[p] * D[j, h]
                    right_cut[h] += 0.25 * strength[p] * D[i, h]
            else:
                bond += 0.5 * strength[p]
        now = both[a]
        if a != b:
            now = left_cut[a] + right_cut[b] + bond * C[a, b]
        g, c = a, b
        then = now
        for h in range(k):
            if both[h] < then:
                then = both[h]
                g, c = h, h
        # the least of each side, and the least without it
        g1, c1 = 0, 0
        for h in range(1, k):
            g1 = h if left_cut[h] < left_cut[g1] else g1
            c1 = h if right_cut[h] < right_cut[c1] else c1
        if bond > 0.0:
            for x in range(k):
                if left_cut[x] + right_cut[c1] >= then:
                    continue
                for y in range(k):
                    value = left_cut[x] + right_cut[y] + bond * C[x, y]
                    if x != y and value < then:
                        then = value
                        g, c = x, y
        else:
            for h in range(k):
                if h != c1 and left_cut[h] + right_cut[c1] < then:
                    then = left_cut[h] + right_cut[c1]
                    g, c = h, c1
                if h != g1 and left_cut[g1] + right_cut[h] < then:
                    then = left_cut[g1] + right_cut[h]
                    g, c = g1, h
        labels[u], labels[v] = a, b
        if then < now - RELATIVE * max(abs(then), abs(now)):
            moves += 1
            labels[u], labels[v] = g, c
            for w in (u, v):
                uneasy[w] = 1
                dirty[w] = 3
                for t in range(ptr[w], ptr[w + 1]):
                    dirty[mates[pair[t], 1 - side[t]]] = 3
    return moves


@kernel
def move_blocks(
    cost: Any,
    ties: Any,
    prices: Any,
    rows: Any,
    counts: Any,
    labels: Any,
    blocks: Any,
    start: int,
    stop: int,
    dirty: Any,
    uneasy: Any,
    before: Any,
    scratch: Any,
) -> int:
    """Move each of the blocks `start` to `stop` as a whole where that pays; returns the number of moves.

    `blocks` are ptr, unit, and the block of each unit. Blocks with entries are not looked at. Written:
    `labels`, `dirty`; the scratch `before` (one number a unit) and `scratch` (2 x k at least).
    """
    ptr, pair, side, ends, mates, kind, strength = ties
    block_ptr, block_unit, block_of = blocks
    entry_ptr = rows[0]
    k = cost.shape[1]
    out, total = scratch[0], scratch[1]
    moves = 0
    for b in range(start, stop):
        content, free = True, True
        for position in range(block_ptr[b], block_ptr[b + 1]):
            u = block_unit[position]
            content = content and uneasy[u] == 0
            free = free and entry_ptr[u] == entry_ptr[u + 1]
        if content or not free:
            continue
        for position in range(block_ptr[b], block_ptr[b + 1]):
            u = block_unit[position]
            before[u] = labels[u]
            labels[u] = -1
        now = 0.0
        for h in range(k):
            total[h] = 0.0
        for position in range(block_ptr[b], block_ptr[b + 1]):
            u = block_unit[position]
            own = before[u]
            # what the world outside says; what is inside comes after it
            _field(u, cost, ties, prices, rows, counts, own, labels, out)
            now += out[own]
            for h in range(k):
                total[h] += out[h]
            for t in range(ptr[u], ptr[u + 1]):
                p = pair[t]
                v = mates[p, 1]
                if side[t] == 1 or v == u or block_of[v] != b:
                    continue
                if kind[p] == MUST:
                    if before[v] != own:
                        now += cut_cost(p, own, before[v], ends, strength, prices)
                    continue
                if before[v] == own:
                    now += same_cost(p, own, ends, kind, strength, prices)
                for h in range(k):
                    total[h] += same_cost(p, h, ends, kind, strength, prices)
        best = 0
        for h in range(1, k):
            if total[h] < total[best]:
                best = h
        pays = total[best] < now - RELATIVE * max(abs(total[best]), abs(now))
        moves += pays
        for position in range(block_ptr[b], block_ptr[b + 1]):
            u = block_unit[position]
            labels[u] = best if pays else before[u]
            if pays:
                dirty[u] = 3
                for t in range(ptr[u], ptr[u + 1]):
                    dirty[mates[pair[t], 1 - side[t]]] = 3
    return moves
