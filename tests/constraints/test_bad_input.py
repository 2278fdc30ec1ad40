"""Bad input: each complaint names the row or pair, the value, and what to do (specification, section 8)."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from coterie import Constraints
from tests.constraints.strategies import says

BOTH = pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
INF, NAN = float("inf"), float("nan")


@BOTH
@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1), (2, 7)], r"row 1 is \(2, 7\).*0 to 4.*n_items=5"),
        ([(0, 1), (-1, 2)], r"row 1 is \(-1, 2\).*0 to 4"),
        ([(0, 1), (2, 1.5)], r"row 1 is \(2(\.0)?, 1\.5\).*whole.*ids="),
        ([(0, 1), (2, NAN)], r"row 1 is \(2(\.0)?, nan\).*whole"),
        ([(0, 1), (2, INF)], r"row 1 is \(2(\.0)?, inf\).*whole"),
        ([(0, 1), (2, 1e300)], r"row 1 is \(.*1e\+300\)"),
        ([(0, 1), (2, 10**25)], r"row 1 is \(2, 10000000000000000000000000\)"),
        ([(0, 1), (2, 2**63)], r"row 1 is \(2, 9223372036854775808\)"),
        (np.array([[True, False]]), r"row 0 is \(True, False\)"),
        ([(0, 1), (True, 2)], r"row 1 is \(True, 2\)"),
        ([(0, 1), ("a", "b")], r"row 1 is \('a', 'b'\).*ids="),
        ([("0", "1")], r"row 0 is \('0', '1'\).*ids="), ([(0, 1), (2, None)], r"row 1 is \(2, None\)"),
        ([(0, 1), (2,)], r"list of pairs.*row 1 is \(2,\)"),
        ([(0, 1), (2, 3, 4)], r"list of pairs.*row 1 is \(2, 3, 4\).*weight="),
        ([(0, 1, 0.5)], r"list of pairs.*row 0 is \(0, 1, 0\.5\).*weight="),
        (np.zeros((2, 3), dtype=int), r"list of pairs.*row 0.*weight="),
        ([0, 1], r"list of pairs.*row 0 is 0"), (np.array([0, 1]), r"list of pairs.*row 0"),
        (np.zeros((1, 2, 2), dtype=int), r"shape \(n_pairs, 2\)|list of pairs"),
        ("ab", r"list of pairs.*'ab?'"), (["ab", "cd"], r"list of pairs.*row 0 is 'ab'"),
        ([(0, 1), 5], r"list of pairs.*row 1 is 5"), (5, r"list of pairs|5"),
        ([[(0, 1)]], r"list of pairs|shape"),
    ],
)  # fmt: skip
def test_bad_pairs(kind, pairs, message):
    with pytest.raises((ValueError, TypeError), match=rf"{kind}.*(?s:{message})"):
        Constraints(**{kind: pairs}, n_items=5)


@BOTH
def test_a_frame_is_not_a_list_of_pairs(kind):
    for frame in (pd.DataFrame({"i": [0], "j": [1]}), pl.DataFrame({"i": [0], "j": [1]})):
        with pytest.raises(TypeError, match=rf"{kind}.*from_frame"):
            Constraints(**{kind: frame})


def test_self_pairs():
    with pytest.raises(ValueError, match=r"cannot.link row 1 .*item 3 .*itself.*[Rr]emove"):
        Constraints(cannot_link=[(0, 1), (3, 3)])
    with pytest.raises(ValueError, match=r"item c .*itself"):
        Constraints(cannot_link=[("c", "c")], ids=["a", "b", "c"])
    with pytest.raises(ValueError, match=says(r"\(2, 2\)", "negative|-2", "itself")):
        Constraints.from_matrix(np.diag([1.0, 0.0, -2.0]))
    c = Constraints([(3, 3), (0, 1), (2, 2)], weight=[5, 1, 5])
    assert c.must_link.tolist() == [[0, 1]]
    assert c.n_items == 4
    assert c == Constraints([(0, 1)], n_items=4)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, NAN, 1], says("weight", r"pair 1|must-link \(1, 2\)", "is nan", "finite")),
        ([1, -2, 1], says("weight", r"pair 1|must-link \(1, 2\)", r"is -2", "not negative")),
        ([1, 1, INF], says("weight", r"pair 2|cannot-link \(2, 3\)", "is inf", "hard=True")),
        (-1, says("weight", r"pair 0|must-link \(0, 1\)", "is -1")),
        ([1, 2], r"weight has length .*2.*3 pairs.*must-links first"),
        (np.ones((3, 1)), r"weight has length .*3, 1.*3 pairs"),
        ([], r"weight has length .*0.*3 pairs"),
        ("heavy", r"weight must be a number.*'heavy'"),
        ([1, None, 2], r"weight.*1.*(nan|None)"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Constraints([(0, 1), (1, 2)], [(2, 3)], weight=weight)


@pytest.mark.parametrize("bad", [0.5, 0.2, 0.0, -0.1, 1.0001, INF])
def test_bad_confidence(bad):
    with pytest.raises(
        ValueError, match=says("confidence", r"pair 2|cannot-link \(2, 3\)", f"is {bad}", r"above 0\.5")
    ):
        Constraints([(0, 1), (1, 2)], [(2, 3)], confidence=[0.9, 1, bad])
    with pytest.raises(ValueError, match=r"confidence has length .*2.*3 pairs"):
        Constraints([(0, 1), (1, 2)], [(2, 3)], confidence=[0.9, 1])


def test_bad_hard_and_source():
    for bad in ("yes", [1, 0], 2, [True, None]):
        with pytest.raises(TypeError, match="hard must be True, False"):
            Constraints([(0, 1), (1, 2)], hard=bad)
    with pytest.raises(ValueError, match=r"hard has length .*3.*2 pairs"):
        Constraints([(0, 1), (1, 2)], hard=[True, False, True])
    with pytest.raises(ValueError, match=r"source has length 1.*2 pairs"):
        Constraints([(0, 1), (1, 2)], source=["a"])


def test_unknown_ids_name_the_nearest():
    ids = ["anna", "bert", "carl"]
    with pytest.raises(ValueError, match=r"must_link row 1: unknown id 'bret'.*Did you mean 'bert'"):
        Constraints([("anna", "bert"), ("anna", "bret")], ids=ids)
    with pytest.raises(ValueError, match=r"cannot_link row 0: unknown id 0; the ids begin 'anna'"):
        Constraints(cannot_link=[(0, 1)], ids=ids)
    with pytest.raises(ValueError, match=r"list of pairs.*row 1 is 'bert'"):
        Constraints([("anna", "bert"), "bert"], ids=ids)
    with pytest.raises(ValueError, match=r"unknown id \['anna'\]"):
        Constraints([(["anna"], "bert")], ids=ids)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b", "a"], r"'a'.*rows 0 and 2.*unique"), ([1, 2, 2], r"2.*rows 1 and 2.*unique"),
        (["a", None, "c"], r"row 1.*every item an id"), ([1.0, NAN, 3.0], r"row 1.*every item an id"),
        (["a", NAN, "c"], r"row 1.*every item an id"), ([["a", "b"]], r"one-dimensional.*\(1, 2\)"),
        ("abc", r"one-dimensional"), (5, r"one-dimensional"),
    ],
)  # fmt: skip
def test_bad_ids(ids, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Constraints(ids=ids)
    with pytest.raises((ValueError, TypeError), match=message):
        Constraints(n_items=3).with_ids(ids)


@pytest.mark.parametrize("make", [Constraints.from_labels, Constraints.distinct, Constraints.across])
def test_bad_groups(make):
    with pytest.raises(ValueError, match=r"\[1\] is 0\.5.*whole numbers or strings"):
        make([0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match=r"\[2\] is inf"):
        make([0.0, 1.0, INF])
    with pytest.raises(ValueError, match=r"one value per item.*\(1, 3\)"):
        make([[0, 1, 2]])
    with pytest.raises(ValueError, match="one value per item"):
        make("abc")
    for weight in (-1, NAN, INF, "2", [1, 2]):
        with pytest.raises((ValueError, TypeError), match="weight"):
            make([0, 0, 1], weight=weight)
    with pytest.raises(ValueError, match=r"n_items=3.*2 ids"):
        make([0, 0, 1], ids=["a", "b"])


@pytest.mark.parametrize(
    ("n_items", "error", "message"),
    [
        (-1, ValueError, "n_items.*-1"),
        (2.0, TypeError, r"n_items.*2\.0"),
        (True, TypeError, "n_items.*True"),
        ("3", TypeError, "n_items.*'3'"),
    ],
)
def test_bad_number_of_items(n_items, error, message):
    with pytest.raises(error, match=message):
        Constraints(n_items=n_items)


def test_ids_and_items_must_agree():
    with pytest.raises(ValueError, match=r"n_items=4.*3 ids"):
        Constraints(n_items=4, ids=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"n_items=4.*3 ids"):
        Constraints(n_items=4).with_ids(["a", "b", "c"])


@pytest.mark.parametrize("bad", [0, -3, True, 2.0, 2.5, "2", None, NAN])
def test_bad_number_of_clusters(bad):
    for ask in (Constraints([(0, 1)]).check, Constraints([(0, 1)]).explain):
        if bad is None and ask.__name__ == "explain":
            continue  # any number
        with pytest.raises(ValueError, match=rf"n_clusters must be .* at least 1; got {bad!r}"):
            ask(bad)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"i": [0, 0], "j": [1, 2], "kind": ["ml", "maybe"]}, r"row 1: kind is 'maybe'.*must-link"),
        ({"i": [0, 0], "j": [1, 2], "kind": ["ml", None]}, r"row 1: kind is None.*must-link"),
        ({"i": [0, 0], "j": [1, None], "kind": ["ml", "cl"]}, r"row 1: column j is empty"),
        ({"i": [0, 0], "j": [1.0, 2.5], "kind": ["ml", "ml"]}, r"row 1: j is 2\.5"),
        ({"i": [0, 0], "j": [1.0, INF], "kind": ["ml", "ml"]}, r"row 1: j is inf"),
        ({"i": [0, 0], "j": [1, 10**18], "kind": ["ml", "ml"]}, r"row 1.*1000000000000000000"),
        ({"i": ["a", "b"], "j": ["b", "c"], "kind": ["ml", "ml"]}, r"row 0: i is 'a'.*ids="),
        ({"i": [True, False], "j": [2, 3], "kind": ["ml", "ml"]}, r"row 0: i is True"),
        ({"i": [Decimal("1.5")], "j": [Decimal(2)], "kind": ["ml"]}, r"row 0: i is .*1\.5"),
        ({"i": [0, 0], "j": [1, 9], "kind": ["ml", "cl"]}, says("row 1", r"\(0, 9\)", "0 to 4")),
        ({"i": [0, 3], "j": [1, 3], "kind": ["ml", "cl"]}, says("row 1", "item 3 .*itself")),
        ({"i": [0, 0], "j": [1, 2], "kind": ["ml", "cl"], "weight": [1, -1]}, says("row 1", "weight", "-1")),
        ({"i": [0, 0], "j": [1, 2], "kind": ["ml", "cl"], "weight": ["x", "y"]}, r"row 0: weight is 'x'"),
        (
            {"i": [0, 0], "j": [1, 2], "kind": ["ml", "cl"], "confidence": [0.9, 0.1]},
            says("row 1", "confidence", r"0\.1"),
        ),
        ({"i": [0, 0], "j": [1, 2], "kind": ["ml", "cl"], "hard": ["yes", "hm"]}, r"row 1: hard is 'hm'"),
        (
            {"i": [0, 1], "kind": ["label"] * 2, "group": ["a", "b"], "weight": [-1.0] * 2},
            says("row 0", "weight", "-1"),
        ),
        ({"i": [0, 1], "kind": ["label"] * 2}, r"column group"),
        ({"i": [0], "kind": ["ml"]}, r"column j"),
        ({"j": [0], "kind": ["ml"]}, r"lacks the column i; it has j, kind"),
        ({"a": [0]}, r"lacks the columns i, j, kind; it has a"),
    ],
)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_bad_frames(columns, message, library):
    with pytest.raises(ValueError, match=message):
        Constraints.from_frame(library(columns), n_items=5)


def test_not_a_frame():
    for thing in ([(0, 1)], {"i": [0]}, "pairs.csv", np.zeros((2, 2)), None):
        with pytest.raises(TypeError, match="not a data frame"):
            Constraints.from_frame(thing)
    with pytest.raises(ValueError, match=r"library.*'excel'"):
        Constraints([(0, 1)]).to_frame("excel")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_bad_matrices(make):
    asymmetric = np.array([[0, 1.0, 0], [-1.0, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"1 for \(0, 1\) and -1 for \(1, 0\).*symmetric"):
        Constraints.from_matrix(make(asymmetric))
    with pytest.raises(ValueError, match=r"square.*\(2, 3\)"):
        Constraints.from_matrix(make(np.zeros((2, 3))))
    bad = np.zeros((3, 3))
    bad[1, 2] = NAN
    with pytest.raises(ValueError, match=r"\(1, 2\).*nan"):
        Constraints.from_matrix(make(bad))
    bad[1, 2] = -INF
    with pytest.raises(ValueError, match=r"\(1, 2\).*-inf"):
        Constraints.from_matrix(make(bad))
    with pytest.raises(ValueError, match=r"n_items=3.*2 ids"):
        Constraints.from_matrix(make(np.zeros((3, 3))), ids=["a", "b"])


def test_a_vector_is_not_a_matrix():
    with pytest.raises(ValueError, match=r"square.*\(3,\)"):
        Constraints.from_matrix([1.0, 2.0, 3.0])
