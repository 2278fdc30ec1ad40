"""A conflict: constraints that cannot all hold, as arrays for programs and as a sentence for people.

Conflicts are found on the contracted graph and told in the user's constraints: the cannot-links between
components, and inside each component the must-links that tie the ends of these cannot-links together (a
shortest path for two ends, a tree of shortest paths for more). Linear in the component's links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from coterie._compiled import kernel
from coterie._words import count_of
from coterie.constraints._feasible.colouring import edges_csr
from coterie.constraints._model.closure import shortest_tree
from coterie.constraints._model.statements import IntArray, frozen
from coterie.constraints._reading.inputs import Ids, item_name

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

ConflictKind = Literal["contradiction", "odd cycle", "clique", "subgraph", "too few groups"]

_SHOWN = 6  # how many items or pairs a sentence lists before it abbreviates


@dataclass(frozen=True)
class Implied:
    """What a group says about some items.

    Attributes
    ----------
    kind : {"label", "distinct", "across"}
        The kind of group.
    items : tuple of int
        The items: all together, or each apart from each other.
    names : tuple
        The code of each item in that group.
    together : bool
        Which of the two.
    source : str or None
        Who or what said it.
    """

    kind: str
    items: tuple[int, ...]
    names: tuple[object, ...]
    together: bool
    source: str | None = None


@dataclass(frozen=True, eq=False)
class Conflict:
    """Constraints that cannot all hold.

    Attributes
    ----------
    kind : str
        "contradiction" (for any number of clusters), or for `n_clusters` clusters: "odd cycle", "clique",
        "subgraph", "too few groups".
    n_clusters : int or None
        The number of clusters that it holds for; None for every number.
    must_link, cannot_link : arrays of shape (m, 2)
        The pairs of the conflict.
    implied : tuple of Implied
        What groups contribute.
    items : array
        The way through the must-links (contradiction), or one item for each component involved.
    irreducible : bool
        Whether it is proven that the rest can be met once any one of these constraints is dropped.
    """

    kind: ConflictKind
    n_clusters: int | None
    must_link: IntArray
    cannot_link: IntArray
    implied: tuple[Implied, ...]
    items: IntArray
    irreducible: bool
    ids: Ids | None = None

    def __post_init__(self) -> None:
        for name in ("must_link", "cannot_link", "items"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __str__(self) -> str:
        return self.sentence()

    def name(self, item: int) -> str:
        """The user's name of an item."""
        return item_name(self.ids, item)

    def sentence(self) -> str:
        """The conflict in one or two sentences, in the user's ids."""
        message = {
            "contradiction": self._tell_contradiction,
            "odd cycle": self._tell_cycle,
            "clique": self._tell_clique,
            "subgraph": self._tell_subgraph,
            "too few groups": self._tell_too_few,
        }[self.kind]()
        joins = [fact for fact in self.implied if fact.together]
        if joins and self.kind == "contradiction":
            message += " " + " ".join(f"{self._tell_join(fact)}." for fact in joins[:_SHOWN])
        elif self.kind != "contradiction" and (len(self.must_link) or joins):
            message += " (Items that must join count as one.)"
        return message

    def what_to_drop(self) -> str:
        """Which constraints can be dropped to resolve it."""
        if self.kind == "too few groups":
            return "Drop must-links, or ask for fewer clusters."
        n_all = len(self.must_link) + len(self.cannot_link) + len(self.implied)
        of_each = _SHOWN if n_all <= _SHOWN else _SHOWN // 2
        shown = [f"must-link {self._pair(pair)}" for pair in self.must_link[:of_each].tolist()]
        shown += [f"cannot-link {self._pair(pair)}" for pair in self.cannot_link[:of_each].tolist()]
        shown += [self._tell_group(fact) for fact in self.implied[:of_each]]
        listing = ", ".join(shown) + (f", ... ({n_all:,} in all)" if n_all > len(shown) else "")
        clusters = "" if self.n_clusters is None else " Or ask for more clusters."
        if self.irreducible:
            return f"Drop any one of: {listing}.{clusters}"
        return f"Among these at least one must go (not proven irreducible): {listing}.{clusters}"

    def _tell_contradiction(self) -> str:
        first, last = self.name(int(self.items[0])), self.name(int(self.items[-1]))
        way = self._sequence(self.items, self._dash)
        if len(self.cannot_link):
            apart = f"{first} and {last} are cannot-linked"
        else:
            apart = self._tell_apart(next(fact for fact in self.implied if not fact.together))
        return f"{first} must join {last} ({way}), yet {apart}."

    def _tell_cycle(self) -> str:
        ring = np.append(self.items, self.items[0])
        message = self._sequence(ring, self._dash, len(self.items))
        return (
            f"{message} is a ring of {len(self.items):,} that are each apart from the next; "
            "a ring of odd length needs three clusters, and there are only two."
        )

    def _tell_clique(self) -> str:
        clusters = count_of(self.n_clusters or 0, "cluster")
        one_group = len(self.implied) == 1 and len(self.implied[0].items) == len(self.items)
        why = f" ({self._why_apart(self.implied[0])})" if one_group else ""
        apart = "are apart" if len(self.items) == 2 else "are all apart from one another"
        who = self._sequence(self.items, ", " if len(self.items) > 2 else " and ")
        return f"{who} {apart}{why}: {len(self.items):,} for {clusters}."

    def _tell_subgraph(self) -> str:
        n_pairs = len(self.cannot_link) + sum(not fact.together for fact in self.implied)
        return (
            f"{n_pairs:,} constraints keep {len(self.items):,} parts apart "
            f"({self._sequence(self.items, ', ')}), which needs more than "
            f"{count_of(self.n_clusters or 0, 'cluster')}."
        )

    def _tell_too_few(self) -> str:
        return (
            f"Only {count_of(len(self.items), 'part')} remain once must-links are joined, and "
            f"{self.n_clusters} clusters that are not empty were asked for."
        )

    def _tell_apart(self, fact: Implied) -> str:
        return f"{self._sequence(np.array(fact.items), ' and ')} are apart ({self._why_apart(fact)})"

    def _why_apart(self, fact: Implied) -> str:
        named = [str(name) for name in fact.names[:_SHOWN]] + (["..."] if len(fact.names) > _SHOWN else [])
        if fact.kind == "label":
            return f"different labels: {', '.join(named)}"
        if fact.kind == "distinct":
            return f"all of group {named[0]}, of which a cluster holds at most one"
        return f"groups that never share a cluster: {', '.join(named)}"

    def _tell_join(self, fact: Implied) -> str:
        both = " and ".join(self.name(item) for item in fact.items)
        return f"{both} have the same label ({fact.names[0]})"

    def _tell_group(self, fact: Implied) -> str:
        kind = "label" if fact.kind == "label" else f"{fact.kind} group"
        if len(fact.items) > 2:
            return f"the {kind} of one of them"
        return f"the {kind} of {' or of '.join(self.name(item) for item in fact.items)}"

    @property
    def _dash(self) -> str:
        return dash(self.ids)

    def _pair(self, pair: Sequence[int]) -> str:
        return self._dash.join(self.name(item) for item in pair)

    def _sequence(self, items: IntArray, between: str, count: int | None = None) -> str:
        if len(items) <= 2 * _SHOWN:
            return between.join(self.name(item) for item in items.tolist())
        ends = [self.name(item) for item in [*items[:4].tolist(), *items[-2:].tolist()]]
        return between.join([*ends[:4], "...", *ends[4:]]) + f"; {count or len(items):,} items"


