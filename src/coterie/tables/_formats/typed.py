"""Text columns of a CSV file become numbers or true/false where every value of the whole file is one.

The rule looks at all rows, never at a sample, and leaves text alone where a number would lose something:

- a column with leading zeros ("007") is text, and so are whole numbers too long for 64 bits: codes;
- a column with a single value that is no number is text as a whole; `plan_features` then has its say;
- words for missing values ("NA", "?", ...) become nulls in every column;
- blanks around a number do not matter; text keeps its own.

Columns are converted in blocks, so that the text of a block is gone before the next one is looked at.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.tables._columns.values import MISSING_WORDS, named

_CELLS_AT_ONCE = 4_000_000
_WHOLE = r"^[+-]?\d+$"
_LEADING_ZERO = r"^[+-]?0\d"
_DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_TRUTH = ("true", "false")

Columns = dict[str, pl.Series]


def with_types(columns: list[pl.Series], separator: str) -> tuple[list[pl.Series], list[str]]:
    """Type the columns, and name those in which commas were read as decimal points; empties `columns`."""
    typed: list[pl.Series] = []
    with_comma: list[str] = []
    at_once = max(1, _CELLS_AT_ONCE // max(1, len(columns[0]))) if columns else 1
    while columns:
        block = pl.DataFrame(columns[:at_once])
        del columns[:at_once]
        if separator != ",":
            block, names = _without_commas(block, sure=separator == ";")
            with_comma += names
        typed += _typed_block(block)
    return typed, with_comma


def _typed_block(text: pl.DataFrame) -> list[pl.Series]:
    """The columns of a block of text as numbers, true/false or text."""
    cells, floats = text.to_dict(), _floats(text).to_dict()
    n_numbers = {name: _n_numbers(floats[name]) for name in cells}
    complete = [name for name in cells if n_numbers[name] == text.height]
    result = _numbers(pl.DataFrame([cells[name] for name in complete]), floats)
    if len(complete) < text.width:
        result |= _with_missing(
            pl.DataFrame([series for name, series in cells.items() if name not in result])
        )
    return [result[name] for name in cells]


def _with_missing(text: pl.DataFrame) -> Columns:
    """Columns in which some value is missing, or no number, or has blanks around it."""
    stripped = text.select(pl.all().str.strip_chars())
    missing = stripped.select(pl.all().fill_null("").is_in(MISSING_WORDS))
    floats = _floats(stripped).to_dict()
    n_missing = _counts(missing.select(pl.all().sum()))
    n_numbers = {name: _n_numbers(floats[name]) for name in floats}
    # a column without any value stays text
    numeric = [name for name in floats if 0 < n_numbers[name] == text.height - n_missing[name]]
    result = _numbers(pl.DataFrame([stripped.get_column(name) for name in numeric]), floats)
    for series in text.get_columns():
        if series.name not in result or result[series.name].dtype == pl.String:
            result[series.name] = series.set(missing.get_column(series.name), None)
    return result | _truth(stripped, result)


def _numbers(text: pl.DataFrame, floats: Columns) -> Columns:
    """Columns of numbers: whole ones as such, codes as the text that they were."""
    zeros = _counts(text.select(pl.all().str.contains(_LEADING_ZERO).any())) if text.width else {}
    result: Columns = {}
    for series in text.get_columns():
        values = floats[series.name]
        known = values.to_numpy()
        known = known[~np.isnan(known)]
        if zeros[series.name]:
            result[series.name] = series
        elif not (np.isfinite(known).all() and (known == np.rint(known)).all()):
            result[series.name] = values if len(known) == len(values) else values.fill_nan(None)
        else:
            result[series.name] = _whole(series, values, len(known))
    return result


def _whole(text: pl.Series, values: pl.Series, n_numbers: int) -> pl.Series:
    """A column of whole numbers: as such, or as text if some are too long, or as floats if written so."""
    ints = text.cast(pl.Int64, strict=False)
    if len(ints) - ints.null_count() == n_numbers:
        return ints
    if text.str.contains(_WHOLE).sum() == n_numbers:
        return text  # too long for 64 bits: as a float it would lose digits
    return values.fill_nan(None)


def _truth(text: pl.DataFrame, columns: Columns) -> Columns:
    """Those columns of text that say true or false in every row, or nothing."""
    names = [name for name in text.columns if columns[name].dtype == pl.String]
    if not names:
        return {}
    truth = text.select(named(names).str.to_lowercase())
    n_truth = _counts(truth.select(pl.all().is_in(_TRUTH).sum()))
    n_values = {name: len(columns[name]) - columns[name].null_count() for name in names}
    return {
        name: pl.select(pl.when(columns[name].is_not_null()).then(truth[name] == "true"))
        .to_series()
        .alias(name)
        for name in names
        if 0 < n_truth[name] == n_values[name]
    }


def _without_commas(text: pl.DataFrame, *, sure: bool) -> tuple[pl.DataFrame, list[str]]:
    """Write decimal points for decimal commas, in the columns where every number reads as one then.

    Semicolons between cells are there because commas are decimal. Without that to go by, a column in which
    every comma could stand before thousands ("1,234") is left alone.
    """
    stripped = text.select(pl.all().str.strip_chars().fill_null(""))
    n_commas, n_thousands, n_whole = (
        _counts(stripped.select(pl.all().str.contains(form).sum()))
        for form in (_DECIMAL_COMMA, _THOUSANDS, _WHOLE)
    )
    n_missing = _counts(stripped.select(pl.all().is_in(MISSING_WORDS).sum()))
    names = [
        name
        for name in text.columns
        if n_commas[name] > (0 if sure else n_thousands[name])
        and n_commas[name] + n_missing[name] + n_whole[name] == text.height
    ]
    if not names:
        return text, names
    return text.with_columns(named(names).str.replace(",", ".", literal=True)), names


def _floats(text: pl.DataFrame) -> pl.DataFrame:
    return text.select(pl.all().cast(pl.Float64, strict=False))


def _n_numbers(values: pl.Series) -> int:
    """How many are neither null nor NaN."""
    return int(np.count_nonzero(~np.isnan(values.to_numpy())))


def _counts(one_row: pl.DataFrame) -> dict[str, int]:
    return dict(zip(one_row.columns, one_row.row(0), strict=True))
