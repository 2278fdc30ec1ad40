"""The integer program of an assignment: one variable for each unit and cluster (HiGHS).

A prohibition is an inequality, a price or a gain for sharing a cluster one more variable for each pair and
cluster, a bound on a size one row. Exponential in the worst case: the search stops after a number of nodes
and then says so.

Source: the integer program of Problem 1 of the book's chapter 1, with prices; bounds as in chapter 9, (9.6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core.core import Core

_MAX_VARIABLES = 200_000
# HiGHS stops at this absolute gap; an answer counts as proven if that is below this share of its value.
_GAP = 1e-6
_PROOF = 1e-8
# The largest number of the objective at first, and beyond which the solver loses digits itself.
_LARGEST = 1e4
_TOO_LARGE = 1e9
_NO_PAIRS = np.empty((0, 2), dtype=np.int64)


class IntegerProgram:
    """Units that each go into one cluster, and rules between them; an infinite cost forbids a cluster."""

    def __init__(self, cost: Floats) -> None:
        self.n, self.k = cost.shape
        forbidden = np.isinf(cost)
        least = np.where(forbidden, np.inf, cost).min(axis=1, keepdims=True)
        self.relative = np.where(forbidden, 0.0, cost - least)
        self.n_variables = self.n * self.k
        self._upper = [np.where(forbidden, 0.0, 1.0).ravel()]
        self._rows: list[Index] = []
        self._columns: list[Index] = []
        self._values: list[Floats] = []
        self._low: list[Floats] = []
        self._high: list[Floats] = []
        self._count = 0
        self.loads: list[tuple[Any, Floats, Floats]] = []
        self.ends, self.weight = _NO_PAIRS, np.empty(0)
        self._together = np.empty(0, dtype=np.int64)
        for h in range(self.k):
            self._put(np.arange(self.n), np.arange(self.n) * self.k + h, np.ones(self.n))
        self._limit(np.ones(self.n), np.ones(self.n))

    # ---- rows -----------------------------------------------------------------------------------------

    def _put(self, rows: Index, columns: Index, values: Floats) -> None:
        self._rows.append(rows + self._count)
        self._columns.append(columns)
        self._values.append(values)

    def _limit(self, low: Floats, high: Floats) -> None:
        self._low.append(low)
        self._high.append(high)
        self._count += len(low)

    def add(self, entries: list[tuple[Index, float]], lower: float, upper: float) -> None:
        """One inequality for each row of the columns given."""
        m = len(entries[0][0])
        for column, value in entries:
            self._put(np.arange(m), column, np.full(m, value))
        self._limit(np.full(m, lower), np.full(m, upper))

    def add_loads(self, load: Floats, low: Floats, high: Floats) -> None:
        """The load of each cluster lies between two bounds; taken back by `loads.clear()`."""
        cluster = sparse.kron(load, sparse.identity(self.k), format="csc")
        self.loads.append((cluster, low, high))

    def cells(self, members: Index) -> Index:
        """The variables of some units, a row after the other."""
        return (members[:, None] * self.k + np.arange(self.k)).ravel()

    def _more(self, m: int) -> Index:
        first = self.n_variables
        self.n_variables += m
        if self.n_variables > _MAX_VARIABLES:
            raise ValueError(
                f"an exact solution of this core needs more than {_MAX_VARIABLES:,} variables. "
                'Use the "local" method.'
            )
        self._upper.append(np.ones(m))
        return np.arange(first, self.n_variables)

    # ---- constraints ---------------------------------------------------------------------------------------

    def add_core(self, core: Core, units: Index) -> None:
        """What the units of a core do to each other; they are the first of this program, in this order."""
        k = self.k
        self.ends, self.weight = pairs_of(core, units)
        forbidden = np.isinf(self.weight)
        soft_ends = self.ends[~forbidden]
        if forbidden.any():
            a, b = self.ends[forbidden].T
            self.add([(self.cells(a), 1.0), (self.cells(b), 1.0)], -np.inf, 1.0)
        together = self._together = self._more(len(soft_ends) * k)
        a, b = self.cells(soft_ends[:, 0]), self.cells(soft_ends[:, 1])
        pays = np.repeat(self.weight[~forbidden] > 0, k)
        if pays.any():
            self.add([(a[pays], 1.0), (b[pays], 1.0), (together[pays], -1.0)], -np.inf, 1.0)
        if not pays.all():
            self.add([(together[~pays], 1.0), (a[~pays], -1.0)], -np.inf, 0.0)
            self.add([(together[~pays], 1.0), (b[~pays], -1.0)], -np.inf, 0.0)
        for members, code in _partitions(core, units):
            unique, compact = np.unique(code, return_inverse=True)
            owner = self._more(len(unique) * k).reshape(len(unique), k)
            self.add([(self.cells(members), 1.0), (owner[compact].ravel(), -1.0)], -np.inf, 0.0)
            for h in range(k):
                self.add([(owner[c : c + 1, h], 1.0) for c in range(len(unique))], -np.inf, 1.0)

    def add_either_or(self, i: Index, j: Index, g: Index) -> None:
        """Each of the units i is where j or g of the same row is; the corrected (9.8) of the book."""
        self.add([(self.cells(i), 1.0), (self.cells(j), -1.0), (self.cells(g), -1.0)], -np.inf, 0.0)

    # ---- the answer -----------------------------------------------------------------------------------

    def solve(self, budget: int, whole: Any = None) -> tuple[Labels | None, bool]:
        """Labels of least cost, and whether that is proven; None if none were found (proven: there are none).

        Units that are not `whole` need not be integral: what is left of them is a transport.
        """
        weight = self.weight
        # Dear prices drown the costs. If nothing that is dear is broken at lower prices, the answer is best
        # at the true ones too, which can only add to what others cost.
        dear = np.isfinite(weight) & (np.abs(weight) > self.relative.sum())
        if dear.any():
            lower = np.where(dear, np.sign(weight) * self.relative.sum(), weight)
            best, is_proven = self._minimise(lower, budget, whole)
            if best is None:
                return None, is_proven
            share = best[self.ends[:, 0]] == best[self.ends[:, 1]]
            if not (dear & (share == (weight > 0))).any():
                return best, is_proven
        return self._minimise(weight, budget, whole)

    def _minimise(self, weight: Floats, budget: int, whole: Any) -> tuple[Labels | None, bool]:
        """Run the solver at a scale at which its gap is small beside the value it finds."""
        n, k = self.n, self.k
        table = sparse.csc_matrix(
            (np.concatenate(self._values), (np.concatenate(self._rows), np.concatenate(self._columns))),
            (self._count, self.n_variables),
        )
        rules = [LinearConstraint(table, np.concatenate(self._low), np.concatenate(self._high))]
        for cluster, low, high in self.loads:
            more = sparse.csc_matrix((self.k, self.n_variables - n * k))
            rules.append(LinearConstraint(sparse.hstack([cluster, more], format="csc"), low, high))
        objective = np.zeros(self.n_variables)
        objective[: n * k] = self.relative.ravel()
        objective[self._together] = np.repeat(weight[np.isfinite(weight)], k)
        integral = np.zeros(self.n_variables)
        integral[: n * k] = 1 if whole is None else np.repeat(whole, k)
        largest = np.abs(objective).max()
        scale = _LARGEST / largest if largest > 0 else 1.0
        while True:
            found = milp(
                objective * scale,
                integrality=integral,
                bounds=Bounds(0, np.concatenate(self._upper)),
                constraints=rules,
                options={"mip_rel_gap": 0.0, "node_limit": budget},
            )
            if found.x is None:
                return None, found.status == 2
            best = found.x[: n * k].reshape(n, k).argmax(axis=1).astype(np.int32)
            share = best[self.ends[:, 0]] == best[self.ends[:, 1]]
            paid = np.where(share, np.maximum(weight, 0.0), np.maximum(-weight, 0.0))
            value = float(self.relative[np.arange(n), best].sum() + paid.sum())  # never negative
            # HiGHS stops at an absolute gap: costs that are small beside the largest must not drown in it
            wanted = 0.0 if value == 0 else _GAP / (_PROOF * value)
            if scale >= wanted or wanted * largest > _TOO_LARGE:
                return best, bool(found.status == 0 and scale >= wanted)
            scale = 2.0 * wanted


def pairs_of(core: Core, units: Index) -> tuple[Index, Floats]:
    """All pairs of units that act on each other, groups written out; positions in `units`."""
    number = np.full(core.n_units, -1, dtype=np.int64)
    number[units] = np.arange(len(units))
    n = len(units)
    weight = np.zeros((n, n))
    for u in units.tolist():
        near = slice(core.indptr[u], core.indptr[u + 1])
        weight[number[u], number[core.indices[near]]] += core.weight[near]
    owner = np.repeat(np.arange(core.n_units), np.diff(core.member_ptr))
    inside = (number[owner] >= 0) & (core.except_group < 0) & (core.member_weight != 0)
    for row in np.unique(core.member_group[inside]).tolist():
        here = np.flatnonzero(inside & (core.member_group == row))
        member = number[owner[here]]
        # an entry's weight is the price of an item times its own items
        weight[np.ix_(member, member)] += np.outer(core.member_weight[here], core.member_count[here])
    a, b = np.nonzero(np.triu(weight, 1))
    return np.column_stack([a, b]), weight[a, b]


def _partitions(core: Core, units: Index) -> list[tuple[Index, Index]]:
    """Members and codes of each set whose codes never share a cluster; positions in `units`."""
    number = np.full(core.n_units, -1, dtype=np.int64)
    number[units] = np.arange(len(units))
    owner = np.repeat(np.arange(core.n_units), np.diff(core.member_ptr))
    inside = (number[owner] >= 0) & (core.except_group >= 0)
    found = []
    for row in np.unique(core.member_group[inside]).tolist():
        here = inside & (core.member_group == row)
        found.append((number[owner[here]], core.except_group[here]))
    return found
