"""Constraint files: CSV, JSON and Parquet come back as they were written."""

import json

import numpy as np
import polars as pl
import pytest

from coterie import Constraints
from tests.constraints.strategies import says

ENDINGS = [".csv", ".json", ".parquet"]
IDS = {
    "none": None, "int": [40, 30, 20, 10, 50], "str": ["a", "b", "c", "d", "e"],
    "awkward": ["Müller, Anna", 'the "x"', "line\nbreak", "日本", "it's; 1,2"],
    "spaces": [" a", "a", "a ", "b", "b b"], "looks like numbers": ["01", "1", "1.0", "1e0", "-1"],
    "words of the format": ["must-link", "i", "nan", "None", "true"],
    "large": [2**60 + 1, 2**60 + 2, 2**60 + 3, 2**60 + 4, 2**60 + 5],
}  # fmt: skip


def everything() -> Constraints:
    c = Constraints(
        [(0, 1), (2, 4)],
        [(3, 1)],
        n_items=5,
        weight=[0.1, 1 / 3, 0],
        confidence=[np.nan, 0.9, 1],
        hard=[True, False, False],
        source=["ann, bob", None, 'he said "no"'],
    )
    c = c | Constraints.from_labels(["x", "x", "y", None, None], weight=0.3, source="survey")
    c = c | Constraints.distinct([1, 1, 1, 2, None])
    return (
        c | Constraints.across([None, "n,1", "n,1", 's"2', None]) | Constraints.distinct([3, None, 3, 4, 4])
    )


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", IDS)
def test_round_trip(tmp_path, ending, kind):
    ids = IDS[kind]
    for number, c in enumerate((everything(), Constraints([(0, 4)], n_items=5), Constraints(n_items=5))):
        c = c if ids is None else c.with_ids(ids)
        path = tmp_path / f"{number}{ending}"
        c.write(path)
        back = Constraints.read(path, ids=ids, n_items=5)
        assert back == c
        assert back.must_table.source_names() == c.must_table.source_names()
        assert back.cannot_table.source_names() == c.cannot_table.source_names()
        assert [g.source for g in back.groups] == [g.source for g in c.groups]
        assert (back.ids is None) == (ids is None)
        assert Constraints.read(str(path), ids=ids, n_items=5) == c


