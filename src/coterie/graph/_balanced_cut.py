"""BalancedCut: clusters of bounded size between which few edges of a graph run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from coterie._compiled import one_blas_thread
from coterie.assign._core import build_core
from coterie.assign._sizes import BoundedSolver, SizeBounds, read_bounds
from coterie.base import (
    AUTO_STARTS,
    CHECKS_OF_ROWS,
    SEARCH_RULES,
    About,
    Account,
    Bounds,
    ConstrainedClusterMixin,
    Price,
    Step,
    Trace,
    anything,
    best_of_starts,
    constrained_fit,
    ending_words,
    one_of,
    real,
    whole,
)
from coterie.exceptions import ParameterError
from coterie.graph._cut.affinities import given_affinities, nearest_neighbours
from coterie.graph._cut.search import CutSearch


class BalancedCut(ConstrainedClusterMixin, BaseEstimator):
    """Clusters of bounded size, cut out of a graph so that the edges between them weigh little.

    METIS cuts the graph into parts of nearly equal size; exact assignments then meet the bounds, and go on as
    long as the cut falls. Asked for equal sizes itself, METIS finds cuts that are many times as large.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    size_min, size_max : None, int, float, str, or one per cluster
        Bounds, as in `SizeConstrainedKMeans`; both None: within `tolerance` of the mean size. No cluster is
        empty unless `size_min=0`.
    affinity : {"nearest_neighbors", "precomputed"}, default "nearest_neighbors"
        "nearest_neighbors": items are joined if one is among the `n_neighbors` nearest of the other, by
        Euclidean distance d, with the weight exp(-d^2 / (s t)), at least 0.001; s and t are the distances of
        both items to the middle one of their neighbours. For directions, as of texts, scale rows to length 1.
        "precomputed": X holds affinities, symmetric and not negative; the diagonal is not looked at.
    n_neighbors : int, default 15
        Neighbours of an item.
    tolerance : float, default 0.03
        How far sizes may be from the mean, as a share, without bounds. METIS is given at least 0.03.
    n_init : int or "auto", default "auto"
        Number of starts, each the best of four partitions of METIS; "auto" is 4.
    max_iter, tol
        A start ends after so many assignments, or when the cut has not fallen by this share for 10 of them.
    verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_, sizes_, violations_
        As in `SizeConstrainedKMeans`; must-links hold.
    objective_, history_ : float, array
        The cut, the weight of all edges between clusters; `history_`: each time that it fell.
    n_iter_, converged_
        Assignments of the best start, and whether the last ones were in vain.
    affinity_matrix_ : CSR matrix of shape (n_samples, n_samples)
        The graph.
    start_ : {"metis", "normalized_cut"}
        What made the starts: METIS if pymetis is installed (``pip install "coterie[solvers]"``), otherwise
        `KernelPCKMeans` with the normalised cut, which is slower and does not aim at the bounds.

    See Also
    --------
    SizeConstrainedKMeans : bounds for round clusters, with all kinds of constraints, and for new items.
    KernelPCKMeans : cuts without bounds, with constraints that have a price.

    Notes
    -----
    Neighbours take O(n^2 d) time above 9 features (20,000 x 64: some seconds), about O(n log n) below; an
    assignment O(n k), and O(k^2) for each item that has to give way; memory O(edges + n k). Loads that differ
    may not fit narrow bounds: an error says so. There is no `predict`: new items would change the sizes.

    References
    ----------
    Banerjee and Ghosh, chapter 8 of Constrained Clustering (balance by graph partitioning). Karypis and Kumar
    1998, A fast and high quality multilevel scheme for partitioning irregular graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import BalancedCut
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]])
    >>> model = BalancedCut(n_clusters=2, size_min=3, size_max=3, n_neighbors=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] != model.labels_[3] == model.labels_[5]), model.sizes_
    (True, array([3, 3]))
    """

    about = About(
        what="cuts a graph of neighbours into clusters of bounded size; must-links hold",
        when="equal or bounded sizes, and clusters that are not round; given affinities, from Python",
        source="Karypis and Kumar 1998; chapter 8",
        twin="KernelPCKMeans",
        bounded=True,
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    constraint_kinds = frozenset({"must-link"})
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"constraints": True, "size_weight": True}
    parameter_rules: ClassVar[Any] = {
        **SEARCH_RULES,
        "n_clusters": whole(1),
        "size_min": anything("None, a number, a share such as '110%', or one per cluster"),
        "size_max": anything("None, a number, a share such as '110%', or one per cluster"),
        "affinity": one_of("nearest_neighbors", "precomputed"),
        "n_neighbors": whole(1),
        "tolerance": real(0.0, 1.0),
        "tol": real(0.0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Any = None,
        size_max: Any = None,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 15,
        tolerance: float = 0.03,
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, size_weight: Any = None) -> Any:
        """Cut the graph of X within the bounds.

        Parameters
        ----------
        X, y, size_weight
            As in `SizeConstrainedKMeans.fit`; or X holds affinities.
        constraints : Constraints, optional
            Must-links, all of which hold.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        rng = check_random_state(self.random_state)
        self._bounds = bounds = self._read_bounds(X.shape[0], size_weight)
        solver = BoundedSolver(bounds, build_core(known, "all") if known else None)
        with one_blas_thread():
            given = self.affinity == "precomputed"
            graph = given_affinities(X) if given else nearest_neighbours(X, self.n_neighbors)
            search = CutSearch(graph, known.components, bounds, solver, rng)

            def run(number: int, step: Step) -> Any:
                return search.descend(search.start(number, self.tolerance), self.max_iter, self.tol, step)

            n_starts = AUTO_STARTS if self.n_init == "auto" else self.n_init
            best = best_of_starts(self, X, run, n_starts=n_starts, max_steps=self.max_iter)[0]
        self.labels_, self.affinity_matrix_, self.start_ = best.labels, graph, search.start_by
        sizes = bounds.held(best.labels)[0]
        self.sizes_ = sizes if len(bounds.load) else sizes.astype(np.int64)
        self.objective_, self.history_ = best.objective, best.history
        self.n_iter_, self.converged_ = best.n_iter, best.converged
        return self

    def _read_bounds(self, n: int, size_weight: Any) -> SizeBounds:
        low, high, k = self.size_min, self.size_max, self.n_clusters
        for name, bound in (("size_min", low), ("size_max", high)):
            if isinstance(bound, Mapping):
                raise ParameterError(f"{name} goes by labels, which BalancedCut does not take.", name)
        if low is None and high is None:
            low, high = 1.0 - self.tolerance, min(1.0 + self.tolerance, float(k))
        bounds = read_bounds(low, high, n, k, size_weight=size_weight)
        load = bounds.load[bounds.load > 0] if len(bounds.load) else np.ones(n)
        if self.size_min is not None or len(load) < k:
            return bounds
        return replace(bounds, low=np.minimum(np.maximum(bounds.low, load.min()), bounds.high))

    def account(self) -> Account:
        """As the contract says, but what is followed is the cut; see `ConstrainedClusterMixin.account`."""
        trace = Trace(
            self.history_,
            "The cut, each time that it fell",
            "What the method makes small, for the first labels within the bounds and each time that it fell: "
            "the weight of the edges between clusters. "
            + ending_words(self, "no assignment within the bounds lowered the cut"),
            step="fall",
            value="cut",
            stride=1.0,
        )
        return replace(
            super().account(), trace=trace, price=Price(tells=False), bounds=Bounds(self._bounds, always=True)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags
