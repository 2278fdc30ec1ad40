"""Random small problems of agglomeration, with what the oracle and the model are told; shared checks."""

import itertools
import math
import random
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage

from coterie import Constraints
from coterie.exceptions import DeadEndWarning, InfeasibleConstraintsError
from coterie.hierarchy import ConstrainedLinkage
from tests.assign.problems import random_constraints
from tests.constraints.strategies import (
    Case,
    random_case,
    random_pairs,
    random_values,
    without_contradictions,
)
from tests.oracles import constraints as pairs_oracle
from tests.oracles import linkage as oracle
from tests.oracles.constraints import numbered

LINKAGES = ["single", "complete", "average", "ward"]
PLAIN_KINDS = ["nothing", "must", "cannot", "label", "distinct", "across", "mixed", "weights"]
SIZE_KINDS = ["size", "loads", "everything"]
GRAPH_KINDS = ["graph", "graph pairs", "graph size", "graph everything"]


@dataclass
class Problem:
    """`given` goes to `fit` as X, `arguments` to the model, `known` to `fit`; `rules` to the oracle."""

    given: Any
    arguments: dict
    known: dict
    rules: oracle.Rules
    tree: oracle.Tree | None = None
    said: Constraints = field(default_factory=lambda: Constraints(n_items=0))

    def model(self, **more) -> ConstrainedLinkage:
        return ConstrainedLinkage(**(self.arguments | more))

    def fit(self, **more) -> ConstrainedLinkage:
        return self.model(**more).fit(self.given, **self.known)


# ---- drawing --------------------------------------------------------------------------------------------


