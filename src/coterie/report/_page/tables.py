"""The parts of the page that are tables: sizes, constraints, and the comparison."""

from __future__ import annotations

from typing import Any

from coterie._words import count_of, plural_of
from coterie.base import Listing, Section, Trace
from coterie.methods import ONE_START_ABOVE
from coterie.report._facts.gather import Facts
from coterie.report._facts.sizes import SizeFacts, SizeRow
from coterie.report._facts.statements import GroupRow, PairRow
from coterie.report._facts.without import Comparison
from coterie.report._page.colours import colour_class
from coterie.report._page.html import Markup, cut, name_of, tag, together
from coterie.report._page.numbers import NOTHING, number, percent, whole
from coterie.report._page.svg import course_of
from coterie.report._page.widgets import Name, bar, cell, more, notes, pair_of, pill, remark, table, tiles

# Rows of a table of clusters; of more, the largest.
_MOST_ROWS = 60
_LONGEST_CELL = 240  # in a table of a section
_DIFFERENCES = "only the differences of prices mean something"


# ---- sizes --------------------------------------------------------------------------------------------


def sizes_section(facts: Facts) -> Markup:
    """Sizes against bounds."""
    sizes = facts.sizes
    rows = sorted(sizes.rows, key=lambda row: -row.size)[:_MOST_ROWS]
    rows = sorted(rows, key=lambda row: (row.met, row.cluster))
    widgets: list[Any] = []
    if sizes.bounded and sizes.priced:
        widgets.append(remark(_price_words(sizes)))
    if sizes.unit == "load":
        widgets.append(remark("Sizes count the load of the items, not their number."))
    if sizes.n_outliers:
        message = f"{count_of(sizes.n_outliers, 'item')} left out of all clusters."
        widgets.append(tag("p", message, class_="small"))
    if len(rows) < len(sizes.rows):
        widgets.append(remark(f"The {len(rows)} largest of {len(sizes.rows):,}."))
    widgets.append(_size_table(facts, rows, None))
    for name in dict.fromkeys(row.group for row in sizes.groups):
        widgets.append(tag("h3", "Group ", name_of(name)))
        of_group = [row for row in sizes.groups if row.group == name]
        if all(row.low is not None and row.size == row.low for row in of_group):
            widgets.append(remark(f"Its minima leave no choice: {_DIFFERENCES}."))
        of_group.sort(key=lambda row: (row.met, row.cluster))
        widgets.append(_size_table(facts, of_group[:_MOST_ROWS], name))
    return together(widgets)


def _price_words(sizes: SizeFacts) -> str:
    """What the prices of the bounds mean."""
    one = "unit of load" if sizes.unit == "load" else "item"
    if sizes.pinned:
        message = (
            f"The minima leave each cluster one size only, so {_DIFFERENCES}: one {one} more in a cluster "
            "and one less in another costs at least the price of the first minus that of the second."
        )
    else:
        message = (
            f"The price is what one more {one} in the cluster would cost in the objective: above 0 its "
            "minimum binds, below 0 its maximum does; 0: the bound costs nothing."
        )
    if sizes.unit == "load":
        message += " Items come whole, so these prices are near the true ones only."
    if sizes.groups:
        message += " The price of a group in a cluster comes on top of that of the cluster."
    return message


def _size_table(facts: Facts, rows: list[SizeRow], group: str | None) -> Markup:
    sizes = facts.sizes
    widest = max([1e-12, *(row.size for row in rows), *(row.high or row.low or 0.0 for row in rows)])
    names: list[Name] = ["Cluster", "Size", ("", "wide")]
    if sizes.bounded:
        names += ["Min", "Max", "Bound", *(["Price"] if sizes.priced else [])]
    body = []
    for row in rows:
        style, bounds = colour_class(row.cluster), (row.low, row.high)
        cells: list[Any] = [whole(row.size), bar(row.size, widest, style, bounds)]
        if sizes.bounded:
            cells += ["none" if bound is None else whole(bound) for bound in bounds]
            cells.append(pill("none" if bounds == (None, None) else "met" if row.met else "missed"))
            cells += [number(row.price)] if sizes.priced else []
        body.append((cell(row.cluster, facts.called(row.cluster)), cells))
    caption = "Sizes of the clusters" if group is None else f"Sizes of group {cut(group)}"
    return table(caption, names, body, {"Size", "Min", "Max", "Price"})


