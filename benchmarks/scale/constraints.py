"""A million links, checked and explained; and what `import coterie` costs.

The floor: a chain of a million must-links is 16 MB of pairs; building must sort them once, closing must
read them once. Warm cache: a first run in a fresh process compiles the kernels and is not counted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.measure import in_fresh_process, save, verdict

TITLE = "a million links: checked, explained; and what import costs"
QUICK = True
N = 1_000_000


def chain() -> Any:
    first = np.arange(N - 1)
    return np.column_stack([first, first + 1])


def chain_explained(links: Any) -> str:
    from coterie import Constraints

    known = Constraints(links, n_items=N)
    assert known.components.max() == 0
    contradicted = known | Constraints(cannot_link=[(0, N - 1)], n_items=N)
    told = contradicted.explain()
    assert told.complete
    assert len(told.conflict.must_link) == N - 1
    return str(told).splitlines()[0]


def true_pairs() -> Any:
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=N)
    pairs = rng.integers(N, size=(6_000_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return pairs[same][:500_000], pairs[~same][:500_000]


def million_checked(pairs: Any) -> str:
    from coterie import Constraints

    known = Constraints(*pairs, n_items=N)
    answer = known.check(10)
    if answer.status == "feasible":
        assert not known.violations(answer.witness)
    return f"{answer.status} ({answer.reason})"


def frames() -> Any:
    return np.arange(N) // 1000


def distinct_checked(groups: Any) -> str:
    from coterie import Constraints

    known = Constraints.distinct(groups)
    return f"k=1000 {known.check(1000).status}, k=999 {known.check(999).status}"


def import_seconds(code: str) -> float:
    timed = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    runs = [
        float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True).stdout)
        for _ in range(7)
    ]
    return statistics.median(runs)


def main() -> None:
    rows = []
    for function, prepare, what, seconds, megabytes in (
        (
            "chain_explained",
            "chain",
            "chain of 1,000,000 must-links: build, close, contradict, explain",
            10,
            0,
        ),
        ("million_checked", "true_pairs", "500,000 + 500,000 links on 1,000,000 items, check(10)", 10, 1000),
        (
            "distinct_checked",
            "frames",
            "distinct: 1,000 groups of 1,000, check(1000) and check(999)",
            10,
            1000,
        ),
    ):
        in_fresh_process(__name__, function, prepare)
        run = in_fresh_process(__name__, function, prepare)
        cpu, peak = run["cpu_s"], run["peak_mb_above_input"]
        rows.append(
            verdict(
                what,
                f"{cpu:.2f} s, {peak:.0f} MB above the input",
                goal=f"{seconds} s" + (f", {megabytes} MB" if megabytes else ""),
                reached=cpu < seconds and (not megabytes or peak < megabytes),
                **run,
            )
        )
    ours = import_seconds("import coterie; coterie.Constraints([(0, 1)], [(1, 2)], n_items=3).check(2)")
    theirs = import_seconds("import sklearn.cluster")
    rows.append(
        verdict(
            "import coterie and check, against import sklearn.cluster (wall seconds)",
            f"{ours:.3f} s",
            theirs=f"{theirs:.3f} s",
            ratio=ours / theirs,
            goal="at most 1/3",
            reached=ours < theirs / 3,
            coterie_s=ours,
            sklearn_cluster_s=theirs,
        )
    )
    save(__name__, TITLE, rows, times="warm kernel cache; import: median of 7")
