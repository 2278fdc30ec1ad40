"""Outermost eigenvalues of a symmetric matrix, roughly: where temperatures, couplings and shifts begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

# Matrices up to this size are written out, and up to this one for their least eigenvalue.
_DENSE_TOP, _DENSE_LEAST = 200, 500
# Power iterations where ARPACK fails.
_STEPS = 50


def top_eigenvalue(times: Callable[[Any], Any], n: int) -> float:
    """The largest of a symmetric matrix that is known by its products, to a percent."""
    return _all(times, n)[-1] if n <= _DENSE_TOP else _outermost(times, n, "LA", 1e-2)


def least_eigenvalue(times: Callable[[Any], Any], n: int) -> float:
    """The least, or a number just below it."""
    if n <= _DENSE_LEAST:
        return _all(times, n)[0]
    # it is often one of many near 0, which takes forever: ask for it as a largest one
    largest = 1.01 * abs(_outermost(times, n, "LM", 1e-3))
    return largest - 1.001 * _outermost(lambda v: largest * v - times(v), n, "LA", 1e-3)


def _all(times: Callable[[Any], Any], n: int) -> list[float]:
    full = np.column_stack([times(column) for column in np.eye(n)])
    return np.linalg.eigvalsh(full).tolist()


def _outermost(times: Callable[[Any], Any], n: int, which: str, tol: float) -> float:
    """The largest eigenvalue ("LA"), or the one farthest from 0 ("LM")."""
    start = np.random.RandomState(0).uniform(-1.0, 1.0, n)
    if not np.any(times(start)):
        return 0.0
    operator = LinearOperator((n, n), matvec=lambda v: times(np.ravel(v)), dtype=np.float64)
    try:
        return float(eigsh(operator, k=1, which=which, v0=start, tol=tol, return_eigenvectors=False)[0])
    except ArpackError:
        vector = start
        for _ in range(_STEPS):
            vector = times(vector)
            vector /= np.linalg.norm(vector)
        return abs(float(vector @ times(vector)))
