"""CSV and TSV: types from the whole file, text kept as it is, and errors that name the line."""

import csv
import gzip
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.tables import TableError, read_table


def columns(table):
    return table.frame.to_dict(as_series=False)


def types(table):
    return {name: str(dtype) for name, dtype in table.frame.schema.items()}


def test_each_column_has_the_type_that_all_its_values_have(read):
    table = read("whole,real,truth,word\n1,1.5,true,x\n-2,2,FALSE,y\n")
    assert types(table) == {"whole": "Int64", "real": "Float64", "truth": "Boolean", "word": "String"}
    assert columns(table)["truth"] == [True, False]
    assert (table.n_rows, table.names, table.notes) == (2, ("whole", "real", "truth", "word"), ())


def test_the_last_of_many_rows_decides_too(read):
    table = read("a,b\n" + "1,2\n" * 200_000 + "1,two\n")
    assert types(table) == {"a": "Int64", "b": "String"}
    assert columns(table)["b"][-1] == "two"


@pytest.mark.parametrize("word", ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?", " ", " NA "])
def test_words_for_a_missing_value(read, word):
    table = read(f"a,b,c\n1,x,0\n{word},{word},1\n3.5,z,2\n")
    assert columns(table) == {"a": [1.0, None, 3.5], "b": ["x", None, "z"], "c": [0, 1, 2]}


def test_a_column_without_any_value_is_text(read):
    assert types(read("a,b\nNA,1\n?,2\n")) == {"a": "String", "b": "Int64"}


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "123"], ["00", "1"], ["-01", "5"], ["01.10", "2.5"], ["12345678901234567890", "1"],
        ["1", "99999999999999999999999"],
    ],
)  # fmt: skip
def test_codes_stay_text(read, cells):
    assert columns(read("code,x\n" + "".join(f"{cell},1\n" for cell in cells)))["code"] == cells


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["0", "-0"], [0, 0]), (["0.5", "-0.25"], [0.5, -0.25]), (["1e3", "+2"], [1000.0, 2.0]),
        ([" 1 ", "2"], [1, 2]), (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["1e300", "1e-300"], [1e300, 1e-300]), (["inf", "1"], [float("inf"), 1.0]),
        ([".5", "3."], [0.5, 3.0]), (["1.0", "2.0"], [1.0, 2.0]),
    ],
)  # fmt: skip
def test_numbers_in_many_forms(read, cells, values):
    assert columns(read("x,y\n" + "".join(f"{cell},1\n" for cell in cells)))["x"] == values


@pytest.mark.parametrize("cell", ["1_000", "0x10", "1,5", "--1", "1 000", "٣", "NAN", "one"])
def test_what_is_no_number(read, cell):
    assert columns(read(f'x,y\n1,1\n"{cell}",1\n'))["x"] == ["1", cell]


@pytest.mark.parametrize("cell", [" x", "x ", 'say "hello"', "a,b", "two\nlines", "naïve", "🙂", "<script>"])
def test_text_is_kept_as_it_stands(read, cell):
    quoted = cell.replace('"', '""')
    assert columns(read(f'a,b\n"{quoted}",1\n'))["a"] == [cell]


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_another_separator_is_found_and_said(read, mark, word):
    table = read(f"a{mark}b\n1{mark}x\n")
    assert columns(table) == {"a": [1], "b": ["x"]}
    assert table.notes == (f"Cells are separated by {word}.",)


def test_a_mark_inside_of_quotes_separates_nothing(read):
    assert read('"a,b";c\n1;2\n').names == ("a,b", "c")


def test_decimal_commas_are_read_and_said(read):
    table = read("a;b;c\n1,5;1;x,1\n-2;2;y\nNA;3;z\n")
    assert columns(table) == {"a": [1.5, -2.0, None], "b": [1, 2, 3], "c": ["x,1", "y", "z"]}
    assert "Commas are read as decimal points in 'a'." in table.notes


def test_commas_before_thousands_are_not_taken_for_decimal_ones(read):
    cells = ["1,234", "12,500", "7"]
    assert columns(read("a\tb\n" + "".join(f"{cell}\t1\n" for cell in cells), "t.tsv"))["a"] == cells
    assert columns(read("a;b\n" + "".join(f"{cell};1\n" for cell in cells)))["a"] == [1.234, 12.5, 7.0]
    assert columns(read("a\tb\n1,234\t1\n0,125\t1\n", "t.tsv"))["a"] == [1.234, 0.125]


