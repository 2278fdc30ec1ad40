"""The widest margin between items that are known to differ (chapter 15), by its dual program.

Minimise |A|^2 / 2 + C x (sum of slacks), where the squared distance of every such pair is at least 1 less its
slack. The dual has a multiplier for each pair, 0 <= alpha <= C x strength, and with them A = X' L X for the
Laplacian L of the graph that they weigh: positive semidefinite by itself. It is solved for few pairs, the
closest, then for those too that a look at all pairs finds too near, until the gap to the primal is closed.

Items are rows R whose learned distance is (r_i - r_j)' Q (r_i - r_j): features with Q = A, or a table of
similarities with Q = L. A step costs O(p w) for p pairs and rows of width w, with features O(n w^2) more; a
look at all pairs of n items O(n^2 w) time, and memory for a chunk of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, minimize
from sklearn.utils.extmath import safe_sparse_dot

from coterie._arrays import Floats, Index
from coterie._compiled import kernel
from coterie.distance._margin.apart import CHUNK, KnownApart
from coterie.distortion._rows import squared_pair_distances

# Pairs that the search begins with, and the least that a look may add.
_FIRST, _MORE = 2_000, 2_000
# Most pairs that are listed as violated, the worst.
MOST_LISTED = 1_000_000
# Squared distances cannot be made right to less: rounding.
_FINEST = 1e-13
# A pair is violated where its squared distance is below 1 by more than this.
_SLACK = 1e-3


@kernel
def pair_products(P: Any, R: Any, i: Any, j: Any, out: Any) -> None:
    """(P_i - P_j) . (R_i - R_j) of each pair; writes `out`."""
    for t in range(len(i)):
        a, b = i[t], j[t]
        total = 0.0
        for m in range(R.shape[1]):
            total += (P[a, m] - P[b, m]) * (R[a, m] - R[b, m])
        out[t] = total


class Space:
    """Items as rows: features, dense or CSR, or a table of similarities (`is_table`)."""

    def __init__(self, rows: Any, is_table: bool) -> None:
        self.rows, self.is_table = rows, is_table  # in float64
        if is_table:
            # distances do not change when the origin moves to the items, and keep their digits
            self._given_lengths = np.diagonal(rows).copy()
            middle = rows.mean(axis=0)
            self.rows = rows - middle
            self.rows -= (middle - middle.mean())[:, None]

    @cached_property
    def lengths(self) -> Floats:
        """Squared lengths."""
        return np.diagonal(self.rows).astype(np.float64) if self.is_table else _dots(self.rows, self.rows)

    def squares(self, i: Index, j: Index) -> Floats:
        """Squared distances of pairs before anything is learned; 0 where there is rounding only."""
        eps = np.finfo(self.rows.dtype).eps
        if not self.is_table:
            found = squared_pair_distances(self.rows, i, j)
            return np.where(found > eps * eps * self.lengths.max(), found, 0.0)
        found = self.lengths[i] + self.lengths[j] - 2.0 * self.rows[i, j]
        return np.where(found > 8.0 * eps * (self._given_lengths[i] + self._given_lengths[j]), found, 0.0)

    def chunks(self) -> Iterator[tuple[int, Any]]:
        """Squared distances of a chunk of items to all from there on, before anything is learned."""
        for part in _parts(len(self.lengths)):
            if self.is_table:
                table = self.rows[part, part.start :].astype(np.float64)
            else:
                table = safe_sparse_dot(self.rows[part], self.rows[part.start :].T, dense_output=True)
            yield part.start, _to_squares(table, self.lengths, part)

    def twins(self, apart: KnownApart) -> tuple[Index, Index]:
        """Pairs that are known to differ, and are the same."""
        most = max(MOST_LISTED, len(apart.i))
        seen = apart.look(self.squares, self.chunks, 1e-10 * self.lengths.max(initial=0.0) + 1e-300, most)
        same = self.squares(seen.i, seen.j) == 0
        if same.sum() >= most:
            raise ValueError(
                f"{most:,} pairs of items or more are known to differ, yet X has the same values for both; "
                "leave out items that repeat others."
            )
        return seen.i[same], seen.j[same]


class WorkingPairs:
    """Pairs that the program is solved for, sorted."""

    def __init__(self, space: Space, i: Index, j: Index) -> None:
        order = np.lexsort((j, i))
        self.i, self.j = i[order], j[order]
        self.squares = space.squares(self.i, self.j)
        self.items, place = np.unique(np.concatenate([self.i, self.j]), return_inverse=True)
        self._a, self._b = place[: len(i)], place[len(i) :]
        self._starts = np.searchsorted(self._a, np.arange(len(self.items) + 1))
        self._is_table = space.is_table
        rows = space.rows[self.items]
        self._rows = _dense(rows[:, self.items] if space.is_table else rows)

    def laplacian(self, alpha: Floats, rows: Any) -> Any:
        """The Laplacian of the graph with these weights, times a row for each of its items."""
        n = len(self.items)
        degree = np.bincount(self._a, alpha, n) + np.bincount(self._b, alpha, n)
        upper = sparse.csr_matrix((alpha, self._b, self._starts), (n, n))
        return degree[:, None] * rows - upper @ rows - upper.T @ rows

    def differences(self, factor: Floats) -> Any:
        """A sparse matrix that takes rows of the items to the differences of the pairs, times a factor."""
        cells = np.tile(np.arange(len(factor)), 2), np.append(self._a, self._b)
        return sparse.csr_matrix((np.append(factor, -factor), cells), (len(factor), len(self.items)))

    def matrix(self, alpha: Floats) -> Floats:
        """The matrix A of features."""
        return np.asarray(self._rows.T @ self.laplacian(alpha, self._rows))

    def values(self, alpha: Floats) -> Floats:
        """The learned squared distance of each pair."""
        if self._is_table:
            moved = np.ascontiguousarray(self.laplacian(alpha, self._rows).T)
        else:
            moved = self._rows @ self.matrix(alpha)
        found = np.empty(len(alpha))
        pair_products(moved, self._rows, self._a, self._b, found)
        return found

    def solve(self, alpha: Floats, most: Floats, tol: float, max_iter: int) -> tuple[Floats, int]:
        """Multipliers between 0 and `most`, from some on, until squared distances are right to `tol`; steps.

        They are scaled so that each pair alone curves alike, and that neither units nor the size of `most`
        matter.
        """
        unit = float(np.median(self.squares))
        room = min(1.0, float(np.median(most * self.squares)) * unit)
        scale = unit / room * self.squares

        def cost(x: Floats) -> tuple[float, Floats]:
            value = self.values(x / scale)
            slope = unit / self.squares * (value - 1.0)
            return float(x @ (unit / self.squares * (0.5 * value - 1.0))), slope

        options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "ftol": 0.0, "gtol": tol}
        bounds = Bounds(0.0, most * scale)
        found = minimize(cost, alpha * scale, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        # at its most, a multiplier is that to the last digit
        return np.where(found.x < bounds.ub, found.x / scale, most), int(found.nit)


class MarginDistance:
    """The distance that multipliers make, between any items."""

    def __init__(self, space: Space, pairs: WorkingPairs, alpha: Floats) -> None:
        self._space, self._pairs, self._alpha = space, pairs, alpha
        self._matrix = None if space.is_table else pairs.matrix(alpha)

    def _rows(self, items: Any) -> tuple[Any, Any]:
        """Rows of some items, and the same times Q."""
        rows = self._space.rows[items]
        if self._matrix is not None:
            return rows, safe_sparse_dot(rows, self._matrix, dense_output=True)
        rows = rows[:, self._pairs.items].astype(np.float64)
        return rows, self._pairs.laplacian(self._alpha, rows.T).T

    def squares(self, i: Index, j: Index) -> Floats:
        """Squared distances of pairs."""
        items, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        rows, moved = self._rows(items)
        found = np.empty(len(i))
        pair_products(_dense(moved), _dense(rows), place[: len(i)], place[len(i) :], found)
        return found

    def chunks(self) -> Iterator[tuple[int, Any]]:
        """Squared distances of a chunk of items to all from there on."""
        n = self._space.rows.shape[0]
        own = np.concatenate([_dots(moved, rows) for rows, moved in map(self._rows, _parts(n))])
        others = self._space.rows[:, self._pairs.items] if self._matrix is None else self._space.rows
        for part in _parts(n):
            table = safe_sparse_dot(self._rows(part)[1], others[part.start :].T, dense_output=True)
            yield part.start, _to_squares(table, own, part)


@dataclass(frozen=True, eq=False)
class Margin:
    """The answer: pairs with a multiplier, and how near it is to the best."""

    i: Index
    j: Index
    alpha: Floats
    squares: Floats  # squared distances of the pairs before
    typical: float  # the median of such, of the closest pairs
    n_free: int  # multipliers below the most that they may be
    norm: float  # of A
    gap: float  # (primal - dual) / primal
    n_iter: int
    violated: tuple[Index, Index]  # of all pairs, the worst first
    n_violated: int


def widest_margin(space: Space, apart: KnownApart, C: float, tol: float, max_iter: int) -> Margin:
    """Widen the margin until it is the best but for a share `tol`, or `max_iter` steps are made."""
    seen = apart.look(space.squares, space.chunks, np.inf, _FIRST)
    if not len(seen.i):
        raise ValueError("all items that are known to differ are the same: no distance can be learned.")
    pairs, alpha = WorkingPairs(space, seen.i, seen.j), np.zeros(len(seen.i))
    typical, near, n_iter = float(np.median(pairs.squares)), 0.1, 0
    if not 1e-145 < typical < 1e145:
        raise ValueError(
            f"distances of X are about {typical**0.5:.0e}, and multipliers, one over their fourth power, "
            "leave the range of float64; multiply X by a constant."
        )
    while True:
        most = C * apart.strength_of(pairs.i, pairs.j)
        alpha, steps = pairs.solve(alpha, most, near, max_iter - n_iter)
        n_iter += steps
        learned = MarginDistance(space, pairs, alpha)
        # as many more as have a multiplier: with a small C that may come to be all pairs
        more = max(_MORE, int(np.count_nonzero(alpha)))
        seen = apart.look(learned.squares, learned.chunks, 1.0, len(alpha) + more)
        norm2 = float(alpha @ pairs.values(alpha))
        dual = float(alpha.sum()) - 0.5 * norm2
        # A with slacks, or stretched until no pair needs one
        least = min(seen.least, 1.0)
        slack = 0.5 * norm2 + C * seen.lack if np.inf > C else np.inf
        stretched = 0.5 * norm2 / least**2 if least > 1e-12 else np.inf
        gap = 1.0 - dual / min(slack, stretched)
        if gap <= tol or n_iter >= max_iter or near < _FINEST:
            break
        old = apart.keys(pairs.i, pairs.j)
        new = (seen.squares < 1.0 - 0.5 * tol) & ~np.isin(apart.keys(seen.i, seen.j), old)
        # as exact as the pairs that were not in it were wrong; more where there are none, or no step was made
        wrong = 1.0 - seen.squares[new][0] if new.any() and steps else 0.0
        near = min(near, max(0.2 * wrong, 0.1 * tol)) if wrong else 0.2 * near
        kept = alpha > 0
        i, j = np.append(pairs.i[kept], seen.i[new]), np.append(pairs.j[kept], seen.j[new])
        pairs, kept_alpha = WorkingPairs(space, i, j), alpha[kept]
        alpha = np.zeros(len(pairs.i))
        alpha[np.isin(apart.keys(pairs.i, pairs.j), old[kept])] = kept_alpha
    stretch = 1.0 / least if stretched < slack else 1.0
    seen = apart.look(learned.squares, learned.chunks, (1.0 - _SLACK) / stretch, MOST_LISTED)
    kept = alpha > 0
    return Margin(
        i=pairs.i[kept],
        j=pairs.j[kept],
        alpha=stretch * alpha[kept],
        squares=pairs.squares[kept],
        typical=typical,
        n_free=int((alpha < most)[kept].sum()),
        norm=stretch * float(np.sqrt(norm2)),
        gap=gap,
        n_iter=n_iter,
        violated=(seen.i, seen.j),
        n_violated=seen.n_below,
    )


def _parts(n: int) -> Iterator[slice]:
    """Items in chunks, so that a table of their distances to all is not too large."""
    step = max(1, CHUNK // max(n, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _to_squares(products: Any, own: Floats, part: slice) -> Any:
    """Squared distances out of inner products, in place."""
    products *= -2.0
    products += own[part, None]
    products += own[part.start :]
    return products


def _dots(A: Any, B: Any) -> Floats:
    """Inner products of the rows of two matrices, one by one."""
    if sparse.issparse(B):
        return np.asarray(B.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", A, B, dtype=np.float64)


def _dense(rows: Any) -> Floats:
    return np.ascontiguousarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
