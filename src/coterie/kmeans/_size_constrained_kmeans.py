"""K-means and k-medians whose clusters keep to bounds on their size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._arrays import Floats, Labels
from coterie._words import short_number
from coterie.assign._core import build_core, soft_penalty
from coterie.assign._hard import HardSolver
from coterie.assign._pairs import SoftSolver
from coterie.assign._sizes import (
    BoundedSolver,
    EitherOrSolver,
    read_bounds,
    size_constrained_assignment,
    tell_shortfall,
)
from coterie.base import (
    About,
    Account,
    Bounds,
    anything,
    constrained_fit,
    instance,
    labelled,
    one_of,
    real,
    whole,
)
from coterie.constraints import Constraints, EitherOr, Violations
from coterie.kmeans._engine.loop import PrototypeLoop
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.sized_loop import BoundedLoop, LooseLoop, pinned_items
from coterie.kmeans._engine.sized_starts import book_start, within_range
from coterie.kmeans._engine.starts import CentreStarts, RandomState


class SizeConstrainedKMeans(PrototypeClusterer):
    """K-means in which the size of every cluster keeps to bounds: at least, at most, equal, by group.

    Minimises half the sum of squared distances to the centres (the sum of cosine distances) among all labels
    whose sizes fit. Each assignment is exact: a minimum-cost flow, solved on the graph of the k clusters.
    Bounds may count loads instead of items, hold for groups of items, and go together with must-links and
    cannot-links, either-or triples and a cluster of outliers.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    size_min, size_max : None, int, float, str, one per cluster, or dict
        Bounds. An int is a number of items, or a load; a float is a share of the mean size n / k: 1.1, or
        "110%", is ten percent above it (minima are rounded down, maxima up: 1.0 for both means sizes as equal
        as can be). A dictionary bounds clusters by the name of the label that their items have; k numbers
        bound each cluster by itself, in the order of the labels (without labels, give `init` as an array to
        know which is which).
    group_min, group_max : None, number, dict or array of shape (n_groups, n_clusters)
        Bounds of the items of each group of `groups` in every cluster; a dictionary goes by the group's name.
    weight : float or "auto", default inf
        Price of a broken soft constraint of strength 1, in the unit of `objective_`; constraints marked hard
        hold. Infinite: every constraint holds. "auto" is what a mean item costs with one centre for all, the
        price that `PCKMeans` takes. Bounds always win over soft constraints.
    outlier_cost : float or None
        Items whose distance (squared, for "sqeuclidean") is beyond this may be left out, with label -1, at
        this cost.
    max_outliers : int or None
        Most items (load) that are left out.
    on_shortfall : {"raise", "warn"}
        What to do if loads or constraints leave a bound that was not met within the budget, though nobody
        proved that it cannot be: raise, or keep the best labels, warn, and list it in
        `violations_.shortfalls`.
    assignment : {"local", "exact"}
        With constraints or loads that differ: a search, or an integer program for small data. Otherwise both
        are the exact flow.
    init : {"constraint++", "neighborhoods", "k-means++", "random", "book", "range"} or array
        As in `COPKMeans`; "book" draws rows until plain k-means from there meets the minima (at most 50
        draws, ten runs); "range" draws uniformly between the least and largest value of each feature.
    n_init, max_iter, tol, metric, warm_start, verbose, random_state
        As in `COPKMeans`.
    budget : int, default 1,000,000
        Steps of the search for feasibility of constraints; nodes times cells of integer programs. 0: none, so
        that nothing is proven and `on_shortfall="warn"` always has the best of the search.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each item; -1 for outliers.
    sizes_ : array of shape (n_clusters,)
        Items, or load, of each cluster.
    prices_ : array of shape (n_clusters,)
        What one more item would cost in each cluster, the centres as they are, in the unit of `objective_`:
        positive where the minimum binds, negative where the maximum does, 0 elsewhere. If all sizes are
        pinned only differences mean something, and the mean is 0. With loads that differ: by unit of load,
        and near the true price only.
    group_prices_ : array of shape (n_clusters, n_groups)
        The same for the bounds of the groups, on top of `prices_`; only with groups.
    groups_ : tuple
        Names of the groups, in the order of `group_prices_`; only with groups.
    inertia_ : float
        Weighted sum of the squared (or cosine) distances to the centres, without outliers.
    objective_ : float
        Half of `inertia_` (all of it with "cosine"), plus what broken soft constraints and outliers cost.
    weight_ : float
        The price of a broken constraint that was used.
    outlier_cost_ : float or None
        The cost of an outlier that was used.
    cluster_centers_, history_, violations_, n_iter_, converged_
        As in `COPKMeans`.

    See Also
    --------
    SizeConstrainedKMedians : the same with absolute distances and medians.
    coterie.assign.size_constrained_assignment : labels alone, for your own costs.

    Notes
    -----
    With loads of one and no constraints the bounds always hold, and every assignment is optimal for its
    centres. Indivisible loads and must-link components make that a packing problem: a search, then an
    integer program up to 20,000 cells; if it is proven that nothing fits, `fit` raises
    `InfeasibleConstraintsError`.

    Time O(n k d) an iteration, and O(k^2) for each item that has to give way; memory O(n k) beside X while
    bounds bind. From 64 clusters and ten million cells n k on it is O(n + k^2), where neither constraints,
    loads, groups nor outliers are given: each item lists the clusters that are cheap for it, and the labels
    are still the best ones. `size_min=1` keeps clusters from being empty.
    `predict` is the nearest centre; pass bounds to it to have them hold for the new items.

    References
    ----------
    Demiriz, Bennett and Bradley, Using assignment constraints to avoid empty clusters in k-means clustering:
    chapter 9 of Basu, Davidson and Wagstaff (eds.), Constrained Clustering. The book's price rho of a
    must-link is half of ours: it counts each broken one twice.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SizeConstrainedKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    >>> model = SizeConstrainedKMeans(n_clusters=2, size_min=2, init=[[1.5], [10.0]]).fit(X)
    >>> model.labels_, model.sizes_, round(model.objective_, 6)
    (array([0, 0, 0, 1, 1], dtype=int32), array([3, 2]), 13.25)
    """

    about = About(
        what="sizes keep to bounds, by number, load or group, and every constraint holds",
        when="sizes matter: at least, at most, equal",
        source="Demiriz, Bennett and Bradley; chapter 9",
        twin="COPKMeans",
    )
    _objective_factor = None
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "constraints": True,
        "size_weight": True,
        "groups": True,
        "either_or": True,
    }
    __metadata_request__predict: ClassVar[dict[str, bool]] = {
        "size_min": True,
        "size_max": True,
        "size_weight": True,
    }
    _bound: ClassVar[Any] = anything("None, a number, a share such as '110%', one per cluster, or by label")
    # more than 15: bounds by size and by group, prices and outliers are the chapter's own extensions
    parameter_rules: ClassVar[Any] = {
        **SHARED_RULES,
        "size_min": _bound,
        "size_max": _bound,
        "group_min": anything("None, a number, a dictionary by group, or an array"),
        "group_max": anything("None, a number, a dictionary by group, or an array"),
        "weight": real(0.0) | one_of(float("inf"), "auto"),
        "outlier_cost": real(0.0) | one_of(None, float("inf")),
        "max_outliers": whole(0) | one_of(None),
        "on_shortfall": one_of("raise", "warn"),
        "assignment": one_of("local", "exact"),
        "init": one_of("constraint++", "neighborhoods", "k-means++", "random", "book", "range")
        | instance((np.ndarray, list, tuple), "an array of centres"),
        "budget": whole(0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Any = None,
        size_max: Any = None,
        group_min: Any = None,
        group_max: Any = None,
        weight: Any = float("inf"),
        outlier_cost: Any = None,
        max_outliers: int | None = None,
        on_shortfall: str = "raise",
        assignment: str = "local",
        init: Any = "constraint++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        metric: str = "sqeuclidean",
        budget: int = 1_000_000,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.group_min = group_min
        self.group_max = group_max
        self.weight = weight
        self.outlier_cost = outlier_cost
        self.max_outliers = max_outliers
        self.on_shortfall = on_shortfall
        self.assignment = assignment
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.budget = budget
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @property
    def obeys(self) -> Literal["all", "hard", "none"]:  # type: ignore[override]
        """Every constraint, or the hard ones where the others have a price."""
        return "all" if self.weight == float("inf") else "hard"

    def account(self) -> Account:
        """As for every prototype, with the bounds and their prices; see `ConstrainedClusterMixin.account`."""
        found = super().account()
        bounds = None
        if any(one is not None for one in (self.size_min, self.size_max, self.group_min, self.group_max)):
            bounds = Bounds(self._bounds, self.prices_, getattr(self, "group_prices_", None))
        what = found.what
        if self.obeys != "all":
            price = short_number(found.price.statement)
            what = f"{what}; here, with a weight, a broken constraint has a price of {price}"
        figures = {"loads": self.sizes_, "prices": self.prices_}
        return replace(found, what=what, bounds=bounds, figures=figures)

    # ---- fit ------------------------------------------------------------------------------------------

    @constrained_fit
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: Any = None,
        size_weight: Any = None,
        groups: Any = None,
        either_or: Any = None,
    ) -> Any:
        """Cluster X within the bounds.

        Parameters
        ----------
        X, y
            As in `COPKMeans.fit`.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            Constraints about pairs and labels; `weight` says whether they hold or have a price.
        sample_weight : array of shape (n_samples,), optional
            Importance of the items in the objective; the bounds do not see it.
        size_weight : array of shape (n_samples,), optional
            What each item counts in the bounds (people, load, revenue); 1 by default.
        groups : array of shape (n_samples,), optional
            The group of each item, for `group_min` and `group_max`; -1, None or NaN: none. In a search over
            parameters turn on scikit-learn's metadata routing: without it searches keep `groups` for the
            splitter.
        either_or : EitherOr, optional
            Triples (i, j, g): i is with j or with g, and those two are apart.

        Returns
        -------
        self
        """
        either_or = either_or.in_order_of(X) if isinstance(either_or, EitherOr) else either_or
        loop = partial(self._sized_loop, size_weight=size_weight, groups=groups, either_or=either_or)
        self._run(X, constraints, sample_weight, loop)
        if either_or is not None and len(either_or.violations(self.labels_)):
            raise RuntimeError(
                f"{type(self).__name__} broke either-or triples that it promises to obey; please report it. "
                f"{either_or.violations(self.labels_)[:3].tolist()}"
            )
        return self

    def _sized_loop(
        self,
        known: Constraints,
        distortion: Any,
        rng: RandomState,
        *,
        size_weight: Any,
        groups: Any,
        either_or: Any,
    ) -> PrototypeLoop:
        n, k = distortion.points.n, self.n_clusters
        spare = None
        self.outlier_cost_ = None if self.outlier_cost is None else float(self.outlier_cost)
        if self.outlier_cost_ is None:
            if self.max_outliers is not None:
                raise ValueError(
                    "max_outliers is given, but no outlier_cost: say what leaving an item out costs."
                )
        elif self.outlier_cost_ < float("inf"):
            spare = float("inf") if self.max_outliers is None else float(self.max_outliers)
        items, classes, names = labelled(known if self.obeys == "all" else known.only_hard())
        bounds = read_bounds(
            self.size_min,
            self.size_max,
            n,
            k,
            size_weight=size_weight,
            groups=groups,
            group_min=self.group_min,
            group_max=self.group_max,
            spare=spare,
            names=names,
        )
        pinned = pinned_items(items, classes, bounds, k)
        either_or = _read_either_or(either_or, n)
        self.weight_ = distortion.mean_cost if self.weight == "auto" else float(self.weight)
        soft = self.weight_ != float("inf")
        if self.weight_ == 0:
            known = known.only_hard()
        objective_factor = self._objective_factor_of(distortion)

        def solver(known: Constraints, **more: Any) -> BoundedSolver:
            core = pairs = None
            if known and soft:
                core = build_core(known, "hard").scaled(self.weight_)
                pairs = SoftSolver(known, core, k, rng=rng, budget=self.budget)
            elif known:
                core = build_core(known, "all")
                pairs = HardSolver(known, core, k, budget=self.budget, rng=rng)  # type: ignore[assignment]
            return BoundedSolver(
                bounds,
                core,
                pairs,
                exact=more.pop("exact", self.assignment == "exact"),
                budget=self.budget,
                n_pair_clusters=k,
                **more,
            )

        loose = not bounds.bind and spare is None and not either_or
        if loose and distortion.by_sums and self.assignment == "local":
            return LooseLoop(distortion, self._solver(known, distortion, rng), k, objective_factor, bounds)
        assign: Any
        if not either_or:
            assign = solver(known)
        else:
            apart = Constraints(cannot_link=either_or.must_apart(), hard=True, n_items=n)
            with_apart = known | apart
            self._require_feasible(with_apart, k)
            if self.assignment == "exact":
                assign = solver(with_apart, either_or=either_or.triples)
            else:
                assign = EitherOrSolver(with_apart, either_or.triples, k, solver, self.budget)

        def penalty(labels: Labels) -> float:
            return self.weight_ * soft_penalty(known, np.where(labels == k, -1, labels))

        return BoundedLoop(
            distortion,
            k,
            objective_factor,
            bounds,
            assign,
            penalty=penalty if known and soft else None,
            outlier_cost=None if spare is None else self.outlier_cost_,
            on_shortfall=self.on_shortfall,
            pinned=pinned,
        )

    def _require_feasible(self, known: Constraints, n_clusters: int, nonempty: bool = True) -> None:
        # where bounds are given, they say which clusters may be empty
        given = (self.size_min, self.size_max, self.group_min, self.group_max, self.outlier_cost)
        super()._require_feasible(known, n_clusters, nonempty=all(bound is None for bound in given))

    def _solver(self, known: Constraints, distortion: Any, rng: RandomState) -> Any:
        """Without bounds this is `COPKMeans`, or `PCKMeans` with its price."""
        if not known:
            return None
        if self.weight_ != float("inf"):
            return SoftSolver.at_weight(known, self.weight_, self.n_clusters, rng)
        core = build_core(known, "all")
        return HardSolver(known, core, self.n_clusters, budget=self.budget, rng=rng, nonempty=True)

    def _keep(self, best: Any, X: Any) -> None:
        k, bounds = self.n_clusters, best.bounds
        sizes = bounds.held(best.labels)[0][:k]
        self.sizes_ = sizes if len(bounds.load) else sizes.astype(np.int64)
        best.labels[best.labels == k] = -1  # the cluster of outliers
        super()._keep(best, X)
        self.prices_, self._bounds, self._missed = best.duals, bounds, best.missed
        for name in ("group_prices_", "groups_"):
            self.__dict__.pop(name, None)
        if bounds.groups is not None:
            self.group_prices_, self.groups_ = best.group_duals, bounds.groups.names

    def _recount(self, known: Constraints) -> Violations:
        missed = self.__dict__.pop("_missed", ())
        if missed:
            tell_shortfall(missed, "warn")
        return replace(super()._recount(known), shortfalls=missed)

    # ---- where it starts ------------------------------------------------------------------------------

    def _starts(self, starts: CentreStarts, loop: Any) -> Iterator[Floats]:
        if self.outlier_cost_ is not None:
            starts.cap = self.outlier_cost_
        begin, named = super()._starts(starts, loop), isinstance(self.init, str)
        if named and self.init == "range":
            begin = (within_range(starts) for _ in count())
        elif named and self.init == "book":
            plain = partial(self._plain, starts.distortion)
            begin = (book_start(starts, loop.bounds, plain) for _ in count())
        return map(loop.placed, begin) if named and isinstance(loop, BoundedLoop) else begin

    def _plain(self, distortion: Any, centres: Floats) -> Labels:
        """Labels of k-means without bounds."""
        k, objective_factor = self.n_clusters, self._objective_factor_of(distortion)
        loop = PrototypeLoop(distortion, None, k, objective_factor)
        if not distortion.by_sums:
            bounds = read_bounds(None, None, distortion.points.n, k)
            loop = BoundedLoop(distortion, k, objective_factor, bounds, BoundedSolver(bounds))
        return loop.run(centres, max_iter=self.max_iter, tol=self.tol, step=lambda value: False).labels

    # ---- after it -------------------------------------------------------------------------------------

    def predict(self, X: Any, *, size_min: Any = None, size_max: Any = None, size_weight: Any = None) -> Any:
        """Nearest centre of each row, whatever the sizes; or within the bounds that are given here.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New items.
        size_min, size_max : None, int, float, or one per cluster
            Bounds for these items, none of which is then left out; without them each goes to its nearest
            centre (-1 if it is farther than `outlier_cost_`).
        size_weight : array of shape (n_samples,), optional
            What each new item counts in these bounds.

        Returns
        -------
        labels : array of shape (n_samples,)
            The cluster of each.
        """
        X = self._checked(X)
        distortion = self._distortion(X)
        centres = self.cluster_centers_.astype(np.float64)
        if size_min is None and size_max is None:
            labels = distortion.nearest(centres)
            if self.outlier_cost_ is not None:
                labels[distortion.cost_to_assigned(labels, centres) > self.outlier_cost_] = -1
            return labels
        costs = np.empty((X.shape[0], len(centres)), dtype=X.dtype)
        distortion.fill_costs(centres, costs)
        return size_constrained_assignment(
            costs,
            size_min,
            size_max,
            size_weight=size_weight,
            on_shortfall=self.on_shortfall,  # type: ignore[arg-type]
            budget=self.budget,
        ).labels


def _read_either_or(either_or: Any, n: int) -> EitherOr:
    if either_or is None:
        return EitherOr([], n_items=n)
    if not isinstance(either_or, EitherOr):
        raise ValueError(
            "either_or must be a coterie.constraints.EitherOr, which knows its items when data are split; "
            f"got {type(either_or).__name__}."
        )
    if either_or.n_items != n:
        raise ValueError(f"either_or speaks of {either_or.n_items} items, but X has {n} rows.")
    return either_or
