"""delta and epsilon constraints against brute force on a few points."""

import itertools
import math
import random

import numpy as np
import pytest

from coterie.constraints import (
    Constraints,
    _distance_rules,
    delta_constraints,
    epsilon_fewest_clusters,
    epsilon_repair,
    epsilon_violations,
)
from tests.oracles import constraints as oracle


def random_points(rng: random.Random, n: int, grid: bool) -> list[list[float]]:
    d = rng.choice([1, 2, 3])
    if grid:  # ties and duplicates
        return [[float(rng.randint(0, 4)) for _ in range(d)] for _ in range(n)]
    return [[rng.gauss(0, 1) for _ in range(d)] for _ in range(n)]


def distances(points) -> list[float]:
    return sorted({oracle.distance(a, b) for a, b in itertools.combinations(points, 2)} - {0.0})


@pytest.mark.parametrize("grid", [True, False])
def test_delta_joins_what_is_closer(grid):
    rng = random.Random(1)
    for _ in range(150):
        n = rng.randint(1, 12)
        points = random_points(rng, n, grid)
        # a delta that is met exactly does not join: "at least delta apart" holds
        delta = rng.choice([*distances(points), rng.uniform(0.1, 2)])
        close = [
            p for p in itertools.combinations(range(n), 2) if oracle.distance(*(points[i] for i in p)) < delta
        ]
        c = delta_constraints(points, delta)
        assert c.components.tolist() == oracle.components(n, close)
        assert c.n_items == n
        assert c.n_pairs == n - len(set(c.components.tolist()))  # a chain for each part, not all pairs
        assert c.cannot_table.n == 0
        assert set(c.must_table.source_names()) <= {"delta"}


def test_delta_makes_clusters_that_far_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    c = delta_constraints(X, 0.15, source="separation")
    part = c.components
    gap = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    assert gap[part[:, None] != part[None]].min() >= 0.15
    assert set(c.must_table.source_names()) == {"separation"}


@pytest.mark.parametrize("grid", [True, False])
def test_possible_numbers_of_clusters_equal_enumeration(grid):
    """All partitions of up to 7 points: every number from the fewest up to n, and no other, is possible."""
    rng = random.Random(2)
    for _ in range(40):
        n = rng.randint(1, 7)
        points = random_points(rng, n, grid)
        epsilon = rng.choice([*distances(points), rng.uniform(0.2, 1.5)])
        gaps = [[oracle.distance(p, q) for q in points] for p in points]
        possible = set()
        for labels in oracle.partitions(n):
            mates = [{j for j in range(n) if labels[j] == labels[i]} - {i} for i in range(n)]
            if all(not mates[i] or any(gaps[i][j] <= epsilon for j in mates[i]) for i in range(n)):
                possible.add(max(labels) + 1)
        assert possible == set(range(epsilon_fewest_clusters(points, epsilon), n + 1))


@pytest.mark.parametrize("grid", [True, False])
def test_epsilon_violations_and_repair(grid):
    rng = random.Random(3)
    for _ in range(300):
        n = rng.randint(1, 10)
        points = random_points(rng, n, grid)
        epsilon = rng.choice([*distances(points), rng.uniform(0.2, 1.5)])
        labels = [rng.randint(0, 3) for _ in range(n)]
        unmet = oracle.epsilon_unmet(points, labels, epsilon)
        assert epsilon_violations(points, labels, epsilon).tolist() == unmet
        repaired = epsilon_repair(points, labels, epsilon).tolist()
        lonely = {
            i
            for i in range(n)
            if all(oracle.distance(points[i], points[j]) > epsilon for j in range(n) if j != i)
        }
        assert set(oracle.epsilon_unmet(points, repaired, epsilon)) <= lonely
        # only violating points move, and only to the cluster of a neighbour
        for i in range(n):
            if repaired[i] != labels[i]:
                assert i in unmet
                mates = [j for j in range(n) if j != i and repaired[j] == repaired[i]]
                assert any(oracle.distance(points[i], points[j]) <= epsilon for j in mates)


