"""Slow, obvious reference implementations for `coterie.assign` and `coterie.kmeans`, from the definitions.

Only the public attributes of constraints are read; costs, distances, objectives and searches are written out
here: enumeration of all labellings, Lloyd's two steps, the book's Table 1.1, the objective of PCKMeans.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tests.oracles import constraints as pairs_oracle

# ---- what constraints say, pair by pair ---------------------------------------------------------------


class Said(NamedTuple):
    """One pair: whether it belongs together, what breaking it costs, whether it must hold."""

    i: int
    j: int
    together: bool
    strength: float
    hard: bool


def strength(weight: float, confidence: float = math.nan) -> float:
    """Weight, times the log-odds of the confidence where one is stated."""
    if math.isnan(confidence):
        return weight
    sure = min(confidence, 1 - 1e-6)
    return weight * math.log(sure / (1 - sure))


def statements(c) -> list[Said]:
    """Every pair with an effect; groups are written out, so that a pair may stand here more than once."""
    found = []
    for table, together in ((c.must_table, True), (c.cannot_table, False)):
        columns = (table.ij.tolist(), table.weight.tolist(), table.confidence.tolist(), table.hard.tolist())
        for (i, j), weight, confidence, hard in zip(*columns, strict=True):
            if hard or weight > 0:
                found.append(Said(i, j, together, strength(weight, confidence), hard))
    for group in c.groups:
        hard = group.weight is None
        if hard or group.weight > 0:
            must, cannot = pairs_oracle.expand(group.kind, pairs_oracle.group_values(group, c.n_items))
            each = 1.0 if hard else float(group.weight)
            found += [Said(i, j, True, each, hard) for i, j in must]
            found += [Said(i, j, False, each, hard) for i, j in cannot]
    return found


def is_broken(labels: Sequence[int], said: Said) -> bool:
    return (labels[said.i] == labels[said.j]) != said.together


def obeys_all(labels: Sequence[int], said: Iterable[Said]) -> bool:
    return not any(is_broken(labels, s) for s in said)


def obeys_hard(labels: Sequence[int], said: Iterable[Said]) -> bool:
    return not any(s.hard and is_broken(labels, s) for s in said)


def price(labels: Sequence[int], said: Iterable[Said]) -> float:
    """Summed strength of the broken soft constraints."""
    return math.fsum(s.strength for s in said if not s.hard and is_broken(labels, s))


def spoken_of(said: Iterable[Said]) -> set[int]:
    return {item for s in said for item in (s.i, s.j)}


def parts(n: int, said: Iterable[Said], hard_only: bool = False) -> list[list[int]]:
    """Items joined by must-links, in the order of their first items."""
    links = [(s.i, s.j) for s in said if s.together and (s.hard or not hard_only)]
    component = pairs_oracle.components(n, links)
    return [[i for i in range(n) if component[i] == c] for c in range(max(component, default=-1) + 1)]


# ---- all labellings -----------------------------------------------------------------------------------


@cache
def all_labellings(n: int, k: int) -> np.ndarray:
    return np.array(list(itertools.product(range(k), repeat=n)), dtype=np.int64).reshape(-1, n)


def _broken_in_each(labellings: np.ndarray, s: Said) -> np.ndarray:
    return (labellings[:, s.i] == labellings[:, s.j]) != s.together


def _meet(labellings: np.ndarray, said: Iterable[Said]) -> np.ndarray:
    fine = np.ones(len(labellings), dtype=bool)
    for s in said:
        fine &= ~_broken_in_each(labellings, s)
    return fine


def total_cost(costs: np.ndarray, labels: Sequence[int]) -> float:
    return math.fsum(float(costs[i, h]) for i, h in enumerate(labels))


def _least(totals: np.ndarray, labellings: np.ndarray) -> tuple[float, np.ndarray] | None:
    if not len(totals):
        return None
    best = int(np.argmin(totals))
    return float(totals[best]), labellings[best]


def best_hard(costs: np.ndarray, said: Sequence[Said]) -> tuple[float, np.ndarray] | None:
    """Least total cost with every constraint met, or None."""
    n, k = costs.shape
    labellings = all_labellings(n, k)
    labellings = labellings[_meet(labellings, said)]
    return _least(costs[np.arange(n), labellings].sum(axis=1), labellings)


def best_soft(
    costs: np.ndarray, said: Sequence[Said], weight: float = 1.0
) -> tuple[float, np.ndarray] | None:
    """Least total of costs and weighted strengths of what is broken, hard constraints met; or None."""
    n, k = costs.shape
    labellings = all_labellings(n, k)
    labellings = labellings[_meet(labellings, [s for s in said if s.hard])]
    totals = costs[np.arange(n), labellings].sum(axis=1)
    for s in said:
        if not s.hard:
            totals = totals + weight * s.strength * _broken_in_each(labellings, s)
    return _least(totals, labellings)


# ---- distortions and objectives -----------------------------------------------------------------------


def dense(X) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def unit(v: np.ndarray) -> np.ndarray:
    length = math.sqrt(float(v @ v))
    return v / length if length > 0 else v


def gap(x: np.ndarray, centre: np.ndarray, metric: str = "sqeuclidean") -> float:
    """Squared distance, or 1 - cos."""
    if metric == "cosine":
        return 1.0 - float(unit(x) @ unit(centre))
    return float(((x - centre) ** 2).sum())


def gaps(X, centres, metric: str = "sqeuclidean") -> np.ndarray:
    X, centres = dense(X), dense(centres)
    return np.array([[gap(x, c, metric) for c in centres] for x in X]).reshape(len(X), len(centres))


def inertia(X, labels, centres, sample_weight=None, metric: str = "sqeuclidean") -> float:
    X, centres = dense(X), dense(centres)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return math.fsum(w[i] * gap(X[i], centres[h], metric) for i, h in enumerate(labels))


def pck_objective(
    X, labels, centres, said: Sequence[Said], weight: float, sample_weight=None, metric: str = "sqeuclidean"
) -> float:
    """Half the squared distances (or all of 1 - cos), and the price of what is broken."""
    half = 1.0 if metric == "cosine" else 0.5
    return half * inertia(X, labels, centres, sample_weight, metric) + weight * price(labels, said)


def means(X, labels, k: int, sample_weight=None) -> np.ndarray:
    """Weighted mean of each cluster; NaN where there is nothing to average."""
    X, labels = dense(X), np.asarray(labels)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    found = np.full((k, X.shape[1]), np.nan)
    for h in range(k):
        if w[labels == h].sum() > 0:
            found[h] = np.average(X[labels == h], axis=0, weights=w[labels == h])
    return found


def scatter_of(X, labels, k: int, sample_weight=None) -> float:
    """Distortion of a labelling from the means of its own clusters."""
    X, labels = dense(X), np.asarray(labels)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    total = 0.0
    for h in range(k):
        members, mass = X[labels == h], w[labels == h]
        if mass.sum() > 0:
            total += float(mass @ ((members - mass @ members / mass.sum()) ** 2).sum(axis=1))
    return total


def partitions_of(n: int, k: int) -> Iterator[list[int]]:
    """Every way to sort n items into at most k unnamed clusters."""
    return (labels for labels in pairs_oracle.partitions(n) if max(labels, default=-1) < k)


def best_cop(X, k: int, said: Sequence[Said], sample_weight=None) -> float:
    """Least scatter of any labelling that meets everything (inf if there is none)."""
    fine = (labels for labels in partitions_of(len(X), k) if obeys_all(labels, said))
    return min((scatter_of(X, labels, k, sample_weight) for labels in fine), default=math.inf)


def best_pck(X, k: int, said: Sequence[Said], weight: float, sample_weight=None) -> float:
    """Least objective of PCKMeans over all labellings that meet what is hard (inf if there is none)."""
    fine = (labels for labels in partitions_of(len(X), k) if obeys_hard(labels, said))
    return min(
        (0.5 * scatter_of(X, labels, k, sample_weight) + weight * price(labels, said) for labels in fine),
        default=math.inf,
    )


def best_medoids(D: np.ndarray, k: int, sample_weight=None) -> float:
    """Least summed distance to the nearest of k medoids, over all sets of k items."""
    w = np.ones(len(D)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return min(
        float(w @ D[:, list(chosen)].min(axis=1)) for chosen in itertools.combinations(range(len(D)), k)
    )


# ---- Lloyd --------------------------------------------------------------------------------------------


def lloyd(
    X, centres, sample_weight=None, *, tol: float = 1e-4, max_iter: int = 300, fixed: dict | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and centres of plain k-means; items in `fixed` keep their cluster. No cluster may run empty.

    The stopping rule is scikit-learn's: labels unchanged, or the squared shifts of the centres sum to at most
    tol times the mean variance of the features, and then one last assignment.
    """
    X, centres = dense(X), dense(centres).copy()
    fixed = fixed or {}
    enough = tol * X.var(axis=0).mean()

    def assign() -> np.ndarray:
        labels = gaps(X, centres).argmin(axis=1)
        for item, h in fixed.items():
            labels[item] = h
        return labels

    before = None
    for _ in range(max_iter):
        labels = assign()
        new = means(X, labels, len(centres), sample_weight)
        assert not np.isnan(new).any(), "a cluster ran empty: choose another start"
        shift = float(((new - centres) ** 2).sum())
        centres = new
        if before is not None and (labels == before).all():
            return labels, centres
        before = labels
        if shift <= enough:
            break
    return assign(), centres


