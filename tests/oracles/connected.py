"""Connected clusters the slow and obvious way: every partition, every path, every step of a growth."""

import itertools
import math

import numpy as np


def distances(X):
    """Euclidean distances of all pairs of rows."""
    return [[math.dist(a, b) for b in X] for a in X]


def neighbours(n, edges):
    """Neighbours of each item."""
    found = [set() for _ in range(n)]
    for i, j in edges:
        if i != j:
            found[i].add(j)
            found[j].add(i)
    return found


def connected(items, near):
    """Whether edges lead from any of the items to any other without leaving them."""
    items = set(items)
    todo = [next(iter(items))]
    seen = set(todo)
    while todo:
        for j in near[todo.pop()] & items - seen:
            seen.add(j)
            todo.append(j)
    return seen == items


def radius(D, items):
    """How far the farthest item is from the member for which that is least."""
    return min(max(D[c][v] for v in items) for c in items)


def partitions(n, k):
    """Every labelling with exactly k clusters, numbered by first appearance."""
    for tail in itertools.product(range(k), repeat=n - 1):
        labels = (0, *tail)
        high = 0
        for label in labels:
            if label > high:
                break
            high = max(high, label + 1)
        else:
            if high == k:
                yield labels


def best_connected(D, near, k):
    """The least largest radius of k connected clusters; infinite if there are none."""
    n, best = len(D), math.inf
    for labels in partitions(n, k):
        parts = [[v for v in range(n) if labels[v] == j] for j in range(k)]
        if all(connected(part, near) for part in parts):
            best = min(best, max(radius(D, part) for part in parts))
    return best


def best_on_a_path(D, k):
    """The same where item i is a neighbour of i - 1 and i + 1 alone: clusters are intervals."""
    n = len(D)
    least = [[math.inf] * (k + 1) for _ in range(n + 1)]
    least[0][0] = 0.0
    for end in range(1, n + 1):
        for j in range(1, k + 1):
            for start in range(end):
                here = radius(D, range(start, end))
                least[end][j] = min(least[end][j], max(least[start][j - 1], here))
    return least[n][k]


def reaching(D, near, source):
    """The least, over all paths from the source, of how far from it a path goes."""
    found = [math.inf] * len(D)

    def walk(path, worst):
        found[path[-1]] = min(found[path[-1]], worst)
        for j in near[path[-1]] - set(path):
            walk([*path, j], max(worst, D[source][j]))

    walk([source], 0.0)
    return found


def best_overlapping(D, near, k):
    """The least radius for which k connected sets around items of theirs hold all items."""
    R = np.array([reaching(D, near, u) for u in range(len(D))])
    return min(R[list(some)].min(axis=0).max() for some in itertools.combinations(range(len(D)), k))


def grow(far, near, seeds):
    """Continuous growth; `far[x][j]` is how far item x is from centre j."""
    labels, taken_at = [-1] * len(far), [math.inf] * len(far)
    for j, seed in enumerate(seeds):
        labels[seed], taken_at[seed] = j, 0.0
    level = 0.0
    while True:
        offers = [
            (far[y][labels[x]], labels[x], y)
            for x in range(len(far))
            if labels[x] >= 0
            for y in near[x]
            if labels[y] < 0
        ]
        if not offers:
            return labels, taken_at
        key, j, y = min(offers)
        level = max(level, key)
        labels[y], taken_at[y] = j, level


def grow_in_rounds(far, near, seeds, radius, step, lookahead):
    """Rounds of a radius that rises by a step, without skipping any; see Algorithm 3 of the chapter."""
    n, k = len(far), len(seeds)
    labels, taken_at = [-1] * n, [math.inf] * n
    for j, seed in enumerate(seeds):
        labels[seed], taken_at[seed] = j, 0.0
    reachable = {v for seed in seeds for v in _island(seed, near)}
    members = [[seed] for seed in seeds]
    while any(labels[v] < 0 for v in reachable):
        for j in range(k):
            for x in members[j]:  # it grows meanwhile
                for q in sorted(near[x]):
                    if labels[q] < 0 and far[q][j] <= radius:
                        i = _bridge(q, far, near, labels, radius, k) if lookahead else None
                        i = j if i is None else i
                        labels[q], taken_at[q] = i, radius
                        members[i].append(q)
        radius += step
    return labels, taken_at


def _island(source, near):
    seen, todo = {source}, [source]
    while todo:
        for j in near[todo.pop()] - seen:
            seen.add(j)
            todo.append(j)
    return seen


def _bridge(q, far, near, labels, radius, k):
    """The cluster that should have an item that could join two parts; None if it is no such item."""
    torn = [i for i in range(k) if any(labels[y] == i for y in near[q]) and far[q][i] <= radius]
    free = [y for y in near[q] if labels[y] < 0]
    if len(torn) < 2 or not free:
        return None
    alone = [y for y in free if len(near[y]) == 1]
    if not alone:
        return min(torn, key=lambda i: (far[q][i], i))
    if len(alone) == 1:
        return min(torn, key=lambda i: (far[alone[0]][i], far[q][i], i))

    def growth(i):
        now = max((far[v][i] for v in range(len(far)) if labels[v] == i and far[v][i] is not None), default=0)
        return max(0.0, max(far[u][i] for u in [q, *alone]) - now)

    return min(torn, key=lambda i: (growth(i), far[q][i], i))


def disjoint_chain(k):
    """Positions and edges on which the conversion of the chapter is off by 2 k - 1; centres: 0, 2, 4 ..."""
    edges = [(0, 1)]
    for j in range(1, k):
        edges += [(2 * j - 1, 2 * j), (2 * j - 1, 2 * j + 1)]
    return np.arange(2.0 * k)[:, None], edges


def from_clauses(clauses, n_variables):
    """Attributes and edges of the reduction from 3SAT: 1 is within reach for two clusters if satisfiable.

    A literal is +v or -v, for variables 1, 2, ...
    """
    literals = [s * v for v in range(1, n_variables + 1) for s in (1, -1)]
    at = [1.0, 3.0, *[2.0] * len(literals)]
    node = {literal: 2 + i for i, literal in enumerate(literals)}
    edges = [(node[literal], p) for literal in literals for p in (0, 1)]
    for clause in clauses:
        edges += [(node[literal], len(at)) for literal in set(clause)]
        at.append(4.0)
    used = {abs(literal) for clause in clauses for literal in clause}
    for v in range(1, n_variables + 1):
        for place in (4.0, 0.0):
            edges += [(node[s * v], len(at)) for s in (1, -1)]
            at.append(place)
    assert used <= set(range(1, n_variables + 1))
    return np.array(at)[:, None], edges
