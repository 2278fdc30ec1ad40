"""A soft pair or group of weight 0 is kept and listed, and has no effect; a hard one has."""

import random

import numpy as np
import pytest

from coterie import Constraints
from tests.constraints.strategies import GROUP_MAKERS, random_case, random_pairs, random_values
from tests.oracles import constraints as oracle


def silent(rng: random.Random, n: int) -> Constraints:
    c = Constraints(random_pairs(rng, n, 5), random_pairs(rng, n, 5), n_items=n, weight=0)
    for kind, make in GROUP_MAKERS.items():
        c = c | make(np.array(random_values(rng, n, 3, 0.7), dtype=object), weight=0.0)
        assert kind in c.kinds or not c.groups
    return c


@pytest.mark.parametrize("seed", range(30))
def test_no_effect_on_anything(seed):
    rng = random.Random(seed)
    case = random_case(rng, 4, 10, kinds="pairs")
    c = Constraints(case.must, case.cannot, n_items=case.n)
    more = c + silent(rng, case.n)  # `+`, so that weights of pairs in both are unchanged
    assert more.components.tolist() == c.components.tolist()
    assert more.contracted.n_contradictions == c.contracted.n_contradictions
    for k in range(1, 6):
        assert more.check(k).status == c.check(k).status
        assert more.explain(k).status == c.explain(k).status
    labels = [rng.randint(-1, 3) for _ in range(case.n)]
    a, b = c.violations(labels), more.violations(labels)
    assert (a.n_broken, a.n_stated, a.cost, a.n_hard) == (b.n_broken, b.n_stated, b.cost, b.n_hard)
    assert a.must_link.ij.tolist() == b.must_link.ij.tolist()
    X = [[rng.gauss(0, 1)] for _ in range(case.n)]
    np.testing.assert_equal(more.coherence(X), c.coherence(X))
    if not c.contracted.n_contradictions:
        assert oracle.all_pairs(more.closure()) == oracle.all_pairs(c.closure())
    told = more.explain(2)
    if told.suggestion is not None:
        assert (told.suggestion.must_table.weight > 0).all()
        assert (told.suggestion.cannot_table.weight > 0).all()


def test_kept_and_listed():
    c = Constraints([(0, 1)], [(1, 2)], weight=0) | Constraints.from_labels([0, 0, 1], weight=0.0)
    assert c.n_pairs == 2
    assert c.must_link.tolist() == [[0, 1]]
    assert c.cannot_link.tolist() == [[1, 2]]
    assert c.constrained_items.tolist() == [0, 1, 2]
    assert len(c.groups) == 1
    assert c.kinds == {"must-link", "cannot-link", "label"}
    assert c != Constraints(n_items=3)
    assert len(c.to_frame("pandas")) == 5
    assert c[[2, 1, 0]].n_pairs == 2


def test_contradictions_without_weight_do_not_count():
    c = Constraints([(0, 1)], [(0, 1)], weight=[1, 0])
    assert c.check(1).status == "feasible"
    assert c.explain().status == "feasible"
    assert (Constraints([(0, 1)]) | Constraints.distinct([5, 5], weight=0.0)).check(1).status == "feasible"


def test_hard_wins_over_weight_zero():
    c = Constraints([(0, 1)], [(0, 1)], weight=0, hard=True)
    assert c.check(5).status == "infeasible"
    assert c.violations([0, 1]).n_broken == 1
    assert c.violations([0, 1]).n_hard == 1
    assert c.violations([0, 1]).cost == 0


def test_zero_and_something_is_something():
    nothing, something = Constraints([(0, 1)], weight=0), Constraints([(0, 1)], weight=2)
    assert nothing + something == something
    assert nothing | something == something
