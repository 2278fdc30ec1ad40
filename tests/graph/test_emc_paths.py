"""Graphs of lengths, K-SD, greedy paths and hubs: against slow versions, flows, bridges and exact paths."""

import sys
import tracemalloc
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, maximum_flow
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph

from coterie.exceptions import ParameterError
from coterie.graph import hub_distances, knn_graph, ksd_paths
from coterie.graph._field import disjoint_paths, hubs
from coterie.graph._field.disjoint_paths import arcs_of, ksd_trees, path_distances
from coterie.graph._field.lengths import read_lengths
from tests.oracles import emc as oracle

TOY = [(0, 1, 1.0), (0, 2, 1.1), (1, 3, 1.0), (2, 3, 1.0), (3, 4, 5.0)]  # s, a, b, v, t


def random_graph(seed, n=14, m=30, whole=True):
    """Whole numbers as lengths, so that sums tie; or lengths that do not."""
    rng = np.random.default_rng(seed)
    tree = [(i, int(rng.integers(i))) for i in range(1, n)]
    pairs = {tuple(sorted(pair)) for pair in tree + rng.integers(n, size=(m, 2)).tolist()}
    lengths = rng.integers(1, 5, size=len(pairs)) if whole else rng.uniform(0.5, 2.0, size=len(pairs))
    ends = [[i, j] for i, j in sorted(pairs)]
    return read_lengths(np.column_stack([ends, lengths]), n)


def arcs_of_paths(parent, v, k):
    """The arcs of each path to v, from the oracle's parents."""
    walks = [oracle.path(parent, v, label)[::-1] for label in range(k) if (v, label) in parent]
    return [list(pairwise(walk)) for walk in walks]


# ---- K-SD -------------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_the_worked_example():
    np.testing.assert_allclose(
        1 / (1 / ksd_paths(TOY, 0, 2)[1:]).sum(axis=1), [0.7561, 0.8049, 1.0244, 7], atol=5e-5
    )
    np.testing.assert_allclose(1 / (1 / ksd_paths(TOY, 4, 2)[:4]).sum(axis=1), [7, 6, 6, 5])
    greedy = path_distances(read_lengths(TOY), "greedy", 2)
    np.testing.assert_allclose(greedy[0, 1:], [0.7561, 0.8049, 1.0244, 7], atol=5e-5)


def test_paths_as_printed_share_an_edge_and_ours_do_not():
    graph = oracle.graph_of(read_lengths(TOY))
    key, parent = oracle.ksd_printed(graph, 0, 2)
    assert oracle.side_by_side([key[4, 0], key[4, 1]]) == pytest.approx(3.5248, abs=5e-5)
    first, second = arcs_of_paths(parent, 4, 2)
    assert set(first) & set(second) == {(3, 4)}
    assert len(arcs_of_paths(oracle.ksd(graph, 0, 2)[1], 4, 2)) == 1
    assert np.isfinite(ksd_paths(TOY, 0, 2)[4]).sum() == 1  # every way crosses one edge


@pytest.mark.kernels
@pytest.mark.parametrize("whole", [True, False])
def test_paths_against_the_slow_version(whole):
    for seed in range(5):
        graph = random_graph(seed, whole=whole)
        plain, arcs, n = oracle.graph_of(graph), arcs_of(graph), graph.shape[0]
        for source, k in ((0, 2), (seed, 3), (n - 1, 6)):
            final, parent = oracle.ksd(plain, source, k)
            lengths, last = ksd_trees(arcs, source, k)
            expected = [[final.get((v, label), np.inf) for label in range(k)] for v in range(n)]
            np.testing.assert_allclose(lengths, expected)
            tails = [[parent.get((v, label), -1) for label in range(k)] for v in range(n)]
            assert np.where(last >= 0, arcs.head[arcs.reverse[last]], -1).tolist() == tails
            expected[source] = [0.0] * k
            np.testing.assert_allclose(ksd_paths(graph, source, k), expected)


