"""What an assignment returns, and how its costs are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from coterie._arrays import NOTHING, Floats, Labels
from coterie.assign._core.core import Core
from coterie.constraints import Constraints, as_constraints
from coterie.distortion._rows import DensePoints


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels, and an account of them.

    Attributes
    ----------
    labels : array of shape (n,), int32
        The cluster of each item.
    cost : float
        What was minimised: the cost of all items in their clusters, and the penalty.
    penalty : float
        The part of `cost` that broken soft constraints make up.
    n_moves : int
        Steps that the search took after its start.
    optimal : bool
        Whether it is proven that nothing is better.
    """

    labels: Labels
    cost: float
    penalty: float = 0.0
    n_moves: int = 0
    optimal: bool = False


def read_costs(costs: Any, constraints: Any) -> tuple[Floats, Constraints]:
    """Check a table of costs, one row an item and one column a cluster, and what is known of the items."""
    table = check_array(costs, dtype=np.float64, ensure_min_features=1, input_name="costs")
    return table, as_constraints(constraints, table.shape[0], counted="costs has {} rows", like=costs)


def read_finite_costs(costs: Any) -> Any:
    """Check a table of costs that stays in float32 where it is; the first cell that is no number is named."""
    how = {"dtype": [np.float64, np.float32], "order": "C", "ensure_min_features": 1}
    table = check_array(costs, **how, ensure_all_finite=False, input_name="costs")
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        i, h = wrong[0].tolist()
        raise ValueError(f"costs of item {i} in cluster {h} is {table[i, h]}; costs must be finite numbers.")
    return table


def read_labels(labels: Any, n_items: int, k: int) -> Labels:
    """Check labels to start from."""
    given = np.asarray(labels)
    if given.shape != (n_items,) or given.dtype.kind not in "iu":
        raise ValueError(f"labels must be {n_items} whole numbers; got shape {given.shape}, {given.dtype}.")
    wrong = np.flatnonzero((given < 0) | (given >= k))
    if len(wrong):
        raise ValueError(f"labels[{wrong[0]}] is {given[wrong[0]]}; labels go from 0 to {k - 1}.")
    return given.astype(np.int32)


def unit_costs(costs: Floats, core: Core) -> Floats:
    """Costs of the core's units: the sums over their items."""
    return DensePoints(costs).add_up(core.items, core.unit, core.n_units, NOTHING)


def to_units(core: Core, labels: Labels) -> Labels:
    """The label of each unit, read off its first item."""
    found = np.empty(core.n_units, dtype=np.int32)
    found[core.unit[::-1]] = labels[core.items[::-1]]
    return found


def own_costs(costs: Floats, labels: Labels) -> float:
    """Summed cost of each row at its label."""
    return float(costs[np.arange(len(costs)), labels].sum(dtype=np.float64))
