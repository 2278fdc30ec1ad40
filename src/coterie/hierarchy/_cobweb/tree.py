"""Incremental concept formation (COBWEB): a tree of concepts into which items are sorted one by one.

Every node keeps sums over its items: the number, counts of nominal values, means and sums of squared
deviations. A partition of a node into children h then has the category utility (sum_h w_h / N - w / N) / k,
where w is a node's number of items times its inner sum (see `category_utility`): so an option is scored from
a few w, and each child's w with the item added costs one look at the item's attributes.

A must-link component lies in one leaf (`home`), so no split can part it. Who is apart matters among the
children of the root only: what lies deeper is inside a legal cluster. All state is in arrays that the caller
owns, so that the loop can stop after any item and go on, with more room if need be.
"""

from __future__ import annotations

import math

import numpy as np

from coterie._compiled import kernel
from coterie.hierarchy._cobweb.state import ConceptRules, ConceptTree, Floats, Index, Items

DENSITY = 1.0 / (2.0 * math.sqrt(math.pi))
# Options whose gain differs by less than this share of the largest gain of one item are ties.
TIE = 1e-9
# A spread this little above the acuity is rounding.
ROUNDING = 1.0 + 1e-10
ROOT = 0


@kernel
def _new_node(tree: ConceptTree) -> int:
    """An empty node. Written: all of the tree about it."""
    state = tree.state
    if state[2] >= 0:
        node = int(state[2])
        state[2] = tree.next[node]
    else:
        node = int(state[1])
        state[1] += 1
    tree.parent[node] = tree.first[node] = tree.next[node] = -1
    tree.size[node] = tree.squares[node] = 0
    tree.weight[node] = 0.0
    tree.counts[node] = 0
    tree.mean[node] = 0.0
    tree.spread[node] = 0.0
    tree.code[node] = -1
    tree.stamp[node] = -1
    tree.birth[node] = state[4]
    tree.foe[node] = tree.into[node] = -1
    state[4] += 1
    return node


@kernel
def _weigh(tree: ConceptTree, node: int, acuity: float) -> None:
    """Set `weight` from the sums of the node."""
    m = tree.size[node]
    total = 0.0
    for a in range(tree.mean.shape[1]):
        total += DENSITY / max(math.sqrt(tree.spread[node, a] / m), acuity)
    tree.weight[node] = tree.squares[node] / m + m * total


@kernel
def _add(tree: ConceptTree, node: int, items: Items, x: int, code: Index) -> None:
    """Put item x into a node; `code` is that of its component."""
    m = tree.size[node]
    for a in range(items.nominal.shape[1]):
        v = items.nominal[x, a]
        tree.squares[node] += 2 * np.int64(tree.counts[node, v]) + 1
        tree.counts[node, v] += 1
    for a in range(items.numeric.shape[1]):
        diff = items.numeric[x, a] - tree.mean[node, a]
        tree.mean[node, a] += diff / (m + 1)
        if m > 0:  # a gap so large that its square is infinite, times 0, would be no number
            tree.spread[node, a] += diff * diff * (m / (m + 1))
    for s in range(code.shape[0]):
        if code[s] >= 0:
            tree.code[node, s] = code[s]
    tree.size[node] = m + 1
    _weigh(tree, node, items.acuity)


@kernel
def _pour(tree: ConceptTree, source: int, node: int, acuity: float) -> None:
    """Put all items of `source` into `node` as well."""
    m, more = tree.size[node], tree.size[source]
    tree.squares[node] = 0
    for v in range(tree.counts.shape[1]):
        tree.counts[node, v] += tree.counts[source, v]
        tree.squares[node] += np.int64(tree.counts[node, v]) * np.int64(tree.counts[node, v])
    for a in range(tree.mean.shape[1]):
        diff = tree.mean[source, a] - tree.mean[node, a]
        tree.mean[node, a] += diff * (more / (m + more))
        tree.spread[node, a] += tree.spread[source, a]
        if m > 0:  # as above
            tree.spread[node, a] += diff * diff * m * (more / (m + more))
    for s in range(tree.code.shape[1]):
        tree.code[node, s] = max(tree.code[node, s], tree.code[source, s])
    tree.size[node] = m + more
    _weigh(tree, node, acuity)


