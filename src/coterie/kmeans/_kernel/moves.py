"""Compiled moves of semi-supervised kernel k-means: one unit, a chain of prohibitions, a must-link block.

A cluster of mass s whose units have the similarities q among themselves is worth q / s, and the sum of that
over the clusters is to grow. A unit of mass m, of similarity `own` with itself and z with its cluster, wins
(m q / s - 2 z + own) / (s - m) by leaving and (own + 2 z - m q / s) / (s + m) by joining another one: exact
for any symmetric similarities, so that no eigenvalue is needed.

Source: Kulis, Basu, Dhillon and Mooney 2005; moves of single items are Hartigan's; chains and blocks ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel

# Improvements below this share of what is compared are rounding.
RELATIVE = 1e-11


class Terms(NamedTuple):
    """Similarities of units, in four terms that add up; each may be empty.

    A table; a CSR graph, of which a visit reads one row; features, whose inner products count; and rows of
    counts (CSR) with a factor each, for sparse features and for large groups.
    """

    table: Any
    indptr: Index
    indices: Index
    value: Floats
    X: Any
    row_ptr: Index
    row_of: Index
    row_value: Floats
    factor: Floats
    mass: Floats
    own: Floats


class Sums(NamedTuple):
    """What moves change: labels, and sums over clusters.

    Of the table (`z`, k x units), the features (`S`, k x d) and the rows (`R`, rows x k); similarities `q`
    and mass `s` of each cluster, the number of its units, and of those of any mass.
    """

    labels: Labels
    z: Floats
    S: Floats
    R: Floats
    q: Floats
    s: Floats
    n_units: Index
    massive: Index


class Forbidden(NamedTuple):
    """What keeps units apart: edges and entries of a core (see there), and its counts under the labels.

    `core_of` is the number of a unit in the core (-1: it is not there); `row_unit` are the units of a row.
    """

    core_of: Index
    indptr: Index
    to: Index
    member_ptr: Index
    member_group: Index
    except_group: Index
    member_binds: Any
    member_count: Index
    counts: Index
    row_ptr: Index
    row_unit: Index


class KernelScratch(NamedTuple):
    """Units that move together, where to and where from; and room for one number a cluster."""

    units: Index
    target: Index
    before: Index
    out: Floats


@kernel(inline=True)
def _gather(u: int, terms: Any, sums: Any, out: Any) -> None:
    """Write the similarity of unit u with each cluster; u itself counts in its own."""
    k, d = sums.q.shape[0], terms.X.shape[1]
    for h in range(k):
        out[h] = sums.z[h, u] if terms.table.shape[0] > 0 else 0.0
    for t in range(terms.indptr[u], terms.indptr[u + 1]):
        out[sums.labels[terms.indices[t]]] += terms.value[t]
    if d > 0:
        for h in range(k):
            total = 0.0
            for j in range(d):
                total += terms.X[u, j] * sums.S[h, j]
            out[h] += total
    for t in range(terms.row_ptr[u], terms.row_ptr[u + 1]):
        f = terms.row_of[t]
        v = terms.row_value[t] * terms.factor[f]
        for h in range(k):
            out[h] += v * sums.R[f, h]


@kernel(inline=True)
def ban(c: int, hard: Any, labels: Any, banned: Any) -> None:
    """Mark the clusters that others bar to unit c of the core; its own may be marked too."""
    for h in range(banned.shape[0]):
        banned[h] = 0
    for t in range(hard.indptr[c], hard.indptr[c + 1]):
        banned[labels[hard.to[t]]] = 1
    for e in range(hard.member_ptr[c], hard.member_ptr[c + 1]):
        if hard.member_binds[e]:
            for h in range(banned.shape[0]):
                met = hard.counts[hard.member_group[e], h]
                if hard.except_group[e] >= 0:
                    met -= hard.counts[hard.except_group[e], h]
                if met > 0:
                    banned[h] = 1


@kernel
def _move(u: int, b: int, terms: Any, hard: Any, sums: Any, out: Any) -> None:
    """Move unit u to cluster b; `out` holds its similarities with the clusters. Written: `sums`, counts."""
    labels, z, S, R, q, s, n_units, massive = sums
    table, X, mass, own = terms.table, terms.X, terms.mass, terms.own
    a = labels[u]
    labels[u] = b
    q[a] += own[u] - 2.0 * out[a]
    q[b] += own[u] + 2.0 * out[b]
    s[a] -= mass[u]
    s[b] += mass[u]
    n_units[a] -= 1
    n_units[b] += 1
    if mass[u] > 0.0:
        massive[a] -= 1
        massive[b] += 1
    for v in range(table.shape[0]):
        z[a, v] -= table[u, v]
        z[b, v] += table[u, v]
    for j in range(X.shape[1]):
        S[a, j] -= X[u, j]
        S[b, j] += X[u, j]
    for t in range(terms.row_ptr[u], terms.row_ptr[u + 1]):
        R[terms.row_of[t], a] -= terms.row_value[t]
        R[terms.row_of[t], b] += terms.row_value[t]
    c = hard.core_of[u]
    if c >= 0:
        for e in range(hard.member_ptr[c], hard.member_ptr[c + 1]):
            hard.counts[hard.member_group[e], a] -= hard.member_count[e]
            hard.counts[hard.member_group[e], b] += hard.member_count[e]


@kernel
def sweep(terms: Any, hard: Any, sums: Any, order: Any, start: int, stop: int, out: Any, banned: Any) -> int:
    """Move each unit of `order[start:stop]` to where it wins most; returns the number of moves.

    No cluster loses its last unit, or the last one of any mass. Written: `sums`, counts of `hard`, the
    scratch `out` and `banned` (both of length k).
    """
    labels, q, s = sums.labels, sums.q, sums.s
    mass, own = terms.mass, terms.own
    k = q.shape[0]
    moves = 0
    for position in range(start, stop):
        u = order[position]
        a = labels[u]
        m = mass[u]
        if sums.n_units[a] < 2 or (m > 0.0 and sums.massive[a] < 2):
            continue
        _gather(u, terms, sums, out)
        c = hard.core_of[u]
        if c >= 0:
            ban(c, hard, labels, banned)
        away = 0.0
        size = 0.0
        left = s[a] - m
        if left > 0.0:
            mean = m * q[a] / s[a]
            away = (mean - 2.0 * out[a] + own[u]) / left
            size = (abs(mean) + 2.0 * abs(out[a]) + abs(own[u])) / left
        best = a
        most = 0.0
        for h in range(k):
            joined = s[h] + m
            if h == a or (c >= 0 and banned[h]) or joined <= 0.0:
                continue
            mean = m * q[h] / s[h] if s[h] > 0.0 else 0.0
            gain = away + (own[u] + 2.0 * out[h] - mean) / joined
            if gain > most:
                there = (abs(mean) + 2.0 * abs(out[h]) + abs(own[u])) / joined
                if gain > RELATIVE * (size + there):
                    most = gain
                    best = h
        if best != a:
            moves += 1
            _move(u, best, terms, hard, sums, out)
    return moves


@kernel
def _fits(u: int, hard: Any, labels: Any) -> bool:
    """Whether nothing forbids unit u where it is."""
    c = hard.core_of[u]
    if c < 0:
        return True
    h = labels[u]
    for t in range(hard.indptr[c], hard.indptr[c + 1]):
        if labels[hard.to[t]] == h:
            return False
    for e in range(hard.member_ptr[c], hard.member_ptr[c + 1]):
        if hard.member_binds[e]:
            minus = hard.except_group[e]
            less = hard.counts[minus, h] if minus >= 0 else hard.member_count[e]
            if hard.counts[hard.member_group[e], h] > less:
                return False
    return True


@kernel
def _attempt(n: int, scratch: Any, terms: Any, hard: Any, sums: Any) -> bool:
    """Move `units[:n]` to `target[:n]` together, and back again unless that is legal and pays."""
    units, target, before, out = scratch
    labels, q, s, massive = sums.labels, sums.q, sums.s, sums.massive
    k = q.shape[0]
    held = 0
    old = size = 0.0
    for h in range(k):
        held += massive[h] > 0
        if s[h] > 0.0:
            old += q[h] / s[h]
            size += abs(q[h] / s[h])
    for i in range(n):
        before[i] = labels[units[i]]
        _gather(units[i], terms, sums, out)
        _move(units[i], target[i], terms, hard, sums, out)
    new = 0.0
    fine = True
    for h in range(k):
        held -= massive[h] > 0
        fine = fine and sums.n_units[h] > 0
        if s[h] > 0.0 and massive[h] > 0:
            new += q[h] / s[h]
    # sums over whole clusters, of which more digits are lost than of a single gain
    fine = fine and held <= 0 and new - old > 10.0 * RELATIVE * size
    for i in range(n):
        fine = fine and _fits(units[i], hard, labels)
    if not fine:
        for i in range(n - 1, -1, -1):
            _gather(units[i], terms, sums, out)
            _move(units[i], before[i], terms, hard, sums, out)
    return fine


@kernel
def flip_chains(
    terms: Any, hard: Any, sums: Any, order: Any, start: int, stop: int, seen: Any, clock: int, scratch: Any
) -> int:
    """Exchange two clusters along a chain of prohibitions where that pays; returns the number of exchanges.

    Of two units that must be apart neither can go first: they change places, and with them whoever would
    then be in the way. Chains longer than the scratch are left alone. Written: `sums`, counts, the marks
    `seen` (with numbers from `clock` on, k for each unit), the scratch.
    """
    labels, chain, target = sums.labels, scratch.units, scratch.target
    (
        core_of,
        hard_ptr,
        hard_to,
        member_ptr,
        member_group,
        except_group,
        member_binds,
        _,
        _,
        group_ptr,
        group_unit,
    ) = hard
    k = sums.q.shape[0]
    flips = 0
    for position in range(start, stop):
        u = order[position]
        for b in range(k):
            clock += 1
            a = labels[u]
            if b == a:
                continue
            chain[0] = u
            target[0] = b
            seen[u] = clock
            n, done = 1, 0
            while n > 0 and done < n:
                c = core_of[chain[done]]
                to = target[done]
                done += 1
                back = a if to == b else b
                for t in range(hard_ptr[c], hard_ptr[c + 1]):
                    v = hard_to[t]
                    if n > 0 and labels[v] == to and seen[v] != clock:
                        if n == chain.shape[0]:
                            n = 0
                            break
                        seen[v] = clock
                        chain[n] = v
                        target[n] = back
                        n += 1
                for e in range(member_ptr[c], member_ptr[c + 1]):
                    if n == 0 or not member_binds[e]:
                        continue
                    for t in range(group_ptr[member_group[e]], group_ptr[member_group[e] + 1]):
                        v = group_unit[t]
                        if labels[v] != to or seen[v] == clock:
                            continue
                        alike = False
                        if except_group[e] >= 0:
                            for g in range(member_ptr[core_of[v]], member_ptr[core_of[v] + 1]):
                                alike = alike or member_group[g] == except_group[e]
                        if alike:
                            continue
                        if n == chain.shape[0]:
                            n = 0
                            break
                        seen[v] = clock
                        chain[n] = v
                        target[n] = back
                        n += 1
            if n > 1 and _attempt(n, scratch, terms, hard, sums):
                flips += 1
    return flips


@kernel
def move_chunklets(
    terms: Any,
    hard: Any,
    sums: Any,
    chunklet_ptr: Any,
    chunklet_unit: Any,
    start: int,
    stop: int,
    scratch: Any,
) -> int:
    """Bring each of the blocks `start` to `stop` together where that pays most; returns the number of moves.

    Written: `sums`, counts, the scratch (of the length of the longest block).
    """
    moves = 0
    for chunklet in range(start, stop):
        for h in range(sums.q.shape[0]):
            n = 0
            for t in range(chunklet_ptr[chunklet], chunklet_ptr[chunklet + 1]):
                u = chunklet_unit[t]
                if sums.labels[u] != h:
                    scratch.units[n] = u
                    scratch.target[n] = h
                    n += 1
            if n > 0 and _attempt(n, scratch, terms, hard, sums):
                moves += 1
    return moves
