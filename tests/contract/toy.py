"""Toy clusterers that keep the contract, or break one line of it each: the contract's own test objects."""

import inspect

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_info

from coterie import Constraints, InfeasibleConstraintsError
from coterie.base import (
    ConstrainedClusterMixin,
    anything,
    check_sample_weight,
    constrained_fit,
    instance,
    one_of,
    progress,
    whole,
)

FLOATS = [np.float64, np.float32]
READ = {"accept_sparse": "csr", "dtype": FLOATS}


class ToyHard(ConstrainedClusterMixin, BaseEstimator):
    """Farthest-first centres, then each component to the nearest centre that its neighbours leave free.

    Greedy assignment can make the objective rise.
    """

    parameter_rules = {"n_clusters": whole(1), "max_iter": whole(1), "random_state": anything("a seed")}
    obeys = "all"
    monotone = False

    def __init__(self, n_clusters=3, *, max_iter=5, random_state=None):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def _k(self):
        return self.n_clusters

    @constrained_fit
    def fit(self, X, y=None, *, constraints=None):
        X, known = self._begin_fit(X, constraints, n_clusters=self._k, dtype=FLOATS)
        self.cluster_centers_ = self._spread(X, X.mean(axis=0))
        self.history_ = []
        with progress(self, X, max_steps=self.max_iter) as starts, starts() as step:
            for _ in range(self.max_iter):
                self.labels_ = self._assign(self._squares(X, self.cluster_centers_), known)
                for h in range(self._k):
                    if (self.labels_ == h).any():
                        self.cluster_centers_[h] = X[self.labels_ == h].mean(axis=0)
                gaps = X - self.cluster_centers_[self.labels_]
                self.history_.append(float((gaps**2).sum()))
                if step(self.history_[-1]):
                    break
        costs = self._squares(X, self.cluster_centers_)
        self.labels_ = self._assign(costs, known)
        self.history_.append(float(costs[np.arange(len(X)), self.labels_].sum()))
        self.n_iter_ = len(self.history_) - 1
        self.objective_ = self.history_[-1]
        self.converged_ = True
        return self

    def _spread(self, X, middle):
        """The item nearest to the middle, then again and again the one farthest from all taken."""
        centres = [X[np.argmin(((X - middle) ** 2).sum(axis=1))]]
        while len(centres) < self._k:
            centres.append(X[np.argmax(self._squares(X, np.array(centres)).min(axis=1))])
        return np.array(centres)

    @staticmethod
    def _squares(X, centres):
        return ((X[:, None] - centres) ** 2).sum(axis=-1)

    def _assign(self, costs, known):
        if not known.kinds:
            return costs.argmin(axis=1)
        witness = known.check(self._k).witness
        component = known.components
        total = np.zeros((component.max() + 1, self._k))
        np.add.at(total, component, costs)
        if len(total) < 1000:
            of_component = self._one_by_one(total, known)
        else:  # too many to look at the neighbours of each
            of_component = total.argmin(axis=1)
        labels = of_component[component]
        return witness if (labels < 0).any() or known.violations(labels) else labels

    def _one_by_one(self, total, known):
        of_component = np.full(len(total), -1)
        for node in np.argsort(-known.contracted.sizes, kind="stable"):
            for h in np.argsort(total[node], kind="stable"):
                of_component[node] = h
                if not self._clashes(known, of_component[known.components]):
                    break
                of_component[node] = -1
            if of_component[node] < 0:
                break
        return of_component

    @staticmethod
    def _clashes(known, partial):
        broken = known.violations(partial)
        return broken.cannot_link.n > 0 or any(
            group.clusters != (-1,) and len(group.clusters) == 1 for group in broken.groups
        )

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return self._squares(X, self.cluster_centers_).argmin(axis=1)


class ToySoft(ToyHard):
    """Ignores soft constraints, obeys the hard ones."""

    obeys = "hard"

    def _assign(self, costs, known):
        return super()._assign(costs, known.only_hard())


class ToyGuided(ToySoft):
    """Is not moved by any constraint."""

    obeys = "none"

    def _assign(self, costs, known):
        return costs.argmin(axis=1)


class ToyComponents(ToySoft):
    """Says `n_components` where others say `n_clusters`, as mixtures do."""

    parameter_rules = {"n_components": whole(1), "max_iter": whole(1), "random_state": anything("a seed")}

    def __init__(self, n_components=3, *, max_iter=5, random_state=None):
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def _k(self):
        return self.n_components

    def _begin_fit(self, X, constraints, *, n_clusters=None, **checks):
        X, known = super()._begin_fit(X, constraints, **checks)
        if self.n_components > len(X):
            raise ValueError(f"n_components={self.n_components}, but X has n_samples={len(X)} rows.")
        self._require_feasible(known, self.n_components)
        return X, known


