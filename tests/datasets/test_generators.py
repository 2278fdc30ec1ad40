"""Links of a grid against looking at every pair of pixels, and the confidence that labels give them."""

import itertools

import numpy as np
import pytest

from coterie import Constraints
from coterie.datasets import estimate_confidence, grid_neighbors


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 4), (4, 3)])
def test_neighbours_touch(shape, connectivity):
    places = list(np.ndindex(*shape))
    expected = [
        [i, j]
        for (i, a), (j, b) in itertools.combinations(enumerate(places), 2)
        if (abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1)
        or (connectivity == 8 and max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1)
    ]
    found = grid_neighbors(shape, connectivity=connectivity)
    assert found.must_link.tolist() == expected
    assert found.n_items == len(places)
    assert found.cannot_table.n == 0
    assert (found.must_table.weight == 1).all()  # each pair once


def test_a_chain_is_a_grid_of_one_row():
    assert grid_neighbors(5) == grid_neighbors((5,)) == grid_neighbors([1, 5])
    assert grid_neighbors(5) == Constraints.from_sequence(np.zeros(5, dtype=int), gap=1)
    assert grid_neighbors(1).n_pairs == 0


def test_links_can_be_doubtful_strong_or_hard():
    table = grid_neighbors((3, 3), confidence=0.9, weight=2.0, hard=True).must_table
    assert (set(table.confidence), set(table.weight), set(table.hard)) == ({0.9}, {2.0}, {True})


def test_a_part_of_an_image_is_taken_by_its_rows():
    mask = np.array([[True, True, False], [False, True, True]])
    assert grid_neighbors(mask.shape)[mask.ravel()].must_link.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_a_large_image():
    assert grid_neighbors((400, 400), connectivity=8).must_table.n == 2 * 400 * 399 + 2 * 399 * 399


@pytest.mark.parametrize(
    ("shape", "words", "message"),
    [
        ((2, 2), {"connectivity": 6}, "connectivity must be 4 or 8; got 6"),
        ((2, 2, 2), {}, r"shape must be a length, or \(height, width\); got \(2, 2, 2\)"),
        ((), {}, "shape must be a length"),
        ((0, 3), {}, "every side of shape.*at least 1; got 0"),
        (2.5, {}, "every side of shape.*2.5"),
        ("ab", {}, "every side of shape.*'ab'"),
        (3, {"confidence": 0.3}, "confidence.*0.3"),
    ],
)
def test_bad_shapes_are_refused(shape, words, message):
    with pytest.raises(ValueError, match=message):
        grid_neighbors(shape, **words)


def test_confidence_is_the_share_that_labels_confirm():
    blocks = np.kron(np.arange(4).reshape(2, 2), np.ones((30, 30), dtype=int))
    links = grid_neighbors(blocks.shape)
    crossing = 2 * 60
    assert estimate_confidence(links, blocks.ravel()) == pytest.approx(1 - crossing / (2 * 60 * 59))
    # cannot-links and groups count by what they say; what is unknown does not count
    said = Constraints([(0, 1), (0, 2)], [(0, 3), (1, 3)], n_items=5)
    assert estimate_confidence(said, ["a", "a", "b", "b", None]) == 0.75
    assert estimate_confidence(said, ["a", "a", None, "b", None]) == 1.0
    assert estimate_confidence(Constraints.across([0, 1, 2, -1]), [0, 0, 1, -1]) == pytest.approx(2 / 3)


def test_the_estimate_can_be_stated():
    y = np.repeat([0, 1, 0], 7)
    sure = estimate_confidence(grid_neighbors(21), y)
    assert set(grid_neighbors(21, confidence=sure).must_table.confidence) == {0.9}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, -1], "no constraint is about items whose labels are known"),
        ([0, 1, 1], "1 of 1 stated pairs are false"),
        ([0, 1], "constraints.*3 items.*labels has 2 values"),
        ([[0, 1, 1]], r"labels.*\(1, 3\)"),
    ],
)
def test_labels_that_say_nothing_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        estimate_confidence(Constraints([(0, 2)], n_items=3), labels)


def test_confidence_by_source_is_the_smoothed_share_of_each():
    """Pair by pair, against a plain count."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=30)
    known = Constraints(n_items=30)
    right, total = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    unknown = rng.random(30) < 0.3
    for name, truth in (("a", 1.0), ("b", 0.8), ("c", 0.5)):
        drawn = {tuple(sorted(rng.choice(30, 2, replace=False).tolist())) for _ in range(60)}
        pairs = np.array(sorted(drawn))
        same = (y[pairs[:, 0]] == y[pairs[:, 1]]) == (rng.random(len(pairs)) < truth)
        known = known | Constraints(pairs[same], pairs[~same], n_items=30, source=name)
        for (i, j), said in zip(pairs.tolist(), same.tolist(), strict=True):
            if not (unknown[i] or unknown[j]):
                right[name] += (y[i] == y[j]) == said
                total[name] += 1
    assert any("; " in source for source in known.must_table.sources)  # pairs that two have stated
    found = estimate_confidence(known, np.where(unknown, -1, y), by_source=True)
    assert found == {name: (right[name] + 1) / (total[name] + 2) for name in "abc"}
    assert found["a"] > found["b"] > found["c"]


def test_confidence_by_source_of_groups_and_of_nobody():
    said = Constraints([(0, 1)], [(0, 2)], n_items=5) | Constraints.across([0, 1, 1, -1, -1], source="map")
    said = said | Constraints([(3, 4)], n_items=5, source="Bo")
    found = estimate_confidence(said, [0, 1, 1, -1, -1], by_source=True)
    assert found == {"Bo": 0.5, "map": 3 / 4, None: 2 / 4}
    assert list(found) == ["Bo", "map", None]
    assert estimate_confidence(Constraints(n_items=2), [0, 1], by_source=True) == {}
    with pytest.raises(ValueError, match=r"constraints.*5 items.*labels has 4 values"):
        estimate_confidence(said, [0, 1, 1, 1], by_source=True)
