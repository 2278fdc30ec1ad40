"""The page: what the facts say, as HTML, from the verdict down to how it was made."""

from __future__ import annotations

from typing import Any

from coterie._words import count_of, plural_of
from coterie.report._facts.cards import MOST_CARDS, Card
from coterie.report._facts.doubt import IN_DOUBT
from coterie.report._facts.gather import Facts
from coterie.report._facts.traits import Trait
from coterie.report._page.colours import LIGHT, colour_class, style_sheet
from coterie.report._page.doubt import certainty_section
from coterie.report._page.html import Markup, name_of, tag, together
from coterie.report._page.numbers import percent, seconds
from coterie.report._page.svg import MOST_NAMED_POINTS, draw_points, line_sample
from coterie.report._page.tables import (
    comparison_section,
    own_section,
    sizes_section,
    statements_section,
    trace_section,
)
from coterie.report._page.widgets import mark, notes, remark, tiles

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
# A bar of a feature ends here: more deviations than this are rare.
_WIDEST_EFFECT = 3.0


def build_page(facts: Facts, missing: str | None = None) -> str:
    """The whole page as text; `missing` says why there are no pictures."""
    many = facts.account.wants == "records"  # entities, thousands of them: the family shows the largest
    sections = [
        ("map", "Map", _map_section(facts)),
        ("clusters", "Clusters", None if many else _cards_section(facts)),
        ("sure", "How sure", certainty_section(facts)),
        ("sizes", "Sizes", None if many else sizes_section(facts)),
        *((own.key, own.title, own_section(own)) for own in facts.account.sections),
        ("objective", "Objective", trace_section(facts.account.trace)),
        ("statements", "Constraints", statements_section(facts)),
        ("comparison", "Without what you know", comparison_section(facts)),
        ("made", "How it was made", _made_section(facts, missing)),
    ]
    present = [(key, title, body) for key, title, body in sections if body is not None]
    links = [tag("a", title, href=f"#{key}") for key, title, _ in present]
    body = [
        tag("section", tag("h2", title, id=f"h-{key}"), content, id=key, aria_labelledby=f"h-{key}")
        for key, title, content in present
    ]
    head = together(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", facts.made.title),
        tag("style", Markup(style_sheet())),
    )
    end = f"Made {facts.made.date}. This page is one file; it loads nothing from elsewhere."
    page = tag(
        "html",
        tag("head", head),
        tag("body", _header(facts, links), tag("main", body), tag("footer", tag("p", end))),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"


def _header(facts: Facts, links: list[Markup]) -> Markup:
    made = facts.made
    met = facts.n_stated - facts.n_broken
    counts = facts.n_items, facts.n_clusters
    figures = [(f"{n:,}", plural_of(noun)) for n, noun in zip(counts, facts.account.nouns, strict=True)]
    if facts.n_stated:
        figures.append((f"{met:,} of {facts.n_stated:,}", "constraints hold"))
    if facts.sizes.bounded:
        missed = len(facts.sizes.missed)
        figures.append((f"{missed:,} missed" if missed else "all met", "bounds on sizes"))
    if facts.certainty is not None:
        in_doubt = f"items in doubt (below {percent(IN_DOUBT)})"
        figures.append((f"{facts.certainty.below(IN_DOUBT):,}", in_doubt))
    if made.seconds is not None:
        figures.append((seconds(made.seconds), "to fit"))
    account = facts.account
    what = None if account.what is None else f": {account.what}. Source: {account.source}."
    tone = "bad" if facts.sizes.missed else "good" if facts.all_well else "mixed"  # outvoted may be right
    sign = tag("span", "✓" if facts.all_well else "!", aria_hidden="true")
    return tag(
        "header",
        tag("p", "Coterie report", class_="over"),
        tag("h1", name_of(made.title, "title")),
        tag("p", sign, tag("span", facts.verdict), class_=f"verdict {tone}"),
        tiles(figures),
        tag("p", tag("b", made.method), what, facts.learned and f" {facts.learned}", class_="method"),
        tag("nav", links, aria_label="Parts of this page"),
        class_="head",
    )


# ---- map ----------------------------------------------------------------------------------------------


def _map_section(facts: Facts) -> Markup | None:
    shown = facts.map
    if shown is None:
        return None
    said = [*shown.notes, *facts.lines.notes]
    if facts.n_clusters > len(LIGHT):
        said.append("More clusters than colours: colours repeat with another marker (dot, square, cross).")
    few = len(shown.items) <= MOST_NAMED_POINTS
    axes = [tag("span", arrow, name) for arrow, name in zip(("→ ", "↑ "), shown.axes, strict=True)]
    if len(shown.edges):
        said.append("Lines join neighbours; dashed ones lead from one cluster to another.")
    return together(
        remark("Hover over a point to read its id.") if few else None,
        tag("figure", draw_points(facts, shown), tag("figcaption", tag("div", axes, class_="axes"))),
        _legend(facts, few),
        [remark(note) for note in said],
    )


def _legend(facts: Facts, few: bool) -> Markup:
    counted = [(card.cluster, f"Cluster {facts.called(card.cluster)}", card.size) for card in facts.cards]
    if facts.sizes.n_outliers:
        counted.append((-1, "Left out", facts.sizes.n_outliers))
    entries = [tag("li", mark(h), name, tag("span", f"{n:,}", class_="soft")) for h, name, n in counted]
    if facts.n_clusters > len(facts.cards):
        entries.append(tag("li", f"and {facts.n_clusters - len(facts.cards):,} smaller ones"))
    kinds = {(line.kind, line.broken) for line in facts.lines.lines}
    for kind, broken in sorted(kinds, key=lambda one: (one[0] != "must-link", one[1])):
        entries.append(tag("li", line_sample(kind, broken), f"{kind}, broken" if broken else kind))
    if facts.certainty is not None and facts.certainty.below(IN_DOUBT):
        entries.append(tag("li", f"{'Hollow' if few else 'Pale'}: in doubt (below {percent(IN_DOUBT)})"))
    if len(facts.lines.ringed):
        entries.append(tag("li", "Ringed: breaks a group"))
    return tag("ul", entries, class_="legend", aria_label="Legend")


# ---- cards --------------------------------------------------------------------------------------------


def _cards_section(facts: Facts) -> Markup:
    few = facts.n_clusters <= MOST_CARDS
    note = None if few else remark(f"The {MOST_CARDS} largest of {facts.n_clusters:,} clusters.")
    has_rows = facts.account.wants == "rows"
    doubtful = "may be elsewhere" if facts.certainty else "nearly as near to another centre, or nearer"
    explained = remark(
        "What distinguishes a cluster: the features in which its mean differs most from that of all items, "
        "in standard deviations (sd). "
        + (
            f"Typical items lie nearest to the centre; doubtful ones {doubtful}. {facts.account.centre}"
            if has_rows
            else "Features had no part in the clustering. Of the items the first are named."
        )
    )
    style = "cards two" if len(facts.cards) in (2, 4) else "cards"
    cards = tag("div", [_card(facts, card) for card in facts.cards], class_=style)
    return together(explained, _weighed(facts), note, cards)


def _weighed(facts: Facts) -> Markup | None:
    if not facts.weighed:
        return None
    listed: list[Any] = []
    for name, share in facts.weighed:
        listed += ["; " if listed else None, name_of(name), f" {percent(share)}"]
    return tag(
        "p",
        "The metric was learned. What counts most (weight times variance): ",
        listed,
        f". An even share would be {percent(1.0 / facts.n_features)}.",
    )


def _card(facts: Facts, card: Card) -> Markup:
    size = f"{count_of(card.size, 'item')} · {percent(card.share)}" if card.size else "empty"
    name, traits = tag("h3", f"Cluster {facts.called(card.cluster)}"), card.traits
    widgets: list[Any] = [tag("header", mark(card.cluster), name, tag("span", size, class_="size"))]
    if traits.features:
        widgets.append(tag("ul", [_trait(trait) for trait in traits.features], class_="traits"))
    elif card.size and not traits.words:
        widgets.append(remark("No feature sets it clearly apart."))
    words = [tag("li", name_of(word)) for word in traits.words]
    typical = [tag("li", name_of(facts.names(item)), _begins(facts, item)) for item in card.typical]
    doubtful = [
        tag("li", name_of(facts.names(doubt.item)), tag("span", f": {doubt.why}", class_="soft"))
        for doubt in card.doubtful
    ]
    row = "items row" if facts.texts is None else "items"
    named = "Typical" if facts.account.wants == "rows" else "Items"
    lists = ("Words", words, "words"), (named, typical, row), ("Doubtful", doubtful, "items")
    for heading, items, style in lists:
        if items:
            widgets += [tag("h4", heading), tag("ul", items, class_=style)]
    return tag("article", widgets, class_=f"card {colour_class(card.cluster)}")


def _begins(facts: Facts, item: int) -> Markup | None:
    """How the text of an item begins, where items are texts."""
    if facts.texts is None:
        return None
    return together(": ", name_of(" ".join(str(facts.texts[item]).split()), "soft", 160))


def _trait(trait: Trait) -> Markup:
    half = 50 * min(abs(trait.effect), _WIDEST_EFFECT) / _WIDEST_EFFECT
    start = 50.0 if trait.effect >= 0 else 50.0 - half
    bar = tag("i", style=f"left:{start:.1f}%;width:{half:.1f}%")
    beside = tag("span", f" (all: {trait.overall}), {trait.text}", class_="soft")
    value = tag("span", tag("b", trait.here), beside, class_="value")
    line = tag("div", name_of(trait.name), value, class_="line")
    return tag("li", line, tag("div", bar, class_="effect", aria_hidden="true"))


# ---- how it was made ----------------------------------------------------------------------------------


def _made_section(facts: Facts, missing: str | None) -> Markup:
    made = facts.made
    parameters, versions = (
        tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()])
        for values in (made.parameters, made.versions)
    )
    return together(
        notes([note for note in (*made.notes, missing) if note]),
        [tag("h3", "Command"), tag("pre", tag("code", made.command))] if made.command else None,
        tag("h3", f"Parameters of {made.method}"),
        parameters,
        tag("h3", "Versions"),
        versions,
    )
