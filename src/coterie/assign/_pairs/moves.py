"""Labels under priced pairs and groups: iterated conditional modes over units, pairs and whole blocks.

A sweep visits the units that any statement touches, in the order of the items from a random place on (a
random order costs a cache miss for each), and moves each to the cluster where its own cost plus what it
pays and wins there is least; only strict improvements count, so the sum never rises. When no unit wants to
move, two that keep away from each other are given the best clusters for both, and whole blocks are tried:
units that soft must-links join move together. Single moves can do neither. A unit is visited again only if
something near it changed. Cost of a first sweep: units x k plus the edges and entries; later ones cost what
changed.

Source: Besag 1986 (ICM); Basu, Banerjee and Mooney 2004 (its use in PCKMeans). Moves of two and of blocks
are ours.
"""

from __future__ import annotations

from typing import Any

from coterie._compiled import kernel

# Improvements below this share of what is compared are rounding.
RELATIVE = 1e-12
# Neighbours of a unit that is still moved together with one of them.
_MAX_DEGREE = 64


@kernel
def _field(
    u: int,
    cost: Any,
    acts: Any,
    counts: Any,
    labels: Any,
    out: Any,
) -> None:
    """Write what unit u would pay in each cluster; u itself must not be counted in `counts`."""
    indptr, indices, weight, entry_ptr, entry_row, entry_minus, entry_weight, _ = acts
    k = out.shape[0]
    for h in range(k):
        out[h] = cost[u, h]
    for t in range(indptr[u], indptr[u + 1]):
        h = labels[indices[t]]
        if h >= 0:
            out[h] += weight[t]
    for e in range(entry_ptr[u], entry_ptr[u + 1]):
        if entry_weight[e] == 0.0:
            continue
        row = entry_row[e]
        minus = entry_minus[e]
        for h in range(k):
            met = counts[row, h]
            if minus >= 0:
                met -= counts[minus, h]
            if met != 0:
                out[h] += entry_weight[e] * met


@kernel
def sweep(
    cost: Any,
    acts: Any,
    counts: Any,
    labels: Any,
    order: Any,
    start: int,
    stop: int,
    dirty: Any,
    uneasy: Any,
    row_time: Any,
    unit_time: Any,
    clock: Any,
    out: Any,
) -> int:
    """Move each unit of `order[start:stop]` that is due to its best cluster; returns the number of moves.

    Written: `labels`, `counts`, `uneasy` (might be better off elsewhere), and what says who is due: `dirty`
    (a neighbour moved), `row_time` against `unit_time` (a row changed since the unit was last visited),
    `clock`.
    """
    indptr, indices, weight, entry_ptr, entry_row, _, _, entry_mass = acts
    k = cost.shape[1]
    moves = 0
    for position in range(start, stop):
        u = order[position]
        due = dirty[u] & 1 == 1
        if not due:
            for e in range(entry_ptr[u], entry_ptr[u + 1]):
                if row_time[entry_row[e]] > unit_time[u]:
                    due = True
                    break
        if not due:
            continue
        dirty[u] &= 2
        if entry_ptr[u] == entry_ptr[u + 1]:
            # Edges alone, the common case, written out: a call would copy all arrays' descriptors. Where
            # nobody is in the way in the cheapest cluster, only clusters of neighbours can be better.
            own = labels[u]
            best = own
            here = cost[u, own]
            uneasy[u] = here > 0.0
            if here > 0.0:
                best = 0
                while cost[u, best] > 0.0:
                    best += 1
            least = 0.0
            for t in range(indptr[u], indptr[u + 1]):
                h = labels[indices[t]]
                if h == own:
                    here += weight[t]
                if h == best:
                    least += weight[t]
                if (h == own) == (weight[t] > 0.0):
                    uneasy[u] = 1
            if least > 0.0 or indptr[u + 1] - indptr[u] > k:
                for h in range(k):
                    out[h] = cost[u, h]
                for t in range(indptr[u], indptr[u + 1]):
                    out[labels[indices[t]]] += weight[t]
                best = 0
                for h in range(1, k):
                    if out[h] < out[best]:
                        best = h
                least = out[best]
            else:
                for t in range(indptr[u], indptr[u + 1]):
                    h = labels[indices[t]]
                    if weight[t] < 0.0 and h != best:
                        there = cost[u, h]
                        for s in range(indptr[u], indptr[u + 1]):
                            if labels[indices[s]] == h:
                                there += weight[s]
                        if there < least:
                            least = there
                            best = h
            if best != own and least < here - RELATIVE * max(abs(least), abs(here)):
                moves += 1
                labels[u] = best
                uneasy[u] = 1
                dirty[u] |= 2
                for t in range(indptr[u], indptr[u + 1]):
                    dirty[indices[t]] = 3
            continue
        clock[0] += 1
        unit_time[u] = clock[0]
        old = labels[u]
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            counts[entry_row[e], old] -= entry_mass[e]
        _field(u, cost, acts, counts, labels, out)
        best = 0
        for h in range(1, k):
            if out[h] < out[best]:
                best = h
        if not out[best] < out[old] - RELATIVE * max(abs(out[best]), abs(out[old])):
            best = old
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            counts[entry_row[e], best] += entry_mass[e]
        if best == old:
            continue
        moves += 1
        labels[u] = best
        clock[0] += 1
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            row_time[entry_row[e]] = clock[0]
        unit_time[u] = clock[0]
        for t in range(indptr[u], indptr[u + 1]):
            dirty[indices[t]] = 3
    return moves


