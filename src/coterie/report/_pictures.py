"""Pictures for slides, on a light background, as PNG beside the page. Needs matplotlib."""

from __future__ import annotations

import textwrap
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coterie.base import Trace
from coterie.report._facts.doubt import IN_DOUBT
from coterie.report._facts.gather import Facts
from coterie.report._facts.map import Map, point_size
from coterie.report._page.colours import LIGHT, LIGHT_THEME, marker_of
from coterie.report._page.html import cut
from coterie.report._page.numbers import percent, whole
from coterie.report._page.svg import CROWD, steps_of

_MISSING = 'No pictures were drawn: matplotlib is not installed (pip install "coterie[plot]").'
_SIZE = 10.0, 6.0
_DOTS_PER_INCH = 150
_MARKER = {"dot": "o", "square": "s", "cross": "P"}
# Names in the legend of the map, and bars of the sizes; of more, the largest.
_MOST_NAMED = 20
_MOST_BARS = 40


def draw_pictures(facts: Facts, page: Path) -> str | None:
    """Write the pictures under names made from that of the page (`a.html`: `a-map.png`); or say why not."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return _MISSING
    drawn: dict[str, Any] = {} if facts.map is None else {"map.png": partial(_draw_map, facts, facts.map)}
    drawn["sizes.png"] = partial(_draw_sizes, facts)
    for trace in (facts.account.trace, *(own.trace for own in facts.account.sections)):
        if trace is not None:
            drawn[trace.picture] = partial(_draw_trace, trace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        for name, draw in drawn.items():
            figure = Figure(figsize=_SIZE, dpi=_DOTS_PER_INCH, facecolor="white")
            axes = figure.add_subplot()
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
            draw(axes)
            figure.savefig(page.with_name(f"{page.stem}-{name}"), bbox_inches="tight", pad_inches=0.25)
    return None


def _title(axes: Any, text: str) -> None:
    axes.set_title(textwrap.fill(cut(text, 300), 92), loc="left", fontsize=13, parse_math=False)


def _called(facts: Facts, cluster: int) -> str:
    return f"cluster {facts.called(cluster)}".replace("$", r"\$")  # a label is no formula


def _colour(cluster: int) -> str:
    return LIGHT_THEME["out"] if cluster < 0 else LIGHT[cluster % len(LIGHT)]


def _draw_map(facts: Facts, shown: Map, axes: Any) -> None:
    labels = facts.labels[shown.items]
    place = shown.xy * [1.0, shown.ratio]
    area = (1.1 * point_size(len(labels))) ** 2
    doubt = np.zeros(len(labels), dtype=bool)
    if facts.certainty is not None:
        doubt = facts.certainty.own[shown.items] < IN_DOUBT
    largest = set(np.argsort(-facts.counts, kind="stable")[:_MOST_NAMED].tolist())
    for cluster in np.unique(labels).tolist():
        mine = labels == cluster
        size = f" ({int(facts.counts[cluster]):,})"
        name = "left out" if cluster < 0 else _called(facts, cluster) + size
        named = cluster < 0 or cluster in largest
        look: dict[str, Any] = {"s": area, "color": _colour(cluster), "marker": _MARKER[marker_of(cluster)]}
        axes.scatter(*place[mine & ~doubt].T, **look, linewidths=0, alpha=0.8, label=name if named else None)
        axes.scatter(*place[mine & doubt].T, **{**look, "facecolor": "none"}, linewidths=1.2)
    from matplotlib.collections import LineCollection, PathCollection

    crossing = labels[shown.edges[:, 0]] != labels[shown.edges[:, 1]]
    for some, style in ((crossing, "--"), (~crossing, "-")):
        look = {"colors": LIGHT_THEME["soft"], "linewidths": 0.6, "linestyles": style, "zorder": 0}
        axes.add_collection(LineCollection(place[shown.edges[some]], **look))
    position = {item: at for at, item in enumerate(shown.items.tolist())}
    drawn: dict[tuple[bool, str], list[Any]] = {}
    for line in facts.lines.lines:
        if line.i in position and line.j in position:
            ends = place[[position[line.i], position[line.j]]]
            drawn.setdefault((line.broken, line.kind), []).append(ends)
    crowded = len(facts.lines.lines) > CROWD
    for (broken, kind), lines in drawn.items():
        look = {"colors": LIGHT_THEME["ink"], "linewidths": 0.9, "alpha": 0.22 if crowded else 0.5}
        if broken:
            look = {"colors": LIGHT_THEME["broken"], "linewidths": 1.4 if crowded else 2.2}
        look["linestyles"] = "-" if kind == "must-link" else (0, (4, 3))
        axes.add_collection(LineCollection(lines, label=kind + (", broken" if broken else ""), **look))
    for axis, some, scale in zip((axes.xaxis, axes.yaxis), shown.ticks, (1.0, shown.ratio), strict=True):
        axis.set_ticks([at * scale for at, _ in some], [text for _, text in some])
    axes.set_aspect("equal")
    axes.set_xlabel(cut(shown.axes[0], 80), parse_math=False)
    axes.set_ylabel(cut(shown.axes[1], 60), parse_math=False)
    _title(axes, facts.verdict)
    if doubt.any():
        look = {"color": LIGHT_THEME["ink"], "facecolor": "none"}
        axes.scatter([], [], s=40, **look, label=f"below {percent(IN_DOUBT)}")
    if len(facts.counts) > _MOST_NAMED:
        axes.plot([], [], " ", label=f"and {len(facts.counts) - _MOST_NAMED:,} smaller clusters")
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([40.0])


def _draw_sizes(facts: Facts, axes: Any) -> None:
    rows = sorted(facts.sizes.rows, key=lambda row: -row.size)[:_MOST_BARS]
    rows = sorted(rows, key=lambda row: -row.cluster)
    names = [_called(facts, row.cluster) for row in rows]
    colours = [_colour(row.cluster) for row in rows]
    bars = axes.barh(names, [row.size for row in rows], color=colours, height=0.7)
    axes.bar_label(bars, [whole(row.size) for row in rows], padding=4, fontsize=9)
    for at, row in enumerate(rows):
        for bound in (row.low, row.high):
            if bound is not None:
                axes.plot([bound, bound], [at - 0.42, at + 0.42], color=LIGHT_THEME["ink"], linewidth=2)
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    axes.set_xlabel("load" if facts.sizes.unit == "load" else "items")
    more = len(facts.sizes.rows) - len(rows)
    message = f"Sizes of the {len(rows)} largest clusters" if more else "Sizes of the clusters"
    _title(axes, f"{message}, and their bounds" if facts.sizes.bounded else message)


def _draw_trace(trace: Trace, axes: Any) -> None:
    at, values = steps_of(trace)
    marker = "o" if len(values) <= 40 else None
    axes.plot(at, values, color=LIGHT[0], linewidth=2, marker=marker, markersize=4)
    if trace.mark is not None:
        axes.axvline(trace.mark, color=LIGHT_THEME["ink"], linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xlabel(trace.step)
    axes.set_ylabel(trace.value)
    _title(axes, trace.title)
