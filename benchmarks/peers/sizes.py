"""SizeConstrainedKMeans against k-means-constrained: the same points, first centres, bounds and iterations.

Points come from a mixture of 30 round Gaussians whose centres are spread as wide as they are; shares of the
mixture are drawn (Dirichlet, all 2), so that the bounds bind. Both sides run with no tolerance for a given
number of iterations and label once more at the end. The rival minimises unsquared distances, rounded
to thousandths; hence the lines on cost, and on the same points in other units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from benchmarks.measure import cpu_seconds, in_fresh_process, save, verdict
from benchmarks.protocol import first_centers, inertia, overlapping_blobs
from benchmarks.race import account, run_side, speed_rows
from coterie import Constraints, SizeConstrainedKMeans
from coterie.assign import size_constrained_assignment

TITLE = "SizeConstrainedKMeans against k-means-constrained 0.9.1"
QUICK = False
D, COMPONENTS, SEED = 10, 30, 0
# n, k, iterations, repeats of the rival, times faster
SPEED = [(10_000, 20, 10, 3, 15), (10_000, 100, 10, 1, 15), (100_000, 20, 5, 1, 20)]
FREE = 100_000, 20, 20  # n, k, iterations, without bounds
# cost: n, k, starts; and the bounds as shares of n/k
SMALL_N, SMALL_K, STARTS = 2_000, 10, 30
BOUNDS = {"at least 0.8 n/k": (0.8, None), "at most 1.2 n/k": (None, 1.2), "equal sizes": (1.0, 1.0)}
SCALES = (1e-5, 1.0, 1e6)
CRUMBS = 1e-9  # relative; what rounding may add to a sum of squares


def mixture(n: int, d: int, components: int, seed: int) -> Any:
    """Points of a mixture of round Gaussians of unequal shares."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(components, d))
    of = rng.choice(components, size=n, p=rng.dirichlet(np.full(components, 2.0)))
    return centers[of] + rng.normal(size=(n, d))


def sides(X: Any, starts: list[Any], k: int, bounds: dict[str, int], **given: Any) -> list[dict[str, Any]]:
    """Both sides on the same starts: ours, theirs. `given` goes to both."""
    draws = [(Constraints(n_items=len(X)), start) for start in starts]
    repeats = given.pop("repeats", (1, 1))
    return [
        run_side(
            "ours",
            X,
            draws,
            n_clusters=k,
            repeats=repeats[0],
            method="SizeConstrainedKMeans",
            parameters={**bounds, **given},
        ),
        run_side("k-means-constrained", X, draws, n_clusters=k, repeats=repeats[1], **bounds, **given),
    ]


def speed() -> tuple[list[dict[str, Any]], dict[str, str]]:
    rows = []
    for n, k, iterations, repeats, times in SPEED:
        X = mixture(n, D, COMPONENTS, SEED)
        least = int(0.8 * n / k)
        start = [first_centers(X, k, SEED)]
        both = sides(X, start, k, {"size_min": least}, repeats=(5, repeats), max_iter=iterations, tol=0.0)
        what = f"{n:,} x {D}, k = {k}, size_min = {least}"
        rows += speed_rows(what, *map(account, both), times=times)
        found = [side["labels"][0] for side in both]
        sizes = [np.bincount(labels, minlength=k) for labels in found]
        squares = [inertia(X, labels) for labels in found]
        shown = [
            f"{int(size.min())}; {int((size == least).sum())}; {square:.0f}"
            for size, square in zip(sizes, squares, strict=True)
        ]
        rows.append(
            verdict(
                "its smallest cluster; clusters at the bound; sum of squares",
                shown[0],
                theirs=shown[1],
                ratio=squares[0] / squares[1],
                goal=f"none below {least}",
                reached=sizes[0].min() >= least,
                remark=f"Stopped after {iterations} iterations; neither side has settled.",
            )
        )
    return rows, both[1]["versions"]


def free_points() -> Any:
    n, k, _ = FREE
    X = mixture(n, D, COMPONENTS, SEED)
    return X, first_centers(X, k, SEED)


def free(given: Any) -> dict[str, Any]:
    """Times of both sides without bounds, by turns, and labels that differ."""
    X, start = given
    same = {"init": start, "n_init": 1, "max_iter": FREE[2], "tol": 0, "random_state": 0}
    fitted: dict[str, Any] = {}
    ours, theirs = cpu_seconds(
        lambda: fitted.update(ours=SizeConstrainedKMeans(FREE[1], **same).fit(X)),
        lambda: fitted.update(theirs=KMeans(FREE[1], algorithm="lloyd", **same).fit(X)),
    )
    different = int((fitted["ours"].labels_ != fitted["theirs"].labels_).sum())
    n_iter = [one.n_iter_ for one in fitted.values()]
    return {"ours": ours, "theirs": theirs, "different": different, "n_iter": n_iter}


