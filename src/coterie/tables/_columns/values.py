"""Values of a column as numbers or as text, written once as polars expressions."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import polars.selectors as cs

# Words that stand for a missing value in a text file; compared without the blanks around them.
MISSING_WORDS = ("", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?")

_DAY = 86_400.0
_TIMES = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
LOOKS_LIKE_DATE = r"^\s*\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}|\s*$)"

# Numbers with a sign or separators, and plain ones; patterns for Python and for polars alike.
_CURRENCY = r"(?:[$€£¥₹₽₩₺]|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK)"
_THOUSANDS = "[1-9][0-9]{0,2}(?:[,.' \u2019\u00a0\u202f][0-9]{3})+"
DRESSED = rf"^\s*[+-]?\s*{_CURRENCY}?\s*[+-]?(?:{_THOUSANDS}|[0-9]+)(?:[.,][0-9]+)?\s*(?:{_CURRENCY}|%)?\s*$"


def named(names: str | Iterable[str]) -> pl.Expr:
    """Columns by their names; `pl.col` would take "*" and "^...$" for patterns."""
    return cs.by_name(*([names] if isinstance(names, str) else names)).as_expr()


def can_be_number(dtype: pl.DataType) -> bool:
    """Whether values of this type are numbers, or dates and times, which are counted in days."""
    return bool(dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean)


def is_text(dtype: pl.DataType) -> bool:
    """Whether values of this type are text."""
    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def can_be_text(dtype: pl.DataType) -> bool:
    """Whether values of this type can be written as text that says what they are."""
    return is_text(dtype) or (can_be_number(dtype) and dtype != pl.Duration)


def number(names: str | list[str], dtype: pl.DataType, *, is_date: bool = False) -> pl.Expr:
    """Columns of a type as floats; what is missing or no number becomes null. Dates are days since 1970."""
    values = named(names)
    if is_text(dtype):
        values = values.cast(pl.String).str.strip_chars()
        return _days(values) if is_date else values.cast(pl.Float64, strict=False).fill_nan(None)
    if dtype == pl.Datetime:
        return values.dt.timestamp("us").cast(pl.Float64) / (_DAY * 1e6)
    if dtype == pl.Duration:
        return values.dt.total_microseconds().cast(pl.Float64) / (_DAY * 1e6)
    if dtype == pl.Time:
        return values.cast(pl.Int64).cast(pl.Float64) / (_DAY * 1e9)
    if dtype == pl.Date:
        return values.cast(pl.Int32).cast(pl.Float64)
    return values.cast(pl.Float64, strict=False).fill_nan(None)


def _days(text: pl.Expr) -> pl.Expr:
    """ISO dates and times, written as text, in days since 1970; null where it is none."""
    day = text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    plain = text.str.replace("T", " ", literal=True).str.replace(r"(?:Z|\+00:?00)$", "")
    for form in _TIMES:
        time = plain.str.to_datetime(form, time_unit="us", strict=False)
        day = day.fill_null(time.dt.timestamp("us").cast(pl.Float64) / (_DAY * 1e6))
    return day


def text(names: str | list[str], dtype: pl.DataType) -> pl.Expr:
    """Columns of a type as text; blank text becomes null, whole floats are written without a point."""
    values = named(names)
    if is_text(dtype):
        values = values.cast(pl.String)
        return pl.when(values.str.strip_chars() != "").then(values)
    if dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        return pl.when(whole == values).then(whole.cast(pl.String)).otherwise(values.cast(pl.String))
    return values.cast(pl.String)
