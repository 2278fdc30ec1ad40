"""Expected sizes that are held at targets, by weights of the components (chapter 8, soft balancing).

Items have shares P(h | x) ~ (weight_h p(x | h))^(1/T) in the components. Those shares sum up to target sizes
M where the log weights a minimise

    T sum_x log sum_h exp((a_h + log p(x | h)) / T) - sum_h M_h a_h,

which is convex; its slope is sizes minus targets. The chapter's step (8.18), a + T log(M / sizes), stands
still at the same weights, but takes many more steps than Newton's, which is used here: on k numbers, from the
last weights. Where densities differ by far more than T, the temperature falls to T in steps.

Units of items that share a label are rows like items, whose log weights count more than once. They all move
at once, to the probabilities of the right sizes that are best under what neighbours, as they are, leave to
them. Where that would lower the bound of mean field, a unit pays for moving: the relative entropy to where it
was, times a price. At half the sum of its couplings no move can lower the bound. Time O(n k^2) a step, memory
O(n k).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, rel_entr

from coterie._arrays import Floats
from coterie._compiled import over_chunks
from coterie._words import count_of
from coterie.base import labelled
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError, ParameterError
from coterie.mixture._emissions.emission import rows_per_chunk
from coterie.mixture._engine.em import Expectation, Model, Sample, expect
from coterie.mixture._engine.starts import numbers
from coterie.mixture._engine.weights import FixedWeights
from coterie.mixture._inference.answer import Answer, normalise
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.mean_field import MeanField
from coterie.mixture._inference.network import Network

# Sizes are sought to this share of their targets, on the way to that one, and promised to the last.
_SOUGHT, _ROUGHLY, PROMISED = 1e-10, 1e-3, 1e-6
# How far Newton's first step may move a log weight, in temperatures; steps before the temperature is raised,
# and at each one on the way back, which is so much of the one before. Found on random densities that differ
# by up to a million temperatures.
_REACH, _FEW_STEPS, _MOST_STEPS, _COOLING = 3.0, 15, 100, 0.35
# Moves of the units in an E-step, unless no probability changes by as much as this; turns of plain mean field
# before the first. A probability below the last number counts as this.
_MOVES, _STILL, _TURNS_TO_BEGIN, _LEAST = 20, 1e-6, 5, 1e-300


class DensityRows(NamedTuple):
    """Items and units as rows: their log-densities, how often log weights count in each, how often it counts.

    `fixed` is a number of items that every component has whatever the rows say.
    """

    log_density: Floats
    slope: Floats
    times: Floats
    fixed: float = 0.0


def _evaluate(
    rows: DensityRows, target: Floats, log_weights: Floats, temperature: float
) -> tuple[float, Floats, Floats]:
    """The objective of the module's docstring, its slope and its curvature."""

    def chunk(start: int, stop: int) -> tuple[float, Floats, Floats]:
        slope, times = rows.slope[start:stop], rows.times[start:stop]
        potential = rows.log_density[start:stop] + slope[:, None] * log_weights
        shares, log_sum = normalise(potential / temperature)
        weighted = shares * (times * slope**2)[:, None]
        curvature = np.diag(weighted.sum(axis=0)) - weighted.T @ shares
        return temperature * float(times @ log_sum), (times * slope) @ shares, curvature / temperature

    n, k = rows.log_density.shape
    values, slopes, curvatures = zip(*over_chunks(chunk, n, rows_per_chunk(k)), strict=True)
    rest = rows.fixed - target
    return sum(values) + float(rest @ log_weights), sum(slopes, rest), sum(curvatures, np.zeros((k, k)))


