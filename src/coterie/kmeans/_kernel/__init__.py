"""Kernel k-means: similarities, starts, moves, means."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.kmeans._kernel.search import Descent, KernelLabels
    from coterie.kmeans._kernel.similarities import contracted

__all__, __getattr__, __dir__ = attach(__name__)
