"""ConstrainedLinkage against SciPy's linkage, which takes no pairs, and against constrained-linkage.

Against SciPy: 5,000 points of overlapping blobs and 2,000 true pairs, all hard. Ours is timed from X and the
pairs to labels that obey them (constraints built, closed and checked; a repair where the merging ends early);
SciPy's from X to the cut, without any pair. Both run by turns in one process.

The floor of complete, average and Ward: all n(n-1)/2 distances are computed (SciPy's `pdist`), the nearest of
each row is found once, and each merge reads two rows of what is left and writes one, 12 n(n-1) bytes in all.
That of single linkage: every item finds its nearest in a k-d tree. Both are measured in the same process.

constrained-linkage adds prices to distances and merges on, so that pairs may be broken; it gets a price of
ten times the largest distance, and two fifths as many pairs as points.
"""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import cpu_seconds, in_fresh_process, save, verdict
from benchmarks.protocol import draw, overlapping_blobs
from benchmarks.race import run_side
from coterie import Constraints

TITLE = "ConstrainedLinkage against SciPy's linkage and constrained-linkage 1.0.1"
QUICK = False
N, D, K, PAIRS, APART, SEED = 5_000, 10, 5, 2_000, 1.2, 0
# how much slower than SciPy ours may be; no goal was set for Ward
LINKAGES: dict[str, float | None] = {"complete": 1.0, "average": 1.0, "ward": None, "single": 2.0}
REPEATS = 5
RIVAL, RIVAL_SIZES, RIVAL_LINKAGE, PRICE = "constrained-linkage", (200, 500, 1_000), "average", 10.0


def problem(n: int, n_pairs: int) -> tuple[Any, Any, Constraints]:
    X, y = overlapping_blobs(n, D, K, apart=APART, seed=SEED)
    return X, y, draw(y, n_pairs, SEED)


def fit(X: Any, known: Constraints, kind: str) -> Any:
    """Ours, end to end: the pairs are read and closed anew."""
    from coterie.exceptions import DeadEndWarning
    from coterie.hierarchy import ConstrainedLinkage

    warnings.simplefilter("ignore", DeadEndWarning)
    told = Constraints(known.must_link, known.cannot_link, n_items=len(X))
    return ConstrainedLinkage(K, linkage=kind).fit(X, constraints=told)


def beside_scipy(given: Any) -> dict[str, Any]:
    """Both sides by turns, for each linkage; and the floors."""
    X, y, known = given
    answer = {}
    for kind in LINKAGES:
        done: dict[str, Any] = {}

        def ours(kind: str = kind, done: dict[str, Any] = done) -> None:
            done["model"] = fit(X, known, kind)

        def theirs(kind: str = kind, done: dict[str, Any] = done) -> None:
            done["labels"] = fcluster(linkage(X, kind), K, "maxclust")

        times = cpu_seconds(ours, theirs, repeats=REPEATS)
        model = done["model"]
        answer[kind] = {
            "ours": times[0],
            "theirs": times[1],
            "floor_s": tree_floor(X) if kind == "single" else matrix_floor(X),
            "broken": known.violations(model.labels_).n_broken,
            "n_clusters": int(model.n_clusters_),
            "n_roots": int(model.n_roots_),
            "repaired": bool(model.repaired_),
            "ari": [float(adjusted_rand_score(y, found)) for found in (model.labels_, done["labels"])],
            "broken_by_theirs": known.violations(done["labels"]).n_broken,
        }
    return answer


def matrix_floor(X: Any) -> float:
    """CPU seconds of the distances, the nearest of each row, and two rows read and one written a merge."""
    took = []
    for _ in range(3):
        start = time.process_time()
        distances = squareform(pdist(X), checks=False)
        np.fill_diagonal(distances, np.inf)
        distances.argmin(axis=1)
        for row in range(len(X) - 1):
            low, high = distances[row], distances[row + 1]
            np.maximum(low[row:], high[row:], out=high[row:])
        took.append(time.process_time() - start)
    return min(took)


