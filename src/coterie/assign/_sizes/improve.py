"""`improve_within_bounds`: better labels from given ones, by moves that keep to bounds on sizes.

An arc g -> h of the clusters stands for the items of g that h is offered to. "book" makes moves that gain,
one by one and in cycles (chapter 8, refine): O(cells) a sweep. "circulation" asks a linear program over a few
items an arc for the best set of moves, round by round: a network, so that whole items come out (chapter 16,
section 3, without moves that lose; one of these may free the place that another needs).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, milp
from sklearn.utils import check_array

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import in_slices, kernel
from coterie.assign._core.assignment import Assignment, read_labels
from coterie.assign._sizes.reading import read_bounds
from coterie.distortion._rows import canonical

# Gains below this part of the range of the costs are rounding; for programs, what their tolerance leaves.
_ROUNDING, _LP_ROUNDING = 1e-12, 1e-8
# Items of each arc that a program may move, a quarter of them if they lose by it; more where arcs are few.
# The one that goes best is enough for the proof at the end.
_PER_ARC, _CELLS = 8, 50_000


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
    cells = _read_cells(costs)
    n, k = cells.shape
    found = read_labels(labels, n, k)
    bounds = read_bounds(size_min, size_max, n, k, check=False)
    state = BoundedMoves(cells, found, bounds.low, bounds.high)
    if strategy == "book":
        state.by_book()
    while strategy == "circulation" and state.circulate():
        pass
    return Assignment(found, float(state.own.sum()), n_moves=state.n_moves, optimal=state.proven)


def _read_cells(costs: Any) -> Any:
    """Costs as CSR, in which the cells of a table are all stored."""
    how = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
    table = check_array(costs, **how, ensure_all_finite=False, input_name="costs")
    n, k = table.shape
    if sparse.issparse(table):
        table = canonical(table)
    else:
        stored = table.ravel(), np.tile(np.arange(k, dtype=np.int32), n), np.arange(0, n * k + 1, k)
        table = sparse.csr_array(stored, (n, k))
    wrong = np.flatnonzero(~np.isfinite(table.data))
    if len(wrong):
        i, h = int(np.searchsorted(table.indptr, wrong[0], side="right")) - 1, table.indices[wrong[0]]
        raise ValueError(f"costs of item {i} in cluster {h} is {table[i, h]}; costs must be finite numbers.")
    return table


class BoundedMoves:
    """Labels on their way, with what their items cost and how large the clusters are; costs are CSR."""

    def __init__(self, cells: Any, labels: Labels, low: Floats, high: Floats) -> None:
        self.head, self.cost, self.labels, self.low, self.high = cells.indices, cells.data, labels, low, high
        self.ptr = cells.indptr
        self.item = np.repeat(np.arange(len(labels)), np.diff(self.ptr))
        at = np.flatnonzero(self.head == labels[self.item])
        if len(at) < len(labels):
            i = int(np.argmin(np.isin(np.arange(len(labels)), self.item[at])))
            raise ValueError(
                f"costs has no cell for item {i} in cluster {labels[i]}, where labels put it; store what "
                "the present cluster of every item costs."
            )
        self.own = self.cost[at].astype(np.float64)
        self.size = np.bincount(labels, minlength=len(low)).astype(np.float64)
        self.range = float(np.ptp(self.cost.astype(np.float64)))
        self.n_moves, self.proven = 0, False

    # ---- the book -------------------------------------------------------------------------------------

    def by_book(self) -> None:
        """Single moves until none is left, then cycles, and again."""
        before = -1
        while self.n_moves > before:
            before = self.n_moves
            for step in (self._sweep, self._cycles):
                while moved := step(_ROUNDING * self.range):
                    self.n_moves += moved

    def _sweep(self, tolerance: float) -> int:
        """Try every item whose nearest cluster is another, those that gain most first."""
        gain = self.own - np.minimum.reduceat(self.cost, self.ptr[:-1])
        order = np.flatnonzero(gain > tolerance)
        order = order[np.argsort(-gain[order], kind="stable")]
        cells, sizes = (self.ptr, self.head, self.cost), (self.size, self.low, self.high)
        return sum(
            _single_moves(order[start:stop], cells, self.labels, self.own, sizes, tolerance)
            for start, stop in in_slices(len(order), len(self.item) // len(self.labels))
        )

    def _cycles(self, tolerance: float) -> int:
        """Move along cycles of moves that gain until those that stood here at the beginning have none."""
        k = len(self.size)
        cell = np.flatnonzero(self.cost < self.own[self.item] - tolerance)
        item = self.item[cell]
        order = np.lexsort((self.cost[cell] - self.own[item], self.head[cell], self.labels[item]))
        cell, item = cell[order], item[order]
        ptr = np.searchsorted(self.labels[item], np.arange(k + 1))
        moves = ptr, item, self.head[cell], self.cost[cell]
        at, walk = ptr[:-1].copy(), np.zeros((3, k), dtype=np.int64)
        return sum(
            _follow_cycles(start, stop, moves, at, walk, self.labels, self.own)
            for start, stop in in_slices(k, len(cell) // k)
        )

    # ---- circulation ----------------------------------------------------------------------------------

    def circulate(self) -> int:
        """Make the best set of moves between all clusters, few from each to each; returns their number."""
        cell = self._candidates()
        item, k = self.item[cell], len(self.size)
        delta = self.cost[cell] - self.own[item]
        self.proven = not (delta < 0).any()
        if self.proven:
            return 0
        shape, one, at = (k, len(cell)), np.ones(len(cell)), np.arange(len(cell))
        grows = sparse.csr_array((one, (self.head[cell], at)), shape)
        grows -= sparse.csr_array((one, (self.labels[item], at)), shape)
        item_once = sparse.csr_array((one, (np.unique(item, return_inverse=True)[1], at)))
        room = np.minimum(self.low - self.size, 0.0), np.maximum(self.high - self.size, 0.0)
        rules = [LinearConstraint(item_once, -np.inf, 1.0), LinearConstraint(grows, *room)]
        found = milp(delta / np.abs(delta).max(), bounds=(0.0, 1.0), constraints=rules)
        self.proven = found.status == 0
        chosen = np.flatnonzero(found.x > 0.5) if self.proven else at[:0]
        if not delta[chosen].sum() < -_LP_ROUNDING * self.range:
            return 0
        moved, item = cell[chosen], item[chosen]
        self.labels[item], self.own[item] = self.head[moved], self.cost[moved]
        self.size = np.bincount(self.labels, minlength=k).astype(np.float64)
        self.n_moves += len(moved)
        return len(moved)

    def _candidates(self) -> Index:
        """The cells that go best from each cluster to each; few of those that lose."""
        cell = np.flatnonzero(self.head != self.labels[self.item])
        item = self.item[cell]
        loss = self.cost[cell] - self.own[item]
        arc = self.labels[item].astype(np.int64) * len(self.size) + self.head[cell]
        order = np.lexsort((loss, arc))
        first = np.flatnonzero(np.diff(arc[order], prepend=-1))
        rank = np.arange(len(cell)) - np.repeat(first, np.diff(np.append(first, len(cell))))
        per_arc = max(_PER_ARC, _CELLS // max(1, len(first)))
        return cell[order[rank < np.where(loss[order] < 0, per_arc, per_arc // 4)]]


@kernel
def _single_moves(order: Any, cells: Any, labels: Any, own: Any, sizes: Any, tolerance: float) -> int:
    """Move items of `order` to their cheapest cluster with room, where theirs can spare them."""
    (ptr, head, cost), (size, low, high) = cells, sizes
    moved = 0
    for i in order:
        g = labels[i]
        if size[g] <= low[g]:
            continue
        best, least = -1, own[i] - tolerance
        for e in range(ptr[i], ptr[i + 1]):
            h = head[e]
            if h != g and cost[e] < least and size[h] < high[h]:
                best, least = h, cost[e]
        if best >= 0:
            labels[i], own[i] = best, least
            size[g] -= 1.0
            size[best] += 1.0
            moved += 1
    return moved


@kernel
def _follow_cycles(start: int, stop: int, moves: Any, at: Any, walk: Any, labels: Any, own: Any) -> int:
    """Walk from clusters `start` to `stop` along moves, and make those of each cycle that closes.

    Those of cluster g are `ptr[g]` to `ptr[g + 1]`, the best to each other cluster first. They only disappear
    on the way (who has moved moves no more), so a cluster without a way on is done for good, and each move is
    looked at once but for the cycles. Rows of `walk`: 0 not visited, 1 on the way, 2 done; the way; the place
    of a cluster on it.
    """
    ptr, item, head, cost = moves
    mark, way, place = walk[0], walk[1], walk[2]
    moved = 0
    for root in range(start, stop):
        if mark[root] != 0:
            continue
        way[0], place[root], mark[root] = root, 0, 1
        length = 1
        while length > 0:
            g = way[length - 1]
            while at[g] < ptr[g + 1] and (mark[head[at[g]]] == 2 or labels[item[at[g]]] != g):
                at[g] += 1
            if at[g] == ptr[g + 1]:
                mark[g] = 2
                length -= 1
                continue
            h = head[at[g]]
            if mark[h] == 0:
                way[length], place[h], mark[h] = h, length, 1
                length += 1
                continue
            for p in range(place[h], length):
                e = at[way[p]]
                labels[item[e]], own[item[e]] = head[e], cost[e]
                moved += 1
                if p > place[h]:
                    mark[way[p]] = 0
            length = place[h] + 1
    return moved
