"""The contract of constrained clusterers: every public class keeps it, and the checks notice who does not."""

import contextlib
import itertools
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import coterie
from coterie import (
    BalancedKMeans,
    ConstrainedGaussianMixture,
    ConstrainedLinkage,
    ConstrainedSeedKMeans,
    COPKMeans,
    CVQEKMeans,
    FrequencySensitiveKMeans,
    HMRFKMeans,
    InfeasibleConstraintsError,
    KernelPCKMeans,
    KMedoids,
    MeanFieldMixture,
    MPCKMeans,
    OnlineBalancedKMeans,
    PairwiseClustering,
    PCKMeans,
    PenalizedGaussianMixture,
    SeededKMeans,
    SizeConstrainedBisection,
    SizeConstrainedKMeans,
    SizeConstrainedKMedians,
    testing,
)
from coterie.testing import (
    check_constrained_clusterer,
    constrained_checks,
    constrained_clusterers,
    invariant_checks,
    learned_distances,
    pair_classifiers,
    run_check,
)
from tests.contract import toy
from tests.contract.expected_failures import EXPECTED_FAILURES, scikit_learn_checks
from tests.marks import outvoted

pytestmark = pytest.mark.contract

PUBLIC = list(constrained_clusterers())
# What a class does in the same way whatever its settings: `make test` asks the class with one start.
WHATEVER = {
    f"check_{what}"
    for what in (
        "any_layout", "fit_predict", "ids_change_nothing", "inputs_untouched", "long_chain", "names_travel",
        "number_of_items", "pickle", "pipeline_passes_constraints", "same_seed_same_labels",
        "score_takes_weights", "search_splits_constraints", "threads_do_not_matter", "y_is_ignored",
    )
}  # fmt: skip
# Of the invariants, those that `make test` asks under other settings too.
ANYHOW = {
    f"check_{what}"
    for what in (
        "float32_is_kept", "history", "permuted_items_from_one_start",
        "weighted_is_repeated_under_constraints",
    )
}  # fmt: skip
# each compiles a kernel for this alone, draws thousands of samples, or asks a mixture once more
HEAVY = {
    ("PenalizedGaussianMixture-gibbs", "check_history"),
    ("PenalizedGaussianMixture-gibbs", "check_permuted_items_from_one_start"),
    ("KernelPCKMeans-linear", "check_float32_is_kept"),
    ("MeanFieldMixture-one-start", "check_threads_do_not_matter"),  # MeanFieldMixture-plain is asked
    ("COPKMeans-exact", "check_weighted_is_repeated_under_constraints"),
    *itertools.product(
        (
            "ConstrainedGaussianMixture-diag", "ConstrainedGaussianMixture-spherical",
            "ConstrainedGaussianMixture-pseudo", "PenalizedGaussianMixture-exact",
        ),
        ("check_float32_is_kept", "check_permuted_items_from_one_start"),
    ),
}  # fmt: skip
QUICK = {("MeanFieldMixture-plain", "check_threads_do_not_matter")}
# settings under which the whole contract holds
OTHERWISE = {
    "MPCKMeans-full": MPCKMeans(learn="full"),
    "MPCKMeans-by-cluster": MPCKMeans(per_cluster=True),
    "MPCKMeans-full-by-cluster": MPCKMeans(learn="full", per_cluster=True),
    "CVQEKMeans-original": CVQEKMeans(form="original"),
    "KernelPCKMeans-linear": KernelPCKMeans(kernel="linear"),
    "KernelPCKMeans-laplacian": KernelPCKMeans(kernel="laplacian"),
    "KernelPCKMeans-batch": KernelPCKMeans(moves="batch"),
    "ConstrainedGaussianMixture-point-exact": ConstrainedGaussianMixture(
        sampling="point", weights_update="exact", covariance_type="tied"
    ),
    "PenalizedGaussianMixture-mean-field": PenalizedGaussianMixture(inference="mean-field"),
    "PenalizedGaussianMixture-gibbs": PenalizedGaussianMixture(inference="gibbs", tol=1e-3),
    "MeanFieldMixture-squared-error": MeanFieldMixture(emission="squared-error", annealing=False),
}
BUT = {
    "PenalizedGaussianMixture-gibbs": {"check_renumbered_start": "draws go by the numbers of the clusters"},
    "MeanFieldMixture-squared-error": dict.fromkeys(
        ["check_scaled_features", "check_shifted_features"], "squared errors have a unit of their own"
    ),
}
DIRECTIONS = {"check_shifted_features": "directions have an origin"}
SHARES = dict.fromkeys(
    ["check_scaled_features", "check_shifted_features"], "counts have a unit and an origin"
)
CLOSED = {"check_weighted_is_repeated_under_constraints": "the closure has pairs of its own among the copies"}
SIZES = {
    "check_weighted_is_repeated": "bounds count items, not weights",
    "check_weighted_is_repeated_under_constraints": "bounds count items, not weights",
}
# settings under which the invariants hold, but for those named
INVARIANT = {
    "COPKMeans-greedy": (
        COPKMeans(assignment="greedy"),
        {
            "check_history": "a greedy pass may be worse than the one before",
            "check_permuted_items_from_one_start": "who comes first chooses first",
        },
    ),
    "COPKMeans-exact": (COPKMeans(assignment="exact", n_init=1), {}),
    "COPKMeans-cosine": (COPKMeans(metric="cosine"), DIRECTIONS),
    "PCKMeans-cosine": (PCKMeans(metric="cosine"), DIRECTIONS),
    "SeededKMeans-cosine": (SeededKMeans(metric="cosine"), DIRECTIONS),
    "ConstrainedSeedKMeans-cosine": (ConstrainedSeedKMeans(metric="cosine"), DIRECTIONS),
    "SizeConstrainedKMeans-bounds": (SizeConstrainedKMeans(size_min=0.95), SIZES),
    "SizeConstrainedKMeans-loose": (SizeConstrainedKMeans(size_max=10_000), {}),
    "SizeConstrainedKMedians-loose": (SizeConstrainedKMedians(size_max=10_000), {}),
    "SizeConstrainedKMeans-equal": (SizeConstrainedKMeans(size_min=1.0, size_max=1.0), SIZES),
    "SizeConstrainedKMeans-cosine": (
        SizeConstrainedKMeans(size_min=0.95, metric="cosine"),
        DIRECTIONS | SIZES,
    ),
    "SizeConstrainedKMedians-bounds": (SizeConstrainedKMedians(size_min=0.95), SIZES),
    "BalancedKMeans-sampled": (
        BalancedKMeans(sample_size=25, size_min=0.5),
        SIZES | {"check_permuted_items_from_one_start": "the sample goes by the order of the items"},
    ),
    "FrequencySensitiveKMeans-fs": (FrequencySensitiveKMeans(variant="fs", gamma=1.0), {}),
    "FrequencySensitiveKMeans-fifs": (FrequencySensitiveKMeans(variant="fifs"), {}),
    "FrequencySensitiveKMeans-cosine": (FrequencySensitiveKMeans(metric="cosine"), DIRECTIONS),
    "OnlineBalancedKMeans-cosine": (OnlineBalancedKMeans(metric="cosine", gamma=0.1), DIRECTIONS),
    "OnlineBalancedKMeans-all-forget": (OnlineBalancedKMeans(memory=1000, decay="all"), {}),
    "SizeConstrainedBisection-bounds": (SizeConstrainedBisection(size_min=0.95, size_max=1.1), SIZES),
    "SizeConstrainedBisection-largest": (SizeConstrainedBisection(split="largest"), {}),
    "SizeConstrainedBisection-cosine": (
        SizeConstrainedBisection(size_min=0.95, metric="cosine"),
        DIRECTIONS | SIZES,
    ),
    "MPCKMeans-fixed": (MPCKMeans(learn="none"), {}),
    "HMRFKMeans-closed": (HMRFKMeans(weight=1.0, closure="auto"), CLOSED),
    "HMRFKMeans-fixed": (HMRFKMeans(learn="none"), {}),
    "HMRFKMeans-cosine": (HMRFKMeans(metric="cosine"), DIRECTIONS),
    "HMRFKMeans-cosine-fixed": (HMRFKMeans(metric="cosine", learn="none"), DIRECTIONS),
    "HMRFKMeans-idivergence": (HMRFKMeans(metric="idivergence"), SHARES),
    "HMRFKMeans-idivergence-fixed": (HMRFKMeans(metric="idivergence", learn="none"), SHARES),
    "HMRFKMeans-idivergence-items": (
        HMRFKMeans(metric="idivergence", learn="none", smoothed="items"),
        SHARES,
    ),
    "HMRFKMeans-descent": (HMRFKMeans(metric="idivergence", rule="descent"), SHARES),
    "KernelPCKMeans-cosine": (KernelPCKMeans(kernel="cosine"), DIRECTIONS),
    "KMedoids-manhattan": (KMedoids(metric="manhattan"), {}),
    "PairwiseClustering-manhattan": (PairwiseClustering(metric="manhattan"), {}),
    "ConstrainedLinkage-single": (ConstrainedLinkage(linkage="single"), {}),
    "ConstrainedLinkage-complete": (ConstrainedLinkage(linkage="complete"), {}),
    "ConstrainedLinkage-average": (ConstrainedLinkage(linkage="average"), {}),
    "ConstrainedLinkage-ward": (ConstrainedLinkage(linkage="ward"), {}),
    "ConstrainedGaussianMixture-diag": (ConstrainedGaussianMixture(covariance_type="diag"), {}),
    "ConstrainedGaussianMixture-spherical": (ConstrainedGaussianMixture(covariance_type="spherical"), {}),
    "ConstrainedGaussianMixture-pseudo": (ConstrainedGaussianMixture(weights_update="pseudo-likelihood"), {}),
    "PenalizedGaussianMixture-exact": (
        PenalizedGaussianMixture(inference="exact", weights_update="exact"),
        {},
    ),
    "MeanFieldMixture-plain": (MeanFieldMixture(annealing=False), {}),
}
TOYS = [toy.ToyHard, toy.ToySoft, toy.ToyGuided, toy.ToyComponents, toy.ToyFull]
KINDS = [*TOYS, *PUBLIC]
ONE_START = {kind.__name__: kind(n_init=1) for kind in PUBLIC if "n_init" in kind.parameter_rules}


