"""Building constraints from whatever a person has: lists, arrays, frames, matrices, labels, groups."""

import functools
import operator
import pickle
import random

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from coterie import Constraints
from tests.oracles import constraints as oracle

MUST, CANNOT = [(0, 1), (4, 2)], [(3, 1)]
EXPECTED = Constraints(MUST, CANNOT, n_items=6)


def said(c: Constraints):
    """What the constraints state, as plain values."""
    return c.n_items, c.must_link.tolist(), c.cannot_link.tolist()


def test_canonical_form():
    c = Constraints([(4, 2), (1, 0), (2, 4), (3, 3)], [(3, 1), (1, 3), (5, 0)])
    assert said(c) == (6, [[0, 1], [2, 4]], [[0, 5], [1, 3]])
    assert c.must_table.weight.tolist() == [1, 2]  # duplicates add up, in either order
    assert c.cannot_table.weight.tolist() == [1, 2]
    assert c.n_pairs == 4
    assert c.shape == (6,)
    assert c.kinds == {"must-link", "cannot-link"}
    assert c.constrained_items.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(TypeError):
        len(c)
    with pytest.raises(TypeError):
        iter(c)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_type(dtype, order):
    must, cannot = (np.array(pairs, dtype=dtype, order=order) for pairs in (MUST, CANNOT))
    c = Constraints(must, cannot, n_items=6)
    assert c == EXPECTED
    assert c.must_link.dtype == np.int64


@pytest.mark.parametrize("make", [list, tuple, iter, lambda pairs: [list(p) for p in pairs], np.array, set])
def test_sequences_of_any_type(make):
    assert Constraints(make(MUST), make(CANNOT), n_items=6) == EXPECTED
    assert Constraints([np.array(p) for p in MUST], CANNOT, n_items=6) == EXPECTED


@pytest.mark.parametrize(
    "nothing", [None, [], (), np.empty((0, 2)), np.empty((0, 2), dtype=int), np.array([])]
)
def test_nothing(nothing):
    c = Constraints(nothing, nothing, n_items=3)
    assert said(c) == (3, [], [])
    assert c.must_link.shape == (0, 2)
    assert c.components.tolist() == [0, 1, 2]
    assert "nothing known" in repr(c)
    assert Constraints(nothing).n_items == 0


def test_one_value_for_all_or_one_per_pair():
    c = Constraints(MUST, CANNOT, weight=2, confidence=0.9, hard=True, source="ann")
    assert c.must_table.weight.tolist() == [2, 2]
    assert c.cannot_table.confidence.tolist() == [0.9]
    assert c.cannot_table.hard.tolist() == [True]
    assert c.must_table.source_names() == ["ann", "ann"]
    c = Constraints(
        MUST,
        CANNOT,
        weight=[1, 2, 3],
        confidence=[0.6, np.nan, 0.8],
        hard=[False, True, False],
        source=["a", None, "b"],
    )
    assert c.must_table.weight.tolist() == [1, 2]
    assert c.cannot_table.weight.tolist() == [3]
    np.testing.assert_equal(c.must_table.confidence, [0.6, np.nan])
    assert c.must_table.hard.tolist() == [False, True]
    assert c.must_table.source_names() == ["a", None]
    assert c.cannot_table.source_names() == ["b"]


def test_values_stay_with_their_pair_when_sorted_and_when_self_pairs_go():
    c = Constraints([(5, 4), (2, 2), (1, 0)], weight=[7, 8, 9], source=["x", "y", "z"])
    assert said(c)[1] == [[0, 1], [4, 5]]
    assert c.must_table.weight.tolist() == [9, 7]
    assert c.must_table.source_names() == ["z", "x"]


def test_duplicates_are_remarked_on():
    ids = list("abcdef")
    c = Constraints([("a", "b"), ("b", "a"), ("e", "c")], [("b", "d")], ids=ids)
    (remark,) = c.remarks
    assert remark == "1 pair is stated more than once: must-link a-b (2 times). Their weights add up."
    assert str(c.check(2)).endswith(remark)
    both = c + Constraints([("a", "b"), ("c", "e")], [("b", "d")], ids=ids)
    assert "3 pairs are" in both.remarks[0]
    assert "must-link a-b (3 times), must-link c-e (2 times), cannot-link b-d (2 times)" in both.remarks[0]
    # the same knowledge twice is no duplicate, and neither are the rows of a fold
    for quiet in (c | EXPECTED, c.drop(must_link=[("a", "b")]), EXPECTED | EXPECTED, c[[1, 2, 3, 4]]):
        assert bool(quiet.remarks) == (quiet == (c | EXPECTED))
    assert pickle.loads(pickle.dumps(both)).remarks == both.remarks
    assert "times), ..." in Constraints([(i, i + 1) for i in range(5)] * 2).remarks[0]


