"""`ConstrainedLinkage` with a connectivity: what is not joined by an edge is never merged."""

import itertools
import random

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.neighbors import kneighbors_graph

from coterie import Constraints
from coterie.exceptions import DeadEndError, DeadEndWarning, InfeasibleConstraintsError
from coterie.hierarchy import ConstrainedLinkage
from tests.constraints.strategies import says
from tests.hierarchy.linkage_problems import (
    GRAPH_KINDS,
    LINKAGES,
    assert_parts_agree,
    assert_same_as_oracle,
    labels_after,
    problem,
)
from tests.marks import few_of
from tests.oracles import linkage as oracle

every_linkage = pytest.mark.parametrize("linkage", LINKAGES)
FEW, MANY = 8, 22


# ---- the oracle -----------------------------------------------------------------------------------------


@every_linkage
@pytest.mark.parametrize("kind", GRAPH_KINDS)
@few_of(FEW, MANY)
def test_same_as_the_oracle(kind, linkage, numbers, seed):
    for number in numbers:
        p = problem(seed, kind, linkage, number)
        if all(p.rules.connected(part) for part in p.tree.parts):
            assert_same_as_oracle(p, random.Random(number))


@pytest.mark.kernels
@every_linkage
def test_same_as_the_oracle_in_every_mode_of_the_kernels(linkage):
    problems = [problem(0, kind, linkage, 0, n=20) for kind in GRAPH_KINDS]
    usable = [p for p in problems if all(p.rules.connected(part) for part in p.tree.parts)]
    assert usable
    for p in usable:
        assert_same_as_oracle(p, random.Random(0))


@every_linkage
@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_same_as_the_oracle_on_sixty_items(kind, linkage, seed):
    for number in range(2):
        p = problem(seed, kind, linkage, number, n=60)
        if all(p.rules.connected(part) for part in p.tree.parts):
            assert_same_as_oracle(p, random.Random(number))


def test_the_problems_are_not_all_easy(seed):
    """Islands, inversions, and dead ends that are no islands occur above, and few are left out."""
    seen = [problem(seed, kind, "ward", t) for kind in GRAPH_KINDS for t in range(MANY)]
    usable = [p for p in seen if all(p.rules.connected(part) for part in p.tree.parts)]
    assert len(usable) > 0.9 * len(seen)
    alone = [len(oracle.islands(range(p.rules.n), p.rules.edges)) for p in usable]
    assert sum(a > 1 for a in alone) > 10
    assert sum(len(p.tree.roots) > a for p, a in zip(usable, alone, strict=True)) > 10
    heights = [[m.height for m in p.tree.merges] for p in usable]
    assert sum(h != sorted(h) for h in heights) > 3


