"""`explain`: the conflict is one, it is irreducible, the way out works, and the words name the items."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Constraints
from tests.constraints.strategies import (
    Case,
    assert_proves_infeasible,
    cases,
    random_case,
    random_core,
    without_contradictions,
)
from tests.marks import first_of
from tests.oracles import constraints as oracle


def assert_explained(c: Constraints, k: int | None) -> None:
    n = c.n_items
    bound = n if k is None else k
    truth = oracle.feasible(n, *oracle.all_pairs(c), bound)
    told = c.explain(k)
    assert told.status == ("feasible" if truth else "infeasible")
    assert told.n_clusters == k
    assert str(told)
    if truth:
        assert told.conflict is None
        assert told.suggestion is None
        return
    assert_proves_infeasible(told.conflict, c, bound)
    if not told.conflict.implied:
        assert told.conflict.irreducible  # small ones are always settled
    named = set(told.conflict.must_link.ravel().tolist()) | set(told.conflict.cannot_link.ravel().tolist())
    named |= {item for fact in told.conflict.implied for item in fact.items}
    assert set(told.conflict.items.tolist()) <= named
    groups_alone = c.drop(must_link=c.must_link, cannot_link=c.cannot_link)
    groups_collide = not oracle.feasible(n, *oracle.all_pairs(groups_alone), bound)
    if groups_collide:
        assert not told.complete
        return
    # pairs alone can resolve it, and the cases are small: so a way out must have been found
    assert told.complete
    assert told.suggestion.n_pairs > 0
    rest = c.drop(told.suggestion)
    assert oracle.feasible(n, *oracle.all_pairs(rest), bound)
    assert_nothing_dropped_in_vain(c, told.suggestion, rest, bound)
    hard_part = c.only_hard() | groups_alone
    if oracle.feasible(n, *oracle.all_pairs(hard_part), bound):
        assert not told.suggestion.must_table.hard.any()
        assert not told.suggestion.cannot_table.hard.any()


def assert_nothing_dropped_in_vain(c, suggestion, rest, bound) -> None:
    for pair in suggestion.must_link.tolist():
        back = rest | Constraints([pair], n_items=c.n_items)
        assert not oracle.feasible(c.n_items, *oracle.all_pairs(back), bound), pair
    for pair in suggestion.cannot_link.tolist():
        back = rest | Constraints(cannot_link=[pair], n_items=c.n_items)
        assert not oracle.feasible(c.n_items, *oracle.all_pairs(back), bound), pair


def test_the_example_of_the_issue():
    c = Constraints([(0, 3), (3, 5)], [(0, 5)])
    told = c.explain()
    assert told.status == "infeasible"
    assert told.conflict.items.tolist() == [0, 3, 5]
    assert told.conflict.irreducible
    text = str(told)
    assert re.search(r"0 must join 5 \(0-3-5\), yet 0 and 5 are cannot-linked", text)
    for statement in ("must-link 0-3", "must-link 3-5", "cannot-link 0-5"):
        assert statement in text
    assert told.complete
    assert told.suggestion.n_pairs == 1
    assert c.drop(told.suggestion).explain().status == "feasible"


def test_the_example_with_ids():
    ids = ["Anna", "x", "y", "Bert", "z", "Cora"]
    c = Constraints([("Anna", "Bert"), ("Bert", "Cora")], [("Anna", "Cora")], ids=ids)
    text = str(c.explain())
    assert "Anna must join Cora (Anna-Bert-Cora), yet Anna and Cora are cannot-linked" in text
    assert "cannot-link Anna-Cora" in text
    assert not re.search(r"\b[035]\b", text)


def test_the_way_is_a_shortest_one():
    chain = [(i, i + 1) for i in range(50)]
    c = Constraints([*chain, (0, 25), (25, 50)], [(0, 50)])
    assert c.explain().conflict.items.tolist() == [0, 25, 50]
    assert len(c.explain().conflict.must_link) == 2


def test_the_weakest_pair_goes():
    c = Constraints([(0, 1), (1, 2)], [(0, 2)], weight=[0.5, 2, 3])
    assert c.explain().suggestion.must_link.tolist() == [[0, 1]]
    c = Constraints([(0, 1), (1, 2)], [(0, 2)], weight=[5, 2, 1])
    assert c.explain().suggestion.cannot_link.tolist() == [[0, 2]]
    c = Constraints([(0, 1), (1, 2)], [(0, 2)], weight=[5, 2, 1], hard=[False, False, True])
    assert c.explain().suggestion.must_link.tolist() == [[1, 2]]


@settings(deadline=None, max_examples=120)
@given(cases(max_items=7), st.none() | st.integers(1, 5), st.randoms(use_true_random=False))
def test_every_small_explanation_holds(case: Case, k, rng):
    pairs = [p for p in case.must if p[0] != p[1]], case.cannot
    count = sum(map(len, pairs))
    case = Case(case.n, *pairs, case.groups)
    weight = [rng.choice([0.5, 1, 1, 2]) for _ in range(count)]
    hard = np.array([rng.random() < 0.3 for _ in range(count)], dtype=bool)
    assert_explained(case.build(weight=weight, hard=hard), k)


@first_of("seed", 3)
def test_larger_explanations_hold(seed):
    rng = random.Random(seed)
    for _ in range(80):
        case = random_case(rng, 6, 16)
        if rng.random() < 0.6:
            case = without_contradictions(case)
        count = len(case.must) + len(case.cannot)
        hard = np.array([rng.random() < 0.2 for _ in range(count)], dtype=bool)
        c = case.build(weight=[rng.choice([0.5, 1, 3]) for _ in range(count)], hard=hard)
        assert_explained(c, rng.choice([None, 1, 2, 3, 4]))


@first_of("seed", 6)
def test_explanations_of_what_the_search_finds(seed):
    rng = random.Random(seed)
    for _ in range(20):
        c = random_core(rng).build()
        must, cannot = oracle.all_pairs(c)
        needed = next(k for k in range(1, c.n_items + 1) if oracle.feasible(c.n_items, must, cannot, k))
        if needed > 1:
            assert_explained(c, needed - 1)


def test_label_paths_are_told_in_words():
    ids = [f"item{i}" for i in range(5)]
    labels = Constraints.from_labels(["red", "red", None, "blue", None], ids=ids)
    pairs = Constraints([("item1", "item2"), ("item2", "item3")], ids=ids)
    text = str((labels | pairs).explain())
    assert "item1 must join item3 (item1-item2-item3)" in text
    assert re.search("item1 and item3 .*different labels.*red.*blue", text)
    # through two items of one label
    pairs = Constraints([("item2", "item0")], [("item1", "item2")], ids=ids)
    text = str((labels | pairs).explain())
    assert "yet item1 and item2 are cannot-linked" in text
    assert re.search(r"item[01] and item[01] have the same label \(red\)", text)


def test_a_label_contradiction_is_told_without_detour():
    """0 and 2 are linked and have different labels: item 1 can do nothing about it."""
    c = Constraints.from_labels(["A", "A", "B"]) | Constraints([(0, 2)], n_items=3)
    told = c.explain()
    assert sorted(told.conflict.items.tolist()) == [0, 2]
    assert not re.search(r"\b1\b", str(told).splitlines()[0])
    # "drop any one of" must keep its promise: without the label of 1 it still collides
    assert not re.search(r"label of .*\b1\b", str(told))


def test_distinct_and_across_are_told_in_words():
    ids = ["p", "q", "r"]
    link = Constraints([("p", "q"), ("q", "r")], ids=ids)
    text = str((Constraints.distinct(["frame 7", None, "frame 7"], ids=ids) | link).explain())
    assert "p must join r (p-q-r), yet p and r" in text
    assert re.search("yet p and r .*group frame 7, of which a cluster holds at most one", text)
    text = str((Constraints.across(["north", None, "south"], ids=ids) | link).explain())
    assert re.search("yet p and r .*(?=.*north)(?=.*south).*never share a cluster", text)


@pytest.mark.parametrize("kind", ["from_labels", "distinct", "across"])
def test_too_many_apart_names_the_statement(kind):
    """More items apart than clusters: the reader must learn which group says so."""
    values = ["gamma"] * 3 if kind == "distinct" else ["alpha", "beta", "gamma"]
    c = getattr(Constraints, kind)(values, ids=["u", "v", "w"])
    told = c.explain(2)
    assert told.status == "infeasible"
    assert told.suggestion is None
    text = str(told)
    assert all(name in text for name in "uvw")
    assert "2 clusters" in text
    assert {"from_labels": "label", "distinct": "distinct", "across": "across"}[kind] in text
    assert "gamma" in text


def test_groups_that_collide_by_themselves_say_so():
    c = Constraints.from_labels([0, 0, 1]) | Constraints.distinct([5, 5, None])
    told = c.explain()
    assert told.status == "infeasible"
    assert told.suggestion is None
    assert not told.complete
    assert "groups collide" in str(told)


def test_nothing_to_explain():
    assert str(Constraints(n_items=3).explain()) == "No conflict: all constraints can be met."
    text = str(Constraints(cannot_link=[(0, 1)]).explain(2))
    assert "No conflict with 2 clusters" in text


def test_long_conflicts_are_abbreviated():
    n = 5000
    item = np.arange(n)
    c = Constraints(np.column_stack([item[:-1], item[1:]]), [(0, n - 1)])
    told = c.explain()
    assert len(told.conflict.must_link) == n - 1
    assert len(str(told)) < 1000
    assert "5,000 items" in str(told)


def test_a_link_that_many_contradictions_share_is_cut():
    """Two stars joined by one wrong link: one pair goes, not three."""
    c = Constraints(
        [(0, 1), (0, 2), (0, 3), (0, 4), (1, 5), (1, 6), (1, 7)], [(2, 5), (3, 6), (4, 7)], n_items=8
    )
    told = c.explain()
    assert told.n_contradictions == 3
    assert "3 contradictions" in str(told)
    assert told.suggestion.must_link.tolist() == [[0, 1]]
    assert told.suggestion.cannot_link.tolist() == []
    assert told.complete
    assert c.drop(told.suggestion).explain().status == "feasible"
    # but not if the link is dearer than what it would save
    dear = c + Constraints([(0, 1)], n_items=8, weight=5)
    assert dear.explain().suggestion.cannot_link.tolist() == [[2, 5], [3, 6], [4, 7]]
    hard = c | Constraints([(0, 1)], n_items=8, hard=True)
    assert hard.explain().suggestion.must_link.tolist() != [[0, 1]]
