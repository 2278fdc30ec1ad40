"""Correlation clustering as users call it: every algorithm against all partitions, what must not matter."""

import functools
import itertools

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, CorrelationClustering
from coterie.graph import ConsensusClustering, correlation_cost, correlation_lp, triple_packing_bound
from coterie.graph import _consensus_clustering as consensus
from coterie.graph._correlation import roundings, two_clusters
from coterie.graph._correlation.programs import solve_lp
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import signed_graph
from tests.graph.test_correlation_roundings import complete, of_table, sets
from tests.marks import few_of
from tests.oracles import consensus as votes
from tests.oracles import correlation as oracle

ALGORITHMS = ("trivial", "pivot", "cgw", "sdp", "cautious", "region", "local", "lp-pivot", "two", "exact")
BOUNDS = ("lp", "packing", "pairs")
# Of random advice some is none at all.
empty = pytest.mark.filterwarnings("ignore:all weights are 0")


def fit(X, algorithm, known=None, **words):
    words = {"random_state": 0, "n_init": 2, "bound": None, **words}
    return CorrelationClustering(algorithm=algorithm, **words).fit(X, constraints=known)


def table(rng, n):
    """Weights of all pairs."""
    W = np.triu(rng.normal(size=(n, n)), 1)
    return W + W.T


@functools.cache
def together(n):
    """For each partition, which pairs are in one cluster."""
    labels = np.array(oracle.partitions(n))
    i, j = np.triu_indices(n, 1)
    return labels[:, i] == labels[:, j]


def case(number):
    """Signed weights, some not listed; hard constraints of a kind or none; the least cost of legal labels."""
    rng = np.random.default_rng([13, number])
    n = int(rng.integers(3, 9))
    default = float(rng.choice([0.0, -0.3, -1.0]))
    i, j = np.triu_indices(n, 1)
    weight = rng.choice([-1.0, 1.0], len(i)) if number % 2 else np.round(rng.normal(size=len(i)), 2)
    listed = rng.uniform(size=len(i)) < rng.choice([0.4, 0.8, 1.0])
    cells = np.r_[i[listed], j[listed]], np.r_[j[listed], i[listed]]
    X = sparse.csr_matrix((np.tile(weight[listed], 2), cells), (n, n))  # zeros stay listed
    y = rng.integers(3, size=n)
    some = np.where(rng.uniform(size=n) < 0.6, y, -1)
    # the first of each class, at most one of which may be in a cluster
    frame = np.full(n, -1)
    frame[np.unique(y, return_index=True)[1]] = 0
    stated = rng.uniform(size=len(i)) < 0.2
    pairs, same = np.column_stack([i, j]), y[i] == y[j]
    known, must, cannot = [
        (Constraints(n_items=n), np.zeros_like(stated), np.zeros_like(stated)),
        (
            Constraints(pairs[stated & same], pairs[stated & ~same], n_items=n, hard=True),
            stated & same,
            stated & ~same,
        ),
        (Constraints.from_labels(some), *(((some[i] >= 0) & (some[j] >= 0)) & one for one in (same, ~same))),
        (Constraints.distinct(frame), np.zeros_like(stated), (frame[i] == 0) & (frame[j] == 0)),
        (Constraints.across(some), np.zeros_like(stated), (some[i] >= 0) & (some[j] >= 0) & ~same),
    ][number % 5]
    joined = together(n)
    legal = ~((must & ~joined) | (cannot & joined)).any(axis=1)
    weight = np.where(listed, weight, default)
    costs = joined @ np.maximum(-weight, 0.0) + ~joined @ np.maximum(weight, 0.0)
    return X, default, known, float(costs[legal].min())


