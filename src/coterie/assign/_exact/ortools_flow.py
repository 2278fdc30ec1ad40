"""Size-constrained assignment as a minimum-cost flow in the network of the book, solved by OR-tools."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Labels
from coterie.assign._sizes.bounds import SizeBounds

# Costs are whole numbers inside OR-tools; the largest times the number of nodes must stay below this.
_LARGEST = 2.0**60


def solve_by_flow(costs: Any, bounds: SizeBounds) -> Labels:
    """Optimal labels up to the rounding of the costs to some 2^60 / (n + k) steps."""
    try:
        from ortools.graph.python import min_cost_flow
    except ImportError:
        raise ImportError(
            'solver="flow" needs OR-tools: pip install "coterie[solvers]". The default solver does without.'
        ) from None
    if len(bounds.load):
        raise ValueError('solver="flow" takes items of equal load only; use "auto" or "exact".')
    n, k = costs.shape
    limits = bounds.limits
    kind_low, kind_high, n_kinds = limits.kind_low, limits.kind_high, limits.n_kinds
    kind = limits.kind if len(limits.kind) else np.zeros(n, dtype=np.int32)
    n_nodes = n + n_kinds * k + k + 1
    relative = costs - np.asarray(costs, dtype=np.float64).min(axis=1, keepdims=True)
    largest = float(relative.max())
    scale = 2.0 ** np.floor(np.log2(_LARGEST / (n_nodes * largest))) if largest > 0 else 1.0
    arc_cost = np.round(relative * scale).astype(np.int64)

    of_kind = n + np.arange(n_kinds * k)
    cluster = n + n_kinds * k + np.arange(k)
    sink = n_nodes - 1
    flow = min_cost_flow.SimpleMinCostFlow()
    tail, head = np.repeat(np.arange(n), k), (n + kind[:, None] * k + np.arange(k)).ravel()
    arcs = flow.add_arcs_with_capacity_and_unit_cost(
        tail, head, np.ones(n * k, dtype=np.int64), arc_cost.ravel()
    )
    none = np.zeros(n_kinds * k, dtype=np.int64)
    room = (kind_high - kind_low).ravel().astype(np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(of_kind, np.tile(cluster, n_kinds), room, none)
    room = (bounds.high - bounds.low).astype(np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(cluster, np.full(k, sink), room, none[:k])
    # a lower bound is taken at once: what it brings is missing before the arc and present behind it
    supply = np.concatenate(
        [np.ones(n), -kind_low.ravel(), kind_low.sum(axis=0) - bounds.low, [bounds.low.sum() - n]]
    )
    flow.set_nodes_supplies(np.arange(n_nodes), supply.astype(np.int64))
    status = flow.solve()
    if status != flow.OPTIMAL:
        raise RuntimeError(f"OR-tools did not solve the flow (status {status}).")
    used = np.asarray(flow.flows(arcs)).reshape(n, k)
    return used.argmax(axis=1).astype(np.int32)
