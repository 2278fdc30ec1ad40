"""Comparisons where clusters must be connected, and of methods whose number of clusters comes out."""

import numpy as np
import pytest

from coterie import Constraints, compare
from coterie.hierarchy import ConstrainedLinkage, COPCobweb
from tests.comparison.entrants import blobs, rows_of


def line(seed, n=40):
    """Items in a row, each a neighbour of the next; pairs of neighbours are known."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    together = [(i, i + 1) for i in range(0, 20, 4)]
    apart = [(i + 2, i + 23) for i in range(0, 16, 3)]
    return X, Constraints(together, apart, n_items=n), [(i, i + 1) for i in range(n - 1)]


def test_only_who_keeps_clusters_connected(seed):
    X, known, edges = line(seed)
    rows = rows_of(compare(X, known, 8, parameters={"connectivity": edges}, n_folds=2, random_state=0))
    assert set(rows) == {"ConstrainedLinkage", "ConnectedKMeans", "plain"}
    assert all(row["status"] == "ok" for row in rows.values())
    rows = rows_of(
        compare(
            X,
            known,
            8,
            methods=["ConstrainedLinkage", "COPKMeans"],
            parameters={"connectivity": edges},
            n_folds=2,
            random_state=0,
        )
    )
    assert "cannot keep clusters connected" in rows["COPKMeans"]["status"]


def test_plain_is_connected_too(seed, sizes):
    X, known, edges = line(seed)
    parameters = {"connectivity": edges}
    compare(X, known, 8, parameters=parameters, n_folds=2, n_repeats=1, random_state=0)
    labels = ConstrainedLinkage(8, connectivity=edges).fit(X).labels_
    assert sorted(sizes["plain"]) == sorted([*np.bincount(labels)] * 3)


def test_a_dead_end_is_a_number_of_clusters_and_no_warning(seed, sizes):
    X, known, edges = line(seed)
    rows = rows_of(
        compare(X, known, 4, parameters={"connectivity": edges, "size_max": 10}, n_folds=2, random_state=0)
    )
    row = rows["ConstrainedLinkage"]
    assert row["status"] == "ok"
    assert max(sizes["ConstrainedLinkage"]) <= 10
    assert row["n_clusters"] > 4  # four blocks of ten in a row are not what merging finds


def test_a_number_that_is_found(seed):
    X, known, _ = blobs()
    rows = rows_of(compare(X, known, 3, methods=["COPKMeans", "COPCobweb"], n_folds=2, random_state=0))
    assert rows["COPKMeans"]["n_clusters"] == 3
    assert rows["COPCobweb"]["status"] == "ok"
    assert rows["COPCobweb"]["n_clusters"] == len(set(COPCobweb().fit_predict(X, constraints=known)))


def test_who_finds_the_number_takes_part_only_by_name():
    X, known, _ = blobs()
    assert "COPCobweb" not in rows_of(compare(X, known, 3, n_folds=2, n_repeats=1, random_state=0))


def test_weights_are_refused_by_name(seed):
    X, known, _ = blobs()
    rows = rows_of(
        compare(
            X,
            known,
            3,
            methods=["COPKMeans", "ConstrainedLinkage"],
            sample_weight=np.ones(len(X)),
            n_folds=2,
            n_repeats=1,
            random_state=0,
        )
    )
    assert "takes no weights" in rows["ConstrainedLinkage"]["status"]
    with pytest.raises(ValueError, match="takes no weights"):
        compare(X, known, 3, methods="ConstrainedLinkage", sample_weight=np.ones(len(X)), n_folds=2)
