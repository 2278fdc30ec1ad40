"""When merging ended at too many clusters: the largest stay, and all items choose among them anew.

At a dead end every two clusters are kept apart by something, so whole clusters cannot be brought together:
the units inside have to part again. What is left is an assignment under hard statements (and a cap), which
`coterie.assign` solves wherever it can be solved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from coterie.assign import hard_pairs
from coterie.assign._bounds import SizeBounds
from coterie.assign._core import build_core
from coterie.assign._hard_pairs import HardSolver
from coterie.assign._sized import SizedSolver
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError
from coterie.hierarchy._greedy import Floats
from coterie.hierarchy._matrix import ItemDistances
from coterie.hierarchy._merging import Data
from coterie.hierarchy._tree import by_appearance

# Costs of items in clusters: so many numbers at most.
_MOST_COSTS = 1 << 28
_BLOCK = 1 << 22


def repaired(
    data: Data,
    known: Constraints,
    roots: NDArray[np.int32],
    k: int,
    bounds: SizeBounds,
    budget: int,
    rng: np.random.RandomState,
) -> NDArray[np.int32] | str:
    """Legal labels with k clusters; or why there are none."""
    if len(roots) * k > _MOST_COSTS:
        return f"{len(roots):,} items times {k:,} clusters are too many costs to repair"
    cost = _costs(data, roots, k)
    try:
        if not bounds.bind:
            labels = hard_pairs(cost, known, budget=budget, random_state=rng).labels
        else:
            core = build_core(known, "all") if known else None
            pairs = None if core is None else HardSolver(known, core, k, budget=budget, rng=rng)
            found = SizedSolver(bounds, core, pairs, budget=budget).solve(cost)
            if found.missed > 0:
                return "no labels were found that keep to size_max"
            labels = found.labels
    except UndecidedError:
        return "no legal labels were found within the budget, and none were ruled out"
    except InfeasibleConstraintsError as error:
        raise InfeasibleConstraintsError(
            f"{k} clusters cannot hold all items under these statements and size_max. Raise n_clusters or "
            'size_max, drop statements, or take on_dead_end="warn".',
            error.certificate,
        ) from None
    return by_appearance(_all_used(labels, cost, known, k).astype(np.int64))


def _costs(data: Data, roots: NDArray[np.int32], k: int) -> Floats:
    """What each item costs in each of the k largest clusters: squared to their means, or mean distances."""
    n = len(roots)
    count = np.bincount(roots)
    largest = np.sort(np.argsort(-count, kind="stable")[:k])
    number = np.full(len(count), -1)
    number[largest] = np.arange(k)
    at = number[roots]
    inside = np.flatnonzero(at >= 0)
    share = sparse.csr_array((1.0 / count[largest][at[inside]], (inside, at[inside])), (n, k))
    if isinstance(data.metric, str) and data.metric == "euclidean":
        mean = share.T @ data.X
        mean = mean.toarray() if sparse.issparse(mean) else np.asarray(mean)
        return euclidean_distances(data.X, mean, squared=True).astype(np.float64)
    cost = np.empty((n, k))
    distances = ItemDistances(data.X, data.metric)
    rows = max(1, _BLOCK // n)
    for first in range(0, n, rows):
        items = np.arange(first, min(first + rows, n))
        cost[items] = distances.of(items) @ share
    return cost


def _all_used(labels: Any, cost: Floats, known: Constraints, k: int) -> Any:
    """Give each empty cluster the unit that is dearest where it is; that breaks nothing."""
    unit = np.asarray(known.components)
    labels = labels.copy()
    for h in np.flatnonzero(np.bincount(labels, minlength=k) == 0).tolist():
        own = np.bincount(unit, cost[np.arange(len(labels)), labels])
        cluster = np.empty(len(own), dtype=np.int64)
        cluster[unit] = labels
        spare = np.bincount(cluster, minlength=k)[cluster] > 1
        labels[unit == int(np.argmax(np.where(spare, own, -1.0)))] = h
    return labels