def test_paths_are_simple_share_no_arc_and_are_no_more_than_can_flow():
    graph = knn_graph(load_iris().data[::2], 4)
    plain, n, k = oracle.graph_of(graph), graph.shape[0], 4
    capacity = graph.astype(bool).astype(np.int32)
    for source in (0, 30, 60):
        _, parent = oracle.ksd(plain, source, k)
        lengths = ksd_paths(graph, source, k)
        for v in np.random.default_rng(source).permutation(n)[:12].tolist():
            if v == source:
                continue
            paths = arcs_of_paths(parent, v, k)
            assert all(path[0][0] == source and path[-1][1] == v for path in paths)
            assert all(len({a for a, _ in path}) == len(path) for path in paths)
            arcs = [arc for path in paths for arc in path]
            assert len(set(arcs)) == len(arcs)
            found = [sum(plain[a][b] for a, b in path) for path in paths]
            np.testing.assert_allclose(sorted(found), np.sort(lengths[v])[: len(found)])
            if not {(b, a) for a, b in arcs} & set(arcs):
                assert len(paths) <= maximum_flow(capacity, source, v).flow_value


def test_with_a_label_for_each_arc_the_shortest_path_is_found():
    graph = random_graph(3, whole=False)
    exact, k = path_distances(graph, "shortest", 1), int(np.diff(graph.indptr).max())
    D = path_distances(graph, "ksd", k)
    for source in range(graph.shape[0]):
        np.testing.assert_allclose(ksd_paths(graph, source, k).min(axis=1), exact[source])
    assert (exact + 1e-12 >= D).all()
    assert (exact / k - 1e-12 <= D).all()


def test_bridges_and_parallel_paths():
    two = [(0, 1, 1.0), (1, 4, 1.0), (0, 2, 1.5), (2, 4, 1.5)]
    assert 1 / (1 / ksd_paths(two, 0, 2)[4]).sum() == pytest.approx(1.2)
    three = [(0, i, 1.0) for i in (1, 2, 3)] + [(i, 4, 3.0) for i in (1, 2, 3)]
    assert path_distances(read_lengths(three), "ksd", 3)[0, 4] == pytest.approx(4 / 3)
    assert path_distances(read_lengths(three), "greedy", 3)[0, 4] == pytest.approx(4 / 3)
    barbell = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (2, 3, 7.0), (3, 4, 1.0), (4, 5, 1.0), (3, 5, 1.0)]
    assert np.isfinite(ksd_paths(barbell, 0, 5)[[3, 4, 5]]).sum(axis=1).tolist() == [1, 1, 1]


@pytest.mark.kernels
def test_all_distances_against_the_slow_versions():
    for seed, k in ((0, 2), (1, 3), (2, 5)):
        graph = random_graph(seed, n=10, m=14, whole=False)
        plain, n = oracle.graph_of(graph), graph.shape[0]
        np.testing.assert_allclose(path_distances(graph, "ksd", k), oracle.ksd_distances(plain, k))
        expected = [[oracle.greedy(plain, s, t, k) if s != t else 0 for t in range(n)] for s in range(n)]
        np.testing.assert_allclose(path_distances(graph, "greedy", k), expected)
        exact = [oracle.shortest(plain, s) for s in range(n)]
        np.testing.assert_allclose(path_distances(graph, "shortest", k), exact)
        np.testing.assert_allclose(path_distances(graph, "ksd", 1), exact)
        most = int(np.diff(graph.indptr).max())  # more paths than a vertex has edges take no room
        np.testing.assert_array_equal(
            path_distances(graph, "ksd", 10**12), path_distances(graph, "ksd", most)
        )
        np.testing.assert_allclose(ksd_paths(graph, 3, 1)[:, 0], exact[3])


def test_distances_have_a_unit_and_are_infinite_where_no_path_leads(monkeypatch):
    graph = random_graph(4, whole=False)
    for how in ("ksd", "shortest", "greedy"):
        D = path_distances(graph, how, 3)
        np.testing.assert_allclose(path_distances(1e6 * graph, how, 3), 1e6 * D)
        assert (D == D.T).all()
        parts = path_distances(sparse.block_diag([graph, graph], format="csr"), how, 3)
        np.testing.assert_allclose(parts[14:, 14:], D)
        assert np.isinf(parts[:14, 14:]).all()
        monkeypatch.setattr(disjoint_paths, "SLICE", 1)  # one source at a time
        np.testing.assert_array_equal(path_distances(graph, how, 3), D)


