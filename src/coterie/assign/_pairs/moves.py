"""Labels under priced pairs and groups: iterated conditional modes over units.

A sweep visits the units that any constraint touches, in the order of the items from a random place on (a
random order costs a cache miss for each), and moves each to the cluster where its own cost plus what it
pays and wins there is least; only strict improvements count, so the sum never rises. A unit is visited again
only if something near it changed. Cost of a first sweep: units x k plus the edges and entries; later ones
cost what changed. With a closure a visit costs O(k) a non-zero of the unit's row, a move O(its row) for each
component that keeps away. `terms` says what the energy is, and what the named tuples hold.

Source: Besag 1986 (ICM); Basu, Banerjee and Mooney 2004 (its use in PCKMeans).
"""

from __future__ import annotations

from typing import Any

from coterie._compiled import kernel
from coterie.assign._core.core import RELATIVE
from coterie.assign._core.counts import add_to_rows, met_in


@kernel(inline=True)
def better(then: float, now: float) -> bool:
    """Whether something is less by more than rounding."""
    return then < now - RELATIVE * max(abs(then), abs(now))


@kernel(inline=True)
def argmin(values: Any) -> int:
    """The first of the least values."""
    best = 0
    for h in range(1, values.shape[0]):
        if values[h] < values[best]:
            best = h
    return best


@kernel(inline=True)
def wake(u: int, acts: Any, due: Any) -> None:
    """The neighbours of u are due for everything."""
    for t in range(acts.indptr[u], acts.indptr[u + 1]):
        due[acts.indices[t]] = 3


@kernel
def carry(u: int, old: int, new: int, closure: Any, now: int) -> None:
    """Take unit u from one cluster to another (-1: none) in the sums of closures; `now` is noted there."""
    c = closure.component[u]
    first, last = closure.keeps_ptr[c], closure.keeps_ptr[c + 1]
    for t in range(first - 1, last):
        b = c if t < first else closure.keeps_index[t]
        closure.time[b] = now
        for turn in range(2):
            h = old if turn == 0 else new
            sign = -1.0 if turn == 0 else 1.0
            if h < 0:
                continue
            if b != c:
                closure.away[b, h] += sign * closure.mass[u]
            closure.near[b, h] += sign * closure.mass[u]
            closure.squares[b, h] += sign * closure.square[u]
            for s in range(closure.row_ptr[u], closure.row_ptr[u + 1]):
                closure.sums[b, h, closure.row_index[s]] += sign * closure.row_data[s]


@kernel
def local_energy(
    u: int, counted: int, energy: Any, acts: Any, closure: Any, counts: Any, labels: Any, out: Any
) -> None:
    """Write what unit u would pay in each cluster; neighbours labelled -1 do not count.

    In `counts` u must not be counted, in the sums of closures it is in the cluster `counted` (-1: in none).
    """
    price, apart = energy.price, energy.apart
    wide = 1 if price.shape[1] > 1 else 0
    k = out.shape[0]
    for h in range(k):
        out[h] = energy.cost[u, h]
    for t in range(acts.indptr[u], acts.indptr[u + 1]):
        h = labels[acts.indices[t]]
        if h >= 0:
            out[h] += price[t, h * wide]
            if apart.shape[0] > 0:
                for g in range(k):
                    out[g] += energy.coupling[t] * apart[g, h]
    for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
        if acts.member_weight[e] == 0.0:
            continue
        for h in range(k):
            met = met_in(e, h, acts, counts)
            if met != 0:
                out[h] += acts.member_weight[e] * met
    if closure is not None and closure.component[u] >= 0:
        c, mass = closure.component[u], closure.mass[u]
        for h in range(k):
            dot = 0.0
            for t in range(closure.row_ptr[u], closure.row_ptr[u + 1]):
                dot += closure.row_data[t] * closure.sums[c, h, closure.row_index[t]]
            distance = mass * closure.squares[c, h] + closure.square[u] * closure.near[c, h] - 2.0 * dot
            out[h] += closure.price * (closure.most * mass * closure.away[c, h] - distance)
        if counted >= 0:
            out[counted] += closure.price * closure.inner[u]  # a unit is not apart from itself


