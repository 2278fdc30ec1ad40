"""What the k-means family shares: the limits, units, weights, types, numbers of clusters, hostile input."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from coterie import Constraints
from coterie.kmeans import ConstrainedSeedKMeans, COPKMeans, KMedoids, PCKMeans, SeededKMeans
from tests.oracles import kmeans as oracle

pytestmark = [
    pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning"),
]

MEANS = {
    "COP local": COPKMeans,
    "COP greedy": partial(COPKMeans, assignment="greedy"),
    "COP exact": partial(COPKMeans, assignment="exact", n_init=1),
    "PCK": PCKMeans,
}
SEEDED = {"Seeded": SeededKMeans, "ConstrainedSeed": ConstrainedSeedKMeans}
ALL = {**MEANS, **SEEDED, "KMedoids": KMedoids}
CENTRED = {**MEANS, **SEEDED}
QUICK = {name: kind for name, kind in ALL.items() if name != "COP exact"}


def blobs(seed, n=80, k=4, d=3, std=3.0):
    rng = np.random.default_rng(seed)
    X, y = make_blobs(n, d, centers=k, cluster_std=std, random_state=int(rng.integers(2**31)))
    return X, y, rng


def far_blobs(seed, size=12):
    """Four blobs whose truth nobody can miss."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 60.0], [60.0, 60.0]])
    y = np.repeat(np.arange(4), size)
    return places[y] + rng.normal(size=(4 * size, 2)), y, places, rng


def knowledge(name, y, random_state=0, n_pairs=30):
    """True constraints of the kind that the method takes, few enough for greedy passes."""
    if name in SEEDED:
        rng = np.random.default_rng(random_state)
        known = np.where(rng.random(len(y)) < 0.2, y, -1)
        known[[int(np.flatnonzero(y == h)[0]) for h in np.unique(y)]] = np.unique(y)
        return Constraints.from_labels(known)
    return Constraints.sample(y, n_pairs, how="easy", random_state=random_state)


# ---- limits: plain k-means ----------------------------------------------------------------------------

TYPES = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_matrix,
    "CSR float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", MEANS)
def test_c2_without_constraints_the_same_as_scikit_learn(name, kind, weighted):
    for number, tol in enumerate((1e-4, 0.0, 0.05)):
        rng = np.random.default_rng(number + 10 * weighted)
        X = rng.normal(size=(250, 4))
        if "CSR" in kind:
            X[rng.random(X.shape) < 0.5] = 0.0
        X = TYPES[kind](X)
        start = oracle.dense(X[rng.choice(250, 6, replace=False)]).astype(X.dtype)
        w = rng.uniform(0.1, 3, 250) if weighted else None
        plain = KMeans(6, init=start, n_init=1, algorithm="lloyd", tol=tol).fit(X, sample_weight=w)
        model = MEANS[name](6, init=start, n_init=1, tol=tol).fit(X, sample_weight=w)
        close = {"rtol": 1e-3, "atol": 1e-4} if "32" in kind else {"rtol": 1e-7, "atol": 1e-9}
        assert model.labels_.tolist() == plain.labels_.tolist()
        np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, **close)
        assert model.inertia_ == pytest.approx(plain.inertia_, rel=1e-4 if "32" in kind else 1e-9)
        assert model.n_iter_ == plain.n_iter_
        assert model.predict(X).tolist() == plain.predict(X).tolist()
        np.testing.assert_allclose(model.transform(X), plain.transform(X), **close)
        assert model.score(X, sample_weight=w) == pytest.approx(
            plain.score(X, sample_weight=w), rel=1e-4 if "32" in kind else 1e-9
        )


