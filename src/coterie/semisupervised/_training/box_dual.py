"""The least sum of hinge losses of labels and pairs, by its dual: a quadratic program in a box.

Chapter 17, (17.13) to (17.18) with the signs put right: with rows a of labels (y z_i), of pairs that are
alike (z_i - c z_j, the loss |f_i - c f_j|) and of pairs not both of a class (-(z_i + z_j)), w = sum theta a /
(2 alpha). The dual is b'theta - alpha |w|^2 with 0 <= theta <= most, and b = 1; for alike pairs, whose loss
bends at 0, -most <= theta <= most and b = 0.
There is no intercept, so that nothing ties the multipliers but the box. They are scaled so that each alone
curves alike; L-BFGS-B can then still stall at the bounds, and begins again from there until primal and dual
meet. A step costs O(m r s + p s), as with logistic losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from coterie._arrays import Floats
from coterie.semisupervised._training.examples import Examples

# Fresh starts in a row that may come no nearer before it is given up.
_PATIENCE = 3


@dataclass(frozen=True, eq=False)
class HingeAnswer:
    """Weights of the rows, multipliers, and how far primal and dual are apart."""

    weights: Floats
    theta: Floats  # of the labelled items, then of the pairs
    objective: float
    gap: float
    history: Floats
    n_iter: int


class HingeDual:
    """The dual program; a multiplier for each label and pair, in each column."""

    def __init__(self, rows: Any, known: Examples, alpha: float) -> None:
        n, s = known.sign.shape
        self._rows, self._alpha, self._n_labels = rows, alpha, n
        self._made_of = known.rows()
        self._sign = np.vstack([known.sign, np.where(known.alike, 1.0, -1.0)[:, None] * np.ones(s)])
        bends_at_1 = np.concatenate([np.ones(n, dtype=bool), ~known.alike])[:, None]
        self.begin = bends_at_1 * np.ones(s)  # b, the slope of the dual at 0
        self.most = np.concatenate([np.ones(n), known.strength])[:, None] * np.ones(s)
        self.least = np.where(bends_at_1, 0.0, -self.most)
        curve = row_norms(self._made_of @ rows, squared=True)[:, None] / (2.0 * alpha)
        # a row of zeros has no part in f; its multiplier goes where its slope is
        self.scale = np.sqrt(np.where(curve > 0, curve, 1.0)) * np.ones(s)

    def weights(self, theta: Floats) -> Floats:
        """The weights w that multipliers make."""
        net = self._made_of.T @ (self._sign * theta)
        return safe_sparse_dot(self._rows.T, net, dense_output=True) / (2.0 * self._alpha)

    def norm(self, weights: Floats) -> float:
        """The squared norm of f, with its price."""
        return self._alpha * float((weights * weights).sum())

    def margins(self, weights: Floats) -> Floats:
        """What the slope of the dual loses by these weights."""
        return self._sign * (self._made_of @ safe_sparse_dot(self._rows, weights, dense_output=True))

    def gap(self, theta: Floats, slope: Floats) -> float:
        """How far the primal is above the dual: a sum of what no label and no pair has below 0."""
        return float((np.maximum(self.most * slope, self.least * slope) - theta * slope).sum())

    def of_pairs(self, theta: Floats) -> Floats:
        """Multipliers of the pairs as the chapter signs them."""
        return -(self._sign * theta)[self._n_labels :]


def least_hinge(dual: HingeDual, tol: float, max_iter: int) -> HingeAnswer:
    """Raise the dual until the primal is above it by a share `tol` of itself, or `max_iter` steps are made.

    Each search counts from where the last one stopped: differences of the dual keep their digits.
    """
    theta, slope, reached = np.zeros(dual.most.shape), dual.begin, 0.0
    best = primal = dual.gap(theta, slope)
    history, n_iter, patience = [0.0], 0, _PATIENCE

    def cost(x: Floats) -> tuple[float, Floats]:
        step = x.reshape(theta.shape) / dual.scale
        weights = dual.weights(step)
        change = slope - dual.margins(weights)
        last[:] = step, change
        return dual.norm(weights) - float((slope * step).sum()), -(change / dual.scale).ravel()

    def after(intermediate_result: Any) -> None:
        history.append(float(intermediate_result.fun) - reached)
        step, change = last
        gap = dual.gap(theta + step, change)
        if gap <= tol * (gap - history[-1]):
            raise StopIteration

    last: list[Any] = [None, None]
    while best > tol * primal and n_iter < max_iter and patience:
        left = max_iter - n_iter
        low, high = ((bound - theta) * dual.scale for bound in (dual.least, dual.most))
        found = minimize(
            cost,
            np.zeros(theta.size),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low.ravel(), high.ravel()),
            options={"maxiter": left, "maxfun": 20 * left, "maxcor": 20, "ftol": 0.0, "gtol": 0.0},
            callback=after,
        )
        n_iter += max(int(found.nit), 1)
        theta = np.clip(theta + found.x.reshape(theta.shape) / dual.scale, dual.least, dual.most)
        weights = dual.weights(theta)
        slope = dual.begin - dual.margins(weights)
        reached = float((dual.begin * theta).sum()) - dual.norm(weights)
        gap = dual.gap(theta, slope)
        patience = _PATIENCE if gap < best else patience - 1
        best, primal = gap, reached + gap
    return HingeAnswer(dual.weights(theta), theta, primal, best, np.array(history), n_iter)
