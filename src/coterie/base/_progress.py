"""Progress of a fit: scikit-learn's callbacks where it has them (1.9 and later), and `verbose`.

An estimator opens `progress(self, X, max_steps)` around its loop and calls the result once a step. The call
is nearly free when nobody listens, and answers True when a callback asks to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks: there is no `set_callbacks` then."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "progress", "with_callbacks"]


@contextmanager
def progress(
    estimator: Any, X: Any, max_steps: int, name: str = "iteration"
) -> Iterator[Callable[..., bool]]:
    """Give a function to call after each step, at most `max_steps` times; it answers whether to stop."""
    context = None
    if getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=max_steps)
        context.call_on_fit_task_begin(estimator=estimator, X=X)
    done = 0

    def step(objective: float | None = None) -> bool:
        nonlocal done
        done += 1
        if getattr(estimator, "verbose", 0):
            value = "" if objective is None else f", objective {objective:.6g}"
            print(f"{type(estimator).__name__}: {name} {done}{value}", flush=True)
        if context is None or done > max_steps:
            return False
        task = context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        return bool(task.call_on_fit_task_end(estimator=estimator, X=X))

    yield step
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X)
