"""Scores against the slow oracle, their conventions, the scorer in real searches, hostile input."""

import copy
import pickle
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie import metrics
from coterie.constraints import Constraints
from coterie.metrics import (
    adjusted_rand_score,
    balance_scores,
    constraint_satisfaction,
    constraint_satisfaction_scorer,
    linkage_pair_scores,
    matched_f_score,
    mirkin_distance,
    pair_scores,
    pairwise_f1,
    pairwise_precision,
    pairwise_recall,
    rand_score,
    score_on,
)
from tests.oracles import pairs as oracle

two_labellings = st.integers(1, 15).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


# Pair scores


@settings(max_examples=100, deadline=None)
@given(two_labellings)
def test_pair_scores_agree_with_looking_at_every_pair(labellings):
    y_true, y_pred = labellings
    assert pair_scores(y_true, y_pred) == pytest.approx(oracle.pair_scores(y_true, y_pred))


@settings(max_examples=50, deadline=None)
@given(two_labellings)
def test_swapping_truth_and_clustering_swaps_precision_and_recall(labellings):
    y_true, y_pred = labellings
    there, back = pair_scores(y_true, y_pred), pair_scores(y_pred, y_true)
    assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)


@settings(max_examples=50, deadline=None)
@given(two_labellings)
def test_mirkin_distance_is_the_number_of_pairs_in_question(labellings):
    a, b = labellings
    differ = [(a[i] == a[j]) != (b[i] == b[j]) for i in range(len(a)) for j in range(i)]
    assert mirkin_distance(a, b) == sum(differ) == mirkin_distance(b, a)
    # by the table of contingency
    table = np.array(
        [[sum((x, y) == (c, d) for x, y in zip(a, b, strict=True)) for d in set(b)] for c in set(a)]
    )
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    assert mirkin_distance(a, b) == (rows @ rows + columns @ columns - 2 * (table**2).sum()) / 2


def test_precision_and_recall_are_not_confused():
    # Two of three same-cluster pairs are wrong; the one same-class pair is found.
    assert pair_scores([0, 0, 1], [5, 5, 5]) == pytest.approx((1 / 3, 1.0, 0.5))
    assert pairwise_precision([0, 0, 1], [5, 5, 5]) == pytest.approx(1 / 3)
    assert pairwise_recall([0, 0, 1], [5, 5, 5]) == 1.0
    assert pairwise_f1([0, 0, 1], [5, 5, 5]) == 0.5


@pytest.mark.parametrize(
    ("y_true", "y_pred", "expected"),
    [
        ([0, 0, 1], [0, 1, 2], (1.0, 0.0, 0.0)),  # no pair put together: nothing wrong, nothing found
        ([0, 1, 2], [0, 0, 1], (0.0, 1.0, 0.0)),  # no pair to find: all of none found
        ([0, 1, 2], [2, 1, 0], (1.0, 1.0, 1.0)),  # neither: they agree
        ([0, 0, 1, 1], [0, 1, 0, 1], (0.0, 0.0, 0.0)),  # all wrong
        ([7], [3], (1.0, 1.0, 1.0)),  # one item has no pairs
    ],
)
def test_a_share_of_nothing_is_one(y_true, y_pred, expected):
    assert pair_scores(y_true, y_pred) == expected


def test_pair_scores_are_plain_floats_for_any_kind_of_label():
    scores = pair_scores(pd.Series(["a", "a", "b"], index=[9, 8, 7]), np.array([-1, -1, 0]))
    assert scores == (1.0, 1.0, 1.0)
    assert all(type(score) is float for score in scores)


def test_pair_scores_do_not_count_pairs_one_by_one():
    # 5e11 pairs, and as many classes as items: neither may be enumerated, and no warning may come.
    n = 1_000_000
    assert pair_scores(np.arange(n), np.zeros(n, dtype=int)) == (0.0, 1.0, 0.0)
    assert pair_scores(np.zeros(n, dtype=int), np.zeros(n, dtype=int)) == (1.0, 1.0, 1.0)


