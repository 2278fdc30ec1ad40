"""`hard_pairs` against all labellings: everything met, never below the optimum, no dead ends by itself."""

import random

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from coterie import Constraints
from coterie.assign import hard_pairs
from coterie.exceptions import DeadEndError, InfeasibleConstraintsError, UndecidedError
from tests.assign.problems import feasible_constraints, random_constraints, random_costs, scale_of
from tests.constraints.strategies import assert_proves_infeasible
from tests.oracles import constraints as pairs_oracle
from tests.oracles import kmeans as oracle

BATCHES = range(6)
LINE = np.array([[0.0], [0.1], [0.2], [0.3]])
CHAIN = [(0, 2), (2, 3), (1, 3)]


def problems(seed: int, batch: int, count: int = 40, feasible: float = 0.6):
    for number in range(count):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(1, 8), rng.randint(1, 3)
        if rng.random() < feasible:
            c = feasible_constraints(rng, n, k, hard=rng.choice([0.0, 0.5]))[0]
        else:
            c = random_constraints(rng, n, hard=rng.choice([0.0, 0.5]), dense=rng.choice([0.3, 1.0]))
        yield rng, random_costs(rng, n, k), c


def assert_account_is_right(found, costs, c, said) -> float:
    n, k = costs.shape
    scale = scale_of(costs)
    assert found.labels.shape == (n,)
    assert found.labels.dtype == np.int32
    assert ((found.labels >= 0) & (found.labels < k)).all()
    assert oracle.obeys_all(found.labels.tolist(), said)
    assert not c.violations(found.labels)
    assert found.penalty == 0
    assert found.cost == pytest.approx(oracle.total_cost(costs, found.labels), rel=1e-9, abs=1e-12 * scale)
    return scale


@pytest.mark.parametrize("batch", BATCHES)
def test_local_is_feasible_honest_and_a_local_optimum(batch, seed):
    for rng, costs, c in problems(seed, batch):
        n, k = costs.shape
        said = oracle.statements(c)
        best = oracle.best_hard(costs, said)
        if best is None:
            with pytest.raises(InfeasibleConstraintsError) as error:
                hard_pairs(costs, c)
            assert_proves_infeasible(error.value.certificate, c, k)
            continue
        order = rng.choice(["degeneracy", "random", "input"])
        found = hard_pairs(costs, c, order=order, random_state=rng.randrange(100))
        scale = assert_account_is_right(found, costs, c, said)
        assert found.cost >= best[0] - 1e-9 * scale
        if found.optimal:
            assert found.cost == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale)
        labels = found.labels.tolist()
        for moved in oracle.single_moves(labels, oracle.parts(n, said), k):
            if oracle.obeys_all(moved, said):
                assert oracle.total_cost(costs, moved) >= found.cost - 1e-9 * scale, (moved, found)
        for swapped in oracle.kempe_swaps(labels, said, k):
            assert oracle.total_cost(costs, swapped) >= found.cost - 1e-9 * scale, (swapped, found)


@pytest.mark.parametrize("batch", BATCHES)
def test_exact_is_the_optimum(batch, seed):
    for _, costs, c in problems(seed, 100 + batch, count=25):
        said = oracle.statements(c)
        best = oracle.best_hard(costs, said)
        if best is None:
            with pytest.raises(InfeasibleConstraintsError):
                hard_pairs(costs, c, method="exact")
            continue
        found = hard_pairs(costs, c, method="exact")
        scale = assert_account_is_right(found, costs, c, said)
        assert found.cost == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale)
        assert found.optimal


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_exact_has_no_unit(factor, seed):
    for _, costs, c in problems(seed, 7, count=15, feasible=1.0):
        best = oracle.best_hard(costs, oracle.statements(c))
        found = hard_pairs(costs * factor, c, method="exact")
        assert found.cost / factor == pytest.approx(best[0], rel=1e-9, abs=1e-9 * scale_of(costs))


def test_one_costly_item_does_not_hide_the_others():
    """With a relative gap on the whole, the other items would be settled by chance."""
    rng = np.random.default_rng(0)
    costs = rng.random((8, 3))
    costs[0] += 1e8
    c = Constraints([(0, 1)], [(1, 2), (2, 3), (3, 4), (4, 1), (5, 6), (6, 7)], n_items=8)
    best = oracle.best_hard(costs - 1e8 * (np.arange(8) == 0)[:, None], oracle.statements(c))
    found = hard_pairs(costs, c, method="exact")
    assert found.cost - 1e8 == pytest.approx(best[0], rel=1e-6)


