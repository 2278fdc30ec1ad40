"""Graphs and weights of every form are read into one matrix; what may be a mistake is refused by place."""

import igraph
import narwhals as nw
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from coterie.adjacency import islands, read_graph, read_weights

EDGES = [(0, 1), (1, 4), (2, 3), (4, 0)]
N = 6
NAMES = ["ant", "bee", "cow", "dog", "elk", "fox"]
NAMED = [(NAMES[i], NAMES[j]) for i, j in EDGES]
DENSE = np.zeros((N, N), dtype=bool)
for _i, _j in EDGES:
    DENSE[_i, _j] = DENSE[_j, _i] = True


def upper(values=1.0):
    """One triangle, as a sparse matrix."""
    i, j = np.array([sorted(edge) for edge in EDGES]).T
    return sparse.coo_array((np.broadcast_to(values, len(EDGES)).copy(), (i, j)), shape=(N, N))


def networkx_of(kind, edges, nodes=()):
    graph = kind()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def igraph_of_names(order):
    graph = igraph.Graph(n=N, edges=[(order.index(i), order.index(j)) for i, j in EDGES])
    graph.vs["name"] = [NAMES[i] for i in order]
    return graph


def lazy(frame):
    return frame.lazy()


BY_ROW = {
    "coo, one triangle": upper(),
    "csr matrix": sparse.csr_matrix(upper()),
    "csc array, the other triangle": sparse.csc_array(upper().T),
    "stored zeros are edges": upper(0.0),
    "negative and large values are edges": upper([-1.0, 2.0, 1e300, 5.0]),
    "given twice": sparse.coo_array(np.vstack([DENSE, DENSE])[:N]),
    "boolean": sparse.csr_array(DENSE),
    "dense": DENSE.astype(float),
    "dense, nested lists": DENSE.astype(int).tolist(),
    "dense, boolean, one triangle": np.triu(DENSE),
    "pairs": EDGES,
    "pairs in a set": set(EDGES),
    "pairs both ways, and with itself": [*EDGES, (1, 0), (3, 3)],
    "array": np.array(EDGES),
    "array, unsigned": np.array(EDGES, dtype=np.uint16),
    "array of whole floats": np.array(EDGES, dtype=float),
    "networkx": networkx_of(nx.Graph, EDGES),
    "networkx, directed": networkx_of(nx.DiGraph, EDGES),
    "networkx, several edges": networkx_of(nx.MultiGraph, EDGES + EDGES),
    "networkx, several directed edges": networkx_of(nx.MultiDiGraph, EDGES + EDGES),
    "networkx, other order of nodes": networkx_of(nx.Graph, EDGES, nodes=[5, 3, 1]),
    "networkx, numbers of NumPy": networkx_of(nx.Graph, [tuple(edge) for edge in np.array(EDGES)]),
    "networkx, a view": nx.subgraph_view(networkx_of(nx.Graph, EDGES)),
    "igraph": igraph.Graph(n=N, edges=EDGES),
    "igraph, fewer vertices": igraph.Graph(edges=EDGES),
    "igraph, directed": igraph.Graph(n=N, edges=EDGES, directed=True),
    "igraph, names are no ids here": igraph_of_names(list(range(N))),
    "pandas": pd.DataFrame(EDGES, columns=["i", "j"]),
    "pandas, two unnamed columns": pd.DataFrame(EDGES),
    "pandas, nullable": pd.DataFrame(EDGES, columns=["i", "j"], dtype="Int64"),
    "polars": pl.DataFrame(EDGES, schema=["source", "target"], orient="row"),
    "polars, lazy": lazy(pl.DataFrame(EDGES, schema=["source", "target"], orient="row")),
    "pyarrow": pa.table({"i": [i for i, _ in EDGES], "j": [j for _, j in EDGES], "km": [1.5, None, 2, 3]}),
    "narwhals": nw.from_native(pd.DataFrame(EDGES, columns=["a", "b"])),
    "Gephi's header, with other columns": pd.DataFrame(EDGES, columns=["Source", "Target"]).assign(Weight=1),
    "i and j before source": pd.DataFrame(EDGES, columns=["i", "j"]).assign(source="me", target="x"),
}

BY_ID = {
    "pairs": NAMED, "array": np.array(NAMED), "networkx": networkx_of(nx.Graph, NAMED),
    "igraph, in order": igraph_of_names(list(range(N))),
    "igraph, in another order": igraph_of_names([3, 1, 5, 0, 2, 4]),
    "igraph without names: by number": igraph.Graph(n=N, edges=EDGES),
    "pandas": pd.DataFrame(NAMED, columns=["from", "to"]),
    "polars": pl.DataFrame(NAMED, schema=["i", "j"], orient="row"), "matrices are by row": upper(),
}  # fmt: skip


