"""Parameters that make no sense are refused by their name and that of the class."""

import math

import numpy as np
import pytest

import coterie

STARTS = {"n_init": [0], "max_iter": [0], "warm_start": ["yes"]}
MIXTURE = {
    **STARTS, "n_components": [0, 2.5], "covariance_type": ["round"], "tol": [-1.0], "reg_covar": [-1e-6],
    "init_params": ["guess"],
}  # fmt: skip
KMEANS = {**STARTS, "n_clusters": [0, 2.5], "n_init": [0, "many"], "tol": [-1.0], "metric": ["manhattan"]}
METRIC = {
    "use_pairs": ["all", True], "weight": [-1.0, "auto", math.nan], "init": ["farthest"], "n_init": [0],
    "max_iter": [0], "tol": [-1.0],
}  # fmt: skip
BAD = {
    "COPKMeans": {
        **KMEANS, "init": ["magic"], "assignment": ["hungarian"], "order": ["alphabetical"],
        "strategy": ["best"], "budget": [-5],
    },
    "PCKMeans": {**KMEANS, "init": ["magic"], "weight": [-1.0, "heavy", math.nan]},
    "SeededKMeans": KMEANS,
    "ConstrainedSeedKMeans": KMEANS,
    "KMedoids": {
        **STARTS, "n_clusters": [2.5], "n_init": [0, "many"], "init": ["magic"],
        "metric": ["as the crow flies"], "weight": [-1.0, "heavy", math.nan],
    },
    "CVQEKMeans": {"form": ["cubic", None], "n_clusters": [0], "tol": [-1]},
    "MPCKMeans": {
        **METRIC, "learn": ["diag", None], "shrinkage": [-0.5, "none"], "per_cluster": ["yes"],
    },
    "HMRFKMeans": {
        **METRIC, "metric": ["euclidean"], "learn": ["full"], "closure": ["yes"], "rule": ["up"],
        "step": [0.0, -1.0], "backtrack": ["no"], "smoothing": [-1.0], "smoothed": ["all"],
    },
    "PairwiseClustering": {
        "cooling": [1.0, 0.0], "weight": [-1.0, "much"], "n_clusters": [0], "max_iter": [0],
        "metric": ["as the crow flies", 3],
    },
    "COPCobweb": {"acuity": [0.0, -1.0, math.nan, "own", True]},
    "ConstrainedGaussianMixture": {
        **MIXTURE, "sampling": ["unit"], "weights_update": ["grid"], "covariance_prior": [-1.0],
        "max_table_cells": [0],
    },
    "PenalizedGaussianMixture": {
        **MIXTURE, "confidence": [0.3, 1.5], "inference": ["magic"], "weights_update": ["pseudo"],
        "n_sweeps": [0], "max_component_size": [0],
    },
    "MeanFieldMixture": {
        **MIXTURE, "weight": [-1.0, (1.0, -2.0), (1.0, 2.0, 3.0)], "eta": [-0.5, "auto"],
        "weights_update": ["flat"], "emission": ["poison"], "annealing": ["slow"],
    },
}  # fmt: skip
LATER = ["as the crow flies", (1.0, -2.0), (1.0, 2.0, 3.0)]  # refused by who uses it, not by a rule
CASES = [(kind, name, value) for kind, bad in BAD.items() for name in bad for value in bad[name]]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_nonsense_is_refused_by_name(kind, name, value):
    X = np.random.default_rng(0).random((9, 2)) + 0.1
    known = coterie.Constraints.from_labels(np.arange(9) % 2)
    asked = {"n_components" if "Mixture" in kind else "n_clusters": 2} if kind != "COPCobweb" else {}
    model = getattr(coterie, kind)(**{**asked, name: value})
    with pytest.raises(ValueError, match=name if value in LATER else f"{name} of {kind}"):
        model.fit(X, constraints=known)


@pytest.mark.parametrize("kind", [kind for kind in BAD if "Mixture" in kind])
def test_a_seed_that_is_none(kind):
    with pytest.raises(ValueError, match="seven"):
        getattr(coterie, kind)(2, random_state="seven").fit(np.random.default_rng(0).random((9, 2)))
