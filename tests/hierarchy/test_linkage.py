"""`ConstrainedLinkage` against the greedy oracle, against SciPy, and what must hold on larger data."""

import itertools
import math
import random
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_iris, make_blobs

from coterie import Constraints
from coterie.exceptions import DeadEndWarning
from coterie.hierarchy import ConstrainedLinkage
from tests.hierarchy.linkage_problems import (
    LINKAGES,
    PLAIN_KINDS,
    SIZE_KINDS,
    assert_parts_agree,
    assert_same_as_oracle,
    labels_after,
    problem,
)
from tests.marks import few_of
from tests.oracles import constraints as pairs_oracle
from tests.oracles import linkage as oracle
from tests.oracles.constraints import numbered

every_linkage = pytest.mark.parametrize("linkage", LINKAGES)
# as many of each kind as `test_the_problems_are_not_all_easy` looks at
FEW = 3
each = few_of(FEW, 40)


def tree(X, linkage="ward", known=None, **more) -> ConstrainedLinkage:
    """The whole tree; nothing is a dead end, since no number of clusters is asked for."""
    return ConstrainedLinkage(None, linkage=linkage, distance_threshold=0.0, **more).fit(X, constraints=known)


# ---- the oracle -----------------------------------------------------------------------------------------


@every_linkage
def test_the_oracle_is_scipy_where_nothing_is_known(linkage, seed):
    for n in (2, 3, 14, 40):
        X = np.random.default_rng((seed, n)).normal(size=(n, 2))
        rules = oracle.Rules(n, oracle.between(linkage, X if linkage == "ward" else oracle.gaps(X)))
        Z = scipy_linkage(X, linkage)
        rows, found = oracle.read_matrix(Z, n), oracle.grow(rules)
        assert [{m.a, m.b} for m in rows] == [{m.a, m.b} for m in found.merges]
        np.testing.assert_allclose(Z[:, 2], [m.height for m in found.merges], rtol=1e-12)
        assert found.roots == [frozenset(range(n))]
        assert not oracle.greedy_or_why(rows, rules)
        if n > 3:
            rows[0], rows[1] = rows[1], rows[0]
            assert oracle.greedy_or_why(rows, rules)


@every_linkage
@pytest.mark.parametrize("kind", PLAIN_KINDS + SIZE_KINDS)
@each
def test_same_as_the_oracle(kind, linkage, numbers, seed):
    for number in numbers:
        p = problem(seed, kind, linkage, number)
        assert_same_as_oracle(p, random.Random(number))


@pytest.mark.kernels
@every_linkage
def test_same_as_the_oracle_in_every_mode_of_the_kernels(linkage):
    for number, kind in enumerate(PLAIN_KINDS + SIZE_KINDS):
        assert_same_as_oracle(problem(0, kind, linkage, number, n=20), random.Random(number))


@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
@pytest.mark.parametrize("kind", ["must", "label", "mixed", "everything"])
@each
def test_propagation_is_the_oracle_on_shortest_ways(kind, linkage, numbers, seed):
    for number in numbers:
        p = problem(seed, kind, linkage, number, propagate=True)
        assert_same_as_oracle(p, random.Random(number))


@every_linkage
@pytest.mark.parametrize("kind", ["cannot", "mixed", "size", "everything"])
def test_same_as_the_oracle_on_sixty_items(kind, linkage, seed):
    p = problem(seed, kind, linkage, 0, n=60)
    assert_same_as_oracle(p, random.Random(0))


def test_the_problems_are_not_all_easy(seed):
    """Dead ends, contradictions, must-links and blocks by size all occur above."""
    every = itertools.product(PLAIN_KINDS + SIZE_KINDS, LINKAGES, range(FEW))
    seen = [problem(seed, kind, linkage, number) for kind, linkage, number in every]
    trees = [p.tree for p in seen if p.tree is not None]
    assert 0 < len(seen) - len(trees) < len(seen) / 4
    assert sum(len(t.roots) > 1 for t in trees) > len(trees) / 3
    assert sum(len(t.parts) < t.n for t in trees) > len(trees) / 4


