"""A race: the same X, pairs and first centres go to both sides as one file; labels and times come back.

A side is a script in rivals/, run by a Python of its own: ours by this one, a rival's by an environment made
on demand in .cache/rivals/NAME out of rivals/NAME.txt.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import ROOT, one_thread, verdict
from coterie import Constraints

RIVALS = Path(__file__).parent / "rivals"
ENVIRONMENTS = ROOT / ".cache" / "rivals"


def environment(name: str) -> Path:
    """The Python of a rival's environment, made first if it is missing or its requirements changed."""
    wanted = RIVALS / f"{name}.txt"
    home = ENVIRONMENTS / name
    python, ready = home / "bin" / "python", home / "ready.txt"
    if ready.exists() and ready.read_text() == wanted.read_text():
        return python
    print(f"installing {name} into {home.relative_to(ROOT)}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(wanted)]
    done = subprocess.run(pip, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} could not be installed from {wanted.relative_to(ROOT)}:\n{done.stderr}")
    ready.write_text(wanted.read_text())
    return python


def run_side(
    name: str,
    X: Any,
    draws: list[tuple[Constraints, Any]],
    *,
    n_clusters: int | None,
    repeats: int = 1,
    **settings: Any,
) -> dict[str, Any]:
    """Let one side ("ours" or a rival) cluster X under each draw: (constraints, first centres or None).

    Without `n_clusters` it learns a distance, and `labels` are its matrices.
    The first draw is fitted once to warm up and then `repeats` times (0: the first fit counts, for a slow
    rival that compiles nothing), the others once. Returns `labels`
    and `n_iter` by draw (labels None where it failed), `cpu_s` of the first draw by repeat, `draw_cpu_s`,
    `first_fit_s`, and `versions`.
    """
    python = Path(sys.executable) if name == "ours" else environment(name)
    arrays = {"X": X, "settings": json.dumps({"n_clusters": n_clusters, "repeats": repeats, **settings})}
    for i, (constraints, init) in enumerate(draws):
        arrays |= {f"must_{i}": constraints.must_link, f"cannot_{i}": constraints.cannot_link}
        arrays |= {} if init is None else {f"init_{i}": init}
    with tempfile.TemporaryDirectory() as folder:
        job, answer = Path(folder) / "job.npz", Path(folder) / "answer.npz"
        np.savez(job, n_draws=len(draws), **arrays)
        script = RIVALS / f"run_{name.replace('-', '_')}.py"
        for _ in range(2 if name == "ours" and repeats > 1 else 1):  # the first fills the kernel cache
            subprocess.run([str(python), str(script), str(job), str(answer)], check=True, env=one_thread())
        with np.load(answer) as file:
            told = json.loads(str(file["told"]))
            labels = file["labels"]
    told["labels"] = [None if failed else row for failed, row in zip(told["failed"], labels, strict=True)]
    return told


def account(side: dict[str, Any]) -> dict[str, Any]:
    """What the first draw cost a side: seconds of a fit (median), iterations, seconds of one, first fit."""
    cpu, n_iter = statistics.median(side["cpu_s"]), side["n_iter"][0]
    told = {"cpu_s": cpu, "n_iter": n_iter, "s_per_iteration": cpu / n_iter}
    return {**told, "first_fit_s": side["first_fit_s"], "versions": side["versions"]}


def speed_rows(what: str, ours: dict[str, Any], theirs: dict[str, Any], times: int) -> list[dict[str, Any]]:
    """Two rows out of two accounts, of a fit and of an iteration: at least so many times faster."""
    rows = []
    for kind, said in (("cpu_s", what), ("s_per_iteration", "an iteration of it")):
        ratio = theirs[kind] / ours[kind]
        shown = [f"{side[kind]:.3g} s" for side in (ours, theirs)]
        first = ""
        if kind == "cpu_s":
            shown = [
                f"{s}, {side['n_iter']} iterations" for s, side in zip(shown, (ours, theirs), strict=True)
            ]
            first = f"{ours['first_fit_s']:.2f} s, theirs {theirs['first_fit_s']:.2f} s"
        goal = {"goal": f"{times} times faster", "reached": ratio >= times, "raw": [ours, theirs]}
        rows.append(verdict(said, shown[0], theirs=shown[1], ratio=ratio, first_fit=first, **goal))
    return rows