# ---- what a family says -------------------------------------------------------------------------------


def own_section(own: Section) -> Markup:
    """A part that only the family of the model has."""
    return together(
        remark(own.text),
        None if own.trace is None else course_of(own.trace),
        None if own.remark is None else tag("p", own.remark),
        [_listing(one) for one in own.lists if one.lines],
    )


def _listing(one: Listing) -> Markup:
    shown: Any = notes(one.lines)
    if one.columns:
        rows = []
        for line in one.lines:
            cells = zip(one.columns, line, strict=True)
            first, *rest = (x if of in one.numbers else name_of(x, most=_LONGEST_CELL) for of, x in cells)
            rows.append((first, rest))
        shown = table(one.heading, one.columns, rows, one.numbers, stack=True)
    note = remark(one.note) if one.note else None
    return together(tag("h3", one.heading), note, shown, more(one.n_left_out, one.noun))


def trace_section(trace: Trace | None) -> Markup | None:
    """How the objective fell."""
    return None if trace is None else together(remark(trace.text), course_of(trace))


# ---- constraints ---------------------------------------------------------------------------------------


def statements_section(facts: Facts) -> Markup | None:
    """What became of each constraint."""
    found = facts.statements
    if not found.n_pairs and not found.groups:
        return None
    widgets: list[Any] = []
    if found.n_because is not None and found.n_pairs:
        widgets.append(remark(_made_a_difference(found.n_because, found.n_pairs)))
    if found.groups:
        rows = [_group_row(group) for group in found.groups]
        widgets.append(table("Groups", ["Kind", "What", "Weight", "Source", "Outcome"], rows, stack=True))
        widgets.append(more(found.n_groups_left_out, "groups"))
    broken = [pair for pair in found.pairs if pair.outcome == "broken"]
    others = [pair for pair in found.pairs if pair.outcome != "broken"]
    if broken and found.price is not None:
        widgets.append(remark(f"A broken pair of weight 1 weighs {number(found.price)} in the objective."))
    if broken:
        widgets.append(_pair_table("Broken pairs", broken))
    if others:
        summary = tag("summary", f"{count_of(len(others), 'pair')} that hold")
        widgets.append(tag("details", summary, _pair_table("Pairs that hold", others)))
    if found.n_left_out:
        message = f"{found.n_left_out:,} of {found.n_pairs:,} pairs are not listed here; the full list is in "
        widgets.append(remark(message, "constraints.csv where the command line made this page."))
    return together(widgets)


def _made_a_difference(count: int, of: int) -> str:
    if count == 1:
        return f"1 pair of {of:,} holds because it was said: the same method breaks it without."
    return f"{count:,} pairs of {of:,} hold because they were said: the same method breaks them without."


def _pair_table(caption: str, pairs: list[PairRow]) -> Markup:
    names: list[Name] = ["Kind", ("Items", "pair"), "Weight", "Outcome", ("Why", "why")]
    sources = any(pair.source for pair in pairs)
    if sources:
        names.insert(3, "Source")
    rows = []
    for pair in pairs:
        cells = [pair_of(pair.i, pair.j), pair.strength, pill(pair.outcome), pair.reason]
        if sources:
            cells.insert(2, _source(pair.source))
        rows.append((pair.kind, cells))
    return table(caption, names, rows, stack=True)


def _source(source: str | None) -> Any:
    return name_of(source) if source else NOTHING


