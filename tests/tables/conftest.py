"""A file or a table of the given content, and the one-line error that it ends in."""

import polars as pl
import pytest

from coterie.tables import Table, TableError, read_table


@pytest.fixture
def file(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def read(file):
    def reading(content, name="table.csv", **words):
        return read_table(file(content, name), **words)

    return reading


@pytest.fixture
def table(tmp_path):
    """A table of the given columns of 60 values, and one of numbers, `x`."""

    def make(**columns):
        x = [float(at % 7) for at in range(60)]
        return Table(tmp_path / "t.parquet", frame=pl.DataFrame({"x": x, **columns}, strict=False))

    return make


@pytest.fixture
def refused():
    """The message of the TableError that a call raises; it is one line."""

    def of(call, *arguments, **words):
        with pytest.raises(TableError) as caught:
            call(*arguments, **words)
        message = str(caught.value)
        assert message
        assert len(message.splitlines()) == 1
        return message

    return of
