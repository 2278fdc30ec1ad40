"""EMC: edges bent by pairs against the definition and by hand; the whole method, its limits and its traps."""

import itertools
import sys
import tracemalloc

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import adjusted_rand_score, rand_score

from coterie import EMC, ConstrainedLinkage, Constraints, InfeasibleConstraintsError, KMedoids
from coterie.exceptions import ParameterError, UnsupportedConstraintError, ViolatedConstraintsWarning
from coterie.graph import adjust_weights, knn_graph
from coterie.graph._field import adjustment
from coterie.graph._field.disjoint_paths import path_distances
from coterie.graph._field.lengths import read_lengths
from coterie.metrics import pair_scores
from tests.marks import outvoted
from tests.oracles import emc as oracle

PATH = [(1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 5, 1.0)]  # items 1 to 5; 0 is alone
LITERAL = {"norm": "none", "average": "all", "constraint_edges": "none"}


def on_path(must=(), cannot=(), graph=PATH, **words):
    """The new lengths of the edges of the path, and of 2-4."""
    found = adjust_weights(graph, Constraints(must, cannot, n_items=6), **words)
    ends = [(1, 2), (2, 3), (3, 4), (4, 5), (2, 4)]
    return [float(found.graph[i, j]) for i, j in ends], found


def known_of(y, n_pairs, seed=0, noise=0.0):
    return Constraints.sample(y, n_pairs=n_pairs, noise=noise, random_state=seed)


# ---- bent edges -------------------------------------------------------------------------------------------


def test_the_worked_path():
    for words, must, cannot in (
        (LITERAL, 1.6**-0.5, 1.6**0.25),
        ({**LITERAL, "norm": "max"}, 1 / 1.6, 1.6),
        ({**LITERAL, "norm": "minmax", "average": "affecting"}, 1 / 1.6, 1.6),
    ):
        lengths, found = on_path(must=[(2, 4)], **words)
        assert lengths == pytest.approx([1, must, must, 1, 0])
        assert found.edge_ratio[2, 3] == pytest.approx(np.log(must) / np.log(1.6))
        assert on_path(cannot=[(2, 4)], **words)[0] == pytest.approx([1, cannot, cannot, 1, 0])


def test_a_must_link_that_is_an_edge_affects_itself_alone():
    words = {**LITERAL, "constraint_edges": "must"}
    lengths, found = on_path(must=[(2, 4)], **words)
    assert lengths == pytest.approx([1, 1, 1, 1, 2 * 1.6**-0.5])
    assert found.n_unaffected == 0
    # its own edge has r = 2, and of a cannot-link delta = 3
    assert on_path(cannot=[(2, 4)], **{**words, "constraint_edges": "both"})[0] == pytest.approx(
        [1, 1, 1, 1, 2 * 1.6 ** (1 / 6)]
    )
    # an edge that is there is kept as it is
    assert on_path(must=[(2, 3)], **words)[0] == pytest.approx([1, 1.6**-0.5, 1, 1, 0])


def test_both_kinds_on_one_pair_do_not_lengthen():
    lengths, _ = on_path(must=[(2, 4)], cannot=[(2, 4)], **LITERAL)
    assert lengths[1:3] == pytest.approx([1.6 ** (0.25 - 0.5)] * 2)
    stronger = Constraints([(2, 4)], [(2, 4)], n_items=6, weight=[0.4, 2.0])
    found = adjust_weights(PATH, stronger, **LITERAL)
    assert found.edge_ratio[2, 3] == pytest.approx(2.0 * 0.25 - 0.4 * 0.5)


