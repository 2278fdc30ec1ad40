"""Moves that single units cannot make: both ends of a pair to the best clusters for both, and whole blocks.

Tried when no unit wants to move by itself. A block is what soft must-links join. Both are ours.
"""

from __future__ import annotations

from typing import Any

from coterie._compiled import kernel
from coterie.assign._core.counts import add_to_rows
from coterie.assign._pairs.moves import argmin, better, carry, local_energy, wake

# Neighbours of a unit that is still moved together with one of them.
_MAX_DEGREE = 64


@kernel(inline=True)
def _beside(u: int, v: int, energy: Any, acts: Any, labels: Any, out: Any) -> None:
    """Write what unit u, of edges alone, would pay in each cluster without what it has with v."""
    wide = 1 if energy.price.shape[1] > 1 else 0
    for h in range(out.shape[0]):
        out[h] = energy.cost[u, h]
    for s in range(acts.indptr[u], acts.indptr[u + 1]):
        if acts.indices[s] != v:
            g = labels[acts.indices[s]]
            out[g] += energy.price[s, g * wide]
            if energy.apart.shape[0] > 0:
                for h in range(out.shape[0]):
                    out[h] += energy.coupling[s] * energy.apart[h, g]


@kernel(inline=True)
def _best_apart(left: Any, right: Any, price: float) -> tuple[int, int]:
    """The best clusters for two who pay the same price in every one that they share."""
    k = left.shape[0]
    g, h = argmin(left), argmin(right)
    if g == h:
        # both want the same: one of them takes its second best, or they pay
        other_g, other_h = (g + 1) % k, (h + 1) % k
        for c in range(k):
            if c != g:
                other_g = c if left[c] < left[other_g] else other_g
                other_h = c if right[c] < right[other_h] else other_h
        yields = left[other_g] - left[g]
        gives = right[other_h] - right[h]
        if min(yields, gives) < price:
            if yields < gives:
                g = other_g
            else:
                h = other_h
    return g, h


@kernel(inline=True)
def _of_two(t: int, g: int, h: int, energy: Any) -> float:
    """What edge t costs with its ends in clusters g and h."""
    if g == h:
        cost = energy.price[t, g if energy.price.shape[1] > 1 else 0]
    else:
        cost = energy.coupling[t] * energy.apart[g, h] if energy.apart.shape[0] > 0 else 0.0
    return cost


@kernel
def _best_two(t: int, left: Any, right: Any, energy: Any) -> tuple[int, int]:
    """The best clusters for the ends of edge t, where its price may differ from one to the other."""
    k = left.shape[0]
    best_g, best_h = 0, 0
    least = left[0] + right[0] + _of_two(t, 0, 0, energy)
    for h in range(1, k):
        together = left[h] + right[h] + _of_two(t, h, h, energy)
        if together < least:
            least, best_g, best_h = together, h, h
    cheapest = right[argmin(right)]
    for g in range(k):
        if left[g] + cheapest < least:
            for h in range(k):
                if h != g:
                    then = left[g] + right[h] + _of_two(t, g, h, energy)
                    if then < least:
                        least, best_g, best_h = then, g, h
    return best_g, best_h


@kernel
def exchange(
    energy: Any,
    acts: Any,
    labels: Any,
    order: Any,
    start: int,
    stop: int,
    once: bool,
    marks: Any,
    left: Any,
    right: Any,
) -> int:
    """Give both ends of an edge the best clusters for both; returns the number of moves.

    Looked at are edges of `order[start:stop]` where an end might be better off. With one price for all
    clusters only ends that keep away from each other, and share a cluster, or of which one wishes to be where
    the other is: there the first one to move takes what is better left to the other. Units with entries, or
    with very many neighbours, are left alone. `once`: each pair from its lower unit only. Written: `labels`,
    `marks`, the scratch `left` and `right`.
    """
    cost, price = energy.cost, energy.price
    indptr, indices, member_ptr = acts.indptr, acts.indices, acts.member_ptr
    due, may_improve = marks.due, marks.may_improve
    one_price = price.shape[1] == 1 and energy.apart.shape[0] == 0
    moves = 0
    for position in range(start, stop):
        u = order[position]
        if due[u] & 2 == 0 or member_ptr[u] < member_ptr[u + 1]:
            continue
        due[u] &= 1
        if indptr[u + 1] - indptr[u] > _MAX_DEGREE:
            continue
        for t in range(indptr[u], indptr[u + 1]):
            v = indices[t]
            if (once and v < u) or (may_improve[u] == 0 and may_improve[v] == 0):
                continue
            if indptr[v + 1] - indptr[v] > _MAX_DEGREE or member_ptr[v] < member_ptr[v + 1]:
                continue
            a, b = labels[u], labels[v]
            if one_price and (
                price[t, 0] < 0.0 or (a != b and cost[u, b] >= cost[u, a] and cost[v, a] >= cost[v, b])
            ):
                continue
            _beside(u, v, energy, acts, labels, left)
            _beside(v, u, energy, acts, labels, right)
            if one_price:
                g, h = _best_apart(left, right, price[t, 0])
            else:
                g, h = _best_two(t, left, right, energy)
            now = left[a] + right[b] + _of_two(t, a, b, energy)
            then = left[g] + right[h] + _of_two(t, g, h, energy)
            if better(then, now):
                moves += 1
                labels[u], labels[v] = g, h
                for w in (u, v):
                    may_improve[w] = 1
                    due[w] = 3
                    wake(w, acts, due)
    return moves


