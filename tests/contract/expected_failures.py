"""scikit-learn's checks that a class is known to fail, with the reason: the only place for them.

A check that passes after all fails the test, so that nothing stays here longer than it must.
"""

_DRAWN = "starts are drawn among the rows, so their number matters; KMeans of scikit-learn fails too"
_PROTOTYPES = {
    "check_sample_weight_equivalence_on_dense_data": _DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
}

EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "BalancedKMeans": _PROTOTYPES,
    "COPKMeans": _PROTOTYPES, "ConstrainedSeedKMeans": _PROTOTYPES, "CVQEKMeans": _PROTOTYPES,
    "FrequencySensitiveKMeans": _PROTOTYPES,
    "HMRFKMeans": _PROTOTYPES, "KernelPCKMeans": _PROTOTYPES, "KMedoids": _PROTOTYPES,
    "MPCKMeans": _PROTOTYPES, "PCKMeans": _PROTOTYPES, "SeededKMeans": _PROTOTYPES,
    "SizeConstrainedBisection": _PROTOTYPES, "SizeConstrainedKMeans": _PROTOTYPES,
    "SizeConstrainedKMedians": _PROTOTYPES,
}  # fmt: skip
