"""Which items belong together, and what keeps them apart, without writing out the closure.

Must-links and equal labels join items into components by union-find (near-linear; a chain of a
million is fine). Cannot-links then live on the contracted graph, one node a component: stated pairs
as a sparse graph, groups as implicit cliques and partitions. Source: the book, chapter 1,
observations 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from coterie._compiled import kernel
from coterie.constraints._model.statements import FloatArray, Group, IntArray, Pairs, frozen

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints


@kernel
def _join(parent: IntArray, left: IntArray, right: IntArray) -> None:
    """Union-find: `parent` is written, the rest read. A root is its component's smallest item."""
    for t in range(left.shape[0]):
        a = left[t]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = right[t]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    for i in range(parent.shape[0]):
        # a parent never has the larger number, so it is final before its children are reached
        parent[i] = parent[parent[i]]


def join(n_items: int, left: IntArray, right: IntArray) -> IntArray:
    """Component of each item when left[t] and right[t] are joined; numbered by first appearance."""
    root = np.arange(n_items, dtype=np.int64)
    if len(left) * 16 < n_items:  # few links: work on the items they name
        touched, inverse = np.unique(np.concatenate([left, right]), return_inverse=True)
        parent = np.arange(len(touched), dtype=np.int64)
        left, right = inverse[: len(left)], inverse[len(left) :]
        _join.for_work(2 * len(touched))(parent, left, right)
        root[touched] = touched[parent]
    else:
        _join.for_work(n_items + len(left))(root, left, right)
    number = np.cumsum(root == np.arange(n_items)) - 1
    return number[root]


@kernel
def _breadth_first(
    indptr: IntArray, indices: IntArray, root: int, parent: IntArray, depth: IntArray, queue: IntArray
) -> None:
    """Shortest ways from `root`. Written: `parent` (in: -1 everywhere), `depth`, `queue`."""
    queue[0] = root
    parent[root] = root
    depth[root] = 0
    end = 1
    position = 0
    while position < end:
        v = queue[position]
        position += 1
        for t in range(indptr[v], indptr[v + 1]):
            w = indices[t]
            if parent[w] < 0:
                parent[w] = v
                depth[w] = depth[v] + 1
                queue[end] = w
                end += 1
    parent[root] = -1


def shortest_tree(indptr: IntArray, indices: IntArray, root: int) -> tuple[IntArray, IntArray]:
    """Parent and depth of each node of a connected graph in a tree of shortest ways from `root`."""
    n = len(indptr) - 1
    parent, depth, queue = (np.full(n, -1, dtype=np.int64) for _ in range(3))
    _breadth_first.for_work(n + len(indices))(indptr, indices, root, parent, depth, queue)
    return parent, depth


def label_chains(group: Group) -> tuple[IntArray, IntArray]:
    """Links that join the items of each code one to the next: as many as items, not as pairs."""
    order = np.argsort(group.codes, kind="stable")
    items, codes = group.items[order], group.codes[order]
    same = codes[1:] == codes[:-1]
    return items[:-1][same], items[1:][same]


@dataclass(frozen=True, eq=False)
class Contracted:
    """The constraints seen between must-link components.

    Attributes
    ----------
    component : array of shape (n_items,)
        Component of each item, numbered by first appearance.
    indptr, indices, weight : arrays
        The stated cannot-links as a symmetric sparse graph over components (CSR), the weights of
        parallel ones summed.
    pair : array like `indices`
        A row of the cannot-link table that the entry stands for.
    clique_indptr, clique_nodes : arrays
        Sets of components that are apart from one another: the members of a `distinct` group, the labels of
        a set of labels.
    clique_group : array
        Position of the group behind each clique.
    parts : tuple of (nodes, codes, group)
        For each `across` constraint its components and their codes: different codes are apart.
    broken_pairs : array
        Rows of the cannot-link table whose ends must join: contradictions.
    broken_groups : tuple of (group, i, j)
        Position of a group, and two items that it keeps apart although they must join, one entry for each
        neighbouring pair found.
    """

    component: IntArray
    indptr: IntArray
    indices: IntArray
    weight: FloatArray
    pair: IntArray
    clique_indptr: IntArray
    clique_nodes: IntArray
    clique_group: IntArray
    parts: tuple[tuple[IntArray, IntArray, int], ...]
    broken_pairs: IntArray
    broken_groups: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, frozen(value))
        parts = tuple((frozen(nodes), frozen(codes), group) for nodes, codes, group in self.parts)
        object.__setattr__(self, "parts", parts)

    @property
    def n_components(self) -> int:
        """Number of components, single items included."""
        return len(self.indptr) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """Number of items of each component."""
        return frozen(np.bincount(self.component, minlength=self.n_components), np.int64)

    def edges(self) -> tuple[IntArray, IntArray]:
        """The stated cannot-links between components, each once, and a row of the table for each."""
        head = np.repeat(np.arange(self.n_components), np.diff(self.indptr))
        once = head < self.indices
        return np.column_stack([head[once], self.indices[once]]), self.pair[once]

    def clique_of(self) -> IntArray:
        """The clique of each of `clique_nodes`."""
        return np.repeat(np.arange(len(self.clique_group)), np.diff(self.clique_indptr))

    def cliques(self) -> list[IntArray]:
        """The components of each clique."""
        return np.split(self.clique_nodes, self.clique_indptr[1:-1]) if len(self.clique_group) else []

    def part_codes(self) -> IntArray:
        """The code of each component (columns) in each of `parts`; -1 where it has none."""
        found = np.full((len(self.parts), self.n_components), -1, dtype=np.int64)
        for row, (nodes, codes, _) in zip(found, self.parts, strict=True):
            row[nodes] = codes
        return found

    @property
    def n_contradictions(self) -> int:
        """Number of constraints that keep apart what must join."""
        return len(self.broken_pairs) + len(self.broken_groups)


