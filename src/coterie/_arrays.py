"""Arrays by what they hold, and the empty ones that stand for "no weights" and "nobody"."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]
Index = NDArray[np.int64]

NOTHING = np.empty(0)
NOBODY = np.empty(0, dtype=np.uint8)
