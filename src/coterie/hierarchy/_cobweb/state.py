"""State of COBWEB for its compiled loop: the tree of concepts, the items, and who is apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.constraints import Constraints

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Counts = NDArray[np.int32]

# What the counts of nominal values may take.
MOST_BYTES = 4e9


class ConceptTree(NamedTuple):
    """Nodes; node 0 is the root. `first` and `next` list the children of a node (-1: none), in order.

    `weight` is the w of the module's first paragraph, `squares` the sum of the squared `counts`. `code` is
    what a node holds of each `across` constraint (-1: nothing). `stamp` and `foe` help to tell what is legal;
    `birth` tells a node from one that had its number before. `into` is the leaf that has swallowed one (-1:
    none). `kids`, `gains`, `grandkids` and `deeper` are scratch. `state` holds: the next item of the order,
    nodes used so far, the first free one (-1: none), leaves (swallowed ones too), births.
    """

    parent: Index
    first: Index
    next: Index
    size: Index
    weight: Floats
    squares: Index
    counts: Counts
    mean: Floats
    spread: Floats
    code: Index
    stamp: Index
    birth: Index
    foe: Index
    into: Index
    kids: Index
    gains: Floats
    grandkids: Index
    deeper: Floats
    state: Index


class Items(NamedTuple):
    """What is sorted in: `order` of the items, numbers, and nominal values numbered through all columns."""

    order: Index
    numeric: Floats
    nominal: Index
    acuity: float


class ConceptRules(NamedTuple):
    """Who is apart, between must-link components.

    Stated pairs (CSR `indptr`, `indices`; `linked` lists the components that have any), sets of components
    that are apart from one another (`clique_indptr`, `clique_nodes`) with the sets of each component
    (`in_indptr`, `in_cliques`), and the code of each component in each `across` constraint (-1: none).
    """

    component: Index
    indptr: Index
    indices: Index
    linked: Index
    clique_indptr: Index
    clique_nodes: Index
    in_indptr: Index
    in_cliques: Index
    code: Index


def no_tree(n_nodes: int, n_numeric: int, n_values: int, n_across: int) -> ConceptTree:
    """A tree of a root without items, with room for some nodes."""

    def whole(*shape: int) -> Index:
        return np.full((n_nodes, *shape), -1, dtype=np.int64)

    bytes_needed = 4.0 * n_nodes * n_values
    if bytes_needed > MOST_BYTES:
        raise ValueError(
            f"the tree has {n_nodes // 2:,} nodes, and the nominal columns {n_values:,} different values: "
            f"their counts would take {bytes_needed / 1e9:,.0f} GB. Leave out columns in which nearly every "
            "item has a value of its own, such as names."
        )
    return ConceptTree(
        parent=whole(),
        first=whole(),
        next=whole(),
        size=np.zeros(n_nodes, dtype=np.int64),
        weight=np.zeros(n_nodes),
        squares=np.zeros(n_nodes, dtype=np.int64),
        counts=np.zeros((n_nodes, n_values), dtype=np.int32),
        mean=np.zeros((n_nodes, n_numeric)),
        spread=np.zeros((n_nodes, n_numeric)),
        code=whole(n_across),
        stamp=whole(),
        birth=np.zeros(n_nodes, dtype=np.int64),
        foe=whole(),
        into=whole(),
        kids=whole(),
        gains=np.zeros(n_nodes),
        grandkids=whole(),
        deeper=np.zeros(n_nodes),
        state=np.array([0, 1, -1, 0, 1]),
    )


def with_more_room(tree: ConceptTree) -> ConceptTree:
    """The same tree with room for twice as many nodes."""
    n = len(tree.parent)
    larger = no_tree(2 * n, tree.mean.shape[1], tree.counts.shape[1], tree.code.shape[1])
    for name in ConceptTree._fields:
        old: Any = getattr(tree, name)
        getattr(larger, name)[: len(old)] = old
    return larger


def read_statements(known: Constraints) -> ConceptRules:
    """The constraints between components, as the loop asks for them."""
    graph = known.contracted
    order = np.argsort(graph.clique_nodes, kind="stable")
    inside = np.bincount(graph.clique_nodes, minlength=graph.n_components)
    return ConceptRules(
        component=graph.component,
        indptr=graph.indptr,
        indices=graph.indices,
        linked=np.flatnonzero(np.diff(graph.indptr)),
        clique_indptr=graph.clique_indptr,
        clique_nodes=graph.clique_nodes,
        in_indptr=np.concatenate([[0], np.cumsum(inside)]),
        in_cliques=graph.clique_of()[order],
        code=np.ascontiguousarray(graph.part_codes().T),
    )
