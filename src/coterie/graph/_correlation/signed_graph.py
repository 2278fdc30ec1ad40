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
from coterie.constraints._model import StatedPairs
from coterie.graph._correlation.moves import Level
from coterie.graph._correlation.search import tag_tables

# Sums of weights are below this, so that none is infinite.
_MOST_WEIGHT = 1e300


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
        for code in level.codes:
            table[(code[:, None] >= 0) & (code >= 0) & (code[:, None] != code)] = -np.inf
        for members in np.split(level.members, level.member_starts[1:-1]):
            table[np.ix_(members, members)] = -np.inf
        np.fill_diagonal(table, 0.0)
        return table

    @cached_property
    def vetoes(self) -> Any:
        """Which units are apart, as a table."""
        return np.isneginf(self.weights())

    @cached_property
    def _dear(self) -> tuple[Floats, Floats]:
        """What each listed pair costs parted, and joined beyond what all joined pairs cost."""
        i, j, weight = self.edges
        weight, size = np.where(np.isfinite(weight), weight, 0.0), self.level.size
        return np.maximum(weight, 0.0), np.maximum(-weight, 0.0) + self.level.default * size[i] * size[j]

    def cost(self, label: Index) -> float:
        """What labels of units cost; they must keep apart what is apart."""
        (i, j, _), (parted, joined), size = self.edges, self._dear, self.level.size
        listed = np.where(label[i] == label[j], joined, parted).sum()
        within = 0.5 * (np.bincount(label, size) ** 2 - np.bincount(label, size**2)).sum()
        return float(listed - self.level.default * within)

    def allows(self, label: Index) -> bool:
        """Whether labels keep apart what is apart; without a veto no table is made."""
        return self.is_free or not (self.vetoes & (label[:, None] == label)).any()

    @cached_property
    def part(self) -> Index:
        """By attracting pairs units hang together in parts; in some best labels no cluster reaches beyond."""
        i, j, weight = self.edges
        pull = weight > 0
        graph = sparse.coo_matrix((np.ones(pull.sum(), dtype=bool), (i[pull], j[pull])), (self.n, self.n))
        return np.asarray(connected_components(graph, directed=False)[1])

    def parts(self) -> list[Index]:
        """The units of each part of more than one."""
        size = np.bincount(self.part)
        order = np.argsort(self.part, kind="stable")
        order = order[size[self.part[order]] > 1]
        return np.split(order, np.cumsum(size[size > 1])[:-1]) if len(order) else []

    def only(self, units: Index) -> SignedGraph:
        """The graph among some units, in their order, each an item of its own."""
        if np.array_equal(units, np.arange(self.n)):
            return self
        level, place = self.level, np.full(self.n, -1)
        place[units] = np.arange(len(units))
        owner = place[np.repeat(np.arange(self.n), np.diff(level.tag_starts))]
        tags, n_tags = (owner[owner >= 0], level.tags[owner >= 0]), len(level.member_starts) - 1
        edges = sparse.csr_matrix((level.excess, level.ends, level.starts), (self.n, self.n))
        return SignedGraph(
            Level(
                *_csr(edges[units][:, units].sorted_indices()),
                level.size[units],
                level.default,
                np.ascontiguousarray(level.codes[:, units]),
                *tag_tables(*tags, len(units), n_tags),
            ),
            np.arange(len(units)),
        )


def _csr(matrix: Any) -> tuple[Index, Index, Floats]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def refuse_huge(weights: Any, name: str, beside: float = 0.0) -> None:
    """Refuse finite numbers whose sums are none; `beside` is the size of others."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.abs(np.where(np.isinf(weights), 0.0, weights)).sum() + beside
    if not total < _MOST_WEIGHT:
        raise ValueError(
            f"the weights of {name} add up to infinity, or nearly so; divide them all by one number."
        )


def signed_graph(weights: Any, default: float, hard: Constraints, votes: Any = None) -> SignedGraph:
    """Contract weights of items (symmetric CSR, no diagonal) by what must hold.

    A stored pair weighs its value, 0 too; all others weigh `default`. `votes` are pairs and what they weigh
    beside.
    """
    known, cells = hard.contracted, weights.tocoo()
    unit, n = np.asarray(known.component, dtype=np.int64), known.n_components
    i, j, total, excess = cells.row, cells.col, cells.data, cells.data - default
    if votes is not None:
        (a, b), extra = votes[0].T, votes[1]
        ends = np.concatenate([i, a, b]), np.concatenate([j, b, a])
        # what a pair weighs in all, and whether it is listed: else it weighs the default, too
        total, listed = (
            sparse.coo_matrix((np.concatenate([first, rest, rest]), ends), weights.shape).tocsr()
            for first, rest in ((cells.data, extra), (np.ones(len(i)), np.zeros(len(extra))))
        )
        excess, cells = total.data - default * listed.data, total.tocoo()
        i, j, total = cells.row, cells.col, total.data
    refuse_huge(total, "pairs", beside=-default * len(unit) ** 2)
    apart = known.edges()[0]
    excess = np.concatenate([excess, np.full(2 * len(apart), -np.inf)])
    a, b = np.concatenate([unit[i], *apart.T]), np.concatenate([unit[j], *apart.T[::-1]])
    outer = a != b
    merged = sparse.coo_matrix((excess[outer], (a[outer], b[outer])), (n, n)).tocsr()
    cliques = np.asarray(known.clique_of(), dtype=np.int64)
    nodes = np.asarray(known.clique_nodes, dtype=np.int64)
    codes = np.asarray(known.part_codes(), dtype=np.int64).reshape(-1, n)
    tags = tag_tables(nodes, cliques, n, int(np.max(cliques, initial=-1)) + 1)
    size = np.bincount(unit, minlength=n).astype(np.float64)
    return SignedGraph(Level(*_csr(merged), size, float(default), codes, *tags), unit)


def votes_of(pairs: StatedPairs, weight: float = 1.0) -> tuple[Index, Floats]:
    """Stated pairs as `signed_graph` takes them: what is stated twice has two."""
    return pairs.ij, weight * np.where(pairs.cannot, -pairs.strength, pairs.strength)


def graph_of_pairs(n: int, hard: Constraints, *votes: tuple[Index, Floats]) -> SignedGraph:
    """The graph in which votes are all there is."""
    pairs, weight = (np.concatenate(parts) for parts in zip(*votes, strict=True))
    return signed_graph(sparse.csr_matrix((n, n)), 0.0, hard, (pairs, weight))
