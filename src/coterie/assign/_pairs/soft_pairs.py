"""`soft_pairs`: labels that weigh the costs of the items against the constraints they break."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from coterie._arrays import Floats, Labels
from coterie.assign._core.assignment import (
    Assignment,
    own_costs,
    read_costs,
    read_labels,
    to_units,
    unit_costs,
)
from coterie.assign._core.core import Core, build_core, rotated, soft_penalty
from coterie.assign._core.counts import group_counts, to_cheapest
from coterie.assign._core.solver import CoreSolver, Scores
from coterie.assign._pairs.search import improve_labels, pair_energy
from coterie.assign._pairs.terms import NO_COUPLING, Closure, Energy
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError


class SoftSolver(CoreSolver):
    """Labels of a core's units under prices, for all passes of a fit; strength 1 costs `weight` in `core`."""

    # rounds of moves of two and of blocks in a pass that another one follows
    rounds_a_pass = 1
    # whether visits begin at a random place
    turns = True

    def __init__(
        self,
        known: Constraints,
        core: Core,
        k: int,
        *,
        rng: np.random.RandomState,
        weight: float = 1.0,
        budget: int = 1_000_000,
        max_sweeps: int = 100,
    ) -> None:
        self.known, self.weight = known, weight
        self.core, self.k, self.rng, self.max_sweeps = core, k, rng, max_sweeps
        self.price: Floats = core.weight[:, None]
        acting = core.acting
        self.acting, self.idle = np.flatnonzero(acting), np.flatnonzero(~acting)
        self.hard: Any = None
        if core.forbids:  # what must hold is met first, and every later move keeps it
            from coterie.assign._hard.hard_pairs import HardSolver

            self.hard = HardSolver(known.only_hard(), core.only_forbidden(), k, budget=budget, rng=rng)

    @classmethod
    def at_weight(cls, known: Constraints, weight: float, k: int, rng: np.random.RandomState) -> SoftSolver:
        """The solver where a broken constraint of strength 1 costs `weight`."""
        return cls(known, build_core(known, "hard").scaled(weight), k, rng=rng, weight=weight)

    def first(self, cost: Floats) -> Labels:
        """The cheapest labels, but for what is forbidden."""
        if self.hard is None:
            return cost.argmin(axis=1).astype(np.int32)
        return self.hard.improve(cost, self.hard.first(cost))[0]

    def energy(self, cost: Floats) -> Energy:
        """What is minimised, for given costs of the units above the least of each."""
        return Energy(cost, cost, self.price, *NO_COUPLING)

    def closure(self, labels: Labels) -> Closure | None:
        """What follows from the pairs, for labels to start from; None: nothing further."""
        return None

    def improve(
        self, cost: Floats, labels: Labels, max_rounds: int = 100, *, blocks_first: bool = False
    ) -> tuple[Labels, int]:
        """Move units, pairs and blocks until nothing pays, or for so many rounds."""
        energy = self.energy(cost)
        moves = improve_labels(
            self.core,
            energy,
            labels,
            rotated(self.acting, self.rng) if self.turns else self.acting,
            closure=self.closure(labels),
            max_sweeps=self.max_sweeps,
            max_rounds=max_rounds,
            blocks_first=blocks_first,
        )
        to_cheapest(energy.cost, self.idle, labels)
        return labels, moves

    def assign(self, cost: Floats, labels: Labels | None, scores: Scores, last: bool) -> Labels:
        rounds = 100 if last else self.rounds_a_pass
        return self.improve(cost, self.first(cost) if labels is None else labels, rounds)[0]

    def penalty(self, labels: Labels) -> float:
        return pair_energy(self.core, labels, self.k)

    def final_penalty(self, labels: Labels) -> float:
        return self.weight * soft_penalty(self.known, labels) if self.weight else 0.0

    def coupling_cost(self, labels: Labels) -> Floats:
        core = self.core
        head = np.repeat(np.arange(core.n_units), np.diff(core.indptr))
        # where prices differ by cluster, that of the unit's own
        price = self.price[np.arange(len(head)), labels[head] if self.price.shape[1] > 1 else 0]
        together = (labels[head] == labels[core.indices]) & np.isfinite(price)
        total = np.bincount(head[together], price[together], core.n_units)
        owner = np.repeat(np.arange(core.n_units), np.diff(core.member_ptr))
        mates = group_counts(core, labels, self.k)[core.member_group, labels[owner]] - core.member_count
        priced = np.isfinite(core.member_weight)
        groups = np.bincount(owner[priced], core.member_weight[priced] * mates[priced], core.n_units)
        return (total + groups).astype(np.float64)


