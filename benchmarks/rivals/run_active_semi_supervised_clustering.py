"""active-semi-supervised-clustering: its classes take no first centres, so a subclass gives them.

Iterations are counted by its updates of the centres.
"""

import numpy as np
from active_semi_clustering.exceptions import EmptyClustersException
from active_semi_clustering.semi_supervised import pairwise_constraints
from side import serve


class Started:
    """Put before a class of the rival: the first centres of the race."""

    def _initialize_cluster_centers(self, X, neighborhoods):
        return self.init

    def _get_cluster_centers(self, X, labels):
        self.n_iter += 1
        return super()._get_cluster_centers(X, labels)


def prepare(X, must, cannot, init, settings):
    must, cannot = [tuple(pair) for pair in must.tolist()], [tuple(pair) for pair in cannot.tolist()]
    name = settings.get("method", "PCKMeans")
    method = type(name, (Started, getattr(pairwise_constraints, name)), {})

    def fit(seed):
        np.random.seed(seed)  # noqa: NPY002 - what the rival draws from
        model = method(settings["n_clusters"], w=settings["weight"], max_iter=settings["max_iter"])
        model.init, model.n_iter = init, 0
        try:
            return model.fit(X, ml=must, cl=cannot).labels_, model.n_iter
        except (EmptyClustersException, FloatingPointError):  # it has no answer: counted as a failure
            return None, model.n_iter

    return fit


serve(prepare, ["active-semi-supervised-clustering", "numpy", "scikit-learn"])