def test_json_is_a_complete_copy(tmp_path):
    for ids in (None, IDS["int"], IDS["awkward"]):
        c = everything() if ids is None else everything().with_ids(ids)
        c.write(tmp_path / "c.json")
        back = Constraints.read(tmp_path / "c.json")
        assert back == c
        assert back.n_items == 5
        assert (None if back.ids is None else list(back.ids)) == ids
    json.loads((tmp_path / "c.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_ids_say_which_row(tmp_path):
    """The file names items by id, so it survives a table in another order."""
    c = Constraints([("a", "b")], [("b", "c")], ids=["a", "b", "c"])
    for ending in ENDINGS:
        c.write(tmp_path / f"c{ending}")
        back = Constraints.read(tmp_path / f"c{ending}", ids=["c", "x", "b", "a"])
        assert back.must_link.tolist() == [[2, 3]]
        assert back.cannot_link.tolist() == [[0, 2]]
        assert back.n_items == 4


@pytest.mark.parametrize("ending", ENDINGS)
def test_soft_groups_of_whole_weight_come_back_equal(tmp_path, ending):
    c = Constraints.from_labels([0, 0, 1], weight=2)
    c.write(tmp_path / f"c{ending}")
    assert Constraints.read(tmp_path / f"c{ending}", n_items=3) == c


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("names", [[1, "1", 2], [" a", "a", "a "], ["", "x", "y"]])
def test_groups_whose_names_look_alike_stay_apart(tmp_path, ending, names):
    """What was written as three codes must not come back as two."""
    c = Constraints.distinct(np.array(names + names, dtype=object))
    assert c.groups[0].n_codes == 3
    c.write(tmp_path / f"c{ending}")
    assert Constraints.read(tmp_path / f"c{ending}", n_items=6) == c


def test_a_csv_file_written_by_a_person(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "\ufeffi, j , kind,weight,hard\r\n0,1,ml,,\r\n\r\n2,3,Cannot-Link,2.5,yes\r\n1, 4 ,must_link,1,0\r\n",
        encoding="utf-8",
    )
    c = Constraints.read(path)
    assert c.must_link.tolist() == [[0, 1], [1, 4]]
    assert c.cannot_link.tolist() == [[2, 3]]
    assert c.cannot_table.weight.tolist() == [2.5]
    assert c.cannot_table.hard.tolist() == [True]
    assert not c.must_table.hard.any()


def read_csv(tmp_path, text, **more):
    path = tmp_path / "pairs.csv"
    path.write_text(text, encoding="utf-8")
    return Constraints.read(path, **more)


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("i,j,kind\n0,1,ml\n0,2,maybe\n", {}, [r"csv: line 3: kind is 'maybe'", r"must-link"]),
        ("i,j,kind\n0,1,ml\n0,2,\n", {}, [r"csv: line 3: kind is ''", r"must-link"]),
        ("i,j,kind\n0,1,ml\n0,,ml\n", {}, [r"csv: line 3: column j is empty"]),
        ("i,j,kind\n0,1,ml\n0,2\n", {}, [r"csv: line 3: 2 cells", r"header has 3"]),
        ("i,j,kind\n0,1,ml\n\n0,anna,ml\n", {}, [r"csv: line 4: j is 'anna'", r"ids="]),
        ("i,j,kind\n0,1.5,ml\n", {}, [r"csv: line 2: j is '1\.5'"]),
        ("i,j,kind\n0,inf,ml\n", {}, [r"csv: line 2: j is 'inf'"]),
        ("i,j,kind\n0,1_0,ml\n", {}, [r"csv: line 2: j is '1_0'"]),
        ("i,j,kind\n0,1,ml\n0,9,ml\n", {"n_items": 5}, [r"line 3", r"\(0, 9\)", r"0 to 4"]),
        ("i,j,kind\n0,1,ml\n0,-2,ml\n", {"n_items": 5}, [r"line 3", r"\(0, -2\)", r"0 to 4"]),
        ("i,j,kind\n0,99999999999999999999,ml\n", {}, [r"line 2", r"99999999999999999999"]),
        ("i,j,kind\n0,1,ml\n0,1,ml\n2,2,cl\n", {}, [r"line 4", r"item 2 .*itself"]),
        ("i,j,kind,weight\n0,1,ml,1\n0,1,cl,-3\n", {}, [r"line 3", r"weight", r"-3"]),
        ("i,j,kind,weight\n0,1,ml,1\n0,1,cl,nan\n", {}, [r"line 3", r"weight", r"nan"]),
        ("i,j,kind,weight\n0,1,ml,1\n0,1,cl,heavy\n", {}, [r"csv: line 3: weight is 'heavy'"]),
        ("i,j,kind,confidence\n0,1,ml,.9\n0,1,cl,0.2\n", {}, [r"line 3", r"confidence", r"0\.2"]),
        ("i,j,kind,hard\n0,1,ml,yes\n0,1,cl,perhaps\n", {}, [r"csv: line 3: hard is 'perhaps'"]),
        ("i,kind,group,weight\n0,label,a,-1\n1,label,a,-1\n", {}, [r"line 2", r"weight", r"-1"]),
        ("i,kind,group,weight\n0,label,a,inf\n1,label,a,inf\n", {}, [r"line 2", r"weight", r"inf"]),
        ("i,kind,group\n0,label,a\n0,label,b\n", {}, [r"csv: line 3: item 0 stands twice", r"set"]),
        ("i,kind,group\n0,label,a\n7,label,b\n", {"n_items": 3}, [r"csv: line 3: item 7", r"0 to 2"]),
        ("i,kind,group\n0,label,a\n1,label,\n", {}, [r"csv: line 3: column group is empty"]),
        ("i,kind,group,weight\n0,label,a,1\n1,label,b,2\n", {}, [r"csv: line 3: weight differs", r"set"]),
        ("a,b\n0,1\n", {}, [r"lacks the columns i, j, kind", r"has a, b"]),
        ("", {}, [r"lacks the columns i, j, kind"]),
        ("i,kind\n0,ml\n", {}, [r"column j"]),
        ("i,i,kind\n0,1,ml\n", {}, [r"column i", r"twice"]),
        ("i,j,kind\nann,bob,ml\nann,bop,ml\n", {"ids": ["ann", "bob"]}, ["line 3", "'bop'", "mean 'bob'"]),
    ],
)
def test_complaints_name_file_line_and_value(tmp_path, text, more, words):
    with pytest.raises(ValueError, match=says(r"pairs\.csv:", *words)):
        read_csv(tmp_path, text, **more)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[1]",
        '[{"i": 0, "j": 1}]',
        '{"n_items": 3}',
        '{"format": "coterie-constraints"}',
        '{"format": "coterie-constraints", "table": [1]}',
        '{"format": "coterie-constraints", "table": {"i": [0], "j": [1], "kind": []}}',
    ],
)
def test_a_broken_json_file_is_named(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"broken\.json"):
        Constraints.read(path)


KINDS = [
    "Must Link",
    "must_link",
    "ML",
    "same",
    "Same ",
    "1",
    "+1",
    "Cannot Link",
    "cannotlink",
    "different",
    "-1",
]


