"""ClusterEditing: the fewest edges to add to a graph or to remove from it, so that it falls into cliques."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from coterie._arrays import Index
from coterie.adjacency import end_columns, read_graph
from coterie.base import About, constrained_fit, one_of
from coterie.constraints import Constraints, as_constraints
from coterie.exceptions import InfeasibleConstraintsError
from coterie.graph._correlation.votes import indicator
from coterie.graph._correlation_clustering import CorrelationClustering


class ClusterEditing(CorrelationClustering):
    """Clusters of a graph: the fewest edges to add or remove, so that it falls into cliques.

    It is correlation clustering in which an edge is a vote for a pair, and no edge is a vote against it.

    Parameters
    ----------
    n_clusters : int, optional
        Exactly so many clusters; by default as many as are best.
    mode : {"edit", "delete", "complete"}, default "edit"
        Edges may be added and removed; only removed, so that clusters are cliques; or only added, so that
        they are the connected parts of the graph.
    algorithm, refine, n_init, tol, bound, time_limit, random_state
        As in `CorrelationClustering`.

    Attributes
    ----------
    cost_ : int
        Number of edges to add and to remove.
    edges_added_, edges_removed_ : arrays of shape (n_edges, 2)
        These. Those to add are written out when asked for: there may be many with "complete".
    labels_, lower_bound_, bound_, gap_, objective_, history_, n_iter_, converged_, violations_
        As in `CorrelationClustering`.

    References
    ----------
    Shamir, Sharan and Tsur 2004, Cluster graph modification problems. Constrained Clustering, chapter 13.

    Examples
    --------
    >>> from coterie.graph import ClusterEditing
    >>> model = ClusterEditing(random_state=0).fit([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)])
    >>> model.labels_, model.cost_, model.edges_removed_
    (array([0, 0, 0, 1, 1]), 1, array([[2, 3]]))
    """

    about = About(
        what="finds the fewest edges to add or remove so that a graph is cliques; hard constraints hold",
        when="a graph of who is like whom, with mistakes",
        source="Shamir, Sharan and Tsur 2004; chapter 13",
    )
    parameter_rules: ClassVar[Any] = {
        **{
            name: rule
            for name, rule in CorrelationClustering.parameter_rules.items()
            if name not in ("default", "weight")
        },
        "mode": one_of("edit", "delete", "complete"),
    }
    wants: ClassVar[Any] = "graph"
    exempt: ClassVar[Any] = {"check_sparse_is_dense": "a stored entry is an edge, whatever its value"}
    # no parameters here: an edge is a vote, and soft constraints are votes of their strength
    default, weight = -1.0, 1.0

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        mode: str = "edit",
        algorithm: str = "auto",
        refine: bool = True,
        n_init: Any = "auto",
        tol: float = 1e-4,
        bound: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:  # type: ignore[override]
        """Cluster a graph.

        Parameters
        ----------
        X : graph
            In any form that `coterie.adjacency.read_graph` reads; nodes of NetworkX may have any names, and
            are taken in their order. The items of a list of pairs are those of the constraints, or go up to
            the largest number named.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels, optional
            What is known; hard constraints hold.

        Returns
        -------
        self
        """
        given = X
        if _is_matrix(X):
            X, n, ids = check_array(X, accept_sparse="csr"), np.shape(X)[0], None
        else:
            n, ids = _items(X, constraints)
        self._edges = read_graph(X, n, ids=ids)
        known = told = as_constraints(constraints, n, counted="the graph has {} nodes", like=given)
        weights = self._edges.astype(np.float64)
        i, j = self._edges.nonzero()
        if self.mode == "complete":
            told = known | Constraints(np.column_stack([i, j])[i < j], n_items=n, hard=True)
        elif self.mode == "delete":
            # more than all edges together, and a power of 2, so that sums are exact
            self.default = -float(2 ** len(i).bit_length())
        try:
            super().fit(weights, constraints=told)
        finally:
            self.__dict__.pop("default", None)
        self._known = known
        same, upper = self.labels_[i] == self.labels_[j], i < j
        self.edges_removed_ = np.column_stack([i, j])[upper & ~same]
        size = np.bincount(self.labels_)
        n_added = int(size @ (size - 1) // 2 - (upper & same).sum())
        self.cost_ = n_added + len(self.edges_removed_)
        if n_added and self.mode == "delete":
            a, b = (known.item_name(item) for item in self.edges_added_[0].tolist())
            raise InfeasibleConstraintsError(
                f'{a} and {b} had to share a cluster, but mode="delete" adds no edge between them. Drop what '
                'joins them, let n_clusters be None, or take mode="edit".'
            )
        return self

    @property
    def edges_added_(self) -> Index:
        """Pairs within clusters that are no edges."""
        member = indicator(self.labels_, self.n_clusters_)
        added = sparse.triu(member.T @ member > self._edges, 1, format="csr")
        return np.column_stack(added.nonzero()).astype(np.int64)


def _is_matrix(X: Any) -> bool:
    """Whether a graph is given as a square matrix, or as an array that is neither that nor edges."""
    if hasattr(X, "nodes") or hasattr(X, "vcount"):
        return False
    shape = tuple(np.shape(X))
    if hasattr(X, "columns"):
        return shape[0] == shape[-1]
    return bool(shape) and (len(shape) != 2 or shape[1] != 2)


def _items(X: Any, constraints: Any) -> tuple[int, Any]:
    """How many items a graph has, and their names if it is of NetworkX."""
    nodes = getattr(X, "nodes", None)
    if nodes is not None:
        return len(nodes), list(nodes)
    if hasattr(X, "vcount"):
        return X.vcount(), None
    if constraints is not None:
        return getattr(constraints, "n_items", None) or len(constraints), None
    if hasattr(X, "columns"):
        return int(np.max([X[name] for name in end_columns(list(X.columns))])) + 1, None
    return int(np.max(X)) + 1, None
