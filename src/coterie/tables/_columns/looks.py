"""What a column looks like: a count of the rows, an identifier, or numbers that are not written plainly."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from coterie.tables._columns.summary import INTEGERS, all_differ, numbers_of
from coterie.tables._columns.values import DRESSED, number, text
from coterie.tables._errors import typed
from coterie.tables._table import Table

# Shorter columns may well hold 1, 2, 3 by chance.
_FEWEST_COUNTED = 10
_IDENTIFIER = re.compile(
    r"(?i:(?:.*[_ .-])?(?:id|nr|no|key)\.?|#|num|number|index|row|row (?:name|nr|no|number)|unnamed: 0)"
    r"|.*[a-z](?:I[dD]|N[ro])"
)


def is_identifier(table: Table, name: str, dtype: pl.DataType) -> bool:
    """Whether a column has the name of an identifier, and whole numbers that are all different."""
    return bool(
        _IDENTIFIER.fullmatch(name.strip())
        and (dtype.is_integer() or (dtype.is_float() and _all_whole(table, name)))
        and all_differ(table, name)
    )


def _all_whole(table: Table, name: str) -> bool:
    values = numbers_of(table, name, is_date=False)
    return bool((values == np.rint(values)).all())


def counts_rows(table: Table, name: str, dtype: pl.DataType) -> bool:
    """Whether a column of numbers grows by exactly 1 from each row to the next."""
    if table.n_rows < _FEWEST_COUNTED or not (dtype in INTEGERS or dtype.is_float()):
        return False
    values = numbers_of(table, name, is_date=False) if table.frame is None else table.frame[name].to_numpy()
    first, last = values[0].item(), values[-1].item()
    # asked as Python's numbers: small types of NumPy begin again at 0 after their last number
    if last - first != table.n_rows - 1 or first != first // 1:
        return False
    return bool((values[1:] - values[:-1] == 1).all())


def dressed_number(table: Table, name: str) -> str | None:
    """The first value that is a number with a sign or separators."""
    column = table.column(name)
    is_dressed = text(name, column.dtype).str.contains(DRESSED) & number(name, column.dtype).is_null()
    values = column.to_frame().filter(is_dressed)[name]
    return None if values.is_empty() else str(values[0])


def how_to_mend(name: str, value: object) -> str:
    """What to do about a value that should be a number."""
    mend = "Write plain numbers, such as 1234.5" if re.search(DRESSED, str(value)) else "Mend it"
    return f"{mend}, or pass --category {typed(name)}, --text {typed(name)} or --drop {typed(name)}."
