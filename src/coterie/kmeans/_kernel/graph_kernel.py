"""A graph as a kernel: the affinities of its nodes, for kernel k-means that cuts it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats
from coterie.base import negative_entry, symmetric
from coterie.distance._kernels import ItemKernel

GRAPHS = ("ratio_association", "ratio_cut", "normalized_cut")


def graph_kernel(A: Any, graph: str, weight: Floats) -> tuple[ItemKernel, Floats, Floats]:
    """An affinity matrix as a kernel whose entries are divided by nothing: similarities, masses, degrees.

    The similarities of two nodes are those of the graph (for the ratio cut minus its Laplacian), times both
    weights; the normalised cut weighs a node by its degree.
    """
    A = symmetric(A, "an affinity matrix")
    below = negative_entry(A)
    if below is not None:
        raise ValueError(f"affinities must not be negative; {below}.")
    if (weight != 1).any():
        A = sparse.diags(weight) @ A @ sparse.diags(weight) if sparse.issparse(A) else _scaled(A, weight)
        A = sparse.csr_matrix(A) if sparse.issparse(A) else A
    degree = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    mass = weight
    if graph == "normalized_cut":
        alone = np.flatnonzero((degree <= 0) & (weight > 0))
        if len(alone):
            raise ValueError(
                f"node {alone[0]} has no edges ({len(alone):,} such nodes), so its normalised cut is 0 / 0: "
                'give it an edge, leave it out, or use graph="ratio_cut".'
            )
        mass = degree
    elif graph == "ratio_cut":
        if sparse.issparse(A):
            A = (A - sparse.diags(degree)).tocsr()
        else:
            A = A.astype(np.float64)
            A[np.diag_indices_from(A)] -= degree
    return ItemKernel(A, False, np.asarray(A.diagonal(), dtype=np.float64)), mass, degree


def _scaled(A: Any, weight: Floats) -> Any:
    return A * weight[:, None] * weight
