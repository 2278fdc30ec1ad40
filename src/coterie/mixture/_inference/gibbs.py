"""Gibbs sampling of labels, by blocks that can cross forbidden couplings.

One unit at a time cannot move where a coupling forbids its neighbour's label, nor where must-links tie it to
its kind. So all moves take many units at once. Units are parted into blocks within which couplings form a
forest, and each block is drawn jointly, given all others: messages go up its trees, labels are drawn on the
way down. Every other sweep first bonds must-linked units that agree (Swendsen and Wang 1987) and then moves
the bonded clusters in the same manner, with only the cannot-links left between them; after that two labels
are exchanged along chains of units (as Wang, Swendsen and Kotecky 1989 do, here with couplings of both signs
and potentials). A sweep costs O(n k + m). Estimates are averages of each unit's probabilities given all
others, not of drawn labels, which varies less.

Each move keeps the distribution. With finite couplings every labelling is reached; with forbidden ones that
is sure if no unit has more than k - 2 of them, and common otherwise. But two triangles joined by three
couplings, all forbidden, have two kinds of labellings with three labels, and the sampler stays with one. What
it saw of its own progress is in `Gibbs.account`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import Floats, Index
from coterie._words import count_of
from coterie.assign import hard_pairs
from coterie.constraints import Constraints
from coterie.constraints._model import sparse_graph
from coterie.constraints._reading import as_generator
from coterie.mixture._inference.answer import Answer, scaled
from coterie.mixture._inference.gibbs_moves import Moves


@dataclass(frozen=True)
class GibbsAccount:
    """What the sampler saw of its own progress in the last call of `infer`.

    Attributes
    ----------
    n_sweeps, burn_in : int
        Sweeps that were averaged, and sweeps before them.
    standard_error : float
        Of the probabilities, by batch means; the largest over units and labels. NaN with under four sweeps.
    half_difference : float
        Largest difference between the probabilities of the first and the second half of the sweeps.
    changed : float
        Share of the units that had another label than at first after at least one sweep.
    """

    n_sweeps: int
    burn_in: int
    standard_error: float
    half_difference: float
    changed: float

    def __str__(self) -> str:
        message = f"{count_of(self.n_sweeps, 'sweep')} after {self.burn_in:,} to warm up"
        if not math.isnan(self.standard_error):
            message += (
                f"; standard error of the probabilities up to {self.standard_error:.2g}, "
                f"the two halves differ by up to {self.half_difference:.2g}"
            )
        return f"{message}; {self.changed:.0%} of the units changed their label"


class Gibbs:
    """Inference by sampling; log Z is estimated by the pseudo-likelihood, couplings counted once.

    The labels of the last sweep are kept, and the next call goes on from there.

    Parameters
    ----------
    n, k, ends, beta
        As in `Part`.
    random_state : int, Generator or RandomState, optional
        Seed of all draws.
    n_sweeps, burn_in : int
        Sweeps that are averaged, and sweeps before them; a call that goes on from earlier labels takes at
        most `n_sweeps` to warm up. Both may be set anew before each call.

    Attributes
    ----------
    labels : array of shape (n,)
        Where the sampler is; None before the first call. No forbidden coupling agrees.
    errors : array of shape (n, k)
        Standard errors of the last answer's probabilities, by batch means.
    account : GibbsAccount
        Progress in the last call.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.mixture._inference.gibbs import Gibbs
    >>> triangle = np.array([[0, 1], [1, 2], [0, 2]])
    >>> part = Gibbs(3, 3, triangle, np.full(3, -np.inf), random_state=0, n_sweeps=1000)
    >>> answer = part.infer(np.log([[0.8, 0.1, 0.1], [0.4, 0.3, 0.3], [0.2, 0.4, 0.4]]))
    >>> answer.marginals[0].round(1)
    array([0.8, 0.1, 0.1])
    """

    def __init__(
        self,
        n: int,
        k: int,
        ends: Index,
        beta: Floats,
        random_state: Any = None,
        n_sweeps: int = 100,
        burn_in: int = 20,
    ) -> None:
        self.n, self.k, self.n_sweeps, self.burn_in = n, k, n_sweeps, burn_in
        self.ends: Index = np.asarray(ends, dtype=np.int64).reshape(-1, 2)
        self.beta: Floats = np.asarray(beta, dtype=np.float64)
        self.rng = as_generator(random_state)
        rows = np.arange(len(self.ends), dtype=np.int64)
        self.indptr, self.indices, _, self.row = sparse_graph(n, self.ends, self.beta, rows)
        self.n_done = 0  # sweeps in all calls
        self.labels: Index | None = None
        self.errors: Floats | None = None
        self.account: GibbsAccount | None = None

    def restart(self) -> None:
        """Forget where the sampler is."""
        self.labels = None

    def infer(self, potential: Floats, scale: float = 1.0) -> Answer:
        """Probabilities under potentials, and an estimate of log Z, from `n_sweeps` sweeps."""
        potential = np.array(potential, dtype=np.float64, order="C")
        beta = scaled(self.beta, scale)
        labels = self.labels
        warm = labels is not None and bool((potential[np.arange(self.n), labels] > -np.inf).all())
        if labels is None or not warm:
            self.labels = labels = self._first(potential)
        burn_in = min(self.burn_in, self.n_sweeps) if warm else self.burn_in
        graph = self.indptr, self.indices, beta[self.row]
        moves = Moves(potential, graph, self.ends, beta, labels, self.rng, burn_in + self.n_sweeps)
        for _ in range(burn_in):
            self._sweep(moves)
        before = labels.copy()
        changed = np.zeros(self.n, dtype=bool)
        n_batches = max(2 * math.isqrt(self.n_sweeps // 4), 1)
        batch, total, squares = (np.zeros_like(potential) for _ in range(3))
        half, met = np.zeros_like(potential), np.zeros(len(self.indices))
        log_sum = twice = 0.0
        cuts = np.arange(n_batches + 1) * self.n_sweeps // n_batches
        for b, size in enumerate(np.diff(cuts).tolist()):
            if 2 * b == n_batches:
                half = total.copy()
            for _ in range(size):
                self._sweep(moves)
                changed |= labels != before
                sums = moves.record(batch, met)
                log_sum, twice = log_sum + sums[0], twice + sums[1]
            total += batch
            squares += batch**2 / size
            batch[:] = 0.0
        sweeps = self.n_sweeps
        marginals = total / sweeps
        apart = errors = np.full_like(total, np.nan)
        if n_batches > 1:
            spread = np.maximum(squares / sweeps - marginals**2, 0.0)
            errors = np.sqrt(spread / (n_batches - 1))
            apart = half / cuts[n_batches // 2] - (total - half) / (sweeps - cuts[n_batches // 2])
        self.errors = errors
        self.account = GibbsAccount(
            sweeps,
            burn_in,
            float(errors.max(initial=0.0)),
            float(np.abs(apart).max(initial=0.0)),
            float(changed.mean()) if self.n else 0.0,
        )
        agreement = np.bincount(self.row, met, len(self.ends)) / (2 * sweeps)
        # every coupling is counted at both of its ends, so once too often
        return Answer(marginals, (log_sum - twice / 2) / sweeps, agreement)

    def _sweep(self, moves: Moves) -> None:
        moves.sweep(bonded=self.n_done % 2 == 1)
        self.n_done += 1

    def _first(self, potential: Floats) -> Index:
        """The likeliest labels; where couplings forbid those, legal ones that cost little."""
        possible = potential > -np.inf
        none = np.flatnonzero(~possible.any(axis=1))
        if len(none):
            raise ValueError(f"No label is possible for unit {none[0]}: all its potentials are -inf.")
        best = potential.argmax(axis=1).astype(np.int64)
        forbidden = self.ends[self.beta == -np.inf]
        if not (best[forbidden[:, 0]] == best[forbidden[:, 1]]).any():
            return best
        # k more items stand for the labels: a unit keeps away from those that it cannot have
        n, k = potential.shape
        only = possible.sum(axis=1) == 1
        unit, label = np.nonzero(~possible & ~only[:, None])
        away = np.column_stack([unit, n + label])
        all_apart = n + np.column_stack(np.triu_indices(k, 1))
        with_label = np.column_stack([np.flatnonzero(only), n + best[only]])
        known = Constraints(with_label, np.concatenate([forbidden, away, all_apart]), n_items=n + k)
        least = np.where(possible, potential, np.inf).min(axis=1, keepdims=True)
        costs = potential.max(axis=1, keepdims=True) - np.where(possible, potential, least)
        # an item that stands for a label is dear elsewhere, so that names are seldom exchanged
        dear = (1.0 + costs.max(axis=1).sum()) * (1.0 - np.eye(k))
        found = hard_pairs(np.concatenate([costs, dear]), known, random_state=int(self.rng.integers(2**31)))
        return np.argsort(found.labels[n:])[found.labels[:n]].astype(np.int64)
