"""Belief propagation: exact inference where the couplings form trees, by two passes in the log domain.

A message over a coupling needs, for every label, the sum over all other labels: it is built from sums to its
left and right, never as "all minus own", which would cancel where one label dominates. The way down divides
the parent's probabilities by what the child had said, so that nothing is ever subtracted from itself either.
O(k) for each coupling.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from coterie._arrays import Floats, Index
from coterie._compiled import kernel
from coterie.mixture._inference.answer import Answer, normalise, scaled


@kernel
def _others(value: Floats, beta: float, out: Floats) -> None:
    """Log of the sum over the other labels, plus exp(beta) times the own one. Written: `out`."""
    k = value.shape[0]
    first = 0
    for a in range(1, k):
        if value[a] > value[first]:
            first = a
    top = value[first]
    if top == -np.inf:
        for a in range(k):
            out[a] = -np.inf
        return
    second = -np.inf
    for a in range(k):
        if a != first and value[a] > second:
            second = value[a]
    # sums to the left in `out`, to the right in `right`, both relative to the largest
    left = 0.0
    for a in range(k):
        out[a] = left
        left += math.exp(value[a] - top)
    right = 0.0
    for a in range(k - 1, -1, -1):
        out[a] += right
        right += math.exp(value[a] - top)
    rest = 0.0
    if second > -np.inf:
        for a in range(k):
            if a != first:
                rest += math.exp(value[a] - second)
    for a in range(k):
        if a == first:
            others = second + math.log(rest) if rest > 0.0 else -np.inf
        else:
            others = top + math.log(out[a])
        own = value[a] + beta
        if own == -np.inf:
            out[a] = others
        elif others == -np.inf:
            out[a] = own
        elif own > others:
            out[a] = own + math.log1p(math.exp(others - own))
        else:
            out[a] = others + math.log1p(math.exp(own - others))


@kernel
def _two_passes(
    order: Index, parent: Index, beta: Floats, belief: Floats, message: Floats, chance: Floats, log_z: Floats
) -> None:
    """Up to the roots and down again. In: `belief` (potentials). Written: all but the first three.

    `parent` is -1 for a root; `beta[v]` is the coupling to the parent. `log_z[v]` is filled for roots, and
    the chance to agree with the parent goes there for the others.
    """
    n, k = belief.shape
    value = np.empty(k)
    for t in range(n - 1, -1, -1):
        v = order[t]
        p = parent[v]
        if p < 0:
            continue
        _others(belief[v], beta[v], message[v])
        for a in range(k):
            belief[p, a] += message[v, a]
    for t in range(n):
        v = order[t]
        p = parent[v]
        if p < 0:
            top = belief[v].max()
            total = 0.0
            for a in range(k):
                value[a] = belief[v, a] - top if top > -np.inf else -np.inf
                total += math.exp(value[a])
            log_total = math.log(total) if total > 0.0 else -np.inf
            log_z[v] = top + log_total
            for a in range(k):
                chance[v, a] = value[a] - log_total
            continue
        for a in range(k):
            known = chance[p, a] > -np.inf and message[v, a] > -np.inf
            value[a] = chance[p, a] - message[v, a] if known else -np.inf
        _others(value, beta[v], chance[v])
        together = 0.0
        for a in range(k):
            if value[a] > -np.inf and belief[v, a] > -np.inf:
                together += math.exp(value[a] + belief[v, a] + beta[v])
            chance[v, a] = chance[v, a] + belief[v, a] if belief[v, a] > -np.inf else -np.inf
        log_z[v] = together


class Forest:
    """Exact inference on a forest: a `Part` whose couplings form no cycle."""

    def __init__(self, n: int, k: int, ends: Index, beta: Floats) -> None:
        self.n, self.k, self.beta = n, k, beta
        self.order, self.parent = rooted(n, ends)
        child = np.where(self.parent[ends[:, 0]] == ends[:, 1], ends[:, 0], ends[:, 1])
        self.child: Index = child
        self.roots: Index = np.flatnonzero(self.parent < 0)

    def infer(self, potential: Floats, scale: float = 1.0) -> Answer:
        """Probabilities under potentials, and log Z."""
        belief = np.array(potential, dtype=np.float64, order="C")
        if not len(self.beta):
            chance, log_sum = normalise(belief)
            return Answer(chance, float(log_sum.sum()), np.empty(0), log_sum)
        coupling = np.zeros(self.n)
        coupling[self.child] = scaled(self.beta, scale)
        message, chance, log_z = np.zeros_like(belief), np.empty_like(belief), np.empty(self.n)
        passes = _two_passes.for_work(8 * belief.size)
        passes(self.order, self.parent, coupling, belief, message, chance, log_z)
        marginals = np.exp(chance)
        total = marginals.sum(axis=1, keepdims=True)
        np.divide(marginals, total, out=marginals, where=total > 0)  # rounding
        by_root = np.zeros(self.n)
        by_root[self.roots] = log_z[self.roots]
        return Answer(marginals, float(by_root.sum()), np.minimum(log_z[self.child], 1.0), by_root)


def rooted(n: int, ends: Index) -> tuple[Index, Index]:
    """An order in which parents come first, and the parent of each unit (-1: a root), of a forest."""
    # a node more is tied to one unit of every tree, so that one walk finds them all
    ones = np.ones(len(ends), dtype=np.int8)
    graph = sparse.coo_matrix((ones, (ends[:, 0], ends[:, 1])), (n, n))
    tree = connected_components(graph, directed=False)[1]
    root = np.unique(tree, return_index=True)[1]
    head = np.concatenate([ends[:, 0], np.full(len(root), n)])
    tail = np.concatenate([ends[:, 1], root])
    whole = sparse.coo_matrix((np.ones(len(head), dtype=np.int8), (head, tail)), (n + 1, n + 1)).tocsr()
    order, parent = breadth_first_order(whole, n, directed=False, return_predecessors=True)
    parent = np.where(parent[:n] == n, -1, parent[:n])
    return order[1:].astype(np.int64), parent.astype(np.int64)
