"""Constrained agglomeration: all legal merges in their order, by the loop that suits linkage and data.

| linkage | without connectivity | with connectivity |
|---|---|---|
| single | a k-d tree (Euclidean, few features or many items), else a matrix | the edges, shortest first |
| Ward | a matrix | means of neighbours |
| complete, average, precomputed | a matrix | a matrix, and neighbours |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRED_DISTANCES, paired_distances, pairwise_distances

from coterie.base import Step, metric_kwargs
from coterie.hierarchy._linkage.chain import AVERAGE, COMPLETE, SINGLE, WARD, merge_by_chain
from coterie.hierarchy._linkage.greedy import merge_edges, merge_nearest, merge_neighbours, note_roots
from coterie.hierarchy._linkage.kdtree import build_tree
from coterie.hierarchy._linkage.matrix import (
    MOST_UNITS,
    check_lengths,
    check_room,
    propagate_links,
    unit_distances,
)
from coterie.hierarchy._linkage.state import (
    Floats,
    Index,
    Merges,
    Queue,
    RootNeighbours,
    Shapes,
    room_for_merges,
)
from coterie.hierarchy._linkage.vetoes import Rules

LINKAGES = {"single": SINGLE, "complete": COMPLETE, "average": AVERAGE, "ward": WARD}

# A k-d tree is faster than a matrix where it has few features or the matrix many rows; with many features it
# looks at nearly all points.
_FEW_FEATURES, _MOST_FEATURES, _MANY_UNITS = 3, 16, 8_000
# Steps of a loop before it returns to Python, for Ctrl-C and progress.
_WORK = 20_000_000
_EDGES = 1 << 20


@dataclass(frozen=True)
class LinkageInput:
    """What is merged: rows or distances, how far they are apart, and who is beside whom (None: all)."""

    X: Any
    metric: Any
    linkage: str
    graph: Any = None
    propagate: bool = False

    @property
    def given(self) -> bool:
        """Whether X holds distances."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def euclidean(self) -> bool:
        """Whether X holds rows with Euclidean distances, so that clusters have means."""
        return isinstance(self.metric, str) and self.metric == "euclidean"

    @property
    def plain(self) -> bool:
        """Whether these rows are dense."""
        return self.euclidean and not sparse.issparse(self.X)


def in_range(X: Any, metric: Any) -> tuple[Any, float]:
    """X near the origin, in a unit, a power of two, in which squares are numbers; and the unit.

    Nothing is changed that need not be: a shift by a row keeps whole numbers whole.
    """
    if not isinstance(metric, str) or metric not in ("euclidean", "precomputed"):
        return X, 1.0
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    with np.errstate(over="ignore"):
        spread = 0.0 if sparse.issparse(X) else float(np.ptp(X, axis=0).max())
    if metric == "euclidean" and not sparse.issparse(X) and largest > 100.0 * spread:
        X = X.astype(np.float64) - X[0]  # means and products would lose digits far away
        largest = float(np.abs(X).max(initial=0.0))
    if largest == 0.0 or 1e-100 < largest < 1e100:
        return X, 1.0
    unit = float(2.0 ** np.floor(np.log2(largest)))
    return X / unit, unit


def find_merges(data: LinkageInput, rules: Rules, step: Step) -> tuple[Index, Index, Floats]:
    """A unit of each side and the height of every merge, until none is legal."""
    how = LINKAGES[data.linkage]
    if data.graph is not None:
        if how == SINGLE:
            return _along_edges(data, rules, step)
        if how == WARD and data.plain:
            return _between_neighbours(data, rules, how, None, step)
        check_room(rules.n_units, data.linkage, connected=True)
        return _between_neighbours(data, rules, how, _matrix(data, rules, how), step)
    if how == SINGLE and data.plain and not data.propagate and _by_tree(data.X.shape[1], rules.n_units):
        return _among_points(data, rules, step)
    check_room(rules.n_units, data.linkage, connected=False)
    D = _matrix(data, rules, how)
    rules.forbid(D)
    return merge_by_chain(D, how, rules.size, rules.load, rules.cap, step)


def _by_tree(n_features: int, n_units: int) -> bool:
    """Whether single linkage is done on a k-d tree."""
    if n_units > MOST_UNITS or n_features <= _FEW_FEATURES:
        return True
    return n_units > _MANY_UNITS and n_features <= _MOST_FEATURES


def _matrix(data: LinkageInput, rules: Rules, how: int) -> Floats:
    if not data.propagate:
        return unit_distances(data.X, data.metric, how, rules.unit, rules.size)
    D = unit_distances(data.X, data.metric, SINGLE, rules.unit, rules.size)
    propagate_links(D, rules.size)
    return D


def _made(merges: Merges) -> tuple[Index, Index, Floats]:
    made = int(merges.made[0])
    return merges.left[:made], merges.right[:made], merges.height[:made]


def _queue(n: int, counters: list[int]) -> Queue:
    return Queue(
        key=np.full(n, np.inf),
        near=np.full(n, -1),
        heap=np.empty(n, dtype=np.int64),
        place=np.full(n, -1),
        counters=np.array(counters),
    )


