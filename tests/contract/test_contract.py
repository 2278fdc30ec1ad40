"""The contract of constrained clusterers: every public class keeps it, and the checks notice who does not."""

from unittest import SkipTest

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from coterie import (
    ConstrainedGaussianMixture,
    CVQEKMeans,
    InfeasibleConstraintsError,
    MeanFieldMixture,
    MPCKMeans,
    PenalizedGaussianMixture,
    testing,
)
from coterie.testing import check_constrained_clusterer, constrained_checks, constrained_clusterers
from tests.contract import toy
from tests.contract.expected_failures import EXPECTED_FAILURES

pytestmark = pytest.mark.contract

PUBLIC = list(constrained_clusterers())
OTHERWISE = {
    "MPCKMeans-full": MPCKMeans(learn="full"),
    "MPCKMeans-by-cluster": MPCKMeans(per_cluster=True),
    "MPCKMeans-full-by-cluster": MPCKMeans(learn="full", per_cluster=True),
    "CVQEKMeans-original": CVQEKMeans(form="original"),
    "ConstrainedGaussianMixture-point-exact": ConstrainedGaussianMixture(
        sampling="point", weights_update="exact", covariance_type="tied"
    ),
    "PenalizedGaussianMixture-mean-field": PenalizedGaussianMixture(inference="mean-field"),
    "PenalizedGaussianMixture-gibbs": PenalizedGaussianMixture(inference="gibbs"),
    "MeanFieldMixture-squared-error": MeanFieldMixture(emission="squared-error", annealing=False),
}
TOYS = [toy.ToyHard, toy.ToySoft, toy.ToyGuided, toy.ToyComponents, toy.ToyFull]
KINDS = [*TOYS, *PUBLIC]


def variants():
    """Every class as it comes, on distances where it takes these, and some that work in another way."""
    for name, estimator in OTHERWISE.items():
        yield pytest.param(estimator, id=name)
    for kind in KINDS:
        yield pytest.param(kind(), id=kind.__name__)
        metric = kind.parameter_rules.get("metric")
        if metric is not None and metric.holds("precomputed"):
            yield pytest.param(kind(metric="precomputed"), id=f"{kind.__name__}-precomputed")


@pytest.mark.parametrize("check", constrained_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", list(variants()))
@pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
def test_constrained_checks(estimator, check):
    try:
        check(clone(estimator))
    except SkipTest as reason:
        if type(estimator) is toy.ToyFull:  # has all there is to check, so that no check skips every class
            raise AssertionError(f"{check.__name__} does not look at {estimator}: {reason}") from reason
        raise


@pytest.mark.parametrize(
    ("broken", "noticed_by"),
    [
        (toy.ReadsY, "check_y_is_ignored"),
        (toy.WritesX, "check_inputs_untouched"),
        (toy.ForgetsConstraints, "check_violations_are_recounted"),
        (toy.BreaksHardPairs, "check_hard_statements_hold"),
        (toy.BreaksLabels, "check_hard_statements_hold"),
        (toy.KeepsUnit, "check_scaled_features"),
        (toy.HasNoRule, "check_every_parameter_has_a_rule"),
        (toy.SpeaksOfOtherParameters, "check_small_data"),
        (toy.LosesSeed, "check_known_answer"),
        (toy.KeepsOldRows, "check_search_splits_constraints"),
    ],
)
def test_the_checks_notice(broken, noticed_by):
    with pytest.raises(AssertionError, match=rf"{broken.__name__} fails {noticed_by}"):
        check_constrained_clusterer(broken())


@pytest.mark.parametrize(
    ("broken", "noticed_by", "words"),
    [
        (
            toy.Float64Centres,
            testing.check_float32_is_kept,
            "cluster_centers_ is float64 for data of float32",
        ),
        (toy.SparseDiffers, testing.check_sparse_is_dense, "csr_array input changes the labels"),
        (toy.TakesAnyWeight, testing.check_bad_sample_weight, "no ValueError was raised"),
        (toy.TakesAnyWeight, testing.check_weighted_is_repeated, "weighted is not repeated"),
        (toy.WeightHasUnit, testing.check_scaled_sample_weight, "change the labels"),
        (toy.WeightHasUnit, testing.check_weighted_is_repeated, "weighted"),
        (toy.WeightOfOneDiffers, testing.check_scaled_sample_weight, "weights of one are not no weights"),
        (toy.CountsThreads, testing.check_threads_do_not_matter, "1 of 50000 labels change"),
        (toy.RisingHistory, testing.check_history, "history_ rises"),
        (toy.OtherObjective, testing.check_history, "history_ ends in"),
        (toy.LosesConstraintsInPipelines, testing.check_pipeline_passes_constraints, "lost constraints"),
        (toy.FitPredictDiffers, testing.check_fit_predict, "fit_predict does not return labels_"),
        (toy.PredictsAnew, testing.check_predict_the_training_items, r"is not labels_(?! after)"),
        (toy.StopsBeforeTheLastAssignment, testing.check_predict_the_training_items, "after max_iter=1"),
        (toy.TransformsToOneColumn, testing.check_transform, r"transform gives shape \(36, 1\)"),
        (toy.MisnamesOutput, testing.check_transform, "3 columns, but the names"),
        (toy.FitTransformDiffers, testing.check_transform, "fit_transform differs"),
        (toy.StartsCold, testing.check_warm_start_keeps_numbers, "numbers the clusters anew"),
        (toy.ScoresWithoutWeights, testing.check_score_takes_weights, "score has no sample_weight"),
    ],
)
@pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
def test_a_check_notices(broken, noticed_by, words):
    with pytest.raises(AssertionError, match=words):
        noticed_by(broken())


@pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
def test_a_check_notices_who_insists_though_it_obeys_nothing():
    for check in (testing.check_contradiction, testing.check_too_many_apart):
        with pytest.raises(InfeasibleConstraintsError):
            check(toy.RaisesForContradictions())


def scikit_learn_checks():
    for kind in KINDS:
        reasons = EXPECTED_FAILURES.get(kind.__name__, {})
        for estimator, check in estimator_checks_generator(kind()):
            name = check.func.__name__
            marks = [pytest.mark.xfail(reason=reasons[name], strict=True)] if name in reasons else []
            yield pytest.param(estimator, check, id=f"{kind.__name__}-{name}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(scikit_learn_checks()))
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # fewer distinct rows than clusters
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_expected_failures_speak_of_checks_that_exist():
    for name, reasons in EXPECTED_FAILURES.items():
        kind = next((kind for kind in KINDS if kind.__name__ == name), None)
        assert kind is not None, f"no class {name}"
        run = {check.func.__name__ for _, check in estimator_checks_generator(kind())}
        assert set(reasons) <= run


def test_checks_do_not_touch_the_given_estimator():
    estimator = toy.ToyHard(n_clusters=7)
    check_constrained_clusterer(estimator)
    assert estimator.n_clusters == 7
    assert not hasattr(estimator, "labels_")


def test_discovery_finds_public_classes_only():
    assert all(not kind.__name__.startswith("_") for kind in PUBLIC)
    assert len(PUBLIC) == len(set(PUBLIC))
    assert np.all([hasattr(kind, "fit") for kind in PUBLIC])
