"""Drawing constraints from labels: counts, truth, no repeats, reproducible, and clear refusals."""

import itertools
import random
from datetime import timedelta

import numpy as np
import pytest

from coterie import Constraints
from tests.constraints.strategies import if_possible
from tests.oracles import constraints as oracle

Y = np.random.default_rng(0).integers(-1, 4, size=60)
BIG = np.random.default_rng(1).integers(-1, 5, size=2000)


def pairs_of(c: Constraints) -> list:
    return [tuple(p) for p in c.must_link.tolist() + c.cannot_link.tolist()]


def assert_true(c: Constraints, y) -> None:
    assert (y[c.must_link] >= 0).all()
    assert (y[c.cannot_link] >= 0).all()
    assert (y[c.must_link[:, 0]] == y[c.must_link[:, 1]]).all()
    assert (y[c.cannot_link[:, 0]] != y[c.cannot_link[:, 1]]).all()


@pytest.mark.parametrize("y", [Y, BIG], ids=["small", "big"])
@pytest.mark.parametrize("how", ["random", "balanced", "easy"])
@pytest.mark.parametrize("n_pairs", [0, 1, 7, 40])
def test_counts_and_truth(y, how, n_pairs):
    c = Constraints.sample(y, n_pairs, how=how, random_state=3)
    assert c.n_items == len(y)
    assert c.n_pairs == n_pairs
    assert len(set(pairs_of(c))) == n_pairs
    assert np.all(c.must_table.weight == 1)  # no pair twice, else weights would have summed
    assert np.all(c.cannot_table.weight == 1)
    assert_true(c, y)
    if how == "balanced":
        assert 0 <= c.must_table.n - c.cannot_table.n <= 1


@pytest.mark.parametrize("how", ["random", "balanced"])
def test_all_pairs_can_be_drawn(how):
    y = [0, 0, 0, 1, 1, -1] if how == "random" else [0, 0, 0, 1, -1]
    known = [i for i in range(len(y)) if y[i] >= 0]
    every = set(itertools.combinations(known, 2))
    c = Constraints.sample(y, len(every), how=how, random_state=0)
    assert set(pairs_of(c)) == every


@pytest.mark.parametrize(("y", "draw", "rounds"), [([0, 0, 1, 1, 2], 2, 3000), (Y.tolist(), 300, 300)])
def test_draws_are_uniform(y, draw, rounds):
    """Every pair of known items is drawn about equally often (a wide margin: this must not be flaky)."""
    known = [i for i in range(len(y)) if y[i] >= 0]
    counts = dict.fromkeys(itertools.combinations(known[:6], 2), 0)
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        for pair in pairs_of(Constraints.sample(y, draw, random_state=rng)):
            if pair in counts:
                counts[pair] += 1
    expected = rounds * draw / (len(known) * (len(known) - 1) / 2)
    assert all(0.5 * expected < count < 1.6 * expected for count in counts.values()), (expected, counts)


@pytest.mark.parametrize("same", [True, False])
def test_large_balanced_draws_are_uniform_over_classes(same):
    """The way for many items: must-links fall on a class in proportion to its pairs."""
    y = np.repeat([0, 1, 2], [300, 100, 20])
    c = Constraints.sample(y, 4000, how="balanced", random_state=0)
    if same:
        found = np.bincount(y[c.must_link[:, 0]], minlength=3) / 2000
        sizes = np.array([300 * 299, 100 * 99, 20 * 19])
        np.testing.assert_allclose(found, sizes / sizes.sum(), atol=0.04)
    else:
        kinds = y[c.cannot_link].sum(axis=1)  # 0+1, 0+2, 1+2
        found = np.bincount(kinds, minlength=4)[1:] / 2000
        sizes = np.array([300 * 100, 300 * 20, 100 * 20])
        np.testing.assert_allclose(found, sizes / sizes.sum(), atol=0.04)


def test_easy_pairs_leave_an_easy_graph():
    rng = random.Random(0)
    drawn = 0
    for seed in range(25):
        n = rng.randint(6, 25)
        y = np.array([rng.randint(-1, 3) for _ in range(n)])
        if len(set(y.tolist()) - {-1}) < 2:
            continue
        k = rng.choice([None, 2, 3, 4])
        asked = len(set(y.tolist()) - {-1}) if k is None else k
        n_pairs = rng.randint(1, 15)
        for c in if_possible(Constraints.sample, y, n_pairs, how="easy", n_clusters=k, random_state=seed):
            assert_true(c, y)
            assert c.n_pairs == n_pairs
            assert oracle.degeneracy(n, *oracle.all_pairs(c)) <= asked - 1
            drawn += 1
    assert drawn > 8


