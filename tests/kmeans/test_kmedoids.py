"""`KMedoids`: the centres are items, any distance will do, and no set of medoids is undercut."""

import itertools
import random

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from coterie import Constraints
from coterie.base import Distances
from coterie.kmeans import KMedoids
from tests.assign.problems import fit_or_refuse, random_constraints
from tests.marks import outvoted, unsettled
from tests.oracles import kmeans as oracle

METRICS = ["euclidean", "manhattan", "cosine", "chebyshev"]


def assert_model_is_right(model, D, sample_weight=None, constrained=False):
    """Medoids are members of their clusters, and the sums are what the distances say.

    Constraints may pull a medoid away from its cluster; two clusters never have the same.
    """
    medoids = model.medoid_indices_
    k = model.n_clusters
    assert len(set(medoids.tolist())) == k
    if not constrained:
        assert model.labels_[medoids].tolist() == list(range(k))
    w = np.ones(len(D)) if sample_weight is None else sample_weight
    by_hand = float(w @ D[np.arange(len(D)), medoids[model.labels_]])
    assert model.inertia_ == pytest.approx(by_hand, rel=1e-6)
    history = np.asarray(model.history_)
    assert (np.diff(history) <= 1e-9 * history[:-1] + 1e-12 * D.max()).all()
    assert history[-1] == pytest.approx(model.objective_, rel=1e-9)
    return by_hand


@pytest.mark.parametrize("metric", METRICS)
def test_never_below_the_best_set_of_medoids(metric, seed):
    hits = total = 0
    for number in range(12):
        rng = np.random.default_rng((seed, number))
        n, k = int(rng.integers(3, 13)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, 2))
        D = pairwise_distances(X, metric=metric)
        w = rng.integers(1, 4, n).astype(float) if number % 2 else None
        model = KMedoids(k, metric=metric, init="k-medoids++", n_init=12, random_state=number)
        model.fit(X, sample_weight=w)
        by_hand = assert_model_is_right(model, D, w)
        assert model.objective_ == pytest.approx(by_hand, rel=1e-6)
        best = oracle.best_medoids(D, k, w)
        assert by_hand >= best - 1e-9
        total += 1
        hits += by_hand <= best + 1e-9
        # without constraints everyone is with the nearest medoid
        nearest = D[:, model.medoid_indices_].min(axis=1)
        np.testing.assert_allclose(D[np.arange(n), model.medoid_indices_[model.labels_]], nearest, atol=1e-9)
    assert hits >= 0.6 * total


