"""`|` and `+`, equality and hash, and a value that stays frozen."""

import copy
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Constraints
from tests.constraints.strategies import GROUP_MAKERS, Case, cases
from tests.oracles import constraints as oracle


def soft(case: Case, rng: random.Random) -> Constraints:
    """The case with random weights, confidences, hardness and sources."""
    count = len(case.must) + len(case.cannot)
    c = Constraints(
        case.must,
        case.cannot,
        n_items=case.n,
        weight=[rng.choice([0, 0.5, 1, 2]) for _ in range(count)],
        confidence=[rng.choice([np.nan, 0.6, 0.75, 1]) for _ in range(count)],
        hard=np.array([rng.random() < 0.3 for _ in range(count)], dtype=bool),
        source=[rng.choice([None, "a", "b"]) for _ in range(count)],
    )
    for kind, values in case.groups:
        weight = rng.choice([None, 0.0, 0.5, 2.0])
        c = c | GROUP_MAKERS[kind](np.array(values, dtype=object), weight=weight)
    return c


@st.composite
def triples(draw):
    n = draw(st.integers(1, 5))
    found = []
    for _ in range(3):
        case = draw(cases(max_items=5))
        case.must = [(i % n, j % n) for i, j in case.must]
        case.cannot = [(i % n, j % n) for i, j in case.cannot if i % n != j % n]
        case.groups = [(kind, (values * 5)[:n]) for kind, values in case.groups]
        case.n = n
        found.append(soft(case, draw(st.randoms(use_true_random=False))))
    return found


@settings(deadline=None, max_examples=75)
@given(triples())
def test_union_is_a_semilattice(three):
    a, b, c = three
    assert a | a == a
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert (a | b) | b == a | b
    assert a | Constraints(n_items=a.n_items) == a
    assert hash(a | b) == hash(b | a)


def table_of(c: Constraints, kind: str) -> dict:
    table = c.must_table if kind == "must" else c.cannot_table
    return {
        tuple(pair): (w, None if np.isnan(p) else p, h)
        for pair, w, p, h in zip(
            table.ij.tolist(),
            table.weight.tolist(),
            table.confidence.tolist(),
            table.hard.tolist(),
            strict=True,
        )
    }


def strength(said):
    """What one saying is worth: its weight, times the log-odds of its confidence."""
    sure = None if said[1] is None else min(said[1], 1 - 1e-6)
    return said[0] * (1.0 if sure is None else np.log(sure / (1 - sure)))


def merged(a, b, how):
    """One pair said twice: strengths sum or the larger weight, odds multiply or the larger, hard wins."""
    if a is None or b is None:
        return a or b
    weight = a[0] + b[0] if how == "sum" else max(a[0], b[0])
    if a[1] is None or b[1] is None:
        sure = a[1] if b[1] is None else b[1]
    elif how == "max":
        sure = max(a[1], b[1])
    elif 1 in (a[1], b[1]):
        sure = 1.0
    else:
        odds = a[1] / (1 - a[1]) * b[1] / (1 - b[1])
        sure = odds / (1 + odds)
    if how == "sum" and sure is not None:
        weight = (strength(a) + strength(b)) / strength((1.0, sure))
    return weight, sure, a[2] or b[2]


@settings(deadline=None, max_examples=75)
@given(triples(), st.sampled_from(["sum", "max"]))
def test_both_ways_to_combine(three, how):
    a, b, _ = three
    both = a + b if how == "sum" else a | b
    for kind in ("must", "cannot"):
        left, right = table_of(a, kind), table_of(b, kind)
        found = table_of(both, kind)
        assert list(found) == sorted(set(left) | set(right))
        for pair, (weight, sure, hard) in found.items():
            expected = merged(left.get(pair), right.get(pair), how)
            assert weight == pytest.approx(expected[0])
            assert hard == expected[2]
            assert (sure is None) == (expected[1] is None)
            if sure is not None:
                assert sure == pytest.approx(expected[1])


@settings(deadline=None, max_examples=60)
@given(triples())
def test_sum_commutes(three):
    a, b, _ = three
    assert (a + b).must_table.weight.tolist() == (b + a).must_table.weight.tolist()
    assert a + b == b + a
    assert a + Constraints(n_items=a.n_items) == a


def test_groups_combine():
    one, two = (
        Constraints.from_labels([0, 0, 1], weight=0.5),
        Constraints.from_labels(["x", "x", "y"], weight=2.0),
    )
    hard = Constraints.from_labels([7, 7, 8])
    assert [g.weight for g in (one + two).groups] == [2.5]
    assert [g.weight for g in (one | two).groups] == [2.0]
    assert [g.weight for g in (one + hard).groups] == [None]
    assert [g.weight for g in (hard | one).groups] == [None]
    other = Constraints.from_labels([0, 1, 1], weight=0.5)
    assert len((one | other).groups) == 2
    assert len((one | Constraints.across([0, 0, 1])).groups) == 2


