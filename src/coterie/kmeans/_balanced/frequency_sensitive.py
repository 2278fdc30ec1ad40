"""Frequency sensitive k-means: a cluster that holds much must be nearer to win another item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from coterie._arrays import Floats, Labels
from coterie._compiled import in_slices
from coterie.base import About, Account, Step, best_of_starts, ending_words, instance, one_of, real
from coterie.constraints import Constraints
from coterie.distortion import Distortion
from coterie.kmeans._balanced.item_by_item import (
    Turns,
    centre_table,
    choose_and_move,
    choose_in_turn,
    item_rows,
)
from coterie.kmeans._engine.loop import LoopOutcome, PrototypeLoop
from coterie.kmeans._engine.prototype import SHARED_RULES, PrototypeClusterer
from coterie.kmeans._engine.starts import RandomState

# Numbers in a block of values that items choose by.
_BLOCK = 1 << 22
# Passes of `fs` between the same centres: the counts stand still long before, but weights might swing.
_MOST_PASSES = 100
# The k-means that everything starts at runs to its end.
_START: dict[str, Any] = {"max_iter": 300, "tol": 1e-4}

# Strength of the balance by default.
_AUTO_GAMMA = {"cosine": 0.1, "sqeuclidean": 1.0}


class FrequencySensitiveKMeans(PrototypeClusterer):
    """K-means in which every item counts against the cluster that it joins, so that sizes come out alike.

    It starts where k-means ended (spherical k-means for `metric="cosine"`). Then items choose by distance
    and by the number n of items that a cluster holds: the greatest `(cos + 1) / n**gamma`, or the least
    `n**gamma * square`. Means follow, and this is repeated. No size is guaranteed.

    Parameters
    ----------
    n_clusters, metric, n_init, verbose, random_state
        As in `COPKMeans`; balance goes on from the best start of k-means.
    variant : {"pifs", "fs", "fifs"}
        When counts and means follow. "pifs" (partially incremental): counts after every item, means after
        every pass. "fs": means after as many passes as bring the counts to rest, so that all items have
        chosen by the same counts. "fifs" (fully incremental): counts and means after every item.
    gamma : float or "auto"
        Strength of the balance, from 0 (k-means) to 10; 1 is that of the book. "auto" is 0.1 for cosines,
        where it does much, and 1 for squared distances, where less does little.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features)
        Where a start of k-means begins.
    max_iter : int, default 50
        Most iterations after k-means.
    tol : float, default 1e-3
        Stop when at most this share of the items changes its cluster in an iteration.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each item, by distance and counts: not always that of the nearest centre.
    sizes_ : array of shape (n_clusters,)
        Items in each cluster, or their weight.
    cluster_centers_, inertia_, objective_, history_, n_iter_, converged_, violations_
        As in `COPKMeans`; an empty cluster keeps its centre. History and iterations go on from k-means,
        unless `gamma` is 0; the objective may rise, since it is not what the items choose by.

    See Also
    --------
    SizeConstrainedKMeans : bounds on sizes that hold.
    OnlineBalancedKMeans : the same idea for streams.

    Notes
    -----
    Given the means, a move of "pifs" or "fs" always raises `sum(log(c)) - gamma * sum(log(n!))`, where c is
    cosine + 1 of an item and its centre, or one over its square; so passes between fixed means end. (To let
    all items choose by the counts of the iteration before sends nearly all of them to the smallest cluster
    and back.) Items choose in the order of the rows. With `sample_weight` a count is a sum of weights: those
    of the others in a cluster, and the mean weight for the item itself.

    Time O(n k d) an iteration, or by the stored values of sparse rows, which stay sparse; memory O(n + k d)
    beside X, O(n k) for "fs".

    References
    ----------
    Banerjee and Ghosh 2004, Frequency-sensitive competitive learning for scalable balanced clustering;
    Basu, Davidson and Wagstaff (eds.), Constrained Clustering, chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import FrequencySensitiveKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [10.0]])
    >>> for gamma in (0.0, 1.0, 2.0):
    ...     model = FrequencySensitiveKMeans(n_clusters=2, gamma=gamma, random_state=0).fit(X)
    ...     print(sorted(model.sizes_.tolist()))
    [1, 7]
    [3, 5]
    [4, 4]
    """

    about = About(
        what="k-means whose clusters come out of more equal sizes; constraints are refused",
        when="clusters should be of comparable size, and no bound must hold",
        source="Banerjee and Ghosh 2004; Constrained Clustering, chapter 8",
    )
    constraint_kinds = frozenset()
    # what items choose by falls within a pass, the sum of distances need not
    monotone: ClassVar[bool] = False
    exempt: ClassVar[dict[str, str]] = {
        "check_predict_the_training_items": "labels_ follow the counts too, predict the centres alone",
        "check_permuted_items_from_one_start": "items choose in the order of the rows",
        "check_weighted_is_repeated": "the copies of an item may part",
    }
    parameter_rules: ClassVar[Any] = {
        **{name: rule for name, rule in SHARED_RULES.items() if name != "warm_start"},
        "variant": one_of("pifs", "fs", "fifs"),
        "gamma": real(0.0, 10.0) | one_of("auto"),
        "init": one_of("k-means++", "random") | instance((np.ndarray, list, tuple), "an array of centres"),
    }
    warm_start = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        variant: str = "pifs",
        gamma: Any = "auto",
        metric: str = "sqeuclidean",
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 50,
        tol: float = 1e-3,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def _loop(self, known: Constraints, distortion: Any, rng: RandomState) -> PrototypeLoop:
        distortion.refuse_without_centre()
        return super()._loop(known, distortion, rng)

    def _best_of(
        self, X: Any, loop: PrototypeLoop, n_starts: int, begin: Iterator[Floats], finish: Any = None
    ) -> LoopOutcome:
        """The best k-means, then balance from there."""

        def run(number: int, step: Step) -> LoopOutcome:
            return loop.run(next(begin), **_START, step=step)

        finish = partial(self._balance, loop.distortion) if self._strength else None
        steps = {"n_starts": n_starts, "max_steps": max(self.max_iter, _START["max_iter"])}
        best, _ = best_of_starts(self, X, run, **steps, finish=finish)
        weight = loop.distortion.sample_weight
        self.sizes_ = np.bincount(best.labels, weight if len(weight) else None, self.n_clusters)
        return best

    @property
    def _strength(self) -> float:
        return float(_AUTO_GAMMA[self.metric] if self.gamma == "auto" else self.gamma)

    def _balance(self, distortion: Any, begun: LoopOutcome, step: Step) -> LoopOutcome:
        """Pass after pass, from the labels and centres of k-means."""
        labels, centres, history = begun.labels, begun.centres, [begun.inertia]
        weight, cosine = distortion.sample_weight, self.metric == "cosine"
        unit = float(weight[weight > 0].mean()) if len(weight) else 1.0
        power = -self._strength if cosine else self._strength
        totals = distortion.totals_of(labels, self.n_clusters)
        converged = False
        while len(history) <= self.max_iter and not converged:
            before = labels.copy()
            turns = Turns(totals[1].copy(), (totals[1] + unit) ** power, power, unit)
            if self.variant == "fifs":
                rows = item_rows(distortion)
                table = centre_table(distortion.best_centres(labels, totals, centres))
                lengths = np.linalg.norm(totals[0], axis=1) if cosine else totals[1].copy()
                for part in in_slices(len(labels), self.n_clusters * (1 + len(rows.data) // len(labels))):
                    choose_and_move(rows, *part, labels, weight, turns, table, lengths)
            else:
                self._passes(distortion, labels, centres, turns)
            totals = distortion.totals_of(labels, self.n_clusters)
            centres = distortion.best_centres(labels, totals, centres)
            history.append(distortion.inertia(labels, totals, centres))
            converged = bool(np.count_nonzero(labels != before) <= self.tol * len(labels))
            if step(history[-1]):
                break
        return LoopOutcome(labels, centres, history[-1], history[-1], history, len(history) - 1, converged)

    def _passes(self, distortion: Distortion, labels: Labels, centres: Floats, turns: Turns) -> None:
        """One pass between given centres, or as many as bring the counts to rest (`fs`)."""
        n, rows = distortion.points.n, max(256, _BLOCK // self.n_clusters)
        most = 2.0 if self.metric == "cosine" else 0.0
        starts = range(0, n, rows)
        blocks: Any = ((at, most - distortion.block_costs(at, min(at + rows, n), centres)) for at in starts)
        n_passes, blocks = (_MOST_PASSES, list(blocks)) if self.variant == "fs" else (1, blocks)
        for _ in range(n_passes):
            if not sum(choose_in_turn(v, at, labels, distortion.sample_weight, turns) for at, v in blocks):
                break

    def account(self) -> Account:
        """As in the family; the trace begins where k-means ended."""
        found = super().account()
        if found.trace is None or not self._strength:
            return found
        text = "Distances to the centres at the end of k-means, then after each iteration with balance."
        words: Any = {"title": "What balance costs", "stride": 1.0, "ends": ("k-means", "end")}
        ended = ending_words(self, "hardly an item changed its cluster", "from the best start of k-means")
        words["text"] = f"{text} {ended}"
        return replace(found, trace=replace(found.trace, **words))
