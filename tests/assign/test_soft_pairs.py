"""`soft_pairs` against all labellings: feasible, never below the optimum, never above its start."""

import random

import numpy as np
import pytest

from coterie import Constraints
from coterie.assign import soft_pairs
from coterie.exceptions import InfeasibleConstraintsError
from tests.assign.problems import feasible_constraints, random_constraints, random_costs, scale_of
from tests.oracles import kmeans as oracle

BATCHES = range(6)


def problems(seed: int, batch: int, count: int = 40, **more):
    """Small random problems; the number says which one failed."""
    for number in range(count):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(1, 8), rng.randint(1, 3)
        c = random_constraints(rng, n, hard=rng.choice([0.0, 0.0, 0.2]), **more)
        yield rng, random_costs(rng, n, k), c, rng.choice([0.0, 0.3, 1.0, 20.0])


def assert_account_is_right(found, costs, said, weight) -> float:
    """Labels, cost and penalty agree; everything hard is met. Returns the scale for comparisons."""
    n, k = costs.shape
    scale = scale_of(costs, said, weight)
    assert found.labels.shape == (n,)
    assert found.labels.dtype == np.int32
    assert ((found.labels >= 0) & (found.labels < k)).all()
    labels = found.labels.tolist()
    assert oracle.obeys_hard(labels, said)
    assert found.penalty == pytest.approx(weight * oracle.price(labels, said), rel=1e-9, abs=1e-12 * scale)
    total = oracle.total_cost(costs, labels) + weight * oracle.price(labels, said)
    assert found.cost == pytest.approx(total, rel=1e-9, abs=1e-12 * scale)
    return scale


@pytest.mark.parametrize("batch", BATCHES)
def test_local_is_feasible_honest_and_a_local_optimum(batch, seed):
    for rng, costs, c, weight in problems(seed, batch):
        said = oracle.statements(c)
        best = oracle.best_soft(costs, said, weight)
        if best is None:
            with pytest.raises(InfeasibleConstraintsError) as error:
                soft_pairs(costs, c, weight=weight)
            assert error.value.certificate is not None
            continue
        found = soft_pairs(costs, c, weight=weight, random_state=rng.randrange(100))
        scale = assert_account_is_right(found, costs, said, weight)
        assert found.cost >= best[0] - 1e-9 * scale
        if found.optimal:
            assert found.cost == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale)
        n, k = costs.shape
        units = oracle.parts(n, said, hard_only=True) + oracle.parts(n, said)
        for moved in oracle.single_moves(found.labels.tolist(), units, k):
            if oracle.obeys_hard(moved, said):
                total = oracle.total_cost(costs, moved) + weight * oracle.price(moved, said)
                assert total >= found.cost - 1e-9 * scale, (moved, found)


@pytest.mark.parametrize("batch", BATCHES)
def test_exact_is_the_optimum(batch, seed):
    for rng, costs, c, weight in problems(seed, 100 + batch, count=25):
        said = oracle.statements(c)
        best = oracle.best_soft(costs, said, weight)
        if best is None:
            with pytest.raises(InfeasibleConstraintsError):
                soft_pairs(costs, c, weight=weight, method="exact")
            continue
        found = soft_pairs(costs, c, weight=weight, method="exact", random_state=rng.randrange(100))
        scale = assert_account_is_right(found, costs, said, weight)
        assert found.cost == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale)
        assert found.optimal


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_exact_has_no_unit(factor, seed):
    """A solver's absolute tolerances and its default gap of 1e-4 must not decide."""
    for _, costs, c, weight in problems(seed, 7, count=12):
        said = oracle.statements(c)
        best = oracle.best_soft(costs, said, weight)
        if best is None:
            continue
        found = soft_pairs(costs * factor, c, weight=weight * factor, method="exact")
        scale = scale_of(costs, said, weight)
        assert found.cost / factor == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("method", ["local", "exact"])
def test_a_huge_weight_keeps_what_can_be_kept(method, seed):
    """Oracle D3: from a feasible start nothing is broken; the exact method finds the cheapest such labels."""
    for number in range(20):
        rng = random.Random(f"{seed} {number}")
        n, k = rng.randint(2, 8), rng.randint(2, 3)
        c, truth = feasible_constraints(rng, n, k)
        costs = random_costs(rng, n, k)
        found = soft_pairs(costs, c, weight=1e9, labels=truth, method=method)
        assert found.penalty == 0
        assert not c.violations(found.labels)
        if method == "exact":
            best = oracle.best_hard(costs, oracle.statements(c))
            assert found.cost == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale_of(costs))


