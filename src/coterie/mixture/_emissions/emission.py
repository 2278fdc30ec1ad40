"""Emission densities of a mixture, with their M-step: the interface, squared errors and multinomials.

An emission gives the log-density of rows under each component, gathers statistics of rows with the
components' shares in them, and finds the best parameters from these. Statistics are tuples of arrays that add
up over blocks of rows; the first is always the mass of each component. A new emission is one class.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from coterie._arrays import Floats

Statistics = tuple[Floats, ...]

# Numbers of a block of rows: with its differences from a mean it stays in the cache.
_BLOCK_CELLS, _LEAST_ROWS, _MOST_ROWS = 1 << 17, 64, 1 << 14
# Steps towards the widest direction of the data: a temperature to begin at need not be exact.
_POWER_STEPS = 12
# Added to every count of a word.
_PSEUDO_COUNT = 1.0


def rows_per_chunk(d: int) -> int:
    """Rows of d features that are worked on at once."""
    return min(max(_BLOCK_CELLS // d, _LEAST_ROWS), _MOST_ROWS)


def spread_of(X: Any, centre: Floats, whole: bool) -> Floats:
    """Covariance of the rows around a centre, or the variances alone; no copy of X is made."""
    d = len(centre)
    total = np.zeros((d, d) if whole else d)
    for start in range(0, len(X), rows_per_chunk(d)):
        diff = X[start : start + rows_per_chunk(d)] - centre
        total += diff.T @ diff if whole else np.einsum("ij,ij->j", diff, diff)
    return total / len(X)


class Emission(ABC):
    """Densities of a mixture's components; `begin` is called once a fit, `update` in every M-step."""

    # whether `log_prob` is the logarithm of a density, so that items can be scored and drawn
    density = True
    # whether rows may be sparse
    sparse = False
    # distance of the k-means that a start may take
    metric = "sqeuclidean"

    k: int
    means: Floats
    # of the features, or of the means in their own unit
    deviation: Floats

    def begin(self, X: Any, k: int) -> None:
        """Look at the data before a fit of k components."""
        self.k = k

    def check_rows(self, X: Any) -> None:
        """Raise where rows cannot have a density: at the start of a fit, and for new items."""
        return

    @abstractmethod
    def log_prob(self, X: Any) -> Floats:
        """Log-density of each row under each component."""

    @abstractmethod
    def statistics(self, X: Any, shares: Floats) -> Statistics:
        """What `update` needs, summed over rows weighted by `shares` of shape (n_rows, k)."""

    @abstractmethod
    def update(self, statistics: Statistics) -> None:
        """Take the parameters that fit the statistics best; a component without mass keeps its own."""

    @abstractmethod
    def set_means(self, means: Floats) -> None:
        """Start at these means, with the spread of all data."""

    def unit(self) -> float:
        """What a small change of the objective per item is measured in."""
        return 1.0

    def hottest(self) -> float:
        """The temperature at which annealing begins, above which components do not tell apart."""
        return 5.0

    def coldest(self) -> float:
        """The temperature at which it ends."""
        return 1.0

    def shaken(self, means: Floats, rng: np.random.RandomState, by: float = 1.0) -> Floats:
        """Means, each feature moved by a hundredth of its deviation or so, or `by` times that."""
        return means + 1e-2 * by * self.deviation * rng.standard_normal(means.shape)

    def log_base(self, X: Any) -> Floats | float:
        """The part of the log-density that is the same under all components, where `log_prob` lacks it."""
        return 0.0

    def log_prior(self) -> float:
        """Log-density of the parameters, where they have a prior."""
        return 0.0

    def collapsed(self) -> list[int]:
        """Components that shrank to almost nothing in some direction."""
        return []

    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters of all components."""

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Floats:
        """Draw items of one component."""
        raise AttributeError(f"{type(self).__name__} has no way to draw items: it defines no sample.")

    def taking(self, other: Emission) -> Self:
        """The same, having seen the same data, with the parameters of another."""
        new = self.copy()
        new.means = other.means
        return new

    def copy(self) -> Self:
        """The same with parameters of its own."""
        return copy.copy(self)  # parameters are replaced, never written to


def _widest(X: Any, centre: Floats, direction: Floats) -> float:
    """About the largest variance in any direction: a few steps of the power method, no d x d matrix."""
    found = 0.0
    for _ in range(_POWER_STEPS):
        length = float(np.linalg.norm(direction))
        if not length:
            return found
        total = np.zeros_like(direction)
        for start in range(0, len(X), rows_per_chunk(len(centre))):
            diff = X[start : start + rows_per_chunk(len(centre))] - centre
            total += diff.T @ (diff @ (direction / length))
        direction = total / len(X)
        found = float(np.linalg.norm(direction))
    return found


class SquaredError(Emission):
    """Squared distance to a mean, as in k-means: at temperature T a round Gaussian of variance T/2."""

    density = False

    def begin(self, X: Any, k: int) -> None:
        """Remember the middle of the data."""
        super().begin(X, k)
        self.centre: Floats = X.mean(axis=0, dtype=np.float64)
        self.means = np.tile(self.centre, (k, 1))
        variance = spread_of(X, self.centre, False)
        self.deviation = np.sqrt(variance)
        self._widest = _widest(X, self.centre, self.deviation) or 1.0

    def unit(self) -> float:
        """A squared distance."""
        return self._widest

    def hottest(self) -> float:
        """Above twice the largest variance of any direction the means are all one."""
        return 2.5 * self._widest

    def coldest(self) -> float:
        """As good as zero: every item belongs to one mean."""
        return 1e-9 * self._widest

    def log_prob(self, X: Any) -> Floats:
        """Minus the squared distances."""
        rows = np.asarray(X, dtype=np.float64) - self.centre
        means = self.means - self.centre
        squared = np.einsum("ij,ij->i", rows, rows)[:, None] - 2.0 * rows @ means.T
        squared += np.einsum("ij,ij->i", means, means)
        return -np.maximum(squared, 0.0)

    def statistics(self, X: Any, shares: Floats) -> Statistics:
        """Masses and sums."""
        return shares.sum(axis=0), shares.T @ (np.asarray(X, dtype=np.float64) - self.centre)

    def update(self, statistics: Statistics) -> None:
        """Means."""
        mass, total = statistics
        self.means = filled(mass, total, self.means - self.centre) + self.centre

    def set_means(self, means: Floats) -> None:
        """Start at these means."""
        self.means = np.array(means, dtype=np.float64)

    def n_parameters(self) -> int:
        """All means."""
        return self.means.size


class Multinomial(Emission):
    """Counts of words by component, one added to each: a word not seen there is not impossible."""

    sparse = True
    metric = "cosine"

    def begin(self, X: Any, k: int) -> None:
        """Check that these are counts, and remember how long rows are."""
        super().begin(X, k)
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError("the multinomial emission takes counts, but X has negative values.")
        words = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        if not words.any():
            raise ValueError("the multinomial emission takes counts, but all of X is zero.")
        self._length = words.sum() / X.shape[0]
        self.means = self._smoothed(np.tile(words, (k, 1)))
        self.deviation = self.means[0]

    def shaken(self, means: Floats, rng: np.random.RandomState, by: float = 1.0) -> Floats:
        """Shares of words, changed by a tenth or so; by at most e times or so."""
        moved = means * np.exp(min(0.1 * by, 1.0) * rng.standard_normal(means.shape))
        return moved / moved.sum(axis=1, keepdims=True)

    def _smoothed(self, counts: Floats) -> Floats:
        counts = counts + _PSEUDO_COUNT
        return counts / counts.sum(axis=1, keepdims=True)

    def log_prob(self, X: Any) -> Floats:
        """Log-probability of the counts, but for the number of orders that words can have."""
        return np.asarray(X @ np.log(self.means).T, dtype=np.float64)

    def log_base(self, X: Any) -> Floats:
        """Log of the number of orders that the words of a row can have."""
        if sparse.issparse(X):
            orders: Any = X.copy()
            orders.data = gammaln(X.data + 1.0)
        else:
            orders = gammaln(X + 1.0)
        length = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        return gammaln(length + 1.0) - np.asarray(orders.sum(axis=1)).ravel()

    def statistics(self, X: Any, shares: Floats) -> Statistics:
        """Masses and counts of words."""
        return shares.sum(axis=0), np.asarray((X.T @ shares).T, dtype=np.float64)

    def update(self, statistics: Statistics) -> None:
        """Shares of the words, smoothed."""
        mass, counts = statistics
        kept = mass > 0
        means = self.means.copy()
        means[kept] = self._smoothed(counts[kept])
        self.means = means

    def log_prior(self) -> float:
        """Of the counts that were added."""
        return _PSEUDO_COUNT * float(np.log(self.means).sum())

    def set_means(self, means: Floats) -> None:
        """Start at these profiles, smoothed."""
        means = np.maximum(np.asarray(means, dtype=np.float64), 0.0)
        totals = means.sum(axis=1, keepdims=True)
        self.means = self._smoothed(self._length * means / np.where(totals > 0, totals, 1.0))

    def n_parameters(self) -> int:
        """Shares of the words, which sum to one in each component."""
        return self.means.size - len(self.means)

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Floats:
        """Rows as long as those of the data are on average."""
        return rng.multinomial(round(self._length), self.means[component], size=n).astype(np.float64)


def filled(mass: Floats, total: Floats, before: Floats) -> Floats:
    """Means of components, and their old ones where they have no mass."""
    kept = mass > 0
    means = before.copy()
    means[kept] = total[kept] / mass[kept, None]
    return means
