"""The best partition of a few nodes, over all of them: dynamic programming over subsets.

For n nodes 3^n / 2 steps: a millisecond for 12.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie._compiled import kernel

# Nodes of a part that is solved for sure.
MOST_NODES = 12


@kernel
def fill_tables(weights: Any, within: Any, best: Any, choice: Any) -> None:
    """What each subset weighs together and is worth at best, and its lowest node's cluster; writes all."""
    n = weights.shape[0]
    for mask in range(1, 1 << n):
        low = 0
        while not (mask >> low) & 1:
            low += 1
        rest = mask ^ (1 << low)
        total = within[rest]
        for v in range(low + 1, n):
            if (rest >> v) & 1:
                total += weights[low, v]
        within[mask] = total
        # the cluster of the lowest node: it and some subset of the rest
        best[mask], choice[mask] = -np.inf, 1 << low
        part = rest
        while True:
            value = within[part | (1 << low)] + best[rest ^ part]
            if value > best[mask]:
                best[mask], choice[mask] = value, part | (1 << low)
            if part == 0:
                break
            part = (part - 1) & rest


def best_partition(weights: Floats) -> Index:
    """Labels that keep the most weight together; minus infinity keeps two nodes apart."""
    n = len(weights)
    within, best = np.zeros(1 << n), np.zeros(1 << n)
    choice = np.zeros(1 << n, dtype=np.int64)
    fill_tables.for_work(3**n // 2)(weights, within, best, choice)
    label, mask, number = np.empty(n, dtype=np.int64), (1 << n) - 1, 0
    while mask:
        part = int(choice[mask])
        label[[v for v in range(n) if (part >> v) & 1]] = number
        mask, number = mask ^ part, number + 1
    return label
