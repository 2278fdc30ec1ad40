"""PairwiseClustering: clusters from dissimilarities of pairs alone, by annealed mean field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from coterie._compiled import one_blas_thread
from coterie.base import (
    AUTO_STARTS,
    SEARCH_RULES,
    About,
    Account,
    Certainty,
    ConstrainedClusterMixin,
    Rule,
    TakesDistances,
    Trace,
    best_of_starts,
    constrained_fit,
    distances_between,
    metric_kwargs,
    metric_rule,
    naming_group,
    negative_entry,
    new_numbers,
    one_of,
    real,
    symmetric,
    warn_of_empty_clusters,
    warn_user,
    whole,
)
from coterie.constraints import Constraints
from coterie.distance._kernels import MAX_TABLE
from coterie.distortion import SquaredEuclidean
from coterie.mixture._pairwise.search import PairwiseSearch


class PairwiseClustering(TakesDistances, ConstrainedClusterMixin, BaseEstimator):
    """Clusters from the dissimilarities of pairs, by annealed mean field; a broken constraint has a price.

    Minimises the sum over clusters of the dissimilarities inside, each pair once, divided by the size of the
    cluster, plus `weight` times the strength of every broken constraint. Of squared distances that is the
    k-means cost; but any symmetric dissimilarities will do, and no centre is needed. The temperature falls
    from where the items are in no cluster yet, and at temperature 0 single moves end the search. Constraints
    may be wrong or contradict each other; those marked `hard` hold.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    metric : str or callable, default "sqeuclidean"
        Any metric of `sklearn.metrics.pairwise_distances`, or "precomputed": X holds the dissimilarities
        then, symmetric and with 0 on the diagonal.
    weight : float or "auto", default "auto"
        What a broken pair of strength 1 costs. "auto" is what an item costs on average if all are in one
        cluster (of squared distances the total variance), so that no unit matters.
    cooling : float, default 0.8
        Each temperature is that share of the one before. Nearer to 1 is slower and more careful.
    n_init : int or "auto", default "auto"
        Number of starts, which differ in the noise that lets clusters part; the best is kept. "auto" is 4.
    max_iter : int, default 300
        Most sweeps at temperature 0. At each temperature above there are at most 20.
    verbose : int, default 0
        1: show a bar; 2: print a line a temperature, and one a sweep at temperature 0.
    random_state : int, RandomState or None
        Seed of the noise and of where visits begin.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each item. Where a hard constraint gives labels, cluster h is its h-th class in sorted
        order.
    responsibilities_ : array of shape (n_samples, n_clusters)
        Probabilities of the clusters at the last temperature above 0, near `labels_`: how sure these are.
    objective_ : float
        What is minimised.
    history_ : array
        The objective when temperature 0 is reached, and after each sweep from there; it never rises.
    n_iter_ : int
        Sweeps of the best start, at all temperatures.
    converged_ : bool
        Whether no single move was left at the end.
    weight_ : float
        The weight that was used.
    temperature_path_ : array
        The temperatures above 0, in units of the objective.
    violations_ : Violations
        The constraints that were outvoted.

    See Also
    --------
    KMedoids : clusters around one of their items; needs no table of all pairs.
    PCKMeans : the same cost for features, by centres; much faster on large data.

    Notes
    -----
    Time O(n^2 k) a sweep, about 20 temperatures with a few sweeps each; memory 8 n^2 bytes for the
    dissimilarities, refused above 4 GB where they are worked out. There is no `predict`: a new item has no
    centre to be near to. Dissimilarities may be negative: a constant added to all of them makes no clustering
    better or worse than another one with as many clusters.

    References
    ----------
    Lange, Law, Jain and Buhmann 2008, section 5.3.6 of "Constrained Clustering", with the field corrected so
    that it is exact for certain labels. Hofmann and Buhmann 1997, Pairwise data clustering by deterministic
    annealing.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.mixture import PairwiseClustering
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> known = Constraints(must_link=[(0, 3)], n_items=6, hard=True)
    >>> labels = PairwiseClustering(n_clusters=2, random_state=0).fit(X, constraints=known).labels_
    >>> bool(labels[0] == labels[3])
    True
    """

    about = About(
        what="small distances inside clusters, found by annealing; a broken constraint has a price",
        when="up to 10,000 items that are known by their distances; given distances, from Python",
        source="Lange, Law, Jain and Buhmann 2005; chapter 5",
        max_items=10_000,
        slow=True,
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    works_on_pairs = True
    parameter_rules: ClassVar[Any] = {
        **SEARCH_RULES,
        "n_clusters": whole(1),
        "metric": metric_rule("sqeuclidean"),
        "weight": real(0.0) | one_of("auto"),
        "cooling": Rule(
            lambda value: real(0.0, 1.0, above=True).holds(value) and value < 1, "a number between 0 and 1"
        ),
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        metric: Any = "sqeuclidean",
        weight: Any = "auto",
        cooling: float = 0.8,
        n_init: Any = "auto",
        max_iter: int = 300,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.weight = weight
        self.cooling = cooling
        self.n_init = n_init
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Cluster X, with what is known about its rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or dissimilarities (n_samples, n_samples)
            The items.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known. Hard constraints hold, the others have a price.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(
            X, constraints, n_clusters=self.n_clusters, **self._checks | {"order": "C"}
        )
        rng = check_random_state(self.random_state)
        n_starts = AUTO_STARTS if self.n_init == "auto" else int(self.n_init)
        with one_blas_thread():
            search = self._prepared(self._dissimilarities(X), known, rng)
            self.temperature_path_ = search.temperatures
            steps = len(search.temperatures) + self.max_iter
            best, _ = best_of_starts(
                self,
                X,
                lambda number, step: search.run(self.max_iter, step),
                n_starts=n_starts,
                max_steps=steps,
            )
            found_labels = best.labels[search.unit]
            hard = known.only_hard()
            named = naming_group(hard)
            labelled = label = np.empty(0, dtype=np.int64)
            if named is not None:
                group = hard.groups[named]
                labelled, label = group.items, group.ranks()[group.codes]
            number = new_numbers(found_labels, labelled, label, self.n_clusters)
            self.labels_ = number[found_labels].astype(np.int32)
            self.responsibilities_ = np.empty((X.shape[0], self.n_clusters))
            self.responsibilities_[:, number] = search.probabilities(best.labels)[search.unit]
        self.objective_ = best.objective
        self.history_ = np.array(best.history)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        warn_of_empty_clusters(self.labels_, self.n_clusters)
        return self

    def _dissimilarities(self, X: Any) -> Any:
        """A symmetric table with 0 on the diagonal."""
        n = X.shape[0]
        if self._given:
            D = symmetric(X, "dissimilarities")
            _check_given(D)
        else:
            if 8.0 * n * n > MAX_TABLE:
                raise ValueError(
                    f"the dissimilarities of {n:,} items take {8e-9 * n * n:.1f} GB, more than "
                    f"{MAX_TABLE / 1e9:.0f} GB. PCKMeans (features) and KMedoids (any metric) need no such "
                    "table."
                )
            if self.metric == "sqeuclidean":
                with np.errstate(over="ignore"):
                    SquaredEuclidean(X, np.ones(n)).check_range()
            if self.metric == "sqeuclidean" and sparse.issparse(X):
                D = euclidean_distances(X, squared=True)
            else:
                D = symmetric(
                    distances_between(X, X, self.metric, metric_kwargs(X, self.metric)), "dissimilarities"
                )
        with np.errstate(over="ignore"):
            finite = np.isfinite(D.sum(dtype=np.float64))
        if not finite:
            raise ValueError("the dissimilarities add up to no finite number: bring them to a smaller scale.")
        if np.diagonal(D).any():
            D = D.copy() if D is X else D
            np.fill_diagonal(D, 0.0)
        return D

    def _prepared(self, D: Any, known: Constraints, rng: np.random.RandomState) -> PairwiseSearch:
        """The search, and the weight it works with."""
        n = len(D)
        mean = 0.5 * float(D.sum(dtype=np.float64)) / n**2
        mean = mean if mean > 0 else float(np.abs(D).max(initial=0.0)) or 1.0
        self.weight_ = mean if self.weight == "auto" else float(self.weight)
        soft = known if self.weight_ > 0 else known.only_hard()
        return PairwiseSearch(D, soft, self.weight_, self.n_clusters, mean, self.cooling, rng)

    def account(self) -> Account:
        """As the contract says, with probabilities; what is followed are the sweeps at temperature 0."""
        message = (
            "What the method makes small, when it reached temperature 0 and after each sweep from there: the "
            "dissimilarities inside the clusters, divided by their sizes, and what broken constraints cost."
        )
        title = "The objective after each sweep at temperature 0"
        remark = "They depend on the last temperature of the search: read them as an order, not as chances."
        return replace(
            super().account(),
            trace=Trace(self.history_, title, message, step="sweep", stride=1.0),
            certainty=Certainty(self.responsibilities_, remark=remark),
        )


def _check_given(D: Any) -> None:
    """Dissimilarities that the user worked out: an item is like itself, and less than 0 may be a slip."""
    own = np.abs(np.diagonal(D))
    i = int(np.argmax(own))
    if own[i] > 1e-6 * float(np.abs(D).max()):
        raise ValueError(f"an item has the dissimilarity 0 with itself; X[{i}, {i}] is {D[i, i]:g}.")
    below = negative_entry(D)
    if below is not None:
        warn_user(
            f"some dissimilarities are negative, such as {below.replace(' is', ' =')}. That is legal, but if "
            "X holds similarities, turn their sign.",
            UserWarning,
        )
