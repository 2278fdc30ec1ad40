"""Slow, obvious agglomeration under constraints: every pair of clusters is looked at before every merge.

Clusters are sets of items. The distance of two clusters comes from its definition, never from a recurrence;
what may merge comes from the stated pairs, with groups written out; edges and loads are looked up one by one.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from tests.oracles import constraints as pairs_oracle

Cluster = frozenset[int]
Pair = tuple[int, int]


class Merge(NamedTuple):
    """Two clusters that became one, and their distance."""

    a: Cluster
    b: Cluster
    height: float


# ---- distances ------------------------------------------------------------------------------------------


def gaps(X: np.ndarray, metric: str | Callable = "euclidean") -> np.ndarray:
    """All distances of items; the metric by the name that SciPy knows."""
    D = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    np.fill_diagonal(D, 0.0)
    return (D + D.T) / 2


def propagated(D: np.ndarray, parts: Iterable[Cluster]) -> np.ndarray:
    """Shortest ways through items of components of two or more; such a component has no extent."""
    D = np.array(D, dtype=float)
    stations = [part for part in parts if len(part) > 1]
    for part in stations:
        for i, j in itertools.permutations(part, 2):
            D[i, j] = 0.0
    for m in itertools.chain.from_iterable(stations):
        D = np.minimum(D, D[:, [m]] + D[[m], :])
    return D


def between(kind: str, table: np.ndarray, edges: Iterable[Pair] | None = None) -> Callable:
    """The linkage distance of two clusters. `table` has the distances of items (for Ward: the items).

    With edges, single linkage looks at these alone.
    """
    joined = None if edges is None else {frozenset(pair) for pair in edges}

    @cache
    def distance(a: Cluster, b: Cluster) -> float:
        if kind == "ward":
            # the mean of all differences is that of the means, without its rounding far from zero
            differences = table[sorted(a)][:, None] - table[sorted(b)][None]
            apart = np.linalg.norm(differences.mean(axis=(0, 1)))
            return float(math.sqrt(2 * len(a) * len(b) / (len(a) + len(b))) * apart)
        if kind == "single" and joined is not None:
            return min(float(table[i, j]) for i in a for j in b if frozenset((i, j)) in joined)
        all_of = table[np.ix_(sorted(a), sorted(b))]
        return float({"single": np.min, "complete": np.max, "average": np.mean}[kind](all_of))

    return distance


# ---- what may merge -------------------------------------------------------------------------------------


@dataclass
class Rules:
    """All that says which clusters may become one, and how far they are from each other."""

    n: int
    distance: Callable[[Cluster, Cluster], float]
    must: set[Pair] = field(default_factory=set)
    cannot: set[Pair] = field(default_factory=set)
    edges: set[Pair] | None = None
    loads: Sequence[float] | None = None
    size_max: float = math.inf

    def __post_init__(self) -> None:
        self._apart = {frozenset(pair) for pair in self.cannot}
        self._joined = {frozenset(pair) for pair in self.edges or ()}
        self._legal: dict[tuple[Cluster, Cluster], bool] = {}

    @property
    def parts(self) -> list[Cluster]:
        """What the must-links join, in the order of first items."""
        return sets(pairs_oracle.components(self.n, self.must))

    @property
    def contradictory(self) -> bool:
        """Whether a must-link component holds a pair that must not be together."""
        return any(pair <= part for part in self.parts for pair in self._apart)

    def load(self, cluster: Iterable[int]) -> float:
        return math.fsum(1.0 if self.loads is None else self.loads[i] for i in cluster)

    def kept_apart(self, a: Cluster, b: Cluster) -> bool:
        return any(frozenset((i, j)) in self._apart for i in a for j in b)

    def adjacent(self, a: Cluster, b: Cluster) -> bool:
        return self.edges is None or any(frozenset((i, j)) in self._joined for i in a for j in b)

    def too_large(self, a: Cluster, b: Cluster) -> bool:
        return self.load(a | b) > self.size_max

    def legal(self, a: Cluster, b: Cluster) -> bool:
        """Whether the union of two clusters breaks nothing (remembered, since each is asked often)."""
        if (a, b) not in self._legal:
            fine = not self.kept_apart(a, b) and self.adjacent(a, b) and not self.too_large(a, b)
            self._legal[a, b] = self._legal[b, a] = fine
        return self._legal[a, b]

    def connected(self, cluster: Cluster) -> bool:
        """Whether edges lead from any member to any other without leaving the cluster."""
        if self.edges is None:
            return True
        return len(islands(cluster, self.edges)) <= 1


def islands(items: Iterable[int], edges: Iterable[Pair]) -> list[Cluster]:
    """The connected parts of a graph among some items."""
    items = sorted(items)
    place = {item: t for t, item in enumerate(items)}
    inside = [(place[i], place[j]) for i, j in edges if i in place and j in place]
    found = sets(pairs_oracle.components(len(items), inside))
    return [frozenset(items[t] for t in part) for part in found]


# ---- the tree -------------------------------------------------------------------------------------------


@dataclass
class Tree:
    """The components that begin, the merges in order, and the clusters that nothing can merge."""

    n: int
    parts: list[Cluster]
    merges: list[Merge]
    roots: list[Cluster]

    def after(self, n_merges: int) -> list[int]:
        """Labels, numbered by first appearance, when so many merges of components are done."""
        clusters = set(self.parts)
        for a, b, _ in self.merges[:n_merges]:
            clusters -= {a, b}
            clusters.add(a | b)
        return labels_of(self.n, clusters)

    def cut(self, n_clusters: int) -> list[int]:
        return self.after(len(self.parts) - n_clusters)

    def cut_below(self, threshold: float) -> list[int]:
        """All merges in order, until the first that is not below the threshold."""
        heights = [m.height for m in self.merges]
        return self.after(next((t for t, h in enumerate(heights) if h >= threshold), len(heights)))


def candidates(clusters: Iterable[Cluster], rules: Rules) -> list[Merge]:
    """All that may merge."""
    return [
        Merge(a, b, rules.distance(a, b))
        for a, b in itertools.combinations(sorted(clusters, key=min), 2)
        if rules.legal(a, b)
    ]


def grow(rules: Rules) -> Tree:
    """Merge the nearest legal pair until there is none."""
    clusters = set(rules.parts)
    merges = []
    while found := candidates(clusters, rules):
        nearest = min(found, key=lambda m: m.height)
        merges.append(nearest)
        clusters -= {nearest.a, nearest.b}
        clusters.add(nearest.a | nearest.b)
    return Tree(rules.n, rules.parts, merges, sorted(clusters, key=min))


def labels_of(n: int, clusters: Iterable[Cluster]) -> list[int]:
    """Labels in the order of first items."""
    labels = [-1] * n
    for number, cluster in enumerate(sorted(clusters, key=min)):
        for item in cluster:
            labels[item] = number
    assert -1 not in labels
    return labels


def sets(labels: Sequence[int]) -> list[Cluster]:
    """The clusters of a labelling, in the order of first items."""
    found: dict[int, set[int]] = {}
    for item, label in enumerate(labels):
        found.setdefault(int(label), set()).add(item)
    return sorted((frozenset(s) for s in found.values()), key=min)


# ---- what a linkage matrix says -------------------------------------------------------------------------


def read_matrix(Z: np.ndarray, n: int) -> list[Merge]:
    """The rows of a linkage matrix as sets of items; the counts must be right."""
    assert Z.shape == (n - 1, 4)
    clusters: dict[int, Cluster] = {i: frozenset([i]) for i in range(n)}
    rows = []
    for t, (a, b, height, count) in enumerate(np.asarray(Z).tolist()):
        left, right = clusters.pop(int(a)), clusters.pop(int(b))  # a cluster is used once
        clusters[n + t] = left | right
        assert count == len(left | right)
        rows.append(Merge(left, right, height))
    return rows


def greedy_or_why(rows: Sequence[Merge], rules: Rules, tol: float = 1e-9, scale: float = 0.0) -> str:
    """Whether merges follow the rules, ties in any order: "" or what is wrong.

    `rows` may end in merges at infinity. Heights are compared relative to the largest, or to `scale`.
    """
    clusters = {frozenset([i]) for i in range(rules.n)}
    n_links = rules.n - len(rules.parts)
    slack = tol * max([m.height for m in rows if math.isfinite(m.height)], default=0.0)
    slack = max(slack, tol * scale)
    for t, (a, b, height) in enumerate(rows):
        if t == n_links and clusters != set(rules.parts):
            return f"the first {n_links} merges are not those of the must-links"
        if t >= n_links:
            found = candidates(clusters, rules)
            if math.isinf(height):
                return f"row {t} is a veto, but {found[0]} is legal" if found else ""
            if not rules.legal(a, b):
                return f"row {t} merges {sorted(a)} and {sorted(b)}, which is not legal"
            true, least = rules.distance(a, b), min(m.height for m in found)
            if abs(height - true) > slack or true > least + slack:
                return f"row {t} has height {height}; the distance is {true}, the least {least}"
        elif height != 0.0:
            return f"row {t} joins what must be together at height {height}"
        clusters -= {a, b}
        clusters.add(a | b)
    return f"{candidates(clusters, rules)[0]} is left" if candidates(clusters, rules) else ""
