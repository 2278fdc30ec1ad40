"""Items that choose their cluster one after the other, by how near it is and by how many it holds.

The larger count, the smaller chance: by cosine the greatest `(cos + 1) * count**-gamma` wins, by squared
distance the least `square * count**gamma`, that is the greatest of its negative. So every kernel takes a
`power` of the counts, and looks for the greatest product. Tables of centres lie features first, so that all
clusters are compared in one sweep over a row, dense or CSR. A comparison costs O(k) times the stored values
of a row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie._arrays import NOTHING, Floats
from coterie._compiled import kernel

# A gain below this share is rounding, and moves nobody.
_RELATIVE = 1e-12
# Rows of CSR this near are the same; of dense ones the distance is exact.
_NEAR = 1e-12
# Updates of a sparse centre before its factor and its square are made anew.
_STALE = 1000
_SMALL = 1e-100
# The common factor of counts that all forget goes into them when it is below this.
_FORGOTTEN = 1e-6


class ItemRows(NamedTuple):
    """Rows as the kernels read them: CSR, or dense with `indices` empty; `scale` is empty but for cosines."""

    data: Any
    indices: Any
    indptr: Any
    scale: Any


class CentreTable(NamedTuple):
    """Centre h is `scale[h] * table[:, h]`; `squares` are those of the columns of the table."""

    table: Any
    scale: Any
    squares: Any


class Turns(NamedTuple):
    """Counts of the clusters and their powers: with one item more, and as they are."""

    counts: Any
    ahead: Any
    here: Any
    power: float
    unit: float  # what an empty cluster counts
    weighted: bool  # whether items add different amounts, so that `ahead` is made for each


class Stream(NamedTuple):
    """What is left of the items seen: counts up to a common factor, and their logarithms."""

    counts: Any
    logs: Any
    age: Any  # updates of each centre since it was made anew
    clock: Any  # the common factor; items seen; clusters in use


class StreamRule(NamedTuple):
    """How a stream chooses and forgets."""

    power: float
    keep: float  # what is left of a count at each step
    all_forget: bool  # whether also the counts of others become smaller
    log_weight: float  # of log(count), beside the product; by cosine over `span`
    span: float  # 0: as many as were seen


def item_rows(X: Any, scale: Floats = NOTHING) -> ItemRows:
    """Rows of a C-ordered array or a canonical CSR matrix, without a copy."""
    if sparse.issparse(X):
        # a matrix without any value is sparse all the same
        indices = X.indices if X.nnz else np.zeros(1, dtype=X.indices.dtype)
        return ItemRows(X.data, indices, X.indptr.astype(np.int64), scale)
    n, d = X.shape
    return ItemRows(X.reshape(-1), np.empty(0, dtype=np.int32), d * np.arange(n + 1, dtype=np.int64), scale)


def turns_of(counts: Floats, power: float, unit: float, weighted: bool) -> Turns:
    """Powers of counts, which `unit` stands for where a cluster is empty."""
    here = np.where(counts > 0, counts, unit) ** power
    return Turns(counts, (counts + 1.0) ** power, here, power, unit, weighted)


@kernel(inline=True)
def _power(count: float, power: float) -> float:
    """A count above 0 to a power."""
    return math.exp(power * math.log(count))


@kernel(inline=True)
def _turn(values: Any, old: int, step: float, turns: Turns) -> int:
    """The best cluster of an item that leaves its own: the greatest of its values times the factors."""
    counts, ahead, here, power, unit, weighted = turns
    k = values.shape[0]
    if weighted:
        for h in range(k):
            held = counts[h] + step
            ahead[h] = _power(held if held > 0.0 else unit, power)
    other = ahead[old]
    ahead[old] = here[old]
    best = 0
    most = values[0] * ahead[0]
    for h in range(1, k):
        value = values[h] * ahead[h]
        better = value > most
        most = value if better else most
        best = h if better else best
    ahead[old] = other
    own = values[old] * here[old]
    return best if most > own + _RELATIVE * abs(own) else old


@kernel(inline=True)
def _change(old: int, best: int, step: float, turns: Turns) -> None:
    """Take an item from the count of one cluster to that of another."""
    counts, ahead, here, power, unit, _ = turns
    counts[old] = max(counts[old] - step, 0.0)
    counts[best] += step
    for h in (old, best):
        here[h] = _power(counts[h] if counts[h] > 0.0 else unit, power)
        ahead[h] = _power(counts[h] + 1.0, power)


@kernel
def choose_in_turn(values: Any, start: int, labels: Any, weight: Any, turns: Turns) -> int:
    """Let each item leave its cluster and take the best one; returns how many changed.

    `values` are those of the rows from `start` on; `weight` (may be empty) is what items add to a count.
    Changes `labels` and the counts.
    """
    changed = 0
    for i in range(values.shape[0]):
        step = weight[start + i] if weight.shape[0] > 0 else 1.0
        old: Any = np.int64(labels[start + i])
        best = _turn(values[i], old, step, turns)
        if best != old:
            changed += 1
            labels[start + i] = best
            _change(old, best, step, turns)
    return changed


@kernel(inline=True)
def _compare(rows: ItemRows, row: int, centres: CentreTable, out: Any) -> float:
    """Write the cosine or the squared distance of a row to all centres; returns the row's own square."""
    low, high = rows.indptr[row], rows.indptr[row + 1]
    table, scale = centres.table, centres.scale
    k = out.shape[0]
    dense, cosine = rows.indices.shape[0] == 0, rows.scale.shape[0] > 0
    factor = rows.scale[row] if cosine else 1.0
    square = 0.0
    for h in range(k):
        out[h] = 0.0
    if dense and not cosine:  # gaps lose no digits, wherever the origin is
        for t in range(low, high):
            value = 1.0 * rows.data[t]
            square += value * value
            for h in range(k):
                gap = value - scale[h] * table[t - low, h]
                out[h] += gap * gap
        return square
    for t in range(low, high):
        value = factor * rows.data[t]
        square += value * value
        j = t - low if dense else rows.indices[t]
        for h in range(k):
            out[h] += value * table[j, h]
    for h in range(k):
        out[h] *= scale[h]
        if not cosine:
            out[h] = max(square - 2.0 * out[h] + scale[h] * scale[h] * centres.squares[h], 0.0)
    return square


