"""The least sum of hinge losses of labels and pairs, by its dual: a quadratic program in a box.

Chapter 17, (17.13) to (17.18) with the signs put right: with rows a of labels (y z_i), of pairs that are
alike (z_i - c z_j, the loss |f_i - c f_j|) and of pairs not both of a class (-(z_i + z_j)), w = sum theta a /
(2 alpha). The dual is b'theta - alpha |w|^2 with 0 <= theta <= most, and b = 1; for alike pairs, whose loss
bends at 0, -most <= theta <= most and b = 0. There is no intercept, so that nothing ties the multipliers but
the box.

The kinks are rounded off by eps: the dual loses eps |theta - center|^2 / 2, with the theta of the last round
as center, and the primal becomes smooth, with theta = center + (b - a'w) / eps, cut to the box. Newton's
method solves it in a few steps, in which only multipliers off the bounds count; eps falls from round to
round. A step costs O(m r + l^3) for m labels and pairs, rows of width r, and l the lesser of r and the
multipliers off the bounds; where both are large, conjugate gradients take the place of the l^3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from coterie._arrays import Floats
from coterie.semisupervised._training.examples import Examples

# eps begins at the curve of the dual in each multiplier; what is left in the next round, and at last.
_NEXT, _LAST = 0.2, 1e-12
# It stays where a round leaves less than this share of the gap, and is raised where rounding alone is left.
_FAST, _BACK = 0.3, 5.0
# A round ends this many times as far from its optimum as that is from the one without eps.
_LOOSE = 10.0
# Items are taken to be apart by the root of this share of their lengths at least: less may be rounding.
_NO_CURVE = 1e-5
# Rounds in a row that may come no nearer before it is given up.
_PATIENCE = 20
# Equations are written out while their number cubed is below so many passes over the rows; most passes else.
_PASSES, _MOST_PASSES = 6_000, 1_000


@dataclass(frozen=True, eq=False)
class HingeAnswer:
    """Weights of the rows, multipliers, and how far the objective may be above the best."""

    weights: Floats
    theta: Floats  # of the labelled items, then of the pairs
    objective: float
    gap: float
    history: Floats
    n_iter: int


class HingeDual:
    """The dual programs, one for each column, of the same labels and pairs."""

    def __init__(self, rows: Any, known: Examples, alpha: float) -> None:
        n, s = known.sign.shape
        self.rows, self.alpha, self._n_labels = rows, alpha, n
        self.made_of = known.rows()
        self.sign = np.vstack([known.sign, np.where(known.alike, 1.0, -1.0)[:, None] * np.ones(s)])
        bends_at_1 = np.concatenate([np.ones(n, dtype=bool), ~known.alike])
        self.bend = bends_at_1 * 1.0  # b
        self.most = np.concatenate([np.ones(n), known.strength])
        self.least = np.where(bends_at_1, 0.0, -self.most)
        own = abs(self.made_of) @ row_norms(rows, squared=True)
        curve = np.maximum(row_norms(self.made_of @ rows, squared=True), _NO_CURVE * own) / (2.0 * alpha)
        self.curve = np.where(curve > 0, curve, 1.0)  # a row of zeros has no part in f
        self._work = _PASSES * (rows.nnz if sparse.issparse(rows) else rows.size)

    def weights(self, theta: Floats, sign: Floats) -> Floats:
        """The weights w that multipliers make."""
        net = self.made_of.T @ (sign * theta)
        return np.asarray(safe_sparse_dot(self.rows.T, net, dense_output=True)) / (2.0 * self.alpha)

    def margins(self, weights: Floats, sign: Floats) -> Floats:
        """a'w of each label and pair."""
        return sign * (self.made_of @ safe_sparse_dot(self.rows, weights, dense_output=True))

    def of_pairs(self, theta: Floats) -> Floats:
        """Multipliers of the pairs as the chapter signs them."""
        return -(self.sign * theta)[self._n_labels :]

    def gap(self, theta: Floats, slope: Floats) -> float:
        """How far the primal is above the dual, of this slope: what no label and no pair has below 0."""
        return float((np.maximum(self.most * slope, self.least * slope) - theta * slope).sum())

    @cached_property
    def table(self) -> Floats:
        """Similarities of the items."""
        return np.asarray(self.rows @ self.rows.T)

    def step(self, slope: Floats, free: Any, eps: Floats) -> Floats:
        """Newton's step: (2 alpha + sum of a a' / eps over the free ones) step = -slope."""
        made_of, price, r = self.made_of[free], 2.0 * self.alpha, len(slope)
        n_free = made_of.shape[0]
        if not n_free:
            return -slope / price
        curves = sparse.diags(1.0 / eps[free])
        if min(n_free, r) ** 3 <= self._work:
            try:
                if n_free > r:
                    between = made_of.T @ curves @ made_of
                    system = safe_sparse_dot(self.rows.T, between @ self.rows, dense_output=True)
                    system.flat[:: r + 1] += price
                    return -_solved(system, slope)
                if sparse.issparse(self.rows) or self.rows.shape[0] > 2 * r:
                    free_rows = made_of @ self.rows
                    system = safe_sparse_dot(free_rows, free_rows.T, dense_output=True)
                else:
                    system = made_of @ np.asarray(made_of @ self.table).T
                system.flat[:: n_free + 1] += price * eps[free]
                pull = _solved(system, made_of @ (self.rows @ slope))
                return np.asarray((self.rows.T @ (made_of.T @ pull) - slope) / price)
            except linalg.LinAlgError:
                pass  # rows that are nearly sums of others; conjugate gradients do not mind

        def times(v: Floats) -> Floats:
            pull = made_of.T @ (curves @ (made_of @ (self.rows @ v.ravel())))
            return price * v.ravel() + self.rows.T @ pull

        system = LinearOperator((r, r), times, dtype=np.float64)
        # wherever it ends, the step goes down
        return np.asarray(cg(system, -slope, rtol=1e-3, maxiter=_MOST_PASSES)[0])