def dash(ids: Ids | None) -> str:
    """What joins two names: a dash, with room where the names themselves have one."""
    return "-" if ids is None or not any("-" in str(name) for name in ids.values[:1000]) else " - "


def contradiction(c: Constraints, i: int, j: int, apart: Implied | None) -> Conflict:
    """The conflict between a constraint that keeps i and j apart and the links that join them."""
    pairs, implied, way = _ways_between(c, [i, j])
    stated = np.array([[min(i, j), max(i, j)]], dtype=np.int64)
    return Conflict(
        kind="contradiction",
        n_clusters=None,
        must_link=pairs,
        cannot_link=stated if apart is None else stated[:0],
        implied=(*implied, *([] if apart is None else [apart])),
        items=way,
        irreducible=True,
        ids=c._ids,
    )


def conflict_of_group(c: Constraints, position: int, n_clusters: int, nodes: IntArray) -> Conflict:
    """More components than clusters, all kept apart by one group: one item of each tells it."""
    group = c.groups[position]
    at = np.flatnonzero(np.isin(c.components[group.items], nodes))
    if group.kind == "distinct":
        # of the codes that these components hold, the one that all of them hold
        codes = group.codes[at]
        held = np.unique(np.column_stack([codes, c.components[group.items[at]]]), axis=0)[:, 0]
        at = at[codes == np.argmax(np.bincount(held))]
    first = at[np.unique(c.components[group.items[at]], return_index=True)[1]]
    items = group.items[np.sort(first)]
    names = tuple(group.names[code] for code in group.codes[np.sort(first)].tolist())
    nothing = np.empty((0, 2), dtype=np.int64)
    fact = Implied(group.kind, tuple(items.tolist()), names, together=False, source=group.source)
    return Conflict("clique", n_clusters, nothing, nothing, (fact,), items, True, c._ids)


