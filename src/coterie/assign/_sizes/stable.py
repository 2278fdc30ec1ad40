"""`stable_assignment`: places in clusters that hold so many, the nearest first.

Items and clusters rank each other by one table of costs, so there is exactly one stable matching: that of all
pairs in the order of their cost. It is found without sorting them. Each item asks for the cheapest cluster
that would take it; a cluster that is full lets its dearest item go, which asks again. A cluster that refuses
an item once refuses it for good, so an item looks at its costs once for each time that it has no place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Index, Labels
from coterie._compiled import SLICE, kernel
from coterie.assign._core.assignment import read_finite_costs
from coterie.assign._transport import sift_down
from coterie.exceptions import ParameterError


def stable_assignment(costs: Any, quotas: Any) -> Labels:
    """Give the items the places of the clusters, so that no item and cluster would both rather have another.

    Equal to taking all pairs in the order (cost, item, cluster), each if the item has no cluster yet and the
    cluster has a place.

    Parameters
    ----------
    costs : array of shape (n_items, k)
        Cost of each item in each cluster.
    quotas : int, or array of shape (k,)
        How many items each cluster takes at most.

    Returns
    -------
    labels : array of shape (n_items,), int32
        The cluster of each item; -1: it got no place.

    See Also
    --------
    size_constrained_assignment : the cheapest labels in all, under bounds.

    Notes
    -----
    Time O(n k), and O(k + log n) for each item that loses its place to another; memory O(n) beside the costs,
    and O(places) while the matching is made. It is not the cheapest assignment, and can be far from it: who
    is placed first does not care what is left for the others.

    References
    ----------
    Banerjee and Ghosh, Clustering with balancing constraints: chapter 8 of Basu, Davidson and Wagstaff
    (eds.), Constrained Clustering. Gale and Shapley, College admissions and the stability of marriage, 1962.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.assign import stable_assignment
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 9.0])
    >>> stable_assignment(np.abs(x[:, None] - [0.0, 10.0]), [2, 2])
    array([ 0, 0, -1, 1, 1], dtype=int32)
    """
    table = read_finite_costs(costs)
    n, k = table.shape
    places = _read_quotas(quotas, n, k)
    # who can hold everybody never has to compare
    room = np.where(places < n, places, 0)
    at = np.concatenate([[0], np.cumsum(room)])
    key, who = np.empty(at[-1]), np.empty(at[-1], dtype=np.int32)
    labels = np.full(n, -1, dtype=np.int32)
    length, state = np.zeros(k, dtype=np.int64), np.array([-1, 0])
    while state[0] >= 0 or state[1] < n:
        _place(table, places, at, length, key, who, labels, state, SLICE // k + 1)
    return labels


def _read_quotas(quotas: Any, n: int, k: int) -> Index:
    """Places of each cluster; n stands for all that are more."""
    given = np.asarray(quotas)
    if given.dtype.kind not in "iu" or given.shape not in ((), (k,)):
        wanted = f"quotas must be a whole number, or {k} of them, one per cluster"
        raise ParameterError(f"{wanted}; got {quotas!r}.", "quotas")
    wrong = np.flatnonzero(np.atleast_1d(given) < 0)
    if len(wrong):
        number = np.atleast_1d(given)[wrong[0]]
        raise ParameterError(f"quotas of cluster {wrong[0]} is {number}; it must be at least 0.", "quotas")
    return np.broadcast_to(np.minimum(given, n), k).astype(np.int64)


@kernel
def _place(
    costs: Any,
    places: Any,
    at: Any,
    length: Any,
    key: Any,
    who: Any,
    labels: Any,
    state: Any,
    most: int,
) -> None:
    """Let items ask for places, `most` times; `state` is the item in hand (-1: none) and the next.

    A cluster's items lie from `at[h]` on, in any order until it is full, then as a heap: `key` and `who` hold
    costs and items with a minus, so that the dearest item is the first, of several the last one.
    """
    n, k = costs.shape
    item, following = state[0], state[1]
    for _ in range(most):
        if item < 0:
            if following == n:
                break
            item = following
            following += 1
        best, least = -1, np.inf
        for h in range(k):
            cost = costs[item, h]
            if cost < least and places[h] > 0:
                if length[h] == places[h]:
                    dearest = -key[at[h]]
                    if cost > dearest or (cost == dearest and item > -who[at[h]]):
                        continue
                best, least = h, cost
        labels[item] = best
        if best < 0 or places[best] == n:
            item = -1
            continue
        first, held = at[best], length[best]
        if held == places[best]:
            out = -who[first]
            key[first], who[first] = -least, -item
            sift_down(key, who, first, held, 0)
            item = out
            continue
        key[first + held], who[first + held] = -least, -item
        length[best] = held + 1
        if held + 1 == places[best]:
            for position in range((held + 1) // 2 - 1, -1, -1):
                sift_down(key, who, first, held + 1, position)
        item = -1
    state[0], state[1] = item, following
