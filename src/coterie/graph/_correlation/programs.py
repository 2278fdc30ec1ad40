"""Linear and integer programs of correlation clustering: rows where they are broken, and no others.

A pair has a variable x, 1 where it is parted, and `x_uv <= x_uw + x_vw` for all w (13.4). All pairs of a part
of the attracting graph have variables, and broken triangles are added until none is left. Where pairs that
are not listed weigh nothing, listed ones alone have variables, and rows are attracting paths between the ends
of a repelling pair: the value is the same (Chopra and Rao 1993). To prove that no labels are better, two-
partition inequalities (Groetschel and Wakabayashi 1990) come first, then branch and bound by HiGHS.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse.csgraph import connected_components, shortest_path

from coterie._arrays import Floats, Index
from coterie.exceptions import UndecidedError
from coterie.graph._correlation.signed_graph import SignedGraph

# What a row may be broken by: a little more than what HiGHS lets pass.
_BROKEN = 1e-6
# Rows that a round adds, the most broken ones first.
_MOST_ROWS = 50_000
# What a two-partition inequality must be broken by to be worth a row.
_WORTH = 1e-3
# Entries of rows from which on interior points are faster than the simplex method, as measured.
_MANY_ENTRIES = 100_000
# Rounds that a row may be slack before it is dropped.
_PATIENCE = 5
# Units whose table of distances is still written out: 200 MB.
_MOST_UNITS = 5_000


class LpSolution(NamedTuple):
    """Distances of all pairs, 1 where they are parted; the value of the program; its rows at the end."""

    x: Floats
    value: float
    n_rows: int


class IlpSolution(NamedTuple):
    """The best labels (None: there are none), their cost, a bound on all costs, whether these two meet."""

    label: Any
    value: float
    bound: float
    proven: bool


def solve_lp(g: SignedGraph, *, max_items: int = 300, cut: float = np.inf) -> LpSolution:
    """The linear program (13.4), by parts; refuses more pairs in a part than `max_items` units have.

    With `cut` no pair weighs more: a bound on labels that cost less all the same.
    """
    _check_table(g.n)
    x, value, n_rows = np.ones((g.n, g.n)), 0.0, 0
    np.fill_diagonal(x, 0.0)
    for units in g.parts():
        program = _program(g.only(units), max_items, cut)
        while program.separate():
            program.solve()
        x[np.ix_(units, units)] = program.distances()
        value, n_rows = value + program.value, n_rows + len(program.limit)
    return LpSolution(x, value, n_rows)


def solve_ilp(
    g: SignedGraph,
    label: Index | None,
    *,
    n_clusters: int | None = None,
    time_limit: float | None = None,
    max_items: int = 300,
) -> IlpSolution:
    """The best labels, or `label` where none are better, within seconds for all parts together.

    With `n_clusters` exactly that many clusters; `label` has as many, or is None where none are known.
    """
    until = np.inf if time_limit is None else time.perf_counter() + time_limit
    if n_clusters is not None:
        _check_table(g.n)
        return _prove(g, label, n_clusters, until, max_items)
    best, value, bound, proven = np.arange(g.n), 0.0, 0.0, True
    for units in sorted(g.parts(), key=len):
        start = np.arange(len(units)) if label is None else np.unique(label[units], return_inverse=True)[1]
        part = _prove(g.only(units), start, None, until, max_items)
        # clusters are numbered by units: no two parts share a number
        best[units] = units[np.unique(part.label, return_index=True)[1]][part.label]
        value, bound, proven = value + part.value, bound + part.bound, proven and part.proven
    return IlpSolution(np.unique(best, return_inverse=True)[1], value, bound, proven)


def _prove(g: SignedGraph, label: Any, k: int | None, until: float, max_items: int) -> IlpSolution:
    """The integer program of one graph: rounds of rows, then branch and bound until no row is broken."""
    value = np.inf if label is None else g.cost(label)
    if g.n == 1:
        label, value = np.zeros(1, dtype=np.int64), 0.0
    if value <= 0:
        return IlpSolution(label, value, value, True)
    program = _program(g, max_items, value)
    if program.value < program.below(value):
        program.tighten(program.below(value), until)
    while program.value < program.below(value):
        found = program.branch(value, k, until)
        if found is None:  # nothing is cheaper
            return IlpSolution(label, value, value, True)
        if len(found) and g.allows(found) and g.cost(found) < value:
            label, value = found, g.cost(found)
        if k is not None or time.perf_counter() > until or not program.separate():
            break
    proven = program.value >= program.below(value)
    return IlpSolution(label, value, value if proven else program.bound(), proven)


def _program(g: SignedGraph, max_items: int, cut: float) -> _Program:
    i, j, paid = g.edges
    n_pairs, most = g.n * (g.n - 1) // 2, max_items * (max_items - 1) // 2
    complete = g.level.default < 0 or 2 * len(i) > n_pairs
    n_variables = n_pairs if complete else len(i)
    if n_variables > most:
        raise ValueError(
            f"the program of {g.n:,} units that hang together by attracting pairs has {n_variables:,} "
            f"variables and up to {n_pairs * (g.n - 2):,} rows; the limit is {most:,} variables, the pairs "
            f'of {max_items} units. algorithm="local" and bound="packing" do without a program.'
        )
    _check_table(g.n)
    table = g.weights()
    # what attracts and is apart all the same (by a group: `edges` holds such pairs) is paid by all labels
    lost = np.isneginf(table[i, j]) & (paid > 0)
    if complete:
        i, j = np.triu_indices(g.n, 1)
    else:
        listed = np.isneginf(table)
        listed[i, j] = True
        i, j = np.nonzero(np.triu(listed, 1))
    apart = np.isneginf(table[i, j])
    # labels that break a pair above `cut` are none that are looked for; large numbers drown small ones
    net = np.clip(np.where(apart, 0.0, table[i, j]), -cut, cut)
    column = np.full((g.n, g.n), -1, dtype=np.int64)
    column[i, j] = column[j, i] = np.arange(len(i))
    base = float(paid[lost].sum() - net[net < 0].sum())
    return _Program(g.n, i, j, net, apart.astype(np.float64), column, complete, base)


def _check_table(n: int) -> None:
    if n > _MOST_UNITS:
        raise ValueError(
            f"the distances of {n:,} units are a table of {8e-9 * n * n:.1f} GB; the limit is "
            f'{_MOST_UNITS:,} units. algorithm="local" and bound="packing" need no table.'
        )


@dataclass
class _Program:
    """Variables of the pairs of a graph, and the rows added so far."""

    n: int
    i: Index
    j: Index
    weight: Floats  # 0 where the pair is vetoed
    low: Floats  # 1 where it is
    column: Index  # the variable of each pair
    complete: bool
    base: float  # what all labels cost

    def __post_init__(self) -> None:
        self.scale = float(np.abs(self.weight).max(initial=0.0)) or 1.0
        # by how much costs can differ, if all weights are multiples of one
        self.step = _step(self.weight) / self.scale
        self.rows, self.limit = sparse.csr_matrix((0, len(self.i))), np.empty(0)
        self.age = np.empty(0, dtype=np.int64)
        # the best x without any rows
        self.x = np.where(self.weight > 0, self.low, 1.0)
        self.value = self.relaxed = self.base + float(self.weight @ self.x)
        self.reduced = self.weight

    def table(self) -> Floats:
        """The variables as a table of units by units; what has none is 1."""
        table = np.ones((self.n, self.n))
        table[self.i, self.j] = table[self.j, self.i] = self.x
        np.fill_diagonal(table, 0.0)
        return table

    def attracting(self, x: Floats) -> Any:
        """The graph of attracting pairs, x long; 0 is a length."""
        pull = self.weight > 0
        return sparse.csr_matrix((x[pull], (self.i[pull], self.j[pull])), (self.n, self.n))

    def distances(self) -> Floats:
        """Attracting paths, x long and at most 1: at most as dear as x, and a metric."""
        x = np.where(self.x < 1e-7, 0.0, np.where(self.x > 1 - 1e-7, 1.0, self.x))
        found = np.minimum(shortest_path(self.attracting(x), directed=False), 1.0)
        found[found > 1 - 2 * _BROKEN] = 1.0
        return found

    def labels(self) -> Index:
        """Units that attracting pairs of x near 0 hang together."""
        near = (self.weight > 0) & (self.x < 0.5)
        graph = sparse.coo_matrix((near[near], (self.i[near], self.j[near])), (self.n, self.n))
        return connected_components(graph, directed=False)[1].astype(np.int64)

    def separate(self) -> int:
        """Add rows that x breaks; how many."""
        return self._triangles() if self.complete else self._paths()

    def _triangles(self) -> int:
        table = self.table()
        found, by = [], []
        for w in range(self.n):
            over = table - table[:, w, None] - table[w]
            u, v = np.nonzero(np.triu(over > _BROKEN, 1))
            found.append(np.column_stack([self.column[u, v], self.column[u, w], self.column[v, w]]))
            by.append(over[u, v])
        triple, over = np.concatenate(found), np.concatenate(by)
        if len(over) > _MOST_ROWS:
            triple = triple[np.argpartition(-over, _MOST_ROWS)[:_MOST_ROWS]]
        return self._add([*triple], [[1.0, -1.0, -1.0]] * len(triple), [0.0] * len(triple))

    def _paths(self) -> int:
        # ties go to the path of fewest pairs
        far, before = shortest_path(self.attracting(self.x + 1e-9), directed=False, return_predecessors=True)
        push = np.flatnonzero((self.weight < 0) | (self.low == 1))
        over = self.x[push] - far[self.i[push], self.j[push]]
        push = push[over > _BROKEN]
        push = push[np.argsort(-over[over > _BROKEN], kind="stable")[:_MOST_ROWS]]
        columns = [[pair] for pair in push]
        for path, pair in zip(columns, push, strict=True):
            start, at = self.i[pair], self.j[pair]
            while at != start:
                path.append(self.column[at, before[start, at]])
                at = before[start, at]
        return self._add(columns, [[1.0] + [-1.0] * (len(path) - 1) for path in columns], [0.0] * len(push))

    def stars(self) -> int:
        """Add two-partition inequalities that x breaks: `sum_T y_vt <= 1 + sum of y within T`, y = 1 - x."""
        near = 1.0 - self.table()
        np.fill_diagonal(near, 0.0)
        columns, values, limits = [], [], []
        for v in range(self.n):
            loose = (near[v] > _BROKEN) & (near[v] < 1 - _BROKEN)
            for first in np.flatnonzero(loose):
                gain, team, total = np.where(loose, near[v], -np.inf), [], 0.0
                best = int(first)
                while gain[best] > _BROKEN:
                    team.append(best)
                    total += gain[best]
                    gain -= near[best]
                    gain[best] = -np.inf
                    best = int(gain.argmax())
                if total <= 1 + _WORTH or len(team) < 3:
                    continue
                members = np.array(team)
                a, b = np.triu_indices(len(team), 1)
                columns.append([*self.column[v, members], *self.column[members[a], members[b]]])
                values.append([-1.0] * len(team) + [1.0] * len(a))
                limits.append(1.0 - len(team) + len(a))
        return self._add(columns, values, limits)

    def _add(self, columns: list[Any], values: list[Any], limit: list[float]) -> int:
        if limit:
            ends = np.cumsum([0, *map(len, columns)])
            entries = np.concatenate(values), np.concatenate(columns), ends
            new = sparse.csr_matrix(entries, (len(limit), len(self.i)))
            self.rows = sparse.vstack([self.rows, new], format="csr")
            self.limit = np.concatenate([self.limit, limit])
            self.age = np.concatenate([self.age, np.zeros(len(limit), dtype=np.int64)])
        return len(limit)

    def solve(self, until: float = np.inf) -> bool:
        """Solve the relaxation with the rows there are; whether there was time to."""
        found = linprog(
            self.weight / self.scale,
            A_ub=self.rows,
            b_ub=self.limit,
            bounds=np.column_stack([self.low, np.ones(len(self.i))]),
            method="highs-ipm" if self.rows.nnz > _MANY_ENTRIES else "highs",
            options=_seconds(until),
        )
        if found.status == 1:
            return False
        if found.x is None:
            raise UndecidedError(f"the linear program was not solved: {found.message}")
        self.x, before = np.clip(found.x, 0.0, 1.0), self.value
        self.relaxed = self.base + self.scale * float(found.fun)
        self.value = max(before, self.relaxed)
        self.reduced = self.scale * (found.lower.marginals + found.upper.marginals)
        if self.value > before:  # else a row could come and go for ever
            self.age = np.where(self.limit - self.rows @ self.x > _BROKEN, self.age + 1, 0)
            kept = self.age < _PATIENCE
            self.rows, self.limit, self.age = self.rows[kept], self.limit[kept], self.age[kept]
        return True

    def below(self, value: float) -> float:
        """A bound on all costs that is above this one shows that none is below `value`."""
        return value - max(self.step - _BROKEN, 5 * _BROKEN) * self.scale

    def bound(self) -> float:
        """The value, or the next cost there can be above it."""
        if not self.step:
            return self.value
        step = self.step * self.scale
        return self.base + step * float(np.ceil((self.value - self.base) / step - _BROKEN))

    def tighten(self, goal: float, until: float) -> None:
        """Add rows and solve, until the value reaches its goal or hardly rises."""
        while self.value < goal:
            n_rows, before = self.separate(), self.value
            n_stars = self.stars() if self.complete else 0
            if not n_rows + n_stars or not self.solve(until):
                return
            if not n_rows and self.value - before < 1e-3 * (goal - before):
                return

    def branch(self, value: float, k: int | None, until: float) -> Any:
        """Labels by branch and bound that cost less than `value`; None: none do; empty: none were found.

        Attracting pairs alone are whole numbers: the rows make the others so. With k clusters it is y, one
        variable for a unit and a cluster, that says where a unit is; the u-th unit, those of much weight
        first, opens no cluster beyond the u-th.
        """
        m, gap = len(self.i), value - self.relaxed + _BROKEN * self.scale
        # what costs more than the gap stays where it is: such labels are not cheaper
        low = np.where(self.reduced < -gap, 1.0, self.low)
        high = np.where((self.reduced > gap) & (low < 1), 0.0, 1.0)
        price, whole, rules = self.weight / self.scale, self.weight > 0, []
        if k is not None:
            n_places = self.n * k
            much = np.bincount(np.append(self.i, self.j), np.tile(np.abs(self.weight), 2), self.n)
            legal = np.arange(k) <= np.argsort(np.argsort(-much))[:, None]
            low, high = np.append(low, np.zeros(n_places)), np.append(high, legal.ravel())
            price, whole = np.append(price, np.zeros(n_places)), np.arange(m + n_places) >= m
            rules = self._places(k)
        rows = sparse.hstack([self.rows, sparse.csr_matrix((len(self.limit), len(price) - m))], format="csr")
        rules.append(LinearConstraint(rows, ub=self.limit))
        if np.isfinite(value):
            # what HiGHS lets pass must not look like labels that are better
            most = (self.below(value) - self.base) / self.scale + 3 * _BROKEN
            rules.append(LinearConstraint(price[None], ub=most))
        found = milp(
            price, integrality=whole, bounds=Bounds(low, high), constraints=rules,
            options={"mip_rel_gap": 0.0, **_seconds(until)},
        )  # fmt: skip
        if found.status == 2:
            return None
        if found.mip_dual_bound is not None:
            self.value = max(self.value, self.base + self.scale * found.mip_dual_bound)
        if found.x is None:
            return np.empty(0, dtype=np.int64)
        self.x = np.clip(found.x[:m], 0.0, 1.0)
        return self.labels() if k is None else found.x[m:].reshape(self.n, k).argmax(axis=1)

    def _places(self, k: int) -> list[Any]:
        """Each unit in one of k clusters, none of them empty, and what x has to do with it."""
        unit, cluster, pair = (sparse.eye(size, format="csr") for size in (self.n, k, len(self.i)))
        pull, push = self.weight > 0, (self.weight < 0) | (self.low == 1)
        first, second = unit[self.i], unit[self.j]
        # rows for all pairs and clusters: of x, and of y by units
        rules = [
            (-pair[pull], (first - second)[pull], -np.inf, 0.0),
            (-pair[pull], (second - first)[pull], -np.inf, 0.0),
            (pair[push], (first + second)[push], -np.inf, 2.0),
        ]
        each = np.ones((k, 1))
        rows = [(sparse.kron(x, each), sparse.kron(y, cluster), low, high) for x, y, low, high in rules]
        none = sparse.csr_matrix((self.n + k, len(self.i)))
        rows.append((none[: self.n], sparse.kron(unit, each.T), 1.0, 1.0))
        rows.append((none[self.n :], sparse.kron(np.ones((1, self.n)), cluster), 1.0, np.inf))
        return [LinearConstraint(sparse.hstack([x, y], format="csr"), low, high) for x, y, low, high in rows]


def _step(weight: Floats) -> float:
    """The number that all weights are whole multiples of, if they are whole; else 0."""
    if np.abs(weight).max(initial=0.0) > 1e6 or (weight != np.round(weight)).any():
        return 0.0
    return float(np.gcd.reduce(np.round(weight).astype(np.int64)))


def _seconds(until: float) -> dict[str, float]:
    return {} if np.isinf(until) else {"time_limit": max(until - time.perf_counter(), 0.01)}