def test_exact_is_honest_about_wide_ranges(seed):
    """One item with far larger costs: the optimum for the others too, or no claim of it."""
    for number in range(25):
        rng = random.Random(f"{seed} wide {number}")
        n, k = rng.randint(3, 6), 3
        costs = np.array([[rng.random() for _ in range(k)] for _ in range(n)])
        costs[0] = [rng.random() * 10 ** rng.choice([6, 9, 12]) for _ in range(k)]
        c = Constraints(None, [(i, i + 1) for i in range(n - 1)], n_items=n)
        found = hard_pairs(costs, c, method="exact")
        best = oracle.best_hard(costs, oracle.statements(c))[1]
        excess = sum(costs[i, found.labels[i]] - costs[i, h] for i, h in enumerate(best))
        assert not (found.optimal and excess > 1e-9 * n), (excess, found)


def test_an_outlier_does_not_freeze_the_search():
    """One item with costs of 1e14 must not decide what is rounding for the others."""
    costs = np.array([[0.0, 1e14, 2e14], [0.9, 0.1, 0.5], [0.7, 0.6, 0.0]])
    c = Constraints(None, [(0, 1), (0, 2)], n_items=3)
    assert hard_pairs(costs, c, labels=[0, 2, 1]).labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", ["local", "exact"])
@pytest.mark.parametrize("batch", [0, 1])
def test_never_above_its_start(method, batch, seed):
    for rng, costs, c in problems(seed, 200 + batch, count=25, feasible=1.0):
        n, k = costs.shape
        said = oracle.statements(c)
        fine = oracle.all_labellings(n, k)
        fine = [row for row in rng.sample(fine.tolist(), min(len(fine), 300)) if oracle.obeys_all(row, said)]
        start = np.array(fine[0] if fine else oracle.best_hard(costs, said)[1])
        before = start.copy()
        found = hard_pairs(costs, c, labels=start, method=method, random_state=1)
        assert (start == before).all(), "the start was changed in place"
        scale = assert_account_is_right(found, costs, c, said)
        assert found.cost <= oracle.total_cost(costs, start) + 1e-9 * scale


def test_a_start_that_breaks_something_is_refused(seed):
    for rng, costs, c in problems(seed, 250, feasible=1.0):
        n, k = costs.shape
        start = [rng.randrange(k) for _ in range(n)]
        if oracle.obeys_all(start, oracle.statements(c)):
            assert_account_is_right(hard_pairs(costs, c, labels=start), costs, c, oracle.statements(c))
        else:
            with pytest.raises(ValueError, match="labels"):
                hard_pairs(costs, c, labels=start)


@pytest.mark.parametrize("batch", BATCHES)
def test_greedy_in_input_order_is_the_literal_pass(batch, seed):
    for _, costs, c in problems(seed, 300 + batch):
        said = oracle.statements(c)
        best = oracle.best_hard(costs, said)
        labels, stuck = oracle.greedy_by_part(costs, said)
        if best is None:
            with pytest.raises((InfeasibleConstraintsError, DeadEndError)):
                hard_pairs(costs, c, method="greedy", order="input")
        elif labels is None:
            with pytest.raises(DeadEndError) as error:
                hard_pairs(costs, c, method="greedy", order="input")
            assert any(str(item) in str(error.value) for item in stuck)
        else:
            found = hard_pairs(costs, c, method="greedy", order="input")
            assert_account_is_right(found, costs, c, said)
            assert found.labels.tolist() == labels


def test_local_is_never_worse_than_its_greedy_start(seed):
    for rng, costs, c in problems(seed, 350, count=100, feasible=1.0):
        random_state = rng.randrange(100)
        try:
            start = hard_pairs(costs, c, method="greedy", random_state=random_state)
        except DeadEndError:
            continue
        found = hard_pairs(costs, c, random_state=random_state)
        assert found.cost <= start.cost + 1e-9 * scale_of(costs)


def test_no_dead_end_where_the_degeneracy_is_small(seed):
    """Oracle B2: in the inductive order greedy cannot fail then."""
    tried = 0
    for number in range(150):
        rng = random.Random(f"{seed} {number}")
        n, k = rng.randint(2, 25), rng.randint(2, 4)
        c, _ = feasible_constraints(rng, n, k)
        if pairs_oracle.degeneracy(n, *pairs_oracle.all_pairs(c)) < k:
            tried += 1
            costs = random_costs(rng, n, k)
            found = hard_pairs(costs, c, method="greedy", order="degeneracy")
            assert_account_is_right(found, costs, c, oracle.statements(c))
    assert tried > 20


