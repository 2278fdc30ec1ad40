"""JSON lines: one object a line, each read once, by Python, which finds what polars would pass over.

That is a name that stands twice in a line, half of a character, and values of several kinds in a column.
"""

from __future__ import annotations

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
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
_TYPES = {"true or false": pl.Boolean, "text": pl.String}


def read_json_lines(lines: TextFile, only: Sequence[str] | None = None) -> tuple[pl.DataFrame, list[str]]:
    """One row a line, one column a name, and notes; a name that a line does not have is missing there."""
    lines.check_encoding()
    columns: dict[str, list[Any]] = {}
    numbers: list[int] = []  # of the line of each row
    for number, line in _numbered(lines):
        row = _parsed(number, line)
        if row.keys() - columns.keys():
            columns |= {name: [None] * len(numbers) for name in row if name not in columns}
        for name, cells in columns.items():
            cells.append(row.get(name))
        numbers.append(number)
    if not numbers:
        raise TableError("the file is empty.")
    mixed: dict[str, str] = {}
    series = [_series(name, columns[name], numbers, mixed) for name in columns]
    told = [f"{shown(name)} ({what})" for name, what in mixed.items() if only is None or name in only]
    note = f"{count_of(len(told), 'column')} of several kinds of values, taken as text: {listed(told)}."
    return pl.DataFrame(dict(zip(columns, series, strict=True))), [note] if told else []


def own_lines(lines: TextFile) -> list[str]:
    """The lines of a file as they stand there, without the empty ones and the blanks around them."""
    return [line.lstrip() for _, line in _numbered(lines)]


def _numbered(lines: TextFile) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    with lines.binary() as file:
        for number, line in enumerate(file, 1):
            text = (line.removeprefix(_MARK) if number == 1 else line).decode().rstrip()
            if text:
                yield number, text


def _parsed(number: int, line: str) -> dict[str, Any]:
    """A line as an object; raises, with its number, if it is none."""
    try:
        row = _decode(line)
        if _HALF.search(line):
            json.dumps(row, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise TableError(f"line {number:,} is not JSON: {error.msg} at character {error.colno}.") from None
    except _TwiceError as error:
        raise TableError(f"line {number:,} names {quoted(error.args[0])} twice; keep one of them.") from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise TableError(
            f"line {number:,} holds {half}, which is half of a character and no text; mend it."
        ) from None
    except (ValueError, RecursionError) as error:
        raise TableError(f"line {number:,} is not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise TableError(f'line {number:,} is no object; every line has the form {{"name": value, ...}}.')
    return row


def _series(name: str, cells: list[Any], numbers: list[int], mixed: dict[str, str]) -> pl.Series:
    """A column of one kind; text where some is text, and then `mixed` is told the first that is not."""
    places: dict[str, int] = {}
    for kind in set(map(type, cells)) - {type(None)}:
        row = next(row for row, cell in enumerate(cells) if type(cell) is kind)
        word = _KINDS.get(kind, "an object")
        places[word] = min(row, places.get(word, row))
    first, *others = sorted(places, key=places.__getitem__) or [""]
    if "text" in places and others:
        other = first if first != "text" else others[0]
        mixed[name] = f"{other} in line {numbers[places[other]]:,}"
        return pl.Series(name, [_as_text(cell) for cell in cells], pl.String)
    if others:
        raise TableError(
            f"{quoted(name)} holds {first} in line {numbers[places[first]]:,} and {others[0]} in line "
            f"{numbers[places[others[0]]]:,}; a column needs values of one kind."
        )
    if first == "a number":
        is_whole = float not in set(map(type, cells))
        largest = max(abs(cell) for cell in cells if cell is not None) if is_whole else 0
        return pl.Series(name, cells, pl.Int128 if largest >= 2**63 else pl.Int64 if is_whole else pl.Float64)
    return pl.Series(name, cells, _TYPES.get(first), strict=False)


def _as_text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    whole = isinstance(cell, float) and cell.is_integer()
    return json.dumps(int(cell) if whole else cell, ensure_ascii=False)


class _TwiceError(ValueError):
    """A name that an object has twice."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return row


def _in_range(digits: str) -> float:
    if abs(number := float(digits)) == float("inf"):
        raise ValueError(f"{quoted(digits)} is too large a number")
    return number


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value; write null")


_decode = json.JSONDecoder(
    parse_constant=_no_constant, parse_float=_in_range, object_pairs_hook=_once_each
).decode
