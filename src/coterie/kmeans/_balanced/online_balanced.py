"""Balanced k-means item by item, for streams: frequency sensitive competitive learning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from coterie._arrays import Floats, Index, Labels
from coterie._compiled import in_slices, one_blas_thread
from coterie.base import (
    CHECKS_OF_ROWS,
    About,
    Account,
    check_parameters,
    constrained_fit,
    ending_words,
    one_of,
    progress,
    real,
    warn_of_empty_clusters,
    warn_user,
)
from coterie.exceptions import ParameterError
from coterie.kmeans._balanced.item_by_item import StreamRule, centre_table, follow_stream, item_rows
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import CentreStarts

# Items that a cluster should remember where all counts forget.
_ENOUGH = 50
# What `fit` tells of its labels.
_OF_FIT = ("sizes_", "inertia_", "objective_", "history_", "n_iter_", "converged_")


class OnlineBalancedKMeans(PrototypeClusterer):
    """K-means of a stream: each item joins a cluster that is near and has won little, whose centre follows.

    With n the number of items that a cluster has won, an item x joins the cluster of the least
    `n**gamma * |x - c|**2` (frequency sensitive competitive learning, FSCL) or, for `metric="cosine"`, of the
    greatest `(cos(x, c) + 1) / n**gamma` (sfs). The centre then goes one n-th of the way to x. No size is
    guaranteed.

    Parameters
    ----------
    n_clusters, metric, verbose
        As in `COPKMeans`.
    gamma : float, default 1.0
        Strength of the balance, from 0 to 10; 1 is that of the book, 0 plain competitive learning.
    memory : float or None, default None
        Number L of items, above 1, that a count remembers: it loses 1/L before 1 is added. None: all.
    decay : {"winner", "all"}
        Whose count forgets when an item comes: that of the cluster it joins, as in the book, so that all
        counts go to L and balance fades; or all counts, whose sum then goes to L. With "all" each cluster
        remembers about L / n_clusters items: take a memory of 50 n_clusters or more.
    log_term : {"none", "book", "model"}
        Adds a term in log(n) to what is compared. For squared distances in d features "model" adds
        `-d log(n)`, which follows from Gaussians of variance 1/n, and "book" `+d log(n)`, as printed (8.3).
        For cosines "book" subtracts `log(n) / (L d)` (8.10), with the items seen for L if all are remembered.
    max_iter : int, default 20
        Most passes of `fit` over the data.
    tol : float, default 1e-3
        `fit` stops when at most this share of the items joins another cluster than a pass before.
    random_state : int, RandomState or None
        Seed of the start of `fit`, and of the order in which it takes the items: one order for all passes.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres (of unit length for cosine); after `partial_fit` only of clusters that have won an item.
    counts_ : array
        What is remembered of the items won, by cluster.
    n_seen_ : int
        Number of items so far; an item of `fit` once for each pass.
    labels_ : array
        The clusters that items joined when they came, in the last pass of `fit` or batch of `partial_fit`:
        better balanced than the nearest centres, which `predict` gives and which often fit better.
    sizes_ : array of shape (n_clusters,)
        Items in each cluster of `labels_`; of `fit` only, as all that follow.
    inertia_, objective_, history_, n_iter_, converged_, violations_
        As in `COPKMeans`; an iteration is a pass. The objective may rise: it is not what the items choose by.

    See Also
    --------
    FrequencySensitiveKMeans : for data that can be looked at as a whole.

    Notes
    -----
    `fit` starts at k-means++, as if every cluster had won one item. `partial_fit` starts with nothing: the
    first n_clusters different items become the centres. A stream gives the same model however it is split.

    Time O(k d) an item, or by the stored values of sparse rows, which stay sparse; memory O(k d) beside X.
    Without log term the unit of the features does not matter; with it, it does.

    References
    ----------
    Ahalt, Krishnamurthy, Chen and Melton 1990 (FSCL); Banerjee and Ghosh, Constrained Clustering, chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import OnlineBalancedKMeans
    >>> model = OnlineBalancedKMeans(n_clusters=2)
    >>> for batch in ([[0.0], [8.0]], [[2.0], [1.0], [10.0]]):
    ...     model = model.partial_fit(np.array(batch))
    >>> model.cluster_centers_.ravel(), model.counts_
    (array([1., 9.]), array([3., 2.]))
    """

    about = About(
        what="balanced k-means of a stream, item by item; constraints are refused",
        when="items come one by one or in batches, and clusters should be of comparable size",
        source="Ahalt et al. 1990; Banerjee and Ghosh 2004; Constrained Clustering, chapter 8",
    )
    constraint_kinds = frozenset()
    # what items choose by is not the sum of distances
    monotone: ClassVar[bool] = False
    exempt: ClassVar[dict[str, str]] = {"check_predict_the_training_items": "labels_ follow the counts too"}
    parameter_rules: ClassVar[Any] = {
        **{name: rule for name, rule in SHARED_RULES.items() if name not in ("n_init", "warm_start")},
        "gamma": real(0.0, 10.0),
        "memory": one_of(None) | real(1.0, above=True),
        "decay": one_of("winner", "all"),
        "log_term": one_of("none", "book", "model"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "sqeuclidean",
        gamma: float = 1.0,
        memory: float | None = None,
        decay: str = "winner",
        log_term: str = "none",
        max_iter: int = 20,
        tol: float = 1e-3,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:  # type: ignore[override]
        """Cluster X in passes over its rows, from a new start.

        Parameters
        ----------
        X, y, constraints
            As in `COPKMeans.fit`; any constraint is refused.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints, n_clusters=self.n_clusters, **CHECKS_OF_ROWS)
        rng, rule = check_random_state(self.random_state), self._rule(X.shape[1])
        with one_blas_thread():
            distortion = self._read(X)
            start = CentreStarts(distortion, known, self.n_clusters, rng).centres("k-means++")
            self._begin_stream(start, 1.0)
            order = rng.permutation(X.shape[0])
            self.labels_: Labels = np.full(X.shape[0], -1, dtype=np.int32)
            history: list[float] = []
            self.converged_ = False
            with progress(self, X, max_steps=self.max_iter, name="pass") as starts, starts() as step:
                while len(history) < self.max_iter and not self.converged_:
                    before = self.labels_
                    self._follow(distortion, order, rule)
                    centres = self.cluster_centers_.astype(np.float64)
                    history.append(float(distortion.cost_to_assigned(self.labels_, centres).sum()))
                    n_changed = np.count_nonzero(self.labels_ != before)
                    self.converged_ = bool(n_changed <= self.tol * len(before))
                    if step(history[-1]):
                        break
        self.sizes_ = np.bincount(self.labels_, minlength=self.n_clusters)
        self.history_, self.n_iter_ = np.array(history), len(history)
        self.inertia_ = self.objective_ = history[-1]
        warn_of_empty_clusters(self.labels_, self.n_clusters)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Go on with the next rows of the stream, after `fit` too.

        Parameters
        ----------
        X, y
            As in `fit`: the next items, in their order.

        Returns
        -------
        self
        """
        check_parameters(self)
        begins = not hasattr(self, "cluster_centers_")
        X = validate_data(self, X, reset=begins, **CHECKS_OF_ROWS)
        rule = self._rule(X.shape[1], tell=begins)
        distortion = self._read(X)
        if begins:
            self._begin_stream(np.zeros((self.n_clusters, X.shape[1])), 0.0)
        for name, value in self._begun_with.items():
            if getattr(self, name) != value:
                told = f"{name}={getattr(self, name)!r}, but the stream began with {value!r}"
                raise ParameterError(f"{told}; set it back, or begin again with fit.", name)
        for name in _OF_FIT:  # they speak of other labels
            self.__dict__.pop(name, None)
        self._follow(distortion, np.arange(X.shape[0]), rule)
        return self

    def _read(self, X: Any) -> Any:
        distortion = self._measure(X)
        distortion.check_range()
        distortion.refuse_without_centre()
        return distortion

    def _rule(self, d: int, tell: bool = True) -> StreamRule:
        """The parameters as the kernel reads them."""
        cosine, all_forget = self.metric == "cosine", self.memory is not None and self.decay == "all"
        if cosine and self.log_term == "model":
            message = 'log_term="model" needs metric="sqeuclidean"; for cosines take "book".'
            raise ParameterError(message, "log_term")
        if tell and all_forget and self.memory < _ENOUGH * self.n_clusters:
            warn_user(
                f'with decay="all" a memory of {self.memory:g} leaves each of {self.n_clusters} clusters '
                f"about {self.memory / self.n_clusters:.3g} items, too few to stand for it; take "
                f'memory={_ENOUGH * self.n_clusters} or more, or decay="winner".',
                UserWarning,
            )
        # the greatest wins, so that a cost is counted as its negative
        bend = {"none": 0.0, "book": -1.0, "model": 1.0}[self.log_term]
        bend = bend / (d * (self.memory or 1.0)) if cosine else bend * d
        power, keep = float(-self.gamma if cosine else self.gamma), 1.0 - 1.0 / (self.memory or np.inf)
        return StreamRule(power, keep, all_forget, bend, cosine and self.memory is None)

    def _begin_stream(self, centres: Floats, count: float) -> None:
        """Forget all; begin with centres that have won so much each."""
        k, self._centres = len(centres), centre_table(centres)
        self._won = np.repeat([[count], [0.0], [1.0]], k, axis=1)  # counts, their logarithms, their powers
        self._clock = np.array([0, k if count else 0])  # items seen, clusters in use
        self._begun_with = {name: getattr(self, name) for name in ("n_clusters", "metric", "gamma")}

    def _follow(self, distortion: Any, order: Index, rule: StreamRule) -> None:
        """Take the rows in order, and say where the clusters in use are then."""
        rows, state = item_rows(distortion), (self._won, self._clock, self._centres)
        self.labels_ = np.empty(len(order), dtype=np.int32)
        for start, stop in in_slices(len(order), self.n_clusters * (1 + len(rows.data) // len(order))):
            follow_stream(rows, order[start:stop], rule, *state, self.labels_)
        self.n_seen_, used = self._clock.tolist()
        centres = (self._centres.table * self._centres.scale).T[:used]
        if rows.cosine:
            centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        self.cluster_centers_ = np.ascontiguousarray(centres, dtype=rows.data.dtype)
        self.counts_ = self._won[0, :used].copy()
        self._n_features_out = used

    def account(self) -> Account:
        """As in the family; the trace has one value a pass."""
        found = super().account()
        if found.trace is None:
            return found
        words: Any = {"title": "The objective after each pass", "step": "pass", "ends": ("first pass", "end")}
        text = "Distances to the centres of the clusters that items joined, at the end of each pass."
        text += " " + ending_words(self, "hardly an item joined another cluster than a pass before")
        return replace(found, trace=replace(found.trace, text=text, first=1.0, stride=1.0, **words))
