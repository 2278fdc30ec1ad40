"""Small words that messages everywhere are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["NO_NUMBER", "count_of", "format_number", "listed", "plural_of", "short_number"]

# an en dash
NO_NUMBER = "\u2013"
_MINUS = str.maketrans("-", "\u2212")


def short_number(value: float | None) -> str:
    """A number to three significant digits, without an exponent where that is readable."""
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 1e9 or size < 1e-4:
        text = f"{value:.3g}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{float(f'{value:.3g}'):g}"
    return text.translate(_MINUS)


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the right form: "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    """More than one of a noun: "rows", "entities"."""
    return f"{noun[:-1]}ies" if noun.endswith("ty") else f"{noun}s"


def format_number(value: float) -> str:
    """A number as people write it: whole ones whole, however large."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first few of some names, and how many more there are."""
    rest = list(names)
    more = f" and {len(rest) - most:,} more" if len(rest) > most else ""
    return ", ".join(rest[:most]) + more
