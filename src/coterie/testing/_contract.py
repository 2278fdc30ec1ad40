"""Promises of the interface: constraints in every form, reports, pipelines and searches, hostile input.

Two small problems stand behind most checks: three blobs far apart, with true constraints that every method
must meet; and a cloud without clusters, in which every detail matters.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from functools import partial
from typing import Any
from unittest import SkipTest

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object

from coterie.constraints import ALL_KINDS, Constraints
from coterie.exceptions import InfeasibleConstraintsError, UnsupportedConstraintError
from coterie.testing._problems import (
    blobs,
    cloud,
    needs,
    needs_features,
    needs_kinds,
    needs_method,
    needs_sample_weight,
    number,
    pairs_of,
    quiet,
    raises,
    ready,
    same_partition,
    stated_blobs,
    takes_distances,
    true_constraints,
)

_FITTED = ("labels_", "constraints_", "violations_", "n_iter_", "objective_", "history_", "converged_")


def check_every_parameter_has_a_rule(estimator: Any) -> None:
    """A reader of the class sees what is legal, and nonsense is refused by name."""
    lacking = set(estimator.get_params(deep=False)) - set(estimator.parameter_rules)
    assert not lacking, f"no rule for {sorted(lacking)}"
    word = number(estimator)
    if word is not None:
        estimator.set_params(**{word: 0})
        raises(ValueError, [word, "0"], lambda: estimator.fit(blobs(estimator)[0]))


def check_known_answer(estimator: Any) -> None:
    """Far apart blobs with true constraints of every kind taken: the truth, and nothing broken."""
    X, truth, known = stated_blobs(estimator)
    model = ready(estimator).fit(X, constraints=known)
    assert same_partition(model.labels_, truth), "the three blobs were not found"
    assert not model.violations_, str(model.violations_)
    for name in _FITTED:
        assert hasattr(model, name), f"{name} is missing after fit"


def check_no_constraints(estimator: Any) -> None:
    """None, nothing and an empty value are the unconstrained method."""
    X, _ = blobs(estimator)
    plain = ready(estimator).fit(X.copy())
    empty = ready(clone(estimator)).fit(X, constraints=Constraints(n_items=len(X)))
    assert np.array_equal(plain.labels_, empty.labels_), "empty constraints change the labels"
    assert plain.objective_ == empty.objective_, "empty constraints change the objective"
    assert plain.violations_.n_stated == 0, "constraints were counted where none were given"


def check_inputs_untouched(estimator: Any) -> None:
    """X and the constructor's parameters are left as they were."""
    X, _, known = stated_blobs(estimator)
    before, params = X.copy(), copy.deepcopy(ready(estimator).get_params())
    estimator.fit(X, constraints=known)
    assert np.array_equal(X, before), "X was changed"
    assert repr(estimator.get_params()) == repr(params), "a parameter was changed"


def check_y_is_ignored(estimator: Any) -> None:
    """The truth never leaks into a fit."""
    X, truth = blobs(estimator)
    wrong = np.random.default_rng(1).permutation(truth)
    plain = ready(estimator).fit(X).labels_
    assert np.array_equal(plain, ready(clone(estimator)).fit(X, wrong).labels_), "y changes the labels"


def check_number_of_items(estimator: Any) -> None:
    """Constraints on another number of items, or a bare list of pairs, are refused."""
    X, _ = blobs(estimator)
    ready(estimator)
    too_few = Constraints([(0, 1)], n_items=10)
    raises(ValueError, ["10", str(len(X))], lambda: estimator.fit(X, constraints=too_few))
    raises(TypeError, ["Constraints"], lambda: estimator.fit(X, constraints=[(0, 1)]))


def check_ids_change_nothing(estimator: Any) -> None:
    """Items that have names are clustered as items that have numbers."""
    X, _, known = stated_blobs(estimator)
    numbered = ready(estimator).fit(X, constraints=known).labels_
    named = known.with_ids([f"row-{i}" for i in range(len(X))])
    model = ready(clone(estimator)).fit(X, constraints=named)
    assert np.array_equal(model.labels_, numbered), "ids change the labels"
    assert list(model.constraints_.ids) == list(named.ids), "constraints_ has lost the ids"


