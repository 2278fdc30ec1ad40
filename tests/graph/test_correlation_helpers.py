"""Weights from probabilities and from traffic, and constraints that contradict each other made consistent."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from coterie.constraints import Constraints
from coterie.graph._correlation_helpers import location_area_weights, log_odds_weights, repair_constraints
from tests.marks import few_of
from tests.oracles.consensus import partitions


def test_log_odds_undo_the_logistic_curve_and_are_bounded():
    weights = np.linspace(-9, 9, 7)
    assert log_odds_weights(1 / (1 + np.exp(-weights))) == pytest.approx(weights)
    assert log_odds_weights([[0.0, 1.0]], eps=0.01) == pytest.approx(np.log(99) * np.array([[-1, 1]]))
    stored = sparse.csr_matrix([[0.0, 0.9], [0.9, 0.0]])
    assert log_odds_weights(stored).toarray() == pytest.approx(np.log(9) * np.array([[0, 1], [1, 0]]))
    for bad in (1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"probability \(1,\) is"):
            log_odds_weights([0.5, bad])


def test_disagreements_are_what_location_areas_cost(seed):
    rng = np.random.default_rng(seed)
    handoff, rate = rng.uniform(size=(6, 6)), rng.uniform(size=6)
    handoff = handoff + handoff.T
    attract, repel = location_area_weights(handoff, rate)
    for labels in partitions(6):
        paging = sum((labels == area).sum() * rate[labels == area].sum() for area in set(labels))
        crossing = sum(handoff[i, j] for i, j in combinations(range(6), 2) if labels[i] != labels[j])
        wrong = sum(
            repel[i, j] if labels[i] == labels[j] else attract[i, j] for i, j in combinations(range(6), 2)
        )
        assert paging + crossing == pytest.approx(wrong + rate.sum())
    with pytest.raises(ValueError, match="handoff"):
        location_area_weights(rng.uniform(size=(3, 3)), rate[:3])
    with pytest.raises(ValueError, match="one rate a cell"):
        location_area_weights(handoff, rate[:3])


@few_of(10, 200)
def test_what_is_kept_can_hold_and_what_is_dropped_is_light(numbers):
    given, least = 0.0, 0.0
    for seed in numbers:
        rng = np.random.default_rng(seed)
        every = np.array(list(combinations(range(6), 2)))
        chosen = every[rng.choice(15, 9, replace=False)]
        c = Constraints(chosen[:4], chosen[4:], n_items=6, weight=rng.integers(1, 9, size=9))
        kept, dropped = repair_constraints(c)
        assert kept.check(6)
        assert kept | dropped == c
        assert kept.n_pairs + dropped.n_pairs == 9
        given += dropped.must_table.weight.sum() + dropped.cannot_table.weight.sum()
        least += min(c.violations(labels).cost for labels in partitions(6))
    assert least <= given <= 1.1 * least


def test_hard_constraints_win_and_consistent_ones_are_all_kept():
    hard, soft = (
        Constraints([(0, 1)], n_items=4, hard=True),
        Constraints(None, [(0, 1)], n_items=4, weight=99.0),
    )
    assert repair_constraints(hard | soft) == (hard, soft)
    fine = Constraints([(0, 1)], [(1, 2)], n_items=5) | Constraints.from_labels([0, 0, 1, -1, -1])
    kept, dropped = repair_constraints(fine)
    assert kept == fine
    assert not dropped
    # one of three must go, though all are hard; the soft one is no reason
    circle = Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=4, hard=True) | Constraints([(2, 3)], n_items=4)
    kept, dropped = repair_constraints(circle)
    assert kept.check(4)
    assert dropped.n_pairs == 1
    assert dropped.only_hard() == dropped
    assert kept.with_ids(list("abcd")) == repair_constraints(circle.with_ids(list("abcd")))[0]


def test_groups_lose_only_the_items_in_the_way():
    labels = Constraints.from_labels([0, 0, 0, 1, 1, 1])
    links = Constraints([(0, 5), (1, 5), (2, 5)], n_items=6, hard=True, weight=5.0)
    kept, dropped = repair_constraints(labels | links)
    assert kept.check(6)
    assert kept.must_link.tolist() == links.must_link.tolist()
    assert [group.items.tolist() for group in kept.groups] == [[0, 1, 2, 3, 4]]
    assert [group.items.tolist() for group in dropped.groups] == [[5]]
