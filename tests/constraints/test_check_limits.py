"""`check` with its inner limits turned down: every shortcut is taken, and none changes an answer."""

import importlib.util
import random

import numpy as np
import pytest

import coterie._compiled.kernels as compiled
from coterie import Constraints
from coterie.constraints._feasible import colouring as _colouring
from coterie.constraints._feasible import exact as _exact
from coterie.constraints._feasible import feasible as _feasible
from tests.constraints.strategies import (
    assert_check_is_right,
    assert_proves_infeasible,
    random_case,
    random_core,
    without_contradictions,
)
from tests.oracles import constraints as oracle


def some(few: int, many: int):
    """Give `count`, how many problems to look at: a few with `make test`, all of them when slow."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


def problems(seed: int, count: int):
    rng = random.Random(seed)
    for number in range(count):
        case = random_core(rng) if number % 2 else without_contradictions(random_case(rng, 8, 25))
        must, cannot = case.pairs()
        c = case.build()
        for k in rng.sample([2, 3, 4, 5], 2):
            yield c, k, oracle.feasible(case.n, must, cannot, k)


LIMITS = {
    "cliques stay implicit": (_colouring, "_SMALL_CLIQUE", 1),
    "one round of peeling": (_colouring, "_MAX_PEEL_ROUNDS", 1),
    "search in short slices": (_exact, "_SLICE", 1),
    "no clique is looked for": (_exact, "_CLIQUE_STARTS", 0),
    "nothing is shrunk": (_exact, "_MAX_SHRINK", 0),
    "always compiled": (compiled, "_MOST_STEPS", -1),
}


@pytest.mark.parametrize("limit", LIMITS)
@some(20, 60)
def test_limits_change_no_answer(monkeypatch, limit, count):
    module, name, value = LIMITS[limit]
    assert hasattr(module, name)
    monkeypatch.setattr(module, name, value)
    for c, k, truth in problems(1, count):
        assert_check_is_right(c, k, truth)


@some(40, 150)
def test_implicit_cliques_and_partitions_with_one_round_of_peeling(monkeypatch, count):
    monkeypatch.setattr(_colouring, "_SMALL_CLIQUE", 1)
    monkeypatch.setattr(_colouring, "_MAX_PEEL_ROUNDS", 1)
    for c, k, truth in problems(2, count):
        assert_check_is_right(c, k, truth)


def assert_never_wrong(answer, c: Constraints, k: int, truth: bool) -> None:
    """Undecided is legal; a yes has a witness, a no has a proof."""
    if answer.status == "undecided":
        assert answer.witness is None
        assert answer.certificate is None
        assert answer.reason
        return
    assert bool(answer) is truth
    if truth:
        assert oracle.meets(answer.witness.tolist(), *oracle.all_pairs(c))
        assert answer.witness.max(initial=0) < k
    else:
        assert_proves_infeasible(answer.certificate, c, k)


@pytest.mark.parametrize(
    ("module", "name"), [(_feasible, "_MAX_CORE_EDGES"), (_exact, "_MAX_TABLE")], ids=["core", "table"]
)
@some(25, 50)
def test_a_core_too_large_to_search_is_undecided_or_right(monkeypatch, module, name, count):
    monkeypatch.setattr(module, name, 0)
    seen = set()
    for c, k, truth in problems(3, count):
        answer = c.check(k)
        seen.add(answer.status)
        assert_never_wrong(answer, c, k, truth)
        assert c.explain(k).status == answer.status
    assert seen == {"feasible", "infeasible", "undecided"}


@pytest.mark.parametrize("budget", [1, 10, 100])
@some(10, 30)
def test_small_budgets_without_another_solver(monkeypatch, budget, count):
    monkeypatch.setattr(_exact, "_MAX_CLAUSES", -1)
    for c, k, truth in problems(4, count):
        assert_never_wrong(c.check(k, budget=budget), c, k, truth)
        told = c.explain(k, budget=budget)
        if told.status != "undecided":
            assert (told.status == "feasible") is truth
            if told.conflict is not None:
                assert_proves_infeasible(told.conflict, c, k)
            if told.complete and told.suggestion is not None:
                rest = oracle.all_pairs(c.drop(told.suggestion))
                assert oracle.feasible(c.n_items, *rest, k)


@pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="OR-tools is not installed")
def test_the_other_solver_agrees(monkeypatch):
    """With next to no budget of our own, CP-SAT decides what is left of these small ones."""
    monkeypatch.setattr(_exact, "_CP_SAT_TIME", 1.0)
    for c, k, truth in problems(5, 50):
        answer = c.check(k, budget=1)
        assert answer.status == ("feasible" if truth else "infeasible")
        assert_never_wrong(answer, c, k, truth)


def test_large_odd_structures():
    """A long odd ring of must-linked pairs: two-colouring, with the proof told in links."""
    n = 2001
    item = np.arange(n)
    c = Constraints(
        np.column_stack([2 * item, 2 * item + 1]), np.column_stack([2 * item + 1, 2 * ((item + 1) % n)])
    )
    answer = c.check(2)
    assert answer.status == "infeasible"
    assert answer.certificate.kind == "odd cycle"
    assert len(answer.certificate.cannot_link) == n
    assert len(answer.certificate.must_link) == n
    assert len(str(answer)) < 1000
    witness = c.check(3).witness
    assert not c.violations(witness)
