"""Weights of pairs out of probabilities or traffic between cells; constraints made consistent."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats
from coterie.base import symmetric
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import graph_of_pairs, votes_of


def log_odds_weights(probabilities: Any, eps: float = 1e-6) -> Any:
    """Turn probabilities that two items belong together into weights, ``log(p / (1 - p))``.

    With these weights correlation clustering finds the likeliest clusters, if pairs were independent.

    Parameters
    ----------
    probabilities : array of any shape, or sparse matrix
        From 0 to 1; of a sparse matrix what is stored. 1/2 says nothing: its weight is 0.
    eps : float, default 1e-6
        Nothing is surer than this: p is at least `eps` and at most ``1 - eps``.

    Returns
    -------
    array or sparse matrix
        The weights, in the same form.

    Examples
    --------
    >>> from coterie.graph import log_odds_weights
    >>> log_odds_weights([0.5, 0.9, 0.0]).round(2)
    array([  0.  ,   2.2 , -13.82])
    """
    if sparse.issparse(probabilities):
        weights = probabilities.astype(np.float64)
        weights.data = log_odds_weights(weights.data, eps)
        return weights
    p = np.asarray(probabilities, dtype=np.float64)
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"probability {at} is {p[at]:g}; it must be from 0 to 1.")
    p = np.clip(p, eps, 1.0 - eps)
    return np.log(p / (1.0 - p))


def location_area_weights(handoff: Any, call_rate: Any) -> tuple[Floats, Floats]:
    """Weights by which cells of a telephone network are grouped into location areas.

    A call pages all cells of the area, and a phone that crosses into another area is handed over. If calls
    come to cell u at the rate r_u, areas S cost ``sum_S |S| sum_{u in S} r_u`` and the hand-overs between
    them. That is `disagreements_` for the weights returned here, and the sum of all rates.

    Parameters
    ----------
    handoff : array of shape (n_cells, n_cells)
        Hand-overs between two cells, both ways together: symmetric.
    call_rate : array of shape (n_cells,)
        Calls to each cell.

    Returns
    -------
    attract, repel : arrays of shape (n_cells, n_cells)
        For ``CorrelationClustering().fit(attract, X_minus=repel)``.

    Examples
    --------
    >>> from coterie.graph import location_area_weights
    >>> location_area_weights([[0, 5], [5, 0]], [1, 2])[1]
    array([[0., 3.],
           [3., 0.]])
    """
    attract = symmetric(np.array(handoff, dtype=np.float64), "handoff")
    rate = np.asarray(call_rate, dtype=np.float64)
    if rate.shape != attract.shape[:1] or not (rate >= 0).all() or not (attract >= 0).all():
        raise ValueError(
            f"call_rate has shape {rate.shape}, handoff {attract.shape}: give one rate a cell, none below 0."
        )
    repel = rate[:, None] + rate
    for table in (attract, repel):
        np.fill_diagonal(table, 0.0)
    return attract, repel


def repair_constraints(constraints: Constraints, *, random_state: Any = 0) -> tuple[Constraints, Constraints]:
    """Split constraints that contradict each other into some that can all hold, and the others.

    Correlation clustering of the constraints alone: what the labels found break is dropped, and it is light.
    Hard constraints win over all soft ones, and are dropped only if they contradict each other.

    Parameters
    ----------
    constraints : Constraints
        Of any kind. Groups lose the items that are in the way; those that cannot be kept whole are written
        out as pairs to be weighed.
    random_state : int or Generator
        Seed of the search, which does not always find the lightest.

    Returns
    -------
    kept, dropped : Constraints
        Together what was given; the kept ones can be met, if the number of clusters is free.

    Examples
    --------
    >>> from coterie import Constraints
    >>> from coterie.graph import repair_constraints
    >>> c = Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=4, weight=[1, 3, 2])
    >>> kept, dropped = repair_constraints(c)
    >>> dropped
    Constraints(4 items: 1 must-link (0-1))
    """
    n, hard, soft = constraints.n_items, constraints.only_hard(), stated_pairs(constraints)
    votes = [votes_of(soft)]
    if hard.contracted.n_contradictions:
        votes.append(votes_of(stated_pairs(hard, hard=True), 1.0 + soft.strength.sum()))
        hard = Constraints(n_items=n)
    graph = graph_of_pairs(n, hard, *votes)
    label, rng = np.arange(graph.n), np.random.default_rng(random_state)
    label = improve_partition(graph.level, label, rng, 0.0, graph.cost(label))[0]
    broken = constraints.violations(label[graph.unit])
    away = np.zeros(n, dtype=bool)
    away[[item for group in broken.groups for item in group.items]] = True
    taken = [
        [group for group in (one.take(rows, np.arange(n)) for one in constraints.groups) if group is not None]
        for rows in (~away, away)
    ]
    make, ids = constraints._from_parts, constraints._ids
    lost = make(n, broken.must_link, broken.cannot_link, (), ids)
    left = constraints.drop(lost)
    kept = make(n, left.must_table, left.cannot_table, taken[0], ids)
    return kept, make(n, lost.must_table, lost.cannot_table, taken[1], ids)