@kernel
def _gains(tree: ConceptTree, node: int, items: Items, x: int, kids: Index, gains: Floats) -> int:
    """List the children of a node, and what each one's weight gains by x. Written: `kids`, `gains`."""
    k = 0
    kid = tree.first[node]
    while kid >= 0:
        m = tree.size[kid]
        squares = tree.squares[kid]
        for a in range(items.nominal.shape[1]):
            squares += 2 * np.int64(tree.counts[kid, items.nominal[x, a]]) + 1
        share = m / (m + 1)
        total = 0.0
        for a in range(items.numeric.shape[1]):
            diff = items.numeric[x, a] - tree.mean[kid, a]
            variance = (tree.spread[kid, a] + diff * diff * share) / (m + 1)
            total += DENSITY / max(math.sqrt(variance), items.acuity)
        kids[k] = kid
        gains[k] = squares / (m + 1) + (m + 1) * total - tree.weight[kid]
        k += 1
        kid = tree.next[kid]
    return k


@kernel
def _joined(tree: ConceptTree, a: int, b: int, items: Items, x: int) -> float:
    """Weight of a node that would hold a, b and x."""
    m, more = tree.size[a], tree.size[b]
    squares = tree.squares[a] + tree.squares[b]
    for v in range(tree.counts.shape[1]):
        squares += 2 * np.int64(tree.counts[a, v]) * np.int64(tree.counts[b, v])
    for at in range(items.nominal.shape[1]):
        v = items.nominal[x, at]
        squares += 2 * (np.int64(tree.counts[a, v]) + np.int64(tree.counts[b, v])) + 1
    n = m + more + 1
    total = 0.0
    for at in range(items.numeric.shape[1]):
        diff = tree.mean[b, at] - tree.mean[a, at]
        mean = tree.mean[a, at] + diff * (more / (m + more))
        spread = tree.spread[a, at] + tree.spread[b, at] + diff * diff * m * (more / (m + more))
        diff = items.numeric[x, at] - mean
        spread += diff * diff * ((n - 1) / n)
        total += DENSITY / max(math.sqrt(spread / n), items.acuity)
    return squares / n + n * total


@kernel
def _tells_nothing_apart(tree: ConceptTree, node: int, items: Items, x: int) -> bool:
    """Whether a node with x has one value in each nominal column, and no spread above the acuity."""
    m = tree.size[node]
    for a in range(items.nominal.shape[1]):
        if tree.counts[node, items.nominal[x, a]] != m:
            return False
    for a in range(items.numeric.shape[1]):
        diff = items.numeric[x, a] - tree.mean[node, a]
        spread = tree.spread[node, a] + diff * diff * (m / (m + 1))
        if math.sqrt(spread / (m + 1)) > items.acuity * ROUNDING:
            return False
    return True


@kernel
def _point(tree: ConceptTree, old: int, new: int) -> None:
    """Let what pointed at a child, its parent or the child before it, point at another (-1: none)."""
    above = tree.parent[old]
    if tree.first[above] == old:
        tree.first[above] = new
        return
    before = tree.first[above]
    while tree.next[before] != old:
        before = tree.next[before]
    tree.next[before] = new


@kernel
def _append(tree: ConceptTree, above: int, node: int) -> None:
    """Make a node the last child of another."""
    tree.parent[node] = above
    tree.next[node] = -1
    if tree.first[above] < 0:
        tree.first[above] = node
        return
    before = tree.first[above]
    while tree.next[before] >= 0:
        before = tree.next[before]
    tree.next[before] = node


@kernel
def _dissolve(tree: ConceptTree, node: int) -> None:
    """Make an inner node a leaf. What was a leaf below is now part of it. Written: also `grandkids`."""
    stack, top = tree.grandkids, 0
    kid = tree.first[node]
    if kid >= 0:
        tree.state[3] += 1
    tree.first[node] = -1
    while kid >= 0 or top > 0:
        if kid < 0:
            top -= 1
            kid = stack[top]
        after = tree.next[kid]
        if after >= 0:
            stack[top] = after
            top += 1
        below = tree.first[kid]
        if below < 0:
            tree.into[kid] = node
        else:
            tree.next[kid] = tree.state[2]
            tree.state[2] = kid
        kid = below


@kernel
def _leaf_of(tree: ConceptTree, home: Index, u: int) -> int:
    """The leaf of a component that has one; shortens the way to it."""
    node = home[u]
    while tree.into[node] >= 0:
        if tree.into[tree.into[node]] >= 0:
            tree.into[node] = tree.into[tree.into[node]]
        node = tree.into[node]
    home[u] = node
    return node


@kernel
def _cluster_of(tree: ConceptTree, home: Index, u: int) -> int:
    """The child of the root above the leaf of a component that has one."""
    node = _leaf_of(tree, home, u)
    while tree.parent[node] != ROOT:
        node = tree.parent[node]
    return node


