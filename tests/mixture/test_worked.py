"""The worked numbers of chapters 3, 4 and 5, through the oracle and through the public classes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie import Constraints
from coterie.mixture import ConstrainedGaussianMixture, MeanFieldMixture, PenalizedGaussianMixture
from coterie.mixture._engine import weights
from coterie.mixture._inference.forest import Forest
from coterie.mixture._inference.mean_field import MeanField
from tests.mixture.problems import (
    LINE,
    LINE_START,
    LINE_STATE,
    ContinuationField,
    WarmField,
    junction_tree,
    state_of,
)
from tests.oracles import mixture as oracle

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning"),
]
ALPHA = LINE_STATE.weights
FREE = [
    [0.818519, 0.180670, 0.000812],
    [0.372425, 0.607414, 0.020161],
    [0.077833, 0.767963, 0.154204],
    [0.001431, 0.232116, 0.766453],
]
PATH, TRIANGLE = [(0, 1), (1, 2)], [(0, 1), (0, 2), (1, 2)]
# must-links, cannot-links, sampling, log Z of the posterior, log Z of the prior, rows that change
CHAPTER_3 = {
    "free": ([], [], "chunklet", -7.507485, 0.0, {}),
    "path": (
        [],
        PATH,
        "chunklet",
        -9.143040,
        math.log(0.4),
        {
            0: [0.663717, 0.334265, 0.002018],
            1: [0.319884, 0.592671, 0.087445],
            2: [0.206849, 0.345791, 0.447360],
        },
    ),
    "must": (
        [(2, 3)],
        [],
        "chunklet",
        -7.337437,
        0.0,
        {key: [0.000188, 0.501272, 0.49854] for key in (2, 3)},
    ),
    "must, point": (
        [(2, 3)],
        [],
        "point",
        -8.722997,
        math.log(0.38),
        {key: [0.000375, 0.601085, 0.398539] for key in (2, 3)},
    ),
    "both": (
        [(2, 3)],
        PATH,
        "chunklet",
        -8.458662,
        -0.916291,
        {
            0: [0.786278, 0.212041, 0.001682],
            1: [0.207363, 0.761639, 0.030998],
            **{key: [0.000299, 0.134951, 0.86475] for key in (2, 3)},
        },
    ),
    "both, point": ([(2, 3)], PATH, "point", -10.002384, -1.911895, None),
    "triangle": (
        [],
        TRIANGLE,
        "chunklet",
        -9.807376,
        math.log(0.18),
        {
            0: [0.890997, 0.106306, 0.002698],
            1: [0.105793, 0.764990, 0.129216],
            2: [0.003210, 0.128704, 0.868086],
        },
    ),
}
BETA = math.log(9.0)  # of confidence 0.9
# must-links, cannot-links, log Z of the posterior, of the prior, free energy, exact rows, mean-field rows
CHAPTER_4 = {
    "must": (
        [(2, 3)],
        [],
        -6.291841,
        1.396245,
        6.616213,
        {2: [0.023343, 0.650568, 0.326089], 3: [0.000688, 0.491679, 0.507633]},
        {2: [0.022595, 0.875177, 0.102228], 3: [0.000590, 0.622986, 0.376424]},
    ),
    "cannot": (
        [],
        [(0, 1)],
        -7.967188,
        -0.412154,
        8.074192,
        {0: [0.867106, 0.131632, 0.001262], 1: [0.160671, 0.807425, 0.031904]},
        {0: [0.964246, 0.034712, 0.001042], 1: [0.071314, 0.896640, 0.032046]},
    ),
    "triangle": (
        [(0, 1)],
        [(0, 2), (1, 2)],
        -6.434030,
        0.800506,
        6.540496,
        {
            0: [0.912373, 0.087472, 0.000155],
            1: [0.871508, 0.123748, 0.004745],
            2: [0.029011, 0.744438, 0.226551],
        },
        {
            0: [0.995307, 0.004612, 0.000081],
            1: [0.966579, 0.029423, 0.003998],
            2: [0.001206, 0.822420, 0.176374],
        },
    ),
}


def rows_of(changed):
    expected = np.array(FREE)
    for row, values in changed.items():
        expected[row] = values
    return expected


def known_of(name):
    must, cannot, sampling, *_ = CHAPTER_3[name]
    constraints = Constraints(must, cannot, n_items=4)
    return constraints, sampling, oracle.hard_known(constraints, sampling)


@pytest.mark.parametrize("name", CHAPTER_3)
def test_chapter_3_by_enumeration(name):
    *_, log_z, log_prior, changed = CHAPTER_3[name]
    _, _, known = known_of(name)
    answer = oracle.posterior(LINE, LINE_STATE, known)
    assert answer.log_z == pytest.approx(log_z, abs=1e-6)
    assert oracle.prior(ALPHA, known)[0] == pytest.approx(log_prior, abs=1e-6)
    if changed is not None:
        np.testing.assert_allclose(answer.marginals, rows_of(changed), atol=1.5e-6)


def test_chapter_3_by_forest_and_junction_tree():
    potential = oracle.potentials(LINE, LINE_STATE, oracle.Known(4))
    for name in ("path", "triangle"):
        cannot, log_z, changed = CHAPTER_3[name][1], CHAPTER_3[name][3], CHAPTER_3[name][5]
        ends, beta = np.array(cannot), np.full(len(cannot), -math.inf)
        parts = [junction_tree(4, 3, ends, beta)]
        if name == "path":
            parts.append(Forest(4, 3, ends, beta))
        for part in parts:
            answer = part.infer(potential)
            assert answer.log_z == pytest.approx(log_z, abs=1e-6)
            np.testing.assert_allclose(answer.marginals, rows_of(changed), atol=1.5e-6)


@pytest.mark.parametrize("name", CHAPTER_3)
@pytest.mark.parametrize("update", ["joint", "exact", "uniform", "fixed"])
def test_chapter_3_one_iteration(name, update):
    *_, log_z, log_prior, _ = CHAPTER_3[name]
    constraints, sampling, known = known_of(name)
    model = ConstrainedGaussianMixture(
        3, sampling=sampling, weights_update=update, reg_covar=0.0, max_iter=1, tol=0.0, **LINE_START
    ).fit(LINE, constraints=constraints)
    if update != "uniform":
        conditional = model.objective_kind_ == "conditional"
        assert conditional == (update == "exact") or update == "fixed" or log_prior == 0
        assert -model.history_[0] == pytest.approx(log_z - (log_prior if conditional else 0.0), abs=1e-6)
        after = oracle.em_step(LINE, LINE_STATE, known, update=update)
        np.testing.assert_allclose(model.weights_, after.weights, atol=2e-6)
        np.testing.assert_allclose(model.means_, after.means, rtol=1e-9)
        np.testing.assert_allclose(model.covariances_, after.covariances, rtol=1e-8)
    right = oracle.posterior(LINE, state_of(model), known)
    np.testing.assert_allclose(model.responsibilities_, right.marginals, atol=1e-9)
    value = oracle.log_likelihood(LINE, state_of(model), known, objective=model.objective_kind_)
    assert model.objective_ == pytest.approx(-value, rel=1e-9)
    assert model.history_[-1] == model.objective_
    assert model.lower_bound_ == pytest.approx(value / 4, rel=1e-9)
    np.testing.assert_allclose(model.agreement_, right.agreement, atol=1e-9)


def test_chapter_3_printed_m_step():
    """The spec prints them from rounded responsibilities: the sixth digit is off by up to three."""
    constraints, sampling, _ = known_of("must")
    model = ConstrainedGaussianMixture(3, sampling=sampling, reg_covar=0.0, max_iter=1, tol=0.0, **LINE_START)
    model.fit(LINE, constraints=constraints)
    np.testing.assert_allclose(model.weights_, [0.397044, 0.429785, 0.173171], atol=1e-6)
    np.testing.assert_allclose(model.means_.ravel(), [-1.186564, 0.294917, 1.066241], atol=5e-6)
    np.testing.assert_allclose(model.covariances_.ravel(), [0.216661, 1.176651, 0.534854], atol=5e-6)


def one_step_weights(name, update):
    constraints, sampling, _ = known_of(name)
    model = ConstrainedGaussianMixture(
        3, sampling=sampling, weights_update=update, reg_covar=0.0, max_iter=1, tol=0.0, **LINE_START
    )
    return model.fit(LINE, constraints=constraints).weights_


def test_chapter_3_printed_weights():
    np.testing.assert_allclose(one_step_weights("path", "joint"), [0.297970, 0.376211, 0.325819], atol=1e-6)
    np.testing.assert_allclose(one_step_weights("path", "exact"), [0.277503, 0.403411, 0.319086], atol=2e-6)
    joint, exact = [0.297924, 0.497563, 0.204513], [0.315128, 0.442249, 0.242623]
    np.testing.assert_allclose(one_step_weights("must, point", "joint"), joint, atol=1e-6)
    np.testing.assert_allclose(one_step_weights("must, point", "exact"), exact, atol=2e-6)


def test_chapter_3_pseudo_likelihood_counts_a_matching():
    """The path of two cannot-links has one disjoint pair; the spec's numbers for c = 2 are the oracle's."""
    *_, known = known_of("path")
    counts = oracle.posterior(LINE, LINE_STATE, known).marginals.sum(axis=0)
    np.testing.assert_allclose(counts, [1.191881, 1.504844, 1.303275], atol=1e-6)
    np.testing.assert_allclose(oracle.pseudo_weights(counts, 2), [0.263718, 0.430400, 0.305882], atol=2e-6)
    assert oracle.matching_size(PATH) == 1
    guarded = oracle.pseudo_weights(counts, 1)
    np.testing.assert_allclose(one_step_weights("path", "pseudo-likelihood"), guarded, atol=1e-5)


def test_chapter_3_prior_counts_and_closed_forms():
    *_, known = known_of("path")
    log_z, counts = oracle.prior(ALPHA, known)
    np.testing.assert_allclose(counts, [1.7375, 1.2825, 0.98], atol=1e-9)
    np.testing.assert_allclose(math.exp(log_z) * counts / ALPHA, [1.39, 1.71, 1.96], atol=1e-9)
    two = oracle.Known(4, ((0, 1, -math.inf), (2, 3, -math.inf)))
    assert math.exp(oracle.prior(ALPHA, two)[0]) == pytest.approx(oracle.z_disjoint_cannot_links(ALPHA, 2))
    chunk = oracle.Known(4, ((0, 1, math.inf), (1, 2, math.inf)))
    assert math.exp(oracle.prior(ALPHA, chunk)[0]) == pytest.approx(oracle.z_chunklet(ALPHA, 3))
    for leaves, value in ((2, 0.4), (3, 0.2678), (6, 0.095536)):
        assert oracle.z_star(ALPHA, leaves) == pytest.approx(value, abs=5e-7)
    assert oracle.z_clique(ALPHA, 3) == pytest.approx(0.18)
    assert oracle.z_clique(ALPHA, 4) == 0
    assert oracle.omega_pair(ALPHA, BETA) == pytest.approx(4.04)
    assert oracle.omega_pair(ALPHA, -BETA) == pytest.approx(0.662222, abs=1e-6)


def test_labels_are_legal_where_marginals_are_not():
    """Two items that may not share have the same marginals; the argmax of each would break the pair."""
    potential = np.log([[0.6, 0.25, 0.15]] * 2)
    answer = oracle.enumerate_all(potential, [(0, 1, -math.inf)])
    np.testing.assert_allclose(answer.marginals, [[0.432432, 0.337838, 0.229730]] * 2, atol=1e-6)
    X = np.array([[-0.1], [-0.1], [4.0], [8.0], [0.3], [4.4], [8.3], [0.0], [-0.4], [0.2]])
    constraints = Constraints(cannot_link=[(0, 1)], n_items=10)
    model = ConstrainedGaussianMixture(3, means_init=[[0.0], [4.0], [8.0]], covariance_type="tied")
    model.fit(X, constraints=constraints)
    np.testing.assert_allclose(model.responsibilities_[0], model.responsibilities_[1], atol=1e-9)
    assert model.labels_[0] != model.labels_[1]
    assert not model.violations_


# ---- chapters 4 and 5 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHAPTER_4)
def test_chapter_4_by_enumeration_and_mean_field(name):
    must, cannot, log_z, log_prior, energy, exact, field = CHAPTER_4[name]
    known = oracle.penalized_known(Constraints(must, cannot, n_items=4), 0.9)
    answer = oracle.posterior(LINE, LINE_STATE, known)
    assert answer.log_z == pytest.approx(log_z, abs=1e-6)
    assert oracle.prior(ALPHA, known)[0] == pytest.approx(log_prior, abs=1e-6)
    np.testing.assert_allclose(answer.marginals, rows_of(exact), atol=1.5e-6)
    potential = oracle.potentials(LINE, LINE_STATE, known)
    q, value = oracle.mean_field(potential, known.pairs)
    assert -value == pytest.approx(energy, abs=1e-6)
    np.testing.assert_allclose(q, rows_of(field), atol=1.5e-6)
    ends = np.array([pair[:2] for pair in known.pairs])
    beta = np.array([pair[2] for pair in known.pairs])
    part = MeanField(4, 3, ends, beta, start="warm", tol=1e-9, max_sweeps=10_000)
    found = part.infer(potential)
    assert -found.log_z == pytest.approx(energy, abs=1e-6)
    np.testing.assert_allclose(found.marginals, rows_of(field), atol=1.5e-6)


@pytest.mark.parametrize("name", CHAPTER_4)
@pytest.mark.parametrize("update", ["joint", "exact", "grid", "fixed"])
def test_chapter_4_one_iteration(name, update, monkeypatch):
    monkeypatch.setattr(weights, "GRID_STEP", 0.05)
    must, cannot, log_z, log_prior, *_ = CHAPTER_4[name]
    constraints = Constraints(must, cannot, n_items=4)
    known = oracle.penalized_known(constraints, 0.9)
    model = PenalizedGaussianMixture(
        3, confidence=0.9, inference="exact", weights_update=update, reg_covar=0.0,
        max_iter=1, tol=0.0, **LINE_START,
    ).fit(LINE, constraints=constraints)  # fmt: skip
    conditional = model.objective_kind_ == "conditional"
    assert conditional or update in ("joint", "fixed")
    assert -model.history_[0] == pytest.approx(log_z - (log_prior if conditional else 0.0), abs=1e-6)
    after = oracle.em_step(LINE, LINE_STATE, known, update=update, step=0.05)
    np.testing.assert_allclose(model.weights_, after.weights, atol=2e-6)
    np.testing.assert_allclose(model.means_, after.means, rtol=1e-9)
    right = oracle.posterior(LINE, state_of(model), known)
    np.testing.assert_allclose(model.responsibilities_, right.marginals, atol=1e-9)
    np.testing.assert_allclose(model.agreement_, right.agreement, atol=1e-9)
    value = oracle.log_likelihood(LINE, state_of(model), known, objective=model.objective_kind_)
    assert model.objective_ == pytest.approx(-value, rel=1e-9)


@pytest.mark.parametrize("name", CHAPTER_4)
def test_free_energies_of_chapters_4_and_5(name):
    must, cannot, *_, energy, _, _ = CHAPTER_4[name]
    constraints = Constraints(must, cannot, n_items=4)
    shared = {"reg_covar": 0.0, "max_iter": 1, "tol": 0.0, **LINE_START}
    penalized = PenalizedGaussianMixture(
        3, confidence=0.9, inference="mean-field", weights_update="joint", **shared
    ).fit(LINE, constraints=constraints)
    assert penalized.objective_kind_ == "bound"
    assert penalized.history_[0] == pytest.approx(energy, abs=1e-6)
    for kind in (WarmField, ContinuationField, MeanFieldMixture):
        field = kind(3, weight=BETA, weights_update="fixed", annealing=False, n_init=1, **shared).fit(
            LINE, constraints=constraints
        )
        assert field.objective_kind_ == "bound"
        assert field.history_[0] == pytest.approx(energy, abs=1e-6)
