"""Traps of learned metrics, each named after what once went wrong."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from coterie import Constraints, COPKMeans, CVQEKMeans, HMRFKMeans, KernelPCKMeans, MPCKMeans, PCKMeans
from coterie.constraints._model.pair_by_pair import stated_pairs
from coterie.kmeans._prices import closure as _closure_prices
from coterie.kmeans._prices.closure import written_closure
from tests.marks import outvoted

VARIANTS = [{"learn": learn, "per_cluster": own} for learn in ("diagonal", "full") for own in (False, True)]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda one: "-".join(map(str, one.values())))
pytestmark = outvoted


def two_blobs(seed):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 8])


@every_variant
@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e100])
def test_an_empty_cluster_is_filled_in_any_unit(variant, unit, seed):
    X = two_blobs(seed)
    far = np.array([[0.0, 0.0], [8.0, 8.0], [1e3, 1e3]])
    sizes = [
        np.bincount(MPCKMeans(3, init=far * u, **variant).fit(X * u).labels_, minlength=3).tolist()
        for u in (1.0, unit)
    ]
    assert min(sizes[0]) > 0
    assert sizes[0] == sizes[1]


def test_the_weight_of_a_feature_may_leave_the_range_of_float32(seed):
    X = np.column_stack([two_blobs(seed), np.repeat([0.0, 1.0], 20)])
    tiny = (X * 1e-15).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MPCKMeans(2, random_state=0).fit(tiny)
        assert np.isfinite(model.metric_).all()
        assert model.predict(tiny).tolist() == model.labels_.tolist()
    with pytest.raises(ValueError, match="its weight would leave the range of float64"):
        MPCKMeans(2).fit(X * 1e-151)


@every_variant
def test_a_cannot_link_inside_a_unit_is_paid_by_the_price_there(variant, seed):
    """Hard must-links join what soft cannot-links keep apart: labels must see what that costs."""
    rng = np.random.default_rng(seed)
    pairs = [(0, 9), (1, 17), (10, 20)]
    known = Constraints(pairs, n_items=24, hard=True)
    known = known | Constraints(cannot_link=pairs, n_items=24, weight=20.0)
    for number in range(10):
        X = rng.normal(size=(24, 2))
        history = MPCKMeans(3, n_init=1, random_state=number, **variant).fit(X, constraints=known).history_
        assert (np.diff(history) <= 1e-9 * np.abs(history).max()).all()


# ---- what a review found ------------------------------------------------------------------------------


def in_parts(X, rng):
    """The same matrix, with every entry stored in two parts and columns in any order."""
    rows, columns = X.nonzero()
    order = rng.permutation(np.tile(np.arange(len(rows)), 2))
    values = np.asarray(X)[rows, columns][order] / 2
    order_by_row = np.argsort(rows[order], kind="stable")
    pointer = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=len(X)))])
    return sparse.csr_matrix((values[order_by_row], columns[order][order_by_row], pointer), X.shape)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "cosine", "polynomial"])
def test_entries_in_parts_are_the_same_kernel(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 6)) * (rng.random((30, 6)) < 0.6) + np.eye(30, 6)  # whole numbers would tie
    parts = in_parts(X, rng)
    before = parts.copy()
    whole, split = (KernelPCKMeans(3, kernel=kernel, random_state=0).fit(one) for one in (X, parts))
    assert split.objective_ == pytest.approx(whole.objective_)
    np.testing.assert_array_equal(parts.data, before.data)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert KernelPCKMeans(3, kernel=kernel, random_state=0).fit(wide).objective_ == pytest.approx(
        whole.objective_
    )


@pytest.mark.parametrize("kind", [COPKMeans, PCKMeans, CVQEKMeans, MPCKMeans, HMRFKMeans])
def test_entries_in_parts_are_as_far(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, size=(30, 6)) + np.eye(30, 6)
    model = kind(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(in_parts(X, rng)), model.transform(X), atol=1e-9)


@every_variant
def test_the_nearest_by_transform_is_the_predicted_one(variant, seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([0.3 * rng.normal(size=(60, 2)), 4 * rng.normal(size=(60, 2)) + 3])
    model = MPCKMeans(2, random_state=0, **variant).fit(X)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.predict(X))
    if not variant["per_cluster"]:
        A = model.metric_ if variant["learn"] == "full" else np.diag(model.metric_)
        away = X[:, None] - model.cluster_centers_
        expected = np.sqrt(np.einsum("nkj,jl,nkl->nk", away, A, away))
        np.testing.assert_allclose(model.transform(X), expected, rtol=1e-6, atol=1e-9)


def test_values_below_zero_are_refused_after_the_fit_too(seed):
    X = np.random.default_rng(seed).poisson(2.0, size=(20, 4)) + 1.0
    model = HMRFKMeans(2, metric="idivergence", random_state=0).fit(X)
    X[3, 1] = -1.0
    for ask in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="row 3 of X has the value -1"):
            ask(X)


@pytest.mark.parametrize("sizes", [(300, 1), (150, 150), (260, 260)])
def test_what_follows_is_written_down_once(sizes, seed):
    """A large component, others that keep away: no more pairs than follow, and none pays to break."""
    first, second = sizes
    n = first + 20 * second
    chains = [np.arange(first)] + [first + h * second + np.arange(second) for h in range(20)]
    must = np.concatenate([np.column_stack([chain[:-1], chain[1:]]) for chain in chains])
    cannot = np.array([[0, chain[0]] for chain in chains[1:]])
    known = Constraints(must, cannot, n_items=n, weight=0.25)
    pairs = stated_pairs(known)
    found = written_closure(pairs.structure(known), pairs, np.random.RandomState(seed))
    exist = sum(len(chain) * (len(chain) - 1) // 2 for chain in chains) + first * 20 * second
    assert len(found.ij) <= exist + len(pairs.ij)
    net = sparse.coo_matrix((found.strength, np.sort(found.ij, axis=1).T), (n, n)).tocsr()
    assert net.data.min() > 0
    # what follows has the mean strength of what is stated
    assert net.sum() == pytest.approx(0.25 * exist, rel=0.02)


def test_what_follows_has_a_limit(monkeypatch):
    monkeypatch.setattr(_closure_prices, "_MOST_WRITTEN", 100)
    X = np.random.default_rng(0).poisson(2.0, size=(60, 4)) + 1.0
    chain = np.column_stack([np.arange(39), np.arange(1, 40)])
    known = Constraints(chain, n_items=60)
    with pytest.raises(ValueError, match="pass closure=False"):
        HMRFKMeans(2, metric="idivergence", closure=True).fit(X, constraints=known)
    with pytest.warns(UserWarning, match="what follows from the pairs is left out"):
        HMRFKMeans(2, metric="idivergence", closure="auto").fit(X, constraints=known)


def test_what_follows_is_no_stronger_than_what_was_said(seed):
    """Wrong pairs of next to no strength have next to no effect; weight and strength are one product."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 9])
    wrong = [(i, i + 30) for i in range(8)] + [(i, i + 1) for i in range(7)]
    for metric in ("sqeuclidean", "idivergence"):
        weak = Constraints(wrong, n_items=60, weight=1e-6)
        model = HMRFKMeans(2, metric=metric, smoothing=0.1, closure=True, random_state=0)
        assert model.fit(X - X.min() + 1, constraints=weak).violations_.n_broken >= 8
    stated = Constraints.sample(np.repeat([0, 1], 30), 40, random_state=0)
    by_weight = HMRFKMeans(2, weight=0.1, closure=True, random_state=0).fit(X, constraints=stated)
    weaker = Constraints(stated.must_link, stated.cannot_link, n_items=60, weight=0.1)
    by_strength = HMRFKMeans(2, weight=1.0, closure=True, random_state=0).fit(X, constraints=weaker)
    assert by_weight.objective_ == pytest.approx(by_strength.objective_)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_a_full_metric_of_float32_far_from_zero(offset, seed):
    """Six features that nearly repeat one: the matrix is large and of both signs."""
    rng = np.random.default_rng(seed)
    one = np.repeat([0.0, 3.0], 100) + rng.normal(size=200)
    X = one[:, None] + 1e-2 * rng.normal(size=(200, 6)) + offset
    model = MPCKMeans(2, learn="full", n_init=1, random_state=0).fit(X.astype(np.float32))
    history = model.history_
    assert (np.diff(history) <= 1e-6 * np.abs(history).max()).all()
    away = X.astype(np.float32).astype(float)[:, None] - model.cluster_centers_.astype(float)
    near = np.einsum("nkj,jl,nkl->nk", away, model.metric_, away)
    clear = np.abs(near[:, 0] - near[:, 1]) > 1e-2 * near.max(axis=1)
    assert (near.argmin(axis=1) == model.labels_)[clear].all()


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_few_pairs_that_follow_cost_the_same_written_down(metric, seed, monkeypatch):
    """By sums, or pair by pair: the same objective at the same labels."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 15)
    X = np.abs(rng.normal(size=(3, 4)) * 2)[y] + 0.5 * rng.random((45, 4))
    known = Constraints.sample(y, 40, random_state=0)
    given = {"metric": metric, "learn": "none", "init": X[[0, 15, 30]], "max_iter": 1}
    models = []
    for few in (0, 10**9):
        monkeypatch.setattr(_closure_prices, "FEW_PAIRS", few)
        models.append(HMRFKMeans(3, random_state=0, closure=True, **given).fit(X, constraints=known))
    explicit = HMRFKMeans(3, random_state=0, closure=False, **given).fit(X, constraints=known.closure())
    for model in models:
        if model.labels_.tolist() == explicit.labels_.tolist():
            assert model.objective_ == pytest.approx(explicit.objective_)
