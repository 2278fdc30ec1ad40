"""Compiled: the queue of changing similarities. The best pair merges, and what that changes is queued anew.

The similarity of two clusters is `(1 - alpha) attributes + alpha relational`; the relational part is the
share of common neighbours. Few pairs have any: these are kept one by one. All others have attributes alone,
and there clusters of the same attributes are alike: they are kept as pairs of groups, and a pair of clusters
is looked for when its turn comes. So equal records never become pairs.

A merge of i and j changes only: the pairs of the new cluster; those of clusters that neighboured both (one
neighbour less, one in common less); those of a neighbour of i alone and one of j alone (one in common more).
"""

from __future__ import annotations

from coterie._arrays import Index
from coterie._compiled import kernel
from coterie.hierarchy._linkage import Vetoes, apart, find, unite
from coterie.relational._merging.heap import drop_first, is_current, push
from coterie.relational._merging.related_pairs import (
    add_pair,
    alike_in,
    drop_pairs,
    mark_similar,
    meet,
    push_groups,
    push_pair,
    unmark_similar,
)
from coterie.relational._merging.state import (
    AlikeGroups,
    Counters,
    LiveClusters,
    MergeLog,
    MergeQueue,
    RelatedPairs,
)

AVERAGE, MAX, MIN = range(3)
LINKAGES = {"average": AVERAGE, "max": MAX, "min": MIN}

# ---- a merge ------------------------------------------------------------------------------------------


@kernel
def room_for(i: int, j: int, u: LiveClusters, g: AlikeGroups, p: RelatedPairs) -> int:
    """At most how many pairs, entries and places of the queue the merge of i and j takes; read only."""
    n = u.into.shape[0]
    met = 0
    changed = u.degree[i] * u.degree[j]
    for own in (i, j):
        e = u.head[own]
        while e >= 0:
            other = find(u.into, u.to[e])
            met += u.degree[other]
            node = p.head[other]
            while node >= 0:
                changed += 1
                node = p.later[node]
            e = u.onward[e]
        e = g.head[u.group[own]]
        while e >= 0:
            changed += 2
            e = g.onward[e]
    return min(met, n) + changed + 1


@kernel
def join_groups(
    i: int,
    j: int,
    linkage: int,
    apart_alone: bool,
    alpha: float,
    q: MergeQueue,
    c: Counters,
    u: LiveClusters,
    g: AlikeGroups,
) -> None:
    """Put cluster i, which j has just joined, into the group it now belongs to; sizes are those before."""
    one, other = u.group[i], u.group[j]
    for s in (j, i):
        stays = s == i and one == other and not (apart_alone and u.degree[i] == 0 and g.alone[one] == 0)
        if stays:
            return
        own = u.group[s]
        if u.earlier[s] >= 0:
            u.later[u.earlier[s]] = u.later[s]
        else:
            g.first[own] = u.later[s]
        if u.later[s] >= 0:
            u.earlier[u.later[s]] = u.earlier[s]
    new = c.groups[0]
    c.groups[0] += 1
    average = linkage == AVERAGE
    g.divisor[new] = u.size[i] + u.size[j] if average else 1.0
    g.alone[new] = 1 if apart_alone and u.degree[i] == 0 else 0
    g.head[new] = -1
    g.first[new] = i
    g.entry[new] = -1
    u.group[i] = new
    u.later[i] = -1
    u.earlier[i] = -1
    for s in (i, j):
        own = one if s == i else other
        # the sums of a cluster by itself are of all its records already
        times = float(u.size[s]) if average and g.divisor[own] == 1.0 else 1.0
        e = g.head[own]
        while e >= 0:
            to = g.to[e]
            if g.first[to] >= 0 and to != new:
                at = g.entry[to]
                if at < 0:
                    at = c.entries[0]
                    c.entries[0] += 2
                    g.entry[to] = at
                    g.to[at] = to
                    g.total[at] = times * g.total[e]
                    g.done[at] = 1
                    g.onward[at] = g.head[new]
                    g.head[new] = at
                    g.to[at + 1] = new
                    g.onward[at + 1] = g.head[to]
                    g.head[to] = at + 1
                elif average:
                    g.total[at] += times * g.total[e]
                elif linkage == MAX:
                    g.total[at] = max(g.total[at], g.total[e])
                else:
                    g.total[at] = min(g.total[at], g.total[e])
                    g.done[at] = 2
            e = g.onward[e]
    e = g.head[new]
    while e >= 0:
        if linkage == MIN and g.done[e] == 1:  # the other one was not compared with it
            g.total[e] = 0.0
        g.total[e + 1] = g.total[e]
        g.done[e] = 0
        g.entry[g.to[e]] = -1
        push_groups(new, e, alpha, q, c, g)
        e = g.onward[e]


