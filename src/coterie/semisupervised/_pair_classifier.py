"""What the classifiers of labels and pairs share: what is read, the kernel, columns and their decoding.

A class says which losses it has, and how the weights of the rows are found:

    class MyClassifier(PairClassifier):
        def _train(self, features, known):
            ...  # sets objective_, history_, n_iter_, converged_
            return weights  # a column for each problem

        def _loss(self, margin):
            ...  # of a label
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats, Index
from coterie._compiled import one_blas_thread
from coterie._words import count_of
from coterie.base import (
    CHECKS_OF_ROWS,
    TakesConstraints,
    anything,
    check_parameters,
    one_of,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints
from coterie.constraints._model import find_rows
from coterie.distance._kernels import FEATURE_KERNELS, TABLE_KERNELS
from coterie.exceptions import ParameterError
from coterie.semisupervised._training import Examples, KernelFeatures, read_labels_of_rows, read_partial


class PairClassifier(TakesConstraints, ClassifierMixin, BaseEstimator, ABC):
    """Parent of the classifiers that learn from few labels and many pairs.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    support_ : array
        The rows of X that matter: those with a label or in a pair.
    coef_ : array of shape (n_columns, n_features)
        With "linear" and "cosine": what rows (of length 1) are multiplied with. A column for each class, one
        alone for two classes.
    gamma_ : float
        The gamma that was used, where the kernel has one.
    objective_, history_, n_iter_, converged_
        What was minimised, its value after each step, the steps, and whether they came to an end.
    constraints_, violations_
        What was known, and which of it the predictions for these rows break.
    n_contradictions_ : int
        Pairs that no prediction can meet: stated as both kinds, or against two labels.
    """

    parameter_rules: ClassVar[Any] = {
        "alpha": real(0.0, above=True),
        "weight": real(0.0),
        "kernel": one_of(*TABLE_KERNELS, *FEATURE_KERNELS, "precomputed"),
        "gamma": real(0.0, above=True) | one_of("median"),
        "degree": whole(1),
        "coef0": real(),
        "unknown": anything("None, or a label of the type of the classes"),
        "max_iter": whole(1),
        "tol": real(0.0, above=True),
    }

    def fit(self, X: Any, y: Any, *, constraints: Any = None) -> Any:
        """Learn from labels and pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            The items, or their kernel. Rows that have no label and are in no constraint count for
            ``gamma="median"`` alone.
        y : array of shape (n_samples,)
            The class of each item; -1, None or NaN: not known.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What else is known about the items. Groups are written out as pairs; nothing is promised to hold.

        Returns
        -------
        self
        """
        check_parameters(self)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; where no item has "
                "a label, take a clusterer."
            )
        X, known = self._read_rows(X, constraints, **CHECKS_OF_ROWS)
        self._forget()
        self.classes_, place = read_labels_of_rows(y, X)
        self._check_unknown()
        code, opposites = self._code(known)
        examples = Examples.read(place, code, known, float(self.weight), opposites)
        with one_blas_thread():
            self._features = KernelFeatures(self, X, examples.items)
            weights = self._train(self._features, examples)
            self._keep(weights)
            columns = self._features.rows @ weights
        self._recount(known, place, examples.items, columns)
        return self

    @abstractmethod
    def _train(self, features: KernelFeatures, known: Examples) -> Floats:
        """Weights of the rows, a column for each problem; sets what is told of the search."""

    @abstractmethod
    def _loss(self, margin: Any) -> Any:
        """What a label costs whose f times its sign is this."""

    # ---- columns --------------------------------------------------------------------------------------

    def _code(self, known: Constraints) -> tuple[Floats, bool]:
        """The sign of each class in each column; whether one column stands for two classes."""
        k = len(self.classes_)
        self._given_code: Floats | None = None
        if k == 2 and self.unknown is None:
            return np.array([[-1.0], [1.0]]), True
        return 2.0 * np.eye(k) - 1.0, False

    def _check_unknown(self) -> None:
        if self.unknown is None:
            return
        text = isinstance(self.unknown, str)
        if np.ndim(self.unknown) or text != isinstance(self.classes_.tolist()[0], str):
            raise ParameterError(
                f"unknown={self.unknown!r} is not of the type of the classes, such as "
                f"{self.classes_.tolist()[0]!r}: it is a label, too.",
                "unknown",
            )

    def _keep(self, weights: Floats) -> None:
        """Keep what new rows are multiplied with."""
        self.support_ = self._features.items
        self._coefficients = self._features.coefficients(weights)
        if self._features.is_linear:
            self.coef_ = self._coefficients.T.astype(self._features.dtype)
        elif self._features.gamma is not None:
            self.gamma_ = self._features.gamma

    def _scores(self, columns: Floats) -> Floats:
        """A score for each class; the largest wins."""
        if self._given_code is not None:
            return -np.stack([self._loss(row * columns).sum(axis=1) for row in self._given_code], axis=1)
        return np.hstack([-columns, columns]) if columns.shape[1] == 1 else columns

    def _numbers(self, columns: Floats) -> Index:
        """The class of each row by its number; -1: none claims it."""
        number = self._scores(columns).argmax(axis=1)
        return number if self.unknown is None else np.where((columns <= 0).all(axis=1), -1, number)

    def _named(self, numbers: Index) -> Any:
        named = self.classes_[numbers]
        return named if self.unknown is None else np.where(numbers < 0, self.unknown, named)

    def _best_of_rows(self, X: Any) -> tuple[Floats, Floats]:
        """The best score that a class has in each row, and its loss: (17.27) of one image."""
        best = self._scores(self._columns(X)).max(axis=1)
        return best, np.asarray(-best if self._given_code is not None else self._loss(best))

    # ---- what came out --------------------------------------------------------------------------------

    def _recount(self, known: Constraints, place: Index, items: Index, columns: Floats) -> None:
        """Count what the predictions break, and what none could meet."""
        labels = np.zeros(len(place), dtype=np.int64)
        labels[items] = self._numbers(columns)
        self.constraints_, self.violations_ = known, known.violations(labels)
        n = int((find_rows(known.must_table, known.cannot_link) >= 0).sum())
        for table, are_alike in ((known.must_table, True), (known.cannot_table, False)):
            told = place[table.ij]
            n += int(((told >= 0).all(axis=1) & ((told[:, 0] == told[:, 1]) != are_alike)).sum())
        self.n_contradictions_ = n
        more = f" {count_of(n, 'contradiction')} of labels and pairs among them." if n else ""
        self._warn_of_outvoted(self.violations_, more)

    def _warn_of_no_end(self, how_far: str) -> None:
        if not self.converged_:
            way_out = (
                "Raise max_iter or tol, or scale X."
                if self.n_iter_ >= self.max_iter
                else "No step comes nearer: raise tol, scale X, or give pairs weights that are more alike."
            )
            warn_user(
                f"{type(self).__name__} stopped after {self.n_iter_} steps: {how_far}, tol={self.tol:g}. "
                f"{way_out}",
                ConvergenceWarning,
            )

    # ---- new rows -------------------------------------------------------------------------------------

    def _columns(self, X: Any) -> Floats:
        """The function of each column, of rows that are checked here."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **CHECKS_OF_ROWS)
        return self._features.values(X, self._coefficients)

    def decision_function(self, X: Any) -> Floats:
        """How far rows are on the side of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or similarities to the rows of the fit
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,)
            f of each class; of two classes only that of the second one, unless `unknown` is given. With a
            `code` minus the losses of each class.
        """
        columns = self._columns(X)
        if self._given_code is None:
            return columns.ravel() if columns.shape[1] == 1 else columns
        scores = self._scores(columns)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class of each row.

        Parameters
        ----------
        X
            As in `decision_function`.

        Returns
        -------
        array of shape (n_samples,)
            Labels; `unknown` where no class claims the row.
        """
        return self._named(self._numbers(self._columns(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of right predictions among the rows that have a label, as a search over folds needs it.

        Parameters
        ----------
        X
            As in `decision_function`.
        y : array of shape (n_samples,)
            The class of each row; -1, None or NaN: not known, and not counted.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        float
        """
        found = self.predict(X)
        y, silent = read_partial(y, found)
        if silent.all():
            raise ValueError("y has no label (-1, None and NaN are none): there is nothing to score.")
        right = found[~silent] == y[~silent]
        return float(
            np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)[~silent])
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