@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize("name", MEANS)
def test_stopped_early_as_scikit_learn_stops(name, max_iter, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    start = X[:7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = KMeans(7, init=start, n_init=1, max_iter=max_iter, tol=0).fit(X)
        model = MEANS[name](7, init=start, n_init=1, max_iter=max_iter, tol=0).fit(X)
    assert model.labels_.tolist() == plain.labels_.tolist()
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_)
    assert model.inertia_ == pytest.approx(oracle.inertia(X, model.labels_, model.cluster_centers_))
    assert model.n_iter_ == plain.n_iter_
    assert model.converged_ == (plain.n_iter_ < max_iter)


@pytest.mark.parametrize("name", MEANS)
def test_lloyd_by_hand(name, seed):
    X, _, rng = blobs(seed, std=8.0)
    start = X[rng.choice(len(X), 4, replace=False)]
    labels, centres = oracle.lloyd(X, start)
    model = MEANS[name](4, init=start).fit(X)
    assert model.labels_.tolist() == labels.tolist()
    np.testing.assert_allclose(model.cluster_centers_, centres)


# ---- fitted attributes --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CENTRED)
def test_fitted_attributes_and_types(name, kind, seed):
    X, y, _ = blobs(seed)
    given = TYPES[kind](X)
    model = CENTRED[name](4, random_state=0).fit(given, constraints=knowledge(name, y))
    assert model.labels_.dtype == np.int32
    assert model.predict(given).dtype == np.int32
    assert model.cluster_centers_.dtype == given.dtype
    assert model.cluster_centers_.shape == (4, 3)
    assert model.history_.dtype == np.float64
    assert len(model.history_) >= model.n_iter_ >= 1
    assert isinstance(model.inertia_, float)
    assert isinstance(model.objective_, float)
    assert isinstance(model.converged_, bool | np.bool_)
    assert model.n_features_in_ == 3
    by_hand = oracle.inertia(given, model.labels_, model.cluster_centers_)
    assert model.inertia_ == pytest.approx(by_hand, rel=1e-3 if "32" in kind else 1e-7)


@pytest.mark.parametrize("name", ALL)
def test_free_items_are_predicted_as_labelled(name, seed):
    X, y, _ = blobs(seed)
    c = knowledge(name, y)
    model = ALL[name](4, random_state=0).fit(X, constraints=c)
    loose = np.setdiff1d(np.arange(len(X)), c.constrained_items)
    assert len(loose)
    assert model.predict(X)[loose].tolist() == model.labels_[loose].tolist()
    assert model.transform(X).shape == (len(X), 4)
    assert model.transform(X).argmin(axis=1).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(model.transform(X), pairwise_distances(X, model.cluster_centers_), atol=1e-6)


@pytest.mark.parametrize("name", CENTRED)
def test_score_is_minus_the_distortion_of_new_items(name, seed):
    X, y, rng = blobs(seed)
    model = CENTRED[name](4, random_state=0).fit(X, constraints=knowledge(name, y))
    new, w = rng.normal(size=(30, 3)) * 5, rng.random(30)
    by_hand = -oracle.inertia(new, model.predict(new), model.cluster_centers_, w)
    assert model.score(new, sample_weight=w) == pytest.approx(by_hand)
    assert model.score(new) == pytest.approx(-oracle.inertia(new, model.predict(new), model.cluster_centers_))


# ---- units --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", MEANS)
def test_units_with_a_given_start(name, factor, seed):
    X, y, rng = blobs(seed, n=50, std=6.0)
    c = knowledge(name, y, n_pairs=20)
    start = X[rng.choice(len(X), 4, replace=False)]
    plain = MEANS[name](4, init=start, random_state=0).fit(X, constraints=c)
    b = 1e3 * factor * X.std()
    moved = MEANS[name](4, init=start * factor + b, random_state=0).fit(X * factor + b, constraints=c)
    assert moved.labels_.tolist() == plain.labels_.tolist()
    assert moved.objective_ == pytest.approx(plain.objective_ * factor**2, rel=1e-6)


@pytest.mark.parametrize("name", MEANS)
def test_float32_far_from_the_origin(name, seed):
    """The data still tell the clusters apart there; expanded squares of float32 do not."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 100)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + rng.uniform(-0.5, 0.5, (300, 2))
    X = (X + 4000).astype(np.float32)
    start = X[[0, 100, 200]]
    model = MEANS[name](3, init=start).fit(X)
    assert model.labels_.tolist() == y.tolist()
    assert model.predict(X).tolist() == y.tolist()
    exact = oracle.inertia(X, y, oracle.means(X, y, 3))
    assert model.inertia_ == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("name", CENTRED)
def test_cosine_does_not_see_the_length_of_rows(name, seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 25)
    X = np.eye(4)[y] + 0.3 * rng.random((100, 4))
    c = knowledge(name, y)
    lengths = rng.uniform(1e-3, 1e3, (100, 1))
    runs = []
    for given in (X, X * lengths, sparse.csr_matrix(X * lengths)):
        model = CENTRED[name](4, metric="cosine", random_state=0).fit(given, constraints=c)
        runs.append(model.labels_.tolist())
        np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)
        by_hand = oracle.inertia(given, model.labels_, model.cluster_centers_, metric="cosine")
        half = by_hand * 2  # 1 - cos is half the squared distance of unit vectors
        assert model.inertia_ == pytest.approx(by_hand) or model.inertia_ == pytest.approx(half)
        assert model.predict(given)[0] == model.predict(given[:1] * 7)[0]
        history = np.asarray(model.history_)
        if name != "COP greedy":
            assert (np.diff(history) <= 1e-9 * history[:-1]).all()
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("name", CENTRED)
def test_cosine_with_a_row_of_zeros_says_so_or_copes(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 3))
    X[4] = 0
    model = CENTRED[name](2, metric="cosine", random_state=0)
    try:
        model.fit(X)
    except ValueError as error:
        told = str(error)
        assert "cosine" in told
        return
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("spacing", [1e3, 1e5])
@pytest.mark.parametrize("name", CENTRED)
def test_tight_clusters_far_apart_keep_their_digits(name, spacing, seed):
    """The distortion is a tiny part of the spread: a difference of large sums has no digits of it left."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 20)
    X = spacing * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[y] + rng.normal(size=(80, 2)) * 1e-2
    c = knowledge(name, y)
    more = {"init": X[::20]} if name in MEANS else {}
    model = CENTRED[name](4, tol=0, random_state=0, **more).fit(X, constraints=c)
    by_hand = oracle.scatter_of(X, y, 4)
    share = 0.5 if name == "PCK" else 1.0
    assert model.inertia_ == pytest.approx(by_hand, rel=1e-6)
    assert model.objective_ == pytest.approx(share * by_hand, rel=1e-6)
    history = np.asarray(model.history_)
    assert history[-1] == pytest.approx(model.objective_, rel=1e-9)
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MEANS)
def test_an_outlier_does_not_blur_the_others(name, dtype, seed):
    rng = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(3), 40), 3]
    places = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1e6, 1e6]])
    X = (places[y] + rng.uniform(-0.5, 0.5, (121, 2))).astype(dtype)
    for known in (None, Constraints([(0, 1)], [(2, 42), (3, 83), (4, 120)], n_items=121)):
        model = MEANS[name](4, init=places.astype(dtype)).fit(X, constraints=known)
        assert model.labels_.tolist() == y.tolist()


