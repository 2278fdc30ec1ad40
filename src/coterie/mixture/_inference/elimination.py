"""Elimination order of a junction tree, by min-fill, so that the tables stay small.

The next unit is one whose neighbours lack the fewest couplings among each other (min-fill). A table over w
neighbours has k^(w + 1) cells: as soon as one would grow beyond the limit, the search gives up, so a dense
graph costs no more than its first steps.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import combinations

# units in order, each with the later units that its table ranges over
Steps = list[tuple[int, list[int]]]


def eliminate(neighbours: Mapping[int, set[int]], k: int, most_cells: int) -> tuple[Steps, int] | None:
    """The steps, and cells of all tables; None above `most_cells`. The sets of `neighbours` are used up."""
    widest = 0
    while widest < len(neighbours) and k ** (widest + 2) <= most_cells:
        widest += 1
    if _least_width(neighbours) > widest:
        return None

    def lacking(v: int) -> int:
        """Couplings that summing out v would add; a large number where the table would be too wide."""
        around = neighbours[v]
        if len(around) > widest:
            return 1 << 40
        there = sum(len(around & neighbours[u]) for u in around)
        return (len(around) * (len(around) - 1) - there) // 2

    score = {v: lacking(v) for v in neighbours}
    heap = [(s, len(neighbours[v]), v) for v, s in score.items()]
    heapq.heapify(heap)
    gone: set[int] = set()
    found: Steps = []
    cells = 0
    while heap:
        s, degree, v = heapq.heappop(heap)
        if v in gone or s != score[v] or degree != len(neighbours[v]):
            continue
        if degree > widest:
            return None
        cells += k ** (degree + 1)
        if cells > most_cells:
            return None
        gone.add(v)
        around = sorted(neighbours[v])
        found.append((v, around))
        touched = set(around)
        for u in around:
            neighbours[u].discard(v)
        for u, w in combinations(around, 2) if s else ():
            if w not in neighbours[u]:
                # a new coupling spares those that know both its ends
                touched |= neighbours[u] & neighbours[w]
                neighbours[u].add(w)
                neighbours[w].add(u)
        for u in touched:
            score[u] = lacking(u)
            heapq.heappush(heap, (score[u], len(neighbours[u]), u))
    return found, cells


def _least_width(neighbours: Mapping[int, set[int]]) -> int:
    """A bound from below on the width: the largest least degree met while taking the least unit away."""
    degree = {v: len(around) for v, around in neighbours.items()}
    heap = [(d, v) for v, d in degree.items()]
    heapq.heapify(heap)
    gone: set[int] = set()
    width = 0
    while heap:
        d, v = heapq.heappop(heap)
        if v in gone or d != degree[v]:
            continue
        width = max(width, d)
        gone.add(v)
        for u in neighbours[v]:
            if u not in gone:
                degree[u] -= 1
                heapq.heappush(heap, (degree[u], u))
    return width
