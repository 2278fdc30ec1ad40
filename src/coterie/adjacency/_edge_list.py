"""A graph in any of the usual forms as a list of edges between row numbers, with weights if asked for.

What may be a mistake is refused by its place. Time and memory are linear in the number of edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from coterie.constraints._model import FloatArray, IntArray
from coterie.constraints._reading import Ids, frame_columns, is_missing, whole_number

_COLUMNS = (("i", "j"), ("source", "target"))
_WEIGHT = "weight"  # the column and the attribute
# Without a number of items the largest one that is named counts; above this it is an id and no row.
_MOST_ITEMS = 2**31 - 1


class EdgeList(NamedTuple):
    """The edges of a graph, as they were stated."""

    ends: IntArray  # m x 2 row numbers, within range
    weights: FloatArray | None  # None: nobody asked
    is_matrix: bool  # whether an entry and the mirrored one both speak of a pair
    n_items: int
    names: Sequence[Any] | None  # of the items; None: row numbers


def read_edges(graph: Any, n_items: int | None, ids: Any, *, weighted: bool) -> EdgeList:
    """Read a graph; without `n_items` the ids, the nodes or the largest number tell how many there are."""
    if n_items is not None:
        n_items = whole_number(n_items, "n_items", 0)
    if ids is not None:
        ids = ids if isinstance(ids, Ids) else Ids(ids)
        n_items = len(ids) if n_items is None else n_items
        if len(ids) != n_items:
            raise ValueError(f"there are {len(ids)} ids, but {n_items} items; give one id an item.")
    return FormReader(n_items, ids, weighted).read(graph)


@dataclass
class FormReader:
    """What there is to know to read a graph."""

    n_items: int | None
    ids: Ids | None
    weighted: bool

    def read(self, graph: Any) -> EdgeList:
        """Read it, whatever it is."""
        if hasattr(graph, "tocoo"):
            return self._of_sparse(graph)
        if _made_by(graph, "networkx"):
            return self._of_networkx(graph)
        if _made_by(graph, "igraph"):
            return self._of_igraph(graph)
        if hasattr(type(graph), "columns"):  # of the class: a lazy frame would have to compute its own
            return self._of_frame(graph)
        if isinstance(graph, str | bytes | dict) or not hasattr(graph, "__iter__"):
            listed = "columns i and j, a list of pairs of items, or a function of X that returns one of these"
            listed = "columns i, j and weight, or a list of triples of these" if self.weighted else listed
            raise TypeError(
                f"the graph is {graph!r}; give a sparse matrix, a NetworkX or igraph graph, a data frame "
                f"with {listed}."
            )
        return self._of_array(graph)

    def of_cells(self, ends: Sequence[list[Any]], weights: Any, place: str) -> EdgeList:
        """The two ends of each edge as they were written, and weights; a complaint names the `place`."""
        rows = np.column_stack([self._rows(cells, place) for cells in ends])
        return self._stated(rows, weights, int(rows.max(initial=-1)) + 1, place)

    def _stated(
        self, ends: IntArray, weights: Any, n_found: int, place: str = "edge", names: Any = None
    ) -> EdgeList:
        numbers = _numbers(weights, place) if self.weighted else None
        names = names if self.ids is None else self.ids.values.tolist()
        return EdgeList(ends, numbers, False, n_found if self.n_items is None else self.n_items, names)

    # ---- matrices -------------------------------------------------------------------------------------

    def _of_sparse(self, graph: Any) -> EdgeList:
        n = graph.shape[0] if self.n_items is None else self.n_items
        if tuple(graph.shape) != (n, n):
            raise ValueError(
                f"the matrix of the graph has shape {tuple(graph.shape)}, but there are {n} items; it must "
                f"be ({n}, {n}), rows and columns in the order of the items."
            )
        if self.weighted:  # entries that are stored twice add up
            graph = graph.tocsr(copy=True)
            graph.sum_duplicates()
        entries = graph.tocoo()
        ends, values = np.column_stack([entries.row, entries.col]).astype(np.int64), entries.data
        if values.dtype == bool and not self.weighted:
            ends, values = ends[values], values[values]
        return self._of_entries(ends, values, n)

    def _of_entries(self, ends: IntArray, values: Any, n_items: int) -> EdgeList:
        """Edges from the entries of a matrix; NaN and infinity may mean an edge or none."""
        if values.dtype.kind not in ("biuf" if self.weighted else "biufc"):
            raise TypeError(
                f"the matrix of the graph holds {values.dtype} values; give numbers, or True and False."
            )
        if self.weighted:
            return EdgeList(ends, values.astype(np.float64), True, n_items, None)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            (row, column), value = ends[bad[0]].tolist(), values[bad[0]]
            raise ValueError(
                f"entry ({row}, {column}) of the graph is {value}: is that an edge? Give edges finite "
                "values; where there is none, store nothing in a sparse matrix, or 0 in a dense one."
            )
        return EdgeList(ends, None, True, n_items, None)

    # ---- rows of a list, an array or a frame ----------------------------------------------------------

    def _of_array(self, graph: Any) -> EdgeList:
        rows: Any = graph if isinstance(graph, np.ndarray) else list(graph)
        width = 3 if self.weighted else 2
        if len(rows) == 0:
            return self.of_cells([[], []], [], "edge")
        try:
            array = np.asarray(rows)
        except ValueError:  # rows of different lengths
            array = np.empty(0)
        n = len(rows) if self.n_items is None else self.n_items
        are_edges = len(rows) == width and (
            array.dtype.kind not in "biufc"  # two by two of text: two edges
            or (self.weighted and isinstance(rows, list) and all(isinstance(row, tuple) for row in rows))
        )
        if array.shape == (n, n) and not are_edges:
            # a dense matrix states what every pair weighs, but NaN is not zero either
            i, j = np.indices(array.shape).reshape(2, -1) if self.weighted else np.nonzero(array)
            return self._of_entries(np.column_stack([i, j]).astype(np.int64), array[i, j], n)
        if array.ndim != 2 or array.shape[1] != width:
            raise ValueError(self._no_edges(rows, array.shape))
        if not isinstance(rows, np.ndarray):
            array = np.array(rows, dtype=object)  # NumPy makes text of ["a", 1]
        columns = [column.tolist() for column in array.T]
        return self.of_cells(columns[:2], columns[2:] and columns[2], "edge")

    def _no_edges(self, rows: Any, shape: tuple[int, ...]) -> str:
        width, n = 3 if self.weighted else 2, self.n_items  # type: tuple[int, Any]
        if isinstance(rows, list):
            what = "a pair of items and its weight" if self.weighted else "a pair of items. Leave weights out"
            for number, row in enumerate(rows):
                length = len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None
                if length not in (width, n):
                    return f"edge {number} of the graph is {row!r}: an edge is {what}."
        edges, n = f"edges of shape (m, {width})", "n" if n is None else n
        return f"the graph is an array of shape {shape}; give {edges}, or a matrix of shape ({n}, {n})."

    def _of_frame(self, frame: Any) -> EdgeList:
        import narwhals as nw

        try:
            known = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                f"the graph is a {type(frame).__name__}, which is no data frame that we know."
            ) from None
        names = known.collect_schema().names()
        wanted = dict(zip("ij", end_columns(names, [_WEIGHT] if self.weighted else []), strict=True))
        if self.weighted:
            wanted["w"] = find_column(names, _WEIGHT)
        # pandas calls unnamed columns 0 and 1, and narwhals takes a number for a place
        chosen = known.select(*(nw.col(name).alias(ours) for ours, name in wanted.items()))
        cells = frame_columns(chosen.to_native())
        return self.of_cells([cells["i"], cells["j"]], cells.get("w"), "row")

    def _rows(self, cells: list[Any], place: str) -> IntArray:
        if self.ids is None and set(map(type, cells)) <= {int, float}:  # the usual case, at once
            rows, most = np.array(cells), _MOST_ITEMS if self.n_items is None else self.n_items
            if rows.dtype.kind in "if" and ((rows >= 0) & (rows < most) & (np.trunc(rows) == rows)).all():
                return rows.astype(np.int64)
        named = (self._row(cell, f"{place} {at} of the graph") for at, cell in enumerate(cells))
        return np.fromiter(named, dtype=np.int64)

    def _row(self, name: Any, where: str) -> int:
        """The row of an item, by its number or id; a complaint says where it stands."""
        if is_missing(name):
            raise ValueError(f"{where} lacks an item; an edge has two ends. Fill it in, or remove this edge.")
        if self.ids is not None:
            try:
                return self.ids.row(name, where)
            except ValueError as error:
                raise ValueError(f"{error} Correct it, or leave out what is none of the items.") from None
        read = "read_weights(graph, ids=ids)" if self.weighted else "read_graph(graph, n_items, ids=ids)"
        way_out = (
            "If these are your own ids, turn the graph into row numbers with "
            f"coterie.adjacency.{read} and pass what it returns."
        )
        if not _is_whole(name) and not (isinstance(name, float | np.floating) and name.is_integer()):
            raise ValueError(f"{where} names {name!r}, which is no row number. {way_out}")
        most = _MOST_ITEMS if self.n_items is None else self.n_items
        if not 0 <= name < most:
            raise ValueError(f"{where} names item {int(name)}: items are numbered 0 to {most - 1}. {way_out}")
        return int(name)

    # ---- graphs of other libraries --------------------------------------------------------------------

    def _of_networkx(self, graph: Any) -> EdgeList:
        nodes, edges = list(graph.nodes), list(graph.edges(data=_WEIGHT, default=1))
        names = None
        if self.n_items is None and not all(map(_is_whole, nodes)):  # the nodes are the items
            row_of, names = {node: at for at, node in enumerate(nodes)}, nodes
        else:
            row_of = {node: self._row(node, f"node {at}") for at, node in enumerate(nodes)}
        ends, weights = _pairs((row_of[a], row_of[b]) for a, b, _ in edges), [edge[2] for edge in edges]
        return self._stated(ends, weights, 1 + max(row_of.values(), default=-1), names=names)

    def _of_igraph(self, graph: Any) -> EdgeList:
        ends = _pairs(graph.get_edgelist())
        n_items = graph.vcount() if self.n_items is None else self.n_items
        if self.ids is not None and "name" in graph.vs.attributes():
            ends = self._rows(graph.vs["name"], "vertex")[ends]
        elif graph.vcount() > n_items:
            raise ValueError(
                f"the graph has {graph.vcount()} vertices, but there are {n_items} items; vertex 0 is the "
                'first item, and so on. If the vertices have names, put them into the attribute "name" and '
                "pass `ids`."
            )
        given = graph.es[_WEIGHT] if _WEIGHT in graph.es.attributes() else [None] * len(ends)
        return self._stated(ends, [1 if one is None else one for one in given], n_items)


def _made_by(graph: Any, library: str) -> bool:
    """Whether a class, or one that it is made from, is of a library; we need not import it to know."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(graph).__mro__)


