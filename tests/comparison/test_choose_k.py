"""The number of clusters: by what was held out, else by shape; bounds from below; what is said."""

from dataclasses import asdict

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, f1_score, silhouette_score

import coterie
from coterie import (
    ConstrainedLinkage,
    Constraints,
    COPCobweb,
    COPKMeans,
    PCKMeans,
    SizeConstrainedKMeans,
    choose_k,
)
from coterie.comparison import ChosenK, _choose_k
from coterie.comparison._decide import f_measures
from coterie.exceptions import InfeasibleConstraintsError


def nested(n_each=15):
    """Two far groups of two near blobs each: two clusters by shape, two or four by what somebody knows."""
    centres = [[0, 0], [3.5, 0], [40, 0], [43.5, 0]]
    X, y = make_blobs([n_each] * 4, centers=centres, cluster_std=0.6, random_state=0)
    return X, y


# ---- the score ----------------------------------------------------------------------------------------


def test_f_measure_is_that_of_scikit_learn_and_its_influence_the_derivative():
    rng = np.random.default_rng(0)
    must = rng.random(40) < 0.3
    together = rng.random((3, 40)) < np.where(must, 0.8, 0.2)
    answers = (together == must).astype(float)
    found, influence = f_measures(answers, must)
    assert np.allclose(found, [f1_score(must, row) for row in together])
    # to count a question a little more changes F by its influence
    step = 1e-6
    for at in (0, 7, 39):
        weight = np.ones(40)
        weight[at] += step
        heavier = [f1_score(must, row, sample_weight=weight) for row in together]
        assert np.allclose((heavier - found) / step, influence[:, at], atol=1e-5)


def test_error_is_about_that_of_a_bootstrap():
    rng = np.random.default_rng(1)
    must = rng.random(300) < 0.3
    answers = (rng.random((1, 300)) < 0.8).astype(float)
    influence = f_measures(answers, must)[1]
    again = rng.integers(300, size=(400, 300))
    spread = np.std([f_measures(answers[:, rows], must[rows])[0][0] for rows in again])
    assert np.isclose(np.linalg.norm(influence), spread, rtol=0.2)


# ---- the choice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "criterion"),
    [
        ("auto", "silhouette"),
        ("KMedoids", "silhouette"),
        ("ConstrainedLinkage", "merge-height gap"),
        ("PenalizedGaussianMixture", "BIC"),
    ],
)
def test_separate_blobs_are_counted_without_statements(method, criterion):
    X, _ = make_blobs(120, 4, centers=4, cluster_std=0.5, random_state=1)
    found = choose_k(X, None, range(2, 7), method=method, random_state=0)
    assert (found.n_clusters, found.criterion) == (4, criterion)
    assert list(found.scores) == [2, 3, 4, 5, 6]
    assert found.runner_up in (2, 3, 5, 6)
    if criterion == "BIC":
        assert found.scores[4]["BIC"] == min(row["BIC"] for row in found.scores.values())


def test_silhouette_is_that_of_the_fit():
    X, _ = make_blobs(80, 3, centers=3, random_state=0)
    found = choose_k(X, None, [2, 3], random_state=0)
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    assert np.isclose(found.scores[3]["silhouette"], silhouette_score(X, labels))


