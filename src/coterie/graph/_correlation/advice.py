"""Scores of pairs, as they are given: read, checked and added up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index
from coterie.adjacency import read_weights
from coterie.base import negative_entry, symmetric
from coterie.constraints import Constraints
from coterie.exceptions import ParameterError
from coterie.graph._correlation.signed_graph import SignedGraph, signed_graph


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

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.net.shape[0])

    @cached_property
    def graph(self) -> SignedGraph:
        """The graph over items, nothing else known; made once."""
        return signed_graph(self.net, self.default, Constraints(n_items=self.n_items))

    def legal_graph(self) -> SignedGraph:
        """The graph over items in which pairs of infinite weight may not be apart, or together."""
        return signed_graph(self.net, self.default, self.forced)

    def cost(self, labels: Index) -> float:
        """The weight of advice that labels go against."""
        return self.unavoidable + self.graph.cost(np.unique(labels, return_inverse=True)[1])

    def total(self) -> float:
        """The weight of all advice: agreements and disagreements."""
        n = self.n_items
        unlisted = 0.5 * (n * (n - 1.0) - self.net.nnz)
        return 2.0 * self.unavoidable + 0.5 * float(np.abs(self.net.data).sum()) - self.default * unlisted

    def listed(self) -> tuple[Index, Index, Floats]:
        """Listed pairs, i < j, and their weights."""
        cells = sparse.triu(self.net, 1, format="coo")
        return cells.row, cells.col, cells.data


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
    both = plus.minimum(minus)
    forced = forced | Constraints(None, barred.must_link, n_items=plus.shape[0], hard=True)
    # a pair that is listed in one of the two is listed
    n, summed = plus.shape[0], plus + minus
    ones = summed.nnz == n * (n - 1) and bool(np.allclose(summed.data, 1.0))
    return Advice(_listed_in_both(plus, minus), float(default), 0.5 * float(both.sum()), forced, ones)


def _listed_in_both(plus: Any, minus: Any) -> Any:
    cells = [matrix.tocoo() for matrix in (plus, minus)]
    data = np.concatenate([cells[0].data, -cells[1].data])
    row, column = (np.concatenate([getattr(one, name) for one in cells]) for name in ("row", "col"))
    return sparse.coo_matrix((data, (row, column)), plus.shape).tocsr()


def _read(X: Any, name: str) -> tuple[Any, Constraints]:
    """A symmetric CSR matrix of finite weights without a diagonal, and the pairs of infinite weight."""
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != X.shape[0] or not X.shape[0]:
        raise ValueError(f"{name} must be square, a row and a column an item; it has shape {X.shape}.")
    n = X.shape[0]
    if sparse.issparse(X):
        cells = X.tocoo()
        row, column, data = cells.row, cells.col, cells.data.astype(np.float64)
    else:
        row, column = (grid.ravel() for grid in np.indices(X.shape))
        data = X.ravel()
    odd = np.isnan(data) | (np.isinf(data) & (row == column))
    if odd.any():
        at = int(np.argmax(odd))
        raise ValueError(f"{name}[{row[at]}, {column[at]}] is {data[at]}; a weight is a number.")
    with np.errstate(over="ignore"):
        if np.isinf(np.abs(data[np.isfinite(data)]).sum()):
            raise ValueError(f"the weights of {name} add up to infinity; divide them all by one number.")
    outer = row != column
    matrix = sparse.coo_matrix((data[outer], (row[outer], column[outer])), (n, n)).tocsr()
    if matrix.data.all() and np.isfinite(matrix.data).all():
        return symmetric(matrix, f"{name} (weights of pairs)"), Constraints(n_items=n)
    # stored zeros are listed, be it on one side only, and an infinite weight has its mirrored one too
    cells = read_weights(matrix).tocoo()
    infinite, pairs = np.isinf(cells.data), np.column_stack([cells.row, cells.col])
    must, cannot = pairs[infinite & (cells.data > 0)], pairs[infinite & (cells.data < 0)]
    finite = np.where(infinite, 0.0, cells.data), (cells.row, cells.col)
    return sparse.csr_matrix(finite, (n, n)), Constraints(must, cannot, n_items=n, hard=True)