def check_order(number, ways, bounds):
    """The bound, the optimum, what algorithms answer, with the search behind them or without."""
    X, default, known, optimum = case(number)
    for algorithm, refine in ways:
        model = fit(X, algorithm, known, default=default, refine=refine, n_init=1)
        assert not model.violations_, (number, algorithm)
        cost = correlation_cost(X, model.labels_, default=default)
        assert model.disagreements_ == pytest.approx(cost, abs=1e-9), (number, algorithm)
        assert cost >= optimum - 1e-9, (number, algorithm)
        if algorithm == "exact":
            assert cost == pytest.approx(optimum, abs=1e-9), number
    for bound in bounds:
        model = fit(X, "trivial", known, default=default, refine=False, n_init=1, bound=bound)
        assert model.lower_bound_ <= optimum + 1e-6, (number, bound)


@empty
def test_bound_optimum_and_algorithms_stand_in_this_order():
    """Each algorithm with each kind of constraints and of weights, and `exact` with all."""
    for number in range(100):
        turn = number // 5
        algorithm = ALGORITHMS[(turn + (turn >= 10)) % 10]  # the second time with the other kind of weights
        ways = {(algorithm, False), (algorithm, True), ("exact", turn % 2 == 0)}
        check_order(number, ways, [BOUNDS[turn % 3]])


@empty
@pytest.mark.slow
@pytest.mark.kernels
@pytest.mark.parametrize("batch", range(5))
def test_bound_optimum_and_every_algorithm_stand_in_this_order(batch):
    for number in range(100 * batch, 100 * (batch + 1)):
        check_order(number, itertools.product(ALGORITHMS, (False, True)), BOUNDS)


@few_of(20, 500)
def test_identities_of_any_labels_and_weights(numbers):
    """Section 3. What agrees with some advice disagrees with the opposite."""
    for number in numbers:
        rng = np.random.default_rng(number)
        n = int(rng.integers(2, 9))
        plus, minus = (np.triu(rng.exponential(size=(n, n)) * rng.integers(2, size=(n, n)), 1) for _ in "+-")
        plus, minus, labels = plus + plus.T, minus + minus.T, rng.integers(-3, 4, size=n)
        disagree, agree = (
            correlation_cost(one, labels, X_minus=other) for one, other in ((plus, minus), (minus, plus))
        )
        kept = np.triu(plus - minus, 1)[labels[:, None] == labels].sum()
        attract, repel = plus.sum() / 2, minus.sum() / 2
        assert disagree == pytest.approx(attract - kept)
        assert agree == pytest.approx(repel + kept)
        assert agree - disagree == pytest.approx(repel - attract + 2 * kept)
        assert agree + disagree == pytest.approx(attract + repel)
        assert disagree == pytest.approx(
            correlation_cost(plus - minus, labels) + np.minimum(plus, minus).sum() / 2
        )


@few_of(10, 300)
def test_a_packing_is_below_the_program_of_inconsistent_triples(numbers):
    for number in numbers:
        W = complete(number)[0] if number % 2 else table(np.random.default_rng(number), 7)
        relaxed, whole = oracle.program(W, inconsistent_only=True), correlation_lp(W).value
        assert triple_packing_bound(W, random_state=number) <= relaxed + 1e-9 <= whole + 1e-6, number


@few_of(6, 100)
def test_a_rounding_keeps_its_factor_for_every_order(numbers):
    for number in numbers:
        W, _ = complete(number, n_most=5)
        g = of_table(W)
        lp = solve_lp(g)
        for order in itertools.permutations(range(g.n)):
            assert g.cost(roundings.cgw(g, lp.x, np.array(order))) <= 4 * lp.value + 1e-6, (number, order)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS[1:])
def test_consistent_advice_costs_nothing(algorithm, listed):
    y = np.repeat([0, 1, 2, 3], [5, 4, 2, 1])[np.random.default_rng(0).permutation(12)]
    same = (y[:, None] == y) & ~np.eye(12, dtype=bool)
    X, default = (np.where(same, 1.0, -1.0), 0.0) if listed else (sparse.csr_matrix(same.astype(float)), -1.0)
    assert correlation_lp(X, default=default).value == pytest.approx(0.0, abs=1e-9)
    model = fit(X, algorithm, default=default, refine=False)
    if algorithm != "two":  # at most two clusters
        assert sets(model.labels_) == sets(y)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_unit_of_weights_does_not_matter(algorithm, seed):
    W = table(np.random.default_rng(seed), 9)
    one, large = (fit(scale * W, algorithm, refine=False) for scale in (1.0, 1024.0))
    assert np.array_equal(one.labels_, large.labels_)
    assert large.disagreements_ == pytest.approx(1024 * one.disagreements_)


