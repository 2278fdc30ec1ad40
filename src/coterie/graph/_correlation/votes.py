"""Votes of many clusterings about pairs of items, counted label by label and never pair by pair.

A node is items that stay together; it holds each label of each clustering, a token, so many times. Two nodes
a and b weigh `2 sum_t a_t b_t - sum_i a_i b_i` together: i is a clustering, a_i its items that have a label
there. So a node is compared with all clusters in the length of the lists of its tokens, which say how often
each cluster holds them; memory is that of the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie._compiled import in_slices, kernel
from coterie.graph._correlation.moves import RELATIVE, Level, is_open, relocate, scratch_of, weigh
from coterie.graph._correlation.search import clusters_of, contract
from coterie.graph._correlation.signed_graph import SignedGraph


class Votes(NamedTuple):
    """Tokens of nodes as the loops take them; nothing of it is written."""

    starts: Any  # CSR: the tokens of each node, and how often it holds them
    tokens: Any
    counts: Any
    column: Any  # the clustering of each token
    inner: Any  # what each node weighs with itself
    n_columns: int


class Tally(NamedTuple):
    """How often clusters hold each token: a list a token, with room for all its nodes; all is written."""

    firsts: Any
    lengths: Any
    cluster: Any
    count: Any
    known: Any  # (n, n_columns): labels that a cluster has in each clustering; no columns if none is missing
    listed: Any  # which clusters are counted: first not the single nodes, since lists would be long
    every: Any  # (1,): whether new ones are, too
    small: float  # clusters up to this size can do no more for a node than its size and theirs
    moved: Any  # (1,): the size of all that moved so far from or to larger clusters
    due: Any  # a node need not be looked at before `moved` is above this


@kernel(inline=True)
def _change(votes: Any, tally: Any, v: Any, c: Any, sign: Any) -> None:
    """Count the tokens of v in cluster c, or no longer."""
    for e in range(votes.starts[v], votes.starts[v + 1]):
        t, amount = votes.tokens[e], sign * votes.counts[e]
        at, last = tally.firsts[t], tally.firsts[t] + tally.lengths[t]
        while at < last and tally.cluster[at] != c:
            at += 1
        if at == last:
            tally.cluster[at], tally.count[at] = c, 0
            tally.lengths[t] += 1
            last += 1
        tally.count[at] += amount
        if tally.count[at] == 0:
            tally.cluster[at], tally.count[at] = tally.cluster[last - 1], tally.count[last - 1]
            tally.lengths[t] -= 1
        if tally.known.shape[1] > 0:
            tally.known[c, votes.column[t]] += amount


@kernel
def fill_tally(votes: Votes, label: Any, wanted: Any, tally: Tally, first: Any, last: Any) -> None:
    """Count the nodes from `first` to `last` in their clusters, if these are wanted; writes `tally`."""
    for v in range(first, last):
        if wanted[label[v]]:
            _change(votes, tally, v, label[v], 1)


@kernel
def move_voters(
    votes: Votes, level: Level, clusters: Any, tally: Tally, work: Any, order: Any, first: Any, last: Any
) -> Any:
    """Move the nodes of `order`, from `first` to `last`, to their best clusters.

    `level` has constraints alone as its edges. Writes all but it and the votes; returns what was gained.
    """
    gained = 0.0
    for place in range(first, last):
        v = order[place]
        if tally.moved[0] <= tally.due[v]:
            continue
        own, size = clusters.label[v], level.size[v]
        n_touched = weigh(level, clusters.label, work, v)
        for e in range(votes.starts[v], votes.starts[v + 1]):
            t = votes.tokens[e]
            for at in range(tally.firsts[t], tally.firsts[t] + tally.lengths[t]):
                c = tally.cluster[at]
                if work.seen[c] != work.stamp[0]:
                    work.seen[c] = work.stamp[0]
                    work.gain[c] = 0.0
                    work.touched[n_touched] = c
                    n_touched += 1
                work.gain[c] += 2.0 * votes.counts[e] * tally.count[at]
        now, best, to = 0.0, 0.0, -1  # alone
        for i in range(n_touched):
            c = work.touched[i]
            value = work.gain[c]
            if tally.known.shape[1] > 0:
                for e in range(votes.starts[v], votes.starts[v + 1]):
                    value -= votes.counts[e] * tally.known[c, votes.column[votes.tokens[e]]]
            else:
                value -= votes.n_columns * size * clusters.total[c]
            if c == own:
                now = value - votes.inner[v]
            elif value > best and tally.listed[c] and is_open(level, clusters, v, c):
                best, to = value, c
        if not best > now + RELATIVE * (abs(best) + abs(now)):
            free = level.starts[v] == level.starts[v + 1] and level.tag_starts[v] == level.tag_starts[v + 1]
            for row in range(level.codes.shape[0]):
                free = free and level.codes[row, v] < 0
            if free and clusters.total[own] > size:
                # what moves changes two of the sums, each by no more than its size times this
                most = votes.n_columns * size
                tally.due[v] = tally.moved[0] + 0.5 * (now - max(best, tally.small * most)) / most
            continue
        gained += best - now
        if clusters.total[own] > tally.small or (to >= 0 and clusters.total[to] + size > tally.small):
            tally.moved[0] += size
        if tally.listed[own]:
            _change(votes, tally, v, own, -1)
        alone, to = to < 0, relocate(level, clusters, v, to)
        if alone:
            tally.listed[to] = tally.every[0]
        if tally.listed[to]:
            _change(votes, tally, v, to, 1)
    return gained


@kernel
def weigh_pairs(votes: Votes, u: Any, nodes: Any, joined: Any, known: Any, mark: Any) -> None:
    """Votes that join u with each of `nodes`, and votes in all if `known` has room; `mark` is 0 again after.

    `mark` has a place for each token and one for each clustering.
    """
    n_tokens = len(votes.column)
    for sign in (1, -1):
        for e in range(votes.starts[u], votes.starts[u + 1]):
            mark[votes.tokens[e]] += sign * votes.counts[e]
            mark[n_tokens + votes.column[votes.tokens[e]]] += sign * votes.counts[e]
        if sign < 0:
            return
        for i in range(len(nodes)):
            for e in range(votes.starts[nodes[i]], votes.starts[nodes[i] + 1]):
                joined[i] += votes.counts[e] * mark[votes.tokens[e]]
                if len(known) > 0:
                    known[i] += votes.counts[e] * mark[n_tokens + votes.column[votes.tokens[e]]]


@kernel
def join_legally(level: Level, clusters: Any, work: Any, target: Any) -> None:
    """Put single nodes into the cluster of their target, unless they are apart from one there."""
    for v in range(len(target)):
        c = target[v]
        weigh(level, clusters.label, work, v)
        apart = work.seen[c] == work.stamp[0] and work.gain[c] == -np.inf
        if c != v and not apart and is_open(level, clusters, v, c):
            relocate(level, clusters, v, c)


@dataclass(frozen=True, eq=False)
class Ballot:
    """Nodes, the tokens that they hold, and what keeps nodes apart."""

    held: Any  # CSR of nodes by tokens: how often
    column: Index  # the clustering of each token
    n_columns: int
    level: Level  # sizes of the nodes; its edges are pairs that are apart, and votes of constraints

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.level.size)

    @cached_property
    def total(self) -> Floats:
        """How often each token is held."""
        return np.ones(self.n) @ self.held

    @cached_property
    def known(self) -> Floats:
        """Labels that each clustering has, in all."""
        return np.bincount(self.column, self.total, self.n_columns).astype(np.float64)

    @cached_property
    def missing(self) -> bool:
        """Whether some labels are."""
        return bool(self.known.min() < self.level.size.sum())

    @cached_property
    def votes(self) -> Votes:
        """The tokens as the loops take them."""
        held = self.held
        inner = 2.0 * sums_of_squares(held) - sums_of_squares(self.by_column(held))
        starts = held.indptr.astype(np.int64)
        return Votes(starts, held.indices, held.data, self.column, inner, self.n_columns)

    def by_column(self, held: Any) -> Any:
        """Counts of tokens as counts of labels in each clustering."""
        return held @ indicator(self.column, self.n_columns).T

    def cost(self, label: Index) -> float:
        """Votes against labels of nodes, over all pairs that votes are about, and constraints broken."""
        held = indicator(label, int(label.max()) + 1) @ self.held
        pairs = sums_of_squares(self.by_column(held)).sum() - 2.0 * sums_of_squares(held).sum()
        return 0.5 * float(pairs + self.total @ self.total) + SignedGraph(self.level, label).cost(label)

    def pairs(self, u: int, nodes: Index) -> tuple[Any, Any]:
        """Votes that join u with each of some nodes, and votes in all."""
        joined, known = np.zeros((2, len(nodes)), dtype=np.int64)
        mark = np.zeros(len(self.column) + self.n_columns, dtype=np.int64)
        weigh_pairs(self.votes, u, nodes, joined, known if self.missing else known[:0], mark)
        return joined, known if self.missing else self.n_columns * self.level.size[u] * self.level.size[nodes]

    def net_of(self, u: int, nodes: Index) -> Any:
        """What u weighs with each of some nodes by votes."""
        joined, known = self.pairs(u, nodes)
        return 2.0 * joined - known

    def net(self) -> Floats:
        """All weights of nodes by nodes, and minus infinity where two are apart."""
        table = SignedGraph(self.level, np.arange(self.n)).weights()
        for u in range(self.n):
            table[u, u + 1 :] += self.net_of(u, np.arange(u + 1, self.n))
            table[u + 1 :, u] = table[u, u + 1 :]
        return table

    def bound(self) -> float:
        """No labels cost less: the smaller side of the votes about two nodes, and votes against nodes."""
        less = 0.5 * float((sums_of_squares(self.by_column(self.held)) - sums_of_squares(self.held)).sum())
        for u in range(self.n - 1):
            joined, known = self.pairs(u, np.arange(u + 1, self.n))
            less += float(np.minimum(joined, known - joined).sum())
        return less

    def legal(self, label: Index) -> Index:
        """These labels, but a node is alone without votes, and where it must not be with one before it."""
        clusters, blank = clusters_of(self.level, np.arange(self.n)), np.diff(self.held.indptr) == 0
        label = np.where(blank, int(label.max()) + 1 + np.arange(self.n), label)
        first, label = np.unique(label, return_index=True, return_inverse=True)[1:]
        join_legally(self.level, clusters, scratch_of(self.n), first[label])
        return clusters.label

    def only(self, nodes: Index) -> Ballot:
        """The ballot of some nodes."""
        level = SignedGraph(self.level, nodes).only(nodes).level
        return Ballot(self.held[nodes], self.column, self.n_columns, level)

    def nearest(self, nodes: Index, label: Index, others: Index) -> Index:
        """The clusters, by labels of some nodes, that others are best put into; -1: none is worth it."""
        counts = (indicator(label, int(label.max()) + 1) @ self.held[nodes]).T.toarray()
        known = indicator(self.column, self.n_columns) @ counts
        found = [np.empty(0, dtype=np.int64)]
        for first, last in in_slices(len(others), 20 * counts.shape[1]):
            held = self.held[others[first:last]]
            value = 2 * (held @ counts) - self.by_column(held) @ known
            found.append(np.where(value.max(axis=1) > 0, value.argmax(axis=1), -1))
        return np.concatenate(found)

    def improve(self, label: Index, rng: Any, step: Any, cost: float) -> tuple[Index, list[float]]:
        """Labels that no move of a node or of a whole cluster betters, and the cost after each sweep."""
        history, due, small = [cost], np.full(self.n, -1.0), 2.0 * self.level.size.max()
        while True:
            label, moved = self._sweep(label, rng, step, history, due, small)
            part = np.unique(label, return_inverse=True)[1]
            k, before = int(part.max()) + 1, history[-1]
            level = contract(self.level, part, scratch_of(self.n))
            whole = Ballot(indicator(part, k) @ self.held, self.column, self.n_columns, level)
            outer, more = whole._sweep(np.arange(k), rng, step, history, np.full(k, -1.0), small)
            label = outer[part]
            due -= moved + more
            if history[-1] >= before or np.isinf(moved + more):
                return label, history

    def _sweep(
        self, label: Index, rng: Any, step: Any, history: list[float], due: Floats, small: float
    ) -> tuple[Index, float]:
        """Sweeps until one moves nothing, and the size moved; infinity if a callback stopped them."""
        votes, level, n = self.votes, self.level, self.n
        clusters = clusters_of(level, np.unique(label, return_inverse=True)[1].astype(np.int64))
        lengths = np.bincount(self.held.indices, minlength=len(self.column))
        cluster, count = np.empty((2, self.held.nnz), dtype=np.int32)
        known = np.zeros((n, self.n_columns) if self.missing else (0, 0), dtype=np.int32)
        listed, every = np.zeros(n, dtype=np.bool_), np.zeros(1, dtype=np.bool_)
        lists = (np.cumsum(lengths) - lengths, np.zeros_like(lengths), cluster, count, known)
        tally, work = Tally(*lists, listed, every, small, np.zeros(1), due), scratch_of(n)
        for every[0] in (False, True):
            wanted = ~listed & (every[0] | (np.bincount(clusters.label, minlength=n) > 1))
            for first, last in in_slices(n, 10 * self.n_columns):
                fill_tally(votes, clusters.label, wanted, tally, first, last)
            listed[wanted], gained = True, 1.0
            while gained > 0:
                order, gained = rng.permutation(n), 0.0
                for first, last in in_slices(n, 20 * self.n_columns):
                    gained += move_voters(votes, level, clusters, tally, work, order, first, last)
                history.append(history[-1] - gained)
                if step(history[-1]):
                    return clusters.label, np.inf
        return clusters.label, float(tally.moved[0])


def sums_of_squares(matrix: Any) -> Floats:
    """Of each row of a CSR matrix."""
    squares = np.square(matrix.data, dtype=np.float64)
    squared = sparse.csr_matrix((squares, matrix.indices, matrix.indptr), matrix.shape)
    return squared @ np.ones(matrix.shape[1])


def indicator(label: Index, k: int) -> Any:
    """One row a label, one column an item: 1 where the item has it."""
    ones = np.ones(len(label), dtype=np.int32)
    return sparse.csr_matrix((ones, (label, np.arange(len(label)))), (k, len(label)))