def test_c1_greedy_dead_end_on_a_feasible_line():
    """Oracle C1 of the specification: input order fails at item 3, the inductive order does not."""
    costs = oracle.gaps(LINE, [[0.0], [1.0]])
    c = Constraints(None, CHAIN, n_items=4)
    with pytest.raises(DeadEndError, match="3"):
        hard_pairs(costs, c, method="greedy", order="input")
    for method in ("greedy", "local", "exact"):
        labels = hard_pairs(costs, c, method=method, order="degeneracy").labels
        assert (labels[[0, 3]] == labels[0]).all()
        assert (labels[[1, 2]] == 1 - labels[0]).all()
    assert not c.violations(hard_pairs(costs, c, method="local", order="input").labels)


def test_a_dead_end_is_a_runtime_error_in_the_users_ids():
    ids = ["w", "x", "y", "zebra"]
    c = Constraints(None, [(ids[i], ids[j]) for i, j in CHAIN], ids=ids)
    with pytest.raises(RuntimeError, match="zebra"):
        hard_pairs(oracle.gaps(LINE, [[0.0], [1.0]]), c, method="greedy", order="input")


def test_local_and_exact_never_dead_end(seed):
    """Dense true constraints, on which any greedy order fails now and then."""
    for number in range(60):
        rng = random.Random(f"{seed} dense {number}")
        n, k = rng.randint(10, 40), rng.randint(2, 5)
        truth = [rng.randrange(k) for _ in range(n)]
        pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.3]
        cannot = [p for p in pairs if truth[p[0]] != truth[p[1]]]
        must = [p for p in pairs if truth[p[0]] == truth[p[1]] and rng.random() < 0.1]
        c = Constraints(must, cannot, n_items=n)
        costs = random_costs(rng, n, k)
        found = hard_pairs(costs, c, order="random", random_state=number)
        scale = assert_account_is_right(found, costs, c, oracle.statements(c))
        if number % 15 == 0:
            exact = hard_pairs(costs, c, method="exact")
            assert_account_is_right(exact, costs, c, oracle.statements(c))
            assert exact.cost <= found.cost + 1e-9 * scale


def test_ignores_weights_but_not_silent_statements():
    """Hard methods enforce every constraint with an effect; a soft one of weight 0 has none."""
    costs = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    c = Constraints(None, [(0, 1), (1, 2)], n_items=3, weight=[1e-12, 0.0])
    found = hard_pairs(costs, c, method="exact")
    assert found.labels[0] != found.labels[1]
    assert found.cost == 1.0
    assert found.labels[2] == 0


def test_no_constraints_is_the_argmin(seed):
    costs = random_costs(random.Random(seed), 40, 3)
    for method in ("local", "greedy", "exact"):
        found = hard_pairs(costs, Constraints(n_items=40), method=method)
        assert found.labels.tolist() == costs.argmin(axis=1).tolist()


def test_free_items_stay_at_their_argmin(seed):
    rng = random.Random(seed)
    costs = random_costs(rng, 60, 3)
    c = Constraints([(0, 1)], [(1, 2), (2, 3), (3, 1)], n_items=60)
    for method in ("local", "greedy", "exact"):
        assert (hard_pairs(costs, c, method=method).labels[4:] == costs[4:].argmin(axis=1)).all()


def test_an_ejection_frees_the_wanted_cluster():
    """Item 0 wants cluster 1, where its only opponent gains from leaving to cluster 2."""
    costs = np.array([[5.0, 0.0, 9.0], [9.0, 1.0, 1.1]])
    c = Constraints(None, [(0, 1)], n_items=2)
    found = hard_pairs(costs, c, labels=[0, 1])
    assert found.labels.tolist() == [1, 2]


def test_budget_spent_is_never_called_infeasible(seed):
    """A planted three-colouring near the threshold: an answer, or an honest shrug."""
    for number in range(5):
        rng = random.Random(f"{seed} {number}")
        n, k = 80, 3
        truth = [rng.randrange(k) for _ in range(n)]
        cannot = []
        while len(cannot) < int(2.3 * n):
            i, j = rng.sample(range(n), 2)
            if truth[i] != truth[j]:
                cannot.append((i, j))
        c = Constraints(None, cannot, n_items=n)
        costs = random_costs(rng, n, k)
        try:
            found = hard_pairs(costs, c, budget=1)
        except UndecidedError:
            continue
        assert not c.violations(found.labels)


