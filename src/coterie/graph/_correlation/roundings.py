"""Named algorithms of correlation clustering: pivots, cleaning, region growing and roundings of the program.

Each takes a signed graph, and some the distances x of its linear program, and returns its own answer; the
local search is another matter. Vetoes hold: balls around a unit are so small that no two of their units are
at distance 1; where units are taken one by one, those that conflict with one taken are left for later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie._compiled import SLICE, kernel
from coterie.graph._correlation.moves import Clusters, Level, is_open, relocate
from coterie.graph._correlation.search import clusters_of
from coterie.graph._correlation.signed_graph import SignedGraph

# A radius below one half: a program's vetoes are at distance 1 but for its rounding.
_HALF = 0.5 - 2e-6


def trivial(g: SignedGraph) -> Index:
    """One cluster or all single, whichever agrees with more: half of the best agreement. Vetoes: single."""
    one, single = np.zeros(g.n, dtype=np.int64), np.arange(g.n)
    return one if g.is_free and g.cost(one) <= g.cost(single) else single


@kernel
def take_pivots(
    level: Level, clusters: Clusters, order: Any, first: Any, taken: Any, barred: Any, steps: Any
) -> Any:
    """Make clusters of pivots in `order`, from `first` on, and their attracting neighbours.

    Writes `clusters`, who is `taken`, and the last pivot to which units are `barred` by edges (nothing to
    look at if it is empty). Stops after some `steps`, and returns where.
    """
    while first < len(order) and steps > 0:
        pivot = order[first]
        first += 1
        if taken[pivot]:
            continue
        taken[pivot] = True
        steps -= level.starts[pivot + 1] - level.starts[pivot] + 1
        for e in range(level.starts[pivot], level.starts[pivot + 1]):
            v = level.ends[e]
            if taken[v] or not level.excess[e] + level.default * level.size[pivot] * level.size[v] > 0.0:
                continue
            if (len(barred) > 0 and barred[v] == pivot) or not is_open(level, clusters, v, pivot):
                continue
            relocate(level, clusters, v, pivot)
            taken[v] = True
            if len(barred) > 0:
                for f in range(level.starts[v], level.starts[v + 1]):
                    if level.excess[f] == -np.inf:
                        barred[level.ends[f]] = pivot
    return first


def pivot(g: SignedGraph, order: Index) -> Index:
    """Pivots in an order, each with all attracting neighbours that are left (Ailon, Charikar and Newman)."""
    clusters, taken, place = clusters_of(g.level, np.arange(g.n)), np.zeros(g.n, dtype=np.bool_), 0
    barred = np.full(g.n if np.isneginf(g.level.excess).any() else 0, -1, dtype=np.int64)
    while place < g.n:
        place = take_pivots(g.level, clusters, order, place, taken, barred, SLICE)
    # clusters are numbered in the order of their pivots
    return np.unique(np.argsort(order)[clusters.label], return_inverse=True)[1]


def cautious(g: SignedGraph, delta: float = 1 / 44) -> Index:
    """Clean the neighbourhood of a unit, extend it, make it a cluster (Bansal, Blum and Chawla).

    Made for complete graphs of weights 1 and -1: signs alone count. Members that conflict are split off.
    """
    pull = g.weights() > 0
    np.fill_diagonal(pull, True)
    label, left = np.arange(g.n), np.ones(g.n, dtype=bool)
    while (found := _clean_cluster(pull, left, delta)) is not None:
        label[found] = g.n + found[0]
        left[found] = False
    return split_conflicts(g, label)


def _clean_cluster(pull: Any, left: Any, delta: float) -> Index | None:
    """The first cluster, in the order of units, that cleaning does not make empty."""
    degree = pull[:, left].sum(axis=1)

    def good(share: float) -> Any:
        size = chosen.sum()
        return left & (inside >= (1 - share) * size) & (degree - inside <= share * size)

    for v in np.flatnonzero(left):
        chosen = pull[v] & left
        inside = pull[:, chosen].sum(axis=1)
        while len(bad := np.flatnonzero(chosen & ~good(3 * delta))):
            chosen[bad[0]] = False
            inside -= pull[bad[0]]
        if chosen.any():
            return np.flatnonzero(chosen | good(7 * delta))
    return None


def carve(n: int, order: Index, take: Callable[[Any, Index], Index]) -> Index:
    """Clusters of the next unit left in `order` and those that it takes of the others left."""
    label = np.full(n, -1, dtype=np.int64)
    for u in order:
        if label[u] < 0:
            label[u] = u
            label[take(u, np.flatnonzero(label < 0))] = u
    return np.unique(label, return_inverse=True)[1]


def cgw(g: SignedGraph, x: Floats, order: Index) -> Index:
    """Units within one half of the next in `order`, if they are within a quarter on average.

    Charikar, Guruswami and Wirth: 4 times the program on complete input, in any order.
    """

    def take(u: Any, others: Index) -> Index:
        near = others[x[u, others] < _HALF]
        return near if len(near) and x[u, near].mean() < 0.25 else near[:0]

    return carve(g.n, order, take)


def lp_pivot(g: SignedGraph, x: Floats, rng: Any) -> Index:
    """Random pivots; each unit that is left joins with probability 1 - x (Ailon, Charikar and Newman)."""

    def take(u: Any, others: Index) -> Index:
        taken = others[rng.uniform(size=len(others)) < 1.0 - x[u, others]]
        return taken if g.is_free else _compatible(g.vetoes, np.append(u, taken))

    return carve(g.n, rng.permutation(g.n), take)


def region(g: SignedGraph, x: Floats, c: float | str = "auto", order: Index | None = None) -> Index:
    """Balls around the next unit left in `order`, grown until their cut is small against their volume.

    Demaine and Immorlica 2003; but the cut is weighed at the end of each interval without a new unit, where
    the volume is largest. By default those that attract most come first.
    """
    constant = 2.0 + 0.5 / np.log(g.n + 1.0) if c == "auto" else float(c)
    if not constant > 2:
        raise ValueError(f"c is {c!r}; give a number above 2, so that no ball holds two units at distance 1.")
    weight = np.maximum(g.weights(), 0.0)
    if order is None:
        order = np.argsort(-weight.sum(axis=1), kind="stable")
    seed = 0.5 * float((weight * x).sum()) / g.n
    factor, most = constant * np.log(g.n + 1.0), min(1.0 / constant, _HALF)

    def take(u: Any, others: Index) -> Index:
        units = np.append(u, others[np.argsort(x[u, others], kind="stable")])
        far = np.append(x[u, units], most)
        cut = inner = offset = 0.0
        for place, v in enumerate(units):
            if far[place] >= most:
                return units[:place]
            ball, rest = units[:place], units[place + 1 :]
            pull, pull_out = weight[v, ball], weight[v, rest].sum()
            cut += pull_out - pull.sum()
            inner += pull @ x[v, ball]
            # the volume counts pairs of the cut from the end that is inside
            offset += far[place] * pull_out - pull @ far[:place]
            end = min(far[place + 1], most)
            if end > far[place] and cut <= factor * (seed + inner + end * cut - offset) + 1e-12:
                return units[: place + 1]
        return units

    return carve(g.n, order, take)


def split_conflicts(g: SignedGraph, label: Index) -> Index:
    """Labels that keep apart what is apart: clusters with conflicts are split.

    Each of their units goes to the first new cluster, in the order of units, that takes it.
    """
    label = np.unique(label, return_inverse=True)[1]
    if g.allows(label):
        return label
    found, n_clusters = np.empty_like(label), 0
    for c in range(label.max() + 1):
        rest = np.flatnonzero(label == c)
        while len(rest):
            taken = _compatible(g.vetoes, rest)
            found[taken] = n_clusters
            n_clusters, rest = n_clusters + 1, np.setdiff1d(rest, taken)
    return found


def _compatible(apart: Any, units: Index) -> Index:
    """The first unit, and each after it that conflicts with none taken before."""
    closed, taken = np.zeros(len(apart), dtype=bool), []
    for v in units:
        if not closed[v]:
            taken.append(v)
            closed |= apart[v]
    return np.array(taken, dtype=np.int64)
