"""The constrained core: the items that constraints name, joined into units, and how units act on each other.

Must-links that have to hold are contracted: their items form one unit that moves as a whole. What is left
between units is stored in the form that is cheapest to read: pairs as a symmetric CSR graph, groups as rows
of a table that counts, for each cluster, how many of their items it holds. A positive weight is paid when
two units share a cluster, a negative one is won, an infinite one forbids it. So must-links, cannot-links,
labels, `distinct` and `across` are one sum, and a group of a thousand is never half a million pairs. Memory
is linear in what was stated, plus rows x k counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie._arrays import Floats, Index
from coterie.constraints import Constraints, Group
from coterie.constraints._model import join, label_chains, sparse_graph, units_of

# Improvements below this share of what is compared are rounding.
RELATIVE = 1e-12
# A group of up to this many units is written out as pairs: cheaper to visit than a row of counts.
_SMALL_GROUP = 8
# So many cliques are matched to clusters anew, as long as their squared sizes add up to this much work.
_MAX_CLIQUES = 1000
_MAX_MATCHED = 5_000_000


class Acts(NamedTuple):
    """Edges and entries as the compiled loops take them; see `Core`."""

    indptr: Index
    indices: Index
    weight: Floats
    member_ptr: Index
    member_group: Index
    except_group: Index
    member_weight: Floats
    member_count: Index


@dataclass(frozen=True, eq=False)
class Core:
    """Units, and how they act on each other.

    Unit u acts through the edges `indptr[u]:indptr[u + 1]` and its memberships `member_ptr[u]:member_ptr[u +
    1]`. A membership says that `member_count` of the unit's items belong to `member_group`, and what each
    item that the group already has in a cluster costs there; items of `except_group` do not count (-1: all
    do).
    """

    items: Index
    unit: Index
    n_units: int
    indptr: Index
    indices: Index
    weight: Floats
    member_ptr: Index
    member_group: Index
    except_group: Index
    member_weight: Floats
    member_count: Index
    n_groups: int
    group_ptr: Index
    group_unit: Index
    chunklet_ptr: Index
    chunklet_unit: Index
    chunklet_of: Index
    # what is paid in any case: to be added to what edges and rows pay
    constant: float = 0.0
    forbids: bool = False
    # units of which no two may share a cluster, three and more
    cliques: tuple[Index, ...] = ()

    @cached_property
    def acts(self) -> Acts:
        """Edges and entries as the compiled loops take them."""
        return Acts(*(getattr(self, name) for name in Acts._fields))

    @property
    def acting(self) -> NDArray[np.bool_]:
        """Which units have any edge or entry."""
        return (np.diff(self.indptr) > 0) | (np.diff(self.member_ptr) > 0)

    def scaled(self, weight: float) -> Core:
        """The same with every finite weight times `weight`."""
        finite, group = np.isfinite(self.weight), np.isfinite(self.member_weight)
        edges, memberships = self.weight.copy(), self.member_weight.copy()
        edges[finite] *= weight
        memberships[group] *= weight
        return replace(self, weight=edges, member_weight=memberships, constant=self.constant * weight)

    def only_forbidden(self) -> Core:
        """The part that must hold, on the same units."""
        keep = np.isinf(self.weight)
        head = np.repeat(np.arange(self.n_units), np.diff(self.indptr))[keep]
        hard = np.isinf(self.member_weight)
        needed = np.zeros(self.n_groups, dtype=bool)
        needed[self.member_group[hard]] = True
        needed[self.except_group[hard & (self.except_group >= 0)]] = True
        memberships = needed[self.member_group]
        owner = np.repeat(np.arange(self.n_units), np.diff(self.member_ptr))[memberships]
        return replace(
            self,
            indptr=_pointer(head, self.n_units),
            indices=self.indices[keep],
            weight=self.weight[keep],
            member_ptr=_pointer(owner, self.n_units),
            member_group=self.member_group[memberships],
            except_group=self.except_group[memberships],
            member_weight=self.member_weight[memberships],
            member_count=self.member_count[memberships],
            constant=0.0,
        )

    def components(self) -> NDArray[np.int32]:
        """Which units act on each other, directly or through others: the part of each unit."""
        n = self.n_units + self.n_groups
        head = np.concatenate(
            [
                np.repeat(np.arange(self.n_units), np.diff(self.indptr)),
                np.repeat(np.arange(self.n_units), np.diff(self.member_ptr)),
            ]
        )
        tail = np.concatenate([self.indices, self.n_units + self.member_group])
        graph = sparse.csr_matrix((np.ones(len(head), dtype=np.int8), (head, tail)), (n, n))
        return connected_components(graph, directed=False)[1][: self.n_units]


@dataclass
class _Collected:
    """Edges and rows on their way into a `Core`."""

    edges: list[Index] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)
    unit: list[Index] = field(default_factory=list)
    row: list[Index] = field(default_factory=list)
    minus: list[Index] = field(default_factory=list)
    member_weight: list[Floats] = field(default_factory=list)
    mass: list[Index] = field(default_factory=list)
    n_groups: int = 0
    cliques: tuple[Index, ...] = ()

    def add_edges(self, ends: Index, weight: Floats) -> None:
        apart = ends[:, 0] != ends[:, 1]
        self.edges.append(ends[apart])
        self.weights.append(weight[apart])

    def add_memberships(
        self, unit: Index, row: Index, mass: Index, weight: float, minus: Index | None
    ) -> None:
        self.unit.append(unit)
        self.row.append(row)
        self.minus.append(np.full(len(unit), -1, dtype=np.int64) if minus is None else minus)
        self.member_weight.append(weight * mass.astype(np.float64) if weight else np.zeros(len(mass)))
        self.mass.append(mass)

    def add_cliques(self, code: Index, unit: Index, mass: Index, weight: float) -> None:
        """Units of one code act on each other with `weight` for each pair of items; sorted by code."""
        starts = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
        length = np.diff(np.append(starts, len(code)))
        for size in range(2, _SMALL_GROUP + 1):
            first = starts[length == size]
            if not len(first):
                continue
            a, b = np.triu_indices(size, 1)
            left, right = (first[:, None] + a).ravel(), (first[:, None] + b).ravel()
            pairs = np.column_stack([unit[left], unit[right]])
            self.add_edges(pairs, weight * (mass[left] * mass[right]).astype(np.float64))
        large = np.flatnonzero(length > _SMALL_GROUP)
        number = np.full(len(length), -1, dtype=np.int64)
        number[large] = self.n_groups + np.arange(len(large))
        row = np.repeat(number, length)
        kept = row >= 0
        self.add_memberships(unit[kept], row[kept], mass[kept], weight, None)
        self.n_groups += len(large)


def _pointer(owner: Index, n: int) -> Index:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).astype(np.int64)


def build_core(known: Constraints, obey: Literal["all", "hard"]) -> Core:
    """The core of some constraints: every constraint binding, or the hard ones alone and the rest priced."""
    items, unit, component = units_of(known, obey)
    binding = known if obey == "all" else known.only_hard()
    n_units = len(component)
    got = _Collected()
    if binding:
        _add_binding(binding, component, got)
    constant = 0.0
    if obey == "hard":
        constant = _add_priced(known, items, unit, got)

    none = [np.empty(0, dtype=np.int64)]
    edges = np.concatenate([np.empty((0, 2), dtype=np.int64), *got.edges])
    weights = np.concatenate([np.empty(0), *got.weights])
    indptr, indices, weight, _ = sparse_graph(n_units, edges, weights, np.zeros(len(edges), dtype=np.int64))
    owner = np.concatenate(none + got.unit)
    order = np.argsort(owner, kind="stable")
    row = np.concatenate(none + got.row)[order]
    by_row = np.argsort(row, kind="stable")
    member_weight = np.concatenate([np.empty(0), *got.member_weight])[order]
    if obey == "hard" and known.must_table.n + len(known.groups):
        chunklet_ptr, chunklet_unit = _chunklets(known, items, unit, n_units)
    else:
        chunklet_ptr, chunklet_unit = np.zeros(1, dtype=np.int64), none[0]
    chunklet_of = np.full(n_units, -1, dtype=np.int64)
    chunklet_of[chunklet_unit] = np.repeat(np.arange(len(chunklet_ptr) - 1), np.diff(chunklet_ptr))
    return Core(
        items=items,
        unit=unit,
        n_units=n_units,
        indptr=indptr,
        indices=indices,
        weight=weight,
        member_ptr=_pointer(owner, n_units),
        member_group=row,
        except_group=np.concatenate(none + got.minus)[order],
        member_weight=member_weight,
        member_count=np.concatenate(none + got.mass)[order],
        n_groups=got.n_groups,
        group_ptr=_pointer(row, got.n_groups),
        group_unit=owner[order][by_row],
        chunklet_ptr=chunklet_ptr,
        chunklet_unit=chunklet_unit,
        chunklet_of=chunklet_of,
        constant=_rest(constant, weight),
        forbids=bool(np.isinf(weight).any() or np.isinf(member_weight).any()),
        cliques=got.cliques,
    )


def _rest(alone: float, weight: Floats) -> float:
    """Of what is paid when all units are apart, the part that is not due to edges that win by sharing."""
    missed = float(-weight[weight < 0].sum()) / 2.0  # each edge is there twice
    rest = alone - missed
    return 0.0 if abs(rest) <= 1e-12 * missed else rest


def _add_binding(binding: Constraints, component: Index, got: _Collected) -> None:
    """Cannot-links and groups between the components, as prohibitions."""
    graph = binding.contracted
    ends = np.searchsorted(component, graph.edges()[0])
    got.add_edges(ends, np.full(len(ends), np.inf))
    if len(graph.clique_nodes):
        unit = np.searchsorted(component, graph.clique_nodes)
        got.add_cliques(graph.clique_of(), unit, np.ones(len(unit), dtype=np.int64), np.inf)
        cliques = [units for units in np.split(unit, graph.clique_indptr[1:-1]) if len(units) > 2]
        if len(cliques) <= _MAX_CLIQUES and sum(len(units) ** 2 for units in cliques) <= _MAX_MATCHED:
            got.cliques = tuple(cliques)
    for nodes, codes, _ in graph.parts:
        unit = np.searchsorted(component, nodes)
        ones = np.ones(len(unit), dtype=np.int64)
        _, compact = np.unique(codes, return_inverse=True)
        row = got.n_groups + 1 + compact
        got.add_memberships(unit, np.full(len(unit), got.n_groups), ones, np.inf, row)
        got.add_memberships(unit, row, ones, 0.0, None)
        got.n_groups += 2 + int(compact.max())


def _add_priced(known: Constraints, items: Index, unit: Index, got: _Collected) -> float:
    """Soft pairs and groups as prices; returns what is paid when every unit has a cluster of its own."""
    constant = 0.0
    for table, sign in ((known.must_table, -1.0), (known.cannot_table, 1.0)):
        rows = table.active & ~table.hard
        ends = unit[np.searchsorted(items, table.ij[rows])]
        strength = table.strength[rows]
        got.add_edges(ends, sign * strength)
        inside = ends[:, 0] == ends[:, 1]
        constant += float(strength[inside if sign > 0 else ~inside].sum())
    for group in known.groups:
        if group.weight is not None and group.active:
            constant += _add_priced_group(group, unit[np.searchsorted(items, group.items)], got)
    return constant


def _add_priced_group(group: Group, unit: Index, got: _Collected) -> float:
    weight = group.weight
    assert weight is not None
    width = int(unit.max()) + 1
    key, mass = np.unique(group.codes * width + unit, return_counts=True)
    code, member = np.divmod(key, width)
    of_code = _pairs_in(np.bincount(group.codes))  # pairs of one code, and those of them in one unit
    same = _pairs_in(mass)
    if group.kind == "distinct":
        got.add_cliques(code, member, mass, weight)
        return weight * same
    # together costs the weight; of one code it costs nothing (across), or is even won (label)
    alike = -weight if group.kind == "across" else -2.0 * weight
    whole, total = np.unique(unit, return_counts=True)
    got.add_cliques(np.zeros(len(whole), dtype=np.int64), whole, total, weight)
    got.add_cliques(code, member, mass, alike)
    mixed = _pairs_in(total) - same  # of different codes, in one unit
    return weight * (mixed if group.kind == "across" else mixed + of_code - same)


def _pairs_in(counts: Index) -> float:
    return float((counts * (counts - 1) // 2).sum())


def _chunklets(known: Constraints, items: Index, unit: Index, n_units: int) -> tuple[Index, Index]:
    """Units that must-links and equal labels, soft ones too, join: blocks of two units and more."""
    ends = [known.must_link[known.must_table.active]]
    ends += [
        np.column_stack(label_chains(group))
        for group in known.groups
        if group.active and group.kind == "label"
    ]
    # joined on the units, not on all items: these are few
    left, right = unit[np.searchsorted(items, np.concatenate(ends))].T
    chunklet = join(n_units, np.ascontiguousarray(left), np.ascontiguousarray(right))
    order = np.argsort(chunklet, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(chunklet[order]) > 0]))
    length = np.diff(np.append(starts, n_units))
    kept = np.repeat(length > 1, length)
    return np.concatenate([[0], np.cumsum(length[length > 1])]).astype(np.int64), order[kept]


def soft_penalty(known: Constraints, labels: NDArray[Any]) -> float:
    """Summed strength of the soft constraints that a labelling breaks, by definition."""
    broken = known.violations(labels)
    pairs = sum(float(t.strength[~t.hard].sum()) for t in (broken.must_link, broken.cannot_link))
    return pairs + sum(g.n_pairs * g.weight for g in broken.groups if g.weight is not None)


def rotated(units: Index, rng: np.random.RandomState) -> Index:
    """The units from a random place on: their order is kept, since random visits miss the cache."""
    return np.roll(units, -rng.randint(len(units))) if len(units) else units
