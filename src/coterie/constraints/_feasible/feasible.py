"""Can the constraints be met with k clusters? Yes with a witness, no with a certificate, or undecided.

After contraction the question is k-colouring: easy for most real constraint sets, intractable in general (the
book, section 1.3.3; Davidson and Ravi 2005). Steps, cheapest first: contradictions, sizes of implicit
cliques, peeling nodes of degree below k (exact and linear), two-colouring for k = 2, a greedy clique, DSATUR
within a budget, CP-SAT where OR-tools is installed. An answer is never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._notebook import as_html
from coterie._words import count_of
from coterie.constraints._feasible import exact as _exact
from coterie.constraints._feasible.colouring import ApartGraph, apart_graph, colour_in_order, core_edges, peel
from coterie.constraints._feasible.conflict import (
    Conflict,
    Implied,
    conflict_of_group,
    conflict_of_nodes,
    contradiction,
)
from coterie.constraints._model.closure import Contracted
from coterie.constraints._model.statements import BoolArray, Group, IntArray, frozen
from coterie.exceptions import UndecidedError

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Edges of the core that may be written out: their graph takes some 700 MB to build.
_MAX_CORE_EDGES = 2_000_000
# Of the contradictions found, how many are looked at for the shortest explanation.
_LOOKED_AT = 8


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The answer of `Constraints.check`.

    Attributes
    ----------
    status : {"feasible", "infeasible", "undecided"}
        `bool()` gives True or False for the first two and raises `UndecidedError` for the third.
    n_clusters : int
        The number of clusters asked about.
    witness : array of shape (n_items,) or None
        When feasible, a labelling that meets every constraint.
    certificate : Conflict or None
        When infeasible, constraints that cannot all hold.
    reason : str
        Which step decided, or why none did.
    remarks : tuple of str
        What is legal, but perhaps not meant: see `Constraints.remarks`.
    """

    status: _exact.Verdict
    n_clusters: int
    witness: IntArray | None
    certificate: Conflict | None
    reason: str
    remarks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        if self.status == "undecided":
            raise UndecidedError(
                f"It is not decided whether {count_of(self.n_clusters, 'cluster')} are enough: "
                f"{self.reason}. Compare `.status` with 'feasible', or raise `budget`."
            )
        return self.status == "feasible"

    def __str__(self) -> str:
        message = f"{self.status} with {count_of(self.n_clusters, 'cluster')}"
        why = f" ({self.reason})" if self.certificate is None else f": {self.certificate}"
        return "\n".join([message + why, *self.remarks])

    def __repr__(self) -> str:
        return f"<Feasibility: {self}>"

    def _repr_html_(self) -> str:
        return as_html(str(self))


def check(c: Constraints, n_clusters: int, *, nonempty: bool, budget: int) -> Feasibility:
    """See `Constraints.check`."""
    graph = c.contracted
    k = min(n_clusters, max(graph.n_components, 1))  # more clusters than parts change nothing

    def no(conflict: Conflict, reason: str) -> Feasibility:
        return Feasibility("infeasible", n_clusters, None, conflict, reason)

    if graph.n_contradictions:
        return no(first_contradiction(c), "what must join is kept apart, for any number of clusters")
    if nonempty and graph.n_components < n_clusters:
        roots = np.unique(graph.component, return_index=True)[1]
        nothing = np.empty((0, 2), dtype=np.int64)
        return no(
            Conflict("too few groups", n_clusters, nothing, nothing, (), roots, False, c._ids),
            "too few parts",
        )
    conflict = _group_above(c, k)
    if conflict is not None:
        return no(conflict, "too many items are all apart")

    apart, order, inside = peel_to_core(c, k)
    colour = np.full(apart.n_nodes, -1, dtype=np.int64)
    reason = "a greedy order works" if apart.n_nodes else "nothing is kept apart"
    if inside.any():
        outcome = _colour_core(c, apart, inside, k, budget, colour)
        if isinstance(outcome, Feasibility):
            return replace(outcome, n_clusters=n_clusters)
        reason = outcome
    if not colour_in_order(apart, k, order[::-1].copy(), colour):
        raise AssertionError("a peeled part found no cluster")
    return Feasibility("feasible", n_clusters, _witness(graph, apart, colour, k, nonempty), None, reason)


def peel_to_core(c: Constraints, k: int) -> tuple[ApartGraph, IntArray, BoolArray]:
    """What is apart, the nodes that peeling deletes, in order, and which it leaves; the last k is kept."""
    last: Any = c.__dict__.get("_last_peel")  # a fit asks again, for the order
    if last is None or last[0] != k:
        apart = apart_graph(c.contracted)
        last = k, (apart, *peel(apart, k))
        c.__dict__["_last_peel"] = last
    return last[1]


def first_contradiction(c: Constraints) -> Conflict:
    """Of the first contradictions, the one with the shortest way."""
    graph = c.contracted
    found = []
    looked_at = _LOOKED_AT if c.must_table.n < 100_000 else 1
    for row in graph.broken_pairs[:looked_at].tolist():
        i, j = c.cannot_link[row].tolist()
        found.append(contradiction(c, i, j, None))
    for position, i, j in graph.broken_groups[: looked_at - len(found)]:
        group = c.groups[position]
        i, j = _nearest_clash(group, contradiction(c, i, j, None).items)
        names = tuple(group.names[group.codes[np.searchsorted(group.items, item)]] for item in (i, j))
        found.append(contradiction(c, i, j, Implied(group.kind, (i, j), names, False, group.source)))
    return min(found, key=lambda conflict: len(conflict.items))


