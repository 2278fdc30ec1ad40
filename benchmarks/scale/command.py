"""How long a person waits for the command line: whole processes, wall time, reading and writing included.

The first minute, with no kernel compiled yet, is counted in CPU: README's first blocks, and `make run`.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import save, verdict

TITLE = "the command line (wall time of the process, 2 cores, cache warm), and the first minute"
QUICK = True
ROOT = Path(__file__).resolve().parents[2]
SKLEARN = "from sklearn import cluster, datasets, preprocessing"


def write_files(folder: Path, n: int, d: int, n_pairs: int) -> None:
    """A table of five overlapping blobs with an id column, and true pairs about it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=n)
    X = rng.normal(size=(5, d))[truth] * 2 + rng.normal(size=(n, d))
    head = ",".join(["id", *(f"x{number}" for number in range(d))])
    table = np.column_stack([np.arange(n) + 1_000_000, X])
    np.savetxt(folder / "data.csv", table, delimiter=",", header=head, comments="", fmt=["%d", *["%.6f"] * d])
    pairs = rng.choice(n, size=(n_pairs, 2), replace=True)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    lines = [
        f"{i + 1_000_000},{j + 1_000_000},{'must' if truth[i] == truth[j] else 'cannot'}-link\n"
        for i, j in pairs.tolist()
    ]
    (folder / "pairs.csv").write_text("i,j,kind\n" + "".join(lines))


def wall(folder: Path, *words: str, repeats: int = 5) -> dict[str, Any]:
    """Median seconds of a run of the command, after one that is not counted."""
    took = []
    for number in range(repeats + 1):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "coterie.cli", *words], cwd=folder, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"coterie {' '.join(words)}: {done.stderr}")
        if number:
            took.append(time.perf_counter() - start)
    return {"seconds": statistics.median(took), "all": took}


def first_cpu(*commands: list[str], repeats: int = 5) -> dict[str, Any]:
    """Median CPU seconds of Python processes, one after the other, on an empty cache of kernels."""
    took = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as place:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            for command in commands:
                environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(place) / "cache")}
                subprocess.run(
                    [sys.executable, *command], cwd=place, env=environment, check=True, capture_output=True
                )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"seconds": statistics.median(took), "all": took}


def first_minute() -> list[dict[str, Any]]:
    """What a newcomer waits for: README's first blocks, and the commands of `make run`."""
    rows = []
    sklearn = first_cpu(["-c", SKLEARN])
    for number in (1, 3):  # the second goes on from the first
        block = (ROOT / "README.md").read_text().split("```python\n")[number].split("```")[0]
        found = first_cpu(["-c", block])
        beyond = {"seconds": found["seconds"] - sklearn["seconds"], "block": found, "sklearn": sklearn}
        what = f"empty cache: README's block {number}, CPU beyond importing scikit-learn"
        rows.append(line(what, beyond, 1.5))
    files = ("wine.csv", "--id", "bottle", "--pairs", "pairs.csv", "-k", "3")
    run = first_cpu(
        [str(ROOT / "examples" / "wine_files.py"), "."],
        ["-m", "coterie.cli", "check", *files],
        ["-m", "coterie.cli", "cluster", *files, "-o", "out"],
    )
    rows.append(line("empty cache: the three commands of make run, CPU", run, 6))
    return rows


def line(what: str, found: dict[str, Any], goal: float, remark: str = "") -> dict[str, Any]:
    seconds = found["seconds"]
    return verdict(
        what,
        f"{seconds:.2f} s",
        goal=f"< {goal:g} s",
        reached=seconds < goal,
        remark=remark,
        raw=found,
    )


def main() -> None:
    rows = first_minute()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder, 1000, 10, 200)
        pairs = ("--id", "id", "--pairs", "pairs.csv")
        rows.append(line("coterie --help", wall(folder, "--help"), 0.5))
        rows.append(line("coterie methods", wall(folder, "methods"), 0.5))
        check = wall(folder, "check", "data.csv", *pairs, "-k", "5")
        rows.append(line("coterie check: 1,000 rows, 200 pairs", check, 0.5))
        cluster = ("cluster", "data.csv", "-k", "5", *pairs, "-o", "out", "--force")
        small = wall(folder, *cluster)
        rows.append(line("coterie cluster with report: 1,000 x 10, 200 pairs", small, 5))
        write_files(folder, 1_000_000, 10, 10_000)
        large = wall(folder, *cluster, repeats=1)
        rows.append(line("coterie cluster with report: 1,000,000 x 10, 10,000 pairs", large, 60))
    save(__name__, TITLE, rows, threads="2", data="CSV, five overlapping blobs, true pairs by id", seeds=0)


if __name__ == "__main__":
    main()
