"""What `size_constrained_assignment` refuses, before any work, and what it says: the cluster, item or sum."""

import math

import numpy as np
import pytest

from coterie.assign import size_constrained_assignment
from coterie.assign._sizes import read_bounds
from coterie.exceptions import InfeasibleConstraintsError, ParameterError

COSTS = np.arange(40.0).reshape(10, 4)


def message(kind=ValueError, costs=COSTS, **arguments) -> str:
    with pytest.raises(kind) as error:
        size_constrained_assignment(costs, **arguments)
    return str(error.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size_min": 3}, ["12", "10"]),
        ({"size_max": 2}, ["8", "10"]),
        ({"size_min": [1, 2, 3, 5]}, ["11", "10"]),
        ({"size_max": [1, 2, 3, 3]}, ["9", "10"]),
        ({"size_min": [0, 0, 4, 0], "size_max": [9, 9, 3, 9]}, ["cluster 2", "4", "3"]),
        ({"size_min": 3, "size_max": 2}, ["3", "2"]),
        ({"size_min": [11, 0, 0, 0]}, ["11", "10"]),
        ({"size_min": 1.0, "size_max": 2}, ["8", "10"]),
    ],
)
def test_impossible_sums_are_infeasible_and_say_by_how_much(arguments, words):
    said = message(InfeasibleConstraintsError, **arguments)
    for word in words:
        assert word in said, said


def test_more_clusters_than_items_that_must_hold_one():
    said = message(InfeasibleConstraintsError, costs=np.zeros((3, 5)), size_min=1)
    assert "5" in said
    assert "3" in said
    assert size_constrained_assignment(np.zeros((3, 5)), 0, 1).sizes.sum() == 3


@pytest.mark.parametrize("name", ["size_min", "size_max"])
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (-1, ["-1"]), (-0.5, ["-0.5"]), ([1, 2, -3, 4], ["cluster 2", "-3"]), (math.nan, ["nan"]),
        ([1, math.nan, 2, 3], ["nan", "1"]), (20.5, ["20.5"]), ("450%", ["450%"]),
        ([3, 4.5, 3, 3], ["cluster 1", "4.5"]), ([1, 2, 3], ["3", "4"]), ([1, 2, 3, 4, 5], ["5", "4"]),
        ([[1, 2, 3, 4]], ["4"]), ([], ["0", "4"]), (True, ["True"]), (False, ["False"]),
        ([True, False, True, True], ["rue"]), ("two", ["two"]), (1 + 2j, ["2j"]), ({"a": 1}, ["a"]),
        (np.array(["x"] * 4), ["x"]),
    ],
)  # fmt: skip
def test_malformed_bounds_are_named(name, bad, words):
    with pytest.raises((ValueError, TypeError)) as error:
        size_constrained_assignment(COSTS, **{name: bad})
    assert not isinstance(error.value, InfeasibleConstraintsError)
    said = str(error.value)
    assert name in said, said
    for word in words:
        assert word in said, said


def test_infinite_bounds():
    """No maximum may be written as inf; a minimum of inf is nonsense."""
    plain = size_constrained_assignment(COSTS).labels
    assert (size_constrained_assignment(COSTS, None, math.inf).labels == plain).all()
    found = size_constrained_assignment(COSTS, None, [3, math.inf, math.inf, math.inf])
    assert found.sizes[0] == 3
    assert "inf" in message(size_min=math.inf)
    assert "-inf" in message(size_max=-math.inf)


def test_none_among_bounds_is_no_bound():
    found = size_constrained_assignment(COSTS, [None, 2, None, 3], [4, None, None, None])
    assert found.sizes[0] <= 4
    assert found.sizes[1] >= 2
    assert found.sizes[3] >= 3


def test_huge_bounds_are_no_bounds():
    plain = size_constrained_assignment(COSTS).labels
    for huge in (10**6, 2**31, 2**63, 10**30):
        assert (size_constrained_assignment(COSTS, None, huge).labels == plain).all()
        with pytest.raises(InfeasibleConstraintsError):
            size_constrained_assignment(COSTS, huge)


