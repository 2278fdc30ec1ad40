"""Expected sizes that are held at targets, by weights of the components (chapter 8, soft balancing).

Items have shares P(h | x) ~ (weight_h p(x | h))^(1/T) in the components. Those shares sum up to target sizes
M where the log weights a minimise

    T sum_x log sum_h exp((a_h + log p(x | h)) / T) - sum_h M_h a_h,

which is convex; its slope is sizes minus targets, and at its least it is the free energy of the best shares
that have these sizes. The chapter's step (8.18), a + T log(M / sizes), always leads down: it is Sinkhorn's
for the transport of items to components. Near the end Newton's step on k numbers is faster. Where densities
differ by far more than T both have far to go: then the temperature falls to T in steps. Units of items that
share a label are rows whose log weights count more than once. Time O(n k^2) a step, memory O(n k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from coterie._arrays import Floats
from coterie._compiled import over_chunks
from coterie._words import count_of
from coterie.base import labelled
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError, ParameterError
from coterie.mixture._emissions.emission import rows_per_chunk
from coterie.mixture._engine.em import Expectation, Model, Sample, expect
from coterie.mixture._engine.weights import FixedWeights
from coterie.mixture._inference.answer import Answer, normalise
from coterie.mixture._inference.choose import Inference

# Sizes are sought to this share of their targets, and promised to that one.
_SOUGHT, PROMISED = 1e-10, 1e-6
# Sizes are far off while one misses so much of its target. How far a step of Newton's may move a log weight
# at first and at most, in temperatures; a step that raises the objective is taken again at a quarter.
_FAR, _REACH, _MOST_REACH, _SHORTER = 0.5, 3.0, 1000.0, 0.25
# Steps before the temperature is raised, and at the last one. On the way back each temperature is so much of
# the one before, and has so many steps for sizes that are right to a thousandth. Found on random densities
# that differ by up to a million temperatures.
_FEW_STEPS, _MOST_STEPS = 15, 100
_COOLING, _STEPS_ON_THE_WAY, _ROUGHLY = 0.35, 40, 1e-3
# Rounds of mean field in an E-step, unless no probability changes by as much as this, and the parts of the
# way that a round may go; rounds of plain mean field before the first.
_TURNS, _STILL, _LENGTHS, _TURNS_TO_BEGIN = 20, 1e-6, 0.5 ** np.arange(8), 5
# A size below this counts as this.
_LEAST = 1e-300


class DensityRows(NamedTuple):
    """Items and units of items as rows.

    Attributes
    ----------
    log_density : array of shape (n_rows, k)
        Log potentials without the weights.
    slope, times : arrays of shape (n_rows,)
        How often the log weights count in each row, and how often the row counts.
    fixed : array of shape (k,) or float
        Items that components have whatever the rows say.
    """

    log_density: Floats
    slope: Floats
    times: Floats
    fixed: Floats | float = 0.0

    @classmethod
    def of_items(cls, log_density: Floats) -> DensityRows:
        """Each row is one item."""
        ones = np.ones(len(log_density))
        return cls(log_density, ones, ones)


class _Found(NamedTuple):
    """At some log weights: the objective, its slope (sizes minus targets), and its curvature."""

    value: float
    slope: Floats
    curvature: Floats


def _evaluate(rows: DensityRows, target: Floats, log_weights: Floats, temperature: float) -> _Found:
    """The objective of the module's docstring, with its derivatives."""

    def chunk(start: int, stop: int) -> tuple[float, Floats, Floats]:
        slope, times = rows.slope[start:stop], rows.times[start:stop]
        potential = rows.log_density[start:stop] + slope[:, None] * log_weights
        shares, log_sum = normalise(potential / temperature)
        weighted = shares * (times * slope**2)[:, None]
        curvature = np.diag(weighted.sum(axis=0)) - weighted.T @ shares
        return temperature * float(times @ log_sum), (times * slope) @ shares, curvature / temperature

    n, k = rows.log_density.shape
    parts = over_chunks(chunk, n, rows_per_chunk(k))
    slope = sum((part[1] for part in parts), rows.fixed - target)
    value = sum(part[0] for part in parts) + float((rows.fixed - target) @ log_weights)
    return _Found(value, slope, sum((part[2] for part in parts), np.zeros((k, k))))


def _search(
    rows: DensityRows,
    target: Floats,
    log_weights: Floats,
    temperature: float,
    n_steps: int,
    tol: float = _SOUGHT,
) -> tuple[Floats, float]:
    """Log weights after some steps at one temperature, and the largest gap as a share of its target."""
    k = len(target)
    here = _evaluate(rows, target, log_weights, temperature)
    gap, reach = np.abs(here.slope / target).max(), _REACH * temperature
    for _ in range(n_steps):
        if gap <= tol or not reach > 1e-12 * temperature:
            break
        # the chapter's step while sizes are far off, then Newton's; a constant added to all changes nothing
        step = temperature * np.log(target / np.maximum(here.slope + target, _LEAST))
        if gap < _FAR or reach < _REACH * temperature:
            level = max(np.trace(here.curvature), 1e-10 * target.sum() / temperature) / k
            held = here.curvature + level * (1.0 / k + 1e-12 * np.eye(k))
            step = -np.linalg.solve(held, here.slope)
            step *= min(1.0, reach / np.abs(step).max())
        new = _evaluate(rows, target, log_weights + step, temperature)
        new_gap = np.abs(new.slope / target).max()
        if new.value < here.value or new_gap < gap:
            reach = max(reach, min(2.0 * np.abs(step).max(), _MOST_REACH * temperature))
            log_weights, here, gap = log_weights + step, new, new_gap
        else:
            reach = _SHORTER * min(reach, np.abs(step).max())
    return log_weights, float(gap)


