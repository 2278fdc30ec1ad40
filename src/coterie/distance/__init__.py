"""Distances learned from constraints: they change the space, and any method works in it."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.distance._cannot_link_metric import CannotLinkMetric
    from coterie.distance._learned_distance import LearnedDistance
    from coterie.distance._rca import RCA
    from coterie.distance._xing_metric import XingMetric

__all__, __getattr__, __dir__ = attach(__name__)
