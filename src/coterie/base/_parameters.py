"""Parameters are declared once and checked before `fit` runs; a rule is a test and the words for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.exceptions import ParameterError

__all__ = ["Rule", "anything", "check_parameters", "instance", "one_of", "real", "whole"]


@dataclass(frozen=True)
class Rule:
    """What a parameter may be: a test, and the words that complete "must be ..."."""

    holds: Callable[[Any], bool]
    words: str

    def __or__(self, other: Rule) -> Rule:
        return Rule(lambda value: self.holds(value) or other.holds(value), f"{self.words} or {other.words}")


def whole(low: int | None = None, high: int | None = None) -> Rule:
    """A whole number between the bounds, both included."""

    def holds(value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            return False
        return bool((low is None or value >= low) and (high is None or value <= high))

    return Rule(holds, f"a whole number{_range(low, high)}")


def real(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Rule:
    """A finite number between the bounds; `above` leaves `low` itself out."""

    def holds(value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
            return False
        return math.isfinite(value) and bool((value > low if above else value >= low) and value <= high)

    bound = f" above {low:g}" + (f" and at most {high:g}" if high < math.inf else "")
    return Rule(holds, "a number" + (bound if above else _range(low, high)))


def one_of(*values: Any) -> Rule:
    """One of some values, None included if listed."""

    def holds(value: Any) -> bool:
        return any(value is one or (isinstance(value, type(one)) and value == one) for one in values)

    listed = [repr(value) for value in values]
    return Rule(holds, listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}")


def instance(kind: type | tuple[type, ...], words: str) -> Rule:
    """An object of a class."""
    return Rule(lambda value: isinstance(value, kind), words)


def anything(words: str) -> Rule:
    """Checked elsewhere, with the data; the words are for the reader."""
    return Rule(lambda value: True, words)


def _range(low: float | None, high: float | None) -> str:
    low, high = (None if bound is None or math.isinf(bound) else bound for bound in (low, high))
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return "" if high is None else f", at most {high:g}"


def check_parameters(estimator: Any) -> None:
    """Raise for the first parameter that breaks its rule."""
    rules: dict[str, Rule] = estimator.parameter_rules
    for name, value in estimator.get_params(deep=False).items():
        rule = rules.get(name)
        if rule is not None and not rule.holds(value):
            message = f"{name} of {type(estimator).__name__} must be {rule.words}; got {value!r}."
            raise ParameterError(message, name)


# Parameters of every search from several starts.
SEARCH_RULES = {
    "n_init": whole(1) | one_of("auto"),
    "max_iter": whole(1),
    "verbose": whole(0) | one_of(True, False),
    "random_state": anything("None, a seed or a RandomState"),
}
