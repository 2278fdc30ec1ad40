"""Correlation clustering beside others: igraph's and leidenalg's Leiden, Kernighan-Lin of bioimage-cpp.

Four kinds of data. Signs: planted groups of 100, half of the edges inside, 10 % flipped. Weights: the same,
exponential, 20 % flipped. Editing: groups of 20 with 80 % of their pairs and a stray edge a node; pairs that
are not listed weigh -1. Grid: an image of 60 regions, 1 or -1 and unit noise between neighbours. One start
with `tol=0` and no bound beside igraph's CPM until nothing improves, in turns, in CPU seconds of the fit (a
graph or a matrix stands); the two slow rivals run on the first seed, where one fit takes a minute at most.

Also a dense problem, beside correlation-clustering on a smaller one; and four small graphs as cluster
editing, exactly and by search.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import igraph
import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.measure import cpu_seconds, in_fresh_process, save, verdict
from benchmarks.protocol import rounded
from benchmarks.race import run_side
from coterie import Constraints, CorrelationClustering
from coterie.graph import correlation_cost

TITLE = (
    "correlation clustering: igraph 1.0.0, leidenalg 0.12.0, bioimage-cpp 0.9.0, correlation-clustering 2.0.0"
)
QUICK = False
SEEDS = 4
MOST_COST, FASTER = 1.002, 10
DENSE, DENSE_SECONDS, SMALL = 1_000, 0.5, 60
EXACT_SECONDS, LIMIT, SEARCHES = 5.0, 20.0, 30


class Advice(NamedTuple):
    """Pairs i < j with their weights, what others weigh, and the groups behind."""

    i: NDArray[Any]
    j: NDArray[Any]
    weight: NDArray[Any]
    default: float
    y: NDArray[Any]

    def matrix(self) -> Any:
        """Symmetric, in CSR."""
        i, j, n = self.i, self.j, len(self.y)
        data, cells = np.concatenate([self.weight] * 2), (np.r_[i, j], np.r_[j, i])
        return sparse.coo_matrix((data, cells), (n, n)).tocsr()


def planted(
    n: int, m: int, seed: int, *, flip: float = 0.1, exponential: bool = False, group: int = 100
) -> Advice:
    """About m edges, half of them inside of groups; a pair drawn twice counts once."""
    rng = np.random.default_rng(seed)
    y, half = np.arange(n) // group, m // 2
    i, j = rng.integers(n, size=(2, m))
    j[:half] = y[i[:half]] * group + rng.integers(group, size=half)
    low, high = np.minimum(i, j), np.maximum(i, j)
    keep = (y[i] == y[j]) == (np.arange(m) < half)
    key = np.unique((low * n + high)[keep & (i != j)])
    i, j = key // n, key % n
    weight = np.where(y[i] == y[j], 1.0, -1.0)
    weight[rng.random(len(key)) < flip] *= -1
    if exponential:
        weight *= rng.exponential(size=len(key))
    return Advice(i, j, weight, 0.0, y)


def editing(n: int, seed: int, *, group: int = 20, share: float = 0.8) -> Advice:
    rng = np.random.default_rng(seed)
    first = group * np.arange(n // group)[:, None]
    i, j = ((first + one).ravel() for one in np.triu_indices(group, 1))
    keep = rng.random(len(i)) < share
    a, b = np.arange(n), rng.integers(n, size=n)
    low, high = np.r_[i[keep], np.minimum(a, b)], np.r_[j[keep], np.maximum(a, b)]
    key = np.unique((low * n + high)[low < high])
    return Advice(key // n, key % n, np.ones(len(key)), -1.0, np.arange(n) // group)


def grid(side: int, seed: int) -> Advice:
    rng = np.random.default_rng(seed)
    centre = side * rng.random((60, 2))
    place = np.stack(np.mgrid[:side, :side], axis=-1)
    y = ((place[:, :, None] - centre) ** 2).sum(axis=-1).argmin(axis=-1).ravel()
    at = np.arange(side * side).reshape(side, side)
    i = np.r_[at[:, :-1].ravel(), at[:-1].ravel()]
    j = np.r_[at[:, 1:].ravel(), at[1:].ravel()]
    weight = np.where(y[i] == y[j], 1.0, -1.0) + rng.normal(size=len(i))
    return Advice(i, j, weight, 0.0, y)


KINDS: dict[str, Callable[[int], Advice]] = {
    "signs": lambda seed: planted(100_000, 1_000_000, seed),
    "weights": lambda seed: planted(20_000, 200_000, seed, flip=0.2, exponential=True),
    "editing": lambda seed: editing(100_000, seed),
    "grid": lambda seed: grid(250, seed),
}
# Kinds a slow rival runs on: elsewhere one fit takes minutes, or it has no weight for pairs not listed.
RIVALS = {"leidenalg": ("weights", "grid"), "bioimage-cpp": ("weights", "grid")}
MISSED = {
    "editing": "It was 1.36 while the graph was made four times; reading the weights is in our time, and not "
    "in theirs."
}


def ours(advice: Advice, seed: int) -> Callable[[], Any]:
    X = advice.matrix()
    model = CorrelationClustering(
        algorithm="local", default=advice.default, tol=0.0, n_init=1, bound=None, random_state=seed
    )
    return lambda: model.fit(X).labels_


def leiden(advice: Advice, seed: int) -> Callable[[], Any]:
    graph = igraph.Graph(n=len(advice.y), edges=np.column_stack([advice.i, advice.j]))
    weights = (advice.weight - advice.default).tolist()

    def fit() -> Any:
        random.seed(seed)  # igraph draws from it
        found = graph.community_leiden("CPM", weights, resolution=-advice.default, n_iterations=-1)
        return np.array(found.membership)

    return fit


def race(kind: str) -> list[dict[str, Any]]:
    """Costs and seconds by seed, of the planted groups, ours and igraph's."""
    ours(KINDS[kind](SEEDS), 0)()  # loads the kernels
    found = []
    for seed in range(SEEDS):
        advice = KINDS[kind](seed)
        X, told = advice.matrix(), {}
        told["planted"] = correlation_cost(X, advice.y, default=advice.default)
        for name, prepare in (("ours", ours), ("igraph", leiden)):
            fit = prepare(advice, seed)
            start = time.process_time()
            labels = fit()
            told[f"{name}_s"] = time.process_time() - start
            told[name] = correlation_cost(X, labels, default=advice.default)
        found.append({**told, "n": len(advice.y), "m": len(advice.i)})
    return found


