"""`check` against brute-force colouring on every small graph (oracles B1 and B3)."""

import itertools

import pytest

from coterie import Constraints
from tests.constraints.strategies import assert_check_is_right
from tests.oracles import constraints as oracle


def assert_agrees(graph: oracle.Graph, needed: int | None = None, near: int = 9) -> None:
    """With every number of clusters up to one more than items, or those `near` the least that will do."""
    n, edges = graph
    if needed is None:
        needed = next(k for k in range(1, n + 1) if oracle.feasible(n, [], edges, k))
    c = Constraints(cannot_link=sorted(edges), n_items=n)
    for k in range(max(1, needed - near), min(needed + near, n + 1) + 1):
        assert_check_is_right(c, k, k >= needed)


@pytest.mark.parametrize("r", [3, 4, 5, 6, 7, 9, 30, 31])
def test_b1_cycles_need_two_or_three(r):
    ring = Constraints(cannot_link=[(i, (i + 1) % r) for i in range(r)])
    for k in (1, 2, 3):
        assert_check_is_right(ring, k, k >= 2 + r % 2)
    if r % 2:
        certificate = ring.check(2).certificate
        assert certificate.kind in ("odd cycle", "clique")
        assert len(certificate.cannot_link) == r


@pytest.mark.parametrize("r", range(2, 12))
def test_b1_complete_graphs(r):
    c = Constraints(cannot_link=list(itertools.combinations(range(r), 2)))
    for k in range(1, r + 3):
        assert_check_is_right(c, k, k >= r)


def test_graph_enumeration_is_complete():
    """The known numbers of graphs up to isomorphism: the oracle itself is checked."""
    counts = [len(oracle.graphs_up_to_isomorphism(n)) for n in range(7)]
    assert counts == [1, 1, 2, 4, 11, 34, 156]


@pytest.mark.parametrize("n", range(1, 6))
def test_all_labelled_graphs(n):
    for graph in oracle.labelled_graphs(n):
        assert_agrees(graph, max(oracle.chromatic_number(graph), 1))


def test_all_graphs_of_6_nodes():
    for graph in oracle.graphs_up_to_isomorphism(6):
        assert_agrees(graph, max(oracle.chromatic_number(graph), 1))


@pytest.mark.slow
def test_all_graphs_of_7_nodes():
    graphs = oracle.graphs_up_to_isomorphism(7)
    assert len(graphs) == 1044
    for graph in graphs:
        assert_agrees(graph)


@pytest.mark.slow
def test_all_labelled_graphs_of_6_nodes():
    for graph in oracle.labelled_graphs(6):
        assert_agrees(graph)


@pytest.mark.slow
def test_all_graphs_of_8_nodes():
    """Oracle B3 to the letter."""
    graphs = oracle.graphs_up_to_isomorphism(8)
    assert len(graphs) == 12346
    for graph in graphs:
        assert_agrees(graph, near=1)


def test_oracle_colourer_agrees_with_enumeration():
    for graph in oracle.graphs_up_to_isomorphism(5):
        for k in range(6):
            assert oracle.feasible(5, [], graph[1], k) == oracle.feasible_by_enumeration(5, [], graph[1], k)


def test_graphs_without_small_cliques_still_need_many_clusters():
    """Mycielski graphs: no triangle, yet 4 and 5 colours; neither peeling nor cliques can decide them."""
    edges, n = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], 5
    for needed in (4, 5):
        grown = list(edges)
        for i, j in edges:
            grown += [(i, n + j), (j, n + i)]
        grown += [(n + i, 2 * n) for i in range(n)]
        edges, n = grown, 2 * n + 1
        c = Constraints(cannot_link=edges, n_items=n)
        for k in range(1, needed + 2):
            assert_check_is_right(c, k, k >= needed)


def test_a_tiny_budget_may_leave_it_open_but_never_guesses():
    from coterie.exceptions import UndecidedError

    edges = list(itertools.combinations(range(6), 2))
    hard = [(a + 6 * t, b + 6 * t) for t in range(3) for a, b in edges[:-1]]
    hard += [(5, 6), (11, 12), (0, 17), (4, 13), (3, 9), (2, 15)]
    c = Constraints(cannot_link=hard)
    for k in (3, 4, 5):
        truth = oracle.feasible(c.n_items, [], c.cannot_link.tolist(), k)
        for budget in (0, 1, 5, 50):
            answer = c.check(k, budget=budget)
            if answer.status == "undecided":
                with pytest.raises(UndecidedError, match=rf"{k} clusters.*budget"):
                    bool(answer)
            else:
                assert bool(answer) is truth
