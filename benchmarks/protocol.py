"""How experiments with constraints are made: pairs drawn from the truth, held-out items, learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from coterie import Constraints

# A method under test: (X, constraints, seed) -> labels, or None where it failed, and the share of its
# starts that failed.
Method = Callable[[NDArray[Any], Constraints, int], tuple[NDArray[Any] | None, float]]


def draw(y: Any, n_pairs: int, seed: int) -> Constraints:
    """Pairs drawn at random from all pairs, each with its true kind."""
    return Constraints.sample(y, n_pairs=n_pairs, random_state=seed)


def held_out(constraints: Constraints) -> NDArray[np.bool_]:
    """Which items are in no constraint."""
    mask = np.ones(constraints.n_items, dtype=bool)
    mask[constraints.constrained_items] = False
    return mask


def overlapping_blobs(n: int, d: int, k: int, *, apart: float, seed: int) -> tuple[Any, Any]:
    """Round clusters of standard deviation 1 whose centres are spread with standard deviation `apart`."""
    centers = np.random.default_rng(seed).normal(scale=apart, size=(k, d))
    return make_blobs(n, centers=centers, cluster_std=1.0, random_state=seed)


def first_centers(X: NDArray[Any], k: int, seed: int) -> NDArray[Any]:
    """Some k items of X, the same for both sides of a race."""
    return X[np.random.default_rng(seed).choice(len(X), size=k, replace=False)]


def inertia(X: NDArray[Any], labels: NDArray[Any]) -> float:
    """Sum of squared distances to the means of the clusters."""
    means = [X[labels == label].mean(axis=0) for label in np.unique(labels)]
    places = np.unique(labels, return_inverse=True)[1]
    return float(((X - np.array(means)[places]) ** 2).sum())


def mean_se(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, of the values that are numbers."""
    known = np.array([value for value in values if not np.isnan(value)])
    if not len(known):
        return float("nan"), float("nan")
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0


def score(y: Any, labels: NDArray[Any] | None, constraints: Constraints) -> tuple[float, float]:
    """Adjusted Rand index on all items and on the held-out ones; NaN where there is nothing to score."""
    if labels is None:
        return float("nan"), float("nan")
    free = held_out(constraints)
    unseen = adjusted_rand_score(y[free], labels[free]) if free.sum() > 1 else float("nan")
    return float(adjusted_rand_score(y, labels)), float(unseen)


def learning_curve(
    method: Method, X: NDArray[Any], y: NDArray[Any], sizes: Sequence[int], n_draws: int
) -> dict[int, dict[str, float]]:
    """Scores of a method for each number of pairs: means and standard errors over the draws."""
    curve = {}
    for size in sizes:
        every, unseen, failed = [], [], []
        for seed in range(n_draws):
            constraints = draw(y, size, seed)
            labels, share = method(X, constraints, seed)
            for scores, value in zip((every, unseen), score(y, labels, constraints), strict=True):
                scores.append(value)
            failed.append(share)
        (ari, ari_se), (unseen_ari, unseen_se) = mean_se(every), mean_se(unseen)
        curve[size] = {
            "ari": ari,
            "ari_se": ari_se,
            "held_out_ari": unseen_ari,
            "held_out_se": unseen_se,
            "failed_starts": float(np.mean(failed)),
            "answered": int(np.sum(~np.isnan(every))),
        }
    return curve