SCORES = [pair_scores, pairwise_precision, pairwise_recall, pairwise_f1, matched_f_score]


@pytest.mark.parametrize("score", SCORES)
def test_different_lengths_are_reported(score):
    with pytest.raises(ValueError, match=r"y_true has 3 labels and y_pred has 2"):
        score([0, 0, 1], [0, 0])


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "y_pred is empty"),
        ([0.0, np.nan, 1.0], "y_pred contains NaN"),
        ([0.0, np.inf, 1.0], "y_pred contains infinity"),
        (np.array(["a", None, "b"], dtype=object), r"y_pred has missing labels \(None\)"),
        ([[0], [0], [1]], r"y_pred must have one label for each item; its shape is \(3, 1\)"),
        (None, r"y_pred must have one label for each item; its shape is \(\)"),
    ],
)
def test_bad_labels_are_named(score, bad, message):
    with pytest.raises(ValueError, match=message):
        score([0, 0, 1], bad)


# Pairs that were decided alone


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.data())
def test_decided_pairs_are_scored_as_they_are(y_true, data):
    every = list(combinations(range(len(y_true)), 2))
    decided = data.draw(st.lists(st.sampled_from(every), unique=True))
    turned = [pair[:: data.draw(st.sampled_from([1, -1]))] for pair in decided + decided[:2]]  # some twice
    same = {(i, j) for i, j in every if y_true[i] == y_true[j]}
    found = len(same & set(decided))
    precision = found / len(decided) if decided else 1.0
    recall = found / len(same) if same else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert pair_scores(y_true, pairs=turned) == pytest.approx((precision, recall, f1))


@settings(max_examples=50, deadline=None)
@given(two_labellings)
def test_all_pairs_of_a_clustering_score_like_it(labellings):
    y_true, y_pred = labellings
    pairs = [(i, j) for i, j in combinations(range(len(y_pred)), 2) if y_pred[i] == y_pred[j]]
    assert pair_scores(y_true, pairs=pairs) == pair_scores(y_true, y_pred)


def test_decided_pairs_are_not_closed_and_many_are_counted_at_once():
    assert pair_scores(["a"] * 3, pairs=[(0, 1), (2, 1)]) == pytest.approx((1, 2 / 3, 0.8))
    n = 300_000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    assert pair_scores(np.arange(n) // 2, pairs=chain) == pytest.approx((0.5, 1, 2 / 3), rel=1e-5)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 3)], r"pairs row 0 is \(0, 3\): items are numbered 0 to 2"),
        ([(0, 1), (2, -1)], r"pairs row 1 is \(-1, 2\): items are numbered 0 to 2"),
        ([(1, 1)], r"pairs row 0 is \(1, 1\): that is one item"),
        ([0, 1], "pairs"),
        ([(0, 0.5)], r"pairs row 0 is \(0, 0.5\)"),
    ],
)
def test_bad_pairs_are_named(pairs, message):
    with pytest.raises(ValueError, match=message):
        pair_scores([0, 0, 1], pairs=pairs)


def test_labels_or_pairs_are_given():
    with pytest.raises(TypeError, match="was given y_pred and pairs"):
        pair_scores([0, 0], [0, 0], pairs=[(0, 1)])


# The matched F-score


@settings(max_examples=100, deadline=None)
@given(two_labellings)
def test_matched_f_agrees_with_its_definition(labellings):
    y_true, y_pred = labellings
    total = 0.0
    for c in set(y_true):
        here = {i for i, t in enumerate(y_true) if t == c}
        best = 0.0
        for h in set(y_pred):
            there = {i for i, p in enumerate(y_pred) if p == h}
            if both := len(here & there):
                precision, recall = both / len(there), both / len(here)
                best = max(best, 2 * precision * recall / (precision + recall))
        total += len(here) * best
    assert matched_f_score(y_true, y_pred) == pytest.approx(total / len(y_true))


