"""Mixtures under constraints the slow and obvious way: write down every labelling of the items.

A labelling Y weighs prod_i exp(potential_i(Y_i)) times exp(beta) for each pair (i, j, beta) that shares a
label; beta = -inf forbids to share, beta = +inf forbids to differ. Hard must-links are not contracted here:
the items of one chunklet share its prior exponent instead (1 / size each under "chunklet" sampling, 1 each
under "point").
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product

import numpy as np
from scipy import optimize, stats
from scipy.special import logsumexp, softmax


@cache
def labelings(n: int, k: int) -> np.ndarray:
    """All k ** n of them, one a row."""
    every = np.array(list(product(range(k), repeat=n)), dtype=np.int64).reshape(k**n, n)
    every.flags.writeable = False
    return every


@dataclass(frozen=True)
class Enumerated:
    log_z: float
    marginals: np.ndarray  # (n, k)
    agreement: np.ndarray  # one for each pair


def enumerate_all(potential, pairs=(), clamp=None) -> Enumerated:
    """Sum over all labelings; log_z is -inf and the marginals are NaN where none is possible."""
    potential = np.asarray(potential, dtype=float)
    n, k = potential.shape
    every = labelings(n, k)
    score = potential[np.arange(n), every].sum(axis=1)
    for i, j, beta in pairs:
        same = every[:, i] == every[:, j]
        if beta == math.inf:
            score[~same] = -math.inf
        else:
            score[same] += beta
    for item, label in (clamp or {}).items():
        score[every[:, item] != label] = -math.inf
    log_z = float(logsumexp(score))
    if log_z == -math.inf:
        return Enumerated(log_z, np.full((n, k), np.nan), np.full(len(pairs), np.nan))
    mass = np.exp(score - log_z)
    marginals = np.array([[mass[every[:, i] == h].sum() for h in range(k)] for i in range(n)])
    agreement = np.array([mass[every[:, i] == every[:, j]].sum() for i, j, _ in pairs])
    return Enumerated(log_z, marginals.reshape(n, k), agreement)


# ---- what is known, as pairs of items -------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """Couplings between items, labels that are given, and the prior exponent of each item."""

    n: int
    pairs: tuple = ()
    clamp: dict = field(default_factory=dict)
    exponent: np.ndarray | None = None

    @property
    def e(self) -> np.ndarray:
        return np.ones(self.n) if self.exponent is None else self.exponent

    @property
    def named(self) -> np.ndarray:
        """Which items any pair or label speaks of."""
        found = np.zeros(self.n, dtype=bool)
        for i, j, _ in self.pairs:
            found[[i, j]] = True
        found[list(self.clamp)] = True
        return found


def chunklets(n: int, must) -> list[int]:
    """Number of the chunklet of each item: merge until nothing changes."""
    part = list(range(n))
    for i, j in must:
        old, new = part[i], part[j]
        part = [new if p == old else p for p in part]
    return part


def chunklet_exponent(n: int, must) -> np.ndarray:
    part = chunklets(n, must)
    return np.array([1.0 / part.count(p) for p in part])


def log_odds(confidence: float) -> float:
    confidence = min(confidence, 1 - 1e-6)
    return math.log(confidence) - math.log1p(-confidence)


def group_pairs(group):
    """The pairs that a label, distinct or across constraint stands for: (i, j, together?)."""
    for a, b in combinations(range(len(group.items)), 2):
        same = group.codes[a] == group.codes[b]
        if group.kind == "label" or (group.kind == "distinct") == same:
            yield int(group.items[a]), int(group.items[b]), group.kind == "label" and bool(same)


def read_known(
    constraints, price: Callable[[float, float, bool], float], sampling="point", obey="hard"
) -> Known:
    """Hard constraints (all of them with obey="all") get infinite couplings, soft ones a price.

    `price` gets the weight, the confidence (NaN if not stated) and whether it is a must-link; the sign is set
    here.
    The largest hard set of labels clamps its items: the h-th class in sorted order is component h. Only
    must-links make chunklets.
    """
    pairs: list = []
    clamp: dict = {}
    for table, sign in ((constraints.must_table, 1.0), (constraints.cannot_table, -1.0)):
        for row in range(table.n):
            i, j = table.ij[row].tolist()
            if table.weight[row] == 0 and not table.hard[row]:
                beta = 0.0  # kept, but without effect
            elif table.hard[row] or obey == "all":
                beta = math.inf
            else:
                beta = price(float(table.weight[row]), float(table.confidence[row]), sign > 0)
            pairs.append((i, j, sign * beta))
    must = [(i, j) for i, j, beta in pairs if beta == math.inf]
    groups = [group for group in constraints.groups if group.active]
    labels = [g for g in groups if g.kind == "label" and (g.weight is None or obey == "all")]
    naming = max(labels, key=lambda group: len(group.items), default=None)
    for group in groups:
        hard = group.weight is None or obey == "all"
        if group is naming:
            place = {name: h for h, name in enumerate(sorted(group.names))}
            clamp.update(
                (int(i), place[group.names[c]]) for i, c in zip(group.items, group.codes, strict=True)
            )
            continue
        for i, j, together in group_pairs(group):
            beta = math.inf if hard else price(group.weight, math.nan, together)
            pairs.append((i, j, beta if together else -beta))
    n = constraints.n_items
    return Known(n, tuple(pairs), clamp, chunklet_exponent(n, must) if sampling == "chunklet" else None)


def hard_known(constraints, sampling="chunklet") -> Known:
    """As `ConstrainedGaussianMixture` reads it."""
    return read_known(constraints, lambda w, g, must: math.inf, sampling, obey="all")


def penalized_known(constraints, confidence=0.95) -> Known:
    """As `PenalizedGaussianMixture` reads it."""
    return read_known(constraints, lambda w, g, must: w * log_odds(confidence if math.isnan(g) else g))


def priced_known(constraints, weight=1000.0) -> Known:
    """As `MeanFieldMixture` reads it; `weight` may be (must, cannot)."""
    must_price, cannot_price = weight if isinstance(weight, tuple) else (weight, weight)

    def price(w, g, must):
        return w * ((must_price if must else cannot_price) if math.isnan(g) else log_odds(g))

    return read_known(constraints, price)


# ---- the prior network ----------------------------------------------------------------------------------


def sure_items(known: Known, k: int) -> set[int]:
    """Items whose label is given, or follows from one that is."""
    sure = set(known.clamp)
    for _ in range(known.n):
        for i, j, beta in known.pairs:
            if (beta == math.inf or (k == 2 and beta == -math.inf)) and (i in sure or j in sure):
                sure |= {i, j}
    return sure


def prior(weights, known: Known) -> tuple[float, np.ndarray]:
    """log Z(alpha) and the expected counts sum_i e_i P(Y_i = l), at weights that sum to one.

    The event is that the pairs hold (or are as likely as they say). Labels are data, and so are pairs with an
    item whose label is sure: such items were drawn freely.
    """
    sure = sorted(sure_items(known, len(weights)))
    pairs = [pair for pair in known.pairs if pair[0] not in sure and pair[1] not in sure]
    with np.errstate(divide="ignore"):
        potential = np.outer(known.e, np.log(weights))
    potential[sure] = np.log(weights)
    answer = enumerate_all(potential, pairs)
    return answer.log_z, known.e @ answer.marginals


def z_disjoint_cannot_links(weights, c):
    return (1 - np.sum(np.square(weights))) ** c


def z_star(weights, leaves):
    weights = np.asarray(weights)
    return float(np.sum(weights * (1 - weights) ** leaves))


def z_clique(weights, size):
    """size! times the elementary symmetric polynomial."""
    return math.factorial(size) * sum(math.prod(chosen) for chosen in combinations(weights, size))


def z_chunklet(weights, size):
    return float(np.sum(np.asarray(weights) ** size))


def omega_pair(weights, beta):
    """Normaliser of one soft pair (the exponents that the chapter prints are swapped)."""
    return 1 + (math.exp(beta) - 1) * float(np.sum(np.square(weights)))


# ---- Gaussian densities and the closed-form M-step ------------------------------------------------------


def as_full(covariances, kind: str, k: int, d: int) -> np.ndarray:
    """Covariances of any type as k full matrices."""
    if kind == "full":
        return np.asarray(covariances)
    if kind == "tied":
        return np.array([covariances] * k)
    if kind == "diag":
        return np.array([np.diag(c) for c in covariances])
    return np.array([c * np.eye(d) for c in covariances])


def log_density(X, means, covariances, kind="full") -> np.ndarray:
    k, d = np.shape(means)
    full = as_full(covariances, kind, k, d)
    columns = [stats.multivariate_normal(m, c).logpdf(X) for m, c in zip(means, full, strict=True)]
    return np.column_stack([np.atleast_1d(column) for column in columns])


def m_step(X, R, kind="full", item_weight=None, pseudo=0.0):
    """Counts, means and covariances.

    `pseudo` items of the data's diagonal covariance are added to each matrix there is.
    """
    n, _d = X.shape
    v = np.ones(n) if item_weight is None else item_weight
    R = R * v[:, None]
    counts = R.sum(axis=0)
    means = (R.T @ X) / counts[:, None]
    scatter = np.array(
        [sum(R[i, h] * np.outer(X[i] - m, X[i] - m) for i in range(n)) for h, m in enumerate(means)]
    )
    spread = np.diag(X.var(axis=0))
    if kind == "full":
        covariances = np.array(
            [(S + pseudo * spread) / (N + pseudo) for S, N in zip(scatter, counts, strict=True)]
        )
    elif kind == "tied":
        covariances = (scatter.sum(axis=0) + pseudo * spread) / (counts.sum() + pseudo)
    else:
        diagonal = np.array(
            [
                (np.diag(S) + pseudo * np.diag(spread)) / (N + pseudo)
                for S, N in zip(scatter, counts, strict=True)
            ]
        )
        covariances = diagonal if kind == "diag" else diagonal.mean(axis=1)
    return counts, means, covariances


# ---- mixing weights -------------------------------------------------------------------------------------


def best_weights(counts, log_z: Callable[[np.ndarray], float]) -> np.ndarray:
    """argmax of sum_l N_l log alpha_l - log Z(alpha), by a general optimiser."""
    counts = np.asarray(counts, dtype=float)

    def loss(a):
        return log_z(softmax(a)) - counts @ np.log(softmax(a))

    # concave in log alpha, so any start will do
    found = optimize.minimize(loss, np.log(counts + 1e-3), method="BFGS", options={"gtol": 1e-9})
    return softmax(found.x)


def matching_size(edges) -> int:
    """Largest number of disjoint edges, by trying all subsets."""
    edges = list(edges)
    for size in range(len(edges), 0, -1):
        for chosen in combinations(edges, size):
            ends = [end for edge in chosen for end in edge]
            if len(set(ends)) == len(ends):
                return size
    return 0


def pseudo_weights(counts, c: float) -> np.ndarray:
    """Mixing weights of the pseudo-likelihood: c cannot-links taken for disjoint (one item an end)."""
    return best_weights(counts, lambda alpha: c * math.log(1 - np.sum(alpha**2)))


def grid_weights(counts, log_z: Callable[[np.ndarray], float], step: float) -> np.ndarray:
    """The best node of the grid on the simplex, the first in lexicographic order."""
    counts, m, best, at = np.asarray(counts), round(1 / step), -math.inf, None
    for node in product(range(m + 1), repeat=len(counts) - 1):
        if sum(node) > m:
            continue
        alpha = np.array([*node, m - sum(node)]) / m
        if (alpha[counts > 0] == 0).any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(np.where(counts > 0, counts * np.log(alpha), 0.0).sum()) - log_z(alpha)
        if value > best:
            best, at = value, alpha
    return at


# ---- EM -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


def potentials(X, state: State, known: Known, kind="full") -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.outer(known.e, np.log(state.weights)) + log_density(X, state.means, state.covariances, kind)


def posterior(X, state: State, known: Known, kind="full") -> Enumerated:
    """The E-step; its log_z is the joint log-likelihood log p(X, constraints)."""
    return enumerate_all(potentials(X, state, known, kind), known.pairs, known.clamp)


def log_likelihood(X, state: State, known: Known, kind="full", objective="joint") -> float:
    joint = posterior(X, state, known, kind).log_z
    return joint if objective == "joint" else joint - prior(state.weights, known)[0]


def log_prior_of_covariances(X, covariances, kind: str, k: int, pseudo: float) -> float:
    """The MAP term, up to a constant: -pseudo/2 (log |S| + tr(D S^-1)) for each matrix there is."""
    d = X.shape[1]
    full = as_full(covariances, kind, k, d)[: 1 if kind == "tied" else k]
    spread = np.diag(X.var(axis=0))
    return -0.5 * pseudo * sum(np.linalg.slogdet(S)[1] + np.trace(spread @ np.linalg.inv(S)) for S in full)


def em_step(X, state: State, known: Known, kind="full", update="joint", pseudo=0.0, step=0.01) -> State:
    R = posterior(X, state, known, kind).marginals
    _, means, covariances = m_step(X, R, kind, pseudo=pseudo)
    counts = known.e @ R
    if update == "joint":
        weights = counts / counts.sum()
    elif update == "exact":
        weights = best_weights(counts, lambda alpha: prior(alpha, known)[0])
    elif update == "grid":
        weights = grid_weights(counts, lambda alpha: prior(alpha, known)[0], step)
    elif update == "uniform":
        weights = np.full(len(counts), 1 / len(counts))
    else:  # "fixed"
        weights = state.weights
    return State(weights, means, covariances)


# ---- mean field -----------------------------------------------------------------------------------------


def bound(potential, pairs, q) -> float:
    """Lower bound on log Z of a factorial q: minus the free energy at temperature 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(q > 0, q * (potential - np.log(q)), 0.0).sum()
    return float(own + sum(beta * (q[i] @ q[j]) for i, j, beta in pairs))


def mean_field(potential, pairs, start=None, clamp=None, sweeps=100_000) -> tuple[np.ndarray, float]:
    """Sequential updates in index order from the independent posteriors; the bound never falls."""
    n, _ = potential.shape
    clamp = clamp or {}
    q = softmax(potential, axis=1) if start is None else np.array(start, dtype=float)
    for item, label in clamp.items():
        q[item] = np.arange(q.shape[1]) == label
    neighbours: list = [[] for _ in range(n)]
    for i, j, beta in pairs:
        neighbours[i].append((j, beta))
        neighbours[j].append((i, beta))
    value = bound(potential, pairs, q)
    for _ in range(sweeps):
        before = q.copy()
        for i in range(n):
            if i in clamp or not neighbours[i]:
                continue
            q[i] = softmax(potential[i] + sum(beta * q[j] for j, beta in neighbours[i]))
        now = bound(potential, pairs, q)
        assert now >= value - 1e-9 * (1 + abs(value))
        value = now
        if np.abs(q - before).max(initial=0.0) < 1e-14:
            break
    return q, value
