"""The transport with few candidates at a time finds what it finds with all of them."""

from importlib import import_module

import numpy as np
import pytest

from coterie.assign._transport import NO_KINDS, InfeasibleFlowError, Limits, Transport

flow_state, transport = map(
    import_module, ("coterie.assign._transport.flow_state", "coterie.assign._transport.transport")
)


@pytest.fixture
def few_candidates(monkeypatch):
    """Heaps hold next to nothing, and never reach farther: every problem is rebuilt again and again."""
    monkeypatch.setattr(transport, "FEW_ROWS", 0)
    for name, value in (("FEW_ROWS", 0), ("_SHARE", 0.05), ("_MANY_ARCS", 0), ("_ARCS_EACH", 0)):
        monkeypatch.setattr(flow_state, name, value)


def problem(rng):
    """Random costs and bounds; some with kinds, ties, nearly tied columns or far ones."""
    n, k = int(rng.integers(30, 80)), int(rng.integers(2, 7))
    costs = rng.random((n, k))
    style = rng.integers(4)
    if style == 0:
        costs = np.round(costs * 5)
    elif style == 1:
        costs[:, : k // 2] *= 1e-3
    elif style == 2:
        costs += 10.0 * (rng.random((n, k)) < 0.3)
    n_kinds = int(rng.choice([1, 1, 2]))
    kind = rng.integers(0, 2, n).astype(np.int32) if n_kinds > 1 else NO_KINDS
    low = rng.integers(0, n // k + 1, k).astype(float)
    high = np.maximum(low, rng.integers(n // k, n + 1, k)).astype(float)
    kind_low = rng.integers(0, n // (4 * k) + 1, (n_kinds, k)).astype(float) * (n_kinds > 1)
    return costs, Limits(low, high, kind, kind_low, np.full((n_kinds, k), 2.0 * n), n)


def cost_of(costs, limits, start=None):
    try:
        flow = Transport(limits).solve(costs, start)
    except InfeasibleFlowError:
        return None
    assert flow.missed == 0
    return costs[np.arange(limits.n), flow.labels].sum()


def test_few_candidates_are_enough(few_candidates, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    problems = [problem(rng) for _ in range(150)]
    found = [cost_of(*one) for one in problems]
    warm = [cost_of(*one, rng.normal(size=Transport(one[1]).n_nodes)) for one in problems]
    for module in (flow_state, transport):
        monkeypatch.setattr(module, "FEW_ROWS", 10**9)
    for one, cold, other in zip(problems, found, warm, strict=True):
        best = cost_of(*one)
        assert cold == (best if best is None else pytest.approx(best, rel=1e-12, abs=1e-12))
        assert other == (best if best is None else pytest.approx(best, rel=1e-12, abs=1e-12))


def test_prices_move_before_the_first_path(few_candidates):
    """All candidates near at hand are ties of no use: the way out lies behind several rebuildings."""
    rng = np.random.default_rng(0)
    n, m = 400, 20
    costs = np.full((n, 8), 10.0)
    costs[:-m, :6] = rng.uniform(0, 1e-3, (n - m, 6))
    costs[:-m, 6] = rng.uniform(0.02, 1.0, n - m)
    costs[-m:, 6], costs[-m:, 7] = 0.005 + rng.uniform(0, 1e-4, m), 0.0
    low = np.array([0, 0, 0, 0, 0, 0, 10, 0], dtype=float)
    limits = Limits(low, np.full(8, 2.0 * n), NO_KINDS, np.zeros((1, 8)), np.full((1, 8), 2.0 * n), n)
    flow = Transport(limits).solve(costs)
    assert np.bincount(flow.labels[-m:], minlength=8)[6] == 10


def test_a_transport_may_be_used_again(seed):
    """What it remembers of the last costs changes nothing but the time."""
    rng = np.random.default_rng(seed)
    n, k = 3000, 6
    size = np.full(k, n / k)
    limits = Limits(size, size, NO_KINDS, np.zeros((1, k)), np.full((1, k), 2.0 * n), n)
    again, potentials = Transport(limits), None
    for _ in range(4):
        costs = rng.random((n, k)) * rng.uniform(0.1, 3.0, k)
        flow = again.solve(costs, potentials)
        potentials = flow.potentials
        best = Transport(limits).solve(costs)
        own = np.arange(n)
        assert costs[own, flow.labels].sum() == pytest.approx(costs[own, best.labels].sum(), rel=1e-12)
