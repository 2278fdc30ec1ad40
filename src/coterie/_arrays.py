"""Arrays by what they hold, and the empty ones that stand for "no weights" and "nobody"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]
Index = NDArray[np.int64]

NOTHING = np.empty(0)
NOBODY = np.empty(0, dtype=np.uint8)


def by_first_occurrence(labels: Any) -> Index:
    """The same labels numbered from 0 on in the order in which they first occur."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]
