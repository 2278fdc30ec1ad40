"""What a column of the feature matrix means, and what became of a column of the user's table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """One column of the feature matrix.

    Attributes
    ----------
    name : str
        A name for people: "age", "region = north", "description: cheap".
    column : str
        The user's column from which it comes.
    kind : {"numeric", "category", "text", "matrix"}
        How it was made.
    offset, scale : float
        A value in the user's unit is ``offset + scale * x``.
    level : str or None
        The value of the category, or the word.
    """

    name: str
    column: str
    kind: str
    offset: float = 0.0
    scale: float = 1.0
    level: str | None = None


@dataclass(frozen=True)
class ColumnUse:
    """What becomes of a column of the user's table.

    Attributes
    ----------
    name : str
        The column.
    use : {"numeric", "category", "text", "matrix", "left out"}
        What it is taken for.
    reason : str
        How it is treated, or why it is left out.
    n_missing : int
        Number of missing values.
    common_reason : str
        The reason without what only this column has, so that columns can be told together; empty: the reason
        itself is such.
    """

    name: str
    use: str
    reason: str
    n_missing: int = 0
    common_reason: str = ""