@kernel
def _ban(tree: ConceptTree, rules: ConceptRules, home: Index, u: int, now: int) -> None:
    """Stamp the clusters that hold a component apart from u with `now`."""
    for t in range(rules.indptr[u], rules.indptr[u + 1]):
        if home[rules.indices[t]] >= 0:
            tree.stamp[_cluster_of(tree, home, rules.indices[t])] = now
    for s in range(rules.in_indptr[u], rules.in_indptr[u + 1]):
        clique = rules.in_cliques[s]
        for t in range(rules.clique_indptr[clique], rules.clique_indptr[clique + 1]):
            if home[rules.clique_nodes[t]] >= 0:
                tree.stamp[_cluster_of(tree, home, rules.clique_nodes[t])] = now
    for s in range(rules.code.shape[1]):
        if rules.code[u, s] >= 0:
            kid = tree.first[ROOT]
            while kid >= 0:
                if tree.code[kid, s] >= 0 and tree.code[kid, s] != rules.code[u, s]:
                    tree.stamp[kid] = now
                kid = tree.next[kid]


@kernel
def _may_join(tree: ConceptTree, rules: ConceptRules, home: Index, a: int, b: int) -> bool:
    """Whether no constraint keeps a member of cluster a from one of b. Written: `foe`."""
    # two clusters that are apart stay so, and the question comes again with the next item
    if tree.foe[a] == tree.birth[b] or tree.foe[b] == tree.birth[a]:
        return False
    for s in range(rules.code.shape[1]):
        if tree.code[a, s] >= 0 and tree.code[b, s] >= 0 and tree.code[a, s] != tree.code[b, s]:
            return False
    apart = False
    for at in range(rules.linked.shape[0]):
        if apart:
            break
        u = rules.linked[at]
        if home[u] < 0 or _cluster_of(tree, home, u) != a:
            continue
        for t in range(rules.indptr[u], rules.indptr[u + 1]):
            v = rules.indices[t]
            if home[v] >= 0 and _cluster_of(tree, home, v) == b:
                apart = True
                break
    for clique in range(rules.clique_indptr.shape[0] - 1):
        if apart:
            break
        in_a = in_b = False
        for t in range(rules.clique_indptr[clique], rules.clique_indptr[clique + 1]):
            if home[rules.clique_nodes[t]] >= 0:
                found = _cluster_of(tree, home, rules.clique_nodes[t])
                in_a = in_a or found == a
                in_b = in_b or found == b
        apart = in_a and in_b
    if apart:
        tree.foe[a] = tree.birth[b]
        tree.foe[b] = tree.birth[a]
    return not apart


@kernel
def _leaf(tree: ConceptTree, items: Items, x: int, code: Index) -> int:
    """A new leaf that holds x."""
    leaf = _new_node(tree)
    _add(tree, leaf, items, x, code)
    tree.state[3] += 1
    return leaf


@kernel
def _merge(tree: ConceptTree, a: int, b: int, acuity: float) -> int:
    """Put a new node over two children of one node, where the first of them stood; a comes before b."""
    node = _new_node(tree)
    above = tree.parent[a]
    _point(tree, b, tree.next[b])
    tree.next[node] = tree.next[a]
    _point(tree, a, node)
    tree.parent[node] = above
    for part in (a, b):
        _append(tree, node, part)
        _pour(tree, part, node, acuity)
    return node


@kernel
def _split(tree: ConceptTree, node: int) -> None:
    """Put the children of a node in its place."""
    above = tree.parent[node]
    kid = last = tree.first[node]
    while kid >= 0:
        tree.parent[kid] = above
        last = kid
        kid = tree.next[kid]
    tree.next[last] = tree.next[node]
    _point(tree, node, tree.first[node])
    tree.next[node] = tree.state[2]
    tree.state[2] = node


@kernel
def _best(gains: Floats, kids: Index, k: int, stamp: Index, banned: int, tie: float, but: int) -> int:
    """Position of the largest gain, the first among ties; a stamped child and position `but` are left out."""
    best = -1
    for h in range(k):
        if h != but and stamp[kids[h]] != banned and (best < 0 or gains[h] > gains[best] + tie):
            best = h
    return best


