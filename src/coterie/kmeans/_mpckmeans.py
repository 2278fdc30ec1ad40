"""MPCKMeans: k-means that learns its metric, from the data and from pairs that it breaks."""

from __future__ import annotations

from typing import Any, ClassVar

from scipy import sparse

from coterie._arrays import Floats
from coterie.base import About, one_of, real
from coterie.distortion import Mahalanobis, MahalanobisByCluster
from coterie.kmeans._engine.learning import LEARNING_RULES, LearningClusterer

# Features up to which a full metric is learned: beyond, d x d numbers and their eigenvectors take over.
_MOST_FEATURES = 2_000
_SHRINKAGE = 1e-3


class MPCKMeans(LearningClusterer):
    """K-means that learns which features matter, from the data and from pairs that it breaks.

    Minimises the squared distances to the centres under a metric A, less its log-determinant for each item,
    plus what broken pairs cost: a must-link how far its ends are apart, a cannot-link how much nearer they
    are than any two items could be, times `weight` and its strength. A far must-link and a near cannot-link
    cost most, and so teach the metric. Pairs marked `hard` hold. What is outvoted is listed in `violations_`.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    weight : float, default 0.2
        What a broken pair of strength 1 costs, beside an item that is as far from its centre as the pair is
        apart. Cannot-links cost much by that measure: at 1, the paper's, true pairs are worth no more, and a
        tenth of wrong ones ruins the clusters. 0 leaves soft pairs out of labels and metric.
    learn : {"diagonal", "full", "none"}
        The metric: a weight for each feature, a matrix (dense data only), or plain distances.
    per_cluster : bool, default False
        Whether each cluster has a metric of its own, so that clusters may differ in size and shape.
    use_pairs : {"both", "init", "assign", "none"}
        Where soft pairs act: on the start, on labels and metric, on both, or nowhere. "none" is MK-means,
        which learns its metric from the clusters alone.
    shrinkage : float or "auto", default "auto"
        Pseudo-items, spread as the whole data are, that each metric counts beside its own, as a share of the
        weight of all items: they keep the metric of a tiny cluster finite. "auto" is .001 with
        `per_cluster`, else 0.
    init : {"mixed", "neighborhoods", "perturb", "k-means++", "random"} or array
        As in `PCKMeans`; among many neighbourhoods those that cannot-links keep apart are preferred.
        "perturb" is described in `HMRFKMeans`.
    n_init, max_iter, tol, warm_start, verbose, random_state
        As in `COPKMeans`; a warm start takes over the centres, and learns the metric anew.

    Attributes
    ----------
    labels_, cluster_centers_, history_, n_iter_, converged_, violations_
        As in `COPKMeans`; `history_` has a value for labels, centres and metric of each iteration.
    metric_ : array of shape (d,), (d, d), (n_clusters, d) or (n_clusters, d, d)
        The learned metric A: weights of the features, or matrices.
    objective_ : float
        What is minimised; it has no zero, since the log-determinant has none.
    objective_parts_ : dict
        "distortion", "must_link", "cannot_link", "metric" (log-determinants and pseudo-items).
    inertia_ : float
        The distortion alone, under the learned metric.
    regularized_ : int
        Number of directions at the floor: there the clusters are narrower than 3e-5 of the range of the data,
        or the data do not reach at all (a constant feature, features that repeat others).
    weight_ : float
        The weight that was used.

    See Also
    --------
    PCKMeans : plain distances, broken pairs at a fixed price.
    HMRFKMeans : the same for cosine (text) and I-divergence (counts).

    Notes
    -----
    Labels by iterated conditional modes and, beyond the paper, moves of two items and of whole must-link
    components; centres and metrics in closed form: the objective never rises. The most that two items could
    be apart is bounded by the ranges of the data (along the principal axes for a full metric), which makes
    every step exact and spares the search for the farthest pair. No spread is taken to be less than 1e-9 of
    the squared range. The metric starts as a plain one in a unit in which the mean variance is 1, so the unit
    of the features does not matter.

    Time an iteration hardly more than that of `PCKMeans` (full: some 3 times); with `per_cluster` some 6
    times, and 2 d times with full metrics (rows are expanded to squares or products, in float64). Memory O(n)
    beside X, and the rows of the items that pairs name, with `per_cluster` expanded.

    References
    ----------
    Bilenko, Basu and Mooney 2004, Integrating constraints and metric learning in semi-supervised clustering.
    Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter 1.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, MPCKMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 90.0], [5.0, 10.0], [5.1, 80.0], [0.2, 40.0], [5.2, 50.0]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_items=6)
    >>> model = MPCKMeans(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> model.labels_[[0, 1, 4]], model.labels_[[2, 3, 5]]
    (array([0, 0, 0], dtype=int32), array([1, 1, 1], dtype=int32))
    >>> bool(model.metric_[0] > 100 * model.metric_[1])  # the first feature tells the clusters apart
    True
    """

    about = About(
        what="learns which features matter; a broken constraint costs a distance, and teaches",
        when="features differ in worth or in unit, and pairs should carry over to items that none names",
        source="Bilenko, Basu and Mooney 2004; chapter 1",
        measure="learned",
    )
    parameter_rules: ClassVar[Any] = {
        **LEARNING_RULES,
        "learn": one_of("diagonal", "full", "none"),
        "per_cluster": one_of(True, False),
        "shrinkage": real(0.0) | one_of("auto"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 0.2,  # found on generated clusters: round, long, unequal, one-hot, with noise
        learn: str = "diagonal",
        per_cluster: bool = False,
        use_pairs: str = "both",
        shrinkage: Any = "auto",
        init: Any = "mixed",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.learn = learn
        self.per_cluster = per_cluster
        self.use_pairs = use_pairs
        self.shrinkage = shrinkage
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.learn != "full"
        return tags

    @property
    def _distortion(self) -> Any:
        own = self.per_cluster and self.learn != "none"
        return MahalanobisByCluster if own else Mahalanobis

    def _make(self, X: Any, weight: Floats | None) -> Any:
        full = self.learn == "full"
        if full and sparse.issparse(X):
            raise TypeError(
                'learn="full" needs a dense X: a matrix of all features by all features has no zeros to '
                'spare; pass X.toarray(), or learn="diagonal".'
            )
        if full and X.shape[1] > _MOST_FEATURES:
            size = X.shape[1] ** 2 * 8 / 1e9 * (self.n_clusters if self.per_cluster else 1)
            raise ValueError(
                f'learn="full" with {X.shape[1]:,} features needs matrices of {size:.1f} GB, and '
                f'{_MOST_FEATURES:,} features is the most; reduce X (PCA), or learn="diagonal".'
            )
        kind = self._distortion
        auto = _SHRINKAGE if kind.by_cluster else 0.0
        shrinkage = auto if self.shrinkage == "auto" else float(self.shrinkage)
        return kind(X, weight, full=full, shrinkage=0.0 if self.learn == "none" else shrinkage)
