"""Graphs over items, of whatever library, as one sparse matrix: who is whose neighbour, or what pairs weigh.

Everyone keeps a graph in another form: a SciPy matrix, a NetworkX or igraph graph, a table of edges, a list
of pairs. `read_graph` and `read_weights` take them all by the same code. Neither NetworkX nor igraph is
imported: who hands one in has it. Nothing is added to a graph: items without an edge stay without.
"""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.adjacency._edge_list import end_columns, find_column
    from coterie.adjacency._read_graph import graph_of_ends, inner_edges, islands, pieces, read_graph
    from coterie.adjacency._read_weights import read_weights

__all__, __getattr__, __dir__ = attach(__name__)
