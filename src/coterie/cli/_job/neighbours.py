"""Who is whose neighbour: the file of `--connected` as a graph over the items, and what to say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._words import count_of, listed
from coterie.cli._speak.trouble import Trouble, message_of

if TYPE_CHECKING:
    from coterie.tables import Table

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_MOST_NAMED = 6  # islands whose sizes are said


@dataclass(frozen=True)
class NeighbourGraph:
    """A graph over the rows, as read."""

    path: Path
    graph: Any  # items by items (csr_array), True at each pair of neighbours
    islands: tuple[int, ...]  # sizes of the parts that no way joins, largest first
    n_loops: int = 0  # edges of an item with itself, which say nothing

    @property
    def n_edges(self) -> int:
        """Pairs of neighbours; given twice, or both ways, they count once."""
        return int(self.graph.nnz) // 2

    def words(self) -> str:
        """What is said before the fit."""
        found = f"{self.path.name}: {count_of(self.n_edges, 'pair')} of neighbours"
        if self.n_loops:
            found += f" ({count_of(self.n_loops, 'row')} of an item with itself left out)"
        if len(self.islands) == 1:
            return f"{found}; the map is in one piece."
        shown = [f"{size:,}" for size in self.islands[:_MOST_NAMED]]
        if len(self.islands) > _MOST_NAMED:
            sizes = f"{', '.join(shown)}, ... items"
        else:
            sizes = f"{', '.join(shown[:-1])} and {shown[-1]} items"
        return f"{found}; the map has {len(self.islands):,} islands: {sizes}. No cluster spans two of them."

    def facts(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "path": str(self.path.resolve()),
            "n_pairs": self.n_edges,
            "n_islands": len(self.islands),
            "largest_islands": list(self.islands[:100]),
        }


def read_neighbours(path: Path, table: Table, id_column: str | None) -> NeighbourGraph:
    """Read the file: a table of pairs by row number or id, or a matrix of items by items."""
    import numpy as np

    from coterie.adjacency import end_columns, graph_of_ends, islands, read_graph
    from coterie.tables import TableError, read_table

    if path.exists() and not path.is_file():  # a folder, or a pipe that nobody writes to
        raise Trouble(f"{path} is no file; --connected takes a table with the columns i and j")
    try:
        pairs = read_table(path)
    except TableError as error:
        raise Trouble(f"--connected {error}") from None
    n_loops, ids = 0, table.ids(id_column)
    try:
        if pairs.frame is None:
            graph = read_graph(pairs.matrix, table.n_rows)
        else:
            names = end_columns(pairs.names)
            known = None if ids is None else [str(name) for name in ids.tolist()]
            _check_header(names, known)
            i, j = (_as_written(pairs.column(name).to_list(), known) for name in names)
            n_loops = sum(a is not None and a == b for a, b in zip(i, j, strict=True))
            graph = graph_of_ends(i, j, table.n_rows, ids=known)
    except (ValueError, TypeError) as error:
        raise Trouble(f"--connected {path.name}: {_in_words(message_of(error), id_column, table)}") from None
    sizes = np.bincount(islands(graph)[1])
    return NeighbourGraph(path, graph, tuple(np.sort(sizes)[::-1].tolist()), n_loops)


def _check_header(names: list[str], known: list[str] | None) -> None:
    """Raise if the first edge stands where the names of the columns belong."""
    if all(_WHOLE.fullmatch(name) if known is None else name in known for name in names):
        raise ValueError(
            f"the first line holds the items {listed(names)}, not names of columns; begin the file with a "
            "line that says i and j"
        )


def _as_written(cells: list[Any], known: list[str] | None) -> list[Any]:
    """Cells as row numbers, or as ids in their written form: a file does not tell 7 from "7"."""
    ids = None if known is None else set(known)
    found: list[Any] = []
    for cell in cells:
        value = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
        if value is None or value != value:
            found.append(None)
        elif ids is None:
            is_text = isinstance(value, str) and _WHOLE.fullmatch(value)
            found.append(int(value) if is_text else value)
        else:
            text = str(value)
            found.append(text if text in ids else text.strip() or None)
    return found


def _in_words(message: str, id_column: str | None, table: Table) -> str:
    """The complaint without Python, and with what to do about ids."""
    message, own_ids, _ = message.partition(" If these are your own ids")
    if own_ids:
        return f"{message} If these are your own ids, name the column that holds them with --id"
    if "unknown id" in message:
        return f"{message} (ids are those of the column {id_column!r} of {table.path.name})"
    return message
