"""BalancedCut: against every labelling of tiny graphs, on graphs of known cut, with and without METIS."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from coterie import BalancedCut, Constraints, InfeasibleConstraintsError
from coterie.assign import size_constrained_assignment
from coterie.exceptions import UnsupportedConstraintError
from coterie.graph._cut.affinities import nearest_neighbours
from coterie.report import plain_labels
from tests.oracles import cut as oracle


@pytest.fixture(params=["metis", "normalized_cut"])
def start(request, monkeypatch):
    """Both makers of starts: with pymetis, and as if it were not installed."""
    if request.param == "metis":
        pytest.importorskip("pymetis")
    else:
        monkeypatch.setitem(sys.modules, "pymetis", None)
    return request.param


def given(k, **words):
    return BalancedCut(k, affinity="precomputed", **{"random_state": 0, **words})


def cliques(*sizes, bridge=0.5):
    """Cliques of edges of weight 1, each joined to the next by one light edge."""
    n = sum(sizes)
    W, first = np.zeros((n, n)), np.cumsum([0, *sizes])
    for a, b in pairwise(first):
        W[a:b, a:b] = 1.0
    for a in first[1:-1]:
        W[a - 1, a] = W[a, a - 1] = bridge
    np.fill_diagonal(W, 0.0)
    return W, np.repeat(np.arange(len(sizes)), sizes)


def random_graph(seed, n=7):
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.6)
    W = np.triu(W, 1)
    W[np.arange(n - 1), np.arange(1, n)] += 0.1  # nobody is alone
    return W + W.T


# Against every labelling


@pytest.mark.parametrize("bounds", [(2, 5), (3, 4), ([1, 5], [2, 6])])
def test_tiny_graphs_are_cut_as_well_as_can_be(start, bounds):
    found, least = [], []
    for seed in range(4):
        W = random_graph(seed)
        model = given(2, size_min=bounds[0], size_max=bounds[1]).fit(W)
        assert model.start_ == start
        assert model.objective_ == pytest.approx(oracle.cut(W, model.labels_))
        low, high = (np.broadcast_to(bound, 2) for bound in bounds)
        assert (low <= model.sizes_).all()
        assert (model.sizes_ <= high).all()
        assert model.sizes_.tolist() == np.bincount(model.labels_, minlength=2).tolist()
        found.append(model.objective_)
        least.append(oracle.least_cut(W, 2, low, high))
    assert (np.array(found) > np.array(least) - 1e-9).all()
    assert np.isclose(found, least).sum() >= 3


def test_loads_and_must_links_against_every_labelling(start):
    found, least = [], []
    for seed in range(4):
        W, rng = random_graph(seed), np.random.default_rng(seed)
        load = rng.integers(1, 4, size=7)
        pairs = rng.permutation(7)[:4].reshape(2, 2)
        low, high = [0.3 * load.sum()] * 2, [0.7 * load.sum()] * 2
        best = oracle.least_cut(W, 2, low, high, load, pairs)
        model = given(2, size_min=0.6, size_max=1.4)
        known = Constraints(pairs, n_items=7)
        model.fit(W, constraints=known, size_weight=load)
        assert not model.violations_
        assert np.allclose(model.sizes_, np.bincount(model.labels_, load))
        assert (low[0] <= model.sizes_).all()
        assert (model.sizes_ <= high[0]).all()
        assert model.objective_ == pytest.approx(oracle.cut(W, model.labels_))
        assert model.objective_ >= best - 1e-9
        found.append(model.objective_)
        least.append(best)
    assert np.isclose(found, least).sum() >= 3


def test_neighbours_against_every_pair_of_rows():
    X = np.random.default_rng(0).normal(size=(9, 3))
    for k in (1, 4, 8):
        assert np.allclose(nearest_neighbours(X, k).toarray(), oracle.neighbour_affinities(X, k))
    wide = np.random.default_rng(1).normal(size=(9, 12))  # another search
    assert np.allclose(nearest_neighbours(wide, 4).toarray(), oracle.neighbour_affinities(wide, 4))


@pytest.mark.parametrize("seed", range(8))
def test_the_cut_cannot_rise_where_the_own_cluster_is_worth_the_degree_more(seed):
    W, rng = random_graph(seed, 9), np.random.default_rng(seed)
    labels = rng.permutation(np.arange(9) % 3)
    costs = -W @ np.eye(3)[labels] - W.sum(axis=1)[:, None] * np.eye(3)[labels]
    again = size_constrained_assignment(costs, 1.0, 1.0).labels
    assert oracle.cut(W, again) <= oracle.cut(W, labels) + 1e-9


# Graphs whose cut is known


def test_cliques_are_parted_at_their_bridges(start):
    W, truth = cliques(6, 6, 6)
    model = given(3).fit(W)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.objective_ == 1.0
    assert model.history_[-1] == 1.0
    assert model.converged_


def test_bounds_win_over_cliques(start):
    W, _ = cliques(7, 5)
    free = given(2, size_min=5, size_max=7).fit(W)
    assert (sorted(free.sizes_), free.objective_) == ([5, 7], 0.5)
    equal = given(2, size_min=1.0, size_max=1.0).fit(W)
    assert equal.sizes_.tolist() == [6, 6]
    assert equal.objective_ == oracle.least_cut(W, 2, [6, 6], [6, 6]) == 6.0  # the one at the bridge moves


def test_clusters_have_bounds_of_their_own(start):
    W, truth = cliques(2, 4, 6)
    model = given(3, size_min=[4, 6, 2], size_max=[4, 6, 2]).fit(W)
    assert model.sizes_.tolist() == [4, 6, 2]
    assert adjusted_rand_score(truth, model.labels_) == 1.0


def test_a_graph_may_fall_apart(start):
    W = cliques(4, 4, 4, bridge=0.0)[0]
    assert given(3).fit(W).objective_ == 0.0
    halves = given(2, size_min=1.0, size_max=1.0).fit(W)
    assert halves.sizes_.tolist() == [6, 6]
    assert halves.objective_ == 4.0  # one clique in two halves


def test_sizes_are_within_the_tolerance_where_no_bounds_are_given(start):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = BalancedCut(3, random_state=0).fit(X)
    assert model.sizes_.min() >= 32  # 0.97 of 33.3, rounded down
    assert model.sizes_.max() <= 35
    exact = BalancedCut(3, tolerance=0.0, random_state=0).fit(X)
    assert sorted(exact.sizes_) == [33, 33, 34]
    above = BalancedCut(3, size_max=90, random_state=0).fit(X)
    assert (above.sizes_.min() >= 1, above.sizes_.max() <= 90) == (True, True)
    loads = BalancedCut(3, tolerance=0.2, random_state=0).fit(X, size_weight=np.arange(100.0))
    assert np.abs(loads.sizes_ / loads.sizes_.mean() - 1.0).max() <= 0.2


def test_equal_loads_are_no_loads():
    X = np.random.default_rng(0).normal(size=(40, 2))
    plain, loads = (
        BalancedCut(4, random_state=0).fit(X, size_weight=weight) for weight in (None, np.full(40, 2.5))
    )
    assert loads.sizes_.tolist() == (2.5 * plain.sizes_).tolist()
    assert plain.objective_ == pytest.approx(loads.objective_)


def test_must_links_are_one_vertex(start):
    W, truth = cliques(5, 5)
    known = Constraints([(0, 9), (9, 5)], n_items=10)
    model = given(2, size_min=1.0, size_max=1.0).fit(W, constraints=known)
    assert model.labels_[0] == model.labels_[9] == model.labels_[5]
    assert model.sizes_.tolist() == [5, 5]
    assert model.objective_ == oracle.least_cut(W, 2, [5, 5], [5, 5], together=[(0, 9), (9, 5)])
    everything = Constraints([(i, i + 1) for i in range(9) if i != 4], n_items=10)
    assert adjusted_rand_score(truth, given(2).fit(W, constraints=everything).labels_) == 1.0
    assert given(1, size_min=10).fit(W).objective_ == 0.0
    apart = given(2).fit(cliques(5, 5, bridge=0.0)[0], constraints=everything)  # vertices without an edge
    assert (apart.objective_, apart.sizes_.tolist()) == (0.0, [5, 5])
    alone = Constraints([(0, 1), (1, 2)], n_items=9)
    assert given(2, size_min=3).fit(cliques(3, 6, bridge=0.0)[0], constraints=alone).objective_ == 0.0


def test_affinities_have_no_unit_and_no_form():
    W = random_graph(3, 30)
    plain = given(3, size_min=1.0, size_max=1.0).fit(W)
    for other in (sparse.csr_array(W), 1e-9 * W, 1e9 * W, W + np.diag(np.arange(30.0))):
        model = given(3, size_min=1.0, size_max=1.0).fit(other)
        assert model.labels_.tolist() == plain.labels_.tolist()
    assert model.affinity_matrix_.diagonal().sum() == 0.0


def test_copies_of_rows_are_neighbours():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], 20, axis=0)  # more copies than neighbours
    model = BalancedCut(3, random_state=0).fit(X)
    assert model.sizes_.tolist() == [20, 20, 20]
    assert model.objective_ == 0.0
    part = BalancedCut(3, n_neighbors=30, random_state=0).fit(X)  # neighbours that are no copies
    assert adjusted_rand_score(X[:, 0], part.labels_) == 1.0
    assert set(BalancedCut(2, random_state=0).fit(np.ones((8, 3))).sizes_) <= {3, 4, 5}


def test_digits_in_equal_sizes_keep_their_classes():
    pytest.importorskip("pymetis")
    X, y = load_digits(return_X_y=True)
    model = BalancedCut(10, size_min=1.0, size_max=1.0, random_state=0).fit(X)
    assert set(model.sizes_) == {179, 180}
    assert normalized_mutual_info_score(y, model.labels_) > 0.85


def test_one_assignment_meets_the_bounds_already():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = BalancedCut(4, size_min=1.0, size_max=1.0, max_iter=1, n_init=1, random_state=0).fit(X)
    assert set(model.sizes_) == {15}
    assert (model.n_iter_, len(model.history_) <= 2) == (1, True)


def test_the_account_follows_the_cut():
    W, _ = cliques(6, 6)
    account = given(2).fit(W).account()
    assert account.trace.values[-1] == 0.5
    assert account.bounds.read.low.tolist() == [5.0, 5.0]
    assert "edges between clusters" in account.trace.text


# Hostile input


def edited(row, column, value):
    W = cliques(3, 3)[0]
    W[row, column] = value
    return W


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (edited(1, 0, 7.0), r"affinity matrix must be symmetric; X\[0, 1\] is 1, but X\[1, 0\] is 7. \(X \+"),
        (-cliques(3, 3)[0], r"affinities must not be negative; X\[0, 1\] is -1"),
        (np.ones((3, 4)), r"affinity matrix must be square"),
        (np.diag([1.0, 1.0, 1.0]), r"row 0 has no affinity with any other item \(3 such rows\)"),
        (sparse.block_diag([cliques(3, 3)[0], [[5.0]]]).tocsr(), r"row 6 has no affinity .* leave it out"),
        (edited(0, 1, np.nan), "NaN"),
    ],
)
def test_affinities_that_are_none(X, message):
    with pytest.raises(ValueError, match=message):
        given(2).fit(X)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"size_min": 4}, "the minimum sizes add up to 8, which is 2 more than the number of items, 6"),
        ({"size_max": 2}, "the maximum sizes add up to 4, which is 2 less than the number of items, 6"),
        ({"size_min": [3, 2, 1]}, "size_min must be .* got 3 of them"),
        ({"tolerance": -0.1}, "tolerance of BalancedCut must be a number from 0 to 1"),
        ({"affinity": "rbf"}, "affinity of BalancedCut must be 'nearest_neighbors' or 'precomputed'"),
        ({"n_neighbors": 0}, "n_neighbors of BalancedCut must be a whole number, at least 1"),
        ({"n_clusters": 7}, "n_clusters=7, but X has n_samples=6 rows"),
    ],
)
def test_parameters_that_cannot_be(words, message):
    with pytest.raises(ValueError, match=message):
        given(2).set_params(**words).fit(cliques(3, 3)[0])


def test_loads_and_must_links_that_do_not_fit(start):
    W = cliques(3, 3)[0]
    with pytest.raises(InfeasibleConstraintsError):
        given(2, size_min=1.0, size_max=1.0).fit(W, size_weight=[2, 2, 2, 2, 2, 1])
    large = Constraints([(0, 1), (1, 2), (2, 3)], n_items=6)
    with pytest.raises(InfeasibleConstraintsError, match=r"4 items must be together \(rows 0, 1, 2, 3\)"):
        given(2, size_max=3).fit(W, constraints=large)
    with pytest.raises(ValueError, match="size_weight of item 1 is -1"):
        given(2).fit(W, size_weight=[1, -1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("known", "kind"),
    [(Constraints(None, [(0, 5)], n_items=6), "cannot-link"), ([0, -1, -1, 1, -1, -1], "label")],
)
def test_other_constraints_are_refused_by_name(known, kind):
    with pytest.raises(UnsupportedConstraintError, match=f"kind {kind}; it takes must-link"):
        given(2).fit(cliques(3, 3)[0], constraints=known)


def test_the_report_compares_with_no_cut_without_bounds():
    """There is none: where no bounds are given the tolerance is one."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert plain_labels(BalancedCut(3, size_min=10, random_state=0).fit(X), X) is None
    known = Constraints(must_link=[(0, 1), (2, 3)], n_items=40)
    model = BalancedCut(3, size_min=1.0, size_max=1.0, random_state=0).fit(X, constraints=known)
    plain = plain_labels(model, X)
    assert sorted(np.bincount(plain)) == [13, 13, 14]
