"""The matrix: against scikit-learn's own transformers, in extreme ranges, and for new rows."""

import io
from datetime import date, datetime
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coterie.tables import Feature, Table, plan_features


def table_of(columns):
    return Table(Path("t.parquet"), frame=pl.DataFrame(columns, strict=False))


def fitted(table, **words):
    plan = plan_features(table, **words)
    return plan, plan.fit(table)


def in_users_unit(plan, X):
    return X * [feature.scale for feature in plan.features] + [feature.offset for feature in plan.features]


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


# ---- numbers --------------------------------------------------------------------------------------------


def test_standardised_as_scikit_learn_does_it(rng):
    values = rng.normal(size=(500, 4)) * [1, 1e6, 1e-6, 1] + [0, 5, 1e3, 1e9]
    plan, X = fitted(table_of({f"c{at}": values[:, at] for at in range(4)}))
    np.testing.assert_allclose(X, StandardScaler().fit_transform(values), rtol=0, atol=1e-6)
    np.testing.assert_allclose(in_users_unit(plan, X), values, rtol=1e-12)
    assert (X.dtype, X.flags.c_contiguous) == (np.float64, True)
    assert [feature.kind for feature in plan.features] == ["numeric"] * 4
    np.testing.assert_array_equal(plan.transform(table_of({f"c{at}": values[:, at] for at in range(4)})), X)


@pytest.mark.parametrize("size", [1e-310, 1e-300, 1e-150, 1e150, 1e300, 1.7e308])
def test_extreme_sizes_neither_overflow_nor_vanish(rng, size):
    plain = rng.uniform(-1, 1, size=200)
    with np.errstate(under="ignore"):
        extreme = plain * size
    plan, X = fitted(table_of({"a": extreme, "b": plain}))
    np.testing.assert_allclose(X[:, 0], X[:, 1], atol=1e-6 if size < 1e-300 else 1e-12)
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(plan.transform(table_of({"a": extreme, "b": plain})), X)


def test_a_large_offset_costs_no_digits():
    values = 1e15 + np.arange(1_000) % 2
    _, X = fitted(table_of({"a": values}))
    np.testing.assert_allclose(np.unique(X), [-1, 1], rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30).filter(
        lambda v: len(set(v)) > 1
    )
)
def test_any_finite_numbers_are_standardised(values):
    _, X = fitted(table_of({"a": values}))
    assert np.isfinite(X).all()
    # a mean is known to the rounding of its values, which is much where they hardly differ
    rounding = 4 * np.finfo(float).eps * np.max(np.abs(values)) / (np.max(values) / 2 - np.min(values) / 2)
    assert abs(X.mean()) < 1e-6 + rounding
    assert abs(X.std() - 1) < 1e-6 or np.ptp(values) < 1e-12 * np.max(np.abs(values))


def test_not_scaled(rng):
    values = rng.normal(size=50) * 100
    plan, X = fitted(table_of({"a": values}), scale=False)
    np.testing.assert_array_equal(X[:, 0], values)
    assert plan.features == (Feature("a", "a", "numeric"),)


def test_gaps_are_filled_with_the_median():
    _, X = fitted(
        table_of({"a": [1.0, None, 9.0, 2.0, float("nan")], "b": [1, 2, 3, 4, None]}),
        impute=True,
        scale=False,
    )
    np.testing.assert_array_equal(X, [[1, 1], [2, 2], [9, 3], [2, 4], [2, 2.5]])
    _, X = fitted(table_of({"a": [1e308, 1.5e308, None]}), impute=True, scale=False)
    assert X[2, 0] == 1.25e308


def test_dates_and_truth_are_numbers():
    _, X = fitted(
        table_of(
            {
                "day": [date(1970, 1, 2), date(1971, 1, 1)],
                "moment": [datetime(1970, 1, 1, 12), datetime(1970, 1, 2)],
                "written": ["1970-01-03", "1970-01-01"],
                "time": ["1970-01-01T06:00:00Z", "1970-01-01 18:00"],
                "truth": [True, False],
            }
        ),
        scale=False,
    )
    np.testing.assert_array_equal(X, [[1, 0.5, 2, 0.25, 1], [365, 1, 0, 0.75, 0]])


