"""`ConstrainedLinkage` where merging ends too early, where items tie, and where the input is wrong."""

import itertools
import math
import random
import tracemalloc

import numpy as np
import pytest

from coterie import Constraints
from coterie.exceptions import DeadEndError, DeadEndWarning, InfeasibleConstraintsError
from coterie.hierarchy import ConstrainedLinkage
from tests.assign.problems import feasible_constraints
from tests.constraints.strategies import Case, random_case, says, without_contradictions
from tests.hierarchy.linkage_problems import LINKAGES, assert_parts_agree, draw_data, draw_edges, problem
from tests.oracles import constraints as pairs_oracle
from tests.oracles import linkage as oracle
from tests.oracles import sizes as sizes_oracle
from tests.oracles.constraints import numbered

every_linkage = pytest.mark.parametrize("linkage", LINKAGES)

# A path of cannot-links whose ends are nearest: the first merge leaves three clusters where two would do.
PATH = np.array([[0.0], [5.0], [6.5], [0.1]])
APART = Constraints(None, [(0, 1), (1, 2), (2, 3)], n_items=4)
# Three near pairs, and room for three in a cluster.
PAIRS = np.array([[0.0], [0.1], [1.0], [1.12], [2.5], [2.63]])


# ---- dead ends ------------------------------------------------------------------------------------------


@every_linkage
def test_a_dead_end_is_repaired(linkage):
    model = ConstrainedLinkage(2, linkage=linkage).fit(PATH, constraints=APART)
    assert model.labels_.tolist() == [0, 1, 0, 1]
    assert model.repaired_ is True
    assert model.n_clusters_ == 2
    assert model.n_roots_ == 3
    assert np.isinf(model.distances_).tolist() == [False, True, True]
    assert_parts_agree(model, 4)


@every_linkage
def test_a_dead_end_is_told(linkage):
    with pytest.warns(DeadEndWarning, match=says("3", "2", "cannot-link")):
        model = ConstrainedLinkage(2, linkage=linkage, on_dead_end="warn").fit(PATH, constraints=APART)
    assert model.labels_.tolist() == [0, 1, 2, 0]
    assert model.repaired_ is False
    with pytest.raises(DeadEndError, match=says("3", "2", "cannot-link")):
        ConstrainedLinkage(2, linkage=linkage, on_dead_end="raise").fit(PATH, constraints=APART)
    told = {(b.a, b.b): (b.reason, {b.i, b.j}) for b in model.blocked_}
    assert told == {
        (0, 1): ("cannot-link", {0, 1}),
        (0, 2): ("cannot-link", {2, 3}),
        (1, 2): ("cannot-link", {1, 2}),
    }
    assert model.blocked_.n_clusters == len(model.blocked_) == 3
    assert model.blocked_.labels.tolist() == [0, 1, 2, 0]
    assert "cannot-link" in str(model.blocked_)
    assert len(model.blocked_.to_frame("pandas")) == 3


def test_the_users_own_names_are_told():
    names = Constraints(
        None, [("eve", "bob"), ("bob", "cat"), ("cat", "dan")], ids=["eve", "bob", "cat", "dan"]
    )
    with pytest.raises(DeadEndError, match=says("eve|cat", "bob|dan")):
        ConstrainedLinkage(2, on_dead_end="raise").fit(PATH, constraints=names)
    model = ConstrainedLinkage(2).fit(PATH, constraints=names)
    told = [block.told for block in model.blocked_]
    assert sum("eve" in one and "bob" in one for one in told) == 1


@every_linkage
@pytest.mark.parametrize("loads", [None, [2.0] * 6])
def test_a_dead_end_of_sizes(linkage, loads):
    cap = 3 if loads is None else 6
    model = ConstrainedLinkage(2, linkage=linkage, size_max=cap).fit(PAIRS, size_weight=loads)
    assert model.repaired_
    assert np.bincount(model.labels_).tolist() == [3, 3]
    assert model.n_roots_ == 3
    assert [(b.a, b.b, b.reason, b.i, b.j) for b in sorted(model.blocked_, key=lambda b: (b.a, b.b))] == [
        (a, b, "size", None, None) for a, b in itertools.combinations(range(3), 2)
    ]
    model.set_params(on_dead_end="warn")
    with pytest.warns(DeadEndWarning, match=says("3", "2")):
        model.fit(PAIRS, size_weight=loads)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(DeadEndError, match="size"):
        model.set_params(on_dead_end="raise").fit(PAIRS, size_weight=loads)


