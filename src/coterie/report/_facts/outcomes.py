"""What became of each constraint, and why: met or broken, and what the cheapest way to meet it would cost.

All pairs are judged at once. Distances are asked for the ends of broken pairs only, and a reason becomes
words when somebody reads it, so that a hundred thousand pairs take about a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.base import Account, account_of, check_sample_weight
from coterie.constraints import Constraints, Group, Pairs, Violations, as_constraints
from coterie.report._facts.rows import Floats, Ints, distance_function, rows_of_fit
from coterie.report._page.html import cut
from coterie.report._page.numbers import number

Bools = NDArray[np.bool_]
Distance = Callable[[Any], Floats]

UNASKED = "holds without being said"
BECAUSE = "holds because it was said"
NO_EFFECT = "weight 0: it has no effect"
NO_COST = "what it would cost to meet it cannot be said without the sample_weight of the fit"
LONGEST_LABEL = 20  # in the name of a cluster
# Distances that are held at a time.
_BLOCK_CELLS = 2_000_000


def lacks_weight(account: Account, sample_weight: Any) -> bool:
    """Whether a fit was given weights that are missing now, so that costs would come out wrong."""
    return sample_weight is None and account.weighted


@dataclass(frozen=True)
class Judged:
    """The pairs of one kind, and what became of them."""

    kind: str  # "must-link" or "cannot-link"
    table: Pairs
    active: Bools
    strength: Floats  # what breaking them costs beside others
    broken: Bools  # which the labels break; pairs of weight 0 are never counted as broken
    unasked: Bools | None  # which the plain clustering meets too; None if there is none
    # of a broken pair, the cheapest move that would meet it: which item, into which cluster (-1: there is no
    # such move), at what cost; elsewhere -1 and NaN, and NaN too where weights are missing
    mover: Ints
    target: Ints
    cost: Floats


class Outcomes:
    """What became of all constraints of a fit."""

    def __init__(
        self,
        account: Account,
        known: Constraints,
        labels: Ints,
        distances: Distance,
        plain: Ints | None,
        sample_weight: Floats | None = None,
        names: Callable[[int], str] | None = None,
    ) -> None:
        self.known, self.labels, self.plain = known, labels, plain
        self.name_of = known.item_name if names is None else names
        self._cluster_names = dict(enumerate(account.names))
        self.price, self.obeys, self._wants = account.price, account.obeys, account.wants
        self._guided = f"constraints only guide {account.guides}"
        self.lacks_weight = lacks_weight(account, sample_weight)
        self._weight = sample_weight
        self._distances = distances
        self.violations: Violations = known.violations(labels)
        self.must = self._judge("must-link", known.must_table)
        self.cannot = self._judge("cannot-link", known.cannot_table)

    # ---- pairs ----------------------------------------------------------------------------------------

    def _judge(self, kind: str, table: Pairs) -> Judged:
        broken = self._breaks(kind, table, self.labels)
        unasked = None if self.plain is None else ~self._breaks(kind, table, self.plain)
        mover, target = np.full(table.n, -1, dtype=np.int64), np.full(table.n, -1, dtype=np.int64)
        cost = np.full(table.n, np.nan)
        at = np.flatnonzero(broken)
        if len(at):
            mover[at], target[at], cost[at] = self._cheapest_moves(kind, table.ij[at])
        if self.lacks_weight:
            cost[:] = np.nan
        return Judged(kind, table, table.active, table.strength, broken, unasked, mover, target, cost)

    @staticmethod
    def _breaks(kind: str, table: Pairs, labels: Ints) -> Bools:
        a, b = labels[table.ij[:, 0]], labels[table.ij[:, 1]]
        wrong = (a != b) | (a < 0) if kind == "must-link" else (a == b) & (a >= 0)
        return np.asarray(table.active & wrong)

    def _cheapest_moves(self, kind: str, ij: Ints) -> tuple[Ints, Ints, Floats]:
        """For each pair the better of two moves: of the first item, or of the second."""
        n_pairs = len(ij)
        targets, costs = np.full((n_pairs, 2), -1, dtype=np.int64), np.full((n_pairs, 2), np.inf)
        step = max(1, _BLOCK_CELLS // max(1, int(self.labels.max()) + 1))
        for start in range(0, n_pairs, step):
            chunk = slice(start, start + step)
            for end in (0, 1):
                item, partner = ij[chunk, end], ij[chunk, 1 - end]
                targets[chunk, end], costs[chunk, end] = self._moves(kind, item, partner)
        best = costs.argmin(axis=1)
        at = np.arange(n_pairs)
        return ij[at, best], np.where(np.isfinite(costs[at, best]), targets[at, best], -1), costs[at, best]

    def _moves(self, kind: str, item: Ints, partner: Ints) -> tuple[Ints, Floats]:
        each, of_pair = np.unique(item, return_inverse=True)
        cost = self.price.of(self._distances(each))[of_pair]
        rows, own, there = np.arange(len(item)), self.labels[item], self.labels[partner]
        now = cost[rows, own]
        if kind == "cannot-link":
            cost[rows, own] = np.inf
            there = cost.argmin(axis=1)
        moved = cost[rows, there] - now
        if self._weight is not None:
            moved = moved * self._weight[item]
        # an item in no cluster has no distance to its own centre, and nobody can follow it there
        possible = (own >= 0) & (there >= 0)
        return np.asarray(there), np.where(possible, moved, np.inf)

    def reason(self, judged: Judged, row: int) -> str:
        """Why a pair came out as it did, in words."""
        if not judged.broken[row]:
            if not judged.active[row]:
                return NO_EFFECT
            return "holds" if judged.unasked is None else UNASKED if judged.unasked[row] else BECAUSE
        if self.obeys == "all":
            return "the fit did not know this constraint"
        for item in judged.table.ij[row].tolist():
            if self.labels[item] < 0:
                return f"{self.short_name(item)} is left out of all clusters"
        if self._wants != "rows":
            return "the scores of pairs weigh more"
        if judged.target[row] < 0:
            return "there is no other cluster"
        if not self.price.tells:
            return "the distances to other items weigh more"
        if self.lacks_weight:
            return f"{self._guided}; {NO_COST}" if self.obeys == "none" else NO_COST
        item = self.short_name(int(judged.mover[row]))
        move = f"moving {item} into cluster {self.called(int(judged.target[row]))}"
        cost = max(float(judged.cost[row]), 0.0)
        if self.obeys == "none":
            return f"{self._guided}; {move} would cost {number(cost)}"
        price = self.price.statement
        if self.price.stated is not None and not np.isnan(judged.table.confidence[row]):
            price = self.price.stated
        if price is None:
            if not cost > 0:
                return f"{move} would bring it nearer, but other constraints speak against it"
            return f"{move} would cost {number(cost)}"
        weighs = price * float(judged.strength[row])
        if cost > weighs:
            return f"{move} would cost {number(cost)}, the constraint weighs {number(weighs)}"
        return (
            f"{move} would cost {number(cost)} and the constraint weighs {number(weighs)}, but other "
            "constraints or bounds speak against it"
        )

    def short_name(self, item: int) -> str:
        """The user's name of an item, cut if it is long."""
        return cut(self.name_of(item))

    def called(self, cluster: int) -> str:
        """The number of a cluster, and the label that it carries."""
        name = self._cluster_names.get(cluster)
        return str(cluster) if name in (None, str(cluster)) else f"{cluster} ({cut(name, LONGEST_LABEL)})"

    # ---- groups ---------------------------------------------------------------------------------------

    def group_violations(self, group: Group, labels: Ints) -> Violations:
        """What labels break of one group."""
        empty = self.known.must_table.take(slice(0, 0))
        alone = Constraints._from_parts(self.known.n_items, empty, empty, [group], None)
        return alone.violations(labels)

    def broken_items(self, group: Group, labels: Ints) -> Bools:
        """Which items of a group are named by what labels break of it."""
        named = np.zeros(self.known.n_items, dtype=bool)
        for one in self.group_violations(group, labels).groups:
            named[list(one.items)] = True
        return named[group.items]

    # ---- all of it as a table -------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """One row a pair, and one an item of each group, with outcome and reason."""
        outcome, reason = [], []
        for judged in (self.must, self.cannot):
            outcome += np.where(judged.active, np.where(judged.broken, "broken", "met"), "no effect").tolist()
            reason += [self.reason(judged, row) for row in range(judged.table.n)]
        for group in self.known.groups:
            states, reasons = self._of_group(group)
            outcome += states
            reason += reasons
        return {**self.known._columns(), "outcome": outcome, "reason": reason}

    def _of_group(self, group: Group) -> tuple[list[str], list[str]]:
        m = len(group.items)
        if not group.active:
            return ["no effect"] * m, [NO_EFFECT] * m
        broken = self.broken_items(group, self.labels)
        words = np.full(m, "holds", dtype=object)
        if self.plain is not None:
            words[:] = np.where(self.broken_items(group, self.plain), BECAUSE, UNASKED)
        where = self.labels[group.items]
        message = {
            "label": "apart from most of its label, in cluster {}",
            "distinct": "shares cluster {} with another of its group",
            "across": "shares cluster {} with another group",
        }[group.kind]
        for row in np.flatnonzero(broken).tolist():
            left_out = where[row] < 0
            words[row] = "left out of all clusters" if left_out else message.format(self.called(where[row]))
        return np.where(broken, "broken", "met").tolist(), words.tolist()


