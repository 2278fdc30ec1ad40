"""The part of the page that says how sure the model is."""

from __future__ import annotations

from typing import Any

from coterie._words import count_of
from coterie.report._facts.doubt import IN_DOUBT, WIDE_OPEN, DoubtfulItem, DoubtfulPair, Sureness
from coterie.report._facts.gather import Facts
from coterie.report._page.html import Markup, name_of, tag, together
from coterie.report._page.numbers import percent
from coterie.report._page.parts import Name, cell, pair_of, pill, remark, table


def sure_section(facts: Facts) -> Markup | None:
    """How probable the clusters of the items are, and the stated pairs; None where nobody knows."""
    sure = facts.sure
    if sure is None:
        return None
    explained = (
        "The model gives each item a probability for each cluster, under all that was stated. Below is the "
        "probability of the cluster that an item is in. It is as good as the model: where clusters have "
        "another shape than the model's, it is too sure."
    )
    parts: list[Any] = [remark(explained), tag("p", _in_doubt(sure, facts.n_items)), _band_table(sure)]
    if sure.told:
        parts.append(tag("ul", [tag("li", told) for told in sure.told], class_="notes"))
    if sure.items:
        parts += [tag("h3", "Most in doubt"), _item_table(facts, sure.items)]
        left = sure.below(IN_DOUBT) - len(sure.items)
        if left > 0:
            parts.append(remark(f"{left:,} more items in doubt are not listed."))
    if sure.n_pairs:
        parts += [tag("h3", "Statements in doubt"), remark(_pair_words(sure))]
    if sure.pairs:
        parts.append(_pair_table(facts, sure.pairs))
        left = sure.n_pairs_in_doubt - len(sure.pairs)
        if left > 0:
            parts.append(remark(f"{left:,} more pairs in doubt are not listed."))
    return together(parts)


def _in_doubt(sure: Sureness, n_items: int) -> str:
    few, open_ = sure.below(IN_DOUBT), sure.below(WIDE_OPEN)
    if not few:
        return f"No item is in doubt: each has at least {percent(IN_DOUBT)}."
    told = f"{few:,} of {count_of(n_items, 'item')} {'is' if few == 1 else 'are'} in doubt"
    return f"{told} (below {percent(IN_DOUBT)}), {open_ or 'none'} of them below {percent(WIDE_OPEN)}."


def _band_table(sure: Sureness) -> Markup:
    widest = max(1, *(count for _, count in sure.bands))
    rows = []
    for words, count in sure.bands:
        fill = tag("i", style=f"width:{100 * count / widest:.1f}%") if count else None
        bar = tag("div", fill, class_="bar", aria_hidden="true")
        rows.append((words, [f"{count:,}", bar]))
    names: list[Name] = ["Probability", "Items", ("", "wide")]
    return table("How many items have which probability", names, rows, {"Items"})


def _item_table(facts: Facts, items: tuple[DoubtfulItem, ...]) -> Markup:
    rows: list[Any] = []
    for one in items:
        cells = [cell(cluster, f"{cluster}: {percent(share)}") for cluster, share in one.likely]
        cells += [together()] * (2 - len(cells))
        rows.append((name_of(facts.names(one.item)), [cell(one.cluster), *cells]))
    return table("Items most in doubt", ["Item", "Is in", "Most probable", "Next"], rows, stack=True)


def _pair_words(sure: Sureness) -> str:
    if not sure.n_pairs_in_doubt:
        return f"None: each of the {count_of(sure.n_pairs, 'stated pair')} has at least {percent(IN_DOUBT)}."
    told = f"{sure.n_pairs_in_doubt:,} of {count_of(sure.n_pairs, 'stated pair')}"
    return (
        f"{told} {'is' if sure.n_pairs_in_doubt == 1 else 'are'} in doubt. The probability is that of the "
        "statement being true, by the model, with all statements counted (this one too): look at the "
        "first ones first."
    )


def _pair_table(facts: Facts, pairs: tuple[DoubtfulPair, ...]) -> Markup:
    rows: list[Any] = []
    for pair in pairs:
        items, state = (
            pair_of(facts.names(pair.i), facts.names(pair.j)),
            pill("met" if pair.met else "broken"),
        )
        rows.append((pair.kind, [items, pair.strength, percent(pair.probability), state]))
    names: list[Name] = ["Kind", ("Items", "pair"), "Weight", "Probability", "Outcome"]
    return table("Stated pairs most in doubt", names, rows, stack=True)
