"""Every EM step equals the one by enumeration; the likelihood never falls where inference is exact."""

import numpy as np
import pytest

from coterie import Constraints
from coterie.mixture import ConstrainedGaussianMixture, MeanFieldMixture, PenalizedGaussianMixture
from coterie.mixture._engine import weights
from tests.marks import outvoted, unsettled
from tests.mixture.problems import (
    WarmField,
    blobs,
    hard_pairs,
    random_state_of,
    soft_pairs,
    start_of,
    state_of,
)
from tests.oracles import mixture as oracle

pytestmark = [outvoted, unsettled]
KINDS = ["full", "tied", "diag", "spherical"]
EXACT = {"reg_covar": 0.0, "tol": 0.0, "n_init": 1}


def follow(model, X, constraints, known, state, kind, update, steps, rtol=1e-5, pseudo=0.0, **more):
    """Compare `steps` iterations with the oracle's: parameters, history, responsibilities, agreement."""
    model.fit(X, constraints=constraints)
    objective = model.objective_kind_
    assert objective in ("joint", "conditional")
    values = []
    for _ in range(model.n_iter_):
        values.append(oracle.log_likelihood(X, state, known, kind, objective))
        state = oracle.em_step(X, state, known, kind, update, pseudo=pseudo, **more)
    assert model.n_iter_ == steps
    values.append(oracle.log_likelihood(X, state, known, kind, objective))
    np.testing.assert_allclose(model.weights_, state.weights, rtol=rtol, atol=1e-7)
    np.testing.assert_allclose(model.means_, state.means, rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(model.covariances_, state.covariances, rtol=10 * rtol, atol=1e-6)
    if not pseudo:
        np.testing.assert_allclose(-np.asarray(model.history_), values, rtol=rtol)
    right = oracle.posterior(X, state_of(model), known, kind)
    np.testing.assert_allclose(model.responsibilities_, right.marginals, atol=1e-8)
    # what couples nothing is taken for independent
    acts = np.array([beta != 0 for _, _, beta in known.pairs[: constraints.n_pairs]], dtype=bool)
    np.testing.assert_allclose(model.agreement_[acts], right.agreement[: len(acts)][acts], atol=1e-8)
    full = np.array([np.linalg.inv(c) for c in oracle.as_full(model.covariances_, kind, *model.means_.shape)])
    mine = oracle.as_full(model.precisions_, kind, *model.means_.shape)
    np.testing.assert_allclose(mine, full, rtol=1e-6)
    return model


def small(seed, *key, n=8, d=2, k=3, kind="full"):
    rng = np.random.default_rng((seed, *key))
    X = rng.normal(size=(n, d)) * [1.0, 3.0][:d] + 5.0
    state = random_state_of(rng, X, k, kind)
    # wide and close together, so that no covariance shrinks to nothing within two steps
    middle = X.mean(axis=0)
    return rng, X, oracle.State(state.weights, middle + 0.5 * (state.means - middle), 2.5 * state.covariances)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampling", ["chunklet", "point"])
@pytest.mark.parametrize("k", [2, 3])
def test_constrained_steps(kind, sampling, k, seed):
    for number, update in enumerate(["joint", "exact", "fixed"]):
        rng, X, state = small(seed, 1, k, number, k=k, kind=kind)
        # free items, since where all are tied to each other any weights may be best
        constraints = hard_pairs(rng, 8, k, 2, 4, free=3)
        known = oracle.hard_known(constraints, sampling)
        model = ConstrainedGaussianMixture(
            k, covariance_type=kind, sampling=sampling, weights_update=update, max_iter=2, **EXACT,
            **start_of(state, kind),
        )  # fmt: skip
        follow(model, X, constraints, known, state, kind, update, 2)


def test_the_strength_of_a_pair_is_nothing_to_the_constrained_mixture(seed):
    rng, X, state = small(seed, 2)
    plain = hard_pairs(rng, 8, 3, 2, 3, hard=False)
    odd = Constraints(
        plain.must_link,
        plain.cannot_link,
        n_items=8,
        weight=np.linspace(0.1, 5, plain.n_pairs),
        confidence=0.6,
    )
    fits = [
        ConstrainedGaussianMixture(3, max_iter=3, **EXACT, **start_of(state)).fit(X, constraints=c)
        for c in (plain, odd)
    ]
    np.testing.assert_array_equal(fits[0].responsibilities_, fits[1].responsibilities_)


@pytest.mark.parametrize("sampling", ["chunklet", "point"])
def test_constrained_steps_with_groups(sampling, seed):
    """Distinct and across constraints stand for all their pairs."""
    _rng, X, state = small(seed, 3)
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    distinct = Constraints.distinct([0, 0, 0, 1, 1, -1, -1, -1])
    across = Constraints.across([-1, -1, -1, -1, 5, 6, 5, -1])
    must = Constraints([(0, 3)], n_items=8)
    for constraints in (distinct, across, must | distinct, must | distinct | across):
        assert not constraints.violations(y)
        known = oracle.hard_known(constraints, sampling)
        for update in ("joint", "exact"):
            model = ConstrainedGaussianMixture(
                3, sampling=sampling, weights_update=update, max_iter=1, **EXACT, **start_of(state)
            )
            follow(model, X, constraints, known, state, "full", update, 1)


def test_labels_clamp_their_component(seed):
    _, X, state = small(seed, 4, kind="tied")
    constraints = Constraints.from_labels(["b", None, "a", None, None, None, "c", None])
    known = oracle.hard_known(constraints, "point")
    assert known.clamp == {0: 1, 2: 0, 6: 2}
    model = ConstrainedGaussianMixture(
        3, sampling="point", max_iter=2, covariance_type="tied", **EXACT, **start_of(state, "tied")
    )
    follow(model, X, constraints, known, state, "tied", "joint", 2)
    np.testing.assert_array_equal(model.responsibilities_[[2, 0, 6]], np.eye(3))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("update", ["joint", "exact"])
def test_labels_together_with_pairs(k, update, seed):
    """A clamped item acts on its partners; labels are data, no part of the prior's normaliser."""
    for number in range(3):
        rng, X, state = small(seed, 9, k, number, k=k, kind="tied")
        y = np.r_[np.arange(k), rng.integers(k, size=8 - k)]
        labels = Constraints.from_labels(np.where(np.arange(8) <= k, y, -1))
        pairs = [(int(i), int(j)) for i, j in rng.permutation([(i, j) for i in range(8) for j in range(i)])]
        cannot = [(i, j) for i, j in pairs if y[i] != y[j] and max(i, j) > k]
        must = [(i, j) for i, j in pairs if y[i] == y[j] and max(i, j) > k]
        hard = labels | Constraints(must[:1], cannot[:2], n_items=8, hard=True)
        for sampling in ("point", "chunklet"):  # a label makes no chunklet
            model = ConstrainedGaussianMixture(
                k,
                sampling=sampling,
                weights_update=update,
                max_iter=1,
                covariance_type="tied",
                **EXACT,
                **start_of(state, "tied"),
            )
            follow(model, X, hard, oracle.hard_known(hard, sampling), state, "tied", update, 1)
        both = labels + soft_pairs(rng, 8, 4, 4)
        model = PenalizedGaussianMixture(
            k, inference="exact", weights_update=update, max_iter=1, covariance_type="tied", **EXACT,
            **start_of(state, "tied"),
        )  # fmt: skip
        follow(model, X, both, oracle.penalized_known(both), state, "tied", update, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3])
