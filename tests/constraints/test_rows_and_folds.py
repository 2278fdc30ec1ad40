"""`c[rows]` is what is said among these rows; `split` holds out pairs that nothing else entails."""

import pickle
import random
import warnings

import numpy as np
import pandas as pd
import pytest

from coterie import Constraints, COPKMeans
from coterie.constraints import EitherOr
from coterie.metrics import constraint_satisfaction, score_on
from tests.constraints.strategies import random_case, without_contradictions
from tests.oracles import constraints as oracle


def weighted(c: Constraints) -> dict:
    """Each stated pair with all that is said of it."""
    found = {}
    for kind, t in (("must", c.must_table), ("cannot", c.cannot_table)):
        rows = zip(t.ij.tolist(), t.weight, t.confidence, t.hard, t.source_names(), strict=True)
        for pair, weight, sure, hard, source in rows:
            found[kind, tuple(pair)] = (weight, str(sure), bool(hard), source)
    return found


def induced(c: Constraints, rows: list[int]) -> dict:
    """Brute force: the stated pairs with both ends among the rows, under their new numbers."""
    new = {old: number for number, old in enumerate(rows)}
    return {
        (kind, oracle.ordered((new[i], new[j]))): value
        for (kind, (i, j)), value in weighted(c).items()
        if i in new and j in new
    }


def induced_group(group, n, rows):
    values = oracle.group_values(group, n)
    must, cannot = oracle.expand(group.kind, [values[row] for row in rows])
    return group.kind, group.weight, frozenset(must), frozenset(cannot)


def said_by_groups(c: Constraints):
    every = [(g.kind, g.weight, *oracle.expand(g.kind, oracle.group_values(g, c.n_items))) for g in c.groups]
    return {(k, w, frozenset(m), frozenset(a)) for k, w, m, a in every if m or a}


def random_constraints(rng: random.Random) -> Constraints:
    case = random_case(rng, 2, 15)
    count = len(case.must) + len(case.cannot)
    return case.build(
        weight=[rng.choice([0, 1, 2.5]) for _ in range(count)],
        hard=np.array([rng.random() < 0.3 for _ in range(count)], dtype=bool),
        confidence=[rng.choice([np.nan, 0.75]) for _ in range(count)],
        source=[rng.choice([None, "a", "b"]) for _ in range(count)],
    ).with_ids([f"id{i}" for i in range(case.n)])


def ways_to_ask(rng: random.Random, n: int):
    """An index, and the rows that it means."""
    chosen = rng.sample(range(n), rng.randint(0, n))
    yield chosen, chosen
    yield np.array(chosen, dtype=np.int32), chosen
    yield (np.array(chosen, dtype=np.int64), Ellipsis), chosen
    yield [row - n for row in chosen], chosen
    mask = [row in chosen for row in range(n)]
    yield mask, sorted(chosen)
    yield np.array(mask), sorted(chosen)
    yield (np.array(mask), Ellipsis), sorted(chosen)
    a, b, step = rng.randint(-n, n), rng.randint(-n, n), rng.choice([None, 1, 2, -1, -3])
    yield slice(a, b, step), list(range(n))[a:b:step]
    yield slice(None), list(range(n))


def test_rows_are_the_induced_constraints():
    rng = random.Random(3)
    for _ in range(60):
        c = random_constraints(rng)
        for index, rows in ways_to_ask(rng, c.n_items):
            part = c[index]
            assert part.n_items == len(rows)
            assert weighted(part) == induced(c, rows)
            said = {induced_group(g, c.n_items, rows) for g in c.groups}
            assert said_by_groups(part) == {s for s in said if s[2] or s[3]}
            assert list(part.ids) == [f"id{row}" for row in rows]


def test_all_rows_in_order_change_nothing():
    rng = random.Random(4)
    for _ in range(30):
        c = random_constraints(rng)
        assert c[:] == c
        order = rng.sample(range(c.n_items), c.n_items)
        back = np.argsort(order)
        assert c[order][back] == c


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        ([1, 2, 1], ValueError, "row 1 is taken more than once"),
        ([0, -5], ValueError, "row 0 is taken more than once"),
        ([0, 5], IndexError, "row 5 is out of range for 5 items"),
        ([-6], IndexError, "row -6 is out of range for 5 items"),
        ([True, False], IndexError, "mask has length 2.*5 items"), (3, TypeError, "list of rows.*3"),
        (np.int64(3), TypeError, "list of rows"), (True, TypeError, "list of rows"),
        ("a", TypeError, "list of rows"), (None, TypeError, "list of rows"),
        ([0.0, 1.0], TypeError, "whole numbers"), ([[0, 1]], TypeError, "list of rows"),
        (Ellipsis, TypeError, "list of rows"), (["a", "b"], TypeError, "whole numbers"),
    ],
)  # fmt: skip
def test_bad_rows(index, error, message):
    c = Constraints([(0, 1)], n_items=5)
    with pytest.raises(error, match=message):
        c[index]


