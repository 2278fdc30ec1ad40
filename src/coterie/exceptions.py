"""The exceptions and warnings of Coterie, in one place so that they can be caught by name."""

from __future__ import annotations

from typing import Any

__all__ = [
    "CoterieWarning",
    "DeadEndError",
    "DeadEndWarning",
    "InfeasibleConstraintsError",
    "ParameterError",
    "UncachedKernelWarning",
    "UndecidedError",
    "UnsupportedConstraintError",
    "ViolatedConstraintsWarning",
]


class InfeasibleConstraintsError(ValueError):
    """No clustering can meet the constraints; the message says which ones collide.

    Attributes
    ----------
    certificate : Conflict, Feasibility or None
        The proof behind the message, where there is one.
    """

    def __init__(self, message: str, certificate: Any = None) -> None:
        super().__init__(message)
        self.certificate = certificate

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.certificate)


class ParameterError(ValueError):
    """A parameter has a value that it cannot have, alone, beside another one or with these data.

    Attributes
    ----------
    parameters : tuple of str
        The parameters that the message speaks of, by the names that it calls them.
    """

    def __init__(self, message: str, *parameters: str) -> None:
        super().__init__(message)
        self.parameters = parameters

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), *self.parameters)


class DeadEndError(RuntimeError):
    """A greedy assignment left an item without a cluster; another order or method may find one."""


class UndecidedError(RuntimeError):
    """A yes or no was asked of a question that was not decided within its budget."""


class UnsupportedConstraintError(ValueError):
    """A method was given a kind of constraint that it cannot honour."""


class CoterieWarning(UserWarning):
    """The parent of the package's warnings."""


class ViolatedConstraintsWarning(CoterieWarning):
    """A soft method outvoted some constraints; `violations_` lists them."""


class DeadEndWarning(CoterieWarning):
    """Merging ended at more clusters than were asked for; `blocked_` says what keeps them apart."""


class UncachedKernelWarning(CoterieWarning):
    """Compiled kernels cannot be kept on this machine, so every process compiles them anew."""