@kernel(inline=True)
def _add(rows: ItemRows, row: int, amount: float, table: Any, h: int) -> None:
    """Add a multiple of a row to a column of the table."""
    low = rows.indptr[row]
    dense = rows.indices.shape[0] == 0
    for t in range(low, rows.indptr[row + 1]):
        table[t - low if dense else rows.indices[t], h] += amount * rows.data[t]


@kernel
def choose_and_move(
    rows: ItemRows, start: int, stop: int, labels: Any, weight: Any, turns: Turns, centres: CentreTable
) -> int:
    """As `choose_in_turn`, but a centre follows each item at once; the table holds the sums of the clusters.

    An empty cluster keeps its centre in the table, with the scale that it has.
    """
    table, scale, squares = centres
    counts = turns.counts
    k = counts.shape[0]
    cosine = rows.scale.shape[0] > 0
    near, values = np.empty(k), np.empty(k)
    changed = 0
    for row in range(start, stop):
        square = _compare(rows, row, centres, near)
        for h in range(k):
            values[h] = near[h] + 1.0 if cosine else -near[h]
        step = weight[row] if weight.shape[0] > 0 else 1.0
        old: Any = np.int64(labels[row])
        best = _turn(values, old, step, turns)
        if best == old:
            continue
        changed += 1
        labels[row] = best
        first = counts[best] <= 0.0
        _change(old, best, step, turns)
        if step == 0.0:
            continue
        if first:
            table[:, best] = 0.0
            squares[best] = 0.0
        for h in (old, best):
            if counts[h] <= 0.0:  # it was alone there, and its place stays the centre
                continue
            sign = -step if h == old else step
            # the inner product of the row and the sum, from what they were compared by
            within = near[h] / scale[h]
            if not cosine:
                within = (square + scale[h] * scale[h] * squares[h] - near[h]) / (2.0 * scale[h])
            if h == best and first:
                within = 0.0
            squares[h] = max(squares[h] + 2.0 * sign * within + step * step * square, 0.0)
            _add(rows, row, sign * rows.scale[row] if cosine else sign, table, h)
            if not cosine:
                scale[h] = 1.0 / counts[h]
            elif squares[h] > 0.0:
                scale[h] = 1.0 / math.sqrt(squares[h])
    return changed


@kernel(inline=True)
def _make_anew(centres: CentreTable, h: int, cosine: bool) -> None:
    """Write the factor of a sparse centre into its column, and take its square anew."""
    table, scale, squares = centres
    total = 0.0
    for j in range(table.shape[0]):
        table[j, h] *= scale[h]
        total += table[j, h] * table[j, h]
    scale[h] = 1.0 / math.sqrt(total) if cosine and total > 0.0 else 1.0
    squares[h] = total


