"""`improve_within_bounds`: bounds never suffer, the cost never rises, and what each strategy promises."""

import random

import numpy as np
import pytest
from scipy import sparse

from coterie.assign import Assignment, improve_within_bounds, size_constrained_assignment
from coterie.exceptions import ParameterError
from tests.assign.problems import scale_of
from tests.assign.test_sizes import random_costs
from tests.oracles import improve as oracle


def random_problem(rng, n, k):
    """Costs, some of them not on offer (NaN), labels, and bounds that the labels meet or break."""
    costs = random_costs(rng, n, k)
    labels = np.array([rng.randrange(k) for _ in range(n)])
    low = np.array([rng.randint(0, max(1, n // k)) for _ in range(k)])
    high = low + [rng.choice([0, 1, 2, n]) for _ in range(k)]
    if rng.random() < 0.4:
        gone = np.array([[rng.random() < 0.4 for _ in range(k)] for _ in range(n)])
        gone[np.arange(n), labels] = False
        costs[gone] = np.nan
    return costs, labels, low, high


def offered(costs):
    """The same costs as a caller gives them: a table, or CSR where some cells are missing."""
    there = ~np.isnan(costs)
    if there.all():
        return costs
    row, column = np.nonzero(there)
    return sparse.csr_array((costs[there], (row, column)), costs.shape)


def improved(costs, labels, low, high, strategy) -> Assignment:
    found = improve_within_bounds(offered(costs), labels, low, high, strategy=strategy)
    n, k = costs.shape
    assert found.labels.dtype == np.int32
    assert oracle.kept(labels, found.labels, k, low, high)
    before, after = (costs[np.arange(n), one].astype(np.float64).sum() for one in (labels, found.labels))
    assert found.cost == pytest.approx(after, rel=1e-9, abs=1e-12 * scale_of(np.nan_to_num(costs)))
    assert after <= before + 1e-12 * scale_of(np.nan_to_num(costs))
    assert (found.n_moves == 0) == (found.labels == labels).all() or found.n_moves > 0
    return found


@pytest.mark.parametrize("seed", range(60))
def test_circulation_finds_the_best_on_offer(seed):
    rng = random.Random(seed)
    k = rng.randint(1, 4)
    costs, labels, low, high = random_problem(rng, rng.randint(1, 6 if k > 3 else 7), k)
    found = improved(costs, labels, low, high, "circulation")
    assert found.optimal
    best = oracle.best_cost(costs.astype(np.float64), labels, low, high)
    assert found.cost == pytest.approx(best, rel=1e-9, abs=2e-8 * scale_of(np.nan_to_num(costs)))


@pytest.mark.parametrize("seed", range(100))
def test_book_leaves_no_single_move_and_no_cycle(seed):
    rng = random.Random(seed)
    costs, labels, low, high = random_problem(rng, rng.randint(1, 40), rng.randint(1, 6))
    found = improved(costs, labels, low, high, "book")
    assert not found.optimal
    tolerance = 1e-11 * scale_of(np.nan_to_num(costs))
    costs = costs.astype(np.float64)
    assert not oracle.single_moves(costs, found.labels, low, high, tolerance)
    assert not oracle.has_cycle(costs, found.labels, tolerance)
    by_program = improved(costs, labels, low, high, "circulation")
    assert by_program.cost <= found.cost + 2e-8 * scale_of(np.nan_to_num(costs))


def test_without_bounds_everybody_goes_to_the_nearest():
    costs = np.random.default_rng(0).random((300, 7))
    for strategy in ("book", "circulation"):
        found = improve_within_bounds(costs, np.zeros(300, dtype=int), strategy=strategy)
        assert (found.labels == costs.argmin(axis=1)).all()


def test_circulation_is_the_exact_assignment_from_labels_that_fit():
    costs = np.random.default_rng(1).random((400, 9))
    labels = np.arange(400) % 9
    exact = size_constrained_assignment(costs, 1.0, 1.0)
    found = improve_within_bounds(costs, labels, 1.0, 1.0)
    assert found.cost == pytest.approx(exact.cost, rel=1e-7)
    book = improve_within_bounds(costs, labels, 1.0, 1.0, strategy="book")
    assert exact.cost < book.cost < costs[np.arange(400), labels].sum()
    assert set(np.bincount(book.labels)) == {44, 45}


def test_counter_example_of_the_chapter():
    costs = np.array([[1.0, 1.5], [1.2, 10.0]])
    assert improve_within_bounds(costs, [0, 1], 1, strategy="book").cost == pytest.approx(11.0)
    assert improve_within_bounds(costs, [0, 1], 1).cost == pytest.approx(2.7)


def test_cycles_move_where_sizes_are_pinned():
    costs = np.array([[5.0, 1, 9], [9, 5, 1], [1, 9, 5]])
    found = improve_within_bounds(costs, [0, 1, 2], 1, 1, strategy="book")
    assert (found.labels.tolist(), found.cost, found.n_moves) == ([1, 2, 0], 3.0, 3)


def test_a_broken_minimum_is_not_broken_further_but_may_be_mended():
    costs = np.array([[1.0, 0.0], [1, 0], [0, 1], [0, 1]])
    for strategy, mended in (("book", [0, 1, 0, 0]), ("circulation", [1, 1, 0, 0])):
        found = improve_within_bounds(costs[:2], [0, 0], [3, 0], strategy=strategy)
        assert found.labels.tolist() == [0, 0]
        # moves that gain bring items in; the book's hold them once the minimum is met
        found = improve_within_bounds(costs, [0, 1, 1, 1], [3, 0], strategy=strategy)
        assert found.labels.tolist() == mended


@pytest.mark.parametrize("strategy", ["book", "circulation"])
def test_stored_zeros_are_on_offer_and_nothing_is_written_to(strategy):
    costs = sparse.csr_matrix(([0.0, 2.0, 0.0, 1.0], [0, 1, 0, 2], [0, 2, 4]), shape=(2, 3))
    labels = np.array([1, 2])
    found = improve_within_bounds(costs, labels, strategy=strategy)
    assert found.labels.tolist() == [0, 0]
    assert labels.tolist() == [1, 2]
    assert costs.data.tolist() == [0.0, 2.0, 0.0, 1.0]


@pytest.mark.parametrize("factor", [1e-30, 1e30])
@pytest.mark.parametrize("strategy", ["book", "circulation"])
def test_the_unit_of_the_costs_does_not_matter(strategy, factor):
    costs = np.random.default_rng(2).random((60, 4))
    one, other = (
        improve_within_bounds(scale * costs, np.arange(60) % 4, 1.0, 1.0, strategy=strategy)
        for scale in (1.0, factor)
    )
    assert (one.labels == other.labels).all()


def test_bad_input_is_refused_by_name():
    costs = np.ones((3, 2))
    stored = sparse.csr_array(([1.0, 1.0, 1.0], ([0, 1, 2], [0, 0, 1])), (3, 2))
    for message, given in [
        ("strategy must be 'circulation' or 'book'; got 'best'", (costs, [0, 1, 0], 1, 1, "best")),
        ("labels must be 3 whole numbers", (costs, [0, 1], 1, 1, "book")),
        (r"labels\[1\] is 2; labels go from 0 to 1", (costs, [0, 2, 1], 1, 1, "book")),
        ("no cell for item 1 in cluster 1, where labels put it", (stored, [0, 1, 1], 1, 1, "book")),
        ("item 2 in cluster 1 is nan", (np.array([[1, 1], [1, 1], [1, np.nan]]), [0, 0, 0], 1, 1, "book")),
    ]:
        with pytest.raises(ValueError, match=message):
            improve_within_bounds(*given[:4], strategy=given[4])
    with pytest.raises(ParameterError, match="size_min must be a number"):
        improve_within_bounds(costs, [0, 1, 0], "many")
