"""Small words that messages everywhere are made of."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["count_of", "listed"]


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the right form: "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first few of some names, and how many more there are."""
    rest = list(names)
    more = f" and {len(rest) - most:,} more" if len(rest) > most else ""
    return ", ".join(rest[:most]) + more
