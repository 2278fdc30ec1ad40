"""What a fitted linkage says of itself: how clusters were merged, along which neighbours, what ended it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from coterie._words import count_of, listed, short_number
from coterie.base import Account, Bounds, Listing, Section, Trace

_MOST_SHOWN, _MOST_KEPT = 30, 200  # blocked pairs: on the page, and for machines
_LINKAGES = {
    "ward": "the root of twice what the merge adds to the squared distances to the means",
    "complete": "the distance of their farthest two items",
    "average": "the mean distance of their items",
    "single": "the distance of their nearest two items",
}


def account_of_linkage(model: Any, found: Account, bounds: Bounds | None, graph: Any) -> Account:
    """The account of a linkage, from what the contract says of it."""
    blocked = model.blocked_
    blocks = tuple(block.told for block in islice(blocked, _MOST_KEPT))
    is_roots = np.array_equal(np.asarray(blocked.labels), model.labels_)
    which = "" if is_roots else " These numbers are those of the last clusters, not of the page."
    merging = Section(
        "merging",
        "Merging",
        " ".join([_heights(model), _course(model), *_neighbours(model)]),
        trace=Trace(
            model.history_,
            "The height of each merge",
            step="merge",
            value="height",
            first=1.0,
            stride=1.0,
            ends=("first merge", "last merge"),
            picture="merges.png",
        ),
        remark=_ended(model),
        lists=(
            Listing(
                "What keeps the last clusters apart",
                blocks[:_MOST_SHOWN],
                f"No merge is legal between the clusters that are left.{which}",
                n_left_out=len(blocked) - len(blocks[:_MOST_SHOWN]),
            ),
        ),
    )
    figures = {
        "n_islands": model.n_islands_,
        "n_roots": model.n_roots_,
        "repaired": bool(model.repaired_),
        "blocked": list(blocks),
    }
    repaired = (
        f"Merging came to an end at {model.n_roots_:,} clusters; from there items were given clusters "
        "anew, so that everything holds. These clusters are no cut of the tree."
    )
    return replace(
        found,
        gain="each merge is only the best at its time, so that this can happen",
        trace=None,
        bounds=bounds,
        graph=graph,
        sections=(merging,),
        figures=figures,
        remarks=(repaired,) if model.repaired_ else (),
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
    message = f"{count_of(made, 'merge')} of {count_of(n, 'item')}"
    if joined:
        message += f", of which {joined:,} only join what must be together (height 0)"
    if model.repaired_:
        return f"{message}."
    last = f"; the last was at height {short_number(model.objective_)}" if made > joined else ""
    after = model.distances_[made] if made < n - 1 else np.inf
    if np.isfinite(after):
        return f"{message}{last}, the next one would be at {short_number(float(after))}."
    return f"{message}{last}. No further merge is legal." if made < n - 1 else f"{message}{last}."


def _neighbours(model: Any) -> list[str]:
    if model.connectivity is None:
        return []
    message = "Only neighbours merge, along the edges that were given, so that every cluster is connected"
    sizes = list(model.blocked_.islands)
    if model.n_islands_ == 1:
        return [f"{message}. The graph of neighbours is in one piece."]
    shown = f", of {listed([f'{size:,}' for size in sizes])} items" if sizes else ""
    parts = f"{model.n_islands_:,} islands{shown}"
    return [f"{message}. The graph of neighbours has {parts}; no cluster spans two of them."]


def _ended(model: Any) -> str | None:
    asked = model.n_clusters
    if asked is None or model.n_roots_ <= asked:
        return None
    message = f"Merging ended at {model.n_roots_:,} clusters, not {asked:,}: no further merge was legal."
    if model.repaired_:
        return (
            f"{message} All items were then given clusters anew, {asked:,} in number, so that everything "
            "holds. The clusters of this page are therefore no cut of the tree."
        )
    return f"{message} These {model.n_roots_:,} are shown."
