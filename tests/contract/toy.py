"""Toy clusterers that keep the contract, or break one line of it each: the contract's own test objects."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie import Constraints
from coterie.base import ConstrainedClusterMixin, anything, constrained_fit, progress, whole


class ToyHard(ConstrainedClusterMixin, BaseEstimator):
    """Farthest-first centres, then each component to the nearest centre that its neighbours leave free."""

    parameter_rules = {"n_clusters": whole(1), "max_iter": whole(1), "random_state": anything("a seed")}
    obeys = "all"

    def __init__(self, n_clusters=3, *, max_iter=5, random_state=None):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state

    @constrained_fit
    def fit(self, X, y=None, *, constraints=None):
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, dtype=np.float64)
        centres = [X[np.argmin(((X - X.mean(axis=0)) ** 2).sum(axis=1))]]
        while len(centres) < self.n_clusters:
            gaps = ((X[:, None] - np.array(centres)) ** 2).sum(axis=-1).min(axis=1)
            centres.append(X[np.argmax(gaps)])
        self.cluster_centers_ = np.array(centres)
        self.history_ = []
        with progress(self, X, self.max_iter) as step:
            for _ in range(self.max_iter):
                costs = ((X[:, None] - self.cluster_centers_) ** 2).sum(axis=-1)
                self.labels_ = self._assign(costs, known)
                for h in range(self.n_clusters):
                    if (self.labels_ == h).any():
                        self.cluster_centers_[h] = X[self.labels_ == h].mean(axis=0)
                self.history_.append(float(costs[np.arange(len(X)), self.labels_].sum()))
                if step(self.history_[-1]):
                    break
        self.n_iter_ = len(self.history_)
        self.objective_ = self.history_[-1]
        self.converged_ = True
        return self

    def _assign(self, costs, known):
        if not known.kinds:
            return costs.argmin(axis=1)
        witness = known.check(self.n_clusters).witness
        component = known.components
        total = np.zeros((component.max() + 1, self.n_clusters))
        np.add.at(total, component, costs)
        of_component = np.full(len(total), -1)
        for node in np.argsort(-known.contracted.sizes, kind="stable"):
            members = np.flatnonzero(component == node) if len(total) < 1000 else None
            for h in np.argsort(total[node], kind="stable"):
                of_component[node] = h
                if members is None or not self._clashes(known, of_component[component]):
                    break
                of_component[node] = -1
            if of_component[node] < 0:
                return witness
        labels = of_component[component]
        return witness if known.violations(labels) else labels

    @staticmethod
    def _clashes(known, partial):
        broken = known.violations(partial)
        return broken.cannot_link.n > 0 or any(
            group.clusters != (-1,) and len(group.clusters) == 1 for group in broken.groups
        )

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return ((X[:, None] - self.cluster_centers_) ** 2).sum(axis=-1).argmin(axis=1)


class ToySoft(ToyHard):
    """Ignores soft constraints, obeys the hard ones."""

    obeys = "hard"

    def _assign(self, costs, known):
        return super()._assign(costs, known.only_hard())


class ReadsY(ToyHard):
    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        if y is not None:
            self.labels_ = np.asarray(y)
        return self


class WritesX(ToyHard):
    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        X[0] = 0
        return self


class ForgetsConstraints(ToySoft):
    """Says that it reports, and reports nothing."""

    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        self.violations_ = Constraints(n_items=0).violations([])
        return self


class BreaksHardPairs(ToySoft):
    def _assign(self, costs, known):
        return costs.argmin(axis=1)


class KeepsUnit(ToyHard):
    """Has a threshold in the unit of the data."""

    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        if np.ptp(np.asarray(X, dtype=float)) < 1e-3:
            self.labels_ = np.zeros(len(X), dtype=int)
        return self


class HasNoRule(ToyHard):
    parameter_rules = {"n_clusters": whole(1)}


class LosesSeed(ToyHard):
    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        self.labels_ = np.random.default_rng().permutation(self.labels_)
        return self


class KeepsOldRows(ToyHard):
    """In a fold, reports what it was told about other rows."""

    def fit(self, X, y=None, *, constraints=None):
        if constraints is not None and hasattr(constraints, "n_items") and len(X) < 36:
            constraints = Constraints(n_items=len(X))
        return super().fit(X, constraints=constraints)
