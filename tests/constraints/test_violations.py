"""`violations`: equal to a recount over all pairs, groups written out; frames, numbers, words."""

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Constraints
from coterie.constraints._model import NO_PAIRS
from tests.constraints.strategies import GROUP_MAKERS, Case, cases
from tests.oracles import constraints as oracle


def recount(c: Constraints, labels: list[int]) -> dict:
    """Constraint by constraint, from the definition."""
    total = {"n_stated": 0, "n_broken": 0, "n_hard": 0, "cost": 0.0, "must": set(), "cannot": set()}

    def count(must, cannot, weight, hard):
        m, a = oracle.broken(labels, must, cannot)
        total["n_stated"] += len(must) + len(cannot)
        total["n_broken"] += len(m) + len(a)
        total["n_hard"] += (len(m) + len(a)) * hard
        total["cost"] += (len(m) + len(a)) * weight
        return m, a

    for kind, table in (("must", c.must_table), ("cannot", c.cannot_table)):
        for pair, weight, hard in zip(table.ij.tolist(), table.weight, table.hard, strict=True):
            if weight == 0 and not hard:
                continue
            pairs = {"must": [], "cannot": []}
            pairs[kind].append(tuple(pair))
            found = count(pairs["must"], pairs["cannot"], weight, bool(hard))
            total["must"] |= found[0]
            total["cannot"] |= found[1]
    for group in c.groups:
        if group.weight != 0:
            must, cannot = oracle.expand(group.kind, oracle.group_values(group, c.n_items))
            weight = 1.0 if group.weight is None else group.weight
            count(must, cannot, weight, group.weight is None)
    return total


def as_stated(c: Constraints, labels: list[int]) -> tuple[int, int]:
    """Broken and stated ones, counted as a person does: pairs, labels, groups; slow and obvious."""
    found = c.violations(labels)
    n_broken, n_stated = found.must_link.n + found.cannot_link.n, 0
    n_stated += sum(int(table.active.sum()) for table in (c.must_table, c.cannot_table))
    for group in c.groups:
        if not group.active:
            continue
        alone = Constraints._from_parts(c.n_items, NO_PAIRS, NO_PAIRS, [group], None).violations(labels)
        code_of = dict(zip(group.items.tolist(), group.codes.tolist(), strict=True))
        items = {item for entry in alone.groups for item in entry.items}
        codes = {code_of[item] for item in items}
        n_broken += len(items) if group.kind == "label" else len(codes)
        n_stated += len(code_of) if group.kind == "label" else len(set(code_of.values()))
    return n_broken, n_stated


def test_labels_are_counted_as_labels():
    """29 labels stand for 406 pairs, and are 29 constraints; two items on the wrong side are two."""
    y = [0] * 15 + [1] * 14 + [-1] * 5
    c = Constraints.from_labels(y)
    right = np.array(y).clip(0)
    assert str(c.violations(right)) == "All 29 constraints are met."
    assert c.violations(right).n_pairs == 29 * 28 // 2
    wrong = right.copy()
    wrong[[0, 20]] = 1, 0
    found = c.violations(wrong)
    assert (found.n_broken, found.n_stated) == (2, 29)
    assert repr(found) == "<Violations: 2 of 29 constraints broken>"
    assert "2 of 29 constraints are broken" in str(found)
    away = c.violations(np.where(np.arange(34) == 3, -1, right))  # in no cluster
    assert (away.n_broken, away.n_stated) == (1, 29)
    sources = Constraints.distinct(list("aabbbc"))
    assert str(sources.violations([0, 1, 2, 3, 3, 3])).startswith("1 of 3 constraints are broken")
    apart = Constraints.across(list("aabbbc"))
    assert (apart.violations([0, 0, 0, 1, 1, 1]).n_broken, apart.violations([0, 0, 1, 1, 1, 2]).n_stated) == (
        2,
        3,
    )


