"""Given distances and similarities, checked; and what k-medoids asks of distances.

Distances are given, or worked out block by block from features; no n x n table is made. The groups are
must-link components, merged by average linkage where they are too many: the start of the EMC method.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import (
    PAIRWISE_BOOLEAN_FUNCTIONS,
    PAIRWISE_DISTANCE_FUNCTIONS,
    euclidean_distances,
)
from sklearn.preprocessing import normalize

from coterie._arrays import Floats, Index
from coterie.base._mixin import CHECKS_OF_DISTANCES, CHECKS_OF_ROWS
from coterie.base._parameters import Rule, instance, one_of
from coterie.constraints import Constraints

# Groups that are merged down to n_clusters; of more, the largest are taken.
_MAX_GROUPS = 300
# Distances that are held at a time.
_BLOCK = 1 << 22


class TakesDistances:
    """Mixin of classes that take features, or distances where `metric="precomputed"`; stands leftmost."""

    metric: Any

    @property
    def _given(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _checks(self) -> dict[str, Any]:
        return CHECKS_OF_DISTANCES if self._given else CHECKS_OF_ROWS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse, tags.input_tags.pairwise = not self._given, self._given
        return tags


def metric_rule(*first: str, without: Collection[str] = ()) -> Rule:
    """Any metric of scikit-learn, some named first, or a function of two rows."""
    names = set(PAIRWISE_DISTANCE_FUNCTIONS) - {"precomputed", *without}
    return (
        one_of("precomputed", *first, *sorted(names))
        | instance(str, "another metric of sklearn.metrics.pairwise_distances")
        | Rule(callable, "a function of two rows")
    )


class Distances:
    """Distances between the items: given, or worked out block by block."""

    def __init__(self, X: Any, metric: Any) -> None:
        self.X, self.metric = X, metric
        self.kwargs = metric_kwargs(X, metric)
        self.given = metric == "precomputed"
        self.n = X.shape[0]

    def between(self, rows: Index | None, columns: Index) -> Floats:
        """Distances from some items (all: None) to others."""
        if self.given:
            found = self.X[:, columns] if rows is None else self.X[np.ix_(rows, columns)]
        else:
            some = self.X if rows is None else self.X[rows]
            found = distances_between(some, self.X[columns], self.metric, self.kwargs)
        return np.asarray(found, dtype=np.float64)

    def sums(self, members: Index, weight: Floats) -> Floats:
        """For each member, the weighted distances from all of them to it."""
        total = np.zeros(len(members))
        rows = max(1, _BLOCK // len(members))
        for start in range(0, len(members), rows):
            part = members[start : start + rows]
            total += weight[part] @ self.between(part, members)
        return total


def metric_kwargs(X: Any, metric: Any) -> dict[str, Any]:
    """What a metric measures from all rows at once: deviations, or their covariance."""
    if not isinstance(metric, str) or metric not in ("seuclidean", "mahalanobis") or sparse.issparse(X):
        return {}
    if metric == "seuclidean":
        return {"V": X.var(axis=0, ddof=1) if len(X) > 1 else np.ones(X.shape[1])}
    covariance = np.atleast_2d(np.cov(X.T)) if len(X) > 1 else np.eye(X.shape[1])
    if np.linalg.matrix_rank(covariance) < len(covariance):
        raise ValueError(
            'metric="mahalanobis" needs features of which none follows from the others, and more rows than '
            "features; leave some out."
        )
    return {"VI": np.linalg.inv(covariance)}


def unit_rows(X: Any) -> Any:
    """Rows scaled to length 1, whatever their unit; those of zeros stay."""
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if sparse.issparse(X) else largest
    scale = np.where(largest > 0, largest, 1.0)
    # scikit-learn takes very short rows for zeros
    return normalize(sparse.diags_array(1.0 / scale) @ X if sparse.issparse(X) else X / scale[:, None])


def distances_between(X: Any, Y: Any, metric: Any, kwargs: Mapping[str, Any] | None = None) -> Any:
    """Distances from rows to rows; Euclidean ones from differences, so that an item is at 0 from itself."""
    dense = not (sparse.issparse(X) or sparse.issparse(Y))
    if dense and metric in ("euclidean", "l2", "sqeuclidean"):
        return cdist(X, Y, "sqeuclidean" if metric == "sqeuclidean" else "euclidean")
    if isinstance(metric, str) and metric == "sqeuclidean":
        return euclidean_distances(X, Y, squared=True)
    if isinstance(metric, str) and metric not in PAIRWISE_DISTANCE_FUNCTIONS:
        if not dense:
            raise ValueError(
                f"metric={metric!r} takes no sparse rows; take 'euclidean', 'cosine' or 'manhattan', or "
                "a dense X."
            )
        if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
            X, Y = np.asarray(X, dtype=bool), np.asarray(Y, dtype=bool)
    return pairwise_distances(X, Y, metric=metric, **(kwargs or {}))


def first_of_least(total: Floats, mass: Floats) -> int:
    """The first entry with weight that is least but for rounding: two items of a pair have equal sums."""
    total = np.where(mass > 0, total, np.inf) if (mass > 0).any() else total
    return int(np.argmax(total <= total.min() * (1.0 + 1e-9)))


def middle_item(distances: Distances, mass: Floats) -> tuple[int, float]:
    """The best single medoid among a sample of the items, and what it costs."""
    sample = np.arange(0, distances.n, distances.n // 1000 + 1)
    total = distances.sums(sample, mass)
    item = int(sample[first_of_least(total, mass[sample])])
    counted = float(mass[sample].sum())
    return item, float(total.min()) / counted if counted > 0 else 0.0


def one_medoid(distances: Distances, mass: Floats) -> float:
    """Mean distance to the best single medoid; 1 where all items are in one place."""
    return middle_item(distances, mass)[1] or 1.0


def joined_groups(known: Constraints, k: int) -> list[Index]:
    """Must-link components of two items and more, largest first; else items that cannot-links name."""
    items = known.constrained_items
    component = known.components[items] if len(items) else items
    order = np.argsort(component, kind="stable")
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    parts = [items[part] for part in np.split(order, cuts)] if len(items) else []
    groups = sorted((part for part in parts if len(part) > 1), key=len, reverse=True)
    groups = groups[: max(_MAX_GROUPS, k)]
    alone = [part for part in parts if len(part) == 1]
    return groups if len(groups) >= k else groups + alone[: k - len(groups)]


def merged(distances: Distances, known: Constraints, groups: list[Index], k: int) -> list[Index]:
    """Merge the two closest groups, by average linkage, until k are left."""
    items = np.concatenate(groups)
    size = np.array([len(group) for group in groups], dtype=np.float64)
    starts = np.concatenate([[0], np.cumsum(size[:-1])]).astype(np.int64)
    total = np.empty((len(groups), len(groups)))
    for row, group in enumerate(groups):
        total[row] = np.add.reduceat(distances.between(group, items).sum(axis=0), starts)
    total = 0.5 * (total + total.T)

    owner = np.full(distances.n, -1, dtype=np.int64)
    owner[items] = np.repeat(np.arange(len(groups)), size.astype(np.int64))
    ends = owner[known.cannot_link[known.cannot_table.active]]
    ends = ends[(ends >= 0).all(axis=1)]
    m = len(groups)
    apart = sparse.coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), (m, m)).toarray() > 0
    apart |= apart.T
    members: list[Index | None] = list(groups)
    gone = np.zeros(m, dtype=bool)
    for _ in range(m - k):
        mean = total / np.outer(size, size)
        np.fill_diagonal(mean, np.inf)
        mean[gone] = np.inf
        mean[:, gone] = np.inf
        legal = np.where(apart, np.inf, mean)
        use = legal if np.isfinite(legal).any() else mean
        a, b = np.unravel_index(int(np.argmin(use)), use.shape)
        members[a] = np.concatenate([members[a], members[b]])
        members[b] = None
        total[a] += total[b]
        total[:, a] += total[:, b]
        size[a] += size[b]
        apart[a] |= apart[b]
        apart[:, a] |= apart[:, b]
        gone[b] = True
    return [np.sort(group) for group in members if group is not None]


def check_distances(X: Any, *, own: bool = False) -> None:
    """Raise for given distances that are no square, or negative; with `own`, of an item to itself not 0."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"precomputed distances must be square; X has shape {X.shape}.")
    below = negative_entry(X)
    if below is not None:
        raise ValueError(f"distances must not be negative; {below}.")
    at = int(X.diagonal().argmax()) if own else 0
    if own and X[at, at] > 1e-6 * X.max():
        raise ValueError(f"the distance of an item to itself must be 0; X[{at}, {at}] is {X[at, at]:g}.")


