"""Estimators that do as they are told and keep a log, and small data to compare on."""

import time

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from coterie import Constraints

FIGURES = ["score", "error", "must_met", "cannot_met", "n_must", "n_cannot", "n_clusters"]


class Told(ClusterMixin, BaseEstimator):
    """Returns given labels, and notes what it was told; `log` is shared between copies."""

    log = []

    def __init__(self, answer=None, random_state=None):
        self.answer = answer
        self.random_state = random_state

    def fit(self, X, y=None, *, constraints=None):
        Told.log.append((constraints, self.random_state))
        self.labels_ = np.array(self.answer)
        return self


class SlowAtFirst(Told):
    """Takes a second for the first fit, as one that loads compiled code."""

    def fit(self, X, y=None, *, constraints=None):
        time.sleep(0 if Told.log else 1)
        return super().fit(X, y, constraints=constraints)


class Failing(Told):
    """Raises the error that it is given."""

    def __init__(self, answer=None, after=0):
        self.answer = answer
        self.after = after

    def fit(self, X, y=None, *, constraints=None):
        Told.log.append((constraints, None))
        if len(Told.log) > self.after:
            raise self.answer
        self.labels_ = np.zeros(len(X), dtype=int)
        return self


def rows_of(frame):
    return {row["method"]: row for row in frame.to_dict("records")}


def blobs(n_pairs=40, noise=0.0, random_state=0):
    """Three round clusters far from each other, 20 items each."""
    y = np.repeat([0, 1, 2], 20)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[y]
    X = X + np.random.default_rng(random_state).normal(size=(60, 2))
    return X, Constraints.sample(y, n_pairs, noise=noise, random_state=random_state), y
