"""One decorator for every compiled loop of the package.

`@kernel` turns a function over NumPy arrays into machine code through numba: `nogil`, NumPy's
division rules, cached on disk. numba is imported and the code compiled at the first call, not
at import, so that a module with kernels costs nothing to load. A small job need not wait for
that at all: `kernel.for_work(steps)` hands out the same function uncompiled where interpreting
it is cheaper than loading the compiled form. Both forms give the same answer: kernels use no
random numbers and no reassociated sums.

A kernel may call kernels of its own file only: a cached caller does not notice a change elsewhere.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from coterie.exceptions import UncachedKernelWarning

__all__ = ["Kernel", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")

# Interpreted, a step of our loops costs about a microsecond; importing numba and loading one
# kernel from its cache costs 0.2 s, compiling it some seconds.
_INTERPRET_BELOW = 20_000

_registry: list[Kernel[..., Any]] = []
_compile_lock = threading.RLock()


class Kernel(Generic[P, R]):
    """A function that is compiled when first called; made by `kernel`."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.interpreted = function
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
                    self._compiled = _compile(self.interpreted)
        return self._compiled

    def for_work(self, steps: int) -> Callable[P, R]:
        """Return the form that answers soonest when the loop takes about `steps` steps more."""
        self._steps += steps
        if self._compiled is None and self._steps < _INTERPRET_BELOW:
            return self.interpreted
        return self.compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.compiled(*args, **kwargs)

    @property
    def _numba_type_(self) -> Any:
        # numba asks a global for its type when another kernel calls it
        import numba

        return numba.typeof(self.compiled)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile `function` when it is first called; see the module's first paragraph."""
    return Kernel(function)


def all_kernels() -> tuple[Kernel[..., Any], ...]:
    """Every kernel of the modules imported so far."""
    return tuple(_registry)


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    import numba

    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(function, cache=True, **options)
    except RuntimeError as error:  # numba found no folder that it may write to
        if "locator" not in str(error):
            raise
        _warn_uncached()
        return numba.njit(function, **options)


@functools.cache
def _warn_uncached() -> None:
    warnings.warn(
        "numba found no writable folder for compiled code, so every process compiles anew (some "
        "seconds). Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        UncachedKernelWarning,
        stacklevel=2,
    )
