"""Ids, numbers and columns by name."""

from datetime import timedelta

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from coterie.constraints import Constraints
from coterie.tables import Table, read_table


def frame_table(tmp_path, **columns):
    return Table(tmp_path / "t.parquet", frame=pl.DataFrame(columns))


def test_ids_are_text_or_whole_numbers(read):
    table = read("n,s,f,z\n3,x,1.0,007\n1,y,2.0,7\n")
    assert table.ids(None) is None
    for name, ids in {"n": [3, 1], "s": ["x", "y"], "f": [1, 2], "z": ["007", "7"]}.items():
        found = table.ids(name)
        assert found.tolist() == ids
        assert [type(one) for one in found.tolist()] == [type(one) for one in ids]
        assert Constraints([tuple(ids)], ids=found).n_items == 2


def test_ids_of_other_types(tmp_path):
    table = frame_table(
        tmp_path,
        big=pl.Series([2**63, 2**64 - 1], dtype=pl.UInt64),
        small=pl.Series([1, 2], dtype=pl.UInt8),
        level=pl.Series(["b", "a"], dtype=pl.Categorical),
        day=pl.Series(["2020-01-02", "2020-01-01"]).str.to_date(),
    )
    assert table.ids("big").tolist() == [2**63, 2**64 - 1]
    assert table.ids("small").tolist() == [1, 2]
    assert table.ids("level").tolist() == ["b", "a"]
    assert table.ids("day").tolist() == ["2020-01-02", "2020-01-01"]


def test_ids_that_do_not_do(read, refused, tmp_path):
    table = read("a,b,c,d\n1,x,1.5,u\n2,,2,v\n1,z,3,v\n")
    assert refused(table.ids, "a") == (
        "table.csv: id 1 stands twice in column 'a', in rows 0 and 2 (rows are counted from 0); ids must "
        "differ."
    )
    assert "id 'v' stands twice in column 'd', in rows 1 and 2" in refused(table.ids, "d")
    assert "column 'b' has no id in row 1 (rows are counted from 0)" in refused(table.ids, "b")
    assert "column 'c' cannot hold ids: there is 1.5 in row 0" in refused(table.ids, "c")
    assert "there is no column 'e'" in refused(table.ids, "e")
    assert "there is 1e+17 in row 0" in refused(read("a,b\n1e17,2\n").ids, "a")
    odd = frame_table(tmp_path, l=[[1], [2]], d=[timedelta(1), timedelta(2)], b=[b"\xff", b"y"], z=[None] * 2)
    for name in odd.names:
        assert "they are text or whole numbers" in refused(odd.ids, name)
        if name != "d":
            assert f"column {name!r} must hold numbers" in refused(odd.numbers, name)


def test_numbers(read, refused):
    table = read("w,t,g,i,b\n1,x,1.5,inf,true\n2,5,,2,false\n")
    assert table.numbers("w").tolist() == [1.0, 2.0]
    assert table.numbers("b").tolist() == [1.0, 0.0]
    assert refused(table.numbers, "t") == (
        "table.csv: column 't' must hold numbers, but there is 'x' in row 0 (rows are counted from 0)."
    )
    assert "there is nothing in row 1" in refused(table.numbers, "g")
    assert "there is 'inf' in row 0" in refused(table.numbers, "i")
    assert "Did you mean 'w'?" not in refused(table.numbers, "weight")


def test_columns_of_matrices(tmp_path, refused):
    dense = Table(tmp_path / "m.npy", matrix=np.array([[1.0, 2.0], [3.0, np.nan]]))
    sparse = Table(tmp_path / "m.mtx", matrix=scipy.sparse.csr_matrix([[1.0, 0.0], [0.0, 4.0]]))
    assert dense.column("column 0").to_list() == [1.0, 3.0]
    assert sparse.numbers("column 1").tolist() == [0.0, 4.0]
    assert dense.ids("column 0").tolist() == [1, 3]
    assert "there is nothing in row 1" in refused(dense.numbers, "column 1")
    assert "there is no column 'age'" in refused(sparse.column, "age")


@pytest.mark.parametrize("name", ["a b", "*", "^a", "<script>", "naïve", "x" * 200])
def test_odd_names(read, name):
    table = read(f'"{name}",b\n1,2\n')
    assert table.column(name).to_list() == [1]
    assert table.ids(name).tolist() == [1]


def test_a_table_says_what_it_is(file):
    assert repr(read_table(file("a,b\n1,2\n"))) == "<Table table.csv: 1 row, 2 columns>"
