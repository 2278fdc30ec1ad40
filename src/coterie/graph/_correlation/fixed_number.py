"""Exactly k clusters of a signed graph: join or split those of a free partition, then move nodes between.

A visit costs O(k) beside the edges of the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Index
from coterie._compiled import SLICE, kernel
from coterie.graph._correlation.moves import (
    RELATIVE,
    Clusters,
    Level,
    MoveScratch,
    is_open,
    relocate,
    scratch_of,
    weigh,
)
from coterie.graph._correlation.search import clusters_of, contract


@kernel
def move_between(
    level: Level, clusters: Clusters, work: MoveScratch, n_nodes: Any, order: Any, first: Any, steps: Any
) -> Any:
    """Move nodes to the best of the clusters, none of which is left empty, through `order` from `first` on.

    `n_nodes` counts the nodes of each cluster. Writes it, `clusters` and `work`; returns where it stopped and
    what was gained.
    """
    k = len(n_nodes)
    gained = 0.0
    place = first
    while place < len(order) and steps > 0:
        v = order[place]
        place += 1
        own = clusters.label[v]
        if n_nodes[own] == 1:
            continue
        steps -= k + level.starts[v + 1] - level.starts[v]
        size = level.size[v]
        weigh(level, clusters.label, work, v)
        stamp = work.stamp[0]
        now = level.default * size * (clusters.total[own] - size)
        if work.seen[own] == stamp:
            now += work.gain[own]
        best, at = now, own
        for c in range(k):
            value = level.default * size * clusters.total[c]
            if work.seen[c] == stamp:
                value += work.gain[c]
            better = value > best + RELATIVE * (abs(value) + abs(best))
            if c != own and better and is_open(level, clusters, v, c):
                best, at = value, c
        if at != own:
            gained += best - now
            relocate(level, clusters, v, at)
            n_nodes[own] -= 1
            n_nodes[at] += 1
    return place, gained


def into_k(level: Level, label: Index, k: int) -> Index | None:
    """Legal labels with exactly k clusters near those given; None where it found no room for a node."""
    _, label, counts = np.unique(label, return_inverse=True, return_counts=True)
    n_clusters = len(counts)
    if n_clusters > k:
        return _join(level, label, k)
    if n_clusters < k:
        # nodes that are least at home go by themselves, but for the last one of a cluster
        home = _at_home(level, label)
        label = label.copy()
        for v in np.argsort(home, kind="stable"):
            if n_clusters == k:
                break
            if counts[label[v]] > 1:
                counts[label[v]] -= 1
                label[v] = n_clusters
                n_clusters += 1
    return label


def best_of_k(level: Level, label: Index, k: int, rng: Any) -> tuple[Index, float]:
    """Move nodes between k clusters until that gains nothing; the labels, and what was gained."""
    clusters, work = clusters_of(level, label), scratch_of(max(len(label), k))
    n_nodes, gained = np.bincount(label, minlength=k), 0.0
    while True:
        order, first, won = rng.permutation(len(label)), 0, 0.0
        while first < len(order):
            first, more = move_between(level, clusters, work, n_nodes, order, first, SLICE)
            won += more
        gained += won
        if not won:
            return clusters.label, gained


def _join(level: Level, label: Index, k: int) -> Index | None:
    """The k largest clusters, and each other one where it fits best."""
    part = contract(level, label, scratch_of(len(label)))
    order = np.argsort(-part.size, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order[:k]] = np.arange(k)
    place[order[k:]] = np.arange(k, len(order))
    clusters, work = clusters_of(part, place), scratch_of(len(order))
    for v in order[k:]:
        weigh(part, clusters.label, work, v)
        value = part.default * part.size[v] * clusters.total[:k]
        seen = work.seen[:k] == work.stamp[0]
        value[seen] += work.gain[:k][seen]
        # the best first: to ask all k would take longer than all else
        best = np.argsort(-value, kind="stable")
        fits = (c for c in best if np.isfinite(value[c]) and is_open(part, clusters, v, c))
        at = next(fits, None)
        if at is None:
            return None
        relocate(part, clusters, v, at)
    return np.asarray(clusters.label[label])


def _at_home(level: Level, label: Index) -> Any:
    """What each node weighs with the others of its cluster."""
    i = np.repeat(np.arange(len(label)), np.diff(level.starts))
    same = label[i] == label[level.ends]
    held = np.bincount(label, level.size)[label] - level.size
    return np.bincount(i[same], level.excess[same], len(label)) + level.default * level.size * held
