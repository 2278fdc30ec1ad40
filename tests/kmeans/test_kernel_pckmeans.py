"""`KernelPCKMeans`: its objective by definition, no better single move, kernels, graphs, weights."""

import random

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints, KernelPCKMeans
from coterie.exceptions import InfeasibleConstraintsError
from coterie.kmeans._kernel.search import shift_of
from coterie.kmeans._kernel.similarities import Units
from tests.assign.problems import feasible_constraints, random_constraints
from tests.kmeans.kernel_problems import (
    GRAPHS,
    KERNELS,
    affinities,
    assert_history_falls,
    assert_no_move_pays,
    indefinite,
)
from tests.marks import outvoted
from tests.oracles import kernel as oracle
from tests.oracles import kmeans as pairs

# ---- the objective, against brute force -------------------------------------------------------------------


@outvoted
@pytest.mark.parametrize("store", ["dense", "csr", "float32", *KERNELS, "sparse linear", "sparse cosine"])
def test_objective_local_optimum_and_brute_force(store, seed):
    hits = total = 0
    for number in range(12):
        rng = np.random.default_rng((seed, number))
        own = random.Random(f"{seed} {store} {number}")
        n, k = own.randint(3, 7), own.randint(1, 3)
        known = random_constraints(own, n, hard=0.2, dense=0.6)
        said = pairs.statements(known)
        mass = rng.integers(1, 4, n).astype(float) if number % 3 == 0 else None
        X = rng.normal(size=(n, 2)) + 3.0
        settings = {"weight": own.choice([0.0, 0.3, 2.0]), "n_init": 6, "random_state": number}
        model = KernelPCKMeans(k, **settings)
        if store in ("dense", "csr", "float32"):
            K = indefinite(rng, n).astype(np.float32 if store == "float32" else float)
            given = sparse.csr_matrix(K) if store == "csr" else K
            model.set_params(kernel="precomputed")
        else:
            name = store.split()[-1]
            given = sparse.csr_array(X) if " " in store else X
            model.set_params(kernel=name, gamma=0.4, degree=2)
            K = oracle.kernel_of(X, name, gamma=0.4, degree=2)
        if not known.only_hard().check(k, nonempty=True):
            with pytest.raises(InfeasibleConstraintsError):
                model.fit(given, constraints=known)
            continue
        model.fit(given, constraints=known, sample_weight=mass)

        def value(labels, K=K, k=k, said=said, model=model, mass=mass):
            return oracle.objective(K.astype(float), labels, k, said, model.weight_, mass)

        labels = model.labels_.tolist()
        by_hand = value(labels)
        size = float(1 + np.abs(K).max() * (n if mass is None else mass.sum()))
        assert model.objective_ == pytest.approx(by_hand, abs=1e-9 * size)
        inertia = oracle.distortion(K.astype(float), labels, k, mass)
        assert model.inertia_ == pytest.approx(inertia, abs=1e-9 * size)
        assert model.converged_
        assert pairs.obeys_hard(labels, said)
        assert len(set(labels)) == k
        assert_history_falls(model)
        assert_no_move_pays(labels, value, pairs.parts(n, said, hard_only=True), k, said, by_hand)
        least = oracle.best(value, n, k, said)
        assert by_hand >= least - 1e-9 * size
        total += 1
        hits += by_hand <= least + 1e-9 * size
    assert hits >= 0.6 * total


