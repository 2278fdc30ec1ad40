"""Seeded and constrained k-means: some labels are known, and start the clusters or stay in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._arrays import Floats, Index, Labels
from coterie.assign._core import CoreSolver, Scores, build_core
from coterie.base import About
from coterie.constraints import Constraints
from coterie.distortion import Distortion
from coterie.exceptions import UnsupportedConstraintError
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import CentreStarts, RandomState


class _Seeds:
    """The labelled items, and the class of each in sorted order of the classes' names."""

    def __init__(self, known: Constraints, n_clusters: int, method: str) -> None:
        groups = [group for group in known.groups if group.active]
        if len(groups) > 1:
            raise UnsupportedConstraintError(
                f"{method} takes one set of labels, but {len(groups)} were given: their classes "
                "cannot be compared. Put all known labels into one vector."
            )
        self.items: Index = groups[0].items if groups else np.empty(0, dtype=np.int64)
        self.n_classes = groups[0].n_codes if groups else 0
        self.codes: Index = groups[0].ranks()[groups[0].codes] if groups else self.items
        if self.n_classes > n_clusters:
            names = [str(groups[0].names[code]) for code in np.argsort(groups[0].ranks())[:6]]
            listed = ", ".join(names) + (", ..." if self.n_classes > 6 else "")
            raise ValueError(
                f"the labels name {self.n_classes} classes ({listed}), "
                f"but n_clusters={n_clusters}; ask for at least as many clusters."
            )

    def means(self, starts: CentreStarts) -> Floats:
        """The centre of each class."""
        found = [
            starts.distortion.centre_of(self.items[self.codes == code]) for code in range(self.n_classes)
        ]
        return np.array(found).reshape(len(found), starts.distortion.points.d)


class _FixedCore(CoreSolver):
    """Each class is a unit that never leaves its cluster."""

    def __init__(self, n_items: int, seeds: _Seeds) -> None:
        code = np.full(n_items, -1, dtype=np.int32)
        code[seeds.items] = seeds.codes
        self.core = build_core(Constraints.from_labels(code), "all")
        self.labels: Labels = np.empty(self.core.n_units, dtype=np.int32)
        self.labels[self.core.unit] = code[self.core.items]

    def assign(self, cost: Floats, labels: Labels | None, scores: Scores, last: bool) -> Labels:
        return self.labels.copy()

    def coupling_cost(self, labels: Labels) -> Floats:
        return np.full(len(labels), -np.inf)


class SeededKMeans(PrototypeClusterer):
    """K-means whose clusters start at the means of labelled items.

    The known labels guide the start only: later a labelled item may go elsewhere, so that wrong labels are
    outvoted (listed in `violations_`, with one warning). Cluster h starts as the h-th class, in sorted
    order of the classes; clusters without labels start by k-means++.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters, at least that of the classes.
    n_init : int or "auto", default "auto"
        Number of starts. "auto" is 1 where every cluster has a class, else 4.
    max_iter, tol, metric, warm_start, verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, objective_, history_, n_iter_, converged_, violations_
        As in `COPKMeans`; constraints may be broken.

    See Also
    --------
    ConstrainedSeedKMeans : labels that are right, and stay.

    Notes
    -----
    Time O(n k d) an iteration, memory O(n) beside X. Takes partial labels only (`constraints=`
    a vector with -1 for unknown, or `Constraints.from_labels`).

    References
    ----------
    Basu, Banerjee and Mooney 2002, Semi-supervised clustering by seeding.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SeededKMeans
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> SeededKMeans(n_clusters=2).fit(X, constraints=[1, -1, -1, 0]).labels_
    array([1, 1, 0, 0], dtype=int32)
    """

    about = About(
        what="known labels start the clusters, and may be outvoted",
        when="a few items have labels that may be wrong",
        source="Basu, Banerjee and Mooney 2002",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "none"
    constraint_kinds = frozenset({"label"})
    parameter_rules: ClassVar[Any] = SHARED_RULES

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        metric: str = "sqeuclidean",
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _seeds(self, known: Constraints) -> _Seeds:
        return _Seeds(known, self.n_clusters, type(self).__name__)

    def _one_start_is_enough(self, starts: CentreStarts) -> bool:
        return self._seeds(starts.known).n_classes == self.n_clusters

    def _number(self, best: LoopOutcome, known: Constraints) -> None:
        """Nothing to do: cluster h started as the h-th class."""

    def _starts(self, starts: CentreStarts, loop: PrototypeLoop) -> Iterator[Floats]:
        means = self._seeds(starts.known).means(starts)
        while True:
            yield starts.plus_plus(means, joined=False)


class ConstrainedSeedKMeans(SeededKMeans):
    """K-means in which labelled items start the clusters, and stay in them.

    As `SeededKMeans`, but the label of a labelled item never changes: item i of the h-th class, in sorted
    order of the classes, has `labels_[i] == h`. For labels that are right; with doubtful ones use
    `SeededKMeans`.

    Parameters
    ----------
    n_clusters, n_init, max_iter, tol, metric, warm_start, verbose, random_state
        As in `SeededKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, objective_, history_, n_iter_, converged_, violations_
        As in `COPKMeans`.

    See Also
    --------
    COPKMeans : labels together with other constraints.

    Notes
    -----
    Time O(n k d) an iteration, memory O(n) beside X. The paper calls it Constrained-KMeans.

    References
    ----------
    Basu, Banerjee and Mooney 2002, Semi-supervised clustering by seeding.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConstrainedSeedKMeans
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> ConstrainedSeedKMeans(n_clusters=2).fit(X, constraints=[0, -1, 0, 1]).labels_
    array([0, 0, 0, 1], dtype=int32)
    """

    about = About(
        what="known labels start the clusters, and stay",
        when="a few items have labels that you trust",
        source="Basu, Banerjee and Mooney 2002",
    )
    obeys: ClassVar[Literal["all", "hard", "none"]] = "all"

    def _solver(self, known: Constraints, distortion: Distortion, rng: RandomState) -> CoreSolver | None:
        seeds = self._seeds(known)
        return _FixedCore(known.n_items, seeds) if len(seeds.items) else None