@pytest.mark.parametrize(
    ("y_true", "y_pred", "expected", "pairs"),
    [
        ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 0], 0.75, 0.5),
        ([0] * 5 + [1] * 3 + [2] * 2, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2], 0.804444, 0.615385),
        ([0] * 5 + [1] * 3 + [2] * 2, [0] * 10, 0.538462, None),
        (["x", "y", "y"], [7, 3, 3], 1.0, 1.0),
    ],
)
def test_matched_f_of_worked_examples(y_true, y_pred, expected, pairs):
    assert matched_f_score(y_true, y_pred) == pytest.approx(expected, abs=1e-6)
    assert type(matched_f_score(y_true, y_pred)) is float
    if pairs is not None:
        assert pairwise_f1(y_true, y_pred) == pytest.approx(pairs, abs=1e-6)


def test_matched_f_of_a_random_split_is_about_one_half_and_it_is_not_symmetric():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5000)
    assert matched_f_score(y, rng.integers(0, 2, 10_000)) == pytest.approx(0.5, abs=0.02)
    assert matched_f_score([0, 0, 0, 1], [0, 0, 0, 0]) == pytest.approx(0.742857, abs=1e-6)
    assert matched_f_score([0, 0, 0, 0], [0, 0, 0, 1]) == pytest.approx(0.857143, abs=1e-6)


def test_matched_f_makes_no_table_of_classes_by_clusters():
    n = 1_000_000
    assert matched_f_score(np.arange(n), np.arange(n)[::-1]) == 1.0


# Constraints


@pytest.fixture
def known():
    return Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 4)], n_items=6)


@pytest.mark.parametrize(
    ("labels", "share"), [([0, 0, 1, 1, 1, 0], 1.0), ([0, 0, 0, 0, 0, 0], 0.5), ([0, 1, 0, 1, 1, 1], 0.0)]
)
def test_constraint_satisfaction_is_the_share_of_met_pairs(known, labels, share):
    assert constraint_satisfaction(known, labels) == share


def test_an_item_in_no_cluster_meets_its_cannot_links_only(known):
    assert constraint_satisfaction(known, [-1, -1, -1, 0, -1, 0]) == 0.5


@pytest.mark.parametrize("dtype", [str, object, "category"])
def test_clusters_may_have_names(known, dtype):
    assert constraint_satisfaction(known, pd.Series(list("aababb"), dtype=dtype)) == 0.75
    assert constraint_satisfaction(known, pd.Series(list("aabbba"), dtype=dtype)) == 1.0


def test_constraint_satisfaction_of_nothing_is_one():
    assert constraint_satisfaction(Constraints(n_items=3), [0, 1, 2]) == 1.0


def test_partial_labels_stand_for_constraints():
    partial = [0, 0, 1, -1]
    labels = ["x", "y", "y", "y"]
    expected = constraint_satisfaction(Constraints.from_labels(partial), labels)
    assert expected == 1 / 3  # of 0-1, 0-2, 1-2 only the second holds
    assert constraint_satisfaction(partial, labels) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**31 - 1))
