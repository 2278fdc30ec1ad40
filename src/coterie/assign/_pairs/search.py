"""The search under prices: sweeps until no unit wants to move, then pairs and blocks; kernels in `moves`."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Labels
from coterie._compiled import SLICE, kernel
from coterie.assign._core.core import Core
from coterie.assign._core.counts import group_counts
from coterie.assign._pairs.joint_moves import exchange, move_chunklets
from coterie.assign._pairs.moves import find_due, paid, sweep
from coterie.assign._pairs.terms import Chunklets, Closure, Energy, Marks, Scratch

# What a search is at, the first number of its state.
_SWEEP, _PAIRS, _BLOCKS, _BLOCKS_FIRST = 0, 1, 2, 3
# The others: limits, units until the next return; place in the list that is gone through and its length,
# whether it is `order`; moves since the list began, and in all; rounds, and sweeps and rounds.
_PHASE, _MAX_SWEEPS, _MAX_ROUNDS, _STEP = 0, 1, 2, 3
_AT, _LENGTH, _MOVED, _MOVES, _ROUNDS, _TURNS, _WHOLE = 4, 5, 6, 7, 8, 9, 10


@kernel
def _advance(
    energy: Any,
    acts: Any,
    closure: Any,
    counts: Any,
    labels: Any,
    order: Any,
    chunklets: Any,
    marks: Any,
    scratch: Any,
    state: Any,
) -> bool:
    """Go on with a search for some time, and return whether it is at its end.

    One call for a small problem: going in and out costs more than a sweep there. Written: `labels`, `counts`,
    `closure`, `marks`, `scratch`, `state`.
    """
    n, n_chunklets = labels.shape[0], chunklets.ptr.shape[0] - 1
    closed = closure is not None
    out, total, before, listed = scratch
    left = state[_STEP]
    while left > 0:
        phase, start = state[_PHASE], state[_AT]
        if start < state[_LENGTH]:
            each = 1
            if phase == _PAIRS:
                each = energy.price.shape[1]
            elif phase != _SWEEP:
                each = 1 + n // n_chunklets
            stop = min(start + max(1, left // each), state[_LENGTH])
            if phase == _SWEEP:
                units = order if state[_WHOLE] else listed
                moved = sweep(energy, acts, closure, counts, labels, units, start, stop, marks, out)
            elif phase == _PAIRS:
                once = state[_ROUNDS] == 0
                moved = exchange(energy, acts, labels, listed, start, stop, once, marks, out, total)
            else:
                moved = move_chunklets(
                    energy, acts, closure, counts, labels, chunklets, start, stop, marks, out, total, before
                )
            state[_MOVED] += moved
            state[_AT] = stop
            left -= each * (stop - start)
            continue
        state[_AT] = 0
        if phase == _PAIRS:
            state[_PHASE], state[_LENGTH] = _BLOCKS, n_chunklets
            continue
        if phase != _SWEEP:
            state[_ROUNDS] += 1
        if phase == _BLOCKS_FIRST:
            if state[_MOVED] == 0 or state[_ROUNDS] == state[_MAX_ROUNDS]:
                state[_PHASE], state[_LENGTH], state[_ROUNDS] = _SWEEP, order.shape[0], 0
            state[_MOVED] = 0
            continue
        if (phase == _BLOCKS and state[_MOVED] == 0) or state[_TURNS] == state[_MAX_SWEEPS]:
            return True
        state[_TURNS] += 1
        state[_MOVES] += state[_MOVED]
        if state[_MOVED] > 0:
            # with rows of counts, or closures, anybody may be due
            state[_WHOLE] = closed or marks.group_time.shape[0] > 0
            state[_PHASE] = _SWEEP
            state[_LENGTH] = order.shape[0] if state[_WHOLE] else find_due(marks.due, 1, listed)
        else:
            # in one of many passes with much to do for single units, pairs and blocks can wait
            hasty = state[_MAX_ROUNDS] == 1 and state[_MOVES] > max(16, n // 100)
            if hasty or state[_ROUNDS] == state[_MAX_ROUNDS]:
                return True
            # with closures, two units meet in more ways than through their edge
            state[_PHASE] = _PAIRS
            state[_LENGTH] = 0 if closed else find_due(marks.due, 2, listed)
        state[_MOVED] = 0
    return False


def pair_energy(core: Core, labels: Labels, k: int) -> float:
    """What all pairs and groups of the core cost together; infinite if something forbidden happens."""
    if not core.n_units:
        return core.constant
    twice = paid(core.acts, group_counts(core, labels, k), labels)
    return core.constant + 0.5 * twice


def improve_labels(
    core: Core,
    energy: Energy,
    labels: Labels,
    order: Any,
    *,
    closure: Closure | None = None,
    max_sweeps: int = 100,
    max_rounds: int = 100,
    blocks_first: bool = False,
) -> int:
    """Move the units of `order`, pairs and blocks, `labels` in place, until nothing pays; returns the moves.

    A round is sweeps until no unit wants to move, then pairs and blocks once. Single moves tear blocks apart
    that should have moved as a whole: `blocks_first` begins with these.
    """
    k = energy.cost.shape[1]
    if not len(order) or k == 1:
        return 0
    n, n_chunklets = core.n_units, len(core.chunklet_ptr) - 1
    marks = Marks(
        due=np.full(n, 3, dtype=np.uint8),
        may_improve=np.ones(n, dtype=np.uint8),
        group_time=np.zeros(core.n_groups, dtype=np.int64),
        unit_time=np.zeros(n, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
    )
    longest = int(np.diff(core.chunklet_ptr).max(initial=0))
    scratch = Scratch(
        np.empty(k), np.empty(k), np.empty(longest, dtype=np.int32), np.empty(n, dtype=np.int64)
    )
    nonzeros = 0 if closure is None else len(closure.row_data)
    steps = 1 + k + (len(core.indices) + k * (len(core.member_group) + nonzeros)) // n
    phase, length = (_BLOCKS_FIRST, n_chunklets) if blocks_first else (_SWEEP, len(order))
    state = np.array([phase, max_sweeps, max_rounds, 1 + SLICE // steps, 0, length, 0, 0, 0, 0, 1])
    chunklets = Chunklets(core.chunklet_ptr, core.chunklet_unit, core.chunklet_of)
    given = energy, core.acts, closure, group_counts(core, labels, k), labels, order, chunklets
    # going in and out of kernels costs some 100 steps; compiling this one takes as long as all that it calls
    advance = _advance.for_work(100 + len(order))
    while not advance(*given, marks, scratch, state):
        pass
    return int(state[_MOVES])