def balanced_log_weights(
    rows: DensityRows, target: Floats, temperature: float = 1.0, log_weights: Floats | None = None
) -> tuple[Floats, float]:
    """The log weights at which expected sizes are the targets, and how far off they are.

    Parameters
    ----------
    rows : DensityRows
        The items.
    target : array of shape (k,)
        Sizes to have, all above zero.
    temperature : float
        T of the module's docstring.
    log_weights : array of shape (k,), optional
        Where to begin; equal by default.

    Returns
    -------
    log_weights : array of shape (k,)
        Of weights that sum to one.
    gap : float
        The largest difference of a size and its target, as a share of the target.
    """
    begin = np.zeros(len(target)) if log_weights is None else log_weights
    found, gap = _search(rows, target, begin, temperature, _FEW_STEPS)
    if gap > PROMISED:
        values = np.where(np.isfinite(rows.log_density), rows.log_density, np.nan)
        heat = float(np.nanmax(np.nanmax(values, axis=1) - np.nanmin(values, axis=1)))
        while heat > temperature:
            begin, _ = _search(rows, target, begin, heat, _STEPS_ON_THE_WAY, _ROUGHLY)
            heat *= _COOLING
        cooled, other = _search(rows, target, begin, temperature, _MOST_STEPS)
        if other < gap:
            found, gap = cooled, other
    return found - logsumexp(found), gap


class BalancedWeights(FixedWeights):
    """Weights that the E-step finds, so that expected sizes are the targets: M-steps leave them alone.

    Every item counts once in the sizes. One that counts `eta` times in the components is moved so much less
    by the weights: these shares are best for the sum that EM improves.
    """

    kind = "balanced"

    def __init__(self, target: Floats, eta: float) -> None:
        self.target, self.eta = target, eta
        self.log_shares: Floats = np.log(target / target.sum())

    def start(self, log_weights: Floats) -> Floats:
        """The shares of the targets; the core begins anew."""
        self._marginals: Floats | None = None
        return self.log_shares

    def log_z(self, log_weights: Floats) -> float:
        """What makes the objective a bound on that of the mixture whose weights are the targets' shares."""
        return float(self.target @ (log_weights - self.log_shares))

    def find(self, data: Sample, inference: Inference | None) -> Callable[[Model, int], Expectation]:
        """The E-step, which sets the weights of the model."""

        def one_step(model: Model, iteration: int) -> Expectation:
            free, answer = _free_densities(data, model), None
            if inference is None:
                rows, temperature = DensityRows.of_items(free), model.temperature
                found = balanced_log_weights(rows, self.target, temperature, model.log_weights)
                model.log_weights = found[0]
            else:
                answer = _Core(self, data, model, inference, free).improve(self._marginals)
                self._marginals = answer.marginals
            return expect(data, model, inference, eta=self.eta, core_prior=1.0 / self.eta, answer=answer)

        return one_step


def _free_densities(data: Sample, model: Model) -> Floats:
    before = np.concatenate([[0], np.cumsum(data.is_free)])
    table = np.empty((data.n_free, model.emission.k))

    def fill(start: int, stop: int) -> None:
        if before[start] < before[stop]:
            table[before[start] : before[stop]] = model.emission.log_prob(data.free(start, stop))

    over_chunks(fill, data.n, rows_per_chunk(data.d))
    return table


class _Balance(NamedTuple):
    """Minus the free energy, the answer without weights, what neighbours leave to units, and log weights."""

    value: float
    answer: Answer
    field: Floats
    log_weights: Floats


