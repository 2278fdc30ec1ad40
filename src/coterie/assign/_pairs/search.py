"""The search under prices: sweeps until no unit wants to move, then pairs and blocks; kernels in `_soft`."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._arrays import Floats, Labels
from coterie.assign._core.core import Core
from coterie.assign._core.counts import count_rows
from coterie.assign._pairs.moves import exchange, find_due, move_blocks, paid, sweep

# Steps between two returns to Python: well under half a second.
_SLICE = 20_000_000


def pair_energy(core: Core, labels: Labels, k: int) -> float:
    """What all pairs and groups of the core cost together; infinite if something forbidden happens."""
    if not core.n_units:
        return core.constant
    twice = paid(core.acts, count_rows(core, labels, k), labels)
    return core.constant + 0.5 * twice


def improve_soft(
    core: Core, cost: Floats, labels: Labels, order: Any, max_sweeps: int, max_rounds: int
) -> int:
    """Move the units of `order`, pairs and blocks, `labels` in place, until nothing pays; returns the moves.

    `cost` is what each cluster costs above the least: 0 where a unit is cheapest. A round is sweeps until no
    unit wants to move, then pairs and blocks once.
    """
    k = cost.shape[1]
    if not len(order) or k == 1:
        return 0
    counts = count_rows(core, labels, k)
    # bit 1: due for a sweep; bit 2: due for an exchange
    dirty, uneasy = np.full(core.n_units, 3, dtype=np.uint8), np.ones(core.n_units, dtype=np.uint8)
    row_time = np.zeros(core.n_rows, dtype=np.int64)
    unit_time = np.zeros(core.n_units, dtype=np.int64)
    clock = np.zeros(1, dtype=np.int64)
    out, total = np.empty(k), np.empty(k)
    n_blocks = len(core.block_ptr) - 1
    longest = np.empty(int(np.diff(core.block_ptr).max(initial=0)), dtype=np.int32)
    work = 1 + k + (len(core.indices) + k * len(core.entry_row)) // core.n_units
    step = max(1, _SLICE // work)
    due = np.empty(core.n_units, dtype=np.int64)
    moves = rounds = 0

    def visit(order: Any) -> int:
        moved = 0
        for start in range(0, len(order), step):
            stop = min(start + step, len(order))
            moved += sweep(
                cost,
                core.acts,
                counts,
                labels,
                order,
                start,
                stop,
                dirty,
                uneasy,
                row_time,
                unit_time,
                clock,
                out,
            )
        return moved

    def still(bit: int) -> Any:
        """Who is due; with rows of counts anybody may be."""
        return order if core.n_rows else due[: find_due(dirty, bit, due)]

    moved = visit(order)
    for _ in range(max_sweeps):
        moves += moved
        if moved:
            moved = visit(still(1))
            continue
        # in one of many passes with much to do for single units, pairs and blocks can wait
        if rounds == max_rounds or (max_rounds == 1 and moves > max(16, core.n_units // 100)):
            break
        pairs = due[: find_due(dirty, 2, due)]
        for start in range(0, len(pairs), step):
            stop = min(start + step, len(pairs))
            moved += exchange(
                cost, core.acts, labels, pairs, start, stop, rounds == 0, dirty, uneasy, out, total
            )
        for start in range(0, n_blocks, step):
            moved += move_blocks(
                cost,
                core.acts,
                counts,
                labels,
                core.block_ptr,
                core.block_unit,
                core.block_of,
                start,
                min(start + step, n_blocks),
                dirty,
                uneasy,
                row_time,
                clock,
                out,
                total,
                longest,
            )
        rounds += 1
        if not moved:
            break
    return moves