def test_tsv(read):
    assert columns(read("a\tb\n1,5\tx\n", "t.tsv")) == {"a": [1.5], "b": ["x"]}
    assert read("a,b\n1,2\n", "T.TSV").notes == ("Cells are separated by commas.",)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark(read, end, last, start):
    text = start + end.join(["a,b", "1,x", "2,y"]) + (end if last else "")
    assert columns(read(text)) == {"a": [1, 2], "b": ["x", "y"]}


def test_packed(read):
    table = read(gzip.compress(b"a,b\n1,x\n"), "t.csv.gz")
    assert columns(table) == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize("name", ["*.csv", "a[1].csv", "{a}.csv", "~.csv", "T.CSV"])
def test_a_file_name_is_no_pattern(read, file, name):
    file("a,b\n1,2\n", "a1.csv")
    assert columns(read("a,b\n7,8\n", name)) == {"a": [7], "b": [8]}


def test_empty_lines_are_left_out_and_said(read):
    table = read("\n\na,b\n\n1,2\n\n3,\n\n\n")
    assert columns(table) == {"a": [1, 3], "b": [2, None]}
    assert table.notes == ("4 empty lines left out.",)


def test_in_a_single_column_an_empty_line_is_a_missing_value(read):
    table = read("a\n1\n\n3\n\n\n")
    assert columns(table) == {"a": [1, None, 3]}
    assert table.notes == ("2 empty lines left out.",)


def test_stray_quotes_are_text(read):
    assert columns(read('a,b\n5" pipe,1\n6" pipe,2\n7",3\n'))["a"] == ['5" pipe', '6" pipe', '7"']


def test_a_cell_may_be_long(read):
    long = "x" * 300_000
    assert columns(read(f'a,b\n{long},\n5",2\n'))["a"] == [long, '5"']


def test_row_names_without_a_header(read):
    table = read(",a\n0,5\n1,6\n")
    assert columns(table) == {"row": [0, 1], "a": [5, 6]}
    assert table.notes == ("The first column has no name; it is called 'row' here.",)


@pytest.mark.parametrize("only", [["c", "id"], ["b"], ["id", "id"], []])
def test_only_some_columns(read, only):
    table = read("id,b,c\n1,2,3\n4,5,6\n", only=only)
    assert table.names == tuple(dict.fromkeys(only))
    assert table.n_rows == 2


