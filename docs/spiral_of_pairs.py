"""
Few labels, many pairs
======================

Two arms of a spiral, labelled in their inner parts, and four must-links that lead into the tails: the border
without pairs, by the convex and by the nonconvex loss (`docs/img/spiral.png`). The data are made up, and are
those of `docs/few-labels-many-pairs.md`.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from coterie import Constraints, PairwiseLogisticRegression

COLOURS = "#0072B2", "#D55E00"


def spiral(seed):
    """Rows, classes, labels (-1: none) and must-links."""
    truth, y, rng = np.repeat([0, 1], 200), np.full(400, -1), np.random.default_rng(seed)
    t, turn = np.tile(np.linspace(0.25, 1, 200), 2) * 3.5 * np.pi, truth * np.pi
    X = np.column_stack([t * np.cos(t + turn), t * np.sin(t + turn)]) + rng.normal(scale=0.15, size=(400, 2))
    for c in (0, 1):
        y[200 * c + rng.choice(150, size=40, replace=False)] = c
    links = [(170, 144), (194, 144), (370, 344), (394, 344)]
    return X / X.std(), truth, y, Constraints(links, n_items=400)


def panel(axis, grid, model, known, X, truth, y, title):
    """Points, labels and pairs over the sides that a model gives the plane."""
    model.fit(X, y, constraints=known)
    f = model.decision_function(np.column_stack([one.ravel() for one in grid])).reshape(grid[0].shape)
    axis.contourf(*grid, f, levels=[-np.inf, 0, np.inf], colors=COLOURS, alpha=0.14)
    axis.contour(*grid, f, levels=[0], colors="#222222", linewidths=1.1)
    for c, (colour, marker) in enumerate(zip(COLOURS, "os", strict=True)):
        axis.scatter(*X[truth == c].T, s=8, c=colour, alpha=0.75, linewidths=0)
        axis.scatter(
            *X[y == c].T, s=26, c=colour, marker=marker, edgecolors="white", linewidths=0.5, zorder=3
        )
    if known is not None:
        for i, j in known.must_link:
            axis.plot(*X[[i, j]].T, c="#222222", lw=1.8, marker="o", ms=5, mfc="white", zorder=4)
    wrong = np.mean(model.predict(X) != truth)
    axis.set_title(title, loc="left", fontweight="bold")
    axis.set_xlabel(f"{wrong:.0%} of the points on the wrong side")
    axis.set(aspect="equal", xticks=[], yticks=[])


def main():
    """Three borders."""
    X, truth, y, known = spiral(0)
    low, high = X.min() - 0.25, X.max() + 0.25
    grid = np.meshgrid(*[np.linspace(low, high, 300)] * 2)
    plt.rcParams.update({"font.size": 9})
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.7), layout="constrained")
    convex = PairwiseLogisticRegression(gamma=5.0)
    nonconvex = PairwiseLogisticRegression(gamma=5.0, loss="nonconvex")
    panel(axes[0], grid, convex, None, X, truth, y, "Labels alone")
    panel(axes[1], grid, convex, known, X, truth, y, "Four must-links, convex loss")
    panel(axes[2], grid, nonconvex, known, X, truth, y, "Four must-links, nonconvex loss")
    figure.supxlabel("large marks: labels; lines: must-links; shades: the side of each class", fontsize=8)
    path = Path(__file__).parent / "img" / "spiral.png"
    figure.savefig(path, dpi=130)
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)  # a fifth of the size
    print(path)


main()
