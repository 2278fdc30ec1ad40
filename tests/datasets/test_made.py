"""Figure 1.1 by enumeration of every split, and blobs with their pairs."""

from itertools import product

import numpy as np
import pytest

from coterie.constraints import Constraints
from coterie.datasets import load_height_weight, make_constrained_blobs


def squared_error(X, labels):
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


@pytest.fixture(scope="module")
def splits():
    """Every split of twelve items in two (item 0 is in part 0), best first, with its error."""
    X = load_height_weight().data
    labellings = [np.array((0, *rest)) for rest in product((0, 1), repeat=11) if any(rest)]
    return sorted(((squared_error(X, labels), labels) for labels in labellings), key=lambda split: split[0])


def test_without_constraints_the_best_split_is_by_weight(splits):
    (error, labels), (second, _) = splits[:2]
    assert error == pytest.approx(27.48, abs=0.005)
    assert labels.tolist() == load_height_weight().target_by_weight.tolist()
    assert second > error + 0.01  # no tie


def test_with_constraints_the_best_split_is_by_height(splits):
    people = load_height_weight()
    allowed = [split for split in splits if people.constraints.violations(split[1]).n_broken == 0]
    assert 0 < len(allowed) < len(splits)
    error, labels = allowed[0]
    assert error == pytest.approx(31.20, abs=0.005)
    assert labels.tolist() == people.target_by_height.tolist()
    assert allowed[1][0] > error + 0.01


def test_height_weight_is_as_in_the_figure():
    people = load_height_weight()
    assert people.data.shape == (12, 2)
    np.testing.assert_allclose(people.data[[0, 4, 8, 9]], [[0, 0], [0.3, 3.2], [3, 0.3], [3, 3.2]])
    assert people.feature_names == ["height", "weight"]
    assert people.constraints == Constraints(must_link=[(0, 3), (6, 9)], cannot_link=[(0, 6)], n_items=12)
    # Weight is the second feature: splitting by it puts the light ones first.
    assert (
        people.data[people.target_by_weight == 0, 1].max()
        < people.data[people.target_by_weight == 1, 1].min()
    )
    assert (
        people.data[people.target_by_height == 0, 0].max()
        < people.data[people.target_by_height == 1, 0].min()
    )


def test_loading_twice_gives_independent_data():
    load_height_weight().data[:] = 0
    assert load_height_weight().data.any()


def test_blobs_come_with_true_pairs():
    blobs = make_constrained_blobs(random_state=0)
    assert blobs.data.shape == (300, 2)
    assert np.bincount(blobs.target).tolist() == [100, 100, 100]
    assert blobs.constraints.n_items == 300
    assert blobs.constraints.n_pairs == 60
    assert blobs.constraints.violations(blobs.target).n_broken == 0


def test_noise_makes_some_pairs_false():
    blobs = make_constrained_blobs(n_pairs=400, noise=0.25, random_state=0)
    assert 0.1 < blobs.constraints.violations(blobs.target).n_broken / 400 < 0.4


def test_sizes_and_spread_are_those_asked_for():
    blobs = make_constrained_blobs(50, 5, 2, n_pairs=0, cluster_std=0.001, random_state=1)
    assert blobs.data.shape == (50, 5)
    assert blobs.constraints.n_pairs == 0
    assert max(blobs.data[blobs.target == k].std(axis=0).max() for k in (0, 1)) < 0.01


@pytest.mark.parametrize("seed", [3, lambda: np.random.RandomState(3)])
def test_the_same_seed_gives_the_same_blobs_and_pairs(seed):
    one, two = (make_constrained_blobs(random_state=seed() if callable(seed) else seed) for _ in range(2))
    np.testing.assert_array_equal(one.data, two.data)
    assert one.constraints == two.constraints
    assert one.constraints != make_constrained_blobs(random_state=4).constraints


def test_the_number_of_pairs_does_not_move_the_points():
    few, many = (make_constrained_blobs(n_pairs=n, random_state=0) for n in (5, 50))
    np.testing.assert_array_equal(few.data, many.data)
