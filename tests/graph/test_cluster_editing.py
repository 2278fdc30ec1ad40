"""ClusterEditing: all partitions of tiny graphs, the graphs of the chapter, what is added and removed."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("coterie.graph._correlation_clustering")

from coterie.adjacency import islands, read_graph
from coterie.constraints import Constraints
from coterie.exceptions import InfeasibleConstraintsError
from coterie.graph._cluster_editing import ClusterEditing
from tests.marks import few_of
from tests.oracles.consensus import partitions

MODES = ("edit", "delete", "complete")


def random_graph(seed, n=6, share=0.5):
    upper = np.triu(np.random.default_rng(seed).uniform(size=(n, n)) < share, 1)
    return upper | upper.T


def edits(A, labels):
    """Pairs to add and to remove."""
    pairs = list(combinations(range(len(A)), 2))
    added = [(i, j) for i, j in pairs if labels[i] == labels[j] and not A[i, j]]
    return added, [(i, j) for i, j in pairs if labels[i] != labels[j] and A[i, j]]


def least(A, mode, known=None, k=None):
    """The fewest edits, by all partitions; None if there is none."""
    found = []
    for labels in partitions(len(A)):
        added, removed = edits(A, labels)
        legal = not (mode == "delete" and added) and not (mode == "complete" and removed)
        if legal and k in (None, len(set(labels))) and not (known and known.violations(labels)):
            found.append(len(added) + len(removed))
    return min(found, default=None)


def fit(X, mode="edit", constraints=None, **words):
    return ClusterEditing(mode=mode, **{"random_state": 0, **words}).fit(X, constraints=constraints)


@few_of(5, 100)
def test_tiny_graphs_by_all_partitions(numbers):
    for seed in numbers:
        A = random_graph(seed)
        costs = {}
        for mode in MODES:
            model = fit(A, mode, algorithm="exact")
            added, removed = edits(A, model.labels_)
            assert model.edges_added_.tolist() == [list(pair) for pair in added]
            assert model.edges_removed_.tolist() == [list(pair) for pair in removed]
            assert model.cost_ == len(added) + len(removed) == least(A, mode)
            assert fit(A, mode).cost_ >= model.cost_
            costs[mode] = model.cost_
        assert costs["edit"] <= min(costs["delete"], costs["complete"])


@few_of(5, 100)
def test_hard_constraints_and_numbers_of_clusters_hold(numbers):
    for seed in numbers:
        A = random_graph(seed, share=0.3)
        i, j = np.argwhere(np.triu(A))[0] if A.any() else (0, 1)
        known = Constraints(None, [(i, j)], n_items=6, hard=True)
        model = fit(A, constraints=known, algorithm="exact")
        assert not model.violations_
        assert model.constraints_ == known
        assert model.cost_ == least(A, "edit", known)
        for mode in MODES:
            k = 4 if mode == "delete" else 2
            if least(A, mode, k=k) is not None:
                found = fit(A, mode, n_clusters=k, algorithm="exact")
                assert len(set(found.labels_)) == k
                assert found.cost_ == least(A, mode, k=k)


def test_completion_joins_the_parts_and_keeps_the_constraints():
    A = random_graph(3, n=40, share=0.04)
    model = fit(A, "complete")
    n_parts, part = islands(read_graph(A, 40))
    assert len(set(model.labels_)) == n_parts
    assert np.array_equal(model.labels_[:, None] == model.labels_, part[:, None] == part)
    assert len(model.edges_removed_) == 0
    apart = Constraints(None, [(0, 2)], n_items=3, hard=True)
    with pytest.raises(InfeasibleConstraintsError):
        fit([(0, 1), (1, 2)], "complete", apart)


def test_deletion_leaves_cliques():
    A = random_graph(5, n=60, share=0.4)
    model = fit(A, "delete")
    assert len(model.edges_added_) == 0
    assert all(A[i, j] for i, j in combinations(range(60), 2) if model.labels_[i] == model.labels_[j])
    assert model.cost_ == np.triu(A).sum() - sum(s * (s - 1) // 2 for s in np.bincount(model.labels_))
    with pytest.raises(InfeasibleConstraintsError, match="0 and 2 had to share a cluster"):
        fit([(0, 1), (1, 2)], "delete", Constraints([(0, 2)], n_items=3, hard=True))


def cycle(n):
    return [(i, (i + 1) % n) for i in range(n)]


BRIDGE = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
PETERSEN = [*cycle(5), *((i, i + 5) for i in range(5)), *((5 + i, 5 + (i + 2) % 5) for i in range(5))]


@pytest.mark.parametrize(
    ("edges", "cost"),
    [
        ([(0, 1), (1, 2), (2, 3)], 1),
        ([(0, 1), (1, 2), (2, 3), (3, 4)], 2),
        *[([(0, i + 1) for i in range(m)], m - 1) for m in (3, 4, 5)],
        (cycle(4), 2),
        (cycle(5), 3),
        (cycle(6), 3),
        (BRIDGE, 1),
        ([(i, j) for i in range(3) for j in range(3, 6)], 6),
        (PETERSEN, 10),
    ],
)
def test_graphs_of_the_chapter(edges, cost):
    assert fit(edges).cost_ == fit(edges, algorithm="exact").cost_ == cost


def test_karate_and_names_of_nodes():
    networkx = pytest.importorskip("networkx")
    assert fit(networkx.karate_club_graph(), algorithm="local").cost_ <= 51
    families = networkx.florentine_families_graph()
    model = fit(families, algorithm="exact")
    assert model.cost_ == 10
    names = list(families.nodes)
    joined = {frozenset((names[i], names[j])) for i, j in model.edges_removed_}
    assert joined <= {frozenset(edge) for edge in families.edges}


def test_every_form_of_a_graph_is_the_same():
    import pandas as pd
    from scipy import sparse

    A = read_graph(BRIDGE, 6)
    forms = [BRIDGE, np.array(BRIDGE), A, A.toarray(), sparse.csr_matrix(A).astype(float)]
    forms.append(pd.DataFrame(BRIDGE, columns=["i", "j"]).assign(weight=3.0))
    for form in forms:
        assert fit(form).edges_removed_.tolist() == [[2, 3]]
    more = fit(BRIDGE, constraints=Constraints([(6, 7)], n_items=8, hard=True))
    assert len(more.labels_) == 8
    assert more.edges_added_.tolist() == [[6, 7]]


def test_a_graph_without_edges_has_none_to_add():
    model = ClusterEditing(random_state=0).fit(np.zeros((3, 3)))
    assert (model.cost_, model.edges_added_.shape, model.edges_removed_.shape) == (0, (0, 2), (0, 2))