@every_linkage
@pytest.mark.parametrize(
    ("X", "k", "known", "size_max"),
    [
        (PATH, 2, Constraints(None, [(0, 1), (1, 2), (0, 2)], n_items=4), None),
        (PATH, 1, Constraints(None, [(1, 2)], n_items=4), None),
        (PATH, 2, Constraints.from_labels([0, 1, 2, -1]), None),
        (PATH, 2, Constraints.distinct([0, 0, 0, 1]), None),
        (PATH, 2, Constraints.across([0, 1, 2, 2]), None),
        (PAIRS, 2, None, 2),
        (PAIRS, 2, Constraints([(0, 1), (2, 3), (4, 5)], n_items=6), 3),
    ],
)
def test_what_cannot_be_is_said(linkage, X, k, known, size_max):
    """Proven: repair raises with the proof; "warn" gives what there is; a threshold asks for no number."""
    model = ConstrainedLinkage(k, linkage=linkage, size_max=size_max)
    with pytest.raises(InfeasibleConstraintsError) as error:
        model.fit(X, constraints=known)
    assert "on_shortfall" not in str(error.value)  # advice for another class
    with pytest.raises((DeadEndError, InfeasibleConstraintsError)):
        model.set_params(on_dead_end="raise").fit(X, constraints=known)
    with pytest.warns(DeadEndWarning):
        model.set_params(on_dead_end="warn").fit(X, constraints=known)
    assert model.n_clusters_ == model.n_roots_ > k
    assert not model.violations_
    free = ConstrainedLinkage(None, linkage=linkage, size_max=size_max, distance_threshold=1e9)
    assert free.fit(X, constraints=known).labels_.tolist() == model.labels_.tolist()


@every_linkage
def test_repair_is_right_on_random_problems(linkage, seed):
    """Where the constraints can be met, they are; the cut is kept wherever there is no dead end."""
    repaired = refused = 0
    for number in range(60):
        rng = random.Random(f"{seed} {linkage} {number}")
        n, k = rng.randint(4, 12), rng.choice([2, 2, 3])
        given, table, arguments = draw_data(rng, n, linkage)
        if number % 2:
            known, _ = feasible_constraints(rng, n, k)
        else:
            known = without_contradictions(random_case(rng, n, n)).build()
        must, cannot = pairs_oracle.all_pairs(known)
        rules = oracle.Rules(n, oracle.between(linkage, table), must, cannot)
        possible = len(rules.parts) >= k and pairs_oracle.feasible(n, must, cannot, k)
        model = ConstrainedLinkage(k, **arguments)
        if not possible:
            refused += 1
            with pytest.raises(InfeasibleConstraintsError):
                model.fit(given, constraints=known)
            continue
        model.fit(given, constraints=known)
        tree = oracle.grow(rules)
        labels = model.labels_.tolist()
        assert pairs_oracle.meets(labels, must, cannot)
        assert len(set(labels)) == model.n_clusters_ == k
        assert model.repaired_ is (len(tree.roots) > k)
        assert model.repaired_ or labels == numbered(tree.cut(k), known)
        repaired += model.repaired_
        assert_parts_agree(model, n)
    assert repaired
    assert refused


@pytest.mark.parametrize("linkage", ["average", "ward"])
def test_repair_keeps_sizes_on_random_problems(linkage, seed):
    repaired = refused = 0
    for number in range(40):
        rng = random.Random(f"{seed} sizes {linkage} {number}")
        n, k = rng.randint(4, 9), rng.choice([2, 2, 3])
        given, table, arguments = draw_data(rng, n, linkage)
        known, _ = feasible_constraints(rng, n, k)
        must, cannot = pairs_oracle.all_pairs(known)
        loads = np.array([float(rng.choice([1, 1, 2])) for _ in range(n)]) if number % 3 == 0 else None
        rules = oracle.Rules(n, oracle.between(linkage, table), must, cannot, loads=loads)
        total = rules.load(range(n))
        rules.size_max = rng.randint(math.ceil(total / k), math.ceil(total / k) + 1)
        bounds = sizes_oracle.rules(n, k, 0, rules.size_max, loads=loads)
        said = sizes_oracle.allowed(n, bounds)
        fine = [row for row in said.tolist() if len(set(row)) == k and pairs_oracle.meets(row, must, cannot)]
        model = ConstrainedLinkage(k, size_max=rules.size_max, **arguments)
        if not fine:
            refused += 1
            with pytest.raises(InfeasibleConstraintsError):
                model.fit(given, constraints=known, size_weight=loads)
            continue
        model.fit(given, constraints=known, size_weight=loads)
        labels = model.labels_.tolist()
        assert pairs_oracle.meets(labels, must, cannot)
        assert sizes_oracle.keeps(labels, bounds)
        assert len(set(labels)) == k
        assert model.repaired_ or labels == numbered(oracle.grow(rules).cut(k), known)
        repaired += model.repaired_
    assert repaired
    assert refused


