"""The bibliography: its counts, and what records of one author share."""

import numpy as np
import pytest

from coterie.constraints import Constraints
from coterie.datasets import make_bibliography

TABLE_15_1 = [17, 23, 29, 29, 31, 26, 10, 11]


@pytest.fixture(scope="module")
def records():
    return make_bibliography(random_state=0)


def test_the_counts_are_those_of_the_book(records):
    names = list(dict.fromkeys(records.names))
    assert [len(set(records.target[records.names == name])) for name in names] == TABLE_15_1
    assert [(records.names == name).sum() for name in names] == [100] * 8
    assert (names[0], names[-1]) == ("D. Johnson", "J. Mitchell")
    assert sorted(set(records.target)) == list(range(sum(TABLE_15_1)))
    known = Constraints.across(records.names)
    assert not known.violations(records.target)
    assert known.groups[0].n_pairs() == 28 * 100**2  # of the book's experiment


def test_records_are_binary_and_hold_what_is_said(records):
    X = records.data
    assert X.format == "csr"
    assert set(X.data) == {1.0}
    assert X.has_canonical_format
    words, coauthors = X[:, :3000].sum(axis=1), X[:, 3000:].sum(axis=1)
    assert 6 <= words.min() <= words.max() == 9  # a topic word may be a common one too
    assert set(np.asarray(coauthors).ravel()) == {0, 1, 2}
    assert len(records.feature_names) == X.shape[1]
    assert (records.feature_names[0], records.feature_names[3000]) == ("word0", "coauthor0")


def test_what_an_author_owns_recurs(records):
    overlap = (records.data @ records.data.T).toarray()
    i, j = np.triu_indices(800, 1)
    same, one_name = records.target[i] == records.target[j], records.names[i] == records.names[j]
    apart = overlap[i, j][one_name & ~same]
    assert overlap[i, j][same].mean() > apart.mean() + 0.5
    # names are arbitrary: two authors are as far apart under one name as under two
    assert apart.mean() == pytest.approx(overlap[i, j][~one_name].mean(), rel=0.1)
    for author in range(176):  # three co-authors each, in any number of records
        assert records.data[records.target == author][:, 3000:].sum(axis=0).astype(bool).sum() <= 3
    common = np.asarray(records.data[:, :3000].sum(axis=0)).ravel()
    assert common[:10].min() > common[100:].max()  # by Zipf's law


@pytest.mark.parametrize("seed", [3, lambda: np.random.RandomState(3)])
def test_the_same_seed_gives_the_same_records(seed):
    one, two = (
        make_bibliography({"A": 2}, random_state=seed() if callable(seed) else seed) for _ in range(2)
    )
    other = make_bibliography({"A": 2}, random_state=4)
    assert (one.data != two.data).nnz == 0
    assert one.target.tolist() == two.target.tolist()
    assert (one.data != other.data).nnz


def test_sizes_are_those_asked_for():
    small = make_bibliography({"A. B": 1, "C. D": 5}, n_records=5, random_state=0)
    assert small.data.shape == (10, 6000)
    assert small.target[:5].tolist() == [0] * 5
    assert sorted(small.target[5:]) == [1, 2, 3, 4, 5]
    assert small.names.tolist() == ["A. B"] * 5 + ["C. D"] * 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"n_authors": {"A": 6}, "n_records": 5}, "'A' has 6 authors, but n_records=5"),
        ({"n_authors": {"A": 0}}, "n_authors of A"),
        ({"n_authors": {}}, "n_authors is empty"),
        ({"n_records": 2.5}, "n_records must be a whole number"),
    ],
)
def test_bad_numbers_are_refused_by_name(words, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_bibliography(**words)
