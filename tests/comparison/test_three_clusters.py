"""With three clusters and more, what follows from the kept pairs only through their number is not asked."""

import itertools

import numpy as np
import pytest

from coterie import Constraints, compare
from coterie.comparison._questions import find_questions


def labellings(known, k):
    """All labellings that meet every statement; slow and obvious."""
    every = itertools.product(range(k), repeat=known.n_items)
    return [labels for labels in every if not known.violations(np.array(labels))]


@pytest.mark.parametrize("number", range(6))
def test_only_open_pairs_are_asked(number, seed):
    rng = np.random.default_rng([seed, number])
    truth = rng.integers(3, size=7)
    known = Constraints.sample(truth, 13, random_state=number).with_ids(list("abcdefg"))
    questions = find_questions(known, 3)
    stated = np.concatenate([known.must_link, known.cannot_link])
    for fold in questions.folds(3, 0):
        fits = np.array(labellings(fold.kept, 3))
        assert len(fits)
        for row in fold.asked.tolist():
            i, j = stated[row]
            assert len(set((fits[:, i] == fits[:, j]).tolist())) == 2


def test_noise_is_not_predicted():
    """Random labels of few items, many pairs about them: .5 is all that anybody can know."""
    found = []
    for draw in range(6):
        rng = np.random.default_rng(draw)
        X, truth = rng.normal(size=(200, 4)), np.full(200, -1)
        truth[:50] = rng.integers(3, size=50)
        known = Constraints.sample(truth, 110, how="balanced", random_state=draw)
        frame = compare(X, known, 3, methods=["COPKMeans"], n_repeats=1, random_state=draw, library="polars")
        row = frame.filter(frame["method"] == "COPKMeans").row(0, named=True)
        found.append((row["score"], row["n_must"] + row["n_cannot"]))
    scores, weights = np.array(found).T
    assert np.average(scores, weights=weights) < 0.62
