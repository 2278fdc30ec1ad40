"""How long a person waits for the command line: whole processes, wall time, reading and writing included."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import save, verdict

TITLE = "the command line, from start to end of the process (wall time, 2 cores, cache warm)"
QUICK = True


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
    rows = []
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
