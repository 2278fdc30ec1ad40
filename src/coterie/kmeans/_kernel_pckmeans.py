"""KernelPCKMeans: kernel k-means and graph cuts in which a broken constraint has a price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats, Index
from coterie._compiled import one_blas_thread
from coterie.assign._core import read_labels
from coterie.base import (
    AUTO_STARTS,
    CHECKS_OF_ROWS,
    SEARCH_RULES,
    About,
    Account,
    ConstrainedClusterMixin,
    Price,
    Rule,
    Step,
    best_of_starts,
    check_sample_weight,
    constrained_fit,
    numbers_by_label,
    objective_words,
    one_of,
    real,
    warn_of_empty_clusters,
    whole,
)
from coterie.constraints import Constraints
from coterie.distance._kernels import (
    FEATURE_KERNELS,
    TABLE_KERNELS,
    ItemKernel,
    KernelMaker,
    given_kernel,
)
from coterie.kmeans._kernel.graph_kernel import GRAPHS, graph_kernel
from coterie.kmeans._kernel.means import Means
from coterie.kmeans._kernel.search import HardConstraints, KernelLabels, KernelSearch, chunklets_of
from coterie.kmeans._kernel.similarities import Units, contracted, links_per_item, statements
from coterie.kmeans._kernel.starts import KernelStarts

# what to do where a table of all pairs would be too large
_NO_TABLE = (
    'kernel="linear" and "cosine" need none; a sparse kernel (CSR, kernel="precomputed") or a graph of '
    'nearest neighbours (graph="normalized_cut") costs what it stores.'
)


def _has_means(model: Any) -> bool:
    if model.graph is None:
        return True
    raise AttributeError(
        f"graph={model.graph!r}: the clusters of a graph have no means, so that a new node has no nearest "
        "one. Fit the whole graph again, or use a kernel."
    )


def _has_distances(model: Any) -> bool:
    if _has_means(model) and model.kernel != "precomputed":
        return True
    raise AttributeError(
        'kernel="precomputed" does not say how similar a new item is to itself, so that it has no distances; '
        "predict needs none."
    )


class KernelPCKMeans(
    ConstrainedClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Kernel k-means, or the cut of a graph, in which a broken constraint has a price.

    Minimises the squared distances to the means of the clusters in the space of a kernel, less 2 `weight` x
    strength / (size of the cluster) for every soft must-link inside a cluster, plus as much for every soft
    cannot-link inside one. So a constraint acts like an edge of a graph, and kernels, ratio and normalised
    cuts are one method. Constraints may be wrong or contradict each other; those marked `hard` hold.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    weight : float or "auto", default "auto"
        What a pair of strength 1 adds to the similarity of its items, in the unit of the kernel, or to the
        edge between them. "auto": in a cluster of average size a pair counts for a quarter of the variance
        v of the data in the space of the kernel (v n_samples / (8 n_clusters)); in a graph it is half the
        mean degree. Both are divided by the mean number of soft must-links of the items that have any, or
        else many of them would break off as a cluster. So no unit matters. 0 is plain kernel k-means.
    kernel : {"rbf", "linear", "cosine", "laplacian", "polynomial", "precomputed"}, default "rbf"
        exp(-gamma |x - y|^2), x.y, x.y of rows scaled to length 1 (a row of zeros stays 0),
        exp(-gamma |x - y|_1), (gamma x.y + coef0)^degree, or X itself: a symmetric matrix, dense or sparse,
        which need not be positive definite. "linear" and "cosine" make no n x n table.
    gamma : float or "median", default "median"
        "median" takes the median distance m of different items, among a thousand of them, as the width:
        1 / (2 m^2) for "rbf", 1 / m for "laplacian"; for "polynomial" one over the median squared length.
    degree, coef0 : int, float
        Of "polynomial".
    graph : {None, "ratio_association", "ratio_cut", "normalized_cut"}, default None
        If not None, X is a symmetric matrix of affinities (dense or sparse, none negative) and `kernel` is
        not looked at: similarities within clusters by their sizes, or edges cut by sizes or by degrees.
    moves : {"single", "batch"}, default "single"
        "single" moves one item at a time (then chains of items that must be apart, and must-link
        components), which is exact for any symmetric kernel. "batch" is the paper's: the diagonal is raised
        until the kernel is positive semidefinite, then all items move at once. That makes an item's own
        cluster look near, and with narrow kernels nothing moves at all.
    init : {"components", "k-means++", "random"} or array of shape (n_samples,)
        Where a start begins. "components": must-link components, the heaviest and then always the farthest
        from those chosen; k-means++ where they are too few, and in further starts. An array holds labels.
    n_init : int or "auto", default "auto"
        Number of starts; the best is kept. "auto" is 1 where labels are given, else 4.
    max_iter : int, default 300
        Most sweeps of a start.
    verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_, history_, n_iter_, converged_, violations_
        As in `PCKMeans`; with single moves `history_` never rises.
    objective_ : float
        What is minimised. For a graph without constraints it is the cut: the sum over clusters of (edges that
        leave it) / (its size, or its degrees); minus the association for "ratio_association".
    inertia_ : float
        `objective_` without the pairs: for a kernel the squared distances to the means.
    weight_ : float
        The weight that was used.
    gamma_ : float
        The gamma that was used, where the kernel has one.

    See Also
    --------
    PCKMeans : centres in the space of the features; much faster on large data.

    Notes
    -----
    A sweep costs O(n k) and O(n) for each move with a table (8 n^2 bytes, refused above 4 GB), O(n k d) with
    "linear" and "cosine", and O(edges + n k) with a graph or a sparse kernel. No cluster is ever empty. A
    must-link in a small cluster is worth more than in a large one, so that very large weights break small
    groups of must-linked items off. A sample weight of 2 is an item twice; in a graph its edges count twice.
    `predict` repeats `labels_` of a fit without constraints if the kernel is positive semidefinite.

    References
    ----------
    Kulis, Basu, Dhillon and Mooney 2005, Semi-supervised graph clustering: a kernel approach.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, KernelPCKMeans
    >>> X = np.array([[0.0], [0.2], [4.0], [4.2], [9.0], [9.2]])
    >>> known = Constraints(must_link=[(0, 2)], n_items=6)
    >>> model = KernelPCKMeans(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> model.labels_[0] == model.labels_[2] != model.labels_[4]
    np.True_
    """

    about = About(
        what="kernel k-means in which a broken constraint has a price",
        when="clusters that are not round, up to 20,000 items; similarities and graphs, from Python",
        source="Kulis, Basu, Dhillon and Mooney 2005",
        measure="kernel",
        max_items=20_000,
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    works_on_pairs = True
    exempt: ClassVar[Any] = dict.fromkeys(
        [
            "check_permuted_items_from_one_start",
            "check_weighted_is_repeated",
            "check_weighted_is_repeated_under_constraints",
        ],
        "items move one by one, in the order that they have",
    )
    parameter_rules: ClassVar[Any] = {
        **SEARCH_RULES,
        "n_clusters": whole(1),
        "weight": real(0.0) | one_of("auto"),
        "kernel": one_of(*TABLE_KERNELS, *FEATURE_KERNELS, "precomputed"),
        "gamma": real(0.0, above=True) | one_of("median"),
        "degree": whole(1),
        "coef0": real(),
        "graph": one_of(None, *GRAPHS),
        "moves": one_of("single", "batch"),
        "init": one_of("components", "k-means++", "random")
        | Rule(
            lambda value: isinstance(value, np.ndarray | list | tuple) and np.ndim(value) == 1,
            "labels of all items",
        ),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: Any = "auto",
        kernel: str = "rbf",
        gamma: Any = "median",
        degree: int = 3,
        coef0: float = 1.0,
        graph: str | None = None,
        moves: str = "single",
        init: Any = "components",
        n_init: Any = "auto",
        max_iter: int = 300,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.moves = moves
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, sample_weight: Any = None) -> Any:
        """Cluster X, with what is known about its rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            The items, or their kernel or affinities.
        y, constraints, sample_weight
            As in `PCKMeans.fit`: hard constraints hold, the others have a price.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        weight = check_sample_weight(sample_weight, X)
        weight = np.ones(X.shape[0]) if weight is None else weight
        rng = check_random_state(self.random_state)
        with one_blas_thread():
            kernel, mass, in_kernel = self._read(X, weight)
            unit = known.only_hard().components
            units = contracted(kernel, unit, mass, in_kernel)
            constant = self._constant(kernel, mass)
            auto = self.weight == "auto"
            self.weight_ = self._auto_weight(units, constant, known, weight) if auto else float(self.weight)
            priced = known if self.weight_ > 0 else known.only_hard()
            hard = HardConstraints(known, unit, self.n_clusters, rng)
            stated = statements(priced, unit, self.weight_)
            only = units.only(*stated) if self._is_definite else None
            search = KernelSearch(units.plus(*stated), hard, chunklets_of(priced, unit), constant, rng, only)
            starts = KernelStarts(units, known, unit, hard, self.graph is not None, rng)
            best = self._best_of(X, search, starts)
            number = numbers_by_label(known, best.labels[unit], self.n_clusters)
            best.labels = number.astype(best.labels.dtype)[best.labels]
            self._keep(best, known, kernel, weight, search, units, unit)
        return self

    # ---- what a fit needs -----------------------------------------------------------------------------

    def _read(self, X: Any, weight: Floats) -> tuple[ItemKernel, Floats, Floats]:
        """Similarities, masses, and what an item counts in similarities."""
        for name in ("_maker", "_rows", "_means", "gamma_"):
            self.__dict__.pop(name, None)
        if self.graph is not None:
            kernel, mass, degree = graph_kernel(X, self.graph, weight)
            self._mean_degree = float(degree.sum() / weight.sum())
            return kernel, mass, np.ones(len(weight))
        if self.kernel == "precomputed":
            return given_kernel(X), weight, weight
        self._maker = KernelMaker(self.kernel, self.gamma, self.degree, self.coef0, X, weight)
        if self.kernel in TABLE_KERNELS:
            self.gamma_ = self._maker.gamma
            self._rows = self._maker.prepared(X)
        return self._maker.items(X, _NO_TABLE), weight, weight

    @property
    def _is_definite(self) -> bool:
        """Whether the kernel is positive semidefinite by its definition."""
        if self.graph is not None or self.kernel == "precomputed":
            return False
        return self.kernel != "polynomial" or self.coef0 >= 0

    def _constant(self, kernel: ItemKernel, mass: Floats) -> float:
        """What the objective is counted from."""
        if self.graph is None:
            return float(mass @ kernel.diagonal)
        return float(self.n_clusters) if self.graph == "normalized_cut" else 0.0

    def _auto_weight(self, units: Units, constant: float, known: Constraints, weight: Floats) -> float:
        """The weight "auto"; 1 where there is no scale, as in data that are all in one place."""
        total = float(weight.sum())
        if self.graph is not None:
            scale = self.__dict__.pop("_mean_degree") / 2.0
        else:
            everything = float(units.dot(np.ones(units.m)).sum())
            scale = (constant - everything / total) / (8.0 * self.n_clusters)
            # what is left of equal items is rounding
            scale = scale if scale > 1e-12 * abs(constant) else 0.0
        return scale / max(1.0, links_per_item(known)) if scale > 0 else 1.0

    def _best_of(self, X: Any, search: KernelSearch, starts: KernelStarts) -> KernelLabels:
        """Run the starts; the one of the least objective."""
        named = isinstance(self.init, str)
        n_starts = (AUTO_STARTS if named else 1) if self.n_init == "auto" else int(self.n_init)
        go = search.descend if self.moves == "single" else search.batch

        def run(number: int, step: Step) -> KernelLabels:
            if not named:
                begin = starts.given(read_labels(self.init, len(starts.unit), self.n_clusters))
            elif self.init == "components" and number:
                # the start by components knows little chance, so further ones begin elsewhere
                begin = starts.labels("k-means++")
            else:
                begin = starts.labels(self.init)
            return go(begin, self.max_iter, step)

        return best_of_starts(self, X, run, n_starts=n_starts, max_steps=self.max_iter)[0]

    def _keep(
        self,
        best: KernelLabels,
        known: Constraints,
        kernel: ItemKernel,
        weight: Floats,
        search: KernelSearch,
        units: Units,
        unit: Index,
    ) -> None:
        labels = best.labels
        if self.graph is None:
            self._means = Means(labels[unit], self.n_clusters, kernel, weight)
            self._means.place(labels, kernel, search.units, search.hard, unit)
            if not best.converged and not known:
                # `predict` is to repeat the labels also where the moves were cut short
                found = self._means.nearest(kernel)
                full = len(np.unique(found)) == len(np.unique(labels))
                if full and search.objective(found) <= best.objective:
                    labels = found
        self.labels_ = labels[unit].astype(np.int32)
        self.objective_ = search.objective(labels)
        self.history_ = np.array([*best.history[:-1], self.objective_])
        search.units = units
        self.inertia_ = search.objective(labels)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self._n_features_out = self.n_clusters
        warn_of_empty_clusters(self.labels_, self.n_clusters)

    # ---- after it -------------------------------------------------------------------------------------

    def _similarities(self, X: Any) -> tuple[Any, Any, Floats]:
        """Rows checked, rows as the kernel takes them, and their similarities with the means."""
        check_is_fitted(self, "labels_")
        X = validate_data(self, X, reset=False, **CHECKS_OF_ROWS)
        maker = getattr(self, "_maker", None)
        rows = X if maker is None else maker.prepared(X)
        return X, rows, self._means.similarities(rows, maker, getattr(self, "_rows", None))

    @available_if(_has_means)
    def predict(self, X: Any) -> Any:
        """Nearest mean of each row in the space of the kernel; constraints speak of the training items only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or similarities to the training items
            New items.

        Returns
        -------
        labels : array of shape (n_samples,)
            The cluster of each.
        """
        similarity = self._similarities(X)[2]
        return self._means.half_squared_distances(similarity).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> Any:
        """Distance of each row to each mean, in the space of the kernel.

        Parameters
        ----------
        X
            As in `predict`.

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
            In the dtype of X.
        """
        X, rows, similarity = self._similarities(X)
        squared = self._maker.own(rows)[:, None] + self._means.half_squared_distances(similarity)
        return np.sqrt(np.maximum(squared, 0.0)).astype(X.dtype)

    @available_if(_has_distances)
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Minus the squared distances of X to its nearest means.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the items may be new ones.

        Returns
        -------
        score : float
            The larger, the better.
        """
        X, rows, similarity = self._similarities(X)
        squared = self._maker.own(rows) + self._means.half_squared_distances(similarity).min(axis=1)
        nearest = np.maximum(squared, 0.0)
        weight = check_sample_weight(sample_weight, X)
        return -float(nearest.sum() if weight is None else weight @ nearest)

    def account(self) -> Account:
        """As the contract says, but squares count, and each pair has a price of its own."""
        found = super().account()
        trace = None if found.trace is None else replace(found.trace, text=objective_words(self, prices=True))
        return replace(found, price=Price(power=2.0), trace=trace)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or self.graph is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# scikit-learn wraps these when the class is made, and would lose who has them
for _name in ("transform", "fit_transform"):
    setattr(KernelPCKMeans, _name, available_if(_has_distances)(getattr(KernelPCKMeans, _name)))
