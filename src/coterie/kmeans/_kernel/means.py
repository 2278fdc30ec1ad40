"""Means of clusters in the space of a kernel: shares of the items, or vectors where there are features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from coterie._arrays import Floats, Index, Labels
from coterie.distance._kernels import ItemKernel, KernelMaker
from coterie.kmeans._kernel.search import HardConstraints
from coterie.kmeans._kernel.similarities import Units

# Similarities that are held at a time.
_BLOCK = 1 << 22


class Means:
    """The items' shares in the means, and the squared lengths of these."""

    def __init__(self, labels: Labels, k: int, kernel: ItemKernel, weight: Floats) -> None:
        n = len(labels)
        mass = np.bincount(labels, weight, k)
        part = np.divide(weight, mass[labels], out=np.zeros(n), where=mass[labels] > 0)
        self.share = sparse.csr_matrix((part, (np.arange(n), labels)), (n, k))
        # a cluster without mass has no mean: nothing is near it
        self.held = mass > 0
        self.vectors: Any = None
        if kernel.is_features:
            vectors = self.share.T @ kernel.data
            vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
            self.vectors = np.asarray(vectors, dtype=np.float64)
            self.lengths = np.einsum("ij,ij->i", self.vectors, self.vectors)
            return
        rows = max(1, _BLOCK // n)
        self.lengths = np.zeros(k)
        for start in range(0, n, rows):
            some = np.arange(start, min(start + rows, n))
            inside = self.share[some].multiply(kernel.times(some, self.share))
            self.lengths += np.asarray(inside.sum(axis=0)).ravel()

    def half_squared_distances(self, similarity: Floats) -> Floats:
        """Squared distances to the means, but for the lengths of the rows themselves."""
        return np.where(self.held, self.lengths - 2.0 * similarity, np.inf)

    def nearest(self, kernel: ItemKernel) -> Labels:
        """The nearest mean of each training item."""
        n = len(kernel.diagonal)
        rows = max(1, _BLOCK // n)
        parts = [np.arange(start, min(start + rows, n)) for start in range(0, n, rows)]
        found = [self.half_squared_distances(kernel.times(part, self.share)).argmin(axis=1) for part in parts]
        return np.concatenate(found).astype(np.int32)

    def similarities(self, rows: Any, maker: KernelMaker | None, train: Any) -> Floats:
        """Of new rows with the means; without a maker the rows hold their similarities to the items."""
        if maker is None:
            found = safe_sparse_dot(rows, self.share, dense_output=True)
            return np.asarray(found.toarray() if sparse.issparse(found) else found)
        if self.vectors is not None:
            return np.asarray(safe_sparse_dot(rows, self.vectors.T, dense_output=True))
        found = np.empty((rows.shape[0], len(self.held)))
        block = max(1, _BLOCK // train.shape[0])
        for start in range(0, rows.shape[0], block):
            found[start : start + block] = maker.table(rows[start : start + block], train) @ self.share
        return found

    def place(
        self, labels: Labels, kernel: ItemKernel, units: Units, hard: HardConstraints, unit: Index
    ) -> None:
        """Bring units without mass, of which no price speaks, to their nearest mean as far as they may."""
        # entries of a kernel are there too, times a weight of 0
        priced = (abs(units.graph) @ np.ones(units.m) > 0) | (abs(units.rows) @ np.abs(units.factor) > 0)
        light = np.flatnonzero((units.mass == 0) & ~priced)
        if not len(light):
            return
        count = np.bincount(labels, minlength=len(self.held))
        order = np.argsort(unit, kind="stable")
        first = np.searchsorted(unit[order], np.arange(units.m + 1))
        for u in light.tolist():
            items = order[first[u] : first[u + 1]]
            half_squared = self.half_squared_distances(kernel.times(items, self.share)).sum(axis=0)
            if count[labels[u]] > 1:
                count[labels[u]] -= 1
                labels[u] = int(np.argmin(np.where(hard.open_to(u, labels), half_squared, np.inf)))
                count[labels[u]] += 1