def test_constraint_satisfaction_agrees_with_a_recount(n, seed):
    rng = np.random.default_rng(seed)
    y, labels = rng.integers(0, 3, n), rng.integers(0, 3, n)
    c = Constraints.sample(y, n_pairs=int(rng.integers(1, n * (n - 1) // 2 + 1)), random_state=seed)
    met = [labels[i] == labels[j] for i, j in c.must_link] + [
        labels[i] != labels[j] for i, j in c.cannot_link
    ]
    assert constraint_satisfaction(c, labels) == pytest.approx(np.mean(met))


def test_constraints_about_other_items_are_refused(known):
    with pytest.raises(ValueError, match="speak of 6 items, but labels has 4"):
        constraint_satisfaction(known, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="speak of 6 items, but y_pred has 4"):
        score_on(rand_score, [0, 0, 1, 1], [0, 0, 1, 1], known)


@pytest.mark.parametrize("bad", [[(0, 1)], None, "pairs.csv"])
def test_bare_pairs_are_no_constraints(bad):
    with pytest.raises(TypeError, match=r"must be a Constraints or one partial label|constraints is None"):
        constraint_satisfaction(bad, [0, 1])


def test_missing_labels_are_no_labels(known):
    with pytest.raises(ValueError, match="labels contains NaN"):
        constraint_satisfaction(known, [0, 0, np.nan, 1, 1, 0])


# The scorer


class Threshold(ClusterMixin, BaseEstimator):
    """Cut the first feature at a value; remember what it was given."""

    __metadata_request__fit: ClassVar = {"constraints": True}

    def __init__(self, cut=0.0):
        self.cut = cut

    def fit(self, X, y=None, *, constraints=None):
        self.constraints_ = constraints
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] > self.cut).astype(int)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def halves():
    """Twenty points on a line, mixed; every pair of the two halves is stated."""
    x = np.random.default_rng(0).permutation(20).astype(float)
    return x[:, None], Constraints.sample((x > 9.5).astype(int), n_pairs=190, random_state=0)


@pytest.mark.usefixtures("routing")
def test_a_search_without_y_finds_the_cut_that_meets_the_constraints(halves):
    X, c = halves
    search = GridSearchCV(
        Threshold(),
        {"cut": [3.5, 9.5, 15.5]},
        scoring=constraint_satisfaction_scorer,
        cv=2,
        error_score="raise",
    )
    search.fit(X, constraints=c)
    assert search.best_params_ == {"cut": 9.5}
    assert search.best_score_ == 1.0
    assert search.cv_results_["mean_test_score"][0] < 1.0
    assert search.score(X, constraints=c) == 1.0


@pytest.mark.usefixtures("routing")
def test_each_fold_is_scored_by_the_constraints_among_its_own_test_rows(halves):
    X, c = halves
    cv = KFold(4, shuffle=True, random_state=1)
    got = cross_validate(
        Threshold(cut=5.5),
        X,
        scoring=constraint_satisfaction_scorer,
        cv=cv,
        params={"constraints": c},
        return_estimator=True,
        error_score="raise",
    )
    for score, model, (train, test) in zip(got["test_score"], got["estimator"], cv.split(X), strict=True):
        assert score == constraint_satisfaction(c[test], model.predict(X[test]))
        assert model.constraints_ == c[train]
    assert min(got["test_score"]) < 1.0


@pytest.mark.usefixtures("routing")
def test_the_scorer_works_beside_others_and_in_a_pipeline(halves):
    X, c = halves
    y = (X[:, 0] > 9.5).astype(int)
    got = cross_validate(
        make_pipeline(StandardScaler(), Threshold()),
        X,
        y,
        scoring={"met": constraint_satisfaction_scorer, "ari": "adjusted_rand_score"},
        cv=2,
        params={"constraints": c},
        error_score="raise",
    )
    assert set(got) >= {"test_met", "test_ari"}
    assert got["test_met"].shape == (2,)


def test_without_constraints_the_scorer_says_what_to_do(halves):
    X, _ = halves
    message = r"sklearn\.set_config\(enable_metadata_routing=True\).*search\.fit\(X, constraints=c\)"
    with pytest.raises(ValueError, match=message):
        constraint_satisfaction_scorer(Threshold(), X)
    search = GridSearchCV(
        Threshold(), {"cut": [1.0]}, scoring=constraint_satisfaction_scorer, cv=2, error_score="raise"
    )
    with pytest.raises(ValueError, match=message):
        search.fit(X)


def roundtrip(scorer):
    return pickle.loads(pickle.dumps(scorer))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("copied", [roundtrip, copy.copy, copy.deepcopy, lambda s: clone(s, safe=False)])
def test_a_copy_of_the_scorer_is_as_good(halves, copied):
    X, c = halves
    scorer = copied(constraint_satisfaction_scorer)
    assert repr(scorer) == "constraint_satisfaction_scorer"
    search = GridSearchCV(Threshold(), {"cut": [3.5, 9.5]}, scoring=scorer, cv=2, error_score="raise")
    assert clone(search).fit(X, constraints=c).best_params_ == {"cut": 9.5}


def test_a_request_changed_by_one_user_does_not_reach_the_next():
    constraint_satisfaction_scorer.get_metadata_routing().score.add_request(param="constraints", alias=False)
    assert constraint_satisfaction_scorer.get_metadata_routing().score.requests == {"constraints": True}


# Scores on chosen items


def test_score_on_hands_over_the_chosen_items(known):
    y_true, y_pred = list("abcdef"), [5, 4, 3, 2, 1, 0]
    seen = {}

    def score(true, pred):
        seen[items] = (true.tolist(), pred.tolist())
        return 0.25

    for items in ("held-out", "constrained", "all"):
        assert score_on(score, y_true, y_pred, known, items=items) == 0.25
    assert seen["held-out"] == (["f"], [0])
    assert seen["constrained"] == (list("abcde"), [5, 4, 3, 2, 1])
    assert seen["all"] == (y_true, y_pred)


def test_score_on_is_for_held_out_items_by_default():
    y = np.repeat([0, 1, 2], 20)
    c = Constraints.sample(y, n_pairs=10, random_state=0)
    labels = y.copy()
    labels[c.constrained_items] = 9  # wrong only where something was stated
    assert score_on(adjusted_rand_score, y, labels, c) == 1.0
    assert score_on(adjusted_rand_score, y, labels, c, items="all") < 1.0


def test_score_on_reads_partial_labels():
    assert score_on(rand_score, [0, 0, 1, 1], [0, 1, 2, 3], [0, 1, -1, -1], items="constrained") == 0.0


def test_an_empty_choice_is_named():
    everything = Constraints(must_link=[(0, 1)], n_items=2)
    with pytest.raises(ValueError, match=r"items='held-out' leaves nothing.*every item is in a constraint"):
        score_on(rand_score, [0, 0], [0, 0], everything)
    with pytest.raises(ValueError, match=r"items='constrained' leaves nothing.*no item is in a constraint"):
        score_on(rand_score, [0, 0], [0, 0], Constraints(n_items=2), items="constrained")


def test_unknown_choice_of_items():
    with pytest.raises(ValueError, match="items must be 'held-out', 'constrained' or 'all', not 'rest'"):
        score_on(rand_score, [0, 0], [0, 0], Constraints(n_items=2), items="rest")


def test_everything_public_is_there():
    assert sorted(metrics.__all__) == metrics.__all__
    assert all(hasattr(metrics, name) for name in metrics.__all__)


# Balance


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 4), min_size=1, max_size=12), st.data())
def test_balance_scores_agree_with_counting_one_by_one(labels, data):
    clusters = sorted(set(labels) - {-1})
    empty = data.draw(st.integers(0, 2))
    weight = data.draw(st.lists(st.integers(1, 5), min_size=len(labels), max_size=len(labels)))
    if not clusters:
        with pytest.raises(ValueError, match="every label is -1"):
            balance_scores(labels)
        return
    sizes = [sum(w for w, label in zip(weight, labels, strict=True) if label == h) for h in clusters]
    expected = oracle.balance_scores(sizes + [0] * empty)
    found = balance_scores(labels, len(clusters) + empty, size_weight=weight)
    assert found == pytest.approx(expected)
    copies = np.repeat(labels, weight)  # integer weights are copies, and weights of one are none
    assert found == pytest.approx(balance_scores(copies, len(clusters) + empty))
    assert balance_scores(labels) == balance_scores(labels, size_weight=np.ones(len(labels)))


