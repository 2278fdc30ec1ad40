"""Many clusters within bounds on their sizes, fast: a tree of 2-means, then moves between neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from coterie._arrays import NOTHING, Floats, Labels
from coterie.assign._sizes import BoundedMoves, SizeBounds, is_bound, read_bounds
from coterie.base import About, Account, Bounds, Rule, one_of
from coterie.constraints import Constraints
from coterie.distortion import Cosine
from coterie.exceptions import ParameterError
from coterie.kmeans._balanced.split_tree import SplitTree
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import CentreStarts, RandomState

# Centres that each item is offered, beside its own, and among how many around that one they are searched.
_OFFERED, _AROUND = 8, 128
# Trials of each split that the book makes; one is enough where the parts are improved, or cut to size.
_TRIALS = {"share": 1, "largest": 5}


class SizeConstrainedBisection(PrototypeClusterer):
    """Many clusters whose sizes keep to bounds, by a tree of 2-means and a circulation between neighbours.

    A split gives each side a number of clusters and a size that can meet the bounds; then whole sets of items
    move between near centres at once, as a linear program says, and the centres follow. The objective falls
    at every step. Made for hundreds of clusters and more: parts of an index, shards, batches.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    size_min, size_max : None, int, float or str
        Bounds of all sizes, as in `SizeConstrainedKMeans`. No cluster is empty.
    split : {"share", "largest"}
        "share": each side of a split gets clusters in proportion to its items, and is cut where the bounds
        ask for it. "largest", the book's bisecting k-means: the largest cluster is split, by the best of five
        trials, at last into equal halves, so that it is at most twice the second; without bounds.
    refine : bool, default True
        Whether to improve the tree: items move between the eight centres that are nearest to each, within the
        bounds (with "largest": sizes stay as they are), then the centres to their means.
    n_init : int or "auto", default 1
        Number of trees; the best is kept. "auto" is four.
    max_iter : int, default 5
        Most rounds of moving items and centres; the first ones gain most.
    tol, metric, verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each item; neighbours in the tree have neighbouring numbers.
    cluster_centers_ : array of shape (n_clusters, n_features)
        The means of the clusters before items moved for the last time.
    history_ : array
        The objective of the tree, then after each half-round: items, centres.
    n_iter_, converged_
        Rounds after the tree, and whether the last changed next to nothing; 1 and True without `refine`.
    sizes_, inertia_, objective_, violations_
        As in `SizeConstrainedKMeans`.

    See Also
    --------
    SizeConstrainedKMeans : exact labels, bounds by cluster, loads, groups, constraints; for fewer clusters.
    coterie.assign.improve_within_bounds : the moves alone, for your own costs.

    Notes
    -----
    Time O(n d log k) for the tree, memory of one copy of X. A round of refinement takes O(n d) for distances
    (the nearest centres of an item are searched among the 128 around its own; never n x k) and O(k^2 d) for
    those between the centres, then a linear program of some cells for each pair of neighbouring clusters. A
    million rows of 32 numbers in 10,000 clusters: 8 seconds for the tree, half a minute and 4 GB for a round.

    The first cuts know nothing of the small clusters below, so that without `refine` the objective is a tenth
    to a third above that of `SizeConstrainedKMeans`. `predict` is the nearest centre, whatever the sizes.

    References
    ----------
    Banerjee and Ghosh, chapter 8 of Constrained Clustering; section on other approaches. Shares and the
    circulation are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SizeConstrainedBisection
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0]])
    >>> model = SizeConstrainedBisection(3, size_min=2, random_state=0).fit(X)
    >>> model.sizes_, round(model.objective_, 6)
    (array([2, 2, 2]), 0.75)
    """

    about = About(
        what="takes no constraints; many clusters whose sizes keep to bounds, by splitting in two",
        when="sizes matter and there are hundreds of clusters",
        source="Banerjee and Ghosh; chapter 8",
    )
    constraint_kinds: ClassVar[frozenset[str]] = frozenset()
    obeys = "all"
    _objective_factor = None
    warm_start = False
    init = "tree"
    _bound: ClassVar[Any] = Rule(
        lambda value: value is None or is_bound(value), "None, a number or a share such as '110%', for all"
    )
    parameter_rules: ClassVar[Any] = {
        **{name: rule for name, rule in SHARED_RULES.items() if name != "warm_start"},
        "size_min": _bound,
        "size_max": _bound,
        "split": one_of(*_TRIALS),
        "refine": one_of(True, False),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Any = None,
        size_max: Any = None,
        split: str = "share",
        refine: bool = True,
        n_init: Any = 1,
        max_iter: int = 5,
        tol: float = 1e-4,
        metric: str = "sqeuclidean",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def _loop(self, known: Constraints, distortion: Any, rng: RandomState) -> PrototypeLoop:
        for name in ("size_min", "size_max"):
            if self.split == "largest" and getattr(self, name) is not None:
                raise ParameterError(
                    f"split='largest' takes no bounds, but {name}={getattr(self, name)!r}: it splits where "
                    "the data say. Take split='share'.",
                    name,
                    "split",
                )
        distortion.refuse_without_centre()
        self._bounds = read_bounds(self.size_min, self.size_max, distortion.points.n, self.n_clusters)
        tree = SplitTree(distortion, rng, _TRIALS[self.split])
        factor = self._objective_factor_of(distortion)
        return TreeLoop(tree, self._bounds, factor, largest=self.split == "largest", refine=self.refine)

    def _starts(self, starts: CentreStarts, loop: PrototypeLoop) -> Iterator[Floats]:
        return repeat(NOTHING)  # a tree begins with all items, not with centres

    def _keep(self, best: LoopOutcome, X: Any) -> None:
        super()._keep(best, X)
        self.sizes_ = np.bincount(best.labels, minlength=self.n_clusters)

    def account(self) -> Account:
        """As for every prototype, with the bounds; see `ConstrainedClusterMixin.account`."""
        given = self.size_min is not None or self.size_max is not None
        bounds, found = Bounds(self._bounds) if given else None, super().account()
        trace = found.trace and replace(found.trace, ends=("tree", "end"))
        if trace and not self.refine:
            trace = replace(trace, text="Distances to the centres. The tree alone: nothing moved afterwards.")
        return replace(found, bounds=bounds, trace=trace, figures={"loads": self.sizes_})


class TreeLoop(PrototypeLoop):
    """A tree in place of first centres, and rounds in which few items move, none to a far cluster."""

    def __init__(
        self, tree: SplitTree, bounds: SizeBounds, factor: float, *, largest: bool, refine: bool
    ) -> None:
        super().__init__(tree.distortion, None, len(bounds.low), factor)
        self.low, self.high = np.maximum(bounds.low, 1.0), np.minimum(bounds.high, float(bounds.n))
        self.tree, self.largest, self.refine = tree, largest, refine and self.k > 1
        # by which linear scores are multiplied to be costs
        self.scale = factor * tree.weight.astype(np.float64)
        if isinstance(self.distortion, Cosine):
            self.scale *= self.distortion.scale

    def run(
        self, centres: Floats, *, max_iter: int, tol: float, step: Callable[[float], bool]
    ) -> LoopOutcome:
        """One tree and what follows; `centres` are not looked at."""
        limit, low, high = tol * self.distortion.tol_scale, self.low, self.high
        if self.largest:
            labels = self.tree.by_size(self.k)
            low = high = np.bincount(labels, minlength=self.k).astype(np.float64)
        else:
            labels = self.tree.by_share(self.k, int(low[0]), int(high[0]))
        centres = self._means(labels)
        history, n_iter, converged, stop = [self._cost(labels, centres)], 0, not self.refine, False
        while self.refine:
            if not self._move(labels, centres, low, high):
                converged = True
            else:
                history.append(self._cost(labels, centres))
            if converged or stop or n_iter == max_iter:
                break
            n_iter += 1
            before, centres = centres, self._means(labels)
            history.append(self._cost(labels, centres))
            converged = float(((centres - before) ** 2).sum()) <= limit
            stop = step(history[-1])
        inertia = history[-1] / self.objective_factor
        return LoopOutcome(labels, centres, inertia, history[-1], history, max(n_iter, 1), converged)

    def _cost(self, labels: Labels, centres: Floats) -> float:
        return self.objective_factor * float(self.distortion.cost_to_assigned(labels, centres).sum())

    def _means(self, labels: Labels) -> Floats:
        """The centres; of items that weigh nothing or cancel each other, one of them."""
        found = self.distortion.centres_of(labels, self.k)
        for h in np.flatnonzero(~found.any(axis=1)).tolist():
            found[h] = self.distortion.centre_of(np.flatnonzero(labels == h))
        return found

    def _move(self, labels: Labels, centres: Floats, low: Floats, high: Floats) -> int:
        """Improve the labels within the bounds; returns the number of moves."""
        moves = BoundedMoves(self._offers(labels, centres), labels, low, high)
        moves.by_book()  # cheap, and leaves less to the program
        if moves.circulate():
            moves.by_book()
        return moves.n_moves

    def _offers(self, labels: Labels, centres: Floats) -> Any:
        """Costs in the own cluster and in those of the nearest centres; nobody looks far beyond the own."""
        n, width = len(labels), min(_OFFERED + 1, self.k)
        cluster, cost = np.empty((n, width), dtype=np.int32), np.empty((n, width))
        slopes, intercepts = self.distortion.linear(centres)
        own = np.arange(self.k)
        around = (own[:, None] + own) % self.k
        if self.k > _AROUND:
            search = NearestNeighbors(n_neighbors=_AROUND - 1, algorithm="brute").fit(centres)
            around = np.column_stack([own, search.kneighbors(return_distance=False)])
        by_cluster = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
        for near, items in zip(around, by_cluster, strict=True):
            scores = self.distortion.points.scores(items, slopes[near], intercepts[near])
            best = np.zeros((len(items), width), dtype=np.int64)  # the own one, then the nearest others
            best[:, 1:] = 1 + np.argpartition(scores[:, 1:], width - 2, axis=1)[:, : width - 1]
            cluster[items], cost[items] = near[best], np.take_along_axis(scores, best, axis=1)
        cost *= self.scale[:, None]
        stored = cost.ravel(), cluster.ravel(), np.arange(0, n * width + 1, width)
        return sparse.csr_array(stored, (n, self.k))
