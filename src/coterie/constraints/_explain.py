"""Why constraints cannot be met, and what to drop: `Constraints.explain`.

The conflict shown is irreducible where that was decided within the budget. The suggestion is greedy:
statements are kept strongest first as long as they do not contradict what is kept (near-linear, as
Kruskal's spanning forest); for a given number of clusters, the weakest pair of each conflict found goes
until the rest is feasible. A cheapest set in general is intractable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled import kernel
from coterie.constraints._closure import find_components
from coterie.constraints._conflict import Conflict, count_of
from coterie.constraints._feasible import Feasibility, check, first_contradiction
from coterie.constraints._statements import BoolArray, IntArray, Pairs, find_rows

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Conflicts resolved one by one before the suggestion is given up as too long to be useful.
_MAX_ROUNDS = 50
# Statements of a conflict that is worth shrinking one by one.
_MAX_FILTERED = 500
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Explanation:
    """The answer of `Constraints.explain`; `print` it.

    Attributes
    ----------
    status : {"feasible", "infeasible", "undecided"}
        Whether the constraints can be met: with `n_clusters` clusters, or with any number if that is None.
    n_clusters : int or None
        The number of clusters asked about.
    conflict : Conflict or None
        Statements that cannot all hold, if any.
    n_contradictions : int
        How many statements keep apart what must join.
    suggestion : Constraints or None
        Pairs that can be dropped: pass it to `Constraints.drop`. None where there is nothing to drop, or
        where dropping pairs does not help because groups collide.
    complete : bool
        Whether the rest was checked to be feasible once the suggestion is dropped.
    """

    status: str
    n_clusters: int | None
    conflict: Conflict | None
    n_contradictions: int
    suggestion: Constraints | None
    complete: bool
    reason: str = ""

    def __str__(self) -> str:
        if self.conflict is None:
            asked = "" if self.n_clusters is None else f" with {count_of(self.n_clusters, 'cluster')}"
            told = {
                "feasible": f"No conflict{asked}: all constraints can be met.",
                "undecided": f"Not decided{asked}: {self.reason}.",
            }
            return told[self.status]
        lines = [self.conflict.sentence(), self.conflict.what_to_drop()]
        if self.n_contradictions > 1:
            lines.append(f"There are {self.n_contradictions:,} contradictions in all.")
        lines.append(self._tell_suggestion())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanation: {self}>"

    def _tell_suggestion(self) -> str:
        if self.suggestion is None:
            return "No set of pairs to drop was found: the groups collide by themselves."
        must, cannot = self.suggestion.must_table, self.suggestion.cannot_table
        name = self.suggestion.item_name
        listed = []
        for kind, table in (("must-link", must), ("cannot-link", cannot)):
            for (i, j), weight in zip(table.ij[:_SHOWN].tolist(), table.weight.tolist(), strict=False):
                listed.append(f"{kind} {name(i)}-{name(j)} (weight {weight:g})")
        n_pairs = must.n + cannot.n
        shown = ", ".join(listed[:_SHOWN]) + (", ..." if n_pairs > _SHOWN else "")
        pairs = count_of(n_pairs, "pair")
        if self.complete:
            return f"Cheapest way out found: drop {pairs}: {shown}. The rest can be met."
        return f"A start: drop {pairs}: {shown}. Whether the rest can be met was not settled."


def explain(c: Constraints, n_clusters: int | None, *, budget: int) -> Explanation:
    """See `Constraints.explain`."""
    n_contradictions = c.contracted.n_contradictions
    if n_contradictions:
        conflict: Conflict | None = first_contradiction(c)
    elif n_clusters is None:
        return Explanation("feasible", None, None, 0, None, True)
    else:
        answer = check(c, n_clusters, nonempty=False, budget=budget)
        conflict = answer.certificate
        if conflict is None:
            feasible = answer.status == "feasible"
            return Explanation(answer.status, n_clusters, None, 0, None, feasible, answer.reason)
        conflict = _filtered(c, conflict, budget)
    dropped, complete = _suggest(c, n_clusters, budget)
    return Explanation("infeasible", n_clusters, conflict, n_contradictions, dropped, complete)


def _filtered(c: Constraints, conflict: Conflict, budget: int) -> Conflict:
    """Delete statements from a conflict as long as it stays one; marks it irreducible if that was decided."""
    n_statements = len(conflict.must_link) + len(conflict.cannot_link)
    if conflict.irreducible or conflict.implied or n_statements > _MAX_FILTERED:
        return conflict
    assert conflict.n_clusters is not None

    def answer(must: IntArray, cannot: IntArray) -> Feasibility:
        part = type(c)(must, cannot, n_items=c.n_items)
        return check(part, conflict.n_clusters or 1, nonempty=False, budget=budget)

    proven = True
    kept = [conflict.must_link, conflict.cannot_link]
    for side in (0, 1):
        position = 0
        while position < len(kept[side]):
            trial = list(kept)
            trial[side] = np.delete(kept[side], position, axis=0)
            status = answer(*trial).status
            if status == "infeasible":
                kept = trial
            else:
                proven &= status == "feasible"
                position += 1
    return replace(conflict, must_link=kept[0], cannot_link=kept[1], irreducible=proven)


def _suggest(c: Constraints, n_clusters: int | None, budget: int) -> tuple[Constraints | None, bool]:
    """Pairs to drop (None if pairs do not help), and whether the rest was checked to be feasible."""
    kept_must, kept_cannot = _keep_strongest(c)
    rest = c.drop(_only(c, c.must_table.take(~kept_must), c.cannot_table.take(~kept_cannot)))
    complete = False
    for _ in range(_MAX_ROUNDS):
        conflict = _next_conflict(rest, n_clusters, budget)
        if conflict is None or isinstance(conflict, str):
            complete = conflict is None
            break
        weakest = _weakest_pair(rest, conflict)
        if weakest is None:
            break
        rest = rest.drop(weakest)
    dropped = _difference(c, rest)
    if complete:
        rest = _put_back(rest, dropped, n_clusters, budget)
        dropped = _difference(c, rest)
    return (dropped if dropped.n_pairs else None), complete


def _next_conflict(c: Constraints, n_clusters: int | None, budget: int) -> Conflict | str | None:
    if c.contracted.n_contradictions:
        return first_contradiction(c)
    if n_clusters is None:
        return None
    answer = check(c, n_clusters, nonempty=False, budget=budget)
    return "undecided" if answer.status == "undecided" else answer.certificate


def _put_back(c: Constraints, dropped: Constraints, n_clusters: int | None, budget: int) -> Constraints:
    """Return dropped pairs that turn out not to hurt, strongest first."""
    if dropped.n_pairs > _MAX_ROUNDS:
        return c
    singles = [_only(c, dropped.must_table.take([row]), _none(c)) for row in range(dropped.must_table.n)]
    singles += [_only(c, _none(c), dropped.cannot_table.take([row])) for row in range(dropped.cannot_table.n)]
    for single in sorted(singles, key=_strength, reverse=True):
        more = c | single
        if _next_conflict(more, n_clusters, budget) is None:
            c = more
    return c


def _strength(c: Constraints) -> tuple[bool, float]:
    tables = (c.must_table, c.cannot_table)
    return any(bool(t.hard.any()) for t in tables), float(sum(t.weight.sum() for t in tables))


def _weakest_pair(c: Constraints, conflict: Conflict) -> Constraints | None:
    singles = []
    for table, pairs in ((c.must_table, conflict.must_link), (c.cannot_table, conflict.cannot_link)):
        rows = find_rows(table, pairs)
        if not len(rows):
            continue
        weakest = rows[np.lexsort((table.weight[rows], table.hard[rows]))[:1]]
        one, none = table.take(weakest), _none(c)
        singles.append(_only(c, one, none) if table is c.must_table else _only(c, none, one))
    # at equal strength a cannot-link goes: it undoes less than a link that ties many
    return min(reversed(singles), key=_strength, default=None)


def _none(c: Constraints) -> Pairs:
    return c.must_table.take(slice(0, 0))


def _only(c: Constraints, must: Pairs, cannot: Pairs) -> Constraints:
    return type(c)._from_parts(c.n_items, must, cannot, (), c._ids)


def _difference(c: Constraints, rest: Constraints) -> Constraints:
    gone = []
    for before, after in ((c.must_table, rest.must_table), (c.cannot_table, rest.cannot_table)):
        gone.append(before.take(find_rows(after, before.ij) < 0))
    return _only(c, gone[0], gone[1])


def _keep_strongest(c: Constraints) -> tuple[BoolArray, BoolArray]:
    """Which must-links and cannot-links to keep so that no pair contradicts the others.

    Statements of equal strength are tried in both orders, and the cheaper outcome wins.
    """
    must, cannot = c.must_table, c.cannot_table
    if not c.contracted.n_contradictions:
        return np.ones(must.n, dtype=bool), np.ones(cannot.n, dtype=bool)
    # labels are given: what they join is one node from the start
    node = find_components(c.n_items, must.take(slice(0, 0)), c.groups)
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
        price = (int((lost & hard).sum()), float(weight[lost].sum()), int(lost.sum()))
        if best is None or price < best[0]:
            best = (price, ~lost)
    assert best is not None
    return best[1][: must.n], best[1][must.n :]


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
