"""Compiled moves of semi-supervised kernel k-means: one unit, a chain of prohibitions, a must-link block.

A cluster of mass s whose units have the similarities q among themselves is worth q / s, and the sum of that
over the clusters is to grow. A unit of mass m, of similarity `own` with itself and z with its cluster, wins
(m q / s - 2 z + own) / (s - m) by leaving and (own + 2 z - m q / s) / (s + m) by joining another one: exact
for any symmetric similarities, so that no eigenvalue is needed.

Similarities come in four parts that add up; each may be empty. `parts` holds them: a table, for which the
sums `z` (k x units) are kept up to date; a CSR graph, of which a visit reads one row; features, whose inner
products with the sums `S` (k x d) count; and rows of counts with a factor each (sums `R`, rows x k), for
sparse features and for large groups. `hard` says what is forbidden, `state` is what moves change.

Source: Kulis, Basu, Dhillon and Mooney 2005; moves of single items are Hartigan's; chains and blocks ours.
"""

from __future__ import annotations

from typing import Any

from coterie._compiled import kernel

# Improvements below this share of what is compared are rounding.
RELATIVE = 1e-11


@kernel
def _gather(u: int, parts: Any, state: Any, out: Any) -> None:
    """Write the similarity of unit u with each cluster; u itself counts in its own."""
    table, indptr, indices, value, X, row_ptr, row_of, row_value, factor, _, _ = parts
    labels, z, S, R, q, _, _, _ = state
    k = q.shape[0]
    for h in range(k):
        out[h] = z[h, u] if table.shape[0] > 0 else 0.0
    for t in range(indptr[u], indptr[u + 1]):
        out[labels[indices[t]]] += value[t]
    d = X.shape[1]
    if d > 0:
        for h in range(k):
            total = 0.0
            for j in range(d):
                total += X[u, j] * S[h, j]
            out[h] += total
    for t in range(row_ptr[u], row_ptr[u + 1]):
        f = row_of[t]
        v = row_value[t] * factor[f]
        for h in range(k):
            out[h] += v * R[f, h]


@kernel
def _move(u: int, b: int, parts: Any, hard: Any, state: Any, out: Any) -> None:
    """Move unit u to cluster b; `out` holds its similarities with the clusters. Written: `state`, counts."""
    table, _, _, _, X, row_ptr, row_of, row_value, _, mass, own = parts
    labels, z, S, R, q, s, count, massive = state
    a = labels[u]
    labels[u] = b
    q[a] += own[u] - 2.0 * out[a]
    q[b] += own[u] + 2.0 * out[b]
    s[a] -= mass[u]
    s[b] += mass[u]
    count[a] -= 1
    count[b] += 1
    if mass[u] > 0.0:
        massive[a] -= 1
        massive[b] += 1
    for v in range(table.shape[0]):
        z[a, v] -= table[u, v]
        z[b, v] += table[u, v]
    for j in range(X.shape[1]):
        S[a, j] -= X[u, j]
        S[b, j] += X[u, j]
    for t in range(row_ptr[u], row_ptr[u + 1]):
        R[row_of[t], a] -= row_value[t]
        R[row_of[t], b] += row_value[t]
    core_of, _, _, entry_ptr, entry_row, _, _, entry_mass, counts, _, _ = hard
    c = core_of[u]
    if c >= 0:
        for e in range(entry_ptr[c], entry_ptr[c + 1]):
            counts[entry_row[e], a] -= entry_mass[e]
            counts[entry_row[e], b] += entry_mass[e]


@kernel
def sweep(parts: Any, hard: Any, state: Any, order: Any, start: int, stop: int, out: Any, banned: Any) -> int:
    """Move each unit of `order[start:stop]` to where it wins most; returns the number of moves.

    No cluster loses its last unit, or the last one of any mass. Written: `state`, counts of `hard`, the
    scratch `out` and `banned` (both of length k).
    """
    table, indptr, indices, value, X, row_ptr, row_of, row_value, factor, mass, own = parts
    labels, z, S, R, q, s, count, massive = state
    core_of, hard_ptr, hard_to, entry_ptr, entry_row, entry_minus, entry_binds, _, counts, _, _ = hard
    k, d = q.shape[0], X.shape[1]
    moves = 0
    for position in range(start, stop):
        u = order[position]
        a = labels[u]
        m = mass[u]
        if count[a] < 2 or (m > 0.0 and massive[a] < 2):
            continue
        # the similarities as in `_gather`, written out: a call would copy all arrays' descriptors
        for h in range(k):
            out[h] = z[h, u] if table.shape[0] > 0 else 0.0
        for t in range(indptr[u], indptr[u + 1]):
            out[labels[indices[t]]] += value[t]
        if d > 0:
            for h in range(k):
                total = 0.0
                for j in range(d):
                    total += X[u, j] * S[h, j]
                out[h] += total
        for t in range(row_ptr[u], row_ptr[u + 1]):
            f = row_of[t]
            v = row_value[t] * factor[f]
            for h in range(k):
                out[h] += v * R[f, h]
        c = core_of[u]
        if c >= 0:
            for h in range(k):
                banned[h] = 0
            for t in range(hard_ptr[c], hard_ptr[c + 1]):
                banned[labels[hard_to[t]]] = 1
            for e in range(entry_ptr[c], entry_ptr[c + 1]):
                if entry_binds[e]:
                    for h in range(k):
                        met = counts[entry_row[e], h]
                        if entry_minus[e] >= 0:
                            met -= counts[entry_minus[e], h]
                        if met > 0:
                            banned[h] = 1
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
            _move(u, best, parts, hard, state, out)
    return moves


