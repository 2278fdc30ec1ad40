"""Loads: what each item counts in the size of its cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import NOTHING, Floats
from coterie._words import format_number
from coterie.exceptions import ParameterError


def read_loads(size_weight: Any, n: int) -> Floats:
    """Loads: finite, not negative; empty if all are 1."""
    if size_weight is None:
        return NOTHING
    try:
        load = np.asarray(size_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise _wrong_load(f"size_weight must be {n} numbers, one per item.") from None
    if load.shape != (n,):
        raise _wrong_load(f"size_weight has shape {load.shape}, but one load per item is needed: ({n},).")
    wrong = np.flatnonzero(~np.isfinite(load) | (load < 0))
    if len(wrong):
        raise _wrong_load(
            f"size_weight of item {wrong[0]} is {format_number(load[wrong[0]])}; loads are finite, at least "
            "0."
        )
    with np.errstate(over="ignore"):
        total = load.sum()
    if not np.isfinite(total):
        raise _wrong_load("size_weight adds up to more than float64 holds; count in larger units.")
    if not load.any():
        raise _wrong_load("size_weight is zero for every item: nothing would be counted.")
    return NOTHING if (load == 1.0).all() else load


def _wrong_load(message: str) -> ParameterError:
    return ParameterError(message, "size_weight")
