"""Labels where a broken pair has a price."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.assign._pairs.soft_pairs import SoftSolver
    from coterie.assign._pairs.terms import NO_COUPLING, Closure, Energy

__all__, __getattr__, __dir__ = attach(__name__)
