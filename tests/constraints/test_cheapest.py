"""The cheapest way out: as cheap as any subset of the pairs, said only where it is proven."""

import itertools
import random

import numpy as np
import pytest

from coterie import Constraints
from coterie.constraints._feasible import repair
from tests.constraints.strategies import random_case
from tests.oracles import constraints as oracle


def cost_of(hard, weight) -> tuple[int, float]:
    return int(np.sum(hard)), float(np.sum(weight))


def cost_of_suggestion(told) -> tuple[int, float]:
    tables = told.suggestion.must_table, told.suggestion.cannot_table
    return cost_of(*(np.concatenate([getattr(t, name) for t in tables]) for name in ("hard", "weight")))


def least_cost(c: Constraints, k: int | None) -> tuple[int, float] | None:
    """The cheapest of all subsets of the pairs after which the rest can be met; None if groups collide."""
    must, cannot = c.must_link.tolist(), c.cannot_link.tolist()
    hard = np.concatenate([c.must_table.hard, c.cannot_table.hard])
    weight = np.concatenate([c.must_table.weight, c.cannot_table.weight])
    given = oracle.all_pairs(c.drop(must_link=must, cannot_link=cannot))
    best = None
    for kept in itertools.product([True, False], repeat=len(hard)):
        kept = np.array(kept, dtype=bool)
        cost = cost_of(hard[~kept], weight[~kept])
        if best is not None and cost >= best:
            continue
        pairs = [
            known | {tuple(pair) for pair, keep in zip(stated, rows, strict=True) if keep}
            for known, stated, rows in zip(
                given, (must, cannot), (kept[: len(must)], kept[len(must) :]), strict=True
            )
        ]
        if oracle.feasible(c.n_items, *pairs, c.n_items if k is None else k):
            best = cost
    return best


def test_as_cheap_as_the_cheapest_subset(seed):
    rng, proven = random.Random(seed), 0
    while proven < 60:
        case = random_case(rng, 4, 8)
        count = len(case.must) + len(case.cannot)
        if count > 10:
            continue
        hard = np.array([rng.random() < 0.25 for _ in range(count)], dtype=bool)
        c = case.build(weight=[rng.choice([0.5, 1, 1, 2, 3]) for _ in range(count)], hard=hard)
        k = rng.choice([None, None, 1, 2, 3])
        told = c.explain(k)
        if told.status != "infeasible":
            continue
        best = least_cost(c, k)
        assert told.cheapest == told.complete == (best is not None)  # small ones are always settled
        if told.cheapest:
            assert cost_of_suggestion(told) == best
            proven += 1


def two_stars() -> Constraints:
    """Cutting both links of the hub costs 4; strongest first, or link by link, it costs more."""
    hub = [(0, 1), (0, 2)]
    leaves = [(1, 3), (1, 4), (1, 5), (2, 6), (2, 7), (2, 8)]
    apart = [(0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8)]
    return Constraints(hub + leaves, apart, weight=[2, 2] + [1] * 6 + [0.9] * 6)


def test_links_that_conflicts_share_go_where_that_is_cheaper():
    told = two_stars().explain()
    assert told.suggestion.must_link.tolist() == [[0, 1], [0, 2]]
    assert told.cheapest
    assert "\nCheapest way out: drop 2 pairs" in str(told)


def test_a_hard_pair_goes_only_where_no_soft_ones_will_do():
    c = two_stars() | Constraints([(0, 1), (0, 2)], n_items=9, hard=True)
    told = c.explain()
    assert told.cheapest
    assert cost_of_suggestion(told) == pytest.approx((0, 5.4))


def test_weights_of_very_different_size():
    """A millionth of a pair is still a difference."""
    links = [(0, 1), (1, 2)]
    c = Constraints(links, [(0, 2)], n_items=6, weight=[1e-3 + 1e-9, 1e-3, 5.0])
    told = (c | Constraints([(3, 4), (4, 5)], [(3, 5)], n_items=6, weight=[1.0, 2.0, 3.0])).explain()
    assert told.suggestion.must_link.tolist() == [[1, 2], [3, 4]]
    assert told.cheapest


@pytest.mark.parametrize("name", ["_MAX_CHECKS", "_SECONDS"])
def test_without_a_proof_nothing_is_claimed(monkeypatch, name):
    monkeypatch.setattr(repair, name, 0)
    told = two_stars().explain()
    assert told.complete
    assert not told.cheapest
    assert "\nA way out: drop" in str(told)


def test_items_that_nobody_names_cost_nothing():
    c = Constraints([(10, 199_999), (50_000, 199_999)], [(10, 50_000)], n_items=200_000)
    assert c.explain().cheapest
    assert c.explain(2).cheapest


def test_many_wrong_pairs_are_found():
    """Of 400 pairs on 60 items, as many go as are wrong: the truth is one way out, and none is cheaper."""
    y = np.random.default_rng(0).integers(0, 3, 60)
    c = Constraints.sample(y, n_pairs=400, noise=0.02, random_state=0)
    told = c.explain(3)
    assert told.cheapest
    assert cost_of_suggestion(told) <= cost_of([], np.ones(c.violations(y).n_broken))
