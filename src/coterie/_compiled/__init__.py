"""Compiled loops, and threads over fixed chunks of rows."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie._compiled.kernels import SLICE, Kernel, all_kernels, in_slices, kernel
    from coterie._compiled.threads import chunk_rows, few_threads, one_blas_thread, over_chunks

__all__, __getattr__, __dir__ = attach(__name__)