@pytest.mark.parametrize("weight", [1e9, 1e12, 1e15])
def test_a_huge_weight_does_not_freeze_the_search(weight):
    """What counts as an improvement is measured by what the item compares, not by the dearest pair."""
    costs = np.array([[1.0, 0.0, 0.5], [0.3, 0.0, 1.0], [0.0, 0.2, 1.0]])
    c = Constraints(None, [(0, 1)], n_items=3)
    found = soft_pairs(costs, c, weight=weight, labels=[0, 2, 1])
    assert found.cost == pytest.approx(0.3) or found.cost == pytest.approx(0.5)
    assert found.penalty == 0


def test_an_outlier_does_not_freeze_the_search(seed):
    """One item with costs of 1e14 must not decide what is rounding for the others."""
    rng = np.random.default_rng(seed)
    costs = rng.random((9, 3))
    costs[8] = [0.0, 1e14, 2e14]
    c = Constraints(None, [(i, 8) for i in range(8)], n_items=9, weight=1e-3)
    found = soft_pairs(costs, c, labels=np.full(9, 1))
    best = oracle.best_soft(costs[:, :], oracle.statements(c))
    assert found.labels.tolist() == best[1].tolist()


def test_exact_is_honest_about_wide_ranges(seed):
    """Dear pairs and one outlier: the optimum, or no claim of it."""
    for number in range(25):
        rng = random.Random(f"{seed} wide {number}")
        n, k = rng.randint(2, 6), rng.randint(2, 3)
        costs = np.array([[rng.random() for _ in range(k)] for _ in range(n)])
        if number % 2:
            costs[0] = [rng.random() * 10 ** rng.choice([9, 12]) for _ in range(k)]
        c, _ = feasible_constraints(rng, n, k)
        weight = 1.0 if number % 2 else 10 ** rng.choice([9.0, 12.0, 14.0])
        found = soft_pairs(costs, c, weight=weight, method="exact")
        best = oracle.best_soft(costs, oracle.statements(c), weight)
        excess = sum(costs[i, found.labels[i]] - costs[i, h] for i, h in enumerate(best[1]))
        excess += weight * (
            oracle.price(found.labels, oracle.statements(c)) - oracle.price(best[1], oracle.statements(c))
        )
        assert not (found.optimal and excess > 1e-9 * n), (excess, found)


@pytest.mark.parametrize("method", ["local", "exact"])
@pytest.mark.parametrize("batch", [0, 1])
def test_never_above_its_start(method, batch, seed):
    for rng, costs, c, weight in problems(seed, 200 + batch, count=20):
        n, k = costs.shape
        said = oracle.statements(c)
        if oracle.best_soft(costs, said, weight) is None:
            continue
        start = np.array([rng.randrange(k) for _ in range(n)])
        before = start.copy()
        found = soft_pairs(costs, c, weight=weight, labels=start, method=method, random_state=0)
        assert (start == before).all(), "the start was changed in place"
        scale = assert_account_is_right(found, costs, said, weight)
        if oracle.obeys_hard(start.tolist(), said):
            from_start = oracle.total_cost(costs, start) + weight * oracle.price(start.tolist(), said)
            assert found.cost <= from_start + 1e-9 * scale


def test_without_a_start_never_above_the_nearest_labels(seed):
    for _, costs, c, weight in problems(seed, 300):
        said = oracle.statements(c)
        nearest = costs.argmin(axis=1).tolist()
        if any(s.hard for s in said):
            continue
        limit = oracle.total_cost(costs, nearest) + weight * oracle.price(nearest, said)
        assert soft_pairs(costs, c, weight=weight).cost <= limit + 1e-9 * scale_of(costs, said, weight)


@pytest.mark.parametrize("method", ["local", "exact"])
def test_items_without_constraints_stay_at_their_argmin(method, seed):
    for rng, costs, c, weight in problems(seed, 400, count=15):
        n, k = costs.shape
        said = oracle.statements(c)
        if oracle.best_soft(costs, said, weight) is None:
            continue
        more = 5  # items that nobody speaks of
        costs = np.vstack([costs, random_costs(rng, more, k)])
        wide = Constraints(n_items=n + more) | _stretched(c, n + more)
        for start in (None, np.array([rng.randrange(k) for _ in range(n + more)])):
            labels = soft_pairs(costs, wide, weight=weight, labels=start, method=method).labels
            loose = sorted(set(range(n + more)) - oracle.spoken_of(oracle.statements(wide)))
            assert len(loose) >= more
            assert (costs[loose, labels[loose]] == costs[loose].min(axis=1)).all()
            if start is None:
                assert labels[loose].tolist() == costs[loose].argmin(axis=1).tolist()


