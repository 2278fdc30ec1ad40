"""Compiled: clusters of units on a graph as sums, and what a change of them is worth.

A unit is an item, or the items that must-links join. With sums S, numbers of items m and a constant that no
labels change, what is minimised is the constant less the worth of each cluster: `|S|^2 / m` for squared
distances to means, `|S|` for cosine distances of rows of length 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import kernel
from coterie.distortion import Cosine, Distortion

# Of the spread of the data: what is less than this is rounding, not a gain.
TOLERANCE = 1e-10


class UnitSums(NamedTuple):
    """What is known of units; read only."""

    data: Floats  # the sum of the rows of each unit: entries indptr[u]:indptr[u + 1]
    indptr: Index
    columns: Index  # of the entries, sorted by unit; empty: all columns, in order
    square: Floats  # the squared length of that sum
    mass: Floats  # items of a unit
    load: Floats


class ClusterSums(NamedTuple):
    """Clusters of units, and what they hold; written by every move."""

    labels: Labels
    sums: Floats
    square: Floats
    mass: Floats
    load: Floats
    n_units: Index
    low: Floats
    high: Floats


def sums_of_units(distortion: Distortion, unit: Index, load: Floats) -> tuple[UnitSums, float, int]:
    """The units of the rows of a distortion, the constant of its objective, and the number of features."""
    X, cosine = distortion.points.X, isinstance(distortion, Cosine)
    n, n_units = X.shape[0], int(unit.max()) + 1
    rows: Any = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if isinstance(distortion, Cosine):
        rows = sparse.diags_array(distortion.scale) @ rows
    elif not sparse.issparse(X):
        rows = rows - rows.mean(axis=0)  # keeps digits where the origin is far away
    constant = float(row_norms(rows, squared=True).sum())
    if n_units < n:
        rows = sparse.csr_array((np.ones(n), (unit, np.arange(n))), (n_units, n)) @ rows
    mass = np.bincount(unit, minlength=n_units).astype(np.float64)
    weight = np.bincount(unit, load if len(load) else None, n_units).astype(np.float64)
    d = X.shape[1]
    if sparse.issparse(rows):
        if not rows.nnz:  # a stored 0, for no columns at all are those of dense rows
            rows = sparse.csr_array(([0.0], ([0], [0])), rows.shape)
        rows = rows if rows.has_sorted_indices else rows.sorted_indices()  # X stays as it is
        data, ends = rows.data.astype(np.float64), rows.indptr.astype(np.int64)
        columns = rows.indices.astype(np.int64)
    else:
        data, ends, columns = rows.ravel(), np.arange(n_units + 1) * d, np.empty(0, dtype=np.int64)
    units = UnitSums(data, ends, columns, row_norms(rows, squared=True), mass, weight)
    return units, float(n) if cosine else constant, d


def between(graph: Any, unit: Index) -> Any:
    """The graph of the units: which have neighbours in each other."""
    n, n_units = len(unit), int(unit.max()) + 1
    if n_units == n:
        return graph
    member = sparse.csr_array((np.ones(n, dtype=bool), (unit, np.arange(n))), (n_units, n))
    found = sparse.csr_array(member @ graph @ member.T)
    found.setdiag(False)
    found.eliminate_zeros()
    return found


def clusters_of(units: UnitSums, labels: Any, d: int, low: Floats, high: Floats) -> ClusterSums:
    """The clusters of some labels of units; -1: in none."""
    k = len(low)
    labels = np.array(labels, dtype=np.int32)
    found = ClusterSums(
        labels, np.zeros((k, d)), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k, np.int64), low, high
    )
    refresh(units, found)
    return found


def refresh(units: UnitSums, clusters: ClusterSums) -> None:
    """Add everything up anew: moves leave rounding behind."""
    n, (k, d) = len(units.mass), clusters.sums.shape
    inside = np.flatnonzero(clusters.labels >= 0)
    of = clusters.labels[inside]
    columns = units.columns if len(units.columns) else np.tile(np.arange(d), n)
    rows = sparse.csr_array((units.data, columns, units.indptr), (n, d))
    member = sparse.csr_array((np.ones(len(inside)), (of, inside)), (k, n))
    clusters.sums[:] = (member @ rows).toarray()
    clusters.square[:] = row_norms(clusters.sums, squared=True)
    clusters.mass[:] = np.bincount(of, units.mass[inside], k)
    clusters.load[:] = np.bincount(of, units.load[inside], k)
    clusters.n_units[:] = np.bincount(of, minlength=k)


def total_worth(clusters: ClusterSums, cosine: bool) -> float:
    """What the constant of the objective is more than the objective."""
    if cosine:
        return float(np.sqrt(clusters.square).sum())
    return float((clusters.square / np.maximum(clusters.mass, 1.0)).sum())


def total_missed(clusters: ClusterSums, which: Any = slice(None)) -> float:
    """By how much the loads of some clusters miss their bounds, squared and added up."""
    under, over = clusters.low - clusters.load, clusters.load - clusters.high
    return float((np.maximum(np.maximum(under, over), 0.0)[which] ** 2).sum())


@kernel(inline=True)
def worth(square: float, mass: float, cosine: bool) -> float:
    """What a cluster of this squared sum and so many items is worth."""
    if mass <= 0.0:
        return 0.0
    return np.sqrt(max(square, 0.0)) if cosine else square / mass


@kernel(inline=True)
def missed(load: float, low: float, high: float) -> float:
    """The square of what a load misses its bounds by: squares even out what cannot be met at once."""
    gap = max(low - load, load - high, 0.0)
    return gap * gap


@kernel
def shared_with(u: int, h: int, units: UnitSums, clusters: ClusterSums) -> float:
    """The product of the sum of a unit and that of a cluster."""
    product = 0.0
    start, dense = units.indptr[u], units.columns.shape[0] == 0
    for e in range(start, units.indptr[u + 1]):
        product += units.data[e] * clusters.sums[h, e - start if dense else units.columns[e]]
    return product


@kernel
def add_unit(u: int, h: int, sign: float, units: UnitSums, clusters: ClusterSums) -> None:
    """Put a unit into a cluster (`sign` 1), or take it out (-1); `clusters` is written, but its labels."""
    clusters.square[h] += units.square[u] + sign * 2.0 * shared_with(u, h, units, clusters)
    start, dense = units.indptr[u], units.columns.shape[0] == 0
    for e in range(start, units.indptr[u + 1]):
        clusters.sums[h, e - start if dense else units.columns[e]] += sign * units.data[e]
    clusters.mass[h] += sign * units.mass[u]
    clusters.load[h] += sign * units.load[u]
    clusters.n_units[h] += int(sign)