def test_penalized_steps(kind, k, seed):
    for number, update in enumerate(["joint", "exact", "fixed"]):
        rng, X, state = small(seed, 5, k, number, k=k, kind=kind)
        constraints = soft_pairs(rng, 8, 4, 5) + hard_pairs(rng, 8, k, 1, 2)
        known = oracle.penalized_known(constraints, 0.8)
        model = PenalizedGaussianMixture(
            k, confidence=0.8, covariance_type=kind, inference="exact", weights_update=update, max_iter=2,
            **EXACT, **start_of(state, kind),
        )  # fmt: skip
        follow(model, X, constraints, known, state, kind, update, 2)


def test_penalized_steps_with_soft_groups(seed):
    rng, X, state = small(seed, 6)
    constraints = Constraints.distinct([0, 0, 1, 1, 1, -1, 2, 2], weight=0.7) + soft_pairs(rng, 8, 2, 2)
    known = oracle.penalized_known(constraints, 0.9)
    model = PenalizedGaussianMixture(
        3, confidence=0.9, inference="exact", weights_update="exact", max_iter=2, **EXACT, **start_of(state)
    )
    follow(model, X, constraints, known, state, "full", "exact", 2)


@pytest.mark.parametrize("k", [2, 3])
def test_the_grid_takes_the_best_node_and_exact_is_no_worse(k, seed, monkeypatch):
    rng, X, state = small(seed, 7, k, k=k)
    constraints = soft_pairs(rng, 8, 3, 3)
    known = oracle.penalized_known(constraints)
    step = 0.05
    monkeypatch.setattr(weights, "GRID_STEP", step)
    model = PenalizedGaussianMixture(
        k, inference="exact", weights_update="grid", max_iter=1, **EXACT, **start_of(state)
    )
    follow(model, X, constraints, known, state, "full", "grid", 1, step=step)
    np.testing.assert_allclose(model.weights_ / step, np.round(model.weights_ / step), atol=1e-9)
    counts = oracle.posterior(X, state, known).marginals.sum(axis=0)
    exact = PenalizedGaussianMixture(
        k, inference="exact", weights_update="exact", max_iter=1, **EXACT, **start_of(state)
    ).fit(X, constraints=constraints)

    def value(alpha):
        return counts @ np.log(alpha) - oracle.prior(alpha, known)[0]

    assert value(exact.weights_) >= value(model.weights_) - 1e-9
    _, expected = oracle.prior(exact.weights_, known)
    np.testing.assert_allclose(expected, counts, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_pseudo_items_of_the_covariance_prior(kind, seed):
    rng, X, state = small(seed, 8, kind=kind)
    constraints = hard_pairs(rng, 8, 3, 2, 3)
    known = oracle.hard_known(constraints)
    model = ConstrainedGaussianMixture(
        3, covariance_type=kind, covariance_prior=2.5, max_iter=2, **EXACT, **start_of(state, kind)
    )
    follow(model, X, constraints, known, state, kind, "joint", 2, pseudo=2.5)
    # the objective holds the prior, up to a constant
    state_, right = state, []
    for _ in range(3):
        value = oracle.log_likelihood(X, state_, known, kind)
        right.append(value + oracle.log_prior_of_covariances(X, state_.covariances, kind, 3, 2.5))
        state_ = oracle.em_step(X, state_, known, kind, pseudo=2.5)
    np.testing.assert_allclose(-np.diff(model.history_), np.diff(right), rtol=1e-5, atol=1e-6)


# ---- the likelihood never falls -------------------------------------------------------------------------


def assert_never_rises(history, tolerance=1e-9):
    history = np.asarray(history)
    assert history.dtype == np.float64
    rises = np.diff(history)
    assert (rises <= tolerance * (1 + np.abs(history[1:]))).all(), rises.max()


def overlapping(seed, *key, n=90, k=3, d=2):
    return blobs((seed, *key), n, k, d, gap=1.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("update", ["joint", "exact", "uniform", "fixed"])
@pytest.mark.parametrize("sampling", ["chunklet", "point"])
def test_constrained_never_falls(kind, update, sampling, seed):
    for number, prior in enumerate([0.0, 1.0]):
        X, y = overlapping(seed, 20, number)
        constraints = Constraints.sample(y, 40, random_state=number)
        model = ConstrainedGaussianMixture(
            3, covariance_type=kind, sampling=sampling, weights_update=update, covariance_prior=prior,
            max_iter=25, random_state=0, **EXACT,
        ).fit(X, constraints=constraints)  # fmt: skip
        assert_never_rises(model.history_)
        assert len(model.history_) == model.n_iter_ + 1
        assert model.history_[-1] == model.objective_
        assert not model.violations_
        assert model.objective_kind_ in ("joint", "conditional")


@pytest.mark.parametrize("update", ["joint", "exact", "uniform", "fixed"])
def test_penalized_never_falls(update, seed):
    for number in range(4):
        X, y = overlapping(seed, 21, number)
        constraints = Constraints.sample(y, 45, noise=0.2, random_state=number)
        model = PenalizedGaussianMixture(
            3, confidence=0.8, covariance_type=KINDS[number], inference="exact", weights_update=update,
            max_iter=25, random_state=0, **EXACT,
        ).fit(X, constraints=constraints)  # fmt: skip
        assert_never_rises(model.history_)


def test_the_grid_never_falls_once_it_is_on_the_grid(seed):
    X, y = overlapping(seed, 22)
    constraints = Constraints.sample(y, 30, noise=0.2, random_state=0)
    model = PenalizedGaussianMixture(
        3, inference="exact", weights_update="grid", max_iter=20, random_state=0, **EXACT
    ).fit(X, constraints=constraints)
    assert_never_rises(model.history_[1:])


def test_a_spanning_tree_is_exact_for_what_it_keeps(seed):
    """Where cannot-links are dropped the rest is a model of its own, and its likelihood never falls."""
    X, y = overlapping(seed, 23, n=60, k=4)
    pairs = [(i, j) for i in range(60) for j in range(i) if y[i] != y[j]]
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:500]
    constraints = Constraints(cannot_link=[pairs[t] for t in chosen], n_items=60)
    for update in ("joint", "exact"):
        model = ConstrainedGaussianMixture(
            4, weights_update=update, max_table_cells=1000, max_iter=15, random_state=0, covariance_prior=1.0,
            **EXACT,
        ).fit(X, constraints=constraints)  # fmt: skip
        assert_never_rises(model.history_)
        assert model.dropped_constraints_.n_pairs > 0
        assert not model.violations_


@pytest.mark.parametrize("update", ["joint", "uniform"])
def test_the_bound_of_mean_field_never_falls(update, seed):
    for number, kind in enumerate([WarmField, MeanFieldMixture]):
        X, y = overlapping(seed, 24, number)
        constraints = Constraints.sample(y, 60, noise=0.2, random_state=number)
        for weight in (1.0, 1000.0):
            model = kind(
                3, weight=weight, weights_update=update, annealing=False, max_iter=30, random_state=0, **EXACT
            ).fit(X, constraints=constraints)
            assert model.objective_kind_ == "bound"
            assert_never_rises(model.history_)


def test_eta_keeps_the_bound_monotone(seed):
    X, y = overlapping(seed, 25)
    constraints = Constraints.sample(y, 20, random_state=0)
    for eta in (0.5, 3.0, 20.0):
        model = WarmField(3, weight=2.0, eta=eta, annealing=False, max_iter=30, random_state=0, **EXACT).fit(
            X, constraints=constraints
        )
        assert_never_rises(model.history_)


def test_mean_field_stays_below_exact(seed):
    X, y = overlapping(seed, 26, n=40)
    constraints = Constraints.sample(y, 20, noise=0.1, random_state=0)
    rng = np.random.default_rng(seed)
    start = start_of(random_state_of(rng, X, 3))
    shared = {"confidence": 0.85, "weights_update": "joint", "max_iter": 1, **EXACT, **start}
    exact = PenalizedGaussianMixture(3, inference="exact", **shared).fit(X, constraints=constraints)
    field = PenalizedGaussianMixture(3, inference="mean-field", **shared).fit(X, constraints=constraints)
    assert field.history_[0] > exact.history_[0]
