"""The ids of a small and regular CSV without loading polars, which takes longer than all the rest of `check`.

Whatever is not plain is left to the reader of tables, which then says what is wrong: None means "ask it".
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

_LARGEST = 8 * 2**20  # bytes; above, polars is faster, its loading included
# Empty, blanks, patterns, a row without a header.
_ODD_NAME = re.compile(r"|\s.*|.*\s|.*\0.*|\^.*|\*|[\d.+-]+")
# Numbers in a form that the reader of tables might understand as another id's number, or as missing.
_ODD_ID = re.compile(r"\s.*|.*\s|[+-].*|\d*\.\d*|.*\d[eE][+-]?\d+|(?i:n/?a|nan|null|none|\?|inf|infinity|)")


def peek(path: Path, id_column: str | None) -> tuple[int, list[str] | None] | None:
    """Number of rows, and their ids as text; None where only the reader of tables can tell."""
    try:
        if path.suffix.lower() != ".csv" or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            if len(set(header)) < len(header) or any(_ODD_NAME.fullmatch(name) for name in header):
                return None
            if len(header) < 2:  # perhaps another separator
                return None
            at = None if id_column is None else header.index(id_column)
            rows = list(lines)
    except (OSError, ValueError, csv.Error):
        return None
    if not rows or any(len(row) != len(header) or "\0" in "".join(row) for row in rows):
        return None
    if at is None:
        return len(rows), None
    ids = [row[at] for row in rows]
    if len(set(ids)) < len(ids) or any(_ODD_ID.fullmatch(name) for name in ids):
        return None
    return len(rows), ids
