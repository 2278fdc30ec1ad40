"""Units of kernel k-means: items that hard must-links join, their masses, and how similar they are.

What is minimised is a constant less the sum over clusters of q / s: s is the mass of a cluster, q the sum
over all ordered pairs in it of mass x mass x kernel, plus what the soft constraints say of them: a must-link
adds its price to the similarity of its two items, a cannot-link takes it off. So a constraint is an entry of
the similarities, and its price is divided by the mass of the cluster that holds both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie.constraints import Constraints, Group
from coterie.distance._kernels import ItemKernel
from coterie.kmeans._kernel.moves import Terms


@dataclass(frozen=True, eq=False)
class Units:
    """Similarities of units: a table, a graph, features, and rows of counts with factors; they add up."""

    mass: Floats
    table: Any
    graph: Any
    X: Any
    rows: Any
    factor: Floats

    @property
    def m(self) -> int:
        """Number of units."""
        return len(self.mass)

    @cached_property
    def own(self) -> Floats:
        """Similarity of each unit with itself."""
        found = np.asarray(self.graph.diagonal(), dtype=np.float64).copy()
        if len(self.table):
            found += np.diagonal(self.table)
        found += np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        if self.rows.nnz:
            found += np.asarray(self.rows.multiply(self.rows) @ self.factor).ravel()
        return found

    @cached_property
    def terms(self) -> Terms:
        """As the compiled moves take them."""
        edges, cells = (
            (one.indptr.astype(np.int64), one.indices.astype(np.int64), one.data.astype(np.float64))
            for one in (self.graph, self.rows)
        )
        return Terms(self.table, *edges, self.X, *cells, self.factor, self.mass, self.own)

    def times(self, groups: Any) -> Floats:
        """Similarity of each unit with each group of units, a column of `groups` (CSR)."""
        found = np.asarray((self.graph @ groups).toarray(), dtype=np.float64)
        if len(self.table):
            # symmetric, and rows are quicker to read than columns
            found += (groups.T @ self.table).T
        if self.X.shape[1]:
            found += self.X @ (groups.T @ self.X).T
        if self.rows.nnz:
            sums = (groups.T @ self.rows).multiply(self.factor)
            found += np.asarray((self.rows @ sums.T).toarray())
        return found

    def among(self, groups: Any) -> Floats:
        """Similarities of groups with each other: as `times`, without a number for each unit."""
        found = np.asarray((groups.T @ self.graph @ groups).toarray(), dtype=np.float64)
        if len(self.table):
            found += (groups.T @ (groups.T @ self.table).T).T
        sums = groups.T @ self.X
        found += sums @ sums.T
        if self.rows.nnz:
            counts = groups.T @ self.rows
            found += np.asarray((counts.multiply(self.factor) @ counts.T).toarray())
        return found

    def dot(self, vectors: Floats) -> Floats:
        """The matrix of similarities times one vector, or several as columns."""
        found = np.asarray(self.graph @ vectors, dtype=np.float64)
        if len(self.table):
            found = found + self.table @ vectors
        if self.X.shape[1]:
            found = found + self.X @ (self.X.T @ vectors)
        if self.rows.nnz:
            sums = self.rows.T @ vectors
            found = found + self.rows @ (self.factor.reshape(-1, *[1] * (vectors.ndim - 1)) * sums)
        return found

    def squared_distances(self, groups: Any) -> Floats:
        """Squared distances of the units' means to the groups' in the kernel's space; 0 without mass."""
        z = self.times(groups)
        total = np.asarray(groups.T @ self.mass)
        within = np.asarray(groups.multiply(z).sum(axis=0)).ravel()
        share = np.divide(1.0, self.mass, out=np.zeros(self.m), where=self.mass > 0)
        size = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        found = (self.own * share**2)[:, None] - 2.0 * z * share[:, None] * size + within * size**2
        found[self.mass == 0] = 0.0
        return np.maximum(found, 0.0)

    def only(self, pairs: Any, rows: Any, factor: Floats) -> Units:
        """Without the kernel: what constraints say alone."""
        nothing = np.zeros((0, 0)), np.zeros((self.m, 0))
        return replace(self, table=nothing[0], X=nothing[1], graph=pairs, rows=rows, factor=factor)

    def plus(self, pairs: Any, rows: Any, factor: Floats) -> Units:
        """With what constraints say on top."""
        graph = sparse.csr_matrix(self.graph + pairs)
        graph.sum_duplicates()
        both = sparse.hstack([self.rows, rows], format="csr") if rows.shape[1] else self.rows
        return replace(self, graph=graph, rows=both, factor=np.concatenate([self.factor, factor]))


