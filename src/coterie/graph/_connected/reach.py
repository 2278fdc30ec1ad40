"""Connected sets that may overlap: how far items reach, and k sets of least radius, up to a factor of 2.

The reaching distance R(u, v) is how far from u a path to v must go. It takes the place of the reaching
distance of the chapter, which is NP-hard to compute, with the same guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from coterie._arrays import Index
from coterie.exceptions import ParameterError
from coterie.graph._connected.growth import Growth

MOST_ENUMERATED = 400
# Distances that obey the triangle inequality; given ones are taken at their word.
_METRICS = {
    *(
        "euclidean",
        "l2",
        "l1",
        "manhattan",
        "cityblock",
        "chebyshev",
        "minkowski",
        "seuclidean",
        "mahalanobis",
    ),
    *("canberra", "hamming", "jaccard", "haversine", "precomputed"),
}


@dataclass(frozen=True)
class OverlappingSets:
    """Connected sets around items that hold all items, some of them perhaps several times."""

    centers: Index  # an item in the middle of each set
    sets: Any = field(repr=False)  # CSC array of shape (n, k): true where an item is in a set
    radius: float  # how far the farthest item of a set is from its centre, at most
    lower_bound: float  # what no k connected sets can be below, overlapping or not

    def members(self, j: int) -> Index:
        """The items of a set."""
        return self.sets.indices[self.sets.indptr[j] : self.sets.indptr[j + 1]].astype(np.int64)


def farthest_first(growth: Growth, k: int, first: int) -> tuple[Index, float]:
    """Items each as far as can be from those before, by the reaching distance; and how far the next one is.

    Islands come first, since no path leads there. Half of that distance is a lower bound on the radius of k
    connected sets, if the distance is a metric.
    """
    seeds, nearest, far = [first], growth.reach(first), np.inf
    while True:
        at = int(nearest.argmax())
        far = float(nearest[at])
        if len(seeds) == k:
            return np.array(seeds, dtype=np.int64), far
        if far == 0.0:  # copies of seeds: any items that are none
            rest = np.setdiff1d(np.arange(growth.space.n), seeds)[: k - len(seeds)]
            return np.concatenate([seeds, rest]), 0.0
        seeds.append(at)
        # beyond the farthest nobody comes nearer
        np.minimum(nearest, growth.reach(at, far), out=nearest)


def certified(growth: Growth, k: int) -> tuple[Index, float, float]:
    """Farthest-first from the item nearest to the mean: the items, how far the next one is, and the bound."""
    space = growth.space
    to_mean = space.to_centres(slice(None), space.middle(np.arange(space.n)))[:, 0]
    seeds, far = farthest_first(growth, k, int(to_mean.argmin()))
    holds = not isinstance(space.metric, str) or space.metric in _METRICS
    return seeds, far, far / 2 if holds else np.nan


def sets_within(growth: Growth, seeds: Index, radius: float, lower_bound: float) -> OverlappingSets:
    """What these items reach within a radius."""
    members = [np.flatnonzero(growth.reach(seed, radius) < np.inf) for seed in seeds.tolist()]
    ends = np.cumsum([0, *map(len, members)])
    rows = np.concatenate(members)
    sets = sparse.csc_array((np.ones(len(rows), dtype=bool), rows, ends), shape=(growth.space.n, len(seeds)))
    return OverlappingSets(seeds, sets, radius, lower_bound)


def enumerated(growth: Growth, k: int, seeds: Index, far: float) -> OverlappingSets:
    """The least radius, by a set cover for each radius of a binary search; `far` is enough for `seeds`."""
    n = growth.space.n
    if n > MOST_ENUMERATED:
        raise ParameterError(
            f'"enumerate" is for at most {MOST_ENUMERATED} items; there are {n:,}. "farthest-first" gives a '
            "radius that is at most twice as large.",
            "algorithm",
        )
    reach = np.stack([growth.reach(u) for u in range(n)])
    radii = np.unique(reach[reach <= far])
    low, high = 0, len(radii) - 1
    while low < high:
        middle = (low + high) // 2
        cover = _cover(reach <= radii[middle], k)
        if cover is None:
            low = middle + 1
        else:
            high, seeds = middle, cover
    return sets_within(growth, seeds, float(radii[high]), float(radii[high]))


def _cover(within: Any, k: int) -> Index | None:
    """k items within whose reach (rows) all items are (columns), if there are any."""
    n = len(within)
    least = LinearConstraint(sparse.csr_array(within.T.astype(float)), lb=1.0)
    most = LinearConstraint(np.ones((1, n)), ub=float(k))
    found = milp(np.ones(n), integrality=np.ones(n), bounds=Bounds(0, 1), constraints=[least, most])
    if found.x is None:
        return None
    taken = np.flatnonzero(found.x > 0.5)
    return np.concatenate([taken, np.setdiff1d(np.arange(n), taken)[: k - len(taken)]])