@pytest.mark.parametrize("noise", [0, 0.05, 0.1, 0.25, 0.5, 1])
@pytest.mark.parametrize("how", ["random", "balanced"])
def test_the_share_of_noise_is_exact(noise, how):
    c = Constraints.sample(Y, 60, how=how, noise=noise, random_state=5)
    wrong = (Y[c.must_link[:, 0]] != Y[c.must_link[:, 1]]).sum()
    wrong += (Y[c.cannot_link[:, 0]] == Y[c.cannot_link[:, 1]]).sum()
    assert wrong == round(noise * 60)
    assert c.n_pairs == 60
    clean = Constraints.sample(Y, 60, how=how, random_state=5)
    assert sorted(pairs_of(c)) == sorted(pairs_of(clean))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_chunklets_are_disjoint_and_of_one_class(size):
    for seed in range(10):
        c = Constraints.sample_chunklets(Y, 6, size, random_state=seed)
        assert c.cannot_table.n == 0
        parts: dict[int, list[int]] = {}
        for item, part in enumerate(c.components.tolist()):
            parts.setdefault(part, []).append(item)
        chunklets = [items for items in parts.values() if len(items) > 1]
        assert [len(items) for items in chunklets] == [size] * 6
        assert all(len(set(Y[items])) == 1 and Y[items[0]] >= 0 for items in chunklets)
        assert c.must_table.n == 6 * (size - 1)


@pytest.mark.parametrize("n_seen", [2, 5, 10])
def test_teachers_state_all_pairs_of_their_subset(n_seen):
    c = Constraints.sample_teachers(Y, 4, n_seen, random_state=2)
    assert_true(c, Y)
    said: dict[str, set] = {}
    for table in (c.must_table, c.cannot_table):
        for pair, sources in zip(table.ij.tolist(), table.source_names(), strict=True):
            for source in sources.split("; "):
                said.setdefault(source, set()).add(tuple(pair))
    assert len(said) == 4
    for pairs in said.values():
        items = sorted({item for pair in pairs for item in pair})
        assert len(items) == n_seen
        assert pairs == set(itertools.combinations(items, 2))
    # a pair that two teachers state counts twice
    assert c.must_table.weight.sum() + c.cannot_table.weight.sum() == 4 * n_seen * (n_seen - 1) / 2


@pytest.mark.parametrize(("fraction", "n_pairs"), [(0, 0), (0.25, 12), (0.5, 25), (1, 50)])
def test_disjoint_pairs_share_no_item(fraction, n_pairs):
    y = np.concatenate([np.arange(101) % 3, np.full(9, -1)])
    c = Constraints.sample_disjoint(y, fraction, random_state=0)
    assert (c.n_items, c.n_pairs) == (110, pytest.approx(n_pairs, abs=1))
    assert len(c.constrained_items) == 2 * c.n_pairs
    assert_true(c, y)
    assert np.isnan(c.must_table.confidence).all()


def test_each_disjoint_pair_is_flipped_by_chance():
    y = np.arange(40_000) % 2
    clean = Constraints.sample_disjoint(y, 0.5, random_state=3)
    noisy = Constraints.sample_disjoint(y, 0.5, flip=0.15, state_confidence=True, random_state=3)
    assert sorted(pairs_of(clean)) == sorted(pairs_of(noisy))
    wrong = (y[noisy.must_link[:, 0]] != y[noisy.must_link[:, 1]]).sum()
    wrong += (y[noisy.cannot_link[:, 0]] == y[noisy.cannot_link[:, 1]]).sum()
    assert wrong / 10_000 == pytest.approx(0.15, abs=0.02)
    assert set(noisy.must_table.confidence) | set(noisy.cannot_table.confidence) == {0.85}
    counts = [Constraints.sample_disjoint(y[:40], flip=0.5, random_state=s).must_table.n for s in range(20)]
    assert len(set(counts)) > 3  # not an exact share


def test_class_sets_give_disjoint_stars_around_the_smallest_set():
    sets = ["snow"] * 40 + ["rock"] * 5 + [None] * 3 + ["sea"] * 10
    c = Constraints.sample_class_sets(sets, random_state=0)
    assert (c.n_items, c.must_table.n, c.cannot_table.n) == (58, 0, 30)
    ends, counts = np.unique(c.cannot_link, return_counts=True)
    assert sorted(counts.tolist()) == [1] * 30 + [6] * 5
    assert ends[counts == 6].tolist() == [40, 41, 42, 43, 44]
    assert not c.cannot_table.hard.any()
    some = Constraints.sample_class_sets(sets, 2, n_stars=3, hard=True, random_state=0)
    assert (some.cannot_table.n, some.cannot_table.hard.all()) == (6, True)
    assert Constraints.sample_class_sets(sets, n_stars=0).n_pairs == 0