@every_linkage
def test_large_dead_ends_are_repaired(linkage, seed):
    """A true 2-partition with many cannot-links: merging ends early, the repair does not."""
    rng = np.random.default_rng(seed)
    n = 400
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + y[:, None]
    known = Constraints.sample(y, 700, random_state=0)
    model = ConstrainedLinkage(2, linkage=linkage).fit(X, constraints=known)
    assert model.n_roots_ > 2
    assert model.repaired_
    assert model.n_clusters_ == len(np.unique(model.labels_)) == 2
    assert not known.violations(model.labels_)


# ---- what keeps the roots apart -------------------------------------------------------------------------


@every_linkage
@pytest.mark.parametrize("kind", ["cannot", "label", "distinct", "across", "everything", "graph everything"])
def test_every_block_is_true_and_none_is_missing(kind, linkage, seed):
    n_told = 0
    for number in range(15):
        p = problem(seed, kind, linkage, number)
        if p.rules.edges is not None and not all(map(p.rules.connected, p.tree.parts)):
            continue
        blocked = p.fit(n_clusters=None, distance_threshold=1.0).blocked_
        labels = numbered(oracle.labels_of(p.rules.n, p.tree.roots), p.said)
        roots = sorted(p.tree.roots, key=lambda root: labels[min(root)])
        assert bool(blocked) is (len(roots) > 1)
        listed = []
        for block in blocked:
            assert all(str(item) in block.told for item in (block.i, block.j) if item is not None)
            if p.rules.edges is not None and block.reason == "not connected":
                continue  # islands, in one line
            a, b = roots[block.a], roots[block.b]
            assert block.a < block.b
            assert_is_reason(block, a, b, p)
            listed.append((block.a, block.b))
        n_told += len(listed)
        pairs = itertools.combinations(range(len(roots)), 2)
        assert sorted(listed) == [(a, b) for a, b in pairs if p.rules.adjacent(roots[a], roots[b])]
    assert n_told


def assert_is_reason(block, a, b, p) -> None:
    if block.reason == "size":
        assert p.rules.too_large(a, b)
        assert block.i is None
        assert block.j is None
        return
    assert {block.i in a, block.j in a} == {block.i in b, block.j in b} == {True, False}
    pair = pairs_oracle.ordered((block.i, block.j))
    if block.reason == "cannot-link":
        assert list(pair) in p.said.cannot_link.tolist()
        return
    expanded = [
        pairs_oracle.expand(group.kind, pairs_oracle.group_values(group, p.rules.n))[1]
        for group in p.said.groups
        if group.kind == block.reason
    ]
    assert any(pair in stated for stated in expanded)


# ---- ties -----------------------------------------------------------------------------------------------


