"""Consensus clustering the slow and obvious way: votes about all pairs, all partitions, algorithms by words.

X has a clustering in each column, -1 where an item has no label. Distances are shares of votes against a
pair; a clustering that says nothing counts half. Of equals the first is taken.
"""

from itertools import combinations

import numpy as np


def votes(X):
    """For and against each pair."""
    known = (X[:, None] >= 0) & (X[None] >= 0)
    same = X[:, None] == X[None]
    return (known & same).sum(axis=2), (known & ~same).sum(axis=2)


def net(X):
    plus, minus = votes(X)
    table = (plus - minus).astype(float)
    np.fill_diagonal(table, 0.0)
    return table


def distance(X):
    table = 0.5 - 0.5 * net(X) / X.shape[1]
    np.fill_diagonal(table, 0.0)
    return table


def cost(X, labels, half=False):
    """Pairs about which a clustering and the labels differ, the mean of the clusterings."""
    plus, minus = votes(X)
    total = 0.0
    for i, j in combinations(range(len(X)), 2):
        total += minus[i, j] if labels[i] == labels[j] else plus[i, j]
        total += 0.5 * half * (X.shape[1] - plus[i, j] - minus[i, j])
    return total / X.shape[1]


def bound(X):
    plus, minus = votes(X)
    return np.triu(np.minimum(plus, minus), 1).sum() / X.shape[1]


def partitions(n):
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, c] for labels in found for c in range(max(labels) + 2)]
    return [np.array(labels) for labels in found]


def around(order, near):
    """Whoever comes next takes those near it that are left."""
    left, labels = list(order), {}
    while left:
        u = left.pop(0)
        taken = near(u, left)
        labels.update(dict.fromkeys([u, *taken], u))
        left = [v for v in left if v not in taken]
    return np.array([labels[v] for v in range(len(order))])


def pivot(X, order):
    table = net(X)
    return around(order, lambda u, left: [v for v in left if table[u, v] > 0])


def balls(X, alpha):
    table = distance(X)

    def near(u, left):
        ball = [v for v in left if table[u, v] <= 0.5]
        return ball if ball and np.mean(table[u, ball]) <= alpha else []

    order = sorted(range(len(X)), key=lambda u: round(table[u].sum(), 9))
    return around(order, near)


def linkage(X):
    """Merge the two clusters of the least mean distance as long as it is below 1/2."""
    table = distance(X)
    clusters = [[i] for i in range(len(X))]
    while len(clusters) > 1:
        mean = {
            (a, b): table[np.ix_(clusters[a], clusters[b])].mean()
            for a, b in combinations(range(len(clusters)), 2)
        }
        (a, b), least = min(mean.items(), key=lambda one: round(one[1], 9))
        if round(least, 9) >= 0.5:
            break
        clusters[a] += clusters.pop(b)
    labels = np.empty(len(X), dtype=int)
    for number, members in enumerate(clusters):
        labels[members] = number
    return labels


def furthest(X):
    table = distance(X)
    found, centres = np.zeros(len(X), dtype=int), list(np.unravel_index(table.argmax(), table.shape))
    while len(centres) <= len(X):
        new = table[:, centres].argmin(axis=1)
        if cost(X, new) > cost(X, found):
            break
        found = new
        centres.append(int(table[:, centres].min(axis=1).argmax()))
    return found
