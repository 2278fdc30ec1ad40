"""Base class of the mixtures: fit by EM from several starts, then predict, score and draw items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats
from coterie._compiled import one_blas_thread
from coterie.base import (
    AUTO_STARTS,
    SEARCH_RULES,
    Account,
    ConstrainedClusterMixin,
    Step,
    anything,
    best_of_starts,
    check_sample_weight,
    constrained_fit,
    one_of,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints
from coterie.mixture._emissions.emission import Emission
from coterie.mixture._emissions.gaussian import COVARIANCES, FEW_PSEUDO_ITEMS, Gaussian, fitting_type
from coterie.mixture._engine.account import account_of_mixture
from coterie.mixture._engine.em import EMOutcome, Expectation, Model, Sample, WeightStep, expect, run_em
from coterie.mixture._engine.outcome import agreements, left_out, legal_labels
from coterie.mixture._engine.starts import STARTS, start_maker, type_of_precisions
from coterie.mixture._inference.answer import Answer
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.network import Network

RandomState = np.random.RandomState
# What only some fits leave.
_COVARIANCES = ("covariance_type_", "covariances_", "precisions_", "precisions_cholesky_")
_NOT_ALWAYS = (*_COVARIANCES, "collapsed_", "concentration_")
# Starts whose objectives differ by less than this, per item, came to the same.
_SAME = 1e-6


def _is_density(model: Any) -> bool:
    """Whether items can be scored and drawn; raises AttributeError with the reason if not."""
    if not model._emission().density:
        raise AttributeError("the squared error is no density, so items cannot be scored or drawn.")
    return True


SHARED_RULES = {
    **SEARCH_RULES,
    "n_components": whole(1),
    "covariance_type": one_of("auto", *COVARIANCES),
    "tol": real(0.0),
    "reg_covar": real(0.0),
    "covariance_prior": real(0.0) | one_of("auto"),
    "warm_start": one_of(True, False),
}
START_RULES = {
    "init_params": one_of(*STARTS),
    "weights_init": anything("None or an array of shape (n_components,)"),
    "means_init": anything("None or an array of shape (n_components, n_features)"),
    "precisions_init": anything("None or an array of the shape that covariance_type asks for"),
}


class MixtureClusterer(ConstrainedClusterMixin, DensityMixin, BaseEstimator, ABC):
    """A mixture of components; subclasses say what constraints mean, and how labels are inferred."""

    # the likelihood never falls without `reg_covar`; with it, it may do so by a hair
    monotone: ClassVar[bool] = False

    n_components: int
    covariance_type: str
    reg_covar: float
    covariance_prior: Any
    max_iter: int
    tol: float
    n_init: Any
    init_params: str
    weights_init: Any
    means_init: Any
    precisions_init: Any
    warm_start: bool
    random_state: Any
    _why_type: str | None  # why covariances have their type, where "auto" chose it

    # ---- what a subclass says -------------------------------------------------------------------------

    def _emission(self) -> Emission:
        """Densities of the components."""
        prior = 0.0 if self.covariance_prior == "auto" else self.covariance_prior
        return Gaussian(self.covariance_type, self.reg_covar, prior)

    @abstractmethod
    def _network(self, known: Constraints) -> Network:
        """What is known, as couplings."""

    @abstractmethod
    def _inference(self, data: Sample, model: Model, rng: RandomState) -> Inference:
        """How labels of the core are found; made once a fit, at the first model."""

    @abstractmethod
    def _weights(self, data: Sample, known: Constraints, inference: Inference | None) -> WeightStep:
        """How mixing weights are updated."""

    # ---- fit ------------------------------------------------------------------------------------------

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Fit the mixture, with what is known about the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a sparse matrix where the components take one
            The items.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known.

        Returns
        -------
        self
        """
        return self._run(X, constraints)

    def _read(self, X: Any, constraints: Any, before: Model | None) -> tuple[Sample, Constraints, Emission]:
        """Check the input; the data in two parts, and the emission that has seen them."""
        emission = self._emission()
        for name in _NOT_ALWAYS:  # another emission leaves no covariances of the last fit behind
            self.__dict__.pop(name, None)
        X, known = self._begin_fit(
            X,
            constraints,
            n_clusters=self.n_components,
            word="n_components",
            accept_sparse="csr" if emission.sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
        )
        values = X.data if hasattr(X, "toarray") else X
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        if largest > np.sqrt(np.finfo(np.float64).max / X.shape[0]):
            raise ValueError("X holds values so large that their squares overflow; scale the features down.")
        data, self._why_type = Sample(X, self._network(known)), None
        if isinstance(emission, Gaussian) and emission.covariance_type == "auto":
            emission.covariance_type, self._why_type = self._choose_type(data.n, data.d, before)
            if self.covariance_prior == "auto" and self.precisions_init is None:
                emission.covariance_prior = FEW_PSEUDO_ITEMS[emission.covariance_type]
        emission.check_rows(X)
        emission.begin(X, self.n_components)
        return data, known, emission

    def _choose_type(self, n: int, d: int, before: Model | None) -> tuple[str, str]:
        """The covariance type that "auto" stands for, and why."""
        if before is not None and isinstance(before.emission, Gaussian):
            return before.emission.covariance_type, "Covariances have the type of the last fit."
        if self.precisions_init is not None:
            given = type_of_precisions(self.precisions_init, self.n_components, d)
            return given, "Covariances have the type of precisions_init."
        return fitting_type(n, self.n_components, d)

    def _run(self, X: Any, constraints: Any) -> Any:
        before = getattr(self, "_model", None) if self.warm_start else None
        data, known, emission = self._read(X, constraints, before)
        if before is not None and before.emission.means.shape != (self.n_components, data.d):
            raise ValueError(
                f"warm_start: the last fit has means of shape {before.emission.means.shape}, but "
                f"{(self.n_components, data.d)} is needed now; fit a new object."
            )
        rng = check_random_state(self.random_state)
        with one_blas_thread():
            begin = self._begin_at(before, data, known, emission, rng)
            n_starts = self._n_starts(before is not None, data.n, emission)
            model = begin()
            inference = self._inference(data, model, rng) if len(data.network.items) else None
            weights = self._weights(data, known, inference)
            best = self._best_of(data, model, begin, n_starts, inference, weights)
            self._keep(best, data, inference, weights)
        return self

    def _n_starts(self, warm: bool, n: int, emission: Emission) -> int:
        if warm or self.means_init is not None:
            return 1
        if self.n_init == "auto":
            # with more parameters than items, components that began wide learn the pairs by heart
            wide = bool(self._known) and emission.n_parameters() <= n
            return AUTO_STARTS if wide or self.init_params != "kmeans" else 1
        return int(self.n_init)

    def _begin_at(
        self, before: Model | None, data: Sample, known: Constraints, emission: Emission, rng: RandomState
    ) -> Callable[[], Model]:
        """Makes the model of the next start."""
        if before is not None:
            return Model(emission.taking(before.emission), before.log_weights).copy
        return start_maker(self, data, known, emission, rng)

    def _best_of(
        self,
        data: Sample,
        model: Model,
        begin: Callable[[], Model],
        n_starts: int,
        inference: Inference | None,
        weights: WeightStep,
    ) -> EMOutcome:
        # of starts that came to the same the first is kept, in any unit of the features
        least = _SAME * data.n * model.emission.unit()

        def better(new: EMOutcome, old: EMOutcome) -> bool:
            n_new, n_old = (len(one.model.emission.collapsed()) for one in (new, old))
            if new.model.wide != old.model.wide:
                fewer = self._fewer_broken(new, old, data)
                wins, collapsed = (new, n_new > n_old) if fewer > 0 else (old, n_old > n_new)
                if fewer and not (wins.model.wide and collapsed):
                    return wins is new
            # a component that shrinks to nothing raises the likelihood without end: it never wins by that
            if n_new != n_old:
                return n_new < n_old
            if new.model.wide != old.model.wide:
                return not new.model.wide
            return new.objective < old.objective - least

        def run(number: int, step: Step) -> EMOutcome:
            here = begin() if number else model
            here.log_weights = weights.start(here.log_weights)
            return self._one_start(data, here, inference, weights, step)

        most = self._most_steps()
        return best_of_starts(self, data.X, run, n_starts=n_starts, max_steps=most, better=better)[0]

    def _fewer_broken(self, new: EMOutcome, old: EMOutcome, data: Sample) -> int:
        """How many pairs fewer (below 0: more) one breaks by its components alone; 0 within a standard error.

        Pairs can be obeyed one by one by components that heed them not, at a lower objective. So a start that
        began wide beats one that began at clusters only by this. On the mixtures that covariance types were
        found on that was no worse than clusters alone; without the standard error it was.
        """
        by_new, by_old = (
            self._known.violations(one.model.shares(data.X)[0].argmax(axis=1)).n_broken_pairs
            for one in (new, old)
        )
        fewer = by_old - by_new
        return fewer if fewer**2 > by_new + by_old else 0

    def _most_steps(self) -> int:
        """Iterations of one start, at most."""
        return self.max_iter

    def _one_start(
        self, data: Sample, model: Model, inference: Inference | None, weights: WeightStep, step: Step
    ) -> EMOutcome:
        """Go from a model as far as it leads."""
        return run_em(
            model,
            self._find(data, inference),
            weights,
            n_items=data.n,
            max_iter=self.max_iter,
            tol=self.tol,
            step=step,
        )

    def _find(self, data: Sample, inference: Inference | None) -> Callable[[Model, int], Expectation]:
        """The E-step of a start."""
        if inference is not None:
            inference.restart()
        return lambda model, iteration: expect(data, model, inference)

    # ---- what is kept ---------------------------------------------------------------------------------

    def _keep(self, best: EMOutcome, data: Sample, inference: Inference | None, weights: WeightStep) -> None:
        self._model = model = best.model
        self.weights_ = np.exp(model.log_weights)
        self.means_ = model.emission.means
        self._keep_emission(model.emission)
        self.responsibilities_ = self._shares(data, model, best.answer)
        promised = self._known if self.obeys == "all" else self._known.only_hard()
        self.labels_ = legal_labels(self.responsibilities_, data.network, best.answer, promised)
        self.objective_ = best.objective
        self.history_ = np.array(best.history)
        self.lower_bound_ = -best.objective / data.n
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self.inference_ = Inference(data.network).account if inference is None else inference.account
        kind = self.inference_.kind
        self.objective_kind_ = kind if kind != "exact" else getattr(weights, "kind", "joint")
        self.agreement_ = agreements(self._known, self.responsibilities_, data, inference, best)
        self.dropped_constraints_ = left_out(self._known, data.network, inference)
        empty = np.flatnonzero(np.bincount(self.labels_, minlength=self.n_components) == 0)
        if len(empty):
            warn_user(
                f"Number of distinct clusters ({self.n_components - len(empty)}) found smaller than "
                f"n_components ({self.n_components}): no item is most probable in component "
                f"{', '.join(map(str, empty[:5]))}. Ask for fewer components, or try other starts.",
                ConvergenceWarning,
            )

    def _keep_emission(self, emission: Emission) -> None:
        if isinstance(emission, Gaussian):
            self.covariance_type_ = emission.covariance_type
            self.covariances_ = emission.covariances
            self.precisions_cholesky_ = emission.factors
            self.precisions_ = emission.precisions
            self.collapsed_ = np.array(emission.collapsed(), dtype=np.int64)

    def _shares(self, data: Sample, model: Model, answer: Answer | None) -> Floats:
        shares = model.shares(data.X)[0]
        if answer is not None:
            shares[data.network.items] = data.network.to_items(answer.marginals)
        return shares

    def account(self) -> Account:
        """What the density says of items, and how sure it is; see `ConstrainedClusterMixin.account`."""
        return account_of_mixture(self, super().account())

    # ---- after it -------------------------------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "_model")
        emission = self._model.emission
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr" if emission.sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
        )
        emission.check_rows(X)
        return X

    def predict(self, X: Any) -> Any:
        """Most probable component of each row; constraints speak of the training items only.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New items.

        Returns
        -------
        labels : array of shape (n_samples,)
            The component of each.
        """
        return self.predict_proba(X).argmax(axis=1).astype(np.int32)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each component, for each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New items.

        Returns
        -------
        probabilities : array of shape (n_samples, n_components)
            Rows sum to one.
        """
        X = self._checked(X)
        with one_blas_thread():
            return self._model.shares(X)[0]

    @available_if(_is_density)
    def score_samples(self, X: Any) -> Any:
        """Log-density of each row under the mixture.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Items.

        Returns
        -------
        log_density : array of shape (n_samples,)
            The larger, the more usual.
        """
        X = self._checked(X)
        with one_blas_thread():
            return self._model.shares(X)[1] + self._model.emission.log_base(X)

    @available_if(_is_density)
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Mean log-density of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Items.
        y : ignored
            Present for the API.
        sample_weight : array of shape (n_samples,), optional
            Weights of the items.

        Returns
        -------
        score : float
            The larger, the better.
        """
        weight = check_sample_weight(sample_weight, X)
        return float(np.average(self.score_samples(X), weights=weight))

    def _n_parameters(self) -> int:
        return self._model.emission.n_parameters() + len(self.weights_) - 1

    @available_if(_is_density)
    def bic(self, X: Any) -> float:
        """Bayesian information criterion on X, as in scikit-learn; constraints are not counted."""
        density = self.score_samples(X)
        return float(-2.0 * density.sum() + self._n_parameters() * np.log(len(density)))

    @available_if(_is_density)
    def aic(self, X: Any) -> float:
        """Akaike information criterion on X, as in scikit-learn; constraints are not counted."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self._n_parameters())

    @available_if(_is_density)
    def sample(self, n_samples: int = 1) -> tuple[Any, Any]:
        """Draw items from the mixture.

        Parameters
        ----------
        n_samples : int, default 1
            How many.

        Returns
        -------
        X : array of shape (n_samples, n_features)
            Items, sorted by component.
        y : array of shape (n_samples,)
            The component of each.
        """
        check_is_fitted(self, "_model")
        if not whole(1).holds(n_samples):
            raise ValueError(f"n_samples must be a whole number, at least 1; got {n_samples!r}.")
        rng = check_random_state(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        drawn = [self._model.emission.sample(h, int(n), rng) for h, n in enumerate(counts)]
        return np.concatenate(drawn), np.repeat(np.arange(len(counts)), counts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._emission().sparse
        return tags
