"""The search under prohibitions: a legal labelling, built greedily and improved; kernels in `_hard`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coterie._arrays import Floats, Labels
from coterie.assign._core.core import Core
from coterie.assign._hard.moves import RELATIVE, chains, greedy, moves, open_cells, place, wishes
from coterie.assign._pairs.search import count_rows

# Units that one move may push out.
_MAX_PUSHED = 12
_SLICE = 5_000_000

# cost, acts, row_ptr, row_unit, counts, holder, labels
Common = tuple[Any, Any, Any, Any, Any, Any, Any]


class HardSearch:
    """A legal labelling of the core's units under construction and improvement."""

    def __init__(self, core: Core, k: int) -> None:
        self.core = core
        self.k = k
        self.mark = np.zeros(k, dtype=np.int64)
        self.state = np.zeros(2, dtype=np.int64)
        self.labels: Labels = np.full(core.n_units, -1, dtype=np.int32)
        self._reset(self.labels)

    def _reset(self, labels: Labels) -> None:
        self.labels = labels
        self.counts = count_rows(self.core, labels, self.k)
        self.holder = np.full((self.core.n_rows, self.k), -1, dtype=np.int64)
        owner = np.repeat(np.arange(self.core.n_units), np.diff(self.core.entry_ptr))
        placed = labels[owner] >= 0
        self.holder[self.core.entry_row[placed], labels[owner[placed]]] = owner[placed]

    def greedy(self, cost: Floats, order: Any, given: Labels | None = None) -> int:
        """Label the units of `order` one by one, on top of `given`; returns a unit without a place, or -1."""
        start = np.full(self.core.n_units, -1, dtype=np.int32) if given is None else given.copy()
        self._reset(start)
        return int(
            greedy(cost, self.core.acts, self.counts, self.holder, self.labels, order, self.mark, self.state)
        )

    def start_from(self, labels: Labels) -> None:
        """Take a legal labelling as it is."""
        self._reset(labels.copy())

    def improve(self, cost: Floats, order: Any, max_rounds: int) -> int:
        """Lower the cost by legal steps until none is left, or for so many rounds; returns their number.

        A round is a pass of moves, one of chains, and the matching of cliques.
        """
        core, k = self.core, self.k
        if not len(order) or k == 1:
            return 0
        common = cost, core.acts, core.row_ptr, core.row_unit, self.counts, self.holder, self.labels
        pushed = np.empty(_MAX_PUSHED, dtype=np.int64)
        seen = np.zeros(core.n_units, dtype=np.int64)
        row_seen = np.zeros((core.n_rows, 2), dtype=np.int64)
        queue = np.empty(core.n_units + 1, dtype=np.int64)
        step = max(1, _SLICE // (1 + k + (len(core.indices) + k * len(core.entry_row)) // core.n_units))
        total = 0
        for _ in range(max_rounds):
            steps = 0
            for start in range(0, len(order), step):
                stop = min(start + step, len(order))
                steps += moves(*common, order, start, stop, self.mark, self.state, pushed)
            # in one of many passes with much to do for single units, the rest can wait
            if max_rounds == 1 and steps > max(16, core.n_units // 100):
                return total + steps
            steps += self._chains(common, order, seen, row_seen, queue)
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
        open_cells(units, acts, self.counts, self.labels, self.mark, self.state, cells)
        price = np.where(cells, cost[units], np.inf)
        after = linear_sum_assignment(price)[1].astype(np.int32)
        now, then = cost[units, before].sum(), price[here, after].sum()
        better = bool(then < (1.0 - RELATIVE) * now)
        for u, h in zip(units.tolist(), (after if better else before).tolist(), strict=True):
            place(u, h, acts, self.counts, self.holder, self.labels)
        return better

    def _chains(self, common: Common, order: Any, seen: Any, row_seen: Any, queue: Any) -> int:
        cost, nobody = common[0], np.empty(0, dtype=np.int64)
        n_wishes = wishes(cost, self.labels, order, nobody, nobody)
        if not n_wishes:
            return 0
        pair, who = np.empty(n_wishes, dtype=np.int64), np.empty(n_wishes, dtype=np.int64)
        wishes(cost, self.labels, order, pair, who)
        sort = np.argsort(pair, kind="stable")
        pairs, first = np.unique(pair[sort], return_index=True)
        first = np.append(first, n_wishes)
        # as many pairs at a time as a million wishes, so that control returns now and then
        cuts = np.searchsorted(first, np.arange(0, n_wishes, 1_000_000))
        flips = 0
        for start, stop in pairwise(sorted({0, *cuts.tolist(), len(pairs)})):
            flips += chains(*common, pairs, first, who[sort], start, stop, seen, row_seen, queue, self.state)
        return flips
