"""Compiled: pairs of similar clusters with common neighbours, one by one; all others as pairs of groups."""

from __future__ import annotations

from coterie._compiled import kernel
from coterie.hierarchy._linkage import find
from coterie.relational._merging.heap import push
from coterie.relational._merging.state import AlikeGroups, Counters, LiveClusters, MergeQueue, RelatedPairs


@kernel(inline=True)
def alike_in(g: AlikeGroups, own: int, e: int) -> float:
    """Similarity of the attributes of a group and that of its entry e; read only."""
    return g.total[e] / (g.divisor[own] * g.divisor[g.to[e]])


@kernel
def push_groups(own: int, e: int, alpha: float, q: MergeQueue, c: Counters, g: AlikeGroups) -> None:
    """Queue all pairs of clusters of a group and of its entry e; `q` and `c` are written."""
    alike = alike_in(g, own, e)
    both_alone = g.alone[own] == 1 and g.alone[g.to[e]] == 1
    push(q, c, alike if both_alone else (1.0 - alpha) * alike, alike, -1, -1, e, own)


@kernel
def push_pair(k: int, alpha: float, q: MergeQueue, c: Counters, p: RelatedPairs, u: LiveClusters) -> None:
    """Queue a pair as it is now; `q`, `c` and its version are written."""
    a = min(p.end[2 * k], p.end[2 * k + 1])
    b = max(p.end[2 * k], p.end[2 * k + 1])
    share = p.common[k] / (u.degree[a] + u.degree[b] - p.common[k])
    p.version[k] += 1
    push(q, c, (1.0 - alpha) * p.alike[k] + alpha * share, p.alike[k], a, b, ~k, p.version[k])


@kernel
def add_pair(a: int, b: int, common: int, alike: float, c: Counters, p: RelatedPairs) -> int:
    """Keep a pair, and return its number; `c` and `p` are written."""
    k = c.free[0]
    if k >= 0:
        c.free[0] = p.common[k]
    else:
        k = c.pairs[0]
        c.pairs[0] += 1
        p.version[k] = 0
    p.common[k] = common
    p.alike[k] = alike
    for s in range(2):
        node = 2 * k + s
        own = a if s == 0 else b
        p.end[node] = own
        p.earlier[node] = -1
        p.later[node] = p.head[own]
        if p.head[own] >= 0:
            p.earlier[p.head[own]] = node
        p.head[own] = node
    return k


@kernel
def drop_pairs(own: int, c: Counters, p: RelatedPairs) -> None:
    """Forget all pairs of a cluster; `c` and `p` are written."""
    node = p.head[own]
    while node >= 0:
        k = node // 2
        following = p.later[node]
        other = node ^ 1
        if p.earlier[other] >= 0:
            p.later[p.earlier[other]] = p.later[other]
        else:
            p.head[p.end[other]] = p.later[other]
        if p.later[other] >= 0:
            p.earlier[p.later[other]] = p.earlier[other]
        p.version[k] += 1
        p.common[k] = c.free[0]
        c.free[0] = k
        node = following
    p.head[own] = -1


@kernel
def mark_similar(own: int, g: AlikeGroups) -> None:
    """Note where each group stands in the list of one, and drop those that are gone; `g` is written."""
    last = -1
    e = g.head[own]
    while e >= 0:
        if g.first[g.to[e]] < 0:
            if last < 0:
                g.head[own] = g.onward[e]
            else:
                g.onward[last] = g.onward[e]
        else:
            g.entry[g.to[e]] = e
            last = e
        e = g.onward[e]


@kernel
def unmark_similar(own: int, g: AlikeGroups) -> None:
    """Forget where they stand; `entry` is written."""
    e = g.head[own]
    while e >= 0:
        g.entry[g.to[e]] = -1
        e = g.onward[e]


@kernel
def meet(
    k: int, alpha: float, q: MergeQueue, c: Counters, u: LiveClusters, g: AlikeGroups, p: RelatedPairs
) -> None:
    """Keep and queue all similar clusters that have a neighbour in common with k; `u.into` is read only.

    Before the first merge each pair is met from its lesser end.
    """
    n_touched = 0
    e = u.head[k]
    while e >= 0:
        t = u.head[find(u.into, u.to[e])]
        while t >= 0:
            other = find(u.into, u.to[t])
            if other > k or (other != k and c.merges[0] > 0):
                if u.met[other] == 0:
                    u.touched[n_touched] = other
                    n_touched += 1
                u.met[other] += 1
            t = u.onward[t]
        e = u.onward[e]
    own = u.group[k]
    if n_touched:
        mark_similar(own, g)
    for s in range(n_touched):
        other = u.touched[s]
        e = g.entry[u.group[other]]
        if e >= 0:
            push_pair(add_pair(k, other, u.met[other], alike_in(g, own, e), c, p), alpha, q, c, p, u)
        u.met[other] = 0
    if n_touched:
        unmark_similar(own, g)


@kernel
def queue_groups(alpha: float, q: MergeQueue, c: Counters, g: AlikeGroups) -> None:
    """Queue all pairs of groups; `q` and `c` are written."""
    for own in range(c.groups[0]):
        e = g.head[own]
        while e >= 0:
            if own <= g.to[e]:
                push_groups(own, e, alpha, q, c, g)
            e = g.onward[e]


@kernel(patience=1.0)
def meet_some(
    begin: int,
    steps: int,
    alpha: float,
    q: MergeQueue,
    c: Counters,
    u: LiveClusters,
    g: AlikeGroups,
    p: RelatedPairs,
) -> int:
    """Queue the pairs of clusters from number `begin` on for some steps; the first that has to wait.

    It waits where there is no room for `need` more pairs. All but `u.into` is written.
    """
    k, n = begin, u.into.shape[0]
    while k < n and steps > 0:
        room = 0
        e = u.head[k]
        while e >= 0:
            room += u.degree[u.to[e]]
            e = u.onward[e]
        c.need[0] = min(room, n)
        if c.need[0] > min(p.common.shape[0] - c.pairs[0], q.key.shape[0] - c.queue[0]):
            return k
        meet(k, alpha, q, c, u, g, p)
        steps -= room + 1
        k += 1
    c.need[0] = 0
    return k
