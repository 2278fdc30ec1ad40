"""The rows of X block by block, whatever X is: an array, a sparse matrix or a data frame.

No table of all rows by all clusters is made: of the distances to the centres only three numbers an item are
kept, the distance to its own centre, to the nearest other one, and which that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Distances that are held at a time.
_BLOCK_CELLS = 2_000_000
# A probability that is smaller counts as this one: its logarithm must be a number.
_LEAST = 1e-300


class Rows:
    """X as the report reads it.

    Attributes
    ----------
    n, d : int
        Numbers of rows and columns.
    sparse : bool
        Whether most values are zero and not stored.
    names : tuple of str or None
        Names of the columns of a data frame.
    """

    def __init__(self, X: Any) -> None:
        self.names: tuple[str, ...] | None = None
        self._frame: Any = None
        if hasattr(X, "columns") and not isinstance(X, np.ndarray):
            self._frame = X
            self.names = tuple(str(name) for name in X.columns)
            X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        self.sparse = sparse.issparse(X)
        self.values: Any = X.tocsr() if self.sparse else np.asarray(X)
        if self.values.ndim != 2:
            raise ValueError(f"X must be a table of rows and columns; got shape {self.values.shape}.")
        if not self.sparse and self.values.dtype.kind != "f":
            self.values = _as_numbers(self.values, self.names)
        self.n, self.d = self.values.shape

    def take(self, items: Any) -> Any:
        """Some rows, as X itself would be taken: a data frame stays one, so that its names are checked."""
        if self._frame is None:
            return self.values[items]
        if hasattr(self._frame, "iloc"):
            return self._frame.iloc[items]
        return self._frame[items]

    def dense(self, items: Any) -> Floats:
        """Some rows as numbers in float64."""
        part = self.values[items]
        return np.asarray(part.toarray() if self.sparse else part, dtype=np.float64)

    def blocks(self, width: int) -> Iterator[slice]:
        """Slices of the rows such that `width` numbers for each of them are not many."""
        step = max(1, _BLOCK_CELLS // max(1, width))
        for start in range(0, self.n, step):
            yield slice(start, min(start + step, self.n))


def _as_numbers(values: Any, names: tuple[str, ...] | None) -> Floats:
    """The values as numbers; a column that holds anything else is named."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        for at in range(values.shape[1]):
            try:
                values[:, at].astype(np.float64)
            except (TypeError, ValueError):
                name = f"column {at}" if names is None else f"column {names[at]!r}"
                raise ValueError(
                    f"the page shows numbers, but {name} holds other values; pass X with a column of 0 and 1 "
                    "for each value instead (pandas.get_dummies)."
                ) from None
        raise


@dataclass(frozen=True)
class Near:
    """How near each item is to centres.

    Attributes
    ----------
    own : array of shape (n,)
        Distance to the centre of its cluster; NaN for an item in no cluster.
    other : array of shape (n,)
        Distance to the nearest other centre; infinite if there is none.
    rival : array of shape (n,)
        The cluster of that centre; -1 if there is none.
    """

    own: Floats
    other: Floats
    rival: Ints


def distance_function(model: Any, rows: Rows, labels: Ints, n_clusters: int) -> Callable[[Any], Floats]:
    """A function of some items (numbers or a slice) to their distances to all centres.

    The model's own, where it has `transform`; of a mixture minus the log-density of an item and its cluster
    together, whose differences are those of the log-likelihood; else mean distances to the items of a cluster
    where distances were given, cosine distances to the mean directions where the model measures so, and
    elsewhere Euclidean distances to the means. Columns of clusters that hold nothing are infinite, so that no
    item is said to be near them.
    """
    empty = np.bincount(labels[labels >= 0], minlength=n_clusters) == 0
    if hasattr(model, "transform"):

        def own(items: Any) -> Floats:
            found = np.asarray(model.transform(rows.take(items)), dtype=np.float64)
            return np.where(empty, np.inf, found) if empty.any() else found

        return own
    if hasattr(model, "score_samples"):

        def unlikely(items: Any) -> Floats:
            part = rows.take(items)
            share = np.maximum(np.asarray(model.predict_proba(part), dtype=np.float64), _LEAST)
            found = -(np.asarray(model.score_samples(part), dtype=np.float64)[:, None] + np.log(share))
            return np.where(empty, np.inf, found)

        return unlikely
    metric = getattr(model, "metric", None)
    if isinstance(metric, str) and metric == "precomputed":
        counts = np.maximum(np.bincount(labels[labels >= 0], minlength=n_clusters), 1)
        share = indicator(labels, n_clusters).T.multiply(1.0 / counts).tocsr()

        def to_members(items: Any) -> Floats:
            return np.where(empty, np.inf, np.asarray(rows.values[items].astype(np.float64) @ share))

        return to_members
    if isinstance(metric, str) and metric == "cosine":
        from sklearn.preprocessing import normalize

        sums = indicator(labels, n_clusters) @ normalize(rows.values)
        towards = normalize(np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64))

        def to_directions(items: Any) -> Floats:
            away = 1.0 - np.asarray(normalize(rows.values[items]) @ towards.T, dtype=np.float64)
            return np.where(empty, np.inf, np.maximum(away, 0.0))

        return to_directions
    means, norms = _means(rows, labels, n_clusters)

    def to_means(items: Any) -> Floats:
        part = rows.values[items]
        if rows.sparse:
            lengths = np.asarray(part.multiply(part).sum(axis=1), dtype=np.float64).reshape(-1, 1)
            products = part @ means.T
        else:
            part = part.astype(np.float64)
            lengths, products = np.einsum("ij,ij->i", part, part)[:, None], part @ means.T
        found = np.sqrt(np.maximum(lengths + norms - 2.0 * products, 0.0))
        return np.where(empty, np.inf, found)

    return to_means


def _means(rows: Rows, labels: Ints, n_clusters: int) -> tuple[Floats, Floats]:
    total = indicator(labels, n_clusters) @ rows.values
    total = np.asarray(total.toarray() if sparse.issparse(total) else total, dtype=np.float64)
    counts = np.maximum(np.bincount(labels[labels >= 0], minlength=n_clusters), 1)
    means = total / counts[:, None]
    return means, np.einsum("hj,hj->h", means, means)


def indicator(labels: Ints, n_clusters: int) -> Any:
    """A sparse matrix, clusters by items, of ones where an item is in a cluster."""
    inside = np.flatnonzero(labels >= 0)
    shape = n_clusters, len(labels)
    return sparse.csr_matrix((np.ones(len(inside)), (labels[inside], inside)), shape=shape)


def nearness(distances: Callable[[Any], Floats], rows: Rows, labels: Ints, n_clusters: int) -> Near:
    """Distances of all items to their own centre and to the nearest other one."""
    own, other = np.full(rows.n, np.nan), np.full(rows.n, np.inf)
    rival = np.full(rows.n, -1, dtype=np.int64)
    for part in rows.blocks(max(n_clusters, rows.d // 8)):
        found = distances(part)
        inside = np.flatnonzero(labels[part] >= 0)
        of = labels[part][inside]
        own[part][inside] = found[inside, of]
        found[inside, of] = np.inf
        nearest = found.argmin(axis=1)
        away = found[np.arange(len(found)), nearest]
        other[part] = away
        rival[part] = np.where(np.isfinite(away), nearest, -1)
    return Near(own, other, rival)
