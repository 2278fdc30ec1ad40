"""How a figure is taken: a fresh process, its CPU time and peak memory; kept as JSON with its conditions."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent / "RESULTS.md"

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

_RUNNER = """
import gc, json, sys, time
import {module} as experiment

def memory(field):
    # kilobytes, from the kernel: VmRSS is now, VmHWM the peak
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))

args = json.loads(sys.argv[1])
prepare = {prepare!r}
state = [getattr(experiment, prepare)(*args)] if prepare else args
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of preparing the input
before = memory("VmRSS")
start = time.process_time()
answer = experiment.{function}(*state)
cpu = time.process_time() - start
peak = memory("VmHWM")
print(json.dumps({{"cpu_s": cpu, "peak_mb_above_input": (peak - before) / 1024, "answer": answer}}))
"""


def one_thread(**more: str) -> dict[str, str]:
    """The environment of a measured process: every library on one thread."""
    return {**os.environ, **dict.fromkeys(_THREADS, "1"), **more}


def in_fresh_process(
    module: str, function: str, prepare: str = "", args: tuple[Any, ...] = (), **environment: str
) -> dict[str, Any]:
    """Run `module.function(prepare(*args))` in a process of its own, on one thread; the input is not counted.

    Linux only: the peak is read from the kernel and reset once the input stands.
    """
    code = _RUNNER.format(module=module, function=function, prepare=prepare)
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(args)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=one_thread(**environment),
        cwd=ROOT,
    )
    return json.loads(done.stdout.splitlines()[-1])


def cpu_seconds(*jobs: Callable[[], Any], repeats: int = 5) -> list[dict[str, float]]:
    """CPU time of each job: of the first run, and the median of the later ones; the jobs take turns."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats + 1):
        for job, own in zip(jobs, times, strict=True):
            start = time.process_time()
            job()
            own.append(time.process_time() - start)
    return [{"first_s": own[0], "cpu_s": statistics.median(own[1:])} for own in times]


def conditions(**more: Any) -> dict[str, str]:
    """The machine and the versions behind a figure."""
    names = ("coterie", "numpy", "scipy", "scikit-learn", "numba")
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if "model name" in line), model)
    more = {
        name: " ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        for name, value in more.items()
    }
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "threads": "1",
        "python": platform.python_version(),
        **{name: version(name) for name in names},
        **more,
    }


def verdict(
    what: str,
    ours: str,
    *,
    theirs: str = "",
    ratio: float | None = None,
    goal: str = "",
    reached: bool | None = None,
    first_fit: str = "",
    remark: str = "",
    missed: str = "",
    **raw: Any,
) -> dict[str, Any]:
    """A line of the page. `missed` says why, and is printed only where the goal is not reached."""
    reached = None if reached is None else bool(reached)
    remarks = " ".join(part for part in (remark, missed if reached is False else "") if part)
    row = {"what": what, "ours": ours, "theirs": theirs, "ratio": ratio, "goal": goal, "reached": reached}
    return {**row, "first_fit": first_fit, "remark": remarks, **raw}


def show(rows: list[dict[str, Any]]) -> None:
    """Print the rows."""
    for row in rows:
        print(f"{row['what']}: " + ", ".join(part for part in _cells(row)[1:] if part), flush=True)


def save(module: str, title: str, rows: list[dict[str, Any]], **more: Any) -> None:
    """Print the rows, write the result file of an experiment and the page made of all of them."""
    show(rows)
    RESULTS.mkdir(exist_ok=True)
    name = module.removeprefix("benchmarks.").replace(".", "-")
    result = {"title": title, "conditions": conditions(**more), "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    PAGE.write_text(page(RESULTS))


def page(folder: Path) -> str:
    """The page out of the result files: a verdict a line."""
    lines = [
        "# Results",
        "",
        "Made by `python -m benchmarks` out of `benchmarks/results/*.json`; not edited by hand.",
        "Times are CPU seconds on one thread; `first fit` is the first one of a fresh process.",
        "",
    ]
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text())
        said = "; ".join(f"{name} {value}" for name, value in result["conditions"].items())
        lines += [f"## {path.stem.replace('-', ' ')}: {result['title']}", "", said, ""]
        lines += ["| what | ours | theirs | ratio | first fit | goal | reached | remark |", "|---" * 8 + "|"]
        lines += ["| " + " | ".join(_cells(row)) + " |" for row in result["rows"]]
        lines.append("")
    return "\n".join(lines)


def _cells(row: dict[str, Any]) -> list[str]:
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
    reached = {None: "", True: "yes", False: "NO"}[row["reached"]]
    texts = [row[name] for name in ("what", "ours", "theirs", "first_fit", "goal", "remark")]
    return [*texts[:3], ratio, *texts[3:5], reached, texts[5]]
