"""Every kernel of the engine on small problems, for the lanes: compiled, bounds checked, with the JIT off."""

import os
import warnings
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse

from coterie import (
    EMC,
    CannotLinkMetric,
    ConnectedKCenter,
    ConnectedKMeans,
    ConsensusClustering,
    ConstrainedGaussianMixture,
    ConstrainedLinkage,
    Constraints,
    COPCobweb,
    COPKMeans,
    CorrelationClustering,
    CVQEKMeans,
    EntityResolver,
    HMRFKMeans,
    KernelPCKMeans,
    MPCKMeans,
    PairwiseClustering,
    PCKMeans,
    PenalizedGaussianMixture,
    SizeConstrainedKMeans,
)
from coterie.assign import (
    free,
    hard_pairs,
    improve_within_bounds,
    size_constrained_assignment,
    soft_pairs,
    stable_assignment,
)
from coterie.assign._core.core import soft_penalty
from coterie.assign._sizes import read_bounds
from coterie.assign._transport import Shortlists, Transport
from coterie.distortion import distortion_named
from coterie.distortion._manhattan import Manhattan
from coterie.exceptions import DeadEndWarning, ViolatedConstraintsWarning
from coterie.kmeans._prices import closure as _closure_prices

# `make test-lanes` runs these, and CI: compiling them all takes two minutes
pytestmark = [pytest.mark.kernels, pytest.mark.slow]
# Bounds checking and the interpreter look at the source, which is the same for both widths of numbers.
OTHER_LANE = any(os.environ.get(name) == "1" for name in ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"))


def blobs(n=120, k=4):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % k
    return rng.normal(size=(n, 3)) + 4 * np.eye(k, 3)[truth], truth


def statements(truth, weight):
    """Pairs, frames of ten, a partition and partial labels, hard or with a price."""
    n = len(truth)
    known = Constraints.sample(truth, n_pairs=60, random_state=1)
    frames = np.full(n, -1)
    frames[:4], frames[8:12] = 0, 1
    if weight is not None:
        frames = np.where(np.arange(n) < 40, np.arange(n) // 10, -1)
    halves = np.where(np.arange(n) >= 100, truth < 2, -1)
    labels = np.where(np.arange(n) % 9 == 0, truth, -1)
    known = known | Constraints.distinct(frames, weight=weight)
    known = known | Constraints.across(halves, weight=weight)
    return known | Constraints.from_labels(labels, weight=weight)


@patch.object(_closure_prices, "FEW_PAIRS", 0)  # so that fields of components are used
def every_kernel():
    """Run them all."""
    X, truth = blobs()
    for data in (X, X.astype(np.float32), sparse.csr_matrix(X)):
        if data.dtype == np.float32 and OTHER_LANE:
            continue
        for metric in ("sqeuclidean", "cosine"):
            hard = COPKMeans(4, metric=metric, init="random", n_init=2, random_state=0)
            hard.fit(data, constraints=statements(truth, None), sample_weight=np.arange(1.0, 121.0))
            assert not hard.violations_
            soft = PCKMeans(4, metric=metric, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ViolatedConstraintsWarning)
                soft.fit(data, constraints=statements(truth, 0.2))
            check_objective(soft, statements(truth, 0.2))
            assert (
                free(data, hard.cluster_centers_, metric=metric).labels.tolist()
                == hard.predict(data).tolist()
            )
        l1 = Manhattan(data, np.arange(1.0, 121.0))
        labels, out = truth.astype(np.int32), np.empty((120, 4), dtype=data.dtype)
        centres = l1.best_centres(labels, None, np.zeros((4, 3)))
        l1.fill_costs(centres, out)
        assert out[np.arange(120), labels].sum() == pytest.approx(l1.inertia(labels, None, centres), rel=1e-4)
        every_size(data, truth)
        every_metric(data, truth)
    every_tree(X, truth)
    every_graph(X, truth)
    every_record(truth)
    every_mixture(X, truth)
    rng = np.random.default_rng(3)
    for seed in range(8):
        # frames of ten in twelve clusters, on top of pairs: pushes, chains and new matchings all occur
        n, k = 60, 12
        costs = rng.random((n, k))
        frames = Constraints.distinct(np.arange(n) // 10)
        known = frames | Constraints.sample(np.arange(n) % k, n_pairs=40, random_state=seed)
        halves = np.where(np.arange(n) % k < 6, 0, 1)
        known = known | Constraints.across(np.where(np.arange(n) > 40, halves, -1))
        found = hard_pairs(costs, known, random_state=seed)
        assert not known.violations(found.labels)
        assert found.n_moves > 0
        again = hard_pairs(costs, known, labels=found.labels, random_state=seed)
        assert again.cost <= found.cost + 1e-12
        priced = Constraints.distinct(np.arange(n) // 10, weight=0.3) | Constraints.from_labels(
            np.where(np.arange(n) % 7 == 0, np.arange(n) % 3, -1), weight=0.3
        )
        found = soft_pairs(costs, priced, random_state=seed)
        assert found.penalty == pytest.approx(soft_penalty(priced, found.labels))


def every_mixture(X, truth):
    """Trees, circles, mean field, samples with couplings of both signs, and dissimilarities."""
    hard = Constraints.sample(truth, n_pairs=60, random_state=1)
    soft = Constraints.sample(truth, n_pairs=75, noise=0.2, random_state=2)
    models = [ConstrainedGaussianMixture(4, n_init=1, max_iter=3, random_state=0).fit(X, constraints=hard)]
    assert models[0].inference_.n_trees
    for how in ("auto", "mean-field", "gibbs"):
        model = PenalizedGaussianMixture(
            4, inference=how, confidence=0.7, n_init=1, max_iter=2, n_sweeps=20, random_state=0
        )
        models.append(model)
    models.append(PairwiseClustering(4, n_init=1, cooling=0.5, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        for model in models[1:]:
            model.fit(X, constraints=soft)
    assert models[1].inference_.n_narrow
    for model in models:
        np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1.0)


def every_size(data, truth):
    """Bounds, alone and with everything else that moves whole units."""
    known = Constraints.sample(truth, n_pairs=60, random_state=1)
    kinds = np.arange(120) % 3
    model = SizeConstrainedKMeans(4, size_min=25, size_max=32, random_state=0)
    assert model.fit(data).sizes_.min() >= 25
    assert model.fit(data, constraints=known).sizes_.max() <= 32
    quotas = SizeConstrainedKMeans(4, size_min=1.0, group_min=9, n_init=1, random_state=0)
    quotas.fit(data, groups=kinds, constraints=known)
    assert np.bincount(quotas.labels_ * 3 + kinds, minlength=12).min() >= 9
    loads = SizeConstrainedKMeans(4, size_min=1750, size_max=1900, weight=1.0, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        loads.fit(data, size_weight=np.arange(1.0, 121.0), constraints=known)
    assert loads.sizes_.max() <= 1900
    rng = np.random.default_rng(5)
    costs = rng.random((3000, 6)).astype(data.dtype) * np.arange(1, 7)
    assert set(size_constrained_assignment(costs, 1.0, 1.0).sizes) == {500}
    assert np.bincount(stable_assignment(costs, 400) + 1)[1:].max() == 400
    # lists that are far too short are looked at again and again
    rows = np.ascontiguousarray(costs[:1000])
    lists = Shortlists(distortion_named("sqeuclidean")(rows), rows[:20].astype(np.float64), n_listed=2)
    bounds = read_bounds(1.0, None, 1000, 20)
    assert bounds.missed(Transport(bounds.limits).solve(lists).labels) == 0
    moved = improve_within_bounds(costs, np.arange(3000) % 6, 1.0, 1.0, strategy="book")
    assert set(np.bincount(moved.labels)) == {500}
    assert moved.n_moves > 0


def every_metric(data, truth):
    """Prices by cluster, and fields of components, with constraints of all kinds."""
    known = Constraints.sample(truth, n_pairs=60, random_state=1) | Constraints(
        cannot_link=[(0, 1), (4, 5)], must_link=[(8, 12)], hard=True, n_items=120
    )
    known = known | statements(truth, None)
    for model in (
        MPCKMeans(4, per_cluster=True, random_state=0),
        HMRFKMeans(4, closure="auto", random_state=0),
        HMRFKMeans(4, metric="cosine", closure="auto", random_state=0, max_iter=3),
        CVQEKMeans(4, random_state=0),
        CVQEKMeans(4, form="original", random_state=0),
        KernelPCKMeans(4, random_state=0),
        KernelPCKMeans(4, kernel="linear", random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ViolatedConstraintsWarning)
            model.fit(data, constraints=known)
        assert not model.violations_.n_hard
        if isinstance(model, MPCKMeans | HMRFKMeans):
            assert sum(model.objective_parts_.values()) == pytest.approx(model.objective_)
        if model.monotone:
            assert (np.diff(model.history_) <= 1e-6 * abs(model.history_[0])).all()


def every_tree(X, truth):
    """Merging on a matrix, on a k-d tree, along edges and between neighbours; and COBWEB."""
    known = statements(truth, None)
    n, wide = 600, 20
    rng = np.random.default_rng(7)
    points = rng.normal(size=(n, 2))
    at = np.arange(n)
    right, below = at[at % wide < wide - 1], at[: n - wide]
    grid = np.concatenate([np.column_stack([right, right + 1]), np.column_stack([below, below + wide])])
    some = Constraints.sample(at % 4, n_pairs=80, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeadEndWarning)
        for how in ("single", "complete", "average", "ward"):
            model = ConstrainedLinkage(4, linkage=how, on_dead_end="warn")
            assert not model.fit(X, constraints=known).violations_
            if how != "ward":
                assert not model.set_params(propagate=True).fit(X, constraints=known).violations_
                model.set_params(propagate=False)
            apart = Constraints(None, some.cannot_link, n_items=n)
            model.set_params(connectivity=grid, size_max=90).fit(points, constraints=apart)
            assert not model.violations_
        # many tags, so that the table of tags is filled anew
        frames = Constraints.distinct(at // 3) | apart
        for linkage in ("single", "ward"):
            model = ConstrainedLinkage(4, linkage=linkage, on_dead_end="warn", size_max=200)
            assert not model.fit(points, constraints=frames).violations_
    table = np.column_stack([np.round(X), truth])
    for features in (None, [0, 3]):
        assert not COPCobweb(categorical_features=features).fit(table, constraints=known).violations_


def every_graph(X, truth):
    """Signed graphs, votes, clusters along a ring, paths, and the margin between items that differ."""
    pairs, apart = Constraints.sample(truth, n_pairs=30, random_state=0), Constraints.across(truth)
    rng = np.random.default_rng(0)
    advice = np.where(truth[:, None] == truth, 1.0, -1.0) * rng.exponential(size=(len(truth), len(truth)))
    for k, words in ((None, {}), (5, {}), (None, {"bound": "packing", "algorithm": "pivot"})):
        model = CorrelationClustering(k, random_state=0, **words).fit(advice + advice.T, constraints=pairs)
        assert model.violations_.n_hard == 0
    few = rng.normal(size=(9, 9))
    assert CorrelationClustering().fit(few + few.T).bound_ == "exact"
    for how in ("ksd", "greedy"):
        model = EMC(4, n_neighbors=3, distance=how).fit(X[:60], constraints=pairs[np.arange(60)])
        assert model.violations_.n_hard == 0
    votes = np.where(rng.uniform(size=(len(truth), 6)) < 0.2, 1, truth[:, None])
    for how in ("local", "pivot", "balls", "best"):
        assert not ConsensusClustering(how, random_state=0).fit(votes, constraints=apart).violations_
    ring = np.column_stack([np.arange(len(truth)), np.roll(np.arange(len(truth)), 1)])
    for growth in ("continuous", "rounds"):
        model = ConnectedKCenter(4, connectivity=ring, growth=growth, random_state=0).fit(X)
        assert model.lower_bound_ <= model.radius_ == model.radii_.max()
    for words in ({"size_min": 0.5}, {"size_max": 1.5}, {"metric": "cosine"}):
        model = ConnectedKMeans(4, connectivity=ring, random_state=0, **words).fit(X)
        assert model.sizes_.min() > 0
    assert ConnectedKMeans(None, connectivity=ring, size_min=9, random_state=0).fit(X).sizes_.min() >= 9
    touching = Constraints(ring[1:9:2], [(0, len(truth) // 2)], n_items=len(truth))
    assert not ConnectedKMeans(4, connectivity=ring).fit(X, constraints=touching).violations_
    assert CannotLinkMetric(np.inf).fit(X, constraints=apart).converged_


def every_record(truth):
    """Records with contexts: enough of them that arrays have to grow, and that all loops are entered."""
    rng = np.random.default_rng(0)
    values = rng.integers(25, size=(len(truth), 1)).astype(float)
    contexts = [rng.choice(len(truth), size=4, replace=False).tolist() for _ in range(60)]
    known = Constraints.distinct(rng.integers(-1, 9, len(truth)))
    how = {"columns": {0: lambda a, b: 0.6 + 0.3 * ((a + b) % 2)}, "blocking": None, "threshold": 0.1}
    for method, linkage in (
        ("collective", "average"),
        ("collective", "max"),
        ("collective", "min"),
        ("naive", "max"),
    ):
        model = EntityResolver(method, linkage=linkage, missing_context="fallback", **how)
        model.fit(values, constraints=known, contexts=contexts)
        assert not model.violations_
        assert len(model.merges_)
        assert len(model.near_merges_)
        assert len(model.matched_pairs_)
        assert (model.merges_["similarity"] >= 0.1 - 1e-9).all()


def check_objective(model, known):
    """The objective is what its definition says."""
    paid = model.weight_ * soft_penalty(known, model.labels_)
    half = 1.0 if model.metric == "cosine" else 0.5
    assert model.objective_ == pytest.approx(half * model.inertia_ + paid)


def test_every_kernel():
    every_kernel()
