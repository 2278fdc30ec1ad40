"""Scores of a clustering: against the truth by pairs, against the constraints, on chosen items.

A clustering says of every pair of items "together" or "apart", so it can be scored like a yes/no answer:
precision, recall and F1 over pairs, counted from the table of classes by clusters in O(n log n) time and
never pair by pair; `linkage_pair_scores` gives them for every cut of a tree, `mirkin_distance` the number of
pairs in question. `matched_f_score` compares each
class with the cluster that fits it best.
`constraint_satisfaction` needs no truth, only the constraints, and its scorer lets a search choose parameters
by it; `balance_scores` says how equal the sizes of the clusters are. `score_on` scores only the items that no
constraint mentions, the fair test of what was learned (Wagstaff et al., 2001, "Constrained K-means clustering
with background knowledge"). The usual scores of scikit-learn can be imported from here too. To the scores
against the truth no label is special: the -1 that some methods give to noise is a cluster like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    fowlkes_mallows_score,
    normalized_mutual_info_score,
    rand_score,
    v_measure_score,
)
from sklearn.metrics.cluster import pair_confusion_matrix
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import MetadataRequest

from coterie.constraints import Constraints, as_constraints
from coterie.constraints._reading import read_loads, read_pairs

__all__ = [
    "BalanceScores",
    "LinkageScores",
    "PairScores",
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "balance_scores",
    "constraint_satisfaction",
    "constraint_satisfaction_scorer",
    "fowlkes_mallows_score",
    "linkage_pair_scores",
    "matched_f_score",
    "mirkin_distance",
    "normalized_mutual_info_score",
    "pair_scores",
    "pairwise_f1",
    "pairwise_precision",
    "pairwise_recall",
    "rand_score",
    "score_on",
    "v_measure_score",
]


class PairScores(NamedTuple):
    """Precision, recall and F1 over pairs of items, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def pair_scores(
    y_true: ArrayLike, y_pred: ArrayLike | None = None, *, pairs: ArrayLike | None = None
) -> PairScores:
    """Precision, recall and F1 of the pairs that a clustering puts together, or that were decided alone.

    Precision is the share of same-cluster pairs that are of the same class. Recall is the share of
    same-class pairs that are in the same cluster. F1 is their harmonic mean, ``2 t / (a + b)`` with
    `t` pairs together in both, `a` together in the truth and `b` together in the clustering.

    Parameters
    ----------
    y_true : array-like of shape (n_items,)
        The class of each item.
    y_pred : array-like of shape (n_items,)
        The cluster of each item. The names of the clusters do not matter.
    pairs : array-like of shape (n_pairs, 2)
        In place of `y_pred`: the pairs of items (row numbers) that were found to be the same, such as
        `matched_pairs_` of `EntityResolver`. A pair that is listed twice counts once, and "a is b, b is c"
        does not say that a is c.

    Returns
    -------
    PairScores
        The named tuple ``(precision, recall, f1)``.

    Notes
    -----
    A share of nothing is 1, since no mistake was made: precision is 1 if no pair is in the same cluster,
    recall is 1 if no pair is in the same class. F1 is 1 if both hold, and else 0 if `t` is 0.

    Examples
    --------
    >>> from coterie.metrics import pair_scores
    >>> pair_scores(["a", "a", "a", "b"], [0, 0, 1, 1])
    PairScores(precision=0.5, recall=0.333..., f1=0.4)
    >>> pair_scores(["a", "a", "a", "b"], pairs=[(0, 1), (1, 2)])
    PairScores(precision=1.0, recall=0.666..., f1=0.8)
    """
    if pairs is not None:
        if y_pred is not None:
            raise TypeError("pair_scores was given y_pred and pairs; give one of them.")
        return _scores_of_pairs(_labelling(y_true, "y_true"), pairs)
    # The counts are of ordered pairs, twice those of unordered ones: the shares are the same.
    (_, only_pred), (only_true, both) = pair_confusion_matrix(*_two_labellings(y_true, y_pred)).tolist()
    return PairScores(
        precision=_share(both, both + only_pred),
        recall=_share(both, both + only_true),
        f1=_share(2 * both, 2 * both + only_pred + only_true),
    )


