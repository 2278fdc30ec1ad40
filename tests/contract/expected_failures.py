"""scikit-learn's checks that a class is known to fail, with the reason: the only place for them.

A check that passes after all fails the test, so that nothing stays here longer than it must.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

_DRAWN = "starts are drawn among the rows, so their number matters; KMeans of scikit-learn fails too"
_PROTOTYPES = {
    "check_sample_weight_equivalence_on_dense_data": _DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
}

_PAIRS = {
    "check_clustering": "X holds weights of pairs, and the check passes features",
    "check_estimators_nan_inf": "infinite weights are pairs that must hold; NaN is refused by our own tests",
}

_CLASSES = {"check_classifiers_classes": "the check has -1 for a class, which stands for no label here"}

EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "BalancedKMeans": _PROTOTYPES,
    "ConsensusClustering": {
        "check_clustering": "X holds labels, and the check passes features",
        "check_positive_only_tag_during_fit": "a label below -1 is none",
    },
    "CorrelationClustering": _PAIRS, "ClusterEditing": {"check_clustering": _PAIRS["check_clustering"]},
    "COPKMeans": _PROTOTYPES, "ConstrainedSeedKMeans": _PROTOTYPES, "CVQEKMeans": _PROTOTYPES,
    "FrequencySensitiveKMeans": _PROTOTYPES,
    "HMRFKMeans": _PROTOTYPES, "KernelPCKMeans": _PROTOTYPES, "KMedoids": _PROTOTYPES,
    "PairwiseLogisticRegression": _CLASSES, "PairwiseSVC": _CLASSES,
    "MPCKMeans": _PROTOTYPES, "PCKMeans": _PROTOTYPES, "SeededKMeans": _PROTOTYPES,
    "SizeConstrainedBisection": _PROTOTYPES, "SizeConstrainedKMeans": _PROTOTYPES,
    "SizeConstrainedKMedians": _PROTOTYPES,
}  # fmt: skip


def scikit_learn_checks(estimators):
    """Every check of each, as parameters of a test."""
    for estimator in estimators:
        kind = type(estimator).__name__
        reasons = EXPECTED_FAILURES.get(kind, {})
        for model, check in estimator_checks_generator(estimator):
            name = check.func.__name__
            marks = [pytest.mark.xfail(reason=reasons[name], strict=True)] if name in reasons else []
            yield pytest.param(model, check, id=f"{kind}-{name}", marks=marks)
