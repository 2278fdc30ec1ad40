"""Frequency sensitive k-means: the labels of the oracle, the potential, limits, sizes that come out alike."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs

from coterie import Constraints, COPKMeans, FrequencySensitiveKMeans
from coterie._compiled import kernels
from coterie.exceptions import UnsupportedConstraintError
from coterie.kmeans._balanced import frequency_sensitive
from coterie.kmeans._balanced.item_by_item import Turns, choose_in_turn
from tests.oracles import frequency as oracle

METRICS = ["cosine", "sqeuclidean"]
VARIANTS = ["pifs", "fs", "fifs"]


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Small data would be dealt with in Python; the lane without JIT does that."""
    monkeypatch.setattr(kernels, "_large", True)


def uneven(seed, n=60, d=4):
    """Three blobs of very different sizes, all features above 0."""
    sizes = [n - 2 * (n // 6), n // 6, n // 6]
    X, y = make_blobs(sizes, centers=4 + 3 * np.eye(3, d), cluster_std=1.2, random_state=seed)
    return np.abs(X) + 0.01, y


@pytest.mark.kernels
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_labels_and_centres_are_those_of_the_oracle(metric, variant, weighted, seed):
    X, _ = uneven(seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, size=len(X)) / 2 if weighted else None
    given = np.ones(len(X)) if weight is None else weight
    start = X[rng.choice(len(X), 3, replace=False)]
    plain = COPKMeans(3, metric=metric, init=start).fit(X, sample_weight=weight)
    for gamma, n_iter in ((0.2, 1), (1.0, 2)):
        labels, centres = oracle.fit(
            X, plain.labels_, given, plain.cluster_centers_, gamma, metric == "cosine", variant, n_iter
        )
        model = FrequencySensitiveKMeans(
            3, variant=variant, gamma=gamma, metric=metric, init=start, max_iter=n_iter, tol=0.0
        )
        for rows in (X, sparse.csr_array(X)):
            model.fit(rows, sample_weight=weight)
            assert model.labels_.tolist() == labels.tolist()
            np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-9)
            np.testing.assert_allclose(model.sizes_, np.bincount(labels, given, 3))
            assert model.history_[0] == pytest.approx(plain.objective_)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_without_strength_it_is_k_means(metric, variant, seed):
    X, _ = uneven(seed)
    plain = COPKMeans(3, metric=metric, init="k-means++", random_state=seed)
    model = FrequencySensitiveKMeans(3, variant=variant, gamma=0.0, metric=metric, random_state=seed)
    for rows in (X, sparse.csr_array(X)):
        assert model.fit(rows).labels_.tolist() == plain.fit(rows).labels_.tolist()
        np.testing.assert_array_equal(model.history_, plain.history_)
        assert model.predict(rows).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("cosine", [True, False])
def test_every_move_raises_the_potential_and_passes_end(cosine, seed):
    X, _ = uneven(seed)
    X = oracle.unit(X) if cosine else X
    rng = np.random.default_rng(seed)
    centres = X[rng.choice(len(X), 3, replace=False)] + 1e-3
    labels, gamma = rng.integers(3, size=len(X)), 0.7
    found = [oracle.potential(X, labels, centres, gamma, cosine)]

    def rises(labels):
        found.append(oracle.potential(X, labels, centres, gamma, cosine))
        assert found[-1] > found[-2]

    values = np.array([[oracle.near(x, c, cosine) for c in centres] for x in X])
    mine = labels.astype(np.int32)
    sizes = np.bincount(mine, minlength=3).astype(float)
    power = -gamma if cosine else gamma
    turns = Turns(sizes, (sizes + 1.0) ** power, power, 1.0)
    n_passes = 0
    while oracle.one_pass(X, labels, np.ones(len(X)), centres, gamma, cosine, moved=rises):
        assert choose_in_turn(values if cosine else -values, 0, mine, np.empty(0), turns)
        assert mine.tolist() == labels.tolist()
        assert turns.counts.tolist() == np.bincount(mine, minlength=3).tolist()
        n_passes += 1
        assert n_passes < 50
    assert not choose_in_turn(values if cosine else -values, 0, mine, np.empty(0), turns)
    assert len(found) > 5


def test_the_literal_rule_swings_and_ours_does_not():
    """600 and 400 items, all cosines equal: all change their cluster again and again."""
    C, begun = np.ones((1000, 2)), np.repeat([0, 1], [600, 400])
    swings = [labels.tolist() for labels in oracle.literal_batch(C, begun, 1.0, 5)]
    assert swings == [[1] * 1000, [0] * 1000] * 2 + [[1] * 1000]
    labels = begun.astype(np.int32)
    turns = Turns(np.array([600.0, 400.0]), 1 / np.array([601.0, 401.0]), -1.0, 1.0)
    assert choose_in_turn(C, 0, labels, np.empty(0), turns) == 100
    assert np.bincount(labels).tolist() == turns.counts.tolist() == [500, 500]
    assert choose_in_turn(C, 0, labels, np.empty(0), turns) == 0


def test_the_counts_of_fs_are_those_that_items_choose_by(seed):
    """One iteration between the means of k-means: nobody would go elsewhere, were he to count there."""
    X, _ = uneven(seed, n=200)
    for metric in METRICS:
        plain = COPKMeans(5, metric=metric, init="k-means++", random_state=seed).fit(X)
        model = FrequencySensitiveKMeans(
            5, variant="fs", gamma=0.8, metric=metric, max_iter=1, random_state=seed
        ).fit(X)
        rows, cosine = (oracle.unit(X), True) if metric == "cosine" else (X, False)
        centres, labels = plain.cluster_centers_, model.labels_
        counts = np.bincount(labels, minlength=5)
        for x, own in zip(rows, labels, strict=True):
            scores = [oracle.score(x, centres[h], counts[h] + (h != own), 0.8, cosine) for h in range(5)]
            assert scores[own] >= max(scores) - 1e-9 * abs(scores[own])


def test_fs_comes_near_the_best_of_all_labellings(seed):
    """Single moves to rest: the counts are those of the greatest potential, to one item."""
    X, _ = uneven(seed, n=9)
    X = oracle.unit(X)
    plain = COPKMeans(3, metric="cosine", init="k-means++", random_state=seed).fit(X)
    model = FrequencySensitiveKMeans(
        3, variant="fs", gamma=0.5, metric="cosine", max_iter=1, random_state=seed
    )
    labels, centres = model.fit(X).labels_, plain.cluster_centers_
    everywhere = itertools.product(range(3), repeat=len(X))
    best = max((np.array(one) for one in everywhere), key=lambda one: potential_of(X, one, centres))
    assert np.abs(model.sizes_ - np.bincount(best, minlength=3)).max() <= 1
    assert potential_of(X, labels, centres) >= potential_of(X, best, centres) - 0.5 / 2


def potential_of(X, labels, centres):
    return oracle.potential(X, labels, centres, 0.5, True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sizes_of_digits_come_out_alike_at_a_small_price(variant):
    X = load_digits().data
    plain, *balanced = (
        FrequencySensitiveKMeans(10, variant=variant, gamma=gamma, metric="cosine", random_state=1).fit(X)
        for gamma in (0.0, 0.1, 1.0)
    )
    assert [model.sizes_.std() < most for model, most in zip(balanced, (10, 2), strict=True)] == [True, True]
    assert plain.sizes_.std() > 30
    for model in balanced:
        assert model.sizes_.min() > 0.9 * len(X) / 10
        assert (model.objective_ - plain.objective_) / len(X) < 0.003  # of SOF, about 0.912
        assert model.converged_
        assert model.objective_ == pytest.approx(model.history_[-1])


def test_the_length_of_a_row_does_not_matter_to_cosines(seed):
    X, _ = uneven(seed)
    scaled = X * np.random.default_rng(seed).choice([0.25, 1.0, 8.0], size=(len(X), 1))
    for variant in VARIANTS:
        model = FrequencySensitiveKMeans(3, variant=variant, metric="cosine", random_state=0)
        assert model.fit(X).labels_.tolist() == model.fit(scaled).labels_.tolist()


@pytest.mark.parametrize("variant", ["pifs", "fs"])
def test_blocks_of_rows_change_nothing(variant, monkeypatch):
    X, _ = uneven(0, n=700)
    model = FrequencySensitiveKMeans(3, variant=variant, gamma=1.0, random_state=0)
    whole = model.fit(X).labels_
    monkeypatch.setattr(frequency_sensitive, "_BLOCK", 1)  # 256 rows at least
    assert model.fit(X).labels_.tolist() == whole.tolist()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_an_empty_cluster_keeps_its_centre(metric, variant):
    X = np.repeat([[1.0, 2.0], [3.0, 1.0]], 4, axis=0)
    start = [[1.0, 2.0], [3.0, 1.0], [0.0, 9.0]]
    model = FrequencySensitiveKMeans(3, variant=variant, gamma=1e-3, metric=metric, init=start).fit(X)
    assert model.sizes_.tolist() == [4, 4, 0]
    np.testing.assert_allclose(model.cluster_centers_[2], [0.0, 1.0] if metric == "cosine" else [0.0, 9.0])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_item_without_weight_changes_nothing(metric, variant):
    X, _ = uneven(2)
    weight = np.ones(len(X))
    weight[[5, 50]] = 0.0
    model = FrequencySensitiveKMeans(3, variant=variant, gamma=1.0, metric=metric, init=X[[0, 45, 59]])
    held = model.fit(X, sample_weight=weight)
    labels, centres = held.labels_, held.cluster_centers_
    without = model.fit(X[weight > 0])
    assert labels[weight > 0].tolist() == without.labels_.tolist()
    np.testing.assert_allclose(centres, without.cluster_centers_, rtol=1e-9)


def test_refusals():
    X, _ = uneven(0)
    X[7] = 0.0
    with pytest.raises(ValueError, match=r"row 7 of X is all zeros: it has no direction"):
        FrequencySensitiveKMeans(3, metric="cosine").fit(X)
    with pytest.raises(UnsupportedConstraintError, match="kind must-link; it takes none"):
        FrequencySensitiveKMeans(3).fit(X, constraints=Constraints([(0, 1)], n_items=60))
    with pytest.raises(ValueError, match="gamma of FrequencySensitiveKMeans must be a number from 0 to 10"):
        FrequencySensitiveKMeans(3, gamma=-1.0).fit(X)
