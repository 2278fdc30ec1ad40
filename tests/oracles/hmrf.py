"""Slow, obvious HMRF-KMeans: distances, the closure pair by pair, the objective, starts and prototypes.

Written from the definitions (Basu, Bilenko and Mooney 2004) with the corrections of the specification: a
prototype of the cosine is the sum of rows of unit length, and an I-divergence may have pseudo-items for each
item, which make the smoothed mean its best prototype.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tests.oracles import constraints as pairs_oracle
from tests.oracles.kmeans import Said, dense, is_broken
from tests.oracles.mpck import weights

# ---- distances ----------------------------------------------------------------------------------------


def cosine(x: np.ndarray, y: np.ndarray, a: np.ndarray) -> float:
    """One minus the cosine, features weighted by a."""
    inner = math.fsum(a * x * y)
    return 1.0 - inner / math.sqrt(math.fsum(a * x * x) * math.fsum(a * y * y))


def idivergence(x: np.ndarray, mu: np.ndarray, a: np.ndarray) -> float:
    """Of x from the prototype mu, features weighted by a; 0 ln 0 = 0."""
    total = []
    for value, centre, weight in zip(x.tolist(), mu.tolist(), a.tolist(), strict=True):
        if value > 0 and centre <= 0:
            return math.inf
        logs = value * math.log(value / centre) if value > 0 else 0.0
        total.append(weight * (logs - value + centre))
    return math.fsum(total)


def to_the_mean(x: np.ndarray, y: np.ndarray, a: np.ndarray) -> float:
    """I-divergence of both from their mean: symmetric, 2 ln 2 for two disjoint distributions."""
    return math.fsum(weight * term for weight, term in zip(a.tolist(), mean_terms(x, y), strict=True))


def mean_terms(x: np.ndarray, y: np.ndarray) -> list[float]:
    """The share of each feature in it."""
    found = []
    for p, q in zip(x.tolist(), y.tolist(), strict=True):
        left = p * math.log(2 * p / (p + q)) if p > 0 else 0.0
        right = q * math.log(2 * q / (p + q)) if q > 0 else 0.0
        found.append(left + right)
    return found


def between(x: np.ndarray, y: np.ndarray, a: np.ndarray, metric: str) -> float:
    """What a broken must-link of strength 1 costs."""
    return cosine(x, y, a) if metric == "cosine" else to_the_mean(x, y, a)


def farthest(X, a: np.ndarray, metric: str) -> float:
    """What a broken cannot-link of two items without any distance costs."""
    X = dense(X)
    if metric == "cosine":
        return 1.0 if (X >= 0).all() else 2.0
    return 2 * math.log(2) * max(float(a @ x) for x in X)


def to_prototype(x: np.ndarray, mu: np.ndarray, a: np.ndarray, metric: str, smoothing: float = 0.0) -> float:
    """Distortion; with I-divergence and smoothing, that of the pseudo-item comes on top."""
    if metric == "cosine":
        return cosine(x, mu, a)
    d = len(x)
    extra = smoothing * idivergence(np.full(d, 1.0 / d), mu, a) if smoothing else 0.0
    return idivergence(x, mu, a) + extra


# ---- what constraints entail ---------------------------------------------------------------------------


def closure(n: int, said: Sequence[Said], silent: Sequence[Said] = ()) -> list[Said]:
    """All pairs that are entailed: stated ones keep their strength, others have the mean of the soft ones.

    From cannot-links among the `silent` ones nothing follows; must-links join in any case.
    """
    must = [(s.i, s.j) for s in (*said, *silent) if s.together]
    cannot = [(s.i, s.j) for s in said if not s.together]
    together, apart = pairs_oracle.closure(n, must, cannot)
    every = [*said, *silent]
    stated = {(*pairs_oracle.ordered((s.i, s.j)), s.together) for s in every}
    soft: Counter = Counter()
    for s in every:
        if not s.hard and s.strength > 0:
            soft[(*pairs_oracle.ordered((s.i, s.j)), s.together)] += s.strength
    typical = math.fsum(soft.values()) / len(soft) if soft else 1.0
    return every + [
        Said(i, j, kind, typical, False)
        for pairs, kind in ((together, True), (apart, False))
        for i, j in sorted(pairs)
        if (i, j, kind) not in stated
    ]


def of_hard_groups(c) -> list[Said]:
    """What hard groups say, pair by pair."""
    found = []
    for group in c.groups:
        if group.weight is None:
            must, cannot = pairs_oracle.expand(group.kind, pairs_oracle.group_values(group, c.n_items))
            found += [Said(i, j, True, 1.0, True) for i, j in must]
            found += [Said(i, j, False, 1.0, True) for i, j in cannot]
    return found


def contradictory(n: int, said: Sequence[Said]) -> bool:
    component = pairs_oracle.components(n, [(s.i, s.j) for s in said if s.together])
    return any(component[s.i] == component[s.j] for s in said if not s.together)


# ---- the objective ------------------------------------------------------------------------------------


def parts(
    X,
    labels: Sequence[int],
    centres,
    a,
    said: Sequence[Said] = (),
    *,
    metric: str,
    weight: float = 1.0,
    smoothing: float = 0.0,
    sample_weight=None,
) -> dict[str, float]:
    """The four parts of the objective; hard pairs cost nothing."""
    X, centres, w = dense(X), dense(centres), weights(X, sample_weight)
    a, labels = np.asarray(a, dtype=float), [int(h) for h in labels]
    must, cannot = [], []
    for s in said:
        if s.hard or not is_broken(labels, s):
            continue
        gap = between(X[s.i], X[s.j], a, metric)
        if s.together:
            must.append(weight * s.strength * gap)
        else:
            cannot.append(weight * s.strength * (farthest(X, a, metric) - gap))
    return {
        "distortion": math.fsum(
            w[i] * to_prototype(X[i], centres[h], a, metric, smoothing) for i, h in enumerate(labels) if w[i]
        ),
        "must_link": math.fsum(must),
        "cannot_link": math.fsum(cannot),
        "metric": 0.0,
    }


def objective(*args, **kwargs) -> float:
    return math.fsum(parts(*args, **kwargs).values())


def item_cost(
    X,
    i: int,
    h: int,
    labels: Sequence[int],
    centres,
    a,
    said: Sequence[Said],
    *,
    metric: str,
    weight=1.0,
    smoothing=0.0,
) -> float:
    """What item i pays in cluster h while all others stay: each pair of it counts in full."""
    X, centres, a = dense(X), dense(centres), np.asarray(a, dtype=float)
    cost = to_prototype(X[i], centres[h], a, metric, smoothing)
    for s in said:
        if i not in (s.i, s.j):
            continue
        j = s.j if s.i == i else s.i
        gap = between(X[i], X[j], a, metric)
        if s.together and labels[j] != h:
            cost += weight * s.strength * gap
        if not s.together and labels[j] == h:
            cost += weight * s.strength * (farthest(X, a, metric) - gap)
    return cost


# ---- prototypes and weights ---------------------------------------------------------------------------


def directions(X, labels, k: int, a, sample_weight=None) -> np.ndarray:
    """Cosine: the sum of the rows of each cluster, each of unit length, brought to unit length."""
    X, a, w = dense(X), np.asarray(a, dtype=float), weights(X, sample_weight)
    found = np.zeros((k, X.shape[1]))
    for i, h in enumerate(labels):
        found[h] += w[i] * X[i] / math.sqrt(float(a @ X[i] ** 2))
    return np.array([v / math.sqrt(float(a @ v**2)) if v.any() else v for v in found])


def smoothed(X, labels, k: int, smoothing: float, sample_weight=None) -> np.ndarray:
    """I-divergence: the mean of each cluster, drawn towards the uniform distribution."""
    X, w = dense(X), weights(X, sample_weight)
    d = X.shape[1]
    found = np.zeros((k, d))
    for h in range(k):
        members = [i for i, g in enumerate(labels) if g == h]
        mean = sum(w[i] * X[i] for i in members) / sum(w[i] for i in members)
        found[h] = (mean + smoothing / d) / (1 + smoothing)
    return found


def divergence_slope(
    X,
    labels,
    centres,
    said: Sequence[Said] = (),
    *,
    weight=1.0,
    smoothing=0.0,
    a=None,
    sample_weight=None,
) -> np.ndarray:
    """G of the I-divergence: what each feature weighs in the objective, by the definition of its terms."""
    X, centres, w = dense(X), dense(centres), weights(X, sample_weight)
    d = X.shape[1]
    a = np.ones(d) if a is None else np.asarray(a, dtype=float)
    found = np.zeros(d)
    for m in range(d):
        only = np.zeros(d)
        only[m] = 1.0
        found[m] = math.fsum(
            w[i] * to_prototype(X[i], centres[h], only, "idivergence", smoothing)
            for i, h in enumerate(labels)
        )
    sums = X @ a
    top = X[int(np.flatnonzero(sums >= sums.max() * (1 - 1e-9))[0])]  # rows of shares all tie: the first
    for s in said:
        if s.hard or not is_broken(labels, s):
            continue
        share = weight * s.strength * np.array(mean_terms(X[s.i], X[s.j]))
        if s.together:
            found += share
        else:
            found += weight * s.strength * math.log(2) * 2 * top - share
    return found


def lloyd(X, centres, *, metric: str, smoothing: float = 0.0, max_iter: int = 100) -> np.ndarray | None:
    """Plain k-means: spherical, or of smoothed prototypes; None if a cluster runs empty."""
    X, centres = dense(X), dense(centres)
    ones, k = np.ones(X.shape[1]), len(centres)
    before = None
    for _ in range(max_iter):
        costs = [[to_prototype(x, c, ones, metric, smoothing) for c in centres] for x in X]
        labels = np.array(costs).argmin(axis=1)
        if before is not None and (labels == before).all():
            return labels
        before = labels
        if len(set(labels.tolist())) < k:
            return None
        centres = directions(X, labels, k, ones) if metric == "cosine" else smoothed(X, labels, k, smoothing)
    raise AssertionError("it did not come to rest")


# ---- starts -------------------------------------------------------------------------------------------


def neighbourhoods(n: int, said: Sequence[Said]) -> list[list[int]]:
    """Must-link components of two items and more, in the order of their first items."""
    component = pairs_oracle.components(n, [(s.i, s.j) for s in said if s.together])
    found = [[i for i in range(n) if component[i] == c] for c in range(max(component, default=-1) + 1)]
    return [members for members in found if len(members) > 1]


def farthest_first(X, groups: Sequence[Sequence[int]], k: int, metric: str) -> list[int]:
    """Weighted farthest-first: the largest, then by the least of distortion times both sizes to the chosen.

    Ties: farther from the middle of all items, then the first. The paper states that rule for the further
    ones; it has no other for several largest, and this one does not hang on the order of the items.
    """
    X = dense(X)
    ones = np.ones(X.shape[1])

    def gap(x, y) -> float:
        return float(((x - y) ** 2).sum()) if metric == "sqeuclidean" else between(x, y, ones, metric)

    middles = [X[list(members)].mean(axis=0) for members in groups]
    sizes = [len(members) for members in groups]
    off = [gap(m, X.mean(axis=0)) for m in middles]
    chosen = [max(range(len(groups)), key=lambda p: (sizes[p], off[p], -p))]
    while len(chosen) < min(k, len(groups)):
        rest = [p for p in range(len(groups)) if p not in chosen]
        reach = {p: min(gap(middles[p], middles[q]) * sizes[p] * sizes[q] for q in chosen) for p in rest}
        chosen.append(max(rest, key=lambda p: (reach[p], off[p], -p)))
    return chosen
