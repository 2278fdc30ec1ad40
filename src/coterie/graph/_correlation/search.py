"""Local search for the best partition of a signed graph: moves, refinement within clusters, contraction.

A pass moves single nodes as long as that gains, then splits each cluster into parts that hold together
(Traag, Waltman and van Eck 2019), makes these the nodes, and goes on with them, so that whole parts move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coterie._arrays import Index
from coterie._compiled import SLICE
from coterie.graph._correlation.moves import (
    Clusters,
    Level,
    contract_edges,
    move_nodes,
    refine_clusters,
    scratch_of,
)


def improve_partition(
    level: Level, label: Index, rng: Any, tol: float, cost: float, step: Callable[[float], bool] | None = None
) -> tuple[Index, float]:
    """The labels after passes until one gains no more than a share `tol` of what is left of `cost`; the cost.

    `cost` is that of `label`; `step` is told the cost after a pass, and stops the search by answering True.
    """
    while True:
        label, gained = one_pass(level, label, rng)
        cost -= gained
        if (step is not None and step(cost)) or gained <= max(tol, 1e-12) * abs(cost):
            return label, cost


def one_pass(level: Level, label: Index, rng: Any) -> tuple[Index, float]:
    """One pass, and what it gained."""
    gained, nodes = 0.0, np.arange(len(label))
    label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    while True:
        n = len(level.size)
        work = scratch_of(n)
        clusters = clusters_of(level, label)
        gained += _move(level, clusters, work, rng)
        label = clusters.label
        inner = clusters_of(level, np.arange(n))
        order = rng.permutation(n)
        refine_clusters(level, label, inner, work, order, 0, n)
        parts, part = np.unique(inner.label, return_inverse=True)
        if len(parts) == n:
            # parts are single nodes: nothing is left to move but whole clusters
            parts, part = np.unique(label, return_inverse=True)
            if len(parts) == n:
                return label[nodes], gained
            outer = np.arange(len(parts))
        else:
            outer = np.unique(label[parts], return_inverse=True)[1]
        level = contract(level, part, work)
        nodes, label = part[nodes], outer.astype(np.int64)


def _move(level: Level, clusters: Clusters, work: Any, rng: Any) -> float:
    n = len(clusters.label)
    queue = rng.permutation(n)
    waiting, state = np.ones(n, dtype=np.bool_), np.array([0, n], dtype=np.int64)
    gained = 0.0
    while state[1]:
        gained += move_nodes(level, clusters, work, queue, waiting, state, SLICE)
    return gained


def clusters_of(level: Level, label: Index) -> Clusters:
    """The clusters that labels from 0 on make; a cluster's number is below the number of nodes."""
    n = len(label)
    total = np.bincount(label, level.size, n)
    code, n_coded = np.full_like(level.codes, -1), np.zeros_like(level.codes)
    for row, codes in enumerate(level.codes):
        named = codes >= 0
        code[row, label[named]] = codes[named]
        n_coded[row] = np.bincount(label[named], minlength=n)
    first, after, before = np.full((3, n), -1, dtype=np.int64)
    tagged = np.flatnonzero(np.diff(level.tag_starts))
    tagged = tagged[np.argsort(label[tagged], kind="stable")]
    same = label[tagged[1:]] == label[tagged[:-1]]
    after[tagged[:-1][same]], before[tagged[1:][same]] = tagged[1:][same], tagged[:-1][same]
    heads = tagged[before[tagged] < 0]
    first[label[heads]] = heads
    empty = np.flatnonzero(np.bincount(label, minlength=n) == 0)[::-1]
    free = np.concatenate([empty, np.zeros(n - len(empty), dtype=np.int64)])
    return Clusters(label.copy(), total, code, n_coded, first, after, before, free, np.array([len(empty)]))


def contract(level: Level, part: Index, work: Any) -> Level:
    """The graph whose nodes are the parts."""
    k = int(part.max()) + 1
    order = np.argsort(part, kind="stable")
    firsts = np.searchsorted(part[order], np.arange(k + 1))
    starts, ends = np.empty(k + 1, dtype=level.starts.dtype), np.empty_like(level.ends)
    excess = np.empty_like(level.excess)
    n_entries = contract_edges(
        level.starts, level.ends, level.excess, part, order, firsts, work, starts, ends, excess
    )
    codes = np.full((level.codes.shape[0], k), -1, dtype=np.int64)
    for row, old in zip(codes, level.codes, strict=True):
        row[part[old >= 0]] = old[old >= 0]
    owner = np.repeat(np.arange(len(part)), np.diff(level.tag_starts))
    return Level(
        starts,
        ends[:n_entries].copy(),
        excess[:n_entries].copy(),
        np.bincount(part, level.size, k),
        level.default,
        codes,
        *tag_tables(part[owner], level.tags, k, len(level.member_starts) - 1),
    )


def tag_tables(owner: Index, tag: Index, n: int, n_tags: int) -> tuple[Any, Any, Any, Any]:
    """Tags of each node, and nodes of each tag, as lists one after the other."""
    by_owner, by_tag = np.argsort(owner, kind="stable"), np.argsort(tag, kind="stable")
    return (
        np.searchsorted(owner[by_owner], np.arange(n + 1)),
        tag[by_owner],
        np.searchsorted(tag[by_tag], np.arange(n_tags + 1)),
        owner[by_tag],
    )
