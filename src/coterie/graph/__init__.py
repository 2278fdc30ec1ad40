"""Clusters of graphs: items known by who is near to whom."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.graph._balanced_cut import BalancedCut
    from coterie.graph._correlation_clustering import CorrelationClustering
    from coterie.graph._correlation_functions import correlation_cost, correlation_lp, triple_packing_bound

__all__, __getattr__, __dir__ = attach(__name__)
