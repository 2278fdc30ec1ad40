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

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from coterie._arrays import Floats
from coterie._compiled import over_chunks
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
# at first, in temperatures; a step that raises the objective is taken again at a quarter.
_FAR, _REACH, _SHORTER = 0.5, 3.0, 0.25
# Steps before the temperature is raised, and at the last one. On the way back each temperature is so much of
# the one before, and has so many steps for sizes that are right to a thousandth. Found on random densities
# that differ by up to a million temperatures.
_FEW_STEPS, _MOST_STEPS = 15, 100
_COOLING, _STEPS_ON_THE_WAY, _ROUGHLY = 0.35, 40, 1e-3
# Times that mean field and weights take turns, unless sizes are as near as this; least and most of a step
# that is taken.
_TURNS, _SETTLED, _DAMPING = 40, 1e-8, (0.1, 1.0)
# A share, a size or a response below this counts as this.
_LEAST = 1e-300


class DensityRows(NamedTuple):
    """Items and units of items as rows.

    Attributes
    ----------
    log_density : array of shape (n_rows, k)
        Log potentials without the weights.
    slope, times : arrays of shape (n_rows,)
        How often the log weights count in each row, and how often the row counts.
    fixed : float
        Items that every component has whatever the rows say.
    """

    log_density: Floats
    slope: Floats
    times: Floats
    fixed: float = 0.0

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
            reach = max(reach, 2.0 * np.abs(step).max())
            log_weights, here, gap = log_weights + step, new, new_gap
        else:
            reach = _SHORTER * min(reach, np.abs(step).max())
    return log_weights, float(gap)


def balanced_log_weights(
    rows: DensityRows, target: Floats, temperature: float = 1.0, log_weights: Floats | None = None
) -> tuple[Floats, float]:
    """The log weights at which expected sizes are the targets, and the gap at those that were given.

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
        The largest difference of a size and its target, as a share of the target; before, not after.
    """
    begin = np.zeros(len(target)) if log_weights is None else log_weights
    found, before = _search(rows, target, begin, temperature, 0)
    if before > _SOUGHT:
        found, gap = _search(rows, target, begin, temperature, _FEW_STEPS)
        if gap > PROMISED:
            values = np.where(np.isfinite(rows.log_density), rows.log_density, np.nan)
            heat = float(np.nanmax(np.nanmax(values, axis=1) - np.nanmin(values, axis=1)))
            while heat > temperature:
                begin, _ = _search(rows, target, begin, heat, _STEPS_ON_THE_WAY, _ROUGHLY)
                heat *= _COOLING
            cooled, other = _search(rows, target, begin, temperature, _MOST_STEPS)
            found = cooled if other < gap else found
    return found - logsumexp(found), before


class BalancedWeights(FixedWeights):
    """Weights that the E-step has found, so that expected sizes are the targets: M-steps leave them alone."""

    kind = "balanced"

    def __init__(self, target: Floats) -> None:
        self.target = target
        self.log_shares: Floats = np.log(target / target.sum())

    def start(self, log_weights: Floats) -> Floats:
        """The shares of the targets."""
        return self.log_shares

    def log_z(self, log_weights: Floats) -> float:
        """What makes the objective a bound on that of the mixture whose weights are the targets' shares."""
        return float(self.target @ (log_weights - self.log_shares))


def balanced_expectation(
    data: Sample, model: Model, inference: Inference | None, target: Floats, eta: float = 1.0
) -> Expectation:
    """The E-step with weights at which expected sizes are the targets; changes the weights of the model.

    Every item counts once in the sizes. One that counts `eta` times in the components is moved so much less
    by the weights: these shares are best for the sum that EM improves.
    """
    network, temperature = data.network, model.temperature
    n_units = network.n_units if inference is not None else 0
    before = np.concatenate([[0], np.cumsum(data.is_free)])
    table = np.empty((data.n_free + n_units, model.emission.k))

    def fill(start: int, stop: int) -> None:
        if before[start] < before[stop]:
            table[before[start] : before[stop]] = model.emission.log_prob(data.free(start, stop))

    over_chunks(fill, data.n, rows_per_chunk(data.d))
    # two labels that are opposites in a unit: what is not on one side is on the other
    same, opposite = network.exponent.T if n_units else np.zeros((2, 0))
    ones = np.ones(data.n_free)
    slope = np.concatenate([ones, (same - opposite) / eta])
    rows = DensityRows(table, slope, np.concatenate([ones, np.full(n_units, eta)]), float(opposite.sum()))
    answer: Answer | None = None
    last, damping = np.zeros(len(target)), 1.0
    for turn in range(_TURNS):
        if inference is not None:
            potential = data.core_potential(model, prior=1.0 / eta)
            answer = inference.infer(potential / temperature, 1.0 / temperature)
            # as if neighbours stayed as they are: potentials that give these probabilities
            held = temperature * np.log(np.maximum(answer.marginals, _LEAST))
            table[data.n_free :] = held - slope[data.n_free :, None] * model.log_weights
        found, gap = balanced_log_weights(rows, target, temperature, model.log_weights)
        if gap <= _SETTLED or turn == _TURNS - 1:
            break
        # neighbours follow, so the step goes too far: by how much, the last one tells
        step = found - model.log_weights
        if last @ last > 0:
            followed = 1.0 - float(step @ last / (last @ last))
            damping = float(np.clip(damping / max(followed, _LEAST), *_DAMPING))
        last = step
        model.log_weights = model.log_weights + damping * step
        if inference is None:
            break
    return expect(data, model, inference, eta=eta, core_prior=1.0 / eta, answer=answer)


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


def check_labels(target: Floats, data: Sample, known: Constraints) -> None:
    """Raise where more items belong to a class for sure than its component may have."""
    count = np.bincount(data.network.labelled()[1], minlength=len(target))
    over = np.flatnonzero(count > target * (1.0 + PROMISED))
    if len(over):
        h = int(over[0])
        raise InfeasibleConstraintsError(
            f"{count[h]} items have the label {labelled(known)[2][h]!r} by what was stated, but the target "
            f"size of component {h}, which is this class, is {target[h]:g}. Raise its target_sizes (in the "
            "sorted order of the classes), or drop labels."
        )
