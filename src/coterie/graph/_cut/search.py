"""A small cut within bounds on sizes: a partition that nearly fits, made exact, then improved.

METIS cuts well at a tolerance of some percent and badly where sizes are to be equal. So it is asked for the
former, and the labels are repaired by the assignment under bounds that is cheapest if each item pays minus
the weight of its edges into a cluster. That counts neighbours where they were, so that the cut may rise. It
cannot where all pay less in their own cluster by their degree: what is minimised is then concave, and below
its tangent. So as long as the cut does not fall, the own cluster is worth a share of the degree more, drawn
at random for each item: those of small shares move, their neighbours hardly ever with them.
"""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coterie._arrays import Index, Labels
from coterie.assign._sizes import BoundedSolver, SizeBounds, shortfalls
from coterie.base import Step, clearly_less
from coterie.exceptions import UndecidedError
from coterie.kmeans import KernelPCKMeans

# The least tolerance that METIS is asked for, in thousandths; below, its cuts are many times as large.
_LEAST_UFACTOR = 30
# Partitions of which METIS gives the best; they cost little beside the graph.
_PARTITIONS = 4
# METIS counts in whole numbers: the largest sums of edges and of loads, and the largest edge where that fits.
_EDGES, _LOADS, _EDGE = 2.0**30, 1e7, 1000.0
# Draws of shares, in a row, after which nothing is expected of another one.
_IN_VAIN = 10


class CutSearch:
    """Starts and improvements of one graph under bounds; its vertices are the must-link components."""

    def __init__(
        self, graph: Any, unit: Index, bounds: SizeBounds, solver: BoundedSolver, rng: np.random.RandomState
    ) -> None:
        """`unit` is the component of each item."""
        self.unit, self.bounds, self.solver, self.rng, self.k = unit, bounds, solver, rng, len(bounds.low)
        self.first, self.count = np.unique(unit, return_index=True, return_counts=True)[1:]
        self.load = np.bincount(unit, bounds.load if len(bounds.load) else None).astype(np.float64)
        edges = graph.tocoo()
        i, j = unit[edges.row], unit[edges.col]
        # first with the edges that are never cut
        self.whole, self.graph = (
            sparse.csr_matrix((edges.data[kept], (i[kept], j[kept])), (len(self.load),) * 2)
            for kept in (i >= 0, i != j)
        )
        self.edges = self.graph.tocoo()
        self.start_by = "metis" if importlib.util.find_spec("pymetis") else "normalized_cut"

    def start(self, number: int, tolerance: float) -> Any:
        """Labels of the vertices that need not meet the bounds."""
        graph, k, low, high = self.graph, self.k, self.bounds.low, self.bounds.high
        seed = int(self.rng.randint(1, 2**31 - 1))
        if not graph.nnz:
            return np.arange(len(self.load)) % k
        if self.start_by == "normalized_cut":
            found = KernelPCKMeans(k, graph="normalized_cut", random_state=seed).fit(self.whole).labels_
            size = np.bincount(found, self.load, k)[:, None]
            # numbered so that sizes miss the bounds least; these may differ by cluster
            return linear_sum_assignment(np.maximum(low - size, 0) + np.maximum(size - high, 0))[1][found]
        import pymetis

        scale = min(_EDGE / graph.data.max(), _EDGES / graph.data.sum())
        target = np.clip(self.bounds.total / k, low, high)
        found = pymetis.part_graph(
            k,
            pymetis.CSRAdjacency(graph.indptr, graph.indices),
            vweights=np.rint(_LOADS / self.load.sum() * self.load).astype(np.int64),
            eweights=np.maximum(1, np.rint(scale * graph.data)).astype(np.int64),
            tpwgts=(target / target.sum()).tolist() if np.ptp(target) > 0 else None,
            recursive=number % 2 == 1,
            options=pymetis.Options(
                seed=seed, ncuts=_PARTITIONS, ufactor=max(_LEAST_UFACTOR, round(1000 * tolerance))
            ),
        )
        return np.asarray(found.vertex_part)

    def descend(self, start: Any, max_iter: int, tol: float, step: Step) -> SimpleNamespace:
        """Meet the bounds, then lower the cut within them."""
        labels = start.astype(np.int32)
        degree = np.asarray(self.graph.sum(axis=1)).ravel()
        history = [] if self.bounds.missed(labels[self.unit]) else [self._cut(labels)]
        n_iter = n_vain = 0
        while n_iter < max_iter and n_vain <= _IN_VAIN:
            n_iter += 1
            own = np.eye(self.k)[labels]
            costs = -(self.graph @ own)
            if n_vain:
                costs -= own * (degree * self.rng.uniform(size=len(degree)))[:, None]
            found = self._cheapest(costs, labels, last=not history)
            value = self._cut(found)
            n_vain = 0 if not history or value < (1.0 - tol) * history[-1] else n_vain + 1
            if not history or clearly_less(value, history[-1]):
                labels = found
                history.append(value)
            if step(history[-1]):
                break
        told = {"objective": history[-1], "history": np.array(history), "n_iter": n_iter}
        return SimpleNamespace(labels=labels[self.unit], converged=n_vain > _IN_VAIN, **told)

    def _cut(self, labels: Labels) -> float:
        """The weight of the edges between clusters."""
        return 0.5 * float(self.edges.data[labels[self.edges.row] != labels[self.edges.col]].sum())

    def _cheapest(self, costs: Any, labels: Labels, *, last: bool) -> Labels:
        """Labels of the vertices within the bounds."""
        table = (costs / self.count[:, None])[self.unit]
        found = self.solver.solve(table, labels[self.unit], last=last)
        if found.missed > 0:
            self.solver.budget = 0  # what can be met does not depend on the start: ask no second time
            some = "; ".join(str(one) for one in shortfalls(self.bounds, found.labels)[:3])
            raise UndecidedError(
                "no labels within all bounds were found, nor proven that there are none; the best miss: "
                f"{some}. Loads are never split: widen size_min and size_max, or tolerance without them."
            )
        return found.labels[self.first]
