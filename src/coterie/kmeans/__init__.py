"""K-means and its constrained relatives, on one loop; and k-medoids."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.kmeans._balanced.balanced_kmeans import BalancedKMeans
    from coterie.kmeans._balanced.frequency_sensitive import FrequencySensitiveKMeans
    from coterie.kmeans._balanced.online_balanced import OnlineBalancedKMeans
    from coterie.kmeans._balanced.sample_size import sample_size
    from coterie.kmeans._balanced.size_constrained_bisection import SizeConstrainedBisection
    from coterie.kmeans._copkmeans import COPKMeans
    from coterie.kmeans._cvqe_kmeans import CVQEKMeans
    from coterie.kmeans._hmrf_kmeans import HMRFKMeans
    from coterie.kmeans._kernel_pckmeans import KernelPCKMeans
    from coterie.kmeans._kmedoids import KMedoids
    from coterie.kmeans._mpckmeans import MPCKMeans
    from coterie.kmeans._pckmeans import PCKMeans
    from coterie.kmeans._seeded_kmeans import ConstrainedSeedKMeans, SeededKMeans
    from coterie.kmeans._size_constrained_kmeans import SizeConstrainedKMeans
    from coterie.kmeans._size_constrained_kmedians import SizeConstrainedKMedians

__all__, __getattr__, __dir__ = attach(__name__)
