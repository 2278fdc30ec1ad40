"""Sample weights: how often an item counts, checked once for every estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.exceptions import ParameterError

__all__ = ["check_sample_weight"]


def check_sample_weight(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """Read sample weights: finite, not negative, not all zero.

    Parameters
    ----------
    sample_weight : None, number or array-like of shape (n_samples,)
        None stays None, so that an estimator can tell "no weights" from weights; a number is every item's.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, already checked.

    Returns
    -------
    sample_weight : ndarray of shape (n_samples,) or None
        In float64, not to be written to.

    Examples
    --------
    >>> check_sample_weight([1, 2, 0], [[0.0], [1.0], [2.0]])
    array([1., 2., 0.])
    """
    if sample_weight is None:
        return None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = _numbers(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.ndim != 1:
        raise _wrong(
            f"sample_weight must be a number or one-dimensional, one per row of X; got shape {weight.shape}."
        )
    if len(weight) != n:
        raise _wrong(f"sample_weight.shape == {weight.shape}, expected {(n,)}: one weight per row of X.")
    bad = ~np.isfinite(weight)
    if bad.any():
        row = int(np.argmax(bad))
        raise _wrong(f"sample_weight must be finite; row {row} has {weight[row]}.")
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise _wrong(
            f"Negative values in data passed to `sample_weight`: row {row} has {weight[row]:g}. "
            "A weight says how often an item counts; use 0 to leave an item out."
        )
    if not weight.any():
        raise _wrong(
            "Sample weights must contain at least one non-zero number; sample_weight is zero in every row."
        )
    return weight


def _wrong(message: str) -> ParameterError:
    return ParameterError(message, "sample_weight")


def _numbers(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        for row, value in enumerate(array.ravel().tolist()):
            if not isinstance(value, Real):
                raise _wrong(f"sample_weight must be numbers; row {row} has {value!r}.")
    return array.astype(np.float64, copy=False)
