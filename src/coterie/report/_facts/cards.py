"""A card for each cluster: how large, what distinguishes it, its most typical and most doubtful items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.report._facts.doubt import IN_DOUBT, CertaintyFacts
from coterie.report._facts.outcomes import Outcomes
from coterie.report._facts.rows import Ints, Near
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
    graph: Any = None,
    certainty: CertaintyFacts | None = None,
) -> tuple[Card, ...]:
    """The cards of the clusters that are shown; items are doubtful by probability, else by distance."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], [*shown, *(h + 1 for h in shown)]).reshape(2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.isfinite(near.other), near.own / near.other, 0.0)
    ratio = np.where(np.isnan(ratio), 1.0, ratio)  # 0 / 0: on both centres
    doubt, in_doubt = ratio, ratio >= DOUBT_FROM
    if certainty is not None:
        doubt, in_doubt = -certainty.own, certainty.own < IN_DOUBT
    chosen = []
    for start, stop in starts.T:
        members = order[start:stop]
        most = members[np.argsort(-doubt[members], kind="stable")[:_NAMED]]
        doubtful = most[in_doubt[most]].tolist()
        nearest = members[np.argsort(near.own[members], kind="stable")[: 2 * _NAMED]].tolist()
        # what may be elsewhere is not typical, however near it is
        chosen.append(([item for item in nearest if item not in doubtful][:_NAMED], doubtful))
    holding = Holding(outcomes, sizes, graph, [item for _, items in chosen for item in items])
    cards = []
    for cluster, (typical, doubtful) in zip(shown, chosen, strict=True):
        doubts = []
        for item in doubtful:
            if certainty is None:
                why = holding.why(item, float(ratio[item]), int(near.rival[item]))
            else:
                there = f"cluster {outcomes.called(int(certainty.rival[item]))}"
                why = f"{percent(certainty.own[item])} here, {percent(certainty.other[item])} in {there}"
            doubts.append(Doubt(item, why))
        size, found = int(counts[cluster]), traits.get(cluster, Traits())
        share = size / max(len(labels), 1)
        cards.append(Card(cluster, size, share, found, tuple(typical), tuple(doubts)))
    return tuple(cards)


class Holding:
    """Which constraint keeps an item from moving; looks at those that name one of a few items."""

    def __init__(self, outcomes: Outcomes, sizes: SizeFacts, graph: Any, items: list[int]) -> None:
        self.outcomes, self._sizes, self._graph = outcomes, sizes, graph
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

    def why(self, item: int, ratio: float, rival: int) -> str:
        """Why an item is doubtful, by the distances to its own centre and to the next."""
        there = f"cluster {self.outcomes.called(rival)} is"
        if ratio <= 1.0:
            return f"{there} as near" if ratio > 0.995 else f"{there} nearly as near ({percent(ratio)})"
        here = int(self.outcomes.labels[item])
        held_by = self.holds(item, rival) or self._sizes.holding(item, here, rival)
        if held_by is not None:
            return f"{there} nearer; held here by {held_by}"
        graph, labels = self._graph, self.outcomes.labels
        if graph is not None and rival not in labels[graph.indices[slice(*graph.indptr[item : item + 2])]]:
            return f"{there} nearer, but the item has no neighbour there"
        return f"{there} nearer by a hair" if ratio < 1.02 else f"{there} nearer"

    def holds(self, item: int, target: int) -> str | None:
        """The constraint that moving an item into another cluster would break."""
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
