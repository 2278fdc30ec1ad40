"""Learned distances at size: margins of millions of pairs; RCA and Xing's metric beside one look at X.

The margin. The bibliography of chapter 15: 800 records of 6,000 words under eight names, 280,000 pairs that
differ, C = 1; and 20,000 x 50 overlapping blobs in 40 groups, 195 million pairs, none the same, without
slacks. That every pair is at the distance 1 or more is counted anew, over all pairs, from the support pairs
and their multipliers.

The others. RCA and XingMetric at 1,000,000 x 32 with 100,000 true pairs, beside their floors: all must read
X once (a sum over the rows); then RCA needs a product of the rows in chunklets with themselves, Xing (full)
one of its cannot-links for every step. Memory is the peak of a fit in a fresh process above what stood there
before: X, the constraints, and the loaded kernels.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from benchmarks.measure import cpu_seconds, in_fresh_process, save, verdict
from benchmarks.protocol import overlapping_blobs
from coterie import RCA, CannotLinkMetric, Constraints, XingMetric
from coterie.datasets import make_bibliography

TITLE = "learned distances: margins of 195 million pairs, RCA and Xing's metric on 1,000,000 rows"
QUICK = False
VIOLATION, NEAR, CHUNK = 1e-3, 1e-6, 1_000
# name: C, goal of CPU seconds, goal of megabytes above X
MARGINS: dict[str, tuple[float, int, int | None]] = {
    "bibliography": (1.0, 30, None),
    "groups": (math.inf, 60, 1_000),
}
N, D, GROUPS, APART = 20_000, 50, 40, 0.4
ROWS, COLUMNS, K = 1_000_000, 32, 10
LEARNED: dict[str, Any] = {
    "RCA": RCA(),
    "XingMetric": XingMetric(),
    "XingMetric, full": XingMetric(diagonal=False),
}


# ---- margins ----------------------------------------------------------------------------------------------


def told_apart(kind: str) -> tuple[Any, NDArray[Any], float]:
    """Rows, names that tell them apart, and C; the kernels are loaded, so that they do not count."""
    CannotLinkMetric().fit(np.eye(4), constraints=Constraints.across([0, 0, 1, 1]))
    if kind == "bibliography":
        made = make_bibliography(random_state=0)
        return made.data, np.unique(made.names, return_inverse=True)[1], MARGINS[kind][0]
    X, y = overlapping_blobs(N, D, GROUPS, apart=APART, seed=0)
    assert len(np.unique(X, axis=0)) == N
    return X, y, MARGINS[kind][0]


def widen(given: Any) -> dict[str, Any]:
    """What time and memory are taken of; the constraints are read inside."""
    X, names, C = given
    model = CannotLinkMetric(C=C).fit(X, constraints=Constraints.across(names))
    return {
        "n_support": len(model.support_pairs_),
        "gap": float(model.dual_gap_),
        "n_iter": model.n_iter_,
        "n_violated": model.n_violated_,
        "support": [model.support_pairs_.tolist(), model.dual_coef_.tolist()],
    }


def placed(X: Any, pairs: list[list[int]], alpha: list[float]) -> NDArray[Any]:
    """Rows whose distances are those of A = sum of alpha d d' over the differences d of support pairs."""
    i, j = np.array(pairs).T
    axes = sparse.diags(np.sqrt(alpha)) @ (X[i] - X[j])
    return np.asarray(safe_sparse_dot(X, axes.T, dense_output=True))


def largest_violation(rows: NDArray[Any], names: NDArray[Any]) -> tuple[float, int]:
    """1 less the least squared distance of all pairs of different names, and how many these are."""
    least, n_pairs = math.inf, 0
    size = np.einsum("ij,ij->i", rows, rows)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        squares = size[part, None] + size[start:] - 2.0 * rows[part] @ rows[start:].T
        differ = names[part, None] != names[start:]
        # a pair of two rows of this chunk is there twice
        differ[:, : len(squares)] &= np.triu(np.ones((len(squares),) * 2, dtype=bool))
        n_pairs += int(differ.sum())
        i, j = np.nonzero(differ & (squares < 1.0 + NEAR))
        away = rows[start + i] - rows[start + j]
        squares[i, j] = np.einsum("ij,ij->i", away, away)  # without the rounding of products
        least = min(least, float(squares[differ].min(initial=math.inf)))
    return 1.0 - least, n_pairs


