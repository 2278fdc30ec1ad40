"""A small cut within bounds on sizes: a partition that nearly fits, made exact, then improved.

METIS cuts well at a tolerance of some percent and badly where sizes are to be equal. So it is asked for the
former, and the labels are repaired by the assignment under bounds that is cheapest if each item pays minus
the weight of its edges into a cluster. That counts neighbours where they were: two that change places see
each other's old cluster, so that the cut may rise. Hence each item pays less in its own cluster by a
share of its degree, raised from 0 as long as the cut does not fall. From a share of 1 on it never rises: the
affinities with their degrees on the diagonal are positive semidefinite, and a concave function lies below its
tangent. At last items may move of which no two share an edge, drawn at random: what they pay is exact.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coterie._arrays import Floats, Index, Labels
from coterie.assign._sizes import BoundedSolver, SizeBounds, shortfalls
from coterie.base import Step, clearly_less
from coterie.exceptions import UndecidedError
from coterie.kmeans import KernelPCKMeans

# The least tolerance that METIS is asked for, in thousandths; below, its cuts are many times as large.
_LEAST_UFACTOR = 30
# Partitions of which METIS gives the best; they cost little beside the graph.
_PARTITIONS = 4
# The largest sums of whole numbers that METIS is given; the largest edge counts 1000 where that fits.
_LARGEST_SUM = 2.0**30
_LARGEST_EDGE = 1000.0
# The first share of its degree that an item's own cluster is worth more.
_FIRST_SHARE = 0.05
# Draws of items that may move, in a row, after which nothing is expected of another one.
_IN_VAIN = 20


@dataclass
class CutLabels:
    """Labels within the bounds, and how the cut fell."""

    labels: Labels
    history: list[float]
    n_iter: int
    converged: bool

    @property
    def objective(self) -> float:
        """The weight of the edges between clusters."""
        return self.history[-1]


class CutSearch:
    """Starts and improvements of one graph under one set of bounds."""

    def __init__(
        self,
        graph: Any,
        unit: Index,
        bounds: SizeBounds,
        solver: BoundedSolver,
        tolerance: float,
        rng: np.random.RandomState,
    ) -> None:
        """`unit` is the must-link component of each item."""
        self.unit, self.bounds, self.solver, self.tolerance, self.rng = unit, bounds, solver, tolerance, rng
        self.n, self.k = graph.shape[0], len(bounds.low)
        edges = graph.tocoo()
        kept = unit[edges.row] != unit[edges.col]  # the others are never cut
        self.between = sparse.csr_matrix((edges.data[kept], (edges.row[kept], edges.col[kept])), graph.shape)
        self.degree = np.asarray(self.between.sum(axis=1)).ravel()
        self.far = 2.0 * self.degree.sum()  # more than any moves can gain
        once = kept & (edges.row < edges.col)
        self.edges = edges.row[once], edges.col[once], edges.data[once]
        member = sparse.csr_matrix((np.ones(self.n), (np.arange(self.n), unit)))
        self.contracted = (member.T @ graph @ member).tocsr()
        load = bounds.load if len(bounds.load) else np.ones(self.n)
        self.load = np.bincount(unit, load)
        has_metis = importlib.util.find_spec("pymetis") is not None
        self.start_by: Literal["metis", "normalized_cut"] = "metis" if has_metis else "normalized_cut"

    def cut(self, labels: Labels) -> float:
        """The weight of the edges between clusters."""
        i, j, weight = self.edges
        return float(weight[labels[i] != labels[j]].sum())

    # ---- where it starts ------------------------------------------------------------------------------

    def start(self, number: int) -> Labels:
        """Labels that need not meet the bounds."""
        seed = int(self.rng.randint(1, 2**31 - 1))
        if self.k == 1 or not self.between.nnz:
            found = np.arange(len(self.load)) % self.k
        elif self.start_by == "metis":
            found = self._by_metis(seed, recursive=number % 2 == 1)
        else:
            model = KernelPCKMeans(self.k, graph="normalized_cut", random_state=seed)
            found = self._numbered(model.fit(self.contracted).labels_)
        return found.astype(np.int32)[self.unit]

    def _numbered(self, labels: Any) -> Any:
        """The clusters numbered so that their sizes miss the bounds least; these may differ by cluster."""
        size = np.bincount(labels, self.load, self.k)[:, None]
        missed = np.maximum(0.0, self.bounds.low - size) + np.maximum(0.0, size - self.bounds.high)
        return linear_sum_assignment(missed)[1][labels]

    def _by_metis(self, seed: int, *, recursive: bool) -> Index:
        import pymetis

        graph = self.contracted.copy()
        graph.setdiag(0.0)
        graph.eliminate_zeros()
        scale = min(_LARGEST_EDGE / graph.data.max(), _LARGEST_SUM / graph.data.sum())
        edges = np.maximum(1, np.rint(scale * graph.data)).astype(np.int64)
        total = self.load.sum()
        load = self.load if not len(self.bounds.load) else self.load * (0.01 * _LARGEST_SUM / total)
        target = self._targets() / total
        found = pymetis.part_graph(
            self.k,
            pymetis.CSRAdjacency(graph.indptr, graph.indices),
            vweights=np.rint(load).astype(np.int64),
            eweights=edges,
            tpwgts=None if (target == target[0]).all() else target.tolist(),
            recursive=recursive,
            options=pymetis.Options(
                seed=seed,
                ncuts=_PARTITIONS,
                ufactor=max(_LEAST_UFACTOR, int(np.rint(1000 * self.tolerance))),
            ),
        )
        return np.asarray(found.vertex_part, dtype=np.int64)

    def _targets(self) -> Floats:
        """Sizes within the bounds that add up, as equal as these allow."""
        low, high, total = self.bounds.low, self.bounds.high, self.bounds.total
        size = np.clip(np.full(self.k, total / self.k), low, high)
        lacking = total - size.sum()
        room = high - size if lacking > 0 else size - low
        return size + (lacking / room.sum() * room if room.any() else 0.0)

    # ---- from there -----------------------------------------------------------------------------------

    def descend(self, labels: Labels, max_iter: int, tol: float, step: Step) -> CutLabels:
        """Meet the bounds, then lower the cut within them."""
        history = [] if self.bounds.missed(labels) else [self.cut(labels)]
        inward, everyone = self._inward(labels), np.arange(self.n)
        share, n_vain, n_iter, potentials = 0.0, 0, 0, None
        while n_iter < max_iter and n_vain <= _IN_VAIN:
            n_iter += 1
            costs = -inward
            if n_vain:
                kept = ~self._apart()
                costs[kept] = self.far
                costs[kept, labels[kept]] = 0.0
            else:
                costs[everyone, labels] -= share * self.degree
            found = self.solver.solve(costs, labels, potentials, last=not history)
            if found.missed > 0:
                self.solver.budget = 0  # what can be met does not depend on the start: ask no second time
                raise self._undecided(found.labels)
            value = self.cut(found.labels)
            if not history or clearly_less(value, history[-1]):
                clear = not history or value < (1.0 - tol) * history[-1]
                share, n_vain = 0.0, 0 if clear else n_vain + 1
                labels, inward = found.labels, self._inward(found.labels)
                history.append(value)
            elif n_vain or share >= 1.0 or np.array_equal(found.labels, labels):
                n_vain += 1
            else:
                share = max(_FIRST_SHARE, 2.0 * share)
            potentials = None if n_vain else found.potentials
            if step(history[-1]):
                break
        return CutLabels(labels, history, n_iter, n_vain > _IN_VAIN)

    def _inward(self, labels: Labels) -> Floats:
        """The weight of the edges of each item into each cluster."""
        member = np.zeros((self.n, self.k))
        member[np.arange(self.n), labels] = 1.0
        return self.between @ member

    def _apart(self) -> Any:
        """Items of which no two share an edge: each drew a larger number than its neighbours."""
        drawn = self.rng.uniform(size=len(self.load))[self.unit]
        graph = self.between
        around = sparse.csr_matrix((drawn[graph.indices], graph.indices, graph.indptr), graph.shape)
        lost = drawn <= around.max(axis=1).toarray().ravel()
        return ~np.bincount(self.unit, lost).astype(bool)[self.unit]

    def _undecided(self, labels: Labels) -> UndecidedError:
        some = "; ".join(str(one) for one in shortfalls(self.bounds, labels)[:3])
        return UndecidedError(
            f"no labels within all bounds were found, nor proven that there are none; the best miss: {some}. "
            "Loads are never split: widen size_min and size_max, or tolerance where these are None."
        )