def assert_recounted(c: Constraints, labels: list[int]) -> None:
    found, truth = c.violations(labels), recount(c, labels)
    assert {tuple(p) for p in found.must_link.ij.tolist()} == truth["must"]
    assert {tuple(p) for p in found.cannot_link.ij.tolist()} == truth["cannot"]
    assert found.n_pairs == truth["n_stated"]
    assert found.n_broken_pairs == truth["n_broken"]
    assert (found.n_broken, found.n_stated) == as_stated(c, labels)
    assert found.n_hard == truth["n_hard"]
    assert found.cost == pytest.approx(truth["cost"])
    assert bool(found) is (truth["n_broken"] > 0)
    for entry in found.groups:
        assert entry.n_pairs > 0
        assert entry.n_items > 1
    if truth["n_stated"]:
        assert c.informativeness(labels) == pytest.approx(truth["n_broken"] / truth["n_stated"])
    else:
        assert np.isnan(c.informativeness(labels))


@settings(deadline=None, max_examples=200)
@given(cases(), st.randoms(use_true_random=False))
def test_equal_to_a_recount(case: Case, rng):
    count = len(case.must) + len(case.cannot)
    weight = [rng.choice([0, 0.5, 1, 2]) for _ in range(count)]
    hard = np.array([rng.random() < 0.3 for _ in range(count)], dtype=bool)
    c = Constraints(case.must, case.cannot, n_items=case.n, weight=weight, hard=hard)
    for kind, values in case.groups:
        c = c | GROUP_MAKERS[kind](np.array(values, dtype=object), weight=rng.choice([None, 0.0, 0.5, 3.0]))
    for _ in range(3):
        assert_recounted(c, [rng.randint(-1, 3) for _ in range(case.n)])


def test_larger_recounts():
    rng = random.Random(0)
    for _ in range(20):
        n = rng.randint(30, 60)
        c = Constraints([rng.sample(range(n), 2) for _ in range(40)], n_items=n)
        for kind in GROUP_MAKERS:
            values = [rng.choice([None, 1, 2, 3, 4, 5]) for _ in range(n)]
            c = c | GROUP_MAKERS[kind](np.array(values, dtype=object), weight=rng.choice([None, 0.25]))
        assert_recounted(c, [rng.randint(-1, 5) for _ in range(n)])


def test_items_in_no_cluster():
    """-1 breaks every must-link of the item and meets every cannot-link, also between two such items."""
    c = Constraints([(0, 1), (2, 3)], [(4, 5), (6, 7)])
    found = c.violations([-1, -1, -1, 0, -1, -1, -1, 0])
    assert found.must_link.ij.tolist() == [[0, 1], [2, 3]]
    assert found.cannot_link.n == 0
    labels = Constraints.from_labels([0, 0, 0, 1, 1])
    assert labels.violations([-1, -1, 2, -1, -1]).n_broken_pairs == 3 + 1
    assert labels.violations([5, 5, 5, -1, 5]).n_broken_pairs == 1 + 3
    assert not Constraints.distinct([0, 0, 0]).violations([-1, -1, -1])
    assert not Constraints.across([0, 1, 2]).violations([-1, -1, -1])


def test_no_violations():
    found = Constraints([(0, 1)], [(1, 2)]).violations([0, 0, 1])
    assert not found
    assert "All 2" in str(found)
    assert found.cost == 0


def test_broken_groups_say_which():
    found = Constraints.from_labels(["a", "a", "b", None], source="survey").violations([0, 1, 1, 1])
    by_name = {entry.name: entry for entry in found.groups}
    assert set(by_name["a"].clusters) == {0, 1}
    assert by_name["a"].n_pairs == 1
    assert all(entry.source == "survey" and entry.weight is None for entry in found.groups)
    assert sum(entry.n_pairs for entry in found.groups) == 2
    (entry,) = Constraints.distinct(["f", "f", "f", "g"], weight=0.5).violations([2, 2, 2, 2]).groups
    assert (entry.kind, entry.name, entry.clusters, entry.n_items, entry.n_pairs) == (
        "distinct",
        "f",
        (2,),
        3,
        3,
    )
    assert entry.weight == 0.5


@pytest.fixture
def found():
    pairs = Constraints(
        [(0, 1)], [(2, 3)], n_items=5, weight=[2.5, 1], hard=[False, True], source=["ann", None]
    )
    labels = Constraints.from_labels(np.array([None, None, None, "x", "x"], dtype=object), weight=0.5)
    return (pairs | labels).with_ids(["é1", 'b"2', "c,3", "d 4", "e5"]).violations([0, 1, 2, 2, 0])


