"""Exact inference equals enumeration; mean field is a fixed point below it."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy.special import softmax

from coterie.mixture._inference.elimination import eliminate
from coterie.mixture._inference.forest import Forest
from coterie.mixture._inference.mean_field import MeanField
from tests.mixture.problems import (
    connected_graphs,
    junction_tree,
    n_parts,
    random_graph,
    random_network,
    random_potential,
)
from tests.oracles import mixture as oracle

kernels = pytest.mark.kernels  # the small ones
SMALL = [(n, edges) for n in range(1, 6) for edges in connected_graphs(n)]
TREES = [(n, edges) for n, edges in SMALL if len(edges) == n - 1]


def tight_field(n, k, ends, beta):
    return MeanField(n, k, ends, beta, tol=1e-12, max_sweeps=10_000)


def make(kind, n, k, pairs):
    ends = np.array([pair[:2] for pair in pairs], dtype=np.int64).reshape(-1, 2)
    return kind(n, k, ends, np.array([pair[2] for pair in pairs], dtype=float))


def assert_exact(kind, n, k, potential, pairs, right=None, atol=1e-10):
    right = oracle.enumerate_all(potential, pairs) if right is None else right
    untouched = potential.copy()
    answer = make(kind, n, k, pairs).infer(potential)
    np.testing.assert_array_equal(potential, untouched)
    assert answer.log_z == pytest.approx(right.log_z, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(answer.marginals, right.marginals, rtol=1e-9, atol=atol)
    np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(answer.agreement, right.agreement, rtol=1e-9, atol=atol)
    for pair, agreement in zip(pairs, answer.agreement, strict=True):
        if pair[2] == -math.inf:
            assert agreement == 0.0


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_forest_is_exact_on_every_tree_to_five_nodes(k, seed):
    for number, (n, edges) in enumerate(TREES):
        rng = np.random.default_rng((seed, k, number))
        potential, pairs, right = random_network(rng, edges, n, k)
        assert_exact(Forest, n, k, potential, pairs, right)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_junction_tree_is_exact_on_every_connected_graph_to_five_nodes(k, seed):
    for number, (n, edges) in enumerate(SMALL):
        rng = np.random.default_rng((seed, 10 + k, number))
        potential, pairs, right = random_network(rng, edges, n, k)
        assert_exact(junction_tree, n, k, potential, pairs, right)


@pytest.mark.parametrize("batch", range(5))
def test_exact_on_500_random_graphs_of_six_to_eight_nodes(batch, seed):
    for number in range(100):
        rng = np.random.default_rng((seed, 20 + batch, number))
        n, k = int(rng.integers(6, 9)), int(rng.integers(2, 5))
        extra = rng.choice([0.0, 0.1, 0.3, 0.6])
        edges = random_graph(rng, n, extra)
        potential, pairs, right = random_network(rng, edges, n, k)
        assert_exact(junction_tree, n, k, potential, pairs, right)
        if len(edges) == n - 1:
            assert_exact(Forest, n, k, potential, pairs, right)


@kernels
def test_several_trees_and_lonely_nodes_in_one_part(seed):
    for number in range(30):
        rng = np.random.default_rng((seed, 30, number))
        n, k = 7, int(rng.integers(2, 4))
        edges = [edge for edge in random_graph(rng, n, 0.0) if rng.random() < 0.6]
        assert n_parts(n, edges) == n - len(edges)
        potential, pairs, right = random_network(rng, edges, n, k)
        assert_exact(Forest, n, k, potential, pairs, right)
        assert_exact(junction_tree, n, k, potential, pairs, right)


@kernels
@pytest.mark.parametrize("kind", [Forest, junction_tree])
def test_the_scale_multiplies_finite_couplings_only(kind, seed):
    rng = np.random.default_rng((seed, 40))
    for scale in (0.0, 0.3, 2.5):
        edges = random_graph(rng, 6, 0.0 if kind is Forest else 0.4)
        potential, pairs, _ = random_network(rng, edges, 6, 3, barred=0.0)
        scaled = [(i, j, beta if math.isinf(beta) else scale * beta) for i, j, beta in pairs]
        right = oracle.enumerate_all(potential, scaled)
        answer = make(kind, 6, 3, pairs).infer(potential, scale=scale)
        assert answer.log_z == pytest.approx(right.log_z, rel=1e-12)
        np.testing.assert_allclose(answer.marginals, right.marginals, atol=1e-10)
        np.testing.assert_allclose(answer.agreement, right.agreement, atol=1e-10)


@kernels
@pytest.mark.parametrize("kind", [Forest, junction_tree])
def test_the_same_part_answers_again(kind, seed):
    """Nothing is left over from the call before."""
    rng = np.random.default_rng((seed, 41))
    edges = random_graph(rng, 7, 0.0 if kind is Forest else 0.3)
    first, pairs, right = random_network(rng, edges, 7, 3, barred=0.0)
    part = make(kind, 7, 3, pairs)
    before = part.infer(first)
    part.infer(random_potential(rng, 7, 3, 50.0), scale=0.5)
    again = part.infer(first)
    assert again.log_z == before.log_z
    np.testing.assert_array_equal(again.marginals, before.marginals)
    np.testing.assert_allclose(again.marginals, right.marginals, atol=1e-10)


@pytest.mark.parametrize("kind", [Forest, junction_tree])
@pytest.mark.parametrize("spread", [50.0, 3_000.0, 1e6])
def test_thousands_of_nats(kind, spread, seed):
    for number in range(20):
        rng = np.random.default_rng((seed, 42, number))
        edges = random_graph(rng, 6, 0.0 if kind is Forest else 0.3)
        strength = rng.choice([1.0, 30.0, 800.0, spread])
        potential, pairs, right = random_network(rng, edges, 6, 3, spread=spread, strength=strength)
        assert_exact(kind, 6, 3, potential, pairs, right, atol=1e-9)


@kernels
@pytest.mark.parametrize("kind", [Forest, junction_tree])
def test_two_items_that_both_want_one_label_and_may_not_share_it(kind):
    """Total minus own cancels here: 1 - sum p p is e-22."""
    potential = np.array([[0.0, -50.0, -60.0], [0.0, -52.0, -55.0]])
    pairs = [(0, 1, -math.inf)]
    assert_exact(kind, 2, 3, potential, pairs)
    marginals = make(kind, 2, 3, pairs).infer(potential).marginals
    # by hand: (0, m) and (m, 0) for m = 1, 2 weigh e-52, e-55, e-50, e-60
    weights = np.exp([-52.0, -55.0, -50.0, -60.0])
    assert marginals[0, 0] == pytest.approx(weights[:2].sum() / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("k", [3, 4])
def test_small_probabilities_keep_their_relative_size(k, seed):
    for number in range(20):
        rng = np.random.default_rng((seed, 43, number))
        edges = random_graph(rng, 5, 0.0)
        potential, pairs, right = random_network(rng, edges, 5, k, spread=25.0, barred=0.0)
        answer = make(Forest, 5, k, pairs).infer(potential)
        shown = right.marginals > 1e-200
        np.testing.assert_allclose(answer.marginals[shown], right.marginals[shown], rtol=1e-8)


# ---- graphs too large to enumerate, with a closed form --------------------------------------------------


@pytest.mark.parametrize("beta", [-math.inf, -1.5, 2.0, 40.0])
@pytest.mark.parametrize("k", [3, 5])
def test_a_long_chain(beta, k):
    """Z of a flat Potts chain is k (k - 1 + e^beta)^(n - 1); the numbering is mixed up."""
    n = 20_000
    place = np.random.default_rng(0).permutation(n)
    pairs = [(*sorted((int(a), int(b))), beta) for a, b in itertools.pairwise(place)]
    answer = make(Forest, n, k, pairs).infer(np.zeros((n, k)))
    link = math.log(k - 1 + math.exp(beta))
    assert answer.log_z == pytest.approx(math.log(k) + (n - 1) * link, rel=1e-11)
    np.testing.assert_allclose(answer.marginals, 1 / k, rtol=1e-9)
    np.testing.assert_allclose(answer.agreement, math.exp(beta - link), rtol=1e-9)


@pytest.mark.parametrize("n", [3, 4, 50, 301])
@pytest.mark.parametrize("beta", [-math.inf, -0.7, 1.3])
def test_a_ring(n, beta):
    """Z of a ring is (e^beta + k - 1)^n + (k - 1) (e^beta - 1)^n."""
    k = 3
    pairs = [(*sorted((i, (i + 1) % n)), beta) for i in range(n)]
    answer = make(junction_tree, n, k, sorted(pairs)).infer(np.zeros((n, k)))
    large, small = math.exp(beta) + k - 1, math.exp(beta) - 1
    log_z = n * math.log(large) + math.log1p((k - 1) * (small / large) ** n)
    assert answer.log_z == pytest.approx(log_z, rel=1e-11)
    np.testing.assert_allclose(answer.marginals, 1 / k, rtol=1e-9)


def test_stars_and_cliques_of_the_prior(seed):
    weights = np.array([0.5, 0.3, 0.2])
    potential = np.log(np.tile(weights, (7, 1)))
    for leaves, value in ((2, 0.4), (3, 0.2678), (6, 0.095536)):
        pairs = [(0, leaf, -math.inf) for leaf in range(1, leaves + 1)]
        answer = make(Forest, leaves + 1, 3, pairs).infer(potential[: leaves + 1])
        assert math.exp(answer.log_z) == pytest.approx(value, abs=5e-7)
        assert math.exp(answer.log_z) == pytest.approx(oracle.z_star(weights, leaves), rel=1e-12)
    weights = np.random.default_rng(seed).dirichlet(np.ones(7))
    for size in (2, 3, 5, 7):
        pairs = [(i, j, -math.inf) for i in range(size) for j in range(i + 1, size)]
        answer = make(junction_tree, size, 7, pairs).infer(np.log(np.tile(weights, (size, 1))))
        assert math.exp(answer.log_z) == pytest.approx(oracle.z_clique(weights, size), rel=1e-10)


def test_a_long_ladder_by_transfer_matrix(seed):
    """Width two, 400 rungs: far too many labelings, yet a matrix product does it."""
    rng = np.random.default_rng((seed, 44))
    length, k = 400, 3
    potential = rng.normal(size=(2 * length, k))
    pairs, along, rung = [], rng.normal(size=(length, 2)), rng.normal(size=length)
    log_z, state = 0.0, np.zeros((k, k))
    same = np.eye(k)
    for t in range(length):
        upper, lower = 2 * t, 2 * t + 1
        pairs.append((upper, lower, float(rung[t])))
        if t:
            for side in (0, 1):
                pairs.append((upper - 2 + side, upper + side, float(along[t, side])))
            step = np.exp(state)
            step = np.exp(along[t, 0] * same).T @ step @ np.exp(along[t, 1] * same)
            state = np.log(step)
        state = state + potential[upper][:, None] + potential[lower][None, :] + rung[t] * same
        log_z, state = log_z + state.max(), state - state.max()
    log_z += math.log(np.exp(state).sum())
    answer = make(junction_tree, 2 * length, k, sorted(pairs)).infer(potential)
    assert answer.log_z == pytest.approx(log_z, rel=1e-11)
    last = softmax(state.ravel()).reshape(k, k)
    np.testing.assert_allclose(answer.marginals[-2], last.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(answer.marginals[-1], last.sum(axis=0), atol=1e-10)


def test_a_forest_takes_linear_time():
    """A star with 100,000 leaves and a long chain: no recursion, nothing quadratic."""
    n, k = 100_000, 4
    rng = np.random.default_rng(0)
    potential = rng.normal(size=(n, k))
    star = [(0, leaf, -1.0) for leaf in range(1, n)]
    make(Forest, 3, k, star[:2]).infer(potential[:3])  # compiled
    started = time.process_time()
    answer = make(Forest, n, k, star).infer(potential)
    assert time.process_time() - started < 5.0
    leaf_sums = np.log(np.exp(potential[1:]) @ (np.exp(-1.0) * np.eye(k) + 1 - np.eye(k)))
    root = potential[0] + leaf_sums.sum(axis=0)
    np.testing.assert_allclose(answer.marginals[0], softmax(root), atol=1e-9)


# ---- mean field -----------------------------------------------------------------------------------------


def assert_fixed_point(potential, pairs, q, atol):
    for i in range(len(q)):
        field = potential[i].copy()
        for a, b, beta in pairs:
            if i in (a, b):
                field += beta * q[a + b - i]
        np.testing.assert_allclose(q[i], softmax(field), atol=atol)


@pytest.mark.parametrize("strength", [0.3, 2.0, 20.0])
def test_mean_field_is_a_fixed_point_whose_bound_is_below_log_z(strength, seed):
    for number, (n, edges) in enumerate(SMALL[::9]):
        rng = np.random.default_rng((seed, 50, number))
        k = int(rng.integers(2, 5))
        potential, pairs, right = random_network(rng, edges, n, k, hard=0.0, barred=0.0, strength=strength)
        answer = make(MeanField, n, k, pairs).infer(potential)
        np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0, rtol=1e-9)
        assert answer.log_z <= right.log_z + 1e-9 * (1 + abs(right.log_z))
        assert answer.log_z == pytest.approx(
            oracle.bound(potential, pairs, answer.marginals), rel=1e-8, abs=1e-8
        )
        agreement = [answer.marginals[i] @ answer.marginals[j] for i, j, _ in pairs]
        np.testing.assert_allclose(answer.agreement, agreement, atol=1e-10)
        assert_fixed_point(potential, pairs, answer.marginals, atol=1e-3)


@kernels
def test_mean_field_equals_the_oracle_where_couplings_are_weak(seed):
    """Below the threshold there is one fixed point, so the start does not matter."""
    for number in range(40):
        rng = np.random.default_rng((seed, 51, number))
        n, k = 6, int(rng.integers(2, 5))
        edges = random_graph(rng, n, 0.3)
        potential, pairs, _ = random_network(rng, edges, n, k, hard=0.0, barred=0.0, strength=0.15)
        q, value = oracle.mean_field(potential, pairs)
        answer = make(tight_field, n, k, pairs).infer(potential)
        np.testing.assert_allclose(answer.marginals, q, atol=1e-6)
        assert answer.log_z == pytest.approx(value, rel=1e-9)


def test_mean_field_without_edges_is_exact(seed):
    potential = random_potential(np.random.default_rng(seed), 6, 4, 5.0, barred=0.3)
    answer = make(MeanField, 6, 4, []).infer(potential)
    right = oracle.enumerate_all(potential)
    assert answer.log_z == pytest.approx(right.log_z, rel=1e-12)
    np.testing.assert_allclose(answer.marginals, right.marginals, atol=1e-12)


def test_mean_field_leaves_the_flat_state_at_coupling_two():
    """A must-link with flat potentials: exact inference says one half, mean field commits itself."""
    for beta, value in ((1.5, 0.5), (2.1, 0.685353), (3.0, 0.929280)):
        potential = np.array([[1e-9, 0.0], [0.0, 0.0]])
        start = np.array([[0.6, 0.4], [0.6, 0.4]])
        q, _ = oracle.mean_field(potential, [(0, 1, beta)], start)
        np.testing.assert_allclose(q[0], [value, 1 - value], atol=1e-5)
        answer = make(tight_field, 2, 2, [(0, 1, beta)]).infer(potential)
        largest = answer.marginals.max(axis=1)
        # the flat state is a fixed point, too, and may be where it stays
        assert all(abs(x - value) < 1e-3 or abs(x - 0.5) < 1e-3 for x in largest)


def test_mean_field_keeps_forbidden_pairs_and_barred_labels_apart(seed):
    for number in range(40):
        rng = np.random.default_rng((seed, 52, number))
        edges = random_graph(rng, 6, 0.2)
        potential, pairs, right = random_network(rng, edges, 6, 3, hard=0.4, barred=0.1)
        answer = make(MeanField, 6, 3, pairs).infer(potential)
        assert np.isfinite(answer.marginals).all()
        np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0, rtol=1e-9)
        assert (answer.marginals[np.isneginf(potential)] == 0).all()
        assert answer.log_z <= right.log_z + 1e-9 * (1 + abs(right.log_z))


@pytest.mark.parametrize("gap", [10.0, 200.0, 20_000.0])
def test_mean_field_does_not_sell_a_forbidden_pair(gap):
    """However dear the other labels are; a soft pair may be outvoted."""
    potential = np.array([[0.0, -gap, -1.5 * gap], [0.0, -1.1 * gap, -1.6 * gap]])
    answer = make(tight_field, 2, 3, [(0, 1, -math.inf)]).infer(potential)
    assert answer.agreement[0] < 1e-4
    assert answer.log_z <= oracle.enumerate_all(potential, [(0, 1, -math.inf)]).log_z + 1e-9
    soft = make(tight_field, 2, 3, [(0, 1, -0.01 * gap)]).infer(potential)
    assert soft.agreement[0] > 0.9


@pytest.mark.parametrize("beta", [-1000.0, -49.0, 1000.0])
def test_mean_field_takes_a_strong_coupling_at_its_word(beta):
    potential = (
        np.array([[0.0, -2.0], [-100.0, -70.0]]) if beta > 0 else np.array([[0.0, -400.0], [0.0, -390.0]])
    )
    right = oracle.enumerate_all(potential, [(0, 1, beta)])
    answer = make(tight_field, 2, 2, [(0, 1, beta)]).infer(potential)
    q, value = oracle.mean_field(potential, [(0, 1, beta)])
    assert answer.log_z == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(answer.marginals, q, atol=1e-9)
    assert value <= right.log_z + 1e-9


def test_mean_field_on_a_wide_graph_takes_linear_time(seed):
    rng = np.random.default_rng((seed, 53))
    n, k, m = 20_000, 5, 60_000
    ends = np.unique(np.sort(rng.integers(n, size=(m, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] < ends[:, 1]]
    pairs = [(int(i), int(j), float(b)) for (i, j), b in zip(ends, rng.normal(0, 2, len(ends)), strict=True)]
    potential = rng.normal(size=(n, k))
    make(MeanField, 3, k, [(0, 1, 1.0), (1, 2, -1.0)]).infer(potential[:3])  # compiled
    part = make(MeanField, n, k, pairs)
    started = time.process_time()
    answer = part.infer(potential)
    assert time.process_time() - started < 10.0
    np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0, rtol=1e-9)


# ---- the order of elimination ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "degree"), [(60, 30), (500, 100), (2_000, 6), (20_000, 3)])
def test_the_search_for_an_order_gives_up_early(n, degree, seed):
    """Dense or large random graphs: never exponential, whatever the answer."""
    rng = np.random.default_rng((seed, 60, n))
    ends = np.sort(rng.integers(n, size=(n * degree // 2, 2)), axis=1)
    neighbours: dict = {v: set() for v in range(n)}
    for u, v in ends[ends[:, 0] < ends[:, 1]].tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)
    started = time.process_time()
    found = eliminate(neighbours, 5, 2_000_000)
    assert time.process_time() - started < 5.0
    assert found is None  # random graphs of these sizes are wide


def test_a_wide_tree_of_cliques_is_narrow():
    """One thousand triangles in a row: width two, however many."""
    n = 2_001
    neighbours: dict = {v: set() for v in range(n)}
    for v in range(0, n - 1, 2):
        for a, b in ((v, v + 1), (v, v + 2), (v + 1, v + 2)):
            neighbours[a].add(b)
            neighbours[b].add(a)
    steps, cells = eliminate(neighbours, 4, 10**6)
    assert max(len(scope) for _, scope in steps) == 2
    assert cells <= n * 4**3
