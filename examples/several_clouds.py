"""
Classes of several clouds
=========================

Two classes take turns in a row of four clouds, so that one Gaussian a class will not do. `MeanFieldMixture`
takes densities of one's own: here a component is a mixture of Gaussians itself. Constraints and labels speak
of components alone; in the M-step the share of a component in an item is divided as its parts explain the
item. The script prints how well both do with a few pairs.
"""

import numpy as np
from scipy.special import logsumexp, softmax

from coterie import Constraints, MeanFieldMixture
from coterie.metrics import matched_f_score
from coterie.mixture import Emission


class SeveralClouds(Emission):
    """Components that are each a mixture of Gaussians with full covariances."""

    def __init__(self, parts=2, reg_covar=1e-6):
        self.parts, self.reg_covar = parts, reg_covar

    def begin(self, X, k):
        """Look at the data."""
        super().begin(X, k)
        self.deviation = X.std(axis=0)
        self.ridge = np.diag(self.reg_covar * self.deviation**2)
        self.spread = np.cov(X.T) + self.ridge
        self.set_means(np.tile(X.mean(axis=0), (k, 1)))

    def set_means(self, means):
        """Start at these means, with the spread of all data."""
        # the parts of a class begin about a deviation apart, since equal ones would stay so
        k, d = means.shape
        steps = np.random.default_rng(0).normal(size=(self.parts, d))
        self.at = means[:, None] + (steps - steps.mean(axis=0)) * self.deviation
        self.covariances = np.tile(self.spread, (k, self.parts, 1, 1))
        self.shares = np.full((k, self.parts), 1 / self.parts)
        self.means = means

    def by_part(self, X):
        """Log-density of each row together with each part of each component."""
        diff = X[:, None, None] - self.at
        squared = np.einsum("nkpi,kpij,nkpj->nkp", diff, np.linalg.inv(self.covariances), diff)
        log_det = np.linalg.slogdet(self.covariances)[1]
        return np.log(self.shares) - 0.5 * (squared + log_det + X.shape[1] * np.log(2 * np.pi))

    def log_prob(self, X):
        """Log-density of each row under each component."""
        return logsumexp(self.by_part(X), axis=2)

    def statistics(self, X, shares):
        """What `update` needs: masses of components first, then of parts, sums and moments."""
        of_part = shares[:, :, None] * softmax(self.by_part(X), axis=2)
        sums = np.einsum("nkp,nd->kpd", of_part, X)
        moments = np.einsum("nkp,nd,ne->kpde", of_part, X, X)
        return shares.sum(axis=0), of_part.sum(axis=0), sums, moments

    def update(self, statistics):
        """The parts that fit best."""
        _, mass, sums, moments = statistics
        mass = np.maximum(mass, 1e-9)
        self.shares = mass / mass.sum(axis=1, keepdims=True)
        self.at = sums / mass[..., None]
        centred = moments / mass[..., None, None] - np.einsum("kpd,kpe->kpde", self.at, self.at)
        self.covariances = centred + self.ridge
        self.means = np.einsum("kp,kpd->kd", self.shares, self.at)

    def n_parameters(self):
        """For `bic` and `aic`."""
        k, parts, d = self.at.shape
        return k * (parts * (d + d * (d + 1) // 2) + parts - 1)


def by_turns(seed):
    """Four clouds of 50 items in a row; the classes take turns."""
    centre = np.repeat([[-3, 0], [1, 0], [-1, 0], [3, 0]], 50, axis=0)
    noise = np.random.default_rng(seed).normal(size=(200, 2))
    return noise * [0.35, 1.0] + centre, np.repeat([0, 1], 100)


if __name__ == "__main__":
    X, y = by_turns(0)
    known = Constraints.sample(y, n_pairs=20, random_state=0)
    for words, emission in (("one Gaussian", "gaussian"), ("two", SeveralClouds(2))):
        model = MeanFieldMixture(2, emission=emission, weight=1000.0, random_state=0)
        model.fit(X, constraints=known)
        print(f"{words} a class: F {matched_f_score(y, model.predict(X)):.2f}")
