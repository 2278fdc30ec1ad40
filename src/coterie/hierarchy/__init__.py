"""Trees of clusters that obey: agglomerative linkage, and COBWEB."""

from coterie.hierarchy._blocked import Block, Blocked
from coterie.hierarchy._cobweb import COPCobweb
from coterie.hierarchy._linkage import ConstrainedLinkage
from coterie.hierarchy._plot import plot_dendrogram

__all__ = ["Block", "Blocked", "COPCobweb", "ConstrainedLinkage", "plot_dendrogram"]