@kernel
def place(
    tree: ConceptTree,
    items: Items,
    rules: ConceptRules,
    home: Index,
    history: Floats,
    stop: int,
    budget: int,
) -> None:
    """Sort in the next items of the order, up to `stop`.

    Returns before that where the nodes do not suffice for another item, or after about `budget` steps. One
    kernel for all four options, hence its length: they share the scores of the children.
    Written: the tree, `home` (the leaf of each component, -1 before it has one), `history` (minus the
    category utility after each item).
    """
    state, acuity = tree.state, items.acuity
    kids, gains, grandkids, deeper = tree.kids, tree.gains, tree.grandkids, tree.deeper
    n_attributes = items.numeric.shape[1] + items.nominal.shape[1]
    alone = items.nominal.shape[1] + items.numeric.shape[1] * DENSITY / acuity
    tie = TIE * alone
    steps = 0
    # inner nodes but the root have two children at least, so there are at most twice as many nodes as leaves
    while state[0] < stop and steps < budget and 2 * state[3] + 4 <= tree.parent.shape[0]:
        now = state[0]
        x = items.order[now]
        u = rules.component[x]
        code = rules.code[u]
        state[0] += 1

        if home[u] >= 0:  # a must-link fixes the host, at every level
            node = _leaf_of(tree, home, u)
            while node >= 0:
                _add(tree, node, items, x, code)
                node = tree.parent[node]
                steps += n_attributes
            base, k = 0.0, 0
            kid = tree.first[ROOT]
            while kid >= 0:
                base += tree.weight[kid]
                k += 1
                kid = tree.next[kid]
            history[now] = -(base - tree.weight[ROOT]) / (tree.size[ROOT] * k)
            steps += k
            continue

        _ban(tree, rules, home, u, now)
        node = ROOT
        _add(tree, ROOT, items, x, code)
        while True:
            # the node holds x already; which of its children takes it?
            k = _gains(tree, node, items, x, kids, gains)
            steps += (k + 1) * (n_attributes + 1)
            banned = now if node == ROOT else -2
            base = -tree.weight[node]
            for h in range(k):
                base += tree.weight[kids[h]]
            n = tree.size[node]
            host = _best(gains, kids, k, tree.stamp, banned, tie, -1)
            second = _best(gains, kids, k, tree.stamp, banned, tie, host) if host >= 0 else -1

            # scores are category utilities times n
            score = (base + alone) / (k + 1)
            choice = 1
            if host >= 0 and score <= (base + gains[host]) / k + tie / (k + 1):
                score = (base + gains[host]) / k
                choice = 0
            # below the root a node over all the children of a node would say nothing
            if second >= 0 and (k > 2 or node == ROOT):
                a, b = kids[min(host, second)], kids[max(host, second)]
                both = base - tree.weight[a] - tree.weight[b] + _joined(tree, a, b, items, x)
                steps += n_attributes + tree.counts.shape[1]
                if both / (k - 1) > score + tie / (k + 1):
                    steps += rules.indices.shape[0] + rules.clique_nodes.shape[0]
                    if node != ROOT or _may_join(tree, rules, home, a, b):
                        score = both / (k - 1)
                        choice = 2
            inside = -1
            if host >= 0 and tree.first[kids[host]] >= 0:
                more = _gains(tree, kids[host], items, x, grandkids, deeper)
                steps += more * (n_attributes + 1)
                parts = base - tree.weight[kids[host]]
                for h in range(more):
                    parts += tree.weight[grandkids[h]]
                inside = _best(deeper, grandkids, more, tree.stamp, -2, tie, -1)
                parts = (parts + deeper[inside]) / (k - 1 + more)
                if parts > score + tie / (k + 1):
                    score = parts
                    choice = 3

            if node == ROOT:
                history[now] = -score / n
            if choice == 1:
                home[u] = _leaf(tree, items, x, code)
                _append(tree, node, home[u])
                break
            if choice == 0:
                target = kids[host]
            elif choice == 2:
                target = _merge(tree, kids[min(host, second)], kids[max(host, second)], acuity)
            else:
                target = grandkids[inside]
                _split(tree, kids[host])
            if _tells_nothing_apart(tree, target, items, x):
                _dissolve(tree, target)  # no partition of it can score above 0
                _add(tree, target, items, x, code)
                home[u] = target
                break
            if tree.first[target] >= 0:
                _add(tree, target, items, x, code)
                node = target
                continue
            # a leaf becomes a node over itself and x
            above = _new_node(tree)
            tree.parent[above], tree.next[above] = tree.parent[target], tree.next[target]
            _point(tree, target, above)
            home[u] = _leaf(tree, items, x, code)
            _append(tree, above, target)
            _append(tree, above, home[u])
            _pour(tree, target, above, acuity)
            _add(tree, above, items, x, code)
            break
