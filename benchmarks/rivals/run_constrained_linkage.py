"""constrained-linkage: pairs are prices in an n x n matrix, added to distances; it promises no pair.

It gets a square matrix of distances, which it reads faster than a condensed one. There are no iterations: a
fit counts as one.
"""

import numpy as np
from constrained_linkage import constrained_linkage
from scipy.cluster.hierarchy import fcluster
from scipy.spatial.distance import pdist, squareform
from side import serve


def prepare(X, must, cannot, init, settings):
    def fit(seed):
        distances = squareform(pdist(X))
        prices = np.zeros_like(distances)
        for pairs, price in ((must, -settings["weight"]), (cannot, settings["weight"])):
            prices[pairs[:, 0], pairs[:, 1]] = prices[pairs[:, 1], pairs[:, 0]] = price
        tree = constrained_linkage(
            distances, settings["linkage"], constraint_matrix=prices, normalize_distances=True
        )
        return fcluster(tree, settings["n_clusters"], "maxclust") - 1, 1

    return fit


serve(prepare, ["constrained-linkage", "scipy", "numpy"])
