"""Rows, and how well a centre stands for them."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.distortion._base import DISTORTIONS, Distortion, distortion_named, refuse_zeros
    from coterie.distortion._cosine import Cosine, WeightedCosine
    from coterie.distortion._idivergence import IDivergence
    from coterie.distortion._learned import BrokenPairs
    from coterie.distortion._mahalanobis import Mahalanobis, MahalanobisByCluster
    from coterie.distortion._manhattan import Manhattan
    from coterie.distortion._sqeuclidean import SquaredEuclidean

__all__, __getattr__, __dir__ = attach(__name__)
