"""Pictures of chapter 13, out of its result file alone: docs/img/correlation-*.png.

What theorems say of small graphs, planted groups by the share of wrong signs, real graphs and consensus, by
algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import pictures
from benchmarks.measure import RESULTS, ROOT

SOURCE = "Source: benchmarks/papers/ch13.py"


class Dots(NamedTuple):
    """Values of some series at named places, from top to bottom; None where there is none."""

    title: str
    series: dict[str, list[float | None]]
    across: str
    log: bool = False


@contextmanager
def figure_of(path: Path, shape: tuple[int, int], size: tuple[float, float], **told: str) -> Iterator[Any]:
    """Axes of a figure with a heading and a note, saved at the end; a legend below its heading."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey=True, squeeze=False)
        yield axes
        for axis in axes.flat:
            axis.grid(color="#E5E5E5", lw=0.6)
            axis.set_axisbelow(True)
        height = figure.get_size_inches()[1]
        figure.text(0.01, 1 - 0.1 / height, told["heading"], va="top", fontsize=12, fontweight="bold")
        figure.text(0.01, 0.05 / height, f"{told['note']} {SOURCE}", fontsize=7, color="#555555")
        lines = {line.get_label(): line for axis in axes.flat for line in axis.get_lines()}
        top = 0.35
        if len(lines) > 1:
            place = (0.005, 1 - 0.3 / height)
            figure.legend(
                lines.values(), lines, loc="upper left", bbox_to_anchor=place, ncols=6, frameon=False
            )
            top = 0.65
        figure.tight_layout(rect=(0, 0.2 / height, 1, 1 - top / height))
        figure.savefig(path, dpi=130)
        plt.close(figure)


def plain_ticks(axis: Any, ticks: list[float]) -> None:
    """Numbers where they are, on a logarithmic axis."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_minor_locator(NullLocator())


def dots(path: Path, names: list[str], panels: list[Dots], **told: str) -> None:
    """Panels side by side, a line for each name."""
    across = len(panels) if len(panels) < 5 else 3
    shape = len(panels) // across, across
    size = 3.1 + 2.7 * across, 0.9 + (0.5 + 0.23 * len(names)) * shape[0]
    with figure_of(path, shape, size, **told) as axes:
        for axis, panel in zip(axes.flat, panels, strict=True):
            styles = zip(panel.series.items(), pictures.COLOURS, pictures.MARKS, strict=False)
            for number, ((name, values), colour, mark) in enumerate(styles):
                # later ones are smaller, so that equal ones are seen
                style = {"color": colour, "marker": mark, "ms": 7 - number, "ls": "", "label": name}
                axis.plot(pictures.numbers(values), range(len(names)), clip_on=False, zorder=3, **style)
            if panel.log:
                axis.set_xscale("log")
                plain_ticks(axis.xaxis, [1, 1.5, 2, 3])
            axis.set_yticks(range(len(names)), names)
            axis.tick_params(axis="y", length=0)
            axis.set_title(panel.title, loc="left", fontsize=10, color=pictures.INK)
        for axis in axes[-1]:
            axis.set_xlabel(panels[0].across)
        axes[0, 0].invert_yaxis()


def draw_theorems(rows: list[Any], folder: Path) -> None:
    told = [(row["what"].split(":")[0], row["raw"]) for row in rows if "expected pivots" in row["what"]]
    series = {
        name: [raw[at] / raw[0] for _, raw in told]
        for name, at in (("linear program", 1), ("pivots, expected", 2), ("pivots, mean of draws", 3))
    }
    dots(
        folder / "correlation-theorems.png",
        [name for name, _ in told],
        [Dots("", series, "of the optimum")],
        heading="Small graphs: what the theorems bound",
        note="Edges attract, others repel. Pivots: at most 3.",
    )


def draw_planted(rows: list[Any], folder: Path) -> None:
    """The search against the rest, by the share of wrong signs."""
    from benchmarks.papers.ch13 import FLIPS

    shown = {"trivial": "trivial", "best of 10 pivots": "best of 10 pivots", "LP-pivot": "LP-pivot"}
    shown |= {"search": "search"}
    told = {(row["k"], row["n"]): row["curve"] for row in rows if "k" in row}
    groups, items = (sorted({key[at] for key in told}) for at in (0, 1))
    with figure_of(
        folder / "correlation-planted.png",
        (len(groups), len(items)),
        (2.6 * len(items), 2.3 * len(groups) + 1.0),
        heading="Planted groups with wrong signs: what is found, beside the groups",
        note="Means of 3 seeds, of 100,000 items one. Signs: all pairs up to 1,000 items, above 20 an item. "
        "Trivial: all together, or all alone.",
    ) as axes:
        for (k, n), curve in told.items():
            axis = axes[groups.index(k), items.index(n)]
            for (way, name), colour, mark in zip(
                shown.items(), pictures.COLOURS, pictures.MARKS, strict=False
            ):
                if way in curve:
                    costs = [cell[0] for cell in curve[way]]
                    axis.plot(range(len(FLIPS)), costs, color=colour, marker=mark, ms=4, lw=1.4, label=name)
            axis.set_yscale("log")
            axis.set_xticks(range(len(FLIPS)), [f"{100 * flip:g}" for flip in FLIPS])
            axis.set_title(f"{n:,} items, {k} groups", loc="left", fontsize=10, color=pictures.INK)
        for axis in axes[-1]:
            axis.set_xlabel("wrong signs, %")
        for axis in axes[:, 0]:
            axis.set_ylabel("cost of the planted")
            plain_ticks(axis.yaxis, [1, 2, 5, 10, 20, 50])


def draw_graphs(rows: list[Any], folder: Path) -> None:
    found = {row["what"].split(":")[0]: row["raw"] for row in rows if "pivots alone" in row["what"]}
    names = list(next(iter(found.values()))["costs"])
    panels = []
    for graph, raw in found.items():
        best, bound, how = raw["best"]
        title = f"{graph}: {best:g}" if how == "exact" else f"{graph}: {best:g}, bound {bound:g}"
        panels.append(
            Dots(title, {"": [raw["costs"][name] / best for name in names]}, "of the best known", log=True)
        )
    dots(
        folder / "correlation-graphs.png",
        names,
        panels,
        heading="Real graphs as cluster editing: each algorithm alone, and the search",
        note="Edges attract, others repel.",
    )


def draw_consensus(rows: list[Any], folder: Path) -> None:
    curves = {row["table"]: row["curve"] for row in rows if "table" in row}
    names = list(next(iter(curves.values())))
    panels = [
        Dots(table.replace("_", " "), {"": [curve[name]["share"][0] for name in names]}, "of the bound")
        for table, curve in curves.items()
    ]
    dots(
        folder / "correlation-consensus.png",
        names,
        panels,
        heading="Consensus of clusterings: cost of each algorithm",
        note="Means of 5 draws of 20 runs of k-means; vote, mushroom: columns. Large tables by samples: "
        "LP-pivot, agglomerative, furthest.",
    )


def draw_pictures(result: Path = RESULTS / "papers-ch13.json", folder: Path = ROOT / "docs" / "img") -> None:
    rows = json.loads(result.read_text())["rows"]
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (draw_theorems, draw_planted, draw_graphs, draw_consensus):
        draw(rows, folder)
