"""What compiling costs once, and that a second process compiles nothing."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import in_fresh_process, save, verdict
from benchmarks.protocol import draw, overlapping_blobs

TITLE = "compiled kernels: the first fit of a process"
QUICK = True
METHODS = ("COPKMeans", "PCKMeans")


def first_fits(method: str) -> dict[str, Any]:
    """Fit a small problem with pairs twice; count what numba had to compile."""
    import coterie
    from coterie._compiled import kernels
    from coterie._compiled.kernels import all_kernels

    kernels._MOST_STEPS = -1  # so small a problem would be interpreted
    X, y = overlapping_blobs(2000, 8, 4, apart=1.0, seed=0)
    known = draw(y, 400, 0)
    model = getattr(coterie, method)(4, random_state=0)
    took = []
    for _ in range(2):
        start = time.process_time()
        model.fit(X, constraints=known)
        took.append(time.process_time() - start)
    compiled = [kernel.compiled for kernel in all_kernels()]
    misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in compiled)
    return {"first_s": took[0], "second_s": took[1], "compiled": misses}


def main() -> None:
    rows = []
    for method in METHODS:
        with tempfile.TemporaryDirectory() as folder:
            runs, files = [], []
            for _ in range(2):
                run = in_fresh_process(__name__, "first_fits", args=(method,), NUMBA_CACHE_DIR=folder)
                runs.append(run["answer"])
                files.append({(path, path.stat().st_mtime_ns) for path in Path(folder).rglob("*.nb?")})
        new = len(files[1] - files[0])
        cold, warm = runs
        rows.append(
            verdict(
                f"{method}: a second process",
                f"compiles {warm['compiled']} kernels, writes {new} files",
                theirs=f"the first: {cold['compiled']} kernels, {len(files[0])} files",
                first_fit=f"{warm['first_s']:.2f} s (empty cache: {cold['first_s']:.2f} s)",
                goal="0 and 0",
                reached=warm["compiled"] == 0 and new == 0,
                remark=f"The next fit takes {warm['second_s']:.3f} s.",
                raw=runs,
            )
        )
    save(__name__, TITLE, rows, data="2000 x 8 float64, 400 pairs", seeds=0)
