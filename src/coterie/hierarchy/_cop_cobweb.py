"""COP-COBWEB: concept formation by category utility, in which every stated pair holds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from coterie.base import (
    About,
    Account,
    ConstrainedClusterMixin,
    Trace,
    anything,
    constrained_fit,
    instance,
    one_of,
    progress,
    real,
    whole,
)
from coterie.constraints import Constraints
from coterie.hierarchy._cobweb.category_utility import category_utility
from coterie.hierarchy._cobweb.columns import nominal_mask, read_columns
from coterie.hierarchy._cobweb.state import (
    ConceptTree,
    Floats,
    Index,
    Items,
    no_tree,
    read_statements,
    with_more_room,
)
from coterie.hierarchy._cobweb.tree import place
from coterie.hierarchy._linkage.tree import by_appearance, by_label

# In units of the feature's standard deviation. A number without any spread then counts as much as a nominal
# value that is certain: 1 / (2 sqrt(pi) acuity) = 1.
AUTO_ACUITY = 1.0 / (2.0 * math.sqrt(math.pi))
# Nodes to begin with; steps of the compiled loop between two looks at the keyboard, some tenths of a second.
_FIRST_NODES, _STEPS = 64, 50_000_000
# Lines of progress in a fit.
_LINES = 100


class COPCobweb(ConstrainedClusterMixin, BaseEstimator):
    """COBWEB under constraints: nominal and numeric attributes, and no number of clusters to choose.

    The items come one by one. Each is put where the category utility of the clusters is highest: into a
    cluster (*add*), into one of its own (*new*), into the union of the two best clusters for it (*merge*), or
    into a part of the best one, which falls apart (*split*). Only what no constraint forbids is considered,
    and an item that is must-linked to one placed before goes where that one is. So all constraints hold, of
    any kind and weight, and there is no dead end: a cluster of its own is always legal.

    Parameters
    ----------
    categorical_features : None, or array of bool, int or str
        The nominal columns: a mask, column numbers, or names where X is a frame. They may hold anything that
        can be compared (strings, booleans, numbers). All others are numbers. None: all are numbers.
    acuity : float or "auto", default "auto"
        The smallest standard deviation of a number that counts; what differs less is the same. A number is in
        the unit of the features, the same for all, so that the labels depend on their units, and one as large
        as the standard deviations of the features leaves nothing to tell apart. "auto" measures every feature
        by its own standard deviation and takes 1 / (2 sqrt(pi)), 0.28 of it: so a number can say as much as a
        nominal attribute.
    shuffle : bool, default False
        Take the items in random order instead of that of the rows. The order matters.
    verbose : int, default 0
        1: show a bar; 2: print a line for every hundredth of the items.
    random_state : int, RandomState or None
        Seed of the order.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each item, numbered in the order of the labels that are known, then by first appearance.
    n_clusters_ : int
        Number of clusters.
    category_utility_ : float
        Category utility of the clusters; 0 for a single one.
    acuity_ : array of shape (n_features,)
        The smallest standard deviation that counted, in the unit of each feature; NaN for nominal ones.
    parents_ : array of shape (n_nodes,)
        The tree of concepts: the node above each. Node 0 is the root (-1); cluster h is node h + 1; the nodes
        below follow, level by level.
    leaves_ : array of shape (n_samples,)
        The node of the tree in which each item lies.
    objective_, history_
        Minus the category utility, at the end and after each item. It goes up and down, since every item
        changes what is to be explained.
    n_iter_, converged_
        The number of items placed, and True.
    violations_
        Empty: all constraints hold.

    See Also
    --------
    ConstrainedLinkage : merges by distance; independent of the order of the items.
    COPKMeans : where the number of clusters is known and all features are numbers.

    Notes
    -----
    COBWEB keeps a tree, and so does this: an item that a cluster takes is sorted into the parts of the
    cluster in the same way, level by level, and these are the parts into which a split takes it. A merge puts
    a node above two. A node in which nothing can be told apart (one value in each nominal attribute, no
    spread above the acuity) is a leaf. A must-link component lies in one leaf, so that no split parts it, and
    only the top level, the clusters, has to look at what is apart. All four options are scored as partitions
    of the same items, the new one included: in a split it goes to the best of the parts. Of options that
    score the same, the first in the order of the first paragraph is taken, then the lowest cluster.

    Category utility divides by the number of clusters. Where each feature tells one cluster from the rest, as
    in three blobs at the corners of a right angle, two clusters score as much as three.

    An item costs its attributes times the children of the nodes on its way down. Where clusters are few, this
    is O(n k a): 10,000 items of 16 attributes take less than a second. Memory is O(nodes x (numeric
    attributes + different nominal values)). A callback cannot end the fit early: every item needs a place.

    References
    ----------
    Fisher 1987 (COBWEB); Gennari, Langley and Fisher 1989 (numbers, acuity); Wagstaff and Cardie 2000
    (constraints).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints
    >>> from coterie.hierarchy import COPCobweb
    >>> animals = np.array([["fur", "4"], ["fur", "4"], ["feathers", "2"], ["feathers", "2"], ["skin", "2"]])
    >>> COPCobweb(categorical_features=[0, 1]).fit(animals).labels_
    array([0, 0, 1, 1, 1], dtype=int32)
    >>> known = Constraints(must_link=[(0, 4)], n_items=5)
    >>> COPCobweb(categorical_features=[0, 1]).fit(animals, constraints=known).labels_
    array([0, 0, 1, 1, 0], dtype=int32)
    """

    about = About(
        what="places items one by one and finds the number of clusters itself; every constraint holds",
        when="nobody knows how many clusters; categories from Python (here they are columns of 0 and 1)",
        source="Wagstaff and Cardie 2000; Fisher 1987; chapter 1",
        measure="category utility",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"
    monotone = False
    parameter_rules: ClassVar[Any] = {
        "categorical_features": anything("None, a mask, column numbers or column names"),
        "acuity": real(0.0, above=True) | one_of("auto"),
        "shuffle": instance(bool, "True or False"),
        "verbose": whole(0) | one_of(True, False),
        "random_state": anything("a seed"),
    }

    def __init__(
        self,
        *,
        categorical_features: Any = None,
        acuity: Any = "auto",
        shuffle: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.categorical_features = categorical_features
        self.acuity = acuity
        self.shuffle = shuffle
        self.verbose = verbose
        self.random_state = random_state

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Sort the rows of X into clusters, one by one.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The items; nominal columns may hold anything.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels, optional
            What is known. All of it holds.

        Returns
        -------
        self
        """
        # as objects, since scikit-learn turns pandas' categories into numbers otherwise
        kind = None if self.categorical_features is None else object
        X, known = self._begin_fit(X, constraints, dtype=kind, ensure_all_finite=False)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        nominal = nominal_mask(self.categorical_features, X.shape[1], names)
        numeric, values, n_values = read_columns(X, nominal, names)
        if known.contracted.n_contradictions:
            self._require_feasible(known, len(X), nonempty=False)
        numeric, unit, acuity = self._scaled(numeric)
        self.acuity_ = np.full(X.shape[1], np.nan)
        self.acuity_[~nominal] = acuity * unit
        order = np.arange(len(X))
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(len(X))
        items = Items(order, numeric, values, acuity)
        tree, home, history = self._sort_in(X, items, known, int(n_values.sum()))

        self.parents_, node, self.labels_ = _numbered(tree, home[known.components], known)
        self.leaves_ = node
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.category_utility_ = category_utility(numeric, values, self.labels_, acuity)
        self.objective_ = -self.category_utility_
        history[-1] = self.objective_
        self.history_ = history
        self.n_iter_ = len(X)
        self.converged_ = True
        return self

    def _scaled(self, numeric: Floats) -> tuple[Floats, Floats, float]:
        """The numbers, what they were divided by, and the acuity."""
        if self.acuity != "auto":
            return numeric, np.ones(numeric.shape[1]), float(self.acuity)
        numeric = numeric / 2.0 - numeric[0] / 2.0  # so that a constant has no spread at all, nor overflows
        largest = np.abs(numeric).max(axis=0)
        largest[largest == 0.0] = 1.0
        numeric /= largest
        spread = numeric.std(axis=0)
        spread[spread == 0.0] = 1.0
        return numeric / spread, 2.0 * largest * spread, AUTO_ACUITY

    def _sort_in(
        self, X: Any, items: Items, known: Constraints, n_values: int
    ) -> tuple[ConceptTree, Index, Floats]:
        """The tree, the leaf of each must-link component, and the history."""
        n, rules = len(items.order), read_statements(known)
        tree = no_tree(_FIRST_NODES, items.numeric.shape[1], n_values, rules.code.shape[1])
        home = np.full(known.contracted.n_components, -1, dtype=np.int64)
        history = np.empty(n)
        lines = min(n, _LINES)
        with progress(self, X, max_steps=lines) as starts, starts() as step:
            for line in range(1, lines + 1):
                stop = n * line // lines
                while tree.state[0] < stop:
                    if 2 * tree.state[3] + 4 > len(tree.parent):
                        tree = with_more_room(tree)
                    place(tree, items, rules, home, history, stop, _STEPS)
                step(history[stop - 1])
        return tree, home, history

    def account(self) -> Account:
        """As the contract says; what is followed is the category utility, item by item."""
        title = "Minus the category utility after each item"
        rules = (
            "Minus the category utility of the clusters, after each item. It goes up and down, since every "
            "item changes what is to be explained."
        )
        trace = Trace(self.history_, title, rules, step="item", first=1.0, stride=1.0)
        return replace(super().account(), trace=trace)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = self.categorical_features is not None
        return tags


def _numbered(tree: ConceptTree, leaf: Index, known: Constraints) -> tuple[Index, Index, Any]:
    """Parents, the node of each item, and its label, with the nodes numbered as the class says."""
    n_nodes = int(tree.state[1])
    parent = tree.parent[:n_nodes]
    into = np.where(tree.into >= 0, tree.into, np.arange(len(tree.into)))
    while (further := into[into] != into).any():  # each time half of the way is left
        into[further] = into[into[further]]
    leaf = into[leaf]
    cluster = leaf.copy()
    while (above := parent[cluster] > 0).any():
        cluster[above] = parent[cluster[above]]
    labels = by_label(known, by_appearance(cluster))
    level = cluster[np.unique(labels, return_index=True)[1]].tolist()
    nodes = [0]
    while level:
        nodes += level
        below = []
        for node in level:
            kid = int(tree.first[node])
            while kid >= 0:
                below.append(kid)
                kid = int(tree.next[kid])
        level = below
    number = np.full(n_nodes, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    parents = np.concatenate([[-1], number[parent[nodes[1:]]]])
    return parents, number[leaf], labels