@pytest.mark.parametrize("linkage", ["ward", "single"])
def test_without_statements_it_is_scikit_learn(linkage, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    graph = kneighbors_graph(X, 8)
    graph = graph + graph.T
    assert connected_components(graph)[0] == 1
    for k in (2, 5, 20, 100):
        ours = ConstrainedLinkage(k, linkage=linkage, connectivity=graph).fit(X)
        theirs = AgglomerativeClustering(k, linkage=linkage, connectivity=graph).fit(X)
        assert set(oracle.sets(ours.labels_)) == set(oracle.sets(theirs.labels_))


@every_linkage
def test_all_edges_are_as_good_as_none(linkage, seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    every = np.array(list(itertools.combinations(range(30), 2)))
    one = ConstrainedLinkage(3, linkage=linkage, connectivity=every).fit(X)
    other = ConstrainedLinkage(3, linkage=linkage).fit(X)
    assert (np.sort(one.children_, axis=1) == np.sort(other.children_, axis=1)).all()
    np.testing.assert_allclose(one.distances_, other.distances_, rtol=1e-10)


@every_linkage
def test_sparse_rows_with_a_graph(linkage, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.6)
    graph = kneighbors_graph(X, 6)
    known = Constraints.across(np.where(rng.random(60) < 0.3, rng.integers(0, 2, 60), -1))
    one = ConstrainedLinkage(None, linkage=linkage, connectivity=graph, distance_threshold=1.0)
    if linkage == "ward":  # means are dense
        with pytest.raises(ValueError, match="toarray"):
            one.fit(sparse.csr_array(X))
        return
    other = clone(one).fit(sparse.csr_array(X), constraints=known)
    one.fit(X, constraints=known)
    assert (other.children_ == one.children_).all()
    np.testing.assert_allclose(other.distances_, one.distances_, rtol=1e-10)


@every_linkage
def test_one_graph_in_many_forms(linkage, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    upper = sparse.csr_array(np.triu(rng.random((25, 25)) < 0.2, 1).astype(float))
    i, j = upper.nonzero()
    forms = [
        upper, (upper + upper.T).tocoo(), sparse.csr_matrix(upper + upper.T + sparse.eye_array(25)),
        np.c_[i, j], nx.from_scipy_sparse_array(upper + upper.T), pd.DataFrame({"i": i, "j": j}),
        lambda X: upper,
    ]  # fmt: skip
    models = [
        ConstrainedLinkage(None, linkage=linkage, distance_threshold=1.0, connectivity=form).fit(X)
        for form in forms
    ]
    for model in models[1:]:
        assert np.array_equal(model.linkage_, models[0].linkage_)
        assert model.n_islands_ == models[0].n_islands_


# ---- never overridden, islands told ---------------------------------------------------------------------


@every_linkage
def test_near_but_not_joined_stays_apart(linkage):
    """Two rows on a line: neighbours within a row are joined, the rows are not, though they are nearer."""
    X = np.array([[x, y] for y in (0.0, 0.01) for x in (0.0, 1.0, 2.1, 3.3)])
    edges = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=np.array(edges)).fit(X)
    assert model.labels_.tolist() == [0] * 4 + [1] * 4
    assert model.n_islands_ == model.n_roots_ == 2
    assert np.isinf(model.distances_).tolist() == [False] * 6 + [True]
    assert model.blocked_
    assert "2 islands" in str(model.blocked_)


@every_linkage
def test_more_islands_than_clusters(linkage):
    X = np.arange(9.0)[:, None] ** 1.1
    edges = np.array([(0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8)])
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=edges)
    with pytest.raises(InfeasibleConstraintsError, match=says("3", "2")):
        model.fit(X)
    with pytest.raises((DeadEndError, InfeasibleConstraintsError), match="3"):
        model.set_params(on_dead_end="raise").fit(X)
    with pytest.warns(DeadEndWarning, match=says("3", "2")):
        model.set_params(on_dead_end="warn").fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert model.n_clusters_ == model.n_islands_ == model.n_roots_ == 3
    fine = ConstrainedLinkage(None, linkage=linkage, connectivity=edges, distance_threshold=1e9).fit(X)
    assert fine.labels_.tolist() == model.labels_.tolist()


@every_linkage
def test_no_edges_at_all(linkage):
    X = np.arange(4.0)[:, None] ** 1.5
    model = ConstrainedLinkage(4, linkage=linkage, connectivity=sparse.csr_array((4, 4))).fit(X)
    assert model.labels_.tolist() == [0, 1, 2, 3]
    assert model.n_islands_ == 4
    assert np.isinf(model.distances_).all()


@pytest.mark.parametrize("linkage", ["single", "average", "ward"])
@pytest.mark.parametrize("mode", ["repair", "warn", "raise"])
def test_no_repair_with_a_connectivity(linkage, mode):
    """A chain whose ends merge with the middle first: the ends of a cannot-link then stay apart."""
    X = np.array([[0.0], [1.0], [2.5], [4.5]])
    chain = np.array([(0, 1), (1, 2), (2, 3)])
    known = Constraints(None, [(0, 2), (1, 3)], n_items=4)
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=chain, on_dead_end=mode)
    # first 0-1; then 2 is apart from 0, and 2-3 merge; two roots
    assert model.fit(X, constraints=known).labels_.tolist() == [0, 0, 1, 1]
    known = known | Constraints(None, [(2, 3)], n_items=4)  # {0,1},{2},{3}, or {0},{1,2},{3}
    if mode == "raise":
        with pytest.raises((DeadEndError, InfeasibleConstraintsError), match="2"):
            model.fit(X, constraints=known)
        return
    with pytest.warns(DeadEndWarning, match="3"):
        model.fit(X, constraints=known)
    assert model.labels_.tolist() == [0, 0, 1, 2]
    assert not model.repaired_
    # 0-1 and 3 are no neighbours: their pair need not be told
    told = {(b.a, b.b): b for b in model.blocked_ if b.reason != "not connected"}
    assert set(told) == {(0, 1), (1, 2)}
    assert told[0, 1].reason == told[1, 2].reason == "cannot-link"
    assert {told[1, 2].i, told[1, 2].j} == {2, 3}