def test_many_distinct_groups_stay_groups(seed):
    """20,000 items in frames of 4, and one pair of large groups that are apart."""
    rng = np.random.default_rng(seed)
    n, k = 20_000, 6
    c = Constraints.distinct(np.arange(n) // 4)
    sides = np.where(np.arange(n) % 4 == 0, np.arange(n) % 8 // 4, -1)
    c = c | Constraints.across(sides)
    found = hard_pairs(rng.random((n, k)), c, random_state=0)
    assert not c.violations(found.labels)


@pytest.mark.parametrize("batch", range(3))
def test_larger_problems_with_groups_are_local_optima(batch, seed):
    """Frames of a `distinct`, sides of an `across`, and pairs, from the greedy start and from the truth."""
    for number in range(12):
        rng = random.Random(f"{seed} {batch} {number}")
        n, k = rng.randint(12, 36), rng.randint(2, 6)
        c, truth = feasible_constraints(rng, n, k)
        place = [sum(truth[j] == truth[i] for j in range(i)) for i in range(n)]
        if rng.random() < 0.6:
            c = c | Constraints.distinct([p if rng.random() < 0.9 else -1 for p in place])
        if rng.random() < 0.4:
            c = c | Constraints.across([y if rng.random() < 0.4 else -1 for y in truth])
        costs, said = random_costs(rng, n, k), oracle.statements(c)
        start = truth if number % 2 else None
        found = hard_pairs(costs, c, labels=start, random_state=number)
        scale = assert_account_is_right(found, costs, c, said)
        if start is not None:
            assert found.cost <= oracle.total_cost(costs, truth) + 1e-9 * scale
        labels = found.labels.tolist()
        for moved in oracle.single_moves(labels, oracle.parts(n, said), k):
            if oracle.total_cost(costs, moved) < found.cost - 1e-9 * scale:
                assert not oracle.obeys_all(moved, said), (moved, found)
        for swapped in oracle.kempe_swaps(labels, said, k):
            assert oracle.total_cost(costs, swapped) >= found.cost - 1e-9 * scale


def test_full_frames_are_matched_best(seed):
    """As many items in a frame as clusters: each frame is an assignment problem of its own."""
    rng = np.random.default_rng(seed)
    for k in (2, 3, 5):
        costs = rng.random((4 * k, k))
        c = Constraints.distinct(np.repeat(np.arange(4), k))
        best = 0.0
        for frame in range(4):
            rows, columns = linear_sum_assignment(costs[frame * k : (frame + 1) * k])
            best += costs[frame * k + rows, columns].sum()
        assert hard_pairs(costs, c, method="exact").cost == pytest.approx(best)
        local = hard_pairs(costs, c, random_state=0).cost
        assert best - 1e-9 <= local <= 1.2 * best + 1e-9


def test_one_large_label_group_decides_as_one(seed):
    rng = np.random.default_rng(seed)
    n = 50_000
    costs = rng.random((n, 3))
    y = np.arange(n) % 2
    c = Constraints.from_labels(y)
    total = np.array([costs[y == 0].sum(axis=0), costs[y == 1].sum(axis=0)])
    best = min((total[0, a] + total[1, b], a, b) for a in range(3) for b in range(3) if a != b)
    for method in ("local", "exact"):
        found = hard_pairs(costs, c, method=method)
        assert found.cost == pytest.approx(best[0], rel=1e-9)


def test_infeasible_names_the_items():
    c = Constraints([("ann", "bob")], [("ann", "bob")], ids=["ann", "bob", "cy"])
    for method in ("local", "greedy", "exact"):
        with pytest.raises(InfeasibleConstraintsError, match=r"(?s)ann.*bob") as error:
            hard_pairs(np.zeros((3, 2)), c, method=method)
        assert error.value.certificate is not None
    triangle = Constraints(None, [(4, 5), (5, 6), (4, 6)], n_items=7)
    for method in ("local", "exact"):
        with pytest.raises(InfeasibleConstraintsError, match=r"(?s)4.*5.*6"):
            hard_pairs(np.zeros((7, 2)), triangle, method=method)
    with pytest.raises(InfeasibleConstraintsError):
        hard_pairs(np.zeros((2, 1)), Constraints(None, [(0, 1)], n_items=2))


def test_same_seed_same_labels(seed):
    rng = random.Random(seed)
    c, _ = feasible_constraints(rng, 80, 4)
    costs = random_costs(rng, 80, 4)
    for order in ("degeneracy", "random", "input"):
        runs = [hard_pairs(costs, c, order=order, random_state=5).labels.tolist() for _ in range(3)]
        assert runs[0] == runs[1] == runs[2]


def test_nonsense_is_refused():
    costs, c = np.zeros((3, 2)), Constraints([(0, 1)], n_items=3)
    with pytest.raises(ValueError, match="4"):
        hard_pairs(costs, Constraints([(0, 1)], n_items=4))
    with pytest.raises(ValueError, match="method"):
        hard_pairs(costs, c, method="magic")
    with pytest.raises(ValueError, match="order"):
        hard_pairs(costs, c, order="alphabetical")
    with pytest.raises(ValueError, match=r"NaN|finite"):
        hard_pairs(np.array([[0.0, np.nan]] * 3), c)
    for labels in ([0, 1], [0, 1, 2], [0, 0, -1]):
        with pytest.raises(ValueError, match="labels"):
            hard_pairs(costs, c, labels=labels)
