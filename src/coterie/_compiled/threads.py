"""Threads as a pool over fixed chunks of rows.

Chunks depend on the size of the job alone, never on the number of threads, and what they return is added up
in their order: one thread or many give the same numbers. We use as many threads as BLAS may use, so
`OMP_NUM_THREADS` and `threadpoolctl.threadpool_limits` hold for us too; while the pool runs, BLAS itself is
held to one thread.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")

# Multiply-adds that are worth a chunk of their own, and the least number of rows in one.
_CHUNK_WORK = 1 << 23
_CHUNK_ROWS = 1 << 13
# Chunks keep k x d sums each; this many numbers may they hold together.
_MAX_PARTIAL = 1 << 23
# Below this size of X one thread is as fast as many.
_FEW_NUMBERS = 100_000


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


class _Limit:
    """BLAS is held to one thread from the first job that asks until the last one is done."""

    lock = threading.Lock()
    jobs = 0
    had = 1
    limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Hold BLAS to one thread, and use the threads that it had for chunks instead; gives their number."""
    blas = _controller()
    with _Limit.lock:
        if not _Limit.jobs:
            _Limit.had = max((library["num_threads"] for library in blas.info()), default=1)
            _Limit.limiter = blas.limit(limits=1)
        _Limit.jobs += 1
    try:
        yield _Limit.had
    finally:
        with _Limit.lock:
            _Limit.jobs -= 1
            if not _Limit.jobs:
                _Limit.limiter.restore_original_limits()


@functools.cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="openmp")


@contextmanager
def few_threads(n_numbers: int) -> Iterator[None]:
    """Hold OpenMP, which scikit-learn's k-means uses, to one thread where X has few numbers.

    Threads gain nothing there, and where other work runs on the machine they wait for each other: a fit of
    3 milliseconds takes a second of CPU.
    """
    with _openmp().limit(limits=1) if n_numbers < _FEW_NUMBERS else nullcontext():
        yield


def chunk_rows(n_rows: int, width: int, partial: int) -> int:
    """Rows in a chunk: `width` multiply-adds a row, `partial` numbers kept for each chunk."""
    rows = max(_CHUNK_ROWS, _CHUNK_WORK // max(width, 1))
    return max(rows, n_rows * max(partial, 1) // _MAX_PARTIAL + 1)


def over_chunks(job: Callable[[int, int], T], n_rows: int, rows: int) -> list[T]:
    """Call `job(start, stop)` for each chunk; answers come in the order of the chunks."""
    starts = range(0, n_rows, rows)
    with one_blas_thread() as allowed:
        if allowed == 1 or len(starts) <= 1:
            return [job(start, min(start + rows, n_rows)) for start in starts]
        with ThreadPoolExecutor(min(allowed, len(starts))) as pool:
            return list(pool.map(lambda start: job(start, min(start + rows, n_rows)), starts))
