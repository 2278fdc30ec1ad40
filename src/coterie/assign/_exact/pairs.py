"""The best labels of a small core, by mixed-integer programming; independent parts are solved apart."""

from __future__ import annotations

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core.core import Core
from coterie.assign._exact.program import IntegerProgram, pairs_of

# Largest number of units x clusters in one part.
MAX_CELLS = 10_000


def solve_exactly(core: Core, cost: Floats, budget: int) -> tuple[Labels | None, bool]:
    """Labels of least cost, and whether they are proven best; None if no legal labels were found."""
    k = cost.shape[1]
    labels = cost.argmin(axis=1).astype(np.int32)
    proven = True
    component = core.components()
    order = np.argsort(component, kind="stable")
    for units in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        if len(units) <= 1:
            continue
        if len(units) * k > MAX_CELLS:
            raise ValueError(
                f"{len(units):,} units act on each other under {k} clusters: more than the {MAX_CELLS:,} "
                'cells that are solved exactly. Use the "local" method.'
            )
        best, is_proven = _solve_component(core, units, cost[units], budget)
        if best is None:
            return None, is_proven
        labels[units] = best
        proven &= is_proven
    return labels, proven


def _solve_component(core: Core, units: Index, cost: Floats, budget: int) -> tuple[Labels | None, bool]:
    n, k = cost.shape
    if n == 2 and not (core.except_group >= 0).any():
        _, weight = pairs_of(core, units)
        both = cost[0][:, None] + cost[1]
        if len(weight):
            both[np.diag_indices(k)] += weight[0]
        if not np.isfinite(both).any():
            return None, True
        return np.array(np.unravel_index(int(both.argmin()), (k, k)), dtype=np.int32), True
    program = IntegerProgram(cost)
    program.add_core(core, units)
    return program.solve(budget)
