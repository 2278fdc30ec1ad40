"""A cheap bound on the cost of correlation clustering: a packing of inconsistent triples, compiled.

Of a triple with two attracting pairs and a repelling one, labels break one pair at least. Triples are charged
to their pairs as long as something is left of all three: a feasible point of the dual (13.6), so at or below
the linear program. Time is that of the attracting paths of two pairs, up to a limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import Index
from coterie._compiled import SLICE, kernel
from coterie.graph._correlation.moves import Level
from coterie.graph._correlation.signed_graph import SignedGraph

# Pairs that are not listed and remembered: 128 MB.
_MOST_HELD = 1 << 21


class _Left(NamedTuple):
    """What is left of each pair, and where to find it: `listed` and the last three are written."""

    starts: Any  # attracting pairs: each unit's neighbours in random order
    ends: Any
    at: Any  # where the pair stands in `listed`
    row_starts: Any  # listed pairs i < j, sorted
    row_ends: Any
    listed: Any
    key: Any  # pairs that are not listed, by hash; -1: free
    held: Any
    n_held: Any  # (1,)


@kernel(inline=True)
def _find_listed(left: Any, a: Any, b: Any) -> Any:
    """Where a pair a < b is listed, or -1."""
    low, high = left.row_starts[a], left.row_starts[a + 1]
    while low < high:
        middle = (low + high) // 2
        if left.row_ends[middle] < b:
            low = middle + 1
        else:
            high = middle
    if low < left.row_starts[a + 1] and left.row_ends[low] == b:
        return low
    return -1


@kernel(inline=True)
def _find_held(left: Any, a: Any, b: Any, n: Any, full: Any) -> Any:
    """The slot of a pair that is not listed, made with `full` in it; -1 where there is no room."""
    key, mask = a * n + b, len(left.key) - 1
    slot = (a * 1_103_515_245 + b * 40_503) & mask
    while left.key[slot] != key:
        if left.key[slot] < 0:
            if 2 * left.n_held[0] >= mask:
                return -1
            left.key[slot] = key
            left.held[slot] = full
            left.n_held[0] += 1
            break
        slot = (slot + 1) & mask
    return slot


@kernel(inline=True)
def _vetoed(level: Any, a: Any, b: Any) -> Any:
    """Whether a code or a tag keeps two units apart."""
    for row in range(level.codes.shape[0]):
        if (
            level.codes[row, a] >= 0
            and level.codes[row, b] >= 0
            and level.codes[row, a] != level.codes[row, b]
        ):
            return True
    for s in range(level.tag_starts[a], level.tag_starts[a + 1]):
        for t in range(level.tag_starts[b], level.tag_starts[b + 1]):
            if level.tags[s] == level.tags[t]:
                return True
    return False


@kernel
def pack_triples(level: Level, left: _Left, order: Any, first: Any, tries: Any, steps: Any) -> Any:
    """Pack triples around units of `order` from `first` on, about `tries` for each; writes `left`.

    Returns what was packed, and the place in `order` that it has come to when `steps` are made.
    """
    n, packed = len(level.size), 0.0
    for place in range(first, len(order)):
        v = order[place]
        # a unit of many neighbours needs a few tries for each
        budget = tries + 8 * (left.starts[v + 1] - left.starts[v])
        steps -= budget
        for p in range(left.starts[v], left.starts[v + 1]):
            for q in range(p + 1, left.starts[v + 1]):
                if left.listed[left.at[p]] <= 0.0 or budget <= 0:
                    break
                if left.listed[left.at[q]] <= 0.0:
                    continue
                budget -= 1
                a, b = min(left.ends[p], left.ends[q]), max(left.ends[p], left.ends[q])
                most = min(left.listed[left.at[p]], left.listed[left.at[q]])
                third = _find_listed(left, a, b)
                if _vetoed(level, a, b):
                    pass
                elif third >= 0:
                    # attracting ones are kept above 0, repelling ones below
                    most = min(most, -left.listed[third])
                    if most > 0.0:
                        left.listed[third] += most
                elif level.default >= 0.0:
                    most = 0.0
                else:
                    slot = _find_held(left, a, b, n, -level.default * level.size[a] * level.size[b])
                    most = min(most, left.held[slot]) if slot >= 0 else 0.0
                    if slot >= 0:
                        left.held[slot] -= most
                if most > 0.0:
                    left.listed[left.at[p]] -= most
                    left.listed[left.at[q]] -= most
                    packed += most
        if steps <= 0:
            return packed, place + 1
    return packed, len(order)


def triple_packing(g: SignedGraph, rng: Any, most: int = 50_000_000) -> float:
    """A bound on the cost of all labels; about `most` triples are tried, in a random order."""
    i, j, weight = g.edges
    by = np.lexsort((j, i))
    i, j, weight = i[by], j[by], weight[by]
    pull = np.flatnonzero(weight > 0)
    # what attracts and is apart all the same is paid by all labels
    apart = _apart(g.level, i[pull], j[pull])
    value, pull = float(weight[pull[apart]].sum()), pull[~apart]
    end, other, at = (np.concatenate(ends) for ends in ((i[pull], j[pull]), (j[pull], i[pull]), (pull, pull)))
    by = np.lexsort((rng.permutation(len(end)), end))
    starts = np.searchsorted(end[by], np.arange(g.n + 1))
    degree = np.diff(starts)
    n_paths = int((degree * (degree - 1) // 2).sum()) if g.level.default < 0 else 0
    room = 1 << (2 * min(n_paths, _MOST_HELD) + 2).bit_length()
    left = _Left(
        starts, other[by], at[by], np.searchsorted(i, np.arange(g.n + 1)), j, weight,
        np.full(room, -1, dtype=np.int64), np.empty(room), np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    order, place = rng.permutation(g.n), 0
    while place < g.n:
        packed, place = pack_triples(g.level, left, order, place, most // g.n, SLICE)
        value += float(packed)
    return value


def _apart(level: Level, i: Index, j: Index) -> Any:
    """Whether a code or a tag keeps the units of each pair apart."""
    codes = level.codes
    apart = ((codes[:, i] >= 0) & (codes[:, j] >= 0) & (codes[:, i] != codes[:, j])).any(axis=0)
    if len(level.tags):
        ones = np.ones(len(level.tags))
        tagged = sparse.csr_matrix(
            (ones, level.tags, level.tag_starts), (len(level.size), level.tags.max() + 1)
        )
        apart |= np.asarray(tagged[i].multiply(tagged[j]).sum(axis=1)).ravel() > 0
    return apart
