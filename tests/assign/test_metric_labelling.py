"""`metric_labelling` against all labellings of tiny problems, and what the linear program promises."""

import itertools

import numpy as np
import pytest

from coterie import Constraints
from coterie.assign import soft_pairs
from coterie.assign._core.core import soft_penalty
from coterie.assign._exact.metric_labelling import metric_labelling
from coterie.exceptions import InfeasibleConstraintsError, UndecidedError, UnsupportedConstraintError


def value(costs, known, weight, labels):
    """What labels cost by definition; infinite where they break a hard must-link."""
    if known.only_hard().violations(labels):
        return np.inf
    return costs[np.arange(len(costs)), labels].sum() + weight * soft_penalty(known, labels)


def brute_force(costs, known, weight, low=0, high=np.inf):
    """The least cost of all labellings, within bounds if there are any; infinite if there are none."""
    n, k = costs.shape
    every = np.array(list(itertools.product(range(k), repeat=n)))
    cost = costs[np.arange(n), every].sum(axis=1)
    pairs = known.must_table
    for (i, j), strength, hard in zip(pairs.ij, pairs.strength, pairs.hard, strict=True):
        cost[every[:, i] != every[:, j]] += np.inf if hard else weight * strength
    sizes = (every[:, :, None] == np.arange(k)).sum(axis=1)
    return cost[((sizes >= low) & (sizes <= high)).all(axis=1)].min(initial=np.inf)


def random_problem(rng, n, k, hard=0.2):
    m = int(rng.integers(0, 2 * n))
    pairs = [rng.permutation(n)[:2].tolist() for _ in range(m)]
    strength = rng.choice([0.0, 0.3, 1.0, 2.0], m)
    known = Constraints(pairs, n_items=n, weight=strength, hard=rng.random(m) < hard)
    costs = rng.random((n, k)) if rng.random() < 0.7 else np.round(3 * rng.random((n, k)))
    return costs + rng.choice([0.0, -50.0, 1e4]), known


def test_between_the_bound_and_twice_the_bound(seed):
    rng = np.random.default_rng(seed)
    n_best = 0
    for _ in range(60):
        n, k = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        costs, known = random_problem(rng, n, k)
        costs -= costs.min()  # "twice" speaks of costs that are not negative
        weight = float(rng.choice([0.1, 0.5, 2.0]))
        found = metric_labelling(costs, known, weight=weight, random_state=0)
        least, slack = brute_force(costs, known, weight), 1e-7 * (1 + np.abs(costs).sum())
        assert found.cost == pytest.approx(value(costs, known, weight, found.labels))
        assert found.penalty == pytest.approx(weight * soft_penalty(known, found.labels))
        assert found.lower_bound <= least + slack
        assert least <= found.cost + slack
        assert least <= 2 * found.lower_bound + slack
        if not found.fractional:
            assert found.cost == pytest.approx(found.lower_bound, abs=slack)
        n_best += found.cost <= least + slack
    assert n_best >= 55


def test_a_program_that_stays_in_parts():
    # three items, each forbidden one cluster (nearly), all pairs joined: half of each is cheapest
    costs = 100 * np.eye(3)
    known = Constraints([(0, 1), (1, 2), (0, 2)], n_items=3)
    found = metric_labelling(costs, known, random_state=0)
    assert found.fractional == 3
    assert found.lower_bound == pytest.approx(1.5)
    assert found.cost == found.penalty == 2
    assert found.labels.dtype == np.int32


def test_without_a_price_each_item_is_where_it_is_cheapest(seed):
    rng = np.random.default_rng(seed)
    costs, known = random_problem(rng, 40, 5, hard=0.0)
    for strength in (0.0, 1e-12):
        found = metric_labelling(costs, known, weight=strength)
        assert found.labels.tolist() == costs.argmin(axis=1).tolist() or strength
        assert found.cost == pytest.approx(costs.min(axis=1).sum())
        assert found.lower_bound == pytest.approx(found.cost)
    empty = metric_labelling(costs, None)
    assert empty.labels.tolist() == costs.argmin(axis=1).tolist()
    assert (empty.penalty, empty.fractional) == (0.0, 0)


