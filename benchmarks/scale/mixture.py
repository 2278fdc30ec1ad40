"""Mixtures on a million items: what constraints add to an iteration of EM.

1,000,000 x 8, k = 10: 100,000 must-links in chunklets of 2 to 10 items, as many of each size; or 100,000
cannot-links of which no two share an item, inferred exactly. And an image of 1000 x 1000 with soft must-links
between neighbours, by mean field. Each is compared with our own EM without statements, from the same start
and for the same number of iterations; constraints are closed and checked inside the time of a fit.
"""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import overlapping_blobs
from coterie import ConstrainedGaussianMixture, Constraints, PenalizedGaussianMixture
from coterie.datasets import grid_neighbors
from coterie.exceptions import ViolatedConstraintsWarning

TITLE = "mixtures on 1,000,000 items, with and without 100,000 pairs, and on an image"
QUICK = False
N, D, K, PAIRS, LARGEST, APART = 1_000_000, 8, 10, 100_000, 10, 1.0
SIDE, FEATURES, REGIONS, CONFIDENCE = 1_000, 5, 4, 0.98
SHORT, LONG, REPEATS, MOST = 2, 10, 3, 2.0


def points(n: int) -> tuple[Any, Any]:
    return overlapping_blobs(n, D, K, apart=APART, seed=0)


def chunklets(y: Any) -> Any:
    """Must-links that tie sets of 2 to 10 items of one class, as many of each size; a pair for ten items."""
    left = y.copy()
    n_pairs = len(y) * PAIRS // N
    each, links = n_pairs // sum(range(1, LARGEST)), []
    for size in range(LARGEST, 1, -1):
        number = each if size > 2 else n_pairs - sum(map(len, links))
        drawn = Constraints.sample_chunklets(left, number, size, random_state=size).must_link
        left[drawn.ravel()] = -1
        links.append(drawn)
    return np.concatenate(links)


def apart(y: Any) -> Any:
    """Disjoint pairs of items of different classes, one for ten items."""
    pairs = np.random.default_rng(0).permutation(len(y)).reshape(-1, 2)
    return pairs[y[pairs[:, 0]] != y[pairs[:, 1]]][: len(y) * PAIRS // N]


def stated(kind: str, y: Any) -> Constraints | None:
    """Constraints that nobody has closed yet."""
    if kind == "must-links":
        return Constraints(chunklets(y), n_items=len(y))
    return Constraints(None, apart(y), n_items=len(y)) if kind == "cannot-links" else None


def start(X: Any, k: int) -> dict[str, Any]:
    means = X[np.random.default_rng(0).choice(len(X), k, replace=False)]
    precisions = np.repeat(np.linalg.inv(np.cov(X.T))[None], k, axis=0)
    return {"weights_init": np.full(k, 1 / k), "means_init": means, "precisions_init": precisions}


def fit(X: Any, known: Any, steps: int) -> Any:
    model = ConstrainedGaussianMixture(K, covariance_type="full", max_iter=steps, tol=0.0, **start(X, K))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, constraints=known)


# ---- time -------------------------------------------------------------------------------------------------


