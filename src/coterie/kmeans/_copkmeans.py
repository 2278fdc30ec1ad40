"""COP-KMEANS: k-means in which every constraint holds."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from coterie.assign._core import build_core
from coterie.assign._hard import HardSolver
from coterie.base import About, instance, one_of, whole
from coterie.constraints import Constraints
from coterie.distortion import Distortion
from coterie.kmeans._engine.loop import LoopOutcome
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import RandomState


class COPKMeans(PrototypeClusterer):
    """K-means in which every must-link, cannot-link, label and group holds.

    Minimises the sum of squared distances to the centres under all the constraints. Unlike the textbook
    algorithm it does not fail on constraints that can be met: a greedy pass in a good order is followed by
    the search of `coterie.assign.hard_pairs`, and a colouring takes over where greedy runs into a dead end.
    If the constraints cannot be met, `fit` raises `InfeasibleConstraintsError` with the reason.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    init : {"constraint++", "neighborhoods", "k-means++", "random"} or array of shape (n_clusters, n_features)
        Where a start begins. "constraint++" is k-means++ in which an item stands for its must-link component;
        "neighborhoods" takes the means of must-link components, then k-means++; an array is taken as it is,
        and its row numbers become the cluster numbers.
    n_init : int or "auto", default "auto"
        Number of starts; the best is kept. "auto" is 1 where the start is given, else 4.
    max_iter : int, default 300
        Most iterations of a start.
    tol : float, default 1e-4
        Stop when the centres' squared shift is below this share of the mean variance of the features.
    metric : {"sqeuclidean", "cosine"}
        Squared distance, or one minus the cosine (centres of unit length).
    assignment : {"local", "greedy", "exact"}
        How labels are found in each iteration: "local" improves legal labels and never raises the objective;
        "greedy" labels anew each time, may fail and may go up (the best is kept); "exact" solves an integer
        program, for small sets.
    order : {"degeneracy", "random", "input"}
        In which order "greedy" takes the constrained units; the others do not ask.
    strategy : {"auto", "wagstaff"}
        "wagstaff" is the table of the book to the letter: item by item in random order, the first visited
        of a must-link component decides for all of it, a dead end fails the start.
    budget : int, default 1,000,000
        Steps of the exact search for feasibility; nodes of the "exact" assignment.
    warm_start : bool, default False
        Start from the centres of the last fit; cluster numbers are kept. Labels are found anew.
    verbose : int, default 0
        1: show a bar with the objective; 2: print a line an iteration.
    random_state : int, RandomState or None
        Seed of the starts and of the order of visits.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each item.
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    inertia_, objective_ : float
        Weighted sum of the squared distances (or cosine distances) to the centres.
    history_ : array
        The objective after every half-step of the best start.
    violations_ : Violations
        The recount: nothing is broken.
    n_iter_ : int
        Iterations of the best start.
    converged_ : bool
        Whether it stopped by itself.
    n_failed_starts_ : int
        Starts that ended in a dead end ("greedy" and "wagstaff" only).

    See Also
    --------
    PCKMeans : constraints that may be wrong, at a price.

    Notes
    -----
    Time O(n k d) an iteration for the free items, and O(P k + m) for P constrained units and m pairs; memory
    O(n + P (k + d)) beside X. Cluster numbers have no meaning of their own, unless `init` gives them one. A
    weight of 2 is an item twice, but where an empty cluster is refilled: there one item moves.

    References
    ----------
    Wagstaff, Cardie, Rogers and Schroedl 2001; Basu, Davidson and Wagstaff (eds.), Constrained Clustering,
    chapter 1, table 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, COPKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0]])
    >>> known = Constraints(must_link=[(2, 3)], cannot_link=[(0, 1)], n_items=5)
    >>> model = COPKMeans(n_clusters=3, random_state=0).fit(X, constraints=known)
    >>> labels = model.labels_
    >>> bool(labels[2] == labels[3]), bool(labels[0] != labels[1])
    (True, True)
    """

    about = About(
        what="k-means in which every constraint holds",
        when="you trust what you state; with no constraint it is plain k-means",
        source="Wagstaff et al. 2001; Constrained Clustering, chapter 1",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    parameter_rules: ClassVar[Any] = {
        **SHARED_RULES,
        "init": one_of("constraint++", "neighborhoods", "k-means++", "random")
        | instance((np.ndarray, list, tuple), "an array of centres"),
        "assignment": one_of("local", "greedy", "exact"),
        "order": one_of("degeneracy", "random", "input"),
        "strategy": one_of("auto", "wagstaff"),
        "budget": whole(0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "constraint++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        metric: str = "sqeuclidean",
        assignment: str = "local",
        order: str = "degeneracy",
        strategy: str = "auto",
        budget: int = 1_000_000,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.assignment = assignment
        self.order = order
        self.strategy = strategy
        self.budget = budget
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _keep(self, best: LoopOutcome, X: Any) -> None:
        super()._keep(best, X)
        self.n_failed_starts_ = best.n_failed

    def _solver(self, known: Constraints, distortion: Distortion, rng: RandomState) -> HardSolver | None:
        if not known:
            return None
        return HardSolver(
            known,
            build_core(known, "all"),
            self.n_clusters,
            budget=self.budget,
            rng=rng,
            nonempty=True,
            method=self.assignment,  # type: ignore[arg-type]
            order=self.order,  # type: ignore[arg-type]
            literal=self.strategy == "wagstaff",
        )