def test_nonsense_is_refused():
    for bad in (-1, 5, 0.5, True, "a"):
        with pytest.raises(ValueError, match=f"source={bad!r}, but items are numbered 0 to 4"):
            ksd_paths(TOY, bad, 2)
    with pytest.raises(ParameterError, match="n_paths must be a whole number, at least 1; got 0"):
        ksd_paths(TOY, 0, 0)
    with pytest.raises(ParameterError, match="distance must be 'ksd'"):
        hub_distances(TOY, distance="resistance")
    for bad in ("manhattan", "graph"):
        with pytest.raises(
            ParameterError, match="metric must be 'euclidean', 'cosine' or 'precomputed'; got"
        ):
            knn_graph(np.eye(3), metric=bad)


# ---- graphs -----------------------------------------------------------------------------------------------


def test_neighbours_by_definition():
    X = np.random.default_rng(0).normal(size=(40, 3))
    given = cdist(X, X)
    for k in (1, 4):
        plain = knn_graph(X, k, connect=False)
        edges = np.column_stack(sparse.triu(plain).nonzero())
        assert set(map(tuple, edges.tolist())) == oracle.neighbours(given, k)
        np.testing.assert_allclose(plain.data, given[plain.nonzero()])
        again = knn_graph(given, k, connect=False, metric="precomputed")
        np.testing.assert_allclose(plain.toarray(), again.toarray())
        np.testing.assert_allclose(
            plain.toarray(), knn_graph(sparse.csr_matrix(X), k, connect=False).toarray()
        )
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    np.testing.assert_allclose(knn_graph(X, 4, metric="cosine").toarray(), knn_graph(unit, 4).toarray())
    assert knn_graph(X, 99).nnz == 40 * 39
    assert knn_graph(X[:1]).shape == (1, 1)


def test_bridges_are_the_shortest_ways_out_of_the_smallest_part():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(m, 2)) + place for m, place in ((9, 0), (7, 60), (12, 140))])
    part = np.repeat([0, 1, 2], [9, 7, 12])
    plain, bridged = knn_graph(X, 3, connect=False), knn_graph(X, 3)
    assert connected_components(plain)[0] == 3
    new = sparse.triu(bridged - plain).tocoo()
    assert connected_components(bridged)[0] == 1
    # the part of 7 first, to that of 9, which is nearer; then that of 12 to both
    far = cdist(X, X)
    expected = np.sort(far[part == 1][:, part != 1].ravel())[:3]
    expected = np.append(expected, np.sort(far[part == 2][:, part != 2].ravel())[:3])
    np.testing.assert_allclose(np.sort(new.data), np.sort(expected))
    # the shortest ways out of the smallest part lead to both others, so that no more are needed
    X = np.array([-10.0, -11, -12, -13, -14, -1, 0, 1, 10.4, 11, 12, 13, 14, 15])[:, None]
    added = sparse.triu(knn_graph(X, 2) - knn_graph(X, 2, connect=False)).tocoo()
    assert list(zip(added.row.tolist(), added.col.tolist(), strict=True)) == [(0, 5), (7, 8)]


def test_bridges_against_the_slow_version():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        clumps = [rng.normal(size=(rng.integers(1, 9), 2)) + 30 * rng.normal(size=2) for _ in range(4)]
        X, k = np.concatenate(clumps), int(rng.integers(1, 4))
        expected = oracle.bridged(cdist(X, X), k)
        for given, metric in ((X, "euclidean"), (cdist(X, X), "precomputed")):
            edges = np.column_stack(sparse.triu(knn_graph(given, k, metric=metric)).nonzero())
            assert set(map(tuple, edges.tolist())) == expected


def test_copies_are_a_tiny_length_apart_and_have_no_edge_to_themselves():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    graph = knn_graph(X, 3)
    assert not graph.diagonal().any()
    assert connected_components(graph)[0] == 1
    assert (graph.data > 0).all()
    assert np.sum(graph.data < 1e-10) == 3 * 12
    assert (knn_graph(np.ones((5, 2)), 2).data > 0).all()
    given = knn_graph(cdist(X, X) + 1e-9 * np.eye(12), 3, metric="precomputed")  # what is 0 but for rounding
    np.testing.assert_allclose(given.toarray(), graph.toarray())


def test_lengths_are_read_from_all_forms():
    matrix = read_lengths(TOY)
    net = nx.Graph()
    net.add_weighted_edges_from(TOY)
    dense = matrix.toarray()
    for form in (matrix.tocoo(), dense, dense.tolist(), np.where(dense > 0, dense, np.inf), net, TOY + TOY):
        assert (read_lengths(form).toarray() == dense).all()


