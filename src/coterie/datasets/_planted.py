"""Signed weights of pairs around planted groups, some of them wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state


def make_planted_correlation(
    n_items: int = 100,
    n_groups: int = 5,
    noise: float = 0.1,
    *,
    degree: float | None = None,
    inside: float = 0.5,
    exponential: bool = False,
    random_state: Any = None,
) -> Bunch:
    """Make weights of pairs, above 0 within planted groups and below 0 between them, but for some.

    Parameters
    ----------
    n_items, n_groups : int, default 100 and 5
        Items, and groups of nearly equal size.
    noise : float, default 0.1
        Probability that the sign of a pair is wrong.
    degree : float, optional
        About so many pairs of an item have a weight; by default all have one.
    inside : float, default 0.5
        With `degree`: about this share of the pairs is within groups.
    exponential : bool, default False
        Draw the size of a weight from an exponential distribution of mean 1; by default it is 1.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Bunch
        With the keys ``data`` (array of shape (n_items, n_items), or CSR matrix with `degree`), ``target``,
        ``cost`` (what the planted groups cost: the sum of the weights with a wrong sign) and ``DESCR``.

    Examples
    --------
    >>> from coterie.datasets import make_planted_correlation
    >>> planted = make_planted_correlation(1000, 10, degree=20, random_state=0)
    >>> planted.data.shape, 18 < planted.data.nnz / 1000 < 20
    ((1000, 1000), True)
    """
    rng = check_random_state(random_state)
    target = rng.permutation(np.arange(n_items) * n_groups // n_items)
    if degree is None:
        i, j = np.triu_indices(n_items, 1)
    else:
        n_pairs = int(0.5 * n_items * degree)
        i, j = rng.randint(n_items, size=(2, n_pairs))
        order, size = np.argsort(target, kind="stable"), np.bincount(target)
        first, within = np.cumsum(size) - size, rng.uniform(size=n_pairs) < inside
        near = order[first[target[i]] + (rng.uniform(size=n_pairs) * size[target[i]]).astype(np.int64)]
        j = np.where(within, near, j)
        kept = (i != j) & (within | (target[i] != target[j]))
        key = np.unique((np.minimum(i, j) * n_items + np.maximum(i, j))[kept])
        i, j = np.divmod(key, n_items)
    weight = rng.exponential(size=len(i)) if exponential else np.ones(len(i))
    wrong = rng.uniform(size=len(i)) < noise
    sign = np.where((target[i] == target[j]) ^ wrong, 1.0, -1.0)
    one_way = sparse.coo_matrix((sign * weight, (i, j)), (n_items, n_items))
    data = (one_way + one_way.T).tocsr()
    return Bunch(
        data=data.toarray() if degree is None else data,
        target=target,
        cost=float(weight[wrong].sum()),
        DESCR=f"Signed weights of {len(i):,} pairs of {n_items:,} items in {n_groups} groups. Source: made.",
    )
