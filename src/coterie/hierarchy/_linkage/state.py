"""State of constrained agglomeration in the loops of `greedy`: clusters, vetoes, k-d tree, queue, graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.int64]


class Vetoes(NamedTuple):
    """Clusters as a forest of units, and what keeps them apart.

    `tag[e]` is carried by unit `owner[e]`; the tags of a root are a linked list, `first` to `last` by
    `following`, `n_carried` of them. `table` is a hash table of root * n_tags + tag (-1: free) with `used[0]`
    keys. `codes[s]` is the code of each root in an `across` constraint (-1: none).
    """

    parent: Index
    n_tags: int
    tag: Index
    owner: Index
    following: Index
    first: Index
    last: Index
    n_carried: Index
    table: Index
    used: Index
    codes: Index
    load: Floats
    cap: float


class Merges(NamedTuple):
    """A unit of each side and the height of every merge, in the order made; `made[0]` of them."""

    left: Index
    right: Index
    height: Floats
    made: Index


def room_for_merges(n: int) -> Merges:
    """Room for so many merges, none made yet."""
    return Merges(
        np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.zeros(1, dtype=np.int64)
    )


class PointTree(NamedTuple):
    """A k-d tree: points in the order of the leaves, their units, and the boxes of its nodes.

    Children of a node are `children` and the next one (-1: a leaf of the points start..stop). `held` are the
    roots that the points of a node belong to, `n_held` how many; -1: too many to be listed. `mask` has a bit
    for each of some 60 common tags that a root carries. Roots that carry these and no others (`pure`) are
    listed by their mask m alone, as ~m, which keeps those away who share a bit; so three sources make seven
    entries at most. `least` is the least load of a root of a node. `silent` are `n_silent[0]` units whose
    clusters do not look for others, `points` the number of points of each root, `dead` (1) tells roots that
    nobody may join, now or later.
    """

    X: Floats
    unit: Index
    start: Index
    stop: Index
    children: Index
    low: Floats
    high: Floats
    held: Index
    n_held: Index
    least: Floats
    stack: Index
    mask: Index
    pure: Index
    points: Index
    dead: Index
    silent: Index
    n_silent: Index


class Queue(NamedTuple):
    """Who waits for a merge, as a heap by `key`: points or roots, each with the nearest it knows of.

    `place` is where each stands in the heap (-1: nowhere), `counters` what the loops remember.
    """

    key: Floats
    near: Index
    heap: Index
    place: Index
    counters: Index


class RootNeighbours(NamedTuple):
    """Neighbouring units of each root as linked lists, `head` to `end` by `onward`; versions of the roots.

    `seen` marks who was met in a visit, `known` the version of the nearest that a root knows of.
    """

    beside: Index
    onward: Index
    head: Index
    end: Index
    seen: Index
    version: Index
    known: Index


class Shapes(NamedTuple):
    """What linkage distances follow from: a matrix where there is one, else means (Ward); and sizes."""

    D: Floats
    mean: Floats
    size: Floats