def race_rows(kind: str) -> list[dict[str, Any]]:
    found = in_fresh_process(__name__, "race", args=(kind,))["answer"]
    mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    cost = float(np.mean([one["ours"] / one["igraph"] for one in found]))
    spent = mean["ours_s"] / mean["igraph_s"]
    rows = [
        verdict(
            f"{kind}, {mean['n']:,.0f} nodes, {mean['m']:,.0f} edges: cost; CPU; beside igraph",
            f"{mean['ours']:,.1f}; {mean['ours_s']:.2f} s",
            theirs=f"{mean['igraph']:,.1f}; {mean['igraph_s']:.2f} s",
            ratio=spent,
            goal=f"mean cost at most {MOST_COST} of theirs, no more CPU",
            reached=cost <= MOST_COST and spent <= 1.0,
            remark=f"Cost {cost:.5f} of theirs, {mean['ours'] / mean['planted']:.4f} of the planted.",
            missed=MISSED.get(kind, ""),
            raw=rounded(found),
        )
    ]
    advice = KINDS[kind](0)
    edges = np.column_stack([advice.i, advice.j, advice.weight])
    for rival in (name for name, kinds in RIVALS.items() if kind in kinds):
        side, labels = beside(rival, edges, len(advice.y), advice.default)
        theirs = correlation_cost(advice.matrix(), labels, default=advice.default)
        faster = side["first_fit_s"] / found[0]["ours_s"]
        judged = rival == "leidenalg"
        rows.append(
            verdict(
                f"{kind}, seed 0: cost; CPU; beside {rival}",
                f"{found[0]['ours']:,.1f}; {found[0]['ours_s']:.2f} s",
                theirs=f"{theirs:,.1f}; {side['first_fit_s']:.2f} s",
                ratio=1.0 / faster,
                goal=f"{FASTER} times faster" if judged else "",
                reached=faster >= FASTER if judged else None,
                remark=f"Cost {found[0]['ours'] / theirs:.5f} of theirs.",
            )
        )
    return rows


def beside(rival: str, edges: NDArray[Any], n: int, default: float = 0.0) -> tuple[dict[str, Any], Any]:
    """One fit of a rival: its account and labels."""
    draws = [(Constraints(n_items=n), edges)]
    side = run_side(rival, np.zeros((n, 1)), draws, n_clusters=None, repeats=0, default=default)
    return side, side["labels"][0]


# ---- dense ------------------------------------------------------------------------------------------------