def _newton(
    rows: DensityRows, target: Floats, log_weights: Floats, temperature: float, tol: float, n_steps: int
) -> tuple[Floats, float]:
    """Log weights after some steps, and the largest gap as a share of its target."""
    k, reach = len(target), _REACH * temperature
    value, slope, curvature = _evaluate(rows, target, log_weights, temperature)
    gap = float(np.abs(slope / target).max())
    for _ in range(n_steps):
        if gap <= tol:
            break
        # a constant added to all weights changes nothing, and where all is flat the slope alone leads
        level = (np.trace(curvature) + 1e-10 * target.sum() / temperature) / k
        step = -np.linalg.solve(curvature + level * (1.0 / k + 1e-12 * np.eye(k)), slope)
        step *= min(1.0, reach / np.abs(step).max())
        there = _evaluate(rows, target, log_weights + step, temperature)
        new_gap = float(np.abs(there[1] / target).max())
        if there[0] < value or new_gap < gap:
            log_weights, gap, reach = log_weights + step, new_gap, 2.0 * reach
            value, slope, curvature = there
        else:
            reach = 0.25 * np.abs(step).max()
    return log_weights, gap


def balanced_log_weights(
    rows: DensityRows, target: Floats, temperature: float, log_weights: Floats
) -> tuple[Floats, float]:
    """Log weights at which sizes are the targets, from given ones on, and the largest gap as in `_newton`."""
    found, gap = _newton(rows, target, log_weights, temperature, _SOUGHT, _FEW_STEPS)
    if gap > PROMISED:
        below = rows.log_density.max(axis=1, keepdims=True) - rows.log_density
        heat = float(below[np.isfinite(below)].max())
        while heat > temperature:
            log_weights, _ = _newton(rows, target, log_weights, heat, _ROUGHLY, _MOST_STEPS)
            heat *= _COOLING
        found, gap = _newton(rows, target, log_weights, temperature, _SOUGHT, _MOST_STEPS)
    return found - logsumexp(found), gap


class BalancedWeights(FixedWeights):
    """Weights that the E-step finds, so that expected sizes are the targets: M-steps leave them alone.

    Every item counts once in the sizes. One that counts `eta` times in the components is moved so much less
    by the weights: these shares are best for the sum that EM improves.
    """

    kind = "balanced"

    def __init__(self, data: Sample, target: Floats, eta: float) -> None:
        self.data, self.target, self.eta = data, target, eta
        self.log_shares: Floats = np.log(target / target.sum())
        network = data.network
        self._field = MeanField(network.n_units, network.k, network.ends, network.beta)
        self._barred = ~_allowed(network)

    def start(self, log_weights: Floats) -> Floats:
        """The shares of the targets; units begin anew."""
        self._chance: Floats | None = None
        return self.log_shares

    def log_z(self, log_weights: Floats) -> float:
        """What makes the objective a bound on that of the mixture whose weights are the targets' shares."""
        return float(self.target @ (log_weights - self.log_shares))

    def find(self, inference: Inference | None, model: Model, iteration: int) -> Expectation:
        """The E-step, which sets the weights of the model."""
        data, density = self.data, np.empty((self.data.n, model.emission.k))

        def fill(start: int, stop: int) -> None:
            density[start:stop] = model.emission.log_prob(data.X[start:stop])

        over_chunks(fill, data.n, rows_per_chunk(data.d))
        own = data.network.gather(density[data.network.items])
        own[self._barred] = -np.inf
        answer = self._balance(density[data.is_free], own, model, inference)
        return expect(data, model, inference, eta=self.eta, answer=answer)

    def _balance(self, free: Floats, own: Floats, model: Model, inference: Inference | None) -> Answer:
        """Find the weights and move the units, from log-densities of free items and of units."""
        network, field = self.data.network, self._field
        cold, ones = 1.0 / model.temperature, np.ones(len(free))
        coupling = field.graph(own * cold, cold)
        # two labels that are opposites in a unit: what is not on one side is on the other
        same, opposite = network.exponent.T

        def moved(chance: Floats, price: Floats) -> tuple[Floats, Floats]:
            times = 1.0 + price
            pull = coupling @ chance + price[:, None] * np.log(np.maximum(chance, _LEAST))
            potential, slope = (own + pull / cold) / times[:, None], (same - opposite) / (self.eta * times)
            rows = DensityRows(
                np.concatenate([free, potential]),
                np.concatenate([ones, slope]),
                np.concatenate([ones, self.eta * times]),
                float(opposite.sum()),
            )
            found, _ = balanced_log_weights(rows, self.target, model.temperature, model.log_weights)
            return found, normalise((potential + slope[:, None] * found) * cold)[0]

        most = 0.5 * np.asarray(abs(coupling).sum(axis=1)).ravel()
        chance, price = own if self._chance is None else self._chance, np.zeros(len(own))
        if inference is not None and self._chance is None:
            # plain mean field, at weights that come nearer to the right ones
            for _ in range(_TURNS_TO_BEGIN):
                prior = network.prior(model.log_weights) / self.eta
                chance = inference.infer((own + prior) * cold, cold).marginals
                model.log_weights = 0.5 * (model.log_weights + moved(chance, price)[0])
        for left in reversed(range(_MOVES)):
            log_weights, new = moved(chance, price)
            change = new - chance
            still = np.abs(change).max(initial=0.0) < _STILL
            gain = price * rel_entr(new, np.maximum(chance, _LEAST)).sum(axis=1)
            gain += 0.5 * (change * (coupling @ change)).sum(axis=1)
            if gain.sum() < 0.0 and not still and (price < most).any():
                dearer = np.minimum(np.maximum(4.0 * price, 0.5), most)
                price = np.where(gain < 0.0, dearer, price) if left > 1 else most
                continue
            chance, model.log_weights = new, log_weights
            if still:
                break
        self._chance = chance
        answer = field.answer(own * cold, chance)
        worth = network.constant + network.held_constant
        worth += float(network.counts(chance) @ model.log_weights) / self.eta
        return answer._replace(log_z=answer.log_z + cold * worth)