def check(found, expected=DENSE):
    assert isinstance(found, sparse.csr_array)
    assert found.dtype == bool
    assert found.has_canonical_format  # sorted, nothing twice
    assert found.data.all()  # nothing stored that is no edge
    assert (found.toarray() == expected).all()


@pytest.mark.parametrize("form", BY_ROW)
def test_every_form_by_row_number(form):
    check(read_graph(BY_ROW[form], N))


@pytest.mark.parametrize("form", BY_ID)
def test_every_form_by_id(form):
    check(read_graph(BY_ID[form], N, ids=NAMES))


def test_ids_that_are_numbers():
    ids = [10, 20, 30, 40, 50, 60]
    check(read_graph(np.array(EDGES) * 10 + 10, N, ids=ids))
    check(read_graph(networkx_of(nx.Graph, (np.array(EDGES) * 10 + 10).tolist()), N, ids=np.array(ids)))


def test_a_stored_false_is_no_edge():
    values = np.array([True, False, True, True])
    expected = upper().toarray().astype(bool)
    i, j = sorted(EDGES[1])
    expected[i, j] = False
    check(read_graph(upper(values), N), expected | expected.T)


def test_two_items():
    joined = np.array([[False, True], [True, False]])
    check(read_graph([[0, 1], [0, 0]], 2), joined)
    check(read_graph(np.eye(2), 2), ~joined & joined)  # the matrix, not the edges 1-0 and 0-1
    check(read_graph([("a", "b"), ("b", "a")], 2, ids=["a", "b"]), joined)
    check(read_graph([(0, 1)], 2), joined)


@pytest.mark.parametrize(
    "graph", [[], np.empty((0, 2)), nx.Graph(), igraph.Graph(), pd.DataFrame({"i": [], "j": []})]
)
def test_no_edge_at_all(graph):
    check(read_graph(graph, 3), np.zeros((3, 3), dtype=bool))


def test_no_items():
    assert read_graph([], 0).shape == (0, 0)
    assert islands(read_graph([], 0))[0] == 0


def test_a_function_of_the_data(seed):
    X = np.random.default_rng(seed).normal(size=(20, 2))
    near = kneighbors_graph(X, 3).toarray() > 0
    check(read_graph(lambda X: kneighbors_graph(X, 3), 20, X=X), near | near.T)


def test_what_was_handed_in_is_left_alone():
    matrix = sparse.csr_array(upper().T + sparse.eye_array(N))
    before = matrix.copy()
    read_graph(matrix, N)
    assert (matrix.data == before.data).all()
    assert (matrix.indices == before.indices).all()


def test_a_large_list_of_edges():
    n = 200_000
    way = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    found = read_graph(way, n)
    assert found.nnz == 2 * (n - 1)
    assert islands(found)[0] == 1


def test_islands_are_numbered_by_first_appearance(seed):
    rng = np.random.default_rng(seed)
    graph = read_graph(rng.integers(0, 60, size=(35, 2)), 60)
    n_islands, labels = islands(graph)
    parts = list(nx.connected_components(nx.from_scipy_sparse_array(graph)))
    assert n_islands == len(parts)
    for number, part in enumerate(sorted(parts, key=min)):
        assert set(np.flatnonzero(labels == number)) == part