def check_names_travel(estimator: Any) -> None:
    """Where X is a frame whose index names its rows, constraints with ids go by name; or they are refused."""
    try:
        import pandas as pd
    except ImportError:
        raise SkipTest("the check needs pandas") from None
    X, truth, known = stated_blobs(estimator)
    known = known.with_ids([f"row-{i}" for i in range(len(X))])
    frame = pd.DataFrame(X, index=known.ids, columns=[f"f{i}" for i in range(X.shape[1])])
    order = np.random.default_rng(0).permutation(len(X))
    moved = frame.iloc[order, order if takes_distances(estimator) else slice(None)]
    model = ready(estimator).fit(moved, constraints=known)
    assert list(model.constraints_.ids) == list(moved.index), "constraints_ is not in the order of X"
    assert same_partition(model.labels_, truth[order]), "items that were moved are taken for others"
    by_name = known.violations(pd.Series(model.labels_, moved.index))
    assert not by_name, f"violations_ is empty, yet by name: {by_name}"
    other = frame.rename(index={"row-3": "nobody"})
    raises(ValueError, ["nobody"], lambda: ready(clone(estimator)).fit(other, constraints=known))
    # a fold of rows that have no names goes by position, though its rows keep their numbers
    rows, whole = np.arange(len(X)) % 12 > 1, pd.DataFrame(X, columns=frame.columns)
    part = whole.loc[rows, rows] if takes_distances(estimator) else whole.loc[rows]
    fold = ready(clone(estimator)).fit(part, constraints=known[rows])
    assert same_partition(fold.labels_, truth[rows]), "rows that have no names are not taken in order"


def check_partial_labels(estimator: Any) -> None:
    """A vector of partial labels means `Constraints.from_labels`."""
    needs_kinds(estimator, "label")
    X, truth = blobs(estimator)
    partial = np.where(np.arange(len(truth)) % 4 == 0, truth, -1)
    vector = ready(estimator).fit(X, constraints=partial).labels_
    value = ready(clone(estimator)).fit(X, constraints=Constraints.from_labels(partial)).labels_
    assert np.array_equal(vector, value), "a label vector and from_labels differ"


def check_refuses_other_kinds(estimator: Any) -> None:
    """A kind that the method cannot honour is refused by name."""
    X, truth = blobs(estimator)
    for kind in sorted(ALL_KINDS - estimator.constraint_kinds):
        known = true_constraints(truth, frozenset({kind}))
        raises(UnsupportedConstraintError, [kind], partial(estimator.fit, X, constraints=known))


def check_violations_are_recounted(estimator: Any) -> None:
    """`violations_` agrees with a slow recount of labels_, on pairs that cut through the blobs."""
    X, _ = blobs(estimator)
    must, cannot = [(0, 12), (1, 13), (2, 24)], [(4, 5), (16, 17), (28, 29)]
    known = pairs_of(estimator.constraint_kinds, must, cannot, n_items=len(X), weight=1e-9)
    model = ready(estimator).fit(X, constraints=known)
    labels = model.labels_
    split = [[i, j] for i, j in known.must_link.tolist() if labels[i] != labels[j]]
    joined = [[i, j] for i, j in known.cannot_link.tolist() if labels[i] == labels[j]]
    assert model.violations_.must_link.ij.tolist() == split, "broken must-links are miscounted"
    assert model.violations_.cannot_link.ij.tolist() == joined, "broken cannot-links are miscounted"
    if model.obeys == "all":
        assert not model.violations_, "a hard method broke constraints"


def check_hard_statements_hold(estimator: Any) -> None:
    """What is marked hard holds in a soft method too, against the data; labels are hard by nature."""
    needs(estimator.obeys != "none", "a method that obeys")
    X, _ = blobs(estimator)
    kinds = estimator.constraint_kinds
    known = pairs_of(kinds, [(0, 12)], [(4, 5)], n_items=len(X), weight=1e-9, hard=True)
    if "label" in kinds:
        values = np.full(len(X), -1)
        values[[1, 25]], values[[2, 14]] = 0, 1
        known = known | Constraints.from_labels(values)
    model = ready(estimator).fit(X, constraints=known)
    assert not model.violations_, str(model.violations_)


def check_duplicate_and_self_pairs(estimator: Any) -> None:
    """Repeated pairs and must-links of an item with itself are legal."""
    needs_kinds(estimator, "must-link")
    X, truth = blobs(estimator)
    known = Constraints([(0, 1), (1, 0), (0, 1), (7, 7)], n_items=len(X))
    model = ready(estimator).fit(X, constraints=known)
    assert same_partition(model.labels_, truth)


