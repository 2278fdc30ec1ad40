"""Graphs over items, of whatever library, as one sparse matrix: which items are neighbours.

`connectivity` is a parameter of several methods, and everyone keeps a graph in another form: a SciPy
matrix, a NetworkX or igraph graph, a table of edges, a list of pairs. `read_graph` takes them all and
answers in one form. Neither NetworkX nor igraph is imported: who hands one in has it. Nothing is added to
the graph: items without an edge stay without. Time and memory are linear in the number of edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.constraints._model import IntArray
from coterie.constraints._reading import Ids, frame_columns, is_missing, whole_number

__all__ = ["islands", "read_graph"]

_COLUMNS = (("i", "j"), ("source", "target"))
_OWN_IDS = (
    "If these are your own ids, turn the graph into row numbers with "
    "coterie.adjacency.read_graph(graph, n_items, ids=ids) and pass what it returns"
)


def read_graph(graph: Any, n_items: int, *, ids: Any = None, X: Any = None) -> Any:
    """Read a graph over n items, in any of the usual forms.

    Edges have no direction: either way counts. Weights of edges are ignored. An edge of an item with itself
    says nothing and is left out.

    Parameters
    ----------
    graph : sparse matrix, array, list of pairs, data frame, NetworkX graph, igraph graph or function
        - SciPy sparse of shape (n, n): each stored entry is an edge, whatever its value (but a stored `False`
          is none).
        - Dense array of shape (n, n): each entry that is not zero is an edge.
        - Array of shape (m, 2), or a list of pairs: one edge a row. (With two items, shape (2, 2) is read as
          the matrix.)
        - Data frame of any library: one edge a row, in the columns `i` and `j`, or `source` and `target`, or
          in the only two columns there are.
        - NetworkX graph of any kind: its nodes are row numbers, or ids where `ids` is given. Items that are
          no node have no edge.
        - igraph graph: its vertices are numbered like the rows. Where `ids` is given and the vertices have a
          "name", the names are ids.
        - A function of `X` that returns one of these, such as
          `functools.partial(sklearn.neighbors.kneighbors_graph, n_neighbors=5)`. (A lambda cannot be pickled,
          nor a model that was given one.)
    n_items : int
        Number of items.
    ids : sequence of length n_items, optional
        Your own name of each item, in row order. Pairs, frames and nodes then hold these names; matrices are
        by row in any case.
    X : array-like, optional
        The data that a function is called with.

    Returns
    -------
    csr_array of shape (n_items, n_items)
        True at each pair of neighbours. Symmetric, indices sorted, nothing on the diagonal.

    See Also
    --------
    islands : The parts of a graph that no way joins.

    Examples
    --------
    >>> from coterie.adjacency import read_graph
    >>> read_graph([(0, 1), (1, 2)], 4).toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 0],
           [0, 0, 0, 0]])
    >>> import pandas as pd
    >>> borders = pd.DataFrame({"source": ["FR", "FR"], "target": ["DE", "ES"], "km": [418, 623]})
    >>> read_graph(borders, 3, ids=["DE", "ES", "FR"]).nnz
    4
    """
    n_items = whole_number(n_items, "n_items", 0)
    if ids is not None:
        ids = ids if isinstance(ids, Ids) else Ids(ids)
        if len(ids) != n_items:
            raise ValueError(f"there are {len(ids)} ids, but {n_items} items; give one id an item.")
    if callable(graph):
        if X is None:
            raise ValueError("the graph is a function of X, but there is no X here; pass X, or a graph.")
        graph = graph(X)
        if graph is None or callable(graph):
            raise TypeError(f"the function must return a graph over the rows of X; it returned {graph!r}.")
    return _symmetric(_edges(graph, n_items, ids), n_items)


def graph_of_ends(i: list[Any], j: list[Any], n_items: int, *, ids: Any = None) -> Any:
    """The graph of a table that was read already: row numbers, or ids, at both ends of each edge."""
    known = None if ids is None else Ids(ids)
    return _symmetric(_of_cells([i, j], n_items, known, "row"), n_items)


def islands(graph: Any) -> tuple[int, NDArray[np.int32]]:
    """Return the parts of a graph that no way joins: how many there are, and the part of each item.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        What `read_graph` returns.

    Returns
    -------
    n_islands : int
        The number of parts; an item without any edge is a part of its own.
    labels : array of shape (n,)
        The part of each item, numbered by first appearance.

    Examples
    --------
    >>> from coterie.adjacency import islands, read_graph
    >>> n_islands, labels = islands(read_graph([(0, 2), (1, 3)], 5))
    >>> n_islands, labels.tolist()
    (3, [0, 1, 0, 1, 2])
    """
    from scipy.sparse.csgraph import connected_components

    found, labels = connected_components(graph, directed=False)
    first = np.unique(labels, return_index=True)[1]
    number = np.empty(found, dtype=np.int32)
    number[np.argsort(first)] = np.arange(found, dtype=np.int32)
    return int(found), number[labels]


def _edges(graph: Any, n_items: int, ids: Ids | None) -> IntArray:
    """The edges as an (m, 2) array of row numbers, within range."""
    if hasattr(graph, "tocoo"):
        return _of_sparse(graph, n_items)
    if _made_by(graph, "networkx"):
        return _of_networkx(graph, n_items, ids)
    if _made_by(graph, "igraph"):
        return _of_igraph(graph, n_items, ids)
    if hasattr(type(graph), "columns"):  # of the class: a lazy frame would have to compute its own
        return _of_frame(graph, n_items, ids)
    if isinstance(graph, str | bytes | dict) or not hasattr(graph, "__iter__"):
        raise TypeError(
            f"the graph is {graph!r}; give a sparse matrix, a NetworkX or igraph graph, a data frame with "
            "columns i and j, a list of pairs of items, or a function of X that returns one of these."
        )
    return _of_array(graph, n_items, ids)


def _made_by(graph: Any, library: str) -> bool:
    """Whether a class, or one that it is made from, is of a library; we need not import it to know."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(graph).__mro__)


