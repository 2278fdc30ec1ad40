"""A bar for work that takes long: one line, written over in a terminal or notebook; else a line a tenth."""

from __future__ import annotations

import sys
import time

_WIDTH, _PAUSE = 20, 0.1  # characters; seconds between two states


class Bar:
    """Call it with how much is done, of how much, and what is going on; at the end the last state stays."""

    def __init__(self, title: str, shown: object = True) -> None:
        self._title, self._words, self._line = title, "", ""
        self._tenth, self._next = 0, 0.0
        self._shown = bool(shown)
        self._live = self._shown and (sys.stdout.isatty() or "ipykernel" in sys.modules)

    def __call__(self, done: float, total: float, words: str) -> None:
        """Show a state, if the last one was long ago."""
        if not self._shown:
            return
        share, self._words = done / total, words
        if share >= 1.0:
            self.close()
        elif (self._live and time.monotonic() >= self._next) or int(10 * share) > self._tenth:
            self._show(share)

    def close(self) -> None:
        """Leave the last state."""
        if self._words:
            self._show(1.0, "\n" if self._live else "")
        self._words = ""

    def _show(self, share: float, end: str = "") -> None:
        self._tenth, self._next, before = int(10 * share), time.monotonic() + _PAUSE, len(self._line)
        filled = round(_WIDTH * share)
        bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}]" if self._live else f"{share:4.0%}"
        self._line = f"{self._title} {bar} {self._words}"
        line = f"\r{self._line.ljust(before)}{end}" if self._live else f"{self._line}\n"
        print(line, end="", flush=True)
