"""What to drop so that constraints can be met: a cheap set of pairs, found greedily, or the cheapest, proven.

Greedily: of contradictions, constraints are kept strongest first as long as they do not contradict what is
kept (near-linear, as Kruskal's spanning forest). For a given number of clusters the weakest pair of each
conflict goes, until the rest is feasible.

The cheapest set is intractable in general, but conflicts are few as a rule. Each must lose one of its pairs:
HiGHS finds the cheapest pairs that do so for the conflicts known so far. If the rest can be met, nothing
cheaper can be; otherwise it has conflicts that were not known, and they join the program (implicit hitting
sets: Davies and Bacchus 2011). With any number of clusters this is a multicut, its paths found as needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled import kernel
from coterie._words import count_of
from coterie.constraints._feasible.conflict import Conflict
from coterie.constraints._feasible.feasible import check, first_contradiction
from coterie.constraints._model.closure import find_components
from coterie.constraints._model.statements import (
    NO_PAIRS,
    BoolArray,
    FloatArray,
    Group,
    IntArray,
    Pairs,
    find_rows,
)

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Conflicts resolved one by one before the suggestion is given up as too long to be useful.
_MAX_ROUNDS = 50
# Pairs that all rounds together may read.
_MAX_WORK = 2_000_000
# For the cheapest set: checks of a part of the constraints, and seconds of HiGHS, all together.
_MAX_CHECKS = 300
_SECONDS = 5.0
# HiGHS stops at an absolute gap of 1e-6: with the dearest pair at 1e4 that is a share of 1e-10 of it.
_LARGEST = 1e4


@dataclass(frozen=True)
class WayOut:
    """Pairs to drop (None: none found), whether the rest was checked to be feasible, and if not, why.

    `cheapest`: it is proven that no other set has fewer hard pairs, or as many and less weight in all.
    """

    dropped: Constraints | None
    complete: bool
    reason: str = ""
    cheapest: bool = False


def suggest(c: Constraints, n_clusters: int | None, budget: int) -> WayOut:
    """Find pairs to drop so that the rest can be met."""
    rest = c
    if n_clusters == 1:  # nothing may be apart
        silent = c.cannot_table.take(~c.cannot_table.active)
        rest = _only(c, c.must_table, silent, c.groups)
    elif c.contracted.n_contradictions:
        rest = _keep_strongest(c)
    rounds = max(1, min(_MAX_ROUNDS, _MAX_WORK // (c.n_pairs + 1)))
    complete, reason = False, f"{count_of(rounds, 'conflict')} resolved, and there are more"
    for _ in range(rounds):
        conflict = _next_conflict(rest, n_clusters, budget)
        if conflict is None or isinstance(conflict, str):
            complete, reason = conflict is None, conflict or ""
            break
        weakest = _weakest_pair(rest, conflict)
        if weakest is None:
            reason = "groups collide without any pair"
            break
        rest = rest.drop(weakest)
    dropped = _difference(c, rest)
    if complete:
        rest = _put_back(rest, dropped, n_clusters, budget)
        dropped = _difference(c, rest)
    known = _rows_gone(c, rest) if complete else None
    # with one cluster there is no other way
    least = known if n_clusters == 1 else _least_dropped(c, n_clusters, budget, known)
    if least is not None:
        return WayOut(_of_rows(c, least), True, cheapest=True)
    return WayOut(dropped if dropped.n_pairs else None, complete, reason)


def _cost_of_dropping(dropped: Constraints) -> tuple[int, float, int]:
    tables = (dropped.must_table, dropped.cannot_table)
    hard = sum(int(table.hard.sum()) for table in tables)
    return hard, float(sum(table.weight.sum() for table in tables)), dropped.n_pairs


def _least_dropped(
    c: Constraints, n_clusters: int | None, budget: int, known: BoolArray | None
) -> BoolArray | None:
    """Which pairs to drop, must-links first, so that no other way is cheaper; None if that was not settled.

    Where `known`, pairs after which the rest can be met, turns out to be as cheap as any, it is the answer.
    """
    n_checks = min(_MAX_CHECKS, _MAX_WORK // (len(c.constrained_items) + c.n_pairs + 1))
    if not n_checks:
        return None
    c = c[c.constrained_items]  # the rows of its tables stay what they are
    hard, weight = (
        np.concatenate([getattr(table, name) for table in (c.must_table, c.cannot_table)])
        for name in ("hard", "weight")
    )
    conflicts: list[IntArray] = []
    dropped, aside, seconds = np.zeros(len(hard), dtype=bool), np.zeros(len(hard), dtype=bool), _SECONDS
    for _ in range(n_checks):
        kept = _of_rows(c, ~aside)
        rest = _only(c, kept.must_table, kept.cannot_table, c.groups)
        found = _next_conflict(rest, n_clusters, budget // n_checks)
        if isinstance(found, str):
            return None
        if found is not None:
            cannot = c.must_table.n + find_rows(c.cannot_table, found.cannot_link)
            conflicts.append(np.concatenate([find_rows(c.must_table, found.must_link), cannot]))
            if not len(conflicts[-1]):  # groups collide
                return None
            aside[conflicts[-1]] = True  # the next one shares no pair with it
            continue
        if (aside == dropped).all():
            return dropped
        begun = time.perf_counter()
        least = _hit(conflicts, hard, weight, seconds)
        seconds -= time.perf_counter() - begun
        if least is None:
            return None
        if known is not None and _as_cheap(known, least, hard, weight):
            return known
        dropped, aside = least, least.copy()
    return None


def _as_cheap(known: BoolArray, least: BoolArray, hard: BoolArray, weight: FloatArray) -> bool:
    dearer = weight[known].sum() - weight[least].sum()
    return bool(hard[known].sum() == hard[least].sum() and dearer <= 1e-9 * weight.max())


def _hit(
    conflicts: Sequence[IntArray], hard: BoolArray, weight: FloatArray, seconds: float
) -> BoolArray | None:
    """Pairs of which each conflict has one: fewest hard ones, then least weight; None if not proven."""
    pairs, column = np.unique(np.concatenate(conflicts), return_inverse=True)
    row = np.repeat(np.arange(len(conflicts)), [len(one) for one in conflicts])
    chosen = np.zeros(len(hard), dtype=bool)
    if len(pairs) == len(row):  # no two share a pair
        chosen[[one[np.lexsort((weight[one], hard[one]))[0]] for one in conflicts]] = True
        return chosen
    # most questions end above: SciPy takes longer to load than they do
    from scipy import sparse
    from scipy.optimize import LinearConstraint, milp

    rules = [LinearConstraint(sparse.csr_array((np.ones(len(row)), (row, column))), lb=1.0)]
    limits = {"mip_rel_gap": 0.0, "time_limit": max(seconds / 2, 0.0)}
    for cost in (hard[pairs].astype(float), weight[pairs]):
        if not cost.any():
            continue
        price = cost / cost.max() * _LARGEST
        found = milp(price, integrality=np.ones(len(pairs)), bounds=(0, 1), constraints=rules, options=limits)
        if found.status != 0:
            return None
        chosen[pairs] = found.x > 0.5
        rules.append(LinearConstraint(hard[pairs].astype(float)[None], ub=(hard & chosen).sum() + 0.5))
    return chosen


def _next_conflict(c: Constraints, n_clusters: int | None, budget: int) -> Conflict | str | None:
    """A conflict, None if all can be met, or why that is undecided."""
    if c.contracted.n_contradictions:
        return first_contradiction(c)
    if n_clusters is None:
        return None
    answer = check(c, n_clusters, nonempty=False, budget=budget)
    return answer.reason if answer.status == "undecided" else answer.certificate


def _put_back(c: Constraints, dropped: Constraints, n_clusters: int | None, budget: int) -> Constraints:
    """Return dropped pairs that turn out not to hurt, strongest first."""
    if dropped.n_pairs > _MAX_ROUNDS or dropped.n_pairs * c.n_pairs > _MAX_WORK or n_clusters == 1:
        return c
    singles = [_only(c, dropped.must_table.take([row]), NO_PAIRS) for row in range(dropped.must_table.n)]
    singles += [_only(c, NO_PAIRS, dropped.cannot_table.take([row])) for row in range(dropped.cannot_table.n)]
    for single in sorted(singles, key=_cost_of_dropping, reverse=True):
        more = c | single
        if _next_conflict(more, n_clusters, budget) is None:
            c = more
    return c


def _weakest_pair(c: Constraints, conflict: Conflict) -> Constraints | None:
    singles = []
    for table, pairs in ((c.must_table, conflict.must_link), (c.cannot_table, conflict.cannot_link)):
        rows = find_rows(table, pairs)
        if not len(rows):
            continue
        one = table.take(rows[np.lexsort((table.weight[rows], table.hard[rows]))[:1]])
        singles.append(_only(c, one, NO_PAIRS) if table is c.must_table else _only(c, NO_PAIRS, one))
    # at equal strength a cannot-link goes: it undoes less than a link that ties many
    return min(reversed(singles), key=_cost_of_dropping, default=None)


def _only(c: Constraints, must: Pairs, cannot: Pairs, groups: Sequence[Group] = ()) -> Constraints:
    return type(c)._from_parts(c.n_items, must, cannot, groups, c._ids)


def _difference(c: Constraints, rest: Constraints) -> Constraints:
    return _of_rows(c, _rows_gone(c, rest))


def _rows_gone(c: Constraints, rest: Constraints) -> BoolArray:
    tables = (c.must_table, rest.must_table), (c.cannot_table, rest.cannot_table)
    return np.concatenate([find_rows(after, before.ij) < 0 for before, after in tables])


def _of_rows(c: Constraints, rows: BoolArray) -> Constraints:
    return _only(c, c.must_table.take(rows[: c.must_table.n]), c.cannot_table.take(rows[c.must_table.n :]))


def _keep_strongest(c: Constraints) -> Constraints:
    """Keep constraints, strongest first, unless they contradict those kept; equal ones in both orders."""
    must, cannot = c.must_table, c.cannot_table
    # labels are given: what they join is one node from the start
    node = find_components(c.n_items, NO_PAIRS, c.groups)
    hard = np.concatenate([must.hard, cannot.hard])
    weight = np.concatenate([must.weight, cannot.weight])
    active = np.concatenate([must.active, cannot.active])
    is_must = np.arange(len(hard)) < must.n
    ends = node[np.concatenate([must.ij, cannot.ij])]
    best: tuple[tuple[int, float, int], BoolArray] | None = None
    for later in (~is_must, is_must):
        order = np.lexsort((later, -weight, ~hard))
        order = order[active[order]]
        kept = np.zeros(len(hard), dtype=np.int64)
        n_nodes = int(node.max()) + 1
        _keep.for_work(4 * len(order) + n_nodes)(
            order,
            is_must,
            ends,
            np.arange(n_nodes),
            np.full(n_nodes, -1, dtype=np.int64),
            np.full(n_nodes, -1, dtype=np.int64),
            np.zeros(n_nodes, dtype=np.int64),
            np.empty(2 * len(hard), dtype=np.int64),
            np.empty(2 * len(hard), dtype=np.int64),
            kept,
        )
        lost = active & (kept == 0)
        cost = (int((lost & hard).sum()), float(weight[lost].sum()), int(lost.sum()))
        if best is None or cost < best[0]:
            best = (cost, ~lost)
    assert best is not None
    return _only(c, must.take(best[1][: must.n]), cannot.take(best[1][must.n :]), c.groups)


@kernel
def _keep(
    order: IntArray,
    is_must: BoolArray,
    ends: IntArray,
    parent: IntArray,
    first: IntArray,
    last: IntArray,
    count: IntArray,
    following: IntArray,
    other: IntArray,
    kept: IntArray,
) -> None:
    """Keep constraints in order unless they contradict those kept; `kept` is the outcome.

    Written: `parent` (union-find), `first`, `last`, `count` and `following`, `other` (the kept cannot-links
    of each component as a linked list of their far ends), `kept`.
    """
    entries = 0
    for position in range(order.shape[0]):
        t = order[position]
        a = ends[t, 0]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = ends[t, 1]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if not is_must[t]:
            if a == b:
                continue
            kept[t] = 1
            for side in range(2):
                root, far = (a, b) if side == 0 else (b, a)
                other[entries] = far
                following[entries] = first[root]
                if first[root] < 0:
                    last[root] = entries
                first[root] = entries
                count[root] += 1
                entries += 1
            continue
        if a != b:
            if count[a] > count[b]:
                a, b = b, a
            # a has the shorter list: does it name b?
            clash = False
            entry = first[a]
            while entry >= 0:
                far = other[entry]
                while parent[far] != far:
                    parent[far] = parent[parent[far]]
                    far = parent[far]
                other[entry] = far
                if far == b:
                    clash = True
                    break
                entry = following[entry]
            if clash:
                continue
            parent[a] = b
            if first[a] >= 0:
                following[last[a]] = first[b]
                if first[b] < 0:
                    last[b] = last[a]
                first[b] = first[a]
                count[b] += count[a]
        kept[t] = 1