def margin_rows() -> list[dict[str, Any]]:
    rows = []
    for kind, (C, seconds, megabytes) in MARGINS.items():
        for _ in range(2):  # the first may compile, which leaves free memory behind
            run = in_fresh_process(__name__, "widen", "told_apart", (kind,))
        found, cpu, peak = run["answer"], run["cpu_s"], run["peak_mb_above_input"]
        X, names, _ = told_apart(kind)
        worst, n_pairs = largest_violation(placed(X, *found.pop("support")), names)
        what = f"{kind}, {X.shape[0]:,} x {X.shape[1]:,}, {n_pairs:,} pairs, C = {C:g}"
        rows += [
            verdict(
                what,
                f"{cpu:.1f} s",
                goal=f"{seconds} s",
                reached=cpu <= seconds,
                remark=f"{found['n_support']:,} support pairs, gap {found['gap']:.1e}.",
                raw={**found, "cpu_s": cpu},
            ),
            verdict(
                f"{what}: largest violation of all pairs",
                f"{max(worst, 0.0):.1e}",
                goal=f"below {VIOLATION:g}",
                reached=worst < VIOLATION and found["n_violated"] == 0,
            ),
            verdict(
                f"{what}: peak memory above X",
                f"{peak:.0f} MB",
                goal="" if megabytes is None else f"{megabytes:,} MB",
                reached=None if megabytes is None else peak <= megabytes,
            ),
        ]
    return rows


# ---- a million rows ---------------------------------------------------------------------------------------


def points(n: int) -> tuple[Any, Any]:
    """Overlapping blobs in float64, and true pairs, one for ten points."""
    X, y = overlapping_blobs(n, COLUMNS, K, apart=0.6, seed=0)
    return X, Constraints.sample(y, n_pairs=n // 10, random_state=0)


def fresh(known: Constraints) -> Constraints:
    """The same, neither closed nor checked yet."""
    return Constraints(known.must_link, known.cannot_link, n_items=known.n_items)


def warm(name: str) -> tuple[Any, Any, Any]:
    few, told = points(10_000)
    LEARNED[name].fit(few, constraints=told)
    X, known = points(ROWS)
    return name, X, fresh(known)


def fit_once(given: Any) -> int:
    """What the peak of memory is taken of."""
    name, X, known = given
    return int(getattr(LEARNED[name].fit(X, constraints=known), "n_iter_", 1))


def times(given: Any) -> dict[str, Any]:
    """CPU seconds of each fit, and of what it cannot do without."""
    X, known = given
    together = X[np.unique(known.must_link)]
    far = X[known.cannot_link[:, 0]] - X[known.cannot_link[:, 1]]
    steps: dict[str, int] = {}

    def job(name: str) -> Any:
        return lambda: steps.update({name: fit_once((name, X, fresh(known)))})

    jobs = [lambda: X.sum(axis=0), lambda: together.T @ together, lambda: far.T @ far, *map(job, LEARNED)]
    names = ["look", "chunklets", "far", *LEARNED]
    taken = zip(names, cpu_seconds(*jobs, repeats=3), strict=True)
    return {"cpu_s": {name: time["cpu_s"] for name, time in taken}, "n_iter": steps}


def million_rows() -> list[dict[str, Any]]:
    got = in_fresh_process(__name__, "times", "points", (ROWS,))["answer"]
    cpu = got["cpu_s"]
    rows = []
    for name in LEARNED:
        peak = in_fresh_process(__name__, "fit_once", "warm", (name,))["peak_mb_above_input"]
        steps = got["n_iter"][name]
        product = {"RCA": cpu["chunklets"], "XingMetric, full": steps * cpu["far"]}.get(name, 0.0)
        rows.append(
            verdict(
                f"{name}, {ROWS:,} x {COLUMNS}, {ROWS // 10:,} pairs",
                f"{cpu[name]:.2f} s, {peak:.0f} MB above X",
                theirs=f"one look at X {cpu['look']:.2f} s"
                + (f", products {product:.2f} s" if product else ""),
                ratio=cpu[name] / (cpu["look"] + product),
                remark=f"{steps} steps." if name != "RCA" else "",
                raw={"cpu_s": cpu[name], "peak_mb": peak, "n_iter": steps},
            )
        )
    return rows


def main() -> None:
    rows = margin_rows() + million_rows()
    save(
        __name__,
        TITLE,
        rows,
        data=f"{GROUPS} overlapping blobs of {N:,} rows; {K} of {ROWS:,}, float64",
        seeds=0,
        times="of the margins one fit; of the others median of 3 after one fit; with reading the constraints",
        load=f"{os.getloadavg()[0]:.1f}, this run included",
    )