def tree_floor(X: Any) -> float:
    """CPU seconds of the nearest of each item."""
    took = []
    for _ in range(3):
        start = time.process_time()
        cKDTree(X).query(X, k=2)
        took.append(time.process_time() - start)
    return min(took)


def scipy_rows() -> list[dict[str, Any]]:
    for _ in range(2):  # the first may compile
        run = in_fresh_process(__name__, "beside_scipy", "problem", (N, PAIRS))["answer"]
    rows = []
    for kind, most in LINKAGES.items():
        got = run[kind]
        ours, theirs = got["ours"], got["theirs"]
        ratio = theirs["cpu_s"] / ours["cpu_s"]
        goal = {"goal": f"at least {1 / most:g}", "reached": ratio >= 1 / most} if most else {}
        rows.append(
            verdict(
                f"{kind}, {N:,} x {D}, {PAIRS:,} pairs, against SciPy without pairs",
                f"{ours['cpu_s']:.3g} s",
                theirs=f"{theirs['cpu_s']:.3g} s",
                ratio=ratio,
                first_fit=f"{ours['first_s']:.2f} s, theirs {theirs['first_s']:.2f} s",
                remark=f"{ours['cpu_s'] / got['floor_s']:.2g} times the floor, {got['floor_s']:.3g} s.",
                raw=got,
                **goal,
            )
        )
        legal = f"{got['n_roots']} roots" + (", repaired" if got["repaired"] else "")
        rows.append(
            verdict(
                "its pairs broken; clusters; adjusted Rand index",
                "{broken}; {n_clusters}; {ari[0]:.3f}".format(**got),
                theirs="{broken_by_theirs}; {k}; {ari[1]:.3f}".format(k=K, **got),
                goal=f"0 broken, {K} clusters",
                reached=got["broken"] == 0 and got["n_clusters"] == K,
                remark=f"No legal merge was left at {legal}.",
            )
        )
    return rows


def small(given: Any) -> dict[str, Any]:
    """Ours on the problem of the rival."""
    X, y, known = given
    done: dict[str, Any] = {}
    (times,) = cpu_seconds(lambda: done.update(model=fit(X, known, RIVAL_LINKAGE)), repeats=REPEATS)
    labels = done["model"].labels_
    return {**times, "broken": known.violations(labels).n_broken, "ari": adjusted_rand_score(y, labels)}


def rival_rows() -> tuple[list[dict[str, Any]], dict[str, str]]:
    rows = []
    for n in RIVAL_SIZES:
        pairs = 2 * n // 5
        X, y, known = problem(n, pairs)
        ours = in_fresh_process(__name__, "small", "problem", (n, pairs))["answer"]
        theirs = run_side(
            RIVAL, X, [(known, None)], n_clusters=K, repeats=3, linkage=RIVAL_LINKAGE, weight=PRICE
        )
        labels, seconds = theirs["labels"][0], statistics.median(theirs["cpu_s"])
        broken = known.violations(labels).n_broken
        rows.append(
            verdict(
                f"{RIVAL_LINKAGE}, {n:,} x {D}, {pairs} pairs, against {RIVAL}",
                f"{ours['cpu_s']:.3g} s, {ours['broken']} broken, ARI {ours['ari']:.3f}",
                theirs=f"{seconds:.3g} s, {broken} broken, ARI {adjusted_rand_score(y, labels):.3f}",
                ratio=seconds / ours["cpu_s"],
                first_fit=f"{ours['first_s']:.2f} s, theirs {theirs['first_fit_s']:.2f} s",
                goal="0 broken",
                reached=ours["broken"] == 0,
            )
        )
    return rows, theirs["versions"]


def main() -> None:
    rows = scipy_rows()
    against, versions = rival_rows()
    save(
        __name__,
        TITLE,
        rows + against,
        data=f"{K} blobs of standard deviation 1, centres spread with {APART}, {D} dimensions, float64",
        pairs="drawn at random from all pairs, true kinds, all obeyed",
        seeds=SEED,
        times=f"median of {REPEATS} (rival: 3) after one fit, by turns; constraints included",
        rival=versions,
    )