def test_no_rows():
    c = Constraints([(0, 1)], [(1, 2)]) | Constraints.from_labels([0, 1, 1])
    nothing = c[[]]
    assert nothing.n_items == 0
    assert nothing.n_pairs == 0
    assert nothing.groups == ()
    assert c[np.zeros(3, dtype=bool)] == nothing


def test_scikit_learn_can_index_it():
    from sklearn.utils import _safe_indexing, indexable

    c = Constraints([(0, 3)], [(1, 3)], n_items=4)
    indexable(np.zeros(4), c)
    assert _safe_indexing(c, np.array([3, 0])) == c[[3, 0]]
    assert _safe_indexing(c, np.array([True, False, False, True])) == c[[0, 3]]


def pairs_of(c: Constraints) -> set:
    return {("must", *p) for p in c.must_link.tolist()} | {("cannot", *p) for p in c.cannot_link.tolist()}


@pytest.mark.parametrize("seed", range(3))
def test_folds_hold_out_each_pair_once_unless_it_is_entailed(seed):
    rng = random.Random(seed)
    done = 0
    while done < 40:
        c = without_contradictions(random_case(rng, 5, 14)).build()
        if c.n_pairs < 2:
            continue
        done += 1
        n_folds = rng.randint(2, min(c.n_pairs, 6))
        held_out: list = []
        sizes = []
        for kept, held in c.split(n_folds, random_state=seed):
            assert kept.groups == c.groups
            assert held.groups == ()
            assert pairs_of(kept) <= pairs_of(c)
            assert not pairs_of(kept) & pairs_of(held)
            gone = pairs_of(c) - pairs_of(kept)
            sizes.append(len(gone))
            together, apart = oracle.closure(c.n_items, *oracle.all_pairs(kept))
            known = {("must", *p) for p in together} | {("cannot", *p) for p in apart}
            assert pairs_of(held) == gone - known
            held_out += sorted(gone)
        assert len(sizes) == n_folds
        assert max(sizes) - min(sizes) <= 1
        assert sorted(held_out) == sorted(pairs_of(c))


def test_folds_keep_weights_ids_and_are_reproducible():
    c = Constraints([(0, 1), (2, 3)], [(4, 5), (1, 5)], weight=[1, 2, 3, 4], source="me")
    c = c.with_ids(list("abcdef"))
    folds = [list(c.split(2, random_state=7)) for _ in range(2)]
    assert folds[0] == folds[1]
    whole = weighted(c)
    for kept, held in folds[0]:
        assert {**weighted(kept), **weighted(held)} == whole
        assert list(kept.ids) == list(held.ids) == list("abcdef")
    assert len({str([pairs_of(h) for _, h in c.split(2, random_state=s)]) for s in range(20)}) > 1


def test_pairs_without_effect_entail_nothing():
    c = Constraints([(0, 1), (1, 2), (0, 2)], weight=[0, 1, 1])
    for kept, held in c.split(3, random_state=0):
        if ("must", 0, 2) not in pairs_of(kept):
            assert ("must", 0, 2) in pairs_of(held)


@pytest.mark.parametrize("n_folds", [0, 1, 4, -2, 2.5, True])
def test_bad_number_of_folds(n_folds):
    """The complaint comes at the call, not at the first turn of a loop."""
    c = Constraints([(0, 1), (1, 2)], [(0, 3)])
    with pytest.raises((ValueError, TypeError), match=rf"n_folds.*{n_folds}.*3 pairs|n_folds.*whole"):
        c.split(n_folds)


# ---- names ---------------------------------------------------------------------------------------------

NAMED = Constraints([("a", "b")], [("c", "d")], ids=["a", "b", "c", "d"])
MOVED = pd.Index(["d", "b", "a", "c"])


