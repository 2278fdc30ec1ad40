"""`size_constrained_assignment`: the cheapest labels under bounds on the size of every cluster."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from coterie.assign._core.assignment import Assignment, own_costs, read_finite_costs
from coterie.assign._exact.ortools_flow import solve_by_flow
from coterie.assign._sizes.bounds import shortfalls, tell_shortfall
from coterie.assign._sizes.reading import read_bounds
from coterie.assign._sizes.with_pairs import BoundedSolver
from coterie.assign._transport import BoundedLabels, Transport


@dataclass(frozen=True, eq=False)
class SizedAssignment(Assignment):
    """Labels under bounds, and what the bounds cost.

    Attributes
    ----------
    labels, cost, optimal
        As in `Assignment`.
    prices : array of shape (k,)
        What one more item would cost in each cluster: positive where the minimum binds (what raising it by
        one costs), negative where the maximum does (what raising it by one saves), 0 elsewhere. With loads
        that differ, the price of a unit of load, near the optimum.
    sizes : array of shape (k,)
        Items, or load, of each cluster.
    group_prices : array of shape (k, n_groups), or None
        The same for the bounds of each group, on top of the price of the cluster.
    shortfall : float
        By how much bounds are missed; 0 unless `on_shortfall="warn"`.
    """

    prices: Any = None
    sizes: Any = None
    group_prices: Any = None
    shortfall: float = 0.0


def size_constrained_assignment(
    costs: Any,
    size_min: Any = None,
    size_max: Any = None,
    *,
    groups: Any = None,
    group_min: Any = None,
    group_max: Any = None,
    size_weight: Any = None,
    prices: Any = None,
    solver: Literal["auto", "paths", "flow", "exact"] = "auto",
    on_shortfall: Literal["raise", "warn"] = "raise",
    budget: int = 1_000_000,
) -> SizedAssignment:
    """Give every item a cluster, at the least cost, so that the size of every cluster lies within its bounds.

    Parameters
    ----------
    costs : array of shape (n_items, k)
        Cost of each item in each cluster.
    size_min, size_max : None, int, float, str, or one per cluster
        Bounds. An int is a number of items, or a load; a float is a share of the mean size n / k (1.1, or
        "110%": ten percent above it; the minimum rounded down, the maximum up); k numbers bound each cluster
        by itself.
    groups : array of shape (n_items,), optional
        The group of each item (-1, None or NaN: none).
    group_min, group_max : None, number, dict or array of shape (n_groups, k)
        Bounds of the items (the load, with `size_weight`) of each group in each cluster; a dictionary goes by
        the name of the group. Shares are of the group's mean size.
    size_weight : array of shape (n_items,), optional
        What each item counts in the bounds; an item is never split. Shares are then of the mean load, and
        rounded to whole items only where all loads are equal.
    prices : array of shape (k,), optional
        Where to start: prices of a similar problem save time, and change nothing else.
    solver : {"auto", "paths", "flow", "exact"}
        "paths" are shortest paths between clusters; "flow" hands the problem to OR-tools (whole numbers
        inside, equal loads only); "exact" is an integer program, for loads that differ. "auto" is "paths".
    on_shortfall : {"raise", "warn"}
        With loads that differ the bounds may not be met within the budget: raise, or return the best and
        warn.
    budget : int
        Nodes times cells of the integer program; 0: none, so that nothing is proven impossible.

    Returns
    -------
    SizedAssignment
        Labels, cost, prices, sizes. With loads of 1 it is optimal, always.

    Raises
    ------
    InfeasibleConstraintsError
        If the bounds cannot be met; with the sum that shows it.
    UndecidedError
        If, with loads that differ, no fitting assignment was found, nor proven that there is none.

    Notes
    -----
    Successive shortest paths on the k clusters and a sink, from the best of three starting prices. Time
    O(n k), and O(k^2) for each item that has to give way; memory O(n + candidates) beside the costs. With G
    groups the graph has (G + 2) k nodes, and its square takes the place of k^2 (also in memory): fit for some
    thousand nodes. Loads that differ: whole items move along such paths, then a search settles the rest.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter 9 (Demiriz, Bennett and Bradley).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.assign import size_constrained_assignment
    >>> costs = np.array([[0.0, 9.0], [1.0, 5.0], [2.0, 3.0], [4.0, 0.0]])
    >>> found = size_constrained_assignment(costs, size_min=2)
    >>> found.labels, found.cost
    (array([0, 0, 1, 1], dtype=int32), 4.0)
    >>> size_constrained_assignment(costs, size_min=[0, 2]).prices  # one more in the second costs 4
    array([0., 4.])
    """
    table = read_finite_costs(costs)
    n, k = table.shape
    if isinstance(budget, bool) or not isinstance(budget, Integral) or budget < 0:
        raise ValueError(f"budget must be a whole number, at least 0; got {budget!r}.")
    for name, value, legal in (
        ("solver", solver, ("auto", "paths", "flow", "exact")),
        ("on_shortfall", on_shortfall, ("raise", "warn")),
    ):
        if value not in legal:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, legal))}; got {value!r}.")
    bounds = read_bounds(
        size_min,
        size_max,
        n,
        k,
        size_weight=size_weight,
        groups=groups,
        group_min=group_min,
        group_max=group_max,
    )
    potentials = None
    if prices is not None:
        try:
            given = np.asarray(prices, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"prices must be {k} numbers, one per cluster; got {prices!r}.") from None
        if given.shape != (k,) or not np.isfinite(given).all():
            raise ValueError(f"prices must be {k} finite numbers, one per cluster; got shape {given.shape}.")
        potentials = Transport(bounds.limits).nodes_of(given)
    sized = BoundedSolver(bounds, exact=solver == "exact", budget=budget)
    if solver == "flow":
        found = BoundedLabels(solve_by_flow(table, sized.bounds), np.zeros(sized.n_nodes), proven=True)
    else:
        found = sized.solve(table, potentials=potentials)
    if found.missed > 0:
        tell_shortfall(shortfalls(bounds, found.labels), on_shortfall)
    by_cluster, by_group = sized.duals(table, found)
    size = bounds.held(found.labels)[0]
    return SizedAssignment(
        found.labels,
        own_costs(table, found.labels),
        optimal=found.proven,
        prices=by_cluster,
        sizes=size if len(bounds.load) else size.astype(np.int64),
        group_prices=by_group,
        shortfall=found.missed,
    )
