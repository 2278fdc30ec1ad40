"""Labels where the price of a pair depends on its cluster, or follows from sums over must-link components.

Iterated conditional modes over units: each moves to the cluster where its cost and what it pays and wins
there is least, and only strict improvements count. Two kinds of prices add up. Edges have one for each
cluster that both ends share. Fields stand for all pairs of a closure: a unit pays to be apart from its
component, and to be with components that keep away, by squared distance; since such sums need only the
number, the squares and the vector sum of the units of each component in each cluster, no pair is ever
written down (Basu, Bilenko and Mooney 2004 write them all). A visit costs O(k) a non-zero of the unit's
row and O(its edges), a move O(its row) for each component that keeps away. When nobody wants to move, whole
must-link components are tried, which single moves cannot do.
"""

from __future__ import annotations

from typing import Any

from coterie._compiled import kernel

# Improvements below this share of what is compared are rounding.
_RELATIVE = 1e-12
# Edges of a unit that is still moved together with one of its neighbours.
_MAX_EDGES = 64


@kernel
def _carry(u: int, old: int, new: int, fields: Any) -> None:
    """Take unit u from one cluster to another in the field of its component and of those that keep away."""
    part, mass, square, _, r_ptr, r_index, r_data, c_ptr, c_index, away, near, squares, sums = fields
    c = part[u]
    for t in range(c_ptr[c] - 1, c_ptr[c + 1]):
        b = c if t < c_ptr[c] else c_index[t]
        if b != c:
            away[b, old] -= mass[u]
            away[b, new] += mass[u]
        near[b, old] -= mass[u]
        near[b, new] += mass[u]
        squares[b, old] -= square[u]
        squares[b, new] += square[u]
        for s in range(r_ptr[u], r_ptr[u + 1]):
            sums[b, old, r_index[s]] -= r_data[s]
            sums[b, new, r_index[s]] += r_data[s]


@kernel
def sweep_fields(
    cost: Any,
    hard: Any,
    counts: Any,
    edges: Any,
    fields: Any,
    scale: Any,
    labels: Any,
    order: Any,
    start: int,
    stop: int,
    out: Any,
) -> int:
    """Move each unit of `order[start:stop]` to its best cluster; returns the number of moves.

    `hard` is what forbids, as `Core.acts`; `edges` is indptr, indices, weight (edges x k). `fields` is empty
    (no row in `near`) or: component of each unit, its mass, squares and twice its inner spread, its row
    (indptr, indices, data), components that keep away (indptr, indices), and by component and cluster the
    mass of these (`away`), and mass, squares and vector sum of these and the component itself (`near`,
    `squares`, `sums`). `scale` has the price of a pair and the most that a pair is apart. Written: `labels`,
    `counts`, the last four of `fields`, the scratch `out`.
    """
    h_ptr, h_index, h_weight, entry_ptr, entry_row, entry_minus, entry_weight, entry_mass = hard
    indptr, indices, weight = edges
    part, mass, square, inner, r_ptr, r_index, r_data, _, _, away, near, squares, sums = fields
    price, most = scale[0], scale[1]
    k = cost.shape[1]
    moves = 0
    for position in range(start, stop):
        u = order[position]
        own = labels[u]
        for h in range(k):
            out[h] = cost[u, h]
        for t in range(h_ptr[u], h_ptr[u + 1]):
            out[labels[h_index[t]]] += h_weight[t]
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            counts[entry_row[e], own] -= entry_mass[e]
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            if entry_weight[e] == 0.0:
                continue
            for h in range(k):
                met = counts[entry_row[e], h]
                if entry_minus[e] >= 0:
                    met -= counts[entry_minus[e], h]
                if met != 0:
                    out[h] += entry_weight[e] * met
        for t in range(indptr[u], indptr[u + 1]):
            h = labels[indices[t]]
            out[h] += weight[t, h]
        c = part[u] if near.shape[0] > 0 else -1
        if c >= 0:
            for h in range(k):
                dot = 0.0
                for t in range(r_ptr[u], r_ptr[u + 1]):
                    dot += r_data[t] * sums[c, h, r_index[t]]
                gap = mass[u] * squares[c, h] + square[u] * near[c, h] - 2.0 * dot
                out[h] += price * (most * mass[u] * away[c, h] - gap)
            out[own] += price * inner[u]  # a unit is not apart from itself
        best = own
        for h in range(k):
            if out[h] < out[best]:
                best = h
        if not out[best] < out[own] - _RELATIVE * max(abs(out[best]), abs(out[own])):
            best = own
        for e in range(entry_ptr[u], entry_ptr[u + 1]):
            counts[entry_row[e], best] += entry_mass[e]
        if best == own:
            continue
        moves += 1
        labels[u] = best
        if c >= 0:
            _carry(u, own, best, fields)
    return moves


