"""How tight a clustering is, from its labels alone, so that two of them are compared like with like.

Squared Euclidean and cosine: the distances to the best centres follow from sums by cluster. Absolute
distances: to the medians. Medoids: to the best member of each cluster, for small data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie.report._facts.rows import Floats, Ints, Rows, indicator

# With more items than this the best medoids of given labels take too long.
_MOST_WITH_MEDOIDS = 5_000


def measure_of(model: Any) -> str:
    """What `spread_within` adds up, in words."""
    if _is_ward(model):
        return "squared distance"
    name = getattr(getattr(model, "_distortion", None), "name", None)
    return {"sqeuclidean": "squared distance", "cosine": "cosine distance"}.get(str(name), "distance")


def _is_ward(model: Any) -> bool:
    """Whether a model merges by Ward's linkage of features, which keeps the summed squares small."""
    return getattr(model, "linkage", None) == "ward" and getattr(model, "metric", None) == "euclidean"


def spread_within(model: Any, rows: Rows, labels: Ints, weight: Floats | None, k: int) -> float | None:
    """Summed distortion of the items with the best centres for some labels, as the model measures it.

    None where nobody knows how the model measures, or it would take too long. Items in no cluster are left
    out.
    """
    if hasattr(model, "medoid_indices_"):
        return _to_medoids(model, rows, labels, weight, k)
    name = getattr(getattr(model, "_distortion", None), "name", None)
    if name == "sqeuclidean" or _is_ward(model):
        return _squares(rows, labels, weight, k)
    if name == "cosine":
        return _cosines(rows, labels, weight, k)
    if name == "l1" and weight is None:
        return _to_medians(rows, labels, k)
    return None


def _sums(rows: Rows, labels: Ints, factor: Floats, k: int, about: Any) -> tuple[Floats, float]:
    """Sums of the rows of each cluster, each times a factor, and of all squares; taken about some row."""
    total, squares = np.zeros((k, rows.d)), 0.0
    for part in rows.blocks(rows.d):
        inside = labels[part] >= 0
        own = indicator(labels[part], k) @ sparse.diags(factor[part])
        block = rows.values[part]
        if rows.sparse:
            total += (own @ block).toarray()
            lengths = np.asarray(block.multiply(block).sum(axis=1), dtype=np.float64).ravel()
        else:
            block = block.astype(np.float64) - about
            total += own @ block
            lengths = np.einsum("ij,ij->i", block, block)
        squares += float((factor[part] * lengths)[inside].sum())
    return total, squares


def _squares(rows: Rows, labels: Ints, weight: Floats | None, k: int) -> float:
    mass = np.ones(rows.n) if weight is None else weight
    about = None if rows.sparse else np.asarray(rows.values.mean(axis=0), dtype=np.float64)
    total, squares = _sums(rows, labels, mass, k, about)
    inside = labels >= 0
    held = np.bincount(labels[inside], mass[inside], k)
    used = held > 0
    return max(squares - float((np.einsum("hj,hj->h", total, total)[used] / held[used]).sum()), 0.0)


def _cosines(rows: Rows, labels: Ints, weight: Floats | None, k: int) -> float:
    mass = np.ones(rows.n) if weight is None else weight
    if rows.sparse:
        lengths = np.sqrt(np.asarray(rows.values.multiply(rows.values).sum(axis=1), dtype=np.float64).ravel())
    else:
        lengths = np.sqrt(np.einsum("ij,ij->i", rows.values, rows.values, dtype=np.float64))
    factor = np.divide(mass, lengths, out=np.zeros(rows.n), where=lengths > 0)
    total, _ = _sums(rows, labels, factor, k, 0.0)
    return max(float(mass[labels >= 0].sum()) - float(np.linalg.norm(total, axis=1).sum()), 0.0)


def _to_medians(rows: Rows, labels: Ints, k: int) -> float:
    order = np.argsort(labels, kind="stable")
    cuts = np.searchsorted(labels[order], np.arange(k + 1))
    found = 0.0
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if stop > start:
            part = rows.dense(order[start:stop])
            found += float(np.abs(part - np.median(part, axis=0)).sum())
    return found


def _to_medoids(model: Any, rows: Rows, labels: Ints, weight: Floats | None, k: int) -> float | None:
    if rows.n > _MOST_WITH_MEDOIDS:
        return None
    from coterie.base import Distances

    mass = np.ones(rows.n) if weight is None else weight
    distances = Distances(rows.values, model.metric)
    members = [np.flatnonzero(labels == h) for h in range(k)]
    return float(sum(distances.sums(some, mass).min() for some in members if len(some)))
