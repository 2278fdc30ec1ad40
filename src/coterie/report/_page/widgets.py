"""Widgets of the page that several sections use: markers, tiles, tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from coterie.report._page.colours import colour_class, marker_of
from coterie.report._page.html import Markup, name_of, tag, together

Row = tuple[Any, list[Any]]
Name = str | tuple[str, str]


def mark(cluster: int) -> Markup:
    """The marker of a cluster, in its colour."""
    return tag("span", class_=f"mark {marker_of(cluster)} {colour_class(cluster)}", aria_hidden="true")


def cell(cluster: int, text: str) -> Markup:
    """A cell that names a cluster: its marker, and what it is called or what is said of it."""
    return tag("span", mark(cluster), text, class_="cell")


def remark(*text: Any) -> Markup:
    """A paragraph beside the point, small and pale."""
    return tag("p", *text, class_="soft small")


def notes(lines: Sequence[Any], style: str = "notes") -> Markup | None:
    """A list of remarks; None if there are none."""
    return tag("ul", [tag("li", line) for line in lines], class_=style) if lines else None


def more(number: int, what: str) -> Markup | None:
    """How many things are not listed; None if all are."""
    return remark(f"{number:,} more {what} are not listed.") if number > 0 else None


def bar(size: float, widest: float, style: str = "", bounds: Sequence[float | None] = ()) -> Markup:
    """A bar beside the widest one, with a mark at each bound."""
    fill = tag("i", style=f"width:{100 * size / widest:.1f}%") if size else None
    ends = [100 * bound / widest for bound in bounds if bound is not None]
    marks = [tag("b", style=f"left:calc({end:.1f}% - 1px)") for end in ends]
    return tag("div", fill, marks, class_=f"bar {style}", aria_hidden="true")


def pill(state: str) -> Markup:
    """What became of something: good, bad, or nothing at all."""
    style = {"met": "pill", "broken": "pill bad", "missed": "pill bad"}.get(state, "pill none")
    return tag("span", state, class_=style)


def pair_of(first: str, second: str) -> Markup:
    """The names of two items."""
    return together(name_of(first), tag("span", " and ", class_="soft"), name_of(second))


def tiles(figures: Sequence[tuple[str, str]], class_: str = "tiles") -> Markup:
    """Key figures side by side."""
    items = [tag("li", tag("b", value), tag("span", what)) for value, what in figures]
    return tag("ul", items, class_=class_)


def table(
    caption: str,
    names: Sequence[Name],
    rows: Sequence[Row],
    numeric: Collection[str] = (),
    stack: bool = False,
) -> Markup:
    """Make a table in a box of its own, which scrolls if need be; with `stack` rows become blocks on a phone.

    A name may come with a class for its column, and may be empty. The first cell of a row is its heading.
    """
    plain = [name if isinstance(name, str) else name[0] for name in names]
    styles = [name[1] if not isinstance(name, str) else ("n" if name in numeric else None) for name in names]
    heads = [
        tag("th", name, scope="col", class_=style) if name else tag("td", class_=style)
        for name, style in zip(plain, styles, strict=True)
    ]
    body = []
    for first, cells in rows:
        written = [
            tag("td", cell, class_=style, data_label=name if stack else None)
            for cell, name, style in zip(cells, plain[1:], styles[1:], strict=True)
        ]
        body.append(tag("tr", tag("th", first, scope="row"), written))
    made = tag(
        "table",
        tag("thead", tag("tr", heads)),
        tag("tbody", body),
        class_="stack" if stack else None,
        aria_label=caption,
    )
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)
