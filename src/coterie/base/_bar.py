"""A bar for work that takes long: one line, written over in a terminal or notebook; else a line a tenth."""

from __future__ import annotations

import sys
import time

_WIDTH = 20
_PAUSE = 0.1  # seconds between two states


class Bar:
    """Call it with how much is done, of how much, and what is going on; `close` leaves the last state."""

    def __init__(self, title: str) -> None:
        self._title, self._words, self._shown = title, "", ""
        self._tenth, self._next = 0, 0.0
        self._live = sys.stdout.isatty() or "ipykernel" in sys.modules

    def __call__(self, done: float, total: float, words: str) -> None:
        """Show a state, if the last one was long ago."""
        share = min(done / total, 1.0) if total else 1.0
        self._words = words
        if (self._live and time.monotonic() >= self._next) or int(10 * share) > self._tenth:
            self._show(share)

    def close(self) -> None:
        """Leave the last state."""
        if self._words:
            self._show(1.0)
        if self._live and self._shown:
            print()

    def _show(self, share: float) -> None:
        self._tenth, self._next = int(10 * share), time.monotonic() + _PAUSE
        if self._live:
            filled = round(_WIDTH * share)
            line = f"{self._title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {self._words}"
            print("\r" + line.ljust(len(self._shown)), end="", flush=True)
        else:
            line = f"{self._title} {share:4.0%} {self._words}"
            if line != self._shown:
                print(line, flush=True)
        self._shown = line
