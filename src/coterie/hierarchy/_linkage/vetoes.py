"""Which units may not share a cluster: constraints as tags and codes, loads against a cap.

A unit is a must-link component. See `greedy` for what the compiled loops make of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.constraints import Constraints
from coterie.hierarchy._linkage.greedy import fill_table
from coterie.hierarchy._linkage.state import Floats, Index, Vetoes


@dataclass(frozen=True, eq=False)
class Rules:
    """What keeps units apart.

    Attributes
    ----------
    unit : array of shape (n_items,)
        Unit of each item.
    size : array of shape (n_units,)
        Items of each unit.
    tag, owner : arrays
        Units `owner[e]` with the same `tag[e]` are apart.
    tag_row : array of shape (n_tags,)
        For the first `n_pair_tags` tags the row of the cannot-link table, for the others the position of the
        group.
    codes : array of shape (n_across, n_units)
        Units with different codes, none of them -1, are apart.
    across : tuple of int
        Position of the group behind each row of `codes`.
    load : array of shape (n_units,)
        What each unit counts.
    cap : float
        Most load of a cluster.
    """

    unit: Index
    size: Index
    tag: Index
    owner: Index
    tag_row: Index
    n_pair_tags: int
    codes: Index
    across: tuple[int, ...]
    load: Floats
    cap: float

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.size)

    def forbid(self, D: Floats) -> None:
        """Write infinity into a matrix over units where constraints keep two apart."""
        cut = np.searchsorted(self.tag, self.n_pair_tags)
        ends = self.owner[:cut].reshape(-1, 2)
        D[ends[:, 0], ends[:, 1]] = np.inf
        D[ends[:, 1], ends[:, 0]] = np.inf
        starts = np.flatnonzero(np.diff(self.tag[cut:], prepend=-1))
        for members in np.split(self.owner[cut:], starts[1:]):
            D[np.ix_(members, members)] = np.inf
        for codes in self.codes:
            named = np.flatnonzero(codes >= 0)
            for u in named.tolist():
                D[u, named[codes[named] != codes[u]]] = np.inf

    def arrays(self) -> Vetoes:
        """The same as the compiled loops take it; fresh, since they write on it."""
        n, n_entries = self.n_units, len(self.tag)
        order = np.argsort(self.owner, kind="stable")
        tag, owner = self.tag[order], self.owner[order]
        count = np.bincount(owner, minlength=n)
        begin = np.concatenate([[0], np.cumsum(count)])
        following = np.arange(1, n_entries + 1)
        following[begin[1:][count > 0] - 1] = -1
        vetoes = Vetoes(
            parent=np.arange(n),
            n_tags=max(1, len(self.tag_row)),
            tag=tag,
            owner=owner,
            following=following,
            first=np.where(count > 0, begin[:-1], -1),
            last=np.where(count > 0, begin[1:] - 1, -1),
            n_carried=count,
            table=np.full(1 << max(3, (4 * n_entries).bit_length()), -1),
            used=np.zeros(1, dtype=np.int64),
            codes=self.codes.copy(),
            load=self.load.copy(),
            cap=float(self.cap),
        )
        fill_table.for_work(4 * n_entries)(vetoes)
        return vetoes


def find_rules(known: Constraints, load: Floats, cap: float) -> Rules:
    """Turn constraints into rules; `load` is that of the items, empty if each counts 1."""
    graph = known.contracted
    n = graph.n_components
    pairs, pair_row = graph.edges()
    unit = np.asarray(graph.component, dtype=np.int64)
    return Rules(
        unit=unit,
        size=np.asarray(graph.sizes),
        tag=np.concatenate([np.repeat(np.arange(len(pairs)), 2), len(pairs) + graph.clique_of()]),
        owner=np.concatenate([pairs.ravel(), graph.clique_nodes]).astype(np.int64),
        tag_row=np.concatenate([pair_row, graph.clique_group]).astype(np.int64),
        n_pair_tags=len(pairs),
        codes=graph.part_codes(),
        across=tuple(position for _, _, position in graph.parts),
        load=np.bincount(unit, load if len(load) else None, n).astype(np.float64),
        # sums of loads are rounded, so that a cluster that is just full is not too full
        cap=cap * (1.0 + 1e-12) if len(load) else cap,
    )
