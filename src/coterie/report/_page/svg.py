"""Drawings of the page as inline SVG: the map and traces. They hold no text; numbers stand beside axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.base import Trace
from coterie.report._facts.doubt import IN_DOUBT
from coterie.report._facts.gather import Facts
from coterie.report._facts.map import Map, point_size
from coterie.report._facts.rows import Floats
from coterie.report._page.colours import colour_class, marker_of
from coterie.report._page.html import Markup, cut, tag
from coterie.report._page.numbers import beside, number, percent, ticks

_WIDTH = 1000
_MARGIN = 22
# Up to so many points each is an element of its own, which names its item on hovering.
MOST_NAMED_POINTS = 2_000
# More lines than this are drawn paler.
CROWD = 150
# Steps of a trace that are drawn; of more, so many at equal distances.
_MOST_STEPS = 1_000


def draw_points(facts: Facts, shown: Map) -> Markup:
    """The map: neighbours, points by cluster, constraints as lines, broken ones on top."""
    height = round(_WIDTH * shown.ratio)
    inner = np.array([_WIDTH - 2 * _MARGIN, height - 2 * _MARGIN])
    at = np.round(np.column_stack([shown.xy[:, 0], 1.0 - shown.xy[:, 1]]) * inner + _MARGIN, 1)
    labels = facts.labels[shown.items]
    draw = _named_points if len(labels) <= MOST_NAMED_POINTS else _mass_of_points
    layers: list[Any] = [_neighbours(shown.edges, at, labels)]
    for cluster in np.unique(labels).tolist():
        mine = np.flatnonzero(labels == cluster)
        layers.append(draw(facts, cluster, shown.items[mine], at[mine], point_size(len(labels))))
    layers.append(_links(facts, dict(zip(shown.items.tolist(), at.tolist(), strict=True))))
    n_lines = len(facts.lines.lines)
    message = f"Map of {len(labels):,} items, coloured by cluster"
    message += f", with {n_lines:,} constraints" if n_lines else ""
    drawn = tag("svg", layers, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=message)
    across, upwards = (
        [((_MARGIN + place * (length - 2 * _MARGIN)) / length, text) for place, text in some]
        for some, length in zip(shown.ticks, (_WIDTH, height), strict=True)
    )
    return _with_ticks(tag("div", drawn, class_="map"), across, upwards)


def _with_ticks(drawing: Markup, across: Any, upwards: Any) -> Markup:
    """A drawing with numbers below it and to the left; places are shares of its width and height."""
    numbers = [tag("span", text, class_="x", style=f"left:{100 * place:.1f}%") for place, text in across]
    numbers += [tag("span", text, class_="y", style=f"bottom:{100 * place:.1f}%") for place, text in upwards]
    area = tag("div", drawing, numbers, class_="area")
    return tag("div", area, class_="plot ticks" if numbers else "plot")


def _short(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _neighbours(edges: Any, at: Floats, labels: Any) -> list[Markup]:
    """Lines between neighbours: in the colour of the cluster, and dashed from one cluster to another."""
    of = np.where(labels[edges[:, 0]] == labels[edges[:, 1]], labels[edges[:, 0]], -1)
    drawn = []
    for cluster in np.unique(of).tolist():
        ends = at[edges[of == cluster]].tolist()
        path = "".join(f"M{_short(a)} {_short(b)}L{_short(c)} {_short(d)}" for (a, b), (c, d) in ends)
        style = f"near {colour_class(cluster)}" if cluster >= 0 else "near cut"
        drawn.append(tag("path", class_=style, d=path))
    return drawn


def _named_points(facts: Facts, cluster: int, items: Any, at: Floats, size: float) -> Markup:
    marker, points, certainty = marker_of(cluster), [], facts.certainty
    where = "in no cluster" if cluster < 0 else f"cluster {facts.called(cluster)}"
    for item, (x, y) in zip(items.tolist(), at.tolist(), strict=True):
        message, style = f"{cut(facts.names(item))}: {where}", None
        if certainty is not None:
            message = f"{message}, {percent(certainty.own[item])}"
            style = "doubt" if certainty.own[item] < IN_DOUBT else None
        title = tag("title", message)
        if marker == "dot":
            kind = "pt doubt" if style else "pt"
            points.append(tag("circle", title, class_=kind, cx=_short(x), cy=_short(y), r=_short(size)))
        elif marker == "square":
            corner = {"x": _short(x - 0.9 * size), "y": _short(y - 0.9 * size)}
            box = {"width": _short(1.8 * size), "height": _short(1.8 * size)}
            points.append(tag("rect", title, class_=style, **box, **corner))
        else:
            points.append(tag("path", title, class_=style, d=_cross(x, y, size)))
    style = "dots hollow" if marker == "cross" else "dots"
    return tag("g", points, class_=f"{style} {colour_class(cluster)}")


def _cross(x: float, y: float, size: float) -> str:
    arm, whole = _short(1.1 * size), _short(2.2 * size)
    return f"M{_short(x)} {_short(y)}m-{arm} 0h{whole}m-{arm}-{arm}v{whole}"


def _mass_of_points(facts: Facts, cluster: int, items: Any, at: Floats, size: float) -> list[Markup]:
    """A path for all points of a cluster, one for those in doubt: strokes of no length are quick to draw."""
    marker, drawn = marker_of(cluster), []
    width = {"dot": 2 * size, "square": 1.8 * size, "cross": 1.4}[marker]
    doubt = np.zeros(len(items), dtype=bool)
    if facts.certainty is not None:
        doubt = facts.certainty.own[items] < IN_DOUBT
    for some, pale in ((doubt, " doubt"), (~doubt, "")):
        each = at[some].tolist()
        if marker == "cross":
            path = "".join(_cross(x, y, size) for x, y in each)
        else:
            path = "".join(f"M{_short(x)} {_short(y)}h0" for x, y in each)
        style = f"many {marker} {colour_class(cluster)}{pale}"
        drawn += [tag("path", class_=style, d=path, stroke_width=_short(width))] if path else []
    return drawn


def _links(facts: Facts, position: dict[int, list[float]]) -> Markup:
    drawn = []
    for line in facts.lines.lines:
        if line.i not in position or line.j not in position:
            continue
        (x1, y1), (x2, y2) = position[line.i], position[line.j]
        state = "broken" if line.broken else "met"
        title = f"{line.kind} {cut(facts.names(line.i))} and {cut(facts.names(line.j))}: {state}"
        ends = {"x1": _short(x1), "y1": _short(y1), "x2": _short(x2), "y2": _short(y2)}
        drawn.append(tag("line", tag("title", title), class_=_style(line.kind, line.broken), **ends))
    for item in facts.lines.ringed.tolist():
        if item in position:
            x, y = position[item]
            title = tag("title", f"{cut(facts.names(item))}: breaks a group")
            drawn.append(tag("circle", title, class_="ring", cx=_short(x), cy=_short(y), r="11"))
    return tag("g", drawn, class_="links crowd" if len(drawn) > CROWD else "links")


def _style(kind: str, broken: bool) -> str:
    return ("apart" if kind == "cannot-link" else "joined") + (" broken" if broken else "")


def line_sample(kind: str, broken: bool) -> Markup:
    """A short line for the legend."""
    stroke = tag("line", class_=_style(kind, broken), x1=0, y1=5, x2=26, y2=5)
    return tag("svg", tag("g", stroke, class_="links"), viewBox="0 0 26 10", aria_hidden="true")


def steps_of(trace: Trace) -> tuple[Floats, Floats]:
    """Where the steps that are drawn stand, and their values."""
    at, n = np.arange(len(trace.values)), len(trace.values)
    if n > _MOST_STEPS:
        at = np.unique(np.linspace(0, n - 1, _MOST_STEPS).round().astype(np.int64))
    return np.asarray(trace.first + trace.stride * at), trace.values[at]


def course_of(trace: Trace) -> Markup:
    """The objective after each half-step (or what else the trace tells) as a line, with its two ends."""
    (steps, values), height = steps_of(trace), 200
    across = ticks(float(steps[0]), float(steps[-1]), 10, 1.0)
    if len(values) == 1:
        steps, values = np.array([0.0, 1.0]), np.repeat(values, 2)
    low, high = float(values.min()), float(values.max())
    x = (steps - steps[0]) / (steps[-1] - steps[0]) * _WIDTH
    level = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    y = height * (0.93 - 0.86 * level)
    points = [f"{_short(a)},{_short(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    mark = None
    if trace.mark is not None:
        at = _short(float(np.interp(trace.mark, steps, x)))
        mark = tag("polyline", class_="trace", points=f"{at},0 {at},{height}")
    drawn = tag(
        "svg",
        tag("path", class_="under", d=f"M{' L'.join(points)} L{_WIDTH},{height} L0,{height}Z"),
        tag("polyline", class_="trace", points=" ".join(points)),
        mark,
        viewBox=f"0 0 {_WIDTH} {height}",
        preserveAspectRatio="none",
        role="img",
        aria_label=trace.title,
    )
    plot = _with_ticks(drawn, across, [(0.07 + 0.86 * place, text) for place, text in ticks(low, high, 4)])
    told = [number(value) for value in trace.values[[0, -1]].tolist()]
    if told[0] == told[1]:  # a small change of a large number
        told = [beside(value, (high - low) / 10) for value in trace.values[[0, -1]].tolist()]
    texts = f"{trace.ends[0]} {told[0]}", f"→ {trace.step}", f"{trace.ends[1]} {told[1]}"
    caption = tag("figcaption", [tag("span", text) for text in texts], class_="ends")
    return tag("figure", plot, caption, class_="course")