@pytest.mark.parametrize("norm", ["max", "none", "minmax"])
@pytest.mark.parametrize("average", ["affecting", "all"])
def test_ratios_by_the_definition(norm, average):
    rng = np.random.default_rng(3)
    for edges in ("must", "none", "both"):
        X = rng.normal(size=(24, 2))
        ends = rng.permutation(24)[:20].reshape(10, 2)
        strength = rng.uniform(0.5, 3.0, size=10)
        known = Constraints(ends[:5], ends[5:], n_items=24, weight=strength)
        words = {"norm": norm, "average": average, "constraint_edges": edges}
        plain = knn_graph(X, 3)
        found = adjust_weights(plain, known, X=X, alpha=3.0, **words)
        pairs = [
            (i, j, apart, w)
            for table, apart in ((known.must_table, False), (known.cannot_table, True))
            for (i, j), w in zip(table.ij.tolist(), table.weight.tolist(), strict=True)
        ]
        axis = [float(np.linalg.norm(X[i] - X[j])) for i, j, _, _ in pairs]
        graph = oracle.graph_of(plain)
        for (i, j, apart, _), w in zip(pairs, axis, strict=True):
            if edges == "both" or (edges == "must" and not apart):
                graph[i].setdefault(j, w)
                graph[j].setdefault(i, w)
        ratio, n_unaffected = oracle.ratios(graph, pairs, axis, norm, average)
        assert found.n_unaffected == n_unaffected
        assert found.graph.nnz == found.edge_ratio.nnz == 2 * len(ratio)
        for (u, v), expected in ratio.items():
            assert found.edge_ratio[u, v] == pytest.approx(expected, abs=1e-12)
            assert found.graph[v, u] == pytest.approx(graph[u][v] * 3.0**expected)
        if norm != "none":
            assert np.abs(found.edge_ratio.data).max() <= 1 + 1e-12


def test_without_rows_the_axis_is_the_edge_or_the_shortest_path():
    graph = knn_graph(np.random.default_rng(0).normal(size=(30, 2)), 3)
    far = path_distances(graph, "shortest", 1)
    known = known_of(np.arange(30) % 2, 12)
    axis = np.where(graph.toarray() > 0, graph.toarray(), far)
    here = adjust_weights(graph, known)
    by_table = adjust_weights(graph, known, X=axis, metric="precomputed")
    np.testing.assert_allclose(here.graph.toarray(), by_table.graph.toarray())


@outvoted
def test_the_unit_the_order_and_the_numbers_of_the_items_change_nothing():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) % 3
    known = known_of(y, 20)
    one = adjust_weights(knn_graph(X, 4), known, X=X)
    large = adjust_weights(knn_graph(1e6 * X, 4), known, X=1e6 * X)
    np.testing.assert_allclose(large.edge_ratio.toarray(), one.edge_ratio.toarray(), atol=1e-12)
    order = rng.permutation(40)
    moved = adjust_weights(knn_graph(X[order], 4), known[order], X=X[order])
    np.testing.assert_allclose(moved.graph.toarray(), one.graph.toarray()[np.ix_(order, order)])
    told = [
        EMC(3, n_neighbors=4, weight=0.0).fit(rows, constraints=known).labels_ for rows in (X, 2.0**20 * X)
    ]
    np.testing.assert_array_equal(*told)


def test_no_pairs_and_an_alpha_near_one_leave_the_lengths():
    graph = knn_graph(load_iris().data[::3], 4)
    for known in (None, Constraints(n_items=50), Constraints([(0, 9)], n_items=50, weight=0.0)):
        found = adjust_weights(graph, known)
        assert (found.graph != graph).nnz == 0
        assert not found.edge_ratio.toarray().any()
    known = known_of(load_iris().target[::3], 20)
    near = adjust_weights(graph, known, alpha=1 + 1e-9, constraint_edges="none")
    np.testing.assert_allclose(near.graph.toarray(), graph.toarray(), rtol=1e-8)
    huge = adjust_weights(graph, known, alpha=1e300)
    assert np.isfinite(huge.graph.data).all()
    assert (huge.graph.data > 0).all()


def test_pairs_that_affect_no_edge_are_counted():
    square = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 3, 1.0), (0, 2, 1.0), (1, 3, 1.0)]
    away = Constraints(cannot_link=[(0, 4), (0, 1)], n_items=6)
    found = adjust_weights([*square, (4, 5, 1.0)], away)
    assert found.n_unaffected == 1  # no path leads to 4
    assert found.graph[4, 5] == 1
    # a must-link joins the parts, by an edge of the mean length, which it shortens
    joined = adjust_weights([*square, (4, 5, 3.0)], Constraints([(0, 4)], n_items=6))
    assert joined.graph[0, 4] == pytest.approx(9 / 7 / 1.6)


