"""Directions in which pairs that are still broken would be mended: the top eigenvectors of X'TX.

T holds the weights of must-links less those of cannot-links, among the m items that are stated. X'TX is
worked out in the smallest of three forms: d x d; m x m, from the inner products of those rows, of which
equal ones do no harm; or not at all, by Lanczos steps. Rows are centred without a dense copy of sparse ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.sparsefuncs import mean_variance_axis

from coterie._arrays import Floats, Index

# Up to how many features X'TX is written out, and up to how many rows their inner products are.
_MOST_FEATURES, _MOST_ROWS = 500, 500
# Eigenvalues below this share of what they can be at most are rounding.
_NO_VALUE = 1e-12
# Directions shorter than this, or longer than its inverse, have squares of squares near the end of float32.
_LEAST_SINGLE = 1e-6
_LONGEST = 1e70
# Numbers of X that are centred at a time.
_CHUNK = 1 << 20


class Scatter:
    """X'TX for one X and many T. `spread` times the covariance of all of X is added to it."""

    def __init__(self, X: Any, items: Index, *, center: bool, difference: bool, spread: float) -> None:
        self.middle = np.zeros(X.shape[1])
        if center:
            self.middle = mean_variance_axis(X, 0)[0] if sparse.issparse(X) else X.mean(0, dtype=np.float64)
            self.middle = np.asarray(self.middle, dtype=np.float64)
        self._rows = X[items].astype(np.float64)
        self._shift = self.middle  # what `_rows` still lack
        if not sparse.issparse(X):
            self._rows, self._shift = self._rows - self.middle, np.zeros(X.shape[1])
        self._difference, self._spread, self._X = difference, spread if difference else 0.0, X
        m, d = self._rows.shape
        squared = self._rows.multiply(self._rows) if sparse.issparse(X) else self._rows**2
        self._length = np.sqrt(np.asarray(squared.sum(axis=1)).ravel()) + np.linalg.norm(self._shift)
        longest = float(self._length.max(initial=0.0))
        if longest and not 1.0 / _LONGEST < longest < _LONGEST:
            raise ValueError(
                f"X has rows of length {longest:.1g}: the squares of their squares are beyond what numbers "
                "can hold; scale X."
            )
        self._written_out = d <= _MOST_FEATURES
        self._covariance = (
            self._spread * self._covariance_of(X) if self._spread and self._written_out else 0.0
        )
        self._basis: tuple[Floats, Floats] | None = None
        if not self._written_out and m <= _MOST_ROWS and not self._spread:
            values, vectors = linalg.eigh(self._gram())
            kept = values > _NO_VALUE * max(values[-1], 0.0)
            root = np.sqrt(values[kept])
            self._basis = root[:, None] * vectors[:, kept].T, vectors[:, kept] / root

    def directions(self, T: Any, n: int) -> Floats | None:
        """At most n columns, each an eigenvector times the root of its value; None: no value is above 0.

        The largest entry of each is positive, so that rounding does not turn it.
        """
        if self._difference:
            T = T - sparse.diags(np.asarray(T.sum(axis=1)).ravel())
        most = float(self._length @ (abs(T) @ self._length))
        n = min(n, self._rows.shape[1])
        if self._written_out:
            values, vectors = _top(self._matrix(T), n)
        elif self._basis is not None:
            root, back = self._basis
            if not len(root):
                return None
            values, inner = _top(root @ (T @ root.T), n)
            vectors = self._back(back @ inner)
        else:
            values, vectors = self._by_steps(T, n)
        kept = values > _NO_VALUE * most
        if not kept.any():
            return None
        found = vectors[:, kept] * np.sqrt(values[kept])
        return found * np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])

    def _matrix(self, T: Any) -> Floats:
        rows, shift, total = self._rows, self._shift, np.asarray(T.sum(axis=1)).ravel()
        M = rows.T @ (T @ rows)
        if sparse.issparse(M):
            M = M.toarray()
            turned = rows.T @ total
            M += total.sum() * np.outer(shift, shift) - np.outer(shift, turned) - np.outer(turned, shift)
        return M + self._covariance

    def _covariance_of(self, X: Any) -> Floats:
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if sparse.issparse(X):
            found = (X.T @ X).toarray().astype(np.float64) / X.shape[0] - np.outer(mean, mean)
        else:
            found = np.zeros((X.shape[1],) * 2)
            for rows in _chunks(X):
                away = X[rows] - mean
                found += away.T @ away / X.shape[0]
        return np.asarray(found)

    def _gram(self) -> Floats:
        products = self._rows @ self._rows.T
        if sparse.issparse(products):
            own = self._rows @ self._shift
            products = products.toarray() - own[:, None] - own + self._shift @ self._shift
        return np.asarray(products)

    def _times(self, V: Floats) -> Floats:
        return np.asarray(self._rows @ V - self._shift @ V)

    def _back(self, W: Floats) -> Floats:
        return np.asarray(self._rows.T @ W - np.multiply.outer(self._shift, W.sum(axis=0)))

    def _by_steps(self, T: Any, n: int) -> tuple[Floats, Floats]:
        d, X = self._rows.shape[1], self._X
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel() if self._spread else None

        def step(v: Floats) -> Floats:
            v = v.ravel()
            found = self._back(T @ self._times(v))
            if mean is not None:
                away = X @ v - mean @ v
                found += self._spread / X.shape[0] * (X.T @ away - mean * away.sum())
            return found

        begin = np.random.default_rng(0).normal(size=d)
        values, vectors = eigsh(LinearOperator((d, d), step, dtype=np.float64), n, which="LA", v0=begin)
        order = np.argsort(-values, kind="stable")
        return values[order], vectors[:, order]


def _top(M: Floats, n: int) -> tuple[Floats, Floats]:
    """The n largest eigenvalues, the largest first, and their vectors."""
    m = len(M)
    values, vectors = linalg.eigh(0.5 * (M + M.T), subset_by_index=(max(m - n, 0), m - 1))
    return values[::-1], vectors[:, ::-1]


def projected(X: Any, middle: Floats, P: Floats) -> Any:
    """(X - middle) P, in the type of X; in double precision where single has no room for the squares."""
    length = float(np.sqrt((P * P).sum()))  # that of rows is about its square
    dtype = X.dtype if _LEAST_SINGLE < length < 1 / _LEAST_SINGLE else np.dtype(np.float64)
    if sparse.issparse(X):
        return np.asarray(safe_sparse_dot(X, P) - middle @ P, dtype=dtype)
    found = np.empty((X.shape[0], P.shape[1]), dtype=dtype)
    for rows in _chunks(X):
        found[rows] = (X[rows] - middle) @ P
    return found


def _chunks(X: Any) -> Any:
    return gen_batches(X.shape[0], max(1, _CHUNK // X.shape[1]))