@kernel(inline=True)
def _approach(
    rows: ItemRows, row: int, square: float, near: float, rate: float, centres: CentreTable, h: int
) -> None:
    """Move centre h towards a row by a share of the way; by cosine it keeps its length."""
    table, scale, squares = centres
    low = rows.indptr[row]
    dense, cosine = rows.indices.shape[0] == 0, rows.scale.shape[0] > 0
    stay, go = 1.0 - rate, rate
    if cosine:
        length = math.sqrt(max(stay * stay + 2.0 * stay * go * near + go * go, 0.0))
        if length <= _NEAR:  # they cancel each other: it stays where it is
            return
        stay, go = stay / length, go * rows.scale[row] / length
    if dense:
        for t in range(low, rows.indptr[row + 1]):
            if cosine:
                table[t - low, h] = stay * table[t - low, h] + go * rows.data[t]
            else:
                table[t - low, h] += go * (rows.data[t] - table[t - low, h])
        return
    if stay <= _NEAR:  # the first item, or all but forgotten
        table[:, h] = 0.0
        scale[h], squares[h] = 1.0, 0.0
        _add(rows, row, go, table, h)
        squares[h] = 1.0 if cosine else go * go * square
        return
    if not cosine:
        held = scale[h] * scale[h] * squares[h]
        within = 0.5 * (square + held - near)
        after = max(stay * stay * held + 2.0 * stay * go * within + go * go * square, 0.0)
    scale[h] *= stay
    _add(rows, row, go / scale[h], table, h)
    if not cosine:
        squares[h] = after / (scale[h] * scale[h])


@kernel(inline=True)
def _first_unused(rows: ItemRows, near: Any, square: float, used: int) -> int:
    """The cluster of an item while some are unused: one whose centre is the item itself, or a new one."""
    dense, cosine = rows.indices.shape[0] == 0, rows.scale.shape[0] > 0
    for h in range(used):
        if near[h] >= 1.0 - _NEAR if cosine else near[h] <= (0.0 if dense else _NEAR * square):
            return h
    return used


@kernel
def follow_stream(
    rows: ItemRows,
    order: Any,
    rule: StreamRule,
    stream: Stream,
    centres: CentreTable,
    labels: Any,
) -> None:
    """Take items in order: each joins a cluster (into `labels`), whose count and centre follow at once."""
    counts, logs, age, clock = stream
    k = counts.shape[0]
    cosine = rows.scale.shape[0] > 0
    near, factors = np.empty(k), np.empty(k)
    for h in range(k):
        factors[h] = math.exp(rule.power * logs[h])
    for t in range(order.shape[0]):
        row = order[t]
        square = _compare(rows, row, centres, near)
        used = int(clock[2])
        if used < k:
            best = _first_unused(rows, near, square, used)
            clock[2] = max(used, best + 1)
        else:
            bend = rule.log_weight
            if bend != 0.0:
                if cosine:
                    bend /= rule.span if rule.span > 0.0 else clock[1] + 1.0
                bend *= _power(clock[0], -rule.power)
            best = 0
            most = -np.inf
            for h in range(k):
                value = (near[h] + 1.0 if cosine else -near[h]) * factors[h] + bend * logs[h]
                better = value > most
                most = value if better else most
                best = h if better else best
        first = counts[best] == 0.0
        if rule.all_forget:
            clock[0] *= rule.keep
            counts[best] += 1.0 / clock[0]
            if clock[0] < _FORGOTTEN:
                for h in range(k):
                    counts[h] *= clock[0]
                    if counts[h] > 0.0:
                        logs[h] = math.log(counts[h])
                        factors[h] = math.exp(rule.power * logs[h])
                clock[0] = 1.0
        else:
            counts[best] = rule.keep * counts[best] + 1.0
        logs[best] = math.log(counts[best])
        factors[best] = math.exp(rule.power * logs[best])
        # the first item is the centre to the last bit, so that its copies are known again
        rate = 1.0 if first else 1.0 / (clock[0] * counts[best])
        _approach(rows, row, square, near[best], rate, centres, best)
        if rows.indices.shape[0] > 0:
            age[best] += 1
            if age[best] >= _STALE or centres.scale[best] < _SMALL:
                _make_anew(centres, best, cosine)
                age[best] = 0
        clock[1] += 1.0
        labels[row] = best
