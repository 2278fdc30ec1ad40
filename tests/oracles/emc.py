"""EMC by its definitions, in loops: hops, bent edges, K-SD by its strict rules and as printed, greedy paths.

A graph is a dict: of each vertex, the lengths to its neighbours.
"""

from __future__ import annotations

import math
from typing import Any

Graph = dict[int, dict[int, float]]


def graph_of(matrix: Any) -> Graph:
    """The dict of a sparse matrix."""
    cells = matrix.tocoo()
    graph: Graph = {v: {} for v in range(matrix.shape[0])}
    for i, j, length in zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True):
        graph[i][j] = length
    return graph


def neighbours(D: Any, k: int) -> set[tuple[int, int]]:
    """Pairs of which one is among the k nearest of the other, by distances without ties."""
    n = len(D)
    near = {i: sorted((j for j in range(n) if j != i), key=lambda j: D[i][j])[:k] for i in range(n)}
    return {(i, j) for i in range(n) for j in range(i + 1, n) if j in near[i] or i in near[j]}


def bridged(D: Any, k: int) -> set[tuple[int, int]]:
    """The same, with the k shortest pairs out of the smallest part, until there is one part."""
    edges, n = neighbours(D, k), len(D)
    while True:
        parts = [{i} for i in range(n)]
        for i, j in edges:
            one, two = (next(part for part in parts if v in part) for v in (i, j))
            parts = [part for part in parts if part is not one and part is not two] + [one | two]
        inside = min(parts, key=lambda part: (len(part), min(part)))
        ways = sorted((D[i][j], i, j) for i in inside for j in range(n) if j not in inside)
        if not ways:
            return edges
        edges |= {(min(i, j), max(i, j)) for _, i, j in ways[:k]}


def best_hubs(graph: Graph, part: list[int], most: int) -> list[int]:
    """Of each two parts the vertices of highest degree times evenness; of equal ones the first."""
    found: set[int] = set()
    for a in range(max(part) + 1):
        for b in range(a):
            worth = []
            for v in graph:
                out = {a: b, b: a}.get(part[v])
                into = [sum(part[u] == to for u in graph[v]) for to in (part[v], out)]
                if out is not None and into[1]:
                    worth.append((-len(graph[v]) * min(into) / max(into), v))
            found |= {v for _, v in sorted(worth)[:most]}
    return sorted(found)


def shortest(graph: Graph, source: int, hops: bool = False) -> list[float]:
    """Lengths of the shortest paths, or their numbers of edges: relaxed until nothing changes."""
    far = [math.inf] * len(graph)
    far[source] = 0.0
    changed = True
    while changed:
        changed = False
        for u in graph:
            for v, length in graph[u].items():
                there = far[u] + (1.0 if hops else length)
                if there < far[v]:
                    far[v], changed = there, True
    return far


def ksd(graph: Graph, source: int, k: int) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], int]]:
    """K-SD by the strict rules: length and parent of each (vertex, label)."""
    first = sorted((length, v) for v, length in graph[source].items())[:k]
    waiting = [(length, label, v, source) for label, (length, v) in enumerate(first)]
    final: dict[tuple[int, int], float] = {}
    parent: dict[tuple[int, int], int] = {}
    locked: set[tuple[int, int]] = set()
    while waiting:
        entry = min(waiting)
        waiting.remove(entry)
        key, label, v, u = entry
        if (v, label) in final or (u, v) in locked:
            continue
        final[v, label], parent[v, label] = key, u
        locked.add((u, v))
        for w, length in graph[v].items():
            if w != source and (v, w) not in locked and (w, label) not in final:
                waiting.append((key + length, label, w, v))
    return final, parent


def ksd_printed(graph: Graph, source: int, k: int) -> tuple[dict[Any, float], dict[Any, int]]:
    """K-SD as the paper prints it: a lock is looked at when an entry is relaxed, not when it is taken."""
    key: dict[tuple[int, int], float] = {}
    parent: dict[tuple[int, int], int] = {}
    for label, (length, v) in enumerate(sorted((length, v) for v, length in graph[source].items())[:k]):
        key[v, label], parent[v, label] = length, source
    waiting, locked = set(key), set()
    while waiting:
        v, label = min(waiting, key=lambda entry: (key[entry], entry[1], entry[0]))
        waiting.remove((v, label))
        locked.add((parent[v, label], v))
        for w, length in graph[v].items():
            there = key[v, label] + length
            if w != source and (v, w) not in locked and there < key.get((w, label), math.inf):
                key[w, label], parent[w, label] = there, v
                waiting.add((w, label))
    return key, parent


def path(parent: dict[tuple[int, int], int], v: int, label: int) -> list[int]:
    """The vertices of a path, from its end back to the source."""
    found = [v]
    while (found[-1], label) in parent:
        found.append(parent[found[-1], label])
    return found


