"""A distortion by its own part and its linear score: the one that CONTRIBUTING.md shows, in the loop."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, PCKMeans
from coterie.distortion import Cosine, Distortion, Manhattan, SquaredEuclidean
from coterie.distortion._idivergence import IDivergence

GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def shown():
    """The classes of the guide."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    names = {"Distortion": Distortion, "PCKMeans": PCKMeans, "np": np}
    exec(next(block for block in blocks if "class ItakuraSaito" in block), names)
    return names


def spectra(seed, n=60, d=5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    shapes = rng.gamma(2.0, size=(3, d)) + 0.2
    return shapes[y] * rng.gamma(20.0, 1 / 20, size=(n, d)), y


def by_definition(X, centres):
    ratio = X[:, None, :] / centres[None]
    return (ratio - np.log(ratio) - 1.0).sum(axis=2)


def test_the_distortion_of_the_guide_is_what_it_says(shown, seed):
    X, _ = spectra(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(X))
    distortion = shown["ItakuraSaito"](X, weight)
    centres = X[:4]
    expected = by_definition(X, centres)
    np.testing.assert_allclose(distortion.chunk_costs(0, len(X), centres), expected, atol=1e-12)
    np.testing.assert_allclose(distortion.distances(X, centres), expected, atol=1e-12)
    labels = (np.arange(len(X)) % 4).astype(np.int32)
    own = weight * expected[np.arange(len(X)), labels]
    np.testing.assert_allclose(distortion.cost_to_assigned(labels, centres), own, atol=1e-12)
    sums = np.array([(weight[labels == h, None] * X[labels == h]).sum(axis=0) for h in range(4)])
    masses = np.bincount(labels, weight)
    assert distortion.value(sums, masses, centres) == pytest.approx(own.sum())
    best = distortion.centres(sums, masses, centres)
    assert distortion.value(sums, masses, best) <= own.sum()
    items = np.arange(5)
    mean = np.average(X[items], axis=0, weights=weight[items])[None]
    assert distortion.single_cluster_cost(items) == pytest.approx(
        weight[items] @ by_definition(X[items], mean)[:, 0]
    )
    costs = np.empty((len(X), 4))
    distortion.fill_costs(centres, costs)
    np.testing.assert_allclose(
        costs + distortion.constants()[:, None], weight[:, None] * expected, atol=1e-12
    )


def test_the_class_of_the_guide_clusters(shown, seed):
    X, y = spectra(seed)
    known = Constraints.sample(y, 30, random_state=0)
    model = shown["SpectraKMeans"](3, random_state=0).fit(X, constraints=known)
    assert (np.diff(model.history_) <= 1e-9 * abs(model.history_[0])).all()
    nearest = by_definition(X, model.cluster_centers_)
    free = np.setdiff1d(np.arange(len(X)), known.constrained_items)
    chosen = nearest[free, model.labels_[free]]
    np.testing.assert_allclose(chosen, nearest[free].min(axis=1), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), nearest.argmin(axis=1))
    np.testing.assert_allclose(model.transform(X), nearest, atol=1e-9)
    with pytest.raises(ValueError, match=r"row 3 has a value that is not positive"):
        model.fit(np.where(np.arange(len(X))[:, None] == 3, 0.0, X))


def test_the_divergence_of_sparse_rows_is_that_of_dense_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, size=(30, 8)) + np.eye(30, 8)
    centres = rng.gamma(1.0, size=(3, 8)) + 0.1
    labels = rng.integers(3, size=30).astype(np.int32)
    dense, thin = IDivergence(X), IDivergence(sparse.csr_matrix(X))
    for ask in (
        lambda one: one.chunk_costs(0, 30, centres),
        lambda one: one.cost_to_assigned(labels, centres),
        lambda one: one.single_cluster_cost(np.arange(7)),
        lambda one: one.total_cost,
        lambda one: one.distances(one.points.X, centres),
    ):
        np.testing.assert_allclose(ask(dense), ask(thin), rtol=1e-10)


@pytest.mark.parametrize("kind", [SquaredEuclidean, Cosine, Manhattan])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
def test_no_centres_are_better_for_given_labels(kind, store, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) + 0.5
    weight = rng.uniform(0.5, 2.0, size=40)
    labels = rng.integers(-1, 3, size=40).astype(np.int32)  # -1: in no cluster; cluster 3 is empty
    distortion = kind(store(X), weight)
    centres = distortion.centres_of(labels, 4)
    assert (centres[3] == 0).all()
    inside = labels >= 0

    def cost(centres):
        away = kind.distances(X[inside], centres)[np.arange(inside.sum()), labels[inside]]
        return weight[inside] @ (away**2 if kind is SquaredEuclidean else away)

    assert distortion.clustering_cost(labels, 4) == pytest.approx(cost(centres), rel=1e-9)
    for _ in range(20):
        assert cost(centres) <= cost(centres + rng.normal(scale=0.1, size=centres.shape))
