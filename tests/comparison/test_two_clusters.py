"""With two clusters any chain of kept constraints gives the answer away: such pairs are not asked."""

import itertools

import numpy as np
import pytest

from coterie import Constraints, compare
from coterie.comparison import _questions
from coterie.comparison._questions import find_questions
from tests.comparison.entrants import rows_of


def noise(seed, n_items=150, n_pairs=120):
    """Items and two classes of equal size that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_items) % 2)
    return rng.normal(size=(n_items, 3)), Constraints.sample(y, n_pairs, random_state=seed), y


def in_errors(n_draws, *methods):
    """How far from one half the mean score of noise is, in its errors, for each method."""
    found = {name: [] for name in (*methods, "plain")}
    for seed in range(n_draws):
        X, known, _ = noise(seed)
        frame = compare(X, known, 2, methods=list(methods), n_repeats=1, random_state=seed)
        for name, row in rows_of(frame).items():
            found[name].append((row["score"] - 0.5, row["error"] ** 2))
    totals = {name: np.sum(values, axis=0) for name, values in found.items()}
    return {name: away / np.sqrt(variance) for name, (away, variance) in totals.items()}


def test_nothing_is_won_on_noise(monkeypatch):
    assert all(abs(away) < 3 for away in in_errors(8, "COPKMeans", "PCKMeans", "KMedoids").values())
    every = _questions._chains
    monkeypatch.setattr(_questions, "_chains", lambda kept, settled: every(kept, False))
    assert in_errors(8, "COPKMeans")["COPKMeans"] > 5  # what pairs that follow would be worth


def labellings(known):
    """All labellings with clusters 0 and 1 that keep every constraint, the first item in cluster 0."""
    for rest in itertools.product((0, 1), repeat=known.n_items - 1):
        labels = np.array((0, *rest))
        if known.violations(labels).n_broken == 0:
            yield labels


def small_case(rng):
    """Nine items, pairs and at times a group, all true of some two clusters."""
    y = rng.integers(0, 2, size=9)
    known = Constraints.sample(y, 10, random_state=rng)
    kind = rng.integers(4)
    if kind == 1:
        known |= Constraints.from_labels(np.where(rng.random(9) < 0.4, y, -1))
    elif kind == 2:
        known |= Constraints.across(np.where(rng.random(9) < 0.4, y, -1))
    elif kind == 3 and 0 < y.sum() < 9:
        apart = np.full(9, -1)
        apart[[np.argmin(y), np.argmax(y)]] = 0
        known |= Constraints.distinct(apart)
    return known


@pytest.mark.parametrize("many", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_asked_is_what_two_clusters_leave_open(many, seed):
    """Against all labellings: a pair is asked if what is kept allows both; and what is asked can be kept."""
    rng = np.random.default_rng(seed)
    for number in range(many):
        known = small_case(rng)
        pairs = np.concatenate([known.must_link, known.cannot_link])
        for fold in find_questions(known, 2).folds(5, number):
            allowed = np.array(list(labellings(fold.kept)))
            together = allowed[:, pairs[:, 0]] == allowed[:, pairs[:, 1]]
            left_open = together.any(axis=0) & ~together.all(axis=0)
            assert np.array_equal(np.flatnonzero(left_open), np.sort(fold.asked))
            assert any(fold.answers(labels).all() for labels in allowed)


def test_contradicting_pairs_are_not_asked_either():
    """A wrong pair inside a chain: to ask only those would count against whoever keeps the rest."""
    ring = [(i, i + 1) for i in range(9)]
    known = Constraints(ring, [(0, 9)], n_items=10)
    for fold in find_questions(known, 2).folds(10, 0):
        assert len(fold.asked) == 0


def test_labels_that_two_clusters_settle_are_not_asked():
    """A hidden item that a group keeps apart from a labelled one is in the other cluster."""
    y = np.array([0, 1] * 6 + [-1] * 8)
    tied = np.full(20, -1)
    tied[[0, 1]] = 0
    known = Constraints.from_labels(y) | Constraints.distinct(tied)
    asked = set()
    for fold in find_questions(known, 2).folds(12, 0):
        asked |= set((fold.asked % 12).tolist())
    assert asked == set(range(2, 12))
    three = [fold.asked % 12 for fold in find_questions(known, 3).folds(12, 0)]
    assert set(np.concatenate(three).tolist()) == set(range(12))


def test_if_all_follows_that_is_said():
    y = np.arange(12) % 2
    pairs = np.array(list(itertools.combinations(range(12), 2)))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    known = Constraints(pairs[same], pairs[~same], n_items=12)
    with pytest.raises(ValueError, match=r"none of the 66 pairs can be held out: each follows"):
        compare(np.eye(12), known, 2)
