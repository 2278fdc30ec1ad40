"""k-means on a million points: against scikit-learn, with and without 100,000 pairs, and against the floor.

The floor of a Lloyd iteration: 2 n k d operations for the scores and one reading of X (the sums by cluster
can be made in the same reading). It costs at least the longer of both, at the rates that BLAS reaches in
the same process. Products this thin (k = 10, d = 16) do not reach the rate of square ones, so the time of
the product alone stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import coterie
from benchmarks.measure import cpu_seconds, in_fresh_process, save, verdict
from coterie import Constraints

TITLE = "k-means on 1,000,000 points, with and without 100,000 pairs"
QUICK = False
N, D, K = 1_000_000, 16, 10
SHORT, LONG = 2, 22  # iterations; what differs is the time of 20
CASES = [("PCKMeans", False), ("PCKMeans", True), ("COPKMeans", False), ("COPKMeans", True)]


def points(n: int = N) -> tuple[Any, Any, Any]:
    """Overlapping blobs in float32, their true clusters, and first centres."""
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=n)
    X = rng.standard_normal((n, D), dtype=np.float32)
    X += rng.normal(scale=0.6, size=(K, D)).astype(np.float32)[truth]
    return X, truth, X[rng.choice(n, K, replace=False)].copy()


def pairs(truth: Any, number: int) -> list[Constraints]:
    """True pairs, one for ten points, as often as asked: each neither closed nor checked yet."""
    drawn = Constraints.sample(truth, n_pairs=len(truth) // 10, random_state=0)
    return [Constraints(drawn.must_link, drawn.cannot_link, n_items=len(truth)) for _ in range(number)]


def fit(method: str, X: Any, init: Any, max_iter: int, known: Any = None) -> Any:
    """Fit one of ours, or scikit-learn's KMeans, with the same start and no tolerance."""
    given = {"init": init, "n_init": 1, "max_iter": max_iter, "tol": 0, "random_state": 0}
    if method == "KMeans":
        return KMeans(K, algorithm="lloyd", **given).fit(X)
    return getattr(coterie, method)(K, **given).fit(X, constraints=known)


def same_as_sklearn(given: Any) -> dict[str, Any]:
    """Times of 20 iterations on both sides, and labels that differ from scikit-learn's in float64."""
    X, _, init = given
    fitted: dict[str, Any] = {}
    ours, theirs = cpu_seconds(
        lambda: fitted.update(ours=fit("PCKMeans", X, init, 20)),
        lambda: fitted.update(theirs=fit("KMeans", X, init, 20)),
    )
    exact = fit("KMeans", X.astype(np.float64), init.astype(np.float64), 20)
    different = [int((one.labels_ != exact.labels_).sum()) for one in fitted.values()]
    n_iter = [one.n_iter_ for one in (*fitted.values(), exact)]
    return {"ours": ours, "theirs": theirs, "n_iter": n_iter, "labels_that_differ": different}


def points_for(n: int, cases: list[Any]) -> Any:
    """The input of `iterations`."""
    return points(n), cases


def iterations(given: Any) -> list[dict[str, Any]]:
    """Seconds of an iteration: marginal (a long fit less a short one) and whole (a long fit over all)."""
    (X, truth, init), cases = given
    steps: dict[Any, int] = {}

    def job(method: str, with_pairs: bool, most: int) -> Any:
        fresh = pairs(truth, 6) if with_pairs else [None] * 6
        return lambda: steps.update(
            {(method, with_pairs, most): fit(method, X, init, most, fresh.pop()).n_iter_}
        )

    times = cpu_seconds(*(job(*case, most) for case in cases for most in (SHORT, LONG)))
    answer = []
    for i, case in enumerate(cases):
        short, long = times[2 * i], times[2 * i + 1]
        few, many = steps[*case, SHORT], steps[*case, LONG]
        marginal = (long["cpu_s"] - short["cpu_s"]) / (many - few)
        answer.append({"marginal_s": marginal, "whole_s": long["cpu_s"] / many, "n_iter": [few, many]})
    return answer


