"""Scores of pairs, as they are given: read, checked and added up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Index
from coterie.adjacency import read_weights
from coterie.base import negative_entry, symmetric
from coterie.constraints import Constraints
from coterie.exceptions import ParameterError
from coterie.graph._correlation.signed_graph import SignedGraph, refuse_huge, signed_graph


@dataclass(frozen=True, eq=False)
class Advice:
    """What is said of pairs of items: attract or repel, and how much.

    Attributes
    ----------
    net : CSR matrix
        Attraction less repulsion of each listed pair, symmetric; pairs that are not stored weigh `default`.
    unavoidable : float
        What pairs that both attract and repel cost in any case.
    forced : Constraints
        Pairs of infinite weight.
    """

    net: Any
    default: float
    unavoidable: float
    forced: Constraints
    sums_to_one: bool = False  # whether attraction and repulsion of every pair do

    @cached_property
    def graph(self) -> SignedGraph:
        """The graph over items, nothing else known; made once."""
        return signed_graph(self.net, self.default, Constraints(n_items=self.net.shape[0]))

    def legal_graph(self) -> SignedGraph:
        """The graph over items in which pairs of infinite weight may not be apart, or together."""
        return signed_graph(self.net, self.default, self.forced)

    def cost(self, labels: Index) -> float:
        """The weight of advice that labels go against."""
        return self.unavoidable + self.graph.cost(np.unique(labels, return_inverse=True)[1])

    def total(self) -> float:
        """The weight of all advice: agreements and disagreements."""
        n = self.net.shape[0]
        unlisted = 0.5 * (n * (n - 1.0) - self.net.nnz)
        return 2.0 * self.unavoidable + 0.5 * float(np.abs(self.net.data).sum()) - self.default * unlisted


def read_advice(X: Any, X_minus: Any, default: float) -> Advice:
    """Check a matrix of signed weights, or two of attractions and repulsions."""
    if default > 0:
        raise ParameterError(
            f"default={default:g}: pairs that are not listed may repel or say nothing, not attract; list "
            "those that attract.",
            "default",
        )
    plus, forced = _read(X, "X")
    if X_minus is None:
        return Advice(plus, float(default), 0.0, forced)
    minus, barred = _read(X_minus, "X_minus")
    if minus.shape != plus.shape:
        raise ValueError(
            f"X_minus has shape {minus.shape}, and X {plus.shape}; give one weight a pair in each."
        )
    for name, matrix, infinite in (("X", plus, forced), ("X_minus", minus, barred)):
        below = negative_entry(matrix)
        if len(infinite.cannot_link):
            below = "X[{}, {}] is -inf".format(*infinite.cannot_link[0])
        if below is not None:
            raise ValueError(f"{name} holds attractions or repulsions beside the other; {below}.")
    forced = forced | Constraints(None, barred.must_link, n_items=plus.shape[0], hard=True)
    n, summed, unavoidable = plus.shape[0], plus + minus, 0.5 * float(plus.minimum(minus).sum())
    ones = summed.nnz == n * (n - 1) and bool(np.allclose(summed.data, 1.0))
    # a pair that is listed in one of the two is listed: plus - minus would not store zeros
    (p, q), data = (plus.tocoo(), minus.tocoo()), np.concatenate([plus.data, -minus.data])
    ends = np.concatenate([p.row, q.row]), np.concatenate([p.col, q.col])
    net = sparse.coo_matrix((data, ends), plus.shape).tocsr()
    return Advice(net, float(default), unavoidable, forced, ones)


def _read(X: Any, name: str) -> tuple[Any, Constraints]:
    """A symmetric CSR matrix of finite weights without a diagonal, and the pairs of infinite weight."""
    X = X.tocoo() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != X.shape[0] or not X.shape[0]:
        raise ValueError(f"{name} must be square, a row and a column an item; it has shape {X.shape}.")
    n, given = X.shape[0], X.data if sparse.issparse(X) else X
    if np.isnan(given).any() or np.isinf(X.diagonal()).any():
        cells = sparse.coo_matrix(X)
        at = int(np.argmax(np.isnan(cells.data) | np.isinf(cells.data) & (cells.row == cells.col)))
        raise ValueError(
            f"{name}[{cells.row[at]}, {cells.col[at]}] is {cells.data[at]}; a weight is a number."
        )
    refuse_huge(given, name)
    if sparse.issparse(X):
        outer = X.row != X.col
        data = X.data[outer].astype(np.float64)
        matrix = sparse.coo_matrix((data, (X.row[outer], X.col[outer])), (n, n)).tocsr()
    else:
        outer = ~np.eye(n, dtype=bool)
        column = np.broadcast_to(np.arange(n, dtype=np.int32), (n, n))[outer]
        matrix = sparse.csr_matrix((X[outer], column, np.arange(n + 1) * (n - 1)), (n, n))
    if matrix.data.all() and np.isfinite(matrix.data).all():
        return symmetric(matrix, f"{name} (weights of pairs)"), Constraints(n_items=n)
    # stored zeros are listed, be it on one side only, and an infinite weight has its mirrored one too
    cells = read_weights(matrix).tocoo()
    infinite, pairs = np.isinf(cells.data), np.column_stack([cells.row, cells.col])
    must, cannot = pairs[infinite & (cells.data > 0)], pairs[infinite & (cells.data < 0)]
    finite = np.where(infinite, 0.0, cells.data), (cells.row, cells.col)
    return sparse.csr_matrix(finite, (n, n)), Constraints(must, cannot, n_items=n, hard=True)