def test_a_sequence_links_what_follows_on_a_track():
    """Items within the gap end up together, and nobody else: the closure against every pair."""
    rng = np.random.default_rng(0)
    for gap in (None, 0, 1, 2.5, 30, np.inf):
        tracks, time = rng.integers(-1, 4, 60), rng.integers(0, 100, 60)
        c = Constraints.from_sequence(tracks, time=time, gap=gap)
        limit = np.inf if gap is None else gap
        every = [
            (i, j)
            for i, j in itertools.combinations(range(60), 2)
            if tracks[i] == tracks[j] >= 0 and abs(int(time[i]) - int(time[j])) <= limit
        ]
        assert c.components.tolist() == Constraints(every, n_items=60).components.tolist()
        assert c.must_table.n == 60 - len(np.unique(c.components))  # a chain has no link too many
    rows = Constraints.from_sequence(["a", "b", "a", "a"], gap=1, confidence=0.9, weight=2.0)
    assert rows == Constraints([(2, 3)], n_items=4, confidence=0.9, weight=2.0)
    assert Constraints.from_sequence([1, 1], hard=True).must_table.hard.all()
    assert Constraints.from_sequence([]).n_items == 0


def test_a_sequence_may_have_dates():
    days = np.array(["2024-01-01", "2024-01-03", "2024-01-20", "NaT"], dtype="datetime64[D]")
    for gap in (timedelta(days=2), np.timedelta64(48, "h"), np.timedelta64(2, "D")):
        assert Constraints.from_sequence([7, 7, 7, -1], time=days, gap=gap).must_link.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="item 3 is on a track, but its time"):
        Constraints.from_sequence([7, 7, 7, 7], time=days)


def test_many_items_are_no_trouble():
    y = np.arange(200_000) % 1000
    assert Constraints.from_sequence(y, gap=1000).must_table.n == 199_000
    assert Constraints.sample_disjoint(y, 1.0, flip=0.1, random_state=0).n_pairs == 100_000
    assert Constraints.sample_class_sets(y < 100, random_state=0).n_pairs == 120_000


DRAWS = {
    "random": lambda y, seed: Constraints.sample(y, 20, random_state=seed),
    "noisy": lambda y, seed: Constraints.sample(y, 20, noise=0.3, random_state=seed),
    "balanced": lambda y, seed: Constraints.sample(y, 20, how="balanced", random_state=seed),
    "easy": lambda y, seed: Constraints.sample(y, 20, how="easy", random_state=seed),
    "chunklets": lambda y, seed: Constraints.sample_chunklets(y, 5, random_state=seed),
    "teachers": lambda y, seed: Constraints.sample_teachers(y, 3, random_state=seed),
    "disjoint": lambda y, seed: Constraints.sample_disjoint(y, flip=0.2, random_state=seed),
    "class sets": lambda y, seed: Constraints.sample_class_sets(y, 3, random_state=seed),
}


