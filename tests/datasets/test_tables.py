"""Tables: scikit-learn's own, tiny files of the UCI format, and the real ones where they are."""

import gzip
import os

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from coterie.datasets import _data_folder as _folder
from coterie.datasets import list_tables, load_table

needs_data = pytest.mark.skipif(
    not os.environ.get("COTERIE_DATA"), reason="needs the data folder: set COTERIE_DATA to its path"
)

NUMBERS = """size,weight,kind
1,2.5,b
?,-1e3,a
3,0,b
"""
MIXED = """age,job,sex,income
39,clerk,m,<=50K
28,?,f,>50K
50,"cook, head",?,<=50K
61,clerk,f,<=50K
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a function that writes a table into an empty data folder."""
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    (tmp_path / "uci").mkdir()

    def write(name, text):
        path = tmp_path / "uci" / f"{name}.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("iris", load_iris),
        ("wine", load_wine),
        ("breast_cancer", load_breast_cancer),
        ("digits", load_digits),
    ],
)
def test_bundled_tables_need_no_folder(name, original, monkeypatch):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    assert list_tables()[name]
    assert name in _folder.WITHOUT_FOLDER
    table, source = load_table(name), original()
    np.testing.assert_array_equal(table.data, source.data)
    np.testing.assert_array_equal(table.target, source.target)
    assert len(table.feature_names) == table.data.shape[1]
    assert table.target_names.tolist() == [str(label) for label in source.target_names]
    assert not table.categorical_features.any()
    assert "scikit-learn" in table.DESCR
    X, y = load_table(name, return_X_y=True)
    np.testing.assert_array_equal(X, table.data)
    np.testing.assert_array_equal(y, table.target)


def test_a_table_of_numbers(folder):
    folder("glass", NUMBERS)
    table = load_table("glass", missing="keep")
    assert table.data.dtype == np.float64
    np.testing.assert_array_equal(table.data, [[1, 2.5], [np.nan, -1000], [3, 0]])
    assert table.target.dtype == np.int64
    assert table.target.tolist() == [1, 0, 1]
    assert table.target_names.tolist() == ["a", "b"]
    assert table.feature_names == ["size", "weight"]
    assert table.categorical_features.tolist() == [False, False]
    assert table.DESCR == "glass: 3 items, 2 features, 2 classes. Source: UCI Machine Learning Repository."


def test_a_table_with_nominal_columns(folder):
    folder("adult", MIXED)
    table = load_table("adult", missing="keep")
    assert table.data.dtype == object
    assert table.categorical_features.tolist() == [False, True, True]
    assert table.data[0].tolist() == [39.0, "clerk", "m"]
    assert table.data[2, 1] == "cook, head"
    missing = [[isinstance(value, float) and np.isnan(value) for value in row] for row in table.data]
    assert np.argwhere(missing).tolist() == [[1, 1], [2, 2]]


def test_nominal_columns_go_into_the_tools_of_sklearn(folder):
    folder("adult", MIXED)
    table = load_table("adult", missing="keep")
    assert SimpleImputer(strategy="most_frequent").fit_transform(table.data)[1].tolist() == [
        28.0,
        "clerk",
        "f",
    ]
    encode = make_column_transformer((OneHotEncoder(), table.categorical_features), remainder="passthrough")
    assert encode.fit_transform(table.data).shape == (4, 7)  # clerk, cook, NaN; f, m, NaN; age


def test_missing_values_are_an_error_that_tells_the_choices(folder):
    folder("adult", MIXED)
    with pytest.raises(ValueError, match=r"2 of the 4 rows of table 'adult'.*missing='drop'.*missing='keep'"):
        load_table("adult")


def test_incomplete_rows_can_be_dropped(folder):
    folder("adult", MIXED)
    table = load_table("adult", missing="drop")
    assert table.data[:, 0].tolist() == [39.0, 61.0]
    assert table.target_names.tolist() == ["<=50K"]
    assert "2 items" in table.DESCR
    X, y = load_table("adult", missing="drop", return_X_y=True)
    assert X.shape == (2, 3)
    assert y.tolist() == [0, 0]


def test_nothing_left_to_drop(folder):
    folder("liver", "mcv,selector\n?,1\n")
    with pytest.raises(
        ValueError, match=r"Every row of table 'liver' has missing values\. Use missing='keep'"
    ):
        load_table("liver", missing="drop")


