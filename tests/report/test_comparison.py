"""The same method without what is known: what changed, and what that costs."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints, COPKMeans, KMedoids, PCKMeans, SizeConstrainedKMeans, SizeConstrainedKMedians
from coterie.base import account_of
from coterie.report import plain_labels, write_report
from coterie.report._facts.gather import gather
from coterie.report._facts.without import match_clusters
from tests.report.data import blobs
from tests.report.pages import Page


def test_comparison_with_the_plain_result(wine):
    model, X, _ = wine
    plain = plain_labels(model, X)
    by_hand = PCKMeans(3, weight=4.0, random_state=0).fit(X).labels_
    np.testing.assert_array_equal(plain, by_hand)
    facts = gather(model, X)
    assert facts.comparison == gather(model, X, plain=plain).comparison
    found = facts.comparison
    assert found.ari == pytest.approx(adjusted_rand_score(plain, model.labels_))
    assert found.n_broken_plain == model.constraints_.violations(plain).n_broken
    assert found.n_broken == model.violations_.n_broken
    assert found.spread == pytest.approx(model.inertia_, rel=1e-3)
    fewest = min(
        int((np.array(names)[plain] != model.labels_).sum())
        for names in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    )
    assert found.n_moved == fewest
    assert sum(found.sizes) == sum(found.sizes_plain) == 178


def test_plain_switches_bounds_off_and_nothing_known_needs_no_comparison(seed):
    X, _ = blobs(seed)
    model = SizeConstrainedKMeans(3, size_min=1.0, size_max=1.0, random_state=0).fit(X)
    plain = plain_labels(model, X)
    np.testing.assert_array_equal(plain, SizeConstrainedKMeans(3, random_state=0).fit(X).labels_)
    assert gather(model, X).comparison is not None
    assert gather(model, X, plain=None).comparison is None
    free = COPKMeans(3, random_state=0).fit(X)
    assert plain_labels(free, X) is None
    assert gather(free, X).comparison is None


@pytest.mark.parametrize("k", [5, 40])
def test_matching_large_and_small(seed, k, monkeypatch):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=600)
    names = rng.permutation(k)
    for most in (2_000, 1):  # exact, and the largest overlaps first
        monkeypatch.setattr("coterie.report._facts.without._MOST_MATCHED", most)
        match = match_clusters(labels, names[labels], k)
        np.testing.assert_array_equal(match[names], np.arange(k))


@pytest.mark.parametrize("weighted", [False, True])
def test_spread_is_the_inertia_of_a_converged_fit(seed, weighted):
    X, _ = blobs(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(X)) if weighted else None
    models = [
        COPKMeans(3, random_state=0, tol=0),
        COPKMeans(3, random_state=0, tol=0, metric="cosine"),
        KMedoids(3, random_state=0),
        SizeConstrainedKMedians(3, random_state=0, tol=0),
    ]
    for model in models:
        for values in (X, sparse.csr_matrix(X)):
            if isinstance(model, SizeConstrainedKMedians) and sparse.issparse(values):
                continue
            model.fit(values, sample_weight=weight)
            found = model.account().cost(values, model.labels_.astype(np.int64), weight)
            assert found == pytest.approx(model.inertia_, rel=1e-6), type(model).__name__


def test_spread_leaves_out_what_it_cannot_know(seed):
    _, y = blobs(seed)
    assert account_of(SimpleNamespace(labels_=y)).cost is None


def told(model, X, folder, **words):
    return Page(write_report(folder / "report.html", model, X, **words)).text


def test_items_left_out_are_said_to_count(tmp_path, seed):
    X, _ = blobs(seed, n=60)
    X[:2] = [[500.0] * 4, [-500.0] * 4]
    sentence = "Items left out of all clusters count as one more cluster."
    model = SizeConstrainedKMeans(3, size_min=15, outlier_cost=200.0, random_state=0).fit(X)
    assert (model.labels_ < 0).any()
    assert sentence in told(model, X, tmp_path)
    all_in = SizeConstrainedKMeans(3, size_min=15, random_state=0).fit(X)
    assert sentence not in told(all_in, X, tmp_path)
    plain = np.where(np.arange(60) == 5, -1, all_in.labels_)
    assert sentence in told(all_in, X, tmp_path, plain=plain)


def test_as_many_starts_without_what_is_known(seed, monkeypatch):
    X, y = blobs(seed)
    known = Constraints.sample(y, n_pairs=10, random_state=0)
    starts = []

    class Counted(COPKMeans):
        def fit(self, X, y=None, *, constraints=None, sample_weight=None):
            starts.append(self.n_init)
            return super().fit(X, constraints=constraints, sample_weight=sample_weight)

    for n_init in (3, "auto"):
        model = Counted(3, n_init=n_init, random_state=0).fit(X, constraints=known)
        plain_labels(model, X)
        monkeypatch.setattr("coterie.report._facts.without.ONE_START_ABOVE", 100)
        plain_labels(model, X)
        monkeypatch.undo()
        assert starts == [n_init, n_init, 1]
        starts.clear()


def test_less_distance_may_be_chance(tmp_path, seed, monkeypatch):
    X, y = blobs(seed, gap=9.0)
    model = COPKMeans(3, random_state=0).fit(X, constraints=Constraints.from_labels(y))
    worse = np.roll(model.labels_, 1)
    text = told(model, X, tmp_path, plain=worse)
    assert "less distance" in text
    assert "it may have led to a better start, or this is chance." in text
    monkeypatch.setattr("coterie.report._page.tables.ONE_START_ABOVE", 100)
    assert "(above 100 items the fit without makes one start only)." in told(model, X, tmp_path, plain=worse)


@pytest.mark.parametrize("tol", [0.0, 1e-4])
def test_why_it_stopped(tmp_path, seed, tol):
    X, _ = blobs(seed)
    text = told(COPKMeans(3, random_state=0, tol=tol).fit(X), X, tmp_path)
    assert ("the last step gained nothing" in text) == (tol == 0)
    assert ("so little was left to gain" in text) == (tol > 0)
