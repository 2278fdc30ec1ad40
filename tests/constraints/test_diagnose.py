"""Informativeness and coherence against a direct computation, and what coherence must not depend on."""

import math
import random

import numpy as np
import pytest

from coterie import Constraints
from tests.constraints.strategies import random_pairs
from tests.oracles import constraints as oracle


def random_problem(rng: random.Random):
    n, d = rng.randint(4, 20), rng.choice([1, 2, 3, 6])
    X = np.array([[rng.gauss(0, 1) for _ in range(d)] for _ in range(n)])
    must = {oracle.ordered(p) for p in random_pairs(rng, n, rng.randint(1, 8))}
    cannot = {oracle.ordered(p) for p in random_pairs(rng, n, rng.randint(1, 8))} - must
    return X, sorted(must), sorted(cannot)


def test_coherence_equals_direct_computation():
    rng = random.Random(0)
    seen = set()
    for _ in range(150):
        X, must, cannot = random_problem(rng)
        if not cannot:
            continue
        found = Constraints(must, cannot, n_items=len(X)).coherence(X)
        assert found == pytest.approx(oracle.coherence(X.tolist(), must, cannot))
        seen.add(found)
    assert len(seen) > 20


def test_coherence_does_not_depend_on_place_size_or_turn():
    rng = random.Random(1)
    for seed in range(60):
        X, must, cannot = random_problem(rng)
        if not cannot:
            continue
        c = Constraints(must, cannot, n_items=len(X))
        before = c.coherence(X)
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(X.shape[1],) * 2))[0]
        for scale in (1e-8, 3.0, -2.0, 1e8):
            assert c.coherence(scale * X) == pytest.approx(before)
        assert c.coherence(X + 1e4) == pytest.approx(before)
        assert c.coherence(X @ turn) == pytest.approx(before)
        order = rng.sample(range(len(X)), len(X))
        assert c[order].coherence(X[order]) == pytest.approx(before)


def test_worked_examples():
    # the same line, overlapping: pull against each other; end to end or at a right angle: do not
    line = [[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 0.0], [0.0, 5.0]]
    assert Constraints([(0, 1)], [(2, 3)], n_items=6).coherence(line) == 0
    assert Constraints([(0, 1)], [(1, 4)], n_items=6).coherence(line) == 1
    assert Constraints([(0, 1)], [(0, 5)], n_items=6).coherence(line) == 1
    assert Constraints([(0, 1)], [(2, 3), (1, 4)], n_items=6).coherence(line) == 0.5
    # coincident points have no direction
    assert Constraints([(0, 1)], [(2, 3)]).coherence([[0.0], [1.0], [0.5], [0.5]]) == pytest.approx(
        oracle.coherence([[0.0], [1.0], [0.5], [0.5]], [(0, 1)], [(2, 3)])
    )


def test_nothing_to_compare():
    X = np.zeros((3, 2))
    for c in (
        Constraints([(0, 1)], n_items=3),
        Constraints(cannot_link=[(0, 1)], n_items=3),
        Constraints(n_items=3),
    ):
        assert math.isnan(c.coherence(X))
    silent = Constraints([(0, 1)], [(1, 2)], weight=[1, 0])
    assert math.isnan(silent.coherence(X))
    assert math.isnan(Constraints(n_items=3).informativeness([0, 0, 0]))


def test_a_random_part_is_close_to_the_whole_and_reproducible():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, size=200)
    c = Constraints.sample(y, 400, how="balanced", random_state=0)
    whole = c.coherence(X)
    part = c.coherence(X, max_products=4000, random_state=1)
    assert part == c.coherence(X, max_products=4000, random_state=1)
    assert part == pytest.approx(whole, abs=0.1)
    assert part != whole


def test_blocks_do_not_change_the_answer(monkeypatch):
    from coterie.constraints._model import diagnose as _diagnose

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, size=60)
    c = Constraints.sample(y, 100, random_state=0)
    whole = c.coherence(X)
    monkeypatch.setattr(_diagnose, "_BLOCK", 7)
    assert c.coherence(X) == whole


def test_informativeness_is_the_share_that_is_broken():
    c = Constraints([(0, 1), (2, 3)], [(0, 2), (1, 3)])
    assert c.informativeness([0, 0, 1, 1]) == 0
    assert c.informativeness([0, 1, 1, 1]) == 0.5  # breaks 0-1 and 1-3
    assert c.informativeness([0, 1, 0, 1]) == 1
    assert c.informativeness([-1, -1, -1, -1]) == 0.5
    assert Constraints.from_labels([0, 0, 1]).informativeness([0, 0, 0]) == pytest.approx(2 / 3)


def test_bad_data():
    c = Constraints([(0, 1)], [(1, 2)])
    with pytest.raises(ValueError, match=r"\(2, 1\).*3 items"):
        c.coherence([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"row 1.*finite"):
        c.coherence([[0.0], [np.nan], [1.0]])
    # a row that no constraint names may be anything
    assert c[[0, 1, 2]] == c
    wide = Constraints([(0, 1)], [(1, 2)], n_items=4)
    assert wide.coherence([[0.0], [1.0], [2.0], [np.nan]]) == 1