@pytest.mark.parametrize("algorithm", ["trivial", "region", "exact", "auto"])
def test_the_order_of_items_does_not_matter(algorithm, seed):
    """To what chance has no part in, where no two weights are equal."""
    rng = np.random.default_rng(seed)
    W, order = table(rng, 9), rng.permutation(9)
    one, moved = fit(W, algorithm, refine=False), fit(W[order][:, order], algorithm, refine=False)
    assert sets(one.labels_[order]) == sets(moved.labels_)


@few_of(3, 100)
def test_no_legal_move_of_an_item_gains_after_the_search(numbers):
    for number in numbers:
        rng = np.random.default_rng(number)
        W, y = table(rng, 25), rng.integers(4, size=25)
        W = sparse.csr_matrix(W * (np.abs(W) > 0.5))
        known = Constraints.across(np.where(rng.uniform(size=25) < 0.4, y, -1))
        known = known | Constraints.sample(y, n_pairs=12, random_state=number)
        known = known.only_hard() | Constraints(known.must_link, known.cannot_link, n_items=25, hard=True)
        g = signed_graph(W, -0.2, known)
        label, cost = improve_partition(g.level, np.arange(g.n), rng, 0.0, g.cost(np.arange(g.n)))
        assert g.allows(label)
        assert g.cost(label) == pytest.approx(cost)
        for v, c in itertools.product(range(g.n), range(g.n + 1)):
            moved = label.copy()
            moved[v] = c
            assert not g.allows(moved) or g.cost(moved) >= cost - 1e-9, (number, v, c)


@few_of(6, 100)
def test_ascent_never_goes_down(numbers, monkeypatch):
    for number in numbers:
        W = table(np.random.default_rng(number), 8)
        forms = []
        for steps in range(1, 9):
            monkeypatch.setattr(two_clusters, "_MOST_STEPS", steps)
            V = two_clusters.ascend(W, np.random.default_rng(number))
            forms.append((W * (V @ V.T)).sum())
        assert (np.diff(forms) >= -1e-9).all(), number


# Consensus by the linear program


@few_of(1, 60)
def test_votes_are_weights_whose_program_is_rounded(numbers):
    """Distances by votes are a metric; the rounding keeps its factor, and costs what it must in the mean."""
    for number in numbers:
        X = np.unique(np.random.default_rng(number).integers(3, size=(12, 4)), axis=0)[:6]
        ballot, node, _ = consensus._read_ballot(X, Constraints(n_items=len(X)))
        W = votes.net(X)
        assert np.array_equal(ballot.net()[np.ix_(node, node)], W)
        apart = (4 - W) / 2 * ~np.eye(len(X), dtype=bool)
        assert (apart <= (apart[:, :, None] + apart[None]).min(axis=1) + 1e-9).all()
        draws = [ConsensusClustering("lp-pivot", n_init=1, random_state=seed).fit(X) for seed in range(60)]
        costs = np.array([draw.mirkin_ for draw in draws])
        least = min(votes.cost(X, labels) for labels in votes.partitions(len(X)))
        lp = solve_lp(of_table(W))
        fixed = votes.bound(X)  # pairs that pull both ways
        expected = oracle.expected_lp_pivot(W, lp.x.tolist()) / 4 + fixed
        assert least - 1e-9 <= costs.min()
        assert expected <= 2 * least + 1e-9
        assert costs.mean() == pytest.approx(expected, abs=5 * costs.std() / 60**0.5 + 1e-6), number
