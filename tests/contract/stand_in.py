"""Stands in for `CorrelationClustering` in the tests of the face until it is there; then this file goes."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from coterie.adjacency import read_weights
from coterie.base import About, ConstrainedClusterMixin, Section, anything, constrained_fit, real
from coterie.constraints import Constraints
from coterie.graph._correlation import improve_partition
from coterie.graph._correlation.signed_graph import signed_graph


class CorrelationClustering(ConstrainedClusterMixin, BaseEstimator):
    """The search from single items; hard constraints hold, soft ones are not looked at."""

    about = About(what="goes against the least of given scores", when="scores alone", source="chapter 13")
    wants = "weights"
    parameter_rules: ClassVar = {
        "n_clusters": anything("None or a number"),
        "default": real(),
        "n_init": anything("a number"),
        "random_state": anything("a seed"),
    }

    def __init__(self, n_clusters=None, *, default=0.0, n_init="auto", random_state=None):
        self.n_clusters = n_clusters
        self.default = default
        self.n_init = n_init
        self.random_state = random_state

    @constrained_fit
    def fit(self, X, y=None, *, constraints=None):
        """Fit."""
        X, known = self._begin_fit(X, constraints, accept_sparse="csr", ensure_all_finite=False)
        weights = sparse.csr_matrix(read_weights(X))
        graph = signed_graph(weights, self.default, known.only_hard())
        label, rng = np.arange(graph.n), np.random.default_rng(self.random_state)
        label, cost = improve_partition(graph.level, label, rng, 0.0, graph.cost(label))
        label = np.unique(label, return_inverse=True)[1]
        while self.n_clusters is not None and label.max() + 1 > self.n_clusters:  # legal without constraints
            label[label == label.max()] -= 1
        self.labels_ = np.unique(label[graph.unit], return_inverse=True)[1]
        everything = signed_graph(weights, self.default, Constraints(n_items=len(self.labels_)))
        self.objective_ = self.disagreements_ = everything.cost(self.labels_)
        self.n_iter_, self.converged_, self.history_, self._weights = 1, True, np.array([cost]), weights
        return self

    def disputed(self, n=10):
        """The dearest pairs."""
        i, j, weight = sparse.find(sparse.triu(self._weights, 1))
        same = self.labels_[i] == self.labels_[j]
        broken = np.flatnonzero(same == (weight < 0))
        names = np.arange(len(self.labels_)) if self.constraints_.ids is None else self.constraints_.ids
        order = broken[np.argsort(-np.abs(weight[broken]), kind="stable")][:n]
        return [(names[i[at]], names[j[at]], weight[at], "joined" if same[at] else "parted") for at in order]

    def account(self):
        """With the disputes."""
        listed = tuple(f"{a} and {b}: {weight:+.4g}, {what}" for a, b, weight, what in self.disputed(12))
        told = Section("scores", "Scores", f"Cost {self.objective_:.6g}.", heading="Disputes", listed=listed)
        figures = {"disagreements": self.disagreements_}
        return replace(super().account(), trace=None, sections=(told,), figures=figures)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.pairwise = True
        return tags