@outvoted
@pytest.mark.parametrize("store", ["dense", "csr"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_graph_objectives_are_the_cuts(graph, store, seed):
    hits = 0
    for number in range(10):
        rng = np.random.default_rng((seed, number))
        own = random.Random(f"{seed} {graph} {number}")
        n, k = own.randint(4, 7), own.randint(2, 3)
        A = affinities(rng, n)
        known, _ = feasible_constraints(own, n, k, hard=0.2)
        if not known.only_hard().check(k, nonempty=True):
            known = Constraints(n_items=n)
        said = pairs.statements(known)
        model = KernelPCKMeans(k, graph=graph, weight=0.2, n_init=6, random_state=number)
        model.fit(sparse.csr_matrix(A) if store == "csr" else A, constraints=known)

        def value(labels, A=A, k=k, said=said):
            return oracle.graph_objective(A, labels, k, graph, said, 0.2)

        labels = model.labels_.tolist()
        assert model.objective_ == pytest.approx(value(labels), rel=1e-9, abs=1e-12)
        assert model.inertia_ == pytest.approx(oracle.cut(A, labels, k, graph), rel=1e-9, abs=1e-12)
        assert_history_falls(model)
        assert pairs.obeys_hard(labels, said)
        assert_no_move_pays(labels, value, pairs.parts(n, said, hard_only=True), k, said, value(labels))
        least = oracle.best(value, n, k, said)
        assert model.objective_ >= least - 1e-9
        hits += model.objective_ <= least + 1e-9
    assert hits >= 6


def test_the_identity_of_the_objective(seed):
    """J is the trace less the sum over clusters of all entries of S + W inside, by size."""
    rng = np.random.default_rng(seed)
    n, k = 30, 3
    K = indefinite(rng, n)
    known = Constraints.sample(rng.integers(k, size=n), n_pairs=20, random_state=0)
    W = np.zeros((n, n))
    for sign, links in ((1, known.must_link), (-1, known.cannot_link)):
        for i, j in links.tolist():
            W[i, j] = W[j, i] = sign * 0.7
    labels = rng.permutation(np.arange(n) % k)
    inside = [np.ix_(labels == h, labels == h) for h in range(k)]
    identity = np.trace(K) - sum((K + W)[at].sum() / (labels == h).sum() for h, at in enumerate(inside))
    assert oracle.objective(K, labels, k, pairs.statements(known), 0.7) == pytest.approx(identity)


def test_linear_kernel_without_pairs_is_kmeans(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) + 1e4
    y = KMeans(4, n_init=3, random_state=0).fit(X)
    for given in (X, X.astype(np.float32)):
        model = KernelPCKMeans(4, kernel="linear", init=y.labels_.astype(int), random_state=0).fit(given)
        as_given = np.asarray(given, dtype=float)
        assert model.objective_ == pytest.approx(pairs.scatter_of(as_given, model.labels_, 4), rel=1e-6)
        # from the end of Lloyd's steps single moves can only go further down
        assert model.history_[0] == pytest.approx(pairs.scatter_of(as_given, y.labels_, 4), rel=1e-6)
        assert model.objective_ <= model.history_[0]
    means = pairs.means(X, model.labels_, 4)
    gaps = np.sqrt(pairs.gaps(X, means))
    model = KernelPCKMeans(4, kernel="linear", init=model.labels_, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), gaps, atol=1e-6)


@outvoted
def test_a_diagonal_shift_changes_nothing(seed):
    for number in range(8):
        rng = np.random.default_rng((seed, number))
        n, k = 25, 3
        K = indefinite(rng, n)
        known = Constraints.sample(rng.integers(k, size=n), n_pairs=15, random_state=number)
        start = rng.permutation(np.arange(n) % k)
        model = KernelPCKMeans(k, kernel="precomputed", weight=1.0, init=start, random_state=0)
        labels = model.fit(K, constraints=known).labels_
        objective = model.objective_
        for shift in (16.0, -8.0, 1024.0):
            model.fit(K + shift * np.eye(n), constraints=known)
            assert model.labels_.tolist() == labels.tolist()
            assert model.objective_ == pytest.approx(objective + shift * (n - k))


# ---- one kernel, stored in many ways ----------------------------------------------------------------------


@outvoted
@pytest.mark.parametrize("name", KERNELS)
def test_every_way_to_give_a_kernel_agrees(name, seed):
    rng = np.random.default_rng(seed)
    n, k = 40, 3
    X = rng.normal(size=(n, 4)) + 2 * np.eye(3, 4)[np.arange(n) % 3]
    known, _ = feasible_constraints(random.Random(seed), n, k, hard=0.2)
    start = rng.permutation(np.arange(n) % k)
    settings = {"init": start, "random_state": 0, "weight": 0.5}
    named = KernelPCKMeans(k, kernel=name, gamma=0.2, **settings).fit(X, constraints=known)
    K = oracle.kernel_of(X, name, gamma=0.2)
    for given in (K, sparse.csr_matrix(K)):
        model = KernelPCKMeans(k, kernel="precomputed", **settings).fit(given, constraints=known)
        assert model.labels_.tolist() == named.labels_.tolist()
        assert model.objective_ == pytest.approx(named.objective_)
        assert model.predict(given).tolist() == named.predict(X).tolist()
    model = KernelPCKMeans(k, kernel=name, gamma=0.2, **settings).fit(sparse.csr_matrix(X), constraints=known)
    assert model.labels_.tolist() == named.labels_.tolist()


@pytest.mark.parametrize("name", KERNELS)
def test_predict_is_the_nearest_mean(name, seed):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    mass = rng.integers(1, 4, 30).astype(float)
    model = KernelPCKMeans(3, kernel=name, gamma=0.3, random_state=0).fit(X, sample_weight=mass)
    K = oracle.kernel_of(np.concatenate([X, new]), name, gamma=0.3)
    far = np.empty((7, 3))
    for i in range(7):
        for h in range(3):
            w = np.where(model.labels_ == h, mass, 0.0) / mass[model.labels_ == h].sum()
            far[i, h] = K[30 + i, 30 + i] - 2 * K[30 + i, :30] @ w + w @ K[:30, :30] @ w
    np.testing.assert_allclose(model.transform(new), np.sqrt(far), atol=1e-6)
    assert model.predict(new).tolist() == far.argmin(axis=1).tolist()
    assert model.score(new) == pytest.approx(-far.min(axis=1).sum())
    assert model.predict(X).tolist() == model.labels_.tolist()
    given = KernelPCKMeans(3, kernel="precomputed", init=model.labels_).fit(K[:30, :30], sample_weight=mass)
    assert given.predict(K[30:, :30]).tolist() == far.argmin(axis=1).tolist()


def test_median_gamma_counts_different_items_by_weight():
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    assert KernelPCKMeans(2).fit(X).gamma_ == pytest.approx(1 / (2 * 2.0**2))
    weighted = KernelPCKMeans(2).fit(X[1:], sample_weight=[2.0, 1.0, 1.0])
    assert weighted.gamma_ == pytest.approx(1 / (2 * 2.0**2))
    assert KernelPCKMeans(2, kernel="laplacian").fit(X).gamma_ == pytest.approx(1 / 2.0)
    assert not hasattr(KernelPCKMeans(2, kernel="linear").fit(X), "gamma_")


# ---- weights ----------------------------------------------------------------------------------------------


@outvoted
@pytest.mark.parametrize("how", ["rbf", "linear", "precomputed", *GRAPHS])
def test_weighted_is_repeated(how, seed):
    """An item of weight 3 is three such items; one of weight 0 is none."""
    for number in range(4):
        rng = np.random.default_rng((seed, number))
        n, k = 20, 3
        mass = rng.integers(0, 4, n)
        mass[:k] = 1
        item = np.repeat(np.arange(n), mass)
        first = np.searchsorted(item, np.arange(n))
        held = np.flatnonzero(mass > 0)
        links = rng.choice(held, size=(8, 2))
        links = links[links[:, 0] != links[:, 1]]
        X = rng.normal(size=(n, 3))
        model = KernelPCKMeans(k, random_state=0)
        given, again = X, X[item]
        if how in GRAPHS or how == "precomputed":
            given = affinities(rng, n)
            if how in GRAPHS:
                model.set_params(graph=how)
                # every node keeps an edge that counts
                given[0, held] += 0.1
                given[held, 0] += 0.1
            else:
                model.set_params(kernel=how)
            again = given[np.ix_(item, item)]
        else:
            model.set_params(kernel=how)
        start = rng.permutation(np.arange(n) % k)
        start[:k] = range(k)
        soft = Constraints(links[:4], links[4:], n_items=n)
        copies = [(first[i], first[i] + c) for i in held for c in range(1, mass[i])]
        joined = Constraints(copies, n_items=len(item), hard=True)
        soft_again = Constraints(first[links[:4]], first[links[4:]], n_items=len(item))
        a = model.set_params(init=start).fit(given, constraints=soft, sample_weight=mass)
        weight, labels, objective = a.weight_, a.labels_, a.objective_
        b = model.set_params(init=start[item]).fit(again, constraints=soft_again | joined)
        assert b.weight_ == pytest.approx(weight)
        # the same partition costs the same, and both are as low as single moves go
        c = model.set_params(init=labels[item], max_iter=1).fit(again, constraints=soft_again | joined)
        model.set_params(max_iter=300)
        assert c.history_[0] == pytest.approx(objective, rel=1e-9)
        assert c.labels_.tolist() == labels[item].tolist()


def test_items_without_weight_go_to_the_nearest_mean(seed):
    rng = np.random.default_rng(seed)
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 10, axis=0) + rng.normal(size=(30, 2))
    mass = np.ones(30)
    mass[[3, 13, 14, 25]] = 0.0
    for name in ("rbf", "linear"):
        model = KernelPCKMeans(3, kernel=name, random_state=0).fit(X, sample_weight=mass)
        assert adjusted_rand_score(model.labels_, np.repeat([0, 1, 2], 10)) == 1.0
        apart = Constraints(None, [(3, 4), (13, 14)], n_items=30, hard=True)
        model.fit(X, constraints=apart, sample_weight=mass)
        assert not model.violations_
        assert model.labels_[13] != model.labels_[14]


