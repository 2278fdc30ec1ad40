"""Seeds: the h-th class in sorted order is cluster h; one method may relabel a seed, the other never does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from coterie import Constraints
from coterie.kmeans import ConstrainedSeedKMeans, SeededKMeans
from tests.marks import outvoted
from tests.oracles import kmeans as oracle

BOTH = [SeededKMeans, ConstrainedSeedKMeans]
pytestmark = outvoted


def seeded_blobs(seed, n=90, k=3, std=3.0, share=0.3):
    """Blobs, their truth, and seeds with at least one item of each class."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(n, centers=10 * np.eye(k), cluster_std=std, random_state=int(rng.integers(2**31)))
    known = np.where(rng.random(n) < share, y, -1)
    for h in range(k):
        known[np.flatnonzero(y == h)[0]] = h
    return X, y, known


def class_means(X, known):
    return np.array([X[known == c].mean(axis=0) for c in sorted(set(known.tolist()) - {-1})])


@pytest.mark.parametrize("sparse_input", [False, True])
def test_seeded_is_lloyd_from_the_means_of_the_classes(sparse_input, seed):
    X, _, known = seeded_blobs(seed)
    plain = KMeans(3, init=class_means(X, known), n_init=1, algorithm="lloyd").fit(X)
    given = sparse.csr_matrix(X) if sparse_input else X
    model = SeededKMeans(3).fit(given, constraints=known)
    assert model.labels_.tolist() == plain.labels_.tolist()
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, rtol=1e-9)
    assert model.inertia_ == pytest.approx(plain.inertia_)


@pytest.mark.parametrize("sparse_input", [False, True])
def test_constrained_is_lloyd_with_the_seeds_nailed_down(sparse_input, seed):
    X, _, known = seeded_blobs(seed, std=8.0)
    fixed = {i: int(c) for i, c in enumerate(known) if c >= 0}
    labels, centres = oracle.lloyd(X, class_means(X, known), fixed=fixed)
    given = sparse.csr_matrix(X) if sparse_input else X
    model = ConstrainedSeedKMeans(3).fit(given, constraints=known)
    assert model.labels_.tolist() == labels.tolist()
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "names", [["b", "a", "c"], [30, 4, 100], [7, -5, 0]], ids=["text", "numbers", "negative"]
)
def test_cluster_numbers_follow_the_sorted_names(kind, names, seed):
    X, y, known = seeded_blobs(seed, std=0.5)
    values = np.array([None if c < 0 else names[c] for c in known], dtype=object)
    model = kind(3).fit(X, constraints=Constraints.from_labels(values))
    position = [sorted(names).index(name) for name in names]
    assert model.labels_[known >= 0].tolist() == [position[c] for c in known[known >= 0]]
    assert (model.labels_ == np.array(position)[y]).all()


def test_noise_may_be_mended_by_one_and_never_by_the_other(seed):
    rng = np.random.default_rng(seed)
    X = np.repeat([[0.0, 0.0], [50.0, 0.0]], 20, axis=0) + rng.normal(size=(40, 2))
    known = np.full(40, -1)
    known[:8], known[20:28] = 0, 1
    known[[3, 23]] = 1, 0  # two seeds are wrong
    mended = SeededKMeans(2).fit(X, constraints=known)
    assert mended.labels_.tolist() == [0] * 20 + [1] * 20
    assert mended.violations_.n_broken > 0
    nailed = ConstrainedSeedKMeans(2).fit(X, constraints=known)
    assert (nailed.labels_[known >= 0] == known[known >= 0]).all()
    assert (nailed.labels_[known < 0] == np.repeat([0, 1], 20)[known < 0]).all()
    assert not nailed.violations_


