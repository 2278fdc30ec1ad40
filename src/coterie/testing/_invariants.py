"""Invariants: what may be done to the data, their form or their order without changing the answer.

Most checks fit twice, on blobs that overlap and under constraints that pull, and compare not the labels alone
but every number that a fit leaves behind: centres, metrics, weights, prices, the objective and its history.
Where the class takes a start both fits are given the same one, since a start that is drawn goes by the order
and the number of the rows.
"""

from __future__ import annotations

import copy
from typing import Any
from unittest import SkipTest

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from coterie.constraints import Constraints
from coterie.testing._problems import (
    blobs,
    fitted,
    given_form,
    given_start,
    needs,
    needs_features,
    needs_kinds,
    needs_parameter,
    needs_sample_weight,
    overlapping,
    pairs_of,
    quiet,
    ready,
    same_partition,
    stated_blobs,
    takes_distances,
    true_constraints,
)

# these hold numbers of items or of merges, or go by the order of the pairs
_NUMBERS_OF_ITEMS = {
    *("linkage_", "children_", "medoid_indices_", "center_indices_", "sample_indices_", "agreement_"),
}
# cells of a sparse matrix that is not written out
_LARGE_TABLE = 10_000_000
_OF_EACH_FIT = {"n_iter_", "history_"}


