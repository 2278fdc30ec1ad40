"""Labels under prohibitions: greedy in a good order, then moves, ejections and Kempe chains.

Greedy takes the units in an order in which those of low degree come last (the reverse of peeling), each to
the cheapest cluster that its neighbours leave free. From any legal labelling the search goes on by steps
that keep it legal and strictly lower the cost: a unit moves to a free cluster; a unit takes a cluster and
those that it pushes out go to the cheapest one free for each; or two clusters change places on a connected
part of what they hold (a Kempe chain); units that are all apart are matched to clusters anew. Cost of a
round: units x k plus edges and entries, and k times that for the chains in the worst case. Costs must not
be negative: improvements are measured against them, and 0 means that nothing is cheaper.

Source: the book, chapter 1, table 1.1 (greedy); Kempe 1879 (chains); Kuhn 1955 (matching). Ejections are
ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled import kernel
from coterie.assign._core.core import RELATIVE
from coterie.assign._core.counts import add_to_rows, met_in

# Members of a group that are searched for those in the way.
_MAX_SEARCHED = 1000


class Placed(NamedTuple):
    """Labels of the units; what each cluster holds of each row of counts, and who came last (`holder`)."""

    labels: Any
    counts: Any
    holder: Any
    group_ptr: Any
    group_unit: Any


@kernel
def place(u: int, h: int, acts: Any, placed: Any) -> None:
    """Put unit u, which is nowhere, into cluster h."""
    placed.labels[u] = h
    add_to_rows(u, h, 1, acts, placed.counts)
    for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
        placed.holder[acts.member_group[e], h] = u


@kernel
def _lift(u: int, acts: Any, placed: Any) -> None:
    """Take unit u out of its cluster."""
    add_to_rows(u, placed.labels[u], -1, acts, placed.counts)
    placed.labels[u] = -1


@kernel
def _mark_taken(u: int, acts: Any, placed: Any, mark: Any, stamp: int) -> None:
    """Stamp the clusters that unit u may not enter; its own is never meaningful."""
    for t in range(acts.indptr[u], acts.indptr[u + 1]):
        h = placed.labels[acts.indices[t]]
        if h >= 0:
            mark[h] = stamp
    for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
        if acts.member_weight[e] == 0.0:
            continue
        for h in range(mark.shape[0]):
            if met_in(e, h, acts, placed.counts) > 0:
                mark[h] = stamp


@kernel
def greedy(cost: Any, acts: Any, placed: Any, order: Any, mark: Any, state: Any) -> int:
    """Put the units of `order` where it is cheapest and free; returns one that finds no place, or -1."""
    k = cost.shape[1]
    for position in range(order.shape[0]):
        u = order[position]
        state[0] += 1
        _mark_taken(u, acts, placed, mark, state[0])
        best = -1
        for h in range(k):
            if mark[h] != state[0] and (best < 0 or cost[u, h] < cost[u, best]):
                best = h
        if best < 0:
            return u
        place(u, best, acts, placed)
    return -1


@kernel(inline=True)
def _add_once(v: int, out: Any, n: int) -> int:
    """Add v to the first n of `out` unless it is there; how many there are now, one too many if no room."""
    known = False
    for i in range(n):
        known = known or out[i] == v
    if not known:
        if n < out.shape[0]:
            out[n] = v
        n += 1
    return n


@kernel
def _in_the_way(u: int, h: int, acts: Any, placed: Any, out: Any) -> int:
    """Write the units of cluster h that forbid it to u; returns their number, or -1 if `out` is too short."""
    labels, group_ptr, group_unit = placed.labels, placed.group_ptr, placed.group_unit
    room = out.shape[0]
    n = 0
    for t in range(acts.indptr[u], acts.indptr[u + 1]):
        if labels[acts.indices[t]] == h:
            if n == room:
                return -1
            out[n] = acts.indices[t]
            n += 1
    for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
        if acts.member_weight[e] == 0.0:
            continue
        met = met_in(e, h, acts, placed.counts)
        if met <= 0:
            continue
        row = acts.member_group[e]
        if acts.except_group[e] < 0:
            n = _add_once(placed.holder[row, h], out, n)
            if n > room:
                return -1
            continue
        if met > room - n or group_ptr[row + 1] - group_ptr[row] > _MAX_SEARCHED:
            return -1
        for t in range(group_ptr[row], group_ptr[row + 1]):
            if labels[group_unit[t]] == h:
                n = _add_once(group_unit[t], out, n)
                if n > room:
                    return -1
    return n


@kernel
def _push(u: int, h: int, cost: Any, acts: Any, placed: Any, mark: Any, state: Any, pushed: Any) -> bool:
    """Put u into h and those in the way where it is cheapest, if that pays; otherwise change nothing."""
    k = cost.shape[1]
    a = placed.labels[u]
    n = _in_the_way(u, h, acts, placed, pushed)
    if n < 0:
        return False
    gain = cost[u, a] - cost[u, h]
    compared = cost[u, a]
    # before anything moves: each that is pushed out pays at least the least of what is left to it
    bound = gain
    for i in range(n):
        v = pushed[i]
        least = np.inf
        for g in range(k):
            if g != h and cost[v, g] < least:
                least = cost[v, g]
        bound += cost[v, h] - least
        compared += cost[v, h]
    if not bound > RELATIVE * compared:
        return False
    _lift(u, acts, placed)
    for i in range(n):
        _lift(pushed[i], acts, placed)
    place(u, h, acts, placed)
    done = 0
    while done < n:
        v = pushed[done]
        state[0] += 1
        _mark_taken(v, acts, placed, mark, state[0])
        best = -1
        for g in range(k):
            if g != h and mark[g] != state[0] and (best < 0 or cost[v, g] < cost[v, best]):
                best = g
        if best < 0:
            break
        gain += cost[v, h] - cost[v, best]
        place(v, best, acts, placed)
        done += 1
    if done == n and gain > RELATIVE * compared:
        return True
    for i in range(done):
        _lift(pushed[i], acts, placed)
    _lift(u, acts, placed)
    for i in range(n):
        place(pushed[i], h, acts, placed)
    place(u, a, acts, placed)
    return False


@kernel
def moves(
    cost: Any, acts: Any, placed: Any, order: Any, start: int, stop: int, mark: Any, state: Any, pushed: Any
) -> int:
    """Move or push units of `order[start:stop]` where that lowers the cost; returns how often it did."""
    labels, indptr, indices, member_ptr = placed.labels, acts.indptr, acts.indices, acts.member_ptr
    k = cost.shape[1]
    moves = 0
    for position in range(start, stop):
        u = order[position]
        a = labels[u]
        if cost[u, a] == 0.0:
            continue
        may_improve = False
        for h in range(k):
            may_improve = may_improve or cost[u, h] < (1.0 - RELATIVE) * cost[u, a]
        if not may_improve:
            continue
        state[0] += 1
        stamp = state[0]
        if member_ptr[u] == member_ptr[u + 1]:  # the common case, written out: a call copies descriptors
            for t in range(indptr[u], indptr[u + 1]):
                mark[labels[indices[t]]] = stamp
        else:
            _mark_taken(u, acts, placed, mark, stamp)
        best = a
        for h in range(k):
            if mark[h] != stamp and cost[u, h] < cost[u, best]:
                best = h
        if cost[u, best] < (1.0 - RELATIVE) * cost[u, a]:
            _lift(u, acts, placed)
            place(u, best, acts, placed)
            moves += 1
            a = best
        # clusters that are cheaper still are taken
        for h in range(k):
            if cost[u, h] < (1.0 - RELATIVE) * cost[u, a] and _push(
                u, h, cost, acts, placed, mark, state, pushed
            ):
                moves += 1
                a = h
    return moves


@kernel
def improving_moves(cost: Any, labels: Any, order: Any, pair: Any, who: Any) -> int:
    """Count the wishes of units for cheaper clusters; with room in `pair` and `who`, write them there.

    The pair of a unit's cluster and the one it wishes for is numbered a * k + b, a < b.
    """
    k = cost.shape[1]
    total = 0
    for position in range(order.shape[0]):
        u = order[position]
        a = labels[u]
        if cost[u, a] == 0.0:
            continue
        for h in range(k):
            if cost[u, h] < (1.0 - RELATIVE) * cost[u, a]:
                if who.shape[0] > 0:
                    pair[total] = min(a, h) * k + max(a, h)
                    who[total] = u
                total += 1
    return total


@kernel
def chains(
    cost: Any,
    acts: Any,
    placed: Any,
    pairs: Any,
    first: Any,
    who: Any,
    start: int,
    stop: int,
    seen: Any,
    group_seen: Any,
    queue: Any,
    state: Any,
) -> int:
    """Change clusters a and b on connected parts of what they hold, where that pays, pair by pair.

    Pairs `start` to `stop` of `pairs`; `first` and `who` are the wishes of each. A part is looked at once a
    pair, however many of its units wish: it is the same from each of them.
    """
    indptr, indices, member_ptr = acts.indptr, acts.indices, acts.member_ptr
    labels, group_ptr, group_unit = placed.labels, placed.group_ptr, placed.group_unit
    k = cost.shape[1]
    flips = 0
    for position in range(start, stop):
        a, b = pairs[position] // k, pairs[position] % k
        state[0] += 1
        stamp = state[0]
        for at in range(first[position], first[position + 1]):
            u = who[at]
            if seen[u] == stamp or (labels[u] != a and labels[u] != b):
                continue
            if not cost[u, a + b - labels[u]] < (1.0 - RELATIVE) * cost[u, labels[u]]:
                continue
            state[1] += 1
            queue[0] = u
            seen[u] = stamp
            tail = 1
            head = 0
            change = 0.0
            compared = 0.0
            while head < tail:
                v = queue[head]
                head += 1
                other = a + b - labels[v]
                change += cost[v, other] - cost[v, labels[v]]
                compared += cost[v, labels[v]]
                for t in range(indptr[v], indptr[v + 1]):
                    w = indices[t]
                    if labels[w] == other and seen[w] != stamp:
                        seen[w] = stamp
                        queue[tail] = w
                        tail += 1
                for e in range(member_ptr[v], member_ptr[v + 1]):
                    if acts.member_weight[e] == 0.0 or met_in(e, other, acts, placed.counts) <= 0:
                        continue
                    row = acts.member_group[e]
                    if acts.except_group[e] < 0:
                        w = placed.holder[row, other]
                        if seen[w] != stamp:
                            seen[w] = stamp
                            queue[tail] = w
                            tail += 1
                        continue
                    side = 0 if other == a else 1
                    if group_seen[row, side] == state[1]:
                        continue
                    group_seen[row, side] = state[1]
                    for t in range(group_ptr[row], group_ptr[row + 1]):
                        w = group_unit[t]
                        if labels[w] == other and seen[w] != stamp:
                            seen[w] = stamp
                            queue[tail] = w
                            tail += 1
            if change < -RELATIVE * compared:
                flips += 1
                for i in range(tail):
                    v = queue[i]
                    old_label = labels[v]
                    _lift(v, acts, placed)
                    labels[v] = -2 - (a + b - old_label)
                for i in range(tail):
                    v = queue[i]
                    place(v, -2 - labels[v], acts, placed)
    return flips


@kernel
def open_cells(units: Any, acts: Any, placed: Any, mark: Any, state: Any, out: Any) -> None:
    """Lift the units, then write which clusters the others leave open to each."""
    for i in range(units.shape[0]):
        _lift(units[i], acts, placed)
    for i in range(units.shape[0]):
        state[0] += 1
        _mark_taken(units[i], acts, placed, mark, state[0])
        for h in range(mark.shape[0]):
            out[i, h] = mark[h] != state[0]
