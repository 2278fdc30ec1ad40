"""`BalancedKMeans`: a sample, then all items; the exact steps and those of the book."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans

from coterie import BalancedKMeans, Constraints, SizeConstrainedKMeans
from coterie.exceptions import UnsupportedConstraintError, ViolatedConstraintsWarning
from coterie.kmeans import sample_size
from tests.oracles import populate as oracle

SETTINGS = [(a, b) for a in ("exact", "stable", "greedy") for b in ("exact", "book", "none")]
BOOK = {"populate": "stable", "refine": "book"}


def uneven(seed, n=300, d=3):
    """Three clusters of 70, 20 and 10 percent that overlap."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.choice(3, n, p=[0.7, 0.2, 0.1]))
    return rng.normal(size=(n, d)) + 3 * np.eye(3, d)[truth], truth


def quiet(model, X, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        return model.fit(X, **given)


def costs_at(X, centres):
    return 0.5 * ((X[:, None] - centres) ** 2).sum(axis=2)


def of_sample(model, X, **more):
    """The sample's own clustering from the same start, as the book does it: without bounds."""
    words = {"init": model.init, "metric": model.metric, "tol": model.tol}
    return SizeConstrainedKMeans(model.n_clusters, **words, **more).fit(X[model.sample_indices_])


# ---- limits -------------------------------------------------------------------------------------------


def test_with_all_items_in_the_sample_it_is_size_constrained_k_means(seed):
    X, truth = uneven(seed, 80)
    known = Constraints.sample(truth, 20, random_state=0)
    for constraints in (None, known):
        mine = BalancedKMeans(3, size_min=0.6, random_state=1).fit(X, constraints=constraints)
        other = SizeConstrainedKMeans(3, size_min=0.6, random_state=1).fit(X, constraints=constraints)
        assert mine.labels_.tolist() == other.labels_.tolist()
        assert mine.objective_ == other.objective_
        assert mine.history_.tolist() == other.history_.tolist()
        assert mine.sample_indices_.tolist() == list(range(80))


@pytest.mark.parametrize("setting", SETTINGS)
def test_without_a_minimum_it_is_lloyd_from_the_centres_of_the_sample(setting, seed):
    X, _ = uneven(seed)
    populate, refine = setting
    model = BalancedKMeans(
        3, size_min=0, sample_size=60, init=X[[0, 250, 299]], tol=0, populate=populate, refine=refine
    ).fit(X)
    begin = of_sample(model, X).cluster_centers_
    if refine == "none":
        if populate == "exact":
            assert model.labels_.tolist() == costs_at(X, begin).argmin(axis=1).tolist()
        assert model.n_iter_ == 2
        return
    plain = KMeans(3, init=begin, n_init=1, tol=0).fit(X)
    assert model.labels_.tolist() == plain.labels_.tolist()
    assert 2 * model.objective_ == pytest.approx(plain.inertia_)


def test_one_cluster_and_equal_sizes(seed):
    X, _ = uneven(seed)
    for populate, refine in SETTINGS:
        words = {"populate": populate, "refine": refine, "random_state": 0}
        one = BalancedKMeans(1, **words, sample_size=50).fit(X)
        np.testing.assert_allclose(one.cluster_centers_[0], X.mean(axis=0))
        if populate != "greedy" or refine == "exact":
            equal = BalancedKMeans(3, size_min=1.0, sample_size=60, **words).fit(X)
            assert equal.sizes_.tolist() == [100, 100, 100]


# ---- the settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_bounds_hold_and_the_objective_falls(setting, seed):
    populate, refine = setting
    for number, metric in enumerate(["sqeuclidean", "cosine", "sqeuclidean"]):
        X, _ = uneven((seed, number))
        X = X + (5 if metric == "cosine" else 0)
        words = {"size_max": 1.2} if number == 2 and populate != "greedy" else {}
        model = BalancedKMeans(
            3, size_min=0.9, sample_size=50, metric=metric, populate=populate, refine=refine, tol=0,
            random_state=number, **words,
        )  # fmt: skip
        quiet(model, X)
        held = populate != "greedy" or refine == "exact"
        assert bool(model.violations_.shortfalls) != held
        assert (model.sizes_.min() >= 90) == held
        assert model.sizes_.max() <= 120 or not words
        assert model.sizes_.tolist() == np.bincount(model.labels_, minlength=3).tolist()
        # after a greedy populate the first exact step pays for the bounds
        steps = model.history_[2 if setting == ("greedy", "exact") else 0 :]
        assert (np.diff(steps) <= 1e-9 * steps[0]).all()
        assert model.history_[-1] == model.objective_
        if metric == "sqeuclidean":
            own = costs_at(X, model.cluster_centers_)[np.arange(300), model.labels_].sum()
            assert model.objective_ == pytest.approx(own)
            for h in range(3):
                np.testing.assert_allclose(model.cluster_centers_[h], X[model.labels_ == h].mean(axis=0))
        assert np.isnan(model.prices_).all() == (refine != "exact")
        assert (model.account().bounds.prices is None) == (refine != "exact")


def test_stable_populate_is_that_of_the_book(seed):
    """With a small sample its labels stay; with a large one they cannot, since one cluster is too full."""
    kept = 0
    for number, size in enumerate([30, 60, 230]):
        X, _ = uneven((seed, number))
        model = BalancedKMeans(
            3, size_min=80, sample_size=size, init=X[[0, 250, 299]], populate="stable", refine="none"
        ).fit(X)
        begin = of_sample(model, X)
        expected = oracle.populated(
            costs_at(X, begin.cluster_centers_), 80, model.sample_indices_, begin.labels_
        )
        assert model.labels_.tolist() == expected.tolist()
        assert model.n_iter_ == 2
        kept += model.labels_[model.sample_indices_].tolist() == begin.labels_.tolist()
    assert kept == 2


def test_exact_populate_is_the_best_assignment(seed):
    X, _ = uneven(seed)
    words = {"sample_size": 60, "init": X[[0, 250, 299]], "size_min": 0.8, "refine": "none"}
    model = BalancedKMeans(3, **words).fit(X)
    begin = of_sample(model, X, size_min=16)
    from coterie.assign import size_constrained_assignment

    best = size_constrained_assignment(costs_at(X, begin.cluster_centers_), 80)
    assert model.history_[0] == pytest.approx(best.cost)
    assert model.labels_.tolist() == best.labels.tolist()


def test_the_moves_of_the_book_gain_over_populate_alone(seed):
    X, _ = uneven(seed)
    words = {"sample_size": 60, "random_state": 0, "populate": "stable"}
    first, moved = (BalancedKMeans(3, refine=refine, **words).fit(X) for refine in ("none", "book"))
    assert moved.history_[0] == first.history_[0]
    assert moved.objective_ < first.objective_


def test_greedy_warns_once_and_never_lets_a_short_cluster_shrink(seed):
    X, _ = uneven(seed)
    words = {"sample_size": 60, "random_state": 0, "populate": "greedy"}
    for refine in ("none", "book"):
        model = BalancedKMeans(3, refine=refine, **words)
        message = f"populate='greedy' and refine='{refine}' do not keep to the bounds: cluster"
        with pytest.warns(ViolatedConstraintsWarning, match=message) as told:
            model.fit(X)
        assert len(told) == 1
        short = {one.cluster for one in model.violations_.shortfalls}
        assert short == set(np.flatnonzero(model.sizes_ < 90).tolist())
        if refine == "none":
            before = model.sizes_
    assert (model.sizes_ >= np.minimum(before, 90)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert BalancedKMeans(3, refine="exact", **words).fit(X).sizes_.min() >= 90


@pytest.mark.parametrize("setting", [("exact", "exact"), ("stable", "book"), ("stable", "none")])
def test_unit_form_and_seed(setting, seed):
    X, _ = uneven(seed)
    X = np.round(X * 64) / 64
    model = BalancedKMeans(
        3, sample_size=60, populate=setting[0], refine=setting[1], random_state=0
    )  # fmt: skip
    labels = model.fit(X).labels_.tolist()
    for same in (X, X.copy(order="F"), X.astype(np.float32), sparse.csr_matrix(X), 1024 * X):
        assert clone(model).fit(same).labels_.tolist() == labels
        assert clone(model).fit(same).sizes_.min() >= 90


# ---- the sample ---------------------------------------------------------------------------------------


def test_how_many_items_are_drawn(seed):
    X = np.random.default_rng(seed).normal(size=(3000, 2))

    def drawn(**words):
        found = BalancedKMeans(4, max_iter=1, n_init=1, random_state=0, **words).fit(X).sample_indices_
        assert (np.diff(found) > 0).all()
        return len(found)

    assert drawn() == sample_size(4, partition_floor=5)  # 1 / 0.9 of 4, rounded up
    assert drawn(size_min=1.0) == sample_size(4)
    assert drawn(size_min=None) == drawn(size_min=0.5) == sample_size(4, partition_floor=8)
    assert drawn(size_min=[300, 500, 500, 500]) == sample_size(4, partition_floor=10)
    assert drawn(per_cluster=20, confidence=0.9) == sample_size(
        4, per_cluster=20, confidence=0.9, partition_floor=5
    )
    assert drawn(sample_size=100) == 100
    assert drawn(sample_size=2399) == 2399
    assert drawn(sample_size=2400) == drawn(sample_size=10**9) == 3000
    assert drawn(size_min=1) == 3000  # a cluster of one is found in no sample


def test_the_sample_is_drawn_by_load_among_items_that_count(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 2))
    load, weight = rng.integers(0, 4, 400), (rng.random(400) < 0.5).astype(float)
    model = BalancedKMeans(3, sample_size=60, random_state=0).fit(X, size_weight=load, sample_weight=weight)
    assert (load[model.sample_indices_] > 0).all()
    assert (weight[model.sample_indices_] > 0).all()
    assert model.sizes_.tolist() == np.bincount(model.labels_, load, 3).tolist()
    assert model.sizes_.min() >= 0.9 * load.sum() / 3 - 1e-9
    seen = [
        BalancedKMeans(2, sample_size=40, random_state=number, max_iter=1)
        .fit(X, size_weight=np.where(np.arange(400) < 200, 3.0, 1.0))
        .sample_indices_
        for number in range(10)
    ]
    assert 0.65 < (np.concatenate(seen) < 200).mean() < 0.85
    few = np.zeros(400)
    few[:5] = 1
    heavy = np.where(np.arange(400) < 5, 0.0, 1.0)  # what counts has no load
    model = BalancedKMeans(3, sample_size=60, random_state=0).fit(X, size_weight=heavy, sample_weight=few)
    assert set(range(5)) <= set(model.sample_indices_.tolist())


def test_bounds_of_their_own_and_equal_loads(seed):
    X, _ = uneven(seed)
    for words in ({}, BOOK):
        model = BalancedKMeans(3, size_min=[150, 20, 90], sample_size=60, random_state=0, **words).fit(X)
        assert (model.sizes_ >= [150, 20, 90]).all()
        threes = BalancedKMeans(3, size_min=270, sample_size=60, random_state=0, **words)
        assert threes.fit(X, size_weight=np.full(300, 3.0)).sizes_.min() >= 270


# ---- constraints --------------------------------------------------------------------------------------


def test_constraints_hold(seed):
    X, truth = uneven(seed, 400)
    known = Constraints.sample(truth, 60, random_state=0)
    model = BalancedKMeans(3, size_min=0.3, sample_size=80, random_state=0).fit(X, constraints=known)
    assert not model.violations_
    assert model.sizes_.min() >= 40
    labels = np.where(np.arange(400) % 9 == 0, truth, -1)
    model = BalancedKMeans(3, size_min=[200, 40, 30], sample_size=80, random_state=0)
    model.fit(X, constraints=labels)
    assert (model.labels_[labels >= 0] == labels[labels >= 0]).all()
    assert (model.sizes_ >= [200, 40, 30]).all()


@pytest.mark.parametrize("setting", SETTINGS[1:])
def test_the_steps_of_the_book_refuse_constraints_and_loads(setting):
    X = np.random.default_rng(0).normal(size=(40, 2))
    populate, refine = setting
    model = BalancedKMeans(2, populate=populate, refine=refine)
    known = Constraints([(0, 1)], [(2, 3)], n_items=40)
    message = (
        f"populate='{populate}' and refine='{refine}' cannot honour constraints of kind cannot-link, must"
    )
    with pytest.raises(UnsupportedConstraintError, match=message):
        model.fit(X, constraints=known)
    with pytest.raises(ValueError, match="size_weight differs; take populate='exact' and refine='exact'"):
        model.fit(X, size_weight=np.arange(1.0, 41.0))


# ---- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"sample_size": 2}, "sample_size=2, but n_clusters=3 are to be found in it"),
        ({"sample_size": 0}, "sample_size of BalancedKMeans must be a whole number, at least 1 or 'auto'"),
        ({"sample_size": 0.5}, "sample_size of BalancedKMeans"),
        ({"populate": "all"}, "populate of BalancedKMeans must be"),
        ({"refine": True}, "refine of BalancedKMeans must be"),
        ({"per_cluster": 0}, "per_cluster of BalancedKMeans"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1; got 1.0"),
        ({"confidence": 1.5}, "confidence of BalancedKMeans"),
        ({"init": "book"}, "init of BalancedKMeans"),
        ({"size_min": 14}, "the minimum sizes add up to 42, which is 2 more than the number of items, 40"),
        ({"size_min": 1.5}, "the minimum sizes add up to"),
        ({"size_max": 5}, "size_min is 12, which is 7 more than its size_max"),
        ({"size_min": -1}, "size_min of cluster 0 is -1"),
    ],
)
def test_nonsense_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        BalancedKMeans(3, **words).fit(np.random.default_rng(0).normal(size=(40, 2)))


def test_what_the_parent_takes_is_left_out():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert len(BalancedKMeans().get_params()) == 15
    for word in ("groups", "either_or"):
        with pytest.raises(TypeError, match=word):
            BalancedKMeans(3).fit(X, **{word: np.zeros(40)})
        assert word not in BalancedKMeans().get_metadata_routing().fit.requests
    with pytest.raises(TypeError, match="warm_start"):
        BalancedKMeans(3, warm_start=True)


def test_what_bounds_alone_missed_is_told_without_a_word_on_constraints():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = BalancedKMeans(3, populate="greedy", refine="none", random_state=0)
    with pytest.warns(ViolatedConstraintsWarning):
        told = str(model.fit(X).violations_)
    assert told.startswith("1 bound on sizes is missed:")
    assert "constraints" not in told


def test_errors_say_the_way_out():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(ValueError, match="Lower size_min, or ask for fewer clusters"):
        BalancedKMeans(3, size_min=21).fit(X)
    with pytest.raises(ValueError, match="Raise size_max, or ask for more clusters"):
        BalancedKMeans(3, size_max=0.9, size_min=0).fit(X)
    with pytest.raises(ValueError, match="give 3 or more"):
        BalancedKMeans(3, sample_size=2).fit(X)
