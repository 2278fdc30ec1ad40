"""Parquet, JSON lines, NPY, NPZ, MatrixMarket; and files that are none of what their name says."""

import gzip
import io
import os

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse

from coterie.tables import read_table


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(*arrays, **named):
    buffer = io.BytesIO()
    np.savez(buffer, *arrays, **named)
    return buffer.getvalue()


# ---- Parquet and JSON lines -----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "ndjson", "JSONL"])
@pytest.mark.parametrize("only", [None, ["s", "x"], []])
def test_frames(tmp_path, ending, only):
    frame = pl.DataFrame({"x": [1.5, None], "s": ["007", "NA"], "l": [[1], [2, 3]], "*": [1, 2]})
    path = tmp_path / f"t.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ndjson(path)
    table = read_table(path, only=only)
    assert table.names == ("x", "s", "l", "*") if only is None else table.names == tuple(only)
    assert table.n_rows == 2
    for name in table.names:  # text is text: nothing is guessed where the file has types
        assert table.frame[name].to_list() == frame[name].to_list()


def test_json_lines_with_gaps_empty_lines_and_byte_order_mark(read):
    table = read('\ufeff{"a":1}\r\n\r\n{"b":"x","a":2.5}\r\n', "t.jsonl")
    assert table.frame.to_dict(as_series=False) == {"a": [1.0, 2.5], "b": [None, "x"]}


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_file_name_is_no_pattern(tmp_path, ending):
    for name, value in (("a1", 1), ("a[1]", 2)):
        frame = pl.DataFrame({"x": [value]})
        (frame.write_parquet if ending == "parquet" else frame.write_ndjson)(tmp_path / f"{name}.{ending}")
    assert read_table(tmp_path / f"a[1].{ending}").frame["x"].to_list() == [2]


def test_json_lines_packed(read):
    assert read(gzip.compress(b'{"a":1}\n'), "t.jsonl.gz").n_rows == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty."),
        ("\n\n", "the file is empty."),
        ("{}\n", "the table has no columns."),
        ('{"a":1}\n{"a":\n', "line 2 is not JSON: Expecting value at character 6."),
        ('{"a":1}\n[1]\n', 'line 2 is no object; every line has the form {"name": value, ...}.'),
        ('[{"a":1}]', 'line 1 is no object; every line has the form {"name": value, ...}.'),
        ('{"a":NaN}\n', "line 1 is not JSON: NaN is no JSON value; write null."),
        ('{"a":1e999}\n', "line 1 is not JSON: '1e999' is too large a number."),
        (
            '{"a":1}\n{"a":null}\n{"a":true}\n',
            "'a' holds a number in line 1 and true or false in line 3; a column needs values of one kind.",
        ),
        ('{"a":1,"b":2}\n{"a":1,"a":1}\n', "line 2 names 'a' twice; keep one of them."),
        ('{"a":1}\n\n{"a" : 1, "b": 2, "a":1}\n', "line 3 names 'a' twice; keep one of them."),
        ('{"a":{"b":1,"b":2}}\n', "line 1 names 'b' twice; keep one of them."),
        (
            '{"a":"x"}\n{"a":"\\uD800"}\n',
            "line 2 holds \\ud800, which is half of a character and no text; mend it.",
        ),
        (
            '{"a":[{"\\ude00":1}]}\n',
            "line 1 holds \\ude00, which is half of a character and no text; mend it.",
        ),
        ('{"^a$":1}\n', "the column name '^a$' cannot be used; rename it, without ^ or $."),
        (
            b'{"a":"\xfc"}',
            "line 1 is not UTF-8 text (byte 0xfc at position 7); save the file as UTF-8 and try again.",
        ),
    ],
)
def test_json_lines_that_are_wrong(read, refused, content, message):
    assert refused(read, content, "t.jsonl") == f"t.jsonl: {message}"


def test_json_lines_that_only_look_wrong(read):
    table = read('{"a":"a:a:a","b":{"a":1}}\n{"a":"\\ud83d\\ude42","b":{"a":2}}\n', "t.jsonl")
    assert table.frame["a"].to_list() == ["a:a:a", "🙂"]
    assert table.notes == ()