def test_equal_sizes_have_no_deviation_and_all_entropy():
    assert balance_scores(["b", "a", "a", "b"]) == (0.0, 1.0, 1.0, 1.0)
    assert balance_scores([3, 3, -1]) == (0.0, 1.0, 1.0, 1.0)  # one cluster; -1 is none
    assert balance_scores([0, 0], 2) == (1.0, 0.0, 2.0, 0.0)  # the other one is empty
    assert all(type(value) is float for value in balance_scores([0, 1, 1]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"labels": [0, 1, 2], "n_clusters": 2}, "n_clusters=2, but 3 clusters occur"),
        ({"labels": [-1, -1]}, "every label is -1"),
        ({"labels": [-1, -1], "n_clusters": 2}, "the clusters hold nothing"),
        ({"labels": [0, -1], "size_weight": [0, 2]}, "the clusters hold nothing"),
        ({"labels": [0, 1], "size_weight": [0, 0]}, "size_weight is zero for every item"),
        ({"labels": [0, 1], "size_weight": [1, -2]}, "size_weight of item 1 is -2"),
        ({"labels": [0, 1], "size_weight": [1, 2, 3]}, r"size_weight has shape .* needed: \(2,\)"),
        ({"labels": [0, 1], "size_weight": [1, np.nan]}, "size_weight of item 1 is nan"),
        ({"labels": []}, "labels is empty"),
    ],
)
def test_balance_scores_refuse_what_has_no_sizes(words, message):
    with pytest.raises(ValueError, match=message):
        balance_scores(**words)


