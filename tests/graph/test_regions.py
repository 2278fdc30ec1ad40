"""Connected clusters within bounds on their load: what is found is legal, and what can be found is."""

import numpy as np
import pytest

from coterie import ConnectedKMeans, Constraints, InfeasibleConstraintsError
from coterie.adjacency import islands, pieces, read_graph
from coterie.assign._sizes import read_bounds
from coterie.distortion import SquaredEuclidean
from coterie.exceptions import (
    ParameterError,
    UndecidedError,
    UnsupportedConstraintError,
    ViolatedConstraintsWarning,
)
from coterie.graph._connected.leaving import Adjacency
from coterie.graph._connected.recut import LOWER, TreeRoom, cut_tree, recut_pairs, span
from coterie.graph._connected.sharing import share_out
from coterie.graph._connected.units import clusters_of, sums_of_units, total_worth
from tests.graph.connected_problems import random_problem
from tests.graph.test_connected_kmeans import lattice
from tests.marks import few_of
from tests.oracles import connected, regions

SPREADS = [(0.5, 1.6), (0.8, 1.3), (0.9, 1.2), (0.6, 1.4)]


def tiny(seed, k):
    """A tiny graph, perhaps with islands and joined items, and bounds that often can be met."""
    X, edges, near, _ = random_problem(seed, n=7, k=k)
    rng = np.random.default_rng(10**6 + seed)
    load = rng.integers(1, 6, size=7).astype(float)
    low, high = (np.full(k, share) for share in SPREADS[seed % 4])
    if seed % 5 == 0:
        low, high = low * np.linspace(0.6, 1.0, k), high * np.linspace(0.8, 1.2, k)
    high = np.minimum(high, k)
    joined = [tuple(edges[rng.integers(len(edges))].tolist())] if len(edges) and seed % 2 else []
    return X, edges, near, load, low, high, joined


