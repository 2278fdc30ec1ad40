"""A thousand groups of a thousand items: half a billion pairs that must never be written out."""

import tracemalloc

import numpy as np
import pytest

from coterie import Constraints

MB = 2**20


@pytest.fixture
def peak():
    """Ask for the peak of memory since the last time, in MB."""
    tracemalloc.start()

    def measure() -> float:
        found = tracemalloc.get_traced_memory()[1] / MB
        tracemalloc.reset_peak()
        return found

    yield measure
    tracemalloc.stop()


def assert_distinct(witness: np.ndarray, groups: np.ndarray, k: int) -> None:
    assert witness.min() >= 0
    assert witness.max() < k
    cell = np.bincount(groups * k + witness, minlength=1000 * k)
    assert cell.max() == 1


def test_a_thousand_groups_of_a_thousand(peak):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(1000), 1000))
    c = Constraints.distinct(groups)
    assert c.n_items == 1_000_000
    assert sum(group.n_pairs() for group in c.groups) == 1000 * 499_500
    answer = c.check(1000)
    assert answer.status == "feasible"
    assert_distinct(answer.witness, groups, 1000)
    assert peak() < 400
    assert not c.violations(answer.witness)
    broken = c.violations(np.zeros(1_000_000, dtype=int))
    assert broken.n_broken_pairs == 1000 * 499_500
    assert broken.n_pairs == 1000 * 499_500
    assert peak() < 400


def test_one_cluster_too_few(peak):
    """The certificate is about one group: naming it must not take pairs times items (an hour)."""
    groups = np.repeat(np.arange(1000), 1000)
    c = Constraints.distinct(groups)
    answer = c.check(999)
    assert answer.status == "infeasible"
    items = answer.certificate.items
    assert len(set(items.tolist())) == 1000
    assert len(set(groups[items].tolist())) == 1
    assert len(str(answer)) < 2000
    assert peak() < 400


def test_smaller_groups_prove_it_the_same_way():
    groups = np.repeat(np.arange(30), 30)
    answer = Constraints.distinct(groups).check(29)
    assert answer.status == "infeasible"
    assert answer.certificate.irreducible
    facts = answer.certificate.implied
    assert len({groups[item] for fact in facts for item in fact.items}) == 1
    assert {fact.kind for fact in facts} == {"distinct"}


def test_labels_and_across_on_many_items(peak):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 50, size=200_000)
    c = Constraints.from_labels(y) | Constraints.across(y % 5)
    assert c.components.max() == 49
    answer = c.check(50)
    assert answer.status == "feasible"
    assert len(set(zip(y.tolist(), answer.witness.tolist(), strict=True))) == 50
    assert c.check(49).status == "infeasible"
    assert not c.violations(answer.witness)
    assert peak() < 400


def test_across_alone_on_many_items(peak):
    region = np.random.default_rng(2).integers(0, 8, size=300_000)
    c = Constraints.across(region)
    answer = c.check(8)
    assert answer.status == "feasible"
    assert len(set(zip(region.tolist(), answer.witness.tolist(), strict=True))) == 8
    assert c.check(7).status == "infeasible"
    assert peak() < 400


def test_groups_with_pairs_among_them():
    """Distinct groups, and must-links across them: still decided and correct."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(200), 50)
    slot = np.tile(np.arange(50), 200)
    left, right = rng.integers(0, 10_000, size=(2, 3000))
    same = (slot[left] == slot[right]) & (groups[left] != groups[right])
    c = Constraints.distinct(groups) | Constraints(np.column_stack([left[same], right[same]]), n_items=10_000)
    answer = c.check(50)
    assert answer.status == "feasible"
    assert not c.violations(answer.witness)
