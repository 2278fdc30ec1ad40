"""How often does `coterie.choose_k` find the true number of clusters, with pairs and without?

Numbers from 2 to 10 are tried with default parameters. "Theirs" is the same call without pairs: the
silhouette of k-means alone, the usual way. The blobs are round clusters of standard deviation 1, 50 items
each, their centres even in a box of side 20; in two features most draws have some on top of each other, so
those are shown, not judged. The rule was made on other tables and blobs: breast-w, breast_cancer, glass,
ionosphere, soybean-small, vowel, pendigits, and blobs that overlap, are elongated or of unequal size.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import save, verdict
from benchmarks.protocol import draw
from coterie import choose_k
from coterie.datasets import list_tables, load_table

TITLE = "the number of clusters: how often choose_k is right, of 2 to 10, 20 draws"
QUICK = False
DRAWS, PAIRS, RANGE, GOAL = 20, 100, range(2, 11), 0.9
MOST_ROWS = 2_000
TABLES = ("iris", "wine", "digits", "segment")
# method; features; pairs; whether it is judged
BLOBS = (
    ("COPKMeans", 5, 0, True),
    ("COPKMeans", 5, PAIRS, True),
    ("ConstrainedLinkage", 5, 0, True),
    ("PenalizedGaussianMixture", 5, 0, True),
    ("COPKMeans", 2, 0, False),
    ("COPKMeans", 2, PAIRS, False),
    ("ConstrainedLinkage", 2, 0, False),
)


def told(found: list[int]) -> str:
    """How often each number was chosen."""
    return ", ".join(f"{k}: {found.count(k)}" for k in sorted(set(found)))


def on_blobs(method: str, n_features: int, n_pairs: int, judged: bool) -> dict[str, Any]:
    right: dict[int, int] = {}
    criterion = ""
    for k in range(3, 9):
        found = []
        for seed in range(DRAWS):
            X, y = make_blobs(50 * k, n_features, centers=k, random_state=100 * k + seed)
            known = draw(y, n_pairs, seed) if n_pairs else None
            chosen = choose_k(X, known, RANGE, method=method, random_state=seed)
            criterion = chosen.criterion
            found.append(chosen.n_clusters)
        right[k] = found.count(k)
    share = sum(right.values()) / (DRAWS * len(right))
    pairs = f"{n_pairs} pairs" if n_pairs else "no pairs"
    return verdict(
        f"blobs of 3 to 8 clusters, {n_features} features, {method}, {pairs} ({criterion})",
        f"right in {share:.1%} of {DRAWS * len(right)} draws",
        goal=f"{GOAL:.0%}" if judged else "",
        reached=share >= GOAL if judged else None,
        missed="Where two clusters lie nearer to each other than the others, this criterion takes them "
        "for one.",
        remark="right by true number: " + ", ".join(f"{k}: {n} of {DRAWS}" for k, n in right.items()) + ".",
        share=share,
        right=right,
    )


def on_table(name: str) -> tuple[dict[str, Any], int, int]:
    X, y = load_table(name, return_X_y=True)
    X = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    if len(X) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
        X, y = X[rows], y[rows]
    k, started = len(np.unique(y)), time.process_time()
    with_pairs = [
        choose_k(X, draw(y, PAIRS, seed), RANGE, random_state=seed).n_clusters for seed in range(DRAWS)
    ]
    seconds = (time.process_time() - started) / DRAWS
    alone = [choose_k(X, None, RANGE, random_state=seed).n_clusters for seed in range(DRAWS)]
    ours, theirs = with_pairs.count(k), alone.count(k)
    row = verdict(
        f"{name}, scaled, {k} classes, {len(X):,} rows, {PAIRS} true pairs",
        f"right in {ours} of {DRAWS} draws ({told(with_pairs)})",
        theirs=f"silhouette alone {theirs} ({told(alone)})",
        remark=f"{seconds:.1f} s of CPU a choice.",
        right=ours,
        silhouette=theirs,
    )
    return row, ours, theirs


def main() -> None:
    there = list_tables()
    rows = [on_blobs(*one) for one in BLOBS]
    judged = [on_table(name) for name in TABLES if there[name]]
    ours, theirs = (sum(one[at] for one in judged) for at in (1, 2))
    worse = [row["what"].partition(",")[0] for row, more, less in judged if more < less]
    rows += [row for row, _, _ in judged]
    rows.append(
        verdict(
            f"all {len(judged)} tables, {PAIRS} true pairs",
            f"right in {ours} of {DRAWS * len(judged)} draws",
            theirs=f"silhouette alone {theirs}",
            goal="more often than the silhouette alone",
            reached=ours > theirs,
            remark=f"Less often on {', '.join(worse)}." if worse else "",
        )
    )
    save(__name__, TITLE, rows, seeds=f"0 to {DRAWS - 1}", pairs="drawn at random from all pairs, true kinds")