@few_of(25, 1000)
def test_bounds_hold_or_cannot(numbers):
    """All at once: loads, both bounds, islands, must-links. What is refused cannot be met."""
    excess = []
    for seed in numbers:
        k = 2 + seed % 2
        X, edges, near, load, low, high, joined = tiny(seed, k)
        known = Constraints(must_link=joined, n_items=7)
        mean = load.sum() / k
        best = regions.best_squares(X, near, load, low * mean, high * mean, joined)
        words = {"size_min": low.tolist(), "size_max": high.tolist(), "random_state": 0}
        if not joined:  # these starts take none
            words |= {"init": ["ward", "k-means", "degree", X[:k]][seed // 2 % 4]}
            words |= {"growth": "rounds" if seed % 3 else "continuous"}
        model = ConnectedKMeans(k, connectivity=edges, **words)
        try:
            model.fit(X, constraints=known, size_weight=load)
        except (InfeasibleConstraintsError, UndecidedError):
            assert best == np.inf, f"seed {seed}: not found, though it can be"
            continue
        labels = model.labels_.tolist()
        assert all(np.bincount(labels, load) >= low * mean - 1e-9)
        assert all(np.bincount(labels, load) <= high * mean + 1e-9)
        assert regions.is_legal(labels, near, load, low * mean, high * mean, joined)
        assert model.objective_ == pytest.approx(regions.squares(X, labels))
        assert best * (1 - 1e-9) <= model.objective_
        excess.append(model.objective_ / best - 1)
    assert np.median(excess) < 1e-9


@few_of(20, 500)
def test_as_many_regions_as_can_be(numbers):
    for seed in numbers:
        X, edges, near, _ = random_problem(seed, n=7, k=3)
        rng = np.random.default_rng(seed)
        load, low = rng.integers(1, 6, size=7), int(rng.integers(3, 9))
        high = None if seed % 2 else int(1.5 * low) + 4
        joined = [tuple(pair) for pair in edges[rng.integers(len(edges), size=seed % 3)].tolist()]
        most = regions.most_regions(7, near, load, low, high or np.inf, joined)
        known = Constraints(joined, n_items=7)
        model = ConnectedKMeans(None, connectivity=edges, size_min=low, size_max=high, random_state=0)
        try:
            model.fit(X, constraints=known, size_weight=load)
        except (InfeasibleConstraintsError, UndecidedError):
            assert not most
            continue
        k = model.n_clusters_
        assert regions.is_legal(model.labels_.tolist(), near, load, [low] * k, [high or np.inf] * k, joined)
        assert k == most


def test_given_centres_are_one_start_of_several_within_bounds():
    # three of the centres are on a star, which needs four clusters: one around its hub, and leaves alone
    edges = [(0, i) for i in range(1, 10)] + [(i, i + 1) for i in range(10, 14)]
    X = np.arange(15.0)[:, None]
    model = ConnectedKMeans(6, connectivity=edges, init=X[[0, 3, 5, 10, 12, 14]], size_max=7, random_state=0)
    labels = model.fit(X).labels_
    assert np.bincount(labels).max() <= 7
    assert pieces(read_graph(edges, 15), labels)[0] == 6


@few_of(4, 40)
def test_larger_maps_with_islands_links_and_loads(numbers):
    for seed in numbers:
        X, edges = lattice(16, seed)
        edges = edges[(edges[:, 0] % 16 < 6) == (edges[:, 1] % 16 < 6)]  # a strait
        graph, rng = read_graph(edges, 256), np.random.default_rng(seed)
        load = rng.uniform(20, 200, size=256)
        known = Constraints(must_link=edges[rng.choice(len(edges), size=12)], n_items=256)
        for words in (
            {"n_clusters": 16, "size_min": 0.7, "size_max": 1.35},
            {"n_clusters": None, "size_min": 900},
        ):
            model = ConnectedKMeans(connectivity=edges, random_state=seed, **words)
            model.fit(X, constraints=known, size_weight=load)
            mean = load.sum() / model.n_clusters_
            held = np.bincount(model.labels_, load)
            assert np.allclose(model.sizes_, held)
            assert held.min() >= (900 if words["n_clusters"] is None else 0.7 * mean)
            assert words["n_clusters"] is None or held.max() <= 1.35 * mean
            assert pieces(graph, model.labels_)[0] == model.n_clusters_
            assert not model.violations_
            assert model.n_islands_ == 2
            assert model.history_[-1] == pytest.approx(regions.squares(X, model.labels_))
            assert (np.diff(model.history_) <= 1e-9 * model.history_[0]).all()


@few_of(3, 20)
def test_nearly_equal_loads(numbers):
    for seed in numbers:
        X, edges = lattice(20, seed)
        load = np.random.default_rng(seed).uniform(20, 200, size=400)
        model = ConnectedKMeans(20, connectivity=edges, size_min=0.95, size_max=1.05, random_state=seed)
        model.fit(X, size_weight=load)
        assert np.abs(model.sizes_ / load.sum() * 20 - 1).max() <= 0.05


@few_of(6, 60)
def test_paths_and_trees_have_few_cuts(numbers):
    """Every spanning tree of two neighbours is the same: others than the best cut have to be tried."""
    missed = 0
    for seed in numbers:
        rng = np.random.default_rng(seed)
        load, X = rng.integers(1, 10, size=60).astype(float), rng.normal(size=(60, 2))
        edges = [(i, i + 1) for i in range(59)]
        total, parts = load.cumsum(), {0.0: {0}}  # into how many parts what stands before here can be cut
        for at in total.tolist():
            near = [k for before, k in parts.items() if 0.8 <= 10 * (at - before) / total[-1] <= 1.2]
            parts[at] = {k + 1 for one in near for k in one}
        model = ConnectedKMeans(10, connectivity=edges, size_min=0.8, size_max=1.2, random_state=0)
        try:
            model.fit(X, size_weight=load)
            assert (np.abs(10 * model.sizes_ / load.sum() - 1) <= 0.2 + 1e-9).all()
        except UndecidedError:
            missed += 10 in parts[total[-1]]
    assert missed <= len(numbers) // 10


def test_a_search_around_a_hub_has_an_end():
    """Any two neighbours are nearly all there is; this took a minute."""
    star = [(0, i) for i in range(1, 1000)]
    X = np.random.default_rng(0).normal(size=(1000, 2))
    with pytest.raises(UndecidedError):
        ConnectedKMeans(100, connectivity=star, size_min=0.5, n_init=1, random_state=0).fit(X)


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e15, 1e300])
def test_loads_in_any_unit(unit):
    """What is feasible is found, and no clusters change: not only where a solver's tolerance fits."""
    rng = np.random.default_rng(0)
    street = [(i, i + 1) for i in range(29) if (i + 1) % 10]
    load, X = rng.integers(1, 9, size=30), rng.normal(size=(30, 1))
    model = ConnectedKMeans(7, connectivity=street, size_min=0.55, size_max=1.5, random_state=0)
    expected = model.fit(X, size_weight=load).labels_
    assert np.array_equal(model.fit(X, size_weight=load * unit).labels_, expected)