REFUSED = {
    "wrong size": (sparse.eye_array(5), r"shape \(5, 5\), but there are 6 items"),
    "not square": (sparse.csr_array((6, 4)), r"shape \(6, 4\)"),
    "NaN stored": (upper([1, np.nan, 1, 1]), r"entry \(1, 4\) of the graph is nan"),
    "NaN in a dense matrix": (np.where(DENSE, np.nan, 0), r"entry \(0, 1\) of the graph is nan"),
    "infinite": (np.where(DENSE, 1, np.inf), r"entry \(0, 0\) of the graph is inf.*0 in a dense one"),
    "dense, wrong size": (np.eye(5), r"array of shape \(5, 5\).*shape \(6, 6\)"),
    "three numbers a row": ([(0, 1, 0.5), (1, 2, 0.5)], "edge 0 of the graph is .*Leave weights out"),
    "rows of different lengths": ([(0, 1), (1,)], r"edge 1 of the graph is \(1,\)"),
    "numbers, no pairs": ([3, 4], "edge 0 of the graph is 3"),
    "out of range": ([(0, 1), (2, 6)], "edge 1 of the graph names item 6: items are numbered 0 to 5"),
    "below 0": (np.array([(0, 1), (-1, 2)]), "edge 1 of the graph names item -1"),
    "not whole": (np.array([(0, 1), (2, 2.5)]), "edge 1 of the graph names 2.5, which is no row number"),
    "too large": ([(0, 10**400)], "edge 0 of the graph names item 1000"),
    "true is no row": ([(0, True)], "edge 0 of the graph names True"),
    "names without ids": (NAMED, "edge 0 of the graph names 'ant'.*ids=ids"),
    "nodes without ids": (networkx_of(nx.Graph, NAMED), "node 0 names 'ant'.*ids=ids"),
    "a node too many": (networkx_of(nx.Graph, [*EDGES, (5, 6)]), "names item 6"),
    "too many vertices": (igraph.Graph(n=7), "7 vertices, but there are 6 items"),
    "a gap in a frame": (pd.DataFrame({"i": [0, 1], "j": [1, None]}), "row 1 of the graph lacks an item"),
    "columns that say nothing": (pd.DataFrame({"a": [0], "b": [1], "w": [2]}), "has the columns a, b, w"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_place(case):
    graph, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        read_graph(graph, N)


UNKNOWN = {
    "pairs": ([*NAMED, ("ant", "foxx")], "edge 4 of the graph: unknown id 'foxx'.*mean 'fox'"),
    "frame": (pd.DataFrame({"i": ["ant"], "j": ["emu"]}), "row 0 of the graph: unknown id 'emu'"),
    "networkx": (networkx_of(nx.Graph, [("ant", "emu")]), "node 1: unknown id 'emu'.*leave out"),
    "numbers for text": ([(0, 1)], "unknown id 0"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_ids(case):
    graph, message = UNKNOWN[case]
    with pytest.raises(ValueError, match=message):
        read_graph(graph, N, ids=NAMES)


def test_an_unknown_vertex_name():
    graph = igraph_of_names(list(range(N)))
    graph.vs[2]["name"] = "emu"
    with pytest.raises(ValueError, match="vertex 2 of the graph: unknown id 'emu'"):
        read_graph(graph, N, ids=NAMES)


@pytest.mark.parametrize("graph", ["edges.csv", None, 3, {0: [1, 2]}, np.full((N, N), "x")])
def test_no_graph_at_all(graph):
    with pytest.raises((TypeError, ValueError), match="graph"):
        read_graph(graph, N)


def test_a_function_without_data_or_answer():
    with pytest.raises(ValueError, match="there is no X here"):
        read_graph(lambda X: X, N)
    with pytest.raises(TypeError, match="it returned None"):
        read_graph(lambda X: None, N, X=np.zeros((N, 2)))


def test_as_many_ids_as_items():
    with pytest.raises(ValueError, match="5 ids, but 6 items"):
        read_graph(EDGES, N, ids=NAMES[:5])


# ---- weights -------------------------------------------------------------------------------------------

WEIGHTS = [2.5, -1.0, 0.0, -np.inf]
TRIPLES = [(i, j, w) for (i, j), w in zip(EDGES, WEIGHTS, strict=True)]
NAMED_TRIPLES = [(i, j, w) for (i, j), w in zip(NAMED, WEIGHTS, strict=True)]
WEIGHED = np.zeros((N, N))
for _i, _j, _w in TRIPLES:
    WEIGHED[_i, _j] = WEIGHED[_j, _i] = _w


def both_ways(dtype=np.float64, n_times=1):
    i, j, w = zip(*n_times * TRIPLES, *((j, i, w) for i, j, w in n_times * TRIPLES), strict=True)
    return sparse.coo_array((np.array(w).astype(dtype) / n_times, (i, j)), shape=(N, N))


def igraph_of_weights(order=range(N)):
    graph = igraph_of_names(list(order))
    graph.es["weight"] = WEIGHTS
    return graph


def weighed_networkx(kind, edges, nodes=()):
    graph = kind()
    graph.add_nodes_from(nodes)
    graph.add_weighted_edges_from(edges)
    return graph


WEIGHED_BY_ROW = {
    "csr matrix": sparse.csr_matrix(both_ways()),
    "csc, float32": sparse.csc_array(both_ways(np.float32)),
    "coo, entries that add up": both_ways(n_times=2),
    "triples": TRIPLES,
    "triples as lists": [list(row) for row in TRIPLES],
    "triples both ways, twice, and with itself": [*TRIPLES, (1, 0, 2.5), (0, 1, 2.5), (3, 3, np.nan)],
    "array": np.array(TRIPLES),
    "networkx": weighed_networkx(nx.Graph, TRIPLES),
    "networkx, other order of nodes": weighed_networkx(nx.Graph, TRIPLES, nodes=[5, 3, 1]),
    "networkx, both directions": weighed_networkx(nx.DiGraph, [*TRIPLES, (1, 0, 2.5)]),
    "networkx, several edges": weighed_networkx(nx.MultiGraph, TRIPLES + TRIPLES),
    "igraph": igraph_of_weights(),
    "pandas": pd.DataFrame(TRIPLES, columns=["i", "j", "weight"]),
    "pandas, the other two columns": pd.DataFrame(TRIPLES, columns=["from", "to", "Weight"]),
    "polars": pl.DataFrame(TRIPLES, schema=["source", "target", "weight"], orient="row"),
    "polars, lazy": lazy(pl.DataFrame(TRIPLES, schema=["source", "target", "weight"], orient="row")),
}
WEIGHED_BY_ID = {
    "triples": NAMED_TRIPLES,
    "networkx": weighed_networkx(nx.Graph, NAMED_TRIPLES),
    "igraph, in another order": igraph_of_weights([3, 1, 5, 0, 2, 4]),
    "polars": pl.DataFrame(NAMED_TRIPLES, schema=["i", "j", "weight"], orient="row"),
    "matrices are by row": both_ways(),
}


def check_weights(found, expected=WEIGHED, n_stored=8):
    assert isinstance(found, sparse.csr_array)
    assert (found.dtype, found.nnz) == (np.float64, n_stored)  # zeros are kept, nothing on the diagonal
    assert found.has_canonical_format
    assert (found.toarray() == expected).all()


@pytest.mark.parametrize("form", WEIGHED_BY_ROW)
def test_weights_of_every_form_by_row_number(form):
    check_weights(read_weights(WEIGHED_BY_ROW[form], N))


@pytest.mark.parametrize("form", WEIGHED_BY_ID)
def test_weights_of_every_form_by_id(form):
    check_weights(read_weights(WEIGHED_BY_ID[form], ids=NAMES))
    check_weights(read_weights(WEIGHED_BY_ID[form], N, ids=NAMES))


@pytest.mark.parametrize("form", WEIGHED_BY_ROW)
def test_how_many_items_there_are_changes_nothing_else(form):
    found = read_weights(WEIGHED_BY_ROW[form])
    n = found.shape[0]
    assert n in (5, N)  # item 5 has no edge: matrices and vertices count it
    check_weights(found, WEIGHED[:n, :n])


def test_a_dense_matrix_states_all_pairs(seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-1, 2, size=(7, 7)).astype(float)
    dense = np.triu(dense, 1) + np.triu(dense, 1).T
    for given in (dense + 3 * np.eye(7), dense.astype(int).tolist(), dense.astype(np.float32)):
        check_weights(read_weights(given), dense, 42)
    check_weights(read_weights(dense * (1 + 1e-12 * np.tri(7))), dense, 42)  # rounding


def test_nodes_with_names_are_the_items():
    graph = nx.les_miserables_graph()
    expected = nx.to_numpy_array(graph)
    check_weights(read_weights(graph), expected, 2 * graph.number_of_edges())
    check_weights(read_weights(graph, ids=list(graph)), expected, 2 * graph.number_of_edges())
    grid = nx.grid_2d_graph(3, 4)  # no weights: each edge weighs 1
    check_weights(read_weights(grid), nx.to_numpy_array(grid), 2 * grid.number_of_edges())


def test_edges_without_a_weight():
    check_weights(read_weights(igraph.Graph(n=N, edges=EDGES)), DENSE)
    some = igraph.Graph(n=2, edges=[(0, 1)])
    some.es["weight"] = [None]
    check_weights(read_weights(some), [[0, 1], [1, 0]], 2)


def test_three_items():
    square = np.array([[0, 1, 2], [1, 0, -3], [2, -3, 0]])
    check_weights(read_weights(square), square, 6)
    check_weights(read_weights(square.tolist(), 3), square, 6)
    check_weights(read_weights([(0, 1, 1), (0, 2, 2), (1, 2, -3)]), square, 6)
    check_weights(read_weights([["a", "b", 1], ["a", "c", 2], ["b", "c", -3]], ids=list("abc")), square, 6)


@pytest.mark.parametrize("graph", [[], np.empty((0, 3)), nx.Graph(), igraph.Graph()])
def test_no_weights_at_all(graph):
    assert read_weights(graph).shape == (0, 0)
    check_weights(read_weights(graph, 3), np.zeros((3, 3)), 0)


def test_weights_that_were_handed_in_are_left_alone():
    matrix = sparse.csr_array(both_ways() + sparse.eye_array(N))
    before = matrix.copy()
    read_weights(matrix).data[:] = 7.0
    assert (matrix.data == before.data).all()
    assert (matrix.indices == before.indices).all()


def changed(matrix, i, j, value):
    matrix = np.array(matrix)
    matrix[i, j] = value
    return matrix


REFUSED_WEIGHTS = {
    "asymmetric": (changed(changed(WEIGHED, 3, 5, 1.0), 5, 3, 2.0),
                   r"X\[3, 5\] is 1, but X\[5, 3\] is 2; a pair has one weight"),
    "one triangle": (upper(), r"X\[1, 0\] is 0, but X\[0, 1\] is 1"),
    "infinite and not": (changed(WEIGHED, 0, 1, np.inf), r"X\[0, 1\] is inf, but X\[1, 0\] is 2.5"),
    "infinite both ways": (changed(WEIGHED, 0, 4, np.inf), r"X\[0, 4\] is inf, but X\[4, 0\] is -inf"),
    "NaN": (changed(WEIGHED, 2, 3, np.nan), r"X\[2, 3\] is nan; a weight is a number"),
    "not square": (np.zeros((6, 4)), r"array of shape \(6, 4\); give edges of shape \(m, 3\), or a matrix"),
    "sparse, not square": (sparse.csr_array((6, 4)), r"shape \(6, 4\)"),
    "no numbers": (np.full((6, 6), "x"), "holds <U1 values"),
    "complex": (np.full((6, 6), 1j), "holds complex128 values"),
    "a pair twice": ([*TRIPLES, (0, 1, 3)], "weight of 1 and 0 is 2.5, but the weight of 0 and 1 is 3"),
    "a pair without a number": ([(0, 1, 1), (1, 2, None)], "the weight of 1 and 2 is nan"),
    "a word": ([(0, 1, 1), (1, 2, "much")], "edge 1 of the graph has the weight 'much'"),
    "pairs": (EDGES, r"edge 0 of the graph is \(0, 1\): an edge is a pair of items and its weight"),
    "below 0": ([(0, 1, 1), (-1, 2, 1)], "edge 1 of the graph names item -1"),
    "ids without ids": (NAMED_TRIPLES, r"edge 0 of the graph names 'ant'.*read_weights\(graph, ids=ids\)"),
    "an id for a number": ([(0, 10**12, 1)], "edge 0 of the graph names item 1000000000000.*ids=ids"),
    "no column of weights": (pd.DataFrame(EDGES, columns=["i", "j"]), "columns i, j; none is called weight"),
    "no columns of items": (pd.DataFrame({"a": [0], "b": [1], "c": [1], "weight": [2]}), "name the two ends"),
    "two directions": (weighed_networkx(nx.DiGraph, [*TRIPLES, (1, 0, 2)]), "is 2.5, but .* is 2"),
    "several edges": (weighed_networkx(nx.MultiGraph, [*TRIPLES, (0, 1, 2)]), "is 2.5, but .* is 2"),
    "a file": ("scores.csv", "the graph is 'scores.csv'; give .* triples"),
    "a function": (lambda X: X, "the graph is <function"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_WEIGHTS)
def test_weights_refused_with_the_pair(case):
    graph, message = REFUSED_WEIGHTS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        read_weights(graph)


def test_pairs_are_named_by_the_ids():
    with pytest.raises(
        ValueError, match=r"weight of 'bee' and 'ant' is 2.5, but the weight of 'ant' and 'bee' is 3"
    ):
        read_weights([*NAMED_TRIPLES, ("ant", "bee", 3)], ids=NAMES)
    with pytest.raises(ValueError, match=r"edge 4 of the graph: unknown id 'foxx'.*mean 'fox'"):
        read_weights([*NAMED_TRIPLES, ("ant", "foxx", 3)], ids=NAMES)
    with pytest.raises(ValueError, match=r"shape \(6, 6\), but there are 5 items"):
        read_weights(both_ways(), 5)


def test_weights_against_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        rows = [tuple(row) for row in rng.integers(0, 5, size=(rng.integers(0, 9), 3)).tolist()]
        stated: dict = {}
        for i, j, weight in rows:
            if i != j:
                stated.setdefault(frozenset((i, j)), set()).add(weight)
        if any(len(numbers) > 1 for numbers in stated.values()):
            with pytest.raises(ValueError, match="a pair has one weight"):
                read_weights(rows, 5)
            continue
        expected = np.zeros((5, 5))
        for (i, j), (weight,) in ((sorted(pair), numbers) for pair, numbers in stated.items()):
            expected[i, j] = expected[j, i] = weight
        check_weights(read_weights(rows, 5), expected, 2 * len(stated))
