"""Which columns become features, each rule with the reason that it gives."""

from datetime import date, datetime, time, timedelta

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from coterie.tables import Table, plan_features

N = 60
NUMBERS = [float(at % 7) for at in range(N)]
SENTENCES = [f"a quick brown fox number {at}" for at in range(N)]


def use_of(plan, name):
    return next(use for use in plan.columns if use.name == name)


# ---- numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (list(range(0, 2 * N, 2)), "standardised"),
        (NUMBERS, "standardised"),
        ([True, False] * 30, "true is 1 and false 0, standardised"),
        ([date(2020, 1, 1 + at % 20) for at in range(N)], "days since 1970, standardised"),
        ([datetime(2020, 1, 1 + at % 20, 12) for at in range(N)], "days since 1970, standardised"),
        ([f"2020-01-{1 + at % 20:02}" for at in range(N)], "days since 1970, standardised"),
        ([f"2020-01-01T{at % 20:02}:30:00Z" for at in range(N)], "days since 1970, standardised"),
        ([time(at % 20) for at in range(N)], "in days, standardised"),
        ([timedelta(hours=at) for at in range(N)], "in days, standardised"),
    ],
)
def test_numbers_truth_and_dates_are_numeric(table, values, reason):
    use = use_of(plan_features(table(y=values)), "y")
    assert (use.use, use.reason) == ("numeric", reason)


def test_without_scaling(table):
    plan = plan_features(table(), scale=False)
    assert use_of(plan, "x").reason == "as it is"
    assert plan.notes == ("1 numeric column not standardised (--no-scale): x.",)


# ---- text -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "use"),
    [
        (["north", "south"] * 30, "category"),
        ([f"c{at % 30}" for at in range(N)], "category"),  # two rows a value
        ([f"c{at % 31}" for at in range(N)], "left out"),  # fewer
        (SENTENCES, "text"),
        (["the same three words", "others than those above"] * 30, "category"),
        ([f"two words{at}" for at in range(N)], "left out"),
        ([f"name{at}" for at in range(N)], "left out"),
        ([f"{at:03}" for at in range(N)], "left out"),  # codes
        ([f"{at % 5:03}" for at in range(N)], "category"),
        (["1"] * 29 + ["many"] * 31, "category"),  # fewer than half are numbers
    ],
)
def test_text_is_category_text_or_left_out(table, values, use):
    assert use_of(plan_features(table(y=values)), "y").use == use


@pytest.mark.parametrize(("n", "n_levels", "use"), [(100, 50, "category"), (102, 51, "left out")])
def test_at_most_fifty_values_make_a_category(tmp_path, n, n_levels, use):
    frame = pl.DataFrame({"y": [f"c{at % n_levels}" for at in range(n)], "x": range(0, 2 * n, 2)})
    assert use_of(plan_features(Table(tmp_path / "t.parquet", frame=frame)), "y").use == use


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_by_type(table, dtype):
    assert use_of(plan_features(table(y=pl.Series(["a", "b"] * 30, dtype=dtype))), "y").use == "category"


def test_reasons_say_how_to_force_it(table):
    reason = use_of(plan_features(table(y=[f"name{at}" for at in range(N)])), "y").reason
    assert reason == "short text, 60 different values in 60 rows; --category y or --text y takes it"
    reason = use_of(plan_features(table(y=[f"{at:03}" for at in range(N)])), "y").reason
    assert reason == (
        "numbers written as text or codes, 60 different values in 60 rows; --numeric y, --category y or "
        "--text y takes it"
    )
    reason = use_of(plan_features(table(**{"my name": [f"name{at}" for at in range(N)]})), "my name").reason
    assert reason.endswith('--category "my name" or --text "my name" takes it')