class ToyFull(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ToySoft):
    """Has all that a prototype method may have: weights, sparse input, a given or warm start, `transform`."""

    parameter_rules = {
        **ToyHard.parameter_rules,
        "init": one_of("spread") | instance(np.ndarray, "an array of centres"),
        "warm_start": instance(bool, "True or False"),
    }
    monotone = True

    def __init__(self, n_clusters=3, *, init="spread", max_iter=50, warm_start=False, random_state=None):
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @constrained_fit
    def fit(self, X, y=None, *, constraints=None, sample_weight=None):
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **READ)
        dense = X.toarray() if sparse.issparse(X) else X
        weight = check_sample_weight(sample_weight, X)
        weight = np.ones(len(dense)) if weight is None else weight
        centres = self._start(dense, weight)
        labels, self.history_ = None, []
        with progress(self, X, max_steps=self.max_iter) as starts, starts() as step:
            for _ in range(self.max_iter):
                labels, moved = self._reassign(dense, weight, centres, known, labels)
                for h in range(self.n_clusters):
                    if weight[labels == h].sum() > 0:
                        centres[h] = np.average(dense[labels == h], axis=0, weights=weight[labels == h])
                if step(self.history_[-1]) or not moved:
                    break
        self.labels_, _ = self._reassign(dense, weight, centres, known, labels)
        self.cluster_centers_ = centres.astype(X.dtype)
        self._n_features_out = self.n_clusters
        self.n_iter_ = len(self.history_) - 1
        self.objective_ = self.history_[-1]
        self.converged_ = True
        return self

    def _start(self, X, weight):
        if self.warm_start and hasattr(self, "cluster_centers_"):
            return self.cluster_centers_.astype(np.float64)
        if not isinstance(self.init, str):
            return self.init.astype(np.float64)
        return self._spread(X[weight > 0].astype(np.float64), np.average(X, axis=0, weights=weight))

    def _reassign(self, X, weight, centres, known, labels):
        """Better labels, or the old ones where the greedy assignment finds none; and whether they changed."""
        costs = weight[:, None] * self._squares(X, centres)
        found, rows = self._assign(costs, known), np.arange(len(X))
        if labels is not None and costs[rows, labels].sum() <= costs[rows, found].sum():
            found = labels
        self.history_.append(float(costs[rows, found].sum()))
        return found, labels is None or bool((found != labels).any())

    def _read(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **READ)
        return X.toarray() if sparse.issparse(X) else X

    def transform(self, X):
        X = self._read(X)
        return np.sqrt(self._squares(X, self.cluster_centers_)).astype(X.dtype)

    def predict(self, X):
        return self._squares(self._read(X), self.cluster_centers_).argmin(axis=1)

    def score(self, X, y=None, *, sample_weight=None):
        nearest = self._squares(self._read(X), self.cluster_centers_).min(axis=1)
        weight = check_sample_weight(sample_weight, X)
        return -float(nearest.sum() if weight is None else weight @ nearest)


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


class BreaksLabels(BreaksHardPairs):
    constraint_kinds = frozenset({"label"})


class KeepsUnit(ToyHard):
    """Has a threshold in the unit of the data."""

    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        if np.ptp(np.asarray(X, dtype=float)) < 1e-3:
            self.labels_ = np.zeros(len(X), dtype=int)
        return self


class HasNoRule(ToyHard):
    parameter_rules = {"n_clusters": whole(1)}


class SpeaksOfOtherParameters(ToyComponents):
    def _begin_fit(self, X, constraints, **words):
        return ToySoft._begin_fit(self, X, constraints, **words)


class LosesSeed(ToyHard):
    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, constraints=constraints)
        self.labels_ = np.random.default_rng().permutation(self.labels_)
        return self


class GoesByPosition(ToyHard):
    """Forgets the names of the rows before anybody could read them."""

    def fit(self, X, y=None, *, constraints=None):
        return super().fit(np.asarray(X), constraints=constraints)


class KeepsOldRows(ToyHard):
    """In a fold, reports what it was told about other rows."""

    def fit(self, X, y=None, *, constraints=None):
        if constraints is not None and hasattr(constraints, "n_items") and len(X) < 36:
            constraints = Constraints(n_items=len(X))
        return super().fit(X, constraints=constraints)


class Spoilt(ToyFull):
    """Does something wrong after the fit."""

    def fit(self, X, y=None, **kwargs):
        super().fit(X, y, **kwargs)
        self.spoil(X)
        return self


class Float64Centres(Spoilt):
    def spoil(self, X):
        self.cluster_centers_ = self.cluster_centers_.astype(np.float64)


class SparseDiffers(Spoilt):
    def spoil(self, X):
        if sparse.issparse(X):
            self.labels_ = self.labels_[::-1].copy()


class TakesAnyWeight(ToyFull):
    def fit(self, X, y=None, *, constraints=None, sample_weight=None):
        return super().fit(X, y, constraints=constraints)


class WeightHasUnit(ToyFull):
    """Counts the weights of others on top of its own."""

    def fit(self, X, y=None, *, constraints=None, sample_weight=None):
        weight = None if sample_weight is None else np.asarray(sample_weight) + 1.0
        return super().fit(X, y, constraints=constraints, sample_weight=weight)


