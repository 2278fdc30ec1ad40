"""HMRFKMeans: soft pairs and a learned metric for squared distances, cosine and I-divergence."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie._arrays import Floats
from coterie.base import About, one_of, real, warn_user
from coterie.constraints import Constraints
from coterie.constraints._model import StatedPairs
from coterie.distortion import IDivergence, Mahalanobis, WeightedCosine
from coterie.exceptions import InfeasibleConstraintsError, ViolatedConstraintsWarning
from coterie.kmeans._engine.learning import LEARNING_RULES, LearningClusterer
from coterie.kmeans._engine.starts import RandomState
from coterie.kmeans._prices import closure as _closure_prices
from coterie.kmeans._prices.by_distance import PricedPairs
from coterie.kmeans._prices.closure import (
    MOST_SUMS,
    ClosedPairs,
    Components,
    TooManyPairsError,
    written_closure,
)

_KINDS: dict[str, Any] = {"sqeuclidean": Mahalanobis, "cosine": WeightedCosine, "idivergence": IDivergence}
# Steps for 300 items of 3,000 features, about what the paper has. A slope adds up over the items, and is
# shared by the features: with few features and many items the same step would throw the weights about.
_STEPS = {"cosine": 1.75, "idivergence": 0.5}
_PER_ITEM = 3000 / 300


class HMRFKMeans(LearningClusterer):
    """K-means on tables, text or counts, with soft pairs and learned weights of the features.

    Pairs seed the centres, price the labels (a broken must-link costs how far its ends are apart, a broken
    cannot-link how much nearer they are than any two could be) and teach the weights of the features. Three
    distortions: squared distances, cosine (text, embeddings), I-divergence (counts, shares). What follows
    from the pairs can count too: items that must-links join are all must-linked, and so on. Pairs marked
    `hard` hold.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    metric : {"sqeuclidean", "cosine", "idivergence"}
        The distortion. Cosine takes no rows of zeros, I-divergence no negative numbers either.
    weight : float, default 0.2
        What a broken pair of strength 1 costs, in units of what it is apart; 1 in the paper, which obeys
        wrong pairs too. 0 leaves soft pairs out.
    learn : {"diagonal", "none"}
        Whether weights of the features are learned.
    use_pairs : {"both", "init", "assign", "none"}
        Where soft pairs act: on the start, on labels and metric, on both, or nowhere. With `learn="none"` the
        paper's ablations are "none" (k-means), "init" (I) and "both" (I-C); with "diagonal", "both" is I-C-D.
    closure : bool or "auto", default False
        Whether pairs that follow from the stated ones count, as in the paper, with their mean strength; from
        wrong pairs more wrong ones follow. "auto" leaves them out, with a warning, if the pairs contradict
        each other or too many follow; True raises then. Hard groups keep their own items apart alone.
    rule : {"auto", "descent", "ascent"}
        How the weights are learned; squared distances have a closed form, and no rule. "descent" follows the
        slope of the objective, and is the rule of the cosine. For I-divergence it drives all weights towards
        zero; "ascent" (the default there) is the rule as the paper prints it, up the slope, with the weights
        brought back to a mean of one: it raises the objective, but found better clusters of text.
    step : float or "auto", default "auto"
        Length of a step; with I-divergence it gets .9 times shorter in each iteration. "auto" is 1.75
        (cosine) or .5 (I-divergence) for 300 items of 3,000 features, as many as the paper has, and goes
        with features / items: longer steps give the weight to a few features, and may lose the clusters.
    backtrack : bool, default True
        Whether a step is halved until the objective does not rise; "ascent" never is.
    smoothing : float or "auto", default "auto"
        I-divergence: how strongly a centre is drawn to the uniform distribution, `(mean + smoothing / d) / (1
        + smoothing)` for d shares, so that it has no zero. "auto" is 10 (the authors', for text) times the
        share of zeros in X.
    smoothed : {"centers", "annealed", "items"}
        I-divergence: "centers" smooths centres alone, as the paper does; "annealed" lets the smoothing fall
        to .8 of itself in each iteration, down to a thousandth. With "items" the divergence of `smoothing`
        uniform pseudo-items an item counts as well: the smoothed mean is the best centre, but text suffers.
    init : {"mixed", "neighborhoods", "perturb", "k-means++", "random"} or array
        Where a start begins. "neighborhoods" takes means of must-link components, farthest first, those that
        cannot-links keep apart before others, then k-means++; "mixed" does so in the first start and is
        k-means++ in others. "perturb" is the paper's: components farthest first, then the mean of all
        items, each feature shaken.
    n_init : int or "auto", default "auto"
        Number of starts; the best is kept, with cosine and I-divergence the best before weights are learned
        (which is then done once). "auto" is 1 where the start is given, else 4.
    max_iter, tol, warm_start, verbose, random_state
        As in `COPKMeans`. `tol` is the relative change of the objective below which a creeping metric stands
        still; it also ends after 20 iterations in which no label changed. Many more iterations than 40 give
        the weight to fewer and fewer features.

    Attributes
    ----------
    labels_, cluster_centers_, history_, n_iter_, converged_, violations_
        As in `COPKMeans`; `history_` has a value for labels, centres and metric of each iteration.
    metric_ : array of shape (d,)
        The learned weights of the features.
    objective_, objective_parts_, inertia_, weight_
        As in `MPCKMeans`.
    smoothing_ : float
        I-divergence: the smoothing that was used.
    regularized_ : int
        Number of weights at their limit: 1e-5 (cosine, I-divergence), or the floor of `MPCKMeans`.

    See Also
    --------
    MPCKMeans : full metrics and a metric for each cluster, for squared distances.
    PCKMeans : nothing is learned, a broken pair has a fixed price.

    Notes
    -----
    The objective never rises with squared distances, and with the cosine while `backtrack` is on. With the
    I-divergence it may: a smoothed mean is not the best centre, and "ascent" climbs. It does not with
    `smoothed="items"` while nothing is learned. Inferred pairs of the cosine, and more than 100,000 of
    squared distances, are not written down: they follow from sums over must-link components. For
    I-divergence, and where the sums would take more than half a gigabyte, they are: of large components some
    200 for an item with each other component, at random and stronger in turn. Sparse X stays sparse; centres
    are dense. Time an iteration O(z k) for z non-zeros of X, plus O(k) for each non-zero of a constrained row
    a sweep. With squared distances the unit of the features does not matter; with I-divergence it does.

    References
    ----------
    Basu, Bilenko and Mooney 2004, A probabilistic framework for semi-supervised clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Constraints, HMRFKMeans
    >>> X = np.array([[3.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 4.0, 1.0], [1.0, 3.0, 1.0], [2.0, 2.0, 1.0]])
    >>> known = Constraints(must_link=[(0, 4)], cannot_link=[(0, 2)], n_items=5)
    >>> HMRFKMeans(n_clusters=2, metric="cosine", random_state=0).fit(X, constraints=known).labels_
    array([0, 0, 1, 1, 0], dtype=int32)
    """

    about = About(
        what="learns which features (words) matter, from pairs, which have a price, and from the clusters",
        when="text with pairs, and wide tables; counts, by I-divergence, from Python",
        source="Basu, Bilenko and Mooney 2004 (KDD)",
    )
    parameter_rules: ClassVar[Any] = {
        **LEARNING_RULES,
        "metric": one_of(*_KINDS),
        "learn": one_of("diagonal", "none"),
        "closure": one_of("auto", True, False),
        "rule": one_of("auto", "descent", "ascent"),
        "step": real(0.0, above=True) | one_of("auto"),
        "backtrack": one_of(True, False),
        "smoothing": real(0.0, above=True) | one_of("auto"),
        "smoothed": one_of("centers", "annealed", "items"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "sqeuclidean",
        weight: float = 0.2,  # this and no closure: found on generated clusters and topics, 0 and 10% wrong
        learn: str = "diagonal",
        use_pairs: str = "both",
        closure: Any = False,
        rule: str = "auto",
        step: Any = "auto",
        backtrack: bool = True,
        smoothing: Any = "auto",
        smoothed: str = "centers",
        init: Any = "mixed",
        n_init: Any = "auto",
        max_iter: int = 40,
        tol: float = 1e-5,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.weight = weight
        self.learn = learn
        self.use_pairs = use_pairs
        self.closure = closure
        self.rule = rule
        self.step = step
        self.backtrack = backtrack
        self.smoothing = smoothing
        self.smoothed = smoothed
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether `history_` never rises; see the notes of the class."""
        fixed = self.learn == "none"
        falls = {"sqeuclidean": True, "cosine": fixed or self.backtrack}
        return falls.get(self.metric, fixed and self.smoothed == "items")

    @property
    def _distortion(self) -> Any:
        return _KINDS[self.metric]

    def _make(self, X: Any, weight: Floats | None) -> Any:
        if self.metric == "cosine" and self.rule == "ascent":
            raise ValueError(
                'rule="ascent" is for metric="idivergence"; the weights of the cosine go by "descent".'
            )
        if self.metric == "sqeuclidean":
            return Mahalanobis(X, weight)
        if self.step == "auto":
            n_items = X.shape[0] if weight is None else float(weight.sum())
            step = _STEPS[self.metric] * X.shape[1] / n_items / _PER_ITEM
        else:
            step = float(self.step)
        if self.metric == "cosine":
            return WeightedCosine(X, weight, step=step, backtracks=self.backtrack)
        if "_fitting" in self.__dict__:
            there = np.average(np.asarray((X != 0).sum(axis=1)).ravel(), weights=weight) / X.shape[1]
            self.smoothing_ = float(10.0 * (1.0 - there) if self.smoothing == "auto" else self.smoothing)
        given: Any = {"smoothing": self.smoothing_, "smoothed": self.smoothed, "backtracks": self.backtrack}
        return IDivergence(X, weight, climbs=self.rule != "descent", step=step, **given)

    def _keep(self, best: Any, X: Any) -> None:
        super()._keep(best, X)
        if self.metric != "sqeuclidean" and self.regularized_ >= X.shape[1] - 1 > 0:
            warn_user(
                f"the weights of {self.regularized_} of {X.shape[1]} features fell to their limit: under one "
                'feature alone all items look the same. Take shorter steps (step), or learn="none".',
                ConvergenceWarning,
            )

    def _priced(self, known: Constraints, pairs: StatedPairs, distortion: Any, rng: RandomState) -> Any:
        given = known, pairs, self.weight_, self.n_clusters, rng, distortion
        structure = pairs.structure(known)
        closed = Components.of(structure) if len(pairs.ij) and self._close(structure) else None
        if closed is None or not closed.n:  # nothing follows
            return PricedPairs(*given)
        if self.metric == "sqeuclidean" and closed.n_pairs <= _closure_prices.FEW_PAIRS:
            return PricedPairs(known, written_closure(structure, pairs, rng, every=True), *given[2:])
        by_sums = (
            distortion.embedded is not None
            and closed.n_sums(distortion.points.X[structure.constrained_items], self.n_clusters) <= MOST_SUMS
        )
        if not by_sums:
            try:
                return PricedPairs(known, written_closure(structure, pairs, rng), *given[2:])
            except TooManyPairsError as error:
                if self.closure is True:
                    raise
                warn_user(f"what follows from the pairs is left out: {error}", UserWarning)
                return PricedPairs(*given)
        return ClosedPairs(*given, closed)

    def _close(self, structure: Constraints) -> bool:
        """Whether pairs that follow count."""
        if self.closure is False:
            return False
        if not structure.contracted.n_contradictions:
            return True
        explanation = structure.explain()
        if self.closure is True:
            raise InfeasibleConstraintsError(
                f"contradictory pairs have no closure: {explanation} Or pass closure=False.",
                explanation.conflict,
            )
        warn_user(
            f"the pairs contradict each other, so what follows from them is left out. {explanation}",
            ViolatedConstraintsWarning,
        )
        return False
