"""Chapter 13, consensus: one clustering out of many, by each algorithm, beside the bound and the classes.

Twenty runs of k-means on each of four tables, k uniform in 2 to 20; several draws of the runs. The cost is
that of pairs about which a run and the answer differ, as a share of the bound: of each pair the smaller
number of votes. The claim of the studies that the chapter cites: rounded linear programs are best, then local
search, then what grows regions (balls). And two tables of categories, each column a clustering; where a
value is missing the column counts half.

An algorithm that takes no table so large solves for a sample of rows, as its name then says.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import in_fresh_process, verdict
from benchmarks.protocol import mean_se, rounded
from coterie import ConsensusClustering
from coterie.datasets import load_table
from coterie.exceptions import ParameterError
from coterie.metrics import mirkin_distance

DRAWS, RUNS, MOST_K = 5, 20, 20
TABLES = ("iris", "wine", "breast_cancer", "digits")
WAYS: dict[str, dict[str, Any]] = {
    "best": {"algorithm": "best"},
    "furthest": {"algorithm": "furthest"},
    "pivot": {"algorithm": "pivot"},
    "balls of 1/4": {"algorithm": "balls", "alpha": 0.25},
    "balls of 0.4": {"algorithm": "balls"},
    "agglomerative": {"algorithm": "agglomerative"},
    "search": {"algorithm": "local"},
    "LP-pivot": {"algorithm": "lp-pivot"},
}
# Rows of a sample: the linear program of 300 rows of "vote" takes more than four minutes.
SAMPLES = {"lp-pivot": 150, "agglomerative": 2_000, "furthest": 2_000}
# categories: bound, classes and search, of a trial
CATEGORIES: dict[str, tuple[float, float, float] | None] = {
    "vote": (28_805, 34_184, 29_967.5),
    "mushroom": None,
}


def runs_of_k_means(name: str, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Clusterings in columns, and the classes."""
    X, y = load_table(name, return_X_y=True)
    rng = np.random.default_rng(seed)
    ks, seeds = rng.integers(2, MOST_K + 1, size=RUNS), rng.integers(2**31, size=RUNS)
    runs = [
        KMeans(int(k), n_init=1, random_state=int(one)).fit_predict(X)
        for k, one in zip(ks, seeds, strict=True)
    ]
    return np.column_stack(runs), y


