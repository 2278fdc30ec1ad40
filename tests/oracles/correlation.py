"""Correlation clustering the slow and obvious way: all pairs, all partitions, all triples, all orders.

W is a table of weights of pairs, attracting above 0; `apart` holds the pairs that may not be together.
"""

import functools
import itertools
import math

import numpy as np
from scipy.optimize import linprog


def partitions(n):
    """All partitions of n items, as labels numbered by first appearance."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, c] for labels in found for c in range(max(labels) + 2)]
    return [np.array(labels) for labels in found]


def cost(W, labels):
    """Equation (13.1)."""
    return sum(
        (max(-W[i][j], 0.0) if labels[i] == labels[j] else max(W[i][j], 0.0))
        for i, j in itertools.combinations(range(len(labels)), 2)
    )


def agreement(W, labels):
    """Equation (13.2)."""
    return sum(
        (max(W[i][j], 0.0) if labels[i] == labels[j] else max(-W[i][j], 0.0))
        for i, j in itertools.combinations(range(len(labels)), 2)
    )


def legal(labels, together=(), apart=()):
    return all(labels[i] == labels[j] for i, j in together) and all(labels[i] != labels[j] for i, j in apart)


def best(W, together=(), apart=(), k=None):
    """The least cost of legal partitions, of k clusters if k is given; None if there is none."""
    found = [
        cost(W, labels)
        for labels in partitions(len(W))
        if legal(labels, together, apart) and k in (None, len(set(labels)))
    ]
    return min(found, default=None)


def program(W, apart=(), inconsistent_only=False):
    """The value of (13.4), all rows at once; or of (13.5), rows of + + - triples alone."""
    n = len(W)
    at = {pair: number for number, pair in enumerate(itertools.combinations(range(n), 2))}
    weight = np.array([W[i][j] for i, j in at])
    rows = []
    for triple in itertools.combinations(range(n), 3):
        for w in triple:
            u, v = (item for item in triple if item != w)
            pairs = (u, v), tuple(sorted((u, w))), tuple(sorted((v, w)))
            if inconsistent_only and not (W[u][v] < 0 < min(W[u][w], W[v][w])):
                continue
            row = np.zeros(len(at))
            row[[at[pair] for pair in pairs]] = 1, -1, -1
            rows.append(row)
    low = [1.0 if pair in apart else 0.0 for pair in at]
    if not rows:
        return float(np.maximum(weight, 0.0) @ low)
    bounds = np.column_stack([low, np.ones(len(at))])
    found = linprog(weight, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=bounds)
    return found.fun - weight[weight < 0].sum()


def pivot(W, order):
    """The pivot algorithm by its words: whoever comes next takes all attracting ones that are left."""
    left, labels = list(order), [None] * len(W)
    while left:
        u = left[0]
        taken = [v for v in left if v == u or W[u][v] > 0]
        for v in taken:
            labels[v] = u
        left = [v for v in left if v not in taken]
    return np.array(labels)


def expected_pivot(W):
    """The expected cost of the pivot algorithm, by recursion over the sets of items that are left."""

    @functools.cache
    def expected(left):
        total = 0.0
        for u in left:
            taken = [v for v in left if v == u or W[u][v] > 0]
            rest = tuple(v for v in left if v not in taken)
            paid = sum(max(-W[a][b], 0.0) for a, b in itertools.combinations(taken, 2))
            paid += sum(max(W[a][b], 0.0) for a in taken for b in rest)
            total += paid + expected(rest)
        return total / len(left) if left else 0.0

    return expected(tuple(range(len(W))))


def expected_lp_pivot(W, x):
    """The same for the rounding of a program: others join with probability 1 - x."""

    @functools.cache
    def expected(left):
        total = 0.0
        for u in left:
            others = [v for v in left if v != u]
            for size in range(len(others) + 1):
                for joined in itertools.combinations(others, size):
                    chance = math.prod(1 - x[u][v] if v in joined else x[u][v] for v in others)
                    if chance > 0:
                        taken, rest = (u, *joined), tuple(v for v in others if v not in joined)
                        paid = sum(max(-W[a][b], 0.0) for a, b in itertools.combinations(taken, 2))
                        paid += sum(max(W[a][b], 0.0) for a in taken for b in rest)
                        total += chance * (paid + expected(rest))
        return total / len(left) if left else 0.0

    return expected(tuple(range(len(W))))


def region(W, x, c, order, literal=False):
    """Balls as section 4.6 has them, sums anew each time; `literal`: cuts are weighed as units enter."""
    n, left, labels = len(W), list(range(len(W))), [None] * len(W)
    pull = [[max(W[v][w], 0.0) for w in range(n)] for v in range(n)]
    full = sum(pull[v][w] * x[v][w] for v, w in itertools.combinations(range(n), 2))
    radii = []
    for u in order:
        if labels[u] is not None:
            continue
        radius = sorted({x[u][v] for v in left})
        for number, r in enumerate(radius):
            ball = [v for v in left if x[u][v] <= r]
            rest = [v for v in left if x[u][v] > r]
            end = r if literal else min([*radius[number + 1 : number + 2], 1 / c])
            volume = full / n + sum(pull[v][w] * x[v][w] for v, w in itertools.combinations(ball, 2))
            volume += sum(pull[v][w] * (end - x[u][v]) for v in ball for w in rest)
            if sum(pull[v][w] for v in ball for w in rest) <= c * math.log(n + 1) * volume + 1e-12:
                break
        radii.append(r)
        for v in ball:
            labels[v] = u
        left = [v for v in left if v not in ball]
    return np.array(labels), radii


def cautious(W, delta):
    """Section 4.4 by its words."""
    n = len(W)
    plus = [{w for w in range(n) if w == v or W[v][w] > 0} for v in range(n)]
    left, clusters = set(range(n)), []

    def good(x, chosen, share):
        near = plus[x] & left
        return len(near & chosen) >= (1 - share) * len(chosen) and len(near - chosen) <= share * len(chosen)

    def cleaned(v):
        chosen = plus[v] & left
        while bad := [x for x in sorted(chosen) if not good(x, chosen, 3 * delta)]:
            chosen = chosen - {bad[0]}
        return chosen and chosen | {y for y in left if good(y, chosen, 7 * delta)}

    while left:
        found = next(filter(None, map(cleaned, sorted(left))), None)
        if found is None:
            break
        clusters.append(found)
        left = left - found
    clusters += [{v} for v in left]
    return {frozenset(cluster) for cluster in clusters}
