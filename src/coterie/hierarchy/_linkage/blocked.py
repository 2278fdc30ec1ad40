"""What keeps the clusters apart that no merge is left for: in words, and through which link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._words import count_of, format_number
from coterie.constraints import Constraints
from coterie.constraints._reading import build_frame
from coterie.hierarchy._linkage.vetoes import Rules

_SHOWN = 10
# Rows of a frame.
_MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Block:
    """Two clusters that may not merge.

    Attributes
    ----------
    a, b : int
        The clusters, as in `Blocked.labels`; a < b.
    reason : {"cannot-link", "label", "distinct", "across", "size"}
        What keeps them apart; the first that applies.
    i, j : int or None
        An item of a and one of b that a constraint keeps apart.
    told : str
        The same in words, in your ids.
    """

    a: int
    b: int
    reason: str
    i: int | None
    j: int | None
    told: str

    def __str__(self) -> str:
        return self.told


class Blocked:
    """The clusters that are left when no merge is legal, and what keeps them apart; false if it is one.

    Iterating gives a `Block` for each pair of clusters; on a map, for each pair of neighbours. `print` shows
    the first ten.

    Attributes
    ----------
    labels : array of shape (n_items,)
        The cluster of each item, numbered by first appearance.
    n_clusters : int
        How many are left.
    islands : tuple of int
        Items on each part of the map that no edge joins to another, largest first; empty without a
        connectivity.
    """

    def __init__(
        self,
        labels: NDArray[np.int32],
        known: Constraints,
        rules: Rules,
        islands: tuple[int, ...],
        graph: Any,
    ) -> None:
        self.labels, self.islands = labels, islands
        self.n_clusters = int(labels.max(initial=-1)) + 1
        self._known, self._rules, self._graph = known, rules, graph

    @cached_property
    def _pairs(self) -> list[tuple[int, int]] | None:
        """Neighbours on the map; None: all pairs are meant."""
        if self._graph is None:
            return None
        edges = self._graph.tocoo()
        a, b = self.labels[edges.row].astype(np.int64), self.labels[edges.col].astype(np.int64)
        key = np.unique(a[a < b] * self.n_clusters + b[a < b])
        return [tuple(divmod(one, self.n_clusters)) for one in key.tolist()]

    @cached_property
    def _of_unit(self) -> NDArray[np.int32]:
        """Cluster of each unit."""
        found = np.empty(self._rules.n_units, dtype=np.int32)
        found[self._rules.unit] = self.labels
        return found

    @cached_property
    def _tags(self) -> list[set[int]]:
        """Tags that each cluster carries."""
        held: list[set[int]] = [set() for _ in range(self.n_clusters)]
        cluster = self._of_unit[self._rules.owner]
        for c, tag in zip(cluster.tolist(), self._rules.tag.tolist(), strict=True):
            held[c].add(tag)
        return held

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Code of each cluster in each `across` constraint."""
        found = np.full((len(self._rules.codes), self.n_clusters), -1)
        for row, codes in zip(found, self._rules.codes, strict=True):
            named = codes >= 0
            row[self._of_unit[named]] = codes[named]
        return found

    @cached_property
    def _loads(self) -> NDArray[np.float64]:
        return np.bincount(self._of_unit, self._rules.load, self.n_clusters).astype(np.float64)

    def __len__(self) -> int:
        """Number of pairs that iterating gives."""
        if self._pairs is not None:
            return len(self._pairs)
        return self.n_clusters * (self.n_clusters - 1) // 2

    def __bool__(self) -> bool:
        return self.n_clusters > 1

    def __iter__(self) -> Iterator[Block]:
        pairs = combinations(range(self.n_clusters), 2) if self._pairs is None else self._pairs
        return (self._block(a, b) for a, b in pairs)

    def __repr__(self) -> str:
        return f"<Blocked: {count_of(self.n_clusters, 'cluster')} left>"

    def __str__(self) -> str:
        if not self:
            return "Nothing is blocked: all items merge into one cluster."
        lines = [f"No merge is legal between the {self.n_clusters:,} clusters that are left."]
        if len(self.islands) > 1:
            lines.append(f"  {self.islands_told()}")
        lines += [f"  {block.told}" for block in islice(self, _SHOWN)]
        if len(self) > _SHOWN:
            lines.append(f"  ... and {len(self) - _SHOWN:,} more; see to_frame().")
        return "\n".join(lines)

    def islands_told(self) -> str:
        """The parts of the map in one line."""
        shown = ", ".join(f"{size:,}" for size in self.islands[:5])
        more = f" and {len(self.islands) - 5:,} more" if len(self.islands) > 5 else ""
        message = f"The connectivity has {len(self.islands):,} islands, of {shown}{more} items"
        return f"{message}; no edge joins them."

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame, one row a pair of clusters; `library`: "pandas", "polars" or "pyarrow"."""
        if len(self) > _MOST_ROWS:
            raise ValueError(
                f"{len(self):,} pairs of clusters are too many for a frame; iterate over blocked_ for some."
            )
        blocks = list(self)

        def name(item: int | None) -> Any:
            if item is None:
                return None
            return item if self._known.ids is None else self._known.ids[item]

        columns: dict[str, list[Any]] = {
            "a": [block.a for block in blocks],
            "b": [block.b for block in blocks],
            "reason": [block.reason for block in blocks],
            "i": [name(block.i) for block in blocks],
            "j": [name(block.j) for block in blocks],
            "told": [block.told for block in blocks],
        }
        return build_frame(columns, library)

    # ---- why ------------------------------------------------------------------------------------------

    def _block(self, a: int, b: int) -> Block:
        both = f"clusters {a} and {b}"
        shared = self._tags[a] & self._tags[b]
        if shared:
            tag = min(shared)
            if tag < self._rules.n_pair_tags:
                ij = self._known.cannot_link[self._rules.tag_row[tag]].tolist()
                i, j = ij if self.labels[ij[0]] == a else ij[::-1]
                message = f"{both}: cannot-link {self._name(i)}-{self._name(j)}"
                return Block(a, b, "cannot-link", i, j, message)
            return self._by_group(a, b, int(self._rules.tag_row[tag]))
        for position, codes in zip(self._rules.across, self._codes, strict=True):
            if codes[a] >= 0 and codes[b] >= 0 and codes[a] != codes[b]:
                return self._by_group(a, b, position)
        together = format_number(float(self._loads[a] + self._loads[b]))
        return Block(a, b, "size", None, None, f"{both}: together they hold {together}, more than size_max")

    def _by_group(self, a: int, b: int, position: int) -> Block:
        """Two items of a group that it keeps apart: of one code (distinct), or of two."""
        group = self._known.groups[position]
        cluster = self.labels[group.items]
        left, right = np.flatnonzero(cluster == a), np.flatnonzero(cluster == b)
        if group.kind == "distinct":
            code, at, of = np.intersect1d(group.codes[left], group.codes[right], return_indices=True)
            x, y = int(left[at[0]]), int(right[of[0]])
            why = f"are both of {group.names[code[0]]} (distinct)"
        else:
            x = int(left[0])
            y = int(right[np.argmax(group.codes[right] != group.codes[x])])
            names = f"{group.names[group.codes[x]]} and {group.names[group.codes[y]]}"
            why = f"have the labels {names}" if group.kind == "label" else f"are of {names} (across)"
        i, j = int(group.items[x]), int(group.items[y])
        message = f"clusters {a} and {b}: {self._name(i)} and {self._name(j)} {why}"
        return Block(a, b, group.kind, i, j, message)

    def _name(self, item: int) -> str:
        return self._known.item_name(item)
