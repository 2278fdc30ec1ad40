"""`hard_pairs`: the cheapest labels found under which every constraint holds.

A start is built greedily; where greedy runs into a dead end, the colouring that `Constraints.check` found
takes its place, its colours matched to the clusters by the Hungarian method. So a feasible problem is never
answered by a failure. Then the search of `_hard` lowers the cost, or `_exact` finds the least.
"""

from __future__ import annotations

import heapq
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core.assignment import (
    Assignment,
    own_costs,
    read_costs,
    read_labels,
    to_units,
    unit_costs,
)
from coterie.assign._core.core import Core, build_core, rotated
from coterie.assign._core.counts import to_cheapest
from coterie.assign._core.solver import CoreSolver, Scores
from coterie.assign._hard.search import HardSearch
from coterie.constraints import Constraints
from coterie.constraints._feasible import core_edges, peel_to_core
from coterie.exceptions import DeadEndError, InfeasibleConstraintsError, UndecidedError

Method = Literal["local", "greedy", "exact"]
Order = Literal["degeneracy", "random", "input"]

# Random orders that are tried where it is not known whether the constraints can be met.
_TRIES = 20
# Edges of what peeling left that are ordered once more.
_MAX_ORDERED = 100_000


def _smallest_last(indptr: Index, indices: Index) -> Index:
    """Nodes in an order in which few of a node's neighbours come before it."""
    degree = np.diff(indptr)
    heap = list(zip(degree.tolist(), range(len(degree)), strict=True))
    heapq.heapify(heap)
    gone = np.zeros(len(degree), dtype=bool)
    order = []
    while heap:
        d, node = heapq.heappop(heap)
        if gone[node] or d > degree[node]:
            continue
        gone[node] = True
        order.append(node)
        for other in indices[indptr[node] : indptr[node + 1]].tolist():
            if not gone[other]:
                degree[other] -= 1
                heapq.heappush(heap, (int(degree[other]), other))
    return np.array(order[::-1], dtype=np.int64)


class HardSolver(CoreSolver):
    """Labels of the units of a core under constraints that must all hold; one for all passes of a fit.

    Passes of a fit go by `method`: "local" and "exact" never go up, "greedy" may. `literal` is greedy too, as
    the book has it: items in random order, the first visited of a component decides for all of it.
    """

    def __init__(
        self,
        known: Constraints,
        core: Core,
        k: int,
        *,
        budget: int,
        rng: np.random.RandomState,
        nonempty: bool = False,
        method: Method = "local",
        order: Order = "degeneracy",
        literal: bool = False,
    ) -> None:
        self.known, self.core, self.k = known, core, k
        self.method, self.by, self.literal = method, order, literal
        self.may_rise = literal or method == "greedy"
        self.budget, self.rng, self.nonempty = budget, rng, nonempty
        self.search = HardSearch(core, k)
        acting = core.acting
        self.acting: Index = np.flatnonzero(acting)
        self.idle: Index = np.flatnonzero(~acting)
        self._kernel: tuple[Index, Index] | None = None

    def order(self, how: Order) -> Index:
        """The units that act on each other, in the order in which greedy takes them."""
        if how == "input":
            return self.acting
        if how == "random":
            return self.rng.permutation(self.acting)
        return np.concatenate(self._peeled_to_core())

    def _peeled_to_core(self) -> tuple[Index, Index]:
        """Units that peeling left, and the others in an order in which each finds a place."""
        if self._kernel is None:
            apart, order, inside = peel_to_core(self.known, self.k)
            component = np.empty(self.core.n_units, dtype=np.int64)
            component[self.core.unit] = self.known.components[self.core.items]
            left = np.flatnonzero(inside)
            if 0 < apart.n_core_edges(inside) <= _MAX_ORDERED:
                # peeling counts a pair that is stated twice as two: here each is written out once
                left, indptr, indices = core_edges(apart, inside, two_colours=False)
                left = left[_smallest_last(indptr, indices)]
            core = np.searchsorted(component, apart.nodes[left])
            easy = np.searchsorted(component, np.concatenate([apart.nodes[order[::-1]], apart.twins]))
            # a group of one code, say, acts on nobody in the end
            rest = self.core.acting
            rest[core] = rest[easy] = False
            self._kernel = core, np.concatenate([easy, np.flatnonzero(rest)])
        return self._kernel

    def greedy(self, cost: Floats, order: Index) -> Labels:
        """One pass; raises `DeadEndError` where a unit finds no place."""
        stuck = self.search.greedy(cost, order)
        if stuck >= 0:
            item = self.core.items[np.argmax(self.core.unit == stuck)]
            raise DeadEndError(
                f"Every one of the {self.k} clusters already holds an item that item "
                f"{self.known.item_name(item)} cannot join, in the order taken. That does not mean that "
                'the constraints cannot be met: the "local" assignment finds a way where there is one.'
            )
        return self._with_the_rest(cost, self.search.labels)

    def first(self, cost: Floats) -> Labels:
        """A legal start, whatever it takes."""
        core, easy = self._peeled_to_core()
        if self.search.greedy(cost, np.concatenate([core, easy])) < 0:
            return self._with_the_rest(cost, self.search.labels)
        answer = self.known.check(self.k, nonempty=self.nonempty, budget=self.budget)
        if answer.certificate is not None:
            message = f"{answer.certificate} {answer.certificate.what_to_drop()}"
            raise InfeasibleConstraintsError(message, answer.certificate)
        if answer.witness is not None:
            colour = to_units(self.core, answer.witness.astype(np.int32))
            match_cost = np.zeros((self.k, self.k))
            np.add.at(match_cost, colour[core], cost[core])
            match = linear_sum_assignment(match_cost)[1]
            given = np.full(self.core.n_units, -1, dtype=np.int32)
            given[core] = match[colour[core]]
            if self.search.greedy(cost, easy, given) >= 0:
                raise AssertionError("a peeled unit found no cluster")
            return self._with_the_rest(cost, self.search.labels)
        for _ in range(_TRIES):
            order = np.concatenate([self.rng.permutation(core), easy])
            if self.search.greedy(cost, order) < 0:
                return self._with_the_rest(cost, self.search.labels)
        raise UndecidedError(
            f"No way was found to meet the constraints with {self.k} clusters, and none was ruled out: "
            f"{answer.reason}. Raise `budget`, ask for more clusters, or use a soft method such as PCKMeans."
        )

    def improve(self, cost: Floats, labels: Labels, max_rounds: int = 100) -> tuple[Labels, int]:
        """Go on from legal labels by steps that lower the cost, until none is left or for so many rounds."""
        self.search.start_from(labels)
        moves = self.search.improve(cost, rotated(self.acting, self.rng), max_rounds)
        return self._with_the_rest(cost, self.search.labels), moves

    def assign(self, cost: Floats, labels: Labels | None, scores: Scores, last: bool) -> Labels:
        if self.literal:
            order = self.rng.permutation(len(self.core.items))
            units, first = np.unique(self.core.unit[order], return_index=True)
            return self.greedy(scores(self.core.items[order[first]]), units[np.argsort(first)])
        if self.method == "greedy":
            return self.greedy(cost, self.order(self.by))
        if self.method == "exact":
            return self.exact(cost, labels)[0]
        return self.improve(cost, self.first(cost) if labels is None else labels, 100 if last else 1)[0]

    def exact(self, cost: Floats, labels: Labels | None) -> tuple[Labels, bool]:
        """The best labels; `labels` if they are better than what was found within the budget."""
        from coterie.assign._exact.pairs import solve_exactly

        found, proven = solve_exactly(self.core, cost, self.budget)
        if found is None:
            found, proven = self.first(cost) if labels is None else labels, False
        if not proven:
            found = self.improve(cost, found)[0]
        if labels is not None and own_costs(cost, labels) <= own_costs(cost, found):
            found = labels
        return found, proven

    def _with_the_rest(self, cost: Floats, labels: Labels) -> Labels:
        """Units on which nothing acts go where they are cheapest."""
        to_cheapest(cost, self.idle, labels)
        return labels


