"""Linkage distances between all units, as a matrix: from features, or from distances between items.

P units cost P x P numbers; above a limit that is refused, with what it would take. Euclidean distances are
summed from differences, not expanded into products, so that near points keep their digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_distances

from coterie._compiled import kernel, over_chunks
from coterie.base import metric_kwargs
from coterie.hierarchy._linkage.chain import AVERAGE, SINGLE, WARD
from coterie.hierarchy._linkage.state import Floats, Index

# More units than this are refused: their matrix takes 3.2 GB.
MOST_UNITS = 20_000
# Numbers in a block of distances between items.
_BLOCK = 1 << 22


def check_room(n_units: int, linkage: str, connected: bool) -> None:
    """Refuse what needs too large a matrix, with its size and the way around it."""
    if n_units <= MOST_UNITS:
        return
    way = (
        "With a connectivity Ward and single linkage of dense rows need none"
        if connected
        else "Single linkage of dense rows with Euclidean distances needs none; with a connectivity, such as "
        "functools.partial(sklearn.neighbors.kneighbors_graph, n_neighbors=10), neither does Ward"
    )
    raise ValueError(
        f"{linkage} linkage of {n_units:,} items (must-links joined) needs a matrix of "
        f"{8e-9 * n_units**2:,.1f} GB; {MOST_UNITS:,} items ({8e-9 * MOST_UNITS**2:.1f} GB) are the limit. "
        f"{way}. COPKMeans takes any number."
    )


@kernel
def _squared(rows: Floats, transposed: Floats, out: Floats, first: int, stop: int) -> None:
    """Write to `out` the squared distances of the rows first..stop to the columns of `transposed`.

    `transposed` has a multiple of four features: four at a time are added up before memory is touched.
    """
    n = transposed.shape[1]
    for start in range(0, n, 1024):  # a strip that stays in the cache
        end = min(n, start + 1024)
        for i in range(first, stop):
            strip = out[i, start:end]
            strip[:] = 0.0
            for f in range(0, transposed.shape[0], 4):
                w, x, y, z = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
                p = transposed[f, start:end]
                q = transposed[f + 1, start:end]
                r = transposed[f + 2, start:end]
                s = transposed[f + 3, start:end]
                for j in range(strip.shape[0]):
                    a = w - p[j]
                    b = x - q[j]
                    c = y - r[j]
                    d = z - s[j]
                    strip[j] += (a * a + b * b) + (c * c + d * d)


def squared_distances(rows: Floats, X: Floats, out: Floats | None = None) -> Floats:
    """Squared Euclidean distances of some rows to all; into `out` where one is given."""
    if out is None:
        out = np.empty((len(rows), len(X)))
    spare = -X.shape[1] % 4  # features of zeros
    transposed = np.ascontiguousarray(np.pad(X, ((0, 0), (0, spare))).T)
    rows = np.pad(rows, ((0, 0), (0, spare)))
    loop = _squared.for_work(len(rows) * X.size)
    over_chunks(lambda a, b: loop(rows, transposed, out, a, b), len(rows), max(1, _BLOCK // len(X)))
    return out


def check_lengths(found: Floats, metric: Any) -> Floats:
    """Refuse what a metric says if it cannot be a distance."""
    if not np.isfinite(found).all() or (found < 0).any():
        wrong = found[~np.isfinite(found) | (found < 0)].flat[0]
        raise ValueError(
            f"metric={metric!r} gives a distance of {wrong:g}; distances are finite, at least 0."
        )
    return found


def make_even(D: Floats, message: str, *, items: bool) -> Floats:
    """Make distances the same both ways where only rounding differs, in place; else raise.

    `items`: rows are items, which can be named.
    """
    most, tolerance = float(D.max(initial=0.0)), 1e-6
    rows = max(1, _BLOCK // len(D))
    for first in range(0, len(D), rows):
        chunk = slice(first, first + rows)
        there, back = D[chunk, first:], D[first:, chunk].T
        asymmetry = np.abs(there - back)
        if asymmetry.max() > tolerance * most:
            i, j = divmod(int(np.argmax(asymmetry)), asymmetry.shape[1])
            where = f" between items {first + i} and {first + j}" if items else ""
            raise ValueError(
                f"{message} must be the same both ways; one{where} is {there[i, j]:g}, and {back[i, j]:g} "
                "back."
            )
        even = (there + back) / 2.0
        D[chunk, first:] = even
        D[first:, chunk] = even.T
    return D


class ItemDistances:
    """Distances of some items to all, by any metric or given."""

    def __init__(self, X: Any, metric: Any) -> None:
        self.X, self.metric = X, metric
        self.plain = metric == "euclidean" and not sparse.issparse(X)
        self.kwargs = {} if self.plain else metric_kwargs(X, metric)
        if self.plain:
            self.X = np.ascontiguousarray(X, dtype=np.float64)

    def of(self, items: Index, *, squared: bool = False, out: Floats | None = None) -> Floats:
        """Distances of items to all items, one row each; `out` is memory that may be used for them."""
        if self.plain:
            found = squared_distances(self.X[items], self.X, None if out is None else out[: len(items)])
            return found if squared else np.sqrt(found, out=found)
        if isinstance(self.metric, str) and self.metric == "precomputed":
            found = self.X[items].astype(np.float64, copy=False)
        else:
            rows, kwargs = self.X[items], self.kwargs
            found = pairwise_distances(rows, self.X, metric=self.metric, **kwargs)
            found = check_lengths(found.astype(np.float64, copy=False), self.metric)
        return np.square(found, out=found) if squared else found


def unit_distances(X: Any, metric: Any, how: int, unit: Index, size: Index) -> Floats:
    """Linkage distances between units, squared for Ward; a matrix of its own, to be written on."""
    n, n_units = len(unit), len(size)
    distances = ItemDistances(X, metric)
    if how == WARD and distances.plain:
        member = sparse.csr_array((np.ones(n), (unit, np.arange(n))), (n_units, n))
        mean = distances.X if n_units == n else np.asarray(member @ distances.X) / size[:, None]
        return _ward(squared_distances(mean, mean), size)
    D = _between(distances, how, unit, size)
    return D if distances.plain else make_even(D, f"distances by metric={metric!r}", items=n == n_units)


def _between(distances: ItemDistances, how: int, unit: Index, size: Index) -> Floats:
    """Linkage distances between units from those between items."""
    n, n_units = len(unit), len(size)
    if n_units == n:
        D = distances.of(np.arange(n), squared=how == WARD)
        return _ward(D, size) if how == WARD else D
    if how == WARD:
        # the distance of two means follows from mean squared distances across and within
        D = _reduced(distances, AVERAGE, unit, size, squared=True) / np.outer(size, size)
        within = np.diag(D).copy() / 2.0
        D -= within[:, None]
        D -= within
        return _ward(np.maximum(D, 0.0, out=D), size)
    D = _reduced(distances, how, unit, size)
    if how == AVERAGE:
        D /= size[:, None]
        D /= size
        _mirror.for_work(D.size)(D)  # sums in another order differ in their last digit
    return D


def _ward(squared: Floats, size: Index) -> Floats:
    """From squared distances of means to squared heights: 2 s t / (s + t) of them."""
    if (size == 1).all():
        return squared
    for u in range(len(size)):
        squared[u] *= 2.0 * size[u] * size / (size[u] + size)
    return squared


def _reduced(
    distances: ItemDistances, how: int, unit: Index, size: Index, *, squared: bool = False
) -> Floats:
    """Distances of items brought together by unit: least, largest or sum."""
    out = np.full((len(size), len(size)), np.inf if how == SINGLE else 0.0)
    fold = _fold.for_work(len(unit) ** 2)
    rows = max(1, _BLOCK // len(unit))
    chunk = np.empty((min(rows, len(unit)), len(unit)))  # touched once, used for all
    for first in range(0, len(unit), rows):
        items = np.arange(first, min(first + rows, len(unit)))
        fold(how, distances.of(items, squared=squared, out=chunk), unit[items], unit, out)
    return out


@kernel
def _mirror(D: Floats) -> None:
    """Copy what is above the diagonal below it, tile by tile; writes `D`."""
    n = D.shape[0]
    for top in range(0, n, 64):
        for left in range(top, n, 64):
            for i in range(top, min(n, top + 64)):
                for j in range(max(left, i + 1), min(n, left + 64)):
                    D[j, i] = D[i, j]


@kernel
def _fold(how: int, chunk: Floats, rows: Index, columns: Index, out: Floats) -> None:
    """Bring distances of items (rows by columns, given by their units) into those of units; writes `out`."""
    for r in range(chunk.shape[0]):
        row = out[rows[r]]
        if how == 0:
            for j in range(columns.shape[0]):
                x = chunk[r, j]
                if x < row[columns[j]]:
                    row[columns[j]] = x
        elif how == 1:
            for j in range(columns.shape[0]):
                x = chunk[r, j]
                if x > row[columns[j]]:
                    row[columns[j]] = x
        else:
            for j in range(columns.shape[0]):
                row[columns[j]] += chunk[r, j]


# ---- the space-level propagation of must-links --------------------------------------------------------


@kernel
def _shorten(D: Floats, via: Floats, through: Floats, first: int, stop: int) -> None:
    """D[i, j] = min over m of via[i, m] + through[m, j], for the rows first..stop, where less; writes `D`."""
    n = D.shape[1]
    for start in range(0, n, 512):
        end = min(n, start + 512)
        for i in range(first, stop):
            row = D[i, start:end]
            for m in range(through.shape[0]):
                to = via[i, m]
                ways = through[m, start:end]
                for j in range(row.shape[0]):
                    way = to + ways[j]
                    row[j] = way if way < row[j] else row[j]


@kernel
def _close(M: Floats) -> None:
    """Shortest ways between all nodes of a complete graph (Floyd and Warshall); writes `M`."""
    n = M.shape[0]
    for m in range(n):
        for i in range(n):
            to = M[i, m]
            for j in range(n):
                way = to + M[m, j]
                M[i, j] = way if way < M[i, j] else M[i, j]


def propagate_links(D: Floats, size: Index) -> None:
    """Shorten distances between units by ways through units of two items and more, in place.

    Klein, Kamvar and Manning (2002): items that are linked are at one place, so what is near one of them is
    near the others. Time O(P^2 p) for p such units.
    """
    linked = np.flatnonzero(size > 1)
    if not len(linked):
        return
    between = np.ascontiguousarray(D[np.ix_(linked, linked)])
    np.fill_diagonal(between, 0.0)
    _close.for_work(len(linked) ** 3)(between)
    via = np.ascontiguousarray(D[:, linked])
    through = np.ascontiguousarray(D[linked])
    through[np.arange(len(linked)), linked] = via[linked, np.arange(len(linked))] = 0.0
    first = np.full(via.shape, np.inf)
    shorten = _shorten.for_work(D.size * len(linked))
    shorten(first, via, between, 0, len(first))
    rows = max(1, _BLOCK // D.shape[1])
    over_chunks(lambda a, b: shorten(D, first, through, a, b), len(D), rows)