def test_a_cannot_link_joins_no_parts():
    far = [(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0), (4, 5, 1.0)]
    found = adjust_weights(far, Constraints(cannot_link=[(2, 3)], n_items=6), constraint_edges="both")
    assert found.graph[2, 3] == 0
    assert found.n_unaffected == 1


def test_rows_are_those_of_the_graph():
    known = Constraints([(0, 1)], n_items=3)
    with pytest.raises(ValueError, match="X has 5 rows, but the graph has 3 nodes"):
        adjust_weights([(0, 1, 1.0), (1, 2, 1.0)], known, X=np.eye(5))
    with pytest.raises(ParameterError, match=r"metric must be .*; got 'manhattan'"):
        adjust_weights([(0, 1, 1.0), (1, 2, 1.0)], known, X=np.eye(3), metric="manhattan")


def test_searches_are_kept_and_not_what_they_say_of_each_edge():
    n = 1_000
    graph = knn_graph(np.random.default_rng(0).normal(size=(n, 2)), 8)
    known = Constraints(cannot_link=np.arange(n).reshape(-1, 2), n_items=n)
    tracemalloc.start()
    try:
        adjust_weights(graph, known)
        assert tracemalloc.get_traced_memory()[1] < 3 * 8 * n * n
    finally:
        tracemalloc.stop()


def test_pairs_in_one_place():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [4.0]])
    found = adjust_weights(knn_graph(X, 2), Constraints([(0, 1)], n_items=5), X=X)
    assert found.n_unaffected == 1
    assert not found.edge_ratio.data.any()
    apart = Constraints(cannot_link=[(0, 1)], n_items=5)
    with pytest.warns(UserWarning, match="0 and 1 are in one place, yet must not share a cluster"):
        found = adjust_weights(knn_graph(X, 2), apart, X=X)
    assert np.isfinite(found.graph.data).all()
    assert found.edge_ratio[0, 1] == pytest.approx(1)


def test_groups_are_the_pairs_they_stand_for(monkeypatch):
    X = np.random.default_rng(2).normal(size=(20, 2))
    told = np.where(np.arange(20) % 4 == 0, np.arange(20) % 3, -1)
    items = np.flatnonzero(told >= 0)
    pairs = list(itertools.combinations(items.tolist(), 2))
    must = [(i, j) for i, j in pairs if told[i] == told[j]]
    cannot = [(i, j) for i, j in pairs if told[i] != told[j]]
    graph = knn_graph(X, 3)
    by_labels = adjust_weights(graph, told, X=X)
    by_pairs = adjust_weights(graph, Constraints(must, cannot, n_items=20), X=X)
    np.testing.assert_allclose(by_labels.graph.toarray(), by_pairs.graph.toarray())
    monkeypatch.setattr(adjustment, "_MOST_PAIRS", 5)
    with pytest.raises(UnsupportedConstraintError, match=r"they stand for 10 pairs, more than 5 \(a label"):
        adjust_weights(graph, told, X=X)


# ---- the method -------------------------------------------------------------------------------------------


def test_without_constraints_it_is_k_medoids_along_the_graph():
    X = load_iris().data[::2]
    D = path_distances(knn_graph(X), "ksd", 5)
    plain = KMedoids(3, metric="precomputed", init="neighborhoods").fit(D)
    model = EMC(3).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    assert model.objective_ == plain.objective_
    for how in ("shortest", "greedy"):
        D = path_distances(knn_graph(X[:40]), how, 5)
        plain = KMedoids(2, metric="precomputed", init="neighborhoods").fit(D)
        assert EMC(2, distance=how).fit(X[:40]).objective_ == plain.objective_
    one = EMC(2, n_paths=1).fit(X[:40])
    assert one.objective_ == EMC(2, distance="shortest").fit(X[:40]).objective_


@outvoted
def test_objective_against_every_set_of_medoids():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(11, 2))
        known = known_of(rng.integers(2, size=11), 4)
        model = EMC(3, n_neighbors=3, weight=0.0).fit(X, constraints=known)
        D = path_distances(model.graph_, "ksd", 3)
        sums = [D[:, chosen].min(axis=1).sum() for chosen in itertools.combinations(range(11), 3)]
        assert min(sums) - 1e-9 <= model.objective_ <= np.median(sums)
        assert model.objective_ == pytest.approx(D[:, model.medoid_indices_].min(axis=1).sum())
        assert (np.diff(model.history_) <= 1e-9).all()