def warmed_up(method: str, with_pairs: bool) -> Any:
    """The input of `fit_once`; the kernels are loaded, so that they do not count as its memory."""
    X, truth, init = points()
    few = slice(N // 10)
    fit(method, X[few], init, SHORT, *(pairs(truth[few], 1) if with_pairs else []))
    return method, X, init, SHORT, *(pairs(truth, 1) if with_pairs else [])


def fit_once(given: Any) -> None:
    """What the peak of memory is taken of."""
    fit(*given)


def floor(given: Any) -> dict[str, float]:
    """What an iteration must cost, at the rates that BLAS reaches here."""
    X, _, init = given
    square = np.ones((1024, 1024), dtype=np.float32)
    flat, scores, columns = X.ravel(), np.empty((2048, K), dtype=np.float32), np.ascontiguousarray(init.T)

    def product() -> None:
        for start in range(0, N - 2047, 2048):
            np.matmul(X[start : start + 2048], columns, out=scores)

    multiply, read, thin = cpu_seconds(lambda: square @ square, lambda: flat @ flat, product)
    flop, rate, bandwidth = 2 * N * K * D, 2 * 1024**3 / multiply["cpu_s"], X.nbytes / read["cpu_s"]
    least = max(flop / rate, X.nbytes / bandwidth)
    return {"gflops": rate / 1e9, "gb_per_s": bandwidth / 1e9, "floor_s": least, "product_s": thin["cpu_s"]}


def memory_rows() -> list[dict[str, Any]]:
    rows = []
    once = N * D * 4 / 2**20
    for method, with_pairs in [*CASES, ("KMeans", False)]:
        for _ in range(2):  # the first may compile, which leaves free memory behind
            run = in_fresh_process(__name__, "fit_once", "warmed_up", (method, with_pairs))
        peak, rival = run["peak_mb_above_input"], method == "KMeans"
        rows.append(
            verdict(
                f"peak memory above X, {method}{', with pairs' if with_pairs else ''}",
                "" if rival else f"{peak:.0f} MB",
                theirs=f"{peak:.0f} MB" if rival else "",
                ratio=peak / once,
                goal="" if rival else f"once X, {once:.0f} MB",
                reached=None if rival else peak <= once,
                missed="Closing and checking pairs on a million items keeps 33 MB, the sums and costs of the "
                "constrained units 36 MB (float64).",
                peak_mb=peak,
            )
        )
    return rows


def main() -> None:
    rows = memory_rows()
    run = in_fresh_process(__name__, "same_as_sklearn", "points")["answer"]
    ours, theirs, different = run["ours"], run["theirs"], run["labels_that_differ"]
    ratio = ours["cpu_s"] / theirs["cpu_s"]
    rows += [
        verdict(
            "no pairs, 20 iterations, against KMeans(algorithm='lloyd')",
            f"{ours['cpu_s']:.2f} s",
            theirs=f"{theirs['cpu_s']:.2f} s",
            ratio=ratio,
            first_fit=f"{ours['first_s']:.2f} s, theirs {theirs['first_s']:.2f} s",
            goal="at most 0.8",
            reached=ratio <= 0.8 and run["n_iter"] == [20, 20, 20],
            missed="See the last lines: the product and the choice of the least score take most of it.",
            raw=run,
        ),
        verdict(
            "labels that differ from KMeans in float64",
            str(different[0]),
            theirs=f"KMeans in float32: {different[1]}",
            goal="0",
            reached=different[0] == 0,
            remark="Our sums are float64 in any case; its are float32 and drift.",
        ),
    ]

    cases = [*CASES, ("KMeans", False)]
    timed = in_fresh_process(__name__, "iterations", "points_for", (N, cases))["answer"]
    by_case = dict(zip(cases, timed, strict=True))
    for method in ("PCKMeans", "COPKMeans"):
        free, bound = by_case[method, False], by_case[method, True]
        for kind, what in (("marginal_s", "an iteration"), ("whole_s", "a whole fit over its iterations")):
            ratio = bound[kind] / free[kind]
            judged = kind == "marginal_s"
            rows.append(
                verdict(
                    f"{method} with {N // 10:,} pairs, {what}",
                    f"{bound[kind]:.4f} s",
                    theirs=f"without pairs {free[kind]:.4f} s",
                    ratio=ratio,
                    goal="at most 2" if judged else "",
                    reached=ratio <= 2 if judged else None,
                    missed="18 % of the points carry pairs; these are visited several times an iteration.",
                    remark="" if judged else "Closing, checking and adding up the pairs once is in it.",
                    raw={"with": bound, "without": free},
                )
            )

    sizes = [N // 100, N // 10, N]
    for case in CASES:
        times = [
            in_fresh_process(__name__, "iterations", "points_for", (n, [case]))["answer"][0]["marginal_s"]
            for n in sizes[:2]
        ] + [by_case[case]["marginal_s"]]
        exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
        rows.append(
            verdict(
                f"{case[0]}{', a pair for 10 points' if case[1] else ''}: growth with n, exponent",
                f"{exponent:.2f} ({', '.join(f'{t:.2g} s' for t in times)})",
                goal="at most 1.05",
                reached=exponent <= 1.05,
                sizes=sizes,
                seconds=times,
            )
        )

    least = in_fresh_process(__name__, "floor", "points")["answer"]
    step, theirs = (by_case[method, False]["marginal_s"] for method in ("PCKMeans", "KMeans"))
    rows.append(
        verdict("an iteration without pairs", f"{step:.4f} s", theirs=f"{theirs:.4f} s", ratio=step / theirs)
    )
    rates = "0.32 Gflop at {gflops:.0f} a second, 64 MB at {gb_per_s:.0f} GB a second".format(**least)
    for kind, what in (("floor_s", rates), ("product_s", "the product alone, in blocks")):
        rows.append(
            verdict(
                f"an iteration without pairs against its floor: {what}",
                f"{step:.4f} s",
                theirs=f"floor {least[kind]:.4f} s",
                ratio=step / least[kind],
                raw=least,
            )
        )
    save(
        __name__,
        TITLE,
        rows,
        data=f"{N} x {D} float32, {K} overlapping blobs, true pairs",
        n_init=1,
        tol=0,
        seeds=0,
        times="median of 5 after one fit, by turns in one process",
        first_centers="the same",
    )
