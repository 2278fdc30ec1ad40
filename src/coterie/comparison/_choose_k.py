"""How many clusters? What is known decides by being predicted; where it leaves that open, their shape does.

For each number the method is fitted once without pairs and labels, so that all of them are held out, and its
clusters are asked about them. (Fold by fold, with the other pairs told to the fit, was right no more often,
at five times the fits.) Pairs seldom tell neighbouring numbers apart: of those less than half a standard
error (of the difference) behind the best F-measure the one of the best shape is taken. Cost: a fit a number
(a tree: one in all) and O(n^2 d) for a silhouette; above 10,000 rows one start, and that of 5,000 rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.metrics import silhouette_score
from sklearn.utils import check_array

from coterie._words import short_number
from coterie.base import Bar, Listing, Section, Trace, account_of
from coterie.comparison._decide import f_measures
from coterie.comparison._questions import ask_everything
from coterie.constraints import Constraints, as_constraints
from coterie.constraints._model import BoolArray, FloatArray, IntArray
from coterie.constraints._reading import as_generator, whole_number
from coterie.exceptions import DeadEndError, InfeasibleConstraintsError, UndecidedError
from coterie.methods import Task, choose, find_method, wrong_input

# Found on blobs (round, elongated, unequal), breast-w, breast_cancer, glass, ionosphere, soybean-small, vowel
# and pendigits, 4 to 100 true pairs: from a quarter to three quarters of an error the choice is right equally
# often, in .46, .53, .62 of the draws with 8, 20, 70 pairs; the silhouette alone in .38.
_CLOSE = 0.5
_FEWEST = 3  # there two pairs of each kind were already better than none
_MANY_ROWS, _SAMPLE = 10_000, 5_000
_BUDGET = 100_000  # steps of a check; a number that stays open is tried
_F, _BIC = "F-measure", "BIC"


@dataclass(frozen=True)
class ChosenK:
    """How many clusters, and why; `print` it.

    Attributes
    ----------
    n_clusters, runner_up : int, int or None
        The number chosen, and the one that came next.
    criterion : {"F-measure", "silhouette", "BIC", "merge-height gap"}
        What decided; "F-measure" is that of the constraints held out. Of BIC the least is the best.
    scores : mapping
        For each number the values of the criteria, and the standard "error" of an F-measure.
    reason : str
        Why this number.
    left_out : mapping
        The numbers that are not possible, and why.
    """

    n_clusters: int
    runner_up: int | None
    criterion: str
    scores: Mapping[int, Mapping[str, float]]
    reason: str
    left_out: Mapping[int, str]

    def __str__(self) -> str:
        return "\n".join([f"k = {self.n_clusters}: {self.reason}", *(f"  {line}" for line in self.lines())])

    def lines(self) -> list[str]:
        """What is known of each number."""
        found = {k: f"{k}: left out. {why}" for k, why in self.left_out.items()}
        for k, row in self.scores.items():
            told = ", ".join(f"{name} {short_number(value)}" for name, value in row.items())
            found[k] = f"{k}: {told}{' (chosen)' if k == self.n_clusters else ''}"
        return [found[k] for k in sorted(found)]

    def section(self) -> Section:
        """A part of the report: the curve, why this number, and what comes next."""
        at, values = [*self.scores], np.array([row[self.criterion] for row in self.scores.values()])
        best = "least" if self.criterion == _BIC else "largest"
        text = f"The curve is the {self.criterion} by number of clusters; the {best} value is the best."
        trace, step = None, np.unique(np.diff(at)) if len(at) > 1 else np.ones(1)
        if len(step) == 1:  # a curve has equal steps
            ends, title = (f"{at[0]} clusters:", f"{at[-1]} clusters:"), "Choosing the number of clusters"
            place = at[0], float(step[0]), ends, "k.png", self.n_clusters
            trace = Trace(values, title, "", "clusters", self.criterion, *place)
        why = f"k = {self.n_clusters}: {self.reason}"
        tried = Listing("The numbers tried", tuple(self.lines()))
        return Section("number", "Number of clusters", text, trace, why, (tried,))


def choose_k(
    X: Any,
    constraints: Any = None,
    k_range: Iterable[int] | None = None,
    *,
    method: Any = "auto",
    random_state: Any = None,
    verbose: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    **fit_with: Any,
) -> ChosenK:
    """Choose the number of clusters.

    Where there are three pairs of each kind, or labels, it is the number whose clusters, made without them,
    are most often right about them: the largest pairwise F-measure, and of those less than half a standard
    error behind it the one of the best shape. Otherwise the shape alone: the largest silhouette, for mixtures
    the least BIC, for trees the largest gap below the next merge, as a share of its height. A number is left
    out if hard constraints (of a method that obeys all: any) cannot all be met with it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The items.
    constraints : Constraints or array of partial labels (-1: unknown), optional
        What is known.
    k_range : iterable of int, optional
        The numbers to try, each 2 or more; by default 2 to 10, and to five more than the constraints need.
    method : str or estimator, default "auto"
        The name of a method, or an estimator with its settings; its number of clusters is replaced. "auto":
        the rule of `coterie.methods.choose`, for the largest number.
    random_state : int, Generator, RandomState or None
        Seed of the fits, where the estimator has none.
    verbose : bool, default False
        Whether to show a bar.
    progress : callable, optional
        Called as ``progress(done, total, words)`` after every number.
    **fit_with
        More arguments of `fit`, such as `sample_weight`.

    Returns
    -------
    ChosenK
        The number, the runner-up, all scores and the reason.

    Examples
    --------
    >>> from coterie import choose_k
    >>> from coterie.datasets import make_constrained_blobs
    >>> blobs = make_constrained_blobs(120, n_clusters=4, n_pairs=60, random_state=3)
    >>> choose_k(blobs.data, blobs.constraints, range(2, 9), random_state=0).n_clusters
    4
    """
    given, X = X, check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    n, rng = X.shape[0], as_generator(random_state)
    known = as_constraints(constraints, n, like=given)
    numbers = _read_numbers(k_range, known, n)
    base, key = _read_method(method, Task(n, numbers[-1], known, weighted="sample_weight" in fit_with))
    settings = base.get_params()
    more = {"random_state": int(rng.integers(2**31))} if settings.get("random_state", 0) is None else {}
    if n > _MANY_ROWS and settings.get("n_init") == "auto":
        more["n_init"] = 1
    rows = rng.permutation(n)[: n if n <= _MANY_ROWS else _SAMPLE]
    left_out: dict[int, str] = {}
    obeyed = {"all": known, "none": known[[]]}.get(getattr(base, "obeys", "hard"), known.only_hard())
    for k in numbers:  # more clusters make more possible
        conflict = obeyed.check(k, budget=_BUDGET).certificate
        if conflict is None:
            break
        left_out[k] = str(conflict)
        if k == numbers[-1]:
            raise InfeasibleConstraintsError(f"{conflict} {conflict.what_to_drop()}", conflict)
    kept, answer, must = ask_everything(known)
    scores: dict[int, dict[str, float]] = {}
    answers, model = [], None
    tell = progress or Bar("choose_k", verbose)
    for k in numbers[len(left_out) :]:
        labels = _cut(model, k) if hasattr(model, "children_") else None
        if labels is None:
            model = clone(base).set_params(**{key: k}, **more)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the user's own fit will say it
                    labels = np.asarray(model.fit(X, constraints=kept, **fit_with).labels_)
            except (ValueError, DeadEndError, UndecidedError) as error:
                left_out[k], model = str(error).strip().split("\n")[0], None
                if len(left_out) == len(numbers):
                    raise
                continue
        scores[k] = _shape(model, X, labels, k, rows)
        answers.append(answer(labels))
        words = ", ".join(f"{name} {value:.4g}" for name, value in scores[k].items())
        tell(numbers.index(k) + 1, len(numbers), f"{k} clusters, {words}")
    return _decide(scores, np.array(answers), must, left_out)


def _read_numbers(k_range: Any, known: Constraints, n: int) -> list[int]:
    if k_range is None:
        needed = 2
        if known.check(n, budget=_BUDGET).status == "feasible":
            while known.check(needed, budget=_BUDGET).status == "infeasible":
                needed += 1
        k_range = range(2, min(max(10, needed + 5), n) + 1)
    numbers = [whole_number(k, "k_range", 2) for k in k_range] if isinstance(k_range, Iterable) else []
    if not numbers or max(numbers) > n:
        raise ValueError(f"k_range holds numbers from 2 to {n}, the rows of X; got {k_range!r}.")
    return sorted(set(numbers))


def _read_method(method: Any, task: Task) -> tuple[Any, str]:
    """An estimator, and what its number of clusters is called."""
    if isinstance(method, str):
        method = (choose(task).method if method == "auto" else find_method(method)).build(task.n_clusters)
    refusal = wrong_input(getattr(method, "wants", "rows"))
    if refusal is not None:
        raise ValueError(f"{type(method).__name__} {refusal}; it finds the number of clusters by itself.")
    settings: Any = {} if isinstance(method, type) else getattr(method, "get_params", dict)()
    for key in ("n_clusters", "n_components"):
        if key in settings:
            return method, key
    raise ValueError(f"method needs a number of clusters to choose, and this has none: {method!r}.")


def _cut(tree: Any, k: int) -> IntArray | None:
    """The k clusters of a tree; None where no merge leads to them."""
    n, made = len(tree.children_) + 1, len(tree.children_) + 1 - k
    if not np.isfinite(tree.distances_[:made]).all():
        return None
    ends = tree.children_[:made].ravel(), np.repeat(n + np.arange(made), 2)
    edges = coo_array((np.ones(2 * made), ends), shape=(n + made, n + made))
    return np.asarray(connected_components(edges)[1][:n])


def _shape(model: Any, X: Any, labels: IntArray, k: int, rows: IntArray) -> dict[str, float]:
    """The criterion that needs no constraints."""
    if hasattr(model, "bic"):
        return {_BIC: float(model.bic(X))}
    if hasattr(model, "children_"):
        below, above = model.distances_[len(labels) - k - 1 : len(labels) - k + 1]
        return {"merge-height gap": float(1.0 - below / above) if 0 < above < np.inf else 0.0}
    rows = rows[labels[rows] >= 0]
    if not 1 < len(np.unique(labels[rows])) < len(rows):
        return {"silhouette": 0.0}  # as that of an item alone
    metric = account_of(model).metric
    some = X[rows][:, rows] if metric == "precomputed" else X[rows]
    return {"silhouette": float(silhouette_score(some, labels[rows], metric=metric))}


def _decide(
    scores: dict[int, dict[str, float]], answers: FloatArray, must: BoolArray, left_out: dict[int, str]
) -> ChosenK:
    """Of the numbers close to the best F-measure (of all, where too little was held out) the best shape."""
    numbers, (shape,) = [*scores], next(iter(scores.values()))
    form = np.array([row[shape] for row in scores.values()]) * (-1 if shape == _BIC else 1)
    criterion, top, close = shape, int(np.argmax(np.round(form, 9))), np.ones(len(form), dtype=bool)
    if min(must.sum(), (~must).sum()) >= _FEWEST:
        f, influence = f_measures(answers, must)
        criterion, top = _F, int(np.argmax(np.round(f, 9)))
        close = f[top] - f <= _CLOSE * np.linalg.norm(influence[top] - influence, axis=1) + 1e-9
        found = zip(numbers, f.tolist(), np.linalg.norm(influence, axis=1).tolist(), strict=True)
        scores = {k: {_F: value, "error": error, **scores[k]} for k, value, error in found}
        form = np.where(close, form, f)
    # of equal ones the fewest clusters; rounded, so that the order of a sum does not decide
    first, *others = [numbers[place] for place in np.lexsort((np.round(-form, 9), ~close))]
    value = {k: {name: short_number(x) for name, x in row.items()} for k, row in scores.items()}
    what = f"{criterion} on what was held out ({len(must):,} questions)" if criterion == _F else criterion
    reason, best = f"its {what} is the best, {value[first][criterion]}", numbers[top]
    if first != best:
        behind = f"{value[first][criterion]}, is not clearly behind that of {best}, {value[best][criterion]}"
        reason = f"its {what}, {behind}, and its {shape} is better, {value[first][shape]} against "
        reason += value[best][shape]
    reason += f". Runner-up: {others[0]}, with {value[others[0]][criterion]}." if others else "."
    if len(must) and criterion != _F:
        reason += f" What is stated does not decide: that takes {_FEWEST} pairs of each kind."
    return ChosenK(first, others[0] if others else None, criterion, scores, reason, left_out)