def _symmetric(edges: IntArray, n_items: int) -> Any:
    from scipy.sparse import coo_array

    edges = edges[edges[:, 0] != edges[:, 1]]
    both = np.concatenate([edges, edges[:, ::-1]])
    whole = coo_array((np.ones(len(both), dtype=bool), (both[:, 0], both[:, 1])), shape=(n_items, n_items))
    matrix = whole.tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = True
    return matrix


def _check_square(shape: tuple[int, ...], n_items: int) -> None:
    if tuple(shape) != (n_items, n_items):
        raise ValueError(
            f"the matrix of the graph has shape {tuple(shape)}, but there are {n_items} items; it must be "
            f"({n_items}, {n_items}), rows and columns in the order of the items."
        )


def _check_entries(rows: Any, columns: Any, values: Any) -> None:
    """Refuse what may mean an edge or none: NaN and infinity."""
    if values.dtype.kind not in "biufc":
        raise TypeError(
            f"the matrix of the graph holds {values.dtype} values; give numbers, or True and False."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row, column, value = int(rows[bad[0]]), int(columns[bad[0]]), values[bad[0]]
        raise ValueError(
            f"entry ({row}, {column}) of the graph is {value}: is that an edge? Give edges finite values; "
            "where there is none, store nothing in a sparse matrix, or 0 in a dense one."
        )


def _of_sparse(graph: Any, n_items: int) -> IntArray:
    _check_square(graph.shape, n_items)
    entries = graph.tocoo()
    rows, columns, values = entries.row, entries.col, entries.data
    _check_entries(rows, columns, values)
    edges = np.column_stack([rows, columns]).astype(np.int64)
    return edges[values] if values.dtype == bool else edges


def _of_array(graph: Any, n_items: int, ids: Ids | None) -> IntArray:
    rows: Any = graph if isinstance(graph, np.ndarray) else list(graph)
    if len(rows) == 0:
        return np.empty((0, 2), dtype=np.int64)
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    numeric = array.dtype.kind in "biufc"
    if array.shape == (n_items, n_items) and (numeric or n_items != 2):  # two by two of text: two edges
        i, j = np.nonzero(array)  # NaN is not zero either
        _check_entries(i, j, array[i, j])
        return np.column_stack([i, j]).astype(np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(_no_pairs(rows, array.shape, n_items))
    if not isinstance(rows, np.ndarray):
        array = np.array(rows, dtype=object)  # NumPy makes text of ["a", 1]
    return _of_cells([array[:, 0].tolist(), array[:, 1].tolist()], n_items, ids, "edge")


def _no_pairs(rows: Any, shape: tuple[int, ...], n_items: int) -> str:
    if isinstance(rows, list):
        for number, row in enumerate(rows):
            length = len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None
            if length not in (2, n_items):
                return (
                    f"edge {number} of the graph is {row!r}: an edge is a pair of items. Leave weights out."
                )
    return (
        f"the graph is an array of shape {shape}; give edges of shape (m, 2), or a matrix of shape "
        f"({n_items}, {n_items})."
    )


def _of_frame(frame: Any, n_items: int, ids: Ids | None) -> IntArray:
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"the graph is a {type(frame).__name__}, which is no data frame that we know."
        ) from None
    i, j = end_columns(known.collect_schema().names())
    # pandas calls unnamed columns 0 and 1, and narwhals takes a number for a place
    ends = frame_columns(known.select(nw.col(i).alias("i"), nw.col(j).alias("j")).to_native())
    return _of_cells([ends["i"], ends["j"]], n_items, ids, "row")


def end_columns(names: Sequence[str]) -> list[str]:
    """Which two columns of a table hold the ends of an edge."""
    plain = {str(name).strip().lower(): name for name in names} | {str(name): name for name in names}
    for first, second in _COLUMNS:
        if first in plain and second in plain:
            return [plain[first], plain[second]]
    if len(names) == 2:
        return list(names)
    raise ValueError(
        f"the table of edges has the columns {', '.join(map(str, names)) or '(none)'}; name the two ends of "
        "an edge i and j, or source and target, or leave only these two columns."
    )


def _of_cells(ends: Sequence[list[Any]], n_items: int, ids: Ids | None, place: str) -> IntArray:
    """The two ends of each edge, as they were written, as row numbers."""
    return np.column_stack([_rows(cells, n_items, ids, place) for cells in ends])


def _rows(cells: list[Any], n_items: int, ids: Ids | None, place: str) -> IntArray:
    if ids is None and set(map(type, cells)) <= {int}:  # the usual case, at once
        try:
            rows = np.array(cells, dtype=np.int64)
        except OverflowError:
            rows = np.array([-1])
        if ((rows >= 0) & (rows < n_items)).all():
            return rows
    named = (_row(cell, n_items, ids, f"{place} {at} of the graph") for at, cell in enumerate(cells))
    return np.fromiter(named, dtype=np.int64)


def _row(name: Any, n_items: int, ids: Ids | None, where: str) -> int:
    """The row of an item, by its number or id; a complaint says where it stands."""
    if is_missing(name):
        raise ValueError(f"{where} lacks an item; an edge has two ends. Fill it in, or remove this edge.")
    if ids is not None:
        try:
            return ids.row(name, where)
        except ValueError as error:
            raise ValueError(f"{error} Correct it, or leave out what is none of the items.") from None
    whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
    if not whole and not (isinstance(name, float | np.floating) and name.is_integer()):
        raise ValueError(f"{where} names {name!r}, which is no row number. {_OWN_IDS}.")
    if not 0 <= name < n_items:
        raise ValueError(
            f"{where} names item {int(name)}: items are numbered 0 to {n_items - 1}. {_OWN_IDS}."
        )
    return int(name)


def _of_networkx(graph: Any, n_items: int, ids: Ids | None) -> IntArray:
    row_of = {node: _row(node, n_items, ids, f"node {at}") for at, node in enumerate(graph.nodes)}
    return _pairs((row_of[a], row_of[b]) for a, b in graph.edges())


def _of_igraph(graph: Any, n_items: int, ids: Ids | None) -> IntArray:
    edges = _pairs(graph.get_edgelist())
    if ids is not None and "name" in graph.vs.attributes():
        return _rows(graph.vs["name"], n_items, ids, "vertex")[edges]
    if graph.vcount() > n_items:
        raise ValueError(
            f"the graph has {graph.vcount()} vertices, but there are {n_items} items; vertex 0 is the first "
            'item, and so on. If the vertices have names, put them into the attribute "name" and pass `ids`.'
        )
    return edges


def _pairs(pairs: Iterable[tuple[int, int]]) -> IntArray:
    return np.fromiter((end for pair in pairs for end in pair), dtype=np.int64).reshape(-1, 2)
