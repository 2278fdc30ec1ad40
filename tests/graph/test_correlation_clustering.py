"""CorrelationClustering: against all partitions, exactly k, soft and hard constraints, disputes, nonsense."""

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, CorrelationClustering, InfeasibleConstraintsError
from coterie.adjacency import read_weights
from coterie.exceptions import ParameterError
from coterie.graph import ClusterEditing, correlation_cost, correlation_lp, triple_packing_bound
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import signed_graph
from tests.marks import few_of, outvoted
from tests.oracles import correlation

WEIGHT = 0.7


def problem(seed, with_constraints):
    """Some signed weights of a few items, listed or not; and constraints of all kinds, hard and soft."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    W = np.triu(np.round(rng.normal(size=(n, n)), 2) * (rng.uniform(size=(n, n)) < 0.7), 1)
    default = float(rng.choice([0.0, -0.3, -1.0]))
    truth = rng.integers(0, 3, n)
    known = Constraints(n_items=n)
    if with_constraints:
        pairs = rng.permutation(np.column_stack(np.triu_indices(n, 1)))[:3]
        same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        known = Constraints(
            pairs[same],
            pairs[~same],
            n_items=n,
            hard=rng.uniform(size=len(pairs)) < 0.5,
            weight=rng.uniform(0.5, 2.0, len(pairs)),
        )
        known = known | Constraints.across([None if rng.uniform() < 0.4 else int(x) for x in truth])
        if rng.uniform() < 0.5:
            frames = [int((truth[:i] == truth[i]).sum()) for i in range(n)]
            known = known | Constraints.distinct(frames)
    return sparse.csr_matrix(W + W.T), default, known


def objective(X, default, known, labels):
    """By definition: disagreements, and the soft constraints that are broken."""
    broken = known.violations(labels)
    soft = sum(float(t.strength[~t.hard].sum()) for t in (broken.must_link, broken.cannot_link))
    return disagreements(X, default, labels) + WEIGHT * soft


def disagreements(X, default, labels):
    full = np.where(X.toarray() != 0, X.toarray(), default)
    return correlation.cost(full, labels)


def all_partitions(n):
    return [np.array(labels) for labels in correlation.partitions(n)]


@outvoted
@few_of(12, 250)
@pytest.mark.filterwarnings("ignore:all weights are 0")  # some problems have none
@pytest.mark.parametrize("with_constraints", [False, True])
def test_no_partition_is_better(numbers, with_constraints, seed):
    for number in numbers:
        X, default, known = problem([seed, number], with_constraints)
        legal = [p for p in all_partitions(X.shape[0]) if not known.only_hard().violations(p).n_broken]
        for k in (None, 2, 3):
            model = CorrelationClustering(k, default=default, weight=WEIGHT, random_state=0)
            costs = [objective(X, default, known, p) for p in legal if k in (None, p.max() + 1)]
            if not costs:
                with pytest.raises((InfeasibleConstraintsError, ParameterError)):
                    model.fit(X, constraints=known)
                continue
            model.fit(X, constraints=known)
            assert model.objective_ == pytest.approx(objective(X, default, known, model.labels_), abs=1e-9)
            assert model.lower_bound_ - 1e-9 <= min(costs) <= model.objective_ + 1e-9
            assert model.disagreements_ == pytest.approx(disagreements(X, default, model.labels_), abs=1e-9)
            if k is None:
                assert model.objective_ == pytest.approx(min(costs), abs=1e-9)
                assert model.bound_ == "exact"
                assert (np.diff(model.history_) <= 1e-9).all()
            else:
                assert len(np.unique(model.labels_)) == k


@few_of(5, 60)
@pytest.mark.filterwarnings("ignore:all weights are 0")  # some problems have none
def test_identities(numbers, seed):
    """Section 3: agreements, disagreements and what is kept together make up all there is."""
    for number in numbers:
        X, default, _ = problem([seed, number, 1], False)
        model = CorrelationClustering(default=default, random_state=0).fit(X)
        full = np.where(X.toarray() != 0, X.toarray(), default)
        upper = full[np.triu_indices(len(full), 1)]
        same = (model.labels_[:, None] == model.labels_)[np.triu_indices(len(full), 1)]
        attract, repel, kept = upper[upper > 0].sum(), -upper[upper < 0].sum(), upper[same].sum()
        assert model.disagreements_ == pytest.approx(attract - kept, abs=1e-9)
        assert model.agreements_ == pytest.approx(repel + kept, abs=1e-9)


def test_no_single_move_gains_at_the_end(seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.normal(size=(60, 60)), 1)
    graph = signed_graph(sparse.csr_matrix(W + W.T), 0.0, Constraints(n_items=60))
    label, cost = improve_partition(graph.level, np.arange(60), rng, 0.0, graph.cost(np.arange(60)))
    assert graph.cost(label) == pytest.approx(cost)
    for v in range(60):
        for c in range(61):
            moved = label.copy()
            moved[v] = c
            assert graph.cost(moved) >= cost - 1e-9


def test_scale_and_order_change_nothing(seed):
    X, default, known = problem([seed, 7], True)
    n = X.shape[0]
    one = CorrelationClustering(default=default, random_state=0).fit(X, constraints=known.only_hard())
    scaled = CorrelationClustering(default=1e6 * default, random_state=0)
    scaled.fit(1e6 * X, constraints=known.only_hard())
    np.testing.assert_array_equal(one.labels_, scaled.labels_)
    assert scaled.objective_ == pytest.approx(1e6 * one.objective_)
    order = np.random.default_rng(0).permutation(n)
    moved = CorrelationClustering(default=default, random_state=0)
    moved.fit(X[order][:, order], constraints=known.only_hard()[order])
    assert moved.objective_ == pytest.approx(one.objective_)


def test_attractions_alone_and_repulsions_alone():
    W = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]])
    np.testing.assert_array_equal(CorrelationClustering().fit(sparse.csr_matrix(W)).labels_, [0, 0, 1, 1])
    alone = CorrelationClustering().fit(-np.ones((4, 4)))
    assert (alone.disagreements_, len(set(alone.labels_))) == (0.0, 4)


def test_both_attract_and_repel():
    plus, minus = np.zeros((2, 3, 3))
    plus[0, 1] = plus[1, 0] = 3.0
    minus[0, 1] = minus[1, 0] = 1.0
    minus[1, 2] = minus[2, 1] = 2.0
    model = CorrelationClustering().fit(plus, X_minus=minus)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])
    assert (model.disagreements_, model.unavoidable_, model.agreements_) == (1.0, 1.0, 5.0)
    assert model.lower_bound_ == 1.0
    with pytest.raises(ValueError, match=r"X\[0, 1\] is -3"):
        CorrelationClustering().fit(-plus, X_minus=minus)


def test_infinite_weights_hold():
    W = np.array([[0, np.inf, -1.0], [np.inf, 0, 5.0], [-1.0, 5.0, 0]])
    np.testing.assert_array_equal(CorrelationClustering().fit(W).labels_, [0, 0, 0])
    W[1, 2] = W[2, 1] = -np.inf
    np.testing.assert_array_equal(CorrelationClustering().fit(W).labels_, [0, 0, 1])
    W[0, 2] = W[2, 0] = np.inf
    with pytest.raises(InfeasibleConstraintsError):
        CorrelationClustering().fit(W)
    W[0, 2] = 0.0
    with pytest.raises(
        ValueError, match=r"X\[0, 2\] is 0, but X\[2, 0\] is inf|X\[2, 0\] is inf, but X\[0, 2\]"
    ):
        CorrelationClustering().fit(W)
    below = np.zeros((3, 3))
    below[0, 1] = below[1, 0] = -np.inf
    for plus, minus in ((below, np.ones((3, 3))), (np.ones((3, 3)), below)):
        with pytest.raises(ValueError, match=r"\[0, 1\] is -inf"):
            CorrelationClustering().fit(plus, X_minus=minus)


@outvoted
def test_a_pair_with_soft_constraints_both_ways():
    known = Constraints([(0, 1)], n_items=2, weight=[3.0]) | Constraints(None, [(0, 1)], n_items=2)
    model = CorrelationClustering(default=-1.5, weight=1.0).fit(sparse.csr_matrix((2, 2)), constraints=known)
    assert (model.objective_, model.labels_.max()) == (2.5, 0)  # apart it is 3


def test_what_is_proven_needs_no_bound_and_time_ends_starts():
    W = np.array([[0, 1, 1], [1, 0, -1], [1, -1, 0]])
    model = CorrelationClustering(algorithm="exact", bound=None).fit(W)
    assert (model.bound_, model.guarantee_) == (None, 1.0)
    first = CorrelationClustering(algorithm="pivot", refine=False, n_init=1, random_state=0)
    W = np.sign(np.add.outer(np.arange(30), np.arange(30)) % 7 - 3.5)
    many = CorrelationClustering(algorithm="pivot", refine=False, n_init=50, time_limit=1e-9, random_state=0)
    np.testing.assert_array_equal(many.fit(W).labels_, first.fit(W).labels_)


def test_stored_zeros_are_listed():
    # 0 - 1 - 2 attract; 0 and 2 weigh nothing, so that all go together at no cost
    W = np.array([[0, 1, 0], [1 + 1e-12, 0, 1], [0, 1, 0]])
    assert CorrelationClustering(default=-5.0).fit(W).objective_ == 0.0
    for i, j in ((0, 2), (2, 0)):
        X = sparse.csr_matrix(([1.0, 1, 1, 1, 0], ([0, 1, 1, 2, i], [1, 0, 2, 1, j])), (3, 3))
        model = CorrelationClustering(default=-5.0).fit(X)
        assert (model.objective_, model.agreements_, model.labels_.max()) == (0.0, 2.0, 0)


@few_of(12, 250)
def test_some_units_weigh_what_they_weigh_among_all(numbers, seed):
    for number in numbers:
        X, default, known = problem([seed, number], with_constraints=True)
        graph = signed_graph(X, default, known.only_hard())
        units = np.random.default_rng(number).permutation(graph.n)[: 1 + graph.n // 2]
        np.testing.assert_allclose(graph.only(units).weights(), graph.weights()[np.ix_(units, units)])


def test_a_weight_above_all_others_is_as_good_as_infinite():
    rng = np.random.default_rng(0)
    X = np.triu(np.round(rng.normal(size=(16, 16)), 2), 1)
    X += X.T
    X[0, 1] = X[1, 0] = np.inf
    best = CorrelationClustering(algorithm="exact", random_state=0).fit(X).objective_
    X[0, 1] = X[1, 0] = 1e9
    model = CorrelationClustering(algorithm="exact", random_state=0).fit(X)
    assert model.objective_ == pytest.approx(best)
    # nor does it matter in what unit all of them are
    large = CorrelationClustering(algorithm="exact", refine=False, random_state=0)
    large.fit(np.where(X == 1e9, np.inf, 1e7 * X))
    assert (large.objective_, large.bound_) == (pytest.approx(1e7 * best), "exact")
    for algorithm in ("pivot", "cgw"):
        model.set_params(algorithm=algorithm, refine=False, n_init=1, bound="lp").fit(X)
        assert model.lower_bound_ <= best + 1e-6
        assert (model.bound_ == "exact") == (model.objective_ < best + 1e-6)


def test_one_group_of_which_a_cluster_takes_one_item():
    # pairs of a left and a right item, and stray edges; a cluster takes one item of each side
    n, rng = 20_000, np.random.default_rng(0)
    i = np.concatenate([np.arange(n // 2), rng.integers(n, size=n)])
    j = np.concatenate([np.arange(n // 2, n), rng.integers(n, size=n)])
    X = sparse.coo_matrix(
        (np.where(np.arange(len(i)) < n // 2, 2.0, 1.0)[i != j], (i[i != j], j[i != j])), (n, n)
    )
    sides = Constraints.distinct(np.arange(n) // (n // 2))
    model = CorrelationClustering(random_state=0, n_init=1, bound=None).fit(
        (X + X.T).tocsr(), constraints=sides
    )
    assert np.bincount(model.labels_).max() == 2
    assert (model.labels_[: n // 2] == model.labels_[n // 2 :]).mean() > 0.9


def test_small_parts_by_the_thousand_are_each_the_best(seed):
    rng = np.random.default_rng(seed)
    blocks = [np.triu(np.round(rng.normal(size=(size, size)), 2), 1) for size in rng.integers(1, 7, size=60)]
    blocks = [block + block.T for block in blocks]
    least = sum(min(correlation.cost(block, p) for p in all_partitions(len(block))) for block in blocks)
    X = sparse.block_diag(50 * blocks).tocsr()
    for algorithm in ("auto", "exact"):
        model = CorrelationClustering(algorithm=algorithm, n_init=1, random_state=0).fit(X)
        assert model.objective_ == pytest.approx(50 * least)
        assert (model.bound_, model.gap_) == ("exact", pytest.approx(0.0, abs=1e-9))


@pytest.mark.parametrize("huge", [1e308, 3e300])
def test_weights_whose_sums_are_no_numbers_are_refused(huge):
    W = huge * (1 - np.eye(4))
    soft = Constraints([(0, 1)], n_items=4, weight=[huge])
    few = sparse.csr_matrix(([1.0, 1.0], ([0, 1], [1, 0])), (4, 4))
    for refused in (
        lambda: CorrelationClustering().fit(W),
        lambda: CorrelationClustering().fit(sparse.csr_matrix(-W)),
        lambda: CorrelationClustering().fit(np.zeros((4, 4)), X_minus=W),
        lambda: CorrelationClustering(weight=1.0).fit(few, constraints=soft),
        lambda: CorrelationClustering(default=-huge).fit(few),
        lambda: ClusterEditing().fit(few, constraints=soft),
        lambda: correlation_cost(W, [0, 0, 1, 1]),
        lambda: correlation_cost(few, [0, 0, 1, 1], default=-huge),
        lambda: correlation_lp(W, X_minus=W),
        lambda: triple_packing_bound(few, default=-huge),
    ):
        with pytest.raises(ValueError, match="add up to infinity, or nearly so; divide them all"):
            refused()
    large = CorrelationClustering().fit(W / huge * 1e290)
    assert (large.objective_, large.n_clusters_) == (0.0, 1)


def test_frames_are_taken_by_name():
    pd = pytest.importorskip("pandas")
    ids = ["ann", "bob", "cleo", "dan"]
    pairs = pd.DataFrame({"i": ids[:3], "j": ids[1:], "weight": [2.0, -1.0, 3.0]})
    names = Constraints(None, [("dan", "cleo")], ids=ids[::-1], hard=True)
    model = CorrelationClustering(random_state=0).fit(pairs, constraints=names)
    assert names.ids.tolist() == ids[::-1]
    np.testing.assert_array_equal(model.labels_[[3, 2]], 2 * [model.labels_[2]])
    assert model.labels_[0] != model.labels_[1]
    with pytest.raises(ValueError, match="'ann', which is no row number"):
        CorrelationClustering().fit(pairs)
    table = pd.DataFrame(read_weights(pairs, ids=ids).toarray(), index=ids, columns=ids)
    square = CorrelationClustering(random_state=0).fit(table, constraints=names)
    np.testing.assert_array_equal(
        square.labels_[::-1] == square.labels_[0], model.labels_ == model.labels_[3]
    )
    for X, minus in (
        (table[ids[::-1]], None),
        (table.clip(0), -table.loc[ids[::-1], ids[::-1]].clip(upper=0)),
    ):
        with pytest.raises(ValueError, match="in another order"):
            CorrelationClustering().fit(X, X_minus=minus)


def test_frames_of_row_numbers_have_as_many_items_as_the_constraints():
    pl = pytest.importorskip("polars")
    pairs = pl.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [1.0, -1.0]})
    assert CorrelationClustering(random_state=0).fit(pairs).labels_.tolist() == [0, 0, 1]
    known = Constraints([(2, 3)], n_items=5, hard=True)
    assert CorrelationClustering(random_state=0).fit(pairs, constraints=known).n_clusters_ == 3


def test_disputed_are_told_by_id():
    W = np.array([[0, 5.0, 4.0], [5.0, 0, -3.0], [4.0, -3.0, 0]])
    ids = Constraints(n_items=3, ids=["ann", "bob", "cleo"])
    model = CorrelationClustering(random_state=0).fit(W, constraints=ids)
    assert model.disputed() == [("bob", "cleo", -3.0, "joined")]
    text = model.account().sections[0]
    assert "bob and cleo: -3, joined" in text.lists[0].lines
    assert "3" in text.text


def test_bad_input():
    W = np.zeros((3, 3))
    with pytest.raises(ParameterError, match="default=1"):
        CorrelationClustering(default=1.0).fit(W)
    with pytest.raises(ValueError, match=r"X\[0, 2\] is 1, but X\[2, 0\] is 0"):
        CorrelationClustering().fit(np.array([[0, 0, 1.0], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(ValueError, match=r"X\[1, 2\] is nan"):
        CorrelationClustering().fit(np.array([[0, 0, 1.0], [0, 0, np.nan], [1, np.nan, 0]]))
    with pytest.raises(ValueError, match="add up to infinity"):
        CorrelationClustering().fit(1e308 * (np.ones((3, 3)) - np.eye(3)))
    with pytest.raises(ValueError, match="square"):
        CorrelationClustering().fit(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="n_clusters=4, but there are 3 items"):
        CorrelationClustering(4).fit(W)
    with pytest.warns(UserWarning, match="all weights are 0"):
        model = CorrelationClustering().fit(W)
    assert len(set(model.labels_)) == 3
    contradiction = Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=3, hard=True)
    with pytest.raises(InfeasibleConstraintsError, match="0"):
        CorrelationClustering().fit(W, constraints=contradiction)
