"""Slow, obvious references for sizes: all labellings, a linear program, a flow; and one method that is wrong.

A `Rules` says what a labelling must meet. `best` tries every labelling, so it also knows loads, constraints
and either-or triples; `by_linprog` and `by_flow` know unit loads, which make both integral.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tests.oracles.kmeans import Said, all_labellings, is_broken


@dataclass(frozen=True)
class Rules:
    """Bounds of k clusters; of G groups in each (codes of the items, -1: none); loads of the items."""

    n: int
    lower: np.ndarray
    upper: np.ndarray
    codes: np.ndarray | None = None
    group_lower: np.ndarray | None = None  # (G, k)
    group_upper: np.ndarray | None = None
    loads: np.ndarray | None = None

    def moved(self, h: int, by: float = 1.0) -> "Rules":
        """Both bounds of one cluster shifted: what if it had to hold one more."""
        step = by * (np.arange(len(self.lower)) == h)
        return replace(self, lower=self.lower + step, upper=self.upper + step)

    @property
    def pinned(self) -> bool:
        """Whether the minima leave no item over."""
        return bool(self.lower.sum() == self.n)


def rules(n: int, k: int, lower=0, upper=math.inf, **others) -> "Rules":
    """One number for all clusters, or one for each."""
    lower, upper = (np.broadcast_to(np.asarray(b, dtype=float), (k,)).copy() for b in (lower, upper))
    return Rules(n, lower, upper, **others)


def sizes_of(labels, k: int, loads=None) -> np.ndarray:
    return np.array([np.sum((np.asarray(labels) == h) * (1.0 if loads is None else loads)) for h in range(k)])


def shortfall(labels, r: Rules) -> float:
    """By how much the bounds are missed in all."""
    k = len(r.lower)
    held = sizes_of(labels, k, r.loads)
    missed = float((np.maximum(r.lower - held, 0) + np.maximum(held - r.upper, 0)).sum())
    for g in range(0 if r.codes is None else len(r.group_lower)):
        held = sizes_of(np.where(r.codes == g, labels, -1), k, r.loads)
        missed += float(
            (np.maximum(r.group_lower[g] - held, 0) + np.maximum(held - r.group_upper[g], 0)).sum()
        )
    return missed


def keeps(labels, r: Rules, slack: float = 1e-9) -> bool:
    return shortfall(labels, r) <= slack


def _shortfalls(labellings: np.ndarray, r: Rules) -> np.ndarray:
    missed = np.zeros(len(labellings))
    for h in range(len(r.lower)):
        inside = labellings == h
        held = inside.sum(axis=1) if r.loads is None else inside @ r.loads
        missed += np.maximum(r.lower[h] - held, 0) + np.maximum(held - r.upper[h], 0)
        for g in range(0 if r.codes is None else len(r.group_lower)):
            mates = inside & (r.codes == g)
            held = mates.sum(axis=1) if r.loads is None else mates @ r.loads
            missed += np.maximum(r.group_lower[g, h] - held, 0) + np.maximum(held - r.group_upper[g, h], 0)
    return missed


# ---- either-or ----------------------------------------------------------------------------------------


def either_or_holds(labels: Sequence[int], triple: Sequence[int]) -> bool:
    """With j or with g, and these two apart."""
    i, j, g = triple
    return labels[j] != labels[g] and labels[i] in (labels[j], labels[g])


def differences(labels: Sequence[int], triple: Sequence[int], k: int) -> int:
    """The sum that the book bounds in (9.8)."""
    i, j, g = triple
    t = np.eye(k, dtype=int)[list(labels)]
    return int(np.abs(t[i] - t[j]).sum() + np.abs(t[i] - t[g]).sum())


# ---- every labelling ----------------------------------------------------------------------------------


def allowed(
    n: int,
    r: Rules,
    said: Iterable[Said] = (),
    triples: Iterable[Sequence[int]] = (),
    pins: Iterable[Sequence[int]] = (),
    *,
    soft: bool = False,
) -> np.ndarray:
    """All labellings that meet everything (with `soft`: all that is hard); `pins`: items, their clusters."""
    rows = all_labellings(n, len(r.lower))
    fine = _shortfalls(rows, r) <= 1e-9
    for s in said:
        if s.hard or not soft:
            fine &= (rows[:, s.i] == rows[:, s.j]) == s.together
    for i, j, g in triples:
        fine &= (rows[:, j] != rows[:, g]) & ((rows[:, i] == rows[:, j]) | (rows[:, i] == rows[:, g]))
    for i, h in pins:
        fine &= rows[:, i] == h
    return rows[fine]


def best(
    costs: np.ndarray,
    r: Rules,
    said: Sequence[Said] = (),
    triples: Sequence[Sequence[int]] = (),
    weight: float = math.inf,
    pins: Sequence[Sequence[int]] = (),
) -> float:
    """Least cost (inf if nothing meets it all); with a finite weight, soft constraints are paid instead."""
    costs = np.asarray(costs, dtype=np.float64)
    soft = math.isfinite(weight)
    rows = allowed(len(costs), r, said, triples, pins, soft=soft)
    totals = costs[np.arange(len(costs)), rows].sum(axis=1)
    if soft:
        for s in said:
            if not s.hard:
                totals = totals + weight * s.strength * ((rows[:, s.i] == rows[:, s.j]) != s.together)
    return float(totals.min()) if len(totals) else math.inf


def least_shortfall(n: int, r: Rules) -> float:
    return float(_shortfalls(all_labellings(n, len(r.lower)), r).min())


def soft_price(labels, said: Iterable[Said], weight: float) -> float:
    return weight * math.fsum(s.strength for s in said if not s.hard and is_broken(labels, s))


# ---- linear program -----------------------------------------------------------------------------------


def by_linprog(costs: np.ndarray, r: Rules) -> float:
    """Value of the relaxation; with unit loads it is the optimum (inf: infeasible)."""
    costs = np.asarray(costs, dtype=np.float64)
    n, k = costs.shape
    once = sparse.kron(sparse.eye(n), np.ones((1, k)))
    held = sparse.kron(np.ones((1, n)) if r.loads is None else r.loads[None], sparse.eye(k))
    rows, low, high = [held], [r.lower], [r.upper]
    for g in range(0 if r.codes is None else len(r.group_lower)):
        rows.append(sparse.kron((r.codes == g)[None].astype(float), sparse.eye(k)))
        low.append(r.group_lower[g])
        high.append(r.group_upper[g])
    table, low, high = sparse.vstack(rows).tocsr(), np.concatenate(low), np.concatenate(high)
    capped = np.isfinite(high)
    found = linprog(
        costs.ravel(),
        A_ub=sparse.vstack([table[capped], -table]),
        b_ub=np.concatenate([high[capped], -low]),
        A_eq=once,
        b_eq=np.ones(n),
        bounds=(0, None),
        method="highs-ds",
    )
    assert found.status in (0, 2), found.message
    return float(found.fun) if found.status == 0 else math.inf


# ---- flow ---------------------------------------------------------------------------------------------


def by_flow(costs: np.ndarray, r: Rules) -> tuple[float, np.ndarray | None, float]:
    """Cost and labels of a minimum-cost flow, and how far its integer costs may be off (unit loads)."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    costs = np.asarray(costs, dtype=np.float64)
    n, k = costs.shape
    over = costs - costs.min(axis=1, keepdims=True)
    scale = 2.0**40 / (float(over.max()) or 1.0)
    units = np.rint(over * scale).astype(np.int64)
    n_groups = 0 if r.codes is None else len(r.group_lower)
    end = n + k + n_groups * k
    supply = np.zeros(end + 1, dtype=np.int64)
    supply[:n], supply[end] = 1, -n
    arcs: list[tuple[int, int, int, int]] = []  # from, to, capacity, cost

    def arc(a: int, b: int, low: float, high: float) -> bool:
        low, high = int(low), int(min(high, n))
        supply[a] -= low
        supply[b] += low
        arcs.append((a, b, high - low, 0))
        return low <= high

    for i in range(n):
        g = -1 if r.codes is None else int(r.codes[i])
        base = n if g < 0 else n + k + g * k
        arcs += [(i, base + h, 1, int(units[i, h])) for h in range(k)]
    fine = [arc(n + h, end, r.lower[h], r.upper[h]) for h in range(k)]
    for g in range(n_groups):
        fine += [arc(n + k + g * k + h, n + h, r.group_lower[g, h], r.group_upper[g, h]) for h in range(k)]
    if not all(fine):
        return math.inf, None, 0.0
    flow = SimpleMinCostFlow()
    table = np.array(arcs, dtype=np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(table[:, 0], table[:, 1], table[:, 2], table[:, 3])
    flow.set_nodes_supplies(np.arange(end + 1), supply)
    status = flow.solve()
    if status == flow.INFEASIBLE:
        return math.inf, None, 0.0
    assert status == flow.OPTIMAL, status
    sent = np.array(flow.flows(np.arange(n * k))).reshape(n, k)
    labels = sent.argmax(axis=1)
    return float(costs[np.arange(n), labels].sum()), labels, n / scale


# ---- prices -------------------------------------------------------------------------------------------


def dual(costs: np.ndarray, prices: np.ndarray, r: Rules, sizes: np.ndarray) -> float:
    """What the prices prove that no labelling can beat."""
    costs = np.asarray(costs, dtype=np.float64)
    value = float((costs - prices).min(axis=1).sum())
    if r.pinned:
        return value + float(sizes @ prices)
    near = 1e-12 * float(np.abs(costs).sum())
    up, down = prices > near, prices < -near
    return value + float(r.lower[up] @ prices[up] + r.upper[down] @ prices[down])


def prices_by_difference(costs: np.ndarray, r: Rules, solve) -> np.ndarray:
    """How the optimum changes if a cluster had to hold one more: one more solve for each."""
    now = solve(costs, r)
    return np.array([solve(costs, r.moved(h)) - now for h in range(costs.shape[1])])


def pinned_differences(costs: np.ndarray, r: Rules, solve) -> np.ndarray:
    """[g, h]: how the optimum changes if h had to hold one more and g one fewer (inf: g holds none)."""
    k, now = costs.shape[1], solve(costs, r)
    table = np.zeros((k, k))
    for g in range(k):
        for h in range(k):
            if g != h:
                table[g, h] = solve(costs, r.moved(h).moved(g, -1)) - now if r.lower[g] > 0 else math.inf
    return table


# ---- the trap -----------------------------------------------------------------------------------------


def without_artificial_node(costs: np.ndarray, r: Rules) -> float:
    """Wrong: shortest paths from over-full to short clusters only; where one kind is missing, from or to any
    cluster with something to give or room to spare. Nothing may be taken back on the way."""
    n, k = costs.shape
    labels = costs.argmin(axis=1)
    for _ in range(10 * n + 10):
        held = sizes_of(labels, k)
        full, short = held > r.upper, held < r.lower
        if not full.any() and not short.any():
            break
        sources = full if full.any() else held > r.lower
        sinks = short if short.any() else held < r.upper
        step = np.full((k, k), math.inf)
        who = np.zeros((k, k), dtype=int)
        for g in range(k):
            members = np.flatnonzero(labels == g)
            for h in range(k):
                if len(members) and g != h:
                    extra = costs[members, h] - costs[members, g]
                    step[g, h], who[g, h] = extra.min(), members[extra.argmin()]
        far, last = np.where(sources, 0.0, math.inf), np.full(k, -1)
        for _ in range(k):
            for g in range(k):
                for h in range(k):
                    if far[g] + step[g, h] < far[h] - 1e-12:
                        far[h], last[h] = far[g] + step[g, h], g
        far[~sinks] = math.inf
        h = int(far.argmin())
        assert math.isfinite(far[h])
        while last[h] >= 0:
            labels[who[last[h], h]] = h
            h = int(last[h])
    return float(costs[np.arange(n), labels].sum())


# ---- medians ------------------------------------------------------------------------------------------


def medians_1d(x: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """Least summed distance of points on a line to k medians, by dynamic programming; and the medians."""
    x = np.sort(np.asarray(x, dtype=float).ravel())
    n = len(x)

    def spread(a: int, b: int) -> float:
        return float(np.abs(x[a:b] - np.median(x[a:b])).sum())

    value = np.full((k + 1, n + 1), math.inf)
    cut = np.zeros((k + 1, n + 1), dtype=int)
    value[0, 0] = 0.0
    for parts in range(1, k + 1):
        for b in range(parts, n + 1):
            tried = [value[parts - 1, a] + spread(a, b) for a in range(b)]
            cut[parts, b] = int(np.argmin(tried))
            value[parts, b] = min(tried)
    centres, b = [], n
    for parts in range(k, 0, -1):
        a = cut[parts, b]
        centres.append(float(np.median(x[a:b])))
        b = a
    return float(value[k, n]), np.array(centres[::-1])


# ---- k-means ------------------------------------------------------------------------------------------


def best_scatter(X: np.ndarray, r: Rules, spread) -> float:
    """Least `spread(members)` summed over the clusters, over all labellings within the bounds."""
    rows = allowed(len(X), r)
    known: dict[bytes, float] = {}

    def of(mask: np.ndarray) -> float:
        key = mask.tobytes()
        if key not in known:
            known[key] = spread(X[mask]) if mask.any() else 0.0
        return known[key]

    return min(sum(of(row == h) for h in range(len(r.lower))) for row in rows)


def around_mean(members: np.ndarray) -> float:
    return float(((members - members.mean(axis=0)) ** 2).sum())


def around_median(members: np.ndarray) -> float:
    return float(np.abs(members - np.median(members, axis=0)).sum())
