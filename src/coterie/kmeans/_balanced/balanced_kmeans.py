"""K-means with clusters of comparable size, begun on a sample."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED

from coterie._arrays import Floats, Index
from coterie.base import About, Account, constrained_fit, instance, one_of, real, warn_user, whole
from coterie.constraints import Constraints, Violations
from coterie.exceptions import ParameterError, UnsupportedConstraintError, ViolatedConstraintsWarning
from coterie.kmeans._balanced.populate import RefiningSolver, populate_stably
from coterie.kmeans._balanced.sample_size import sample_size as draws_needed
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop
from coterie.kmeans._engine.prototype import SHARED_RULES
from coterie.kmeans._engine.sized_loop import BoundedLoop
from coterie.kmeans._engine.starts import CentreStarts, RandomState, drawn_by_weight
from coterie.kmeans._size_constrained_kmeans import SizeConstrainedKMeans

# A sample of this share of the items, or more, is not worth its while.
_NEARLY_ALL = 0.8


class BalancedKMeans(SizeConstrainedKMeans):
    """K-means with clusters of comparable size: cluster a sample, let all items follow, refine.

    As `SizeConstrainedKMeans`, for many items: all starts are made on a sample, whose size depends on the
    number of clusters and not on that of the items, and only the best goes on with all of them. The first
    labels of all items, and every later step, are exact; the book's own steps can be had instead.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    size_min, size_max : None, int, float, str, one per cluster, or dict
        Bounds, as in `SizeConstrainedKMeans`. A float is a share of the mean size: the default 0.9 is the
        book's balancing fraction; 0 is k-means as it is, 1.0 sizes as equal as can be.
    populate : {"exact", "stable", "greedy"}
        How all items follow the sample. "exact": the cheapest labels within the bounds. "stable": the sample
        keeps its labels, each cluster takes the nearest of those whom its minimum lacks (see
        `coterie.assign.stable_assignment`), everybody else goes to the nearest centre. "greedy": the same
        without regard to the bounds, which may then be missed, with a warning; see `violations_.shortfalls`.
    refine : {"exact", "book", "none"}
        How labels get better. "exact": the cheapest ones within the bounds, then new centres, and so on.
        "book": moves and cycles of moves that gain, each by itself (`coterie.assign.improve_within_bounds`).
        "none": not at all.
    sample_size : int or "auto"
        Number of items in the sample. "auto" asks `coterie.kmeans.sample_size`, with clusters as small as
        `size_min` allows (without a minimum: half the mean size). From 0.8 of the items on all are taken.
    per_cluster : int, default 50
        How many items of each cluster the sample is to hold.
    confidence : float, default 0.99
        Probability that it does.
    metric, init, max_iter, tol, verbose, random_state
        As in `COPKMeans`; `init` is where the sample starts.
    n_init : int or "auto"
        Starts on the sample; "auto": 4, or one where all would be the same.

    Attributes
    ----------
    sample_indices_ : array
        The items of the sample, in order.
    prices_ : array of shape (n_clusters,)
        As in `SizeConstrainedKMeans`; not a number unless `refine="exact"`.
    labels_, sizes_, inertia_, objective_, cluster_centers_, history_, violations_, n_iter_, converged_
        As in `SizeConstrainedKMeans`, of all items: what was done on the sample is not in `history_`.

    See Also
    --------
    SizeConstrainedKMeans : all starts with all items; bounds by group, prices of constraints, outliers.
    coterie.kmeans.sample_size : how large a sample must be.

    Notes
    -----
    Constraints hold where populate and refine are both exact; the sample knows those among its items.
    `size_weight` too needs both: the sample is then drawn by it. Where loads that differ were not made to
    fit, the best labels are kept, with a warning; where it is proven that they cannot, an error says so.

    The book's four variants are, with its names, pr: "stable" and "book"; pnr: "stable" and "none"; gpr:
    "greedy" and "book"; gpnr: "greedy" and "none". Only the exact ones find a step in which one item loses
    so that others gain more; with sizes that are to be nearly equal that is most of the quality, and they
    are no slower than "book". The objective never rises, but after "greedy" an exact step has to pay for the
    bounds.

    Time O(n k d) an iteration; how many items have to give way decides the rest. Memory O(n k) beside
    X; with many clusters and exact steps O(n).
    With few items all of them are the sample: take `SizeConstrainedKMeans`, which is then the same.

    References
    ----------
    Banerjee and Ghosh, Clustering with balancing constraints: chapter 8 of Basu, Davidson and Wagstaff
    (eds.), Constrained Clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import BalancedKMeans
    >>> X = np.random.default_rng(0).normal(size=(10_000, 2))
    >>> model = BalancedKMeans(n_clusters=4, size_min=0.9, random_state=0).fit(X)
    >>> bool(model.sizes_.min() >= 2250), len(model.sample_indices_)
    (True, 349)
    """

    about = About(
        what="clusters of comparable size, of many items on a sample first; every constraint holds",
        when="sizes should be nearly equal, and there are many items",
        source="Banerjee and Ghosh; chapter 8",
        twin="COPKMeans",
        bounded=True,
    )
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": UNUSED, "either_or": UNUSED}
    parameter_rules: ClassVar[Any] = {
        **{name: rule for name, rule in SHARED_RULES.items() if name != "warm_start"},
        "size_min": SizeConstrainedKMeans._bound,
        "size_max": SizeConstrainedKMeans._bound,
        "populate": one_of("exact", "stable", "greedy"),
        "refine": one_of("exact", "book", "none"),
        "sample_size": whole(1) | one_of("auto"),
        "per_cluster": whole(1),
        "confidence": real(0.0, 1.0),
        "init": one_of("constraint++", "neighborhoods", "k-means++", "random")
        | instance((np.ndarray, list, tuple), "an array of centres"),
    }
    exempt: ClassVar[dict[str, str]] = {
        "check_predict_the_training_items": "predict is the nearest centre, whatever the sizes",
        "check_weighted_is_repeated": "bounds count items, not weights",
        "check_weighted_is_repeated_under_constraints": "bounds count items, not weights",
    }
    # parameters of the parent that are none here
    group_min = group_max = outlier_cost = max_outliers = None
    weight, on_shortfall, assignment, budget, warm_start = float("inf"), "warn", "local", 1_000_000, False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Any = 0.9,
        size_max: Any = None,
        populate: str = "exact",
        refine: str = "exact",
        sample_size: Any = "auto",
        per_cluster: int = 50,
        confidence: float = 0.99,
        metric: str = "sqeuclidean",
        init: Any = "constraint++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: Any = None,
        size_weight: Any = None,
    ) -> Any:
        """Cluster a sample of X, then all of it within the bounds.

        Parameters
        ----------
        X, y
            As in `COPKMeans.fit`.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            Constraints about pairs and labels; they hold.
        sample_weight : array of shape (n_samples,), optional
            Importance of the items in the objective; the bounds do not see it.
        size_weight : array of shape (n_samples,), optional
            What each item counts in the bounds (people, load, revenue); 1 by default.

        Returns
        -------
        self
        """
        given = {"constraints": constraints, "sample_weight": sample_weight, "size_weight": size_weight}
        return super().fit(X, y, **given)

    @property
    def _exact(self) -> bool:
        """Whether every step is, so that this is the loop of the parent."""
        return self.populate == self.refine == "exact"

    def _sized_loop(
        self, known: Constraints, distortion: Any, rng: RandomState, **given: Any
    ) -> PrototypeLoop:
        distortion.refuse_without_centre()
        if known and not self._exact:
            raise UnsupportedConstraintError(
                f"{self._settings} cannot honour constraints of kind {', '.join(sorted(known.kinds))}; they "
                "hold with populate='exact' and refine='exact'."
            )
        loop: Any = super()._sized_loop(known, distortion, rng, **given)
        if self._exact:
            return loop
        solver = RefiningSolver(loop.bounds, self.refine)
        if len(solver.bounds.load):
            raise ParameterError(
                f"{self._settings} count every item once, but size_weight differs; take populate='exact' "
                "and refine='exact'.",
                "size_weight",
            )
        return BoundedLoop(
            distortion, loop.k, loop.objective_factor, loop.bounds, solver, on_shortfall="warn"
        )

    @property
    def _settings(self) -> str:
        return f"populate={self.populate!r} and refine={self.refine!r}"

    # ---- the sample -----------------------------------------------------------------------------------

    def _starts(self, starts: CentreStarts, loop: Any) -> Iterator[Floats]:
        """One start, the best of the sample; with all items in it, those of the parent."""
        self.sample_indices_ = self._sample(starts, loop)
        if self._exact and len(self.sample_indices_) == starts.distortion.points.n:
            return super()._starts(starts, loop)
        found = self._cluster_sample(starts, loop)
        centres = found.cluster_centers_.astype(np.float64)
        if self.populate != "exact":
            begin = self.sample_indices_, found.labels_
            loop.sized.first = self._populated(starts.distortion, centres, loop, *begin)
        return iter([loop.placed(centres) if isinstance(loop, BoundedLoop) else centres])

    def _sample(self, starts: CentreStarts, loop: Any) -> Index:
        """The items of the sample: each by its load, those of no importance last."""
        n, k, size, bounds = starts.distortion.points.n, self.n_clusters, self.sample_size, loop.bounds
        if size == "auto":
            least = float(bounds.low.min())
            floor = max(math.ceil(bounds.total / least), k) if least > 0 else 2 * k
            wanted = {"per_cluster": self.per_cluster, "confidence": self.confidence}
            size = draws_needed(k, partition_floor=floor, **wanted)
        elif size < k:
            raise ParameterError(
                f"sample_size={size}, but n_clusters={k} are to be found in it; give {k} or more.",
                "sample_size",
            )
        if size >= _NEARLY_ALL * n:
            return np.arange(n)
        mass, weight = bounds.load, starts.distortion.sample_weight
        if len(weight):
            counts = (weight > 0) * (mass if len(mass) else 1.0)
            mass = counts if counts.any() else weight
        return np.sort(drawn_by_weight(n, mass, size, starts.rng))

    def _cluster_sample(self, starts: CentreStarts, loop: Any) -> SizeConstrainedKMeans:
        """K-means of the sample; where it is followed exactly, under its share of the bounds.

        Constraints that join many items into few units leave bounds that a sample may not be able to meet.
        """
        rows, distortion, bounds = self.sample_indices_, starts.distortion, loop.bounds
        names = ("init", "n_init", "max_iter", "tol", "metric")
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        given["size_min"], share = 0, len(rows) / bounds.total
        if self.populate == "exact" and not starts.known:
            given["size_min"] = np.floor(share * bounds.low).astype(np.int64)
            given["size_max"] = np.ceil(share * bounds.high).astype(np.int64)
        found = SizeConstrainedKMeans(self.n_clusters, random_state=starts.rng, **given)
        weight = distortion.sample_weight[rows] if len(distortion.sample_weight) else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # all items will tell
            return found.fit(distortion.points.X[rows], constraints=starts.known[rows], sample_weight=weight)

    def _populated(self, distortion: Any, centres: Floats, loop: Any, rows: Index, kept: Any) -> Any:
        if self.populate == "stable":
            return populate_stably(distortion, centres, loop.sized.bounds, rows, kept, loop.costs)
        labels = distortion.nearest(centres)
        labels[rows] = kept
        return labels

    def _best_of(
        self, X: Any, loop: PrototypeLoop, n_starts: int, begin: Iterator[Floats], finish: Any = None
    ) -> LoopOutcome:
        all_items = len(self.sample_indices_) == X.shape[0]
        return super()._best_of(X, loop, n_starts if self._exact and all_items else 1, begin, finish)

    # ---- what came out --------------------------------------------------------------------------------

    def _keep(self, best: Any, X: Any) -> None:
        super()._keep(best, X)
        if self.refine != "exact":
            self.prices_ = np.full(self.n_clusters, np.nan)

    def _recount(self, known: Constraints) -> Violations:
        missed = self._missed
        if self.populate != "greedy" or not missed:
            return super()._recount(known)
        self._missed = ()
        some = "; ".join(str(one) for one in missed[:3]) + ("; ..." if len(missed) > 3 else "")
        warn_user(
            f"{self._settings} do not keep to the bounds: {some}. Take populate='stable' or 'exact'.",
            ViolatedConstraintsWarning,
        )
        return replace(super()._recount(known), shortfalls=missed)

    def account(self) -> Account:
        """As of the parent; prices are known only where every step is exact."""
        found = super().account()
        if found.trace is not None and len(self.sample_indices_) < len(self.labels_):
            text = f"{found.trace.text} What was done on the sample is not counted."
            found = replace(found, trace=replace(found.trace, text=text))
        if self.refine == "exact" or found.bounds is None:
            return found
        return replace(
            found, bounds=replace(found.bounds, prices=None), figures={"loads": found.figures["loads"]}
        )
