"""I-divergence: how badly a centre, as a distribution, stands for counts or shares; with learned weights.

`sum_m a_m (x_m ln(x_m / c_m) - x_m + c_m)` is linear in x up to a part of the item alone, as all distortions
here are. Centres are smoothed, as if each item brought `smoothing` uniform pseudo-items, so that none has a
zero: the paper smooths centres alone, which are not quite the best then; they are if pseudo-items are paid
for. Two items are apart by the symmetric divergence to their mean. Weights `a` are learned down the slope of
the objective, or up, as the paper prints it. Source: Basu, Bilenko and Mooney 2004, (12)-(13), (16)-(20).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import chunk_rows, over_chunks
from coterie.distortion._base import refuse_zeros
from coterie.distortion._learned import LEAST_WEIGHT, Learned
from coterie.distortion._rows.pair_distances import pair_chunks

_LOG2 = float(np.log(2.0))
# How much the step shrinks after each pass, and an annealed smoothing, down to which share: in 31 passes.
_DECAY, _COOLING, _COLD = 0.9, 0.8, 1e-3
# Chunks of pairs whose divergences by feature, which hang on no metric, are kept for the next one.
_MOST_KEPT = 4


class IDivergence(Learned):
    """I-divergence under weights of the features; attributes as in `Distortion`."""

    compares: ClassVar[bool] = False

    def __init__(
        self,
        X: Any,
        sample_weight: Floats | None = None,
        *,
        smoothing: float = 10.0,
        smoothed: str = "centers",
        climbs: bool = True,
        step: float = 0.5,
        backtracks: bool = True,
    ) -> None:
        super().__init__(X, sample_weight)
        self.first_smoothing, self.smoothed, self.first_step, self.climbs = smoothing, smoothed, step, climbs
        self.backtracks = backtracks and not climbs
        # a pseudo-item that is even over the features; beside counts it has as many as a mean row
        size = self.weighted(np.asarray(X.sum(axis=1)).ravel()).sum() / self.total
        self.even = (1.0 if smoothed == "items" else float(size)) / self.points.d
        self._kept: tuple[Any, list[Any]] = None, []
        self.begin(1)

    # ---- the data -------------------------------------------------------------------------------------

    def check_values(self) -> None:
        """Raise for numbers below zero: they have no divergence."""
        X = self.points.X
        if (X.data if sparse.issparse(X) else X).min(initial=0.0) < 0:
            rows = X.min(axis=1).toarray().ravel() if sparse.issparse(X) else X.min(axis=1)
            row = int(np.argmax(rows < 0))
            raise ValueError(
                f'metric="idivergence" takes counts or shares, but row {row} of X has the value '
                f'{rows[row]:g}; shift the data, or use metric="cosine".'
            )

    def check_range(self) -> None:
        """Raise for what has no divergence: numbers below zero, rows of zeros."""
        self.check_values()
        X = self.points.X
        refuse_zeros(np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() == 0), "says nothing")

    @cached_property
    def _columns(self) -> tuple[Floats, Floats]:
        """Weighted sums over the rows of x ln x and of x, by feature."""
        X, n, d = self.points.X, self.points.n, self.points.d

        def job(start: int, stop: int) -> Floats:
            rows = X[start:stop].astype(np.float64)
            weight = self.weights(np.arange(start, stop))
            return np.array([weight @ _x_log_x(rows), weight @ rows])

        rows_at_once = n if sparse.issparse(X) else chunk_rows(n, 8 * d, 2 * d)
        entropy, total = np.sum(over_chunks(job, n, rows_at_once), axis=0)
        return entropy, total

    def own_part(self, rows: Any) -> Floats:
        return np.asarray((_x_log_x(rows) - rows) @ self.metric)

    @property
    def sums(self) -> tuple[Floats, float]:
        """Sums over all rows: of the features, and of the own parts under the metric."""
        entropy, total = self._columns
        return total, float((entropy - total) @ self.metric)

    @property
    def tol_scale(self) -> float:
        """As for others, as much smaller as the shifts of smoothed centres are."""
        return super().tol_scale / (1.0 + self.smoothing) ** 2

    # ---- the metric -----------------------------------------------------------------------------------

    @property
    def plain(self) -> Any:
        before = copy.copy(self)
        before.begin(1)
        return before

    def begin(self, k: int) -> None:
        """Go back to where every start begins."""
        self.step, self.smoothing = self.first_step, self.first_smoothing
        self.settled = self.smoothed != "annealed"
        self.use(np.ones(self.points.d))

    def use(self, metric: Any) -> None:
        """Put weights of the features in place."""
        self.metric: Any = metric
        self.regularized = int((metric <= LEAST_WEIGHT).sum())

    # ---- the pass -------------------------------------------------------------------------------------

    def linear(self, centres: Floats) -> tuple[Floats, Floats]:
        logs, brought = self._by_feature(centres)
        return -self.metric * logs, brought @ self.metric

    def _by_feature(self, centres: Floats) -> tuple[Floats, Floats]:
        """Logarithms of centres, and what they cost any item (with its pseudo-items), without the weights."""
        logs = np.log(centres)
        if self.smoothed != "items":
            return logs, centres
        brought = self.even * np.log(self.even) - self.even - self.even * logs + centres
        return logs, centres + self.smoothing * brought

    def centres_from_means(self, rows: Floats) -> Floats:
        """Centres that stand where rows, or means of rows, are: smoothed."""
        return (rows + self.smoothing * self.even) / (1.0 + self.smoothing)

    def validated_centres(self, given: Floats) -> Floats:
        """Centres as the user gave them; smoothed where they have zeros."""
        if (given < 0).any():
            raise ValueError(f"centre {int(np.argmax((given < 0).any(axis=1)))} has a value below zero.")
        return given if (given > 0).all() else self.centres_from_means(given)

    # ---- pairs and the step ---------------------------------------------------------------------------

    def pair_distances(self, rows: Any, i: Index, j: Index) -> Floats:
        """How far pairs of rows are apart: the divergence of both to their mean."""
        if self._kept[0] is not i:
            self._kept = i, []
        kept, found = self._kept[1], np.empty(len(i))
        for number, chunk in enumerate(pair_chunks(rows, len(i))):
            terms = kept[number] if number < len(kept) else _to_mean(rows[i[chunk]], rows[j[chunk]])
            if len(kept) <= number < _MOST_KEPT:
                kept.append(terms)
            found[chunk] = np.asarray(terms @ self.metric)
        return np.maximum(found, 0.0)

    def ceiling(self) -> float:
        """The most that pairs could be apart: as two of the largest rows with nothing in common."""
        return 2.0 * _LOG2 * float(np.asarray(self.points.X @ self.metric).max())

    def gradient(self, sums: Floats, masses: Floats, centres: Floats, broken: Any) -> Floats:
        """Slope of the objective in the weights, labels and centres held."""
        entropy, total = self._columns
        logs, brought = self._by_feature(centres)
        slope = entropy - total - np.einsum("hj,hj->j", sums, logs) + masses @ brought
        if broken is None:
            return slope
        for chunk in pair_chunks(broken.rows, len(broken.i)):
            apart = _to_mean(broken.rows[broken.i[chunk]], broken.rows[broken.j[chunk]])
            slope += np.asarray(broken.signed_strength[chunk] @ apart).ravel()
        paid = -float(broken.signed_strength[broken.apart].sum())
        sizes = np.asarray(self.points.X @ self.metric)
        longest = int(np.argmax(sizes >= (1.0 - 1e-9) * sizes.max()))  # rounding decides nothing
        return slope + 2.0 * _LOG2 * paid * self.points.rows(np.array([longest]))[0]

    def step_from(
        self, labels: Labels, totals: Any, centres: Floats, broken: Any, core: Index
    ) -> Callable[[float], Floats]:
        """The weights after a part of a step down the slope; or after the whole of one up, its mean held."""
        slope = self.gradient(totals[0], totals[1], centres, broken)
        before, step = self.metric, self.step
        if not self.climbs:
            return lambda share: np.maximum(before - share * step * slope, LEAST_WEIGHT)
        found = np.maximum(before + step * slope, LEAST_WEIGHT)
        return lambda share: np.maximum(found / found.mean(), LEAST_WEIGHT)

    def after_pass(self) -> None:
        """Take shorter and shorter steps, and smooth less and less."""
        self.step *= _DECAY
        if not self.settled:
            before, least = self.smoothing, _COLD * self.first_smoothing
            self.smoothing = max(_COOLING * before, least)
            self.settled = self.smoothing == before

    @classmethod
    def distances(cls, X: Any, centres: Any) -> Any:
        """Symmetric divergence of each row to each centre."""
        sizes = np.asarray(X.sum(axis=1)).ravel()
        found = np.empty((X.shape[0], len(centres)))
        for h, centre in enumerate(np.asarray(centres)):
            if sparse.issparse(X):
                there = centre[X.indices]
                data = xlogy(X.data, X.data) + xlogy(there, there) - xlogy(X.data + there, X.data + there)
                row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
                shared = np.bincount(row, data, X.shape[0])
            else:
                shared = (_x_log_x(X) + _x_log_x(centre) - _x_log_x(X + centre)).sum(axis=1)
            found[:, h] = _LOG2 * (sizes + centre.sum()) + shared
        return np.maximum(found, 0.0)


def _to_mean(left: Any, right: Any) -> Any:
    """Divergence of two rows to their mean, by feature: h(x) + h(y) - h(x + y) + (x + y) ln 2."""
    both = left + right
    found = _x_log_x(left) + _x_log_x(right) - _x_log_x(both) + _LOG2 * both
    return found.tocsr() if sparse.issparse(found) else found


def _x_log_x(rows: Any) -> Any:
    """Of all values of rows, dense or CSR."""
    if not sparse.issparse(rows):
        return xlogy(rows, rows)
    found = rows.copy()
    found.data = xlogy(rows.data, rows.data)
    return found