@outvoted
def test_pairs_carry_over_to_their_neighbourhood():
    """Two moons, which no metric parts: pairs as edges and lengths do."""
    X, y = make_moons(200, noise=0.05, random_state=0)
    found = []
    for seed in range(3):
        known = known_of(y, 40, seed)
        rest = np.ones(200, bool)
        rest[known.constrained_items] = False
        labels = [
            model.fit(X, constraints=known).labels_[rest]
            for model in (EMC(2, weight=0.0, alpha=5.0), KMedoids(2, weight=0.0, random_state=0))
        ]
        found.append([adjusted_rand_score(y[rest], one) for one in labels])
    ours, plain = np.mean(found, axis=0)
    assert ours > plain + 0.15


@outvoted
def test_weight_zero_obeys_hard_pairs_alone():
    X, y = load_iris(return_X_y=True)
    known = known_of(y, 60, noise=0.2)
    paper, priced = (EMC(3, weight=w).fit(X, constraints=known) for w in (0.0, "auto"))
    np.testing.assert_allclose(paper.graph_.toarray(), priced.graph_.toarray())
    assert paper.violations_.n_broken > priced.violations_.n_broken
    assert paper.weight_ == 0
    assert priced.weight_ > 0
    hard = Constraints([(0, 149)], n_items=150, hard=True)
    assert not EMC(3, weight=0.0).fit(X, constraints=hard | known).violations_.n_hard
    with pytest.raises(InfeasibleConstraintsError):
        EMC(3).fit(X, constraints=hard | Constraints(cannot_link=[(0, 149)], n_items=150, hard=True))


def test_rand_index_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    labels = EMC(3).fit(X).labels_
    scores = pair_scores(y, labels)
    agree = [(y[i] == y[j]) == (labels[i] == labels[j]) for i, j in itertools.combinations(range(150), 2)]
    assert rand_score(y, labels) == pytest.approx(np.mean(agree))
    assert 0 < scores.f1 < 1


# ---- graphs and distances ---------------------------------------------------------------------------------


def test_parts_of_a_graph_are_the_clusters_where_there_are_as_many():
    blocks = [knn_graph(np.random.default_rng(seed).normal(size=(12, 2)), 3) for seed in range(3)]
    graph = sparse.block_diag(blocks, format="csr")
    y = np.repeat([0, 1, 2], 12)
    model = EMC(3, metric="graph").fit(graph)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert (model.graph_ != graph).nnz == 0
    with pytest.warns(UserWarning, match="the graph falls into 3 parts, more than n_clusters=2"):
        two = EMC(2, metric="graph").fit(graph)
    assert all(len(set(two.labels_[y == part])) == 1 for part in range(3))
    known = Constraints([(0, 13)], n_items=36)
    assert EMC(2, metric="graph").fit(graph, constraints=known).labels_[[0, 13, 30]].tolist() == [0, 0, 1]
    with pytest.warns(UserWarning, match="falls into 4 parts"):
        EMC(2, metric="graph").fit(sparse.csr_matrix((4, 4)))


@outvoted
def test_graphs_in_all_forms_and_by_name():
    X = load_iris().data[::5]
    graph = knn_graph(X, 4)
    known = known_of(load_iris().target[::5], 8)
    model = EMC(3, metric="graph").fit(graph, constraints=known)
    cells = sparse.triu(graph).tocoo()
    triples = list(zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True))
    net = nx.Graph()
    net.add_weighted_edges_from((f"flower {j}", f"flower {i}", w) for i, j, w in triples[::-1])
    named = known.with_ids([f"flower {i}" for i in range(30)])
    for form, what in ((graph.toarray(), known), (triples, known), (graph.tocoo(), known), (net, named)):
        again = EMC(3, metric="graph").fit(form, constraints=what)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        np.testing.assert_allclose(again.graph_.toarray(), model.graph_.toarray())
    with pytest.raises(ValueError, match="has the length -1; lengths are not negative"):
        EMC(2, metric="graph").fit([(0, 1, -1.0), (1, 2, 3.0)])
    for wrong in (5, [(0, 1), (1, 2)]):  # refused as with rows
        with pytest.raises(TypeError, match="constraints must be a Constraints or one partial label per row"):
            EMC(2, metric="graph").fit(graph, constraints=wrong)
    with pytest.raises(ValueError, match="n_clusters=8, but X has n_samples=3 rows"):
        EMC(metric="graph").fit([(0, 1, 1.0), (1, 2, 3.0)])


