"""Items that choose their cluster one after the other, by how near it is and by how many it holds.

The greatest `value * count**power` wins: by cosine `(cos + 1) * count**-gamma`, by squared distance
`-square * count**gamma`. Tables of centres lie features first, so that all clusters are compared in one sweep
over a row, dense or CSR, in O(k) times its stored values.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import NOTHING, Floats
from coterie._compiled import kernel

# A gain below this share is rounding, and moves nobody; rows of CSR this near are the same.
_NEAR = 1e-12
# Of sums this much shorter than their parts only rounding is left.
_LOST = 1e-6
# A smaller factor of a sparse centre is written into its column.
_SMALL = 1e-100


class ItemRows(NamedTuple):
    """Rows as the kernels read them: CSR, or dense with `indices` empty; `scale` makes unit vectors."""

    data: Any
    indices: Any
    indptr: Any
    scale: Any
    dense: bool
    cosine: bool


class CentreTable(NamedTuple):
    """Centre h is `scale[h] * table[:, h]`; `squares` are those of the columns of the table."""

    table: Any
    scale: Any
    squares: Any


class Turns(NamedTuple):
    """Counts of the clusters, and what they are for an item that comes: its own weight counts as the mean."""

    counts: Any
    ahead: Any  # (counts + unit)**power
    power: float
    unit: float  # the mean weight of an item


class StreamRule(NamedTuple):
    """How a stream chooses and forgets."""

    power: float
    keep: float  # what is left of a count at each step
    all_forget: bool  # whether also the counts of others become smaller
    log_weight: float  # of log(count), beside the product
    over_seen: bool  # whether that is divided by the number of items seen


def item_rows(distortion: Any) -> ItemRows:
    """The rows of a distortion, a C-ordered array or a canonical CSR matrix, without a copy."""
    X, cosine = distortion.points.X, distortion.unit == "cosine distance"
    scale = distortion.scale if cosine else NOTHING
    if sparse.issparse(X):
        return ItemRows(X.data, X.indices, X.indptr.astype(np.int64), scale, False, cosine)
    starts = X.shape[1] * np.arange(len(X) + 1, dtype=np.int64)
    return ItemRows(X.reshape(-1), np.empty(0, np.int32), starts, scale, True, cosine)


def centre_table(centres: Floats) -> CentreTable:
    """Centres that can follow single items."""
    return CentreTable(np.array(centres.T, order="C"), np.ones(len(centres)), (centres**2).sum(axis=1))


@kernel(inline=True)
def _turn(values: Any, old: int, step: float, turns: Turns) -> int:
    """Let an item leave its cluster and take the best one, the greatest of its values times the powers."""
    counts, ahead, power, unit = turns
    left, before = max(counts[old] - step, 0.0), ahead[old]
    ahead[old] = math.exp(power * math.log(left + unit))
    best = 0
    most = values[0] * ahead[0]
    for h in range(1, values.shape[0]):
        value = values[h] * ahead[h]
        better = value > most
        most = value if better else most
        best = h if better else best
    own = values[old] * ahead[old]
    if most <= own + _NEAR * abs(own):
        ahead[old] = before
        return old
    counts[old] = left
    counts[best] += step
    ahead[best] = math.exp(power * math.log(counts[best] + unit))
    return best


@kernel
def choose_in_turn(values: Any, start: int, labels: Any, weight: Any, turns: Turns) -> int:
    """Let each item choose again; returns how many changed. Changes `labels` and the counts.

    `values` are those of the rows from `start` on; `weight` (may be empty) is what items add to a count.
    """
    changed = 0
    for i in range(values.shape[0]):
        old: Any = np.int64(labels[start + i])
        best = _turn(values[i], old, weight[start + i] if weight.shape[0] > 0 else 1.0, turns)
        labels[start + i] = best
        changed += best != old
    return changed


@kernel(inline=True)
def _compare(rows: ItemRows, row: int, centres: CentreTable, out: Any) -> float:
    """Write cosine + 1, or minus the square, of a row with all centres; returns the row's own square."""
    low, high = rows.indptr[row], rows.indptr[row + 1]
    table, scale, squares = centres
    k = out.shape[0]
    factor = rows.scale[row] if rows.cosine else 1.0
    square = 0.0
    for h in range(k):
        out[h] = 0.0
    if rows.dense and not rows.cosine:  # gaps lose no digits, wherever the origin is
        for t in range(low, high):
            value = 1.0 * rows.data[t]
            square += value * value
            for h in range(k):
                gap = value - scale[h] * table[t - low, h]
                out[h] -= gap * gap
        return square
    for t in range(low, high):
        value = factor * rows.data[t]
        square += value * value
        j = t - low if rows.dense else rows.indices[t]
        for h in range(k):
            out[h] += value * table[j, h]
    for h in range(k):
        dot = scale[h] * out[h]
        out[h] = dot + 1.0 if rows.cosine else min(2.0 * dot - square - scale[h] * scale[h] * squares[h], 0.0)
    return square


