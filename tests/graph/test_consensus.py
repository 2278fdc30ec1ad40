"""ConsensusClustering: algorithms against their words, the search against all moves, all by brute force."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError, ParameterError
from coterie.graph import _consensus_clustering as consensus
from coterie.graph._consensus_clustering import ConsensusClustering
from coterie.metrics import mirkin_distance
from tests.marks import few_of, outvoted
from tests.oracles import consensus as oracle

ALGORITHMS = ("local", "best", "balls", "agglomerative", "furthest", "pivot")


def columns(seed, n=7, m=4, k=3, low=-1):
    return np.random.default_rng([seed, n, m]).integers(low, k, size=(n, m))


def distinct(seed, n, m=5, k=3, low=0):
    """Rows that differ, in no order."""
    rng = np.random.default_rng([seed, n])
    rows = np.unique(rng.integers(low, k, size=(2 * n, m)), axis=0)
    return rng.permutation(rows)[:n]


def planted(seed, n, m=9, k=5, noise=0.3, missing=0.0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    X = np.where(rng.uniform(size=(n, m)) < noise, rng.integers(k, size=(n, m)), truth[:, None])
    return np.where(rng.uniform(size=(n, m)) < missing, -1, X), truth


def fit(X, algorithm="local", constraints=None, **words):
    return ConsensusClustering(algorithm, **{"random_state": 0, **words}).fit(X, constraints=constraints)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.array_equal(a[:, None] == a, b[:, None] == b)


def ballot(X, known=None):
    return consensus._read_ballot(X, known or Constraints(n_items=len(X)))


def random_hard(seed, n):
    """Hard constraints of all kinds that can all hold."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    known = Constraints.sample(truth, n_pairs=3, random_state=seed)
    known = Constraints(known.must_link, known.cannot_link, n_items=n, hard=True)
    one = [items[0] for items in (np.flatnonzero(truth == c) for c in range(3)) if len(items)]
    groups = np.full(n, -1)
    groups[one] = 0
    kinds = [
        known,
        Constraints.distinct(groups),
        Constraints.across(np.where(rng.uniform(size=n) < 0.5, truth, -1)),
    ]
    kinds.append(Constraints.from_labels(np.where(rng.uniform(size=n) < 0.4, truth, -1)))
    return kinds[seed % 4] | kinds[(seed + 1) % 4]


# Against all partitions


@few_of(5, 150)
def test_bound_optimum_and_every_algorithm_stand_in_this_order(numbers):
    for seed in numbers:
        X = columns(seed, n=3 + seed % 5, low=-(seed % 2))
        least = min(oracle.cost(X, labels) for labels in oracle.partitions(len(X)))
        for algorithm in ALGORITHMS:
            for missing in ("abstain", "half"):
                model = fit(X, algorithm, missing=missing)
                more = oracle.cost(X, model.labels_, half=missing == "half") - oracle.cost(X, model.labels_)
                assert model.mirkin_ == pytest.approx(oracle.cost(X, model.labels_) + more)
                assert model.lower_bound_ == pytest.approx(oracle.bound(X) + more)
                assert oracle.bound(X) <= least + 1e-9 <= oracle.cost(X, model.labels_) + 2e-9
                assert model.objective_ == pytest.approx(model.mirkin_)


@few_of(4, 150)
def test_hard_constraints_of_all_kinds_hold_and_the_search_is_hardly_beaten(numbers):
    found, least = [], []
    for seed in numbers:
        X, known = columns(seed, n=6, low=-(seed % 2)), random_hard(seed, 6)
        legal = [labels for labels in oracle.partitions(6) if not known.violations(labels)]
        least.append(min(oracle.cost(X, labels) for labels in legal))
        for algorithm in ALGORITHMS:
            model = fit(X, algorithm, known, sample_size=None if seed % 3 else 4)
            assert not model.violations_
            assert model.mirkin_ == pytest.approx(oracle.cost(X, model.labels_))
            assert model.mirkin_ >= least[-1] - 1e-9 >= model.lower_bound_ - 2e-9
        found.append(fit(X, "local", known, n_init=12).mirkin_)
    assert np.all(np.array(found) >= np.array(least) - 1e-9)
    assert np.sum(found) <= 1.03 * np.sum(least)


