"""Random small graphs with rows, some in several islands."""

import numpy as np

from coterie.adjacency import read_graph
from tests.oracles import connected as oracle


def random_problem(seed, n=9, k=3, d=2):
    """Rows, edges, their neighbours and the graph; every third one is torn into islands, k at most."""
    rng = np.random.default_rng(seed)
    n_islands = int(rng.integers(1, k + 1)) if seed % 3 == 0 else 1
    at = np.sort(np.concatenate([np.arange(n_islands), rng.integers(n_islands, size=n - n_islands)]))
    edges = []
    for island in range(n_islands):
        items = rng.permutation(np.flatnonzero(at == island))
        edges += [(items[i], items[rng.integers(i)]) for i in range(1, len(items))]
        more = rng.choice(items, size=(int(rng.integers(0, n)), 2))
        edges += [(i, j) for i, j in more if i != j]
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    X = rng.normal(size=(n, d))
    return X, edges, oracle.neighbours(n, edges.tolist()), read_graph(edges, n)
