"""The moves of the Gibbs sampler: blocked draws of forests, Swendsen-Wang clusters, exchanges of labels.

Units are parted into blocks within which couplings form a forest, and each block is drawn jointly, given all
others: messages go up its trees, labels are drawn on the way down. Bonds join must-linked units that agree
(Swendsen and Wang 1987), so that clusters move as one; exchanges go along chains of units that agree or keep
apart as they should (after Wang, Swendsen and Kotecky 1989).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from coterie._arrays import Floats, Index
from coterie._compiled import kernel

Graph = tuple[Index, Index, Floats]  # indptr, indices, coupling of each entry

# Cells (labels and edge ends) that one call of a compiled loop may visit: some tenths of a second.
_CELLS_A_CALL = 2**22
# Couplings up to this size are exponentiated as they are: neither overflow nor underflow can do harm.
_MODEST = 500.0
# Columns of the notes that `_draw_blocks` makes on each node.
_BLOCK, _ROOT, _MET, _PLACE = 0, 1, 2, 3


@kernel
def _draw_blocks(
    graph: Graph, potential: Floats, order: Index, uniform: Floats, labels: Index, notes: Index
) -> None:
    """Part the nodes of `order` into blocks without a circle, and draw the labels of each block jointly.

    A node enters the first block in which its neighbours lie in different trees. Written: `labels`, the
    scratch `notes` (all -1 before and after). One long kernel, since blocks, messages and draws share their
    scratch arrays.
    """
    indptr, indices, beta = graph
    n, k = order.shape[0], potential.shape[1]
    circle = np.empty(n, dtype=np.int64)  # by block: the last node that would close a circle there
    begin = np.zeros(n + 2, dtype=np.int64)
    n_blocks = 0
    for t in range(n):
        v = order[t]
        for e in range(indptr[v], indptr[v + 1]):
            r = indices[e]
            b = notes[r, _BLOCK]
            if b >= 0:
                while notes[r, _ROOT] != r:
                    notes[r, _ROOT] = notes[notes[r, _ROOT], _ROOT]
                    r = notes[r, _ROOT]
                if notes[r, _MET] == v:
                    circle[b] = v
                notes[r, _MET] = v
        b = 0
        while b < n_blocks and circle[b] == v:
            b += 1
        if b == n_blocks:
            circle[b] = -1
            n_blocks += 1
        begin[b + 2] += 1
        notes[v, _BLOCK] = b
        notes[v, _ROOT] = v
        for e in range(indptr[v], indptr[v + 1]):
            r = indices[e]
            if notes[r, _BLOCK] == b:
                while notes[r, _ROOT] != r:
                    r = notes[r, _ROOT]
                notes[r, _ROOT] = v
    for b in range(n_blocks):
        begin[b + 2] += begin[b + 1]
    member = np.empty(n, dtype=np.int64)
    for t in range(n):
        b = notes[order[t], _BLOCK]
        member[begin[b + 1]] = order[t]
        begin[b + 1] += 1

    queue = np.empty(n, dtype=np.int64)  # by block and tree, parents first
    above = np.empty(n, dtype=np.int64)  # where the parent stands in the queue
    tie = np.empty(n)  # coupling to the parent
    local_energy = np.empty((n, k))
    share = np.empty(k)
    others = np.empty(k)
    head = tail = 0
    for b in range(n_blocks):
        first = head
        for t in range(begin[b], begin[b + 1]):
            if notes[member[t], _PLACE] >= 0:
                continue
            queue[tail] = member[t]
            notes[member[t], _PLACE] = tail
            above[tail] = -1
            tail += 1
            while head < tail:
                v = queue[head]
                for a in range(k):
                    local_energy[head, a] = potential[v, a]
                for e in range(indptr[v], indptr[v + 1]):
                    w = indices[e]
                    if notes[w, _BLOCK] != b:
                        local_energy[head, labels[w]] += beta[e]
                    elif notes[w, _PLACE] < 0:
                        queue[tail] = w
                        notes[w, _PLACE] = tail
                        above[tail] = head
                        tie[tail] = beta[e]
                        tail += 1
                head += 1
        for q in range(head - 1, first - 1, -1):
            if above[q] < 0:
                continue
            top = 0
            for a in range(1, k):
                if local_energy[q, a] > local_energy[q, top]:
                    top = a
            high = local_energy[q, top]
            # sums over the other labels, relative to the largest, from the left and from the right
            total = 0.0
            for a in range(k):
                share[a] = math.exp(local_energy[q, a] - high)
                others[a] = total
                total += share[a]
            total = 0.0
            for a in range(k - 1, -1, -1):
                others[a] += total
                total += share[a]
            if abs(tie[q]) <= _MODEST:
                gain = math.exp(tie[q])
                for a in range(k):
                    local_energy[above[q], a] += math.log(others[a] + gain * share[a])
                continue
            second = -np.inf
            for a in range(k):
                if a != top and local_energy[q, a] > second:
                    second = local_energy[q, a]
            for a in range(k):
                apart = -np.inf
                if a != top:
                    apart = math.log(others[a])
                elif second > -np.inf:
                    total = 0.0
                    for c in range(k):
                        if c != top:
                            total += math.exp(local_energy[q, c] - second)
                    apart = second - high + math.log(total)
                joint = local_energy[q, a] - high + tie[q]
                larger = max(apart, joint)
                if larger > -np.inf:
                    larger += math.log1p(math.exp(min(apart, joint) - larger))
                local_energy[above[q], a] += larger
        for q in range(first, head):
            v = queue[q]
            if above[q] >= 0:
                local_energy[q, labels[queue[above[q]]]] += tie[q]
            high = local_energy[q, 0]
            for a in range(1, k):
                high = max(high, local_energy[q, a])
            total = 0.0
            for a in range(k):
                share[a] = math.exp(local_energy[q, a] - high)
                total += share[a]
            rest = uniform[q] * total
            for a in range(k):
                if share[a] > 0.0:
                    labels[v] = a  # the last that is possible, should rounding leave a rest
                    if rest < share[a]:
                        break
                    rest -= share[a]
    for t in range(n):
        for c in range(4):
            notes[order[t], c] = -1


@kernel
def _bond(
    ends: Index, beta: Floats, start: int, uniform: Floats, labels: Index, one: int, two: int, root: Index
) -> None:
    """Join ends of edges from `start` on by chance: those that agree, or keep apart, as they should.

    Where `one` is not -1, only ends with the labels `one` and `two` count. Written: `root`.
    """
    for e in range(start, start + uniform.shape[0]):
        v, w = ends[e, 0], ends[e, 1]
        a, b = labels[v], labels[w]
        if (a == b) != (beta[e] > 0.0):
            continue
        if one >= 0 and ((a != one and a != two) or (b != one and b != two)):
            continue
        if uniform[e - start] < -math.expm1(-abs(beta[e])):
            while root[v] != v:
                root[v] = root[root[v]]
                v = root[v]
            while root[w] != w:
                root[w] = root[root[w]]
                w = root[w]
            root[max(v, w)] = min(v, w)


@kernel
def _number(
    root: Index, start: int, stop: int, n_found: int, cluster: Index, ahead: Index, last: Index
) -> int:
    """Number clusters by their first node, chain up their nodes; returns how many there are so far.

    Written: `root`, `cluster`, `ahead` (next node of the cluster, -1: none), `last` node of each cluster.
    """
    for v in range(start, stop):
        r = root[v] = root[root[v]]  # roots come first, so that nobody before v is further off than that
        ahead[v] = -1
        if r == v:
            cluster[v] = n_found
            n_found += 1
        else:
            cluster[v] = cluster[r]
            ahead[last[cluster[v]]] = v
        last[cluster[v]] = v
    return n_found


@kernel
def _contract(
    graph: Graph, cluster: Index, ahead: Index, first: Index, start: int, stop: int, seat: Index, out: Graph
) -> None:
    """Cannot-links between the clusters `start` to `stop` and others, parallel ones added up.

    Written: `seat` (where a cluster was entered last, -1 at first), `out`.
    """
    indptr, indices, beta = graph
    out_ptr, out_index, out_beta = out
    for c in range(start, stop):
        end = out_ptr[c]
        v = first[c]
        while v >= 0:
            for e in range(indptr[v], indptr[v + 1]):
                d = cluster[indices[e]]
                if beta[e] >= 0.0 or d == c:
                    continue
                if seat[d] >= out_ptr[c]:
                    out_beta[seat[d]] += beta[e]
                    continue
                seat[d] = end
                out_index[end] = d
                out_beta[end] = beta[e]
                end += 1
            v = ahead[v]
        out_ptr[c + 1] = end


@kernel
def _record(
    graph: Graph, potential: Floats, labels: Index, start: int, stop: int, batch: Floats, met: Floats
) -> tuple[float, float]:
    """Add what each of the nodes `start` to `stop` would do given all others.

    Written: `batch` (by node and label), `met` (by entry of the graph: to agree with that neighbour).
    Returns the summed logs of what the probabilities were divided by, and twice the couplings that agree.
    """
    indptr, indices, beta = graph
    k = potential.shape[1]
    share = np.empty(k)
    log_sum = twice = 0.0
    for v in range(start, stop):
        for a in range(k):
            share[a] = potential[v, a]
        for e in range(indptr[v], indptr[v + 1]):
            a = labels[indices[e]]
            share[a] += beta[e]
            if a == labels[v]:
                twice += beta[e]
        high = share[0]
        for a in range(1, k):
            high = max(high, share[a])
        total = 0.0
        for a in range(k):
            share[a] = math.exp(share[a] - high)
            total += share[a]
        log_sum += high + math.log(total)
        for a in range(k):
            share[a] /= total
            batch[v, a] += share[a]
        for e in range(indptr[v], indptr[v + 1]):
            met[e] += share[labels[indices[e]]]
    return log_sum, twice


def _pieces(indptr: Index, k: int, rng: np.random.Generator | None = None) -> list[tuple[int, int]]:
    """Ranges of nodes with about `_CELLS_A_CALL` cells each, cut anywhere where a generator is given."""
    n = len(indptr) - 1
    cells = int(indptr[-1]) + k * n
    if cells <= _CELLS_A_CALL:
        return [(0, n)]
    first = _CELLS_A_CALL if rng is None else int(rng.integers(1, _CELLS_A_CALL))
    wanted = np.arange(first, cells, _CELLS_A_CALL)
    cuts = np.searchsorted(indptr + k * np.arange(n + 1), wanted)
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [n]])).tolist()))


class Moves:
    """Sweeps over labels, which are changed in place, at some potentials and couplings.

    Parameters
    ----------
    potential : array of shape (n, k)
        Log potentials.
    graph : tuple of arrays
        Couplings as a symmetric sparse graph: pointers, neighbours, worth.
    ends, beta : arrays of shape (m, 2) and (m,)
        The same, each once.
    labels : array of shape (n,)
        Legal labels.
    rng : Generator
        Draws.
    n_sweeps : int
        About how many sweeps will be made.
    """

    def __init__(
        self,
        potential: Floats,
        graph: Graph,
        ends: Index,
        beta: Floats,
        labels: Index,
        rng: np.random.Generator,
        n_sweeps: int,
    ) -> None:
        self.n, self.k = potential.shape
        self.rng, self.labels, self.potential, self.graph = rng, labels, potential, graph
        attract = beta > 0.0
        by_sign = np.argsort(~attract, kind="stable")
        self.ends, self.beta, self.n_attract = ends[by_sign], beta[by_sign], int(attract.sum())
        self.repel = bool((beta < 0.0).any())
        self.notes: Index = np.full((self.n, 4), -1, dtype=np.int64)
        self.root, self.cluster, self.ahead, self.last = (np.empty(self.n, dtype=np.int64) for _ in range(4))
        # loops that are short in all are not compiled
        work = n_sweeps * (2 * potential.size + 4 * len(graph[1]))
        self.draw_blocks, self.record_piece = _draw_blocks.for_work(work), _record.for_work(work)
        self.bond, self.number, self.contract = (
            _bond.for_work(work),
            _number.for_work(work),
            _contract.for_work(work),
        )

    def sweep(self, bonded: bool) -> None:
        """Draw all labels, unit by unit or as bonded clusters; then two labels are exchanged as well."""
        if bonded and self.n_attract:
            self._move_clusters()
        else:
            self._blocks(self.graph, self.potential, self.labels)
        if bonded and self.repel and self.k > 1:
            self._exchange()

    def record(self, batch: Floats, met: Floats) -> tuple[float, float]:
        """Add the probabilities of each unit given all others; see `_record`."""
        log_sum = twice = 0.0
        for start, stop in _pieces(self.graph[0], self.k):
            sums = self.record_piece(self.graph, self.potential, self.labels, start, stop, batch, met)
            log_sum, twice = log_sum + sums[0], twice + sums[1]
        return log_sum, twice

    def _blocks(self, graph: Graph, potential: Floats, labels: Index) -> None:
        for start, stop in _pieces(graph[0], self.k, self.rng):
            order = start + self.rng.permutation(stop - start)
            self.draw_blocks(graph, potential, order, self.rng.random(len(order)), labels, self.notes)

    def _bonded(self, n_edges: int, one: int = -1, two: int = -1) -> int:
        """Clusters of units that are bonded by chance; returns how many there are."""
        self.root[:] = np.arange(self.n)
        for start in range(0, n_edges, _CELLS_A_CALL):
            uniform = self.rng.random(min(_CELLS_A_CALL, n_edges - start))
            self.bond(self.ends, self.beta, start, uniform, self.labels, one, two, self.root)
        found = 0
        for start in range(0, self.n, _CELLS_A_CALL):
            stop = min(start + _CELLS_A_CALL, self.n)
            found = self.number(self.root, start, stop, found, self.cluster, self.ahead, self.last)
        return found

    def _move_clusters(self) -> None:
        """Bond must-linked units that agree; draw the labels of the clusters under the cannot-links."""
        n_clusters = self._bonded(self.n_attract)
        first: Index = np.flatnonzero(self.root == np.arange(self.n))
        n_entries = len(self.graph[1]) if self.repel else 0
        indptr, indices = (np.zeros(size, dtype=np.int64) for size in (n_clusters + 1, n_entries))
        graph: Graph = indptr, indices, np.empty(n_entries)
        if self.repel:
            seat = np.full(n_clusters, -1, dtype=np.int64)
            n_calls = 1 + n_entries // _CELLS_A_CALL
            cuts = np.arange(n_calls + 1) * n_clusters // n_calls
            for start, stop in pairwise(cuts.tolist()):
                self.contract(self.graph, self.cluster, self.ahead, first, start, stop, seat, graph)
        potential = np.empty((n_clusters, self.k))
        for a in range(self.k):
            potential[:, a] = np.bincount(self.cluster, self.potential[:, a], n_clusters)
        labels = self.labels[first]
        self._blocks(graph, potential, labels)
        self.labels[:] = labels[self.cluster]

    def _exchange(self) -> None:
        """Exchange two labels in clusters of units that are bonded by agreeing or by keeping apart."""
        one = int(self.rng.integers(self.k))
        two = (one + 1 + int(self.rng.integers(self.k - 1))) % self.k
        n_clusters = self._bonded(len(self.ends), one, two)
        swapped = np.arange(self.k)
        swapped[[one, two]] = two, one
        units, other = np.arange(self.n), swapped[self.labels]
        gain = self.potential[units, other] - self.potential[units, self.labels]
        with np.errstate(over="ignore"):
            chance = 1.0 / (1.0 + np.exp(-np.bincount(self.cluster, gain, n_clusters)))
        swap = self.rng.random(n_clusters) < chance
        self.labels[:] = np.where(swap[self.cluster], other, self.labels)