def test_a_heavy_item_does_not_hide_what_others_miss():
    X, edges = lattice(8, 0)
    load = np.full(64, 3.0)
    load[0] = 1e10
    model = ConnectedKMeans(None, connectivity=edges, size_min=9, random_state=0).fit(X, size_weight=load)
    assert np.bincount(model.labels_, load).min() == 9
    assert model.n_clusters_ == 22  # 63 others make 21
    model.set_params(n_clusters=30, on_shortfall="warn")
    with pytest.warns(ViolatedConstraintsWarning, match="no assignment within all bounds"):
        model.fit(X, size_weight=load)
    assert {one.cluster for one in model.violations_.shortfalls} == set(np.flatnonzero(model.sizes_ < 9))
    with pytest.raises(UndecidedError, match="ask for another number of clusters, raise n_init"):
        model.set_params(on_shortfall="raise").fit(X, size_weight=load)


@pytest.mark.parametrize("init", ["ward", "k-means", "degree"])
def test_islands_share_clusters_anew_where_one_cannot_hold_its_own(init):
    """Of a star no two parts have two items, though its load would do for four."""
    star, path = [(0, i) for i in range(1, 8)], [(8 + i, 9 + i) for i in range(7)]
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(16, 2))
        model = ConnectedKMeans(4, connectivity=star + path, size_min=2, init=init, random_state=seed)
        assert np.bincount(model.fit(X).labels_).min() >= 2
        assert len(set(model.labels_[:8])) == 1


def test_many_islands():
    n = 2_000
    X = np.random.default_rng(0).normal(size=(n, 2))
    couples = np.arange(n).reshape(-1, 2)
    model = ConnectedKMeans(1_500, connectivity=couples, size_max=2, size_min=1, random_state=0).fit(X)
    assert model.n_islands_ == 1_000
    # the 500 couples that stay are the closest ones
    away = np.abs(np.subtract(*X[couples].transpose(1, 0, 2)) ** 2).sum(axis=1)
    together = model.labels_[::2] == model.labels_[1::2]
    assert together.sum() == 500
    assert away[together].max() <= away[~together].min()


def test_every_start_and_metric_meets_bounds():
    X, edges = lattice(9, 0, d=3)
    for words in (
        {"init": "k-means"},
        {"init": "degree"},
        {"init": X[:5]},
        {"metric": "cosine"},
        {"refine": False},
    ):
        model = ConnectedKMeans(5, connectivity=edges, size_min=14, size_max=18, random_state=0, **words).fit(
            X
        )
        assert model.sizes_.min() >= 14
        assert model.sizes_.max() <= 18


def test_given_centres_keep_their_numbers():
    X, edges = lattice(12, 0)
    X += 6 * np.repeat([[0, 0], [1, 0], [1, 1]], 48, axis=0)
    for seeds in ([0, 70, 140], [140, 0, 70]):
        model = ConnectedKMeans(3, connectivity=edges, init=X[seeds], size_min=0.9, random_state=0).fit(X)
        assert model.labels_[seeds].tolist() == [0, 1, 2]