def _group_row(group: GroupRow) -> tuple[Any, list[Any]]:
    noun = "label" if group.kind == "label" else "group"
    held = f"{group.n_stated - group.n_broken:,} of {count_of(group.n_stated, noun)} hold"
    if group.n_broken_plain is not None:
        held += f"; {group.n_stated - group.n_broken_plain:,} would without being said"
    broken = [*group.broken, *([f"and {group.left_out:,} more"] if group.left_out else [])]
    what = together(group.text, notes(broken, "groups"))
    outcome = together(pill("broken" if group.n_broken else "met"), " ", tag("span", held, class_="soft"))
    return group.kind, [what, group.strength, _source(group.source), outcome]


# ---- comparison ---------------------------------------------------------------------------------------


def comparison_section(facts: Facts) -> Markup | None:
    """The same method without what is known."""
    found = facts.comparison
    left_out = tag("p", facts.left_out) if facts.left_out else None
    if found is None:
        return left_out
    moved, (item, cluster) = percent(found.n_moved / max(facts.n_items, 1)), facts.account.nouns
    figures = [
        (f"{found.n_moved:,} ({moved})", f"{plural_of(item)} changed {cluster}"),
        (f"{found.ari:.2f}", "agreement (adjusted Rand index; 1: the same)"),
    ]
    if found.n_stated:
        before, after = (found.n_stated - n for n in (found.n_broken_plain, found.n_broken))
        message = f"of {found.n_stated:,} constraints hold: without → with"
        figures.append((f"{before:,} → {after:,}", message))
    along = facts.account.graph is not None
    same = "The same method, along the same neighbours," if along else "The same method"
    bounds = facts.account.bounds
    left_off = "constraints" if bounds is not None and bounds.always else "constraints and bounds"
    left_off += " and learned distance" * (facts.learned is not None)
    words = f"{same} without {left_off}, its clusters matched to these as well as can be."
    if found.leaves_out:
        words += " Items left out of all clusters count as one more cluster."
    return together(
        remark(words),
        tiles(figures, "tiles inner"),
        left_out or _price_of_knowing(found, facts),
        None if facts.account.wants == "records" else _sizes_beside(facts, found),
    )


def _price_of_knowing(found: Comparison, facts: Facts) -> Markup | None:
    if found.spread is None or found.spread_plain is None:
        return None
    here, before = found.spread, found.spread_plain
    figures = f"summed {facts.account.measure} to the centres: {number(before)} without, {number(here)} with"
    if abs(here - before) <= 5e-4 * max(abs(before), 1e-300):
        return tag("p", f"What you know costs next to nothing: {figures}.")
    if before <= 0:
        return tag("p", f"Without what you know every item lies on its centre: {figures}.")
    change = 100 * (here / before - 1)
    amount = f"{abs(change):.1f}" if abs(change) < 100 else f"{abs(change):,.0f}"
    if change > 0:
        return tag("p", f"What you know costs {amount} % more distance ({figures}).")
    why = facts.account.gain
    if facts.n_items > ONE_START_ABOVE and "n_init" in facts.made.parameters:
        why += f" (above {ONE_START_ABOVE:,} items the fit without makes one start only)"
    return tag("p", f"With what you know there is {amount} % less distance ({figures}): {why}.")


def _sizes_beside(facts: Facts, found: Comparison) -> Markup:
    clusters = sorted(range(len(found.sizes)), key=lambda h: -found.sizes[h])[:_MOST_ROWS]
    widest = max(1, *(found.sizes[h] for h in clusters), *(found.sizes_plain[h] for h in clusters))
    rows = []
    for h in sorted(clusters):
        here, before = found.sizes[h], found.sizes_plain[h]
        bars = bar(before, widest, "thin before"), bar(here, widest, f"thin {colour_class(h)}")
        rows.append((cell(h, facts.called(h)), [f"{before:,}", f"{here:,}", together(bars)]))
    names: list[Name] = ["Cluster", "Without", "With", ("", "wide")]
    return table("Sizes without and with what is known", names, rows, {"Without", "With"})
