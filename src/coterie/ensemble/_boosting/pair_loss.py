"""The loss of a kernel by what is stated: every must-link beside every cannot-link.

With K the sum of weighted partitions, the loss is (sum over must-links of S e^-K) times (sum over
cannot-links of S e^K), each pair once; (1) and (2) of the paper. Only K of the stated pairs is kept. Where
one kind alone is stated, the other side is all ordered pairs alike, which no round weighs anew: that is not
in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from coterie._arrays import Floats, Index
from coterie.constraints._model import StatedPairs

# An edge below this lowers the loss, by about its square, no more than rounding does. With smoothing a base
# that says the same again has an edge, smaller and smaller.
_NO_EDGE = 1e-6


@dataclass(frozen=True)
class Shares:
    """What a partition does to the weights of the pairs: each side sums to 1."""

    must_apart: float  # A of the paper: broken
    must_together: float  # B
    cannot_apart: float  # C
    cannot_together: float  # D: broken

    @property
    def edge(self) -> float:
        """B - D, from -1 to 1: above 0 the partition lowers the loss."""
        edge = self.must_together - self.cannot_together
        return edge if abs(edge) > _NO_EDGE else 0.0

    def best_weight(self, smoothing: float, least_smoothing: float) -> float:
        """Where (12) is least, (13); with no share AD at all, at `least_smoothing`: else there is no end."""
        good, bad = self.must_together * self.cannot_apart, self.must_apart * self.cannot_together
        if smoothing == 0.0 and bad == 0.0:
            smoothing = least_smoothing
        return 0.5 * float(np.log((good + smoothing) / (bad + smoothing)))

    @property
    def cautious_weight(self) -> float:
        """Where the bound (9) is least."""
        return float(np.log1p(self.edge)) / 6.0


def together(labels: Any, ij: Index) -> Any:
    """Which pairs are in one cluster; an item with the label -1 is in none."""
    a, b = labels[ij[:, 0]], labels[ij[:, 1]]
    return (a == b) & (a >= 0)


class _Side:
    """Pairs of one kind; `sign` is that of K in their weights."""

    def __init__(self, ij: Index, strength: Floats, sign: float) -> None:
        self.ij, self.sign, self.strength = ij, sign, strength
        self.log_strength = np.log(strength)
        self.K = np.zeros(len(ij))
        self._uniform = 0.0  # the log of the sum of a side that is not stated

    def weights(self) -> Floats:
        """What each pair counts in this round; they sum to 1."""
        return np.exp(self.log_strength + self.sign * self.K - self.log_sum())

    def log_sum(self) -> float:
        """The log of the side's sum."""
        return float(logsumexp(self.log_strength + self.sign * self.K)) if len(self.ij) else self._uniform

    def shares(self, labels: Any) -> tuple[float, float]:
        """The shares of the weights that are between clusters, and within them; 0 where there is no pair."""
        if len(self.ij):
            inside, weights = together(labels, self.ij), self.weights()
            return float(weights[~inside].sum()), float(weights[inside].sum())
        size = np.bincount(labels[labels >= 0])
        within = float(((size / len(labels)) ** 2).sum())
        return 1.0 - within, within

    def add(self, labels: Any, weight: float) -> None:
        if len(self.ij):
            self.K += weight * together(labels, self.ij)
        else:
            share = self.shares(labels)[1]
            self._uniform += float(np.log1p(share * np.expm1(self.sign * weight)))

    def broken(self, labels: Any) -> Any:
        """Which pairs these labels break."""
        return together(labels, self.ij) != (self.sign < 0)

    def strength_broken(self, labels: Any) -> float:
        """How much of the stated strength these labels break."""
        return float(self.strength[self.broken(labels)].sum())

    def share_broken(self, labels: Any) -> float:
        """The share of the stated strength that these labels break."""
        whole = logsumexp(self.log_strength) if len(self.ij) else 0.0
        return float(np.exp(self.log_strength[self.broken(labels)] - whole).sum())


class PairLoss:
    """The loss, and the weights of the pairs that follow from it."""

    def __init__(self, pairs: StatedPairs) -> None:
        counts = pairs.strength > 0
        ij, strength = pairs.ij[counts], pairs.strength[counts]
        cannot = np.asarray(pairs.cannot[counts], dtype=bool)
        self.must = _Side(ij[~cannot], strength[~cannot], -1.0)
        self.cannot = _Side(ij[cannot], strength[cannot], 1.0)
        self.items, place = np.unique(ij, return_inverse=True)
        place = place.reshape(ij.shape)
        ends = np.concatenate([place[~cannot], place[cannot]])
        self._ends = np.concatenate([ends, ends[:, ::-1]])

    @property
    def n_pairs(self) -> int:
        """How many pairs are stated."""
        return len(self.must.ij) + len(self.cannot.ij)

    @property
    def missing(self) -> float:
        """The sign in T of the side that is not stated; 0: both are."""
        return float(not len(self.must.ij)) - float(not len(self.cannot.ij))

    @property
    def least_smoothing(self) -> float:
        """One pair of pairs in the first round; of one kind alone, one pair squared."""
        m, c = len(self.must.ij), len(self.cannot.ij)
        return 1.0 / (m * c if m and c else max(m, c, 1) ** 2)

    @property
    def value(self) -> float:
        """The log of the loss (2); 0 where nothing is stated."""
        return self.must.log_sum() + self.cannot.log_sum()

    def discrepancy(self) -> Any:
        """T of the paper, among `items`: weights of must-links less those of cannot-links."""
        half = 0.5 * np.concatenate([self.must.weights(), -self.cannot.weights()])
        shape = (len(self.items),) * 2
        return sparse.csr_matrix((np.tile(half, 2), tuple(self._ends.T)), shape)

    def shares(self, labels: Any) -> Shares:
        """What a partition does to the weights of now."""
        return Shares(*self.must.shares(labels), *self.cannot.shares(labels))

    def add(self, labels: Any, weight: float) -> None:
        """Add a partition to the kernel."""
        self.must.add(labels, weight)
        self.cannot.add(labels, weight)

    def n_broken(self, labels: Any) -> int:
        """How many pairs a partition breaks."""
        return sum(int(side.broken(labels).sum()) for side in (self.must, self.cannot))

    def share_broken(self, labels: Any) -> float:
        """The shares of both kinds that a partition breaks, added up; strengths count, rounds do not."""
        return self.must.share_broken(labels) + self.cannot.share_broken(labels)

    def strength_broken(self, labels: Any, missing: float) -> float:
        """How much of the stated strength these labels break.

        Of a kind that is stated nowhere (`missing`, of the whole), all ordered pairs have as much strength as
        the stated ones: or one cluster of nearly all items would meet every must-link.
        """
        broken = self.must.strength_broken(labels) + self.cannot.strength_broken(labels)
        if missing < 0:
            broken += float(self.must.strength.sum()) * self.cannot.shares(labels)[1]
        elif missing > 0:
            broken += float(self.cannot.strength.sum()) * self.must.shares(labels)[0]
        return broken
