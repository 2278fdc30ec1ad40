"""One decorator for every compiled loop of the package.

`@kernel` turns a function over NumPy arrays into machine code through numba: `nogil`, NumPy's
division rules, cached on disk. numba is imported and the code compiled at the first call, not
at import, so that a module with kernels costs nothing to load. A small job need not wait for
that at all: `kernel.for_work(steps)` hands out the same function uncompiled where interpreting
it is cheaper than loading the compiled form. Both forms give the same answer: kernels use no
random numbers and no reassociated sums.

Kernels share their innermost lines: `@kernel(inline=True)` is written into every kernel that calls it, at a
cost of some 7 % against code written out by hand (a plain call costs 50 %). numba's cache looks at the file
of the caller alone; ours also at the files of all kernels it calls and at the constants it reads.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, overload

from coterie.exceptions import UncachedKernelWarning

__all__ = ["SLICE", "Kernel", "in_slices", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")

# Interpreted, a step of our loops costs about a microsecond; importing numba and loading one
# kernel from its cache costs 0.2 s, compiling it some seconds.
_INTERPRET_BELOW = 20_000
# Steps between two returns to Python: well under half a second.
SLICE = 20_000_000

_registry: list[Kernel[..., Any]] = []
_compile_lock = threading.RLock()


class Kernel(Generic[P, R]):
    """A function that is compiled when first called; made by `kernel`."""

    def __init__(self, function: Callable[P, R], inline: bool = False) -> None:
        self.interpreted = self.py_func = function
        # numba asks a global that is called for these two, and writes an inlined function into its caller
        self.targetoptions = {"inline": "always"} if inline else {}
        self._compiled: Callable[P, R] | None = None
        self._steps = 0  # taken by the interpreted form so far
        functools.update_wrapper(self, function)
        _registry.append(self)

    @property
    def compiled(self) -> Callable[P, R]:
        """The compiled form."""
        if self._compiled is None:
            with _compile_lock:
                if self._compiled is None:
                    self._compiled = _compile(self)
        return self._compiled

    def for_work(self, steps: int) -> Callable[P, R]:
        """Return the form that answers soonest when the loop takes about `steps` steps more."""
        self._steps += steps
        if self._compiled is None and self._steps < _INTERPRET_BELOW:
            return self.interpreted
        return self.compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        # compiled callers hold a copy of an inlined kernel: whoever calls one is interpreted
        return (self.interpreted if self.targetoptions else self.compiled)(*args, **kwargs)

    @property
    def _numba_type_(self) -> Any:
        # numba asks a global for its type when another kernel calls it
        import numba

        return numba.typeof(self.compiled)


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(*, inline: bool) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(function: Any = None, *, inline: bool = False) -> Any:
    """Compile `function` when it is first called, or write it into its callers; see the first paragraph."""
    return functools.partial(Kernel, inline=inline) if function is None else Kernel(function, inline)


def in_slices(n: int, steps: int) -> Iterator[tuple[int, int]]:
    """From 0 to n in slices, for a kernel that takes so many steps each: Ctrl-C gets through between them."""
    step = max(1, SLICE // max(1, steps))
    for start in range(0, n, step):
        yield start, min(start + step, n)


def all_kernels() -> tuple[Kernel[..., Any], ...]:
    """Every kernel of the modules imported so far."""
    return tuple(_registry)


def _compile(one: Kernel[P, R]) -> Callable[P, R]:
    import numba

    options = {"nogil": True, "error_model": "numpy", **one.targetoptions}
    try:
        compiled = numba.njit(one.interpreted, cache=True, **options)
    except RuntimeError as error:  # numba found no folder that it may write to
        if "locator" not in str(error):
            raise
        _warn_uncached()
        return numba.njit(one.interpreted, **options)
    if hasattr(compiled, "_cache"):  # not with the JIT switched off
        # numba compares this stamp with the one in the cache; by itself it is the caller's file alone
        held = compiled._cache._cache_file
        held._source_stamp = (held._source_stamp, _stamp_of_what_it_uses(one))
        try:
            held._load_index()
        except Exception:
            # an index of older code may name a class that is gone; numba reads it before the stamp
            with contextlib.suppress(OSError):
                held.flush()
    return compiled


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
