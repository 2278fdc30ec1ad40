"""The least sum of logistic losses of labels and pairs, all problems at once, by L-BFGS.

The sum over columns is one function of a matrix of weights, so that a step is two matrix products whatever
the number of classes: O(m r s + p s) for m items, rows of width r, p pairs and s columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.extmath import safe_sparse_dot

from coterie._arrays import Floats, Index
from coterie.semisupervised._training.examples import Examples
from coterie.semisupervised._training.pair_losses import Slopes

Loss = Callable[[Any, Any], Slopes]
# A search is also at its end where it could gain this share of the objective: that is rounding.
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
    loss: Loss

    def add(self, f: Floats, slope: Floats) -> float:
        """The loss of all above that at 0; writes `slope`."""
        value, a, b = self.loss(f[self.i], self.turn * f[self.j])
        slope += self.ends @ np.vstack([self.strength * a, self.strength * self.turn * b])
        return float((self.strength * (value - self.at_0)).sum())

    @property
    def at_0(self) -> float:
        """The loss of a pair where f is 0."""
        return float(self.loss(0.0, 0.0)[0])


class SmoothObjective:
    """The objective in f, and in weights of rows; counted from `base`, what pairs cost where f is 0.

    Many pairs and few labels would else leave no digits for what the labels change.
    """

    def __init__(self, rows: Any, known: Examples, alpha: float, same: Loss, apart: Loss) -> None:
        self._rows, self._known, self._alpha = rows, known, alpha
        self._pairs = []
        for which, loss in ((known.alike, same), (~known.alike, apart)):
            if which.any():
                turn = known.turn[which] if loss is same else np.ones(int(which.sum()))
                columns = known.i[which], known.j[which], turn[:, None], known.strength[which][:, None]
                self._pairs.append(_Pairs(*columns, known.ends(which), loss))
        n_columns = known.sign.shape[1]
        self.base = n_columns * sum(float(pairs.strength.sum()) * pairs.at_0 for pairs in self._pairs)

    def losses(self, f: Floats) -> tuple[float, Floats]:
        """The losses of labels and pairs, and their slope in f."""
        known, slope = self._known, np.zeros_like(f)
        margin = known.sign * f[known.labelled]
        slope[known.labelled] = -known.sign * expit(-margin)
        value = float(np.logaddexp(0.0, -margin).sum())
        return value + sum(pairs.add(f, slope) for pairs in self._pairs), slope

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The objective and its slope in the weights."""
        value, slope = self.losses(safe_sparse_dot(self._rows, weights, dense_output=True))
        own = safe_sparse_dot(self._rows.T, slope, dense_output=True)
        return value + self._alpha * float((weights * weights).sum()), own + 2.0 * self._alpha * weights


def least_smooth(
    objective: SmoothObjective, begin: Floats, scale: float, n_labels: int, tol: float, max_iter: int
) -> SmoothAnswer:
    """Go down from `begin` until no slope is above `tol`, in rows of length 1 and for a label on average.

    `scale` is the typical length of a row, so that units do not matter. Pairs do not count: however many
    there are, it is the labels that tell the classes apart.
    """

    def cost(x: Floats) -> tuple[float, Floats]:
        value, slope = objective.at(x.reshape(begin.shape) / scale)
        return value / n_labels, slope.ravel() / (scale * n_labels)

    history: list[float] = []
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "ftol": 0.0, "gtol": tol}
    found = minimize(
        cost,
        (begin * scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        options=options,
        callback=lambda intermediate_result: history.append(n_labels * float(intermediate_result.fun)),
    )
    # what another step would gain, by the curvature that was seen
    left = 0.5 * float(found.jac @ found.hess_inv.matvec(found.jac))
    rounded = found.nit > 0 and left <= _NO_GAIN * abs(float(found.fun))
    return SmoothAnswer(
        weights=found.x.reshape(begin.shape) / scale,
        objective=objective.base + n_labels * float(found.fun),
        history=objective.base + np.array(history or [n_labels * float(found.fun)]),
        n_iter=int(found.nit),
        converged=bool(np.abs(found.jac).max(initial=0.0) <= tol or rounded),
    )