def test_align_puts_items_in_the_order_of_names():
    moved = NAMED.align(MOVED)
    assert list(moved.ids) == list(MOVED)
    assert moved.must_link.tolist() == [[1, 2]]
    assert moved.cannot_link.tolist() == [[0, 3]]
    assert NAMED.align(NAMED.ids) is NAMED
    assert NAMED.align(["c", "d"]) == Constraints(None, [(0, 1)], n_items=2)  # the others are left out
    with pytest.raises(
        ValueError, match="'x', and the constraints do not say which item that is; their ids begin 'a'"
    ):
        NAMED.align(["a", "x"])
    with pytest.raises(ValueError, match="id 'a' stands in rows 0 and 1"):
        NAMED.align(["a", "a"])
    with pytest.raises(ValueError, match="no ids"):
        Constraints([(0, 1)]).align(["a", "b"])


def test_labels_of_a_series_go_by_name():
    labels = pd.Series([1, 0, 0, 0], MOVED)
    assert not NAMED.violations(labels)
    assert NAMED.violations(labels.to_numpy())
    assert NAMED.violations(labels.reset_index(drop=True))  # a default index has no names
    assert NAMED.informativeness(labels) == 0
    assert constraint_satisfaction(NAMED, labels) == 1
    assert rand_on_others(labels) == 1
    assert not EitherOr([("a", "b", "d")], ids=NAMED.ids).violations(labels).size
    with pytest.raises(ValueError, match="labels has a row 'z'"):
        NAMED.violations(labels.rename({"d": "z"}))
    with pytest.raises(ValueError, match="speak of d, which is no row of labels"):
        NAMED.violations(labels[1:])


def rand_on_others(labels):
    """The items that no constraint names are e and f, wherever they stand."""
    c = Constraints([("a", "b")], [("c", "d")], ids=list("efabcd"))
    every = pd.concat([labels, pd.Series([7, 7], ["e", "f"])])
    return score_on(lambda true, pred: float((pred == 7).all()), every, every, c)


def test_partial_labels_of_a_series_carry_its_names():
    c = Constraints.from_labels(pd.Series(["x", None, "y", "x"], MOVED))
    assert list(c.ids) == list(MOVED)
    assert Constraints.from_labels(pd.Series([0, 1])).ids is None
    assert Constraints.from_labels(pd.Series([0, 1], ["a", "a"])).ids is None
    assert list(Constraints.from_labels(pd.Series([0, 1], ["a", "b"]), ids=["c", "d"]).ids) == ["c", "d"]
    X = pd.DataFrame([[0.0], [0.0], [9.0], [9.0]], ["a", "c", "b", "d"], ["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = COPKMeans(2).fit(X, constraints=pd.Series([0, 0, 1, 1], ["b", "d", "a", "c"]))
    assert model.labels_.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_ids_that_come_in_a_series_know_its_frame():
    table = pd.DataFrame({"id": list("abcdef"), "x": range(6), "who": list("uvuvuv")})[["id", "x", "who"]]
    table = table[table.x != 2]  # its index is 0, 1, 3, 4, 5
    c = Constraints([("a", "f")], [("b", "d")], ids=table["id"])
    both = c | Constraints.distinct(table["who"])
    assert list(both.ids) == list("abdef")
    assert (Constraints.distinct(table["who"]) | c).ids.tolist() == list("abdef")
    moved = table.iloc[::-1]
    for known in (
        c.in_order_of(moved),
        both.in_order_of(moved),
        pickle.loads(pickle.dumps(c)).in_order_of(moved),
    ):
        assert list(known.ids) == list("fedba")
        assert known.must_link.tolist() == [[0, 4]]
    with pytest.raises(ValueError, match="a row 2, and"):
        c[1:].in_order_of(pd.DataFrame({"x": range(6)})[1:5])


def test_row_numbers_that_are_ids_too_are_ids():
    c = Constraints([(3, 2)], ids=[3, 2, 1, 0])
    frame = pd.DataFrame({"x": range(4)})
    assert c.in_order_of(frame) is c  # a default index
    assert c.in_order_of(frame[::-1]) is c
    assert c.in_order_of(frame.iloc[[3, 1, 2, 0]]).must_link.tolist() == [[0, 2]]
    for rows in ([1, 2], [2, 3], [0, 3]):
        with pytest.raises(ValueError, match="do not say which item that is"):
            c[rows].in_order_of(frame.iloc[rows])
        named = frame.set_index(c.ids).iloc[rows]
        assert list(c[rows].in_order_of(named).ids) == list(named.index)
