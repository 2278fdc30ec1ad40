"""`sample_size`: the numbers of table 8.1, the sharper ones, and what chance says of them."""

import numpy as np
import pytest
from scipy.stats import binom

from coterie.kmeans import sample_size
from tests.oracles import populate as oracle

LEVELS = [1 - 10.0**-delta for delta in range(1, 6)]


def test_table_8_1():
    assert [sample_size(10, confidence=one, bound="book") for one in LEVELS] == [1160, 1200, 1239, 1277, 1315]
    assert [sample_size(10, confidence=one) for one in LEVELS] == [670, 735, 791, 842, 890]


@pytest.mark.parametrize("k", [1, 2, 7, 300])
def test_it_is_the_smallest_number_that_is_enough(k):
    for per_cluster, floor in ((1, k), (50, 2 * k), (3, 3.5 * k)):
        n = sample_size(k, per_cluster=per_cluster, partition_floor=floor)
        few = [k * binom.cdf(per_cluster - 1, m, 1 / floor) for m in (n - 1, n)]
        assert few[1] <= 0.01 < few[0]


def test_one_cluster():
    assert sample_size(1) == sample_size(1, confidence=0.5) == 50
    assert sample_size(1, bound="book") == 116


def test_it_grows_with_all_that_is_asked():
    for bound in ("binomial", "book"):
        plain = sample_size(8, bound=bound)
        assert sample_size(9, bound=bound) > plain
        assert sample_size(8, per_cluster=51, bound=bound) > plain
        assert sample_size(8, confidence=0.995, bound=bound) > plain
        assert sample_size(8, partition_floor=9, bound=bound) > plain
    thrice = sample_size(8, partition_floor=24, bound="book") / sample_size(8, bound="book")
    assert thrice == pytest.approx(3, abs=0.01)


def check_failures(seed, n_trials):
    for k, per_cluster, confidence in ((10, 50, 0.9), (10, 50, 0.99), (3, 5, 0.9)):
        n = sample_size(k, per_cluster=per_cluster, confidence=confidence)
        failed = oracle.share_of_failures(n, k, per_cluster, np.random.default_rng(seed), n_trials)
        allowed = 1 - confidence
        assert failed <= allowed + 4 * np.sqrt(allowed / n_trials)
        # and it is not far too much: one tenth less fails more often
        fewer = oracle.share_of_failures(int(0.9 * n), k, per_cluster, np.random.default_rng(seed), n_trials)
        assert fewer > allowed


def test_chance_agrees(seed):
    check_failures(seed, 4000)


@pytest.mark.slow
def test_chance_agrees_closely(seed):
    check_failures(seed, 1_000_000)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number, at least 1; got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be a whole number"),
        ({"n_clusters": True}, "n_clusters must be a whole number"),
        ({"per_cluster": 0}, "per_cluster must be a whole number, at least 1; got 0"),
        ({"partition_floor": 9}, "partition_floor is 9, but .* give 10 or more"),
        ({"partition_floor": np.inf}, "partition_floor"),
        ({"partition_floor": np.nan}, "partition_floor"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1; got 1.0"),
        ({"confidence": 0}, "confidence must be between 0 and 1; got 0"),
        ({"confidence": "high"}, "confidence"),
        ({"bound": "sharp"}, "bound must be 'binomial' or 'book'; got 'sharp'"),
    ],
)
def test_bad_input(given, words):
    with pytest.raises(ValueError, match=words):
        sample_size(**{"n_clusters": 10, **given})