def problem(seed, kind: str, linkage: str, number: int, n: int | None = None, propagate: bool = False):
    """A problem without ties. `tree` is None where the constraints contradict each other."""
    rng = random.Random(f"{seed} {kind} {linkage} {number} {n} {propagate}")
    n = rng.randint(2, 14) if n is None else n
    given, table, arguments = draw_data(rng, n, linkage)
    edges = draw_edges(rng, n) if kind.startswith("graph") else None
    said = draw_statements(rng, n, kind, edges)
    must, cannot = pairs_oracle.all_pairs(said)
    parts = oracle.sets(pairs_oracle.components(n, must))
    known: dict = {"constraints": said} if kind not in ("nothing", "size", "graph", "graph size") else {}
    loads, size_max = None, math.inf
    if kind in ("loads", "everything", "graph everything"):
        loads = [float(rng.choice([0, 1, 1, 2, 3, 5])) for _ in range(n)]
        loads[rng.randrange(n)] = 2.0
        known["size_weight"] = np.array(loads)
    if kind in ("size", "loads", "everything", "graph size", "graph everything"):
        held = [sum(1 if loads is None else loads[i] for i in part) for part in parts]
        total = n if loads is None else int(sum(loads))
        size_max = rng.randint(int(max(held)), max(int(max(held)), total // 2, 2))
        arguments["size_max"] = size_max
    if propagate:
        table = oracle.propagated(table, parts)
        arguments["propagate"] = True
    if edges is not None:
        arguments["connectivity"] = as_graph(rng, n, edges)
    distance = oracle.between(linkage, table, edges)
    rules = oracle.Rules(n, distance, must, cannot, edges, loads, size_max)
    return Problem(
        given, arguments, known, rules, None if rules.contradictory else oracle.grow(rules), said=said
    )


def draw_data(rng: random.Random, n: int, linkage: str) -> tuple[Any, np.ndarray, dict]:
    """What the model sees, what the oracle measures with, and the arguments that say so."""
    draw = np.random.default_rng(rng.randrange(2**32))
    # items between two others are equally far from both together: on a line, and by sums of coordinates
    straight = linkage != "average"
    X = draw.normal(size=(n, rng.choice([1, 2, 3] if straight else [2, 3])))
    X = X + 3 * draw.integers(0, 3, size=(n, 1))
    arguments: dict = {"linkage": linkage}
    if linkage == "ward":
        if rng.random() < 0.4:
            return oracle.gaps(X), X, arguments | {"metric": "precomputed"}
        return X, X, arguments
    kind = rng.choice(
        ["features", "features", "precomputed", "any numbers", "manhattan", "cosine", "function"]
    )
    if kind == "precomputed":
        return oracle.gaps(X), oracle.gaps(X), arguments | {"metric": "precomputed"}
    if kind == "any numbers":  # no triangle inequality
        D = np.triu(draw.random((n, n)), 1)
        return D + D.T, D + D.T, arguments | {"metric": "precomputed"}
    if kind == "cosine":
        X = draw.normal(size=(n, 3))
    if kind == "function":
        return X, oracle.gaps(X, squares), arguments | {"metric": squares}
    metric = "euclidean" if kind == "features" else kind
    return X, oracle.gaps(X, metric), arguments | ({} if kind == "features" else {"metric": metric})


def squares(x, y) -> float:
    """A metric of the user's own."""
    return float(((x - y) ** 2).sum())


def draw_statements(rng: random.Random, n: int, kind: str, edges: set | None) -> Constraints:
    case = Case(n)
    if kind == "weights":
        return random_constraints(rng, n, hard=0.3, dense=0.5)
    if kind == "must":
        case.must = random_pairs(rng, n, rng.randint(1, max(1, n // 2)))
    if kind == "cannot":
        case.cannot = random_pairs(rng, n, rng.randint(1, 2 * n))
    if kind in ("label", "distinct", "across"):
        case.groups = [
            (kind, random_values(rng, n, rng.randint(1, 5), rng.choice([0.3, 0.6, 1.0])))
            for _ in range(1 if kind == "label" else rng.choice([1, 1, 2]))
        ]
    if kind in ("mixed", "everything"):
        case = random_case(rng, n, n)
    if kind in ("graph pairs", "graph everything"):
        # what must be together is joined by edges, or the problem is another one
        case.must = rng.sample(sorted(edges or ()), min(len(edges or ()), rng.randint(0, n // 3)))
        case.cannot = random_pairs(rng, n, rng.randint(1, n))
        for group in ("distinct", "across"):
            if rng.random() < 0.3:
                case.groups.append((group, random_values(rng, n, rng.randint(2, 4), 0.5)))
    return without_contradictions(case).build()


def draw_edges(rng: random.Random, n: int) -> set[tuple[int, int]]:
    """A ring, a grid, or edges at random; some graphs fall into islands."""
    kind = rng.choice(["ring", "grid", "sparse", "random", "dense"])
    if kind == "ring":
        return {pairs_oracle.ordered((i, (i + 1) % n)) for i in range(n) if n > 1 and i != (i + 1) % n}
    if kind == "grid":
        wide = max(2, int(math.sqrt(n)))
        right = {(i, i + 1) for i in range(n - 1) if (i + 1) % wide}
        return right | {(i, i + wide) for i in range(n - wide)}
    share = {"sparse": 1.2 / n, "random": 3.0 / n, "dense": 0.6}[kind]
    return {(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < share}


def as_graph(rng: random.Random, n: int, edges: set[tuple[int, int]]) -> Any:
    """The edges as people have them, some stated one way only; weights mean nothing here."""
    listed = [(i, j) if rng.random() < 0.5 else (j, i) for i, j in sorted(edges)]
    kind = rng.choice(["csr", "coo", "array", "networkx", "function"])
    if kind == "array" and listed:
        return np.array(listed)
    if kind == "networkx":
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(listed)
        return graph
    i, j = (np.array(side, dtype=int) for side in (zip(*listed, strict=True) if listed else ([], [])))
    weights = np.array([rng.uniform(0.1, 9.0) for _ in listed])
    matrix = sparse.coo_array((np.r_[weights, weights], (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    if kind == "function":
        return lambda X: matrix.tocsr()
    return matrix.tocsr() if kind == "csr" else matrix


# ---- checking -------------------------------------------------------------------------------------------


def assert_same_as_oracle(p: Problem, rng: random.Random) -> None:
    """The tree, its cuts at several numbers of clusters and at several heights, and its dead end."""
    if p.tree is None:
        for asked in (
            {"n_clusters": None, "distance_threshold": 1.0},
            {"n_clusters": 1, "on_dead_end": "warn"},
        ):
            with pytest.raises(InfeasibleConstraintsError):
                p.fit(**asked)
        return
    n, edges = p.rules.n, p.rules.edges
    for t in thresholds(p, rng):
        model = p.fit(n_clusters=None, distance_threshold=t)
        assert model.labels_.tolist() == numbered(p.tree.cut_below(t), model.constraints_)
        assert model.repaired_ is False
    assert_same_tree(model, p)
    assert model.n_islands_ == (1 if edges is None else len(oracle.islands(range(n), edges)))
    low, high = len(p.tree.roots), len(p.tree.parts)
    for k in {low, high, rng.randint(low, high)}:
        model = p.fit(n_clusters=k)
        assert model.labels_.tolist() == numbered(p.tree.cut(k), model.constraints_)
        assert all(p.rules.connected(cluster) for cluster in oracle.sets(model.labels_))
        assert model.n_clusters_ == k
        assert model.repaired_ is False
    assert_parts_agree(model, n)
    if low > 1:
        with pytest.warns(DeadEndWarning, match=str(low)):
            model = p.fit(n_clusters=rng.randint(1, low - 1), on_dead_end="warn")
        assert model.labels_.tolist() == numbered(oracle.labels_of(n, p.tree.roots), model.constraints_)
        assert model.n_clusters_ == low
        assert_same_tree(model, p)


def assert_same_tree(model, p: Problem) -> None:
    """Rows of `linkage_` against the oracle: components, merges in order, heights, roots, vetoes."""
    tree, n = p.tree, p.rules.n
    rows = oracle.read_matrix(model.linkage_, n)
    n_links, n_vetoes = n - len(tree.parts), len(tree.roots) - 1
    assert all(m.height == 0.0 for m in rows[:n_links])
    joined = [m for m in rows[:n_links] if not any(m.a | m.b <= part for part in tree.parts)]
    assert not joined, "a merge at 0 that no must-link asks for"
    real = rows[n_links : n - 1 - n_vetoes]
    assert [{m.a, m.b} for m in real] == [{m.a, m.b} for m in tree.merges]
    # means of clusters that lie in each other are near: what Ward knows of them from distances is rounded
    heights = np.array([m.height for m in tree.merges])
    slack = 1e-12 * heights.max(initial=0.0)
    np.testing.assert_allclose([m.height for m in real], heights, rtol=1e-10, atol=slack)
    assert all(m.height == math.inf for m in rows[n - 1 - n_vetoes :])
    assert model.n_roots_ == len(tree.roots)
    roots = numbered(oracle.labels_of(n, tree.roots), model.constraints_)
    assert np.asarray(model.blocked_.labels).tolist() == roots
    assert_parts_agree(model, n)


def assert_parts_agree(model, n: int) -> None:
    """The attributes that say the same thing do."""
    Z = model.linkage_
    assert Z.dtype == np.float64
    assert Z.shape == (n - 1, 4)
    if n > 1:
        assert is_valid_linkage(Z)
    assert model.children_.dtype.kind == "i"
    assert (model.children_ == Z[:, :2]).all()
    assert (model.distances_ == Z[:, 2]).all()
    assert model.n_leaves_ == n
    assert model.n_clusters_ == len(set(model.labels_.tolist()))
    assert model.labels_.tolist() == numbered(model.labels_.tolist(), model.constraints_)
    assert np.isinf(Z[:, 2]).sum() == model.n_roots_ - 1
    assert model.converged_ is True
    assert not model.violations_
    if not model.repaired_:
        applied = n - model.n_clusters_
        assert model.n_iter_ == applied
        assert list(model.history_) == (Z[:applied, 2].tolist() or [0.0])
        assert model.objective_ == model.history_[-1]


def labels_after(Z: np.ndarray, n: int, n_merges: int) -> list[int]:
    """Labels when the first rows of a linkage matrix are applied."""
    group = {i: [i] for i in range(n)}
    for t, (a, b) in enumerate(np.asarray(Z)[:n_merges, :2].astype(int).tolist()):
        group[n + t] = group.pop(a) + group.pop(b)
    return oracle.labels_of(n, map(frozenset, group.values()))


def thresholds(p: Problem, rng: random.Random) -> list[float]:
    """Heights between merges, below all and above all."""
    heights = sorted(m.height for m in p.tree.merges)
    middles = [(a + b) / 2 for a, b in itertools.pairwise(heights)]
    ends = [heights[0] / 2, heights[-1] * 2] if heights else [1.0]
    return [*rng.sample(middles, min(2, len(middles))), *ends]
