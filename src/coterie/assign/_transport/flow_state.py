"""Labels, flows and prices on the way to the cheapest labels whose sizes fit."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._arrays import NOTHING, Floats, Labels
from coterie._compiled import Kernel, chunk_rows, in_slices, over_chunks
from coterie.assign._transport.candidates import (
    TAIL,
    Cells,
    Heaps,
    all_margins,
    count_borders,
    find_candidates,
    measure_regrets,
    order_candidates,
)
from coterie.assign._transport.limits import NO_KINDS
from coterie.assign._transport.paths import DONE, PATHS, PAUSED, STUCK, Bounded, Nodes, push_paths
from coterie.assign._transport.shortlists import Shortlists

if TYPE_CHECKING:
    from coterie.assign._transport.transport import Transport

# Below this many rows everybody is a candidate.
FEW_ROWS = 1000
# Share of the rows that are candidates at first, and how much farther they may lie after each rebuilding.
_SHARE = 0.3
_FARTHER = 2.0
# ... as long as there are fewer than these, and than this many for each item.
_MANY_ARCS = 1_000_000
_ARCS_EACH = 4
# ... or this many rebuildings were not enough.
_PATIENCE = 8
# How far a step of Newton may go, in units of how far the items lie from whose number it was found.
_FARTHEST = 4.0
# Relaxations of edges between two returns to Python: some tenths of a second.
_SLICE = 10_000_000


class FlowState:
    """Labels, flows and potentials on the way."""

    def __init__(self, problem: Transport, potentials: Floats) -> None:
        self.problem = problem
        self.labels: Labels = np.zeros(problem.n, dtype=np.int32)
        self.regret = np.zeros(problem.n)
        self.regrets_hold = True  # as long as neither prices nor labels have changed since they were measured
        self.counters = np.zeros(3, dtype=np.int64)
        self.potentials = potentials

    @property
    def base(self) -> Floats:
        """The potentials of the kinds in the clusters: what is taken off the costs."""
        k = self.problem.k
        return self.potentials[: self.problem.n_kinds * k].reshape(-1, k)

    def over_rows(self, work: Kernel[..., None], cells: Cells) -> None:
        """Run a kernel that reads rows of costs, and writes labels or gaps."""
        limits, common = self.problem.limits, (self.labels, self.regret)
        over_chunks(
            lambda start, stop: work(cells, limits.kind, self.base, start, stop, *common),
            limits.n,
            chunk_rows(limits.n, 4 * cells.cost.shape[1], 0),
        )

    def balance(self) -> None:
        """Flows that suit the potentials, and what is left over or missing at each node."""
        problem, limits, k = self.problem, self.problem.limits, self.problem.k
        dual = self.potentials[-1 - k : -1]
        size = limits.held(self.labels)
        self.excess = np.zeros(problem.n_nodes)
        if problem.n_kinds > 1:
            self.kind_flow = _flow_at(self.base - dual, size, limits.kind_low, limits.kind_high)
            self.excess[: size.size] = (size - self.kind_flow).ravel()
            inside = self.kind_flow.sum(axis=0)
        else:
            self.kind_flow = size
            inside = size[0]
        self.flow_out = _flow_at(dual, inside, limits.low, limits.high)
        self.excess[-1 - k : -1] += inside - self.flow_out
        self.excess[-1] = self.flow_out.sum() - problem.total
        self.imbalance = float(np.abs(self.excess).sum()) / 2.0

    def newton_step(self, cells: Cells) -> Floats:
        """How prices should change so that sizes meet their bounds, if items lie as densely as at borders."""
        n, k = self.problem.n, self.problem.k
        # about as many items as have to move, on both sides of the borders
        n_near = min(int(2 * self.imbalance) + k, n - 1)
        reach = float(np.partition(self.regret, n_near)[n_near])
        count = np.zeros((k, k))
        for part in in_slices(n, cells.cost.shape[1]):
            count_borders(cells, self.base, self.labels, self.regret, reach, *part, count)
        answer = -(count + count.T)
        answer[np.diag_indices(k)] = -answer.sum(axis=1)
        # a cluster that may have any size near its own keeps its price, 0
        moved = np.flatnonzero((self.excess[:k] != 0) | (self.potentials[:k] != 0))
        answer = answer[np.ix_(moved, moved)]
        answer[np.diag_indices(len(moved))] += 1e-6 * (answer.diagonal().mean() + 1.0)
        step = np.zeros(k)
        step[moved] = reach * np.clip(np.linalg.solve(answer, -self.excess[moved]), -_FARTHEST, _FARTHEST)
        return step

    def run(self, cells: Cells) -> bool:
        """Push paths until everything fits; whether that was reached."""
        problem = self.problem
        limits = problem.limits
        n_nodes = problem.n_nodes
        nodes = Nodes(
            dual=self.potentials,
            level=np.zeros(n_nodes),
            excess=self.excess,
            settled=np.zeros(n_nodes, np.uint8),
            distance=np.empty(n_nodes),
            parent=np.empty(n_nodes, np.int64),
            final=np.empty(n_nodes, np.uint8),
            popped=np.empty(n_nodes, np.int64),
        )
        clusters = Bounded(self.flow_out, limits.low, limits.high)
        kinds = Bounded(self.kind_flow.ravel(), limits.kind_low.ravel(), limits.kind_high.ravel())
        # about as far as last time, if there was one
        status, reach = -1, problem.reached / _FARTHER**2
        n_arcs, n_paths, rebuilt = 0, -1, 0
        while status != DONE:
            if status != PAUSED:
                # nearer candidates need more rebuildings, all of them too much memory
                rebuilt += 1
                idle = n_paths == self.counters[PATHS]
                farther = idle or n_arcs < max(_MANY_ARCS, _ARCS_EACH * problem.n) or rebuilt % _PATIENCE == 0
                reach, heaps = self._candidates(cells, reach * (_FARTHER if farther else 1.0))
                n_paths, n_arcs = int(self.counters[PATHS]), int(heaps.length.sum())
                nodes.level[:] = 0.0
            status = push_paths(
                cells,
                limits.load,
                self.labels,
                heaps,
                nodes,
                clusters,
                kinds,
                reach,
                problem.tolerance,
                self.counters,
                max(_SLICE // n_nodes**2, 1),
                4 * problem.n + 1000,
            )
            self.regrets_hold = False
            if status != PAUSED:
                self.potentials += nodes.level
            if status == STUCK:
                return False
        problem.reached = reach if np.isfinite(reach) else 0.0
        self.potentials -= self.potentials[-1]
        return True

    def _candidates(self, cells: Cells, least: float) -> tuple[float, Heaps]:
        """Heaps of the items that lose little by a move; and the largest loss kept, `least` or more."""
        problem = self.problem
        kind, k = problem.limits.kind, problem.k
        n, width = cells.cost.shape
        common = cells, kind, self.base, self.labels, self.regret
        if not self.regrets_hold:
            self.over_rows(measure_regrets, cells)
        reach = least
        n_wanted = int(_SHARE * n)
        if n < FEW_ROWS:
            reach = np.inf
        elif not least > 0:
            reach = float(np.partition(self.regret, n_wanted)[n_wanted])
            if not reach > 0:
                above = self.regret[self.regret > 0]
                reach = float(above.min()) if len(above) else np.inf
        count = np.zeros((problem.n_kinds * k, k), dtype=np.int64)
        for part in in_slices(n, width):
            find_candidates(*common, reach, count, count, NOTHING, NO_KINDS, *part)
        if count.sum() == n * (width - 1):  # everybody is a candidate for everything
            reach = np.inf
        room = count + count // 2
        self.counters[TAIL] = room.sum()
        size = int(2 * room.sum() + 64 * k + 1024)
        heaps = Heaps(
            at=np.concatenate([[0], np.cumsum(room)])[:-1].reshape(room.shape),
            length=np.zeros(room.shape, dtype=np.int64),
            room=room,
            key=np.empty(size),
            who=np.empty(size, dtype=np.int32),
            margin=np.empty(room.shape),
            first=np.empty(room.shape, dtype=np.int64),
        )
        for part in in_slices(n, width):
            find_candidates(*common, reach, heaps.at, heaps.length, heaps.key, heaps.who, *part)
        for part in in_slices(len(room), int(4 * (count.mean() + 1) * k)):
            order_candidates(heaps, *part)
        return reach, heaps

    def distances(self, costs: Any) -> Floats:
        """Cost of one more unit at each node: the shortest distance from the sink, with all items."""
        problem = self.problem
        limits, k, n_kinds = problem.limits, problem.k, problem.n_kinds
        n_own, n_nodes = n_kinds * k, problem.n_nodes

        margin = np.full((n_own, k), np.inf)
        lock = Lock()

        def take(rows: slice, block: Any) -> None:
            part = np.full((n_own, k), np.inf)
            all_margins(block, limits.kind[rows], self.base, self.labels[rows], part)
            with lock:
                np.minimum(margin, part, out=margin)

        if isinstance(costs, Shortlists):
            costs.over_blocks(take)
        else:
            rows = chunk_rows(problem.n, 4 * k, n_own * k)
            over_chunks(lambda a, b: take(slice(a, b), costs[a:b]), problem.n, rows)
        edge = np.full((n_nodes, n_nodes), np.inf)
        for t in range(n_kinds):
            one = slice(t * k, (t + 1) * k)
            edge[one, one] = margin[one]
        tolerance, dual = problem.tolerance, self.potentials
        held = limits.held(self.labels)
        size = held.sum(axis=0)
        clusters = np.arange(n_nodes - 1 - k, n_nodes - 1)
        edge[clusters, -1] = np.where(size < limits.high - tolerance, dual[clusters], np.inf)
        edge[-1, clusters] = np.where(size > limits.low + tolerance, -dual[clusters], np.inf)
        if n_kinds > 1:
            own, cluster = np.arange(n_own), np.tile(clusters, n_kinds)
            up = dual[own] - dual[cluster]
            edge[own, cluster] = np.where((held < limits.kind_high - tolerance).ravel(), up, np.inf)
            edge[cluster, own] = np.where((held > limits.kind_low + tolerance).ravel(), -up, np.inf)
        root = n_nodes - 1
        pinned = not np.isfinite(edge[-1]).any()
        if pinned:
            root = int(clusters[np.argmax(size)])
        away = _shortest(edge, root)
        # where one more is impossible, any price that keeps the others from going there will do
        closed = np.isinf(away)
        if closed.any():
            away[closed] = max(0.0, float((away[~closed] - edge[np.ix_(closed, ~closed)]).max()))
        found = away + dual  # from reduced lengths to true ones
        if pinned:
            return found - found[clusters].mean()
        found -= found[-1]
        of_cluster = found[clusters]
        of_cluster = np.where(size > limits.low + tolerance, np.minimum(of_cluster, 0.0), of_cluster)
        found[clusters] = np.where(size < limits.high - tolerance, np.maximum(of_cluster, 0.0), of_cluster)
        return found


def _flow_at(dual: Floats, inside: Floats, low: Floats, high: Floats) -> Floats:
    """What leaves a node: the minimum at a positive price, the maximum at a negative one, else all."""
    return np.where(dual > 0, low, np.where(dual < 0, high, np.clip(inside, low, high)))


def _shortest(edge: Floats, root: int) -> Floats:
    """Distances from one node of a dense graph without negative cycles (Bellman and Ford)."""
    distance = np.full(len(edge), np.inf)
    distance[root] = 0.0
    for _ in range(len(edge)):
        nearer = (distance[:, None] + edge).min(axis=0)
        if not (nearer < distance).any():
            break
        distance = np.minimum(distance, nearer)
    return distance