@pytest.mark.parametrize("matched", [2_000, 2])
def test_bounds_of_each_cluster(matched, monkeypatch):
    monkeypatch.setattr("coterie.graph._connected.regions._MATCHED", matched)  # else by rank
    X, edges = lattice(8, 0)
    model = ConnectedKMeans(
        3, connectivity=edges, size_min=[5, 40, 10], size_max=[8, None, 12], random_state=0
    ).fit(X)
    assert 5 <= model.sizes_[0] <= 8
    assert model.sizes_[1] >= 40
    assert 10 <= model.sizes_[2] <= 12


@pytest.mark.parametrize(
    ("n_init", "edges", "load", "low", "high"),
    [
        # only one of the clusters that may hold four fits on the large island, and only beside another
        (1, [(2, 1), (3, 2), (5, 0), (5, 3), (6, 1), (6, 3)], [1] * 7, [0, 1, 1], [3, 4, 3]),
        # the cluster with the largest least load is not one of those that may hold most
        (
            4,
            [(3, 0), (3, 2), (4, 0), (4, 2), (4, 3), (5, 3), (5, 4), (6, 1), (6, 2)],
            [3, 1, 3, 6, 4, 0, 6],
            [1.38, 2.3, 0, 1.38, 1.38],
            [5.52, 5.52, 7.36, 7.36, 7.36],
        ),
    ],
)
def test_bounds_of_each_cluster_find_the_parts_that_suit_them(n_init, edges, load, low, high):
    shares = [[bound * len(low) / sum(load) for bound in bounds] for bounds in (low, high)]
    known = Constraints([(6, 3)] if len(low) == 3 else [], n_items=7)
    words = dict(zip(("size_min", "size_max"), shares, strict=True))
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(7, 2))
        model = ConnectedKMeans(len(low), connectivity=edges, random_state=seed, n_init=n_init, **words)
        held = model.fit(X, constraints=known, size_weight=load).sizes_
        assert (held >= np.array(low) - 1e-9).all()
        assert (held <= np.array(high) + 1e-9).all()


def test_without_a_graph_bounds_hold_on_the_complete_one():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = ConnectedKMeans(3, size_min=9, size_max=11, random_state=0).fit(X)
    assert model.sizes_.min() >= 9
    with pytest.raises(ParameterError, match="SizeConstrainedKMeans"):
        ConnectedKMeans(3, size_min=9).fit(np.zeros((2001, 1)))


@pytest.mark.parametrize(
    ("low", "high", "load"),
    [
        ([0, 0, 0], [0, 3, 3], [0, 1]),
        ([2, 0, 2], [4, 1, 4], [0, 1]),
        ([0, 0, 0], [6, 0, 0], [1, 0, 0]),
        ([1, 0, 0], [6, 2, 0], [1, 1e-30, 0]),
    ],
)
def test_an_island_without_load_gets_clusters_that_may_be_empty(low, high, load):
    """Each island is a path of six items; what a cluster must hold, and may, is told one by one."""
    n, k = 6 * len(load), len(low)
    edges = [(i, i + 1) for i in range(n - 1) if (i + 1) % 6]
    each = np.repeat(np.array(load, dtype=float), 6)
    model = ConnectedKMeans(k, connectivity=edges, size_min=low, size_max=high, random_state=0)
    held = model.fit(np.arange(n)[:, None] % 5, size_weight=each).sizes_
    assert (held >= np.array(low) * (1 - 1e-9)).all()
    assert (held <= np.array(high) * (1 + 1e-9)).all()


def test_islands_without_load_hold_no_least_load():
    words = {"size_min": [1, 0, 1], "size_weight": [0, 0, 1, 1], "edges": [(2, 3)], "k": 3}
    refused(InfeasibleConstraintsError, ["3 islands", "of at least 0 cannot fill them"], **words)


