"""JSON lines: one object a line, read by polars; where it fails, the line at fault is looked for."""

from __future__ import annotations

import io
import json
from typing import Any, NoReturn

import polars as pl

from coterie.tables._errors import TableError, quoted
from coterie.tables._lines import Lines


def read_json_lines(lines: Lines) -> pl.DataFrame:
    """One row a line, one column a name; a name that a line does not have is missing there."""
    lines.check_encoding()
    with lines.binary() as file:
        data = file.read().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise TableError("the file is empty.")
    try:
        return pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _find_fault(data)
        raise error


def _find_fault(data: bytes) -> None:
    """Raise, with the line, where it is no object or a value is of another kind than those above it."""
    seen: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=_no_constant, parse_float=_in_range)
        except json.JSONDecodeError as error:
            raise TableError(
                f"line {number:,} is not JSON: {error.msg} at character {error.colno}."
            ) from None
        except (ValueError, RecursionError) as error:
            raise TableError(f"line {number:,} is not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise TableError(f'line {number:,} is no object; every line has the form {{"name": value, ...}}.')
        for name, value in row.items():
            kind = _kind(value)
            first, where = seen.setdefault(name, (kind, number)) if kind else (kind, number)
            if first != kind:
                raise TableError(
                    f"{quoted(name)} holds {first} in line {where:,} and {kind} in line {number:,}; a column "
                    "needs values of one kind."
                )


def _in_range(digits: str) -> float:
    if abs(float(digits)) == float("inf"):
        raise ValueError(f"{quoted(digits)} is too large a number")
    return float(digits)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value; write null")


def _kind(value: Any) -> str:
    """A word for the kind of a value; nothing for null."""
    if value is None:
        return ""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
    return kinds.get(type(value), "an object")
