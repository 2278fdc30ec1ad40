"""ConstrainedGaussianMixture: a mixture in which every constraint holds."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from coterie.base import About, Rule, one_of, whole
from coterie.constraints import Constraints
from coterie.mixture._engine.em import Model, Sample, WeightStep
from coterie.mixture._engine.mixture import SHARED_RULES, START_RULES, MixtureClusterer, RandomState
from coterie.mixture._engine.weights import PLAIN_WEIGHTS, ExactWeights, JointWeights, Prior
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.network import Network, read_network


class ConstrainedGaussianMixture(MixtureClusterer):
    """A Gaussian mixture in which every constraint holds.

    EM, in which labels that break a constraint have probability zero. Must-linked items share their component
    (a chunklet); cannot-links make the labels of chunklets depend on each other, and are inferred together:
    exactly where the graph of cannot-links is narrow (always for two components), on a spanning tree
    elsewhere. What was left out then is in `dropped_constraints_`; the labels obey it all the same.

    Parameters
    ----------
    n_components : int, default 2
        Number of components.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default "auto"
        As in scikit-learn's `GaussianMixture`. "auto" is that of `precisions_init` or a warm start; else
        "full" if a component has 1.5 items for each feature, or "diag".
    sampling : {"chunklet", "point"}, default "chunklet"
        How constraints came about. "chunklet": a component was drawn for each chunklet, and its items from
        that. "point": items were drawn one by one, and pairs stated afterwards. It matters for the mixing
        weights.
    weights_update : {"joint", "exact", "pseudo-likelihood", "uniform", "fixed"}, default "joint"
        How mixing weights are found. "joint" maximises the likelihood of data and constraints. "exact" that
        of the data given the constraints. "pseudo-likelihood" does so as if no two cannot-links shared a
        chunklet, for as many of them, in the order of the rows, as truly do not. "uniform" and "fixed" leave
        them equal, or as `weights_init` has them.
    max_table_cells : int, default 200,000
        Cells that the tables of exact inference may have, all together; what needs more gets a spanning tree.
    tol : float, default 1e-4
        EM ends when the log-likelihood per item changes by less.
    reg_covar : float, default 1e-6
        Added to the diagonals of covariances, as a share of each feature's variance.
    covariance_prior : float or "auto", default "auto"
        So many pseudo-items with the variances of all data pull at every covariance, so that none shrinks to
        nothing. "auto" is 0.01 where `covariance_type="auto"` chooses "full", 0.1 where "diag", else 0.
    max_iter : int, default 100
        Iterations of EM.
    n_init : int or "auto", default "auto"
        Number of starts; the best is kept. "auto": one at the best of ten k-means; with constraints, and no
        more parameters than items, three wide ones ("k-means++") beside it, kept only if their components
        break clearly fewer pairs by themselves. Of another `init_params` 4.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default "kmeans"
        Where a start begins: at clusters of `COPKMeans`, which obey; at means that k-means++ or chance draws
        from the rows, with the spread of all data: from there constraints can still turn everything, and the
        likelihood may lead far away from the classes; or at random shares.
    weights_init, means_init, precisions_init : arrays, optional
        Where to begin instead.
    warm_start : bool, default False
        Go on from the model of the last fit.
    verbose : int, default 0
        1: show a bar with the objective; 2: print a line an iteration.
    random_state : int, RandomState or None, default None
        Seed of the starts.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The most probable component of each item; where that breaks a constraint, near it and legal.
    responsibilities_ : array of shape (n_samples, n_components)
        Probability of each component, under the constraints.
    weights_, means_, covariances_, precisions_, precisions_cholesky_
        The model, as in scikit-learn.
    covariance_type_ : str
        The type of the covariances.
    agreement_ : array
        Probability that the items of a stated pair share a component: rows of `constraints_.must_table`,
        then of `constraints_.cannot_table`. Pairs that inference left out count as independent.
    inference_ : InferenceAccount
        How labels were inferred, and why.
    dropped_constraints_ : Constraints
        Cannot-links that inference left out.
    objective_, history_, objective_kind_
        Minus the log-likelihood, before every M-step and at the end, and which one ("joint",
        "conditional", "pseudo-likelihood").
        Without `reg_covar` it never rises; with it, it may do so by a hair.
    lower_bound_ : float
        The log-likelihood per item.
    collapsed_ : array
        Components whose covariance only `reg_covar` holds up.
    n_iter_, converged_, violations_, constraints_
        As everywhere.

    See Also
    --------
    PenalizedGaussianMixture : constraints that may be wrong.
    COPKMeans : faster, no probabilities.

    Notes
    -----
    Thirteen parameters are those of scikit-learn's `GaussianMixture`; the others are what the chapter varies.
    Time O(n k d^2) an iteration for densities and covariances, O(k) for each coupling in a tree, and the
    cells of the tables; memory O(n k) beside X. A label names a component: the h-th class in sorted order is
    component h. Groups are written out as pairs of chunklets, at most two million.

    References
    ----------
    Shental, Bar-Hillel, Hertz and Weinshall, Constrained Clustering, chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConstrainedGaussianMixture, Constraints
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2)) * [3.0, 0.3]
    >>> X[50:, 1] += 2.0
    >>> known = Constraints(must_link=[(0, 1), (0, 2)], cannot_link=[(0, 60)], n_items=100)
    >>> model = ConstrainedGaussianMixture(2, random_state=0).fit(X, constraints=known)
    >>> bool((model.labels_[:50] == model.labels_[0]).all()), int(model.labels_[0] == model.labels_[60])
    (True, 0)
    >>> print(model.inference_)
    exact: constraints leave no couplings between units (cannot-links between two components are opposites).
    """

    about = About(
        what="a Gaussian mixture in which every constraint holds; it says how probable each cluster is",
        when="you trust what you state, clusters are long or of unequal size, and doubt should be told",
        source="Shental, Bar-Hillel, Hertz and Weinshall 2004; chapter 3",
        measure="log-likelihood",
        max_features=100,
        light={"covariance_type": "diag"},
        slow=True,
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SHARED_RULES,
        **START_RULES,
        "sampling": one_of("chunklet", "point"),
        "weights_update": one_of("joint", "exact", "pseudo-likelihood", "uniform", "fixed"),
        "max_table_cells": whole(1),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        covariance_type: str = "auto",
        sampling: Any = "chunklet",
        weights_update: str = "joint",
        max_table_cells: int = 200_000,
        tol: float = 1e-4,
        reg_covar: float = 1e-6,
        covariance_prior: Any = "auto",
        max_iter: int = 100,
        n_init: Any = "auto",
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.sampling = sampling
        self.weights_update = weights_update
        self.max_table_cells = max_table_cells
        self.tol = tol
        self.reg_covar = reg_covar
        self.covariance_prior = covariance_prior
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _network(self, known: Constraints) -> Network:
        return read_network(known, self.n_components, obey="all", sampling=self.sampling)

    def _inference(self, data: Sample, model: Model, rng: RandomState) -> Inference:
        return Inference(
            data.network,
            rest="spanning-tree",
            most_cells=self.max_table_cells,
            potential=data.core_potential(model),
        )

    def _weights(self, data: Sample, known: Constraints, inference: Inference | None) -> WeightStep:
        if inference is None or self.weights_update in PLAIN_WEIGHTS:
            return PLAIN_WEIGHTS.get(self.weights_update, JointWeights)()
        network, dropped = data.network, inference.dropped
        if self.weights_update == "exact":
            return ExactWeights(Prior(network, data.n_free, self.max_table_cells, dropped))
        matched = read_network(
            known, self.n_components, obey="all", sampling=self.sampling, only_matching=True
        )
        return PseudoWeights(Prior(matched, data.n_free, self.max_table_cells, dropped[:0]))


class PseudoWeights(ExactWeights):
    """Exact for cannot-links of which no two share a chunklet."""

    kind = "pseudo-likelihood"
