"""Keeping the stack of a crashed polars thread off the user's screen."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

import polars as pl


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Hold stderr back, and drop it if polars panics (on a damaged Parquet file): its threads print first."""
    if sys.__stderr__ is None:  # closed before Python began: number 2 may be a file of polars by now
        yield
        return
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, AttributeError, ValueError):  # there is no stderr
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        panicked = False
        try:
            yield
        except pl.exceptions.PanicException:
            panicked = True
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            if not panicked:
                held.seek(0)
                with contextlib.suppress(OSError):
                    os.write(2, held.read())
