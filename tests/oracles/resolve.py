"""Slow, obvious collective resolution: all is worked out anew from its definition before every merge.

Clusters are frozen sets of records. The table has the similarity of any two records, 0 where they are not
similar. Who may share a cluster comes from stated pairs, with groups written out, and from contexts.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np

Cluster = frozenset[int]


class Merge(NamedTuple):
    """Two clusters that became one, by their first records, and how similar they were."""

    left: int
    right: int
    similarity: float
    attribute: float
    relational: float


def forbidden(cannot: Iterable[tuple[int, int]], contexts: Sequence[Sequence[int]], same: Callable) -> set:
    """Pairs that may not share a cluster: stated, or in one context and not the same record listed twice."""
    found = {frozenset(pair) for pair in cannot}
    for records in contexts:
        found |= {
            frozenset((i, j)) for i, j in itertools.combinations(sorted(set(records)), 2) if not same(i, j)
        }
    return found


def apart(a: Cluster, b: Cluster, ruled_out: set) -> bool:
    return any(frozenset((i, j)) in ruled_out for i in a for j in b)


def beside(n: int, contexts: Sequence[Sequence[int]], max_context: int) -> list[set[int]]:
    """The records that share a context with each."""
    found: list[set[int]] = [set() for _ in range(n)]
    for records in contexts:
        if len(set(records)) <= max_context:
            for i, j in itertools.permutations(set(records), 2):
                found[i].add(j)
    return found


def joined(clusters: set[Cluster], pairs: Iterable[tuple[int, int]], ruled_out: set) -> set[Cluster]:
    """Merge the clusters of pairs in this order, but for those that are kept apart."""
    for i, j in pairs:
        a, b = (next(one for one in clusters if r in one) for r in (i, j))
        if a != b and not apart(a, b, ruled_out):
            clusters = (clusters - {a, b}) | {a | b}
    return clusters


def accepted(
    table: np.ndarray, near: list[set[int]], threshold: float, n_matches: int
) -> list[tuple[int, int]]:
    """The pairs of the bootstrap: most similar first, then by the later and by the earlier record."""
    sure = table >= threshold - 1e-9
    found = []
    for i, j in itertools.combinations(range(len(table)), 2):
        if sure[i, j]:
            edges = [(("i", a), ("j", b)) for a in near[i] for b in near[j] if sure[a, b]]
            matching = nx.Graph(edges)
            top = [node for node in matching if node[0] == "i"]
            if len(nx.bipartite.maximum_matching(matching, top)) // 2 >= n_matches:
                found.append((i, j))
    return sorted(found, key=lambda pair: (-table[pair], pair[1], pair[0]))


def neighbours(cluster: Cluster, clusters: set[Cluster], near: list[set[int]]) -> set[Cluster]:
    around = set().union(*(near[i] for i in cluster))
    return {one for one in clusters if one != cluster and one & around}


def similarity(
    a: Cluster,
    b: Cluster,
    clusters: set[Cluster],
    table: np.ndarray,
    near: list[set[int]],
    *,
    alpha: float,
    linkage: str,
    missing_context: str,
) -> tuple[float, float, float]:
    """Equation (10.2) and its two parts."""
    between = table[np.ix_(sorted(a), sorted(b))]
    attribute = {"average": lambda: between.sum() / between.size, "max": between.max, "min": between.min}[
        linkage
    ]()
    around, other = neighbours(a, clusters, near), neighbours(b, clusters, near)
    if not around and not other and missing_context == "fallback":
        return float(attribute), float(attribute), 0.0
    common = len(around & other) / len(around | other) if around | other else 0.0
    return float((1.0 - alpha) * attribute + alpha * common), float(attribute), common


def collective(
    clusters: set[Cluster],
    table: np.ndarray,
    near: list[set[int]],
    ruled_out: set,
    threshold: float,
    **how: object,
) -> tuple[set[Cluster], list[Merge]]:
    """Merge the most similar two clusters again and again, until none reach the threshold."""
    merges = []
    while True:
        best = None
        for a, b in itertools.combinations(sorted(clusters, key=min), 2):
            if not table[np.ix_(sorted(a), sorted(b))].any() or apart(a, b, ruled_out):
                continue
            value, attribute, common = similarity(a, b, clusters, table, near, **how)
            key = (-value, -attribute, min(a), min(b))
            if best is None or key < best[0]:
                best = key, a, b, Merge(min(a), min(b), value, attribute, common)
        if best is None or best[3].similarity < threshold:
            return clusters, merges
        _, a, b, merge = best
        clusters = (clusters - {a, b}) | {a | b}
        merges.append(merge)


def scores(
    table: np.ndarray, contexts: Sequence[Sequence[int]], *, alpha: float, missing_context: str
) -> dict[tuple[int, int], tuple[float, float]]:
    """Equation (10.1) for all pairs of similar records, and the attributes alone."""
    n = len(table)
    around = beside(n, contexts, n)
    one_another = table.copy()
    np.fill_diagonal(one_another, 1.0)  # a record beside both matches itself

    def match(own: set[int], other: set[int]) -> float:
        return sum(max(one_another[r, s] for s in other) for r in own) / len(own)

    found = {}
    for i, j in itertools.combinations(range(n), 2):
        if not table[i, j]:
            continue
        best = 0.0
        for one, other in itertools.product(contexts, contexts):
            own, its = set(one) - {i}, set(other) - {j}
            if i in one and j in other and own and its:
                best = max(best, (match(own, its) + match(its, own)) / 2)
        best = np.round(best * 2.0**30) / 2.0**30
        score = (1.0 - alpha) * table[i, j] + alpha * best
        if missing_context == "fallback" and not around[i] and not around[j]:
            score = table[i, j]
        found[i, j] = (float(score), float(table[i, j]))
    return found