def indicator(labels: Labels | Index, k: int) -> Any:
    """Groups as the columns of a CSR matrix; -1 is in none."""
    group = np.asarray(labels, dtype=np.int64)
    inside = np.flatnonzero(group >= 0)
    return sparse.csr_matrix((np.ones(len(inside)), (inside, group[inside])), (len(group), k))


def contracted(kernel: ItemKernel, unit: Index, mass: Floats, weight: Floats) -> Units:
    """Units of items; `mass` is what an item counts in the size, `weight` what it counts in similarities."""
    n, m = len(unit), int(unit.max()) + 1
    plain = m == n and bool((weight == 1).all())
    gather = sparse.csr_matrix((weight, (unit, np.arange(n))), (m, n))
    data = kernel.data if plain else gather @ kernel.data
    table, graph = np.zeros((0, 0)), sparse.csr_matrix((m, m))
    X, rows = np.zeros((m, 0)), sparse.csr_matrix((m, 0))
    if kernel.is_features and sparse.issparse(data):
        rows = sparse.csr_matrix(data)
    elif kernel.is_features:
        X = np.ascontiguousarray(data)
    elif sparse.issparse(data):
        graph = sparse.csr_matrix(data if plain else data @ gather.T)
        graph.sum_duplicates()
    else:
        table = np.ascontiguousarray(data if plain else (gather @ data.T))
    total = np.bincount(unit, mass, m).astype(np.float64)
    return Units(total, table, graph, X, rows, np.ones(rows.shape[1]))


def statements(known: Constraints, unit: Index, price: float) -> tuple[Any, Any, Floats]:
    """Soft pairs between units as a CSR matrix, and soft groups as rows of counts with their factors."""
    m = int(unit.max()) + 1
    ends, value = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    for table, sign in ((known.must_table, 1.0), (known.cannot_table, -1.0)):
        soft = table.active & ~table.hard
        ends.append(unit[table.ij[soft]])
        value.append(sign * price * table.strength[soft])
    i, j = np.concatenate(ends).T
    both = np.concatenate(value)
    own = np.zeros(m)
    rows, factor = [sparse.csr_matrix((m, 0))], [np.empty(0)]
    for group in known.groups:
        if group.weight is not None and group.active:
            cells, factors, of_item = _group(group, unit, price * group.weight)
            rows.append(cells)
            factor.append(factors)
            # an item is no pair with itself
            own -= of_item * np.bincount(unit[group.items], minlength=m)
    pairs = sparse.coo_matrix((np.tile(both, 2), (np.append(i, j), np.append(j, i))), (m, m)).tocsr()
    touched = np.flatnonzero(own)
    if len(touched):
        pairs = pairs + sparse.csr_matrix((own[touched], (touched, touched)), (m, m))
    pairs.eliminate_zeros()
    return pairs, sparse.hstack(rows, format="csr"), np.concatenate(factor)


def _group(group: Group, unit: Index, price: float) -> tuple[Any, Floats, float]:
    """A group as rows of counts, a row a code and one for all; and what it says of an item with itself."""
    m = int(unit.max()) + 1
    apart, alike = {"label": (-1.0, 2.0), "across": (-1.0, 1.0), "distinct": (0.0, -1.0)}[group.kind]
    at, n_codes = unit[group.items], group.n_codes
    cells = sparse.coo_matrix((np.ones(len(at)), (at, group.codes)), (m, n_codes)).tocsr()
    factor = np.full(n_codes, alike * price)
    if apart:
        whole = sparse.csr_matrix(cells.sum(axis=1))
        cells, factor = sparse.hstack([cells, whole], format="csr"), np.append(factor, apart * price)
    return cells, factor, (apart + alike) * price


def links_per_item(known: Constraints) -> float:
    """Mean number of soft must-links of the items that have any; groups count as their pairs."""
    table = known.must_table
    soft = table.active & ~table.hard
    named, n_links = [table.ij[soft].ravel()], int(soft.sum())
    for group in known.groups:
        if group.weight is not None and group.active and group.kind == "label":
            counts = group.counts()
            named.append(group.items[counts[group.codes] > 1])
            n_links += int((counts * (counts - 1) // 2).sum())
    n_named = len(np.unique(np.concatenate(named)))
    return 2.0 * n_links / n_named if n_named else 0.0
