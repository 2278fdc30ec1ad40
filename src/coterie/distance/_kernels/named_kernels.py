"""Kernels: similarities of items, given or worked out from features, and what they need to know of new rows.

"linear" and "cosine" stay features, a sparse kernel stays sparse; all others are tables of n x n numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.utils.extmath import safe_sparse_dot

from coterie._arrays import Floats, Index
from coterie.base import distances_between, symmetric
from coterie.distortion import Cosine, SquaredEuclidean
from coterie.distortion._rows import canonical

FEATURE_KERNELS: tuple[str, ...] = ("linear", "cosine")
TABLE_KERNELS: tuple[str, ...] = ("rbf", "laplacian", "polynomial")
# Bytes of a table of all pairs.
MAX_TABLE = 4_000_000_000
# Items whose distances `gamma="median"` looks at.
_SAMPLE = 1000


@dataclass(frozen=True, eq=False)
class ItemKernel:
    """Similarities of all items: features whose inner products count, a dense table, or a CSR matrix."""

    data: Any
    is_features: bool
    diagonal: Floats

    def times(self, items: Index, share: Any) -> Floats:
        """Similarities of some items, added up by the columns of `share` (CSR, one row an item)."""
        rows = self.data[items]
        if self.is_features:
            return np.asarray(safe_sparse_dot(rows, (share.T @ self.data).T, dense_output=True))
        return np.asarray(safe_sparse_dot(rows, share, dense_output=True), dtype=np.float64)


class KernelMaker:
    """A named kernel; learns from the training rows what `gamma="median"` means and where their middle is.

    With `from_origin` the inner products of "linear" are those of the rows as they are: a function that is
    linear in them has no intercept, so that the origin matters.
    """

    def __init__(
        self,
        name: str,
        gamma: Any,
        degree: int,
        coef0: float,
        X: Any,
        mass: Floats,
        *,
        from_origin: bool = False,
    ) -> None:
        self.name, self.degree, self.coef0 = name, degree, coef0
        (Cosine if name == "cosine" else SquaredEuclidean)(X, mass).check_range()
        # distances do not change when the origin moves to the data, and keep their digits
        moves = name == "rbf" or (name == "linear" and not from_origin)
        moves = moves and not sparse.issparse(X)
        self.middle = (mass @ X / mass.sum()).astype(X.dtype) if moves else None
        self.gamma = 1.0
        if name in TABLE_KERNELS:
            self.gamma = self._median(X, mass) if gamma == "median" else float(gamma)

    def _median(self, X: Any, mass: Floats) -> float:
        """One over the typical size of what gamma is multiplied with; 1 where all of it is 0."""
        rows = np.arange(0, X.shape[0], X.shape[0] // _SAMPLE + 1)
        sample, weight = self.prepared(X[rows]), mass[rows]
        if self.name == "polynomial":
            value = _squared_lengths(sample)
        else:
            far = distances_between(sample, sample, "manhattan" if self.name == "laplacian" else "euclidean")
            i, j = np.triu_indices(len(rows), 1)
            value, weight = far[i, j], weight[i] * weight[j]
        # an item and its copy say nothing about the scale, nor do items of no weight; of sparse rows, the
        # distance of copies is 0 but for rounding
        kept = (value > 1e-6 * value.max(initial=0.0)) & (weight > 0)
        if not kept.any():
            return 1.0
        value, weight = value[kept].astype(np.float64), weight[kept]
        order = np.argsort(value)
        running = np.cumsum(weight[order])
        middle = float(value[order[np.searchsorted(running, 0.5 * running[-1])]])
        return 1.0 / (2.0 * middle * middle) if self.name == "rbf" else 1.0 / middle

    def prepared(self, X: Any) -> Any:
        """Rows as they enter inner products and distances."""
        X = canonical(X)
        if self.name == "laplacian" and sparse.issparse(X) and X.indices.dtype != np.int32:
            # what scikit-learn asks for
            ends = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            X = sparse.csr_matrix((X.data, *ends), X.shape)
        if self.middle is not None:
            return np.asarray(X - self.middle)  # of a sparse matrix the difference is a matrix, too
        if self.name != "cosine":
            return X
        scale = Cosine(X).scale.astype(X.dtype)
        return sparse.csr_matrix(sparse.diags(scale) @ X) if sparse.issparse(X) else X * scale[:, None]

    def table(self, A: Any, B: Any) -> Any:
        """Kernel between prepared rows, in their dtype; B is None: among those of A."""
        if self.name == "polynomial":
            found = safe_sparse_dot(A, (A if B is None else B).T, dense_output=True)
            found *= self.gamma
            found += self.coef0
            return np.power(found, self.degree, out=found)
        if self.name == "rbf":
            found = euclidean_distances(A, B, squared=True)
        else:
            found = manhattan_distances(A, B).astype(A.dtype, copy=False)
        found *= -self.gamma
        return np.exp(found, out=found)

    def own(self, A: Any) -> Floats:
        """Kernel of each prepared row with itself."""
        if self.name in ("rbf", "laplacian"):
            return np.ones(A.shape[0])
        lengths = _squared_lengths(A)
        return (self.gamma * lengths + self.coef0) ** self.degree if self.name == "polynomial" else lengths

    def items(self, X: Any, ways_out: str = "") -> ItemKernel:
        """The kernel among the training rows; `ways_out` are told where a table would be too large."""
        rows = self.prepared(X)
        if self.name in FEATURE_KERNELS:
            if sparse.issparse(rows):
                rows = rows.copy()
                rows.sum_duplicates()
            return ItemKernel(rows, True, self.own(rows))
        refuse_large_table(self.name, X.shape[0], X.dtype, ways_out)
        table = self.table(rows, None)
        if not np.isfinite(table).all():
            raise ValueError(
                f"kernel={self.name!r} leaves the range of {table.dtype}: scale X, or choose a smaller "
                "gamma, degree or coef0."
            )
        return ItemKernel(table, False, self.own(rows))


def _squared_lengths(A: Any) -> Floats:
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", A, A, dtype=np.float64)


def refuse_large_table(name: str, n: int, dtype: Any, ways_out: str) -> None:
    """Raise where a table of all pairs would not fit, and say what else there is."""
    size = float(n) * n * np.dtype(dtype).itemsize
    if size > MAX_TABLE:
        raise ValueError(
            f"kernel={name!r} of {n:,} items is a table of {size / 1e9:.1f} GB, more than "
            f"{MAX_TABLE / 1e9:.0f} GB. {ways_out}"
        )


def given_kernel(K: Any) -> ItemKernel:
    """A kernel that the user worked out."""
    K = symmetric(K, "a precomputed kernel")
    return ItemKernel(K, False, np.asarray(K.diagonal(), dtype=np.float64))
