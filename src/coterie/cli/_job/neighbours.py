"""Files about pairs of items: the neighbours of `--connected`, and `--scores`; and what to say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._words import count_of, listed
from coterie.cli._speak.trouble import Trouble, message_of

if TYPE_CHECKING:
    from coterie.tables import Table

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_MOST_NAMED = 6  # islands whose sizes are said
_SCORES = "weight", "probability"  # the columns of a file of scores, of which it has one
_UNLIKELY = 1e-6  # a probability is no closer to 0 or 1


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


@dataclass(frozen=True)
class ScoredPairs:
    """Scores of pairs of rows, as read."""

    path: Path
    weights: Any  # items by items (csr_array), above 0 where a pair belongs together
    n_loops: int = 0  # scores of an item with itself, which say nothing

    def words(self) -> str:
        """What is said before the fit."""
        n_scores, n_for = (int(n) // 2 for n in (self.weights.nnz, (self.weights.data > 0).sum()))
        left = f" ({count_of(self.n_loops, 'row')} of an item with itself left out)" if self.n_loops else ""
        found = f"{self.path.name}: {count_of(n_scores, 'score')} of pairs{left}, {n_for:,} for together"
        return f"{found}. The columns only describe the clusters."


def read_neighbours(path: Path, table: Table, id_column: str | None) -> NeighbourGraph:
    """Read the file: a table of pairs by row number or id, or a matrix of items by items."""
    import numpy as np

    from coterie.adjacency import end_columns, graph_of_ends, islands, read_graph

    n_loops = 0
    with _opened("--connected", path, table, id_column) as (pairs, known):
        if pairs.frame is None:
            graph = read_graph(pairs.matrix, table.n_rows)
        else:
            i, j, n_loops = _ends(pairs, end_columns(pairs.names), known)
            graph = graph_of_ends(i, j, table.n_rows, ids=known)
    sizes = np.bincount(islands(graph)[1])
    return NeighbourGraph(path, graph, tuple(np.sort(sizes)[::-1].tolist()), n_loops)


def read_scores(path: Path, table: Table, id_column: str | None) -> ScoredPairs:
    """Read the file in the same way; probabilities become log-odds, at most those of one in a million."""
    import numpy as np
    from scipy.special import logit

    from coterie.adjacency import end_columns, find_column, read_weights

    with _opened("--scores", path, table, id_column) as (pairs, known):
        if pairs.frame is None:
            return ScoredPairs(path, read_weights(pairs.matrix, table.n_rows))
        column = find_column(pairs.names, *_SCORES)
        i, j, n_loops = _ends(pairs, end_columns(pairs.names, _SCORES), known)
        score = pairs.numbers(column)
        is_probability = column.strip().lower() == _SCORES[1]
        outside = is_probability & ((score < 0) | (score > 1))
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(f"row {row}: {column} is {score[row]:g}; it lies between 0 and 1")
        found = read_weights(list(zip(i, j, score.tolist(), strict=True)), table.n_rows, ids=known)
        if is_probability:
            found.data = logit(np.clip(found.data, _UNLIKELY, 1.0 - _UNLIKELY))
    return ScoredPairs(path, found, n_loops)


@contextmanager
def _opened(
    option: str, path: Path, table: Table, id_column: str | None
) -> Iterator[tuple[Table, list[str] | None]]:
    """A file about pairs of rows of a table, and the ids of these as text; what is wrong with it is told."""
    from coterie.tables import TableError, read_table

    if path.exists() and not path.is_file():  # a folder, or a pipe that nobody writes to
        raise Trouble(f"{path} is no file; {option} takes a table with the columns i and j")
    ids = table.ids(id_column)
    try:
        yield read_table(path), None if ids is None else [str(name) for name in ids.tolist()]
    except TableError as error:
        raise Trouble(f"{option} {error}") from None
    except (ValueError, TypeError) as error:
        raise Trouble(f"{option} {path.name}: {_in_words(message_of(error), id_column, table)}") from None


def _ends(pairs: Table, names: list[str], known: list[str] | None) -> tuple[list[Any], list[Any], int]:
    """The two ends of each pair as they were written, and how many pairs are of an item with itself."""
    _check_header(names, known)
    i, j = (_as_written(pairs.column(name).to_list(), known) for name in names)
    return i, j, sum(a is not None and a == b for a, b in zip(i, j, strict=True))


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
    message, own_ids, _ = re.sub("^edge (?=[0-9])", "row ", message).partition(" If these are your own ids")
    if own_ids:
        return f"{message} If these are your own ids, name the column that holds them with --id"
    if "unknown id" in message:
        return f"{message} (ids are those of the column {id_column!r} of {table.path.name})"
    return message