def variants():
    """Every class as it comes, on distances where it takes these, and some that work in another way."""
    yield from OTHERWISE.items()
    for kind in KINDS:
        yield kind.__name__, kind()
        metric = kind.parameter_rules.get("metric")
        if metric is not None and metric.holds("precomputed"):
            yield f"{kind.__name__}-precomputed", kind(metric="precomputed")


def cases(estimators, checks):
    """Every check of every variant; with `make test` a few of those that other settings hardly touch."""
    rare = WHATEVER | {check.__name__ for check in invariant_checks()} - ANYHOW
    honest_toys = {kind.__name__ for kind in TOYS if kind is not toy.ToyFull}
    for (name, estimator), check in itertools.product(estimators, checks):
        what = check.__name__
        again = what in rare and (name in OTHERWISE or name in INVARIANT)
        again |= what in WHATEVER and name in honest_toys
        if what in WHATEVER and what != "check_names_travel" and name in ONE_START:  # that knows the answer
            marks = [pytest.mark.slow] if (f"{name}-one-start", what) in HEAVY else []
            yield pytest.param(ONE_START[name], check, id=f"{name}-one-start-{what}", marks=marks)
            again = True
        again |= (name, what) in HEAVY
        marks = [pytest.mark.slow] if again and (name, what) not in QUICK else []
        yield pytest.param(estimator, check, id=f"{name}-{what}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(cases(variants(), constrained_checks())))
@outvoted
def test_constrained_checks(estimator, check, request):
    but = next((BUT[name] for name in BUT if f"[{name}-check" in request.node.name), {})
    if check.__name__ in but:
        pytest.skip(but[check.__name__])
    try:
        run_check(check, estimator)
    except SkipTest as reason:
        if type(estimator) is toy.ToyFull:  # has all there is to check, so that no check skips every class
            raise AssertionError(f"{check.__name__} does not look at {estimator}: {reason}") from reason
        raise


@pytest.mark.parametrize(
    ("name", "check"), list(cases({name: name for name in INVARIANT}.items(), invariant_checks()))
)
def test_invariants_under_other_settings(name, check):
    estimator, exempt = INVARIANT[name]
    own_threads = name.startswith("SizeConstrained") or (name, check.__name__) in QUICK
    if "threads" in check.__name__ and not own_threads:
        pytest.skip("the threads are those of the class as it comes")
    if check.__name__ in exempt:
        pytest.skip(exempt[check.__name__])
    run_check(check, estimator)


def test_exemptions_speak_of_checks_that_exist():
    names = {check.__name__ for check in constrained_checks()}
    of_classes = [kind.exempt for kind in PUBLIC]
    for exempt in [*of_classes, *BUT.values(), *(exempt for _, exempt in INVARIANT.values())]:
        assert set(exempt) <= names
        assert all(exempt.values())
    assert names >= WHATEVER | ANYHOW


@pytest.mark.parametrize(
    ("broken", "noticed_by"),
    [
        (toy.ReadsY, "check_y_is_ignored"), (toy.WritesX, "check_inputs_untouched"),
        (toy.ForgetsConstraints, "check_violations_are_recounted"),
        (toy.GoesByPosition, "check_names_travel"),
        (toy.BreaksHardPairs, "check_hard_statements_hold"), (toy.BreaksLabels, "check_hard_statements_hold"),
        (toy.KeepsUnit, "check_scaled_features"), (toy.HasNoRule, "check_every_parameter_has_a_rule"),
        (toy.SpeaksOfOtherParameters, "check_small_data"), (toy.LosesSeed, "check_known_answer"),
        (toy.KeepsOldRows, "check_search_splits_constraints"),
    ],
)  # fmt: skip
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
        (toy.SparseDiffers, testing.check_sparse_is_dense, "csr_array input change the labels"),
        (toy.TakesAnyWeight, testing.check_bad_sample_weight, "no ValueError was raised"),
        (toy.TakesAnyWeight, testing.check_weighted_is_repeated, "weighted is not repeated"),
        (toy.WeightHasUnit, testing.check_scaled_sample_weight, "change the labels"),
        (toy.WeightHasUnit, testing.check_weighted_is_repeated, "weight"),
        (toy.WeightOfOneDiffers, testing.check_scaled_sample_weight, "weights of one are not no weights"),
        (toy.CountsThreads, testing.check_threads_do_not_matter, "1 of 40000 labels change"),
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
        (toy.GoesByOrder, testing.check_permuted_items_from_one_start, "permuted items change cluster_cent"),
        (toy.NumbersAnew, testing.check_renumbered_start, "do not keep the numbers of the start"),
        (toy.WritesStart, testing.check_renumbered_start, "init was changed in place"),
        (toy.KeepsOrigin, testing.check_shifted_features, "do not move cluster_centers_"),
        (toy.ObjectiveWithoutUnit, testing.check_scaled_features, "the objective has no unit"),
        (toy.ReadsMemory, testing.check_any_layout, "rows that are columns first change the labels"),
        (toy.Float32Differs, testing.check_float32_is_kept, "in float32"),
        (toy.WeighsNoConstrained, testing.check_weighted_is_repeated_under_constraints, "weight"),
        (toy.StartsAside, testing.check_warm_start_goes_on, "warm starts change cluster_centers_"),
        (toy.NeverTheSame, testing.check_same_seed_same_labels, "one seed change cluster_centers_"),
        (toy.ScoresWithoutWeights, testing.check_score_takes_weights, "score has no sample_weight"),
    ],
)
@outvoted
def test_a_check_notices(broken, noticed_by, words):
    with pytest.raises(AssertionError, match=words):
        noticed_by(broken())


