"""What the page says of a tree: how clusters were merged, along which neighbours, and what ended it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from coterie._words import count_of, listed
from coterie.report._facts.rows import Ints
from coterie.report._page.numbers import number

MOST_BLOCKS = 30
_LINKAGES = {
    "ward": "the root of twice what the merge adds to the squared distances to the means",
    "complete": "the distance of their farthest two items",
    "average": "the mean distance of their items",
    "single": "the distance of their nearest two items",
}


@dataclass(frozen=True)
class Merging:
    """How a tree was made.

    Attributes
    ----------
    told : tuple of str
        Sentences: what a height is, how far merging went, along which neighbours.
    ended : str or None
        What happened where merging ended at more clusters than were asked for.
    blocks : tuple of str
        What keeps the last clusters apart, pair by pair; empty if all could be merged.
    n_left_out : int
        How many more of these there are.
    is_roots : bool
        Whether the clusters of the page are the ones that `blocks` names, by the same numbers.
    """

    told: tuple[str, ...]
    ended: str | None
    blocks: tuple[str, ...]
    n_left_out: int
    is_roots: bool


def read_merging(model: Any, labels: Ints) -> Merging | None:
    """Read the account off a model that keeps a tree; None if it keeps none."""
    if not hasattr(model, "linkage_") or not hasattr(model, "blocked_"):
        return None
    blocked = model.blocked_
    blocks = tuple(block.told for block in islice(blocked, MOST_BLOCKS))
    return Merging(
        told=(_heights(model), _course(model), *_neighbours(model)),
        ended=_ended(model),
        blocks=blocks,
        n_left_out=len(blocked) - len(blocks),
        is_roots=bool(np.array_equal(np.asarray(blocked.labels), labels)),
    )


def _heights(model: Any) -> str:
    what = _LINKAGES.get(str(model.linkage), "their distance")
    if model.linkage == "single" and model.connectivity is not None:
        what = "the shortest edge between them"
    return (
        "Each step merges the two nearest clusters that may be one. The height of a merge is how far apart "
        f"they were: {what}."
    )


def _course(model: Any) -> str:
    """How many merges were made, and the height of the next one."""
    n, made = model.n_leaves_, model.n_iter_
    joined = n - (int(np.max(model.constraints_.components, initial=-1)) + 1)
    told = f"{count_of(made, 'merge')} of {count_of(n, 'item')}"
    if joined:
        told += f", of which {joined:,} only join what must be together (height 0)"
    if model.repaired_:
        return f"{told}."
    last = f"; the last was at height {number(model.objective_)}" if made > joined else ""
    after = model.distances_[made] if made < n - 1 else np.inf
    if np.isfinite(after):
        return f"{told}{last}, the next one would be at {number(float(after))}."
    return f"{told}{last}. No further merge is legal." if made < n - 1 else f"{told}{last}."


def _neighbours(model: Any) -> list[str]:
    if model.connectivity is None:
        return []
    told = "Only neighbours merge, along the edges that were given, so that every cluster is connected"
    sizes = list(getattr(model.blocked_, "islands", ()))
    if model.n_islands_ == 1:
        return [f"{told}. The graph of neighbours is in one piece."]
    shown = f", of {listed([f'{size:,}' for size in sizes])} items" if sizes else ""
    parts = f"{model.n_islands_:,} islands{shown}"
    return [f"{told}. The graph of neighbours has {parts}; no cluster spans two of them."]


def _ended(model: Any) -> str | None:
    asked = model.n_clusters
    if asked is None or model.n_roots_ <= asked:
        return None
    told = f"Merging ended at {model.n_roots_:,} clusters, not {asked:,}: no further merge was legal."
    if model.repaired_:
        return (
            f"{told} All items were then given clusters anew, {asked:,} in number, so that everything "
            "holds. The clusters of this page are therefore no cut of the tree."
        )
    return f"{told} These {model.n_roots_:,} are shown."


def reach_of(model: Any, labels: Ints) -> Callable[[int, int], bool] | None:
    """Whether an item has a neighbour in a cluster; None where there are no neighbours."""
    graph = getattr(model, "_graph", None)
    if graph is None or not hasattr(model, "linkage_"):
        return None

    def reaches(item: int, cluster: int) -> bool:
        near = graph.indices[graph.indptr[item] : graph.indptr[item + 1]]
        return bool((labels[near] == cluster).any())

    return reaches
