"""Closure and contraction: oracles A1 to A4 of the specification, and brute force."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings

from coterie import Constraints
from coterie.exceptions import InfeasibleConstraintsError
from tests.constraints.strategies import Case, cases, random_case
from tests.oracles import constraints as oracle


def as_set(pairs) -> set:
    return {tuple(pair) for pair in pairs.tolist()}


def contracted_as_sets(c: Constraints):
    """The package's contraction in the oracle's form: components, and pairs of components that are apart."""
    graph = c.contracted
    part = {}
    for item, number in enumerate(c.components.tolist()):
        part.setdefault(number, set()).add(item)
    part = {number: frozenset(items) for number, items in part.items()}
    edges = set()
    for u in range(graph.n_components):
        for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist():
            edges.add(frozenset((part[u], part[v])))
    for start, end in itertools.pairwise(graph.clique_indptr.tolist()):
        for u, v in itertools.combinations(graph.clique_nodes[start:end].tolist(), 2):
            edges.add(frozenset((part[u], part[v])))
    for nodes, codes, *_ in graph.parts:
        for (u, a), (v, b) in itertools.combinations(zip(nodes.tolist(), codes.tolist(), strict=True), 2):
            if a != b:
                edges.add(frozenset((part[u], part[v])))
    return frozenset(part.values()), frozenset(edges)


def test_a1_worked_example():
    c = Constraints([(0, 1), (1, 2), (3, 4)], [(2, 3)], n_items=6)
    assert c.components.tolist() == [0, 0, 0, 1, 1, 2]
    closed = c.closure()
    assert as_set(closed.must_link) == {(0, 1), (1, 2), (0, 2), (3, 4)}
    assert as_set(closed.cannot_link) == {(i, j) for i in (0, 1, 2) for j in (3, 4)}
    assert contracted_as_sets(c) == (
        frozenset({frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5})}),
        frozenset({frozenset({frozenset({0, 1, 2}), frozenset({3, 4})})}),
    )


def test_a3_cannot_link_is_not_transitive():
    c = Constraints(cannot_link=[(0, 1), (1, 2)])
    assert as_set(c.closure().cannot_link) == {(0, 1), (1, 2)}
    assert c.closure().must_link.shape == (0, 2)
    assert c.check(2).witness[0] == c.check(2).witness[2]


def test_a4_contradictions():
    direct = Constraints([(0, 1)], [(0, 1)])
    chain = Constraints([(0, 1), (1, 2)], [(0, 2)])
    assert direct.contracted.n_contradictions == 1
    assert chain.contracted.n_contradictions == 1
    assert chain.explain().conflict.items.tolist() == [0, 1, 2]
    for c in (direct, chain):
        for k in (1, 2, 3, 50):
            assert c.check(k).status == "infeasible"
            assert c.check(k).certificate.kind == "contradiction"
        with pytest.raises(InfeasibleConstraintsError, match="contradict"):
            c.closure()


@settings(deadline=None, max_examples=150)
@given(cases(max_items=7))
def test_closure_equals_brute_force(case: Case):
    c = case.build()
    must, cannot = case.pairs()
    assert c.components.tolist() == oracle.components(case.n, must)
    if any(c.components[i] == c.components[j] for i, j in cannot):
        assert c.contracted.n_contradictions > 0
        return
    assert c.contracted.n_contradictions == 0
    assert contracted_as_sets(c) == oracle.contraction(case.n, must, cannot)
    closed = c.closure()
    assert (as_set(closed.must_link), as_set(closed.cannot_link)) == oracle.closure(case.n, must, cannot)
    # A2
    assert closed.closure() == closed
    assert contracted_as_sets(closed) == oracle.contraction(case.n, must, cannot)


def test_a2_order_does_not_matter():
    rng = random.Random(2)
    for _ in range(60):
        case = random_case(rng, 4, 12, kinds="pairs")
        c = case.build()
        shuffled = Case(case.n, *(rng.sample(pairs, len(pairs)) for pairs in (case.must, case.cannot)))
        turned = [tuple(reversed(pair)) if rng.random() < 0.5 else pair for pair in shuffled.must]
        d = Case(case.n, turned, shuffled.cannot).build()
        assert d == c
        assert d.components.tolist() == c.components.tolist()
        assert contracted_as_sets(d) == contracted_as_sets(c)
        if not c.contracted.n_contradictions:
            assert c.closure() == d.closure()


def test_parallel_edges_sum_their_weights():
    c = Constraints([(0, 1), (2, 3)], [(0, 2), (1, 3), (1, 4)], weight=[1, 1, 0.5, 0.25, 4])
    graph = c.contracted
    found = {
        (u, v): graph.weight[t]
        for u in range(graph.n_components)
        for t, v in zip(
            range(graph.indptr[u], graph.indptr[u + 1]),
            graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist(),
            strict=True,
        )
    }
    assert found == {(0, 1): 0.75, (1, 0): 0.75, (0, 2): 4.0, (2, 0): 4.0}
    assert graph.sizes.tolist() == [2, 2, 1]


def test_inferred_weights_are_the_weakest_of_the_best_way():
    """Must-links inherit the minimum on the path, cannot-links the cannot-link's own weight (spec 4.1)."""
    c = Constraints([(0, 1), (1, 2), (2, 3)], [(3, 4)], weight=[5, 0.5, 3, 7])
    closed = c.closure()
    found = {tuple(p): w for p, w in zip(closed.must_link.tolist(), closed.must_table.weight, strict=True)}
    assert found == {(0, 1): 5, (1, 2): 0.5, (2, 3): 3, (0, 2): 0.5, (0, 3): 0.5, (1, 3): 0.5}
    assert closed.cannot_table.weight.tolist() == [7, 7, 7, 7]
    assert set(closed.must_table.source_names()) == {None, "entailed"}