@pytest.mark.parametrize("kind", BOTH)
def test_classes_without_seeds_are_found(kind, seed):
    """Four blobs, seeds for two: those keep numbers 0 and 1, the others get 2 and 3."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0], [100.0, 100.0]])
    y = np.repeat(np.arange(4), 15)
    X = places[y] + rng.normal(size=(60, 2))
    known = np.full(60, -1)
    known[[0, 1, 15, 16]] = 0, 0, 1, 1
    for random_state in range(5):
        model = kind(4, random_state=random_state).fit(X, constraints=known)
        assert (model.labels_[:15] == 0).all()
        assert (model.labels_[15:30] == 1).all()
        assert set(model.labels_.tolist()) == {0, 1, 2, 3}
        assert len({(a, b) for a, b in zip(y.tolist(), model.labels_.tolist(), strict=True)}) == 4


@pytest.mark.parametrize("kind", BOTH)
def test_more_classes_than_clusters(kind):
    X = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match="3"):
        kind(2).fit(X, constraints=[0, 1, 2, -1, -1, -1, -1, -1])


@pytest.mark.parametrize("kind", BOTH)
def test_no_seeds_at_all(kind, seed):
    X, _, _ = seeded_blobs(seed, std=0.3)
    for nothing in (None, np.full(len(X), -1), Constraints(n_items=len(X))):
        model = kind(3, n_init=5, random_state=0).fit(X, constraints=nothing)
        assert set(model.labels_.tolist()) == {0, 1, 2}
        assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("kind", BOTH)
def test_one_seed_a_class_and_seeds_everywhere(kind, seed):
    X, y, _ = seeded_blobs(seed, std=9.0)
    model = ConstrainedSeedKMeans(3).fit(X, constraints=y)
    assert model.labels_.tolist() == y.tolist()
    np.testing.assert_allclose(model.cluster_centers_, class_means(X, y))
    one = np.full(len(X), -1)
    for h in range(3):
        one[np.flatnonzero(y == h)[0]] = h
    assert kind(3).fit(X, constraints=one).labels_.shape == y.shape


@pytest.mark.parametrize("kind", BOTH)
def test_weights_of_items_move_the_start(kind):
    """The mean of a class is weighted; a seed without weight does not count."""
    X = np.array([[0.0], [4.0], [10.0], [14.0], [5.1], [100.0]])
    known = np.array([0, 0, 1, 1, -1, 1])
    w = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    model = kind(2, max_iter=1).fit(X, constraints=known, sample_weight=w)
    assert model.labels_.tolist()[:5] == [0, 0, 1, 1, 0]
    np.testing.assert_allclose(model.cluster_centers_, [[9.1 / 3], [12.0]])


def test_a_seed_class_drifts_no_number(seed):
    """After relabelling, cluster h is still the one that grew from class h."""
    X, y, known = seeded_blobs(seed, std=0.5)
    swapped = (known + 1) % 3
    swapped[known < 0] = -1
    for kind in BOTH:
        model = kind(3).fit(X, constraints=swapped)
        assert model.labels_.tolist() == ((y + 1) % 3).tolist()


def test_two_label_statements_are_not_mixed_up():
    """Two people labelled with their own names: what is honoured holds, what is not is refused."""
    X = np.array([[0.0], [0.5], [10.0], [10.5]])
    both = Constraints.from_labels(["a", -1, "b", -1]) | Constraints.from_labels([-1, "b", -1, "a"])
    for kind in BOTH:
        try:
            model = kind(2, random_state=0).fit(X, constraints=both)
        except ValueError:
            continue
        assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]


def test_soft_seeds_are_kept_too(seed):
    """The method obeys all; a weight does not make a seed negotiable, weight 0 makes it mute."""
    X, _, known = seeded_blobs(seed, std=9.0)
    soft = ConstrainedSeedKMeans(3).fit(X, constraints=Constraints.from_labels(known, weight=0.1))
    assert (soft.labels_[known >= 0] == known[known >= 0]).all()
    mute = Constraints.from_labels(known, weight=0.0)
    assert not ConstrainedSeedKMeans(3, random_state=0).fit(X, constraints=mute).violations_


@pytest.mark.parametrize("kind", BOTH)
def test_cosine_seeds_that_cancel_are_no_riddle(kind):
    """Opposite seeds have no mean direction: the fit copes, or says which class is meant."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    known = Constraints.from_labels(["left or right", "left or right", "up", -1])
    model = kind(2, metric="cosine", random_state=0)
    try:
        model.fit(X, constraints=known)
    except ValueError as error:
        told = str(error)
        assert "left or right" in told
        return
    assert np.isfinite(model.cluster_centers_).all()


def test_a_seed_without_weight_still_has_its_cluster():
    """The cluster has no mass, but is not empty: nothing is pushed into it."""
    X = np.array([[0.0], [1.0], [9.0]])
    model = ConstrainedSeedKMeans(2).fit(X, constraints=[0, -1, 1], sample_weight=[1.0, 1.0, 0.0])
    assert model.labels_.tolist() == [0, 0, 1]
