"""PenalizedGaussianMixture: a mixture that weighs constraints by how sure they are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._arrays import Floats, Index
from coterie.base import About, Rule, Step, one_of, real, warn_user, whole
from coterie.constraints import Constraints, Pairs, Violations
from coterie.constraints._model import log_odds
from coterie.exceptions import ViolatedConstraintsWarning
from coterie.mixture._engine.em import LAST, EMOutcome, Expectation, Model, Sample, WeightStep, expect
from coterie.mixture._engine.mixture import SHARED_RULES, START_RULES, MixtureClusterer, RandomState
from coterie.mixture._engine.weights import (
    PLAIN_WEIGHTS,
    ExactWeights,
    GridWeights,
    JointWeights,
    Prior,
    UniformWeights,
)
from coterie.mixture._inference.answer import PieceSolver
from coterie.mixture._inference.choose import Exact, Inference
from coterie.mixture._inference.gibbs import Gibbs
from coterie.mixture._inference.mean_field import MeanField
from coterie.mixture._inference.network import Network, read_network

# Sampling is short at first, when the model is far from right, and grows by this factor.
_FIRST_SWEEPS, _GROWTH = 10, 1.3
# Pairs that are outvoted are too many if so many standard deviations above what their confidence allows.
_SIGMAS = 4.0


class PenalizedGaussianMixture(MixtureClusterer):
    """A Gaussian mixture that weighs constraints by how sure they are.

    A constraint of confidence c makes labelings that obey it c / (1 - c) times as likely, before the data are
    seen. The data may then outvote it: what is broken is listed in `violations_`, and how likely each pair is
    to share a component stands in `agreement_`. Pairs marked hard hold. A warning says so where far more are
    outvoted than their confidence allows for.

    Parameters
    ----------
    n_components : int, default 2
        Number of components.
    confidence : float, default 0.95
        Probability that a constraint is true, for pairs and soft groups that state none themselves. The
        weight of a pair multiplies its log-odds: weight 2 is the same said twice; 1e6 nats are the most.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default "auto"
        As in `ConstrainedGaussianMixture`.
    inference : {"auto", "exact", "mean-field", "gibbs"}, default "auto"
        How labels that depend on each other are found. "auto" is exact where the graph of constraints is
        narrow and mean field elsewhere; "exact" raises there. Mean field is fast, and surer than it should
        be; "gibbs" samples, is slower, and right in the long run.
    weights_update : {"auto", "exact", "grid", "joint", "uniform", "fixed"}, default "auto"
        How mixing weights are found. "exact" maximises the likelihood given the constraints, "grid" does so
        among multiples of 0.01 (up to four components); both need a narrow graph. "joint" takes the
        shares of the components. "uniform" and "fixed" leave them equal, or as `weights_init` has them.
        "auto" is "exact" where possible, else "uniform": shares mislead where many constraints tie items.
    n_sweeps : int, default 100
        Sweeps of "gibbs" that are averaged in the last iterations; the first take fewer.
    max_component_size : int or None, default None
        Leave out couplings, the weakest first, until no connected piece of the constraint graph has more
        units, as in the chapter; `dropped_constraints_` names them. Rarely needed: "auto" is exact on far
        larger pieces.
    max_table_cells : int, default 200,000
        Cells that the tables of exact inference may have, all together.
    tol, reg_covar, covariance_prior, max_iter, n_init, init_params, weights_init, means_init, precisions_init
        As in `ConstrainedGaussianMixture`; "kmeans" starts at clusters of `PCKMeans`.
    warm_start, verbose, random_state
        As in `ConstrainedGaussianMixture`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The most probable component of each item.
    responsibilities_, weights_, means_, covariances_, precisions_, precisions_cholesky_, covariance_type_
        As in `ConstrainedGaussianMixture`.
    agreement_ : array
        Probability that the items of a stated pair share a component: rows of `constraints_.must_table`,
        then of `constraints_.cannot_table`; also of pairs that weigh nothing or cancel. Those left out count
        as independent.
    inference_ : InferenceAccount
        How labels were inferred, and why; with "gibbs" also how far the samples can be trusted.
    objective_, history_, objective_kind_
        Minus the log-likelihood: "conditional" on the constraints, "joint" with them, a "bound" on it (mean
        field) or an "estimate" of it (the pseudo-likelihood of samples). Where it is not conditional, a
        must-link that holds lowers it by its log-odds: compare models of the same constraints only.
    lower_bound_, collapsed_, dropped_constraints_, n_iter_, converged_, violations_, constraints_
        As in `ConstrainedGaussianMixture`; pairs are dropped for `max_component_size` only.

    See Also
    --------
    ConstrainedGaussianMixture : constraints that are right.
    MeanFieldMixture : strong constraints on few items, in large data.
    PCKMeans : faster, no probabilities.

    Notes
    -----
    Thirteen parameters are those of scikit-learn's `GaussianMixture`; the others are what the chapter varies.
    Time O(n k d^2) an iteration, and O((units + couplings) k) for each sweep of mean field or sampling.
    Memory O(n k) beside X. Few pairs among many items fade: they say little about the means.

    References
    ----------
    Lu and Leen, Constrained Clustering, chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, PenalizedGaussianMixture
    >>> X = np.array([[0.0], [0.2], [0.4], [0.6], [4.0], [4.2], [4.4], [4.6], [2.3]])
    >>> known = Constraints(must_link=[(8, 0)], n_items=9, confidence=0.9)
    >>> model = PenalizedGaussianMixture(2, covariance_type="tied", random_state=0).fit(X, constraints=known)
    >>> bool(model.labels_[8] == model.labels_[0])
    True
    >>> print(model.inference_)
    exact: all pieces of the constraint graph are trees or narrow.
    """

    about = About(
        what="a Gaussian mixture that weighs each constraint by how sure it is; those marked hard hold",
        when="constraints may be wrong, and you can say how sure you are (confidence); doubt should be told",
        source="Lu and Leen 2005; chapter 4",
        measure="log-likelihood",
        max_features=100,
        light={"covariance_type": "diag"},
        slow=True,
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SHARED_RULES,
        **START_RULES,
        "confidence": real(0.5, 1.0),
        "inference": one_of("auto", "exact", "mean-field", "gibbs"),
        "weights_update": one_of("auto", "exact", "grid", "joint", "uniform", "fixed"),
        "n_sweeps": whole(1),
        "max_component_size": whole(1) | one_of(None),
        "max_table_cells": whole(1),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        confidence: float = 0.95,
        covariance_type: str = "auto",
        inference: str = "auto",
        weights_update: str = "auto",
        n_sweeps: int = 100,
        max_component_size: int | None = None,
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
        self.confidence = confidence
        self.covariance_type = covariance_type
        self.inference = inference
        self.weights_update = weights_update
        self.n_sweeps = n_sweeps
        self.max_component_size = max_component_size
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

    def _worth(self, pairs: Pairs, sign: Literal[1, -1] = 1) -> Floats:
        """What pairs are worth, in nats."""
        stated = np.where(np.isnan(pairs.confidence), self.confidence, pairs.confidence)
        return pairs.weight * log_odds(stated)

    def _network(self, known: Constraints) -> Network:
        odds = float(log_odds(np.asarray(self.confidence)))
        network = read_network(
            known, self.n_components, obey="hard", coupling=self._worth, group_coupling=(odds, odds)
        )
        return network if self.max_component_size is None else network.in_pieces(self.max_component_size)

    def _inference(self, data: Sample, model: Model, rng: RandomState) -> Inference:
        def mean_field(n: int, k: int, ends: Index, beta: Floats) -> PieceSolver:
            return MeanField(n, k, ends, beta)

        def gibbs(n: int, k: int, ends: Index, beta: Floats) -> PieceSolver:
            return Gibbs(n, k, ends, beta, random_state=rng)

        exact: dict[str, Exact] = {"auto": "all", "exact": "all", "mean-field": "none", "gibbs": "forbidden"}
        return Inference(
            data.network,
            rest={"exact": "error", "gibbs": "gibbs"}.get(self.inference, "mean-field"),
            exact=exact[self.inference],
            most_cells=self.max_table_cells,
            make=gibbs if self.inference == "gibbs" else mean_field,
        )

    def _weights(self, data: Sample, known: Constraints, inference: Inference | None) -> WeightStep:
        how = self.weights_update
        if inference is None or how in PLAIN_WEIGHTS:
            return PLAIN_WEIGHTS.get(how, JointWeights)()
        try:
            prior = Prior(data.network, data.n_free, self.max_table_cells, inference.dropped)
        except ValueError:
            if how == "auto":
                return UniformWeights()
            raise ValueError(
                f"weights_update={how!r} needs exact inference, and the constraint graph is too wide for "
                f"tables of max_table_cells={self.max_table_cells:,}. Use weights_update='auto' or 'uniform'."
            ) from None
        return GridWeights(prior) if how == "grid" else ExactWeights(prior)

    def _find(self, data: Sample, inference: Inference | None) -> Any:
        find = super()._find(data, inference)
        solver = None if inference is None else inference.rest_solver
        if not isinstance(solver, Gibbs):
            return find

        def sampled(model: Model, iteration: int) -> Expectation:
            solver.n_sweeps = self.n_sweeps
            if iteration != LAST:
                grown = math.ceil(_FIRST_SWEEPS * _GROWTH ** min(iteration, 50))
                solver.n_sweeps = min(self.n_sweeps, grown)
            return expect(data, model, inference)

        return sampled

    def _one_start(
        self, data: Sample, model: Model, inference: Inference | None, weights: WeightStep, step: Step
    ) -> EMOutcome:
        outcome = super()._one_start(data, model, inference, weights, step)
        if inference is not None and isinstance(inference.rest_solver, Gibbs):
            outcome.note = str(inference.rest_solver.account)
        return outcome

    def _keep(self, best: EMOutcome, data: Sample, inference: Inference | None, weights: WeightStep) -> None:
        super()._keep(best, data, inference, weights)
        self.inference_ = replace(self.inference_, sampling=best.note)

    def _report(self, broken: Violations) -> None:
        """Say so if more is outvoted than the confidence of the pairs allows for: then something is amiss."""
        tables = (self.constraints_.must_table, self.constraints_.cannot_table)
        worth = np.concatenate([self._worth(table.take(table.active & ~table.hard)) for table in tables])
        wrong, n = 1.0 / (1.0 + np.exp(np.minimum(worth, 700.0))), broken.must_link.n + broken.cannot_link.n
        if broken.n_hard or n <= 1 + wrong.sum() + _SIGMAS * np.sqrt((wrong * (1.0 - wrong)).sum()):
            return super()._report(broken)
        return warn_user(
            f"{n:,} of {len(worth):,} pairs were outvoted, where their confidence allows for about "
            f"{wrong.sum():.1f}. Either more of them are wrong than was said: lower confidence, to "
            f"{max(0.51, 1.0 - n / len(worth)):.2f} or so. Or components have not the shape of classes: try "
            "another covariance_type, more components or more starts (n_init). See violations_.",
            ViolatedConstraintsWarning,
        )