def test_kinds_as_people_write_them(tmp_path):
    rows = "".join(f"{2 * at},{2 * at + 1},{kind}\n" for at, kind in enumerate(KINDS))
    c = read_csv(tmp_path, f"i,j,kind\n{rows}")
    assert (c.must_link[:, 0].tolist(), c.cannot_link[:, 0].tolist()) == (
        [0, 2, 4, 6, 8, 10, 12],
        [14, 16, 18, 20],
    )
    for cells in ([1, -1], [1.0, -1.0]):
        c = Constraints.from_frame(pl.DataFrame({"i": [0, 2], "j": [1, 3], "kind": cells}))
        assert (c.must_link.tolist(), c.cannot_link.tolist()) == ([[0, 1]], [[2, 3]])


@pytest.mark.parametrize("ids", [None, list(range(9)), [float(at) for at in range(9)], list("012345678")])
def test_whole_numbers_written_with_a_point(tmp_path, ids):
    """A column with gaps makes 3.0 of 3."""
    c = read_csv(tmp_path, "i,j,kind\n0.0,1,ml\n2,3.00,cl\n", ids=ids, n_items=9)
    assert (c.must_link.tolist(), c.cannot_link.tolist()) == ([[0, 1]], [[2, 3]])
    frame = pl.DataFrame({"i": [0.0, 2.0], "j": [1.0, 3.0], "kind": ["ml", "cl"]})
    assert Constraints.from_frame(frame, ids=ids, n_items=9) == c


def test_semicolons_and_tabs(tmp_path):
    for mark in ";\t":
        lines = [["i", "j", "kind", "weight"], ["0", "1", "ml", "0,5"], ["2", "3", "cl", "2"]]
        text = "\n".join(mark.join(cells) for cells in lines)
        text = text if mark == ";" else text.replace(",", ".")
        c = read_csv(tmp_path, text)
        assert (c.must_table.weight.tolist(), c.cannot_table.weight.tolist()) == ([0.5], [2.0])


def test_an_array_of_records(tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text('[{"i": "a", "j": "b", "kind": "same"}, {"j": "a", "i": "c", "kind": "cl", "weight": 2}]')
    c = Constraints.read(path, ids=["a", "b", "c"])
    assert (c.must_link.tolist(), c.cannot_link.tolist()) == ([[0, 1]], [[0, 2]])
    assert c.cannot_table.weight.tolist() == [2.0]
    path.write_text("[]")
    assert Constraints.read(path, n_items=3) == Constraints(n_items=3)


def test_columns_of_other_names(tmp_path):
    text = "left,right,relation,i\n0,1,same,9\n2,3,different,9\n"
    names = {"left": "i", "right": "j", "relation": "kind"}
    c = read_csv(tmp_path, text, columns=names)
    assert (c.must_link.tolist(), c.cannot_link.tolist()) == ([[0, 1]], [[2, 3]])
    frame = pl.read_csv(tmp_path / "pairs.csv")
    assert Constraints.from_frame(frame, columns=names) == c
    for names, told in (
        ({"lift": "i"}, r"no column 'lift'; there are left, right"),
        ({"left": "from"}, r"'from' is none of .*confidence"),
        ({"left": "i", "right": "i"}, r"left, right cannot be two of one kind"),
        ({"left": "i"}, r"lacks the columns j, kind.*columns="),
    ):
        with pytest.raises(ValueError, match=told):
            Constraints.from_frame(frame.drop("i"), columns=names)


def test_the_first_bad_line_is_the_one_named(tmp_path):
    good = "0,1,ml,1\n"
    faults = ["0,1,maybe,1\n", "0,x,cl,1\n", "7,7,cl,1\n", "0,1,ml,heavy\n", "0,1,cl,-1\n", "99,1,ml,1\n"]
    for first in faults:
        rest = "".join(fault for fault in faults if fault != first)
        with pytest.raises(ValueError, match=r"line 5\b"):
            read_csv(tmp_path, f"i,j,kind,weight\n{3 * good}{first}{good}{rest}", n_items=9)


def test_unknown_endings(tmp_path):
    for act in (Constraints.read, Constraints([(0, 1)]).write):
        with pytest.raises(ValueError, match=r"c\.txt.*'\.txt'.*\.csv, \.json or \.parquet"):
            act(tmp_path / "c.txt")
    with pytest.raises(FileNotFoundError):
        Constraints.read(tmp_path / "none.csv")


def test_ids_that_a_text_file_cannot_tell_apart(tmp_path):
    """1 and "1" are two ids; a file of text must refuse them, not pick one."""
    ids = np.array([1, "1", 2], dtype=object)
    c = Constraints([(0, 2)], n_items=3).with_ids(ids)
    for ending in (".json", ".csv"):
        path = tmp_path / f"c{ending}"
        try:
            c.write(path)
            back = Constraints.read(path, ids=ids)
        except ValueError as error:
            back, said = None, str(error)
        assert back == c if back is not None else "1" in said
