"""Coterie: clusters that respect what you know.

Names are loaded when they are first used (PEP 562), so `import coterie` is instant and
checking constraints does not import scikit-learn.
"""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie import (
        adjacency,
        assign,
        base,
        comparison,
        constraints,
        datasets,
        distance,
        distortion,
        ensemble,
        exceptions,
        graph,
        hierarchy,
        kmeans,
        methods,
        metrics,
        mixture,
        report,
        semisupervised,
        tables,
        testing,
    )
    from coterie.comparison import choose_k, compare
    from coterie.constraints import Constraints
    from coterie.distance import RCA, CannotLinkMetric, XingMetric
    from coterie.ensemble import BoostCluster, SpectralLearning
    from coterie.exceptions import InfeasibleConstraintsError
    from coterie.graph import (
        EMC,
        BalancedCut,
        ClusterEditing,
        ConnectedKCenter,
        ConnectedKMeans,
        ConsensusClustering,
        CorrelationClustering,
        LearnedPairWeights,
    )
    from coterie.hierarchy import ConstrainedLinkage, COPCobweb
    from coterie.kmeans import (
        BalancedKMeans,
        ConstrainedSeedKMeans,
        COPKMeans,
        CVQEKMeans,
        FrequencySensitiveKMeans,
        HMRFKMeans,
        KernelPCKMeans,
        KMedoids,
        MPCKMeans,
        OnlineBalancedKMeans,
        PCKMeans,
        SeededKMeans,
        SizeConstrainedBisection,
        SizeConstrainedKMeans,
        SizeConstrainedKMedians,
    )
    from coterie.mixture import (
        ConstrainedGaussianMixture,
        MeanFieldMixture,
        PairwiseClustering,
        PenalizedGaussianMixture,
    )
    from coterie.relational import EntityResolver
    from coterie.semisupervised import PairwiseLogisticRegression, PairwiseSVC

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = attach(__name__)
