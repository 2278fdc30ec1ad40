"""`metric_labelling`: soft must-links by a linear program and rounding, with or without sizes.

An item may at first be in several clusters by parts; a pair pays by how far its two rows of parts differ.
Rounding draws a cluster and a threshold again and again, and moves in all items that are there by at least
so much: items with similar rows are rarely separated. Without sizes the expected cost is at most twice the
least.

Sources: problem (9.5) of the book's chapter 9; Kleinberg and Tardos 2002 (uniform metric labelling).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.utils import check_random_state

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core.assignment import Assignment, own_costs, read_costs, unit_costs
from coterie.assign._core.core import build_core, soft_penalty
from coterie.assign._pairs.soft_pairs import soft_pairs
from coterie.assign._sizes.reading import read_bounds
from coterie.assign._sizes.size_constrained import size_constrained_assignment
from coterie.constraints._reading import whole_number
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError, UnsupportedConstraintError

_MAX_VARIABLES = 200_000
# A part that is larger than 1 less this is whole.
_WHOLE = 1e-6


@dataclass(frozen=True, eq=False)
class LabelledByProgram(Assignment):
    """Labels, and what the linear program says of them.

    Attributes
    ----------
    labels, cost, penalty
        As in `Assignment`; `penalty` is what separated pairs cost.
    optimal : bool
        Whether `lower_bound` shows that nothing is better.
    lower_bound : float
        The value of the linear program: no labels cost less.
    fractional : int
        Number of items that the program left in several clusters.
    """

    lower_bound: float = 0.0
    fractional: int = 0


def metric_labelling(
    costs: Any,
    constraints: Any,
    *,
    weight: float = 1.0,
    size_min: Any = None,
    size_max: Any = None,
    n_rounds: int = 50,
    random_state: Any = None,
) -> LabelledByProgram:
    """Give every item a cluster, weighing its cost against the must-links that it breaks.

    Hard must-links are contracted; of the soft ones, each separated pair costs `weight` times its strength.
    Other kinds of constraint are refused.

    Parameters
    ----------
    costs : array of shape (n_items, k)
        Cost of each item in each cluster.
    constraints : Constraints
        Must-links, soft or hard.
    weight : float
        What separating a pair of strength 1 costs, in the unit of `costs`.
    size_min, size_max : int, float or one per cluster, optional
        Bounds of the sizes, as in `size_constrained_assignment`. They hold.
    n_rounds : int
        Number of roundings; the best is kept.
    random_state : int or RandomState, optional
        Draws of the roundings.

    Returns
    -------
    LabelledByProgram
        Labels, their cost, and a bound that no labels can beat.

    Raises
    ------
    InfeasibleConstraintsError
        If no labels, even by parts, meet the bounds.
    UndecidedError
        If no rounding left room for the other items within the bounds.

    Notes
    -----
    The program has k variables for each item in a pair and for each pair; with bounds, for every item. More
    than 200,000 are refused: `soft_pairs` searches any number of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.assign import metric_labelling
    >>> costs = np.array([[0.0, 9.0], [1.0, 0.0], [7.0, 0.0]])
    >>> joined = Constraints(must_link=[(0, 1)], n_items=3)
    >>> found = metric_labelling(costs, joined, weight=3.0, random_state=0)
    >>> found.labels, found.cost, found.lower_bound
    (array([0, 0, 1], dtype=int32), 1.0, 1.0)
    """
    table, known = read_costs(costs, constraints)
    n, k = table.shape
    refused = known.kinds - {"must-link"}
    if refused:
        raise UnsupportedConstraintError(
            f"metric_labelling cannot honour constraints of kind {', '.join(sorted(refused))}; it takes "
            "must-link. `soft_pairs` takes all kinds."
        )
    if not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight must be a finite number, at least 0; got {weight!r}.")
    n_rounds, rng = whole_number(n_rounds, "n_rounds", 1), check_random_state(random_state)
    bounds = None
    if size_min is not None or size_max is not None:
        read = read_bounds(size_min, size_max, n, k)
        bounds = read.low.astype(np.int64), read.high.astype(np.int64)

    core = build_core(known, "hard").scaled(float(weight))
    head = np.repeat(np.arange(core.n_units), np.diff(core.indptr))
    once = (head < core.indices) & (core.weight < 0)
    pairs, paid = np.column_stack([head[once], core.indices[once]]), -core.weight[once]
    size = np.bincount(core.unit, minlength=core.n_units)
    held = np.zeros(core.n_units, dtype=bool)  # these are rounded
    held[pairs] = True
    if bounds is not None:
        held |= size > 1
    number = np.cumsum(held) - 1
    unit_cost = unit_costs(table, core)
    program = _Relaxation(unit_cost[held], number[pairs], paid, size[held], bounds)
    rounded = np.zeros(n, dtype=bool)
    rounded[core.items] = held[core.unit]
    member = number[core.unit[held[core.unit]]]  # of the rounded items, in their order
    rest = np.flatnonzero(~rounded)

    found = np.empty(n, dtype=np.int32)
    if bounds is None:
        fractions, bound = program.relax(np.empty((0, k)))
        best = min(program.roundings(fractions, n_rounds, rng), key=program.value)
        found[rest] = table[rest].argmin(axis=1)
        found[core.items] = unit_cost.argmin(axis=1)[core.unit]
        found[rounded] = best[member]
        found = soft_pairs(table, known, weight=weight, labels=found, random_state=rng).labels
        alone = np.setdiff1d(rest, core.items)
        bound += float(unit_cost[~held].min(axis=1).sum() + table[alone].min(axis=1).sum())
    else:
        fractions, bound = program.relax(table[rest])
        labels = _within_bounds(program, fractions, table[rest], n_rounds, rng)
        found[rounded], found[rest] = labels[0][member], labels[1]
    penalty = weight * soft_penalty(known, found)
    cost = own_costs(table, found) + penalty
    split = fractions.max(axis=1) < 1 - _WHOLE
    bound = min(bound, cost)
    return LabelledByProgram(
        found,
        cost,
        penalty,
        optimal=cost - bound <= 1e-9 * abs(cost),
        lower_bound=bound,
        fractional=int(size[held][split].sum()),
    )


@dataclass(frozen=True, eq=False)
class _Relaxation:
    """Units to be rounded: their costs, the pairs between them, their sizes, and bounds of all sizes."""

    cost: Floats
    pairs: Index
    paid: Floats
    size: Index
    bounds: tuple[Index, Index] | None

    def value(self, labels: Labels) -> float:
        """What labels of the units cost."""
        apart = labels[self.pairs[:, 0]] != labels[self.pairs[:, 1]]
        return own_costs(self.cost, labels) + float(self.paid[apart].sum())

    def beside(self, labels: Labels) -> Floats:
        """Costs of each unit in each cluster, with its pairs, if all other units keep their labels."""
        cost = self.cost.copy()
        for one, other in ((0, 1), (1, 0)):
            unit = self.pairs[:, one]
            cost += np.bincount(unit, self.paid, len(cost))[:, None]
            np.subtract.at(cost, (unit, labels[self.pairs[:, other]]), self.paid)
        return cost

    def relax(self, others: Floats) -> tuple[Floats, float]:
        """Parts of each unit in each cluster, and the value of the program; `others` have no pairs."""
        m, k = self.cost.shape
        cost = np.concatenate([self.cost, others])
        base = float(cost.min(axis=1).sum())
        if not m:  # nothing to be rounded: what follows is exact
            return np.empty((0, k)), base if self.bounds is None else np.inf
        cells, links = len(cost) * k, len(self.pairs) * k
        if cells + links > _MAX_VARIABLES:
            raise ValueError(
                f"the linear program needs {cells + links:,} variables, more than {_MAX_VARIABLES:,}: "
                f"{len(cost):,} items and {len(self.pairs):,} pairs, times {k} clusters. "
                "`soft_pairs` searches any number of pairs, without bounds."
            )
        above = cost - cost.min(axis=1, keepdims=True)
        objective = np.concatenate([above.ravel(), np.repeat(self.paid, k)])
        most = np.ones(cells + links)
        scale = float(objective.max(initial=0.0)) or 1.0
        whole = sparse.kron(sparse.eye(len(cost)), np.ones((1, k)))
        whole = sparse.hstack([whole, sparse.csr_matrix((len(cost), links))])
        # rows add up to 1, so half the absolute differences is the sum of the positive ones
        row = np.arange(links)
        left, right = ((self.pairs[:, end, None] * k + np.arange(k)).ravel() for end in (0, 1))
        value = np.repeat([1.0, -1.0, -1.0], links)
        at = np.tile(row, 3), np.concatenate([left, right, cells + row])
        rules, limits = [sparse.csr_matrix((value, at), (links, cells + links))], [np.zeros(links)]
        if self.bounds is not None:
            load = np.concatenate([self.size, np.ones(len(others))])
            loads = sparse.hstack([sparse.kron(load, sparse.eye(k)), sparse.csr_matrix((k, links))])
            rules, limits = [*rules, loads, -loads], [*limits, self.bounds[1], -self.bounds[0]]
            fits = self.size[:, None] <= self.bounds[1]
            if not fits.any(axis=1).all():
                raise InfeasibleConstraintsError(
                    f"{int(self.size.max())} items must be together by hard must-links, but no cluster may "
                    f"hold more than {int(self.bounds[1].max())}."
                )
            most[: m * k] = fits.ravel()
        found = linprog(
            objective / scale,
            A_ub=sparse.vstack(rules, format="csr"),
            b_ub=np.concatenate(limits),
            A_eq=sparse.csr_matrix(whole),
            b_eq=np.ones(len(cost)),
            bounds=np.column_stack([np.zeros(cells + links), most]),
            method="highs",
        )
        if found.status == 2:
            raise InfeasibleConstraintsError(
                "no labels meet the bounds together with the hard must-links, even if what must be together "
                "could be divided."
            )
        if found.x is None:
            raise UndecidedError(f"the linear program was not solved: {found.message}")
        fractions = np.clip(found.x[: m * k].reshape(m, k), 0.0, None)
        return fractions / fractions.sum(axis=1, keepdims=True), base + scale * float(found.fun)

    def roundings(self, fractions: Floats, n_rounds: int, rng: np.random.RandomState) -> list[Labels]:
        """Labels of the units: each at its largest part, and as drawn, different ones only."""
        found = {}
        for turn in range(n_rounds + 1):
            labels = fractions.argmax(axis=1).astype(np.int32) if turn == 0 else _drawn(fractions, rng)
            found[labels.tobytes()] = labels
            if not len(fractions) or fractions.max(axis=1).min() >= 1 - _WHOLE:
                break
        return list(found.values())


def _drawn(fractions: Floats, rng: np.random.RandomState) -> Labels:
    """One rounding of Kleinberg and Tardos."""
    labels = np.full(len(fractions), -1, dtype=np.int32)
    left = np.arange(len(fractions))
    while len(left):
        h, threshold = rng.randint(fractions.shape[1]), 1.0 - rng.uniform()
        here = fractions[left, h] >= threshold
        labels[left[here]] = h
        left = left[~here]
    return labels


def _within_bounds(
    program: _Relaxation, fractions: Floats, others: Floats, n_rounds: int, rng: np.random.RandomState
) -> tuple[Labels, Labels]:
    """The best rounding, and the best labels of the other items beside it.

    Where that leaves them no room, only units of several items stay as rounded; single ones are placed
    again, and pay for each pair by the rounded label of its other end.
    """
    assert program.bounds is not None
    low, high = program.bounds
    best, least = None, np.inf
    found = sorted(program.roundings(fractions, n_rounds, rng), key=program.value)
    for fixed in (np.ones(len(fractions), dtype=bool), program.size > 1):
        for labels in found:
            used = np.bincount(labels[fixed], program.size[fixed], len(low)).astype(np.int64)
            need, room = np.maximum(low - used, 0), high - used
            table = np.concatenate([program.beside(labels)[~fixed], others])
            if (room < 0).any() or not need.sum() <= len(table) <= room.sum():
                continue
            tried, answer = labels.copy(), np.empty(0, dtype=np.int32)
            if len(table):
                answer = size_constrained_assignment(table, need, np.minimum(room, len(table))).labels
            tried[~fixed], answer = np.split(answer, [len(table) - len(others)])
            value = program.value(tried) + own_costs(others, answer)
            if value < least:
                best, least = (tried, answer), value
        if best is not None:
            return best
    raise UndecidedError(
        f"none of {n_rounds} roundings of the linear program fits the bounds: must-links that hold make sets "
        "of items that cannot be divided. There may be labels that fit: give more n_rounds, or wider bounds."
    )
