"""The largest eigenvalue of a symmetric matrix, to a percent: where temperatures and couplings begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

# Matrices up to this size are written out.
_DENSE_EIGEN = 200
# Power iterations where ARPACK fails.
_STEPS = 50


def top_eigenvalue(times: Callable[[Any], Any], n: int) -> float:
    """Of a symmetric matrix that is known by its products."""
    if n <= _DENSE_EIGEN:
        full = np.column_stack([times(column) for column in np.eye(n)])
        return float(np.linalg.eigvalsh(full)[-1])
    start = np.random.RandomState(0).uniform(-1.0, 1.0, n)
    if not np.any(times(start)):
        return 0.0
    operator = LinearOperator((n, n), matvec=times, dtype=np.float64)
    try:
        return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False)[0])
    except ArpackError:
        vector = start
        for _ in range(_STEPS):
            vector = times(vector)
            vector /= np.linalg.norm(vector)
        return abs(float(vector @ times(vector)))
