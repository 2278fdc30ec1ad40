"""Mixtures that take constraints: components with probabilities, for items and for pairs."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.mixture._constrained_gaussian import ConstrainedGaussianMixture
    from coterie.mixture._emissions.emission import Emission
    from coterie.mixture._emissions.von_mises_fisher import VonMisesFisher
    from coterie.mixture._mean_field_mixture import MeanFieldMixture
    from coterie.mixture._pairwise_clustering import PairwiseClustering
    from coterie.mixture._penalized_gaussian import PenalizedGaussianMixture

__all__, __getattr__, __dir__ = attach(__name__)
