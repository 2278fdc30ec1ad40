"""`check` on random larger problems with every kind of constraint, and on constraints that are true."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Constraints
from tests.constraints.strategies import (
    Case,
    assert_check_is_right,
    cases,
    if_possible,
    labellings,
    random_case,
    random_core,
    without_contradictions,
)
from tests.marks import first_of
from tests.oracles import constraints as oracle


def check_random_cases(seed: int, count: int) -> None:
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(count):
        case = random_case(rng)
        if rng.random() < 0.8:
            case = without_contradictions(case)
        must, cannot = case.pairs()
        c = case.build()
        for k in sorted(rng.sample([1, 2, 3, 4, 5, 6, 8], 3)):
            truth = oracle.feasible(case.n, must, cannot, k)
            seen[truth] += 1
            assert_check_is_right(c, k, truth)
    # the instances must be able to tell a wrong answer either way
    assert min(seen.values()) > count // 3


@first_of("seed", 4)
def test_random_mixed_problems(seed):
    check_random_cases(seed, 500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_more_random_mixed_problems(seed):
    check_random_cases(seed, 1000)


def check_random_cores(seed: int, count: int) -> set[str]:
    rng = random.Random(seed)
    reasons = set()
    for _ in range(count):
        case = random_core(rng)
        must, cannot = case.pairs()
        needed = next(k for k in range(1, case.n + 1) if oracle.feasible(case.n, must, cannot, k))
        c = case.build()
        for k in range(max(1, needed - 2), needed + 2):
            assert_check_is_right(c, k, k >= needed)
            reasons.add(c.check(k).reason)
    return reasons


@first_of("seed", 3)
def test_dense_problems_near_their_limit(seed):
    """At the k where the answer turns: what the exact search is for."""
    reasons = check_random_cores(seed, 150)
    assert {"exact search", "exhaustive search", "two-colouring", "too many items are all apart"} <= reasons


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_more_dense_problems_near_their_limit(seed):
    check_random_cores(seed, 1000)


@settings(deadline=None, max_examples=100)
@given(cases(max_items=8), st.integers(1, 9))
def test_small_mixed_problems(case: Case, k: int):
    must, cannot = case.pairs()
    assert_check_is_right(case.build(), k, oracle.feasible(case.n, must, cannot, k))


@first_of("seed", 3)
def test_nonempty(seed):
    """All k clusters used: feasible if and only if k-colourable and k components are left."""
    rng = random.Random(seed)
    for _ in range(150):
        case = random_case(rng, 3, 9)
        must, cannot = case.pairs()
        c = case.build()
        n_parts = len(set(oracle.components(case.n, must)))
        for k in range(1, case.n + 2):
            truth = oracle.feasible(case.n, must, cannot, k) and n_parts >= k
            answer = c.check(k, nonempty=True)
            assert bool(answer) is truth
            if truth:
                assert set(answer.witness.tolist()) == set(range(k))
                assert oracle.meets(answer.witness.tolist(), must, cannot)


def test_b2_degeneracy_below_k_is_feasible():
    rng = random.Random(7)
    for _ in range(220):
        case = random_case(rng, 8, 25, kinds="pairs")
        must, cannot = case.pairs()
        if any(a == b for a, b in ((oracle.components(case.n, must)[i] for i in p) for p in cannot)):
            continue
        q = oracle.degeneracy(case.n, must, cannot)
        assert_check_is_right(case.build(), q + 1, True)
        # the reason given is the one that the theory promises: no search was needed
        assert "search" not in case.build().check(q + 1).reason


def drawn_from(y: list[int], rng: random.Random, seed: int) -> list[Constraints]:
    """Constraints of every kind that are true for y; k must be at least the number of classes."""
    known = sum(label >= 0 for label in y)
    n_all = known * (known - 1) // 2
    drawn = [Constraints.sample(y, rng.randint(0, n_all), random_state=seed), Constraints.from_labels(y)]
    drawn.append(Constraints.sample_teachers(y, rng.randint(0, 4), rng.randint(2, known), random_state=seed))
    drawn.append(Constraints.across(y))
    for how in ("balanced", "easy"):
        drawn += if_possible(Constraints.sample, y, rng.randint(0, 6), how=how, random_state=seed)
    n_chunklets, size = rng.randint(0, 3), rng.randint(2, 3)
    drawn += if_possible(Constraints.sample_chunklets, y, n_chunklets, size, random_state=seed)
    # a distinct group may hold at most one item of each class
    values: list = [None] * len(y)
    for label in set(y) - {-1}:
        members = [i for i, other in enumerate(y) if other == label]
        for code, item in enumerate(rng.sample(members, rng.randint(0, len(members)))):
            values[item] = code
    drawn.append(Constraints.distinct(np.array(values, dtype=object)))
    return drawn


def assert_true_constraints_are_feasible(y: list[int], seed: int) -> None:
    rng = random.Random(seed)
    k = max(len(set(y) - {-1}), 1)
    everything = Constraints(n_items=len(y))
    for c in drawn_from(y, rng, seed):
        everything = everything | c
        assert c.check(k).status == "feasible"
    for clusters in (k, k + 1):
        answer = everything.check(clusters)
        assert answer.status == "feasible"
        assert not everything.violations(answer.witness)
    assert everything.explain(k).status == "feasible"


@settings(deadline=None, max_examples=100)
@given(labellings(), st.integers(0, 2**32 - 1))
def test_b4_true_constraints_are_never_infeasible(y, seed):
    assert_true_constraints_are_feasible(y, seed)


@pytest.mark.slow
@settings(deadline=None, max_examples=10_000)
@given(labellings(max_items=20, max_classes=6), st.integers(0, 2**32 - 1))
def test_b4_true_constraints_are_never_infeasible_10000(y, seed):
    assert_true_constraints_are_feasible(y, seed)


def test_large_true_constraints_are_decided():
    """Thousands of true pairs: a core is left after peeling, and still the answer comes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, size=3000)
    for n_pairs in (3000, 30_000):
        c = Constraints.sample(y, n_pairs, random_state=1)
        answer = c.check(6)
        assert answer.status != "infeasible"
        if answer.status == "feasible":
            assert not c.violations(answer.witness)


@pytest.mark.parametrize("k", [1, 2, 5, 10**9])
def test_nothing_known_is_feasible(k):
    for n in (0, 1, 2, 30):
        answer = Constraints(n_items=n).check(k)
        assert answer.status == "feasible"
        assert answer.witness.shape == (n,)


def test_k_equal_to_and_above_n():
    every = [(i, j) for i in range(6) for j in range(i)]
    c = Constraints(cannot_link=every)
    assert_check_is_right(c, 6, True)
    assert_check_is_right(c, 7, True)
    assert_check_is_right(c, 5, False)
    assert c.check(6, nonempty=True).status == "feasible"
    assert c.check(7, nonempty=True).status == "infeasible"
    assert "6 parts" in str(c.check(7, nonempty=True))


def test_a_witness_cannot_be_written_to():
    answer = Constraints([(0, 1)], [(1, 2)]).check(2)
    with pytest.raises(ValueError, match="read-only"):
        answer.witness[0] = 3


def test_an_answer_prints_what_was_asked_and_why():
    c = Constraints(cannot_link=[("a", "b"), ("b", "c"), ("a", "c")], ids=["a", "b", "c"])
    assert "feasible with 3 clusters" in str(c.check(3))
    told = str(c.check(2))
    assert told.startswith("infeasible with 2 clusters")
    assert all(name in told for name in "abc")