@pytest.mark.parametrize("share", [30, 59])
def test_mixed_columns_are_an_error_unless_forced(table, refused, share):
    mixed = table(y=[str(at) for at in range(share)] + ["unknown"] * (N - share))
    assert refused(plan_features, mixed) == (
        f"t.parquet: column 'y' is not all numbers: {share} of its 60 values are numbers, but "
        f"there is 'unknown' in row {share} (rows are counted from 0). "
        "Mend it, or pass --category y, --text y or --drop y."
    )
    signed = table(y=[str(at) for at in range(share)] + ["1,234"] * (N - share))
    assert "Write plain numbers, such as 1234.5, or pass" in refused(plan_features, signed)
    assert use_of(plan_features(mixed, category=["y"]), "y").use == "category"
    assert use_of(plan_features(mixed, text=["y"]), "y").use == "text"
    assert use_of(plan_features(mixed, drop=["y"]), "y").use == "left out"
    assert "it is asked for as numeric, but there is 'unknown'" in refused(
        plan_features, mixed, numeric=["y"]
    )


def test_one_date_that_is_none_makes_text(table):
    values = [f"2020-01-{1 + at % 20:02}" for at in range(N - 1)]
    assert use_of(plan_features(table(y=[*values, "later"])), "y").use == "category"
    assert use_of(plan_features(table(y=[*values, "2020-13-41"])), "y").use == "category"


@pytest.mark.parametrize(
    ("values", "kind"),
    [([[1, 2]] * N, "List"), ([{"a": 1}] * N, "Struct"), ([b"x"] * N, "Binary"), ([b"\xff"] * N, "Binary")],
)
def test_lists_and_the_like_are_left_out(table, refused, values, kind):
    use = use_of(plan_features(table(y=values)), "y")
    assert use.use == "left out"
    assert kind in use.reason
    for forced in ("numeric", "category", "text"):
        said = refused(plan_features, table(y=values), **{forced: ["y"]})
        assert said.startswith("t.parquet: column 'y' holds")
        assert said.endswith(f"no {forced} values.")


def test_lengths_of_time_are_no_words(table, refused):
    some = table(y=[timedelta(hours=at) for at in range(N)])
    for forced in ("category", "text"):
        said = refused(plan_features, some, **{forced: ["y"]})
        assert said == f"t.parquet: column 'y' holds Duration(time_unit='us'), no {forced} values."
    assert use_of(plan_features(some, numeric=["y"]), "y").use == "numeric"


# ---- what the user says ---------------------------------------------------------------------------------


def test_forcing(table, refused):
    codes = [f"{at % 40:03}" for at in range(N)]
    for use in ("numeric", "category", "text"):
        assert use_of(plan_features(table(y=codes), **{use: ["y"]}), "y").use == use
        assert use_of(plan_features(table(), **{use: ["x"]}), "x").use == use
    assert "is asked for as numeric and as text" in refused(plan_features, table(), numeric=["x"], text=["x"])
    assert "is dropped and asked for as text" in refused(plan_features, table(), drop=["x"], text=["x"])


def test_at_most_a_thousand_levels(tmp_path, refused):
    def levels(n):
        return Table(tmp_path / "t.parquet", frame=pl.DataFrame({"y": [f"c{at}" for at in range(n)]}))

    assert use_of(plan_features(levels(1_000), category=["y"]), "y").use == "category"
    said = refused(plan_features, levels(1_001), category=["y"])
    assert said == "t.parquet: column 'y' has 1,001 different values; a category has at most 1,000."


def test_columns_drop_and_leave_out(table):
    some = table(y=NUMBERS, z=NUMBERS)
    plan = plan_features(some, columns=["y"])
    assert [use.use for use in plan.columns] == ["left out", "numeric", "left out"]
    assert use_of(plan, "x").reason == "not among the chosen columns"
    plan = plan_features(some, drop=["y"], leave_out={"z": "used as weight"})
    assert [use.reason for use in plan.columns] == ["standardised", "dropped", "used as weight"]
    plan = plan_features(some, leave_out=["z"], numeric=["z"], columns=["x"])
    assert [use.use for use in plan.columns] == ["numeric", "left out", "numeric"]
    assert use_of(plan_features(some, leave_out=["z"]), "z").reason == "used otherwise"


@pytest.mark.parametrize("word", ["columns", "drop", "numeric", "category", "text", "leave_out"])
def test_wrong_names_suggest_the_nearest(table, refused, word):
    said = refused(plan_features, table(height=NUMBERS), **{word: ["heigth"]})
    assert (
        said
        == "t.parquet: there is no column 'heigth'. Did you mean 'height'? The columns are 'x', 'height'."
    )