def constraint_outcomes(
    model: Any, X: Any, constraints: Any = None, plain: Any = None, *, sample_weight: Any = None
) -> dict[str, list[Any]]:
    """What became of each constraint: a table for a file.

    Parameters
    ----------
    model : fitted clusterer
        The outcome.
    X : array, sparse matrix or data frame
        The rows of the fit.
    constraints : Constraints or partial labels, optional
        The constraints; by default those of the fit.
    plain : array of shape (n_items,), optional
        Labels without what is known: they tell what holds anyway from what made a difference.
    sample_weight : array of shape (n_items,), optional
        The weights of the fit, which count in what a move costs; without them no costs are told.

    Returns
    -------
    dict of lists
        Columns i, j, kind, weight, confidence, hard, source, (for groups) group and set, outcome and reason;
        one row a pair, and one row an item of each group.
    """
    account, labels = account_of(model), np.asarray(model.labels_).astype(np.int64)
    rows = rows_of_fit(account, labels, X)
    known = as_constraints(account.known if constraints is None else constraints, rows.n)
    return Outcomes(
        account,
        known,
        labels,
        distance_function(account, rows, labels),
        None if plain is None else np.asarray(plain).astype(np.int64),
        check_sample_weight(sample_weight, rows.values),
    ).columns()