# ---- SciPy ----------------------------------------------------------------------------------------------


def assert_is_scipy(model, Z, rtol=1e-10) -> None:
    """The same merges in the same order, so the same partition at every number of clusters."""
    n = len(Z) + 1
    assert_parts_agree(model, n)
    assert (np.sort(model.children_, axis=1) == np.sort(Z[:, :2], axis=1)).all()
    np.testing.assert_allclose(model.distances_, Z[:, 2], rtol=rtol)
    assert (model.linkage_[:, 3] == Z[:, 3]).all()
    assert model.n_roots_ == 1
    assert model.n_islands_ == 1
    assert not model.blocked_
    assert len(model.blocked_) == 0


@every_linkage
@pytest.mark.parametrize("n", [2, 3, 17, 100, 300])
def test_nothing_known_is_scipy(linkage, n, seed):
    rng = np.random.default_rng((seed, n))
    X = rng.normal(size=(n, 3)) + 4 * rng.integers(0, 3, size=(n, 1))
    Z = scipy_linkage(X, linkage)
    assert_is_scipy(tree(X, linkage), Z)
    assert_is_scipy(tree(oracle.gaps(X), linkage, metric="precomputed"), Z)
    for k in {1, 2, n // 2 or 1, n}:
        model = ConstrainedLinkage(k, linkage=linkage).fit(X, constraints=Constraints(n_items=n))
        assert model.labels_.tolist() == labels_after(Z, n, n - k)


@every_linkage
def test_data_far_from_zero_are_scipy(linkage, seed):
    """Distances of differences, not of squares: those lose all digits here."""
    X = np.random.default_rng(seed).normal(size=(100, 3)) + 1e7
    assert_is_scipy(tree(X, linkage), scipy_linkage(X, linkage))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
def test_other_metrics_are_scipy(linkage, metric, seed):
    X = np.random.default_rng(seed).normal(size=(120, 4))
    Z = scipy_linkage(squareform(oracle.gaps(X, metric), checks=False), linkage)
    assert_is_scipy(tree(X, linkage, metric=metric), Z)


@every_linkage
def test_sparse_rows_and_single_precision(linkage, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.6)
    assert_is_scipy(tree(sparse.csr_array(X), linkage), scipy_linkage(X, linkage))
    short = X.astype(np.float32)
    assert_is_scipy(tree(short, linkage), scipy_linkage(short.astype(float), linkage), rtol=1e-5)
    known = Constraints.sample(np.arange(80) % 3, 20, random_state=0)
    plain = ConstrainedLinkage(3, linkage=linkage).fit(X, constraints=known)
    same = ConstrainedLinkage(3, linkage=linkage).fit(sparse.csr_matrix(X), constraints=known)
    assert same.labels_.tolist() == plain.labels_.tolist()


@every_linkage
def test_must_links_of_identical_rows_are_scipy(linkage, seed):
    rng = np.random.default_rng(seed)
    rows = np.r_[np.arange(60), rng.integers(0, 60, 40)]
    X = rng.normal(size=(60, 2))[rows]
    known = Constraints([(int(rows[i]), i) for i in range(60, 100)], n_items=100)
    Z = scipy_linkage(X, linkage)
    model = tree(X, linkage, known)
    assert_parts_agree(model, 100)
    assert (model.distances_[:40] == 0).all()
    ours, theirs = oracle.read_matrix(model.linkage_, 100), oracle.read_matrix(Z, 100)
    assert [{m.a, m.b} for m in ours[40:]] == [{m.a, m.b} for m in theirs[40:]]
    np.testing.assert_allclose(model.distances_[40:], Z[40:, 2], rtol=1e-10)


# ---- the specification ----------------------------------------------------------------------------------


@every_linkage
def test_the_classes_are_the_merges_at_zero(linkage):
    X, y = load_iris(return_X_y=True)
    every = [(i, j) for i, j in itertools.combinations(range(150), 2) if y[i] == y[j]]
    for known in (Constraints(every, n_items=150), Constraints.from_labels(y)):
        model = ConstrainedLinkage(3, linkage=linkage).fit(X, constraints=known)
        assert model.labels_.tolist() == y.tolist()
        assert (model.distances_[:147] == 0).all()
        assert (model.distances_[147:] > 0).all()
        assert list(model.history_) == [0.0] * 147
    assert model.n_roots_ == 3  # labels that differ are never joined
    assert np.isinf(model.distances_[147:]).all()


def test_a_way_through_a_must_link_is_shorter():
    D = np.array([[0, 10, 5], [10, 0, 1], [5, 1, 0.0]])
    known = Constraints([(0, 2)], n_items=3)
    near = tree(D, "complete", known, metric="precomputed", propagate=True)
    assert near.distances_.tolist() == [0, 1]
    assert tree(D, "complete", known, metric="precomputed").distances_.tolist() == [0, 10]
    assert tree(D, "average", known, metric="precomputed", propagate=True).distances_.tolist() == [0, 1]


def test_propagation_without_must_links_changes_nothing(seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    for linkage in ("single", "complete", "average"):
        assert_is_scipy(tree(X, linkage, propagate=True), scipy_linkage(X, linkage))


# ---- what changes nothing -------------------------------------------------------------------------------


@every_linkage
@pytest.mark.parametrize("kind", ["mixed", "everything"])
def test_the_order_of_the_items_does_not_matter(kind, linkage, seed):
    for number in range(5):
        p = problem(seed, kind, linkage, number, n=30)
        rows = np.random.default_rng((seed, number)).permutation(30)
        given = p.given[np.ix_(rows, rows)] if p.arguments.get("metric") == "precomputed" else p.given[rows]
        known = {name: value[rows] for name, value in p.known.items()}
        low = len(p.tree.roots)
        for k in {low, (low + len(p.tree.parts)) // 2}:
            one = p.fit(n_clusters=k)
            other = p.model(n_clusters=k).fit(given, **known)
            np.testing.assert_allclose(other.distances_, one.distances_, rtol=1e-9)
            assert {frozenset(rows[sorted(s)].tolist()) for s in oracle.sets(other.labels_)} == set(
                oracle.sets(one.labels_)
            )
            assert len(other.blocked_) == len(one.blocked_)


@every_linkage
@pytest.mark.parametrize(
    ("a", "b"), [(1e-3, 0.0), (7.5, 100.0), (-2.0, 1.0), (1e6, -1e6), (1e-100, 0), (1e100, 0)]
)
def test_units_do_not_matter(linkage, a, b, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    known = Constraints.sample(rng.integers(0, 3, 60), 40, random_state=0)
    one = ConstrainedLinkage(4, linkage=linkage).fit(X, constraints=known)
    other = ConstrainedLinkage(4, linkage=linkage).fit(a * X + b, constraints=known)
    assert other.labels_.tolist() == one.labels_.tolist()
    assert (other.children_ == one.children_).all()
    np.testing.assert_allclose(other.distances_, abs(a) * one.distances_, rtol=1e-7)


def test_weights_do_not_matter_unless_zero(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2))
    sure = Constraints.sample(rng.integers(0, 4, 50), 30, random_state=0)
    plain = tree(X, "average", sure)
    soft = Constraints(sure.must_link, sure.cannot_link, n_items=50, weight=rng.uniform(1e-6, 9, 30))
    assert np.array_equal(tree(X, "average", soft).linkage_, plain.linkage_)
    silent = Constraints(sure.must_link, sure.cannot_link, n_items=50, weight=0.0)
    assert np.array_equal(tree(X, "average", silent).linkage_, tree(X, "average").linkage_)
    loud = Constraints(sure.must_link, sure.cannot_link, n_items=50, weight=0.0, hard=True)
    assert np.array_equal(tree(X, "average", loud).linkage_, plain.linkage_)


# ---- nothing is ever broken -----------------------------------------------------------------------------


def statements(kind: str, y: np.ndarray, rng) -> Constraints:
    n = len(y)
    if kind == "true pairs":
        return Constraints.sample(y, 3 * n, random_state=0)
    if kind == "dense":
        return Constraints(None, np.argwhere(np.triu(rng.random((n, n)) < 0.05, 1)), n_items=n)
    if kind == "sources":
        few = Constraints.sample(np.where(np.arange(n) < n // 8, y, -1), 10, random_state=0)
        return without_collisions(rng.integers(0, n // 4, n), few)
    if kind == "across":
        return Constraints.across(np.where(rng.random(n) < 0.5, y, -1))
    labels = np.where(rng.random(n) < 0.2, y, -1)
    return without_collisions(rng.integers(0, n // 3, n), Constraints.from_labels(labels))


def without_collisions(source: np.ndarray, known: Constraints) -> Constraints:
    """`known`, and at most one item of a source in a cluster; a component keeps one item of each source."""
    _, first = np.unique(np.c_[known.components, source], axis=0, return_index=True)
    kept = np.full(len(source), -1)
    kept[first] = source[first]
    return known | Constraints.distinct(kept)


@every_linkage
@pytest.mark.parametrize("kind", ["true pairs", "dense", "sources", "across", "labels"])
@pytest.mark.parametrize("capped", [False, True])
def test_no_cut_breaks_anything(kind, linkage, capped, seed):
    n = 300 if capped else 450
    X, y = make_blobs(n, centers=6, n_features=2, random_state=seed % 2**31)
    rng = np.random.default_rng(seed)
    known = statements(kind, y, rng)
    loads = rng.integers(1, 6, n).astype(float)
    largest = max(np.bincount(known.components, loads))
    cap = int(max(largest, 60)) if capped else None
    model = ConstrainedLinkage(None, linkage=linkage, distance_threshold=1e300, size_max=cap)
    model.fit(X, constraints=known, **({"size_weight": loads} if capped else {}))
    assert_parts_agree(model, n)
    n_links = n - known.components.max() - 1
    heights = model.distances_[: n - model.n_roots_]
    assert (np.diff(heights) >= -1e-12 * heights.max()).all()
    for m in np.unique(np.linspace(n_links, n - model.n_roots_, 8).astype(int)):
        labels = np.array(labels_after(model.linkage_, n, m))
        assert not known.violations(labels)
        assert not capped or np.bincount(labels, loads).max() <= cap
    assert model.labels_.tolist() == numbered(labels.tolist(), known)
    for t in (0.0, *np.quantile(heights, [0.5, 0.9, 1.0])):
        assert not known.violations(fcluster(model.linkage_, t, "distance"))
    assert not legal_pairs_left(labels, known, loads, math.inf if cap is None else cap)
    if model.n_roots_ > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeadEndWarning)
            short = ConstrainedLinkage(1, linkage=linkage, size_max=cap, on_dead_end="warn")
            short.fit(X, constraints=known, **({"size_weight": loads} if capped else {}))
        assert short.labels_.tolist() == numbered(labels.tolist(), known)


def legal_pairs_left(labels, known, loads, cap) -> int:
    """How many pairs of clusters could still merge."""
    n, k = len(labels), labels.max() + 1
    apart = np.zeros((n, n))
    for i, j in pairs_oracle.all_pairs(known)[1]:
        apart[i, j] = apart[j, i] = 1.0
    member = np.eye(k)[labels]
    size = loads @ member
    blocked = (member.T @ apart @ member > 0) | (size[:, None] + size > cap)
    return int((~blocked)[np.triu_indices(k, 1)].sum())
