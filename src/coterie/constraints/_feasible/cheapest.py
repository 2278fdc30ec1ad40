"""The cheapest pairs to drop, proven: a least hitting set of conflicts, found as they turn up.

Every conflict must lose one of its pairs. HiGHS finds the pairs that do so for the conflicts known so far:
as few hard ones as possible, then the least weight. If the rest can be met, nothing cheaper can be;
otherwise it has conflicts that were not known, and they join the program (the implicit hitting sets of
MaxSAT: Davies and Bacchus, 2011). With any number of clusters this is a multicut, its paths found as they are
needed. Groups are given. The checks, the steps of all of them together and the seconds of HiGHS are bounded.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

from coterie.constraints._feasible.conflict import Conflict
from coterie.constraints._feasible.feasible import check, contradictions
from coterie.constraints._model.statements import BoolArray, FloatArray, IntArray, find_rows

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints

# Checks of a part of the statements, and pairs and items that all of them together may read.
_MAX_CHECKS = 300
_MAX_WORK = 3_000_000
# HiGHS stops at an absolute gap of 1e-6: with the dearest pair at 1e4 that is a share of 1e-10 of it.
_LARGEST = 1e4
# What HiGHS may take, all rounds together.
_SECONDS = 5.0


def least_dropped(
    c: Constraints, n_clusters: int | None, budget: int, known: BoolArray | None
) -> BoolArray | None:
    """Which pairs to drop, must-links first, so that no other way is cheaper; None if that was not settled.

    Where `known`, pairs after which the rest can be met, turns out to be as cheap as any, it is the answer.
    """
    c = c[c.constrained_items]  # the rows of its tables stay what they are
    hard = np.concatenate([c.must_table.hard, c.cannot_table.hard])
    weight = np.concatenate([c.must_table.weight, c.cannot_table.weight])
    dropped = np.zeros(len(hard), dtype=bool)
    conflicts: list[IntArray] = []
    n_checks = min(_MAX_CHECKS, _MAX_WORK // (c.n_items + c.n_pairs + 1))
    left, seconds = n_checks, _SECONDS
    while True:
        # conflicts that share no pair come in one go: all pairs of one are set aside to find the next
        n_before, aside = len(conflicts), dropped.copy()
        while found := _find(_without(c, aside), n_clusters, budget // max(n_checks, 1)):
            rows = [_rows(c, conflict) for conflict in found]
            left -= 1
            if left < 0 or not all(map(len, rows)):  # without a pair: groups collide
                return None
            conflicts += rows
            aside[np.concatenate(rows)] = True
        if found is None:  # undecided
            return None
        if len(conflicts) == n_before:
            return dropped
        begun = time.perf_counter()
        least = _hit(conflicts, hard, weight, seconds)
        seconds -= time.perf_counter() - begun
        if least is None:
            return None
        dropped = least
        if known is not None and _no_cheaper(dropped, known, hard, weight):
            return known


def _find(c: Constraints, n_clusters: int | None, budget: int) -> list[Conflict] | None:
    """Some conflicts, none if all can be met, None where that is undecided."""
    if c.contracted.n_contradictions:
        return contradictions(c)
    if n_clusters is None:
        return []
    answer = check(c, n_clusters, nonempty=False, budget=budget)
    if answer.status == "undecided":
        return None
    return [] if answer.certificate is None else [answer.certificate]


def _without(c: Constraints, dropped: BoolArray) -> Constraints:
    must, cannot = c.must_table, c.cannot_table
    tables = must.take(~dropped[: must.n]), cannot.take(~dropped[must.n :])
    return type(c)._from_parts(c.n_items, *tables, c.groups, None)


def _rows(c: Constraints, conflict: Conflict) -> IntArray:
    cannot = find_rows(c.cannot_table, conflict.cannot_link)
    return np.concatenate([find_rows(c.must_table, conflict.must_link), c.must_table.n + cannot])


def _hit(
    conflicts: Sequence[IntArray], hard: BoolArray, weight: FloatArray, seconds: float
) -> BoolArray | None:
    """Pairs of which each conflict has one: fewest hard ones, then least weight; None if not proven."""
    pairs, column = np.unique(np.concatenate(conflicts), return_inverse=True)
    row = np.repeat(np.arange(len(conflicts)), [len(one) for one in conflicts])
    rules = [LinearConstraint(sparse.csr_array((np.ones(len(row)), (row, column))), lb=1.0)]
    chosen = np.zeros(len(hard), dtype=bool)
    limits = {"mip_rel_gap": 0.0, "time_limit": max(seconds / 2, 0.0)}
    for cost in (hard[pairs].astype(float), weight[pairs]):
        if not cost.any():
            continue
        price = cost / cost.max() * _LARGEST
        found = milp(price, integrality=np.ones(len(pairs)), bounds=(0, 1), constraints=rules, options=limits)
        if found.status != 0:
            return None
        chosen[pairs] = found.x > 0.5
        rules.append(LinearConstraint(hard[pairs].astype(float)[None], ub=(hard & chosen).sum() + 0.5))
    return chosen


def _no_cheaper(bound: BoolArray, known: BoolArray, hard: BoolArray, weight: FloatArray) -> bool:
    if hard[bound].sum() != hard[known].sum():
        return False
    return bool(weight[known].sum() - weight[bound].sum() <= weight.max() * 1e-9)