@kernel(inline=True)
def _join(
    rows: ItemRows, row: int, value: float, held: float, step: float, centres: CentreTable, h: int
) -> float:
    """Add a row to centre h, which stands for a sum `held` long; returns the length with the row.

    By cosine that is the length of the sum of the unit vectors, else the weight. `value` is what `_compare`
    wrote. Where nothing is left the centre stays.
    """
    table, scale, squares = centres
    low, high = rows.indptr[row], rows.indptr[row + 1]
    length = held + step
    if rows.cosine:
        length = math.sqrt(max(held * held + 2.0 * held * step * (value - 1.0) + step * step, 0.0))
        step *= rows.scale[row]
    if length <= _LOST * held:
        return 0.0
    stay, go = scale[h] * held / length, step / length
    if rows.dense:
        for t in range(low, high):
            table[t - low, h] = stay * table[t - low, h] + go * rows.data[t]
        scale[h] = 1.0
        return length
    square = squares[h]
    if stay < _SMALL:
        square = 0.0
        for j in range(table.shape[0]):
            table[j, h] *= stay
            square += table[j, h] * table[j, h]
        stay = 1.0
    for t in range(low, high):
        j = rows.indices[t]
        old = table[j, h]
        table[j, h] += go / stay * rows.data[t]
        square += (table[j, h] - old) * (table[j, h] + old)
    scale[h], squares[h] = stay, square
    return length


@kernel
def choose_and_move(
    rows: ItemRows, start: int, stop: int, labels: Any, weight: Any, turns: Turns, centres: Any, lengths: Any
) -> None:
    """As `choose_in_turn`, but centres follow each item at once; see `_join` for the lengths."""
    values = np.empty(lengths.shape[0])
    for row in range(start, stop):
        _compare(rows, row, centres, values)
        step = weight[row] if weight.shape[0] > 0 else 1.0
        old: Any = np.int64(labels[row])
        best = _turn(values, old, step, turns)
        if best != old:
            labels[row] = best
            for h in (old, best):
                add = -step if h == old else step
                lengths[h] = _join(rows, row, values[h], lengths[h], add, centres, h)


@kernel
def follow_stream(
    rows: ItemRows, order: Any, rule: StreamRule, won: Any, clock: Any, centres: CentreTable, labels: Any
) -> None:
    """Take items in order: each joins a cluster (into `labels`), whose count and centre follow at once.

    `won` holds counts, their logarithms and powers; the clock the items seen and the clusters in use.
    """
    counts, logs, factors = won[0], won[1], won[2]
    k = counts.shape[0]
    values = np.empty(k)
    log_keep = math.log(rule.keep)
    fade = math.exp(rule.power * log_keep)
    for t in range(order.shape[0]):
        row = order[t]
        square = _compare(rows, row, centres, values)
        clock[0] += 1
        best = 0
        if clock[1] < k:  # a cluster whose centre is the item itself, or a new one
            same = 2.0 - _NEAR if rows.cosine else -square * _NEAR * (_NEAR if rows.dense else 1.0)
            while best < clock[1] and values[best] < same:
                best += 1
            clock[1] = max(clock[1], best + 1)
        else:
            bend = rule.log_weight / clock[0] if rule.over_seen else rule.log_weight
            most = -np.inf
            for h in range(k):
                value = values[h] * factors[h] + bend * logs[h]
                better = value > most
                most = value if better else most
                best = h if better else best
        _join(rows, row, values[best], rule.keep * counts[best], 1.0, centres, best)
        for h in range(0 if rule.all_forget else best, k if rule.all_forget else best + 1):
            counts[h] *= rule.keep
            logs[h] += log_keep
            factors[h] *= fade
        counts[best] += 1.0
        logs[best] = math.log(counts[best])
        factors[best] = math.exp(rule.power * logs[best])
        labels[row] = best
