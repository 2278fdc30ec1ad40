"""SpectralLearning: eigenvectors of similarities into which pairs have been written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.manifold import spectral_embedding
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from coterie._arrays import Floats
from coterie.base import (
    CHECKS_OF_ROWS,
    About,
    Account,
    ConstrainedClusterMixin,
    anything,
    constrained_fit,
    instance,
    negative_entry,
    numbers_by_label,
    one_of,
    progress,
    real,
    symmetric,
    whole,
)
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.distance._kernels import KernelMaker
from coterie.ensemble._boosting import BaseClusterer

_WAYS_OUT = 'affinity="nearest_neighbors" needs no such table.'


class SpectralLearning(ConstrainedClusterMixin, BaseEstimator):
    """Spectral clustering of similarities that are 1 for must-links and 0 for cannot-links.

    The similarities of the pairs that are named are replaced, by 1 or 0; strengths and confidences do not
    count. Rows of the first `n_clusters` eigenvectors, of length 1, are then clustered. Nothing is promised
    to hold, and a pair moves its two items more than those around them.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters, and of eigenvectors.
    estimator : clusterer, optional
        What clusters the rows of the eigenvectors, by default `KMeans` of scikit-learn. Where it has a
        parameter `n_clusters` or `n_components` it gets our number.
    affinity : {"rbf", "nearest_neighbors", "precomputed"}, default "rbf"
        exp(-gamma |x - z|^2); 1 for neighbours of each other and 1/2 where one alone is near; or X holds the
        similarities, none below 0, dense or sparse.
    gamma : float or "median", default "median"
        Of "rbf"; "median" takes the median distance of different items as the width.
    n_neighbors : int, default 10
        Of "nearest_neighbors".
    normalization : {"additive", "symmetric"}, default "additive"
        "additive" is the paper's: degrees are evened out by adding to the diagonal, which relaxes the ratio
        cut; items far from all others tend to become clusters of their own. "symmetric" divides by the roots
        of the degrees (Ng, Jordan and Weiss), and is much safer.
    random_state : int, RandomState or None, default None
        For the start of the eigenvectors and the estimator.

    Attributes
    ----------
    labels_, violations_
        As in `PCKMeans`.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that were clustered.
    objective_ : float
        The cut of the clusters in the similarities with the pairs: edges that leave a cluster by its size,
        or with "symmetric" by its degrees, summed over the clusters.

    See Also
    --------
    KernelPCKMeans : the same cuts, searched for without eigenvectors, with a price for a broken pair.
    BoostCluster : with ``estimator="spectral"`` pairs act on all items.

    Notes
    -----
    Similarities of all pairs take 8 n^2 bytes, and O(n^3) time for their eigenvectors; those of neighbours
    what they store. The eigenvectors are those of `sklearn.manifold.spectral_embedding`.

    References
    ----------
    Kamvar, Klein and Manning 2003, Spectral learning (IJCAI). Ng, Jordan and Weiss 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, SpectralLearning
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> model = SpectralLearning(n_clusters=2, random_state=0)
    >>> labels = model.fit(X, constraints=Constraints(cannot_link=[(2, 3)], n_items=6)).labels_
    >>> labels[0] == labels[1] == labels[2] != labels[3] == labels[4] == labels[5]
    np.True_
    """

    about = About(
        what="spectral clustering in which pairs that are named are alike or not; none must hold",
        when="to compare with; clusters that are not round, similarities and graphs, up to 5,000 items",
        source="Kamvar, Klein and Manning 2003; baseline of Liu, Jin and Jain 2007",
        measure="kernel",
        max_items=5_000,
        guides="the similarities",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "none"
    works_on_pairs = True
    exempt: ClassVar[Any] = {
        "check_hostile_data": "the additive form may cut off items before groups that are not far apart"
    }
    parameter_rules: ClassVar[Any] = {
        "n_clusters": whole(1),
        "estimator": one_of(None) | instance(BaseEstimator, "a clusterer"),
        "affinity": one_of("rbf", "nearest_neighbors", "precomputed"),
        "gamma": real(0.0, above=True) | one_of("median"),
        "n_neighbors": whole(1),
        "normalization": one_of("additive", "symmetric"),
        "random_state": anything("None, a seed or a RandomState"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        estimator: Any = None,
        affinity: str = "rbf",
        gamma: Any = "median",
        n_neighbors: int = 10,
        normalization: str = "additive",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.normalization = normalization
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Cluster X, with what is known about its rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            The items, or their similarities.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known; groups are written out as pairs. Nothing is promised to hold.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        rng = check_random_state(self.random_state)
        with progress(self, X, max_steps=1) as starts, starts() as step:
            A = _with_pairs(self._similarities(X), known)
            self.embedding_ = self._eigenvectors(A, rng).astype(X.dtype, copy=False)
            inner = KMeans(n_init=10) if self.estimator is None else self.estimator
            base = BaseClusterer(inner, self.n_clusters, rng)
            found = base.labels(base.made(), self.embedding_, "the eigenvectors")
            number = numbers_by_label(known, found, int(found.max(initial=-1)) + 1)
            self.labels_ = np.append(number, -1).astype(np.int32)[found]
            self.objective_ = self._cut(A)
            step(self.objective_)
        self.history_ = np.array([self.objective_])
        self.n_iter_, self.converged_ = 1, True
        return self

    def _similarities(self, X: Any) -> Any:
        """Similarities of the items, dense or CSR; the diagonal plays no part."""
        if self.affinity == "precomputed":
            A = symmetric(X, "similarities").astype(np.float64)
            below = negative_entry(A)
            if below is not None:
                raise ValueError(f"similarities must not be negative, but {below}.")
            return A
        if self.affinity == "rbf":
            maker = KernelMaker("rbf", self.gamma, 3, 1.0, X, np.ones(X.shape[0]))
            return maker.items(X, _WAYS_OUT).data.astype(np.float64, copy=False)
        near = kneighbors_graph(X, min(self.n_neighbors, max(X.shape[0] - 1, 1)))
        return sparse.csr_matrix(0.5 * (near + near.T)) if X.shape[0] > 1 else np.zeros((1, 1))

    def _eigenvectors(self, A: Any, rng: Any) -> Floats:
        n, k, divides = A.shape[0], self.n_clusters, self.normalization == "symmetric"
        if k < n - 1:
            words: dict[str, Any] = {"norm_laplacian": divides, "drop_first": False, "random_state": rng}
            return normalize(spectral_embedding(A, n_components=k, **words))
        # as many as there are: Lanczos steps have no room
        L = sparse.csgraph.laplacian(A.toarray() if sparse.issparse(A) else A, normed=divides)
        return normalize(linalg.eigh(L)[1][:, :k])

    def _cut(self, A: Any) -> float:
        """Edges that leave a cluster by its size or degrees, summed over the clusters."""
        inside = self.labels_ >= 0
        shape = (len(self.labels_), int(self.labels_.max(initial=0)) + 1)
        Z = sparse.csr_matrix((inside[inside] * 1.0, (np.flatnonzero(inside), self.labels_[inside])), shape)
        diagonal = np.asarray(A.diagonal())
        degree = Z.T @ (np.asarray(A.sum(axis=1)).ravel() - diagonal)
        within = np.asarray((Z.T @ (A @ Z)).diagonal()) - Z.T @ diagonal
        size = degree if self.normalization == "symmetric" else np.asarray(Z.sum(axis=0)).ravel()
        return float(((degree - within)[size > 0] / size[size > 0]).sum())

    def account(self) -> Account:
        """As the contract says; constraints have no price."""
        return replace(super().account(), trace=None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


def _with_pairs(A: Any, known: Constraints) -> Any:
    """Similarities, 1 for must-links, 0 for cannot-links; of a pair stated as both the stronger counts."""
    pairs = stated_pairs(known, hard=True)
    each, place = np.unique(pairs.ij, axis=0, return_inverse=True)
    signed = np.where(pairs.cannot, -pairs.strength, pairs.strength)
    net = np.bincount(place.ravel(), signed, len(each))
    (i, j), value = each[net != 0].T, 1.0 * (net[net != 0] > 0)
    if not len(i):
        return A
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    if not sparse.issparse(A):
        A = A.copy()
        A[ends] = np.tile(value, 2)
        return A
    named = sparse.csr_matrix((np.ones(len(ends[0])), ends), A.shape)
    told = sparse.csr_matrix((np.tile(value, 2), ends), A.shape)
    return sparse.csr_matrix(A - A.multiply(named) + told)