def test_a_dense_matrix(rng, tmp_path):
    values = rng.normal(size=(40, 3))
    values[:, 1] = 4
    table = Table(tmp_path / "m.npy", matrix=values)
    plan, X = fitted(table)
    np.testing.assert_allclose(X, StandardScaler().fit_transform(values[:, [0, 2]]), atol=1e-12)
    assert [feature.name for feature in plan.features] == ["column 0", "column 2"]
    np.testing.assert_array_equal(plan.transform(table), X)
    values[0, 0] = np.nan
    plan, X = fitted(table, impute=True, scale=False)
    assert X[0, 0] == np.median(values[1:, 0])


# ---- categories -----------------------------------------------------------------------------------------


def test_one_hot_as_scikit_learn_does_it(rng):
    values = rng.choice(["north", "south", "east"], 60)
    plan, X = fitted(table_of({"x": rng.normal(size=60), "region": values}))
    oracle = OneHotEncoder(sparse_output=False).fit_transform(values.reshape(-1, 1))
    np.testing.assert_array_equal(X[:, 1:], oracle)
    assert plan.features[1:] == tuple(
        Feature(f"region = {level}", "region", "category", level=level)
        for level in ("east", "north", "south")
    )


def test_missing_is_a_value_of_its_own():
    plan, X = fitted(table_of({"r": ["b", None, "a", "b", "a", "b"]}), impute=True)
    assert [feature.level for feature in plan.features] == ["a", "b", "(missing)"]
    np.testing.assert_array_equal(X[:3], [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_numbers_as_categories():
    plan, X = fitted(
        table_of({"a": [1, 2, 1], "b": [1.0, 2.5, 1.0], "c": [True, False, True]}), category=["a", "b", "c"]
    )
    assert [feature.name for feature in plan.features] == [
        "a = 1",
        "a = 2",
        "b = 1",
        "b = 2.5",
        "c = false",
        "c = true",
    ]
    np.testing.assert_array_equal(X[0], [1, 0, 1, 0, 0, 1])


def test_many_levels_make_a_sparse_matrix():
    plan, X = fitted(
        table_of({"c": [f"c{at:03}" for at in range(300)], "x": range(0, 600, 2)}), category=["c"]
    )
    assert scipy.sparse.issparse(X)
    assert X.shape == (300, 301)
    np.testing.assert_array_equal(X[:, 1:].toarray(), np.eye(300))
    assert plan.metric == "sqeuclidean"


# ---- text -----------------------------------------------------------------------------------------------

WORDS = ["Ägypten river boat", "river bank money", "money bank loan", "boat Agypten sail"]


@pytest.mark.parametrize(("n", "fewest"), [(4, 1), (49, 1), (50, 2)])
def test_weights_of_words_as_scikit_learn_does_it(n, fewest):
    texts = [f"{WORDS[at % 4]} {'boat ' * (at % 3)} only{at}" for at in range(n)]
    plan, X = fitted(table_of({"t": texts}))
    oracle = TfidfVectorizer(sublinear_tf=True, min_df=fewest, strip_accents="unicode")
    np.testing.assert_allclose(X.toarray(), oracle.fit_transform(texts).toarray(), atol=1e-15)
    assert X.format == "csr"
    assert plan.metric == "cosine"
    assert [feature.level for feature in plan.features] == oracle.get_feature_names_out().tolist()
    assert plan.features[0] == Feature("t: agypten", "t", "text", level="agypten")
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1)


def test_text_beside_numbers_is_sparse_and_euclidean(rng):
    texts = [WORDS[at % 4] for at in range(8)]
    table = table_of({"t": texts, "x": rng.normal(size=8), "r": ["a", "b"] * 4})
    plan, X = fitted(table, text=["t"])
    assert plan.metric == "sqeuclidean"
    assert [feature.kind for feature in plan.features][:3] == ["numeric", "category", "category"]
    np.testing.assert_allclose(X[:, 0].toarray().std(), 1)
    np.testing.assert_array_equal(X[:, 1:3].toarray(), [[1, 0], [0, 1]] * 4)
    np.testing.assert_array_equal(plan.transform(table).toarray(), X.toarray())


def test_a_row_without_words_changes_the_distance():
    plan = plan_features(table := table_of({"t": [*WORDS, None]}), text=["t"], impute=True)
    assert plan.metric == "cosine"
    X = plan.fit(table)
    assert plan.metric == "sqeuclidean"
    assert "1 row has no word that counts, so the distance is Euclidean." in plan.notes
    assert X[4].nnz == 0


def test_text_without_words(refused):
    table = table_of({"t": ["a b c", "d e f", "g h i"]})
    assert "column 't' has no word of two letters or more in any row" in refused(fitted, table)
    table = table_of({"t": [f"word{at} other{at} third{at}" for at in range(60)]})
    assert "in 2 rows or more" in refused(fitted, table)


# ---- sparse matrices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "metric", "note"),
    [
        ([[1, 0], [0, 2]], "cosine", None),
        ([[1, 0], [0, -2]], "sqeuclidean", None),
        ([[1, 0], [0, 0]], "sqeuclidean", "1 row is empty, so the distance is Euclidean."),
    ],
)
def test_sparse_matrices_are_taken_as_they_are(tmp_path, rows, metric, note):
    table = Table(tmp_path / "m.mtx", matrix=scipy.sparse.csr_matrix(np.array(rows, dtype=float)))
    plan, X = fitted(table)
    np.testing.assert_array_equal(X.toarray(), rows)
    assert plan.metric == metric
    assert note is None or note in plan.notes
    assert plan.features == tuple(Feature(f"column {at}", f"column {at}", "matrix") for at in range(2))
    np.testing.assert_array_equal(plan.transform(table).toarray(), rows)


