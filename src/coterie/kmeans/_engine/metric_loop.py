"""The loop with a third half-step: after labels and centres the distortion learns its metric.

A metric in closed form is put in place at once. One that follows a gradient makes a step, halved until the
objective does not rise, where the rule asks for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop

# A metric that changes by less than this share stands still.
_STILL = 1e-4
# Passes without a moved item after which a creeping metric is let go.
_MOST_STABLE = 20
_MOST_HALVINGS = 30


@dataclass
class LearnedOutcome(LoopOutcome):
    """Where a start ended, and the metric it learned."""

    metric: Any = None
    regularized: int = 0
    parts: dict[str, float] = field(default_factory=dict)


class MetricLoop(PrototypeLoop):
    """Assign, update, learn, repeat; `learning=False` leaves the metric where it starts."""

    distortion: Any
    solver: Any

    def __init__(self, distortion: Any, solver: Any, k: int, *, learning: bool) -> None:
        distortion.begin(k)
        super().__init__(distortion, solver, k, 1.0)
        self.learning = learning

    def run(
        self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]
    ) -> LoopOutcome:
        """One start, from given centres."""
        self.distortion.begin(self.k)
        self._follow()
        self.tol, self.n_stable, self.metric_changed = tol, 0, False
        return super().run(centres, max_iter=max_iter, tol=tol, step=step)

    def _follow(self) -> None:
        """Bring up to date what hangs on the metric: with cosine, the length of every row."""
        if self.distortion.rescales and self.solver is not None:
            core = self.core
            self.unit_sums = self.distortion.points.add_up(
                core.items, core.unit, core.n_units, self.distortion.row_scale
            )

    def _assign(self, centres: Floats, last: bool = False) -> int:
        before = self.totals[0].copy()
        changed = super()._assign(centres, last)
        moved = changed and (before != self.totals[0]).any()  # by items that weigh something
        self.n_stable = 0 if moved else self.n_stable + 1
        return changed

    def _tolerance(self) -> float:
        if not self.distortion.closed:
            return super()._tolerance()
        box = self.distortion.box  # gains are in the unit of the metric
        return 1e-12 * float((box.scatter * box.start).sum()) / self.distortion.points.n

    def _refill(self, empty: Index, centres: Floats) -> None:
        before = self.labels.copy()
        super()._refill(empty, centres)
        if self.distortion.by_cluster:
            # a new cluster takes over the metric of the one that it came from, so that nothing gets dearer
            metric = self.distortion.metric.copy()
            for h in empty.tolist():
                members = np.flatnonzero(self.labels == h)
                if len(members):
                    metric[h] = metric[before[members[0]]]
            self.distortion.use(metric)

    def _learn(self, centres: Floats, history: list[float]) -> bool:
        settled = self.distortion.settled
        if not self.learning:
            self.distortion.after_pass()
            self.metric_changed = not settled
            return settled
        broken = None if self.solver is None else self.solver.broken(self.unit_labels)
        if self.distortion.closed:
            change = self.distortion.learn(*self.totals[:2], centres, broken)
            self._reprice(centres)
            history.append(self._objective(centres))
            return self.n_stable > 0 or change <= _STILL
        before = history[-1]
        core = np.empty(0, dtype=np.int64) if self.solver is None else self.core.items
        move = self.distortion.step_from(self.labels, self.totals, centres, broken, core)
        step, moved = 1.0, False
        old = self.distortion.metric
        for _ in range(_MOST_HALVINGS):
            self._use(move(step), centres)
            if not self.distortion.backtracks or self._objective(centres) <= before:
                moved = True
                break
            step /= 2.0
        if not moved:
            self._use(old, centres)
        self.distortion.after_pass()
        self.metric_changed = moved
        history.append(self._objective(centres))
        still = abs(before - history[-1]) <= self.tol * abs(history[-1])
        return settled and self.n_stable > 0 and (still or self.n_stable >= _MOST_STABLE)

    def _use(self, metric: Any, centres: Floats) -> None:
        distortion = self.distortion
        distortion.use(metric)
        if distortion.rescales:
            self._follow()
            rows, labels = np.arange(distortion.points.n), self.labels.astype(np.int64)
            sums = distortion.points.add_up(rows, labels, self.k, distortion.row_scale)
            self.totals[0][:] = sums.toarray() if sparse.issparse(sums) else sums
        self._reprice(centres)

    def _outcome(self, centres: Floats, history: list[float], n_iter: int, converged: bool) -> LoopOutcome:
        found = super()._outcome(centres, history, n_iter, converged)
        must, cannot = (
            (0.0, 0.0) if self.solver is None else self.solver.penalties(self.labels[self.core.items])
        )
        held = self.distortion.held_back()
        around, weighed = self.distortion.split(*self.totals[:2], centres)
        found = replace(found, centres=self.distortion.validated_centres(centres), inertia=around)
        if self.distortion.by_cluster:
            found.by_cluster += ("metric",)
        return LearnedOutcome(
            **vars(found),
            metric=self.distortion.metric,
            regularized=self.distortion.regularized,
            parts={"distortion": around, "must_link": must, "cannot_link": cannot, "metric": weighed + held},
        )
