"""Limits in which one mixture must be another, or something simpler."""

import numpy as np
import pytest

from coterie import Constraints
from coterie.mixture import ConstrainedGaussianMixture, MeanFieldMixture, PenalizedGaussianMixture
from tests.marks import outvoted, unsettled
from tests.mixture.problems import LINE, LINE_START, WarmField, blobs, random_state_of, soft_pairs, start_of
from tests.oracles import mixture as oracle

pytestmark = [outvoted, unsettled]
EXACT = {"reg_covar": 0.0, "tol": 0.0, "n_init": 1}


def problem(seed, *key, n=60, k=3, d=2, gap=1.5):
    X, y = blobs((seed, *key), n, k, d, gap)
    return X, y, start_of(random_state_of(np.random.default_rng((seed, 99, *key)), X, k))


def assert_same_fit(one, other, atol=1e-8, rtol=1e-7):
    np.testing.assert_allclose(other.responsibilities_, one.responsibilities_, atol=atol)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(other.means_, one.means_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(other.covariances_, one.covariances_, rtol=rtol, atol=atol)


@pytest.mark.parametrize("update", ["joint", "exact"])
def test_no_coupling_is_no_constraint(update, seed):
    X, y, start = problem(seed, 1)
    pairs = Constraints.sample(y, 25, random_state=0)
    shared = {"weights_update": update, "max_iter": 6, **EXACT, **start}
    plain = PenalizedGaussianMixture(3, **shared).fit(X)
    silent = Constraints(pairs.must_link, pairs.cannot_link, n_items=60, weight=0.0)
    assert_same_fit(plain, PenalizedGaussianMixture(3, **shared).fit(X, constraints=silent))
    unsure = PenalizedGaussianMixture(3, confidence=0.5, **shared).fit(X, constraints=pairs)
    assert_same_fit(plain, unsure)
    twice = Constraints(pairs.must_link, pairs.must_link, n_items=60)
    assert_same_fit(plain, PenalizedGaussianMixture(3, **shared).fit(X, constraints=twice))


def test_a_weight_of_zero_is_no_constraint_to_mean_field(seed):
    X, y, start = problem(seed, 2)
    pairs = Constraints.sample(y, 25, random_state=0)
    shared = {"annealing": False, "max_iter": 6, **EXACT, **start}
    plain = MeanFieldMixture(3, **shared).fit(X)
    assert_same_fit(plain, MeanFieldMixture(3, weight=0.0, **shared).fit(X, constraints=pairs))


@pytest.mark.parametrize("k", [2, 3])
def test_hard_pairs_make_penalized_constrained(k, seed):
    for number in range(3):
        X, y, start = problem(seed, 3, number, k=k)
        c = Constraints.sample(y, 30, random_state=number)
        hard = Constraints(c.must_link, c.cannot_link, n_items=60, hard=True)
        shared = {"weights_update": "exact", "max_iter": 5, **EXACT, **start}
        one = ConstrainedGaussianMixture(k, sampling="point", **shared).fit(X, constraints=c)
        other = PenalizedGaussianMixture(k, inference="exact", **shared).fit(X, constraints=hard)
        assert_same_fit(one, other, atol=1e-7, rtol=1e-6)
        np.testing.assert_allclose(other.history_, one.history_, rtol=1e-8)
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_allclose(other.agreement_, one.agreement_, atol=1e-8)


def test_nearly_hard_is_nearly_the_same(seed):
    """A coupling of 41 nats on the worked example."""
    c = Constraints([(2, 3)], [(0, 1), (1, 2)], n_items=4, weight=3.0, confidence=1.0)
    shared = {"weights_update": "exact", "max_iter": 1, **EXACT, **LINE_START}
    soft = PenalizedGaussianMixture(3, inference="exact", **shared).fit(LINE, constraints=c)
    hard = ConstrainedGaussianMixture(3, sampling="point", **shared).fit(LINE, constraints=c)
    assert_same_fit(hard, soft, atol=1e-6, rtol=1e-5)


def test_the_coupling_is_weight_times_log_odds(seed):
    """Said twice at .9, or with weight 2: once at the confidence whose log-odds are twice those."""
    X, _, start = problem(seed, 4)
    shared = {"inference": "exact", "weights_update": "exact", "max_iter": 3, **EXACT, **start}
    said = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(4, 5)], "n_items": 60}
    sure = 1 / (1 + np.exp(-2 * np.log(9.0)))
    fits = [
        PenalizedGaussianMixture(3, **shared).fit(X, constraints=Constraints(**said, confidence=sure)),
        PenalizedGaussianMixture(3, confidence=sure, **shared).fit(X, constraints=Constraints(**said)),
        PenalizedGaussianMixture(3, **shared).fit(
            X, constraints=Constraints(**said, weight=2.0, confidence=0.9)
        ),
        PenalizedGaussianMixture(3, confidence=0.9, **shared).fit(
            X, constraints=Constraints(**said) + Constraints(**said)
        ),
        PenalizedGaussianMixture(3, **shared).fit(
            X, constraints=Constraints(**said, confidence=0.9) + Constraints(**said, confidence=0.9)
        ),
    ]
    for other in fits[1:]:
        assert_same_fit(fits[0], other)