@pytest.mark.parametrize("weight", [1, 2, np.float64(2), np.int64(2), np.float32(0.5)])
def test_a_group_weight_is_a_number_of_any_type(weight):
    c = Constraints.from_labels([0, 0, 1], weight=weight)
    assert c == Constraints.from_labels([0, 0, 1], weight=float(weight))
    assert [g.weight for g in (c + c).groups] == [2 * float(weight)]
    assert [g.weight for g in (c | c).groups] == [float(weight)]


def test_sources_are_joined_once():
    a = Constraints([(0, 1)], source="ann")
    b = Constraints([(0, 1)], source="bob")
    assert (a | b).must_table.source_names() == ["ann; bob"]
    assert (a | b | a | b).must_table.source_names() == ["ann; bob"]
    assert (a | Constraints([(0, 1)])).must_table.source_names() == ["ann"]
    labels = Constraints.from_labels([0, 0], source="x") | Constraints.from_labels([0, 0], source="y")
    assert labels.groups[0].source in ("x; y", "y; x")


def test_what_cannot_be_combined():
    a = Constraints([(0, 1)], n_items=3)
    with pytest.raises(ValueError, match=r"3.*4 items"):
        a | Constraints(n_items=4)
    with pytest.raises(ValueError, match="different ids"):
        a.with_ids(["a", "b", "c"]) + a.with_ids(["a", "c", "b"])
    assert list((a | a.with_ids(["a", "b", "c"])).ids) == ["a", "b", "c"]
    for other in (None, 3, [(0, 1)]):
        with pytest.raises(TypeError):
            a | other


def test_equality_looks_at_the_statements_alone():
    a = Constraints([(0, 1), (2, 1)], [(0, 3)], weight=[1, 2, 3])
    same = Constraints([(1, 2), (1, 0)], [(3, 0)], weight=[2, 1, 3], source="x", ids=[0, 1, 2, 3])
    assert a == same
    assert hash(a) == hash(same)
    assert len({a, same}) == 1
    for other in (
        Constraints([(0, 1), (2, 1)], [(0, 3)], weight=[1, 2, 3], n_items=5),
        Constraints([(0, 1), (2, 1)], [(0, 3)], weight=[1, 2, 4]),
        Constraints([(0, 1), (2, 1)], [(0, 3)], weight=[1, 2, 3], hard=[True, False, False]),
        Constraints([(0, 1), (2, 1)], [(0, 3)], weight=[1, 2, 3], confidence=[0.6, np.nan, np.nan]),
        Constraints([(0, 1), (0, 3)], [(1, 2)], weight=[1, 2, 3]),
        Constraints([(0, 1)], [(0, 3)], n_items=4),
        a | Constraints.from_labels([0, 0, -1, -1]),
    ):
        assert a != other
    labels = [
        Constraints.from_labels([0, 0, 1]),
        Constraints.from_labels([0, 1, 1]),
        Constraints.across([0, 0, 1]),
    ]
    labels += [Constraints.distinct([0, 0, 1]), Constraints.from_labels([0, 0, 1], weight=1.0)]
    assert len(set(labels)) == 5
    assert (a == "a") is False


def test_equal_numbers_are_equal():
    """-0.0 and 0.0 are the same weight, and one NaN is as unstated as another."""
    assert Constraints([(0, 1)], weight=-0.0) == Constraints([(0, 1)], weight=0.0)
    assert Constraints([(0, 1)], confidence=-np.nan) == Constraints([(0, 1)])


def whole() -> Constraints:
    c = Constraints([(0, 1)], [(1, 2)], n_items=4, weight=[2, 3], source="me")
    c = c.with_ids(["a", "b", "c", "d"])
    return c | Constraints.from_labels([0, 0, 1, -1], weight=0.5) | Constraints.across([0, 1, 1, 0])