def dense(n: int, seed: int, k: int = 8, flip: float = 0.1) -> tuple[Any, Any]:
    """Signs of all pairs, a share of them flipped; and the groups."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) * k // n
    sign = np.where(y[:, None] == y, 1.0, -1.0)
    wrong = np.triu(rng.random((n, n)) < flip, 1)
    return np.where(wrong | wrong.T, -sign, sign), y


def fit_dense(n: int) -> list[list[float]]:
    """By seed: cost as it comes and of one start, of the planted groups, and seconds of the two (warm)."""
    return [fit_one_dense(n, seed) for seed in range(SEEDS)]


def fit_one_dense(n: int, seed: int) -> list[float]:
    X, y = dense(n, seed)
    model = CorrelationClustering(algorithm="local", random_state=seed)
    once = CorrelationClustering(algorithm="local", n_init=1, bound=None, random_state=seed)
    seconds = cpu_seconds(lambda: model.fit(X), lambda: once.fit(X), repeats=3)
    costs = [model.disagreements_, once.disagreements_, correlation_cost(X, y)]
    return [*costs, *(one["cpu_s"] for one in seconds)]


def dense_rows() -> list[dict[str, Any]]:
    rows = []
    for n in (DENSE, SMALL):
        found = in_fresh_process(__name__, "fit_dense", args=(n,))["answer"]
        cost, once, of_groups, seconds, once_seconds = np.mean(found, axis=0)
        told: dict[str, Any] = {}
        if n == DENSE:
            told["goal"] = f"at most the planted cost, {DENSE_SECONDS} s"
            told["reached"] = all(one[1] <= one[2] for one in found) and once_seconds <= DENSE_SECONDS
        else:
            X, _ = dense(n, 0)
            i, j = np.triu_indices(n, 1)
            side, labels = beside("correlation-clustering", np.column_stack([i, j, X[i, j]]), n)
            told["theirs"] = f"{correlation_cost(X, labels):,.0f}; {side['first_fit_s']:.1f} s"
            told["ratio"] = once_seconds / side["first_fit_s"]
        rows.append(
            verdict(
                f"dense, n = {n:,}, 8 groups, 10 % flipped: cost; CPU of one start",
                f"{once:,.1f}; {once_seconds:.3f} s",
                remark=f"The planted cost is {of_groups:,.1f}. As it comes, ten starts and a bound: "
                f"{cost:,.1f}, {seconds:.2f} s." + (" Theirs on seed 0 alone." if n == SMALL else ""),
                raw=rounded(found),
                **told,
            )
        )
    return rows


# ---- small graphs -----------------------------------------------------------------------------------------

# The least cost known, and the most that a search may take; whether less is possible for Davis is open.
GRAPHS: dict[str, tuple[Callable[[], Any], int, int]] = {
    "karate": (nx.karate_club_graph, 50, 51),
    "Florentine": (nx.florentine_families_graph, 10, 10),
    "Les Miserables": (nx.les_miserables_graph, 103, 103),
    "Davis": (nx.davis_southern_women_graph, 75, 75),
}


def unweighted(name: str) -> Any:
    """Edges weigh 1, in CSR."""
    return sparse.csr_matrix(nx.to_scipy_sparse_array(GRAPHS[name][0](), weight=None, dtype=np.float64))


def fit_small(name: str) -> dict[str, Any]:
    X = unweighted(name)
    search = CorrelationClustering(algorithm="local", default=-1.0, bound=None)
    costs = [search.set_params(random_state=seed).fit(X).disagreements_ for seed in range(SEARCHES)]
    start = time.process_time()
    model = CorrelationClustering(algorithm="exact", default=-1.0, time_limit=LIMIT, random_state=0).fit(X)
    took = time.process_time() - start
    return {
        "exact": [model.disagreements_, model.lower_bound_, model.bound_, took],
        "local": [min(costs), float(np.mean(costs)), max(costs)],
    }


def small_rows() -> list[dict[str, Any]]:
    rows = []
    for name, (_, least, most) in GRAPHS.items():
        found = in_fresh_process(__name__, "fit_small", args=(name,))["answer"]
        cost, bound, how, took = found["exact"]
        low, mean, high = found["local"]
        is_open = name == "Davis"
        proven = how == "exact" and took < EXACT_SECONDS
        rows.append(
            verdict(
                f"{name}, cluster editing, exactly: cost; bound; CPU",
                f"{cost:g}; {bound:.4g} ({how}); {took:.2f} s",
                goal=f"{least}, stops after {LIMIT:g} s with its bound"
                if is_open
                else f"{least} in {EXACT_SECONDS:g} s",
                reached=cost == least and (is_open or proven),
                remark="The limit is of the wall clock." if is_open else "",
                missed="The program begins with one start of the search, and does not better it in time.",
                raw=rounded(found),
            )
        )
        rows.append(
            verdict(
                f"{name}, by search of ten starts, {SEARCHES} seeds",
                f"{low:g} to {high:g}, mean {mean:.2f}",
                goal=f"at most {most}",
                reached=high <= most,
            )
        )
    return rows


def main() -> None:
    rows = small_rows() + dense_rows()
    for kind in KINDS:
        rows += race_rows(kind)
    save(
        __name__,
        TITLE,
        rows,
        igraph=igraph.__version__,
        seeds=f"0 to {SEEDS - 1}, means",
        settings='algorithm="local", tol=0, n_init=1, bound=None in the race; theirs n_iterations=-1',
    )
