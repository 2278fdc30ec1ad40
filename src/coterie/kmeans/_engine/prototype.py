"""What the k-means family shares: reading the input, the starts, and what a fitted model can do."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._arrays import Floats
from coterie._compiled import one_blas_thread
from coterie.assign._core import CoreSolver
from coterie.base import (
    AUTO_STARTS,
    CHECKS_OF_ROWS,
    SEARCH_RULES,
    Account,
    ConstrainedClusterMixin,
    Step,
    best_of_starts,
    check_sample_weight,
    clearly_less,
    constrained_fit,
    objective_words,
    one_of,
    real,
    warn_of_empty_clusters,
    whole,
)
from coterie.constraints import Constraints
from coterie.distortion import DISTORTIONS, Distortion, distortion_named
from coterie.distortion._rows import canonical
from coterie.exceptions import ParameterError
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop
from coterie.kmeans._engine.starts import CentreStarts, RandomState

SHARED_RULES = {
    **SEARCH_RULES,
    "n_clusters": whole(1),
    "tol": real(0.0),
    "metric": one_of(*DISTORTIONS),
    "warm_start": one_of(True, False),
}


class PrototypeClusterer(
    ConstrainedClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Clusters stand behind a centre each; subclasses say how the core is solved and where starts begin."""

    # the part of the distortion that the objective counts; None: as the distortion says
    _objective_factor: ClassVar[float | None] = 1.0
    # whether a broken constraint of weight 1 costs the same everywhere
    _fixed_price: ClassVar[bool] = True

    n_clusters: int
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    metric: str
    warm_start: bool
    random_state: Any

    # ---- what a subclass says -------------------------------------------------------------------------

    def _solver(self, known: Constraints, distortion: Distortion, rng: RandomState) -> CoreSolver | None:
        """What labels the constrained items; None if there are none."""
        return None

    def _starts(self, starts: CentreStarts, loop: PrototypeLoop) -> Iterator[Floats]:
        """Centres to start from, without end, by `init`; "mixed" is neighbourhoods and k-means++ by turns."""
        number = 0
        while True:
            if not isinstance(self.init, str):
                yield self._given(self.init, starts.distortion, "init")
            elif self.init == "mixed":
                again = number % 2 or (number and deterministic("neighborhoods", starts))
                yield starts.centres("k-means++" if again else "neighborhoods")
            else:
                yield starts.centres(self.init)
            number += 1

    def _one_start_is_enough(self, starts: CentreStarts) -> bool:
        """Whether every start would begin at the same centres."""
        return deterministic(self.init, starts)

    # ---- fit ------------------------------------------------------------------------------------------

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, sample_weight: Any = None) -> Any:
        """Cluster X, with what is known about its rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The items; float32 stays float32.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What is known; the class says what it makes of it.
        sample_weight : array of shape (n_samples,), optional
            Weights of the items.

        Returns
        -------
        self
        """
        return self._run(X, constraints, sample_weight, self._loop)

    def _loop(self, known: Constraints, distortion: Any, rng: RandomState) -> PrototypeLoop:
        """The loop that every start goes through."""
        return PrototypeLoop(
            distortion,
            self._solver(known, distortion, rng),
            self.n_clusters,
            self._objective_factor_of(distortion),
        )

    def _objective_factor_of(self, distortion: Any) -> float:
        return float(
            distortion.objective_factor if self._objective_factor is None else self._objective_factor
        )

    @property
    def _distortion(self) -> Any:
        """The class that measures how well a centre stands for an item."""
        return distortion_named(self.metric)

    def _measure(self, X: Any, weight: Floats | None = None) -> Any:
        """How well centres stand for the rows of X."""
        return self._distortion(X, weight)

    def _known_at_start(self, known: Constraints) -> Constraints:
        """What the starts may know."""
        return known

    def _run(
        self, X: Any, constraints: Any, sample_weight: Any, make_loop: Callable[..., PrototypeLoop]
    ) -> Any:
        before = getattr(self, "cluster_centers_", None) if self.warm_start else None
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        weight = check_sample_weight(sample_weight, X)
        self._weighted = weight is not None
        rng = check_random_state(self.random_state)
        with one_blas_thread():
            distortion = self._measure(X, weight)
            distortion.check_range()
            loop = make_loop(known, distortion, rng)
            starts = CentreStarts(distortion.plain, self._known_at_start(known), self.n_clusters, rng)
            if before is not None:
                given = self._given(before, distortion.plain, "the centres of the last fit")
                n_starts, begin = 1, iter([given])
            else:
                n_starts, begin = self.n_init, self._starts(starts, loop)
                if n_starts == "auto":
                    n_starts = 1 if self._one_start_is_enough(starts) else AUTO_STARTS
            best = self._best_of(X, loop, n_starts, begin)
        self._number(best, known)
        self._keep(best, X)
        return self

    def _best_of(
        self, X: Any, loop: PrototypeLoop, n_starts: int, begin: Iterator[Floats], finish: Any = None
    ) -> LoopOutcome:
        """Run the starts; the one of the least objective. `finish` goes on from there."""

        def run(number: int, step: Step) -> LoopOutcome:
            return loop.run(next(begin), max_iter=self.max_iter, tol=self.tol, step=step)

        def better(new: LoopOutcome, old: LoopOutcome) -> bool:
            if new.shortfall != old.shortfall:
                return new.shortfall < old.shortfall
            return clearly_less(new.objective, old.objective)

        steps = {"n_starts": n_starts, "max_steps": self.max_iter}
        best, n_failed = best_of_starts(self, X, run, **steps, better=better, finish=finish)
        best.n_failed = n_failed
        return best

    def _number(self, best: LoopOutcome, known: Constraints) -> None:
        """Number the clusters by the labels that are known."""
        best.follow_labels(known, self.n_clusters)

    def _keep(self, best: LoopOutcome, X: Any) -> None:
        self.labels_ = best.labels
        self.cluster_centers_ = best.centres.astype(X.dtype)
        self.inertia_ = best.inertia
        self.objective_ = best.objective
        self.history_ = np.array(best.history)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self._n_features_out = self.n_clusters
        warn_of_empty_clusters(best.labels, self.n_clusters)

    def _given(self, centres: Any, distortion: Distortion, name: str) -> Floats:
        """Centres that the user gave, checked."""
        if np.ndim(centres) != 2:
            raise ParameterError(f"{name} must be a table of numbers, one row for each cluster.", name)
        given = check_array(centres, dtype=np.float64, input_name=name, copy=True)
        wanted = self.n_clusters, distortion.points.d
        if given.shape != wanted:
            raise ValueError(
                f"{name} has shape {given.shape}, but n_clusters={wanted[0]} centres of {wanted[1]} features "
                "are needed."
            )
        return distortion.validated_centres(given)

    # ---- after it -------------------------------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "cluster_centers_")
        return canonical(validate_data(self, X, reset=False, **CHECKS_OF_ROWS))

    def predict(self, X: Any) -> Any:
        """Nearest centre of each row; constraints speak of the training items only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New items.

        Returns
        -------
        labels : array of shape (n_samples,)
            The cluster of each.
        """
        return self._measure(self._checked(X)).nearest(self.cluster_centers_.astype(np.float64))

    def transform(self, X: Any) -> Any:
        """Distance of each row to each centre: Euclidean, one minus the cosine, or (k-medians) absolute.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Items.

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
            In the dtype of X.
        """
        X = self._checked(X)
        return self._distortion.distances(X, self.cluster_centers_.astype(X.dtype, copy=False))

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Minus the distortion of X with its nearest centres.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the items may be new ones.

        Returns
        -------
        score : float
            The larger, the better.
        """
        X = self._checked(X)
        weight = check_sample_weight(sample_weight, X)
        distortion = self._measure(X, weight)
        centres = distortion.validated_centres(self.cluster_centers_.astype(np.float64))
        return -float(distortion.cost_to_assigned(distortion.nearest(centres), centres).sum())

    def account(self) -> Account:
        """What was measured and what it costs, by the distortion; see `ConstrainedClusterMixin.account`."""
        found, kind = super().account(), self._distortion
        price = replace(
            found.price,
            power=2.0 if kind.unit == "squared distance" else 1.0,
            objective_factor=self._objective_factor_of(kind),
            statement=found.price.statement if self._fixed_price else None,
        )
        message = objective_words(self, kind.counted, price.statement is not None or not self._fixed_price)

        def cost(X: Any, labels: Any, weight: Floats | None) -> float:
            return float(kind(X, weight).plain.clustering_cost(labels, int(labels.max(initial=0)) + 1))

        return replace(
            found,
            measure=kind.unit,
            cost=cost if kind.compares else None,
            price=price,
            trace=None if found.trace is None else replace(found.trace, text=message),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def deterministic(how: Any, starts: CentreStarts) -> bool:
    """Whether a way to start always gives the same centres."""
    return not isinstance(how, str) or (how == "neighborhoods" and starts.n_neighbourhoods() >= starts.k)