@kernel(inline=True)
def _block_by_edges(
    b: int, energy: Any, acts: Any, labels: Any, chunklets: Any, total: Any
) -> tuple[float, float]:
    """Write what a block of units with edges alone costs in each cluster; returns what it costs now.

    And what the block pays inside where that is the same in every cluster: it is not in `total`.
    """
    price, apart = energy.price, energy.apart
    wide = 1 if price.shape[1] > 1 else 0
    k = total.shape[0]
    now = inside_now = inside_then = 0.0
    for h in range(k):
        total[h] = 0.0
    for position in range(chunklets.ptr[b], chunklets.ptr[b + 1]):
        u = chunklets.unit[position]
        own = labels[u]
        now += energy.cost[u, own]
        for h in range(k):
            total[h] += energy.cost[u, h]
        for t in range(acts.indptr[u], acts.indptr[u + 1]):
            v = acts.indices[t]
            there = labels[v]
            if chunklets.of_unit[v] == b:
                if wide == 1:
                    for h in range(k):
                        total[h] += 0.5 * price[t, h]
                else:
                    inside_then += price[t, 0]
                inside_now += _of_two(t, own, there, energy)
            else:
                total[there] += price[t, there * wide]
                now += _of_two(t, own, there, energy)
                if apart.shape[0] > 0:
                    for h in range(k):
                        total[h] += energy.coupling[t] * apart[h, there]
    return now + 0.5 * inside_now, 0.5 * inside_then


@kernel
def move_chunklets(
    energy: Any,
    acts: Any,
    closure: Any,
    counts: Any,
    labels: Any,
    chunklets: Any,
    start: int,
    stop: int,
    marks: Any,
    out: Any,
    total: Any,
    before: Any,
) -> int:
    """Move each of the blocks `start` to `stop` as a whole where that pays; returns the number of moves.

    `out` and `total` are scratch of length k, `before` of the length of the longest block. The energy of a
    block of units with entries, or of a closure, is summed while they are taken out, or put in, one by one.
    """
    price, due, clock = energy.price, marks.due, marks.clock
    k = energy.cost.shape[1]
    moves = 0
    for b in range(start, stop):
        low, high = chunklets.ptr[b], chunklets.ptr[b + 1]
        settled, plain = True, closure is None
        for position in range(low, high):
            u = chunklets.unit[position]
            before[position - low] = labels[u]
            settled = settled and marks.may_improve[u] == 0
            plain = plain and acts.member_ptr[u] == acts.member_ptr[u + 1]
        if settled:
            continue
        if plain:
            # what the world outside says about each cluster; inside, all are together or as they are
            now, inside = _block_by_edges(b, energy, acts, labels, chunklets, total)
            best = argmin(total)
            then = total[best] + inside
        else:
            now = then = 0.0
            clock[0] += 1
            for h in range(k):
                total[h] = 0.0
            for position in range(low, high):
                u = chunklets.unit[position]
                h = labels[u]
                labels[u] = -1
                add_to_rows(u, h, -1, acts, counts)
                local_energy(u, h, energy, acts, closure, counts, labels, out)
                now += out[h]
                if closure is not None and closure.component[u] >= 0:
                    carry(u, h, -1, closure, clock[0])
            for position in range(low, high):
                u = chunklets.unit[position]
                local_energy(u, -1, energy, acts, closure, counts, labels, out)
                for h in range(k):
                    total[h] += out[h]
                for t in range(acts.indptr[u], acts.indptr[u + 1]):
                    if price.shape[1] > 1 and chunklets.of_unit[acts.indices[t]] == b:
                        for h in range(k):
                            total[h] += 0.5 * price[t, h]
            best = argmin(total)
            for position in range(low, high):
                u = chunklets.unit[position]
                local_energy(u, -1, energy, acts, closure, counts, labels, out)
                then += out[best]
                labels[u] = best
                add_to_rows(u, best, 1, acts, counts)
                if closure is not None and closure.component[u] >= 0:
                    carry(u, -1, best, closure, clock[0])
        pays = better(then, now)
        moves += pays
        for position in range(low, high):
            u = chunklets.unit[position]
            if pays:
                labels[u] = best
                due[u] = 3
                for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
                    marks.group_time[acts.member_group[e]] = clock[0]
                wake(u, acts, due)
            elif not plain:
                h = before[position - low]
                add_to_rows(u, best, -1, acts, counts)
                add_to_rows(u, h, 1, acts, counts)
                if closure is not None and closure.component[u] >= 0:
                    carry(u, best, h, closure, clock[0])
                labels[u] = h
    return moves
