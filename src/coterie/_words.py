"""Small words that messages everywhere are made of."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["count_of", "format_number", "listed"]


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the right form: "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_number(value: float) -> str:
    """A number as people write it: whole ones whole, however large."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first few of some names, and how many more there are."""
    rest = list(names)
    more = f" and {len(rest) - most:,} more" if len(rest) > most else ""
    return ", ".join(rest[:most]) + more
