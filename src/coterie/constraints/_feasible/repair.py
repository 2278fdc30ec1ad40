"""What to drop so that constraints can be met: a cheap set of pairs, found greedily, and often the cheapest.

Contradictions: statements are kept strongest first as long as they do not contradict what is kept
(near-linear, as Kruskal's spanning forest); and, where there are few, links that many contradictions share
are cut; the cheaper outcome wins. For a given number of clusters the weakest pair of each conflict goes,
until the rest is feasible. The cheapest set of all is intractable to find in general: `cheapest` proves this
one to be it, or finds a cheaper one, where conflicts are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled import kernel
from coterie._words import count_of
from coterie.constraints._feasible.cheapest import least_dropped
from coterie.constraints._feasible.conflict import Conflict, contradiction
from coterie.constraints._feasible.feasible import check, first_contradiction
from coterie.constraints._model.closure import find_components
from coterie.constraints._model.statements import NO_PAIRS, BoolArray, Group, IntArray, Pairs, find_rows

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Conflicts resolved one by one before the suggestion is given up as too long to be useful.
_MAX_ROUNDS = 50
# Pairs that all rounds together may read.
_MAX_WORK = 2_000_000
# Contradictions among which shared links are looked for: each costs a search through its component.
_MAX_SHARED = 50


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
        tries = [_keep_strongest(c)]
        n_broken = len(c.contracted.broken_pairs)
        if 1 < n_broken <= _MAX_SHARED and n_broken**2 * c.must_table.n <= _MAX_WORK:
            tries.append(_cut_shared_links(c))
        rest = min(tries, key=lambda kept: _cost_of_dropping(_difference(c, kept)))
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
    least = known if n_clusters == 1 else least_dropped(c, n_clusters, budget, known)
    if least is not None:
        return WayOut(_of_rows(c, least), True, cheapest=True)
    return WayOut(dropped if dropped.n_pairs else None, complete, reason)


def _cost_of_dropping(dropped: Constraints) -> tuple[int, float, int]:
    tables = (dropped.must_table, dropped.cannot_table)
    hard = sum(int(table.hard.sum()) for table in tables)
    return hard, float(sum(table.weight.sum() for table in tables)), dropped.n_pairs


def _cut_shared_links(c: Constraints) -> Constraints:
    """Cut must-links that resolve more than they cost, dearest first; then the cannot-links left over go."""
    for _ in range(_MAX_SHARED):
        must, cannot, broken = c.must_table, c.cannot_table, c.contracted.broken_pairs
        hard_price = 1.0 + must.weight.sum() + cannot.weight.sum()  # dearer than all soft pairs together
        gain = -(must.weight + hard_price * must.hard)
        for row in broken.tolist():
            i, j = c.cannot_link[row].tolist()
            way = contradiction(c, i, j, None).must_link
            gain[find_rows(must, way)] += cannot.weight[row] + hard_price * cannot.hard[row]
        best = int(np.argmax(gain)) if must.n else 0
        if not len(broken) or not must.n or gain[best] <= 0:
            break
        c = _only(c, must.take(np.arange(must.n) != best), cannot, c.groups)
    keep = np.ones(cannot.n, dtype=bool)
    keep[c.contracted.broken_pairs] = False
    return _only(c, c.must_table, cannot.take(keep), c.groups)


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
    """Keep statements strongest first, unless they contradict those kept.

    Statements of equal strength are tried in both orders, and the cheaper outcome wins.
    """
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
    """Keep statements in order unless they contradict those kept; `kept` is the outcome.

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
