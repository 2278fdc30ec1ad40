"""Exact k-colouring of a small graph: cliques, two-colouring, DSATUR branch and bound, CP-SAT.

What is left after peeling is tiny in real constraint sets. DSATUR (Brelaz 1979) colours the node that sees
the most colours, opens at most one new colour a step (colour symmetry), and counts its steps
against a budget; its state lives in arrays, so that it runs in slices and can be
interrupted. OR-tools, where installed, takes over when the budget is spent.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from coterie._compiled import kernel
from coterie.constraints._feasible.colouring import edges_csr
from coterie.constraints._model.closure import join, shortest_tree
from coterie.constraints._model.statements import IntArray

Verdict = Literal["feasible", "infeasible", "undecided"]

# Neighbours visited between two returns to Python: well under half a second when compiled.
_SLICE = 2_000_000
# Entries of the node x colour table that the search may hold.
_MAX_TABLE = 50_000_000
# Deterministic seconds of CP-SAT for each step of the budget: as much again as our own search took.
_CP_SAT_TIME = 1e-6
# Clauses that a CP-SAT model may have.
_MAX_CLAUSES = 500_000
# Edges of a graph that is worth shrinking to an irreducible one.
_MAX_SHRINK = 2_000
_CLIQUE_STARTS = 30
_CLIQUE_WIDTH = 200


@dataclass
class Colouring:
    """Outcome of a search: a colour for each node when feasible, and the steps it took."""

    verdict: Verdict
    colour: IntArray | None
    steps: int


def find_clique(indptr: IntArray, indices: IntArray, larger_than: int) -> list[int] | None:
    """Look greedily for a clique of more than `larger_than` nodes; None if none was met."""
    degree = np.diff(indptr)
    for start in np.argsort(-degree, kind="stable")[:_CLIQUE_STARTS].tolist():
        if degree[start] < larger_than:
            break
        clique = [start]
        candidates = indices[indptr[start] : indptr[start + 1]]
        while len(candidates):
            # the most connected candidates first; of these the one that keeps most of the others
            candidates = candidates[np.argsort(-degree[candidates], kind="stable")]
            best, kept = -1, np.empty(0, dtype=np.int64)
            for node in candidates[:_CLIQUE_WIDTH].tolist():
                row = indices[indptr[node] : indptr[node + 1]]
                common = np.intersect1d(candidates, row, assume_unique=True)
                if best < 0 or len(common) > len(kept):
                    best, kept = node, common
            clique.append(best)
            candidates = kept
            if len(clique) > larger_than:
                return clique
            if len(clique) + len(candidates) <= larger_than:
                break
    return None


def connected_components(indptr: IntArray, indices: IntArray) -> list[IntArray]:
    """Connected components of the graph, smallest first."""
    n = len(indptr) - 1
    component = join(n, np.repeat(np.arange(n), np.diff(indptr)), indices)
    order = np.argsort(component, kind="stable")
    components = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return sorted(components, key=len)


def induced(indptr: IntArray, indices: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """The graph among `nodes` (sorted), renumbered."""
    number = np.full(len(indptr) - 1, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    head = np.repeat(number, np.diff(indptr))
    tail = number[indices]
    keep = (head >= 0) & (tail >= 0)
    pointer = np.concatenate([[0], np.cumsum(np.bincount(head[keep], minlength=len(nodes)))])
    return pointer.astype(np.int64), tail[keep]


def odd_cycle(indptr: IntArray, indices: IntArray) -> tuple[list[int] | None, IntArray]:
    """Two-colour a connected graph; returns an odd cycle if there is one, and the sides."""
    parent, depth = shortest_tree(indptr, indices, 0)
    side = depth % 2
    head = np.repeat(np.arange(len(side)), np.diff(indptr))
    inside = np.flatnonzero(side[head] == side[indices])
    if not len(inside):
        return None, side
    # the edge nearest to the root gives a short ring
    edge = inside[np.argmin(depth[head[inside]] + depth[indices[inside]])]
    a, b = int(head[edge]), int(indices[edge])
    # a and b have the same side: their ways to the root meet, and close an odd cycle with the edge a-b
    way_a, way_b = _way_to_root(parent, a), _way_to_root(parent, b)
    while len(way_a) > 1 and len(way_b) > 1 and way_a[-2] == way_b[-2]:
        way_a.pop()
        way_b.pop()
    return way_a + way_b[-2::-1], side


def _way_to_root(parent: IntArray, node: int) -> list[int]:
    way = [int(node)]
    while parent[way[-1]] >= 0:
        way.append(int(parent[way[-1]]))
    return way


class Branch(NamedTuple):
    """Where the search stands; all of it is written.

    `seen` counts the neighbours of a node by colour, `saturation` the colours among them. `head`, `following`
    and `preceding` are lists of uncoloured nodes by saturation; `chosen`, `next_colour` and `n_used` are the
    branch, by depth; `state` is (depth, 1 when the node at this depth must try its next colour).
    """

    colour: IntArray
    seen: IntArray
    saturation: IntArray
    head: IntArray
    following: IntArray
    preceding: IntArray
    chosen: IntArray
    next_colour: IntArray
    n_used: IntArray
    state: IntArray


@kernel
def _dsatur(indptr: IntArray, indices: IntArray, k: int, max_steps: int, branch: Branch) -> int:
    """Run the search on for at most `max_steps`; 1 feasible, 0 exhausted, -1 out of steps.

    Moves between lists are written out, hence the length: as inlined helpers they cost 40 %.
    """
    colour, seen, saturation, head, following, preceding, chosen, next_colour, n_used, state = branch
    n = indptr.shape[0] - 1
    depth = state[0]
    retry = state[1]
    for _ in range(max_steps):
        if retry == 0:
            if depth == n:
                state[0] = depth
                state[1] = 0
                return 1
            level = k
            while head[level] < 0:
                level -= 1
            v = head[level]
            best_degree = indptr[v + 1] - indptr[v]
            w = following[v]
            while w >= 0:
                d = indptr[w + 1] - indptr[w]
                if d > best_degree or (d == best_degree and w < v):
                    v = w
                    best_degree = d
                w = following[w]
            if preceding[v] >= 0:
                following[preceding[v]] = following[v]
            else:
                head[level] = following[v]
            if following[v] >= 0:
                preceding[following[v]] = preceding[v]
            chosen[depth] = v
            next_colour[depth] = 0
        else:
            v = chosen[depth]
            h = colour[v]
            colour[v] = -1
            for t in range(indptr[v], indptr[v + 1]):
                w = indices[t]
                if colour[w] < 0:
                    seen[w, h] -= 1
                    if seen[w, h] == 0:
                        s = saturation[w]
                        if preceding[w] >= 0:
                            following[preceding[w]] = following[w]
                        else:
                            head[s] = following[w]
                        if following[w] >= 0:
                            preceding[following[w]] = preceding[w]
                        saturation[w] = s - 1
                        following[w] = head[s - 1]
                        preceding[w] = -1
                        if head[s - 1] >= 0:
                            preceding[head[s - 1]] = w
                        head[s - 1] = w
        v = chosen[depth]
        limit = min(n_used[depth] + 1, k)
        h = next_colour[depth]
        while h < limit and seen[v, h] > 0:
            h += 1
        if h == limit:
            # no colour left: the node goes back to its list, the one before tries its next colour
            s = saturation[v]
            following[v] = head[s]
            preceding[v] = -1
            if head[s] >= 0:
                preceding[head[s]] = v
            head[s] = v
            depth -= 1
            retry = 1
            if depth < 0:
                state[0] = depth
                state[1] = retry
                return 0
            continue
        next_colour[depth] = h + 1
        colour[v] = h
        for t in range(indptr[v], indptr[v + 1]):
            w = indices[t]
            if colour[w] < 0:
                seen[w, h] += 1
                if seen[w, h] == 1:
                    s = saturation[w]
                    if preceding[w] >= 0:
                        following[preceding[w]] = following[w]
                    else:
                        head[s] = following[w]
                    if following[w] >= 0:
                        preceding[following[w]] = preceding[w]
                    saturation[w] = s + 1
                    following[w] = head[s + 1]
                    preceding[w] = -1
                    if head[s + 1] >= 0:
                        preceding[head[s + 1]] = w
                    head[s + 1] = w
        n_used[depth + 1] = max(n_used[depth], h + 1)
        depth += 1
        retry = 0
    state[0] = depth
    state[1] = retry
    return -1


def first_branch(order: IntArray, k: int) -> Branch:
    """Nothing is coloured yet; all nodes stand in the list of saturation 0, in this order."""
    n = len(order)
    colour, following, preceding, chosen = (np.full(size, -1) for size in (n, n, n, n + 1))
    following[order[:-1]], preceding[order[1:]] = order[1:], order[:-1]
    head = np.full(k + 1, -1)
    head[0] = order[0]
    seen, saturation, next_colour, n_used, state = (
        np.zeros(shape, dtype=np.int64) for shape in ((n, k), n, n + 1, n + 1, 2)
    )
    return Branch(colour, seen, saturation, head, following, preceding, chosen, next_colour, n_used, state)


def search(indptr: IntArray, indices: IntArray, k: int, budget: int) -> Colouring:
    """Colour a connected graph with k colours, or prove that there is no way, within `budget` steps."""
    n = len(indptr) - 1
    if n * k > _MAX_TABLE:
        return Colouring("undecided", None, 0)
    order = np.argsort(np.diff(indptr), kind="stable")[::-1]
    branch = first_branch(order, k)
    steps = 0
    long_slice = max(1, _SLICE // (1 + len(indices) // n))
    while steps < budget:
        # a short first slice, uncompiled on a small graph, settles most real cases
        slice_steps = min(n + 64 if steps == 0 else long_slice, budget - steps)
        run = _dsatur.for_work(slice_steps * 4 + len(indices) * 4)
        outcome = run(indptr, indices, k, slice_steps, branch)
        steps += slice_steps
        if outcome >= 0:
            verdict: Verdict = "feasible" if outcome else "infeasible"
            return Colouring(verdict, branch.colour if outcome else None, steps)
    return _cp_sat(indptr, indices, k, steps, budget * _CP_SAT_TIME)


def _cp_sat(indptr: IntArray, indices: IntArray, k: int, steps: int, seconds: float) -> Colouring:
    too_large = seconds <= 0 or len(indices) // 2 * k > _MAX_CLAUSES
    if too_large or importlib.util.find_spec("ortools") is None:
        return Colouring("undecided", None, steps)
    from ortools.sat.python import cp_model

    n = len(indptr) - 1
    model = cp_model.CpModel()
    at = [[model.new_bool_var("") for _ in range(k)] for _ in range(n)]
    for row in at:
        model.add_exactly_one(row)
    head = np.repeat(np.arange(n), np.diff(indptr))
    for a, b in zip(head[head < indices].tolist(), indices[head < indices].tolist(), strict=True):
        for h in range(k):
            model.add_bool_or(at[a][h].negated(), at[b][h].negated())
    # colours can be renamed, so the nodes of a clique may be fixed
    for h, node in enumerate((find_clique(indptr, indices, 2) or [])[:k]):
        model.add(at[node][h] == 1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = seconds
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        colour = np.array([[solver.value(x) for x in row] for row in at]).argmax(axis=1)
        return Colouring("feasible", colour.astype(np.int64), steps)
    return Colouring("infeasible" if status == cp_model.INFEASIBLE else "undecided", None, steps)


def shrink(
    indptr: IntArray, indices: IntArray, k: int, budget: int
) -> tuple[IntArray, list[tuple[int, int]], bool]:
    """Delete nodes, then edges, while k colours fail; what is left, and whether no edge can go, proven."""
    n = len(indptr) - 1
    head = np.repeat(np.arange(n), np.diff(indptr))
    edges = np.column_stack([head, indices])[head < indices]
    if len(edges) > _MAX_SHRINK:
        return np.unique(edges), [tuple(edge) for edge in edges.tolist()], False

    def still_needs_more(rest: IntArray) -> bool | None:
        nonlocal budget
        nodes, compact = np.unique(rest, return_inverse=True)
        result = search(*edges_csr(len(nodes), compact.reshape(-1, 2)), k, budget)
        budget -= result.steps
        return None if result.verdict == "undecided" else result.verdict == "infeasible"

    for node in np.argsort(np.diff(indptr), kind="stable").tolist():
        rest = edges[(edges != node).all(axis=1)]
        if len(rest) < len(edges) and budget > 0 and still_needs_more(rest):
            edges = rest
    proven = True
    position = 0
    while position < len(edges) and budget > 0:
        rest = np.delete(edges, position, axis=0)
        verdict = still_needs_more(rest)
        if verdict:
            edges = rest
        else:
            proven &= verdict is False
            position += 1
    return np.unique(edges), [tuple(edge) for edge in edges.tolist()], proven and position == len(edges)
