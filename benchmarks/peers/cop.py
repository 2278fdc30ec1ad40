"""COPKMeans against htcopkmeans: the same points, pairs and first centres, one start, one thread."""

from __future__ import annotations

from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import save, verdict
from benchmarks.protocol import draw, first_centers, inertia, overlapping_blobs
from benchmarks.race import account, run_side, speed_rows

TITLE = "COPKMeans against htcopkmeans 1.5"
QUICK = True
N, D, K, PAIRS, SEED = 10_000, 10, 4, 500, 0


def main() -> None:
    X, y = overlapping_blobs(N, D, K, apart=1.0, seed=SEED)
    known = draw(y, PAIRS, SEED)
    job = [(known, first_centers(X, K, SEED))]
    sides = [
        run_side("ours", X, job, n_clusters=K, repeats=5, method="COPKMeans", parameters={}),
        run_side("htcopkmeans", X, job, n_clusters=K, repeats=5),
    ]
    rows = speed_rows(f"a fit, {PAIRS} true pairs", *map(account, sides), times=50)
    found = [side["labels"][0] for side in sides]
    broken = [known.violations(labels).n_broken for labels in found]
    squares = [inertia(X, labels) for labels in found]
    shown = [
        f"{broken[i]}; {squares[i]:.0f}; {adjusted_rand_score(y, labels):.3f}"
        for i, labels in enumerate(found)
    ]
    rows.append(
        verdict(
            "pairs broken; sum of squares; adjusted Rand index",
            shown[0],
            theirs=shown[1],
            ratio=squares[0] / squares[1],
            goal="0 broken, sum of squares no larger (0.1 %)",
            reached=broken[0] == 0 and squares[0] <= 1.001 * squares[1],
        )
    )
    save(
        __name__,
        TITLE,
        rows,
        data=f"{N} x {D} float64, {K} overlapping blobs",
        n_init=1,
        seeds=SEED,
        times="median of 5 after one fit; ours with building the constraints",
        rival=sides[1]["versions"],
        first_centers="the same; the rival's function that makes its own is replaced from outside",
    )