def test_a_high_price_on_a_connected_graph_gives_one_cluster(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((30, 4))
    chain = Constraints([(i, i + 1) for i in range(29)], n_items=30)
    for weight in (1e3, 1e9):
        found = metric_labelling(costs, chain, weight=weight, random_state=seed % 2**31)
        assert set(found.labels.tolist()) == {int(costs.sum(axis=0).argmin())}
        assert found.cost == pytest.approx(found.lower_bound)


def test_hard_must_links_hold_and_soft_ones_are_weighed():
    costs = np.array([[0.0, 9.0], [9.0, 0.0], [9.0, 1.0], [0.0, 5.0]])
    known = Constraints([(0, 1), (1, 2), (2, 3)], n_items=4, hard=np.array([True, False, False]))
    found = metric_labelling(costs, known, weight=2.0, random_state=0)
    assert found.labels.tolist() == [1, 1, 1, 0] or found.labels.tolist() == [0, 0, 1, 0]
    assert found.cost == brute_force(costs, known, 2.0)


def test_never_worse_than_local_search_would_make_it(seed):
    rng = np.random.default_rng(seed)
    costs, known = random_problem(rng, 60, 4)
    found = metric_labelling(costs, known, weight=0.4, random_state=1)
    again = soft_pairs(costs, known, weight=0.4, labels=found.labels, random_state=1)
    assert again.cost <= found.cost + 1e-9
    same = metric_labelling(costs, known, weight=0.4, random_state=1)
    assert same.labels.tolist() == found.labels.tolist()


def test_bounds_hold(seed):
    rng = np.random.default_rng(seed)
    n_found, n_best = 0, 0
    for _ in range(60):
        n, k = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        costs, known = random_problem(rng, n, k, hard=0.1)
        low = rng.integers(0, n // k + 1, k)
        high = np.minimum(low + rng.integers(0, 4, k), n)
        if high.sum() < n:
            high[:] = n
        least = brute_force(costs, known, 0.5, low, high)
        try:
            found = metric_labelling(
                costs, known, weight=0.5, size_min=low, size_max=high, n_rounds=80, random_state=0
            )
        except InfeasibleConstraintsError:
            assert least == np.inf
            continue
        except UndecidedError:
            continue
        sizes, slack = np.bincount(found.labels, minlength=k), 1e-7 * (1 + np.abs(costs).sum())
        assert (sizes >= low).all()
        assert (sizes <= high).all()
        assert found.cost == pytest.approx(value(costs, known, 0.5, found.labels))
        assert found.lower_bound <= least + slack <= found.cost + 2 * slack
        n_found += 1
        n_best += found.cost <= least + slack
    assert n_found >= 30
    assert n_best >= n_found // 2


def test_sizes_as_shares_and_numbers():
    rng = np.random.default_rng(0)
    costs = rng.random((31, 3))
    known = Constraints([(0, 1), (4, 9)], n_items=31)
    for low, high in [(1.0, 1.0), (10, 11), ([10, 10, 10], None), (None, 11), ([10, 10, 11], [10, 10, 11])]:
        found = metric_labelling(costs, known, size_min=low, size_max=high, random_state=0)
        assert sorted(np.bincount(found.labels).tolist()) == [10, 10, 11] or high is None
        assert np.bincount(found.labels).min() >= 9
    for bad in (-1, [1, 2], 10.5, 11, "a"):
        with pytest.raises(ValueError, match=r"size_min|the minimum sizes add up to 33"):
            metric_labelling(costs, known, size_min=bad)


def test_pairs_between_all_items_leave_room_for_the_bounds(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((12, 3))
    chain = Constraints([(i, i + 1) for i in range(11)], n_items=12)
    for weight in (0.1, 1.0, 1e3):
        found = metric_labelling(costs, chain, weight=weight, size_min=1.0, size_max=1.0, random_state=0)
        assert np.bincount(found.labels).tolist() == [4, 4, 4]


def test_bounds_that_no_rounding_meets_and_bounds_that_nothing_meets():
    costs = np.zeros((6, 2))
    threes = Constraints([(0, 1), (1, 2), (3, 4), (4, 5)], n_items=6, hard=True)
    with pytest.raises(InfeasibleConstraintsError, match=r"3 items must be together .* more than 2"):
        metric_labelling(np.zeros((6, 3)), threes, size_max=2)
    with pytest.raises(InfeasibleConstraintsError, match="even if"):
        metric_labelling(costs, threes, size_max=[4, 2])
    doubles = Constraints([(0, 1), (2, 3), (4, 5)], n_items=6, hard=True)
    with pytest.raises(UndecidedError, match="none of 3 roundings"):
        metric_labelling(costs, doubles, size_min=3, size_max=3, n_rounds=3)


def test_what_is_refused():
    costs = np.zeros((4, 2))
    with pytest.raises(UnsupportedConstraintError, match="cannot-link, label; it takes must-link"):
        metric_labelling(
            costs, Constraints(cannot_link=[(0, 1)], n_items=4) | Constraints.from_labels([0, 0, 1, -1])
        )
    with pytest.raises(ValueError, match="weight must be a finite number"):
        metric_labelling(costs, None, weight=np.inf)
    with pytest.raises(ValueError, match="n_rounds must be a whole number, at least 1"):
        metric_labelling(costs, None, n_rounds=0)
    with pytest.raises(ValueError, match="5 items"):
        metric_labelling(costs, Constraints([(0, 1)], n_items=5))
    i = np.arange(1999)
    chain = Constraints(np.column_stack([i, i + 1]), n_items=2000)
    with pytest.raises(ValueError, match=r"needs 239,940 variables, more than 200,000: 2,000 items"):
        metric_labelling(np.zeros((2000, 60)), chain)
