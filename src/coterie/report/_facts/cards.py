"""A card for each cluster: how large, what distinguishes it, its most typical and most doubtful items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.report._facts.doubt import IN_DOUBT, CertaintyFacts
from coterie.report._facts.outcomes import Outcomes
from coterie.report._facts.rows import Floats, Ints, Near
from coterie.report._facts.sizes import SizeFacts
from coterie.report._facts.traits import Traits
from coterie.report._page.html import cut
from coterie.report._page.numbers import percent

MOST_CARDS = 60
_NAMED = 3
# Below this ratio of the distances to the own and the next centre an item is not doubtful.
DOUBT_FROM = 0.8


@dataclass(frozen=True)
class Doubt:
    """An item that could as well be elsewhere: its number, and why."""

    item: int
    why: str


@dataclass(frozen=True)
class Card:
    """What the page says of one cluster."""

    cluster: int
    size: int
    share: float
    traits: Traits
    typical: tuple[int, ...]
    doubtful: tuple[Doubt, ...]


def largest_clusters(counts: Ints) -> list[int]:
    """The clusters that get a card, in order of their number."""
    if len(counts) <= MOST_CARDS:
        return list(range(len(counts)))
    return sorted(np.argsort(-counts, kind="stable")[:MOST_CARDS].tolist())


def make_cards(
    labels: Ints,
    counts: Ints,
    shown: list[int],
    traits: dict[int, Traits],
    near: Near,
    outcomes: Outcomes,
    sizes: SizeFacts,
    reaches: Callable[[int, int], bool] | None = None,
    certainty: CertaintyFacts | None = None,
) -> tuple[Card, ...]:
    """Make the cards of the clusters that are shown.

    `reaches` tells whether an item borders on a cluster. Where a model has probabilities (`certainty`) these
    say which items are doubtful, elsewhere distances do.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], [*shown, *(h + 1 for h in shown)]).reshape(2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.isfinite(near.other), near.own / near.other, 0.0)
    ratio = np.where(np.isnan(ratio), 1.0, ratio)  # 0 / 0: on both centres
    chosen = []
    for cluster, start, stop in zip(shown, *starts, strict=True):
        members = order[start:stop]
        typical = members[_first(near.own[members], _NAMED)]
        if certainty is not None:
            doubtful = members[_first(certainty.own[members], _NAMED)]
            doubtful = doubtful[certainty.own[doubtful] < IN_DOUBT]
        else:
            doubtful = members[_first(-ratio[members], _NAMED)]
            doubtful = doubtful[ratio[doubtful] >= DOUBT_FROM]
        chosen.append((cluster, typical.tolist(), doubtful.tolist()))
    holding = Holding(outcomes, [item for _, _, items in chosen for item in items])
    total = max(len(labels), 1)
    cards = []
    for cluster, typical_items, doubtful_items in chosen:
        doubts = [
            Doubt(
                i,
                _why(i, ratio[i], int(near.rival[i]), holding, sizes, reaches)
                if certainty is None
                else f"{percent(certainty.own[i])} here, {percent(certainty.other[i])} in "
                f"cluster {certainty.rival[i]}",
            )
            for i in doubtful_items
        ]
        size = int(counts[cluster])
        found = traits.get(cluster, Traits())
        cards.append(Card(cluster, size, size / total, found, tuple(typical_items), tuple(doubts)))
    return tuple(cards)


def _first(values: Floats, most: int) -> Ints:
    """Positions of the least values, the earlier one first where they are equal."""
    if len(values) > 50 * most:
        part = np.argpartition(values, most)[: most + 1]
        limit = values[part].max()
        part = np.flatnonzero(values <= limit)
        return part[np.argsort(values[part], kind="stable")][:most]
    return np.argsort(values, kind="stable")[:most]


def _why(
    item: int,
    ratio: float,
    rival: int,
    holding: Holding,
    sizes: SizeFacts,
    reaches: Callable[[int, int], bool] | None,
) -> str:
    if ratio <= 1.0:
        closer = "as near" if ratio > 0.995 else f"nearly as near ({percent(ratio)})"
        return f"cluster {rival} is {closer}"
    here = int(holding.outcomes.labels[item])
    held_by = holding.holds(item, rival) or sizes.holding(item, here, rival)
    if held_by is not None:
        return f"cluster {rival} is nearer; held here by {held_by}"
    if reaches is not None and not reaches(item, rival):
        return f"cluster {rival} is nearer, but the item has no neighbour there"
    return f"cluster {rival} is nearer by a hair" if ratio < 1.02 else f"cluster {rival} is nearer"


class Holding:
    """Which statement keeps an item from moving; looks at those that name one of a few items."""

    def __init__(self, outcomes: Outcomes, items: list[int]) -> None:
        self.outcomes = outcomes
        wanted = np.zeros(outcomes.known.n_items, dtype=bool)
        wanted[items] = True
        self._pairs: dict[int, list[tuple[str, int]]] = {}
        for judged in (outcomes.must, outcomes.cannot):
            ij = judged.table.ij[judged.active]
            for i, j in ij[wanted[ij].any(axis=1)].tolist():
                self._pairs.setdefault(i, []).append((judged.kind, j))
                self._pairs.setdefault(j, []).append((judged.kind, i))
        self._groups: dict[int, list[tuple[Any, int]]] = {}
        for group in outcomes.known.groups:
            if group.active:
                for at in np.flatnonzero(wanted[group.items]).tolist():
                    self._groups.setdefault(int(group.items[at]), []).append((group, at))

    def holds(self, item: int, target: int) -> str | None:
        """The statement that moving an item into another cluster would break."""
        labels = self.outcomes.labels
        for kind, partner in self._pairs.get(item, ()):
            if labels[partner] == (labels[item] if kind == "must-link" else target):
                return f"the {kind} with {self.outcomes.short_name(partner)}"
        for group, at in self._groups.get(item, ()):
            where, same = labels[group.items], group.codes == group.codes[at]
            at_home, there = where == labels[item], where == target
            if group.kind == "label" and int((same & at_home).sum()) > 1:
                return f"its label {cut(group.names[group.codes[at]])}"
            if group.kind == "distinct" and (same & there).any():
                return "another of its group in that cluster"
            if group.kind in ("label", "across") and (~same & there).any():
                return "items of another group in that cluster"
        return None