def _is_whole(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def _pairs(pairs: Iterable[tuple[int, int]]) -> IntArray:
    return np.fromiter((end for pair in pairs for end in pair), dtype=np.int64).reshape(-1, 2)


def _numbers(cells: Any, place: str) -> FloatArray:
    """Weights as numbers; what is missing becomes NaN."""
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if len(cells) == 1:
            raise ValueError(
                f"{place} of the graph has the weight {cells[0]!r}, which is no number."
            ) from None
        return np.concatenate([_numbers([cell], f"{place} {at}") for at, cell in enumerate(cells)])


def end_columns(names: Sequence[str], others: Iterable[str] = ()) -> list[str]:
    """Which two columns of a table hold the ends of an edge; `others` hold something else."""
    plain = _plain(names)
    for first, second in _COLUMNS:
        if first in plain and second in plain:
            return [plain[first], plain[second]]
    rest = [name for name in names if name not in {plain.get(other) for other in others}]
    if len(rest) == 2:
        return rest
    raise ValueError(
        f"the table of edges has the columns {_listed(names)}; name the two ends of "
        "an edge i and j, or source and target, or leave only these two columns."
    )


def find_column(names: Sequence[str], *wanted: str) -> str:
    """The one column of a table that has one of these names."""
    found = [_plain(names)[name] for name in wanted if name in _plain(names)]
    if len(found) != 1:
        which = f"leave one of {' and '.join(found)}" if found else f"none is called {' or '.join(wanted)}"
        raise ValueError(f"the table of edges has the columns {_listed(names)}; {which}.")
    return found[0]


def _plain(names: Sequence[str]) -> dict[str, str]:
    return {str(name).strip().lower(): name for name in names} | {str(name): name for name in names}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(str, names)) or "(none)"