def conflict_of_nodes(
    c: Constraints,
    kind: ConflictKind,
    n_clusters: int,
    nodes: Sequence[int],
    edges: Sequence[tuple[int, int]],
) -> Conflict:
    """Tell a conflict of the contracted graph in the user's constraints."""
    component = c.components
    # of each group only what concerns these components, by component
    concerned = []
    for group in c.groups:
        at = np.flatnonzero(np.isin(component[group.items], nodes)) if group.active else np.empty(0, np.int64)
        at = at[np.argsort(component[group.items[at]], kind="stable")]
        concerned.append((component[group.items[at]], group.items[at], group.codes[at]))
    cannot: list[tuple[int, int]] = []
    implied: list[Implied] = []
    ends: dict[int, list[int]] = {node: [] for node in nodes}
    for u, v in edges:
        fact = _apart_statement(c, u, v, concerned)
        if isinstance(fact, Implied):
            implied.append(fact)
            i, j = fact.items
        else:
            i, j = fact
            cannot.append(fact)
        ends[u].append(i)
        ends[v].append(j)
    must = [np.empty((0, 2), dtype=np.int64)]
    for terminals in ends.values():
        if len(set(terminals)) > 1:
            pairs, joins, _ = _ways_between(c, sorted(set(terminals)))
            must.append(pairs)
            implied += joins
    return Conflict(
        kind=kind,
        n_clusters=n_clusters,
        must_link=np.concatenate(must),
        cannot_link=np.sort(np.array(cannot, dtype=np.int64).reshape(-1, 2), axis=1),
        implied=tuple(implied),
        items=np.array([ends[node][0] for node in nodes], dtype=np.int64),
        irreducible=kind in ("clique", "odd cycle"),
        ids=c._ids,
    )


def _apart_statement(
    c: Constraints, u: int, v: int, concerned: Sequence[tuple[IntArray, IntArray, IntArray]]
) -> tuple[int, int] | Implied:
    """A constraint that keeps components u and v apart: a cannot-link or a fact, item of u first."""
    graph, component = c.contracted, c.components
    neighbours = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
    found = np.searchsorted(neighbours, v)
    if found < len(neighbours) and neighbours[found] == v:
        a, b = c.cannot_link[graph.pair[graph.indptr[u] + found]].tolist()
        return (a, b) if component[a] == u else (b, a)
    for group, (node, items, codes) in zip(c.groups, concerned, strict=True):
        in_u, in_v = (np.arange(*np.searchsorted(node, [part, part + 1])) for part in (u, v))
        if group.kind == "distinct":
            _, at_u, at_v = np.intersect1d(codes[in_u], codes[in_v], return_indices=True)
        else:
            # one code a component, or there is a contradiction
            at_u = at_v = (
                np.flatnonzero(codes[in_u[:1]] != codes[in_v[:1]]) if len(in_u) * len(in_v) else in_u[:0]
            )
        if len(at_u):
            a, b = in_u[at_u[0]], in_v[at_v[0]]
            names = (group.names[codes[a]], group.names[codes[b]])
            return Implied(group.kind, (int(items[a]), int(items[b])), names, False, group.source)
    raise AssertionError(f"components {u} and {v} are not apart")


def _ways_between(c: Constraints, terminals: Sequence[int]) -> tuple[IntArray, list[Implied], IntArray]:
    """Must-links and labels that tie the terminals together, each needed, and the way from first to last."""
    component, n = c.components, c.n_items
    here = component[terminals[0]]
    active = c.must_table.ij[c.must_table.active]
    links = [active[component[active[:, 0]] == here]]
    label_of: list[tuple[int, int]] = []  # what a virtual node n, n+1, ... stands for: (group, code)
    for position, group in enumerate(c.groups):
        if group.kind != "label" or not group.active:
            continue
        member = component[group.items] == here
        codes = group.codes[member]
        for code in np.unique(codes).tolist():
            items = group.items[member][codes == code]
            links.append(np.column_stack([items, np.full(len(items), n + len(label_of))]))
            label_of.append((position, code))
    edges = np.concatenate(links)
    nodes = np.unique(edges)
    ends = np.searchsorted(nodes, np.asarray(terminals))
    parent, _ = shortest_tree(*edges_csr(len(nodes), np.searchsorted(nodes, edges)), int(ends[0]))

    needed = np.zeros(len(nodes), dtype=np.int64)
    climbed = np.empty(len(nodes), dtype=np.int64)
    for end in ends[1:].tolist():
        height = _climb.for_work(len(nodes))(parent, end, needed, climbed)
    path = nodes[climbed[:height][::-1]]
    kept = np.flatnonzero(needed & (parent >= 0))
    tree = np.column_stack([nodes[parent[kept]], nodes[kept]])
    real = (tree < n).all(axis=1)
    implied = []
    # a label is a virtual node: each item below it in the tree is tied to the one above it
    above = {int(label): int(item) for item, label in tree[~real] if label >= n}
    for label, item in tree[~real].tolist():
        if label >= n:
            position, code = label_of[label - n]
            group = c.groups[position]
            names = (group.names[code], group.names[code])
            implied.append(Implied("label", (above[label], item), names, True, group.source))
    return np.sort(tree[real], axis=1), implied, path[path < n]


@kernel
def _climb(parent: IntArray, start: int, needed: IntArray, climbed: IntArray) -> int:
    """Climb to the root; returns how many nodes were met. Written: `needed` (marked), `climbed`."""
    count = 0
    v = start
    while v >= 0:
        needed[v] = 1
        climbed[count] = v
        count += 1
        v = parent[v]
    return count
