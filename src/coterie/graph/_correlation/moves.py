"""Moves of nodes between clusters of a signed graph, contraction, and refinement within clusters: compiled.

Two nodes a and b weigh `excess[a, b] + default * size[a] * size[b]` together: what is stored, and a repulsion
of all pairs that is never written out. Minus infinity is a pair that may not be together. Nodes of one tag
are apart, and so are nodes with different codes (-1: none) in a row of `codes`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled import kernel

# A move must gain more than this share of what it is about.
RELATIVE = 1e-12


class Level(NamedTuple):
    """A signed graph as the loops take it; nothing of it is written."""

    starts: Any  # CSR, symmetric, without a diagonal
    ends: Any
    excess: Any
    size: Any
    default: float
    codes: Any  # (n_rows, n): nodes of different codes are apart
    tag_starts: Any  # tags of each node
    tags: Any
    member_starts: Any  # nodes of each tag
    members: Any


class Clusters(NamedTuple):
    """Where the nodes are; all of it is written."""

    label: Any
    total: Any  # size of each cluster
    code: Any  # (n_rows, n): the code of a cluster
    n_coded: Any  # (n_rows, n): how many of its nodes have it
    first: Any  # a node with tags in each cluster (-1: none), a chain of such nodes, both ways
    after: Any
    before: Any
    free: Any  # numbers of empty clusters, a stack
    n_free: Any  # (1,)


class MoveScratch(NamedTuple):
    """Room to work in: sums by cluster, and which were touched when."""

    gain: Any
    seen: Any  # the stamp of the last visit that touched a cluster
    touched: Any
    stamp: Any  # (1,)


@kernel(inline=True)
def weigh(level: Any, label: Any, work: Any, v: Any) -> Any:
    """Sum the weights of v by cluster into `work`; how many were touched."""
    work.stamp[0] += 1
    stamp = work.stamp[0]
    n_touched = 0
    for e in range(level.starts[v], level.starts[v + 1]):
        c = label[level.ends[e]]
        if work.seen[c] != stamp:
            work.seen[c] = stamp
            work.gain[c] = 0.0
            work.touched[n_touched] = c
            n_touched += 1
        work.gain[c] += level.excess[e]
    return n_touched


@kernel(inline=True)
def are_apart(level: Any, a: Any, b: Any) -> Any:
    """Whether a code or a tag keeps two nodes apart."""
    for row in range(level.codes.shape[0]):
        code, other = level.codes[row, a], level.codes[row, b]
        if code >= 0 and other >= 0 and code != other:
            return True
    for s in range(level.tag_starts[a], level.tag_starts[a + 1]):
        for t in range(level.tag_starts[b], level.tag_starts[b + 1]):
            if level.tags[s] == level.tags[t]:
                return True
    return False


@kernel(inline=True)
def is_open(level: Any, clusters: Any, v: Any, c: Any) -> Any:
    """Whether v may move into cluster c, beside its edges."""
    for row in range(level.codes.shape[0]):
        code = level.codes[row, v]
        if code >= 0 and clusters.n_coded[row, c] > 0 and clusters.code[row, c] != code:
            return False
    for t in range(level.tag_starts[v], level.tag_starts[v + 1]):
        tag = level.tags[t]
        # nodes of the tag and tagged nodes of the cluster side by side: the fewer ones tell
        m, u = level.member_starts[tag], clusters.first[c]
        while m < level.member_starts[tag + 1] and u >= 0:
            if clusters.label[level.members[m]] == c:
                return False
            for s in range(level.tag_starts[u], level.tag_starts[u + 1]):
                if level.tags[s] == tag:
                    return False
            m, u = m + 1, clusters.after[u]
    return True


@kernel(inline=True)
def relocate(level: Any, clusters: Any, v: Any, to: Any) -> Any:
    """Move a node into another cluster, -1: a new one, and return which; writes `clusters`."""
    own, tagged = clusters.label[v], level.tag_starts[v] < level.tag_starts[v + 1]
    clusters.total[own] -= level.size[v]
    if clusters.total[own] <= 0.5:
        clusters.free[clusters.n_free[0]] = own
        clusters.n_free[0] += 1
        clusters.total[own] = 0.0
    if to < 0:
        clusters.n_free[0] -= 1
        to = clusters.free[clusters.n_free[0]]
    clusters.label[v] = to
    clusters.total[to] += level.size[v]
    for row in range(level.codes.shape[0]):
        if level.codes[row, v] >= 0:
            clusters.n_coded[row, own] -= 1
            clusters.code[row, to] = level.codes[row, v]
            clusters.n_coded[row, to] += 1
    if tagged:
        left, right, head = clusters.before[v], clusters.after[v], clusters.first[to]
        if left >= 0:
            clusters.after[left] = right
        else:
            clusters.first[own] = right
        if right >= 0:
            clusters.before[right] = left
        if head >= 0:
            clusters.before[head] = v
        clusters.before[v], clusters.after[v], clusters.first[to] = -1, head, v
    return to


@kernel
def move_nodes(
    level: Level, clusters: Clusters, work: MoveScratch, queue: Any, waiting: Any, state: Any, steps: Any
) -> Any:
    """Move nodes to their best clusters, in the order of a queue, until it is empty or `steps` are made.

    `queue` is a ring of nodes and `waiting` says who is in it; `state` holds its first place and its length.
    Writes all but the level; returns what was gained.
    """
    n = len(clusters.label)
    gained = 0.0
    while state[1] > 0 and steps > 0:
        v = queue[state[0]]
        state[0] = (state[0] + 1) % n
        state[1] -= 1
        waiting[v] = False
        own = clusters.label[v]
        size = level.size[v]
        n_touched = weigh(level, clusters.label, work, v)
        steps -= 4 + level.starts[v + 1] - level.starts[v]
        now = level.default * size * (clusters.total[own] - size)
        if work.seen[own] == work.stamp[0]:
            now += work.gain[own]
        best, at = 0.0, -1  # alone
        for t in range(n_touched):
            c = work.touched[t]
            if c == own:
                continue
            value = work.gain[c] + level.default * size * clusters.total[c]
            if value > best and is_open(level, clusters, v, c):
                best, at = value, c
        if not best > now + RELATIVE * (abs(best) + abs(now)):
            continue
        gained += best - now
        at = relocate(level, clusters, v, at)
        for e in range(level.starts[v], level.starts[v + 1]):
            u = level.ends[e]
            if clusters.label[u] != at and not waiting[u]:
                queue[(state[0] + state[1]) % n] = u
                state[1] += 1
                waiting[u] = True
    return gained


@kernel
def refine_clusters(
    level: Level, label: Any, inner: Clusters, work: MoveScratch, order: Any, first: Any, last: Any
) -> None:
    """Merge nodes within their cluster, from single nodes on; only a node that is single moves.

    Goes through `order` from `first` to `last`; writes `inner` and `work`.
    """
    for place in range(first, last):
        v = order[place]
        own = inner.label[v]
        size = level.size[v]
        if inner.total[own] > size + 0.5:
            continue
        n_touched = weigh(level, inner.label, work, v)
        best, at = 0.0, -1
        for t in range(n_touched):
            c = work.touched[t]
            # a number of an inner cluster is a node of it
            if c == own or label[c] != label[v]:
                continue
            value = work.gain[c] + level.default * size * inner.total[c]
            if value > best and is_open(level, inner, v, c):
                best, at = value, c
        if at >= 0:
            relocate(level, inner, v, at)


@kernel
def contract_edges(
    starts: Any, ends: Any, excess: Any, label: Any, order: Any, firsts: Any, work: MoveScratch,
    new_starts: Any, new_ends: Any, new_excess: Any,
) -> Any:  # fmt: skip
    """Edges between clusters; nodes stand in `order` by their label, cluster c from `firsts[c]` on.

    Writes the last three and `work`; returns the number of entries.
    """
    n_entries = 0
    for c in range(len(firsts) - 1):
        new_starts[c] = n_entries
        work.stamp[0] += 1
        stamp = work.stamp[0]
        for place in range(firsts[c], firsts[c + 1]):
            v = order[place]
            for e in range(starts[v], starts[v + 1]):
                other = label[ends[e]]
                if other == c:
                    continue
                if work.seen[other] != stamp:
                    work.seen[other] = stamp
                    work.touched[other] = n_entries
                    new_ends[n_entries] = other
                    new_excess[n_entries] = 0.0
                    n_entries += 1
                new_excess[work.touched[other]] += excess[e]
    new_starts[len(firsts) - 1] = n_entries
    return n_entries


def scratch_of(n: int) -> MoveScratch:
    """Room for n nodes."""
    seen, touched = np.zeros((2, n), dtype=np.int64)
    return MoveScratch(np.zeros(n), seen, touched, np.zeros(1, dtype=np.int64))
