"""Many clusters of bounded sizes: a tree of 2-means beside k-means whose every assignment is exact.

Sizes lie between 75 and 125 percent of the mean. The tree alone, and refined, beside one start of ten
iterations of `SizeConstrainedKMeans`, on the same rows and one thread, in CPU seconds: means over the seeds.
A million points in 10,000 clusters show what the tree takes where nobody would write down n x k costs.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.scale.sizes import points
from coterie import SizeConstrainedBisection, SizeConstrainedKMeans
from coterie.datasets import load_table

TITLE = "Hundreds of clusters of 75 to 125 percent of the mean size"
QUICK = False
BOUNDS = {"size_min": 0.75, "size_max": 1.25}
SETS = {"pendigits": 275, "blobs": 500}
SEEDS, ITERATIONS = range(5), 10
FASTER, LOSS, REFINED_LOSS = 10.0, 1.35, 1.05
N, K, SECONDS, TIMES_X = 1_000_000, 10_000, 60, 3.0
WARM = 2_000


def rows_of(name: str) -> Any:
    """Pen digits, or 20,000 points of a mixture in 32 dimensions; the kernels are loaded."""
    X = load_table(name).data if name == "pendigits" else points(20_000)
    X = np.ascontiguousarray(X, dtype=np.float64)
    for model in (exact(20, 0), tree(20, 0, refine=True)):
        model.fit(X[:WARM])
    return X


def exact(k: int, seed: int) -> Any:
    return SizeConstrainedKMeans(k, n_init=1, max_iter=ITERATIONS, random_state=seed, **BOUNDS)


def tree(k: int, seed: int, *, refine: bool) -> Any:
    return SizeConstrainedBisection(k, refine=refine, random_state=seed, **BOUNDS)


def race(X: Any) -> dict[str, Any]:
    """Seconds and objectives of the three, by seed; they take turns."""
    k = SETS["pendigits" if X.shape[1] == 16 else "blobs"]
    makers = {
        "exact": exact,
        "tree": lambda k, seed: tree(k, seed, refine=False),
        "refined": lambda k, seed: tree(k, seed, refine=True),
    }
    found: dict[str, Any] = {name: {"s": [], "objective": [], "sizes": []} for name in makers}
    for seed in SEEDS:
        for name, make in makers.items():
            start = time.process_time()
            model = make(k, seed).fit(X)
            found[name]["s"].append(time.process_time() - start)
            found[name]["objective"].append(float(model.objective_))
            found[name]["sizes"].append([int(model.sizes_.min()), int(model.sizes_.max())])
    return found


def million() -> Any:
    """A million rows in float32; the kernels are loaded."""
    tree(20, 0, refine=False).fit(points(WARM))
    return points(N)


def large(X: Any) -> dict[str, Any]:
    """The tree alone."""
    model = tree(K, 0, refine=False).fit(X)
    return {
        "sizes": [int(model.sizes_.min()), int(model.sizes_.max())],
        "objective": float(model.objective_),
    }


def bisection_rows() -> list[dict[str, Any]]:
    """What is said of the tree."""
    rows = []
    for name, k in SETS.items():
        told = in_fresh_process(__name__, "race", "rows_of", (name,))["answer"]
        seconds = {one: float(np.mean(told[one]["s"])) for one in told}
        loss = {one: np.divide(told[one]["objective"], told["exact"]["objective"]) for one in told}
        for one, least, most in (("tree", FASTER, LOSS), ("refined", 1.0, REFINED_LOSS)):
            faster, mean = seconds["exact"] / seconds[one], float(loss[one].mean())
            what = "refined" if one == "refined" else "the tree alone"
            rows.append(
                verdict(
                    f"{name}, k = {k}: {what}",
                    f"{seconds[one]:.2f} s, objective {mean:.3f} of the exact one's",
                    theirs=f"{seconds['exact']:.2f} s",
                    ratio=1.0 / faster,
                    goal=f"{least:g} times as fast, at most {most}",
                    reached=faster >= least and mean <= most,
                    remark=f"Between {loss[one].min():.3f} and {loss[one].max():.3f}, {len(SEEDS)} seeds; "
                    "theirs is SizeConstrainedKMeans.",
                    **told[one],
                )
            )
    run = in_fresh_process(__name__, "large", "million")
    megabytes = N * 32 * 4 / 2**20
    in_all = 1.0 + run["peak_mb_above_input"] / megabytes
    rows.append(
        verdict(
            f"{N:,} x 32 in {K:,} clusters, the tree alone",
            f"{run['cpu_s']:.1f} s, memory {in_all:.1f} times X",
            goal=f"{SECONDS} s, {TIMES_X:g} times X",
            reached=run["cpu_s"] < SECONDS and in_all < TIMES_X,
            remark="Sizes {} to {}; X itself is counted.".format(*run["answer"]["sizes"]),
            **run,
        )
    )
    return rows


def main() -> None:
    save(
        __name__,
        TITLE,
        bisection_rows(),
        data="pendigits; mixtures of 60 Gaussians, 20,000 x 32 float64 and 1,000,000 x 32 float32",
        n_init=1,
        seeds=f"{SEEDS.start} to {SEEDS.stop - 1}",
        times="CPU seconds, 1 thread",
    )
