"""Mixtures that take statements: components with probabilities, for items and for pairs."""

from coterie.mixture._constrained import ConstrainedGaussianMixture
from coterie.mixture._emission import Emission
from coterie.mixture._mean_field_mixture import MeanFieldMixture
from coterie.mixture._pairwise import PairwiseClustering
from coterie.mixture._penalized import PenalizedGaussianMixture

__all__ = [
    "ConstrainedGaussianMixture",
    "Emission",
    "MeanFieldMixture",
    "PairwiseClustering",
    "PenalizedGaussianMixture",
]
