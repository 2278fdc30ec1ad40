"""Our side of a race. The time includes building the constraints, since the rivals build theirs in `fit`."""

import warnings

from side import serve

import coterie
from coterie import Constraints
from coterie.exceptions import ViolatedConstraintsWarning

warnings.simplefilter("ignore", ViolatedConstraintsWarning)  # the race counts them itself


def prepare(X, must, cannot, init, settings):
    method = getattr(coterie, settings["method"])
    given = dict(settings["parameters"])
    if settings["n_clusters"] is None:

        def learn(seed):
            model = method(**given).fit(X, constraints=Constraints(must, cannot, n_items=len(X)))
            return model.metric_, getattr(model, "n_iter_", 1)

        return learn
    if init is not None:
        given["init"] = init

    def fit(seed):
        known = Constraints(must, cannot, n_items=len(X))
        model = method(settings["n_clusters"], n_init=1, random_state=seed, **given)
        try:
            model.fit(X, constraints=known)
        except RuntimeError:  # a dead end, or not decided: counted as a failure
            return None, 0
        return model.labels_, model.n_iter_

    return fit


serve(prepare, ["coterie", "numpy", "scikit-learn", "numba"])
