"""Files of lines, looked at one by one: which line is at fault, where polars only says that one is.

Python's csv module is slow and exact. It is asked where polars failed, and where the last column has empty
cells, which may be rows that are too short.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from coterie._words import count_of
from coterie.tables._errors import TableError


@dataclass(frozen=True)
class TextFile:
    """A text file, unpacked if need be."""

    path: Path
    data: bytes | None  # what was unpacked; None: the file itself

    @classmethod
    def of(cls, path: Path) -> TextFile:
        """Open a file; one that ends in .gz is unpacked."""
        if path.suffix.lower() != ".gz":
            return cls(path, None)
        try:
            return cls(path, gzip.decompress(path.read_bytes()))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TableError(f"this is no whole gzip file ({error}).") from None

    @property
    def source(self) -> Path | bytes:
        """What polars reads."""
        return self.path if self.data is None else self.data

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.path.stat().st_size if self.data is None else len(self.data)

    def binary(self) -> IO[bytes]:
        """The bytes from the beginning."""
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    def text(self) -> IO[str]:
        """The text from the beginning, line ends as they are."""
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig", newline="")

    def check_encoding(self) -> None:
        """Raise, with the line, if the text is not UTF-8."""
        with self.binary() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    raise TableError(
                        f"line {number:,} is not UTF-8 text (byte 0x{line[error.start]:02x} at position "
                        f"{error.start + 1}); save the file as UTF-8 and try again."
                    ) from None


def read_records(
    lines: TextFile, separator: str, width: int, *, keep: bool
) -> tuple[int, list[int], list[list[str]]]:
    """How many rows there are, which are empty lines, and cells to keep; raises where one is not as wide."""
    empty: list[int] = []
    cells: list[list[str]] = []
    n_rows = -1  # the header
    with lines.text() as text, _long_cells():
        records = csv.reader(text, delimiter=separator, strict=True)
        line = 1
        try:
            for record in records:
                if n_rows >= 0:
                    if not record:
                        empty.append(n_rows)
                        record = [""] * width
                    elif len(record) != width:
                        raise TableError(
                            f"line {line:,} has {count_of(len(record), 'cell')}, the header has {width:,}."
                        )
                    if keep:
                        cells.append(record)
                if record:  # empty lines above the header do not count
                    n_rows += 1
                line = records.line_num + 1
        except csv.Error as error:
            raise quoting_error(error, line) from None
    if width == 1:  # an empty line is a missing value there, unless nothing else follows
        filled = set(range(n_rows)) - set(empty)
        empty = [row for row in empty if row > max(filled, default=-1)]
    return max(n_rows, 0), empty, cells


def quoting_error(error: csv.Error, line: int) -> TableError:
    """What the csv module complains of, in words that help."""
    message = str(error)
    if "unexpected end of data" in message:
        what = 'a quote (") opens a cell and is never closed'
    elif "expected after" in message:
        what = 'a cell goes on after its closing quote; inside a quoted cell a quote is written twice ("")'
    elif "new-line character" in message:
        what = "there is a stray carriage return inside the row"
    else:
        what = message
    return TableError(f"line {line:,}: {what}.")


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be longer than the csv module's limit."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)