@kernel
def _fits(u: int, hard: Any, labels: Any) -> bool:
    """Whether nothing forbids unit u where it is."""
    core_of, hard_ptr, hard_to, entry_ptr, entry_row, entry_minus, entry_binds, entry_mass, counts, _, _ = (
        hard
    )
    c = core_of[u]
    if c < 0:
        return True
    h = labels[u]
    for t in range(hard_ptr[c], hard_ptr[c + 1]):
        if labels[hard_to[t]] == h:
            return False
    for e in range(entry_ptr[c], entry_ptr[c + 1]):
        if entry_binds[e]:
            met = counts[entry_row[e], h]
            met -= counts[entry_minus[e], h] if entry_minus[e] >= 0 else entry_mass[e]
            if met > 0:
                return False
    return True


@kernel
def _attempt(
    n: int, units: Any, target: Any, parts: Any, hard: Any, state: Any, out: Any, before: Any
) -> bool:
    """Move `units[:n]` to `target[:n]` together, and back again unless that is legal and pays."""
    labels, _, _, _, q, s, count, massive = state
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
        _gather(units[i], parts, state, out)
        _move(units[i], target[i], parts, hard, state, out)
    new = 0.0
    fine = True
    for h in range(k):
        held -= massive[h] > 0
        fine = fine and count[h] > 0
        if s[h] > 0.0 and massive[h] > 0:
            new += q[h] / s[h]
    # sums over whole clusters, of which more digits are lost than of a single gain
    fine = fine and held <= 0 and new - old > 10.0 * RELATIVE * size
    for i in range(n):
        fine = fine and _fits(units[i], hard, labels)
    if not fine:
        for i in range(n - 1, -1, -1):
            _gather(units[i], parts, state, out)
            _move(units[i], before[i], parts, hard, state, out)
    return fine


@kernel
def flip_chains(
    parts: Any,
    hard: Any,
    state: Any,
    order: Any,
    start: int,
    stop: int,
    seen: Any,
    clock: int,
    chain: Any,
    target: Any,
    before: Any,
    out: Any,
) -> int:
    """Exchange two clusters along a chain of prohibitions where that pays; returns the number of exchanges.

    Of two units that must be apart neither can go first: they change places, and with them whoever would
    then be in the way. Chains longer than the scratch `chain` are left alone. Written: `state`, counts, the
    marks `seen` (with numbers from `clock` on, k for each unit), `target`, `before`, `out`.
    """
    labels = state[0]
    core_of, hard_ptr, hard_to, entry_ptr, entry_row, entry_minus, entry_binds, _, _, row_ptr, row_unit = hard
    k = state[4].shape[0]
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
                for e in range(entry_ptr[c], entry_ptr[c + 1]):
                    if n == 0 or not entry_binds[e]:
                        continue
                    for t in range(row_ptr[entry_row[e]], row_ptr[entry_row[e] + 1]):
                        v = row_unit[t]
                        if labels[v] != to or seen[v] == clock:
                            continue
                        alike = False
                        if entry_minus[e] >= 0:
                            for g in range(entry_ptr[core_of[v]], entry_ptr[core_of[v] + 1]):
                                alike = alike or entry_row[g] == entry_minus[e]
                        if alike:
                            continue
                        if n == chain.shape[0]:
                            n = 0
                            break
                        seen[v] = clock
                        chain[n] = v
                        target[n] = back
                        n += 1
            if n > 1 and _attempt(n, chain, target, parts, hard, state, out, before):
                flips += 1
    return flips


@kernel
def move_blocks(
    parts: Any,
    hard: Any,
    state: Any,
    block_ptr: Any,
    block_unit: Any,
    start: int,
    stop: int,
    units: Any,
    target: Any,
    before: Any,
    out: Any,
) -> int:
    """Bring each of the blocks `start` to `stop` together where that pays most; returns the number of moves.

    Written: `state`, counts, the scratch `units`, `target`, `before` (of the length of the longest block).
    """
    labels = state[0]
    k = state[4].shape[0]
    moves = 0
    for block in range(start, stop):
        for h in range(k):
            n = 0
            for t in range(block_ptr[block], block_ptr[block + 1]):
                u = block_unit[t]
                if labels[u] != h:
                    units[n] = u
                    target[n] = h
                    n += 1
            if n > 0 and _attempt(n, units, target, parts, hard, state, out, before):
                moves += 1
    return moves
