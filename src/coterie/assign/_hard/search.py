"""The search under prohibitions: a legal labelling, built greedily and improved; kernels in `moves`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coterie._arrays import Floats, Labels
from coterie._compiled import in_slices
from coterie.assign._core.core import RELATIVE, Core
from coterie.assign._core.counts import group_counts
from coterie.assign._hard.moves import Placed, chains, greedy, improving_moves, moves, open_cells, place

# Units that one move may push out.
_MAX_PUSHED = 12


class HardSearch:
    """A legal labelling of the core's units under construction and improvement."""

    def __init__(self, core: Core, k: int) -> None:
        self.core = core
        self.k = k
        self.mark = np.zeros(k, dtype=np.int64)
        self.state = np.zeros(2, dtype=np.int64)
        self._reset(np.full(core.n_units, -1, dtype=np.int32))

    def _reset(self, labels: Labels) -> None:
        core = self.core
        holder = np.full((core.n_groups, self.k), -1, dtype=np.int64)
        owner = np.repeat(np.arange(core.n_units), np.diff(core.member_ptr))
        known = labels[owner] >= 0
        holder[core.member_group[known], labels[owner[known]]] = owner[known]
        counts = group_counts(core, labels, self.k)
        self.labels = labels
        self.placed = Placed(labels, counts, holder, core.group_ptr, core.group_unit)

    def greedy(self, cost: Floats, order: Any, given: Labels | None = None) -> int:
        """Label the units of `order` one by one, on top of `given`; returns a unit without a place, or -1."""
        self._reset(np.full(self.core.n_units, -1, dtype=np.int32) if given is None else given.copy())
        return int(greedy(cost, self.core.acts, self.placed, order, self.mark, self.state))

    def start_from(self, labels: Labels) -> None:
        """Take a legal labelling as it is."""
        self._reset(labels.copy())

    def improve(self, cost: Floats, order: Any, max_rounds: int) -> int:
        """Lower the cost in rounds (moves, chains, matching of cliques) while that pays; their number."""
        core, k = self.core, self.k
        if not len(order) or k == 1:
            return 0
        common = cost, core.acts, self.placed
        pushed = np.empty(_MAX_PUSHED, dtype=np.int64)
        seen = np.zeros(core.n_units, dtype=np.int64)
        group_seen = np.zeros((core.n_groups, 2), dtype=np.int64)
        queue = np.empty(core.n_units + 1, dtype=np.int64)
        # a push costs as much as some visits
        work = 4 * (1 + k + (len(core.indices) + k * len(core.member_group)) // core.n_units)
        total = 0
        for _ in range(max_rounds):
            steps = sum(
                moves(*common, order, start, stop, self.mark, self.state, pushed)
                for start, stop in in_slices(len(order), work)
            )
            # in one of many passes with much to do for single units, the rest can wait
            if max_rounds == 1 and steps > max(16, core.n_units // 100):
                return total + steps
            steps += self._chains(common, order, seen, group_seen, queue)
            steps += sum(self._rematch(cost, units) for units in core.cliques)
            total += steps
            if not steps:
                break
        return total

    def _rematch(self, cost: Floats, units: Any) -> bool:
        """Units that are all apart exchange their clusters as is best for them together."""
        before = self.labels[units]
        here = np.arange(len(units))
        if not (cost[units, before] > cost[units].min(axis=1)).any():
            return False
        cells = np.empty((len(units), self.k), dtype=np.bool_)
        acts = self.core.acts
        open_cells(units, acts, self.placed, self.mark, self.state, cells)
        legal_cost = np.where(cells, cost[units], np.inf)
        after = linear_sum_assignment(legal_cost)[1].astype(np.int32)
        now, then = cost[units, before].sum(), legal_cost[here, after].sum()
        better = bool(then < (1.0 - RELATIVE) * now)
        for u, h in zip(units.tolist(), (after if better else before).tolist(), strict=True):
            place(u, h, acts, self.placed)
        return better

    def _chains(
        self, common: tuple[Any, Any, Placed], order: Any, seen: Any, group_seen: Any, queue: Any
    ) -> int:
        cost, nobody = common[0], np.empty(0, dtype=np.int64)
        n_moves = improving_moves(cost, self.labels, order, nobody, nobody)
        if not n_moves:
            return 0
        pair, who = np.empty(n_moves, dtype=np.int64), np.empty(n_moves, dtype=np.int64)
        improving_moves(cost, self.labels, order, pair, who)
        sort = np.argsort(pair, kind="stable")
        pairs, first = np.unique(pair[sort], return_index=True)
        first = np.append(first, n_moves)
        # as many pairs at a time as a million wishes, so that control returns now and then
        cuts = np.searchsorted(first, np.arange(0, n_moves, 1_000_000))
        flips = 0
        for start, stop in pairwise(sorted({0, *cuts.tolist(), len(pairs)})):
            flips += chains(
                *common, pairs, first, who[sort], start, stop, seen, group_seen, queue, self.state
            )
        return flips