def soft_pairs(
    costs: Any,
    constraints: Any,
    *,
    weight: float = 1.0,
    labels: Any = None,
    method: Literal["local", "exact"] = "local",
    max_sweeps: int = 100,
    random_state: Any = None,
) -> Assignment:
    """Give every item a cluster, weighing its cost against the constraints that are broken.

    Hard must-links are contracted, hard cannot-links and hard groups forbidden; of the rest, each broken
    constraint costs `weight` times its strength (a group that for each pair it stands for).

    Parameters
    ----------
    costs : array of shape (n_items, k)
        Cost of each item in each cluster.
    constraints : Constraints or partial labels
        What is known of the items.
    weight : float
        What breaking a pair of strength 1 costs, in the unit of `costs`.
    labels : array of shape (n_items,), optional
        Where "local" starts, if they keep to the hard constraints; by default each item where it is cheapest.
        The outcome never costs more than they do.
    method : {"local", "exact"}
        "local" moves units, pairs of them, and whole must-link components, as long as that pays. "exact" is a
        mixed-integer program, for up to some 10,000 constrained cells.
    max_sweeps : int
        Most sweeps of "local".
    random_state : int or RandomState, optional
        Where the visits begin.

    Returns
    -------
    Assignment
        Its `penalty` is the part of `cost` that broken constraints make up.

    Notes
    -----
    Time O(n k), and O(P k + m) a sweep for P constrained units and m pairs; items that no constraint names
    are not swept. Memory O(P k).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.assign import soft_pairs
    >>> costs = np.array([[0.0, 9.0], [1.0, 5.0], [7.0, 0.0]])
    >>> apart = Constraints(cannot_link=[(0, 1)], n_items=3)
    >>> soft_pairs(costs, apart, weight=10.0).labels, soft_pairs(costs, apart, weight=1.0).labels
    (array([0, 1, 1], dtype=int32), array([0, 0, 1], dtype=int32))
    """
    table, known = read_costs(costs, constraints)
    n, k = table.shape
    if method not in ("local", "exact"):
        raise ValueError(f"method must be 'local' or 'exact'; got {method!r}.")
    if not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight must be a finite number, at least 0; got {weight!r}.")
    answer = known.only_hard().check(k)
    if answer.certificate is not None:
        message = f"{answer.certificate} {answer.certificate.what_to_drop()}"
        raise InfeasibleConstraintsError(message, answer.certificate)
    core = build_core(known, "hard").scaled(float(weight))
    solver = SoftSolver(known, core, k, rng=check_random_state(random_state), max_sweeps=max_sweeps)
    excess_cost = unit_costs(table, core)
    excess_cost -= excess_cost.min(axis=1, keepdims=True)
    found = table.argmin(axis=1).astype(np.int32)
    moves, optimal = 0, not core.acting.any()
    of_unit = solver.first(excess_cost)
    if labels is not None:
        given = read_labels(labels, n, k)
        if not known.only_hard().violations(given):
            of_unit = to_units(core, given)
    if method == "local":
        of_unit, moves = solver.improve(excess_cost, of_unit)
    else:
        from coterie.assign._exact.pairs import solve_exactly

        best, optimal = solve_exactly(core, excess_cost, 1_000_000)
        of_unit = of_unit if best is None else best
        if not optimal:
            of_unit, moves = solver.improve(excess_cost, of_unit)
    found[core.items] = of_unit[core.unit]
    penalty = weight * soft_penalty(known, found)
    return Assignment(found, own_costs(table, found) + penalty, penalty, moves, optimal)
