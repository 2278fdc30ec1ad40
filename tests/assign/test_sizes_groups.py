"""Minima and maxima by group, inside the bounds of the clusters: the optimum, and errors with names."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from coterie.assign import size_constrained_assignment
from coterie.exceptions import InfeasibleConstraintsError
from tests.assign.problems import scale_of
from tests.assign.test_sizes import as_arguments, assert_account_is_right, random_bounds, random_costs
from tests.assign.test_sizes import random_prices as some_prices
from tests.marks import first_of
from tests.oracles import sizes as oracle

NAMES = ["ann", "bob", "cyd"]


def with_groups(rng: random.Random, r: oracle.Rules, feasible: bool = True) -> oracle.Rules:
    """Quotas around a labelling that meets the bounds of the clusters, or just any."""
    n, k = r.n, len(r.lower)
    codes = np.array([rng.randint(-1, 2) for _ in range(n)])
    codes[rng.randrange(n)] = 0
    present = sorted(set(codes[codes >= 0].tolist()))
    codes = np.array([present.index(g) if g >= 0 else -1 for g in codes.tolist()])
    n_groups = len(present)
    held = np.zeros((n_groups, k))
    if feasible:
        labels = next(
            (row for row in (rng.choices(range(k), k=n) for _ in range(300)) if oracle.keeps(row, r)), None
        )
        if labels is None:  # too tight to be met by chance: one item after the other, where room is left
            labels = [h for h in range(k) for _ in range(int(r.lower[h]))]
            for _ in range(n - len(labels)):
                labels.append(next(h for h in range(k) if labels.count(h) < r.upper[h]))
            rng.shuffle(labels)
        held = np.array([oracle.sizes_of(np.where(codes == g, labels, -1), k) for g in range(n_groups)])
    else:
        held += [[rng.choice([0, 0, 1, 2]) for _ in range(k)] for _ in range(n_groups)]
    loose = rng.choice([0, 1, 2])
    less = np.array([[rng.randint(0, loose) for _ in range(k)] for _ in range(n_groups)])
    more = np.array([[rng.choice([rng.randint(0, loose), math.inf]) for _ in range(k)] for _ in held])
    lower = np.maximum(held - less, 0)
    return replace(r, codes=codes, group_lower=lower, group_upper=np.maximum(held, lower) + more)


def quotas(r: oracle.Rules, rng: random.Random | None = None) -> dict:
    """The bounds by group as arrays in sorted order, or as dicts by name."""
    upper = np.minimum(r.group_upper, r.n).astype(int)
    lower = r.group_lower.astype(int)
    if rng is None or rng.random() < 0.5:
        return {"groups": r.codes, "group_min": lower, "group_max": upper}
    names = np.array([NAMES[g] if g >= 0 else None for g in r.codes], dtype=object)
    return {
        "groups": names,
        "group_min": {NAMES[g]: row.tolist() for g, row in enumerate(lower)},
        "group_max": {NAMES[g]: row for g, row in enumerate(upper)},
    }


def assert_group_prices_prove_it(found, costs, r) -> None:
    """What an item pays in a cluster is the price of the cluster and that of its group there."""
    n, k = costs.shape
    near = 1e-9 * scale_of(costs)
    by_group = np.asarray(found.group_prices)
    assert by_group.shape == (k, len(r.group_lower))
    assert np.isfinite(by_group).all()
    assert np.isfinite(found.prices).all()
    extra = np.zeros((n, k))
    extra[r.codes >= 0] = by_group.T[r.codes[r.codes >= 0]]
    net = costs.astype(np.float64) - found.prices - extra
    assert (net[np.arange(n), found.labels] <= net.min(axis=1) + near).all()
    for g in range(len(r.group_lower)):
        held, price = oracle.sizes_of(np.where(r.codes == g, found.labels, -1), k), by_group[:, g]
        assert (held[price > near] == r.group_lower[g][price > near]).all()
        assert (held[price < -near] == r.group_upper[g][price < -near]).all()
    if not r.pinned:
        sizes = np.asarray(found.sizes)
        assert (sizes[found.prices > near] == r.lower[found.prices > near]).all()
        assert (sizes[found.prices < -near] == r.upper[found.prices < -near]).all()


@first_of("batch", 4)
def test_the_optimum_of_all_labellings(batch, seed):
    for number in range(100):
        rng = random.Random(f"{seed} groups {batch} {number}")
        n, k = rng.randint(1, 8), rng.randint(1, 3)
        costs = random_costs(rng, n, k)
        feasible = rng.random() < 0.75
        r = with_groups(rng, random_bounds(rng, n, k, feasible=feasible or rng.random() < 0.5), feasible)
        best = oracle.best(costs, r)
        if math.isinf(best):
            with pytest.raises(InfeasibleConstraintsError):
                size_constrained_assignment(costs, **as_arguments(r), **quotas(r, rng))
            continue
        found = size_constrained_assignment(
            costs, **as_arguments(r), **quotas(r, rng), prices=some_prices(rng, k)
        )
        scale = assert_account_is_right(found, costs, r)
        assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-9 * scale), (costs, r)
        assert_group_prices_prove_it(found, costs, r)


@first_of("batch", 3)
def test_the_optimum_of_flow_and_linear_program(batch, seed):
    pytest.importorskip("ortools")
    for number in range(40):
        rng = random.Random(f"{seed} groups flow {batch} {number}")
        n, k = rng.randint(8, 60), rng.randint(2, 6)
        costs, r = random_costs(rng, n, k), with_groups(rng, random_bounds(rng, n, k))
        flow, _, _ = oracle.by_flow(costs, r)
        if number % 4 == 0:
            assert oracle.by_linprog(costs, r) == pytest.approx(flow, rel=1e-9, abs=1e-9 * scale_of(costs))
        found = size_constrained_assignment(
            costs, **as_arguments(r), **quotas(r, rng), prices=some_prices(rng, k)
        )
        scale = assert_account_is_right(found, costs, r)
        assert found.cost == pytest.approx(flow, rel=1e-9, abs=1e-9 * scale), (costs, r)
        assert_group_prices_prove_it(found, costs, r)


def test_larger_quotas(seed):
    pytest.importorskip("ortools")
    rng = np.random.default_rng(seed)
    n, k = 2000, 10
    X = rng.normal(size=(n, 3))
    costs = ((X[:, None] - X[:k]) ** 2).sum(axis=2)
    codes = (X[:, 0] + rng.normal(size=n) > 0.5).astype(int) + (rng.random(n) < 0.2)
    counts = np.bincount(codes)
    low, high = np.floor(0.7 * counts / k), np.ceil(1.2 * counts / k)
    r = oracle.rules(
        n,
        k,
        150,
        260,
        codes=codes,
        group_lower=np.repeat(low[:, None], k, axis=1),
        group_upper=np.repeat(high[:, None], k, axis=1),
    )
    found = size_constrained_assignment(costs, 150, 260, **quotas(r))
    assert found.cost == pytest.approx(oracle.by_flow(costs, r)[0], rel=1e-9)
    assert oracle.keeps(found.labels, r)
    assert_group_prices_prove_it(found, costs, r)


@pytest.mark.parametrize("solver", ["paths", "flow", "exact"])
def test_every_solver_finds_the_same_cost(solver, seed):
    if solver == "flow":
        pytest.importorskip("ortools")
    for number in range(15):
        rng = random.Random(f"{seed} groups solver {number}")
        n, k = rng.randint(2, 20), rng.randint(1, 4)
        costs, r = random_costs(rng, n, k), with_groups(rng, random_bounds(rng, n, k))
        found = size_constrained_assignment(costs, **as_arguments(r), **quotas(r), solver=solver)
        scale = assert_account_is_right(found, costs, r)
        assert found.cost == pytest.approx(oracle.by_linprog(costs, r), rel=1e-9, abs=1e-9 * scale)


@first_of("batch", 2)
def test_a_price_is_what_one_more_item_costs(batch, seed):
    """Where one more is possible: any item in the cluster, or one of the group."""
    for number in range(60):
        rng = random.Random(f"{seed} groups price {batch} {number}")
        n, k = rng.randint(1, 6), rng.randint(1, 3)
        costs, r = random_costs(rng, n, k), with_groups(rng, random_bounds(rng, n, k))
        found = size_constrained_assignment(costs, **as_arguments(r), **quotas(r, rng))
        near, now = 1e-9 * scale_of(costs), oracle.best(costs, r)
        for h in range(k):
            more = oracle.best(costs, r.moved(h)) - now
            assert math.isinf(more) or found.prices[h] == pytest.approx(more, rel=1e-9, abs=near)
            for g in range(len(r.group_lower)):
                step = np.zeros_like(r.group_lower)
                step[g, h] = 1
                there = replace(
                    r.moved(h), group_lower=r.group_lower + step, group_upper=r.group_upper + step
                )
                more = oracle.best(costs, there) - now
                total = found.prices[h] + found.group_prices[h, g]
                assert math.isinf(more) or total == pytest.approx(more, rel=1e-9, abs=near)


# ---- the rules of (9.9) -------------------------------------------------------------------------------


def test_feasible_by_the_rule_of_the_specification(seed):
    """One group: its minima fit its members, and the larger of both minima fit all items."""
    seen = set()
    for number in range(150):
        rng = np.random.default_rng((seed, number))
        n, k = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        codes = np.where(rng.random(n) < 0.5, 0, -1)
        codes[0] = 0
        tau, pi = rng.integers(0, 4, k), rng.integers(0, 3, k)
        fits = pi.sum() <= (codes == 0).sum() and np.maximum(tau, pi).sum() <= n
        seen.add(bool(fits))
        arguments = {"size_min": tau, "groups": codes, "group_min": pi[None]}
        if fits:
            found = size_constrained_assignment(rng.random((n, k)), **arguments)
            assert (found.sizes >= tau).all()
            assert (oracle.sizes_of(found.labels[codes == 0], k) >= pi).all()
        else:
            with pytest.raises(InfeasibleConstraintsError):
                size_constrained_assignment(rng.random((n, k)), **arguments)
    assert seen == {True, False}


def test_no_quota_is_no_group_and_a_group_of_all_is_a_size(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((30, 3))
    plain = size_constrained_assignment(costs, 8, 12)
    codes = rng.integers(0, 2, 30)
    for bounds in ({}, {"group_min": 0}, {"group_max": 30}, {"group_min": {0: 0}}):
        assert (
            size_constrained_assignment(costs, 8, 12, groups=codes, **bounds).labels == plain.labels
        ).all()
    everyone = np.zeros(30, dtype=int)
    found = size_constrained_assignment(costs, groups=everyone, group_min=8, group_max=12)
    assert (found.labels == plain.labels).all()
    assert found.cost == pytest.approx(plain.cost)


def test_quotas_by_name_number_share_and_table(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((40, 4))
    costs[:, 0] -= 5
    names = np.array(["b"] * 10 + ["a"] * 20 + [None] * 10, dtype=object)
    held = {}
    for how, given in {
        "number": 2,
        "dict": {"a": 2, "b": 2},
        "dict of rows": {"a": [2, 2, 2, 2], "b": (2, 2, 2, 2)},
        "table": [[2, 2, 2, 2], [2, 2, 2, 2]],
    }.items():
        found = size_constrained_assignment(costs, groups=names, group_min=given)
        held[how] = found.labels.tolist()
        for name in "ab":
            assert oracle.sizes_of(found.labels[names == name], 4).tolist()[1:] == [2, 2, 2]
    assert len({tuple(labels) for labels in held.values()}) == 1
    one = size_constrained_assignment(costs, groups=names, group_min={"b": [0, 1, 0, 3]})
    assert oracle.sizes_of(one.labels[names == "b"], 4).tolist() == [6, 1, 0, 3]
    assert oracle.sizes_of(one.labels[names == "a"], 4).tolist() == [20, 0, 0, 0]
    rows = size_constrained_assignment(costs, groups=names, group_min=[[0, 4, 0, 0], [0, 0, 3, 0]])
    assert oracle.sizes_of(rows.labels[names == "a"], 4).tolist() == [16, 4, 0, 0]
    assert oracle.sizes_of(rows.labels[names == "b"], 4).tolist() == [7, 0, 3, 0]
    equal = size_constrained_assignment(costs, groups=names, group_min=1.0, group_max=1.0)
    assert oracle.sizes_of(equal.labels[names == "a"], 4).tolist() == [5, 5, 5, 5]
    assert sorted(oracle.sizes_of(equal.labels[names == "b"], 4).tolist()) == [2, 2, 3, 3]
    half = size_constrained_assignment(costs, groups=names, group_min={"a": 0.5})
    assert oracle.sizes_of(half.labels[names == "a"], 4).tolist()[1:] == [2, 2, 2]
    capped = size_constrained_assignment(costs, groups=names, group_max={"a": 5})
    assert oracle.sizes_of(capped.labels[names == "a"], 4).tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize(
    "groups",
    [
        [1, 1, -1, 7, 7, -1],
        [1.0, 1.0, math.nan, 7.0, 7.0, math.nan],
        ["x", "x", None, "y", "y", None],
        [("t", 1), ("t", 1), None, ("t", 2), ("t", 2), None],
        [True, True, None, False, False, None],
    ],
)
def test_any_names_of_groups(groups):
    costs = np.array([[0.0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6]])
    for given in (groups, np.array([*groups, None], dtype=object)[:-1]):
        found = size_constrained_assignment(costs, groups=given, group_min=1)
        assert found.labels.tolist() == [1, 0, 0, 1, 0, 0]
        assert np.asarray(found.group_prices).shape == (2, 2)


def test_pandas_and_strings_as_groups():
    pd = pytest.importorskip("pandas")
    costs = np.array([[0.0, 1], [0, 2], [0, 3], [0, 4]])
    for given in (
        pd.Series(["x", "x", None, "y"]),
        pd.Series(["x", "x", None, "y"], dtype="category"),
        pd.Series(["x", "x", None, "y"], index=[9, 8, 7, 6]),
    ):
        found = size_constrained_assignment(costs, groups=given, group_min={"x": 1})
        assert found.labels.tolist() == [1, 0, 0, 0]
    text = np.array(["x", "x", "z", "y"])
    assert size_constrained_assignment(costs, groups=text, group_min={"x": 1}).labels.tolist() == [1, 0, 0, 0]


# ---- bad input ----------------------------------------------------------------------------------------

COSTS = np.arange(12.0).reshape(6, 2)
NAMED = ["a", "a", "a", "b", "b", None]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"group_min": {"c": 1}}, ["c"]), ({"group_max": {"a": 1, "zz": 1}}, ["zz"]),
        ({"group_min": {"a": -1}}, ["a", "-1"]), ({"group_min": {"a": math.nan}}, ["a", "nan"]),
        ({"group_min": {"a": 2.5}}, ["2.5"]), ({"group_min": {"a": [1, 2, 3]}}, ["a", "3", "2"]),
        ({"group_min": [[1, 1]]}, ["group_min", "1", "2"]), ({"group_min": {"a": "many"}}, ["many"]),
        ({"group_min": True}, ["True"]),
    ],
)  # fmt: skip
def test_malformed_quotas_are_named(bad, words):
    with pytest.raises((ValueError, TypeError)) as error:
        size_constrained_assignment(COSTS, groups=NAMED, **bad)
    assert not isinstance(error.value, InfeasibleConstraintsError)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"group_min": {"b": 2}}, ["b", "4", "2"]),  # needs 4, has 2
        ({"group_max": {"a": 1}}, ["a", "3", "2"]),  # room for 2, has 3
        ({"group_min": {"a": [2, 0]}, "group_max": {"a": [1, 3]}}, ["a", "cluster 0", "2", "1"]),
        ({"group_min": {"a": [2, 0], "b": [1, 0]}, "size_max": [2, 6]}, ["cluster 0", "3", "2"]),
        ({"group_max": {"a": [0, 9], "b": [0, 9]}, "size_min": [2, 0]}, ["cluster 0", "1", "2"]),
        ({"group_min": {"a": [0, 2]}, "size_min": [5, 0]}, ["7", "6"]),
    ],
)
def test_impossible_quotas_say_why(bad, words):
    with pytest.raises(InfeasibleConstraintsError) as error:
        size_constrained_assignment(COSTS, groups=NAMED, **bad)
    for word in words:
        assert word in str(error.value), str(error.value)


def test_an_impossible_mixture_of_quotas_raises():
    """No single sum is wrong: only the flow through all of them shows it."""
    groups = ["a"] * 4 + ["b"] * 4
    with pytest.raises(InfeasibleConstraintsError):
        size_constrained_assignment(
            np.zeros((8, 3)),
            [0, 0, 5],
            groups=groups,
            group_min={"a": [2, 0, 0]},
            group_max={"b": [4, 4, 2]},
        )


def test_bounds_without_groups_and_groups_of_the_wrong_length():
    with pytest.raises(ValueError, match="groups"):
        size_constrained_assignment(COSTS, group_min=1)
    with pytest.raises(ValueError, match=r"5.*6|6.*5"):
        size_constrained_assignment(COSTS, groups=NAMED[:5], group_min=1)
