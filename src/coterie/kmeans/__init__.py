"""K-means and its constrained relatives, on one loop; and k-medoids."""

from coterie.kmeans._copkmeans import COPKMeans
from coterie.kmeans._cvqe import CVQEKMeans
from coterie.kmeans._hmrf import HMRFKMeans
from coterie.kmeans._kernel_pckmeans import KernelPCKMeans
from coterie.kmeans._kmedoids import KMedoids
from coterie.kmeans._mpckmeans import MPCKMeans
from coterie.kmeans._pckmeans import PCKMeans
from coterie.kmeans._seeded import ConstrainedSeedKMeans, SeededKMeans
from coterie.kmeans._size_constrained import SizeConstrainedKMeans
from coterie.kmeans._size_constrained_medians import SizeConstrainedKMedians

__all__ = [
    "COPKMeans",
    "CVQEKMeans",
    "ConstrainedSeedKMeans",
    "HMRFKMeans",
    "KMedoids",
    "KernelPCKMeans",
    "MPCKMeans",
    "PCKMeans",
    "SeededKMeans",
    "SizeConstrainedKMeans",
    "SizeConstrainedKMedians",
]
