"""Directions: von Mises-Fisher densities exp(kappa x . mean) / Z on the unit sphere, kappa common and fixed.

With hard labels this is spherical k-means. Z is (2 pi)^(d/2) I_v(kappa) / kappa^v with v = d/2 - 1; where the
Bessel function I underflows, Debye's expansion has its logarithm (error below 1e-6 from 1000 features on).
Source: chapter 8, (8.4) to (8.6). Sparse rows stay sparse; time O(n k d) a step, or O(k non-zeros).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ive
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms

from coterie._arrays import Floats
from coterie.base import top_eigenvalue
from coterie.distortion import refuse_zeros
from coterie.kmeans import COPKMeans
from coterie.mixture._emissions.emission import Emission, Statistics

# The largest mean cosine in clusters that tell the concentration.
_CLOSEST = 1.0 - 1e-6


def vmf_log_normalizer(d: int, kappa: float) -> float:
    """Log of Z, the integral of exp(kappa x . mean) over the unit sphere of d dimensions."""
    order = 0.5 * d - 1.0
    scaled = float(ive(order, kappa))
    if scaled > np.finfo(float).tiny:
        log_bessel = kappa + np.log(scaled)
    else:
        r = np.hypot(order, kappa)
        t = order / r
        log_bessel = r + order * np.log(kappa / (order + r)) - 0.5 * np.log(2.0 * np.pi * r)
        log_bessel += np.log1p((3.0 - 5.0 * t**2) / (24.0 * r))  # t / order is 1 / r, also for order 0
    return float(0.5 * d * np.log(2.0 * np.pi) + log_bessel - order * np.log(kappa))


class VonMisesFisher(Emission):
    """Densities of directions; rows are taken at unit length.

    Parameters
    ----------
    concentration : float, optional
        How close items are to the mean of their component; softer shares with a smaller one. By default the
        usual estimate r (d - r^2) / (1 - r^2) from the mean cosine r in the clusters of spherical k-means.
    """

    sparse = True
    metric = "cosine"

    def __init__(self, concentration: float | None = None) -> None:
        if concentration is not None and not (np.isfinite(concentration) and concentration > 0):
            raise ValueError(f"concentration must be a finite number above 0; got {concentration!r}.")
        self.given = concentration

    def check_rows(self, X: Any) -> None:
        """Raise where a row has no direction."""
        refuse_zeros(np.flatnonzero(row_norms(X) == 0), "has no direction")

    def begin(self, X: Any, k: int) -> None:
        """Learn the concentration, the mean direction and how far rows are from it."""
        super().begin(X, k)
        n, self.d = X.shape
        scale = 1.0 / row_norms(X)
        mean = np.asarray(X.T @ scale, dtype=np.float64) / n
        resultant = float(np.linalg.norm(mean))
        # without a common direction any is as good
        middle = mean / resultant if resultant > 1e-12 else np.eye(1, self.d)[0]
        self.means = np.tile(middle, (k, 1))
        # one deviation for all features, so that means are compared by their angle
        self.deviation = np.full(self.d, np.sqrt(max(1.0 - resultant**2, 0.0)))
        self.concentration = self._estimate(X, k) if self.given is None else float(self.given)
        self._log_z = vmf_log_normalizer(self.d, self.concentration)

        def covariance_times(v: Floats) -> Floats:
            return np.asarray(X.T @ (scale**2 * (X @ v)), dtype=np.float64) / n - mean * (mean @ v)

        widest = top_eigenvalue(covariance_times, self.d)
        self._hottest = max(1.25 * self.concentration * widest / max(resultant, 1e-12), 1.0)

    def _estimate(self, X: Any, k: int) -> float:
        plain = COPKMeans(k, n_init=1, max_iter=30, metric="cosine", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            cosine = min(1.0 - plain.fit(X).objective_ / X.shape[0], _CLOSEST)
        return float(cosine * (self.d - cosine**2) / (1.0 - cosine**2))

    def hottest(self) -> float:
        """A quarter above the temperature at which the one mean of all begins to part."""
        return self._hottest

    def shaken(self, means: Floats, rng: np.random.RandomState, by: float = 1.0) -> Floats:
        """Means turned by a hundredth of the deviation or so, or `by` times that."""
        return self._directions(super().shaken(means, rng, by / np.sqrt(self.d)), means)

    def _directions(self, rows: Floats, before: Floats) -> Floats:
        """Rows at unit length; those without a direction keep the one they had."""
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.where(length > 0, rows / np.where(length > 0, length, 1.0), before)

    def log_prob(self, X: Any) -> Floats:
        """Log-density of the rows' directions."""
        cosines = np.asarray(X @ self.means.T, dtype=np.float64) / row_norms(X)[:, None]
        return self.concentration * cosines - self._log_z

    def statistics(self, X: Any, shares: Floats) -> Statistics:
        """Masses, and sums of directions."""
        return shares.sum(axis=0), np.asarray(X.T @ (shares / row_norms(X)[:, None]), dtype=np.float64).T

    def update(self, statistics: Statistics) -> None:
        """Directions of the sums."""
        self.means = self._directions(statistics[1], self.means)

    def set_means(self, means: Floats) -> None:
        """Start at the directions of these means."""
        self.means = self._directions(np.array(means, dtype=np.float64), self.means)

    def n_parameters(self) -> int:
        """Directions, and the concentration where it was estimated."""
        return self.means.size - len(self.means) + (self.given is None)

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Floats:
        """Draw directions of one component."""
        drawn = stats.vonmises_fisher(self.means[component], self.concentration).rvs(n, random_state=rng)
        return np.asarray(drawn).reshape(n, self.d)