@outvoted
def test_given_distances_are_those_of_the_rows():
    X = np.random.default_rng(0).normal(size=(60, 3))
    known = known_of(np.arange(60) % 3, 20)
    rows = EMC(3).fit(X, constraints=known)
    given = EMC(3, metric="precomputed").fit(cdist(X, X), constraints=known)
    np.testing.assert_allclose(given.graph_.toarray(), rows.graph_.toarray())
    np.testing.assert_array_equal(given.labels_, rows.labels_)
    odd = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))) ** 2  # no triangle inequality
    assert EMC(2, metric="precomputed", n_neighbors=2).fit(odd).labels_.tolist() in (
        [[0] * 5 + [1] * 4, [0] * 4 + [1] * 5, [1] * 5 + [0] * 4, [1] * 4 + [0] * 5]
    )
    for bad, words in (
        (odd[:5], "must be square"),
        (odd - 3, r"must not be negative"),
        (odd + np.eye(9, k=1), "must be symmetric"),
        (odd + np.eye(9), r"itself must be 0; X\[0, 0\] is 1"),
    ):
        with pytest.raises(ValueError, match=words):
            EMC(2, metric="precomputed").fit(bad)


# ---- parts, other clusterers, bad input -------------------------------------------------------------------


@outvoted
def test_parts_and_hubs():
    pytest.importorskip("pymetis")
    X, y = load_iris(return_X_y=True)
    known = known_of(y, 40)
    exact = EMC(3).fit(X, constraints=known)
    assert not len(exact.hub_indices_)
    few, many = (
        EMC(3, n_partitions=5, hubs_per_pair=h, random_state=0).fit(X, constraints=known) for h in (2, "all")
    )
    assert 0 < len(few.hub_indices_) < len(many.hub_indices_)
    assert adjusted_rand_score(exact.labels_, many.labels_) > 0.7
    paths = {"distance": "shortest", "weight": 0.0}
    one = EMC(3, **paths).fit(X, constraints=known)
    all_hubs = EMC(3, n_partitions=5, random_state=0, **paths).fit(X, constraints=known)
    assert all_hubs.objective_ == pytest.approx(one.objective_)
    np.testing.assert_array_equal(all_hubs.labels_, one.labels_)


@outvoted
def test_one_part_is_exact_where_items_repeat():
    """Bent edges between copies are tiny; read again, they must not become longer."""
    X = np.random.default_rng(0).integers(4, size=(120, 2)).astype(float)
    known = known_of(X[:, 0] > 1, 60)
    one, exact = (EMC(2, n_partitions=parts).fit(X, constraints=known) for parts in (1, None))
    assert (read_lengths(exact.graph_) != exact.graph_).nnz == 0
    assert exact.graph_.data.min() < knn_graph(X).data.min()
    assert one.objective_ == exact.objective_
    np.testing.assert_array_equal(one.labels_, exact.labels_)


def test_metis_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ImportError, match=r'pip install "coterie\[solvers\]"'):
        EMC(2, n_partitions=3).fit(load_iris().data)


class FirstOfAll(ClusterMixin, BaseEstimator):
    """Clusters by nothing, and notes what it was given."""

    def __init__(self, metric="precomputed"):
        self.metric = metric

    def fit(self, X, y=None, *, constraints=None):
        type(self).seen = X, constraints
        self.labels_ = np.zeros(len(X), dtype=int)
        return self