class Order:
    """A generator whose one permutation is known."""

    def __init__(self, order):
        self.order = np.array(order)

    def permutation(self, n):
        return self.order


@few_of(8, 200)
def test_factors_of_the_chapter(numbers):
    for seed in numbers:
        X = distinct(seed, 5, m=3)
        least = min(oracle.cost(X, labels) for labels in oracle.partitions(5))
        assert fit(X, "best").mirkin_ <= 2 * (1 - 1 / 3) * least + 1e-9
        assert fit(X, "balls", alpha=0.25).mirkin_ <= 3 * least + 1e-9
        found, node, _ = ballot(X)
        orders = [consensus._pivots(found, 0.4, 0, Order(order))[node] for order in permutations(range(5))]
        assert np.mean([oracle.cost(X, labels) for labels in orders]) <= 2 * least + 1e-9


# Each algorithm against its words


@few_of(6, 60)
def test_algorithms_are_what_their_words_say(numbers):
    for seed in numbers:
        X = distinct(seed, 9, low=-(seed % 2))
        X = X[(X >= 0).any(axis=1)]  # an item without a label is alone, whatever the words
        assert same(fit(X, "balls", alpha=0.31).labels_, oracle.balls(X, 0.31))
        assert same(fit(X, "agglomerative").labels_, oracle.linkage(X))
        assert same(fit(X, "furthest").labels_, oracle.furthest(X))
        inputs = [np.where(x >= 0, x, 100 + np.arange(len(X))) for x in X.T]
        assert fit(X, "best").mirkin_ == pytest.approx(min(oracle.cost(X, labels) for labels in inputs))
        order = np.random.default_rng(seed).permutation(len(X))
        found, node, _ = ballot(X)
        assert found.n == len(X)
        drawn = consensus._pivots(found, 0.4, 0, Order(order))[node]
        assert same(drawn, oracle.pivot(X, order.tolist()))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("noise", [0.2, 0.45])
def test_no_move_of_an_item_or_of_a_cluster_betters_the_search(missing, noise, seed):
    X, _ = planted(seed, 400, noise=noise, missing=missing)
    model = fit(X, n_init=2)
    table, labels = oracle.net(X), model.labels_
    inside = table @ np.eye(labels.max() + 1)[labels]
    now = inside[np.arange(len(X)), labels]
    assert (now >= inside.max(axis=1) - 1e-9).all()
    assert (now >= 0).all()
    between = np.eye(labels.max() + 1)[labels].T @ inside
    np.fill_diagonal(between, 0.0)
    assert between.max() <= 1e-9
    assert (np.diff(model.history_) <= 1e-9).all()
    assert model.history_[-1] == pytest.approx(model.mirkin_) == pytest.approx(oracle.cost(X, labels))
    assert model.converged_


def test_nodes_that_are_not_looked_at_would_not_have_moved(seed, monkeypatch):
    """The same sweeps with every node looked at each time."""
    X, _ = planted(seed, 600, k=3, noise=0.35)
    quick = fit(X, n_init=1)
    sweep = consensus.Ballot._sweep

    def thorough(self, label, rng, step, history, due, small):
        return sweep(self, label, rng, step, history, due, np.inf)

    monkeypatch.setattr(consensus.Ballot, "_sweep", thorough)
    assert np.array_equal(quick.labels_, fit(X, n_init=1).labels_)


# Limits


def test_one_clustering_twice_or_alone_is_its_own_consensus():
    X = np.repeat(columns(3, n=30, m=1, low=0), 4, axis=1)
    for algorithm in ALGORITHMS:
        model = fit(X, algorithm)
        assert same(model.labels_, X[:, 0])
        assert model.mirkin_ == model.lower_bound_ == 0.0


def test_of_two_clusterings_either_is_best():
    X = columns(5, n=20, m=2, low=0)
    model = fit(X)
    assert model.mirkin_ == pytest.approx(0.5 * mirkin_distance(*X.T)) == pytest.approx(model.lower_bound_)


def test_the_cost_is_the_mean_of_distances(seed):
    X, truth = planted(seed, 200)
    model = fit(X)
    assert model.mirkin_ == pytest.approx(np.mean([mirkin_distance(model.labels_, x) for x in X.T]))
    assert adjusted_rand_score(truth, model.labels_) > 0.8


