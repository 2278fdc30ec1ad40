"""Drawings of the page as inline SVG: the map and the trace of the objective. They hold no text."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.base import Trace
from coterie.report._facts.doubt import IN_DOUBT
from coterie.report._facts.gather import Facts
from coterie.report._facts.rows import Floats
from coterie.report._page.colours import colour_class, marker_of
from coterie.report._page.html import Markup, cut, shape, tag, together
from coterie.report._page.numbers import number, percent

_WIDTH = 1000
_MARGIN = 22
# Up to so many points each is an element of its own, which names its item on hovering.
MOST_NAMED_POINTS = 2_000
# More lines than this are drawn paler.
CROWD = 150


def draw_points(facts: Facts) -> Markup:
    """The map: points by cluster, statements as lines, broken ones on top."""
    height = round(_WIDTH * facts.map.ratio)
    at = _placed(facts.map.xy, height)
    labels = facts.labels[facts.map.items]
    few = len(labels) <= MOST_NAMED_POINTS
    size = point_size(len(labels))
    layers = []
    for cluster in np.unique(labels).tolist():
        mine = np.flatnonzero(labels == cluster)
        draw = _named_points if few else _mass_of_points
        layers.append(draw(facts, cluster, mine, at[mine], size))
    layers.append(_links(facts, at))
    n_lines = len(facts.lines.lines)
    message = f"Map of {len(labels):,} items, coloured by cluster" + (
        f", with {n_lines:,} statements" if n_lines else ""
    )
    return shape("svg", layers, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=message)


def _placed(xy: Floats, height: int) -> Floats:
    """Positions in the drawing, whose y goes downwards."""
    inner = np.array([_WIDTH - 2 * _MARGIN, height - 2 * _MARGIN])
    return np.round(np.column_stack([xy[:, 0], 1.0 - xy[:, 1]]) * inner + _MARGIN, 1)


def point_size(n: int) -> float:
    """Radius of a point: smaller, the more there are."""
    return float(np.clip(26.0 / max(n, 1) ** 0.25, 1.6, 8.0))


def _short(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _named_points(facts: Facts, cluster: int, mine: Any, at: Floats, size: float) -> Markup:
    marker, points, certainty = marker_of(cluster), [], facts.certainty
    where = "in no cluster" if cluster < 0 else f"cluster {cluster}"
    for item, (x, y) in zip(facts.map.items[mine].tolist(), at.tolist(), strict=True):
        message, style = f"{cut(facts.names(item))}: {where}", None
        if certainty is not None:
            message = f"{message}, {percent(certainty.own[item])}"
            style = "doubt" if certainty.own[item] < IN_DOUBT else None
        title = tag("title", message)
        if marker == "dot":
            kind = "pt doubt" if style else "pt"
            points.append(shape("circle", title, class_=kind, cx=_short(x), cy=_short(y), r=_short(size)))
        elif marker == "square":
            side = 1.8 * size
            corner = {"x": _short(x - side / 2), "y": _short(y - side / 2)}
            box = {"width": _short(side), "height": _short(side)}
            points.append(shape("rect", title, class_=style, **box, **corner))
        else:
            points.append(shape("path", title, class_=style, d=_cross(x, y, size)))
    style = "dots hollow" if marker == "cross" else "dots"
    return shape("g", points, class_=f"{style} {colour_class(cluster)}")


def _cross(x: float, y: float, size: float) -> str:
    arm = _short(1.1 * size)
    whole = _short(2.2 * size)
    return f"M{_short(x)} {_short(y)}m-{arm} 0h{whole}m-{arm}-{arm}v{whole}"


def _mass_of_points(facts: Facts, cluster: int, mine: Any, at: Floats, size: float) -> Markup:
    """One path for all points of a cluster: strokes of no length with caps are small and quick to draw.

    Those in doubt, where the model tells, have a path of their own.
    """
    if facts.certainty is None:
        return _path_of_points(cluster, at, size)
    doubt = facts.certainty.own[facts.map.items[mine]] < IN_DOUBT
    kinds = ((doubt, True), (~doubt, False))
    return together([_path_of_points(cluster, at[some], size, pale) for some, pale in kinds if some.any()])


def _path_of_points(cluster: int, at: Floats, size: float, doubt: bool = False) -> Markup:
    marker = marker_of(cluster)
    style = f"many {marker} {colour_class(cluster)}" + (" doubt" if doubt else "")
    if marker == "cross":
        drawn = "".join(_cross(x, y, size) for x, y in at.tolist())
    else:
        drawn = "".join(f"M{_short(x)} {_short(y)}h0" for x, y in at.tolist())
    width = {"dot": 2 * size, "square": 1.8 * size, "cross": 1.4}[marker]
    return shape("path", class_=style, d=drawn, stroke_width=_short(width))


def _links(facts: Facts, at: Floats) -> Markup:
    position = dict(zip(facts.map.items.tolist(), at.tolist(), strict=True))
    drawn = []
    for line in facts.lines.lines:
        if line.i not in position or line.j not in position:
            continue
        (x1, y1), (x2, y2) = position[line.i], position[line.j]
        kind = "apart" if line.kind == "cannot-link" else "joined"
        state = "broken" if line.broken else "met"
        title = f"{line.kind} {cut(facts.names(line.i))} and {cut(facts.names(line.j))}: {state}"
        ends = {"x1": _short(x1), "y1": _short(y1), "x2": _short(x2), "y2": _short(y2)}
        style = f"{kind} broken" if line.broken else kind
        drawn.append(shape("line", tag("title", title), class_=style, **ends))
    for item in facts.lines.ringed.tolist():
        if item in position:
            x, y = position[item]
            title = tag("title", f"{cut(facts.names(item))}: breaks a group")
            drawn.append(shape("circle", title, class_="ring", cx=_short(x), cy=_short(y), r="11"))
    return shape("g", drawn, class_="links crowd" if len(drawn) > CROWD else "links")


# Steps of a trace that are drawn; of more, so many at equal distances.
_MOST_STEPS = 1_000


def steps_of(trace: Trace) -> tuple[Floats, Floats]:
    """Where the steps that are drawn stand, and their values."""
    at, n = np.arange(len(trace.values)), len(trace.values)
    if n > _MOST_STEPS:
        at = np.unique(np.linspace(0, n - 1, _MOST_STEPS).round().astype(np.int64))
    return np.asarray(trace.first + trace.stride * at), trace.values[at]


def course_of(trace: Trace) -> Markup:
    """The drawing of a trace, with its first and last value."""
    message = [
        tag("span", f"{word} {number(value)}")
        for word, value in zip(trace.ends, trace.values[[0, -1]].tolist(), strict=True)
    ]
    return tag("figure", draw_trace(trace), tag("figcaption", message, class_="ends"), class_="course")


def draw_trace(trace: Trace) -> Markup:
    """The objective after each half-step (or what else the trace tells), as a line."""
    values, height = steps_of(trace)[1], 200
    if len(values) == 1:
        values = np.repeat(values, 2)
    low, high = float(values.min()), float(values.max())
    x = np.linspace(4, _WIDTH - 4, len(values))
    level = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    y = height - 14 - level * (height - 28)
    points = [f"{_short(a)},{_short(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    mark = None
    if trace.mark is not None:
        at = _short(float(np.interp(trace.mark, steps_of(trace)[0], x[: len(trace.values)])))
        mark = shape("polyline", class_="trace", points=f"{at},0 {at},{height}")
    area = f"M{' L'.join(points)} L{_short(float(x[-1]))},{height} L{_short(float(x[0]))},{height}Z"
    return shape(
        "svg",
        shape("path", class_="under", d=area),
        shape("polyline", class_="trace", points=" ".join(points)),
        mark,
        viewBox=f"0 0 {_WIDTH} {height}",
        preserveAspectRatio="none",
        role="img",
        aria_label=trace.title,
    )


def line_sample(kind: str, broken: bool = False) -> Markup:
    """A short line for the legend."""
    style = f"{kind} broken" if broken else kind
    stroke = shape("line", class_=style, x1=0, y1=5, x2=26, y2=5)
    return shape("svg", shape("g", stroke, class_="links"), viewBox="0 0 26 10", aria_hidden="true")
