"""`stable_assignment`: one stable matching, that of all pairs in the order of their cost."""

import numpy as np
import pytest

from coterie.assign import size_constrained_assignment, stable_assignment
from coterie.assign._sizes import stable
from tests.oracles import populate as oracle


def cases(seed, number):
    """Costs with ties (rounded) and without, quotas whose sum is below, at and above the number of items."""
    for one in range(number):
        rng = np.random.default_rng((seed, one))
        n, k = int(rng.integers(1, 30)), int(rng.integers(1, 6))
        costs = rng.normal(size=(n, k))
        yield (
            (np.round(costs) if one % 2 else costs),
            rng.multinomial(max(n + int(rng.integers(-n, n)), 0), [1 / k] * k),
        )


def test_it_is_the_greedy_matching_over_sorted_pairs(seed):
    for costs, quotas in cases(seed, 60):
        for dtype in (np.float64, np.float32):
            given = costs.astype(dtype)
            labels = stable_assignment(given, quotas)
            assert labels.dtype == np.int32
            assert labels.tolist() == oracle.by_sorted_pairs(given, quotas).tolist()


def test_nobody_and_no_cluster_would_both_rather_have_each_other(seed):
    for costs, quotas in cases(seed, 20):
        labels = stable_assignment(costs, quotas)
        held = np.bincount(labels[labels >= 0], minlength=len(quotas))
        assert (held <= quotas).all()
        assert held.sum() == min(len(costs), quotas.sum())
        assert not oracle.blocking_pairs(costs, labels, quotas)


def test_the_worked_example():
    x = np.array([1.0, 2.0, 3.0, 4.0, 9.0])
    costs = np.abs(x[:, None] - [0.0, 10.0])
    labels = stable_assignment(costs, [2, 2])
    assert labels.tolist() == [0, 0, -1, 1, 1]
    nearest = np.where(labels < 0, costs.argmin(axis=1), labels)
    assert nearest.tolist() == [0, 0, 0, 1, 1]
    assert costs[np.arange(5), nearest].sum() == 13


def test_a_stable_matching_can_be_far_from_the_best():
    costs = np.array([[1.0, 1.5], [1.2, 10.0]])
    assert stable_assignment(costs, 1).tolist() == [0, 1]  # 11
    assert size_constrained_assignment(costs, 1, 1).cost == pytest.approx(2.7)


def test_limits():
    costs = np.random.default_rng(0).normal(size=(9, 3))
    assert stable_assignment(costs, 0).tolist() == [-1] * 9
    assert stable_assignment(costs, 9).tolist() == costs.argmin(axis=1).tolist()
    assert stable_assignment(costs, [10**9] * 3).tolist() == costs.argmin(axis=1).tolist()
    assert stable_assignment(costs, [0, 0, 9]).tolist() == [2] * 9
    assert stable_assignment(np.zeros((4, 2)), 1).tolist() == [0, 1, -1, -1]  # ties: item, then cluster
    assert stable_assignment([[1], [2]], [1]).tolist() == [0, -1]


def test_a_long_run_comes_back_to_python(monkeypatch, seed):
    costs = np.random.default_rng(seed).normal(size=(40, 3))
    costs = np.sort(costs, axis=0)[::-1]  # everybody takes the place of somebody
    whole = stable_assignment(costs, [5, 5, 5]).tolist()
    monkeypatch.setattr(stable, "SLICE", 1)
    assert stable_assignment(costs, [5, 5, 5]).tolist() == whole


def test_the_order_of_the_items_does_not_matter_without_ties(seed):
    rng = np.random.default_rng(seed)
    costs, order = rng.normal(size=(50, 4)), rng.permutation(50)
    quotas = [5, 0, 20, 10]
    assert (
        stable_assignment(costs, quotas)[order].tolist() == stable_assignment(costs[order], quotas).tolist()
    )


@pytest.mark.parametrize(
    ("costs", "quotas", "words"),
    [
        ([[0.0, np.nan]], 1, "costs of item 0 in cluster 1 is nan; costs must be finite numbers"),
        ([[0.0], [np.inf]], 1, "costs of item 1 in cluster 0 is inf"),
        ([0.0, 1.0], 1, "2D array"),
        (np.empty((0, 2)), 1, "0 sample"),
        (np.empty((2, 0)), 1, "0 feature"),
        ([[0.0, 1.0]], [1], "quotas must be a whole number, or 2 of them, one per cluster; got \\[1\\]"),
        ([[0.0, 1.0]], [[1, 1]], "quotas must be a whole number, or 2"),
        ([[0.0, 1.0]], 0.5, "quotas must be a whole number, or 2 .* got 0.5"),
        ([[0.0, 1.0]], True, "quotas must be a whole number"),
        ([[0.0, 1.0]], None, "quotas must be a whole number"),
        ([[0.0, 1.0]], [1, -2], "quotas of cluster 1 is -2; it must be at least 0"),
    ],
)
def test_bad_input(costs, quotas, words):
    with pytest.raises(ValueError, match=words):
        stable_assignment(costs, quotas)
