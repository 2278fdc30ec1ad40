"""Numbers and names as the page writes them; nothing here ever prints "nan"."""

from __future__ import annotations

import math
from inspect import isclass, isroutine
from typing import Any

from coterie._words import NO_NUMBER as NOTHING
from coterie._words import short_number as number

# the sign stays on the line of its number
_PERCENT = "\u00a0%"
_LONGEST_TICK = 7
_MINUS = str.maketrans("-", "\u2212")


def whole(value: float) -> str:
    """A count: 12,345; a load that is no whole number with two decimals."""
    if not math.isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def beside(value: float, spread: float) -> str:
    """A number as precise as makes sense beside its spread: a third of that can still be seen."""
    if not (math.isfinite(value) and math.isfinite(spread)) or spread <= 0:
        return number(value)
    if spread < 1e-6 or max(abs(value), spread) >= 1e9:
        return f"{value:.4g}".translate(_MINUS)
    text = f"{value:,.{max(0, -math.floor(math.log10(spread / 3)))}f}"
    text = text[1:] if text.startswith("-") and not text.strip("-0.,") else text
    return text.translate(_MINUS)


def ticks(low: float, high: float, most: int = 6, least: float = 0.0) -> list[tuple[float, str]]:
    """Round numbers between two others, no nearer than `least`: their places from 0 to 1, and in words."""
    width = high - low
    if not 0 < width < math.inf:
        return []
    step = 10.0 ** math.floor(math.log10(width / most))
    step = max(step * next(by for by in (1, 2, 5, 10) if width <= by * most * step), least)
    found = []
    for at in range(math.ceil(low / step), math.floor(high / step) + 1):
        value, text = at * step, beside(at * step, 3 * step)
        if len(text) > _LONGEST_TICK:
            text = f"{value:.4g}".translate(_MINUS)
        found.append(((value - low) / width, text))
    return found


def signed(value: float) -> str:
    """A difference with its sign."""
    if not math.isfinite(value):
        return NOTHING
    return f"{value:+.1f}".translate(_MINUS)


def percent(share: float) -> str:
    """A share as a percentage; small ones are not rounded to nothing, nor large ones to all."""
    if not math.isfinite(share):
        return NOTHING
    if 0 < share < 0.005:
        return f"< 1{_PERCENT}"
    if 0.995 < share < 1:
        return f"> 99{_PERCENT}"
    return f"{100 * share:.0f}{_PERCENT}"


def seconds(value: float) -> str:
    """How long something took."""
    if value < 60:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{int(value // 60)} min {value % 60:.0f} s"


def value_of(parameter: Any) -> str:
    """A parameter as a person reads it; long arrays are cut."""
    if isinstance(parameter, float) and math.isinf(parameter):
        return "infinite"
    text = parameter if isinstance(parameter, str) else repr(parameter)
    if isroutine(parameter) or isclass(parameter):
        text = f"the function {parameter.__name__}"
    if hasattr(parameter, "shape"):
        text = f"array of shape {tuple(parameter.shape)}"
    return text if len(text) <= 120 else text[:119] + "…"
