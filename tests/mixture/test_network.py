"""Constraints read as units and couplings weigh every labelling as the items' own pairs do."""

import math

import numpy as np
import pytest

from coterie import Constraints
from coterie.mixture._inference.network import read_network
from tests.mixture.problems import hard_pairs, soft_pairs
from tests.oracles import mixture as oracle

pytestmark = pytest.mark.filterwarnings("error")


def worth(table, sign):
    """Of soft pairs, as `PenalizedGaussianMixture` has it with a confidence of .8."""
    stated = np.minimum(np.where(np.isnan(table.confidence), 0.8, table.confidence), 1 - 1e-6)
    return table.weight * np.log(stated / (1 - stated))


def through_units(network, own, log_weights):
    """log Z and the marginals of the items, by enumeration of the units alone."""
    n, k = own.shape
    free = np.setdiff1d(np.arange(n), network.items)
    potential = np.zeros((network.n_units, k))
    for item, unit, flip in zip(network.items, network.unit, network.flip, strict=True):
        potential[unit] += own[item][::-1] if flip else own[item]
    potential += np.outer(network.exponent[:, 0], log_weights)
    potential += np.outer(network.exponent[:, 1], log_weights[::-1])
    clamp = {u: int(h) for u, h in enumerate(network.clamp) if h >= 0}
    pairs = [(*ends, beta) for ends, beta in zip(network.ends.tolist(), network.beta.tolist(), strict=True)]
    answer = oracle.enumerate_all(potential, pairs, clamp)
    marginals = np.empty((n, k))
    for item, unit, flip in zip(network.items, network.unit, network.flip, strict=True):
        marginals[item] = answer.marginals[unit][::-1] if flip else answer.marginals[unit]
    alone = oracle.enumerate_all(own[free] + log_weights)
    marginals[free] = alone.marginals
    return answer.log_z + alone.log_z + network.constant + network.held_constant, marginals


def assert_reads(constraints, k, sampling, obey, seed):
    rng = np.random.default_rng((seed, 7))
    n = constraints.n_items
    own, weights = rng.normal(0, 2, (n, k)), rng.dirichlet(np.ones(k))
    network = read_network(
        constraints, k, obey=obey, coupling=worth, group_coupling=(math.log(4.0),) * 2, sampling=sampling
    )
    if obey == "all":
        known = oracle.hard_known(constraints, sampling)
    else:
        known = oracle.penalized_known(constraints, 0.8)
    assert (network.ends[:, 0] < network.ends[:, 1]).all()
    assert len(np.unique(network.ends, axis=0)) == len(network.ends)
    assert not np.isposinf(network.beta).any()
    np.testing.assert_array_equal(network.items, constraints.constrained_items)
    right = oracle.enumerate_all(own + np.outer(known.e, np.log(weights)), known.pairs, known.clamp)
    log_z, marginals = through_units(network, own, np.log(weights))
    assert log_z == pytest.approx(right.log_z, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(marginals, right.marginals, atol=1e-10)
    return network


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("sampling", ["chunklet", "point"])
def test_hard_pairs(k, sampling, seed):
    for number in range(25):
        rng = np.random.default_rng((seed, 1, number))
        c = hard_pairs(rng, 7, k, int(rng.integers(5)), int(rng.integers(8)), hard=bool(number % 2))
        network = assert_reads(c, k, sampling, "all", seed)
        if k == 2:
            assert len(network.ends) == 0  # parity leaves nothing to couple
        assert np.isneginf(network.beta).all()


@pytest.mark.parametrize("k", [2, 3])
def test_soft_and_hard_pairs_together(k, seed):
    for number in range(40):
        rng = np.random.default_rng((seed, 2, number))
        c = soft_pairs(rng, 7, int(rng.integers(6)), int(rng.integers(6)))
        c = c + hard_pairs(rng, 7, k, int(rng.integers(3)), int(rng.integers(4)))
        assert_reads(c, k, "point", "hard", seed)


@pytest.mark.parametrize("k", [2, 3])
def test_groups(k, seed):
    for number in range(40):
        rng = np.random.default_rng((seed, 3, number))
        y = rng.integers(k, size=7)
        soft = Constraints.distinct(rng.integers(-1, 3, 7), weight=0.6)
        soft = soft + Constraints.across(rng.integers(-1, 3, 7), weight=1.2)
        soft = soft + Constraints.from_labels(rng.integers(-1, 2, 7), weight=0.4)
        assert_reads(soft, k, "point", "hard", seed)
        seen = rng.random(7) < 0.5
        hard = Constraints.across(np.where(seen, y, -1)) | hard_pairs(rng, 7, k, 1, 1)
        spread = np.full(7, -1)
        spread[[int(np.flatnonzero(y == h)[0]) for h in np.unique(y)]] = 0
        hard = hard | Constraints.distinct(spread)
        if hard.check(k):
            assert_reads(hard, k, "chunklet", "all", seed)
            assert_reads(hard + soft, k, "point", "hard", seed)


@pytest.mark.parametrize("k", [2, 3])
def test_labels_clamp(k, seed):
    for number in range(30):
        rng = np.random.default_rng((seed, 4, number))
        y = np.r_[np.arange(k), rng.integers(k, size=7 - k)]
        seen = rng.random(7) < 0.5
        seen[:k] = True  # all classes are named, so the h-th is component h
        names = np.array(["x", "b", "q"])[y]
        labels = Constraints.from_labels([name if s else None for name, s in zip(names, seen, strict=True)])
        pairs = [(i, j) for i in range(7) for j in range(i)]
        rng.shuffle(pairs)
        c = labels | Constraints(
            [(i, j) for i, j in pairs if y[i] == y[j]][:2], [(i, j) for i, j in pairs if y[i] != y[j]][:3],
            n_items=7, hard=True,
        )  # fmt: skip
        assert_reads(c, k, "point", "all", seed)
        assert_reads(c, k, "chunklet", "all", seed)
        second = np.where(np.arange(7) > 3, y, -1)  # the larger constraint clamps, the other is pairs
        if len(np.unique(second)) > 1 and seen.sum() > 3:
            assert_reads(c | Constraints.from_labels(second), k, "chunklet", "all", seed)
        assert_reads(c + soft_pairs(rng, 7, 3, 3), k, "point", "hard", seed)


def test_what_cancels_is_gone():
    c = Constraints([(0, 1), (2, 3)], [(0, 1)], n_items=4, confidence=0.7)
    network = read_network(c, 3, obey="hard", coupling=worth)
    assert network.ends.tolist() == [[2, 3]]
    assert network.beta[0] == pytest.approx(math.log(7 / 3))
