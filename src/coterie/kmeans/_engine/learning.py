"""What methods that learn a metric share: where soft pairs act, the loop, and the fitted metric."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._arrays import Floats
from coterie.assign._core import CoreSolver
from coterie.base import Account, Step, instance, one_of, real
from coterie.constraints import Constraints
from coterie.constraints._model import StatedPairs, stated_pairs
from coterie.kmeans._engine.loop import LoopOutcome
from coterie.kmeans._engine.metric_loop import LearnedOutcome, MetricLoop
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import CentreStarts, RandomState
from coterie.kmeans._prices.by_distance import PricedPairs

LEARNING_RULES = {
    **{name: rule for name, rule in SHARED_RULES.items() if name != "metric"},
    "weight": real(0.0),
    "use_pairs": one_of("both", "init", "assign", "none"),
    "init": one_of("mixed", "neighborhoods", "perturb", "k-means++", "random")
    | instance((np.ndarray, list, tuple), "an array of centres"),
}


class LearningClusterer(PrototypeClusterer):
    """Broken pairs cost a distance, and the distance is learned; hard constraints hold."""

    obeys: ClassVar[Literal["all", "hard", "none"]] = "hard"
    _fixed_price: ClassVar[bool] = False

    weight: float
    learn: str
    use_pairs: str
    metric_: Any

    # ---- what a subclass says -------------------------------------------------------------------------

    @abstractmethod
    def _make(self, X: Any, weight: Floats | None) -> Any:
        """The distortion, before anything is learned."""

    def _priced(self, known: Constraints, pairs: StatedPairs, distortion: Any, rng: RandomState) -> Any:
        """What labels the core, for the soft pairs that act on the labels."""
        return PricedPairs(known, pairs, self.weight_, self.n_clusters, rng, distortion)

    # ---- fit ------------------------------------------------------------------------------------------

    def _measure(self, X: Any, weight: Floats | None = None) -> Any:
        distortion = self._make(X, weight)
        if "_fitting" not in self.__dict__:
            distortion.use(self.metric_)
            distortion.check_values()
        return distortion

    def _known_at_start(self, known: Constraints) -> Constraints:
        return known if self.use_pairs in ("both", "init") else known.only_hard()

    def _solver(self, known: Constraints, distortion: Any, rng: RandomState) -> CoreSolver | None:
        self.weight_ = float(self.weight)
        if self.use_pairs in ("init", "none") or not self.weight_:
            known = known.only_hard()
        pairs = stated_pairs(known)
        if not len(pairs.ij) and not known.only_hard():
            return None
        distortion.begin(self.n_clusters)
        return self._priced(known, pairs, distortion, rng)

    def _loop(self, known: Constraints, distortion: Any, rng: RandomState) -> MetricLoop:
        solver = self._solver(known, distortion, rng)
        return MetricLoop(distortion, solver, self.n_clusters, learning=self.learn != "none")

    def _best_of(
        self, X: Any, loop: Any, n_starts: int, begin: Iterator[Floats], finish: Any = None
    ) -> LoopOutcome:
        if n_starts == 1 or not loop.learning or loop.distortion.closed:
            return super()._best_of(X, loop, n_starts, begin)
        # Where a metric creeps along a slope, the start that creeps longest has the least objective, not the
        # best clusters: starts compete before anything is learned.
        loop.learning = False

        def learn(best: LoopOutcome, step: Step) -> LoopOutcome:
            loop.learning = True
            return loop.run(best.centres, max_iter=self.max_iter, tol=self.tol, step=step)

        return super()._best_of(X, loop, n_starts, begin, learn)

    def _starts(self, starts: CentreStarts, loop: Any) -> Iterator[Floats]:
        starts.avoid_cannot_linked = True
        return super()._starts(starts, loop)

    def _keep(self, best: LoopOutcome, X: Any) -> None:
        assert isinstance(best, LearnedOutcome)
        super()._keep(best, X)
        self.metric_ = best.metric  # float64: one over a square leaves the range of float32 first
        self.objective_parts_ = best.parts
        self.regularized_ = best.regularized

    # ---- after it -------------------------------------------------------------------------------------

    def account(self) -> Account:
        """As for every prototype, with what each feature counts; see `ConstrainedClusterMixin.account`."""
        by_feature = self.learn != "none" and np.shape(self.metric_) == (self.n_features_in_,)
        return replace(super().account(), feature_weights=self.metric_ if by_feature else None)

    def transform(self, X: Any) -> Any:
        """Distance of each row to each centre, under the learned metric; the least is that of `predict`.

        With squared distances it is not squared. With a metric for each cluster its square also counts by how
        much the log-determinant is below the largest one, as the objective does.

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
        distances = self._measure(X).distances_to(self.cluster_centers_.astype(np.float64))
        return np.asarray(distances).astype(X.dtype, copy=False)
