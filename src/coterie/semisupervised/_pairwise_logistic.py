"""PairwiseLogisticRegression: kernel logistic regression of labels and pairs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, logsumexp

from coterie._arrays import Floats
from coterie.base import About, Rule, one_of
from coterie.constraints import Constraints
from coterie.exceptions import ParameterError, UnsupportedConstraintError
from coterie.semisupervised._pair_classifier import PairClassifier
from coterie.semisupervised._training import (
    APART_LOSSES,
    SAME_LOSSES,
    Examples,
    KernelFeatures,
    SmoothObjective,
    least_smooth,
    typical_length,
)


def _is_matrix(value: Any) -> bool:
    try:
        return np.asarray(value, dtype=np.float64).ndim == 2
    except (TypeError, ValueError):
        return False


class PairwiseLogisticRegression(PairClassifier):
    """Logistic regression, linear or with a kernel, that learns from labels and from pairs.

    Minimises the logistic losses of the labelled items, plus `weight` times those of the pairs, plus `alpha`
    times the squared norm of f. A pair counts its weight, times 2c - 1 where a confidence c is stated, so
    that doubtful pairs count less and those of a coin none. Must-links say that f is alike. Cannot-links say
    that it is opposite, with two classes; with more, where each class has an f of its own against the others,
    that not both items belong to it. There is no intercept.

    Parameters
    ----------
    alpha : float, default 0.01
        Price of the squared norm of f; above 0.
    weight : float, default 1.0
        What a pair counts beside a label; 0 is kernel logistic regression.
    loss : {"convex", "nonconvex"}, default "convex"
        "convex" (CPKLR) asks how far f of the two items is apart; it has one optimum, and many pairs draw f
        to 0. "nonconvex" (NPKLR) is minus the log of the probability that the pair is right: better for two
        classes of about one size, above all where pairs are many or some are wrong. With more classes, or a
        rare one, it tends to give some up. Its search begins at the labels alone: a local optimum.
    kernel : {"rbf", "laplacian", "polynomial", "linear", "cosine", "precomputed"}, default "rbf"
        exp(-gamma ||x - z||^2); exp(-gamma sum |x - z|); (gamma x'z + coef0)^degree; x'z; the cosine; or X
        holds the kernel.
    gamma : float or "median", default "median"
        Of the first three; "median" is as in `KernelPCKMeans`. The borders between classes may need one that
        is several times as large.
    degree : int, default 3
        Of "polynomial".
    coef0 : float, default 1.0
        Of "polynomial".
    cannot_link_loss : {"not-both", "printed"}, default "not-both"
        How "nonconvex" takes cannot-links among more than two classes. "printed" is (17.24) as in the book:
        it falls without bound where f does, and pays for driving all items away from all classes.
    code : "ova" or array of shape (n_classes, n_columns), default "ova"
        One class against all others; or your own problems: -1 and 1, the side of each class (in their order)
        in each column. Then only must-links can be used, and a row has the class of the least loss.
    unknown : label, optional
        What `predict` says of rows that no class claims (no f above 0). Two classes then have an f each.
    max_iter : int, default 1000
        Most steps of L-BFGS.
    tol : float, default 1e-6
        Slope at which the search ends, for a label on average.

    Attributes
    ----------
    classes_, support_, gamma_, n_contradictions_, constraints_, violations_
        As in `PairClassifier`: the classes, the rows that matter, and what the predictions break.
    coef_ : array of shape (n_columns, n_features)
        With "linear" and "cosine": what rows (of length 1) are multiplied with.
    dual_coef_ : array of shape (n_columns, n_support)
        With other kernels: f(x) is the sum of these times the kernel between x and `support_`.
    objective_, history_, n_iter_, converged_
        What was minimised, its value after each step, the steps, and whether `tol` was reached.

    See Also
    --------
    PairwiseSVC : the same with hinge losses.

    Notes
    -----
    Only the m rows with a label or in a pair matter, and are decomposed once: O(m^3) time, 8 m^2 bytes. A
    step costs O(m^2 k + p k) for p pairs and k classes, O(m d k + p k) with "linear". For large data put
    `sklearn.kernel_approximation.Nystroem` before ``kernel="linear"``.

    References
    ----------
    Yan, Zhang, Yang and Hauptmann 2006, A discriminative learning framework with pairwise constraints for
    video object classification. Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter 17.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, PairwiseLogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
    >>> y = ["low", None, None, None, None, "high"]
    >>> known = Constraints(must_link=[(3, 0)], cannot_link=[(3, 4)], n_items=6)
    >>> plain = PairwiseLogisticRegression().fit(X, y)
    >>> told = PairwiseLogisticRegression().fit(X, y, constraints=known)
    >>> plain.predict([[4.0]]).tolist(), told.predict([[4.0]]).tolist()
    (['high'], ['low'])
    """

    about = About(
        what="logistic regression, with a kernel or without, that takes pairs beside labels",
        when="few items have a class, many pairs are known to be of one class or of two; new rows follow",
        source="Yan, Zhang, Yang and Hauptmann 2006; chapter 17",
        measure="kernel",
    )
    parameter_rules: ClassVar[Any] = {
        **PairClassifier.parameter_rules,
        "loss": one_of("convex", "nonconvex"),
        "cannot_link_loss": one_of("not-both", "printed"),
        "code": one_of("ova") | Rule(_is_matrix, "a matrix of -1 and 1"),
    }

    def __init__(
        self,
        alpha: float = 0.01,
        weight: float = 1.0,
        *,
        loss: str = "convex",
        kernel: str = "rbf",
        gamma: Any = "median",
        degree: int = 3,
        coef0: float = 1.0,
        cannot_link_loss: str = "not-both",
        code: Any = "ova",
        unknown: Any = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.weight = weight
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.cannot_link_loss = cannot_link_loss
        self.code = code
        self.unknown = unknown
        self.max_iter = max_iter
        self.tol = tol

    def _code(self, known: Constraints) -> tuple[Floats, bool]:
        if isinstance(self.code, str):
            return super()._code(known)
        code, k = np.asarray(self.code, dtype=np.float64), len(self.classes_)
        if len(code) != k:
            raise ParameterError(
                f"code has {len(code)} rows, one a class, but y has labels of {k} classes: {self.classes_}; "
                "a class without a label cannot be learned.",
                "code",
            )
        alone = (np.abs(code.sum(axis=0)) == k) if (np.abs(code) == 1.0).all() else np.ones(1, dtype=bool)
        if alone.any() or len(np.unique(code, axis=0)) < k:
            raise ParameterError(
                "code must hold -1 and 1, both in every column, and no two equal rows.", "code"
            )
        if self.unknown is not None:
            raise ParameterError('unknown goes with code="ova": other columns claim no class.', "unknown")
        if "must-link" not in known.kinds or known.kinds - {"must-link"}:
            odd = sorted(known.kinds - {"must-link"})
            if odd:
                raise UnsupportedConstraintError(
                    f"a code takes must-links alone, not {', '.join(odd)}: items of different classes may be "
                    'on one side of a column. Leave those out, or take code="ova".'
                )
        self._given_code = code
        return code, False

    def _train(self, features: KernelFeatures, known: Examples) -> Floats:
        same, apart = SAME_LOSSES[self.loss], APART_LOSSES[self.loss, self.cannot_link_loss]
        begin = np.zeros((features.rows.shape[1], known.sign.shape[1]))
        scale = typical_length(features.rows)

        def search(some: Examples, weights: Floats) -> Any:
            objective = SmoothObjective(features.rows, some, float(self.alpha), same, apart)
            return least_smooth(objective, weights, scale, float(self.tol), self.max_iter)

        n_before = 0
        if self.loss == "nonconvex" and len(known.i):
            # at 0 the slope of all pairs is 0, and which optimum is found depends on the start
            first = search(known.without_pairs(), begin)
            begin, n_before = first.weights, first.n_iter
        found = search(known, begin)
        self.objective_, self.history_ = found.objective, found.history
        self.n_iter_, self.converged_ = n_before + found.n_iter, found.converged
        self._warn_of_no_end("the slope is still above tol")
        return found.weights

    def _keep(self, weights: Floats) -> None:
        super()._keep(weights)
        if not self._features.is_linear:
            self.dual_coef_ = self._coefficients.T

    def _loss(self, margin: Any) -> Any:
        return np.logaddexp(0.0, -margin)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class.

        Of two classes that of the model; of more each class's own against the others, divided by their sum,
        which is a ranking rather than a probability.

        Parameters
        ----------
        X
            As in `decision_function`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        columns = self._columns(X)
        scores = self._scores(columns)
        odds = log_expit(scores) if self._given_code is None else scores
        return np.exp(odds - logsumexp(odds, axis=1, keepdims=True))
