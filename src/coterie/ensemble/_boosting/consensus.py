"""What all rounds agree on: the kernel K = H H', with a row of H for each item, and its clusters.

Round t adds to H a column for each of its clusters, the root of its weight where an item is in it. Items that
no round tells apart have equal rows, which are kept once, with their number: K is never written out unless
the base takes nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import few_threads
from coterie.base import warn_user
from coterie.distance._kernels import refuse_large_table
from coterie.ensemble._boosting.base_clusterer import BaseClusterer

# Up to how many different rows k-means starts so often; beyond, it begins where so many starts on so many
# items end.
_MANY_ROWS, _STARTS, _STARTS_OF_SOME = 20_000, 10, 4
# Pairs of groups that are looked at at once.
_CHUNK = 1 << 22
_WAYS_OUT = 'final="embedding" needs no such table.'


class Consensus:
    """The kernel of all rounds so far."""

    def __init__(self, n_items: int) -> None:
        self.group = np.zeros(n_items, dtype=np.int64)  # of each item: those of one group have equal rows
        self.partitions: list[Any] = []
        self.weights: list[float] = []

    def add(self, labels: Labels, weight: float) -> None:
        """Add a partition; a label of -1 is no cluster."""
        width = int(labels.max(initial=-1)) + 1
        code = self.group * (width + 1) + (labels + 1)
        top = int(code.max()) + 1
        if top <= 4 * len(code) + 1000:
            used = np.zeros(top, dtype=bool)
            used[code] = True
            self.group = (np.cumsum(used) - 1)[code]
        else:
            self.group = np.unique(code, return_inverse=True)[1].astype(np.int64)
        self.partitions.append(labels.astype(np.min_scalar_type(-max(width, 1))))
        self.weights.append(weight)

    @property
    def n_groups(self) -> int:
        """How many different rows there are."""
        return int(self.group.max()) + 1

    @property
    def size(self) -> Floats:
        """How many items each group has."""
        return np.bincount(self.group, minlength=self.n_groups).astype(np.float64)

    @property
    def widths(self) -> Index:
        """How many clusters each round has."""
        return np.array([int(labels.max(initial=-1)) + 1 for labels in self.partitions], dtype=np.int64)

    def rows(self, partitions: Sequence[Any]) -> Any:
        """Rows of H (CSR) of items that each round puts there; 12 bytes an entry, at no time more."""
        widths = self.widths
        begin, n, T = np.cumsum(widths) - widths, len(partitions[0]), len(partitions)
        shape = (n, max(int(widths.sum()), 1))
        columns = np.empty((n, T), dtype=np.int32 if max(n * T, shape[1]) < 2**31 else np.int64)
        inside = None
        for t, labels in enumerate(partitions):
            columns[:, t] = labels
            columns[:, t] += begin[t]
            labels = np.asarray(labels)
            nowhere = (labels < 0) | (labels >= widths[t])  # new rows may be where none of the fit was
            if nowhere.any():
                inside = np.ones((n, T), dtype=bool) if inside is None else inside
                inside[nowhere, t] = False
        value, ends = np.tile(np.sqrt(self.weights), n), np.arange(n + 1) * T
        if inside is None:
            return sparse.csr_matrix((value, columns.ravel(), ends), shape)
        ends[1:] = np.cumsum(inside.sum(axis=1))
        return sparse.csr_matrix((value[inside.ravel()], columns[inside], ends), shape)

    def group_rows(self) -> Any:
        """Rows of H of the groups."""
        first = np.empty(self.n_groups, dtype=np.int64)
        first[self.group[::-1]] = np.arange(len(self.group))[::-1]
        return self.rows([labels[first] for labels in self.partitions])

    def affinity(self, items: Any = None) -> Floats:
        """K among some items, dense."""
        at = self.group if items is None else self.group[np.atleast_1d(items)]
        refuse_large_table("affinity", len(at), np.float64, "Ask for some items.")
        if not self.partitions:
            return np.zeros((len(at), len(at)))
        present, place = np.unique(at, return_inverse=True)
        rows = self.group_rows()[present]
        return np.asarray((rows @ rows.T).toarray()[np.ix_(place, place)])

    def directions(self, n: int | None = None) -> Floats:
        """Columns that take rows of H to the first n eigenvectors of K, each times the root of its value.

        All of them keep every distance.
        """
        rows = self.group_rows()
        refuse_large_table("precomputed", rows.shape[1], np.float64, "Fewer rounds make it smaller.")
        gram = (rows.T @ (sparse.diags(self.size) @ rows)).toarray()
        values, vectors = linalg.eigh(gram)
        order = np.argsort(-values, kind="stable")[:n]
        return np.asarray(vectors[:, order[values[order] > 1e-12 * values[order[0]]]])


@dataclass(frozen=True, eq=False)
class Turned:
    """A model that predicts from some directions of rows of H."""

    model: Any
    turn: Floats

    def predict(self, rows: Any) -> Any:
        """The clusters of rows of H."""
        return self.model.predict(rows @ self.turn)


def find_final(consensus: Consensus, base: BaseClusterer, n_components: int | None) -> tuple[Any, Any]:
    """Labels of the kernel, or of its first eigenvectors if `n_components` says how many.

    And what predicts those of rows of H of new items; None: nothing does.
    """
    if n_components is not None:
        return _by_eigenvectors(consensus, base, n_components)
    if base.n_clusters is None:
        return _by_majority(consensus)
    if "affinity" in base.params and base.takes_number:
        refuse_large_table("precomputed", len(consensus.group), np.float64, _WAYS_OUT)
        model = base.made(affinity="precomputed")
        return base.labels(model, consensus.affinity(), "the kernel of all rounds"), None
    if "linkage" in base.params:
        rows = (consensus.group_rows() @ consensus.directions())[consensus.group]
        return base.labels(base.made(), rows, "the rows of all rounds"), None
    return _by_kmeans(consensus, base)


def _by_kmeans(consensus: Consensus, base: BaseClusterer) -> tuple[Any, Any]:
    """K-means on the rows of H, which is kernel k-means on K."""
    k, n, rows = int(base.n_clusters or 1), consensus.n_groups, consensus.group_rows()
    if n < k:
        warn_user(
            f"all rounds together tell {n} groups of items apart, fewer than n_clusters={k}: these are the "
            "clusters.",
            UserWarning,
        )
    seed = base.seed()
    model = KMeans(min(k, n), n_init=_STARTS, random_state=seed)
    if n > _MANY_ROWS:
        some = consensus.group[np.random.default_rng(seed).choice(len(consensus.group), _MANY_ROWS)]
        start = model.set_params(n_init=_STARTS_OF_SOME).fit(rows[some]).cluster_centers_
        # all rows without a copy of them, which k-means++ makes
        model = KMeans(k, init=start, n_init=1, copy_x=False)
    with few_threads(rows.nnz):
        labels = model.fit_predict(rows, sample_weight=consensus.size)
    return labels[consensus.group], model


def _by_majority(consensus: Consensus) -> tuple[Any, Any]:
    """Items that more than half of the weight has in one cluster, and what hangs together so."""
    rows, n = consensus.group_rows(), consensus.n_groups
    half = 0.5 * sum(consensus.weights) * (1.0 + 1e-9)  # half itself is no majority, whatever rounding says
    labels = np.arange(n)
    for part in gen_batches(n, max(1, _CHUNK // n)):
        shared = (rows[part] @ rows.T).tocoo()
        most = shared.data > half
        ends = labels[part.start + shared.row[most]], labels[shared.col[most]]
        graph = sparse.coo_matrix((shared.data[most], ends), (n, n))
        labels = connected_components(graph, directed=False)[1][labels]
    inside = row_norms(rows, squared=True) > half
    labels[~inside] = -1  # what the majority has put nowhere
    labels[inside] = np.unique(labels[inside], return_inverse=True)[1]
    return labels[consensus.group], None


def _by_eigenvectors(consensus: Consensus, base: BaseClusterer, n: int) -> tuple[Any, Any]:
    turn = consensus.directions(n)
    model = base.made()
    rows = (consensus.group_rows() @ turn)[consensus.group]
    labels = base.labels(model, rows, "the eigenvectors of the kernel")
    return labels, Turned(model, turn) if hasattr(model, "predict") else None
