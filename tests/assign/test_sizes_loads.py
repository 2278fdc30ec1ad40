"""Items with loads, which are not divided: bounds hold, or an error says that they cannot."""

import math
import random

import numpy as np
import pytest

from coterie.assign import size_constrained_assignment
from coterie.exceptions import CoterieWarning, InfeasibleConstraintsError, UndecidedError
from tests.assign.problems import scale_of
from tests.marks import first_of
from tests.oracles import sizes as oracle


def problem(rng: random.Random, n: int, k: int, feasible: bool):
    """Costs, and bounds on loads: whole, in cents, of wide range, some 0."""
    costs = np.array([[rng.random() for _ in range(k)] for _ in range(n)])
    if rng.random() < 0.3:
        costs = np.round(costs * 3)
    kind = rng.choice(["whole", "cents", "wide", "real"])
    loads = {
        "whole": lambda: rng.randint(0, 5),
        "cents": lambda: rng.randint(0, 300) / 100,
        "wide": lambda: 10.0 ** rng.randint(-2, 2),
        "real": rng.random,
    }[kind]
    loads = np.array([float(loads()) for _ in range(n)])
    loads[0] += 0.25  # so that they are not all 0, nor all 1
    held = oracle.sizes_of([rng.randrange(k) for _ in range(n)], k, loads)
    slack = rng.choice([0.0, 0.1, 0.3]) * loads.sum()
    if not feasible:
        held = np.full(k, loads.sum() / k)
        slack = rng.choice([0.01, 0.1]) * loads.sum() / k
    lower, upper = np.maximum(held - slack, 0), held + slack
    kind = rng.choice(["both", "both", "min", "max"])
    r = oracle.rules(n, k, 0 if kind == "max" else lower, math.inf if kind == "min" else upper, loads=loads)
    return costs, r


def as_arguments(r: oracle.Rules) -> dict:
    """Loads that are no whole numbers, as shares of the mean."""
    mean, k = r.loads.sum() / len(r.lower), len(r.lower)
    return {
        "size_min": np.minimum(r.lower / mean, k).tolist(),
        "size_max": np.minimum(r.upper / mean, k).tolist(),
        "size_weight": r.loads,
    }


def near(r: oracle.Rules) -> float:
    return 1e-9 * max(1.0, r.loads.sum())


@pytest.mark.parametrize("solver", ["auto", "exact"])
@first_of("batch", 4)
def test_bounds_hold_or_it_is_proven_that_they_cannot(solver, batch, seed):
    met = 0
    for number in range(40 if solver == "auto" else 20):
        rng = random.Random(f"{seed} loads {batch} {number}")
        n, k = rng.randint(2, 8), rng.randint(1, 3)
        costs, r = problem(rng, n, k, feasible=rng.random() < 0.7)
        best = oracle.best(costs, r)
        scale = scale_of(costs)
        try:
            found = size_constrained_assignment(costs, **as_arguments(r), solver=solver)
        except InfeasibleConstraintsError:
            assert math.isinf(best), (costs, r)
            continue
        assert math.isfinite(best), (costs, r, found)
        met += 1
        assert oracle.keeps(found.labels, r, near(r)), (costs, r, found)
        assert not found.shortfall
        assert np.asarray(found.sizes) == pytest.approx(oracle.sizes_of(found.labels, k, r.loads))
        assert found.cost == pytest.approx(costs[np.arange(n), found.labels].sum(), abs=1e-9)
        assert found.cost >= best - 1e-9 * scale
        if solver == "exact" or found.optimal:
            assert found.cost == pytest.approx(best, abs=1e-9 * scale), (costs, r)
    assert met


def test_the_search_is_near_the_optimum(seed):
    """Not proven to be, but on average within a few per cent."""
    ours = best = 0.0
    for number in range(60):
        rng = random.Random(f"{seed} near {number}")
        costs, r = problem(rng, 8, 3, feasible=True)
        ours += size_constrained_assignment(costs, **as_arguments(r)).cost
        best += oracle.best(costs, r)
    assert best - 1e-9 <= ours <= 1.1 * best


