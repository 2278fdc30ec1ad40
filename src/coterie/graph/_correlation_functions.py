"""Bounds on what correlation clustering can reach, for given weights: the linear program, a packing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from coterie.constraints import Constraints
from coterie.graph._correlation.packing import triple_packing
from coterie.graph._correlation.programs import LpSolution, solve_lp
from coterie.graph._correlation.signed_graph import SignedGraph, signed_graph


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
    >>> from coterie.graph._correlation_functions import correlation_lp
    >>> star = -np.ones((4, 4))
    >>> star[0] = star[:, 0] = 1
    >>> found = correlation_lp(star)
    >>> float(found.value), found.x[0].tolist()
    (1.5, [0.0, 0.5, 0.5, 0.5])
    """
    g, unavoidable = _read(X, default, X_minus)
    found = solve_lp(g, max_items=max_items)
    return found._replace(value=found.value + unavoidable)


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
    >>> from coterie.graph._correlation_functions import triple_packing_bound
    >>> star = -np.ones((4, 4))
    >>> star[0] = star[:, 0] = 1
    >>> triple_packing_bound(star, random_state=0)
    1.0
    """
    g, unavoidable = _read(X, default, X_minus)
    return triple_packing(g, check_random_state(random_state)) + unavoidable


def _read(X: Any, default: float, X_minus: Any) -> tuple[SignedGraph, float]:
    """The signed graph of the items, and what pairs that attract and repel cost in any case."""
    if not default <= 0:
        raise ValueError(f"default is {default!r}; pairs that are not listed weigh 0 or less.")
    plus, unavoidable = _listed(X, "X"), 0.0
    net = plus
    if X_minus is not None:
        minus = _listed(X_minus, "X_minus")
        if minus.shape != plus.shape:
            raise ValueError(f"X has shape {plus.shape} and X_minus {minus.shape}; give both for all items.")
        low = min(plus.data.min(initial=0.0), minus.data.min(initial=0.0))
        if low < 0:
            raise ValueError(f"there is a weight of {low}; with X_minus both matrices hold 0 or more.")
        unavoidable = 0.5 * float(plus.minimum(minus).sum())
        a, b = plus.tocoo(), minus.tocoo()
        ends = np.concatenate([a.row, b.row]), np.concatenate([a.col, b.col])
        # pairs whose sides are equal stay listed, at 0
        net = sparse.coo_matrix((np.append(a.data, -b.data), ends), plus.shape).tocsr()
    return signed_graph(net, float(default), Constraints(n_items=net.shape[0])), unavoidable


def _listed(X: Any, name: str) -> Any:
    """Weights of listed pairs as CSR without its diagonal."""
    matrix: Any = X.tocoo() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise ValueError(f"{name} has shape {matrix.shape}; give a square matrix, a row for each item.")
    if sparse.issparse(X):
        i, j, values = matrix.row, matrix.col, matrix.data.astype(np.float64)
    else:
        i, j = np.indices(matrix.shape).reshape(2, -1)
        values = matrix.ravel()
    off = i != j
    i, j, values = i[off], j[off], values[off]
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        at = bad[0]
        raise ValueError(f"{name} weighs the pair ({i[at]}, {j[at]}) {values[at]}; give finite weights.")
    found = sparse.coo_matrix((values, (i, j)), matrix.shape).tocsr()
    differ = abs(found - found.T).tocoo()
    if differ.data.max(initial=0.0) > 1e-9 * np.abs(values).max(initial=0.0):
        at = differ.data.argmax()
        a, b = differ.row[at], differ.col[at]
        raise ValueError(
            f"{name} weighs ({a}, {b}) {found[a, b]} and ({b}, {a}) {found[b, a]}; give each pair one weight."
        )
    return found
