"""Connected clusters within bounds the slow and obvious way: every labelling is looked at."""

import itertools

import numpy as np

from tests.oracles.connected import connected, partitions


def squares(X, labels):
    """The sum of squared distances to the means, by definition."""
    X, labels = np.asarray(X, dtype=float), np.asarray(labels)
    return sum(((X[labels == h] - X[labels == h].mean(axis=0)) ** 2).sum() for h in set(labels.tolist()))


def is_legal(labels, near, load, low, high, joined=()):
    """Whether clusters are connected, keep joined items together, and hold no less and no more than allowed.

    `low` and `high` are lists with a number for each cluster, in any order.
    """
    k = len(low)
    if set(labels) != set(range(k)):
        return False
    parts = [[v for v, label in enumerate(labels) if label == h] for h in range(k)]
    if any(labels[i] != labels[j] for i, j in joined) or not all(connected(part, near) for part in parts):
        return False
    held = [sum(load[v] for v in part) for part in parts]
    return any(
        all(low[h] - 1e-9 <= held[at] <= high[h] + 1e-9 for at, h in enumerate(order))
        for order in (
            itertools.permutations(range(k)) if len(set(zip(low, high, strict=True))) > 1 else [range(k)]
        )
    )


def best_squares(X, near, load, low, high, joined=()):
    """The least sum of squares of legal clusters; infinite if there are none."""
    legal = (
        labels for labels in partitions(len(X), len(low)) if is_legal(labels, near, load, low, high, joined)
    )
    return min((squares(X, labels) for labels in legal), default=np.inf)


def most_regions(n, near, load, low, high=np.inf, joined=()):
    """The largest number of connected clusters of at least some load; 0 if there are none."""
    for k in range(n, 0, -1):
        bounds = [low] * k, [high] * k
        if any(is_legal(labels, near, load, *bounds, joined) for labels in partitions(n, k)):
            return k
    return 0
