"""k-means-constrained: it takes first centres, in place, so each fit gets a copy.

With `assign_only` it labels the items for the given centres and does not move them.
"""

import warnings

from k_means_constrained import KMeansConstrained
from side import serve

warnings.simplefilter("ignore", RuntimeWarning)  # numbers too large for its int32 costs


def prepare(X, must, cannot, init, settings):
    given = {name: settings.get(name) for name in ("size_min", "size_max")}

    def fit(seed):
        model = KMeansConstrained(
            settings["n_clusters"],
            init=init.copy(),
            n_init=1,
            max_iter=settings.get("max_iter", 300),
            tol=settings.get("tol", 1e-4),
            random_state=seed,
            **given,
        )
        if settings.get("assign_only"):
            model.cluster_centers_ = init
            return model.predict(X), 1
        try:
            model.fit(X)
        except Exception:  # the flow has no answer: counted as a failure
            return None, 0
        return model.labels_, model.n_iter_

    return fit


serve(prepare, ["k-means-constrained", "ortools", "numpy"])