def test_hardness_is_inherited_only_along_hard_ways():
    c = Constraints([(0, 1), (1, 2)], [(0, 3)], hard=[True, False, True])
    closed = c.closure()
    must = dict(zip(map(tuple, closed.must_link.tolist()), closed.must_table.hard.tolist(), strict=True))
    cannot = dict(
        zip(map(tuple, closed.cannot_link.tolist()), closed.cannot_table.hard.tolist(), strict=True)
    )
    assert must == {(0, 1): True, (1, 2): False, (0, 2): False}
    assert cannot == {(0, 3): True, (1, 3): True, (2, 3): False}


def test_closure_keeps_what_follows_from_others_although_it_was_stated_without_weight():
    """A soft pair of weight 0 says nothing, so it must not hide that the pair is entailed."""
    c = Constraints([(0, 1)], [(0, 3), (1, 3)], weight=[1, 1, 0])
    assert oracle.all_pairs(c.closure())[1] == {(0, 3), (1, 3)}


def test_closure_is_hard_where_hard_statements_entail_a_soft_one():
    c = Constraints([(0, 1), (1, 2), (0, 2)], hard=[True, True, False])
    assert c.closure().must_table.hard.all()


def test_a_chain_is_one_component():
    n = 20_000
    item = np.arange(n)
    order = np.random.default_rng(0).permutation(n - 1)
    c = Constraints(np.column_stack([item[:-1], item[1:]])[order], n_items=n)
    assert c.components.max() == 0
    assert c.contracted.sizes.tolist() == [n]


def test_few_links_among_many_items():
    """The union-find has a second way for links that are few against the items."""
    rng = random.Random(5)
    for _ in range(30):
        n = rng.randint(100, 300)
        must = [tuple(rng.sample(range(n), 2)) for _ in range(rng.randint(0, 6))]
        assert Constraints(must, n_items=n).components.tolist() == oracle.components(n, must)


def test_too_large_a_closure_is_refused_with_its_size():
    n = 100_000
    item = np.arange(n)
    c = Constraints(np.column_stack([item[:-1], item[1:]]), n_items=n)
    with pytest.raises(
        ValueError, match=r"4,999,950,000 pairs \(\d+\.\d GB\).*max_pairs=10,000,000"
    ) as error:
        c.closure()
    assert "components" in str(error.value)
    with pytest.raises(ValueError, match="max_pairs=3"):
        Constraints([(0, 1), (1, 2), (2, 3)]).closure(max_pairs=3)
    assert Constraints([(0, 1), (1, 2)]).closure(max_pairs=3).n_pairs == 3


def test_a_hard_pair_of_weight_zero_passes_on_its_effect():
    must = Constraints([(0, 1), (1, 2)], hard=[True, False], weight=[0, 1], n_items=3)
    cannot = Constraints([(0, 1)], [(1, 2)], hard=[False, True], weight=[1, 0], n_items=3)
    for c in (must, cannot):
        closed = c.closure()
        assert closed.n_pairs == 3
        assert closed.must_table.active.all()
        assert closed.cannot_table.active.all()
        assert closed.closure() == closed
