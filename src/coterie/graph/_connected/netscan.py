"""NetScan: grow clusters from seeds, take new centres, repeat; the best iteration is kept.

The loop knows neither k-center nor k-means: a criterion says what a centre is, from which item a cluster
grows, and what is made small. Nothing rises for certain, so the loop ends when centres come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie.adjacency import islands
from coterie.base import Step, clearly_less, first_of_least
from coterie.exceptions import ParameterError
from coterie.graph._connected.growth import Growth
from coterie.graph._connected.space import ItemSpace, members_of

# So much wider than usual must a gap be that parts outliers from the rest.
_WIDE = 5.0


@dataclass(frozen=True)
class Update:
    """What follows from labels: where clusters grow from, their centres, and what they cost."""

    seeds: Index
    centres: Any  # rows; items where distances are given
    radii: Floats  # of each cluster, around its centre
    objective: float


# What NetScan makes small: from labels and the number of clusters to what follows from them.
Criterion = Callable[[Labels, int], Update]


class KCenterCriterion:
    """The largest radius; a centre is the member nearest to the mean, or whose farthest member is nearest."""

    def __init__(self, space: ItemSpace, minimax: bool = False) -> None:
        self.space, self.minimax = space, minimax

    def __call__(self, labels: Labels, k: int) -> Update:
        space, seeds, radii = self.space, np.empty(k, dtype=np.int64), np.empty(k)
        for j, members in enumerate(members_of(labels, k)):
            to_mean = space.to_centres(members, space.middle(members))[:, 0]
            seeds[j] = members[_nearest(to_mean)]
            if self.minimax:
                seeds[j], radii[j] = space.minimax(members, int(seeds[j]))
            else:
                radii[j] = space.between(members, seeds[[j]])[:, 0].max()
        return Update(seeds, space.centres_at(seeds), radii, float(radii.max()))


def _nearest(away: Floats) -> int:
    """The first that is nearest but for rounding: two items are as far from their mean."""
    return first_of_least(away, np.ones(len(away)))


class KMeansCriterion:
    """The sum of squared distances to the means, of 1 - cosine; a seed is the member nearest to the mean."""

    def __init__(self, space: ItemSpace) -> None:
        self.space = space

    def __call__(self, labels: Labels, k: int) -> Update:
        squared = self.space.metric not in ("cosine", "sqeuclidean")
        seeds, radii, means, total = np.empty(k, dtype=np.int64), np.empty(k), [], 0.0
        for j, members in enumerate(members_of(labels, k)):
            means.append(self.space.middle(members))
            away = self.space.to_centres(members, means[j])[:, 0]
            seeds[j], radii[j] = members[_nearest(away)], away.max()
            total += float(away @ away if squared else away.sum())
        return Update(seeds, np.concatenate(means), radii, total)


@dataclass(frozen=True)
class Scan:
    """Connected clusters, and how they were found."""

    labels: Labels
    update: Update
    objective: float
    history: Floats  # the best objective so far, after each iteration
    n_iter: int
    converged: bool


def netscan(growth: Growth, criterion: Criterion, seeds: Index, max_iter: int, step: Step | None) -> Scan:
    """Grow and update from these seeds until centres come back, and give the best iteration."""
    best: Scan | None = None
    history: list[float] = []
    now: Any = Update(np.asarray(seeds, dtype=np.int64), growth.space.centres_at(seeds), np.empty(0), np.inf)
    seen, converged = {_marks(now)}, False
    while not converged and len(history) < max_iter:
        labels = growth(now.seeds, now.centres)[0]
        now = criterion(labels, len(now.seeds))
        if best is None or clearly_less(now.objective, best.objective):
            best = Scan(labels, now, now.objective, np.empty(0), 0, False)
        history.append(best.objective)
        converged = _marks(now) in seen
        seen.add(_marks(now))
        if step is not None and step(now.objective):
            break
    assert best is not None
    return replace(best, history=np.array(history), n_iter=len(history), converged=converged)


def _marks(update: Update) -> int:
    return hash((update.seeds.tobytes(), np.asarray(update.centres).tobytes()))


def degree_seeds(graph: Any, n: int, k: int, rng: Any) -> Index:
    """Distinct items, drawn by their number of neighbours; first one on each island."""
    degree = np.ones(n) if graph is None else np.maximum(np.diff(graph.indptr), 1)
    order = np.argsort(rng.exponential(size=n) / degree, kind="stable")
    if graph is None:
        return order[:k]
    first = np.zeros(n, dtype=bool)
    first[np.unique(islands(graph)[1][order], return_index=True)[1]] = True
    return np.concatenate([order[first], order[~first]])[:k]


def nearest_seeds(growth: Growth, centres: Any) -> Index:
    """Distinct items near to centres; islands that none is near to take one from those with most."""
    n, k = growth.space.n, len(centres)
    at = np.zeros(n, dtype=np.int32) if growth.graph is None else islands(growth.graph)[1]
    away = growth.space.to_centres(slice(None), centres)
    seeds: list[int] = []
    for j in range(k):
        away[seeds, j] = np.inf
        seeds.append(int(away[:, j].argmin()))
    for island in np.setdiff1d(at, at[seeds]).tolist():
        many = np.bincount(at[seeds], minlength=int(at.max()) + 1)[at[seeds]]
        inside = np.flatnonzero(at == island)
        # of the islands with most seeds the centre that is nearest to the one without
        spare = np.flatnonzero(many == many.max())
        item, of = np.unravel_index(away[np.ix_(inside, spare)].argmin(), (len(inside), len(spare)))
        seeds[spare[of]] = int(inside[item])
    return np.array(seeds, dtype=np.int64)


def given_seeds(seeds: Any, graph: Any, n: int, k: int) -> Index:
    """Seeds that were given, checked: k different items, one on each island."""
    found = np.asarray(seeds)
    whole = found.shape == (k,) and np.issubdtype(found.dtype, np.integer)
    if not whole or ((found < 0) | (found >= n)).any() or len(np.unique(found)) < k:
        raise ParameterError(f"init must hold {k} different row numbers below {n}; got {seeds!r}.", "init")
    if graph is not None:
        n_islands, at = islands(graph)
        without = np.setdiff1d(np.arange(n_islands), at[found])
        if len(without):
            item = int(np.argmax(at == without[0]))
            raise ParameterError(f"init has no item on the island of item {item}; name one there.", "init")
    return found.astype(np.int64)


def far_out(radii: Floats, outliers: Any) -> Any:
    """Which items are outliers, by the radius at which each was taken; what was taken at once stays together.

    `outliers` is a share, of the last ones, or "auto": what comes after the largest gap among the last tenth,
    if that is wide and the radius falls by a tenth.
    """
    n, ordered = len(radii), np.sort(radii)
    if outliers != "auto":
        return radii > ordered[max(0, n - 1 - int(outliers * n + 1e-9))]
    gaps = np.diff(ordered)
    first = n - 1 - -(-n // 10)
    if first < 0 or n < 3:
        return np.zeros(n, dtype=bool)
    at = first + int(gaps[first:].argmax())
    others = np.delete(gaps, at)
    usual = np.median(others[others > 0]) if (others > 0).any() else 0.0
    clear = gaps[at] > _WIDE * usual and ordered[at] <= 0.9 * ordered[-1]
    return radii > (ordered[at] if clear else ordered[-1])


def check_islands(graph: Any, k: int, name: Callable[[int], Any] = int, word: str = "n_clusters") -> None:
    """Raise where there are more islands than clusters."""
    if graph is None:
        return
    n_islands, at = islands(graph)
    if n_islands > k:
        sizes = np.bincount(at)
        item = int(np.argmax(sizes[at] == sizes.min()))
        raise ParameterError(
            f"the connectivity has {n_islands:,} islands (the smallest has {sizes.min():,} of the "
            f"{len(at):,} items, one of them item {name(item)}), so {word}={k} connected clusters cannot "
            f"hold all items. Ask for at least {n_islands:,} clusters, or add edges between the islands.",
            word,
        )