def test_what_is_known_overrules_the_shape():
    X, y = nested()
    assert choose_k(X, None, range(2, 8), random_state=0).n_clusters == 2
    fine = choose_k(X, Constraints.sample(y, 60, random_state=0), range(2, 8), random_state=0)
    coarse = choose_k(X, Constraints.sample(y // 2, 60, random_state=0), range(2, 8), random_state=0)
    assert (fine.n_clusters, fine.criterion) == (4, "F-measure")
    assert (coarse.n_clusters, coarse.criterion) == (2, "F-measure")
    assert coarse.scores[2]["F-measure"] == 1.0
    by_labels = choose_k(
        X, np.where(np.arange(60) % 3, -1, y), range(2, 8), method="PCKMeans", random_state=0
    )
    assert (by_labels.n_clusters, by_labels.criterion) == (4, "F-measure")
    by_tree = choose_k(X, fine_pairs(y), range(2, 8), method=ConstrainedLinkage())
    assert (by_tree.n_clusters, by_tree.criterion) == (4, "F-measure")


def fine_pairs(y):
    return Constraints.sample(y, 60, random_state=1)


def test_where_statements_leave_it_open_the_shape_decides():
    # pairs inside the left group, and between the far groups: two to four clusters may all be right
    X, y = nested()
    known = Constraints([(0, 1), (2, 3), (4, 5)], [(0, 30), (1, 31), (2, 32)], n_items=60)
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    found = choose_k(X, known, range(2, 5), random_state=0)
    assert all(row["F-measure"] == 1.0 for row in found.scores.values())
    assert found.n_clusters == 2
    assert found.runner_up == max((3, 4), key=lambda k: found.scores[k]["silhouette"])


def test_too_few_pairs_do_not_decide_and_that_is_said():
    X, _ = nested()
    known = Constraints([], [(0, 1)], n_items=60)
    found = choose_k(X, known, range(2, 5), random_state=0)
    assert found.criterion == "silhouette"
    assert "takes 3 pairs of each kind" in found.reason


def test_the_same_seed_gives_the_same_choice_and_nothing_is_changed():
    X, y = nested()
    known, model = fine_pairs(y), COPKMeans(9)
    first, second = (choose_k(X, known, range(2, 6), method=model, random_state=3) for _ in range(2))
    assert asdict(first) == asdict(second)
    assert (model.n_clusters, model.random_state) == (9, None)
    assert not hasattr(model, "labels_")


def test_many_rows_take_one_start_and_a_sample_for_the_silhouette(monkeypatch):
    monkeypatch.setattr(_choose_k, "_MANY_ROWS", 50)
    monkeypatch.setattr(_choose_k, "_SAMPLE", 40)
    X, _ = make_blobs(400, 4, centers=3, cluster_std=0.5, random_state=1)
    assert choose_k(X, None, range(2, 6), random_state=0).n_clusters == 3


# ---- bounds from below --------------------------------------------------------------------------------


def test_a_number_that_cannot_be_is_left_out_with_the_reason():
    X, _ = nested()
    known = Constraints(None, [("a", "b"), ("b", "c"), ("a", "c")], ids=[*"abc", *map(str, range(57))])
    found = choose_k(X, known, range(2, 5), random_state=0)
    assert list(found.left_out) == [2]
    assert "b" in found.left_out[2]
    assert list(found.scores) == [3, 4]
    # a soft method may break them
    assert not choose_k(X, known, range(2, 5), method="PCKMeans", random_state=0).left_out
    hard = Constraints(None, [(0, 1), (1, 2), (0, 2)], n_items=60, hard=True)
    assert list(choose_k(X, hard, range(2, 5), method="PCKMeans", random_state=0).left_out) == [2]
    with pytest.raises(InfeasibleConstraintsError, match="ring"):
        choose_k(X, known, [2], random_state=0, method=COPKMeans())


def test_default_range_goes_beyond_what_the_statements_need():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert max(choose_k(X, None, random_state=0).scores) == 10
    everyone_apart = Constraints.across(np.r_[np.arange(12), np.full(18, -1)])
    found = choose_k(X, everyone_apart, random_state=0)
    assert list(found.left_out) == list(range(2, 12))
    assert list(found.scores) == list(range(12, 18))
    assert max(choose_k(X[:4], None, random_state=0).scores) == 4


def test_contradictory_statements_are_weighed_by_auto_and_refused_where_all_must_hold():
    X, _ = nested()
    known = Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=60)
    assert choose_k(X, known, range(2, 5), random_state=0).n_clusters == 2
    with pytest.raises(InfeasibleConstraintsError, match="0 must join 2"):
        choose_k(X, known, range(2, 5), method="COPKMeans", random_state=0)


def test_a_number_whose_fit_fails_is_left_out():
    X, _ = nested()
    found = choose_k(X, None, range(2, 8), method=SizeConstrainedKMeans(size_min=15), random_state=0)
    assert list(found.left_out) == [5, 6, 7]
    with pytest.raises(ValueError, match="minimum sizes add up to"):
        choose_k(X, None, range(5, 8), method=SizeConstrainedKMeans(size_min=15), random_state=0)


def test_a_tree_is_cut_as_a_fit_cuts_it():
    X, _ = nested()
    known = Constraints.distinct(np.r_[np.arange(4), np.full(56, -1)])
    tree = ConstrainedLinkage(2, on_dead_end="warn").fit(X)
    for k in range(2, 9):
        fitted = ConstrainedLinkage(k).fit(X).labels_
        assert adjusted_rand_score(fitted, _choose_k._cut(tree, k)) == 1.0
    assert set(choose_k(X, known, range(2, 7), method="ConstrainedLinkage").scores) <= set(range(2, 7))


# ---- what is said, and refused ------------------------------------------------------------------------


def test_it_prints_a_line_a_number_and_speaks_of_its_fits(capsys):
    X, y = nested()
    found = choose_k(X, fine_pairs(y), range(2, 6), random_state=0, verbose=True)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == len(found.scores)
    assert any(line.startswith("choose_k  75% 4 clusters, silhouette 0.") for line in shown)
    calls = []
    choose_k(X, None, [3, 5], random_state=0, progress=lambda *c: calls.append(c))
    assert [call[:2] for call in calls] == [(1, 2), (2, 2)]
    assert capsys.readouterr().out == ""
    lines = str(found).splitlines()
    assert lines[0].startswith("k = 4: its F-measure on what was held out (60 questions) is the best, 1.")
    assert f"Runner-up: {found.runner_up}, with" in lines[0]
    assert [line.split(":")[0] for line in lines[1:]] == ["  2", "  3", "  4", "  5"]
    assert "(chosen)" in lines[3]
    assert found.section().trace.mark == 4
    assert coterie.comparison.choose_k is choose_k
    assert choose_k(X, None, [3], random_state=0).runner_up is None
    assert choose_k(X, None, [3], random_state=0).section().trace is not None
    assert choose_k(X, None, [2, 3, 6], random_state=0).section().trace is None
    assert isinstance(found, ChosenK)


@pytest.mark.parametrize(
    ("numbers", "error", "words"),
    [
        (5, ValueError, "k_range holds numbers from 2 to 60"),
        ([], ValueError, "k_range holds numbers"),
        (range(2, 100), ValueError, "from 2 to 60, the rows of X"),
        (range(1, 4), ValueError, "at least 2"),
        ([2.5], (TypeError, ValueError), "k_range"),
        ("2-10", (TypeError, ValueError), "k_range"),
    ],
)
def test_nonsense_ranges_are_refused(numbers, error, words):
    with pytest.raises(error, match=words):
        choose_k(nested()[0], None, numbers)


@pytest.mark.parametrize("method", [COPCobweb(), "COPCobweb", COPKMeans, 3])
def test_a_method_without_a_number_is_refused(method):
    with pytest.raises((TypeError, ValueError), match="number of clusters"):
        choose_k(nested()[0], None, range(2, 4), method=method)


def test_other_nonsense_is_refused():
    X, _ = nested()
    with pytest.raises(ValueError, match="Did you mean COPKMeans"):
        choose_k(X, None, range(2, 4), method="COPKMean")
    with pytest.raises(TypeError):
        choose_k(X, None, range(2, 4), method=PCKMeans(), no_such_argument=1)
    with pytest.raises(ValueError, match="NaN"):
        choose_k([[np.nan], [1.0], [2.0]], None, [2])
    with pytest.raises(ValueError, match="speak of 3 items"):
        choose_k(X, Constraints(n_items=3), [2])
