"""Compiled: the queue of pairs as a heap, and which of its places still speak of what there is."""

from __future__ import annotations

from coterie._compiled import kernel
from coterie.relational._merging.state import AlikeGroups, Counters, MergeQueue, RelatedPairs


@kernel
def before(q: MergeQueue, s: int, t: int) -> bool:
    """Whether place s comes before place t; read only."""
    if q.key[s] != q.key[t]:
        return q.key[s] > q.key[t]
    if q.alike[s] != q.alike[t]:
        return q.alike[s] > q.alike[t]
    if q.a[s] != q.a[t]:
        return q.a[s] < q.a[t]
    return q.b[s] < q.b[t]


@kernel
def swap(q: MergeQueue, s: int, t: int) -> None:
    """Exchange two places; `q` is written."""
    q.key[s], q.key[t] = q.key[t], q.key[s]
    q.alike[s], q.alike[t] = q.alike[t], q.alike[s]
    q.a[s], q.a[t] = q.a[t], q.a[s]
    q.b[s], q.b[t] = q.b[t], q.b[s]
    q.ref[s], q.ref[t] = q.ref[t], q.ref[s]
    q.version[s], q.version[t] = q.version[t], q.version[s]


@kernel
def sink(q: MergeQueue, n: int, at: int) -> None:
    """Move a place down to where it belongs; `q` is written."""
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and before(q, child + 1, child):
            child += 1
        if not before(q, child, at):
            break
        swap(q, at, child)
        at = child


@kernel
def push(
    q: MergeQueue, c: Counters, key: float, alike: float, a: int, b: int, ref: int, version: int
) -> None:
    """Put one into the queue; `q` and `c` are written."""
    at = c.queue[0]
    c.queue[0] += 1
    q.key[at] = key
    q.alike[at] = alike
    q.a[at] = a
    q.b[at] = b
    q.ref[at] = ref
    q.version[at] = version
    while at > 0 and before(q, at, (at - 1) // 2):
        swap(q, at, (at - 1) // 2)
        at = (at - 1) // 2


@kernel
def drop_first(q: MergeQueue, c: Counters) -> None:
    """Take the first out of the queue; `q` and `c` are written."""
    c.queue[0] -= 1
    swap(q, 0, c.queue[0])
    sink(q, c.queue[0], 0)


@kernel
def drop_stale(q: MergeQueue, c: Counters, g: AlikeGroups, p: RelatedPairs) -> None:
    """Leave out what is no longer so, and order the rest; `q` and `c` are written."""
    n = 0
    for s in range(c.queue[0]):
        if is_current(q, s, g, p):
            swap(q, n, s)
            n += 1
    c.queue[0] = n
    for s in range(n // 2 - 1, -1, -1):
        sink(q, n, s)


@kernel
def is_current(q: MergeQueue, s: int, g: AlikeGroups, p: RelatedPairs) -> bool:
    """Whether a place of the queue speaks of what there still is; read only."""
    ref = q.ref[s]
    if ref < 0:
        return p.version[~ref] == q.version[s]
    return g.first[g.to[ref]] >= 0 and g.first[q.version[s]] >= 0