def _along_edges(data: LinkageInput, rules: Rules, step: Step) -> tuple[Index, Index, Floats]:
    """Single linkage on a graph: its edges, shortest first."""
    edges = sparse.triu(data.graph, 1, format="coo")
    length = _lengths(data, edges.row, edges.col)
    order = np.argsort(length, kind="stable")
    head, tail = (rules.unit[ends[order]] for ends in (edges.row, edges.col))
    length = length[order]
    vetoes, merges = rules.arrays(), room_for_merges(rules.n_units)
    for begin in range(0, len(length), _EDGES):
        end = min(begin + _EDGES, len(length))
        merge_edges.for_work(8 * (end - begin))(begin, end, head, tail, length, vetoes, merges)
        step()
    return _made(merges)


def _lengths(data: LinkageInput, i: Any, j: Any) -> Floats:
    """Distances of some pairs of items."""
    if data.given:
        return np.asarray(data.X[i, j], dtype=np.float64)
    found = np.empty(len(i))
    kwargs = metric_kwargs(data.X, data.metric)
    rows = max(1, (1 << 22) // data.X.shape[1])
    for first in range(0, len(i), rows):
        chunk = slice(first, first + rows)
        a, b = data.X[i[chunk]], data.X[j[chunk]]
        if data.plain:
            diff = a.astype(np.float64) - b
            found[chunk] = np.sqrt(np.einsum("ij,ij->i", diff, diff))
        else:
            found[chunk] = check_lengths(_paired(a, b, data.metric, kwargs), data.metric)
            if callable(data.metric):
                back = check_lengths(_paired(b, a, data.metric, kwargs), data.metric)
                at = int(np.argmax(np.abs(found[chunk] - back)))
                if abs(found[chunk][at] - back[at]) > 1e-6 * abs(back[at]):
                    raise ValueError(
                        f"distances by metric={data.metric!r} must be the same both ways; one between items "
                        f"{i[chunk][at]} and {j[chunk][at]} is {found[chunk][at]:g}, and {back[at]:g} back."
                    )
    return found


def _paired(a: Any, b: Any, metric: Any, kwargs: dict[str, Any]) -> Floats:
    """Distances of the rows of a to those of b, one to one, by any metric."""
    if sparse.issparse(a) or not (callable(metric) or metric in PAIRED_DISTANCES):
        # row by row where there is no other way
        pairs = (pairwise_distances(a[[t]], b[[t]], metric=metric, **kwargs) for t in range(a.shape[0]))
        return np.array([found[0, 0] for found in pairs])
    return paired_distances(a, b, metric=metric)


def _among_points(data: LinkageInput, rules: Rules, step: Step) -> tuple[Index, Index, Floats]:
    """Single linkage on a k-d tree."""
    n = len(rules.unit)
    tree = build_tree(np.asarray(data.X, dtype=np.float64), rules)
    vetoes, merges = rules.arrays(), room_for_merges(rules.n_units)
    queue = _queue(n, [0, 0, 0, rules.n_units])
    note_roots.for_work(4 * n)(tree, vetoes)
    while queue.counters[2] < n or (queue.counters[0] > 0 and queue.counters[3] > 1):
        merge_nearest.for_work(100 * n)(tree, queue, vetoes, merges, _WORK)
        step()
    return _made(merges)


def _between_neighbours(
    data: LinkageInput, rules: Rules, how: int, D: Floats | None, step: Step
) -> tuple[Index, Index, Floats]:
    """Ward, complete or average linkage of neighbours on a graph."""
    n = rules.n_units
    edges = data.graph.tocoo()
    head, tail = rules.unit[edges.row], rules.unit[edges.col]
    key = np.unique(head[head != tail] * np.int64(n) + tail[head != tail])
    head, tail = np.divmod(key, n)
    count = np.bincount(head, minlength=n)
    begin = np.concatenate([[0], np.cumsum(count)])
    onward = np.arange(1, len(tail) + 1)
    onward[begin[1:][count > 0] - 1] = -1
    zeros = np.zeros(n, dtype=np.int64)
    neighbours = RootNeighbours(
        beside=tail,
        onward=onward,
        head=np.where(count > 0, begin[:-1], -1),
        end=np.where(count > 0, begin[1:] - 1, -1),
        seen=zeros,
        version=zeros.copy(),
        known=zeros.copy(),
    )
    size = rules.size.astype(np.float64)
    mean = np.empty((0, 0))
    if D is None:
        D = np.empty((0, 0))
        member = sparse.csr_array((np.ones(len(rules.unit)), (rules.unit, np.arange(len(rules.unit)))))
        mean = np.ascontiguousarray(member @ np.asarray(data.X, dtype=np.float64)) / size[:, None]
    vetoes, merges = rules.arrays(), room_for_merges(n)
    queue = _queue(n, [0, 0, 0])
    while queue.counters[2] < n or queue.counters[0] > 0:
        merge_neighbours.for_work(100 * n)(
            how, Shapes(D, mean, size), neighbours, queue, vetoes, merges, _WORK
        )
        step()
    left, right, height = _made(merges)
    return left, right, np.sqrt(height) if how == WARD else height
