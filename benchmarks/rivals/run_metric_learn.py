"""metric-learn: its MMC is Xing's metric and takes pairs of rows; its RCA takes the chunklet of each item.

What it takes is made outside the time of a fit. RCA makes no iterations: a fit counts as one.
"""

import warnings

import numpy as np
from metric_learn import MMC, RCA
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from side import serve

warnings.simplefilter("ignore", FutureWarning)  # how it calls scikit-learn, told in every fit


def chunklets(must, n):
    links = coo_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    number = connected_components(links, directed=False)[1]
    number[np.bincount(number)[number] == 1] = -1
    return np.unique(number, return_inverse=True)[1] - (-1 in number)


def prepare(X, must, cannot, init, settings):
    pairs = X[np.concatenate([must, cannot])]
    kind = np.repeat([1, -1], [len(must), len(cannot)])
    chunks = chunklets(must, len(X))

    def mmc(seed):
        model = MMC(random_state=seed).fit(pairs, kind)
        return model.get_mahalanobis_matrix(), model.n_iter_

    def rca(seed):
        return RCA().fit(X, chunks).get_mahalanobis_matrix(), 1

    return {"MMC": mmc, "RCA": rca}[settings["method"]]


serve(prepare, ["metric-learn", "numpy", "scikit-learn"])
