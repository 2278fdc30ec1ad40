"""MPCKMeans against the MPCKMeans of active-semi-supervised-clustering: one diagonal metric on both sides.

The data were chosen before the first run: the blobs of the race of PCKMeans, each feature then multiplied by
a factor of its own between 1/3 and 3, so that there is a metric to learn. Both sides get the same first
centres and the closure of the drawn pairs (the rival charges for every pair of it), and stop by their own
rules: the rival after 10 iterations at most, its default; ours when the objective settles. The objectives are
close but not equal: the rival measures cannot-links against the farthest pair of points, searched anew in
every iteration (most of its time), ours against the ranges of the features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import save, verdict
from benchmarks.protocol import draw, first_centers, mean_se, overlapping_blobs
from benchmarks.race import account, run_side, speed_rows

TITLE = "MPCKMeans against active-semi-supervised-clustering 0.0.1"
QUICK = False
N, D, K, PAIRS, DRAWS, WEIGHT = 2_000, 10, 5, 500, 10, 1.0
RIVAL = "active-semi-supervised-clustering"
MOST = 10  # iterations of the rival, its default


def data() -> tuple[Any, Any]:
    """Overlapping blobs whose features have unequal units."""
    X, y = overlapping_blobs(N, D, K, apart=0.8, seed=0)
    return X * np.geomspace(1 / 3, 3, D), y


def jobs(X: Any, y: Any) -> list[Any]:
    """What both sides get: the closure of the pairs and first centres, by draw."""
    return [(draw(y, PAIRS, seed).closure(), first_centers(X, K, seed)) for seed in range(DRAWS)]


def main() -> None:
    X, y = data()
    job = jobs(X, y)
    ours = {"method": "MPCKMeans", "parameters": {"weight": WEIGHT}}
    theirs = {"method": "MPCKMeans", "weight": WEIGHT, "max_iter": MOST}
    sides = [
        run_side("ours", X, job, n_clusters=K, repeats=5, **ours),
        run_side(RIVAL, X, job, n_clusters=K, repeats=1, **theirs),
    ]
    rows = speed_rows(f"a fit, {PAIRS} true pairs", *map(account, sides), times=200)
    ari = [
        [float("nan") if labels is None else adjusted_rand_score(y, labels) for labels in side["labels"]]
        for side in sides
    ]
    broken = [
        [
            float("nan") if labels is None else known.violations(labels).n_broken
            for (known, _), labels in zip(job, side["labels"], strict=True)
        ]
        for side in sides
    ]
    scores, shown = [mean_se(one) for one in ari], [mean_se(one) for one in broken]
    failed = [int(np.isnan(one).sum()) for one in ari]
    rows += [
        verdict(
            f"adjusted Rand index, mean of {DRAWS} draws",
            "{:.3f} +- {:.3f}".format(*scores[0]),
            theirs="{:.3f} +- {:.3f}".format(*scores[1]) + (f", {failed[1]} failed" if failed[1] else ""),
            goal="no worse (.01)",
            reached=failed[0] == 0 and not scores[0][0] < scores[1][0] - 0.01,
            by_draw=[plain(one) for one in ari],
        ),
        verdict(
            f"pairs of the closure broken, mean of {DRAWS} draws",
            "{:.1f} +- {:.1f}".format(*shown[0]),
            theirs="{:.1f} +- {:.1f}".format(*shown[1]),
            by_draw=[plain(one) for one in broken],
            n_iter=[side["n_iter"] for side in sides],
        ),
    ]
    save(
        __name__,
        TITLE,
        rows,
        data=f"{N} x {D} float64, {K} overlapping blobs, features times 1/3 to 3",
        n_init=1,
        weight=f"{WEIGHT} on both sides, their defaults",
        max_iter=f"ours 300, the rival {MOST}, their defaults",
        seeds=f"0 to {DRAWS - 1}",
        times="of the first draw after one fit: ours median of 5, with building the constraints; the rival 1",
        rival=sides[1]["versions"],
        first_centers="the same; a subclass gives them to the rival",
    )


def plain(values: list[float]) -> list[float | None]:
    """Ready for JSON, which knows no NaN."""
    return [None if np.isnan(value) else float(value) for value in values]