def timed(jobs: dict[Any, Any], repeats: int = REPEATS) -> dict[Any, dict[str, float]]:
    """CPU and wall seconds, medians after one run; the jobs take turns and are made before the clock runs."""
    took: dict[Any, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(repeats + 1):
        for name, make in jobs.items():
            job = make()
            cpu, wall = time.process_time(), time.perf_counter()
            job()
            took[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        name: {
            "cpu_s": statistics.median(run[0] for run in runs[1:]),
            "wall_s": statistics.median(run[1] for run in runs[1:]),
        }
        for name, runs in took.items()
    }


def races(given: Any) -> dict[str, Any]:
    """Long and short fits of all kinds, by turns; and what the last ones say of themselves."""
    X, y = given
    fitted: dict[Any, Any] = {}

    def job(kind: str, steps: int) -> Any:
        known = stated(kind, y)
        return lambda: fitted.update({(kind, steps): fit(X, known, steps)})

    kinds = ("none", "must-links", "cannot-links")
    took = timed(
        {(kind, steps): lambda k=kind, s=steps: job(k, s) for kind in kinds for steps in (SHORT, LONG)}
    )
    answer: dict[str, Any] = {}
    for kind in kinds:
        short, long, model = took[kind, SHORT], took[kind, LONG], fitted[kind, LONG]
        assert (fitted[kind, SHORT].n_iter_, model.n_iter_) == (SHORT, LONG)
        answer[kind] = {
            **long,
            "an_iteration_s": (long["cpu_s"] - short["cpu_s"]) / (LONG - SHORT),
            "inference": str(model.inference_),
            "broken": model.violations_.n_broken,
            "rises": int((np.diff(model.history_) > 1e-9 * abs(model.objective_)).sum()),
        }
    return answer


def warmed_up(kind: str) -> Any:
    """The input of `once`; the kernels are loaded, so that they do not count as its memory."""
    X, y = points(N // 10)
    fit(X, stated(kind, y), SHORT)
    X, y = points(N)
    return X, stated(kind, y)


def once(given: Any) -> None:
    fit(*given, SHORT)


# ---- an image ---------------------------------------------------------------------------------------------


def image(side: int) -> tuple[Any, Any]:
    """Four quadrants of Gaussian noise around four means, and soft must-links between neighbours."""
    rng = np.random.default_rng(0)
    means = 1.5 * rng.normal(size=(REGIONS, FEATURES))
    row, column = np.divmod(np.arange(side * side), side)
    X = rng.normal(size=(side * side, FEATURES)) + means[2 * (row >= side // 2) + (column >= side // 2)]
    return X, grid_neighbors((side, side), confidence=CONFIDENCE)


def fit_image(X: Any, known: Any, steps: int) -> Any:
    model = PenalizedGaussianMixture(
        REGIONS,
        covariance_type="full",
        inference="mean-field",
        weights_update="uniform",
        max_iter=steps,
        tol=0.0,
        **start(X, REGIONS),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        return model.fit(X, constraints=known)


def sweeps(given: Any) -> dict[str, Any]:
    """Seconds of an iteration with and without links, and of one sweep of mean field."""
    from coterie.mixture._inference.mean_field import MeanField

    X, drawn = given
    long = SHORT + 4
    fresh = lambda: Constraints(drawn.must_link, n_items=len(X), confidence=CONFIDENCE)  # noqa: E731

    def job(links: bool, steps: int) -> Any:
        known = fresh() if links else None
        return lambda: fit_image(X, known, steps)

    took = timed(
        {
            (links, steps): lambda a=links, s=steps: job(a, s)
            for links in (False, True)
            for steps in (SHORT, long)
        },
        repeats=1,
    )
    potential = np.random.default_rng(0).normal(size=(len(X), REGIONS))
    ends = drawn.must_link.astype(np.int64)
    beta = np.full(len(ends), 1.0)

    def sweep(most: int) -> Any:
        part = MeanField(len(X), REGIONS, ends, beta, start="independent", tol=0.0, max_sweeps=most)
        return lambda: part.infer(potential)

    swept = timed({most: lambda m=most: sweep(m) for most in (1, 11)}, repeats=1)
    answer = {
        name: {
            **took[links, long],
            "an_iteration_s": (took[links, long]["cpu_s"] - took[links, SHORT]["cpu_s"]) / (long - SHORT),
        }
        for name, links in (("without", False), ("with", True))
    }
    return {**answer, "n_iter": long, "a_sweep_s": (swept[11]["cpu_s"] - swept[1]["cpu_s"]) / 10}


def once_image(given: Any) -> None:
    fit_image(*given, SHORT)


def warmed_up_image(side: int) -> Any:
    fit_image(*image(side // 10), SHORT)
    return image(side)


# ---- rows -------------------------------------------------------------------------------------------------


def said(got: dict[str, Any]) -> str:
    return f"{got['cpu_s']:.1f} s (wall {got['wall_s']:.1f})"


def main() -> None:
    for kind in ("must-links", "cannot-links"):
        in_fresh_process(__name__, "once", "warmed_up", (kind,))  # may compile
    run = in_fresh_process(__name__, "races", "points", (N,))["answer"]
    rows = []
    for kind, goal in (("must-links", MOST), ("cannot-links", None)):
        got, free = run[kind], run["none"]
        ratio = got["cpu_s"] / free["cpu_s"]
        what = f"{PAIRS:,} {kind}" + (f" in chunklets of 2 to {LARGEST}" if goal else ", disjoint")
        rows.append(
            verdict(
                f"{N:,} x {D}, k = {K}, {what}: {LONG} iterations",
                said(got),
                theirs=f"without {said(free)}",
                ratio=ratio,
                goal=f"at most {goal:g}" if goal else "",
                reached=ratio <= goal if goal else None,
                remark=f"{got['broken']} broken; {got['inference']}",
                raw={"with": got, "without": free},
            )
        )
        rows.append(
            verdict(
                "an iteration of it",
                f"{got['an_iteration_s']:.3f} s",
                theirs=f"without {free['an_iteration_s']:.3f} s",
                ratio=got["an_iteration_s"] / free["an_iteration_s"],
                remark="A fit of 10 iterations less one of 2.",
            )
        )
    once_x = N * D * 8 / 2**20
    for kind in ("none", "must-links", "cannot-links"):
        peak = in_fresh_process(__name__, "once", "warmed_up", (kind,))["peak_mb_above_input"]
        rows.append(
            verdict(
                f"peak memory above the input, {'no statements' if kind == 'none' else kind}",
                f"{peak:.0f} MB",
                remark=f"X is {once_x:.0f} MB, the responsibilities {N * K * 8 / 2**20:.0f} MB.",
                peak_mb=peak,
            )
        )
    in_fresh_process(__name__, "sweeps", "image", (50,))  # may compile
    run = in_fresh_process(__name__, "sweeps", "image", (SIDE,))["answer"]
    peak = in_fresh_process(__name__, "once_image", "warmed_up_image", (SIDE,))["peak_mb_above_input"]
    ratio = run["with"]["an_iteration_s"] / run["without"]["an_iteration_s"]
    n_links = 2 * SIDE * (SIDE - 1)
    rows += [
        verdict(
            f"image of {SIDE} x {SIDE}, k = {REGIONS}, {n_links:,} soft links, mean field: an iteration",
            f"{run['with']['an_iteration_s']:.2f} s",
            theirs=f"without links {run['without']['an_iteration_s']:.2f} s",
            ratio=ratio,
            remark=f"{run['n_iter']} iterations in all: {said(run['with'])}, without links "
            f"{said(run['without'])}; peak {peak:.0f} MB above the input.",
            raw=run,
            peak_mb=peak,
        ),
        verdict("one sweep of mean field over it", f"{run['a_sweep_s']:.3f} s", theirs="0.10 s (prototype)"),
    ]
    save(
        __name__,
        TITLE,
        rows,
        data=f"{K} blobs of standard deviation 1, centres spread with {APART:g}, float64; full covariances",
        image=f"four quadrants, {FEATURES} features, confidence {CONFIDENCE} of every link",
        start="items as means, equal weights, the covariance of all data",
        times=f"median of {REPEATS} (image: one) after one fit, by turns in one process; constraints closed "
        "and checked inside",
        seeds=0,
    )
