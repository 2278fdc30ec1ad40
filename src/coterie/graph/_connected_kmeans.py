"""`ConnectedKMeans`: k-means whose clusters hang together on a graph, within bounds, or as many as can be."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from coterie._arrays import Index, Labels, by_first_occurrence
from coterie._compiled import one_blas_thread
from coterie._words import count_of, format_number
from coterie.adjacency import islands, pieces, read_graph
from coterie.assign._core import build_core
from coterie.assign._sizes import SizeBounds, is_bound, read_bounds, share_of, shortfalls, tell_shortfall
from coterie.base import (
    AUTO_STARTS,
    CHECKS_OF_ROWS,
    SEARCH_RULES,
    About,
    Account,
    Bounds,
    Step,
    Trace,
    anything,
    best_of_starts,
    clearly_less,
    constrained_fit,
    ending_words,
    instance,
    numbers_by_label,
    one_of,
    unit_rows,
    whole,
)
from coterie.constraints import Constraints, Violations
from coterie.distortion import Distortion
from coterie.exceptions import (
    DeadEndError,
    DeadEndWarning,
    InfeasibleConstraintsError,
    ParameterError,
    UnsupportedConstraintError,
)
from coterie.graph._connected.growth import Growth
from coterie.graph._connected.netscan import (
    KMeansCriterion,
    check_islands,
    degree_seeds,
    nearest_seeds,
    netscan,
)
from coterie.graph._connected.regions import Regions
from coterie.graph._connected.sharing import ROUNDING
from coterie.graph._connected.units import between, sums_of_units
from coterie.hierarchy import ConstrainedLinkage
from coterie.hierarchy._linkage import check_links_on_map
from coterie.kmeans import PCKMeans
from coterie.kmeans._engine import PrototypeClusterer

# Without a connectivity bounds are kept on the complete graph, written out, up to so many items.
_MOST_COMPLETE = 1_000


class ConnectedKMeans(PrototypeClusterer):
    """K-means whose clusters are connected on a graph; loads keep to bounds, constraints hold.

    Minimises the sum of squared distances to the means (of one minus the cosine) among clusters that hang
    together along the neighbours that are given: areas of a map, pixels, members of a network. Each cluster
    can be given a least and a largest load. Without a number of clusters there are as many as a least load
    allows (max-p regions).

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None: as many as `size_min` allows.
    connectivity : graph or None, default None
        Which items are neighbours, in any form that `coterie.adjacency.read_graph` takes; None: all are.
    metric : {"sqeuclidean", "cosine"}, default "sqeuclidean"
        What is added up.
    init : {"ward", "k-means", "degree"} or array of shape (n_clusters, n_features), default "ward"
        Where it starts. "ward": Ward's tree along the graph (`ConstrainedLinkage`), of dense rows;
        constraints are taken with this one alone. The others are NetScan: clusters grow from the item nearest
        to each mean of plain k-means, from items drawn by their number of neighbours, or from the items
        nearest to given centres; means are taken, and clusters grow anew from there. Without `n_clusters`
        random trees are the start.
    growth : {"continuous", "rounds"}, default "continuous"
        How NetScan grows: the nearest item of all is next, or (the chapter's way) a radius rises in steps of
        the mean distance of two items, which can flood the graph.
    refine : bool, default True
        Move items on the borders of clusters, and part pairs of neighbouring clusters anew, as long as the
        objective falls. False: the start is the answer, but bounds are met.
    size_min, size_max : None, int, float, str, or one per cluster
        Bounds on the items of a cluster, or on its load, as in `SizeConstrainedKMeans`. With `size_min` only
        must-links are taken. Without `n_clusters` one number each, no share: there is no mean size.
    on_shortfall : {"raise", "warn"}, default "raise"
        What to do if bounds were not met, though nobody proved that they cannot be: raise, or keep the best
        labels, warn, and list it in `violations_.shortfalls`.
    n_init : int or "auto", default "auto"
        Number of starts. "auto": 4 with `n_clusters` and bounds or a drawn start, else 1.
    max_iter : int, default 50
        Iterations of NetScan, and rounds of `refine`.
    random_state : int, RandomState or None
        Seed of starts and re-cuts.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each item; every cluster is connected.
    n_clusters_ : int
        How many there are.
    sizes_ : array of shape (n_clusters_,)
        Items, or load, of each cluster.
    cluster_centers_ : array of shape (n_clusters_, n_features)
        Their means; with "cosine" mean directions.
    inertia_, objective_ : float
        The sum that is minimised.
    history_ : array
        That sum from the first labels that meet the bounds, after each half-step.
    n_islands_ : int
        Parts of the graph that no way joins.
    violations_, n_iter_, converged_
        As in `COPKMeans`.

    See Also
    --------
    ConstrainedLinkage : the tree that it starts from; other linkages and distances.
    ConnectedKCenter : the largest distance to a centre instead of the sum, with a certificate.
    SizeConstrainedKMeans : bounds without a graph.

    Notes
    -----
    NP-hard already for two clusters, and hard to approximate (chapter 12), so this is a search. From "ward"
    time is near linear in items and edges, unless some items have very many neighbours. A round of `refine`
    looks at each item and its neighbours, and at up to ten spanning trees of two clusters for each cluster;
    memory is linear. Bounds are searched for in five tries a start, which look at each item up to 500 times
    (around hubs: at 2,000,000 items in all).
    Against Ward alone the sum of squares is lower, and known groups are found about as well: Ward was a
    little nearer to them in our tests, see `benchmarks/RESULTS.md`.
    Bounds: what sums or islands rule out raises `InfeasibleConstraintsError`. That connected parts of given
    load exist is NP-hard to tell; what was not found raises `UndecidedError`, or see `on_shortfall`.
    `predict` is the nearest centre: new items are on no graph.

    References
    ----------
    Ester, Ge, Gao, Hu and Ben-Moshe: chapter 12 of Basu, Davidson and Wagstaff (eds.), Constrained
    Clustering. Duque, Anselin and Rey 2012, The max-p-regions problem.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConnectedKMeans
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2], [0.1], [0.3]])
    >>> street = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    >>> ConnectedKMeans(3, connectivity=street).fit(X).labels_
    array([0, 0, 1, 1, 2, 2], dtype=int32)
    >>> people = np.array([30, 20, 10, 40, 25, 35])
    >>> model = ConnectedKMeans(None, connectivity=street, size_min=50, random_state=0)
    >>> model.fit(X, size_weight=people).sizes_
    array([50., 50., 60.])
    """

    about = About(
        what="clusters are connected along neighbours, loads keep to bounds, every constraint holds",
        when="regions of a map or groups in a network, tighter than a tree; as many as a least load allows",
        source="Ester, Ge, Gao, Hu and Ben-Moshe; chapter 12",
        twin="COPKMeans",
        number_from="minima",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    exempt: ClassVar[Any] = {
        **dict.fromkeys(
            ["check_permuted_items_from_one_start", "check_renumbered_start", "check_sparse_is_dense"],
            "a given start takes no constraints",
        ),
        "check_threads_do_not_matter": "without a graph Ward's tree needs the distances of all pairs",
    }
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"constraints": True, "size_weight": True}
    _bound: ClassVar[Any] = anything("None, a number, a share such as '110%', or one per cluster")
    parameter_rules: ClassVar[Any] = {
        **{name: SEARCH_RULES[name] for name in ("n_init", "max_iter", "random_state")},
        "n_clusters": whole(1) | one_of(None),
        "connectivity": anything("a graph over the items"),
        "metric": one_of("sqeuclidean", "cosine"),
        "init": one_of("ward", "k-means", "degree")
        | instance((np.ndarray, list, tuple), "an array of centres"),
        "growth": one_of("continuous", "rounds"),
        "refine": one_of(True, False),
        "size_min": _bound,
        "size_max": _bound,
        "on_shortfall": one_of("raise", "warn"),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        connectivity: Any = None,
        metric: str = "sqeuclidean",
        init: Any = "ward",
        growth: str = "continuous",
        refine: bool = True,
        size_min: Any = None,
        size_max: Any = None,
        on_shortfall: str = "raise",
        n_init: Any = "auto",
        max_iter: int = 50,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, constraints: Any = None, size_weight: Any = None
    ) -> Any:
        """Cluster X along the graph.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The items; along a graph "ward" takes dense rows.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known; all of it holds.
        size_weight : array of shape (n_samples,), optional
            What each item counts in the bounds (people, load, revenue); 1 by default.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        self._check_kinds(known)
        rng = check_random_state(self.random_state)
        self._graph = self._read_graph(X, known)
        self._bounds = bounds = self._read_bounds(X.shape[0], size_weight)
        with one_blas_thread():
            with np.errstate(over="ignore", invalid="ignore"):
                distortion = self._measure(X)
                distortion.check_range()
            best = self._search(X, known, distortion, bounds, rng)
        self._keep_labels(best, X, known, distortion)
        return self

    # ---- what was asked for ---------------------------------------------------------------------------

    def _begins_with(self, *names: str) -> bool:
        return isinstance(self.init, str) and self.init in names

    def _check_kinds(self, known: Constraints) -> None:
        """Refuse constraints that the start, or a least load, cannot keep."""
        if known and not self._begins_with("ward"):
            raise UnsupportedConstraintError(
                f"clusters that grow from seeds do not keep constraints ({', '.join(sorted(known.kinds))}): "
                'take init="ward".'
            )
        others = sorted(known.kinds - {"must-link"})
        if self.size_min is not None and others:
            raise UnsupportedConstraintError(
                f"with size_min only must-links are kept, not {', '.join(others)}: leave size_min out, or "
                "these."
            )

    def _read_graph(self, X: Any, known: Constraints) -> Any:
        """Who is whose neighbour; None: all are."""
        n, bounded = X.shape[0], self.size_min is not None or self.size_max is not None
        if self.connectivity is None:
            if bounded and n > _MOST_COMPLETE:
                raise ParameterError(
                    f"without connectivity bounds are kept for up to {_MOST_COMPLETE:,} items, and X has "
                    f"{n:,}: give a graph, or take SizeConstrainedKMeans, which needs none.",
                    "connectivity",
                )
            return read_graph(~np.eye(n, dtype=bool), n) if bounded else None
        graph = read_graph(self.connectivity, n, ids=known.ids, X=X)
        check_links_on_map(graph, known, np.asarray(known.components, dtype=np.int64))
        if self.n_clusters is not None:
            check_islands(graph, self.n_clusters, known.item_name)
        return graph

    def _read_bounds(self, n: int, size_weight: Any) -> SizeBounds:
        """Bounds in numbers; where the number of clusters is open, those of one."""
        if self.n_clusters is None:
            if not isinstance(self.init, str):
                raise ParameterError(
                    "init holds centres, but without n_clusters nobody knows how many there will be: say "
                    "n_clusters, or leave init out.",
                    *("init", "n_clusters"),
                )
            for name in ("size_min", "size_max"):
                bound = getattr(self, name)
                if bound is None or (isinstance(bound, int | np.integer) and not isinstance(bound, bool)):
                    continue
                share, why = share_of(bound), "a share of the mean size, which needs n_clusters"
                if share is None or np.isnan(share):
                    why = "not one number"
                raise ParameterError(
                    f"{name}={bound!r} is {why}; without n_clusters give a whole number of items, or a load.",
                    *(name, "n_clusters"),
                )
            if not self.size_min or self.size_min < 0:
                raise ParameterError(
                    "say how many clusters (n_clusters), or what each holds at least (size_min), above 0: "
                    "there are then as many as that allows.",
                    *("n_clusters", "size_min"),
                )
        asked, k = (self.size_min, self.size_max), self.n_clusters
        return read_bounds(*asked, n, k or 1, size_weight=size_weight, check=k is not None)

    # ---- the search -----------------------------------------------------------------------------------

    def _search(
        self, X: Any, known: Constraints, distortion: Distortion, bounds: SizeBounds, rng: Any
    ) -> Any:
        """The best of the starts, each improved and brought within the bounds."""
        k, unit = self.n_clusters, np.asarray(known.components, dtype=np.int64)
        first = np.unique(unit, return_index=True)[1]
        units, constant, d = sums_of_units(distortion, unit, bounds.load)
        graph = None if self._graph is None else between(self._graph, unit)
        self._check_loads(units.load, graph, bounds, known.item_name, unit)
        sums = constant, d, self.metric == "cosine"
        # within bounds every other start is made of random trees
        by_trees = bounds.bind and not known.kinds - {"must-link"}
        core = build_core(known, "all") if known.kinds - {"must-link"} else None
        search = Regions(graph, units, unit, sums, bounds, k, rng, core)
        from_tree = self._begins_with("ward")
        tree = self._tree(X, known, bounds, rng) if k is not None and from_tree else None

        def run(number: int, step: Step) -> Any:
            random = k is None or (by_trees and number % 2)
            scan = None if random or from_tree else self._scan(X, distortion, rng, step)
            labels = None if random else tree if scan is None else scan.labels
            start = None if labels is None else labels[first]
            found = search.run(start, self.refine, self.max_iter, step)
            found.labels = found.labels[unit]
            if scan is not None:
                found.n_iter += scan.n_iter
                found.converged &= scan.converged
                if not bounds.bind:  # both are the same sum but for rounding, which may not rise
                    found.history = np.minimum.accumulate(np.append(scan.history, found.history[1:]))
            return found

        def better(new: Any, old: Any) -> bool:
            one, other = (new.missed, -new.k), (old.missed, -old.k)
            return one < other or (one == other and clearly_less(new.objective, old.objective))

        n_starts = self.n_init
        if n_starts == "auto":
            drawn = by_trees or self._begins_with("k-means", "degree")
            n_starts = AUTO_STARTS if k is not None and drawn else 1
        steps = (1 if from_tree else 2) * self.max_iter
        return best_of_starts(self, X, run, n_starts=n_starts, max_steps=steps, better=better)[0]

    def _check_loads(self, load: Any, graph: Any, bounds: SizeBounds, name: Any, unit: Index) -> None:
        """Raise where something is too heavy for a cluster, or an island too light."""

        def bound(which: str, number: float) -> str:
            asked = getattr(self, which)
            exact = "" if isinstance(asked, int | np.integer) else f" (here {format_number(number)})"
            return f"{which}={asked}{exact}"

        u, low, high = int(np.argmax(load)), float(bounds.low.min()), float(bounds.high.max())
        if load[u] > high * (1 + ROUNDING):
            items = np.flatnonzero(unit == u)
            joined = f" and the {len(items) - 1:,} that it must join count" if len(items) > 1 else " counts"
            raise InfeasibleConstraintsError(
                f"item {name(items[0])}{joined} {format_number(load[u])}, more than "
                f"{bound('size_max', high)}. Raise size_max{', or drop must-links' * (len(items) > 1)}."
            )
        if graph is None or not (bounds.low > 0).any():
            return
        at = islands(graph)[1]
        held = np.bincount(at, load)
        if held[i := int(np.argmin(held))] < low * (1 - ROUNDING):
            raise InfeasibleConstraintsError(
                f"the island of item {name(int(np.argmax(at[unit] == i)))} holds {format_number(held[i])}, "
                f"less than {bound('size_min', low)}, and no cluster spans two islands. Lower size_min, or "
                "add edges to it."
            )
        if self.n_clusters is None:
            i = int(np.argmax(held - np.floor(held / low * (1 + ROUNDING)) * high))
            most = np.floor(held[i] / low * (1 + ROUNDING))
            if held[i] > most * high * (1 + ROUNDING):
                raise InfeasibleConstraintsError(
                    f"{format_number(held[i])} of connected load make at most "
                    f"{count_of(int(most), 'cluster')} of at least {self.size_min}, which hold no more than "
                    f"{format_number(most * high)}. Raise size_max, or lower size_min."
                )

    def _tree(self, X: Any, known: Constraints, bounds: SizeBounds, rng: Any) -> Labels | None:
        """Labels of Ward's tree; None if it came to a dead end."""
        if sparse.issparse(X) and self._graph is not None:
            raise ParameterError(
                'along a graph init="ward" takes dense rows, and X is sparse: take init="k-means" or '
                '"degree", or X.toarray().',
                "init",
            )
        rows = unit_rows(X) if self.metric == "cosine" else X
        cap = {}
        if self.size_min is None and is_bound(self.size_max):  # other bounds are met later
            cap = {"size_max": self.size_max}
        elif self.size_max is not None and known.kinds - {"must-link"}:
            raise ParameterError(
                "beside constraints of other kinds than must-links size_max is one number for all clusters; "
                f"got {self.size_max!r}.",
                "size_max",
            )
        model = ConstrainedLinkage(self.n_clusters, connectivity=self._graph, random_state=rng, **cap)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeadEndWarning)
            model.fit(rows, constraints=known, **({"size_weight": bounds.load} if len(bounds.load) else {}))
        if model.n_clusters_ == self.n_clusters:
            return model.labels_
        if known.kinds - {"must-link"}:
            raise DeadEndError(
                f"no {self.n_clusters:,} connected clusters that keep every constraint were found, nor "
                "proven that there are none: ask for more clusters, raise size_max, or drop constraints."
            )
        return None

    def _scan(self, X: Any, distortion: Distortion, rng: Any, step: Step) -> Any:
        """NetScan from seeds."""
        k, n = self.n_clusters, X.shape[0]
        assert k is not None
        metric = "cosine" if self.metric == "cosine" else "euclidean"
        growth = Growth(self._graph, X, metric, rounds=self.growth == "rounds")
        if self._begins_with("degree"):
            seeds = degree_seeds(self._graph, n, k, rng)
        else:
            centres: Any = self.init
            if isinstance(centres, str):
                plain = PCKMeans(k, metric=self.metric, n_init=1, random_state=rng.randint(2**31 - 1))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of empty clusters: none of ours will be
                    centres = plain.fit(X).cluster_centers_
            else:
                centres = self._given(centres, distortion, "init")
            seeds = nearest_seeds(growth, centres)
        return netscan(growth, KMeansCriterion(growth.space), seeds, self.max_iter, step)

    # ---- the outcome ----------------------------------------------------------------------------------

    def _keep_labels(self, best: Any, X: Any, known: Constraints, distortion: Distortion) -> None:
        k = self.n_clusters_ = best.k
        labels = best.labels
        # bounds of each cluster say which is which, and given centres do
        if not self._bounds.by_cluster(len(self._bounds.low)):
            if isinstance(self.init, str):
                labels = by_first_occurrence(labels)
                labels = numbers_by_label(known, labels, k)[labels]
            elif self._bounds.bind:
                away = cdist(distortion.centres_of(labels, k), self._given(self.init, distortion, "init"))
                labels = linear_sum_assignment(away)[1][labels]
        self.labels_ = labels.astype(np.int32)
        if self.n_clusters is None:
            self._bounds = replace(
                self._bounds, **{end: np.full(k, getattr(self._bounds, end)[0]) for end in ("low", "high")}
            )
        sizes = self._bounds.held(self.labels_)[0]
        self.sizes_ = sizes if len(self._bounds.load) else sizes.astype(np.int64)
        self.cluster_centers_ = distortion.centres_of(self.labels_, k).astype(X.dtype)
        self.inertia_ = self.objective_ = distortion.clustering_cost(self.labels_, k)
        self.history_, self.n_iter_, self.converged_ = best.history, best.n_iter, best.converged
        self.n_islands_ = 1 if self._graph is None else islands(self._graph)[0]
        self._n_features_out = k

    def _recount(self, known: Constraints) -> Violations:
        """Count everything again: constraints, bounds, and whether every cluster is connected."""
        if self._graph is not None:
            n_pieces = pieces(self._graph, self.labels_)[0]
            if n_pieces != self.n_clusters_:
                raise RuntimeError(
                    f"ConnectedKMeans broke the connectivity: {self.n_clusters_} clusters lie in {n_pieces} "
                    "pieces; please report this."
                )
        missed = shortfalls(self._bounds, self.labels_)
        if missed:
            others = "" if self.n_clusters is None else "ask for another number of clusters, "
            tell_shortfall(missed, self.on_shortfall, f"{others}raise n_init")
        return replace(super()._recount(known), shortfalls=missed)

    def account(self) -> Account:
        """As for every prototype, with the graph and the bounds; see `ConstrainedClusterMixin.account`."""
        bounded = self.size_min is not None or self.size_max is not None
        ending = ending_words(self, "the last round gained less than a thousandth")
        words = f"What the method makes small, after each half-step: distances to the centres. {ending}"
        return replace(
            super().account(),
            trace=Trace(self.history_, text=words),
            graph=None if self.connectivity is None else self._graph,
            bounds=Bounds(self._bounds) if bounded else None,
            figures={"n_islands": self.n_islands_},
        )