@outvoted
@pytest.mark.parametrize("factor", [1e-60, 1e-6, 1e6, 1e60])
@pytest.mark.parametrize("name", ["rbf", "linear", "cosine", "laplacian"])
def test_the_unit_does_not_matter(name, factor, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)) + 2.0
    known = Constraints.sample(rng.integers(3, size=50), n_pairs=30, random_state=0)
    plain = KernelPCKMeans(3, kernel=name, random_state=0).fit(X, constraints=known)
    scaled = KernelPCKMeans(3, kernel=name, random_state=0).fit(X * factor, constraints=known)
    assert scaled.labels_.tolist() == plain.labels_.tolist()
    power = 2 if name == "linear" else 0
    assert scaled.weight_ == pytest.approx(plain.weight_ * factor**power)


@outvoted
def test_pairs_have_a_price(seed):
    """A pair across two blobs is broken for nothing and kept for much."""
    rng = np.random.default_rng(seed)
    X = np.repeat([[0.0, 0.0], [6.0, 0.0]], 10, axis=0) + rng.normal(size=(20, 2))
    known = Constraints([(0, 10)], n_items=20)
    for name in ("rbf", "linear"):
        cheap = KernelPCKMeans(2, kernel=name, weight=0.0, random_state=0).fit(X, constraints=known)
        assert cheap.violations_.n_broken == 1
        assert cheap.objective_ == cheap.inertia_
        assert not KernelPCKMeans(2, kernel=name, weight=1e4).fit(X, constraints=known).violations_


