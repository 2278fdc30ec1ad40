"""K-medians whose clusters keep to bounds on their size."""

from __future__ import annotations

from typing import Any, ClassVar

from coterie.base import About
from coterie.distortion import Manhattan
from coterie.kmeans._size_constrained_kmeans import SizeConstrainedKMeans


class SizeConstrainedKMedians(SizeConstrainedKMeans):
    """K-medians in which the size of every cluster keeps to bounds.

    As `SizeConstrainedKMeans`, with the sum of absolute differences as distance and the median of each
    feature as centre: far items pull less, and tiny clusters are rarer to begin with.

    Parameters
    ----------
    n_clusters, size_min, size_max, group_min, group_max, weight, outlier_cost, max_outliers, on_shortfall
        As in `SizeConstrainedKMeans`; distances are absolute, not squared.
    assignment, init, n_init, max_iter, tol, budget, warm_start, verbose, random_state
        Likewise; k-means++ draws by absolute distance.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The medians. Where several values are medians, the one before stays if it is among them.
    inertia_, objective_ : float
        Sum of the absolute distances; `objective_` with what soft constraints and outliers cost.
    labels_, sizes_, prices_, group_prices_, groups_, weight_, outlier_cost_, history_, violations_, n_iter_,
    converged_
        As in `SizeConstrainedKMeans`.

    See Also
    --------
    SizeConstrainedKMeans : squared distances and means; cosine.

    Notes
    -----
    Time O(n k d) an iteration without matrix products: some times slower than k-means. An empty cluster keeps
    its centre.

    References
    ----------
    Demiriz, Bennett and Bradley, chapter 9 of Constrained Clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SizeConstrainedKMedians
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    >>> model = SizeConstrainedKMedians(n_clusters=2, size_min=2, init=[[1.0], [50.0]]).fit(X)
    >>> model.sizes_, model.cluster_centers_.ravel()
    (array([3, 2]), array([ 1., 50.]))
    """

    about = About(
        what="sizes keep to bounds and every constraint holds, with absolute distances and medians",
        when="sizes matter, and a few values are far off",
        source="chapter 9",
        measure="cityblock",
    )
    parameter_rules: ClassVar[Any] = {
        name: rule for name, rule in SizeConstrainedKMeans.parameter_rules.items() if name != "metric"
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
        budget: int = 1_000_000,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # as the parent, without its metric: scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @property
    def _distortion(self) -> Any:
        return Manhattan
