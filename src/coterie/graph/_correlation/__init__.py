"""Correlation clustering: signed graphs, the search, programs and roundings."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.graph._correlation.search import improve_partition

__all__, __getattr__, __dir__ = attach(__name__)
