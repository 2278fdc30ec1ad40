"""PCKMeans: k-means in which a broken constraint has a price."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from coterie.assign._pairs import SoftSolver
from coterie.base import About, instance, one_of, real
from coterie.constraints import Constraints
from coterie.distortion import Distortion
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import RandomState


class PCKMeans(PrototypeClusterer):
    """K-means in which a broken constraint has a price.

    Minimises half the sum of squared distances to the centres plus, for every broken must-link, cannot-link
    or pair of a group, `weight` times its strength. Constraints may be wrong or contradict each other: what
    costs too much is outvoted, listed in `violations_`, and said in one warning. Pairs marked `hard` hold.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    weight : float or "auto", default "auto"
        What a broken pair of strength 1 costs, in units of half a squared distance. "auto" is half the total
        variance of the data (the trace of its covariance), so that the unit of the features does not matter.
        0 is plain k-means.
    init : {"mixed", "neighborhoods", "k-means++", "random"} or array of shape (n_clusters, n_features)
        Where a start begins. "neighborhoods" takes the means of must-link components, then k-means++;
        "mixed" does so in the first start, and in every second one where chance has a part in it; the others
        are plain k-means++.
    n_init, max_iter, tol, metric, warm_start, verbose, random_state
        As in `COPKMeans`. With "cosine" the objective counts one minus the cosine, whole.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, history_, n_iter_, converged_
        As in `COPKMeans`; `inertia_` counts whole squared distances.
    objective_ : float
        What is minimised: half of `inertia_` (all of it with "cosine") plus what broken constraints cost.
    weight_ : float
        The weight that was used.
    violations_ : Violations
        The constraints that were outvoted.

    See Also
    --------
    COPKMeans : constraints that must hold.

    Notes
    -----
    Labels are found by iterated conditional modes over the constrained items and, beyond the paper, by moves
    of two items and of whole must-link components (`coterie.assign.soft_pairs`); the objective never rises.
    Time O(n k d) an iteration for the free items, and O(P k + m) a sweep for P constrained items and m pairs;
    memory O(n + P (k + d)) beside X. A sample weight of 2 is an item twice; so weights that sum to one make
    every pair dear beside them: bring them to a mean of about one first.

    References
    ----------
    Basu, Banerjee and Mooney 2004, Active semi-supervision for pairwise constrained clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, PCKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> known = Constraints(cannot_link=[(0, 1)], must_link=[(1, 2)], n_items=4)
    >>> PCKMeans(n_clusters=2, weight=100.0, random_state=0).fit(X, constraints=known).violations_.n_broken
    0
    """

    about = About(
        what="k-means in which a broken constraint has a price; those marked hard hold",
        when="some constraints may be wrong, or contradict each other",
        source="Basu, Banerjee and Mooney 2004; chapter 1",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    _objective_factor = None
    parameter_rules: ClassVar[Any] = {
        **SHARED_RULES,
        "weight": real(0.0) | one_of("auto"),
        "init": one_of("mixed", "neighborhoods", "k-means++", "random")
        | instance((np.ndarray, list, tuple), "an array of centres"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: Any = "auto",
        init: Any = "mixed",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        metric: str = "sqeuclidean",
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _solver(self, known: Constraints, distortion: Distortion, rng: RandomState) -> SoftSolver | None:
        self.weight_ = distortion.mean_cost if self.weight == "auto" else float(self.weight)
        if self.weight_ == 0:
            known = known.only_hard()
        if not known:
            return None
        return SoftSolver.at_weight(known, self.weight_, self.n_clusters, rng)
