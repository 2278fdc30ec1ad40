"""The rows of X block by block, whatever X is: an array, a sparse matrix or a data frame.

No table of all rows by all clusters is made: of the distances to the centres only three numbers an item are
kept, the distance to its own centre, to the nearest other one, and which that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie._words import count_of
from coterie.base import Account, changed_row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Distances that are held at a time.
_BLOCK_CELLS = 2_000_000


# A column of words with more values than this is no category; one with so many spaces to a value is text.
_MOST_LEVELS, _SPACES_OF_TEXT = 30, 3
_MISSING = frozenset({"None", "nan", "NaN", "NaT", "<NA>", ""})
_WAY_OUT = (
    "pass the rows of the fit, in their order; where the model is the last step of a pipeline, "
    "coterie.report.write_report(path, pipeline, X) takes your own rows."
)


@dataclass(frozen=True)
class Column:
    """One column of X: its name, what it is, and how to get back to the user's unit."""

    name: str
    kind: str = "numeric"
    offset: float = 0.0
    scale: float = 1.0
    level: str | None = None


class Rows:
    """X as the report reads it: `n` rows, `d` columns; `names` are those of a data frame's columns.

    Where it holds words, `columns` says what became of them, and `texts` has those that are long.
    """

    def __init__(self, X: Any, names: Sequence[str] | None = None) -> None:
        self.names = None if names is None else tuple(names)
        self.columns: tuple[Column, ...] | None = None
        self.texts: Sequence[str] | None = None
        self._frame: Any = None
        if hasattr(X, "columns") and not isinstance(X, np.ndarray):
            self._frame = X
            self.names = tuple(str(name) for name in X.columns)
            X = np.asarray(X)
        elif isinstance(X, list) and X and isinstance(X[0], str):
            X = np.array(X, dtype=object)  # texts alone; not all as long as the longest
        self.sparse = sparse.issparse(X)
        self.values: Any = X.tocsr() if self.sparse else np.asarray(X)
        if self.values.ndim == 1 and self.values.dtype.kind in "OUT":
            self.values = self.values[:, None]
        if self.values.ndim != 2:
            raise ValueError(f"X must be a table of rows and columns; got shape {self.values.shape}.")
        if not self.sparse and self.values.dtype.kind != "f":
            try:
                self.values = self.values.astype(np.float64)
            except (TypeError, ValueError):
                self._encode(self.values.astype(object))
        self.n, self.d = self.values.shape

    def _encode(self, table: Any) -> None:
        """Words as numbers: a column of 0 and 1 for each value of a category; long texts are set apart."""
        columns, parts, texts = [], [np.empty((len(table), 0))], []
        for at, name in enumerate(self.names or [f"column {at}" for at in range(table.shape[1])]):
            words = ["" if str(cell) in _MISSING else str(cell) for cell in table[:, at]]
            levels = sorted(set(words) - {""})
            with suppress(TypeError, ValueError):
                cells = zip(words, table[:, at], strict=True)
                parts.append(np.array([float(cell if word else "nan") for word, cell in cells]))
                columns.append(Column(name))
                continue
            if sum(word.count(" ") for word in words) >= _SPACES_OF_TEXT * len(words):
                texts.append(words)
            elif len(levels) <= _MOST_LEVELS:  # else these are names of items
                parts += [np.array([word == level for word in words], dtype=np.float64) for level in levels]
                columns += [Column(f"{name} = {level}", "category", level=level) for level in levels]
        self.values, self.columns = np.column_stack(parts), tuple(columns)
        self.texts = [" | ".join(cells) for cells in zip(*texts, strict=True)] or None

    def take(self, items: Any) -> Any:
        """Some rows, as X itself would be taken: a data frame stays one, so that its names are checked."""
        if self._frame is None:
            return self.values[items]
        try:
            return self._frame.iloc[items]
        except AttributeError:  # of polars
            return self._frame[items]

    def dense(self, items: Any) -> Floats:
        """Some rows as numbers in float64."""
        part = self.values[items]
        return np.asarray(part.toarray() if self.sparse else part, dtype=np.float64)

    def chunks(self, width: int) -> Iterator[slice]:
        """Slices of the rows such that `width` numbers for each of them are not many."""
        step = max(1, _BLOCK_CELLS // max(1, width))
        for start in range(0, self.n, step):
            yield slice(start, min(start + step, self.n))


def rows_of_fit(account: Account, labels: Ints, X: Any, names: Any = None, nearly: bool = False) -> Rows:
    """X, refused where it is not what the model was fitted on; `nearly`: steps before the model made it."""
    is_table = account.wants != "records"  # what records hold, only comparators read
    rows = Rows(X if is_table else np.empty((len(X), 0)), names)
    if len(labels) != rows.n:
        raise ValueError(f"X has {rows.n} rows, but the model was fitted on {len(labels)}; {_WAY_OUT}")
    if account.row_marks is not None and is_table:
        if rows.d != account.n_features:
            fitted = f"the model was fitted on {count_of(account.n_features or 0, 'column')}"
            raise ValueError(f"X has {rows.d} columns of numbers, but {fitted}; {_WAY_OUT}")
        at = changed_row(account.row_marks, rows.values, nearly=nearly)
        if at is not None:
            raise ValueError(f"X is not what the model was fitted on: row {at} differs; {_WAY_OUT}")
    return rows


@dataclass(frozen=True)
class Near:
    """How near each item is to centres."""

    own: Floats  # distance to the centre of its cluster; NaN for an item in no cluster
    other: Floats  # distance to the nearest other centre; infinite if there is none
    rival: Ints  # the cluster of that centre; -1 if there is none


def distance_function(account: Account, rows: Rows, labels: Ints) -> Callable[[Any], Floats]:
    """A function of some items (numbers or a slice) to their distances to all clusters.

    The model's own where it has some; else mean distances to the items of a cluster where distances were
    given, and elsewhere distances to the means, or mean directions, of the clusters. Columns of clusters that
    hold nothing are infinite, so that no item is said to be near them.
    """
    k = account.n_clusters
    if account.wants != "rows":  # there are none
        return lambda items: np.zeros((len(items), k))
    counts = np.bincount(labels[labels >= 0], minlength=k)
    measure = account.distances or _to_middles(account.metric, rows, indicator(labels, k), counts)

    def distances(items: Any) -> Floats:
        own = account.distances is not None
        found = np.asarray(measure(rows.take(items) if own else rows.values[items]), dtype=np.float64)
        return np.where(counts == 0, np.inf, found) if not counts.all() else found

    return distances


def _to_middles(metric: str, rows: Rows, members: Any, counts: Ints) -> Callable[[Any], Any]:
    """Distances to what stands for the clusters, where the model has no centres of its own."""
    from sklearn.metrics.pairwise import cosine_distances, euclidean_distances
    from sklearn.preprocessing import normalize

    share = members.multiply(1.0 / np.maximum(counts, 1)[:, None]).tocsr()
    if metric == "precomputed":
        return lambda part: part.astype(np.float64) @ share.T
    means = share @ (normalize(rows.values) if metric == "cosine" else rows.values)
    means = np.asarray(means.toarray() if sparse.issparse(means) else means, dtype=np.float64)
    measure = cosine_distances if metric == "cosine" else euclidean_distances
    return lambda part: measure(part, means)


def indicator(labels: Ints, n_clusters: int) -> Any:
    """A sparse matrix, clusters by items, of ones where an item is in a cluster."""
    inside = np.flatnonzero(labels >= 0)
    shape = n_clusters, len(labels)
    return sparse.csr_matrix((np.ones(len(inside)), (labels[inside], inside)), shape=shape)


def nearness(distances: Callable[[Any], Floats] | None, rows: Rows, labels: Ints, n_clusters: int) -> Near:
    """Distances of all items to their own centre and to the nearest other one; None: there are none."""
    own, other = np.full(rows.n, np.nan), np.full(rows.n, np.inf)
    rival = np.full(rows.n, -1, dtype=np.int64)
    if distances is None:
        return Near(own, other, rival)
    for chunk in rows.chunks(max(n_clusters, rows.d // 8)):
        found = distances(chunk)
        inside = np.flatnonzero(labels[chunk] >= 0)
        of = labels[chunk][inside]
        own[chunk][inside] = found[inside, of]
        found[inside, of] = np.inf
        nearest = found.argmin(axis=1)
        away = found[np.arange(len(found)), nearest]
        other[chunk] = away
        rival[chunk] = np.where(np.isfinite(away), nearest, -1)
    return Near(own, other, rival)
