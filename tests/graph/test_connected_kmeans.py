"""ConnectedKMeans without least loads: clusters hang together, and what is known holds after every move."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from coterie import ConnectedKMeans, ConstrainedLinkage, Constraints, InfeasibleConstraintsError
from coterie.adjacency import pieces
from coterie.distortion import Cosine, SquaredEuclidean
from coterie.exceptions import DeadEndError, ParameterError, UnsupportedConstraintError
from coterie.graph._connected.border_moves import BorderMoves, vetoes_of
from coterie.graph._connected.leaving import Adjacency, SearchRoom, stays_connected
from coterie.graph._connected.regions import Regions
from coterie.graph._connected.units import clusters_of, refresh, sums_of_units, total_worth
from tests.graph.connected_problems import random_problem
from tests.marks import few_of
from tests.oracles import connected, regions

STARTS = ["ward", "k-means", "degree"]


def lattice(side, seed, d=2):
    """Rows and edges of a square map whose values change slowly along it."""
    rng = np.random.default_rng(seed)
    place = np.arange(side * side).reshape(side, side)
    edges = [
        np.column_stack([a.ravel(), b.ravel()])
        for a, b in ((place[:, :-1], place[:, 1:]), (place[:-1], place[1:]))
    ]
    hills = [np.sin(np.add.outer(np.arange(side) / 3, np.arange(side) / (2 + j))).ravel() for j in range(d)]
    return np.column_stack(hills) + 0.3 * rng.normal(size=(side * side, d)), np.concatenate(edges)


# Whatever the graph


@few_of(40, 1000)
def test_random_graphs_have_whole_clusters_from_every_start(numbers):
    for seed in numbers:
        k = 2 + seed % 3
        X, edges, near, graph = random_problem(seed, n=11, k=k)
        for words in (
            {"init": "ward"},
            {"init": "ward", "refine": False},
            {"init": "k-means"},
            {"init": "degree", "growth": "rounds"},
            {"init": X[:k], "metric": "cosine"},
        ):
            model = ConnectedKMeans(k, connectivity=edges, random_state=seed, **words).fit(X)
            parts = [np.flatnonzero(model.labels_ == h).tolist() for h in range(k)]
            assert all(parts)
            assert all(connected.connected(part, near) for part in parts)
            assert pieces(graph, model.labels_)[0] == k == model.n_clusters_
            assert (np.diff(model.history_) <= 1e-9 * model.history_[0]).all()
            assert model.history_[-1] == pytest.approx(model.objective_, rel=1e-9, abs=1e-9)


@few_of(30, 300)
def test_constraints_and_the_cap_hold_after_every_move(numbers):
    found = 0
    for seed in numbers:
        X, edges, near, _ = random_problem(seed, n=14, k=4)
        rng = np.random.default_rng(seed)
        truth = rng.integers(3, size=14)
        linked = [edges[i].tolist() for i in rng.choice(len(edges), size=2)]
        apart = [pair for pair in rng.choice(14, size=(4, 2)).tolist() if pair[0] != pair[1]]
        known = Constraints(linked, apart, n_items=14)
        known = known | Constraints.from_labels(np.where(rng.uniform(size=14) < 0.2, truth, -1))
        known = known | Constraints.distinct(np.where(rng.uniform(size=14) < 0.3, 1, -1))
        try:
            model = ConnectedKMeans(6, connectivity=edges, size_max=5, random_state=0).fit(
                X, constraints=known
            )
        except (ValueError, DeadEndError):  # infeasible, or links that do not touch
            continue
        found += 1
        assert not model.violations_
        assert model.sizes_.max() <= 5
        assert all(connected.connected(np.flatnonzero(model.labels_ == h).tolist(), near) for h in range(6))
    assert found > len(numbers) // 20


def test_the_tree_is_the_start_and_refining_it_only_gains():
    for seed in range(3):
        X, edges = lattice(12, seed)
        tree = ConstrainedLinkage(9, connectivity=edges).fit(X)
        plain = ConnectedKMeans(9, connectivity=edges, refine=False).fit(X)
        assert np.array_equal(plain.labels_, tree.labels_)
        assert plain.objective_ == pytest.approx(regions.squares(X, tree.labels_))
        assert plain.n_iter_ == 0
        assert plain.converged_
        better = ConnectedKMeans(9, connectivity=edges, random_state=0).fit(X)
        assert better.objective_ < 0.97 * plain.objective_
        assert better.objective_ == pytest.approx(regions.squares(X, better.labels_))
        means = [X[better.labels_ == h].mean(axis=0) for h in range(9)]
        assert np.allclose(better.cluster_centers_, means)


@few_of(12, 60)
def test_near_the_best_of_all_labellings(numbers):
    excess = []
    for seed in numbers:
        X, edges, near, _ = random_problem(seed, n=8, k=3)
        model = ConnectedKMeans(3, connectivity=edges, random_state=0).fit(X)
        best = regions.best_squares(X, near, np.ones(8), [1] * 3, [8] * 3)
        assert model.objective_ >= best * (1 - 1e-9)
        excess.append(model.objective_ / best - 1)
    assert np.mean(excess) < 0.15


def test_no_item_would_gain_by_moving_to_a_neighbour():
    X, edges = lattice(10, 4)
    for metric in ("sqeuclidean", "cosine"):
        model = ConnectedKMeans(6, connectivity=edges, metric=metric, random_state=0).fit(X)
        distortion = (Cosine if metric == "cosine" else SquaredEuclidean)(X)
        assert model.objective_ == pytest.approx(distortion.clustering_cost(model.labels_, 6))
        near = connected.neighbours(100, edges.tolist())
        for i in range(100):
            own = np.flatnonzero(model.labels_ == model.labels_[i]).tolist()
            rest = [v for v in own if v != i]
            if not rest or not connected.connected(rest, near):
                continue
            for h in {model.labels_[j] for j in near[i]} - {model.labels_[i]}:
                other = model.labels_.copy()
                other[i] = h
                assert distortion.clustering_cost(other, 6) >= model.objective_ * (1 - 1e-9)


# Without a graph


def test_without_a_graph_all_are_neighbours():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 6 * rng.integers(3, size=60)[:, None]
    for init in (*STARTS, X[[0, 20, 40]]):
        model = ConnectedKMeans(3, init=init, random_state=0).fit(X)
        assert np.array_equal(model.predict(X), model.labels_)
        assert model.n_islands_ == 1
    whole = ConnectedKMeans(3, connectivity=~np.eye(60, dtype=bool), random_state=0).fit(X)
    assert whole.objective_ == pytest.approx(ConnectedKMeans(3, random_state=0).fit(X).objective_)


def test_one_cluster_and_a_cluster_for_each():
    X, edges = lattice(4, 0)
    assert ConnectedKMeans(1, connectivity=edges).fit(X).labels_.tolist() == [0] * 16
    alone = ConnectedKMeans(16, connectivity=edges).fit(X)
    assert alone.objective_ == pytest.approx(0.0, abs=1e-12)
    same = ConnectedKMeans(3, connectivity=edges).fit(np.ones((16, 2)))
    assert sorted(set(same.labels_.tolist())) == [0, 1, 2]


def test_sparse_rows_are_dense_rows():
    rng = np.random.default_rng(0)
    X, edges = np.maximum(rng.normal(size=(64, 5)), 0), lattice(8, 0)[1]
    X[:, :2] += rng.uniform(0.1, 1, size=(64, 2))  # no two rows of one direction
    for metric in ("sqeuclidean", "cosine"):
        for init in ("k-means", "degree", X[:4]):
            words = {"connectivity": edges, "init": init, "metric": metric, "random_state": 0}
            dense = ConnectedKMeans(4, **words).fit(X)
            for container in (sparse.csr_array, sparse.csc_matrix):
                model = ConnectedKMeans(4, **words).fit(container(X))
                assert np.array_equal(model.labels_, dense.labels_)
                assert np.allclose(model.cluster_centers_, dense.cluster_centers_)
    with pytest.raises(ValueError, match=r"takes dense rows, and X is sparse: take init=.k-means."):
        ConnectedKMeans(4, connectivity=edges).fit(sparse.csr_array(X))


def test_rows_without_any_entry_are_dense_zeros():
    edges = [(i, i + 1) for i in range(11)]
    for metric in ("sqeuclidean", "cosine"):
        words = {"connectivity": edges, "init": "degree", "metric": metric, "random_state": 0, "size_min": 3}
        model, dense = (
            ConnectedKMeans(3, **words).fit(X) for X in (sparse.csr_array((12, 2)), np.zeros((12, 2)))
        )
        assert np.array_equal(model.labels_, dense.labels_)


def test_the_start_does_not_warn_of_empty_clusters_of_its_own():
    X, edges = np.array([[0.0], [0.0], [1.0], [1.0]]), [(0, 1), (1, 2), (2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConnectedKMeans(4, connectivity=edges, init="k-means", random_state=0).fit(X)
    assert sorted(model.labels_.tolist()) == [0, 1, 2, 3]
    assert (np.diff(model.history_) <= 0).all()


def test_given_centres_keep_their_numbers():
    X, edges = lattice(8, 1)
    one = ConnectedKMeans(3, connectivity=edges, init=X[[0, 30, 60]]).fit(X)
    other = ConnectedKMeans(3, connectivity=edges, init=X[[60, 0, 30]]).fit(X)
    assert np.array_equal(np.array([1, 2, 0])[one.labels_], other.labels_)


# What cannot be


def refused(error, words, k=2, X=None, constraints=None, edges=((0, 1), (1, 2), (3, 4)), **parameters):
    X = np.arange(5.0)[:, None] if X is None else X
    with pytest.raises(error) as caught:
        ConnectedKMeans(k, connectivity=list(edges), **parameters).fit(X, constraints=constraints)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_fewer_clusters_than_islands():
    refused(ValueError, ["2 islands", "n_clusters=1"], k=1)


def test_links_that_do_not_touch():
    far = Constraints(must_link=[(0, 2)], n_items=5)
    refused(ValueError, ["0 and 2", "do not touch", "goes through 1"], constraints=far)
    torn = Constraints(must_link=[(0, 4)], n_items=5)
    refused(InfeasibleConstraintsError, ["0 and 4", "no way"], constraints=torn)


def test_other_starts_refuse_constraints_by_name():
    known = Constraints(must_link=[(0, 1)], n_items=5)
    refused(UnsupportedConstraintError, ["must-link", 'init="ward"'], constraints=known, init="degree")


def test_dead_ends_are_told():
    X, edges = np.arange(3.0)[:, None], [(0, 1), (1, 2)]
    known = Constraints(cannot_link=[(0, 1), (1, 2)], n_items=3)
    refused(DeadEndError, ["2 connected clusters", "constraint"], X=X, edges=edges, constraints=known)


def test_shapes_of_centres_and_lists_of_caps():
    refused(ParameterError, ["init"], init=[1.0, 2.0])
    known = Constraints(cannot_link=[(0, 1)], n_items=5)
    refused(ParameterError, ["size_max", "one number"], k=3, size_max=[2, 2, 3], constraints=known)


def test_odd_graphs_have_clear_answers():
    X = np.arange(4.0)[:, None]
    ring = sparse.csr_array(np.roll(np.eye(4), 1, axis=1))  # one way only: either way counts
    both = ConnectedKMeans(2, connectivity=ring + ring.T).fit(X)
    assert np.array_equal(ConnectedKMeans(2, connectivity=ring).fit(X).labels_, both.labels_)
    twice = [(0, 1), (1, 0), (1, 2), (2, 3), (2, 3), (2, 2)]
    assert ConnectedKMeans(2, connectivity=twice).fit(X).labels_.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="NaN"):
        ConnectedKMeans(2, connectivity=twice).fit(np.array([[0.0], [np.nan], [1.0], [2.0]]))


# Kernels


@pytest.mark.kernels
def test_who_may_leave_a_cluster():
    rng = np.random.default_rng(0)
    for seed in range(60):
        _, _, near, graph = random_problem(seed, n=10)
        adjacency = Adjacency.of(graph)
        room, labels = SearchRoom.of(adjacency), rng.integers(2, size=10).astype(np.int32)
        for item in range(10):
            own = np.flatnonzero(labels == labels[item]).tolist()
            rest = [v for v in own if v != item]
            if rest and connected.connected(own, near):
                assert stays_connected(item, labels, adjacency, room) == connected.connected(rest, near)


@pytest.mark.kernels
@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_sums_follow_the_moves(cosine, container):
    X, _ = lattice(6, 0, d=3)
    distortion = (Cosine if cosine else SquaredEuclidean)(container(X))
    unit = np.minimum(np.arange(36), 33)  # the last three are one
    units, constant, d = sums_of_units(distortion, unit, np.arange(36.0))
    labels = np.arange(34) % 4
    low, high = np.full(4, 100.0), np.full(4, 200.0)
    clusters = clusters_of(units, labels, d, low, high)
    moves = BorderMoves(None, units, cosine)
    before = constant - total_worth(clusters, cosine)
    assert before == pytest.approx(distortion.clustering_cost(labels[unit].astype(np.int32), 4))
    assert moves.sweep(clusters, vetoes_of(None, unit, clusters.labels, 4)) > 0
    held = [array.copy() for array in clusters[1:6]]
    refresh(units, clusters)
    for mine, anew in zip(held, clusters[1:6], strict=True):
        assert np.allclose(mine, anew)
    after = constant - total_worth(clusters, cosine)
    assert after == pytest.approx(distortion.clustering_cost(clusters.labels[unit], 4))
    assert clusters.load.sum() == np.arange(36.0).sum()


def test_large_clusters_are_left_to_moves_on_their_borders(monkeypatch):
    """Re-cuts span whole clusters; of 1,800 items each, moves on the borders do the work."""
    seen, inner = [], Regions._recut_pairs

    def counted(self, tries, looks, *rest):
        left = inner(self, tries, looks, *rest)
        seen.append(looks - left)
        return left

    monkeypatch.setattr(Regions, "_recut_pairs", counted)
    X, edges = lattice(60, 0)
    model = ConnectedKMeans(2, connectivity=edges, random_state=0).fit(X)
    assert max(seen) < 8 * 3_600  # units; ten for each cluster would be 20 times as many as there are
    assert model.converged_
    assert model.history_[-1] == pytest.approx(regions.squares(X, model.labels_))
    assert (np.diff(model.history_) <= 1e-9 * model.history_[0]).all()
    seen.clear()
    ConnectedKMeans(2, connectivity=edges, size_min=0.9, random_state=0, n_init=1).fit(X)
    assert max(seen) == 20 * 3_600  # bounds stop most moves


def test_progress_and_an_early_end_leave_a_whole_answer():
    X, edges = lattice(10, 0)
    short = ConnectedKMeans(5, connectivity=edges, max_iter=1, random_state=0).fit(X)
    assert short.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long = ConnectedKMeans(5, connectivity=edges, random_state=0).fit(X)
    assert long.converged_
    assert long.objective_ <= short.objective_