def free_row() -> dict[str, Any]:
    for _ in range(2):  # the first may compile
        run = in_fresh_process(__name__, "free", "free_points")["answer"]
    ours, theirs = run["ours"], run["theirs"]
    ratio = ours["cpu_s"] / theirs["cpu_s"]
    return verdict(
        f"no bounds, {FREE[0]:,} x {D}, k = {FREE[1]}, {FREE[2]} iterations, against KMeans (lloyd)",
        f"{ours['cpu_s']:.3g} s",
        theirs=f"{theirs['cpu_s']:.3g} s",
        ratio=ratio,
        first_fit=f"{ours['first_s']:.2f} s, theirs {theirs['first_s']:.2f} s",
        goal="at most 1.3, same labels",
        reached=ratio <= 1.3 and run["different"] == 0 and run["n_iter"] == [FREE[2]] * 2,
        raw=run,
    )


def means(X: Any, labels: Any, k: int) -> Any:
    return np.array([X[labels == h].mean(axis=0) for h in range(k)])


def excess(ours: list[float], theirs: list[float]) -> tuple[int, str]:
    """How often ours costs more, and what theirs cost above ours."""
    above = np.array(theirs) / np.array(ours) - 1
    return int((above < -CRUMBS).sum()), f"{above.mean():+.3%} on average, {above.max():+.3%} at most"


def cost_rows() -> list[dict[str, Any]]:
    """From the same centres, and from where the rival ended (means of its labels): ours never costs more."""
    rows = []
    for number, (name, shares) in enumerate(BOUNDS.items()):
        X = mixture(SMALL_N, D, COMPONENTS, number)
        starts = [first_centers(X, SMALL_K, seed) for seed in range(STARTS)]
        bounds = {
            side: int(share * SMALL_N / SMALL_K)
            for side, share in zip(("size_min", "size_max"), shares, strict=True)
            if share
        }
        draws = [(Constraints(n_items=SMALL_N), start) for start in starts]
        once = run_side("k-means-constrained", X, draws, n_clusters=SMALL_K, assign_only=True, **bounds)
        costs = [pairwise_distances(X, start, metric="sqeuclidean") for start in starts]
        ours = [size_constrained_assignment(cost, **bounds).cost for cost in costs]
        everyone = np.arange(SMALL_N)
        theirs = [
            float(cost[everyone, labels].sum()) for cost, labels in zip(costs, once["labels"], strict=True)
        ]
        worse, told = excess(ours, theirs)
        rows.append(
            verdict(
                f"{name}: cost of the assignment, {STARTS} starts",
                f"{worse} of {STARTS} above theirs",
                theirs=told,
                goal="0 above",
                reached=worse == 0,
                by_start=[ours, theirs],
            )
        )
        done = run_side("k-means-constrained", X, draws, n_clusters=SMALL_K, **bounds)
        theirs = [inertia(X, labels) for labels in done["labels"]]
        ends = [
            (known, means(X, labels, SMALL_K))
            for (known, _), labels in zip(draws, done["labels"], strict=True)
        ]
        went_on, own = (
            run_side("ours", X, jobs, n_clusters=SMALL_K, method="SizeConstrainedKMeans", parameters=bounds)[
                "labels"
            ]
            for jobs in (ends, draws)
        )
        ours = [inertia(X, labels) for labels in went_on]
        worse, told = excess(ours, theirs)
        rows.append(
            verdict(
                f"{name}: a fit from where theirs ended, {STARTS} starts",
                f"{worse} of {STARTS} end higher",
                theirs=told,
                goal="0 higher",
                reached=worse == 0,
                by_start=[ours, theirs],
            )
        )
        ours = [inertia(X, labels) for labels in own]
        rows.append(
            verdict(
                f"{name}: a fit from the same start, {STARTS} starts",
                f"{excess(ours, theirs)[0]} of {STARTS} end higher",
                theirs=excess(ours, theirs)[1],
                remark="Two paths from one start may end at different local minima.",
                by_start=[ours, theirs],
            )
        )
    return rows


def scale_rows() -> list[dict[str, Any]]:
    """The same three blobs in other units, from a point of each."""
    points, truth = overlapping_blobs(300, 2, 3, apart=10.0, seed=SEED)
    rows = []
    for scale in SCALES:
        X = points * scale
        both = sides(X, [X[np.unique(truth, return_index=True)[1]]], 3, {"size_min": 80})
        found = [side["labels"][0] for side in both]
        shown = [
            "no answer" if labels is None else f"{adjusted_rand_score(truth, labels):.3f}" for labels in found
        ]
        rows.append(
            verdict(
                f"3 blobs far apart, times {scale:g}: adjusted Rand index",
                shown[0],
                theirs=shown[1],
                goal="1",
                reached=shown[0] == "1.000",
            )
        )
    return rows


def main() -> None:
    rows, versions = speed()
    rows.append(free_row())
    rows += cost_rows()
    rows += scale_rows()
    save(
        __name__,
        TITLE,
        rows,
        data=f"mixture of {COMPONENTS} Gaussians in {D} dimensions, float64, shares Dirichlet(2)",
        n_init=1,
        tol="0 in races, 1e-4 in the lines on cost",
        seeds=f"{SEED}; starts 0 to {STARTS - 1}",
        times="median of 5 (theirs 3 or 1) after one fit",
        rival=versions,
        first_centers="the same, rows at random",
    )
