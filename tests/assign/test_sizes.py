"""`size_constrained_assignment` with unit loads: always the optimum, and prices that prove it."""

import math
import random

import numpy as np
import pytest

from coterie.assign import SizedAssignment, size_constrained_assignment
from coterie.exceptions import InfeasibleConstraintsError
from tests.assign.problems import scale_of
from tests.marks import first_of
from tests.oracles import sizes as oracle


def random_costs(rng: random.Random, n: int, k: int) -> np.ndarray:
    """Plain, with ties, duplicates, constants, far from 0, of wide range, negative; float32 now and then."""
    kind = rng.choice(["plain", "ties", "ties", "duplicates", "constant", "offset", "rows", "below 0"])
    values = np.array([[rng.random() for _ in range(k)] for _ in range(n)]).reshape(n, k)
    if kind == "ties":
        values = np.round(values * rng.choice([1, 3, 6]))
    if kind == "duplicates":
        values = values[[rng.randrange(max(1, n // 3)) for _ in range(n)]]
    if kind == "constant":
        values[:] = rng.choice([0.0, 0.7])
    if kind == "offset":
        values = values + 1e4
    if kind == "rows":
        values = values * np.array([[rng.choice([1e-3, 1.0, 1e3])] for _ in range(n)])
    if kind == "below 0":
        values = values - 2.0
    return values.astype(np.float32) if rng.random() < 0.25 else values


def random_bounds(rng: random.Random, n: int, k: int, feasible: bool = True) -> oracle.Rules:
    """Minima and maxima around a random labelling, often tight; or just anything."""
    if not feasible:
        lower = np.array([rng.randint(0, 3) for _ in range(k)], dtype=float)
        return oracle.rules(n, k, lower, lower + [rng.choice([0, 1, 2, 3, math.inf]) for _ in range(k)])
    held = oracle.sizes_of([rng.randrange(k) for _ in range(n)], k)
    loose = rng.choice([0, 0, 1, 3])
    lower = np.maximum(held - [rng.randint(0, loose) for _ in range(k)], 0)
    upper = held + [rng.choice([rng.randint(0, loose), rng.randint(0, loose), math.inf]) for _ in range(k)]
    kind = rng.choice(["both", "both", "both", "min", "max", "pinned"])
    if kind == "pinned":
        lower, upper = held, rng.choice([held, np.full(k, math.inf)])
    return oracle.rules(n, k, 0 if kind == "max" else lower, math.inf if kind == "min" else upper)


def as_arguments(r: oracle.Rules) -> dict:
    """The bounds as a caller would write them; n where there is none."""
    upper = None if np.isinf(r.upper).all() else np.minimum(r.upper, r.n).astype(int)
    return {"size_min": r.lower.astype(int), "size_max": upper}


def random_prices(rng: random.Random, k: int):
    size = rng.choice([0.1, 1.0, 10.0, 1e4])
    return rng.choice([None, np.array([rng.gauss(0, size) for _ in range(k)])])


def assert_account_is_right(found, costs, r) -> float:
    n, k = costs.shape
    scale = scale_of(costs)
    assert isinstance(found, SizedAssignment)
    assert found.labels.dtype == np.int32
    assert found.labels.shape == (n,)
    assert ((found.labels >= 0) & (found.labels < k)).all()
    assert oracle.keeps(found.labels, r), (found, r)
    assert np.asarray(found.sizes).tolist() == oracle.sizes_of(found.labels, k).tolist()
    own = costs[np.arange(n), found.labels].astype(np.float64).sum()
    assert found.cost == pytest.approx(own, rel=1e-9, abs=1e-12 * scale)
    assert found.optimal
    assert not found.shortfall
    assert found.prices.shape == (k,)
    return scale


def assert_prices_prove_it(found, costs, r) -> None:
    """Duality, complementary slackness, and the labels are the cheapest at these prices."""
    n = len(costs)
    near = 1e-9 * scale_of(costs)
    prices, sizes = np.asarray(found.prices, dtype=float), np.asarray(found.sizes, dtype=float)
    assert np.isfinite(prices).all()
    assert oracle.dual(costs, prices, r, sizes) == pytest.approx(found.cost, rel=1e-9, abs=near)
    net = costs.astype(np.float64) - prices
    assert (net[np.arange(n), found.labels] <= net.min(axis=1) + near).all()
    if r.pinned:
        assert prices.mean() == pytest.approx(0, abs=near + 1e-11)
        return
    assert (sizes[prices > near] == r.lower[prices > near]).all(), found
    assert (sizes[prices < -near] == r.upper[prices < -near]).all(), found
    assert (prices[sizes > r.lower] <= 0).all(), found
    assert (prices[sizes < r.upper] >= 0).all(), found


# ---- the optimum --------------------------------------------------------------------------------------


@first_of("batch", 8)
def test_the_optimum_of_all_labellings(batch, seed):
    for number in range(200):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(1, 8), rng.randint(1, 3)
        costs, r = random_costs(rng, n, k), random_bounds(rng, n, k, feasible=rng.random() < 0.85)
        best = oracle.best(costs, r)
        if math.isinf(best):
            with pytest.raises(InfeasibleConstraintsError):
                size_constrained_assignment(costs, **as_arguments(r))
            continue
        found = size_constrained_assignment(costs, **as_arguments(r), prices=random_prices(rng, k))
        scale = assert_account_is_right(found, costs, r)
        assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-9 * scale), (costs, r)
        assert_prices_prove_it(found, costs, r)


@first_of("batch", 4)
def test_the_optimum_of_flow_and_linear_program(batch, seed):
    pytest.importorskip("ortools")
    for number in range(100):
        rng = random.Random(f"{seed} large {batch} {number}")
        n, k = rng.randint(8, 80), rng.randint(2, 8)
        costs, r = random_costs(rng, n, k), random_bounds(rng, n, k)
        flow, _, _ = oracle.by_flow(costs, r)
        if number % 4 == 0:
            assert oracle.by_linprog(costs, r) == pytest.approx(flow, rel=1e-9, abs=1e-9 * scale_of(costs))
        found = size_constrained_assignment(costs, **as_arguments(r), prices=random_prices(rng, k))
        scale = assert_account_is_right(found, costs, r)
        assert found.cost == pytest.approx(flow, rel=1e-9, abs=1e-9 * scale), (costs, r)
        assert_prices_prove_it(found, costs, r)


@pytest.mark.parametrize(
    ("n", "k", "low", "high"),
    [(3000, 30, 1.0, 1.0), (3000, 30, 0.8, None), (2000, 5, None, 0.9), (12_000, 8, 0.9, 1.0)],
)
def test_the_optimum_on_larger_data(n, k, low, high, seed):
    pytest.importorskip("ortools")
    rng = np.random.default_rng((seed, n))
    X = rng.normal(size=(n, 4)) * [3, 2, 1, 1]
    centres = X[rng.choice(n, k, replace=False)] * 0.7
    costs = ((X[:, None] - centres) ** 2).sum(axis=2)
    high = None if high is None or high * k * math.ceil(n / k) < n else high
    lower = 0 if low is None else math.floor(low * n / k)
    upper = math.inf if high is None else math.ceil(high * n / k)
    r = oracle.rules(n, k, lower, upper)
    flow, _, off = oracle.by_flow(costs, r)
    found = size_constrained_assignment(costs, low, high)
    assert oracle.keeps(found.labels, r)
    assert found.cost <= flow + 1e-9 * flow
    assert found.cost >= flow - off - 1e-9 * flow
    assert_prices_prove_it(found, costs, r)
    again = size_constrained_assignment(costs, low, high, prices=found.prices)
    assert again.cost == pytest.approx(found.cost, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (0.5, None)])
def test_the_optimum_on_large_data(low, high, seed):
    """Where only candidates are looked at instead of every item."""
    pytest.importorskip("ortools")
    rng = np.random.default_rng(seed)
    n, k = 60_000, 20
    X = rng.normal(size=(n, 3)) * [3, 2, 1]
    costs = ((X[:, None] - X[rng.choice(n, k, replace=False)]) ** 2).sum(axis=2)
    upper = math.inf if high is None else math.ceil(high * n / k)
    r = oracle.rules(n, k, math.floor(low * n / k), upper)
    flow, _, off = oracle.by_flow(costs, r)
    found = size_constrained_assignment(costs, low, high)
    assert oracle.keeps(found.labels, r)
    assert abs(found.cost - flow) <= off + 1e-9 * flow
    assert_prices_prove_it(found, costs, r)


@pytest.mark.parametrize("solver", ["auto", "paths", "flow", "exact"])
def test_every_solver_finds_the_same_cost(solver, seed):
    if solver == "flow":
        pytest.importorskip("ortools")
    for number in range(25):
        rng = random.Random(f"{seed} solver {number}")
        n, k = rng.randint(1, 30), rng.randint(1, 5)
        costs, r = random_costs(rng, n, k), random_bounds(rng, n, k)
        found = size_constrained_assignment(costs, **as_arguments(r), solver=solver)
        scale = assert_account_is_right(found, costs, r)
        assert found.cost == pytest.approx(oracle.by_linprog(costs, r), rel=1e-9, abs=1e-9 * scale), solver
        assert_prices_prove_it(found, costs, r)


@pytest.mark.kernels
@pytest.mark.parametrize("kind", ["ties", "plain"])
def test_the_optimum_in_every_mode_of_the_kernels(kind):
    rng = np.random.default_rng(5)
    costs = rng.integers(0, 3, (12, 3)).astype(float) if kind == "ties" else rng.random((12, 3))
    for lower, upper in (([4, 4, 4], None), ([1, 6, 0], [5, 7, 3]), (None, [3, 9, 2])):
        r = oracle.rules(12, 3, 0 if lower is None else lower, math.inf if upper is None else upper)
        found = size_constrained_assignment(costs, lower, upper, prices=rng.normal(size=3))
        assert found.cost == pytest.approx(oracle.by_linprog(costs, r))
        assert oracle.keeps(found.labels, r)


# ---- the trap of the missing artificial node ----------------------------------------------------------


def test_the_node_that_takes_what_is_left_is_needed():
    """The full cluster should give to the empty third, the fourth to the short second: no path joins them."""
    costs = np.array([[0.0, 10, 1, 10], [0, 10, 1, 10], [10, 1, 10, 0], [10, 1, 10, 0]])
    r = oracle.rules(4, 4, [0, 1, 0, 0], [1, 9, 9, 9])
    assert oracle.without_artificial_node(costs, r) == 10
    found = size_constrained_assignment(costs, [0, 1, 0, 0], [1, 4, 4, 4])
    assert found.cost == 2
    assert found.sizes.tolist() == [1, 1, 1, 1]


def test_the_wrong_method_fails_now_and_then_and_ours_never(seed):
    failed = 0
    for number in range(400):
        rng = np.random.default_rng((7, number))
        n, k = int(rng.integers(4, 6)), 4
        costs = rng.integers(0, 6, (n, k)).astype(float)
        lower = rng.integers(0, 3, k)
        r = oracle.rules(n, k, lower, lower + rng.integers(0, 3, k))
        best = oracle.best(costs, r)
        if math.isfinite(best):
            failed += oracle.without_artificial_node(costs, r) > best
            found = size_constrained_assignment(costs, r.lower.astype(int), r.upper.astype(int))
            assert found.cost == best
    assert failed > 0


def test_without_maxima_the_wrong_method_is_right(seed):
    for number in range(100):
        rng = random.Random(f"{seed} wrong {number}")
        n, k = rng.randint(2, 6), rng.randint(2, 4)
        costs = np.array([[rng.random() for _ in range(k)] for _ in range(n)])
        r = oracle.rules(n, k, oracle.sizes_of([rng.randrange(k) for _ in range(n - 1)], k))
        assert oracle.without_artificial_node(costs, r) == pytest.approx(oracle.best(costs, r))


# ---- prices -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", range(4))
def test_a_price_is_what_one_more_item_costs(batch, seed):
    """Exactly the difference of two optima, not only a slope between them."""
    for number in range(50):
        rng = random.Random(f"{seed} price {batch} {number}")
        n, k = rng.randint(1, 7), rng.randint(1, 3)
        costs, r = random_costs(rng, n, k), random_bounds(rng, n, k)
        found = size_constrained_assignment(costs, **as_arguments(r), prices=random_prices(rng, k))
        near = {"rel": 1e-9, "abs": 1e-9 * scale_of(costs)}
        if not r.pinned:
            by_hand = oracle.prices_by_difference(costs, r, oracle.best)
            assert np.asarray(found.prices) == pytest.approx(by_hand, **near), (costs, r)
            continue
        table = oracle.pinned_differences(costs, r, oracle.best)
        gaps = found.prices[None, :] - found.prices[:, None]
        assert any(gaps[g] == pytest.approx(table[g], **near) for g in range(k)), (costs, r, found)


def test_prices_of_larger_problems_are_differences_too(seed):
    pytest.importorskip("ortools")
    for number in range(15):
        rng = random.Random(f"{seed} price flow {number}")
        n, k = rng.randint(20, 60), rng.randint(2, 6)
        costs = np.array([[rng.random() for _ in range(k)] for _ in range(n)])
        r = random_bounds(rng, n, k)
        if r.pinned:
            continue
        found = size_constrained_assignment(costs, **as_arguments(r))
        by_hand = oracle.prices_by_difference(costs, r, lambda c, r: oracle.by_flow(c, r)[0])
        assert np.asarray(found.prices) == pytest.approx(by_hand, abs=1e-8)


def test_the_cost_is_convex_in_a_minimum_and_the_price_its_slope(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((30, 3))
    found = [size_constrained_assignment(costs, [tau, 0, 0]) for tau in range(31)]
    values = np.array([f.cost for f in found])
    assert (np.diff(values) >= -1e-12).all()
    assert (np.diff(values, 2) >= -1e-9).all()
    for tau in range(30):
        if found[tau].sizes[0] == tau:
            assert found[tau].prices[0] == pytest.approx(values[tau + 1] - values[tau], abs=1e-9)


def test_no_bound_no_price(seed):
    costs = np.random.default_rng(seed).random((40, 5))
    for bounds in ((None, None), (0, 40), (0, None)):
        found = size_constrained_assignment(costs, *bounds)
        assert found.labels.tolist() == costs.argmin(axis=1).tolist()
        assert found.prices.tolist() == [0.0] * 5
        assert found.optimal
        assert found.group_prices is None


def test_a_drawn_example_of_prices():
    """0, 1, 2 and 9 on a line, centres 0 and 9: to hold two, the right must take the 2 (49 instead of 4)."""
    costs = np.array([[0.0, 81], [1, 64], [4, 49], [81, 0]])
    found = size_constrained_assignment(costs, [0, 2])
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert found.cost == 50
    assert found.prices.tolist() == [0, 63]  # the 1 is next: 64 instead of 1
    assert size_constrained_assignment(costs, [0, 1]).prices.tolist() == [0, 45]
    assert size_constrained_assignment(costs, None, [2, 4]).prices.tolist() == [-45, 0]


# ---- what must not matter -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-3, 1.0, 1e6, 1e150])
def test_any_warm_prices_lead_to_the_optimum(size, seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        costs = rng.random((60, 5))
        cold = size_constrained_assignment(costs, 10, 15)
        warm = size_constrained_assignment(costs, 10, 15, prices=rng.normal(size=5) * size)
        assert warm.labels.tolist() == cold.labels.tolist()
        assert warm.cost == pytest.approx(cold.cost)
        np.testing.assert_allclose(warm.prices, cold.prices, atol=1e-9)


def test_rows_columns_and_order_do_not_matter(seed):
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        n, k = 40, 4
        costs = rng.random((n, k))
        lower, upper = np.array([5, 12, 0, 3]), np.array([9, 40, 8, 40])
        labels = size_constrained_assignment(costs, lower, upper).labels
        moved = costs + rng.normal(size=(n, 1)) * 100
        assert (size_constrained_assignment(moved, lower, upper).labels == labels).all()
        rows, columns = rng.permutation(n), rng.permutation(k)
        mixed = size_constrained_assignment(costs[np.ix_(rows, columns)], lower[columns], upper[columns])
        assert (columns[mixed.labels] == labels[rows]).all()
        equal = size_constrained_assignment(costs, 10, 10).labels
        shifted = size_constrained_assignment(costs + rng.normal(size=k) * 10, 10, 10).labels
        assert (shifted == equal).all()


@pytest.mark.parametrize("factor", [1e-150, 1e-20, 1e-6, 1e6, 1e20, 1e150])
def test_the_unit_of_the_costs_does_not_matter(factor, seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((50, 4))
    plain = size_constrained_assignment(costs, 8, 15)
    scaled = size_constrained_assignment(costs * factor, 8, 15)
    assert scaled.labels.tolist() == plain.labels.tolist()
    assert scaled.cost / factor == pytest.approx(plain.cost)
    np.testing.assert_allclose(scaled.prices / factor, plain.prices, atol=1e-9)


def test_one_costly_item_does_not_hide_the_others(seed):
    """What is rounding for one item may be all there is for another."""
    for number in range(30):
        rng = random.Random(f"{seed} wide {number}")
        n, k = rng.randint(3, 7), rng.randint(2, 3)
        costs = np.array([[rng.random() for _ in range(k)] for _ in range(n)])
        far = costs[0].copy()
        costs[0] += 10.0 ** rng.choice([6, 9, 12])
        r = random_bounds(rng, n, k)
        found = size_constrained_assignment(costs, **as_arguments(r))
        costs[0] = far
        own = costs[np.arange(n), found.labels].sum()
        assert own <= oracle.best(costs, r) + 2e-3, number
        costs[0] += 1e6
        found = size_constrained_assignment(costs, **as_arguments(r))
        costs[0] = far
        assert costs[np.arange(n), found.labels].sum() <= oracle.best(costs, r) + 1e-8


def test_small_costs_beside_huge_ones(seed):
    """Items whose costs differ by 1e-3 only must not be settled by chance because another item costs 1e12."""
    rng = np.random.default_rng(seed)
    costs = np.vstack([rng.random((20, 3)) * 1e-3, [[0.0, 1e12, 2e12]]])
    best = oracle.by_linprog(costs[:20] * 1e3, oracle.rules(20, 3, [6, 7, 7])) * 1e-3
    found = size_constrained_assignment(costs, 7, 7)
    assert found.labels[20] == 0
    assert costs[np.arange(20), found.labels[:20]].sum() == pytest.approx(best, rel=1e-6)


def test_costs_are_read_and_not_changed(seed):
    rng = np.random.default_rng(seed)
    costs, prices = rng.random((30, 3)), np.array([3.0, -1.0, 0.5])
    kept = costs.copy(), prices.copy()
    labels = size_constrained_assignment(costs, 10, 10, prices=prices).labels
    assert (costs == kept[0]).all()
    assert (prices == kept[1]).all()
    frozen = costs.copy()
    frozen.setflags(write=False)
    wide = np.zeros((60, 6))
    wide[::2, ::2] = costs
    for given in (frozen, np.asfortranarray(costs), wide[::2, ::2], costs.tolist(), costs[::-1][::-1]):
        assert (size_constrained_assignment(given, 10, 10).labels == labels).all()
    whole = np.round(costs * 100)
    labels = size_constrained_assignment(whole, 10, 10).labels
    assert (size_constrained_assignment(whole.astype(int), 10, 10).labels == labels).all()
    assert (size_constrained_assignment(whole.astype(np.int8), 10, 10).labels == labels).all()


def test_equal_calls_give_equal_answers(seed):
    """Ties fall the same way each time."""
    costs = np.random.default_rng(seed).integers(0, 2, (60, 4)).astype(float)
    first = size_constrained_assignment(costs, 15, 15)
    for _ in range(3):
        again = size_constrained_assignment(costs, 15, 15)
        assert again.labels.tolist() == first.labels.tolist()
        assert again.prices.tolist() == first.prices.tolist()


def test_the_nearest_that_fits_is_kept(seed):
    """Where the cheapest clusters already meet the bounds nothing moves, ties to the lowest."""
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 3, (50, 3)).astype(float)
    found = size_constrained_assignment(costs, 1, 49)
    if set(costs.argmin(axis=1).tolist()) == {0, 1, 2}:
        assert found.labels.tolist() == costs.argmin(axis=1).tolist()
        assert found.prices.tolist() == [0.0, 0.0, 0.0]


# ---- corners ------------------------------------------------------------------------------------------


def test_corners():
    assert size_constrained_assignment([[2.5]], 1, 1).cost == 2.5
    assert size_constrained_assignment([[1.0], [2.0]], 2).sizes.tolist() == [2]
    found = size_constrained_assignment([[3.0, 1.0, 2.0]])
    assert found.labels.tolist() == [1]
    assert found.sizes.tolist() == [0, 1, 0]
    assert size_constrained_assignment([[3.0, 1.0, 2.0]], [1, 0, 0]).labels.tolist() == [0]
    assert size_constrained_assignment([[3.0, 1.0, 2.0]], None, [1, 0, 1]).labels.tolist() == [2]
    square = np.array([[1.0, 2, 9], [1, 4, 9], [1, 5, 2]])
    assert size_constrained_assignment(square, 1).labels.tolist() == [1, 0, 2]
    assert size_constrained_assignment(square, 1, 1).labels.tolist() == [1, 0, 2]


def test_a_cluster_may_be_closed(seed):
    costs = np.random.default_rng(seed).random((20, 3))
    found = size_constrained_assignment(costs, 0, [20, 0, 20])
    assert found.sizes[1] == 0
    assert found.labels.tolist() == [0 if a <= b else 2 for a, b in costs[:, [0, 2]].tolist()]
    assert found.prices[1] <= 0


def test_minima_that_sum_to_n_are_the_sizes(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        k = int(rng.integers(1, 6))
        sizes = rng.integers(0, 6, k)
        n = int(sizes.sum())
        if n:
            found = size_constrained_assignment(rng.random((n, k)), sizes)
            assert found.sizes.tolist() == sizes.tolist()
            with pytest.raises(InfeasibleConstraintsError):
                size_constrained_assignment(rng.random((n, k)), sizes + (np.arange(k) == 0))


def test_shares_of_the_mean_size(seed):
    costs = np.random.default_rng(seed).random((23, 4))
    costs[:, 0] -= 10
    assert sorted(size_constrained_assignment(costs, 1.0, 1.0).sizes.tolist()) == [5, 6, 6, 6]
    assert size_constrained_assignment(costs, 0.5).sizes.tolist()[1:] == [2, 2, 2]  # floor(2.875)
    assert size_constrained_assignment(costs, 1).sizes.tolist()[1:] == [1, 1, 1]
    assert size_constrained_assignment(costs, [0.0, 1.0, 0.5, 0.5]).sizes.tolist()[1:] == [5, 2, 2]
    assert size_constrained_assignment(costs, [0, 5, 0, 2]).sizes.tolist()[1:] == [5, 0, 2]
    assert size_constrained_assignment(costs, 2).sizes.tolist()[1:] == [2, 2, 2]
    with pytest.raises(ValueError, match="Write 5 for"):
        size_constrained_assignment(costs, [0.0, 5.0, 0.0, 2.0])
    assert size_constrained_assignment(costs, np.float64(0.5)).sizes.tolist()[1:] == [2, 2, 2]
    assert size_constrained_assignment(costs, np.int64(1)).sizes.tolist()[1:] == [1, 1, 1]


def test_integer_costs_of_the_flow_are_near(seed):
    """Rounding costs to integers may cost n units at most."""
    pytest.importorskip("ortools")
    for number in range(20):
        rng = random.Random(f"{seed} scaling {number}")
        costs = np.array([[rng.random() for _ in range(4)] for _ in range(50)])
        r = random_bounds(rng, 50, 4)
        ours = size_constrained_assignment(costs, **as_arguments(r), solver="paths").cost
        flow, _, off = oracle.by_flow(costs, r)
        assert -1e-9 <= flow - ours <= off + 1e-9
