"""The table of chapter 1: adjusted Rand index on iris and wine by the number of pairs.

"Theirs" is the prototype behind the specification of the chapter: two digits, 10 or 20 draws of its own.
COP in random order is Wagstaff's literal algorithm, COP by degeneracy the greedy pass in that order; both
may run into a dead end, and the share of starts that do is reported, not judged. These and k-means must come
out the same. COPKMeans (beside the degeneracy column) and PCKMeans are ours as they come; they may do better.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import save, verdict
from benchmarks.protocol import Method, learning_curve
from coterie import COPKMeans, PCKMeans
from coterie.datasets import load_table
from coterie.exceptions import DeadEndError, ViolatedConstraintsWarning

TITLE = "chapter 1: adjusted Rand index by pairs, 20 draws"
QUICK = True
DRAWS, STARTS, BAND = 20, 10, 0.05

# data; pairs; k-means; COP random and share failed; COP degeneracy and share failed; PCK, mixed start
SPEC = """
iris            0  .73  .73 0     .73 0    .73
iris           25  .73  .76 .025  .72 0    .75
iris           50  .73  .79 .14   .76 0    .76
iris          100  .73  .82 .88   .84 0    .81
iris          200  .73  .94 .995  .94 .28  .94
wine            0  .37  .37 0     .37 0    .37
wine           50  .37  .40 .38   .38 0    .40
wine          100  .37  -   1     .44 0    .44
wine          200  .37  -   1     .63 .01  .59
wine-z-scored   0  .90  .90 0     .90 0    .90
wine-z-scored  50  .90  .93 .14   .93 0    .91
wine-z-scored 100  .90  -   -     .95 0    .95
wine-z-scored 200  .90  -   -     .99 .06  .97
"""
REMARKS: dict[str, str] = {}  # why the number of a row is missed, by its first cell


def restarts(make: Callable[[int], Any]) -> Method:
    """The best of some starts by its objective, and the share that ran into a dead end."""

    def method(X: Any, constraints: Any, seed: int) -> Any:
        fitted = []
        for start in range(STARTS):
            try:
                fitted.append(make(STARTS * seed + start).fit(X, constraints=constraints))
            except DeadEndError:
                continue
        best = min(fitted, key=lambda one: one.objective_).labels_ if fitted else None
        return best, 1 - len(fitted) / STARTS

    return method


def methods(k: int) -> dict[str, Method]:
    def free(X: Any, _: Any, seed: int) -> Any:
        return PCKMeans(k, n_init=STARTS, random_state=seed).fit(X).labels_, 0.0

    def cop(X: Any, constraints: Any, seed: int) -> Any:
        return COPKMeans(k, n_init=STARTS, random_state=seed).fit(X, constraints=constraints).labels_, 0.0

    def pck(X: Any, constraints: Any, seed: int) -> Any:
        return PCKMeans(k, n_init=STARTS, random_state=seed).fit(X, constraints=constraints).labels_, 0.0

    return {
        "k-means": free,
        "COP, random order": restarts(
            lambda seed: COPKMeans(k, strategy="wagstaff", init="random", n_init=1, random_state=seed)
        ),
        "COP, greedy by degeneracy": restarts(
            lambda seed: COPKMeans(k, assignment="greedy", n_init=1, random_state=seed)
        ),
        "COPKMeans": cop,
        "PCKMeans": pck,
    }


def main() -> None:
    warnings.simplefilter("ignore", ViolatedConstraintsWarning)  # PCKMeans may break pairs here
    table = [line.split() for line in SPEC.strip().splitlines()]
    rows = []
    for name in dict.fromkeys(line[0] for line in table):
        X, y = load_table(name.split("-")[0], return_X_y=True)
        X = StandardScaler().fit_transform(X) if name.endswith("z-scored") else X
        lines = {int(line[1]): line for line in table if line[0] == name}
        for title, method in methods(len(np.unique(y))).items():
            curve = learning_curve(method, X, y, list(lines), DRAWS)
            for pairs, got in curve.items():
                rows.append(judge(name, title, pairs, lines[pairs], got))
    save(
        __name__,
        TITLE,
        rows,
        n_init=STARTS,
        seeds=f"0 to {DRAWS - 1}",
        pairs="drawn at random from all pairs, true kinds",
        weight="half the total variance",
    )


def judge(name: str, title: str, pairs: int, line: list[str], got: dict[str, float]) -> dict[str, Any]:
    """A row: our number beside the prototype's."""
    place = {"k-means": 2, "COP, random order": 3, "PCKMeans": 7}.get(title, 5)
    said, failed = line[place], line[place + 1] if place in (3, 5) else ""
    shown = f"{got['ari']:.2f} +- {got['ari_se']:.2f}, held-out {got['held_out_ari']:.2f}"
    if not got["answered"]:
        shown = "no answer"
    elif got["answered"] < DRAWS:
        shown += f", {got['answered']} of {DRAWS} draws answered"
    if title.startswith("COP,"):
        shown += f"; {got['failed_starts']:.1%} of starts fail"
    theirs = {"-": "none" if failed == "1" else "not run"}.get(said, said)
    if failed not in ("", "-"):
        theirs += f"; {float(failed):.1%} fail"
    judged = said != "-" and got["answered"] > 0
    above = round(got["ari"], 2) - float(said) if judged else 0.0
    as_they_come = title in ("COPKMeans", "PCKMeans")
    what = f"{name.replace('-', ' ', 1)}, {pairs} pairs, {title}"
    return verdict(
        what,
        shown,
        theirs=theirs,
        goal=(f"within {BAND}" + (", or above" if as_they_come else "")) if judged else "",
        reached=-BAND - 1e-9 <= above <= (1 if as_they_come else BAND + 1e-9) if judged else None,
        remark="Above the prototype: the search ends at a lower objective."
        if as_they_come and above > BAND
        else "",
        missed=REMARKS.get(what, ""),
        **{key: None if np.isnan(value) else value for key, value in got.items()},
    )
