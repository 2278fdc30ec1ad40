"""Columns that count or name the rows, and numbers that are not written plainly."""

import numpy as np
import polars as pl
import pytest

from coterie.tables import Table, plan_features

N = 60
NUMBERS = [float(at % 7) for at in range(N)]


def use_of(plan, name):
    return next(use for use in plan.columns if use.name == name)


# ---- identifiers and counts of the rows --------------------------------------------------------------------

NAMES = (
    "id,ID, id ,index,Key,row,customer_id,customer id,customerId,Unnamed: 0,nr,Nr.,no,No.,num,number,#,"
    "row number,order_no,orderNr,account-nr"
)


@pytest.mark.parametrize("name", NAMES.split(","))
@pytest.mark.parametrize("kind", [int, float])
def test_what_looks_like_an_identifier_is_left_out(table, name, kind):
    some = table(**{name: [kind(7 * at % 61) for at in range(N)]})
    use = use_of(plan_features(some), name)
    assert use.use == "left out"
    assert use.reason.startswith("it looks like an identifier, different in every row; --numeric ")
    assert use.reason.endswith(" keeps it")
    assert use_of(plan_features(some, numeric=[name]), name).use == "numeric"
    assert use_of(plan_features(some, columns=[name]), name).use == "numeric"  # asked for by its name


@pytest.mark.parametrize("name", ["position", "year"])
@pytest.mark.parametrize("first", [-3, 0, 1, 2**60])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64])
def test_what_counts_the_rows_is_left_out(table, name, first, dtype):
    if dtype == pl.Float64 and first > 2**53:
        first = 2**50
    counted = table(**{name: pl.Series(range(first, first + N), dtype=dtype)})
    use = use_of(plan_features(counted), name)
    assert (use.use, use.reason) == ("left out", f"it counts the rows; --numeric {name} keeps it")
    forced = use_of(plan_features(counted, numeric=[name]), name)
    if first < 2**53:
        assert forced.use == "numeric"
    else:
        assert forced.reason == "its numbers are too long to be told apart as floats"


@pytest.mark.parametrize(
    "values",
    [
        list(range(N))[::-1],
        [*range(N - 1), N],
        [1, 0, *range(2, N)],
        [at + 0.5 for at in range(N)],
        [1, 3, 2, *range(4, N + 1)],
        pl.Series([*range(200, 256), 0, 1, 2, 3], dtype=pl.UInt8),  # 255 + 1 is 0 in this type
    ],
)
def test_what_does_not_count_them_is_kept(table, values):
    assert use_of(plan_features(table(y=values)), "y").use == "numeric"


def test_few_rows_are_not_counted(tmp_path):
    def columns_of(n):
        frame = pl.DataFrame({"y": range(n), "x": [at % 3 for at in range(n)]})
        return [use.use for use in plan_features(Table(tmp_path / "t.parquet", frame=frame)).columns]

    assert columns_of(9) == ["numeric", "numeric"]
    assert columns_of(10) == ["left out", "numeric"]


def test_a_matrix_may_have_a_column_that_counts_the_rows(tmp_path):
    values = np.column_stack([np.arange(N), np.arange(N) % 7.0])
    use = plan_features(Table(tmp_path / "t.npy", matrix=values)).columns[0]
    assert (use.use, use.reason) == ("left out", 'it counts the rows; --numeric "column 0" keeps it')


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [at // 2 for at in range(N)]),
        ("idle", range(0, 2 * N, 2)),
        ("paid", range(0, 2 * N, 2)),
        ("volcano", range(0, 2 * N, 2)),
        ("heat_index", range(0, 2 * N, 2)),
        ("id", NUMBERS),
        ("nr", [at * 1.5 for at in range(N)]),
    ],
)
def test_what_does_not_look_like_one_is_kept(table, name, values):
    assert use_of(plan_features(table(**{name: list(values)})), name).use == "numeric"


# ---- numbers that are not written plainly ------------------------------------------------------------------

DRESSED = [
    "${}",
    "€ {}",
    "{} €",
    "-{} EUR",
    "USD {}.50",
    "{}%",
    "1,{}",
    "1'{}.5",
    "1 {}",
    "7 001 {}",
    "$1.{},5",
]


@pytest.mark.parametrize("form", DRESSED)
def test_numbers_with_signs_and_separators_are_recognised(table, refused, form):
    some = table(y=[form.format(950 - at) for at in range(N - 5)] + ["unknown", "-", "a", "b", "c"])
    first = form.format(950)
    use = use_of(plan_features(some), "y")
    assert (use.use, use.reason) == (
        "left out",
        f"text, but most values look like numbers with a sign or separators, such as {first!r}; write plain "
        "numbers, or --category y or --text y takes it",
    )
    assert refused(plan_features, some, numeric=["y"]) == (
        f"t.parquet: column 'y' is not all numbers: it is asked for as numeric, but there is {first!r} in "
        "row 0 (rows are counted from 0). Write plain numbers, such as 1234.5, or pass --category y, --text "
        "y or --drop y."
    )


@pytest.mark.parametrize(
    "form", ["10.0.0.{}", "12.03.{}", "ABC {}", "x{}%", "{}-7", "{}/2", "0{} 1112222", "1,{}x"]
)
def test_other_text_with_digits_is_not(table, form):
    use = use_of(plan_features(table(y=[form.format(950 - at) for at in range(N)])), "y")
    assert use.reason.startswith("short text, 60 different values in 60 rows;")


def test_what_to_do_about_decimal_commas(read, refused):
    cells = "".join(f'"0,{at + 10}",{at % 7}\n' for at in range(N))
    said = refused(plan_features, read("dec,x\n" + cells), numeric=["dec"])
    assert said.endswith(
        "there is '0,10' in row 0 (rows are counted from 0). Write plain numbers, such as 1234.5, or pass "
        "--category dec, --text dec or --drop dec."
    )