# ---- weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CENTRED)
def test_items_without_weight_are_labelled_but_do_not_pull(name, seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(20, 2)) + 1000])
    X[20:40] += 30
    w = np.r_[np.ones(40), np.zeros(20)]
    model = CENTRED[name](2, n_init=5, random_state=0).fit(X, sample_weight=w)
    assert np.isfinite(model.cluster_centers_).all()
    assert (model.cluster_centers_ < 100).all()
    assert (model.labels_[40:] == model.labels_[39]).all()


# ---- types --------------------------------------------------------------------------------------------


# ---- numbers of clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_warm_start_of_other_shape_is_refused_or_fresh(name, seed):
    X, _, _ = blobs(seed, std=1.0)
    model = ALL[name](4, warm_start=True, random_state=0).fit(X)
    model.set_params(n_clusters=3)
    try:
        model.fit(X[:, :2])
    except ValueError as error:
        told = str(error)
        assert told
        return
    assert model.cluster_centers_.shape == (3, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("name", MEANS)
def test_empty_clusters_are_filled(name, constrained, seed):
    X, y, _ = blobs(seed, n=40, k=3, d=2)
    c = knowledge(name, y, n_pairs=15) if constrained else None
    far = np.array([[1e5, 1e5], [2e5, 2e5]])
    start = np.vstack([X[:3], far])
    model = MEANS[name](5, init=start).fit(X, constraints=c)
    assert set(model.labels_.tolist()) == set(range(5))
    assert (np.abs(model.cluster_centers_) < 1e3).all()
    if name != "COP greedy":
        history = np.asarray(model.history_)
        assert (np.diff(history) <= 1e-9 * history[:-1]).all()


@pytest.mark.parametrize("name", ALL)
def test_one_item_one_cluster_and_as_many_clusters_as_items(name):
    one = ALL[name](1, random_state=0).fit([[3.0, 4.0]])
    assert one.labels_.tolist() == [0]
    assert one.objective_ == 0
    assert one.predict([[0.0, 0.0]]).tolist() == [0]
    X = np.random.default_rng(0).normal(size=(6, 2))
    single = ALL[name](1, random_state=0).fit(X)
    assert set(single.labels_.tolist()) == {0}
    every = ALL[name](6, random_state=0).fit(X)
    assert sorted(every.labels_.tolist()) == list(range(6))
    assert every.inertia_ == pytest.approx(0, abs=1e-12)
    if name != "KMedoids":
        np.testing.assert_allclose(single.cluster_centers_, X.mean(axis=0, keepdims=True))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ALL)
