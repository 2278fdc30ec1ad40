"""One decorator for every compiled loop of the package.

`@kernel` turns a function over NumPy arrays into machine code through numba: `nogil`, NumPy's
division rules, cached on disk. Compiling takes a second or so, and importing numba half of one, so a
kernel runs interpreted, and with it all that it calls, until that has cost a good part of what
compiling would: a small fit needs no compiler, a long one pays a little more than it must. What is
compiled already, or in the cache once numba is there, is used at once, and from the first large call on
(by the size of its arrays; `kernel.for_work(steps)` where its work is another) all is. Both forms
give the same answer, to the last bit: kernels use no random numbers, no reassociated sums, and `exp` and
`log` of `math`, since NumPy's own are not those of the compiler.

Kernels share their innermost lines: `@kernel(inline=True)` is written into every kernel that calls it, at a
cost of some 7 % against code written out by hand (a plain call costs 50 %). numba's cache looks at the file
of the caller alone; ours also at the files of all kernels it calls and at the constants it reads.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from coterie.exceptions import UncachedKernelWarning

__all__ = ["SLICE", "Kernel", "in_slices", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")

# Interpreted, a step of our loops costs about a microsecond. A call that takes more is compiled at once, and
# so is all that follows in the process: work on such a table is worth it.
_MOST_STEPS = 50_000
# Seconds that a kernel may run interpreted in all: a part of what compiling it takes.
_PATIENCE = 0.25
# Seconds that all of them run so before numba is imported to see which are in the cache.
_LOOK_AFTER = 0.3
# Steps between two returns to Python: well under half a second.
SLICE = 20_000_000

_registry: list[Kernel[..., Any]] = []
_compile_lock = threading.RLock()


class _TooLong(Exception):
    """An interpreted call has taken so long that compiling is better."""


# `until` what time the interpreted call of this thread may take, if one is under way
_here = threading.local()
_spent = _compiling = 0.0  # seconds of all kernels in this process
_large = False  # whether one of them had a large call


class Kernel(Generic[P, R]):
    """A function that is compiled when that pays; made by `kernel`."""

    def __init__(self, function: Callable[P, R], inline: bool = False, patience: float | None = None) -> None:
        self.interpreted = self.py_func = function
        self._patience = patience  # None: that of all kernels
        # numba asks a global that is called for these two, and writes an inlined function into its caller
        self.targetoptions = {"inline": "always"} if inline else {}
        self._compiled: Callable[P, R] | None = None
        self._ready = self._cached = False  # whether the compiled form is to be used; is in the cache
        self._spent = 0.0  # seconds of the interpreted form so far
        functools.update_wrapper(self, function)
        _registry.append(self)

    @property
    def compiled(self) -> Callable[P, R]:
        """The compiled form."""
        if self._compiled is None:
            with _compile_lock:
                if self._compiled is None:
                    self._compiled, self._cached = _compile(self)
        return self._compiled

    def for_work(self, steps: int) -> Callable[P, R]:
        """Return the form that answers soonest when a call takes about `steps` steps."""
        return self.compiled if self._ready else functools.partial(self._first_calls, steps)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        until = getattr(_here, "until", None)
        if until is not None and time.perf_counter() > until:
            raise _TooLong
        # called by an interpreted kernel, or inlined: compiled callers hold a copy
        if until is not None or (self.targetoptions and not self._ready):
            return self.interpreted(*args, **kwargs)
        if self._ready:
            return self.compiled(*args, **kwargs)
        return self._first_calls(None, *args, **kwargs)

    def _first_calls(self, steps: int | None, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run interpreted as long as that is the cheaper way."""
        global _spent, _large
        if self._ready:  # since `for_work` was asked
            return self.compiled(*args, **kwargs)
        arrays = list(_arrays_in((args, *kwargs.values())))
        if steps is None:
            steps = sum(array.size for array in arrays)
        _large |= steps > _MOST_STEPS
        # one that takes long to compile does not hurry because another one has much to do
        hurried = _large if self._patience is None else steps > _MOST_STEPS
        patience = _PATIENCE if self._patience is None else self._patience
        # compiled sums are in float64 always, those of interpreted float32 are not
        if hurried or self._spent > patience or any(a.dtype == np.float32 for a in arrays):
            self._ready = True
        elif "numba" in sys.modules or _spent > _LOOK_AFTER:
            # a kernel that was compiled for others has signatures; with the JIT switched off there are none
            self._ready = bool(getattr(self.compiled, "signatures", True)) or self._cached
        if self._ready:
            return self._compile_and_run(*args, **kwargs)
        changeable = [(a, a.copy()) for a in arrays if a.flags.writeable]
        begin = time.thread_time()
        _here.until = time.perf_counter() + 2 * patience
        try:
            with np.errstate(all="ignore"):
                return self.interpreted(*args, **kwargs)
        except _TooLong:
            for array, before in changeable:
                array[...] = before
            self._ready = True
        finally:
            _here.until = None
            took = time.thread_time() - begin
            self._spent += took
            _spent += took
        return self._compile_and_run(*args, **kwargs)

    def _compile_and_run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run compiled for the first time; say so when compiling has taken a second in all."""
        global _compiling
        compiled = self.compiled
        if self._cached:
            return compiled(*args, **kwargs)
        begin = time.perf_counter()
        timer = threading.Timer(max(0.0, 1.0 - _compiling), _say_that_it_takes_long)
        timer.daemon = True
        timer.start()
        try:
            return compiled(*args, **kwargs)
        finally:
            timer.cancel()
            _compiling += time.perf_counter() - begin

    @property
    def _numba_type_(self) -> Any:
        # numba asks a global for its type when another kernel calls it
        import numba

        return numba.typeof(self.compiled)


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(
    *, inline: bool = False, patience: float | None = None
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(function: Any = None, *, inline: bool = False, patience: float | None = None) -> Any:
    """Compile `function` when it is first called, or write it into its callers; see the first paragraph.

    `patience` are the seconds that it may run interpreted, where compiling takes much longer than usual.
    """
    if function is None:
        return functools.partial(Kernel, inline=inline, patience=patience)
    return Kernel(function, inline, patience)


def in_slices(n: int, steps: int) -> Iterator[tuple[int, int]]:
    """From 0 to n in slices, for a kernel that takes so many steps each: Ctrl-C gets through between them."""
    step = max(1, SLICE // max(1, steps))
    for start in range(0, n, step):
        yield start, min(start + step, n)


def all_kernels() -> tuple[Kernel[..., Any], ...]:
    """Every kernel of the modules imported so far."""
    return tuple(_registry)


def _compile(one: Kernel[P, R]) -> tuple[Callable[P, R], bool]:
    """A kernel for numba to compile at its first call, and whether it need not, since it is in the cache."""
    import numba

    options = {"nogil": True, "error_model": "numpy", **one.targetoptions}
    try:
        compiled = numba.njit(one.interpreted, cache=True, **options)
    except RuntimeError as error:  # numba found no folder that it may write to
        if "locator" not in str(error):
            raise
        _warn_uncached()
        return numba.njit(one.interpreted, **options), False
    cached = False
    if hasattr(compiled, "_cache"):  # not with the JIT switched off
        # numba compares this stamp with the one in the cache; by itself it is the caller's file alone
        held = compiled._cache._cache_file
        held._source_stamp = (held._source_stamp, _stamp_of_what_it_uses(one))
        try:
            cached = bool(held._load_index())
        except Exception:
            # an index of older code may name a class that is gone; numba reads it before the stamp
            with contextlib.suppress(OSError):
                held.flush()
    return compiled, cached


@functools.cache
def _say_that_it_takes_long() -> None:
    print("Coterie compiles its loops for this machine: some seconds, only once.", file=sys.stderr)


def _arrays_in(values: Any) -> Iterator[Any]:
    """The arrays among the arguments of a kernel, those in tuples too."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays_in(value)


def _stamp_of_what_it_uses(one: Kernel[..., Any]) -> str:
    """A hash of the files of all kernels that a kernel calls, however deep, and of the numbers they read."""
    seen: dict[str, Any] = {}
    todo: list[Callable[..., Any]] = [one.interpreted]
    while todo:
        function = todo.pop()
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            key = f"{function.__module__}.{name}"
            if key in seen:
                continue
            if isinstance(value, Kernel):
                seen[key] = _hash_of_file(value.interpreted.__code__.co_filename)
                todo.append(value.interpreted)
            elif isinstance(value, bool | int | float | str):
                seen[key] = repr(value)
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()


@functools.cache
def _hash_of_file(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


@functools.cache
def _warn_uncached() -> None:
    warnings.warn(
        "numba found no writable folder for compiled code, so every process compiles anew (some "
        "seconds). Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        UncachedKernelWarning,
        stacklevel=2,
    )
