"""`MeanFieldMixture(weights_update="balanced")`: expected sizes that are held at targets."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from coterie import Constraints, MeanFieldMixture
from coterie.assign import size_constrained_assignment
from coterie.exceptions import InfeasibleConstraintsError, ParameterError
from coterie.mixture import VonMisesFisher
from coterie.mixture._engine.balance import DensityRows, balanced_log_weights
from tests.marks import outvoted, unsettled
from tests.oracles import balance as oracle
from tests.oracles.mixture import log_density

pytestmark = [outvoted, unsettled]
SIZES = (60, 25, 15)
SHARES = [0.6, 0.25, 0.15]
COLD = {"annealing": False, "n_init": 1, "weights_update": "balanced", "random_state": 0}


def balanced(A, target, T=1.0):
    """Log weights and shares."""
    target, ones = np.asarray(target, dtype=float), np.ones(len(A))
    log_weights, gap = balanced_log_weights(DensityRows(A, ones, ones), target, T, np.zeros(len(target)))
    P = oracle.shares(A, log_weights, T)
    assert gap == pytest.approx(np.abs(P.sum(axis=0) / target - 1).max(), abs=1e-9)
    return log_weights, P


def unequal(seed, n=100):
    """Three clusters that overlap, of 60, 25 and 15 %."""
    rng = np.random.default_rng((seed, 8))
    y = np.repeat([0, 1, 2], np.multiply(SIZES, n // 20) // 5)
    return np.array([[0, 0], [3, 0], [0, 3.0]])[y] + rng.normal(size=(n, 2)), y


def held(model, target=None):
    """Sizes, rows and the course of the free energy."""
    n, k = model.responsibilities_.shape
    target = np.full(k, n / k) if target is None else np.asarray(target) * n / np.sum(target)
    np.testing.assert_allclose(model.responsibilities_.sum(axis=0), target, rtol=1e-6)
    np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1.0, atol=1e-12)
    assert np.diff(model.history_).max(initial=0.0) < 1e-8 * max(1.0, abs(model.objective_))


# ---- weights for given densities -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("T", "difference", "three", "one"),
    [
        (1.0, 0.5581634595, 0.3913034455, 0.8260896634),
        (0.5, 0.6784722450, 0.3445561642, 0.9663315075),
        (0.1, 0.9306852826, 0.3333333347, 0.9999999959),
    ],
)
def test_the_worked_example(T, difference, three, one):
    A = np.array([[0.0, -1.0], [0.0, -1.0], [0.0, -1.0], [-1.0, 0.0]])
    log_weights, P = balanced(A, [2, 2], T)
    assert log_weights[1] - log_weights[0] == pytest.approx(difference, abs=1e-9)
    np.testing.assert_allclose(P[:, 1], [three, three, three, one], atol=1e-9)
    assert np.exp(log_weights).sum() == pytest.approx(1.0)


def test_hot_is_equal_and_equal_rows_stay_equal():
    A = np.array([[0.0, -1.0], [0.0, -1.0], [0.0, -1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(balanced(A, [2, 2], 1e6)[1], 0.5, atol=1e-6)
    cold = balanced(A, [2, 2], 1e-4)[1]
    np.testing.assert_allclose(cold[:, 1], [1 / 3, 1 / 3, 1 / 3, 1.0], atol=1e-9)


@pytest.mark.parametrize("T", [2.0, 0.3])
def test_as_sinkhorn_finds_them(T, seed):
    rng = np.random.default_rng((seed, 1))
    for k in (1, 2, 5):
        A = rng.normal(size=(40, k)) * 2
        target = 40 * rng.dirichlet(np.full(k, 3.0))
        expected = oracle.shares(A, oracle.sinkhorn(A, target, T), T)
        np.testing.assert_allclose(balanced(A, target, T)[1], expected, atol=1e-9)


def test_densities_far_apart(seed):
    """Where all shares are 0 or 1 but a few, and log weights are thousands apart."""
    rng = np.random.default_rng((seed, 2))
    for n, k, spread in ((21, 2, 1e3), (101, 5, 1e4), (203, 10, 1e5)):
        A = rng.normal(size=(n, k)) * spread
        A[:, 0] += 2 * spread
        for target in (np.full(k, n / k), n * rng.dirichlet(np.full(k, 2.0))):
            P = balanced(A, target)[1]
            np.testing.assert_allclose(P.sum(axis=0), target, rtol=1e-6)


def test_cold_is_the_cheapest_assignment(seed):
    A = np.random.default_rng((seed, 3)).normal(size=(30, 3))
    best = size_constrained_assignment(-A, 10, 10)
    P = balanced(A, [10, 10, 10], 1e-3)[1]
    assert (P * A).sum() == pytest.approx(-best.cost, abs=0.05)
    np.testing.assert_array_equal(P.argmax(axis=1), best.labels)


# ---- the fit ---------------------------------------------------------------------------------------------


def test_steps_by_hand(seed):
    rng = np.random.default_rng((seed, 4))
    X = rng.normal(size=(30, 3)) + 2 * np.eye(3)[np.arange(30) % 3] * (np.arange(30) % 3 > 0)[:, None]
    means, target = rng.normal(size=(3, 3)), np.array([15.0, 9.0, 6.0])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    model = MeanFieldMixture(
        3, emission=VonMisesFisher(4.0), means_init=means, target_sizes=target, tol=0.0, max_iter=3, **COLD
    ).fit(X)
    history, P, means = oracle.directions_em(X, means, 4.0, target, 3)
    np.testing.assert_allclose(model.history_, -history - target @ np.log(target / 30), rtol=1e-9)
    np.testing.assert_allclose(model.responsibilities_, P, atol=1e-7)
    np.testing.assert_allclose(model.means_, means, atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), P, atol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("kind", "eta"),
    [("nothing", 1.0), ("labels", 4.0), ("soft", 1.0), ("soft", 4.0), ("hard", 1.0), ("many", 1.0)],
)
def test_sizes_are_held_beside_constraints(kind, eta, k, seed):
    X, y = unequal(seed, 60)
    y = np.minimum(y, k - 1)
    pairs = Constraints.sample(y, 120 if kind == "many" else 20, random_state=seed)
    known = {
        "nothing": None,
        "labels": Constraints.from_labels(np.where(np.arange(60) % 9 == 0, y, -1)),
        "soft": pairs,
        "hard": Constraints(pairs.must_link, pairs.cannot_link, n_items=60, hard=True),
        "many": pairs,
    }[kind]
    model = MeanFieldMixture(k, eta=eta, **COLD).fit(X, constraints=known)
    held(model)
    assert model.objective_kind_ == ("bound" if model.inference_.kind == "bound" else "balanced")
    if kind == "hard":
        assert not model.violations_


def test_sizes_are_held_while_the_temperature_falls(seed):
    X, y = unequal(seed, 40)
    known = Constraints.sample(y, 10, random_state=seed)
    model = MeanFieldMixture(3, **COLD | {"annealing": True}).fit(X, constraints=known)
    assert len(model.temperature_path_) > 3
    held(model)


def test_a_fixed_point_of_mean_field(seed):
    """No unit gains by another probability, given its neighbours and what sizes cost."""
    X, y = unequal(seed, 40)
    known = Constraints.sample(y, 12, random_state=seed)
    model = MeanFieldMixture(3, weight=0.8, tol=1e-9, max_iter=300, **COLD).fit(X, constraints=known)
    q = model.responsibilities_
    potential = log_density(X, model.means_, model.covariances_, model.covariance_type_)
    for sign, ends in ((1, known.must_link), (-1, known.cannot_link)):
        for i, j in ends:
            potential[i] += sign * 0.8 * q[j]
            potential[j] += sign * 0.8 * q[i]
    np.testing.assert_allclose(oracle.shares(potential, np.log(model.weights_), 1.0), q, atol=1e-3)


def test_the_objective_is_the_free_energy(seed):
    X, _ = unequal(seed)
    model = MeanFieldMixture(3, target_sizes=SHARES, covariance_prior=0.0, **COLD).fit(X)
    A = log_density(X, model.means_, model.covariances_, model.covariance_type_)
    bound = oracle.free_energy(A, model.responsibilities_) + 100 * np.dot(SHARES, np.log(SHARES))
    assert model.objective_ == pytest.approx(-bound, rel=1e-9)
    # no shares have these sizes and more of it, and a mixture of these weights has more likelihood
    assert -bound > -np.log(np.exp(A) @ SHARES).sum()


def test_targets_as_shares_as_numbers_and_as_none(seed):
    X, _ = unequal(seed)
    one = MeanFieldMixture(3, target_sizes=SHARES, **COLD).fit(X)
    held(one, SIZES)
    two = MeanFieldMixture(3, target_sizes=SIZES, **COLD).fit(X)
    np.testing.assert_array_equal(one.responsibilities_, two.responsibilities_)
    three, four = (MeanFieldMixture(3, target_sizes=t, **COLD).fit(X) for t in (None, [1 / 3] * 3))
    np.testing.assert_allclose(three.responsibilities_, four.responsibilities_, atol=1e-8)


def test_large_targets_go_to_large_clusters_and_labels_decide(seed):
    y = np.repeat([0, 1, 2], [5, 25, 15])
    X = np.array([[0, 0], [9, 0], [0, 9.0]])[y] + np.random.default_rng((seed, 9)).normal(size=(45, 2))
    model = MeanFieldMixture(3, target_sizes=[25, 5, 15], **COLD).fit(X)
    np.testing.assert_array_equal(np.bincount(model.labels_), [25, 5, 15])
    named = Constraints.from_labels(np.where(np.arange(45) % 4 == 0, y, -1))
    model = MeanFieldMixture(3, target_sizes=[5, 25, 15], **COLD).fit(X, constraints=named)
    np.testing.assert_array_equal(model.labels_, y)


def test_exact_sizes_by_assignment(seed):
    X, _ = unequal(seed)
    model = MeanFieldMixture(3, target_sizes=[30, 30, 40], **COLD).fit(X)
    costs = -np.log(np.maximum(model.responsibilities_, 1e-300))
    exact = size_constrained_assignment(costs, [30, 30, 40], [30, 30, 40]).labels
    np.testing.assert_array_equal(np.bincount(exact), [30, 30, 40])
    assert (exact == model.labels_).mean() > 0.9


@pytest.mark.parametrize("chain", ["hard", "soft"])
def test_units_larger_than_a_target(chain, seed):
    """Sixty items that belong together, in two components of fifty: their probabilities are shared."""
    X, _ = unequal(seed)
    links = Constraints([(i, i + 1) for i in range(59)], n_items=100, hard=chain == "hard")
    held(MeanFieldMixture(2, **COLD).fit(X, constraints=links))


def test_what_labels_and_hard_pairs_forbid_stays_so(seed):
    """However much room a component has."""
    X, _ = unequal(seed, 60)
    parted = Constraints([], [(0, j) for j in range(1, 30)], n_items=60, hard=True)
    one = Constraints.from_labels(np.where(np.arange(60) == 0, 0, -1))
    model = MeanFieldMixture(3, target_sizes=[30, 10, 20], **COLD).fit(X, constraints=parted | one)
    held(model, [30, 10, 20])
    np.testing.assert_array_equal(model.responsibilities_[1:30, 0], 0.0)


def test_all_items_labelled_and_one_component(seed):
    X, y = unequal(seed)
    model = MeanFieldMixture(3, target_sizes=SIZES, **COLD).fit(X, constraints=y)
    np.testing.assert_array_equal(model.labels_, y)
    held(MeanFieldMixture(1, **COLD).fit(X))


# ---- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([0.5, 0.5], r"target_sizes must be n_components=3 sizes above 0: .* got \[0.5, 0.5\]"),
        (
            [0.5, 0.3, 0.3],
            "shares that sum to 1, or numbers of items that sum to 100; got .* whose sum is 1.1",
        ),
        ([50, 30, 30], "target_sizes must be n_components=3 sizes.* whose sum is 110"),
        ([60, 40, 0], r"target_sizes must be .* above 0.* got \[60.0, 40.0, 0.0\]"),
        ([60, np.nan, 40], r"target_sizes must be .* above 0.* got \[60.0, nan, 40.0\]"),
        ("equal", "target_sizes must be an array of numbers"),
    ],
)
def test_bad_targets(target, message, seed):
    with pytest.raises(ParameterError, match=message):
        MeanFieldMixture(3, target_sizes=target, **COLD).fit(unequal(seed)[0])


def test_what_does_not_go_together(seed):
    X, y = unequal(seed)
    with pytest.raises(ParameterError, match="no effect with weights_update='joint'"):
        MeanFieldMixture(3, target_sizes=SHARES).fit(X)
    with pytest.raises(ValueError, match=r"needs a density.*SizeConstrainedKMeans"):
        MeanFieldMixture(3, emission="squared-error", **COLD).fit(X)
    with pytest.raises(ParameterError, match="eta=0 leaves out items"):
        MeanFieldMixture(3, eta=0.0, **COLD).fit(X, constraints=Constraints([(0, 1)], n_items=100))
    some = np.where(np.arange(100) < 40, y, -1)
    with pytest.raises(InfeasibleConstraintsError, match=r"component 0 .*'0'.* at least 40 items.* 33.3"):
        MeanFieldMixture(3, **COLD).fit(X, constraints=some)
    alone = Constraints([], [(0, j) for j in range(1, 100)], n_items=100, hard=True)
    one = Constraints.from_labels(np.where(np.arange(100) == 0, 0, -1))
    with pytest.raises(InfeasibleConstraintsError, match=r"component 0 .* has at most 1 item, "):
        MeanFieldMixture(3, **COLD).fit(X, constraints=alone | one)


def test_sizes_out_of_reach_are_told(seed, monkeypatch):
    X, _ = unequal(seed)
    monkeypatch.setattr("coterie.mixture._engine.balance._FEW_STEPS", 0)
    monkeypatch.setattr("coterie.mixture._engine.balance._MOST_STEPS", 0)
    with pytest.warns(ConvergenceWarning, match="expected size of component . is .*, not its target"):
        MeanFieldMixture(3, target_sizes=[10, 20, 70], **COLD).fit(X)
