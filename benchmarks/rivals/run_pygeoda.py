"""pygeoda: the last column of X is the load, `init` holds edges; most regions of a least load."""

import tempfile
from pathlib import Path

import numpy as np
import pygeoda
from side import serve


def read_edges(n, edges):
    """Weights by way of a file, the only door for a graph without shapes."""
    near = [[] for _ in range(n)]
    for i, j in edges.tolist():
        near[i].append(j + 1)
        near[j].append(i + 1)
    lines = [f"0 {n} areas id"]
    for i, own in enumerate(near):
        lines += [f"{i + 1} {len(own)}", " ".join(map(str, own))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "areas.gal"
        path.write_text("\n".join(lines) + "\n")
        return pygeoda.read_gal(str(path), [str(i + 1) for i in range(n)])


def prepare(X, must, cannot, init, settings):
    weights = read_edges(len(X), init)
    columns, load = X[:, :-1].T.tolist(), X[:, -1].tolist()

    def fit(seed):
        found = pygeoda.maxp_greedy(
            weights,
            columns,
            load,
            settings["floor"],
            iterations=settings["iterations"],
            random_seed=seed + 1,
            cpu_threads=1,
        )
        return np.array(found["Clusters"]) - 1, 1

    return fit


serve(prepare, ["pygeoda", "numpy"])
