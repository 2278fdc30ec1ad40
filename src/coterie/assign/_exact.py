"""The best labels of a small core, by mixed-integer programming (HiGHS).

One variable for each unit and cluster; a prohibition is an inequality, a price or a gain for sharing a
cluster one more variable for each pair and cluster. Parts of the core that do not act on each other are
solved apart. Exponential in the worst case: the search stops after a number of nodes and then says so.

Source: the integer program of Problem 1 of the book's chapter 1, with prices.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from coterie.assign._core import Core, Floats, Index
from coterie.assign._points import Labels

# Largest number of units x clusters in one part, and of variables in its program.
MAX_CELLS = 10_000
_MAX_VARIABLES = 200_000
# HiGHS stops at this absolute gap; an answer counts as proven if that is below this share of its value.
_GAP = 1e-6
_PROOF = 1e-8
# The largest number of the objective at first, and beyond which the solver loses digits itself.
_LARGEST = 1e4
_TOO_LARGE = 1e9


def solve_exactly(core: Core, cost: Floats, budget: int) -> tuple[Labels | None, bool]:
    """Labels of least cost, and whether they are proven best; None if no legal labels were found."""
    k = cost.shape[1]
    labels = cost.argmin(axis=1).astype(np.int32)
    proven = True
    part = core.parts()
    order = np.argsort(part, kind="stable")
    for units in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        if len(units) <= 1:
            continue
        if len(units) * k > MAX_CELLS:
            raise ValueError(
                f"{len(units):,} units act on each other under {k} clusters: more than the {MAX_CELLS:,} "
                'cells that are solved exactly. Use the "local" method.'
            )
        best, sure = _solve_part(core, units, cost[units], budget)
        if best is None:
            return None, sure
        labels[units] = best
        proven &= sure
    return labels, proven


def _solve_part(core: Core, units: Index, cost: Floats, budget: int) -> tuple[Labels | None, bool]:
    n, k = cost.shape
    ends, weight = _pairs_of(core, units)
    forbidden = np.isinf(weight)
    if n == 2 and len(ends) and not (core.entry_minus >= 0).any():
        both = cost[0][:, None] + cost[1]
        both[np.diag_indices(k)] += weight[0]
        if not np.isfinite(both).any():
            return None, True
        return np.array(np.unravel_index(int(both.argmin()), (k, k)), dtype=np.int32), True
    priced = ends[~forbidden], weight[~forbidden]
    sets, codes = _partitions(core, units)
    n_codes = sum(len(np.unique(code)) for _, code in zip(sets, codes, strict=True))
    n_pair, n_own = len(priced[0]), n * k
    n_variables = n_own + n_pair * k + n_codes * k
    if n_variables > _MAX_VARIABLES:
        raise ValueError(
            f"an exact solution of this core needs {n_variables:,} variables, more than {_MAX_VARIABLES:,}. "
            'Use the "local" method.'
        )
    unit_of = np.repeat(np.arange(n), k)
    rows, columns, values, low, high = [], [], [], [], []
    count = 0

    def add(entries: list[tuple[Index, float]], lower: float, upper: float) -> None:
        """One inequality for each row of the columns given."""
        nonlocal count
        m = len(entries[0][0])
        for column, value in entries:
            rows.append(count + np.arange(m))
            columns.append(column)
            values.append(np.full(m, value))
        low.append(np.full(m, lower))
        high.append(np.full(m, upper))
        count += m

    def cells(members: Index) -> Index:
        return (members[:, None] * k + np.arange(k)).ravel()

    # every unit has one cluster
    rows.append(unit_of)
    columns.append(np.arange(n_own))
    values.append(np.ones(n_own))
    low.append(np.ones(n))
    high.append(np.ones(n))
    count = n
    if forbidden.any():
        a, b = ends[forbidden].T
        add([(cells(a), 1.0), (cells(b), 1.0)], -np.inf, 1.0)
    together = n_own + np.arange(n_pair * k)
    a, b = cells(priced[0][:, 0]), cells(priced[0][:, 1])
    pays = np.repeat(priced[1] > 0, k)
    if pays.any():
        add([(a[pays], 1.0), (b[pays], 1.0), (together[pays], -1.0)], -np.inf, 1.0)
    if not pays.all():
        add([(together[~pays], 1.0), (a[~pays], -1.0)], -np.inf, 0.0)
        add([(together[~pays], 1.0), (b[~pays], -1.0)], -np.inf, 0.0)
    base = n_own + n_pair * k
    for members, code in zip(sets, codes, strict=True):
        unique, compact = np.unique(code, return_inverse=True)
        owner = base + (np.arange(len(unique))[:, None] * k + np.arange(k))
        add([(cells(members), 1.0), (owner[compact].ravel(), -1.0)], -np.inf, 0.0)
        for h in range(k):
            rows.append(np.full(len(unique), count))
            columns.append(owner[:, h])
            values.append(np.ones(len(unique)))
            low.append(np.array([-np.inf]))
            high.append(np.ones(1))
            count += 1
        base += owner.size

    table = sparse.csc_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (count, n_variables)
    )
    rules = LinearConstraint(table, np.concatenate(low), np.concatenate(high))
    relative = cost - cost.min(axis=1, keepdims=True)

    def solve(prices: Floats) -> tuple[Labels | None, bool]:
        objective = np.zeros(n_variables)
        objective[:n_own] = relative.ravel()
        objective[together] = np.repeat(prices[~forbidden], k)
        return _minimise(objective, rules, relative, ends, prices, budget)

    # Dear prices drown the costs. If nothing that is dear is broken at lower prices, the answer is best at
    # the true ones too, which can only add to what others cost.
    dear = ~forbidden & (np.abs(weight) > relative.sum())
    if dear.any():
        lower = np.where(dear, np.sign(weight) * relative.sum(), weight)
        best, sure = solve(lower)
        if best is None:
            return None, sure
        share = best[ends[:, 0]] == best[ends[:, 1]]
        if not (dear & (share == (weight > 0))).any():
            return best, sure
    return solve(weight)


def _minimise(
    objective: Floats, rules: LinearConstraint, relative: Floats, ends: Index, weight: Floats, budget: int
) -> tuple[Labels | None, bool]:
    """Run the solver at a scale at which its gap is small beside the value it finds."""
    n, k = relative.shape
    integral = np.zeros(len(objective))
    integral[: n * k] = 1
    largest = np.abs(objective).max()
    scale = _LARGEST / largest if largest > 0 else 1.0
    while True:
        found = milp(
            objective * scale,
            integrality=integral,
            bounds=Bounds(0, 1),
            constraints=rules,
            options={"mip_rel_gap": 0.0, "node_limit": budget},
        )
        if found.x is None:
            return None, found.status == 2
        best = found.x[: n * k].reshape(n, k).argmax(axis=1).astype(np.int32)
        share = best[ends[:, 0]] == best[ends[:, 1]]
        paid = np.where(share, np.maximum(weight, 0.0), np.maximum(-weight, 0.0))
        value = float(relative[np.arange(n), best].sum() + paid.sum())  # never negative
        # HiGHS stops at an absolute gap: costs that are small beside the largest must not drown in it
        wanted = 0.0 if value == 0 else _GAP / (_PROOF * value)
        if scale >= wanted or wanted * largest > _TOO_LARGE:
            return best, bool(found.status == 0 and scale >= wanted)
        scale = 2.0 * wanted


def _pairs_of(core: Core, units: Index) -> tuple[Index, Floats]:
    """All pairs of units that act on each other, groups written out; positions in `units`."""
    number = np.full(core.n_units, -1, dtype=np.int64)
    number[units] = np.arange(len(units))
    n = len(units)
    weight = np.zeros((n, n))
    for u in units.tolist():
        near = slice(core.indptr[u], core.indptr[u + 1])
        weight[number[u], number[core.indices[near]]] += core.weight[near]
    owner = np.repeat(np.arange(core.n_units), np.diff(core.entry_ptr))
    inside = (number[owner] >= 0) & (core.entry_minus < 0) & (core.entry_weight != 0)
    for row in np.unique(core.entry_row[inside]).tolist():
        here = np.flatnonzero(inside & (core.entry_row == row))
        member = number[owner[here]]
        # an entry's weight is the price of an item times its own items
        weight[np.ix_(member, member)] += np.outer(core.entry_weight[here], core.entry_mass[here])
    a, b = np.nonzero(np.triu(weight, 1))
    return np.column_stack([a, b]), weight[a, b]


def _partitions(core: Core, units: Index) -> tuple[list[Index], list[Index]]:
    """Members and codes of each set whose codes never share a cluster; positions in `units`."""
    number = np.full(core.n_units, -1, dtype=np.int64)
    number[units] = np.arange(len(units))
    owner = np.repeat(np.arange(core.n_units), np.diff(core.entry_ptr))
    inside = (number[owner] >= 0) & (core.entry_minus >= 0)
    sets, codes = [], []
    for row in np.unique(core.entry_row[inside]).tolist():
        here = inside & (core.entry_row == row)
        sets.append(number[owner[here]])
        codes.append(core.entry_minus[here])
    return sets, codes