def test_balance_scores_take_a_whole_number_of_clusters():
    with pytest.raises(TypeError, match="integer"):
        balance_scores([0, 1, 1], n_clusters=2.7)


# Cuts of a tree


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=12), st.sampled_from(["single", "average"]), st.data()
)
def test_every_cut_of_a_tree_is_scored_as_if_alone(y, method, data):
    places = st.lists(st.integers(0, 20), min_size=len(y), max_size=len(y))
    Z = linkage(np.reshape(data.draw(places), (-1, 1)) * 1.0, method)  # with ties, which go by SciPy's order
    scores = linkage_pair_scores(Z, y)
    assert scores.n_clusters.tolist() == list(range(len(y), 0, -1))
    labels = np.arange(len(y))
    for at, (*found, height) in enumerate(zip(*scores[1:], strict=True)):
        if at:
            labels[np.isin(labels, Z[at - 1, :2])] = len(y) + at - 1  # the number SciPy gives to the merge
        assert len(set(labels)) == scores.n_clusters[at]
        assert found == pytest.approx(oracle.pair_scores(y, labels))
        assert height == (Z[at - 1, 2] if at else 0)


def test_the_cuts_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), rng.choice(["a", "b", "c"], 60)
    Z = linkage(X, "complete")
    scores = linkage_pair_scores(Z, y)
    for k, *found in zip(*scores[:4], strict=True):
        assert found == pytest.approx(pair_scores(y, fcluster(Z, k, "maxclust")))
    assert (scores.precision[0], scores.recall[0], scores.f1[0], scores.recall[-1]) == (1, 0, 0, 1)
    assert (np.diff(scores.recall) >= 0).all()


def test_bad_trees_are_refused_and_minus_one_is_a_class():
    Z = linkage([[0.0], [1.0], [5.0]])
    assert linkage_pair_scores(Z, [-1, -1, 0]).precision.tolist() == [1, 1, 1 / 3]
    with pytest.raises(ValueError, match="y has 2 labels and Z is a tree of 3 items"):
        linkage_pair_scores(Z, [0, 1])
    with pytest.raises(ValueError, match="y has missing labels"):
        linkage_pair_scores(Z, [0, None, 1])
    with pytest.raises(ValueError, match="Z"):
        linkage_pair_scores(Z[:, :3], [0, 1, 2])
    Z[1, :2] = 0, 1
    with pytest.raises(ValueError, match="same cluster more than once"):
        linkage_pair_scores(Z, [0, 1, 2])
