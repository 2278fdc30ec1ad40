"""K-medoids: the centre of a cluster is one of the items, so any distance will do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core import own_costs, unit_costs
from coterie.assign._pairs import SoftSolver
from coterie.base import (
    AUTO_STARTS,
    SEARCH_RULES,
    About,
    Account,
    ConstrainedClusterMixin,
    Distances,
    Step,
    TakesDistances,
    best_of_starts,
    check_distances,
    check_sample_weight,
    constrained_fit,
    distances_between,
    first_of_least,
    instance,
    joined_groups,
    merged,
    metric_rule,
    middle_item,
    one_medoid,
    one_of,
    real,
    warn_of_empty_clusters,
    whole,
)
from coterie.constraints import Constraints
from coterie.kmeans._engine.loop import LoopOutcome
from coterie.kmeans._engine.starts import drawn, drawn_by_weight

# Swaps that a start tries, for each cluster: on generated clusters (round, unequal, long, wide, skewed, with
# outliers) 2 bring about what 10 do, and what swaps to the end do.
_SWAPS = 2
# With more items than this the best medoids of given labels take too long.
_MOST_MEASURED = 5_000


class KMedoids(
    TakesDistances, ConstrainedClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """K-medoids on features or on given distances, started by constraints, which then have a price.

    Minimises the sum of distances of the items to the medoid of their cluster plus, for every broken
    constraint, `weight` times its strength. With `weight=0.0` constraints guide the start alone. Pairs marked
    `hard` hold.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    metric : str or callable, default "euclidean"
        Any metric of `sklearn.metrics.pairwise_distances`, or "precomputed": X holds the distances between
        the items then, rows from and columns to.
    init : {"mixed", "neighborhoods", "k-medoids++", "random"} or array of shape (n_clusters,)
        "k-medoids++" draws items by their distance from those chosen, then tries some swaps. "neighborhoods"
        is EMC's: the medoids of must-link components, merged by average linkage where they are too many (not
        across a cannot-link as long as there is another way); where they are too few, items that cannot-links
        name, then the items farthest from all chosen, outliers perhaps; further starts are "k-medoids++".
        "mixed" begins so in the first start, and goes on as "k-medoids++". An array lists items.
    weight : float or "auto", default "auto"
        What a broken pair of strength 1 costs. "auto" is the mean distance of the items to the best single
        medoid among 1,000 items.
    n_init : int or "auto", default "auto"
        Number of starts; "auto" is 1 where the start is given or found without chance, else 4.
    warm_start : bool, default False
        Start from the medoids of the last fit, which are then items of the new X.
    max_iter, verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    medoid_indices_ : array of shape (n_clusters,)
        The item that stands for each cluster. It lies in it, unless constraints pulled it away.
    cluster_centers_ : array of shape (n_clusters, n_features)
        Their features; absent with "precomputed".
    labels_, history_, n_iter_, converged_, violations_
        As in `PCKMeans`.
    inertia_ : float
        Weighted sum of the distances to the medoids.
    objective_ : float
        `inertia_` plus what broken constraints cost.
    weight_ : float
        The weight that was used.

    See Also
    --------
    PCKMeans : centres that are means; much faster on large data.

    Notes
    -----
    Alternates between labels and medoids; the objective never rises. An update costs the squares of the
    cluster sizes, so that some ten thousand items are the limit in practice; features are compared block by
    block, and no n x n table is kept.

    References
    ----------
    Park and Jun 2009 (alternating). Lattanzi and Sohler 2019 (swaps). Hakkoymaz and others 2009 (EMC).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, KMedoids
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> known = Constraints(must_link=[(0, 1), (3, 4)], cannot_link=[(0, 3)], n_items=6)
    >>> KMedoids(n_clusters=2).fit(X, constraints=known).medoid_indices_
    array([1, 4])
    """

    about = About(
        what="clusters around items of the data; a broken constraint has a price",
        when="up to 20,000 items, of which one shall stand for each cluster",
        source="Park and Jun 2009; start as in EMC",
        max_items=20_000,
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    works_on_pairs = True
    parameter_rules: ClassVar[Any] = {
        **SEARCH_RULES,
        "n_clusters": whole(1),
        "warm_start": one_of(True, False),
        "metric": metric_rule(),
        "weight": real(0.0) | one_of("auto"),
        "init": one_of("mixed", "neighborhoods", "k-medoids++", "random")
        | instance((np.ndarray, list, tuple), "an array of items"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        init: Any = "mixed",
        weight: Any = "auto",
        n_init: Any = "auto",
        max_iter: int = 300,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.weight = weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, sample_weight: Any = None) -> Any:
        """Cluster X around some of its items.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or distances of shape (n_samples, n_samples)
            The items; CSR where the metric takes it.
        y, constraints, sample_weight
            As in `PCKMeans.fit`: hard constraints hold, the others have a price.

        Returns
        -------
        self
        """
        before = getattr(self, "medoid_indices_", None) if self.warm_start else None
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **self._checks)
        if self._given:
            check_distances(X)
        weight = check_sample_weight(sample_weight, X)
        self._weighted = weight is not None
        mass = np.ones(X.shape[0]) if weight is None else weight
        rng = check_random_state(self.random_state)
        distances = Distances(X, self.metric)
        self._metric_kwargs = distances.kwargs
        self.weight_ = one_medoid(distances, mass) if self.weight == "auto" else float(self.weight)
        priced = known if self.weight_ > 0 else known.only_hard()
        core = SoftSolver.at_weight(priced, self.weight_, self.n_clusters, rng) if priced else None
        chance = isinstance(self.init, str) and self.init != "neighborhoods" and before is None
        n_starts = (AUTO_STARTS if chance else 1) if self.n_init == "auto" else int(self.n_init)

        def run(number: int, step: Step) -> LoopOutcome:
            medoids = self._start(number, distances, known, mass, rng, before)
            return self._alternate(distances, core, mass, medoids, step)

        best, _ = best_of_starts(self, X, run, n_starts=n_starts, max_steps=self.max_iter)
        best.follow_labels(known, self.n_clusters)
        self.labels_, self.medoid_indices_ = best.labels, best.centres
        self.objective_, self.inertia_ = best.objective, best.inertia
        self.history_, self.n_iter_, self.converged_ = np.array(best.history), best.n_iter, best.converged
        self._n_features_out = self.n_clusters
        if self._given:
            self.__dict__.pop("cluster_centers_", None)
        else:
            self.cluster_centers_ = X[self.medoid_indices_]
        warn_of_empty_clusters(self.labels_, self.n_clusters)
        return self

    # ---- the loop -------------------------------------------------------------------------------------

    def _alternate(
        self, distances: Distances, core: SoftSolver | None, mass: Floats, medoids: Index, step: Step
    ) -> LoopOutcome:
        """Labels for medoids, medoids for labels, until nothing changes; its centres are item numbers."""
        units: Labels | None = None
        history: list[float] = []
        labels = np.full(distances.n, -1, dtype=np.int32)
        converged = False
        n_iter = 0

        def assign() -> tuple[Labels, Floats, float]:
            nonlocal units
            cost = distances.between(None, medoids) * mass[:, None]
            found = cost.argmin(axis=1).astype(np.int32)
            # of several medoids in one place, each keeps its own cluster
            found[medoids] = np.arange(len(medoids))
            penalty = 0.0
            if core is not None:
                excess_cost = unit_costs(cost, core.core)
                excess_cost -= excess_cost.min(axis=1, keepdims=True)
                units = core.assign(excess_cost, units, lambda items: cost[items], last=True)
                found[core.core.items] = units[core.core.unit]
                penalty = core.final_penalty(found)
            return found, cost, penalty

        while n_iter < self.max_iter:
            n_iter += 1
            found, cost, penalty = assign()
            history.append(own_costs(cost, found) + penalty)
            own = cost[np.arange(distances.n), found]
            medoids_next, gained = self._update(distances, core, mass, found, medoids, own)
            history.append(history[-1] - gained)
            stop = step(history[-1])
            converged = bool(np.array_equal(medoids_next, medoids) and np.array_equal(found, labels))
            labels, medoids = found, medoids_next
            if converged or stop:
                break
        if not converged:
            labels, cost, penalty = assign()
            history.append(own_costs(cost, labels) + penalty)
        inertia = own_costs(distances.between(None, medoids) * mass[:, None], labels)
        objective = inertia + (0.0 if core is None else core.final_penalty(labels))
        history[-1] = objective
        return LoopOutcome(labels, medoids, inertia, objective, history, n_iter, converged)

    def _update(
        self,
        distances: Distances,
        core: SoftSolver | None,
        mass: Floats,
        labels: Labels,
        medoids: Index,
        own: Floats,
    ) -> tuple[Index, float]:
        """The best member of each cluster, or the medoid it had if that is better; and what it gains."""
        found, gained = medoids.copy(), 0.0
        taken = np.zeros(distances.n, dtype=bool)
        taken[medoids] = True
        free = np.ones(distances.n, dtype=bool)
        if core is not None:
            free[core.core.items] = False
        for h in range(self.n_clusters):
            members = np.flatnonzero(labels == h)
            if not len(members):
                # the costliest free item starts the cluster anew; it is relabelled in the next pass
                worth = np.where(free & ~taken, own, -1.0)
                item = int(np.argmax(worth))
                if worth[item] > 0:
                    taken[found[h]] = False
                    found[h] = item
                    taken[item] = True
                continue
            # constraints may have pulled the medoid of another cluster in here
            candidate = ~taken[members] | (members == medoids[h])
            if not candidate.any():
                continue
            total = np.where(candidate, distances.sums(members, mass), np.inf)
            best = first_of_least(total, mass[members])
            now = float(own[members].sum())
            if total[best] < now * (1.0 - 1e-12) or (medoids[h] not in members and total[best] <= now):
                taken[found[h]] = False
                found[h] = members[best]
                taken[found[h]] = True
                gained += now - float(total[best])
        return found, gained

    # ---- starts ---------------------------------------------------------------------------------------

    def _start(
        self, number: int, distances: Distances, known: Constraints, mass: Floats, rng: Any, before: Any
    ) -> Index:
        if before is not None:
            return _read_items(before, self.n_clusters, distances.n, "the medoids of the last fit")
        if not isinstance(self.init, str):
            return _read_items(self.init, self.n_clusters, distances.n, "init")
        if self.init == "random":
            return drawn_by_weight(distances.n, mass, self.n_clusters, rng)
        # the starts by constraints know little or no chance, so further ones begin elsewhere
        if self.init == "neighborhoods" and number == 0:
            return self._fill(distances, mass, self._from_groups(distances, known, mass), None)
        chosen = self._from_groups(distances, known, mass) if self.init == "mixed" and not number else []
        return self._swapped(distances, mass, self._fill(distances, mass, chosen, rng), rng)

    def _from_groups(self, distances: Distances, known: Constraints, mass: Floats) -> list[int]:
        """Medoids of the must-link components, as the class says."""
        groups = joined_groups(known, self.n_clusters)
        if len(groups) > self.n_clusters:
            groups = merged(distances, known, groups, self.n_clusters)
        return [int(g[first_of_least(distances.sums(g, mass), mass[g])]) for g in groups]

    def _fill(self, distances: Distances, mass: Floats, chosen: list[int], rng: Any) -> Index:
        """Add items far from the chosen: the farthest, or drawn by distance where there is a generator."""
        if not chosen:
            chosen = [int(middle_item(distances, mass)[0] if rng is None else drawn(mass, 1, rng)[0])]
        nearest = distances.between(None, np.array(chosen)).min(axis=1)
        while len(chosen) < self.n_clusters:
            far = np.where(mass > 0, nearest, 0.0)
            far[chosen] = -1.0
            item = int(np.argmax(far))
            if rng is not None and (far > 0).any():
                item = int(drawn(np.maximum(far, 0.0) * mass, 1, rng)[0])
            chosen.append(item)
            nearest = np.minimum(nearest, distances.between(None, np.array([item]))[:, 0])
        return np.array(chosen)

    def _swapped(self, distances: Distances, mass: Floats, medoids: Index, rng: Any) -> Index:
        """Put items, drawn by distance, in the place of the medoid that each replaces best, if that pays."""
        k = self.n_clusters
        cost = distances.between(None, medoids)
        for _ in range(_SWAPS if k > 1 else 0):
            far = mass * cost.min(axis=1)
            far[medoids] = 0.0  # a given distance of an item to itself need not be 0
            if not far.any():
                break
            items = drawn(far, k, rng)
            stale = True
            for item, there in zip(items, distances.between(None, items).T, strict=True):
                if stale:
                    order = np.argpartition(cost, 1, axis=1)[:, :2]
                    nearest, second = np.take_along_axis(cost, order, axis=1).T
                kept, lost = np.minimum(nearest, there), np.minimum(second, there)
                change = np.bincount(order[:, 0], mass * (lost - kept), k) + mass @ (kept - nearest)
                h = int(np.argmin(change))
                stale = change[h] < -1e-12 * float(mass @ nearest) and item not in medoids
                if stale:
                    medoids[h], cost[:, h] = item, there
        return medoids

    # ---- after it -------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Distance of each row to each medoid.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or distances to the training items
            New items.

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
            In the dtype of X.
        """
        check_is_fitted(self, "medoid_indices_")
        X = validate_data(self, X, reset=False, **self._checks)
        if self._given:
            return X[:, self.medoid_indices_]
        found = distances_between(X, self.cluster_centers_, self.metric, self._metric_kwargs)
        return np.asarray(found).astype(X.dtype, copy=False)

    def predict(self, X: Any) -> Any:
        """Nearest medoid of each row; constraints speak of the training items only.

        Parameters
        ----------
        X
            As in `transform`.

        Returns
        -------
        labels : array of shape (n_samples,)
            The cluster of each.
        """
        return np.asarray(self.transform(X)).argmin(axis=1).astype(np.int32)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Minus the summed distance of X to its nearest medoids.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the items may be new ones.

        Returns
        -------
        score : float
            The larger, the better.
        """
        nearest = np.asarray(self.transform(X), dtype=np.float64).min(axis=1)
        weight = check_sample_weight(sample_weight, X)
        return -float(nearest.sum() if weight is None else weight @ nearest)

    def account(self) -> Account:
        """As the contract says, with what labels cost where each cluster has its best medoid."""

        def cost(X: Any, labels: Index, weight: Floats | None) -> float | None:
            if X.shape[0] > _MOST_MEASURED:
                return None
            mass = np.ones(X.shape[0]) if weight is None else weight
            distances = Distances(X, self.metric)
            members = [np.flatnonzero(labels == h) for h in np.unique(labels[labels >= 0])]
            return float(sum(distances.sums(some, mass).min() for some in members))

        return replace(super().account(), cost=cost)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _read_items(given: Any, k: int, n: int, name: str) -> Index:
    items = np.asarray(given)
    if items.shape != (k,) or items.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {k} item numbers; got shape {items.shape}, {items.dtype}.")
    if (items < 0).any() or (items >= n).any() or len(np.unique(items)) < k:
        raise ValueError(f"{name} must be {k} different items from 0 to {n - 1}; got {items.tolist()}.")
    return items.astype(np.int64)