def test_outliers_do_not_take_the_clusters(seed):
    """Three clusters and three items far off, to which farthest-first would go; with pairs and without."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 40)
    X = np.array([[8.0, 0.0], [0.0, 8.0], [-8.0, -8.0]])[y] + rng.normal(size=(120, 2))
    far = np.array([[40.0, 40.0], [-40.0, 40.0], [40.0, -40.0]])
    told = Constraints.sample(y, 30, random_state=0)
    pairs = Constraints(told.must_link, told.cannot_link, n_items=123)
    for random_state, known in itertools.product(range(3), (None, pairs)):
        model = KMedoids(3, random_state=random_state).fit(np.vstack([X, far]), constraints=known)
        assert adjusted_rand_score(y, model.labels_[:120]) == 1


def test_the_default_start_mostly_ends_at_the_best_set_of_medoids(seed):
    hits = 0
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        X = rng.standard_t(1.5, size=(14, 3))  # heavy tails
        model = KMedoids(3, random_state=number).fit(X)
        best = oracle.best_medoids(pairwise_distances(X), 3)
        assert model.objective_ >= best - 1e-9
        hits += model.objective_ <= best + 1e-9
    assert hits >= 15


def test_swaps_lower_the_cost_by_what_they_say(seed):
    """Each swap of a start is the best one for the item that comes in, and is made only if it pays."""
    made = 0
    for number in range(20):
        rng = np.random.default_rng((seed, number))
        n, k = 20, int(rng.integers(2, 5))
        D, w = rng.random((n, n)), rng.integers(0, 3, n).astype(float)
        model = KMedoids(k, metric="precomputed")
        before = rng.choice(n, k, replace=False)
        after = model._swapped(Distances(D, "precomputed"), w, before.copy(), np.random.RandomState(number))

        def cost(medoids, D=D, w=w):
            return float(w @ D[:, medoids].min(axis=1))

        assert len(set(after.tolist())) == k
        assert cost(after) <= cost(before)
        made += len(set(after) - set(before))
        if len(set(after) - set(before)) == 1:  # one swap, or several through the same place
            (new,) = set(after) - set(before)
            kept = [[new if m == out else m for m in before] for out in before]
            assert cost(after) <= min(map(cost, kept)) + 1e-9
    assert made


@pytest.mark.parametrize("metric", [*METRICS, "seuclidean", "mahalanobis"])
def test_precomputed_equals_features(metric, seed):
    rng = np.random.default_rng(seed)
    X, _ = make_blobs(60, 3, centers=3, cluster_std=4.0, random_state=int(rng.integers(2**31)))
    D = pairwise_distances(X, metric=metric)
    c = Constraints([(0, 1), (2, 3)], [(4, 5)], n_items=60, hard=True)
    for known in (None, c):
        a = KMedoids(3, metric=metric, random_state=0).fit(X, constraints=known)
        b = KMedoids(3, metric="precomputed", random_state=0).fit(D, constraints=known)
        assert a.labels_.tolist() == b.labels_.tolist()
        assert a.medoid_indices_.tolist() == b.medoid_indices_.tolist()
        assert a.objective_ == pytest.approx(b.objective_)
        np.testing.assert_array_equal(a.cluster_centers_, X[a.medoid_indices_])
        assert a.predict(X).tolist() == D[:, a.medoid_indices_].argmin(axis=1).tolist()
        np.testing.assert_allclose(a.transform(X), D[:, a.medoid_indices_], atol=1e-5)


def test_precomputed_must_be_square_and_honest():
    with pytest.raises(ValueError, match=r"square|precomputed|shape"):
        KMedoids(2, metric="precomputed").fit(np.zeros((4, 3)))
    D = pairwise_distances(np.arange(5.0)[:, None])
    D[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KMedoids(2, metric="precomputed").fit(D)


@outvoted
@unsettled
@pytest.mark.parametrize("batch", range(3))
def test_hard_statements_hold_and_soft_ones_are_reported(batch, seed):
    for number in range(10):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(4, 10), rng.randint(2, 3)
        c = random_constraints(rng, n, hard=0.3, dense=0.5)
        X = np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(n)])
        model = KMedoids(k, random_state=number)
        if fit_or_refuse(model, X, c) is None:
            continue
        assert oracle.obeys_hard(model.labels_.tolist(), oracle.statements(c))
        assert model.violations_.n_broken == c.violations(model.labels_).n_broken
        assert_model_is_right(model, pairwise_distances(X), constrained=True)


@unsettled
def test_two_clusters_never_share_a_medoid(seed):
    """Hard must-links pull medoids out of their clusters; a warm start of the model must work too."""
    X = np.array([[5.0], [1.0], [19.0], [9.0]])
    c = Constraints([(0, 2)], n_items=4, hard=True)
    for random_state in (1501, *range(20)):
        model = KMedoids(3, init="random", n_init=1, random_state=random_state, warm_start=True)
        model.fit(X, constraints=c)
        assert len(set(model.medoid_indices_.tolist())) == 3
        assert not model.fit(X, constraints=c).violations_
    for number in range(30):
        rng = random.Random(f"{seed} {number}")
        n, k = rng.randint(4, 9), rng.randint(2, 3)
        pairs = [tuple(rng.sample(range(n), 2)) for _ in range(3)]
        c = Constraints(pairs[:2], pairs[2:], n_items=n, hard=True)
        if c.check(k, nonempty=True):
            X = np.array([[rng.gauss(0, 1)] for _ in range(n)])
            model = KMedoids(k, init="random", n_init=1, random_state=number, warm_start=True)
            model.fit(X, constraints=c)
            assert len(set(model.medoid_indices_.tolist())) == k
            model.fit(X, constraints=c)


@outvoted
def test_constraints_are_priced(seed):
    """Opposite items must join: a weight of nothing breaks the pairs, a huge one keeps them."""
    rng = np.random.default_rng(seed)
    X = np.repeat([[0.0, 0.0], [20.0, 0.0]], 8, axis=0) + rng.normal(size=(16, 2))
    c = Constraints([(0, 8)], n_items=16)
    cheap = KMedoids(2, weight=0.0, random_state=0).fit(X, constraints=c)
    dear = KMedoids(2, weight=1e6, n_init=10, random_state=0).fit(X, constraints=c)
    assert cheap.violations_.n_broken == 1
    assert cheap.objective_ == pytest.approx(cheap.inertia_)
    assert not dear.violations_


def test_blobs_are_found_with_any_metric(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 20)
    X = np.array([[40.0, 0.0], [0.0, 40.0], [-40.0, -40.0]])[y] + rng.normal(size=(60, 2))
    for metric in METRICS:
        model = KMedoids(3, metric=metric, n_init=5, random_state=0).fit(X)
        assert len({(a, b) for a, b in zip(y.tolist(), model.labels_.tolist(), strict=True)}) == 3


@unsettled
def test_medoids_in_one_place_are_different_items():
    same = KMedoids(3, random_state=0).fit(np.zeros((5, 2)))
    assert same.objective_ == 0
    assert len(set(same.medoid_indices_.tolist())) == 3


def test_an_odd_distance_that_is_not_a_metric(seed):
    """Dissimilarities that break the triangle inequality are fine; the sums still hold."""
    rng = np.random.default_rng(seed)
    D = rng.random((30, 30))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    model = KMedoids(4, metric="precomputed", random_state=0).fit(D)
    assert_model_is_right(model, D)


def test_more_clusters_than_groups_that_are_merged():
    """Each of 320 must-linked pairs starts a cluster of its own, though at most 300 groups are merged."""
    X = np.repeat(np.arange(320.0), 2)[:, None] * 10 + np.tile([0.0, 1.0], 320)[:, None]
    pairs = np.arange(640).reshape(-1, 2)
    model = KMedoids(320, init="neighborhoods", max_iter=1).fit(
        X, constraints=Constraints(pairs, n_items=640)
    )
    assert (model.labels_[::2] == model.labels_[1::2]).all()
    assert len(set(model.labels_.tolist())) == 320
