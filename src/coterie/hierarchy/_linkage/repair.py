"""Repair of a dead end: where merging left too many clusters, all items are assigned anew to k of them.

At a dead end every two clusters are kept apart by something, so whole clusters cannot be brought together:
the units inside have to part again. What is left is an assignment under hard constraints (and a cap), which
`coterie.assign` solves wherever it can be solved. It needs costs. Single linkage makes clusters of any shape,
so there the largest stay as they are, and who is in none of them goes to the nearest item. Elsewhere the
clusters are merged on as if nothing kept them apart, and every item goes to the nearest group that may have
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.metrics.pairwise import euclidean_distances

from coterie.assign import hard_pairs
from coterie.assign._core import build_core
from coterie.assign._hard import HardSolver
from coterie.assign._sizes import BoundedSolver, SizeBounds
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError
from coterie.hierarchy._linkage.chain import AVERAGE, WARD, merge_by_chain
from coterie.hierarchy._linkage.matrix import ItemDistances, unit_distances
from coterie.hierarchy._linkage.merging import LinkageInput
from coterie.hierarchy._linkage.state import Floats
from coterie.hierarchy._linkage.tree import by_appearance, cut, linkage_matrix

# Costs of items in clusters: so many numbers at most.
_MOST_COSTS = 1 << 28
_BLOCK = 1 << 22


def repaired(
    data: LinkageInput,
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
    solve = _solver(known, k, bounds, budget, rng)
    if data.linkage == "single":
        cost = _costs_to_nearest(data, _largest(roots, k), k)
    else:
        cost = _costs(data, _grouped(data, roots, k), k)
    try:
        labels = solve(cost)
    except UndecidedError:
        return "no legal labels were found within the budget, and none were ruled out"
    except InfeasibleConstraintsError as error:
        raise InfeasibleConstraintsError(
            f"{k} clusters cannot hold all items under these constraints and size_max. Raise n_clusters or "
            'size_max, drop constraints, or take on_dead_end="warn".',
            error.certificate,
        ) from None
    if labels is None:
        return "no labels were found that keep to size_max"
    return by_appearance(_all_used(labels, cost, known, k).astype(np.int64))


def _solver(
    known: Constraints, k: int, bounds: SizeBounds, budget: int, rng: np.random.RandomState
) -> Callable[[Floats], Any]:
    """A function from costs to legal labels; None where bounds were missed."""
    if not bounds.bind:
        return lambda cost: hard_pairs(cost, known, budget=budget, random_state=rng).labels
    core = build_core(known, "all") if known else None
    pairs = None if core is None else HardSolver(known, core, k, budget=budget, rng=rng)
    sized = BoundedSolver(bounds, core, pairs, budget=budget)

    def labels(cost: Floats) -> Any:
        found = sized.solve(cost)
        return None if found.missed > 0 else found.labels

    return labels


def _largest(roots: NDArray[np.int32], k: int) -> Any:
    """The k largest roots as groups; -1 for items of the others."""
    size = np.bincount(roots)
    number = np.full(len(size), -1)
    number[np.sort(np.argsort(-size, kind="stable")[:k])] = np.arange(k)
    return number[roots]


def _grouped(data: LinkageInput, roots: NDArray[np.int32], k: int) -> Any:
    """The roots merged on, to k groups, as if nothing kept them apart."""
    size = np.bincount(roots)
    how = WARD if data.euclidean else AVERAGE
    root = roots.astype(np.int64)
    D = unit_distances(data.X, data.metric, how, root, size)
    merges = merge_by_chain(D, how, size, np.zeros(len(size)), np.inf, lambda objective=None: False)
    rows, _ = linkage_matrix(np.arange(len(size)), *merges)
    return cut(rows[:, :2].astype(np.int64), len(size), len(size) - k)[root]


def _costs(data: LinkageInput, labels: Any, k: int, *, squared: bool = True) -> Floats:
    """What each item costs in each group: (squared) to the mean, or the mean distance; label -1: in none."""
    n = len(labels)
    inside = np.flatnonzero(labels >= 0)
    at = labels[inside]
    share = sparse.csr_array((1.0 / np.bincount(at, minlength=k)[at], (inside, at)), (n, k))
    if data.euclidean:
        mean = share.T @ data.X
        mean = mean.toarray() if sparse.issparse(mean) else np.asarray(mean)
        return euclidean_distances(data.X, mean, squared=squared).astype(np.float64)
    cost = np.empty((n, k))
    distances = ItemDistances(data.X, data.metric)
    rows = max(1, _BLOCK // n)
    for first in range(0, n, rows):
        items = np.arange(first, min(first + rows, n))
        cost[items] = distances.of(items) @ share
    return cost


def _costs_to_nearest(data: LinkageInput, labels: Any, k: int) -> Floats:
    """What each item costs in each group: nothing in its own, else how far it is."""
    cost = _costs(data, labels, k, squared=False)
    inside, outside = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    cost[inside, labels[inside]] = 0.0
    if data.plain:
        for h in range(k):
            cost[outside, h] = cKDTree(data.X[labels == h]).query(data.X[outside])[0]
        return cost
    distances = ItemDistances(data.X, data.metric)
    order = np.argsort(labels[inside], kind="stable")
    starts = np.searchsorted(labels[inside][order], np.arange(k))
    rows = max(1, _BLOCK // len(labels))
    for first in range(0, len(outside), rows):
        items = outside[first : first + rows]
        cost[items] = np.minimum.reduceat(distances.of(items)[:, inside[order]], starts, axis=1)
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
