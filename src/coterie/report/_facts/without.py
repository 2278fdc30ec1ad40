"""The same method without what is known, and what knowing it changed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse
from sklearn.utils import get_tags

from coterie._words import count_of
from coterie.adjacency import pieces
from coterie.base import AUTO_STARTS, BOUNDS, Account, Section, account_of
from coterie.constraints import Constraints
from coterie.kmeans import PCKMeans
from coterie.methods import ONE_START_ABOVE
from coterie.metrics import adjusted_rand_score
from coterie.report._facts.outcomes import lacks_weight
from coterie.report._facts.rows import Floats, Ints, Rows, indicator
from coterie.report._page.numbers import percent

# Beyond this number of clusters the best matching takes too long; the largest overlaps are taken first.
_MOST_MATCHED = 2_000


@dataclass(frozen=True)
class Comparison:
    """What knowing something changed; `..._plain` is without it."""

    n_moved: int  # items in another cluster, once the clusters are matched as well as can be
    ari: float
    leaves_out: bool  # whether either leaves items out: one more cluster in `n_moved` and `ari`
    n_stated: int  # constraints, and how many are broken
    n_broken: int
    n_broken_plain: int
    # summed distance to the best centres for the labels, if known and if both have as many clusters and leave
    # out as many items
    spread: float | None
    spread_plain: float | None
    sizes: tuple[int, ...]  # of the plain ones in the order of those that they match
    sizes_plain: tuple[int, ...]


def plain_labels(model: Any, X: Any, *, sample_weight: Any = None) -> Ints | None:
    """Labels of the same method without constraints and bounds; None if the model was given none.

    Bounds stay where the method cannot do without any.

    It makes as many starts as `n_init` of the model says; above 100,000 items, one.

    Parameters
    ----------
    model : fitted clusterer
        What came out.
    X : array, sparse matrix or data frame
        The rows of the fit; where a distance was learned before it, the rows without that.
    sample_weight : array of shape (n_items,), optional
        The weights of the fit. Where they are missing the fit cannot be repeated: the answer is None.

    Returns
    -------
    array of shape (n_items,) or None
        What `write_report` and `constraint_outcomes` take as `plain`.
    """
    account = account_of(model)
    always = account.bounds is not None and account.bounds.always
    if not (account.known or (account.bounds and not always)) or lacks_weight(account, sample_weight):
        return None
    if account.row_marks is None and np.shape(X)[1] != (account.n_features or np.shape(X)[1]):
        return None  # other columns than those of the fit, which its rows do not tell: it cannot be repeated
    parameters = {**model.get_params(deep=False)}
    by_bounds = parameters.get("n_clusters", 0) is None and parameters.get("distance_threshold") is None
    if by_bounds and account.bounds is not None:  # which told how many clusters there are
        parameters["n_clusters"] = account.n_clusters
    parameters |= {name: None for name in BOUNDS if name in parameters and not always}
    if "random_state" in parameters and not isinstance(parameters["random_state"], (int, np.integer)):
        parameters["random_state"] = 0
    if "n_init" in parameters and np.shape(X)[0] > ONE_START_ABOVE:
        parameters["n_init"] = 1
    for name, quiet in (("verbose", 0), ("warm_start", False)):
        if name in parameters:
            parameters[name] = quiet
    if issparse(X) and not get_tags(model).input_tags.sparse:  # as the learned distance handed it over
        X = X.toarray()
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of empty clusters: this fit is there to be compared with
        found = type(model)(**parameters).fit(X, **given)
    return np.asarray(found.labels_).astype(np.int64)


def compare_with(
    before: Ints, labels: Ints, known: Constraints, k: int, cost: Any, rows: tuple[Any, Floats | None]
) -> Comparison:
    """Say what changed from the plain labels; `cost` says how tight labels are, of rows and their weights."""
    k = max(k, int(before.max(initial=-1)) + 1)
    match = match_clusters(labels, before, k)
    counts = np.bincount(labels[labels >= 0], minlength=k)
    counts_before = np.bincount(before[before >= 0], minlength=k)
    # -1, in no cluster, is the same on both sides
    renamed = np.append(match, -1)[before]
    broken, broken_plain = known.violations(labels), known.violations(before)
    # more clusters, or more items left out, make sums of distances smaller for another reason
    comparable = int((labels < 0).sum()) == int((before < 0).sum())
    comparable = comparable and (counts > 0).sum() == (counts_before > 0).sum()
    told = comparable and cost is not None
    return Comparison(
        n_moved=int((renamed != labels).sum()),
        ari=float(adjusted_rand_score(before, labels)),
        leaves_out=bool((labels < 0).any() or (before < 0).any()),
        n_stated=broken.n_stated,
        n_broken=broken.n_broken,
        n_broken_plain=broken_plain.n_broken,
        spread=cost(rows[0], labels, rows[1]) if told else None,
        spread_plain=cost(rows[0], before, rows[1]) if told else None,
        sizes=tuple(counts.tolist()),
        sizes_plain=tuple(counts_before[np.argsort(match)].tolist()),
    )


def price_of_connectivity(
    account: Account, rows: Rows, labels: Ints, weight: Floats | None
) -> Section | None:
    """Into how many pieces plain k-means of as many clusters would fall, and how much tighter they would be.

    None where clusters need not be connected, or there are no rows that have means.
    """
    if account.graph is None or account.wants != "rows" or account.metric == "precomputed":
        return None
    k, n_init = account.n_clusters, 1 if rows.n > ONE_START_ABOVE else AUTO_STARTS
    metric = "cosine" if account.metric == "cosine" else "sqeuclidean"
    model = PCKMeans(k, metric=metric, n_init=n_init, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of empty clusters: this fit is there to be compared with
        free = model.fit(rows.values, sample_weight=weight).labels_
    clusters, found = count_of(k, "cluster"), count_of(pieces(account.graph, free)[0], "connected piece")
    text = (
        "Every cluster is connected along the neighbours. Plain k-means does not know them: its "
        f"{clusters} would lie in {found}."
    )
    if account.cost is not None:
        own, least = (account.cost(rows.values, one, weight) or 0.0 for one in (labels, free))
        if 0 < least < own:
            also = " and of what else is asked for" if account.bounds or account.known else ""
            text += (
                f" They would be tighter, too: here the summed {account.measure} to the centres is "
                f"{percent(own / least - 1)} more. That is the price of connectivity{also}."
            )
    return Section("connectivity", "Price of connectivity", text)


def match_clusters(labels: Ints, before: Ints, k: int) -> Ints:
    """For each of the old clusters the new one with which it shares most, one to one."""
    shared = indicator(before, k) @ indicator(labels, k).T
    match = np.full(k, -1, dtype=np.int64)
    if k <= _MOST_MATCHED:
        old, new = linear_sum_assignment(-shared.toarray())
        match[old] = new
        return match
    cells = shared.sorted_indices().tocoo()
    taken = np.zeros(k, dtype=bool)
    for at in np.argsort(-cells.data, kind="stable").tolist():
        old, new = int(cells.row[at]), int(cells.col[at])
        if match[old] < 0 and not taken[new]:
            match[old], taken[new] = new, True
    match[match < 0] = np.flatnonzero(~taken)
    return match
