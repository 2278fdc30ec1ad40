"""Can it be met? Colouring, exact search, conflicts as sentences, what to drop."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.constraints._feasible.colouring import core_edges, pairs_across
    from coterie.constraints._feasible.feasible import peel_to_core

__all__, __getattr__, __dir__ = attach(__name__)