def arrays_of(thing, seen=None):
    """Every array that can be reached through public attributes."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type(None)):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from arrays_of(part, seen)
    else:
        names = [name for name in dir(thing) if not name.startswith("_") and name != "active"]  # made anew
        for name in names:
            value = getattr(thing, name)
            if not callable(value):
                yield from arrays_of(value, seen)


COPIES = {
    "itself": lambda c: c,
    "pickle": lambda c: pickle.loads(pickle.dumps(c)),
    "pickle 2": lambda c: pickle.loads(pickle.dumps(c, protocol=2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickled after use": lambda c: (c.check(3), c.contracted, pickle.loads(pickle.dumps(c)))[-1],
}


@pytest.mark.parametrize("how", COPIES)
def test_copies_stay_frozen_and_equal(how):
    c = whole()
    other = COPIES[how](c)
    assert other == c
    assert hash(other) == hash(c)
    assert list(other.ids) == list(c.ids)
    assert other.must_table.source_names() == ["me"]
    with pytest.raises(AttributeError, match="cannot be changed"):
        other.n_items = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        other._n_items = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        other.whatever = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        del other._must
    found = list(arrays_of(other))
    assert len(found) > 15
    assert not [array for array in found if array.flags.writeable]
    with pytest.raises(ValueError, match="read-only"):
        other.must_link[0, 0] = 3


def test_what_was_handed_in_can_change_later():
    must, weight, ids = np.array([[0, 1]]), np.array([2.0]), np.array(["a", "b", "c"])
    labels = np.array([0, 0, 1])
    c = Constraints(must[:, ::-1], weight=weight, n_items=3) | Constraints.from_labels(labels)
    d = c.with_ids(ids)
    must[:], weight[:], labels[:], ids[:] = 2, 9, 5, "z"
    assert c == Constraints([(0, 1)], weight=2, n_items=3) | Constraints.from_labels([0, 0, 1])
    assert list(d.ids) == ["a", "b", "c"]
    read_only = np.array([[0, 1]])
    view = read_only[:]
    view.flags.writeable = False
    c = Constraints(view, n_items=3)
    read_only[:] = 2
    assert c.must_link.tolist() == [[0, 1]]


def test_drop():
    c = whole() | Constraints([(2, 3)], n_items=4, source="you")
    assert c.drop(must_link=[("b", "a")]).must_link.tolist() == [[2, 3]]
    assert c.drop(cannot_link=[("c", "b")]).cannot_link.tolist() == []
    assert c.drop(source="you").must_link.tolist() == [[0, 1]]
    assert c.drop(Constraints([(2, 3)], n_items=4)).must_link.tolist() == [[0, 1]]
    assert c.drop() == c
    assert list(c.drop(source="you").ids) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="no must-link a-d"):
        c.drop(must_link=[("a", "d")])
    with pytest.raises(ValueError, match="no cannot-link 0-1"):
        Constraints([(0, 1)]).drop(cannot_link=[(0, 1)])
    labels = Constraints.from_labels([0, 0], source="s") | Constraints.distinct([1, 1], source="t")
    assert [g.kind for g in labels.drop(source="t").groups] == ["label"]


def test_drop_takes_both_ways_of_asking():
    """Nothing asked for is ignored."""
    c = Constraints([(0, 1), (2, 3)], [(1, 2)])
    left = c.drop(Constraints([(0, 1)], n_items=4), must_link=[(2, 3)])
    assert left.must_link.tolist() == []
    with pytest.raises(ValueError, match="items"):
        c.drop(Constraints([(0, 1)], n_items=99))


def test_only_hard():
    c = Constraints([(0, 1), (1, 2)], [(0, 3)], hard=[True, False, True])
    c = c | Constraints.from_labels([0, -1, -1, 1]) | Constraints.distinct([0, 0, 0, -1], weight=1.0)
    assert oracle.all_pairs(c.only_hard()) == ({(0, 1)}, {(0, 3)})
    assert [g.kind for g in c.only_hard().groups] == ["label"]


def test_drop_does_not_ignore_groups():
    """Asked to drop a constraint, it drops it or says that it cannot."""
    c = Constraints([(0, 1)], n_items=3) | Constraints.from_labels([0, 0, 1])
    try:
        left = c.drop(Constraints.from_labels([0, 0, 1]))
    except (ValueError, TypeError) as error:
        left, said = None, str(error)
    assert left.groups == () if left is not None else "group" in said or "label" in said


def test_drop_looks_at_ids_and_sources():
    c = Constraints([("a", "b"), ("b", "c")], ids=list("abc"))
    with pytest.raises(ValueError, match="different ids"):
        c.drop(Constraints([("c", "b")], ids=list("cba")))
    both = Constraints([(0, 1)], source="ann") | Constraints([(0, 1)], source="bob")
    assert both.drop(source="ann; bob").n_pairs == 0
    with pytest.raises(ValueError, match=r"nothing was stated by source 'eve'"):
        both.drop(source="eve")
    with pytest.raises(TypeError, match="drop takes a Constraints"):
        both.drop([(0, 1)])


def test_frozen_arrays_cannot_be_thawed():
    c = Constraints([(0, 1)], [(1, 2)])
    for array in (c.must_link, c.components, c.explain(1).conflict.cannot_link):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_truth_means_that_something_is_stated():
    assert Constraints([(0, 1)])
    assert Constraints.from_labels([0, -1])
    assert not Constraints(n_items=3)