@kernel
def find_due(dirty: Any, bit: int, out: Any) -> int:
    """Write the units whose `bit` is set to `out`; returns their number."""
    n = 0
    for u in range(dirty.shape[0]):
        out[n] = u
        n += (dirty[u] & bit) == bit
    return n


@kernel
def exchange(
    cost: Any,
    acts: Any,
    labels: Any,
    order: Any,
    start: int,
    stop: int,
    once: bool,
    dirty: Any,
    uneasy: Any,
    left: Any,
    right: Any,
) -> int:
    """Give two units that keep away from each other the best clusters for both; returns the number of moves.

    Pairs of `order[start:stop]` and their neighbours that share a cluster, or of which one wishes to be
    where the other is: there the first one to move takes what is better left to the other. Units with
    entries, or with very many neighbours, are not looked at. `once`: each pair from its lower unit only.
    Written: `labels`, `dirty`, `uneasy`, the scratch `left` and `right`.
    """
    indptr, indices, weight, entry_ptr = acts[0], acts[1], acts[2], acts[3]
    k = cost.shape[1]
    moves = 0
    for position in range(start, stop):
        u = order[position]
        if dirty[u] & 2 == 0 or entry_ptr[u] < entry_ptr[u + 1]:
            continue
        dirty[u] &= 1
        if indptr[u + 1] - indptr[u] > _MAX_DEGREE:
            continue
        for t in range(indptr[u], indptr[u + 1]):
            v = indices[t]
            if (once and v < u) or weight[t] < 0.0 or (uneasy[u] == 0 and uneasy[v] == 0):
                continue
            if indptr[v + 1] - indptr[v] > _MAX_DEGREE:
                continue
            a, b = labels[u], labels[v]
            if entry_ptr[v] < entry_ptr[v + 1]:
                continue
            if a != b and cost[u, b] >= cost[u, a] and cost[v, a] >= cost[v, b]:
                continue
            for h in range(k):
                left[h] = cost[u, h]
                right[h] = cost[v, h]
            for s in range(indptr[u], indptr[u + 1]):
                if indices[s] != v:
                    left[labels[indices[s]]] += weight[s]
            for s in range(indptr[v], indptr[v + 1]):
                if indices[s] != u:
                    right[labels[indices[s]]] += weight[s]
            g, h = 0, 0
            for c in range(1, k):
                g = c if left[c] < left[g] else g
                h = c if right[c] < right[h] else h
            if g == h:
                # both want the same: one of them takes its second best, or they pay
                other_g, other_h = (g + 1) % k, (h + 1) % k
                for c in range(k):
                    if c != g:
                        other_g = c if left[c] < left[other_g] else other_g
                        other_h = c if right[c] < right[other_h] else other_h
                yields = left[other_g] - left[g]
                gives = right[other_h] - right[h]
                if min(yields, gives) < weight[t]:
                    if yields < gives:
                        g = other_g
                    else:
                        h = other_h
            now = left[a] + right[b] + (weight[t] if a == b else 0.0)
            then = left[g] + right[h] + (weight[t] if g == h else 0.0)
            if then < now - RELATIVE * max(abs(then), abs(now)):
                moves += 1
                labels[u], labels[v] = g, h
                for w in (u, v):
                    uneasy[w] = 1
                    dirty[w] = 3
                    for s in range(indptr[w], indptr[w + 1]):
                        dirty[indices[s]] = 3
    return moves


