"""correlation-clustering: `init` holds edges and their weights. Its processes run in turn, to be counted."""

import networkx
import numpy as np
from correlation_clustering import correlation
from side import serve


class Pool:
    """Stands in for a pool of processes, whose CPU time would not be ours."""

    def __init__(self, n):
        pass

    def starmap(self, function, jobs):
        """One job after the other."""
        return [function(*job) for job in jobs]

    def close(self):
        """Nothing is open."""


correlation.mp.Pool = Pool


def prepare(X, must, cannot, init, settings):
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(X)))
    graph.add_weighted_edges_from((int(i), int(j), w) for i, j, w in init)

    def fit(seed):
        clusters, _ = correlation.cluster_correlation_search(graph, rng=np.random.default_rng(seed))
        labels = np.empty(len(X), dtype=np.int64)
        for number, items in enumerate(clusters):
            labels[list(items)] = number
        return labels, 1

    return fit


serve(prepare, ["correlation_clustering", "networkx", "numpy", "scipy"])
