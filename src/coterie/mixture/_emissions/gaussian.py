"""Gaussian components: full, tied, diagonal and spherical covariances, as in scikit-learn.

The densities come from the Cholesky factors of the precisions, applied to differences from the means, block
by block of rows. Full covariances are gathered around the means of the last step, the others around the
middle of the data, so that nothing large is subtracted from something large.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import linalg

from coterie._arrays import Floats
from coterie.mixture._emissions.emission import Emission, Statistics, filled, spread_of

COVARIANCES = ("full", "tied", "diag", "spherical")
# Items a component for each feature; with fewer, diagonal covariances are better. Where there are few more,
# full ones stay near what they start from, k-means, and lose nothing by it. Found on mixtures of full, tied,
# diagonal, round and heavy-tailed clusters and of factors: plain, clipped, rounded, bounded, skewed, binary
# (k 2 to 8, d 4 to 200). On these, one-hot columns and thin clusters beside a far one: pseudo-items that
# suffice.
FULL_NEEDS = 1.5
FEW_PSEUDO_ITEMS = {"full": 0.01, "tied": 0.01, "diag": 0.1, "spherical": 0.1}


def fitting_type(n: int, k: int, d: int) -> tuple[str, str]:
    """The covariance type that n items of d features in k components bear, and why, in a sentence."""
    items = n / k / d
    kind, word = ("full", "full") if items >= FULL_NEEDS else ("diag", "diagonal")
    return kind, (
        f"Covariances are {word}: {n:,} items in {k} clusters are {items:.2g} in each for every one of {d:,} "
        f"features, and full ones need {FULL_NEEDS:g}."
    )


class Gaussian(Emission):
    """Gaussian densities.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical"}
        As in scikit-learn.
    reg_covar : float
        Added to the diagonals, as a share of each feature's variance.
    covariance_prior : float
        Number of pseudo-items that pull covariances to the diagonal one of the data.
    """

    def __init__(
        self, covariance_type: str = "full", reg_covar: float = 1e-6, covariance_prior: float = 0.0
    ) -> None:
        self.covariance_type = covariance_type
        self.reg_covar, self.covariance_prior = reg_covar, covariance_prior

    def begin(self, X: Any, k: int) -> None:
        """Learn the scale of the data; all components start as one that covers them."""
        super().begin(X, k)
        self.d = X.shape[1]
        self.centre: Floats = X.mean(axis=0, dtype=np.float64)
        whole = self.covariance_type in ("full", "tied") and X.shape[0] > self.d
        spread = spread_of(X, self.centre, whole)
        variance = np.diag(spread).copy() if whole else spread
        # rounding leaves a constant feature a tiny variance
        variance[variance <= 1e-24 * np.maximum(self.centre**2, 1e-280)] = 0.0
        if not variance.any():
            variance[:] = 1.0
        # pseudo-items are constant where all items are: else a large component would gain by such a feature
        self.prior_variance: Floats = variance.copy()
        self.variance: Floats = np.where(variance > 0, variance, variance[variance > 0].mean())
        self.deviation = np.sqrt(self.prior_variance)
        self.ridge: Floats = self.reg_covar * self.variance
        # of all data; held up where features repeat each other
        held = np.diag(np.maximum(self.ridge, 1e-6 * self.variance))
        self.spread: Floats = spread + held if whole else np.diag(self.variance)
        self.set_means(np.tile(self.centre, (k, 1)))

    def set_means(self, means: Floats) -> None:
        """Start at these means, with the spread of all data."""
        self.means = np.array(means, dtype=np.float64)
        widths: dict[str, Any] = {
            "full": np.tile(self.spread, (self.k, 1, 1)),
            "tied": self.spread,
            "diag": np.tile(self.variance, (self.k, 1)),
            "spherical": np.full(self.k, self.variance.mean()),
        }
        self._set_covariances(widths[self.covariance_type])

    def _set_covariances(self, covariances: Floats) -> None:
        """Take covariances, and the Cholesky factors of their inverses."""
        self.covariances: Floats = covariances
        if self.covariance_type == "full":
            factors = [self._factor(c, f"component {h} has") for h, c in enumerate(covariances)]
            self.factors: Floats = np.array(factors).reshape(self.k, self.d, self.d)
        elif self.covariance_type == "tied":
            self.factors = self._factor(covariances, "all components have")
        else:
            flat = np.argwhere(~(covariances > 0))
            if len(flat):
                raise ValueError(_singular(f"component {flat[0, 0]} has"))
            self.factors = 1.0 / np.sqrt(covariances)
        self._log_det: Floats = self._log_determinants()

    def _factor(self, covariance: Floats, who: str) -> Floats:
        # in units of the features' own deviations, so that features of any scale go together
        scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        if not scale.all() or not np.isfinite(scale).all():
            raise ValueError(_singular(who))
        try:
            lower = linalg.cholesky(covariance / np.outer(scale, scale), lower=True)
        except linalg.LinAlgError:
            raise ValueError(_singular(who)) from None
        if np.diag(lower).min() < 1e-7:  # rounding alone made it positive
            raise ValueError(_singular(who))
        return linalg.solve_triangular(lower, np.diag(1.0 / scale), lower=True).T

    def taking(self, other: Emission) -> Self:
        """The same, having seen the same data, with the parameters of another."""
        new = super().taking(other)
        if isinstance(other, Gaussian) and other.covariance_type == self.covariance_type:
            new._set_covariances(other.covariances)
        return new

    def set_precisions(self, precisions: Floats) -> None:
        """Take precisions that the user gave."""
        if self.covariance_type in ("full", "tied"):
            self._set_covariances(np.linalg.inv(precisions).astype(np.float64))
        else:
            self._set_covariances(1.0 / precisions)

    def _log_determinants(self) -> Floats:
        """Half the log-determinant of each precision."""
        if self.covariance_type == "full":
            return np.log(np.einsum("kii->ki", self.factors)).sum(axis=1)
        if self.covariance_type == "tied":
            return np.full(self.k, np.log(np.diag(self.factors)).sum())
        if self.covariance_type == "diag":
            return np.log(self.factors).sum(axis=1)
        return self.d * np.log(self.factors)

    def log_prob(self, X: Any) -> Floats:
        """Log-density of each row under each component."""
        X = np.asarray(X, dtype=np.float64)
        found = np.empty((len(X), self.k))
        if self.covariance_type == "full":
            for h in range(self.k):
                scaled = (X - self.means[h]) @ self.factors[h]
                np.einsum("ij,ij->i", scaled, scaled, out=found[:, h])
        elif self.covariance_type == "tied":
            rows, means = (X - self.centre) @ self.factors, (self.means - self.centre) @ self.factors
            for h in range(self.k):
                scaled = rows - means[h]
                np.einsum("ij,ij->i", scaled, scaled, out=found[:, h])
        else:
            for h in range(self.k):
                scaled = (X - self.means[h]) * self.factors[h]
                np.einsum("ij,ij->i", scaled, scaled, out=found[:, h])
        found *= -0.5
        found += self._log_det - 0.5 * self.d * np.log(2.0 * np.pi)
        return found

    def statistics(self, X: Any, shares: Floats) -> Statistics:
        """Masses, sums and second moments."""
        X = np.asarray(X, dtype=np.float64)
        mass = shares.sum(axis=0)
        if self.covariance_type == "full":
            total, moment = np.empty((self.k, self.d)), np.empty((self.k, self.d, self.d))
            for h in range(self.k):
                diff = X - self.means[h]
                weighted = diff * shares[:, h : h + 1]
                total[h] = weighted.sum(axis=0)
                moment[h] = weighted.T @ diff
            return mass, total, moment
        diff = X - self.centre
        if self.covariance_type == "tied":
            return mass, shares.T @ diff, (diff * shares.sum(axis=1)[:, None]).T @ diff
        return mass, shares.T @ diff, shares.T @ diff**2

    def update(self, statistics: Statistics) -> None:
        """Means and covariances; a component without mass keeps its own."""
        mass, total, moment = statistics
        kept = mass > 10 * np.finfo(float).eps
        mass = np.where(kept, mass, 0.0)
        around = self.means if self.covariance_type == "full" else self.centre
        shift = filled(mass, total, self.means - around)
        kappa, safe = self.covariance_prior, np.where(kept, mass, 1.0)
        covariances = self.covariances.copy()
        prior = np.diag(self.prior_variance)
        if self.covariance_type == "full":
            for h in np.flatnonzero(kept):
                spread = moment[h] - mass[h] * np.outer(shift[h], shift[h]) + kappa * prior
                covariances[h] = spread / (mass[h] + kappa) + np.diag(self.ridge)
        elif self.covariance_type == "tied":
            spread = moment - (mass * shift.T) @ shift + kappa * prior
            covariances = spread / (mass.sum() + kappa) + np.diag(self.ridge)
        else:
            spread = moment - mass[:, None] * shift**2
            spread = np.maximum(spread, 0.0) + kappa * self.prior_variance
            widths = spread / (safe + kappa)[:, None] + self.ridge
            if self.covariance_type == "spherical":
                widths = widths.mean(axis=1)
            covariances[kept] = widths[kept]
        self.means = shift + around
        self._set_covariances(covariances)

    def log_prior(self) -> float:
        """Log-density of the covariances under their prior, but for a constant."""
        kappa = self.covariance_prior
        if not kappa:
            return 0.0
        if self.covariance_type in ("full", "tied"):
            factors = self.factors if self.covariance_type == "full" else self.factors[None]
            trace = float(np.einsum("kij,i->", factors**2, self.prior_variance))
        elif self.covariance_type == "diag":
            trace = float((self.factors**2 @ self.prior_variance).sum())
        else:
            trace = float((self.factors**2).sum() * self.prior_variance.sum())
        shared = self.covariance_type == "tied"
        return kappa * float(self._log_det[:1].sum() if shared else self._log_det.sum()) - 0.5 * kappa * trace

    def collapsed(self) -> list[int]:
        """Components whose covariance nothing but `reg_covar` holds up in some direction."""
        if not self.reg_covar:
            return []
        if self.covariance_type in ("full", "tied"):
            scale = np.sqrt(self.ridge)
            scaled = self.covariances / np.outer(scale, scale)
            least = np.linalg.eigvalsh(scaled)[..., 0] * np.ones(self.k)
        elif self.covariance_type == "diag":
            least = (self.covariances / self.ridge).min(axis=1)
        else:
            least = self.covariances / self.ridge.mean()
        return np.flatnonzero(least < 2.0).tolist()

    def n_parameters(self) -> int:
        """Means and covariances."""
        k, d = self.k, self.d
        widths = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return k * d + widths[self.covariance_type]

    @property
    def precisions(self) -> Floats:
        """Inverses of the covariances."""
        if self.covariance_type == "full":
            return np.einsum("kij,klj->kil", self.factors, self.factors)
        return self.factors @ self.factors.T if self.covariance_type == "tied" else self.factors**2

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Floats:
        """Draw items of one component."""
        noise = rng.standard_normal((n, self.d))
        if self.covariance_type in ("full", "tied"):
            width = self.covariances[component] if self.covariance_type == "full" else self.covariances
            return self.means[component] + noise @ linalg.cholesky(width, lower=True).T
        return self.means[component] + noise * np.sqrt(self.covariances[component])


def _singular(who: str) -> str:
    return (
        f"{who} a singular covariance: the items there lie in fewer dimensions than there are features, or "
        "repeat each other. Raise reg_covar or covariance_prior, ask for fewer components, or take "
        "covariance_type='diag' or 'spherical'."
    )
