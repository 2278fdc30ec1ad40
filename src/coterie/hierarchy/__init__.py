"""Trees of clusters that obey: agglomerative linkage, and COBWEB."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.hierarchy._constrained_linkage import ConstrainedLinkage
    from coterie.hierarchy._cop_cobweb import COPCobweb
    from coterie.hierarchy._linkage.blocked import Block, Blocked
    from coterie.hierarchy._plot import plot_dendrogram

__all__, __getattr__, __dir__ = attach(__name__)