def test_prints_a_table_with_ids(found):
    text = str(found)
    assert "3 of 4" in text
    assert 'é1 - b"2' in text
    assert "c,3 - d 4" in text
    assert "2.5" in text
    assert "hard" in text
    assert "ann" in text
    assert "cost 4" in text
    assert "3 of 4" in repr(found)


def test_a_long_table_is_cut():
    c = Constraints([(i, i + 1) for i in range(200)])
    text = str(c.violations(np.arange(201)))
    assert len(text.splitlines()) < 20
    assert "190 more" in text


def rows_of(frame) -> list[dict]:
    import narwhals as nw

    return [
        {key: None if value is None or value != value else value for key, value in row.items()}
        for row in nw.from_native(frame, eager_only=True).iter_rows(named=True)
    ]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(found, library):
    frame = found.to_frame(library)
    assert type(frame).__module__.split(".")[0] == library
    rows = rows_of(frame)
    assert [row["kind"] for row in rows] == ["must-link", "cannot-link", "label"]
    assert [(row["i"], row["j"]) for row in rows[:2]] == [("é1", 'b"2'), ("c,3", "d 4")]
    assert [row["weight"] for row in rows] == [2.5, 1, 0.5]
    assert [row["hard"] for row in rows] == [False, True, False]
    assert [row["source"] for row in rows] == ["ann", None, None]
    assert rows[2]["group"] == "x"
    assert [row["n_pairs"] for row in rows] == [1, 1, 1]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_empty_frame_has_the_same_columns(found, library):
    import narwhals as nw

    nothing = Constraints([(0, 1)]).violations([0, 0]).to_frame(library)
    columns = nw.from_native(nothing, eager_only=True).columns
    assert columns == nw.from_native(found.to_frame(library), eager_only=True).columns
    assert rows_of(nothing) == []


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_ids_themselves(library):
    """A number stays a number, so that the frame can be joined with the user's table."""
    found = Constraints([(0, 1)]).with_ids([107, 42]).violations([0, 1])
    (row,) = rows_of(found.to_frame(library))
    assert (row["i"], row["j"]) == (107, 42)


def test_labels_may_be_any_whole_numbers():
    c = Constraints([(0, 1)], [(1, 2)])
    for labels in ([7, 7, 3], np.array([7.0, 7.0, 3.0]), np.array([1, 1, 0], dtype=np.uint8), (5, 5, 6)):
        assert not c.violations(labels)
    assert not c.violations(pd.Series([1, 1, 2], index=[9, 8, 7]))
    assert c.violations([True, False, True]).n_broken == 1


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 1], r"\(2,\).*3 items"), ([[0, 1, 2]], r"\(1, 3\).*3 items"),
        ([0, 1.5, 2], r"labels.*\b1\b.*1\.5"), ([0, float("nan"), 2], r"labels.*\b1\b.*nan"),
        (["a", "b", "c"], "whole numbers"), ([0, None, 1], r"labels.*\b1\b.*None"),
    ],
)  # fmt: skip
def test_bad_labels(labels, said):
    with pytest.raises((ValueError, TypeError), match=said):
        Constraints([(0, 1)], [(1, 2)]).violations(labels)


def test_a_broken_group_names_the_items_to_look_at():
    ids = list("abcdef")
    labels = Constraints.from_labels(["x", "x", "x", "y", "y", None], ids=ids).violations([0, 0, 1, 1, 1, 0])
    split, mixed = labels.groups
    assert (split.name, split.items, split.clusters) == ("x", (2,), (0, 1))
    assert (mixed.name, mixed.items, mixed.clusters) == ("x + y", (2,), (1,))
    assert "(see c)" in str(labels)
    assert labels.to_frame("pandas")["i"].tolist() == ["c", "c"]
    assert labels.to_frame("pandas")["n_pairs"].sum() == labels.n_broken_pairs
    crowd = Constraints.distinct([7, 7, 7, 8, 8, 8]).violations([0, 0, 1, 0, 1, 2])
    assert [(g.name, g.items, g.n_pairs) for g in crowd.groups] == [(7, (0, 1), 1)]


def test_many_broken_labels_are_counted_in_linear_time():
    rng = np.random.default_rng(0)
    broken = Constraints.from_labels(rng.integers(20_000, size=100_000)).violations(
        rng.integers(50, size=100_000)
    )
    assert len(broken.groups) > 19_000
