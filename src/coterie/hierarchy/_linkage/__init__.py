"""Merging under vetoes: a matrix, edges, neighbours or a k-d tree."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.hierarchy._linkage.greedy import apart, find, merge_edges, unite
    from coterie.hierarchy._linkage.islands import check_links_on_map
    from coterie.hierarchy._linkage.state import Vetoes, room_for_merges
    from coterie.hierarchy._linkage.vetoes import Rules, find_rules

__all__, __getattr__, __dir__ = attach(__name__)
