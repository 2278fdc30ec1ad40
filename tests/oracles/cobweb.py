"""COBWEB under constraints, written from its definition.

Every option is scored by the category utility of the partition that it would leave, item by item. Nothing
here uses code of the package.
"""

import math
from statistics import fmean

from tests.oracles.constraints import all_pairs, components

TIE = 1e-9


class Node:
    def __init__(self, items=(), children=()):
        self.own = list(items)  # of a leaf
        self.children = list(children)

    @property
    def items(self):
        return self.own + [x for child in self.children for x in child.items]


def deviation(numbers):
    middle = fmean(numbers)
    return math.sqrt(fmean([(x - middle) ** 2 for x in numbers]))


def inner_sum(rows, nominal, acuity):
    """Sum over attributes of what guessing within these rows is worth."""
    total = 0.0
    for a in range(len(nominal)):
        column = [row[a] for row in rows]
        if nominal[a]:
            total += sum((column.count(value) / len(column)) ** 2 for value in set(column))
        else:
            total += 1.0 / (2.0 * math.sqrt(math.pi) * max(deviation(column), acuity))
    return total


def category_utility(parts, nominal, acuity):
    """Of a partition given as lists of rows."""
    everything = [row for part in parts for row in part]
    whole = inner_sum(everything, nominal, acuity)
    gain = sum(len(part) / len(everything) * (inner_sum(part, nominal, acuity) - whole) for part in parts)
    return gain / len(parts)


def cobweb(rows, nominal, acuity, known):
    """Sort the rows in one by one.

    Returns the root, whose children are the clusters, the history, and what was done: (action, at the top?).
    """
    n = len(rows)
    must, cannot = all_pairs(known)
    component = components(n, must)
    apart = {frozenset((component[i], component[j])) for i, j in cannot}
    largest = sum(1.0 if a else 1.0 / (2.0 * math.sqrt(math.pi) * acuity) for a in nominal)
    root = Node()
    history, actions = [], []

    def legal(items, others):
        return not any(frozenset((component[i], component[j])) in apart for i in items for j in others)

    def utility(parts):
        return category_utility([[rows[i] for i in part] for part in parts], nominal, acuity)

    def best_host(children, candidates, x):
        """Of the candidates, the first whose partition is best when it takes x; compared in n k CU."""
        found, best = None, None
        for child in candidates:
            parts = [one.items + ([x] if one is child else []) for one in children]
            score = utility(parts)
            unit = sum(map(len, parts)) * len(parts)
            if found is None or (score - best) * unit > TIE * largest:
                found, best = child, score
        return found, best

    def insert(node, x):
        children, at_root = node.children, node is root
        k, size = len(children), len(node.items) + 1
        clearly = TIE * largest / (size * (k + 1))
        hosts = [child for child in children if not at_root or legal([x], child.items)]
        host, score = best_host(children, hosts, x)
        action = "add"
        new = utility([child.items for child in children] + [[x]])
        if host is None or new > score + clearly:
            action, score = "new", new
        second = None
        if len(hosts) > 1 and (k > 2 or at_root):
            second = best_host(children, [child for child in hosts if child is not host], x)[0]
            if not at_root or legal(host.items, second.items):
                rest = [child.items for child in children if child not in (host, second)]
                merged = utility([*rest, host.items + second.items + [x]])
                if merged > score + clearly:
                    action, score = "merge", merged
        if host is not None and host.children:
            at = children.index(host)
            opened = children[:at] + host.children + children[at + 1 :]
            part, split = best_host(opened, host.children, x)
            if split > score + clearly:
                action, score = "split", split
        actions.append((action, at_root))
        if action == "new":
            children.append(Node([x]))
            return
        if action == "merge":
            first, last = sorted((children.index(host), children.index(second)))
            merged = Node(children=[children[first], children[last]])
            children[first] = merged
            del children[last]
            host = merged
        if action == "split":
            node.children[:] = opened
            host = part
        together = [*host.items, x]
        if inner_sum([rows[i] for i in together], nominal, acuity) > largest * (1 - 1e-10):
            host.own, host.children = together, []
        elif host.children:
            insert(host, x)
        else:
            host.children = [Node(host.own), Node([x])]
            host.own = []

    def leaves(node):
        return [node] if not node.children else [leaf for child in node.children for leaf in leaves(child)]

    for x in range(n):
        home = [leaf for leaf in leaves(root) if any(component[i] == component[x] for i in leaf.own)]
        if home:
            home[0].own.append(x)
        else:
            insert(root, x)
        history.append(-utility([child.items for child in root.children]))
    return root, history, actions


def labels_of(root, n):
    """Cluster of each item, numbered by first appearance."""
    label = {x: h for h, child in enumerate(root.children) for x in child.items}
    number = {}
    return [number.setdefault(label[x], len(number)) for x in range(n)]