@kernel
def leave_neighbour(x: int, j: int, u: LiveClusters) -> None:
    """Take cluster j out of the neighbours of x; `head`, `onward` and `degree` are written."""
    last, e = -1, u.head[x]
    while find(u.into, u.to[e]) != j:
        last, e = e, u.onward[e]
    if last < 0:
        u.head[x] = u.onward[e]
    else:
        u.onward[last] = u.onward[e]
    u.degree[x] -= 1


@kernel
def count_once_more(
    x: int,
    n_others: int,
    alpha: float,
    q: MergeQueue,
    c: Counters,
    u: LiveClusters,
    g: AlikeGroups,
    p: RelatedPairs,
) -> None:
    """One neighbour in common more for x and each of the last of `touched`; all but `u.into` is written."""
    own, n = u.group[x], u.into.shape[0]
    mark_similar(own, g)
    node = p.head[x]
    while node >= 0:
        u.met[p.end[node ^ 1]] = node // 2 + 1
        node = p.later[node]
    for s in range(n - n_others, n):
        other = u.touched[s]
        e = g.entry[u.group[other]]
        if e >= 0:
            k = u.met[other] - 1
            if k >= 0:
                p.common[k] += 1
            else:
                k = add_pair(x, other, 1, alike_in(g, own, e), c, p)
            push_pair(k, alpha, q, c, p, u)
    node = p.head[x]
    while node >= 0:
        u.met[p.end[node ^ 1]] = 0
        node = p.later[node]
    unmark_similar(own, g)


