"""Units under bounds and constraints as an integer program; free items of load 1 are a transport inside it.

Source: the book, chapter 9, (9.6) to (9.9), with (9.8) corrected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._arrays import Labels
from coterie.assign._exact.program import IntegerProgram
from coterie.exceptions import InfeasibleConstraintsError

if TYPE_CHECKING:
    from coterie.assign._sizes.with_pairs import BoundedSolver

# Twice what the solver of integer programs allows a row to miss.
_TOLERANCE = 2e-6


def best_units(problem: BoundedSolver, costs: Any) -> tuple[Labels | None, bool]:
    """Best labels of the whole units, and whether proven; None: budget too small. Raises where none exist."""
    cost, load = problem.unit_costs(costs), problem.loads.load
    n_units = len(cost)
    whole = np.ones(n_units, dtype=bool)
    if problem.fills:  # integral by itself
        free = problem.free
        cost = np.concatenate([cost, np.asarray(costs[free], dtype=np.float64)])
        table = np.zeros((len(free), load.shape[1]))
        table[:, 0] = 1.0
        if problem.bounds.groups is not None:
            table[np.arange(len(free)), 1 + problem.limits.kind[free]] = 1.0
        load = np.concatenate([load, table])
        whole = np.append(whole, np.zeros(len(free), dtype=bool))
    program = IntegerProgram(cost)
    if problem.core is not None:
        program.add_core(problem.core, np.arange(problem.core.n_units))
    if len(problem.either_or):
        unit_of = np.full(problem.bounds.n, -1, dtype=np.int64)
        if problem.core is not None:
            unit_of[problem.core.items] = problem.core.unit
        unit_of[problem.named] = problem.n_core + np.arange(len(problem.named))
        program.add_either_or(*unit_of[problem.either_or].T)
    # a node costs the more, the larger the program
    nodes = max(1, problem.budget // cost.size)
    whole_loads = bool((load == np.round(load)).all())
    for slack in (0.0,) if whole_loads else (0.0, _TOLERANCE):
        # sums of loads that are not whole may be lost to the solver's rounding: nothing is proven by that
        program.loads.clear()
        for measure, low, high in zip(load.T, problem.loads.low, problem.loads.high, strict=True):
            unit = float(measure.max()) or 1.0
            program.add_loads(measure / unit, low / unit - slack, high / unit + slack)
        best, proven = program.solve(nodes, whole)
        if best is not None or not proven:
            break
    if best is None and proven:
        raise InfeasibleConstraintsError(
            "no assignment meets all bounds: items that must stay together, or loads, cannot be packed "
            "into the clusters, although the sums would fit. Widen size_min or size_max, or drop a "
            "constraint; a method that has on_shortfall and budget takes the best of its search with 'warn' "
            "and 0."
        )
    return None if best is None else best[:n_units], proven
