"""Advice about pairs as a signed graph over units: weights, a default for pairs not listed, and vetoes.

A unit is a set of items that must be together. Two units weigh what their pairs of items weigh, attracting
above 0 and repelling below; minus infinity, a code or a tag keeps them apart (see `moves`). What labels cost
is the weight of attracting pairs of units that they part and of repelling ones that they join.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie._arrays import Floats, Index
from coterie.constraints import Constraints
from coterie.graph._correlation.moves import Level
from coterie.graph._correlation.search import tag_tables


@dataclass(frozen=True, eq=False)
class SignedGraph:
    """Units and the weights between them.

    Attributes
    ----------
    level : Level
        The graph as the compiled search takes it.
    unit : array of shape (n_items,)
        Unit of each item.
    """

    level: Level
    unit: Index

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.level.size)

    @property
    def is_free(self) -> bool:
        """Whether no two units are kept apart."""
        return not (len(self.level.codes) or len(self.level.tags) or np.isneginf(self.level.excess).any())

    @cached_property
    def edges(self) -> tuple[Index, Index, Floats]:
        """Listed pairs of units (i < j), and what they weigh with the default."""
        level = self.level
        i = np.repeat(np.arange(self.n), np.diff(level.starts))
        upper = i < level.ends
        i, j = i[upper], level.ends[upper]
        return i, j, level.excess[upper] + level.default * level.size[i] * level.size[j]

    def weights(self) -> Floats:
        """All weights as a table of units by units: 0 on the diagonal, minus infinity where two are apart."""
        level = self.level
        table = level.default * np.outer(level.size, level.size)
        i, j, weight = self.edges
        table[i, j] = table[j, i] = weight
        for codes in level.codes:
            named = np.flatnonzero(codes >= 0)
            differ = codes[named][:, None] != codes[named]
            a, b = np.nonzero(differ)
            table[named[a], named[b]] = -np.inf
        for tag in range(len(level.member_starts) - 1):
            members = level.members[level.member_starts[tag] : level.member_starts[tag + 1]]
            table[np.ix_(members, members)] = -np.inf
        np.fill_diagonal(table, 0.0)
        return table

    def cost(self, label: Index) -> float:
        """What labels of units cost; they must keep apart what is apart."""
        i, j, weight = self.edges
        same = label[i] == label[j]
        finite = np.isfinite(weight)
        parted = weight[finite & ~same & (weight > 0)].sum()
        # pairs that are not listed repel: all pairs within clusters, less those that are listed
        level = self.level
        held, own = np.bincount(label, level.size), np.bincount(label, level.size**2)
        within = 0.5 * (held**2 - own).sum()
        listed = (level.size[i] * level.size[j])[same].sum()
        return float(parted - weight[finite & same & (weight < 0)].sum() - level.default * (within - listed))

    def allows(self, label: Index) -> bool:
        """Whether labels keep apart what is apart."""
        level, (i, j, weight) = self.level, self.edges
        if np.isneginf(weight[label[i] == label[j]]).any():
            return False
        for codes in level.codes:
            named = codes >= 0
            pairs = np.unique(np.column_stack([label[named], codes[named]]), axis=0)
            if len(np.unique(pairs[:, 0])) < len(pairs):
                return False
        owner = np.repeat(np.arange(self.n), np.diff(level.tag_starts))
        carried = np.column_stack([label[owner], level.tags])
        return len(np.unique(carried, axis=0)) == len(carried)

    def parts(self) -> list[Index]:
        """Units that attracting pairs hang together; in some best labels no cluster reaches beyond one."""
        i, j, weight = self.edges
        pull = weight > 0
        graph = sparse.coo_matrix((np.ones(pull.sum(), dtype=bool), (i[pull], j[pull])), (self.n, self.n))
        part = connected_components(graph, directed=False)[1]
        order = np.argsort(part, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(part[order])) + 1)

    def only(self, units: Index) -> SignedGraph:
        """The graph among some units, in their order, each an item of its own."""
        # nothing here may take the time of the whole graph: parts come by the ten thousand
        level, by = self.level, np.argsort(units, kind="stable")
        row, at = _entries(level.starts, units)
        column = by[np.searchsorted(units, level.ends[at], sorter=by).clip(max=len(units) - 1)]
        kept = units[column] == level.ends[at]
        edges = level.excess[at[kept]], (row[kept], column[kept])
        small = replace_edges(level, sparse.csr_matrix(edges, (len(units), len(units))))._replace(
            size=level.size[units],
            codes=np.ascontiguousarray(level.codes[:, units]),
        )
        owner, at = _entries(level.tag_starts, units)
        found, tag = np.unique(level.tags[at], return_inverse=True)
        tags = tag_tables(owner, tag, len(units), len(found))
        names = ("tag_starts", "tags", "member_starts", "members")
        return SignedGraph(small._replace(**dict(zip(names, tags, strict=True))), np.arange(len(units)))


def _entries(starts: Index, units: Index) -> tuple[Index, Index]:
    """The entries of some units in lists one after the other: the place of the unit, that of the entry."""
    length = starts[units + 1] - starts[units]
    owner = np.repeat(np.arange(len(units)), length)
    return owner, np.arange(len(owner)) + (starts[units] - np.cumsum(length) + length)[owner]


def replace_edges(level: Level, matrix: Any) -> Level:
    """The same level with other edges, a symmetric CSR matrix."""
    return level._replace(
        starts=matrix.indptr.astype(np.int64), ends=matrix.indices.astype(np.int64), excess=matrix.data
    )


def signed_graph(weights: Any, default: float, hard: Constraints) -> SignedGraph:
    """Contract weights of items (symmetric CSR, no diagonal) by what must hold.

    A stored pair weighs its value, 0 too; all others weigh `default`.
    """
    known = hard.contracted
    unit, n = np.asarray(known.component, dtype=np.int64), known.n_components
    matrix = weights.tocoo()
    a, b = unit[matrix.row], unit[matrix.col]
    apart, _ = known.edges()
    excess = np.where(a == b, 0.0, matrix.data - default)
    i, j = np.concatenate([a, *apart.T]), np.concatenate([b, *apart.T[::-1]])
    excess = np.concatenate([excess, np.full(2 * len(apart), -np.inf)])
    outer = i != j
    merged = sparse.coo_matrix((excess[outer], (i[outer], j[outer])), (n, n)).tocsr()
    size = np.bincount(unit, minlength=n).astype(np.float64)
    tags = tag_tables(
        np.asarray(known.clique_nodes, dtype=np.int64),
        np.asarray(known.clique_of(), dtype=np.int64),
        n,
        int(np.max(known.clique_of(), initial=-1)) + 1,
    )
    empty = np.empty(0, dtype=np.int64)
    codes = np.asarray(known.part_codes(), dtype=np.int64).reshape(-1, n)
    level = Level(empty, empty, empty, size, float(default), codes, *tags)
    return SignedGraph(replace_edges(level, merged), unit)
