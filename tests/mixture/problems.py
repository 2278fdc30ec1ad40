"""Small graphs, mixtures and constraints for the tests of mixtures."""

import math
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from coterie import Constraints, MeanFieldMixture
from coterie.mixture._inference.elimination import eliminate
from coterie.mixture._inference.junction import JunctionTree
from tests.oracles import mixture as oracle


class WarmField(MeanFieldMixture):
    """Every E-step goes on from the last probabilities."""

    _e_start = "warm"


class ContinuationField(MeanFieldMixture):
    """Every E-step begins at weak couplings that grow."""

    _e_start = "continuation"


def n_parts(n: int, edges) -> int:
    """Number of connected components."""
    rows = np.array([e[0] for e in edges], dtype=int)
    columns = np.array([e[1] for e in edges], dtype=int)
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return int(connected_components(graph, directed=False)[0])


def connected_graphs(n: int):
    """The edges of every connected graph on n numbered nodes."""
    every = list(combinations(range(n), 2))
    for mask in range(2 ** len(every)):
        edges = [edge for bit, edge in enumerate(every) if mask >> bit & 1]
        if len(edges) >= n - 1 and n_parts(n, edges) == 1:
            yield edges


def random_graph(rng, n: int, extra: float):
    """A random tree on shuffled nodes, and each other edge with probability `extra`."""
    order = rng.permutation(n).tolist()
    edges = {tuple(sorted((order[t], order[int(rng.integers(t))]))) for t in range(1, n)}
    edges |= {edge for edge in combinations(range(n), 2) if rng.random() < extra}
    return sorted(edges)


def random_couplings(rng, m: int, hard: float = 0.25, strength: float = 2.0):
    """Both signs; some forbid."""
    return [-math.inf if rng.random() < hard else float(b) for b in rng.normal(0.0, strength, m)]


def random_potential(rng, n: int, k: int, spread: float = 2.0, barred: float = 0.0):
    """Log potentials; some labels are barred, never all of a node."""
    potential = rng.normal(0.0, spread, (n, k))
    out = rng.random((n, k)) < barred
    out[np.arange(n), rng.integers(k, size=n)] = False
    potential[out] = -math.inf
    return potential


def random_network(rng, edges, n: int, k: int, hard=0.25, spread=2.0, barred=0.15, strength=2.0):
    """Potential, pairs and the enumerated answer of a network that has at least one labelling."""
    for attempt in range(100):
        share = hard * (1 - attempt / 50) if attempt < 50 else 0.0
        beta = random_couplings(rng, len(edges), share, strength)
        potential = random_potential(rng, n, k, spread, barred if attempt < 50 else 0.0)
        pairs = [(*edge, b) for edge, b in zip(edges, beta, strict=True)]
        answer = oracle.enumerate_all(potential, pairs)
        if answer.log_z > -math.inf:
            return potential, pairs, answer
    raise AssertionError


def junction_tree(n: int, k: int, ends, beta) -> JunctionTree:
    """The junction tree of a narrow graph."""
    neighbours: dict = {v: set() for v in range(n)}
    for u, v in ends.tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)
    steps, _ = eliminate(neighbours, k, 10**7)
    return JunctionTree(k, ends, beta, steps)


# ---- mixtures -------------------------------------------------------------------------------------------

LINE = np.array([[-1.5], [-0.5], [0.4], [1.8]])
LINE_START = {
    "weights_init": np.array([0.5, 0.3, 0.2]),
    "means_init": np.array([[-2.0], [0.0], [2.0]]),
    "precisions_init": np.ones((3, 1, 1)),
}
LINE_STATE = oracle.State(LINE_START["weights_init"], LINE_START["means_init"], np.ones((3, 1, 1)))


def precisions_of(covariances, kind: str):
    """Inverse of covariances of any type."""
    return np.linalg.inv(covariances) if kind in ("full", "tied") else 1.0 / np.asarray(covariances)


def random_state_of(rng, X, k: int, kind: str = "full") -> oracle.State:
    """Weights, means and covariances of about the size of the data."""
    d = X.shape[1]
    weights = rng.dirichlet(np.full(k, 5.0))
    means = X[rng.choice(len(X), k, replace=False)] + 0.1 * rng.normal(size=(k, d))
    spread = X.var(axis=0).mean() * rng.uniform(0.4, 1.2, size=k)
    if kind == "full":
        skew = rng.normal(0.0, 0.2, (k, d, d))
        covariances = np.array([s * (np.eye(d) + a @ a.T) for s, a in zip(spread, skew, strict=True)])
    elif kind == "tied":
        skew = rng.normal(0.0, 0.2, (d, d))
        covariances = spread[0] * (np.eye(d) + skew @ skew.T)
    elif kind == "diag":
        covariances = spread[:, None] * rng.uniform(0.5, 1.5, (k, d))
    else:
        covariances = spread
    return oracle.State(weights, means, covariances)


def start_of(state: oracle.State, kind: str = "full") -> dict:
    """The three `*_init` of a state."""
    return {
        "weights_init": state.weights,
        "means_init": state.means,
        "precisions_init": precisions_of(state.covariances, kind),
    }


def state_of(model) -> oracle.State:
    """What a model was fitted to."""
    return oracle.State(model.weights_, model.means_, model.covariances_)


def hard_pairs(
    rng, n: int, k: int, n_must: int, n_cannot: int, *, hard: bool = True, free: int = 0
) -> Constraints:
    """Pairs that a hidden labelling obeys; the last items stay free."""
    y = rng.integers(k, size=n)
    pairs = list(combinations(range(n - free), 2))
    rng.shuffle(pairs)
    must = [(i, j) for i, j in pairs if y[i] == y[j]][:n_must]
    cannot = [(i, j) for i, j in pairs if y[i] != y[j]][:n_cannot]
    return Constraints(must, cannot, n_items=n, hard=hard)


def soft_pairs(rng, n: int, n_must: int, n_cannot: int, sure: float = 0.99) -> Constraints:
    """Any pairs, some with a stated confidence, all with a weight."""
    pairs = [tuple(map(int, p)) for p in rng.permutation(list(combinations(range(n), 2)))]
    total = n_must + n_cannot
    confidence = np.where(rng.random(total) < 0.5, rng.uniform(0.55, sure, total), np.nan)
    weight = rng.uniform(0.3, 1.5, total)
    return Constraints(pairs[:n_must], pairs[n_must:total], n_items=n, weight=weight, confidence=confidence)


def blobs(seed, n: int = 120, k: int = 3, d: int = 2, gap: float = 4.0):
    """Standardised rows around k corners, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = gap * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
    return (X - X.mean(axis=0)) / X.std(axis=0), y
