"""The constraints that the page lists: broken ones first, then met ones, never too many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie._words import count_of, listed
from coterie.constraints import BrokenGroup, Group, Pairs
from coterie.report._facts.outcomes import Judged, Outcomes
from coterie.report._page.html import cut
from coterie.report._page.numbers import number

MOST_BROKEN = 200
MOST_MET = 100


@dataclass(frozen=True)
class PairRow:
    """One pair: who, how strong, who said it, what became of it and why."""

    kind: str
    i: str
    j: str
    strength: str
    source: str | None
    outcome: str
    reason: str


@dataclass(frozen=True)
class GroupRow:
    """One group: what it says, how much of it holds, and what does not."""

    kind: str
    text: str
    strength: str
    source: str | None
    n_stated: int
    n_broken: int
    n_broken_plain: int | None
    broken: tuple[str, ...]
    left_out: int


@dataclass(frozen=True)
class StatementFacts:
    """What the page lists, how many it does not, and the price of a broken constraint of weight 1."""

    pairs: tuple[PairRow, ...]
    groups: tuple[GroupRow, ...]
    n_pairs: int
    n_left_out: int
    n_groups_left_out: int
    n_because: int | None
    price: float | None


def list_statements(outcomes: Outcomes) -> StatementFacts:
    """Choose the constraints to list: the dearest broken ones, then those that made a difference."""
    both = outcomes.must, outcomes.cannot
    broken = [(judged, row) for judged in both for row in np.flatnonzero(judged.broken).tolist()]
    dearest = np.concatenate([judged.strength[judged.broken] for judged in both])
    broken = [broken[at] for at in np.argsort(-dearest, kind="stable")[:MOST_BROKEN].tolist()]
    met: list[tuple[Judged, int]] = []
    for because in (True, False):
        for judged in both:
            rows = np.flatnonzero(~judged.broken & (_because(judged) == because))
            met += [(judged, row) for row in rows[: MOST_MET - len(met)].tolist()]
    listed_pairs = [_pair(outcomes, judged, row) for judged, row in (*broken, *met)]
    n_pairs = sum(judged.table.n for judged in both)
    groups = outcomes.known.groups
    n_because = None
    if outcomes.plain is not None:
        n_because = sum(int((_because(judged) & ~judged.broken).sum()) for judged in both)
    shown = sorted(groups, key=lambda group: -outcomes.group_violations(group, outcomes.labels).n_broken)
    return StatementFacts(
        pairs=tuple(listed_pairs),
        groups=tuple(_group(outcomes, group) for group in shown[:MOST_MET]),
        n_pairs=n_pairs,
        n_left_out=n_pairs - len(listed_pairs),
        n_groups_left_out=max(0, len(groups) - MOST_MET),
        n_because=n_because,
        price=outcomes.price.statement,
    )


def _because(judged: Judged) -> np.ndarray:
    """Which pairs the plain clustering would break."""
    return np.zeros(judged.table.n, dtype=bool) if judged.unasked is None else ~judged.unasked


def _pair(outcomes: Outcomes, judged: Judged, row: int) -> PairRow:
    table = judged.table
    i, j = (outcomes.name_of(item) for item in table.ij[row].tolist())
    outcome = "broken" if judged.broken[row] else "met" if judged.active[row] else "no effect"
    source = None if table.source[row] < 0 else table.sources[int(table.source[row])]
    strength, reason = strength_of(table, row), outcomes.reason(judged, row)
    return PairRow(judged.kind, i, j, strength, source, outcome, reason)


def strength_of(table: Pairs, row: int) -> str:
    """How strongly a pair was stated, in words."""
    strength = "hard" if table.hard[row] else number(float(table.weight[row]))
    confidence = float(table.confidence[row])
    return strength if np.isnan(confidence) else f"{strength}, {number(100 * confidence)} % sure"


def _group(outcomes: Outcomes, group: Group) -> GroupRow:
    n, codes = len(group.items), group.n_codes
    message = {
        "label": f"{count_of(n, 'item')} labelled, in {count_of(codes, 'class', 'classes')}",
        "distinct": f"{count_of(n, 'item')} in {count_of(codes, 'group')}: at most one of each in a cluster",
        "across": f"{count_of(n, 'item')} of {count_of(codes, 'group')}: no cluster mixes them",
    }[group.kind]
    found = outcomes.group_violations(group, outcomes.labels)
    before = None
    if outcomes.plain is not None:
        before = outcomes.group_violations(group, outcomes.plain).n_broken
    words = [_broken(outcomes, one) for one in found.groups[:MOST_BROKEN]]
    return GroupRow(
        kind=group.kind,
        text=message,
        strength="hard" if group.weight is None else number(group.weight),
        source=group.source,
        n_stated=found.n_stated,
        n_broken=found.n_broken,
        n_broken_plain=before,
        broken=tuple(words),
        left_out=len(found.groups) - len(words),
    )


def _broken(outcomes: Outcomes, one: BrokenGroup) -> str:
    named = listed([outcomes.short_name(item) for item in one.items], 3)
    inside = [outcomes.called(h) for h in one.clusters if h >= 0]
    where = f"clusters {listed(inside, 6)}" if len(inside) != 1 else f"cluster {inside[0]}"
    if -1 in one.clusters:
        where = f"{where} and left out" if inside else "no cluster"
    return f"{cut(one.name)}: {count_of(one.n_items, 'item')} in {where}; see {named}"