def _left_by(model: Any) -> dict[str, Any]:
    """The numbers that a fit left behind, by name."""
    found = {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_") or name in _NUMBERS_OF_ITEMS:
            continue
        if sparse.issparse(value):  # of a large graph the numbers that are stored
            value = value.toarray() if value.shape[0] * value.shape[1] < _LARGE_TABLE else value.data
        several = isinstance(value, list) and any(isinstance(one, np.ndarray) for one in value)
        for part, number in enumerate(value) if several else [("", value)]:
            is_number = isinstance(number, float | np.floating | np.ndarray | list)
            if is_number and np.asarray(number).dtype.kind in "fi":
                found[f"{name}{part}"] = np.asarray(number)
    return found


def _assert_same(
    one: Any, other: Any, message: str, items: Any = None, without: Any = (), tol: float = 1e-6
) -> None:
    """Every number of one fit is that of the other, whose items may stand in another order."""
    n, theirs = len(one.labels_), _left_by(other)
    for name, mine in _left_by(one).items():
        if name in without:
            continue
        if items is not None and mine.ndim and len(mine) == n:
            mine = mine[items]
        if name == "labels_":
            assert np.array_equal(mine, theirs[name]), f"{message} change the labels"
        assert mine.shape == theirs[name].shape, f"{message} change the shape of {name}"
        size = np.abs(mine[np.isfinite(mine)]).max(initial=0.0)
        assert np.allclose(mine, theirs[name], rtol=tol, atol=tol * size), (
            f"{message} change {name}: {mine}, {theirs[name]}"
        )


def _start(estimator: Any, X: Any, items: Any = (0, 1, 2)) -> dict[str, Any]:
    """Begin at these items, and run to the end: what is small may depend on the number of rows."""
    words = given_start(estimator, X, np.asarray(items))
    return words | ({"tol": 0.0} if "tol" in estimator.get_params() else {})


def check_same_seed_same_labels(estimator: Any) -> None:
    """Two fits from one seed agree to the last digit, and a second fit of the same object too."""
    X, _, known = overlapping(estimator)
    X = given_form(estimator, X)
    first = fitted(ready(estimator), X, known)
    again = fitted(estimator, X, known)
    _assert_same(first, again, "two fits from one seed", tol=0.0)
    if "random_state" in estimator.get_params():
        drawn = fitted(estimator, X, known, random_state=np.random.RandomState(0))
        _assert_same(first, drawn, "a generator in place of its seed", tol=0.0)
    labels = first.labels_.copy()
    with quiet():
        assert np.array_equal(labels, first.fit(X, constraints=known).labels_), "a second fit differs"


def check_permuted_items(estimator: Any) -> None:
    """The order of the items does not matter where the answer is clear."""
    X, truth = blobs()
    order = np.random.default_rng(2).permutation(len(X))
    known = true_constraints(truth, estimator.constraint_kinds)
    model = fitted(ready(estimator), given_form(estimator, X[order]), known[order])
    assert same_partition(model.labels_, truth[order]), "permuted items give another partition"


def check_permuted_items_from_one_start(estimator: Any) -> None:
    """From one start every detail is the same, whatever the order of the items."""
    ready(estimator)
    for seed in range(2):
        X, truth, _ = overlapping(estimator, seed)
        _check_permuted(estimator, X, np.arange(3), None, seed)
    X, truth = blobs()
    _check_permuted(estimator, X, [0, 12, 24], true_constraints(truth, estimator.constraint_kinds), 2)
    if "must-link" in estimator.constraint_kinds:  # pairs that share no item are decided one by one
        X, truth, _ = overlapping(estimator, 3)
        pairs = np.arange(20, 40).reshape(-1, 2)
        alike = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        _check_permuted(
            estimator, X, np.arange(3), Constraints(pairs[alike], pairs[~alike], n_items=len(X)), 3
        )


def _check_permuted(estimator: Any, X: Any, start: Any, known: Any, seed: int) -> None:
    items = np.random.default_rng(seed).permutation(len(X))
    moved = X[items], None if known is None else known[items]
    one = fitted(estimator, given_form(estimator, X), known, **_start(estimator, X, start))
    words = _start(estimator, moved[0], np.argsort(items)[start])
    other = fitted(estimator, given_form(estimator, moved[0]), moved[1], **words)
    _assert_same(one, other, "permuted items", items=items, without=_OF_EACH_FIT)


def check_renumbered_start(estimator: Any) -> None:
    """The clusters of a given start keep its numbers, and the start is not changed in place."""
    X, _, known = overlapping(ready(estimator))
    turn, before, words = np.array([2, 0, 1]), _start(estimator, X), _start(estimator, X)
    one = fitted(estimator, given_form(estimator, X), known, **words)
    for name, value in before.items():
        assert np.array_equal(value, words[name]), f"{name} was changed in place"
    other = fitted(estimator, given_form(estimator, X), known, **_start(estimator, X, turn))
    assert np.array_equal(turn[other.labels_], one.labels_), "clusters do not keep the numbers of the start"
    for name in ("cluster_centers_", "means_", "weights_"):
        if hasattr(one, name):
            mine, theirs = getattr(one, name)[turn], getattr(other, name)
            assert np.allclose(mine, theirs, rtol=1e-5, atol=1e-5 * X.max()), f"{name} is not renumbered"


def check_scaled_features(estimator: Any) -> None:
    """The unit of the features does not matter, unless the class says that it does."""
    _check_moved(estimator, [(1e-6, 0.0), (1e6, 0.0)])


def check_shifted_features(estimator: Any) -> None:
    """Nor does their origin, which may be far away; each feature has its own."""
    _check_moved(estimator, [(1.0, 100.0), (1e-6, 1000.0), (1e6, -1000.0)])


def _check_moved(estimator: Any, cases: list[tuple[float, float]]) -> None:
    needs_features(estimator)
    needs(estimator.scale_invariant, "a method that does not depend on the unit")
    X, _, known = overlapping(ready(estimator))
    easy, truth = blobs()
    plain = fitted(estimator, X, known)
    directions = "cosine" in (plain.get_params().get("metric"), plain.get_params().get("kernel"))
    power, slope = set(), []
    for factor, far in cases:
        message = f"features times {factor:g}" + (f" and {far:g} away" if far else "")
        shift = far * factor * np.array([1.0, -0.3, 0.7, 0.0])
        moved = fitted(
            estimator, factor * easy + shift[:2], true_constraints(truth, estimator.constraint_kinds)
        )
        assert same_partition(truth, moved.labels_), f"{message} give another partition"
        moved = fitted(estimator, factor * X + shift, known)
        # of starts that are equally good any may win, and number the clusters its own way
        assert same_partition(plain.labels_, moved.labels_), f"{message} change the labels"
        if np.array_equal(plain.labels_, moved.labels_) and not directions:
            for name in ("cluster_centers_", "means_"):
                centres = getattr(plain, name, np.zeros((0, 4)))
                near = 1e-5 * factor * (X.max() + abs(far))
                assert np.allclose(
                    factor * centres + shift, getattr(moved, name, centres), rtol=0, atol=near
                ), f"{message} do not move {name} with them"
        if factor == 1.0:
            assert np.isclose(moved.objective_, plain.objective_, rtol=1e-5), (
                f"{message} change the objective"
            )
        else:
            power.add(round(np.log(abs(moved.objective_ / plain.objective_)) / np.log(factor), 3))
            slope.append((moved.objective_ - plain.objective_) / np.log(factor))
    # a sum of distances or of squares has its power of the unit; a likelihood has its logarithm
    assert power in ({0.0}, {1.0}, {2.0}) or np.allclose(slope, slope[0], rtol=1e-3), (
        f"the objective has no unit: powers {power}, steps {slope}"
    )


def check_any_layout(estimator: Any) -> None:
    """Rows in any order of memory, strided, read only, whole numbers or lists are the same rows."""
    X, _, known = overlapping(ready(estimator))
    X = np.round(given_form(estimator, X))
    X[(X == 0).all(axis=1)] = 1.0
    plain = fitted(estimator, X, known)
    frozen, wide = X.copy(), np.zeros((len(X), 2 * X.shape[1]))
    frozen.flags.writeable = False
    wide[:, ::2] = X
    layouts = {
        "columns first": np.asfortranarray(X),
        "read only": frozen,
        "strided": wide[:, ::2],
        "whole numbers": X.astype(np.int64),
        "lists": X.tolist(),
    }
    for message, given in layouts.items():
        _assert_same(plain, fitted(estimator, given, known), f"rows that are {message}")


def check_float32_is_kept(estimator: Any) -> None:
    """Half the memory stays half the memory, in centres and transformed data, and the answer is the same."""
    X, truth = blobs()
    known = true_constraints(truth, estimator.constraint_kinds)
    single = given_form(estimator, X).astype(np.float32)
    wide = fitted(ready(estimator), single.astype(np.float64), known)
    layouts = [single, single.astype(np.float64), *([] if takes_distances(estimator) else [X.astype(int)])]
    for given in layouts:
        kept = np.float32 if given is single else np.float64
        model = fitted(estimator, given, known)
        found = {"cluster_centers_": model.cluster_centers_} if hasattr(model, "cluster_centers_") else {}
        if hasattr(model, "transform"):
            found["transform"] = model.transform(given)
        for name, value in found.items():
            assert value.dtype == kept, f"{name} is {value.dtype} for data of {given.dtype}"
        assert same_partition(model.labels_, wide.labels_), f"data of {given.dtype} give another partition"
        assert np.asarray(model.history_).dtype == np.float64, "history_ is not float64"
    model = fitted(estimator, single, known)
    assert np.isclose(model.objective_, wide.objective_, rtol=1e-3, atol=1e-3), (
        f"the objective is {model.objective_} in float32, {wide.objective_} in float64"
    )


def check_sparse_is_dense(estimator: Any) -> None:
    """CSR and CSC input give what the same numbers give as a dense array; zeros may be stored."""
    needs(get_tags(estimator).input_tags.sparse, "a method that takes sparse input")
    X, _, known = overlapping(ready(estimator))
    X = given_form(estimator, X)
    stored = sparse.csr_array(np.where(X == 0, 1.0, X))
    stored.data[X.ravel() == 0] = 0.0
    for words in _with_and_without_start(estimator, X):
        dense = fitted(estimator, X, known, **words)
        for container in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, lambda _: stored):
            message = f"{getattr(container, '__name__', 'stored')} input"
            model = fitted(estimator, container(X), known, **words)
            _assert_same(dense, model, message)
            for name in ("predict", "transform"):
                if hasattr(model, name):
                    mine, theirs = getattr(model, name)(container(X)), getattr(dense, name)(X)
                    assert np.allclose(mine, theirs, rtol=1e-6, atol=1e-6), f"{name} of {message} differs"