def test_loads_of_one_are_items(seed):
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        costs = rng.random((40, 4))
        plain = size_constrained_assignment(costs, 8, 12)
        for loads in (np.ones(40), [1] * 40):
            found = size_constrained_assignment(costs, 8, 12, size_weight=loads)
            assert found.labels.tolist() == plain.labels.tolist()
            assert found.optimal
        doubled = size_constrained_assignment(costs, 16, 24, size_weight=np.full(40, 2.0))
        assert doubled.cost == pytest.approx(plain.cost)


def test_shares_are_of_the_mean_load(seed):
    rng = np.random.default_rng(seed)
    costs, loads = rng.random((60, 3)), np.tile([1.0, 2.0, 3.0], 20)
    costs[:, 0] -= 3
    found = size_constrained_assignment(costs, 1.0, 1.0, size_weight=loads)
    assert oracle.sizes_of(found.labels, 3, loads).tolist() == [40, 40, 40]
    half = size_constrained_assignment(costs, 0.5, size_weight=loads)
    assert oracle.sizes_of(half.labels, 3, loads)[1:].min() >= 20
    # equal loads are counted in whole items, as without loads: 0.8 of 10 / 3 is rounded down to one item
    for load in (1.0, 2.5):
        found = size_constrained_assignment(np.zeros((4, 3)), 0.8, size_weight=np.full(4, load))
        assert found.sizes.min() == load
        found = size_constrained_assignment(np.zeros((5, 2)), 1.0, 1.0, size_weight=np.full(5, load))
        assert sorted(found.sizes.tolist()) == [2 * load, 3 * load]


def test_many_loads_fit(seed):
    """Thirty thousand loads in twenty clusters within a hundredth of equal load."""
    rng = np.random.default_rng(seed)
    n, k = 30_000, 20
    X, loads = rng.normal(size=(n, 3)), rng.gamma(2.0, 1.0, n)
    costs = ((X[:, None] - X[rng.choice(n, k, replace=False)]) ** 2).sum(axis=2)
    mean = loads.sum() / k
    found = size_constrained_assignment(costs, 0.99, 1.01, size_weight=loads)
    assert (np.abs(found.sizes / mean - 1.0) <= 0.01 + 1e-9).all()


def test_large_loads_hold_exactly(seed):
    """Many small loads, tight bounds."""
    rng = np.random.default_rng(seed)
    n, k = 400, 6
    costs, loads = rng.random((n, k)) ** 3, rng.uniform(0.5, 1.5, n)
    mean = loads.sum() / k
    found = size_constrained_assignment(costs, ["98%"] * k, [1.02] * k, size_weight=loads)
    r = oracle.rules(n, k, 0.98 * mean, 1.02 * mean, loads=loads)
    assert oracle.keeps(found.labels, r, 1e-9)
    low = oracle.by_linprog(costs, r)
    assert low - 1e-9 <= found.cost <= 1.1 * low