@kernel
def sweep(
    energy: Any,
    acts: Any,
    closure: Any,
    counts: Any,
    labels: Any,
    order: Any,
    start: int,
    stop: int,
    marks: Any,
    out: Any,
) -> int:
    """Move each unit of `order[start:stop]` that is due to its best cluster; returns the number of moves.

    Written: `labels`, `counts`, `marks`, the sums of `closure`, the scratch `out` of length k. Longer than
    other kernels, since units with edges alone, the common case, are written out: a call would copy all
    arrays' descriptors.
    """
    cost, alone, price, coupling, apart = energy
    indptr, indices, member_ptr, member_group = acts.indptr, acts.indices, acts.member_ptr, acts.member_group
    due, may_improve, group_time, unit_time, clock = marks
    k = cost.shape[1]
    wide = price.shape[1] > 1
    coupled = apart.shape[0] > 0
    moves = 0
    for position in range(start, stop):
        u = order[position]
        visit = due[u] & 1 == 1
        if not visit:
            for e in range(member_ptr[u], member_ptr[u + 1]):
                if group_time[member_group[e]] > unit_time[u]:
                    visit = True
                    break
        if closure is not None and not visit and closure.component[u] >= 0:
            visit = closure.time[closure.component[u]] > unit_time[u]
        if not visit:
            continue
        due[u] &= 2
        old = labels[u]
        if closure is None and member_ptr[u] == member_ptr[u + 1]:
            best = old
            here = cost[u, old]
            may_improve[u] = (alone[u, old] if wide else here) > 0.0
            if here > 0.0:
                best = 0
                while cost[u, best] > 0.0:
                    best += 1
            least = 0.0
            for t in range(indptr[u], indptr[u + 1]):
                h = labels[indices[t]]
                paid_there = price[t, h] if wide else price[t, 0]
                if h == old:
                    here += paid_there
                if h == best:
                    least += paid_there
                if (h == old) == (paid_there > 0.0):
                    may_improve[u] = 1
            if may_improve[u] == 0:
                continue
            # Where nobody is in the way in the cheapest cluster, only clusters of neighbours can be better.
            if coupled or least > 0.0 or indptr[u + 1] - indptr[u] > k:
                for h in range(k):
                    out[h] = cost[u, h]
                for t in range(indptr[u], indptr[u + 1]):
                    g = labels[indices[t]]
                    out[g] += price[t, g] if wide else price[t, 0]
                    if coupled:
                        for h in range(k):
                            out[h] += coupling[t] * apart[h, g]
                best = argmin(out)
                least, here = out[best], out[old]
            else:
                for t in range(indptr[u], indptr[u + 1]):
                    h = labels[indices[t]]
                    if h != best and (price[t, h] if wide else price[t, 0]) < 0.0:
                        there = cost[u, h]
                        for s in range(indptr[u], indptr[u + 1]):
                            if labels[indices[s]] == h:
                                there += price[s, h] if wide else price[s, 0]
                        if there < least:
                            least = there
                            best = h
            if best != old and better(least, here):
                moves += 1
                labels[u] = best
                due[u] |= 2
                wake(u, acts, due)
            continue
        clock[0] += 1
        unit_time[u] = clock[0]
        add_to_rows(u, old, -1, acts, counts)
        local_energy(u, old, energy, acts, closure, counts, labels, out)
        best = argmin(out)
        if not better(out[best], out[old]):
            best = old
        add_to_rows(u, best, 1, acts, counts)
        if best == old:
            continue
        moves += 1
        labels[u] = best
        clock[0] += 1
        for e in range(member_ptr[u], member_ptr[u + 1]):
            group_time[member_group[e]] = clock[0]
        if closure is not None and closure.component[u] >= 0:
            carry(u, old, best, closure, clock[0])
        unit_time[u] = clock[0]
        wake(u, acts, due)
    return moves


@kernel
def find_due(due: Any, bit: int, out: Any) -> int:
    """Write the units whose `bit` is set to `out`; returns their number."""
    n = 0
    for u in range(due.shape[0]):
        out[n] = u
        n += (due[u] & bit) == bit
    return n


@kernel
def paid(acts: Any, counts: Any, labels: Any) -> float:
    """Twice the sum over pairs of units of what they pay; infinite if something is forbidden.

    Edges pay what they cost or what they fail to win, rows of counts what they cost less what they win.
    """
    twice = 0.0
    for u in range(labels.shape[0]):
        own = labels[u]
        for t in range(acts.indptr[u], acts.indptr[u + 1]):
            v = acts.indices[t]
            if v > u and (labels[v] == own) == (acts.weight[t] > 0.0):
                twice += 2.0 * abs(acts.weight[t])
        for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
            if acts.member_weight[e] == 0.0:
                continue
            met = met_in(e, own, acts, counts)
            if acts.except_group[e] < 0:
                met -= acts.member_count[e]
            if met != 0:
                twice += acts.member_weight[e] * met
    return twice