# ---- nothing to learn from -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([2.5] * N, "it is 2.5 in every row"),
        ([2, None] * 30, "it is 2 wherever it has a value"),
        (["same"] * N, "it is the same in every row"),
        ([None] * N, "it has no values"),
        ([float("nan")] * N, "it has no values"),
        (["", "  "] * 30, "it has no values"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_one_value_or_none_is_left_out(table, values, reason, force):
    plan = plan_features(table(y=values), numeric=["y"] if force else ())
    assert (use_of(plan, "y").use, use_of(plan, "y").reason) == ("left out", reason)
    assert any("1 column left out: y" in note for note in plan.notes)


def test_nothing_left(tmp_path, refused):
    empty = Table(tmp_path / "t.parquet", frame=pl.DataFrame({"a": [1, 1], "b": ["x", "y"], "id": [1, 2]}))
    said = refused(plan_features, empty)
    assert said.startswith(
        "t.parquet: no column is left to cluster by: a (it is 1 in every row); b (short text, 2 different"
    )
    single = Table(tmp_path / "t.parquet", frame=pl.DataFrame({"a": [1], "b": ["x"]}))
    assert "no column is left" in refused(plan_features, single)


# ---- missing and infinite --------------------------------------------------------------------------------


def test_missing_values_are_named_and_refused(table, refused):
    gaps = table(
        age=[None if at in (3, 5) else at for at in range(N)],
        rate=[float("nan") if at == 17 else at / 2 for at in range(N)],
        region=[None if at == 59 else "ns"[at % 2] for at in range(N)],
        words=[" " if at == 2 else sentence for at, sentence in enumerate(SENTENCES)],
    )
    assert refused(plan_features, gaps) == (
        "t.parquet: 5 missing values (rows are counted from 0): age (2, first in row 3), rate (1, first in "
        "row 17), region (1, first in row 59), words (1, first in row 2). Pass --impute to fill them "
        "(median, own category, empty text), or --drop the columns."
    )
    assert plan_features(gaps, drop=["age", "rate", "region", "words"])
    plan = plan_features(gaps, impute=True)
    assert [use.n_missing for use in plan.columns] == [0, 2, 1, 1, 1]
    assert use_of(plan, "age").reason == "standardised; 2 missing values filled with the median"
    assert use_of(plan, "region").reason.endswith(
        "its 3 values; 1 missing value filled with a value of their own"
    )
    assert "5 missing values filled: age (2), rate (1), region (1), words (1)." in plan.notes


def test_many_columns_with_gaps_are_counted(table, refused):
    gaps = table(**{f"c{at}": [None, *NUMBERS[1:]] for at in range(9)})
    assert "c4 (1, first in row 0) and 4 more columns. Pass --impute" in refused(plan_features, gaps)


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
@pytest.mark.parametrize("impute", [False, True])
def test_infinite_numbers_are_refused(table, refused, value, impute):
    odd = table(y=[value if at == 6 else number for at, number in enumerate(NUMBERS)])
    assert refused(plan_features, odd, impute=impute) == (
        "t.parquet: column 'y' is infinite in row 6 (rows are counted from 0); mend the value, or --drop the "
        "column."
    )


# ---- matrices -------------------------------------------------------------------------------------------


def test_a_dense_matrix_is_columns_of_numbers(tmp_path, refused):
    values = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [3.0, 5.0, 2.0]])
    table = Table(tmp_path / "m.npy", matrix=values)
    said = refused(plan_features, table)
    assert "1 missing value (rows are counted from 0): column 2 (1, first in row 0). Pass" in said
    plan = plan_features(table, drop=["column 2"])
    assert [use.use for use in plan.columns] == ["numeric", "left out", "left out"]
    values[1, 0] = np.inf
    assert "column 'column 0' is infinite in row 1" in refused(plan_features, table, impute=True)


