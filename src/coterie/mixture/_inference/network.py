"""Constraints as a Markov random field: units of items that share a label, and couplings between them.

Must-links that hold are contracted into units (chunklets). What is left between two units is one number, the
coupling: what it is worth, in log-odds, that their labels are equal; minus infinity forbids it. Labels clamp
a unit: the h-th class, in sorted order, is label h (of several sets of labels, the longest one clamps).
With two labels a forbidden coupling says that one label is the other's opposite, so both ends become one
unit in which some items are flipped: such networks need no couplings at all. Groups are written out as
couplings between units, up to a limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie._arrays import Floats, Index
from coterie.base import naming_group
from coterie.constraints import Constraints, Group, Pairs
from coterie.constraints._feasible import pairs_across
from coterie.constraints._model import MOST_GROUP_PAIRS, NO_PAIRS, find_components, stated_pairs, units_of
from coterie.exceptions import UnsupportedConstraintError

# A soft constraint is worth so many nats at most, so that what the items say is not rounded away beside it.
MOST_WORTH = 1e6
Coupling = Callable[[Pairs, Literal[1, -1]], Floats]


@dataclass(frozen=True, eq=False)
class Network:
    """Units, their couplings and clamps.

    Attributes
    ----------
    k : int
        Number of labels.
    items : array
        The items that constraints name, sorted; all others are free.
    unit, flip : arrays like `items`
        The unit of each, and whether its label is the unit's opposite (two labels only).
    n_units : int
        Number of units.
    ends, beta : arrays of shape (m, 2) and (m,)
        Couplings, each once.
    clamp : array of shape (n_units,)
        The label that a unit has for sure, -1 if none.
    exponent : array of shape (n_units, 2)
        How often the prior of the unit's label counts, and of the opposite label.
    constant, held_constant : float
        What couplings inside units are worth in any case: those of no clamped unit, and the others.
    cut : array of shape (m', 2)
        Couplings that were left out.
    """

    k: int
    items: Index
    unit: Index
    flip: NDArray[np.bool_]
    n_units: int
    ends: Index
    beta: Floats
    clamp: Index
    exponent: Floats
    constant: float
    held_constant: float
    cut: Index = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    def gather(self, rows: Floats) -> Floats:
        """Sum rows of the items, one column a label, to rows of the units."""
        if self.flip.any():
            rows = np.where(self.flip[:, None], rows[:, ::-1], rows)
        if self.n_units == len(self.items):  # every unit is one item
            out = np.empty_like(rows)
            out[self.unit] = rows
            return out
        ones = np.ones(len(self.items))
        shape = self.n_units, len(self.items)
        places = np.arange(len(self.items))
        return sparse.csr_matrix((ones, (self.unit, places)), shape) @ rows

    def to_items(self, rows: Floats) -> Floats:
        """Give each item the row of its unit."""
        rows = rows[self.unit]
        return np.where(self.flip[:, None], rows[:, ::-1], rows) if self.flip.any() else rows

    def prior(self, log_weights: Floats) -> Floats:
        """Log prior of each label of each unit."""
        own = self.exponent[:, :1] * log_weights
        return own + self.exponent[:, 1:] * log_weights[::-1] if self.flip.any() else own

    def counts(self, marginals: Floats) -> Floats:
        """How often each label is drawn from the prior, expected."""
        total = self.exponent[:, 0] @ marginals
        return total + (self.exponent[:, 1] @ marginals)[::-1] if self.flip.any() else total

    def in_pieces(self, largest: int) -> Network:
        """The same without some couplings, so that no connected piece has more units; the strongest stay."""
        parent = list(range(self.n_units))
        size = [1] * self.n_units

        def root(u: int) -> int:
            while parent[u] != u:
                parent[u] = parent[parent[u]]
                u = parent[u]
            return u

        # a coupling with a clamped unit ties nothing together
        kept = np.asarray((self.clamp[self.ends] >= 0).any(axis=1))
        for row in np.argsort(-np.abs(self.beta), kind="stable").tolist():
            u, v = (root(end) for end in self.ends[row].tolist())
            if kept[row] or u == v:
                kept[row] = True
            elif size[u] + size[v] <= largest:
                kept[row] = True
                parent[v] = u
                size[u] += size[v]
        return replace(self, ends=self.ends[kept], beta=self.beta[kept], cut=self.ends[~kept])

    def labelled(self) -> tuple[Index, Index]:
        """Items whose label is known for sure, and the label."""
        label = self.clamp[self.unit]
        label = np.where(self.flip & (label >= 0), 1 - label, label)
        return self.items[label >= 0], label[label >= 0]


def read_network(
    known: Constraints,
    k: int,
    *,
    obey: Literal["all", "hard"],
    coupling: Coupling | None = None,
    group_coupling: tuple[float, float] = (1.0, 1.0),
    sampling: Literal["chunklet", "point"] = "point",
    only_matching: bool = False,
) -> Network:
    """Read what is known.

    Parameters
    ----------
    known : Constraints
        What is known.
    k : int
        Number of labels.
    obey : {"all", "hard"}
        Whether every constraint is binding, or the hard ones alone.
    coupling : callable, optional
        Gives the worth of soft pairs (a table of them, and 1 for must-links, -1 for cannot-links), not
        negative.
    group_coupling : pair of floats
        Worth of a must-link and of a cannot-link that a soft group of weight 1 stands for.
    sampling : {"chunklet", "point"}
        Whether the prior draws a label once for each chunklet, or once for each item.
    only_matching : bool
        Whether to keep no more forbidden couplings than touch every unit once at most.
    """
    items, unit, component = units_of(known, obey)
    binding = known if obey == "all" else known.only_hard()
    n_units = len(component)
    named = naming_group(binding)
    clamp = np.full(n_units, -1, dtype=np.int64)
    if named is not None:
        group = binding.groups[named]
        clamp[unit[np.searchsorted(items, group.items)]] = group.ranks()[group.codes]
    forbidden = _forbidden(binding, component, named)
    if only_matching:
        forbidden = forbidden[_matching(n_units, forbidden)]
    soft, worth = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if obey == "hard":
        pairs, worth = _soft(known, coupling, group_coupling)
        soft = unit[np.searchsorted(items, pairs)]
    # what a label joins was drawn apart: only must-links make one draw out of many
    chunklet = items if sampling == "point" else find_components(known.n_items, binding.must_table, ())[items]
    size = np.bincount(unit[np.unique(chunklet, return_index=True)[1]], minlength=n_units)
    exponent = np.column_stack([size, np.zeros(n_units)])
    flip = np.zeros(n_units, dtype=bool)
    if k == 2 and len(forbidden):
        joined, flip = _parity(n_units, forbidden)
        n_units = int(joined.max()) + 1
        whole = np.zeros((n_units, 2))
        np.add.at(whole, (joined, flip.astype(np.int64)), exponent[:, 0])
        held = np.full(n_units, -1, dtype=np.int64)
        sure = clamp >= 0
        held[joined[sure]] = np.where(flip[sure], 1 - clamp[sure], clamp[sure])
        exponent, clamp = whole, held
        forbidden = forbidden[:0]
    else:
        joined = np.arange(n_units)
    # an opposite end turns "equal" into "not equal": the coupling changes its sign
    flipped = flip[soft[:, 0]] != flip[soft[:, 1]]
    ends = joined[soft]
    inside = ends[:, 0] == ends[:, 1]
    at_clamp = np.asarray((clamp[ends] >= 0).any(axis=1))
    sure = np.where(flipped != inside, worth, 0.0)
    ends = np.concatenate([ends[~inside], forbidden])
    beta = np.concatenate([np.where(flipped, -worth, worth)[~inside], np.full(len(forbidden), -np.inf)])
    ends, beta = _merged(ends, beta)
    return Network(
        k=k,
        items=items,
        unit=joined[unit].astype(np.int64),
        flip=flip[unit],
        n_units=n_units,
        ends=ends,
        beta=beta,
        clamp=clamp,
        exponent=exponent,
        constant=float(sure[~at_clamp].sum()),
        held_constant=float(sure[at_clamp].sum()),
    )


def _forbidden(binding: Constraints, component: Index, named: int | None) -> Index:
    """Pairs of units that never share a label; those that the clamps of group `named` keep apart left out."""
    found = [np.empty((0, 2), dtype=np.int64)]
    if not binding:
        return found[0]
    graph = binding.contracted
    found.append(graph.edges()[0])
    for nodes, position in zip(graph.cliques(), graph.clique_group.tolist(), strict=True):
        if position != named:
            a, b = np.triu_indices(len(nodes), 1)
            found.append(np.column_stack([nodes[a], nodes[b]]))
    for nodes, codes, position in graph.parts:
        order = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes)
        n_pairs = (len(nodes) ** 2 - int((sizes**2).sum())) // 2
        if n_pairs > MOST_GROUP_PAIRS:
            raise _too_many(binding.groups[position], n_pairs)
        found.append(nodes[order][pairs_across(codes[order])])
    pairs = np.searchsorted(component, np.concatenate(found))
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else pairs


def _too_many(group: Group, n_pairs: int) -> UnsupportedConstraintError:
    return UnsupportedConstraintError(
        f"the {group.kind} constraint on {len(group.items):,} items stands for {n_pairs:,} pairs of units; "
        f"mixtures write them out, up to {MOST_GROUP_PAIRS:,}. Use COPKMeans or PCKMeans, which keep groups "
        "as groups, or state labels instead."
    )


def _soft(
    known: Constraints, coupling: Coupling | None, group_coupling: tuple[float, float]
) -> tuple[Index, Floats]:
    """Soft pairs of items, groups written out, and what it is worth that their labels are equal."""
    pairs, worth = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    signs: tuple[tuple[Pairs, Literal[1, -1]], ...] = (known.must_table, 1), (known.cannot_table, -1)
    for table, sign in signs:
        soft = table.take(table.active & ~table.hard)
        pairs.append(soft.ij)
        worth.append(sign * (soft.strength if coupling is None else coupling(soft, sign)))
    groups = [group for group in known.groups if group.weight is not None and group.active]
    if groups:
        written = stated_pairs(Constraints._from_parts(known.n_items, NO_PAIRS, NO_PAIRS, groups, None))
        pairs.append(written.ij)
        must, cannot = group_coupling
        worth.append(np.where(written.cannot, -cannot, must) * written.strength)
    return np.concatenate(pairs), np.clip(np.concatenate(worth), -MOST_WORTH, MOST_WORTH)


def _parity(n_units: int, forbidden: Index) -> tuple[Index, NDArray[np.bool_]]:
    """Units joined with their opposites, and which of them are the opposite of the joined unit's label."""
    # every unit stands twice, as itself and as its opposite: what forbidden pairs tie together is one unit
    u, v = forbidden.T
    head, tail = np.concatenate([u, u + n_units]), np.concatenate([v + n_units, v])
    graph = sparse.coo_matrix((np.ones(len(head), dtype=np.int8), (head, tail)), (2 * n_units, 2 * n_units))
    piece = connected_components(graph, directed=False)[1]
    own, opposite = piece[:n_units], piece[n_units:]
    # the feasibility of the constraints is checked before: no unit is its own opposite
    _, joined = np.unique(np.minimum(own, opposite), return_inverse=True)
    return joined.astype(np.int64), own > opposite


def _matching(n_units: int, pairs: Index) -> Index:
    """Some pairs that share no unit, taken in order until none is left."""
    taken = np.zeros(n_units, dtype=bool)
    kept = []
    for row, (u, v) in enumerate(pairs.tolist()):
        if not taken[u] and not taken[v]:
            taken[u] = taken[v] = True
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def _merged(ends: Index, beta: Floats) -> tuple[Index, Floats]:
    """Each pair of units once, its couplings added up; what cancels is left out."""
    if not len(ends):
        return ends.reshape(0, 2), beta
    pairs, place = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), beta, len(pairs)).astype(np.float64)
    acts = total != 0
    return np.ascontiguousarray(pairs[acts]), total[acts]
