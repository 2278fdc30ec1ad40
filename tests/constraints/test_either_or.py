"""`EitherOr`: what a triple says, how triples split with rows, and how bad ones are refused."""

import copy
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from coterie.constraints import EitherOr

ONE = EitherOr([(0, 1, 2)], 3)


def printed_sum(labels):
    """The sum of the inequality that the book prints, for whole T."""
    T = np.eye(3)[list(labels)]
    return np.abs(T[0] - T[1]).sum() + np.abs(T[0] - T[2]).sum()


def is_met(i, j, g):
    """What is meant, in words: i with j or with g, j and g apart."""
    return j != g and i in (j, g)


def linear_form(labels):
    """T_ih <= T_jh + T_gh and T_jh + T_gh <= 1, for every h."""
    i, j, g = np.eye(3)[list(labels)]
    return bool((i <= j + g).all() and (j + g <= 1).all())


@pytest.mark.parametrize("labels", list(itertools.product(range(3), repeat=3)))
def test_truth_table(labels):
    met = is_met(*labels)
    assert len(ONE.violations(labels)) == (not met)
    assert linear_form(labels) == met
    # together: 0, one pair agrees: 2, or i alone: 4
    assert printed_sum(labels) in (0, 2, 4)
    assert met == (printed_sum(labels) == 2 and labels[1] != labels[2])
    # as printed (at most 1), all three would be forced together, which is never meant
    assert (printed_sum(labels) <= 1) == (len(set(labels)) == 1)
    assert not (printed_sum(labels) <= 1 and met)


def test_an_item_in_no_cluster_breaks_its_triples():
    for labels in itertools.product([-1, 0, 1], repeat=3):
        if -1 in labels:
            assert ONE.violations(labels).tolist() == [[0, 1, 2]]


def test_violations_lists_the_broken_triples():
    e = EitherOr([(5, 3, 4), (0, 1, 2), (2, 4, 3)], 6)
    assert e.violations([0, 0, 1, 1, 0, 0]).tolist() == []
    assert e.violations([0, 0, 1, 1, 0, 1]).tolist() == []
    assert e.violations([0, 0, 1, 0, 0, 0]).tolist() == [[2, 3, 4], [5, 3, 4]]
    with pytest.raises(ValueError, match="6 items"):
        e.violations([0, 1])


def test_a_value():
    e = EitherOr([(2, 1, 0), (2, 0, 1), (0, 1, 3)], 5)
    assert e.triples.tolist() == [[0, 1, 3], [2, 0, 1]]
    assert (e.n_triples, e.n_items, e.shape) == (2, 5, (5,))
    assert repr(e) == "EitherOr(5 items: 2 triples)"
    assert repr(EitherOr(n_items=1)) == "EitherOr(1 item: nothing known)"
    assert e
    assert not EitherOr([], 5)
    assert e == EitherOr(np.array([[0, 3, 1], [2, 1, 0]]), 5)
    assert hash(e) == hash(EitherOr(np.array([[0, 3, 1], [2, 1, 0]]), 5))
    assert e != EitherOr(e.triples, 6)
    assert e != EitherOr([(0, 1, 3)], 5)
    assert e != "e"
    assert pickle.loads(pickle.dumps(e)) == e
    assert copy.deepcopy(e) is copy.copy(e) is e
    assert e.must_apart().tolist() == [[0, 1], [1, 3]]
    assert EitherOr([(0, 1, 3), (2, 3, 1)]).must_apart().tolist() == [[1, 3]]
    assert EitherOr([], 3).must_apart().shape == (0, 2)
    assert EitherOr([], 3).violations([0, 0, 0]).shape == (0, 3)
    with pytest.raises(AttributeError, match="cannot be changed"):
        e.n_items = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        del e._ids
    with pytest.raises(ValueError, match="read-only"):
        e.triples[0] = 1


