"""How a figure is taken: a fresh process, its CPU time and peak memory; kept as JSON with its conditions."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

_RUNNER = """
import gc, json, time
import {module} as experiment

def memory(field):
    # kilobytes, from the kernel: VmRSS is now, VmHWM the peak
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))

state = experiment.{prepare}() if {prepare!r} else None
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of preparing the input
before = memory("VmRSS")
start = time.process_time()
answer = experiment.{function}(*([] if state is None else [state]))
cpu = time.process_time() - start
peak = memory("VmHWM")
print(json.dumps({{"cpu_s": cpu, "peak_mb_above_input": (peak - before) / 1024, "answer": answer}}))
"""


def in_fresh_process(module: str, function: str, prepare: str = "") -> dict[str, Any]:
    """Run `module.function(prepare())` in a process of its own, on one thread; the input is not counted.

    Linux only: the peak is read from the kernel and reset once the input stands.
    """
    code = _RUNNER.format(module=module, function=function, prepare=prepare)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **threads},
    )
    return json.loads(done.stdout.splitlines()[-1])


def conditions() -> dict[str, str]:
    """The machine and the versions behind a figure."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        model = found[0] if found else model
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def save(name: str, rows: list[dict[str, Any]]) -> None:
    """Write a result file and the page made of all of them."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(
        json.dumps({"conditions": conditions(), "rows": rows}, indent=1) + "\n"
    )
    write_page()


def write_page() -> None:
    """Write RESULTS.md out of the result files: a verdict a line."""
    lines = [
        "# Results",
        "",
        "Made by `make bench` out of `benchmarks/results/*.json`; not edited by hand.",
        "",
    ]
    for path in sorted(RESULTS.glob("*.json")):
        result = json.loads(path.read_text())
        lines += [f"## {path.stem}", "", ", ".join(f"{k} {v}" for k, v in result["conditions"].items()), ""]
        lines += ["| what | measured | goal | reached |", "|---|---|---|---|"]
        for row in result["rows"]:
            lines.append(
                f"| {row['what']} | {row['measured']} | {row['goal']} | {'yes' if row['reached'] else 'NO'} |"
            )
        lines.append("")
    (RESULTS.parent / "RESULTS.md").write_text("\n".join(lines))
