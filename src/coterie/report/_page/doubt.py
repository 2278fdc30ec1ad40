"""The section of the page on the certainty of the model."""

from __future__ import annotations

from typing import Any

from coterie._words import count_of
from coterie.report._facts.doubt import IN_DOUBT, WIDE_OPEN, CertaintyFacts, DoubtfulItem, DoubtfulPair
from coterie.report._facts.gather import Facts
from coterie.report._page.html import Markup, name_of, tag, together
from coterie.report._page.numbers import percent
from coterie.report._page.widgets import Name, Row, bar, cell, more, notes, pair_of, pill, remark, table


def certainty_section(facts: Facts) -> Markup | None:
    """How probable the clusters of the items are, and the stated pairs; None where nobody knows."""
    certainty = facts.certainty
    if certainty is None:
        return None
    explained = (
        "The model gives each item a probability for each cluster, under all that was stated. Below is the "
        "probability of the cluster that an item is in. It is as good as the model: where clusters have "
        "another shape than the model's, it is too sure."
    )
    found: list[Any] = [
        remark(explained),
        tag("p", _in_doubt(certainty, facts.n_items)),
        _band_table(certainty),
    ]
    found.append(notes(certainty.text))
    if certainty.items:
        left = certainty.below(IN_DOUBT) - len(certainty.items)
        found += [
            tag("h3", "Most in doubt"),
            _item_table(facts, certainty.items),
            more(left, "items in doubt"),
        ]
    if certainty.n_pairs:
        found += [tag("h3", "Constraints in doubt"), remark(_pair_words(certainty))]
    if certainty.pairs:
        left = certainty.n_pairs_in_doubt - len(certainty.pairs)
        found += [_pair_table(facts, certainty.pairs), more(left, "pairs in doubt")]
    return together(found)


def _in_doubt(certainty: CertaintyFacts, n_items: int) -> str:
    few, open_ = certainty.below(IN_DOUBT), certainty.below(WIDE_OPEN)
    if not few:
        return f"No item is in doubt: each has at least {percent(IN_DOUBT)}."
    message = f"{few:,} of {count_of(n_items, 'item')} {'is' if few == 1 else 'are'} in doubt"
    return f"{message} (below {percent(IN_DOUBT)}), {open_ or 'none'} of them below {percent(WIDE_OPEN)}."


def _band_table(certainty: CertaintyFacts) -> Markup:
    widest = max(1, *(count for _, count in certainty.bands))
    rows: list[Row] = [(words, [f"{count:,}", bar(count, widest)]) for words, count in certainty.bands]
    names: list[Name] = ["Probability", "Items", ("", "wide")]
    return table("How many items have which probability", names, rows, {"Items"})


def _item_table(facts: Facts, items: tuple[DoubtfulItem, ...]) -> Markup:
    rows: list[Any] = []
    for one in items:
        cells = [cell(cluster, f"{facts.called(cluster)}: {percent(share)}") for cluster, share in one.likely]
        cells += [together()] * (2 - len(cells))
        rows.append((name_of(facts.names(one.item)), [cell(one.cluster, facts.called(one.cluster)), *cells]))
    return table("Items most in doubt", ["Item", "Is in", "Most probable", "Next"], rows, stack=True)


def _pair_words(certainty: CertaintyFacts) -> str:
    if not certainty.n_pairs_in_doubt:
        each = f"each of the {count_of(certainty.n_pairs, 'stated pair')}"
        return f"None: {each} has at least {percent(IN_DOUBT)}."
    message = f"{certainty.n_pairs_in_doubt:,} of {count_of(certainty.n_pairs, 'stated pair')}"
    return (
        f"{message} {'is' if certainty.n_pairs_in_doubt == 1 else 'are'} in doubt. The probability is that "
        "of the pair being true, by the model, with all constraints counted (this one too): look at the "
        "first ones first."
    )


def _pair_table(facts: Facts, pairs: tuple[DoubtfulPair, ...]) -> Markup:
    rows: list[Any] = []
    for pair in pairs:
        items = pair_of(facts.names(pair.i), facts.names(pair.j))
        state = pill("met" if pair.met else "broken")
        rows.append((pair.kind, [items, pair.strength, percent(pair.probability), state]))
    names: list[Name] = ["Kind", ("Items", "pair"), "Weight", "Probability", "Outcome"]
    return table("Stated pairs most in doubt", names, rows, stack=True)