# ---- the book's Table 1.1 -----------------------------------------------------------------------------


def violates(i: int, h: int, labels: Sequence[int | None], must, cannot) -> bool:
    """VIOLATE-CONSTRAINTS; only items that were placed in this pass count."""

    def partners(links):
        return [b if a == i else a for a, b in links if i in (a, b)]

    return any(labels[j] is not None and labels[j] != h for j in partners(must)) or any(
        labels[j] == h for j in partners(cannot)
    )


def cop_pass(cost: np.ndarray, must, cannot, order: Iterable[int]) -> list[int] | int:
    """One pass over the items: labels, or the item at which it fails. Ties: the lowest cluster."""
    n, k = cost.shape
    labels: list[int | None] = [None] * n
    for i in order:
        legal = [h for h in range(k) if not violates(i, h, labels, must, cannot)]
        if not legal:
            return i
        labels[i] = min(legal, key=lambda h, i=i: (cost[i, h], h))
    return labels


def cop_kmeans(X, centres, must, cannot, *, max_iter: int = 100) -> tuple[list[int] | None, list[float]]:
    """Table 1.1 in the order of the data: final labels, and the scatter after each pass.

    The labels are None if a pass failed, and empty if they still changed in the last pass (they may go in
    circles). Must-links are closed first, so that a pass cannot miss one through an item yet to come.
    """
    X, centres = dense(X), dense(centres).copy()
    must, cannot = pairs_oracle.closure(len(X), must, cannot)
    before, scatters = None, []
    for _ in range(max_iter):
        labels = cop_pass(gaps(X, centres), must, cannot, range(len(X)))
        if isinstance(labels, int):
            return None, scatters
        found = means(X, labels, len(centres))
        centres = np.where(np.isnan(found), centres, found)
        scatters.append(inertia(X, labels, centres))
        if labels == before:
            return labels, scatters
        before = labels
    return [], scatters