@pytest.mark.parametrize("loads", [None, np.arange(1.0, 13.0)])
def test_a_float_is_a_share_and_an_int_a_number(loads):
    """Each by itself, in a list too; 1 is one item, and 1.0 the mean."""
    mean = (12 if loads is None else loads.sum()) / 4

    def read(size_min=None, size_max=None):
        found = read_bounds(size_min, size_max, 12, 4, size_weight=loads, check=False)
        return found.low.tolist(), found.high.tolist()

    up = np.ceil if loads is None else float
    for share in (1.1, "110%", " 110.0 % "):
        assert read(None, share)[1] == pytest.approx([up(1.1 * mean)] * 4)
    assert read(1.0, "100%") == ([mean] * 4, [mean] * 4)
    half = 1 if loads is None else mean / 2  # 1.5 items, rounded down
    assert read([1, 1.0, "50%", None])[0] == pytest.approx([1, mean, half, 0])
    for over in (4.5, "450%", 350.0):
        number = 450 if over == "450%" else round(over)
        words = f"Write {number} for a {'size' if loads is None else 'load'} of {number}"
        with pytest.raises(ParameterError, match=words):
            read(None, over)
    assert read(None, 4.0) == read(None, math.inf) == read()  # all there is: no bound


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_costs_that_are_not_finite_are_placed(bad):
    costs = COSTS.copy()
    costs[7, 2] = bad
    said = message(costs=costs, size_min=1)
    assert "7" in said
    assert "2" in said
    costs = costs.astype(np.float32)
    assert "7" in message(costs=costs)


@pytest.mark.parametrize(
    "costs",
    [
        np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2)), [["a", "b"]],
        [[1.0, 2.0], [3.0]], None, np.zeros((2, 2), dtype=complex),
    ],
)  # fmt: skip
def test_costs_that_are_not_a_table_are_refused(costs):
    with pytest.raises((ValueError, TypeError)):
        size_constrained_assignment(costs)


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ([1.0, 2.0], ["2", "4"]),
        ([1.0, 2.0, math.nan, 4.0], ["finite"]),
        ([1.0, 2.0, math.inf, 4.0], ["finite"]),
        (["a"] * 4, ["prices"]),
    ],
)
def test_malformed_prices_are_named(prices, words):
    with pytest.raises((ValueError, TypeError)) as error:
        size_constrained_assignment(COSTS, 2, prices=prices)
    for word in ["prices", *words]:
        assert word in str(error.value).lower()


@pytest.mark.parametrize(
    "arguments",
    [{"solver": "magic"}, {"solver": None}, {"on_shortfall": "ignore"}, {"budget": -1}, {"budget": 2.5}],
)
def test_unknown_options_are_named(arguments):
    with pytest.raises((ValueError, TypeError)) as error:
        size_constrained_assignment(COSTS, 2, **arguments)
    (name, value), *_ = arguments.items()
    assert name in str(error.value)
    assert str(value) in str(error.value)


def test_bounds_are_read_before_costs_are_worked_on():
    """Nothing is solved first: a huge table with impossible bounds fails at once."""
    costs = np.zeros((200_000, 4), dtype=np.float32)
    assert "800000" in message(InfeasibleConstraintsError, costs=costs, size_min=200_000).replace(
        ",", ""
    ).replace("_", "")


def test_arguments_are_not_changed():
    lower, upper = np.array([1, 2, 3, 1]), [4, 4, 4, 4]
    groups = np.array([0, 1] * 5)
    table = np.ones((2, 4), dtype=int)
    size_constrained_assignment(COSTS, lower, upper, groups=groups, group_min=table)
    assert lower.tolist() == [1, 2, 3, 1]
    assert upper == [4, 4, 4, 4]
    assert groups.tolist() == [0, 1] * 5
    assert (table == 1).all()