def test_json_columns_of_several_kinds_are_text_and_it_is_said(read):
    content = '{"id":"x","n":1,"m":2}\n{"id":7,"n":2.5,"m":null}\n{"id":true,"n":3,"m":"y"}\n'
    table = read(content, "t.jsonl")
    assert table.frame["id"].to_list() == ["x", "7", "true"]
    assert table.notes == (
        "2 columns of several kinds of values, taken as text: id (a number in line 2), m (a number in line "
        "1).",
    )
    assert read(content, "t.jsonl", only=["n"]).notes == ()
    assert read(content, "t.jsonl", only=["id"]).notes == (
        "1 column of several kinds of values, taken as text: id (a number in line 2).",
    )


def test_json_too_deep(read, refused):
    refused(read, '{"a":' + "[" * 100_000, "t.jsonl")


def test_parquet_that_is_wrong(tmp_path, read, refused, capfd):
    path = tmp_path / "whole.parquet"
    pl.DataFrame({"a": list(range(100))}).write_parquet(path, compression="uncompressed")
    whole = path.read_bytes()
    assert refused(read, b"", "t.parquet") == "t.parquet: the file is empty."
    assert refused(read, b"PA", "t.parquet") == "t.parquet: this is no whole Parquet file."
    assert refused(read, whole[:-1], "t.parquet") == "t.parquet: this is no whole Parquet file."
    assert "damaged" in refused(read, b"PAR1" + b"\xff" * 90 + b"PAR1", "t.parquet")
    pl.DataFrame({"a": []}).write_parquet(path)
    assert refused(read_table, path) == "whole.parquet: the table has no rows."
    assert capfd.readouterr().err == ""


# ---- matrices -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2), np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(6, dtype=np.int8).reshape(2, 3), np.array([[True, False]]),
        np.array([[1, np.nan], [np.inf, 2]], dtype=np.float32), np.arange(4.0, dtype=">f8").reshape(2, 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("pack", "name"), [(npy, "t.npy"), (npz, "t.npz")])
def test_arrays(read, array, pack, name):
    table = read(pack(array), name)
    np.testing.assert_array_equal(table.matrix, array.astype(float))
    assert table.matrix.dtype == np.float64
    assert table.matrix.flags.c_contiguous
    assert table.names == tuple(f"column {at}" for at in range(array.shape[1]))


