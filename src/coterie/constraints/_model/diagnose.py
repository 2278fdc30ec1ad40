"""Two numbers about a constraint set before it is used (Davidson, Wagstaff and Basu 2006).

Informativeness: the share of the constraints that an unconstrained clustering breaks, that is, what it could
not know. Coherence: the share of (must-link, cannot-link) pairs that do not pull against each other
along the same line. Sets that inform and cohere tend to help; correct but incoherent ones can hurt.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.constraints._model.statements import FloatArray, IntArray
from coterie.constraints._model.violations import find_violations
from coterie.constraints._reading.sample import as_generator

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Entries of a block of projections: some megabytes.
_BLOCK = 1_000_000
# Overlaps shorter than this share of the segment count as touching: rounding of the projection.
_TOUCH = 1e-9


def informativeness(c: Constraints, labels: Any) -> float:
    """See `Constraints.informativeness`."""
    broken = find_violations(c, labels)
    return broken.n_broken_pairs / broken.n_pairs if broken.n_pairs else math.nan


def coherence(c: Constraints, X: Any, max_products: int, random_state: Any) -> float:
    """See `Constraints.coherence`."""
    if hasattr(X, "toarray"):
        raise TypeError("coherence needs dense data; pass X.toarray(), or a few components of it.")
    data, c = np.asarray(X, dtype=np.float64), c.in_order_of(X)
    if data.ndim != 2 or len(data) != c.n_items:
        raise ValueError(f"X has shape {data.shape}, but the constraints speak of {c.n_items} items.")
    must, cannot = (table.ij[table.active] for table in (c.must_table, c.cannot_table))
    if not len(must) or not len(cannot):
        return math.nan
    used = np.unique(np.concatenate([must, cannot]))
    bad = used[~np.isfinite(data[used]).all(axis=1)]
    if len(bad):
        raise ValueError(f"row {bad[0]} of X, which a constraint names, is not finite.")
    if len(must) * len(cannot) > max_products:
        rng = as_generator(random_state)
        share = math.sqrt(max_products / (len(must) * len(cannot)))
        must, cannot = (
            pairs[rng.choice(len(pairs), size=max(1, round(share * len(pairs))), replace=False)]
            for pairs in (must, cannot)
        )
    data = data - data[used].mean(axis=0)
    overlapping = 0
    step = max(1, _BLOCK // len(must))
    for start in range(0, len(cannot), step):
        chunk = cannot[start : start + step]
        overlapping += int((_overlaps(data, must, chunk) | _overlaps(data, chunk, must).T).sum())
    return 1.0 - overlapping / (len(must) * len(cannot))


def _overlaps(data: FloatArray, projected: IntArray, onto: IntArray) -> Any:
    """Whether segment a, projected on the line of segment b, overlaps b: one row an a, one column a b."""
    start, way = data[onto[:, 0]], data[onto[:, 1]] - data[onto[:, 0]]
    length = np.einsum("ij,ij->i", way, way)
    offset = np.einsum("ij,ij->i", start, way)
    # a segment of length 0 has no line: nothing overlaps it
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    first, second = ((data[projected[:, end]] @ way.T - offset) * scale for end in (0, 1))
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.minimum(high, 1.0) - np.maximum(low, 0.0) > _TOUCH
