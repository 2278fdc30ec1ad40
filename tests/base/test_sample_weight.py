"""What counts as sample weights, and what the complaint says."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from coterie.base import check_sample_weight

X = np.zeros((3, 2))


def test_none_stays_none():
    assert check_sample_weight(None, X) is None


@pytest.mark.parametrize(
    "given",
    [
        [1, 0, 2], (True, False, 2.0), np.array([1, 0, 2], dtype=np.float32),
        np.array([1, 0, 2], dtype=object), pd.Series([1, 0, 2], index=[7, 8, 9]),
        pd.Series([1, 0, 2], dtype="Int64"),
    ],
)  # fmt: skip
def test_vectors_become_float64(given):
    read = check_sample_weight(given, X)
    assert read.dtype == np.float64
    assert read.tolist() == [1, 0, 2]


@pytest.mark.parametrize("given", [2, 2.0, np.float32(2), np.array(2)])
def test_a_number_is_every_items(given):
    assert check_sample_weight(given, X).tolist() == [2, 2, 2]


def test_sparse_data_have_rows_too():
    assert check_sample_weight([1, 2, 3], sparse.csr_array(X)).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, -0.5, 2], r"Negative values in data passed to `sample_weight`: row 1 has -0\.5"),
        (-1, r"row 0 has -1\."),
        ([1, 1, np.nan], "sample_weight must be finite; row 2 has nan"),
        ([np.inf, 1, 1], "sample_weight must be finite; row 0 has inf"),
        ([0, 0, 0], "Sample weights must contain at least one non-zero number"),
        (0, "Sample weights must contain at least one non-zero number"),
        ([1, 2], r"sample_weight\.shape == \(2,\), expected \(3,\)"),
        (np.ones((3, 1)), r"one-dimensional, one per row of X; got shape \(3, 1\)"),
        (np.ones((3, 1, 1)), r"one-dimensional, one per row of X; got shape \(3, 1, 1\)"),
        ("heavy", "sample_weight must be numbers; row 0 has 'heavy'"),
        ([1, None, 2], "sample_weight must be numbers; row 1 has None"),
        (["1", "2", "3"], "sample_weight must be numbers; row 0 has '1'"),
        ([1, 2, 3j], r"sample_weight must be numbers; row 0 has \(1\+0j\)"),
    ],
)
def test_complaints_name_the_row_and_the_value(given, words):
    with pytest.raises(ValueError, match=words):
        check_sample_weight(given, X)
