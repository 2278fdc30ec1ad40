"""Either-or triples: i is with j or with g, and those two are apart. A choice each, then a must-link.

Choices are made by cost, taken back where they contradict each other or the rest, and turned one by one as
long as that pays. With m triples there are 2^m choices: the outcome is good, not always best.

Source: the book, chapter 9, (9.8), corrected: as printed it would force all three together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coterie._arrays import Floats, Labels
from coterie.assign._sizes.bounds import MAX_CELLS
from coterie.assign._sizes.with_pairs import BoundedSolver
from coterie.assign._transport import BoundedLabels
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError

# Sets of choices that are looked at before the search gives up.
_MAX_TRIED = 2000
# Choices that are turned on trial in one assignment.
_MAX_TURNED = 32


class EitherOrSolver:
    """A solver for triples: one `BoundedSolver` for the choices made, until better ones are found."""

    plain = False

    def __init__(
        self, known: Constraints, triples: Any, k: int, make: Callable[..., BoundedSolver], budget: int
    ) -> None:
        """`known` keeps the second and third of each triple apart; `make` builds the solver of pairs."""
        self.known, self.triples, self.k, self.make, self.budget = known, triples, k, make, budget
        self.chosen: Any = None
        self.solver: Any = None

    def _with(self, chosen: Any) -> Constraints:
        """All that is known, and the must-links that some choices stand for (-1: not chosen yet)."""
        made = chosen >= 0
        mates = np.where(chosen == 1, self.triples[:, 2], self.triples[:, 1])
        pairs = np.column_stack([self.triples[:, 0], mates])[made]
        return self.known | Constraints(must_link=pairs, hard=True, n_items=self.known.n_items)

    def _first(self, costs: Any) -> Any:
        """Choices that do not contradict each other, cheap ones first."""
        i, j, g = (np.asarray(costs[self.triples[:, c], : self.k], dtype=np.float64) for c in range(3))
        prefer = (i + g).min(axis=1) + j.min(axis=1) < (i + j).min(axis=1) + g.min(axis=1)
        chosen = np.full(len(self.triples), -1)
        tried = 0
        undecided = False
        at = 0
        n_tried = np.zeros(len(chosen), dtype=int)  # how many of its two ways a triple has tried
        while at < len(chosen):
            if n_tried[at] == 2:
                n_tried[at], chosen[at] = 0, -1
                at -= 1
                if at < 0:
                    break
                continue
            chosen[at] = prefer[at] ^ (n_tried[at] == 1)
            n_tried[at] += 1
            tried += 1
            if tried > _MAX_TRIED:
                undecided = True
                break
            status = self._with(chosen).check(self.k, budget=self.budget).status
            if status != "infeasible":
                at += 1
        if at == len(chosen):
            return chosen
        if undecided:
            raise UndecidedError(
                f"{_MAX_TRIED:,} ways to choose among {len(chosen)} either-or triples were tried, and none "
                "agreed with the other constraints."
            )
        raise InfeasibleConstraintsError(
            f"the {len(chosen)} either-or triples cannot all hold together with the other constraints under "
            f"{self.k} clusters: every choice contradicts some of them."
        )

    def solve(
        self, costs: Any, before: Labels | None = None, potentials: Floats | None = None, *, last: bool = True
    ) -> BoundedLabels:
        """Labels for these costs; never dearer than those before."""
        if before is None:
            try:
                self.chosen = self._first(costs)
                self.solver, found = self._feasible(costs, potentials, last)
            except UndecidedError:
                self.solver, found = self._exactly(costs)
        else:
            found = self.solver.solve(costs, before, potentials, last=last)
        return self._turn(costs, found, last) if last or before is None else found

    def _feasible(
        self, costs: Any, potentials: Floats | None, last: bool
    ) -> tuple[BoundedSolver, BoundedLabels]:
        """A solver for the choices made, or for others if the bounds do not agree with them."""
        failed: Exception | None = None
        best: tuple[Any, BoundedSolver, BoundedLabels] | None = None
        for turn in [-1, *range(len(self.chosen))]:
            chosen = self.chosen.copy()
            if turn >= 0:
                chosen[turn] ^= 1
            try:
                known = self._with(chosen)
                if known.check(self.k, budget=self.budget).status == "infeasible":
                    continue
                solver = self.make(known)
                found = solver.solve(costs, None, potentials, last=last)
            except InfeasibleConstraintsError as error:
                failed = failed or error
                continue
            if best is None or found.missed < best[2].missed:
                best = chosen, solver, found
            if found.missed == 0:
                break
        if best is not None and (best[2].missed == 0 or not self.budget):
            self.chosen, solver, found = best
            return solver, found
        raise UndecidedError(
            f"no choice among the either-or triples was found that fits the bounds. {failed or ''}"
        )

    def _exactly(self, costs: Any) -> tuple[BoundedSolver, BoundedLabels]:
        """Choices from the integer program, where it is small enough; raises if there are none."""
        program = self.make(self.known, either_or=self.triples, exact=True)
        if program.n_cells > MAX_CELLS:
            raise UndecidedError(
                "no choice among the either-or triples was found that agrees with the bounds and the "
                "other constraints, nor proven that there is none."
            )
        found = program.solve(costs)
        i, _, g = self.triples.T
        self.chosen = (found.labels[i] == found.labels[g]).astype(np.int64)
        return self.make(self._with(self.chosen)), found

    def _turn(self, costs: Any, found: BoundedLabels, last: bool) -> BoundedLabels:
        """Take the other choice where the item would be cheaper there, if all in all that pays."""
        i, j, g = self.triples.T
        other = np.where(self.chosen == 1, j, g)
        labels = found.labels
        gain = np.asarray(costs[i, labels[i]], dtype=np.float64) - costs[i, labels[other]]
        value = self.solver.value(costs, labels)
        for turn in np.argsort(-gain, kind="stable")[:_MAX_TURNED].tolist():
            chosen = self.chosen.copy()
            chosen[turn] ^= 1
            known = self._with(chosen)
            if known.check(self.k, budget=self.budget).status == "infeasible":
                continue
            try:
                solver = self.make(known)
                trial = solver.solve(costs, None, found.potentials, last=last)
            except InfeasibleConstraintsError:
                continue
            new = solver.value(costs, trial.labels)
            if (trial.missed, new) < (found.missed, value - 1e-12 * abs(value)):
                self.chosen, self.solver, found, value = chosen, solver, trial, new
        return found

    def duals(self, costs: Any, found: BoundedLabels) -> tuple[Floats, Floats | None]:
        """As of the solver for the choices made."""
        return self.solver.duals(costs, found)