# ---- must-links -----------------------------------------------------------------------------------------


@every_linkage
def test_must_links_across_islands_cannot_be(linkage):
    X = np.arange(6.0)[:, None] ** 1.2
    edges = np.array([(0, 1), (1, 2), (3, 4), (4, 5)])
    for mode in ("repair", "warn", "raise"):
        model = ConstrainedLinkage(2, linkage=linkage, connectivity=edges, on_dead_end=mode)
        with pytest.raises(InfeasibleConstraintsError, match=says("2", "4")):
            model.fit(X, constraints=Constraints([(2, 4)], n_items=6))
    with pytest.raises(InfeasibleConstraintsError):
        ConstrainedLinkage(None, linkage=linkage, connectivity=edges, distance_threshold=1.0).fit(
            X, constraints=[0, -1, -1, -1, 0, -1]
        )


@every_linkage
def test_a_must_link_that_leaves_a_gap_names_the_way(linkage):
    X = np.arange(6.0)[:, None] ** 1.2
    ring = np.array([(i, (i + 1) % 6) for i in range(6)])
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=ring)
    with pytest.raises(ValueError, match=says("0", "1", "2")) as error:
        model.fit(X, constraints=Constraints([(0, 2)], n_items=6))
    assert not isinstance(error.value, InfeasibleConstraintsError)
    model.fit(X, constraints=Constraints([(0, 1), (1, 2)], n_items=6))
    assert len(set(model.labels_[:3].tolist())) == 1
    # a component holds together where its links are no edges but its items are joined
    model.fit(X, constraints=Constraints([(0, 2), (1, 2)], n_items=6))
    assert len(set(model.labels_[:3].tolist())) == 1


# ---- larger ---------------------------------------------------------------------------------------------


@every_linkage
@pytest.mark.parametrize("size_max", [None, 25])
def test_every_cluster_is_connected_capped_and_legal(linkage, size_max, seed):
    rng = np.random.default_rng(seed)
    wide = 22
    n = wide * wide
    X = rng.normal(size=(n, 2)).cumsum(axis=0)[rng.permutation(n)]
    grid = grid_to_graph(wide, wide)
    known = Constraints(None, rng.permutation(n)[: 2 * 100].reshape(-1, 2), n_items=n)
    across = Constraints.across(np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), -1))
    links = [(i, i + 1) for i in range(0, n - 1, 40) if (i + 1) % wide]
    clash = known.cannot_link.tolist()
    links = [pair for pair in links if list(pair) not in clash and not across.violations(_joined(n, pair))]
    known = known | across | Constraints(links, n_items=n)
    model = ConstrainedLinkage(
        None, linkage=linkage, connectivity=grid, size_max=size_max, distance_threshold=1e300
    ).fit(X, constraints=known)
    assert_parts_agree(model, n)
    assert model.n_islands_ == 1
    for m in np.linspace(len(links), n - model.n_roots_, 6).astype(int):
        labels = np.array(labels_after(model.linkage_, n, m))
        assert not known.violations(labels)
        i, j = grid.nonzero()
        same = labels[i] == labels[j]
        inside = sparse.coo_array((np.ones(same.sum()), (i[same], j[same])), shape=(n, n))
        assert connected_components(inside)[0] == labels.max() + 1
        assert size_max is None or np.bincount(labels).max() <= size_max
    assert model.labels_.tolist() == labels.tolist()
    for t in (0.0, *np.quantile(model.distances_[: n - model.n_roots_], [0.5, 0.9, 1.0])):
        assert not known.violations(fcluster(model.linkage_, t, "distance"))


def _joined(n: int, pair) -> np.ndarray:
    """Labels in which a pair is together and all others are alone."""
    labels = np.arange(n)
    labels[pair[1]] = pair[0]
    return labels


# ---- input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (sparse.csr_array((5, 5)), says("5", "6")), (sparse.csr_array((6, 5)), "5"),
        (np.array([(0, 6)]), "6"), (np.array([(0, -1)]), "-1"), (lambda X: sparse.csr_array((4, 4)), "4"),
        ("edges", "connectivity|graph"),
    ],
)  # fmt: skip
def test_a_graph_of_other_items_is_refused(graph, words):
    X = np.arange(6.0)[:, None] ** 1.3
    with pytest.raises((ValueError, TypeError), match=words):
        ConstrainedLinkage(2, connectivity=graph).fit(X)