def test_items_in_no_cluster_are_left_alone():
    points, labels = [[0.0], [0.1], [5.0], [5.1], [9.0]], [-1, -1, 0, 0, 0]
    assert epsilon_violations(points, labels, 0.5).tolist() == [4]
    assert epsilon_repair(points, labels, 0.5).tolist() == labels
    # a violating point is not thrown out of all clusters because its nearest neighbour is in none
    repaired = epsilon_repair([[0.0], [0.1], [0.3], [9.0]], [0, -1, 1, 0], 0.5)
    assert repaired.tolist() == [1, -1, 1, 0]


def test_a_distance_of_exactly_epsilon_is_within():
    for d in range(1, 30):
        points = [[0.0] * d, [1.0] * d]
        epsilon = math.sqrt(d)
        assert oracle.epsilon_unmet(points, [0, 0], epsilon) == []
        assert epsilon_violations(points, [0, 0], epsilon).tolist() == []
        assert epsilon_fewest_clusters(points, epsilon) == 1
        assert delta_constraints(points, epsilon).n_pairs == 0
        # 0 sits with a far point: repaired to the cluster of 1, exactly epsilon away
        assert epsilon_repair([*points, [99.0] * d], [0, 1, 0], epsilon).tolist() == [1, 1, 0]


@pytest.mark.parametrize("block", [1, 7, 100])
def test_many_close_points_are_handled_in_blocks(monkeypatch, block):
    """More close pairs than are held at a time change nothing."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        X, labels = rng.uniform(size=(60, 2)), rng.integers(0, 4, size=60)
        for reach in (0.05, 0.15, 10.0):
            with monkeypatch.context() as patch:
                patch.setattr(_distance_rules, "_MAX_PAIRS", block)
                found = (
                    delta_constraints(X, reach),
                    epsilon_fewest_clusters(X, reach),
                    epsilon_violations(X, labels, reach),
                )
            assert found[0] == delta_constraints(X, reach)
            assert found[1] == epsilon_fewest_clusters(X, reach)
            assert found[2].tolist() == oracle.epsilon_unmet(X.tolist(), labels.tolist(), reach)


def test_few_points():
    assert delta_constraints(np.empty((0, 2)), 1.0).n_items == 0
    assert delta_constraints([[1.0, 2.0]], 1.0).n_pairs == 0
    assert epsilon_fewest_clusters([[1.0]], 1.0) == 1
    assert epsilon_fewest_clusters(np.empty((0, 2)), 1.0) == 0
    assert epsilon_violations([[1.0]], [0], 1.0).tolist() == []
    assert epsilon_repair([[1.0]], [0], 1.0).tolist() == [0]
    assert isinstance(delta_constraints([[0.0], [0.1]], 1), Constraints)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
def test_bad_distances(bad):
    X = [[0.0], [1.0]]
    with pytest.raises(ValueError, match=rf"delta.*{bad}"):
        delta_constraints(X, bad)
    for call in (lambda: epsilon_fewest_clusters(X, bad), lambda: epsilon_violations(X, [0, 0], bad)):
        with pytest.raises(ValueError, match=rf"epsilon.*{bad}"):
            call()
    with pytest.raises(ValueError, match=rf"epsilon.*{bad}"):
        epsilon_repair(X, [0, 0], bad)


def test_bad_points():
    with pytest.raises(ValueError, match=r"row 1.*NaN"):
        delta_constraints([[0.0], [float("nan")]], 1.0)
    with pytest.raises(ValueError, match="two dimensions"):
        epsilon_fewest_clusters([0.0, 1.0], 1.0)
    with pytest.raises(ValueError, match=r"3.*2 items|2 items"):
        epsilon_violations([[0.0], [1.0]], [0, 0, 0], 1.0)
