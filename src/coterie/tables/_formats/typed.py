"""Text columns of a CSV file become numbers or true/false where every value of the whole file is one.

The rule looks at all rows, never at a sample, and leaves text alone where a number would lose something:

- a column with leading zeros ("007") is text, and so are whole numbers too long for 64 bits: codes;
- a column with a single value that is no number is text as a whole; `plan_features` then has its say;
- words for missing values ("NA", "?", ...) become nulls in every column;
- blanks around a number do not matter; text keeps its own.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.tables._columns.values import MISSING_WORDS

_WHOLE = r"^[+-]?\d+$"
_LEADING_ZERO = r"^[+-]?0\d"
_DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_TRUTH = ("true", "false")


def with_types(columns: list[pl.Series], separator: str) -> tuple[list[pl.Series], list[str]]:
    """Type the columns, and name those in which commas were read as decimal points; empties `columns`."""
    typed: list[pl.Series] = []
    with_comma: list[str] = []
    columns.reverse()
    while columns:  # the text of a column is gone before the next one is looked at
        text = columns.pop()
        if separator != "," and _has_decimal_commas(text, sure=separator == ";"):
            text = text.str.replace(",", ".", literal=True)
            with_comma.append(text.name)
        typed.append(_typed(text))
    return typed, with_comma


def _typed(text: pl.Series) -> pl.Series:
    """A column of text as numbers, true/false or text."""
    floats = text.cast(pl.Float64, strict=False)
    if _n_numbers(floats) == len(text):
        return _numbers(text, floats)
    stripped = text.str.strip_chars()
    missing = stripped.fill_null("").is_in(MISSING_WORDS)
    floats = stripped.cast(pl.Float64, strict=False)
    n_values = len(text) - missing.sum()
    # a column without any value stays text
    if 0 < n_values == _n_numbers(floats) and (found := _numbers(stripped, floats)).dtype != pl.String:
        return found
    text = text.set(missing, None)
    truth = stripped.str.to_lowercase()
    if 0 < n_values == truth.is_in(_TRUTH).sum():
        return (truth == "true").set(missing, None)
    return text


def _numbers(text: pl.Series, values: pl.Series) -> pl.Series:
    """A column of numbers: whole ones as such, codes as the text that they were."""
    known = values.to_numpy()
    known = known[~np.isnan(known)]
    if text.str.contains(_LEADING_ZERO).any():
        return text
    if np.isfinite(known).all() and (known == np.rint(known)).all():
        ints = text.cast(pl.Int64, strict=False)
        if len(ints) - ints.null_count() == len(known):
            return ints
        if text.str.contains(_WHOLE).sum() == len(known):
            return text  # too long for 64 bits: as a float it would lose digits
    return values.fill_nan(None)


def _has_decimal_commas(text: pl.Series, *, sure: bool) -> bool:
    """Whether every number of a column reads as one with points for its commas."""
    # not `sure` (semicolons are there because commas are decimal): not if all could be thousands ("1,234")
    cells = text.str.strip_chars().fill_null("")
    n_commas = cells.str.contains(_DECIMAL_COMMA).sum()
    if not n_commas or (not sure and n_commas == cells.str.contains(_THOUSANDS).sum()):
        return False
    n_others = cells.is_in(MISSING_WORDS).sum() + cells.str.contains(_WHOLE).sum()
    return bool(n_commas + n_others == len(cells))


def _n_numbers(values: pl.Series) -> int:
    """How many are neither null nor NaN."""
    return int(np.count_nonzero(~np.isnan(values.to_numpy())))
