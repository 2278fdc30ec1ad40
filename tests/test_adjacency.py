"""Graphs of every kind are read into one matrix, and what may be a mistake is refused by its place."""

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

from coterie.adjacency import islands, read_graph

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
