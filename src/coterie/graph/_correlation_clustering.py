"""Correlation clustering: the partition that goes against the least of what is said about pairs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from coterie._arrays import Index, by_first_occurrence
from coterie.adjacency import read_weights
from coterie.assign._core import soft_penalty
from coterie.base import (
    About,
    Account,
    ConstrainedClusterMixin,
    Listing,
    Price,
    Section,
    Trace,
    anything,
    best_of_starts,
    constrained_fit,
    one_of,
    real,
    warn_user,
    whole,
)
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.exceptions import ParameterError
from coterie.graph._correlation.advice import Advice, read_advice
from coterie.graph._correlation.run import Run
from coterie.graph._correlation.signed_graph import signed_graph, votes_of

_OF_THE_CHAPTER = "pivot", "region", "cgw", "lp-pivot", "cautious", "sdp", "two", "trivial", "exact"
# More passes than any search makes: for bars of progress.
_MOST_PASSES = 100


class CorrelationClustering(ConstrainedClusterMixin, BaseEstimator):
    """The partition that disagrees least with scores of pairs: together or apart, each with a strength.

    There are no features and no number of clusters, only weights: positive ones attract, negative ones
    repel. What is minimised is the weight of attracting pairs that are parted and of repelling pairs that are
    joined. A lower bound says how far from the best the answer can be at most.

    Parameters
    ----------
    n_clusters : int, optional
        Exactly so many clusters, none of them empty. By default as many as cost least.
    algorithm : {"auto", "local", "pivot", "region", "cgw", "lp-pivot", "cautious", "sdp", "two", "trivial", \
"exact"}, default "auto"
        "auto" and "local": the local search, from pivots and from single items; "auto" also solves small
        parts exactly. "pivot": items in random order take the items that they attract. "region", "cgw",
        "lp-pivot": roundings of the linear program. "cautious": clusters in which almost all attract each
        other. "sdp": random hyperplanes through the semidefinite relaxation. "two": at most two clusters, for
        the largest correlation, or single items. "trivial": the better of one cluster and single items.
        "exact": an integer program, within `time_limit`.
    default : float, at most 0
        The weight of pairs that are not listed; -1 with weights of 1 is cluster editing. It is never written
        out. A dense X lists all pairs.
    weight : float or "auto", default "auto"
        What a soft constraint of strength 1 adds to the weight of its pair; "auto": the mean size of the
        weights that are not 0.
    refine : bool, default True
        Whether the local search goes on from the answer of the algorithm. Without it the answer is the
        algorithm's own, as its guarantee speaks of.
    n_init : int or "auto", default "auto"
        Number of starts, where chance plays a part; "auto" is 10, and 1 above 20,000 items.
    tol : float, default 1e-4
        The search ends with a pass that lowers the cost by no more than this share.
    bound : {"auto", "lp", "packing", "pairs", None}, default "auto"
        How the lower bound is found: by the linear program, by packing of inconsistent triples, or only from
        pairs that both attract and repel. "auto": the first for up to 100 items that hang together, else the
        second.
    time_limit : float, optional
        Seconds for "exact", and for further starts.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_, violations_, n_iter_, converged_
        As in all clusterers; `n_iter_` counts passes of the best start.
    n_clusters_ : int
        Number of clusters.
    disagreements_, agreements_ : float
        The weight of advice that the labels go against, and of advice that they follow.
    unavoidable_ : float
        The part of the disagreements that pairs cost which both attract and repel.
    objective_, history_ : float, array
        The disagreements and `weight_` times the strength of broken soft constraints; after each pass.
    lower_bound_ : float
        No labels that keep the hard constraints have an objective below.
    bound_ : {"exact", "lp", "packing", "pairs", None}
        How it was found; "exact": the labels are the best there are.
    gap_ : float
        (objective - lower bound) / objective.
    guarantee_ : float or None
        The factor that the algorithm promises for such input: of the least disagreements (expected, where
        chance plays a part), for "trivial" and "sdp" of the most agreements. None where the input does not
        earn one.
    weight_ : float
        The weight that was used.

    See Also
    --------
    PCKMeans : where there are features as well.
    ConstrainedLinkage : distances and a threshold.

    Notes
    -----
    Hard constraints of all kinds hold; groups are never turned into pairs. A pass costs O(listed pairs).
    Linear programs reach some hundreds of items that hang together, the semidefinite one 500.

    References
    ----------
    Immorlica and Wirth, chapter 13 of Basu, Davidson and Wagstaff (eds.), Constrained Clustering. Bansal,
    Blum and Chawla 2004, Correlation clustering. Traag, Waltman and van Eck 2019, From Louvain to Leiden.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import CorrelationClustering
    >>> score = np.zeros((4, 4))  # a path: a-b, b-c and c-d are alike, all other pairs are not
    >>> score[[0, 1, 2], [1, 2, 3]] = 1
    >>> score = np.where(score + score.T, 1, -1)
    >>> model = CorrelationClustering(random_state=0).fit(score)
    >>> model.labels_, model.disagreements_, model.bound_
    (array([0, 0, 1, 1]), 1.0, 'exact')
    """

    about = About(
        what="goes against the least of given scores of pairs; hard constraints hold, soft ones add to them",
        when="scores of pairs (a matcher's, votes, a noisy graph) and no features",
        source="Immorlica and Wirth, chapter 13; Bansal, Blum and Chawla 2004",
        measure="given",
    )
    wants: ClassVar[Any] = "weights"
    parameter_rules: ClassVar[Any] = {
        "n_clusters": whole(1) | one_of(None),
        "algorithm": one_of("auto", "local", *_OF_THE_CHAPTER),
        "default": real(),
        "weight": real(0.0) | one_of("auto"),
        "refine": one_of(True, False),
        "n_init": whole(1) | one_of("auto"),
        "tol": real(0.0),
        "bound": one_of("auto", "lp", "packing", "pairs", None),
        "time_limit": real(0.0, above=True) | one_of(None),
        "random_state": anything("None, a seed or a RandomState"),
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        algorithm: str = "auto",
        default: float = 0.0,
        weight: Any = "auto",
        refine: bool = True,
        n_init: Any = "auto",
        tol: float = 1e-4,
        bound: str | None = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, X_minus: Any = None) -> Any:
        """Find the partition.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_samples)
            Signed weights of pairs, symmetric; the diagonal says nothing. Infinite ones must hold. Or a
            NetworkX or igraph graph, or a data frame with columns i, j and weight: row numbers, or the ids of
            the constraints. For other forms there is `coterie.adjacency.read_weights`.
        y : ignored
            Not used.
        constraints : Constraints or array of partial labels (-1: unknown), optional
            What else is known: hard constraints hold, soft ones add to the weights.
        X_minus : array or sparse matrix of shape (n_samples, n_samples), optional
            Repulsions; X then holds attractions, and a pair may have both.

        Returns
        -------
        self
        """
        begin = time.monotonic()
        X = _read_pairs(X, constraints)
        _refuse_other_order(X, X_minus)
        X, known = self._begin_fit(
            X, constraints, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
        )
        advice = read_advice(X, X_minus, self.default)
        k, n = self.n_clusters, X.shape[0]
        if k is not None and k > n:
            raise ParameterError(f"n_clusters={k}, but there are {n} items.", "n_clusters")
        hard = known.only_hard() | advice.forced
        self._require_feasible(hard, n if k is None else k, nonempty=k is not None)
        size = np.abs(advice.net.data[advice.net.data != 0])
        if not len(size) and not self.default and not known:
            warn_user("all weights are 0: every partition is as good; each item stays alone.", UserWarning)
        mean = float(size.mean()) if len(size) else abs(self.default) or 1.0
        self.weight_ = mean if self.weight == "auto" else float(self.weight)
        graph = advice.graph
        if known or hard:
            votes = votes_of(stated_pairs(known), self.weight_)
            graph = signed_graph(advice.net, advice.default, hard, votes)
        rng = check_random_state(self.random_state)
        run = Run(self, graph, hard, rng, begin)
        best = best_of_starts(self, X, run.start, n_starts=run.n_starts, max_steps=_MOST_PASSES)[0]
        best = run.finish(best)
        self.labels_ = by_first_occurrence(best.label[graph.unit])
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.disagreements_, self.unavoidable_ = advice.cost(self.labels_), advice.unavoidable
        self.agreements_ = advice.total() - self.disagreements_
        # what no labels change: advice within units, and pairs that pull both ways
        alone = np.arange(graph.n)
        base = self._cost(advice, known, graph.unit) - graph.cost(alone)
        self.objective_ = self._cost(advice, known, self.labels_)
        self.history_ = np.append(base + np.array(best.history[:-1]), self.objective_)
        self.n_iter_, self.converged_ = max(1, len(best.history) - 1), best.converged
        self.bound_, below = run.bound(best)
        self.lower_bound_ = min(base + below, self.objective_)
        self.gap_ = (self.objective_ - self.lower_bound_) / self.objective_ if self.objective_ > 0 else 0.0
        self.guarantee_ = run.guarantee(advice, soft=known != known.only_hard())
        advice.__dict__.pop("graph")  # a saved model can do without
        self._advice = advice
        return self

    def _cost(self, advice: Advice, known: Constraints, labels: Index) -> float:
        """The objective, by its definition."""
        return advice.cost(labels) + self.weight_ * soft_penalty(known, labels)

    def disputed(self, n: int = 10) -> list[tuple[Any, Any, float, str]]:
        """The dearest advice that the labels go against.

        Parameters
        ----------
        n : int, default 10
            How many pairs.

        Returns
        -------
        list of (item, item, weight, "parted" or "joined")
            Listed pairs, the largest weight first; items by your ids where the constraints have them.
        """
        pairs = sparse.triu(self._advice.net, 1, format="coo")
        i, j, weight = pairs.row, pairs.col, pairs.data
        same = self.labels_[i] == self.labels_[j]
        broken = np.flatnonzero((weight > 0) & ~same | (weight < 0) & same)
        order = broken[np.argsort(-np.abs(weight[broken]), kind="stable")][:n]
        ids = self.constraints_.ids
        names = np.arange(len(self.labels_)) if ids is None else np.asarray(ids)
        return [
            (names[i[at]], names[j[at]], float(weight[at]), "joined" if same[at] else "parted")
            for at in order
        ]

    def account(self) -> Account:
        """As the contract says, with the bound and the dearest disputes; see `ConstrainedClusterMixin`."""
        how = {
            "exact": "These labels are the best there are.",
            "lp": "The bound is that of the linear program.",
            "packing": "The bound is a packing of triples that contradict themselves; it may be far off.",
            "pairs": "The bound counts only pairs that both attract and repel.",
            None: "No bound was asked for.",
        }[self.bound_]
        disputed = tuple(f"{a} and {b}: {weight:+.4g}, {what}" for a, b, weight, what in self.disputed(12))
        section = Section(
            key="scores",
            title="How far the scores are followed",
            text=f"The clusters go against scores of {self.disagreements_:,.6g}, of "
            f"{self.disagreements_ + self.agreements_:,.6g} in all; no clusters that keep what must hold "
            f"cost less than {self.lower_bound_:,.6g} (a gap of {self.gap_:.1%}). {how}",
            lists=(Listing("The dearest scores that they go against", disputed),),
        )
        trace = Trace(self.history_, "The cost after each pass", step="pass", value="cost", stride=1.0)
        kept = ("disagreements", "agreements", "lower_bound", "bound", "gap", "guarantee")
        return replace(
            super().account(),
            trace=trace,
            price=Price(tells=False),
            sections=(section,),
            figures={name: getattr(self, f"{name}_") for name in kept},
            remarks=(section.text,),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.pairwise = True
        return tags


def _read_pairs(X: Any, constraints: Any) -> Any:
    """Graphs and frames of pairs as a matrix, in the order of the ids of the constraints."""
    names = list(getattr(X, "columns", ()))
    if not (hasattr(X, "nodes") or hasattr(X, "vcount") or "weight" in names):
        return X
    if "weight" not in names:
        return read_weights(X)
    ids = getattr(constraints, "ids", None)
    if ids is not None or constraints is None:
        return read_weights(X, ids=ids)
    return read_weights(X, getattr(constraints, "n_items", None) or len(constraints))


def _refuse_other_order(X: Any, X_minus: Any) -> None:
    """Rows and columns of frames stand for the same items in the same order."""
    given = ("X", X), ("X_minus", X_minus)
    names = [
        (f"{part} of {name}", list(getattr(frame, part)))
        for name, frame in given if hasattr(frame, "iloc") for part in ("index", "columns")
    ]  # fmt: skip
    for where, found in names[1:]:
        first, order = names[0]
        if found != order and set(found) == set(order):
            raise ValueError(
                f"the {where} has the names of the {first} in another order; give them in the same."
            )