def test_zero_is_a_length_but_in_a_table():
    zero = [(0, 1, 0.0), (1, 2, 2.0)]
    whole = [*zero, (0, 2, 2.0)]  # all pairs, and yet no table
    net = nx.Graph()
    net.add_weighted_edges_from(whole)
    for form, m in ((zero, 2), (whole, 3), (tuple(whole), 3), (net, 3), (nx.to_scipy_sparse_array(net), 3)):
        copies = read_lengths(form)
        assert copies.nnz == 2 * m
        assert 0 < copies[0, 1] < 1e-11
    table = [[0.0, 0.0, 3.0], [0.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    rows = [(0.0, 0.0, 3.0, 0.0), (0.0, 0.0, 2.0, 0.0), (3.0, 2.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)]
    for form in (table, np.array(table), tuple(table), rows):
        assert read_lengths(form).nnz == 4


def test_a_length_that_cannot_be_is_named():
    named = [("ann", "bob", 1.0), ("bob", "eve", -2.0)]
    with pytest.raises(ValueError, match="the edge of items bob and eve has the length -2"):
        read_lengths(named, ids=["ann", "bob", "eve"])
    with pytest.raises(ValueError, match="a weight is a number") as told:
        read_lengths([(0, 1, np.nan)])
    assert "direction" not in str(told.value)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ([(0, 1, -2.0), (1, 2, 1.0)], "items 0 and 1 has the length -2"),
        ([(0, 1, np.nan)], "the weight of 0 and 1 is nan; a weight is a number"),
        ([(0, 1, 1.0), (1, 0, 2.0)], "but the weight of 0 and 1 is 1|a pair has one weight"),
        (kneighbors_graph(np.arange(9.0)[:, None] ** 2, 2, mode="distance"), r"graph\.maximum\(graph\.T\)"),
        (sparse.csr_matrix(np.ones((3, 4))), r"must be \(3, 3\)"),
    ],
)
def test_what_is_no_graph_of_lengths_is_refused(graph, words):
    with pytest.raises(ValueError, match=words):
        read_lengths(graph)


# ---- parts and hubs ---------------------------------------------------------------------------------------


def by_formula(graph, found, k):
    """The oracle's distances, for the parts and hubs that were found."""
    plain, n = oracle.graph_of(graph), graph.shape[0]
    parts = [np.flatnonzero(found.part == own).tolist() for own in range(found.part.max() + 1)]
    hub_set = set(found.hub_indices.tolist())
    members, inside = [], []
    for own in parts:
        guests = [h for h in hub_set if h not in own and set(plain[h]) & set(own)]
        every = sorted(own + guests)
        cut = {
            place: {every.index(u): length for u, length in plain[v].items() if u in every}
            for place, v in enumerate(every)
        }
        far = oracle.ksd_distances(cut, k)
        inside.append({(a, b): far[x][y] for x, a in enumerate(every) for y, b in enumerate(every)})
        members.append([h for h in every if h in hub_set])
    return oracle.by_hubs(parts, members, inside, n)


@pytest.mark.parametrize("n_partitions", [2, 4, 8])
def test_shortest_paths_by_way_of_all_hubs_are_exact(n_partitions):
    pytest.importorskip("pymetis")
    graph = knn_graph(load_iris().data, 5)
    found = hub_distances(graph, n_partitions=n_partitions, distance="shortest", random_state=0)
    assert found.part.max() + 1 >= n_partitions
    assert len(found.hub_indices) > 10
    np.testing.assert_allclose(found.distances, path_distances(graph, "shortest", 1), atol=1e-12)


@pytest.mark.parametrize("hubs_per_pair", ["all", 1, 3])
def test_hubs_by_the_formula(hubs_per_pair):
    pytest.importorskip("pymetis")
    graph = knn_graph(np.random.default_rng(3).normal(size=(36, 2)), 3)
    found = hub_distances(graph, 3, n_partitions=3, hubs_per_pair=hubs_per_pair, random_state=0)
    np.testing.assert_allclose(found.distances, by_formula(graph, found, 3))
    assert np.isfinite(found.distances).all()
    exact = path_distances(graph, "shortest", 1)
    some = hub_distances(graph, 1, n_partitions=3, hubs_per_pair=hubs_per_pair, random_state=0).distances
    assert (some >= exact - 1e-12).all()


