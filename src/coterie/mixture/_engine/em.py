"""EM (expectation and maximisation) for free items and a constrained core.

Items that no constraint names are independent given the model: their shares are found and used up block by
block, and never stored. The items of the core are gathered into the units of the network, whose labels the
inference finds together. A temperature flattens all shares alike; a factor for the core lets few constrained
items count for many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from coterie._arrays import Floats
from coterie._compiled import chunk_rows, over_chunks
from coterie.base import Step
from coterie.mixture._emissions.emission import Emission, Statistics, rows_per_chunk
from coterie.mixture._inference.answer import Answer, normalise
from coterie.mixture._inference.choose import Inference
from coterie.mixture._inference.network import Network


@dataclass
class Model:
    """The parameters of a mixture."""

    emission: Emission
    log_weights: Floats
    temperature: float = 1.0
    # whether it began wide or hot, so that pairs could turn everything, and not at clusters
    wide: bool = False

    def copy(self) -> Model:
        """The same, to be changed apart."""
        return Model(self.emission.copy(), self.log_weights.copy(), self.temperature, self.wide)

    def log_joint(self, X: Any) -> Floats:
        """Log-density of rows together with each component."""
        found = self.emission.log_prob(X)
        if self.emission.density:  # a squared distance has no unit that goes with the weights
            found += self.log_weights
        return found

    def shares(self, X: Any) -> tuple[Floats, Floats]:
        """Shares of the components in free rows, and the log-density of each."""
        n, d = X.shape
        shares, density = np.empty((n, len(self.log_weights))), np.empty(n)

        def fill(start: int, stop: int) -> None:
            potential = self.log_joint(X[start:stop])
            if self.temperature != 1.0:
                potential /= self.temperature
            shares[start:stop], density[start:stop] = normalise(potential)

        over_chunks(fill, n, rows_per_chunk(d))
        return shares, density


class Expectation(NamedTuple):
    """The log-likelihood, statistics for the M-step, and how often labels were drawn from the prior."""

    log_likelihood: float
    statistics: Statistics
    counts: Floats
    answer: Answer | None


class Sample:
    """The rows, of which some are a free mass and the others a core; neither is ever copied whole."""

    def __init__(self, X: Any, network: Network) -> None:
        self.X, self.network = X, network
        self.n, self.d = X.shape
        self.is_free = np.ones(self.n, dtype=bool)
        self.is_free[network.items] = False
        self.n_free = int(self.is_free.sum())
        # expected sizes that the components shall have, if any
        self.target: Floats | None = None

    def free(self, start: int, stop: int) -> Any:
        """The free ones of some rows."""
        rows, mine = self.X[start:stop], self.is_free[start:stop]
        return rows if mine.all() else rows[mine]

    def core(self, start: int, stop: int) -> Any:
        """The rows of some items of the core."""
        return self.X[self.network.items[start:stop]]

    def core_potential(self, model: Model, *, prior: bool = True) -> Floats:
        """Log potentials of the units of the core."""
        n = len(self.network.items)
        found = np.empty((n, self.network.k))

        def fill(start: int, stop: int) -> None:
            found[start:stop] = model.emission.log_prob(self.core(start, stop))

        over_chunks(fill, n, rows_per_chunk(self.d))
        potential = self.network.gather(found)
        prior = prior and model.emission.density
        return potential + self.network.prior(model.log_weights) if prior else potential


def summed(job: Callable[[int, int], Statistics | None], n: int, d: int, emission: Emission) -> Statistics:
    """Add up what `job(start, stop)` gives for blocks of n rows; None is nothing."""
    rows = rows_per_chunk(d)

    def chunk(start: int, stop: int) -> list[Floats] | None:
        total: list[Floats] | None = None
        for first in range(start, stop, rows):
            total = _plus(total, job(first, min(first + rows, stop)))
        return total

    total: list[Floats] | None = None
    size = emission.n_parameters() + 1
    for part in over_chunks(chunk, n, chunk_rows(n, size, size)):
        total = _plus(total, part)
    assert total is not None
    return tuple(total)


def _plus(total: list[Floats] | None, more: Any) -> list[Floats] | None:
    if more is None:
        return total
    if total is None:
        return [np.array(part) for part in more]
    for mine, part in zip(total, more, strict=True):
        mine += part
    return total


def expect(
    data: Sample,
    model: Model,
    inference: Inference | None,
    *,
    eta: float = 1.0,
    core_prior: bool = True,
    answer: Answer | None = None,
) -> Expectation:
    """The E-step; at a temperature, the log-likelihood is minus the free energy.

    `inference` is None where there is no core, `eta` how often the core counts, `core_prior` whether the
    weights of the components count for the core, `answer` what inference said, if it was asked.
    """
    temperature = model.temperature

    def one_chunk(start: int, stop: int) -> Statistics | None:
        rows = data.free(start, stop)
        if not rows.shape[0]:
            return None
        potential = model.log_joint(rows)
        if temperature != 1.0:
            potential /= temperature
        shares, log_sum = normalise(potential)
        return np.array(log_sum.sum()), *model.emission.statistics(rows, shares)

    log_likelihood, counts = 0.0, np.zeros(model.emission.k)
    statistics: list[Floats] | None = None
    if data.n_free:
        total, *statistics = summed(one_chunk, data.n, data.d, model.emission)
        log_likelihood = temperature * float(total)
        counts = counts + statistics[0]
    if inference is None:
        assert statistics is not None
        return Expectation(log_likelihood, tuple(statistics), counts, None)
    if answer is None:
        potential = data.core_potential(model, prior=core_prior)
        answer = inference.infer(potential / temperature, 1.0 / temperature)
    shares = data.network.to_items(answer.marginals)

    def core_chunk(start: int, stop: int) -> Statistics:
        return model.emission.statistics(data.core(start, stop), shares[start:stop])

    core = summed(core_chunk, len(shares), data.d, model.emission)
    statistics = _plus(statistics, [eta * part for part in core])
    assert statistics is not None
    if core_prior:
        counts = counts + eta * data.network.counts(answer.marginals)
    return Expectation(log_likelihood + eta * temperature * answer.log_z, tuple(statistics), counts, answer)


# Number of the E-step after the last M-step.
LAST = -1


class WeightStep(Protocol):
    """How mixing weights start and are updated, and what the objective subtracts for them."""

    kind: str

    def start(self, log_weights: Floats) -> Floats: ...

    def update(self, counts: Floats, log_weights: Floats) -> Floats: ...

    def log_z(self, log_weights: Floats) -> float: ...


@dataclass
class EMOutcome:
    """What one start found."""

    model: Model
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    # temperatures and free energies, where the temperature fell
    path: list[tuple[float, float]] = field(default_factory=list)
    # whether a callback asked to stop
    stopped: bool = False
    # what inference said last, and about itself
    answer: Answer | None = None
    note: str = ""
    converged: bool = False

    @property
    def objective(self) -> float:
        """What is minimised."""
        return self.history[-1]


def run_em(
    model: Model,
    find: Callable[[Model, int], Expectation],
    weights: WeightStep,
    *,
    n_items: int,
    max_iter: int,
    tol: float,
    step: Step,
) -> EMOutcome:
    """Iterate from a model until the objective per item changes by less than `tol`.

    `find` is the E-step of a model in an iteration, `LAST` for the one after all M-steps; the history holds
    the objective before each M-step, and after the last.
    """
    outcome = EMOutcome(model)

    def note(found: Expectation) -> float:
        value = found.log_likelihood - weights.log_z(model.log_weights) + model.emission.log_prior()
        if not np.isfinite(value):
            raise ValueError(
                "the log-likelihood is not finite: some items are impossible under every component. Look for "
                "values that are very far from all others, or raise reg_covar."
            )
        outcome.history.append(-value)
        return -value

    before = np.inf
    for iteration in range(max_iter):
        found = find(model, iteration)
        now = note(found)
        model.emission.update(found.statistics)
        model.log_weights = weights.update(found.counts, model.log_weights)
        outcome.n_iter = iteration + 1
        stop = step(now)
        if abs(before - now) < tol * n_items:
            outcome.converged = True
            break
        before = now
        if stop:
            outcome.stopped = True
            break
    found = find(model, LAST)
    note(found)
    outcome.answer = found.answer
    return outcome
