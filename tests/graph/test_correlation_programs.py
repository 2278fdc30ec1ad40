"""Programs and bounds of correlation clustering: against all partitions, all rows, and known values."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from coterie.constraints import Constraints
from coterie.graph._correlation.packing import triple_packing
from coterie.graph._correlation.programs import solve_ilp, solve_lp
from coterie.graph._correlation.search import improve_partition
from coterie.graph._correlation.signed_graph import signed_graph
from coterie.graph._correlation_functions import correlation_lp, triple_packing_bound
from tests.marks import few_of
from tests.oracles import correlation as oracle

# Graph; the optimum; the linear program (13.4), and (13.5): spec 6.2.
KNOWN = {
    "triple": (nx.path_graph(3), 1, 1, 1),
    "path of 4": (nx.path_graph(4), 1, 1, 1),
    "path of 5": (nx.path_graph(5), 2, 2, 2),
    "star of 3": (nx.star_graph(3), 2, 1.5, 1.5),
    "star of 4": (nx.star_graph(4), 3, 2, 2),
    "star of 5": (nx.star_graph(5), 4, 2.5, 2.5),
    "cycle of 4": (nx.cycle_graph(4), 2, 2, 2),
    "cycle of 5": (nx.cycle_graph(5), 3, 2.5, 2.5),
    "cycle of 6": (nx.cycle_graph(6), 3, 3, 3),
    "K5 - e": (nx.complete_graph(5), 1, 1, 1),
    "K6 - e": (nx.complete_graph(6), 1, 1, 1),
    "two triangles": (nx.barbell_graph(3, 0), 1, 1, 1),
    "K3,3": (nx.complete_bipartite_graph(3, 3), 6, 4.5, 4.5),
    "Petersen": (nx.petersen_graph(), 10, 7.5, 7.5),
}
for name in ("K5 - e", "K6 - e"):
    KNOWN[name][0].remove_edge(0, 1)


def editing(graph):
    """A graph as complete input: edges attract, all other pairs repel."""
    edges = sparse.csr_matrix(nx.to_scipy_sparse_array(graph, weight=None, dtype=float))
    return signed_graph(edges, -1.0, Constraints(n_items=len(graph)))


def table_of(graph):
    W = 2.0 * nx.to_numpy_array(graph, weight=None) - 1.0
    np.fill_diagonal(W, 0.0)
    return W


def random_case(number, n_most=8, hard=True):
    """A signed graph with a table of its items' weights, and what must and may not be together."""
    rng = np.random.default_rng(number)
    n = int(rng.integers(2, n_most + 1))
    default = float(rng.choice([0.0, 0.0, -1.0, -0.3]))
    listed = np.triu(rng.uniform(size=(n, n)) < rng.choice([0.3, 0.6, 1.0]), 1)
    weight = np.round(rng.normal(size=(n, n)), 1) if number % 2 else rng.choice([-1.0, 1.0], size=(n, n))
    W = np.where(listed, weight, default)
    W = np.triu(W, 1) + np.triu(W, 1).T
    i, j = np.nonzero(listed | listed.T)
    matrix = sparse.csr_matrix((W[i, j], (i, j)), (n, n))  # zeros stay listed
    c, together, apart = Constraints(n_items=n), [], []
    if hard and n > 3 and number % 3:
        y = rng.integers(3, size=n)
        pairs = [
            tuple(sorted(map(int, pair))) for pair in rng.permutation(n)[: n // 2 * 2].reshape(-1, 2)[:2]
        ]
        together = [(a, b) for a, b in pairs if y[a] == y[b]]
        apart = [(a, b) for a, b in pairs if y[a] != y[b]]
        c = Constraints(must_link=together, cannot_link=apart, n_items=n)
        if number % 5 == 0:  # at most one of each group; all of them have different y
            some = np.unique(y, return_index=True)[1]
            group = np.full(n, -1)
            group[some] = 0
            c = c | Constraints.distinct(group)
            apart += [(int(a), int(b)) for a in some for b in some if a < b]
        if number % 5 == 1:
            c = c | Constraints.across(y)
            apart += [(a, b) for a in range(n) for b in range(a + 1, n) if y[a] != y[b]]
    return signed_graph(matrix, default, c), W, together, apart


def inside(g, W):
    """What a graph of units leaves out: pairs within units, opposite pairs between them, vetoes."""
    single = np.arange(g.n)
    return oracle.cost(W, single[g.unit]) - g.cost(single)


def searched(g):
    single, rng = np.arange(g.n), np.random.default_rng(0)
    starts = [improve_partition(g.level, single, rng, 0.0, g.cost(single))[0] for _ in range(10)]
    return min(starts, key=g.cost)


@pytest.mark.parametrize("name", KNOWN)
def test_known_values(name):
    graph, optimum, program, relaxed = KNOWN[name]
    g = editing(graph)
    assert oracle.program(table_of(graph), inconsistent_only=True) == pytest.approx(relaxed)
    assert solve_lp(g).value == pytest.approx(program)
    found = solve_ilp(g, np.arange(g.n))
    assert (found.value, found.bound, found.proven) == (optimum, optimum, True)
    assert g.cost(found.label) == optimum
    assert triple_packing(g, np.random.default_rng(0)) <= relaxed + 1e-9


@pytest.mark.parametrize(
    ("graph", "optimum", "program"),
    [
        (nx.florentine_families_graph(), 10, 10),
        (nx.karate_club_graph(), 50, 38.5),
        (nx.les_miserables_graph(), 103, 91.5),
    ],
)
def test_small_real_graphs_are_proven(graph, optimum, program):
    g = editing(graph)
    assert solve_lp(g).value == pytest.approx(program)
    found = solve_ilp(g, searched(g))
    assert found.proven
    assert found.value == found.bound == optimum == g.cost(found.label)


def test_a_limit_in_time_leaves_labels_and_a_bound():
    g = editing(nx.davis_southern_women_graph())
    assert solve_lp(g).value == pytest.approx(44.5)
    found = solve_ilp(g, searched(g), time_limit=0.5)
    assert not found.proven
    assert 44.5 <= found.bound <= found.value == g.cost(found.label) == 75


@few_of(40, 600)
def test_bounds_and_optima_of_all_partitions(numbers):
    for number in numbers:
        g, W, together, apart = random_case(number)
        optimum = oracle.best(W, together, apart) - inside(g, W)
        lp = solve_lp(g)
        exact = solve_ilp(g, np.arange(g.n))
        packed = triple_packing(g, np.random.default_rng(number))
        assert exact.proven, number
        assert g.allows(exact.label), number
        assert exact.value == pytest.approx(optimum), number
        assert g.cost(exact.label) == pytest.approx(optimum), number
        assert packed <= lp.value + 1e-6, number
        assert lp.value <= optimum + 1e-6, number
        check_metric(g, lp)


def check_metric(g, lp):
    """The distances are closed, of the program's value, and 1 where two units are apart."""
    x, weight = lp.x, g.weights()
    assert (x == x.T).all()
    assert not x.diagonal().any()
    assert (x >= 0).all()
    assert (x <= 1).all()
    for w in range(g.n):
        assert (x <= x[:, w, None] + x[w] + 1e-9).all()
    assert (x[np.isneginf(weight)] == 1).all()
    i, j, listed = g.edges
    lost = listed[np.isneginf(weight[i, j]) & (listed > 0)].sum()
    finite = np.triu(np.isfinite(weight), 1)
    paid = np.maximum(weight[finite] * x[finite], weight[finite] * (x[finite] - 1)).sum()
    assert paid + lost == pytest.approx(lp.value, abs=1e-5)


@few_of(12, 200)
def test_program_against_all_rows_at_once(numbers):
    for number in numbers:
        g, W, _, _ = random_case(number, n_most=9, hard=False)
        assert solve_lp(g).value == pytest.approx(oracle.program(W), abs=1e-6), number


@few_of(8, 120)
def test_exactly_k_clusters(numbers):
    for number in numbers:
        g, W, together, apart = random_case(number, n_most=6)
        for k in range(1, g.n + 1):
            optimum = oracle.best(W, together, apart, k)
            found = solve_ilp(g, None, n_clusters=k)
            assert found.proven, (number, k)
            if optimum is None:
                assert found.label is None, (number, k)
                continue
            assert len(np.unique(found.label)) == k, (number, k)
            assert g.allows(found.label), (number, k)
            assert found.value == pytest.approx(optimum - inside(g, W)), (number, k)
            again = solve_ilp(g, found.label, n_clusters=k)
            assert again.proven, (number, k)
            assert again.value == pytest.approx(found.value), (number, k)


def test_labels_that_nothing_beats_are_kept():
    g = editing(nx.cycle_graph(5))  # several optima of cost 3
    for label in oracle.partitions(5):
        if g.cost(label) == 3:
            assert (solve_ilp(g, label).label == label).all()


def test_advice_of_one_sign_costs_nothing():
    for sign in (1.0, -1.0):
        W = sign * nx.to_numpy_array(nx.disjoint_union(nx.path_graph(4), nx.cycle_graph(3)), weight=None)
        g = signed_graph(sparse.csr_matrix(W), 0.0, Constraints(n_items=7))
        found = solve_ilp(g, np.arange(7))
        assert found.value == found.bound == solve_lp(g).value == 0
        assert len(np.unique(found.label)) == (2 if sign > 0 else 7)


def test_too_large_a_program_says_how_large_and_what_else():
    g = editing(nx.path_graph(20))
    with pytest.raises(ValueError, match=r'20 units .* 190 variables .* 3,420 rows; .* 45 .*"local"'):
        solve_lp(g, max_items=10)
    g = signed_graph(sparse.csr_matrix((6000, 6000)), 0.0, Constraints(n_items=6000))
    with pytest.raises(ValueError, match=r"6,000 units are a table of 0\.3 GB"):
        solve_lp(g)


@pytest.mark.kernels
def test_a_packing_needs_no_listed_pairs_that_repel():
    # a star: each triple takes two of its edges, whatever the order
    for default in (-1.0, -0.25):
        star = sparse.csr_matrix(nx.to_scipy_sparse_array(nx.star_graph(6), dtype=float))
        g = signed_graph(star, default, Constraints(n_items=7))
        most = oracle.program(g.weights(), inconsistent_only=True)
        found = triple_packing(g, np.random.default_rng(0))
        assert found <= most + 1e-9
        assert found == pytest.approx(3.0 if default == -1 else most, rel=0.2)
    # and with few tries it is still a bound
    assert 0 <= triple_packing(g, np.random.default_rng(0), most=1) <= most + 1e-9


# Of items


def test_bounds_of_items_with_weights_of_both_signs():
    for number in range(12):
        rng = np.random.default_rng(number)
        plus, minus = (np.triu(rng.integers(0, 4, size=(6, 6)), 1).astype(float) for _ in range(2))
        plus, minus = plus + plus.T, minus + minus.T
        both = [
            (np.where(same, minus, plus)[np.triu_indices(6, 1)].sum())
            for labels in oracle.partitions(6)
            for same in [labels[:, None] == labels]
        ]
        found = correlation_lp(plus, X_minus=minus)
        packed = triple_packing_bound(plus, X_minus=minus, random_state=number)
        assert np.minimum(plus, minus).sum() / 2 - 1e-9 <= packed <= found.value + 1e-6 <= min(both) + 2e-6
        alone = correlation_lp(plus - minus)
        assert np.triu(np.minimum(plus, minus)).sum() + alone.value == pytest.approx(found.value)
        listed = correlation_lp(sparse.csr_matrix(plus), X_minus=sparse.csr_matrix(minus))
        assert listed.value == pytest.approx(found.value, abs=1e-6)


def test_pairs_that_a_sparse_matrix_stores_are_listed():
    path = sparse.csr_matrix(nx.to_scipy_sparse_array(nx.path_graph(3), dtype=float))
    assert correlation_lp(path).value == 0
    assert correlation_lp(path, default=-1).value == pytest.approx(1)
    i, j = np.nonzero(~np.eye(3, dtype=bool))
    zero = sparse.csr_matrix((np.ones(6) - (np.abs(i - j) == 2), (i, j)))  # the last pair weighs 0, not -1
    assert correlation_lp(zero, default=-1).value == 0
    assert correlation_lp(path, X_minus=path, default=-1).value == 2


@pytest.mark.parametrize(
    ("X", "more", "message"),
    [
        (np.zeros((2, 3)), {}, r"X must be square.* shape \(2, 3\)"),
        (np.zeros((0, 0)), {}, "X must be square"),
        ([[0, 1], [2, 0]], {}, r"X\[0, 1\] is 1, but X\[1, 0\] is 2"),
        ([[0, np.nan], [np.nan, 0]], {}, r"X\[0, 1\] is nan"),
        (np.eye(2), {"default": 0.5}, "default=0.5"),
        ([[0, -1], [-1, 0]], {"X_minus": np.eye(2)}, r"X\[0, 1\] is -1"),
        (np.eye(2), {"X_minus": np.eye(3)}, r"X_minus has shape \(3, 3\)"),
    ],
)
def test_weights_that_are_none(X, more, message):
    for bound in (correlation_lp, triple_packing_bound):
        with pytest.raises(ValueError, match=message):
            bound(X, **more)
