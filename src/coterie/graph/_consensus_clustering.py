"""ConsensusClustering: one clustering out of many, that disagrees least with them over pairs of items."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from coterie._arrays import Index, by_first_occurrence
from coterie.base import (
    AUTO_STARTS,
    SEARCH_RULES,
    About,
    Account,
    ConstrainedClusterMixin,
    Price,
    Step,
    Trace,
    best_of_starts,
    constrained_fit,
    ending_words,
    one_of,
    real,
    whole,
)
from coterie.constraints import Constraints
from coterie.constraints._model import stated_pairs
from coterie.exceptions import ParameterError
from coterie.graph._correlation.moves import scratch_of
from coterie.graph._correlation.programs import solve_lp
from coterie.graph._correlation.roundings import carve, lp_pivot
from coterie.graph._correlation.search import contract
from coterie.graph._correlation.signed_graph import SignedGraph, graph_of_pairs, signed_graph, votes_of
from coterie.graph._correlation.votes import Ballot, indicator

# Distinct rows of which all pairs are held as a table, and as the variables of a linear program; and votes
# that are looked at for the bound, some seconds.
_MOST_ROWS = {"agglomerative": 5_000, "furthest": 5_000, "lp-pivot": 300}
_MOST_VOTES = 2e9
# Labels up to which several starts, and pivots among many single items, take little time.
_FEW_LABELS = 1_000_000
# More than any search makes: for bars of progress.
_MOST_SWEEPS = 100


class ConsensusClustering(ConstrainedClusterMixin, BaseEstimator):
    """The clustering that disagrees least with many given ones, over all pairs of items.

    It is correlation clustering: each clustering votes for or against each pair. Votes are counted label by
    label, never pair by pair, and items that have the same labels everywhere are one.

    Parameters
    ----------
    algorithm : str, default "local"
        "local": moves of items and of whole clusters until none helps; from clusterings that were given, from
        balls and pivots. "best": the clustering of X that is nearest to the others. "balls": an item and all
        within distance 1/2, if their mean distance is at most `alpha`; the distance of two items is the share
        of clusterings that part them. "agglomerative": average linkage up to distance 1/2. "furthest": items
        far apart as centres, as long as one more helps. "pivot": a random item and all that most clusterings
        join with it. "lp-pivot": the same, with probabilities from a linear program.
    alpha : float, default 0.4
        See "balls".
    missing : {"abstain", "half"}, default "abstain"
        A clustering in which an item has no label (-1) says nothing about its pairs, or half a vote each way.
        That changes the cost and the bound by one number, and no label.
    sample_size : int, optional
        Solve for so many distinct rows, put the others into the best of the clusters found, and begin again
        with those that are better alone.
    n_init : int or "auto", default "auto"
        Starts of "local", draws of the pivots; "auto" is 4, or 1 above 1,000,000 labels.
    verbose, random_state
        As in `COPKMeans`.

    Attributes
    ----------
    labels_, violations_, n_iter_, converged_
        As everywhere; sweeps of the best start. An item without any label is alone.
    mirkin_ : float
        The cost: pairs of items about which a clustering and `labels_` differ, the mean of the clusterings.
    objective_, history_ : float, array
        The same with what broken soft constraints cost; `history_`: after each sweep.
    lower_bound_ : float or None
        No labels cost less: of each pair the smaller number of votes. None above some 14,000 distinct rows
        in 20 clusterings, since it looks at all pairs.

    See Also
    --------
    CorrelationClustering : weights of pairs, however they came about.

    Notes
    -----
    Without constraints "best", "pivot" and "lp-pivot" (in the mean) cost at most twice the least, "balls"
    with `alpha` 1/4 three times. Where one would break a hard constraint, an item is alone instead. A soft
    pair is so many votes as its strength to "local", "agglomerative" and "lp-pivot". A sweep takes O(n m k)
    time for m clusterings; memory O(n m), and n x n of distinct rows for "agglomerative" and "furthest".

    References
    ----------
    Immorlica and Wirth, chapter 13 of Constrained Clustering. Gionis, Mannila and Tsaparas 2007, Clustering
    aggregation. Ailon, Charikar and Newman 2008, Aggregating inconsistent information.

    Examples
    --------
    >>> from coterie.graph import ConsensusClustering
    >>> X = [[0, 0, 1], [0, 0, 1], [1, 0, 2], [1, 1, 2], [1, 1, -1]]
    >>> model = ConsensusClustering(random_state=0).fit(X)
    >>> model.labels_, round(model.mirkin_, 3), round(model.lower_bound_, 3)
    (array([0, 0, 1, 1, 1], dtype=int32), 1.333, 1.333)
    """

    about = About(
        what="finds the clustering that disagrees least with many given ones; hard constraints hold",
        when="columns of labels: runs of other methods, categories, votes",
        source="Immorlica and Wirth, chapter 13; Gionis, Mannila and Tsaparas 2007",
        measure="given",
    )
    wants: ClassVar[Any] = "labels"
    exempt: ClassVar[Any] = {
        **dict.fromkeys(
            ["check_scaled_features", "check_shifted_features", "check_float32_is_kept"],
            "labels are names, and have neither a unit nor an origin",
        ),
        **dict.fromkeys(
            ["check_threads_do_not_matter", "check_pipeline_passes_constraints"],
            "the check passes features, not labels",
        ),
        "check_search_splits_constraints": "rows of labels repeat, so that the check cannot tell folds apart",
    }
    parameter_rules: ClassVar[Any] = {
        **{name: rule for name, rule in SEARCH_RULES.items() if name != "max_iter"},
        "algorithm": one_of("local", "best", "balls", "pivot", *_MOST_ROWS),
        "alpha": real(0.0, 0.5),
        "missing": one_of("abstain", "half"),
        "sample_size": whole(1) | one_of(None),
    }

    def __init__(
        self,
        algorithm: str = "local",
        *,
        alpha: float = 0.4,
        missing: str = "abstain",
        sample_size: int | None = None,
        n_init: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # scikit-learn reads the names from here
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @constrained_fit
    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Any:
        """Find the consensus of the columns of X.

        Parameters
        ----------
        X : array of shape (n_items, n_clusterings)
            Whole numbers, the label of each item in each clustering; -1: it has none.
        y : ignored
            Present for the API.
        constraints : Constraints or array of partial labels, optional
            What is known; hard constraints hold.

        Returns
        -------
        self
        """
        X, known = self._begin_fit(X, constraints)
        self._require_feasible(known, len(X), nonempty=False)
        rng = check_random_state(self.random_state)
        ballot, node, within = _read_ballot(X, known)
        n, m = X.shape
        absent = 0.5 * (n * (n - 1) - ballot.known * (ballot.known - 1)).sum()
        fixed = within + 0.5 * float(absent) * (self.missing == "half")

        def run(number: int, step: Step) -> SimpleNamespace:
            label, history = self._solve(ballot, number, rng, lambda cost: step((cost + fixed) / m))
            return SimpleNamespace(label=label, objective=ballot.cost(label), history=history)

        auto = AUTO_STARTS if X.size <= _FEW_LABELS else 1
        n_starts = auto if self.n_init == "auto" else self.n_init
        n_starts = n_starts if self.algorithm in ("local", "pivot", "lp-pivot") else 1
        best = best_of_starts(self, X, run, n_starts=n_starts, max_steps=_MOST_SWEEPS)[0]
        self.labels_ = by_first_occurrence(best.label[node]).astype(np.int32)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.objective_ = (best.objective + fixed) / m
        self.history_ = (np.array([*best.history[:-1], best.objective]) + fixed) / m
        self.n_iter_ = max(1, len(best.history) - 1)
        self.converged_ = best.history[-2:] == 2 * best.history[-1:] or len(best.history) == 1
        soft = within + SignedGraph(ballot.level, best.label).cost(best.label)
        self.mirkin_ = self.objective_ - soft / m
        few = 0.5 * ballot.n * ballot.held.nnz <= _MOST_VOTES
        self.lower_bound_ = (ballot.bound() + fixed - within) / m if few else None
        return self

    def _solve(self, ballot: Ballot, number: int, rng: Any, step: Any) -> tuple[Index, list[float]]:
        """Labels of nodes and their history, by way of samples if that is asked for."""
        if self.sample_size is None or self.sample_size >= ballot.n:
            return self._solve_whole(ballot, number, rng, step)
        label, rest = np.full(ballot.n, -1), np.arange(ballot.n)
        while len(rest):
            size = ballot.level.size[rest]
            some = rng.choice(rest, min(self.sample_size, len(rest)), replace=False, p=size / size.sum())
            found = self._solve_whole(ballot.only(some), number, rng, step)[0]
            found = np.unique(found, return_inverse=True)[1]
            before = int(label.max()) + 1
            label[some], rest = found + before, np.setdiff1d(rest, some)
            to = ballot.nearest(some, found, rest)
            label[rest] = np.where(to < 0, -1, to + before)
            rest = rest[to < 0]
        return ballot.legal(label), [0.0]

    def _solve_whole(self, ballot: Ballot, number: int, rng: Any, step: Any) -> tuple[Index, list[float]]:
        """Labels of nodes, all at once."""
        name, most = self.algorithm, _MOST_ROWS.get(self.algorithm, ballot.n)
        if ballot.n > most:
            raise ParameterError(
                f'algorithm="{name}" holds all pairs of distinct rows and takes at most {most:,}; X has '
                f"{ballot.n:,}. Take another one, or a smaller sample_size.",
                *("algorithm", "sample_size"),
            )
        if name != "local":
            return ballot.legal(_START[name](ballot, self.alpha, number, rng)), [0.0]
        # clusterings that were given and pivots in turns, balls once
        name = "balls" if number == 1 else "pivot" if number and number % 2 == 0 else "best"
        name = name if ballot.held.nnz <= _FEW_LABELS else "best"
        label = ballot.legal(_START[name](ballot, self.alpha, (number + 1) // 2, rng))
        return ballot.improve(label, rng, step, ballot.cost(label))

    def account(self) -> Account:
        """As the contract says, but what is followed is the cost; see `ConstrainedClusterMixin.account`."""
        text = "Pairs of items about which a clustering and the labels differ, the mean of the clusterings. "
        text += ending_words(self, "no move of an item or of a cluster helped")
        trace = Trace(self.history_, "The cost after each sweep", text, "sweep", "cost", stride=1.0)
        return replace(super().account(), trace=trace, price=Price(tells=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _read_ballot(X: Any, known: Constraints) -> tuple[Ballot, Index, float]:
    """Nodes (equal rows, items that must be together), the node of each item, and the cost within nodes."""
    bad = (np.rint(X) != X) | (X < -1)
    if bad.any():
        i, j = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"X[{i}, {j}] is {X[i, j]:g}: columns of X are clusterings, and labels whole numbers from 0 on, "
            "or -1 where an item has none."
        )
    n, m = X.shape
    tokens, n_tokens = np.empty((n, m), dtype=np.int32), [0]
    mix, key = np.random.default_rng(0).integers(2**63, size=m, dtype=np.uint64), np.zeros(n, dtype=np.uint64)
    for i in range(m):
        names, codes = np.unique(X[:, i], return_inverse=True)
        tokens[:, i] = codes + (n_tokens[-1] - (names[0] < 0))
        n_tokens.append(n_tokens[-1] + len(names) - int(names[0] < 0))
        key += tokens[:, i].astype(np.uint64) * (2 * mix[i] + np.uint64(1))
    has = np.asarray(X >= 0)
    pairs = stated_pairs(known)
    (i, j), graph = pairs.ij.T, graph_of_pairs(n, known.only_hard(), votes_of(pairs))
    level, unit = graph.level, graph.unit
    free = (level.size == 1) & (np.diff(level.starts) == 0) & (np.diff(level.tag_starts) == 0)
    free &= (level.codes < 0).all(axis=0)
    first, row = np.unique(key, return_index=True, return_inverse=True)[1:]
    same = free[unit] & has.any(axis=1) & (tokens == tokens[first[row]]).all(axis=1)
    node = by_first_occurrence(np.where(same, row, n + unit))
    part = np.empty(graph.n, dtype=np.int64)
    part[unit] = node
    starts = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    shape = (n, n_tokens[-1])
    items = sparse.csr_matrix((np.ones(starts[-1], dtype=np.int32), tokens[has], starts), shape)
    held = indicator(node, int(node.max()) + 1) @ items
    column = np.repeat(np.arange(m), np.diff(n_tokens))
    ballot = Ballot(held, column, m, contract(level, part, scratch_of(graph.n)))
    return ballot, node, float(pairs.strength[pairs.cannot & (unit[i] == unit[j])].sum())


def _given(ballot: Ballot, alpha: float, number: int, rng: Any) -> Index:
    """The given clustering whose cost is the least, or the next ones."""
    held, found = ballot.held, []
    column = ballot.column.astype(np.int32)[held.indices]
    for i in range(ballot.n_columns):
        label = len(ballot.column) + np.arange(ballot.n)
        at = np.flatnonzero(column == i)
        at = at[np.argsort(held.data[at], kind="stable")]  # of several labels the commonest
        label[np.searchsorted(held.indptr, at, side="right") - 1] = held.indices[at]
        label = ballot.legal(label)
        found.append((ballot.cost(label), label))
    found.sort(key=lambda one: one[0])
    return found[number % len(found)][1]


def _balls(ballot: Ballot, alpha: float, number: int, rng: Any) -> Index:
    # the nearest to all others first
    weight = ballot.held @ (2.0 * ballot.total - ballot.known[ballot.column] - 1.0)
    size = ballot.level.size

    def near(u: Any, others: Index) -> Index:
        net = ballot.net_of(u, others)
        ball = others[net >= 0]
        mass = ballot.n_columns * size[u] * size[ball].sum()
        return ball if len(ball) and 0.5 - 0.5 * net[net >= 0].sum() / mass <= alpha else ball[:0]

    return carve(ballot.n, np.argsort(-weight / size, kind="stable"), near)


def _pivots(ballot: Ballot, alpha: float, number: int, rng: Any) -> Index:
    return carve(ballot.n, rng.permutation(ballot.n), lambda u, rest: rest[ballot.net_of(u, rest) > 0])


def _lp_pivots(ballot: Ballot, alpha: float, number: int, rng: Any) -> Index:
    graph = signed_graph(sparse.csr_matrix(ballot.net()), 0.0, Constraints(n_items=ballot.n))
    return lp_pivot(graph, solve_lp(graph).x, rng)


def _linked(ballot: Ballot, alpha: float, number: int, rng: Any) -> Index:
    """Average linkage up to distance 1/2: merge as long as the best mean weight is above 0."""
    net, size, label = ballot.net(), ballot.level.size.copy(), np.arange(ballot.n)
    np.fill_diagonal(net, -np.inf)
    mean = net / np.outer(size, size)
    best = mean.argmax(axis=1)
    while True:
        value = mean[np.arange(len(best)), best]
        a = int(value.argmax())
        b = int(best[a])
        if not value[a] > 0:
            return label
        net[a] += net[b]
        size[a] += size[b]
        label[label == b] = a
        net[a, a] = -np.inf
        net[:, a], net[b], net[:, b] = net[a], -np.inf, -np.inf
        mean[a] = net[a] / (size[a] * size)
        mean[:, a], mean[b], mean[:, b] = mean[a], -np.inf, -np.inf
        stale = np.flatnonzero((best == a) | (best == b) | (mean[a] > value))
        best[stale] = mean[stale].argmax(axis=1)
        best[a] = mean[a].argmax()


def _furthest(ballot: Ballot, alpha: float, number: int, rng: Any) -> Index:
    size = ballot.level.size
    distance = 0.5 - 0.5 * ballot.net() / (ballot.n_columns * np.outer(size, size))
    np.fill_diagonal(distance, 0.0)
    label = np.zeros(ballot.n, dtype=np.int64)
    cost, centres = ballot.cost(label), list(np.unravel_index(distance.argmax(), distance.shape))
    while True:
        new = distance[:, centres].argmin(axis=1)
        new_cost = ballot.cost(new)
        if new_cost > cost or len(centres) >= ballot.n:
            return new if new_cost < cost else label
        label, cost = new, new_cost
        centres.append(distance[:, centres].min(axis=1).argmax())


_START = {
    "best": _given,
    "balls": _balls,
    "pivot": _pivots,
    "lp-pivot": _lp_pivots,
    "agglomerative": _linked,
    "furthest": _furthest,
}
