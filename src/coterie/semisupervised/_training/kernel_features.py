"""A kernel as features: rows Z with Z Z' = K, in which every function of the kernel is linear.

"linear" and "cosine" have such rows from the start. Of the others the table of the items that matter is
decomposed once, O(m^3) for m of them; all classes share it. In Z the problem is far better conditioned than
in the coefficients of the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from coterie._arrays import Floats, Index
from coterie.base import warn_user
from coterie.distance._kernels import KernelMaker, given_kernel, refuse_large_table

# Directions below this share of the largest eigenvalue are rounding; below minus the other, the kernel is not
# positive semidefinite.
_RANK, _INDEFINITE = 1e-10, 1e-8
# Numbers in a chunk of similarities.
_CHUNK = 1 << 22
WAYS_OUT = (
    "Few labels and pairs need few items; otherwise put Nystroem of scikit-learn before a classifier with "
    'kernel="linear".'
)


class KernelFeatures:
    """Rows of the items that matter, and the way from weights in them to a function of any item."""

    def __init__(self, model: Any, X: Any, items: Index) -> None:
        self.items, self.dtype = items, X.dtype
        self._back: Floats | None = None  # from weights of the rows to coefficients of the items
        self._maker: Any = None
        self.support: Any = None
        if model.kernel == "precomputed":
            refuse_large_table("precomputed", len(items), np.float64, WAYS_OUT)
            given = given_kernel(X).data
            table = given[items][:, items]
            self.rows = self._factor(table.toarray() if sparse.issparse(table) else table)
            return
        self._maker = KernelMaker(
            *(model.kernel, model.gamma, model.degree, model.coef0, X, np.ones(X.shape[0])),
            from_origin=True,
        )
        some = X[items].astype(np.float64)
        found = self._maker.items(some, WAYS_OUT)
        self.support = None if found.is_features else self._maker.prepared(some)
        self.rows = found.data if found.is_features else self._factor(found.data)

    @property
    def gamma(self) -> float | None:
        """The gamma that was used, where the kernel has one."""
        return self._maker.gamma if self._maker is not None and self.support is not None else None

    @property
    def is_linear(self) -> bool:
        """Whether the rows are features of the items, so that weights of theirs say it all."""
        return self._back is None

    def _factor(self, table: Any) -> Floats:
        values, vectors = linalg.eigh(np.asarray(table, dtype=np.float64))
        largest = max(float(values[-1]), -float(values[0]))
        if values[0] < -_INDEFINITE * largest:
            warn_user(
                f"the kernel is not positive semidefinite: it has the eigenvalue {values[0]:.3g}, beside the "
                f"largest, {values[-1]:.3g}. What is negative of it is left out.",
                UserWarning,
            )
        kept = values > _RANK * largest
        if not kept.any():
            raise ValueError(
                "the kernel of the items with labels or in pairs has no positive direction, so that it tells "
                "none of them from another; choose another kernel."
            )
        root = np.sqrt(values[kept])
        self._back = vectors[:, kept] / root
        return np.asarray(vectors[:, kept] * root)

    def coefficients(self, weights: Floats) -> Floats:
        """Of the features, or of the items; a column for each problem."""
        return weights if self._back is None else self._back @ weights

    def values(self, X: Any, coefficients: Floats) -> Floats:
        """The function of rows of X, or of their similarities with all rows of the fit."""
        width = X.shape[1] if self.support is None else self.support.shape[0]
        found = np.empty((X.shape[0], coefficients.shape[1]), dtype=X.dtype)
        for part in gen_batches(X.shape[0], max(1, _CHUNK // max(width, 1))):
            found[part] = safe_sparse_dot(self.similarities(X[part]), coefficients, dense_output=True)
        return found

    def similarities(self, X: Any, others: Any = None) -> Any:
        """What coefficients are multiplied with; with `others` the kernel between their rows and X's."""
        if self._maker is None:
            return X[:, self.items]
        rows = self._maker.prepared(X.astype(np.float64))
        if others is not None:
            others = self._maker.prepared(others.astype(np.float64))
        if self.support is None:
            return rows if others is None else safe_sparse_dot(rows, others.T, dense_output=True)
        return self._maker.table(rows, self.support if others is None else others)

    def own(self, X: Any) -> Floats:
        """The kernel of each row with itself."""
        return self._maker.own(self._maker.prepared(X.astype(np.float64)))


def typical_length(rows: Any) -> float:
    """The root of the mean squared length; 1 where all are 0."""
    found = float(np.sqrt(row_norms(rows, squared=True).mean()))
    return found if found > 0 else 1.0
