"""The search of pairwise clustering: the mean field is cooled down, then labels are certain and go down.

A start begins with no unit in any cluster more than in another. As the temperature falls clusters part, each
time along the direction that matters most. Constraints act from the beginning, but no stronger than the data
at first: strong ones alone would sort the units they name before the data are heard. At temperature 0 units
move one by one, then several where constraints tie them together, and the objective never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core import build_core, rotated, soft_penalty
from coterie.assign._pairs import SoftSolver
from coterie.constraints import Constraints
from coterie.distance._kernels import ItemKernel
from coterie.kmeans._kernel import Descent, KernelLabels, contracted
from coterie.mixture._pairwise.energies import Links, LocalEnergies, first_split

# The first temperature, and the last one, as shares of that at which the first cluster splits.
_HOT, _COLD = 1.25, 0.025
# Sweeps at one temperature, the change of probabilities that ends them, and the noise before them.
_SWEEPS, _SETTLED, _NOISE = 20, 1e-3, 1e-2
# What a forbidden pair costs while chance is in play, in units of the mean cost of an item.
_FORBIDDEN = 10.0


class PairwiseSearch(Descent):
    """Labels of the units (items that hard must-links join); one for all starts of a fit."""

    def __init__(
        self,
        D: Any,
        known: Constraints,
        weight: float,
        k: int,
        scale: float,
        cooling: float,
        rng: np.random.RandomState,
    ) -> None:
        self.known, self.weight, self.k, self.rng = known, weight, k, rng
        self.unit = known.only_hard().components
        own, ones = np.diagonal(D).astype(np.float64), np.ones(len(D))
        units = contracted(ItemKernel(D, False, own), self.unit, ones, ones)
        D, mass, self.m = units.table, units.mass, units.m
        own = np.diagonal(D).astype(np.float64)
        if own.any():  # of single items it is 0
            np.fill_diagonal(D, 0.0)
        self.energies = LocalEnergies(D, own, mass, k)
        core = build_core(known, "hard").scaled(weight)
        self.solver = SoftSolver(known, core, k, rng=rng)
        self.units: Index = np.zeros(core.n_units, dtype=np.int64)
        self.units[core.unit] = self.unit[core.items]
        self.components = core.components()
        self.links = Links.of(core, self.units, self.m)
        self.priced = self.links.priced(_FORBIDDEN * scale, mass)
        split = first_split(D, own, mass) if k > 1 else 0.0
        stated_split = self.priced.split(k) if split > 0 else 0.0
        self.weak = min(1.0, split / stated_split) if stated_split > 0 else 1.0
        top = _HOT * (split + self.weak * max(stated_split, 0.0))
        # below that it is rounding: all items are in one place
        n_steps = ceil(log(_COLD * split / top) / log(cooling)) + 1 if split > 1e-12 * scale else 0
        self.temperatures = top * cooling ** np.arange(n_steps)

    def run(self, max_iter: int, step: Callable[[float | None], bool]) -> KernelLabels:
        """Cool down, then go down."""
        n_sweeps, stopped = self._anneal(step)
        found = self.descend(self._certain(), 1 if stopped else max_iter, step)
        penalty = self.weight * soft_penalty(self.known, found.labels[self.unit]) if self.known else 0.0
        found.objective = found.history[-1] = self.energies.value() + penalty
        found.n_iter += n_sweeps
        return found

    def _anneal(self, step: Callable[[float | None], bool]) -> tuple[int, bool]:
        """Follow the mean field from high to low temperature; the number of sweeps, and whether to stop."""
        energies, links = self.energies, self.priced
        Q = np.full((self.m, self.k), 1.0 / self.k)
        energies.set(Q, links)
        n_sweeps, last = 0, len(self.temperatures) - 1
        for number, temperature in enumerate(self.temperatures):
            Q *= np.exp(_NOISE * self.rng.normal(size=Q.shape))
            Q /= Q.sum(axis=1, keepdims=True)
            energies.set(Q, links.scaled(self.weak ** (1.0 - number / max(last, 1))))
            n_sweeps += self._converge(temperature)
            if step(None):
                return n_sweeps, True
        return n_sweeps, False

    def _converge(self, temperature: float) -> int:
        order = rotated(np.arange(self.m), self.rng)
        for number in range(1, _SWEEPS + 1):
            if self.energies.sweep(order, 1.0 / temperature) < _SETTLED:
                return number
        return _SWEEPS

    def _certain(self) -> Labels:
        """Labels near the mean field that keep to what is hard."""
        cost = self.energies.costs()
        labels: Labels = cost.argmin(axis=1).astype(np.int32)
        if len(self.units):
            excess_cost = self._excess_costs(cost)
            labels[self.units] = self.solver.improve(excess_cost, self.solver.first(excess_cost))[0]
        return labels

    def _excess_costs(self, cost: Floats) -> Floats:
        """Costs of the units that constraints name, above the least."""
        excess_cost = cost[self.units]
        return excess_cost - excess_cost.min(axis=1, keepdims=True)

    # ---- temperature 0 --------------------------------------------------------------------------------

    @property
    def labels(self) -> Labels:
        """The cluster of each unit."""
        return self.energies.labels

    def _set(self, labels: Labels) -> float:
        self.energies.set(np.eye(self.k)[labels], self.links)
        return self._value()

    def _value(self) -> float:
        return self.energies.value() + self.solver.penalty(self.labels[self.units])

    def _sweep(self) -> bool:
        if self.k == 1:
            return False
        return self.energies.sweep(rotated(np.arange(self.m), self.rng), 0.0) > 0

    def _together(self) -> bool:
        """Where constraints bar single moves, ask the solver, from the labels and anew; take what pays."""
        if not len(self.units) or self.k == 1:
            return False
        moved = False
        for anew in (False, True):
            excess_cost, now = self._excess_costs(self.energies.costs()), self.labels[self.units]
            moved |= self._take(
                self.solver.improve(excess_cost, self.solver.first(excess_cost) if anew else now)[0]
            )
        return moved

    def _take(self, proposed: Labels) -> bool:
        """Follow a proposal in those connected parts of the constraints in which the objective falls."""
        energies, now, moved = self.energies, self.labels[self.units], False
        changed = np.flatnonzero(proposed != now)
        order = changed[np.argsort(self.components[changed], kind="stable")]
        old = self.solver.penalty(now)
        for component in (
            np.split(order, np.flatnonzero(np.diff(self.components[order])) + 1) if len(order) else []
        ):
            trial = now.copy()
            trial[component] = proposed[component]
            new = self.solver.penalty(trial)
            gain = energies.gain(self.units[component], proposed[component]) + old - new
            if gain > 1e-9 * (abs(energies.value()) + abs(old)):
                energies.move(self.units[component], proposed[component])
                moved, now, old = True, trial, new
        return moved

    def probabilities(self, labels: Labels) -> Floats:
        """Of the clusters of the units, at the last temperature, from labels on."""
        if not len(self.temperatures):
            return np.eye(self.k)[labels]
        self.energies.set(np.eye(self.k)[labels], self.priced)
        self._converge(float(self.temperatures[-1]))
        return self.energies.Q