def categories(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Each column a clustering, -1 where a value is missing; and the classes."""
    table = load_table(name, missing="keep")
    columns = []
    for column in table.data.T:
        missing = column != column  # NaN
        codes = np.unique(np.where(missing, "", column).astype(str), return_inverse=True)[1]
        columns.append(np.where(missing, -1, codes))
    return np.column_stack(columns), table.target


def cost_of_classes(X: NDArray[Any], y: NDArray[Any]) -> float:
    """By definition; a clustering that says nothing about a pair counts half."""
    every, total = len(y) * (len(y) - 1) / 2, 0.0
    for column in X.T:
        known = column >= 0
        n = int(known.sum())
        total += mirkin_distance(y[known], column[known]) + 0.5 * (every - n * (n - 1) / 2)
    return total / X.shape[1]


def answers(name: str, seed: int) -> dict[str, Any]:
    """Items, the bound, what the classes cost; by way: cost, ARI, clusters, seconds, rows of a sample."""
    X, y = categories(name) if name in CATEGORIES else runs_of_k_means(name, seed)
    ways: dict[str, list[Any]] = {}
    for way, words in WAYS.items():
        model = ConsensusClustering(missing="half", random_state=seed, **words)
        start, rows = time.process_time(), None
        try:
            model.fit(X)
        except ParameterError:  # too many rows
            rows = SAMPLES[words["algorithm"]]
            model.set_params(sample_size=rows).fit(X)
        took = time.process_time() - start
        ari = adjusted_rand_score(y, model.labels_)
        ways[way] = [model.mirkin_, ari, model.n_clusters_, took, rows]
    bound, classes = model.lower_bound_, cost_of_classes(X, y)
    return {"n": len(y), "m": X.shape[1], "bound": bound, "classes": classes, "ways": ways}


def called(way: str, runs: list[Any]) -> str:
    """The name of a way, with its sample in any of its runs."""
    rows = next((one[4] for one in runs if one[4]), None)
    return f"{way} (samples of {rows:,})" if rows else way


def k_means_rows() -> list[dict[str, Any]]:
    rows, shares = [], {}
    for name in TABLES:
        draws = [in_fresh_process(__name__, "answers", args=(name, seed))["answer"] for seed in range(DRAWS)]
        classes = np.mean([one["classes"] / one["bound"] for one in draws])
        told, curve = [], {}
        for way in WAYS:
            runs = [one["ways"][way] for one in draws]
            share = [run[0] / one["bound"] for run, one in zip(runs, draws, strict=True)]
            ari, took = (float(np.mean([run[at] for run in runs])) for at in (1, 3))
            shares[name, way] = np.array(share), any(run[4] for run in runs)
            curve[way] = {"share": mean_se(share), "ari": ari, "cpu_s": took, "name": called(way, runs)}
            told.append(f"{curve[way]['name']} {np.mean(share):.4f}; {ari:.2f}; {took:.2g} s")
        rows.append(
            verdict(
                f"{name}, {draws[0]['n']:,} items, {RUNS} runs of k-means: cost of the bound; ARI; CPU",
                ", ".join(told),
                remark=f"The classes cost {classes:.3f} of the bound. Means of {DRAWS} draws of the runs.",
                table=name,
                curve=rounded(curve),
                draws=rounded(draws),
            )
        )
    return [*rows, *claim_rows(shares)]


def claim_rows(shares: dict[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """Linear programs at most the search, the search at most balls: by draws."""
    rows = []
    balls = {
        name: min((shares[name, way][0] for way in WAYS if "balls" in way), key=np.mean) for name in TABLES
    }
    for what, better, worse in (
        ("linear programs before the search", "LP-pivot", "search"),
        ("the search before balls", "search", "balls"),
    ):
        told, wins = [], 0
        for name in TABLES:
            one, sampled = shares[name, better]
            other = balls[name] if worse == "balls" else shares[name, worse][0]
            less, equal = int((one < other - 1e-9).sum()), int((abs(one - other) <= 1e-9).sum())
            told.append(f"{name}{' (samples)' * sampled} {less}, {equal}, {len(one) - less - equal}")
            wins += one.mean() < other.mean() - 1e-9
        rows.append(
            verdict(
                f"the claim, {what}: draws in which it costs less, the same, more",
                "; ".join(told),
                goal="less in the mean, on each table",
                reached=wins == len(TABLES),
                missed="Denied: where the program takes all rows, both end at the same cost.",
            )
        )
    return rows


def category_rows() -> list[dict[str, Any]]:
    rows = []
    for name, trial in CATEGORIES.items():
        found = in_fresh_process(__name__, "answers", args=(name, 0))["answer"]
        bound, classes, ways = found["bound"], found["classes"], found["ways"]
        search, ari, k, *_ = ways["search"]
        curve = {
            way: {"share": [run[0] / bound, 0.0], "ari": run[1], "cpu_s": run[3], "name": called(way, [run])}
            for way, run in ways.items()
        }
        reached = search <= (trial[2] if trial else classes)
        if trial:
            reached = reached and (int(bound), round(classes)) == trial[:2]
        rows.append(
            verdict(
                f"{name}, {found['n']:,} items, {found['m']} columns: bound; cost of the classes; the search",
                f"{bound:,.1f}; {classes:,.1f}; {search:,.1f}",
                theirs="; ".join(f"{one:,}" for one in trial) if trial else "",
                goal="bound and classes as in a trial, the search at most its cost"
                if trial
                else "the search below the classes",
                reached=reached,
                remark=f"The search finds {k} clusters, ARI {ari:.2f}. Cost of the bound; ARI; CPU: "
                + ", ".join(
                    f"{one['name']} {one['share'][0]:.4f}; {one['ari']:.2f}; {one['cpu_s']:.2g} s"
                    for one in curve.values()
                )
                + ".",
                table=name,
                curve=rounded(curve),
                answer=rounded(found),
            )
        )
    return rows
