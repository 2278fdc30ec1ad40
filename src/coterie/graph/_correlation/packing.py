"""A cheap bound on the cost of correlation clustering: a packing of inconsistent triples, compiled.

Of a triple with two attracting pairs and a repelling one, labels break one pair at least. Triples are charged
to their pairs as long as something is left of all three: a feasible point of the dual (13.6), so at or below
the linear program. Time is that of the attracting paths of two pairs, up to a limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled import SLICE, in_slices, kernel
from coterie.graph._correlation.moves import Level, are_apart
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


@kernel
def pay_apart(level: Level, i: Any, j: Any, weight: Any, first: Any, last: Any) -> Any:
    """Take the weight of pairs that attract and are apart all the same: all labels pay it; how much it is."""
    paid = 0.0
    for pair in range(first, last):
        if weight[pair] > 0.0 and are_apart(level, i[pair], j[pair]):
            paid += weight[pair]
            weight[pair] = 0.0
    return paid


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
                if are_apart(level, a, b):
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
    weight, value = weight.copy(), 0.0
    for first, last in in_slices(len(i), 4):
        value += float(pay_apart(g.level, i, j, weight, first, last))
    pull = np.flatnonzero(weight > 0)
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
