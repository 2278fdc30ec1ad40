"""Mean field: every unit has probabilities of its own, brought into line with its neighbours' in turn.

Updates go one after the other, in place: each raises the bound on log Z, whereas updates at the same time
swing to and fro on cannot-links. A forbidden coupling counts as one that nothing outweighs. Where couplings
are strong, the first unit touched would be copied by all: "continuation" therefore begins with couplings
under which nothing is decided yet and raises them step by step (after chapter 5 of the book, where the start
is left open).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie._compiled import kernel
from coterie.base import top_eigenvalue
from coterie.constraints._model import sparse_graph
from coterie.mixture._inference.answer import Answer, normalise

Start = Literal["warm", "continuation", "best"]

# A forbidden coupling outweighs every difference of potentials by so much.
_FORBIDDEN = 50.0
# Rungs of the ladder with sweeps on each.
_RUNGS, _RUNG_SWEEPS = 12, 4
# "best" climbs in the first of so many calls, and goes on from the last answer in the others.
_CLIMB_EVERY = 5
# Cells that one call of the compiled loop may visit: it returns for Ctrl-C about twice a second.
_CELLS_A_CALL = 20_000_000


@kernel
def _sweep(
    potential: Floats,
    indptr: Index,
    indices: Index,
    beta: Floats,
    factor: float,
    chance: Floats,
    active: NDArray[np.bool_],
    sweeps: int,
    tol: float,
) -> bool:
    """Update units in turn, up to `sweeps` times; a unit rests until a neighbour has changed.

    Written: `chance`, `active`. Returns whether all rest.
    """
    n, k = potential.shape
    local_energy = np.empty(k)
    for _ in range(sweeps):
        settled = True
        for i in range(n):
            if not active[i]:
                continue
            active[i] = False
            for a in range(k):
                local_energy[a] = potential[i, a]
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                b = beta[t] * factor
                for a in range(k):
                    local_energy[a] += b * chance[j, a]
            top = local_energy.max()
            total = 0.0
            for a in range(k):
                local_energy[a] = math.exp(local_energy[a] - top)
                total += local_energy[a]
            change = 0.0
            for a in range(k):
                new = local_energy[a] / total
                change = max(change, abs(new - chance[i, a]))
                chance[i, a] = new
            if change >= tol:
                settled = False
                for t in range(indptr[i], indptr[i + 1]):
                    active[indices[t]] = True
        if settled:
            return True
    return False


class MeanField:
    """Mean-field inference, a `Part`; log Z is a bound from below.

    Parameters
    ----------
    n, k, ends, beta
        As in `Part`.
    start : {"warm", "continuation", "best"}
        Where the sweeps begin: at the last answer (the first time at what holds without couplings); at weak
        couplings that grow; or the better of both, in every fifth call.
    tol, max_sweeps : float, int
        Sweeps end when no probability changes by as much, or after so many.
    """

    def __init__(
        self,
        n: int,
        k: int,
        ends: Index,
        beta: Floats,
        *,
        start: Start = "warm",
        tol: float = 1e-4,
        max_sweeps: int = 50,
    ) -> None:
        self.k, self.ends, self.start = k, ends, start
        self.beta = beta
        self.tol, self.max_sweeps = tol, max_sweeps
        rows = np.arange(len(ends), dtype=np.int64)
        self.indptr, self.indices, _, self._row = sparse_graph(n, ends, beta, rows)
        self.state: Floats | None = None
        self._calls = 0
        self._lowest: float | None = None

    def restart(self) -> None:
        """Forget the last answer."""
        self.state, self._calls = None, 0

    def infer(self, potential: Floats, scale: float = 1.0) -> Answer:
        """Probabilities under potentials, and the bound on log Z."""
        potential = np.ascontiguousarray(potential, dtype=np.float64)
        self._scaled = self._couplings(potential, scale)
        answers = []
        climb = self.start == "best" and self._calls % _CLIMB_EVERY == 0
        self._calls += 1
        if self.start == "continuation" or self.state is None or climb:
            chance = normalise(potential)[0]
            if self.start in ("continuation", "best"):
                self._climb(potential, chance)
            answers.append(self._converge(potential, chance))
        if self.start in ("warm", "best") and self.state is not None:
            answers.append(self._converge(potential, self.state.copy()))
        answer = max(answers, key=lambda found: found.log_z)
        self.state = answer.marginals
        return answer

    def graph(self, potential: Floats, scale: float) -> sparse.csr_matrix:
        """The couplings, scaled, as a symmetric matrix."""
        self._scaled = self._couplings(potential, scale)
        coupled = self._scaled[self._row] if len(self._row) else self._scaled
        n = len(self.indptr) - 1
        return sparse.csr_matrix((coupled, self.indices, self.indptr), (n, n))

    def _couplings(self, potential: Floats, scale: float) -> Floats:
        """Couplings times `scale`, and a finite number for the forbidden ones that nothing outweighs."""
        finite = np.isfinite(self.beta)
        if finite.all():
            return self.beta * scale
        lowest = np.where(np.isfinite(potential), potential, np.inf).min(axis=1)
        spread = potential.max(axis=1) - lowest
        held = float(np.abs(self.beta[finite]).sum()) * scale
        forbidden = -(_FORBIDDEN + 2.0 * float(spread[np.isfinite(spread)].max(initial=0.0)) + held)
        return np.where(finite, np.where(finite, self.beta, 0.0) * scale, forbidden)

    def _converge(self, potential: Floats, chance: Floats) -> Answer:
        self._sweeps(potential, 1.0, chance, self.max_sweeps)
        return self.answer(potential, chance)

    def answer(self, potential: Floats, chance: Floats) -> Answer:
        """What these probabilities are worth, at the last couplings."""
        together = (chance[self.ends[:, 0]] * chance[self.ends[:, 1]]).sum(axis=1)
        sure = chance > 0
        own = float((chance[sure] * (potential[sure] - np.log(chance[sure]))).sum())
        return Answer(chance, own + float(self._scaled @ together), together)

    def _sweeps(self, potential: Floats, factor: float, chance: Floats, most: int) -> None:
        cells = potential.size + len(self.indices) * self.k
        a_call = max(1, _CELLS_A_CALL // max(cells, 1))
        graph = self.indptr, self.indices, self._scaled[self._row] if len(self._row) else self._scaled
        active = np.ones(len(potential), dtype=bool)
        while most > 0:
            now = min(most, a_call)
            sweep = _sweep.for_work(now * cells)
            if sweep(potential, *graph, factor, chance, active, now, self.tol):
                break
            most -= now

    def _climb(self, potential: Floats, chance: Floats) -> None:
        """Raise the couplings from where nothing is decided yet to their own strength."""
        strongest = float(np.abs(self._scaled).max(initial=0.0))
        if not strongest:
            return
        if self._lowest is None:
            n = len(self.indptr) - 1
            graph = sparse.csr_matrix((np.ones(len(self.indices)), self.indices, self.indptr), (n, n))
            self._lowest = 0.5 * self.k / top_eigenvalue(lambda v: graph @ v, n)
        begin = min(1.0, self._lowest / strongest)
        for rung in np.geomspace(begin, 1.0, _RUNGS)[:-1] if begin < 1.0 else ():
            self._sweeps(potential, float(rung), chance, _RUNG_SWEEPS)
