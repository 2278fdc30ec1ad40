"""EMC: constraints bend the edges of a graph of neighbours, and medoids are found by its distances."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from coterie._arrays import Floats
from coterie.adjacency import islands
from coterie.base import (
    About,
    Account,
    ConstrainedClusterMixin,
    TakesDistances,
    anything,
    constrained_fit,
    instance,
    one_of,
    progress,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints
from coterie.exceptions import ParameterError, ViolatedConstraintsWarning
from coterie.graph._field.adjustment import adjust_weights
from coterie.graph._field.disjoint_paths import refuse_many
from coterie.graph._field.hubs import hub_distances
from coterie.graph._field.lengths import RULES, knn_graph, read_lengths
from coterie.kmeans import KMedoids


class EMC(TakesDistances, ConstrainedClusterMixin, BaseEstimator):
    """K-medoids by distances along a graph of neighbours, whose edges constraints have bent.

    Edges between the ends of a must-link become shorter, those between the ends of a cannot-link longer, most
    of all halfway, so that a pair acts on the neighbourhood of its items. Items are near to each other if
    several short paths that share no edge join them; the paths count as resistors side by side do.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    metric : {"euclidean", "cosine", "precomputed", "graph"}, default "euclidean"
        What X holds: rows ("cosine" scales them to length 1); distances, which need not obey the triangle
        inequality; or a graph of lengths in any form that `coterie.adjacency.read_weights` reads, to which no
        bridges are added.
    n_neighbors : int, default 5
        Neighbours of an item, see `knn_graph`.
    n_paths : int, optional
        Paths between two items, by default `n_neighbors`; 1 is the shortest path.
    alpha : float, default 1.6
        By what factor an edge changes at most; 5 is strong, and hurts where there are few constraints.
    constraint_edges : {"must", "none", "both"}, default "must"
        Which pairs become edges before edges are bent. The paper leaves it open; it decides more than all
        else.
    norm : {"max", "none", "minmax"}, default "max"
        How what a pair does is scaled, over the edges that it affects: to at most 1, not at all (at most 1/2
        then), or to the range from 1/2 to 1.
    average : {"affecting", "all"}, default "affecting"
        Whether an edge averages over the pairs that affect it, by their strengths, or over all pairs. Then
        they fade as more are stated, and strengths count with `norm="none"` alone. The paper's text is
        ``constraint_edges="none", norm="none", average="all"``.
    distance : {"ksd", "shortest", "greedy"}, default "ksd"
        K-SD grows the paths of an item at once. "greedy" takes the shortest path, then the shortest without
        its edges, and so on: for some 500 items at most.
    n_partitions : int, optional
        Work the distances out in so many parts (the paper: n / 80), which is faster, but those from part to
        part come out too long. Needs pymetis (``pip install "coterie[solvers]"``).
    hubs_per_pair : int or "all", default "all"
        Hubs that join two parts, see `hub_distances`.
    weight : float or "auto", default "auto"
        What a broken pair costs in `KMedoids`. 0.0 is the paper: constraints act through distances and the
        start alone; pairs marked `hard` hold all the same.
    clusterer : estimator, optional
        What takes the distances in the place of `KMedoids`, such as
        ``AgglomerativeClustering(metric="precomputed", linkage="average")``. It gets `n_clusters`, and the
        constraints if its `fit` takes them.
    random_state : int, RandomState or None, default None
        For the parts.

    Attributes
    ----------
    labels_, objective_, history_, n_iter_, converged_, weight_, violations_
        As in `KMedoids`. Of another `clusterer` the objective is the sum of distances to the medoids.
    medoid_indices_ : array
        The item of each cluster that is nearest to the others.
    graph_, edge_ratio_ : CSR matrices of shape (n_samples, n_samples)
        The edges, as long as constraints made them; what `alpha` is raised to: below 0 one became shorter.
    n_unaffected_ : int
        How many pairs changed no edge: in dense graphs most items are one or two hops apart.
    hub_indices_ : array
        The hubs, where there are parts.

    See Also
    --------
    KMedoids : the same without a graph.
    KernelPCKMeans : clusters that are not round, and better founded.
    MPCKMeans : features that differ in worth; on many tables it gains more from pairs.

    Notes
    -----
    Few methods here are founded as weakly: the paper leaves several steps open, and by its text lengths
    change by one percent, which does almost nothing beside the start. The defaults are those by which its
    claims hold best; most of what is gained comes from must-links as edges. Take it for graphs and distances,
    for clusters that are not round, or to see which edges constraints have bent.

    Groups are written out as pairs, at most 100,000. K-SD takes O(n k |E| log(k |E|)) time (1,000 items two
    seconds, 5,000 a minute or two); memory is 8 n^2 bytes, twice that where pairs name all items, four times
    in parts. Above 20,000 items it refuses. What no path joins counts as twice the largest distance apart.

    References
    ----------
    Hakkoymaz, Chatzimilioudis, Gunopulos and Mannila 2009, Applying electromagnetic field theory concepts to
    clustering with constraints (ECML PKDD).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import EMC, Constraints
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> known = Constraints(must_link=[(0, 2), (3, 5)], cannot_link=[(2, 3)], n_items=6)
    >>> model = EMC(n_clusters=2, n_neighbors=2).fit(X, constraints=known)
    >>> model.labels_.tolist(), float(model.graph_[0, 2]), float(model.graph_[2, 3])
    ([0, 0, 0, 1, 1, 1], 1.25, 8.0)
    """

    about = About(
        what="medoids along a graph of neighbours whose edges pairs have bent; a broken pair has a price",
        when="clusters that are not round, up to 5,000 items; graphs and distances, from Python",
        source="Hakkoymaz, Chatzimilioudis, Gunopulos and Mannila 2009",
        measure="graph",
        max_items=5_000,
    )
    works_on_pairs = True
    parameter_rules: ClassVar[Any] = {
        **RULES,
        "n_clusters": whole(1),
        "metric": one_of("euclidean", "cosine", "precomputed", "graph"),
        "n_paths": RULES["n_paths"] | one_of(None),
        "n_partitions": RULES["n_partitions"] | one_of(None),
        "weight": real(0.0) | one_of("auto"),
        "clusterer": one_of(None) | instance(BaseEstimator, "a clusterer of given distances"),
        "random_state": anything("None, a seed or a RandomState"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        n_neighbors: int = 5,
        n_paths: int | None = None,
        alpha: float = 1.6,
        constraint_edges: str = "must",
        norm: str = "max",
        average: str = "affecting",
        distance: str = "ksd",
        n_partitions: int | None = None,
        hubs_per_pair: Any = "all",
        weight: Any = "auto",
        clusterer: Any = None,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @property
    def obeys(self) -> Any:  # type: ignore[override]
        """What holds is up to the clusterer."""
        return "hard" if self.clusterer is None else getattr(self.clusterer, "obeys", "none")

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Cluster X, with what is known about its items.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), distances, or a graph
            The items, by `metric`. Edges may name them by the ids of the constraints.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known. Hard constraints hold, the others have a price.

        Returns
        -------
        self
        """
        is_graph = self.metric == "graph"
        if is_graph:
            told = np.shape(constraints)  # (n_items,), but of nothing, or of what is refused below
            X = read_lengths(X, told[0] if len(told) == 1 else None, getattr(constraints, "ids", None))
        checks = {"accept_sparse": "csr", "dtype": np.float64} if is_graph else self._checks
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **checks)
        refuse_many(X.shape[0])
        rng = check_random_state(self.random_state)
        model = self._chosen(rng)
        graph = X if is_graph else knn_graph(X, self.n_neighbors, metric=self.metric)
        told = {name: getattr(self, name) for name in ("alpha", "constraint_edges", "norm", "average")}
        self.graph_, self.edge_ratio_, self.n_unaffected_ = adjust_weights(
            graph, known, X=None if is_graph else X, metric=self.metric, **told
        )
        self._cluster(model, self._distances(rng), known)
        return self

    def _chosen(self, rng: Any) -> Any:
        """What takes the distances, before any work is done for it."""
        if self.clusterer is None:
            words: dict[str, Any] = {"weight": self.weight, "random_state": rng}
            return KMedoids(self.n_clusters, metric="precomputed", init="neighborhoods", **words)
        model = clone(self.clusterer)
        own = model.get_params()
        if own.get("metric") != "precomputed":  # without a metric it would take distances for rows
            raise ParameterError('clusterer must take distances: metric="precomputed".', "clusterer")
        return model if own.get("n_clusters") is None else model.set_params(n_clusters=self.n_clusters)

    def _distances(self, rng: Any) -> Floats:
        """Distances along the graph, all of them finite."""
        words: dict[str, Any] = {"distance": self.distance, "hubs_per_pair": self.hubs_per_pair}
        D, self.hub_indices_, _ = hub_distances(
            self.graph_,
            self.n_paths or self.n_neighbors,
            n_partitions=self.n_partitions or 1,
            random_state=rng,
            **words,
        )
        finite = np.isfinite(D)
        if not finite.all():
            n_islands = islands(self.graph_)[0]
            if n_islands > self.n_clusters:
                warn_user(
                    f"the graph falls into {n_islands} parts, more than n_clusters={self.n_clusters}: items "
                    "of different parts are taken to be twice the largest distance apart.",
                    UserWarning,
                )
            D[~finite] = 2.0 * D.max(initial=0.0, where=finite) or 1.0
        return D

    def _cluster(self, model: Any, D: Floats, known: Constraints) -> None:
        """Let the clusterer work, and keep what it found."""
        kwargs = {"constraints": known} if has_fit_parameter(model, "constraints") else {}
        with progress(self, D, max_steps=1) as starts, starts() as step, warnings.catch_warnings():
            warnings.simplefilter("ignore", ViolatedConstraintsWarning)  # what is outvoted is said once
            model.fit(D, **kwargs)
            step(getattr(model, "objective_", None))
        self.labels_ = np.asarray(model.labels_).astype(np.int32)
        self.weight_ = float(getattr(model, "weight_", 0.0))
        self.n_iter_, self.converged_ = int(getattr(model, "n_iter_", 1)), getattr(model, "converged_", True)
        if self.clusterer is None:
            self.medoid_indices_, self.objective_ = model.medoid_indices_, model.objective_
            self.history_ = model.history_
            return
        members = [np.flatnonzero(self.labels_ == h) for h in np.unique(self.labels_[self.labels_ >= 0])]
        far = [D[np.ix_(some, some)].sum(axis=0) for some in members]
        best = [some[sums.argmin()] for some, sums in zip(members, far, strict=True)]
        self.medoid_indices_ = np.array(best, dtype=np.int64)
        self.objective_ = float(sum(sums.min() for sums in far))
        self.history_ = np.array([self.objective_])

    def account(self) -> Account:
        """As the contract says; distances to clusters are along the graph, and not those of rows."""
        return replace(super().account(), wants="graph" if self.metric == "graph" else "rows")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.metric == "graph":
            tags.input_tags.sparse = tags.input_tags.pairwise = True
        return tags
