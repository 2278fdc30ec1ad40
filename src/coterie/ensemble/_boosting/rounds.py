"""The rounds: rows projected by what is still broken, the base run there, its partition weighed and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._arrays import Floats, Labels
from coterie.ensemble._boosting.base_clusterer import BaseClusterer
from coterie.ensemble._boosting.consensus import Consensus, find_final
from coterie.ensemble._boosting.pair_loss import PairLoss
from coterie.ensemble._boosting.projection import Scatter, projected


class BoostingRounds:
    """The rounds that pairs lead to; `settings` is the `BoostCluster` that lists them."""

    def __init__(self, settings: Any, X: Any, base: BaseClusterer, loss: PairLoss) -> None:
        self._settings, self._X, self._base, self._loss = settings, X, base, loss
        self._scatter = Scatter(
            X,
            loss.items,
            center=settings.center or loss.missing != 0,
            difference=settings.scatter == "difference",
            spread=-loss.missing,
        )
        self.consensus = Consensus(X.shape[0])
        self.bases: list[Any] = []  # None: it has no predict
        self.projections: list[Floats] = []
        self.history = [loss.value]

    def run(self, stops: Callable[[float], bool] = lambda loss: False) -> str:
        """Make the rounds; the reason why they ended."""
        for _ in range(self._settings.n_rounds):
            P = self._scatter.directions(self._loss.discrepancy(), self._settings.n_components)
            if P is None:
                return "no_positive_eigenvalue"
            found = self._round(projected(self._X, self._scatter.middle, P))
            if found is None:
                return "no_edge"
            labels, weight = found
            self._loss.add(labels, weight)
            self.consensus.add(labels, weight)
            self._share_labels(labels)
            self.projections.append(P)
            self.history.append(self._loss.value)
            if stops(self._loss.value):
                return "stopped"
            if not self._loss.n_broken(labels):
                return "all_satisfied"
        return "max_rounds"

    def _share_labels(self, labels: Labels) -> None:
        """Let the base that is kept have its labels where the kernel has them, in a byte an item."""
        kept = self.bases[-1]
        own: Any = getattr(kept, "__dict__", {}).get("labels_")
        if own is not None and np.array_equal(own, labels):
            kept.labels_ = self.consensus.partitions[-1]

    def _round(self, rows: Any) -> Any:
        """A partition and its weight; None: the base finds none that lowers the loss."""
        for _ in range(1 + self._settings.n_retries):
            model = self._base.made()
            labels = self._base.labels(model, rows, f"the rows of round {len(self.projections) + 1}")
            shares = self._loss.shares(labels)
            if shares.edge > 0:
                self.bases.append(model if hasattr(model, "predict") else None)
                if self._settings.round_weight == "bound":
                    return labels, shares.cautious_weight
                least, smoothing = self._loss.least_smoothing, self._settings.smoothing
                return labels, shares.best_weight(least if smoothing == "auto" else float(smoothing), least)
        return None

    def end(self) -> tuple[Any, Any]:
        """Labels of all rounds together, and what predicts those of new rows (None: nothing does)."""
        embedded = self._settings.final == "embedding"
        n_components = self._settings.n_components + 1 if embedded else None
        labels, last = find_final(self.consensus, self._base, n_components)
        can_predict = last is not None
        rounds = range(len(self.bases))
        if self._settings.final == "select":
            broken = [self._loss.share_broken(one) for one in self.consensus.partitions]
            best = int(np.argmin(broken))
            if broken[best] < self._loss.share_broken(labels):
                labels, last, can_predict = self.consensus.partitions[best], None, True
                rounds = range(best, best + 1)
        if None in self.bases or not can_predict:
            return labels, None
        ways = [(self.projections[number], self.bases[number]) for number in rounds]
        return labels, AllRounds(self._scatter.middle, ways, self.consensus, last)


@dataclass(frozen=True, eq=False)
class AllRounds:
    """What the bases say of new rows in their projections, put together."""

    middle: Floats
    ways: list[tuple[Floats, Any]]
    consensus: Consensus
    last: Any  # predicts from rows of the kernel; None: one base alone says it

    def predict(self, X: Any) -> Any:
        """The clusters of new rows."""
        found = [model.predict(projected(X, self.middle, P)) for P, model in self.ways]
        return found[0] if self.last is None else self.last.predict(self.consensus.rows(found))
