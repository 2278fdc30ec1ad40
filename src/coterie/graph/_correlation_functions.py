"""What labels cost, for given weights of pairs, and bounds on it: the linear program, a packing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from coterie.graph._correlation.advice import read_advice
from coterie.graph._correlation.packing import triple_packing
from coterie.graph._correlation.programs import LpSolution, solve_lp


def correlation_lp(X: Any, *, default: float = 0.0, X_minus: Any = None, max_items: int = 300) -> LpSolution:
    """Solve the linear program of correlation clustering.

    ``min sum w+ x + w- (1 - x)`` over distances x in [0, 1] that obey the triangle inequality; x is 1 where a
    pair is parted. Its value is a lower bound on the disagreements of all partitions.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n)
        Weights of pairs, symmetric: above 0 they attract, below they repel. All pairs of an array are listed;
        those that a sparse matrix stores. With `X_minus` these are the attracting weights alone.
    default : float, default=0.0
        The weight of pairs that are not listed, at most 0.
    X_minus : array or sparse matrix of shape (n, n), optional
        Repelling weights, at least 0.
    max_items : int, default=300
        The largest program: the pairs of so many items that hang together by attracting pairs.

    Returns
    -------
    LpSolution
        With `x`, of shape (n, n); `value`; and `n_rows`, the rows that were needed.

    Notes
    -----
    Rows are added where they are broken: some 100 items that all have a weight take seconds, some thousand
    with a few weights each too. `triple_packing_bound` takes millions of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graph import correlation_lp
    >>> star = -np.ones((4, 4))
    >>> star[0] = star[:, 0] = 1
    >>> found = correlation_lp(star)
    >>> float(found.value), found.x[0].tolist()
    (1.5, [0.0, 0.5, 0.5, 0.5])
    """
    advice = read_advice(X, X_minus, default)
    found = solve_lp(advice.legal_graph(), max_items=max_items)
    return found._replace(value=found.value + advice.unavoidable)


def triple_packing_bound(
    X: Any, *, default: float = 0.0, X_minus: Any = None, random_state: Any = None
) -> float:
    """A lower bound on the disagreements of all partitions, without a program.

    Of two attracting pairs and a repelling one of the same three items one is broken at least. Such triples
    are taken in a random order, each for the least of what is left of its three weights.

    Parameters
    ----------
    X, default, X_minus
        As in `correlation_lp`, whose value is never below this bound.
    random_state : None, int or RandomState
        The order of the triples.

    Returns
    -------
    float

    Notes
    -----
    Some seconds for 1,000,000 pairs; of more than 50,000,000 triples a part is tried.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graph import triple_packing_bound
    >>> star = -np.ones((4, 4))
    >>> star[0] = star[:, 0] = 1
    >>> triple_packing_bound(star, random_state=0)
    1.0
    """
    advice = read_advice(X, X_minus, default)
    return triple_packing(advice.legal_graph(), check_random_state(random_state)) + advice.unavoidable


def correlation_cost(X: Any, labels: Any, *, default: float = 0.0, X_minus: Any = None) -> float:
    """The weight of advice about pairs that labels go against: (13.1).

    Parameters
    ----------
    X, default, X_minus
        As in `correlation_lp`.
    labels : array of shape (n,)
        The cluster of each item.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graph import correlation_cost
    >>> correlation_cost(np.array([[0, 3, -1], [3, 0, 2], [-1, 2, 0]]), [0, 0, 1])
    2.0
    """
    advice = read_advice(X, X_minus, default)
    labels = np.asarray(labels)
    if labels.shape != advice.net.shape[:1]:
        raise ValueError(f"labels has shape {labels.shape}; there are {advice.net.shape[0]} items.")
    if advice.forced.violations(np.unique(labels, return_inverse=True)[1]).n_broken:
        return float("inf")
    return advice.cost(labels)
