"""The user's own columns come out as they were, with the new ones behind them."""

import gzip

import numpy as np
import polars as pl
import pytest

from coterie.tables import Table, free_name, read_table, write_table

CELLS = 'id;"a, b";text;price;seen\n007;1.10;"say ""hi""";1,50;NA\n008;1e5; spaced ;2,00;2020-01-01 10:00\n'


def test_cells_come_out_as_they_stand_in_the_file(file, tmp_path):
    table = read_table(file(CELLS))
    write_table(table, tmp_path / "out.csv", {"cluster": np.array([1, 0])})
    assert (tmp_path / "out.csv").read_text() == (
        'id;a, b;text;price;seen;cluster\n007;1.10;"say ""hi""";1,50;NA;1\n'
        "008;1e5; spaced ;2,00;2020-01-01 10:00;0\n"
    )
    write_table(table, tmp_path / "out.tsv", {"cluster": [1, 0]})
    assert (tmp_path / "out.tsv").read_text().startswith("id\ta, b\ttext\tprice\tseen\tcluster\n007\t1.10\t")


def test_empty_lines_and_missing_cells(file, tmp_path):
    write_table(read_table(file("a,b\n\n1,\n\n,x\n")), tmp_path / "out.csv", {"cluster": [0, 1]})
    assert (tmp_path / "out.csv").read_text() == "a,b,cluster\n1,,0\n,x,1\n"


def test_a_file_that_changed_meanwhile_does_not_matter(file, tmp_path):
    path = file("a,b\n1.50,x\n2,y\n")
    table = read_table(path)
    path.write_text("a,b\n9.25,z\n8,z\n")
    write_table(table, tmp_path / "out.csv", {"cluster": [0, 1]})
    assert (tmp_path / "out.csv").read_text() == "a,b,cluster\n1.5,x,0\n2.0,y,1\n"
    path.unlink()
    write_table(table, tmp_path / "out.csv", {"cluster": [0, 1]})


LINES = (
    '\ufeff{"id": "a", "x": 1.50, "big": 12345678901234567890123}\r\n\n'
    '  {"x":2e3,"id":7,"l":[1, "\\u00fc"] }\n{ }\n{"id":"}","x":null}'
)


@pytest.mark.parametrize("packed", [False, True])
def test_lines_come_out_as_they_stand_in_the_file(file, tmp_path, packed):
    path = file(gzip.compress(LINES.encode()) if packed else LINES, "t.jsonl" + ".gz" * packed)
    added = {"cluster": np.array([1, 0, 2, 0]), 'na"me': ["ü", None, "q", "r"], "p": [0.5, np.nan, 1.0, 2.0]}
    write_table(read_table(path), tmp_path / "out.jsonl", added)
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == (
        '{"id": "a", "x": 1.50, "big": 12345678901234567890123,"cluster":1,"na\\"me":"ü","p":0.5}\n'
        '{"x":2e3,"id":7,"l":[1, "\\u00fc"],"cluster":0,"na\\"me":null,"p":null}\n'
        '{"cluster":2,"na\\"me":"q","p":1.0}\n'
        '{"id":"}","x":null,"cluster":0,"na\\"me":"r","p":2.0}\n'
    )
    again = read_table(tmp_path / "out.jsonl")
    assert again.frame["cluster"].to_list() == [1, 0, 2, 0]


def test_lines_as_other_files_and_lines_that_changed(file, tmp_path):
    path = file('{"a":1.50,"b":"x"}\n{"a":2,"b":"y"}\n', "t.jsonl")
    table = read_table(path)
    write_table(table, tmp_path / "out.csv", {"cluster": [0, 1]})
    assert (tmp_path / "out.csv").read_text() == "a,b,cluster\n1.5,x,0\n2.0,y,1\n"
    write_table(read_table(path, only=["b"]), tmp_path / "out.jsonl", {"cluster": [0, 1]})
    assert (tmp_path / "out.jsonl").read_text() == '{"b":"x","cluster":0}\n{"b":"y","cluster":1}\n'
    path.write_text('{"a":7}\n')
    write_table(table, tmp_path / "out.jsonl", {"cluster": [0, 1]})
    assert (tmp_path / "out.jsonl").read_text() == (
        '{"a":1.5,"b":"x","cluster":0}\n{"a":2.0,"b":"y","cluster":1}\n'
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "ndjson"])
@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl"])
def test_round_trips(tmp_path, source, ending):
    frame = pl.DataFrame(
        {"id": ["007", "x,y", 'q"'], "x": [1.5, None, 3.0], "n": [1, 2, 3], "two\nlines": ["a", "b", "ü"]}
    )
    path = tmp_path / f"in.{source}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[source](path)
    out = tmp_path / f"out.{ending}"
    write_table(
        read_table(path),
        out,
        {"cluster": np.array([2, 0, 1]), "name": np.array(["p", "q", "r"], dtype=object)},
    )
    again = read_table(out)
    assert again.frame.drop("cluster", "name").equals(frame)
    assert again.frame["cluster"].to_list() == [2, 0, 1]
    assert again.frame["name"].to_list() == ["p", "q", "r"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_that_text_cannot_hold(tmp_path, ending):
    frame = pl.DataFrame({"l": [[1, 2], None], "s": [{"a": 1}, {"a": None}], "b": [b"\xff", None]})
    table = Table(tmp_path / "t.parquet", frame=frame)
    write_table(table, tmp_path / f"out.{ending}", {"cluster": [0, 1]})
    assert read_table(tmp_path / f"out.{ending}").n_rows == 2


def test_of_a_matrix_the_rows_are_numbered(tmp_path):
    table = Table(tmp_path / "m.npy", matrix=np.eye(2))
    write_table(table, tmp_path / "out.csv", {"cluster": [1, 0]})
    assert (tmp_path / "out.csv").read_text() == "row,cluster\n0,1\n1,0\n"
    assert free_name(table, "row") == "row_2"


def test_only_the_columns_that_were_read(file, tmp_path):
    write_table(read_table(file(CELLS), only=["text", "id"]), tmp_path / "out.csv", {"cluster": [0, 1]})
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "text;id;cluster"


def test_a_name_that_is_free(read):
    table = read("cluster,cluster_2,a\n1,2,3\n")
    assert free_name(table, "cluster") == "cluster_3"
    assert free_name(table, "b") == "b"


def test_what_cannot_be_written(read, tmp_path, refused):
    table = read("a,b\n1,2\n")
    assert "unknown ending '.xlsx'" in refused(write_table, table, tmp_path / "o.xlsx", {"c": [1]})
    assert "cannot be written" in refused(write_table, table, tmp_path / "no" / "o.csv", {"c": [1]})
    for added in ({"a": [1]}, {"c": [1, 2]}):
        with pytest.raises(ValueError, match="must be new, with 1 values"):
            write_table(table, tmp_path / "o.csv", added)