def test_one_dimension_is_one_column(read):
    assert read(npy(np.arange(3)), "t.npy").matrix.tolist() == [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty."),
        (b"junk", "this is no NPY file."),
        (npy(np.zeros((2, 2, 2))), "the array has shape (2, 2, 2); rows and columns are needed."),
        (npy(np.array(1.0)), "the array has shape (); rows and columns are needed."),
        (npy(np.zeros((0, 3))), "the matrix is empty: 0 rows, 3 columns."),
        (npy(np.zeros((3, 0))), "the matrix is empty: 3 rows, 0 columns."),
        (npy(np.array([1j])), "the numbers are complex; real ones are needed."),
        (npy(np.array(["a"])), "the array holds <U1, not numbers."),
        (npy(np.array([None])), "the array holds Python objects, not numbers."),
        (npy(np.zeros(3, dtype=[("a", float)])), "the array holds [('a', '<f8')], not numbers."),
        (npy(np.eye(3))[:-1], "the file is cut off: its header promises more numbers than it holds."),
    ],
)
def test_arrays_that_are_wrong(read, refused, content, message):
    assert refused(read, content, "t.npy") == f"t.npy: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty."),
        (b"junk", "this is no NPZ file."),
        (npz(), "the file holds no array; save the one that is meant on its own."),
        (
            npz(a=np.eye(2), b=np.eye(2)),
            "the file holds 2 arrays: 'a', 'b'; save the one that is meant on its own.",
        ),
    ],
)
def test_archives_that_are_wrong(read, refused, content, message):
    assert refused(read, content, "t.npz") == f"t.npz: {message}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"False", b"f(1) "), (b"'<f8'", b"'<q@'"), (b"(3, 3)", b"(3,(3)"), (b"'descr'", b"'desxr'"),
        (b"{", b"["), (b"(3, 3)", b"('a',)"), (b"(3, 3)", b"(-3,3)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("pack", "name"), [(npy, "t.npy"), (npz, "t.npz")])
def test_damaged_headers_are_told_in_plain_words(read, refused, before, after, pack, name):
    content = pack(np.eye(3))
    assert content.count(before) == 1
    said = refused(read, content.replace(before, after), name)
    assert "damaged" in said or "cut off" in said
    for word in ("ast.", "0x", "malformed", "dtype", "object"):
        assert word not in said


def test_too_many_columns(tmp_path, refused):
    scipy.sparse.save_npz(tmp_path / "t.npz", scipy.sparse.csr_matrix((3, 1_000_001)))
    assert "3 rows and 1,000,001 columns is too large" in refused(read_table, tmp_path / "t.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_archives(tmp_path, form):
    matrix = scipy.sparse.random(6, 4, 0.4, format=form, random_state=0)
    scipy.sparse.save_npz(tmp_path / "t.npz", matrix)
    table = read_table(tmp_path / "t.npz")
    assert table.is_sparse
    assert table.matrix.format == "csr"
    np.testing.assert_array_equal(table.matrix.toarray(), matrix.toarray())


@pytest.mark.parametrize("form", [b"csr", b"csc"])
def test_a_sparse_archive_with_places_out_of_range(read, refused, form):
    parts = {"format": form, "shape": [2, 2], "data": [1.0], "indices": [7], "indptr": [0, 1, 1]}
    assert "damaged" in refused(read, npz(**{name: np.array(part) for name, part in parts.items()}), "t.npz")


# ---- MatrixMarket, with SciPy's reader as the oracle -----------------------------------------------------


def _matrices():
    square = np.random.default_rng(0).normal(size=(5, 5)).round(2)
    symmetric, skew = square + square.T, square - square.T
    return {
        "dense": square[:, :3],
        "dense symmetric": symmetric,
        "dense skew": skew,
        "whole": np.arange(6).reshape(2, 3),
        "sparse": scipy.sparse.random(6, 4, 0.4, random_state=0),
        "sparse symmetric": scipy.sparse.coo_matrix(np.where(abs(symmetric) > 1, symmetric, 0)),
        "sparse skew": scipy.sparse.coo_matrix(np.where(abs(skew) > 1, skew, 0)),
        "sparse whole": scipy.sparse.coo_matrix(np.eye(3, dtype=int)),
        "nothing": scipy.sparse.coo_matrix((3, 2)),
    }


@pytest.mark.parametrize("name", list(_matrices()))
@pytest.mark.parametrize("change", [None, "blanks", "gz"])
def test_matrix_market(tmp_path, name, change):
    path = tmp_path / "t.mtx"
    scipy.io.mmwrite(path, _matrices()[name])
    oracle = scipy.io.mmread(path)
    if change == "blanks":  # another way of reading the numbers
        path.write_text("\n".join(line.replace(" ", "  ") for line in path.read_text().splitlines()) + "\n\n")
    if change == "gz":
        (tmp_path / "t.mtx.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "t.mtx.gz"
    table = read_table(path)
    assert table.is_sparse == scipy.sparse.issparse(oracle)
    found = table.matrix.toarray() if table.is_sparse else table.matrix
    np.testing.assert_array_equal(found, oracle.toarray() if table.is_sparse else oracle)


def test_matrix_market_patterns_and_comments(read):
    content = "%%MatrixMarket MATRIX coordinate pattern symmetric\n% a word\n\n%\n3 3 2\n1 1\n3 1\n"
    assert read(content, "t.mtx").matrix.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0]]


_HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "this is no MatrixMarket file; the first line says %%MatrixMarket matrix ..."),
        ("junk", "this is no MatrixMarket file; the first line says %%MatrixMarket matrix ..."),
        (_HEAD, "the line of sizes is ''."),
        (_HEAD + "3 3\n", "the line of sizes is '3 3'."),
        (_HEAD + "-3 3 1\n", "the line of sizes is '-3 3 1'."),
        (_HEAD + "0 3 0\n", "the matrix is empty: 0 rows, 3 columns."),
        (
            _HEAD + "99999999999 3 1\n1 1 1\n",
            "a matrix of 99,999,999,999 rows and 3 columns is too large; at most 100,000,000 rows and "
            "1,000,000 columns can be read.",
        ),
        (
            _HEAD + "90000000 90000000 1\n1 1 1\n",
            "a matrix of 90,000,000 rows and 90,000,000 columns is too large; at most 100,000,000 rows and "
            "1,000,000 columns can be read.",
        ),
        (
            _HEAD + "90000000 3 1\n1 1 1\n",
            "the matrix has 90,000,000 rows, but only 1 filled cells: nearly all rows are empty.",
        ),
        (_HEAD + "3 3 9\n1 1 1\n", "there should be 27 numbers below the sizes, there are 3."),
        (_HEAD + "3 3 1\n4 1 1\n", "entry 1 stands at 4, 1, outside of 3 x 3."),
        (_HEAD + "3 3 1\n0 1 1\n", "entry 1 stands at 0, 1, outside of 3 x 3."),
        (_HEAD + "3 3 1\n1.5 1 1\n", "entry 1 stands at 1.5, 1, outside of 3 x 3."),
        (_HEAD + "3 3 1\n1 1 x\n", "below the sizes there is something else than numbers."),
        (_HEAD + "3 3 1\n1 1 5.4\x00\x8b{12\n", "below the sizes there is something else than numbers."),
        (
            _HEAD.replace("real", "complex") + "1 1 1\n1 1 1 1\n",
            "the numbers are complex; real ones are needed.",
        ),
        (
            _HEAD.replace("real", "unreal") + "1 1 1\n",
            "matrices of the kind 'coordinate unreal general' cannot be read.",
        ),
        (
            _HEAD.replace("general", "symmetric") + "2 3 0\n",
            "a symmetric matrix has as many rows as columns.",
        ),
    ],
)
def test_matrix_market_that_is_wrong(read, refused, content, message):
    assert refused(read, content, "t.mtx") == f"t.mtx: {message}"


