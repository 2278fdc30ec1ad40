"""The least sum of logistic losses of labels and pairs, all problems at once, by L-BFGS.

The sum over columns is one function of a matrix of weights, so that a step is two matrix products whatever
the number of classes: O(m r s + p s) for m items, rows of width r, p pairs and s columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.extmath import safe_sparse_dot

from coterie._arrays import Floats, Index
from coterie.semisupervised._training.examples import Examples
from coterie.semisupervised._training.pair_losses import Loss, above_zero

_LOG_2 = float(np.log(2.0))
# A search is also at its end where it could gain this share of what it gained: that is rounding.
_NO_GAIN = 1e-11


@dataclass(frozen=True, eq=False)
class SmoothAnswer:
    """Weights of the rows, a column for each problem, and how they were found."""

    weights: Floats
    objective: float
    history: Floats
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of one loss."""

    i: Index
    j: Index
    turn: Floats  # f_j is taken with this sign
    strength: Floats
    ends: Any
    loss: Loss  # above what it is where f is 0

    def add(self, f: Floats, slope: Floats) -> float:
        """The loss of all, above that of f = 0; writes `slope`."""
        value, a, b = self.loss(f[self.i], self.turn * f[self.j])
        slope += self.ends @ np.vstack([self.strength * a, self.strength * self.turn * b])
        return float((self.strength * value).sum())


class SmoothObjective:
    """The objective in f, and in weights of rows, above what it is at 0.

    Where few labels stand against many pairs f stays near 0, and what all pairs cost at 0 would take the
    digits of what changes.
    """

    def __init__(self, rows: Any, known: Examples, alpha: float, same: Loss, apart: Loss) -> None:
        self._rows, self._known, self._alpha = rows, known, alpha
        self._pairs = []
        self.n_labels = float(len(known.labelled))
        self.at_zero = known.sign.size * _LOG_2
        for which, loss in ((known.alike, same), (~known.alike, apart)):
            if which.any():
                turn = known.turn[which] if loss is same else np.ones(int(which.sum()))
                columns = known.i[which], known.j[which], turn[:, None], known.strength[which][:, None]
                at_zero, above = above_zero(loss)
                self._pairs.append(_Pairs(*columns, known.ends(which), above))
                self.at_zero += known.sign.shape[1] * at_zero * float(known.strength[which].sum())

    def losses(self, f: Floats) -> tuple[float, Floats]:
        """The losses of labels and pairs, above those of f = 0, and their slope in f."""
        known, slope = self._known, np.zeros_like(f)
        margin = known.sign * f[known.labelled]
        slope[known.labelled] = -known.sign * expit(-margin)
        value = float((np.logaddexp(0.0, -margin) - _LOG_2).sum())
        return value + sum(pairs.add(f, slope) for pairs in self._pairs), slope

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The objective, above that of no weights, and its slope in the weights."""
        value, slope = self.losses(safe_sparse_dot(self._rows, weights, dense_output=True))
        own = safe_sparse_dot(self._rows.T, slope, dense_output=True)
        return value + self._alpha * float((weights * weights).sum()), own + 2.0 * self._alpha * weights


def least_smooth(
    objective: SmoothObjective, begin: Floats, scale: float, tol: float, max_iter: int
) -> SmoothAnswer:
    """Go down from `begin` until no slope is above `tol`, in rows of length 1 and for a label on average.

    For a label: pairs have little slope where f is near 0, and many of them would end the search before a few
    labels are heard. `scale` is the typical length of a row, so that units do not matter.
    """
    total = objective.n_labels

    def cost(x: Floats) -> tuple[float, Floats]:
        value, slope = objective.at(x.reshape(begin.shape) / scale)
        return value / total, slope.ravel() / (scale * total)

    history: list[float] = []
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "ftol": 0.0, "gtol": tol}
    found = minimize(
        cost,
        (begin * scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        options=options,
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
    )
    # what another step would gain, by the curvature that was seen
    left = 0.5 * float(found.jac @ found.hess_inv.matvec(found.jac))
    rounded = found.nit > 0 and left <= _NO_GAIN * abs(float(found.fun))
    values = objective.at_zero + total * np.array([*history, float(found.fun)])
    return SmoothAnswer(
        weights=found.x.reshape(begin.shape) / scale,
        objective=float(values[-1]),
        history=values[: len(history)] if history else values,
        n_iter=int(found.nit),
        converged=bool(np.abs(found.jac).max(initial=0.0) <= tol or rounded),
    )
