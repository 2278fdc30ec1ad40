"""`improve_within_bounds`: better labels from given ones, by moves that keep to bounds on sizes.

Moves live on the graph of the clusters: an arc g -> h stands for the items of g that h is offered to, the
cheapest first. "book" follows arcs that gain, one by one and in cycles (chapter 8, refine). "circulation"
asks a linear program for the best set of moves: a network, so that whole items come out (chapter 16, section
3, where only arcs that gain are asked for; a losing one in between may free the place that another needs).
Time of "book": O(cells) a sweep. Of "circulation": a program over the clusters, with a few items an arc, for
each round.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.utils import check_array

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import in_slices, kernel
from coterie.assign._core.assignment import Assignment, read_labels
from coterie.assign._sizes.reading import read_bounds

# Gains below this part of the range of the costs are rounding; for programs, what their tolerance leaves.
_ROUNDING, _LP_ROUNDING = 1e-12, 1e-8
# Items of each arc that a program may move, a quarter of them if they lose by it; more where arcs are few.
# The one that goes best is enough for the proof at the end.
_PER_ARC, _CELLS = 8, 50_000


class StoredCells(NamedTuple):
    """The costs in CSR form: which clusters are on offer to each item, and at what cost."""

    indptr: Any
    indices: Any
    data: Any


class Arcs(NamedTuple):
    """Moves by the arc of the cluster graph they follow: arcs of cluster g are `ptr[g]` to `ptr[g + 1]`.

    StoredCells `first[a]` to `last[a]` of `item` and `cost` are those of arc a to cluster `head[a]`.
    """

    ptr: Any
    head: Any
    first: Any
    last: Any
    item: Any
    cost: Any


def improve_within_bounds(
    costs: Any,
    labels: Any,
    size_min: Any = None,
    size_max: Any = None,
    *,
    strategy: Literal["circulation", "book"] = "circulation",
) -> Assignment:
    """Move items to cheaper clusters so that no bound on the size of a cluster suffers.

    A bound that holds at the start holds after every step, one that is broken never gets worse, and the cost
    never rises.

    Parameters
    ----------
    costs : array or CSR matrix of shape (n_items, k)
        Cost of each item in each cluster. Of a CSR matrix the stored cells (zeros too) are the clusters on
        offer to an item, so that no n x k table is needed; the one it is in must be among them.
    labels : array of shape (n_items,)
        Where the items are.
    size_min, size_max : None, int, float, str, or one per cluster
        Bounds, as in `size_constrained_assignment`; they need not hold, nor be such that they can be met.
    strategy : {"circulation", "book"}
        "circulation" ends where no set of moves lowers the cost: the best labels on offer. "book" makes only
        moves that gain, each by itself: single ones, the largest gain first, then along cycles of clusters.
        It ends where none is left, which may be far from the best.

    Returns
    -------
    Assignment
        Labels, their cost, the number of moves. With "circulation" `optimal` says that among all labels on
        offer that miss no bound by more than the given ones none is cheaper, but for rounding (1e-7).

    See Also
    --------
    size_constrained_assignment : the best labels, whatever labels there were; costs are a full table.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapters 8 (Banerjee and Ghosh; refine) and 16
    (movements of pivots).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.assign import improve_within_bounds
    >>> costs = np.array([[1.0, 1.5], [1.2, 10.0]])
    >>> round(improve_within_bounds(costs, [0, 1], size_min=1, strategy="book").cost, 6)
    11.0
    >>> found = improve_within_bounds(costs, [0, 1], size_min=1)  # one loses so that the other gains more
    >>> found.labels, round(found.cost, 6)
    (array([1, 0], dtype=int32), 2.7)
    """
    if strategy not in ("circulation", "book"):
        raise ValueError(f"strategy must be 'circulation' or 'book'; got {strategy!r}.")
    cells, k = _read_cells(costs)
    found = read_labels(labels, len(cells.indptr) - 1, k)
    bounds = read_bounds(size_min, size_max, len(found), k, check=False)
    state = BoundedMoves(cells, found, bounds.low, bounds.high)
    optimal = state.by_book() if strategy == "book" else state.by_circulation()
    return Assignment(found, float(state.own.sum()), n_moves=state.n_moves, optimal=optimal)


def _read_cells(costs: Any) -> tuple[StoredCells, int]:
    """Check a table of costs, dense or CSR."""
    table = check_array(
        costs,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_min_features=1,
        ensure_all_finite=False,
        input_name="costs",
    )
    n, k = table.shape
    if sparse.issparse(table):
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        cells = StoredCells(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    else:
        each = np.broadcast_to(np.arange(k, dtype=np.int32), (n, k))
        cells = StoredCells(np.arange(0, n * k + 1, k), each.ravel(), table.ravel())
    wrong = np.flatnonzero(~np.isfinite(cells.data))
    if len(wrong):
        i = int(np.searchsorted(cells.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"costs of item {i} in cluster {cells.indices[wrong[0]]} is {cells.data[wrong[0]]}; costs must "
            "be finite numbers."
        )
    return cells, k


class BoundedMoves:
    """Labels on their way, with what their items cost and how large the clusters are."""

    def __init__(self, cells: StoredCells, labels: Labels, low: Floats, high: Floats) -> None:
        self.cells, self.labels, self.low, self.high = cells, labels, low, high
        self.row = np.repeat(np.arange(len(labels)), np.diff(cells.indptr))
        at = np.flatnonzero(cells.indices == labels[self.row])
        held = np.zeros(len(labels), dtype=bool)
        held[self.row[at]] = True
        if not held.all():
            i = int(np.argmin(held))
            raise ValueError(
                f"costs has no cell for item {i} in cluster {labels[i]}, where labels put it; store what "
                "the present cluster of every item costs."
            )
        self.own = cells.data[at].astype(np.float64)
        self.size = np.bincount(labels, minlength=len(low)).astype(np.float64)
        self.range = float(np.ptp(cells.data.astype(np.float64))) if len(cells.data) else 0.0
        self.n_moves, self.proven = 0, True

    # ---- the book -------------------------------------------------------------------------------------

    def by_book(self) -> bool:
        """Single moves until none is left, then cycles, and again; returns that nothing was proven."""
        tolerance = _ROUNDING * self.range
        while True:
            while self._sweep(tolerance):
                pass
            before = self.n_moves
            while self._cycles(tolerance):
                pass
            if self.n_moves == before:
                return False

    def _sweep(self, tolerance: float) -> int:
        """Try every item whose nearest cluster is another, those that gain most first."""
        if not len(self.labels):
            return 0
        gain = self.own - np.minimum.reduceat(self.cells.data, self.cells.indptr[:-1])
        order = np.flatnonzero(gain > tolerance)
        order = order[np.argsort(-gain[order], kind="stable")]
        sizes, moved = (self.size, self.low, self.high), 0
        for start, stop in in_slices(len(order), len(self.row) // len(self.labels)):
            moved += _single_moves(order, start, stop, self.cells, self.labels, self.own, *sizes, tolerance)
        self.n_moves += moved
        return moved

    def _cycles(self, tolerance: float) -> int:
        """Move along cycles of arcs that gain until those that stood here at the beginning have none."""
        k = len(self.size)
        cell, arc, _, first = self._by_arc(np.flatnonzero(self.cells.data < self.own[self.row] - tolerance))
        arc, last = arc[first], np.append(first[1:], len(cell))
        ptr = np.searchsorted(arc // k, np.arange(k + 1))
        arcs = Arcs(ptr, arc % k, first, last, self.row[cell], self.cells.data[cell])
        at, walk = (ptr[:-1].copy(), first.copy()), np.zeros((4, k), dtype=np.int64)
        moved = 0
        for start, stop in in_slices(k, len(cell) // k):
            moved += _follow_cycles(start, stop, arcs, *at, walk, self.labels, self.own)
        self.n_moves += moved
        return moved

    def _by_arc(self, cell: Index) -> tuple[Index, Index, Floats, Index]:
        """Cells by the arc they follow, those that go best first; arcs, losses, and where each arc begins."""
        item = self.row[cell]
        loss = self.cells.data[cell] - self.own[item]
        arc = self.labels[item].astype(np.int64) * len(self.size) + self.cells.indices[cell]
        order = np.lexsort((loss, arc))
        arc = arc[order]
        return cell[order], arc, loss[order], np.flatnonzero(np.diff(arc, prepend=-1))

    # ---- circulation ----------------------------------------------------------------------------------

    def by_circulation(self) -> bool:
        """Ask for the best set of moves until there is none; returns whether this is proven."""
        while self.circulate():
            pass
        return self.proven

    def circulate(self) -> int:
        """Make the best set of moves along all arcs, few along each; returns how many there are."""
        cell = self._candidates()
        chosen = self._best_set(cell)
        if chosen is None:
            return 0
        moved = cell[chosen]
        item = self.row[moved]
        self.labels[item] = self.cells.indices[moved]
        self.own[item] = self.cells.data[moved]
        self.size = np.bincount(self.labels, minlength=len(self.size)).astype(np.float64)
        self.n_moves += len(moved)
        return len(moved)

    def _candidates(self) -> Index:
        """The cells that go best along each arc; few of those that lose."""
        other = np.flatnonzero(self.cells.indices != self.labels[self.row])
        cell, _, loss, first = self._by_arc(other)
        rank = np.arange(len(cell)) - np.repeat(first, np.diff(np.append(first, len(cell))))
        per_arc = max(_PER_ARC, _CELLS // max(1, len(first)))
        return cell[rank < np.where(loss < 0, per_arc, per_arc // 4)]

    def _best_set(self, cell: Index) -> Index | None:
        """Which of some cells to move to, by a linear program; None: no set of them lowers the cost."""
        item, k, n_cells = self.row[cell], len(self.size), len(cell)
        delta = self.cells.data[cell] - self.own[item]
        if not n_cells or not (delta < 0).any():
            return None
        one, at = np.ones(n_cells), np.arange(n_cells)
        into = sparse.csr_array((one, (self.cells.indices[cell], at)), (k, n_cells))
        out = sparse.csr_array((one, (self.labels[item], at)), (k, n_cells))
        # a column more for each cluster is what it grows by
        several = np.bincount(item, minlength=len(self.labels)) > 1
        number = np.cumsum(several) - 1
        shared = np.flatnonzero(several[item])
        once = sparse.csr_array(
            (one[shared], (number[item[shared]], shared)), (int(several.sum()), n_cells + k)
        )
        room = np.stack([-np.maximum(self.size - self.low, 0.0), np.maximum(self.high - self.size, 0.0)])
        scale = float(np.abs(delta).max())
        found = linprog(
            np.append(delta / scale, np.zeros(k)),
            A_ub=once,
            b_ub=np.ones(once.shape[0]),
            A_eq=sparse.hstack([into - out, -sparse.identity(k)]).tocsr(),
            b_eq=np.zeros(k),
            bounds=np.concatenate([np.tile([0.0, 1.0], (n_cells, 1)), room.T]),
        )
        self.proven = found.status == 0
        if not self.proven:
            return None
        chosen = np.flatnonzero(found.x[:n_cells] > 0.5)
        return chosen if delta[chosen].sum() < -_LP_ROUNDING * self.range else None


@kernel
def _single_moves(
    order: Any,
    start: int,
    stop: int,
    cells: Any,
    labels: Any,
    own: Any,
    size: Any,
    low: Any,
    high: Any,
    tolerance: float,
) -> int:
    """Move items of `order` to their cheapest cluster with room, where theirs can spare them."""
    moved = 0
    for t in range(start, stop):
        i = order[t]
        g = labels[i]
        if size[g] <= low[g]:
            continue
        best, least = -1, own[i] - tolerance
        for e in range(cells.indptr[i], cells.indptr[i + 1]):
            h = cells.indices[e]
            if h != g and cells.data[e] < least and size[h] < high[h]:
                best, least = h, cells.data[e]
        if best >= 0:
            labels[i], own[i] = best, least
            size[g] -= 1.0
            size[best] += 1.0
            moved += 1
    return moved


@kernel
def _follow_cycles(
    start: int, stop: int, arcs: Any, arc_at: Any, cell_at: Any, walk: Any, labels: Any, own: Any
) -> int:
    """Walk the arcs from clusters `start` to `stop`, and move one item along each arc of a cycle that closes.

    Arcs only disappear on the way (an item that has moved follows no arc any more), so a cluster without a
    way on is done for good, and each arc is looked at once but for the cycles. Rows of `walk`: 0 not visited,
    1 on the way, 2 done; the way; the arc taken from there; the place of a cluster on the way.
    """
    mark, way, via, place = walk[0], walk[1], walk[2], walk[3]
    moved = 0
    for root in range(start, stop):
        if mark[root] != 0:
            continue
        way[0], place[root], mark[root] = root, 0, 1
        length = 1
        while length > 0:
            g = way[length - 1]
            on = -1
            while on < 0 and arc_at[g] < arcs.ptr[g + 1]:
                a = arc_at[g]
                if mark[arcs.head[a]] != 2:
                    while cell_at[a] < arcs.last[a] and labels[arcs.item[cell_at[a]]] != g:
                        cell_at[a] += 1
                    if cell_at[a] < arcs.last[a]:
                        on = a
                if on < 0:
                    arc_at[g] += 1
            if on < 0:
                mark[g] = 2
                length -= 1
                continue
            via[length - 1] = on
            h = arcs.head[on]
            if mark[h] == 0:
                way[length], place[h], mark[h] = h, length, 1
                length += 1
                continue
            for p in range(place[h], length):
                a = via[p]
                i = arcs.item[cell_at[a]]
                labels[i], own[i] = arcs.head[a], arcs.cost[cell_at[a]]
                moved += 1
                if p > place[h]:
                    mark[way[p]] = 0
            length = place[h] + 1
    return moved