@outvoted
def test_another_clusterer_takes_the_distances():
    X, y = load_iris(return_X_y=True)
    known = known_of(y, 30)
    tree = EMC(3, clusterer=AgglomerativeClustering(metric="precomputed", linkage="average"))
    tree.fit(X, constraints=known)
    D = path_distances(tree.graph_, "ksd", 5)
    plain = AgglomerativeClustering(3, metric="precomputed", linkage="average").fit(D)
    np.testing.assert_array_equal(tree.labels_, plain.labels_)
    own = D[:, tree.medoid_indices_[tree.labels_]].diagonal()
    assert tree.objective_ == pytest.approx(own.sum())
    assert tree.obeys == "none"
    obeying = EMC(3, clusterer=ConstrainedLinkage(metric="precomputed", linkage="average"))
    assert obeying.obeys == "all"
    assert not obeying.fit(X, constraints=known).violations_
    EMC(3, clusterer=FirstOfAll()).fit(X, constraints=known)
    assert FirstOfAll.seen[0].shape == (150, 150)
    assert FirstOfAll.seen[1] == known
    noise = EMC(3, clusterer=DBSCAN(eps=1e-3, metric="precomputed")).fit(X)
    assert set(noise.labels_) == {-1}
    assert not len(noise.medoid_indices_)
    for wrong in (FirstOfAll("euclidean"), KMeans(), SpectralClustering(affinity="precomputed")):
        with pytest.raises(ParameterError, match='clusterer must take distances: metric="precomputed"'):
            EMC(3, clusterer=wrong).fit(X)


@outvoted
def test_outvoted_pairs_are_told_once():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ViolatedConstraintsWarning) as told:
        EMC(3, weight=0.0).fit(X, constraints=known_of(y, 60, noise=0.3))
    assert len([one for one in told if one.category is ViolatedConstraintsWarning]) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "manhattan"), ("n_neighbors", 0), ("n_paths", 0), ("alpha", 1.0), ("norm", "mean"),
        ("constraint_edges", "cannot"), ("average", "some"), ("distance", "resistance"), ("n_partitions", 0),
        ("hubs_per_pair", 0), ("weight", -1.0), ("clusterer", "kmedoids"), ("n_clusters", 0),
    ],
)  # fmt: skip
def test_nonsense_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name} of EMC must be"):
        EMC(**{"n_clusters": 2, name: value}).fit(np.eye(4))


def test_too_many_items_are_refused_before_any_work():
    with pytest.raises(ValueError, match=r"30,000 items are a table of 7\.2 GB; the limit is 20,000 items"):
        EMC(2).fit(np.zeros((30_000, 2)))


@pytest.mark.parametrize("metric", ["euclidean", "graph"])
@outvoted
def test_a_report_is_written(tmp_path, metric):
    X, y = load_iris(return_X_y=True)
    X = X if metric == "euclidean" else knn_graph(X)
    model = EMC(3, metric=metric).fit(X, constraints=known_of(y, 10))
    text = model.report(X, tmp_path / "page.html").read_text()
    assert "EMC" in text


@pytest.mark.slow
@outvoted
def test_many_random_fits_keep_their_promises():
    rng = np.random.default_rng(0)
    for seed in range(150):
        n = int(rng.integers(6, 60))
        X = np.round(rng.normal(size=(n, 2)), 1)
        known = Constraints.sample(
            rng.integers(3, size=n), n_pairs=int(rng.integers(1, n)), random_state=seed
        )
        words = {
            "n_neighbors": int(rng.integers(1, 8)),
            "norm": str(rng.choice(["max", "none", "minmax"])),
            "average": str(rng.choice(["affecting", "all"])),
            "constraint_edges": str(rng.choice(["must", "none", "both"])),
            "distance": str(rng.choice(["ksd", "shortest", "greedy"])),
            "n_partitions": [None, 2, 4][int(rng.integers(3))],
        }
        if (cdist(X, X)[tuple(known.cannot_link.T)] == 0).any():
            continue
        plain = knn_graph(X, words["n_neighbors"])
        model = EMC(3, random_state=0, **words).fit(X, constraints=known)
        old, new = plain.toarray(), model.graph_.toarray()
        edge = (old > 0) & (new > 0)
        assert (new[edge] <= old[edge] * 1.6 * (1 + 1e-9)).all()
        assert (new[edge] >= old[edge] / 1.6 * (1 - 1e-9)).all()
        assert ((new > 0) >= (old > 0)).all()
        assert np.isfinite(model.objective_)
        assert set(model.labels_) <= {0, 1, 2}
