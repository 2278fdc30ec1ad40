"""Xing's metric: must-linked items near each other, cannot-linked items far apart, as a convex program."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from coterie._arrays import Floats
from coterie.base import About, one_of, real, warn_user, whole
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.distance._learned_distance import MOST_FEATURES, LearnedDistance, column_scale
from coterie.exceptions import ParameterError

# Added under the root, whose derivative is infinite at 0.
_FLOOR = 1e-18
# How near the least value rounding lets a search come for sure.
_ROUNDING = 1e-7


class XingMetric(LearnedDistance):
    """The metric of Xing et al.: cannot-linked items far apart, must-linked ones near.

    Maximises the sum of the distances of cannot-linked items while the sum of the squared distances of
    must-linked ones is held: minimises g(A) = <S, A> - log sum_t w_t sqrt(d_t' A d_t) over positive
    semidefinite A, with S = sum of w d d' over must-links and d_t the differences of cannot-linked items. At
    the optimum <S, A> = 1/2. Labels and groups count as the pairs that they stand for.

    Parameters
    ----------
    diagonal : bool, default True
        Whether A is diagonal, a weight for each feature, or a full matrix. The full one has d^2 / 2 numbers
        to learn: with few pairs it learns them by heart.
    ridge : float, default 1e-3
        What is added to the diagonal of S, as a share of its mean, in columns divided by their standard
        deviation, so that units do not matter. At 0 the optimum runs off where must-linked items agree in a
        direction in which others differ: that is an error.
    max_iter : int, default 1000
        Most steps.
    tol : float, default 1e-8
        The search ends when g is proven to be no farther than this above its least value.

    Attributes
    ----------
    components_, metric_, n_used_, converged_
        As in all learned distances: the new axes; the matrix A; how many constraints taught; whether the
        search came to its end.
    objective_ : float
        g at the end, in columns divided by their standard deviation.
    n_iter_ : int
        Steps made.

    See Also
    --------
    RCA : learns from must-links alone, in one step, and often better.
    CannotLinkMetric : learns from cannot-links alone.
    MPCKMeans : learns the weights of the features while it clusters.

    Notes
    -----
    The sum over cannot-links goes by those that are far apart already, and one feature may come to rule: on
    columns of equal worth plain distances are better. A constant column gets the weight 0. Groups are
    written out as pairs, at most 2,000,000. A step costs O(m d) for m pairs, or O(m d^2 + d^3) if not
    diagonal; memory O(m d).

    References
    ----------
    Xing, Ng, Jordan and Russell 2003, Distance metric learning, with application to clustering with
    side-information. Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter 1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from coterie import Constraints, XingMetric
    >>> X, y = load_wine(return_X_y=True)
    >>> known = Constraints.sample(y, n_pairs=100, random_state=0)
    >>> near_and_far = XingMetric().fit(X, constraints=known).pair_distances(X, [(0, 1), (0, 100)])
    >>> bool(near_and_far[0] < near_and_far[1])
    True
    """

    about = About(
        what="learns a weight for each feature (or a full metric) from must-links and cannot-links",
        when="columns differ in unit, and both kinds of pairs are known",
        source="Xing, Ng, Jordan and Russell 2003; chapter 1",
        measure="learned",
    )
    parameter_rules: ClassVar[Any] = {
        "diagonal": one_of(True, False),
        "ridge": real(0.0),
        "max_iter": whole(1),
        "tol": real(0.0),
    }
    _needs = "must-links and cannot-links (labels and groups count as such)"

    def __init__(
        self, *, diagonal: bool = True, ridge: float = 1e-3, max_iter: int = 1000, tol: float = 1e-8
    ) -> None:
        self.diagonal = diagonal
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, X: Any, known: Constraints) -> None:
        if not self.diagonal and X.shape[1] > MOST_FEATURES:
            raise ParameterError(
                f"a full metric of {X.shape[1]:,} features has {X.shape[1] ** 2:,} numbers, and "
                f"{MOST_FEATURES:,} features are the most; reduce X (TruncatedSVD), or leave diagonal=True.",
                "diagonal",
            )
        scale = column_scale(X)
        columns = np.flatnonzero(scale)
        pairs = stated_pairs(known, hard=True)
        taken = pairs.strength > 0
        near, far = (taken & ~pairs.cannot, taken & pairs.cannot)
        if not near.any() or not far.any():
            raise self._nothing_of_use(known)
        if not len(columns):
            raise ValueError("all columns of X are constant: no distance can be learned.")
        self.n_used_ = self._count_used(known)
        unit = sparse.diags(1.0 / scale[columns])
        apart = [
            sparse.diags(weight) @ (X[pairs.ij[kind, 0]] - X[pairs.ij[kind, 1]])[:, columns] @ unit
            for kind, weight in ((near, np.sqrt(pairs.strength[near])), (far, pairs.strength[far]))
        ]
        for found, kind in zip(apart, ("must", "cannot"), strict=True):
            if not abs(found).max():
                raise ValueError(
                    f"{kind}-linked items are the same in every column, so that they teach nothing about "
                    f"distances; state {kind}-links of items that differ."
                )
        learn = self._by_feature if self.diagonal else self._by_matrix
        self._keep_columns(learn(*apart), columns, scale, X.dtype)

    def _by_feature(self, near: Any, far: Any) -> Floats:
        """The root of the weight of each column, of deviation 1; b = weight times s, which adds up to 1/2."""
        near, far = (one.multiply(one) if sparse.issparse(one) else one * one for one in (near, far))
        spread = np.asarray(near.sum(axis=0)).ravel()
        spread = self._raised(spread, spread.mean())
        far = far @ sparse.diags(1.0 / spread)

        def cost(b: Floats) -> tuple[float, Floats]:
            away = np.sqrt(far @ b + _FLOOR)
            return b.sum() - np.log(away.sum()), 1.0 - far.T @ (1.0 / away) / (2.0 * away.sum())

        d = len(spread)
        found = minimize(
            cost,
            np.full(d, 0.5 / d),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * d,
            options={
                "maxiter": self.max_iter, "maxfun": 20 * self.max_iter, "ftol": 0.0, "gtol": 0.2 * self.tol
            },
        )  # fmt: skip
        b = found.x * 0.5 / found.x.sum()
        self.objective_, gradient = cost(b)
        self._close(found.nit, -gradient.min())
        return np.sqrt(b / spread)

    def _by_matrix(self, near: Any, far: Any) -> Floats:
        """The root of A, by projected gradients in the space where S is the identity; B has trace 1/2."""
        spread = near.T @ near
        spread = spread.toarray() if sparse.issparse(spread) else spread
        values, vectors = linalg.eigh(spread)
        values = self._raised(np.maximum(values, 0.0), np.trace(spread) / len(spread))
        whiten = (vectors / np.sqrt(values)) @ vectors.T
        far = far @ whiten

        def cost(B: Floats) -> tuple[float, Floats]:
            away = np.sqrt(np.maximum(np.einsum("ij,ij->i", far @ B, far), 0.0) + _FLOOR)
            return 0.5 - np.log(away.sum()), away

        def slope(away: Floats) -> Floats:
            return np.eye(len(values)) - far.T @ (far / (2.0 * away.sum() * away)[:, None])

        B = np.eye(len(values)) / (2 * len(values))
        value, away = cost(B)
        gradient, step = slope(away), 1.0 / len(values)
        for n_iter in range(self.max_iter + 1):
            beyond = -linalg.eigvalsh(gradient, subset_by_index=[0, 0])[0]
            if beyond <= 2.0 * self.tol or n_iter == self.max_iter:
                break
            while True:
                size, axes = linalg.eigh(B - step * gradient)
                size = np.maximum(size, 0.0)
                new = (axes * (size / (2.0 * size.sum()))) @ axes.T
                new_value, away = cost(new)
                move = new - B
                if new_value <= value + 1e-4 * np.vdot(gradient, move) or step < 1e-12:
                    break
                step /= 2.0
            if new_value >= value:  # rounding allows no more
                break
            B, value, old, gradient = new, new_value, gradient, slope(away)
            # the step that would have been right (Barzilai and Borwein)
            bend = np.vdot(move, gradient - old)
            step = float(np.clip(np.vdot(move, move) / bend, 1e-10, 1e6)) if bend > 0 else 2.0 * step
        self.objective_ = value
        self._close(n_iter, beyond)
        size, axes = linalg.eigh(B)
        return np.asarray((axes * np.sqrt(np.maximum(size, 0.0))).T @ whiten)

    def _raised(self, spread: Floats, mean: float) -> Floats:
        """How far must-linked items are apart in each direction, with the ridge."""
        none = int((spread <= len(spread) * np.finfo(np.float64).eps * spread.max()).sum())
        if none and not self.ridge:
            raise ParameterError(
                f"must-linked items agree in {none} of {len(spread)} directions, which without a ridge would "
                "get weights without end: take a ridge above 0, or state more must-links.",
                "ridge",
            )
        if none:
            warn_user(
                f"must-linked items agree in {none} of {len(spread)} directions: there the ridge alone "
                f"({self.ridge:g}) says how much cannot-links may stretch them, which is much; more "
                "must-links help.",
                UserWarning,
            )
        return spread + self.ridge * mean

    def _close(self, n_iter: int, beyond: float) -> None:
        """g is convex and <S, A> = 1/2, so that half of `beyond` bounds what is left to gain."""
        self.n_iter_, self.converged_ = int(n_iter), bool(0.5 * beyond <= max(self.tol, _ROUNDING))
        if not self.converged_:
            warn_user(
                f"XingMetric stopped after {n_iter} steps, up to {0.5 * beyond:.1e} above the least value; "
                "raise max_iter or tol.",
                ConvergenceWarning,
            )