def _scores_of_pairs(true: NDArray[Any], pairs: ArrayLike) -> PairScores:
    n = len(true)
    ij = np.sort(read_pairs(pairs, "pairs", None), axis=1)
    bad = np.flatnonzero((ij[:, 0] == ij[:, 1]) | (ij[:, 0] < 0) | (ij[:, 1] >= n))
    if len(bad):
        low, high = ij[bad[0]].tolist()
        why = "that is one item" if low == high else f"items are numbered 0 to {n - 1}, as y_true has them"
        raise ValueError(f"pairs row {bad[0]} is ({low}, {high}): {why}.")
    key = np.unique(ij[:, 0] * n + ij[:, 1])
    codes, size = np.unique(true, return_inverse=True, return_counts=True)[1:]
    both = int((codes[key // n] == codes[key % n]).sum())
    in_truth = sum(count * (count - 1) // 2 for count in size.tolist())
    return PairScores(
        precision=_share(both, len(key)),
        recall=_share(both, in_truth),
        f1=_share(2 * both, len(key) + in_truth),
    )


def pairwise_precision(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of the same-cluster pairs that are of the same class, as a score alone; see `pair_scores`."""
    return pair_scores(y_true, y_pred).precision


def pairwise_recall(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of the same-class pairs that are in the same cluster, as a score alone; see `pair_scores`."""
    return pair_scores(y_true, y_pred).recall


def pairwise_f1(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Harmonic mean of pairwise precision and recall, as a score alone; see `pair_scores`."""
    return pair_scores(y_true, y_pred).f1


def mirkin_distance(a: ArrayLike, b: ArrayLike) -> int:
    """Count the pairs of items about which two clusterings differ: together in one, apart in the other.

    Parameters
    ----------
    a, b : array-like of shape (n_items,)
        The cluster of each item.

    Returns
    -------
    int
        From 0, if they agree, to ``n (n - 1) / 2``: a metric. (Mirkin 1996 counts each pair twice.)

    Examples
    --------
    >>> from coterie.metrics import mirkin_distance
    >>> mirkin_distance([0, 0, 1, 1], [0, 0, 0, 1])
    3
    """
    table = pair_confusion_matrix(*_two_labellings(a, b))
    return int(table[0, 1] + table[1, 0]) // 2


class LinkageScores(NamedTuple):
    """Scores over pairs of every cut of a tree, from as many clusters as items down to one."""

    n_clusters: NDArray[np.int64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    heights: NDArray[np.float64]


def linkage_pair_scores(Z: ArrayLike, y: ArrayLike) -> LinkageScores:
    """Precision, recall and F1 over pairs, as in `pair_scores`, of every cut of a tree.

    Parameters
    ----------
    Z : array-like of shape (n_items - 1, 4)
        A linkage matrix as of ``scipy.cluster.hierarchy.linkage``, or `linkage_` of `ConstrainedLinkage`.
    y : array-like of shape (n_items,)
        The class of each item.

    Returns
    -------
    LinkageScores
        Arrays of n_items entries, the first for the cut before any merge, the last for one cluster:
        `n_clusters` (n_items, ..., 1), `precision`, `recall`, `f1`, and `heights`, that of the last merge
        (0 before any). Merges of equal height are done in the order of Z, so that cuts between them are
        those of SciPy's order, one of several.

    Notes
    -----
    Before any merge precision is 1, and recall and F1 are 0 (1 if no two items are of one class). One pass:
    each cluster counts its classes, and the smaller table goes into the larger; time O(n_items log(n_items)).

    References
    ----------
    Oyama and Tanaka 2008, chapter 15 of "Constrained Clustering" (the curves of its experiments).

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from coterie.metrics import linkage_pair_scores
    >>> scores = linkage_pair_scores(linkage([[0.0], [1.0], [3.0], [7.0]]), ["a", "a", "b", "b"])
    >>> int(scores.n_clusters[scores.f1.argmax()]), scores.precision.round(2), scores.recall
    (3, array([1.  , 1.  , 0.33, 0.33]), array([0. , 0.5, 0.5, 1. ]))
    """
    true, tree = _labelling(y, "y"), np.asarray(Z, dtype=np.float64)
    is_valid_linkage(tree, throw=True, name="Z")
    n = len(tree) + 1
    if len(true) != n:
        raise ValueError(f"y has {len(true)} labels and Z is a tree of {n} items; y needs one for each item.")
    tables = [{code: 1} for code in np.unique(true, return_inverse=True)[1].tolist()]
    size, both, together = [1] * n, [0], [0]
    for left, right in tree[:, :2].astype(np.int64).tolist():
        small, large = sorted((tables[left], tables[right]), key=len)
        both.append(both[-1] + sum(count * large.get(code, 0) for code, count in small.items()))
        together.append(together[-1] + size[left] * size[right])
        for code, count in small.items():
            large[code] = large.get(code, 0) + count
        tables.append(large)
        size.append(size[left] + size[right])
    found, pred = np.array(both), np.array(together)

    def share(part: NDArray[Any], whole: Any) -> NDArray[np.float64]:
        return np.divide(part, whole, out=np.ones(n), where=np.asarray(whole) > 0)

    return LinkageScores(
        n_clusters=np.arange(n, 0, -1),
        precision=share(found, pred),
        recall=share(found, found[-1]),
        f1=share(2 * found, pred + found[-1]),
        heights=np.append(0.0, tree[:, 2]),
    )


def matched_f_score(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean, over the items, of the F-score of their class with the cluster that fits it best.

    A class of `n` items and a cluster of `m` that share `a` have the F-score ``2 a / (n + m)``, the harmonic
    mean of precision and recall. Every class takes its best cluster, and several may take the same one; so
    the score is not symmetric, and some 0.5 is what a random split of two equal classes reaches.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_items,)
        The class and the cluster of each item.

    Returns
    -------
    float
        Above 0 and at most 1; 1 if they agree.

    References
    ----------
    Lange, Law, Jain and Buhmann 2008, chapter 5 of "Constrained Clustering" (the score of its experiments).

    Examples
    --------
    >>> from coterie.metrics import matched_f_score
    >>> matched_f_score(["a", "a", "a", "a", "b", "b", "b", "b"], [0, 0, 0, 1, 1, 1, 1, 0])
    0.75
    """
    true, pred = (np.unique(part, return_inverse=True)[1] for part in _two_labellings(y_true, y_pred))
    n_clusters = int(pred.max()) + 1
    cells, shared = np.unique(true * n_clusters + pred, return_counts=True)
    classes, clusters = np.divmod(cells, n_clusters)
    size = np.bincount(true)
    f = 2.0 * shared / (size[classes] + np.bincount(pred)[clusters])
    best = np.zeros(len(size))
    np.maximum.at(best, classes, f)
    return float(size @ best / len(true))


class BalanceScores(NamedTuple):
    """How equal the sizes of clusters are."""

    sdcs: float
    rme: float
    max_ratio: float
    entropy: float


def balance_scores(
    labels: ArrayLike, n_clusters: int | None = None, *, size_weight: ArrayLike | None = None
) -> BalanceScores:
    """How equal the sizes of clusters are.

    Parameters
    ----------
    labels : array-like of shape (n_items,)
        The cluster of each item, numbers or names. The number -1 means "in no cluster" and is not counted.
    n_clusters : int, optional
        How many clusters there are, if some may be empty; by default those that occur.
    size_weight : array-like of shape (n_items,), optional
        What each item counts (people, load, revenue), at least 0; 1 by default.

    Returns
    -------
    BalanceScores
        `sdcs` is the standard deviation of the cluster sizes (divided by the number of clusters, not one
        less), in the unit of the sizes; 0 if they are equal. `rme`, the ratio of minimum to expected, is the
        least size over the mean size: from 0 (an empty cluster) to 1 (equal). `max_ratio` is the largest
        over the mean, at least 1. `entropy` is that of the shares of the clusters, divided by that of equal
        ones: from 0 (all in one) to 1 (equal, or one cluster).

    References
    ----------
    Banerjee and Ghosh 2008, chapter 8 of "Constrained Clustering" (SDCS and RME).

    Examples
    --------
    >>> from coterie.metrics import balance_scores
    >>> balance_scores(["a", "a", "a", "b"])
    BalanceScores(sdcs=1.0, rme=0.5, max_ratio=1.5, entropy=0.811...)
    >>> balance_scores([0, 0, 1, 1], size_weight=[1, 2, 2, 1])
    BalanceScores(sdcs=0.0, rme=1.0, max_ratio=1.0, entropy=1.0)
    """
    values = _labelling(labels, "labels")
    load = read_loads(size_weight, len(values))
    inside = np.full(len(values), True) if values.dtype.kind in "US" else values != -1
    names, cluster = np.unique(values[inside], return_inverse=True)
    k = len(names) if n_clusters is None else index(n_clusters)
    if k < max(1, len(names)):
        raise ValueError(
            "every label is -1: there is no cluster to measure."
            if not len(names) and n_clusters is None
            else f"n_clusters={n_clusters}, but {len(names)} clusters occur in labels; give at least as many."
        )
    size = np.bincount(cluster, load[inside] if len(load) else None, minlength=k)
    if not size.any():
        raise ValueError("the clusters hold nothing: all labels are -1, or every size_weight in them is 0.")
    share = size / size.sum()
    filled = share[share > 0]
    entropy = -float(filled @ np.log(filled)) / np.log(k) if k > 1 else 1.0
    mean = size.mean()
    return BalanceScores(
        sdcs=float(size.std()),
        rme=float(size.min() / mean),
        max_ratio=float(size.max() / mean),
        entropy=min(1.0, max(0.0, float(entropy))),
    )


def constraint_satisfaction(constraints: Constraints | ArrayLike, labels: ArrayLike) -> float:
    """Share of the stated pairs that a labelling meets.

    A group counts as the pairs it stands for. Weights do not count: this is a share of pairs.

    Parameters
    ----------
    constraints : Constraints or array-like of shape (n_items,)
        What is known; a vector is read as partial labels, -1 = unknown.
    labels : array-like of shape (n_items,)
        The cluster of each item, numbers or names. The number -1 means "in no cluster": such an item meets
        its cannot-links and breaks its must-links, as in `Constraints.violations`.

    Returns
    -------
    float
        From 0 to 1; 1 if nothing is stated.

    Examples
    --------
    >>> from coterie.constraints import Constraints
    >>> from coterie.metrics import constraint_satisfaction
    >>> c = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3)], n_items=4)
    >>> constraint_satisfaction(c, [0, 0, 1, 0])
    0.666...
    """
    values = _labelling(labels, "labels")
    known = _stated(constraints, len(values), "labels has {}", labels)
    if values.dtype.kind in "US":
        values = np.unique(values, return_inverse=True)[1]
    account = known.violations(values)
    return _share(account.n_pairs - account.n_broken_pairs, account.n_pairs)


class _ConstraintSatisfactionScorer:
    """Scorer for searches and cross-validation: the share of the constraints that `predict` meets.

    It is called as ``constraint_satisfaction_scorer(estimator, X, y=None, *, constraints)`` and ignores
    `y`. With routing on, scikit-learn hands each fold the constraints among its own test rows. A pair
    that the split tears apart counts nowhere and a fold without pairs scores 1, so use few folds.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from coterie.constraints import Constraints
    >>> from coterie.metrics import constraint_satisfaction_scorer
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> c = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)], n_items=4)
    >>> constraint_satisfaction_scorer(KMeans(n_clusters=1).fit(X), X, constraints=c)
    0.5
    """

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, *, constraints: Constraints | ArrayLike | None = None
    ) -> float:
        """Share of the constraints among the rows of `X` that ``estimator.predict(X)`` meets."""
        if constraints is None:
            raise ValueError(
                "constraint_satisfaction_scorer was given no constraints. Enable routing with "
                "sklearn.set_config(enable_metadata_routing=True), then pass them on: "
                "search.fit(X, constraints=c) or cross_validate(..., params={'constraints': c})."
            )
        labels = estimator.predict(X)
        return constraint_satisfaction(as_constraints(constraints, len(labels), like=X), labels)

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for `constraints` when scoring."""
        request = MetadataRequest(owner="constraint_satisfaction_scorer")
        request.score.add_request(param="constraints", alias=True)
        return request

    def __repr__(self) -> str:
        return "constraint_satisfaction_scorer"


constraint_satisfaction_scorer = _ConstraintSatisfactionScorer()


def score_on(
    score: Callable[[NDArray[Any], NDArray[Any]], float],
    y_true: ArrayLike,
    y_pred: ArrayLike,
    constraints: Constraints | ArrayLike,
    *,
    items: Literal["held-out", "constrained", "all"] = "held-out",
) -> float:
    """Apply a score to the items that no constraint mentions, or to those that one does.

    A method can meet all it was told and have learned nothing about the rest. The score on the held-out
    items shows that; the score on all items mixes both.

    Parameters
    ----------
    score : callable
        Any ``score(y_true, y_pred)``, such as `adjusted_rand_score` or `pairwise_f1`.
    y_true, y_pred : array-like of shape (n_items,)
        The class and the cluster of each item.
    constraints : Constraints or array-like of shape (n_items,)
        What the method was told; a vector is read as partial labels, -1 = unknown.
    items : {"held-out", "constrained", "all"}, default="held-out"
        Score the items in no constraint, those in at least one, or all.

    Returns
    -------
    float
        What `score` returns for these items.

    Examples
    --------
    >>> from coterie.constraints import Constraints
    >>> from coterie.metrics import rand_score, score_on
    >>> c = Constraints(must_link=[(0, 1)], n_items=4)
    >>> score_on(rand_score, [0, 0, 1, 1], [0, 0, 1, 2], c)
    0.0
    >>> score_on(rand_score, [0, 0, 1, 1], [0, 0, 1, 2], c, items="constrained")
    1.0
    """
    if items not in ("held-out", "constrained", "all"):
        raise ValueError(f"items must be 'held-out', 'constrained' or 'all', not {items!r}.")
    true, pred = _two_labellings(y_true, y_pred)
    known = _stated(constraints, len(pred), "y_pred has {}", y_pred)
    chosen = np.full(len(true), items != "constrained")
    if items != "all":
        chosen[known.constrained_items] = items == "constrained"
    if not chosen.any():
        situation = "every item is" if items == "held-out" else "no item is"
        raise ValueError(
            f"items={items!r} leaves nothing to score: {situation} in a constraint "
            f"({len(true)} items). Use items='all', or other constraints."
        )
    return score(true[chosen], pred[chosen])


def _share(part: int, whole: int) -> float:
    """Return part / whole; a share of nothing is 1."""
    return part / whole if whole else 1.0


def _labelling(labels: ArrayLike | None, name: str) -> NDArray[Any]:
    """Return labels as a flat array: at least one, none missing."""
    values = check_array(labels, ensure_2d=False, ensure_min_samples=0, dtype=None, input_name=name)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one label for each item; its shape is {values.shape}.")
    if values.size == 0:
        raise ValueError(f"{name} is empty; a score needs at least one item.")
    if values.dtype == object and any(label is None for label in values):
        raise ValueError(f"{name} has missing labels (None); drop these items or label them.")
    return np.array(values.tolist()) if values.dtype == object else values


def _two_labellings(y_true: ArrayLike, y_pred: ArrayLike | None) -> tuple[NDArray[Any], NDArray[Any]]:
    true, pred = _labelling(y_true, "y_true"), _labelling(y_pred, "y_pred")
    if len(true) != len(pred):
        raise ValueError(
            f"y_true has {len(true)} labels and y_pred has {len(pred)}; both need one for each item."
        )
    return true, pred


def _stated(
    constraints: Constraints | ArrayLike | None, n_items: int, counted: str, like: Any
) -> Constraints:
    """Return what `fit` would take; but a score against nothing is a mistake."""
    if constraints is None:
        raise TypeError("constraints is None: pass the Constraints to score against.")
    return as_constraints(constraints, n_items, counted=counted, like=like)
