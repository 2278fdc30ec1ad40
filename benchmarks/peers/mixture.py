"""ConstrainedGaussianMixture without constraints against scikit-learn's GaussianMixture, from the same start.

Both get the same weights, means and precisions, no ridge and no tolerance, so that they take the same steps:
what is compared is the mean log-likelihood before every M-step, and the time of all of them. Both are on one
thread; each side takes its turn in one process, after one fit that loads what it needs.
"""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import first_centers, overlapping_blobs
from coterie import ConstrainedGaussianMixture

TITLE = "ConstrainedGaussianMixture without constraints against scikit-learn's GaussianMixture"
QUICK = False
KINDS = ("full", "tied", "diag", "spherical")
N, D, K, STEPS, REPEATS = 200_000, 10, 8, 20, 3
SMALL, SMALL_STEPS, SEEDS = 2_000, 30, 5
APART, SAME, MOST = 0.8, 1e-6, 1.5


def points(n: int, d: int, k: int, seed: int = 0) -> tuple[Any, Any]:
    """Overlapping blobs, and some of them as first means."""
    X = overlapping_blobs(n, d, k, apart=APART, seed=seed)[0]
    return X, first_centers(X, k, seed)


def start(X: Any, means: Any, kind: str) -> dict[str, Any]:
    """Parameters that both sides begin with: equal weights, and the spread of all data."""
    k, variance = len(means), X.var(axis=0)
    precision = np.linalg.inv(np.cov(X.T))
    precisions = {
        "full": np.repeat(precision[None], k, axis=0),
        "tied": precision,
        "diag": np.repeat(1 / variance[None], k, axis=0),
        "spherical": np.full(k, 1 / variance.mean()),
    }[kind]
    return {"weights_init": np.full(k, 1 / k), "means_init": means, "precisions_init": precisions}


def fit(side: Any, X: Any, means: Any, kind: str, steps: int) -> Any:
    """So many iterations of one side."""
    model = side(
        len(means),
        covariance_type=kind,
        max_iter=steps,
        tol=0.0,
        reg_covar=0.0,
        n_init=1,
        **start(X, means, kind),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def curves(model: Any, n: int) -> Any:
    """Mean log-likelihood before every M-step."""
    if isinstance(model, GaussianMixture):
        return np.array(model.lower_bounds_)
    return -model.history_[:-1] / n


def same_steps(kind: str) -> dict[str, Any]:
    """The largest relative difference over iterations and seeds."""
    worst, parameters = 0.0, 0.0
    for seed in range(SEEDS):
        X, means = points(SMALL, D, K, seed)
        ours, theirs = (
            fit(side, X, means, kind, SMALL_STEPS) for side in (ConstrainedGaussianMixture, GaussianMixture)
        )
        one, other = curves(ours, SMALL), curves(theirs, SMALL)
        assert len(one) == len(other) == SMALL_STEPS
        worst = max(worst, float(np.max(np.abs(one - other) / np.abs(other))))
        parameters = max(parameters, float(np.max(np.abs(ours.means_ - theirs.means_))))
    return {"worst": worst, "means": parameters}


def times(given: Any) -> dict[str, Any]:
    """CPU and wall seconds of both sides by turns, for every kind of covariance; constraints: none."""
    X, means = given
    answer = {}
    for kind in KINDS:
        taken: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
        done = {}
        for _ in range(REPEATS + 1):
            for name, side in (("ours", ConstrainedGaussianMixture), ("theirs", GaussianMixture)):
                cpu, wall = time.process_time(), time.perf_counter()
                done[name] = fit(side, X, means, kind, STEPS)
                taken[name].append((time.process_time() - cpu, time.perf_counter() - wall))
        one, other = (curves(done[name], len(X)) for name in taken)
        answer[kind] = {
            name: {
                "first_s": runs[0][0],
                "cpu_s": statistics.median(run[0] for run in runs[1:]),
                "wall_s": statistics.median(run[1] for run in runs[1:]),
                "n_iter": int(done[name].n_iter_),
            }
            for name, runs in taken.items()
        }
        answer[kind]["worst"] = float(np.max(np.abs(one - other) / np.abs(other)))
    return answer


def main() -> None:
    rows = []
    for kind in KINDS:
        got = same_steps(kind)
        rows.append(
            verdict(
                f"{kind}, {SMALL:,} x {D}, k = {K}: largest relative difference of the mean log-likelihood",
                f"{got['worst']:.1e}",
                goal=f"{SAME:.0e}",
                reached=got["worst"] <= SAME,
                remark=f"{SMALL_STEPS} iterations, {SEEDS} starts; means differ by {got['means']:.0e}.",
                raw=got,
            )
        )
    in_fresh_process(__name__, "times", "points", (2_000, D, K))  # may compile
    run = in_fresh_process(__name__, "times", "points", (N, D, K))["answer"]
    for kind in KINDS:
        ours, theirs = run[kind]["ours"], run[kind]["theirs"]
        ratio = ours["cpu_s"] / theirs["cpu_s"]
        rows.append(
            verdict(
                f"{kind}, {N:,} x {D}, k = {K}: {STEPS} iterations",
                f"{ours['cpu_s']:.2f} s (wall {ours['wall_s']:.2f})",
                theirs=f"{theirs['cpu_s']:.2f} s (wall {theirs['wall_s']:.2f})",
                ratio=ratio,
                first_fit=f"{ours['first_s']:.2f} s, theirs {theirs['first_s']:.2f} s",
                goal=f"at most {MOST}",
                reached=ratio <= MOST and ours["n_iter"] == theirs["n_iter"] == STEPS,
                remark=f"Log-likelihoods differ by {run[kind]['worst']:.1e} at most.",
                raw=run[kind],
            )
        )
    save(
        __name__,
        TITLE,
        rows,
        data=f"{K} blobs of standard deviation 1, centres spread with {APART}, float64",
        start="items as means, equal weights, the covariance of all data",
        reg_covar=0,
        tol=0,
        times=f"median of {REPEATS} after one fit, by turns in one process",
    )