@kernel
def merge(
    i: int,
    j: int,
    linkage: int,
    apart_alone: bool,
    alpha: float,
    q: MergeQueue,
    c: Counters,
    u: LiveClusters,
    g: AlikeGroups,
    p: RelatedPairs,
    v: Vetoes,
) -> None:
    """Merge cluster j into i < j, and queue what has changed; all is written."""
    n = u.into.shape[0]
    of_i = c.mark[0] + 1
    of_j, of_both = of_i + 1, of_i + 2
    c.mark[0] = of_both
    drop_pairs(i, c, p)
    drop_pairs(j, c, p)
    e = u.head[i]
    while e >= 0:
        u.mark[find(u.into, u.to[e])] = of_i
        e = u.onward[e]
    n_both, n_others, beside = 0, 0, u.mark[j] == of_i
    e = u.head[j]
    while e >= 0:
        x = find(u.into, u.to[e])
        if u.mark[x] == of_i:
            u.mark[x] = of_both
            u.touched[n_both] = x
            n_both += 1
        elif x != i:
            u.mark[x] = of_j
            n_others += 1
            u.touched[n - n_others] = x
        e = u.onward[e]
    # who neighboured both has one neighbour less, and two of them have one in common less
    for s in range(n_both):
        x = u.touched[s]
        leave_neighbour(x, j, u)
        node = p.head[x]
        while node >= 0:
            y = p.end[node ^ 1]
            if x < y and u.mark[y] == of_both:
                p.common[node // 2] -= 1
            node = p.later[node]
    for s in range(n_both):
        x = u.touched[s]
        node = p.head[x]
        while node >= 0:
            y = p.end[node ^ 1]
            if x < y or u.mark[y] != of_both:
                push_pair(node // 2, alpha, q, c, p, u)
            node = p.later[node]
    if beside:
        leave_neighbour(i, j, u)
        leave_neighbour(j, i, u)
    e = u.head[i] if n_others else -1
    while e >= 0:
        x = find(u.into, u.to[e])
        if u.mark[x] == of_i:
            count_once_more(x, n_others, alpha, q, c, u, g, p)
        e = u.onward[e]
    e = u.head[j]
    while e >= 0:
        following = u.onward[e]
        if u.mark[find(u.into, u.to[e])] == of_j:
            u.onward[e] = u.head[i]
            u.head[i] = e
            u.degree[i] += 1
        e = following
    u.into[j] = i
    join_groups(i, j, linkage, apart_alone, alpha, q, c, u, g)
    u.size[i] += u.size[j]
    u.root[i] = unite(u.root[i], u.root[j], v)
    meet(i, alpha, q, c, u, g, p)


# ---- the loop -----------------------------------------------------------------------------------------


@kernel
def log_pair(log: MergeLog, count: Index, a: int, b: int, key: float, alike: float, share: float) -> None:
    """Write down a pair if there is room; `log` and `count` are written."""
    at = count[0]
    if at < log.left.shape[0]:
        log.left[at] = a
        log.right[at] = b
        log.similarity[at] = key
        log.alike[at] = alike
        log.relational[at] = share
        count[0] += 1


@kernel
def next_pair(own: int, e: int, u: LiveClusters, g: AlikeGroups, v: Vetoes) -> tuple[int, int, int, int]:
    """The first two clusters of a group and its entry that may merge, the first that may not, and the work.

    The first of both is -1 where there are none, with -1 beside it if all have been tried. Who may not is
    one number, a n + b; -1: none. Vetoes only grow, so clusters before `done`, which is written, are done.
    """
    to, work = g.to[e], 0
    x, y = g.first[own], g.first[to]
    passed = -1
    while x >= 0 and y >= 0 and work < 1_000_000:
        a = min(x, y)
        if own == to:
            y = u.later[a]
        b = y if a == x else x
        work += 1
        if a >= g.done[e]:
            while b >= 0:
                work += 1
                if not apart(u.root[a], u.root[b], v):
                    g.done[e] = a
                    return a, b, passed, work
                if passed < 0:
                    passed = a * u.into.shape[0] + b
                b = u.later[b]
            g.done[e] = a + 1
        if own == to:
            x = y
        elif a == x:
            x = u.later[x]
        else:
            y = u.later[y]
    return -1, 0 if x >= 0 and y >= 0 else -1, passed, work


@kernel
def is_pair_of(a: int, b: int, one: int, other: int, u: LiveClusters) -> bool:
    """Whether two clusters are there still, and of these groups; read only."""
    if a < 0 or u.into[a] != a or u.into[b] != b:
        return False
    return (u.group[a] == one and u.group[b] == other) or (u.group[a] == other and u.group[b] == one)


@kernel(patience=2.0)
def run(
    threshold: float,
    steps: int,
    merging: bool,
    linkage: int,
    apart_alone: bool,
    alpha: float,
    q: MergeQueue,
    c: Counters,
    u: LiveClusters,
    g: AlikeGroups,
    p: RelatedPairs,
    v: Vetoes,
    log: MergeLog,
    near: MergeLog,
) -> bool:
    """Merge the best pairs as long as they reach the threshold; whether that is done. All is written.

    With `merging` False the best pairs are written down only. It stops early after some steps, and where the
    next merge may need more room (`need`) than there is.
    """
    n = u.into.shape[0]
    while c.queue[0] > 0 and q.key[0] >= threshold:
        if steps <= 0 or (not merging and c.near[0] == near.left.shape[0]):
            return not merging
        steps -= 1
        key, alike, a, b, ref, version = q.key[0], q.alike[0], q.a[0], q.b[0], q.ref[0], q.version[0]
        if not is_current(q, 0, g, p):
            drop_first(q, c)
            continue
        share = 0.0
        if ref >= 0:
            known = is_pair_of(a, b, version, g.to[ref], u)
            if not known or apart(u.root[a], u.root[b], v):
                drop_first(q, c)
                a, b, passed, work = next_pair(version, ref, u, g, v)
                steps -= work
                if passed >= 0 and merging:
                    log_pair(near, c.near, passed // n, passed % n, key, alike, 0.0)
                if a >= 0 or b >= 0:  # found, or there are more to try
                    push(q, c, key, alike, a, b if a >= 0 else -1, ref, version)
                continue
        else:
            common = p.common[~ref]
            share = common / (u.degree[a] + u.degree[b] - common)
            if apart(u.root[a], u.root[b], v):
                drop_first(q, c)
                if merging:
                    log_pair(near, c.near, a, b, key, alike, share)
                continue
        if merging:
            c.need[0] = room_for(a, b, u, g, p)
            free = min(q.key.shape[0] - c.queue[0], p.common.shape[0] - c.pairs[0])
            if c.need[0] > min(free, g.to.shape[0] - c.entries[0]):
                return False
            steps -= c.need[0]
            c.need[0] = 0
        log_pair(log if merging else near, c.merges if merging else c.near, a, b, key, alike, share)
        drop_first(q, c)
        if merging:
            merge(a, b, linkage, apart_alone, alpha, q, c, u, g, p, v)
            if ref >= 0:
                push(q, c, key, alike, -1, -1, ref, version)
    return True