@outvoted
def test_soft_groups_cost_what_their_pairs_cost(seed):
    """Labels, frames and partitions as rows of counts, and written out pair by pair."""
    for number in range(6):
        rng = np.random.default_rng((seed, number))
        n, k = 30, 3
        X = rng.normal(size=(n, 2))
        values = np.where(rng.random(n) < 0.6, rng.integers(4, size=n), -1)
        start = rng.permutation(np.arange(n) % k)
        for make in (Constraints.from_labels, Constraints.across, Constraints.distinct):
            group = make(np.array([None if v < 0 else v for v in values], dtype=object), weight=0.4)
            said = pairs.statements(group)
            written = Constraints(
                [(s.i, s.j) for s in said if s.together],
                [(s.i, s.j) for s in said if not s.together],
                n_items=n,
                weight=0.4,
            )
            a, b = (
                KernelPCKMeans(k, kernel="linear", weight=2.0, init=start, random_state=0).fit(
                    X, constraints=known
                )
                for known in (group, written)
            )
            assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
            # the same clusters; labels also number them
            together = [labels[:, None] == labels for labels in (a.labels_, b.labels_)]
            assert (together[0] == together[1]).all()


# ---- what single moves cannot do --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_items_that_must_be_apart_change_places(name):
    """With two clusters neither of two items can go first, nor any of a chain."""
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]])
    start = np.array([1, 0, 1, 0, 0, 1, 0, 1])
    chain = Constraints(None, [(0, 4), (4, 2), (1, 5), (5, 3), (2, 6), (3, 7)], n_items=8, hard=True)
    model = KernelPCKMeans(2, kernel=name, init=start, random_state=0).fit(X, constraints=chain)
    assert adjusted_rand_score(model.labels_, X[:, 0] > 5) == 1.0
    frames = Constraints.distinct([0, 1, 2, 3, 0, 1, 2, 3])
    model = KernelPCKMeans(2, kernel=name, init=start, random_state=0).fit(X, constraints=frames)
    assert adjusted_rand_score(model.labels_, X[:, 0] > 5) == 1.0