def _solved(system: Floats, by: Floats) -> Floats:
    factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, by, check_finite=False))


def least_hinge(dual: HingeDual, tol: float, max_iter: int) -> HingeAnswer:
    """Solve each column until primal and dual are apart by a share `tol`, or `max_iter` steps are made."""
    found = [_least_of_column(dual, sign, tol, max_iter) for sign in dual.sign.T]
    weights, theta, values, gaps, falls = zip(*found, strict=True)
    # after each step of one column, the others stand where they began or ended
    ends = np.array([one[-1] for one in falls])
    return HingeAnswer(
        weights=np.column_stack(weights),
        theta=np.column_stack(theta),
        objective=float(sum(values)),
        gap=float(sum(gaps)),
        history=np.concatenate([np.array(one) + ends[:place].sum() for place, one in enumerate(falls)]),
        n_iter=max(len(one) - 1 for one in falls),
    )


@dataclass(frozen=True, eq=False)
class _Rounded:
    """The dual of a column that loses eps |theta - center|^2 / 2."""

    dual: HingeDual
    center: Floats
    eps: Floats

    def theta(self, margins: Floats) -> Floats:
        """The best multipliers for some weights."""
        dual = self.dual
        return np.clip(self.center + (dual.bend - margins) / self.eps, dual.least, dual.most)

    def gap(self, theta: Floats) -> float:
        """How far primal and dual are apart where this one is solved."""
        return self.dual.gap(theta, self.eps * (theta - self.center))

    def share(self, margins: Floats, along: Floats, at_0: float, curve: float) -> float:
        """How much of a step is best, 1 at most; `at_0` and `curve` are of the norm of f along it."""

        def slope(t: float) -> float:
            return at_0 + t * curve - float(self.theta(margins + t * along) @ along)

        if slope(1.0) <= 0.0:
            return 1.0
        return float(brentq(slope, 0.0, 1.0, rtol=1e-3)) if slope(0.0) < 0.0 else 0.0


def _least_of_column(dual: HingeDual, sign: Floats, tol: float, max_iter: int) -> Any:
    """Weights, multipliers, objective, by how much it may be above the best; minus the dual after steps."""
    price, patience = 2.0 * dual.alpha, _PATIENCE
    w, theta = np.zeros(dual.rows.shape[1]), np.zeros(len(dual.bend))
    nearest = dual.gap(theta, dual.bend)
    best, falls = (w, theta, nearest), [0.0]
    eps, gap = dual.curve, nearest
    while gap > tol * best[2] and patience and len(falls) <= max_iter:
        rounded, before, solved = _Rounded(dual, theta, eps), gap, None
        margins = dual.margins(w, sign)
        while True:
            theta = rounded.theta(margins)
            own = dual.weights(theta, sign)
            value = float(dual.bend @ theta) - dual.alpha * float(own @ own)
            apart = dual.gap(theta, dual.bend - dual.margins(own, sign))
            if apart <= nearest:
                best, nearest = (own, theta, value + apart), apart
            falls.append(min(falls[-1], -value))
            gap = best[2] + falls[-1]
            free = (theta > dual.least) & (theta < dual.most)
            if gap <= tol * best[2] or apart <= _LOOSE * rounded.gap(theta) or len(falls) > max_iter:
                change = _NEXT if gap > _FAST * before else 1.0
                break
            if solved is not None and (free == solved).all():
                change = _BACK  # what is left is rounding
                break
            step = dual.step(price * (w - own), free, eps)
            along = dual.margins(step, sign)
            t = rounded.share(margins, along, price * float(w @ step), price * float(step @ step))
            if not t:
                change = _BACK
                break
            w, margins = w + t * step, margins + t * along
            solved = free if t > 0.9 else None
        eps = np.maximum(change * eps, _LAST * dual.curve)
        patience = _PATIENCE if gap < before else patience - 1
    return *best, gap, falls
