"""A million points in 100 groups of exactly equal size; and how an iteration grows with n.

The floor of an iteration: the product of X with the centres (2 n k d operations), written to the n x k costs
(400 MB in float32), and one pass over them for the least of each row. Both are measured with NumPy in the
same process; what lies above is the exact choice of labels under the bounds. The growth is measured from
given first centres, with no tolerance, on one thread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import first_centers
from coterie import SizeConstrainedKMeans

TITLE = "1,000,000 points in 100 clusters of exactly equal size"
QUICK = False
N, D, K, COMPONENTS = 1_000_000, 32, 100, 60
MOST, TOL = 30, 1e-4
CORES = "2"
SIZES, ITERATIONS = (10_000, 30_000, 100_000, 300_000, 1_000_000), 5
WARM = 5_000  # points of a first fit that loads the kernels
SECONDS, MEGABYTES = 300, 3000


def points(n: int = N) -> Any:
    """A mixture of round Gaussians in float32; shares are drawn (Dirichlet, all 2), so the bounds bind."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(COMPONENTS, D)).astype(np.float32)
    of = rng.choice(COMPONENTS, size=n, p=rng.dirichlet(np.full(COMPONENTS, 2.0)))
    X = rng.standard_normal((n, D), dtype=np.float32)
    X += centers[of]
    return X


def model(n: int, **given: Any) -> Any:
    return SizeConstrainedKMeans(K, size_min=n // K, size_max=n // K, n_init=1, random_state=0, **given)


def warmed_up(n: int) -> Any:
    """The input of both functions below; the kernels are loaded, so that they do not count."""
    X = points(n)
    few = points(WARM)
    model(WARM, init="k-means++", max_iter=3).fit(few)
    return X


def whole_fit(X: Any) -> dict[str, Any]:
    """From k-means++ until it settles: wall seconds, sizes, the objective."""
    start = time.perf_counter()
    fitted = model(len(X), init="k-means++", max_iter=MOST, tol=TOL).fit(X)
    wall = time.perf_counter() - start
    sizes = np.bincount(fitted.labels_, minlength=K)
    return {
        "wall_s": wall,
        "n_iter": fitted.n_iter_,
        "sizes": [int(sizes.min()), int(sizes.max())],
        "inertia": float(fitted.inertia_),
        "prices": [float(fitted.prices_.min()), float(fitted.prices_.max())],
    }


def some_iterations(X: Any) -> dict[str, Any]:
    """CPU seconds of a fit over its iterations, from given centres."""
    took, repeats = [], 3 if len(X) <= 100_000 else 1
    for _ in range(repeats):
        start = time.process_time()
        fitted = model(len(X), init=first_centers(X, K, 0), max_iter=ITERATIONS, tol=0.0).fit(X)
        took.append(time.process_time() - start)
    return {
        "s_per_iteration": float(np.median(took)) / fitted.n_iter_,
        "n_iter": fitted.n_iter_,
        "floor_s": floor(X),
    }


def floor(X: Any) -> float:
    """CPU seconds of the costs and of the least of each row, in blocks."""
    across = np.ascontiguousarray(first_centers(X, K, 0).T, dtype=X.dtype)
    costs = np.empty((len(X), K), dtype=X.dtype)
    took = []
    for _ in range(3):
        start = time.process_time()
        for low in range(0, len(X), 1000):
            np.matmul(X[low : low + 1000], across, out=costs[low : low + 1000])
        costs.argmin(axis=1)
        took.append(time.process_time() - start)
    return min(took)


def main() -> None:
    threads = {f"{library}_NUM_THREADS": CORES for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    in_fresh_process(__name__, "some_iterations", "warmed_up", (WARM,))  # compiles
    run = in_fresh_process(__name__, "whole_fit", "warmed_up", (N,), **threads)
    told, peak = run["answer"], run["peak_mb_above_input"]
    rows = [
        verdict(
            f"k-means++ and {told['n_iter']} iterations, {CORES} threads, wall seconds",
            f"{told['wall_s']:.0f} s",
            goal=f"{SECONDS} s, at most {MOST} iterations",
            reached=told["wall_s"] < SECONDS and told["n_iter"] <= MOST,
            remark=f"{run['cpu_s']:.0f} CPU seconds; sum of squares {told['inertia']:.4g}.",
            **run,
        ),
        verdict(
            "smallest and largest cluster",
            "{}, {}".format(*told["sizes"]),
            goal=f"{N // K}, {N // K}",
            reached=told["sizes"] == [N // K, N // K],
        ),
        verdict(
            "its peak memory above X",
            f"{peak:.0f} MB",
            ratio=peak / (N * D * 4 / 2**20),
            goal=f"{MEGABYTES} MB",
            reached=peak < MEGABYTES,
            remark="The ratio is to X.",
        ),
    ]
    runs = [in_fresh_process(__name__, "some_iterations", "warmed_up", (n,))["answer"] for n in SIZES]
    seconds = [one["s_per_iteration"] for one in runs]
    for n, one in zip(SIZES, runs, strict=True):
        rows.append(
            verdict(
                f"an iteration, n = {n:,}",
                f"{one['s_per_iteration']:.3g} s",
                ratio=one["s_per_iteration"] / one["floor_s"],
                remark=f"The ratio is to the floor, {one['floor_s']:.3g} s.",
                n_iter=one["n_iter"],
            )
        )
    exponent = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
    rows.append(
        verdict(
            "growth of an iteration with n, exponent",
            f"{exponent:.2f} ({', '.join(f'{one:.2g} s' for one in seconds)})",
            sizes=SIZES,
            seconds=seconds,
        )
    )
    save(
        __name__,
        TITLE,
        rows,
        data=f"{N} x {D} float32, mixture of {COMPONENTS} Gaussians, shares Dirichlet(2)",
        n_init=1,
        tol=f"{TOL} in the whole fit, 0 by iteration",
        seeds=0,
        times=f"whole fit: wall, {CORES} threads; by iteration: CPU of {ITERATIONS}, 1 thread",
    )