def tied_points(rng, n) -> np.ndarray:
    """Duplicates, a grid, a line of equal steps, or all the same."""
    kind = rng.choice(["duplicates", "grid", "line", "same"])
    draw = np.random.default_rng(rng.randrange(2**32))
    if kind == "duplicates":
        return draw.normal(size=(n, 2))[draw.integers(0, max(1, n // 3), n)]
    if kind == "grid":
        return draw.integers(0, 4, size=(n, 2)).astype(float)
    return np.arange(n, dtype=float)[:, None] if kind == "line" else np.full((n, 2), 7.3)


@every_linkage
@pytest.mark.parametrize("with_graph", [False, True])
def test_ties_are_broken_somehow_but_legally(linkage, with_graph, seed):
    """Every merge is a nearest legal pair, given the ones before."""
    for number in range(40):
        rng = random.Random(f"{seed} ties {linkage} {number}")
        n = rng.randint(2, 16)
        X = tied_points(rng, n)
        case = random_case(rng, n, n) if number % 4 else Case(n)
        if with_graph:
            case.must, case.groups = [], []
        known = without_contradictions(case).build()
        must, cannot = pairs_oracle.all_pairs(known)
        edges = draw_edges(rng, n) if with_graph else None
        table = X if linkage == "ward" else oracle.gaps(X)
        largest = max(map(len, oracle.Rules(n, None, must).parts))
        cap = rng.choice([math.inf, rng.randint(largest, n)])
        rules = oracle.Rules(n, oracle.between(linkage, table, edges), must, cannot, edges, size_max=cap)
        more: dict = {} if edges is None else {"connectivity": np.array(sorted(edges)).reshape(-1, 2)}
        if math.isfinite(cap):
            more["size_max"] = int(cap)
        model = ConstrainedLinkage(None, linkage=linkage, distance_threshold=1.0, **more)
        model.fit(X, constraints=known)
        why = oracle.greedy_or_why(oracle.read_matrix(model.linkage_, n), rules, scale=np.abs(X).max())
        assert not why, (number, why)
        assert_parts_agree(model, n)


@every_linkage
def test_identical_rows_may_be_kept_apart(linkage):
    X = np.ones((6, 2))
    known = Constraints(None, [(0, 1), (2, 3)], n_items=6)
    model = ConstrainedLinkage(2, linkage=linkage).fit(X, constraints=known)
    assert not known.violations(model.labels_)
    assert model.n_clusters_ == 2
    assert (model.distances_[:4] == 0).all()


# ---- few items, many items ------------------------------------------------------------------------------


@every_linkage
def test_one_item(linkage):
    for arguments in ({"n_clusters": 1}, {"n_clusters": None, "distance_threshold": 1.0}):
        model = ConstrainedLinkage(linkage=linkage, **arguments).fit([[1.0, 2.0]])
        assert model.labels_.tolist() == [0]
        assert model.linkage_.shape == (0, 4)
        assert model.n_roots_ == 1
        assert model.objective_ == 0.0
        assert list(model.history_) == [0.0]
        assert not model.blocked_


@every_linkage
def test_two_items(linkage):
    X = [[0.0], [3.0]]
    assert ConstrainedLinkage(1, linkage=linkage).fit(X).linkage_.tolist() == [[0, 1, 3, 2]]
    assert ConstrainedLinkage(2, linkage=linkage).fit(X).labels_.tolist() == [0, 1]
    model = ConstrainedLinkage(2, linkage=linkage).fit(X, constraints=Constraints(None, [(0, 1)], n_items=2))
    assert model.linkage_.tolist() == [[0, 1, math.inf, 2]]
    model = ConstrainedLinkage(1, linkage=linkage).fit(X, constraints=Constraints([(0, 1)], n_items=2))
    assert model.linkage_.tolist() == [[0, 1, 0, 2]]
    # the threshold itself does not merge
    for t, n_clusters in ((3.0, 2), (3.001, 1)):
        model = ConstrainedLinkage(None, linkage=linkage, distance_threshold=t).fit(X)
        assert model.n_clusters_ == n_clusters


@pytest.mark.parametrize("linkage", ["complete", "average", "ward"])
def test_too_many_items_are_refused_with_the_size(linkage):
    X = np.arange(20_001.0)[:, None]
    with pytest.raises(ValueError, match=says("GB", "20,?001")):
        ConstrainedLinkage(2, linkage=linkage).fit(X)


def test_single_and_ward_on_a_graph_need_no_table(seed):
    n = 21_000
    X = np.random.default_rng(seed).normal(size=(n, 2))
    ring = np.c_[np.arange(n), (np.arange(n) + 1) % n]
    known = Constraints(None, [(0, 1), (5, 6)], n_items=n)
    for more in ({"linkage": "single"}, {"linkage": "ward", "connectivity": ring, "size_max": 100}):
        tracemalloc.start()
        model = ConstrainedLinkage(None, distance_threshold=1e9, **more).fit(X, constraints=known)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * n * n / 10
        assert not known.violations(model.labels_)
        assert np.bincount(model.labels_).max() <= more.get("size_max", n)
