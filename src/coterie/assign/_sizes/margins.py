"""Kernels over the n x k costs: who is cheapest where at given prices, and what items lose elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._compiled import kernel


@kernel
def relabel(costs: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, gap: Any) -> None:
    """Give rows `start` to `stop` their cheapest cluster at prices `base`, and the gap to the next one."""
    k = costs.shape[1]
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        best, least, second = 0, np.inf, np.inf
        for h in range(k):
            value = costs[i, h] - base[t, h]
            # without branches, which would be guessed wrong
            second = min(second, max(value, least))
            best = h if value < least else best
            least = min(value, least)
        labels[i] = best
        gap[i] = second - least


@kernel
def measure_gaps(costs: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, gap: Any) -> None:
    """How much rows `start` to `stop` would lose by their next best cluster, at prices `base`."""
    k = costs.shape[1]
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        second = np.inf
        for h in range(k):
            value = costs[i, h] - base[t, h]
            if h != own and value < second:
                second = value
        gap[i] = second - (costs[i, own] - base[t, own])


@kernel
def count_candidates(
    costs: Any, kind: Any, base: Any, labels: Any, gap: Any, reach: float, count: Any, start: int, stop: int
) -> None:
    """Count the items among rows `start` to `stop` that may move from each node to each cluster."""
    k = costs.shape[1]
    for i in range(start, stop):
        if gap[i] > reach:
            continue
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        here = costs[i, own] - base[t, own]
        for h in range(k):
            if h != own and costs[i, h] - base[t, h] - here <= reach:
                count[t * k + own, h] += 1


@kernel
def fill_candidates(
    costs: Any,
    kind: Any,
    base: Any,
    labels: Any,
    gap: Any,
    reach: float,
    heap_at: Any,
    heap_length: Any,
    key: Any,
    who: Any,
    start: int,
    stop: int,
) -> None:
    """Write the candidates among rows `start` to `stop` to where their heaps will be."""
    k = costs.shape[1]
    for i in range(start, stop):
        if gap[i] > reach:
            continue
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        node = t * k + own
        here = costs[i, own] - base[t, own]
        for h in range(k):
            if h == own:
                continue
            value = costs[i, h] - base[t, h] - here
            if value <= reach:
                at = heap_at[node, h] + heap_length[node, h]
                heap_length[node, h] += 1
                key[at] = value
                who[at] = i


@kernel
def all_margins(costs: Any, kind: Any, base: Any, start: int, stop: int, labels: Any, margin: Any) -> None:
    """The least loss by moving any of rows `start` to `stop` from each node to each cluster."""
    k = costs.shape[1]
    for i in range(start, stop):
        t = kind[i] if kind.shape[0] > 0 else 0
        own = labels[i]
        here = costs[i, own] - base[t, own]
        for h in range(k):
            value = costs[i, h] - base[t, h] - here
            if h != own and value < margin[t * k + own, h]:
                margin[t * k + own, h] = value