@pytest.mark.parametrize("weight", [0.3, 0.8])
def test_mean_field_of_chapter_5_is_that_of_chapter_4(weight, seed):
    """eta = 1, no annealing, joint weights; weak couplings, so that there is one fixed point."""
    X, y, start = problem(seed, 5)
    c = Constraints.sample(y, 40, noise=0.2, random_state=0)
    shared = {"max_iter": 6, **EXACT, **start}
    confidence = 1 / (1 + np.exp(-weight))
    four = PenalizedGaussianMixture(
        3, confidence=confidence, inference="mean-field", weights_update="joint", **shared
    ).fit(X, constraints=c)
    five = WarmField(3, weight=weight, weights_update="joint", annealing=False, **shared)
    five.fit(X, constraints=c)
    assert_same_fit(four, five, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(five.history_, four.history_, rtol=1e-6)


def test_stated_confidences_mean_the_same_in_chapters_4_and_5(seed):
    X, _, start = problem(seed, 6)
    c = soft_pairs(np.random.default_rng(seed), 60, 10, 10)
    stated = np.nan_to_num(np.r_[c.must_table.confidence, c.cannot_table.confidence], nan=0.6)
    weight = 0.4 * np.r_[c.must_table.weight, c.cannot_table.weight]
    c = Constraints(c.must_link, c.cannot_link, n_items=60, confidence=stated, weight=weight)
    shared = {"max_iter": 3, **EXACT, **start}
    four = PenalizedGaussianMixture(3, inference="mean-field", weights_update="joint", **shared)
    five = MeanFieldMixture(
        3, weights_update="joint", annealing=False, **shared
    )  # its weight is not asked for
    assert_same_fit(four.fit(X, constraints=c), five.fit(X, constraints=c), atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("sampling", ["chunklet", "point"])
def test_single_items_do_not_care_about_the_sampling(sampling, seed):
    X, _, start = problem(seed, 7)
    c = Constraints(cannot_link=[(0, 1), (1, 2), (5, 6)], n_items=60)
    shared = {"weights_update": "exact", "max_iter": 4, **EXACT, **start}
    one = ConstrainedGaussianMixture(3, sampling=sampling, **shared).fit(X, constraints=c)
    other = ConstrainedGaussianMixture(3, sampling="point", **shared).fit(X, constraints=c)
    assert_same_fit(one, other)


@pytest.mark.parametrize("sampling", ["chunklet", "point"])
def test_the_pseudo_likelihood_is_exact_where_cannot_links_are_disjoint(sampling, seed):
    """Between chunklets of several sizes, too; of a star it takes one ray."""
    X, _, start = problem(seed, 18)
    must = [(0, 10), (10, 20), (1, 11), (2, 12)]
    apart = Constraints(must, [(0, 1), (2, 3), (4, 5), (20, 11)], n_items=60)
    star = Constraints(cannot_link=[(0, 1), (0, 2), (0, 3)], n_items=60)
    shared = {"sampling": sampling, "max_iter": 4, **EXACT, **start}
    one, other = (
        ConstrainedGaussianMixture(3, weights_update=update, **shared).fit(X, constraints=apart)
        for update in ("exact", "pseudo-likelihood")
    )
    assert_same_fit(one, other, atol=1e-6, rtol=1e-5)
    shared["max_iter"] = 1
    exact, pseudo = (
        ConstrainedGaussianMixture(3, weights_update=update, **shared).fit(X, constraints=star)
        for update in ("exact", "pseudo-likelihood")
    )
    state = oracle.State(start["weights_init"], start["means_init"], np.linalg.inv(start["precisions_init"]))
    small = oracle.Known(4, tuple((i, j, -np.inf) for i, j in star.cannot_link.tolist()))
    free = oracle.posterior(X[4:9], state, oracle.Known(5)).marginals
    counts = oracle.posterior(X[:4], state, small).marginals.sum(axis=0) + free.sum(axis=0)
    for row in range(9, 60):
        counts += oracle.posterior(X[row : row + 1], state, oracle.Known(1)).marginals[0]
    matched = oracle.matching_size(star.cannot_link.tolist())
    assert matched == 1
    np.testing.assert_allclose(pseudo.weights_, oracle.pseudo_weights(counts, matched), atol=1e-5)
    assert np.abs(exact.weights_ - pseudo.weights_).max() > 1e-4


def test_a_duplicate_that_is_must_linked_doubles_its_potential(seed):
    """Under "point" and "joint": not the same as an unconstrained duplicate."""
    X, _, start = problem(seed, 8, n=12)
    doubled = np.vstack([X, X[:1]])
    c = Constraints([(0, 12)], n_items=13)
    model = ConstrainedGaussianMixture(3, sampling="point", max_iter=1, **EXACT, **start)
    model.fit(doubled, constraints=c)
    state = oracle.State(start["weights_init"], start["means_init"], np.linalg.inv(start["precisions_init"]))
    own = oracle.potentials(X, state, oracle.Known(12))
    own[0] *= 2.0
    R = np.exp(own - np.logaddexp.reduce(own, axis=1, keepdims=True))
    weight = np.r_[2.0, np.ones(11)]
    _, means, covariances = oracle.m_step(X, R, item_weight=weight)
    np.testing.assert_allclose(model.means_, means, rtol=1e-9)
    np.testing.assert_allclose(model.covariances_, covariances, rtol=1e-8)
    np.testing.assert_allclose(model.weights_, weight @ R / 13, rtol=1e-9)


def test_whole_classes_with_cannot_links_between_them(seed):
    """Only the orders of the classes are left; once one of them wins, the rest are class moments."""
    X, y = blobs((seed, 9), 60, 3, 2, gap=6.0)
    must = [(i, i + 3) for i in range(57)]
    c = Constraints(must, [(0, 1), (1, 2), (0, 2)], n_items=60)
    model = ConstrainedGaussianMixture(
        3, covariance_type="full", reg_covar=0.0, means_init=X[:3], max_iter=200, tol=1e-9
    )
    model.fit(X, constraints=c)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_allclose(model.responsibilities_, np.eye(3)[y], atol=1e-6)
    for h in range(3):
        np.testing.assert_allclose(model.means_[h], X[y == h].mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(model.covariances_[h], np.cov(X[y == h].T, bias=True), atol=1e-5)


def test_two_components_ignore_what_parity_implies(seed):
    X, _y, start = problem(seed, 10, k=2)
    cannot = [(0, 1), (1, 2), (2, 3), (7, 8), (8, 9)]
    more = [*cannot, (0, 3), (7, 8)]
    for update in ("joint", "exact"):
        shared = {"weights_update": update, "max_iter": 4, **EXACT, **start}
        one = ConstrainedGaussianMixture(2, **shared).fit(
            X, constraints=Constraints(cannot_link=cannot, n_items=60)
        )
        other = ConstrainedGaussianMixture(2, **shared).fit(
            X, constraints=Constraints(cannot_link=more, n_items=60)
        )
        assert_same_fit(one, other)
        np.testing.assert_allclose(other.history_, one.history_, rtol=1e-10)


@pytest.mark.parametrize("kind", [ConstrainedGaussianMixture, PenalizedGaussianMixture, MeanFieldMixture])
def test_with_all_labels_the_parameters_are_class_moments(kind, seed):
    X, y = blobs((seed, 11), 90, 3, 2, gap=1.0)
    names = np.array(["b", "c", "a"])[y]  # components go by the sorted names
    model = kind(3, covariance_type="full", reg_covar=0.0, random_state=0)
    model.fit(X, constraints=Constraints.from_labels(names))
    place = np.array([1, 2, 0])[y]
    np.testing.assert_array_equal(model.labels_, place)
    np.testing.assert_allclose(model.responsibilities_, np.eye(3)[place], atol=1e-12)
    moments = oracle.m_step(X, np.eye(3)[place])
    np.testing.assert_allclose(model.means_, moments[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.covariances_, moments[2], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.weights_, 1 / 3, rtol=1e-6)  # the classes are of one size
    # the rule for new rows is quadratic discriminant analysis
    rule = oracle.log_density(X, moments[1], moments[2]).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), rule)


@pytest.mark.parametrize("sampling", ["chunklet", "point"])
def test_labels_are_drawn_one_by_one(sampling, seed):
    """Given all labels the weights are the shares of the classes; a must-linked class is one draw, though."""
    X, _ = blobs((seed, 23), 60, 3, 2, gap=1.0)
    y = np.repeat([0, 1, 2], [10, 20, 30])
    model = ConstrainedGaussianMixture(3, sampling=sampling, random_state=0).fit(X, constraints=y)
    np.testing.assert_allclose(model.weights_, [1 / 6, 1 / 3, 1 / 2], rtol=1e-6)
    chain = Constraints([(i, i + 1) for i in range(10, 29)], n_items=60)
    model.fit(X, constraints=Constraints.from_labels(y) | chain)
    drawn = np.array([10, 1, 30]) if sampling == "chunklet" else np.array([10, 20, 30])
    np.testing.assert_allclose(model.weights_, drawn / drawn.sum(), rtol=1e-6)


def test_dropping_to_small_components_is_a_fit_without_the_dropped(seed):
    X, y, start = problem(seed, 12)
    c = Constraints.sample(y, 60, noise=0.1, random_state=0)
    shared = {"inference": "exact", "weights_update": "joint", "max_iter": 4, **EXACT, **start}
    model = PenalizedGaussianMixture(3, max_component_size=2, random_state=0, **shared).fit(X, constraints=c)
    dropped = model.dropped_constraints_
    kept = c.drop(must_link=dropped.must_link, cannot_link=dropped.cannot_link)
    assert 0 < kept.n_pairs < 60
    ends = np.r_[kept.must_link, kept.cannot_link].ravel()
    assert len(np.unique(ends)) == len(ends)  # disjoint pairs
    assert_same_fit(model, PenalizedGaussianMixture(3, **shared).fit(X, constraints=kept))


def test_a_spanning_tree_is_a_fit_without_the_dropped(seed):
    X, y, start = problem(seed, 19, k=4)
    pairs = [(i, j) for i in range(40) for j in range(i) if y[i] != y[j]]
    chosen = np.random.default_rng((seed, 20)).permutation(len(pairs))[:200]
    c = Constraints([(40, 44), (41, 45)], [pairs[t] for t in chosen], n_items=60)
    shared = {"max_table_cells": 300, "max_iter": 3, **EXACT, **start}
    for update in ("joint", "exact"):
        model = ConstrainedGaussianMixture(4, weights_update=update, **shared).fit(X, constraints=c)
        dropped = model.dropped_constraints_
        assert len(dropped.must_link) == 0
        assert len(dropped.cannot_link) == 200 - 39  # a tree on forty items is left
        kept = c.drop(cannot_link=dropped.cannot_link)
        other = ConstrainedGaussianMixture(4, weights_update=update, **shared).fit(X, constraints=kept)
        assert not other.dropped_constraints_
        assert_same_fit(model, other)
        np.testing.assert_allclose(model.history_, other.history_, rtol=1e-9)


def test_narrow_pieces_stay_exact_beside_a_wide_one(seed):
    """Only the wide piece is left to mean field."""
    X, _, start = problem(seed, 21, k=4)
    rng = np.random.default_rng((seed, 22))
    wide = [(i, j) for i in range(10, 40) for j in range(10, i) if rng.random() < 0.4]
    narrow = [(0, 1), (1, 2), (0, 2)]
    c = Constraints(narrow[:2] + wide[::2], narrow[2:] + wide[1::2], n_items=60, confidence=0.9)
    model = PenalizedGaussianMixture(
        4, weights_update="joint", max_table_cells=2_000, max_iter=2, **EXACT, **start
    ).fit(X, constraints=c)
    assert model.inference_.method != "exact"
    beta = np.log(9.0)
    known = oracle.Known(3, ((0, 1, beta), (1, 2, beta), (0, 2, -beta)))
    state = oracle.State(model.weights_, model.means_, model.covariances_)
    right = oracle.posterior(X[:3], state, known)
    np.testing.assert_allclose(model.responsibilities_[:3], right.marginals, atol=1e-9)
    rows = {tuple(pair): row for row, pair in enumerate(np.r_[c.must_link, c.cannot_link].tolist())}
    found = [model.agreement_[rows[pair]] for pair in narrow]
    np.testing.assert_allclose(found, right.agreement, atol=1e-9)
    np.testing.assert_allclose(model.responsibilities_[40:], model.predict_proba(X[40:]), atol=1e-9)
