"""Places in clusters by sorting all pairs; the book's populate; how often a sample meets every cluster."""

import numpy as np


def by_sorted_pairs(costs, quotas):
    """Take every pair in the order (cost, item, cluster), if the item is free and the cluster has a place."""
    costs = np.asarray(costs, dtype=np.float64)
    n, k = costs.shape
    labels, left = np.full(n, -1), [int(quota) for quota in np.broadcast_to(quotas, k)]
    for _, i, h in sorted((costs[i, h], i, h) for i in range(n) for h in range(k)):
        if labels[i] < 0 and left[h] > 0:
            labels[i] = h
            left[h] -= 1
    return labels


def blocking_pairs(costs, labels, quotas):
    """Items and clusters that would both rather have each other: none in a stable matching."""
    n, k = costs.shape

    def rank(i, h):
        return costs[i, h], i, h

    found = []
    for i in range(n):
        for h in range(k):
            inside = [j for j in range(n) if labels[j] == h]
            wants = labels[i] < 0 or rank(i, h) < rank(i, labels[i])
            room = len(inside) < quotas[h] or any(rank(i, h) < rank(j, h) for j in inside)
            if labels[i] != h and wants and room and quotas[h] > 0:
                found.append((i, h))
    return found


def populated(costs, minimum, rows, kept):
    """The book's populate without maxima: a place for whom a cluster lacks, everybody else to the nearest."""
    n, k = costs.shape
    labels, held = np.full(n, -1), np.bincount(kept, minlength=k)
    quotas = np.full(k, minimum)
    if np.maximum(held, minimum).sum() <= n:
        labels[rows], quotas = kept, np.maximum(minimum - held, 0)
    free = np.flatnonzero(labels < 0)
    placed = by_sorted_pairs(costs[free], quotas)
    labels[free] = np.where(placed < 0, costs[free].argmin(axis=1), placed)
    return labels


def share_of_failures(n_draws, n_clusters, per_cluster, rng, n_trials):
    """How often some of k equal clusters is met less than `per_cluster` times."""
    drawn = rng.multinomial(n_draws, [1 / n_clusters] * n_clusters, size=n_trials)
    return float((drawn.min(axis=1) < per_cluster).mean())