def test_duplicates_in_the_constructor_add_up():
    c = Constraints(
        [(0, 1), (1, 0), (0, 1)], weight=[1, 2, 4], confidence=[0.8, np.nan, 0.9], hard=[False, True, False]
    )
    table = c.must_table
    odds = 0.8 / 0.2 * 0.9 / 0.1
    # the strength is the sum of the strengths: said twice with a confidence of .9 is worth twice log 9
    assert table.strength[0] == pytest.approx(np.log(4) + 2 + 4 * np.log(9))
    assert table.weight[0] == pytest.approx(table.strength[0] / np.log(odds))
    assert Constraints([(0, 1), (1, 0)], weight=[1, 2]).must_table.weight.tolist() == [3]
    twice = Constraints([(0, 1), (1, 0)], confidence=0.9).must_table
    assert twice.weight.tolist() == pytest.approx([1.0])
    assert twice.strength[0] == pytest.approx(2 * np.log(9))
    assert table.confidence[0] == pytest.approx(odds / (1 + odds))
    assert table.hard.tolist() == [True]
    certain = Constraints([(0, 1), (0, 1)], confidence=[1.0, 0.6])
    assert certain.must_table.confidence.tolist() == [1.0]


@pytest.mark.parametrize("ids", [["a", "b", "c"], [30, 10, 20], np.array([1.5, 2.5, 3.5]), ("x y", "", "ü,")])
def test_ids(ids):
    names = list(ids)
    c = Constraints([(names[2], names[0])], [(names[1], names[0])], ids=ids)
    assert said(c) == (3, [[0, 2]], [[0, 1]])
    assert list(c.ids) == names
    assert c.item_name(1) == str(names[1])


def test_ids_may_be_of_several_types():
    """A list that mixes numbers and text keeps both: no id changes into something else."""
    c = Constraints([(1, "a")], ids=[1, "a"])
    assert said(c) == (2, [[0, 1]], [])
    assert list(c.ids) == [1, "a"]


def test_ids_from_frames():
    for ids in (pd.Series(["a", "b"], index=[5, 6]), pl.Series(["a", "b"]), pa.array(["a", "b"])):
        assert Constraints([("a", "b")], ids=ids).n_items == 2


LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "kinds",
    [
        ["must-link", "must-link", "cannot-link"],
        ["ml", "ML", "cl"],
        ["Must_Link", " must-link ", "CANNOT_LINK"],
    ],
)
def test_frames(library, kinds):
    frame = LIBRARIES[library]({"i": [0, 4, 3], "j": [1, 2, 1], "kind": kinds})
    assert Constraints.from_frame(frame, n_items=6) == EXPECTED
    assert Constraints.from_frame(frame).n_items == 5


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_with_everything(library):
    frame = LIBRARIES[library](
        {
            "source": ["ann", None, "bob"],
            "weight": [2.0, None, 0.5],
            "confidence": [None, 0.75, None],
            "hard": [True, None, False],
            "kind": ["ml", "ml", "cl"],
            "j": ["b", "c", "d"],
            "i": ["a", "b", "a"],
        }
    )
    c = Constraints.from_frame(frame, ids=["a", "b", "c", "d"])
    assert said(c) == (4, [[0, 1], [1, 2]], [[0, 3]])
    assert c.must_table.weight.tolist() == [2, 1]
    np.testing.assert_equal(c.must_table.confidence, [np.nan, 0.75])
    assert c.must_table.hard.tolist() == [True, False]
    assert c.must_table.source_names() == ["ann", None]
    assert c.cannot_table.weight.tolist() == [0.5]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ids", [None, ["p", "q", "r", "s"], [11, 12, 13, 14]])
def test_frames_come_back(library, ids):
    c = Constraints([(0, 1)], [(2, 3)], n_items=4, weight=[2, 0.1], confidence=[0.9, np.nan], source="me")
    groups = Constraints.from_labels([0, 0, -1, 1], weight=0.25) | Constraints.distinct(["u", "u", "v", None])
    for whole in (
        c,
        groups,
        c | groups,
        c | groups | Constraints.across([1, 2, 1, 2]),
        Constraints(n_items=4),
    ):
        whole = whole if ids is None else whole.with_ids(ids)
        frame = whole.to_frame(library)
        assert type(frame).__module__.split(".")[0] == library
        back = Constraints.from_frame(frame, ids=ids, n_items=4)
        assert back == whole
        assert back.must_table.source_names() == whole.must_table.source_names()