def test_only_some_columns_of_a_large_file(read, monkeypatch, refused):
    monkeypatch.setattr("coterie.tables._formats.csv._WORTH_CHOOSING", 0)
    assert columns(read("id,b,c\n1,2,3\n4,5,\n", only=["b"])) == {"b": [2, 5]}
    assert "line 3 has 2 cells" in refused(read, "id,b,c\n1,2,3\n4,5\n", only=["b"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty."),
        ("\n \n", "the file is empty."),
        ("\ufeff", "the file is empty."),
        ("a,b\n", "there is a header but no row below it."),
        ("a,b", "there is a header but no row below it."),
        ("a,b\n\n\n", "there is a header but no row below it."),
        ("a,b\n1,2\n3\n", "line 3 has 1 cell, the header has 2."),
        ("a,b,c\n1,2,3\n3,4\n", "line 3 has 2 cells, the header has 3."),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 cells, the header has 2."),
        ('a,b\n"x\ny",2\n3\n', "line 4 has 1 cell, the header has 2."),
        ("a,b,a\n1,2,3\n", "the header names 'a' twice, in columns 1 and 3; make them differ."),
        ("a,b, a\n1,2,3\n", "the header names 'a' twice, in columns 1 and 3; make them differ."),
        ("a,,b\n1,2,3\n", "column 2 has no name in the header; give every column a name."),
        ("^a$,b\n1,2\n", "the column name '^a$' cannot be used; rename it, without ^ or $."),
        ('a,b\nx,1\n"y,2\nz,3\n', 'line 3: a quote (") opens a cell and is never closed.'),
        (
            'a,b\n"5" pipe,2\n',
            "line 2: a cell goes on after its closing quote; inside a quoted cell a quote is written twice "
            '("").',
        ),
        ('"a,b\n1,2\n', 'line 1: a quote (") opens a cell and is never closed.'),
        (
            b"a,b\nM\xfcnchen,1\n",
            "line 2 is not UTF-8 text (byte 0xfc at position 2); save the file as UTF-8 and try again.",
        ),
        (
            b"a\xfc,b\nx,1\n",
            "line 1 is not UTF-8 text (byte 0xfc at position 2); save the file as UTF-8 and try again.",
        ),
        ("a,b\n1,2\n".encode("utf-16"), "the text is UTF-16; save it as UTF-8 and try again."),
        (b"\x7fELF\x00\x01\x02", "this is no text file; CSV and TSV are text, saved as UTF-8."),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, refused, content, message):
    assert refused(read, content) == f"table.csv: {message}"


def test_a_wrong_letter_far_down(read, refused):
    assert "line 50,002 is not UTF-8" in refused(read, b"a,b\n" + b"x,1\n" * 50_000 + b"\xff,1\n")


def test_a_mark_in_quotes_does_not_make_a_short_line_long(read, refused):
    content = 'a,b,c\n1,2,\n"x,y",\n'
    assert refused(read, content) == "table.csv: line 3 has 2 cells, the header has 3."


def test_a_line_end_in_quotes_is_no_line(read):
    assert columns(read('a,b\n"1\n2",\n'))["a"] == ["1\n2"]


def test_a_short_line_far_down(read, refused):
    content = "a,b,c\n" + "1,2,\n" * 50_000 + "1,\n"
    assert refused(read, content) == "table.csv: line 50,002 has 2 cells, the header has 3."


@pytest.mark.parametrize("content", [b"junk", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], b""])
def test_packed_files_that_are_damaged(read, refused, content):
    refused(read, content, "t.csv.gz")


def test_wrong_names_suggest_the_nearest(read, refused):
    said = refused(read, "age,income\n1,2\n", only=["Incme"])
    assert (
        said
        == "table.csv: there is no column 'Incme'. Did you mean 'income'? The columns are 'age', 'income'."
    )


_CELLS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8),
    st.integers().map(str),
    st.floats(allow_nan=False).map(repr),
    st.sampled_from(["", "NA", "true", "False", "007", "1e5", '"', ",", "\n", "2020-01-31"]),
)


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(_CELLS, min_size=n, max_size=n), min_size=1, max_size=6)
    )
)
def test_what_was_written_is_read(tmp_path, rows):
    """Each cell comes back: as itself, as the number it writes, or as missing."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([[f"c{at}" for at in range(len(rows[0]))], *rows])
    path = tmp_path / "generated.csv"
    path.write_text(buffer.getvalue(), encoding="utf-8", newline="")
    table = read_table(path)
    assert table.n_rows == len(rows)
    for name, cells in zip(table.names, zip(*rows, strict=True), strict=True):
        for cell, value in zip(cells, table.frame[name].to_list(), strict=True):
            if value is None:
                assert cell.strip() in ("", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?")
            elif isinstance(value, bool):
                assert cell.strip().lower() == str(value).lower()
            elif isinstance(value, str):
                assert value == cell
            else:
                assert value == (int(cell) if isinstance(value, int) else float(cell))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-0.7,0.2\n1.5,2\n3,4\n", "line 1 holds numbers, not names"),
        ("sep=;\na;b\n1;2\n", "sep="),
        ("a,b,\n1,2,\n3,4,\n", "the header ends in a separator"),
        ("a,,b\n1,2,3\n", "column 2 has no name"),
    ],
)
def test_headers_that_are_none(tmp_path, text, told):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match=told):
        read_table(tmp_path / "t.csv")


def test_whole_numbers_as_names_are_taken_and_said(tmp_path):
    (tmp_path / "t.csv").write_text("2019,2020\n1,2\n3,4\n")
    table = read_table(tmp_path / "t.csv")
    assert table.names == ("2019", "2020")
    assert "taken from line 1" in table.notes[0]
