"""ConnectedKCenter and its steps: against all partitions, paths and sets of small graphs; known traps."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from coterie import ConnectedKCenter, Constraints
from coterie.adjacency import read_graph
from coterie.exceptions import UnsupportedConstraintError
from coterie.graph import check_connected, make_disjoint, overlapping_k_center, reaching_distance
from coterie.graph._connected.netscan import far_out
from tests.graph.connected_problems import random_problem
from tests.marks import few_of
from tests.oracles import connected as oracle

ALGORITHMS = ("auto", "farthest-first", "enumerate", "netscan")
PATH = [(i, i + 1) for i in range(5)]


def fitted(k, edges, X, **words):
    return ConnectedKCenter(k, connectivity=edges, **{"random_state": 0, **words}).fit(X)


def check_outcome(model, X, graph, k):
    """What holds of every fit without outliers."""
    labels, centres = model.labels_, model.center_indices_
    assert sorted(set(labels.tolist())) == list(range(k))
    assert check_connected(labels, graph)
    assert labels[centres].tolist() == list(range(k))
    away = np.linalg.norm(X - X[centres[labels]], axis=1)
    assert model.radius_ == model.objective_ == model.radii_.max() == pytest.approx(away.max(), abs=1e-12)
    assert model.history_[-1] == model.radius_
    assert (np.diff(model.history_) <= 1e-12).all()
    assert (model.assignment_radius_ >= away - 1e-9).all()
    assert model.assignment_radius_.max() == pytest.approx(model.radius_)


# Against everything there is


@few_of(12, 1000)
def test_bounds_and_radii_against_all_partitions(numbers):
    ratios = []
    for seed in numbers:
        k = 2 + seed % 2
        X, _, near, graph = random_problem(seed, n=7 if len(numbers) > 20 else 8, k=k)
        least = oracle.best_connected(oracle.distances(X), near, k)
        overlapping = oracle.best_overlapping(oracle.distances(X), near, k)
        for algorithm in ALGORITHMS:
            how = {
                "growth": ("continuous", "rounds")[seed % 2],
                "init": ("gonzalez", "degree")[seed // 2 % 2],
            }
            center_update = ("mean-nearest", "minimax")[seed // 4 % 2]
            model = fitted(k, graph, X, algorithm=algorithm, center_update=center_update, n_init=2, **how)
            check_outcome(model, X, graph, k)
            assert model.lower_bound_ <= overlapping + 1e-9 <= least + 2e-9 <= model.radius_ + 3e-9
            assert model.approx_ratio_ == pytest.approx(model.radius_ / model.lower_bound_)
            if algorithm == "enumerate":
                assert model.lower_bound_ == pytest.approx(overlapping)
            if algorithm == "auto":
                ratios.append(model.radius_ / least)
        first = overlapping_k_center(X, graph, k)
        assert overlapping - 1e-9 <= first.radius == 2 * first.lower_bound <= 2 * overlapping + 1e-9
        assert overlapping_k_center(X, graph, k, "enumerate").radius == pytest.approx(overlapping)
    assert np.mean(ratios) < 1.1
    assert max(ratios) < 2.0


@few_of(4, 100)
def test_reaching_distances_against_all_paths(numbers):
    for seed in numbers:
        X, edges, near, _ = random_problem(seed, n=7)
        D = oracle.distances(X)
        expected = np.array([oracle.reaching(D, near, u) for u in range(7)])
        found = reaching_distance(X, edges, range(7))
        assert np.allclose(found, expected)
        given = reaching_distance(np.array(D), edges, range(7), metric="precomputed")
        assert np.allclose(given, expected)
        assert (found - 1e-9 <= np.where(np.isinf(found), np.inf, 2 * found).T).all()


@few_of(4, 60)
def test_paths_against_intervals(numbers):
    for seed in numbers:
        X = np.random.default_rng(seed).normal(size=(9, 2))
        edges = [(i, i + 1) for i in range(8)]
        for k in (2, 4):
            least = oracle.best_on_a_path(oracle.distances(X), k)
            assert least == pytest.approx(
                oracle.best_connected(oracle.distances(X), oracle.neighbours(9, edges), k)
            )
            model = fitted(k, edges, X)
            assert model.lower_bound_ - 1e-9 <= least <= model.radius_ + 1e-9


@few_of(6, 200)
def test_overlapping_sets_are_what_centres_reach_and_are_made_disjoint(numbers):
    for seed in numbers:
        k = 2 + seed % 3
        X, edges, _, graph = random_problem(seed, n=30, k=k)
        for method in ("farthest-first", "enumerate"):
            found = overlapping_k_center(X, edges, k, method)
            assert (
                found.sets.toarray() == (found.radius >= reaching_distance(X, edges, found.centers).T)
            ).all()
            assert found.sets.toarray().any(axis=1).all()
            clusters = make_disjoint(found.centers, found.sets.toarray(), X, edges)
            assert check_connected(clusters.labels, graph)
            assert clusters.labels[found.centers].tolist() == list(range(k))
            kept = np.linalg.norm(X - X[found.centers[clusters.labels]], axis=1).max()
            assert clusters.radii.max() <= kept + 1e-12
            assert kept <= (2 * k - 1) * found.radius + 1e-9


# The chapter


def test_the_conversion_of_the_chapter_is_not_within_three_radii():
    """On the chain Lemma 12.1 fails; 2 k - 1 is what holds, and the moves find the optimum."""
    for k in range(2, 6):
        X, edges = oracle.disjoint_chain(k)
        centres = np.arange(0, 2 * k, 2)
        sets = reaching_distance(X, edges, centres).T <= 1.0
        assert sets.any(axis=1).all()
        found = make_disjoint(centres, sets, X, edges)
        assert check_connected(found.labels, edges)
        assert sorted(set(found.labels)) == list(range(k))
        assert np.abs(X[:, 0] - X[centres[found.labels], 0]).max() <= 2 * k - 1
        if k <= 4:
            least = oracle.best_connected(oracle.distances(X), oracle.neighbours(2 * k, edges), k)
            assert least == 1.0
            assert fitted(k, edges, X).lower_bound_ <= 1.0


@pytest.mark.parametrize(
    ("clauses", "n_variables", "shape", "least", "overlapping"),
    [
        ([(1, 1, 1)], 1, (7, 9), 1.0, 1.0),
        ([(1,), (-1,)], 1, (8, 10), 2.0, 1.0),
        ([(1, 2), (-1, -2)], 2, (12, 20), 1.0, 1.0),
    ],
)
def test_clauses_that_can_be_met_and_that_cannot(clauses, n_variables, shape, least, overlapping):
    X, edges = oracle.from_clauses(clauses, n_variables)
    assert (len(X), len(edges)) == shape
    near = oracle.neighbours(len(X), edges)
    if len(X) < 12:
        assert oracle.best_connected(oracle.distances(X), near, 2) == least
    found = overlapping_k_center(X, edges, 2, "enumerate")
    assert found.radius == found.lower_bound == overlapping
    model = fitted(2, edges, X, algorithm="enumerate")
    assert least <= model.radius_ <= 2.0


def test_reaching_distances_have_a_direction():
    found = reaching_distance([[0.0], [3.0], [1.0]], [(0, 1), (1, 2)], [0, 1, 2])
    assert found.tolist() == [[0, 3, 3], [3, 0, 2], [2, 2, 0]]
    assert reaching_distance([[0.0], [3.0], [1.0]], [(0, 1)], 0).tolist() == [0.0, 3.0, np.inf]


def test_connectedness_dominates_on_an_alternating_path():
    X = np.array([[0.0], [10.0]] * 3)
    assert [fitted(k, PATH, X).radius_ for k in range(1, 7)] == [10.0] * 5 + [0.0]


def test_without_a_graph_it_is_plain_k_center():
    X = np.random.default_rng(0).normal(size=(9, 2))
    D = cdist(X, X)
    for k in (1, 2, 3):
        least = min(D[list(some)].min(axis=0).max() for some in itertools.combinations(range(9), k))
        for graph in (None, np.ones((9, 9))):
            model = fitted(k, graph, X, algorithm="enumerate")
            assert model.radius_ == pytest.approx(least)
            assert model.lower_bound_ == pytest.approx(least)


def test_optima_fall_with_more_clusters_and_more_edges():
    X, edges, _, _ = random_problem(4, n=8)
    more = [*edges.tolist(), (0, 5), (2, 7), (1, 6)]
    few, many = (
        [overlapping_k_center(X, e, k, "enumerate").radius for k in range(3, 9)] for e in (edges, more)
    )
    assert (np.diff(few) <= 0).all()
    assert (np.array(many) <= few).all()
    assert few[-1] == 0.0


# Outliers


@few_of(5, 100)
def test_what_is_left_without_outliers_is_connected(numbers):
    for seed in numbers:
        X, _, _, graph = random_problem(seed, n=40, k=4)
        whole = fitted(4, graph, X, n_init=1)
        for level in np.unique(whole.assignment_radius_):
            assert check_connected(np.where(whole.assignment_radius_ <= level, whole.labels_, -1), graph)
        for outliers in (0.0, 0.1, 0.3, "auto"):
            how = {"growth": ("continuous", "rounds")[seed % 2], "n_init": 1}
            model = fitted(4, graph, X, outliers=outliers, **how)
            kept = model.labels_ >= 0
            assert sorted(set(model.labels_[kept].tolist())) == [0, 1, 2, 3]
            assert check_connected(model.labels_, graph)
            away = np.linalg.norm(X - X[model.center_indices_[model.labels_]], axis=1)[kept]
            assert model.radius_ == pytest.approx(away.max())
            assert outliers == "auto" or (~kept).sum() <= outliers * 40


def test_a_clear_gap_parts_outliers_from_the_rest():
    radii = np.concatenate([np.linspace(0.0, 1.0, 40), [5.0, 5.1]])
    assert np.flatnonzero(far_out(radii, "auto")).tolist() == [40, 41]
    assert not far_out(radii[:40], "auto").any()
    assert not far_out(np.zeros(5), "auto").any()
    tied = np.array([0.0, 1.0, 2.0, 2.0, 2.0])
    assert far_out(tied, 0.4).sum() == 0  # what is tied stays together
    assert far_out(tied, 0.6).sum() == 3
    X = np.concatenate([np.arange(30.0) / 10, [40.0]])[:, None]
    model = fitted(2, [(i, i + 1) for i in range(30)], X, outliers="auto", algorithm="netscan", init=[5, 20])
    assert model.labels_[-1] == -1
    assert model.radius_ < 3.0
    assert model.approx_ratio_ > model.radius_ / model.lower_bound_  # outliers counted
    assert "left out" in model.account().sections[0].text


# Forms and parameters


def test_moves_at_the_rim_only_help():
    for seed in range(10):
        X, _, _, graph = random_problem(seed, n=60, k=4)
        plain, moved = (
            fitted(4, graph, X, algorithm="farthest-first", refine=how).radius_ for how in (False, True)
        )
        assert moved <= plain


def test_given_seeds_keep_their_numbers():
    X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    assert fitted(2, PATH, X, init=[5, 0]).labels_.tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "precomputed", "function"])
def test_other_distances(metric):
    X, _, _, graph = random_problem(1, n=30)
    rows = cdist(X, X) if metric == "precomputed" else X
    how = (lambda a, b: float(np.abs(a - b).sum())) if metric == "function" else metric
    model = fitted(3, graph, rows, metric=how)
    assert check_connected(model.labels_, graph)
    assert np.isnan(model.lower_bound_) == np.isnan(model.approx_ratio_) == (metric == "cosine")
    if metric == "precomputed":
        assert model.radius_ == pytest.approx(rows[np.arange(30), model.center_indices_[model.labels_]].max())
    exact = fitted(3, graph, rows, metric=how, algorithm="enumerate")
    assert exact.lower_bound_ <= exact.radius_
    assert "no metric" in fitted(3, graph, X, metric="cosine").account().sections[0].text


def test_sparse_rows_are_rows():
    X, _, _, graph = random_problem(2, n=30)
    dense, thin = (fitted(3, graph, rows) for rows in (X, sparse.csr_array(X)))
    assert dense.labels_.tolist() == thin.labels_.tolist()
    assert dense.radius_ == pytest.approx(thin.radius_)


def test_copies_of_rows_still_give_clusters():
    X = np.repeat([[0.0, 1.0], [0.0, 2.0]], 15, axis=0)
    edges = [(i, i + 1) for i in range(29)]
    for rows in (np.zeros((30, 2)), X):
        for algorithm in ALGORITHMS:
            for growth in ("continuous", "rounds"):
                model = fitted(5, edges, rows, algorithm=algorithm, growth=growth)
                check_outcome(model, rows, read_graph(edges, 30), 5)
                assert (model.radius_, model.approx_ratio_) == (0.0, 1.0)


def test_labels_that_fall_apart_are_told():
    found = check_connected([0, 1, 0, 1, -1, 2], PATH)
    assert not found
    assert found.clusters.tolist() == [0, 1, 2]
    assert found.pieces.tolist() == [2, 2, 1]
    assert "2 of 3 clusters fall apart: cluster 0 is in 2 pieces, cluster 1 is in 2 pieces." in str(found)
    assert str(check_connected([0, 0, 1, 1, 1, -1], PATH)) == "None of 2 clusters falls apart."
    assert check_connected([0, 1, 0], None)
    assert not check_connected([0, -1, 0, 1, 1, 1], PATH)  # what is left out holds nothing together


def test_the_account_has_a_certificate(tmp_path):
    X, _, _, graph = random_problem(1, n=30)
    account = fitted(3, graph, X).account()
    assert account.graph.nnz == graph.nnz
    assert "times the best" in account.sections[0].text
    assert account.figures["radius"] == account.trace.values[-1]
    page = fitted(3, graph, X, outliers=0.1).report(X, tmp_path / "page.html").read_text()
    assert "3 items that would be reached last are left out" in page


# Hostile input


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"n_clusters": 1},
            r"has 2 islands \(the smallest has 3 of the 6 items, one of them item 0\).*at least 2",
        ),
        ({"n_clusters": 7}, "n_clusters=7, but X has n_samples=6 rows"),
        ({"init": [0, 1]}, "init has no item on the island of item 3"),
        ({"init": [0, 0]}, "init must hold 2 different row numbers below 6"),
        ({"init": [0, 9]}, "init must hold 2 different row numbers below 6"),
        ({"init": "ward"}, "init of ConnectedKCenter must be 'gonzalez' or 'degree' or an array of items"),
        ({"outliers": 1.5}, "outliers of ConnectedKCenter must be"),
        ({"connectivity": [(0, 9)]}, "9"),
        ({"metric": "precomputed"}, "square"),
    ],
)
def test_parameters_that_cannot_be(words, message):
    edges = [(0, 1), (1, 2), (3, 4), (4, 5)]
    with pytest.raises(ValueError, match=message):
        ConnectedKCenter(**{"n_clusters": 2, "connectivity": edges, **words}).fit(
            np.arange(12.0).reshape(6, 2)
        )


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ((0, 1), 9.0, "symmetric"),
        ((0, 1), -1.0, "not be negative"),
        ((2, 2), 5.0, "itself must be 0"),
        ((0, 1), np.nan, "NaN"),
    ],
)
def test_distances_that_are_none(entry, value, message):
    D = oracle.distances(np.arange(4.0)[:, None])
    D = np.array(D)
    D[entry] = value
    with pytest.raises(ValueError, match=message):
        ConnectedKCenter(2, metric="precomputed").fit(D)


def test_steps_refuse_what_they_cannot_do():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match='"enumerate" is for at most 400 items; there are 500'):
        overlapping_k_center(np.zeros((500, 1)), None, 2, "enumerate")
    with pytest.raises(ValueError, match="method must be"):
        overlapping_k_center(X, PATH, 2, "greedy")
    for sources in ([6], [[0, 1]], [], 0.5):
        with pytest.raises(ValueError, match="sources must be row numbers below 6"):
            reaching_distance(X, PATH, sources)
    for k in (7, 2.5, None, True):
        with pytest.raises(ValueError, match=f"k is {k}; it must be a whole number from 1"):
            overlapping_k_center(X, PATH, k)
    with pytest.raises(ValueError, match="dense array; X is sparse"):
        reaching_distance(sparse.eye_array(6).tocsr(), PATH, 0, metric="precomputed")
    for labels, what in ((np.zeros(6), "float64"), (["a"] * 6, "<U1")):
        with pytest.raises(ValueError, match=f"got an array of {what} values"):
            check_connected(labels, PATH)
    with pytest.raises(ValueError, match="so k=1 connected clusters cannot hold all items"):
        overlapping_k_center(X, PATH[1:], 1)
    whole = np.ones((6, 2), dtype=bool)
    for centers, sets, message in (
        ([0, 5], whole[:5], r"sets must be true or false, of shape \(6, 2\)"),
        ([0, 5], np.where(whole, np.nan, 0.0), "sets must be true or false"),
        ([0, 5], [[0, 1, 2], [3]], "sets must be true or false"),
        ([[0, 5]], whole, "centers must be row numbers below 6"),
        ([0.5, 5], whole, "centers must be row numbers below 6"),
        ([0, 0], whole, "two sets have the same center"),
        (
            [0, 1],
            np.array([[1, 1, 0, 1, 1, 1], [0, 1, 1, 0, 0, 0]]).T,
            "set 0 is not connected: it lies in 2",
        ),
        ([0, 5], whole * [True, False], "set 1 does not hold its center"),
        ([0, 5], np.eye(6, 2, dtype=bool) | (np.arange(6) == 5)[:, None], "item 2 is in no set"),
    ):
        with pytest.raises(ValueError, match=message):
            make_disjoint(centers, sets, X, PATH)
    apart = np.array([[1, 0], [0, 1], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    with pytest.raises(ValueError, match="is not connected"):
        make_disjoint([0, 1], apart, X, [(0, 1), (0, 2), (1, 4), (3, 5), (4, 5)])


def test_cosines_need_no_unit_and_bear_zeros():
    X, edges = np.random.default_rng(0).normal(size=(30, 3)), [(i, i + 1) for i in range(29)]
    expected = ConnectedKCenter(4, connectivity=edges, metric="cosine", random_state=0).fit(X)
    for unit in (1e-150, 1e-16, 1e150):
        model = ConnectedKCenter(4, connectivity=edges, metric="cosine", random_state=0).fit(X * unit)
        assert model.radius_ == pytest.approx(expected.radius_)
        assert np.array_equal(model.labels_, expected.labels_)
    zeros = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert ConnectedKCenter(3, metric="cosine").fit(zeros).radius_ == 1.0
    for algorithm in ("enumerate", "netscan", "farthest-first"):
        model = ConnectedKCenter(
            4, metric="cosine", connectivity=[(0, 1), (1, 2), (2, 3)], algorithm=algorithm
        )
        assert model.fit(zeros).radii_.tolist() == [0.0] * 4
        assert model.approx_ratio_ == 1.0


def test_distances_out_of_range_are_refused():
    X = np.random.default_rng(0).normal(size=(6, 2))
    for unit, word in ((1e200, "too large"), (1e-200, "too small")):
        with pytest.raises(ValueError, match=word):
            fitted(2, PATH, X * unit)
    with pytest.raises(ValueError, match="too large"):
        reaching_distance(X * 1e200, PATH, 0)
    for one, word in ((np.nan, "nan"), (np.inf, "inf"), (-1.0, "-1.0")):
        for edges in (PATH, None):
            with pytest.raises(ValueError, match=f"gives the distance {word} between two items"):
                ConnectedKCenter(2, connectivity=edges, metric=lambda a, b, one=one: one).fit(X)


def test_metrics_of_yes_and_no_and_those_without_sparse_rows():
    X = np.random.default_rng(0).random((6, 5)) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(2, PATH, X.astype(float), metric="jaccard")
    given = fitted(2, PATH, cdist(X, X, "jaccard"), metric="precomputed")
    assert model.lower_bound_ == given.lower_bound_
    with pytest.raises(ValueError, match="metric='chebyshev' takes no sparse rows"):
        fitted(2, PATH, sparse.csr_array(X.astype(float)), metric="chebyshev")


def test_constraints_are_refused_by_name():
    with pytest.raises(UnsupportedConstraintError, match="kind must-link; it takes none"):
        ConnectedKCenter(2).fit(np.zeros((6, 1)), constraints=Constraints([(0, 1)], n_items=6))


def test_directed_weighted_graphs_and_ids_are_read():
    X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    one_way = sparse.csr_array(np.triu(np.eye(6, k=1)) * 0.5)
    assert fitted(2, one_way, X).labels_.tolist() == fitted(2, PATH, X).labels_.tolist()
    names = list("abcdef")
    known = Constraints(n_items=6).with_ids(names)
    model = ConnectedKCenter(2, connectivity=[(names[i], names[j]) for i, j in PATH])
    assert model.fit(X, constraints=known).labels_.tolist() == fitted(2, PATH, X).labels_.tolist()