class WeightOfOneDiffers(ToyFull):
    def fit(self, X, y=None, *, constraints=None, sample_weight=None):
        super().fit(X, y, constraints=constraints, sample_weight=sample_weight)
        if sample_weight is not None:
            self.labels_ = (self.labels_ + 1) % self.n_clusters
        return self


class CountsThreads(Spoilt):
    """Its last label depends on the number of threads."""

    def spoil(self, X):
        threads = max(library["num_threads"] for library in threadpool_info())
        self.labels_ = self.labels_.copy()
        self.labels_[-1] = threads % self.n_clusters


class RisingHistory(Spoilt):
    def spoil(self, X):
        self.history_ = [0.9 * self.objective_, self.objective_]


class OtherObjective(Spoilt):
    def spoil(self, X):
        self.objective_ *= 2


class LosesConstraintsInPipelines(ToyFull):
    def fit(self, X, y=None, *, constraints=None, sample_weight=None):
        in_pipeline = any(frame.function == "fit_predict" for frame in inspect.stack()[1:])
        if in_pipeline and sklearn.get_config()["enable_metadata_routing"]:
            constraints = None
        return super().fit(X, y, constraints=constraints, sample_weight=sample_weight)


class FitPredictDiffers(ToyFull):
    def fit_predict(self, X, y=None, **kwargs):
        return super().fit_predict(X, y, **kwargs)[::-1]


class PredictsAnew(ToyFull):
    def predict(self, X):
        return (super().predict(X) + 1) % self.n_clusters


class StopsBeforeTheLastAssignment(Spoilt):
    def spoil(self, X):
        if self.max_iter == 1:
            self.labels_ = np.zeros(len(self.labels_), dtype=int)


class TransformsToOneColumn(ToyFull):
    def transform(self, X):
        return super().transform(X)[:, :1]


class MisnamesOutput(ToyFull):
    def get_feature_names_out(self, input_features=None):
        return np.array(["same"] * self.n_clusters, dtype=object)


class FitTransformDiffers(ToyFull):
    def fit_transform(self, X, y=None, **kwargs):
        return 2 * super().fit_transform(X, y, **kwargs)


class StartsCold(Spoilt):
    """Numbers the clusters by the seed, warm start or not."""

    def spoil(self, X):
        self.labels_ = np.random.default_rng(self.random_state).permutation(self.n_clusters)[self.labels_]


class ScoresWithoutWeights(ToyFull):
    def score(self, X, y=None):
        return super().score(X)


class RaisesForContradictions(ToyGuided):
    """Says that it obeys nothing, yet insists."""

    def fit(self, X, y=None, *, constraints=None):
        if isinstance(constraints, Constraints):
            self._insist(constraints)
        return super().fit(X, constraints=constraints)

    def _insist(self, known):
        if known.check(self.n_clusters).certificate is not None:
            raise InfeasibleConstraintsError("no")


class GoesByOrder(Spoilt):
    """The first item is always right."""

    def spoil(self, X):
        self.cluster_centers_[0] += 1e-3 * (self._read(X)[0] - self.cluster_centers_[0])


class NumbersAnew(Spoilt):
    """Sorts its clusters, whatever the start."""

    def spoil(self, X):
        order = np.argsort(self.cluster_centers_[:, 0])
        self.cluster_centers_ = self.cluster_centers_[order]
        self.labels_ = np.argsort(order)[self.labels_]


class WritesStart(ToyFull):
    def _start(self, X, weight):
        if not isinstance(self.init, str):
            self.init += 1.0
        return super()._start(X, weight)


class KeepsOrigin(Spoilt):
    """Pulls its centres to zero."""

    def spoil(self, X):
        self.cluster_centers_ *= 0.99


class ObjectiveWithoutUnit(Spoilt):
    def spoil(self, X):
        self.objective_ += 1.0


class ReadsMemory(Spoilt):
    def spoil(self, X):
        if not sparse.issparse(X) and not np.asarray(X).flags.c_contiguous:
            self.labels_ = self.labels_[::-1].copy()


class Float32Differs(Spoilt):
    def spoil(self, X):
        if X.dtype == np.float32:
            self.objective_ *= 1.1


class WeighsNoConstrained(ToyFull):
    """Forgets the weights of items that constraints name."""

    def fit(self, X, y=None, *, constraints=None, sample_weight=None):
        if sample_weight is not None and isinstance(constraints, Constraints):
            sample_weight = np.array(np.broadcast_to(sample_weight, X.shape[0]), dtype=float)
            sample_weight[constraints.constrained_items] = 1.0
        return super().fit(X, y, constraints=constraints, sample_weight=sample_weight)


class StartsAside(ToyFull):
    """A warm start is a little off, and no step is left."""

    def fit(self, X, y=None, **kwargs):
        warm = self.warm_start and hasattr(self, "cluster_centers_")
        super().fit(X, y, **kwargs)
        self.cluster_centers_ *= 1.001 if warm else 1.0
        return self


class NeverTheSame(Spoilt):
    """Labels agree from one seed, and the centres nearly do."""

    def spoil(self, X):
        self.cluster_centers_ += np.random.default_rng().normal(scale=1e-9)