def test_fewer_distinct_points_than_clusters(name):
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    model = ALL[name](4, random_state=0).fit(X)
    assert model.objective_ == pytest.approx(0)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.labels_[0] != model.labels_[5]
    model = ALL[name](2, random_state=0).fit(np.full((5, 2), 7.5))
    assert model.objective_ == pytest.approx(0)


@pytest.mark.parametrize("name", CENTRED)  # medoids in one place keep a cluster each
def test_fewer_distinct_points_than_clusters_is_said(name):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning):
        ALL[name](3, random_state=0).fit(np.repeat([[0.0], [1.0]], 5, axis=0))


# ---- order, threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_more_starts_are_never_worse(name, seed):
    """With one seed, the first of many starts is the only one of one."""
    X, y, _ = blobs(seed, std=6.0)
    c = knowledge(name, y)
    few = ALL[name](4, n_init=1, random_state=3).fit(X, constraints=c).objective_
    many = ALL[name](4, n_init=20, random_state=3).fit(X, constraints=c).objective_
    assert many <= few * (1 + 1e-2)


# ---- hostile input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEANS)
def test_bad_starts_are_refused(name):
    X = np.arange(12.0).reshape(6, 2)
    for bad in (np.zeros((3, 2)), np.zeros((2, 3)), np.zeros(2), np.array([[0.0, np.nan], [1.0, 1.0]])):
        with pytest.raises(ValueError, match=r"init|NaN|2D"):
            MEANS[name](2, init=bad).fit(X)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("init", "magic"),
        ("n_init", 0),
        ("n_init", "many"),
        ("max_iter", 0),
        ("tol", -1.0),
        ("metric", "manhattan"),
        ("assignment", "hungarian"),
        ("order", "alphabetical"),
        ("strategy", "best"),
        ("budget", -5),
        ("weight", -1.0),
        ("weight", "heavy"),
        ("weight", np.nan),
        ("n_clusters", 2.5),
        ("warm_start", "yes"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameter, value):
    X = np.arange(12.0).reshape(6, 2)
    tried = 0
    for name, kind in {"COP": COPKMeans, "PCK": PCKMeans, **SEEDED, "KMedoids": KMedoids}.items():
        if parameter not in kind().get_params() or (name == "KMedoids" and parameter == "metric"):
            continue
        tried += 1
        with pytest.raises(ValueError, match=parameter):
            kind(n_clusters=2).set_params(**{parameter: value}).fit(X)
    assert tried


@pytest.mark.parametrize("name", QUICK)
def test_constant_and_useless_features(name, seed):
    X, y, _ = blobs(seed, std=1.0)
    wide = np.column_stack([X, np.full(len(X), 1e4), np.zeros(len(X))])
    c = knowledge(name, y)
    a = ALL[name](4, random_state=0).fit(X, constraints=c).labels_
    b = ALL[name](4, random_state=0).fit(wide, constraints=c).labels_
    assert a.tolist() == b.tolist()
