"""Who is who: records that mean the same person or thing, found by what they say and by their links."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.relational._blocking import CanopyBlocking, KeyBlocking, SortedNeighbourhood
    from coterie.relational._entity_resolver import EntityResolver

__all__, __getattr__, __dir__ = attach(__name__)
