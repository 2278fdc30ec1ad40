"""spopt: the last column of X is the load, `init` holds edges. No labels where the CPU time is not enough."""

import signal

import libpysal
import numpy as np
import pandas as pd
from side import serve
from spopt.region import MaxPHeuristic


class OutOfTime(Exception):
    """The limit is reached."""


def stop(number, frame):
    raise OutOfTime


def prepare(X, must, cannot, init, settings):
    near = {i: [] for i in range(len(X))}
    for i, j in init.tolist():
        near[i].append(j)
        near[j].append(i)
    weights = libpysal.weights.W(near)
    names = [f"x{f}" for f in range(X.shape[1] - 1)]
    table = pd.DataFrame(X, columns=[*names, "load"])

    def fit(seed):
        np.random.seed(seed)  # noqa: NPY002 - it draws from there
        model = MaxPHeuristic(table, weights, names, "load", settings["floor"], top_n=2, **settings["search"])
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, settings["limit_s"])
        try:
            model.solve()
        except OutOfTime:
            return None, 1
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        return np.array(model.labels_) - 1, 1

    return fit


serve(prepare, ["spopt", "libpysal", "numpy"])
