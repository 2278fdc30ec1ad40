"""Tables read as records, and the pairs of rows that are similar."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from coterie.exceptions import ParameterError
from coterie.relational._records import find_similar, read_records
from tests.oracles import records as oracle


def pairs_of(similar):
    return list(zip(similar.left.tolist(), similar.right.tolist(), similar.similarity.tolist(), strict=True))


TABLE = {"name": ["Ann", "Bob", "Ann", None, "Ann", " Ann "], "age": [30.0, 40.0, 30.0, None, None, 30.0]}


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame(TABLE),
        pl.DataFrame(TABLE),
        pd.DataFrame(TABLE).to_numpy(),
        [list(row) for row in zip(*TABLE.values(), strict=True)],
    ],
    ids=["pandas", "polars", "array", "list"],
)
def test_one_table_in_many_forms(X):
    records = read_records(X)
    assert records.row.tolist() == [0, 1, 0, 2, 3, 0]
    assert records.first.tolist() == [0, 1, 3, 4]
    assert records.blank.tolist() == [False, False, True, False]
    name, age = records.columns
    assert (name.comparator, age.comparator) == ("jaro-winkler", "number")
    assert name.values == ["Ann", "Bob"]
    assert name.code.tolist() == [0, 1, -1, 0]
    assert name.count.tolist() == [4, 1]
    assert age.code.tolist() == [0, 1, -1, -1]


def test_strings_are_one_column():
    for X in (["a", "b", "a", None], np.array(["a", "b", "a", ""]), pd.Series(["a", "b", "a", np.nan])):
        records = read_records(X)
        assert records.row.tolist() == [0, 1, 0, 2]
        assert records.blank.tolist() == [False, False, True]


def test_the_usual_comparator_looks_at_the_values():
    frame = pd.DataFrame(
        {
            "title": ["the big sleep", "a long goodbye", "chess"],
            "surname": ["Lee", "van Dam", "Ray"],
            "year": [1939, 1953, 2010],
            "member": [True, False, True],
            "born": pd.to_datetime(["2001-01-01", "2001-01-02", None]),
            "mixed": [1, "one", None],
        }
    )
    comparators = [column.comparator for column in read_records(frame).columns]
    assert comparators == ["soft-tfidf", "jaro-winkler", "number", "exact", "exact", "jaro-winkler"]


def test_columns_by_name_by_number_and_with_weights():
    frame = pd.DataFrame({"name": ["a", "b"], "town": ["x", "x"], "note": ["?", "!"]})
    records = read_records(frame, {"town": ("exact", 3), 0: "exact"})
    assert [(column.name, column.weight) for column in records.columns] == [("town", 3.0), ("name", 1.0)]
    assert pairs_of(find_similar(records)) == [(0, 1, 0.75)]
    # an index is none of the columns, and unnamed columns have numbers
    unnamed = pd.DataFrame([["a", "b"]], index=["row"])
    assert [column.values for column in read_records(unnamed, {1: "exact"}).columns] == [["b"]]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"nam": "exact"}, r"columns names 'nam', which X does not have; its columns are 'name', 'town'\."),
        ({2: "exact"}, "columns names 2, which X does not have"),
        (
            {"name": "levenshtein"},
            "by 'levenshtein', which is no comparator; there are 'exact', 'jaro-winkler'",
        ),
        ({"name": ("exact", -1)}, "weight -1; a weight is a finite number above 0"),
        ({"name": ("exact", float("nan"))}, "weight nan"),
        ({"name": ("exact", True)}, "weight True"),
        (
            {"name": ("exact", 1, 2)},
            r"by \('exact', 1, 2\), which is no comparator; .* give a comparator and a number",
        ),
        ({"name": "exact", 0: "exact"}, "names 'name' twice"),
        ({"name": ["exact"]}, "which is no comparator"),
        ({}, r"columns is \{\}"),
        (["name"], r"columns is \['name'\]"),
    ],
)
def test_wrong_columns(columns, words):
    with pytest.raises(ParameterError, match=words):
        read_records(pd.DataFrame({"name": ["a"], "town": ["x"]}), columns)


@pytest.mark.parametrize(
    ("X", "kind", "words"),
    [
        ([], ValueError, "Expected 2D array, got 1D array"),
        (np.empty((0, 2)), ValueError, r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)"),
        (np.empty((2, 0)), ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
        (pd.DataFrame(), ValueError, "0 sample"),
        (pd.DataFrame([["a"]], columns=pd.MultiIndex.from_tuples([("b", "c")])), TypeError, "several levels"),
        ([1.0, 2.0], ValueError, "Reshape your data"),
        (np.zeros((2, 2, 2)), ValueError, "array with dim 3"),
        (np.array([[1 + 2j]]), ValueError, "Complex data not supported"),
        ([["a", "b"], ["c"]], ValueError, "row 1 has 1 values, but row 0 has 2"),
        ([["a", 1.0], ["b", float("inf")]], ValueError, "row 1, column 1 is infinite"),
        (np.array([[1.0], [-np.inf]]), ValueError, "row 1, column 0 is infinite"),
        ([["a"], [{"b": 1}]], TypeError, "row 1, column 0 .* argument must be a string or a number"),
        (sparse.eye(3, format="csr"), TypeError, "[Ss]parse"),
        ("a string", TypeError, "the records are str"),
        ({"name": ["a"]}, TypeError, "the records are dict"),
        (7, TypeError, "the records are int"),
    ],
)
def test_what_is_no_table(X, kind, words):
    with pytest.raises(kind, match=words):
        read_records(X)


def test_numbers_that_are_none():
    frame = pd.DataFrame({"age": ["12", "twelve"]})
    with pytest.raises(
        ValueError, match="row 1, column 'age' is 'twelve': \"number\" compares finite numbers"
    ):
        read_records(frame, {"age": "number"})
    with pytest.raises(ValueError, match="row 1, column 'age' is 'inf'"):
        read_records(pd.DataFrame({"age": ["12", "inf"]}), {"age": "number"})


def test_missing_values_are_skipped_and_never_equal():
    rows = [["a", "x"], ["a", None], [None, "x"], [None, ""], ["b", float("nan")], [" ", None]]
    similar = find_similar(read_records(rows, {0: "exact", 1: "exact"}), None)
    assert pairs_of(similar) == [(0, 1, 1.0), (0, 2, 1.0)]  # the one column that both have decides
    assert similar.group.tolist() == [0, 1, 2, 3, 4, 3]
    assert similar.alike.tolist() == [True, True, True, False, True]


def test_similar_means_above_one_half():
    rows = [["a", "x"], ["a", "y"], ["a", "x"]]
    assert pairs_of(find_similar(read_records(rows, {0: "exact", 1: "exact"}), None)) == []
    weighted = find_similar(read_records(rows, {0: ("exact", 3), 1: "exact"}), None)
    assert pairs_of(weighted) == [(0, 1, 0.75)]  # equal rows are one


@pytest.mark.parametrize("form", [list, np.array, "sparse", "dense"])
def test_candidates_are_pairs_of_records(form):
    rows = ["a", "a", "b", "A", None, None]
    pairs = [(1, 0), (0, 1), (3, 0), (2, 2), (2, 0), (4, 5), (4, 0)]
    if form == "sparse":
        given = sparse.coo_matrix((np.ones(7), np.array(pairs).T), shape=(6, 6))
    elif form == "dense":
        given = np.zeros((6, 6), dtype=bool)
        given[tuple(np.array(pairs).T)] = True
    else:
        given = form(pairs)
    similar = find_similar(read_records(rows, {0: "jaro-winkler"}), candidates=given)
    assert pairs_of(similar) == [(0, 1, 1.0), (0, 3, 1.0)]
    assert similar.group.tolist() == list(range(6))
    assert not similar.alike.any()
    assert find_similar(read_records(rows), candidates=[]).left.tolist() == []


def test_given_pairs_are_similar_above_zero():
    rows = [["a", "x", "1"], ["a", "y", "2"]]
    records = read_records(rows, dict.fromkeys(range(3), "exact"))
    assert pairs_of(find_similar(records, candidates=[(0, 1)]))[0][2] == pytest.approx(1 / 3)
    assert pairs_of(find_similar(records, None)) == []


@pytest.mark.parametrize(
    ("candidates", "kind", "words"),
    [
        ([(0, 3)], ValueError, r"the pair \(0, 3\), but rows are numbered 0 to 2"),
        ([(-1, 0)], ValueError, r"the pair \(-1, 0\)"),
        ([(0, 1, 2)], ValueError, r"candidates have shape \(1, 3\)"),
        ([(0, 0.5)], TypeError, "two row numbers"),
        ([("a", "b")], TypeError, "two row numbers"),
        (sparse.eye(2), ValueError, r"shape \(2, 2\), but there are 3 rows"),
        (np.zeros((4, 4), dtype=bool), ValueError, r"shape \(4, 4\)"),
    ],
)
def test_wrong_candidates(candidates, kind, words):
    with pytest.raises(kind, match=words):
        find_similar(read_records(["a", "b", "c"]), candidates=candidates)


def test_distinct_values_are_compared_once():
    """Twenty thousand records of 3 names in 2 towns: 3 pairs of names and 1 of towns."""
    rng = np.random.default_rng(0)
    calls = []

    def count(one, other):
        calls.append((one, other))
        return 0.75

    X = np.column_stack([rng.choice(["a", "b", "c"], 20_000), rng.choice(["x", "y"], 20_000)])
    similar = find_similar(read_records(X, {0: count, 1: "exact"}))
    assert similar.n_groups == 6
    assert similar.n_compared == 4
    assert len(calls) == 6
    one_value = find_similar(read_records(np.full((20_000, 1), "Smith, J."), {0: "person-name"}))
    assert (one_value.n_groups, one_value.n_compared, len(one_value.left)) == (1, 0, 0)


def test_all_pairs_come_in_parts(monkeypatch):
    names = [f"name {i}" for i in range(40)]
    whole = pairs_of(find_similar(read_records(names, {0: "jaro-winkler"}), None))
    monkeypatch.setattr("coterie.relational._records.pairs._AT_ONCE", 60)
    assert pairs_of(find_similar(read_records(names, {0: "jaro-winkler"}), None)) == whole
    assert [pair[:2] for pair in whole] == sorted({pair[:2] for pair in whole})
    assert len(whole) == 40 * 39 // 2


def test_similarity_is_the_weighted_mean_over_what_both_rows_have():
    """Random tables with gaps, against every pair of records looked at by itself."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = int(rng.integers(2, 15))
        name = rng.choice(np.array(["martha", "marhta", "dixon", None], dtype=object), n)
        town = rng.choice(np.array(["york", "ely", None], dtype=object), n)
        age = rng.choice(np.array([1.0, 2.0, 4.0, None], dtype=object), n)
        weights = rng.integers(1, 4, size=3).tolist()
        frame = pd.DataFrame({"name": name, "town": town, "age": age})
        kinds = ["jaro-winkler", "exact", "number"]
        columns = dict(zip(frame.columns, zip(kinds, weights, strict=True), strict=True))
        deviation = np.std([value for value in age if value is not None] or [0]) or 1
        measures = [
            oracle.jaro_winkler,
            lambda one, other: float(one == other),
            lambda one, other, unit=deviation: np.exp(-(((one - other) / unit) ** 2) / 2),
        ]
        records = read_records(frame, columns)
        similar = find_similar(records, candidates=list(combinations(range(n), 2)))
        found = {pair[:2]: pair[2] for pair in pairs_of(similar)}
        for i, j in combinations(range(n), 2):
            parts = [
                (weight, measure(cells[i], cells[j]))
                for cells, weight, measure in zip((name, town, age), weights, measures, strict=True)
                if cells[i] is not None and cells[j] is not None
            ]
            total = sum(weight for weight, _ in parts)
            expected = sum(weight * score for weight, score in parts) / total if total else 0
            assert found.get((i, j), 0) == pytest.approx(expected, abs=1e-8)
        proposed = {pair[:2]: pair[2] for pair in pairs_of(find_similar(records, None))}
        first = records.first
        assert proposed == {
            (i, j): found[first[i], first[j]]
            for i, j in combinations(range(len(first)), 2)
            if found.get((first[i], first[j]), 0) > 0.5
        }
