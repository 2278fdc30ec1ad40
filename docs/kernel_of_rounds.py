"""
Keep your clusterer, add what you know
======================================

All 625 ways to load a balance of two arms: where k-means puts them, where boosted k-means puts them after 400
pairs, and what the rounds say of any two items (`docs/img/kernel-of-rounds.png`).
"""

import warnings
from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import confusion_matrix, normalized_mutual_info_score

from coterie import BoostCluster, Constraints
from coterie.exceptions import ViolatedConstraintsWarning

IMAGE = Path(__file__).parent / "img" / "kernel-of-rounds.png"
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])
CLASSES = ("tips to the right", "balanced", "tips to the left")


def loads():
    """Weight and distance on either side, and where the balance tips."""
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=float)
    return X, 1 + np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)


def as_classes(y, labels):
    """Clusters under the numbers of the classes that they match best."""
    _, class_of = linear_sum_assignment(-confusion_matrix(labels, y))
    return class_of[labels]


def main():
    """Draw the three panels."""
    X, y = loads()
    known = Constraints.sample(y, n_pairs=400, how="balanced", random_state=0)
    plain = KMeans(3, n_init=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)
        boosted = BoostCluster(estimator=plain, random_state=0).fit(X, constraints=known)
    torque = np.log(np.column_stack([X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]]))
    torque += np.random.default_rng(0).uniform(-0.06, 0.06, size=torque.shape)
    plt.rcParams.update({"font.size": 9})
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.8), layout="constrained")
    for axis, (name, labels) in zip(
        axes, {"K-means": plain.fit_predict(X), "Boosted, 400 pairs": boosted.labels_}.items(), strict=False
    ):
        score = normalized_mutual_info_score(y, labels)
        matched = as_classes(y, labels)
        for number, class_name in enumerate(CLASSES):
            axis.scatter(*torque[matched == number].T, s=9, c=COLOURS[number], label=class_name)
        axis.plot([-0.1, 3.4], [-0.1, 3.4], color="#777777", lw=0.8)
        axis.set_title(name, loc="left", fontweight="bold")
        axis.set_xlabel(f"weight x distance on the left (logarithms); NMI {score:.2f}")
        axis.set(xticks=[], yticks=[], xlim=(-0.15, 3.4), ylim=(-0.15, 3.4), aspect="equal")
    axes[0].set_ylabel("weight x distance on the right")
    marks, names = axes[1].get_legend_handles_labels()
    names = [
        f"cluster of those that {'are balanced' if one == 'balanced' else one.replace('tips', 'tip')}"
        for one in names
    ]
    figure.legend(marks, names, loc="outside lower left", ncols=3, fontsize=8, frameon=False)
    order = np.lexsort((X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3], y))
    share = boosted.affinity(order) / boosted.round_weights_.sum()
    drawn = axes[2].imshow(share, cmap="Greys", vmin=0, vmax=1)
    ends = np.searchsorted(y[order], [1, 2])
    for end in ends:
        axes[2].axhline(end, color="#D55E00", lw=0.8)
        axes[2].axvline(end, color="#D55E00", lw=0.8)
    middles = np.convolve([0, *ends, len(y)], [0.5, 0.5], mode="valid")
    axes[2].set_yticks(middles, CLASSES, rotation=90, va="center")
    axes[2].set_xticks([])
    axes[2].set_title("The kernel of the rounds", loc="left", fontweight="bold")
    axes[2].set_xlabel(f"items by true class; {boosted.n_iter_} rounds")
    figure.colorbar(
        drawn, ax=axes[2], shrink=0.8, pad=0.01, label="weight of the rounds that have both together"
    )
    for axis in axes[:2]:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGE, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
