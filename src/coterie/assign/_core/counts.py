"""Group counts: how many items of a group each cluster holds, and what a unit meets of them there."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Labels
from coterie._compiled import kernel
from coterie.assign._core.core import Core


def group_counts(core: Core, labels: Labels, k: int) -> Any:
    """How many items of each row each cluster holds; units labelled -1 are in none."""
    counts = np.zeros((core.n_groups, k), dtype=np.int32)
    if core.n_groups:
        owner = np.repeat(np.arange(core.n_units), np.diff(core.member_ptr))
        placed = labels[owner] >= 0
        np.add.at(counts, (core.member_group[placed], labels[owner[placed]]), core.member_count[placed])
    return counts


@kernel(inline=True)
def add_to_rows(u: int, h: int, sign: int, acts: Any, counts: Any) -> None:
    """Put unit u into cluster h in its rows of counts (`sign` 1), or take it out (-1)."""
    for e in range(acts.member_ptr[u], acts.member_ptr[u + 1]):
        counts[acts.member_group[e], h] += sign * acts.member_count[e]


@kernel(inline=True)
def met_in(e: int, h: int, acts: Any, counts: Any) -> int:
    """How many items the unit of entry e meets in cluster h; the unit itself must not be counted there."""
    met = counts[acts.member_group[e], h]
    if acts.except_group[e] >= 0:
        met -= counts[acts.except_group[e], h]
    return met


@kernel
def to_cheapest(cost: Any, units: Any, labels: Any) -> None:
    """Label the units by the least of their costs."""
    for t in range(units.shape[0]):
        u = units[t]
        best = 0
        for h in range(1, cost.shape[1]):
            if cost[u, h] < cost[u, best]:
                best = h
        labels[u] = best
