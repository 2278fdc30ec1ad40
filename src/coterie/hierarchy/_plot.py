"""A picture of a constrained tree: what was merged, what was stated, and what was vetoed.

SciPy lays the tree out; a merge that a constraint forbids stands at height infinity, which no axis has, so it
is drawn dashed above the highest real merge. A tree of many items is drawn from the top: its last merges,
each leaf with the number of items it stands for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.utils.validation import check_is_fitted

from coterie._words import count_of

_MISSING = 'plot_dendrogram needs matplotlib, which is not installed (pip install "coterie[plot]").'
# Above so many leaves no name can be read, and SciPy's layout, which calls itself, runs out of stack.
_MOST_SHOWN = 400
# Okabe and Ito's colours, which people who see few colours can tell apart; style and width say the same.
_STYLES: dict[str, dict[str, Any]] = {
    "later": {"colors": "#B0B0B0", "linewidths": 1.2},
    "made": {"colors": "#222222", "linewidths": 1.4},
    "vetoed": {"colors": "#D55E00", "linewidths": 1.4, "linestyles": "dashed"},
    "must-link": {"colors": "#0072B2", "linewidths": 4.0},
}


def plot_dendrogram(model: Any, ax: Any = None, *, n_shown: int = 30, labels: Any = None) -> Any:
    """Draw the tree of a fitted `ConstrainedLinkage`; vetoed merges are dashed, at the top.

    Merges that `labels_` is made of are dark, those above the cut grey. Merges of must-linked items are thick
    lines at height 0.

    Parameters
    ----------
    model : ConstrainedLinkage
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    n_shown : int, default=30
        Number of leaves. A larger tree shows its last merges, and a leaf in brackets stands for so many
        items. If there are more roots than that, some share a leaf.
    labels : sequence of str, optional
        A name for each item; by default the ids of the constraints, or the row numbers.

    Returns
    -------
    matplotlib Axes
        The legend counts the vetoed merges and the must-links; the dotted line is the cut, where one height
        parts the merges made from the others.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.hierarchy import ConstrainedLinkage, plot_dendrogram
    >>> X = np.array([[0.0], [1.0], [5.0], [7.0]])
    >>> known = Constraints(must_link=[(2, 3)], cannot_link=[(0, 3)], n_items=4)
    >>> model = ConstrainedLinkage(2, linkage="average").fit(X, constraints=known)
    >>> from matplotlib.figure import Figure
    >>> ax = plot_dendrogram(model, Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['vetoed: 1 merge', 'must-link: 1 merge', 'cut: 2 clusters']
    """
    if not hasattr(model, "linkage"):
        raise TypeError(f"plot_dendrogram draws the tree of a ConstrainedLinkage; got {model!r}.")
    check_is_fitted(model, "linkage_")
    whole = isinstance(n_shown, int | np.integer) and not isinstance(n_shown, bool)
    if not whole or not 2 <= n_shown <= _MOST_SHOWN:
        raise ValueError(f"n_shown must be a whole number from 2 to {_MOST_SHOWN}; got {n_shown!r}.")
    names = _names(model, labels)
    try:
        from matplotlib.collections import LineCollection
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise ImportError(_MISSING) from error
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(8, 4.5), layout="constrained")[1]
    heights = model.linkage_[:, 2]
    finite = heights[np.isfinite(heights)]
    top = float(finite.max(initial=0.0))
    never = 1.12 * top if top > 0 else 1.0  # where infinity is drawn
    applied = min(len(names) - model.n_clusters_, len(finite))
    n_must = _count_must_links(model)

    segments: dict[str, list[Any]] = {kind: [] for kind in _STYLES}
    leaf_names = names
    if len(heights):
        lifted = model.linkage_.copy()
        lifted[:, 2] = np.minimum(heights, never)
        # SciPy tells the node of a line by its colour
        given = {"p": int(n_shown), "truncate_mode": "lastp", "labels": names, "link_color_func": str}
        laid_out = dendrogram(lifted, no_plot=True, **given)
        leaf_names = laid_out["ivl"]
        for across, up, node in zip(
            *(laid_out[key] for key in ("icoord", "dcoord", "color_list")), strict=True
        ):
            row = int(node) - len(names)
            kind = "must-link" if row < n_must else "made" if row < applied else "later"
            kind = kind if row < len(finite) else "vetoed"
            segments[kind].append(list(zip(across, up, strict=True)))
    segments["vetoed"] = _comb(segments["vetoed"], never)
    texts = {
        "vetoed": f"vetoed: {count_of(len(heights) - len(finite), 'merge')}",
        "must-link": f"must-link: {count_of(n_must, 'merge')}",
    }
    for kind, lines in segments.items():
        if lines:
            # the thick lines lie on the axis, half of them below it
            drawn = LineCollection(lines, label=texts.get(kind), clip_on=kind != "must-link", **_STYLES[kind])
            ax.add_collection(drawn, autolim=False)
    cut = _cut_height(model, applied, top, never)
    if cut is not None:
        told_cut = f"cut: {count_of(model.n_clusters_, 'cluster')}"
        ax.axhline(cut, color="#222222", linewidth=0.8, linestyle=":", label=told_cut)

    ax.set_xlim(0, 10 * len(leaf_names))
    ax.set_ylim(-0.01 * never, 1.2 * never)  # room for the legend
    rotated = max(map(len, leaf_names)) * len(leaf_names) > 90
    places = 10 * np.arange(len(leaf_names)) + 5
    ax.set_xticks(places, leaf_names, rotation=90 if rotated else 0, parse_math=False)
    ax.tick_params(axis="x", length=0)
    ticks = [tick for tick in MaxNLocator(5).tick_values(0, top) if 0 <= tick <= top] if top > 0 else [0.0]
    marks = [f"{tick:g}" for tick in ticks]
    if len(finite) < len(heights):
        ticks, marks = [*ticks, never], [*marks, "∞"]
    ax.set_yticks(ticks, marks)
    ax.set_ylabel("height")
    if len(leaf_names) < len(names):
        ax.set_xlabel("in brackets: the number of items behind a leaf")
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper left", ncols=3, frameon=False, fontsize="small", borderaxespad=0.2)
    return ax


def _names(model: Any, labels: Any) -> list[str]:
    n = len(model.linkage_) + 1
    if labels is not None:
        names = [str(name) for name in labels]
        if len(names) != n:
            raise ValueError(f"labels has {len(names)} names, but the model was fitted on {n} items.")
        return names
    ids = model.constraints_.ids
    return [str(name) for name in (range(n) if ids is None else ids)]


def _count_must_links(model: Any) -> int:
    """Must-link merges are the first rows, at height 0; one less for each component than it has items."""
    component = model.constraints_.components
    stated = len(component) - (int(component.max(initial=-1)) + 1)
    above = np.flatnonzero(model.linkage_[:, 2] > 0)
    return min(stated, int(above[0]) if len(above) else len(model.linkage_))


def _comb(brackets: list[Any], never: float) -> list[Any]:
    """One line at the top and one down to each root: brackets at one height would cover each other's gaps."""
    legs = [ends for bracket in brackets for ends in (bracket[:2], bracket[:1:-1]) if ends[0][1] < never]
    if not legs:
        return []
    across = [ends[1][0] for ends in legs]
    return [*legs, [(min(across), never), (max(across), never)]]


def _cut_height(model: Any, applied: int, top: float, never: float) -> float | None:
    """A height below which all merges were made and above which none was, if there is one to draw."""
    heights = model.linkage_[:, 2]
    if model.repaired_ or applied == len(heights):
        return None
    below = float(heights[:applied].max(initial=0.0))
    above = float(heights[applied:].min())
    if below > above or (below == above > 0):  # heights fall where connectivity is given; or a tie
        return None
    if model.distance_threshold is not None and below <= model.distance_threshold <= above:
        return min(float(model.distance_threshold), (top + never) / 2)
    return (below + min(above, never)) / 2
