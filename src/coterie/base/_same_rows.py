"""Rows known again, so that nobody is told about rows that a model has not seen.

A fit keeps a mark of some rows, their product with a fixed vector: of all if there are at most 1,000, else of
so many. Another order, selection or unit changes nearly all. X is not kept, and the cost does not grow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Floats, Index

_MOST_ROWS, _FEW_ROWS, _MOST_CELLS = 1_000, 64, 1_000_000
# What rounding to float32 may change; and what other arithmetic may, where `fit_transform` and `transform` of
# a step before the model give rows that only nearly agree.
_ROUNDING, _NEARLY = 1e-6, 0.1


def mark_rows(X: Any) -> Floats | None:
    """A number for each of some rows; None where they hold other things than numbers."""
    return _marks(X)[1] if X.dtype.kind in "fiub" else None


def changed_row(marks: Floats, X: Any, *, nearly: bool = False) -> int | None:
    """The first row that is not what was marked; with `nearly` only if that is true of most."""
    at, now, size = _marks(X)
    with np.errstate(invalid="ignore"):
        same = np.abs(now - marks) <= (_NEARLY if nearly else _ROUNDING) * size
    same |= (now == marks) | (np.isnan(now) & np.isnan(marks))
    return None if same.all() or (nearly and same.mean() > 0.5) else int(at[np.argmin(same)])


def _marks(X: Any) -> tuple[Index, Floats, Floats]:
    """Which rows have a mark, their marks, and how large the parts of these are."""
    n, d = X.shape
    most = max(_FEW_ROWS, min(_MOST_ROWS, _MOST_CELLS // max(d, 1)))
    at = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
    some, along = X[at], np.cos(np.arange(1.0, d + 1))
    with np.errstate(over="ignore", invalid="ignore"):
        return at, np.asarray(some @ along).ravel(), np.asarray(abs(some) @ abs(along)).ravel()
