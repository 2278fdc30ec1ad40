"""What works around other clusterers: boosting any of them, and clustering the eigenvectors of a graph."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.ensemble._boost_cluster import BoostCluster
    from coterie.ensemble._spectral_learning import SpectralLearning

__all__, __getattr__, __dir__ = attach(__name__)