def test_a_complete_table_needs_no_choice(folder):
    folder("glass", NUMBERS.replace("?", "2"))
    assert load_table("glass").data.shape == (3, 2)


def test_unknown_name_lists_all_and_the_nearest():
    with pytest.raises(
        ValueError, match=r"no table 'balance_scale'\. Did you mean 'balance-scale'\?.*mushroom"
    ):
        load_table("balance_scale")
    with pytest.raises(ValueError, match="Did you mean 'iris'"):
        load_table("Iris")
    with pytest.raises(ValueError, match=r"no table '\.\./secret'\. The tables are: iris,"):
        load_table("../secret")


def test_unknown_treatment_of_missing_values():
    with pytest.raises(ValueError, match="missing must be 'error', 'drop' or 'keep', not 'ignore'"):
        load_table("iris", missing="ignore")


AVAILABLE = r"COTERIE_DATA.*Available without it: load_table\('iris'\)"


@pytest.mark.parametrize("value", [None, ""])
def test_no_folder_named(monkeypatch, value):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("COTERIE_DATA", value)
    with pytest.raises(
        FileNotFoundError, match=r"\$COTERIE_DATA/uci/glass\.csv\.gz.*is not set.*" + AVAILABLE
    ):
        load_table("glass")
    assert not list_tables()["glass"]


def test_folder_does_not_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere' is not a folder.*" + AVAILABLE):
        load_table("glass")


def test_file_does_not_exist(folder):
    folder("adult", MIXED)
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*glass\.csv\.gz'.*" + AVAILABLE):
        load_table("glass")
    assert list_tables()["adult"]
    assert not list_tables()["glass"]


def test_the_home_folder_may_be_written_as_a_tilde(folder, monkeypatch, tmp_path):
    folder("adult", MIXED)
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("COTERIE_DATA", f"~/{tmp_path.name}")
    assert list_tables()["adult"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows"),
        ("a,class\n", "has no rows"),
        (
            "a,class\n1,x\n1,2,x\n",
            r"glass\.csv\.gz, line 3: expected 2 values, the last one the class; got \['1'",
        ),
        ("a,class\n1,?\n", "line 2: expected 2 values, the last one the class"),
        ("a,class\n1,x\n\n", r"line 3: .*got \[\]"),
    ],
)
def test_damaged_tables_are_named(folder, text, message):
    folder("glass", text)
    with pytest.raises(ValueError, match=message):
        load_table("glass", missing="keep")


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-12], lambda b: b"plain text", lambda b: gzip.compress(b"\xff,")]
)
def test_damaged_files_are_named(folder, damage):
    path = folder("glass", NUMBERS)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"glass\.csv\.gz is damaged .* fetch a fresh copy"):
        load_table("glass")


# name: rows, complete rows, features, classes, nominal columns
REAL = {
    "adult": (48_842, 45_222, 14, 2, 8), "balance-scale": (625, 625, 4, 3, 0),
    "breast-w": (699, 683, 9, 2, 0), "glass": (214, 214, 9, 6, 0), "ionosphere": (351, 351, 34, 2, 0),
    "liver": (345, 345, 6, 2, 0), "mushroom": (8_124, 5_644, 22, 2, 22),
    "pendigits": (10_992, 10_992, 16, 10, 0), "pima": (768, 768, 8, 2, 0),
    "segment": (2_310, 2_310, 19, 7, 0), "soybean-small": (47, 47, 35, 4, 0), "vote": (435, 232, 16, 2, 16),
    "vowel": (990, 990, 10, 11, 0),
}  # fmt: skip


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_real_tables_have_the_published_size(name):
    if not list_tables()[name]:
        pytest.skip(f"{name} is not in the folder that COTERIE_DATA names")
    rows, complete, features, classes, nominal = REAL[name]
    table = load_table(name, missing="keep")
    assert table.data.shape == (rows, features)
    assert (table.data.dtype == np.float64) == (nominal == 0)
    assert table.categorical_features.sum() == nominal
    assert np.unique(table.target).tolist() == list(range(classes))
    assert load_table(name, missing="drop").data.shape == (complete, features)


def test_every_table_is_checked():
    assert set(REAL) | {"iris", "wine", "breast_cancer", "digits"} == set(list_tables())