@kernel
def move_blocks(
    cost: Any,
    acts: Any,
    counts: Any,
    labels: Any,
    block_ptr: Any,
    block_unit: Any,
    block_of: Any,
    start: int,
    stop: int,
    dirty: Any,
    uneasy: Any,
    row_time: Any,
    clock: Any,
    out: Any,
    total: Any,
    before: Any,
) -> int:
    """Move each of the blocks `start` to `stop` as a whole where that pays; returns the number of moves.

    `out` and `total` are scratch of length k, `before` of the length of the longest block. The energy of a
    block of units with entries is summed while they are taken out, or put in, one by one.
    """
    indptr, indices, weight, entry_ptr, entry_row, _, _, entry_mass = acts
    k = cost.shape[1]
    moves = 0
    for b in range(start, stop):
        low = block_ptr[b]
        size = block_ptr[b + 1] - low
        content = True
        for position in range(size):
            content = content and uneasy[block_unit[low + position]] == 0
        if content:
            continue
        now = 0.0
        plain = True
        for h in range(k):
            total[h] = 0.0
        for position in range(size):
            u = block_unit[low + position]
            before[position] = labels[u]
            plain = plain and entry_ptr[u] == entry_ptr[u + 1]
        if plain:
            # what the world outside says about each cluster; inside, all are together or as they are
            inside_now = inside_then = 0.0
            for position in range(size):
                u = block_unit[low + position]
                own = labels[u]
                now += cost[u, own]
                for h in range(k):
                    total[h] += cost[u, h]
                for t in range(indptr[u], indptr[u + 1]):
                    v = indices[t]
                    together = labels[v] == own
                    if block_of[v] == b:
                        inside_then += weight[t]
                        inside_now += weight[t] if together else 0.0
                    else:
                        total[labels[v]] += weight[t]
                        now += weight[t] if together else 0.0
            best = 0
            for h in range(1, k):
                if total[h] < total[best]:
                    best = h
            now += 0.5 * inside_now
            then = total[best] + 0.5 * inside_then
            if then < now - RELATIVE * max(abs(then), abs(now)):
                moves += 1
                for position in range(size):
                    u = block_unit[low + position]
                    labels[u] = best
                    dirty[u] = 3
                    for t in range(indptr[u], indptr[u + 1]):
                        dirty[indices[t]] = 3
            continue
        for position in range(size):
            u = block_unit[low + position]
            h = labels[u]
            labels[u] = -1
            for e in range(entry_ptr[u], entry_ptr[u + 1]):
                counts[entry_row[e], h] -= entry_mass[e]
            _field(u, cost, acts, counts, labels, out)
            now += out[h]
        # what the rest of the world says about each cluster; inside the block nothing depends on it
        for position in range(size):
            _field(block_unit[low + position], cost, acts, counts, labels, out)
            for h in range(k):
                total[h] += out[h]
        best = 0
        for h in range(1, k):
            if total[h] < total[best]:
                best = h
        then = 0.0
        for position in range(size):
            u = block_unit[low + position]
            _field(u, cost, acts, counts, labels, out)
            then += out[best]
            labels[u] = best
            for e in range(entry_ptr[u], entry_ptr[u + 1]):
                counts[entry_row[e], best] += entry_mass[e]
        if then < now - RELATIVE * max(abs(then), abs(now)):
            moves += 1
            clock[0] += 1
            for position in range(size):
                u = block_unit[low + position]
                dirty[u] = 3
                for e in range(entry_ptr[u], entry_ptr[u + 1]):
                    row_time[entry_row[e]] = clock[0]
                for t in range(indptr[u], indptr[u + 1]):
                    dirty[indices[t]] = 3
            continue
        for position in range(size):
            u = block_unit[low + position]
            for e in range(entry_ptr[u], entry_ptr[u + 1]):
                counts[entry_row[e], best] -= entry_mass[e]
                counts[entry_row[e], before[position]] += entry_mass[e]
            labels[u] = before[position]
    return moves


@kernel
def paid(acts: Any, counts: Any, labels: Any) -> float:
    """Twice the sum over pairs of units of what they pay; infinite if something is forbidden.

    Edges pay what they cost or what they fail to win, rows of counts what they cost less what they win.
    """
    indptr, indices, weight, entry_ptr, entry_row, entry_minus, entry_weight, entry_mass = acts
    twice = 0.0
    for u in range(labels.shape[0]):
        own = labels[u]
        for t in range(indptr[u], indptr[u + 1]):
            v = indices[t]
            if v > u and (labels[v] == own) == (weight[t] > 0.0):
                twice += 2.0 * abs(weight[t])
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            if entry_weight[e] == 0.0:
                continue
            met = counts[entry_row[e], own]
            if entry_minus[e] >= 0:
                met -= counts[entry_minus[e], own]
            else:
                met -= entry_mass[e]
            if met != 0:
                twice += entry_weight[e] * met
    return twice