def units_of(known: Constraints, obey: Literal["all", "hard"]) -> tuple[IntArray, IntArray, IntArray]:
    """Items that constraints name, their units (what they join: "all" or the hard ones), and components."""
    items = known.constrained_items
    binding = known if obey == "all" else known.only_hard()
    if not binding:
        return items, np.arange(len(items), dtype=np.int64), items
    component, unit = np.unique(binding.components[items], return_inverse=True)
    return items, unit.astype(np.int64), component


def find_components(n_items: int, must: Pairs, groups: Sequence[Group]) -> IntArray:
    """Components under the active must-links and sets of labels."""
    active = must.ij[must.active]
    left, right = [active[:, 0]], [active[:, 1]]
    for group in groups:
        if group.kind == "label" and group.active:
            a, b = label_chains(group)
            left.append(a)
            right.append(b)
    return join(n_items, np.concatenate(left), np.concatenate(right))


def contract(component: IntArray, cannot: Pairs, groups: Sequence[Group]) -> Contracted:
    """Lift the active cannot-links and groups to components."""
    n_nodes = int(component.max(initial=-1)) + 1
    rows = np.flatnonzero(cannot.active)
    ends = component[cannot.ij[rows]]
    inside = ends[:, 0] == ends[:, 1]
    broken_pairs = rows[inside]
    graph = sparse_graph(n_nodes, ends[~inside], cannot.weight[rows[~inside]], rows[~inside])

    cliques: list[tuple[IntArray, int]] = []
    parts: list[tuple[IntArray, IntArray, int]] = []
    broken_groups: list[tuple[int, int, int]] = []
    for position, group in enumerate(groups):
        if not group.active:
            continue
        nodes = component[group.items]
        i, j = _broken_by(group, nodes)
        broken_groups += [(position, a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        if group.kind == "distinct":
            code, node = np.divmod(np.unique(group.codes * n_nodes + nodes), n_nodes)
            cliques += [(part, position) for part in np.split(node, np.flatnonzero(np.diff(code)) + 1)]
        elif group.kind == "label":
            cliques.append((np.unique(nodes), position))
        else:
            node, code = np.divmod(np.unique(nodes * group.n_codes + group.codes), group.n_codes)
            parts.append((node, code, position))
    cliques = [(nodes, position) for nodes, position in cliques if len(nodes) > 1]
    lengths = np.array([len(nodes) for nodes, _ in cliques], dtype=np.int64)
    return Contracted(
        component=component,
        indptr=graph[0],
        indices=graph[1],
        weight=graph[2],
        pair=graph[3],
        clique_indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        clique_nodes=np.concatenate([np.empty(0, dtype=np.int64), *(nodes for nodes, _ in cliques)]),
        clique_group=np.array([position for _, position in cliques], dtype=np.int64),
        parts=tuple(parts),
        broken_pairs=broken_pairs,
        broken_groups=tuple(broken_groups),
    )


def sparse_graph(
    n_nodes: int, edges: IntArray, weight: FloatArray, row: IntArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Symmetric CSR of undirected edges: parallel edges merged, their weights summed, one row kept."""
    if not len(edges):
        nothing = np.empty(0, dtype=np.int64)
        return np.zeros(n_nodes + 1, dtype=np.int64), nothing, np.empty(0), nothing
    key = edges.min(axis=1) * n_nodes + edges.max(axis=1)
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    low, high = np.divmod(key[starts], n_nodes)
    total = np.add.reduceat(weight[order], starts)
    kept = row[order][starts]

    head, tail = np.concatenate([low, high]), np.concatenate([high, low])
    by_head = np.lexsort((tail, head))
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(head, minlength=n_nodes), out=indptr[1:])
    return indptr, tail[by_head], np.tile(total, 2)[by_head], np.tile(kept, 2)[by_head]


def _broken_by(group: Group, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Neighbouring items of one component that the group keeps apart."""
    order = np.lexsort((group.codes, nodes))
    codes, items = group.codes[order], group.items[order]
    same_code = codes[1:] == codes[:-1]
    apart = same_code if group.kind == "distinct" else ~same_code
    where = np.flatnonzero(apart & (np.diff(nodes[order]) == 0))
    return items[where], items[where + 1]
