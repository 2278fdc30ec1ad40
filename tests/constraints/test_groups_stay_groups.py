"""Hundreds of groups of hundreds of items: millions of pairs that must never be written out."""

import tracemalloc

import numpy as np
import pytest

from coterie import Constraints

MB = 2**20
# As many groups as items in each, and the MB that they may take. The pairs alone would take 102 or 3,800.
sizes = pytest.mark.parametrize(
    ("size", "most"), [(300, 80), pytest.param(1000, 400, marks=pytest.mark.slow)]
)


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
    cell = np.bincount(groups * k + witness)
    assert cell.max() == 1


@sizes
def test_as_many_groups_as_items_in_each(peak, size, most):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(size), size))
    n_pairs = size * (size * (size - 1) // 2)
    c = Constraints.distinct(groups)
    assert c.n_items == size**2
    assert sum(group.n_pairs() for group in c.groups) == n_pairs
    answer = c.check(size)
    assert answer.status == "feasible"
    assert_distinct(answer.witness, groups, size)
    assert peak() < most
    assert not c.violations(answer.witness)
    broken = c.violations(np.zeros(size**2, dtype=int))
    assert broken.n_broken_pairs == n_pairs
    assert broken.n_pairs == n_pairs
    assert peak() < most


@sizes
def test_one_cluster_too_few(peak, size, most):
    """The certificate is about one group: naming it must not take pairs times items (an hour)."""
    groups = np.repeat(np.arange(size), size)
    c = Constraints.distinct(groups)
    answer = c.check(size - 1)
    assert answer.status == "infeasible"
    items = answer.certificate.items
    assert len(set(items.tolist())) == size
    assert len(set(groups[items].tolist())) == 1
    assert len(str(answer)) < 2000
    assert peak() < most


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
