"""`ConstrainedLinkage`: agglomerative clustering whose constraints, map and cap hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from coterie._words import count_of, format_number
from coterie.adjacency import pieces, read_graph
from coterie.assign._sizes import SizeBounds, is_bound, read_bounds, share_of, shortfalls
from coterie.base import (
    About,
    Account,
    Bounds,
    ConstrainedClusterMixin,
    Rule,
    TakesDistances,
    anything,
    check_distances,
    constrained_fit,
    metric_rule,
    one_of,
    progress,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints, Violations
from coterie.distortion import SquaredEuclidean
from coterie.exceptions import DeadEndError, DeadEndWarning, InfeasibleConstraintsError, ParameterError
from coterie.hierarchy._linkage.blocked import Blocked
from coterie.hierarchy._linkage.islands import check_links_on_map, island_sizes
from coterie.hierarchy._linkage.matrix import check_room, make_even
from coterie.hierarchy._linkage.merging import LINKAGES, LinkageInput, find_merges, in_range
from coterie.hierarchy._linkage.regions import handed_over
from coterie.hierarchy._linkage.repair import repaired
from coterie.hierarchy._linkage.tree import by_label, cut, linkage_matrix
from coterie.hierarchy._linkage.vetoes import Rules, find_rules
from coterie.hierarchy._linkage_account import account_of_linkage

# "precomputed" is listed first; missing values are refused.
_OTHER_METRICS = {"precomputed", "nan_euclidean"}


class ConstrainedLinkage(TakesDistances, ConstrainedClusterMixin, BaseEstimator):
    """Agglomerative clustering in which every constraint holds, clusters are connected and not too large.

    Must-linked items are joined first, at height 0. Then the two nearest clusters merge whose union is legal:
    no constraint keeps their items apart, they are neighbours on the map if there is one, and together they
    are not too large. So it goes on until no merge is legal; the tree is then cut. Without constraints it is
    the linkage of SciPy.

    Parameters
    ----------
    n_clusters : int or None, default 2
        Number of clusters; None where `distance_threshold` is given.
    linkage : {"ward", "complete", "average", "single"}, default "ward"
        How far two clusters are apart: by the growth of the squared distances to their means, by the
        farthest, mean or nearest two of their items. Single linkage on a map looks at its edges alone.
    metric : str or callable, default "euclidean"
        Any metric of `sklearn.metrics.pairwise_distances`, or "precomputed": X holds the distances between
        the items. Ward takes Euclidean distances only, from features or precomputed.
    distance_threshold : float or None, default None
        Merge as long as the height is below this; must-links are joined all the same.
    connectivity : graph or None, default None
        Which items are neighbours: a SciPy sparse matrix, a NetworkX or igraph graph, a frame or list of
        edges, or a function of X that returns one; see `coterie.adjacency.read_graph`. Items go by row
        number, or by id if the constraints have ids. Every cluster is then connected. The graph is never
        completed: its islands stay apart.
    size_max : int, float, str or None, default None
        Largest number of items of a cluster (largest load, with `size_weight` in `fit`); a float is a share
        of the mean size: 1.1, or "110%", is ten percent above it.
    propagate : bool, default False
        Let must-links bend the space: what is near one of two linked items is near the other (Klein, Kamvar
        and Manning). For complete, average and single linkage without connectivity.
    on_dead_end : {"repair", "warn", "raise"}, default "repair"
        What to do when no merge is legal and more than `n_clusters` clusters are left. "repair": they are
        grouped on (for single linkage: the largest stay), and every item goes to the nearest group that may
        have it, so that everything holds. On a map small clusters are shared out among their neighbours
        instead. What is proven impossible raises; what was not found, warns. "warn": the clusters that are
        left. "raise": an error.
    budget : int, default 1,000,000
        Steps of the search whether the constraints can be met.
    verbose : int, default 0
        1: show a bar; 2: print a line now and then.
    random_state : int, RandomState or None
        Seed of a repair; the tree knows no chance.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each item, numbered in the order of the labels that are known, then by first appearance.
    n_clusters_ : int
        Number of clusters: more than `n_clusters` after a dead end that was not repaired.
    linkage_ : array of shape (n_samples - 1, 4)
        The tree as SciPy writes it: must-links at height 0, then the merges in the order made, then, at
        height infinity, vetoed merges, which join what is left. Any cut at a finite height is legal.
    children_, distances_ : arrays
        Its first two columns and its third. On a map a merge can be lower than one before it.
    n_leaves_, n_roots_, n_islands_ : int
        Items; clusters that are left when no merge is legal; parts of the map (1 without).
    blocked_ : Blocked
        What keeps these apart, pair by pair and through which link; `print` it.
    repaired_ : bool
        Whether `labels_` come from a repair: they are then no cut of the tree.
    sizes_ : array of shape (n_clusters_,)
        Items, or load, of each cluster.
    violations_ : Violations
        Recounted after the fit: nothing is broken.
    history_, objective_, n_iter_, converged_
        Heights of the merges up to the cut, the last of them, and how many there are (joined must-links
        count); True.

    See Also
    --------
    coterie.COPKMeans : constraints that hold, at any size.
    coterie.SizeConstrainedKMeans : least sizes, too.

    Notes
    -----
    Without connectivity: a matrix of P x P for P must-link components (refused above 20,000), time O(P^2).
    Single linkage of dense Euclidean rows needs none: beyond 20,000 components, and below where that is
    faster, it is done on a k-d tree in linear memory; the time is near linear with few features, and nears
    O(n^2) with many. With connectivity Ward and single linkage take memory linear in items and edges, and
    time near linear as long as no cluster has very many neighbours; complete and average need the matrix
    there, too.

    `history_` holds heights, which rise from merge to merge (on a map, nearly always).

    References
    ----------
    Klein, Kamvar and Manning 2002 (propagation). Davidson and Ravi 2005 (dead ends of constrained
    agglomeration). Constrained Clustering, chapters 1, 3 and 8.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.hierarchy import ConstrainedLinkage
    >>> X = np.array([[0.0], [1.0], [1.5], [9.0], [10.0]])
    >>> known = Constraints(must_link=[(0, 4)], cannot_link=[(0, 1)], n_items=5)
    >>> model = ConstrainedLinkage(2, linkage="complete").fit(X, constraints=known)
    >>> model.labels_
    array([0, 1, 1, 1, 0], dtype=int32)
    >>> print(model.blocked_)
    No merge is legal between the 2 clusters that are left.
      clusters 0 and 1: cannot-link 0-1
    """

    about = About(
        what="merges the nearest clusters that no constraint, lack of neighbours or largest size keeps apart",
        when="you want a tree, or clusters connected along neighbours (without these, up to 20,000 items)",
        source="Klein, Kamvar and Manning 2002; Constrained Clustering, chapters 1, 3 and 8",
        with_metric={"cosine": {"linkage": "average"}},
        max_items=20_000,
        light={"linkage": "single"},
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    monotone = False
    works_on_pairs = True
    parameter_rules: ClassVar[Any] = {
        "n_clusters": whole(1) | one_of(None),
        "linkage": one_of(*LINKAGES),
        "metric": metric_rule(without=_OTHER_METRICS),
        "distance_threshold": real(0.0) | one_of(None),
        "connectivity": anything("a graph over the items"),
        "size_max": one_of(None) | Rule(is_bound, "one number, or a share of the mean size such as '110%'"),
        "propagate": one_of(True, False),
        "on_dead_end": one_of("repair", "warn", "raise"),
        "budget": whole(0),
        "verbose": whole(0) | one_of(True, False),
        "random_state": anything("a seed"),
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        linkage: str = "ward",
        metric: Any = "euclidean",
        distance_threshold: float | None = None,
        connectivity: Any = None,
        size_max: Any = None,
        propagate: bool = False,
        on_dead_end: str = "repair",
        budget: int = 1_000_000,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.distance_threshold = distance_threshold
        self.connectivity = connectivity
        self.size_max = size_max
        self.propagate = propagate
        self.on_dead_end = on_dead_end
        self.budget = budget
        self.verbose = verbose
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, size_weight: Any = None) -> Any:
        """Build the tree and cut it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or distances of shape (n_samples, n_samples)
            The items; CSR is taken, but not by Ward with a connectivity.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels, optional
            What is known; all of it holds.
        size_weight : array of shape (n_samples,), optional
            What each item counts against `size_max`; 1 by default.

        Returns
        -------
        self
        """
        self._check_choice()
        k = self.n_clusters
        # where more clusters than asked for are no error, only contradictions are
        strict = k is not None and self.on_dead_end != "warn"
        X, known = self._begin_fit(X, constraints, n_clusters=k if strict else None, **self._checks)
        n = X.shape[0]
        if not strict:
            self._check_number(known, n)
        self._bounds = self._read_cap(n, size_weight, strict)
        cap = float(self._bounds.high[0]) if self._bounds.bind else np.inf
        rules = find_rules(known, self._bounds.load, cap)
        self._check_loads(rules, known)
        self._graph = None
        sizes: tuple[int, ...] = ()
        if self.connectivity is not None:
            self._graph = read_graph(self.connectivity, n, ids=known.ids, X=X)
            check_links_on_map(self._graph, known, rules.unit)
            sizes = island_sizes(self._graph, known, rules, k if strict else None)
        X, unit = in_range(self._prepared(X, rules.n_units), self.metric)  # heights go back by the unit
        data = LinkageInput(X, self.metric, self.linkage, self._graph, self.propagate)
        with progress(self, X, max_steps=_steps(rules.n_units), name="part") as starts, starts() as step:
            left, right, height = find_merges(data, rules, step)
        self._keep_tree(*linkage_matrix(rules.unit, left, right, height * unit))
        self.n_islands_ = max(1, len(sizes))
        roots = by_label(known, cut(self.children_, n, self._n_legal))
        self.blocked_ = Blocked(roots, known, rules, sizes, self._graph)
        self._cut(data, known, rules, roots)
        self.sizes_ = self._bounds.held(self.labels_)[0]
        return self

    # ---- what was asked for ---------------------------------------------------------------------------

    def _check_choice(self) -> None:
        """Refuse parameters that do not go together."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ParameterError(
                "give either n_clusters or distance_threshold, and None for the other; got n_clusters="
                f"{self.n_clusters!r} and distance_threshold={self.distance_threshold!r}.",
                *("n_clusters", "distance_threshold"),
            )
        if self.linkage == "ward" and not (
            isinstance(self.metric, str) and self.metric in ("euclidean", "precomputed")
        ):
            raise ParameterError(
                f"Ward's linkage is made of means and squared Euclidean distances; metric={self.metric!r} "
                'has none. Take metric="euclidean", or linkage="average".',
                "metric",
            )
        if self.propagate and (self.linkage == "ward" or self.connectivity is not None):
            other = 'linkage="ward"' if self.linkage == "ward" else "a connectivity"
            raise ParameterError(
                f"propagate=True bends the distances between all items; {other} does not follow them. Take "
                "complete, average or single linkage without a connectivity.",
                "propagate",
            )

    def _check_number(self, known: Constraints, n: int) -> None:
        """What is an error even where more clusters than asked for are none."""
        k = self.n_clusters
        if k is not None and k > n:
            raise ParameterError(f"n_clusters={k}, but X has n_samples={n} rows.", "n_clusters")
        if known:
            self._require_feasible(known, n, nonempty=False)
        joined = int(known.components.max(initial=-1)) + 1
        if k is not None and k > joined:
            raise InfeasibleConstraintsError(
                f"must-links join the {n} items into {count_of(joined, 'group')}: there are no {k} clusters."
            )

    def _read_cap(self, n: int, size_weight: Any, strict: bool) -> SizeBounds:
        """The largest load, and the loads; where the number of clusters is open, no sum is too small."""
        k, share = self.n_clusters, share_of(self.size_max)
        if share is not None and k is None:
            raise ParameterError(
                f"size_max={self.size_max!r} is a share of the mean size, which needs n_clusters; with "
                "distance_threshold give a number of items.",
                *("size_max", "n_clusters", "distance_threshold"),
            )
        most = self.size_max if share is None else share
        if most is not None and not most > 0:
            raise ParameterError(f"size_max must be above 0; got {self.size_max!r}.", "size_max")
        return read_bounds(None, self.size_max, n, k or 1, size_weight=size_weight, check=strict)

    def _check_loads(self, rules: Rules, known: Constraints) -> None:
        over = np.flatnonzero(rules.load > rules.cap)
        if len(over):
            u = int(over[0])
            item = known.item_name(int(np.argmax(rules.unit == u)))
            many = int(rules.size[u])
            what = f"item {item}" if many == 1 else f"item {item} and the {many - 1:,} that it must join"
            count = "count" if many > 1 else "counts"
            raise InfeasibleConstraintsError(
                f"{what} {count} {format_number(float(rules.load[u]))}, more than size_max={self.size_max}. "
                "Raise size_max, or drop must-links."
            )

    def _prepared(self, X: Any, n_units: int) -> Any:
        """X as the loops take it."""
        if self.linkage == "ward" and self._graph is not None and sparse.issparse(X):
            raise ValueError(
                "Ward with a connectivity keeps the mean of every cluster, which is dense: "
                'take linkage="single", rows that are not sparse (in Python, X.toarray()), or fewer features.'
            )
        if not self._given:
            return X
        if self._graph is None or self.linkage != "single":
            check_room(n_units, self.linkage, connected=self._graph is not None)
        return _checked_distances(X)

    # ---- the outcome ----------------------------------------------------------------------------------

    def _keep_tree(self, rows: Any, n_legal: int) -> None:
        self.linkage_ = rows
        self.children_ = rows[:, :2].astype(np.int64)
        self.distances_ = rows[:, 2].copy()
        self.n_leaves_ = len(rows) + 1
        self.n_roots_ = self.n_leaves_ - n_legal
        self._n_legal = n_legal

    def _cut(self, data: LinkageInput, known: Constraints, rules: Rules, roots: Any) -> None:
        """Labels from the tree, or from what happens at a dead end."""
        k, n, legal = self.n_clusters, self.n_leaves_, self._n_legal
        n_joined = n - rules.n_units
        if k is None:
            merged = self.distances_[n_joined:legal]
            high = np.flatnonzero(merged >= self.distance_threshold)
            n_merges = n_joined + (int(high[0]) if len(high) else len(merged))
        else:
            n_merges = min(n - k, legal)
        self.repaired_ = False
        self.labels_ = cut(self.children_, n, n_merges)
        self.n_clusters_ = n - n_merges
        if k is not None and self.n_roots_ > k:
            self._end(data, known, rules, roots, k)
        self.labels_ = by_label(known, self.labels_)
        self.n_iter_ = n_merges
        self.history_ = self.distances_[:n_merges].copy() if n_merges else np.zeros(1)
        self.objective_ = float(self.history_[-1])
        self.converged_ = True

    def _end(self, data: LinkageInput, known: Constraints, rules: Rules, roots: Any, k: int) -> None:
        """More clusters are left than were asked for."""
        message = f"Merging ended at {self.n_roots_:,} clusters, not {k:,}: no further merge is legal."
        if self.on_dead_end == "raise":
            raise DeadEndError(
                f"{message}\n{self.blocked_}\nThat does not mean that {k:,} clusters are impossible: "
                'on_dead_end="repair" looks for them, "warn" takes what is left.'
            )
        why = ""
        if self.on_dead_end == "repair":
            found: Any
            if self._graph is not None:
                found = handed_over(data, rules, roots, k)
            else:
                rng = check_random_state(self.random_state)
                found = repaired(data, known, roots, k, self._bounds, self.budget, rng)
            if not isinstance(found, str):
                self.labels_, self.n_clusters_, self.repaired_ = found, k, True
                return
            why = f" The repair failed: {found}."
        if len(self.blocked_.islands) > 1:
            why += f" {self.blocked_.islands_told()}"
        first = next(iter(self.blocked_), None)
        example = "" if first is None else f" For example {first.told}."
        warn_user(f"{message}{why}{example} See blocked_.", DeadEndWarning)

    def account(self) -> Account:
        """How clusters were merged, and what ended it; see `ConstrainedClusterMixin.account`."""
        found = account_of_linkage(
            self,
            super().account(),
            None if self.size_max is None else Bounds(self._bounds),
            self._graph,
        )
        if self.linkage != "ward" or self.metric != "euclidean":
            return found

        def cost(X: Any, labels: Any, weight: Any) -> float:
            return SquaredEuclidean(X, weight).clustering_cost(labels, int(labels.max(initial=0)) + 1)

        return replace(found, measure="squared distance", cost=cost)

    def _recount(self, known: Constraints) -> Violations:
        """Count everything again: constraints, the cap, and whether every cluster is connected."""
        if self._graph is not None:
            n_pieces, _ = pieces(self._graph, self.labels_)
            if n_pieces != self.n_clusters_:
                raise RuntimeError(
                    f"{type(self).__name__} broke the connectivity: {self.n_clusters_} clusters lie in "
                    f"{n_pieces} pieces; please report this."
                )
        high = np.full(self.n_clusters_, self._bounds.high[0])  # there may be more than were asked for
        self._bounds = replace(self._bounds, low=np.zeros(self.n_clusters_), high=high)
        return replace(known.violations(self.labels_), shortfalls=shortfalls(self._bounds, self.labels_))


def _steps(n_units: int) -> int:
    """About how often the loops come back."""
    return max(1, n_units**2 // 20_000_000)


def _checked_distances(X: Any) -> Any:
    """Distances that can be a distance: square, symmetric, not negative, 0 to oneself."""
    check_distances(X)
    own = int(np.argmax(np.diag(X)))
    if X[own, own] > 1e-6 * X.max():
        raise ValueError(f"the distance of an item to itself must be 0; X[{own}, {own}] is {X[own, own]:g}.")
    even = make_even(X.astype(np.float64), "precomputed distances", items=True)
    np.fill_diagonal(even, 0.0)
    return even
