"""Compiled merging without a matrix of all pairs: along edges, along a k-d tree, and between neighbours.

Who may not share a cluster is kept as tags: a cannot-link is a tag that both its ends carry, a `distinct`
group one that all its members carry, and two clusters with a tag in common are apart. So nothing is ever
written out pair by pair. Of two clusters that merge, the one with fewer tags hands its tags over; a hash
table tells whether a cluster carries a tag, so a question costs as much as the smaller of both. `across`
groups are codes: two clusters with different codes are apart. Loads add up, and must stay below the cap.

All state is in arrays that the caller owns, so every loop can stop and go on. A "root" is the unit that
stands for a cluster.
"""

from __future__ import annotations

import numpy as np

from coterie._compiled import kernel
from coterie.hierarchy._linkage.state import (
    Floats,
    Index,
    Merges,
    PointTree,
    Queue,
    RootNeighbours,
    Shapes,
    Vetoes,
)

# ---- who may share a cluster --------------------------------------------------------------------------


@kernel
def find(parent: Index, u: int) -> int:
    """The root of a unit; paths in `parent` are halved on the way."""
    while parent[u] != u:
        parent[u] = parent[parent[u]]
        u = parent[u]
    return u


@kernel
def place_of(table: Index, key: int) -> int:
    """Where a key stands in the hash table, or the free place where it would; read only."""
    mask = table.shape[0] - 1
    # the tags of a root are neighbouring keys, which must not become one long run
    mixed = (key & 0xFFFFFFFF) * 1640531527 + (key >> 32) * 40503
    at = (mixed ^ (mixed >> 17)) & mask
    while table[at] != -1 and table[at] != key:
        at = (at + 1) & mask
    return at


@kernel
def fill_table(v: Vetoes) -> None:
    """Write anew which root carries which tag: `table`, `used` and `parent` are written."""
    v.table[:] = -1
    for e in range(v.tag.shape[0]):
        key = find(v.parent, v.owner[e]) * v.n_tags + v.tag[e]
        v.table[place_of(v.table, key)] = key
    v.used[0] = v.tag.shape[0]


@kernel
def apart(a: int, b: int, v: Vetoes) -> bool:
    """Whether roots a and b may not share a cluster; read only."""
    if v.load[a] + v.load[b] > v.cap:
        return True
    for s in range(v.codes.shape[0]):
        if v.codes[s, a] >= 0 and v.codes[s, b] >= 0 and v.codes[s, a] != v.codes[s, b]:
            return True
    if v.n_carried[a] > v.n_carried[b]:
        a, b = b, a
    e = v.first[a]
    while e >= 0:
        key = b * v.n_tags + v.tag[e]
        if v.table[place_of(v.table, key)] == key:
            return True
        e = v.following[e]
    return False


@kernel
def unite(a: int, b: int, v: Vetoes) -> int:
    """Merge two roots; the one with more tags stays a root, and is returned. All is written."""
    if v.n_carried[a] > v.n_carried[b] or (v.n_carried[a] == v.n_carried[b] and a < b):
        a, b = b, a
    v.parent[a] = b
    v.load[b] += v.load[a]
    for s in range(v.codes.shape[0]):
        if v.codes[s, b] < 0:
            v.codes[s, b] = v.codes[s, a]
    if v.n_carried[a]:
        if 2 * (v.used[0] + v.n_carried[a]) > v.table.shape[0]:  # keys of former roots pile up
            fill_table(v)
        else:
            e = v.first[a]
            while e >= 0:
                key = b * v.n_tags + v.tag[e]
                v.table[place_of(v.table, key)] = key
                e = v.following[e]
            v.used[0] += v.n_carried[a]
        v.following[v.last[b]] = v.first[a]
        v.last[b] = v.last[a]
        v.n_carried[b] += v.n_carried[a]
    return b


# ---- single linkage along edges -----------------------------------------------------------------------


@kernel
def merge_edges(begin: int, end: int, head: Index, tail: Index, length: Floats, v: Vetoes, m: Merges) -> None:
    """Kruskal's rule with vetoes on the edges begin..end of a list, shortest first; `v`, `m` are written."""
    for t in range(begin, end):
        a = find(v.parent, head[t])
        b = find(v.parent, tail[t])
        if a != b and not apart(a, b, v):
            m.left[m.made[0]] = a
            m.right[m.made[0]] = b
            m.height[m.made[0]] = length[t]
            m.made[0] += 1
            unite(a, b, v)


# ---- single linkage on a k-d tree ---------------------------------------------------------------------


