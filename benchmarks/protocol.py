"""How experiments with constraints are made: pairs drawn from the truth, held-out items, learning curves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, confusion_matrix, normalized_mutual_info_score

from benchmarks.measure import in_fresh_process
from coterie import Constraints

# A method under test: (X, constraints, seed) -> labels, or None where it failed, and the share of its
# starts that failed.
Method = Callable[[NDArray[Any], Constraints, int], tuple[NDArray[Any] | None, float]]

_MEASURES = {"ari": adjusted_rand_score, "nmi": normalized_mutual_info_score}
SCORES = ("ari", "nmi", "held_out_ari", "held_out_nmi")


def draw(y: Any, n_pairs: int, seed: int, noise: float = 0.0) -> Constraints:
    """Pairs drawn at random from all pairs, each with its true kind, but for a share with the wrong one."""
    return Constraints.sample(y, n_pairs=n_pairs, noise=noise, random_state=seed)


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
    found = scores(y, labels, constraints)
    return found["ari"], found["held_out_ari"]


def scores(
    y: Any, labels: NDArray[Any] | None, constraints: Constraints, fewest: int = 2
) -> dict[str, float]:
    """Adjusted Rand index and normalised mutual information, on all items and on the held-out ones.

    NaN where there is nothing to score: no labels, or fewer held-out items than `fewest`.
    """
    found = dict.fromkeys(SCORES, float("nan"))
    if labels is None:
        return found
    free = held_out(constraints)
    for name, measure in _MEASURES.items():
        found[name] = float(measure(y, labels))
        if free.sum() >= fewest:
            found[f"held_out_{name}"] = float(measure(y[free], labels[free]))
    return found


def accuracy(y: Any, labels: Any) -> float:
    """Share of the items in the cluster that stands for their class, clusters matched one to one."""
    table = confusion_matrix(y, labels)
    return float(table[linear_sum_assignment(-table)].sum() / len(y))


def learning_curve(
    method: Method,
    X: NDArray[Any],
    y: NDArray[Any],
    sizes: Sequence[int],
    n_draws: int,
    fewest: int = 2,
    noise: float = 0.0,
) -> dict[int, dict[str, float]]:
    """Scores of a method for each number of pairs: means and standard errors over the draws.

    `answered` counts the draws that got labels, `held_out_scored` those with `fewest` held-out items as well.
    """
    curve = {}
    for size in sizes:
        found: dict[str, list[float]] = {name: [] for name in SCORES}
        failed = []
        for seed in range(n_draws):
            constraints = draw(y, size, seed, noise)
            labels, share = method(X, constraints, seed)
            for name, value in scores(y, labels, constraints, fewest).items():
                found[name].append(value)
            failed.append(share)
        told = {}
        for name, values in found.items():
            told[name], told[f"{name}_se"] = mean_se(values)
        curve[size] = {
            **told,
            "failed_starts": float(np.mean(failed)),
            "answered": int(np.sum(~np.isnan(found["ari"]))),
            "held_out_scored": int(np.sum(~np.isnan(found["held_out_ari"]))),
        }
    return curve


def side_by_side(module: str, function: str, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Answers of `module.function(*job)` in the order of the jobs, each from a fresh process on one thread.

    As many run at once as there are cores, so that times taken inside say little.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda job: in_fresh_process(module, function, args=job)["answer"], jobs)


def rounded(value: Any, digits: int = 4) -> Any:
    """Numbers short enough for a result file, at any depth; NaN, which JSON does not know, is None."""
    if isinstance(value, dict):
        return {key: rounded(one, digits) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one, digits) for one in value]
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, digits)
    return value
