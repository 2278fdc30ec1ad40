"""bioimage-cpp: `init` holds edges and their weights; Kernighan-Lin begins with its greedy contraction."""

import numpy as np
from bioimage_cpp.graph import UndirectedGraph
from bioimage_cpp.graph.multicut import KernighanLinMulticut, MulticutObjective
from side import serve


def prepare(X, must, cannot, init, settings):
    graph = UndirectedGraph(len(X))
    graph.insert_edges(init[:, :2].astype(np.uint64))

    def fit(seed):
        found = KernighanLinMulticut().optimize(MulticutObjective(graph, init[:, 2]))
        return found.astype(np.int64), 1

    return fit


serve(prepare, ["bioimage-cpp", "numpy"])