def hard_pairs(
    costs: Any,
    constraints: Any,
    *,
    method: Method = "local",
    order: Order = "degeneracy",
    labels: Any = None,
    budget: int = 1_000_000,
    random_state: Any = None,
) -> Assignment:
    """Give every item a cluster so that all constraints hold, at little cost.

    Parameters
    ----------
    costs : array of shape (n_items, k)
        Cost of each item in each cluster.
    constraints : Constraints or partial labels
        Every constraint is obeyed; weights do not matter.
    method : {"local", "greedy", "exact"}
        "local" starts greedily (from a colouring where that fails) and improves by moves, ejections and
        Kempe chains. "greedy" is one pass, and may run into a dead end. "exact" is a mixed-integer program,
        for up to some 10,000 constrained cells.
    order : {"degeneracy", "random", "input"}
        In which order "greedy" takes the constrained units.
    labels : array of shape (n_items,), optional
        Start "local" from these, which must obey; the cost is then never higher than theirs.
    budget : int
        Steps of the exact search for feasibility; nodes of the exact method.
    random_state : int or RandomState, optional
        Where the visits begin.

    Returns
    -------
    Assignment
        `optimal` is True where that is proven.

    Raises
    ------
    InfeasibleConstraintsError
        If the constraints cannot all hold; with the reason.
    UndecidedError
        If the budget was too small to find out.
    DeadEndError
        If `method="greedy"` failed.

    Notes
    -----
    Time O(n k + P k + m) a round, for P units and m pairs; Kempe chains up to k times that. Memory O(P k).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.assign import hard_pairs
    >>> costs = np.array([[0.0, 9.0], [1.0, 5.0], [7.0, 0.0]])
    >>> hard_pairs(costs, Constraints(cannot_link=[(0, 1)], n_items=3)).labels
    array([0, 1, 1], dtype=int32)
    """
    table, known = read_costs(costs, constraints)
    n, k = table.shape
    for name, value, legal in (
        ("method", method, ("local", "greedy", "exact")),
        ("order", order, ("degeneracy", "random", "input")),
    ):
        if value not in legal:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, legal))}; got {value!r}.")
    answer = known.check(k, budget=budget)
    if answer.certificate is not None:
        message = f"{answer.certificate} {answer.certificate.what_to_drop()}"
        raise InfeasibleConstraintsError(message, answer.certificate)
    core = build_core(known, "all")
    solver = HardSolver(known, core, k, budget=budget, rng=check_random_state(random_state))
    found = table.argmin(axis=1).astype(np.int32)
    excess_cost = unit_costs(table, core)
    excess_cost -= excess_cost.min(axis=1, keepdims=True)
    moves, optimal = 0, not len(solver.acting)
    given = None
    if labels is not None:
        given = read_labels(labels, n, k)
        broken = known.violations(given)
        if broken:
            raise ValueError(f"labels to start from must obey the constraints. {broken}")
        given = to_units(core, given)
    if method == "greedy":
        of_unit = solver.greedy(excess_cost, solver.order(order))
    elif method == "exact":
        of_unit, optimal = solver.exact(excess_cost, given)
    else:
        of_unit, moves = solver.improve(excess_cost, solver.first(excess_cost) if given is None else given)
    found[core.items] = of_unit[core.unit]
    return Assignment(found, own_costs(table, found), 0.0, moves, optimal)