def _with_and_without_start(estimator: Any, X: Any) -> list[dict[str, Any]]:
    try:
        return [{}, _start(estimator, X)]
    except SkipTest:
        return [{}]


def check_scaled_sample_weight(estimator: Any) -> None:
    """The unit of the weights does not matter, and weights of one are no weights."""
    needs_sample_weight(estimator)
    for seed in range(3):
        X, _, known = overlapping(ready(estimator), seed)
        X = given_form(estimator, X)
        weight = np.random.default_rng(seed).exponential(size=len(X)) ** 3
        plain = fitted(estimator, X, known).labels_
        for ones in (np.ones(len(X)), 1, 1.0):
            same = fitted(estimator, X, known, sample_weight=ones).labels_
            assert np.array_equal(plain, same), "weights of one are not no weights"
        hard = known.only_hard()  # those with a price compete with the weights
        heavy = fitted(estimator, X, hard, sample_weight=weight).labels_
        for factor in (2.0**-20, 2.0**20):  # powers of two change no digit, so that nothing else may change
            again = fitted(estimator, X, hard, sample_weight=factor * weight).labels_
            assert np.array_equal(heavy, again), f"weights times {factor:g} change the labels"


def check_weighted_is_repeated(estimator: Any) -> None:
    """From the same start, an item of weight 3 counts as three such items, and one of weight 0 as none."""
    needs_sample_weight(estimator)
    for seed in range(2):
        X, _, _ = overlapping(ready(estimator), seed)
        weight = np.random.default_rng(seed).integers(0, 4, size=len(X))
        weight[:3] = [1, 2, 3]
        _check_repeated(estimator, X, weight, Constraints(n_items=len(X)), {"weight_"})  # prices nothing


def check_weighted_is_repeated_under_constraints(estimator: Any) -> None:
    """The copies of an item are tied by hard must-links, and constraints name the first."""
    needs_sample_weight(estimator)
    needs_kinds(ready(estimator), "must-link", "cannot-link")
    for seed in range(2):
        X, _, known = overlapping(estimator, seed)
        for message in (known, Constraints(known.must_link, n_items=len(X), hard=True)):
            weight = np.random.default_rng(seed).integers(1, 4, size=len(X))
            _check_repeated(estimator, X, weight, message)


