"""Pictures of results: small panels of lines, each line named at its end. Drawn from result files only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# Okabe and Ito's colours, which people who see few colours can tell apart; marks say the same once more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")
GREY, INK = "#777777", "#222222"


@dataclass(frozen=True)
class Line:
    """Values by place, None where there is none; a plain line is what the others are compared with."""

    name: str
    values: list[float | None]
    errors: list[float | None]
    plain: bool = False


@dataclass(frozen=True)
class Panel:
    """Lines over the same ticks."""

    title: str
    ticks: list[Any]
    lines: list[Line]
    up: str


def small_multiples(
    path: Path, cells: list[list[Panel]], *, heading: str, across: str, note: str, dots: int = 130
) -> None:
    """Rows of panels, all on one scale; `dots` an inch."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(settings):
        n_rows, n_columns = len(cells), len(cells[0])
        figure, axes = plt.subplots(
            n_rows, n_columns, figsize=(3.6 * n_columns, 2.6 * n_rows + 0.9), sharey=True, squeeze=False
        )
        low, high = limits([panel for panels in cells for panel in panels])
        for row, panels in zip(axes, cells, strict=True):
            for place, (axis, panel) in enumerate(zip(row, panels, strict=True)):
                axis.set_ylim(low, high)
                draw(axis, panel, low, high)
                axis.set_ylabel(panel.up if place == 0 else "")
        for axis in axes[-1]:
            axis.set_xlabel(across)
        figure.suptitle(heading, x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.text(0.01, 0.012, note, fontsize=7, color="#555555")
        figure.tight_layout(rect=(0, 0.03, 1, 0.99))
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dots)
        plt.close(figure)


def limits(panels: list[Panel]) -> tuple[float, float]:
    """Room for all lines and their bands, with a little above and below."""
    lines = [line for panel in panels for line in panel.lines]
    values = np.concatenate([numbers(line.values) for line in lines] or [np.zeros(1)])
    errors = np.concatenate([numbers(line.errors) for line in lines] or [np.zeros(1)])
    errors = np.nan_to_num(errors)  # a line without a band
    low, high = float(np.nanmin(values - errors)), float(np.nanmax(values + errors))
    room = max(0.04 * (high - low), 0.01)
    return low - room, high + room


def numbers(values: list[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def draw(axis: Any, panel: Panel, low: float, high: float) -> None:
    places = np.arange(len(panel.ticks))
    coloured = 0
    ends = []
    for line in panel.lines:
        values, errors = numbers(line.values), numbers(line.errors)
        colour, mark = (GREY, "") if line.plain else (COLOURS[coloured], MARKS[coloured])
        coloured += not line.plain
        style = {"ls": ":" if line.plain else "-", "lw": 1.6, "marker": mark, "ms": 4}
        axis.plot(places, values, color=colour, **style)
        axis.fill_between(places, values - errors, values + errors, color=colour, alpha=0.15, lw=0)
        known = np.flatnonzero(np.isfinite(values))
        if len(known):
            ends.append((float(values[known[-1]]), int(known[-1]), line.name, colour))
    right = len(places) - 1
    for height, (value, place, name, colour) in apart(ends, 0.075 * (high - low), low, high):
        axis.plot([place, right + 0.18], [value, height], color=colour, lw=0.6, ls=":", clip_on=False)
        axis.text(right + 0.22, height, name, color=colour, va="center", fontsize=8, clip_on=False)
    axis.set_xlim(-0.15, right + 0.15 + 0.32 * len(panel.ticks))
    axis.set_xticks(places, [str(tick) for tick in panel.ticks])
    axis.spines["bottom"].set_bounds(-0.15, right)
    axis.grid(axis="y", color="#E5E5E5", lw=0.6)
    axis.set_axisbelow(True)
    axis.set_title(panel.title, loc="left", fontsize=10, color=INK)


def apart(ends: list[Any], gap: float, low: float, high: float) -> list[tuple[float, Any]]:
    """A height for each name, in the order of the values, so that no two overlap."""
    ordered = sorted(ends)
    heights = np.array([end[0] for end in ordered])
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + gap)
    if len(heights) and heights[-1] > high:
        heights[-1] = high
    for i in range(len(heights) - 2, -1, -1):
        heights[i] = min(heights[i], heights[i + 1] - gap)
    return list(zip(heights, ordered, strict=True))
