"""Traps that a reader of the code found: each test is named after its trap."""

import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from coterie import Constraints, COPKMeans, PCKMeans, SeededKMeans
from tests.marks import outvoted, unsettled

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("options", [{"assignment": "greedy"}, {"strategy": "wagstaff"}])
@unsettled
def test_the_inertia_of_a_restored_pass_is_its_own(options):
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(40, 2))
        known = Constraints.sample(np.arange(40) % 3, n_pairs=8, random_state=seed)
        model = COPKMeans(3, random_state=seed, init="random", n_init=1, **options).fit(X, constraints=known)
        by_hand = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
        assert model.inertia_ == pytest.approx(by_hand)


def test_one_weighted_row_is_enough():
    X = np.array([[0.0], [1.0], [5.0]])
    assert COPKMeans(1).fit(X, sample_weight=[1, 0, 0]).cluster_centers_.tolist() == [[0.0]]
    assert COPKMeans(2).fit(X).score(X, sample_weight=[0, 0, 1]) == 0


def test_a_batch_of_near_rows_can_be_predicted():
    model = COPKMeans(2, random_state=0).fit(np.float32([[0], [1], [9], [10]]))
    assert len(set(model.predict(np.float32([[0], [1e-18]])).tolist())) == 1


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("factor", [1e160, 1e-170])
def test_lengths_out_of_range_are_refused(factor):
    with pytest.raises(ValueError, match=r"too (large|small)"):
        COPKMeans(2, metric="cosine").fit(factor * RNG.normal(size=(10, 2)))


@outvoted
def test_labelled_rows_of_a_sparse_matrix_stay_sparse():
    import tracemalloc

    X = sparse.random(800, 20_000, density=2e-4, format="csr", random_state=0)
    labels = np.where(np.arange(800) < 400, np.arange(800) % 2, -1)
    for kind in (SeededKMeans, COPKMeans):
        kind(2, max_iter=1, random_state=0, n_init=1).fit(X[:50], constraints=labels[:50])
        tracemalloc.start()
        kind(2, max_iter=1, random_state=0, n_init=1).fit(X, constraints=labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 12e6  # dense, the labelled rows alone are 64 MB


def test_zero_rows_do_not_refill_a_cluster():
    A = np.array([[1, 0], [1, 0.1], [1, 0.2], [0, 1], [0.1, 1], [0.2, 1], [0, 0], [0, 0]])
    labels = COPKMeans(2, metric="cosine", init=[[1, 1], [-1, -1]]).fit(A).labels_
    assert labels[0] == labels[1] == labels[2] != labels[3] == labels[4] == labels[5]


def test_entries_in_parts_are_added_before_they_are_squared():
    parts = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), (2, 1))
    assert not parts.has_canonical_format
    assert COPKMeans(1).fit(parts).inertia_ == pytest.approx(2.0)
    assert not parts.has_canonical_format  # the user's matrix is left alone


def test_all_items_in_one_place_still_heed_constraints():
    known = Constraints(cannot_link=[(0, 1)], n_items=4)
    assert not PCKMeans(2, random_state=0).fit(np.ones((4, 2)), constraints=known).violations_


def test_overlapping_fits_give_blas_its_threads_back():
    before = [library["num_threads"] for library in threadpool_info()]
    X = RNG.normal(size=(3000, 3))
    fits = [threading.Thread(target=COPKMeans(5, random_state=0).fit, args=(X,)) for _ in range(4)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert [library["num_threads"] for library in threadpool_info()] == before


def soft_star(kind, n):
    spokes = np.column_stack([np.zeros(n - 1, dtype=int), np.arange(1, n)])
    return Constraints(**{kind: spokes}, n_items=n)


@outvoted
@unsettled
@pytest.mark.parametrize(
    "make",
    [
        lambda n: soft_star("must_link", n),
        lambda n: soft_star("cannot_link", n),
        lambda n: Constraints.across(np.where(np.arange(n) < 5, 0, 1), weight=1.0),
        lambda n: Constraints.from_labels(np.arange(n) % 3, weight=1.0),
    ],
    ids=["must-link star", "cannot-link star", "small across", "soft labels"],
)
def test_nothing_is_quadratic_in_a_statement(make):
    """Linear work takes a second here; quadratic work runs into the time limit of every test."""
    n = 100_000
    X = RNG.normal(size=(n, 2))
    far = np.vstack([X[:3], [[1e3, 1e3]]])  # one cluster begins empty
    PCKMeans(4, init=far, max_iter=1).fit(X[:100], constraints=make(100))
    assert PCKMeans(4, init=far, max_iter=2).fit(X, constraints=make(n)).n_iter_ <= 2


def test_a_tiny_group_apart_from_many_is_not_quadratic():
    n = 100_000
    X = RNG.normal(size=(n, 2))
    known = Constraints.across(np.where(np.arange(n) < 5, 0, 1))
    assert not COPKMeans(3, init=X[:3], max_iter=2).fit(X, constraints=known).violations_