def _stretched(c, n_items):
    """The same constraints about more items."""
    frame = c.to_frame("pandas")
    return Constraints.from_frame(frame, n_items=n_items) if len(frame) else Constraints(n_items=n_items)


def test_weight_zero_is_the_argmin(seed):
    for _, costs, c, _ in problems(seed, 500):
        if any(s.hard for s in oracle.statements(c)):
            continue
        found = soft_pairs(costs, c, weight=0.0)
        assert found.labels.tolist() == costs.argmin(axis=1).tolist()
        assert found.penalty == 0


def test_a_statement_of_weight_zero_frees_its_items():
    costs = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    c = Constraints([(0, 1)], [(0, 2)], n_items=3, weight=0.0)
    assert soft_pairs(costs, c, weight=1e6).labels.tolist() == [0, 1, 0]
    groups = Constraints.from_labels([4, 4, 5], weight=0.0) | Constraints.distinct([1, -1, 1], weight=0.0)
    assert soft_pairs(costs, groups, weight=1e6).labels.tolist() == [0, 1, 0]


def test_a_hard_pair_of_weight_zero_holds():
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    c = Constraints([(0, 1)], n_items=2, weight=0.0, hard=True)
    for method in ("local", "exact"):
        found = soft_pairs(costs, c, weight=0.0, method=method)
        assert found.labels[0] == found.labels[1]
        assert found.cost == 1.0


def test_confidence_prices_by_log_odds():
    """0.9 is worth log 9: the pair is broken below that difference of costs, and kept above."""
    c = Constraints([(0, 1)], n_items=2, weight=2.0, confidence=0.9)
    price = 2 * np.log(9)
    for gap, broken in ((price * 0.99, False), (price * 1.01, True)):
        costs = np.array([[0.0, 1e9], [gap, 0.0]])
        found = soft_pairs(costs, c)
        assert (found.labels[0] != found.labels[1]) == broken
        assert found.penalty == pytest.approx(price if broken else 0.0)


def test_confidence_one_has_a_finite_price():
    c = Constraints([(0, 1)], n_items=2, confidence=1.0)
    costs = np.array([[0.0, 1e9], [1e9, 0.0]])
    found = soft_pairs(costs, c)
    assert found.penalty == pytest.approx(np.log((1 - 1e-6) / 1e-6))


def test_two_must_linked_items_move_together():
    """Each alone would have to break the pair first; a move of the whole component finds it."""
    costs = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    c = Constraints([(0, 1), (1, 2), (0, 2)], n_items=3)
    assert soft_pairs(costs, c, weight=10.0, labels=[0, 0, 0]).labels.tolist() == [1, 1, 1]


def test_start_that_breaks_hard_pairs_is_mended():
    costs = np.zeros((4, 2))
    c = Constraints([(0, 1)], [(1, 2), (2, 3)], n_items=4, hard=True)
    for start in ([0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1]):
        assert not c.violations(soft_pairs(costs, c, labels=start).labels)


def test_same_seed_same_labels(seed):
    rng = random.Random(seed)
    c = random_constraints(rng, 60, dense=2.0)
    costs = random_costs(rng, 60, 4)
    runs = [soft_pairs(costs, c, random_state=3).labels.tolist() for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]


def test_a_pair_asked_both_ways_is_settled_by_weight():
    costs = np.zeros((2, 2))
    for must, cannot in ((3.0, 1.0), (1.0, 3.0)):
        c = Constraints([(0, 1)], [(0, 1)], n_items=2, weight=[must, cannot])
        found = soft_pairs(costs, c, weight=2.0)
        assert (found.labels[0] == found.labels[1]) == (must > cannot)
        assert found.penalty == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["distinct", "across", "label"])
def test_large_groups_stay_groups(kind, seed):
    """As pairs, these groups would take gigabytes."""
    rng = np.random.default_rng(seed)
    n, k = 30_000, 4
    costs = rng.random((n, k))
    codes = rng.integers(0, 3, n)
    make = {"distinct": Constraints.distinct, "across": Constraints.across, "label": Constraints.from_labels}
    c = make[kind](codes, weight=1e-9)
    found = soft_pairs(costs, c, max_sweeps=2, random_state=0)
    assert found.penalty == pytest.approx(c.violations(found.labels).cost, rel=1e-9)
    base = costs[np.arange(n), found.labels].sum()
    assert found.cost == pytest.approx(base + found.penalty, rel=1e-9)


