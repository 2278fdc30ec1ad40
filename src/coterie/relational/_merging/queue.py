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
from coterie.relational._merging.state import Clusters, Counters, Groups, Log, Pairs, Queue

AVERAGE, MAX, MIN = range(3)
LINKAGES = {"average": AVERAGE, "max": MAX, "min": MIN}

# ---- the heap -----------------------------------------------------------------------------------------


@kernel
def before(q: Queue, s: int, t: int) -> bool:
    """Whether place s comes before place t; read only."""
    if q.key[s] != q.key[t]:
        return q.key[s] > q.key[t]
    if q.alike[s] != q.alike[t]:
        return q.alike[s] > q.alike[t]
    if q.a[s] != q.a[t]:
        return q.a[s] < q.a[t]
    return q.b[s] < q.b[t]


@kernel
def swap(q: Queue, s: int, t: int) -> None:
    """Exchange two places; `q` is written."""
    q.key[s], q.key[t] = q.key[t], q.key[s]
    q.alike[s], q.alike[t] = q.alike[t], q.alike[s]
    q.a[s], q.a[t] = q.a[t], q.a[s]
    q.b[s], q.b[t] = q.b[t], q.b[s]
    q.ref[s], q.ref[t] = q.ref[t], q.ref[s]
    q.version[s], q.version[t] = q.version[t], q.version[s]


@kernel
def sink(q: Queue, n: int, at: int) -> None:
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
def push(q: Queue, c: Counters, key: float, alike: float, a: int, b: int, ref: int, version: int) -> None:
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
def drop_first(q: Queue, c: Counters) -> None:
    """Take the first out of the queue; `q` and `c` are written."""
    c.queue[0] -= 1
    swap(q, 0, c.queue[0])
    sink(q, c.queue[0], 0)


@kernel
def drop_stale(q: Queue, c: Counters, g: Groups, p: Pairs) -> None:
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
def is_current(q: Queue, s: int, g: Groups, p: Pairs) -> bool:
    """Whether a place of the queue speaks of what there still is; read only."""
    ref = q.ref[s]
    if ref < 0:
        return p.version[~ref] == q.version[s]
    return g.first[g.to[ref]] >= 0 and g.first[q.version[s]] >= 0


# ---- similarities -------------------------------------------------------------------------------------


@kernel(inline=True)
def alike_in(g: Groups, own: int, e: int) -> float:
    """Similarity of the attributes of a group and that of its entry e; read only."""
    return g.total[e] / (g.divisor[own] * g.divisor[g.to[e]])


@kernel
def push_groups(own: int, e: int, alpha: float, q: Queue, c: Counters, g: Groups) -> None:
    """Queue all pairs of clusters of a group and of its entry e; `q` and `c` are written."""
    alike = alike_in(g, own, e)
    both_alone = g.alone[own] == 1 and g.alone[g.to[e]] == 1
    push(q, c, alike if both_alone else (1.0 - alpha) * alike, alike, -1, -1, e, own)


@kernel
def push_pair(k: int, alpha: float, q: Queue, c: Counters, p: Pairs, u: Clusters) -> None:
    """Queue a pair as it is now; `q`, `c` and its version are written."""
    a = min(p.end[2 * k], p.end[2 * k + 1])
    b = max(p.end[2 * k], p.end[2 * k + 1])
    share = p.common[k] / (u.degree[a] + u.degree[b] - p.common[k])
    p.version[k] += 1
    push(q, c, (1.0 - alpha) * p.alike[k] + alpha * share, p.alike[k], a, b, ~k, p.version[k])


@kernel
def add_pair(a: int, b: int, common: int, alike: float, c: Counters, p: Pairs) -> int:
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
def drop_pairs(own: int, c: Counters, p: Pairs) -> None:
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
def mark_similar(own: int, g: Groups) -> None:
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
def unmark_similar(own: int, g: Groups) -> None:
    """Forget where they stand; `entry` is written."""
    e = g.head[own]
    while e >= 0:
        g.entry[g.to[e]] = -1
        e = g.onward[e]


@kernel
def meet(k: int, alpha: float, q: Queue, c: Counters, u: Clusters, g: Groups, p: Pairs) -> None:
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
def queue_groups(alpha: float, q: Queue, c: Counters, g: Groups) -> None:
    """Queue all pairs of groups; `q` and `c` are written."""
    for own in range(c.groups[0]):
        e = g.head[own]
        while e >= 0:
            if own <= g.to[e]:
                push_groups(own, e, alpha, q, c, g)
            e = g.onward[e]


@kernel
def meet_some(
    begin: int, steps: int, alpha: float, q: Queue, c: Counters, u: Clusters, g: Groups, p: Pairs
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


# ---- a merge ------------------------------------------------------------------------------------------


@kernel
def room_for(i: int, j: int, u: Clusters, g: Groups, p: Pairs) -> int:
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
    q: Queue,
    c: Counters,
    u: Clusters,
    g: Groups,
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
def leave_neighbour(x: int, j: int, u: Clusters) -> None:
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
    x: int, n_others: int, alpha: float, q: Queue, c: Counters, u: Clusters, g: Groups, p: Pairs
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
    q: Queue,
    c: Counters,
    u: Clusters,
    g: Groups,
    p: Pairs,
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
def log_pair(log: Log, count: Index, a: int, b: int, key: float, alike: float, share: float) -> None:
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
def next_pair(own: int, e: int, u: Clusters, g: Groups, v: Vetoes) -> tuple[int, int, int, int]:
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
def is_pair_of(a: int, b: int, one: int, other: int, u: Clusters) -> bool:
    """Whether two clusters are there still, and of these groups; read only."""
    if a < 0 or u.into[a] != a or u.into[b] != b:
        return False
    return (u.group[a] == one and u.group[b] == other) or (u.group[a] == other and u.group[b] == one)


@kernel
def run(
    threshold: float,
    steps: int,
    merging: bool,
    linkage: int,
    apart_alone: bool,
    alpha: float,
    q: Queue,
    c: Counters,
    u: Clusters,
    g: Groups,
    p: Pairs,
    v: Vetoes,
    log: Log,
    near: Log,
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
