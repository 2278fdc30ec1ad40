"""Labels where every pair holds."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.assign._hard.hard_pairs import HardSolver

__all__, __getattr__, __dir__ = attach(__name__)