class _Core:
    """Mean field in which sizes are always the targets.

    All units take at once the best probabilities of these sizes that neighbours, as they are, leave to them.
    The way there leads down in free energy, though the end of it may not: then a part of it is gone. Sizes
    stay the targets on the way, for free items follow with the best shares of what is left of these.
    """

    def __init__(
        self, weights: BalancedWeights, data: Sample, model: Model, inference: Inference, free: Floats
    ) -> None:
        self.target, self.eta = weights.target, weights.eta
        self.network, self.model, self.inference, self.n_free = data.network, model, inference, data.n_free
        self.potential: Floats = data.core_potential(model, prior=0.0)
        # two labels that are opposites in a unit: what is not on one side is on the other
        same, opposite = data.network.exponent.T
        self.slope: Floats = (same - opposite) / self.eta
        ones = np.ones(self.n_free)
        self.rows = DensityRows(
            np.concatenate([free, self.potential]),
            np.concatenate([ones, self.slope]),
            np.concatenate([ones, np.full(len(same), self.eta)]),
            float(opposite.sum()),
        )
        self.free = DensityRows.of_items(self.rows.log_density[: self.n_free])

    def improve(self, marginals: Floats | None) -> Answer:
        """Go on from probabilities of the units, or begin; sets the weights of the model."""
        here = self._begin() if marginals is None else self._look(marginals, self.model.log_weights)
        for _ in range(_TURNS):
            log_weights = self._balanced(here)
            aim = normalise((here.field + self.slope[:, None] * log_weights) / self.model.temperature)[0]
            change = aim - here.answer.marginals
            for length in _LENGTHS:
                new = self._look(here.answer.marginals + length * change, log_weights)
                if new.value > here.value:
                    break
            if not new.value > here.value:
                break
            here = new
            if np.abs(change).max() < _STILL:
                break
        self.model.log_weights = here.log_weights
        prior = float(self.network.counts(here.answer.marginals) @ here.log_weights)
        return here.answer._replace(log_z=here.answer.log_z + prior / (self.eta * self.model.temperature))

    def _begin(self) -> _Balance:
        """Plain mean field, at weights that come nearer to what the sizes ask for; sizes are off yet."""
        temperature, log_weights = self.model.temperature, self.model.log_weights
        for _ in range(_TURNS_TO_BEGIN):
            prior = self.network.prior(log_weights) / self.eta
            answer = self.inference.infer((self.potential + prior) / temperature, 1.0 / temperature)
            here = _Balance(-np.inf, *self._bound(answer.marginals), log_weights)
            log_weights = 0.5 * (log_weights + self._balanced(here))
        return here

    def _bound(self, marginals: Floats) -> tuple[Answer, Floats]:
        temperature = self.model.temperature
        answer, field = self.inference.bound(self.potential / temperature, marginals, 1.0 / temperature)
        return answer, temperature * field

    def _balanced(self, here: _Balance) -> Floats:
        """Log weights that give all rows the targets, if neighbours stay as they are."""
        self.rows.log_density[self.n_free :] = here.field
        return balanced_log_weights(self.rows, self.target, self.model.temperature, here.log_weights)[0]

    def _look(self, marginals: Floats, log_weights: Floats) -> _Balance:
        """Minus the free energy at probabilities of the units, with the best shares of free items."""
        temperature, value = self.model.temperature, 0.0
        if self.n_free:
            free = self.free._replace(fixed=self.network.counts(marginals))
            log_weights = balanced_log_weights(free, self.target, temperature, log_weights)[0]
            value = _evaluate(free, self.target, log_weights, temperature).value
        answer, field = self._bound(marginals)
        return _Balance(value + self.eta * temperature * answer.log_z, answer, field, log_weights)


def read_targets(values: Any, n: int, k: int) -> Floats:
    """Target sizes of k components: equal ones, shares that sum to 1, or numbers of items that sum to n."""
    if values is None:
        return np.full(k, n / k)
    try:
        target = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"target_sizes must be numbers; got {values!r}.", "target_sizes") from None
    if target.shape != (k,):
        raise ParameterError(
            f"target_sizes has shape {target.shape}, but n_components={k} sizes are needed.",
            "target_sizes",
            "n_components",
        )
    low = np.flatnonzero(~(np.isfinite(target) & (target > 0)))
    if len(low):
        raise ParameterError(
            f"target_sizes[{low[0]}] is {target[low[0]]:g}; sizes must be finite and above 0. Ask for fewer "
            "components instead of an empty one.",
            "target_sizes",
        )
    total = float(target.sum())
    if min(abs(total - 1.0), abs(total - n) / n) > PROMISED:
        raise ParameterError(
            f"target_sizes sum to {total:g}; give shares that sum to 1, or numbers of items that sum to {n}.",
            "target_sizes",
        )
    return target * (n / total)


def check_room(target: Floats, data: Sample, known: Constraints, inference: Inference | None) -> None:
    """Raise where what is sure gives a component more items than its target, or leaves it too few."""
    if inference is None:
        return
    may = np.isfinite(inference.with_clamps(np.zeros((data.network.n_units, len(target))), 1.0))
    most = data.n_free + data.network.counts(may.astype(np.float64))
    least = data.network.counts((may & (may.sum(axis=1) == 1)[:, None]).astype(np.float64))
    names = labelled(known)[2]
    for number, far, word in ((least, least - target, "at least"), (most, target - most, "at most")):
        h = int(np.argmax(far / target))
        if far[h] > PROMISED * target[h]:
            name = f" (the class {names[h]!r})" if h < len(names) else ""
            items = count_of(round(number[h]), "item")
            raise InfeasibleConstraintsError(
                f"by what was stated, component {h}{name} has {word} {items}, but its target size is "
                f"{target[h]:g}. Change target_sizes (in the sorted order of the classes), or drop labels or "
                "hard pairs."
            )