@pytest.mark.parametrize("y", [Y, BIG], ids=["small", "big"])
@pytest.mark.parametrize("how", DRAWS)
def test_the_same_seed_draws_the_same(y, how):
    draw = DRAWS[how]
    assert draw(y, 11) == draw(y, 11)
    assert draw(y, np.random.default_rng(11)) == draw(y, 11)
    assert draw(y, np.random.RandomState(4)) == draw(y, np.random.RandomState(4))
    assert len({draw(y, seed) for seed in range(5)}) == 5
    generator = np.random.default_rng(0)
    assert draw(y, generator) != draw(y, generator)
    assert draw(y.tolist(), 11) == draw(y, 11)
    words = np.array([None if label < 0 else f"class {label}" for label in y], dtype=object)
    assert draw(words, 11) == draw(y, 11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Constraints.sample([0, 0, 1, -1], 4), "4 pairs wanted.*3 labelled items.*only 3 pairs"),
        (
            lambda: Constraints.sample([0, 0, 1], 4, how="balanced"),
            "2 pairs wanted.*only 1 pairs? of one class",
        ),
        (
            lambda: Constraints.sample([0, 0, 0], 2, how="balanced"),
            "1 pairs? wanted.*only 0 pairs of two classes",
        ),
        (lambda: Constraints.sample([-1, -1], 1), "only 0 pairs"),
        (
            lambda: Constraints.sample([0] * 5 + [1] * 5, 45, how="easy", n_clusters=1),
            "only 20 of 45.*(1 cluster|n_clusters=1)",
        ),
        (
            lambda: Constraints.sample([0, 1], 1, how="clever"),
            "how.*'random', 'balanced' or 'easy'.*'clever'",
        ),
        (lambda: Constraints.sample([0, 1], 1, noise=1.5), "noise.*1.5"),
        (lambda: Constraints.sample([0, 1], 1, noise=float("nan")), "noise.*nan"),
        (lambda: Constraints.sample([0, 1], -1), "n_pairs.*-1"),
        (lambda: Constraints.sample([0, 0, 1], 1.5), "n_pairs.*1.5"),
        (lambda: Constraints.sample([0, 0, 1], True), "n_pairs.*True"),
        (lambda: Constraints.sample([[0, 1]], 1), r"y.*\(1, 2\)"),
        (lambda: Constraints.sample([0.5, 1, 1], 1), r"y\[0\] is 0.5"),
        (lambda: Constraints.sample([0, 0, 1], 1, how="easy", n_clusters=0), "n_clusters.*0"),
        (lambda: Constraints.sample_chunklets([0, 0, 0, 1], 2), "2 chunklets of 2.*only 1"),
        (lambda: Constraints.sample_chunklets([0, 0], 1, size=1), "size.*at least 2; got 1"),
        (lambda: Constraints.sample_chunklets([0, 0], -1), "n_chunklets.*-1"),
        (lambda: Constraints.sample_teachers([0, 1, -1], 1, 3), "between 2 and 2.*n_seen=3"),
        (lambda: Constraints.sample_teachers([0, 1, 1], 1, 1), "between 2 and 3.*n_seen=1"),
        (lambda: Constraints.sample_teachers([0, 1, 1], -2, 2), "n_teachers.*-2"),
        (lambda: Constraints.sample_disjoint([0, 1], 1.5), "fraction.*0 to 1; got 1.5"),
        (lambda: Constraints.sample_disjoint([0, 1], float("nan")), "fraction.*nan"),
        (lambda: Constraints.sample_disjoint([0, 1], flip=-0.1), "flip.*-0.1"),
        (lambda: Constraints.sample_disjoint([0, 1], flip="much"), "flip.*'much'"),
        (lambda: Constraints.sample_disjoint([0, 1], flip=0.5, state_confidence=True), "flip.*below 0.5"),
        (lambda: Constraints.sample_disjoint([[0], [1]]), r"y must have one value.*\(2, 1\)"),
        (lambda: Constraints.sample_class_sets([0, 0, -1]), "at least 2 sets.*names 1"),
        (lambda: Constraints.sample_class_sets([-1]), "at least 2 sets.*names 0"),
        (lambda: Constraints.sample_class_sets([0, 0, 1, 1], 6), "2 items of the smallest.*only 0"),
        (lambda: Constraints.sample_class_sets([0] * 6 + [1], 2, n_stars=2), "2 stars of 1 . 2.*only 1"),
        (lambda: Constraints.sample_class_sets([0, 1], 0), "fanout.*at least 1; got 0"),
        (lambda: Constraints.sample_class_sets([0, 1], 1, n_stars=-1), "n_stars.*-1"),
        (lambda: Constraints.from_sequence([0, 0], time=[1.0]), r"time.*2 in all.*\(1,\)"),
        (lambda: Constraints.from_sequence([0, 0], time=["a", "b"]), "time must have one number"),
        (lambda: Constraints.from_sequence([0, 0], time=[1.0, np.nan]), "item 1 is on a track"),
        (lambda: Constraints.from_sequence([0, 0], gap=-1), "gap.*not negative.*-1"),
        (lambda: Constraints.from_sequence([0, 0], gap=float("nan")), "gap.*nan"),
        (lambda: Constraints.from_sequence([0, 0], gap=timedelta(1)), "gap must be a number"),
        (
            lambda: Constraints.from_sequence([0], time=np.zeros(1, "datetime64[s]"), gap=3),
            "gap must be a timedelta",
        ),
        (lambda: Constraints.from_sequence([[0, 0]]), r"track_ids.*\(1, 2\)"),
        (lambda: Constraints.from_sequence([0, 0], confidence=0.4), "confidence.*0.4"),
    ],
)
def test_impossible_requests_say_how_many_there_are(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_rare_kinds_are_drawn_without_waiting():
    """One item against all others, and classes of two: few pairs of a kind among very many."""
    lonely = np.zeros(50_000, dtype=int)
    lonely[0] = 1
    c = Constraints.sample(lonely, 20_000, how="balanced", random_state=0)
    assert (len(c.must_link), len(c.cannot_link)) == (10_000, 10_000)
    assert (c.cannot_link[:, 0] == 0).all()
    twins = Constraints.sample(np.arange(40_000) // 2, 40_000, how="balanced", random_state=0)
    assert len(twins.must_link) == 20_000
