"""Squared distances between the two rows of each pair, in chunks that bound the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index

# Numbers in a block of differences.
_BLOCK = 1 << 21


def pair_chunks(rows: Any, n_pairs: int) -> Iterator[slice]:
    """Parts of the pairs whose differences fit into a block."""
    width = rows.nnz // max(rows.shape[0], 1) + 1 if sparse.issparse(rows) else rows.shape[1]
    step = max(1, _BLOCK // max(2 * width, 1))
    for start in range(0, n_pairs, step):
        yield slice(start, min(start + step, n_pairs))


def squared_pair_distances(rows: Any, i: Index, j: Index) -> Floats:
    """Squared distances between rows i and j."""
    found = np.empty(len(i))
    for chunk in pair_chunks(rows, len(i)):
        away = rows[i[chunk]] - rows[j[chunk]]
        if sparse.issparse(away):
            found[chunk] = np.asarray(away.multiply(away).sum(axis=1)).ravel()
        else:
            found[chunk] = np.einsum("ij,ij->i", away, away)
    return found