def _allowed(network: Network) -> Any:
    """Which labels units may have, by their own and those of units that hard pairs part them from."""
    held = network.clamp[:, None] == np.arange(network.k)
    may = held | (network.clamp[:, None] < 0)
    u, v = network.ends[network.beta == -np.inf].T
    np.logical_and.at(may, u, ~held[v])
    np.logical_and.at(may, v, ~held[u])
    return may


def read_targets(values: Any, data: Sample, known: Constraints) -> Floats:
    """Target sizes: equal ones, shares that sum to 1, or numbers of items; what is sure must leave room."""
    n, k, network = data.n, data.network.k, data.network
    target = np.full(k, n / k) if values is None else numbers(values, "target_sizes")
    total = float(target.sum())
    sums_up = min(abs(total - 1.0), abs(total - n) / n) <= PROMISED
    if target.shape != (k,) or not (target > 0).all() or not sums_up:
        raise ParameterError(
            f"target_sizes must be n_components={k} sizes above 0: shares that sum to 1, or numbers of items "
            f"that sum to {n}; got {target.tolist()}, whose sum is {total:g}.",
            "target_sizes",
            "n_components",
        )
    target = target * (n / total)
    may = _allowed(network)
    least = network.counts((may & (may.sum(axis=1) == 1)[:, None]).astype(np.float64))
    most = data.n_free + network.counts(may.astype(np.float64))
    for number, far, word in ((least, least - target, "at least"), (most, target - most, "at most")):
        h = int(np.argmax(far / target))
        if far[h] > PROMISED * target[h]:
            names = labelled(known)[2]
            name = f" (the class {names[h]!r})" if h < len(names) else ""
            raise InfeasibleConstraintsError(
                f"by what was stated, component {h}{name} has {word} {count_of(round(number[h]), 'item')}, "
                f"but its target size is {target[h]:g}. Change target_sizes (in the sorted order of the "
                "classes), or drop labels or hard pairs."
            )
    return target
