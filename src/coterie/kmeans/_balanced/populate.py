"""How all items follow a sample that was clustered, and how their labels are refined: the book's recipes.

The loop is the one under bounds; what the book does otherwise stands here as the solver of that loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.assign import improve_within_bounds
from coterie.assign._sizes import BoundedSolver, SizeBounds, stable_assignment
from coterie.assign._transport import BoundedLabels


def populate_stably(
    distortion: Any, centres: Floats, bounds: SizeBounds, rows: Index, kept: Labels, out: Any
) -> Labels:
    """Labels of all items: those of the sample stay, then each cluster takes whom it lacks, in a stable way.

    Everybody else goes to the nearest centre, of a cluster that has a maximum while there is a place. Where
    the sample holds too many in some clusters for the others to be filled, its labels do not stay. `out` is
    room for n x k distances.
    """
    n, k = out.shape

    def measure(start: int, stop: int) -> None:
        out[start:stop] = distortion.chunk_costs(start, stop, centres)

    over_chunks(measure, n, chunk_rows(n, 4 * (k + distortion.points.d), 0))
    labels = np.full(n, -1, dtype=np.int32)
    low, high = bounds.low.astype(np.int64), np.minimum(bounds.high, n).astype(np.int64)
    held = np.bincount(kept, minlength=k)
    if np.maximum(held, low).sum() <= n and (held <= high).all():
        labels[rows] = kept
    else:
        held = np.zeros(k, dtype=np.int64)

    def place(places: Index) -> None:
        free = np.flatnonzero(labels < 0)
        if len(free):
            labels[free] = stable_assignment(out[free], places)

    place(np.maximum(low - held, 0))
    place(high - np.bincount(labels[labels >= 0], minlength=k))
    return labels


class RefiningSolver:
    """First the labels of a populated sample, then better ones: exactly, by the book's moves, or no others.

    Attributes
    ----------
    first : array or None
        The labels to begin with; None: the best ones within the bounds.
    plain : bool
        Never: the loop asks for labels in every step.
    n_nodes : int
        Number of prices.
    """

    plain = False

    def __init__(self, bounds: SizeBounds, refine: str) -> None:
        self.exact = BoundedSolver(bounds)
        self.bounds, self.refine, self.n_nodes = self.exact.bounds, refine, self.exact.n_nodes
        self.first: Labels | None = None

    def solve(
        self,
        costs: Any,
        labels: Labels | None = None,
        potentials: Floats | None = None,
        *,
        last: bool = False,
    ) -> BoundedLabels:
        """Labels for these costs, from those before; None: the first ones."""
        if labels is None and self.first is not None:
            found = self.first
        elif labels is None or self.refine == "exact":
            return self.exact.solve(costs, labels, potentials, last=last)
        elif self.refine == "book":
            low, high = self.bounds.low.astype(np.int64), self.bounds.high.astype(np.int64)
            found = improve_within_bounds(costs, labels, low, high, strategy="book").labels
        else:
            found = labels
        return BoundedLabels(found, np.zeros(self.n_nodes), self.bounds.missed(found))

    def duals(self, costs: Any, found: BoundedLabels) -> tuple[Floats, None]:
        """What one more item would cost in each cluster; nobody knows where labels are not the best."""
        known = self.refine == "exact"
        return self.exact.duals(costs, found)[0] if known else np.full(self.n_nodes, np.nan), None
