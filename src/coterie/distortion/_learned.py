"""Distortions that learn a metric, and broken pairs as a metric learns from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie.distortion._base import Distortion
from coterie.distortion._rows.pair_distances import pair_chunks, squared_pair_distances

# The least weight of a feature: at zero a row could lose its length.
LEAST_WEIGHT = 1e-5


class Learned(Distortion):
    """A distortion under a metric; stands left of the distortion without one.

    A class says `begin` (the metric that every start begins with), `use` (put one in place), how far pairs
    are apart (`embedded`: rows in a space where that is a squared distance, which the closure of pairs asks
    for; or `pair_distances` itself) and could be (`ceiling`), and how it learns: `learn`, the best metric at
    once (`closed`), or `step_from`, the metric after a part of a step.
    """

    # a metric for each cluster; the best one in closed form; rows are scaled by the metric; a step is halved
    # until the objective does not rise
    by_cluster: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    rescales: ClassVar[bool] = False
    backtracks: bool = True
    # directions at a limit
    regularized: int = 0
    settled: bool = True  # whether the last pass left it as it was, but for the metric

    points: Any
    metric: Any
    # a method: rows in a space where squared distances are those of the metric; None: there is none
    embedded: Any = None
    _plain: Any = None

    @property
    def plain(self) -> Any:
        return self if self._plain is None else self._plain

    def check_values(self) -> None:
        """Raise for new rows that have no such distortion."""
        return

    def pair_rows(self, items: Index) -> Any:
        """Some rows as `embedded` and `pair_distances` take them."""
        return self.points.X[items].astype(np.float64)

    def pair_distances(self, rows: Any, i: Index, j: Index) -> Floats:
        """How far pairs of rows are apart."""
        return squared_pair_distances(self.embedded(rows), i, j)

    def held_back(self) -> float:
        """What pseudo-items cost that keep the metric finite."""
        return 0.0

    def split(self, sums: Floats, masses: Floats, centres: Floats) -> tuple[float, float]:
        """The distortion of all items, and what the metric itself costs."""
        return super().value(sums, masses, centres), 0.0

    def value(self, sums: Floats, masses: Floats, centres: Floats) -> float:
        """The distortion of all items, with what the metric and what holds it back cost."""
        return sum(self.split(sums, masses, centres)) + self.held_back()

    def inertia(self, labels: Labels, totals: Any, centres: Floats) -> float:
        sums, masses = totals[:2]
        return self.value(sums, masses, centres)

    def after_pass(self) -> None:
        """Get ready for the next pass."""
        return


@dataclass(frozen=True)
class BrokenPairs:
    """Pairs that the labels break.

    Attributes
    ----------
    rows : array or CSR matrix
        Rows of the items of the core.
    i, j : array of int
        The ends of each pair, as numbers of rows.
    signed_strength : array
        The strength of a must-link, minus that of a cannot-link.
    apart : array of bool
        Which are cannot-links; a strength may be below zero, where it corrects another.
    labels : array of int
        The cluster of each row.
    k : int
        Number of clusters.
    """

    rows: Any
    i: Index
    j: Index
    signed_strength: Floats
    apart: Any
    labels: Labels
    k: int

    def scatter(self, full: bool, by_cluster: bool) -> tuple[Any, Any]:
        """Sums of squared gaps (outer products) of broken pairs, and how often the box is paid.

        Must-links count positive, cannot-links negative. By cluster: a first axis of length k, and half of a
        must-link for either end.
        """
        width = self.rows.shape[1]
        shape = (width, width) if full else (width,)
        boxes = -np.bincount(self.labels[self.i][self.apart], self.signed_strength[self.apart], self.k)
        total = np.zeros((self.k, *shape))
        # by cluster, either end of a must-link has half of it; both ends of a cannot-link are in one cluster
        both = (self.i, self.j) if by_cluster else (self.i,)
        for ends in both:
            for chunk in pair_chunks(self.rows, len(self.i)):
                away = self.rows[self.i[chunk]] - self.rows[self.j[chunk]]
                label, share = self.labels[ends[chunk]], self.signed_strength[chunk] / len(both)
                if full:
                    for h in np.unique(label).tolist():
                        mine = label == h
                        total[h] += (away[mine] * share[mine, None]).T @ away[mine]
                else:
                    where = label, np.arange(len(label))
                    gather = sparse.csr_matrix((share, where), (self.k, len(label)))
                    if sparse.issparse(away):
                        total += (gather @ away.multiply(away)).toarray()
                    else:
                        total += gather @ (away * away)
        return (total, boxes) if by_cluster else (total.sum(axis=0), float(boxes.sum()))

    def acting(self, rows: Any, metric: Floats) -> tuple[Floats, Floats]:
        """With W the pulls as a symmetric matrix: sums over i of `u_i (W U)_i`, and `u_i . A (W U)_i`."""
        n = self.rows.shape[0]
        ends = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        near = sparse.csr_matrix((np.tile(self.signed_strength, 2), ends), (n, n)) @ rows
        if sparse.issparse(rows):
            both = rows.multiply(near)
            return np.asarray(both.sum(axis=0)).ravel(), np.asarray(both @ metric).ravel()
        both = rows * near
        return both.sum(axis=0), both @ metric