def test_equal_rows_are_one(seed):
    X, _ = planted(seed, 40, m=5)
    once, twice = fit(X), fit(np.repeat(X, 3, axis=0))
    assert ballot(np.repeat(X, 3, axis=0))[0].n == ballot(X)[0].n
    assert all(len(np.unique(three)) == 1 for three in twice.labels_.reshape(-1, 3))
    assert twice.mirkin_ <= 9 * once.mirkin_ + 1e-9


def test_items_without_labels_are_alone_and_names_of_labels_do_not_matter():
    X, _ = planted(2, 60, noise=0.1)
    X[[3, 7]] = -1
    for algorithm in ALGORITHMS:
        labels = fit(X, algorithm).labels_
        assert (np.bincount(labels)[labels[[3, 7]]] == 1).all()
        assert (
            np.array_equal(labels, fit(np.where(X < 0, -1, 1000 - 7 * X), algorithm).labels_)
            or algorithm == "furthest"
        )
    assert len(np.unique(fit(np.full((4, 2), -1)).labels_)) == 4
    assert fit(np.zeros((1, 1), dtype=int)).mirkin_ == 0.0


@outvoted
def test_a_soft_pair_is_so_many_votes():
    X = np.zeros((4, 3), dtype=int)
    X[2:, :2] = 1  # two of three part them
    light, heavy = (Constraints(None, [(0, 1)], n_items=4, weight=weight) for weight in (2.0, 30.0))
    assert same(fit(X, constraints=light).labels_, [0, 0, 1, 1])
    assert fit(X, constraints=light).objective_ == pytest.approx(fit(X).mirkin_ + 2.0 / 3)
    assert fit(X, constraints=light).mirkin_ == pytest.approx(fit(X).mirkin_)
    model = fit(X, constraints=heavy)
    assert model.labels_[0] != model.labels_[1]
    assert model.objective_ == pytest.approx(oracle.cost(X, model.labels_))
    soft = Constraints([(0, 2)], n_items=4, weight=30.0)
    assert fit(X, constraints=soft).labels_[0] == fit(X, constraints=soft).labels_[2]


# Samples


@pytest.mark.parametrize("algorithm", ["local", "balls", "agglomerative", "pivot"])
def test_a_sample_finds_what_is_plain(algorithm, seed):
    X, truth = planted(seed, 500, m=15, noise=0.1, missing=0.05)
    model = fit(X, algorithm, sample_size=60)
    assert model.mirkin_ == pytest.approx(oracle.cost(X, model.labels_))
    assert adjusted_rand_score(truth, model.labels_) > 0.95


def test_others_go_where_they_cost_least(seed):
    X = distinct(seed, 40, m=6, low=-1)
    found = ballot(X)[0]
    assert found.n == len(X)
    nodes, others = np.arange(25), np.arange(25, len(X))
    label = np.arange(25) % 4
    inside = oracle.net(X)[:, :25] @ np.eye(4)[label]
    best = inside[25:].max(axis=1)
    to = found.nearest(nodes, label, others)
    assert np.array_equal(to < 0, best <= 0)
    assert np.array_equal(inside[others[to >= 0], to[to >= 0]], best[to >= 0])


# What cannot be


def test_what_cannot_be_is_refused(monkeypatch):
    X = columns(1, n=12, low=0)
    with pytest.raises(ValueError, match=r"X\[2, 1\] is 0.5: columns of X are clusterings"):
        fit(np.where(np.arange(48).reshape(12, 4) == 9, 0.5, X))
    with pytest.raises(ValueError, match=r"is -2: columns of X"):
        fit(X - 2)
    with pytest.raises(ParameterError, match="alpha"):
        fit(X, alpha=0.6)
    hard = Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=12, hard=True)
    with pytest.raises(InfeasibleConstraintsError, match="0"):
        fit(X, constraints=hard)
    monkeypatch.setitem(consensus._MOST_ROWS, "furthest", 5)
    with pytest.raises(ParameterError, match="at most 5; X has"):
        fit(X, "furthest")
    assert fit(X, "furthest", sample_size=5).mirkin_ > 0
    monkeypatch.setattr(consensus, "_MOST_VOTES", 10)
    assert fit(X).lower_bound_ is None
