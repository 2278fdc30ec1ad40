"""How constraints are stored, closed, combined and counted."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.constraints._model.algebra import entailed
    from coterie.constraints._model.closure import (
        find_components,
        join,
        label_chains,
        shortest_tree,
        sparse_graph,
        units_of,
    )
    from coterie.constraints._model.pair_by_pair import MOST_GROUP_PAIRS, StatedPairs, stated_pairs
    from coterie.constraints._model.statements import (
        NO_PAIRS,
        SOURCE_SEPARATOR,
        BoolArray,
        FloatArray,
        IntArray,
        find_rows,
        log_odds,
        sorted_names,
    )

__all__, __getattr__, __dir__ = attach(__name__)
