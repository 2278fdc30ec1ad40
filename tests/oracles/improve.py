"""Slow, obvious references for moves within bounds: every labelling, and what is left to do."""

import itertools

import numpy as np


def kept(before, after, k, low, high) -> bool:
    """Bounds that held hold; those that were broken are broken by no more."""
    old, new = (np.bincount(one, minlength=k) for one in (before, after))
    fits = np.maximum(low - new, 0) <= np.maximum(low - old, 0)
    return bool((fits & (np.maximum(new - high, 0) <= np.maximum(old - high, 0))).all())


def best_cost(costs, labels, low, high) -> float:
    """The least cost of all labels that miss no bound by more than the given ones; NaN is not on offer."""
    n, k = costs.shape
    found = np.inf
    for one in itertools.product(range(k), repeat=n):
        cost = costs[np.arange(n), one].sum()
        if cost < found and kept(labels, np.array(one), k, low, high):
            found = cost
    return float(found)


def single_moves(costs, labels, low, high, tolerance) -> list[tuple[int, int]]:
    """Items and clusters of all moves that gain and that the bounds allow."""
    size = np.bincount(labels, minlength=costs.shape[1])
    return [
        (i, h)
        for i, g in enumerate(labels)
        for h in range(costs.shape[1])
        if h != g and size[g] > low[g] and size[h] < high[h] and costs[i, h] < costs[i, g] - tolerance
    ]


def has_cycle(costs, labels, tolerance) -> bool:
    """Whether clusters can be left in a circle, everybody gaining: by the powers of the adjacency matrix."""
    k = costs.shape[1]
    arcs = np.zeros((k, k), dtype=int)
    for i, g in enumerate(labels):
        arcs[g] |= costs[i] < costs[i, g] - tolerance
    reached = arcs
    for _ in range(k):
        if np.trace(reached):
            return True
        reached = np.minimum(reached @ arcs, 1)
    return False
