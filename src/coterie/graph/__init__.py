"""Clusters of graphs: items known by who is near to whom."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.graph._balanced_cut import BalancedCut
    from coterie.graph._cluster_editing import ClusterEditing
    from coterie.graph._connected_functions import (
        check_connected,
        make_disjoint,
        overlapping_k_center,
        reaching_distance,
    )
    from coterie.graph._connected_kcenter import ConnectedKCenter
    from coterie.graph._connected_kmeans import ConnectedKMeans
    from coterie.graph._consensus_clustering import ConsensusClustering
    from coterie.graph._correlation_clustering import CorrelationClustering
    from coterie.graph._correlation_functions import correlation_cost, correlation_lp, triple_packing_bound
    from coterie.graph._correlation_helpers import (
        location_area_weights,
        log_odds_weights,
        repair_constraints,
    )
    from coterie.graph._emc import EMC
    from coterie.graph._field.adjustment import AdjustedGraph, adjust_weights
    from coterie.graph._field.disjoint_paths import ksd_paths
    from coterie.graph._field.hubs import HubDistances, hub_distances
    from coterie.graph._field.lengths import knn_graph
    from coterie.graph._pair_weights import LearnedPairWeights

__all__, __getattr__, __dir__ = attach(__name__)