def test_one_part_is_exact_and_needs_no_metis(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    graph = random_graph(5, whole=False)
    found = hub_distances(graph, 3, n_partitions=1)
    np.testing.assert_allclose(found.distances, path_distances(graph, "ksd", 3))
    assert not len(found.hub_indices)
    with pytest.raises(ImportError, match=r'pip install "coterie\[solvers\]"'):
        hub_distances(graph, 3, n_partitions=2)


def test_parts_that_fall_apart_are_split(monkeypatch):
    """Whoever cuts by turns cuts a path into single vertices; an island stays infinitely far."""

    class Turns:
        Options = staticmethod(lambda **words: None)
        CSRAdjacency = staticmethod(lambda indptr, indices: len(indptr) - 1)

        @staticmethod
        def part_graph(p, n, options):
            return type("Cut", (), {"vertex_part": [v % p for v in range(n)]})

    monkeypatch.setitem(sys.modules, "pymetis", Turns)
    path = [(i, i + 1, 1.0 + i) for i in range(9)] + [(10, 11, 2.0), (11, 12, 3.0)]
    for many in ("all", 1, 2):
        found = hub_distances(path, 2, n_partitions=2, hubs_per_pair=many)
        assert found.part.max() == 12
        exact = path_distances(read_lengths(path), "shortest", 1)
        np.testing.assert_allclose(found.distances, exact)
        assert np.isinf(found.distances[0, 10])


def test_hubs_of_two_parts_are_those_of_high_and_even_degree():
    #      part 0: 0, 1, 2        part 1: 3, 4, 5; vertex 2 has two edges into each
    edges = [(0, 2), (1, 2), (0, 1), (2, 3), (2, 4), (3, 4), (4, 5), (1, 3)]
    graph = read_lengths([(i, j, 1.0) for i, j in edges])
    part = np.array([0, 0, 0, 1, 1, 1])
    arcs = graph.tocoo()
    best = [hubs._hubs(arcs.row, part, part[arcs.col], h).tolist() for h in (1, 2, "all")]
    # degree times evenness: 2 has 4, 1 has 3/2, 3 has 3/2, 4 has 3/2
    assert best == [[2], [1, 2], [1, 2, 3, 4]]
    # 0 has the highest degree, but one of its five edges leads out; 1 has two and one
    part = np.array([0, 0, 0, 0, 0, 1, 1])
    graph = read_lengths(
        [(i, j, 1.0) for i, j in [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 6), (5, 6), (3, 5)]]
    )
    arcs = graph.tocoo()
    # 0: 5 / 4; 1: 3 / 2; 3: 2; 5: 3 / 2; 6: 2
    assert hubs._hubs(arcs.row, part, part[arcs.col], 2).tolist() == [3, 6]


def test_hubs_against_the_slow_version():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        graph = random_graph(seed, n=int(rng.integers(4, 20)), m=int(rng.integers(30)))
        part = np.unique(rng.integers(4, size=graph.shape[0]), return_inverse=True)[1]
        arcs = graph.tocoo()
        for most in (1, 2, 3):
            expected = oracle.best_hubs(oracle.graph_of(graph), part.tolist(), most)
            assert hubs._hubs(arcs.row, part, part[arcs.col], most).tolist() == expected


def test_a_table_is_made_symmetric_in_strips():
    n = 700  # three strips
    graph = read_lengths(np.column_stack([np.arange(n - 1), np.arange(1, n), np.linspace(1, 2, n - 1)]))
    place = np.append(0.0, np.cumsum(np.linspace(1, 2, n - 1)))
    np.testing.assert_allclose(path_distances(graph, "shortest", 1), np.abs(place - place[:, None]))
    given = np.random.default_rng(0).normal(size=(n, n))
    folded = given.copy()
    disjoint_paths.fold(folded, np.minimum)
    np.testing.assert_array_equal(folded, np.minimum(given, given.T))


def test_too_many_items_are_refused_before_any_table_is_made():
    edges = np.column_stack([np.arange(20_000), np.arange(1, 20_001), np.ones(20_000)])
    graph = read_lengths(edges)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"20,001 items are a table of 3\.2 GB; the limit is 20,000"):
            hub_distances(graph)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