def test_rows_keep_the_triples_among_them(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        n = int(rng.integers(3, 12))
        e = EitherOr([rng.permutation(n)[:3].tolist() for _ in range(rng.integers(0, 8))], n)
        rows = rng.permutation(n)[: rng.integers(0, n + 1)]
        new = {old: number for number, old in enumerate(rows.tolist())}
        kept = [[new[item] for item in t] for t in e.triples.tolist() if all(item in new for item in t)]
        assert e[rows] == EitherOr(kept, len(rows))
        mask = np.isin(np.arange(n), rows)
        assert e[mask] == e[np.sort(rows)]
        assert e[1:] == e[np.arange(1, n)]
        assert e[:] == e
        assert _safe_indexing(e, np.sort(rows)) == e[mask]


def test_rows_that_are_refused():
    for rows, error in [([0, 0, 1], ValueError), ([7], IndexError), ([0.5], TypeError), (1, TypeError)]:
        with pytest.raises(error):
            ONE[rows]
    for train, _ in KFold(3).split(np.zeros((3, 1))):
        assert not ONE[train]


def test_ids():
    e = EitherOr([("c", "b", "a")], ids=["a", "b", "c", "d"])
    assert e.triples.tolist() == [[2, 0, 1]]
    assert e == EitherOr([(2, 0, 1)], 4)
    assert e[[2, 1, 0]].ids.tolist() == ["c", "b", "a"]
    assert e[[2, 1, 0]].triples.tolist() == [[0, 1, 2]]
    assert e.item_name(2) == "c"
    assert pickle.loads(pickle.dumps(e)).ids.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="triples row 1: unknown id 'x'"):
        EitherOr([("c", "b", "a"), ("a", "b", "x")], ids=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"row 0 is \('c', 'a', 'a'\): an item stands in it twice"):
        EitherOr([("c", "a", "a")], ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="n_items=5, but there are 3 ids"):
        EitherOr([], 5, ids=["a", "b", "c"])


@pytest.mark.parametrize(
    ("triples", "told"),
    [
        ([(0, 1, 2), (0, 3, 3)], r"row 1 is \(0, 3, 3\): an item stands in it twice"),
        ([(0, 1, 2), (0, 0, 3)], r"row 1 is \(0, 0, 3\): an item stands in it twice"),
        ([(0, 1, 2), (0, 3, 9)], r"row 1 is \(0, 3, 9\): items are numbered 0 to 4 \(n_items=5\)"),
        ([(0, 1, -2)], r"row 0 is \(0, 1, -2\): items are numbered 0 to 4"),
        ([(0, 1, 2), (0, 1.5, 3)], r"row 1 is \(0, 1.5, 3\): items are named by whole row numbers"),
        ([(0, 1, True)], r"row 0 is \(0, 1, True\): items are named by whole"),
        ([(0, 1, "a")], r"row 0 is \(0, 1, 'a'\): .* pass `ids=`"),
        ([(0, 1, None)], r"row 0 is \(0, 1, None\): items are named by whole"),
        (np.array([[0.0, 1.0, np.nan]]), r"row 0 is \(0.0, 1.0, nan\): items are named by whole"),
        ([(0, 1, 2), (0, 1)], r"row 1 is \(0, 1\)"),
        ([0, 1, 2], "row 0 is 0"),
        (["abc"], "row 0 is 'abc'"),
        (np.zeros((2, 3, 1)), r"got shape \(2, 3, 1\)"),
    ],
)
def test_bad_triples_are_named(triples, told):
    with pytest.raises(ValueError, match=told):
        EitherOr(triples, 5)


def test_what_is_no_list_is_refused():
    for bad in ("0 1 2", 5):
        with pytest.raises(TypeError, match="must be a list of triples"):
            EitherOr(bad, 5)
    with pytest.raises(TypeError, match="n_items must be a whole number"):
        EitherOr([], 5.0)


def test_nothing_heavy_is_imported():
    code = (
        "import sys; from coterie.constraints import EitherOr\n"
        "EitherOr([(0, 1, 2)], 5)[[0, 1, 2]].violations([0, 0, 1]); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "scipy", "numba", "pandas"} & set(loaded.stdout.split())