@outvoted
def test_a_check_notices_who_insists_though_it_obeys_nothing():
    for check in (testing.check_contradiction, testing.check_too_many_apart):
        with pytest.raises(InfeasibleConstraintsError):
            check(toy.RaisesForContradictions())


@pytest.mark.parametrize(
    ("estimator", "check"), list(scikit_learn_checks(ONE_START.get(kind.__name__, kind()) for kind in KINDS))
)
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # fewer distinct rows than clusters
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_START)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks_with_all_starts(name):
    for estimator, check in estimator_checks_generator(getattr(coterie, name)()):
        if check.func.__name__ not in EXPECTED_FAILURES.get(name, {}):
            with contextlib.suppress(SkipTest):
                check(estimator)


def test_expected_failures_speak_of_checks_that_exist():
    for name, reasons in EXPECTED_FAILURES.items():
        kind = next(
            (kind for kind in [*KINDS, *learned_distances(), *pair_classifiers()] if kind.__name__ == name),
            None,
        )
        assert kind is not None, f"no class {name}"
        run = {check.func.__name__ for _, check in estimator_checks_generator(kind())}
        assert set(reasons) <= run


def test_checks_do_not_touch_the_given_estimator():
    estimator = toy.ToyGuided(n_clusters=7)
    check_constrained_clusterer(estimator)
    assert estimator.n_clusters == 7
    assert not hasattr(estimator, "labels_")


def test_discovery_finds_public_classes_only():
    assert all(not kind.__name__.startswith("_") for kind in PUBLIC)
    assert len(PUBLIC) == len(set(PUBLIC))
    assert all(getattr(coterie, kind.__name__) is kind for kind in PUBLIC)
    assert {kind.__name__ for kind in PUBLIC} <= set(dir(coterie))
    assert np.all([hasattr(kind, "fit") for kind in PUBLIC])
