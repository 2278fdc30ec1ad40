"""Several methods on one's own data: hold constraints out, predict them, score.

A good method is one whose clusters are right about what it was not told. Each method is fitted on most of the
constraints and asked about the rest, in folds, several times over; the truth is not needed. Cost: the fits,
`n_folds * n_repeats + 1` of each method.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from coterie.base import Bar
from coterie.comparison._decide import balanced, choose_best
from coterie.comparison._entrants import Entrant, find_entrants
from coterie.comparison._questions import Fold, Questions, find_questions
from coterie.constraints import Constraints, as_constraints
from coterie.constraints._model import FloatArray, IntArray
from coterie.constraints._reading import as_generator, build_frame, whole_number
from coterie.exceptions import (
    DeadEndError,
    DeadEndWarning,
    InfeasibleConstraintsError,
    UndecidedError,
    ViolatedConstraintsWarning,
)
from coterie.methods import Task

Progress = Callable[[int, int, str], None]

# Repeats even out how the folds fell. With many pairs that hardly matters: about so many answers are enough.
_ENOUGH_ANSWERS = 300
_MOST_REPEATS = 10
_NO_NUMBER = float("nan")


def compare(
    X: Any,
    constraints: Any,
    n_clusters: int,
    *,
    methods: Any = None,
    metric: str = "sqeuclidean",
    distance: Any = None,
    parameters: Mapping[str, Any] | None = None,
    n_folds: int = 5,
    n_repeats: int | None = None,
    sample_weight: Any = None,
    size_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
    verbose: bool = False,
    progress: Progress | None = None,
    library: str | None = None,
) -> Any:
    """Compare methods by how well they predict constraints that they were not told.

    The pairs are dealt into folds. Each method is fitted on the pairs of all folds but one, and its clusters
    are asked about the others: are must-linked items together, are cannot-linked ones apart? Groups stay in
    the kept part; where labels are all there is, labels are hidden instead. One fit with everything shows
    that there will be a result in the end.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The items.
    constraints : Constraints or array of partial labels (-1: unknown)
        What is known. At least two pairs, or labels, for each fold.
    n_clusters : int
        Number of clusters.
    methods : list, optional
        Names of methods, estimators, or pairs of a name and an estimator. An estimator keeps its own
        settings, also its number of clusters; `metric`, `distance` and `parameters` are for the methods given
        by name. By default all methods that can deal with what is given
        (`coterie.methods.suitable_methods`). A pipeline is an estimator too, such as
        ``make_pipeline(RCA(), PCKMeans(3))``: every step that asks for constraints gets those of the fold.
    metric : {"sqeuclidean", "cosine"}
        The distance.
    distance : str or learned distance, optional
        A distance to learn before each method, such as "rca" or ``RCA()``; in each fold from what is kept.
    parameters : mapping, optional
        Parameters for every method that has them, such as ``{"size_min": 20}``. A method that has no bounds,
        or cannot keep clusters connected, cannot take part where that is asked for.
    n_folds : int, default 5
        Into how many parts the pairs are dealt.
    n_repeats : int, optional
        How often they are dealt anew. By default so often that about 300 pairs are asked, at most 10 times.
    sample_weight, size_weight, groups : arrays of shape (n_samples,), optional
        As in `fit`: importance of the items, what they count in bounds, groups with bounds of their own.
    random_state : int, Generator, RandomState or None
        Decides folds and fits; the same seed gives the same frame, but for the seconds.
    verbose : bool, default False
        Whether to show a bar.
    progress : callable, optional
        Called as ``progress(done, total, words)`` before every fit and at the end.
    library : {"pandas", "polars", "pyarrow"}, optional
        Which library's frame; by default the first one that is installed.

    Returns
    -------
    frame
        One row a method, best score first, then those without one:

        - ``method``: its name. "plain" is clustering without any constraint (within the bounds, if there are
          some): what the constraints have to improve on.
        - ``score``, ``error``: mean of `must_met` and `cannot_met`, and its standard error.
        - ``behind``, ``behind_error``: how much less the score is than that of the chosen method. The error
          of a difference is often smaller than those of both scores: both answer the same questions.
        - ``must_met``, ``cannot_met``: shares of the ``n_must`` and ``n_cannot`` held-out pairs that came out
          as stated. Where labels are hidden: how many of its own class an item is with, how many of others
          it is apart from, on average over the items.
        - ``n_clusters``: how many clusters the fit with everything made; some methods find the number.
        - ``seconds``: time of a fit, on average, without that of `distance`; the first fit, which may load
          compiled code, is left out.
        - ``status``: "ok", or why there is no score.
        - ``chosen``: true in one row.

    See Also
    --------
    coterie.comparison.best : name of the chosen method.
    coterie.comparison.in_words : the outcome in sentences.

    Notes
    -----
    A hundred pairs seldom decide between good methods: look at `behind_error`. Chosen is the best score, of
    equal ones the first in `methods`. "plain" is chosen only if no pair is marked hard and it is better than
    each of the others by more than two standard errors and by three pairs or more: then using the constraints
    seems to do harm. Each pair counts once, whatever its weight; pairs of weight 0 are not asked.

    Pairs that follow from what is kept are not asked (`Constraints.split`). With two clusters all follow
    whose ends a chain of kept constraints connects, since two items that are apart from a third are together;
    so many pairs about few items leave few questions. With more clusters they favour methods that obey all.

    A fit may fail, for instance since the constraints cannot all be met, or since those kept in a fold teach
    a distance nothing. Then `status` says why, and the method is not chosen. If all fail, a reason is raised.

    Examples
    --------
    >>> from coterie import compare
    >>> from coterie.comparison import best
    >>> from coterie.datasets import make_constrained_blobs
    >>> blobs = make_constrained_blobs(60, n_pairs=30, random_state=0)
    >>> frame = compare(blobs.data, blobs.constraints, 3, methods=["COPKMeans", "PCKMeans"], random_state=0)
    >>> len(frame), best(frame) in ("COPKMeans", "PCKMeans")
    (3, True)
    """
    given, X = X, check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    known = as_constraints(constraints, X.shape[0], like=given)
    k = whole_number(n_clusters, "n_clusters", 1)
    if distance is not None and metric != "sqeuclidean":
        raise ValueError(f"metric={metric!r}, but in the space of a learned distance it is Euclid's.")
    if k > X.shape[0]:
        raise ValueError(f"n_clusters={k}, but X has {X.shape[0]} rows.")
    n_folds = whole_number(n_folds, "n_folds", 2)
    questions = find_questions(known, k)
    n_held = questions.n_owners
    if n_held < 2 * n_folds:
        raise ValueError(
            f"there are {n_held} {questions.what} to hold out, but n_folds={n_folds} needs at least "
            f"{2 * n_folds}, two for each fold. State more of them, or take fewer folds."
        )
    if n_repeats is None:
        n_repeats = min(_MOST_REPEATS, math.ceil(_ENOUGH_ANSWERS / n_held))
    else:
        n_repeats = whole_number(n_repeats, "n_repeats", 1)
    parameters = {} if parameters is None else dict(parameters)
    more = {"sample_weight": sample_weight, "size_weight": size_weight, "groups": groups}
    fit_with = {name: value for name, value in more.items() if value is not None}
    task = Task(
        X.shape[0],
        k,
        known,
        _bounds(parameters, size_weight, groups),
        metric,
        connected=parameters.get("connectivity") is not None,
        weighted=sample_weight is not None,
        n_features=X.shape[1],
        sparse=sparse.issparse(X),
    )
    entrants = find_entrants(methods, task, parameters, fit_with, distance)
    folds = list(_all_folds(known, questions, n_folds, n_repeats, random_state))
    if not any(len(fold.asked) for fold, _ in folds):
        raise ValueError(
            f"none of the {n_held} {questions.what} can be held out: each follows from the others, or has "
            "weight 0. State some about other items."
        )
    tallies = [_Tally(entrant, len(questions.must)) for entrant in entrants]
    _run(X, tallies, folds, progress or Bar("compare", verbose))
    return build_frame(_columns(tallies, questions, folds, known), library)


def _bounds(parameters: Mapping[str, Any], size_weight: Any, groups: Any) -> frozenset[str]:
    """Which bounds are given, in the words of `Task`."""
    given = {name for name, value in parameters.items() if value is not None}
    found = {
        "sizes": bool(given & {"size_min", "size_max"}),
        "minima": "size_min" in given,
        "loads": size_weight is not None,
        "groups": groups is not None or bool(given & {"group_min", "group_max"}),
    }
    return frozenset(kind for kind, there in found.items() if there)


def _all_folds(
    known: Constraints, questions: Questions, n_folds: int, n_repeats: int, random_state: Any
) -> Iterator[tuple[Fold, int]]:
    """The folds of all repeats, each with the seed of its fits; the first keeps everything, asks nothing."""
    rng = as_generator(random_state)
    nothing = np.empty(0, dtype=np.int64)
    yield Fold(known, nothing, lambda labels: np.empty(0)), int(rng.integers(2**31))
    for _ in range(n_repeats):
        of_folds, *of_fits = rng.integers(2**31, size=1 + n_folds).tolist()
        yield from zip(questions.folds(n_folds, of_folds), of_fits, strict=True)


# ---- the fits -----------------------------------------------------------------------------------------


@dataclass
class _Tally:
    """What an entrant did so far."""

    entrant: Entrant
    n_questions: int
    right: FloatArray = field(init=False)
    seconds: float = 0.0
    n_fits: int = 0
    n_clusters: int = 0
    failure: str | None = None
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.right = np.zeros(self.n_questions)
        self.failure = self.entrant.refusal

    def fit(self, X: Any, fold: Fold, seed: int) -> None:
        """Fit and count."""
        try:
            rows = self.entrant.rows(X, fold.kept)
            started = time.perf_counter()
            labels = np.asarray(self.entrant.labels(rows, fold.kept, seed))
        except (ValueError, DeadEndError, UndecidedError) as error:
            # what our methods say of their input; any other error is a fault, and is not hidden
            self.failure, self.error = str(error).strip().split("\n")[0], error
            return
        if self.n_fits:  # the first one may load compiled code, and knows everything
            self.seconds += time.perf_counter() - started
        else:
            self.n_clusters = len(np.unique(labels[labels >= 0]))
        self.n_fits += 1
        self.right[fold.asked] += fold.answers(labels)


def _run(X: Any, tallies: list[_Tally], folds: list[tuple[Fold, int]], progress: Progress) -> None:
    total, done = len(folds) * len(tallies), 0
    for fold, seed in folds:
        for tally in tallies:
            progress(done, total, tally.entrant.name)
            done += 1
            if tally.failure is not None:
                continue
            with warnings.catch_warnings():
                # what is broken or not found costs points
                for kind in (ViolatedConstraintsWarning, ConvergenceWarning, DeadEndWarning):
                    warnings.simplefilter("ignore", kind)
                tally.fit(X, fold, seed)
    progress(total, total, "done")


# ---- the frame ----------------------------------------------------------------------------------------


def _columns(
    tallies: list[_Tally], questions: Questions, folds: list[tuple[Fold, int]], known: Constraints
) -> dict[str, list[Any]]:
    good = [tally for tally in tallies if tally.failure is None]
    informed = [tally for tally in tallies if tally.entrant.informed]
    if not any(tally.failure is None for tally in informed):
        _raise_first(informed, "methods")
    keeping = [tally for tally in informed if tally.entrant.keeps_hard]
    some_keep = any(tally.failure is None for tally in keeping)
    if not some_keep and any(isinstance(tally.error, InfeasibleConstraintsError) for tally in keeping):
        _raise_first(keeping, "methods that keep hard constraints")
    n_asked: IntArray = np.bincount(
        np.concatenate([fold.asked for fold, _ in folds]), minlength=len(questions.must)
    )
    asked = n_asked > 0
    must, owner = questions.must[asked], questions.owner[asked]
    answers = [tally.right[asked] / n_asked[asked] for tally in good]
    scores = [balanced(one, must, owner) for one in answers]
    order = sorted(range(len(good)), key=lambda number: -round(scores[number].value, 9))
    # pairs marked hard hold, so that what does not keep them is out of the question
    hard = some_keep and (known.must_table.hard.any() or known.cannot_table.hard.any())
    may_win = [number for number, tally in enumerate(good) if not hard or tally in keeping]
    plain = next((place for place, number in enumerate(may_win) if not good[number].entrant.informed), None)
    chosen = may_win[choose_best([answers[number] for number in may_win], plain, must, owner)]
    rows = []
    for number in order:
        tally, score, own = good[number], scores[number], answers[number]
        behind = balanced(answers[chosen] - own, must, owner)
        rows.append(
            {
                "method": tally.entrant.name,
                "score": score.value,
                "error": score.error,
                "behind": behind.value,
                "behind_error": behind.error,
                "must_met": float(own[must].mean()) if must.any() else _NO_NUMBER,
                "cannot_met": float(own[~must].mean()) if not must.all() else _NO_NUMBER,
                "n_must": int(must.sum()),
                "n_cannot": int((~must).sum()),
                "n_clusters": tally.n_clusters,
                "seconds": tally.seconds / (tally.n_fits - 1),
                "status": "ok",
                "chosen": number == chosen,
            }
        )
    empty = {name: _NO_NUMBER if isinstance(cell, float) else None for name, cell in rows[0].items()}
    for tally in tallies:
        if tally.failure is not None:
            known_of_it = {"method": tally.entrant.name, "status": tally.failure, "chosen": False}
            rows.append({**empty, **known_of_it})
    return {name: [row[name] for row in rows] for name in empty}


def _raise_first(failed: list[_Tally], those: str) -> None:
    """None of `those` could be fitted: say why, with the proof where constraints cannot be met."""
    for tally in failed:
        if isinstance(tally.error, InfeasibleConstraintsError):
            message = f"none of the {those} could be fitted. {tally.entrant.name}: {tally.error}"
            raise InfeasibleConstraintsError(message, tally.error.certificate) from tally.error
    message = f"none of the {those} could be fitted. {failed[0].entrant.name}: {failed[0].failure}"
    raise ValueError(message) from failed[0].error
