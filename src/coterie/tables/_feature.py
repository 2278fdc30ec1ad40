"""What a column of the feature matrix means, and what became of a column of the user's table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """One column of the feature matrix; a value in the user's unit is ``offset + scale * x``."""

    name: str  # for people: "age", "region = north", "description: cheap"
    column: str  # the user's, from which it comes
    kind: str  # "numeric", "category", "text" or "matrix"
    offset: float = 0.0
    scale: float = 1.0
    level: str | None = None  # the value of the category, or the word


@dataclass(frozen=True)
class ColumnUse:
    """What becomes of a column of the user's table."""

    name: str
    use: str  # "numeric", "category", "text", "matrix" or "left out"
    reason: str  # how it is treated, or why it is left out
    n_missing: int = 0
    common_reason: str = ""  # the reason without what only this column has; empty: it is such itself
