"""What the user sees: lines, tables, a bar for what takes longer than a second, or JSON for machines."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from coterie.cli._speak.trouble import printable

# A bar comes up only when a stage takes longer than this many seconds.
_PATIENCE = 1.0


def put(text: str) -> None:
    """Print; if whoever read our output has left, the work goes on in silence."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Screen:
    """Where a command speaks; to a `machine` it prints one JSON document at the end, and nothing else."""

    def __init__(self, machine: bool = False) -> None:
        self.machine = machine

    def say(self, text: str = "") -> None:
        """Print lines for people."""
        if not self.machine:
            put(printable(text))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
        """Print a table; the columns of `right` are flush right."""
        if self.machine:
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for at, name in enumerate(head):
            side: Any = "right" if at in right else "left"
            table.add_column(Text(name), justify=side, no_wrap=at == 0, overflow="fold")
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        # a pipe has no width: whoever reads it gets whole lines
        console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
        with console.capture() as drawn:
            console.print(table)
        put(drawn.get().rstrip("\n"))

    def finish(self, content: dict[str, Any]) -> None:
        """Print the JSON document, if that is what was asked for."""
        if self.machine:
            put(as_json(content, ascii_only=True))

    @contextmanager
    def stage(self, words: str) -> Iterator[Stage]:
        """Show that something is going on, once it takes longer than a second; never in a pipe."""
        stage = Stage(words, visible=sys.stderr.isatty() and not self.machine)
        try:
            yield stage
        finally:
            stage.close()


class Stage:
    """One thing that is going on; `step` moves its bar."""

    def __init__(self, words: str, visible: bool) -> None:
        self._words = words
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._state: tuple[float | None, float | None, str] = (None, None, words)
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        if visible:
            self._timer.start()

    def step(self, done: float, total: float | None, words: str | None = None) -> None:
        """Say how far it is; `total` None: nobody knows."""
        with self._lock:
            self._state = (done, total, words or self._words)
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total, description=self._state[2])

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            done, total, words = self._state
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(words, completed=done or 0, total=total)
            self._bar.start()

    def close(self) -> None:
        """Take the bar away."""
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None


class FitSteps:
    """Hears of the steps of a fit through scikit-learn's callbacks, and moves a bar."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._done = stage, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin."""
        self._done = 0

    def on_fit_task_begin(self, estimator: Any, context: Any, **more: Any) -> None:
        """A task begins: nothing to show."""

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> bool:
        """Count the innermost tasks."""
        if not context.max_subtasks:
            self._done += 1
            self._stage.step(0, None, f"clustering, iteration {self._done:,}")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """End."""


def as_json(content: Any, ascii_only: bool = False) -> str:
    """Strict JSON: what is no number becomes null; `ascii_only`: for a console of any encoding."""
    return json.dumps(_plain(content), ensure_ascii=ascii_only, allow_nan=False, indent=1)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if value - value == 0 else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
