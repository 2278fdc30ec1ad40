"""leidenalg: `init` holds edges and their weights; what pairs that are not listed weigh is the resolution."""

import igraph
import leidenalg
import numpy as np
from side import serve


def prepare(X, must, cannot, init, settings):
    default = settings["default"]
    graph = igraph.Graph(n=len(X), edges=init[:, :2].astype(int).tolist())
    weights = (init[:, 2] - default).tolist()

    def fit(seed):
        found = leidenalg.find_partition(
            graph,
            leidenalg.CPMVertexPartition,
            weights=weights,
            resolution_parameter=-default,
            n_iterations=-1,
            seed=seed,
        )
        return np.array(found.membership), 1

    return fit


serve(prepare, ["leidenalg", "igraph", "numpy"])