def negative_entry(X: Any) -> str | None:
    """The first entry below zero of an array or CSR matrix, in words."""
    if not (X.data if sparse.issparse(X) else X).min(initial=0.0) < 0:
        return None
    i, j = (int(at[0]) for at in (X < 0).nonzero())
    return f"X[{i}, {j}] is {X[i, j]:g}"


def symmetric(K: Any, what: str) -> Any:
    """A square matrix, checked and made symmetric to the last digit; CSR without duplicates."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{what} must be square, one row and one column an item; X has shape {K.shape}.")
    close = 1e-5 if K.dtype == np.float32 else 1e-8
    if sparse.issparse(K):
        K = sparse.csr_matrix(K, copy=True)
        K.sum_duplicates()
        asymmetry = abs(K - K.T).tocoo()
        worst = int(np.argmax(asymmetry.data)) if asymmetry.nnz else -1
        if worst >= 0 and asymmetry.data[worst] > close * np.abs(K.data).max():
            raise _asymmetric(K, int(asymmetry.row[worst]), int(asymmetry.col[worst]), what)
        return K if worst < 0 or asymmetry.data[worst] == 0 else ((K + K.T) * K.dtype.type(0.5)).tocsr()
    largest = max(abs(float(K.max())), abs(float(K.min())))
    exact = True
    rows = max(1, _BLOCK // K.shape[0])
    for start in range(0, K.shape[0], rows):
        asymmetry = np.abs(K[start : start + rows] - K[:, start : start + rows].T)
        i, j = np.unravel_index(int(np.argmax(asymmetry)), asymmetry.shape)
        if asymmetry[i, j] > close * largest:
            raise _asymmetric(K, start + int(i), int(j), what)
        exact = exact and not asymmetry[i, j] > 0
    return K if exact else (K + K.T) * K.dtype.type(0.5)


def _asymmetric(K: Any, i: int, j: int, what: str) -> ValueError:
    return ValueError(
        f"{what} must be symmetric; X[{i}, {j}] is {K[i, j]:g}, but X[{j}, {i}] is {K[j, i]:g}. "
        "(X + X.T) / 2 is symmetric."
    )