def _check_repeated(estimator: Any, X: Any, weight: Any, known: Any, without: Any = frozenset()) -> None:
    item = np.repeat(np.arange(len(X)), weight)
    first = np.searchsorted(item, np.arange(len(X)))
    again = Constraints(
        first[known.must_link], first[known.cannot_link], n_items=len(item), hard=known == known.only_hard()
    )
    copies = [(first[i], first[i] + c) for i in known.constrained_items for c in range(1, weight[i])]
    again = again | Constraints(copies, n_items=len(item), hard=True)
    start, start_again = _start(estimator, X), _start(estimator, X[item], first[:3])
    weighted = fitted(estimator, given_form(estimator, X), known, sample_weight=weight, **start)
    repeated = fitted(estimator, given_form(estimator, X[item]), again, **start_again)
    assert np.array_equal(weighted.labels_[item], repeated.labels_), "weighted is not repeated"
    _assert_same(
        weighted, repeated, "weights for copies", without={"labels_", "sizes_", *_OF_EACH_FIT, *without}
    )


def check_threads_do_not_matter(estimator: Any) -> None:
    """One thread and two give the same labels, on data large enough to be shared out."""
    needs_features(estimator)
    needs(not estimator.works_on_pairs, "a method that can hold 40,000 items")
    n, rng = 40_000, np.random.default_rng(7)
    truth = rng.integers(4, size=n)
    X = 1.5 * rng.normal(size=(4, 3))[truth] + rng.normal(size=(n, 3))
    pairs, kinds = Constraints.sample(truth, n_pairs=500, random_state=0), estimator.constraint_kinds
    known = pairs_of(kinds, pairs.must_link, pairs.cannot_link, n_items=n)
    if "label" in kinds:
        known = known | Constraints.from_labels(np.where(np.arange(n) % 500 == 0, truth, -1))
    ready(estimator, 4)
    few = {"max_iter": 5, "n_init": 1, "n_rounds": 2, "n_folds": 2}
    estimator.set_params(**{name: few[name] for name in few if name in estimator.get_params()})
    for given in (X, X.astype(np.float32)):
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(fitted(estimator, given, known))
        n_other = int((found[0].labels_ != found[1].labels_).sum())
        assert not n_other, f"{n_other} of {n} labels change with the number of threads"
        _assert_same(found[0], found[1], "threads", tol=0.0)


def check_history(estimator: Any) -> None:
    """`history_` ends in `objective_` and, where the class says so, never rises."""
    weighted = has_fit_parameter(estimator, "sample_weight")
    limits = [{}, {"max_iter": 2}] if "max_iter" in ready(estimator).get_params() else [{}]
    for seed in range(4):
        X, _, known = overlapping(estimator, seed)
        weight = np.random.default_rng(seed).integers(1, 4, size=len(X))
        more = {"sample_weight": weight} if weighted and seed % 2 else {}
        for limit in limits:
            model = fitted(estimator, given_form(estimator, X), known, **more, **limit)
            history = np.asarray(model.history_, dtype=float)
            assert history.ndim == 1, f"history_ has shape {history.shape}"
            assert len(history), "history_ is empty"
            assert np.isclose(history[-1], model.objective_, rtol=1e-9, atol=0), (
                f"history_ ends in {history[-1]}, objective_ is {model.objective_}"
            )
            rises = np.diff(history) > 1e-9 * np.abs(history).max()
            assert not (model.monotone and rises.any()), (
                f"history_ rises after {np.flatnonzero(rises)}: {history}"
            )


def check_warm_start_keeps_numbers(estimator: Any) -> None:
    """A second fit from the model of the first finds its clusters under their numbers, whatever the seed."""
    needs_parameter(estimator, "warm_start")
    needs_parameter(estimator, "random_state")
    X, truth = blobs(estimator)
    model = fitted(ready(estimator), X, warm_start=True)
    first = model.labels_.copy()
    for seed in range(1, 6):
        with quiet():
            again = model.set_params(random_state=seed).fit(X * 1.01).labels_
        assert same_partition(again, truth), "a warm start finds other clusters"
        assert np.array_equal(again, first), "a warm start numbers the clusters anew"


def check_warm_start_goes_on(estimator: Any) -> None:
    """A second fit of the same data begins where the first ended; where that is clear, it stays there."""
    needs_parameter(estimator, "warm_start")
    X, _, known = stated_blobs(ready(estimator))
    model = fitted(estimator, X, known, warm_start=True)
    first = copy.deepcopy(model)
    with quiet():
        model.fit(X, constraints=known)
    _assert_same(first, model, "warm starts", without=_OF_EACH_FIT)
