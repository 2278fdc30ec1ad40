"""The interface of a solver: what the prototype loop asks of whoever labels the units of its core."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core.core import Core

# Costs of some items in each cluster.
Scores = Callable[[Index], Floats]


class CoreSolver(ABC):
    """Labels the units of the core, one start after the other; by default nothing stated is broken."""

    core: Core
    # whether a pass may cost more than the one before, so that the best must be remembered
    may_rise = False

    @abstractmethod
    def assign(self, cost: Floats, labels: Labels | None, scores: Scores, last: bool) -> Labels:
        """Labels for these costs, from those before (None: the start begins); more follows but if `last`."""

    def penalty(self, labels: Labels) -> float:
        """What broken constraints add to the objective."""
        return 0.0

    def final_penalty(self, labels: Labels) -> float:
        """The same of the labels of all items, counted by its definition."""
        return 0.0

    def coupling_cost(self, labels: Labels) -> Floats:
        """What each unit pays for sharing its cluster; negative where it gains."""
        return np.zeros(len(labels))

    def reprice(self, centres: Floats) -> None:
        """Take note of new centres, or of a new metric; `penalty` and `assign` come after it."""
        return

    def centre_contributions(self, labels: Labels, centres: Floats) -> tuple[Floats, Floats] | None:
        """Sums and masses by cluster with which broken constraints pull at the centres."""
        return None
