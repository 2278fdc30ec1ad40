"""The starts of a fit: the best of them, and progress by scikit-learn's callbacks and `verbose` (1: a bar).

Most estimators call `best_of_starts`. Others open `progress` around their starts and each start around its
loop, and call `step` after every iteration:

    with progress(self, X, n_starts=n, max_steps=self.max_iter) as starts:
        for seed in seeds:
            with starts() as step:
                for _ in range(self.max_iter):
                    ...
                    if step(objective) or converged:
                        break
            if starts.stopped:
                break

A task begins before its work and ends after it. An error leaves the open tasks open, as in scikit-learn; the
callbacks' `teardown` is called all the same. It is all nearly free when nobody listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from coterie.base._bar import Bar
from coterie.exceptions import DeadEndError, UndecidedError

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks: there is no `set_callbacks` then."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
        return method


__all__ = [
    "AUTO_STARTS",
    "CallbackSupportMixin",
    "Starts",
    "Step",
    "best_of_starts",
    "clearly_less",
    "progress",
    "with_callbacks",
]

# Starts of `n_init="auto"` where a start is drawn: constraints guide it, so a few are enough.
AUTO_STARTS = 4

Found = TypeVar("Found")


class Step(Protocol):
    """Ends an iteration; True when a callback asks to stop."""

    def __call__(self, objective: float | None = None) -> bool: ...


@contextmanager
def progress(
    estimator: Any, X: Any, *, n_starts: int = 1, max_steps: int, name: str = "iteration"
) -> Iterator[Starts]:
    """Report the progress of a fit of at most `n_starts` starts, each of at most `max_steps` steps.

    Callbacks see one level of tasks below the fit if there is one start, else two: starts, and their steps.
    """
    starts = Starts(estimator, X, n_starts, max_steps, name)
    try:
        yield starts
    finally:
        starts._bar.close()
    starts._end_all()


def best_of_starts(
    estimator: Any,
    X: Any,
    run: Callable[[int, Step], Found],
    *,
    n_starts: int,
    max_steps: int,
    better: Callable[[Found, Found], bool] | None = None,
    finish: Callable[[Found, Step], Found] | None = None,
) -> tuple[Found, int]:
    """The best of some starts, and how many found no labels; if none did, the last one's error is raised.

    `run` makes the start of a number. A start is better by its `objective`, if `better` says nothing else; of
    equal ones the first is kept. `finish` goes on from the best.
    """
    best: Any = None
    failed: list[RuntimeError] = []
    estimator._starts_made = n_starts  # its account speaks of the best one where there are several
    better = better or (lambda new, old: clearly_less(new.objective, old.objective))  # type: ignore[attr-defined]
    with progress(estimator, X, n_starts=n_starts + (finish is not None), max_steps=max_steps) as starts:
        for number in range(n_starts):
            try:
                with starts() as step:
                    found = run(number, step)
            except (DeadEndError, UndecidedError) as error:
                failed.append(error)
            else:
                best = found if best is None or better(found, best) else best
            if starts.stopped:
                break
        if finish is not None and best is not None and not starts.stopped:
            with starts() as step:
                best = finish(best, step)
    if best is None:
        raise failed[-1]
    return best, len(failed)


def clearly_less(new: float, old: float) -> bool:
    """Whether a start is better by more than rounding: of equal ones the first is kept, in any unit."""
    return new < old - 1e-9 * abs(old)


class Starts:
    """The starts of one fit; a call opens the next.

    Attributes
    ----------
    stopped : bool
        Whether a callback asks for no further start. The end of a task may stop the level on which the task
        stands, by the rule of scikit-learn: a step that stops cuts its start short, and other starts go on.
    """

    def __init__(self, estimator: Any, X: Any, n_starts: int, max_steps: int, name: str) -> None:
        self.stopped = False
        self._estimator, self._X = estimator, X
        self._n_starts, self._max_steps, self._name = n_starts, max_steps, name
        self._n_begun = 0
        self._bar = Bar(type(estimator).__name__, getattr(estimator, "verbose", 0))
        self._open: list[Any] = []  # tasks begun and not ended, the fit's own first; empty if nobody listens
        if getattr(estimator, "_skl_callbacks", None):
            root = estimator._init_callback_context(max_subtasks=n_starts if n_starts > 1 else max_steps)
            root.call_on_fit_task_begin(estimator=estimator, X=X)
            self._open.append(root)

    @contextmanager
    def __call__(self) -> Iterator[Step]:
        """Open a start; what it gives is to be called after every step."""
        if self._n_begun == self._n_starts:
            raise RuntimeError(f"progress was told of {self._n_starts} starts; this is one more.")
        self._n_begun += 1
        self._end_all(but=1)  # of a start that failed, if the estimator lives with that
        if self._n_starts > 1:
            self._begin("start", self._max_steps)
        self._begin(self._name)
        depth, done = len(self._open), 0

        def step(objective: float | None = None) -> bool:
            nonlocal done
            done += 1
            if getattr(self._estimator, "verbose", 0):
                self._tell(done, objective)
            if len(self._open) < depth:  # all the steps that were announced have ended
                return False
            stop = self._end()
            if self._n_starts == 1:
                self.stopped = stop
            if not stop and done < self._max_steps:
                self._begin(self._name)
            return stop

        yield step
        if len(self._open) == depth:
            self._end()
        if self._n_starts > 1:
            self.stopped = self._end()

    def _begin(self, name: str, max_subtasks: int = 0) -> None:
        if self._open:
            task = self._open[-1].subcontext(task_name=name, max_subtasks=max_subtasks)
            task.call_on_fit_task_begin(estimator=self._estimator, X=self._X)
            self._open.append(task)

    def _end(self) -> bool:
        if not self._open:
            return False
        return bool(self._open.pop().call_on_fit_task_end(estimator=self._estimator, X=self._X))

    def _end_all(self, but: int = 0) -> None:
        while len(self._open) > but:
            self._end()

    def _tell(self, done: int, objective: float | None) -> None:
        start = f"start {self._n_begun} of {self._n_starts}, " if self._n_starts > 1 else ""
        value = "" if objective is None else f", objective {objective:.6g}"
        words = f"{start}{self._name} {done}{value}"
        if self._estimator.verbose > 1:
            print(f"{type(self._estimator).__name__}: {words}", flush=True)
        else:
            self._bar(self._n_begun - 1 + done / (self._max_steps + 1), self._n_starts, words)
