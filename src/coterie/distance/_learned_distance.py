"""What every learned distance shares: reading constraints, the space after `transform`, distances of pairs.

A class says from which kinds of constraint it learns, and how:

    class MyMetric(LearnedDistance):
        constraint_kinds = frozenset({"must-link"})

        def _learn(self, X, known):
            ...
            self.converged_ = True
            self._keep(components)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats, Index
from coterie.base import CHECKS_OF_ROWS, TakesConstraints, check_parameters, warn_user
from coterie.constraints import Constraints
from coterie.constraints._reading import check_range, read_pairs
from coterie.distortion._rows import squared_pair_distances
from coterie.exceptions import UnsupportedConstraintError

# Features up to which a matrix of all features by all features is kept.
MOST_FEATURES = 5_000


class LearnedDistance(
    TakesConstraints, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Parent of the learned distances, which are transformers: they go before any method of a pipeline.

    A distance learns from the kinds of constraint that it knows, and passes over the others: the method
    behind it gets them all. If nothing is stated, the distance stays as it is, and one warning says so.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The new axes; after `transform` the learned distance is Euclid's.
    metric_ : array of shape (n_features, n_features)
        The matrix A of the learned distance (x - z)' A (x - z); up to 5,000 features.
    n_used_ : int
        How many constraints it learned from.
    converged_ : bool
        Whether the search came to its end.
    """

    components_: Any
    metric_: Floats
    n_used_: int
    converged_: bool
    # where each axis is an old one: its unit
    _units: Floats | None
    # what else the kinds must hold, in words: for the error where nothing can be learned
    _needs: str

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Learn the distance.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The items.
        y : ignored
            Known labels come in as constraints.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known about the items.

        Returns
        -------
        self
        """
        check_parameters(self)
        X, known = self._read_rows(X, constraints, **CHECKS_OF_ROWS)
        self._forget()
        if not known:
            return self._told_nothing(X)
        self._learn(X, known)
        return self

    def _told_nothing(self, X: Any) -> Any:
        warn_user(
            f"{type(self).__name__} was told nothing, so that it leaves the distance as it is; pass "
            f"constraints ({self._needs}).",
            UserWarning,
        )
        self.n_used_, self.converged_ = 0, True
        if "max_iter" in self.get_params():
            self.n_iter_ = 1
        self._keep_diagonal(np.ones(X.shape[1], dtype=X.dtype))
        return self

    @abstractmethod
    def _learn(self, X: Any, known: Constraints) -> None:
        """Learn from what is known, and keep the axes (`_keep`), `n_used_` and `converged_`."""

    def _nothing_of_use(self, known: Constraints) -> UnsupportedConstraintError:
        return UnsupportedConstraintError(
            f"{type(self).__name__} learns from {self._needs}, and there is none among the constraints of a "
            f"weight above 0 (stated: {', '.join(sorted(known.kinds))})."
        )

    def _keep(self, components: Any, has_matrix: bool = True) -> None:
        """Keep the new axes, and the matrix that belongs to them where it has one, not too large."""
        self.components_, self._units = components, None
        self._n_features_out = components.shape[0]
        if has_matrix and components.shape[1] <= MOST_FEATURES:
            self.metric_ = np.asarray(safe_sparse_dot(components.T, components, dense_output=True))

    def _keep_columns(self, root: Floats, columns: Index, scale: Floats, dtype: Any) -> None:
        """Keep axes that were learned in some columns divided by their scale, or a weight for each."""
        root = root / scale[columns]
        full = np.zeros((*root.shape[:-1], len(scale)), dtype=dtype)
        full[..., columns] = root
        self._keep(full) if full.ndim == 2 else self._keep_diagonal(full)

    def _count_used(self, known: Constraints) -> int:
        """How many constraints are of kinds that it learns from, as a person counts them."""
        kinds = self.constraint_kinds
        tables = {"must-link": known.must_table, "cannot-link": known.cannot_table}
        pairs = sum(int(table.active.sum()) for kind, table in tables.items() if kind in kinds)
        return pairs + sum(group.n_stated for group in known.groups if group.active and group.kind in kinds)

    def _keep_diagonal(self, scale: Floats) -> None:
        """Keep the old axes, each in a new unit; they are stored sparse where there are many."""
        self._keep(np.diag(scale) if len(scale) <= MOST_FEATURES else sparse.diags(scale, format="csr"))
        self._units = scale

    def transform(self, X: Any) -> Any:
        """Put items into the space in which the learned distance is Euclid's.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The items.

        Returns
        -------
        array of shape (n_samples, n_components)
            The same items; sparse only where X is sparse and each axis is an old one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **CHECKS_OF_ROWS)
        return self._place(X)

    def _place(self, X: Any) -> Any:
        """Rows that were checked, in the new space."""
        if self._units is None:
            return X @ self.components_.T.astype(X.dtype, copy=False)
        units = self._units.astype(X.dtype, copy=False)
        return sparse.csr_matrix(X.multiply(units)) if sparse.issparse(X) else X * units

    def pair_distances(self, X: Any, pairs: Any) -> Floats:
        """Learned distances between the two items of each pair.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The items.
        pairs : array of shape (n_pairs, 2)
            Row numbers.

        Returns
        -------
        array of shape (n_pairs,)
            The distances, not squared.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **CHECKS_OF_ROWS)
        pairs = read_pairs(pairs, "pairs", None)
        check_range(pairs, X.shape[0], lambda row: f"pairs row {row}")
        items, place = np.unique(pairs, return_inverse=True)
        i, j = place.reshape(pairs.shape).T
        return np.sqrt(squared_pair_distances(self._place(X[items]), i, j))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def column_scale(X: Any) -> Floats:
    """Standard deviation of each column; 0 where it is constant but for rounding."""
    if sparse.issparse(X):
        variance, (low, high) = mean_variance_axis(X, axis=0)[1], min_max_axis(X, axis=0)
    else:
        variance, low, high = X.var(axis=0, dtype=np.float64), X.min(axis=0), X.max(axis=0)
    # a mean is rounded, so that a constant column of many rows need not have a variance of 0
    low, high = low.astype(np.float64), high.astype(np.float64)
    varies = high - low > 10 * np.finfo(X.dtype).eps * np.maximum(np.abs(low), np.abs(high))
    return np.where(varies, np.sqrt(variance, dtype=np.float64), 0.0)