def test_sparse_matrices_that_do_not_do(tmp_path, refused):
    odd = Table(tmp_path / "m.mtx", matrix=scipy.sparse.csr_matrix([[1.0, 0.0], [0.0, np.nan]]))
    assert "row 1 holds a value that is no finite number" in refused(fitted, odd)
    plan, _ = fitted(Table(tmp_path / "m.mtx", matrix=scipy.sparse.csr_matrix(np.eye(2))))
    wide = Table(tmp_path / "w.mtx", matrix=scipy.sparse.csr_matrix(np.eye(3)))
    assert refused(plan.transform, wide) == "w.mtx: the matrix has 3 columns, the one learned from had 2."
    assert "made for a sparse matrix" in refused(plan.transform, table_of({"a": [1, 2]}))


# ---- new rows -------------------------------------------------------------------------------------------


@pytest.fixture
def learned():
    columns = {
        "a": [1.0, 2.0, 3.0, 4.0],
        "r": ["n", "s", "n", "s"],
        "t": WORDS,
        "d": ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-05"],
        "same": [1, 1, 1, 1],
    }
    plan = plan_features(table_of(columns), text=["t"])
    return plan, plan.fit(table_of(columns)), columns


def test_new_rows_are_treated_as_the_old_in_any_order(learned):
    plan, X, columns = learned
    shuffled = {name: columns[name] for name in ("t", "d", "r", "a")}
    np.testing.assert_array_equal(plan.transform(table_of(shuffled)).toarray(), X.toarray())
    assert plan.notes_of_last == ()
    one = plan.transform(table_of({name: values[:1] for name, values in columns.items()}))
    np.testing.assert_array_equal(one.toarray(), X[:1].toarray())


def test_what_is_new_is_said(learned):
    plan, _, columns = learned
    table = table_of(columns | {"r": ["n", "w", "w", "s"], "extra": [1, 2, 3, 4], "more": [1, 2, 3, 4]})
    X = plan.transform(table)
    assert plan.notes_of_last == (
        "2 columns are new and not used: extra, more.",
        "2 rows of r with a value that is new count as none of the known ones.",
    )
    levels = [at for at, feature in enumerate(plan.features) if feature.column == "r"]
    np.testing.assert_array_equal(X[:, levels].toarray(), [[1, 0], [0, 0], [0, 0], [0, 1]])


