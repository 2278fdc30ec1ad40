"""The table of `docs/how-equal.md`: what equal sizes cost on the digits, method by method.

    python docs/how_equal.py

Means over five seeds; CPU seconds of a fit on the machine that runs it, kernels loaded.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score

from coterie import (
    BalancedCut,
    BalancedKMeans,
    FrequencySensitiveKMeans,
    MeanFieldMixture,
    OnlineBalancedKMeans,
    SizeConstrainedBisection,
    SizeConstrainedKMeans,
)
from coterie.metrics import balance_scores

K, SEEDS = 10, range(5)
METHODS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda seed: KMeans(K, n_init=4, random_state=seed),
    "`SizeConstrainedKMeans(size_min=0.5)`": lambda seed: SizeConstrainedKMeans(
        K, size_min=0.5, random_state=seed
    ),
    "`SizeConstrainedKMeans(size_min=0.9)`": lambda seed: SizeConstrainedKMeans(
        K, size_min=0.9, random_state=seed
    ),
    "`SizeConstrainedKMeans(size_min=1.0)`": lambda seed: SizeConstrainedKMeans(
        K, size_min=1.0, random_state=seed
    ),
    "`BalancedKMeans(size_min=0.9)`": lambda seed: BalancedKMeans(K, size_min=0.9, random_state=seed),
    "`SizeConstrainedBisection(size_min=0.75, size_max=1.25)`": lambda seed: SizeConstrainedBisection(
        K, size_min=0.75, size_max=1.25, random_state=seed
    ),
    "`FrequencySensitiveKMeans(gamma=0.1)`": lambda seed: FrequencySensitiveKMeans(
        K, gamma=0.1, random_state=seed
    ),
    "`FrequencySensitiveKMeans(gamma=1.0)`": lambda seed: FrequencySensitiveKMeans(
        K, gamma=1.0, random_state=seed
    ),
    "`OnlineBalancedKMeans()`": lambda seed: OnlineBalancedKMeans(K, random_state=seed),
    '`MeanFieldMixture(weights_update="balanced")`': lambda seed: MeanFieldMixture(
        K, weights_update="balanced", random_state=seed
    ),
    "`BalancedCut(size_min=1.0, size_max=1.0)`": lambda seed: BalancedCut(
        K, size_min=1.0, size_max=1.0, random_state=seed
    ),
}


def squares(X: Any, labels: Any) -> float:
    """Sum of squared distances to the means of the clusters."""
    return float(sum(((X[labels == h] - X[labels == h].mean(axis=0)) ** 2).sum() for h in np.unique(labels)))


def main() -> None:
    """Print the table."""
    X, y = load_digits(return_X_y=True)
    warnings.simplefilter("ignore")
    rows: dict[str, list[float]] = {}
    for name, make in METHODS.items():
        make(0).fit(X)
        found = []
        for seed in SEEDS:
            start = time.process_time()
            labels = make(seed).fit(X).labels_
            took = time.process_time() - start
            sizes = balance_scores(labels, K)
            agreement = normalized_mutual_info_score(y, labels, average_method="geometric")
            found.append([sizes.rme, sizes.max_ratio, squares(X, labels), agreement, took])
        rows[name] = np.mean(found, axis=0).tolist()
    plain = rows["k-means"][2]
    print("| method | least / mean | largest / mean | squares | NMI | CPU s |\n|---|---|---|---|---|---|")
    for name, (least, most, cost, agreement, took) in rows.items():
        print(f"| {name} | {least:.2f} | {most:.2f} | {cost / plain:.3f} | {agreement:.2f} | {took:.2f} |")


if __name__ == "__main__":
    main()
