"""Slow, obvious reference implementations for `coterie.constraints`, written from the definitions.

Nothing here uses code of the package: constraints come in as plain lists of pairs, and every answer is found
by enumeration, flooding or backtracking. `expand` writes a group out as the pairs that it stands for.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

Pair = tuple[int, int]
Graph = tuple[int, frozenset[Pair]]  # number of nodes, edges (i < j)


def ordered(pair: Iterable[int]) -> Pair:
    i, j = pair
    return (int(min(i, j)), int(max(i, j)))


# ---- what constraints say ----------------------------------------------------------------------------


def expand(kind: str, values: Sequence[object]) -> tuple[list[Pair], list[Pair]]:
    """Must-links and cannot-links that a group stands for; `values` has None where nothing is said."""
    must, cannot = [], []
    for i, j in itertools.combinations(range(len(values)), 2):
        if values[i] is None or values[j] is None:
            continue
        same = values[i] == values[j]
        if kind == "label":
            (must if same else cannot).append((i, j))
        elif (kind == "distinct") == same:
            cannot.append((i, j))
    return must, cannot


def group_values(group, n_items: int) -> list[object]:
    """One value an item, out of the public parts of a `Group`."""
    values: list[object] = [None] * n_items
    for item, code in zip(group.items.tolist(), group.codes.tolist(), strict=True):
        values[item] = code
    return values


def all_pairs(c) -> tuple[set[Pair], set[Pair]]:
    """Every pair that the constraints with an effect stand for, from the public attributes of constraints."""
    must, cannot = set(), set()
    for table, into in ((c.must_table, must), (c.cannot_table, cannot)):
        for pair, weight, hard in zip(
            table.ij.tolist(), table.weight.tolist(), table.hard.tolist(), strict=True
        ):
            if hard or weight > 0:
                into.add(ordered(pair))
    for group in c.groups:
        if group.weight is None or group.weight > 0:
            m, a = expand(group.kind, group_values(group, c.n_items))
            must |= set(m)
            cannot |= set(a)
    return must, cannot


# ---- closure and contraction ------------------------------------------------------------------------


def components(n: int, must: Iterable[Pair]) -> list[int]:
    """Flood the smallest item number along must-links, then number by first appearance."""
    label = list(range(n))
    links = list(must)
    changed = True
    while changed:
        changed = False
        for i, j in links:
            low = min(label[i], label[j])
            if label[i] != low or label[j] != low:
                label[i] = label[j] = low
                changed = True
    number: dict[int, int] = {}
    return [number.setdefault(x, len(number)) for x in label]


def closure(n: int, must: Iterable[Pair], cannot: Iterable[Pair]) -> tuple[set[Pair], set[Pair]]:
    """All entailed pairs (Observations 1 and 2 of the book)."""
    comp = components(n, must)
    apart = {frozenset((comp[i], comp[j])) for i, j in cannot}
    every = list(itertools.combinations(range(n), 2))
    return (
        {(i, j) for i, j in every if comp[i] == comp[j]},
        {(i, j) for i, j in every if frozenset((comp[i], comp[j])) in apart},
    )


def contraction(
    n: int, must: Iterable[Pair], cannot: Iterable[Pair]
) -> tuple[frozenset[frozenset[int]], frozenset[frozenset[frozenset[int]]]]:
    """The components as sets of items, and the pairs of components that are apart."""
    comp = components(n, must)
    part = {c: frozenset(i for i in range(n) if comp[i] == c) for c in comp}
    edges = frozenset(frozenset((part[comp[i]], part[comp[j]])) for i, j in cannot)
    return frozenset(part.values()), edges


# ---- feasibility ------------------------------------------------------------------------------------


def meets(labels: Sequence[int], must: Iterable[Pair], cannot: Iterable[Pair]) -> bool:
    return all(labels[i] == labels[j] for i, j in must) and all(labels[i] != labels[j] for i, j in cannot)


def feasible_by_enumeration(n: int, must: Iterable[Pair], cannot: Iterable[Pair], k: int) -> bool:
    """Try every labelling: for the tiniest cases."""
    must, cannot = list(must), list(cannot)
    return any(meets(labels, must, cannot) for labels in itertools.product(range(k), repeat=n))


def colour(n: int, must: Iterable[Pair], cannot: Iterable[Pair], k: int) -> list[int] | None:
    """A labelling with at most k clusters that meets all pairs, or None: plain backtracking.

    The part with the fewest clusters left goes next, and one unused cluster is tried at a time.
    """
    comp = components(n, must)
    size = max(comp, default=-1) + 1
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for i, j in cannot:
        if comp[i] == comp[j]:
            return None
        neighbours[comp[i]].add(comp[j])
        neighbours[comp[j]].add(comp[i])
    if k < 1:
        return None if n else []
    # a part with fewer than k neighbours that still stand can be coloured last
    standing, later = set(range(size)), []
    while easy := [v for v in standing if len(neighbours[v] & standing) < k]:
        standing.remove(easy[0])
        later.append(easy[0])
    # more than k parts that are all apart: no way (backtracking alone takes ages to see it)
    for start in standing:
        clique, left = {start}, neighbours[start] & standing
        while left:
            node = max(left, key=lambda x, among=left: (len(neighbours[x] & among), x))
            clique.add(node)
            left = left & neighbours[node]
        if len(clique) > k:
            return None
    found: dict[int, int] = {}

    def taken(v: int) -> set[int]:
        return {found[w] for w in neighbours[v] if w in found}

    def extend() -> bool:
        left = [v for v in standing if v not in found]
        if not left:
            return True
        v = max(left, key=lambda x: (len(taken(x)), len(neighbours[x] & standing)))
        used = max(found.values(), default=-1) + 1
        for h in range(min(used + 1, k)):
            if h not in taken(v):
                found[v] = h
                if extend():
                    return True
                del found[v]
        return False

    if not extend():
        return None
    for v in reversed(later):
        found[v] = next(h for h in range(k) if h not in taken(v))
    return [found[c] for c in comp]


def feasible(n: int, must: Iterable[Pair], cannot: Iterable[Pair], k: int) -> bool:
    return colour(n, must, cannot, k) is not None


def chromatic_number(graph: Graph) -> int:
    """By enumeration of all labellings."""
    n, edges = graph
    return next(k for k in range(n + 1) if feasible_by_enumeration(n, [], edges, k))


def degeneracy(n: int, must: Iterable[Pair], cannot: Iterable[Pair]) -> int:
    """The largest of the smallest degrees met while deleting a node of smallest degree each time."""
    parts, edges = contraction(n, must, cannot)
    left, worst = set(parts), 0
    while left:
        degree = {p: sum(1 for e in edges if p in e and e <= left) for p in left}
        node = min(left, key=lambda p: (degree[p], sorted(p)))
        worst = max(worst, degree[node])
        left.remove(node)
    return worst


# ---- all graphs -------------------------------------------------------------------------------------


def labelled_graphs(n: int) -> Iterator[Graph]:
    every = list(itertools.combinations(range(n), 2))
    for bits in range(2 ** len(every)):
        yield n, frozenset(pair for t, pair in enumerate(every) if bits >> t & 1)


def _neighbours(graph: Graph) -> list[set[int]]:
    n, edges = graph
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j in edges:
        near[i].add(j)
        near[j].add(i)
    return near


def _colours(near: list[set[int]]) -> list[tuple]:
    """Something that an isomorphism keeps: degree, degrees around, triangles through the node."""
    degree = [len(s) for s in near]
    return [
        (degree[v], tuple(sorted(degree[w] for w in near[v])), sum(len(near[v] & near[w]) for w in near[v]))
        for v in range(len(near))
    ]


def isomorphic(a: Graph, b: Graph) -> bool:
    near_a, near_b = _neighbours(a), _neighbours(b)
    kind_a, kind_b = _colours(near_a), _colours(near_b)
    if sorted(kind_a) != sorted(kind_b):
        return False
    image: list[int] = []

    def place() -> bool:
        v = len(image)
        if v == a[0]:
            return True
        for w in range(b[0]):
            if w in image or kind_a[v] != kind_b[w]:
                continue
            if all((u in near_a[v]) == (image[u] in near_b[w]) for u in range(v)):
                image.append(w)
                if place():
                    return True
                image.pop()
        return False

    return place()


def graphs_up_to_isomorphism(n: int) -> list[Graph]:
    """One graph of each kind: add a node in every way to the graphs of one node less."""
    if n == 0:
        return [(0, frozenset())]
    buckets: dict[tuple, list[Graph]] = {}
    for _, edges in graphs_up_to_isomorphism(n - 1):
        for size in range(n):
            for chosen in itertools.combinations(range(n - 1), size):
                graph = (n, edges | {(v, n - 1) for v in chosen})
                bucket = buckets.setdefault(tuple(sorted(_colours(_neighbours(graph)))), [])
                if not any(isomorphic(graph, other) for other in bucket):
                    bucket.append(graph)
    return [graph for bucket in buckets.values() for graph in bucket]


# ---- what a labelling breaks ------------------------------------------------------------------------


def broken(labels: Sequence[int], must: Iterable[Pair], cannot: Iterable[Pair]) -> tuple[set, set]:
    """Broken pairs. An item of label -1 is in no cluster: apart from everything, itself excepted."""

    def together(i: int, j: int) -> bool:
        return labels[i] == labels[j] and labels[i] != -1

    return {p for p in must if not together(*p)}, {p for p in cannot if together(*p)}


# ---- distances --------------------------------------------------------------------------------------


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def partitions(n: int) -> Iterator[list[int]]:
    """Every way to sort n items into unnamed clusters (restricted growth strings)."""

    def grow(labels: list[int], used: int) -> Iterator[list[int]]:
        if len(labels) == n:
            yield list(labels)
            return
        for h in range(used + 1):
            yield from grow([*labels, h], max(used, h + 1))

    yield from grow([], 0)


def epsilon_unmet(points: Sequence[Sequence[float]], labels: Sequence[int], epsilon: float) -> list[int]:
    """Points that share a cluster with others but have none of them within epsilon."""
    found = []
    for i, mine in enumerate(labels):
        mates = [j for j, other in enumerate(labels) if j != i and other == mine and mine >= 0]
        if mates and not any(distance(points[i], points[j]) <= epsilon for j in mates):
            found.append(i)
    return found


def pulls_against(a: tuple, b: tuple) -> bool:
    """Whether segment a, projected on the line through segment b, overlaps b along a stretch."""
    (p, q), (s, e) = a, b
    way = [y - x for x, y in zip(s, e, strict=True)]
    length = sum(w * w for w in way)
    if length == 0:
        return False
    at = sorted(sum((x - y) * w for x, y, w in zip(point, s, way, strict=True)) / length for point in (p, q))
    return min(at[1], 1.0) - max(at[0], 0.0) > 1e-9


def coherence(points: Sequence[Sequence[float]], must: Sequence[Pair], cannot: Sequence[Pair]) -> float:
    good = 0
    for m in must:
        for c in cannot:
            a, b = tuple(points[i] for i in m), tuple(points[i] for i in c)
            good += not (pulls_against(a, b) or pulls_against(b, a))
    return good / (len(must) * len(cannot))


def numbered(labels, known) -> list[int]:
    """Labels that hold, numbered by the classes of the longest set of labels in order, then by items."""
    labels, first = list(labels), []
    groups = [group for group in known.groups if group.kind == "label" and group.active]
    if groups:
        group = max(groups, key=lambda one: len(one.items))
        of_class = {group.names[code]: labels[i] for i, code in zip(group.items, group.codes, strict=True)}
        first = [of_class[name] for name in sorted(of_class)]
    order = list(dict.fromkeys([*first, *labels]))
    return [order.index(label) for label in labels]