@pytest.mark.parametrize("batch", range(3))
def test_groups_too_large_to_be_written_out_as_pairs(batch, seed):
    """Large groups are counted, not listed: the optimum and the local optima are those of their pairs."""
    for number in range(8):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.choice([(10, 3), (12, 2), (13, 2)])
        costs = random_costs(rng, n, k)
        c = random_constraints(rng, n, groups=False, hard=rng.choice([0.0, 0.1]), dense=0.3)
        for kind, n_codes in (("distinct", 1), ("across", 2), ("label", 2)):
            if rng.random() < 0.6:
                codes = [rng.randrange(n_codes) if rng.random() < 0.9 else -1 for _ in range(n)]
                make = {"distinct": Constraints.distinct, "across": Constraints.across}
                c = c | make.get(kind, Constraints.from_labels)(codes, weight=rng.choice([0.05, 0.3]))
        said = oracle.statements(c)
        best = oracle.best_soft(costs, said)
        if best is None:
            continue
        found = soft_pairs(costs, c, random_state=number)
        scale = assert_account_is_right(found, costs, said, 1.0)
        assert found.cost >= best[0] - 1e-9 * scale
        units = oracle.parts(n, said, hard_only=True) + oracle.parts(n, said)
        for moved in oracle.single_moves(found.labels.tolist(), units, k):
            if oracle.obeys_hard(moved, said):
                total = oracle.total_cost(costs, moved) + oracle.price(moved, said)
                assert total >= found.cost - 1e-9 * scale, (moved, found)
        if number % 2:
            exact = soft_pairs(costs, c, method="exact")
            assert_account_is_right(exact, costs, said, 1.0)
            assert exact.cost == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale)


def test_any_kind_of_array():
    costs = np.array([[0, 2], [2, 0], [0, 5]])
    c = Constraints([(0, 1)], [(1, 2)], n_items=3)
    expected = soft_pairs(costs.astype(float), c, weight=3.0).labels.tolist()
    frozen = costs.astype(float)
    frozen.flags.writeable = False
    for given in (costs, costs.astype(np.float32), np.asfortranarray(costs.astype(float)), frozen):
        assert soft_pairs(given, c, weight=3.0).labels.tolist() == expected
    for start in ([0, 1, 0], np.array([0, 1, 0], dtype=np.int8), np.array([0, 1, 0], dtype=np.uint64)):
        assert soft_pairs(costs, c, weight=3.0, labels=start).labels.shape == (3,)


def test_nonsense_is_refused():
    costs = np.zeros((3, 2))
    c = Constraints([(0, 1)], n_items=3)
    with pytest.raises(ValueError, match="4"):
        soft_pairs(costs, Constraints([(0, 1)], n_items=4))
    with pytest.raises(ValueError, match="weight"):
        soft_pairs(costs, c, weight=-1.0)
    with pytest.raises(ValueError, match="method"):
        soft_pairs(costs, c, method="magic")
    for labels in ([0, 1], [0, 1, 2], [0, 1, -1]):
        with pytest.raises(ValueError, match="labels"):
            soft_pairs(costs, c, labels=labels)
    with pytest.raises(ValueError, match=r"NaN|finite"):
        soft_pairs(np.array([[0.0, np.nan]] * 3), c)
    with pytest.raises(ValueError, match=r"costs|shape"):
        soft_pairs(np.zeros(3), c)


def test_hard_contradiction_names_the_items():
    c = Constraints([("a", "b"), ("b", "c")], [("a", "c")], ids=["a", "b", "c"], hard=True)
    with pytest.raises(InfeasibleConstraintsError, match=r"(?s)a.*b.*c") as error:
        soft_pairs(np.zeros((3, 2)), c)
    assert error.value.certificate is not None
    soft = Constraints([(0, 1), (1, 2)], [(0, 2)], n_items=3)
    assert soft_pairs(np.zeros((3, 2)), soft).penalty == pytest.approx(1.0)


def test_one_cluster_breaks_soft_cannot_links_only():
    assert soft_pairs(np.zeros((2, 1)), Constraints(None, [(0, 1)], n_items=2)).penalty == 1.0
    with pytest.raises(InfeasibleConstraintsError):
        soft_pairs(np.zeros((2, 1)), Constraints(None, [(0, 1)], n_items=2, hard=True))
