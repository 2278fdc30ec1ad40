"""The closure written out pair by pair: quadratic, so only on request and behind a limit.

Entailed must-links take the strength of the weakest link on the strongest way, entailed cannot-links that
of the strongest cannot-link between the two components; what was stated keeps its own.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.constraints._model.algebra import entailed
from coterie.constraints._model.closure import label_chains
from coterie.constraints._model.statements import (
    FloatArray,
    IntArray,
    Pairs,
    canonical,
    find_rows,
    plain_pairs,
    stack,
)
from coterie.exceptions import InfeasibleConstraintsError

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints


def closure(c: Constraints, max_pairs: int) -> Constraints:
    """See `Constraints.closure`."""
    graph = c.contracted
    if graph.n_contradictions:
        explanation = c.explain()
        raise InfeasibleConstraintsError(
            f"contradictory constraints have no closure. {explanation}", explanation.conflict
        )
    n_pairs = _count(c)
    if n_pairs > max_pairs:
        raise ValueError(
            f"the closure has up to {n_pairs:,} pairs ({n_pairs * 300 / 1e9:.1f} GB), more than "
            f"max_pairs={max_pairs:,}. `components` and `contracted` say the same in linear space."
        )
    order = np.argsort(graph.component, kind="stable")
    members = np.split(order, np.cumsum(graph.sizes)[:-1])
    hard = c.only_hard()

    ij, weight = _must_pairs(c)
    is_hard = hard.components[ij[:, 0]] == hard.components[ij[:, 1]]
    must = plain_pairs(ij, weight, is_hard, "entailed")
    blocks, strengths = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    for u, v, strength in _apart_edges(c):
        blocks.append(_product(members[u], members[v]))
        strengths.append(np.full(len(blocks[-1]), strength))
    ij = np.concatenate(blocks)
    apart = plain_pairs(ij, np.concatenate(strengths), entailed(hard, ij[:0], ij)[1], "entailed")

    tables = []
    for stated, every in ((c.must_table, must), (c.cannot_table, apart)):
        every = canonical(every, "max")
        rest = every.take(find_rows(stated, every.ij) < 0)
        tables.append(canonical(stack(_strengthened(stated, every), rest), "max"))
    silent = [group for group in c.groups if not group.active]
    return type(c)._from_parts(c.n_items, tables[0], tables[1], silent, c._ids)


def _strengthened(stated: Pairs, every: Pairs) -> Pairs:
    """Stated pairs keep their weight, but those without effect take that of what entails them."""
    row = find_rows(every, stated.ij)
    entailed = row >= 0
    weight, hard = stated.weight.copy(), stated.hard.copy()
    hard[entailed] |= every.hard[row[entailed]]
    silent = entailed & ~stated.active
    weight[silent] = every.weight[row[silent]]
    return replace(stated, weight=weight, hard=hard)


def _count(c: Constraints) -> int:
    """Number of pairs of the closure; what several constraints say is counted for each."""
    graph, sizes = c.contracted, c.contracted.sizes
    count = int((sizes * (sizes - 1)).sum()) // 2 + int(sizes[graph.edges()[0]].prod(axis=1).sum())
    count += sum(_apart_count(sizes[nodes]) for nodes in graph.cliques())
    for nodes, codes, _ in graph.parts:
        count += _apart_count(np.bincount(codes, sizes[nodes]))
    return count


def _apart_count(sizes: Any) -> int:
    return int(sizes.sum() ** 2 - (sizes * sizes).sum()) // 2


def _must_pairs(c: Constraints) -> tuple[IntArray, FloatArray]:
    table = c.must_table
    links, strengths = [table.ij[table.active]], [table.weight[table.active]]
    firm = [table.hard[table.active]]
    for group in c.groups:
        if group.kind == "label" and group.active:
            chain = np.column_stack(label_chains(group))
            links.append(chain)
            strengths.append(np.full(len(chain), _weight(group.weight)))
            firm.append(np.full(len(chain), group.weight is None))
    link, strength, hard = np.concatenate(links), np.concatenate(strengths), np.concatenate(firm)
    # strongest links first, hard before all: where two parts meet, that link is the weakest on the way
    part = {item: [item] for item in np.unique(link).tolist()}
    pairs, weights = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    for row in np.lexsort((-strength, ~hard)).tolist():
        a, b = (part[item] for item in link[row].tolist())
        if a is b:
            continue
        pairs.append(_product(np.array(a), np.array(b)))
        weights.append(np.full(len(pairs[-1]), strength[row]))
        if len(a) < len(b):
            a, b = b, a
        a += b
        part.update(dict.fromkeys(b, a))
    return np.concatenate(pairs), np.concatenate(weights)


def _apart_edges(c: Constraints) -> list[tuple[int, int, float]]:
    """Pairs of components that a constraint keeps apart, with its strength; some occur more than once."""
    component, cannot = c.components, c.cannot_table
    active = cannot.active
    ends = component[cannot.ij[active]]
    # a hard pair of weight 0 has an effect, and so has what follows from it
    weight = np.where(cannot.weight > 0, cannot.weight, 1.0)[active]
    edges = [(u, v, w) for (u, v), w in zip(ends.tolist(), weight.tolist(), strict=True)]
    for group in c.groups:
        if not group.active:
            continue
        node, strength = component[group.items], _weight(group.weight)
        key = np.unique(group.codes * len(component) + node)
        codes, nodes = np.divmod(key, len(component))
        members = [part.tolist() for part in np.split(nodes, np.flatnonzero(np.diff(codes)) + 1)]
        if group.kind == "distinct":
            edges += [(u, v, strength) for part in members for u, v in combinations(part, 2)]
        else:
            edges += [(u, v, strength) for a, b in combinations(members, 2) for u in a for v in b]
    # of parallel edges the strongest
    strongest: dict[tuple[int, int], float] = {}
    for u, v, weight in edges:
        pair = (min(u, v), max(u, v))
        strongest[pair] = max(weight, strongest.get(pair, 0.0))
    return [(u, v, weight) for (u, v), weight in strongest.items()]


def _weight(weight: float | None) -> float:
    return 1.0 if weight is None else weight


def _product(a: IntArray, b: IntArray) -> IntArray:
    return np.column_stack([np.repeat(a, len(b)), np.tile(b, len(a))])