# ---- files that are none --------------------------------------------------------------------------------


def test_an_unknown_ending_lists_those_that_are_known(read, refused):
    said = refused(read, "a", "t.ods")
    assert said.startswith("t.ods: unknown ending '.ods'; tables end in .csv, .tsv, .xlsx, .parquet, .jsonl")
    assert "the name has no ending" in refused(read, "a", "table")


def test_a_missing_file_suggests_the_nearest(tmp_path, file, refused):
    file("a\n1\n", "customers.csv")
    assert refused(read_table, tmp_path / "custmers.csv") == (
        "custmers.csv: there is no such file. Did you mean 'customers.csv'?"
    )
    assert refused(read_table, tmp_path / "q.csv") == "q.csv: there is no such file."
    assert "there is no directory" in refused(read_table, tmp_path / "no" / "t.csv")


def test_a_directory(tmp_path, refused):
    (tmp_path / "d.csv").mkdir()
    assert refused(read_table, tmp_path / "d.csv") == "d.csv: this is a directory; name a file in it."


def test_a_pipe_is_not_waited_for(tmp_path, refused):
    os.mkfifo(tmp_path / "t.csv")
    assert refused(read_table, tmp_path / "t.csv") == "t.csv: this is not a regular file."


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "t.npy", "t.npz", "t.mtx", "t.csv.gz"])
def test_no_permission(file, refused, name, monkeypatch):
    path = file("a\n1\n", name)
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read everything

        def deny(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.open", deny)
        monkeypatch.setattr("pathlib.Path.read_bytes", deny)
    assert refused(read_table, path) == f"{name}: no permission to read this file."


@pytest.mark.parametrize("name", ["a\nb.csv", "x" * 300 + ".csv", "nul\0.csv"])
def test_odd_file_names(tmp_path, refused, name):
    refused(read_table, tmp_path / name)
