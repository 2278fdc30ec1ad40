"""Junction tree: exact inference on narrow graphs with cycles, by summing out one unit after another.

Summing out unit v leaves a table over its later neighbours. Going back, the probability of v given these
neighbours, which was kept, times theirs gives v's own: no division, no cancellation. Time and memory are the
sum of k^(w + 1) over the units, w being the number of later neighbours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie._arrays import Floats, Index
from coterie._compiled import kernel
from coterie.mixture._inference.answer import Answer, scaled
from coterie.mixture._inference.elimination import Steps


class JunctionTables(NamedTuple):
    """Tables of the junction tree, flat.

    Step t sums out `unit[t]`. Its table ranges over the units of the steps `scope[scope_ptr[t]:...]`, the
    first of which is the least significant digit of a cell's number. `pair_*` are the couplings between the
    unit and its scope, `child_*` the earlier tables that flow in: for each child the strides of its cells in
    the digits of this step's unit and scope.
    """

    unit: Index
    scope_ptr: Index
    scope: Index
    table_ptr: Index
    pair_ptr: Index
    pair_place: Index
    pair_edge: Index
    child_ptr: Index
    child: Index
    stride_ptr: Index
    stride: Index


@kernel
def _pass(
    program: JunctionTables,
    k: int,
    potential: Floats,
    beta: Floats,
    table: Floats,
    given: Floats,
    chance: Floats,
    marginals: Floats,
    agreement: Floats,
    t: int,
    down: bool,
) -> None:
    """One step: up, it writes the table of step t and `given`; down, marginals and children's `chance`."""
    unit, scope_ptr = program.unit[t], program.scope_ptr
    width = scope_ptr[t + 1] - scope_ptr[t]
    first_child, last_child = program.child_ptr[t], program.child_ptr[t + 1]
    first_pair, last_pair = program.pair_ptr[t], program.pair_ptr[t + 1]
    digit = np.zeros(width + 1, dtype=np.int64)
    value = np.empty(k)
    start = program.table_ptr[t]
    n_cells = program.table_ptr[t + 1] - start
    for cell in range(n_cells):
        rest = cell
        for w in range(width):
            digit[w] = rest % k
            rest //= k
        place = (start + cell) * k
        if not down:
            top = -np.inf
            for a in range(k):
                total = potential[unit, a]
                for e in range(first_pair, last_pair):
                    if digit[program.pair_place[e]] == a:
                        total += beta[program.pair_edge[e]]
                for c in range(first_child, last_child):
                    base = program.stride_ptr[c]
                    at = program.stride[base] * a
                    for w in range(width):
                        at += program.stride[base + 1 + w] * digit[w]
                    total += table[program.table_ptr[program.child[c]] + at]
                value[a] = total
                if total > top:
                    top = total
            if top == -np.inf:
                table[start + cell] = -np.inf
                for a in range(k):
                    given[place + a] = 0.0
                continue
            total = 0.0
            for a in range(k):
                given[place + a] = math.exp(value[a] - top)
                total += given[place + a]
            for a in range(k):
                given[place + a] /= total
            table[start + cell] = top + math.log(total)
        else:
            for a in range(k):
                share = chance[start + cell] * given[place + a]
                if share == 0.0:
                    continue
                marginals[unit, a] += share
                for e in range(first_pair, last_pair):
                    if digit[program.pair_place[e]] == a:
                        agreement[program.pair_edge[e]] += share
                for c in range(first_child, last_child):
                    base = program.stride_ptr[c]
                    at = program.stride[base] * a
                    for w in range(width):
                        at += program.stride[base + 1 + w] * digit[w]
                    chance[program.table_ptr[program.child[c]] + at] += share


@kernel
def _run(
    program: JunctionTables,
    k: int,
    potential: Floats,
    beta: Floats,
    table: Floats,
    given: Floats,
    chance: Floats,
    marginals: Floats,
    agreement: Floats,
    by_root: Floats,
) -> None:
    """All steps up, then all down. In: zeros in the last four arrays."""
    n_steps = program.unit.shape[0]
    for t in range(n_steps):
        _pass(program, k, potential, beta, table, given, chance, marginals, agreement, t, False)
        if program.scope_ptr[t] == program.scope_ptr[t + 1]:
            by_root[program.unit[t]] = table[program.table_ptr[t]]
            chance[program.table_ptr[t]] = 1.0
    for t in range(n_steps - 1, -1, -1):
        _pass(program, k, potential, beta, table, given, chance, marginals, agreement, t, True)


class JunctionTree:
    """Exact inference on a narrow graph: a `Part` that sums units out in the order of `steps`."""

    def __init__(self, k: int, ends: Index, beta: Floats, steps: Steps) -> None:
        self.k, self.beta, self.program = k, beta, _program(k, ends, steps)

    def infer(self, potential: Floats, scale: float = 1.0) -> Answer:
        """Probabilities under potentials, and log Z."""
        size = int(self.program.table_ptr[-1])
        marginals, agreement = np.zeros(potential.shape), np.zeros(len(self.beta))
        by_root = np.zeros(len(potential))
        tables = np.empty(size), np.empty(size * self.k), np.zeros(size)
        potential = np.ascontiguousarray(potential, dtype=np.float64)
        run = _run.for_work(10 * size * self.k)
        run(self.program, self.k, potential, scaled(self.beta, scale), *tables, marginals, agreement, by_root)
        return Answer(marginals, float(by_root.sum()), np.minimum(agreement, 1.0), by_root)


def _program(k: int, ends: Index, steps: Steps) -> JunctionTables:
    position = {unit: t for t, (unit, _) in enumerate(steps)}
    scopes = [sorted(position[u] for u in scope) for _, scope in steps]
    edges: dict[tuple[int, int], int] = {}
    for e, (u, v) in enumerate(ends.tolist()):
        a, b = sorted((position[u], position[v]))
        edges[a, b] = e
    children: list[list[int]] = [[] for _ in steps]
    for t, scope in enumerate(scopes):
        if scope:
            children[scope[0]].append(t)
    pair_ptr, pair_place, pair_edge = [0], [], []
    child_ptr, child, stride_ptr, stride = [0], [], [0], []
    for t, scope in enumerate(scopes):
        for place, later in enumerate(scope):
            if (t, later) in edges:
                pair_place.append(place)
                pair_edge.append(edges[t, later])
        pair_ptr.append(len(pair_edge))
        for c in children[t]:
            power = {later: k**w for w, later in enumerate(scopes[c])}
            stride += [power[t], *(power.get(later, 0) for later in scope)]
            child.append(c)
            stride_ptr.append(len(stride))
        child_ptr.append(len(child))
    return JunctionTables(
        unit=_ints([unit for unit, _ in steps]),
        scope_ptr=_running([len(scope) for scope in scopes]),
        scope=_ints([later for scope in scopes for later in scope]),
        table_ptr=_running([k ** len(scope) for scope in scopes]),
        pair_ptr=_ints(pair_ptr),
        pair_place=_ints(pair_place),
        pair_edge=_ints(pair_edge),
        child_ptr=_ints(child_ptr),
        child=_ints(child),
        stride_ptr=_ints(stride_ptr),
        stride=_ints(stride),
    )


def _ints(values: list[int]) -> Index:
    return np.array(values, dtype=np.int64)


def _running(lengths: list[int]) -> Index:
    return np.concatenate([[0], np.cumsum(_ints(lengths))]).astype(np.int64)
