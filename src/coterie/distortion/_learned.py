"""What a distortion that learns a metric has beside the others, where nothing is special about it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from coterie._arrays import Floats, Index
from coterie.distortion._rows.pair_distances import squared_gaps


class Learned:
    """Mixin of distortions under a metric; stands left of the distortion itself.

    A class says `begin` (the metric that every start begins with), `use` (put one in place), how far pairs
    are apart (`embedded`: rows in a space where that is a squared distance, which the closure of pairs asks
    for; or `gaps` itself) and could be (`ceiling`), and how it learns: `learn`, the best metric at once
    (`closed`), or `step_from`, the metric after a part of a step.
    """

    # a metric for each cluster; the best one in closed form; rows are scaled by the metric; a step is halved
    # until the objective does not rise
    by_cluster: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    rescales: ClassVar[bool] = False
    backtracks: bool = True
    # directions at a limit
    regularized: int = 0

    points: Any
    metric: Any

    def check_values(self) -> None:
        """Raise for new rows that have no such distortion."""
        return

    def pair_rows(self, items: Index) -> Any:
        """Some rows as `embedded` and `gaps` take them."""
        return self.points.X[items].astype(np.float64)

    def gaps(self, rows: Any, i: Index, j: Index) -> Floats:
        """How far pairs of rows are apart."""
        return squared_gaps(self.embedded(rows), i, j)  # type: ignore[attr-defined]

    def held_back(self) -> float:
        """What a prior on the metric costs."""
        return 0.0

    def split(self, sums: Floats, masses: Floats, centres: Floats) -> tuple[float, float]:
        """The distortion of all items, and what the metric itself costs."""
        return self.value(sums, masses, centres), 0.0  # type: ignore[attr-defined]

    def after_step(self) -> None:
        """Get ready for the next step."""
        return