@pytest.mark.parametrize("kind", [pl.Int64, pl.String, pl.Float32])
def test_new_numbers_may_be_written_otherwise(learned, kind):
    plan, X, columns = learned
    table = Table(
        table_of({}).path, frame=pl.DataFrame(columns).with_columns(pl.col("a").cast(pl.Int64).cast(kind))
    )
    np.testing.assert_array_equal(plan.transform(table).toarray(), X.toarray())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"a": [1.0, None, 3.0, 4.0]},
            "column 'a' has no value in row 1 (rows are counted from 0). Pass --impute",
        ),
        ({"r": ["n", "s", None, "s"]}, "column 'r' has no value in row 2"),
        ({"t": [*WORDS[:3], " "]}, "column 't' has no value in row 3"),
        ({"a": [1.0, 2.0, float("inf"), 4.0]}, "column 'a' is infinite in row 2"),
        ({"a": ["1", "2", "x", "4"]}, "column 'a' must hold numbers, but holds 'x' in row 2"),
        (
            {"d": ["2020-01-01", "soon", "2020-01-01", "2020-01-01"]},
            "column 'd' must hold dates, but holds 'soon' in row 1",
        ),
        ({"a": [[1], [2], [3], [4]]}, "column 'a' must hold numbers, but it holds List"),
        ({"t": [[1], [2], [3], [4]]}, "column 't' must hold text, but it holds List"),
    ],
)
def test_new_rows_that_do_not_do(learned, refused, change, message):
    plan, _, columns = learned
    assert message in refused(plan.transform, table_of(columns | change))


def test_a_missing_column_suggests_the_nearest(learned, refused):
    plan, _, columns = learned
    renamed = {("A" if name == "a" else name): values for name, values in columns.items()}
    assert "there is no column 'a'. Did you mean 'A'?" in refused(plan.transform, table_of(renamed))


@pytest.mark.parametrize("planned", [False, True])
def test_gaps_of_new_rows_are_filled_if_asked(learned, planned):
    _, _, columns = learned
    plan = plan_features(table_of(columns), text=["t"], impute=planned, scale=False)
    plan.fit(table_of(columns))
    gaps = columns | {"a": [None, 2.0, 3.0, 4.0], "r": [None, "s", "n", "s"], "t": [None, *WORDS[1:]]}
    X = plan.transform(table_of(gaps), impute=not planned).toarray()
    assert X[0, 0] == 2.5
    assert X[0, 2:].sum() == 0
    assert "3 missing values filled as in the rows learned from." in plan.notes_of_last


def test_far_out_of_range(refused):
    plan, _ = fitted(table_of({"a": [0.0, 1e-300]}))
    assert "column 'a' is far out of range in row 1" in refused(plan.transform, table_of({"a": [0.0, 1e300]}))


def test_rows_of_unknown_words_are_empty():
    plan, _ = fitted(table_of({"t": WORDS}))
    X = plan.transform(table_of({"t": ["quite other words", WORDS[0]]}))
    assert (X[0].nnz, X[1].nnz > 0) == (0, True)


def test_a_matrix_of_another_width(tmp_path, refused, rng):
    plan, _ = fitted(Table(tmp_path / "m.npy", matrix=rng.normal(size=(9, 3))))
    wide = Table(tmp_path / "w.npy", matrix=rng.normal(size=(9, 4)))
    assert refused(plan.transform, wide) == "w.npy: the matrix has 4 columns, the one learned from had 3."


def test_a_plan_before_fit(learned):
    _, _, columns = learned
    with pytest.raises(ValueError, match="has not been fitted"):
        plan_features(table_of(columns)).transform(table_of(columns))


def test_a_plan_survives_joblib_and_holds_no_rows(learned, rng):
    plan, X, columns = learned
    file = io.BytesIO()
    joblib.dump(plan, file)
    file.seek(0)
    again = joblib.load(file)
    np.testing.assert_array_equal(again.transform(table_of(columns)).toarray(), X.toarray())
    assert (again.features, again.columns, again.notes) == (plan.features, plan.columns, plan.notes)
    big, _ = fitted(table_of({"a": rng.normal(size=100_000)}))
    file = io.BytesIO()
    joblib.dump(big, file)
    assert len(file.getvalue()) < 10_000


def test_fitting_again_gives_the_same(learned):
    plan, X, columns = learned
    notes = plan.notes
    np.testing.assert_array_equal(plan.fit(table_of(columns)).toarray(), X.toarray())
    assert plan.notes == notes
