"""How many clusters each island of a graph gets, and which, where they have bounds.

No cluster spans two islands. A small integer program: the numbers differ as little as can be from what is
wanted, and the bounds of the clusters of an island leave room for its load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from coterie._arrays import Floats, Index
from coterie._words import count_of, format_number, listed
from coterie.exceptions import InfeasibleConstraintsError

# Of a bound: what a load misses it by only because its sum is rounded. Whole numbers are exact.
ROUNDING = 1e-9


def share_out(
    low: Floats, high: Floats, load: Floats, wanted: Any, fewest: Floats, most: Floats, total: float, rng: Any
) -> list[Index]:
    """Which clusters each island gets, by whole numbers; raises if none can be right.

    Parameters
    ----------
    low, high : arrays of shape (k,)
        The bounds of each cluster.
    load, wanted, fewest, most : arrays of shape (n_islands,)
        Load of each island, how many clusters it should have if that can be, and between what.
    total : float
        What the load of all islands is called in a message.
    rng : RandomState
        Decides where several ways are as good.
    """
    kinds, kind, many = np.unique(
        np.column_stack([low, high]), axis=0, return_inverse=True, return_counts=True
    )
    n, c = len(load), len(kinds)
    # what the widest of the bounds allow, so that the program has nothing to weigh up closely
    fewest = np.maximum(fewest, np.ceil(load / high.max() * (1 - ROUNDING)))
    if low.min() > 0:
        most = np.minimum(most, np.floor(load / low.min() * (1 + ROUNDING)))
    # y[i, c] clusters of a kind on an island, then by how many their number differs from what is wanted
    on_island = sparse.kron(sparse.eye(n), np.ones((1, c)))
    of_kind = sparse.kron(np.ones((1, n)), sparse.eye(c))
    away = sparse.eye(n)
    limits = [
        LinearConstraint(sparse.hstack([of_kind, sparse.csr_array((c, n))]), many, many),
        LinearConstraint(sparse.hstack([on_island, 0 * away]), fewest, most),
        LinearConstraint(sparse.hstack([on_island, -away]), -np.inf, wanted),
        LinearConstraint(sparse.hstack([on_island, away]), wanted, np.inf),
    ]
    if c > 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            part = kinds / load[:, None, None]
        # of no load any room is enough, and any least load too much; no more than that is to be told
        lows = np.where(kinds[:, 0] > 0, np.minimum(part[:, :, 0], 2.0), 0.0)
        highs = np.fmin(part[:, :, 1], 1.0)
        for share, below, above in ((lows, -np.inf, 1 + ROUNDING), (highs, 1 - ROUNDING, np.inf)):
            on_each = sparse.block_diag(list(share[:, None, :]))
            limits.append(LinearConstraint(sparse.hstack([on_each, 0 * away]), below, above))
    cost = np.append(rng.uniform(size=n * c) / (len(low) + 1), np.ones(n))  # the former add up to less than 1
    # with one kind every corner of the linear program is whole: what is wanted, or an end, for all but one
    whole = np.append(np.full(n * c, float(c > 1)), np.zeros(n))
    possible = (fewest <= most).all()
    found = milp(cost, constraints=limits, integrality=whole, bounds=Bounds(0, np.inf)) if possible else None
    if found is None or found.x is None:
        unit = total / load.sum()
        sizes = listed([format_number(one * unit) for one in np.sort(load)[::-1][:20]])
        raise InfeasibleConstraintsError(
            f"the connectivity has {count_of(n, 'island')}, with loads of {sizes}{', ...' * (n > 20)}: "
            f"{count_of(len(low), 'cluster')} of {_range(low * unit, high * unit, total)} cannot fill them "
            "exactly, and no cluster spans two islands. Widen size_min and size_max, ask for another number "
            "of clusters, or add edges between the islands."
        )
    number = np.rint(found.x[: n * c]).astype(np.int64).reshape(n, c)
    of = [np.flatnonzero(kind.ravel() == one) for one in range(c)]
    ends = np.concatenate([np.zeros((1, c), dtype=np.int64), np.cumsum(number, axis=0)])
    return [np.sort(np.concatenate([of[j][ends[i, j] : ends[i + 1, j]] for j in range(c)])) for i in range(n)]


def _range(low: Floats, high: Floats, total: float) -> str:
    """Bounds in words."""
    least, most = format_number(float(low.min())), format_number(float(high.max()))
    if (high >= total).all():
        return f"at least {least}"
    return f"at most {most}" if (low <= 0).all() else f"{least} to {most}"