def test_blocks_move_together():
    """Two items that a dear must-link joins leave a wrong cluster although neither would alone."""
    X = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [9.0], [9.1], [9.2], [9.3], [9.4]])
    start = np.array([1, 1, 0, 0, 0, 1, 1, 1, 1, 1])
    known = Constraints([(0, 1)], n_items=10)
    model = KernelPCKMeans(2, kernel="linear", weight=200.0, init=start, random_state=0)
    assert adjusted_rand_score(model.fit(X, constraints=known).labels_, X[:, 0] > 5) == 1.0


# ---- batch ------------------------------------------------------------------------------------------------


@outvoted
def test_batch_updates_are_exact_and_never_rise(seed):
    for number in range(12):
        rng = np.random.default_rng((seed, number))
        own = random.Random(f"{seed} {number}")
        n, k = 25, 3
        known, _ = feasible_constraints(own, n, k, hard=0.2)
        K = indefinite(rng, n)
        model = KernelPCKMeans(k, kernel="precomputed", moves="batch", weight=1.0, random_state=number)
        model.fit(K, constraints=known)
        said = pairs.statements(known)
        assert model.objective_ == pytest.approx(oracle.objective(K, model.labels_, k, said, 1.0))
        assert pairs.obeys_hard(model.labels_.tolist(), said)
        assert_history_falls(model)
        assert len(set(model.labels_.tolist())) == k
        single = KernelPCKMeans(k, kernel="precomputed", weight=1.0, init=model.labels_, random_state=0)
        assert single.fit(K, constraints=known).objective_ <= model.objective_ + 1e-9


@pytest.mark.parametrize("n", [40, 520])
def test_the_shift_makes_a_kernel(n, seed):
    """On both sides of the size above which eigenvalues are found step by step."""
    rng = np.random.default_rng(seed)
    nothing = sparse.csr_matrix((n, n)), np.zeros((n, 0)), sparse.csr_matrix((n, 0)), np.empty(0)
    mass = rng.uniform(0.5, 2.0, n)
    K = indefinite(rng, n)
    shift = shift_of(Units(mass, K, *nothing))
    relative = K / np.sqrt(np.outer(mass, mass))
    least = np.linalg.eigvalsh(relative)[0]
    assert -least <= shift * (1 + 1e-9)
    assert shift <= -1.1 * least
    # nothing lies below 0 here; what is left is the tolerance
    assert (
        shift_of(Units(mass, K @ K, *nothing)) <= 0.01 * np.abs(np.linalg.eigvalsh(K)).max() ** 2 / mass.min()
    )


# ---- kernels ----------------------------------------------------------------------------------------------


@outvoted
@pytest.mark.kernels
def test_every_kernel():
    """Tables, graphs, features and rows under hard and soft constraints of every kind."""
    rng = np.random.default_rng(0)
    n, k = 60, 3
    y = np.arange(n) % k
    X = rng.normal(size=(n, 3)) + 2 * np.eye(3)[y]
    A = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))
    hard = Constraints.sample(y, n_pairs=20, random_state=1)
    hard = Constraints(hard.must_link, hard.cannot_link, n_items=n, hard=True)
    hard = hard | Constraints.distinct(np.where(np.arange(n) < 30, np.arange(n) // 3, -1))
    hard = hard | Constraints.across(np.where(np.arange(n) > 48, y < 1, -1).astype(object))
    soft = Constraints.sample(y, n_pairs=40, random_state=2, noise=0.2)
    soft = soft | Constraints.from_labels(np.where(np.arange(n) % 7 == 0, y, -1), weight=0.3)
    known = hard | soft
    said = pairs.statements(known)
    start = rng.permutation(n) % k
    for given, settings in (
        (X, {"kernel": "linear"}),
        (X.astype(np.float32), {"kernel": "rbf"}),
        (sparse.csr_matrix(X), {"kernel": "linear"}),
        (X, {"kernel": "rbf"}),
        (sparse.csr_matrix(A), {"graph": "normalized_cut"}),
    ):
        for init in ("components", start):
            model = KernelPCKMeans(k, init=init, n_init=1, random_state=0, **settings)
            model.fit(given, constraints=known, sample_weight=None if "graph" in settings else y + 1.0)
            assert pairs.obeys_hard(model.labels_.tolist(), said)
            assert_history_falls(model)
            assert model.converged_
