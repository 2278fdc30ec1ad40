"""CVQEKMeans: k-means in which a broken pair costs what it would take to mend it, and pulls the centres."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from coterie.base import About, instance, one_of
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.distortion import SquaredEuclidean
from coterie.kmeans._engine.loop import PrototypeLoop
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import RandomState
from coterie.kmeans._prices.cvqe import CoupledCentresLoop, PricedByCentres


class CVQEKMeans(PrototypeClusterer):
    """K-means in which a broken pair costs what it would take to mend it, and pulls the centres.

    Minimises half the sum of squared distances to the centres plus a price for every broken pair. The price
    is itself made of squared distances, so that there is no weight to choose and the unit of the features
    does not matter: a must-link that is cut costs the distance of each end to the centre of the other, a
    cannot-link inside a cluster costs the distance of its farther end to the next centre. Broken pairs
    also pull: centres move towards the points that should be theirs. Constraints may be wrong or contradict
    each other; what is outvoted is listed in `violations_`, and said in one warning. Pairs marked `hard`
    hold.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    form : {"linear", "original"}, default "linear"
        "linear" is LCVQE (Pelleg and Baras): prices are distances of points to centres. "original" is CVQE
        (Davidson and Ravi): prices are distances between centres.
    init : {"mixed", "neighborhoods", "k-means++", "random"} or array of shape (n_clusters, n_features)
        As in `PCKMeans`.
    n_init, max_iter, tol, warm_start, verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, n_iter_, converged_
        As in `COPKMeans`; `inertia_` counts whole squared distances. A fit also ends, as converged, where ten
        passes in a row found nothing better.
    objective_ : float
        What is minimised, at its least: half of `inertia_` plus what broken pairs cost. With these centres no
        item, nor any that hard must-links join, would be better off in another cluster.
    history_ : array
        The objective after each half-step (labels, centres), and at the end that of the best pass. With
        "linear" it may rise: the farther end of a broken cannot-link can be another one after the centres
        have moved.
    violations_ : Violations
        The constraints that were outvoted.

    See Also
    --------
    PCKMeans : a price of your choice for every broken pair; centres are plain means.

    Notes
    -----
    With `s` the strength of a pair, `D_i(h)` the squared distance of item i to centre h: a must-link between
    i in a and j in b costs `s/4 (D_i(b) + D_j(a))`, and i pulls at centre b, j at centre a, with mass s/2. A
    cannot-link inside h costs `s/2 D_r(n)`, where r is the end farther from centre h (of two as far, the one
    that costs less) and n the centre nearest to it but h; r pulls at centre n with mass s. In the original
    form these are `s/2 |c_a - c_b|^2` and `s/2 |c_h - c_n|^2` with n the centre nearest to c_h. With one
    cluster a cannot-link costs nothing.

    Beyond the papers: the prices of all pairs of an item count together, instead of the last pair alone; any
    cluster may be chosen, not just the nearest two; and the centres of "original" are solved for together,
    where the paper moves each as if the others stood still (which need not lower the objective). A soft group
    counts as the pairs that it stands for, up to 2,000,000 of them.

    A cannot-link of strength 1 that shares no item with other constraints is never broken: sending the
    farther end away costs less than keeping it. So where many pairs are wrong the linear form follows them:
    lower their `weight`, or take "original" or `PCKMeans`, to let the data decide.

    Sample weights count in the distances, not in prices: a weight of 2 is an item twice, of which constraints
    name one. So bring weights to a mean of about one first.

    Time O(n k d) an iteration for the free items, and O(P k d + m k) for P constrained items and m pairs;
    memory O(n + P (k + d)) beside X.

    References
    ----------
    Pelleg and Baras 2007, K-means with large and noisy constraint sets. Davidson and Ravi 2005, Clustering
    with constraints: feasibility issues and the k-means algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, CVQEKMeans
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> known = Constraints(cannot_link=[(2, 3)], n_items=4)
    >>> CVQEKMeans(n_clusters=2, init=[[0.5], [9.5]]).fit(X, constraints=known).labels_
    array([0, 0, 0, 1], dtype=int32)
    """

    about = About(
        what="a broken constraint costs what it would take to mend it, and pulls the centres",
        when="you have many pairs, and no wish to choose a price",
        source="Pelleg and Baras 2007; Davidson and Ravi 2005; chapter 1",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    monotone: ClassVar[bool] = False
    _fixed_price: ClassVar[bool] = False
    _objective_factor = None
    parameter_rules: ClassVar[Any] = {
        **{name: rule for name, rule in SHARED_RULES.items() if name != "metric"},
        "form": one_of("linear", "original"),
        "init": one_of("mixed", "neighborhoods", "k-means++", "random")
        | instance((np.ndarray, list, tuple), "an array of centres"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        form: str = "linear",
        init: Any = "mixed",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.form = form
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @property
    def _distortion(self) -> Any:
        return SquaredEuclidean

    def _solver(self, known: Constraints, distortion: Any, rng: RandomState) -> PricedByCentres | None:
        pairs = stated_pairs(known)
        if not len(pairs.ij) and not known.only_hard():
            return None
        return PricedByCentres(known, pairs, self.n_clusters, rng, distortion, linear=self.form == "linear")

    def _loop(self, known: Constraints, distortion: Any, rng: RandomState) -> PrototypeLoop:
        solver = self._solver(known, distortion, rng)
        return CoupledCentresLoop(distortion, solver, self.n_clusters, self._objective_factor_of(distortion))