def side_by_side(lengths: list[float]) -> float:
    """One distance of several paths."""
    total = sum(1.0 / length for length in lengths if length < math.inf)
    return 1.0 / total if total > 0 else math.inf


def ksd_distances(graph: Graph, k: int) -> list[list[float]]:
    """All distances: at most the shortest path, and the mean of both directions."""
    n = len(graph)
    one_way = []
    for s in range(n):
        final, far = ksd(graph, s, k)[0], shortest(graph, s)
        paths = [[final.get((v, label), math.inf) for label in range(k)] for v in range(n)]
        one_way.append([0.0 if v == s else min(side_by_side(paths[v]), far[v]) for v in range(n)])
    return [[(one_way[s][t] + one_way[t][s]) / 2 for t in range(n)] for s in range(n)]


def greedy(graph: Graph, s: int, t: int, k: int) -> float:
    """The shortest path, then the shortest without its edges, and so on."""
    left, lengths = {v: dict(to) for v, to in graph.items()}, []
    for _ in range(k):
        far = shortest(left, s)
        if far[t] == math.inf:
            break
        lengths.append(far[t])
        v = t
        while v != s:
            u = next(u for u in left[v] if math.isclose(far[u] + left[v][u], far[v], rel_tol=1e-12))
            del left[u][v], left[v][u]
            v = u
    return side_by_side(lengths)


def ratios(
    graph: Graph,
    pairs: list[tuple[int, int, bool, float]],
    axis: list[float],
    norm: str = "max",
    average: str = "affecting",
) -> tuple[dict[tuple[int, int], float], int]:
    """What alpha is raised to at each edge, and how many pairs affect none; pairs: ends, cannot, strength."""
    edges = [(u, v) for u in graph for v in graph[u] if u < v]
    effects: dict[tuple[int, int], list[tuple[bool, float, float]]] = {edge: [] for edge in edges}
    n_unaffected = 0
    for (s, t, cannot, q), w in zip(pairs, axis, strict=True):
        far = {end: shortest(graph, end) for end in (s, t)}
        hops = {end: shortest(graph, end, hops=True) for end in (s, t)}
        found = {}
        for u, v in edges:
            if math.inf in (hops[s][u], hops[t][u]):
                continue
            if (hops[s][u] - hops[s][v]) * (hops[t][u] - hops[t][v]) >= 0:
                continue
            r = (far[s][u] + far[t][u] + far[s][v] + far[t][v]) / w
            delta = (abs(far[s][u] - far[t][u]) + abs(far[s][v] - far[t][v])) / w + 1
            found[u, v] = 1 / (r * delta) if cannot else 1 / r
        n_unaffected += not found
        most, least = max(found.values(), default=1), min(found.values(), default=1)
        for edge, raw in found.items():
            if norm == "max":
                raw /= most
            if norm == "minmax":
                raw = 0.5 + 0.5 * (raw - least) / (most - least) if most - least > 1e-12 * most else 1.0
            effects[edge].append((cannot, q, raw))
    return {edge: _total(effects[edge], pairs, norm, average) for edge in edges}, n_unaffected


def _total(acting: Any, pairs: Any, norm: str, average: str) -> float:
    ratio = 0.0
    for kind, sign in ((True, 1), (False, -1)):
        mine = [(q, raw) for cannot, q, raw in acting if cannot == kind]
        if average == "affecting" and mine:
            ratio += sign * sum(q * raw for q, raw in mine) / sum(q for q, _ in mine)
        elif average == "all" and mine:
            counted = [q * raw if norm == "none" else raw for q, raw in mine]
            ratio += sign * sum(counted) / sum(pair[2] == kind for pair in pairs)
    return ratio


def by_hubs(
    parts: list[list[int]], hubs: list[list[int]], inside: list[dict[tuple[int, int], float]], n: int
) -> list[list[float]]:
    """Formula (5): `parts` own vertices, `hubs` members of each part, `inside` distances between members."""
    every = sorted({h for some in hubs for h in some})
    among = {(a, b): 0.0 if a == b else math.inf for a in every for b in every}
    for some, far in zip(hubs, inside, strict=True):
        for a in some:
            for b in some:
                among[a, b] = min(among[a, b], far[a, b])
    for c in every:
        for a in every:
            for b in every:
                among[a, b] = min(among[a, b], among[a, c] + among[c, b])
    D = [[math.inf] * n for _ in range(n)]
    for i, own in enumerate(parts):
        for j, other in enumerate(parts):
            for s in own:
                for t in other:
                    ways = [inside[i][s, a] + among[a, b] + inside[j][b, t] for a in hubs[i] for b in hubs[j]]
                    D[s][t] = min(ways + ([inside[i][s, t]] if i == j else []), default=math.inf)
    return D
