"""Colouring the cannot-link graph with k colours: the compiled loops, and the graph they work on.

A component may join a cluster (a colour) that none of its cannot-link neighbours is in. The graph is
stated edges plus implicit cliques and partitions, so that a group of a thousand never becomes half
a million edges. Peeling and greedy colouring are linear in what was stated; the exact search
(DSATUR branch and bound, Brelaz 1979) is exponential in the worst case and counts its steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled import kernel
from coterie.constraints._model.closure import Contracted, sparse_graph
from coterie.constraints._model.statements import BoolArray, IntArray

# Cliques up to this size are written out as edges: at most 3.5 edges a member, and cheaper to visit.
_SMALL_CLIQUE = 8
# Rounds over all nodes that look for degrees that fell through implicit edges; the rest stays in the core.
_MAX_PEEL_ROUNDS = 64


class ApartGraph(NamedTuple):
    """Which nodes are apart: explicit edges (CSR), cliques, and partitions, each with its transpose.

    Node v lies in the cliques `node_clique[node_clique_ptr[v]:node_clique_ptr[v + 1]]`, and likewise in
    partition `node_set` with code `node_code`. Codes are numbered across all partitions.
    """

    nodes: IntArray  # the components they stand for
    indptr: IntArray
    indices: IntArray
    node_clique_ptr: IntArray
    node_clique: IntArray
    clique_size: IntArray
    node_across_ptr: IntArray
    node_set: IntArray
    node_code: IntArray
    set_size: IntArray
    code_size: IntArray
    twins: IntArray  # components left out, each free to take the colour of its `twin_of`
    twin_of: IntArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_entries(self) -> int:
        """What a pass over the graph must read."""
        return self.n_nodes + len(self.indices) + len(self.node_clique) + len(self.node_set)

    def degrees(self) -> IntArray:
        """An upper bound on the number of neighbours of each node."""
        degree = np.diff(self.indptr)
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.node_clique_ptr))
        degree = degree + np.bincount(owner, self.clique_size[self.node_clique] - 1, self.n_nodes)
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.node_across_ptr))
        others = self.set_size[self.node_set] - self.code_size[self.node_code]
        degree = degree + np.bincount(owner, others, self.n_nodes)
        return degree.astype(np.int64)

    def n_core_edges(self, inside: BoolArray) -> int:
        """Number of edges among the given nodes if all were written out, parallel ones counted twice."""
        edges = int(inside[self.indices[np.repeat(inside, np.diff(self.indptr))]].sum()) // 2
        cliques = np.bincount(
            self.node_clique[np.repeat(inside, np.diff(self.node_clique_ptr))],
            minlength=len(self.clique_size),
        )
        edges += int((cliques * (cliques - 1) // 2).sum())
        member = np.repeat(inside, np.diff(self.node_across_ptr))
        sets = np.bincount(self.node_set[member], minlength=len(self.set_size))
        codes = np.bincount(self.node_code[member], minlength=len(self.code_size))
        return edges + int((sets * sets).sum() - (codes * codes).sum()) // 2


def apart_graph(contracted: Contracted) -> ApartGraph:
    """The part of the contracted graph that has any edge, renumbered."""
    cliques = contracted.cliques()
    across, twins, twin_of = _without_twins(contracted)
    # a partition with one node a code is a clique
    cliques += [nodes for nodes, codes in across if len(np.unique(codes)) == len(codes)]
    across = [(nodes, codes) for nodes, codes in across if len(np.unique(codes)) < len(codes)]

    stated = np.flatnonzero(np.diff(contracted.indptr))
    nodes = np.unique(np.concatenate([stated, *cliques, *(part[0] for part in across)]))
    number = np.full(contracted.n_components, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))

    edges = [np.column_stack([np.repeat(number, np.diff(contracted.indptr)), number[contracted.indices]])]
    edges += [all_pairs(number[clique]) for clique in cliques if len(clique) <= _SMALL_CLIQUE]
    indptr, indices = edges_csr(len(nodes), np.concatenate(edges))

    large = [number[clique] for clique in cliques if len(clique) > _SMALL_CLIQUE]
    clique_ptr, in_clique = _transpose(len(nodes), large, [np.full(len(c), i) for i, c in enumerate(large)])
    members, codes, n_codes = [number[part[0]] for part in across], [], 0
    for _, code in across:
        unique, compact = np.unique(code, return_inverse=True)
        codes.append(compact + n_codes)
        n_codes += len(unique)
    across_ptr, in_set = _transpose(len(nodes), members, [np.full(len(c), i) for i, c in enumerate(members)])
    _, with_code = _transpose(len(nodes), members, codes)
    return ApartGraph(
        nodes=nodes,
        indptr=indptr,
        indices=indices,
        node_clique_ptr=clique_ptr,
        node_clique=in_clique,
        clique_size=np.array([len(clique) for clique in large], dtype=np.int64),
        node_across_ptr=across_ptr,
        node_set=in_set,
        node_code=with_code,
        set_size=np.bincount(in_set, minlength=len(across)).astype(np.int64),
        code_size=np.bincount(with_code, minlength=n_codes).astype(np.int64),
        twins=twins,
        twin_of=twin_of,
    )


def _without_twins(contracted: Contracted) -> tuple[list[tuple[IntArray, IntArray]], IntArray, IntArray]:
    """One node a code of those that one partition alone speaks of: the others can copy its colour."""
    tied = np.diff(contracted.indptr) > 0
    tied[contracted.clique_nodes] = True
    n_across = np.zeros(contracted.n_components, dtype=np.int64)
    for nodes, _, _ in contracted.parts:
        n_across[nodes] += 1
    tied |= n_across > 1
    across, twins, twin_of = [], [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for nodes, codes, _ in contracted.parts:
        # a code's tied nodes come first, so the first node of a code is tied if any is
        order = np.lexsort((~tied[nodes], codes))
        nodes, codes = nodes[order], codes[order]
        first = np.concatenate([[True], np.diff(codes) > 0])
        if first.sum() < 2:
            continue
        copies = ~tied[nodes] & ~first
        model = nodes[np.maximum.accumulate(np.where(first, np.arange(len(nodes)), 0))]
        twins.append(nodes[copies])
        twin_of.append(model[copies])
        across.append((nodes[~copies], codes[~copies]))
    return across, np.concatenate(twins), np.concatenate(twin_of)


def all_pairs(members: IntArray) -> IntArray:
    """All pairs of the given members, each once."""
    return members[np.column_stack(np.triu_indices(len(members), 1))]


def pairs_across(codes: IntArray) -> IntArray:
    """Positions of all pairs of different codes, in a sorted list of codes."""
    # each position meets all that stand behind the end of its code
    end = np.searchsorted(codes, codes, side="right")
    n_met = len(codes) - end
    met = np.arange(n_met.sum()) - np.repeat(np.cumsum(n_met) - n_met, n_met) + np.repeat(end, n_met)
    return np.column_stack([np.repeat(np.arange(len(codes)), n_met), met])


def edges_csr(n_nodes: int, edges: IntArray) -> tuple[IntArray, IntArray]:
    """The graph of some edges, which may be given twice (CSR)."""
    nothing = np.zeros(len(edges), dtype=np.int64)
    return sparse_graph(n_nodes, edges, nothing.astype(np.float64), nothing)[:2]


def _transpose(n: int, member: list[IntArray], value: list[IntArray]) -> tuple[IntArray, IntArray]:
    """The values of each of n members (CSR)."""
    empty = [np.empty(0, dtype=np.int64)]
    who, what = np.concatenate(empty + member), np.concatenate(empty + value)
    pointer = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=n))]).astype(np.int64)
    return pointer, what[np.argsort(who, kind="stable")]


def core_edges(
    graph: ApartGraph, inside: BoolArray, *, two_colours: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """Nodes of the core, and its graph written out (CSR over the core's own numbering).

    With two colours a partition has two codes, and a star into each says as much as all its pairs.
    """
    core = np.flatnonzero(inside)
    number = np.full(graph.n_nodes, -1, dtype=np.int64)
    number[core] = np.arange(len(core))
    head = np.repeat(number, np.diff(graph.indptr))
    tail = number[graph.indices]
    edges = [np.column_stack([head, tail])[(head >= 0) & (tail > head)]]

    owner = np.repeat(number, np.diff(graph.node_clique_ptr))
    starts, members = _transpose(len(graph.clique_size), [graph.node_clique[owner >= 0]], [owner[owner >= 0]])
    edges += [all_pairs(clique) for clique in np.split(members, starts[1:-1]) if len(clique) > 1]

    owner = np.repeat(number, np.diff(graph.node_across_ptr))
    for position in range(len(graph.set_size)):
        here = (owner >= 0) & (graph.node_set == position)
        code = graph.node_code[here]
        order = np.argsort(code, kind="stable")
        member, code = owner[here][order], code[order]
        if two_colours and len(member):
            split = np.searchsorted(code, code[0], side="right")
            first, second = member[:split], member[split:]
            edges += [np.column_stack([np.full(len(second), first[0]), second])]
            edges += [np.column_stack([first, np.full(len(first), s)]) for s in second[:1]]
            continue
        edges.append(member[pairs_across(code)])
    return core, *edges_csr(len(core), np.concatenate(edges))


@kernel
def _peel(
    graph: ApartGraph,
    left: tuple[IntArray, IntArray, IntArray],
    k: int,
    max_rounds: int,
    degree: IntArray,
    removed: IntArray,
    order: IntArray,
    stack: IntArray,
) -> int:
    """Delete nodes of degree < k as long as there are any; returns how many, in `order`.

    Written: `left` (members still there of cliques, partitions and codes), `degree` (explicit edges still
    there), `removed`, `order`, `stack`. `removed` is 1 for a node on the stack, 2 for one that is gone.
    """
    indptr, indices, node_clique_ptr, node_clique = graph[1:5]
    node_across_ptr, node_set, node_code = graph[6:9]
    clique_left, set_left, code_left = left
    n = indptr.shape[0] - 1
    count = 0
    for _ in range(max_rounds):
        before = count
        for start in range(n):
            top = 0
            if removed[start] == 0:
                stack[0] = start
                top = 1
            while top > 0:
                top -= 1
                v = stack[top]
                total = degree[v]
                for t in range(node_clique_ptr[v], node_clique_ptr[v + 1]):
                    total += clique_left[node_clique[t]] - 1
                for t in range(node_across_ptr[v], node_across_ptr[v + 1]):
                    total += set_left[node_set[t]] - code_left[node_code[t]]
                if total >= k:
                    removed[v] = 0
                    continue
                removed[v] = 2
                order[count] = v
                count += 1
                for t in range(node_clique_ptr[v], node_clique_ptr[v + 1]):
                    clique_left[node_clique[t]] -= 1
                for t in range(node_across_ptr[v], node_across_ptr[v + 1]):
                    set_left[node_set[t]] -= 1
                    code_left[node_code[t]] -= 1
                for t in range(indptr[v], indptr[v + 1]):
                    w = indices[t]
                    degree[w] -= 1
                    if removed[w] == 0 and degree[w] < k:
                        removed[w] = 1
                        stack[top] = w
                        top += 1
        if count in (before, n):
            break
    return count


def peel(graph: ApartGraph, k: int) -> tuple[IntArray, BoolArray]:
    """Nodes in the order of their deletion, and which remain; in reverse, each finds one of k colours."""
    n = graph.n_nodes
    removed = np.zeros(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    left = graph.clique_size.copy(), graph.set_size.copy(), graph.code_size.copy()
    degree, stack = np.diff(graph.indptr), np.empty(n + 1, dtype=np.int64)
    loop = _peel.for_work(2 * graph.n_entries)
    count = loop(graph, left, k, _MAX_PEEL_ROUNDS, degree, removed, order, stack)
    return order[:count], removed != 2


@kernel
def _colour_in_order(
    graph: ApartGraph,
    k: int,
    order: IntArray,
    colour: IntArray,
    degree: IntArray,
    used: Any,
    row: IntArray,
    first_free: IntArray,
    owner: Any,
    mark: IntArray,
) -> int:
    """Give each node of `order` the first colour that no neighbour has; returns a node that fails, or -1.

    Written: `colour` (in: -1 or a colour already given), `used` (a row of colours for each clique, from
    `row` on), `first_free` (clique), `owner` (partition x colour: the code that holds it), `mark` (colour).
    """
    indptr, indices, node_clique_ptr, node_clique = graph[1:5]
    node_across_ptr, node_set, node_code = graph[6:9]
    n = indptr.shape[0] - 1
    for v in range(n):
        if colour[v] >= 0:
            for t in range(node_clique_ptr[v], node_clique_ptr[v + 1]):
                used[row[node_clique[t]] + colour[v]] = 1
            for t in range(node_across_ptr[v], node_across_ptr[v + 1]):
                owner[node_set[t], colour[v]] = node_code[t]
    for position in range(order.shape[0]):
        v = order[position]
        for t in range(indptr[v], indptr[v + 1]):
            if colour[indices[t]] >= 0:
                mark[colour[indices[t]]] = position
        start = 0
        for t in range(node_clique_ptr[v], node_clique_ptr[v + 1]):
            c = node_clique[t]
            while row[c] + first_free[c] < row[c + 1] and used[row[c] + first_free[c]] == 1:
                first_free[c] += 1
            start = max(start, first_free[c])
        chosen = -1
        # one colour more than neighbours is always enough
        for h in range(start, min(k, degree[v] + 1)):
            if mark[h] == position:
                continue
            free = True
            for t in range(node_clique_ptr[v], node_clique_ptr[v + 1]):
                if used[row[node_clique[t]] + h] == 1:
                    free = False
                    break
            if not free:
                continue
            for t in range(node_across_ptr[v], node_across_ptr[v + 1]):
                held_by = owner[node_set[t], h]
                if held_by >= 0 and held_by != node_code[t]:
                    free = False
                    break
            if free:
                chosen = h
                break
        if chosen < 0:
            return v
        colour[v] = chosen
        for t in range(node_clique_ptr[v], node_clique_ptr[v + 1]):
            used[row[node_clique[t]] + chosen] = 1
        for t in range(node_across_ptr[v], node_across_ptr[v + 1]):
            owner[node_set[t], chosen] = node_code[t]
    return -1


def colour_in_order(graph: ApartGraph, k: int, order: IntArray, colour: IntArray) -> bool:
    """Colour the nodes of `order` greedily, `colour` in place; False where some node has no colour left."""
    degree = graph.degrees()
    n_colours = min(k, int(degree.max(initial=0)) + 1)  # first fit never needs more
    # a clique's row is as long as the colours that its members can take
    width = np.zeros(len(graph.clique_size), dtype=np.int64)
    np.maximum.at(width, graph.node_clique, np.repeat(degree, np.diff(graph.node_clique_ptr)) + 1)
    row = np.concatenate([[0], np.cumsum(np.minimum(width, n_colours))]).astype(np.int64)
    failed = _colour_in_order.for_work(2 * graph.n_entries)(
        graph,
        n_colours,
        order,
        colour,
        degree,
        np.zeros(row[-1], dtype=np.uint8),
        row,
        np.zeros(len(graph.clique_size), dtype=np.int64),
        np.full((len(graph.set_size), n_colours), -1, dtype=np.int64),
        np.full(n_colours, -1, dtype=np.int64),
    )
    return failed < 0
