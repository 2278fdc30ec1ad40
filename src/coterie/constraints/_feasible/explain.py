"""Why constraints cannot be met: `Constraints.explain` and its answer.

The conflict shown is irreducible where that was decided within the budget. What to drop is worked out in
`repair`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from coterie._words import count_of
from coterie.constraints._feasible.conflict import Conflict, Implied, dash
from coterie.constraints._feasible.feasible import check, first_contradiction
from coterie.constraints._feasible.repair import suggest
from coterie.constraints._model.statements import CANNOT_LINK, MUST_LINK

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Constraints of a conflict that is worth shrinking one by one.
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
        Constraints that cannot all hold, if any.
    n_contradictions : int
        How many constraints keep apart what must join.
    suggestion : Constraints or None
        Pairs that can be dropped: pass it to `Constraints.drop`. None where there is nothing to drop, or
        where dropping pairs does not help because groups collide.
    complete : bool
        Whether the rest was checked to be feasible once the suggestion is dropped.
    reason : str
        Why nothing was decided, or why there is no complete suggestion.
    cheapest : bool
        Whether it is proven that no other set of pairs is a cheaper way out: one with fewer hard pairs, or
        with as many and less weight in all. Sought where conflicts are few.
    """

    status: str
    n_clusters: int | None
    conflict: Conflict | None
    n_contradictions: int
    suggestion: Constraints | None
    complete: bool
    reason: str = ""
    cheapest: bool = False

    def __str__(self) -> str:
        if self.conflict is None:
            asked = "" if self.n_clusters is None else f" with {count_of(self.n_clusters, 'cluster')}"
            message = {
                "feasible": f"No conflict{asked}: all constraints can be met.",
                "undecided": f"Not decided{asked}: {self.reason}.",
            }
            return message[self.status]
        lines = [self.conflict.sentence(), self.conflict.what_to_drop()]
        if self.n_contradictions > 1:
            lines.append(f"There are {self.n_contradictions:,} contradictions in all.")
        lines.append(self._tell_suggestion())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanation: {self}>"

    def _tell_suggestion(self) -> str:
        if self.suggestion is None:
            return f"No set of pairs to drop was found ({self.reason})."
        listed, known = [], self.suggestion
        for kind, table in ((MUST_LINK, known.must_table), (CANNOT_LINK, known.cannot_table)):
            shown = table.take(slice(0, _SHOWN))
            for ends, weight, hard in zip(shown.ij, shown.weight, shown.hard, strict=True):
                pair = dash(known._ids).join(known.item_name(int(item)) for item in ends)
                listed.append(f"{kind} {pair} ({'hard' if hard else f'weight {weight:g}'})")
        n_pairs = known.n_pairs
        message = f"drop {count_of(n_pairs, 'pair')}: {', '.join(listed[:_SHOWN])}"
        message += ", ..." if n_pairs > _SHOWN else ""
        if self.complete:
            return f"{'Cheapest' if self.cheapest else 'A'} way out: {message}. The rest can be met."
        return f"A start: {message}. Whether the rest can be met was not settled: {self.reason}."


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
    way_out = suggest(c, n_clusters, budget)
    message = way_out.dropped, way_out.complete, way_out.reason, way_out.cheapest
    return Explanation("infeasible", n_clusters, conflict, n_contradictions, *message)


def _filtered(c: Constraints, conflict: Conflict, budget: int) -> Conflict:
    """Delete constraints from a conflict while it stays one; marks it irreducible if that was decided."""
    k = conflict.n_clusters
    facts = [Implied(MUST_LINK, (i, j), (), True) for i, j in conflict.must_link.tolist()]
    facts += [Implied(CANNOT_LINK, (i, j), (), False) for i, j in conflict.cannot_link.tolist()]
    facts += conflict.implied
    if conflict.irreducible or k is None or len(facts) > _MAX_FILTERED:
        return conflict

    def status(some: list[Implied]) -> str:
        together, apart = (
            [pair for fact in some if fact.together is side for pair in combinations(fact.items, 2)]
            for side in (True, False)
        )
        return check(type(c)(together, apart, n_items=c.n_items), k, nonempty=False, budget=budget).status

    proven, position = True, 0
    while position < len(facts):
        rest = facts[:position] + facts[position + 1 :]
        outcome = status(rest)
        if outcome == "infeasible":
            facts = rest
        else:
            proven &= outcome == "feasible"
            position += 1
    must, cannot = (
        np.array([fact.items for fact in facts if fact.kind == kind], dtype=np.int64).reshape(-1, 2)
        for kind in (MUST_LINK, CANNOT_LINK)
    )
    implied = tuple(fact for fact in facts if fact.kind not in (MUST_LINK, CANNOT_LINK))
    return replace(conflict, must_link=must, cannot_link=cannot, implied=implied, irreducible=proven)