# What cannot be, or was not found

PATH = [(0, 1), (1, 2), (2, 3)]


def refused(error, words, k=2, constraints=None, size_weight=None, edges=PATH, **parameters):
    X = np.arange(4.0)[:, None]
    with pytest.raises(error) as caught:
        ConnectedKMeans(k, connectivity=edges, random_state=0, **parameters).fit(
            X, constraints=constraints, size_weight=size_weight
        )
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_sums_that_cannot_be_are_proven():
    refused(InfeasibleConstraintsError, ["minimum sizes", "6", "4"], size_min=3)
    refused(InfeasibleConstraintsError, ["maximum sizes", "2"], size_max=1)
    refused(InfeasibleConstraintsError, ["item 0", "9", "size_max"], size_max=6, size_weight=[9, 1, 1, 1])
    refused(InfeasibleConstraintsError, ["item 0 counts 1"], k=None, size_min=2, size_max=0)
    refused(ParameterError, ["size_weight adds up to more"], size_min=1, size_weight=[1e308] * 4)
    joined = Constraints(must_link=[(0, 1), (1, 2)], n_items=4)
    refused(InfeasibleConstraintsError, ["item 0 and the 2", "size_max=2."], size_max=2, constraints=joined)
    # of a share it is said how much that is
    refused(InfeasibleConstraintsError, ["size_max=1.0 (here 2)."], size_max=1.0, constraints=joined)


def test_islands_that_are_too_light_or_do_not_come_out_even():
    refused(InfeasibleConstraintsError, ["island of item 3", "holds 1"], size_min=2, edges=PATH[:2])
    words, apart = ["2 islands", "2 clusters of 3 to 4"], [(0, 1), (2, 3)]
    refused(InfeasibleConstraintsError, words, edges=apart, size_min=3, size_max=4, size_weight=[1, 4, 1, 2])
    refused(InfeasibleConstraintsError, ["island of item 3"], k=None, size_min=2, edges=PATH[:2])
    refused(InfeasibleConstraintsError, ["at most 1 cluster of", "size_max"], k=None, size_min=3, size_max=3)


def test_what_was_not_found_is_an_error_or_a_warning():
    # a star: all clusters but that of the middle are single items
    star = [(0, 1), (0, 2), (0, 3)]
    refused(UndecidedError, ["nor proven", "holds 1"], size_min=2, edges=star)
    with pytest.warns(ViolatedConstraintsWarning, match="nor proven"):
        model = ConnectedKMeans(2, connectivity=star, size_min=2, on_shortfall="warn", random_state=0).fit(
            np.arange(4.0)[:, None]
        )
    assert [one.amount for one in model.violations_.shortfalls] == [1.0]
    refused(
        UndecidedError, ["Widen the bounds, raise n_init, or"], k=None, size_min=2, size_max=2, edges=star
    )
    assert not model.converged_
    assert pieces(read_graph(star, 4), model.labels_)[0] == 2


def test_a_number_of_clusters_or_a_least_load():
    refused(ParameterError, ["n_clusters", "size_min"], k=None)
    refused(ParameterError, ["size_min=0.5", "share"], k=None, size_min=0.5)
    refused(ParameterError, ["size_min='50%'", "share"], k=None, size_min="50%")
    refused(ParameterError, ["not one number"], k=None, size_min=[1, 2])
    refused(ParameterError, ["above 0"], k=None, size_min=0)
    refused(ParameterError, ["size_min=0.0 is a share"], k=None, size_min=0.0)
    refused(ParameterError, ["size_max='0%' is a share"], k=None, size_min=2, size_max="0%")
    for none in (np.nan, np.inf, True):
        refused(ParameterError, [f"size_min={none} is not one number"], k=None, size_min=none)
    refused(ParameterError, ["size_max=1.5"], k=None, size_min=2, size_max=1.5)
    refused(ParameterError, ["init holds centres", "n_clusters"], k=None, size_min=2, init=[[0.0], [1.0]])


