"""The cheapest labels whose sizes fit: a transport of items to clusters, by shortest paths."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.assign._transport.candidates import sift_down
    from coterie.assign._transport.limits import NO_KINDS, Limits, spread_missed
    from coterie.assign._transport.shortlists import Shortlists, at_labels
    from coterie.assign._transport.transport import BoundedLabels, InfeasibleFlowError, Transport

__all__, __getattr__, __dir__ = attach(__name__)