def test_pandas_frames_keep_large_ids():
    """Ids above 2**53 must not pass through a float column."""
    ids = [2**60 + 1, 2**60 + 2, 2**60 + 3]
    c = Constraints([(0, 1)], n_items=3) | Constraints.from_labels([0, 0, 1])
    assert Constraints.from_frame(c.with_ids(ids).to_frame("pandas"), ids=ids) == c


def test_frames_of_lazy_and_nullable_kind():
    lazy = pl.LazyFrame({"i": [0], "j": [1], "kind": ["ml"]})
    assert said(Constraints.from_frame(lazy)) == (2, [[0, 1]], [])
    nullable = pd.DataFrame(
        {
            "i": pd.array([0, 1], dtype="Int64"),
            "j": pd.array([1, None], dtype="Int64"),
            "kind": ["ml", "label"],
        }
    )
    nullable["group"] = [None, "a"]
    assert Constraints.from_frame(nullable).n_pairs == 1
    assert nw.from_native(Constraints([(0, 1)]).to_frame(), eager_only=True).columns[:3] == ["i", "j", "kind"]


def test_groups_in_frames():
    frame = pd.DataFrame(
        {
            "i": [0, 1, 2, 0, 2, 0, 1],
            "kind": ["label"] * 3 + ["distinct"] * 2 + ["distinct"] * 2,
            "group": ["a", "a", "b", "f", "f", "f", "f"],
            "set": [None] * 3 + ["1", "1", "2", "2"],
        }
    )
    c = Constraints.from_frame(frame, n_items=4)
    expected = (
        Constraints.from_labels(["a", "a", "b", None])
        | Constraints.distinct(["f", None, "f", None])
        | Constraints.distinct(["f", "f", None, None])
    )
    assert c == expected
    assert c.kinds == {"label", "distinct"}


MATRIX = np.zeros((6, 6))
for _i, _j, _v in [(0, 1, 1.0), (2, 4, 1.0), (1, 3, -1.0)]:
    MATRIX[_i, _j] = MATRIX[_j, _i] = _v