@kernel
def note_root(tree: PointTree, node: int, entry: int) -> None:
    """Add a root or ~mask to the list of a node, or give the list up; `held` and `n_held` are written."""
    n = tree.n_held[node]
    for t in range(n):
        if tree.held[node, t] == entry:
            return
    if n == tree.held.shape[1]:
        tree.n_held[node] = -1
        return
    tree.held[node, n] = entry
    tree.n_held[node] = n + 1


@kernel
def note_roots(tree: PointTree, v: Vetoes) -> None:
    """List the roots that the points of each node belong to; `held`, `n_held` and paths are written."""
    for node in range(tree.start.shape[0] - 1, -1, -1):  # children come after their parents
        tree.n_held[node] = 0
        child = tree.children[node]
        if child < 0:
            tree.least[node] = np.inf
            for p in range(tree.start[node], tree.stop[node]):
                root = find(v.parent, tree.unit[p])
                tree.least[node] = min(tree.least[node], v.load[root])
                if tree.n_held[node] >= 0:
                    note_root(tree, node, ~tree.mask[root] if tree.mask[root] and tree.pure[root] else root)
            continue
        tree.least[node] = min(tree.least[child], tree.least[child + 1])
        if tree.n_held[child] < 0 or tree.n_held[child + 1] < 0:
            tree.n_held[node] = -1
        else:
            for half in range(child, child + 2):
                for t in range(tree.n_held[half]):
                    if tree.n_held[node] >= 0:
                        note_root(tree, node, tree.held[half, t])


@kernel
def nearest_legal(p: int, bound: float, tree: PointTree, v: Vetoes) -> tuple[int, float, int]:
    """The nearest point whose cluster may join that of p, the squared distance, and the work it took.

    Below the bound, that is: -1 and the bound if there is none so near, -2 if there is none at all.
    Written: `tree.stack`, and paths.
    """
    X, d = tree.X, tree.X.shape[1]
    mine = find(v.parent, tree.unit[p])
    best = bound
    nearest = -1 if bound < np.inf else -2
    work = 0
    top = 1
    tree.stack[0] = 0
    while top:
        top -= 1
        node = tree.stack[top]
        work += 1
        to_box = 0.0
        for f in range(d):
            x = X[p, f]
            gap = max(tree.low[node, f] - x, x - tree.high[node, f], 0.0)
            to_box += gap * gap
        if to_box >= best:
            continue
        legal = v.load[mine] + tree.least[node] <= v.cap
        if legal and tree.n_held[node] >= 0:
            legal = False
            for t in range(tree.n_held[node]):
                entry = tree.held[node, t]
                if entry < 0:  # who carried these tags then carries them now
                    legal = ~entry & tree.mask[mine] == 0
                else:
                    other = find(v.parent, entry)
                    legal = other != mine and not apart(mine, other, v)
                if legal:
                    break
        if not legal:
            if node == 0:
                nearest = -2
            continue
        child = tree.children[node]
        if child >= 0:
            # the child whose middle is nearer is looked at first
            toward = 0.0
            for f in range(d):
                x = 2.0 * X[p, f]
                toward += abs(x - tree.low[child, f] - tree.high[child, f])
                toward -= abs(x - tree.low[child + 1, f] - tree.high[child + 1, f])
            tree.stack[top] = child if toward > 0.0 else child + 1
            tree.stack[top + 1] = child + 1 if toward > 0.0 else child
            top += 2
            continue
        for q in range(tree.start[node], tree.stop[node]):
            distance = 0.0
            for f in range(d):
                distance += (X[p, f] - X[q, f]) * (X[p, f] - X[q, f])
            if distance < best:
                other = find(v.parent, tree.unit[q])
                if other != mine and not apart(mine, other, v):
                    best = distance
                    nearest = q
        work += tree.stop[node] - tree.start[node]
    return nearest, best, work


