"""The margin between items that are known to differ: which they are, and the dual program that widens it."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.distance._margin.apart import KnownApart
    from coterie.distance._margin.widest import Margin, Space, WorkingPairs, widest_margin

__all__, __getattr__, __dir__ = attach(__name__)
