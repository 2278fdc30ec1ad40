"""Where a start under bounds begins: the book's protocol, the range of the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Labels
from coterie.assign._sizes import SizeBounds
from coterie.kmeans._engine.starts import CentreStarts

# The book's initialisation: draws of centres, and runs of plain k-means, before it takes what it has.
_MAX_DRAWS, _MAX_RUNS = 50, 10


def book_start(starts: CentreStarts, bounds: SizeBounds, plain: Callable[[Floats], Labels]) -> Floats:
    """Rows from which plain k-means meets the minima, else the last ones drawn: as in the book, chapter 9."""
    k = starts.k
    low, load = bounds.low[:k], bounds.load if len(bounds.load) else None

    def short(labels: Labels) -> bool:
        return bool((np.bincount(labels, load, k)[:k] < low).any())

    for _ in range(_MAX_RUNS):
        for _ in range(_MAX_DRAWS):
            centres = starts.random()
            if not short(starts.distortion.nearest(centres)):
                break
        if not short(plain(centres)):
            break
    return centres


def within_range(starts: CentreStarts) -> Floats:
    """Centres drawn uniformly between the least and the largest value of each feature."""
    X = starts.distortion.points.X
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    drawn = starts.rng.uniform(size=(starts.k, starts.distortion.points.d))
    centres = np.asarray(low + drawn * (high - low), dtype=np.float64)
    return starts.distortion.centres_from_means(centres)