@kernel
def reorder(q: Queue, n: int, who: int) -> None:
    """Restore a heap of n, least key first, after the key of one changed; `heap`, `place` are written."""
    key, heap, place = q.key, q.heap, q.place
    at = place[who]
    while at > 0 and key[heap[(at - 1) // 2]] > key[who]:
        heap[at] = heap[(at - 1) // 2]
        place[heap[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= key[who]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = who
    place[who] = at


@kernel
def enter(q: Queue, who: int) -> None:
    """Put one more into the heap; `q` is written, `counters[0]` is how many wait."""
    n = q.counters[0]
    q.heap[n] = who
    q.place[who] = n
    q.counters[0] = n + 1
    reorder(q, n + 1, who)


@kernel
def leave(q: Queue, who: int) -> None:
    """Take one out of the heap; `q` is written."""
    n = q.counters[0] - 1
    at = q.place[who]
    moving = q.heap[n]
    q.counters[0] = n
    q.place[who] = -1
    if moving != who:
        q.heap[at] = moving
        q.place[moving] = at
        reorder(q, n, moving)


@kernel
def falls_silent(a: int, tree: PointTree, v: Vetoes) -> bool:
    """Whether the cluster of a root need not look for others, since all others look for it.

    For two clusters it is enough that one looks. So one large cluster may be silent, and with it any other
    that is kept apart from all silent ones: those pairs never merge. `silent`, `n_silent` are written.
    """
    n = tree.n_silent[0]
    for t in range(n):
        if find(v.parent, tree.silent[t]) == a:
            return True
    if n == tree.silent.shape[0] or tree.points[a] < 32 or 100 * tree.points[a] < tree.X.shape[0]:
        return False
    for t in range(n):
        if not apart(find(v.parent, tree.silent[t]), a, v):
            return False
    tree.silent[n] = a
    tree.n_silent[0] = n + 1
    return True


@kernel
def is_dead(a: int, v: Vetoes) -> bool:
    """Whether no other root may join a; read only."""
    b, n = 0, v.parent.shape[0]
    while b < n and (v.parent[b] != b or b == a or apart(a, b, v)):
        b += 1
    return b == n


@kernel
def merge_nearest(tree: PointTree, q: Queue, v: Vetoes, m: Merges, budget: int) -> None:
    """Single linkage: every point waits with its nearest legal point in another cluster.

    Who may merge only becomes less, so a key that is out of date is too small, never too large: the point at
    the top merges, or looks again. A point that looked not far enough (near: -1) waits, too. `counters` is
    (points waiting, work since roots were noted, points that have looked for the first time, roots left).
    All but the points and boxes are written.
    """
    n = tree.X.shape[0]
    widest = 0.0
    for f in range(tree.X.shape[1]):
        widest += (tree.high[0, f] - tree.low[0, f]) * (tree.high[0, f] - tree.low[0, f])
    while budget > 0 and q.counters[2] < n:
        p = q.counters[2]
        nearest, distance, work = nearest_legal(p, np.inf, tree, v)
        q.near[p] = nearest
        q.key[p] = distance
        budget -= work
        q.counters[2] += 1
        if nearest >= 0:
            enter(q, p)
    while budget > 0 and q.counters[0] > 0 and q.counters[3] > 1:
        p = q.heap[0]
        a = find(v.parent, tree.unit[p])
        if tree.dead[a] or falls_silent(a, tree, v):
            leave(q, p)
            continue
        if q.near[p] >= 0:
            b = find(v.parent, tree.unit[q.near[p]])
            if a != b and not apart(a, b, v):
                m.left[m.made[0]] = a
                m.right[m.made[0]] = b
                m.height[m.made[0]] = np.sqrt(q.key[p])
                m.made[0] += 1
                q.counters[3] -= 1
                r = unite(a, b, v)
                tree.mask[r] = tree.mask[a] | tree.mask[b]
                tree.pure[r] = tree.pure[a] & tree.pure[b]
                tree.points[r] = tree.points[a] + tree.points[b]
        if q.counters[1] > 8 * n:
            note_roots(tree, v)
            q.counters[1] = 0
            budget -= n
        # inside a large cluster the next point of another one is far: look only a little farther each time
        bound = 2.0 * q.key[p]
        for t in range(1, min(3, q.counters[0])):
            bound = max(bound, q.key[q.heap[t]])
        if bound == 0.0 or bound > widest:
            bound = np.inf
        nearest, distance, work = nearest_legal(p, bound, tree, v)
        q.near[p] = nearest
        q.key[p] = distance
        budget -= work
        q.counters[1] += work
        if nearest == -1 and 4 * work > v.parent.shape[0]:  # far and in vain: is there anyone?
            a = find(v.parent, tree.unit[p])
            budget -= v.parent.shape[0]
            if is_dead(a, v):
                nearest = -2
        if nearest == -2:
            tree.dead[find(v.parent, tree.unit[p])] = 1
            leave(q, p)
        else:
            reorder(q, q.counters[0], p)


# ---- between neighbours on a graph --------------------------------------------------------------------


@kernel
def distance_between(a: int, b: int, shapes: Shapes) -> float:
    """Linkage distance of two roots; by Ward from means it is squared; read only."""
    if shapes.D.shape[0]:
        return shapes.D[a, b]
    total = 0.0
    for f in range(shapes.mean.shape[1]):
        total += (shapes.mean[a, f] - shapes.mean[b, f]) * (shapes.mean[a, f] - shapes.mean[b, f])
    return 2.0 * shapes.size[a] * shapes.size[b] / (shapes.size[a] + shapes.size[b]) * total


@kernel
def join_shapes(how: int, a: int, b: int, r: int, shapes: Shapes, v: Vetoes) -> None:
    """Give r, which is a or b, the distances or the mean of both together; `shapes` is written.

    Complete (1) and average (2) linkage, else Ward.
    """
    D, mean, size = shapes
    s, t = size[a], size[b]
    if D.shape[0]:
        least = D[a, b]
        for z in range(D.shape[0]):
            if v.parent[z] != z or z == r:
                continue
            x, y = D[a, z], D[b, z]
            if how == 1:
                new = max(x, y)
            elif how == 2:
                new = (s * x + t * y) / (s + t)
            else:
                w = size[z]
                new = max(0.0, ((s + w) * x + (t + w) * y - w * least) / (s + t + w))
            D[r, z] = new
            D[z, r] = new
    else:
        for f in range(mean.shape[1]):
            mean[r, f] = (s * mean[a, f] + t * mean[b, f]) / (s + t)
    size[r] = s + t


@kernel
def look_around(r: int, shapes: Shapes, g: RootNeighbours, q: Queue, v: Vetoes) -> int:
    """Find the nearest legal neighbour of a root, and tell neighbours that it is nearer than they knew.

    What became double in its list is dropped. Without a legal neighbour it leaves for good: its neighbours
    can only grow, and stay vetoed. Returns the work; `g` and `q` are written.
    """
    q.counters[1] += 1
    stamp = q.counters[1]
    g.seen[r] = stamp
    best = np.inf
    nearest = -1
    before = -1
    work = 0
    e = g.head[r]
    while e >= 0:
        work += 1
        z = find(v.parent, g.beside[e])
        if g.seen[z] == stamp:
            if before < 0:
                g.head[r] = g.onward[e]
            else:
                g.onward[before] = g.onward[e]
            if g.end[r] == e:
                g.end[r] = before
            e = g.onward[e]
            continue
        g.seen[z] = stamp
        g.beside[e] = z
        if not apart(r, z, v):
            distance = distance_between(r, z, shapes)
            if distance < best or (distance == best and z < nearest):
                best = distance
                nearest = z
            if q.place[z] >= 0 and distance < q.key[z]:
                q.key[z] = distance
                q.near[z] = r
                g.known[z] = g.version[r]
                reorder(q, q.counters[0], z)
        before = e
        e = g.onward[e]
    q.key[r] = best
    if nearest < 0:
        if q.place[r] >= 0:
            leave(q, r)
        return work
    q.near[r] = nearest
    g.known[r] = g.version[nearest]
    if q.place[r] >= 0:
        reorder(q, q.counters[0], r)
    else:
        enter(q, r)
    return work


@kernel
def merge_neighbours(
    how: int, shapes: Shapes, g: RootNeighbours, q: Queue, v: Vetoes, m: Merges, budget: int
) -> None:
    """Merge the nearest legal neighbours on a graph, one pair at a time; all is written.

    Every root waits with its nearest legal neighbour. A merge can bring a cluster nearer to a neighbour, who
    then hears of it; where it takes the nearest away, the key that is left is too small, and the root looks
    again when its turn comes. `counters` is (roots waiting, last stamp, roots that have looked once).
    """
    n = v.parent.shape[0]
    while budget > 0 and q.counters[2] < n:
        budget -= look_around(q.counters[2], shapes, g, q, v)
        q.counters[2] += 1
    while budget > 0 and q.counters[0] > 0:
        a = q.heap[0]
        b = q.near[a]
        if v.parent[b] != b or g.version[b] != g.known[a]:
            budget -= look_around(a, shapes, g, q, v)
            continue
        m.left[m.made[0]] = a
        m.right[m.made[0]] = b
        m.height[m.made[0]] = q.key[a]
        m.made[0] += 1
        leave(q, a)
        leave(q, b)
        r = unite(a, b, v)
        join_shapes(how, a, b, r, shapes, v)
        budget -= shapes.D.shape[0]
        o = a if r == b else b
        if g.head[o] >= 0:
            if g.head[r] < 0:
                g.head[r] = g.head[o]
            else:
                g.onward[g.end[r]] = g.head[o]
            g.end[r] = g.end[o]
        g.version[r] += 1
        budget -= look_around(r, shapes, g, q, v)