def _nearest_clash(group: Group, way: IntArray) -> tuple[int, int]:
    """Of the items on a way, the two nearest that the group keeps apart; the rest adds nothing."""
    at = np.minimum(np.searchsorted(group.items, way), len(group.items) - 1)
    coded = np.flatnonzero(group.items[at] == way)
    codes = group.codes[at[coded]]
    if group.kind != "distinct":
        first = int(np.flatnonzero(np.diff(codes))[0])
        return int(way[coded[first]]), int(way[coded[first + 1]])
    order = np.lexsort((coded, codes))
    same = np.flatnonzero(np.diff(codes[order]) == 0)
    best = same[np.argmin(coded[order[same + 1]] - coded[order[same]])]
    return int(way[coded[order[best]]]), int(way[coded[order[best + 1]]])


def _group_above(c: Constraints, k: int) -> Conflict | None:
    """More than k components that one constraint keeps apart from one another, if there are."""
    graph = c.contracted
    lengths = np.diff(graph.clique_indptr)
    if len(lengths) and lengths.max() > k:
        largest = int(np.argmax(lengths))
        start = graph.clique_indptr[largest]
        nodes = graph.clique_nodes[start : start + k + 1]
        return conflict_of_group(c, int(graph.clique_group[largest]), k, nodes)
    for nodes, codes, position in graph.parts:
        unique, first = np.unique(codes, return_index=True)
        if len(unique) > k:
            return conflict_of_group(c, position, k, nodes[first[: k + 1]])
    if k == 1 and len(graph.indices):
        return _clique_conflict(c, k, np.array([np.flatnonzero(np.diff(graph.indptr))[0], graph.indices[0]]))
    return None


def _clique_conflict(c: Constraints, k: int, nodes: IntArray) -> Conflict:
    members = nodes.tolist()
    return conflict_of_nodes(c, "clique", k, members, list(combinations(members, 2)))


def _colour_core(
    c: Constraints, apart: ApartGraph, inside: BoolArray, k: int, budget: int, colour: IntArray
) -> Feasibility | str:
    """Colour what peeling left, in place; returns the reason, or the answer if it is not "feasible"."""
    n_edges = apart.n_core_edges(inside)
    if k > 2 and n_edges > _MAX_CORE_EDGES:
        if colour_in_order(apart, k, np.flatnonzero(inside), colour):
            return "greedy colouring"
        colour[:] = -1
        message = f"the core has {n_edges:,} edges, more than the {_MAX_CORE_EDGES:,} that are searched"
        return Feasibility("undecided", k, None, None, message)

    core, indptr, indices = core_edges(apart, inside, two_colours=k == 2)
    undecided = None
    reason = "two-colouring" if k == 2 else "exact search"
    for component in _exact.connected_components(indptr, indices):
        part_ptr, part_idx = _exact.induced(indptr, indices, component)
        nodes = apart.nodes[core[component]]
        if k == 2:
            cycle, sides = _exact.odd_cycle(part_ptr, part_idx)
            if cycle is not None:
                ring = nodes[cycle].tolist()
                edges = list(zip(ring, [*ring[1:], ring[0]], strict=True))
                conflict = conflict_of_nodes(c, "odd cycle", k, ring, edges)
                return Feasibility("infeasible", k, None, conflict, "two-colouring")
            colour[core[component]] = sides
            continue
        clique = _exact.find_clique(part_ptr, part_idx, k)
        if clique is not None:
            conflict = _clique_conflict(c, k, nodes[clique[: k + 1]])
            return Feasibility("infeasible", k, None, conflict, "too many items are all apart")
        result = _exact.search(part_ptr, part_idx, k, budget)
        budget = max(budget - result.steps, 0)
        if result.verdict == "infeasible":
            kept, edges, minimal = _exact.shrink(part_ptr, part_idx, k, budget)
            members = nodes[kept].tolist()
            named = [(int(nodes[a]), int(nodes[b])) for a, b in edges]
            conflict = conflict_of_nodes(c, "subgraph", k, members, named)
            # proven for the cannot-links; with must-links `explain` looks on
            joined = len(conflict.must_link) or any(fact.together for fact in conflict.implied)
            conflict = replace(conflict, irreducible=minimal and not joined)
            return Feasibility("infeasible", k, None, conflict, "exhaustive search")
        if result.colour is None:
            message = f"a core of {len(component):,} parts was not settled within the budget"
            undecided = Feasibility("undecided", k, None, None, message)
        else:
            colour[core[component]] = result.colour
    return reason if undecided is None else undecided


def _witness(graph: Contracted, apart: ApartGraph, colour: IntArray, k: int, nonempty: bool) -> IntArray:
    of_component = np.zeros(graph.n_components, dtype=np.int32)
    of_component[apart.nodes] = colour
    of_component[apart.twins] = of_component[apart.twin_of]
    if nonempty:
        # any component may move into an empty cluster
        sizes = np.bincount(of_component, minlength=k)
        empty = np.flatnonzero(sizes == 0).tolist()
        for node in range(graph.n_components):
            if not empty:
                break
            if sizes[of_component[node]] > 1:
                sizes[of_component[node]] -= 1
                of_component[node] = empty.pop()
    return frozen(of_component[graph.component])