def check_contradiction(estimator: Any) -> None:
    """Who obeys raises in the user's ids; a soft method goes on and reports soft ones."""
    needs_kinds(estimator, "must-link", "cannot-link")
    X, _ = blobs(estimator)
    ids = [f"row-{i}" for i in range(len(X))]
    pairs = [(0, 3), (3, 5)], [(0, 5)]
    hard = Constraints(*pairs, n_items=len(X), hard=True).with_ids(ids)
    _check_collision(estimator, X, hard, ["row-0", "row-3", "row-5"], Constraints(*pairs, n_items=len(X)))


def _check_collision(estimator: Any, X: Any, hard: Constraints, words: list[str], soft: Constraints) -> None:
    if estimator.obeys != "none":
        raises(InfeasibleConstraintsError, words, lambda: ready(estimator).fit(X, constraints=hard))
    if estimator.obeys != "all":
        assert ready(clone(estimator)).fit(X, constraints=soft).violations_.n_broken > 0


def check_too_many_apart(estimator: Any) -> None:
    """More items that are all apart than clusters: an error of a hard method, a report of a soft one."""
    needs_kinds(estimator, "cannot-link")
    needs(number(estimator) is not None, "a number of clusters that is asked for")
    X, _ = blobs(estimator)
    apart = [(i, j) for i in range(4) for j in range(i)]
    hard, soft = (Constraints(None, apart, n_items=len(X), hard=hard) for hard in (True, False))
    _check_collision(estimator, X, hard, ["3 clusters"], soft)