@kernel
def exchange_ends(
    cost: Any, hard: Any, edges: Any, labels: Any, start: int, stop: int, left: Any, right: Any
) -> int:
    """Give two units that keep away from each other the best clusters for both; returns the number of moves.

    Looked at are edges of the units `start` to `stop` that are paid now, or whose other end sits where the
    unit would rather be. Units that something forbids, or with very many edges, are left alone. Written:
    `labels`, the scratch `left` and `right` of length k.
    """
    h_ptr, entry_ptr = hard[0], hard[3]
    indptr, indices, weight = edges
    k = cost.shape[1]
    moves = 0
    for u in range(start, stop):
        if (
            h_ptr[u] < h_ptr[u + 1]
            or entry_ptr[u] < entry_ptr[u + 1]
            or indptr[u + 1] - indptr[u] > _MAX_EDGES
        ):
            continue
        for t in range(indptr[u], indptr[u + 1]):
            v = indices[t]
            if h_ptr[v] < h_ptr[v + 1] or entry_ptr[v] < entry_ptr[v + 1]:
                continue
            a, b = labels[u], labels[v]
            if indptr[v + 1] - indptr[v] > _MAX_EDGES or weight[t, a] <= 0.0:
                continue
            if a != b and cost[u, b] >= cost[u, a] and cost[v, a] >= cost[v, b]:
                continue
            for h in range(k):
                left[h] = cost[u, h]
                right[h] = cost[v, h]
            for s in range(indptr[u], indptr[u + 1]):
                if indices[s] != v:
                    left[labels[indices[s]]] += weight[s, labels[indices[s]]]
            for s in range(indptr[v], indptr[v + 1]):
                if indices[s] != u:
                    right[labels[indices[s]]] += weight[s, labels[indices[s]]]
            now = left[a] + right[b] + (weight[t, a] if a == b else 0.0)
            best_g, best_h, least = a, b, now
            for g in range(k):
                for h in range(k):
                    then = left[g] + right[h] + (weight[t, g] if g == h else 0.0)
                    if then < least:
                        best_g, best_h, least = g, h, then
            if least < now - _RELATIVE * max(abs(least), abs(now)):
                moves += 1
                labels[u], labels[v] = best_g, best_h
    return moves


@kernel
def move_parts(
    cost: Any,
    hard: Any,
    edges: Any,
    fields: Any,
    scale: Any,
    blocks: Any,
    start: int,
    stop: int,
    labels: Any,
    total: Any,
    own: Any,
    own_sums: Any,
) -> int:
    """Move each of the blocks `start` to `stop` as a whole where that pays; returns the number of moves.

    A block is a must-link component (`blocks`: pointer, units, block of each unit). Those that something
    forbids are left alone. Arguments as in `sweep_fields`; written also: the scratch `total` of length k,
    `own` (2 x k: mass and squares of the block by cluster), `own_sums` (k x width: its vector sums).
    """
    h_ptr, entry_ptr = hard[0], hard[3]
    indptr, indices, weight = edges
    part, mass, square, _, r_ptr, r_index, r_data, _, _, away, near, squares, sums = fields
    block_ptr, block_unit, block_of = blocks
    price, most = scale[0], scale[1]
    k = cost.shape[1]
    moves = 0
    for b in range(start, stop):
        low, high = block_ptr[b], block_ptr[b + 1]
        free = True
        first = labels[block_unit[low]]
        whole = True
        for position in range(low, high):
            u = block_unit[position]
            free = free and h_ptr[u] == h_ptr[u + 1] and entry_ptr[u] == entry_ptr[u + 1]
            whole = whole and labels[u] == first
        if not free:
            continue
        now = 0.0
        for h in range(k):
            total[h] = 0.0
        for position in range(low, high):
            u = block_unit[position]
            mine = labels[u]
            now += cost[u, mine]
            for h in range(k):
                total[h] += cost[u, h]
            for t in range(indptr[u], indptr[u + 1]):
                v = indices[t]
                there = labels[v]
                if block_of[v] == b:
                    for h in range(k):
                        total[h] += 0.5 * weight[t, h]
                    if there == mine:
                        now += 0.5 * weight[t, mine]
                else:
                    total[there] += weight[t, there]
                    if there == mine:
                        now += weight[t, there]
        c = part[block_unit[low]] if near.shape[0] > 0 else -1
        if c >= 0:
            width = sums.shape[2]
            for h in range(k):
                own[0, h] = own[1, h] = 0.0
                for j in range(width):
                    own_sums[h, j] = 0.0
            for position in range(low, high):
                u = block_unit[position]
                own[0, labels[u]] += mass[u]
                own[1, labels[u]] += square[u]
                for t in range(r_ptr[u], r_ptr[u + 1]):
                    own_sums[labels[u], r_index[t]] += r_data[t]
            all_mass = all_squares = 0.0
            for h in range(k):
                all_mass += own[0, h]
                all_squares += own[1, h]
            inside = all_mass * all_squares
            for j in range(width):
                summed = 0.0
                for h in range(k):
                    summed += own_sums[h, j]
                inside -= summed * summed
                for h in range(k):
                    # what the others of the field have in cluster h meets all of the block, or what is there
                    others = sums[c, h, j] - own_sums[h, j]
                    total[h] += price * 2.0 * summed * others
                    now += price * own_sums[h, j] * (2.0 * others + own_sums[h, j])
            for h in range(k):
                mass_there, squares_there = near[c, h] - own[0, h], squares[c, h] - own[1, h]
                pays = most * away[c, h] - squares_there
                total[h] += price * (all_mass * pays - all_squares * mass_there - inside)
                now += price * (own[0, h] * pays - own[1, h] * mass_there - own[0, h] * own[1, h])
        best = 0
        for h in range(1, k):
            if total[h] < total[best]:
                best = h
        if (whole and best == first) or not total[best] < now - _RELATIVE * max(abs(total[best]), abs(now)):
            continue
        moves += 1
        for position in range(low, high):
            u = block_unit[position]
            old = labels[u]
            if old == best:
                continue
            labels[u] = best
            if c >= 0:
                _carry(u, old, best, fields)
    return moves
