"""How often COP-k-means gives up: pairs that the truth satisfies, so that an answer always exists.

Ours must answer every time with no pair broken. The rival, a greedy pass in the order of the rows, begins
each draw from some starts of its own. The 3 points are the case of issue 9 of its repository: the last,
in the middle, may meet neither of the others, so these two must share a cluster; every start parts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import save, verdict
from benchmarks.protocol import draw
from benchmarks.race import run_side
from coterie import Constraints
from coterie.datasets import list_tables, load_table

TITLE = "starts without an answer, COPKMeans and htcopkmeans 1.5"
QUICK = True
PAIRS, SEEDS = 100, 50
# for the rival: the number of draws and of starts for each (it takes seconds for one on the larger tables)
TABLES = {"iris": (SEEDS, 10), "wine": (SEEDS, 10), "vowel": (10, 1), "segment": (10, 1)}


def race(what: str, X: Any, draws: list[Constraints], k: int, n_theirs: int, starts: int) -> dict[str, Any]:
    """A row: our answers to all draws, and the share of the rival's starts that fail."""
    jobs = [(c, None) for c in draws]
    ours = run_side("ours", X, jobs, n_clusters=k, method="COPKMeans", parameters={})
    # the starts of a draw stand together; the seed of each is its place in the list
    jobs = [job for job in jobs[:n_theirs] for _ in range(starts)]
    theirs = run_side("htcopkmeans", X, jobs, n_clusters=k)
    given_up, share = sum(ours["failed"]), float(np.mean(theirs["failed"]))
    answers = [(c, labels) for c, labels in zip(draws, ours["labels"], strict=True) if labels is not None]
    broken = sum(c.violations(labels).n_broken for c, labels in answers)
    hopeless = np.reshape(theirs["failed"], (n_theirs, starts)).all(axis=1).mean()
    return verdict(
        what,
        f"{given_up} of {len(draws)} without an answer, {broken} pairs broken",
        theirs=f"{share:.0%} of {len(jobs)} starts fail; every start in {hopeless:.0%} of draws",
        goal="0 and 0",
        reached=given_up == 0 and broken == 0,
        theirs_failed_share=share,
        ours_cpu_s=float(np.median(ours["draw_cpu_s"])),
        theirs_cpu_s=float(np.median(theirs["draw_cpu_s"])),
        versions={"ours": ours["versions"], "theirs": theirs["versions"]},
    )


def main() -> None:
    apart = Constraints(cannot_link=[(0, 2), (1, 2)], n_items=3)
    line = np.array([[0.0], [10.0], [5.0]])
    rows = [race("3 points, 2 cannot-links (issue 9)", line, [apart] * SEEDS, 2, SEEDS, 1)]
    there = list_tables()
    for name, asked in TABLES.items():
        if not there[name]:
            print(f"{name} is left out: set COTERIE_DATA to the folder that holds it")
            continue
        X, y = load_table(name, return_X_y=True)
        draws = [draw(y, PAIRS, seed) for seed in range(SEEDS)]
        rows.append(race(f"{name}, {PAIRS} true pairs", X, draws, len(np.unique(y)), *asked))
    save(
        __name__,
        TITLE,
        rows,
        seeds=f"0 to {SEEDS - 1}",
        n_init=1,
        first_centers="each side its own",
        rival=rows[0]["versions"]["theirs"],
    )
