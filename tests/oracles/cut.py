"""Cuts of graphs the slow and obvious way: every edge, every pair of rows, every labelling."""

import itertools
import math


def cut(W, labels):
    """Weight of the edges between clusters."""
    n = len(labels)
    return sum(W[i][j] for i in range(n) for j in range(i) if labels[i] != labels[j])


def least_cut(W, k, low, high, load=None, together=()):
    """The least cut of labellings whose loads are from low to high, one a cluster; None if there is none."""
    n, best = len(W), None
    load = [1] * n if load is None else load
    for labels in itertools.product(range(k), repeat=n):
        held = [sum(w for w, label in zip(load, labels, strict=True) if label == h) for h in range(k)]
        fits = all(a - 1e-9 <= size <= b + 1e-9 for a, size, b in zip(low, held, high, strict=True))
        if fits and all(labels[i] == labels[j] for i, j in together):
            value = cut(W, labels)
            best = value if best is None else min(best, value)
    return best


def neighbour_affinities(X, n_neighbors):
    """Affinities of nearest neighbours, scaled by the middle one; for rows without copies or ties."""
    n = len(X)
    d = [[math.dist(X[i], X[j]) for j in range(n)] for i in range(n)]
    near = [
        sorted((j for j in range(n) if j != i), key=lambda j, i=i: d[i][j])[:n_neighbors] for i in range(n)
    ]
    middle = [d[i][near[i][(len(near[i]) - 1) // 2]] for i in range(n)]
    return [
        [
            max(math.exp(-(d[i][j] ** 2) / (middle[i] * middle[j])), 1e-3)
            if j in near[i] or i in near[j]
            else 0.0
            for j in range(n)
        ]
        for i in range(n)
    ]