def test_a_least_size_takes_must_links_alone():
    known = Constraints(cannot_link=[(0, 1)], n_items=4)
    refused(UnsupportedConstraintError, ["cannot-link", "size_min"], size_min=1, constraints=known)


# Parts


def test_clusters_are_shared_out_among_islands():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        load, k = rng.integers(4, 20, size=3).astype(float), 6
        low, high = ([2, 2, 2, 3, 3, 3], [9, 9, 9, 12, 12, 12]) if seed % 2 else ([2] * k, [9] * k)
        bounds = read_bounds(low, high, 3, k, size_weight=load, check=False)
        every = np.array(np.meshgrid(*[range(3)] * k)).reshape(k, -1).T
        legal = [
            one
            for one in every
            if all(
                np.asarray(low)[one == i].sum() <= load[i] <= np.asarray(high)[one == i].sum()
                for i in range(3)
            )
        ]
        wanted = np.array([2, 2, 2])
        given = bounds.low, bounds.high, load, wanted, np.ones(3), np.full(3, 9.0), 1.0, rng
        if not legal:
            with pytest.raises(InfeasibleConstraintsError, match="3 islands"):
                share_out(*given)
            continue
        found = share_out(*given)
        of = np.empty(k, dtype=int)
        for i, clusters in enumerate(found):
            of[clusters] = i
        assert any(np.array_equal(of, one) for one in legal)
        away = min(np.abs(np.bincount(one, minlength=3) - wanted).sum() for one in legal)
        assert np.abs(np.bincount(of, minlength=3) - wanted).sum() == away


@pytest.mark.kernels
def test_trees_span_and_parts_are_full():
    X, edges = lattice(7, 0)
    graph = read_graph(edges, 49)
    adjacency, load = Adjacency.of(graph), np.arange(49) % 5 + 1.0
    units, _, d = sums_of_units(SquaredEuclidean(X), np.arange(49), load)
    near = connected.neighbours(49, edges.tolist())
    for seed in range(10):
        room = TreeRoom.of(adjacency, d, seed)
        labels = np.zeros(49, dtype=np.int32)
        labels[28:] = 1
        n = span(3, 0, 0, seed % 2 == 0, adjacency, units, labels, room)
        assert sorted(room.order[:n].tolist()) == list(range(28))
        assert all(room.order[room.parent[i]] in near[room.order[i]] for i in range(1, n))
        assert room.load[0] == load[:28].sum()
        assert np.allclose(room.sums[0], (X - X.mean(axis=0))[:28].sum(axis=0))
        free = np.full(49, -1, dtype=np.int32)
        full = cut_tree(seed, np.full(20, 15.0), adjacency, units, free, room)
        held = np.bincount(free, load)
        assert (held[:full] >= 15).all()
        assert len(held) == full or held[full] < 15 or full == 20
        for h in range(len(held)):
            assert connected.connected(np.flatnonzero(free == h).tolist(), near)


@pytest.mark.kernels
def test_a_re_cut_only_gains_and_keeps_clusters_whole():
    X, edges = lattice(7, 1)
    graph = read_graph(edges, 49)
    adjacency = Adjacency.of(graph)
    units, constant, d = sums_of_units(SquaredEuclidean(X), np.arange(49), np.ones(49))
    labels, room = np.repeat([0, 1, 2], [14, 14, 21]), TreeRoom.of(adjacency, d, 0)
    clusters = clusters_of(units, labels, d, np.full(3, 10.0), np.full(3, 25.0))
    before, left = total_worth(clusters, False), np.array([60, 10**6])
    recut_pairs(left, LOWER, edges, adjacency, units, clusters, room, False, 1e-9)
    assert left[0] == 0
    assert total_worth(clusters, False) > before
    assert constant - total_worth(clusters, False) == pytest.approx(regions.squares(X, clusters.labels))
    assert clusters.load.min() >= 10
    assert pieces(graph, clusters.labels)[0] == 3
    assert islands(graph)[0] == 1
