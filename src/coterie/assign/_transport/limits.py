"""Bounds of loads as the transport takes them: by cluster, and by kind of item in each cluster."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from coterie._arrays import NOTHING, Floats, Index, Labels

NO_KINDS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of the load of each cluster, and of each kind of item in it.

    Attributes
    ----------
    low, high : array of shape (k,)
        Least and largest load.
    kind : int32 array of shape (n,), or (0,)
        The kind of each item.
    kind_low, kind_high : array of shape (n_kinds, k)
        The same for the items of one kind; one row where there are no kinds.
    n : int
        Number of items.
    load : array of shape (n,), or (0,)
        What each item counts; empty: 1.
    """

    low: Floats
    high: Floats
    kind: NDArray[np.int32]
    kind_low: Floats
    kind_high: Floats
    n: int
    load: Floats = field(default_factory=lambda: NOTHING)

    @property
    def k(self) -> int:
        return len(self.low)

    @property
    def n_kinds(self) -> int:
        return len(self.kind_low)

    def held(self, labels: Labels) -> Floats:
        """Load of each kind in each cluster under some labels (-1: nowhere)."""
        # a tree that came to a dead end has more clusters than were asked for
        width = max(self.k, int(labels.max(initial=-1)) + 1) + 1
        node = labels + 1 if not len(self.kind) else self.kind * np.int64(width) + labels + 1
        found = np.bincount(node, self.load if len(self.load) else None, self.n_kinds * width)
        return np.ascontiguousarray(found.reshape(-1, width)[:, 1:], dtype=np.float64)

    def of_rows(self, rows: Index) -> Limits:
        """The same bounds for some of the items."""
        kind = self.kind[rows] if len(self.kind) else NO_KINDS
        return replace(self, kind=kind, n=len(rows), load=self.load[rows] if len(self.load) else NOTHING)

    def sampled(self, rows: Index) -> Limits:
        """Bounds for some of the items, smaller by as much, in whole numbers."""
        found, share = self.of_rows(rows), len(rows) / self.n
        found = replace(found, low=np.floor(self.low * share), high=np.ceil(self.high * share))
        if not len(self.kind):
            return found
        n_each, n_all = (np.bincount(of.kind, minlength=self.n_kinds) for of in (found, self))
        part = (n_each / np.maximum(n_all, 1))[:, None]
        return replace(
            found, kind_low=np.floor(self.kind_low * part), kind_high=np.ceil(self.kind_high * part)
        )


def spread_missed(limits: Limits) -> Floats:
    """What each cluster's size misses at best if items of all kinds are spread within the bounds of kinds."""
    k, n_kinds = limits.k, limits.n_kinds
    held = np.bincount(limits.kind, minlength=n_kinds) if len(limits.kind) else np.array([limits.n])
    n_cells = n_kinds * k
    # how many of each kind go where, then what a cluster is short of and has too much
    by_kind = sparse.kron(sparse.identity(n_kinds), np.ones((1, k)))
    of_cluster = sparse.kron(np.ones((1, n_kinds)), sparse.identity(k))
    one = sparse.identity(k)
    upper = np.concatenate([np.minimum(limits.kind_high, held[:, None]).ravel(), np.full(2 * k, np.inf)])
    lower = np.concatenate([limits.kind_low.ravel(), np.zeros(2 * k)])
    if (lower > upper).any():
        return np.full(k, np.inf)
    found = linprog(
        np.concatenate([np.zeros(n_cells), np.ones(2 * k)]),
        A_ub=sparse.vstack(
            [sparse.hstack([-of_cluster, -one, 0 * one]), sparse.hstack([of_cluster, 0 * one, -one])]
        ).tocsr(),
        b_ub=np.concatenate([-limits.low, limits.high]),
        A_eq=sparse.hstack([by_kind, sparse.csr_matrix((n_kinds, 2 * k))]).tocsr(),
        b_eq=held,
        bounds=np.column_stack([lower, upper]),
    )
    if found.x is None:
        return np.full(k, np.inf)
    return found.x[n_cells : n_cells + k] + found.x[n_cells + k :]
