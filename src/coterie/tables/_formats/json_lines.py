"""JSON lines: one object a line, read by polars. Python goes through the lines as well.

It finds what polars passes over: a name that stands twice in a line, half of a character, and values of
several kinds in a column, which polars makes text of. Where polars fails, it looks for the line at fault.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import polars as pl

from coterie._words import count_of, listed
from coterie.tables._errors import TableError, quoted, shown
from coterie.tables._formats.lines import TextFile

_MARK = b"\xef\xbb\xbf"  # byte order mark
# Characters beyond 16 bits are written as two halves, each of which is none.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json_lines(lines: TextFile, only: Sequence[str] | None = None) -> tuple[pl.DataFrame, list[str]]:
    """One row a line, one column a name, and notes; a name that a line does not have is missing there."""
    lines.check_encoding()
    with lines.binary() as file:
        data = file.read().removeprefix(_MARK)
    if not data.strip():
        raise TableError("the file is empty.")
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _find_fault(data)
        raise error
    text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame, _check_lines(data, [name for name in text if only is None or name in only])


def own_lines(lines: TextFile) -> list[str]:
    """The lines of a file as they stand there, without the empty ones and the blanks around them."""
    with lines.binary() as file:
        return [line.decode().lstrip() for _, line in _numbered(file.read().removeprefix(_MARK))]


def _numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line.rstrip()


def _check_lines(data: bytes, text_columns: list[str]) -> list[str]:
    """Raise, with the line, where polars would change what is written; say which columns it made text of."""
    other: dict[str, str] = {}
    for number, line in _numbered(data):
        row = _parsed(number, line, json.loads)
        # each name is followed by a colon: a line with more of them has a name twice, or something nested
        if line.count(b":") > len(row):
            _parsed(number, line, _without_twins)
        if _HALF.search(line):
            _check_characters(number, row)
        for name in text_columns:
            value = row.get(name)
            if value is not None and not isinstance(value, str):
                other.setdefault(name, f"{_kind(value)} in line {number:,}")
    if not other:
        return []
    where = listed(f"{shown(name)} ({what})" for name in text_columns if (what := other.get(name)))
    return [f"{count_of(len(other), 'column')} of several kinds of values, taken as text: {where}."]


def _parsed(number: int, line: bytes, load: Any) -> dict[str, Any]:
    """A line as an object; raises, with its number, if it is none."""
    try:
        row = load(line)
    except json.JSONDecodeError as error:
        raise TableError(f"line {number:,} is not JSON: {error.msg} at character {error.colno}.") from None
    except _TwiceError as error:
        raise TableError(f"line {number:,} names {quoted(error.args[0])} twice; keep one of them.") from None
    except (ValueError, RecursionError) as error:
        raise TableError(f"line {number:,} is not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise TableError(f'line {number:,} is no object; every line has the form {{"name": value, ...}}.')
    return row


class _TwiceError(ValueError):
    """A name that an object has twice."""


def _without_twins(line: bytes) -> Any:
    return json.loads(line, object_pairs_hook=_once_each)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise _TwiceError(name)
        names.add(name)
    return dict(pairs)


def _check_characters(number: int, row: dict[str, Any]) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise TableError(
            f"line {number:,} holds {half}, which is half of a character and no text; mend it."
        ) from None


def _find_fault(data: bytes) -> None:
    """Raise, with the line, where it is no object or a value is of another kind than those above it."""
    seen: dict[str, tuple[str, int]] = {}
    for number, line in _numbered(data):
        row = _parsed(number, line, _strictly)
        _check_characters(number, row)
        for name, value in row.items():
            kind = _kind(value)
            first, where = seen.setdefault(name, (kind, number)) if kind else (kind, number)
            if first != kind:
                raise TableError(
                    f"{quoted(name)} holds {first} in line {where:,} and {kind} in line {number:,}; a column "
                    "needs values of one kind."
                )


def _strictly(line: bytes) -> Any:
    return json.loads(line, parse_constant=_no_constant, parse_float=_in_range, object_pairs_hook=_once_each)


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
