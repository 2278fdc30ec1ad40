"""When a comparison chooses clustering without the constraints: not on a whim."""

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from coterie import Constraints, PCKMeans, compare
from coterie.comparison import best, in_words
from tests.comparison.entrants import Told, blobs, rows_of


@pytest.fixture(autouse=True)
def empty_log():
    Told.log = []


def test_plain_wins_where_the_statements_mislead():
    """Wrong pairs that must hold tear the clusters apart; plain clustering sees them as they are."""
    X, y = make_blobs(120, 2, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=1.0, random_state=0)
    known = Constraints.sample(y, 150, noise=0.2, random_state=6)
    heavy = ("heavy", PCKMeans(3, weight=1e4))
    frame = compare(X, known, 3, methods=[heavy, "COPKMeans"], random_state=0)
    assert best(frame) == "plain"
    assert "Clustering without the constraints does best here" in in_words(frame)
    assert "heavy" in in_words(frame)
    assert "Perhaps some of them are wrong" in in_words(frame)
    i, j = known.must_link[0].tolist()
    hard = known | Constraints([(i, j)], n_items=120, hard=True)
    kept = compare(X, hard, 3, methods=[heavy, "COPKMeans"], random_state=0)
    assert best(kept) == "heavy"
    assert rows_of(kept)["plain"]["behind"] < -rows_of(kept)["plain"]["behind_error"]
    assert "which is more: it may be worth checking them" in in_words(kept)


class Guided(Told):
    obeys = "none"


def test_what_keeps_no_hard_pair_is_not_chosen_where_there_are_some():
    X, known, y = blobs(noise=0.2)
    methods = [Guided(y), "PCKMeans"]
    assert best(compare(X, known, 3, methods=methods, parameters={"weight": 1e4}, random_state=0)) == "Guided"
    i, j = known.must_link[0].tolist()
    hard = known | Constraints([(i, j)], n_items=60, hard=True)
    kept = compare(X, hard, 3, methods=methods, parameters={"weight": 1e4}, random_state=0)
    assert best(kept) == "PCKMeans"
    # alone it may be
    assert best(compare(X, hard, 3, methods=methods[:1], random_state=0)) == "Guided"


@pytest.mark.parametrize("seed_of_folds", range(3))
def test_plain_is_not_chosen_over_true_statements_for_one_pair(seed_of_folds):
    """The files of examples/wine_files.py: all pairs are true, and plain clustering gets one more right."""
    X, y = load_wine(return_X_y=True)
    known = Constraints.sample(y, n_pairs=60, random_state=0)
    frame = compare(
        StandardScaler().fit_transform(X),
        known,
        3,
        methods="SizeConstrainedKMeans",
        parameters={"size_min": 50},
        n_repeats=1,
        random_state=seed_of_folds,
    )
    rows = rows_of(frame)
    assert rows["plain"]["score"] > rows[best(frame)]["score"]
    assert best(frame) != "plain"
    assert "a difference that may be chance" in in_words(frame)


def test_plain_needs_two_errors_and_three_pairs():
    """Plain clustering sees the two halves; a method that is told gets the last `n_wrong` pairs wrong."""
    X = np.repeat([[0.0], [9.0]], 40, axis=0) + np.linspace(0, 1, 80)[:, None]
    pairs = np.concatenate(
        [np.arange(40).reshape(-1, 2), np.column_stack([np.arange(40, 60), np.arange(60, 80)])]
    )
    known = Constraints(pairs, n_items=80)
    for n_wrong, expected in ((1, "told"), (3, "told"), (4, "plain"), (20, "plain")):
        labels = np.repeat([0, 1], 40)
        labels[60 : 60 + n_wrong] = 0
        frame = compare(X, known, 2, methods=[("told", Told(labels))], random_state=0)
        assert rows_of(frame)["plain"]["score"] == 1.0
        assert best(frame) == expected
    # two pairs of a kind, both wrong, have no error to speak of: that is not enough either
    few = Constraints(pairs[38:], [(i, i + 40) for i in range(2, 38, 2)], n_items=80)
    labels = np.repeat([0, 1], 40)
    labels[[78, 79]] = 0
    frame = compare(X, few, 2, methods=[("told", Told(labels))], random_state=0)
    plain = rows_of(frame)["plain"]
    assert (plain["behind"], plain["behind_error"]) == (-0.5, 0.0)
    assert best(frame) == "told"
    assert "a difference that may be chance" in in_words(frame)