def check_long_chain(estimator: Any) -> None:
    """A chain of 100,000 must-links neither overflows nor turns into pairs."""
    needs_kinds(estimator, "must-link")
    needs_features(estimator)
    needs(not estimator.works_on_pairs, "a method that can hold 100,000 items")
    n = 100_000
    X = np.tile([[0.0], [100.0]], (n // 2, 1))
    links = np.arange(n - 2)
    known = Constraints(np.column_stack([links, links + 2]), n_items=n, hard=True)
    model = ready(estimator, 2).fit(X, constraints=known)
    assert not model.violations_
    assert same_partition(model.labels_, X[:, 0] > 50)


def check_small_data(estimator: Any) -> None:
    """One item; as many clusters as items; more clusters than items."""
    needs_features(estimator)
    ready(estimator, 1).fit(np.zeros((1, 2)))
    word = number(estimator)
    if word is None:
        return
    X = np.arange(8.0).reshape(4, 2)
    labels = ready(clone(estimator), 4).fit(X).labels_
    assert len(np.unique(labels)) == 4, "as many clusters as items, but some share one"
    raises(ValueError, [word, "4"], lambda: ready(clone(estimator), 5).fit(X))


def check_hostile_data(estimator: Any) -> None:
    """NaN (unless it stands for what is missing) and infinity are refused; constant features are not."""
    needs_features(estimator)
    X, _ = blobs(estimator)
    for bad in (np.inf,) if get_tags(estimator).input_tags.allow_nan else (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        raises(ValueError, [], partial(ready(estimator).fit, broken))
    constant = np.column_stack([np.repeat([0.0, 50.0, 99.0], 4), np.ones(12)])
    assert same_partition(ready(clone(estimator)).fit(constant).labels_, np.repeat([0, 1, 2], 4))


def check_pickle(estimator: Any) -> None:
    """A fitted model survives pickling with its account of the constraints."""
    X, _, known = stated_blobs(estimator)
    model = ready(estimator).fit(X, constraints=known)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.labels_, model.labels_)
    assert str(back.violations_) == str(model.violations_)
    if hasattr(model, "predict"):
        assert np.array_equal(back.predict(X), model.predict(X)), "predict differs after pickling"


def check_search_splits_constraints(estimator: Any) -> None:
    """A search hands each fold the constraints among its own rows, with routing on and off."""
    needs_features(estimator)
    assert get_routing_for_object(estimator).fit.requests.get("constraints") is True, (
        "not requested by default"
    )
    X, truth = blobs(estimator)
    order = np.random.default_rng(3).permutation(len(X))
    X, known = X[order], true_constraints(truth, estimator.constraint_kinds)[order]

    def account_of_the_fold(model: Any, held_out: Any, y: Any = None) -> float:
        """Compare what the model reports with the constraints among the rows that it must have had."""
        in_test = (X[:, None] == held_out).all(axis=-1).any(axis=1)
        expected = known[~in_test].violations(model.labels_)
        assert model.violations_.n_stated == expected.n_stated, "a fold received other constraints"
        assert str(model.violations_) == str(expected), "a fold reports other violations"
        return 0.0

    name = next(iter(estimator.get_params()))
    for routing in (True, False):
        with sklearn.config_context(enable_metadata_routing=routing):
            grid = {name: [ready(estimator).get_params()[name]]}
            search = GridSearchCV(estimator, grid, cv=3, scoring=account_of_the_fold, error_score="raise")
            search.fit(X, constraints=known)


def check_pipeline_passes_constraints(estimator: Any) -> None:
    """A pipeline hands them on, with routing on and off, and the fit is the fit of the last step."""
    needs_features(estimator)
    X, truth = cloud()
    known = true_constraints(truth, estimator.constraint_kinds)
    alone = ready(estimator).fit(StandardScaler().fit_transform(X), constraints=known)
    for routing in (True, False):
        pipeline = make_pipeline(StandardScaler(), clone(estimator))
        name = "constraints" if routing else f"{type(estimator).__name__.lower()}__constraints"
        with sklearn.config_context(enable_metadata_routing=routing):
            labels = pipeline.fit_predict(X, **{name: known})
        assert pipeline[-1].violations_.n_stated == alone.violations_.n_stated, (
            "the pipeline lost constraints"
        )
        assert np.array_equal(labels, alone.labels_), "a fit in a pipeline differs"


def check_fit_predict(estimator: Any) -> None:
    """`fit_predict` is `fit`, then `labels_`."""
    X, _, known = stated_blobs(estimator)
    given = ready(estimator).fit_predict(X, constraints=known)
    assert np.array_equal(given, estimator.labels_), "fit_predict does not return labels_"
    fitted = ready(clone(estimator)).fit(X, constraints=known)
    assert np.array_equal(given, fitted.labels_), "fit and fit_predict differ"


def check_predict_the_training_items(estimator: Any) -> None:
    """Without constraints `predict` repeats `labels_`, whether or not the fit came to its end."""
    needs_method(estimator, "predict")
    X = blobs(estimator)[0] if takes_distances(estimator) else cloud()[0]
    for limit in [{}, {"max_iter": 1}] if "max_iter" in estimator.get_params() else [{}]:
        model = ready(clone(estimator)).set_params(**limit)
        with quiet():
            model.fit(X)
        message = " after max_iter=1" if limit else ""
        assert np.array_equal(model.predict(X), model.labels_), f"predict(X) is not labels_{message}"


def check_transform(estimator: Any) -> None:
    """One column a cluster, `fit_transform` is `fit` and `transform`, and the output has names."""
    needs_method(estimator, "transform")
    X, _, known = stated_blobs(estimator)
    model = ready(estimator).fit(X, constraints=known)
    out = model.transform(X)
    assert out.shape == (len(X), len(np.unique(model.labels_))), f"transform gives shape {out.shape}"
    again = ready(clone(estimator)).fit_transform(X, constraints=known)
    assert np.array_equal(out, again), "fit_transform differs from fit and transform"
    names = model.get_feature_names_out()
    assert len(set(names)) == out.shape[1], f"{out.shape[1]} columns, but the names {list(names)}"
    try:
        import pandas as pd
    except ImportError:
        raise SkipTest("the rest of the check needs pandas") from None
    frame = pd.DataFrame(X, index=[f"row-{i}" for i in range(len(X))])
    frame.columns = [f"f{i}" for i in range(X.shape[1])]
    shown = ready(clone(estimator)).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(shown.columns) == list(names), "set_output gives other names than get_feature_names_out"
    assert list(shown.index) == list(frame.index), "set_output loses the index"


def check_bad_sample_weight(estimator: Any) -> None:
    """Weights that make no sense are refused by name."""
    needs_sample_weight(estimator)
    X, _ = blobs(estimator)
    ones = np.ones(len(X))
    for bad in (-ones, np.where(ones.cumsum() == 4, np.nan, ones), 0 * ones, ones[:-1], ones[:, None]):
        raises(ValueError, ["weight"], partial(ready(clone(estimator)).fit, X, sample_weight=bad))


def check_score_takes_weights(estimator: Any) -> None:
    """A search with routing may hand `sample_weight` to `score`."""
    needs_method(estimator, "score")
    X, _ = blobs(estimator)
    model = ready(estimator).fit(X)
    assert "sample_weight" in inspect.signature(model.score).parameters, "score has no sample_weight"
    plain = model.score(X)
    assert np.isclose(model.score(X, sample_weight=np.ones(len(X))), plain), "weights of one change the score"
    assert np.isfinite(plain), f"the score is {plain}"
