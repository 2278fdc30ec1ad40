"""Dead ends on a map: small clusters are shared out among their neighbours, and everything still holds."""

import warnings

import networkx as nx
import numpy as np
import pytest

from coterie import ConstrainedLinkage, Constraints
from coterie.exceptions import DeadEndWarning, InfeasibleConstraintsError

EVERY = pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
ROW = np.array([[0.0], [5.0], [5.1], [5.2], [9.0], [9.5]])
PATH = [(i, i + 1) for i in range(5)]


@EVERY
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_the_middle_is_shared_out(linkage, metric):
    """Three of the six merge first and are full; only by parting them two groups of three are reached."""
    X = ROW if metric == "euclidean" else np.abs(ROW - ROW.T)
    model = ConstrainedLinkage(2, linkage=linkage, metric=metric, connectivity=PATH, size_max=3).fit(X)
    assert model.n_roots_ == 3
    assert model.repaired_
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.n_clusters_ == 2


def legal(labels, graph, known, cap, load):
    """By definition: connected, obeying, not too large."""
    assert not known.violations(labels)
    for h in range(labels.max() + 1):
        members = np.flatnonzero(labels == h)
        assert nx.is_connected(graph.subgraph(members.tolist()))
        assert load[members].sum() <= cap + 1e-9


@EVERY
def test_random_maps(linkage, seed):
    """What comes out is legal; where it is not what was asked for, a warning says so."""
    rng = np.random.default_rng(seed)
    repaired = 0
    for _ in range(25):
        wide = int(rng.integers(4, 8))
        graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(wide, wide))
        n = wide * wide
        cap, k = int(rng.integers(4, 9)), 0
        load = rng.choice([1.0, 2.0], size=n) if rng.random() < 0.5 else np.ones(n)
        k = int(np.ceil(load.sum() / cap * rng.uniform(1.1, 1.5)))
        truth = rng.integers(3, size=n)
        known = Constraints(None, rng.choice(n, size=(4, 2), replace=False), n_items=n)
        if rng.random() < 0.5:
            known = known | Constraints.distinct(np.where(rng.random(n) < 0.3, np.arange(n) % 3, -1))
        elif rng.random() < 0.5:
            known = known | Constraints.across(np.where(rng.random(n) < 0.2, truth, -1))
        X = rng.normal(size=(n, 2))
        model = ConstrainedLinkage(k, linkage=linkage, connectivity=graph, size_max=cap)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeadEndWarning)
            try:
                model.fit(X, constraints=known, size_weight=load)
            except InfeasibleConstraintsError:
                continue
        legal(model.labels_, graph, known, cap, load)
        assert model.labels_.max() + 1 == model.n_clusters_
        assert (model.n_clusters_ == k) == (model.repaired_ or model.n_roots_ <= k)
        repaired += model.repaired_
    assert repaired


@EVERY
def test_who_cannot_be_shared_out_is_left(linkage):
    """Each holds a record of the one source: no third of them can be given away."""
    known = Constraints.distinct([0, -1, 0, -1, 0, -1])
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=PATH, on_dead_end="warn")
    with pytest.warns(DeadEndWarning, match="3 clusters"):
        model.fit(ROW, constraints=known)
    with pytest.raises(InfeasibleConstraintsError):
        model.set_params(on_dead_end="repair").fit(ROW, constraints=known)
    # legal by the sums, but not on this path: a, b and c of one source stand side by side
    star = [(0, 1), (0, 2), (0, 3)]
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=star, size_max=2)
    with pytest.warns(DeadEndWarning, match="[Nn]o way"):
        model.fit(ROW[:4])
    assert model.n_clusters_ == 3
    assert not model.repaired_


@EVERY
def test_islands_need_clusters_of_their_own(linkage):
    """Four items at most three a cluster, and two: three clusters, however one merges."""
    edges = [(0, 1), (1, 2), (2, 3), (4, 5)]
    model = ConstrainedLinkage(2, linkage=linkage, connectivity=edges, size_max=3)
    with pytest.raises(InfeasibleConstraintsError, match=r"2 islands, which need 2 \+ 1 = 3 clusters"):
        model.fit(ROW)
    assert model.set_params(n_clusters=3).fit(ROW).n_clusters_ == 3
