"""The closure of soft pairs, without writing it down: prices of all pairs that follow, from sums.

Items that must-links join are all must-linked to each other; two components with a cannot-link between them
keep away from each other item by item (Basu, Bilenko and Mooney 2004). Where the gap of a pair is a squared
distance in some space, what a component pays follows from the number, the squares and the vector sum of its
items in each cluster, so nothing is quadratic in its size (`coterie.assign._pairs.Closure`). An
inferred pair has the mean strength of the stated ones (1 in the paper); a stated one keeps its own.

Where the gap has no such form (I-divergence), or the sums would not fit, pairs are written down, of large
components a random part whose strengths make up for the rest. Few pairs at squared distances are written down
as well, since the search of `PricedPairs` is the better one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie._arrays import Floats, Index, Labels
from coterie.assign._pairs import Closure
from coterie.constraints import Constraints
from coterie.constraints._model import StatedPairs
from coterie.distortion import BrokenPairs
from coterie.kmeans._engine.starts import RandomState
from coterie.kmeans._prices.by_distance import PricedPairs

# Up to so many pairs are written down where that is cheap: single pairs can then be exchanged, too.
FEW_PAIRS = 100_000
# Numbers that the sums by component and cluster may take: half a gigabyte.
MOST_SUMS = 1 << 26
# Inferred pairs of an item, with its own component and with each that keeps away, that are written down
# where sums do not serve; and of all items together.
_MOST_PARTNERS = 200
_MOST_WRITTEN = 20_000_000


class TooManyPairsError(ValueError):
    """So many pairs follow that they cannot be written down."""


@dataclass(frozen=True)
class Components:
    """Must-link components from which pairs follow that nobody stated, and which keep away from which.

    Attributes
    ----------
    component : array of int
        The component of each item; -1 where nothing follows.
    n : int
        Number of components.
    away : CSR matrix of shape (n, n)
        1 where two keep away from each other.
    """

    component: Index
    n: int
    away: Any

    @classmethod
    def of(cls, structure: Constraints) -> Components:
        """The components of the constrained items, sorted; labels and hard pairs join too."""
        items, table = structure.constrained_items, structure.cannot_table
        number, component, size = np.unique(
            structure.components[items], return_inverse=True, return_counts=True
        )
        ends = component[np.searchsorted(items, table.ij[table.active])]
        n = len(number)
        both = np.concatenate([ends, ends[:, ::-1]])
        away = sparse.csr_matrix((np.ones(len(both)), (both[:, 0], both[:, 1])), (n, n))
        away.sum_duplicates()
        away.data[:] = 1.0
        # three items that are joined; or two components that keep away, of which one has two items
        several = size > 1
        keeps = np.diff(away.indptr) > 0
        kept = np.flatnonzero((size > 2) | (several & keeps) | (away @ several.astype(float) > 0))
        rank = np.full(n, -1, dtype=np.int64)
        rank[kept] = np.arange(len(kept))
        return cls(rank[component], len(kept), away[kept][:, kept].tocsr())

    @property
    def n_pairs(self) -> int:
        """How many pairs the components stand for."""
        size = np.bincount(self.component[self.component >= 0], minlength=self.n)
        return int(size @ (size - 1) + size @ (self.away @ size)) // 2

    def n_sums(self, rows: Any, k: int) -> int:
        """How many numbers the sums by component and cluster take."""
        if sparse.issparse(rows):
            return self.n * k * min(rows.shape[1], rows[np.flatnonzero(self.component >= 0)].nnz)
        return self.n * k * int(rows.shape[1])

    def follows(self, i: Index, j: Index) -> Any:
        """Which pairs of items (by their place) are among those that the components stand for."""
        return (self.component[i] >= 0) & (self.component[j] >= 0)


class ClosedPairs(PricedPairs):
    """Soft pairs and all that follow from them, at the price of a squared distance."""

    rounds_a_pass = 100

    def __init__(
        self,
        known: Constraints,
        pairs: StatedPairs,
        weight: float,
        k: int,
        rng: RandomState,
        distortion: Any,
        closed: Components,
    ) -> None:
        super().__init__(known, pairs, weight, k, rng, distortion)
        typical = float(pairs.strength.mean())
        self.inferred, self.closed = weight * typical, closed
        core = self.core
        self.acting, self.idle = np.arange(core.n_units), np.empty(0, dtype=np.int64)
        # the components have these pairs at the typical strength already
        self.strength = weight * (pairs.strength - typical * self.closed.follows(self.i, self.j))
        self.inside = np.flatnonzero(self.closed.component >= 0)
        # sums have only the features that these items have at all
        self.columns: Any = slice(None)
        if sparse.issparse(self.rows):
            self.columns = np.unique(self.rows[self.inside].indices)
        self.component_inside = self.closed.component[self.inside]
        self.component = np.full(core.n_units, -1, dtype=np.int64)
        self.component[core.unit] = self.closed.component
        self.join = sparse.csr_matrix(
            (np.ones(len(self.inside)), (core.unit[self.inside], np.arange(len(self.inside)))),
            (core.n_units, len(self.inside)),
        )
        self.mass = np.bincount(core.unit[self.inside], minlength=core.n_units).astype(np.float64)

    # ---- prices ---------------------------------------------------------------------------------------

    def reprice(self, centres: Floats) -> None:
        if self._priced_for is self.distortion.metric:
            return
        super().reprice(centres)
        self.spots = self.narrow(self.distortion.embedded(self.rows))
        self.squares = _squares(self.spots)
        self.most = self.distortion.ceiling()
        units = self.join @ self.spots
        self.unit_rows = sparse.csr_matrix(units)
        self.unit_squares = self.join @ self.squares
        self.inner = 2.0 * (self.mass * self.unit_squares - _squares(units))

    def narrow(self, rows: Any) -> Any:
        """Of rows of the core those of the items inside, and of these the features that they have."""
        return rows[self.inside][:, self.columns]

    def sums(self, labels: Labels, rows: Any) -> tuple[Floats, Floats]:
        """Number and vector sum of the items of each component in each cluster; rows of the items inside."""
        cell = self.component_inside * self.k + labels[self.inside]
        n = self.closed.n * self.k
        gather = sparse.csr_matrix((np.ones(len(cell)), (cell, np.arange(len(cell)))), (n, len(cell)))
        summed = gather @ rows
        summed = summed.toarray() if sparse.issparse(summed) else summed
        count = np.bincount(cell, minlength=n).astype(np.float64).reshape(-1, self.k)
        return count, summed.reshape(self.closed.n, self.k, -1)

    def _squares_by(self, labels: Labels) -> Floats:
        """Squares of the items of each component in each cluster, summed."""
        cell = self.component_inside * self.k + labels[self.inside]
        found = np.bincount(cell, self.squares, self.closed.n * self.k).astype(np.float64)
        return found.reshape(-1, self.k)

    def penalties(self, labels: Labels) -> tuple[float, float]:
        must, cannot = super().penalties(labels)
        count, summed = self.sums(labels, self.spots)
        square = self._squares_by(labels)
        # pairs of a component that are apart: all of them, less those in one cluster
        whole = count.sum(axis=1) * square.sum(axis=1) - (summed.sum(axis=1) ** 2).sum(axis=1)
        together = count * square - (summed**2).sum(axis=2)
        must += self.inferred * float(whole.sum() - together.sum())
        away = self.closed.away
        met = np.einsum("ch,ch->", summed.reshape(len(summed), -1), away @ summed.reshape(len(summed), -1))
        distance = float((count * (away @ square)).sum()) - float(met)
        cannot += self.inferred * (0.5 * self.most * float((count * (away @ count)).sum()) - distance)
        return must, cannot

    def broken(self, labels: Labels) -> ClosedBroken:
        stated = super().broken(labels)
        return ClosedBroken(**vars(stated), solver=self, strength=self.inferred)

    # ---- labels ---------------------------------------------------------------------------------------

    def closure(self, labels: Labels) -> Closure:
        of_item = labels[self.core.unit]
        count, summed = self.sums(of_item, self.spots)
        square = self._squares_by(of_item)
        keeps, rows = self.closed.away, self.unit_rows
        summed += (keeps @ summed.reshape(len(summed), -1)).reshape(summed.shape)
        return Closure(
            component=self.component,
            mass=self.mass,
            square=self.unit_squares,
            inner=self.inner,
            row_ptr=rows.indptr.astype(np.int64),
            row_index=rows.indices.astype(np.int64),
            row_data=rows.data,
            keeps_ptr=keeps.indptr.astype(np.int64),
            keeps_index=keeps.indices.astype(np.int64),
            away=keeps @ count,
            near=count + keeps @ count,
            squares=square + keeps @ square,
            sums=summed,
            price=self.inferred,
            most=self.most,
            time=np.zeros(self.closed.n, dtype=np.int64),
        )

    def coupling_cost(self, labels: Labels) -> Floats:
        """By stated pairs, and what a unit wins and pays through its component."""
        stated = super().coupling_cost(labels)
        of_item = labels[self.core.unit]
        count, summed = self.sums(of_item, self.spots)
        square, away = self._squares_by(of_item), self.closed.away
        units = np.flatnonzero(self.component >= 0)
        at = self.component[units], labels[units]
        summed += (away @ summed.reshape(len(summed), -1)).reshape(summed.shape)
        dots = np.asarray(self.unit_rows[units].multiply(summed[at]).sum(axis=1)).ravel()
        distance = self.mass[units] * (square + away @ square)[at] - 2.0 * dots - self.inner[units]
        distance += self.unit_squares[units] * (count + away @ count)[at]
        stated[units] += self.inferred * (self.most * self.mass[units] * (away @ count)[at] - distance)
        return stated


@dataclass(frozen=True)
class ClosedBroken(BrokenPairs):
    """Broken pairs, stated and inferred."""

    solver: Any = None
    strength: float = 1.0

    def scatter(self, full: bool, by_cluster: bool) -> tuple[Any, Any]:
        stated, boxes = super().scatter(full, by_cluster)
        assert not full  # one weight a feature is what learns from a closure
        assert not by_cluster
        solver = self.solver
        rows = solver.narrow(self.rows)
        count, first = solver.sums(self.labels, rows)
        second = solver.sums(self.labels, rows.multiply(rows) if sparse.issparse(rows) else rows**2)[1]
        whole = count.sum(axis=1) @ second.sum(axis=1) - (first.sum(axis=1) ** 2).sum(axis=0)
        together = np.einsum("ch,chj->j", count, second) - (first**2).sum(axis=(0, 1))
        away = solver.closed.away
        met = (away @ first.reshape(len(first), -1)).reshape(first.shape)
        distance = np.einsum("ch,chj->j", away @ count, second) - np.einsum("chj,chj->j", first, met)
        paid = 0.5 * self.strength * float((count * (away @ count)).sum())
        stated[solver.columns] += self.strength * (whole - together - distance)
        return stated, boxes + paid

    def acting(self, rows: Any, metric: Floats) -> tuple[Floats, Floats]:
        met, by_row = super().acting(rows, metric)
        solver = self.solver
        inside = solver.inside
        rows = solver.narrow(rows)
        _, summed = solver.sums(self.labels, rows)
        away = (solver.closed.away @ summed.reshape(len(summed), -1)).reshape(summed.shape)
        inferred_sums = self.strength * (summed.sum(axis=1, keepdims=True) - summed - away)
        own = inferred_sums[solver.component_inside, self.labels[inside]] * metric[solver.columns]
        if sparse.issparse(rows):
            by_row[inside] += np.asarray(rows.multiply(own).sum(axis=1)).ravel()
        else:
            by_row[inside] += np.einsum("ij,ij->i", rows, own)
        met[solver.columns] += np.einsum("chj,chj->j", summed, inferred_sums)
        return met, by_row


def _squares(rows: Any) -> Floats:
    """Squared length of each row."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def written_closure(
    structure: Constraints, pairs: StatedPairs, rng: RandomState, *, every: bool = False
) -> StatedPairs:
    """Stated pairs and those that follow; in large components a draw stands for these, unless `every`."""
    items = structure.constrained_items
    found = Components.of(structure)
    inside = np.flatnonzero(found.component >= 0)
    order = inside[np.argsort(found.component[inside], kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(found.component[inside], minlength=found.n))])
    typical = float(pairs.strength.mean())
    i, j = np.searchsorted(items, pairs.ij).T
    follows = found.follows(i, j)
    between = np.sort(np.column_stack([found.component[i], found.component[j]]), axis=1)
    pair_code = between[:, 0] * found.n + between[:, 1]
    n_stated = dict(
        zip(*(part.tolist() for part in np.unique(pair_code[follows], return_counts=True)), strict=True)
    )
    parts: list[tuple[Any, Any, bool, float]] = []
    drawn: list[int] = []
    written = 0
    for c in range(found.n):
        mine = order[start[c] : start[c + 1]]
        for b in (c, *found.away.indices[found.away.indptr[c] : found.away.indptr[c + 1]].tolist()):
            if b < c:
                continue
            theirs = order[start[b] : start[b + 1]]
            n_all = len(mine) * (len(mine) - 1) // 2 if b == c else len(mine) * len(theirs)
            n_drawn = _MOST_PARTNERS * max(len(mine), len(theirs)) // 2
            written += n_all if every else min(n_all, n_drawn)
            if written > _MOST_WRITTEN:
                raise TooManyPairsError(
                    f"more than {_MOST_WRITTEN:,} pairs follow from the stated ones, and here each is "
                    "written down; pass closure=False."
                )
            if every or n_all <= n_drawn:
                a, z = np.triu_indices(len(mine), 1) if b == c else np.indices((len(mine), len(theirs)))
                parts.append((mine[a.ravel()], theirs[z.ravel()], b != c, typical))
                continue
            drawn.append(c * found.n + b)
            a, z = rng.randint(len(mine), size=n_drawn), rng.randint(len(theirs), size=n_drawn)
            kept = (a != z) | (b != c)
            others = n_all - n_stated.get(drawn[-1], 0)
            strength = typical * others / max(int(kept.sum()), 1)
            parts.append((mine[a[kept]], theirs[z[kept]], b != c, strength))
    rest = np.where(follows & ~np.isin(pair_code, drawn), pairs.strength - typical, pairs.strength)
    left_over = rest != 0
    ends = [np.column_stack([items[a], items[z]]) for a, z, _, _ in parts]
    return StatedPairs(
        np.concatenate([*ends, pairs.ij[left_over]]),
        np.concatenate([*(np.full(len(a), cannot) for a, _, cannot, _ in parts), pairs.cannot[left_over]]),
        np.concatenate([*(np.full(len(a), value) for a, _, _, value in parts), rest[left_over]]),
    )