@pytest.mark.parametrize(
    "make",
    [np.asarray, sp.csr_array, sp.coo_array, sp.csc_array, sp.csr_matrix, sp.coo_matrix, sp.lil_matrix],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
@pytest.mark.parametrize("part", [lambda m: m, np.triu, np.tril])
def test_matrices(make, dtype, part):
    assert Constraints.from_matrix(make(part(MATRIX).astype(dtype))) == EXPECTED


def test_matrix_sizes_are_weights():
    matrix = np.array([[5, 0.5, -2], [0.5, 0, 0], [-2, 0, 7.0]])
    c = Constraints.from_matrix(sp.csr_array(matrix), ids=["x", "y", "z"])
    assert said(c) == (3, [[0, 1]], [[0, 2]])
    assert c.must_table.weight.tolist() == [0.5]
    assert c.cannot_table.weight.tolist() == [2]
    assert list(c.ids) == ["x", "y", "z"]
    # entries of a sparse matrix that are given twice add up; explicit zeros say nothing
    twice = sp.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert Constraints.from_matrix(twice).must_table.weight.tolist() == [3]
    assert Constraints.from_matrix(twice).n_pairs == 1
    assert Constraints.from_matrix(np.zeros((0, 0))).n_items == 0


LABELS = {
    "ints": [0, 0, 1, -1, 1],
    "int8": np.array([0, 0, 1, -1, 1], dtype=np.int8),
    "floats": [0.0, 0.0, 1.0, np.nan, 1.0],
    "float -1": [0.0, 0.0, 1.0, -1.0, 1.0],
    "strings": ["a", "a", "b", None, "b"],
    "strings with nan": ["a", "a", "b", float("nan"), "b"],
    "strings with -1": ["a", "a", "b", -1, "b"],
    "objects": np.array(["a", "a", 7, np.nan, 7], dtype=object),
    "bools": np.array([True, True, False, None, False], dtype=object),
    "pandas": pd.Series(["a", "a", "b", None, "b"], index=[4, 3, 2, 1, 0]),
    "pandas nullable": pd.Series([0, 0, 1, None, 1], dtype="Int64"),
    "pandas categories": pd.Series(["a", "a", "b", None, "b"], dtype="category"),
    "polars": pl.Series(["a", "a", "b", None, "b"]),
    "polars ints": pl.Series([5, 5, 6, None, 6]),
    "arrow": pa.array(["a", "a", "b", None, "b"]),
}


@pytest.mark.parametrize("form", LABELS)
@pytest.mark.parametrize("kind", ["from_labels", "distinct", "across"])
def test_partial_labels_of_any_form(form, kind):
    c = getattr(Constraints, kind)(LABELS[form])
    (group,) = c.groups
    assert c.n_items == 5
    assert group.items.tolist() == [0, 1, 2, 4]
    assert group.codes.tolist() == [0, 0, 1, 1]
    assert group.weight is None
    assert c == getattr(Constraints, kind)([0, 0, 1, -1, 1])
    assert c.n_pairs == 0


def test_unknown_items_are_never_tied():
    for unknown in (-1, None, float("nan")):
        c = Constraints.from_labels(["a", unknown, unknown, "b"])
        assert oracle.all_pairs(c) == (set(), {(0, 3)})


def test_groups_stand_for_their_pairs():
    rng = random.Random(1)
    for _ in range(40):
        n = rng.randint(1, 12)
        values = [rng.choice([None, 0, 1, 2]) for _ in range(n)]
        for kind, make in (
            ("label", Constraints.from_labels),
            ("distinct", Constraints.distinct),
            ("across", Constraints.across),
        ):
            c = make(np.array(values, dtype=object), weight=2.0, source="s")
            must, cannot = oracle.expand(kind, values)
            assert oracle.all_pairs(c) == (set(must), set(cannot))
            assert sum(group.n_pairs() for group in c.groups) == len(must) + len(cannot)
            assert all(group.source == "s" for group in c.groups)
    assert Constraints.from_labels([-1, -1]).groups == ()


def test_notebooks_show_a_table_and_trust_no_id():
    c = Constraints([("<b>", "b")], [("b", "c")] * 2, ids=["<b>", "b", "c"], source="me")
    for shown in (c, c.violations([0, 1, 1]), c.check(2)):
        text = shown._repr_html_()
        assert "<b>" not in text
    assert "<td>cannot-link</td><td>b - c</td><td>2</td><td>me</td>" in c._repr_html_()
    assert "1 pair is stated more than once" in c._repr_html_()
    assert "2 of 2 constraints are broken" in c.violations([0, 1, 1])._repr_html_()
    assert "<td>&lt;b&gt; - b</td>" in c.violations([0, 1, 1])._repr_html_()
    assert "<table>" not in Constraints.from_labels([0, 1])._repr_html_()
    assert "feasible with 2 clusters" in c.check(2)._repr_html_()


def test_repr_is_for_people():
    c = Constraints([(0, 1)], [(1, 2), (2, 3)], n_items=1500, hard=[False, True, True])
    assert repr(c) == "Constraints(1,500 items: 1 must-link (0-1), 2 cannot-links, 2 hard (1-2, 2-3))"
    text = repr(Constraints.from_labels(["a", "a", "b", None]) | Constraints.distinct([1, 1, 2, 2]))
    assert "4 items" in text
    assert "3 labelled in 2 classes" in text
    assert "4 in 2 distinct groups" in text
    assert "1 item:" in repr(Constraints(n_items=1))
    assert "1 class" in repr(Constraints.from_labels([0, 0]))
    assert "1 classes" not in repr(Constraints.from_labels([0, 0]))


@pytest.mark.parametrize("scalar", [np.int64, np.int32, np.uint8, np.float64, np.float32])
def test_pairs_of_numpy_scalars(scalar):
    """What a loop over arrays gives: tuples of NumPy numbers."""
    must, cannot = ([(scalar(i), scalar(j)) for i, j in pairs] for pairs in (MUST, CANNOT))
    assert Constraints(must, cannot, n_items=6) == EXPECTED
    assert Constraints(must, cannot, ids=list(range(6))) == EXPECTED


@pytest.mark.parametrize(("hard", "weight"), [(False, None), (True, 2.0)])
def test_a_group_whose_hardness_contradicts_its_weight_is_an_error(hard, weight):
    """A label group is hard unless given a weight: a column that says otherwise must not be ignored."""
    frame = pl.DataFrame({"i": [0, 1], "kind": ["label"] * 2, "group": ["a"] * 2, "hard": [hard] * 2})
    frame = frame.with_columns(pl.lit(weight, dtype=pl.Float64).alias("weight"))
    with pytest.raises(ValueError, match=r"row 0.*hard"):
        Constraints.from_frame(frame)


def test_repr_of_many_groups_stays_short():
    many = [Constraints.from_labels(np.roll([0, 0, 1, -1, -1], shift)) for shift in range(5)]
    assert repr(functools.reduce(operator.or_, many)) == "Constraints(5 items: 5 sets of label constraints)"