def greedy_by_part(costs: np.ndarray, said: Sequence[Said]) -> tuple[list[int] | None, list[int]]:
    """Parts in the order of their first items, each to its cheapest legal cluster.

    Returns the labels, or None and the members of the part at which it stops.
    """
    n, k = costs.shape
    cannot = [(s.i, s.j) for s in said if not s.together]
    labels: list[int] = [-1] * n
    for part in parts(n, said):
        taken = {labels[b] for a, b in cannot if a in part} | {labels[a] for a, b in cannot if b in part}
        legal = [h for h in range(k) if h not in taken]
        if not legal or any(a in part and b in part for a, b in cannot):
            return None, part
        best = min(legal, key=lambda h, part=part: (math.fsum(costs[i, h] for i in part), h))
        for i in part:
            labels[i] = best
    return labels, []


# ---- local optima -------------------------------------------------------------------------------------


def single_moves(labels: Sequence[int], units: Iterable[Sequence[int]], k: int) -> Iterator[list[int]]:
    """Every labelling in which one unit is elsewhere as a whole."""
    for unit_ in units:
        for h in range(k):
            moved = list(labels)
            for i in unit_:
                moved[i] = h
            if moved != list(labels):
                yield moved


def kempe_swaps(labels: Sequence[int], said: Sequence[Said], k: int) -> Iterator[list[int]]:
    """Swap two clusters on a connected piece of the cannot-link graph of the parts: all such swaps."""
    n = len(labels)
    units = parts(n, said)
    at = {i: u for u, part in enumerate(units) for i in part}
    near: list[set[int]] = [set() for _ in units]
    for s in said:
        if not s.together:
            near[at[s.i]].add(at[s.j])
            near[at[s.j]].add(at[s.i])
    for start, part in enumerate(units):
        a = labels[part[0]]
        for b in range(k):
            if a == b:
                continue
            piece, stack = {start}, [start]
            while stack:
                for w in near[stack.pop()]:
                    if w not in piece and labels[units[w][0]] in (a, b):
                        piece.add(w)
                        stack.append(w)
            swapped = list(labels)
            for u in piece:
                for i in units[u]:
                    swapped[i] = b if labels[i] == a else a
            yield swapped