def test_few_items_are_split_by_the_relaxation(seed):
    """A vertex divides k - 1 items at most: what is left to decide is small."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    for _ in range(10):
        n, k = 30, 4
        costs, loads = rng.random((n, k)), rng.uniform(0.5, 2, n)
        once = np.kron(np.eye(n), np.ones(k))
        held = np.kron(loads, np.eye(k))
        found = linprog(
            costs.ravel(), -held, np.full(k, -0.95 * loads.sum() / k), once, np.ones(n), method="highs-ds"
        )
        shares = found.x.reshape(n, k)
        assert ((shares > 1e-7) & (shares < 1 - 1e-7)).any(axis=1).sum() <= k - 1


# ---- what cannot be -----------------------------------------------------------------------------------


def test_a_load_that_fits_nowhere_is_named():
    loads = np.ones(10)
    loads[7] = 6.5
    with pytest.raises(InfeasibleConstraintsError) as error:
        size_constrained_assignment(np.zeros((10, 3)), None, [6, 5, 6], size_weight=loads)
    for word in ("7", "6.5", "6"):
        assert word in str(error.value)


def test_sums_of_loads_are_named():
    loads = np.array([3.0, 3.0, 4.0])
    with pytest.raises(InfeasibleConstraintsError) as error:
        size_constrained_assignment(np.zeros((3, 2)), 6, size_weight=loads)
    assert "12" in str(error.value)
    assert "10" in str(error.value)
    with pytest.raises(InfeasibleConstraintsError) as error:
        size_constrained_assignment(np.zeros((3, 2)), None, 4, size_weight=loads)
    assert "8" in str(error.value)
    assert "10" in str(error.value)


def test_a_packing_that_does_not_exist_raises():
    """The sums are fine, but three loads of 2 do not make two piles of 3."""
    with pytest.raises(InfeasibleConstraintsError):
        size_constrained_assignment(np.zeros((3, 2)), 3, 3, size_weight=[2.0, 2, 2])
    with pytest.raises(InfeasibleConstraintsError):
        size_constrained_assignment(np.zeros((4, 2)), 4, None, size_weight=[3.0, 3, 3, 0.5])


def test_a_packing_that_is_hard_to_find_is_found(seed):
    """Whole loads that fill k boxes exactly."""
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        k, per = 3, 5
        parts = [
            np.diff(np.sort(np.r_[0, rng.choice(np.arange(1, 60), per - 1, replace=False), 60]))
            for _ in range(k)
        ]
        loads = rng.permutation(np.concatenate(parts)).astype(float)
        costs = rng.random((len(loads), k))
        found = size_constrained_assignment(costs, 60, 60, size_weight=loads)
        assert oracle.sizes_of(found.labels, k, loads).tolist() == [60.0] * k


def test_with_a_warning_the_best_is_returned():
    """No budget, so no proof: without the warning it is undecided."""
    arguments = {"size_weight": [2.0, 2, 2.5], "budget": 0}
    with pytest.raises(UndecidedError):
        size_constrained_assignment(np.zeros((3, 2)), 3, 3.4 / 3.25, **arguments)
    with pytest.warns(CoterieWarning, match="0.5") as caught:
        found = size_constrained_assignment(np.zeros((3, 2)), 3, 3.4 / 3.25, **arguments, on_shortfall="warn")
    assert len(caught) == 1
    assert sorted(np.asarray(found.sizes).tolist()) == [2.5, 4]
    assert found.shortfall == pytest.approx(1.1)
    assert not found.optimal


def test_what_is_proven_to_be_impossible_raises_with_a_warning_too():
    with pytest.raises(InfeasibleConstraintsError):
        size_constrained_assignment(
            np.zeros((3, 2)), 3, 3.4 / 3.25, size_weight=[2.0, 2, 2.5], on_shortfall="warn"
        )


@pytest.mark.filterwarnings("ignore::coterie.exceptions.CoterieWarning")
def test_with_a_warning_little_is_missed(seed):
    near_least = total = 0
    for number in range(60):
        rng = random.Random(f"{seed} warn {number}")
        n, k = rng.randint(2, 7), rng.randint(2, 3)
        costs, r = problem(rng, n, k, feasible=False)
        least = oracle.least_shortfall(n, r)
        try:
            found = size_constrained_assignment(costs, **as_arguments(r), on_shortfall="warn", budget=0)
        except InfeasibleConstraintsError:
            assert least > 0
            continue
        missed = oracle.shortfall(found.labels, r)
        assert found.shortfall == pytest.approx(missed, abs=near(r))
        assert missed >= least - near(r)
        total += 1
        near_least += missed <= least + 0.1 * r.loads.sum()
    assert near_least >= 0.8 * total > 0


def test_no_budget_is_undecided_or_right(seed):
    """With no steps to search, what is returned is still right, and what is not found is said to be so."""
    for number in range(40):
        rng = random.Random(f"{seed} budget {number}")
        n, k = rng.randint(2, 8), rng.randint(2, 3)
        costs, r = problem(rng, n, k, feasible=rng.random() < 0.5)
        feasible = math.isfinite(oracle.best(costs, r))
        try:
            found = size_constrained_assignment(costs, **as_arguments(r), budget=0)
        except InfeasibleConstraintsError:
            assert not feasible
        except UndecidedError:
            pass
        else:
            assert feasible
            assert oracle.keeps(found.labels, r, near(r))


# ---- with groups --------------------------------------------------------------------------------------


def test_loads_and_quotas_together(seed):
    met = 0
    for number in range(40):
        rng = random.Random(f"{seed} both {number}")
        n, k = rng.randint(3, 8), rng.randint(2, 3)
        costs, r = problem(rng, n, k, feasible=True)
        codes = np.array([rng.randrange(-1, 2) for _ in range(n)])
        codes[:2] = 0, 1
        truth = [rng.randrange(k) for _ in range(n)]
        held = np.array([oracle.sizes_of(np.where(codes == g, truth, -1), k, r.loads) for g in range(2)])
        low, high = np.floor(0.4 * held), np.ceil(1.5 * held) + 2
        both = oracle.Rules(n, r.lower, r.upper, codes, low, high, r.loads)
        arguments = {**as_arguments(r), "groups": codes}
        arguments.update(group_min=low.astype(int), group_max=high.astype(int))
        best = oracle.best(costs, both)
        try:
            found = size_constrained_assignment(costs, **arguments)
        except InfeasibleConstraintsError:
            assert math.isinf(best), (costs, both)
            continue
        assert math.isfinite(best), (costs, both)
        met += 1
        assert oracle.keeps(found.labels, both, near(r))
        assert found.cost >= best - 1e-9
        exact = size_constrained_assignment(costs, **arguments, solver="exact")
        assert exact.cost == pytest.approx(best, abs=1e-9 * scale_of(costs))
    assert met


# ---- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loads", "words"),
    [
        ([1.0, -2.0, 1.0], ["1", "-2"]), ([1.0, math.nan, 1.0], ["1", "nan"]),
        ([1.0, 1.0, math.inf], ["2", "inf"]), ([1.0, 1.0], ["2", "3"]), ([[1.0, 1.0, 1.0]], ["(1, 3)"]),
        (["a", "b", "c"], ["size_weight"]),
    ],
)  # fmt: skip
def test_malformed_loads_are_named(loads, words):
    with pytest.raises((ValueError, TypeError)) as error:
        size_constrained_assignment(np.zeros((3, 2)), 1, size_weight=loads)
    assert "size_weight" in str(error.value)
    for word in words:
        assert word.lower() in str(error.value).lower()


def test_loads_of_zero_go_where_they_are_cheap():
    costs = np.array([[0.0, 1], [1, 0], [0, 5], [5, 0]])
    found = size_constrained_assignment(costs, 2, 2, size_weight=[0.0, 0.0, 2.0, 2.0])
    assert found.labels.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="zero"):
        size_constrained_assignment(costs, 1, size_weight=np.zeros(4))


@pytest.mark.parametrize("slack", [0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-4])
def test_bounds_as_tight_as_the_tolerance_of_a_program_are_not_called_impossible(slack, seed):
    """What a solver calls infeasible within its tolerance is no proof."""
    for number in range(3):
        rng = np.random.default_rng((seed, number))
        n, k = 16, 2
        loads, truth = 10.0 ** rng.uniform(-2, 1, n), rng.permutation(np.arange(n) % k)
        held = oracle.sizes_of(truth, k, loads)
        arguments = {"size_weight": loads}
        arguments |= {
            "size_min": (held - slack) / loads.mean() / 8,
            "size_max": (held + slack) / loads.mean() / 8,
        }
        try:
            found = size_constrained_assignment(rng.random((n, k)), **arguments)
        except UndecidedError:
            continue
        assert oracle.keeps(found.labels, oracle.rules(n, k, held - slack, held + slack, loads=loads), 1e-8)
