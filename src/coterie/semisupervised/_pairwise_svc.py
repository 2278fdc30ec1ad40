"""PairwiseSVC: a support vector machine of labels and pairs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from coterie._arrays import Floats
from coterie.base import About, warn_user
from coterie.semisupervised._pair_classifier import PairClassifier
from coterie.semisupervised._training import Examples, HingeDual, KernelFeatures, least_hinge

# Where f, which is 1 at a margin, is nowhere larger it is 0 but for what `tol` leaves.
_NOTHING = 1e-2


class PairwiseSVC(PairClassifier):
    """A support vector machine, linear or with a kernel, that learns from labels and from pairs.

    CPSVM: minimises the hinge losses of the labelled items, plus `weight` times |f(x) - f(z)| for a must-link
    and |f(x) + f(z)| for a cannot-link, plus `alpha` times the squared norm of f. A pair counts its weight,
    times 2c - 1 where a confidence c is stated. With more than two classes, each against the others, a
    cannot-link costs max(0, 1 + f(x) + f(z)): not both items belong to the class. There is no intercept.
    The losses of pairs have a kink at 0: many pairs that contradict each other, or what the kernel can draw,
    hold f at 0, where it tells no class. With many pairs, or wrong ones, take `PairwiseLogisticRegression`.

    Parameters
    ----------
    alpha, weight, kernel, gamma, degree, coef0, unknown
        As in `PairwiseLogisticRegression`.
    max_iter : int, default 1000
        Most steps of Newton's method for each column; mostly it takes 20 to 200.
    tol : float, default 1e-4
        Share of the objective by which it may be above the best.

    Attributes
    ----------
    classes_, support_, coef_, gamma_, n_contradictions_, constraints_, violations_
        As in `PairwiseLogisticRegression`.
    dual_coef_ : array of shape (n_columns, n_labelled)
        Multipliers of the labelled items, 0 to 1, in the order of the rows.
    pair_dual_coef_ : array of shape (n_columns, n_pairs)
        Multipliers of the pairs, in the order of their items: at most what the pair counts, to both sides.
    dual_gap_ : float
        By how much `objective_` may be above the best.
    objective_, history_, n_iter_, converged_
        What was minimised, minus the best dual after each step, the steps of the column that took most, and
        whether `tol` was reached.

    See Also
    --------
    PairwiseLogisticRegression : the same with logistic losses, and probabilities.

    Notes
    -----
    f(x) = (sum y K(x_i, x) a_i - sum (K(x_i, x) - c K(x_j, x)) g_ij) / (2 alpha), with a in `dual_coef_`, g
    in `pair_dual_coef_`, and c = 1 for must-links, -1 for cannot-links. Cost as in
    `PairwiseLogisticRegression`, and O(l^3) in each step, for l the lesser of the width of rows and of the
    labels and pairs at a kink of their loss.

    References
    ----------
    Yan, Zhang, Yang and Hauptmann 2006; Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter
    17, with the signs of its dual put right.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, PairwiseSVC
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
    >>> y = [0, -1, -1, -1, -1, 1]
    >>> known = Constraints(must_link=[(3, 0)], n_items=6)
    >>> PairwiseSVC().fit(X, y).predict([[4.0]]), PairwiseSVC().fit(X, y, constraints=known).predict([[4.0]])
    (array([1]), array([0]))
    """

    about = About(
        what="a support vector machine, with a kernel or without, that takes pairs beside labels",
        when="as above, where no probabilities are asked for, and pairs are few and right",
        source="Yan, Zhang, Yang and Hauptmann 2006; chapter 17",
        measure="kernel",
    )
    parameter_rules: ClassVar[Any] = PairClassifier.parameter_rules

    def __init__(
        self,
        alpha: float = 0.01,
        weight: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: Any = "median",
        degree: int = 3,
        coef0: float = 1.0,
        unknown: Any = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
    ) -> None:
        self.alpha = alpha
        self.weight = weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.unknown = unknown
        self.max_iter = max_iter
        self.tol = tol

    def _train(self, features: KernelFeatures, known: Examples) -> Floats:
        dual = HingeDual(features.rows, known, float(self.alpha))
        found = least_hinge(dual, float(self.tol), self.max_iter)
        n = len(known.labelled)
        self.dual_coef_, self.pair_dual_coef_ = found.theta[:n].T, dual.of_pairs(found.theta).T
        self.dual_gap_, self.objective_ = found.gap, found.objective
        self.history_, self.n_iter_ = found.history, found.n_iter
        self.converged_ = found.gap <= self.tol * found.objective
        self._warn_of_no_end(
            f"primal and dual are still {found.gap / max(found.objective, 1e-300):.2g} of the objective apart"
        )
        if self.converged_ and np.abs(features.rows @ found.weights).max() < _NOTHING:
            warn_user(
                "f is 0 for all rows but for rounding, so that predictions say nothing: the pairs outweigh "
                "the labels (take a smaller weight), or the kernel tells no row from another.",
                UserWarning,
            )
        return found.weights

    def _loss(self, margin: Any) -> Any:
        return np.maximum(0.0, 1.0 - margin)