def test_a_sparse_matrix_is_taken_whole(tmp_path, refused):
    table = Table(tmp_path / "m.mtx", matrix=scipy.sparse.csr_matrix(np.eye(3)))
    plan = plan_features(table)
    assert (plan.columns[0].use, plan.metric) == ("matrix", "cosine")
    assert plan.notes == ("3 columns of a sparse matrix, as they are.",)
    assert "taken as a whole" in refused(plan_features, table, drop=["column 0"])


# ---- notes ----------------------------------------------------------------------------------------------


def test_notes_say_what_is_done(table):
    plan = plan_features(
        table(a=NUMBERS, region=["n", "s"] * 30, words=SENTENCES, c=[1] * N), leave_out={"a": "used as id"}
    )
    assert plan.notes == (
        "1 numeric column standardised (mean 0, deviation 1): x; --no-scale leaves it as it is.",
        "1 category as columns of 0 and 1: region.",
        "1 text column as weights of words (TF-IDF): words.",
        "1 column left out: a (used as id).",
        "1 column left out: c (it is 1 in every row).",
    )
    assert repr(plan) == "<FeaturePlan: 3 of 5 columns used, sqeuclidean>"


def test_notes_name_numbers_and_say_which_are_dates(table):
    days = [f"2020-01-{1 + at % 20:02}" for at in range(N)]
    some = table(day=days, time=[datetime(2020, 1, 1 + at % 20) for at in range(N)], y=NUMBERS)
    assert plan_features(some).notes == (
        "4 numeric columns standardised (mean 0, deviation 1): x, day, time, y; --no-scale leaves them as "
        "they are.",
        "2 columns of dates or times, counted in days: day, time.",
    )
    plan = plan_features(table(**{f"c{at}": NUMBERS for at in range(12)}))
    assert "): x, c0, c1, c2, c3, c4, c5, c6, c7, c8 and 3 more; --no-scale" in plan.notes[0]


def test_columns_left_out_are_told_by_reason(table):
    many = {f"c{at}": NUMBERS for at in range(23)}
    names = [f"name{at}" for at in range(N)]
    single = {"one": [1] * N, "word": ["w"] * N}
    some = table(**many, **single, a=names, b=names[::-1], l=[[1]] * N, z=[None] * N, y=NUMBERS)
    plan = plan_features(some, drop=list(many), leave_out={"x": "used as id"})
    assert plan.notes[1:] == (
        "1 column left out: x (used as id).",
        f"23 columns left out: {', '.join(list(many)[:20])} and 3 more (dropped).",
        "2 columns left out: one, word (only one value).",
        "2 columns left out: a, b (short text, most values different; --category NAME or --text NAME takes "
        "one).",
        "1 column left out: l (it holds List(Int64), neither numbers nor text).",
        "1 column left out: z (it has no values).",
    )
    assert use_of(plan, "one").reason == "it is 1 in every row"  # each column keeps its own


def test_names_are_no_patterns(table):
    odd = table(**{"*": ["a", "b"] * 30, "^x": [1, 2] * 30, "day": ["2020-01-01", "2020-01-02"] * 30})
    plan = plan_features(odd)
    assert [use.use for use in plan.columns] == ["numeric", "category", "numeric", "numeric"]
    assert plan.fit(odd).shape == (N, 5)


def test_several_columns_of_dates(table):
    first = ["2020-01-01", "2020-01-02"] * 30
    later = ["2021-01-01 10:00", "2021-01-02 11:00"] * 30
    plan = plan_features(dates := table(a=first, b=later, c=first, d=["x", "y"] * 30))
    assert [use.use for use in plan.columns] == ["numeric"] * 4 + ["category"]
    assert plan.fit(dates).shape == (N, 6)


def test_ten_thousand_columns(tmp_path):
    values = np.random.default_rng(0).normal(size=(20, 10_000))
    frame = pl.DataFrame(values, schema=[f"c{at}" for at in range(10_000)])
    table = Table(tmp_path / "t.parquet", frame=frame)
    plan = plan_features(table)
    assert plan.notes[0].startswith("10,000 numeric columns standardised (mean 0, deviation 1): c0, c1, c2,")
    assert "c9 and 9,990 more;" in plan.notes[0]
    assert plan.fit(table).shape == (20, 10_000)
