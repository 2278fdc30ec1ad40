"""Growth along a graph: against the obvious loops, and what it promises of thresholds."""

import numpy as np
import pytest
from scipy import sparse

from coterie.adjacency import pieces, read_graph
from coterie.graph._connected.growth import Growth
from coterie.graph._connected.netscan import KMeansCriterion, degree_seeds, netscan
from coterie.graph._connected.space import ItemSpace
from tests.graph.connected_problems import random_problem
from tests.marks import few_of
from tests.oracles import connected as oracle

HOW = [{}, {"rounds": True, "lookahead": False}, {"rounds": True}, {"rounds": True, "radius_step": 0.3}]


@few_of(12, 300)
def test_growth_against_the_obvious_loops(numbers):
    for seed in numbers:
        X, _, near, graph = random_problem(seed, n=20)
        seeds = degree_seeds(graph, 20, 4, np.random.RandomState(seed))
        centres = X[seeds] + 0.3 * (seed % 2)  # a mean, or the seed itself
        far = ItemSpace(X, "euclidean").to_centres(slice(None), centres)
        labels, taken_at = Growth(graph, X, "euclidean")(seeds, centres)
        expected = oracle.grow(far.tolist(), near, seeds.tolist())
        assert labels.tolist() == expected[0]
        assert taken_at == pytest.approx(expected[1])
        for lookahead in (False, True):
            growth = Growth(graph, X, "euclidean", rounds=True, radius_step=0.25, lookahead=lookahead)
            labels, taken_at = growth(seeds, centres)
            apart = np.array(oracle.distances(centres))[~np.eye(4, dtype=bool)].min() / 2
            expected = oracle.grow_in_rounds(far.tolist(), near, seeds.tolist(), apart, 0.25, lookahead)
            assert labels.tolist() == expected[0]
            assert taken_at == pytest.approx(expected[1])


@few_of(5, 200)
def test_rounds_of_tiny_steps_are_continuous_growth(numbers):
    for seed in numbers:
        X, _, _, graph = random_problem(seed, n=60, k=4)
        seeds = degree_seeds(graph, 60, 4, np.random.RandomState(seed))
        smooth = Growth(graph, X, "euclidean")(seeds, X[seeds])[0]
        for step in (1e-9, 5e-324, 0.0):
            steps = Growth(graph, X, "euclidean", rounds=True, radius_step=step, lookahead=False)
            assert steps(seeds, X[seeds])[0].tolist() == smooth.tolist()


@few_of(4, 60)
def test_what_was_taken_before_a_threshold_is_connected(numbers):
    for seed in numbers:
        X, _, _, graph = random_problem(seed, n=30, k=4)
        seeds = degree_seeds(graph, 30, 4, np.random.RandomState(seed))
        for how in HOW:
            labels, taken_at = Growth(graph, X, "euclidean", **how)(seeds, X[seeds])
            assert labels.min() == 0
            assert taken_at[seeds].tolist() == [0.0] * 4
            for level in np.unique(taken_at):
                kept = taken_at <= level
                assert pieces(graph[kept][:, kept], labels[kept])[0] == 4


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "manhattan"])
def test_every_metric_and_form_of_rows(metric):
    X, _, near, graph = random_problem(1, n=20, d=3)
    seeds = degree_seeds(graph, 20, 4, np.random.RandomState(0))
    space = ItemSpace(X, metric)
    table = space.to_centres(slice(None), space.centres_at(seeds))
    expected = oracle.grow(table.tolist(), near, seeds.tolist())
    for rows, how in (
        (X, metric),
        (X.astype(np.float32), metric),
        (sparse.csr_array(X), "cityblock" if metric == "manhattan" else metric),
        (space.between(None, np.arange(20)), "precomputed"),
    ):
        growth = Growth(graph, rows, how)
        labels, taken_at = growth(seeds, growth.space.centres_at(seeds))
        assert labels.tolist() == expected[0]
        assert taken_at == pytest.approx(expected[1], abs=1e-6)


def test_without_a_graph_everybody_goes_to_the_nearest_centre():
    X = np.random.default_rng(0).normal(size=(50, 2))
    seeds = np.array([3, 7, 9])
    for graph, how in [(read_graph(~np.eye(50, dtype=bool), 50), {}), *((None, how) for how in HOW)]:
        labels, taken_at = Growth(graph, X, "euclidean", **how)(seeds, X[seeds])
        away = np.linalg.norm(X[:, None] - X[seeds], axis=2)
        assert labels.tolist() == away.argmin(axis=1).tolist()
        assert taken_at == pytest.approx(away.min(axis=1))


def test_an_island_without_a_seed_is_left_out():
    graph = random_problem(0)[3] * 0  # nobody has a neighbour
    graph.eliminate_zeros()
    labels, taken_at = Growth(graph, np.zeros((9, 1)), "euclidean")(np.array([4]), np.zeros((1, 1)))
    assert np.flatnonzero(labels == 0).tolist() == np.flatnonzero(taken_at == 0.0).tolist() == [4]


def test_a_look_ahead_saves_who_hangs_on_a_bridge():
    """Items 3 and 4 hang on 2 alone: it is nearer to the first centre, they are nearer to the second."""
    X = np.array([[0.0, 0.0], [5.0, 0.0], [2.4, 3.0], [4.0, 3.0], [4.5, 3.0]])
    edges = [(0, 2), (1, 2), (2, 3), (2, 4)]
    seeds, graph = np.array([0, 1]), read_graph(edges, 5)
    plain, ahead = (
        Growth(graph, X, "euclidean", rounds=True, lookahead=how, radius_step=1.0)(seeds, X[seeds])[0]
        for how in (False, True)
    )
    assert plain.tolist() == [0, 1, 0, 0, 0]
    assert ahead.tolist() == [0, 1, 1, 1, 1]


def test_netscan_is_lloyd_without_a_graph():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 8 * np.eye(3, 2)[np.arange(60) % 3]
    growth = Growth(None, X, "euclidean")
    found = netscan(growth, KMeansCriterion(growth.space), np.array([0, 1, 2]), 50, None)
    assert found.converged
    means = np.array([X[found.labels == j].mean(axis=0) for j in range(3)])
    assert found.update.centres == pytest.approx(means)
    assert found.objective == pytest.approx(((X - means[found.labels]) ** 2).sum())
    assert (np.diff(found.history) <= 0).all()
    assert found.labels.tolist() == np.linalg.norm(X[:, None] - means, axis=2).argmin(axis=1).tolist()
