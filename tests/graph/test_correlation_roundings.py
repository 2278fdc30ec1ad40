"""Named algorithms of correlation clustering: their own answers, their factors, and what they may not do."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from coterie.constraints import Constraints
from coterie.graph._correlation import roundings, two_clusters
from coterie.graph._correlation.programs import solve_lp
from coterie.graph._correlation.signed_graph import signed_graph
from tests.graph.test_correlation_programs import KNOWN, editing, inside, random_case, table_of
from tests.marks import few_of
from tests.oracles import correlation as oracle

EXPECTED = {
    "triple": 1, "path of 4": 1.5, "path of 5": 2.2, "star of 3": 2.25, "star of 4": 3.6, "star of 5": 5.0,
    "cycle of 4": 3, "cycle of 5": 3, "cycle of 6": 4, "K5 - e": 1.8, "K6 - e": 2.0, "two triangles": 2,
    "K3,3": 9, "Petersen": 13,
}  # fmt: skip


def of_table(W):
    """The graph whose pairs are all listed."""
    listed = ~np.eye(len(W), dtype=bool)
    i, j = np.nonzero(listed)
    return signed_graph(sparse.csr_matrix((W[i, j], (i, j)), W.shape), 0.0, Constraints(n_items=len(W)))


def complete(number, n_most=7):
    """A random table of 1 and -1."""
    rng = np.random.default_rng(number)
    n = int(rng.integers(3, n_most + 1))
    W = np.triu(np.where(rng.uniform(size=(n, n)) < rng.uniform(0.2, 0.8), 1.0, -1.0), 1)
    return W + W.T, rng


def sets(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


def answers(g, rng):
    """One answer of each algorithm."""
    x, order = solve_lp(g).x, rng.permutation(g.n)
    return {
        "trivial": roundings.trivial(g),
        "pivot": roundings.pivot(g, order),
        "cautious": roundings.cautious(g),
        "cgw": roundings.cgw(g, x, order),
        "lp-pivot": roundings.lp_pivot(g, x, rng),
        "region": roundings.region(g, x),
        "sdp": two_clusters.sdp_rounding(g, two_clusters.sdp_vectors(g), rng, 3),
        "two": two_clusters.two(g, rng, 3),
    }


@few_of(25, 500)
def test_no_answer_is_illegal_or_better_than_the_best(numbers):
    for number in numbers:
        g, W, together, apart = random_case(number)
        optimum = oracle.best(W, together, apart) - inside(g, W)
        for name, label in answers(g, np.random.default_rng(number)).items():
            assert sorted(set(label)) == list(range(max(label) + 1)), (number, name)
            assert g.allows(label), (number, name)
            assert g.cost(label) >= optimum - 1e-9, (number, name)


def test_consistent_advice_is_followed():
    y = np.repeat([0, 1, 2, 3], [5, 4, 2, 1])[np.random.default_rng(0).permutation(12)]
    W = np.where(y[:, None] == y, 1.0, -1.0)
    np.fill_diagonal(W, 0.0)
    found = answers(of_table(W), np.random.default_rng(1))
    for name in ("pivot", "cautious", "cgw", "lp-pivot", "region"):
        assert sets(found[name]) == sets(y), name


def test_advice_of_one_sign():
    for number in range(4):
        W = np.abs(complete(number)[0])
        for sign in (1.0, -1.0):
            g = of_table(sign * W)
            for name, label in answers(g, np.random.default_rng(number)).items():
                if name != "sdp" or sign > 0:  # at most eight clusters
                    assert g.cost(label) == 0, (name, sign)


# The pivot algorithm


@pytest.mark.parametrize("name", EXPECTED)
def test_expected_pivot(name):
    graph = KNOWN[name][0]
    W, g = table_of(graph), editing(graph)
    assert oracle.expected_pivot(W) == pytest.approx(EXPECTED[name])
    n = len(W)
    if n <= 5:  # the mean over all orders is the expectation
        costs = [g.cost(roundings.pivot(g, np.array(o))) for o in itertools.permutations(range(n))]
        assert np.mean(costs) == pytest.approx(EXPECTED[name])


@pytest.mark.kernels
@few_of(20, 300)
def test_pivots_of_an_order(numbers):
    for number in numbers:
        g, W, _, _ = random_case(number, hard=False)
        order = np.random.default_rng(number).permutation(g.n)
        assert sets(roundings.pivot(g, order)) == sets(oracle.pivot(W, order)), number


@pytest.mark.kernels
def test_pivots_leave_what_conflicts_for_later():
    # a star: the centre takes its neighbours one by one
    star = sparse.csr_matrix(nx.to_scipy_sparse_array(nx.star_graph(4), dtype=float))
    group, code = np.array([-1, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0])
    known = {
        "pairs": (Constraints(cannot_link=[(1, 2), (2, 4)], n_items=5), [{0, 1, 3, 4}, {2}]),
        "distinct": (Constraints.distinct(group), [{0, 1, 3}, {2}, {4}]),
        "across": (Constraints.across(code), [{0, 1, 4}, {2}, {3}]),
    }
    for name, (c, clusters) in known.items():
        found = roundings.pivot(signed_graph(star, 0.0, c), np.arange(5))
        assert sets(found) == {frozenset(cluster) for cluster in clusters}, name


@few_of(15, 300)
def test_factors_of_complete_input(numbers):
    for number in numbers:
        W, rng = complete(number)
        g = of_table(W)
        lp, relaxed = solve_lp(g), oracle.program(W, inconsistent_only=True)
        assert relaxed <= lp.value + 1e-6
        assert oracle.expected_pivot(W) <= 3 * relaxed + 1e-6, number
        assert oracle.expected_lp_pivot(W, lp.x.tolist()) <= 2.5 * lp.value + 1e-6, number
        for _ in range(5):
            assert g.cost(roundings.cgw(g, lp.x, rng.permutation(g.n))) <= 4 * lp.value + 1e-6, number


def test_the_factor_of_pivot_is_tight():
    for n in range(3, 9):
        W = np.ones((n, n)) - np.eye(n)
        W[0, 1] = W[1, 0] = -1.0
        assert oracle.expected_pivot(W) == pytest.approx(3 * (n - 2) / n)


def test_chances_of_the_rounding_are_those_of_the_program():
    W, rng = complete(3)
    g = of_table(W)
    x = np.full((g.n, g.n), 0.4) - 0.4 * np.eye(g.n)
    costs = [g.cost(roundings.lp_pivot(g, x, rng)) for _ in range(2000)]
    assert np.mean(costs) == pytest.approx(
        oracle.expected_lp_pivot(W, x.tolist()), abs=5 * np.std(costs) / 44
    )


# Region growing


@few_of(20, 300)
def test_regions(numbers):
    for number in numbers:
        g, W, _, _ = random_case(number, hard=False)
        x, rng, n = solve_lp(g).x, np.random.default_rng(number), g.n
        c = 2 + 0.5 / math.log(n + 1) if number % 2 else float(rng.uniform(2.05, 4))
        order = rng.permutation(n)
        label = roundings.region(g, x, "auto" if number % 2 else c, order)
        expected, radii = oracle.region(W, x, c, order.tolist())
        assert sets(label) == sets(expected), number
        assert max(radii) < 1 / c, number
        plus, minus = np.maximum(W, 0.0), np.maximum(-W, 0.0)
        same = label[:, None] == label
        assert plus[~same].sum() <= 2 * c * math.log(n + 1) * (plus * x).sum() + 1e-6, number
        off = ~np.eye(n, dtype=bool)
        assert minus[same].sum() <= c / (c - 2) * (minus * (1 - x))[off].sum() + 1e-6, number


def test_a_region_ends_where_its_volume_is_largest():
    g, W = editing(nx.path_graph(4)), table_of(nx.path_graph(4))
    x = solve_lp(g).x
    assert x[0, 1] == x[2, 3] == 0
    assert (x[:2, 2:] == 1).all()
    assert sets(roundings.region(g, x, order=np.arange(4))) == {frozenset({0, 1}), frozenset({2, 3})}
    # weighed as units enter, as printed, all four are one cluster
    literal, _ = oracle.region(W, x, 2 + 0.5 / math.log(5), range(4), literal=True)
    assert oracle.cost(W, literal) == 3


def test_a_region_needs_c_above_two():
    g = editing(nx.path_graph(4))
    with pytest.raises(ValueError, match="c is 2; give a number above 2"):
        roundings.region(g, solve_lp(g).x, 2)


# Cleaning


@few_of(10, 100)
def test_cleaning(numbers):
    for number in numbers:
        W, rng = complete(number, n_most=12)
        delta = float(rng.choice([1 / 44, 0.05, 0.1]))
        assert sets(roundings.cautious(of_table(W), delta)) == oracle.cautious(W, delta), number


def test_cleaning_recovers_groups_with_little_noise_alone():
    y = np.repeat([0, 1], 100)
    for share, n_clusters in ((0.0, 2), (0.01, 2), (0.1, 200)):
        flip = np.triu(np.random.default_rng(0).uniform(size=(200, 200)) < share, 1)
        W = np.where((y[:, None] == y) ^ flip ^ flip.T, 1.0, -1.0)
        found = roundings.cautious(of_table(W))
        assert len(np.unique(found)) == n_clusters
        assert n_clusters == 200 or sets(found) == sets(y)


# Vectors


@few_of(6, 60)
def test_agreement_of_vectors(numbers):
    for number in numbers:
        g, W, _, _ = random_case(number, hard=False)
        rng = np.random.default_rng(number)
        V = two_clusters.sdp_vectors(g)
        assert np.allclose(np.linalg.norm(V, axis=1), 1)
        near = V @ V.T
        assert near.min() > -1e-4
        relaxed = np.triu(np.maximum(W, 0.0) * near + np.maximum(-W, 0.0) * (1 - near), 1).sum()
        total = np.abs(np.triu(W, 1)).sum()
        optimum = total - oracle.best(W)
        assert relaxed >= optimum - 1e-3 * total, number
        draws = [
            [oracle.agreement(W, two_clusters.hyperplane_sides(V, h, rng)) for _ in range(150)]
            for h in (2, 3)
        ]
        mean = 0.8684 * np.mean(draws[0]) + 0.1316 * np.mean(draws[1])
        error = math.hypot(
            *(share * np.std(d) / 150**0.5 for share, d in zip((0.8684, 0.1316), draws, strict=True))
        )
        assert mean >= 0.766 * relaxed - 5 * error - 1e-9, number
        assert total - g.cost(roundings.trivial(g)) >= total / 2 - 1e-9


@few_of(10, 200)
def test_two_clusters_or_all_single(numbers):
    """The better of the two best has a third of the largest correlation; ours is that, but for a few."""
    missed = 0
    for number in numbers:
        g, W, _, _ = random_case(number, hard=False)
        rng, total = np.random.default_rng(number), np.abs(np.triu(W, 1)).sum()

        def correlation(labels, W=W, total=total):
            return total - 2 * oracle.cost(W, labels)

        largest = max(map(correlation, oracle.partitions(g.n)))
        halves = [labels for labels in oracle.partitions(g.n) if max(labels) < 2]
        simple = max(map(correlation, [*halves, np.arange(g.n)]))
        assert simple >= largest / 3 - 1e-9
        found = correlation(two_clusters.two(g, rng))
        assert largest / 3 - 1e-9 <= found <= simple + 1e-9, number
        missed += found < simple - 1e-9
    assert missed <= 0.05 * len(numbers)


@few_of(5, 50)
def test_signs_are_never_worse_than_what_they_come_from(numbers):
    for number in numbers:
        W = random_case(number, hard=False)[1]
        rng = np.random.default_rng(number)
        V = two_clusters.ascend(W, rng)
        best = max(z @ W @ z for z in itertools.product([-1.0, 1.0], repeat=len(W)))
        # a relaxation, solved: no signs are better
        assert (W * (V @ V.T)).sum() >= best - 1e-3 * abs(best), number
        state = rng.bit_generator.state
        z = V @ rng.normal(size=(V.shape[1], 20))
        z = np.clip(z / np.sqrt(4 * np.log(max(len(W), 2))), -1.0, 1.0)
        rng.bit_generator.state = state
        signs = two_clusters.rounded_signs(W, V, rng, 20)
        assert set(np.unique(signs)) <= {-1.0, 1.0}
        form = [np.einsum("it,ij,jt->t", one, W, one) for one in (z, signs)]
        assert (form[1] >= form[0] - 1e-9).all(), number


def test_vectors_refuse_what_is_too_large():
    g = signed_graph(sparse.csr_matrix((501, 501)), -1.0, Constraints(n_items=501))
    with pytest.raises(ValueError, match=r'"sdp" takes at most 500 units, but there are 501.*"local"'):
        two_clusters.sdp_vectors(g)
