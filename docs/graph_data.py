"""
When your data is a graph
=========================

A map of 600 districts: k-means, connected, connected with equal loads, and as many regions as a least load
allows (`docs/img/graph-map.png`); and the edges of a graph of neighbours before and after eighteen pairs bent
them (`docs/img/graph-edges.png`). All data are made up.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from regions_of_a_map import districts, draw, finish, save

from coterie import EMC, ConnectedKMeans, Constraints, PCKMeans

K, LEAST = 12, 20_000


def maps():
    """Four ways to group the districts."""
    _, _, borders, income = districts()
    rng = np.random.default_rng(0)
    rng.random((600, 2)), rng.normal(size=600)  # as the page draws: places, incomes, people
    people = rng.integers(200, 2000, size=len(income))
    near, load = {"connectivity": borders}, {"size_weight": people}
    models = {
        "k-means": (PCKMeans(K, random_state=0), {}),
        "Connected": (ConnectedKMeans(K, **near), {}),
        "Connected, equal within 5 %": (
            ConnectedKMeans(K, size_min=0.95, size_max=1.05, random_state=0, **near),
            load,
        ),
        f"As many as {LEAST:,} people allow": (
            ConnectedKMeans(None, size_min=LEAST, random_state=0, **near),
            load,
        ),
    }
    plt.rcParams.update({"font.size": 9})
    figure, axes = plt.subplots(1, 4, figsize=(13.5, 3.7), layout="constrained")
    for axis, (name, (model, given)) in zip(axes, models.items(), strict=True):
        labels = model.fit(income, **given).labels_
        filled, n_pieces = draw(axis, income, labels)
        held = np.bincount(labels, people)
        axis.set_title(name, loc="left", fontweight="bold")
        n_clusters = len(held)
        axis.set_xlabel(
            f"{n_clusters} groups, {n_pieces} pieces\n{held.min():,.0f} to {held.max():,.0f} people"
        )
    finish(figure, axes, filled, "graph-map.png")


def bars(seed):
    """Three bars of 60 points: the upright one and the lower one are one class."""
    rng = np.random.default_rng(seed)
    upright = np.column_stack([rng.normal(0, 0.25, 60), rng.normal(0, 1.2, 60)])
    lying = [np.column_stack([rng.normal(2.5, 1, 60), rng.normal(y, 0.25, 60)]) for y in (-2, 2)]
    return np.vstack([upright, *lying]), np.repeat([0, 0, 1], 60)


def edges():
    """The graph that EMC works on, by what became of its edges; and the clusters."""
    X, y = bars(3)
    known = Constraints.sample(y, n_pairs=18, how="balanced", random_state=3)
    model = EMC(2, random_state=0).fit(X, constraints=known)
    ratio = model.edge_ratio_.tocoo()
    upper = ratio.row < ratio.col
    ends, bent = X[np.column_stack([ratio.row, ratio.col])[upper]], ratio.data[upper]
    graph = model.graph_.tocoo()
    plain = X[np.column_stack([graph.row, graph.col])[graph.row < graph.col]]
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained", sharex=True, sharey=True)
    axes[0].add_collection(LineCollection(plain, colors="#BBBBBB", linewidths=0.5, zorder=0))
    drawn = LineCollection(ends, array=bent, cmap="coolwarm", linewidths=1.6, clim=(-1, 1), zorder=1)
    axes[0].add_collection(drawn)
    axes[0].scatter(*X.T, s=9, c="#222222", zorder=2)
    for kind, colour in ((known.must_link, "#0060B0"), (known.cannot_link, "#C02020")):
        axes[0].scatter(*X[np.ravel(kind)].T, s=26, facecolors="none", edgecolors=colour, zorder=3)
    axes[0].set_title("Edges that 18 pairs bent", loc="left", fontweight="bold")
    axes[0].set_xlabel("circles: ends of must-links (blue) and cannot-links (red)")
    figure.colorbar(drawn, ax=axes[0], shrink=0.8, pad=0.01, label="shorter  <  exponent  <  longer")
    for h, marker in enumerate("os"):
        axes[1].scatter(*X[model.labels_ == h].T, s=14, marker=marker)
    axes[1].scatter(*X[model.medoid_indices_].T, s=90, marker="*", c="black")
    wrong = min((model.labels_ != y).sum(), (model.labels_ == y).sum())
    axes[1].set_title("Clusters", loc="left", fontweight="bold")
    axes[1].set_xlabel(f"stars: medoids; {wrong} of {len(y)} points in the other class")
    for axis in axes:
        axis.set(aspect="equal", xticks=[], yticks=[])
    save(figure, "graph-edges.png")


maps()
edges()
