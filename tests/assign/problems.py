"""Random assignment problems with constraints of every kind, and small constraint sets with known answers."""

import math
import random

import numpy as np
import pytest

from coterie import Constraints
from coterie.exceptions import InfeasibleConstraintsError
from tests.constraints.strategies import GROUP_MAKERS, random_pairs, random_values


def random_costs(rng: random.Random, n: int, k: int) -> np.ndarray:
    """Plain, with ties, nearly alike, or far from 0."""
    kind = rng.choice(["plain", "plain", "ties", "offset", "row offsets"])
    values = np.array([[rng.random() for _ in range(k)] for _ in range(n)]).reshape(n, k)
    if kind == "ties":
        values = np.round(values * 3)
    if kind == "offset":
        values = values + 1e4
    if kind == "row offsets":
        values = values + np.array([[rng.choice([0.0, 1e3, -10.0])] for _ in range(n)])
    return values


def random_constraints(
    rng: random.Random, n: int, *, hard: float = 0.0, groups: bool = True, dense: float = 1.0
) -> Constraints:
    """Pairs with weights (some 0), confidences and hard flags, and groups of every kind, hard or soft."""
    must = random_pairs(rng, n, rng.randint(0, max(1, int(dense * n / 2))))
    cannot = random_pairs(rng, n, rng.randint(0, max(1, int(dense * n))))
    m = len(must) + len(cannot)
    c = Constraints(
        must,
        cannot,
        n_items=n,
        weight=[rng.choice([0.0, 0.1, 0.5, 1.0, 1.0, 3.0]) for _ in range(m)],
        confidence=[rng.choice([math.nan, math.nan, 0.6, 0.9, 1.0]) for _ in range(m)],
        hard=np.array([rng.random() < hard for _ in range(m)], dtype=bool),
    )
    if groups:
        for make in GROUP_MAKERS.values():
            if rng.random() < 0.3:
                values = random_values(rng, n, rng.randint(2, 4), rng.choice([0.3, 0.7]))
                weight = None if rng.random() < hard else rng.choice([0.0, 0.2, 1.0])
                c = c | make(np.array(values, dtype=object), weight=weight)
    return c


def feasible_constraints(rng: random.Random, n: int, k: int, *, hard: float = 0.0) -> tuple:
    """True constraints of every kind about a random labelling into k clusters, and the labelling."""
    truth = [rng.randrange(k) for _ in range(n)]
    pairs = random_pairs(rng, n, rng.randint(0, 2 * n))
    must = [(i, j) for i, j in pairs if truth[i] == truth[j]]
    cannot = [(i, j) for i, j in pairs if truth[i] != truth[j]]
    flags = np.array([rng.random() < hard for _ in pairs], dtype=bool)
    c = Constraints(must, cannot, n_items=n, weight=rng.choice([0.3, 1.0]), hard=flags)
    return c | _true_groups(rng, truth), truth


def _true_groups(rng: random.Random, truth: list[int]) -> Constraints:
    """A label group, an across group and a distinct group that the truth meets."""
    n = len(truth)
    c = Constraints(n_items=n)
    for make in (Constraints.from_labels, Constraints.across):
        if rng.random() < 0.4:
            c = c | make([y if rng.random() < 0.5 else -1 for y in truth])
    if rng.random() < 0.4:
        seen: set[tuple[int, int]] = set()
        codes = []
        for y in truth:
            code = rng.randrange(3)
            codes.append(-1 if (code, y) in seen else code)
            seen.add((code, y))
        c = c | Constraints.distinct(codes)
    return c


def scale_of(costs: np.ndarray, said=(), weight: float = 0.0) -> float:
    """What differences are compared with."""
    priced = weight * sum(s.strength for s in said if not s.hard)
    return float(np.abs(costs).sum() + priced) or 1.0


def fit_or_refuse(model, X, c, sample_weight=None):
    """The fitted model; None where the hard constraints cannot be met, which it has said."""
    more = {} if sample_weight is None else {"sample_weight": sample_weight}
    if c.only_hard().check(model.n_clusters, nonempty=True):
        return model.fit(X, constraints=c, **more)
    with pytest.raises(InfeasibleConstraintsError):
        model.fit(X, constraints=c, **more)
    return None
