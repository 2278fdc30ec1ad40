"""Kernels over the costs of items: who is cheapest where at given prices, and who loses little elsewhere.

Those that lose little by a move are its candidates, and wait in a heap for each node and cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie._arrays import Floats, Index
from coterie._compiled import kernel

# position of the end of the pool in the array of counters
TAIL = 0


class Cells(NamedTuple):
    """What each item costs in the clusters on offer: in all of them, or in those that `column` names."""

    cost: Any
    column: NDArray[np.int32]


# `column` of cells that offer every cluster.
ALL_CLUSTERS = np.empty((0, 0), dtype=np.int32)


class Heaps(NamedTuple):
    """Candidates to go from each node to each cluster, as heaps in one pool of `key` and `who`.

    `at`, `length` and `room` say where they lie; `margin` and `first` are their tops (infinite and -1: none).
    """

    at: Index
    length: Index
    room: Index
    key: Floats
    who: NDArray[np.int32]
    margin: Floats
    first: Index


@kernel(inline=True)
def _offered(column: Any, i: int, place: int) -> Any:
    """The cluster at a place among those that an item is offered."""
    return column[i, place] if column.shape[0] > 0 else place


@kernel
def relabel(cells: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, regret: Any) -> None:
    """Give rows `start` to `stop` their cheapest cluster at prices `base`, and the gap to the next one."""
    cost, column = cells
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        best, least, second = 0, np.inf, np.inf
        for place in range(cost.shape[1]):
            h = _offered(column, i, place)
            value = cost[i, place] - base[t, h]
            # without branches, which would be guessed wrong
            second = min(second, max(value, least))
            best = h if value < least else best
            least = min(value, least)
        labels[i] = best
        regret[i] = second - least


@kernel(inline=True)
def _value_at(cost: Any, column: Any, base: Any, i: int, t: int, own: int) -> Any:
    """What an item costs in its own cluster, less the price."""
    place = own
    if column.shape[0] > 0:
        place = 0
        while column[i, place] != own:
            place += 1
    return cost[i, place] - base[t, own]


@kernel
def measure_regrets(
    cells: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, regret: Any
) -> None:
    """How much rows `start` to `stop` would lose by their next best cluster, at prices `base`."""
    cost, column = cells
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        here = second = np.inf
        for place in range(cost.shape[1]):
            h = _offered(column, i, place)
            value = cost[i, place] - base[t, h]
            if h == labels[i]:
                here = value
            elif value < second:
                second = value
        regret[i] = second - here


@kernel
def count_borders(
    cells: Any, base: Any, labels: Any, regret: Any, reach: float, start: int, stop: int, count: Any
) -> None:
    """Count, for each two clusters, rows of one that lose at most `reach` by the other, their next best."""
    cost, column = cells
    for i in range(start, stop):
        if regret[i] > reach:
            continue
        least, near = np.inf, labels[i]
        for place in range(cost.shape[1]):
            h = _offered(column, i, place)
            value = cost[i, place] - base[0, h]
            if h != labels[i] and value < least:
                least = value
                near = h
        count[labels[i], near] += 1


@kernel
def find_candidates(
    cells: Any,
    kind: Any,
    base: Any,
    labels: Any,
    regret: Any,
    reach: float,
    at: Any,
    length: Any,
    key: Any,
    who: Any,
    start: int,
    stop: int,
) -> None:
    """Count, in `length`, who of these rows may move from where to where; with room in `key`, write them."""
    cost, column = cells
    k = base.shape[1]
    for i in range(start, stop):
        if regret[i] > reach:
            continue
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        node = t * k + own
        here = _value_at(cost, column, base, i, t, own)
        for place in range(cost.shape[1]):
            h = _offered(column, i, place)
            value = cost[i, place] - base[t, h] - here
            if h == own or not value <= reach:
                continue
            if key.shape[0] > 0:
                key[at[node, h] + length[node, h]] = value
                who[at[node, h] + length[node, h]] = i
            length[node, h] += 1


@kernel
def all_margins(cost: Any, kind: Any, base: Any, labels: Any, margin: Any) -> None:
    """The least loss by moving any of some rows from each node to each cluster."""
    k = cost.shape[1]
    for i in range(cost.shape[0]):
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        here = cost[i, own] - base[t, own]
        for h in range(k):
            value = cost[i, h] - base[t, h] - here
            if h != own and value < margin[t * k + own, h]:
                margin[t * k + own, h] = value


# ---- heaps ----------------------------------------------------------------------------------------------


@kernel
def sift_down(key: Any, who: Any, at: int, length: int, position: int) -> None:
    """Let the entry at `position` of a heap sink to its place; ties go by number."""
    value, item = key[at + position], who[at + position]
    while True:
        child = 2 * position + 1
        if child >= length:
            break
        other = child + 1
        if other < length and (
            key[at + other] < key[at + child]
            or (key[at + other] == key[at + child] and who[at + other] < who[at + child])
        ):
            child = other
        if key[at + child] < value or (key[at + child] == value and who[at + child] < item):
            key[at + position] = key[at + child]
            who[at + position] = who[at + child]
            position = child
        else:
            break
    key[at + position] = value
    who[at + position] = item


@kernel
def _note_top(heaps: Any, node: int, h: int) -> None:
    """Write down what is on top of a heap."""
    at, length = heaps.at[node, h], heaps.length[node, h]
    heaps.margin[node, h] = heaps.key[at] if length > 0 else np.inf
    heaps.first[node, h] = heaps.who[at] if length > 0 else -1


@kernel
def order_candidates(heaps: Any, start: int, stop: int) -> None:
    """Make heaps of what was written for nodes `start` to `stop`."""
    for node in range(start, stop):
        for h in range(heaps.at.shape[1]):
            at, length = heaps.at[node, h], heaps.length[node, h]
            for position in range(length // 2 - 1, -1, -1):
                sift_down(heaps.key, heaps.who, at, length, position)
            _note_top(heaps, node, h)


@kernel
def _drop_gone(node: int, h: int, own: int, labels: Any, heaps: Any) -> None:
    """Take entries off the top of a heap until its item is still in cluster `own`."""
    key, who, at = heaps.key, heaps.who, heaps.at[node, h]
    length = heaps.length[node, h]
    while length > 0 and labels[who[at]] != own:
        length -= 1
        key[at] = key[at + length]
        who[at] = who[at + length]
        if length > 0:
            sift_down(key, who, at, length, 0)
    heaps.length[node, h] = length
    _note_top(heaps, node, h)


@kernel
def _offer(node: int, h: int, value: float, i: int, heaps: Any, counters: Any) -> bool:
    """Put an item into a heap, which moves to the end of the pool if full; False if that is full too."""
    key, who, at = heaps.key, heaps.who, heaps.at[node, h]
    length = heaps.length[node, h]
    if length == heaps.room[node, h]:
        room = max(8, 2 * length)
        tail = counters[TAIL]
        if tail + room > key.shape[0]:
            return False
        for position in range(length):
            key[tail + position] = key[at + position]
            who[tail + position] = who[at + position]
        at = tail
        heaps.at[node, h] = at
        heaps.room[node, h] = room
        counters[TAIL] = tail + room
    position = length
    while position > 0:
        parent = (position - 1) // 2
        if key[at + parent] < value or (key[at + parent] == value and who[at + parent] < i):
            break
        key[at + position] = key[at + parent]
        who[at + position] = who[at + parent]
        position = parent
    key[at + position] = value
    who[at + position] = i
    heaps.length[node, h] = length + 1
    if value < heaps.margin[node, h] or (value == heaps.margin[node, h] and i < heaps.first[node, h]):
        heaps.margin[node, h] = value
        heaps.first[node, h] = i
    return True


@kernel
def move_item(
    u: int, v: int, cells: Any, base: Any, labels: Any, heaps: Any, reach: float, counters: Any
) -> bool:
    """The first candidate goes from node u to v, and is a candidate there; False if no room is left."""
    cost, column = cells
    k = base.shape[1]
    g, h, t = u % k, v % k, u // k
    i = heaps.first[u, h]
    labels[i] = h
    least = here = np.inf
    for place in range(cost.shape[1]):
        other = _offered(column, i, place)
        if heaps.first[u, other] == i:
            _drop_gone(u, other, g, labels, heaps)
        value = cost[i, place] - base[t, other]
        least = min(least, value)
        if other == h:
            here = value
    room = True
    for place in range(cost.shape[1]):
        other = _offered(column, i, place)
        value = cost[i, place] - base[t, other]
        if other != h and value - least <= reach:
            room = _offer(v, other, value - here, i, heaps, counters) and room
    return room
