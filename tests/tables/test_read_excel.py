"""Excel workbooks: what stands in the first sheet, and what is refused."""

from datetime import date

import polars as pl
import pytest

from coterie.tables import plan_features, read_table, write_table
from tests.tables.workbook import workbook

ROWS = [
    ["id", "size", "n", "ok", "day", "gaps"],
    ["007", 1.5, 3, True, date(2020, 1, 5), 1],
    ["008", None, 4, False, date(2020, 2, 5), "NA"],
    [None] * 6,
    ["009", 2.5, 5, True, date(2020, 3, 5), 2.5],
]


def test_a_sheet_has_the_types_of_its_cells(read):
    table = read(workbook(ROWS), "t.xlsx")
    assert table.names == tuple(ROWS[0])
    found = table.frame.drop("day").to_dict(as_series=False)
    assert found == {
        "id": ["007", "008", "009"], "size": [1.5, None, 2.5], "n": [3, 4, 5], "ok": [True, False, True],
        "gaps": [1.0, None, 2.5],
    }  # fmt: skip
    assert table.frame["n"].dtype == pl.Int64
    assert table.frame["day"].cast(pl.Date).to_list() == [date(2020, month, 5) for month in (1, 2, 3)]
    assert table.notes == ("1 empty line left out.",)
    assert read(workbook(ROWS), "t.XLSX", only=["n", "id"]).names == ("n", "id")


def test_of_several_sheets_the_first_is_read_and_it_is_said(read):
    table = read(workbook([["a"], [1]], [["b"], [2]]), "t.xlsx")
    assert (table.names, table.notes) == (("a",), ("The workbook has 2 sheets; the first is read, 'S0'.",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n", "this is no Excel workbook (.xlsx), or it is damaged."),
        (b"", "this is no Excel workbook (.xlsx), or it is damaged."),
        (workbook(ROWS)[:700], "this is no Excel workbook (.xlsx), or it is damaged."),
        (workbook([]), "the first sheet is empty."),
        (workbook([["a", "b"]]), "there is a header but no row below it."),
        (workbook([["a", "a"], [1, 2]]), "the header names 'a' twice, in columns 1 and 2; make them differ."),
        (workbook([["a", None, "b"], [1]]), "column 2 has no name in the header; give every column a name."),
        (workbook([[1.5, 2.5], [1, 2]]), "line 1 holds numbers, not names; put a line with names above it."),
    ],
)  # fmt: skip
def test_workbooks_that_are_wrong(read, refused, content, message):
    assert refused(read, content, "t.xlsx") == f"t.xlsx: {message}"


def test_what_is_written_beside_it_is_read_alike(file, tmp_path):
    """The labels of a run stand in a CSV; its dates are text."""
    table = read_table(file(workbook(ROWS), "t.xlsx"))
    plan = plan_features(table, columns=["size", "n", "day"], impute=True)
    X = plan.fit(table)
    write_table(table, tmp_path / "labels.csv", {"cluster": [0, 1, 1]})
    assert plan.transform(read_table(tmp_path / "labels.csv"), impute=True).tolist() == X.tolist()
