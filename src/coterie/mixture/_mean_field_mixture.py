"""MeanFieldMixture: annealed mean field, for strong constraints on few items in large data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from coterie._arrays import Floats, Index
from coterie.base import About, Rule, Step, anything, instance, one_of, real, warn_user
from coterie.constraints import Constraints, Pairs
from coterie.constraints._model import log_odds
from coterie.exceptions import ParameterError, ViolatedConstraintsWarning
from coterie.mixture._emissions.emission import Emission, Multinomial, SquaredError
from coterie.mixture._emissions.von_mises_fisher import VonMisesFisher
from coterie.mixture._engine.balance import PROMISED, BalancedWeights, read_targets
from coterie.mixture._engine.em import EMOutcome, Expectation, Model, Sample, WeightStep, expect, run_em
from coterie.mixture._engine.mixture import SHARED_RULES, START_RULES, MixtureClusterer, RandomState
from coterie.mixture._engine.starts import given_weights
from coterie.mixture._engine.weights import PLAIN_WEIGHTS, FixedWeights, JointWeights
from coterie.mixture._inference.answer import PieceSolver
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.mean_field import MeanField, Start
from coterie.mixture._inference.network import Network, read_network

# Candidates for "select", folds, and pairs below which the pairs of the fit itself are counted.
ETAS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_FOLDS, _FEW_PAIRS = 5, 15
# Means nearer than this, in deviations, are in one place; at the end they are parted by so many times the
# noise of a start, so often.
_ONE_PLACE, _PARTED_BY, _TIMES_PARTED = 0.05, 50.0, 3
# Each temperature is this much of the last, and takes so many iterations.
_COOLING, _STEPS_A_TEMPERATURE = 0.8, 10

# Emissions other than Gaussian ones, by their names.
_EMISSIONS = {"squared-error": SquaredError, "multinomial": Multinomial, "von-mises-fisher": VonMisesFisher}


class MeanFieldMixture(MixtureClusterer):
    """A mixture with strong constraints, found by mean field while the temperature falls.

    Labels have the prior of largest entropy under which few constraints are broken: a broken pair of strength
    1 costs `weight` nats. Probabilities of items are brought into line with those of their partners (mean
    field), at a cost that grows with the number of constraints, whatever they look like. It begins at a high
    temperature, where the components are one, so that the data and the constraints decide together how they
    part. `eta` lets few constrained items steer the components, so that new items follow them, too.

    Parameters
    ----------
    n_components : int, default 2
        Number of components.
    emission : {"gaussian", "squared-error", "multinomial", "von-mises-fisher"} or Emission
        What a component says about items: Gaussian densities (the default); squared distances, as in k-means
        (the temperature then falls to zero, and `weight` is in units of squared distances); counts of words;
        directions, all components as concentrated as clusters of spherical k-means are, or as
        `coterie.mixture.VonMisesFisher(concentration)` says. The last two may be sparse.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default "auto"
        Of Gaussian components, as in `ConstrainedGaussianMixture`.
    weight : float or pair of floats, default 3.0
        What a broken pair of strength 1 costs, in nats, or a broken must-link and a broken cannot-link; 3 is
        the log-odds of .95. A pair that states its confidence costs the log-odds of that instead, times its
        own weight. 1000, as in the chapter, lets no pair be outvoted.
    eta : float or "select", default 1.0
        How often items that constraints name count in the components. "select" tries 1 to 100 on pairs held
        out, and takes the smallest that breaks fewest, give or take a standard error.
    weights_update : {"joint", "uniform", "unconstrained", "fixed", "balanced"}, default "joint"
        Mixing weights of densities: shares of all items; equal, as in the chapter; shares of items that no
        constraint names, for which alone they count; or as `weights_init` has them. They are learned last,
        when the components have parted. "balanced": such that expected sizes are always `target_sizes`.
    target_sizes : None or array of shape (n_components,), default None
        With "balanced": shares that sum to 1, or numbers of items that sum to n_samples, all above 0; None
        for equal sizes. With labels they go by the sorted classes; without, large clusters take large sizes.
    annealing : bool, default True
        Whether the first half of the starts begin at one place, with a temperature that falls. The others
        begin as `init_params` says. An annealed one is kept if its components, by themselves, break clearly
        fewer pairs: few pairs can be obeyed one by one by components that heed them not.
    tol, reg_covar, covariance_prior, max_iter, init_params, weights_init, means_init, precisions_init
        As in `ConstrainedGaussianMixture`; `max_iter` counts at the last temperature. Given means and
        precisions need `annealing=False`.
    n_init : int or "auto", default "auto"
        Number of starts; the best is kept. "auto" is 2, or 1 without `annealing`.
    warm_start, verbose, random_state
        As in `ConstrainedGaussianMixture`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The most probable component of each item.
    responsibilities_, weights_, means_, covariances_, precisions_, precisions_cholesky_, agreement_
        As in `ConstrainedGaussianMixture`; covariances and precisions of Gaussian components only, and so
        their `covariance_type_`.
    objective_, history_, objective_kind_
        The free energy at the last temperature, and its course there: a bound on minus the log-likelihood of
        data and constraints. A must-link that holds lowers it by its weight: compare models of the same
        constraints only. With "balanced" it is that of a mixture whose weights are the shares of the targets.
    concentration_ : float, of von Mises-Fisher components only
        How concentrated they are.
    eta_ : float
        The factor that was used.
    eta_curve_ : array of shape (7, 2), with eta="select"
        Candidates, and the share of held-out pairs that the model's rule breaks.
    temperature_path_ : array of shape (n_temperatures, 2)
        Temperatures, and the free energy at the end of each.
    inference_, dropped_constraints_, lower_bound_, collapsed_, n_iter_, converged_, violations_, constraints_
        As in `ConstrainedGaussianMixture`; nothing is dropped, `n_iter_` counts all temperatures.

    See Also
    --------
    PenalizedGaussianMixture : exact where it can be, and constraints with a confidence.
    PairwiseClustering : the same idea on dissimilarities.

    Notes
    -----
    Thirteen parameters are those of scikit-learn's `GaussianMixture`; the others are what the chapters vary.
    Contradictions are no error: the cheapest way out is taken. Two equal rows may have different labels
    where constraints name one of them; `predict` knows no constraints. Time O(n k d^2) an iteration, about
    100 to 200 iterations in all; memory O(n k) beside X. The paper's general loss on labels is left out.
    Kernels (Remark 5.3): fit the first components of kernel PCA with `covariance_type="tied"`.

    "balanced" holds the sums of `responsibilities_` at the targets, to a millionth, in time O(n k^2) more;
    sizes of `labels_` are near. `weights_` make the sizes so, they are not the sizes. For exact sizes pass
    minus the logarithms of `responsibilities_` to `coterie.assign.size_constrained_assignment`, or use
    `SizeConstrainedKMeans` from the start.

    References
    ----------
    Lange, Law, Jain and Buhmann, Constrained Clustering, chapter 5.
    Banerjee and Ghosh, Constrained Clustering, chapter 8 (soft balancing, von Mises-Fisher densities).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, MeanFieldMixture
    >>> rng = np.random.default_rng(0)
    >>> corner = np.repeat([[-1, -1.5], [-1, 1.5], [1, -1.5], [1, 1.5]], 25, axis=0)
    >>> X = corner + 0.35 * rng.normal(size=(100, 2))  # wider from top to bottom than from left to right
    >>> known = Constraints.sample(corner[:, 0], n_pairs=20, random_state=0)
    >>> model = MeanFieldMixture(2, random_state=0).fit(X, constraints=known)
    >>> left = model.predict(X[:50])
    >>> bool((left == left[0]).mean() > 0.95)
    True

    Three clusters of equal expected size:

    >>> model = MeanFieldMixture(3, weights_update="balanced", random_state=0).fit(X[:90])
    >>> model.responsibilities_.sum(axis=0).round(6)
    array([30., 30., 30.])
    """

    about = About(
        what="a mixture found by annealing, in which strong constraints steer the clusters; hard ones hold",
        when="many constraints that hang together, or few that shall count (eta); counts, from Python",
        source="Lange, Law, Jain and Buhmann 2005; chapter 5",
        measure="log-likelihood",
        max_features=100,
        light={"covariance_type": "diag"},
        slow=True,
    )
    # Where mean field begins in every iteration (the chapter leaves it open): at the last probabilities, and
    # now and then at weak couplings that grow; the better is kept, so that the free energy never rises.
    _e_start: ClassVar[Start] = "best"
    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SHARED_RULES,
        **START_RULES,
        "emission": one_of("gaussian", *_EMISSIONS) | instance(Emission, "an Emission"),
        "weight": real(0.0, 1e6) | instance((tuple, list), "a pair of them"),
        "eta": real(0.0) | one_of("select"),
        "weights_update": one_of("uniform", "joint", "unconstrained", "fixed", "balanced"),
        "target_sizes": anything("None or an array of shape (n_components,)"),
        "annealing": one_of(True, False),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        emission: Any = "gaussian",
        covariance_type: str = "auto",
        weight: Any = 3.0,
        eta: Any = 1.0,
        weights_update: str = "joint",
        target_sizes: Any = None,
        annealing: bool = True,
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
        self.emission = emission
        self.covariance_type = covariance_type
        self.weight = weight
        self.eta = eta
        self.weights_update = weights_update
        self.target_sizes = target_sizes
        self.annealing = annealing
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

    def _run(self, X: Any, constraints: Any) -> Any:
        if self.annealing and any(p is not None for p in (self.means_init, self.precisions_init)):
            raise ValueError(
                "annealing begins at the middle of the data; set annealing=False to use means_init and "
                "precisions_init."
            )
        if not self._emission().density and self.weights_update in ("unconstrained", "fixed", "balanced"):
            raise ValueError(
                f"weights_update={self.weights_update!r} needs a density; squared errors have no weights. "
                "SizeConstrainedKMeans keeps sizes."
            )
        if self.target_sizes is not None and self.weights_update != "balanced":
            raise ParameterError(
                f"target_sizes has no effect with weights_update={self.weights_update!r}; set "
                "weights_update='balanced'.",
                "target_sizes",
                "weights_update",
            )
        if self.eta == 0 and self.weights_update == "balanced":
            raise ParameterError(
                "eta=0 leaves out items that constraints name, and weights_update='balanced' counts them.",
                "eta",
                "weights_update",
            )
        self.__dict__.pop("eta_curve_", None)
        self.eta_ = self._select_eta(X, constraints) if self.eta == "select" else float(self.eta)
        return super()._run(X, constraints)

    # ---- the parts ------------------------------------------------------------------------------------

    def _emission(self) -> Emission:
        if isinstance(self.emission, Emission):
            return self.emission.copy()
        return _EMISSIONS[self.emission]() if self.emission in _EMISSIONS else super()._emission()

    def _pair_weights(self) -> tuple[float, float]:
        """What a broken must-link and a broken cannot-link cost."""
        if isinstance(self.weight, tuple | list):
            rule = real(0.0, 1e6)
            if len(self.weight) != 2 or not all(rule.holds(price) for price in self.weight):
                raise ValueError(f"weight must be {rule.words}, or a pair of them; got {self.weight!r}.")
            return float(self.weight[0]), float(self.weight[1])
        return float(self.weight), float(self.weight)

    def _network(self, known: Constraints) -> Network:
        must, cannot = self._pair_weights()

        def worth(pairs: Pairs, sign: Literal[1, -1]) -> Floats:
            price = must if sign > 0 else cannot
            return pairs.weight * np.where(np.isnan(pairs.confidence), price, log_odds(pairs.confidence))

        network = read_network(
            known, self.n_components, obey="hard", coupling=worth, group_coupling=(must, cannot)
        )
        if len(network.items) == known.n_items:
            if not self.eta_:
                raise ValueError("eta=0 leaves out all items that constraints name, and these are all.")
            if self.weights_update == "unconstrained":
                raise ValueError(
                    "weights_update='unconstrained' takes the shares of items that no constraint names, and "
                    "there are none; use 'joint' or 'uniform'."
                )
        return network

    def _inference(self, data: Sample, model: Model, rng: RandomState) -> Inference:
        def mean_field(n: int, k: int, ends: Index, beta: Floats) -> PieceSolver:
            return MeanField(n, k, ends, beta, start=self._e_start)

        return Inference(data.network, rest="mean-field", exact="none", make=mean_field)

    def _weights(self, data: Sample, known: Constraints, inference: Inference | None) -> WeightStep:
        if data.target is not None:
            return BalancedWeights(data, data.target, self.eta_)
        return PLAIN_WEIGHTS.get(self.weights_update, JointWeights)()

    def _begin_at(
        self, before: Model | None, data: Sample, known: Constraints, emission: Emission, rng: RandomState
    ) -> Callable[[], Model]:
        def cold(model: Model) -> Model:
            model.temperature = model.emission.coldest()
            return model

        if self.weights_update == "balanced":
            data.target = read_targets(self.target_sizes, data, known)
        plain = super()._begin_at(before, data, known, emission, rng)
        if before is not None or not self.annealing:
            return lambda: cold(plain())
        weights = np.full(self.n_components, 1.0 / self.n_components)
        if self.weights_init is not None:
            weights = given_weights(self.weights_init, self.n_components)
        number, n_starts = -1, self._n_starts(False, data.n, emission)

        def hot_first() -> Model:
            nonlocal number
            number += 1
            if 2 * number >= max(n_starts, 2):
                return cold(plain())
            start = emission.copy()
            start.set_means(start.shaken(start.means, rng))
            with np.errstate(divide="ignore"):
                return Model(start, np.log(weights), start.hottest(), wide=True)

        self._rng = rng
        return hot_first

    def _n_starts(self, warm: bool, n: int, emission: Emission) -> int:
        annealed = self.n_init == "auto" and self.annealing and not warm
        return 2 if annealed else super()._n_starts(warm, n, emission)

    def _temperatures(self, model: Model) -> list[float]:
        """From the first to the last."""
        path = [model.temperature]
        cold = model.emission.coldest()
        # below a fiftieth of where it begins nothing changes any more
        while path[-1] * _COOLING > max(cold, 0.02 * path[0]):
            path.append(path[-1] * _COOLING)
        return [*path, cold] if path[-1] > cold else [cold]

    def _most_steps(self) -> int:
        most = int(np.ceil(np.log(0.02) / np.log(_COOLING))) + 1
        return self.max_iter + (_STEPS_A_TEMPERATURE * most if self.annealing else 0)

    def _one_start(
        self, data: Sample, model: Model, inference: Inference | None, weights: WeightStep, step: Step
    ) -> EMOutcome:
        if inference is not None:
            inference.restart()
        path, tol = self._temperatures(model), self.tol * model.emission.unit()

        # a weight that runs ahead takes all items with it: they are learned when the components have parted
        held = FixedWeights() if len(path) > 1 and data.target is None else weights

        find = self._find(data, inference)
        if isinstance(weights, BalancedWeights):
            find = partial(weights.find, inference)

        def run(model: Model, max_iter: int, tol: float, weights: WeightStep = held) -> EMOutcome:
            return run_em(model, find, weights, n_items=data.n, max_iter=max_iter, tol=tol, step=step)

        passed, n_iter = [], 0
        outcome = EMOutcome(model)
        for temperature in path:
            model.temperature = temperature
            last = temperature == path[-1]
            # near where all means are one little changes for a while, so no step is spared on the way
            outcome = run(model, self.max_iter, tol) if last else run(model, _STEPS_A_TEMPERATURE, 0.0)
            n_iter += outcome.n_iter
            passed.append((temperature, outcome.objective))
            if outcome.stopped:
                break
            if not last:
                self._part_means(model)
        for _ in range(_TIMES_PARTED if len(path) > 1 else 0):
            # components that never parted are moved apart, as long as that pays
            if outcome.stopped or not self._together(model.emission).any():
                break
            other = model.copy()
            self._part_means(other, by=_PARTED_BY)
            apart = run(other, self.max_iter, tol)
            n_iter += apart.n_iter
            if apart.objective >= outcome.objective:
                break
            model, outcome = other, apart
        if not (outcome.stopped or isinstance(weights, FixedWeights) or held is weights):
            outcome = run(model, self.max_iter, tol, weights)
            n_iter += outcome.n_iter
        passed[-1] = model.temperature, outcome.objective
        if outcome.stopped and model.temperature > path[-1]:
            # asked to stop on the way: what there is, seen at the last temperature
            model.temperature = path[-1]
            outcome = run(model, 0, 0.0)
            passed.append((model.temperature, outcome.objective))
        outcome.n_iter = n_iter
        outcome.path = passed
        return outcome

    def _together(self, emission: Emission) -> Any:
        """Which components have the mean of an earlier one."""
        scale = np.where(emission.deviation > 0, emission.deviation, 1.0)
        means = emission.means / scale
        distances = np.linalg.norm(means[:, None] - means[None], axis=2)
        distances[np.triu_indices(len(distances))] = np.inf
        return distances.min(axis=1) < _ONE_PLACE

    def _part_means(self, model: Model, by: float = 1.0) -> None:
        """Shake means that have become one, by some times the usual noise."""
        emission = model.emission
        again = self._together(emission)
        if again.any():
            shaken = emission.shaken(emission.means, self._rng, by)
            emission.means = np.where(again[:, None], shaken, emission.means)

    def _find(self, data: Sample, inference: Inference | None) -> Callable[[Model, int], Expectation]:
        core_prior = self.weights_update != "unconstrained"
        return lambda model, iteration: expect(data, model, inference, eta=self.eta_, core_prior=core_prior)

    def _keep(self, best: EMOutcome, data: Sample, inference: Inference | None, weights: WeightStep) -> None:
        super()._keep(best, data, inference, weights)
        self.temperature_path_ = np.array(best.path)
        if isinstance(best.model.emission, VonMisesFisher):
            self.concentration_ = best.model.emission.concentration
        if data.target is not None:
            sizes = self.responsibilities_.sum(axis=0)
            h = int(np.argmax(np.abs(sizes - data.target) / data.target))
            if abs(sizes[h] - data.target[h]) > PROMISED * data.target[h]:
                warn_user(
                    f"the expected size of component {h} is {sizes[h]:.6g}, not its target "
                    f"{data.target[h]:.6g}: the constraints leave no room for it, or are so strong that "
                    "items move together. State fewer, or lower `weight`.",
                    ConvergenceWarning,
                )
        self.__dict__.pop("_rng", None)

    # ---- eta ------------------------------------------------------------------------------------------

    def _select_eta(self, X: Any, constraints: Any) -> float:
        """The smallest candidate whose model breaks hardly more than the fewest of the pairs held out."""
        X, known = self._begin_fit(
            X, constraints, accept_sparse=self._emission().sparse and "csr", dtype=[np.float64, np.float32]
        )
        if not known.n_pairs:
            raise ValueError("eta='select' holds out pairs, and none are stated; set eta to a number.")
        folds = list(known.split(_FOLDS, random_state=0)) if known.n_pairs >= _FEW_PAIRS else [(known, known)]
        broken = np.zeros((len(ETAS), len(folds)))
        for row, eta in enumerate(ETAS):
            for column, (kept, held) in enumerate(folds):
                model = clone(self).set_params(eta=eta, warm_start=False, verbose=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ViolatedConstraintsWarning)
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    labels = model.fit(X, constraints=kept).predict(X)
                wrong = held.violations(labels)
                n_wrong = wrong.must_link.n + wrong.cannot_link.n
                broken[row, column] = n_wrong / max(held.n_pairs, 1)
        mean = broken.mean(axis=1)
        best = int(np.argmin(mean))
        error = broken[best].std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
        self.eta_curve_ = np.column_stack([ETAS, mean])
        return float(ETAS[int(np.argmax(mean <= mean[best] + error))])
